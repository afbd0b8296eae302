/*
 * src/trie/join_blocks.c
 *	  Goes through the cliques of the graph that join_oriented.c builds where it
 *	  matters which edges and loops they have: adds them up by vertex, gives
 *	  their assignments as rows.
 *
 * Cliques come in blocks: all that have the same vertices but the last.
 */
#include <string.h>

#include "join_private.h"

/* Words of a row of the matrix among n vertices. */
static uint32_t
row_words(uint32_t n)
{
	return (n + 63) / 64;
}

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

	uint32_t   *local;			/* places in u's list: k = 4, or rows are numbered */

	/* k = 4: among u's entries, by their places in the list */
	uint32_t	words;
	uint64_t   *down;
	uint64_t   *up;
	uint64_t   *heavy;			/* NULL: no edge is */
	uint32_t   *entry;			/* their edges' places in o->list; NULL: rows have no
								 * numbers */

	/* the block in hand */
	uint32_t	m;				/* vertices of each clique */
	uint32_t	vertex[PP_TABLE_CLIQUE];	/* all but the last */
	uint32_t	n;
	uint32_t   *last;
	uint16_t   *code;

	/* numbered rows: the edges' places in o->list, of 0 and 1, 0 and 2, 1 and 2, and
	 * of each of them and the last */
	uint32_t	edge[3];
	uint32_t   *last_edge[PP_TABLE_CLIQUE - 1];

	/* rows: the clique and the map to go on with */
	uint32_t	at;
	uint32_t	map;
	uint64_t	ncopies;		/* of that map, and those given */
	uint64_t	copy;
	bool		chained;		/* numbered rows: the map comes again, with these */
	uint32_t	row[PP_TABLE_CLIQUE * (PP_TABLE_CLIQUE - 1) / 2];
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

PpJoinStatus
pp_blocks_open(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;
	PpBudget   *budget = &run->budget;
	PpCliques  *c = run->cliques = pp_budget_zeros(budget, 1, sizeof(PpCliques));

	if (c == NULL)
		return budget->failure;
	/* as long as a row of the last vertex */
	c->bits = pp_budget_zeros(budget, (uint64_t) o->n / 64 + PP_HUB_BITS / 64, sizeof(uint64_t));
	c->mark = pp_budget_zeros(budget, o->n, 1);
	c->last = pp_budget_alloc(budget, (uint64_t) o->longest + 1, sizeof(uint32_t));
	c->code = pp_budget_alloc(budget, (uint64_t) o->longest + 1, sizeof(uint16_t));
	if (c->bits == NULL || c->mark == NULL || c->last == NULL || c->code == NULL)
		return budget->failure;
	if (o->k == 4 || o->row)
	{
		c->local = pp_budget_alloc(budget, o->n, sizeof(uint32_t));
		if (c->local == NULL)
			return budget->failure;
	}
	for (uint32_t a = 0; a + 1 < o->k && o->row; a++)
	{
		c->last_edge[a] = pp_budget_alloc(budget, (uint64_t) o->longest + 1, sizeof(uint32_t));
		if (c->last_edge[a] == NULL)
			return budget->failure;
	}
	if (o->k == 4)
	{
		uint64_t	words = (uint64_t) o->longest * row_words(o->longest);

		c->down = pp_budget_alloc(budget, words, sizeof(uint64_t));
		c->up = pp_budget_alloc(budget, words, sizeof(uint64_t));
		if (c->down == NULL || c->up == NULL)
			return budget->failure;
		if (o->row)
		{
			c->entry = pp_budget_alloc(budget, (uint64_t) o->longest * o->longest, sizeof(uint32_t));
			if (c->entry == NULL)
				return budget->failure;
		}
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

	pp_oriented_fetch(o, o->start[c->u] + i, o->start[o->n]);
	c->m = 3;
	c->vertex[0] = c->u;
	c->vertex[1] = v;
	/* few are met: what there is to know of them is looked at later */
	if (o->row)
	{
		c->edge[0] = o->start[c->u] + i;
		for (uint32_t j = o->start[v], end = o->start[v + 1]; j < end; j++)
		{
			const uint32_t w = list[j] & PP_VERTEX;

			last[n] = list[j];
			c->last_edge[1][n] = j;
			n += (uint32_t) (bits[w / 64] >> (w % 64) & 1);
		}
		for (uint32_t t = 0; t < n; t++)
			c->last_edge[0][t] = o->start[c->u] + c->local[last[t] & PP_VERTEX];
	}
	else
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
			for (uint32_t a = 0; a < 2 && o->row; a++)
				c->last_edge[a][c->n] = c->last_edge[a][t];
			c->n += bits != 0;
		}
	}
}

