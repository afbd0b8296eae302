/*
 * src/trie/join_clique.c
 *	  Goes through the cliques of the graph that join_oriented.c builds: counts
 *	  them, adds them up by vertex, gives their assignments as rows.
 *
 * Triangles are counted by marks: the neighbours of a vertex are marked, their
 * lists looked up in the marks; the vertices of highest degree have rows of
 * bits instead.  Larger cliques: the graph among a vertex's neighbours becomes
 * a small matrix of bits.
 *
 * Where it matters which edges and loops a clique has, cliques come in blocks:
 * all that have the same vertices but the last.
 */
#include <string.h>

#include "join_private.h"

/* Words of a row of the matrix among n vertices. */
static uint32_t
row_words(uint32_t n)
{
	uint32_t	words = (n + 63) / 64;

	return words <= 4 ? words : (words + PP_TRIE_WORDS - 1) / PP_TRIE_WORDS * PP_TRIE_WORDS;
}

/* ---------- counting ---------- */

/* Fetches what is needed a few entries from here; entries are in one array,
 * so that this goes on from one root to the next. */
static inline void
fetch_ahead(const PpOriented *o, uint32_t i, uint32_t nentries)
{
	if (i + PP_TRIE_AHEAD < nentries)
	{
		__builtin_prefetch(&o->start[o->list[i + PP_TRIE_AHEAD] & PP_VERTEX]);
		__builtin_prefetch(&o->list[o->start[o->list[i + PP_TRIE_AHEAD / 2] & PP_VERTEX]]);
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
										o->bits + (uint64_t) o->hub[v] * (PP_HUB_BITS / 64),
										(size_t) (o->hub[v + 1] - o->hub[v]) * (PP_HUB_BITS / 64));
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

/* The same where each edge has its directions. */
static bool
count_directed_triangles(PpJoinRun *run, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	const uint32_t *start = o->start;
	const uint32_t *list = o->list;
	const uint32_t nentries = start[o->n];
	uint8_t    *mark = run->scratch[0];
	uint8_t		ways[64];

	for (uint32_t code = 0; code < 64; code++)
		ways[code] = (uint8_t) (o->ways[3].first[code + 1] - o->ways[3].first[code]);
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
			mark[list[i] & PP_VERTEX] = (uint8_t) (list[i] >> 30 << pp_pair_shift(0, 2));
		for (uint32_t i = from; i < to; i++)
		{
			const uint32_t edge = list[i] >> 30 << pp_pair_shift(0, 1);
			uint32_t	v = list[i] & PP_VERTEX;

			fetch_ahead(o, i, nentries);
			for (uint32_t j = start[v]; j < start[v + 1]; j++)
				n += ways[edge | mark[list[j] & PP_VERTEX] | list[j] >> 30 << pp_pair_shift(1, 2)];
			if (!pp_run_work(run, start[v + 1] - start[v]))
				return false;
		}
		run->seeks += to - from;
		for (uint32_t i = from; i < to; i++)
			mark[list[i] & PP_VERTEX] = 0;
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

/* ---------- blocks ---------- */

typedef enum Stage
{
	NEXT_ROOT,
	ONE,						/* cliques of one vertex, which has a loop */
	TWO,
	THREE,
	ALL							/* of all k */
} Stage;

struct PpCliques
{
	Stage		stage;
	bool		begun;
	uint32_t	u;				/* the root, and whether it or a neighbour has a loop */
	bool		loops;
	uint32_t	i;				/* entry of u's list */
	uint32_t	h;				/* k = 4: another one, after it */
	uint64_t   *bits;			/* u's entries, by vertex */
	uint8_t    *mark;			/* and their directions */

	/* k = 4: among u's entries, by their places in the list */
	uint32_t   *local;
	uint32_t	words;
	uint64_t   *down;
	uint64_t   *up;
	uint64_t   *heavy;			/* NULL: no edge is */

	/* the block in hand */
	uint32_t	m;				/* vertices of each clique */
	uint32_t	vertex[PP_TABLE_CLIQUE];	/* all but the last */
	uint32_t	n;
	uint32_t   *last;
	uint16_t   *code;

	/* rows: the clique and the map to go on with */
	uint32_t	at;
	uint32_t	map;
	uint64_t	ncopies;		/* of that map, and those given */
	uint64_t	copy;
};

/* The flag in a code that an entry asks for. */
static inline uint32_t
heavy_code(uint32_t entry)
{
	return entry & PP_HEAVY ? PP_HEAVY_CODE : 0;
}

/* A vertex's bit in a code, and the flag if its loop is heavy. */
static inline uint32_t
loop_code(const PpOriented *o, uint32_t m, uint32_t a, uint32_t v)
{
	return (uint32_t) (o->loop[v] & 1) << pp_loop_shift(m, a) |
		(o->loop[v] & 2 ? PP_HEAVY_CODE : 0);
}

static PpJoinStatus
open_blocks(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;
	PpBudget   *budget = &run->budget;
	PpCliques  *c = run->cliques = pp_budget_zeros(budget, 1, sizeof(PpCliques));

	if (c == NULL)
		return budget->failure;
	c->bits = pp_budget_zeros(budget, (uint64_t) o->n / 64 + 1, sizeof(uint64_t));
	c->mark = pp_budget_zeros(budget, o->n, 1);
	c->last = pp_budget_alloc(budget, (uint64_t) o->longest + 1, sizeof(uint32_t));
	c->code = pp_budget_alloc(budget, (uint64_t) o->longest + 1, sizeof(uint16_t));
	if (c->bits == NULL || c->mark == NULL || c->last == NULL || c->code == NULL)
		return budget->failure;
	if (o->k == 4 && !o->loops_only)
	{
		uint64_t	words = (uint64_t) o->longest * row_words(o->longest);

		c->local = pp_budget_alloc(budget, o->n, sizeof(uint32_t));
		c->down = pp_budget_alloc(budget, words, sizeof(uint64_t));
		c->up = pp_budget_alloc(budget, words, sizeof(uint64_t));
		if (c->local == NULL || c->down == NULL || c->up == NULL)
			return budget->failure;
		if (o->heavy)
		{
			c->heavy = pp_budget_alloc(budget, words, sizeof(uint64_t));
			if (c->heavy == NULL)
				return budget->failure;
		}
	}
	if (run->join->mode == PP_JOIN_GROUPS)
	{
		run->groups = pp_budget_zeros(budget, o->n, sizeof(uint64_t));
		if (run->groups == NULL)
			return budget->failure;
	}
	return PP_JOIN_OK;
}

/* Triangles of the root and entry i; loops: only those with one. */
static void
fill_triangles(PpJoinRun *run, uint32_t i, bool loops)
{
	const PpOriented *o = run->join->oriented;
	PpCliques  *c = run->cliques;
	const uint32_t *list = o->list;
	const uint32_t e = list[o->start[c->u] + i];
	const uint32_t v = e & PP_VERTEX;
	const uint32_t edge = e >> 30 << pp_pair_shift(0, 1) | heavy_code(e);
	const uint64_t *bits = c->bits;
	uint32_t   *last = c->last;
	uint32_t	n = 0;

	fetch_ahead(o, o->start[c->u] + i, o->start[o->n]);
	c->m = 3;
	c->vertex[0] = c->u;
	c->vertex[1] = v;
	/* few are met: what there is to know of them is looked at later */
	for (uint32_t j = o->start[v], end = o->start[v + 1]; j < end; j++)
	{
		const uint32_t w = list[j] & PP_VERTEX;

		last[n] = list[j];
		n += (uint32_t) (bits[w / 64] >> (w % 64) & 1);
	}
	for (uint32_t t = 0; t < n; t++)
	{
		const uint32_t w = last[t] & PP_VERTEX;

		c->code[t] = (uint16_t) (edge | (uint32_t) (c->mark[w] & 3) << pp_pair_shift(0, 2) |
								 last[t] >> 30 << pp_pair_shift(1, 2) | heavy_code(last[t]) |
								 (c->mark[w] & 4 ? PP_HEAVY_CODE : 0));
		last[t] = w;
	}
	c->n = n;
	if (loops)
	{
		const uint32_t before = loop_code(o, 3, 0, c->u) | loop_code(o, 3, 1, v);

		c->n = 0;
		for (uint32_t t = 0; t < n; t++)
		{
			uint32_t	bits = before | loop_code(o, 3, 2, c->last[t]);

			c->last[c->n] = c->last[t];
			c->code[c->n] = (uint16_t) (c->code[t] | bits);
			c->n += bits != 0;
		}
	}
}

/* The matrices of directions among the root's entries; false: see status. */
static bool
fill_matrices(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;
	PpCliques  *c = run->cliques;
	const uint32_t *list = o->list;
	const uint32_t from = o->start[c->u];
	const uint32_t degree = o->start[c->u + 1] - from;

	c->words = row_words(degree);
	for (uint32_t i = 0; i < degree; i++)
		c->local[list[from + i] & PP_VERTEX] = i;
	for (uint32_t i = 0; i < degree; i++)
	{
		const uint32_t v = list[from + i] & PP_VERTEX;
		uint64_t   *down = c->down + (uint64_t) i * c->words;
		uint64_t   *up = c->up + (uint64_t) i * c->words;

		fetch_ahead(o, from + i, o->start[o->n]);
		memset(down, 0, c->words * sizeof(uint64_t));
		memset(up, 0, c->words * sizeof(uint64_t));
		if (c->heavy)
			memset(c->heavy + (uint64_t) i * c->words, 0, c->words * sizeof(uint64_t));
		for (uint32_t j = o->start[v]; j < o->start[v + 1]; j++)
		{
			const uint32_t w = list[j] & PP_VERTEX;

			if (c->mark[w])
			{
				const uint32_t at = c->local[w];

				down[at / 64] |= (uint64_t) (list[j] >> 30 & 1) << (at % 64);
				up[at / 64] |= (uint64_t) (list[j] >> 31) << (at % 64);
				if (list[j] & PP_HEAVY)
					c->heavy[(uint64_t) i * c->words + at / 64] |= UINT64_C(1) << (at % 64);
			}
		}
		if (!pp_run_work(run, o->start[v + 1] - o->start[v]))
			return false;
	}
	run->seeks += degree;
	return true;
}

/* Cliques of four: of the root, entries i and h, the latter in i's list. */
static void
fill_fours(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;
	PpCliques  *c = run->cliques;
	const uint32_t *entry = o->list + o->start[c->u];
	const uint64_t *down_i = c->down + (uint64_t) c->i * c->words;
	const uint64_t *up_i = c->up + (uint64_t) c->i * c->words;
	const uint64_t *down_h = c->down + (uint64_t) c->h * c->words;
	const uint64_t *up_h = c->up + (uint64_t) c->h * c->words;
	const uint64_t *heavy_i = c->heavy ? c->heavy + (uint64_t) c->i * c->words : NULL;
	const uint64_t *heavy_h = c->heavy ? c->heavy + (uint64_t) c->h * c->words : NULL;
	const uint32_t base = entry[c->i] >> 30 << pp_pair_shift(0, 1) |
		heavy_code(entry[c->i]) | heavy_code(entry[c->h]) |
		(heavy_i && heavy_i[c->h / 64] >> (c->h % 64) & 1 ? PP_HEAVY_CODE : 0) |
		entry[c->h] >> 30 << pp_pair_shift(0, 2) |
		(uint32_t) (down_i[c->h / 64] >> (c->h % 64) & 1) << pp_pair_shift(1, 2) |
		(uint32_t) (up_i[c->h / 64] >> (c->h % 64) & 1) << (pp_pair_shift(1, 2) + 1);

	c->m = 4;
	c->vertex[0] = c->u;
	c->vertex[1] = entry[c->i] & PP_VERTEX;
	c->vertex[2] = entry[c->h] & PP_VERTEX;
	c->n = 0;
	for (uint32_t w = 0; w < c->words; w++)
		for (uint64_t m = (down_i[w] | up_i[w]) & (down_h[w] | up_h[w]); m; m &= m - 1)
		{
			const uint32_t b = (uint32_t) __builtin_ctzll(m);
			const uint32_t e = entry[w * 64 + b];

			c->last[c->n] = e & PP_VERTEX;
			c->code[c->n] = heavy_i && (heavy_i[w] | heavy_h[w]) >> b & 1 ? PP_HEAVY_CODE : 0;
			c->code[c->n++] |= (uint16_t) (base | heavy_code(e) | e >> 30 << pp_pair_shift(0, 3) |
										  (uint32_t) (down_i[w] >> b & 1) << pp_pair_shift(1, 3) |
										  (uint32_t) (up_i[w] >> b & 1) << (pp_pair_shift(1, 3) + 1) |
										  (uint32_t) (down_h[w] >> b & 1) << pp_pair_shift(2, 3) |
										  (uint32_t) (up_h[w] >> b & 1) << (pp_pair_shift(2, 3) + 1));
		}
}

/* The next entry, from h on, that entry i has an edge with; words * 64: none. */
static uint32_t
next_in_row(const PpCliques *c, uint32_t h)
{
	const uint64_t *down = c->down + (uint64_t) c->i * c->words;
	const uint64_t *up = c->up + (uint64_t) c->i * c->words;
	uint32_t	w = h / 64;
	uint64_t	m;

	if (w >= c->words)
		return c->words * 64;
	m = (down[w] | up[w]) & ~UINT64_C(0) << (h % 64);
	while (m == 0 && ++w < c->words)
		m = down[w] | up[w];
	return m ? w * 64 + (uint32_t) __builtin_ctzll(m) : c->words * 64;
}

/* Begins the next root that may have cliques; false: there is none. */
static bool
next_root(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;
	PpCliques  *c = run->cliques;

	c->u = c->begun ? c->u + 1 : run->from;
	c->begun = true;
	for (; c->u < run->to; c->u++)
	{
		const uint32_t from = o->start[c->u];
		const uint32_t to = o->start[c->u + 1];

		if (!pp_run_work(run, 1 + to - from))
			return false;
		c->loops = false;
		if (o->loop)
		{
			c->loops = o->loop[c->u] != 0;
			for (uint32_t i = from; i < to && !c->loops; i++)
				c->loops = o->loop[o->list[i] & PP_VERTEX] != 0;
		}
		if (!c->loops && (o->loops_only || to - from < o->k - 1))
			continue;
		for (uint32_t i = from; i < to; i++)
		{
			const uint32_t v = o->list[i] & PP_VERTEX;

			c->mark[v] = (uint8_t) (o->list[i] >> 30 | (o->list[i] & PP_HEAVY ? 4 : 0));
			c->bits[v / 64] |= UINT64_C(1) << (v % 64);
		}
		return true;
	}
	return false;
}

/* The next block that is not empty; false: there is none, or see status. */
static bool
next_block(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;
	PpCliques  *c = run->cliques;

	for (;;)
	{
		const uint32_t from = c->stage == NEXT_ROOT ? 0 : o->start[c->u];
		const uint32_t degree = c->stage == NEXT_ROOT ? 0 : o->start[c->u + 1] - from;

		c->n = 0;
		switch (c->stage)
		{
			case NEXT_ROOT:
				if (!next_root(run))
				{
					c->begun = false;	/* roots may change */
					return false;
				}
				c->stage = c->loops ? ONE : ALL;
				c->i = c->h = 0;
				continue;
			case ONE:
				c->stage = TWO;
				c->m = 1;
				c->last[0] = c->u;
				c->code[0] = (uint16_t) loop_code(o, 1, 0, c->u);
				c->n = o->loop[c->u] & 1;
				break;
			case TWO:
				c->stage = o->k == 4 ? THREE : ALL;
				c->m = 2;
				c->vertex[0] = c->u;
				for (uint32_t i = 0; i < degree; i++)
				{
					const uint32_t v = o->list[from + i] & PP_VERTEX;
					const uint32_t loops = loop_code(o, 2, 0, c->u) | loop_code(o, 2, 1, v);

					c->last[c->n] = v;
					c->code[c->n] = (uint16_t) (o->list[from + i] >> 30 | loops |
												heavy_code(o->list[from + i]));
					c->n += loops != 0;
				}
				break;
			case THREE:
			case ALL:
				if (c->i == degree || (c->stage == ALL && o->loops_only))
				{
					if (c->stage == THREE)
					{
						c->stage = ALL;
						c->i = 0;
						continue;
					}
					for (uint32_t i = from; i < from + degree; i++)
					{
						c->mark[o->list[i] & PP_VERTEX] = 0;
						c->bits[(o->list[i] & PP_VERTEX) / 64] = 0;
					}
					c->stage = NEXT_ROOT;
					continue;
				}
				if (c->stage == THREE || o->k == 3)
				{
					const uint32_t v = o->list[from + c->i] & PP_VERTEX;

					if (!pp_run_work(run, o->start[v + 1] - o->start[v]))
						return false;
					run->seeks++;
					fill_triangles(run, c->i++, c->stage == THREE);
					break;
				}
				if (c->i == 0 && c->h == 0 && !fill_matrices(run))
					return false;
				c->h = next_in_row(c, c->h);
				if (c->h >= c->words * 64)
				{
					c->h = 0;
					/* not 0 again, where matrices are filled */
					c->i++;
					if (!pp_run_work(run, c->words))
						return false;
					continue;
				}
				fill_fours(run);
				c->h++;
				if (!pp_run_work(run, c->words + c->n))
					return false;
				break;
		}
		if (c->n > 0)
			return true;
	}
}

/* Puts the vertices of a clique in order of their keys, and the code as well. */
static uint32_t
sort_clique(const PpOriented *o, uint32_t m, uint32_t *vertex, uint32_t code)
{
	uint32_t	place[PP_TABLE_CLIQUE];	/* before: of the vertex that is now there */
	uint32_t	sorted[PP_TABLE_CLIQUE];
	uint32_t	out = code & PP_HEAVY_CODE;

	for (uint32_t a = 0; a < m; a++)
	{
		uint32_t	b = a;

		for (; b > 0 && o->name[vertex[place[b - 1]]] > o->name[vertex[a]]; b--)
			place[b] = place[b - 1];
		place[b] = a;
	}
	for (uint32_t b = 0; b < m; b++)
	{
		sorted[b] = vertex[place[b]];
		if (m < o->k)
			out |= (code >> pp_loop_shift(m, place[b]) & 1) << pp_loop_shift(m, b);
		for (uint32_t a = 0; a < b; a++)
		{
			uint32_t	edge;

			if (place[a] < place[b])
				edge = code >> pp_pair_shift(place[a], place[b]) & 3;
			else
			{
				edge = code >> pp_pair_shift(place[b], place[a]) & 3;
				edge = edge >> 1 | (edge & 1) << 1;
			}
			out |= edge << pp_pair_shift(a, b);
		}
	}
	memcpy(vertex, sorted, m * sizeof(uint32_t));
	return out;
}

/* Clique number t of the block in hand: its vertices, and its code. */
static inline uint32_t
get_clique(const PpOriented *o, const PpCliques *c, uint32_t t, uint32_t *vertex)
{
	for (uint32_t a = 0; a + 1 < c->m; a++)
		vertex[a] = c->vertex[a];
	vertex[c->m - 1] = c->last[t];
	return o->sorted ? sort_clique(o, c->m, vertex, c->code[t]) : c->code[t];
}

/* Rows of a clique's edges: from vertex a to b; the same: of its loop. */
typedef struct Weights
{
	uint32_t	rows[PP_TABLE_CLIQUE][PP_TABLE_CLIQUE];
} Weights;

static void
get_weights(const PpOriented *o, uint32_t m, const uint32_t *vertex, Weights *weights)
{
	for (uint32_t b = 0; b < m; b++)
		/* with a vertex for each variable, loops do not matter */
		for (uint32_t a = 0; a < b + (m < o->k); a++)
		{
			const bool	greater = vertex[a] >= vertex[b];
			const PpHeavy *slot = pp_heavy_slot(o, greater ? vertex[a] : vertex[b],
												greater ? vertex[b] : vertex[a]);
			const bool	heavy = slot->u != UINT32_MAX;

			/* in a direction in which there is none, no map leads */
			weights->rows[b][a] = heavy ? (greater ? slot->up : slot->down) : 1;
			weights->rows[a][b] = heavy ? (greater ? slot->down : slot->up) : 1;
		}
}

/* In how many ways atoms have rows for a map; false: too many. */
static bool
weigh(PpJoinRun *run, const Weights *weights, uint32_t map, PpUint128 *ways)
{
	const PpOriented *o = run->join->oriented;

	*ways = 1;
	for (uint32_t a = 0; a < run->join->natoms; a++)
		if (!pp_multiply(ways, weights->rows[map >> (2 * o->atom[a][0]) & 3]
						 [map >> (2 * o->atom[a][1]) & 3]))
		{
			run->status = PP_JOIN_TOO_MANY;
			return false;
		}
	return true;
}

static bool
count_blocks(PpJoinRun *run, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	const PpCliques *c = run->cliques;

	while (next_block(run))
	{
		const PpWays *ways = &o->ways[c->m];
		uint64_t	n = 0;

		for (uint32_t t = 0; t < c->n; t++)
		{
			uint32_t	vertex[PP_TABLE_CLIQUE];
			const uint32_t code = get_clique(o, c, t, vertex);
			const uint32_t *first = ways->first + (code & ~PP_HEAVY_CODE);
			Weights		weights;

			if (PP_LIKELY(!(code & PP_HEAVY_CODE)))
			{
				n += first[1] - first[0];
				continue;
			}
			if (first[0] < first[1])
				get_weights(o, c->m, vertex, &weights);
			for (uint32_t i = first[0]; i < first[1]; i++)
			{
				PpUint128	copies;

				if (!weigh(run, &weights, ways->map[i], &copies))
					return false;
				if (!pp_add(count, copies))
				{
					run->status = PP_JOIN_TOO_MANY;
					return false;
				}
			}
		}
		if (!pp_add(count, n))
			run->status = PP_JOIN_TOO_MANY;
	}
	return run->status == PP_JOIN_OK;
}

/* ---------- what a pass is asked for ---------- */

/* Do cliques come in blocks? */
static bool
in_blocks(const PpJoin *join)
{
	const PpOriented *o = join->oriented;

	return o->loops_only || join->mode != PP_JOIN_COUNT ||
		(o->tables && (o->k > 3 || o->sorted || o->heavy));
}

PpJoinStatus
pp_oriented_open(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;
	const uint32_t words = row_words(o->longest);

	if (in_blocks(run->join))
		return open_blocks(run);
	if (o->k == 3)
	{
		/* marks, by bytes and, of hubs, by bits */
		run->scratch[0] = pp_budget_zeros(&run->budget, o->n, 1);
		run->scratch[1] = pp_budget_zeros(&run->budget, PP_HUBS / 64, sizeof(uint64_t));
		return run->scratch[0] && run->scratch[1] ? PP_JOIN_OK : run->budget.failure;
	}
	/* marks by bits; places among neighbours, and those met; the matrix, and
	 * sets of vertices that shrink with each one that is chosen */
	run->scratch[0] = pp_budget_zeros(&run->budget, (uint64_t) o->n / 64 + 1, sizeof(uint64_t));
	run->scratch[1] = pp_budget_alloc(&run->budget, o->n, sizeof(uint32_t));
	run->scratch[2] = pp_budget_alloc(&run->budget, (uint64_t) o->longest + 1, sizeof(uint32_t));
	run->scratch[3] = pp_budget_alloc(&run->budget,
									  ((uint64_t) o->longest + PP_GREATEST_CLIQUE) * words,
									  sizeof(uint64_t));
	return run->scratch[0] && run->scratch[1] && run->scratch[2] && run->scratch[3] ?
		PP_JOIN_OK : run->budget.failure;
}

void
pp_oriented_close(PpJoinRun *run)
{
	PpCliques  *c = run->cliques;

	if (c)
	{
		pp_budget_release(&run->budget, c->bits);
		pp_budget_release(&run->budget, c->mark);
		pp_budget_release(&run->budget, c->local);
		pp_budget_release(&run->budget, c->down);
		pp_budget_release(&run->budget, c->up);
		pp_budget_release(&run->budget, c->heavy);
		pp_budget_release(&run->budget, c->last);
		pp_budget_release(&run->budget, c->code);
		pp_budget_release(&run->budget, c);
	}
	pp_budget_release(&run->budget, run->groups);
}

bool
pp_oriented_count(PpJoinRun *run, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;

	*count = 0;
	if (run->cliques)
		return count_blocks(run, count);
	if (o->k > 3)
		return count_cliques(run, count);
	return o->tables ? count_directed_triangles(run, count) : count_triangles(run, count);
}

/* A clique with heavy edges; false: see status. */
static bool
add_heavy_groups(PpJoinRun *run, const uint32_t *vertex, uint32_t code)
{
	const PpOriented *o = run->join->oriented;
	const PpWays *ways = &o->ways[run->cliques->m];
	Weights		weights;

	get_weights(o, run->cliques->m, vertex, &weights);
	for (uint32_t i = ways->first[code]; i < ways->first[code + 1]; i++)
	{
		uint64_t   *group = &run->groups[vertex[ways->map[i] >> (2 * o->group) & 3]];
		PpUint128	copies;

		if (!weigh(run, &weights, ways->map[i], &copies))
			return false;
		if (copies > UINT64_MAX - *group)
		{
			run->status = PP_JOIN_TOO_MANY;
			return false;
		}
		*group += (uint64_t) copies;
	}
	return true;
}

bool
pp_oriented_groups(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;
	const PpCliques *c = run->cliques;

	while (next_block(run))
	{
		const uint32_t *groups = o->ways[c->m].groups;
		uint64_t	sum[PP_TABLE_CLIQUE] = {0};

		for (uint32_t t = 0; t < c->n; t++)
		{
			uint32_t	vertex[PP_TABLE_CLIQUE];
			const uint32_t code = get_clique(o, c, t, vertex);
			uint32_t	ways;

			if (code & PP_HEAVY_CODE)
			{
				if (!add_heavy_groups(run, vertex, code & ~PP_HEAVY_CODE))
					return false;
				continue;
			}
			ways = groups[code];
			if (o->sorted)
				for (uint32_t a = 0; a < c->m; a++, ways >>= 8)
					run->groups[vertex[a]] += ways & 255;
			else
			{
				for (uint32_t a = 0; a + 1 < c->m; a++, ways >>= 8)
					sum[a] += ways & 255;
				run->groups[c->last[t]] += ways;
			}
		}
		for (uint32_t a = 0; a + 1 < c->m; a++)
			run->groups[c->vertex[a]] += sum[a];
	}
	return run->status == PP_JOIN_OK;
}

void
pp_oriented_rows(PpJoinRun *run, int64_t *keys, size_t capacity, size_t *n)
{
	const PpOriented *o = run->join->oriented;
	PpCliques  *c = run->cliques;

	int64_t		name[PP_TABLE_CLIQUE];
	size_t		i = *n;

	while (i < capacity)
	{
		const PpWays *ways;

		if (c->at == c->n)
		{
			c->at = c->map = 0;
			if (!next_block(run))
			{
				/* not from the beginning when asked again */
				run->from = run->to;
				break;
			}
		}
		ways = &o->ways[c->m];
		for (uint32_t a = 0; a + 1 < c->m; a++)
			name[a] = o->name[c->vertex[a]];
		for (; c->at < c->n; c->at++, c->map = 0)
		{
			uint32_t	code = c->code[c->at];
			bool		heavy = false;
			Weights		weights;
			uint32_t	first;
			uint32_t	nmaps;

			if (o->sorted || (code & PP_HEAVY_CODE))
			{
				uint32_t	vertex[PP_TABLE_CLIQUE];

				code = get_clique(o, c, c->at, vertex);
				for (uint32_t a = 0; a < c->m; a++)
					name[a] = o->name[vertex[a]];
				if (code & PP_HEAVY_CODE)
				{
					code &= ~PP_HEAVY_CODE;
					get_weights(o, c->m, vertex, &weights);
					heavy = true;
				}
			}
			else
				name[c->m - 1] = o->name[c->last[c->at]];
			first = ways->first[code];
			nmaps = ways->first[code + 1] - first;
			for (; c->map < nmaps && i < capacity; i++)
			{
				uint32_t	map = ways->map[first + c->map];

				if (PP_UNLIKELY(heavy))
				{
					if (c->copy == 0)
					{
						PpUint128	copies;

						if (!weigh(run, &weights, map, &copies))
							return;
						/* that many rows are never seen to their end */
						c->ncopies = copies < UINT64_MAX ? (uint64_t) copies : UINT64_MAX;
					}
					if (++c->copy == c->ncopies)
					{
						c->copy = 0;
						c->map++;
					}
				}
				else
					c->map++;

				if (keys)
					for (int64_t *key = keys + i, *end = key + o->k * capacity; key < end;
						 key += capacity, map >>= 2)
						*key = name[map & 3];
			}
			if (c->map < nmaps)
				break;
		}
	}
	*n = i;
}
