/*
 * src/trie/join_local.c
 *	  Counts cliques, root by root: the graph among a vertex and its list
 *	  becomes a small matrix of bits, and what variables may still become are
 *	  sets, each a row of bits.
 *
 * Two ways to count in it.  Where each clique counts equally often but for
 * the rows of its edges, undirected cliques are counted, vertices in falling
 * rank.  Else each variable in turn becomes the root, and the others are bound
 * one after another, which loops, directions and comparisons all fit in.  The
 * last variable is counted, not bound.
 *
 * Edges of several rows: most have two, and few are in one clique, so that
 * sets of vertices that count twice do for most of them.  What is left is
 * multiplied out.
 */
#include <string.h>

#include "join_private.h"

/* Sets of what a variable may become: all, those that count twice or more
 * often, and of them those that have to be multiplied out. */
typedef enum Plane
{
	ALL,
	TWICE,
	MORE,
	PLANES
} Plane;

/* An edge of several rows, between local numbers. */
typedef struct Found
{
	uint32_t	from;
	uint32_t	to;
	uint32_t	rows;
} Found;

struct PpLocal
{
	/* by vertex */
	uint64_t   *mark;			/* a bit for each in the root's list */
	uint32_t   *number;			/* local ones */

	/* by local number: in order of keys if these are compared, else in the
	 * list's, the root behind */
	uint32_t	n;
	uint32_t	words;			/* of a set */
	uint32_t	root;
	uint32_t	self;			/* the root's number */
	bool		loops;			/* has any a loop? */
	bool		heavy;			/* has any edge several rows? */
	bool		twos;			/* has none more than two? */
	uint32_t   *vertex;
	uint64_t   *out;			/* rows of bits: edges from each ... */
	uint64_t   *in;				/* ... and to each; NULL: out has lists only */
	uint64_t   *heavy_out;		/* those of several rows */
	uint64_t   *heavy_in;
	uint64_t   *looped;			/* set */
	uint32_t   *before;			/* heavy edges before a row */
	uint32_t   *rows;			/* of heavy edges, row by row */
	Found	   *found;
	uint32_t	nfound;

	/* counting */
	const PpPattern *pattern;
	PpPattern	alike;			/* of lists: all edges lead to lesser vertices */
	bool		collapsed;		/* only where two variables have the same vertex */
	uint32_t	nbound;
	uint32_t	variable[PP_GREATEST_CLIQUE];	/* that are bound, and to what */
	uint32_t	value[PP_GREATEST_CLIQUE];
	uint32_t	order[PP_GREATEST_CLIQUE];	/* in which the others are */
	uint64_t   *sets;			/* of each depth and place in order: PLANES of them */
	uint64_t   *spare[3];		/* sets, of count_pairs() and count_variable() */
	uint64_t   *one;			/* an empty set but for a moment */
	uint32_t   *met;
	uint32_t   *odd;
	PpUint128  *sum;			/* GROUPS of undirected cliques: of each number */
};

/* Words of a set of n numbers. */
static uint32_t
set_words(uint32_t n)
{
	uint32_t	words = (n + 63) / 64;

	return words <= 1 ? 1 : words <= 4 ? words :
		(words + PP_TRIE_WORDS - 1) / PP_TRIE_WORDS * PP_TRIE_WORDS;
}

