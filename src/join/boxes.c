/*-------------------------------------------------------------------------
 *
 * boxes.c
 *		Joins in pieces, when their relations do not fit memory together.
 *
 * A box is a part of all assignments: of each variable that is cut, it has
 * the keys whose hash falls into one of the parts (src/trie/box.h).  Of an
 * atom's rows only those with both keys in the box matter there, and of them
 * only those that can join: while the atoms of a box are read one after
 * another, bits by hash tell which keys of a variable those before have.  So
 * where keys have few rows each, cutting one variable makes all atoms small.
 *
 * Spilled relations are first sorted by cells (cells.c), so that a box reads
 * little more than it needs, and one without rows of some atom is known
 * without reading.  A box that is expected not to fit, or turns out not to, is
 * cut.  In one that cannot be, all rows of an atom are alike: to count, one of
 * each is joined, and what comes out counts as often as the others make it; to
 * enumerate, rows are taken in groups, each group of one atom with each of the
 * others.
 *
 * Owns the file of sorted relations and what is read of it for the box in
 * hand, all in buffers that are allocated once.
 *
 * IDENTIFICATION
 *		src/join/boxes.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "../parse/mutation.h"
#include "../trie/box.h"
#include "joinexec.h"

/*
 * Bytes that a row takes in memory while its box is built: what is set aside,
 * and what is expected to begin with.  What the engine really takes is learnt.
 */
#define ROW_BYTES		32
#define MOST_ROW_BYTES	256

/* Part of the memory for tables of cells, and for bits of keys. */
#define DIRECTORY_PART	8
#define FILTER_PART		8

/* Parts that are 2^this times smaller than cells are taken to be even. */
#define EVEN_BITS		3

/* Bytes that are read of the file at a time. */
#define READ_BYTES		4096

/* Rows of a box that the learnt figures are not changed for. */
#define FEW_ROWS		64

/* As many times what is expected is believed to be there at most. */
#define MOST_RATIO		4.0

typedef enum PpBoxLoad
{
	BOX_LOADED,
	BOX_EMPTY,					/* joins nothing */
	BOX_FULL					/* does not fit */
} PpBoxLoad;

struct PpBoxRun
{
	PpBoxes		boxes;
	PpJoinQuery query;
	PpJoinRelation relations[PP_JOIN_MAX_RELATIONS];	/* for their number only */
	PpBoxKeys	keys;
	BufFile    *file;			/* relations by cells */
	uint64		bytes;			/* in it */
	Size		held;			/* bytes of everything here */
	uint64		count;			/* boxes that were joined */
	uint64		nread;			/* rows read for boxes */
	int64	   *buffer;			/* what is read of the file */

	/* the rows of the box in hand, one input behind the other */
	int64	   *pairs;
	uint64	   *at;
	uint64		room;
	uint64		used;
	PpBoxNumbers numbers;

	/* what was learnt about sizes */
	Size		reserve;		/* bytes of the engine, however few rows */
	double		memory;			/* bytes for rows, and of the engine for them */
	double		row_bytes;		/* that a row takes of it */
	double		ratio;			/* rows kept to those expected */

	/* keys of variables that atoms read so far have, one bit for each hash */
	int			filter_bits;	/* as a power of two */
	uint64	   *filter[PP_JOIN_MAX_VARIABLES];
	bool		filtered[PP_JOIN_MAX_VARIABLES];
	uint64	   *scratch[2];

	/* a box that cannot be cut: groups of rows of each atom */
	bool		grouped;
	bool		weighted;		/* rows of an atom are alike: one row each, which
								 * counts as often as this: */
	PpCount		weight;
	uint64		group_size;
	uint64		ngroups[PP_JOIN_MAX_ATOMS];
	uint64		group[PP_JOIN_MAX_ATOMS];
};

/*
 * Rows.
 */

static void
scan_atom(PpJoinState *state, PpBoxRun *boxes, int a, PpCellConsumer consume, void *arg)
{
	const PpJoinAtom *atom = &state->atoms[a];

	(void) parparaw_cells_scan(state, boxes->file, boxes->buffer, READ_BYTES,
							   state->relations[atom->relation].cells, atom,
							   &boxes->boxes.box, consume, arg);
}

