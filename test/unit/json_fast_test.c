/*
 * test/unit/json_fast_test.c
 *	  The short cuts of the JSON engine: records that are made like others, and
 *	  numbers of nine bytes and more.  Whatever the level, the backend has to
 *	  say what the reference says.
 */
#include <stdio.h>
#include <string.h>

#include "json_run.h"

/* Numbers of the tests, for unit_random(). */
enum
{
	T_NUMBERS = 1,
	T_SHAPES,
	T_LENGTHS
};

#define ROOM		(64 * 1024)

static const PpJsonStep step_a = {(const uint8_t *) "a", 1, 0};

/* A table of one column, the key "a". */
static JsonTable
table_of(PpType type)
{
	JsonTable	t;

	memset(&t, 0, sizeof(t));
	t.ncolumns = 1;
	t.column[0].type = type;
	t.column[0].mod = -1;
	t.json[0].nsteps = 1;
	t.json[0].step = &step_a;
	t.max_depth = 100;
	return t;
}

/* Compares all levels with the reference. */
static void
everywhere(const JsonTable *t, const char *text, uint32_t len)
{
	JsonLog		want = {NULL, 0, 0};

	for (int level = 0; level < PP_SIMD_LEVELS; level++)
	{
		const JsonCuts cuts = {(PpSimd) level, 0, 0, 1000000, false};
		JsonLog		got = {NULL, 0, 0};
		UnitHeap	heap;

		if (!pp_kernels((PpSimd) level))
			continue;
		memset(&heap, 0, sizeof(heap));
		EXPECT(json_run(t, &cuts, unit_heap_alloc(&heap), (const uint8_t *) text, len, &got), "failed");
		if (level == PP_SIMD_SCALAR)
		{
			want = got;
			continue;
		}
		EXPECT(got.len == want.len && memcmp(got.text, want.text, got.len) == 0,
			   "level %d, %s:\ngot:\n%.2000swanted:\n%.2000s", level,
			   unit_show((const uint8_t *) text, len),
			   got.len ? got.text : "nothing\n", want.len ? want.text : "nothing\n");
		json_log_free(&got);
	}
	json_log_free(&want);
}

static void
digits(UnitRandom *r, char *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		s[i] = (char) ('0' + (unit_once_in(r, 3) ? 9 * unit_below(r, 2) : unit_below(r, 10)));
	s[n] = '\0';
}

/* A number, mostly valid, with up to 20 digits on either side of a point. */
static void
add_number(UnitRandom *r, char *s)
{
	char		before[24];
	char		behind[24];

	digits(r, before, 1 + unit_below(r, 1 + unit_below(r, 20)));
	digits(r, behind, 1 + unit_below(r, 1 + unit_below(r, 20)));
	if (before[0] == '0' && !unit_once_in(r, 50))
		before[0] = '5';
	strcpy(s, unit_once_in(r, 3) ? "-" : "");
	strcat(s, unit_once_in(r, 5) ? "0" : before);
	if (!unit_once_in(r, 4))
	{
		strcat(s, ".");
		strcat(s, behind);
	}
	if (unit_once_in(r, 20))
		strcat(s, unit_once_in(r, 2) ? "e5" : "E-12");
}

static void
test_numbers(void)
{
	static const char *const chosen[] = {
		/* around 2^53, with a point and without */
		"9007199.254740991", "9007199.254740993", "90071992.54740993", "90071993.54740993",
		"90071992.54740992", "-90071992.54740993", "9007199254740993", "9007199254740992.5",
		/* eight digits on a side, and nine */
		"12345678.12345678", "123456789.12345678", "12345678.123456789", "1.12345678", "1.123456789",
		"-0.00000000", "-0.000000001", "0.99999999", "-99999999.9",
		/* sixteen digits, and more */
		"123456789", "-123456789", "1234567890123456", "12345678901234567", "-9999999999999999",
		"9223372036854775807", "-9223372036854775808", "9223372036854775808", "99999999999999999",
		"1234567e89", "12345678e9", "1.2345e678", "1.2345678e9", "12.345678E-9", "1234567.1e-9",
		"\"123456789\"", "\"1.23456789\"", "\" 12345678.5\"", "\"12:45678.5\"", "null", "true", "\"\\u0031234567.5\"",
		"[1234567.5]", "{\"a\":123456.5}",
	};
	static const PpType types[] = {PP_FLOAT8, PP_INT8, PP_INT4, PP_BOOL};
	static char text[ROOM];

	for (uint32_t k = 0; k < 4; k++)
	{
		const JsonTable t = table_of(types[k]);
		uint32_t	n;

		for (uint64_t i = 0; i < unit_iterations(300); i++)
		{
			UnitRandom	r = unit_random(T_NUMBERS, i);
			uint32_t	len = 0;

			unit_case("numbers of type %u, %llu", k, (unsigned long long) i);
			for (n = 0; n < 40; n++)
			{
				char		s[80];

				if (unit_once_in(&r, 4))
					strcpy(s, chosen[unit_below(&r, sizeof(chosen) / sizeof(chosen[0]))]);
				else
					add_number(&r, s);
				len += (uint32_t) sprintf(text + len, "{\"a\":%s%s}\n", s, unit_once_in(&r, 9) ? " " : "");
			}
			everywhere(&t, text, len);
		}
	}
}