static inline bool
has(const uint64_t *set, uint32_t i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static inline void
add(uint64_t *set, uint32_t i)
{
	set[i / 64] |= UINT64_C(1) << (i % 64);
}

PpJoinStatus
pp_local_open(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;
	PpBudget   *budget = &run->budget;
	PpLocal    *l = run->local = pp_budget_zeros(budget, 1, sizeof(PpLocal));
	const uint64_t most = (uint64_t) o->longest + 1;
	const uint64_t words = set_words(o->longest + 1);
	const bool	both = o->way == PP_CLIQUES_EACH || o->loops_only;

	if (l == NULL)
		return budget->failure;
	l->mark = pp_budget_zeros(budget, (uint64_t) o->n / 64 + 1, sizeof(uint64_t));
	l->number = pp_budget_alloc(budget, o->n, sizeof(uint32_t));
	l->vertex = pp_budget_alloc(budget, most, sizeof(uint32_t));
	l->met = pp_budget_alloc(budget, most, sizeof(uint32_t));
	l->odd = pp_budget_alloc(budget, most + 1, sizeof(uint32_t));
	l->out = pp_budget_alloc(budget, most * words, sizeof(uint64_t));
	l->looped = pp_budget_zeros(budget, words, sizeof(uint64_t));
	l->sets = pp_budget_alloc(budget, words * (o->k - 1) * o->k * PLANES, sizeof(uint64_t));
	for (uint32_t i = 0; i < 3; i++)
		l->spare[i] = pp_budget_alloc(budget, words, sizeof(uint64_t));
	l->one = pp_budget_zeros(budget, words, sizeof(uint64_t));
	if (l->mark == NULL || l->number == NULL || l->vertex == NULL || l->met == NULL ||
		l->odd == NULL || l->out == NULL || l->looped == NULL || l->sets == NULL ||
		l->spare[0] == NULL || l->spare[1] == NULL || l->spare[2] == NULL || l->one == NULL)
		return budget->failure;
	memset(l->alike.leads, true, sizeof(l->alike.leads));
	memset(l->alike.allowed, PP_ANY, sizeof(l->alike.allowed));
	if (both)
	{
		l->in = pp_budget_alloc(budget, most * words, sizeof(uint64_t));
		if (l->in == NULL)
			return budget->failure;
	}
	if (o->heavy_start)
	{
		/* directions of heavy edges: no more than there are, or than fit in */
		const uint64_t heavy = 2 * (uint64_t) o->heavy_start[o->n];
		const uint64_t room = heavy < most * most ? heavy : most * most;

		l->heavy_out = pp_budget_alloc(budget, most * words, sizeof(uint64_t));
		if (both)
			l->heavy_in = pp_budget_alloc(budget, most * words, sizeof(uint64_t));
		l->before = pp_budget_alloc(budget, most, sizeof(uint32_t));
		l->rows = pp_budget_alloc(budget, room, sizeof(uint32_t));
		l->found = pp_budget_alloc(budget, room + 1, sizeof(Found));
		if (l->heavy_out == NULL || (both && l->heavy_in == NULL) || l->before == NULL ||
			l->rows == NULL || l->found == NULL)
			return budget->failure;
	}
	if (run->join->mode == PP_JOIN_GROUPS)
	{
		run->groups = pp_budget_zeros(budget, o->n, sizeof(uint64_t));
		if (o->way == PP_CLIQUES_ALIKE)
			l->sum = pp_budget_alloc(budget, most, sizeof(PpUint128));
		if (run->groups == NULL || (o->way == PP_CLIQUES_ALIKE && l->sum == NULL))
			return budget->failure;
	}
	return PP_JOIN_OK;
}

void
pp_local_close(PpJoinRun *run)
{
	PpLocal    *l = run->local;

	if (l)
	{
		void	   *piece[] = {
			l->mark, l->number, l->vertex, l->met, l->odd, l->out, l->in, l->looped, l->sets,
			l->spare[0], l->spare[1], l->spare[2], l->one, l->heavy_out, l->heavy_in, l->before, l->rows,
			l->found, l->sum
		};

		for (uint32_t i = 0; i < sizeof(piece) / sizeof(piece[0]); i++)
			pp_budget_release(&run->budget, piece[i]);
		pp_budget_release(&run->budget, l);
	}
}

/* ---------- a root's neighbourhood ---------- */

/* Gives numbers to the root and its list. */
static void
number_vertices(PpLocal *l, const PpOriented *o, uint32_t u, bool each)
{
	const uint32_t *entry = o->list + o->start[u];
	const uint32_t degree = o->start[u + 1] - o->start[u];

	l->root = u;
	l->self = degree;
	if (each && o->sorted)
		for (l->self = 0; l->self < degree; l->self++)
			if (o->name[entry[l->self] & PP_VERTEX] > o->name[u])
				break;
	l->n = degree + 1;
	/* the root is in no lesser vertex's list */
	l->words = set_words(each ? l->n : degree);
	for (uint32_t i = 0; i < degree; i++)
	{
		const uint32_t v = entry[i] & PP_VERTEX;
		const uint32_t a = i + (i >= l->self);

		l->vertex[a] = v;
		l->number[v] = a;
		add(l->mark, v);
	}
	l->vertex[l->self] = u;
	l->number[u] = l->self;
}

static void
forget_vertices(PpLocal *l, const PpOriented *o)
{
	for (uint32_t i = o->start[l->root]; i < o->start[l->root + 1]; i++)
		l->mark[(o->list[i] & PP_VERTEX) / 64] = 0;
}

static inline void
note_heavy(PpLocal *l, uint32_t from, uint32_t to, uint32_t rows)
{
	Found	   *found = &l->found[l->nfound];

	found->from = from;
	found->to = to;
	found->rows = rows;
	l->nfound += rows > 1;
}

/* The edges of several rows; each: directions are told apart. */
static void
fill_heavy(PpLocal *l, const PpOriented *o, bool each)
{
	uint32_t	sum = 0;

	l->nfound = 0;
	for (uint32_t a = 0; a < l->n && o->heavy_start; a++)
	{
		const uint32_t v = l->vertex[a];

		for (uint32_t h = o->heavy_start[v]; h < o->heavy_start[v + 1]; h++)
		{
			const PpHeavy *heavy = &o->heavy[h];
			const uint32_t w = heavy->v;

			if (w != v && !has(l->mark, w))
				continue;
			if (!each)
			{
				/* both directions have as many, or one has none */
				if (w != v)
					note_heavy(l, a, l->number[w], heavy->down > heavy->up ? heavy->down : heavy->up);
				continue;
			}
			note_heavy(l, a, l->number[w], heavy->down);
			if (w != v)
				note_heavy(l, l->number[w], a, heavy->up);
		}
	}
	l->heavy = l->nfound > 0;
	if (!l->heavy)
		return;
	l->twos = true;
	memset(l->heavy_out, 0, (size_t) l->n * l->words * sizeof(uint64_t));
	if (each)
		memset(l->heavy_in, 0, (size_t) l->n * l->words * sizeof(uint64_t));
	for (uint32_t i = 0; i < l->nfound; i++)
	{
		const Found *found = &l->found[i];

		add(l->heavy_out + (size_t) found->from * l->words, found->to);
		if (each)
			add(l->heavy_in + (size_t) found->to * l->words, found->from);
		l->twos &= found->rows == 2;
	}
	for (uint32_t a = 0; a < l->n; a++)
	{
		l->before[a] = sum;
		for (uint32_t w = 0; w < l->words; w++)
			sum += (uint32_t) __builtin_popcountll(l->heavy_out[(size_t) a * l->words + w]);
	}
}

/* Where the rows of a heavy edge are. */
static uint32_t *
heavy_rows(const PpLocal *l, uint32_t from, uint32_t to)
{
	const uint64_t *row = l->heavy_out + (size_t) from * l->words;
	uint32_t	at = l->before[from];

	for (uint32_t w = 0; w < to / 64; w++)
		at += (uint32_t) __builtin_popcountll(row[w]);
	return &l->rows[at + (uint32_t) __builtin_popcountll(row[to / 64] &
														   ((UINT64_C(1) << (to % 64)) - 1))];
}

static void
fill_rows(PpLocal *l)
{
	for (uint32_t i = 0; i < l->nfound; i++)
	{
		const Found *found = &l->found[i];

		*heavy_rows(l, found->from, found->to) = found->rows;
	}
}

/*
 * The root's neighbourhood, as lists are: bits for lesser vertices only.  False:
 * there are no cliques in it, or see status.
 */
static bool
fill_lists(PpJoinRun *run, uint32_t u)
{
	const PpOriented *o = run->join->oriented;
	PpLocal    *l = run->local;
	const uint32_t *list = o->list;
	const uint64_t *mark = l->mark;
	const uint32_t *number = l->number;
	uint32_t   *met = l->met;
	const uint32_t nentries = o->start[o->n];
	const uint32_t degree = o->start[u + 1] - o->start[u];
	uint64_t	nedges = 0;

	number_vertices(l, o, u, false);
	for (uint32_t a = 0; a < degree; a++)
	{
		const uint32_t v = list[o->start[u] + a];
		const uint32_t end = o->start[v + 1];
		uint64_t   *row = l->out + (size_t) a * l->words;
		uint32_t	nmet = 0;

		pp_oriented_fetch(o, o->start[u] + a, nentries);
		for (uint32_t j = o->start[v]; j < end; j++)
		{
			const uint32_t w = list[j];

			met[nmet] = w;
			nmet += mark[w / 64] >> (w % 64) & 1;
		}
		memset(row, 0, l->words * sizeof(uint64_t));
		for (uint32_t j = 0; j < nmet; j++)
			add(row, number[met[j]]);
		nedges += nmet;
		if (!pp_run_work(run, end - o->start[v]))
			return false;
	}
	run->seeks += l->n;
	if (nedges >= (o->k - 1) * (o->k - 2) / 2)
	{
		fill_heavy(l, o, false);
		if (l->heavy)
			fill_rows(l);
	}
	forget_vertices(l, o);
	return nedges >= (o->k - 1) * (o->k - 2) / 2;
}

/* An edge between two numbers, in the directions of an entry of a's list. */
static inline void
put_edge(PpLocal *l, uint32_t a, uint32_t b, uint32_t entry)
{
	const uint64_t down = entry >> 30 & 1;
	const uint64_t up = entry >> 31;

	l->out[(size_t) a * l->words + b / 64] |= down << (b % 64);
	l->in[(size_t) a * l->words + b / 64] |= up << (b % 64);
	l->in[(size_t) b * l->words + a / 64] |= down << (a % 64);
	l->out[(size_t) b * l->words + a / 64] |= up << (a % 64);
}

/* The same, by direction and with loops. */
static bool
fill_directions(PpJoinRun *run, uint32_t u)
{
	const PpOriented *o = run->join->oriented;
	PpLocal    *l = run->local;
	const uint32_t *list = o->list;
	const uint64_t *mark = l->mark;
	const uint32_t nentries = o->start[o->n];
	uint64_t	nedges = 0;

	number_vertices(l, o, u, true);
	memset(l->out, 0, (size_t) l->n * l->words * sizeof(uint64_t));
	memset(l->in, 0, (size_t) l->n * l->words * sizeof(uint64_t));
	for (uint32_t i = o->start[u]; i < o->start[u + 1]; i++)
	{
		const uint32_t v = list[i] & PP_VERTEX;
		const uint32_t a = l->number[v];
		const uint32_t end = o->start[v + 1];
		uint32_t	nmet = 0;

		pp_oriented_fetch(o, i, nentries);
		put_edge(l, l->self, a, list[i]);
		for (uint32_t j = o->start[v]; j < end; j++)
		{
			const uint32_t w = list[j] & PP_VERTEX;

			l->met[nmet] = list[j];
			nmet += mark[w / 64] >> (w % 64) & 1;
		}
		for (uint32_t j = 0; j < nmet; j++)
			put_edge(l, a, l->number[l->met[j] & PP_VERTEX], l->met[j]);
		nedges += nmet;
		if (!pp_run_work(run, end - o->start[v] + l->words))
			return false;
	}
	run->seeks += l->n;
	if (o->loop)
	{
		memset(l->looped, 0, l->words * sizeof(uint64_t));
		for (uint32_t a = 0; a < l->n; a++)
			if (o->loop[l->vertex[a]] & 3)
			{
				add(l->looped, a);
				put_edge(l, a, a, PP_DOWN);
			}
	}
	fill_heavy(l, o, true);
	if (l->heavy)
		fill_rows(l);
	forget_vertices(l, o);
	return l->loops || nedges >= (o->k - 1) * (o->k - 2) / 2;
}

/* ---------- edges of several rows ---------- */

/* The rows of the edge from what variable x may be to what y may be. */
static inline uint32_t
edge_rows(const PpLocal *l, uint32_t x, uint32_t a, uint32_t y, uint32_t b)
{
	const uint32_t from = l->pattern->leads[x][y] ? a : b;
	const uint32_t to = l->pattern->leads[x][y] ? b : a;

	return has(l->heavy_out + (size_t) from * l->words, to) ? *heavy_rows(l, from, to) : 1;
}

/* In how many ways y's edges to all that is bound have rows, if y has value b. */
static bool
multiply_rows(PpJoinRun *run, uint32_t y, uint32_t b, PpUint128 *product)
{
	const PpLocal *l = run->local;

	*product = 1;
	for (uint32_t i = 0; i < l->nbound; i++)
		if (!pp_multiply(product, edge_rows(l, l->variable[i], l->value[i], y, b)))
		{
			run->status = PP_JOIN_TOO_MANY;
			return false;
		}
	return true;
}

/* What vertices of a set have to be multiplied out for, beyond one each. */
static bool
multiply_out(PpJoinRun *run, uint32_t x, uint32_t a, uint32_t y, const uint64_t *set,
			 PpUint128 *sum)
{
	PpLocal    *l = run->local;
	bool		fits = true;

	l->variable[l->nbound] = x;
	l->value[l->nbound++] = a;
	for (uint32_t w = 0; w < l->words && fits; w++)
		for (uint64_t m = set[w]; m && fits; m &= m - 1)
		{
			PpUint128	product;

			fits = multiply_rows(run, y, w * 64 + (uint32_t) __builtin_ctzll(m), &product);
			if (fits && !pp_add(sum, product - 1))
			{
				run->status = PP_JOIN_TOO_MANY;
				fits = false;
			}
		}
	l->nbound--;
	return fits;
}

/* ---------- counting ---------- */

static inline uint64_t *
set_at(const PpLocal *l, uint32_t k, uint32_t depth, uint32_t place, Plane plane)
{
	return l->sets + (((size_t) depth * k + place) * PLANES + plane) * l->words;
}

/* The matrix in which x's value has the values that y may have. */
static inline const uint64_t *
rows_of(const PpLocal *l, uint32_t x, uint32_t y, bool heavy)
{
	return l->pattern->leads[x][y] ? (heavy ? l->heavy_out : l->out) : (heavy ? l->heavy_in : l->in);
}

/* Leaves of a set what may be beside a value that is compared with. */
static void
compare(uint64_t *set, uint32_t words, uint32_t value, uint8_t allowed)
{
	const uint64_t bit = UINT64_C(1) << (value % 64);

	for (uint32_t w = 0; w < words; w++)
	{
		const uint64_t below = w < value / 64 ? ~UINT64_C(0) : w == value / 64 ? bit - 1 : 0;
		const uint64_t same = w == value / 64 ? bit : 0;

		set[w] &= (allowed & PP_BELOW ? below : 0) | (allowed & PP_SAME ? same : 0) |
			(allowed & PP_ABOVE ? ~(below | same) : 0);
	}
}

/*
 * Pairs of values of the last two variables, x from one set's planes and y
 * from another's.  Where nothing but edges matters, and no row counts more
 * than twice, that is a sum over rows of bits.
 */
static bool
count_pairs(PpJoinRun *run, uint32_t x, const uint64_t *from, uint32_t y, const uint64_t *to,
			PpUint128 *count)
{
	const PpTrieKernels *kernels = run->join->kernels;
	PpLocal    *l = run->local;
	const uint32_t words = l->words;
	const uint64_t *rows = rows_of(l, x, y, false);
	const uint64_t *heavy = l->heavy ? rows_of(l, x, y, true) : NULL;
	const uint64_t *from_twice = from + TWICE * words;
	const uint64_t *to_twice = to + TWICE * words;
	const uint64_t *to_more = to + MORE * words;
	const bool	alike = !l->collapsed && l->pattern->allowed[x][y] == PP_ANY;
	uint64_t   *set = l->spare[0];
	size_t		nodd = 0;

	*count = 0;
	if (alike && !l->heavy)
	{
		*count = kernels->edges_between(rows, words, from, to);
		return true;
	}
	if (alike)
	{
		for (uint32_t w = 0; w < words; w++)
			set[w] = from[w] & ~from_twice[w];
		*count = kernels->doubled_between(rows, heavy, words, set, to, to_twice, to_more, l->twos,
										  l->odd, &nodd);
		for (size_t i = 0; i < nodd; i++)
		{
			const uint64_t *row = rows + (size_t) l->odd[i] * words;
			const uint64_t *h = heavy + (size_t) l->odd[i] * words;

			for (uint32_t w = 0; w < words; w++)
				set[w] = row[w] & to[w] & (to_more[w] | (h[w] & (l->twos ? to_twice[w] : ~UINT64_C(0))));
			if (!multiply_out(run, x, l->odd[i], y, set, count))
				return false;
		}
	}
	/* one by one: those of several rows, or all */
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t m = alike ? from[w] & from_twice[w] : from[w]; m; m &= m - 1)
		{
			const uint32_t a = w * 64 + (uint32_t) __builtin_ctzll(m);
			const uint64_t *row = rows + (size_t) a * words;
			PpUint128	product = 1;
			PpUint128	sum;

			for (uint32_t i = 0; i < words; i++)
				set[i] = row[i] & to[i];
			if (l->pattern->allowed[x][y] != PP_ANY)
				compare(set, words, a, l->pattern->allowed[x][y]);
			if (l->collapsed)
			{
				bool		met = false;

				for (uint32_t i = 0; i < l->nbound; i++)
					for (uint32_t j = 0; j < i; j++)
						met |= l->value[i] == l->value[j];
				for (uint32_t i = 0; i < l->nbound; i++)
					met |= l->value[i] == a;
				if (!met)
				{
					memset(l->spare[1], 0, words * sizeof(uint64_t));
					for (uint32_t i = 0; i < l->nbound; i++)
						add(l->spare[1], l->value[i]);
					add(l->spare[1], a);
					for (uint32_t i = 0; i < words; i++)
						set[i] &= l->spare[1][i];
				}
			}
			add(l->one, a);
			if (!l->heavy)
				sum = kernels->edges_between(rows, words, l->one, set);
			else
			{
				sum = kernels->doubled_between(rows, heavy, words, l->one, set, to_twice, to_more,
											   l->twos, l->odd, &nodd);
				if (has(from_twice, a) && !multiply_rows(run, x, a, &product))
					nodd = SIZE_MAX;
				if (nodd == 1)
				{
					const uint64_t *h = heavy + (size_t) a * words;

					for (uint32_t i = 0; i < words; i++)
						set[i] &= to_more[i] | (h[i] & (l->twos ? to_twice[i] : ~UINT64_C(0)));
					if (!multiply_out(run, x, a, y, set, &sum))
						nodd = SIZE_MAX;
				}
				if (nodd != SIZE_MAX && (!pp_multiply(&sum, product) || !pp_add(count, sum)))
				{
					run->status = PP_JOIN_TOO_MANY;
					nodd = SIZE_MAX;
				}
			}
			l->one[w] = 0;
			if (nodd == SIZE_MAX)
				return false;
			if (!l->heavy)
				*count += sum;
		}
	return true;
}

