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
 * Otherwise each edge says which directions it has, and a table what they
 * allow.  Where a vertex has a loop, several variables may have its key: they
 * are cliques of fewer vertices, and in the tables as well.  Edges of several
 * rows are in a table of their own.  What does not fit is left to the general
 * strategy.
 */
#include <string.h>

#include "join_private.h"

/* A row of bits is worth it if so many times its vectors are fewer than the list. */
#define HUB_DENSE		4u
/* So many looks into hubs' lists for an edge, on average, are worth rows. */
#define HUB_LOOKS		8u

typedef enum Kind
{
	INCREASING,					/* first key less than the second */
	DECREASING,
	SYMMETRIC,					/* every row has its reverse */
	MIXED
} Kind;

bool
pp_oriented_match(const PpJoinQuery *query)
{
	const uint32_t k = query->nvariables;
	uint32_t	adjacent[PP_JOIN_MAX_VARIABLES] = {0};

	if (k < PP_LEAST_CLIQUE || k > PP_GREATEST_CLIQUE || query->natoms != k * (k - 1) / 2)
		return false;
	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const PpJoinAtom *atom = &query->atoms[a];

		if (atom->relation != query->atoms[0].relation)
			return false;
		adjacent[atom->variable[0]] |= 1u << atom->variable[1];
		adjacent[atom->variable[1]] |= 1u << atom->variable[0];
	}
	/* as many atoms as pairs, and each pair has one: exactly one each */
	for (uint32_t v = 0; v < k; v++)
		if (adjacent[v] != (((1u << k) - 1) & ~(1u << v)))
			return false;
	return true;
}

/* ---------- how often a clique counts ---------- */

static bool
holds(PpJoinCompare op, uint32_t left, uint32_t right)
{
	switch (op)
	{
		case PP_JOIN_LT:
			return left < right;
		case PP_JOIN_LE:
			return left <= right;
		case PP_JOIN_GT:
			return left > right;
		case PP_JOIN_GE:
			return left >= right;
		default:
			return left != right;
	}
}

/* The next permutation in lexical order; false: there is none. */
static bool
permute(uint32_t *p, uint32_t n)
{
	uint32_t	i = n - 1;
	uint32_t	j = n - 1;
	uint32_t	swap;

	while (i > 0 && p[i - 1] > p[i])
		i--;
	if (i == 0)
		return false;
	while (p[j] < p[i - 1])
		j--;
	swap = p[i - 1];
	p[i - 1] = p[j];
	p[j] = swap;
	for (j = n - 1; i < j; i++, j--)
	{
		swap = p[i];
		p[i] = p[j];
		p[j] = swap;
	}
	return true;
}

/* In how many ways variables get the keys of a clique, by the keys' order. */
static uint64_t
count_ways(const PpJoinQuery *query, Kind kind)
{
	uint32_t	p[PP_GREATEST_CLIQUE];
	uint64_t	n = 0;

	for (uint32_t i = 0; i < query->nvariables; i++)
		p[i] = i;
	do
	{
		bool		fits = true;

		for (uint32_t a = 0; a < query->natoms && kind != SYMMETRIC; a++)
		{
			bool		up = p[query->atoms[a].variable[0]] < p[query->atoms[a].variable[1]];

			fits &= up == (kind == INCREASING);
		}
		for (uint32_t r = 0; r < query->nresiduals; r++)
			fits &= holds(query->residuals[r].op, p[query->residuals[r].left],
						  p[query->residuals[r].right]);
		n += fits;
	} while (permute(p, query->nvariables));
	return n;
}

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
			fits &= holds(query->residuals[r].op, p >> (2 * query->residuals[r].left) & 3,
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
	if (query->mode == PP_JOIN_COUNT && join->oriented->heavy == NULL)
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
merge_directions(PpJoin *join, PpTeam *team, Orienting *work, Kind *kind, bool *duplicate)
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
			memmove(o->list + work->behind[m - 1], o->list + work->from[m],
					(size_t) (work->behind[m] - work->from[m]) * sizeof(uint32_t));
			for (uint32_t v = work->vertex[m] + 1; v <= work->vertex[m + 1]; v++)
				o->start[v] -= gap;
			work->behind[m] -= gap;
		}
	}
	if (*kind == MIXED && symmetric)
		*kind = SYMMETRIC;
	return PP_JOIN_OK;
}

/* Which vertices have loops; call with ranks in the pairs. */
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
		for (uint32_t i = o->start[v]; i < o->start[v + 1] && hub[v] < hub[v + 1]; i++)
			o->bits[(uint64_t) hub[v] * (PP_HUB_BITS / 64) + o->list[i] / 64] |=
				UINT64_C(1) << (o->list[i] % 64);
	return PP_JOIN_OK;
}

/* Puts numbers back in place of ranks. */
static PpJoinStatus
undo_ranks(PpJoin *join, PpCodes *codes, const uint32_t *rank)
{
	const uint32_t n = join->dict.n;
	uint32_t   *number = pp_budget_alloc(&join->budget, n, sizeof(uint32_t));

	if (number == NULL)
		return join->budget.failure;
	for (uint32_t v = 0; v < n; v++)
		number[rank[v]] = v;
	for (uint64_t i = 0; i < 2 * (uint64_t) codes->nrows; i++)
	{
		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
		{
			pp_budget_release(&join->budget, number);
			return PP_JOIN_CANCELLED;
		}
		codes->pairs[i] = number[codes->pairs[i]];
	}
	pp_budget_release(&join->budget, number);
	return PP_JOIN_OK;
}

