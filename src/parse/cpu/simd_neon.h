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
block_copy(uint8_t *p, Block b)
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

/*
 * UTF-8: vectors of VECTOR_BYTES bytes, and what validation does with them.
 */
#define HAVE_VECTOR		1
#define VECTOR_BYTES	16
typedef uint8x16_t Vector;

static inline Vector
vector_load(const uint8_t *p)
{
	return vld1q_u8(p);
}

/* Each byte's table entry; of the indexes only the low four bits count. */
static inline Vector
vector_lookup(const uint8_t *table, Vector index)
{
	return vqtbl1q_u8(vld1q_u8(table), vandq_u8(index, vdupq_n_u8(0x0f)));
}

static inline Vector
vector_high_nibble(Vector v)
{
	return vshrq_n_u8(v, 4);
}

static inline Vector
vector_and(Vector a, Vector b)
{
	return vandq_u8(a, b);
}

static inline Vector
vector_or(Vector a, Vector b)
{
	return vorrq_u8(a, b);
}

static inline Vector
vector_xor(Vector a, Vector b)
{
	return veorq_u8(a, b);
}

/* Unsigned, saturating. */
static inline Vector
vector_minus(Vector a, Vector b)
{
	return vqsubq_u8(a, b);
}

/* Unsigned. */
static inline Vector
vector_min(Vector a, Vector b)
{
	return vminq_u8(a, b);
}

/* What stands one, two or three bytes before each byte of v. */
static inline Vector
vector_back1(Vector v, Vector before)
{
	return vextq_u8(before, v, 15);
}

static inline Vector
vector_back2(Vector v, Vector before)
{
	return vextq_u8(before, v, 14);
}

static inline Vector
vector_back3(Vector v, Vector before)
{
	return vextq_u8(before, v, 13);
}

static inline Vector
vector_set(uint8_t c)
{
	return vdupq_n_u8(c);
}

static inline bool
vector_any(Vector v)
{
	return vmaxvq_u8(v) != 0;
}

/* Any byte that is zero, or any that is 0x80 or more? */
static inline bool
vector_any_zero(Vector v)
{
	return vminvq_u8(v) == 0;
}

static inline bool
vector_any_high(Vector v)
{
	return vmaxvq_u8(v) >= 0x80;
}
