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

/* See json_masks.h. */
typedef struct JsonMasks
{
	uint64_t	quote;
	uint64_t	backslash;
	uint64_t	control;
	__m512i		b;
	__m512i		kinds;
} JsonMasks;

typedef struct JsonOutside
{
	uint64_t	space;
	uint64_t	line;
	uint64_t	bracket;
} JsonOutside;

typedef struct JsonScalars
{
	uint64_t	digit;
	uint64_t	zero;
	uint64_t	minus;
	uint64_t	point;
	uint64_t	word;
} JsonScalars;

/* What is the same for all blocks. */
typedef struct JsonConstants
{
	__m512i		kind_low;
	__m512i		kind_high;
	__m512i		iota;
	__m512i		high;
	__m512i		quote;
	__m512i		backslash;
	__m512i		space;
	__m512i		line;
	__m512i		zero;
	__m512i		minus;
	__m512i		point;
	__m512i		u;
	__m512i		k_class;
	__m512i		k_space;
	__m512i		k_digit;
	__m512i		k_word;
	__m512i		k_escaped;
} JsonConstants;

typedef __m512i JsonHigh;

/* What a byte is: its class as a token, beside which there is room for ... */
#define K_CLASS		0xf0
#define K_SPACE		1
#define K_DIGIT		2
#define K_WORD		4
#define K_ESCAPED	8			/* may follow a backslash */

static const uint8_t kind_of[128] = {
	['{'] = PP_TOKEN_OBJECT,['}'] = PP_TOKEN_OBJECT_END,
	['['] = PP_TOKEN_ARRAY,[']'] = PP_TOKEN_ARRAY_END,
	[':'] = PP_TOKEN_COLON,[','] = PP_TOKEN_COMMA,
	[' '] = K_SPACE,['\t'] = K_SPACE,['\r'] = K_SPACE,['\n'] = PP_TOKEN_LINE | K_SPACE,
	['-'] = PP_TOKEN_NUMBER,
	['0'] = PP_TOKEN_NUMBER | K_DIGIT,['1'] = PP_TOKEN_NUMBER | K_DIGIT,
	['2'] = PP_TOKEN_NUMBER | K_DIGIT,['3'] = PP_TOKEN_NUMBER | K_DIGIT,
	['4'] = PP_TOKEN_NUMBER | K_DIGIT,['5'] = PP_TOKEN_NUMBER | K_DIGIT,
	['6'] = PP_TOKEN_NUMBER | K_DIGIT,['7'] = PP_TOKEN_NUMBER | K_DIGIT,
	['8'] = PP_TOKEN_NUMBER | K_DIGIT,['9'] = PP_TOKEN_NUMBER | K_DIGIT,
	['t'] = PP_TOKEN_WORD | K_WORD | K_ESCAPED,['f'] = PP_TOKEN_WORD | K_WORD | K_ESCAPED,
	['n'] = PP_TOKEN_WORD | K_WORD | K_ESCAPED,
	['"'] = PP_TOKEN_STRING | K_ESCAPED,
	['\\'] = K_ESCAPED,['/'] = K_ESCAPED,['b'] = K_ESCAPED,['r'] = K_ESCAPED,['u'] = K_ESCAPED
};

/*
 * A mask, to be computed with.  Compilers like to do that beside the vectors'
 * comparisons, in mask registers, to which the way there and back is long.
 */
static inline uint64_t
mask(uint64_t m)
{
	__asm__("":"+r"(m));
	return m;
}

/*
 * A constant that stays in its register.  Compilers like to make it anew each
 * time, and to move it there takes longer than to compare with it.
 */
static inline PP_TARGET __m512i
constant(__m512i v)
{
	__asm__("":"+v"(v));
	return v;
}

