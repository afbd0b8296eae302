/*
 * test/fuzz/fuzz_json.c
 *	  Fuzz target: the NDJSON backend on arbitrary text, against the plain
 *	  reader, at every SIMD level, cut anywhere.
 *
 * The first bytes choose the table, the cuts and the size of a batch.
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
	NULL
};
const size_t fuzz_head = HEAD;
const char *const fuzz_name = "fuzz_json";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	JsonTable	t;
	JsonLog		want = {NULL, 0, 0};
	UnitHeap	heap;
	bool		known = false;

	if (size < HEAD || size > 1 << 20)
		return 0;
	json_table(&t, data[0] % JSON_TABLES);
	memset(&heap, 0, sizeof(heap));
	if (t.nfilters == 0)
	{
		json_plain(&t, data + HEAD, (uint32_t) (size - HEAD), &want);
		known = true;
	}
	for (int level = 0; level < PP_SIMD_LEVELS; level++)
	{
		JsonCuts	cuts = {(PpSimd) level, data[1], data[2], 1u + data[3] % 8, false};
		JsonLog		got = {NULL, 0, 0};

		if (!pp_kernels((PpSimd) level))
			continue;
		if (!json_run(&t, &cuts, unit_heap_alloc(&heap), data + HEAD, (uint32_t) (size - HEAD), &got))
			abort();
		if (!known)
		{
			want = got;
			known = true;
			continue;
		}
		if (got.len != want.len || (got.len > 0 && memcmp(got.text, want.text, got.len) != 0))
		{
			fprintf(stderr, "level %d, table %u: got\n%swanted\n%s", level, data[0] % JSON_TABLES,
					got.len ? got.text : "", want.len ? want.text : "");
			abort();
		}
		json_log_free(&got);
	}
	json_log_free(&want);
	if (heap.live_blocks != 0)
		abort();
	return 0;
}
