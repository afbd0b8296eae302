/*
 * src/trie/trie_build.c
 *	  Builds tries: rows in, sorted lists without duplicates out.
 *
 * Rows are scattered by the second level's key, then, in that order, by the
 * first's: two counting sorts, of which a table that is stored in order needs
 * none but the last.
 */
#include <string.h>

#include "trie.h"

/* ---------- members' shares ---------- */

/*
 * A counting sort by several members, each of which counts and moves its
 * share of the items, in the order in which they are.
 */
typedef struct Sorting
{
	PpTurns		turns;			/* to be cancelled only */
	const uint32_t *pair;		/* rows */
	const uint32_t *order;		/* item i is row order[i]; NULL: row i */
	uint32_t	nrows;
	uint32_t	nkeys;
	uint32_t	members;
	uint32_t	a;				/* column to sort by */
	uint32_t   *place;			/* nkeys for each member: how many, then where to */
	uint32_t   *row;			/* result: rows; NULL: not wanted */
	uint32_t   *list;			/* and their other columns */
} Sorting;

/* The next items of a member's share; false: there are none. */
static bool
next_items(Sorting *work, uint32_t member, uint64_t *i, uint64_t *to)
{
	uint64_t	end = (uint64_t) work->nrows * (member + 1) / work->members;

	if (*to == UINT64_MAX)
		*to = (uint64_t) work->nrows * member / work->members;
	*i = *to;
	*to = end - *i < PP_CANCEL_ROWS ? end : *i + PP_CANCEL_ROWS;
	return *i < end && pp_turns_go(&work->turns);
}

static void
count_items(void *ctx, uint32_t member)
{
	Sorting    *work = ctx;
	const uint32_t *pair = work->pair + work->a;
	uint32_t   *place = work->place + (size_t) member * work->nkeys;
	/* alone, what comes first does not matter */
	const uint32_t *order = work->members > 1 ? work->order : NULL;
	uint64_t	i;
	uint64_t	to = UINT64_MAX;

	while (next_items(work, member, &i, &to))
		for (; i < to; i++)
			place[pair[2 * (uint64_t) (order ? order[i] : i)]]++;
}

static void
move_items(void *ctx, uint32_t member)
{
	Sorting    *work = ctx;
	const uint32_t *pair = work->pair;
	uint32_t   *place = work->place + (size_t) member * work->nkeys;
	const uint32_t a = work->a;
	uint64_t	i;
	uint64_t	to = UINT64_MAX;

	while (next_items(work, member, &i, &to))
		for (; i < to; i++)
		{
			uint64_t	r = work->order ? work->order[i] : i;
			uint32_t	at = place[pair[2 * r + a]]++;

			if (work->list)
				work->list[at] = pair[2 * r + 1 - a];
			if (work->row)
				work->row[at] = (uint32_t) r;
		}
}

/*
 * Does the sort; start: where each key's items begin, nkeys + 1 entries; NULL:
 * not wanted.
 */
static PpJoinStatus
sort_items(Sorting *work, PpBudget *budget, PpTeam *team, uint32_t *start)
{
	const uint32_t nkeys = work->nkeys;
	uint32_t	sum = 0;

	work->members = pp_team_for(team, work->nrows);
	work->place = pp_budget_zeros(budget, (uint64_t) nkeys * work->members, sizeof(uint32_t));
	if (work->place == NULL && work->members > 1 && budget->failure == PP_JOIN_NO_FIT)
	{
		work->members = 1;
		work->place = pp_budget_zeros(budget, nkeys, sizeof(uint32_t));
	}
	if (work->place == NULL)
		return budget->failure;
	pp_team_run(team, work->members, count_items, work);
	for (uint32_t k = 0; k < nkeys; k++)
	{
		if (k % PP_CANCEL_ROWS == 0 && !pp_turns_go(&work->turns))
			break;
		if (start)
			start[k] = sum;
		for (uint32_t m = 0; m < work->members; m++)
		{
			uint32_t   *at = &work->place[(size_t) m * nkeys + k];
			uint32_t	here = *at;

			*at = sum;
			sum += here;
		}
	}
	if (start)
		start[nkeys] = sum;
	if (!work->turns.cancelled)
		pp_team_run(team, work->members, move_items, work);
	pp_budget_release(budget, work->place);
	return work->turns.cancelled ? PP_JOIN_CANCELLED : PP_JOIN_OK;
}

