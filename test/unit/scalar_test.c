/*
 * test/unit/scalar_test.c
 *	  The CPU backend, at every SIMD level of this processor, against the
 *	  model of COPY: every chunk size, every cut, batches of every size,
 *	  records continued in another buffer, errors, values, and failing
 *	  allocations.
 */
#include <stdlib.h>
#include <string.h>

#include "engine_check.h"
#include "texts.h"

enum
{
	T_EVERYWHERE = 1,
	T_SOUP,
	T_RECORDS,
	T_LONG,
	T_HUGE,
	T_MEMORY
};

static void
init_case(EngineCase *c, const PpDialect *d)
{
	memset(c, 0, sizeof(*c));
	c->dialect = *d;
	c->nfields = 2;
	c->max_records = 100;
	c->backend = &pp_backend_scalar;
	c->markers.null_text = (const uint8_t *) "";
}

static bool
run(const EngineCase *c, const uint8_t *text, size_t len,
	const size_t *cut, size_t ncuts)
{
	UnitHeap	heap;
	EngineResult result;

	memset(&heap, 0, sizeof(heap));
	check_backend(c, text, len, cut, ncuts, &heap, &result);
	EXPECT(result.verdict == ENGINE_SAME,
		   "%s, %u fields, chunk %u, level %u, batches of %u, %zu cuts (first at %zu): %s",
		   unit_show(text, len), c->nfields, c->chunk, c->simd, c->max_records, ncuts,
		   ncuts > 0 ? cut[0] : len, result.why);
	return result.verdict == ENGINE_SAME;
}

/*
 * All texts of up to max bytes over the bytes that mean something, behind a
 * beginning that fixes the kind of line end; cut everywhere, in chunks and
 * batches of several sizes.
 */
static void
test_exhaustive(const PpDialect *d, uint32_t max)
{
	static const char *const beginning[] = {"", "a,\n", "a,\r", "a,\r\n"};
	static const uint32_t chunk[] = {0, 1, 2, 3};
	static const uint32_t batch[] = {1, 2, 100};
	uint8_t		alphabet[8];
	uint32_t	letters = 0;
	uint32_t	level[CHECK_LEVELS];
	uint32_t	levels = check_simd_levels(level);
	uint8_t		candidate[] = {d->quote, d->delimiter, '\n', '\r', d->escape, '\\', '.'};

	for (uint32_t i = 0; i < (d->end_marker ? 7 : 5); i++)
		if (memchr(alphabet, candidate[i], letters) == NULL)
			alphabet[letters++] = candidate[i];

	for (uint32_t b = 0; b < 4; b++)
		for (uint32_t len = 0; len <= max; len++)
		{
			uint64_t	count = 1;
			size_t		before = strlen(beginning[b]);

			for (uint32_t k = 0; k < len; k++)
				count *= letters;
			unit_case("%s: all texts of %u bytes behind %s", texts_dialect_name(d), len,
					  unit_show((const uint8_t *) beginning[b], before));
			for (uint64_t v = 0; v < count; v++)
			{
				uint8_t		text[16];
				size_t		n = before + len;
				uint64_t	rest = v;

				memcpy(text, beginning[b], before);
				for (uint32_t k = 0; k < len; k++)
				{
					text[before + k] = alphabet[rest % letters];
					rest /= letters;
				}
				/* one cut at each place, the end included */
				for (size_t at = 0; at <= n; at++)
				{
					EngineCase	c;

					init_case(&c, d);
					c.seed = v;
					c.chunk = chunk[(v + at) % 4];
					c.simd = c.chunk == 0 ? level[v % levels] : 0;
					c.max_records = batch[(v + at) % 3];
					c.nfields = (v + at) % 7 == 6 ? 0 : 1 + (v + at) % 2;
					run(&c, text, n, &at, 1);
				}
			}
		}
}

/*
 * Whatever may happen, at every place around the edges of 64-byte blocks, at
 * every SIMD level: behind records in order, so that the structure kernel is
 * at work there.
 */