/*
 * How many rows of an atom the cells of a box have; part s, if it is 0 or 1,
 * cut once more and its upper half taken.
 */
static uint64
cell_rows(PpJoinState *state, const PpBox *box, int a, int s)
{
	const PpJoinAtom *atom = &state->atoms[a];
	const PpCells *cells = state->relations[atom->relation].cells;
	int			bits[2];
	uint32		part[2];

	for (int i = 0; i < 2; i++)
	{
		bits[i] = box->bits[atom->variable[i]];
		part[i] = box->part[atom->variable[i]];
		if (i == s)
		{
			bits[i]++;
			part[i] = part[i] << 1 | 1;
		}
	}
	return parparaw_cells_rows(cells, bits, part);
}

/*
 * About how many rows of an atom a box has, as cell_rows() asks for; 0 only if
 * there are none.  *below: how much smaller than cells its parts are.
 */
static uint64
about_rows(PpJoinState *state, const PpBox *box, int a, int s, int *below)
{
	const PpJoinAtom *atom = &state->atoms[a];
	const PpCells *cells = state->relations[atom->relation].cells;
	uint64		n = cell_rows(state, box, a, s);

	*below = 0;
	for (int i = 0; i < 2; i++)
		*below += Max(box->bits[atom->variable[i]] + (i == s) - cells->bits[i], 0);
	return n == 0 ? 0 : Max(n >> Min(*below, 63), 1);
}

static inline uint32
filter_bit(const PpBoxRun *boxes, uint64 seed, int64 key)
{
	return (uint32) ((((uint64) key ^ seed) * UINT64CONST(0x9e3779b97f4a7c15)) >>
					 (64 - boxes->filter_bits));
}

static inline bool
in_filter(const uint64 *filter, uint32 bit)
{
	return filter == NULL || (filter[bit / 64] >> bit % 64 & 1) != 0;
}

typedef struct LoadArg
{
	PpBoxRun   *boxes;
	uint64		seed;
	bool		at;
	const uint64 *filter[2];	/* keys wanted; NULL: all */
	uint64	   *found[2];		/* keys there were; NULL: not wanted */
	bool		marking;		/* nothing but them, and how many rows */
	uint64		first;			/* rows from this number on ... */
	uint64		last;			/* ... up to, without, this one */
	uint64		seen;
	bool		full;
} LoadArg;

static bool
load_rows(void *arg, int64 *rows, int n)
{
	LoadArg    *load = arg;
	PpBoxRun   *boxes = load->boxes;
	const int	width = load->at ? 3 : 2;

	boxes->nread += n;
	if (load->found[0] == NULL && load->first == 0 && load->last == UINT64_MAX && !load->at)
	{
		if ((uint64) n > boxes->room - boxes->used)
		{
			load->full = true;
			return false;
		}
		memcpy(boxes->pairs + 2 * boxes->used, rows, (Size) n * 2 * sizeof(int64));
		boxes->used += n;
		return true;
	}
	for (int i = 0; i < n; i++)
	{
		const int64 *row = rows + i * width;

		if (load->found[0])
		{
			uint32		bit0 = filter_bit(boxes, load->seed, row[0]);
			uint32		bit1 = filter_bit(boxes, load->seed, row[1]);

			if (!in_filter(load->filter[0], bit0) || !in_filter(load->filter[1], bit1))
				continue;
			load->found[0][bit0 / 64] |= UINT64CONST(1) << bit0 % 64;
			load->found[1][bit1 / 64] |= UINT64CONST(1) << bit1 % 64;
		}
		if (load->seen++ < load->first || load->marking)
			continue;
		if (load->seen > load->last)
			return false;
		if (boxes->used == boxes->room)
		{
			load->full = true;
			return false;
		}
		boxes->pairs[2 * boxes->used] = row[0];
		boxes->pairs[2 * boxes->used + 1] = row[1];
		if (load->at)
			boxes->at[boxes->used] = (uint64) row[2];
		boxes->used++;
	}
	return true;
}

static void
forget_inputs(PpJoinState *state, PpBoxRun *boxes)
{
	boxes->used = 0;
	parparaw_number_forget(&boxes->numbers);
	memset(state->inputs, 0, state->plan->natoms * sizeof(PpInput));
}

