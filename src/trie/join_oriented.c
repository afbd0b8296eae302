/*
 * src/trie/join_oriented.c
 *	  Counting cliques of one relation: each undirected clique is found once,
 *	  on the graph whose edges lead from vertices of low degree to those of
 *	  high degree, and counts as often as the query's variables can be put on
 *	  its vertices.
 *
 * Orienting edges by degree bounds the work by m^1.5 on any graph (Chiba,
 * Nishizeki, SIAM J. Comput. 1985; Latapy, TCS 2008).  Triangles: the
 * neighbours of a vertex are marked, their lists looked up in the marks; the
 * vertices of highest degree have rows of bits instead.  Larger cliques: the
 * graph among a vertex's neighbours becomes a small matrix of bits.
 *
 * How often a clique counts is the same for all of them if every edge leads
 * from the smaller key to the greater, or every edge has its reverse.
 * Otherwise each edge says which directions it has, and triangles look up
 * what those allow.  Duplicate rows, and what else does not fit, is left to
 * the general strategy.
 */
#include <string.h>

#include "join_private.h"

#define LEAST_CLIQUE	3u
#define GREATEST_CLIQUE	8u

/* In a list's entry while there are directions: the vertex below these bits. */
#define DOWN			UINT32_C(0x40000000)	/* a row leads to the entry */
#define UP				UINT32_C(0x80000000)	/* a row leads from it */
#define VERTEX			UINT32_C(0x3fffffff)

/* Vertices that may have a row of bits, the highest degrees first. */
#define HUBS			8192u
#define HUB_BITS		512u	/* rows come in as many */
/* A row is worth it if so many times its vectors are fewer than the list. */
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

struct PpOriented
{
	uint32_t	k;
	uint32_t	n;				/* vertices, 0 having the highest degree */
	uint32_t	longest;		/* list */
	bool		directions;		/* entries have them; triangles only */
	uint32_t   *start;			/* list of v: start[v] .. start[v + 1), of lesser
								 * vertices in no order */
	uint32_t   *list;
	uint32_t	nhubs;			/* 0: no rows */
	uint32_t   *hub;			/* vectors of bits before the row of each, nhubs + 1 */
	uint64_t   *bits;
	uint64_t	factor;			/* how often each clique counts */
	uint8_t		ways[4][16];	/* the same by directions: [u-v][v-w, u-w] */
	PpUint128	collapsed;		/* assignments that use loops */
};