static void
test_edges(uint32_t step)
{
	/* E is a line end, D the delimiter, Q the quote, X the escape */
	static const char *const event[] = {
		"E", "EE", "\\.E", "E\\.E", "E\\.", "E\\.x", "E\\E", "E\\.\n", "E\\.\r", "\n", "\r",
		"\r\r", "E\n", "E\r", "\rE", "Q", "QQ", "QQQ", "QQQQ", "QEQ", "QDQ", "Q\nQ", "Q\rQ",
		"QXQQ", "QXXQ", "QXxQ", "X", "D", "DD", "DDD", "EDE", "QE\\.EQ", "xQyQz",
		"Q01234567890123456789012345678901234567890123456789012345678901234567890123456789Q",
		"01234567890123456789012345678901234567890123456789012345678901234567890123456789"
	};
	uint32_t	level[CHECK_LEVELS];
	uint32_t	levels = check_simd_levels(level);

	for (uint32_t l = 0; l < levels; l++)
		for (uint32_t kind = PP_EOL_NL; kind <= PP_EOL_CRNL; kind++)
			for (uint32_t e = 0; e < sizeof(event) / sizeof(event[0]); e++)
			{
				static const uint32_t number[] = {0, 1, 4};

				unit_case("level %u, line end %s, event %s", level[l],
						  texts_eol_name((PpEol) kind),
						  unit_show((const uint8_t *) event[e], strlen(event[e])));
				for (uint32_t before = 58; before < 58 + 70; before += step)
					for (uint32_t i = 0; i < 3; i++)
						for (uint32_t at_start = 0; at_start < 2; at_start++)
						{
							PpDialect	d = texts_dialect[number[i]];
							const char *eol = kind == PP_EOL_NL ? "\n" : kind == PP_EOL_CR ? "\r" : "\r\n";
							uint8_t		text[500];
							size_t		len = 0;
							EngineCase	c;

							d.end_marker = true;
							init_case(&c, &d);
							c.simd = level[l];
							c.ncolumns = 1;
							c.column[0].type = PP_TEXT;
							c.column[0].field = 1;
							c.column[0].mod = -1;
							/* records of 5 bytes and the line end, the last one longer */
							while (len + 5 + strlen(eol) <= before)
							{
								memcpy(text + len, "ab_cd", 5);
								text[len + 2] = d.delimiter;
								len += 5;
								memcpy(text + len, eol, strlen(eol));
								len += strlen(eol);
							}
							if (at_start)
							{
								/* the event at the start of a record */
								memmove(text + before - len, text, len);
								memset(text, 'p', before - len);
								len = before;
							}
							else
								while (len < before)
									text[len++] = 'q';
							for (const char *p = event[e]; *p; p++)
								if (*p == 'E')
								{
									memcpy(text + len, eol, strlen(eol));
									len += strlen(eol);
								}
								else
									text[len++] = *p == 'D' ? d.delimiter : *p == 'Q' ? d.quote :
										*p == 'X' ? d.escape : (uint8_t) *p;
							/* plenty in order behind it */
							for (uint32_t k = 0; k < 24; k++)
							{
								memcpy(text + len, "_yz", 3);
								text[len] = d.delimiter;
								len += 3;
								memcpy(text + len, eol, strlen(eol));
								len += strlen(eol);
							}
							run(&c, text, len, NULL, 0);
						}
			}
}

/* A hostile text, cut behind every byte, and every chunk and batch size. */
static void
test_everywhere(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_EVERYWHERE, i);
		PpDialect	d = texts_dialect[unit_below(&r, unit_once_in(&r, 2) ? texts_nusual : texts_ndialects)];
		uint8_t		text[48];
		size_t		every[48];
		size_t		len;
		EngineCase	c;

		d.end_marker = unit_once_in(&r, 2);
		init_case(&c, &d);
		c.nfields = unit_below(&r, 4);
		c.seed = unit_next(&r);
		c.simd = check_random_level(&r);
		check_random_columns(&r, &c);
		if (unit_once_in(&r, 3))
			len = texts_soup(&r, &d, text, sizeof(text));
		else
			len = texts_records(&r, &d, (PpEol) (1 + unit_below(&r, 3)),
								c.nfields > 0 ? c.nfields : 1, 20, text, sizeof(text));
		for (size_t k = 0; k < len; k++)
			every[k] = k + 1;
		unit_case("everywhere %llu: %s", (unsigned long long) i, texts_dialect_name(&d));
		for (c.chunk = 0; c.chunk <= len + 1; c.chunk++)
		{
			if (!run(&c, text, len, NULL, 0))
				break;
			if (!run(&c, text, len, every, len))
				break;
		}
		c.chunk = unit_below(&r, 5);
		for (c.max_records = 1; c.max_records <= 12; c.max_records++)
			if (!run(&c, text, len, every, unit_once_in(&r, 2) ? len : 0))
				break;
	}
}