/*
 * Reads an atom's rows into an input, of those that pass the filters rows
 * first .. last - 1.  False: there is no room.
 */
static bool
load_atom(PpJoinState *state, PpBoxRun *boxes, int a, PpInput *input, LoadArg *load)
{
	uint64		first = boxes->used;

	load->boxes = boxes;
	load->seed = state->seed;
	load->at = state->relations[state->atoms[a].relation].store != NULL;
	scan_atom(state, boxes, a, load_rows, load);
	input->pairs = boxes->pairs + 2 * first;
	input->at = load->at ? boxes->at + first : NULL;
	input->nrows = boxes->used - first;
	return !load->full;
}

/* Loads each atom's rows, those of atoms that read the same ones once. */
static PpBoxLoad
load_shared(PpJoinState *state, PpBoxRun *boxes, int *ninputs)
{
	uint32		of_atom[PP_JOIN_MAX_ATOMS];
	uint32		atom_of[PP_JOIN_MAX_ATOMS];

	*ninputs = (int) pp_box_relations(&boxes->query, &boxes->boxes.box, of_atom, atom_of);
	for (int i = 0; i < *ninputs; i++)
	{
		LoadArg		load = {.last = UINT64_MAX};

		if (!load_atom(state, boxes, (int) atom_of[i], &state->inputs[i], &load))
			return BOX_FULL;
		if (state->inputs[i].nrows == 0)
			return BOX_EMPTY;
	}
	for (int a = 0; a < state->plan->natoms; a++)
		state->atom_input[a] = of_atom[a];
	return BOX_LOADED;
}

/*
 * Begins looking for keys of an atom's variables, after what is known of them
 * so far.
 */
static void
begin_filter(PpBoxRun *boxes, const PpJoinAtom *atom, const uint64 **filter, uint64 **found)
{
	Size		bytes = ((Size) 1 << boxes->filter_bits) / 8;

	for (int i = 0; i < 2; i++)
	{
		uint32		v = atom->variable[i];

		filter[i] = boxes->filtered[v] ? boxes->filter[v] : NULL;
		found[i] = boxes->scratch[i];
		memset(found[i], 0, bytes);
	}
}

/* The keys that were found are all that the variables can have. */
static void
end_filter(PpBoxRun *boxes, const PpJoinAtom *atom)
{
	for (int i = 0; i < 2; i++)
	{
		uint32		v = atom->variable[i];
		uint64	   *old = boxes->filter[v];

		/* of both columns, if they are the same variable */
		if (i == 1 && atom->variable[0] == v)
		{
			for (Size w = 0; w < ((Size) 1 << boxes->filter_bits) / 64; w++)
				boxes->filter[v][w] &= boxes->scratch[1][w];
			break;
		}
		boxes->filter[v] = boxes->scratch[i];
		boxes->scratch[i] = old;
		boxes->filtered[v] = true;
	}
}

/* Drops rows of an input whose keys some atom does not have; answers how many. */
static uint64
filter_input(PpJoinState *state, PpBoxRun *boxes, int a)
{
	PpInput    *input = &state->inputs[a];
	const uint64 *filter[2];
	uint64	   *found[2];
	uint64		kept = 0;

	begin_filter(boxes, &state->atoms[a], filter, found);
	for (uint64 i = 0; i < input->nrows; i++)
	{
		uint32		bit0 = filter_bit(boxes, state->seed, input->pairs[2 * i]);
		uint32		bit1 = filter_bit(boxes, state->seed, input->pairs[2 * i + 1]);

		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		if (!in_filter(filter[0], bit0) || !in_filter(filter[1], bit1))
			continue;
		found[0][bit0 / 64] |= UINT64CONST(1) << bit0 % 64;
		found[1][bit1 / 64] |= UINT64CONST(1) << bit1 % 64;
		input->pairs[2 * kept] = input->pairs[2 * i];
		input->pairs[2 * kept + 1] = input->pairs[2 * i + 1];
		if (input->at)
			input->at[kept] = input->at[i];
		kept++;
	}
	end_filter(boxes, &state->atoms[a]);
	kept = input->nrows - kept;
	input->nrows -= kept;
	return kept;
}

/*
 * Finds which keys of an atom have partners in those before it; answers how
 * many rows do.
 */
