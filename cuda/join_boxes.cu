/*
 * cuda/join_boxes.cu
 *	  Joins larger than the device's memory, in boxes (src/trie/box.h): each is a
 *	  join of its own, of the rows that have their keys in it.
 *
 * Boxes come from cutting in halves: one that has more rows than are known to
 * fit, or that turns out not to fit, is cut.  The rows of the next box are
 * picked out here, a stretch at a time, while the device joins the one before.
 * Where thousands of boxes would be needed, the device is not what to join on.
 * Each assignment is in one box; so counts and rows of all boxes are those of
 * the whole, and groups, whose key may be in several, are put together here.
 *
 * Owns a copy of the relations, the rows of the box in preparation, the numbers
 * that the rows of boxes have in the whole, and groups.
 */
#include "join_driver.h"
#include "../src/trie/box.h"

#include <algorithm>
#include <cstring>

namespace
{

/* Rows that are looked at between two looks at the device. */
constexpr uint64_t STRETCH = 32768;

/* Device memory that a row is expected to take, to begin with. */
constexpr uint64_t ROW_BYTES = 64;

/* Rows below which a box is not believed to be too large before it was tried. */
constexpr uint64_t FEW_ROWS = 64;

/* Of the budget, what a box's join must not count on: its pieces cost a little
 * more than it knows. */
constexpr size_t RESERVE = 8192;

/* Cuts of one box: there would be 2 to the power of that. */
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
	int64_t    *pairs;			/* NULL once the box is built */
	uint32_t   *number;			/* of each in the whole relation; NULL: not wanted */
	uint64_t	nrows;
	uint64_t	filled;
};

struct Group
{
	int64_t		key;
	PpUint128	count;
};

bool
less(const Group &a, const Group &b)
{
	return a.key < b.key;
}

}								/* namespace */

struct PpJoinBoxes
{
	PpCudaJoin *whole;
	PpJoinQuery query;			/* of the whole; atoms and comparisons are its */
	PpJoinRelation relations[PP_JOIN_MAX_RELATIONS];
	int64_t    *copy[PP_JOIN_MAX_RELATIONS];	/* their rows */
	PpCudaJoinAlgorithm algorithm;
	PpBoxKeys	keys;
	uint64_t	fits;			/* rows of a box at most */

	/* in preparation */
	PpBoxes		boxes;
	PpBoxTally	tally;
	Step		step;
	PpJoinStatus status;
	uint32_t	of_atom[PP_JOIN_MAX_ATOMS];
	uint32_t	atom_of[PP_JOIN_MAX_ATOMS];
	uint32_t	ninputs;
	uint32_t	at_input;		/* how far it is */
	uint64_t	at_row;
	Input		next[PP_JOIN_MAX_ATOMS];

	/* the box that is joined */
	PpCudaJoin *join;
	PpBoxes		before;			/* as boxes was, to cut it after all */
	PpBoxTally	before_tally;
	uint64_t	rows;
	uint32_t	place[PP_JOIN_MAX_ATOMS];	/* which of these an atom reads */
	uint32_t   *number[PP_JOIN_MAX_ATOMS];
	bool		served;			/* the caller has some of its rows */

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
}

