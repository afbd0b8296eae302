/*
 * cuda/join_one_way.cu
 *	  Cliques of one relation, made ready for boxes: rows that lead from lesser keys
 *	  to greater ones only, or the other way, and keys cut in ranges.
 *
 * Where a variable's range is behind another's though its keys are lesser, there is
 * no row between the two: of k! boxes that differ in the order of their variables,
 * one has rows.  (By hash all of them do.)  Which rows these are:
 *
 *	  all of them lead one way, or comparisons allow no other: there is one way to
 *	  name the vertices of a clique, and comparisons say nothing more
 *	  each row has its reverse, and answers are only counted: those that lead up, for
 *	  a query without comparisons, count each undirected clique once; it counts in as
 *	  many ways as pp_clique_ways() says
 *
 * That each row has its reverse, as often, is proved by sorting where as many rows
 * lead up as down.
 *
 * Owns the bounds of ranges.
 */
#include "join_driver.h"

#include <algorithm>

#include "../src/trie/join_ways.h"

namespace
{

/* Rows whose keys tell how keys are spread: sorted before anybody asks. */
constexpr uint64_t SAMPLE = 8192;

constexpr uint64_t NRANGES = UINT64_C(1) << PP_RANGE_BITS;

/* What a visit to all rows finds out. */
struct Found
{
	uint64_t	up;				/* rows that lead up, ... */
	uint64_t	down;
	uint64_t	equal;
	int64_t    *key;			/* of each step-th row both */
	uint64_t	nkeys;
	uint64_t	step;
};

void
look(void *ctx, const int64_t *pairs, uint64_t at, uint64_t n)
{
	Found	   *f = static_cast<Found *>(ctx);

	for (uint64_t i = 0; i < n; i++)
	{
		const int64_t a = pairs[2 * i];
		const int64_t b = pairs[2 * i + 1];

		f->up += a < b;
		f->down += a > b;
		f->equal += a == b;
		if ((at + i) % f->step == 0 && a != b)
		{
			f->key[f->nkeys++] = a;
			f->key[f->nkeys++] = b;
		}
	}
}

PpJoinStatus
look_at_rows(PpCudaJoin *j, const PpCellRows *rows, Found *f)
{
	uint64_t	nrows = rows->relation->nrows;
	PpJoinStatus status;

	if (rows->resident != nullptr && !pp_relation_rows(rows->resident, &nrows))
		return PP_JOIN_DEVICE_FAILED;
	f->step = nrows / SAMPLE + 1;
	f->key = static_cast<int64_t *>(pp_budget_alloc(&j->budget, 2 * (nrows / f->step + 1), sizeof(int64_t)));
	if (f->key == nullptr)
		return j->budget.failure;
	status = pp_cells_visit(j, rows, look, f);
	std::sort(f->key, f->key + f->nkeys);
	return status;
}

/* Ranges that have as many keys of the sample each. */
PpJoinStatus
make_ranges(PpCudaJoin *j, const Found *f, PpOneWay *one_way)
{
	one_way->bound = static_cast<int64_t *>(pp_budget_alloc(&j->budget, NRANGES + 1, sizeof(int64_t)));
	if (one_way->bound == nullptr)
		return j->budget.failure;
	for (uint64_t i = 0; i <= NRANGES; i++)
	{
		const uint64_t at = f->nkeys * i / NRANGES;
		const int64_t key = f->nkeys == 0 ? 0 : f->key[at < f->nkeys ? at : f->nkeys - 1];

		one_way->bound[i] = std::max(key, INT64_MIN + 1);
	}
	return PP_JOIN_OK;
}

/* Has each row its reverse, as often? */
PpJoinStatus
prove_symmetric(PpCudaJoin *j, PpCellRows *rows, PpCells *up, bool *symmetric)
{
	PpCells		down = {};
	PpJoinStatus status;

	rows->kind = PP_CELLS_UP;
	status = pp_cells_make(j, rows, false, up);
	rows->kind = PP_CELLS_REVERSED;
	if (status == PP_JOIN_OK)
		status = pp_cells_make(j, rows, false, &down);
	if (status == PP_JOIN_OK)
		status = pp_cells_compare(j, up, &down, symmetric);
	pp_cells_release(j, &down);
	return status;
}

/* How many cuts there may be of as many boxes as those that are in order. */
uint32_t
more_cuts(uint32_t k)
{
	uint64_t	orders = 1;
	uint32_t	n = 0;

	for (uint32_t i = 2; i <= k; i++)
		orders *= i;
	while (orders >> (n + 1) > 0)
		n++;
	return n;
}

/* Copies the rows that are wanted; *ways: of an undirected clique, 0 if it is no such query. */
PpJoinStatus
copy_rows(PpCudaJoin *j, const PpJoinQuery *query, PpCellRows *rows, const Found *f, PpOneWay *one_way,
		  PpCells *cells, uint64_t *ways)
{
	const uint64_t ways_of[2] = {
		pp_clique_ways(query, PP_EDGES_INCREASING, nullptr), pp_clique_ways(query, PP_EDGES_DECREASING, nullptr)
	};
	const uint64_t in_all = pp_clique_ways(query, PP_EDGES_SYMMETRIC, nullptr);
	const uint64_t nrows[2] = {f->up, f->down};
	const bool	distinct = pp_clique_distinct(query);
	bool		symmetric = false;
	PpJoinStatus status;

	*ways = 0;
	/* a row of loops is an answer, or of one */
	if (f->equal > 0 && !distinct)
		return PP_JOIN_OK;
	status = make_ranges(j, f, one_way);
	rows->ranges = one_way;
	for (uint32_t down = 0; down < 2 && status == PP_JOIN_OK; down++)
		if (ways_of[down] > 0 && (nrows[1 - down] == 0 || (distinct && in_all == 1)))
		{
			*ways = ways_of[down];
			rows->kind = down ? PP_CELLS_DOWN : PP_CELLS_UP;
			rows->nrows = nrows[down];
			return pp_cells_make(j, rows, j->device.row_numbers, cells);
		}
	if (status == PP_JOIN_OK && query->mode == PP_JOIN_COUNT && in_all > 0 && f->up == f->down)
	{
		rows->nrows = f->up;
		status = prove_symmetric(j, rows, cells, &symmetric);
		if (status == PP_JOIN_OK && symmetric)
			*ways = in_all;
		else
			pp_cells_release(j, cells);
	}
	return status;
}

}								/* namespace */

