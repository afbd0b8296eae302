/*-------------------------------------------------------------------------
 *
 * boxes.c
 *		Joins in pieces, when their relations do not fit memory together.
 *
 * A box is a part of all assignments: of each variable that is cut, it has
 * the keys whose hash falls into one of the parts.  Of an atom's rows only
 * those with both keys in the box matter there, so that with enough cuts every
 * box fits.  Which variables are cut how often is planned by src/trie/box.h.
 *
 * Spilled relations are first written anew, ordered by the parts that the plan
 * cuts their two columns into, so that a box reads little more than it
 * needs.  A box that does not fit even so is cut further.  In one that cannot
 * be, all rows of an atom are alike: to count, one of each is joined, and what
 * comes out counts as often as the others make it; to enumerate, rows are taken
 * in groups, each group of one atom with each of the others.
 *
 * Owns those files and what is read of them for the box in hand.
 *
 * IDENTIFICATION
 *		src/join/boxes.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "../parse/mutation.h"
#include "../trie/box.h"
#include "joinexec.h"

/*
 * Bytes that a row takes in memory while its box is built, its codes
 * included; the engine's tests hold it to fewer.
 */
#define ROW_BYTES		80

/* Rows of a block of a part. */
#define LEAST_BLOCK		16
#define MOST_BLOCK		1024

/*
 * A relation's rows by the parts of their keys.  Each part is a chain of
 * blocks, from the last to the first.
 */
typedef struct PpParts
{
	uint8		bits[2];		/* how often its columns are cut, as a power of 2 */
	int			width;			/* numbers a row has: 2, or 3 with a store */
	int			block;			/* rows of a block */
	BufFile    *file;
	int64		nblocks;
	int64	   *last;			/* [part] block; -1: none */
	uint64	   *count;			/* [part] rows */
	int64	   *buffer;			/* while written: a block of each part */
	int		   *fill;			/* rows in it */
} PpParts;

/* In front of a block's rows: the block before it, and how many rows it has. */
typedef struct PpBlockHead
{
	int64		previous;
	int64		n;
} PpBlockHead;

struct PpBoxRun
{
	PpBoxes		boxes;
	PpJoinQuery query;
	PpJoinRelation relations[PP_JOIN_MAX_RELATIONS];	/* numbers of rows only */
	Size		held;			/* bytes of parts' lists and buffers */
	uint64		count;			/* boxes that were joined */
	MemoryContext context;		/* rows of the box in hand */
	int64	   *buffer;			/* a block that is read */

	/* a box that cannot be cut: groups of rows of each atom */
	bool		grouped;
	bool		weighted;		/* rows of an atom are alike: one row each, which
								 * counts as often as this: */
	PpCount		weight;
	PpBox		box;
	uint64		group_size;
	uint64		ngroups[PP_JOIN_MAX_ATOMS];
	uint64		group[PP_JOIN_MAX_ATOMS];
};

static Size
block_bytes(const PpParts *parts)
{
	return sizeof(PpBlockHead) + (Size) parts->block * parts->width * sizeof(int64);
}

/*
 * Writing parts.
 */

static void
write_part(PpParts *parts, int part)
{
	int64	   *rows = parts->buffer + (Size) part * parts->block * parts->width;
	PpBlockHead head;

	head.previous = parts->last[part];
	head.n = parts->fill[part];
	BufFileWrite(parts->file, &head, sizeof(head));
	BufFileWrite(parts->file, rows, (Size) parts->block * parts->width * sizeof(int64));
	parts->last[part] = parts->nblocks++;
	parts->fill[part] = 0;
}

