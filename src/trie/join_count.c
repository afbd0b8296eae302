/*
 * src/trie/join_count.c
 *	  Counting in general: sums over a level's values of the product of what
 *	  is counted below.  Levels that no atom and no comparison connects once
 *	  the ones above are bound are counted apart, not combined: two triangles
 *	  at an edge cost as much as one.  What depends on one variable only is
 *	  counted once for each of its values: a tail, or a second triangle at a
 *	  vertex.
 */
#include "join_private.h"

/* What the rows of the entries just bound at a level multiply to. */
static bool
level_weight(const PpJoinRun *run, uint32_t level, PpUint128 *weight)
{
	const PpLevelPlan *plan = &run->join->levels[level];

	for (uint32_t k = 0; k < plan->nlists; k++)
		if (plan->lists[k].place &&
			!pp_multiply(weight, pp_trie_weight(&run->join->tries[plan->lists[k].trie],
												run->place[plan->lists[k].atom])))
			return false;
	return true;
}

static bool count_level(PpJoinRun *run, uint32_t level, PpUint128 *count);

/* The count below a value that was just bound. */
static bool
count_value(PpJoinRun *run, uint32_t level, PpUint128 *count)
{
	const PpLevelPlan *plan = &run->join->levels[level];
	PpUint128	part[PP_JOIN_MAX_VARIABLES];

	*count = 1;
	if (plan->places && !level_weight(run, level, count))
	{
		run->status = PP_JOIN_TOO_MANY;
		return false;
	}
	for (uint32_t c = 0; c < plan->nchildren && *count > 0; c++)
	{
		if (plan->twin[c])
			part[c] = part[plan->twin[c] - 1];
		else if (!count_level(run, plan->children[c], &part[c]))
			return false;
		if (!pp_multiply(count, part[c]))
		{
			run->status = PP_JOIN_TOO_MANY;
			return false;
		}
	}
	return true;
}

/* The values that are left of an open level. */
static bool
count_rest(PpJoinRun *run, uint32_t level, PpUint128 *count)
{
	const PpLevelPlan *plan = &run->join->levels[level];
	PpLevel    *l = &run->level[level];

	*count = 0;
	if (plan->nchildren == 0 && !plan->places)
	{
		*count = pp_level_count(run, level);
		return run->status == PP_JOIN_OK;
	}
	while (pp_level_fill(run, level))
		while (l->i < l->n)
		{
			PpUint128	part;

			pp_level_bind(run, level);
			if (!count_value(run, level, &part))
				return false;
			if (!pp_add(count, part))
			{
				run->status = PP_JOIN_TOO_MANY;
				return false;
			}
		}
	return run->status == PP_JOIN_OK;
}

static bool
count_level(PpJoinRun *run, uint32_t level, PpUint128 *count)
{
	const PpLevelPlan *plan = &run->join->levels[level];
	uint64_t   *known = run->level[level].known;

	if (plan->counted)
	{
		*count = plan->counted[run->bound[plan->key]];
		return true;
	}
	/* shallow loops over short lists are work as well */
	if (!pp_run_work(run, 8))
		return false;
	if (known)
	{
		known += plan->constant ? 0 : run->bound[plan->key];
		if (*known != PP_UNKNOWN)
		{
			*count = *known;
			return true;
		}
	}
	pp_level_open(run, level);
	if (!count_rest(run, level, count))
		return false;
	if (known && *count < PP_UNKNOWN)
		*known = (uint64_t) *count;
	return true;
}

bool
pp_general_count(PpJoinRun *run, PpUint128 *count)
{
	return count_level(run, 0, count);
}

PpJoinStatus
pp_general_groups(PpJoinRun *run, int64_t *keys, PpCount *counts, size_t capacity, size_t *n)
{
	const PpJoin *join = run->join;
	PpLevel    *l = &run->level[0];

	if (!run->started)
	{
		pp_level_open(run, 0);
		run->started = true;
	}
	while (*n < capacity && run->status == PP_JOIN_OK)
	{
		PpUint128	count;

		if (l->i >= l->n && !pp_level_fill(run, 0))
			break;
		pp_level_bind(run, 0);
		if (!count_value(run, 0, &count))
			break;
		if (count == 0)
			continue;
		keys[*n] = pp_dict_key(&join->dict, run->bound[0]);
		counts[*n].low = (uint64_t) count;
		counts[*n].high = (uint64_t) (count >> 64);
		++*n;
	}
	return run->status;
}
