/*
 * test/unit/stream_test.c
 *	  Whole streams against the model of COPY: every partition size, short and
 *	  empty reads, verification, transcoding, headers, line numbers, errors in
 *	  their order, memory bounds, failing allocations and failing backends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_check.h"
#include "texts.h"

enum
{
	T_PARTITIONS = 1,
	T_SOUP,
	T_RECORDS,
	T_LARGE,
	T_MEMORY,
	T_ASYNC
};

static const PpBackend *const scalar = &pp_backend_scalar;

static void
init_case(EngineCase *c, const PpDialect *d)
{
	memset(c, 0, sizeof(*c));
	c->dialect = *d;
	c->nfields = 2;
	c->partition = 64;
	c->max_records = 100;
	c->backend = scalar;
	c->verify = PP_VERIFY_UTF8;
	c->markers.null_text = (const uint8_t *) "";
}

static const char *
verify_name(PpVerify v)
{
	static const char *const name[] = {"nul", "utf8", "caller", "transcode"};

	return name[v];
}

static bool
run(const EngineCase *c, const uint8_t *text, size_t len)
{
	UnitHeap	heap;
	EngineResult result;

	memset(&heap, 0, sizeof(heap));
	check_stream(c, text, len, &heap, &result);
	EXPECT(result.verdict == ENGINE_SAME,
		   "%s (%s), %u fields, %s, partition %zu, chunk %u, level %u, batches of %u, verify %s, feed %u: %s",
		   unit_show(text, len), texts_dialect_name(&c->dialect), c->nfields,
		   c->header ? "header" : "no header", c->partition, c->chunk, c->simd,
		   c->max_records, verify_name(c->verify), c->feed, result.why);
	return result.verdict == ENGINE_SAME;
}

/* Everything about a case at random, but partition, text and backend. */
static void
random_case(UnitRandom *r, EngineCase *c)
{
	static const uint32_t chunk[] = {0, 0, 0, 1, 2, 3, 5, 7, 16, 31, 64};
	PpDialect	d = texts_dialect[unit_below(r, unit_once_in(r, 2) ? texts_nusual : texts_ndialects)];

	d.end_marker = unit_once_in(r, 2);
	init_case(c, &d);
	c->header = unit_once_in(r, 3);
	c->nfields = unit_once_in(r, 12) ? 0 : 1 + unit_below(r, 4);
	check_random_columns(r, c);
	c->chunk = chunk[unit_below(r, sizeof(chunk) / sizeof(chunk[0]))];
	c->simd = check_random_level(r);
	c->max_records = unit_once_in(r, 2) ? 1 + unit_below(r, 4) : 1 + unit_below(r, 500);
	c->verify = (PpVerify) unit_below(r, 4);
	c->feed = unit_once_in(r, 2) ? 0 : unit_below(r, FEED_MODES);
	c->seed = unit_next(r);
}

/* Bytes above ASCII that mean something in the invented encodings. */
static void
sprinkle(UnitRandom *r, const EngineCase *c, uint8_t *text, size_t len)
{
	static const uint8_t lead[] = {0x81, 0x8f, 0x90, 0x9f, 0xa1, 0xdf, 0xe0, 0xe3, 0xef};

	if (c->verify != PP_VERIFY_CALLER && c->verify != PP_VERIFY_TRANSCODE)
		return;
	/* first make what the generator wrote as UTF-8 valid here */
	for (size_t i = 0; i < len; i++)
		if (text[i] >= 0x80)
			text[i] = 'u';
	for (uint32_t n = unit_below(r, 8); n > 0 && len >= 4; n--)
	{
		size_t		at = unit_below(r, (uint32_t) len - 3);

		text[at] = lead[unit_below(r, sizeof(lead))];
		/* its trail bytes: in the server encoding never ASCII */
		for (uint32_t k = 1; k < fake_char_length(text[at]) || k < 2; k++)
			if (c->verify == PP_VERIFY_CALLER)
				text[at + k] = (uint8_t) (0x80 + unit_below(r, 0x60));
			else if (unit_once_in(r, 2))
				text[at + k] = c->dialect.quote;
	}
}

