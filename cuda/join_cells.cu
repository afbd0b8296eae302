/*
 * cuda/join_cells.cu
 *	  A relation's rows in the host's memory, sorted so that those of a box lie in
 *	  few places: by cells, that is by the leading bits of both keys' hashes, or by
 *	  ranges of both keys.
 *
 * A box that is no finer than cells has whole ones, and how many rows it has is
 * known without looking at them.  Of finer boxes, a cell's rows are looked at.
 * (The same as src/join/cells.c has in files.)
 *
 * Owns nothing; what it makes is drawn from the join's budget.
 */
#include "join_sort.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace
{

/* Rows that are read at a time. */
constexpr uint64_t STRETCH = 32768;

/* Rows of a cell at least, on average; bits of each hash at most. */
constexpr uint64_t CELL_ROWS = 16;
constexpr uint32_t MOST_BITS = 6;

/* A row, to be sorted. */
struct Row
{
	static constexpr uint32_t DIGITS = 16;

	int64_t		key[2];

	bool
	less(const Row &other) const
	{
		return key[0] != other.key[0] ? key[0] < other.key[0] : key[1] < other.key[1];
	}

	uint32_t
	digit(uint32_t i) const
	{
		return pp_sort_digit(key[i / 8], i % 8);
	}
};

/* What a visit to all rows does: counts them by cell, or puts them there. */
struct Filling
{
	PpCells    *cells;
	const PpCellRows *rows;
	bool		put;
};

uint32_t
part_of(const PpCellRows *rows, uint32_t bits, int64_t key)
{
	return rows->ranges != nullptr ? pp_range_of(rows->ranges, bits, key) :
		pp_box_part(pp_box_hash(key, rows->seed), bits);
}

void
fill(void *ctx, const int64_t *pairs, uint64_t at, uint64_t n)
{
	const Filling *f = static_cast<Filling *>(ctx);
	PpCells    *cells = f->cells;
	const uint32_t bits = cells->bits;
	const PpCellKind kind = f->rows->kind;

	for (uint64_t i = 0; i < n; i++)
	{
		const bool	reversed = kind == PP_CELLS_REVERSED;
		const int64_t row[2] = {pairs[2 * i + reversed], pairs[2 * i + !reversed]};
		uint64_t   *start;

		if (kind != PP_CELLS_ALL && (kind == PP_CELLS_DOWN ? row[0] <= row[1] : row[0] >= row[1]))
			continue;
		start = &cells->start[bits == 0 ? 0 :
							  part_of(f->rows, bits, row[0]) << bits | part_of(f->rows, bits, row[1])];
		if (f->put)
		{
			memcpy(&cells->pairs[2 * *start], row, sizeof(row));
			if (cells->number != nullptr)
				cells->number[*start] = (uint32_t) (at + i);
		}
		++*start;
	}
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
sort_rows(PpCudaJoin *j, const PpCellRows *rows, bool numbers, PpCells *cells)
{
	const uint64_t ncells = UINT64_C(1) << 2 * cells->bits;
	Filling		filling = {cells, rows, false};
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
	status = pp_cells_visit(j, rows, fill, &filling);
	sum_up(cells);
	filling.put = true;
	if (status == PP_JOIN_OK)
		status = pp_cells_visit(j, rows, fill, &filling);
	/* each is now where the next one begins */
	memmove(cells->start + 1, cells->start, ncells * sizeof(uint64_t));
	cells->start[0] = 0;
	return status;
}

}								/* namespace */

PpJoinStatus
pp_cells_visit(PpCudaJoin *j, const PpCellRows *rows, PpCellVisit visit, void *ctx)
{
	uint64_t	nrows = rows->relation->nrows;
	int64_t    *buffer = nullptr;
	PpJoinStatus status = PP_JOIN_OK;

	if (rows->resident != nullptr)
	{
		if (!pp_relation_rows(rows->resident, &nrows))
			return PP_JOIN_DEVICE_FAILED;
		buffer = static_cast<int64_t *>(pp_budget_alloc(&j->budget, 2 * STRETCH, sizeof(int64_t)));
		if (buffer == nullptr)
			return j->budget.failure;
	}
	for (uint64_t at = 0; at < nrows && status == PP_JOIN_OK; at += STRETCH)
	{
		const uint64_t n = std::min(STRETCH, nrows - at);

		if (buffer != nullptr && !pp_relation_fetch(rows->resident, at, n, buffer))
			status = PP_JOIN_DEVICE_FAILED;
		else if (pp_join_cancelled(j))
			status = PP_JOIN_CANCELLED;
		else
			visit(ctx, buffer != nullptr ? buffer : rows->relation->pairs + 2 * at, at, n);
	}
	pp_budget_release(&j->budget, buffer);
	return status;
}

PpJoinStatus
pp_cells_make(PpCudaJoin *j, const PpCellRows *rows, bool numbers, PpCells *cells)
{
	cells->nrows = rows->kind == PP_CELLS_ALL ? rows->relation->nrows : rows->nrows;
	if (rows->kind == PP_CELLS_ALL && rows->resident != nullptr && !pp_relation_rows(rows->resident, &cells->nrows))
		return PP_JOIN_DEVICE_FAILED;
	while (cells->bits < MOST_BITS && cells->nrows >> 2 * (cells->bits + 1) >= CELL_ROWS)
		cells->bits++;
	return sort_rows(j, rows, numbers, cells);
}

PpJoinStatus
pp_cells_compare(PpCudaJoin *j, PpCells *a, PpCells *b, bool *same)
{
	const uint64_t ncells = UINT64_C(1) << 2 * a->bits;
	PpJoinStatus status = PP_JOIN_OK;

	*same = a->bits == b->bits && memcmp(a->start, b->start, (ncells + 1) * sizeof(uint64_t)) == 0;
	for (uint64_t c = 0; c < ncells && *same && status == PP_JOIN_OK; c++)
	{
		const uint64_t from = a->start[c];
		const uint64_t n = a->start[c + 1] - from;

		for (PpCells *cells : {a, b})
			if (status == PP_JOIN_OK)
				status = pp_sort(j, reinterpret_cast<Row *>(cells->pairs) + from, n, 0);
		*same = n == 0 || memcmp(a->pairs + 2 * from, b->pairs + 2 * from, n * sizeof(Row)) == 0;
	}
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