static void
add_rows(PpJoinState *state, PpRelation *relation, const int64 *pairs, const uint64 *at, int n)
{
	PpParts    *parts = relation->parts;
	uint32		mask_one = (UINT32_C(1) << parts->bits[0]) - 1;
	uint32		mask_two = (UINT32_C(1) << parts->bits[1]) - 1;

	for (int i = 0; i < n; i++)
	{
		uint32		part = (pp_box_hash(pairs[2 * i], state->seed) & mask_one) |
			(pp_box_hash(pairs[2 * i + 1], state->seed) & mask_two) << parts->bits[0];
		int64	   *row = parts->buffer +
			((Size) part * parts->block + parts->fill[part]) * parts->width;

		row[0] = pairs[2 * i];
		row[1] = pairs[2 * i + 1];
		if (at)
			row[2] = (int64) at[i];
		parts->count[part]++;
		if (++parts->fill[part] == parts->block)
			write_part(parts, (int) part);
	}
}

/* Writes a relation's rows by parts; memory is what the buffers may take. */
static Size
make_parts(PpJoinState *state, PpRelation *relation, uint8 bits_one, uint8 bits_two,
		   Size memory)
{
	PpParts    *parts = palloc0(sizeof(PpParts));
	Size		row;
	Size		nparts;

	parts->width = relation->store ? 3 : 2;
	row = parts->width * sizeof(int64);

	/* not more parts than there is room for their blocks */
	while (bits_one + bits_two > 0 &&
		   (((Size) LEAST_BLOCK * row) << (bits_one + bits_two)) > memory)
	{
		if (bits_one >= bits_two)
			bits_one--;
		else
			bits_two--;
	}
	parts->bits[0] = bits_one;
	parts->bits[1] = bits_two;
	nparts = (Size) 1 << (bits_one + bits_two);
	parts->block = (int) Max(Min(memory / nparts / row, MOST_BLOCK), LEAST_BLOCK);
	parts->last = palloc(nparts * sizeof(int64));
	for (Size p = 0; p < nparts; p++)
		parts->last[p] = -1;
	parts->count = palloc0(nparts * sizeof(uint64));
	parts->fill = palloc0(nparts * sizeof(int));
	parts->buffer = MemoryContextAllocExtended(CurrentMemoryContext,
											   nparts * parts->block * row, MCXT_ALLOC_HUGE);
	parts->file = BufFileCreateTemp(false);
	relation->parts = parts;
	parparaw_spill_read(state, relation, add_rows);
	for (Size p = 0; p < nparts; p++)
		if (parts->fill[p] > 0)
			write_part(parts, (int) p);
	pfree(parts->buffer);
	pfree(parts->fill);
	parts->buffer = NULL;
	parts->fill = NULL;
	return nparts * (sizeof(int64) + sizeof(uint64)) + block_bytes(parts);
}

/*
 * Reading parts.
 */

/* Called for the rows of an atom in a box; false: enough. */
typedef bool (*PpRowConsumer) (void *arg, const int64 *row);

/* Gives an atom's rows in a box, always in the same order. */
static void
scan_atom(PpJoinState *state, PpBoxRun *boxes, const PpBox *box, int a,
		  PpRowConsumer consume, void *arg)
{
	const PpJoinAtom *atom = &state->atoms[a];
	const PpParts *parts = state->relations[atom->relation].parts;
	uint32		nparts = UINT32_C(1) << (parts->bits[0] + parts->bits[1]);
	PpBlockHead *head = (PpBlockHead *) boxes->buffer;
	int64	   *rows = boxes->buffer + sizeof(PpBlockHead) / sizeof(int64);

	for (uint32 p = 0; p < nparts; p++)
	{
		uint32		side[2] = {p & ((UINT32_C(1) << parts->bits[0]) - 1), p >> parts->bits[0]};
		bool		wanted = parts->count[p] > 0;

		for (int i = 0; i < 2; i++)
		{
			uint32		v = atom->variable[i];
			uint32		mask = (UINT32_C(1) << Min(parts->bits[i], box->bits[v])) - 1;

			wanted &= (side[i] & mask) == (box->part[v] & mask);
		}
		if (!wanted)
			continue;
		for (int64 block = parts->last[p]; block >= 0; block = head->previous)
		{
			CHECK_FOR_INTERRUPTS();
			parparaw_file_seek(parts->file, (uint64) block * block_bytes(parts));
			parparaw_file_read(parts->file, head, block_bytes(parts));
			for (int64 i = 0; i < head->n; i++)
			{
				const int64 *row = rows + i * parts->width;

				if (pp_box_has_row(box, state->seed, atom, row[0], row[1]) && !consume(arg, row))
					return;
			}
		}
	}
}

