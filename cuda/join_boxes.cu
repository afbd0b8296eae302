/*
 * cuda/join_boxes.cu
 *	  Joins larger than the device's memory, in boxes (src/trie/box.h): each is a
 *	  join of its own, of the rows that have their keys in it.
 *
 * Boxes come from cutting in halves: one that has more rows than are known to
 * fit, or that turns out not to fit, is cut.  The rows of the next box are
 * picked out here, a stretch at a time, and sent to the device (join_ahead.cu),
 * while it joins the one before.  Inputs for which there is no room there, which
 * may be all of them, wait in the host's memory.
 * Where thousands of boxes would be needed, the device is not what to join on.
 * Each assignment is in one box; so counts and rows of all boxes are those of
 * the whole, and groups, whose key may be in several, are put together here.
 * Of cliques of one relation keys are cut in ranges instead of by hash
 * (join_one_way.cu), and boxes whose keys are in no order have no rows.
 *
 * Owns a copy of the relations (join_cells.cu), the rows of the box in preparation,
 * the numbers that the rows of boxes have in the whole, and groups.
 */
#include "join_sort.h"

#include <algorithm>
#include <cstring>

namespace
{

/* Rows that are looked at between two looks at the device, and that are sent
 * together at most. */
constexpr uint64_t STRETCH = 8192;
constexpr uint64_t SENT_ROWS = 4 * STRETCH;

/* Device memory that a row is expected to take, to begin with; of all there is, the
 * part that is set aside for the next box, 16 bytes a row, is one in so many. */
constexpr uint64_t ROW_BYTES = 80;
constexpr uint64_t AHEAD_PART = 5;

/* The part of a box for which memory is set aside where there is not enough for all. */
constexpr uint64_t LESS = 4;

/* Rows below which a box is not believed to be too large before it was tried. */
constexpr uint64_t FEW_ROWS = 64;

/* Of the budget, what a box's join must not count on: its pieces cost a little
 * more than it knows. */
constexpr size_t RESERVE = 8192;

/* Cuts of one box: there would be 2 to the power of that, not counting those that
 * have no answers as their keys are in no order. */
constexpr uint32_t MOST_CUTS = 12;

/* Groups that there is room for at first. */
constexpr uint64_t FIRST_GROUPS = 1024;

enum Step
{
	COUNTING,					/* rows of the box in hand */
	PICKING,					/* they fit */
	READY,						/* they are there */
	FINISHED,					/* there are no more boxes */
	FAILED						/* status says why */
};

/* Rows of a box that some of its atoms read. */
struct Input
{
	bool		ahead;			/* they go to the device, to place, */
	size_t		place;
	uint64_t	sent;
	int64_t    *pairs;			/* or here; NULL once the box is built */
	uint32_t   *number;			/* of each in the whole relation; NULL: not wanted */
	uint64_t	nrows;
	uint64_t	filled;
};

struct Group
{
	static constexpr uint32_t DIGITS = 8;

	int64_t		key;
	PpUint128	count;

	bool
	less(const Group &other) const
	{
		return key < other.key;
	}

	uint32_t
	digit(uint32_t i) const
	{
		return pp_sort_digit(key, i);
	}
};

/* The keys that a variable may have in the box in hand, where they are cut in ranges. */
struct Keys
{
	int64_t		least;
	int64_t		most;
	int64_t		upper;			/* the least one of its upper half */
};

}								/* namespace */

struct PpJoinBoxes
{
	PpCudaJoin *whole;
	PpJoinQuery query;			/* of the whole, or what comes to the same */
	PpJoinAtom	atoms[PP_JOIN_MAX_ATOMS];
	PpJoinRelation relations[PP_JOIN_MAX_RELATIONS];
	PpCells		cells[PP_JOIN_MAX_RELATIONS];	/* their rows, of those that are read */
	PpOneWay	one_way;		/* how keys are cut, what counts are multiplied by */
	PpCudaJoinAlgorithm algorithm;
	uint64_t	fits;			/* rows of a box at most */

	/* in preparation */
	PpBoxes		boxes;
	PpBoxTally	tally;
	Keys		keys[PP_JOIN_MAX_VARIABLES];	/* where they are cut in ranges */
	Step		step;
	PpJoinStatus status;
	uint32_t	of_atom[PP_JOIN_MAX_ATOMS];
	uint32_t	atom_of[PP_JOIN_MAX_ATOMS];
	uint32_t	ninputs;
	uint32_t	at_input;		/* how far it is */
	uint32_t	at_cells;
	uint64_t	at_row;
	Input		next[PP_JOIN_MAX_ATOMS];
	PpAhead		ahead;
	uint64_t	less;			/* is set aside than a box takes: part of that; or 0 */
	uint64_t	largest;		/* rows of a relation at most */