static uint64
mark_atom(PpJoinState *state, PpBoxRun *boxes, int a)
{
	LoadArg		load = {.last = UINT64_MAX, .marking = true};

	begin_filter(boxes, &state->atoms[a], load.filter, load.found);
	load.boxes = boxes;
	load.seed = state->seed;
	load.at = state->relations[state->atoms[a].relation].store != NULL;
	scan_atom(state, boxes, a, load_rows, &load);
	end_filter(boxes, &state->atoms[a]);
	return load.seen;
}

/*
 * An order of atoms: the smallest first, then always one that shares a
 * variable with those before, if there is one.
 */
static void
order_atoms(PpJoinState *state, const double *kept, int *order)
{
	int			natoms = state->plan->natoms;
	bool		bound[PP_JOIN_MAX_VARIABLES] = {false};
	bool		taken[PP_JOIN_MAX_ATOMS] = {false};

	for (int i = 0; i < natoms; i++)
	{
		int			best = -1;
		bool		best_bound = false;

		for (int a = 0; a < natoms; a++)
		{
			bool		here = bound[state->atoms[a].variable[0]] ||
				bound[state->atoms[a].variable[1]];

			if (!taken[a] && (best < 0 || (here && !best_bound) ||
							  (here == best_bound && kept[a] < kept[best])))
			{
				best = a;
				best_bound = here;
			}
		}
		order[i] = best;
		taken[best] = true;
		bound[state->atoms[best].variable[0]] = bound[state->atoms[best].variable[1]] = true;
	}
}

/*
 * Loads of each atom's rows those whose keys occur in the others.  If all rows
 * together are more than there is room for, they are looked through for keys
 * first, there and back.
 */
static PpBoxLoad
load_filtered(PpJoinState *state, PpBoxRun *boxes, const uint64 *rows, const double *kept)
{
	int			natoms = state->plan->natoms;
	int			order[PP_JOIN_MAX_ATOMS];
	uint64		sum = 0;

	order_atoms(state, kept, order);
	memset(boxes->filtered, 0, sizeof(boxes->filtered));
	for (int a = 0; a < natoms; a++)
		sum += rows[a];
	for (int turn = 0; turn < 2 && sum > boxes->room; turn++)
	{
		sum = 0;
		for (int i = 0; i < natoms; i++)
		{
			uint64		n = mark_atom(state, boxes, order[turn == 0 ? i : natoms - 1 - i]);

			if (n == 0)
				return BOX_EMPTY;
			sum += n;
		}
	}
	for (int i = 0; i < natoms; i++)
	{
		int			a = order[i];
		LoadArg		load = {.last = UINT64_MAX};

		state->atom_input[a] = a;
		begin_filter(boxes, &state->atoms[a], load.filter, load.found);
		if (!load_atom(state, boxes, a, &state->inputs[a], &load))
			return BOX_FULL;
		if (state->inputs[a].nrows == 0)
			return BOX_EMPTY;
		end_filter(boxes, &state->atoms[a]);
	}

	/* back, and forth again if that was worth it */
	for (int turn = 0; turn < 4; turn++)
	{
		uint64		dropped = 0;
		uint64		left = 0;

		for (int i = 0; i < natoms; i++)
		{
			int			a = order[turn % 2 == 0 ? natoms - 1 - i : i];

			dropped += filter_input(state, boxes, a);
			left += state->inputs[a].nrows;
			if (state->inputs[a].nrows == 0)
				return BOX_EMPTY;
		}
		if (dropped < left / 4)
			break;
	}
	return BOX_LOADED;
}

/* Numbers the keys of inputs and builds their join. */
static PpBoxLoad
build_inputs(PpJoinState *state, PpBoxRun *boxes, int ninputs)
{
	Size		pairs = boxes->room * 2 * sizeof(int64);

	/* the engine, for which this room is, comes later */
	if (!parparaw_number_box(state, ninputs, (Size) boxes->memory - pairs, state->data_context,
							 &boxes->numbers))
		return BOX_FULL;
	for (int i = 0; i < ninputs; i++)
		if (state->inputs[i].nrows == 0)
			return BOX_EMPTY;
	return parparaw_join_build(state, ninputs, boxes->numbers.n,
							   boxes->held + boxes->numbers.bytes) ? BOX_LOADED : BOX_FULL;
}

