/*
 * src/trie/join_oriented.c
 *	  Cliques of one relation: builds the graph whose edges lead from vertices
 *	  of low degree to those of high degree, on which each undirected clique is
 *	  found once, and what says how often it counts.
 *
 * Orienting edges by degree bounds the work by m^1.5 on any graph (Chiba,
 * Nishizeki, SIAM J. Comput. 1985; Latapy, TCS 2008).
 *
 * How often a clique counts is the same for all of them if every edge leads
 * from the smaller key to the greater, or every edge has its reverse.
 * Otherwise each edge says which directions it has.  Where a vertex has a
 * loop, several variables may have its key: they are cliques of fewer vertices.
 * Edges of several rows are in lists of their own.
 */
#include <string.h>

#include "join_private.h"

/* A row of bits is worth it if so many times its vectors are fewer than the list. */
#define HUB_DENSE		4u
/* So many looks into hubs' lists for an edge, on average, are worth rows. */
#define HUB_LOOKS		8u

/* ---------- how often a clique counts ---------- */

/*
 * The maps of variables to m vertices, none of which is left out, by the codes
 * that allow them.
 */
static PpJoinStatus
build_ways(PpJoin *join, const PpJoinQuery *query, uint32_t m)
{
	const uint32_t k = query->nvariables;
	const uint32_t ncodes = UINT32_C(1) << (m * (m - 1) + (m < k ? m : 0));
	PpWays	   *ways = &join->oriented->ways[m];
	uint8_t		map[256];		/* of up to four variables to up to four vertices */
	uint32_t	needed[256];	/* bits of the code */
	uint32_t	nmaps = 0;
	uint32_t	n = 0;

	for (uint32_t p = 0; p < UINT32_C(1) << (2 * k); p++)
	{
		uint32_t	used = 0;
		uint32_t	bits = 0;
		bool		fits = true;

		for (uint32_t v = 0; v < k; v++)
			used |= UINT32_C(1) << (p >> (2 * v) & 3);
		if (used != (UINT32_C(1) << m) - 1)
			continue;
		for (uint32_t r = 0; r < query->nresiduals; r++)
			fits &= pp_compare_holds(query->residuals[r].op, p >> (2 * query->residuals[r].left) & 3,
						  p >> (2 * query->residuals[r].right) & 3);
		for (uint32_t a = 0; a < query->natoms; a++)
		{
			uint32_t	from = p >> (2 * query->atoms[a].variable[0]) & 3;
			uint32_t	to = p >> (2 * query->atoms[a].variable[1]) & 3;

			bits |= from == to ? UINT32_C(1) << pp_loop_shift(m, from) :
				from < to ? UINT32_C(1) << pp_pair_shift(from, to) :
				UINT32_C(2) << pp_pair_shift(to, from);
		}
		if (!fits)
			continue;
		map[nmaps] = (uint8_t) p;
		needed[nmaps++] = bits;
	}
	ways->first = pp_budget_alloc(&join->budget, (uint64_t) ncodes + 1, sizeof(uint32_t));
	if (ways->first == NULL)
		return join->budget.failure;
	for (uint32_t code = 0; code < ncodes; code++)
	{
		ways->first[code] = n;
		for (uint32_t i = 0; i < nmaps; i++)
			n += (code & needed[i]) == needed[i];
	}
	ways->first[ncodes] = n;
	if (query->mode == PP_JOIN_COUNT)
		return PP_JOIN_OK;
	ways->map = pp_budget_alloc(&join->budget, n, 1);
	ways->groups = pp_budget_zeros(&join->budget, ncodes, sizeof(uint32_t));
	if (ways->map == NULL || ways->groups == NULL)
		return join->budget.failure;
	n = 0;
	for (uint32_t code = 0; code < ncodes; code++)
		for (uint32_t i = 0; i < nmaps; i++)
			if ((code & needed[i]) == needed[i])
			{
				ways->map[n++] = map[i];
				if (query->mode == PP_JOIN_GROUPS)
					ways->groups[code] += UINT32_C(1) << 8 * (map[i] >> (2 * query->group) & 3);
			}
	return PP_JOIN_OK;
}

/* ---------- building ---------- */

/* What members of a team do with their shares of the rows, or of vertices. */
typedef struct Orienting
{
	PpTurns		turns;			/* to be cancelled only */
	PpOriented *o;
	uint32_t   *pair;
	uint32_t	nrows;
	uint32_t	members;
	uint32_t   *rank;
	uint32_t   *count;			/* o->n for each member */

	/* merging directions */
	uint8_t    *seen;			/* o->n for each member: PP_DOWN, PP_UP and PP_HEAVY as
								 * 1, 2 and 4 */
	uint32_t	vertex[PP_TEAM_MOST + 1];	/* where shares begin */
	uint32_t	from[PP_TEAM_MOST + 1];	/* and their lists, before and ... */
	uint32_t	behind[PP_TEAM_MOST];	/* ... after: where they end */
	uint32_t	longest[PP_TEAM_MOST];
	bool		duplicate[PP_TEAM_MOST];
	bool		symmetric[PP_TEAM_MOST];
} Orienting;