	/* the box that is joined */
	PpCudaJoin *join;
	PpBoxes		before;			/* as boxes was, to cut it after all */
	PpBoxTally	before_tally;
	uint64_t	rows;
	uint32_t	place[PP_JOIN_MAX_ATOMS];	/* which of these an atom reads */
	uint32_t   *number[PP_JOIN_MAX_ATOMS];
	bool		served;			/* the caller has some of its rows */
	bool		sparing;		/* it is built again, by what takes the least memory */
	uint64_t	beside;			/* device memory set aside for the next one */

	PpCudaJoinInfo done;		/* of boxes that are finished */
	bool		begun;
	bool		ended;

	Group	   *group;			/* GROUPS: sorted once all are there */
	uint64_t	ngroups;
	uint64_t	room;
	uint64_t	next_group;
};

namespace
{

/* ---------- preparing a box ---------- */

void
drop_inputs(PpJoinBoxes *b)
{
	for (Input &in : b->next)
	{
		pp_budget_release(&b->whole->budget, in.pairs);
		pp_budget_release(&b->whole->budget, in.number);
		in = {};
	}
	pp_ahead_drop(&b->ahead);
}

/* Turns to the box in hand. */
void
look_at(PpJoinBoxes *b)
{
	memset(&b->tally, 0, sizeof(b->tally));
	for (uint32_t v = 0; v < b->query.nvariables && b->one_way.bound != nullptr; v++)
	{
		const uint32_t bits = b->boxes.box.bits[v];
		const uint32_t part = b->boxes.box.part[v];

		b->keys[v].least = pp_range_least(&b->one_way, bits, part);
		b->keys[v].upper = pp_range_least(&b->one_way, bits + 1, 2 * part + 1);
		b->keys[v].most = part + 1 < UINT32_C(1) << bits ? pp_range_least(&b->one_way, bits, part + 1) - 1 :
			INT64_MAX;
	}
	b->ninputs = pp_box_relations(&b->query, &b->boxes.box, b->of_atom, b->atom_of);
	b->at_input = 0;
	b->at_cells = 0;
	b->at_row = 0;
	b->step = COUNTING;
}

void
next_box(PpJoinBoxes *b)
{
	drop_inputs(b);
	if (pp_boxes_next(&b->boxes))
		look_at(b);
	else
		b->step = FINISHED;
}

/*
 * The variable at which to cut, or nvariables: where the halves have the fewest rows,
 * those that several atoms read counted for each of them.  With a relation that all
 * atoms of a clique read, that is to cut all variables alike; by the rows that there
 * are, a cut is no gain until most variables are cut, but for the one that is already.
 * Where boxes have to be in order, all variables are cut alike: there are fewest then.
 */
uint32_t
variable_to_cut(const PpJoinBoxes *b)
{
	const PpJoinQuery *query = &b->query;
	const bool	one_way = b->one_way.bound != nullptr;
	uint32_t	best = query->nvariables;
	double		least = 0;

	for (uint32_t v = 0; v < query->nvariables; v++)
	{
		double		half[2] = {0, 0};
		double		size;
		bool		differ = false;

		for (uint32_t a = 0; a < query->natoms; a++)
		{
			uint64_t	rows[2] = {b->tally.rows[a], b->tally.rows[a]};

			for (uint32_t s = 0; s < 2; s++)
				if (query->atoms[a].variable[s] == v)
				{
					rows[0] = b->tally.rows[a] - b->tally.upper[a][s];
					rows[1] = b->tally.upper[a][s];
					differ |= b->tally.differ[a][s];
				}
			half[0] += (double) rows[0];
			half[1] += (double) rows[1];
		}
		/* what is read for both halves counts as well, if for less */
		size = std::max(half[0], half[1]);
		size *= size * (half[0] + half[1]);
		if (one_way)
			size = b->boxes.box.bits[v];
		if (!differ || b->boxes.box.bits[v] >= PP_BOX_MOST_BITS)
			continue;
		if (best == query->nvariables || size < least)
		{
			best = v;
			least = size;
		}
	}
	return best;
}

/* False: it cannot be cut, or there would be too many. */
bool
cut_box(PpJoinBoxes *b)
{
	const uint32_t most = MOST_CUTS + b->one_way.more_cuts;
	const uint32_t v = b->boxes.depth == most ? b->query.nvariables : variable_to_cut(b);

	if (v == b->query.nvariables)
		return false;
	pp_boxes_cut_at(&b->boxes, v);
	next_box(b);
	return true;
}

void
fail(PpJoinBoxes *b, PpJoinStatus status)
{
	b->status = status;
	b->step = FAILED;
}

/* Room for the rows that were counted; false: there is none for so many. */
bool
make_room(PpJoinBoxes *b)
{
	PpBudget   *budget = &b->whole->budget;

	for (uint32_t i = 0; i < b->ninputs; i++)
	{
		Input	   *in = &b->next[i];

		in->nrows = b->tally.rows[b->atom_of[i]];
		in->ahead = pp_ahead_place(&b->ahead, in->nrows, &in->place);
		if (!in->ahead)
			in->pairs = static_cast<int64_t *>(pp_budget_alloc(budget, 2 * in->nrows, sizeof(int64_t)));
		if (!in->ahead && in->pairs == nullptr)
			return false;
		if (b->whole->device.row_numbers)
			in->number = static_cast<uint32_t *>(pp_budget_alloc(budget, in->nrows, sizeof(uint32_t)));
		if (in->number == nullptr && b->whole->device.row_numbers)
			return false;
	}
	return true;
}

/* All rows of the box are counted. */
void
decide(PpJoinBoxes *b)
{
	uint64_t	rows = 0;
	bool		none = false;

	for (uint32_t a = 0; a < b->query.natoms; a++)
	{
		const uint32_t first = b->atom_of[b->of_atom[a]];

		if (first == a)
			rows += b->tally.rows[a];
		b->tally.rows[a] = b->tally.rows[first];
		for (uint32_t s = 0; s < 2; s++)
		{
			b->tally.upper[a][s] = b->tally.upper[first][s];
			b->tally.key[a][s] = b->tally.key[first][s];
			b->tally.differ[a][s] = b->tally.differ[first][s];
		}
		none |= b->tally.rows[a] == 0;
	}
	if (none)
	{
		next_box(b);
		return;
	}
	/* one that cannot be cut is tried all the same */
	if (rows > b->fits && cut_box(b))
		return;
	if (make_room(b))
	{
		b->at_input = 0;
		b->at_cells = 0;
		b->at_row = 0;
		b->step = PICKING;
		return;
	}
	drop_inputs(b);
	if (b->whole->budget.failure != PP_JOIN_NO_FIT || !cut_box(b))
		fail(b, b->whole->budget.failure);
}

/* Rows of an atom that are looked at together. */
struct Stretch
{
	const PpCells *cells;
	uint64_t	from;
	uint64_t	n;
	bool		whole;			/* all are the box's */
	bool		last;			/* there are no more behind them */
};

const PpCells *
cells_of(const PpJoinBoxes *b, uint32_t a)
{
	return &b->cells[b->query.atoms[a].relation];
}

/* How many rows an atom has in each half, if cells tell. */
bool
count_cells(PpJoinBoxes *b, uint32_t a)
{
	const PpCells *cells = cells_of(b, a);
	const PpCellReach all = pp_cells_reach(cells, &b->boxes.box, &b->query.atoms[a]);
	PpCellReach upper = all;
	PpBoxTally *tally = &b->tally;

	if (all.n[0] == 1 || all.n[1] == 1)
		return false;
	upper.n[1] /= 2;
	upper.first[1] += upper.n[1];
	for (uint32_t i = 0; i < all.n[0]; i++)
	{
		const uint64_t n = pp_cells_end(cells, &all, i) - pp_cells_begin(cells, &all, i);

		tally->rows[a] += n;
		tally->upper[a][0] += i >= all.n[0] / 2 ? n : 0;
		tally->upper[a][1] += pp_cells_end(cells, &upper, i) - pp_cells_begin(cells, &upper, i);
	}
	/* nobody has looked */
	tally->differ[a][0] = tally->differ[a][1] = true;
	return true;
}

/* The next rows of the input in hand. */
Stretch
next_stretch(const PpJoinBoxes *b, uint32_t a)
{
	const PpCells *cells = cells_of(b, a);
	const PpCellReach reach = pp_cells_reach(cells, &b->boxes.box, &b->query.atoms[a]);
	const uint64_t from = pp_cells_begin(cells, &reach, b->at_cells) + b->at_row;
	const uint64_t left = pp_cells_end(cells, &reach, b->at_cells) - from;

	return {cells, from, std::min(STRETCH, left), reach.whole[0] && reach.whole[1],
		b->at_cells + 1 == reach.n[0] && left <= STRETCH};
}

void
go_behind(PpJoinBoxes *b, const Stretch &s)
{
	b->at_row += s.n;
	if (s.n == STRETCH && !s.last)
		return;
	b->at_row = 0;
	b->at_cells++;
	if (s.last)
	{
		b->at_cells = 0;
		b->at_input++;
	}
}

/* Is a row in the box? */
bool
has_row(const PpJoinBoxes *b, const PpJoinAtom *atom, const int64_t *row)
{
	const Keys *keys[2] = {&b->keys[atom->variable[0]], &b->keys[atom->variable[1]]};

	if (b->one_way.bound == nullptr)
		return pp_box_has_row(&b->boxes.box, b->boxes.seed, atom, row[0], row[1]);
	return row[0] >= keys[0]->least && row[0] <= keys[0]->most && row[1] >= keys[1]->least &&
		row[1] <= keys[1]->most;
}

void
count_stretch(PpJoinBoxes *b, uint32_t a, const Stretch &s)
{
	const PpJoinAtom *atom = &b->query.atoms[a];
	const int64_t *row = s.cells->pairs + 2 * s.from;

	for (uint64_t i = 0; i < s.n; i++, row += 2)
	{
		if (!s.whole && !has_row(b, atom, row))
			continue;
		if (b->one_way.bound == nullptr)
			pp_box_tally(&b->tally, &b->query, &b->boxes.box, b->boxes.seed, a, row[0], row[1]);
		else
			pp_box_tally_halves(&b->tally, a, row[0], row[1], row[0] >= b->keys[atom->variable[0]].upper,
								row[1] >= b->keys[atom->variable[1]].upper);
	}
}

/* pairs: where the next of the picked rows are to be. */
void
pick_stretch(PpJoinBoxes *b, Input *in, uint32_t a, const Stretch &s, int64_t *pairs)
{
	const PpJoinAtom *atom = &b->query.atoms[a];
	const int64_t *row = s.cells->pairs + 2 * s.from;

	for (uint64_t i = 0; i < s.n; i++, row += 2)
		if (s.whole || has_row(b, atom, row))
		{
			*pairs++ = row[0];
			*pairs++ = row[1];
			if (in->number != nullptr)
				in->number[in->filled] = s.cells->number[s.from + i];
			in->filled++;
		}
}

/* The same to pinned memory, which is sent when it is full, or the last rows are in
 * it; *busy: there is none now. */
PpJoinStatus
pick_ahead(PpJoinBoxes *b, Input *in, uint32_t a, const Stretch &s, bool *busy)
{
	PpAhead    *ahead = &b->ahead;
	const uint64_t before = in->filled;
	int64_t    *pairs;
	PpJoinStatus status = pp_ahead_slot(ahead, &pairs);

	*busy = pairs == nullptr;
	if (*busy)
		return status;
	pick_stretch(b, in, a, s, pairs);
	ahead->filled += in->filled - before;
	if (ahead->filled > 0 && (s.last || ahead->slot_rows - ahead->filled < STRETCH))
	{
		status = pp_ahead_send(ahead, in->place, in->sent, in->nrows);
		in->sent = in->filled;
	}
	return status;
}

/* Picks the next rows of the input in hand; false: not now. */
bool
pick(PpJoinBoxes *b, uint32_t a)
{
	const Stretch s = next_stretch(b, a);
	Input	   *in = &b->next[b->at_input];
	PpJoinStatus status = PP_JOIN_OK;
	bool		busy = false;

	if (in->ahead)
		status = pick_ahead(b, in, a, s, &busy);
	else
		pick_stretch(b, in, a, s, in->pairs + 2 * in->filled);
	if (status != PP_JOIN_OK)
		fail(b, status);
	else if (!busy)
		go_behind(b, s);
	return status != PP_JOIN_OK || !busy;
}

void
count(PpJoinBoxes *b, uint32_t a)
{
	if (b->at_cells == 0 && b->at_row == 0 && count_cells(b, a))
		b->at_input++;
	else
	{
		const Stretch s = next_stretch(b, a);

		count_stretch(b, a, s);
		go_behind(b, s);
	}
}

/* Prepares a little more; false: there is nothing to do, or not now. */
bool
prepare(void *ctx)
{
	PpJoinBoxes *b = static_cast<PpJoinBoxes *>(ctx);

	switch (b->step)
	{
		case COUNTING:
			if (b->at_input < b->ninputs)
				count(b, b->atom_of[b->at_input]);
			else
				decide(b);
			return true;
		case PICKING:
			if (b->at_input < b->ninputs)
				return pick(b, b->atom_of[b->at_input]);
			b->step = READY;
			return true;
		default:
			return false;
	}
}

/* ---------- the box that is joined ---------- */

/* Adds what a box's join came to, with so much memory beside it. */
void
add_info(PpCudaJoinInfo *sum, const PpCudaJoinInfo *one, uint64_t beside)
{
	const uint32_t nboxes = sum->nboxes;
	const PpCudaJoinInfo old = *sum;

	*sum = *one;
	sum->nboxes = nboxes + 1;
	/* where some boxes are joined by degree, what is shown is how others are */
	if (nboxes > 0 && one->algorithm == PP_CUDA_JOIN_DEGREE)
	{
		sum->algorithm = old.algorithm;
		sum->declined = old.declined;
		memcpy(sum->order, old.order, sizeof(sum->order));
	}
	sum->nkeys = std::max(old.nkeys, one->nkeys);
	sum->ntries = std::max(old.ntries, one->ntries);
	sum->nshared = std::max(old.nshared, one->nshared);
	sum->peak_device_bytes = std::max(old.peak_device_bytes, one->peak_device_bytes + beside);
	sum->h2d_bytes += old.h2d_bytes;
	sum->d2h_bytes += old.d2h_bytes;
	sum->launches += old.launches;
	sum->seeks += old.seeks;
	sum->h2d_seconds += old.h2d_seconds;
	sum->build_seconds += old.build_seconds;
	sum->join_seconds += old.join_seconds;
	sum->d2h_seconds += old.d2h_seconds;
}

/* Shows what was done so far as the whole's. */
void
tell(PpJoinBoxes *b)
{
	PpCudaJoinInfo *out = &b->whole->device.info;
	PpCudaJoinInfo sum = b->done;

	if (b->join != nullptr)
		add_info(&sum, &b->join->device.info, b->beside);
	sum.peak_device_bytes = std::max(sum.peak_device_bytes, out->peak_device_bytes);
	sum.h2d_bytes += b->ahead.bytes;
	sum.h2d_seconds += b->ahead.seconds;
	if (sum.nboxes == 0)
		sum.nboxes = 1;
	/* boxes are of several relations where the whole is of one */
	if (sum.nboxes > 1 && sum.algorithm != PP_CUDA_JOIN_DEGREE &&
		sum.declined != PP_CUDA_DECLINED_NOT && pp_degree_match(&b->query) == PP_CUDA_DECLINED_NOT)
		sum.declined = PP_CUDA_DECLINED_MEMORY;
	*out = sum;
}

void
end_box(PpJoinBoxes *b)
{
	if (b->join != nullptr)
	{
		add_info(&b->done, &b->join->device.info, b->beside);
		pp_device_join_free(&b->join->device);
		b->join = nullptr;
	}
	for (uint32_t *&number : b->number)
	{
		pp_budget_release(&b->whole->budget, number);
		number = nullptr;
	}
}

/*
 * The box that is joined turned out not to fit: it is tried again with less set aside
 * for the next one, then with nothing, then by another algorithm than by degree, if
 * that was nobody's wish, then it is cut.
 */
PpJoinStatus
end_and_cut(PpJoinBoxes *b)
{
	const bool	beside = b->ahead.memory.p != nullptr;
	const bool	by_degree = b->join != nullptr && b->join->automatic && b->join->device.degree != nullptr;

	/* what was counted of it does not count */
	if (b->join != nullptr)
		pp_device_join_free(&b->join->device);
	b->join = nullptr;
	end_box(b);
	drop_inputs(b);
	pp_ahead_close(&b->ahead);
	b->boxes = b->before;
	b->tally = b->before_tally;
	if (beside || by_degree)
	{
		b->sparing = !beside;
		if (beside)
			b->less = b->less == 0 ? LESS : UINT64_MAX;
		look_at(b);
		return PP_JOIN_OK;
	}
	/* cut by hash, the next smaller ones are about that; in order, there are some of any size */
	b->fits = std::max(b->one_way.bound == nullptr ? b->rows / 2 : b->rows / 4 * 3, FEW_ROWS);
	b->less = 0;
	return cut_box(b) ? PP_JOIN_OK : PP_JOIN_NO_FIT;
}

/* The rows of the box that is built are read: the next one can be prepared. */
PpJoinStatus
go_ahead(void *ctx)
{
	PpJoinBoxes *b = static_cast<PpJoinBoxes *>(ctx);
	PpJoinStatus status = pp_ahead_read(&b->ahead, b->join->device.stream);

	if (status == PP_JOIN_OK)
		next_box(b);
	return status;
}

/* Rows that the box's join takes from the device, by input; closed when it is built. */
struct Sent
{
	PpCudaRelation *of[PP_JOIN_MAX_ATOMS] = {};