/*
 * Loads the box in hand, and builds its join.  As many rows as fit, and as the
 * engine takes memory for, are expected to the next time.
 */
static PpBoxLoad
build_box(PpJoinState *state, PpBoxRun *boxes)
{
	uint64		rows[PP_JOIN_MAX_ATOMS];
	double		kept[PP_JOIN_MAX_ATOMS];
	double		expected;
	double		most = Min(boxes->memory / boxes->row_bytes, boxes->room);
	uint64		nrows = 0;
	bool		shared;
	int			below;
	int			ninputs = state->plan->natoms;
	PpBoxLoad	result;

	forget_inputs(state, boxes);
	for (int a = 0; a < state->plan->natoms; a++)
		rows[a] = about_rows(state, &boxes->boxes.box, a, -1, &below);
	expected = pp_box_estimate(&boxes->query, &boxes->boxes.box, rows, &boxes->keys,
							   &shared, kept);
	if (expected == 0)
		return BOX_EMPTY;
	if (expected * (shared ? 1 : boxes->ratio) > most)
		return BOX_FULL;
	result = shared ? load_shared(state, boxes, &ninputs) : load_filtered(state, boxes, rows, kept);
	if (!shared && result == BOX_FULL)
		boxes->ratio = Min(boxes->ratio * 1.3, MOST_RATIO);
	else if (!shared && expected > FEW_ROWS)
		boxes->ratio = Max(0.75 * boxes->ratio + 0.25 * Min(boxes->used / expected, MOST_RATIO),
						   1 / MOST_RATIO);
	if (result != BOX_LOADED)
		return result;
	for (int i = 0; i < ninputs; i++)
		nrows += state->inputs[i].nrows;
	result = build_inputs(state, boxes, ninputs);
	if (result == BOX_FULL)
		boxes->row_bytes = Min(boxes->row_bytes * 1.25, MOST_ROW_BYTES);
	if (result != BOX_LOADED)
		return result;
	if (nrows > FEW_ROWS)
	{
		double		bytes = 2 * sizeof(int64) + (state->rows ? sizeof(uint64) : 0) +
			Max((double) state->stats.info.peak_bytes - boxes->reserve, 0) / nrows;

		if (nrows > most / 2 || bytes < boxes->row_bytes)
			boxes->row_bytes = Min(0.75 * boxes->row_bytes + 0.25 * bytes, MOST_ROW_BYTES);
	}
	return BOX_LOADED;
}

/*
 * Groups of rows.
 */

/* Makes groups of the rows of a box that cannot be cut, or one row of each atom. */
static void
begin_groups(PpJoinState *state, PpBoxRun *boxes, const PpBoxTally *tally, bool weighted)
{
	int			natoms = state->plan->natoms;

	boxes->group_size = weighted ? 1 :
		Max((uint64) (boxes->memory / MOST_ROW_BYTES / natoms), 1);
	boxes->grouped = true;
	boxes->weighted = weighted;
	for (int a = 0; a < natoms; a++)
	{
		boxes->ngroups[a] = weighted ? 1 :
			(tally->rows[a] + boxes->group_size - 1) / boxes->group_size;
		boxes->group[a] = 0;
		if (tally->rows[a] == 0)
			boxes->grouped = false;
	}
}

/* Builds the join of the next groups of all atoms; false: they join nothing. */
static bool
build_groups(PpJoinState *state, PpBoxRun *boxes)
{
	int			natoms = state->plan->natoms;
	bool		fits = true;
	PpBoxLoad	result;
	int			a;

	forget_inputs(state, boxes);
	for (a = 0; a < natoms && fits; a++)
	{
		LoadArg		load = {0};

		load.first = boxes->group[a] * boxes->group_size;
		load.last = load.first + boxes->group_size;
		fits = load_atom(state, boxes, a, &state->inputs[a], &load);
		state->atom_input[a] = a;
	}
	result = fits ? build_inputs(state, boxes, natoms) : BOX_FULL;
	if (result == BOX_FULL)
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
	return result == BOX_LOADED;
}

/*
 * Boxes.
 */

