/*
 * test/fuzz/fuzz_stream.c
 *	  Fuzz target: a stream over arbitrary bytes, in an arbitrary dialect, cut
 *	  into arbitrary partitions, must do what the model of COPY does.
 *
 * The first bytes of the input choose everything but the text.  Links with
 * libFuzzer or with fuzz_main.c; ends the process at the first difference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_check.h"
#include "fuzz.h"
#include "texts.h"

#define HEAD	10

/* Texts that are worth starting from. */
const char *const fuzz_seed[] = {
	"a,b\n1,2\n3,\"4\n5\"\n",
	"a,b\r\n1,\"x\"\"y\"\r\n\\.\r\n9,9\r\n",
	"a,b\r1,\"\r\n\"\r3,4\n",
	"\"a\\\"b\",\\N\n\"\\N\",\n12,-7\n99999999999,DEF\n",
	"\\.\n1,2\n",
	"1,2\n\\.\r\n3,4\n",
	"1,\xc3\xa9\n2,\xe2\x82\n3,\xed\xa0\x80\n",
	"1,2\r\xff\n",
	"x;'y''z'\n;;\n",
	"1,2,3,4\n\n1\n",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,b\n"
	"\"cccccccccccccccccccccccccccccccccccccccccccccccccc,\n,ccccccccccccccccccccc\",d\n",
	NULL
};
const size_t fuzz_head = HEAD;
const char *const fuzz_name = "fuzz_stream";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t chunk[] = {0, 0, 1, 2, 3, 7, 64, 1000};
	EngineCase	c;
	EngineResult result;
	UnitHeap	heap;
	UnitRandom	random;
	uint32_t	level[CHECK_LEVELS];

	if (size < HEAD)
		return 0;
	memset(&c, 0, sizeof(c));
	c.backend = &pp_backend_scalar;
	c.dialect = texts_dialect[data[0] % texts_ndialects];
	c.dialect.end_marker = data[1] & 1;
	c.header = (data[1] & 2) != 0;
	c.verify = (PpVerify) (data[1] >> 2 & 3);
	c.feed = data[1] >> 4;
	c.partition = 1 + data[2] % 100;
	if (data[2] >= 200)
		c.partition = 1000;
	c.chunk = chunk[data[3] % 8];
	c.simd = level[(data[3] >> 3) % check_simd_levels(level)];
	c.nfields = data[4] % 5;
	c.max_records = data[5] < 128 ? 1 + data[5] % 5 : data[5];
	c.seed = data[6];
	random = (UnitRandom) data[7] << 8 | data[6];
	check_random_columns(&random, &c);

	memset(&heap, 0, sizeof(heap));
	/* now and then without memory */
	if (data[8] >= 200)
	{
		heap.fail_at = 1 + data[9];
		heap.fail_on = data[8] & 1;
	}
	check_stream(&c, data + HEAD, size - HEAD, &heap, &result);
	if (result.verdict == ENGINE_DIFFERS)
	{
		fprintf(stderr, "%s (%s), %u fields, %s, partition %zu, chunk %u, level %u, verify %d: %s\n",
				unit_show(data + HEAD, size - HEAD), texts_dialect_name(&c.dialect),
				c.nfields, c.header ? "header" : "no header", c.partition, c.chunk,
				c.simd, (int) c.verify, result.why);
		abort();
	}
	return 0;
}
