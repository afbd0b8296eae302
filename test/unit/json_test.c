/*
 * test/unit/json_test.c
 *	  The NDJSON backend against a plain recursive reader: chosen and random
 *	  records, good and broken, at every SIMD level and cut; the JSONTestSuite
 *	  if it is there; and allocation failures.
 *
 * PP_JSON_SUITE: the folder of the JSONTestSuite with test_parsing in it, by
 * default shared/json_test_suite beside the source tree.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_run.h"
#include "json_text.h"
#include "parse/cpu/kernel.h"

enum
{
	T_RECORDS = 1,
	T_LARGE,
	T_UNESCAPE,
	T_MEMORY
};

/* Runs a text in one way and compares. */
static void
compare(const JsonTable *t, const JsonCuts *cuts, const char *text, uint32_t len,
		const JsonLog *want)
{
	JsonLog		got = {NULL, 0, 0};
	UnitHeap	heap;
	bool		ran;

	memset(&heap, 0, sizeof(heap));
	ran = json_run(t, cuts, unit_heap_alloc(&heap), (const uint8_t *) text, len, &got);
	EXPECT(ran, "failed");
	if (ran)
		EXPECT(got.len == want->len && (want->len == 0 || memcmp(got.text, want->text, got.len) == 0),
			   "level %d, jobs of %u and %u, %u records, %s:\ngot:\n%swanted:\n%s", cuts->level,
			   cuts->first, cuts->step, cuts->max_records,
			   unit_show((const uint8_t *) text, len),
			   got.len ? got.text : "nothing\n", want->len ? want->text : "nothing\n");
	EXPECT(heap.live_blocks == 0, "%zu blocks not released", heap.live_blocks);
	json_log_free(&got);
}

/* What a run should write down: the plain reading, or, with filters, the
 * reference's. */
static void
expected(const JsonTable *t, const char *text, uint32_t len, JsonLog *log)
{
	const JsonCuts reference = {PP_SIMD_SCALAR, 0, 0, 1000000, false};
	UnitHeap	heap;

	if (t->nfilters == 0)
	{
		json_plain(t, (const uint8_t *) text, len, log);
		return;
	}
	memset(&heap, 0, sizeof(heap));
	(void) json_run(t, &reference, unit_heap_alloc(&heap), (const uint8_t *) text, len, log);
}

/* At all levels, whole and cut. */
static void
everywhere(const JsonTable *t, const char *text, uint32_t len, UnitRandom *r)
{
	JsonLog		want = {NULL, 0, 0};

	expected(t, text, len, &want);
	for (int level = 0; level < PP_SIMD_LEVELS; level++)
	{
		JsonCuts	cuts = {(PpSimd) level, 0, 0, 1000000, false};

		if (!pp_kernels((PpSimd) level))
			continue;
		compare(t, &cuts, text, len, &want);
		cuts.first = 1 + unit_below(r, len + 1);
		cuts.step = 1 + unit_below(r, 100);
		cuts.max_records = 1 + unit_below(r, 4);
		compare(t, &cuts, text, len, &want);
		if (len < 200)
		{
			cuts.first = cuts.step = 1;
			compare(t, &cuts, text, len, &want);
		}
	}
	json_log_free(&want);
}

/*
 * Chosen texts.
 */
static void
test_chosen(void)
{
	UnitRandom	r = unit_random(T_RECORDS, 0);

	/* each at every place of a block */
	for (size_t i = 0; i < JSON_CHOSEN; i++)
		for (uint32_t n = 0; n < 2; n++)
		{
			JsonTable	t;
			char		shifted[400];
			uint32_t	len = (uint32_t) strlen(json_chosen[i]);

			json_table(&t, n);
			unit_case("chosen text %zu at all places, table %u", i, n);
			for (uint32_t shift = 0; shift < 64; shift++)
			{
				JsonLog		want = {NULL, 0, 0};

				memset(shifted, ' ', shift);
				memcpy(shifted + shift, json_chosen[i], len);
				expected(&t, shifted, shift + len, &want);
				for (int level = 0; level < PP_SIMD_LEVELS; level++)
				{
					const JsonCuts cuts = {(PpSimd) level, 0, 0, 1000000, false};

					if (pp_kernels((PpSimd) level))
						compare(&t, &cuts, shifted, shift + len, &want);
				}
				json_log_free(&want);
			}
		}

	for (size_t i = 0; i < JSON_CHOSEN; i++)
		for (uint32_t n = 0; n < JSON_TABLES; n++)
		{
			JsonTable	t;

			json_table(&t, n);
			unit_case("chosen text %zu, table %u", i, n);
			everywhere(&t, json_chosen[i], (uint32_t) strlen(json_chosen[i]), &r);
		}
	for (uint32_t n = 0; n < JSON_TABLES; n++)
	{
		JsonTable	t;

		json_table(&t, n);
		unit_case("zero bytes, table %u", n);
		everywhere(&t, "{\"a\":\0}", 7, &r);
		everywhere(&t, "{\"a\":\"\0\"}\n{}", 12, &r);
		everywhere(&t, "\0", 1, &r);
	}
}