/* Random texts of some length with random cuts. */
static void
test_random(uint32_t test, uint64_t n, size_t room)
{
	uint8_t    *text = unit_malloc(room);
	uint64_t	good = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(test, i);
		bool		large = test == T_LONG || test == T_HUGE;
		PpDialect	d = texts_dialect[unit_below(&r, large || unit_once_in(&r, 2) ? texts_nusual : texts_ndialects)];
		static const uint32_t chunk[] = {0, 0, 1, 2, 3, 5, 7, 16, 31, 64, 100, 1000, 65536, 100000};
		size_t		cut[12];
		size_t		ncuts = unit_below(&r, 13);
		size_t		len;
		EngineCase	c;
		UnitHeap	heap;
		EngineResult result;

		d.end_marker = unit_once_in(&r, 2);
		init_case(&c, &d);
		c.nfields = large ? 1 + unit_below(&r, 5) : unit_below(&r, 6);
		check_random_columns(&r, &c);
		c.seed = unit_next(&r);
		c.simd = check_random_level(&r);
		c.chunk = chunk[unit_below(&r, sizeof(chunk) / sizeof(chunk[0]))];
		c.max_records = unit_once_in(&r, 3) ? 1 + unit_below(&r, 5) : 1 + unit_below(&r, 2000);
		/* each batch and each bad record looks at a whole slice of text */
		if (large)
			c.max_records += 5000;
		if (test == T_HUGE)
			c.chunk = 0;
		if (test == T_SOUP)
			len = texts_soup(&r, &d, text, room);
		else
			len = texts_records(&r, &d, (PpEol) (1 + unit_below(&r, 3)),
								c.nfields > 0 ? c.nfields : 1,
								unit_once_in(&r, 2) ? 0 : large ? 100000 : 200, text, room);
		for (size_t k = 0; k < ncuts; k++)
		{
			size_t		from = k > 0 ? cut[k - 1] : 0;

			cut[k] = from + unit_below(&r, (uint32_t) (len - from + 1));
		}

		unit_case("%s %llu: %s", test == T_SOUP ? "soup" : test == T_LONG ? "long" : test == T_HUGE ? "huge" : "records",
				  (unsigned long long) i, texts_dialect_name(&d));
		memset(&heap, 0, sizeof(heap));
		check_backend(&c, text, len, cut, ncuts, &heap, &result);
		EXPECT(result.verdict == ENGINE_SAME, "%s, %u fields, chunk %u, level %u, batches of %u: %s",
			   unit_show(text, len), c.nfields, c.chunk, c.simd, c.max_records, result.why);
		good += result.errors == 0 && result.records > 1;
	}
	if (test != T_SOUP)
	{
		unit_case("a fair part of these texts is in order");
		EXPECT(good * 5 >= n || n < 500, "%llu of %llu", (unsigned long long) good,
			   (unsigned long long) n);
	}
	free(text);
}

/* The n-th allocation fails, for every n. */
static void
test_memory(uint64_t iterations)
{
	for (uint64_t i = 0; i < iterations; i++)
	{
		UnitRandom	r = unit_random(T_MEMORY, i);
		PpDialect	d = texts_dialect[unit_below(&r, texts_nusual)];
		uint8_t		text[3000];
		size_t		cut[3];
		size_t		len;
		EngineCase	c;
		UnitHeap	heap;
		EngineResult result;
		uint64_t	calls;

		init_case(&c, &d);
		c.nfields = 1 + unit_below(&r, 4);
		check_random_columns(&r, &c);
		c.seed = unit_next(&r);
		c.simd = check_random_level(&r);
		c.chunk = unit_once_in(&r, 2) ? 0 : 1 + unit_below(&r, 40);
		c.max_records = 1 + unit_below(&r, 100);
		len = texts_records(&r, &d, (PpEol) (1 + unit_below(&r, 3)), c.nfields, 0,
							text, sizeof(text));
		cut[0] = len / 3;
		cut[1] = len / 2;
		cut[2] = len / 2;

		unit_case("failing allocations %llu", (unsigned long long) i);
		memset(&heap, 0, sizeof(heap));
		check_backend(&c, text, len, cut, 3, &heap, &result);
		EXPECT(result.verdict == ENGINE_SAME, "%s", result.why);
		calls = heap.calls;
		EXPECT(calls > 0, "allocates nothing");
		for (uint64_t at = 1; at <= calls; at++)
			for (uint32_t on = 0; on < 2; on++)
			{
				memset(&heap, 0, sizeof(heap));
				heap.fail_at = at;
				heap.fail_on = on != 0;
				check_backend(&c, text, len, cut, 3, &heap, &result);
				/* it may do without, but must not go wrong */
				EXPECT(heap.failed && result.verdict != ENGINE_DIFFERS,
					   "allocation %llu of %llu%s: %s", (unsigned long long) at,
					   (unsigned long long) calls, on ? " and all behind" : "", result.why);
			}
	}
}