/* Turns to the box in hand. */
void
look_at(PpJoinBoxes *b)
{
	memset(&b->tally, 0, sizeof(b->tally));
	b->ninputs = pp_box_relations(&b->query, &b->boxes.box, b->of_atom, b->atom_of);
	b->at_input = 0;
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

void
cut_box(PpJoinBoxes *b)
{
	b->status = b->boxes.depth < MOST_CUTS ? pp_boxes_cut(&b->boxes, &b->tally, &b->keys) : PP_JOIN_NO_FIT;
	if (b->status == PP_JOIN_OK)
		next_box(b);
	else
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
		in->pairs = static_cast<int64_t *>(pp_budget_alloc(budget, 2 * in->nrows, sizeof(int64_t)));
		if (in->pairs != nullptr && b->whole->device.row_numbers)
			in->number = static_cast<uint32_t *>(pp_budget_alloc(budget, in->nrows, sizeof(uint32_t)));
		if (in->pairs == nullptr || (in->number == nullptr && b->whole->device.row_numbers))
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
		next_box(b);
	else if (rows > b->fits)
		cut_box(b);
	else if (make_room(b))
	{
		b->at_input = 0;
		b->at_row = 0;
		b->step = PICKING;
	}
	else if (b->whole->budget.failure == PP_JOIN_NO_FIT)
	{
		drop_inputs(b);
		cut_box(b);
	}
	else
	{
		b->status = b->whole->budget.failure;
		b->step = FAILED;
	}
}

void
count_stretch(PpJoinBoxes *b, uint32_t a, const int64_t *pairs, uint64_t n)
{
	const PpBox *box = &b->boxes.box;
	const PpJoinAtom *atom = &b->query.atoms[a];
	const uint64_t seed = b->boxes.seed;

	for (uint64_t i = 0; i < n; i++)
		if (pp_box_has_row(box, seed, atom, pairs[2 * i], pairs[2 * i + 1]))
			pp_box_tally(&b->tally, &b->query, box, seed, a, pairs[2 * i], pairs[2 * i + 1]);
}

void
pick_stretch(PpJoinBoxes *b, Input *in, uint32_t a, uint64_t from, const int64_t *pairs, uint64_t n)
{
	const PpBox *box = &b->boxes.box;
	const PpJoinAtom *atom = &b->query.atoms[a];
	const uint64_t seed = b->boxes.seed;

	for (uint64_t i = 0; i < n; i++)
		if (pp_box_has_row(box, seed, atom, pairs[2 * i], pairs[2 * i + 1]))
		{
			in->pairs[2 * in->filled] = pairs[2 * i];
			in->pairs[2 * in->filled + 1] = pairs[2 * i + 1];
			if (in->number != nullptr)
				in->number[in->filled] = (uint32_t) (from + i);
			in->filled++;
		}
}

/* Prepares a little more; false: there is nothing to do. */
bool
prepare(void *ctx)
{
	PpJoinBoxes *b = static_cast<PpJoinBoxes *>(ctx);
	const PpJoinRelation *relation;
	uint32_t	a;
	uint64_t	n;

	if (b->step != COUNTING && b->step != PICKING)
		return false;
	if (b->at_input == b->ninputs)
	{
		if (b->step == COUNTING)
			decide(b);
		else
			b->step = READY;
		return true;
	}
	a = b->atom_of[b->at_input];
	relation = &b->relations[b->query.atoms[a].relation];
	n = std::min(STRETCH, relation->nrows - b->at_row);
	if (b->step == COUNTING)
		count_stretch(b, a, relation->pairs + 2 * b->at_row, n);
	else
		pick_stretch(b, &b->next[b->at_input], a, b->at_row, relation->pairs + 2 * b->at_row, n);
	b->at_row += n;
	if (b->at_row == relation->nrows)
	{
		b->at_row = 0;
		b->at_input++;
	}
	return true;
}

/* ---------- the box that is joined ---------- */

/* Adds what a box's join came to. */
void
add_info(PpCudaJoinInfo *sum, const PpCudaJoinInfo *one)
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
	sum->peak_device_bytes = std::max(old.peak_device_bytes, one->peak_device_bytes);
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
		add_info(&sum, &b->join->device.info);
	sum.peak_device_bytes = std::max(sum.peak_device_bytes, out->peak_device_bytes);
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
		add_info(&b->done, &b->join->device.info);
		pp_device_join_free(&b->join->device);
		b->join = nullptr;
	}
	for (uint32_t *&number : b->number)
	{
		pp_budget_release(&b->whole->budget, number);
		number = nullptr;
	}
}

/* The box that is joined turned out not to fit: it is cut. */
PpJoinStatus
end_and_cut(PpJoinBoxes *b)
{
	/* what was counted of it does not count */
	if (b->join != nullptr)
		pp_device_join_free(&b->join->device);
	b->join = nullptr;
	end_box(b);
	drop_inputs(b);
	b->fits = std::max(b->rows / 2, FEW_ROWS);
	b->boxes = b->before;
	b->tally = b->before_tally;
	cut_box(b);
	return b->status;
}

/* Builds the join of the box that is ready. */
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
		relations[i].pairs = b->next[i].pairs;
		relations[i].nrows = b->next[i].nrows;
		b->rows += b->next[i].nrows;
		b->number[i] = b->next[i].number;
		b->next[i].number = nullptr;
	}
	query.nrelations = b->ninputs;
	query.atoms = atoms;
	query.relations = relations;
	status = pp_device_join_open(&query, b->whole->device.alloc, left > RESERVE ? left - RESERVE : 0, &d);
	if (status == PP_JOIN_OK)
	{
		b->join = pp_join_of(d);
		pp_join_enter(b->join);
		status = pp_join_leave(b->join, pp_join_build_as(b->join, &query, b->algorithm));
	}
	/* what is built needs them no more */
	drop_inputs(b);
	return status;
}

