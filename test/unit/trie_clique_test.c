/*
 * test/unit/trie_clique_test.c
 *	  Cliques of one relation against loops over a matrix of rows: all sizes,
 *	  edges of several rows, loops, any directions and comparisons, counted as
 *	  a whole and by each variable, alone and by several threads.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trie/trie.h"
#include "trie_query.h"

enum
{
	T_SMALL = 1,
	T_LARGE,
	T_HANGING,
	T_HUGE
};

#define MOST_VARIABLES	6

typedef struct Graph
{
	uint32_t	n;
	uint32_t   *rows;			/* from a to b: rows[a * n + b] */
	int64_t    *pairs;
	PpJoinRelation relation;
} Graph;

/* What edges there are. */
typedef enum Shape
{
	UPWARDS,					/* from the smaller key to the greater */
	DOWNWARDS,
	BOTH,						/* in both directions, with as many rows */
	NEARLY,						/* the same, but for a few */
	ANY,
	SHAPES
} Shape;

/* Keys that do not go up with numbers, nor with what they are hashed to. */
static int64_t
key_of(uint32_t style, uint32_t v)
{
	return style == 0 ? (int64_t) (v * 7 % 1009) : (int64_t) (v * UINT64_C(0x9e3779b97f4a7c15));
}

static void
make_graph(Graph *g, UnitRandom *r, uint32_t n, uint32_t percent, Shape shape, uint32_t again,
		   uint32_t loops, uint32_t style)
{
	uint64_t	nrows = 0;

	g->n = n;
	g->rows = unit_malloc((size_t) n * n * sizeof(uint32_t));
	memset(g->rows, 0, (size_t) n * n * sizeof(uint32_t));
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < a; b++)
		{
			/* some vertices have most of the edges */
			const uint32_t here = b < n / 6 ? 90 : percent;
			const bool	up = key_of(style, b) < key_of(style, a);
			uint32_t	ab = unit_below(r, 100) < here;
			uint32_t	ba;

			if (ab && again > 0 && unit_once_in(r, again))
				ab += 1 + (unit_once_in(r, 4) ? unit_below(r, 3) : 0);
			ba = shape == ANY ? unit_below(r, 100) < here : shape == BOTH || shape == NEARLY ? ab : 0;
			if (ba > 0 && shape > BOTH && again > 0 && unit_once_in(r, again))
				ba++;
			if (shape == NEARLY && unit_once_in(r, 20))
				ba = 0;
			g->rows[(size_t) a * n + b] = shape == UPWARDS && up ? ba : shape == DOWNWARDS && !up ? ba : ab;
			g->rows[(size_t) b * n + a] = shape == UPWARDS && up ? ab : shape == DOWNWARDS && !up ? ab : ba;
		}
	for (uint32_t a = 0; a < n && loops > 0; a++)
		if (unit_once_in(r, loops))
			g->rows[(size_t) a * n + a] = 1 + (again > 0 && unit_once_in(r, again));
	for (uint32_t i = 0; i < n * n; i++)
		nrows += g->rows[i];
	g->pairs = unit_malloc((2 * nrows + 2) * sizeof(int64_t));
	g->relation.pairs = g->pairs;
	g->relation.nrows = 0;
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n; b++)
			for (uint32_t i = 0; i < g->rows[(size_t) a * n + b]; i++)
			{
				/* to any place among the rows before */
				const uint64_t last = g->relation.nrows++;
				const uint64_t at = unit_next(r) % (last + 1);

				memcpy(g->pairs + 2 * last, g->pairs + 2 * at, 2 * sizeof(int64_t));
				g->pairs[2 * at] = key_of(style, a);
				g->pairs[2 * at + 1] = key_of(style, b);
			}
}

static void
drop_graph(Graph *g)
{
	free(g->rows);
	free(g->pairs);
}

/* What loops over all vertices count, in all and for each value of each variable. */
typedef struct Expected
{
	Uint128		all;
	Uint128    *by[MOST_VARIABLES];
} Expected;

