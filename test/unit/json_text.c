/*
 * test/unit/json_text.c
 *	  Lines of JSON for tests, see json_text.h.
 */
#include "json_text.h"

#include <stdlib.h>
#include <string.h>

const char *const json_chosen[JSON_CHOSEN] = {
	"", "\n", " \n\t\r\n", "{}", "{}\n", " {} \r\n\n{}", "{\"a\":1}\n", "{\"a\":1,\"a\":2}",
	"\xef\xbb\xbf{\"a\":1}\n", "\xef\xbb\xbf", "\xef\xbb{}", "\xef\xbb\xbf\n{}", "{}\n\xef\xbb\xbf{}",
	"{\"a\":{\"b\":1},\"a\":3}", "{\"a\":{\"b\":1},\"a\":{}}", "{\"a\":{\"b\":1,\"b\":2.5}}",
	"{\"a\":[1,2,3]}", "{\"a\":[1]}", "{\"a\":[1,[2]],\"a\":[[5,6],{\"c\":\"x\"}]}",
	"{\"a\":[1,{\"c\":1,\"c\":\"\\ud83d\\ude00\"}]}", "[1,2,{\"x\":3}]", "[0,1,\"two\",3]",
	"{\"b\":{\"c\":{\"a\":[1, 2 ]}}}", "{\"b\":{\"c\":{\"a\":1}},\"b\":{\"c\":7}}",
	"{\"\\u0061\":5}", "{\"\\u0061\":5,\"a\":6}", "{\"a\":6,\"\\u0061\":null}", "{\"\":\"e\"}",
	"{\"a long key of 23 bytes.\":1}", "{\"a long key of 23 bytes,\":1}", "{\"abcdefghijklmn\":1,\"abcdef\":2}",
	"{\"\\u00e9\\\"\\\\\":1}", "{\"\xc3\xa9\\\"\\\\\":1}", "{\"b\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20AC\\uD83D\\uDE00\"}",
	"{\"c\":true}", "{\"c\":false}", "{\"c\":null}", "{\"c\":\"null\"}", "{\"c\": [ null , true ] }",
	"{\"c\":\"x\\ny\"}", "{\"b\":\"\x7f\"}", "{\"b\":\"\x01\"}", "{\"b\":\"\t\"}", "{\"b\":\"a\nb\"}",
	"{\"b\":\"\\u12g4\"}", "{\"b\":\"\\uABCD\\uabcd\"}", "{\"b\":\"\\u0000\"}", "{\"b\":\"\\u000\"}",
	"{\"b\":\"\\x\"}", "{\"b\":\"\\\"}", "{\"b\":\"\\", "{\"b\":\"\\u", "{\"b\":\"\\ud800\"}", "{\"b\":\"\\udc00\"}",
	"{\"b\":\"\\ud800\\ud800\\udc00\"}", "{\"b\":\"\\ud800x\\udc00\"}", "{\"b\":\"\\\\ud800\\udc00\"}",
	"{\"b\":\"\\ud800\",\"a\":\"\\udc00\"}", "{\"b\":\"\\ud800\"\n\"\\udc00\"}",
	"{\"b\":\"\\ud800\\u0000\"}", "{\"b\":\"\\u0000\"} x", "[\"\\u0000\"]", "\"\\u0000\"", "\"\\ud800\" 1",
	"{\"b\":\"\xc3\"}", "{\"b\":\"\x80\"}", "{\"b\":\"\xc0\x80\"}", "{\"b\":\"\xed\xa0\x80\"}",
	"{\"b\":\"\xf4\x90\x80\x80\"}", "{\"b\":\"\xf4\x8f\xbf\xbf\"}", "{\"b\":\"\xff\"} }", "} \xff", "\xc3\xa9",
	"1", "-0", "-", "01", "-01", "1.", ".5", "1.5.5", "1..5", "1e", "1e5", "1E+5", "1e-", "1.e5", "0e0", "1e5.5", "--1",
	"1-2", "+1", "0x10", "00", "-1.25", "123456789012345678901234567890", "1 2", "truefalse", "true", "tru", "nul", "nulll", "False",
	"{\"abcdefg\":1}\n{\"abcdefgh\":2}", "[[1\xdd\xac[2]]", "[1\xdd\xa0", "[1\xdb\xacx]", "[1,\xee\x80\x80]", "[\xb1]", "[12\xb1]", "[1\xc2\xa0]", "[1\x0b]", "[1,\x02 2]", "[-.5]", "[.5]",
	"[12\xc2\xb1]", "[true\xc2\xa0]", "[\\]", "[1\\]", "[true\\]", "[\\\"1]", "{\"a\":\\\"}\n{\"b\":\"}", "[1,-]", "[1.]", "[-0.0]", "[12.34.5]",
	"{\"abcdefg\":1}\n{\"abcdefh\":2}\n{\"abcdefg\":3}", "{\"abcdefgh\":1}\n{\"abcdefg\":2}\n{\"abcdef\":3}\n{\"abcdeg\":4}",
	"{\"a long key of 23 bytes.\":1}\n{\"a long kex of 23 bytes.\":2}\n{\"a long key of 23 bytes,\":3}\n{\"b long key of 23 bytes.\":4}",
	"{\"abcdefghijklmn\":1}\n{\"abcdefghijklmm\":2}\n{\"abcdefghijklm\":3}\n{\"abcdefghijklmno\":3}", "x\n\xef\xbb\xbf{}\n",
	"NaN", "-Infinity", "t", "\"a\"", "\"a", "a\"", "\"a\"b", "\"a\"1", "1\"a\"", "null", "[", "]", "{", "}", ",", ":",
	"[1,]", "[,1]", "[1 2]", "[1:2]", "{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\" 1}", "{\"a\":1,}", "{,}", "{\"a\":1 \"b\":2}",
	"{\"a\":1]", "[1}", "[]]", "{}}", "{}{}", "[][]", "[[[]]]", "[[[[]]]]", "{\"a\":{\"a\":{\"a\":1}}}", "{\"a\":{\"a\":{\"a\":{}}}}",
	"{\"a\":4}\n{\"a\":x}\n{\"a\":5,\"b\":1.5}\n\"\n{\"a\":6}\n", "{\"a\":1}\r\n{\"a\":2}\r\n", "{\"a\":1\r}\r",
	"\\", "{\\}", "{\"a\":\\\"}", "\"\\\\\\\\\"", "\"\\\\\\\"", "{\"a\":32767}\n{\"a\":32768}\n{\"a\":-5}\n{\"a\":4}\n{\"a\":5}\n{\"a\":6}\n{\"a\":7}\n{\"a\":70000}\n{\"a\":9}\n",
};

