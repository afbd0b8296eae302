/*
 * test/unit/trie_large_test.c
 *	  The join engine on larger relations: patterns counted by a matrix, groups of
 *	  several threads, the ends of wedges, counts beyond 64 bits, kinds of
 *	  dictionaries, memory a row.
 */
#define _POSIX_C_SOURCE 200809L	/* nanosleep */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trie/trie.h"
#include "trie_case.h"
#include "trie_query.h"

enum
{
	T_LARGE = 7,
	T_DICT,
	T_MEMORY = 10,
	T_SHARED
};

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

/* Does not cancel, but has the thread that asks wait for others to take work. */
static bool
wait_a_little(void *ctx)
{
	const struct timespec t = {0, 200000};

	(void) ctx;
	nanosleep(&t, NULL);
	return false;
}

/* Groups to which several threads have added are those of one thread. */
static void
test_shared_groups(void)
{
	enum
	{
		VERTICES = 1500
	};
	static const PpJoinAtom transitive[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}};
	UnitRandom	r = unit_random(T_SHARED, 0);
	uint64_t   *groups = calloc(2 * VERTICES, sizeof(uint64_t));
	PpJoinRelation e;
	int64_t    *pairs = make_edges(&r, VERTICES, 60000, 0, &e.nrows);

	if (groups == NULL)
		abort();
	e.pairs = pairs;
	for (uint32_t threads = 1; threads <= 4; threads += 3)
	{
		UnitHeap	heap = {0};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		PpJoinQuery q;
		PpJoin	   *join;
		PpJoinRun  *run;
		int64_t		keys[256];
		PpCount		counts[256];
		size_t		n;

		unit_case("groups by %u threads", threads);
		memset(&q, 0, sizeof(q));
		q.nvariables = q.natoms = 3;
		q.nrelations = 1;
		q.atoms = transitive;
		q.relations = &e;
		q.simd = PP_SIMD_LEVELS;
		q.mode = PP_JOIN_GROUPS;
		q.group = 1;
		q.threads = threads;
		q.cancelled = threads > 1 ? wait_a_little : NULL;
		EXPECT(pp_join_build(&q, &alloc, (size_t) 1 << 30, &join) == PP_JOIN_OK, "not built");
		if (join == NULL)
			break;
		EXPECT(pp_join_open_threads(join, &alloc, (size_t) 1 << 30, threads, &run) == PP_JOIN_OK,
			   "not opened");
		while (run && pp_join_groups(run, keys, counts, 256, &n) == PP_JOIN_OK && n > 0)
			for (size_t i = 0; i < n; i++)
				groups[keys[i] + (threads > 1 ? VERTICES : 0)] += counts[i].low;
		pp_join_close(run);
		pp_join_free(join);
	}
	EXPECT(memcmp(groups, groups + VERTICES, VERTICES * sizeof(uint64_t)) == 0,
		   "groups are others");
	free(groups);
	free(pairs);
}

/*
 * Squares over a star, whose center leads to all: ways of two steps through
 * the center are few, pairs of ways out of it are many.  Whatever the variables'
 * numbers, the former are gone through.
 */
static void
test_wedge_ends(void)
{
	enum
	{
		LEAVES = 1000
	};
	int64_t    *pairs = unit_malloc(4 * LEAVES * sizeof(int64_t));
	PpJoinRelation e = {pairs, 2 * LEAVES};

	/* and each leaf leads to one more vertex */
	for (int64_t i = 0; i < LEAVES; i++)
	{
		pairs[4 * i] = -1;
		pairs[4 * i + 1] = i;
		pairs[4 * i + 2] = i;
		pairs[4 * i + 3] = LEAVES;
	}
	for (uint32_t first = 0; first < 4; first++)
	{
		/* x, y, z, w: from x over y and over w to z */
		const uint32_t x = first;
		const uint32_t y = (first + 1) % 4;
		const uint32_t z = (first + 2) % 4;
		const uint32_t w = (first + 3) % 4;
		const PpJoinAtom atoms[] = {{0, {x, y}}, {0, {y, z}}, {0, {x, w}}, {0, {w, z}}};
		UnitHeap	heap = {0};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		PpJoinQuery q;
		PpJoin	   *join;
		Counted		got;

		memset(&q, 0, sizeof(q));
		q.nvariables = q.natoms = 4;
		q.nrelations = 1;
		q.atoms = atoms;
		q.relations = &e;
		q.simd = PP_SIMD_LEVELS;
		unit_case("squares over a star, from variable %u", first);
		EXPECT(count_query(&q, 1, &got) == PP_JOIN_OK && got.strategy == PP_JOIN_WEDGES, "failed");
		EXPECT(got.count == (Uint128) LEAVES * LEAVES, "%" PRIu64, (uint64_t) got.count);
		EXPECT(pp_join_build(&q, &alloc, (size_t) 1 << 30, &join) == PP_JOIN_OK, "not built");
		if (join)
			EXPECT(pp_join_info(join)->order[0] == x || pp_join_info(join)->order[0] == z,
				   "ends at variable %u", pp_join_info(join)->order[0]);
		pp_join_free(join);
	}
	free(pairs);
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

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "trie_large_test");
	test_large();
	test_shared_groups();
	test_wedge_ends();
	test_huge_counts();
	test_dictionaries();
	test_memory();
	return unit_end();
}