	~Sent()
	{
		for (PpCudaRelation *relation : of)
			pp_relation_close(relation);
	}
};

/* Builds the join of the box that is ready; on the way the next one is looked at. */
PpJoinStatus
build_box(PpJoinBoxes *b)
{
	PpBudget   *budget = &b->whole->budget;
	PpJoinAtom	atoms[PP_JOIN_MAX_ATOMS];
	PpJoinRelation relations[PP_JOIN_MAX_ATOMS];
	PpJoinQuery query = b->query;
	const size_t left = budget->limit - budget->used;
	PpDeviceJoin *d;
	PpJoinStatus status;
	Sent		sent;

	b->before = b->boxes;
	b->before_tally = b->tally;
	b->rows = 0;
	b->served = false;
	for (uint32_t a = 0; a < query.natoms; a++)
	{
		atoms[a] = query.atoms[a];
		atoms[a].relation = b->place[a] = b->of_atom[a];
	}
	for (uint32_t i = 0; i < b->ninputs; i++)
	{
		Input	   *in = &b->next[i];

		relations[i].pairs = in->pairs;
		relations[i].nrows = in->ahead ? 0 : in->nrows;
		b->rows += in->nrows;
		b->number[i] = in->number;
		in->number = nullptr;
		if (in->ahead)
		{
			sent.of[i] = pp_ahead_relation(&b->ahead, in->place, in->nrows);
			if (sent.of[i] == nullptr)
				return PP_JOIN_DEVICE_FAILED;
		}
	}
	query.nrelations = b->ninputs;
	query.atoms = atoms;
	query.relations = relations;
	status = pp_device_join_open(&query, b->whole->device.alloc, left > RESERVE ? left - RESERVE : 0, &d);
	if (status == PP_JOIN_OK)
	{
		b->join = pp_join_of(d);
		b->join->numbered = go_ahead;
		b->join->idle = prepare;
		b->join->idle_ctx = b;
		b->beside = b->ahead.memory.size;
		pp_join_enter(b->join);
		d->resident = sent.of;
		status = pp_join_leave(b->join, pp_join_build_as(b->join, &query, b->sparing ? PP_CUDA_JOIN_LFTJ :
														 b->algorithm));
		if (b->sparing)
			d->info.declined = PP_CUDA_DECLINED_MEMORY;
		b->sparing = false;
		d->resident = nullptr;
	}
	return status;
}

/*
 * Memory for the rows of the next box, once it is known how large boxes are.  Not
 * while a box is joined, as to allocate may be to wait for that.
 */
PpJoinStatus
set_aside(PpJoinBoxes *b)
{
	PpAhead    *ahead = &b->ahead;
	uint64_t	bytes;
	PpJoinStatus status;

	if (b->boxes.depth == 0 || b->step != COUNTING || b->at_input > 0 || b->less == UINT64_MAX)
		return PP_JOIN_OK;
	bytes = std::min(pp_ahead_bytes(b->fits, b->query.natoms),
					 (pp_memory_left() + ahead->memory.size) / AHEAD_PART) / std::max(b->less, UINT64_C(1));
	if (ahead->memory.p != nullptr && ahead->memory.size / 4 * 3 <= bytes)
		return PP_JOIN_OK;
	pp_ahead_close(ahead);
	status = pp_ahead_open(b->whole, ahead, bytes, (uint32_t) std::min(SENT_ROWS, b->largest + STRETCH));
	if (status == PP_JOIN_NO_FIT)
	{
		pp_ahead_close(ahead);
		b->less = UINT64_MAX;
		status = PP_JOIN_OK;
	}
	return status;
}

/* Prepares the next box, until it is there or there is none. */
PpJoinStatus
prepare_all(PpJoinBoxes *b)
{
	while (b->step == COUNTING || b->step == PICKING)
	{
		PpJoinStatus status = set_aside(b);

		if (status == PP_JOIN_OK && !prepare(b))
			status = pp_ahead_wait(b->whole, &b->ahead);
		if (status == PP_JOIN_OK && pp_join_cancelled(b->whole))
			status = PP_JOIN_CANCELLED;
		if (status != PP_JOIN_OK)
			return status;
	}
	return b->step == FAILED ? b->status : PP_JOIN_OK;
}

/* Goes on to the next box; b->join is NULL when there is none. */
PpJoinStatus
go_on(PpJoinBoxes *b)
{
	PpJoinStatus status;

	end_box(b);
	for (;;)
	{
		status = prepare_all(b);
		if (status != PP_JOIN_OK || b->step == FINISHED)
			return status;
		status = build_box(b);
		if (status != PP_JOIN_NO_FIT)
			return status;
		status = end_and_cut(b);
		if (status != PP_JOIN_OK)
			return status;
	}
}

/* Begins with the first box. */
PpJoinStatus
begin(PpJoinBoxes *b)
{
	end_box(b);
	drop_inputs(b);
	pp_boxes_begin(&b->boxes, &b->query, b->query.seed);
	b->step = FINISHED;
	b->begun = true;
	b->ended = false;
	b->ngroups = 0;
	b->next_group = 0;
	next_box(b);
	return go_on(b);
}

/* ---------- groups ---------- */

/* Puts groups of the same key together, in the order of keys. */
PpJoinStatus
merge_groups(PpJoinBoxes *b)
{
	uint64_t	n = 0;
	PpJoinStatus status = pp_sort(b->whole, b->group, b->ngroups, 0);

	for (uint64_t i = 0; i < b->ngroups && status == PP_JOIN_OK; i++)
	{
		if (pp_sort_cancelled(b->whole, i))
			status = PP_JOIN_CANCELLED;
		else if (n == 0 || b->group[n - 1].key != b->group[i].key)
			b->group[n++] = b->group[i];
		else if (!pp_add(&b->group[n - 1].count, b->group[i].count))
			status = PP_JOIN_HANDED_OVER;
	}
	b->ngroups = n;
	return status;
}

/* Room for more groups. */
PpJoinStatus
more_groups(PpJoinBoxes *b)
{
	PpBudget   *budget = &b->whole->budget;
	PpJoinStatus status = merge_groups(b);
	uint64_t	room = b->room == 0 ? FIRST_GROUPS : 2 * b->room;
	Group	   *bigger;

	if (status != PP_JOIN_OK || b->ngroups < b->room / 2)
		return status;
	bigger = static_cast<Group *>(pp_budget_alloc(budget, room, sizeof(Group)));
	if (bigger == nullptr)
		return budget->failure;
	for (uint64_t i = 0; i < b->ngroups && status == PP_JOIN_OK; i++)
	{
		if (pp_sort_cancelled(b->whole, i))
			status = PP_JOIN_CANCELLED;
		bigger[i] = b->group[i];
	}
	pp_budget_release(budget, b->group);
	b->group = bigger;
	b->room = room;
	return status;
}

/* All groups of the box that is joined. */
PpJoinStatus
add_groups(PpJoinBoxes *b)
{
	int64_t		keys[256];
	PpCount		counts[256];
	PpJoinStatus status = PP_JOIN_OK;
	size_t		n;

	do
	{
		pp_join_enter(b->join);
		n = 0;
		status = pp_join_leave(b->join, pp_answer_groups(b->join, keys, counts, 256, &n));
		for (size_t i = 0; i < n && status == PP_JOIN_OK; i++)
		{
			if (b->ngroups == b->room)
				status = more_groups(b);
			if (status == PP_JOIN_OK)
				b->group[b->ngroups++] = {keys[i], (PpUint128) counts[i].high << 64 | counts[i].low};
		}
	} while (n > 0 && status == PP_JOIN_OK);
	return status;
}

/* ---------- all boxes ---------- */

PpJoinStatus
add_count(PpJoinBoxes *b, PpUint128 *total)
{
	PpCount		count = {0, 0};
	PpJoinStatus status;

	pp_join_enter(b->join);
	status = pp_join_leave(b->join, pp_answer_count(b->join, &count));
	if (status == PP_JOIN_OK && !pp_add(total, (PpUint128) count.high << 64 | count.low))
		status = PP_JOIN_HANDED_OVER;
	return status;
}

/* Counts, or collects the groups of, all boxes. */
PpJoinStatus
count_boxes(PpJoinBoxes *b, PpUint128 *total)
{
	PpJoinStatus status = b->begun ? PP_JOIN_OK : begin(b);

	while (status == PP_JOIN_OK && b->join != nullptr)
	{
		const uint64_t ngroups = b->ngroups;

		status = b->query.mode == PP_JOIN_GROUPS ? add_groups(b) : add_count(b, total);
		if (status == PP_JOIN_NO_FIT && b->join->status == PP_JOIN_NO_FIT && ngroups == b->ngroups)
			status = end_and_cut(b);
		if (status == PP_JOIN_OK)
			status = go_on(b);
	}
	if (status != PP_JOIN_OK)
		return status;
	b->ended = true;
	if (b->query.mode == PP_JOIN_GROUPS)
		return merge_groups(b);
	if (*total > ~(PpUint128) 0 / b->one_way.factor)
		return PP_JOIN_HANDED_OVER;
	*total *= b->one_way.factor;
	return PP_JOIN_OK;
}

void
translate(const PpJoinBoxes *b, uint32_t *rows, size_t capacity, size_t from, size_t to)
{
	for (uint32_t a = 0; a < b->query.natoms; a++)
		for (size_t i = from; i < to; i++)
			rows[a * capacity + i] = b->number[b->place[a]][rows[a * capacity + i]];
}

PpJoinStatus
rows_of_boxes(PpJoinBoxes *b, int64_t *keys, uint32_t *rows, size_t capacity, size_t *n)
{
	PpJoinStatus status = b->begun ? PP_JOIN_OK : begin(b);

	while (status == PP_JOIN_OK && b->join != nullptr && *n < capacity)
	{
		const size_t before = *n;

		pp_join_enter(b->join);
		status = pp_join_leave(b->join, pp_answer_rows(b->join, keys, rows, capacity, n));
		if (status == PP_JOIN_OK && rows != nullptr)
			translate(b, rows, capacity, before, *n);
		b->served |= *n > before;
		if (status == PP_JOIN_NO_FIT && !b->served)
			status = end_and_cut(b);
		if (status == PP_JOIN_OK && *n < capacity)
			status = go_on(b);
	}
	return status;
}

/* Copies the rows of all relations that an atom reads. */
PpJoinStatus
copy_relations(PpJoinBoxes *b, PpCudaRelation *const *resident)
{
	bool		there[PP_JOIN_MAX_RELATIONS] = {};
	const uint32_t first = b->query.atoms[0].relation;
	PpJoinStatus status = pp_one_way_make(b->whole, &b->query, b->atoms, resident != nullptr ? resident[first] :
										   nullptr, &b->one_way, &b->cells[first]);

	/* of its only relation, then */
	there[first] = b->one_way.bound != nullptr;
	for (uint32_t a = 0; a < b->query.natoms && status == PP_JOIN_OK; a++)
	{
		const uint32_t r = b->query.atoms[a].relation;
		PpCellRows	rows = {};

		if (there[r])
			continue;
		there[r] = true;
		rows.relation = &b->relations[r];
		rows.resident = resident != nullptr ? resident[r] : nullptr;
		rows.seed = b->query.seed;
		status = pp_cells_make(b->whole, &rows, b->whole->device.row_numbers, &b->cells[r]);
	}
	return status;
}

/* Rows of all relations, and of the largest of them. */
uint64_t
count_rows(PpJoinBoxes *b)
{
	uint64_t	rows = 0;

	for (uint32_t r = 0; r < b->query.nrelations; r++)
	{
		b->relations[r].nrows = b->cells[r].nrows;
		b->largest = std::max(b->largest, b->cells[r].nrows);
		rows += b->cells[r].nrows;
	}
	return rows;
}

}								/* namespace */