/* Goes on to the next box; b->join is NULL when there is none. */
PpJoinStatus
go_on(PpJoinBoxes *b)
{
	PpJoinStatus status;

	end_box(b);
	for (;;)
	{
		while (prepare(b))
			if (pp_join_cancelled(b->whole))
				return PP_JOIN_CANCELLED;
		if (b->step != READY)
			return b->step == FINISHED ? PP_JOIN_OK : b->status;
		status = build_box(b);
		if (status == PP_JOIN_OK)
		{
			next_box(b);
			b->join->idle = prepare;
			b->join->idle_ctx = b;
			return PP_JOIN_OK;
		}
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

	std::sort(b->group, b->group + b->ngroups, less);
	for (uint64_t i = 0; i < b->ngroups; i++)
		if (n > 0 && b->group[n - 1].key == b->group[i].key)
		{
			if (!pp_add(&b->group[n - 1].count, b->group[i].count))
				return PP_JOIN_HANDED_OVER;
		}
		else
			b->group[n++] = b->group[i];
	b->ngroups = n;
	return PP_JOIN_OK;
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
	if (b->ngroups > 0)
		memcpy(bigger, b->group, b->ngroups * sizeof(Group));
	pp_budget_release(budget, b->group);
	b->group = bigger;
	b->room = room;
	return PP_JOIN_OK;
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
	if (status == PP_JOIN_OK)
	{
		b->ended = true;
		if (b->query.mode == PP_JOIN_GROUPS)
			status = merge_groups(b);
	}
	return status;
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

/* Copies a relation's rows to b->copy[r]. */
PpJoinStatus
copy_rows(PpJoinBoxes *b, uint32_t r, PpCudaRelation *resident)
{
	PpBudget   *budget = &b->whole->budget;
	const int64_t *pairs = b->relations[r].pairs;
	uint64_t	nrows = b->relations[r].nrows;

	if (resident != nullptr && !pp_relation_rows(resident, &nrows))
		return PP_JOIN_DEVICE_FAILED;
	b->copy[r] = static_cast<int64_t *>(pp_budget_alloc(budget, 2 * nrows, sizeof(int64_t)));
	if (b->copy[r] == nullptr)
		return budget->failure;
	b->relations[r].pairs = b->copy[r];
	b->relations[r].nrows = nrows;
	for (uint64_t at = 0; at < nrows; at += STRETCH)
	{
		const uint64_t n = std::min(STRETCH, nrows - at);

		if (pp_join_cancelled(b->whole))
			return PP_JOIN_CANCELLED;
		if (resident == nullptr)
			memcpy(b->copy[r] + 2 * at, pairs + 2 * at, 2 * n * sizeof(int64_t));
		else if (!pp_relation_fetch(resident, at, n, b->copy[r] + 2 * at))
			return PP_JOIN_DEVICE_FAILED;
	}
	return PP_JOIN_OK;
}

/* Copies the rows of all relations that an atom reads. */
PpJoinStatus
copy_relations(PpJoinBoxes *b, PpCudaRelation *const *resident, uint64_t *rows)
{
	PpJoinStatus status = PP_JOIN_OK;

	*rows = 0;
	for (uint32_t a = 0; a < b->query.natoms && status == PP_JOIN_OK; a++)
	{
		const uint32_t r = b->query.atoms[a].relation;

		if (b->copy[r] != nullptr)
			continue;
		status = copy_rows(b, r, resident != nullptr ? resident[r] : nullptr);
		*rows += b->relations[r].nrows;
	}
	return status;
}

}								/* namespace */

PpJoinStatus
pp_boxes_open(PpCudaJoin *j, const PpJoinQuery *query, PpCudaJoinAlgorithm algorithm, bool tried)
{
	PpCudaRelation *const *resident = j->device.resident;
	PpJoinBoxes *b = static_cast<PpJoinBoxes *>(pp_budget_zeros(&j->budget, 1, sizeof(PpJoinBoxes)));
	uint64_t	rows = 0;
	PpJoinStatus status;

	if (b == nullptr)
		return j->budget.failure;
	j->boxes = b;
	b->whole = j;
	memcpy(b->relations, query->relations, query->nrelations * sizeof(PpJoinRelation));
	b->query = *query;
	b->query.atoms = j->atoms;
	b->query.residuals = j->residuals;
	b->query.relations = b->relations;
	b->algorithm = algorithm;
	/* rows are picked by their own keys alone: as if there were few of these */
	for (uint32_t a = 0; a < query->natoms; a++)
		b->keys.n[a][0] = b->keys.n[a][1] = 1;
	status = copy_relations(b, resident, &rows);
	b->fits = tried ? std::max(std::min(pp_memory_left() / ROW_BYTES, rows - (rows > 0)), FEW_ROWS) : UINT64_MAX;
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
	for (int64_t *pairs : b->copy)
		pp_budget_release(&j->budget, pairs);
	pp_budget_release(&j->budget, b->group);
	pp_budget_release(&j->budget, b);
	j->boxes = nullptr;
}
