/*
 * src/trie/join_rows.c
 *	  Enumerating assignments, a batch at a time.  Nothing is materialised
 *	  but a block of values for each variable.
 */
#include "join_private.h"

/* Are there more rows behind the entries of the assignment in hand? */
static bool
next_copy(PpJoinRun *run)
{
	const PpJoin *join = run->join;

	for (uint32_t v = 0; v < join->nvariables; v++)
	{
		const PpLevelPlan *plan = &join->levels[v];

		for (uint32_t k = 0; k < plan->nlists && plan->places; k++)
		{
			const PpLevelList *list = &plan->lists[k];

			if (!list->place)
				continue;
			if (++run->copy[list->atom] <
				pp_trie_weight(&join->tries[list->trie], run->place[list->atom]))
				return true;
			run->copy[list->atom] = 0;
		}
	}
	return false;
}

/* The row of an atom in the assignment in hand. */
static uint32_t
atom_row(const PpJoinRun *run, const PpLevelList *list)
{
	const PpTrie *trie = &run->join->tries[list->trie];
	uint32_t	at = run->place[list->atom];

	if (trie->first)
		at = trie->first[at] + run->copy[list->atom];
	return trie->row[at];
}

/* Writes what is bound at a level to assignments i to i + n - 1. */
static void
put_bound(const PpJoinRun *run, uint32_t level, int64_t *keys, uint32_t *rows,
		  size_t capacity, size_t i, size_t n)
{
	const PpJoin *join = run->join;
	const PpLevelPlan *plan = &join->levels[level];

	if (keys)
	{
		int64_t		key = pp_dict_key(&join->dict, run->bound[level]);
		int64_t    *out = keys + plan->variable * capacity + i;

		for (size_t j = 0; j < n; j++)
			out[j] = key;
	}
	for (uint32_t k = 0; k < plan->nlists && rows; k++)
	{
		uint32_t	row = atom_row(run, &plan->lists[k]);
		uint32_t   *out = rows + plan->lists[k].atom * capacity + i;

		for (size_t j = 0; j < n; j++)
			out[j] = row;
	}
}

/* Writes the next n values in hand of the last level, none of which has copies. */
static void
put_values(PpJoinRun *run, uint32_t level, int64_t *keys, uint32_t *rows,
		   size_t capacity, size_t i, uint32_t n)
{
	const PpJoin *join = run->join;
	const PpLevelPlan *plan = &join->levels[level];
	PpLevel    *l = &run->level[level];

	if (keys)
	{
		int64_t    *out = keys + plan->variable * capacity + i;

		for (uint32_t j = 0; j < n; j++)
			out[j] = pp_dict_key(&join->dict, l->value[l->i + j]);
	}
	for (uint32_t k = 0; k < plan->nlists && rows; k++)
	{
		const uint32_t *row = join->tries[plan->lists[k].trie].row;
		const uint32_t *place = l->place + k * PP_JOIN_BLOCK + l->i;
		uint32_t   *out = rows + plan->lists[k].atom * capacity + i;

		for (uint32_t j = 0; j < n; j++)
			out[j] = row[place[j]];
	}
	l->i += n;
}

/*
 * Binds all variables but the last, which then has values in hand; false:
 * there is nothing more, or see status.
 */
static bool
next_values(PpJoinRun *run)
{
	const uint32_t last = run->join->nvariables - 1;

	if (!run->started)
	{
		run->started = true;
		run->depth = 0;
		pp_level_open(run, 0);
	}
	for (;;)
	{
		PpLevel    *l = &run->level[run->depth];

		if (l->i >= l->n && !pp_level_fill(run, run->depth))
		{
			if (run->status != PP_JOIN_OK || run->depth == 0)
				return false;
			run->depth--;
			continue;
		}
		if (run->depth == last)
			return true;
		if (!pp_run_work(run, 8))
			return false;
		pp_level_bind(run, run->depth);
		pp_level_open(run, ++run->depth);
	}
}

PpJoinStatus
pp_join_rows(PpJoinRun *run, int64_t *keys, uint32_t *rows, size_t capacity, size_t *n)
{
	const PpJoin *join = run->join;
	const uint32_t last = join->nvariables - 1;
	const PpLevel *l = &run->level[last];

	*n = 0;
	if (join->mode != PP_JOIN_ROWS || (rows && !join->row_numbers))
		return PP_JOIN_INVALID;
	if (join->empty)
		return PP_JOIN_OK;
	if (join->oriented)
	{
		if (join->row_numbers)
			pp_blocks_numbered(run, keys, rows, capacity, n);
		else
			pp_blocks_rows(run, keys, capacity, n);
		return run->status;
	}
	while (*n < capacity && run->status == PP_JOIN_OK)
	{
		uint32_t	m = 1;

		if (!run->pending && !next_values(run))
			break;
		if (!join->copies)
		{
			m = l->n - l->i < capacity - *n ? l->n - l->i : (uint32_t) (capacity - *n);
			put_values(run, last, keys, rows, capacity, *n, m);
		}
		else
		{
			if (!run->pending)
				pp_level_bind(run, last);
			put_bound(run, last, keys, rows, capacity, *n, 1);
		}
		for (uint32_t v = 0; v < last; v++)
			put_bound(run, v, keys, rows, capacity, *n, m);
		*n += m;
		run->pending = join->copies && next_copy(run);
		if (!pp_run_work(run, m))
			break;
	}
	return run->status;
}