PpJoinStatus
pp_boxes_open(PpCudaJoin *j, const PpJoinQuery *query, PpCudaJoinAlgorithm algorithm, bool tried)
{
	PpCudaRelation *const *resident = j->device.resident;
	PpJoinBoxes *b = static_cast<PpJoinBoxes *>(pp_budget_zeros(&j->budget, 1, sizeof(PpJoinBoxes)));
	uint64_t	rows;
	PpJoinStatus status;

	if (b == nullptr)
		return j->budget.failure;
	j->boxes = b;
	b->whole = j;
	memcpy(b->relations, query->relations, query->nrelations * sizeof(PpJoinRelation));
	b->query = *query;
	memcpy(b->atoms, j->atoms, query->natoms * sizeof(PpJoinAtom));
	b->query.atoms = b->atoms;
	b->query.residuals = j->residuals;
	b->query.relations = b->relations;
	b->algorithm = algorithm;
	status = copy_relations(b, resident);
	rows = count_rows(b);
	/* a half of them was not tried */
	tried &= b->one_way.bound == nullptr || !b->one_way.fewer;
	b->fits = std::max(tried ? std::min(pp_memory_left() / ROW_BYTES, rows - (rows > 0)) : rows, FEW_ROWS);
	if (status == PP_JOIN_OK)
		status = begin(b);
	tell(b);
	return status;
}