/* The table of edges and loops of several rows; ranks are in the pairs. */
static PpJoinStatus
build_heavy(PpJoin *join, const PpCodes *codes)
{
	PpOriented *o = join->oriented;
	PpBudget   *budget = &join->budget;
	uint8_t    *any = pp_budget_zeros(budget, o->n, 1);	/* of a vertex's list */
	uint64_t	nslots = 16;
	uint32_t	n = 0;
	PpJoinStatus status = PP_JOIN_OK;

	if (any == NULL)
		return budget->failure;
	for (uint32_t u = 0; u < o->n; u++)
	{
		if (u % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		for (uint32_t i = o->start[u]; i < o->start[u + 1]; i++)
		{
			any[u] |= (o->list[i] & PP_HEAVY) != 0;
			n += (o->list[i] & PP_HEAVY) != 0;
		}
		n += o->loop && o->loop[u] == 3;
	}
	while (nslots < 2 * (uint64_t) n)
		nslots *= 2;
	o->heavy_mask = (uint32_t) (nslots - 1);
	o->heavy = pp_budget_alloc(budget, nslots, sizeof(PpHeavy));
	if (o->heavy == NULL)
	{
		status = budget->failure;
		goto done;
	}
	for (uint64_t i = 0; i < nslots; i++)
		o->heavy[i].u = UINT32_MAX;
	for (uint32_t u = 0; u < o->n; u++)
	{
		const PpHeavy loop = {u, u, 0, 0};

		if (u % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		for (uint32_t i = o->start[u]; any[u] && i < o->start[u + 1]; i++)
			if (o->list[i] & PP_HEAVY)
			{
				const PpHeavy edge = {u, o->list[i] & PP_VERTEX, 0, 0};

				*pp_heavy_slot(o, u, edge.v) = edge;
			}
		if (o->loop && o->loop[u] == 3)
			*pp_heavy_slot(o, u, u) = loop;
	}
	for (uint64_t i = 0; i < codes->nrows; i++)
	{
		const uint32_t a = codes->pairs[2 * i];
		const uint32_t b = codes->pairs[2 * i + 1];
		const uint32_t u = a > b ? a : b;
		PpHeavy    *slot;

		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		if (a == b ? o->loop[u] != 3 : !any[u])
			continue;
		slot = pp_heavy_slot(o, u, a > b ? b : a);
		if (slot->u == UINT32_MAX)
			continue;
		slot->down += a >= b;
		slot->up += a < b;
	}
done:
	pp_budget_release(budget, any);
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
		pp_join_close(run);
	}
	o->loops_only = false;
	pp_budget_release(budget, o->loop);
	o->loop = NULL;
	return status;
}

/* What says how often each clique counts. */
static PpJoinStatus
build_factors(PpJoin *join, const PpJoinQuery *query, PpTeam *team, Kind kind)
{
	PpOriented *o = join->oriented;
	const bool	counting = query->mode == PP_JOIN_COUNT;
	PpJoinStatus status = PP_JOIN_OK;

	o->group = query->group;
	for (uint32_t a = 0; a < query->natoms && o->k <= PP_TABLE_CLIQUE; a++)
		for (uint32_t s = 0; s < 2; s++)
			o->atom[a][s] = (uint8_t) query->atoms[a].variable[s];
	o->tables = !counting || kind == MIXED || o->heavy;
	for (uint32_t m = o->loop ? 1 : o->k; m <= o->k && status == PP_JOIN_OK; m++)
		if (m < o->k || o->tables)
			status = build_ways(join, query, m);
	if (status == PP_JOIN_OK && o->loop && counting)
		status = count_collapsed(join, team);
	if (status != PP_JOIN_OK || o->tables)
		return status;
	o->factor = count_ways(query, kind);
	for (uint32_t i = 0; i < o->start[o->n]; i++)
	{
		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
			return PP_JOIN_CANCELLED;
		o->list[i] &= PP_VERTEX;
	}
	return o->k == 3 ? build_hubs(join) : PP_JOIN_OK;
}

PpJoinStatus
pp_oriented_build(PpJoin *join, const PpJoinQuery *query, PpTeam *team, PpCodes *all)
{
	PpCodes    *codes = &all[query->atoms[0].relation];
	PpBudget   *budget = &join->budget;
	PpOriented *o;
	Kind		kind = codes->nless + codes->nequal == codes->nrows ? INCREASING :
		codes->nless == 0 ? DECREASING : MIXED;
	bool		duplicate = false;
	bool		fits = false;
	Orienting	work;
	PpJoinStatus status = PP_JOIN_OK;

	if (join->dict.n > PP_VERTEX || join->row_numbers ||
		(query->nvariables > PP_TABLE_CLIQUE &&
		 (codes->nequal > 0 || query->mode != PP_JOIN_COUNT)))
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
	if (status == PP_JOIN_OK)
		fits = (kind != MIXED && !duplicate) || o->k <= PP_TABLE_CLIQUE;
	if (fits && duplicate)
	{
		status = build_heavy(join, codes);
		fits = status == PP_JOIN_OK;
	}
	if (!fits)
	{
		pp_oriented_release(join);
		if (status == PP_JOIN_OK)
			status = undo_ranks(join, codes, work.rank);
		pp_budget_release(budget, work.rank);
		return status;
	}
	pp_budget_release(budget, codes->pairs);
	codes->pairs = NULL;
	for (uint32_t r = 0; r < query->nresiduals; r++)
		o->sorted |= query->residuals[r].op != PP_JOIN_NE;
	if (query->mode != PP_JOIN_COUNT || (o->sorted && (kind == MIXED || o->loop || o->heavy)))
		status = name_vertices(join, work.rank);
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
