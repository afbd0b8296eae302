/*
 * src/trie/join_run.c
 *	  Passes over a join: opens and closes them, cuts the work into parts, has
 *	  threads count.
 */
#include "join_private.h"

/* Stretches of roots for each thread: the last ones to end wait little. */
#define STRETCHES		64u

/* What joining from the values of the first level below x costs, about. */
static uint64_t
cost_below(const PpJoin *join, uint32_t x)
{
	uint64_t	cost = x;

	if (join->oriented)
		return cost + join->oriented->start[x];
	if (join->info.strategy == PP_JOIN_WEDGES)
		return cost + join->tries[join->wedge[0]].start[x] + join->tries[join->wedge[2]].start[x];
	for (uint32_t h = 0; h < join->levels[0].nheads; h++)
		cost += join->tries[join->levels[0].heads[h]].start[x];
	return cost;
}

static uint32_t
nroots(const PpJoin *join)
{
	return join->oriented ? join->oriented->n : join->dict.n;
}

/* Where part number part of nparts of about the same cost begins. */
static uint32_t
cut(const PpJoin *join, uint32_t part, uint32_t nparts)
{
	uint32_t	low = 0;
	uint32_t	high = nroots(join);
	uint64_t	goal;

	if (part == 0 || part == nparts)
		return part ? high : 0;
	goal = (uint64_t) ((PpUint128) cost_below(join, high) * part / nparts);
	while (low < high)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (cost_below(join, middle) < goal)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A run over nothing so far. */
static PpJoinStatus
open_run(const PpJoin *join, const PpAlloc *alloc, size_t budget, PpJoinRun **out)
{
	PpBudget	own;
	PpJoinRun  *run;
	PpJoinStatus status;

	*out = NULL;
	pp_budget_init(&own, alloc, budget, &join->cancel);
	run = pp_budget_zeros(&own, 1, sizeof(PpJoinRun));
	if (run == NULL)
		return own.failure;
	run->budget = own;
	run->join = join;
	status = join->oriented ? pp_oriented_open(run) :
		join->info.strategy == PP_JOIN_WEDGES ? pp_wedges_open(run) : pp_levels_alloc(run);
	if (status == PP_JOIN_OK)
		*out = run;
	else
		pp_join_close(run);
	return status;
}

PpJoinStatus
pp_join_open(const PpJoin *join, const PpAlloc *alloc, size_t budget,
			 uint32_t part, uint32_t nparts, PpJoinRun **out)
{
	PpJoinStatus status;

	*out = NULL;
	if (part >= nparts)
		return PP_JOIN_INVALID;
	status = open_run(join, alloc, budget, out);
	if (status != PP_JOIN_OK)
		return status;
	(*out)->first = part == 0;
	if (join->oriented && join->mode == PP_JOIN_GROUPS)
		(*out)->to = part == 0 ? nroots(join) : 0;
	else
	{
		(*out)->from = cut(join, part, nparts);
		(*out)->to = cut(join, part + 1, nparts);
	}
	return PP_JOIN_OK;
}

PpJoinStatus
pp_join_open_threads(const PpJoin *join, const PpAlloc *alloc, size_t budget,
					 uint32_t threads, PpJoinRun **out)
{
	const uint64_t wanted = nroots(join) == 0 ? 1 : cost_below(join, nroots(join)) / PP_TEAM_ROWS * 4;
	PpJoinStatus status = pp_join_open(join, alloc, budget, 0, 1, out);
	PpJoinRun  *run = *out;
	size_t		used;

	if (status != PP_JOIN_OK || threads < 2 || wanted < 2)
		return status;
	if (threads > PP_TEAM_MOST)
		threads = PP_TEAM_MOST;
	if (threads > wanted)
		threads = (uint32_t) wanted;
	run->others = pp_budget_alloc(&run->budget, threads - 1, sizeof(PpJoinRun *));
	used = run->budget.used;
	for (uint32_t i = 1; i < threads && run->others; i++)
	{
		PpJoinRun **other = &run->others[run->nothers];

		status = open_run(join, alloc, budget - used, other);
		if (status != PP_JOIN_OK)
			break;
		used += (*other)->budget.used;
		run->nothers++;
	}
	if (run->others == NULL)
		status = run->budget.failure;
	if (status == PP_JOIN_OK || status == PP_JOIN_NO_FIT)
		return PP_JOIN_OK;
	pp_join_close(run);
	*out = NULL;
	return status;
}

void
pp_join_close(PpJoinRun *run)
{
	if (run)
	{
		PpBudget	budget;

		for (uint32_t i = 0; i < run->nothers; i++)
			pp_join_close(run->others[i]);
		pp_budget_release(&run->budget, run->others);
		pp_oriented_close(run);
		pp_levels_release(run);
		for (uint32_t i = 0; i < sizeof(run->scratch) / sizeof(run->scratch[0]); i++)
			pp_budget_release(&run->budget, run->scratch[i]);
		budget = run->budget;
		pp_budget_release(&budget, run);
	}
}

/* ---------- counting ---------- */

typedef struct Counting
{
	PpTurns		turns;			/* over stretches of roots */
	PpJoinRun  *run;
	bool		(*work) (PpJoinRun *run, PpUint128 *count);
	PpUint128	count[PP_TEAM_MOST];
} Counting;

static void
count_stretches(void *ctx, uint32_t member)
{
	Counting   *counting = ctx;
	PpJoinRun  *run = member ? counting->run->others[member - 1] : counting->run;
	const uint32_t nstretches = (uint32_t) counting->turns.n;
	uint64_t	i;
	uint64_t	to;

	counting->count[member] = 0;
	while (pp_turns_next(&counting->turns, &i, &to))
	{
		PpUint128	n = 0;

		run->from = cut(run->join, (uint32_t) i, nstretches);
		run->to = cut(run->join, (uint32_t) i + 1, nstretches);
		if (run->from == run->to)
			continue;
		if (counting->work(run, &n) && !pp_add(&counting->count[member], n))
			run->status = PP_JOIN_TOO_MANY;
		if (run->status != PP_JOIN_OK)
		{
			/* the others need not go on */
			__atomic_store_n(&counting->turns.cancelled, true, __ATOMIC_RELAXED);
			break;
		}
	}
}

bool
pp_run_all(PpJoinRun *run, PpTeam *team,
		   bool (*work) (PpJoinRun *run, PpUint128 *count), PpUint128 *count)
{
	const uint32_t members = pp_team_start(team, run->nothers + 1);
	Counting	counting;

	*count = 0;
	pp_turns_begin(&counting.turns, &run->join->cancel, (uint64_t) members * STRETCHES, 1);
	counting.run = run;
	counting.work = work;
	pp_team_run(team, members, count_stretches, &counting);
	for (uint32_t m = 0; m < members; m++)
	{
		if (m > 0 && run->others[m - 1]->status != PP_JOIN_OK && run->status == PP_JOIN_OK)
			run->status = run->others[m - 1]->status;
		if (!pp_add(count, counting.count[m]))
			run->status = PP_JOIN_TOO_MANY;
	}
	if (counting.turns.cancelled && run->status == PP_JOIN_OK)
		run->status = PP_JOIN_CANCELLED;
	return run->status == PP_JOIN_OK;
}

/* The same, with a team of its own if there are runs for one. */
static bool
run_work(PpJoinRun *run, bool (*work) (PpJoinRun *run, PpUint128 *count), PpUint128 *count)
{
	PpTeam		team;
	bool		done;

	if (run->nothers == 0)
		return work(run, count);
	pp_team_begin(&team, run->nothers + 1, run->join->cancel.cancelled, run->join->cancel.ctx);
	done = pp_run_all(run, &team, work, count);
	pp_team_end(&team);
	return done;
}

PpJoinStatus
pp_join_count(PpJoinRun *run, PpCount *count)
{
	const PpJoin *join = run->join;
	PpUint128	n = 0;

	count->low = count->high = 0;
	if (join->mode != PP_JOIN_COUNT || run->started)
		return PP_JOIN_INVALID;
	run->started = true;
	if (join->empty)
		return PP_JOIN_OK;
	if (run_work(run, join->oriented ? pp_oriented_count :
				 join->info.strategy == PP_JOIN_WEDGES ? pp_wedges_count : pp_general_count, &n))
	{
		if (join->oriented && run->first)
			n += join->oriented->collapsed;
		count->low = (uint64_t) n;
		count->high = (uint64_t) (n >> 64);
	}
	return run->status;
}

PpJoinStatus
pp_join_count_threads(const PpJoin *join, const PpAlloc *alloc, size_t budget,
					  uint32_t threads, PpCount *count, uint64_t *seeks)
{
	PpJoinRun  *run;
	PpJoinStatus status;

	count->low = count->high = 0;
	*seeks = 0;
	status = pp_join_open_threads(join, alloc, budget, threads, &run);
	if (status != PP_JOIN_OK)
		return status;
	status = pp_join_count(run, count);
	*seeks = pp_join_seeks(run);
	pp_join_close(run);
	return status;
}

uint64_t
pp_join_seeks(const PpJoinRun *run)
{
	uint64_t	seeks = run->seeks + (run->first ? run->join->seeks : 0);

	for (uint32_t i = 0; i < run->nothers; i++)
		seeks += run->others[i]->seeks;
	return seeks;
}

/* ---------- groups ---------- */

static bool
add_groups(PpJoinRun *run, PpUint128 *count)
{
	*count = 0;
	return pp_oriented_groups(run);
}

/* Counts all vertices first, then gives those that have something. */
static PpJoinStatus
oriented_groups(PpJoinRun *run, int64_t *keys, PpCount *counts, size_t capacity, size_t *n)
{
	const PpOriented *o = run->join->oriented;

	if (!run->started)
	{
		PpUint128	none;

		run->started = true;
		if (!run->first)
			run->depth = o->n;	/* the vertex to go on from */
		else if (run_work(run, add_groups, &none))
			for (uint32_t i = 0; i < run->nothers; i++)
				for (uint32_t v = 0; v < o->n; v++)
				{
					if (!pp_run_work(run, 1))
						return run->status;
					run->groups[v] += run->others[i]->groups[v];
				}
	}
	for (; run->depth < o->n && *n < capacity && run->status == PP_JOIN_OK; run->depth++)
	{
		if (!pp_run_work(run, 1))
			break;
		if (run->groups[run->depth] == 0)
			continue;
		keys[*n] = o->name[run->depth];
		counts[*n].low = run->groups[run->depth];
		counts[(*n)++].high = 0;
	}
	return run->status;
}

PpJoinStatus
pp_join_groups(PpJoinRun *run, int64_t *keys, PpCount *counts, size_t capacity, size_t *n)
{
	*n = 0;
	if (run->join->mode != PP_JOIN_GROUPS)
		return PP_JOIN_INVALID;
	if (run->join->empty)
		return PP_JOIN_OK;
	return run->join->oriented ? oriented_groups(run, keys, counts, capacity, n) :
		pp_general_groups(run, keys, counts, capacity, n);
}