static inline PP_TARGET __attribute__((always_inline)) void
json_constants(JsonConstants *k)
{
	k->kind_low = _mm512_loadu_si512(kind_of);
	k->kind_high = _mm512_loadu_si512(kind_of + 64);
	k->iota = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
							  47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
							  31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
							  15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
#define BYTE(c) constant(_mm512_set1_epi8((char) (c)))
	k->high = BYTE(0x80);
	k->quote = BYTE('"');
	k->backslash = BYTE('\\');
	k->space = BYTE(' ');
	k->line = BYTE('\n');
	k->zero = BYTE('0');
	k->minus = BYTE('-');
	k->point = BYTE('.');
	k->u = BYTE('u');
	k->k_class = BYTE(K_CLASS);
	k->k_space = BYTE(K_SPACE);
	k->k_digit = BYTE(K_DIGIT);
	k->k_word = BYTE(K_WORD);
	k->k_escaped = BYTE(K_ESCAPED);
#undef BYTE
}

#define EQUAL(v, c) mask(_mm512_cmpeq_epi8_mask(v, c))
#define TEST(v, c) mask(_mm512_test_epi8_mask(v, c))

/* A byte above 0x7f is of no kind. */
static inline PP_TARGET __attribute__((always_inline)) void
json_masks(const JsonConstants *k, const uint8_t *block, JsonMasks *m, JsonHigh *high)
{
	__m512i		b = _mm512_loadu_si512(block);

	m->b = b;
	m->kinds = _mm512_maskz_permutex2var_epi8(_mm512_testn_epi8_mask(b, k->high),
											  k->kind_low, b, k->kind_high);
	m->quote = EQUAL(b, k->quote);
	m->backslash = EQUAL(b, k->backslash);
	m->control = mask(_mm512_cmplt_epu8_mask(b, k->space));
	*high = _mm512_or_si512(*high, b);
}

static inline PP_TARGET bool
json_any_high(const JsonHigh *high)
{
	return _mm512_movepi8_mask(*high) != 0;
}

static inline PP_TARGET __attribute__((always_inline)) void
json_outside(const JsonConstants *k, const JsonMasks *m, JsonOutside *o)
{
	o->space = TEST(m->kinds, k->k_space);
	/* PP_TOKEN_BRACKET is the highest bit */
	o->bracket = mask(_mm512_movepi8_mask(m->kinds));
	o->line = EQUAL(m->b, k->line);
}

static inline PP_TARGET __attribute__((always_inline)) void
json_scalars(const JsonConstants *k, const JsonMasks *m, JsonScalars *s)
{
	s->digit = TEST(m->kinds, k->k_digit);
	s->word = TEST(m->kinds, k->k_word);
	s->zero = EQUAL(m->b, k->zero);
	s->minus = EQUAL(m->b, k->minus);
	s->point = EQUAL(m->b, k->point);
}

static inline PP_TARGET __attribute__((always_inline)) uint64_t
json_bad_escapes(const JsonConstants *k, const uint8_t *block, const JsonMasks *m,
				 uint64_t escaped, uint64_t *u)
{
	(void) block;
	*u = escaped & EQUAL(m->b, k->u);
	return escaped & ~TEST(m->kinds, k->k_escaped);
}

/*
 * Appends the tokens that begin at the bits of m; answers their number.  About
 * sixteen are common, so that 32 are always written.
 */
static inline PP_TARGET __attribute__((always_inline)) uint32_t
json_list(const JsonConstants *k, PpJsonTokens *tokens, uint32_t n, const JsonMasks *masks,
		  const uint8_t *block, uint32_t base, uint64_t m)
{
	const __m512i offset = _mm512_set1_epi32((int) base);
	__m512i		at = _mm512_maskz_compress_epi8(m, k->iota);
	__m512i		cls = _mm512_maskz_compress_epi8(m, masks->kinds);
	uint32_t   *out = tokens->pos + n;
	uint32_t	count = (uint32_t) popcount(m);

	(void) block;
	_mm512_storeu_si512(tokens->cls + n, _mm512_and_si512(cls, k->k_class));
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
#include "json_sweep_impl.h"

const PpJsonKernels pp_json_kernels_avx512 = {
	json_tokens,
	json_unescape,
	json_sweep
};

#else
typedef int pp_no_json_kernel_avx512;	/* an empty file is no C */
#endif
