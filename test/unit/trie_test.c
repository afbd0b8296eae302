/*
 * test/unit/trie_test.c
 *	  The join engine against nested loops: random relations and patterns in
 *	  every mode, strategy and SIMD level, cut into parts, short of memory,
 *	  cancelled anywhere.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trie/box.h"
#include "trie/trie.h"
#include "trie_query.h"

enum
{
	T_KERNEL = 1,
	T_GALLOP,
	T_QUERY,
	T_BUDGET,
	T_CANCEL,
	T_FAIL,
	T_LARGE,
	T_DICT,
	T_BOX,
	T_MEMORY
};

/* ---------- kernels ---------- */

static int
compare_u32(const void *a, const void *b)
{
	uint32_t	x = *(const uint32_t *) a;
	uint32_t	y = *(const uint32_t *) b;

	return x < y ? -1 : x > y;
}

/* n different numbers in ascending order, with room behind that is not ours. */
static uint32_t *
random_list(UnitRandom *r, uint32_t n, uint32_t range)
{
	uint32_t   *list = unit_malloc((n + 1) * sizeof(uint32_t));
	uint32_t	m = 0;

	for (uint32_t i = 0; i < n; i++)
		list[i] = unit_below(r, range);
	qsort(list, n, sizeof(uint32_t), compare_u32);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || list[i] != list[i - 1])
			list[m++] = list[i];
	list[n] = m;
	return list;
}

static void
test_kernels(void)
{
	for (uint64_t i = 0; i < unit_iterations(2000); i++)
	{
		UnitRandom	r = unit_random(T_KERNEL, i);
		uint32_t	range = 1 + unit_below(&r, unit_once_in(&r, 3) ? 20 : 3000);
		uint32_t	size_a = unit_below(&r, unit_once_in(&r, 3) ? 12 : 700);
		uint32_t	size_b = unit_below(&r, unit_once_in(&r, 3) ? 12 : 700);
		uint32_t   *a = random_list(&r, size_a, range);
		uint32_t   *b = random_list(&r, size_b, range);
		uint32_t	na = a[size_a];
		uint32_t	nb = b[size_b];
		uint32_t   *want = unit_malloc((na + 1) * sizeof(uint32_t));
		uint32_t	nwant = 0;
		uint32_t   *graph = unit_malloc((nb + PP_TRIE_SHORT) * sizeof(uint32_t));
		uint32_t   *start = unit_malloc((range + 1) * sizeof(uint32_t));
		uint32_t	nshort_list = unit_below(&r, PP_TRIE_SHORT + 1);
		uint32_t	nshort = 0;
		uint32_t	words = 1 + unit_below(&r, 6);
		uint64_t   *rows;
		uint64_t	nand = 0;
		uint64_t	nedges = 0;

		unit_case("kernels %" PRIu64, i);
		for (uint32_t x = 0; x < na; x++)
			if (bsearch(&a[x], b, nb, sizeof(uint32_t), compare_u32))
				want[nwant++] = a[x];
		/* b is cut into the lists of vertices, and a begins one of another */
		for (uint32_t x = 0; x <= range; x++)
			start[x] = (uint32_t) ((uint64_t) nb * x / range);
		nshort_list = nshort_list < na ? nshort_list : na;
		memcpy(graph, b, nb * sizeof(uint32_t));
		memcpy(graph + nb, a, nshort_list * sizeof(uint32_t));
		for (uint32_t x = 0; x < nshort_list; x++)
			for (uint32_t y = start[a[x]]; y < start[a[x] + 1]; y++)
				for (uint32_t z = 0; z < nshort_list; z++)
					nshort += b[y] == a[z];
		if (words > 4)
			words = (words - 4) * PP_TRIE_WORDS;
		rows = unit_malloc((size_t) words * 64 * words * sizeof(uint64_t));
		for (uint32_t x = 0; x < words * 64 * words; x++)
			rows[x] = unit_next(&r) & unit_next(&r);
		for (uint32_t w = 0; w < words; w++)
			nand += (uint64_t) __builtin_popcountll(rows[w] & rows[words + w]);
		for (uint32_t x = 0; x < words * 64; x++)
			for (uint32_t w = 0; w < words && rows[x / 64] >> (x % 64) & 1; w++)
				nedges += (uint64_t) __builtin_popcountll(rows[x * words + w] & rows[w]);

		for (uint32_t level = 0; level < PP_SIMD_LEVELS; level++)
		{
			const PpTrieKernels *k = pp_trie_kernels((PpSimd) level);
			uint32_t   *out;
			size_t		n;

			if (k == NULL)
				continue;
			EXPECT(k->level == (PpSimd) level, "%s is another level", k->name);
			out = unit_malloc(((na < nb ? na : nb) + PP_TRIE_SLACK) * sizeof(uint32_t));
			n = k->intersect(a, na, b, nb, out);
			EXPECT(n == nwant && memcmp(out, want, nwant * sizeof(uint32_t)) == 0,
				   "%s intersects %u and %u to %zu, not %u", k->name, na, nb, n, nwant);
			free(out);
			n = k->intersect_count(a, na, b, nb);
			EXPECT(n == nwant, "%s counts %zu, not %u", k->name, n, nwant);
			if (k->short_triangles)
			{
				n = k->short_triangles(start, graph, nb, nb + nshort_list, nb + nshort_list);
				EXPECT(n == nshort, "%s counts %zu short, not %u", k->name, n, nshort);
			}
			if (words % PP_TRIE_WORDS == 0)
				EXPECT(k->and_count(rows, rows + words, words) == nand,
					   "%s: bits in common", k->name);
			EXPECT(k->edges_within(rows, words, rows) == nedges, "%s: edges within", k->name);
		}
		free(a);
		free(b);
		free(want);
		free(graph);
		free(start);
		free(rows);
	}
	unit_case("levels");
	EXPECT(pp_trie_kernels(PP_SIMD_SCALAR) != NULL, "no scalar kernels");
	EXPECT(pp_trie_kernels(PP_SIMD_LEVELS) == NULL, "kernels of no level");
	EXPECT(pp_trie_best_kernels() == pp_trie_kernels(pp_trie_best_kernels()->level),
		   "the best level is not its own");
}

static void
test_gallop(void)
{
	for (uint64_t i = 0; i < unit_iterations(500); i++)
	{
		UnitRandom	r = unit_random(T_GALLOP, i);
		uint32_t	size = unit_below(&r, 200);
		uint32_t   *list = random_list(&r, size, 400);
		uint32_t	n = list[size];
		PpTrieIter	it;

		unit_case("gallop %" PRIu64, i);
		for (uint32_t t = 0; t < 50; t++)
		{
			uint32_t	pos = unit_below(&r, n + 1);
			uint32_t	key = unit_below(&r, 410);
			uint32_t	want = pos;

			while (want < n && list[want] < key)
				want++;
			EXPECT(pp_trie_gallop(list, pos, n, key) == want, "from %u of %u to %u", pos, n, key);
			it.list = list;
			it.pos = pos;
			it.end = n;
			pp_trie_seek(&it, key);
			EXPECT(it.pos == want && pp_trie_at_end(&it) == (want == n), "seek");
			EXPECT(pp_trie_at_end(&it) || pp_trie_key(&it) >= key, "key");
		}
		free(list);
	}
}