static void
loop_over(const Graph *g, const PpJoinQuery *q, uint32_t style, uint32_t *value, uint32_t bound,
		  Uint128 ways, Expected *expected)
{
	if (bound == q->nvariables)
	{
		expected->all += ways;
		for (uint32_t v = 0; v < q->nvariables; v++)
			expected->by[v][value[v]] += ways;
		return;
	}
	for (uint32_t x = 0; x < g->n; x++)
	{
		Uint128		here = ways;

		value[bound] = x;
		for (uint32_t a = 0; a < q->natoms && here > 0; a++)
		{
			const uint32_t *v = q->atoms[a].variable;

			if ((v[0] > v[1] ? v[0] : v[1]) == bound)
				here *= g->rows[(size_t) value[v[0]] * g->n + value[v[1]]];
		}
		for (uint32_t i = 0; i < q->nresiduals && here > 0; i++)
		{
			const PpJoinResidual *residual = &q->residuals[i];

			if ((residual->left > residual->right ? residual->left : residual->right) == bound &&
				!query_compares(residual->op, key_of(style, value[residual->left]),
						  key_of(style, value[residual->right])))
				here = 0;
		}
		if (here > 0)
			loop_over(g, q, style, value, bound + 1, here, expected);
	}
}

static void
check_groups(PpJoinQuery *q, const Graph *g, uint32_t style, PpJoinStrategy strategy,
			 const Expected *expected)
{
	const size_t room = 40;
	int64_t    *keys = unit_malloc(room * sizeof(int64_t));
	PpCount    *counts = unit_malloc(room * sizeof(PpCount));

	q->mode = PP_JOIN_GROUPS;
	for (q->group = 0; q->group < q->nvariables; q->group++)
	{
		UnitHeap	heap = {0};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		PpJoin	   *join;
		PpJoinRun  *run = NULL;
		PpJoinStatus status = pp_join_build(q, &alloc, (size_t) 1 << 33, &join);
		Uint128		sum = 0;
		size_t		n = 1;

		if (status == PP_JOIN_OK)
			status = pp_join_open_threads(join, &alloc, (size_t) 1 << 33, q->threads, &run);
		while (status == PP_JOIN_OK && n > 0)
		{
			status = pp_join_groups(run, keys, counts, room, &n);
			for (size_t i = 0; i < n; i++)
			{
				uint32_t	v = 0;

				while (v < g->n && key_of(style, v) != keys[i])
					v++;
				EXPECT(v < g->n && counts[i].low > 0 && counts[i].high == 0 &&
					   expected->by[q->group][v] == counts[i].low,
					   "variable %u, vertex %u: %" PRIu64 ", not %" PRIu64, q->group, v, counts[i].low,
					   v < g->n ? (uint64_t) expected->by[q->group][v] : 0);
				sum += counts[i].low;
			}
		}
		EXPECT(status == PP_JOIN_OK && sum == expected->all, "status %d, %" PRIu64 " in groups, not %" PRIu64,
			   (int) status, (uint64_t) sum, (uint64_t) expected->all);
		EXPECT(join && pp_join_info(join)->strategy == strategy, "another strategy");
		pp_join_close(run);
		pp_join_free(join);
		EXPECT(heap.live_blocks == 0, "memory is left");
	}
	free(keys);
	free(counts);
}

static uint32_t tuple_width;

static int
compare_tuples(const void *a, const void *b)
{
	return memcmp(a, b, tuple_width * sizeof(uint32_t));
}

