/*
 * src/trie/trie_kernel_avx2.c
 *	  The kernels, with AVX2 and BMI2.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#include "trie_kernel.h"

#define PP_TARGET	__attribute__((target("avx2,bmi,bmi2,popcnt")))
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
	return (uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x, y)));
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
	/* a byte of ones for each bit of m takes the entry's number */
	uint64_t	bytes = _pdep_u64(m, UINT64_C(0x0101010101010101)) * 0xff;
	uint64_t	which = _pext_u64(UINT64_C(0x0706050403020100), bytes);

	if (m == 0)
		return;
	_mm256_storeu_si256((__m256i *) p,
						_mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long) which))));
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

/* Bits of each half byte from a table, added up by bytes (Mula's method). */
static PP_TARGET uint64_t
and_count(const uint64_t *a, const uint64_t *b, size_t words)
{
	const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
										   0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
	const __m256i low = _mm256_set1_epi8(0x0f);
	__m256i		sum = _mm256_setzero_si256();
	uint64_t	part[4];

	for (size_t i = 0; i < words; i += 4)
	{
		__m256i		v = _mm256_and_si256(_mm256_loadu_si256((const __m256i *) (a + i)),
										 _mm256_loadu_si256((const __m256i *) (b + i)));
		__m256i		n = _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(v, low)),
										_mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(v, 4), low)));

		sum = _mm256_add_epi64(sum, _mm256_sad_epu8(n, _mm256_setzero_si256()));
	}
	_mm256_storeu_si256((__m256i *) part, sum);
	return part[0] + part[1] + part[2] + part[3];
}

static inline PP_TARGET bool
and_any(const uint64_t *a, const uint64_t *b)
{
	return !_mm256_testz_si256(_mm256_loadu_si256((const __m256i *) a),
							   _mm256_loadu_si256((const __m256i *) b)) ||
		!_mm256_testz_si256(_mm256_loadu_si256((const __m256i *) (a + 4)),
							_mm256_loadu_si256((const __m256i *) (b + 4)));
}

static inline PP_TARGET size_t
narrow_blocks(const int64_t *keys, size_t n, uint64_t base, uint32_t *to, uint64_t *beyond)
{
	const __m256i from = _mm256_set1_epi64x((long long) base);
	__m256i		any = _mm256_setzero_si256();
	uint64_t	part[4];
	size_t		i = 0;

	for (; i + 8 <= n; i += 8)
	{
		__m256i		x = _mm256_sub_epi64(_mm256_loadu_si256((const __m256i *) (keys + i)), from);
		__m256i		y = _mm256_sub_epi64(_mm256_loadu_si256((const __m256i *) (keys + i + 4)), from);
		__m256		low = _mm256_shuffle_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(y), 0x88);

		any = _mm256_or_si256(any, _mm256_or_si256(x, y));
		/* halves of both are next to each other */
		_mm256_storeu_si256((__m256i *) (to + i),
							_mm256_permute4x64_epi64(_mm256_castps_si256(low), 0xd8));
	}
	_mm256_storeu_si256((__m256i *) part, any);
	*beyond |= part[0] | part[1] | part[2] | part[3];
	return i;
}

#include "trie_kernel_impl.h"

const PpTrieKernels pp_trie_kernels_avx2 = {
	PP_SIMD_AVX2,
	"avx2",
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
typedef int pp_no_trie_kernels_avx2;	/* an empty file is no C */
#endif
