/*
 * cuda/join_cells.cu
 *	  A relation's rows in the host's memory, sorted so that those of a box lie in
 *	  few places: by cells, that is by the leading bits of both keys' hashes.
 *
 * A box that is no finer than cells has whole ones, and how many rows it has is
 * known without looking at them.  Of finer boxes, a cell's rows are looked at.
 * (The same as src/join/cells.c has in files.)
 *
 * Owns nothing; what it makes is drawn from the join's budget.
 */
#include "join_driver.h"

#include <algorithm>
#include <cstring>

namespace
{

/* Rows that are read at a time. */
constexpr uint64_t STRETCH = 32768;

/* Rows of a cell at least, on average; bits of each hash at most. */
constexpr uint64_t CELL_ROWS = 16;
constexpr uint32_t MOST_BITS = 6;

/* Where rows come from, stretch by stretch. */
struct Source
{
	const int64_t *pairs;
	PpCudaRelation *resident;	/* or from there, through buffer */
	int64_t    *buffer;

	const int64_t *
	read(uint64_t at, uint64_t n) const
	{
		if (resident == nullptr)
			return pairs + 2 * at;
		return pp_relation_fetch(resident, at, n, buffer) ? buffer : nullptr;
	}
};

uint32_t
cell_of(const int64_t *row, uint32_t bits, uint64_t seed)
{
	if (bits == 0)
		return 0;
	return pp_box_part(pp_box_hash(row[0], seed), bits) << bits | pp_box_part(pp_box_hash(row[1], seed), bits);
}

/* Goes through all rows: counts them by cell, or puts them there. */
PpJoinStatus
go_through(PpCudaJoin *j, const Source &source, uint64_t seed, bool put, PpCells *cells)
{
	for (uint64_t at = 0; at < cells->nrows; at += STRETCH)
	{
		const uint64_t n = std::min(STRETCH, cells->nrows - at);
		const int64_t *row = source.read(at, n);

		if (row == nullptr)
			return PP_JOIN_DEVICE_FAILED;
		if (pp_join_cancelled(j))
			return PP_JOIN_CANCELLED;
		for (uint64_t i = 0; i < n; i++, row += 2)
		{
			uint64_t   *start = &cells->start[cell_of(row, cells->bits, seed)];

			if (put)
			{
				memcpy(&cells->pairs[2 * *start], row, 2 * sizeof(int64_t));
				if (cells->number != nullptr)
					cells->number[*start] = (uint32_t) (at + i);
			}
			++*start;
		}
	}
	return PP_JOIN_OK;
}

/* Counts become the places where cells begin. */
void
sum_up(PpCells *cells)
{
	uint64_t	before = 0;

	for (uint64_t c = 0; c < UINT64_C(1) << 2 * cells->bits; c++)
	{
		const uint64_t n = cells->start[c];

		cells->start[c] = before;
		before += n;
	}
}

PpJoinStatus
sort_rows(PpCudaJoin *j, const Source &source, uint64_t seed, bool numbers, PpCells *cells)
{
	const uint64_t ncells = UINT64_C(1) << 2 * cells->bits;
	PpJoinStatus status;

	cells->start = static_cast<uint64_t *>(pp_budget_zeros(&j->budget, ncells + 1, sizeof(uint64_t)));
	if (cells->start == nullptr)
		return j->budget.failure;
	cells->pairs = static_cast<int64_t *>(pp_budget_alloc(&j->budget, 2 * cells->nrows, sizeof(int64_t)));
	if (cells->pairs == nullptr)
		return j->budget.failure;
	if (numbers)
	{
		cells->number = static_cast<uint32_t *>(pp_budget_alloc(&j->budget, cells->nrows, sizeof(uint32_t)));
		if (cells->number == nullptr)
			return j->budget.failure;
	}
	status = go_through(j, source, seed, false, cells);
	sum_up(cells);
	if (status == PP_JOIN_OK)
		status = go_through(j, source, seed, true, cells);
	/* each is now where the next one begins */
	memmove(cells->start + 1, cells->start, ncells * sizeof(uint64_t));
	cells->start[0] = 0;
	return status;
}

}								/* namespace */

PpJoinStatus
pp_cells_make(PpCudaJoin *j, const PpJoinRelation *relation, PpCudaRelation *resident, uint64_t seed,
			  bool numbers, PpCells *cells)
{
	Source		source = {relation->pairs, resident, nullptr};
	PpJoinStatus status;

	cells->nrows = relation->nrows;
	if (resident != nullptr && !pp_relation_rows(resident, &cells->nrows))
		return PP_JOIN_DEVICE_FAILED;
	while (cells->bits < MOST_BITS && cells->nrows >> 2 * (cells->bits + 1) >= CELL_ROWS)
		cells->bits++;
	if (resident != nullptr)
	{
		source.buffer = static_cast<int64_t *>(pp_budget_alloc(&j->budget, 2 * STRETCH, sizeof(int64_t)));
		if (source.buffer == nullptr)
			return j->budget.failure;
	}
	status = sort_rows(j, source, seed, numbers, cells);
	pp_budget_release(&j->budget, source.buffer);
	return status;
}

void
pp_cells_release(PpCudaJoin *j, PpCells *cells)
{
	pp_budget_release(&j->budget, cells->start);
	pp_budget_release(&j->budget, cells->pairs);
	pp_budget_release(&j->budget, cells->number);
	*cells = {};
}

PpCellReach
pp_cells_reach(const PpCells *cells, const PpBox *box, const PpJoinAtom *atom)
{
	PpCellReach reach;

	for (uint32_t s = 0; s < 2; s++)
	{
		const uint32_t bits = box->bits[atom->variable[s]];
		const uint32_t part = box->part[atom->variable[s]];
		const bool	coarse = bits <= cells->bits;

		reach.first[s] = coarse ? part << (cells->bits - bits) : part >> (bits - cells->bits);
		reach.n[s] = coarse ? 1u << (cells->bits - bits) : 1;
		reach.whole[s] = coarse;
	}
	return reach;
}