/* What a variable may be once another has a value: the planes of next. */
static bool
narrow(const PpLocal *l, uint32_t x, uint32_t a, uint32_t y,
	   const uint64_t *set, uint64_t *next)
{
	const uint32_t words = l->words;
	const uint64_t *row = rows_of(l, x, y, false) + (size_t) a * words;
	uint64_t	any = 0;

	for (uint32_t w = 0; w < words; w++)
		next[w] = set[w] & row[w];
	if (l->pattern->allowed[x][y] != PP_ANY)
		compare(next, words, a, l->pattern->allowed[x][y]);
	for (uint32_t w = 0; w < words; w++)
		any |= next[w];
	if (any && l->heavy)
	{
		const uint64_t *h = rows_of(l, x, y, true) + (size_t) a * words;
		const uint64_t *twice = set + TWICE * words;
		const uint64_t *more = set + MORE * words;

		for (uint32_t w = 0; w < words; w++)
		{
			next[TWICE * words + w] = twice[w] | h[w];
			next[MORE * words + w] = more[w] | (h[w] & (l->twos ? twice[w] : ~UINT64_C(0)));
		}
	}
	return any != 0;
}

/* The planes of a set that was narrowed by the root's row alone. */
static void
begin_heavy(const PpLocal *l, const uint64_t *row, uint64_t *set)
{
	for (uint32_t w = 0; w < l->words; w++)
	{
		set[TWICE * l->words + w] = row[w];
		set[MORE * l->words + w] = l->twos ? 0 : row[w];
	}
}