static size_t
random_text(UnitRandom *r, const EngineCase *c, uint8_t *text, size_t room)
{
	bool		large = room > 100000;
	size_t		len;

	if (!large && unit_once_in(r, 3))
		len = texts_soup(r, &c->dialect, text, room);
	else
		len = texts_records(r, &c->dialect, (PpEol) (1 + unit_below(r, 3)),
							c->nfields > 0 ? c->nfields : 1,
							unit_once_in(r, 3) ? 0 : large ? 30000 : 60, text, room);
	sprinkle(r, c, text, len);
	if (unit_once_in(r, 4))
		len = texts_spoil(r, text, len, room);
	return len;
}

/* Every partition size from 1 to one more than the text. */
static void
test_partitions(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_PARTITIONS, i);
		uint8_t		text[130];
		EngineCase	c;
		size_t		len;

		random_case(&r, &c);
		len = random_text(&r, &c, text, unit_once_in(&r, 2) ? 30 : sizeof(text));
		unit_case("partitions %llu", (unsigned long long) i);
		for (c.partition = 1; c.partition <= len + 1; c.partition++)
			if (!run(&c, text, len))
				break;
	}
}

static void
test_random(uint32_t test, uint64_t n, size_t room)
{
	uint8_t    *text = unit_malloc(room);
	uint64_t	good = 0;
	uint64_t	bad = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(test, i);
		EngineCase	c;
		UnitHeap	heap;
		EngineResult result;
		size_t		len;

		random_case(&r, &c);
		if (test == T_LARGE)
		{
			c.dialect = texts_dialect[unit_below(&r, texts_nusual)];
			if (c.nfields == 0)
				c.nfields = 1;
			check_random_columns(&r, &c);
		}
		len = random_text(&r, &c, text, room);
		c.partition = 1 + unit_below(&r, unit_once_in(&r, 2) ? 20 : (uint32_t) room);
		if (test == T_LARGE)
		{
			c.partition = 1000 + unit_below(&r, 200000);
			c.max_records += 500;
		}
		unit_case("random %u %llu", test, (unsigned long long) i);
		memset(&heap, 0, sizeof(heap));
		check_stream(&c, text, len, &heap, &result);
		EXPECT(result.verdict == ENGINE_SAME,
			   "%s (%s), %u fields, %s, partition %zu, chunk %u, level %u, batches of %u, verify %s, feed %u: %s",
			   unit_show(text, len), texts_dialect_name(&c.dialect), c.nfields,
			   c.header ? "header" : "no header", c.partition, c.chunk, c.simd,
			   c.max_records, verify_name(c.verify), c.feed, result.why);
		if (result.errors == 0 && result.records > 1)
			good++;
		if (result.errors > 0)
			bad++;
	}
	unit_case("texts %u: some in order, some not", test);
	EXPECT(n < 500 || (good * 10 > n && bad * 10 > n), "%llu and %llu of %llu",
		   (unsigned long long) good, (unsigned long long) bad, (unsigned long long) n);
	free(text);
}

/*
 * Texts whose outcome is known beforehand, with what COPY does in words.
 */
