/*
 * src/parse/cpu/simd_sse2.h
 *	  Blocks of 64 bytes with SSE2, which every x86-64 processor has, and
 *	  POPCNT, which nearly all have.
 */
#include <emmintrin.h>

#define PP_TARGET __attribute__((target("popcnt")))

typedef struct Block
{
	__m128i		v[4];
} Block;

static inline PP_TARGET Block
block_load(const uint8_t *p)
{
	Block		b;

	for (int i = 0; i < 4; i++)
		b.v[i] = _mm_loadu_si128((const __m128i *) (p + 16 * i));
	return b;
}

static inline PP_TARGET void
block_copy(uint8_t *p, Block b)
{
	for (int i = 0; i < 4; i++)
		_mm_storeu_si128((__m128i *) (p + 16 * i), b.v[i]);
}

/* Bit i: byte i equals c. */
static inline PP_TARGET uint64_t
block_eq(Block b, uint8_t c)
{
	__m128i		x = _mm_set1_epi8((char) c);
	uint64_t	m = 0;

	for (int i = 3; i >= 0; i--)
		m = (m << 16) | (uint32_t) _mm_movemask_epi8(_mm_cmpeq_epi8(b.v[i], x));
	return m;
}

/* Bit i: byte i is 0x80 or more. */
static inline PP_TARGET uint64_t
block_high(Block b)
{
	uint64_t	m = 0;

	for (int i = 3; i >= 0; i--)
		m = (m << 16) | (uint32_t) _mm_movemask_epi8(b.v[i]);
	return m;
}

/* Bit i: an odd number of bits up to i are set. */
static inline PP_TARGET uint64_t
prefix_xor(uint64_t m)
{
	m ^= m << 1;
	m ^= m << 2;
	m ^= m << 4;
	m ^= m << 8;
	m ^= m << 16;
	m ^= m << 32;
	return m;
}

static inline PP_TARGET int
popcount(uint64_t m)
{
	return __builtin_popcountll(m);
}

#include "simd_list.h"

/*
 * Numbers and timestamps: vectors of LANES words of 64 bits.
 */
#define LANES			2
typedef __m128i Lanes;

static inline PP_TARGET Lanes
lanes_load(const uint64_t *p)
{
	return _mm_loadu_si128((const __m128i *) p);
}

static inline PP_TARGET void
lanes_store(uint64_t *p, Lanes a)
{
	_mm_storeu_si128((__m128i *) p, a);
}

static inline PP_TARGET Lanes
lanes_set8(uint8_t c)
{
	return _mm_set1_epi8((char) c);
}

static inline PP_TARGET Lanes
lanes_set64(uint64_t c)
{
	return _mm_set1_epi64x((long long) c);
}

static inline PP_TARGET Lanes
lanes_and(Lanes a, Lanes b)
{
	return _mm_and_si128(a, b);
}

/* What of b is not in a. */
static inline PP_TARGET Lanes
lanes_andnot(Lanes a, Lanes b)
{
	return _mm_andnot_si128(a, b);
}

static inline PP_TARGET Lanes
lanes_or(Lanes a, Lanes b)
{
	return _mm_or_si128(a, b);
}

static inline PP_TARGET Lanes
lanes_xor(Lanes a, Lanes b)
{
	return _mm_xor_si128(a, b);
}

static inline PP_TARGET Lanes
lanes_minus8(Lanes a, Lanes b)
{
	return _mm_sub_epi8(a, b);
}

static inline PP_TARGET Lanes
lanes_plus64(Lanes a, Lanes b)
{
	return _mm_add_epi64(a, b);
}

static inline PP_TARGET Lanes
lanes_minus64(Lanes a, Lanes b)
{
	return _mm_sub_epi64(a, b);
}

static inline PP_TARGET Lanes
lanes_left(Lanes a, int bits)
{
	return _mm_slli_epi64(a, bits);
}

static inline PP_TARGET Lanes
lanes_right(Lanes a, int bits)
{
	return _mm_srli_epi64(a, bits);
}

/* The products of the words' lower halves. */
static inline PP_TARGET Lanes
lanes_times32(Lanes a, Lanes b)
{
	return _mm_mul_epu32(a, b);
}

/* All ones in the bytes, or halves of words, of which it is true; signed. */
static inline PP_TARGET Lanes
lanes_is8(Lanes a, uint8_t c)
{
	return _mm_cmpeq_epi8(a, lanes_set8(c));
}

static inline PP_TARGET Lanes
lanes_is32(Lanes a, Lanes b)
{
	return _mm_cmpeq_epi32(a, b);
}

static inline PP_TARGET Lanes
lanes_above32(Lanes a, Lanes b)
{
	return _mm_cmpgt_epi32(a, b);
}

/* Bit i: byte i equals c, or is at most c. */
static inline PP_TARGET uint64_t
lanes_equal8(Lanes a, uint8_t c)
{
	return (uint32_t) _mm_movemask_epi8(lanes_is8(a, c));
}

static inline PP_TARGET uint64_t
lanes_at_most8(Lanes a, uint8_t c)
{
	return (uint32_t) _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(a, lanes_set8(c)), a));
}

/* All ones in the bytes that are digits. */
static inline PP_TARGET Lanes
lanes_digits8(Lanes a)
{
	a = lanes_minus8(a, lanes_set8('0'));
	return _mm_cmpeq_epi8(_mm_min_epu8(a, lanes_set8(9)), a);
}

/* All ones in the words whose highest bit is set. */
static inline PP_TARGET Lanes
lanes_sign(Lanes a)
{
	return _mm_shuffle_epi32(_mm_srai_epi32(a, 31), 0xf5);
}

/* Bit i: word i is zero. */
static inline PP_TARGET uint32_t
lanes_zero(Lanes a)
{
	a = _mm_cmpeq_epi32(_mm_or_si128(a, _mm_srli_epi64(a, 32)), _mm_setzero_si128());
	return (uint32_t) _mm_movemask_pd(_mm_castsi128_pd(_mm_slli_epi64(a, 32)));
}

/* The number that the eight digits of each word make, the lowest byte first. */
static inline PP_TARGET Lanes
lanes_eight_digits(Lanes a)
{
	a = _mm_add_epi16(_mm_mullo_epi16(_mm_and_si128(a, _mm_set1_epi16(0xff)), _mm_set1_epi16(10)),
					  _mm_srli_epi16(a, 8));
	a = _mm_madd_epi16(a, _mm_set1_epi32(0x00010064));
	return lanes_plus64(lanes_times32(a, lanes_set64(10000)), lanes_right(a, 32));
}

/* Integers below 2^52, divided as doubles. */
static inline PP_TARGET Lanes
lanes_quotient(Lanes a, const double *b)
{
	const Lanes magic = lanes_set64(UINT64_C(0x4330000000000000));	/* 2^52 */

	return _mm_castpd_si128(_mm_div_pd(_mm_sub_pd(_mm_castsi128_pd(lanes_or(a, magic)),
														   _mm_castsi128_pd(magic)),
											  _mm_loadu_pd(b)));
}