static void
add(JsonText *t, const char *s, size_t n)
{
	if (t->n + n + 1 > t->room)
	{
		t->room = 2 * t->room + (uint32_t) n + 256;
		t->s = realloc(t->s, t->room);
		if (!t->s)
			abort();
	}
	memcpy(t->s + t->n, s, n);
	t->n += (uint32_t) n;
}

void
json_text_add(JsonText *t, const char *s)
{
	add(t, s, strlen(s));
}

#define PICK(r, list)	((list)[unit_below(r, sizeof(list) / sizeof((list)[0]))])

static void
space(JsonText *t, UnitRandom *r)
{
	static const char *const list[] = {" ", "  ", "\t", "\r", " \t "};

	if (unit_once_in(r, 12))
		json_text_add(t, PICK(r, list));
}

static void
random_string(JsonText *t, UnitRandom *r)
{
	static const char *const list[] = {
		"a", "b", "xyz", "\\n", "\\\"", "\\\\", "\\/", "\\u00e9", "\\u20AC", "\\ud83d\\ude00", "\xc3\xa9",
		"\xe2\x82\xac", "\xf0\x9f\x98\x80", "{", "}", "[", ",", ":", " ", "12", "\x7f", "\\u0041",
		"a rather long piece of text that fills more than a block of sixty-four bytes"
	};
	static const char *const wrong[] = {"\\ud800", "\\udc00", "\\u0000", "\\q", "\xff", "\t", "\\u00g0"};
	uint32_t	n = unit_below(r, 6);

	json_text_add(t, "\"");
	for (uint32_t i = 0; i < n; i++)
		json_text_add(t, unit_once_in(r, 300) ? PICK(r, wrong) : unit_once_in(r, 3) ? PICK(r, list) : "k");
	json_text_add(t, "\"");
}