static void
test_known(void)
{
	static const struct
	{
		const char *text;
		bool		end_marker;
		bool		header;
		size_t		records;
		RefEnd		end;
		uint64_t	line;		/* of the error; 0: not looked at */
	}			known[] = {
		{"", true, false, 0, REF_END, 0},
		{"", true, true, 0, REF_END, 0},
		{"\n", true, false, 1, REF_END, 0},
		{"a,b", true, false, 1, REF_END, 0},
		{"a,b\n", true, true, 0, REF_END, 0},
		{"a,b", true, true, 0, REF_END, 0},
		/* a header that is the last line ends the data, whatever it holds */
		{"a,\"b", true, true, 0, REF_END, 0},
		{"a,b\n1,2\n\\.\n3,4\n", true, false, 2, REF_MARKER_END, 0},
		{"a,b\n1,2\n\\.\n3,4\n", false, false, 4, REF_END, 0},
		/* at the end of the data the marker lacks its line end */
		{"a,b\n\\.", true, false, 2, REF_END, 0},
		{"a,b\n\\.\r", true, false, 1, REF_MARKER, 2},
		{"a,b\r\n\\.\n", true, false, 1, REF_NL, 2},
		{"a,b\r\n\\.\r", true, false, 1, REF_CR, 2},
		{"a,b\r\n\\.\r\r", true, false, 1, REF_MARKER, 2},
		{"\\.\r", true, false, 0, REF_MARKER_END, 0},
		{"\\.\r", false, false, 1, REF_END, 0},
		/* the first line end decides */
		{"a,b\nc\rd", true, false, 1, REF_CR, 2},
		{"a,b\rc\nd", true, false, 1, REF_NL, 2},
		{"a,b\r\nc\rd", true, false, 1, REF_CR, 2},
		{"a,b\r\nc\nd", true, false, 1, REF_NL, 2},
		/* line feeds in quotes count, but not in front of the first line end */
		{"a,\"\n\n\"\nb,\"\n\"\nc\rd", true, false, 2, REF_CR, 4},
		{"a,\"\r\"\nb,\"\r\"\nc\rd", true, false, 2, REF_CR, 4},
		{"a,\"\n\"\r\nb,\"\n\r\"\r\nc\rd", true, false, 2, REF_CR, 4},
		{"a,b\nc,\"d\n\ne", true, false, 1, REF_UNTERMINATED, 4},
		/* an invalid byte behind a '\r' comes before the '\r' */
		{"a,b\nc\r\xff", true, false, 1, REF_ENCODING, 2},
		{"a,b\r\xff", true, false, 0, REF_ENCODING, 1},
		{"a,b\n\xff", true, false, 1, REF_ENCODING, 2},
		{"a,b\n\\.\n\xff", true, false, 1, REF_MARKER_END, 0},
		{"a,b\nc\rd\xff", true, false, 1, REF_CR, 2},
		{"a,b\nc,\xe2\x82", true, false, 1, REF_ENCODING, 2},
		/* ... but not before what looks at that '\r' itself */
		{"a,b\r\n\r\r\xff", true, false, 1, REF_CR, 2},
		{"a,b\n\\.\r\xff", true, false, 1, REF_MARKER, 2},
		{"a,b\r\\.\r\xff", true, false, 1, REF_MARKER_END, 0},
		{"\\.\r\xff", true, false, 0, REF_MARKER_END, 0},
		{"\\.\r\xff", true, true, 0, REF_MARKER_END, 0},
		{"a,b\r\n\\.\r\r\xff", true, false, 1, REF_MARKER, 2},
		{"a,b\r\n\\.\r\xff", true, false, 1, REF_ENCODING, 2},
		{"a,b\nc,\"\n\xff\"", true, false, 1, REF_ENCODING, 3}
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
	{
		const uint8_t *text = (const uint8_t *) known[i].text;
		size_t		len = strlen(known[i].text);
		RefSpec		spec;
		RefFile    *file;
		EngineCase	c;

		unit_case("known %zu: %s", i, unit_show(text, len));
		memset(&spec, 0, sizeof(spec));
		spec.dialect = texts_dialect[0];
		spec.dialect.end_marker = known[i].end_marker;
		spec.header = known[i].header;
		file = ref_read(&spec, text, len, ref_utf8_prefix(text, len));
		EXPECT(file->nrecords == known[i].records && file->end == known[i].end &&
			   (known[i].line == 0 || file->end_line == known[i].line),
			   "the model says %zu records, end %d, line %llu", file->nrecords,
			   (int) file->end, (unsigned long long) file->end_line);
		ref_free(file);

		init_case(&c, &spec.dialect);
		c.header = known[i].header;
		for (c.partition = 1; c.partition <= len + 1; c.partition++)
			for (c.feed = 0; c.feed < FEED_MODES; c.feed++)
				run(&c, text, len);
	}
}

/* Exhaustive short texts with an invalid byte among the letters. */
static void
test_exhaustive(uint32_t max)
{
	static const uint8_t alphabet[] = {'"', '\n', '\r', ',', '\\', '.', 0xff};

	for (uint32_t len = 0; len <= max; len++)
	{
		uint64_t	count = 1;

		for (uint32_t k = 0; k < len; k++)
			count *= sizeof(alphabet);
		unit_case("all texts of %u bytes", len);
		for (uint64_t v = 0; v < count; v++)
			for (uint32_t header = 0; header < 2; header++)
			{
				uint8_t		text[16];
				uint64_t	rest = v;
				EngineCase	c;

				for (uint32_t k = 0; k < len; k++)
				{
					text[k] = alphabet[rest % sizeof(alphabet)];
					rest /= sizeof(alphabet);
				}
				init_case(&c, &texts_dialect[v % 3 == 0 ? 1 : 0]);
				c.dialect.end_marker = v % 4 != 0;
				c.header = header != 0;
				c.nfields = 1 + v % 2;
				c.max_records = 1 + v % 5 / 3;
				c.seed = v;
				c.feed = (uint32_t) (v % FEED_MODES);
				c.partition = 1 + v % (len + 1);
				run(&c, text, len);
			}
	}
}

/* A text of many ordinary records. */
static size_t
ordinary(uint8_t *text, size_t room)
{
	size_t		len = 0;

	for (uint32_t i = 0; len + 100 < room; i++)
		len += (size_t) snprintf((char *) text + len, 100, "%u,some words of number %u,\"%u, \"\"quoted\"\"\"\n",
								 i, i * 7, i % 100);
	return len;
}

/*
 * Memory of a stream does not depend on the length of the input: 60 times the
 * partition takes what 20 times does, a partition at most aside, and that is a
 * small multiple of the partition, the backend's block of memory for values
 * aside.
 */
static void
test_memory_bound(void)
{
	static const size_t partition[] = {4096, 32768, 262144};

	for (size_t p = 0; p < sizeof(partition) / sizeof(partition[0]); p++)
		for (uint32_t verify = 0; verify < 4; verify++)
			for (uint32_t chunked = 0; chunked < 2; chunked++)
			{
				size_t		room = 60 * partition[p];
				uint8_t    *text = unit_malloc(room);
				size_t		len = ordinary(text, room);
				EngineCase	c;
				UnitHeap	heap[2];
				EngineResult result[2];

				init_case(&c, &texts_dialect[0]);
				c.nfields = 3;
				c.ncolumns = 2;
				c.column[0].type = PP_INT4;
				c.column[0].mod = -1;
				c.column[1].type = PP_TEXT;
				c.column[1].field = 1;
				c.column[1].mod = -1;
				c.partition = partition[p];
				c.max_records = 1000;
				c.chunk = chunked && p < 2 ? 1000 : 0;
				c.verify = (PpVerify) verify;
				unit_case("memory, partition %zu, verify %s, %s", partition[p],
						  verify_name((PpVerify) verify), c.chunk ? "chunks" : "no chunks");
				for (uint32_t k = 0; k < 2; k++)
				{
					size_t		part = k == 0 ? len / 3 : len;

					while (part > 0 && text[part - 1] != '\n')
						part--;
					memset(&heap[k], 0, sizeof(heap[k]));
					check_stream(&c, text, part, &heap[k], &result[k]);
					EXPECT(result[k].verdict == ENGINE_SAME, "%s", result[k].why);
				}
				EXPECT(heap[1].peak_bytes <= heap[0].peak_bytes + partition[p],
					   "%zu bytes at most for a third, %zu for all", heap[0].peak_bytes,
					   heap[1].peak_bytes);
				EXPECT(heap[1].peak_bytes <= (verify == PP_VERIFY_TRANSCODE ? 20 : 14) * partition[p] + 600000,
					   "%zu bytes at most", heap[1].peak_bytes);
				/* transcoding reserves what its growth allows */
				EXPECT(result[1].peak_memory <= (verify == PP_VERIFY_TRANSCODE ? 4 + 2 * FAKE_GROWTH : 5) *
					   partition[p] + 4096,
					   "the stream's buffers took %llu bytes",
					   (unsigned long long) result[1].peak_memory);
				EXPECT(result[1].peak_memory > 0 && result[1].peak_memory <= heap[1].peak_bytes,
					   "the stream says %llu bytes, the allocator %zu",
					   (unsigned long long) result[1].peak_memory, heap[1].peak_bytes);
				free(text);
			}
}

/* One record of many partitions, between short ones. */
static void
test_long_record(void)
{
	static const size_t partition[] = {1, 7, 64, 1000};
	size_t		long_len = 30000;
	uint8_t    *text = unit_malloc(long_len + 100);

	for (uint32_t quoted = 0; quoted < 2; quoted++)
		for (size_t p = 0; p < sizeof(partition) / sizeof(partition[0]); p++)
		{
			size_t		len = 0;
			EngineCase	c;
			UnitHeap	heap;
			EngineResult result;

			memcpy(text, "1,a\n", 4);
			len = 4;
			text[len++] = '2';
			text[len++] = ',';
			if (quoted)
				text[len++] = '"';
			for (; len < long_len; len++)
				text[len] = quoted && len % 50 == 0 ? '\n' : 'x';
			if (quoted)
				text[len++] = '"';
			memcpy(text + len, "\n3,b\n", 5);
			len += 5;
			init_case(&c, &texts_dialect[0]);
			c.ncolumns = 1;
			c.column[0].type = PP_TEXT;
			c.column[0].field = 1;
			c.column[0].mod = -1;
			c.partition = partition[p];
			unit_case("a record of %zu partitions of %zu bytes%s", len / partition[p],
					  partition[p], quoted ? ", quoted" : "");
			memset(&heap, 0, sizeof(heap));
			check_stream(&c, text, len, &heap, &result);
			EXPECT(result.verdict == ENGINE_SAME, "%s", result.why);
			EXPECT(result.records == 3, "%llu records", (unsigned long long) result.records);
			EXPECT(result.peak_memory < 4 * len + 4096, "buffers of %llu bytes",
				   (unsigned long long) result.peak_memory);
		}
	free(text);
}

/* The n-th allocation fails, for every n, once or from then on. */
static void
test_allocations(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_MEMORY, i);
		uint8_t		text[400];
		EngineCase	c;
		UnitHeap	heap;
		EngineResult result;
		size_t		len;
		uint64_t	calls;

		random_case(&r, &c);
		c.partition = 1 + unit_below(&r, 100);
		len = random_text(&r, &c, text, sizeof(text));
		unit_case("failing allocations %llu", (unsigned long long) i);
		memset(&heap, 0, sizeof(heap));
		check_stream(&c, text, len, &heap, &result);
		EXPECT(result.verdict == ENGINE_SAME, "%s: %s", unit_show(text, len), result.why);
		calls = heap.calls;
		for (uint64_t at = 1; at <= calls; at++)
			for (uint32_t on = 0; on < 2; on++)
			{
				memset(&heap, 0, sizeof(heap));
				heap.fail_at = at;
				heap.fail_on = on != 0;
				check_stream(&c, text, len, &heap, &result);
				EXPECT(heap.failed && result.verdict != ENGINE_DIFFERS,
					   "allocation %llu of %llu%s: %s", (unsigned long long) at,
					   (unsigned long long) calls, on ? " and all behind" : "", result.why);
			}
	}
}