typedef struct TallyArg
{
	PpJoinState *state;
	PpBoxRun   *boxes;
	PpBoxTally	tally;
	int			atom;
} TallyArg;

static bool
tally_rows(void *arg, int64 *rows, int n)
{
	TallyArg   *tally = arg;
	int			width = tally->state->relations[tally->state->atoms[tally->atom].relation].cells->width;

	tally->boxes->nread += n;
	for (int i = 0; i < n; i++)
		pp_box_tally(&tally->tally, &tally->boxes->query, &tally->boxes->boxes.box,
					 tally->state->seed, (uint32) tally->atom, rows[i * width],
					 rows[i * width + 1]);
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

/*
 * The box in hand is too large: cuts it, or, if that is not possible, its
 * rows.  These are read where cells do not tell enough of how they would be cut.
 */
static void
cut_box(PpJoinState *state, PpBoxRun *boxes)
{
	TallyArg	arg = {0};
	PpBoxTally *tally = &arg.tally;

	forget_inputs(state, boxes);
	arg.state = state;
	arg.boxes = boxes;
	for (int a = 0; a < state->plan->natoms; a++)
	{
		int			below;
		int			most = 0;

		tally->rows[a] = about_rows(state, &boxes->boxes.box, a, -1, &below);
		for (int s = 0; s < 2; s++)
		{
			tally->upper[a][s] = Min(about_rows(state, &boxes->boxes.box, a, s, &below),
									 tally->rows[a]);
			tally->differ[a][s] = tally->rows[a] > 1;
			most = Max(most, below);
		}
		if (most <= EVEN_BITS)
			continue;
		tally->rows[a] = tally->upper[a][0] = tally->upper[a][1] = 0;
		tally->differ[a][0] = tally->differ[a][1] = false;
		arg.atom = a;
		scan_atom(state, boxes, a, tally_rows, &arg);
		if (tally->rows[a] == 0)
			return;				/* nothing to join, after all */
	}
	if (pp_boxes_cut(&boxes->boxes, tally, &boxes->keys) == PP_JOIN_OK)
		return;
	begin_groups(state, boxes, tally, alike(state, tally, &boxes->weight));
}

bool
parparaw_boxes_next(PpJoinState *state, PpBoxRun *boxes)
{
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		state->weight.low = 1;
		state->weight.high = 0;
		if (boxes->grouped)
		{
			if (boxes->weighted)
				state->weight = boxes->weight;
			if (!build_groups(state, boxes))
				continue;
		}
		else if (!pp_boxes_next(&boxes->boxes))
		{
			forget_inputs(state, boxes);
			return false;
		}
		else
		{
			PpBoxLoad	result = build_box(state, boxes);

			if (result == BOX_FULL)
				cut_box(state, boxes);
			if (result != BOX_LOADED)
				continue;
		}
		boxes->count++;
		if (PP_MUTATED(join_box_lost) && boxes->count == 3)
		{
			parparaw_join_release(state);
			continue;
		}
		return true;
	}
}

uint64
parparaw_boxes_count(const PpBoxRun *boxes)
{
	return boxes->count;
}

void
parparaw_boxes_keys(const PpBoxRun *boxes, int v, int64 *keys, uint32 n)
{
	const int64 *of = boxes->numbers.keys[v];

	for (uint32 i = 0; i < n; i++)
		keys[i] = of[keys[i]];
}

uint64
parparaw_boxes_read(const PpBoxRun *boxes)
{
	return boxes->nread;
}

/* Sorts relations by cells, as fine as boxes are expected to become. */
static void
sort_relations(PpJoinState *state, PpBoxRun *boxes)
{
	const PpJoinPlan *plan = state->plan;
	Size		directory = state->limit / DIRECTORY_PART / state->nrelations;
	double		bytes = 0;
	uint8		bits[2];

	for (int a = 0; a < plan->natoms; a++)
		bytes += (double) state->relations[state->atoms[a].relation].nspilled * ROW_BYTES;
	/* an atom has two columns, each cut by the root; and some finer */
	bits[0] = bits[1] = (uint8) (Max(log2(bytes / state->limit) / 2, 0) + 2.5);
	boxes->file = BufFileCreateTemp(false);
	for (int r = 0; r < state->nrelations; r++)
	{
		parparaw_cells_make(state, &state->relations[r], boxes->file, &boxes->bytes, bits,
							(state->limit - Min(boxes->held, state->limit)) / 2, directory);
		boxes->held += sizeof(PpCells) + parparaw_cells_bytes(state->relations[r].cells);
	}
	for (int a = 0; a < plan->natoms; a++)
		for (int i = 0; i < 2; i++)
			boxes->keys.n[a][i] = state->relations[state->atoms[a].relation].cells->keys[i];
}