/* Rows from number first on, n of them at most. */
typedef struct PpCollect
{
	PpBoxRun   *boxes;
	PpInput    *input;
	bool		at;
	uint64		first;
	uint64		last;
	uint64		seen;
	Size		limit;			/* of all inputs of a box, in bytes */
	Size	   *used;
	bool		full;
} PpCollect;

static bool
collect_row(void *arg, const int64 *row)
{
	PpCollect  *collect = arg;
	PpInput    *input = collect->input;

	if (collect->seen++ < collect->first)
		return true;
	if (input->nrows == input->room)
	{
		uint64		room = Max(2 * input->room, 64);
		MemoryContext context = collect->boxes->context;

		input->pairs = input->pairs ?
			repalloc_huge(input->pairs, room * 2 * sizeof(int64)) :
			MemoryContextAllocExtended(context, room * 2 * sizeof(int64), MCXT_ALLOC_HUGE);
		if (collect->at)
			input->at = input->at ?
				repalloc_huge(input->at, room * sizeof(uint64)) :
				MemoryContextAllocExtended(context, room * sizeof(uint64), MCXT_ALLOC_HUGE);
		input->room = room;
	}
	input->pairs[2 * input->nrows] = row[0];
	input->pairs[2 * input->nrows + 1] = row[1];
	if (collect->at)
		input->at[input->nrows] = (uint64) row[2];
	input->nrows++;
	*collect->used += (collect->at ? 3 : 2) * sizeof(int64);
	collect->full = *collect->used > collect->limit;
	return !collect->full && collect->seen < collect->last;
}

static void
forget_inputs(PpJoinState *state, PpBoxRun *boxes)
{
	MemoryContextReset(boxes->context);
	memset(state->inputs, 0, state->plan->natoms * sizeof(PpInput));
}

/*
 * Reads rows first .. last of an atom in a box into an input, until all inputs
 * together take more than there is.  False: that happened.
 */
static bool
collect(PpJoinState *state, PpBoxRun *boxes, const PpBox *box, int a, PpInput *input,
		uint64 first, uint64 last, Size *used)
{
	PpCollect	arg = {0};

	arg.boxes = boxes;
	arg.input = input;
	arg.at = state->relations[state->atoms[a].relation].store != NULL;
	arg.first = first;
	arg.last = last;
	arg.limit = state->limit > boxes->held ? state->limit - boxes->held : 0;
	arg.used = used;
	scan_atom(state, boxes, box, a, collect_row, &arg);
	return !arg.full;
}

/*
 * Builds the join of a box.  True: it is built, or *empty: there is nothing to
 * join.  False: it does not fit.
 */
static bool
build_box(PpJoinState *state, PpBoxRun *boxes, const PpBox *box, bool *empty)
{
	uint32		of_atom[PP_JOIN_MAX_ATOMS];
	uint32		atom_of[PP_JOIN_MAX_ATOMS];
	uint32		ninputs = pp_box_relations(&boxes->query, box, of_atom, atom_of);
	Size		used = 0;

	*empty = false;
	forget_inputs(state, boxes);
	for (uint32 i = 0; i < ninputs; i++)
	{
		if (!collect(state, boxes, box, (int) atom_of[i], &state->inputs[i], 0, UINT64_MAX, &used))
			return false;
		if (state->inputs[i].nrows == 0)
		{
			*empty = true;
			return true;
		}
	}
	for (int a = 0; a < state->plan->natoms; a++)
		state->atom_input[a] = of_atom[a];
	return parparaw_join_build(state, (int) ninputs, boxes->held);
}