/* ---------- in order ---------- */

typedef struct Checking
{
	PpTurns		turns;
	const uint32_t *pair;
	uint32_t	a;
	bool		wrong;			/* shared */
} Checking;

static void
check_order(void *ctx, uint32_t member)
{
	Checking   *work = ctx;
	const uint32_t *pair = work->pair;
	const uint32_t a = work->a;
	uint64_t	i;
	uint64_t	to;

	(void) member;
	while (!__atomic_load_n(&work->wrong, __ATOMIC_RELAXED) &&
		   pp_turns_next(&work->turns, &i, &to))
	{
		bool		wrong = false;

		/* the first of a stretch follows the last of the one before */
		for (i += i == 0; i < to; i++)
			wrong |= ((uint64_t) pair[2 * i + a] << 32 | pair[2 * i + 1 - a]) <
				((uint64_t) pair[2 * i - 2 + a] << 32 | pair[2 * i - 1 - a]);
		if (wrong)
			__atomic_store_n(&work->wrong, true, __ATOMIC_RELAXED);
	}
}

/* Are the rows in the trie's order already?  Also false when cancelled. */
static bool
in_order(const PpCancel *cancel, PpTeam *team, const PpCodes *codes, uint32_t a)
{
	Checking	work;

	pp_turns_begin(&work.turns, cancel, codes->nrows, PP_CANCEL_ROWS);
	work.pair = codes->pairs;
	work.a = a;
	work.wrong = false;
	pp_team_run(team, pp_team_for(team, codes->nrows), check_order, &work);
	return !work.wrong && !work.turns.cancelled;
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
	{
		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
			return PP_JOIN_CANCELLED;
		trie->list[i] = trie->list[trie->first[i]];
	}
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
	for (uint64_t i = 0; i < codes->nrows; i++)
	{
		uint64_t	r = order ? order[i] : i;

		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
			return PP_JOIN_CANCELLED;
		if (codes->pairs[2 * r] != codes->pairs[2 * r + 1])
			continue;
		if (trie->row)
			trie->row[n] = (uint32_t) r;
		trie->list[n++] = codes->pairs[2 * r];
	}
	trie->nentries = n;
	return PP_JOIN_OK;
}

static PpJoinStatus
build_lists(PpTrie *trie, PpBudget *budget, PpTeam *team, Sorting *work)
{
	trie->start = pp_budget_alloc(budget, (uint64_t) trie->nkeys + 1, sizeof(uint32_t));
	trie->list = pp_budget_alloc(budget, (uint64_t) work->nrows + PP_TRIE_SLACK,
								 sizeof(uint32_t));
	if (trie->start == NULL || trie->list == NULL)
		return budget->failure;
	work->row = trie->row;
	work->list = trie->list;
	trie->nentries = work->nrows;
	return sort_items(work, budget, team, trie->start);
}

PpJoinStatus
pp_trie_build(PpTrie *trie, PpBudget *budget, const PpCancel *cancel, PpTeam *team,
			  const PpCodes *codes, uint32_t nkeys, bool rows)
{
	uint32_t	a = trie->order == PP_TRIE_BACKWARD ? 1 : 0;
	uint32_t   *order = NULL;
	Sorting		work;
	PpJoinStatus status = PP_JOIN_OK;

	trie->nkeys = nkeys;
	if (rows)
	{
		trie->row = pp_budget_alloc(budget, codes->nrows, sizeof(uint32_t));
		if (trie->row == NULL)
			return budget->failure;
	}
	memset(&work, 0, sizeof(work));
	pp_turns_begin(&work.turns, cancel, 0, 1);
	work.pair = codes->pairs;
	work.nrows = codes->nrows;
	work.nkeys = nkeys;
	if (!in_order(cancel, team, codes, a))
	{
		order = pp_budget_alloc(budget, codes->nrows, sizeof(uint32_t));
		if (order == NULL)
			return budget->failure;
		work.a = 1 - a;
		work.row = order;
		status = sort_items(&work, budget, team, NULL);
	}
	work.a = a;
	work.order = order;
	if (status == PP_JOIN_OK)
		status = trie->order == PP_TRIE_LOOPS ?
			build_loops(trie, budget, cancel, codes, order) :
			build_lists(trie, budget, team, &work);
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
