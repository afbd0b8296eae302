/*
 * test/fuzz/fuzz_convert.c
 *	  Fuzz target: every conversion on arbitrary bytes, in buffers of exactly
 *	  the size that the contract names.
 *
 * Checked: nothing outside the room is written, no more than PP_PAD bytes
 * behind the text are read (by the sanitizer) and these do not matter, the
 * answer is within the room, a varlena header tells the same length, text that
 * a conversion is not allowed to change is not changed, and the same text
 * gives the same answer twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "parse/convert.h"
#include "reference.h"
#include "unit.h"

#define HEAD	6

const char *const fuzz_seed[] = {
	"123", "-9223372036854775808", "32768", "true", "f", "  42  ", "0x1f", "1_000",
	"3.14159265358979", "1e308", "-1.5e-320", "NaN", "Infinity", "0.1", "9007199254740993",
	"12345678901234567890.123456789", "-0.000001", "1e10",
	"2024-02-29", "1999-12-31 23:59:60", "0001-01-01 BC", "2024-02-29 12:34:56.789012+02",
	"12:34:56.999999", "24:00:00", "infinity", "2024-02-29T12:34:56Z", "20240229",
	"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{a0eebc999c0b4ef8bb6d6bb9bd380a11}",
	"\\x0123456789abcdef", "\\000abc\\\\", "text with spaces   ", "h\xc3\xa9llo w\xc3\xb6rld",
	"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", "",
	NULL
};
const size_t fuzz_head = HEAD;
const char *const fuzz_name = "fuzz_convert";

static const char *
type_name(PpType type)
{
	static const char *const name[] = {
		"defer", "bool", "int2", "int4", "int8", "float4", "float8", "numeric", "date",
		"time", "timestamp", "timestamptz", "uuid", "text", "varchar", "bpchar", "name",
		"bytea"
	};

	return name[type];
}

static void
wrong(const PpColumn *col, const uint8_t *s, uint32_t n, const char *why)
{
	fprintf(stderr, "%s (mod %d) of %s: %s\n", type_name(col->type), (int) col->mod,
			unit_show(s, n), why);
	abort();
}

/* The text in a buffer of its own, with `pad` in the bytes behind it. */
static uint8_t *
place(const uint8_t *s, uint32_t n, uint8_t pad)
{
	uint8_t    *copy = unit_malloc((size_t) n + PP_PAD);

	if (n > 0)
		memcpy(copy, s, n);
	memset(copy + n, pad, PP_PAD);
	return copy;
}

static void
by_value(const PpColumn *col, const PpEnv *env, const uint8_t *s, uint32_t n)
{
	uint8_t    *a = place(s, n, 0);
	uint8_t    *b = place(s, n, '7');
	uint64_t	va = UINT64_C(0x5555555555555555);
	uint64_t	vb = va;
	bool		da = pp_convert_value(col, env, a, n, &va);
	bool		db = pp_convert_value(col, env, b, n, &vb);

	if (da != db || (da && va != vb))
		wrong(col, s, n, "depends on what follows the text");
	if (n > 0 && memcmp(a, s, n) != 0)
		wrong(col, s, n, "changes the text");
	if (da && col->type == PP_BOOL && va > 1)
		wrong(col, s, n, "is neither true nor false");
	if (da && ((col->type == PP_INT2 && (int64_t) va != (int16_t) va) ||
			   ((col->type == PP_INT4 || col->type == PP_FLOAT4 || col->type == PP_DATE) &&
				(int64_t) va != (int32_t) va)))
		wrong(col, s, n, "is not sign-extended");
	if (da && col->type == PP_TIME && va > UINT64_C(86400000000))
		wrong(col, s, n, "is no time of day");
	free(a);
	free(b);
}

static uint64_t
by_reference_once(const PpColumn *col, const PpEnv *env, const uint8_t *s, uint32_t n,
				  uint8_t pad, uint8_t fill, uint8_t *result, uint64_t room)
{
	uint8_t    *text = place(s, n, pad);

	/* exactly the room, so that a sanitizer sees what is written behind it */
	uint8_t    *dst = aligned_alloc(16, (size_t) ((room + 15) & ~UINT64_C(15)) + 16);
	uint64_t	used;

	if (dst == NULL)
		abort();
	memset(dst, fill, (size_t) ((room + 15) & ~UINT64_C(15)) + 16);
	used = pp_convert_reference(col, env, text, n, dst);
	if (used > room)
		wrong(col, s, n, "needs more room than it says");
	for (uint64_t i = room; i < ((room + 15) & ~UINT64_C(15)) + 16; i++)
		if (dst[i] != fill)
			wrong(col, s, n, "writes behind its room");
	if (n > 0 && memcmp(text, s, n) != 0)
		wrong(col, s, n, "changes the text");
	memcpy(result, dst, (size_t) used);
	free(dst);
	free(text);
	return used;
}

