/*
 * test/unit/convert_texts.h
 *	  Tests of uuid, text, varchar, bpchar, name and bytea against byte-wise
 *	  definitions.
 */
#ifndef CONVERT_TEXTS_H
#define CONVERT_TEXTS_H

#include <ctype.h>

#include "convert_check.h"

static uint8_t ref_bytes[8192];

static void
expect_bytes(PpType type, int32_t mod, PpCharset charset, const char *text,
			 size_t n, Verdict verdict, uint64_t size)
{
	PpColumn	col = {type, 0, 0, mod};
	PpEnv		env = {charset, 0, NULL};

	expect(&col, &env, text, n, verdict, ref_bytes, size);
}

/* A varlena of what is in ref_bytes from 4 on; answers its size. */
static uint64_t
finish_varlena(size_t payload)
{
	uint64_t	size = payload + 4;

	for (int i = 0; i < 4; i++)
		ref_bytes[i] = (uint8_t) ((size * 4) >> (8 * i));
	return size;
}

/* Random valid UTF-8, or bytes of any kind but zero. */
static size_t
random_text(char *dst, bool utf8, size_t most)
{
	size_t		n = 0;
	size_t		want = below((uint32_t) most);
	uint32_t	rare = 1 + below(20);

	while (n < want)
	{
		uint32_t	code = one_in(rare) ? below(0x10ffff) : 1 + below(127);

		if (!utf8)
			dst[n++] = (char) (1 + below(one_in(rare) ? 255 : 127));
		else if (code < 0x80)
			dst[n++] = (char) (code ? code : 1);
		else if (code < 0x800)
		{
			dst[n++] = (char) (0xc0 | code >> 6);
			dst[n++] = (char) (0x80 | (code & 63));
		}
		else if (code >= 0x10000)
		{
			dst[n++] = (char) (0xf0 | code >> 18);
			dst[n++] = (char) (0x80 | (code >> 12 & 63));
			dst[n++] = (char) (0x80 | (code >> 6 & 63));
			dst[n++] = (char) (0x80 | (code & 63));
		}
		else if (code < 0xd800 || code > 0xdfff)
		{
			dst[n++] = (char) (0xe0 | code >> 12);
			dst[n++] = (char) (0x80 | (code >> 6 & 63));
			dst[n++] = (char) (0x80 | (code & 63));
		}
	}
	return n;
}

/* Characters by following lead bytes; -1 if the encoding is not known. */
static long
reference_characters(PpCharset charset, const char *text, size_t n)
{
	long		count = 0;

	if (charset == PP_CHARSET_SINGLE)
		return (long) n;
	for (size_t i = 0; i < n; count++)
	{
		unsigned char c = (unsigned char) text[i];

		if (charset == PP_CHARSET_OTHER && c >= 0x80)
			return -1;
		i += c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	}
	return count;
}

static void
test_texts(void)
{
	char		text[2048];

	begin_group("text, varchar, bpchar, name");
	for (uint64_t i = 0; i < iterations; i++)
	{
		PpCharset	charset = (PpCharset) below(3);
		size_t		n = random_text(text, charset == PP_CHARSET_UTF8,
									one_in(100) ? 2000 : one_in(4) ? 100 : 24);
		long		characters = reference_characters(charset, text, n);
		int32_t		mod = one_in(6) ? -1 :
			(int32_t) (1 + (one_in(2) ? below(40) : (uint32_t) n + below(7)));
		uint64_t	size;

		if (mod > 4 && one_in(2))
			mod -= 4;
		memcpy(ref_bytes + 4, text, n);
		size = finish_varlena(n);
		expect_bytes(PP_TEXT, -1, charset, text, n, MUST_CONVERT, size);
		expect_bytes(PP_VARCHAR, mod, charset, text, n,
					 mod == -1 || (long) n <= mod ||
					 (characters >= 0 && characters <= mod) ? MUST_CONVERT : MUST_HAND_OVER,
					 size);
		if (mod != -1 && characters >= 0 && characters <= mod)
		{
			memset(ref_bytes + 4 + n, ' ', (size_t) (mod - characters));
			size = finish_varlena(n + (size_t) (mod - characters));
		}
		expect_bytes(PP_BPCHAR, mod, charset, text, n,
					 mod == -1 || (characters >= 0 && characters <= mod) ?
					 MUST_CONVERT : MUST_HAND_OVER, size);

		memset(ref_bytes, 0, 64);
		memcpy(ref_bytes, text, n < 64 ? n : 64);
		expect_bytes(PP_NAME, -1, charset, text, n,
					 n < 64 ? MUST_CONVERT : MUST_HAND_OVER, 64);
	}

	/* Nothing is copied if the value could never be one. */
	group_values++;
	if (pp_to_text((const uint8_t *) text, 0x3ffffffcu, NULL) != 0 ||
		pp_to_bpchar((const uint8_t *) "", 0, 0x3ffffffc, &(PpEnv) {PP_CHARSET_UTF8, 0, NULL}, NULL) != 0)
		complain("", 0, "a value of 1 GB");
	end_group();
}

