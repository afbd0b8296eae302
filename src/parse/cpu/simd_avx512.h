/*
 * src/parse/cpu/simd_avx512.h
 *	  Blocks of 64 bytes with AVX-512 (F, BW, VL, VBMI, VBMI2), as Ice Lake, Zen 4
 *	  and later have it.
 */
#include <immintrin.h>

#define PP_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt,pclmul")))

typedef __m512i Block;

static inline PP_TARGET Block
block_load(const uint8_t *p)
{
	return _mm512_loadu_si512(p);
}

/* Bit i: byte i equals c. */
static inline PP_TARGET uint64_t
block_eq(Block b, uint8_t c)
{
	return _mm512_cmpeq_epi8_mask(b, _mm512_set1_epi8((char) c));
}

/* Bit i: byte i is 0x80 or more. */
static inline PP_TARGET uint64_t
block_high(Block b)
{
	return _mm512_movepi8_mask(b);
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

static inline PP_TARGET void
block_copy(uint8_t *dst, Block b)
{
	_mm512_storeu_si512(dst, b);
}

/*
 * Writes the bytes of the block at src, loaded as b, that keep has bits for,
 * and whatever up to 64 in all.
 */
static inline PP_TARGET void
block_keep(uint8_t *dst, const uint8_t *src, Block b, uint64_t keep)
{
	(void) src;
	_mm512_storeu_si512(dst, _mm512_maskz_compress_epi8(keep, b));
}

/*
 * Writes base + i for each bit i of m to out and answers their number.
 * Overwrites up to 16 entries more.
 */
static inline PP_TARGET uint32_t
list_bits(uint32_t *out, uint32_t base, uint64_t m)
{
	const __m512i iota = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
										 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
										 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
										 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	const __m512i offset = _mm512_set1_epi32((int) base);
	__m512i		bytes = _mm512_maskz_compress_epi8(m, iota);
	uint32_t	n = (uint32_t) _mm_popcnt_u64(m);

	_mm512_storeu_si512(out, _mm512_add_epi32(offset,
											  _mm512_cvtepu8_epi32(_mm512_castsi512_si128(bytes))));
	if (n > 16)
	{
		_mm512_storeu_si512(out + 16, _mm512_add_epi32(offset,
													   _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(bytes, 1))));
		if (n > 32)
		{
			_mm512_storeu_si512(out + 32, _mm512_add_epi32(offset,
														   _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(bytes, 2))));
			_mm512_storeu_si512(out + 48, _mm512_add_epi32(offset,
														   _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(bytes, 3))));
		}
	}
	return n;
}

/*
 * UTF-8: vectors of VECTOR_BYTES bytes, and what validation does with them.
 */
#define HAVE_VECTOR		1
#define VECTOR_BYTES	64
typedef __m512i Vector;

static inline PP_TARGET Vector
vector_load(const uint8_t *p)
{
	return _mm512_loadu_si512(p);
}

/* Each byte's table entry; of the indexes only the low four bits count. */
static inline PP_TARGET Vector
vector_lookup(const uint8_t *table, Vector index)
{
	__m512i		t = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *) table));

	return _mm512_shuffle_epi8(t, _mm512_and_si512(index, _mm512_set1_epi8(0x0f)));
}

static inline PP_TARGET Vector
vector_high_nibble(Vector v)
{
	return _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(0x0f));
}

static inline PP_TARGET Vector
vector_and(Vector a, Vector b)
{
	return _mm512_and_si512(a, b);
}

static inline PP_TARGET Vector
vector_or(Vector a, Vector b)
{
	return _mm512_or_si512(a, b);
}

static inline PP_TARGET Vector
vector_xor(Vector a, Vector b)
{
	return _mm512_xor_si512(a, b);
}

/* Unsigned, saturating. */
static inline PP_TARGET Vector
vector_minus(Vector a, Vector b)
{
	return _mm512_subs_epu8(a, b);
}

/* Unsigned. */
static inline PP_TARGET Vector
vector_min(Vector a, Vector b)
{
	return _mm512_min_epu8(a, b);
}

/* What stands one, two or three bytes before each byte of v. */
static inline PP_TARGET Vector
vector_back1(Vector v, Vector before)
{
	return _mm512_alignr_epi8(v, _mm512_alignr_epi64(v, before, 6), 15);
}

static inline PP_TARGET Vector
vector_back2(Vector v, Vector before)
{
	return _mm512_alignr_epi8(v, _mm512_alignr_epi64(v, before, 6), 14);
}

static inline PP_TARGET Vector
vector_back3(Vector v, Vector before)
{
	return _mm512_alignr_epi8(v, _mm512_alignr_epi64(v, before, 6), 13);
}

static inline PP_TARGET Vector
vector_set(uint8_t c)
{
	return _mm512_set1_epi8((char) c);
}

static inline PP_TARGET bool
vector_any(Vector v)
{
	return _mm512_test_epi8_mask(v, v) != 0;
}

/* Any byte that is zero, or any that is 0x80 or more? */
static inline PP_TARGET bool
vector_any_zero(Vector v)
{
	return _mm512_testn_epi8_mask(v, v) != 0;
}

static inline PP_TARGET bool
vector_any_high(Vector v)
{
	return _mm512_movepi8_mask(v) != 0;
}