/* Containers within each other, on both sides of the limit. */
static void
test_depth(void)
{
	UnitRandom	r = unit_random(T_RECORDS, 1);

	for (uint32_t depth = 60; depth <= 75; depth++)
		for (uint32_t kind = 0; kind < 3; kind++)
		{
			char		text[1000];
			uint32_t	n = 0;
			JsonTable	t;

			json_table(&t, 1);
			for (uint32_t i = 0; i < depth; i++)
				n += (uint32_t) sprintf(text + n, "%s", kind == 0 || (kind == 2 && i % 3) ? "[" : "{\"a\":");
			n += (uint32_t) sprintf(text + n, "1");
			for (uint32_t i = depth; i-- > 0;)
				text[n++] = kind == 0 || (kind == 2 && i % 3) ? ']' : '}';
			unit_case("depth %u, kind %u", depth, kind);
			everywhere(&t, text, n, &r);
			text[n - 1 - depth / 2] ^= 0x20;
			everywhere(&t, text, n, &r);
		}
}

/*
 * Random records.
 */

static void
test_random(void)
{
	JsonText	text = {NULL, 0, 0};
	uint64_t	n = unit_iterations(6000);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_RECORDS, 2 + i);
		JsonTable	t;
		uint32_t	table = unit_below(&r, JSON_TABLES);

		json_table(&t, table);
		json_random_text(&text, &r, 1 + unit_below(&r, 12), unit_once_in(&r, 2));
		unit_case("random records %llu, table %u", (unsigned long long) i, table);
		everywhere(&t, text.s, text.n, &r);
	}
	free(text.s);
}

/* Many windows, long lines, more tokens than a shape has. */
static void
test_large(void)
{
	JsonText	text = {NULL, 0, 0};
	uint64_t	n = unit_iterations(40);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_LARGE, i);
		JsonLog		want = {NULL, 0, 0};
		JsonTable	t;
		uint32_t	table = unit_below(&r, JSON_TABLES);

		json_table(&t, table);
		json_random_text(&text, &r, 600, unit_once_in(&r, 2));
		if (unit_once_in(&r, 2))
		{
			uint32_t	k = unit_below(&r, 40000);

			json_text_add(&text, "\n{\"b\":\"");
			while (k-- > 0)
				json_text_add(&text, k % 97 ? "long " : "\\u00e9");
			json_text_add(&text, "\",\"a\":[1,2");
			for (k = unit_below(&r, 300); k > 0; k--)
				json_text_add(&text, ",{\"c\":[1.5]}");
			json_text_add(&text, "]}\n");
		}
		unit_case("large text %llu, table %u", (unsigned long long) i, table);
		expected(&t, text.s, text.n, &want);
		for (int level = 0; level < PP_SIMD_LEVELS; level++)
		{
			JsonCuts	cuts = {(PpSimd) level, 0, 0, 1000000, false};

			if (!pp_kernels((PpSimd) level))
				continue;
			compare(&t, &cuts, text.s, text.n, &want);
			cuts.first = 1 + unit_below(&r, text.n);
			cuts.step = 1 + unit_below(&r, 30000) + 5000;
			cuts.max_records = 1 + unit_below(&r, 500);
			compare(&t, &cuts, text.s, text.n, &want);
		}
		json_log_free(&want);
	}
	free(text.s);
}

/* Records without a list are counted, and faults are the same. */
static void
test_unlisted(void)
{
	JsonText	text = {NULL, 0, 0};

	for (uint64_t i = 0; i < unit_iterations(200); i++)
	{
		UnitRandom	r = unit_random(T_LARGE, 1000 + i);
		JsonTable	t;

		json_table(&t, 2);
		json_random_text(&text, &r, 20, unit_once_in(&r, 2));
		unit_case("unlisted %llu", (unsigned long long) i);
		for (int level = 0; level < PP_SIMD_LEVELS; level++)
		{
			JsonLog		listed = {NULL, 0, 0};
			JsonLog		unlisted = {NULL, 0, 0};
			JsonCuts	cuts = {(PpSimd) level, 0, 0, 7, false};
			UnitHeap	heap;
			char	   *in,
					   *out;

			if (!pp_kernels((PpSimd) level))
				continue;
			memset(&heap, 0, sizeof(heap));
			EXPECT(json_run(&t, &cuts, unit_heap_alloc(&heap), (const uint8_t *) text.s, text.n, &listed), "failed");
			cuts.unlisted = true;
			EXPECT(json_run(&t, &cuts, unit_heap_alloc(&heap), (const uint8_t *) text.s, text.n, &unlisted), "failed");
			/* without the records' places */
			for (in = out = listed.text; in && *in;)
			{
				bool		record = strncmp(in, "record ", 7) == 0;
				char	   *eol = strchr(in, '\n');
				size_t		n = record ? 6 : (size_t) (eol - in);

				memmove(out, in, n);
				out += n;
				*out++ = '\n';
				in = eol + 1;
			}
			EXPECT((size_t) (out - listed.text) == unlisted.len &&
				   (unlisted.len == 0 || memcmp(listed.text, unlisted.text, unlisted.len) == 0),
				   "level %d: got\n%swanted\n%s", level, unlisted.len ? unlisted.text : "",
				   listed.len ? listed.text : "");
			json_log_free(&listed);
			json_log_free(&unlisted);
		}
	}
	free(text.s);
}