static void
random_value(JsonText *t, UnitRandom *r, uint32_t depth)
{
	static const char *const list[] = {
		"1", "0", "-1", "12.5", "-0.25", "1e5", "2E-3", "true", "false", "null", "123456789012345", "3.14159", "40000", "7",
		"0.000001", "-12"
	};
	static const char *const wrong[] = {"01", "1.", "-", "tru", "nulll", "1e", "+1", "1.2.3", ".5", "x", "", "'a'"};
	static const char *const key[] = {
		"\"a\"", "\"b\"", "\"c\"", "\"a\"", "\"b\"", "\"\"", "\"a long key of 23 bytes.\"", "\"a long key of 23 bytez.\"",
		"\"abcdefghijklmn\"", "\"abcdefghijklmm\"", "\"abcdef\"", "\"abcdeg\"", "\"\\u0061\"", "\"\\u00e9\\\"\\\\\""
	};
	uint32_t	kind = unit_below(r, depth >= 5 ? 6 : 11);

	space(t, r);
	if (kind < 4)
		json_text_add(t, unit_once_in(r, 200) ? PICK(r, wrong) : PICK(r, list));
	else if (kind < 6)
		random_string(t, r);
	else
	{
		bool		object = kind > 7 || depth == 0;
		uint32_t	n = unit_below(r, 6);

		json_text_add(t, object ? "{" : "[");
		for (uint32_t i = 0; i < n; i++)
		{
			if (i > 0)
				json_text_add(t, ",");
			if (object)
			{
				space(t, r);
				if (unit_once_in(r, 6))
					random_string(t, r);
				else
					json_text_add(t, PICK(r, key));
				space(t, r);
				json_text_add(t, ":");
			}
			random_value(t, r, depth + 1);
		}
		space(t, r);
		json_text_add(t, object ? "}" : "]");
	}
	space(t, r);
}

/* A few broken bytes. */
static void
damage(JsonText *t, UnitRandom *r)
{
	static const char bytes[] = "{}[]:,\"\\ \n\r\t0123456789-+.eEtfnu\x01\x80\xc3\xff\0";
	uint32_t	n = 1 + unit_below(r, 2);

	for (uint32_t i = 0; i < n && t->n > 0; i++)
	{
		uint32_t	at = unit_below(r, t->n);
		char		ch = bytes[unit_below(r, sizeof(bytes))];

		switch (unit_below(r, 3))
		{
			case 0:
				t->s[at] = ch;
				break;
			case 1:
				memmove(t->s + at, t->s + at + 1, t->n - at - 1);
				t->n--;
				break;
			default:
				add(t, "", 1);
				memmove(t->s + at + 1, t->s + at, t->n - at - 1);
				t->s[at] = ch;
				break;
		}
	}
}

void
json_random_text(JsonText *t, UnitRandom *r, uint32_t records, bool broken)
{
	t->n = 0;
	if (unit_once_in(r, 20))
		json_text_add(t, "\xef\xbb\xbf");
	for (uint32_t i = 0; i < records; i++)
	{
		uint32_t	before = t->n;

		/* most of them alike, so that shapes are met again */
		if (before > 0 && unit_once_in(r, 2))
		{
			uint32_t	start = before - 1;

			while (start > 0 && t->s[start - 1] != '\n')
				start--;
			for (uint32_t k = start; k < before; k++)
			{
				char		ch = t->s[k];

				add(t, &ch, 1);
			}
		}
		else if (unit_once_in(r, 10))
			json_text_add(t, unit_once_in(r, 2) ? "\n" : " \r\n");
		else
		{
			random_value(t, r, unit_once_in(r, 15) ? 1 : 0);
			json_text_add(t, "\n");
		}
	}
	if (broken)
		damage(t, r);
	if (unit_once_in(r, 2) && t->n > 0 && t->s[t->n - 1] == '\n')
		t->n--;
}