/* The next rows of a member's share; *to is UINT64_MAX before the first. */
static bool
next_rows(Orienting *work, uint32_t member, uint64_t *i, uint64_t *to)
{
	uint64_t	end = (uint64_t) work->nrows * (member + 1) / work->members;

	*i = *to == UINT64_MAX ? (uint64_t) work->nrows * member / work->members : *to;
	*to = end - *i < PP_CANCEL_ROWS ? end : *i + PP_CANCEL_ROWS;
	return *i < end && pp_turns_go(&work->turns);
}

static void
count_degrees(void *ctx, uint32_t member)
{
	Orienting  *work = ctx;
	uint32_t   *count = work->count + (size_t) member * work->o->n;
	uint64_t	i;
	uint64_t	to = UINT64_MAX;

	while (next_rows(work, member, &i, &to))
		for (; i < to; i++)
		{
			count[work->pair[2 * i]]++;
			count[work->pair[2 * i + 1]]++;
		}
}

/* Puts ranks in place of numbers, and counts the greater one's entries. */
static void
rank_rows(void *ctx, uint32_t member)
{
	Orienting  *work = ctx;
	const uint32_t *rank = work->rank;
	uint32_t   *count = work->count + (size_t) member * work->o->n;
	uint32_t   *pair = work->pair;
	uint64_t	i;
	uint64_t	to = UINT64_MAX;

	for (uint32_t v = 0; v < work->o->n;)
	{
		uint32_t	end = work->o->n - v < 1u << 20 ? work->o->n : v + (1u << 20);

		if (!pp_turns_go(&work->turns))
			return;
		memset(count + v, 0, (end - v) * sizeof(uint32_t));
		v = end;
	}
	while (next_rows(work, member, &i, &to))
		for (; i < to; i++)
		{
			uint32_t	a = rank[pair[2 * i]];
			uint32_t	b = rank[pair[2 * i + 1]];

			pair[2 * i] = a;
			pair[2 * i + 1] = b;
			count[a > b ? a : b] += a != b;
		}
}

static void
move_rows(void *ctx, uint32_t member)
{
	Orienting  *work = ctx;
	uint32_t   *place = work->count + (size_t) member * work->o->n;
	uint32_t   *list = work->o->list;
	const uint32_t *pair = work->pair;
	uint64_t	i;
	uint64_t	to = UINT64_MAX;

	while (next_rows(work, member, &i, &to))
		for (; i < to; i++)
		{
			uint32_t	a = pair[2 * i];
			uint32_t	b = pair[2 * i + 1];

			if (a > b)
				list[place[a]++] = b | PP_DOWN;
			else if (a < b)
				list[place[b]++] = a | PP_UP;
		}
}

/* Vertices by falling degree: rank[] of each number of a key. */
static PpJoinStatus
rank_vertices(PpJoin *join, PpTeam *team, Orienting *work)
{
	PpBudget   *budget = &join->budget;
	const uint32_t n = work->o->n;
	uint32_t   *degree = work->count;
	uint32_t   *place;
	uint32_t	most = 0;
	uint32_t	sum = 0;

	pp_team_run(team, work->members, count_degrees, work);
	for (uint32_t v = 0; v < n; v++)
	{
		if (v % PP_CANCEL_ROWS == 0 && !pp_turns_go(&work->turns))
			return PP_JOIN_CANCELLED;
		for (uint32_t m = 1; m < work->members; m++)
			degree[v] += work->count[(size_t) m * n + v];
		most = degree[v] > most ? degree[v] : most;
	}
	place = pp_budget_zeros(budget, (uint64_t) most + 1, sizeof(uint32_t));
	if (place == NULL)
		return budget->failure;
	for (uint32_t v = 0; v < n; v++)
	{
		if (v % PP_CANCEL_ROWS == 0 && !pp_turns_go(&work->turns))
			break;
		place[most - degree[v]]++;
	}
	for (uint32_t d = 0; d <= most; d++)
	{
		uint32_t	here = place[d];

		if (d % PP_CANCEL_ROWS == 0 && !pp_turns_go(&work->turns))
			break;

		place[d] = sum;
		sum += here;
	}
	for (uint32_t v = 0; v < n; v++)
	{
		if (v % PP_CANCEL_ROWS == 0 && !pp_turns_go(&work->turns))
			break;
		work->rank[v] = place[most - degree[v]]++;
	}
	pp_budget_release(budget, place);
	return work->turns.cancelled ? PP_JOIN_CANCELLED : PP_JOIN_OK;
}

