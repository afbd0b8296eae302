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
			uint32_t	len = pp_utf8_character(s + i, n - i);

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
