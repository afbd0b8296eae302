/*
 * test/fuzz/fuzz_json.c
 *	  Fuzz target: the backends of JSON lines and documents on arbitrary text,
 *	  against the plain reader, at every SIMD level, cut anywhere.
 *
 * The first bytes choose the table, lines or documents, the cuts and the size of
 * a batch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "json_run.h"
#include "parse/cpu/kernel.h"

#define HEAD	4

const char *const fuzz_seed[] = {
	"{\"a\":1,\"b\":\"x\",\"c\":true}\n{\"a\":2,\"b\":\"y\",\"c\":false}\n",
	"{\"a\":{\"b\":1.5},\"b\":{\"c\":{\"a\":[1,2]}}}\n\n{\"a\":[1,{\"c\":null}]}",
	"{\"b\":\"\\u00e9\\ud83d\\ude00\\n\\\"\\\\\"}\r\n{\"a\":-12.5e3}\n",
	"[1,2,3]\n\"a\"\n12\ntrue\nnull\n",
	"\xef\xbb\xbf{\"a long key of 23 bytes.\":\"\xe2\x82\xac\"}\n",
	"{\"a\":01}\n{\"a\":1.}\n{\"a\":\"\\x\"}\n{\"a\":\"\\ud800\"}\n{\"a\":\"\\u0000\"}\n{\"a\" 1}\n",
	"[[[[[[]]]]]]\n{\"a\":{\"a\":{\"a\":{}}}}\n",
	"[\n {\"a\": 1, \"b\": \"],[\"},\n {\"a\": [2, {}]}\n]\n[] {\"a\":3}[[1],\"x\",2]",
	"\xef\xbb\xbf 1 2\"a\"\"\\\"\"[true,{\"a\":\"\\\\\"}]null",
	NULL
};
const size_t fuzz_head = HEAD;
const char *const fuzz_name = "fuzz_json";

static bool
same(const JsonLog *a, const JsonLog *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->text, b->text, a->len) == 0);
}

/* Ends the program if they differ. */
static void
compare(const JsonLog *got, const JsonLog *want, const JsonTable *t, int level, uint32_t table)
{
	if (same(got, want))
		return;
	fprintf(stderr, "level %d, table %u, %s: got\n%swanted\n%s", level, table,
			t->documents ? "documents" : "lines",
			got->len ? got->text : "", want->len ? want->text : "");
	abort();
}

/* How many of the numbers that choose a table choose lines. */
#define LINES	128

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	JsonTable	t;
	JsonLog		want = {NULL, 0, 0};	/* what all levels say */
	JsonLog		plain = {NULL, 0, 0};
	UnitHeap	heap;
	bool		known = false;
	uint32_t	table;

	if (size < HEAD || size > 1 << 20)
		return 0;
	table = data[0] % LINES % JSON_TABLES;
	json_table(&t, table);
	t.documents = data[0] >= LINES;
	memset(&heap, 0, sizeof(heap));
	if (t.nfilters == 0)
		json_plain(&t, data + HEAD, (uint32_t) (size - HEAD), &plain);
	for (int level = 0; level < PP_SIMD_LEVELS; level++)
	{
		JsonCuts	cuts = {(PpSimd) level, data[1], data[2], 1u + data[3] % 8, false};
		JsonLog		got = {NULL, 0, 0};

		if (!pp_kernels((PpSimd) level))
			continue;
		/* cuts must not matter, either */
		if (!known)
			cuts.first = cuts.step = 0;
		if (!json_run(&t, &cuts, unit_heap_alloc(&heap), data + HEAD, (uint32_t) (size - HEAD), &got))
			abort();
		if (known)
		{
			compare(&got, &want, &t, level, table);
			json_log_free(&got);
			continue;
		}
		want = got;
		known = true;
		level--;				/* the same, cut */
	}
	if (t.nfilters == 0)
	{
		if (t.documents)
			json_log_shorten(&want);
		compare(&want, &plain, &t, 0, table);
	}
	json_log_free(&want);
	json_log_free(&plain);
	if (heap.live_blocks != 0)
		abort();
	return 0;
}
