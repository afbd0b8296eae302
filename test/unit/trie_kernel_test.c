/*
 * test/unit/trie_kernel_test.c
 *	  The loops of the join engine, of every SIMD level: lists, bits, galloping.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trie/trie.h"
#include "unit.h"

enum
{
	T_KERNEL = 1,
	T_GALLOP,
	T_NARROW
};

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
		uint64_t	ndoubled[2] = {0, 0};
		uint32_t	nodd[2] = {0, 0};
		uint32_t   *odd;
		uint8_t    *is_odd[2];

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
				nedges += (uint64_t) __builtin_popcountll(rows[x * words + w] & rows[words + w]);
		/* vertices that count twice, and others, by rows 2 and 3; heavy edges by the
		 * rows from the last one on */
		odd = unit_malloc((words * 64 + 1) * sizeof(uint32_t));
		for (uint32_t twos = 0; twos < 2; twos++)
		{
			is_odd[twos] = unit_malloc(words * 64);
			memset(is_odd[twos], 0, words * 64);
			for (uint32_t x = 0; x < words * 64; x++)
			{
				const uint64_t *row = rows + x * words;
				const uint64_t *heavy = rows + (words * 64 - 1 - x) * words;

				for (uint32_t y = 0; y < words * 64 && rows[x / 64] >> (x % 64) & 1; y++)
				{
					const bool	twice = rows[2 * words + y / 64] >> (y % 64) & 1;
					const bool	more = rows[3 * words + y / 64] >> (y % 64) & 1;
					const bool	two = heavy[y / 64] >> (y % 64) & 1;

					if (!(row[y / 64] & rows[words + y / 64] & UINT64_C(1) << (y % 64)))
						continue;
					if (more || (two && (twice || !twos)))
						is_odd[twos][x] = 1;
					else if (twice || two)
						ndoubled[twos]++;
					ndoubled[twos]++;
				}
				nodd[twos] += is_odd[twos][x];
			}
		}

		for (uint32_t level = 0; level < PP_SIMD_LEVELS; level++)
		{
			const PpTrieKernels *k = pp_trie_kernels((PpSimd) level);
			uint32_t   *out;
			uint64_t   *few;
			uint32_t	nfew = 0;
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
			{
				bool		same = true;

				EXPECT(k->and_count(rows, rows + words, words) == nand,
					   "%s: bits in common", k->name);
				out = unit_malloc((nand + 1) * sizeof(uint32_t));
				n = k->and_list(rows, rows + words, words, out);
				for (size_t x = 0; x < n && same; x++)
					same = (x == 0 || out[x] > out[x - 1]) &&
						(rows[out[x] / 64] & rows[words + out[x] / 64]) >> (out[x] % 64) & 1;
				EXPECT(same && n == nand, "%s: which bits are in common", k->name);
				free(out);
				/* few of them */
				for (uint32_t w = 0; w < words; w++)
					nfew += w % 11 == 3 && (rows[w] & rows[words + w]);
				few = unit_malloc(words * sizeof(uint64_t));
				for (uint32_t w = 0; w < words; w++)
					few[w] = w % 11 == 3 ? rows[w] & -rows[w] & rows[words + w] : 0;
				out = unit_malloc((words + 1) * sizeof(uint32_t));
				n = k->and_list(few, rows + words, words, out);
				for (size_t x = 0; x < n; x++)
					few[out[x] / 64] ^= UINT64_C(1) << (out[x] % 64);
				same = n <= nfew;
				for (uint32_t w = 0; w < words; w++)
					same &= few[w] == 0;
				EXPECT(same, "%s: which of few bits are in common", k->name);
				free(few);
				free(out);
			}
			EXPECT(k->edges_between(rows, words, rows, rows + words) == nedges, "%s: edges", k->name);
			for (uint32_t twos = 0; twos < 2; twos++)
			{
				uint64_t   *heavy = unit_malloc((size_t) words * 64 * words * sizeof(uint64_t));
				bool		same;

				for (uint32_t x = 0; x < words * 64; x++)
					memcpy(heavy + x * words, rows + (words * 64 - 1 - x) * words, words * sizeof(uint64_t));
				EXPECT(k->doubled_between(rows, heavy, words, rows, rows + words, rows + 2 * words,
										  rows + 3 * words, twos, odd, &n) == ndoubled[twos],
					   "%s: edges that count twice", k->name);
				same = n == nodd[twos];
				for (size_t x = 0; x < n && same; x++)
					same = is_odd[twos][odd[x]] && (x == 0 || odd[x] > odd[x - 1]);
				EXPECT(same, "%s: %zu odd vertices, not %u", k->name, n, nodd[twos]);
				free(heavy);
			}
		}
		free(a);
		free(b);
		free(want);
		free(graph);
		free(start);
		free(rows);
		free(odd);
		free(is_odd[0]);
		free(is_odd[1]);
	}
	unit_case("levels");
	EXPECT(pp_trie_kernels(PP_SIMD_SCALAR) != NULL, "no scalar kernels");
	EXPECT(pp_trie_kernels(PP_SIMD_LEVELS) == NULL, "kernels of no level");
	EXPECT(pp_trie_best_kernels() == pp_trie_kernels(pp_trie_best_kernels()->level),
		   "the best level is not its own");
}

/* Keys around a base, of which one may be too far from it. */
static void
test_narrow(void)
{
	for (uint64_t i = 0; i < unit_iterations(3000); i++)
	{
		UnitRandom	r = unit_random(T_NARROW, i);
		const uint32_t n = unit_below(&r, unit_once_in(&r, 2) ? 20 : 300);
		const uint64_t base = unit_once_in(&r, 4) ? (uint64_t) INT64_MIN - unit_below(&r, 9) : unit_next(&r);
		const uint32_t far = n > 0 && unit_once_in(&r, 2) ? unit_below(&r, n) : n;
		int64_t    *keys = unit_malloc(n * sizeof(int64_t) + 1);
		uint32_t   *want = unit_malloc(n * sizeof(uint32_t) + 1);

		unit_case("narrow keys %" PRIu64, i);
		for (uint32_t x = 0; x < n; x++)
		{
			want[x] = unit_once_in(&r, 5) ? UINT32_MAX - unit_below(&r, 2) : (uint32_t) unit_next(&r);
			keys[x] = (int64_t) (base + want[x]);
		}
		if (far < n)
			keys[far] = (int64_t) ((uint64_t) keys[far] + (UINT64_C(1) << (32 + unit_below(&r, 32))));
		for (uint32_t level = 0; level < PP_SIMD_LEVELS; level++)
		{
			const PpTrieKernels *k = pp_trie_kernels((PpSimd) level);
			uint32_t   *out = unit_malloc(n * sizeof(uint32_t) + 1);
			bool		fits;

			if (k)
			{
				fits = k->narrow(keys, n, base, out);
				EXPECT(fits == (far == n), "%s: %u keys, number %u is far", k->name, n, far);
				EXPECT(!fits || memcmp(out, want, n * sizeof(uint32_t)) == 0, "%s: distances of %u keys",
					   k->name, n);
			}
			free(out);
		}
		free(keys);
		free(want);
	}
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

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "trie_kernel_test");
	test_kernels();
	test_gallop();
	test_narrow();
	return unit_end();
}