/*
 * A backend that takes its time and fails when told to: the scalar one behind
 * polls that answer PENDING.
 */
static struct
{
	UnitRandom	random;
	uint64_t	calls;
	uint64_t	fail_at;		/* number of the submit or poll that fails */
	UnitHeap   *heap;
	uint32_t	adopted;		/* texts that were taken as they had been given ahead */
	const uint8_t *ahead;		/* what was, since the last submit */
	uint32_t	ahead_len;
	bool		ahead_last;
	uint8_t		ahead_copy[256];
	bool		more;			/* the last batch ended in an incomplete record */
	uint32_t	open;			/* scans that are open */
	uint32_t	held;			/* batches that are not released */
} slow;

static bool
slow_fails(void)
{
	if (++slow.calls != slow.fail_at)
		return false;
	slow.heap->failed = true;
	return true;
}

static PpBackendScan *
slow_open(const PpScanSpec *spec)
{
	PpBackendScan *scan;

	if (slow_fails())
		return NULL;
	scan = scalar->open(spec);
	slow.open += scan != NULL;
	return scan;
}

static bool
slow_submit(PpBackendScan *scan, const PpJob *job)
{
	if (slow.ahead)
	{
		uint32_t	n = slow.ahead_len;

		EXPECT(memcmp(slow.ahead, slow.ahead_copy, n) == 0, "what was given ahead has changed");
		EXPECT(!slow.more || (job->len - job->begin >= n &&
							  memcmp(job->text + job->len - n, slow.ahead_copy, n) == 0 &&
							  job->last == slow.ahead_last),
			   "a job without the %u bytes that were given ahead", n);
		slow.adopted += slow.more && job->text + job->len - n == slow.ahead;
		if (slow.more)
			slow.ahead = NULL;
	}
	return !slow_fails() && scalar->submit(scan, job);
}

