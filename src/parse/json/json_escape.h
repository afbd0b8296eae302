/*
 * src/parse/json/json_escape.h
 *	  The character that an escape in a valid string stands for.
 *
 * Written once for host and device.
 */
#ifndef PP_JSON_ESCAPE_H
#define PP_JSON_ESCAPE_H

#include "../common.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* The value of a hexadecimal digit, 0x10000 of another byte. */
PP_INLINE uint32_t
pp_json_hex(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10u : 0x10000;
}

/* The value of four of them, more than 0xffff if they are none. */
PP_INLINE uint32_t
pp_json_hex4(const uint8_t *s)
{
	return pp_json_hex(s[0]) << 12 | pp_json_hex(s[1]) << 8 | pp_json_hex(s[2]) << 4 |
		pp_json_hex(s[3]);
}

/* The code point that the valid escape at src, of a 'u', is; behind it. */
PP_INLINE const uint8_t *
pp_json_escaped_code(const uint8_t *src, uint32_t *code)
{
	*code = pp_json_hex4(src + 2);
	src += 6;
	if (*code >= 0xd800 && *code < 0xdc00)
	{
		*code = 0x10000 + ((*code - 0xd800) << 10) + (pp_json_hex4(src + 2) - 0xdc00);
		src += 6;
	}
	return src;
}

/*
 * The escape at src, a backslash: writes its character, in up to four bytes
 * and not more than it has itself, and moves *out behind it.  Answers the
 * place behind the escape, or behind the second of a surrogate pair.
 */
PP_INLINE const uint8_t *
pp_json_escape(const uint8_t *src, uint8_t **out)
{
	uint8_t    *o = *out;
	uint8_t		c = src[1];
	uint32_t	v;

	if (c != 'u')
	{
		*o = c == 'n' ? '\n' : c == 'b' ? '\b' : c == 'f' ? '\f' : c == 'r' ? '\r' :
			c == 't' ? '\t' : c;
		*out = o + 1;
		return src + 2;
	}
	src = pp_json_escaped_code(src, &v);
	if (v < 0x80)
		*o++ = (uint8_t) v;
	else if (v < 0x800)
	{
		*o++ = (uint8_t) (0xc0 | v >> 6);
		*o++ = (uint8_t) (0x80 | (v & 0x3f));
	}
	else if (v < 0x10000)
	{
		*o++ = (uint8_t) (0xe0 | v >> 12);
		*o++ = (uint8_t) (0x80 | (v >> 6 & 0x3f));
		*o++ = (uint8_t) (0x80 | (v & 0x3f));
	}
	else
	{
		*o++ = (uint8_t) (0xf0 | v >> 18);
		*o++ = (uint8_t) (0x80 | (v >> 12 & 0x3f));
		*o++ = (uint8_t) (0x80 | (v >> 6 & 0x3f));
		*o++ = (uint8_t) (0x80 | (v & 0x3f));
	}
	*out = o;
	return src;
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_JSON_ESCAPE_H */