/* Numbered rows: all different, each with the keys that it says, as many as there are. */
static void
check_rows(PpJoinQuery *q, uint64_t want)
{
	const size_t room = 37;
	int64_t    *keys = unit_malloc(room * MOST_VARIABLES * sizeof(int64_t));
	uint32_t   *rows = unit_malloc(room * q->natoms * sizeof(uint32_t));
	uint32_t   *tuples = unit_malloc((want + 1) * q->natoms * sizeof(uint32_t));
	UnitHeap	heap = {0};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	PpJoin	   *join;
	PpJoinStatus status;
	uint64_t	got = 0;
	bool		right = true;

	q->mode = PP_JOIN_ROWS;
	q->row_numbers = true;
	status = pp_join_build(q, &alloc, (size_t) 1 << 33, &join);
	for (uint32_t part = 0; part < 2 && status == PP_JOIN_OK; part++)
	{
		PpJoinRun  *run;
		size_t		n = 1;

		status = pp_join_open(join, &alloc, (size_t) 1 << 33, part, 2, &run);
		while (status == PP_JOIN_OK && n > 0)
		{
			status = pp_join_rows(run, keys, rows, room, &n);
			for (size_t i = 0; i < n; i++, got++)
				for (uint32_t a = 0; a < q->natoms; a++)
				{
					const uint32_t row = rows[a * room + i];

					if (got < want)
						tuples[got * q->natoms + a] = row;
					for (uint32_t s = 0; s < 2; s++)
						right &= row < q->relations[0].nrows &&
							q->relations[0].pairs[2 * (size_t) row + s] ==
							keys[q->atoms[a].variable[s] * room + i];
				}
		}
		pp_join_close(run);
	}
	EXPECT(status == PP_JOIN_OK && got == want, "status %d, %" PRIu64 " rows, not %" PRIu64,
		   (int) status, got, want);
	EXPECT(right, "rows with other keys");
	EXPECT(join && pp_join_info(join)->strategy == PP_JOIN_ORIENTED, "another strategy");
	tuple_width = q->natoms;
	got = got < want ? got : want;
	qsort(tuples, got, tuple_width * sizeof(uint32_t), compare_tuples);
	right = true;
	for (uint64_t i = 1; i < got; i++)
		right &= compare_tuples(tuples + i * tuple_width, tuples + (i - 1) * tuple_width) != 0;
	EXPECT(right, "rows come twice");
	pp_join_free(join);
	EXPECT(heap.live_blocks == 0, "memory is left");
	free(keys);
	free(rows);
	free(tuples);
}

/* A clique of some variables, in any directions. */
static void
add_clique(UnitRandom *r, PpJoinQuery *q, PpJoinAtom *atoms, const uint32_t *variable, uint32_t k)
{
	const uint32_t back = unit_below(r, 3);

	for (uint32_t x = 0; x < k; x++)
		for (uint32_t y = x + 1; y < k; y++)
		{
			const bool	turned = back == 1 ? unit_once_in(r, 4) : back == 2;

			atoms[q->natoms].relation = 0;
			atoms[q->natoms].variable[0] = variable[turned ? y : x];
			atoms[q->natoms++].variable[1] = variable[turned ? x : y];
		}
}

/* One graph, one pattern: everything that can be counted. */
static void
check_pattern(UnitRandom *r, const Graph *g, PpJoinAtom *atoms, uint32_t natoms, uint32_t k,
			  uint32_t style, PpJoinStrategy strategy, uint64_t *nonempty)
{
	PpJoinResidual residuals[3];
	PpJoinQuery q;
	Expected	expected;
	uint32_t	value[MOST_VARIABLES];

	memset(&q, 0, sizeof(q));
	q.nvariables = k;
	q.natoms = natoms;
	q.nrelations = 1;
	q.atoms = atoms;
	q.residuals = residuals;
	q.relations = &g->relation;
	q.nresiduals = unit_once_in(r, 2) ? 0 : 1 + unit_below(r, 3);
	for (uint32_t i = 0; i < q.nresiduals; i++)
	{
		residuals[i].op = (PpJoinCompare) unit_below(r, 5);
		residuals[i].left = unit_below(r, k);
		residuals[i].right = unit_once_in(r, 20) ? residuals[i].left :
			(residuals[i].left + 1 + unit_below(r, k - 1)) % k;
	}
	memset(&expected, 0, sizeof(expected));
	for (uint32_t v = 0; v < k; v++)
	{
		expected.by[v] = unit_malloc(g->n * sizeof(Uint128));
		memset(expected.by[v], 0, g->n * sizeof(Uint128));
	}
	loop_over(g, &q, style, value, 0, 1, &expected);
	*nonempty += expected.all > 0;
	for (uint32_t m = 0; m < 3; m++)
	{
		Counted		got;

		do
			q.simd = (PpSimd) unit_below(r, PP_SIMD_LEVELS + 1);
		while (q.simd != PP_SIMD_LEVELS && pp_trie_kernels(q.simd) == NULL);
		q.threads = 1 + m;
		q.seed = unit_next(r);
		EXPECT(count_query(&q, m < 2 ? 1 + 2 * m : 0, &got) == PP_JOIN_OK, "failed");
		EXPECT(got.count == expected.all, "%u: %" PRIu64 ", not %" PRIu64, m, (uint64_t) got.count,
			   (uint64_t) expected.all);
		EXPECT(got.strategy == strategy, "%s", strategy_name[got.strategy]);
	}
	q.threads = 1 + unit_below(r, 2);
	check_groups(&q, g, style, strategy, &expected);
	if (k <= 4 && strategy == PP_JOIN_ORIENTED && expected.all < 100000)
		check_rows(&q, (uint64_t) expected.all);
	for (uint32_t v = 0; v < k; v++)
		free(expected.by[v]);
}

