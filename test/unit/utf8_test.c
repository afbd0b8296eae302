/*
 * test/unit/utf8_test.c
 *	  The verification of UTF-8 and of zero bytes against a validator that
 *	  decodes code points: exhaustive up to three bytes, the edges of four,
 *	  and every position within and around a block of ASCII.
 */
#include <stdlib.h>
#include <string.h>

#include "parse/utf8.h"
#include "reference.h"
#include "unit.h"

enum
{
	T_MIX = 1
};

/* In a buffer of exactly this size, so that a sanitizer sees an over-read. */
static void
compare_exact(const uint8_t *s, size_t n)
{
	uint8_t    *copy = unit_malloc(n);
	size_t		got;

	if (n > 0)
		memcpy(copy, s, n);
	got = pp_utf8_valid_prefix(copy, n);
	EXPECT(got == ref_utf8_prefix(s, n), "%s: %zu valid, but %zu expected",
		   unit_show(s, n), got, ref_utf8_prefix(s, n));
	got = pp_nul_free_prefix(copy, n);
	EXPECT(got == ref_nul_prefix(s, n), "%s: %zu without zero, but %zu expected",
		   unit_show(s, n), got, ref_nul_prefix(s, n));
	free(copy);
}

/* All sequences of one, two and three bytes, with something valid behind. */
static void
test_exhaustive(void)
{
	uint8_t		s[4];

	unit_case("empty");
	EXPECT(pp_utf8_valid_prefix(s, 0) == 0, "not 0");
	EXPECT(pp_nul_free_prefix(s, 0) == 0, "not 0");

	for (uint32_t len = 1; len <= 3; len++)
		for (uint32_t tail = 0; tail <= 1; tail++)
		{
			uint64_t	wrong = 0;
			uint32_t	first_wrong = 0;

			unit_case("all sequences of %u bytes%s", len, tail ? " and a letter" : "");
			for (uint32_t v = 0; v < 1u << (8 * len); v++)
			{
				for (uint32_t k = 0; k < len; k++)
					s[k] = (uint8_t) (v >> (8 * k));
				s[len] = 'x';
				if (pp_utf8_valid_prefix(s, len + tail) != ref_utf8_prefix(s, len + tail))
					if (wrong++ == 0)
						first_wrong = v;
			}
			for (uint32_t k = 0; k < len; k++)
				s[k] = (uint8_t) (first_wrong >> (8 * k));
			EXPECT(wrong == 0, "%llu differ, such as %s", (unsigned long long) wrong,
				   unit_show(s, len));
		}
}

/* Every lead and second byte, with third and fourth bytes around the edges. */
static void
test_four_bytes(void)
{
	static const uint8_t edge[] = {0x00, 0x41, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x9f,
	0xa0, 0xbe, 0xbf, 0xc0, 0xff};

	for (uint32_t lead = 0xe0; lead <= 0xff; lead++)
	{
		unit_case("four bytes led by %02x", lead);
		for (uint32_t second = 0; second < 256; second++)
			for (uint32_t i = 0; i < sizeof(edge); i++)
				for (uint32_t k = 0; k < sizeof(edge); k++)
				{
					uint8_t		s[4];

					s[0] = (uint8_t) lead;
					s[1] = (uint8_t) second;
					s[2] = edge[i];
					s[3] = edge[k];
					for (size_t n = 1; n <= 4; n++)
						EXPECT(pp_utf8_valid_prefix(s, n) == ref_utf8_prefix(s, n),
							   "%s", unit_show(s, n));
				}
	}
}