/* Can two variables still have the same vertex, if none have? */
static bool
may_collapse(const PpLocal *l, uint32_t k, uint32_t depth)
{
	for (uint32_t i = 0; i < l->nbound; i++)
		for (uint32_t j = 0; j < i; j++)
			if (l->value[i] == l->value[j])
				return true;
	for (uint32_t t = depth; t + 1 < k; t++)
	{
		const uint64_t *set = set_at(l, k, depth, t, ALL);

		for (uint32_t w = 0; w < l->words; w++)
			if (set[w] & l->looped[w])
				return true;
	}
	return false;
}

/*
 * Assignments of the variables from place depth in order on; shared: they all
 * have the same set, of which each takes what is below the one before.
 */
static bool
count_from(PpJoinRun *run, uint32_t depth, bool shared, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	PpLocal    *l = run->local;
	const uint32_t k = o->k;
	const uint32_t x = l->order[depth];
	const uint64_t *set = set_at(l, k, depth, shared ? 0 : depth, ALL);

	*count = 0;
	if (!pp_run_work(run, l->words * 16))
		return false;
	if (l->collapsed && !may_collapse(l, k, depth))
		return true;
	if (depth + 3 == k)
		return count_pairs(run, x, set, l->order[depth + 1],
						   shared ? set : set_at(l, k, depth, depth + 1, ALL), count);
	for (uint32_t w = 0; w < l->words; w++)
		for (uint64_t m = set[w]; m; m &= m - 1)
		{
			const uint32_t a = w * 64 + (uint32_t) __builtin_ctzll(m);
			PpUint128	product = 1;
			PpUint128	below;
			bool		any = true;

			for (uint32_t t = depth + 1; t + 1 < k && any && !shared; t++)
				any = narrow(l, x, a, l->order[t], set_at(l, k, depth, t, ALL),
							 set_at(l, k, depth + 1, t, ALL));
			if (shared)
				any = narrow(l, x, a, l->order[depth + 1], set, set_at(l, k, depth + 1, 0, ALL));
			if (!any)
				continue;
			if (l->heavy && has(set + TWICE * l->words, a) && !multiply_rows(run, x, a, &product))
				return false;
			l->variable[l->nbound] = x;
			l->value[l->nbound++] = a;
			any = count_from(run, depth + 1, shared, &below);
			l->nbound--;
			if (!any)
				return false;
			if (!pp_multiply(&below, product) || !pp_add(count, below))
			{
				run->status = PP_JOIN_TOO_MANY;
				return false;
			}
		}
	return true;
}

