/*
 * src/parse/utf8.c
 *	  Verification of incoming bytes, without vector instructions.
 *
 * ASCII goes by 32 bytes a step; the rest character by character, by the
 * ranges of the second byte in RFC 3629, section 4.
 */
#include "utf8.h"

#include <string.h>

#define HIGH_BITS	UINT64_C(0x8080808080808080)
#define LOW_BITS	UINT64_C(0x0101010101010101)

/* Are the 32 bytes at s all in 0x01..0x7f? */
static inline bool
plain_ascii_32(const uint8_t *s)
{
	uint64_t	w[4];
	uint64_t	high = 0;

	memcpy(w, s, sizeof(w));
	for (int i = 0; i < 4; i++)
		/* a byte without high bit borrows into it only if it is zero */
		high |= w[i] | (w[i] - LOW_BITS);
	return (high & HIGH_BITS) == 0;
}

static inline bool
continuation(uint8_t c)
{
	return (c & 0xc0) == 0x80;
}

/* Length of the valid character at s, 0 if there is none in n bytes. */
static inline uint32_t
character(const uint8_t *s, size_t n)
{
	uint8_t		c = s[0];

	if (c < 0x80)
		return c != 0;
	if (c < 0xc2)
		return 0;
	if (c < 0xe0)
		return n >= 2 && continuation(s[1]) ? 2 : 0;
	if (c < 0xf0)
	{
		uint8_t		low = c == 0xe0 ? 0xa0 : 0x80;
		uint8_t		high = c == 0xed ? 0x9f : 0xbf;

		return n >= 3 && s[1] >= low && s[1] <= high && continuation(s[2]) ? 3 : 0;
	}
	if (c < 0xf5)
	{
		uint8_t		low = c == 0xf0 ? 0x90 : 0x80;
		uint8_t		high = c == 0xf4 ? 0x8f : 0xbf;

		return n >= 4 && s[1] >= low && s[1] <= high &&
			continuation(s[2]) && continuation(s[3]) ? 4 : 0;
	}
	return 0;
}

size_t
pp_utf8_valid_prefix(const uint8_t *s, size_t n)
{
	size_t		i = 0;

	while (i < n)
	{
		size_t		stop;

		while (i + 32 <= n && plain_ascii_32(s + i))
			i += 32;
		/* Before the fast way is tried again, get past what stopped it. */
		stop = n - i < 32 ? n : i + 32;
		while (i < stop)
		{
			uint32_t	len = character(s + i, n - i);

			if (len == 0)
				return i;
			i += len;
		}
	}
	return n;
}

size_t
pp_nul_free_prefix(const uint8_t *s, size_t n)
{
	const uint8_t *nul = memchr(s, 0, n);

	return nul ? (size_t) (nul - s) : n;
}