static void
check_cliques(UnitRandom *r, const Graph *g, uint32_t k, uint32_t style, uint64_t *nonempty)
{
	static const uint32_t variable[] = {0, 1, 2, 3, 4, 5};
	PpJoinAtom	atoms[15];
	PpJoinQuery q;

	q.natoms = 0;
	add_clique(r, &q, atoms, variable, k);
	check_pattern(r, g, atoms, q.natoms, k, style, PP_JOIN_ORIENTED, nonempty);
}

/* Cliques that hang on a variable, with a tail or another one. */
static void
test_hanging(void)
{
	static const struct
	{
		uint32_t	k;
		uint32_t	size[3];
		uint32_t	variable[3][4];
	}			pattern[] = {
		{5, {3, 3, 0}, {{0, 1, 2}, {2, 3, 4}}},	/* bow tie */
		{5, {3, 2, 2}, {{0, 1, 2}, {2, 3}, {3, 4}}},	/* lollipops */
		{5, {4, 2, 0}, {{0, 1, 2, 3}, {3, 4}}},
		{6, {3, 2, 3}, {{0, 1, 2}, {2, 3}, {3, 4, 5}}},	/* barbell */
		{6, {3, 4, 0}, {{0, 1, 2}, {0, 3, 4, 5}}},
		{6, {4, 2, 2}, {{0, 1, 2, 3}, {1, 4}, {4, 5}}},
		{4, {3, 3, 0}, {{0, 1, 2}, {0, 1, 3}}}	/* diamond, one edge twice */
	};
	const uint64_t n = unit_iterations(600);
	uint64_t	nonempty = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_HANGING, i);
		const uint32_t p = (uint32_t) (i % (sizeof(pattern) / sizeof(pattern[0])));
		const uint32_t style = unit_below(&r, 2);
		const uint32_t again = unit_once_in(&r, 2) ? 0 : 1 + unit_below(&r, 8);
		const uint32_t loops = unit_once_in(&r, 2) ? 0 : 1 + unit_below(&r, 6);
		uint32_t	name[MOST_VARIABLES];
		PpJoinAtom	atoms[15];
		PpJoinQuery q;
		Graph		g;

		unit_case("hanging cliques %" PRIu64, i);
		make_graph(&g, &r, 2 + unit_below(&r, 6), 30 + unit_below(&r, 50),
				   (Shape) unit_below(&r, SHAPES), again, loops, style);
		/* variables in any order */
		for (uint32_t v = 0; v < pattern[p].k; v++)
		{
			const uint32_t at = unit_below(&r, v + 1);

			name[v] = name[at];
			name[at] = v;
		}
		q.natoms = 0;
		for (uint32_t c = 0; c < 3; c++)
		{
			uint32_t	variable[4];

			for (uint32_t v = 0; v < pattern[p].size[c]; v++)
				variable[v] = name[pattern[p].variable[c][v]];
			add_clique(&r, &q, atoms, variable, pattern[p].size[c]);
		}
		check_pattern(&r, &g, atoms, q.natoms, pattern[p].k, style, PP_JOIN_GENERAL, &nonempty);
		drop_graph(&g);
	}
	unit_case("hanging cliques");
	EXPECT(nonempty * 3 > n, "%" PRIu64 " of %" PRIu64 " have an answer", nonempty, n);
}