/* ---------- random queries ---------- */

#define MAX_RELATIONS	3

/* Queries with larger answers get smaller relations. */
#define MAX_ANSWER		20000

typedef struct Case
{
	PpJoinQuery query;
	PpJoinAtom	atoms[16];
	PpJoinResidual residuals[6];
	PpJoinRelation relations[MAX_RELATIONS];
	int64_t    *pairs[MAX_RELATIONS];

	/* the answer: variables' keys, then atoms' rows */
	uint32_t	width;
	uint64_t	n;
	uint64_t	room;
	int64_t    *tuples;
} Case;

static int64_t
make_key(uint32_t style, uint32_t d)
{
	switch (style)
	{
		case 0:
			return (int64_t) d - 2;
		case 1:
			return (int64_t) d * 29 + 1000;
		default:
			if (d == 0)
				return INT64_MAX;
			if (d == 1)
				return INT64_MIN;
			return (int64_t) (d * UINT64_C(0x9e3779b97f4a7c15));
	}
}

static void
make_relation(Case *c, UnitRandom *r, uint32_t which, uint32_t style, uint32_t domain,
			  uint32_t nrows, uint32_t shape)
{
	int64_t    *pair = c->pairs[which] = unit_malloc((4 * (size_t) nrows + 2) * sizeof(int64_t));
	uint32_t	n = 0;

	for (uint32_t i = 0; i < nrows; i++)
	{
		uint32_t	a = unit_below(r, domain);
		uint32_t	b = unit_below(r, domain);
		bool		there = false;

		if (shape & 1)			/* skew */
			a = unit_below(r, a + 1);
		if (shape & 32)
			b = unit_below(r, b + 1);
		if ((shape & 2) && a == b)	/* no loops */
			continue;
		if ((shape & 4) && (make_key(style, a) > make_key(style, b)) == !(shape & 64))
		{
			uint32_t	swap = a;	/* increasing, or decreasing */

			a = b;
			b = swap;
		}
		for (uint32_t j = 0; j < n && (shape & 8); j++)	/* no duplicates */
			there |= pair[2 * j] == make_key(style, a) && pair[2 * j + 1] == make_key(style, b);
		if (there)
			continue;
		pair[2 * n] = make_key(style, a);
		pair[2 * n++ + 1] = make_key(style, b);
		if ((shape & 16) && a != b)	/* symmetric */
		{
			pair[2 * n] = make_key(style, b);
			pair[2 * n++ + 1] = make_key(style, a);
		}
	}
	c->relations[which].pairs = pair;
	c->relations[which].nrows = n;
}

static bool
compares(PpJoinCompare op, int64_t a, int64_t b)
{
	return op == PP_JOIN_LT ? a < b : op == PP_JOIN_LE ? a <= b :
		op == PP_JOIN_GT ? a > b : op == PP_JOIN_GE ? a >= b : a != b;
}

/* Nested loops over the rows of the atoms, from atom number a on. */
static void
nested_loops(Case *c, uint32_t a, const int64_t *value, uint32_t known, uint32_t *rows)
{
	const PpJoinQuery *q = &c->query;

	if (c->n > MAX_ANSWER)
		return;
	if (a == q->natoms)
	{
		int64_t    *out;

		for (uint32_t i = 0; i < q->nresiduals; i++)
			if (!compares(q->residuals[i].op, value[q->residuals[i].left],
						  value[q->residuals[i].right]))
				return;
		if (c->n == c->room)
		{
			c->room = 2 * c->room + 64;
			c->tuples = realloc(c->tuples, c->room * c->width * sizeof(int64_t));
			if (c->tuples == NULL)
				abort();
		}
		out = c->tuples + c->n++ * c->width;
		for (uint32_t v = 0; v < q->nvariables; v++)
			*out++ = value[v];
		for (uint32_t i = 0; i < q->natoms; i++)
			*out++ = rows[i];
		return;
	}
	for (uint64_t i = 0; i < q->relations[q->atoms[a].relation].nrows; i++)
	{
		const int64_t *pair = &q->relations[q->atoms[a].relation].pairs[2 * i];
		int64_t		bound[PP_JOIN_MAX_VARIABLES];
		uint32_t	now = known;
		bool		fits = true;

		memcpy(bound, value, sizeof(bound));
		for (uint32_t s = 0; s < 2; s++)
		{
			uint32_t	v = q->atoms[a].variable[s];

			fits &= !(now >> v & 1) || bound[v] == pair[s];
			bound[v] = pair[s];
			now |= 1u << v;
		}
		rows[a] = (uint32_t) i;
		if (fits)
			nested_loops(c, a + 1, bound, now, rows);
	}
}

static uint32_t tuple_width;

