/*
 * src/trie/join_level.c
 *	  One variable's values: the leapfrog join of the lists that bound it.
 *
 * As in the paper, iterators leap to each other's keys; where they meet, a
 * block of the shortest list is intersected with the others by vectors, so
 * that the next values are in hand without a call for each.  Comparisons with
 * variables bound before are bounds of the lists.
 */
#include "join_private.h"

PpJoinStatus
pp_levels_alloc(PpJoinRun *run)
{
	const PpJoin *join = run->join;

	for (uint32_t v = 0; v < join->nvariables; v++)
	{
		const PpLevelPlan *plan = &join->levels[v];
		PpLevel    *l = &run->level[v];

		if (plan->within)
			continue;
		for (uint32_t i = 0; i < 2; i++)
			l->buffer[i] = pp_budget_alloc(&run->budget, PP_JOIN_BLOCK + PP_TRIE_SLACK,
										   sizeof(uint32_t));
		l->lists = pp_budget_alloc(&run->budget, plan->nlists, sizeof(PpTrieIter));
		if (l->buffer[0] == NULL || l->buffer[1] == NULL || l->lists == NULL)
			return run->budget.failure;
		if (plan->kept)
		{
			const uint32_t n = plan->constant ? 1 : join->dict.n;

			l->known = pp_budget_alloc(&run->budget, n, sizeof(uint64_t));
			if (l->known == NULL && run->budget.failure != PP_JOIN_NO_FIT)
				return run->budget.failure;
			for (uint32_t i = 0; i < n && l->known; i++)
			{
				if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
					return PP_JOIN_CANCELLED;
				l->known[i] = PP_UNKNOWN;
			}
		}
		if (plan->places)
		{
			l->place = pp_budget_alloc(&run->budget,
									   (uint64_t) plan->nlists * PP_JOIN_BLOCK,
									   sizeof(uint32_t));
			if (l->place == NULL)
				return run->budget.failure;
		}
	}
	return PP_JOIN_OK;
}

void
pp_levels_release(PpJoinRun *run)
{
	for (uint32_t v = 0; v < run->join->nvariables; v++)
	{
		PpLevel    *l = &run->level[v];

		pp_budget_release(&run->budget, l->buffer[0]);
		pp_budget_release(&run->budget, l->buffer[1]);
		pp_budget_release(&run->budget, l->lists);
		pp_budget_release(&run->budget, l->place);
		pp_budget_release(&run->budget, l->known);
	}
}

void
pp_level_open(PpJoinRun *run, uint32_t level)
{
	const PpJoin *join = run->join;
	const PpLevelPlan *plan = &join->levels[level];
	PpLevel    *l = &run->level[level];

	l->low = level == 0 ? run->from : 0;
	l->high = level == 0 ? run->to : join->dict.n;
	l->n = l->i = 0;
	for (uint32_t r = 0; r < plan->nresiduals; r++)
	{
		uint32_t	other = run->bound[plan->residuals[r].level];

		switch (plan->residuals[r].op)
		{
			case PP_JOIN_LT:
				l->high = other < l->high ? other : l->high;
				break;
			case PP_JOIN_LE:
				l->high = other + 1 < l->high ? other + 1 : l->high;
				break;
			case PP_JOIN_GT:
				l->low = other + 1 > l->low ? other + 1 : l->low;
				break;
			case PP_JOIN_GE:
				l->low = other > l->low ? other : l->low;
				break;
			case PP_JOIN_NE:
				break;
		}
	}
	l->next = l->low;
	for (uint32_t k = 0; k < plan->nlists; k++)
	{
		PpTrieIter *it = &l->lists[k];

		pp_trie_open(it, &join->tries[plan->lists[k].trie],
					 run->bound[plan->lists[k].from]);
		if (l->low > 0)
			pp_trie_seek(it, l->low);
	}
	run->seeks += plan->nlists;
}

/*
 * Moves the iterators to the least key that all of them might have, short of
 * high; *shortest is the one with the fewest keys left.  False: there is none.
 */