/* Facts that need no model. */
static void
test_known(void)
{
	static const char text[] = "1,a\n2,\"b\nb\"\n3\n4,\"\"\n";
	EngineCase	c;
	PpScanSpec	spec;
	UnitHeap	heap;
	PpBackendScan *scan;
	PpJob		job;
	const PpBatch *b = NULL;
	const char *message;
	uint8_t		buffer[sizeof(text) + PP_PAD];
	PpColumn	column[2];
	uint32_t	length;

	unit_case("known answers");
	init_case(&c, &texts_dialect[0]);
	memset(&heap, 0, sizeof(heap));
	memset(&spec, 0, sizeof(spec));
	memset(column, 0, sizeof(column));
	column[0].type = PP_INT4;
	column[0].mod = -1;
	column[1].type = PP_TEXT;
	column[1].field = 1;
	column[1].mod = -1;
	spec.struct_size = sizeof(spec);
	spec.dialect = c.dialect;
	pp_dialect_compile(&c.dialect, PP_EOL_NL, &spec.dfa);
	spec.nfields = 2;
	spec.ncolumns = 2;
	spec.column = column;
	spec.null_text = (const uint8_t *) "";
	spec.max_records = 10;
	spec.alloc = unit_heap_alloc(&heap);
	memset(buffer, 0, sizeof(buffer));
	memcpy(buffer, text, sizeof(text) - 1);

	EXPECT(pp_backend_scalar.struct_size == sizeof(PpBackend) &&
		   pp_backend_scalar.version == PP_BACKEND_VERSION, "version");
	scan = pp_backend_scalar.open(&spec);
	EXPECT(scan != NULL, "not opened");
	if (scan == NULL)
		return;
	job.text = buffer;
	job.begin = 0;
	job.len = sizeof(text) - 1;
	job.last = true;
	EXPECT(pp_backend_scalar.submit(scan, &job), "not submitted");
	while (pp_backend_scalar.poll(scan, &b, &message) == PP_POLL_PENDING)
		;
	EXPECT(b != NULL && b->nrecords == 2, "two records in front of the short one");
	if (b != NULL && b->nrecords == 2)
	{
		EXPECT(b->stop == PP_STOP_FIELDS && b->next == 12 && b->bad_end == 13 &&
			   b->bad_next == 14, "stop %d, next %u, bad %u, %u", (int) b->stop, b->next,
			   b->bad_end, b->bad_next);
		EXPECT(b->column[0].value[0] == 1 && b->column[0].value[1] == 2, "integers");
		memcpy(&length, (const void *) (uintptr_t) b->column[1].value[1], 4);
		EXPECT(length == (4 + 3) << 2 &&
			   memcmp((const char *) (uintptr_t) b->column[1].value[1] + 4, "b\nb", 3) == 0,
			   "text");
	}
	pp_backend_scalar.release(scan);

	b = NULL;
	job.begin = 14;
	EXPECT(pp_backend_scalar.submit(scan, &job), "not submitted");
	while (pp_backend_scalar.poll(scan, &b, &message) == PP_POLL_PENDING)
		;
	EXPECT(b != NULL && b->nrecords == 1 && b->stop == PP_STOP_END &&
		   b->column[1].state[0] == PP_VALUE, "a quoted empty string is no NULL");
	pp_backend_scalar.release(scan);
	pp_backend_scalar.close(scan);
	EXPECT(heap.live_blocks == 0, "%zu blocks left", heap.live_blocks);
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "scalar");
	test_known();
	for (uint32_t i = 0; i < 4; i++)
	{
		/* usual, escape of its own, quote is '\', escape is the delimiter */
		static const uint32_t number[] = {0, 1, 6, 9};
		PpDialect	d = texts_dialect[number[i]];

		d.end_marker = true;
		test_exhaustive(&d, unit_iterations(100) >= 100 ? 4 : 3);
		d.end_marker = false;
		test_exhaustive(&d, unit_iterations(100) >= 100 ? 5 : 3);
	}
	test_edges(unit_iterations(100) >= 25 ? 1 : 3);
	test_everywhere(unit_iterations(2000));
	test_random(T_SOUP, unit_iterations(60000), 300);
	test_random(T_RECORDS, unit_iterations(15000), 2000);
	test_random(T_LONG, unit_iterations(100), 200 * 1024);
	test_random(T_HUGE, unit_iterations(12), 3 * 1024 * 1024);
	test_memory(unit_iterations(60));
	return unit_end();
}