static int
compare_tuples(const void *a, const void *b)
{
	const int64_t *x = a;
	const int64_t *y = b;

	for (uint32_t i = 0; i < tuple_width; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* Patterns that have a strategy of their own, and any other. */
static void
make_pattern(Case *c, UnitRandom *r)
{
	PpJoinQuery *q = &c->query;
	uint32_t	n = 0;

	switch (unit_below(r, 6))
	{
		case 5:					/* a triangle with a tail, or with another apart */
			q->nvariables = unit_once_in(r, 2) ? 5 : 6;
			for (uint32_t e = 0; e < (q->nvariables == 5 ? 5u : 6u); e++)
			{
				static const uint8_t tail[5][2] = {{0, 1}, {1, 2}, {0, 2}, {2, 3}, {3, 4}};
				static const uint8_t apart[6][2] = {{0, 1}, {1, 2}, {0, 2}, {3, 4}, {4, 5}, {3, 5}};
				const uint8_t *edge = q->nvariables == 5 ? tail[e] : apart[e];

				c->atoms[n].relation = unit_below(r, q->nrelations);
				c->atoms[n].variable[0] = edge[0];
				c->atoms[n++].variable[1] = edge[1];
			}
			break;
		case 0:					/* a clique, of one relation as a rule */
			q->nvariables = 3 + unit_below(r, 4) % 3;
			for (uint32_t x = 0; x < q->nvariables; x++)
				for (uint32_t y = x + 1; y < q->nvariables; y++)
				{
					bool		back = unit_once_in(r, 4);

					c->atoms[n].relation = unit_once_in(r, 20) ? unit_below(r, q->nrelations) : 0;
					c->atoms[n].variable[0] = back ? y : x;
					c->atoms[n++].variable[1] = back ? x : y;
				}
			break;
		case 1:					/* a cycle */
			q->nvariables = 3 + unit_below(r, 3);
			for (uint32_t x = 0; x < q->nvariables; x++)
			{
				bool		back = unit_once_in(r, 3);
				uint32_t	y = (x + 1) % q->nvariables;

				c->atoms[n].relation = unit_below(r, q->nrelations);
				c->atoms[n].variable[0] = back ? y : x;
				c->atoms[n++].variable[1] = back ? x : y;
			}
			break;
		case 2:					/* two triangles at an edge, or at a vertex */
			q->nvariables = unit_once_in(r, 2) ? 4 : 5;
			for (uint32_t t = 0; t < 2; t++)
			{
				uint32_t	other = q->nvariables == 4 ? 1 : 1 + 2 * t;
				uint32_t	tip = q->nvariables == 4 ? 2 + t : 2 + 2 * t;

				for (uint32_t e = 0; e < 3; e++)
				{
					if (q->nvariables == 4 && t == 1 && e == 0)
						continue;
					c->atoms[n].relation = unit_below(r, q->nrelations);
					c->atoms[n].variable[0] = e == 2 ? other : 0;
					c->atoms[n++].variable[1] = e == 0 ? other : tip;
				}
			}
			break;
		default:				/* anything, loops and parallel atoms included */
			q->nvariables = 2 + unit_below(r, 4);
			n = 3 + unit_below(r, 5);
			for (uint32_t a = 0; a < n; a++)
			{
				c->atoms[a].relation = unit_below(r, q->nrelations);
				for (uint32_t s = 0; s < 2; s++)
					c->atoms[a].variable[s] = unit_below(r, q->nvariables);
				if (a < q->nvariables)	/* each is there, and most are connected */
					c->atoms[a].variable[0] = a;
			}
			if (n < q->nvariables)
				q->nvariables = n;
			for (uint32_t a = 0; a < n; a++)
				for (uint32_t s = 0; s < 2; s++)
					c->atoms[a].variable[s] %= q->nvariables;
			break;
	}
	q->natoms = n;
	q->nresiduals = unit_once_in(r, 2) ? 0 : unit_below(r, 4);
	for (uint32_t i = 0; i < q->nresiduals; i++)
	{
		c->residuals[i].op = (PpJoinCompare) unit_below(r, 5);
		c->residuals[i].left = unit_below(r, q->nvariables);
		c->residuals[i].right = unit_below(r, q->nvariables);
		if (c->residuals[i].left == c->residuals[i].right && !unit_once_in(r, 8))
			c->residuals[i].right = (c->residuals[i].left + 1) % q->nvariables;
	}
}

/* Atoms in an order in which each but the first shares a variable, if any. */
static void
connect_atoms(Case *c)
{
	uint32_t	known = 0;

	for (uint32_t a = 0; a < c->query.natoms; a++)
	{
		uint32_t	best = a;
		uint32_t	most = 0;

		for (uint32_t b = a; b < c->query.natoms; b++)
		{
			uint32_t	n = (known >> c->atoms[b].variable[0] & 1) + (known >> c->atoms[b].variable[1] & 1);

			if (n > most)
			{
				most = n;
				best = b;
			}
		}
		if (best != a)
		{
			PpJoinAtom	swap = c->atoms[a];

			c->atoms[a] = c->atoms[best];
			c->atoms[best] = swap;
		}
		known |= 1u << c->atoms[a].variable[0] | 1u << c->atoms[a].variable[1];
	}
}

static void
make_case(Case *c, UnitRandom *r)
{
	const uint32_t style = unit_below(r, 3);
	uint32_t	shape = unit_below(r, 256);
	const int64_t none[PP_JOIN_MAX_VARIABLES] = {0};
	uint32_t	rows[16];

	memset(c, 0, sizeof(*c));
	c->query.nrelations = 1 + unit_below(r, MAX_RELATIONS);
	make_pattern(c, r);
	/* cliques of one relation without duplicates have ways of their own */
	if (c->query.natoms == c->query.nvariables * (c->query.nvariables - 1) / 2 &&
		unit_once_in(r, 2))
	{
		shape |= 8;
		if (unit_once_in(r, 2))
			shape = (shape | 4) & ~16u;
	}
	connect_atoms(c);
	for (uint32_t i = 0; i < c->query.nrelations; i++)
	{
		uint32_t	domain = 2 + unit_below(r, 9);
		uint32_t	nrows = unit_below(r, c->query.nvariables > 4 || c->query.natoms > 6 ? 16 : 26);

		make_relation(c, r, i, style, domain, nrows, i == 0 ? shape : unit_below(r, 128));
		/* the last row of a loop twice, where nothing else need be there twice */
		for (uint64_t k = c->relations[i].nrows; i == 0 && (shape & 136) == 136 && k-- > 0;)
			if (c->pairs[i][2 * k] == c->pairs[i][2 * k + 1])
			{
				c->pairs[i][2 * c->relations[i].nrows] = c->pairs[i][2 * k];
				c->pairs[i][2 * c->relations[i].nrows++ + 1] = c->pairs[i][2 * k];
				break;
			}
	}
	c->query.atoms = c->atoms;
	c->query.residuals = c->residuals;
	c->query.relations = c->relations;
	c->query.simd = PP_SIMD_LEVELS;
	c->width = c->query.nvariables + c->query.natoms;
	for (;;)
	{
		c->n = 0;
		nested_loops(c, 0, none, 0, rows);
		if (c->n <= MAX_ANSWER)
			break;
		for (uint32_t i = 0; i < c->query.nrelations; i++)
			c->relations[i].nrows -= c->relations[i].nrows / 4 + (c->relations[i].nrows > 1);
	}
	tuple_width = c->width;
	if (c->n > 1)
		qsort(c->tuples, c->n, c->width * sizeof(int64_t), compare_tuples);
}

static void
drop_case(Case *c)
{
	for (uint32_t i = 0; i < MAX_RELATIONS; i++)
		free(c->pairs[i]);
	free(c->tuples);
}

/* Runs the query in its mode and compares; any other status is handed on. */
static PpJoinStatus
run_case(const Case *c, UnitHeap *heap, size_t budget, uint32_t nparts, size_t capacity,
		 PpJoinStrategy *strategy)
{
	const PpJoinQuery *q = &c->query;
	const PpAlloc alloc = unit_heap_alloc(heap);
	PpJoin	   *join;
	PpJoinStatus status = pp_join_build(q, &alloc, budget, &join);
	Uint128		total = 0;
	uint64_t	n = 0;
	int64_t    *got = NULL;
	int64_t    *keys = unit_malloc((capacity * 16 + 1) * sizeof(int64_t));
	uint32_t   *rows = unit_malloc((capacity * 16 + 1) * sizeof(uint32_t));
	PpCount    *counts = unit_malloc(capacity * sizeof(PpCount));

	EXPECT((status == PP_JOIN_OK) == (join != NULL), "status %d", (int) status);
	EXPECT(heap->peak_bytes <= budget, "%zu bytes of %zu", heap->peak_bytes, budget);
	if (join)
	{
		EXPECT(pp_join_info(join)->peak_bytes <= budget &&
			   pp_join_info(join)->bytes == heap->live_bytes,
			   "says %zu, has %zu bytes", pp_join_info(join)->bytes, heap->live_bytes);
		*strategy = pp_join_info(join)->strategy;
		got = unit_malloc((c->n * c->width + 1) * sizeof(int64_t));
	}
	for (uint32_t part = 0; part < nparts && status == PP_JOIN_OK; part++)
	{
		PpJoinRun  *run;
		UnitHeap	own = {0};
		const PpAlloc own_alloc = unit_heap_alloc(&own);
		size_t		m;

		own.fail_at = heap->fail_at > heap->calls ? heap->fail_at - heap->calls : 0;
		status = nparts == 1 ?
			pp_join_open_threads(join, &own_alloc, budget, q->threads, &run) :
			pp_join_open(join, &own_alloc, budget, part, nparts, &run);
		heap->failed |= own.failed;
		EXPECT((status == PP_JOIN_OK) == (run != NULL), "status %d", (int) status);
		if (status != PP_JOIN_OK)
		{
			EXPECT(own.live_blocks == 0, "a failed run holds memory");
			break;
		}
		if (q->mode == PP_JOIN_COUNT)
		{
			PpCount		count;

			status = pp_join_count(run, &count);
			total += (Uint128) count.high << 64 | count.low;
			EXPECT(status != PP_JOIN_OK || pp_join_count(run, &count) == PP_JOIN_INVALID,
				   "counted twice");
		}
		else if (q->mode == PP_JOIN_GROUPS)
			do
			{
				status = pp_join_groups(run, keys, counts, capacity, &m);
				for (size_t i = 0; i < m && status == PP_JOIN_OK; i++)
				{
					uint64_t	want = 0;

					for (uint64_t t = 0; t < c->n; t++)
						want += c->tuples[t * c->width + q->group] == keys[i];
					EXPECT(want > 0 && counts[i].low == want && counts[i].high == 0,
						   "key %" PRId64 ": %" PRIu64 ", not %" PRIu64, keys[i],
						   counts[i].low, want);
					total += want;
				}
			} while (m > 0 && status == PP_JOIN_OK);
		else
			do
			{
				status = pp_join_rows(run, keys, q->row_numbers ? rows : NULL, capacity, &m);
				EXPECT(m <= capacity && n + m <= c->n, "more than %" PRIu64 " rows", c->n);
				for (size_t i = 0; i < m && n < c->n; i++, n++)
				{
					int64_t    *out = got + n * c->width;

					for (uint32_t v = 0; v < q->nvariables; v++)
						*out++ = keys[v * capacity + i];
					for (uint32_t a = 0; a < q->natoms; a++)
						*out++ = q->row_numbers ? rows[a * capacity + i] : 0;
				}
			} while (m > 0 && status == PP_JOIN_OK);
		pp_join_close(run);
		EXPECT(own.live_blocks == 0, "a closed run holds memory");
		EXPECT(own.peak_bytes <= budget, "run: %zu bytes of %zu", own.peak_bytes, budget);
	}
	if (status == PP_JOIN_OK && q->mode == PP_JOIN_ROWS)
	{
		bool		same = n == c->n;

		tuple_width = c->width;
		if (n > 1)
			qsort(got, n, c->width * sizeof(int64_t), compare_tuples);
		for (uint64_t t = 0; t < n && same; t++)
			same = memcmp(got + t * c->width, c->tuples + t * c->width,
						  (q->row_numbers ? c->width : q->nvariables) * sizeof(int64_t)) == 0;
		EXPECT(same, "%" PRIu64 " rows, or others, instead of %" PRIu64, n, c->n);
	}
	else if (status == PP_JOIN_OK)
		EXPECT(total == c->n, "%" PRIu64 " counted, not %" PRIu64 " (%s)", (uint64_t) total, c->n,
			   strategy_name[*strategy]);
	pp_join_free(join);
	EXPECT(heap->live_blocks == 0, "%zu blocks are left", heap->live_blocks);
	free(got);
	free(keys);
	free(rows);
	free(counts);
	return status;
}

/* Sets mode number m of those there are; false: there are no more. */
static bool
set_mode(Case *c, uint32_t m)
{
	c->query.strategy = m == 1 ? PP_JOIN_GENERAL : PP_JOIN_AUTO;
	c->query.mode = m < 2 ? PP_JOIN_COUNT : m < 4 ? PP_JOIN_ROWS : PP_JOIN_GROUPS;
	c->query.row_numbers = m == 3;
	c->query.group = m < 4 ? 0 : m - 4;
	c->query.threads = m % 4;
	return m < 4 + c->query.nvariables;
}

static void
test_queries(void)
{
	uint64_t	met[4] = {0};
	uint64_t	nonempty = 0;
	uint64_t	n = unit_iterations(4000);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_QUERY, i);
		Case		c;

		unit_case("query %" PRIu64, i);
		make_case(&c, &r);
		nonempty += c.n > 0;
		for (uint32_t m = 0; set_mode(&c, m); m++)
		{
			UnitHeap	heap = {0};
			PpJoinStrategy strategy = PP_JOIN_AUTO;
			PpJoinStatus status;

			do
				c.query.simd = (PpSimd) unit_below(&r, PP_SIMD_LEVELS + 1);
			while (c.query.simd != PP_SIMD_LEVELS && pp_trie_kernels(c.query.simd) == NULL);
			c.query.threads = unit_below(&r, 4);
			status = run_case(&c, &heap, (size_t) 1 << 30, 1 + unit_below(&r, 3),
							  1 + unit_below(&r, 40), &strategy);
			EXPECT(status == PP_JOIN_OK, "mode %u: status %d", m, (int) status);
			met[strategy]++;
		}
		drop_case(&c);
	}
	unit_case("what the queries were");
	EXPECT(nonempty * 4 > n, "%" PRIu64 " of %" PRIu64 " have an answer", nonempty, n);
	EXPECT(met[PP_JOIN_GENERAL] && (n < 100 || (met[PP_JOIN_ORIENTED] && met[PP_JOIN_WEDGES])),
		   "a strategy was never met");
}

