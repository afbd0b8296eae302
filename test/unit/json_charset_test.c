/*
 * test/unit/json_charset_test.c
 *	  Lines of JSON in server encodings other than UTF-8, at every level: what
 *	  is valid, which escapes have a character, keys and values.
 *
 * The encoding of these tests has bytes 0xa0 to 0xff for the code points of the
 * same number, two bytes for U+0152, and no use for 0x80 to 0x9f.
 */
#include <string.h>

#include "parse/cpu/kernel.h"
#include "parse/json/json.h"
#include "unit.h"

static size_t
valid_prefix(void *ctx, const uint8_t *s, size_t n)
{
	size_t		i = 0;

	EXPECT(ctx == &valid_prefix, "another context");
	while (i < n && s[i] != 0 && !(s[i] >= 0x80 && s[i] < 0xa0))
		i++;
	return i;
}

static uint32_t
encode(void *ctx, uint32_t code, uint8_t *dst)
{
	EXPECT(ctx == &valid_prefix, "another context");
	EXPECT(code >= 0x80, "code point %x was asked for", (unsigned) code);
	if (code == 0x152)
	{
		memcpy(dst, "\xe1\xe2", 2);
		return 2;
	}
	dst[0] = (uint8_t) code;
	return code >= 0xa0 && code <= 0xff;
}

typedef struct Line
{
	const char *text;
	PpJsonCode	code;
	uint32_t	offset;			/* of the fault */
	const char *value;			/* of key \xe9, unescaped; NULL: there is none */
	PpState		state;			/* of that column */
} Line;

static const Line line[] = {
	{"{\"\xe9\":\"\xfc\",\"n\":1}", PP_JSON_OK, 0, "\xfc", PP_VALUE},
	{"{\"n\":1}", PP_JSON_OK, 0, NULL, PP_NULL},
	{"{\"\\u00e9\":\"a\"}", PP_JSON_OK, 0, "a", PP_VALUE},
	{"{\"\\u00E9\":\"b\",\"\xe9\":\"c\"}", PP_JSON_OK, 0, "c", PP_VALUE},
	{"{\"\xe9\":\"x\\u00fc\\u0152y\"}", PP_JSON_OK, 0, "x\xfc\xe1\xe2y", PP_DEFERRED},
	{"{\"\xe9\":\"\\u0041\\n\"}", PP_JSON_OK, 0, "A\n", PP_DEFERRED},
	{"{\"\xe9\":\"\\\\u20ac\"}", PP_JSON_OK, 0, "\\u20ac", PP_DEFERRED},
	{"{\"\\u0152\":3}", PP_JSON_OK, 0, NULL, PP_NULL},
	{"{\"k\":\"\\u00e9\\u20ac\"}", PP_JSON_UNTRANSLATABLE, 12, NULL, PP_NULL},
	{"{\"\\u0080\":1}", PP_JSON_UNTRANSLATABLE, 2, NULL, PP_NULL},
	{"{\"k\":[\"\\ud83d\\ude00\"]}", PP_JSON_UNTRANSLATABLE, 7, NULL, PP_NULL},
	{"{\"k\":\"\\u20ac\",\"l\":\"\\u0000\"}", PP_JSON_UNTRANSLATABLE, 6, NULL, PP_NULL},
	{"{\"l\":\"\\u0000\",\"k\":\"\\u20ac\"}", PP_JSON_NUL, 6, NULL, PP_NULL},
	{"{\"k\":\"\\u20ac\",", PP_JSON_SYNTAX, 14, NULL, PP_NULL},
	{"{\"k\":\"\\ud83d\"}", PP_JSON_SURROGATE, 6, NULL, PP_NULL},
	{"{\"k\":\"\xe9\x85\"}", PP_JSON_ENCODING, 7, NULL, PP_NULL},
};

#define LINES	(sizeof(line) / sizeof(line[0]))

static const uint8_t *
text_of(uint64_t value, uint32_t *n)
{
	const uint8_t *p = (const uint8_t *) (uintptr_t) value;
	uint32_t	header;

	memcpy(&header, p, 4);
	*n = (header >> 2) - 4;
	return p + 4;
}

static void
check_value(const PpJsonCharset *charset, const PpJsonBatch *json, uint32_t r, const Line *want)
{
	const PpBatch *b = &json->batch;
	PpJsonRange range = json->range[0][r];
	uint8_t		room[200];
	uint32_t	n;

	EXPECT(b->column[0].state[r] == want->state, "state %u", b->column[0].state[r]);
	if (!want->value)
	{
		EXPECT(range.end == 0, "a value");
		return;
	}
	EXPECT(range.end >= range.start + 2, "no string");
	EXPECT(pp_json_unescape_room(charset, range.end - range.start - 2) < sizeof(room), "much room");
	n = pp_json_unescape_as(charset, b->text + range.start + 1, range.end - range.start - 2, room);
	EXPECT(n == strlen(want->value) && memcmp(room, want->value, n) == 0, "value \"%s\"",
		   unit_show(room, n));
	if (want->state == PP_VALUE)
	{
		const uint8_t *p = text_of(b->column[0].value[r], &n);

		EXPECT(n == strlen(want->value) && memcmp(p, want->value, n) == 0, "text \"%s\"",
			   unit_show(p, n));
	}
}