/* Scatters rows to the greater vertex's list. */
static PpJoinStatus
scatter(PpJoin *join, PpTeam *team, Orienting *work)
{
	PpOriented *o = work->o;
	uint32_t	sum = 0;

	o->start = pp_budget_alloc(&join->budget, (uint64_t) o->n + 1, sizeof(uint32_t));
	o->list = pp_budget_alloc(&join->budget, (uint64_t) work->nrows + PP_TRIE_SLACK,
							  sizeof(uint32_t));
	if (o->start == NULL || o->list == NULL)
		return join->budget.failure;
	pp_team_run(team, work->members, rank_rows, work);
	for (uint32_t v = 0; v < o->n; v++)
	{
		if (v % PP_CANCEL_ROWS == 0 && !pp_turns_go(&work->turns))
			return PP_JOIN_CANCELLED;
		o->start[v] = sum;
		for (uint32_t m = 0; m < work->members; m++)
		{
			uint32_t   *at = &work->count[(size_t) m * o->n + v];
			uint32_t	here = *at;

			*at = sum;
			sum += here;
		}
	}
	o->start[o->n] = sum;
	if (!work->turns.cancelled)
		pp_team_run(team, work->members, move_rows, work);
	return work->turns.cancelled ? PP_JOIN_CANCELLED : PP_JOIN_OK;
}

/* Takes the two directions of an edge together in the lists of a share. */
static void
merge_lists(void *ctx, uint32_t member)
{
	Orienting  *work = ctx;
	PpOriented *o = work->o;
	uint32_t   *list = o->list;
	uint8_t    *seen = work->seen + (size_t) member * o->n;
	const uint32_t last = work->vertex[member + 1];
	uint32_t	from = work->from[member];
	uint32_t	out = from;
	uint32_t	longest = 0;
	bool		duplicate = false;
	bool		symmetric = true;
	uint64_t	done = PP_CANCEL_ROWS;

	for (uint32_t u = work->vertex[member]; u < last; u++)
	{
		/* the next share's first start is another member's to set */
		uint32_t	end = u + 1 < last ? o->start[u + 1] : work->from[member + 1];
		uint32_t	begin = out;

		done += end - from + 1;
		if (done >= PP_CANCEL_ROWS)
		{
			done = 0;
			if (!pp_turns_go(&work->turns))
				break;
		}
		if (end - from == 1)
		{
			symmetric = false;
			list[out++] = list[from];
		}
		else
		{
			for (uint32_t i = from; i < end; i++)
			{
				uint8_t		bit = (uint8_t) (list[i] >> 30);
				uint8_t    *at = &seen[list[i] & PP_VERTEX];

				duplicate |= (*at & bit) != 0;
				*at |= (uint8_t) (bit | ((*at & bit) ? 4 : 0));
			}
			for (uint32_t i = from; i < end; i++)
			{
				uint32_t	v = list[i] & PP_VERTEX;

				if (seen[v])
				{
					list[out++] = v | (uint32_t) seen[v] << 30 | (seen[v] & 4 ? PP_HEAVY : 0);
					symmetric &= (seen[v] & 3) == 3;
				}
				seen[v] = 0;
			}
		}
		from = end;
		o->start[u + 1] = out;
		if (out - begin > longest)
			longest = out - begin;
	}
	work->behind[member] = out;
	work->longest[member] = longest;
	work->duplicate[member] = duplicate;
	work->symmetric[member] = symmetric;
}

static PpJoinStatus
merge_directions(PpJoin *join, PpTeam *team, Orienting *work, PpEdgeKind *kind, bool *duplicate)
{
	PpOriented *o = work->o;
	uint32_t	members = work->members;
	bool		symmetric = true;

	work->seen = pp_budget_zeros(&join->budget, (uint64_t) o->n * members, 1);
	if (work->seen == NULL && members > 1 && join->budget.failure == PP_JOIN_NO_FIT)
	{
		members = 1;
		work->seen = pp_budget_zeros(&join->budget, o->n, 1);
	}
	if (work->seen == NULL)
		return join->budget.failure;
	for (uint32_t m = 0, v = 0; m <= members; m++)
	{
		const uint32_t goal = (uint32_t) ((uint64_t) o->start[o->n] * m / members);

		/* shares of about as many entries */
		if (m == members)
			v = o->n;
		else if (m > 0)
			for (uint32_t high = o->n; v < high;)
			{
				uint32_t	middle = v + (high - v) / 2;

				if (o->start[middle] < goal)
					v = middle + 1;
				else
					high = middle;
			}
		work->vertex[m] = v;
		work->from[m] = o->start[v];
	}
	pp_team_run(team, members, merge_lists, work);
	pp_budget_release(&join->budget, work->seen);
	if (work->turns.cancelled)
		return PP_JOIN_CANCELLED;
	for (uint32_t m = 0; m < members; m++)
	{
		*duplicate |= work->duplicate[m];
		symmetric &= work->symmetric[m];
		if (work->longest[m] > o->longest)
			o->longest = work->longest[m];
	}
	/* closes the gaps between shares */
	for (uint32_t m = 1; m < members; m++)
	{
		const uint32_t gap = work->from[m] - work->behind[m - 1];

		o->start[work->vertex[m]] = work->behind[m - 1];
		if (gap > 0)
		{
			for (uint32_t i = work->from[m], n; i < work->behind[m]; i += n)
			{
				n = work->behind[m] - i < 1u << 20 ? work->behind[m] - i : 1u << 20;
				if (!pp_turns_go(&work->turns))
					return PP_JOIN_CANCELLED;
				memmove(o->list + i - gap, o->list + i, n * sizeof(uint32_t));
			}
			for (uint32_t v = work->vertex[m] + 1; v <= work->vertex[m + 1]; v++)
			{
				if (v % PP_CANCEL_ROWS == 0 && !pp_turns_go(&work->turns))
					return PP_JOIN_CANCELLED;
				o->start[v] -= gap;
			}
			work->behind[m] -= gap;
		}
	}
	if (*kind == PP_EDGES_MIXED && symmetric)
		*kind = PP_EDGES_SYMMETRIC;
	return PP_JOIN_OK;
}