/* Named facts of RFC 3629, so that the two validators cannot err together. */
static void
test_known(void)
{
	static const struct
	{
		const char *bytes;
		size_t		len;
		size_t		valid;
	}			known[] = {
		{"a\xc2\x80z", 4, 4},	/* U+0080, least of two bytes */
		{"a\xdf\xbfz", 4, 4},	/* U+07FF */
		{"a\xe0\xa0\x80z", 5, 5},	/* U+0800, least of three */
		{"a\xef\xbf\xbfz", 5, 5},	/* U+FFFF */
		{"a\xf0\x90\x80\x80z", 6, 6},	/* U+10000, least of four */
		{"a\xf4\x8f\xbf\xbfz", 6, 6},	/* U+10FFFF, greatest */
		{"a\xed\x9f\xbfz", 5, 5},	/* U+D7FF */
		{"a\xee\x80\x80z", 5, 5},	/* U+E000 */
		{"\xef\xbb\xbfz", 4, 4},	/* a byte order mark is a character */
		{"a\xc0\x80z", 4, 1},	/* overlong zero */
		{"a\xc1\xbfz", 4, 1},	/* overlong */
		{"a\xe0\x9f\xbfz", 5, 1},	/* overlong */
		{"a\xf0\x8f\xbf\xbfz", 6, 1},	/* overlong */
		{"a\xed\xa0\x80z", 5, 1},	/* U+D800, surrogate */
		{"a\xed\xbf\xbfz", 5, 1},	/* U+DFFF, surrogate */
		{"a\xf4\x90\x80\x80z", 6, 1},	/* U+110000 */
		{"a\xf5\x80\x80\x80z", 6, 1},
		{"a\xf8\x88\x80\x80\x80z", 7, 1},
		{"ab\xffz", 4, 2},
		{"ab\x80z", 4, 2},
		{"ab\xe2\x82", 4, 2},	/* incomplete */
		{"ab\xf0\x9f\x98", 5, 2},
		{"ab\xc3", 3, 2},
		{"ab\0z", 4, 2}
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
	{
		const uint8_t *s = (const uint8_t *) known[i].bytes;

		unit_case("known %zu: %s", i, unit_show(s, known[i].len));
		EXPECT(pp_utf8_valid_prefix(s, known[i].len) == known[i].valid, "not %zu",
			   known[i].valid);
		EXPECT(ref_utf8_prefix(s, known[i].len) == known[i].valid, "reference: not %zu",
			   known[i].valid);
	}
}

/* Valid and invalid characters at every position behind ASCII. */
static void
test_positions(void)
{
	static const char *const piece[] = {
		"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xff", "\x80", "\xe2\x82",
		"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3"
	};

	for (size_t p = 0; p <= sizeof(piece) / sizeof(piece[0]); p++)
	{
		bool		zero = p == sizeof(piece) / sizeof(piece[0]);
		size_t		n = zero ? 1 : strlen(piece[p]);

		unit_case("piece %zu behind 0 to 100 letters, in front of 0 to 40", p);
		for (size_t before = 0; before <= 100; before++)
			for (size_t after = 0; after <= 40; after++)
			{
				uint8_t		s[160];

				memset(s, 'a', sizeof(s));
				memcpy(s + before, zero ? "" : piece[p], n);
				compare_exact(s, before + n + after);
			}
	}
}

static void
test_mix(void)
{
	uint64_t	iterations = unit_iterations(100000);

	for (uint64_t i = 0; i < iterations; i++)
	{
		UnitRandom	r = unit_random(T_MIX, i);
		uint8_t		s[300];
		size_t		n = 0;
		uint32_t	rare = 1 + unit_below(&r, 60);

		unit_case("mix %llu", (unsigned long long) i);
		while (n < 280)
		{
			uint32_t	code;

			switch (unit_below(&r, 6))
			{
				case 0:
					code = 0x80 + unit_below(&r, 0x780);
					s[n++] = (uint8_t) (0xc0 | code >> 6);
					s[n++] = (uint8_t) (0x80 | (code & 0x3f));
					break;
				case 1:
					code = 0x800 + unit_below(&r, 0xf800);
					s[n++] = (uint8_t) (0xe0 | code >> 12);
					s[n++] = (uint8_t) (0x80 | (code >> 6 & 0x3f));
					s[n++] = (uint8_t) (0x80 | (code & 0x3f));
					break;
				case 2:
					code = 0x10000 + unit_below(&r, 0x100000);
					s[n++] = (uint8_t) (0xf0 | code >> 18);
					s[n++] = (uint8_t) (0x80 | (code >> 12 & 0x3f));
					s[n++] = (uint8_t) (0x80 | (code >> 6 & 0x3f));
					s[n++] = (uint8_t) (0x80 | (code & 0x3f));
					break;
				default:
					for (uint32_t k = unit_below(&r, 40); k > 0 && n < 280; k--)
						s[n++] = (uint8_t) (1 + unit_below(&r, 127));
					break;
			}
			if (unit_once_in(&r, rare))
				s[unit_below(&r, (uint32_t) n + 1)] = (uint8_t) unit_below(&r, 256);
		}
		compare_exact(s, unit_below(&r, (uint32_t) n + 1));
	}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "utf8");
	test_known();
	test_exhaustive();
	test_four_bytes();
	test_positions();
	test_mix();
	return unit_end();
}