/*
 * Lines from..to, in one job, of which the last may be at fault.  Known: text
 * is not checked, so an invalid character is none.
 */
static void
check(PpSimd level, uint32_t from, uint32_t to, bool known)
{
	static uint8_t text[2000 + PP_PAD];
	PpJsonCharset charset = {(void *) &valid_prefix, false, known ? NULL : valid_prefix, encode};
	PpColumn	column = {PP_TEXT, 0, 0, -1};
	PpJsonStep	step = {(const uint8_t *) "\xe9", 1, 0};
	PpJsonColumn json_column = {1, &step, false};
	PpJsonScanSpec spec;
	UnitHeap	heap;
	PpBackendScan *scan;
	PpJob		job;
	const PpBatch *b = NULL;
	const char *message;
	const Line *last = &line[to];
	bool		good = last->code == PP_JSON_OK || (known && last->code == PP_JSON_ENCODING);
	uint32_t	begin = 0;

	memset(text, 0, sizeof(text));
	memset(&job, 0, sizeof(job));
	job.text = text;
	job.last = true;
	for (uint32_t i = from; i <= to; i++)
	{
		begin = job.len;
		memcpy(text + job.len, line[i].text, strlen(line[i].text));
		job.len += (uint32_t) strlen(line[i].text);
		text[job.len++] = '\n';
	}
	memset(&heap, 0, sizeof(heap));
	memset(&spec, 0, sizeof(spec));
	spec.scan.struct_size = sizeof(spec);
	spec.scan.ncolumns = 1;
	spec.scan.column = &column;
	spec.scan.env.charset = PP_CHARSET_OTHER;
	spec.scan.max_records = 100;
	spec.scan.simd = level;
	spec.scan.alloc = unit_heap_alloc(&heap);
	spec.column = &json_column;
	spec.max_depth = 100;
	spec.charset = &charset;

	scan = pp_backend_ndjson.open(&spec.scan);
	EXPECT(scan != NULL, "not opened");
	if (!scan)
		return;
	EXPECT(pp_backend_ndjson.submit(scan, &job), "not submitted");
	while (pp_backend_ndjson.poll(scan, &b, &message) == PP_POLL_PENDING)
		;
	EXPECT(b && b->nrecords == to - from + good, "%u records", b ? b->nrecords : 0);
	for (uint32_t r = 0; b && r < b->nrecords; r++)
		check_value(&charset, pp_json_batch(b), r, &line[from + r]);
	if (b && !good)
	{
		const PpJsonFault *fault = &pp_json_batch(b)->fault;

		EXPECT(b->stop == PP_STOP_SYNTAX && fault->code == last->code, "code %d", (int) fault->code);
		EXPECT(fault->offset == begin + last->offset, "offset %u", fault->offset - begin);
	}
	pp_backend_ndjson.release(scan);
	pp_backend_ndjson.close(scan);
	EXPECT(heap.live_blocks == 0, "%u blocks are left", (unsigned) heap.live_blocks);
}

/* The server may know no encoding: text is checked as UTF-8 then. */
static void
check_utf8(PpSimd level)
{
	PpJsonCharset charset = {(void *) &valid_prefix, true, NULL, encode};

	for (int bad = 0; bad < 2; bad++)
	{
		static uint8_t copy[100 + PP_PAD];
		PpJsonScanSpec spec;
		UnitHeap	heap;
		PpBackendScan *scan;
		PpJob		job;
		const PpBatch *b = NULL;
		const char *message;

		memset(copy, 0, sizeof(copy));
		memset(&job, 0, sizeof(job));
		job.text = copy;
		job.last = true;
		job.len = bad ? 7 : 8;
		memcpy(copy, bad ? "{\"\xc3\":1}" : "{\"\xc3\xa9\":1}", job.len);
		memset(&heap, 0, sizeof(heap));
		memset(&spec, 0, sizeof(spec));
		spec.scan.struct_size = sizeof(spec);
		spec.scan.max_records = 100;
		spec.scan.simd = level;
		spec.scan.alloc = unit_heap_alloc(&heap);
		spec.max_depth = 100;
		spec.charset = &charset;
		scan = pp_backend_ndjson.open(&spec.scan);
		EXPECT(scan && pp_backend_ndjson.submit(scan, &job), "not opened");
		if (!scan)
			return;
		while (pp_backend_ndjson.poll(scan, &b, &message) == PP_POLL_PENDING)
			;
		EXPECT(b && b->nrecords == !bad, "%u records", b ? b->nrecords : 0);
		EXPECT(b && (!bad || pp_json_batch(b)->fault.code == PP_JSON_ENCODING), "no fault");
		pp_backend_ndjson.release(scan);
		pp_backend_ndjson.close(scan);
	}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "json_charset_test");
	for (int level = 0; level < PP_SIMD_LEVELS; level++)
	{
		if (!pp_kernels((PpSimd) level))
			continue;
		for (uint32_t i = 0; i < LINES; i++)
		{
			unit_case("level %d, line %u", level, (unsigned) i);
			check((PpSimd) level, i, i, false);
			check((PpSimd) level, i, i, true);
			/* behind those that are good */
			check((PpSimd) level, 0, i < 7 ? i : 7, false);
		}
		unit_case("level %d, UTF-8 all the same", level);
		check_utf8((PpSimd) level);
	}
	return unit_end();
}
