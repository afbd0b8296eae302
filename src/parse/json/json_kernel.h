/*
 * src/parse/json/json_kernel.h
 *	  The structure pass of JSON, for each instruction set: text to a list of
 *	  tokens, with everything checked that does not take the grammar.
 *
 * As in ../cpu/kernel.h there is one algorithm, json_kernel_impl.h, and an
 * instance for each PpSimd level.  It only accepts: text that it does not is
 * for the reference to judge.
 */
#ifndef PP_JSON_KERNEL_H
#define PP_JSON_KERNEL_H

#include "json_range.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* A token's class, in the upper four bits of a byte. */
enum
{
	PP_TOKEN_OTHER = 0x00,		/* text that begins no token */
	PP_TOKEN_LINE = 0x40,		/* a line's end */
	PP_TOKEN_STRING = 0x10,
	PP_TOKEN_NUMBER = 0x30,
	PP_TOKEN_WORD = 0x50,		/* begins with t, f or n */
	PP_TOKEN_BRACKET = 0x80,	/* a bit of all that follow */
	PP_TOKEN_COLON = 0x80,
	PP_TOKEN_COMMA = 0x90,
	PP_TOKEN_OBJECT = 0xa0,
	PP_TOKEN_ARRAY = 0xb0,
	PP_TOKEN_OBJECT_END = 0xc0,
	PP_TOKEN_ARRAY_END = 0xd0
};

/* With this mask, strings, numbers and words are equal, and nothing else. */
#define PP_TOKEN_SCALAR_MASK	0x90

/* The class of a token that begins with that byte. */
extern const uint8_t pp_json_class[256];

typedef struct PpJsonTokens
{
	uint32_t   *pos;			/* [n] first byte: of strings, the opening quote */
	uint8_t    *cls;			/* [n] */
	uint32_t	n;
	uint32_t   *line;			/* [nlines] which of them are line ends ... */
	uint32_t	nlines;
	uint32_t   *word;			/* [nwords] ... and words */
	uint32_t	nwords;
	bool		no_lines;		/* line ends are not to be listed */
} PpJsonTokens;

/* Room in each list behind one entry a byte. */
#define PP_JSON_TOKEN_SLACK	128

#define PP_JSON_ODD			1u	/* something is wrong, or may be */
#define PP_JSON_NUMBERS		2u	/* numbers, and other tokens that are not strings,
								 * brackets, commas, colons or words, are not
								 * checked */
#define PP_JSON_NOT_ASCII	4u	/* there are bytes of 0x80 or more, not checked */

typedef struct PpJsonKernels
{
	/*
	 * Lists the tokens of text[from .. to), whole lines.  Without flags in the
	 * answer all strings are closed and hold no control character and only
	 * valid escapes, nothing but tokens and white space is outside, and numbers
	 * follow the grammar.  Never checked are words; tokens of no class may be
	 * anything.  PP_PAD bytes from to on may be read.
	 */
	uint32_t	(*tokens) (PpJsonTokens *tokens, const uint8_t *text,
						   uint32_t from, uint32_t to);

	/*
	 * As pp_json_unescape(), but may write up to PP_UNQUOTE_SLACK bytes behind
	 * the n that dst has, and read PP_PAD behind src.
	 */
	uint32_t	(*unescape) (const uint8_t *src, uint32_t n, uint8_t *dst);

	/*
	 * Adds the brackets of text[0 .. n) to what those who start outside and
	 * inside of a string have seen, and sets the states behind.
	 */
	void		(*sweep) (PpJsonSweep *outside, PpJsonSweep *inside,
						  const uint8_t *text, uint32_t n);
} PpJsonKernels;

/* Of a level; NULL: there are none, the reference does all the work. */
extern const PpJsonKernels *pp_json_kernels(PpSimd level);

#if defined(__x86_64__)
extern const PpJsonKernels pp_json_kernels_sse2;
extern const PpJsonKernels pp_json_kernels_avx2;
extern const PpJsonKernels pp_json_kernels_avx512;
#elif defined(__aarch64__)
extern const PpJsonKernels pp_json_kernels_neon;
#endif

#ifdef __cplusplus
}
#endif

#endif							/* PP_JSON_KERNEL_H */