static void
test_budgets(void)
{
	uint64_t	refused = 0;
	uint64_t	done = 0;

	for (uint64_t i = 0; i < unit_iterations(150); i++)
	{
		UnitRandom	r = unit_random(T_BUDGET, i);
		Case		c;

		unit_case("budgets of query %" PRIu64, i);
		make_case(&c, &r);
		for (uint32_t m = 0; set_mode(&c, m); m++)
			for (size_t budget = 0; budget < 400000; budget += budget / 3 + 1 + unit_below(&r, 5000))
			{
				UnitHeap	heap = {0};
				PpJoinStrategy strategy = PP_JOIN_AUTO;
				PpJoinStatus status = run_case(&c, &heap, budget, 1, 20, &strategy);

				EXPECT(status == PP_JOIN_OK || status == PP_JOIN_NO_FIT, "status %d", (int) status);
				refused += status == PP_JOIN_NO_FIT;
				done += status == PP_JOIN_OK;
			}
		drop_case(&c);
	}
	unit_case("budgets");
	EXPECT(refused > 0 && done > 0, "%" PRIu64 " refused, %" PRIu64 " done", refused, done);
}

static bool
count_down(void *ctx)
{
	uint64_t   *left = ctx;
	uint64_t	n = __atomic_load_n(left, __ATOMIC_RELAXED);

	while (n > 0 && !__atomic_compare_exchange_n(left, &n, n - 1, false,
												 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return n == 0;
}

static void
test_cancel(void)
{
	for (uint64_t i = 0; i < unit_iterations(100); i++)
	{
		UnitRandom	r = unit_random(T_CANCEL, i);
		Case		c;

		make_case(&c, &r);
		c.query.cancelled = count_down;
		for (uint32_t m = 0; set_mode(&c, m); m++)
		{
			PpJoinStatus status = PP_JOIN_CANCELLED;

			unit_case("query %" PRIu64 " cancelled, mode %u", i, m);
			for (uint64_t calls = 0; status == PP_JOIN_CANCELLED && calls < 10000; calls++)
			{
				UnitHeap	heap = {0};
				uint64_t	left = calls;
				PpJoinStrategy strategy = PP_JOIN_AUTO;

				c.query.cancel_ctx = &left;
				status = run_case(&c, &heap, (size_t) 1 << 30, 2, 20, &strategy);
				EXPECT(status == PP_JOIN_OK || status == PP_JOIN_CANCELLED, "status %d", (int) status);
				EXPECT(calls > 0 || status == PP_JOIN_CANCELLED || c.relations[0].nrows == 0 ||
					   c.n == 0, "never asked");
			}
			EXPECT(status == PP_JOIN_OK, "it does not end");
		}
		drop_case(&c);
	}
}

static void
test_failures(void)
{
	for (uint64_t i = 0; i < unit_iterations(100); i++)
	{
		UnitRandom	r = unit_random(T_FAIL, i);
		Case		c;

		make_case(&c, &r);
		for (uint32_t m = 0; set_mode(&c, m); m++)
		{
			PpJoinStatus status = PP_JOIN_NO_MEMORY;

			unit_case("query %" PRIu64 " without memory, mode %u", i, m);
			for (uint64_t at = 1; status == PP_JOIN_NO_MEMORY && at < 1000; at++)
			{
				UnitHeap	heap = {0};
				PpJoinStrategy strategy = PP_JOIN_AUTO;

				heap.fail_at = at;
				status = run_case(&c, &heap, (size_t) 1 << 30, 1, 20, &strategy);
				EXPECT(status == PP_JOIN_OK || status == PP_JOIN_NO_MEMORY, "status %d", (int) status);
				EXPECT(heap.failed == (status == PP_JOIN_NO_MEMORY), "failure %" PRIu64, at);
			}
			EXPECT(status == PP_JOIN_OK, "it does not end");
		}
		drop_case(&c);
	}
}

/* ---------- larger relations ---------- */

/* Edges of n vertices in random order, many at few of them. */
static int64_t *
make_edges(UnitRandom *r, uint32_t n, uint32_t nedges, uint32_t kind, uint64_t *nrows)
{
	int64_t    *pair = unit_malloc(4 * (size_t) nedges * sizeof(int64_t));
	uint8_t    *there = calloc((size_t) n * n, 1);
	uint64_t	m = 0;

	if (there == NULL)
		abort();
	for (uint32_t i = 0; i < nedges; i++)
	{
		uint32_t	a = unit_below(r, 1 + unit_below(r, n));
		uint32_t	b = unit_below(r, unit_once_in(r, 2) ? n : 1 + a);

		if (kind == 0 && a > b)
		{
			uint32_t	swap = a;

			a = b;
			b = swap;
		}
		if (a == b || there[(size_t) a * n + b])
			continue;
		there[(size_t) a * n + b] = 1;
		pair[2 * m] = a;
		pair[2 * m++ + 1] = b;
		if (kind == 1 && !there[(size_t) b * n + a])
		{
			there[(size_t) b * n + a] = 1;
			pair[2 * m] = b;
			pair[2 * m++ + 1] = a;
		}
	}
	free(there);
	*nrows = m;
	return pair;
}

/* Assignments of a pattern of four variables at most, by a matrix. */
static Uint128
count_by_matrix(const PpJoinQuery *q, uint32_t n)
{
	const uint32_t words = n / 64 + 1;
	uint64_t   *out = calloc((size_t) n * words, 8);	/* row a: b with a, b */
	uint64_t   *in = calloc((size_t) n * words, 8);
	uint64_t   *set = unit_malloc(words * 8);
	const PpJoinRelation *e = &q->relations[0];
	Uint128		count = 0;
	const uint32_t last = q->nvariables - 1;

	if (out == NULL || in == NULL)
		abort();
	for (uint64_t i = 0; i < e->nrows; i++)
	{
		size_t		a = (size_t) e->pairs[2 * i];
		size_t		b = (size_t) e->pairs[2 * i + 1];

		out[a * words + b / 64] |= UINT64_C(1) << (b % 64);
		in[b * words + a / 64] |= UINT64_C(1) << (a % 64);
	}
	for (uint32_t x = 0; x < n; x++)
		for (uint32_t y = 0; y < n; y++)
			for (uint32_t z = 0; z < (last == 3 ? n : 1); z++)
			{
				const size_t value[3] = {x, y, z};
				bool		fits = true;

				for (uint32_t a = 0; a < q->natoms && fits; a++)
				{
					const uint32_t *v = q->atoms[a].variable;

					if (v[0] != last && v[1] != last)
						fits = out[value[v[0]] * words + value[v[1]] / 64] >>
							(value[v[1]] % 64) & 1;
				}
				if (!fits)
					continue;
				memset(set, 0xff, words * 8);
				for (uint32_t a = 0; a < q->natoms; a++)
				{
					const uint32_t *v = q->atoms[a].variable;

					for (uint32_t w = 0; w < words; w++)
						if (v[1] == last)
							set[w] &= out[value[v[0]] * words + w];
						else if (v[0] == last)
							set[w] &= in[value[v[1]] * words + w];
				}
				for (uint32_t w = 0; w < words; w++)
					count += (Uint128) __builtin_popcountll(set[w]);
			}
	free(out);
	free(in);
	free(set);
	return count;
}

static void
test_large(void)
{
	static const PpJoinAtom transitive[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}};
	static const PpJoinAtom cyclic[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {2, 0}}};
	static const PpJoinAtom walk[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {2, 3}}, {0, {3, 0}}};
	static const PpJoinAtom clique[] = {
		{0, {0, 1}}, {0, {0, 2}}, {0, {0, 3}}, {0, {1, 2}}, {0, {1, 3}}, {0, {2, 3}}
	};
	static const struct
	{
		const char *name;
		const PpJoinAtom *atoms;
		uint32_t	natoms;
		uint32_t	nvariables;
	}			pattern[] = {
		{"transitive", transitive, 3, 3},
		{"cyclic", cyclic, 3, 3},
		{"walk", walk, 4, 4},
		{"clique", clique, 6, 4}
	};
	uint64_t	hubs = unit_iterations(6);

	for (uint64_t i = 0; i < hubs; i++)
		for (uint32_t p = 0; p < 4; p++)
		{
			UnitRandom	r = unit_random(T_LARGE, i * 4 + p);
			uint32_t	kind = (uint32_t) ((i + (p < 2 ? 0 : 2)) % 3);
			uint32_t	n = p < 2 ? 1500 : 130 + unit_below(&r, 40);
			PpJoinRelation e;
			PpJoinQuery q;
			int64_t    *pairs = make_edges(&r, n, p < 2 ? 60000 : 9000, kind, &e.nrows);
			Uint128		want;

			e.pairs = pairs;
			memset(&q, 0, sizeof(q));
			q.nvariables = pattern[p].nvariables;
			q.natoms = pattern[p].natoms;
			q.nrelations = 1;
			q.atoms = pattern[p].atoms;
			q.relations = &e;
			want = count_by_matrix(&q, n);
			unit_case("%s of a large relation %" PRIu64, pattern[p].name, i);
			for (uint32_t level = 0; level < PP_SIMD_LEVELS; level++)
				for (uint32_t general = 0; general < 2; general++)
				{
					Counted		got;
					PpJoinStrategy expected = general ? PP_JOIN_GENERAL :
						p == 2 ? PP_JOIN_WEDGES : PP_JOIN_ORIENTED;

					q.simd = (PpSimd) level;
					q.threads = level;
					q.strategy = general ? PP_JOIN_GENERAL : PP_JOIN_AUTO;
					if (pp_trie_kernels(q.simd) == NULL)
						continue;
					EXPECT(count_query(&q, level, &got) == PP_JOIN_OK, "failed");
					EXPECT(got.count == want, "level %u, %s: %" PRIu64 ", not %" PRIu64, level,
						   strategy_name[got.strategy], (uint64_t) got.count, (uint64_t) want);
					EXPECT(got.strategy == expected, "%s", strategy_name[got.strategy]);
				}
			q.simd = PP_SIMD_LEVELS;
			q.strategy = PP_JOIN_AUTO;
			if (p != 2)
				check_modes(&q, want);
			free(pairs);
		}
}