static void
by_reference(const PpColumn *col, const PpEnv *env, const uint8_t *s, uint32_t n)
{
	uint64_t	room = pp_convert_room(col, n);
	uint8_t    *a = unit_malloc((size_t) room);
	uint8_t    *b = unit_malloc((size_t) room);
	uint64_t	na = by_reference_once(col, env, s, n, 0, 0xa5, a, room);
	uint64_t	nb = by_reference_once(col, env, s, n, '7', 0x5a, b, room);

	/* differing in what was not written shows as a difference, too */
	if (na != nb || memcmp(a, b, (size_t) na) != 0)
		wrong(col, s, n, "depends on what follows the text, or leaves bytes unwritten");
	if (na > 0)
	{
		if (col->type == PP_UUID)
		{
			if (na != 16)
				wrong(col, s, n, "a uuid has 16 bytes");
		}
		else if (col->type == PP_NAME)
		{
			if (na != 64 || a[63] != 0)
				wrong(col, s, n, "a name has 64 bytes and ends with a zero");
		}
		else
		{
			uint32_t	header;

			memcpy(&header, a, 4);
			if (header != (uint32_t) na << 2)
				wrong(col, s, n, "the header tells another length");
		}
		if (col->type == PP_TEXT && (na != 4 + (uint64_t) n || memcmp(a + 4, s, n) != 0))
			wrong(col, s, n, "is another text");
	}
	else if (col->type == PP_TEXT)
		wrong(col, s, n, "text is always taken as it is");
	free(a);
	free(b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t day = INT64_C(86400000000);
	PpZoneSpan	zone[3];
	PpEnv		env;
	const uint8_t *s;
	uint32_t	n;
	bool		utf8;

	if (size < HEAD)
		return 0;
	s = data + HEAD;
	n = (uint32_t) (size - HEAD);
	/* valid text without zero bytes is all that a conversion ever sees */
	n = (uint32_t) ref_nul_prefix(s, n);
	utf8 = (data[0] & 1) != 0;
	if (utf8)
		n = (uint32_t) ref_utf8_prefix(s, n);

	memset(&env, 0, sizeof(env));
	env.charset = utf8 ? PP_CHARSET_UTF8 : data[0] & 2 ? PP_CHARSET_SINGLE : PP_CHARSET_OTHER;
	zone[0].from = -400000 * day;
	zone[0].to = -10 * day;
	zone[0].offset = -18000;
	zone[1].from = -10 * day;
	zone[1].to = 8000 * day;
	zone[1].offset = 3600;
	zone[2].from = 8000 * day + 3600 * INT64_C(1000000);
	zone[2].to = 20000 * day;
	zone[2].offset = 7200;
	env.zone = zone;
	env.nzone = data[1] % 4;

	for (uint32_t t = PP_BOOL; t <= PP_BYTEA; t++)
	{
		PpColumn	col;

		memset(&col, 0, sizeof(col));
		col.type = (PpType) t;
		for (uint32_t m = 0; m < 2; m++)
		{
			col.mod = -1;
			if (m == 1)
				switch (col.type)
				{
					case PP_NUMERIC:
						col.mod = PP_NUMERIC_MOD(1 + (data[2] | (data[3] & 3) << 8) % 1000,
												 (data[4] | (data[5] & 7) << 8) % 2001 - 1000);
						if (data[3] & 4)
							col.mod = PP_NUMERIC_MOD(1 + data[2] % 38, data[4] % 10);
						break;
					case PP_TIME:
					case PP_TIMESTAMP:
					case PP_TIMESTAMPTZ:
						col.mod = data[2] % 7;
						break;
					case PP_VARCHAR:
					case PP_BPCHAR:
						col.mod = 1 + data[2] % (data[3] & 1 ? 10 : 255);
						break;
					default:
						continue;
				}
			if (pp_type_by_reference(col.type))
				by_reference(&col, &env, s, n);
			else
				by_value(&col, &env, s, n);
		}
	}
	return 0;
}
