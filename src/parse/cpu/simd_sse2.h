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
block_store(uint8_t *p, Block b)
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
