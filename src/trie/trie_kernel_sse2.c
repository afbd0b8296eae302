/*
 * src/trie/trie_kernel_sse2.c
 *	  The kernels, with SSE2 and popcnt.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#include "trie_kernel.h"

#define PP_TARGET	__attribute__((target("sse2,popcnt")))
#define VEC_LANES	4

typedef __m128i Vec;

static inline PP_TARGET Vec
vec_load(const uint32_t *p)
{
	return _mm_loadu_si128((const __m128i *) p);
}

static inline PP_TARGET Vec
vec_broadcast(uint32_t v)
{
	return _mm_set1_epi32((int) v);
}

static inline PP_TARGET uint32_t
vec_equal(Vec x, Vec y)
{
	return (uint32_t) _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(x, y)));
}

static inline PP_TARGET uint32_t
vec_match(Vec x, Vec y)
{
	Vec			any = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi32(x, y),
												_mm_cmpeq_epi32(x, _mm_shuffle_epi32(y, 0x39))),
								   _mm_or_si128(_mm_cmpeq_epi32(x, _mm_shuffle_epi32(y, 0x4e)),
												_mm_cmpeq_epi32(x, _mm_shuffle_epi32(y, 0x93))));

	return (uint32_t) _mm_movemask_ps(_mm_castsi128_ps(any));
}

static inline PP_TARGET void
vec_keep(uint32_t *p, Vec x, uint32_t m)
{
	uint32_t	entry[4];

	if (m == 0)
		return;
	_mm_storeu_si128((__m128i *) entry, x);
	for (; m; m &= m - 1)
		*p++ = entry[__builtin_ctz(m)];
}

static inline PP_TARGET int
popcount(uint32_t m)
{
	return __builtin_popcount(m);
}

static inline PP_TARGET uint64_t
popcount64(uint64_t m)
{
	return (uint64_t) __builtin_popcountll(m);
}

static PP_TARGET uint64_t
and_count(const uint64_t *a, const uint64_t *b, size_t words)
{
	uint64_t	n = 0;

	for (size_t i = 0; i < words; i++)
		n += popcount64(a[i] & b[i]);
	return n;
}

static PP_TARGET bool
and_any(const uint64_t *a, const uint64_t *b)
{
	uint64_t	any = 0;

	for (uint32_t i = 0; i < PP_TRIE_WORDS; i++)
		any |= a[i] & b[i];
	return any != 0;
}

static inline PP_TARGET size_t
narrow_blocks(const int64_t *keys, size_t n, uint64_t base, uint32_t *to, uint64_t *beyond)
{
	const __m128i from = _mm_set1_epi64x((long long) base);
	__m128i		any = _mm_setzero_si128();
	uint64_t	part[2];
	size_t		i = 0;

	for (; i + 4 <= n; i += 4)
	{
		__m128i		x = _mm_sub_epi64(_mm_loadu_si128((const __m128i *) (keys + i)), from);
		__m128i		y = _mm_sub_epi64(_mm_loadu_si128((const __m128i *) (keys + i + 2)), from);
		__m128		low = _mm_shuffle_ps(_mm_castsi128_ps(x), _mm_castsi128_ps(y), 0x88);

		any = _mm_or_si128(any, _mm_or_si128(x, y));
		_mm_storeu_si128((__m128i *) (to + i), _mm_castps_si128(low));
	}
	_mm_storeu_si128((__m128i *) part, any);
	*beyond |= part[0] | part[1];
	return i;
}

#include "trie_kernel_impl.h"

const PpTrieKernels pp_trie_kernels_sse2 = {
	PP_SIMD_SSE2,
	"sse2",
	intersect,
	intersect_count,
	short_triangles,
	and_count,
	and_list,
	edges_between,
	doubled_between,
	narrow
};

#else
typedef int pp_no_trie_kernels_sse2;	/* an empty file is no C */
#endif
