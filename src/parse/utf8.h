/*
 * src/parse/utf8.h
 *	  Verification of incoming bytes: how many from the start are valid.
 *
 * What is valid is what PostgreSQL accepts: for UTF-8 the well-formed
 * sequences of RFC 3629 (no overlong forms, no surrogates, nothing above
 * U+10FFFF), and never a zero byte in any encoding.
 */
#ifndef PP_UTF8_H
#define PP_UTF8_H

#include "common.h"

#ifdef __cplusplus
extern "C"
{
#endif

PP_INLINE bool
pp_utf8_continuation(uint8_t c)
{
	return (c & 0xc0) == 0x80;
}

/* Length of the valid character at s, 0 if there is none in n bytes. */
PP_INLINE uint32_t
pp_utf8_character(const uint8_t *s, size_t n)
{
	uint8_t		c = s[0];

	if (c < 0x80)
		return c != 0;
	if (c < 0xc2)
		return 0;
	if (c < 0xe0)
		return n >= 2 && pp_utf8_continuation(s[1]) ? 2 : 0;
	if (c < 0xf0)
	{
		uint8_t		low = c == 0xe0 ? 0xa0 : 0x80;
		uint8_t		high = c == 0xed ? 0x9f : 0xbf;

		return n >= 3 && s[1] >= low && s[1] <= high && pp_utf8_continuation(s[2]) ? 3 : 0;
	}
	if (c < 0xf5)
	{
		uint8_t		low = c == 0xf0 ? 0x90 : 0x80;
		uint8_t		high = c == 0xf4 ? 0x8f : 0xbf;

		return n >= 4 && s[1] >= low && s[1] <= high &&
			pp_utf8_continuation(s[2]) && pp_utf8_continuation(s[3]) ? 4 : 0;
	}
	return 0;
}

/*
 * Leading bytes of s that are whole valid UTF-8 characters other than NUL.
 * If the answer is less than n, an invalid or an incomplete character starts
 * there; it is certainly invalid if four bytes or more are left.
 */
extern size_t pp_utf8_valid_prefix(const uint8_t *s, size_t n);

/* Leading bytes of s that are not zero. */
extern size_t pp_nul_free_prefix(const uint8_t *s, size_t n);

#ifdef __cplusplus
}
#endif

#endif							/* PP_UTF8_H */