/* Divides the memory between rows, bits of their keys, and the engine. */
static void
make_room(PpJoinState *state, PpBoxRun *boxes)
{
	const PpJoinPlan *plan = state->plan;
	Size		others = boxes->held + state->fixed_bytes;
	Size		least = others + parparaw_join_floor(plan) + LEAST_MEMORY;
	Size		memory;
	Size		filter;
	bool		stores = false;
	Size		bytes;

	for (int r = 0; r < state->nrelations; r++)
		stores |= state->relations[r].store != NULL;

	boxes->reserve = parparaw_join_floor(plan) / 2;
	memory = Max(state->limit, least) - others - boxes->reserve;
	filter = memory / FILTER_PART / (plan->nvariables + 2);
	boxes->filter_bits = Max(pg_leftmost_one_pos64(filter * 8), 10);
	bytes = ((Size) 1 << boxes->filter_bits) / 8;
	for (int v = 0; v < plan->nvariables; v++)
		boxes->filter[v] = palloc(bytes);
	for (int i = 0; i < 2; i++)
		boxes->scratch[i] = palloc(bytes);
	memory -= bytes * (plan->nvariables + 2);
	boxes->held += bytes * (plan->nvariables + 2);

	boxes->memory = (double) memory;
	boxes->row_bytes = ROW_BYTES;
	boxes->ratio = 1;
	boxes->room = Max(memory / ROW_BYTES, plan->natoms);
	bytes = boxes->room * 2 * sizeof(int64);
	boxes->pairs = MemoryContextAllocExtended(CurrentMemoryContext, bytes, MCXT_ALLOC_HUGE);
	boxes->held += bytes;
	if (stores)
	{
		bytes = boxes->room * sizeof(uint64);
		boxes->at = MemoryContextAllocExtended(CurrentMemoryContext, bytes, MCXT_ALLOC_HUGE);
		boxes->held += bytes;
	}
}

PpBoxRun *
parparaw_boxes_begin(PpJoinState *state)
{
	const PpJoinPlan *plan = state->plan;
	MemoryContext old = MemoryContextSwitchTo(state->data_context);
	PpBoxRun   *boxes = palloc0(sizeof(PpBoxRun));

	/* owned by the state, so that its file is closed if something fails */
	state->boxes = boxes;
	boxes->query.nvariables = plan->nvariables;
	boxes->query.natoms = plan->natoms;
	boxes->query.nresiduals = plan->nresiduals;
	boxes->query.nrelations = state->nrelations;
	boxes->query.atoms = state->atoms;
	boxes->query.residuals = plan->residuals;
	boxes->query.relations = boxes->relations;
	boxes->query.mode = plan->mode;
	boxes->query.group = plan->group;
	boxes->held = sizeof(PpBoxRun) + BLCKSZ + READ_BYTES +
		(plan->mode == PP_JOIN_GROUPS ? PP_GROUPS_BYTES(state) : 0);
	sort_relations(state, boxes);
	boxes->buffer = palloc(READ_BYTES);
	make_room(state, boxes);
	pp_boxes_begin(&boxes->boxes, &boxes->query, state->seed);
	memset(state->inputs, 0, plan->natoms * sizeof(PpInput));
	MemoryContextSwitchTo(old);
	return boxes;
}

void
parparaw_boxes_restart(PpJoinState *state, PpBoxRun *boxes)
{
	pp_boxes_begin(&boxes->boxes, &boxes->query, state->seed);
	boxes->grouped = false;
}

void
parparaw_boxes_end(PpJoinState *state)
{
	if (state->boxes->file)
		BufFileClose(state->boxes->file);
	for (int r = 0; r < state->nrelations; r++)
		state->relations[r].cells = NULL;
}
