/*
 * src/trie/trie_build.c
 *	  Builds tries: rows in, sorted lists without duplicates out.
 *
 * Rows are scattered by the second level's key, then, in that order, by the
 * first's: two counting sorts, of which a table that is stored in order needs
 * none but the last.
 */
#include "trie.h"

/* Goes through rows i in chunks that end before to; the body moves i. */
#define EVERY_CHUNK(i, to, n) \
	for (uint32_t i = 0, to; i < (n) && ((to) = (n) - i < PP_CANCEL_ROWS ? \
		 (n) : i + (uint32_t) PP_CANCEL_ROWS, true); )

/* Are the rows in the trie's order already?  Also left when cancelled. */
static bool
in_order(const PpCancel *cancel, const PpCodes *codes, uint32_t a, uint32_t b)
{
	const uint32_t *pair = codes->pairs;
	uint64_t	last = 0;

	for (uint64_t i = 0; i < codes->nrows; i++)
	{
		uint64_t	here = (uint64_t) pair[2 * i + a] << 32 | pair[2 * i + b];

		if (here < last || (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel)))
			return false;
		last = here;
	}
	return true;
}

/* The order of rows by pair[column]. */
static PpJoinStatus
sort_rows(PpBudget *budget, const PpCancel *cancel, const PpCodes *codes,
		  uint32_t nkeys, uint32_t column, uint32_t *order)
{
	const uint32_t *pair = codes->pairs + column;
	uint32_t   *place = pp_budget_zeros(budget, (uint64_t) nkeys + 1, sizeof(uint32_t));
	PpJoinStatus status = PP_JOIN_OK;
	uint32_t	sum = 0;

	if (place == NULL)
		return budget->failure;
	EVERY_CHUNK(i, to, codes->nrows)
	{
		if (pp_cancelled(cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		for (; i < to; i++)
			place[pair[2 * (uint64_t) i]]++;
	}
	for (uint32_t k = 0; k < nkeys; k++)
	{
		uint32_t	here = place[k];

		place[k] = sum;
		sum += here;
	}
	EVERY_CHUNK(i, to, codes->nrows)
	{
		if (pp_cancelled(cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		for (; i < to; i++)
			order[place[pair[2 * (uint64_t) i]]++] = i;
	}
done:
	pp_budget_release(budget, place);
	return status;
}

/* Takes entries that are the same together, which first[] then tells of. */
static PpJoinStatus
merge_duplicates(PpTrie *trie, PpBudget *budget, const PpCancel *cancel)
{
	uint32_t	n = trie->nentries;
	uint32_t	nlists = trie->start ? trie->nkeys : 1;
	uint32_t	out = 0;
	uint32_t	from = 0;
	bool		any = false;

	for (uint32_t x = 0; x < nlists && !any; x++)
	{
		uint32_t	end = trie->start ? trie->start[x + 1] : n;

		if (x % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
			return PP_JOIN_CANCELLED;
		for (uint32_t i = from + 1; i < end; i++)
			any |= trie->list[i] == trie->list[i - 1];
		from = end;
	}
	if (!any)
		return PP_JOIN_OK;
	trie->first = pp_budget_alloc(budget, (uint64_t) n + 1, sizeof(uint32_t));
	if (trie->first == NULL)
		return budget->failure;
	from = 0;
	for (uint32_t x = 0; x < nlists; x++)
	{
		uint32_t	end = trie->start ? trie->start[x + 1] : n;

		if (x % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
			return PP_JOIN_CANCELLED;
		for (uint32_t i = from; i < end; i++)
			if (i == from || trie->list[i] != trie->list[i - 1])
				trie->first[out++] = i;
		from = end;
		if (trie->start)
			trie->start[x + 1] = out;
	}
	trie->first[out] = n;
	trie->nentries = out;
	/* only now, as each entry was compared with the one before it */
	for (uint32_t i = 0; i < out; i++)
		trie->list[i] = trie->list[trie->first[i]];
	return PP_JOIN_OK;
}

static PpJoinStatus
build_loops(PpTrie *trie, PpBudget *budget, const PpCancel *cancel,
			const PpCodes *codes, const uint32_t *order)
{
	uint32_t	n = 0;

	trie->list = pp_budget_alloc(budget, (uint64_t) codes->nequal + PP_TRIE_SLACK,
								 sizeof(uint32_t));
	if (trie->list == NULL)
		return budget->failure;
	EVERY_CHUNK(i, to, codes->nrows)
	{
		if (pp_cancelled(cancel))
			return PP_JOIN_CANCELLED;
		for (; i < to; i++)
		{
			uint64_t	r = order ? order[i] : i;

			if (codes->pairs[2 * r] != codes->pairs[2 * r + 1])
				continue;
			if (trie->row)
				trie->row[n] = (uint32_t) r;
			trie->list[n++] = codes->pairs[2 * r];
		}
	}
	trie->nentries = n;
	return PP_JOIN_OK;
}

static PpJoinStatus
build_lists(PpTrie *trie, PpBudget *budget, const PpCancel *cancel,
			const PpCodes *codes, const uint32_t *order, uint32_t a, uint32_t b)
{
	const uint32_t *pair = codes->pairs;
	uint32_t	nkeys = trie->nkeys;
	uint32_t   *start;

	/* one more than needed: while scattering, start[x + 1] is where the next
	 * entry of x goes, which ends up as where x + 1 starts */
	start = trie->start = pp_budget_zeros(budget, (uint64_t) nkeys + 2, sizeof(uint32_t));
	trie->list = pp_budget_alloc(budget, (uint64_t) codes->nrows + PP_TRIE_SLACK,
								 sizeof(uint32_t));
	if (trie->start == NULL || trie->list == NULL)
		return budget->failure;
	EVERY_CHUNK(i, to, codes->nrows)
	{
		if (pp_cancelled(cancel))
			return PP_JOIN_CANCELLED;
		for (; i < to; i++)
			start[pair[2 * (uint64_t) i + a] + 2]++;
	}
	for (uint32_t k = 2; k < nkeys + 2; k++)
		start[k] += start[k - 1];
	EVERY_CHUNK(i, to, codes->nrows)
	{
		if (pp_cancelled(cancel))
			return PP_JOIN_CANCELLED;
		for (; i < to; i++)
		{
			uint64_t	r = order ? order[i] : i;
			uint32_t	at = start[pair[2 * r + a] + 1]++;

			trie->list[at] = pair[2 * r + b];
			if (trie->row)
				trie->row[at] = (uint32_t) r;
		}
	}
	trie->nentries = codes->nrows;
	return PP_JOIN_OK;
}

PpJoinStatus
pp_trie_build(PpTrie *trie, PpBudget *budget, const PpCancel *cancel,
			  const PpCodes *codes, uint32_t nkeys, bool rows)
{
	uint32_t	a = trie->order == PP_TRIE_BACKWARD ? 1 : 0;
	uint32_t   *order = NULL;
	PpJoinStatus status = PP_JOIN_OK;

	trie->nkeys = nkeys;
	if (rows)
	{
		trie->row = pp_budget_alloc(budget, codes->nrows, sizeof(uint32_t));
		if (trie->row == NULL)
			return budget->failure;
	}
	if (!in_order(cancel, codes, a, 1 - a))
	{
		order = pp_budget_alloc(budget, codes->nrows, sizeof(uint32_t));
		if (order == NULL)
			return budget->failure;
		status = sort_rows(budget, cancel, codes, nkeys, 1 - a, order);
	}
	if (status == PP_JOIN_OK)
		status = trie->order == PP_TRIE_LOOPS ?
			build_loops(trie, budget, cancel, codes, order) :
			build_lists(trie, budget, cancel, codes, order, a, 1 - a);
	pp_budget_release(budget, order);
	if (status == PP_JOIN_OK)
		status = merge_duplicates(trie, budget, cancel);
	return status;
}

void
pp_trie_release(PpTrie *trie, PpBudget *budget)
{
	pp_budget_release(budget, trie->start);
	pp_budget_release(budget, trie->list);
	pp_budget_release(budget, trie->first);
	pp_budget_release(budget, trie->row);
	trie->start = trie->list = trie->first = trie->row = NULL;
}