/* The engine has what it needs of the rows, but for their places. */
static void
release_pairs(PpJoinState *state)
{
	for (int i = 0; i < state->plan->natoms; i++)
	{
		if (state->inputs[i].pairs)
			pfree(state->inputs[i].pairs);
		state->inputs[i].pairs = NULL;
	}
}

/*
 * Groups of rows.
 */

static bool
count_row(void *arg, const int64 *row)
{
	++*(uint64 *) arg;
	return true;
}

/*
 * Makes groups of the rows of a box that cannot be cut; one row of each atom
 * if those are alike and weight is set.
 */
static void
begin_groups(PpJoinState *state, PpBoxRun *boxes, bool weighted)
{
	int			natoms = state->plan->natoms;
	Size		memory = state->limit > boxes->held ? state->limit - boxes->held : 0;

	boxes->group_size = weighted ? 1 : Max(memory / natoms / (2 * ROW_BYTES), 1);
	boxes->grouped = true;
	boxes->weighted = weighted;
	for (int a = 0; a < natoms; a++)
	{
		uint64		n = 0;

		scan_atom(state, boxes, &boxes->box, a, count_row, &n);
		boxes->ngroups[a] = weighted ? 1 : (n + boxes->group_size - 1) / boxes->group_size;
		boxes->group[a] = 0;
		if (n == 0)
			boxes->grouped = false;
	}
}

/* Builds the join of the next groups of all atoms. */
static void
build_groups(PpJoinState *state, PpBoxRun *boxes)
{
	int			natoms = state->plan->natoms;
	Size		used = 0;
	bool		fits = true;
	int			a;

	forget_inputs(state, boxes);
	for (a = 0; a < natoms && fits; a++)
	{
		uint64		first = boxes->group[a] * boxes->group_size;

		fits = collect(state, boxes, &boxes->box, a, &state->inputs[a], first,
					   first + boxes->group_size, &used);
		state->atom_input[a] = a;
	}
	if (!fits || !parparaw_join_build(state, natoms, boxes->held))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("not enough memory for a join"),
				 errdetail("A part of it that cannot be divided takes more than %zu kB.",
						   state->limit / 1024),
				 errhint("Consider increasing the configuration parameter \"%s\".",
						 "work_mem")));

	/* the first atom's groups change fastest */
	for (a = 0; a < natoms && ++boxes->group[a] == boxes->ngroups[a]; a++)
		boxes->group[a] = 0;
	boxes->grouped = a < natoms;
}

/*
 * Boxes.
 */

typedef struct PpTallyArg
{
	PpBoxRun   *boxes;
	uint64		seed;
	PpBoxTally	tally;
	int			atom;
} PpTallyArg;

static bool
tally_row(void *arg, const int64 *row)
{
	PpTallyArg *tally = arg;

	pp_box_tally(&tally->tally, &tally->boxes->query, &tally->boxes->box, tally->seed,
				 (uint32) tally->atom, row[0], row[1]);
	return true;
}

/* How often one row of each atom stands for a box whose rows are alike. */
static bool
alike(PpJoinState *state, const PpBoxTally *tally, PpCount *weight)
{
	uint128		product = 1;

	if (state->plan->mode == PP_JOIN_ROWS)
		return false;
	for (int a = 0; a < state->plan->natoms; a++)
	{
		if (tally->differ[a][0] || tally->differ[a][1])
			return false;
		if (tally->rows[a] > 0 && product > ~(uint128) 0 / tally->rows[a])
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("bigint out of range")));
		product *= tally->rows[a];
	}
	weight->low = (uint64) product;
	weight->high = (uint64) (product >> 64);
	return true;
}

/* A box was too large: cuts it, or, if that is not possible, its rows. */
static void
refine(PpJoinState *state, PpBoxRun *boxes)
{
	PpTallyArg	arg = {0};

	forget_inputs(state, boxes);
	arg.boxes = boxes;
	arg.seed = state->seed;
	for (arg.atom = 0; arg.atom < state->plan->natoms; arg.atom++)
		scan_atom(state, boxes, &boxes->box, arg.atom, tally_row, &arg);
	if (pp_boxes_refine(&boxes->boxes, &boxes->box, &arg.tally) == PP_JOIN_OK)
		return;
	if (alike(state, &arg.tally, &boxes->weight))
		begin_groups(state, boxes, true);
	else
		begin_groups(state, boxes, false);
}

