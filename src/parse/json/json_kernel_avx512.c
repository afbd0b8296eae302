/*
 * src/parse/json/json_kernel_avx512.c
 *	  The structure pass of JSON, with AVX-512: what a byte is comes from a
 *	  table of 128 entries, and tokens are listed by compressing vectors.
 */
#if defined(__x86_64__)

#include <string.h>

#include "json_escape.h"
#include "json_kernel.h"
#include "../cpu/simd_avx512.h"

/* Bit i tells of byte i; see json_masks.h. */
typedef struct JsonMasks
{
	uint64_t	quote;
	uint64_t	backslash;
	uint64_t	control;
	uint64_t	high;
	uint64_t	space;
	uint64_t	line;
	uint64_t	bracket;
	__m512i		b;
	__m512i		kinds;
} JsonMasks;

typedef struct JsonScalars
{
	uint64_t	digit;
	uint64_t	zero;
	uint64_t	minus;
	uint64_t	point;
	uint64_t	word;
} JsonScalars;

/* What a byte is, as bits ... */
#define K_BRACKET	1
#define K_SPACE		2
#define K_DIGIT		4
#define K_WORD		8
#define K_ESCAPED	16			/* may follow a backslash */

/* ... and as a class, which the tokens' list needs. */
static const uint8_t kind_of[128] = {
	['{'] = K_BRACKET,['}'] = K_BRACKET,['['] = K_BRACKET,[']'] = K_BRACKET,
	[':'] = K_BRACKET,[','] = K_BRACKET,
	[' '] = K_SPACE,['\t'] = K_SPACE,['\r'] = K_SPACE,['\n'] = K_SPACE,
	['0'] = K_DIGIT,['1'] = K_DIGIT,['2'] = K_DIGIT,['3'] = K_DIGIT,['4'] = K_DIGIT,
	['5'] = K_DIGIT,['6'] = K_DIGIT,['7'] = K_DIGIT,['8'] = K_DIGIT,['9'] = K_DIGIT,
	['t'] = K_WORD | K_ESCAPED,['f'] = K_WORD | K_ESCAPED,['n'] = K_WORD | K_ESCAPED,
	['"'] = K_ESCAPED,['\\'] = K_ESCAPED,['/'] = K_ESCAPED,['b'] = K_ESCAPED,
	['r'] = K_ESCAPED,['u'] = K_ESCAPED
};

static inline PP_TARGET __m512i
look_up(const uint8_t *table, __m512i v)
{
	return _mm512_permutex2var_epi8(_mm512_loadu_si512(table), v, _mm512_loadu_si512(table + 64));
}

/*
 * Of a byte above 0x7f, kinds are those of another.  No character begins with
 * one that looks like a digit, so only these matter.
 */
static inline PP_TARGET __attribute__((always_inline)) void
json_masks(const uint8_t *block, JsonMasks *m)
{
	__m512i		b = _mm512_loadu_si512(block);
	__m512i		k = look_up(kind_of, b);

	m->b = b;
	m->kinds = k;
	m->quote = block_eq(b, '"');
	m->backslash = block_eq(b, '\\');
	m->control = _mm512_cmplt_epu8_mask(b, _mm512_set1_epi8(' '));
	m->high = block_high(b);
	m->line = block_eq(b, '\n');
	m->space = ~m->high & _mm512_test_epi8_mask(k, _mm512_set1_epi8(K_SPACE));
	m->bracket = ~m->high & _mm512_test_epi8_mask(k, _mm512_set1_epi8(K_BRACKET));
}

static inline PP_TARGET __attribute__((always_inline)) void
json_scalars(const JsonMasks *m, JsonScalars *s)
{
	s->digit = _mm512_test_epi8_mask(m->kinds, _mm512_set1_epi8(K_DIGIT));
	s->word = _mm512_test_epi8_mask(m->kinds, _mm512_set1_epi8(K_WORD));
	s->zero = block_eq(m->b, '0');
	s->minus = block_eq(m->b, '-');
	s->point = block_eq(m->b, '.');
}

static inline PP_TARGET __attribute__((always_inline)) uint64_t
json_bad_escapes(const uint8_t *block, const JsonMasks *m, uint64_t escaped, uint64_t *u)
{
	(void) block;
	*u = escaped & block_eq(m->b, 'u');
	return escaped & (m->high | ~_mm512_test_epi8_mask(m->kinds, _mm512_set1_epi8(K_ESCAPED)));
}

/*
 * Appends the tokens that begin at the bits of m; answers their number.  About
 * sixteen are common, so that 32 are always written.
 */
static inline PP_TARGET __attribute__((always_inline)) uint32_t
json_list(PpJsonTokens *tokens, uint32_t n, const JsonMasks *masks, const uint8_t *block,
		  uint32_t base, uint64_t m)
{
	const __m512i iota = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
										 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
										 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
										 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	const __m512i offset = _mm512_set1_epi32((int) base);
	__m512i		at = _mm512_maskz_compress_epi8(m, iota);
	uint32_t   *out = tokens->pos + n;
	uint32_t	count = (uint32_t) popcount(m);

	(void) block;
	_mm512_storeu_si512(tokens->cls + n, _mm512_maskz_compress_epi8(m, look_up(pp_json_class, masks->b)));
#define QUARTER(i) \
	_mm512_storeu_si512(out + 16 * (i), _mm512_add_epi32(offset, \
		_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at, i))))
	QUARTER(0);
	QUARTER(1);
	if (PP_UNLIKELY(count > 32))
	{
		QUARTER(2);
		QUARTER(3);
	}
#undef QUARTER
	return count;
}

#include "json_kernel_impl.h"

const PpJsonKernels pp_json_kernels_avx512 = {
	json_tokens,
	json_unescape
};

#else
typedef int pp_no_json_kernel_avx512;	/* an empty file is no C */
#endif