/*
 * Cliques of r vertices in a set of lists' vertices, where no edge has several
 * rows; sets: room for smaller ones.
 */
static bool
count_within(PpJoinRun *run, const uint64_t *set, uint32_t r, uint64_t *sets, PpUint128 *count)
{
	const PpLocal *l = run->local;
	const uint32_t words = l->words;

	if (!pp_run_work(run, words * 16))
		return false;
	if (r == 2)
	{
		*count += run->join->kernels->edges_between(l->out, words, set, set);
		return true;
	}
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t m = set[w]; m; m &= m - 1)
		{
			const uint64_t *row = l->out + (w * 64 + (size_t) __builtin_ctzll(m)) * words;
			uint64_t	any = 0;

			for (uint32_t i = 0; i < words; i++)
				any |= sets[i] = set[i] & row[i];
			if (any && !count_within(run, sets, r - 1, sets + words, count))
				return false;
		}
	return true;
}

/* Adds to the group of a vertex. */
static bool
add_group(PpJoinRun *run, uint32_t vertex, PpUint128 n)
{
	if (n > UINT64_MAX - run->groups[vertex])
	{
		run->status = PP_JOIN_TOO_MANY;
		return false;
	}
	run->groups[vertex] += (uint64_t) n;
	return true;
}

/*
 * Adds undirected cliques to the sums of their vertices but the root; count:
 * of all of them.  before: what the edges among those bound multiply to.
 */
