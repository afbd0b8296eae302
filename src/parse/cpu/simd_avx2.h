/*
 * src/parse/cpu/simd_avx2.h
 *	  Blocks of 64 bytes with AVX2.
 */
#include <immintrin.h>

#define PP_TARGET __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt,pclmul")))

typedef struct Block
{
	__m256i		v[2];
} Block;

static inline PP_TARGET Block
block_load(const uint8_t *p)
{
	Block		b;

	b.v[0] = _mm256_loadu_si256((const __m256i *) p);
	b.v[1] = _mm256_loadu_si256((const __m256i *) (p + 32));
	return b;
}

static inline PP_TARGET void
block_store(uint8_t *p, Block b)
{
	_mm256_storeu_si256((__m256i *) p, b.v[0]);
	_mm256_storeu_si256((__m256i *) (p + 32), b.v[1]);
}

/* Bit i: byte i equals c. */
static inline PP_TARGET uint64_t
block_eq(Block b, uint8_t c)
{
	__m256i		x = _mm256_set1_epi8((char) c);
	uint32_t	low = (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(b.v[0], x));
	uint32_t	high = (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(b.v[1], x));

	return low | ((uint64_t) high << 32);
}

/* Bit i: byte i is 0x80 or more. */
static inline PP_TARGET uint64_t
block_high(Block b)
{
	return (uint32_t) _mm256_movemask_epi8(b.v[0]) |
		((uint64_t) (uint32_t) _mm256_movemask_epi8(b.v[1]) << 32);
}

/* Bit i: an odd number of bits up to i are set. */
static inline PP_TARGET uint64_t
prefix_xor(uint64_t m)
{
	return (uint64_t) _mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_set_epi64x(0, (long long) m),
															 _mm_set1_epi8((char) 0xff), 0));
}

static inline PP_TARGET int
popcount(uint64_t m)
{
	return (int) _mm_popcnt_u64(m);
}

#include "simd_list.h"

/*
 * UTF-8: vectors of VECTOR_BYTES bytes, and what validation does with them.
 */
#define HAVE_VECTOR		1
#define VECTOR_BYTES	32
typedef __m256i Vector;

static inline PP_TARGET Vector
vector_load(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *) p);
}

/* Each byte's table entry; of the indexes only the low four bits count. */
static inline PP_TARGET Vector
vector_lookup(const uint8_t *table, Vector index)
{
	__m256i		t = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) table));

	return _mm256_shuffle_epi8(t, _mm256_and_si256(index, _mm256_set1_epi8(0x0f)));
}

static inline PP_TARGET Vector
vector_high_nibble(Vector v)
{
	return _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(0x0f));
}

static inline PP_TARGET Vector
vector_and(Vector a, Vector b)
{
	return _mm256_and_si256(a, b);
}

static inline PP_TARGET Vector
vector_or(Vector a, Vector b)
{
	return _mm256_or_si256(a, b);
}

static inline PP_TARGET Vector
vector_xor(Vector a, Vector b)
{
	return _mm256_xor_si256(a, b);
}

/* Unsigned, saturating. */
static inline PP_TARGET Vector
vector_minus(Vector a, uint8_t c)
{
	return _mm256_subs_epu8(a, _mm256_set1_epi8((char) c));
}

static inline PP_TARGET Vector
vector_set(uint8_t c)
{
	return _mm256_set1_epi8((char) c);
}

static inline PP_TARGET bool
vector_any(Vector v)
{
	return !_mm256_testz_si256(v, v);
}

/* Any byte that is zero, or any that is 0x80 or more? */
static inline PP_TARGET bool
vector_any_zero(Vector v)
{
	return _mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_setzero_si256())) != 0;
}

static inline PP_TARGET bool
vector_any_high(Vector v)
{
	return _mm256_movemask_epi8(v) != 0;
}
