/*
 * test/unit/json_values_test.c
 *	  The backend of documents against a plain recursive reader: outermost
 *	  values of every kind, in arrays or one behind the other, good and broken,
 *	  at every SIMD level and cut.
 *
 * json_document_test.c does the same for streams, with objects only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_run.h"

#define MAX_TEXT	20000

typedef struct Text
{
	char		s[MAX_TEXT + 400];
	uint32_t	len;
} Text;

static void
put(Text *t, const char *s)
{
	uint32_t	n = (uint32_t) strlen(s);

	if (t->len + n > MAX_TEXT)
		return;
	memcpy(t->s + t->len, s, n);
	t->len += n;
}

static const char *
any_of(UnitRandom *r, const char *const *list, uint32_t n)
{
	return list[unit_below(r, n)];
}

#define ANY(r, list)	any_of(r, list, sizeof(list) / sizeof((list)[0]))

static void
put_space(Text *t, UnitRandom *r)
{
	static const char *const space[] = {" ", "\n", "\r\n", "\t", "\n    "};

	while (unit_once_in(r, 4))
		put(t, ANY(r, space));
}

/* A value, of depth levels at most. */
static void
put_value(Text *t, UnitRandom *r, uint32_t levels)
{
	static const char *const scalar[] = {"1", "-12.5", "0", "6.02e23", "1E-7", "true", "false", "null",
		"\"\"", "\"a\"", "\"x y\"", "\"\\\"\"", "\"\\\\\"", "\"],[\"", "\"},{\"", "\"\\u00e9\\ud83d\\ude00\"",
	"\"\xe2\x82\xac\"", "\"a text of more than sixty-four bytes, so that it fills a block of its own\""};
	static const char *const key[] = {"\"a\"", "\"b\"", "\"c\"", "\"\\u0061\"", "\"a long key of 23 bytes.\"", "\"\""};
	uint32_t	kind = levels > 0 ? unit_below(r, 4) : 0;
	uint32_t	n = unit_below(r, 4);

	if (kind == 0)
	{
		put(t, ANY(r, scalar));
		return;
	}
	put(t, kind == 1 ? "[" : "{");
	for (uint32_t i = 0; i < n; i++)
	{
		put(t, i > 0 ? "," : "");
		put_space(t, r);
		if (kind > 1)
		{
			put(t, ANY(r, key));
			put_space(t, r);
			put(t, ":");
			put_space(t, r);
		}
		put_value(t, r, levels - 1);
		put_space(t, r);
	}
	if (n == 0)
		put_space(t, r);
	put(t, kind == 1 ? "]" : "}");
}

static void
put_object(Text *t, UnitRandom *r)
{
	put(t, "{\"a\":");
	put_value(t, r, 1);
	put(t, unit_once_in(r, 3) ? "\n,\n\"b\" :" : ",\"b\":");
	put_value(t, r, 2);
	put(t, "}");
}

static void
put_record(Text *t, UnitRandom *r, bool any_value)
{
	if (any_value && unit_once_in(r, 2))
		put_value(t, r, 3);
	else
		put_object(t, r);
}

static void
make(Text *t, UnitRandom *r, bool any_value)
{
	uint32_t	tops = unit_below(r, 5);
	uint32_t	most = unit_once_in(r, 8) ? 100 : 5;

	t->len = 0;
	if (unit_once_in(r, 4))
		put(t, "\xef\xbb\xbf");
	put_space(t, r);
	for (uint32_t i = 0; i < tops; i++)
	{
		if (unit_once_in(r, 2))
		{
			uint32_t	n = unit_below(r, most);

			put(t, "[");
			put_space(t, r);
			for (uint32_t k = 0; k < n; k++)
			{
				put(t, k > 0 ? "," : "");
				put_space(t, r);
				put_record(t, r, any_value);
				put_space(t, r);
			}
			put(t, "]");
		}
		else
			put_record(t, r, any_value);
		/* without space, numbers and words run together: no JSON */
		if (any_value && !unit_once_in(r, 4))
			put(t, " ");
		put_space(t, r);
	}
}

static void
spoil(Text *t, UnitRandom *r)
{
	static const char byte[] = "{}[],:\"\\1a \n\x80\x01-";

	if (t->len == 0)
		return;
	switch (unit_below(r, 4))
	{
		case 0:
			t->len = unit_below(r, t->len);
			break;
		case 1:
			{
				uint32_t	at = unit_below(r, t->len);

				memmove(t->s + at, t->s + at + 1, --t->len - at);
				break;
			}
		case 2:
			{
				uint32_t	at = unit_below(r, t->len + 1);

				memmove(t->s + at + 1, t->s + at, t->len++ - at);
				t->s[at] = byte[unit_below(r, sizeof(byte) - 1)];
				break;
			}
		default:
			t->s[unit_below(r, t->len)] = byte[unit_below(r, sizeof(byte) - 1)];
			break;
	}
}