static bool
align(PpJoinRun *run, const PpLevelPlan *plan, PpLevel *l, uint32_t *shortest)
{
	uint32_t	least = UINT32_MAX;
	uint32_t	key = l->low;

	for (uint32_t k = 0; k < plan->nlists; k++)
	{
		const PpTrieIter *it = &l->lists[k];
		uint32_t	left;

		if (pp_trie_at_end(it))
			return false;
		left = it->end - it->pos;
		if (left < least)
		{
			least = left;
			*shortest = k;
		}
		if (pp_trie_key(it) > key)
			key = pp_trie_key(it);
	}
	for (uint32_t k = 0; k < plan->nlists; k++)
	{
		PpTrieIter *it = &l->lists[k];

		if (pp_trie_key(it) >= key)
			continue;
		run->seeks++;
		pp_trie_seek(it, key);
		if (pp_trie_at_end(it))
			return false;
	}
	return key < l->high;
}

/* What a few keys and a far longer stretch of a list have in common. */
static uint32_t
probe(const uint32_t *few, uint32_t n, const uint32_t *list, uint32_t pos, uint32_t end,
	  uint32_t *out)
{
	uint32_t	m = 0;

	for (uint32_t i = 0; i < n && pos < end; i++)
	{
		pos = pp_trie_gallop(list, pos, end, few[i]);
		if (pos < end && list[pos] == few[i])
			out[m++] = few[i];
	}
	return m;
}

/* The stretch of it that goes up to key; leaves it behind. */
static uint32_t
take_up_to(PpTrieIter *it, uint32_t key)
{
	uint32_t	from = it->pos;

	it->pos = pp_trie_gallop(it->list, it->pos, it->end, key + 1);
	return it->pos - from;
}

/* Leaves out what comparisons, or tries that begin here, do not allow. */
static uint32_t
keep_allowed(const PpJoinRun *run, const PpLevelPlan *plan, const uint32_t *value,
			 uint32_t n, uint32_t *out)
{
	uint32_t	m = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	v = value[i];
		bool		keep = true;

		for (uint32_t h = 0; h < plan->nheads; h++)
		{
			const uint32_t *start = run->join->tries[plan->heads[h]].start;

			keep &= start[v] != start[v + 1];
		}
		for (uint32_t r = 0; r < plan->nresiduals && plan->unequal; r++)
			keep &= plan->residuals[r].op != PP_JOIN_NE ||
				run->bound[plan->residuals[r].level] != v;
		out[m] = v;
		m += keep;
	}
	return m;
}

/* A variable that no list bounds: every number that the tries begin with. */
static bool
fill_heads(PpJoinRun *run, const PpLevelPlan *plan, PpLevel *l)
{
	while (l->next < l->high)
	{
		uint32_t	n = l->high - l->next < PP_JOIN_BLOCK ?
			l->high - l->next : PP_JOIN_BLOCK;

		for (uint32_t i = 0; i < n; i++)
			l->buffer[0][i] = l->next + i;
		l->next += n;
		l->n = keep_allowed(run, plan, l->buffer[0], n, l->buffer[0]);
		l->value = l->buffer[0];
		if (!pp_run_work(run, n))
			return false;
		if (l->n > 0)
			return true;
	}
	return false;
}

