/*
 * src/parse/cpu/simd_neon.h
 *	  Blocks of 64 bytes with NEON, which every 64-bit ARM processor has.
 */
#include <arm_neon.h>

#define PP_TARGET

typedef struct Block
{
	uint8x16_t	v[4];
} Block;

static inline Block
block_load(const uint8_t *p)
{
	Block		b;

	for (int i = 0; i < 4; i++)
		b.v[i] = vld1q_u8(p + 16 * i);
	return b;
}

static inline void
block_store(uint8_t *p, Block b)
{
	for (int i = 0; i < 4; i++)
		vst1q_u8(p + 16 * i, b.v[i]);
}

/* One bit for each of 64 bytes that are all ones or all zeros. */
static inline uint64_t
block_bits(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
	const uint8x16_t weight = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	uint8x16_t	x = vpaddq_u8(vandq_u8(a, weight), vandq_u8(b, weight));
	uint8x16_t	y = vpaddq_u8(vandq_u8(c, weight), vandq_u8(d, weight));

	x = vpaddq_u8(x, y);
	x = vpaddq_u8(x, x);
	return vgetq_lane_u64(vreinterpretq_u64_u8(x), 0);
}

/* Bit i: byte i equals c. */
static inline uint64_t
block_eq(Block b, uint8_t c)
{
	uint8x16_t	x = vdupq_n_u8(c);

	return block_bits(vceqq_u8(b.v[0], x), vceqq_u8(b.v[1], x),
					  vceqq_u8(b.v[2], x), vceqq_u8(b.v[3], x));
}

/* Bit i: byte i is 0x80 or more. */
static inline uint64_t
block_high(Block b)
{
	uint8x16_t	x = vdupq_n_u8(0x80);

	return block_bits(vcgeq_u8(b.v[0], x), vcgeq_u8(b.v[1], x),
					  vcgeq_u8(b.v[2], x), vcgeq_u8(b.v[3], x));
}

/* Bit i: an odd number of bits up to i are set. */
static inline uint64_t
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

static inline int
popcount(uint64_t m)
{
	return __builtin_popcountll(m);
}

#include "simd_list.h"