/*
 * A line behind one that was proven: like it in all but one place.
 */
static void
test_shapes(void)
{
	static const char *const chosen[][2] = {
		/* any scalar is as good as another where a value stands ... */
		{"{\"a\":1,\"b\":\"x\"}", "{\"a\":\"1\",\"b\":null}"},
		{"{\"a\":true,\"b\":[1,2]}", "{\"a\":3,\"b\":[\"x\",false]}"},
		/* ... but not where a key does, whether its object matters or not */
		{"{\"a\":1,\"b\":{\"c\":2}}", "{\"a\":1,\"b\":{3:2}}"},
		{"{\"a\":1,\"b\":{\"c\":2}}", "{\"a\":1,\"b\":{null:2}}"},
		{"{\"a\":1,\"b\":{\"c\":2}}", "{\"a\":1,true:{\"c\":2}}"},
		{"{\"a\":1,\"b\":{\"c\":2}}", "{7:1,\"b\":{\"c\":2}}"},
		/* and nothing else is a scalar */
		{"{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":[}"},
		{"{\"a\":1,\"b\":2}", "{\"a\":],\"b\":2}"},
		{"{\"a\":1,\"b\":2}", "{\"a\":,,\"b\":2}"},
		{"{\"a\":1,\"b\":2}", "{\"a\":x,\"b\":2}"},
		{"{\"a\":[1,2]}", "{\"a\":[1:2]}"},
		{"{\"a\":[1,2]}", "{\"a\":[1,2}}"},
		{"{\"a\":\"x\"}", "{\"a\":tru}"},
		{"{\"a\":\"x\"}", "{\"a\":01}"},
		/* other keys of the same lengths */
		{"{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}"},
		{"{\"a\":1,\"b\":2}", "{\"a\":1,\"a\":2}"},
		{"{\"b\":{\"a\":1},\"a\":2}", "{\"b\":{\"x\":1},\"a\":3}"},
	};
	const JsonTable t = table_of(PP_INT4);
	static char text[ROOM];

	for (uint32_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++)
		/* behind the end of the shorter lists of classes, too */
		for (uint32_t extra = 0; extra < 30; extra++)
		{
			uint32_t	len = 0;

			unit_case("shape %u, %u values more", i, extra);
			for (uint32_t line = 0; line < 3; line++)
			{
				const char *record = chosen[i][line % 2];

				len += (uint32_t) sprintf(text + len, "{");
				for (uint32_t k = 0; k < extra; k++)
					len += (uint32_t) sprintf(text + len, "\"k%u\":%s,", k, k % 3 ? "1" : "\"\"");
				len += (uint32_t) sprintf(text + len, "%s\n", record + 1);
			}
			everywhere(&t, text, len);
		}
}

/* Records of all numbers of tokens, then the same with one token changed. */
static void
test_lengths(void)
{
	static const char *const other[] = {"[", "]", "{", "}", ":", ",", "\"s\"", "null", "x"};
	const JsonTable t = table_of(PP_TEXT);
	static char text[ROOM];

	for (uint64_t i = 0; i < unit_iterations(400); i++)
	{
		UnitRandom	r = unit_random(T_LENGTHS, i);
		uint32_t	values = 1 + unit_below(&r, 62);
		uint32_t	changed = unit_below(&r, 2 * values);
		const char *with = other[unit_below(&r, sizeof(other) / sizeof(other[0]))];
		uint32_t	len = 0;

		unit_case("%u values, token %u: %s", values, changed, with);
		for (uint32_t line = 0; line < 3; line++)
		{
			len += (uint32_t) sprintf(text + len, "{\"a\":[");
			for (uint32_t k = 0; k < 2 * values - 1; k++)
				len += (uint32_t) sprintf(text + len, "%s", line == 1 && k == changed ? with : k % 2 ? "," : "1");
			len += (uint32_t) sprintf(text + len, "]}\n");
		}
		everywhere(&t, text, len);
	}
}

/* Many shapes, so that the engine becomes wary, and then again few. */
static void
test_many(void)
{
	const JsonTable t = table_of(PP_INT4);
	static char text[ROOM];

	for (uint64_t i = 0; i < unit_iterations(10); i++)
	{
		UnitRandom	r = unit_random(T_SHAPES, i);
		uint32_t	len = 0;

		unit_case("many shapes, %llu", (unsigned long long) i);
		for (uint32_t line = 0; line < 1200; line++)
		{
			if (line % 600 < 400)
				len += (uint32_t) sprintf(text + len, "{\"k%u\":%s,\"%c\":%u}\n", unit_below(&r, 1000),
										  unit_once_in(&r, 2) ? "[1]" : "2",
										  'a' + (char) unit_below(&r, 2), line);
			else
				len += (uint32_t) sprintf(text + len, "{\"a\":%u,\"b\":%s}\n", line,
										  unit_once_in(&r, 5) ? "[]" : "null");
		}
		everywhere(&t, text, len);
	}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "json_fast_test");
	test_numbers();
	test_shapes();
	test_lengths();
	test_many();
	return unit_end();
}