static bool
same(const JsonLog *a, const JsonLog *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->text, b->text, a->len) == 0);
}

static void
run(const JsonTable *t, const JsonCuts *cuts, const char *text, uint32_t len, JsonLog *got)
{
	UnitHeap	heap;
	bool		ran;

	memset(&heap, 0, sizeof(heap));
	ran = json_run(t, cuts, unit_heap_alloc(&heap), (const uint8_t *) text, len, got);
	EXPECT(ran, "failed");
	EXPECT(heap.live_blocks == 0, "%zu blocks not released", heap.live_blocks);
}

/*
 * The reference, given all at once, has to say what the plain reader says, and
 * all others, cut anywhere, exactly what the reference says.
 */
static void
everywhere(const JsonTable *t, const char *text, uint32_t len, UnitRandom *r)
{
	const JsonCuts whole = {PP_SIMD_SCALAR, 0, 0, 1000000, false};
	JsonLog		want = {NULL, 0, 0};
	JsonLog		plain = {NULL, 0, 0};

	run(t, &whole, text, len, &want);
	if (t->nfilters == 0)
	{
		JsonLog		brief = {NULL, 0, 0};

		run(t, &whole, text, len, &brief);
		json_log_shorten(&brief);
		json_plain(t, (const uint8_t *) text, len, &plain);
		EXPECT(same(&brief, &plain), "%s:\ngot:\n%swanted:\n%s", unit_show((const uint8_t *) text, len),
			   brief.len ? brief.text : "nothing\n", plain.len ? plain.text : "nothing\n");
		json_log_free(&brief);
		json_log_free(&plain);
	}
	for (int level = 0; level < PP_SIMD_LEVELS; level++)
		for (uint32_t way = 0; way < 3; way++)
		{
			JsonCuts	cuts = {(PpSimd) level, 0, 0, 1000000, false};
			JsonLog		got = {NULL, 0, 0};

			if (!pp_kernels((PpSimd) level) || (way == 2 && len >= 300))
				continue;
			if (way > 0)
			{
				cuts.first = way == 1 ? 1 + unit_below(r, len + 1) : 1;
				cuts.step = way == 1 ? 1 + unit_below(r, 100) : 1;
				cuts.max_records = 1 + unit_below(r, 4);
			}
			run(t, &cuts, text, len, &got);
			EXPECT(same(&got, &want), "level %d, jobs of %u and %u, %u records, %s:\ngot:\n%swanted:\n%s",
				   level, cuts.first, cuts.step, cuts.max_records,
				   unit_show((const uint8_t *) text, len),
				   got.len ? got.text : "nothing\n", want.len ? want.text : "nothing\n");
			json_log_free(&got);
		}
	json_log_free(&want);
}

static void
test_chosen(void)
{
	static const char *const text[] = {
		"", " ", "\n\t\r ", "\xef\xbb\xbf", "\xef\xbb\xbf ", "\xef\xbb", "\xef\xbb\xbf[]", " \xef\xbb\xbf{}", "{}\xef\xbb\xbf",
		"[]", "[ ]", "[][]", "[] []", "[[]]", "[[],[]]", "[[1],[[2]]]", "[{}]", "[{},{}]", "{}{}", "{} {}\n{}",
		"[1][2]", "{\"a\":1}{\"b\":2}", "1 2", "1\n2\n", "1[2]3", "1{}2", "\"a\"\"b\"", "1\"a\"true", "true\"a\"", "\"a\"1",
		"truefalse", "1-2", "nulll", "null null", "[null,true,false]", "[1,2,3]", "[\"a\",\"b\"]",
		"[1,]", "[,1]", "[,]", "[1,,2]", "[", "[1", "[1,", "[[", "[{", "[{}", "[{},", "]", "}", ",", ":", "[]]", "[]}", "{}]", "{},{}",
		"[1]]", "[1},", "[{]", "{]", "{[", "[1:2]", "[\"a\":1]", "[1 2]", "[{} {}]", "[{}{}]", "[[] []]", "[\"a\" \"b\"]",
		"{\"a\":1,}", "{\"a\":[1,2}", "[{\"a\":1},{\"a\":2]", "[{\"a\":1}}", "[\"", "\"", "\"\\", "\"\\\"", "[\"\\\"]", "[\"\\\\\"]",
		"[\"],[\",\"}\"]", "{\"a\":\"}\"}{\"a\":\"{\"}", "{\"a\":\"\\\\\"}{\"a\":\"\\\"}\"}", "\\", "[\\\"]", "[1\\]", "{\\\"}\"}",
		"[\"\\u0000\"]", "[\"\\ud800\"]", "[1,\"\\ud800\",2]", "[\"\x80\"]", "[\x80]", "\x80", "[1]\x80", "[\"\x01\"]", "[1\x01]",
		"[01]", "[1.]", "[-]", "[tru]", "[1e5,2E-3]", "-", "1.5 -0", "01", "[[[[[]]]]]", "[\n  {\n    \"a\": 1\n  },\n  {\n    \"a\": 2\n  }\n]\n",
		"[{\"a\":1}\n,\n{\"a\":2}\n]\n[\n]\n{\"a\":3}\n", "[{\"a\":4},{\"a\":\"x\"},{\"a\":5}]", "[1]//", "[1]#", "/**/[1]", "'a'", "[1;2]",
	};
	UnitRandom	r = unit_random(1, 0);

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		for (uint32_t n = 0; n < JSON_TABLES; n++)
		{
			JsonTable	t;

			json_table(&t, n);
			t.documents = true;
			unit_case("chosen text %zu, table %u", i, n);
			everywhere(&t, text[i], (uint32_t) strlen(text[i]), &r);
		}
	for (uint32_t n = 0; n < JSON_TABLES; n++)
	{
		JsonTable	t;

		json_table(&t, n);
		t.documents = true;
		unit_case("zero bytes, table %u", n);
		everywhere(&t, "[1,\0]", 5, &r);
		everywhere(&t, "\0", 1, &r);
		everywhere(&t, "{}\0", 3, &r);
	}
}