PpJoinStatus
pp_boxes_count(PpCudaJoin *j, PpCount *count)
{
	PpUint128	total = 0;
	PpJoinStatus status = count_boxes(j->boxes, &total);

	tell(j->boxes);
	/* asked again, it begins again */
	j->boxes->begun = false;
	count->low = (uint64_t) total;
	count->high = (uint64_t) (total >> 64);
	return status;
}

PpJoinStatus
pp_boxes_groups(PpCudaJoin *j, int64_t *keys, PpCount *counts, size_t capacity, size_t *n)
{
	PpJoinBoxes *b = j->boxes;
	PpJoinStatus status = b->ended ? PP_JOIN_OK : count_boxes(b, nullptr);

	for (; *n < capacity && b->next_group < b->ngroups && status == PP_JOIN_OK; ++*n)
	{
		const Group *group = &b->group[b->next_group++];

		keys[*n] = group->key;
		counts[*n].low = (uint64_t) group->count;
		counts[*n].high = (uint64_t) (group->count >> 64);
	}
	tell(b);
	return status;
}

PpJoinStatus
pp_boxes_rows(PpCudaJoin *j, int64_t *keys, uint32_t *rows, size_t capacity, size_t *n)
{
	PpJoinStatus status = rows_of_boxes(j->boxes, keys, rows, capacity, n);

	tell(j->boxes);
	return status;
}

void
pp_boxes_rewind(PpCudaJoin *j)
{
	end_box(j->boxes);
	j->boxes->begun = false;
	j->boxes->ended = false;
}

void
pp_boxes_release(PpCudaJoin *j)
{
	PpJoinBoxes *b = j->boxes;

	if (b == nullptr)
		return;
	end_box(b);
	drop_inputs(b);
	pp_ahead_close(&b->ahead);
	for (PpCells &cells : b->cells)
		pp_cells_release(j, &cells);
	pp_one_way_release(j, &b->one_way);
	pp_budget_release(&j->budget, b->group);
	pp_budget_release(&j->budget, b);
	j->boxes = nullptr;
}