/* Counts beyond 64 bits, and beyond what there is. */
static void
test_huge_counts(void)
{
	int64_t		pairs[2 * 16];
	PpJoinRelation e = {pairs, 16};
	PpJoinAtom	atoms[PP_JOIN_MAX_ATOMS];
	PpJoinQuery q;

	memset(pairs, 0, sizeof(pairs));
	memset(atoms, 0, sizeof(atoms));
	memset(&q, 0, sizeof(q));
	q.nvariables = q.nrelations = 1;
	q.atoms = atoms;
	q.relations = &e;
	q.simd = PP_SIMD_LEVELS;
	for (uint32_t loops = 0; loops < 2; loops++)
		for (uint32_t n = 1; n <= PP_JOIN_MAX_ATOMS; n++)
		{
			Counted		got;
			PpJoinStatus status;

			unit_case("a key 16 times in %u atoms%s", n, loops ? "" : ", two variables");
			q.natoms = n;
			q.nvariables = loops ? 1 : 2;
			for (uint32_t a = 0; a < n; a++)
				atoms[a].variable[1] = !loops;
			status = count_query(&q, 1, &got);
			EXPECT(status == (n < 32 ? PP_JOIN_OK : PP_JOIN_TOO_MANY), "status %d", (int) status);
			EXPECT(n >= 32 || got.count == (Uint128) 1 << (4 * n), "another count");
		}
}