static bool
slow_ahead(PpBackendScan *scan, const uint8_t *text, uint32_t len, bool last)
{
	(void) scan;
	EXPECT(slow.held == 0, "given ahead too late");
	EXPECT(len <= sizeof(slow.ahead_copy), "%u bytes given ahead", len);
	slow.ahead = text;
	slow.ahead_len = len;
	slow.ahead_last = last;
	memcpy(slow.ahead_copy, text, len);
	return unit_once_in(&slow.random, 2);
}

static PpPoll
slow_poll(PpBackendScan *scan, const PpBatch **batch, const char **message)
{
	PpPoll		answer;

	if (slow_fails())
	{
		*message = "device lost";
		return PP_POLL_FAILED;
	}
	if (unit_below(&slow.random, 3) > 0)
		return PP_POLL_PENDING;
	answer = scalar->poll(scan, batch, message);
	slow.held += answer == PP_POLL_DONE;
	slow.more = answer == PP_POLL_DONE && (*batch)->stop == PP_STOP_MORE;
	return answer;
}

static void
slow_release(PpBackendScan *scan)
{
	slow.held--;
	scalar->release(scan);
}

static void
slow_close(PpBackendScan *scan)
{
	slow.open--;
	scalar->close(scan);
}

static const PpBackend slow_backend = {
	sizeof(PpBackend),
	PP_BACKEND_VERSION,
	"slow",
	slow_open,
	slow_submit,
	slow_poll,
	slow_release,
	slow_close,
	slow_ahead
};

