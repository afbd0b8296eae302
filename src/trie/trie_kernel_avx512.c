/*
 * src/trie/trie_kernel_avx512.c
 *	  The kernels, with AVX-512 F, VL and VPOPCNTDQ.
 *
 * Lists are merged by vectors of 256 bits: comparing blocks of sixteen with
 * each other costs more than it saves.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#include "trie_kernel.h"

#define PP_TARGET	__attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512vl,avx512vpopcntdq")))
#define VEC_LANES	8

typedef __m256i Vec;

static inline PP_TARGET Vec
vec_load(const uint32_t *p)
{
	return _mm256_loadu_si256((const __m256i *) p);
}

static inline PP_TARGET Vec
vec_broadcast(uint32_t v)
{
	return _mm256_set1_epi32((int) v);
}

static inline PP_TARGET uint32_t
vec_equal(Vec x, Vec y)
{
	return _mm256_cmpeq_epi32_mask(x, y);
}

/* Is an entry of x in the same half of y? */
static inline PP_TARGET Vec
half_match(Vec x, Vec y)
{
	return _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi32(x, y),
										   _mm256_cmpeq_epi32(x, _mm256_shuffle_epi32(y, 0x39))),
						   _mm256_or_si256(_mm256_cmpeq_epi32(x, _mm256_shuffle_epi32(y, 0x4e)),
										   _mm256_cmpeq_epi32(x, _mm256_shuffle_epi32(y, 0x93))));
}

static inline PP_TARGET uint32_t
vec_match(Vec x, Vec y)
{
	Vec			any = _mm256_or_si256(half_match(x, y),
									  half_match(x, _mm256_permute2x128_si256(y, y, 1)));

	return (uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(any));
}

static inline PP_TARGET void
vec_keep(uint32_t *p, Vec x, uint32_t m)
{
	/* compressing into a register is fast, into memory it is not */
	if (m)
		_mm256_storeu_si256((__m256i *) p, _mm256_maskz_compress_epi32((__mmask8) m, x));
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
	__m512i		sum = _mm512_setzero_si512();

	for (size_t i = 0; i < words; i += 8)
		sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_and_si512(_mm512_loadu_si512(a + i),
																		 _mm512_loadu_si512(b + i))));
	return (uint64_t) _mm512_reduce_add_epi64(sum);
}

static inline PP_TARGET bool
and_any(const uint64_t *a, const uint64_t *b)
{
	return _mm512_test_epi64_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b)) != 0;
}

static inline PP_TARGET size_t
narrow_blocks(const int64_t *keys, size_t n, uint64_t base, uint32_t *to, uint64_t *beyond)
{
	const __m512i from = _mm512_set1_epi64((long long) base);
	__m512i		any = _mm512_setzero_si512();
	size_t		i = 0;

	for (; i + 16 <= n; i += 16)
	{
		__m512i		x = _mm512_sub_epi64(_mm512_loadu_si512(keys + i), from);
		__m512i		y = _mm512_sub_epi64(_mm512_loadu_si512(keys + i + 8), from);

		any = _mm512_or_si512(any, _mm512_or_si512(x, y));
		_mm512_storeu_si512(to + i, _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(x)),
													   _mm512_cvtepi64_epi32(y), 1));
	}
	*beyond |= (uint64_t) _mm512_reduce_or_epi64(any);
	return i;
}

#include "trie_kernel_impl.h"

const PpTrieKernels pp_trie_kernels_avx512 = {
	PP_SIMD_AVX512,
	"avx512",
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
typedef int pp_no_trie_kernels_avx512;	/* an empty file is no C */
#endif