static void
test_small(void)
{
	const uint64_t n = unit_iterations(1000);
	uint64_t	nonempty = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_SMALL, i);
		const uint32_t k = 3 + (uint32_t) (i % 4);
		const uint32_t style = unit_below(&r, 2);
		const uint32_t again = unit_once_in(&r, 3) ? 0 : 1 + unit_below(&r, 8);
		const uint32_t loops = unit_once_in(&r, 2) ? 0 : 1 + unit_below(&r, 6);
		Graph		g;

		unit_case("%u-cliques of small graph %" PRIu64, k, i);
		make_graph(&g, &r, 2 + unit_below(&r, k < 6 ? 8 : 6), 30 + unit_below(&r, 71),
				   (Shape) unit_below(&r, SHAPES), again, loops, style);
		check_cliques(&r, &g, k, style, &nonempty);
		drop_graph(&g);
	}
	unit_case("small graphs");
	EXPECT(nonempty * 3 > n, "%" PRIu64 " of %" PRIu64 " have an answer", nonempty, n);
}

/* Neighbourhoods of more than 64, and of more than 256. */
static void
test_large(void)
{
	const uint64_t n = unit_iterations(18);
	uint64_t	nonempty = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_LARGE, i);
		const uint32_t k = i % 4 == 3 ? 3 : 4 + (uint32_t) (i % 2);
		const uint32_t style = unit_below(&r, 2);
		const uint32_t size = k == 3 ? 320 : k == 4 ? 150 : 90;
		Graph		g;

		unit_case("%u-cliques of large graph %" PRIu64, k, i);
		make_graph(&g, &r, size, k == 3 ? 90 : 10 + unit_below(&r, k == 4 ? 10 : 6),
				   i % 8 == 3 ? UPWARDS : (Shape) unit_below(&r, SHAPES),
				   i % 8 == 3 ? 20 : unit_below(&r, 30), unit_once_in(&r, 2) ? 0 : 20, style);
		/* of patterns of three variables, some allow nothing here */
		for (uint32_t t = 0; t < (k == 3 ? 4 : 1); t++)
			check_cliques(&r, &g, k, style, &nonempty);
		drop_graph(&g);
	}
	unit_case("large graphs");
	EXPECT(nonempty * 2 > n, "%" PRIu64 " of %" PRIu64 " have an answer", nonempty, n);
}

/* Edges, or a loop, of so many rows that counts need more than 64 bits, or 128. */
static void
test_huge(void)
{
	for (uint32_t i = 0; i < 8; i++)
	{
		const uint32_t k = 4 + i / 2 % 2;
		const bool	loop = i < 4;
		const uint32_t rows = k == 4 || i % 2 == 0 ? 3000 : 30000;
		PpJoinAtom	atoms[10];
		PpJoinQuery q;
		PpJoinRelation e;
		Counted		got;
		Uint128		want = 1;
		bool		fits = true;
		PpJoinStatus status;
		uint64_t	at = 0;

		memset(&q, 0, sizeof(q));
		q.nvariables = k;
		q.nrelations = 1;
		q.atoms = atoms;
		q.relations = &e;
		q.simd = PP_SIMD_LEVELS;
		e.nrows = (loop ? 1 : k * (k - 1) / 2) * (uint64_t) rows;
		e.pairs = unit_malloc(2 * e.nrows * sizeof(int64_t));
		for (uint32_t x = 0; x < k; x++)
			for (uint32_t y = x + 1; y < k; y++)
			{
				atoms[q.natoms].relation = 0;
				atoms[q.natoms].variable[0] = x;
				atoms[q.natoms++].variable[1] = y;
				fits &= want <= ~(Uint128) 0 / rows;
				want *= rows;
				for (uint32_t j = 0; j < rows && at < e.nrows; j++, at++)
				{
					((int64_t *) (uintptr_t) e.pairs)[2 * at] = loop ? 5 : x;
					((int64_t *) (uintptr_t) e.pairs)[2 * at + 1] = loop ? 5 : y;
				}
			}
		unit_case("%u rows of each edge of a %u-clique%s", rows, k, loop ? ", a loop" : "");
		status = count_query(&q, i % 2, &got);
		EXPECT(status == (fits ? PP_JOIN_OK : PP_JOIN_TOO_MANY), "status %d", (int) status);
		EXPECT(!fits || got.count == want, "another count");
		free((void *) (uintptr_t) e.pairs);
	}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "trie_clique_test");
	test_small();
	test_large();
	test_hanging();
	test_huge();
	return unit_end();
}