static void
test_backend(uint64_t n)
{
	uint32_t	adopted = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_ASYNC, i);
		uint8_t		text[200];
		EngineCase	c;
		UnitHeap	heap;
		EngineResult result;
		size_t		len;
		uint64_t	calls;

		random_case(&r, &c);
		c.backend = &slow_backend;
		c.read_ahead = i % 2 == 0;
		c.partition = 5 + unit_below(&r, 100);
		len = random_text(&r, &c, text, sizeof(text));
		unit_case("slow backend %llu", (unsigned long long) i);
		memset(&heap, 0, sizeof(heap));
		memset(&slow, 0, sizeof(slow));
		slow.heap = &heap;
		slow.random = c.seed;
		check_stream(&c, text, len, &heap, &result);
		EXPECT(result.verdict == ENGINE_SAME, "%s: %s", unit_show(text, len), result.why);
		EXPECT(slow.held == 0 && slow.open == 0, "%u batches, %u scans left", slow.held, slow.open);
		calls = slow.calls;
		adopted += slow.adopted;
		for (uint64_t at = 1; at <= calls; at++)
		{
			/* another goes on */
			memset(&heap, 0, sizeof(heap));
			memset(&slow, 0, sizeof(slow));
			slow.heap = &heap;
			slow.random = c.seed;
			slow.fail_at = at;
			c.fallback = scalar;
			check_stream(&c, text, len, &heap, &result);
			EXPECT(result.verdict == ENGINE_SAME, "call %llu of %llu fails, another backend goes on: %s: %s",
				   (unsigned long long) at, (unsigned long long) calls, unit_show(text, len),
				   result.why);
			EXPECT(slow.held == 0 && slow.open == 0, "%u batches, %u scans left", slow.held, slow.open);
			c.fallback = NULL;

			memset(&heap, 0, sizeof(heap));
			memset(&slow, 0, sizeof(slow));
			slow.heap = &heap;
			slow.random = c.seed;
			slow.fail_at = at;
			check_stream(&c, text, len, &heap, &result);
			EXPECT(result.verdict == ENGINE_NO_MEMORY, "failing call %llu of %llu: %s",
				   (unsigned long long) at, (unsigned long long) calls,
				   result.verdict == ENGINE_SAME ? "goes unnoticed" : result.why);
			EXPECT(slow.held == 0 && slow.open == 0, "%u batches, %u scans left", slow.held, slow.open);
		}
	}
	EXPECT(adopted > n / 10, "what was given ahead is taken %u times in %llu cases", adopted,
		   (unsigned long long) n);
}