static int
hex_value(char c)
{
	return isdigit((unsigned char) c) ? c - '0' : tolower((unsigned char) c) - 'a' + 10;
}

static void
expect_uuid(const char *text, size_t n)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	bool		good = n == 36;
	int			nibbles = 0;

	for (size_t i = 0; good && i < 36; i++)
		if (form[i] != 'x')
			good = text[i] == '-';
		else if (isxdigit((unsigned char) text[i]))
		{
			if (nibbles % 2 == 0)
				ref_bytes[nibbles / 2] = (uint8_t) (hex_value(text[i]) << 4);
			else
				ref_bytes[nibbles / 2] |= (uint8_t) hex_value(text[i]);
			nibbles++;
		}
		else
			good = false;
	expect_bytes(PP_UUID, -1, PP_CHARSET_UTF8, text, n,
				 good ? MUST_CONVERT : MUST_HAND_OVER, 16);
}

static void
expect_bytea(const char *text, size_t n)
{
	bool		good = true;
	size_t		payload = n;

	if (n >= 2 && text[0] == '\\' && text[1] == 'x')
	{
		payload = n / 2 - 1;
		good = n % 2 == 0;
		for (size_t i = 2; i < n; i++)
			good = good && isxdigit((unsigned char) text[i]);
		for (size_t i = 0; good && i < payload; i++)
			ref_bytes[4 + i] = (uint8_t) (hex_value(text[2 + 2 * i]) * 16 +
										  hex_value(text[3 + 2 * i]));
	}
	else
	{
		good = memchr(text, '\\', n) == NULL;
		memcpy(ref_bytes + 4, text, n);
	}
	expect_bytes(PP_BYTEA, -1, PP_CHARSET_UTF8, text, n,
				 good ? MUST_CONVERT : MUST_HAND_OVER,
				 finish_varlena(payload));
}

static void
test_hex(void)
{
	static const char alphabet[] = "0123456789abcdefABCDEFgGxX@`/:-\\{} \x10\xb0\xe1\xc1";
	char		text[512];

	begin_group("uuid, bytea");

	/* Every byte at every place of a uuid, and of short bytea values. */
	for (size_t at = 0; at < 36; at++)
		for (int c = 1; c < 256; c++)
		{
			memcpy(text, "01234567-89ab-cdef-ABCD-EF0123456789", 36);
			text[at] = (char) c;
			expect_uuid(text, 36);
			memcpy(text, "\\x0123456789abcdefABCDEF0123456789abcd", 36);
			text[at] = (char) c;
			expect_bytea(text, at + 1);
			expect_bytea(text, 36);
			expect_bytea(text, at + 1 + below((uint32_t) (36 - at)));
		}
	expect_uuid("", 0);
	expect_bytea("", 0);
	expect_bytea("\\", 1);
	expect_bytea("\\x", 2);
	expect_bytea("\\X00", 4);

	for (uint64_t i = 0; i < iterations; i++)
	{
		size_t		n;

		n = (size_t) sprintf(text, one_in(2) ? "%08x-%04x-%04x-%04x-%04x%08x" :
							 "%08X-%04X-%04X-%04X-%04X%08X",
							 (unsigned) next_random(), below(65536), below(65536),
							 below(65536), below(65536), (unsigned) next_random());
		expect_uuid(text, n);
		expect_uuid(text, mutate(text, n, alphabet));

		n = 0;
		if (!one_in(4))
		{
			text[n++] = '\\';
			text[n++] = 'x';
		}
		for (uint32_t k = 2 * below(one_in(20) ? 200 : 20) + one_in(10); k > 0; k--)
			text[n++] = alphabet[below(22)];
		expect_bytea(text, n);
		if (one_in(2))
			expect_bytea(text, mutate(text, n, alphabet));
		n = random_text(text, true, 60);
		expect_bytea(text, n);
	}
	end_group();
}

#endif							/* CONVERT_TEXTS_H */