static bool
spread(PpJoinRun *run, uint32_t depth, PpUint128 before, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	PpLocal    *l = run->local;
	const uint64_t *set = set_at(l, o->k, depth, 0, ALL);
	uint64_t   *next = set_at(l, o->k, depth + 1, 0, ALL);

	*count = 0;
	if (!pp_run_work(run, l->words * 16))
		return false;
	for (uint32_t w = 0; w < l->words; w++)
		for (uint64_t m = set[w]; m; m &= m - 1)
		{
			const uint32_t a = w * 64 + (uint32_t) __builtin_ctzll(m);
			PpUint128	here = before;
			PpUint128	product;
			bool		done = true;

			if (l->heavy && has(set + TWICE * l->words, a))
			{
				done = multiply_rows(run, 1, a, &product);
				if (done && !pp_multiply(&here, product))
				{
					run->status = PP_JOIN_TOO_MANY;
					done = false;
				}
			}
			if (done && depth + 2 < o->k)
			{
				if (!narrow(l, 1, a, 1, set, next))
					continue;
				l->variable[l->nbound] = 1;
				l->value[l->nbound++] = a;
				product = here;
				done = spread(run, depth + 1, product, &here);
				l->nbound--;
			}
			if (!done)
				return false;
			if (!pp_add(&l->sum[a], here) || !pp_add(count, here))
			{
				run->status = PP_JOIN_TOO_MANY;
				return false;
			}
		}
	return true;
}