bool
pp_level_fill(PpJoinRun *run, uint32_t level)
{
	const PpJoin *join = run->join;
	const PpLevelPlan *plan = &join->levels[level];
	PpLevel    *l = &run->level[level];
	uint32_t	shortest = 0;

	l->n = l->i = 0;
	if (plan->nlists == 0)
		return fill_heads(run, plan, l);
	while (align(run, plan, l, &shortest))
	{
		PpTrieIter *it = &l->lists[shortest];
		const uint32_t *value = it->list + it->pos;
		uint32_t	n = it->end - it->pos < PP_JOIN_BLOCK ?
			it->end - it->pos : PP_JOIN_BLOCK;
		uint32_t	from[PP_JOIN_MAX_ATOMS];
		uint32_t	last;
		uint32_t	buffer = 0;
		uint64_t	steps = n;

		if (value[n - 1] >= l->high)
			n = pp_trie_gallop(value, 0, n, l->high);
		if (n == 0)
			break;
		last = value[n - 1];
		for (uint32_t k = 0; k < plan->nlists; k++)
			from[k] = l->lists[k].pos;
		it->pos += n;
		for (uint32_t k = 0; k < plan->nlists; k++)
		{
			PpTrieIter *other = &l->lists[k];
			const uint32_t *stretch = other->list + other->pos;
			uint32_t   *out = l->buffer[buffer];
			uint32_t	len;

			if (k == shortest)
				continue;
			len = take_up_to(other, last);
			if (len / PP_JOIN_UNEQUAL > n)
				n = probe(value, n, stretch, 0, len, out);
			else if (n / PP_JOIN_UNEQUAL > len)
				n = probe(stretch, len, value, 0, n, out);
			else
			{
				n = (uint32_t) join->kernels->intersect(value, n, stretch, len, out);
				steps += len;
			}
			run->seeks++;
			value = out;
			buffer = 1 - buffer;
		}
		if (plan->nheads > 0 || plan->unequal)
		{
			n = keep_allowed(run, plan, value, n, l->buffer[buffer]);
			value = l->buffer[buffer];
		}
		for (uint32_t k = 0; k < plan->nlists && plan->places; k++)
		{
			const uint32_t *list = l->lists[k].list;
			uint32_t	pos = from[k];

			if (!plan->lists[k].place)
				continue;
			for (uint32_t i = 0; i < n; i++)
			{
				pos = pp_trie_gallop(list, pos, l->lists[k].pos, value[i]);
				l->place[k * PP_JOIN_BLOCK + i] = pos;
			}
		}
		l->value = value;
		l->n = n;
		if (!pp_run_work(run, steps))
		{
			l->n = 0;
			return false;
		}
		if (n > 0)
			return true;
	}
	return false;
}

uint64_t
pp_level_count(PpJoinRun *run, uint32_t level)
{
	const PpLevelPlan *plan = &run->join->levels[level];
	PpLevel    *l = &run->level[level];
	uint32_t	shortest = 0;
	uint64_t	total = 0;

	if (plan->nlists == 1 && plan->nheads == 0 && !plan->unequal)
	{
		PpTrieIter *it = &l->lists[0];
		uint32_t	from = it->pos;

		if (from < it->end && it->list[it->end - 1] < l->high)
			it->pos = it->end;
		else
			pp_trie_seek(it, l->high);
		return it->pos - from;
	}
	if (plan->nlists != 2 || plan->nheads > 0 || plan->unequal)
	{
		while (pp_level_fill(run, level))
			total += l->n;
		return total;
	}
	while (align(run, plan, l, &shortest))
	{
		PpTrieIter *it = &l->lists[shortest];
		PpTrieIter *other = &l->lists[1 - shortest];
		const uint32_t *value = it->list + it->pos;
		const uint32_t *stretch = other->list + other->pos;
		/* nothing is written: longer blocks, but not so long as not to be cancelled */
		uint32_t	n = it->end - it->pos < 16 * PP_JOIN_BLOCK ?
			it->end - it->pos : 16 * PP_JOIN_BLOCK;
		uint32_t	len;

		if (value[n - 1] >= l->high)
			n = pp_trie_gallop(value, 0, n, l->high);
		if (n == 0)
			break;
		it->pos += n;
		len = take_up_to(other, value[n - 1]);
		run->seeks++;
		if (len / PP_JOIN_UNEQUAL > n)
		{
			uint32_t	pos = 0;

			for (uint32_t i = 0; i < n && pos < len; i++)
			{
				pos = pp_trie_gallop(stretch, pos, len, value[i]);
				total += pos < len && stretch[pos] == value[i];
			}
			len = n;
		}
		else
			total += run->join->kernels->intersect_count(value, n, stretch, len);
		if (!pp_run_work(run, (uint64_t) n + len))
			break;
	}
	return total;
}