static void
test_random(void)
{
	static Text text;
	uint64_t	n = unit_iterations(3000);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(2, i);
		JsonTable	t;

		json_table(&t, (uint32_t) (i % JSON_TABLES));
		t.documents = true;
		make(&text, &r, t.any_value);
		unit_case("values %u", (unsigned) i);
		everywhere(&t, text.s, text.len, &r);
		spoil(&text, &r);
		unit_case("spoiled values %u", (unsigned) i);
		everywhere(&t, text.s, text.len, &r);
	}
}

/* A scan that lists nothing counts the same. */
static void
test_unlisted(void)
{
	UnitRandom	r = unit_random(3, 0);
	static Text text;
	uint64_t	n = unit_iterations(300);

	for (uint64_t i = 0; i < n; i++)
	{
		JsonTable	t;
		JsonLog		plain = {NULL, 0, 0};
		uint32_t	want = 0;

		json_table(&t, 1);
		t.ncolumns = t.nfilters = 0;
		t.documents = true;
		make(&text, &r, t.any_value);
		json_plain(&t, (const uint8_t *) text.s, text.len, &plain);
		for (size_t k = 0; k < plain.len; k++)
			want += plain.text[k] == '\n';
		unit_case("unlisted values %u", (unsigned) i);
		for (int level = 0; level < PP_SIMD_LEVELS; level++)
		{
			JsonCuts	cuts = {(PpSimd) level, 1 + unit_below(&r, 50), 1 + unit_below(&r, 300), 1 + unit_below(&r, 9), true};
			JsonLog		got = {NULL, 0, 0};
			uint32_t	have = 0;

			if (!pp_kernels((PpSimd) level))
				continue;
			run(&t, &cuts, text.s, text.len, &got);
			for (size_t k = 0; k < got.len; k++)
				have += got.text[k] == '\n';
			EXPECT(have == want, "level %d: %u lines, %u expected, of %s", level, have, want,
				   unit_show((const uint8_t *) text.s, text.len));
			json_log_free(&got);
		}
		json_log_free(&plain);
	}
}

/* Without memory it says so, and forgets nothing. */
static void
test_memory(void)
{
	static const char text[] = "[{\"a\":1,\"b\":{\"\\u0061\":2}},{\"a\":\"\\u00e9\"},\n1.5] \"x\" {\"a\":3}";
	JsonTable	t;
	bool		ran = false;

	json_table(&t, 1);
	t.documents = true;
	for (uint64_t fail_at = 1; !ran && fail_at < 1000; fail_at++)
		for (int level = 0; level < PP_SIMD_LEVELS; level++)
		{
			const JsonCuts cuts = {(PpSimd) level, 5, 9, 2, false};
			JsonLog		got = {NULL, 0, 0};
			UnitHeap	heap;

			if (!pp_kernels((PpSimd) level))
				continue;
			memset(&heap, 0, sizeof(heap));
			heap.fail_at = fail_at;
			unit_case("allocation %u fails, level %d", (unsigned) fail_at, level);
			ran = json_run(&t, &cuts, unit_heap_alloc(&heap), (const uint8_t *) text,
						   (uint32_t) sizeof(text) - 1, &got);
			EXPECT(ran || heap.failed, "failed with memory");
			EXPECT(heap.live_blocks == 0, "%zu blocks not released", heap.live_blocks);
			ran = !heap.failed;
			json_log_free(&got);
		}
	EXPECT(ran, "never enough memory");
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "json_values_test");
	test_chosen();
	test_random();
	test_unlisted();
	test_memory();
	return unit_end();
}