/* Binds the root, and lets the other variables be whatever is in its list. */
static void
begin_root(PpLocal *l, uint64_t *set)
{
	l->nbound = 1;
	l->variable[0] = 0;
	l->value[0] = l->self;
	memset(set, 0, l->words * sizeof(uint64_t));
	for (uint32_t a = 0; a < l->self; a++)
		add(set, a);
	if (l->heavy)
		begin_heavy(l, l->heavy_out + (size_t) l->self * l->words, set);
}

/* Of undirected cliques with the root: how often they count together, but for
 * the factor. */
static bool
count_root(PpJoinRun *run, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	PpLocal    *l = run->local;
	uint64_t   *set = set_at(l, o->k, 0, 0, ALL);

	*count = 0;
	if (!l->heavy && !run->groups)
	{
		for (uint32_t a = 0; a < l->self; a++)
			if (!count_within(run, l->out + (size_t) a * l->words, o->k - 2, l->sets, count))
				return false;
		return true;
	}
	begin_root(l, set);
	return run->groups ? spread(run, 0, 1, count) : count_from(run, 0, true, count);
}

/* ---------- roots ---------- */

/* Adds sums to groups: a vertex is each variable as often. */
static bool
give_sums(PpJoinRun *run, PpUint128 all)
{
	const PpOriented *o = run->join->oriented;
	PpLocal    *l = run->local;

	l->sum[l->self] = all;
	for (uint32_t a = 0; a < l->n; a++)
	{
		if (!pp_multiply(&l->sum[a], o->factor / o->k))
			run->status = PP_JOIN_TOO_MANY;
		else if (l->sum[a] > 0)
			(void) add_group(run, l->vertex[a], l->sum[a]);
	}
	return run->status == PP_JOIN_OK;
}

bool
pp_local_count(PpJoinRun *run, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	PpLocal    *l = run->local;

	*count = 0;
	l->pattern = &l->alike;
	l->collapsed = false;
	for (uint32_t t = 0; t + 1 < o->k; t++)
		l->order[t] = t + 1;
	for (uint32_t u = run->from; u < run->to; u++)
	{
		PpUint128	n;

		if (!pp_run_work(run, 1))
			return false;
		if (o->start[u + 1] - o->start[u] < o->k - 1)
			continue;
		if (!fill_lists(run, u))
		{
			if (run->status != PP_JOIN_OK)
				return false;
			continue;
		}
		if (l->sum)
			memset(l->sum, 0, l->n * sizeof(PpUint128));
		if (!count_root(run, &n))
			return false;
		if (run->groups && !give_sums(run, n))
			return false;
		if (!pp_multiply(&n, o->factor) || !pp_add(count, n))
		{
			run->status = PP_JOIN_TOO_MANY;
			return false;
		}
	}
	return true;
}