bool
pp_oriented_match(const PpJoinQuery *query)
{
	const uint32_t k = query->nvariables;
	uint32_t	adjacent[PP_JOIN_MAX_VARIABLES] = {0};

	if (k < LEAST_CLIQUE || k > GREATEST_CLIQUE || query->natoms != k * (k - 1) / 2)
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
	uint32_t	p[GREATEST_CLIQUE];
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
 * The same for a triangle u > v > w with the directions of its edges: 1 for a
 * row from the greater vertex to the lesser, 2 for one back.
 */
static uint8_t
directed_ways(const PpJoinQuery *query, uint32_t uv, uint32_t vw, uint32_t uw)
{
	uint32_t	p[3] = {0, 1, 2};	/* of each variable: 2 is u, 1 v, 0 w */
	uint8_t		n = 0;

	do
	{
		bool		fits = true;

		for (uint32_t a = 0; a < 3; a++)
		{
			uint32_t	from = p[query->atoms[a].variable[0]];
			uint32_t	to = p[query->atoms[a].variable[1]];
			uint32_t	edge = from + to == 3 ? uv : from + to == 1 ? vw : uw;

			fits &= (edge & (from > to ? 1u : 2u)) != 0;
		}
		n += fits;
	} while (permute(p, 3));
	return n;
}

/* What leads from, to, and both from and to vertices with a loop. */
typedef struct Loops
{
	uint64_t	n;
	uint64_t	out;
	uint64_t	in;
	uint64_t	both;
} Loops;

/*
 * Assignments of a triangle that give two or three variables the same key,
 * which therefore has a loop.  Comparisons: only if kind tells the order.
 */
static PpUint128
count_collapsed(const PpJoinQuery *query, Kind kind, const Loops *loops)
{
	PpUint128	count = 0;
	bool		fits = true;

	for (uint32_t r = 0; r < query->nresiduals; r++)
		fits &= holds(query->residuals[r].op, 0, 0);
	if (fits)
		count += loops->n;
	/* c alone, the two others together on the vertex with the loop */
	for (uint32_t c = 0; c < 3; c++)
	{
		bool		out = false;
		bool		in = false;
		uint32_t	alone;		/* where c's key is, the other one being 1 */

		for (uint32_t a = 0; a < 3; a++)
		{
			out |= query->atoms[a].variable[1] == c;
			in |= query->atoms[a].variable[0] == c;
		}
		if (out && in)
		{
			/* both rows: not where keys only increase */
			if (kind == SYMMETRIC || kind == MIXED)
				count += loops->both;
			continue;
		}
		alone = out == (kind == INCREASING) ? 2 : 0;
		fits = true;
		for (uint32_t r = 0; r < query->nresiduals; r++)
			fits &= holds(query->residuals[r].op,
						  query->residuals[r].left == c ? alone : 1,
						  query->residuals[r].right == c ? alone : 1);
		if (fits)
			count += out ? loops->out : loops->in;
	}
	return count;
}

/* ---------- building ---------- */

/* Vertices by falling degree: rank[] of each number of a key. */
static PpJoinStatus
rank_vertices(PpJoin *join, const PpCodes *codes, uint32_t *rank)
{
	PpBudget   *budget = &join->budget;
	const uint32_t n = join->dict.n;
	uint32_t   *degree = pp_budget_zeros(budget, n, sizeof(uint32_t));
	uint32_t   *place = NULL;
	uint32_t	most = 0;
	uint32_t	sum = 0;
	PpJoinStatus status = PP_JOIN_OK;

	if (degree == NULL)
		return budget->failure;
	for (uint64_t i = 0; i < 2 * (uint64_t) codes->nrows; i++)
	{
		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		degree[codes->pairs[i]]++;
	}
	for (uint32_t v = 0; v < n; v++)
		most = degree[v] > most ? degree[v] : most;
	place = pp_budget_zeros(budget, (uint64_t) most + 1, sizeof(uint32_t));
	if (place == NULL)
	{
		status = budget->failure;
		goto done;
	}
	for (uint32_t v = 0; v < n; v++)
		place[most - degree[v]]++;
	for (uint32_t d = 0; d <= most; d++)
	{
		uint32_t	here = place[d];

		place[d] = sum;
		sum += here;
	}
	for (uint32_t v = 0; v < n; v++)
	{
		if (v % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		rank[v] = place[most - degree[v]]++;
	}
done:
	pp_budget_release(budget, degree);
	pp_budget_release(budget, place);
	return status;
}

/* Puts ranks in place of numbers, and scatters rows to the greater one's list. */
static PpJoinStatus
scatter(PpJoin *join, PpCodes *codes, const uint32_t *rank)
{
	PpOriented *o = join->oriented;
	uint32_t   *pair = codes->pairs;

	o->start = pp_budget_zeros(&join->budget, (uint64_t) o->n + 2, sizeof(uint32_t));
	o->list = pp_budget_alloc(&join->budget, (uint64_t) codes->nrows + PP_TRIE_SLACK,
							  sizeof(uint32_t));
	if (o->start == NULL || o->list == NULL)
		return join->budget.failure;
	for (uint64_t i = 0; i < codes->nrows; i++)
	{
		uint32_t	a = rank[pair[2 * i]];
		uint32_t	b = rank[pair[2 * i + 1]];

		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
			return PP_JOIN_CANCELLED;
		pair[2 * i] = a;
		pair[2 * i + 1] = b;
		o->start[(a > b ? a : b) + 2] += a != b;
	}
	for (uint32_t v = 2; v < o->n + 2; v++)
		o->start[v] += o->start[v - 1];
	for (uint64_t i = 0; i < codes->nrows; i++)
	{
		uint32_t	a = pair[2 * i];
		uint32_t	b = pair[2 * i + 1];

		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
			return PP_JOIN_CANCELLED;
		if (a > b)
			o->list[o->start[a + 1]++] = b | DOWN;
		else if (a < b)
			o->list[o->start[b + 1]++] = a | UP;
	}
	return PP_JOIN_OK;
}

/*
 * Takes the two directions of an edge together and counts what loops make;
 * *duplicate: a row came twice.
 */
static PpJoinStatus
merge_directions(PpJoin *join, const PpCodes *codes, Kind *kind, Loops *loops,
				 bool *duplicate)
{
	PpOriented *o = join->oriented;
	PpBudget   *budget = &join->budget;
	uint32_t   *list = o->list;
	uint8_t    *seen = pp_budget_zeros(budget, o->n, 1);	/* DOWN and UP as 1 and 2 */
	uint8_t    *loop = NULL;
	uint32_t	from = 0;
	uint32_t	out = 0;
	bool		symmetric = true;
	uint64_t	work = 0;
	PpJoinStatus status = PP_JOIN_OK;

	*duplicate = false;
	memset(loops, 0, sizeof(*loops));
	if (seen == NULL)
		return budget->failure;
	if (codes->nequal > 0)
	{
		loop = pp_budget_zeros(budget, o->n, 1);
		if (loop == NULL)
		{
			status = budget->failure;
			goto done;
		}
		for (uint64_t i = 0; i < codes->nrows; i++)
			if (codes->pairs[2 * i] == codes->pairs[2 * i + 1])
			{
				*duplicate |= loop[codes->pairs[2 * i]] != 0;
				loop[codes->pairs[2 * i]] = 1;
			}
		loops->n = codes->nequal;
	}
	for (uint32_t u = 0; u < o->n && !*duplicate; u++)
	{
		uint32_t	end = o->start[u + 1];
		uint32_t	begin = out;

		work += end - from + 1;
		if (work >= PP_CANCEL_ROWS)
		{
			work = 0;
			if (pp_cancelled(&join->cancel))
			{
				status = PP_JOIN_CANCELLED;
				goto done;
			}
		}
		if (end - from == 1)
			list[out++] = list[from];
		else
		{
			for (uint32_t i = from; i < end; i++)
			{
				uint8_t		bit = (uint8_t) (list[i] >> 30);
				uint8_t    *at = &seen[list[i] & VERTEX];

				*duplicate |= (*at & bit) != 0;
				*at |= bit;
			}
			for (uint32_t i = from; i < end; i++)
			{
				uint32_t	v = list[i] & VERTEX;

				if (seen[v])
					list[out++] = v | (uint32_t) seen[v] << 30;
				seen[v] = 0;
			}
		}
		for (uint32_t i = begin; i < out; i++)
		{
			bool		down = (list[i] & DOWN) != 0;
			bool		up = (list[i] & UP) != 0;

			symmetric &= down && up;
			if (loop && loop[u])
			{
				loops->out += down;
				loops->in += up;
				loops->both += down && up;
			}
			if (loop && loop[list[i] & VERTEX])
			{
				loops->out += up;
				loops->in += down;
				loops->both += down && up;
			}
		}
		from = end;
		o->start[u + 1] = out;
		if (out - begin > o->longest)
			o->longest = out - begin;
	}
	if (*kind == MIXED && symmetric)
		*kind = SYMMETRIC;
done:
	pp_budget_release(budget, seen);
	pp_budget_release(budget, loop);
	return status;
}

/* Rows of bits for vertices of high degree, if they will be looked at often. */
static PpJoinStatus
build_hubs(PpJoin *join)
{
	PpOriented *o = join->oriented;
	const uint32_t nhubs = o->n < HUBS ? o->n : HUBS;
	const uint32_t nentries = o->start[o->n];
	uint32_t   *hub;
	uint64_t	looks = 0;

	hub = pp_budget_zeros(&join->budget, (uint64_t) nhubs + 1, sizeof(uint32_t));
	if (hub == NULL)
		return join->budget.failure;
	for (uint32_t i = 0; i < nentries; i++)
		if (o->list[i] < nhubs)
			hub[o->list[i]]++;
	for (uint32_t v = 0, sum = 0; v <= nhubs; v++)
	{
		uint32_t	vectors = (v + HUB_BITS - 1) / HUB_BITS;
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
	o->bits = pp_budget_zeros(&join->budget, hub[nhubs], HUB_BITS / 8);
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
			o->bits[(uint64_t) hub[v] * (HUB_BITS / 64) + o->list[i] / 64] |=
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

PpJoinStatus
pp_oriented_build(PpJoin *join, const PpJoinQuery *query, PpCodes *all)
{
	PpCodes    *codes = &all[query->atoms[0].relation];
	PpOriented *o;
	Kind		kind = codes->nless + codes->nequal == codes->nrows ? INCREASING :
		codes->nless == 0 ? DECREASING : MIXED;
	Loops		loops;
	bool		duplicate = false;
	bool		fits = false;
	uint32_t   *rank;
	PpJoinStatus status;

	if (join->dict.n > VERTEX || (codes->nequal > 0 && query->nvariables != 3))
		return PP_JOIN_OK;
	rank = pp_budget_alloc(&join->budget, join->dict.n, sizeof(uint32_t));
	o = join->oriented = pp_budget_zeros(&join->budget, 1, sizeof(PpOriented));
	if (rank == NULL || o == NULL)
	{
		pp_budget_release(&join->budget, rank);
		return join->budget.failure;
	}
	o->k = query->nvariables;
	o->n = join->dict.n;
	status = rank_vertices(join, codes, rank);
	if (status == PP_JOIN_OK)
		status = scatter(join, codes, rank);
	if (status == PP_JOIN_OK)
		status = merge_directions(join, codes, &kind, &loops, &duplicate);
	if (status == PP_JOIN_OK && !duplicate)
		fits = kind == SYMMETRIC ? codes->nequal == 0 || query->nresiduals == 0 :
			kind != MIXED || (o->k == 3 && query->nresiduals == 0);
	if (!fits)
	{
		pp_oriented_release(join);
		if (status == PP_JOIN_OK)
			status = undo_ranks(join, codes, rank);
		pp_budget_release(&join->budget, rank);
		return status;
	}
	pp_budget_release(&join->budget, rank);
	pp_budget_release(&join->budget, codes->pairs);
	codes->pairs = NULL;

	join->info.strategy = PP_JOIN_ORIENTED;
	if (codes->nequal > 0)
		o->collapsed = count_collapsed(query, kind, &loops);
	o->directions = kind == MIXED;
	if (o->directions)
	{
		for (uint32_t uv = 0; uv < 4; uv++)
			for (uint32_t rest = 0; rest < 16; rest++)
				o->ways[uv][rest] = directed_ways(query, uv, rest >> 2, rest & 3);
		return PP_JOIN_OK;
	}
	o->factor = count_ways(query, kind);
	for (uint32_t i = 0; i < o->start[o->n]; i++)
		o->list[i] &= VERTEX;
	return o->k == 3 ? build_hubs(join) : PP_JOIN_OK;
}

void
pp_oriented_release(PpJoin *join)
{
	PpOriented *o = join->oriented;

	if (o)
	{
		pp_budget_release(&join->budget, o->start);
		pp_budget_release(&join->budget, o->list);
		pp_budget_release(&join->budget, o->hub);
		pp_budget_release(&join->budget, o->bits);
		pp_budget_release(&join->budget, o);
		join->oriented = NULL;
	}
}

/* ---------- counting ---------- */

/* Words of a row of the matrix among n vertices. */
static uint32_t
row_words(uint32_t n)
{
	uint32_t	words = (n + 63) / 64;

	return words <= 4 ? words : (words + PP_TRIE_WORDS - 1) / PP_TRIE_WORDS * PP_TRIE_WORDS;
}

PpJoinStatus
pp_oriented_open(PpJoinRun *run, uint32_t part, uint32_t nparts)
{
	const PpOriented *o = run->join->oriented;
	const uint32_t words = row_words(o->longest);
	uint64_t	total = 0;
	uint64_t	sum = 0;

	run->to = o->n;
	if (nparts > 1)
	{
		/* an edge of a long list is compared with more than one of a short one */
		for (uint32_t u = 0; u < o->n; u++)
			total += 1 + (uint64_t) (o->start[u + 1] - o->start[u]) * (o->start[u + 1] - o->start[u]);
		run->from = o->n;
		for (uint32_t u = 0; u < o->n; u++)
		{
			uint32_t	p = (uint32_t) ((PpUint128) sum * nparts / total);

			if (p >= part && run->from == o->n)
				run->from = u;
			if (p > part)
			{
				run->to = u;
				break;
			}
			sum += 1 + (uint64_t) (o->start[u + 1] - o->start[u]) * (o->start[u + 1] - o->start[u]);
		}
		if (run->from > run->to)
			run->from = run->to;
	}
	if (part == 0)
		run->place[0] = 1;		/* adds what loops make */
	if (o->k == 3)
	{
		/* marks, by bytes and, of hubs, by bits */
		run->scratch[0] = pp_budget_zeros(&run->budget, o->n, 1);
		run->scratch[1] = pp_budget_zeros(&run->budget, HUBS / 64, sizeof(uint64_t));
		return run->scratch[0] && run->scratch[1] ? PP_JOIN_OK : run->budget.failure;
	}
	/* marks by bits; places among neighbours, and those met; the matrix, and
	 * sets of vertices that shrink with each one that is chosen */
	run->scratch[0] = pp_budget_zeros(&run->budget, (uint64_t) o->n / 64 + 1, sizeof(uint64_t));
	run->scratch[1] = pp_budget_alloc(&run->budget, o->n, sizeof(uint32_t));
	run->scratch[2] = pp_budget_alloc(&run->budget, (uint64_t) o->longest + 1, sizeof(uint32_t));
	run->scratch[3] = pp_budget_alloc(&run->budget,
									  ((uint64_t) o->longest + GREATEST_CLIQUE) * words,
									  sizeof(uint64_t));
	return run->scratch[0] && run->scratch[1] && run->scratch[2] && run->scratch[3] ?
		PP_JOIN_OK : run->budget.failure;
}

/* Fetches what is needed a few entries from here; entries are in one array,
 * so that this goes on from one root to the next. */
static inline void
fetch_ahead(const PpOriented *o, uint32_t i, uint32_t nentries)
{
	if (i + PP_TRIE_AHEAD < nentries)
	{
		__builtin_prefetch(&o->start[o->list[i + PP_TRIE_AHEAD] & VERTEX]);
		__builtin_prefetch(&o->list[o->start[o->list[i + PP_TRIE_AHEAD / 2] & VERTEX]]);
	}
}

static bool
count_triangles(PpJoinRun *run, PpUint128 *count)
{
	const PpJoin *join = run->join;
	const PpOriented *o = join->oriented;
	const PpTrieKernels *kernels = join->kernels;
	const uint32_t *start = o->start;
	const uint32_t *list = o->list;
	const uint32_t nentries = start[o->n];
	uint8_t    *mark = run->scratch[0];
	uint64_t   *hub_mark = run->scratch[1];

	for (uint32_t u = run->from; u < run->to; u++)
	{
		const uint32_t from = start[u];
		const uint32_t to = start[u + 1];
		uint64_t	n = 0;

		if (!pp_run_work(run, 1 + (uint64_t) (to - from) * 4))
			return false;
		run->seeks += to - from;
		if (kernels->short_triangles && o->nhubs == 0 && to - from <= PP_TRIE_SHORT)
		{
			n = kernels->short_triangles(start, list, from, to, nentries);
			*count += (PpUint128) n * o->factor;
			/* lists of others may be of any length */
			if (!pp_run_work(run, (uint64_t) (to - from) * o->longest / 16))
				return false;
			continue;
		}
		for (uint32_t i = from; i < to; i++)
		{
			mark[list[i]] = 1;
			if (list[i] < o->nhubs)
				hub_mark[list[i] / 64] |= UINT64_C(1) << (list[i] % 64);
		}
		for (uint32_t i = from; i < to; i++)
		{
			uint32_t	v = list[i];
			uint32_t	j = start[v];
			uint32_t	end = start[v + 1];

			fetch_ahead(o, i, nentries);
			if (v < o->nhubs && o->hub[v] < o->hub[v + 1])
				n += kernels->and_count(hub_mark,
										o->bits + (uint64_t) o->hub[v] * (HUB_BITS / 64),
										(size_t) (o->hub[v + 1] - o->hub[v]) * (HUB_BITS / 64));
			else
			{
				uint32_t	odd = 0;
				uint32_t	even = 0;

				if (!pp_run_work(run, end - j))
					return false;
				for (; j + 4 <= end; j += 4)
				{
					even += (uint32_t) mark[list[j]] + mark[list[j + 1]];
					odd += (uint32_t) mark[list[j + 2]] + mark[list[j + 3]];
				}
				for (; j < end; j++)
					even += mark[list[j]];
				n += (uint64_t) even + odd;
			}
		}
		for (uint32_t i = from; i < to; i++)
		{
			mark[list[i]] = 0;
			if (list[i] < o->nhubs)
				hub_mark[list[i] / 64] = 0;
		}
		*count += (PpUint128) n * o->factor;
	}
	return true;
}

static bool
count_directed_triangles(PpJoinRun *run, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	const uint32_t *start = o->start;
	const uint32_t *list = o->list;
	const uint32_t nentries = start[o->n];
	uint8_t    *mark = run->scratch[0];

	for (uint32_t u = run->from; u < run->to; u++)
	{
		const uint32_t from = start[u];
		const uint32_t to = start[u + 1];
		uint64_t	n = 0;

		if (!pp_run_work(run, 1))
			return false;
		if (to - from < 2)
			continue;
		for (uint32_t i = from; i < to; i++)
			mark[list[i] & VERTEX] = (uint8_t) (list[i] >> 30);
		for (uint32_t i = from; i < to; i++)
		{
			const uint8_t *ways = o->ways[list[i] >> 30];
			uint32_t	v = list[i] & VERTEX;

			fetch_ahead(o, i, nentries);
			for (uint32_t j = start[v]; j < start[v + 1]; j++)
				n += ways[(list[j] >> 30) * 4 + mark[list[j] & VERTEX]];
			if (!pp_run_work(run, start[v + 1] - start[v]))
				return false;
		}
		run->seeks += to - from;
		for (uint32_t i = from; i < to; i++)
			mark[list[i] & VERTEX] = 0;
		*count += n;
	}
	return true;
}

/* Cliques of r vertices in a set of the matrix's; sets: room for smaller ones. */
static bool
count_in_set(PpJoinRun *run, const uint64_t *rows, uint32_t words, const uint64_t *set,
			 uint32_t r, uint64_t *sets, PpUint128 *count)
{
	if (!pp_run_work(run, words * 16))
		return false;
	if (r == 2)
	{
		*count += run->join->kernels->edges_within(rows, words, set);
		return true;
	}
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t m = set[w]; m; m &= m - 1)
		{
			const uint64_t *row = rows + (w * 64 + (uint64_t) __builtin_ctzll(m)) * words;
			uint64_t	any = 0;

			for (uint32_t i = 0; i < words; i++)
				any |= sets[i] = set[i] & row[i];
			if (any && !count_in_set(run, rows, words, sets, r - 1, sets + words, count))
				return false;
		}
	return true;
}

static bool
count_cliques(PpJoinRun *run, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	const uint32_t *start = o->start;
	const uint32_t *list = o->list;
	const uint32_t nentries = start[o->n];
	uint64_t   *mark = run->scratch[0];
	uint32_t   *local = run->scratch[1];
	uint32_t   *met = run->scratch[2];
	uint64_t   *rows = run->scratch[3];

	for (uint32_t u = run->from; u < run->to; u++)
	{
		const uint32_t from = start[u];
		const uint32_t degree = start[u + 1] - from;
		const uint32_t words = row_words(degree);
		uint64_t	nedges = 0;
		PpUint128	n = 0;

		if (!pp_run_work(run, 1))
			return false;
		if (degree < o->k - 1)
			continue;
		for (uint32_t i = 0; i < degree; i++)
		{
			uint32_t	v = list[from + i];

			mark[v / 64] |= UINT64_C(1) << (v % 64);
			local[v] = i;
		}
		for (uint32_t i = 0; i < degree; i++)
		{
			uint32_t	v = list[from + i];
			uint64_t   *row = rows + (uint64_t) i * words;
			uint32_t	nmet = 0;

			fetch_ahead(o, from + i, nentries);
			for (uint32_t j = start[v]; j < start[v + 1]; j++)
			{
				uint32_t	w = list[j];

				met[nmet] = w;
				nmet += mark[w / 64] >> (w % 64) & 1;
			}
			memset(row, 0, words * sizeof(uint64_t));
			for (uint32_t j = 0; j < nmet; j++)
				row[local[met[j]] / 64] |= UINT64_C(1) << (local[met[j]] % 64);
			nedges += nmet;
			if (!pp_run_work(run, start[v + 1] - start[v]))
				return false;
		}
		run->seeks += degree;
		for (uint32_t i = 0; i < degree; i++)
			mark[list[from + i] / 64] = 0;
		if (nedges < (o->k - 1) * (o->k - 2) / 2)
			continue;
		for (uint32_t i = 0; i < degree; i++)
			if (!count_in_set(run, rows, words, rows + (uint64_t) i * words, o->k - 2,
							  rows + (uint64_t) degree * words, &n))
				return false;
		*count += n * o->factor;
	}
	return true;
}

bool
pp_oriented_count(PpJoinRun *run, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;

	*count = run->place[0] ? o->collapsed : 0;
	if (o->k > 3)
		return count_cliques(run, count);
	return o->directions ? count_directed_triangles(run, count) :
		count_triangles(run, count);
}
