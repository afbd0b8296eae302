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
block_copy(uint8_t *p, Block b)
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
vector_minus(Vector a, Vector b)
{
	return _mm256_subs_epu8(a, b);
}

/* Unsigned. */
static inline PP_TARGET Vector
vector_min(Vector a, Vector b)
{
	return _mm256_min_epu8(a, b);
}

/* What stands one, two or three bytes before each byte of v. */
static inline PP_TARGET Vector
vector_back1(Vector v, Vector before)
{
	return _mm256_alignr_epi8(v, _mm256_permute2x128_si256(before, v, 0x21), 15);
}

static inline PP_TARGET Vector
vector_back2(Vector v, Vector before)
{
	return _mm256_alignr_epi8(v, _mm256_permute2x128_si256(before, v, 0x21), 14);
}

static inline PP_TARGET Vector
vector_back3(Vector v, Vector before)
{
	return _mm256_alignr_epi8(v, _mm256_permute2x128_si256(before, v, 0x21), 13);
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

/*
 * Numbers and timestamps: vectors of LANES words of 64 bits.
 */
#define LANES			4
typedef __m256i Lanes;

static inline PP_TARGET Lanes
lanes_load(const uint64_t *p)
{
	return _mm256_loadu_si256((const __m256i *) p);
}

static inline PP_TARGET void
lanes_store(uint64_t *p, Lanes a)
{
	_mm256_storeu_si256((__m256i *) p, a);
}

static inline PP_TARGET Lanes
lanes_set8(uint8_t c)
{
	return _mm256_set1_epi8((char) c);
}

static inline PP_TARGET Lanes
lanes_set64(uint64_t c)
{
	return _mm256_set1_epi64x((long long) c);
}

static inline PP_TARGET Lanes
lanes_and(Lanes a, Lanes b)
{
	return _mm256_and_si256(a, b);
}

/* What of b is not in a. */
static inline PP_TARGET Lanes
lanes_andnot(Lanes a, Lanes b)
{
	return _mm256_andnot_si256(a, b);
}

static inline PP_TARGET Lanes
lanes_or(Lanes a, Lanes b)
{
	return _mm256_or_si256(a, b);
}

static inline PP_TARGET Lanes
lanes_xor(Lanes a, Lanes b)
{
	return _mm256_xor_si256(a, b);
}

static inline PP_TARGET Lanes
lanes_minus8(Lanes a, Lanes b)
{
	return _mm256_sub_epi8(a, b);
}

static inline PP_TARGET Lanes
lanes_plus64(Lanes a, Lanes b)
{
	return _mm256_add_epi64(a, b);
}

static inline PP_TARGET Lanes
lanes_minus64(Lanes a, Lanes b)
{
	return _mm256_sub_epi64(a, b);
}

static inline PP_TARGET Lanes
lanes_left(Lanes a, int bits)
{
	return _mm256_slli_epi64(a, bits);
}

static inline PP_TARGET Lanes
lanes_right(Lanes a, int bits)
{
	return _mm256_srli_epi64(a, bits);
}

/* The products of the words' lower halves. */
static inline PP_TARGET Lanes
lanes_times32(Lanes a, Lanes b)
{
	return _mm256_mul_epu32(a, b);
}

/* All ones in the bytes, or halves of words, of which it is true; signed. */
static inline PP_TARGET Lanes
lanes_is8(Lanes a, uint8_t c)
{
	return _mm256_cmpeq_epi8(a, lanes_set8(c));
}

static inline PP_TARGET Lanes
lanes_is32(Lanes a, Lanes b)
{
	return _mm256_cmpeq_epi32(a, b);
}

static inline PP_TARGET Lanes
lanes_above32(Lanes a, Lanes b)
{
	return _mm256_cmpgt_epi32(a, b);
}

/* Bit i: byte i equals c, or is at most c. */
static inline PP_TARGET uint64_t
lanes_equal8(Lanes a, uint8_t c)
{
	return (uint32_t) _mm256_movemask_epi8(lanes_is8(a, c));
}

static inline PP_TARGET uint64_t
lanes_at_most8(Lanes a, uint8_t c)
{
	return (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(a, lanes_set8(c)), a));
}

/* All ones in the bytes that are digits. */
static inline PP_TARGET Lanes
lanes_digits8(Lanes a)
{
	a = lanes_minus8(a, lanes_set8('0'));
	return _mm256_cmpeq_epi8(_mm256_min_epu8(a, lanes_set8(9)), a);
}

/* All ones in the words whose highest bit is set. */
static inline PP_TARGET Lanes
lanes_sign(Lanes a)
{
	return _mm256_shuffle_epi32(_mm256_srai_epi32(a, 31), 0xf5);
}

/* Bit i: word i is zero. */
static inline PP_TARGET uint32_t
lanes_zero(Lanes a)
{
	a = _mm256_cmpeq_epi32(_mm256_or_si256(a, _mm256_srli_epi64(a, 32)), _mm256_setzero_si256());
	return (uint32_t) _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_slli_epi64(a, 32)));
}

/* The number that the eight digits of each word make, the lowest byte first. */
static inline PP_TARGET Lanes
lanes_eight_digits(Lanes a)
{
	a = _mm256_maddubs_epi16(a, _mm256_set1_epi16(0x010a));
	a = _mm256_madd_epi16(a, _mm256_set1_epi32(0x00010064));
	return lanes_plus64(lanes_times32(a, lanes_set64(10000)), lanes_right(a, 32));
}

/* Integers below 2^52, divided as doubles. */
static inline PP_TARGET Lanes
lanes_quotient(Lanes a, const double *b)
{
	const Lanes magic = lanes_set64(UINT64_C(0x4330000000000000));	/* 2^52 */

	return _mm256_castpd_si256(_mm256_div_pd(_mm256_sub_pd(_mm256_castsi256_pd(lanes_or(a, magic)),
														   _mm256_castsi256_pd(magic)),
											  _mm256_loadu_pd(b)));
}