static void
test_dictionaries(void)
{
	static const PpJoinAtom cyclic[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {2, 0}}};
	static const PpJoinResidual less[] = {{PP_JOIN_LT, 0, 1}};
	static const char *const names[] = {"direct", "rank", "hash"};

	for (uint32_t style = 0; style < 3; style++)
	{
		UnitRandom	r = unit_random(T_DICT, style);
		const uint32_t n = 60000;
		int64_t    *pairs = unit_malloc(6 * (size_t) n * sizeof(int64_t));
		PpJoinRelation e = {pairs, 3 * (uint64_t) n};
		PpJoinQuery q;

		/* n triangles of vertices of their own, in random order of rows */
		for (uint32_t t = 0; t < n; t++)
			for (uint32_t i = 0; i < 3; i++)
			{
				pairs[6 * t + 2 * i] = make_key(style, 3 * t + i);
				pairs[6 * t + 2 * i + 1] = make_key(style, 3 * t + (i + 1) % 3);
			}
		for (uint32_t i = 3 * n - 1; i > 0; i--)
		{
			uint32_t	j = unit_below(&r, i + 1);

			for (uint32_t s = 0; s < 2; s++)
			{
				int64_t		swap = pairs[2 * i + s];

				pairs[2 * i + s] = pairs[2 * j + s];
				pairs[2 * j + s] = swap;
			}
		}
		memset(&q, 0, sizeof(q));
		q.nvariables = q.natoms = 3;
		q.nrelations = 1;
		q.atoms = cyclic;
		q.relations = &e;
		q.simd = PP_SIMD_LEVELS;
		unit_case("dictionary %s", names[style]);
		for (uint32_t m = 0; m < 4; m++)
		{
			Counted		got;
			Uint128		want = 3 * (Uint128) n;

			q.strategy = m & 1 ? PP_JOIN_GENERAL : PP_JOIN_AUTO;
			q.residuals = less;
			q.nresiduals = m >> 1;
			if (m >> 1)
			{
				want = 0;
				for (uint32_t i = 0; i < 3 * n; i++)
					want += pairs[2 * i] < pairs[2 * i + 1];
			}
			q.threads = m;
			q.seed = unit_next(&r);
			EXPECT(count_query(&q, m % 2, &got) == PP_JOIN_OK, "failed");
			EXPECT(got.count == want, "%" PRIu64 " of %u", (uint64_t) got.count, n);
			EXPECT(strcmp(got.dictionary, names[style]) == 0, "it is %s", got.dictionary);
		}
		free(pairs);
	}
}

/* ---------- boxes ---------- */