/* A stream may be closed at any step. */
static void
test_early_close(void)
{
	static const char text[] = "h,h\n1,a\n2,\"b\nb\"\n3,c\n4\n5,e\n";

	for (uint32_t stop = 0; stop < 150; stop++)
	{
		PpStreamSpec spec;
		UnitHeap	heap;
		PpStream   *stream;
		size_t		fed = 0;

		unit_case("closed at step %u", stop);
		memset(&heap, 0, sizeof(heap));
		memset(&spec, 0, sizeof(spec));
		memset(&slow, 0, sizeof(slow));
		slow.heap = &heap;
		spec.backend = &slow_backend;
		spec.scan.struct_size = sizeof(spec.scan);
		spec.scan.dialect = texts_dialect[0];
		spec.scan.nfields = 2;
		spec.scan.null_text = (const uint8_t *) "";
		spec.scan.max_records = 2;
		spec.scan.alloc = unit_heap_alloc(&heap);
		spec.header = true;
		spec.partition_size = 5;
		spec.verify = PP_VERIFY_UTF8;
		stream = pp_stream_open(&spec);
		EXPECT(stream != NULL, "not opened");
		for (uint32_t i = 0; i < stop && stream != NULL; i++)
			if (pp_stream_step(stream) == PP_STEP_READ)
			{
				const PpRequest *q = pp_stream_request(stream);
				size_t		n = sizeof(text) - 1 - fed;

				if (n > q->want)
					n = q->want;
				memcpy(q->dst, text + fed, n);
				fed += n;
				pp_stream_fed(stream, n, fed == sizeof(text) - 1);
			}
		pp_stream_close(stream);
		EXPECT(heap.live_blocks == 0, "%zu blocks left", heap.live_blocks);
		EXPECT(slow.held == 0 && slow.open == 0, "%u batches, %u scans left", slow.held, slow.open);
	}
	unit_case("closing nothing");
	pp_stream_close(NULL);
	EXPECT(true, "crashed");
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "stream");
	test_known();
	test_exhaustive(unit_iterations(100) >= 100 ? 6 : 4);
	test_partitions(unit_iterations(8000));
	test_random(T_SOUP, unit_iterations(60000), 150);
	test_random(T_RECORDS, unit_iterations(10000), 3000);
	test_random(T_LARGE, unit_iterations(60), 600000);
	test_memory_bound();
	test_long_record();
	test_allocations(unit_iterations(500));
	test_backend(unit_iterations(1000));
	test_early_close();
	return unit_end();
}