/* Which vertices have loops, or one in their lists; ranks are in the pairs. */
static PpJoinStatus
mark_loops(PpJoin *join, const PpCodes *codes, bool *duplicate)
{
	PpOriented *o = join->oriented;

	o->loop = pp_budget_zeros(&join->budget, o->n, 1);
	if (o->loop == NULL)
		return join->budget.failure;
	for (uint64_t i = 0; i < codes->nrows; i++)
	{
		uint32_t	v = codes->pairs[2 * i];

		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
			return PP_JOIN_CANCELLED;
		if (v == codes->pairs[2 * i + 1])
		{
			*duplicate |= o->loop[v] != 0;
			o->loop[v] = o->loop[v] ? 3 : 1;
		}
	}
	for (uint32_t u = 0; u < o->n; u++)
	{
		uint8_t		any = o->loop[u];

		if (u % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
			return PP_JOIN_CANCELLED;
		for (uint32_t i = o->start[u]; i < o->start[u + 1]; i++)
			any |= o->loop[o->list[i] & PP_VERTEX];
		if (any & 3)
			o->loop[u] |= PP_NEAR_LOOP;
	}
	return PP_JOIN_OK;
}

/* Rows of bits for vertices of high degree, if they will be looked at often. */
static PpJoinStatus
build_hubs(PpJoin *join)
{
	PpOriented *o = join->oriented;
	const uint32_t nhubs = o->n < PP_HUBS ? o->n : PP_HUBS;
	const uint32_t nentries = o->start[o->n];
	uint32_t   *hub;
	uint64_t	looks = 0;

	hub = pp_budget_zeros(&join->budget, (uint64_t) nhubs + 1, sizeof(uint32_t));
	if (hub == NULL)
		return join->budget.failure;
	for (uint32_t i = 0; i < nentries; i++)
	{
		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
		{
			pp_budget_release(&join->budget, hub);
			return PP_JOIN_CANCELLED;
		}
		if (o->list[i] < nhubs)
			hub[o->list[i]]++;
	}
	for (uint32_t v = 0, sum = 0; v <= nhubs; v++)
	{
		uint32_t	vectors = (v + PP_HUB_BITS - 1) / PP_HUB_BITS;
		uint32_t	length = v < nhubs ? o->start[v + 1] - o->start[v] : 0;
		uint64_t	lookers = hub[v];

		hub[v] = sum;
		if (length >= 8 && vectors * HUB_DENSE <= length)
		{
			looks += lookers * length;
			sum += vectors;
		}
	}
	if (looks < (uint64_t) nentries * HUB_LOOKS)
	{
		pp_budget_release(&join->budget, hub);
		return PP_JOIN_OK;
	}
	o->hub = hub;
	o->bits = pp_budget_zeros(&join->budget, hub[nhubs], PP_HUB_BITS / 8);
	if (o->bits == NULL)
	{
		/* lists do as well */
		pp_budget_release(&join->budget, hub);
		o->hub = NULL;
		return join->budget.failure == PP_JOIN_NO_FIT ? PP_JOIN_OK : join->budget.failure;
	}
	o->nhubs = nhubs;
	for (uint32_t v = 0; v < nhubs; v++)
	{
		if (v % 16 == 0 && pp_cancelled(&join->cancel))
			return PP_JOIN_CANCELLED;
		for (uint32_t i = o->start[v]; i < o->start[v + 1] && hub[v] < hub[v + 1]; i++)
			o->bits[(uint64_t) hub[v] * (PP_HUB_BITS / 64) + o->list[i] / 64] |=
				UINT64_C(1) << (o->list[i] % 64);
	}
	return PP_JOIN_OK;
}

/* Sorts by heaps: lists may be as long as they like. */
static void
sort_numbers(uint64_t *number, uint32_t n)
{
	for (uint32_t i = n / 2, end = n; end > 1;)
	{
		uint64_t	sinking;
		uint32_t	at;

		if (i > 0)
			sinking = number[at = --i];
		else
		{
			sinking = number[--end];
			number[end] = number[at = 0];
		}
		for (uint32_t below; (below = 2 * at + 1) < end; at = below)
		{
			below += below + 1 < end && number[below + 1] > number[below];
			if (number[below] <= sinking)
				break;
			number[at] = number[below];
		}
		number[at] = sinking;
	}
}

/* Where the filter of build_heavy() has an edge's bit. */
static inline uint64_t
filter_bit(uint32_t u, uint32_t v, uint64_t mask)
{
	return (((uint64_t) u << 32 | v) * UINT64_C(0x9e3779b97f4a7c15)) >> 24 & mask;
}

/*
 * The edges and loops of several rows, and how many they have; ranks are in the
 * pairs.  Most rows are of other edges: a filter tells so without a search.
 */
static PpJoinStatus
build_heavy(PpJoin *join, const PpCodes *codes)
{
	PpOriented *o = join->oriented;
	PpBudget   *budget = &join->budget;
	uint64_t   *sorted = NULL;
	uint64_t   *filter = NULL;
	uint64_t	mask = 1023;
	uint32_t	n = 0;
	uint32_t	most = 0;
	PpJoinStatus status = PP_JOIN_OK;

	o->heavy_start = pp_budget_alloc(budget, (uint64_t) o->n + 1, sizeof(uint32_t));
	if (o->heavy_start == NULL)
		return budget->failure;
	for (uint32_t u = 0; u < o->n; u++)
	{
		if (u % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
			return PP_JOIN_CANCELLED;
		o->heavy_start[u] = n;
		for (uint32_t i = o->start[u]; i < o->start[u + 1]; i++)
			n += (o->list[i] & PP_HEAVY) != 0;
		n += o->loop && (o->loop[u] & 3) == 3;
		most = n - o->heavy_start[u] > most ? n - o->heavy_start[u] : most;
	}
	o->heavy_start[o->n] = n;
	while (mask < 8 * (uint64_t) n)
		mask = 2 * mask + 1;
	o->heavy = pp_budget_alloc(budget, n, sizeof(PpHeavy));
	sorted = pp_budget_alloc(budget, most, sizeof(uint64_t));
	filter = pp_budget_zeros(budget, (mask + 1) / 64, sizeof(uint64_t));
	if (o->heavy == NULL || sorted == NULL || filter == NULL)
	{
		status = budget->failure;
		goto done;
	}
	for (uint32_t u = 0; u < o->n; u++)
	{
		uint32_t	here = 0;

		if (u % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		if (o->heavy_start[u] == o->heavy_start[u + 1])
			continue;
		for (uint32_t i = o->start[u]; i < o->start[u + 1]; i++)
			if (o->list[i] & PP_HEAVY)
				sorted[here++] = o->list[i] & PP_VERTEX;
		if (o->loop && (o->loop[u] & 3) == 3)
			sorted[here++] = u;
		sort_numbers(sorted, here);
		for (uint32_t i = 0; i < here; i++)
		{
			const PpHeavy heavy = {(uint32_t) sorted[i], 0, 0};
			const uint64_t bit = filter_bit(u, heavy.v, mask);

			o->heavy[o->heavy_start[u] + i] = heavy;
			filter[bit / 64] |= UINT64_C(1) << (bit % 64);
		}
	}
	for (uint64_t i = 0; i < codes->nrows; i++)
	{
		const uint32_t a = codes->pairs[2 * i];
		const uint32_t b = codes->pairs[2 * i + 1];
		const uint32_t u = a > b ? a : b;
		const uint32_t v = a > b ? b : a;
		const uint64_t bit = filter_bit(u, v, mask);
		const PpHeavy *found;

		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		if (!(filter[bit / 64] >> (bit % 64) & 1))
			continue;
		found = pp_heavy_find(o, u, v);
		if (found == NULL)
			continue;
		o->heavy[found - o->heavy].down += a >= b;
		o->heavy[found - o->heavy].up += a < b;
	}
done:
	pp_budget_release(budget, sorted);
	pp_budget_release(budget, filter);
	return status;
}

/*
 * Do edges have as many rows in one direction as in the other, if they have
 * both, and none more than most?
 */
static bool
balanced(const PpOriented *o, bool both, uint32_t most)
{
	for (uint32_t u = 0; u < o->n && o->heavy_start; u++)
		for (uint32_t h = o->heavy_start[u]; h < o->heavy_start[u + 1]; h++)
		{
			const PpHeavy *heavy = &o->heavy[h];

			if (heavy->v != u && ((both && heavy->down != heavy->up) ||
								  heavy->down > most || heavy->up > most))
				return false;
		}
	return true;
}

/* Lists in order of keys; rank: as for name_vertices(), numbers compare as keys. */
static PpJoinStatus
sort_lists(PpJoin *join, const uint32_t *rank)
{
	PpOriented *o = join->oriented;
	PpBudget   *budget = &join->budget;
	uint32_t   *number = pp_budget_alloc(budget, o->n, sizeof(uint32_t));
	uint64_t   *sorted = pp_budget_alloc(budget, o->longest, sizeof(uint64_t));
	PpJoinStatus status = number && sorted ? PP_JOIN_OK : budget->failure;

	for (uint32_t v = 0; v < o->n && status == PP_JOIN_OK; v++)
		number[rank[v]] = v;
	for (uint32_t u = 0; u < o->n && status == PP_JOIN_OK; u++)
	{
		uint32_t   *list = o->list + o->start[u];
		const uint32_t n = o->start[u + 1] - o->start[u];

		if (pp_cancelled(&join->cancel))
			status = PP_JOIN_CANCELLED;
		for (uint32_t i = 0; i < n; i++)
			sorted[i] = (uint64_t) number[list[i] & PP_VERTEX] << 32 | list[i];
		sort_numbers(sorted, n);
		for (uint32_t i = 0; i < n; i++)
			list[i] = (uint32_t) sorted[i];
	}
	pp_budget_release(budget, number);
	pp_budget_release(budget, sorted);
	return status;
}

/* Counts rows by the greater vertex, or moves them there: a counting sort. */
static bool
sort_rows(PpJoin *join, const PpCodes *codes, uint32_t *place, uint32_t *row)
{
	for (uint64_t i = 0; i < codes->nrows; i++)
	{
		const uint32_t a = codes->pairs[2 * i];
		const uint32_t b = codes->pairs[2 * i + 1];
		const uint32_t u = a > b ? a : b;

		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
			return false;
		if (row)
			row[place[u]++] = (uint32_t) i;
		else
			place[u + 1]++;
	}
	return true;
}

/* Puts a row in front of others with the same keys. */
static void
chain_row(PpOriented *o, uint32_t *first, uint32_t row)
{
	if (o->next_row)
		o->next_row[row] = *first;
	*first = row;
}

/* Which rows entries and loops are of; ranks are in the pairs. */
static PpJoinStatus
number_rows(PpJoin *join, const PpCodes *codes, bool duplicate)
{
	PpOriented *o = join->oriented;
	PpBudget   *budget = &join->budget;
	const uint64_t nentries = o->start[o->n];
	uint32_t   *place = pp_budget_zeros(budget, (uint64_t) o->n + 1, sizeof(uint32_t));
	uint32_t   *row = pp_budget_alloc(budget, codes->nrows, sizeof(uint32_t));
	uint32_t   *entry = pp_budget_alloc(budget, o->n, sizeof(uint32_t));
	PpJoinStatus status = PP_JOIN_OK;
	uint32_t	at = 0;

	o->row = pp_budget_alloc(budget, 2 * nentries, sizeof(uint32_t));
	if (o->loop)
		o->loop_row = pp_budget_alloc(budget, o->n, sizeof(uint32_t));
	if (duplicate)
		o->next_row = pp_budget_alloc(budget, codes->nrows, sizeof(uint32_t));
	if (place == NULL || row == NULL || entry == NULL || o->row == NULL ||
		(o->loop && o->loop_row == NULL) || (duplicate && o->next_row == NULL))
	{
		status = budget->failure;
		goto done;
	}
	if (!sort_rows(join, codes, place, NULL))
	{
		status = PP_JOIN_CANCELLED;
		goto done;
	}
	for (uint32_t u = 0; u < o->n; u++)
	{
		if (u % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		place[u + 1] += place[u];
	}
	if (!sort_rows(join, codes, place, row))
		status = PP_JOIN_CANCELLED;
	for (uint32_t u = 0; u < o->n && status == PP_JOIN_OK; u++)
	{
		if (u % 256 == 0 && pp_cancelled(&join->cancel))
			status = PP_JOIN_CANCELLED;
		for (uint32_t i = o->start[u]; i < o->start[u + 1]; i++)
		{
			entry[o->list[i] & PP_VERTEX] = i;
			o->row[2 * (size_t) i] = o->row[2 * (size_t) i + 1] = PP_NO_ROW;
		}
		if (o->loop_row)
			o->loop_row[u] = PP_NO_ROW;
		/* place[u] is where its rows end now */
		for (; at < place[u]; at++)
		{
			const uint32_t a = codes->pairs[2 * (size_t) row[at]];
			const uint32_t b = codes->pairs[2 * (size_t) row[at] + 1];

			if (at % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
				status = PP_JOIN_CANCELLED;
			if (a == b)
				chain_row(o, &o->loop_row[u], row[at]);
			else
				chain_row(o, &o->row[2 * (size_t) entry[a > b ? b : a] + (a < b)], row[at]);
		}
	}
done:
	pp_budget_release(budget, place);
	pp_budget_release(budget, row);
	pp_budget_release(budget, entry);
	return status;
}

/* The keys of vertices; those of numbers are not needed any more. */
static PpJoinStatus
name_vertices(PpJoin *join, const uint32_t *rank)
{
	PpOriented *o = join->oriented;

	o->name = pp_budget_alloc(&join->budget, o->n, sizeof(int64_t));
	if (o->name == NULL)
		return join->budget.failure;
	for (uint32_t v = 0; v < o->n; v++)
	{
		if (v % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
			return PP_JOIN_CANCELLED;
		o->name[rank[v]] = pp_dict_key(&join->dict, v);
	}
	pp_dict_release(&join->dict, &join->budget);
	return PP_JOIN_OK;
}

static void
build_pattern(PpOriented *o, const PpJoinQuery *query)
{
	static const uint8_t allows[][2] = {	/* of right beside left, and the reverse */
		{PP_ABOVE, PP_BELOW},
		{PP_ABOVE | PP_SAME, PP_BELOW | PP_SAME},
		{PP_BELOW, PP_ABOVE},
		{PP_BELOW | PP_SAME, PP_ABOVE | PP_SAME},
		{PP_ABOVE | PP_BELOW, PP_ABOVE | PP_BELOW}
	};
	PpPattern  *pattern = &o->pattern;

	memset(pattern->allowed, PP_ANY, sizeof(pattern->allowed));
	for (uint32_t a = 0; a < query->natoms; a++)
		pattern->leads[query->atoms[a].variable[0]][query->atoms[a].variable[1]] = true;
	for (uint32_t r = 0; r < query->nresiduals; r++)
	{
		const PpJoinResidual *residual = &query->residuals[r];

		if (residual->left == residual->right)
			pattern->never |= !pp_compare_holds(residual->op, 0, 0);
		pattern->allowed[residual->left][residual->right] &= allows[residual->op][0];
		pattern->allowed[residual->right][residual->left] &= allows[residual->op][1];
	}
}

/* Counts assignments that give several variables the key of a loop. */
static PpJoinStatus
count_collapsed(PpJoin *join, PpTeam *team)
{
	PpOriented *o = join->oriented;
	PpBudget   *budget = &join->budget;
	PpJoinRun  *run;
	PpJoinStatus status;
	size_t		used;

	o->loops_only = true;
	status = pp_join_open_threads(join, &budget->alloc, budget->limit - budget->used,
								  team->most, &run);
	if (status == PP_JOIN_OK)
	{
		used = budget->used + run->budget.peak;
		for (uint32_t i = 0; i < run->nothers; i++)
			used += run->others[i]->budget.peak;
		if (used > budget->peak)
			budget->peak = used;
		pp_run_all(run, team, pp_oriented_count, &o->collapsed);
		status = run->status;
		join->seeks = pp_join_seeks(run);
		pp_join_close(run);
	}
	o->loops_only = false;
	pp_budget_release(budget, o->loop);
	o->loop = NULL;
	return status;
}

/* What says how often each clique counts. */
static PpJoinStatus
build_factors(PpJoin *join, const PpJoinQuery *query, PpTeam *team, PpEdgeKind kind)
{
	PpOriented *o = join->oriented;
	PpJoinStatus status = PP_JOIN_OK;

	o->group = query->group;
	for (uint32_t a = 0; a < query->natoms && o->k <= PP_TABLE_CLIQUE; a++)
		for (uint32_t s = 0; s < 2; s++)
			o->atom[a][s] = (uint8_t) query->atoms[a].variable[s];
	build_pattern(o, query);
	for (uint32_t m = o->loop && o->way == PP_CLIQUES_BLOCKS ? 1 : o->k;
		 m <= o->k && status == PP_JOIN_OK; m++)
		if (o->way == PP_CLIQUES_BLOCKS || o->way == PP_CLIQUES_TABLE)
			status = build_ways(join, query, m);
	if (status == PP_JOIN_OK && o->loop &&
		(o->way == PP_CLIQUES_ALIKE || o->way == PP_CLIQUES_TABLE))
		status = count_collapsed(join, team);
	o->alike = o->way == PP_CLIQUES_BLOCKS && o->k == 3 && o->loop == NULL && o->heavy == NULL &&
		o->row == NULL && (kind == PP_EDGES_SYMMETRIC || (kind != PP_EDGES_MIXED && !join->unordered));
	if (status != PP_JOIN_OK || (o->way != PP_CLIQUES_ALIKE && !o->alike))
		return status;
	for (uint32_t b = 1; b < 3; b++)
		for (uint32_t a = 0; a < b; a++)
			o->code |= (kind == PP_EDGES_INCREASING ? 1u : kind == PP_EDGES_DECREASING ? 2u : 3u) << pp_pair_shift(a, b);
	o->sorted |= kind != PP_EDGES_SYMMETRIC;
	o->factor = pp_clique_ways(query, kind, NULL);
	for (uint32_t i = 0; i < o->start[o->n]; i++)
	{
		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
			return PP_JOIN_CANCELLED;
		o->list[i] &= PP_VERTEX;
	}
	return o->k == 3 ? build_hubs(join) : PP_JOIN_OK;
}

/* How to go through cliques of edges of some kind. */
static PpCliqueWay
choose_way(const PpOriented *o, const PpJoinQuery *query, PpEdgeKind kind)
{
	if (query->mode == PP_JOIN_ROWS)
		return PP_CLIQUES_BLOCKS;
	if (query->mode == PP_JOIN_GROUPS)
	{
		if (o->k == 3 && o->heavy == NULL)
			return PP_CLIQUES_BLOCKS;
		/* where nothing tells variables apart */
		return kind == PP_EDGES_SYMMETRIC && o->loop == NULL && !o->sorted && o->k > 3 &&
			balanced(o, true, UINT32_MAX) ? PP_CLIQUES_ALIKE : PP_CLIQUES_EACH;
	}
	if (kind != PP_EDGES_MIXED && balanced(o, kind == PP_EDGES_SYMMETRIC, o->k == 3 ? UINT8_MAX : UINT32_MAX))
		return PP_CLIQUES_ALIKE;
	return o->k == 3 && o->heavy == NULL && !o->sorted ? PP_CLIQUES_TABLE : PP_CLIQUES_EACH;
}

PpJoinStatus
pp_oriented_build(PpJoin *join, const PpJoinQuery *query, PpTeam *team, PpCodes *all)
{
	PpCodes    *codes = &all[query->atoms[0].relation];
	PpBudget   *budget = &join->budget;
	PpOriented *o;
	PpEdgeKind	kind = codes->nless + codes->nequal == codes->nrows ? PP_EDGES_INCREASING :
		codes->nless == 0 ? PP_EDGES_DECREASING : PP_EDGES_MIXED;
	bool		duplicate = false;
	bool		local;
	Orienting	work;
	PpJoinStatus status = PP_JOIN_OK;

	if (join->dict.n > PP_VERTEX ||
		(query->nvariables > PP_TABLE_CLIQUE && query->mode == PP_JOIN_ROWS))
		return PP_JOIN_OK;
	memset(&work, 0, sizeof(work));
	pp_turns_begin(&work.turns, &join->cancel, 0, 1);
	work.rank = pp_budget_alloc(budget, join->dict.n, sizeof(uint32_t));
	o = join->oriented = pp_budget_zeros(budget, 1, sizeof(PpOriented));
	if (work.rank == NULL || o == NULL)
	{
		pp_budget_release(budget, work.rank);
		return budget->failure;
	}
	o->k = query->nvariables;
	o->n = join->dict.n;
	work.o = o;
	work.pair = codes->pairs;
	work.nrows = codes->nrows;
	work.members = pp_team_for(team, codes->nrows);
	work.count = pp_budget_zeros(budget, (uint64_t) o->n * work.members, sizeof(uint32_t));
	if (work.count == NULL && work.members > 1 && budget->failure == PP_JOIN_NO_FIT)
	{
		work.members = 1;
		work.count = pp_budget_zeros(budget, o->n, sizeof(uint32_t));
	}
	if (work.count == NULL)
		status = budget->failure;
	if (status == PP_JOIN_OK)
		status = rank_vertices(join, team, &work);
	if (status == PP_JOIN_OK)
		status = scatter(join, team, &work);
	pp_budget_release(budget, work.count);
	if (status == PP_JOIN_OK)
		status = merge_directions(join, team, &work, &kind, &duplicate);
	if (status == PP_JOIN_OK && codes->nequal > 0)
		status = mark_loops(join, codes, &duplicate);
	if (status == PP_JOIN_OK && duplicate)
		status = build_heavy(join, codes);
	if (status == PP_JOIN_OK && join->row_numbers)
		status = number_rows(join, codes, duplicate);
	pp_budget_release(budget, codes->pairs);
	codes->pairs = NULL;
	if (status != PP_JOIN_OK)
	{
		pp_oriented_release(join);
		pp_budget_release(budget, work.rank);
		return status;
	}
	for (uint32_t r = 0; r < query->nresiduals; r++)
		o->sorted |= query->residuals[r].op != PP_JOIN_NE;
	o->way = choose_way(o, query, kind);
	local = o->sorted && (o->way == PP_CLIQUES_EACH || (o->loop && o->way != PP_CLIQUES_BLOCKS));
	if (query->mode != PP_JOIN_COUNT || local)
		status = name_vertices(join, work.rank);
	if (status == PP_JOIN_OK && local)
		status = sort_lists(join, work.rank);
	pp_budget_release(budget, work.rank);
	join->info.strategy = PP_JOIN_ORIENTED;
	return status == PP_JOIN_OK ? build_factors(join, query, team, kind) : status;
}

void
pp_oriented_release(PpJoin *join)
{
	PpOriented *o = join->oriented;

	if (o)
	{
		pp_budget_release(&join->budget, o->start);
		pp_budget_release(&join->budget, o->list);
		pp_budget_release(&join->budget, o->loop);
		pp_budget_release(&join->budget, o->heavy_start);
		pp_budget_release(&join->budget, o->row);
		pp_budget_release(&join->budget, o->loop_row);
		pp_budget_release(&join->budget, o->next_row);
		pp_budget_release(&join->budget, o->heavy);
		pp_budget_release(&join->budget, o->name);
		pp_budget_release(&join->budget, o->hub);
		pp_budget_release(&join->budget, o->bits);
		for (uint32_t m = 0; m <= PP_TABLE_CLIQUE; m++)
		{
			pp_budget_release(&join->budget, o->ways[m].first);
			pp_budget_release(&join->budget, o->ways[m].map);
			pp_budget_release(&join->budget, o->ways[m].groups);
		}
		pp_budget_release(&join->budget, o);
		join->oriented = NULL;
	}
}