/* A box's answer; adds to the tuples met, which keys of rows tell. */
static uint64_t
run_box(const Case *c, const PpBox *box, uint64_t seed, int64_t *keys, PpCount *counts,
		uint64_t *met)
{
	const PpJoinQuery *whole = &c->query;
	PpJoinQuery q = *whole;
	PpJoinAtom	atoms[16];
	PpJoinRelation relations[16];
	uint32_t	of_atom[PP_JOIN_MAX_ATOMS];
	uint32_t	atom_of[PP_JOIN_MAX_ATOMS];
	UnitHeap	heap = {0};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	PpJoin	   *join;
	PpJoinRun  *run;
	uint64_t	total = 0;
	size_t		m;

	q.nrelations = pp_box_relations(whole, box, of_atom, atom_of);
	q.relations = relations;
	q.atoms = atoms;
	for (uint32_t i = 0; i < q.nrelations; i++)
	{
		const PpJoinAtom *atom = &whole->atoms[atom_of[i]];
		const PpJoinRelation *from = &whole->relations[atom->relation];
		int64_t    *pairs = unit_malloc((2 * from->nrows + 1) * sizeof(int64_t));

		relations[i].nrows = 0;
		relations[i].pairs = pairs;
		for (uint64_t r = 0; r < from->nrows; r++)
			if (pp_box_has_row(box, seed, atom, from->pairs[2 * r], from->pairs[2 * r + 1]))
			{
				pairs[2 * relations[i].nrows] = from->pairs[2 * r];
				pairs[2 * relations[i].nrows++ + 1] = from->pairs[2 * r + 1];
			}
	}
	for (uint32_t a = 0; a < q.natoms; a++)
	{
		atoms[a] = whole->atoms[a];
		atoms[a].relation = of_atom[a];
		/* those that share rows have the same ones */
		for (uint64_t r = 0; r < whole->relations[whole->atoms[a].relation].nrows; r++)
		{
			const int64_t *pair = &whole->relations[whole->atoms[a].relation].pairs[2 * r];

			EXPECT(pp_box_has_row(box, seed, &whole->atoms[a], pair[0], pair[1]) ==
				   pp_box_has_row(box, seed, &whole->atoms[atom_of[of_atom[a]]], pair[0], pair[1]),
				   "atom %u has other rows", a);
		}
	}
	EXPECT(pp_join_build(&q, &alloc, (size_t) 1 << 30, &join) == PP_JOIN_OK &&
		   pp_join_open(join, &alloc, (size_t) 1 << 30, 0, 1, &run) == PP_JOIN_OK, "failed");
	if (q.mode == PP_JOIN_COUNT)
	{
		PpCount		count;

		EXPECT(pp_join_count(run, &count) == PP_JOIN_OK, "not counted");
		total = count.low;
	}
	else if (q.mode == PP_JOIN_GROUPS)
		while (pp_join_groups(run, keys, counts, 50, &m) == PP_JOIN_OK && m > 0)
			for (size_t i = 0; i < m; i++)
			{
				EXPECT(pp_box_has_key(box, seed, q.group, keys[i]), "a group of another box");
				for (uint64_t t = 0; t < c->n; t++)
					if (c->tuples[t * c->width + q.group] == keys[i])
					{
						met[t] += counts[i].low;
						break;
					}
				total += counts[i].low;
			}
	else
		while (pp_join_rows(run, keys, NULL, 50, &m) == PP_JOIN_OK && m > 0)
			total += m;
	pp_join_close(run);
	pp_join_free(join);
	for (uint32_t i = 0; i < q.nrelations; i++)
		free((void *) (uintptr_t) relations[i].pairs);
	return total;
}

static void
test_boxes(void)
{
	uint64_t	refined = 0;
	uint64_t	ranges = 0;

	for (uint64_t i = 0; i < unit_iterations(300); i++)
	{
		UnitRandom	r = unit_random(T_BOX, i);
		Case		c;
		int64_t    *keys = unit_malloc(50 * 16 * sizeof(int64_t));
		PpCount    *counts = unit_malloc(50 * sizeof(PpCount));
		uint64_t   *met;
		uint8_t    *range;

		unit_case("boxes of query %" PRIu64, i);
		make_case(&c, &r);
		met = unit_malloc((c.n + 1) * sizeof(uint64_t));
		range = unit_malloc(c.n + 1);
		for (uint32_t m = 0; set_mode(&c, m); m++)
		{
			const uint64_t seed = unit_next(&r);
			uint64_t	total = 0;
			uint32_t	nboxes = 0;
			uint64_t	nrows = 0;
			uint8_t		now = 1;
			PpBoxes		boxes;
			PpBox		box;

			c.query.row_numbers = false;
			for (uint32_t k = 0; k < c.query.nrelations; k++)
				nrows += c.relations[k].nrows;
			memset(met, 0, (c.n + 1) * sizeof(uint64_t));
			memset(range, 0, c.n + 1);
			for (size_t budget = (nrows * 10 + 10) / (1 + unit_below(&r, 5));; budget *= 2)
			{
				(void) pp_boxes_begin(&boxes, &c.query, budget, 10, seed);
				if (boxes.nboxes <= 256)
					break;
			}
			while (pp_boxes_next(&boxes, &box) && nboxes < 3000)
			{
				if (unit_once_in(&r, 6) && nboxes < 300)
				{
					PpBoxTally	tally = {0};
					const uint32_t waiting = boxes.nwaiting;

					for (uint32_t a = 0; a < c.query.natoms; a++)
					{
						const PpJoinRelation *e = &c.query.relations[c.query.atoms[a].relation];

						for (uint64_t k = 0; k < e->nrows; k++)
							if (pp_box_has_row(&box, seed, &c.query.atoms[a], e->pairs[2 * k],
											   e->pairs[2 * k + 1]))
								pp_box_tally(&tally, &c.query, &box, seed, a, e->pairs[2 * k],
											 e->pairs[2 * k + 1]);
					}
					if (pp_boxes_refine(&boxes, &box, &tally) == PP_JOIN_OK)
					{
						EXPECT(boxes.nwaiting == waiting + 2, "not two halves");
						refined++;
						continue;
					}
					for (uint32_t a = 0; a < c.query.natoms; a++)
						EXPECT(waiting + 2 > PP_BOX_WAITING ||
							   (!tally.differ[a][0] && !tally.differ[a][1]), "could be cut");
				}
				nboxes++;
				{
					uint64_t   *before = unit_malloc((c.n + 1) * sizeof(uint64_t));

					memcpy(before, met, (c.n + 1) * sizeof(uint64_t));
					total += run_box(&c, &box, seed, keys, counts, met);
					for (uint64_t t = 0; t < c.n; t++)
						if (met[t] != before[t])
						{
							EXPECT(range[t] == 0 || range[t] == now, "a group comes in two ranges");
							range[t] = now;
						}
					free(before);
				}
				if (boxes.group_ends)
				{
					now = now == 255 ? 1 : (uint8_t) (now + 1);
					ranges++;
				}
			}
			EXPECT(boxes.group_ends, "the last range does not end");
			EXPECT(nboxes < 3000 && total == c.n, "mode %u, %u boxes: %" PRIu64 ", not %" PRIu64,
				   m, nboxes, total, c.n);
			for (uint64_t t = 0; t < c.n && c.query.mode == PP_JOIN_GROUPS; t++)
			{
				uint64_t	want = 0;

				for (uint64_t s = 0; s < c.n && met[t] > 0; s++)
					want += c.tuples[s * c.width + c.query.group] == c.tuples[t * c.width + c.query.group];
				EXPECT(met[t] == want, "a group of %" PRIu64 ", not %" PRIu64, met[t], want);
			}
		}
		free(keys);
		free(counts);
		free(met);
		free(range);
		drop_case(&c);
	}
	unit_case("boxes");
	EXPECT(refined > 0 && ranges > 0, "nothing was cut");
}