PpJoinStatus
pp_one_way_make(PpCudaJoin *j, PpJoinQuery *query, PpJoinAtom *atoms, PpCudaRelation *resident,
				 PpOneWay *one_way, PpCells *cells)
{
	const PpJoinRelation *relation = &query->relations[atoms[0].relation];
	PpCellRows	rows = {};
	Found		found = {};
	uint64_t	ways = 0;
	PpJoinStatus status;

	*one_way = {};
	one_way->factor = 1;
	if (query->strategy == PP_JOIN_GENERAL || !pp_clique_match(query))
		return PP_JOIN_OK;
	rows.relation = relation;
	rows.resident = resident;
	rows.seed = query->seed;
	status = look_at_rows(j, &rows, &found);
	if (status == PP_JOIN_OK)
		status = copy_rows(j, query, &rows, &found, one_way, cells, &ways);
	pp_budget_release(&j->budget, found.key);
	if (status != PP_JOIN_OK || ways == 0)
	{
		pp_one_way_release(j, one_way);
		return status;
	}
	one_way->factor = ways;
	one_way->fewer = cells->nrows < found.up + found.down + found.equal;
	one_way->more_cuts = more_cuts(query->nvariables);
	query->nresiduals = 0;
	/* whatever the direction was, any order of the variables does */
	for (uint32_t a = 0; a < query->natoms && rows.kind == PP_CELLS_REVERSED; a++)
		if (atoms[a].variable[0] > atoms[a].variable[1])
			std::swap(atoms[a].variable[0], atoms[a].variable[1]);
	return PP_JOIN_OK;
}

void
pp_one_way_release(PpCudaJoin *j, PpOneWay *one_way)
{
	pp_budget_release(&j->budget, one_way->bound);
	one_way->bound = nullptr;
}