static uint32_t
set_size(const PpTrieKernels *kernels, PpLocal *l, const uint64_t *set)
{
	uint64_t	n;

	l->one[0] = 1;
	n = kernels->edges_between(set, l->words, l->one, set);
	l->one[0] = 0;
	return (uint32_t) n;
}

/*
 * What variables may be if p is the root and those before p are not: sets of
 * depth 0, in an order in which the smallest come first, but for the group's.
 * False: one can be nothing.
 */
static bool
begin_variable(PpJoinRun *run, uint32_t p)
{
	const PpOriented *o = run->join->oriented;
	PpLocal    *l = run->local;
	const uint32_t k = o->k;
	const size_t words = l->words;
	uint32_t	size[PP_GREATEST_CLIQUE];
	uint32_t	n = 0;

	for (uint32_t y = 0; y < k; y++)
	{
		uint64_t   *set = l->spare[0];
		const uint64_t *row = rows_of(l, p, y, false) + l->self * words;
		uint32_t	here;
		uint32_t	t = n;

		if (y == p)
			continue;
		memcpy(set, row, words * sizeof(uint64_t));
		if (y < p)
			set[l->self / 64] &= ~(UINT64_C(1) << (l->self % 64));
		compare(set, l->words, l->self, l->pattern->allowed[p][y]);
		here = set_size(run->join->kernels, l, set);
		if (here == 0)
			return false;
		if (run->groups && y == o->group)
			here = 0;
		for (; t > 0 && size[t - 1] > here; t--)
		{
			size[t] = size[t - 1];
			l->order[t] = l->order[t - 1];
		}
		size[t] = here;
		l->order[t] = y;
		n++;
	}
	for (uint32_t t = 0; t < n; t++)
	{
		const uint32_t y = l->order[t];
		uint64_t   *set = set_at(l, k, 0, t, ALL);

		memcpy(set, rows_of(l, p, y, false) + l->self * words, words * sizeof(uint64_t));
		if (y < p)
			set[l->self / 64] &= ~(UINT64_C(1) << (l->self % 64));
		compare(set, l->words, l->self, l->pattern->allowed[p][y]);
		if (l->heavy)
			begin_heavy(l, rows_of(l, p, y, true) + l->self * words, set);
	}
	l->nbound = 1;
	l->variable[0] = p;
	l->value[0] = l->self;
	return true;
}

/* All of which variable p is the root. */
static bool
count_variable(PpJoinRun *run, uint32_t p, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	PpLocal    *l = run->local;
	const uint32_t k = o->k;
	uint64_t   *set = set_at(l, k, 0, 0, ALL);
	PpUint128	n;

	if (!begin_variable(run, p))
		return true;
	if (run->groups && p != o->group)
	{
		/* a copy: one value at a time is left of it */
		memcpy(l->spare[2], set, l->words * sizeof(uint64_t));
		memset(set, 0, l->words * sizeof(uint64_t));
		for (uint32_t w = 0; w < l->words; w++)
			for (uint64_t m = l->spare[2][w]; m; m &= m - 1)
			{
				set[w] = m & -m;
				if (!count_from(run, 0, false, &n) ||
					!add_group(run, l->vertex[w * 64 + (uint32_t) __builtin_ctzll(m)], n))
					return false;
				set[w] = 0;
			}
		return true;
	}
	if (!count_from(run, 0, false, &n))
		return false;
	if (run->groups)
		return add_group(run, l->root, n);
	if (!pp_add(count, n))
		run->status = PP_JOIN_TOO_MANY;
	return run->status == PP_JOIN_OK;
}

bool
pp_local_count_each(PpJoinRun *run, bool collapsed, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	PpLocal    *l = run->local;

	*count = 0;
	l->pattern = &o->pattern;
	l->collapsed = collapsed;
	for (uint32_t u = run->from; u < run->to && !o->pattern.never; u++)
	{
		if (!pp_run_work(run, 1))
			return false;
		l->loops = o->loop && (o->loop[u] & PP_NEAR_LOOP);
		if (!l->loops && (collapsed || o->start[u + 1] - o->start[u] < o->k - 1))
			continue;
		if (!fill_directions(run, u))
		{
			if (run->status != PP_JOIN_OK)
				return false;
			continue;
		}
		for (uint32_t p = 0; p < o->k; p++)
			if (!count_variable(run, p, count))
				return false;
	}
	return true;
}