/* Planned boxes are no larger than they are to be, and no more than needed. */
static void
test_box_plans(void)
{
	static const PpJoinAtom triangle[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}};
	const PpJoinRelation e = {NULL, 1000000};
	PpJoinQuery q;
	PpBoxes		boxes;

	memset(&q, 0, sizeof(q));
	q.nvariables = q.natoms = 3;
	q.nrelations = 1;
	q.atoms = triangle;
	q.relations = &e;
	unit_case("plans of boxes");
	EXPECT(pp_boxes_begin(&boxes, &q, 100000000, 100, 1) && boxes.nboxes == 1, "a cut for nothing");
	/* three atoms of a quarter each, cut by two keys of three */
	EXPECT(pp_boxes_begin(&boxes, &q, 75000000, 100, 1) && boxes.nboxes == 8 &&
		   boxes.bits[0] == 1 && boxes.bits[1] == 1 && boxes.bits[2] == 1,
		   "%u boxes", (uint32_t) boxes.nboxes);
	EXPECT(!pp_boxes_begin(&boxes, &q, 10, 100, 1), "nothing fits 10 bytes");
	q.mode = PP_JOIN_GROUPS;
	q.group = 1;
	EXPECT(pp_boxes_begin(&boxes, &q, 20000000, 100, 1) && boxes.bits[1] > 0, "groups not cut");
}

/* ---------- memory ---------- */

static void
test_memory(void)
{
	static const PpJoinAtom triangle[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}};
	static const PpJoinAtom clique[] = {
		{0, {0, 1}}, {0, {0, 2}}, {0, {0, 3}}, {0, {1, 2}}, {0, {1, 3}}, {0, {2, 3}}
	};
	const uint32_t n = 400000;
	int64_t    *pairs = unit_malloc(2 * (size_t) n * sizeof(int64_t));
	PpJoinRelation e = {pairs, n};

	for (uint32_t many = 0; many < 3; many++)
		for (uint32_t m = 0; m < 8; m++)
		{
			UnitRandom	r = unit_random(T_MEMORY, many);
			const uint32_t nkeys = many ? n : n / 20;
			const double most = many ? 100 : 48;
			Counted		got;
			PpJoinQuery q;

			for (uint32_t i = 0; i < n; i++)
			{
				uint64_t	a = unit_below(&r, nkeys);
				uint64_t	b = unit_below(&r, nkeys);
				bool		swap = many == 2 ? unit_once_in(&r, 2) : a > b;

				/* numbers of 64 bits in order of a and b */
				pairs[2 * i] = (int64_t) ((swap ? b : a) * (UINT64_MAX / nkeys / 2) + 7);
				pairs[2 * i + 1] = (int64_t) ((swap ? a : b) * (UINT64_MAX / nkeys / 2) + 7);
			}
			memset(&q, 0, sizeof(q));
			q.nrelations = 1;
			q.relations = &e;
			q.simd = PP_SIMD_LEVELS;
			q.atoms = m & 1 ? clique : triangle;
			q.nvariables = m & 1 ? 4 : 3;
			q.natoms = m & 1 ? 6 : 3;
			q.strategy = m & 2 ? PP_JOIN_GENERAL : PP_JOIN_AUTO;
			q.threads = m & 4 ? 2 : 1;
			unit_case("memory, %u keys, query %u", nkeys, m);
			EXPECT(count_query(&q, 0, &got) == PP_JOIN_OK, "failed");
			EXPECT((double) got.peak_bytes / n + 16 <= most, "%.1f bytes a row, %s",
				   (double) got.peak_bytes / n + 16, strategy_name[got.strategy]);
		}
	free(pairs);
}

static void
test_invalid(void)
{
	static const int64_t pairs[] = {1, 2};
	static const PpJoinRelation e = {pairs, 1};
	static const PpJoinAtom atoms[] = {{0, {0, 1}}, {0, {1, 0}}};
	static const PpJoinResidual residual = {PP_JOIN_LT, 0, 1};

	for (uint32_t i = 0; i <= 13; i++)
	{
		PpJoinAtom	a[2];
		PpJoinResidual less = residual;
		PpJoinQuery q;
		UnitHeap	heap = {0};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		PpJoin	   *join;
		PpJoinRun  *run;
		PpJoinStatus status;

		memcpy(a, atoms, sizeof(a));
		memset(&q, 0, sizeof(q));
		q.nvariables = q.natoms = 2;
		q.nrelations = q.nresiduals = 1;
		q.atoms = a;
		q.residuals = &less;
		q.relations = &e;
		q.simd = PP_SIMD_LEVELS;
		switch (i)
		{
			case 1: q.nvariables = 0; break;
			case 2: q.nvariables = 3; break;
			case 3: q.natoms = 0; break;
			case 4: q.nrelations = 0; break;
			case 5: a[1].relation = 1; break;
			case 6: a[1].variable[0] = 2; break;
			case 7: less.left = 2; break;
			case 8: less.right = 2; break;
			case 9: less.op = (PpJoinCompare) 5; break;
			case 10: q.mode = PP_JOIN_GROUPS; q.group = 2; break;
			case 11: q.mode = PP_JOIN_MODES; break;
			case 12: q.strategy = PP_JOIN_WEDGES; break;
			case 13: q.simd = (PpSimd) 77; break;
			default: break;
		}
		unit_case("invalid query %u", i);
		status = pp_join_build(&q, &alloc, 1 << 20, &join);
		EXPECT(status == (i == 0 ? PP_JOIN_OK : PP_JOIN_INVALID), "status %d", (int) status);
		EXPECT((join == NULL) == (i > 0), "a join");
		if (join)
		{
			size_t		n;

			EXPECT(pp_join_open(join, &alloc, 1 << 20, 1, 1, &run) == PP_JOIN_INVALID && run == NULL,
				   "part 1 of 1");
			EXPECT(pp_join_open(join, &alloc, 1 << 20, 0, 1, &run) == PP_JOIN_OK, "not opened");
			EXPECT(pp_join_rows(run, NULL, NULL, 1, &n) == PP_JOIN_INVALID && n == 0, "rows");
			EXPECT(pp_join_groups(run, NULL, NULL, 1, &n) == PP_JOIN_INVALID && n == 0, "groups");
			pp_join_close(run);
		}
		pp_join_free(join);
		EXPECT(heap.live_blocks == 0, "memory is left");
	}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "trie_test");
	test_kernels();
	test_gallop();
	test_invalid();
	test_queries();
	test_budgets();
	test_cancel();
	test_failures();
	test_large();
	test_huge_counts();
	test_dictionaries();
	test_boxes();
	test_box_plans();
	test_memory();
	return unit_end();
}