bool
parparaw_boxes_next(PpJoinState *state, PpBoxRun *boxes)
{
	for (;;)
	{
		bool		empty = false;

		CHECK_FOR_INTERRUPTS();
		state->weight.low = 1;
		state->weight.high = 0;
		if (boxes->grouped)
		{
			if (boxes->weighted)
				state->weight = boxes->weight;
			build_groups(state, boxes);
		}
		else if (!pp_boxes_next(&boxes->boxes, &boxes->box))
		{
			forget_inputs(state, boxes);
			return false;
		}
		else if (!build_box(state, boxes, &boxes->box, &empty))
		{
			refine(state, boxes);
			continue;
		}
		if (empty || (PP_MUTATED(join_box_lost) && boxes->count == 2))
			continue;
		release_pairs(state);
		boxes->count++;
		return true;
	}
}

uint64
parparaw_boxes_count(const PpBoxRun *boxes)
{
	return boxes->count;
}

/* Plans the first cut, for relations of these sizes. */
static void
plan_boxes(PpJoinState *state, PpBoxRun *boxes)
{
	Size		memory = state->limit > boxes->held ? state->limit - boxes->held : 0;

	/* if even the finest plan is too coarse, boxes will be cut when they come */
	(void) pp_boxes_begin(&boxes->boxes, &boxes->query, memory, ROW_BYTES, state->seed);
	boxes->grouped = false;
}

PpBoxRun *
parparaw_boxes_begin(PpJoinState *state)
{
	const PpJoinPlan *plan = state->plan;
	MemoryContext old = MemoryContextSwitchTo(state->data_context);
	PpBoxRun   *boxes = palloc0(sizeof(PpBoxRun));
	Size		buffer = 0;

	for (int r = 0; r < state->nrelations; r++)
		boxes->relations[r].nrows = state->relations[r].nspilled;
	boxes->query.nvariables = plan->nvariables;
	boxes->query.natoms = plan->natoms;
	boxes->query.nresiduals = plan->nresiduals;
	boxes->query.nrelations = state->nrelations;
	boxes->query.atoms = state->atoms;
	boxes->query.residuals = plan->residuals;
	boxes->query.relations = boxes->relations;
	boxes->query.mode = plan->mode;
	boxes->query.group = plan->group;
	plan_boxes(state, boxes);
	for (int r = 0; r < state->nrelations; r++)
	{
		PpRelation *relation = &state->relations[r];
		uint8		bits[2] = {0, 0};

		for (int a = 0; a < plan->natoms; a++)
			for (int i = 0; i < 2 && state->atoms[a].relation == r; i++)
				bits[i] = Max(bits[i], boxes->boxes.bits[state->atoms[a].variable[i]]);
		boxes->held += make_parts(state, relation, bits[0], bits[1], state->limit / 2);
		buffer = Max(buffer, block_bytes(relation->parts));
	}
	boxes->buffer = palloc(buffer);
	boxes->context = AllocSetContextCreate(state->data_context, "ParparawJoin box",
										   ALLOCSET_DEFAULT_SIZES);
	memset(state->inputs, 0, plan->natoms * sizeof(PpInput));
	MemoryContextSwitchTo(old);
	return boxes;
}

void
parparaw_boxes_restart(PpJoinState *state, PpBoxRun *boxes)
{
	Size		held = boxes->held;

	/* the same cut as before */
	boxes->held = 0;
	plan_boxes(state, boxes);
	boxes->held = held;
}

void
parparaw_boxes_end(PpJoinState *state)
{
	for (int r = 0; r < state->nrelations; r++)
	{
		if (state->relations[r].parts)
			BufFileClose(state->relations[r].parts->file);
		state->relations[r].parts = NULL;
	}
}