/* Triangles of the root and entry i, if they are all alike. */
static void
fill_alike(PpJoinRun *run, uint32_t i)
{
	const PpOriented *o = run->join->oriented;
	PpCliques  *c = run->cliques;
	const uint32_t *list = o->list;
	const uint32_t v = list[o->start[c->u] + i];
	const uint64_t *bits = c->bits;
	uint32_t   *last = c->last;
	uint32_t	n = 0;

	pp_oriented_fetch(o, o->start[c->u] + i, o->start[o->n]);
	c->m = 3;
	c->vertex[0] = c->u;
	c->vertex[1] = v;
	if (v < o->nhubs && o->hub[v] < o->hub[v + 1])
		n = (uint32_t) run->join->kernels->and_list(bits, o->bits + (uint64_t) o->hub[v] * (PP_HUB_BITS / 64),
													(size_t) (o->hub[v + 1] - o->hub[v]) * (PP_HUB_BITS / 64),
													last);
	else
		for (uint32_t j = o->start[v], end = o->start[v + 1]; j < end; j++)
		{
			const uint32_t w = list[j];

			last[n] = w;
			n += (uint32_t) (bits[w / 64] >> (w % 64) & 1);
		}
	c->n = n;
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
	{
		const uint32_t v = list[from + i] & PP_VERTEX;
		uint64_t   *down = c->down + (uint64_t) i * c->words;
		uint64_t   *up = c->up + (uint64_t) i * c->words;

		pp_oriented_fetch(o, from + i, o->start[o->n]);
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
				if (c->entry)
					c->entry[(size_t) i * degree + at] = j;
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
	const uint32_t degree = o->start[c->u + 1] - o->start[c->u];
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
	if (o->row)
	{
		c->edge[0] = o->start[c->u] + c->i;
		c->edge[1] = o->start[c->u] + c->h;
		c->edge[2] = c->entry[(size_t) c->i * degree + c->h];
	}
	for (uint32_t w = 0; w < c->words; w++)
		for (uint64_t m = (down_i[w] | up_i[w]) & (down_h[w] | up_h[w]); m; m &= m - 1)
		{
			const uint32_t b = (uint32_t) __builtin_ctzll(m);
			const uint32_t e = entry[w * 64 + b];

			c->last[c->n] = e & PP_VERTEX;
			if (o->row)
			{
				c->last_edge[0][c->n] = o->start[c->u] + w * 64 + b;
				c->last_edge[1][c->n] = c->entry[(size_t) c->i * degree + w * 64 + b];
				c->last_edge[2][c->n] = c->entry[(size_t) c->h * degree + w * 64 + b];
			}
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
		c->loops = o->loop && o->loop[c->u] & PP_NEAR_LOOP;
		if (!c->loops && to - from < o->k - 1)
			continue;
		for (uint32_t i = from; i < to; i++)
		{
			const uint32_t v = o->list[i] & PP_VERTEX;

			c->mark[v] = (uint8_t) (o->list[i] >> 30 | (o->list[i] & PP_HEAVY ? 4 : 0));
			c->bits[v / 64] |= UINT64_C(1) << (v % 64);
			if (c->local)
				c->local[v] = i - from;
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
					if (o->row)
						c->last_edge[0][c->n] = from + i;
					c->code[c->n] = (uint16_t) (o->list[from + i] >> 30 | loops |
												heavy_code(o->list[from + i]));
					c->n += loops != 0;
				}
				break;
			case THREE:
			case ALL:
				if (c->i == degree)
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
					if (o->alike)
						fill_alike(run, c->i++);
					else
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

/*
 * Puts the vertices of a clique in order of their keys, and the code as well;
 * place: before, of the vertex that is now there.
 */
static uint32_t
sort_clique(const PpOriented *o, uint32_t m, uint32_t *vertex, uint32_t code, uint32_t *place)
{
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
get_clique(const PpOriented *o, const PpCliques *c, uint32_t t, uint32_t *vertex, uint32_t *place)
{
	for (uint32_t a = 0; a + 1 < c->m; a++)
		vertex[a] = c->vertex[a];
	vertex[c->m - 1] = c->last[t];
	return o->sorted ? sort_clique(o, c->m, vertex, c->code[t], place) : c->code[t];
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
			const PpHeavy *heavy = pp_heavy_find(o, greater ? vertex[a] : vertex[b],
												 greater ? vertex[b] : vertex[a]);

			/* in a direction in which there is none, no map leads */
			weights->rows[b][a] = heavy ? (greater ? heavy->up : heavy->down) : 1;
			weights->rows[a][b] = heavy ? (greater ? heavy->down : heavy->up) : 1;
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

/* ---------- what a pass is asked for ---------- */

void
pp_blocks_close(PpJoinRun *run)
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
		pp_budget_release(&run->budget, c->entry);
		for (uint32_t a = 0; a + 1 < PP_TABLE_CLIQUE; a++)
			pp_budget_release(&run->budget, c->last_edge[a]);
		pp_budget_release(&run->budget, c);
	}
}

/* Adds a block of triangles that are alike to the groups of their vertices. */
static void
add_alike(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;
	const PpCliques *c = run->cliques;
	const uint32_t packed = o->ways[3].groups[o->code];
	const uint64_t ways[3] = {packed & 255, packed >> 8 & 255, packed >> 16};
	const uint64_t lasts[3] = {ways[2], ways[1], ways[0]};	/* by how many are above it */
	const bool	turned = o->sorted && o->name[c->vertex[0]] > o->name[c->vertex[1]];
	const uint32_t below = c->vertex[turned];
	const uint32_t above = c->vertex[!turned];
	const int64_t below_key = o->name[below];
	const int64_t above_key = o->name[above];
	uint64_t	first = 0;		/* of keys below both, and below the greater one only */
	uint64_t	second = 0;

	for (uint32_t t = 0; t < c->n; t++)
	{
		const int64_t key = o->name[c->last[t]];
		const bool	least = o->sorted && key < below_key;
		const bool	middle = o->sorted && key < above_key;

		run->groups[c->last[t]] += lasts[(uint32_t) least + middle];
		first += least;
		second += middle;
	}
	run->groups[below] += first * ways[1] + (c->n - first) * ways[0];
	run->groups[above] += second * ways[2] + (c->n - second) * ways[1];
}

bool
pp_blocks_groups(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;
	const PpCliques *c = run->cliques;

	while (next_block(run))
	{
		const uint32_t *groups = o->ways[c->m].groups;
		uint64_t	sum[PP_TABLE_CLIQUE] = {0};

		if (o->alike)
		{
			add_alike(run);
			continue;
		}
		for (uint32_t t = 0; t < c->n; t++)
		{
			uint32_t	vertex[PP_TABLE_CLIQUE];
			uint32_t	place[PP_TABLE_CLIQUE];
			const uint32_t code = get_clique(o, c, t, vertex, place);
			uint32_t	ways;

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

/* The key between two others, one of which is below the other. */
static inline int64_t
middle_key(int64_t below, int64_t above, int64_t key)
{
	return key < below ? below : key > above ? above : key;
}

/* Rows of clique t and those behind it, of triangles that are alike. */
static size_t
put_alike(const PpOriented *o, PpCliques *c, int64_t *keys, size_t capacity, size_t i)
{
	const uint8_t *map = o->ways[3].map + o->ways[3].first[o->code];
	const uint32_t nmaps = o->ways[3].first[o->code + 1] - o->ways[3].first[o->code];
	const int64_t one = o->name[c->vertex[0]];
	const int64_t two = o->name[c->vertex[1]];
	const int64_t below = one < two || !o->sorted ? one : two;
	const int64_t above = one < two || !o->sorted ? two : one;

	if (nmaps == 1 && o->sorted)
	{
		const size_t room = capacity - i < c->n - c->at ? capacity - i : c->n - c->at;
		const uint32_t *last = c->last + c->at;
		/* by places in order of keys */
		int64_t    *out[4];

		c->at += (uint32_t) room;
		if (keys == NULL)
			return i + room;
		for (uint32_t v = 0; v < 3; v++)
			out[map[0] >> (2 * v) & 3] = keys + v * capacity + i;
		for (size_t t = 0; t < room; t++)
		{
			const int64_t key = o->name[last[t]];

			out[0][t] = key < below ? key : below;
			out[1][t] = middle_key(below, above, key);
			out[2][t] = key > above ? key : above;
		}
		return i + room;
	}
	for (; c->at < c->n && i < capacity; c->at++, c->map = 0)
	{
		const int64_t key = o->name[c->last[c->at]];
		const int64_t name[3] = {
			o->sorted && key < below ? key : below,
			o->sorted ? middle_key(below, above, key) : above,
			!o->sorted || key > above ? key : above
		};

		for (; c->map < nmaps && i < capacity; c->map++, i++)
			for (uint32_t v = 0; v < 3 && keys; v++)
				keys[v * capacity + i] = name[map[c->map] >> (2 * v) & 3];
		if (c->map < nmaps)
			break;
	}
	return i;
}

void
pp_blocks_rows(PpJoinRun *run, int64_t *keys, size_t capacity, size_t *n)
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
		if (o->alike)
		{
			i = put_alike(o, c, keys, capacity, i);
			continue;
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
				uint32_t	place[PP_TABLE_CLIQUE];

				code = get_clique(o, c, c->at, vertex, place);
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

/* Where the edge of two vertices of clique t of the block is, a before b. */
static inline uint32_t
edge_of(const PpCliques *c, uint32_t t, uint32_t a, uint32_t b)
{
	return b + 1 == c->m ? c->last_edge[a][t] : c->edge[a + b - 1];
}

/* The next rows for an assignment's atoms, first[] being each one's first. */
static bool
next_rows(const PpJoinRun *run, const uint32_t *first)
{
	const uint32_t *next = run->join->oriented->next_row;
	uint32_t   *row = run->cliques->row;

	for (uint32_t a = 0; a < run->join->natoms && next; a++)
	{
		if (next[row[a]] != PP_NO_ROW)
		{
			row[a] = next[row[a]];
			return true;
		}
		row[a] = first[a];
	}
	return false;
}

void
pp_blocks_numbered(PpJoinRun *run, int64_t *keys, uint32_t *rows, size_t capacity, size_t *n)
{
	const PpOriented *o = run->join->oriented;
	const uint32_t natoms = run->join->natoms;
	PpCliques  *c = run->cliques;
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
		for (; c->at < c->n; c->at++, c->map = 0)
		{
			uint32_t	vertex[PP_TABLE_CLIQUE];
			uint32_t	place[PP_TABLE_CLIQUE] = {0, 1, 2, 3};
			const uint32_t code = get_clique(o, c, c->at, vertex, place) & ~PP_HEAVY_CODE;
			const uint32_t nmaps = ways->first[code + 1] - ways->first[code];

			while (c->map < nmaps && i < capacity)
			{
				const uint32_t map = ways->map[ways->first[code] + c->map];
				uint32_t	first[PP_TABLE_CLIQUE * (PP_TABLE_CLIQUE - 1) / 2];

				for (uint32_t a = 0; a < natoms; a++)
				{
					const uint32_t from = place[map >> (2 * o->atom[a][0]) & 3];
					const uint32_t to = place[map >> (2 * o->atom[a][1]) & 3];

					/* vertices of a block come by falling rank */
					first[a] = from == to ? o->loop_row[vertex[map >> (2 * o->atom[a][0]) & 3]] :
						from < to ? o->row[2 * (size_t) edge_of(c, c->at, from, to)] :
						o->row[2 * (size_t) edge_of(c, c->at, to, from) + 1];
				}
				for (uint32_t a = 0; a < natoms && !c->chained; a++)
					c->row[a] = first[a];
				for (uint32_t v = 0; v < o->k && keys; v++)
					keys[v * capacity + i] = o->name[vertex[map >> (2 * v) & 3]];
				for (uint32_t a = 0; a < natoms && rows; a++)
					rows[a * capacity + i] = c->row[a];
				i++;
				c->chained = next_rows(run, first);
				c->map += !c->chained;
			}
			if (c->map < nmaps)
				break;
		}
		if (!pp_run_work(run, capacity))
			break;
	}
	*n = i;
}