/* Every allocation fails once. */
static void
test_memory(void)
{
	JsonText	text = {NULL, 0, 0};
	UnitRandom	r = unit_random(T_MEMORY, 0);

	json_random_text(&text, &r, 300, false);
	json_text_add(&text, "\n{\"\\u0061\":\"\\u0061\",\"b\":\"a\\tb\"}\n");
	for (int level = 0; level < PP_SIMD_LEVELS; level++)
	{
		uint64_t	at = 0;
		bool		ran;

		if (!pp_kernels((PpSimd) level))
			continue;
		unit_case("no memory, level %d", level);
		do
		{
			UnitHeap	heap;
			JsonLog		log = {NULL, 0, 0};
			JsonTable	t;
			JsonCuts	cuts = {(PpSimd) level, 0, 0, 50, false};

			memset(&heap, 0, sizeof(heap));
			heap.fail_at = ++at;
			heap.fail_on = true;
			json_table(&t, 3);
			ran = json_run(&t, &cuts, unit_heap_alloc(&heap), (const uint8_t *) text.s, text.n, &log);
			EXPECT(heap.live_blocks == 0, "%zu blocks not released", heap.live_blocks);
			json_log_free(&log);
			if (ran && heap.failed)
				ran = false;	/* done without that memory: a shape less */
			if (!heap.failed)
				break;
		} while (!ran && at < 10000);
		EXPECT(at > 10 && at < 10000, "%llu allocations", (unsigned long long) at);
	}
	free(text.s);
}

/*
 * The JSONTestSuite: each file is a record, if it is one line.
 */
static void
test_suite(void)
{
	static const char *const refused[] = {
		/* a zero byte cannot be a character of a text */
		"y_object_escaped_null_in_key.json", "y_string_null_escape.json", NULL
	};
	static const char *const nothing[] = {
		/* blank lines are none */
		"n_single_space.json", "n_structure_no_data.json", "n_structure_UTF8_BOM_no_data.json", NULL
	};
	const char *folder = getenv("PP_JSON_SUITE");
	char		path[2048];
	DIR		   *dir;
	struct dirent *entry;
	uint32_t	files = 0;
	uint32_t	skipped = 0;
	UnitRandom	r = unit_random(T_RECORDS, 999);

	snprintf(path, sizeof(path), "%s/test_parsing", folder ? folder : PP_JSON_SUITE_DEFAULT);
	dir = opendir(path);
	if (!dir)
	{
		printf("json_test: no JSONTestSuite at %s, skipped\n", path);
		return;
	}
	while ((entry = readdir(dir)) != NULL)
	{
		char		name[4096];
		char	   *text = unit_malloc(1 << 20);
		FILE	   *f;
		uint32_t	n;
		JsonTable	t;
		JsonLog		want = {NULL, 0, 0};
		bool		good;
		bool		exception = false;
		uint32_t	lines = 0;

		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		f = strstr(entry->d_name, ".json") ? fopen(name, "rb") : NULL;
		if (!f)
		{
			free(text);
			continue;
		}
		n = (uint32_t) fread(text, 1, 1 << 20, f);
		fclose(f);
		for (uint32_t i = 0; i + 1 < n; i++)
			lines += text[i] == '\n';
		/* of good ones, line ends are white space and may be other such */
		if (lines > 0 && entry->d_name[0] == 'y')
			for (uint32_t i = 0; i < n; i++)
				text[i] = text[i] == '\n' ? ' ' : text[i];
		else if (lines > 0)
		{
			skipped++;
			free(text);
			continue;
		}
		files++;
		json_table(&t, 1);
		t.max_depth = 6000;
		unit_case("JSONTestSuite %s", entry->d_name);
		json_plain(&t, (const uint8_t *) text, n, &want);
		good = want.len > 0 && strncmp(want.text, "record", 6) == 0;
		for (uint32_t i = 0; refused[i]; i++)
			if (strcmp(refused[i], entry->d_name) == 0)
				exception = true;
		for (uint32_t i = 0; nothing[i]; i++)
			if (strcmp(nothing[i], entry->d_name) == 0)
			{
				EXPECT(want.len == 0, "a record");
				exception = true;
			}
		if (!exception && entry->d_name[0] == 'y')
			EXPECT(good, "refused: %s", want.len ? want.text : "nothing");
		if (!exception && entry->d_name[0] == 'n')
			EXPECT(!good && want.len > 0, "accepted");
		json_log_free(&want);
		everywhere(&t, text, n, &r);
		free(text);
	}
	closedir(dir);
	printf("json_test: JSONTestSuite: %u files, %u skipped (several lines)\n", files, skipped);
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "json_test");
	test_chosen();
	test_depth();
	test_random();
	test_large();
	test_unlisted();
	test_memory();
	test_suite();
	return unit_end();
}
