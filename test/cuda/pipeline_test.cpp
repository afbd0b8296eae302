/*
 * test/cuda/pipeline_test.cpp
 *	  The backends "cuda (paper)" and "cuda (fused)" under the host SIMT layer,
 *	  against the model of COPY: what every other backend has to pass, with all
 *	  ways of tagging and of states, sizes of chunks and tiles, levels of
 *	  collaboration and schedules; failing allocations, copies and launches.
 *
 * Launches are counted by stage: what was expected must have been done by the
 * kernels, and by nobody else.
 */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C"
{
#include "../unit/engine_check.h"
#include "../unit/texts.h"
}
#include "../../cuda/library.h"
#include "../../cuda/memory.h"
#include "../../src/parse/convert.h"
#include "control.h"

namespace
{

enum
{
	T_EVERYWHERE = 1,
	T_SOUP,
	T_RECORDS,
	T_LONG,
	T_STREAM,
	T_STREAM_LONG,
	T_LEVELS,
	T_WIDE,
	T_OPTIONS,
	T_FAILURES
};

const PpCudaLibrary *library;
const PpBackend *pipeline;		/* that is tested */
bool		fused;
PpCudaStats total;				/* of all scans that were closed */

/*
 * The backend, with its scans' statistics taken when they are closed.
 */

PpBackendScan *
counted_open(const PpScanSpec *spec)
{
	return pipeline->open(spec);
}

bool
counted_submit(PpBackendScan *scan, const PpJob *job)
{
	return pipeline->submit(scan, job);
}

PpPoll
counted_poll(PpBackendScan *scan, const PpBatch **batch, const char **message)
{
	return pipeline->poll(scan, batch, message);
}

void
counted_release(PpBackendScan *scan)
{
	pipeline->release(scan);
}

void
add(PpCudaStats *sum, const PpCudaStats *s)
{
	for (uint32_t i = 0; i < PP_STAGES; i++)
	{
		sum->launches[i] += s->launches[i];
		sum->seconds[i] += s->seconds[i];
	}
	for (uint32_t i = 0; i < 4; i++)
		sum->partitions_by_tagging[i] += s->partitions_by_tagging[i];
	for (uint32_t i = 0; i < 3; i++)
		sum->partitions_by_states[i] += s->partitions_by_states[i];
	sum->h2d_bytes += s->h2d_bytes;
	sum->d2h_bytes += s->d2h_bytes;
}

void
counted_close(PpBackendScan *scan)
{
	PpCudaStats s;

	library->stats(scan, &s);
	add(&total, &s);
	pipeline->close(scan);
	EXPECT(pp_memory_counts().used == 0 && pp_memory_counts().pinned_used == 0,
		   "%" PRIu64 " and %" PRIu64 " bytes in use behind close", pp_memory_counts().used,
		   pp_memory_counts().pinned_used);
}

const PpBackend backend = {
	sizeof(PpBackend),
	PP_BACKEND_VERSION,
	"counted",
	counted_open,
	counted_submit,
	counted_poll,
	counted_release,
	counted_close,
	nullptr
};

void
start(void)
{
	PpCudaConfig config = {sizeof(config), 0, UINT64_MAX};
	PpCudaDevice device;
	const char *message = nullptr;

	EXPECT(library->start(&config, &device, &message), "not started: %s", message);
}

/*
 * Options and the schedule of the kernels, from a case's number.  The way of
 * tagging chooses states and tiles, too, of the other pipeline.
 */
void
set_options(PpTagging tagging, uint32_t thread_bytes, uint32_t block_bytes)
{
	PpCudaOptions o = {sizeof(o), tagging, thread_bytes, block_bytes, 2048u * tagging, tagging % 3u};

	library->set_options(&o);
}

void
schedule(uint64_t i)
{
	SimtConfig	config = {};

	config.seed = (uint32_t) (i % 4 == 0 ? 0 : i);
	config.resident = (uint32_t) (i % 5);
	config.preempt = i % 3 == 0 ? 8000 : 0;
	simt_configure(&config);
}

void
random_options(UnitRandom *r)
{
	static const uint32_t level[][2] = {{0, 0}, {0, 0}, {1, 2}, {2, 4}, {3, 1000}, {1, 1000}};
	uint32_t	l = unit_below(r, sizeof(level) / sizeof(level[0]));

	set_options((PpTagging) unit_below(r, 4), level[l][0], level[l][1]);
	schedule(unit_below(r, 1000));
}

void
random_options_of(uint64_t i)
{
	UnitRandom	r = unit_random(T_OPTIONS, i);

	random_options(&r);
}

void
init_case(EngineCase *c, const PpDialect *d)
{
	memset(c, 0, sizeof(*c));
	c->dialect = *d;
	c->nfields = 2;
	c->max_records = 100;
	c->partition = 64;
	c->verify = PP_VERIFY_UTF8;
	c->backend = &backend;
	c->markers.null_text = reinterpret_cast<const uint8_t *>("");
}

bool
run(const EngineCase *c, const uint8_t *text, size_t len, const size_t *cut, size_t ncuts)
{
	UnitHeap	heap = {};
	EngineResult result;
	uint64_t	reports = simt_reports();

	check_backend(c, text, len, cut, ncuts, &heap, &result);
	EXPECT(result.verdict == ENGINE_SAME,
		   "%s, %u fields, chunk %u, batches of %u, %zu cuts (first at %zu): %s",
		   unit_show(text, len), c->nfields, c->chunk, c->max_records, ncuts,
		   ncuts > 0 ? cut[0] : len, result.why);
	EXPECT(simt_reports() == reports, "%s: %s", unit_show(text, len), simt_last_report());
	return result.verdict == ENGINE_SAME;
}

/*
 * All texts of up to max bytes over the bytes that mean something, behind a
 * beginning that fixes the kind of line end.
 */
void
test_exhaustive(const PpDialect *d, uint32_t max, uint32_t step)
{
	static const char *const beginning[] = {"", "a,\n", "a,\r", "a,\r\n"};
	static const uint32_t chunk[] = {0, 1, 2, 3};
	static const uint32_t batch[] = {1, 2, 100};
	uint8_t		alphabet[8];
	uint32_t	letters = 0;
	const uint8_t candidate[] = {d->quote, d->delimiter, '\n', '\r', d->escape, '\\', '.'};

	for (uint32_t i = 0; i < (d->end_marker ? 7u : 5u); i++)
		if (memchr(alphabet, candidate[i], letters) == nullptr)
			alphabet[letters++] = candidate[i];

	for (uint32_t b = 0; b < 4; b++)
		for (uint32_t len = 0; len <= max; len++)
		{
			uint64_t	count = 1;
			const size_t before = strlen(beginning[b]);

			for (uint32_t k = 0; k < len; k++)
				count *= letters;
			unit_case("%s: texts of %u bytes behind %s", texts_dialect_name(d), len,
					  unit_show(reinterpret_cast<const uint8_t *>(beginning[b]), before));
			for (uint64_t v = len == max ? b % step : 0; v < count; v += len == max ? step : 1)
			{
				uint8_t		text[16];
				const size_t n = before + len;
				const size_t at = v % (n + 1);
				uint64_t	rest = v;
				EngineCase	c;

				memcpy(text, beginning[b], before);
				for (uint32_t k = 0; k < len; k++)
				{
					text[before + k] = alphabet[rest % letters];
					rest /= letters;
				}
				set_options(PP_TAG_AUTO, 0, 0);
				schedule(v);
				init_case(&c, d);
				c.seed = v;
				c.chunk = chunk[(v + at) % 4];
				c.max_records = batch[(v / 3 + at) % 3];
				c.nfields = (v + at) % 7 == 6 ? 0 : 1 + (v + at) % 2;
				run(&c, text, n, &at, 1);
			}
		}
}

/* A hostile text, cut behind every byte, in chunks and batches of many sizes. */
void
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
		check_random_columns(&r, &c);
		if (unit_once_in(&r, 3))
			len = texts_soup(&r, &d, text, sizeof(text));
		else
			len = texts_records(&r, &d, (PpEol) (1 + unit_below(&r, 3)),
								c.nfields > 0 ? c.nfields : 1, 20, text, sizeof(text));
		for (size_t k = 0; k < len; k++)
			every[k] = k + 1;
		unit_case("everywhere %" PRIu64 ": %s", i, texts_dialect_name(&d));
		for (c.chunk = 0; c.chunk <= len + 1; c.chunk += 1 + unit_below(&r, 7))
		{
			random_options(&r);
			if (!run(&c, text, len, nullptr, 0))
				break;
		}
		c.chunk = unit_below(&r, 5);
		c.max_records = 1 + unit_below(&r, 8);
		run(&c, text, len, every, len);
	}
}

/* Markers, quoted and not, under all flags. */
void
test_markers(void)
{
	static const char text[] = "DEF,\"DEF\",NUL,\"NUL\",,\"\",\\N,\"\\N\",D\"E\"F,1\n";
	static const uint8_t marker[] = "NULDEF\\N";
	static const PpType type[] = {PP_TEXT, PP_INT4, PP_DEFER};
	const uint32_t nfields = 10;

	for (uint32_t i = 0; i < 8 * 3 * 3; i++)
	{
		const uint32_t flags = i % 8;
		const uint32_t null = i / 8 % 3;
		EngineCase	c;

		init_case(&c, &texts_dialect[0]);
		random_options_of(i);
		c.nfields = nfields;
		c.markers.null_text = null == 0 ? marker : marker + 6;
		c.markers.null_len = null == 0 ? 3 : null == 1 ? 2 : 0;
		c.markers.has_default = true;
		c.markers.default_text = marker + 3;
		c.markers.default_len = 3;
		unit_case("markers %u, type %d, flags %u", null, (int) type[i / 24], flags);
		for (uint32_t first = 0; first < nfields; first += CHECK_COLUMNS)
		{
			c.ncolumns = nfields - first < CHECK_COLUMNS ? nfields - first : CHECK_COLUMNS;
			for (uint32_t k = 0; k < c.ncolumns; k++)
			{
				c.column[k].type = type[i / 24];
				c.column[k].field = first + k;
				c.column[k].flags = flags;
				c.column[k].mod = -1;
			}
			run(&c, reinterpret_cast<const uint8_t *>(text), sizeof(text) - 1, nullptr, 0);
		}
	}
}

/* The byte that separates fields occurs in them. */
void
test_terminator(void)
{
	static const char text[] = "a\x1e,\x1e\n\"\x1e\"\"\",b\n,\x1e\x1e\nc,d\n";

	for (uint32_t tagging = PP_TAG_AUTO; tagging <= PP_TAG_VECTOR; tagging++)
	{
		const uint64_t before = total.partitions_by_tagging[PP_TAG_INLINE];
		EngineCase	c;

		unit_case("terminator, tagging %u", tagging);
		init_case(&c, &texts_dialect[0]);
		set_options((PpTagging) tagging, 0, 0);
		schedule(tagging);
		c.ncolumns = 2;
		for (uint32_t k = 0; k < 2; k++)
		{
			c.column[k].type = PP_TEXT;
			c.column[k].field = k;
			c.column[k].mod = -1;
		}
		run(&c, reinterpret_cast<const uint8_t *>(text), sizeof(text) - 1, nullptr, 0);
		EXPECT(total.partitions_by_tagging[PP_TAG_INLINE] == before, "separated by what occurs");
	}
}

/* Short texts that are padded to more than one thread writes. */
void
test_padded(void)
{
	const uint32_t n = 200;
	uint8_t		text[2 * n + PP_PAD] = {};
	PpColumn	column = {PP_BPCHAR, 0, 0, 300};
	PpScanSpec	spec = {};
	UnitHeap	heap = {};
	PpBackendScan *scan;
	PpJob		job = {text, 0, 2 * n, true, false};
	const PpBatch *b = nullptr;
	const char *message = nullptr;
	PpPoll		poll = PP_POLL_PENDING;
	uint32_t	wrong = 0;

	unit_case("padded");
	set_options(PP_TAG_AUTO, 0, 0);
	for (uint32_t i = 0; i < n; i++)
	{
		text[2 * i] = (uint8_t) ('a' + i % 26);
		text[2 * i + 1] = '\n';
	}
	spec.struct_size = sizeof(spec);
	spec.dialect = texts_dialect[0];
	pp_dialect_compile(&spec.dialect, PP_EOL_NL, &spec.dfa);
	spec.nfields = spec.ncolumns = 1;
	spec.column = &column;
	spec.null_text = text;
	spec.max_records = 1000;
	spec.alloc = unit_heap_alloc(&heap);
	scan = backend.open(&spec);
	EXPECT(scan != nullptr && backend.submit(scan, &job), "%s", library->error());
	if (scan == nullptr)
		return;
	while (poll == PP_POLL_PENDING)
		poll = backend.poll(scan, &b, &message);
	EXPECT(poll == PP_POLL_DONE && b->nrecords == n && b->ndeferred == 0, "%u records",
		   b == nullptr ? 0 : b->nrecords);
	for (uint32_t i = 0; b != nullptr && i < b->nrecords; i++)
	{
		uint32_t	len = 0;
		const uint8_t *p;

		if (b->column[0].state[i] != PP_VALUE)
		{
			wrong++;
			continue;
		}
		p = pp_varlena(b->column[0].value[i], &len);
		wrong += len != 300 || p[0] != 'a' + i % 26;
		for (uint32_t k = 1; k < len; k++)
			wrong += p[k] != ' ';
	}
	EXPECT(wrong == 0, "%u wrong", wrong);
	backend.close(scan);
}

/* What a '\r' that is only looked at means comes before an invalid byte behind it. */
void
test_peek(void)
{
	static const char *const text[] = {
		"a,b\r\nc,d\r\r\xff", "a,b\r\nc\r\r\xff\xff", "a,b\r\n\\.\r\r\xff", "a,b\n\\.\r\xff",
		"a,b\r\\.\r\xff", "a,b\r\nc,d\r\n\r\r\xff"
	};

	for (uint32_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		for (uint32_t partition = 1; partition < 20; partition++)
			for (uint32_t marker = 0; marker < 2; marker++)
			{
				EngineCase	c;
				UnitHeap	heap = {};
				EngineResult result;

				init_case(&c, &texts_dialect[0]);
				c.dialect.end_marker = marker != 0;
				c.partition = partition;
				random_options_of(partition);
				unit_case("looked at %u, partition %u%s", i, partition, marker ? ", end marker" : "");
				check_stream(&c, reinterpret_cast<const uint8_t *>(text[i]), strlen(text[i]), &heap, &result);
				EXPECT(result.verdict == ENGINE_SAME, "%s", result.why);
			}
}

/* Random texts of some length with random cuts. */
void
test_random(uint32_t test, uint64_t n, size_t room)
{
	uint8_t    *text = static_cast<uint8_t *>(unit_malloc(room));
	uint64_t	good = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		static const uint32_t chunk[] = {0, 0, 1, 2, 3, 5, 7, 16, 31, 64, 100, 1000, 65536};
		UnitRandom	r = unit_random(test, i);
		const bool	large = test == T_LONG;
		PpDialect	d = texts_dialect[unit_below(&r, large || unit_once_in(&r, 2) ? texts_nusual : texts_ndialects)];
		size_t		cut[12];
		const size_t ncuts = unit_below(&r, test == T_LONG ? 3 : 6);
		size_t		len;
		EngineCase	c;
		UnitHeap	heap = {};
		EngineResult result;

		d.end_marker = unit_once_in(&r, 2);
		init_case(&c, &d);
		c.nfields = large ? 1 + unit_below(&r, 5) : unit_below(&r, 6);
		check_random_columns(&r, &c);
		c.seed = unit_next(&r);
		c.chunk = chunk[unit_below(&r, sizeof(chunk) / sizeof(chunk[0]))];
		if (large && c.chunk > 0 && c.chunk < 16)
			c.chunk = 0;
		c.max_records = unit_once_in(&r, 3) ? 1 + unit_below(&r, 5) : 1 + unit_below(&r, 2000);
		if (large)
			c.max_records += 5000;
		if (test == T_SOUP)
			len = texts_soup(&r, &d, text, room);
		else
			len = texts_records(&r, &d, (PpEol) (1 + unit_below(&r, 3)),
								c.nfields > 0 ? c.nfields : 1,
								unit_once_in(&r, 2) ? 0 : large ? 20000 : 200, text, room);
		for (size_t k = 0; k < ncuts; k++)
		{
			size_t		from = k > 0 ? cut[k - 1] : 0;

			cut[k] = from + unit_below(&r, (uint32_t) (len - from + 1));
		}
		random_options(&r);
		unit_case("%s %" PRIu64 ": %s", test == T_SOUP ? "soup" : large ? "long" : "records",
				  i, texts_dialect_name(&d));
		check_backend(&c, text, len, cut, ncuts, &heap, &result);
		EXPECT(result.verdict == ENGINE_SAME, "%s, %u fields, chunk %u, batches of %u: %s",
			   unit_show(text, len), c.nfields, c.chunk, c.max_records, result.why);
		EXPECT(simt_reports() == 0, "%s", simt_last_report());
		simt_clear_reports();
		good += result.errors == 0 && result.records > 1;
	}
	if (test != T_SOUP)
	{
		unit_case("a fair part of these texts is in order");
		EXPECT(good * 5 >= n || n < 100, "%" PRIu64 " of %" PRIu64, good, n);
	}
	free(text);
}

/* Whole streams: partitions, headers, verification, line numbers. */
void
test_streams(uint32_t test, uint64_t n, size_t room)
{
	uint8_t    *text = static_cast<uint8_t *>(unit_malloc(room));

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(test, i);
		PpDialect	d = texts_dialect[unit_below(&r, unit_once_in(&r, 2) ? texts_nusual : texts_ndialects)];
		size_t		len;
		EngineCase	c;
		UnitHeap	heap = {};
		EngineResult result;

		d.end_marker = unit_once_in(&r, 2);
		init_case(&c, &d);
		c.header = unit_once_in(&r, 3);
		c.nfields = unit_once_in(&r, 12) ? 0 : 1 + unit_below(&r, 4);
		check_random_columns(&r, &c);
		c.max_records = unit_once_in(&r, 3) ? 1 + unit_below(&r, 4) : 1 + unit_below(&r, 500);
		c.verify = unit_once_in(&r, 2) ? PP_VERIFY_UTF8 : PP_VERIFY_NUL;
		c.feed = unit_once_in(&r, 2) ? 0 : unit_below(&r, FEED_MODES);
		c.seed = unit_next(&r);
		c.partition = test == T_STREAM ? 1 + unit_below(&r, (uint32_t) room) : 5000 + unit_below(&r, 20000);
		if (test == T_STREAM_LONG)
			c.max_records += 1000;
		len = texts_records(&r, &d, (PpEol) (1 + unit_below(&r, 3)),
							c.nfields > 0 ? c.nfields : 1,
							unit_once_in(&r, 3) ? 0 : test == T_STREAM ? 60 : 10000, text, room);
		if (unit_once_in(&r, 4))
			len = texts_spoil(&r, text, len, room);
		random_options(&r);
		unit_case("%s %" PRIu64 ": %s", test == T_STREAM ? "stream" : "long stream", i,
				  texts_dialect_name(&d));
		check_stream(&c, text, len, &heap, &result);
		EXPECT(result.verdict == ENGINE_SAME, "%s, %u fields, partition %zu, batches of %u: %s",
			   unit_show(text, len), c.nfields, c.partition, c.max_records, result.why);
		EXPECT(simt_reports() == 0, "%s", simt_last_report());
		simt_clear_reports();
	}
	free(text);
}

/*
 * Every type, at every level of collaboration, compared with the conversions
 * themselves, byte for byte.
 */

struct LevelText
{
	PpType		type;
	int32_t		mod;
	const char *text;
};

const LevelText level_text[] = {
	{PP_BOOL, -1, "true"}, {PP_BOOL, -1, "f"}, {PP_BOOL, -1, "maybe"},
	{PP_INT2, -1, "-32768"}, {PP_INT2, -1, "32768"}, {PP_INT4, -1, "2147483647"},
	{PP_INT4, -1, "  12 "}, {PP_INT8, -1, "-9223372036854775808"}, {PP_INT8, -1, ""},
	{PP_FLOAT4, -1, "3.4028235e38"}, {PP_FLOAT4, -1, "1e-45"},
	{PP_FLOAT8, -1, "0.1"}, {PP_FLOAT8, -1, "1.7976931348623157e308"}, {PP_FLOAT8, -1, "NaN"},
	{PP_NUMERIC, -1, "0"}, {PP_NUMERIC, -1, "-12345678901234567890.123456789"},
	{PP_NUMERIC, PP_NUMERIC_MOD(8, 2), "123456.785"}, {PP_NUMERIC, PP_NUMERIC_MOD(4, 2), "12345"},
	{PP_DATE, -1, "2024-02-29"}, {PP_DATE, -1, "2023-02-29"},
	{PP_TIME, -1, "23:59:59.999999"}, {PP_TIMESTAMP, -1, "2019-03-10 02:30:00"},
	{PP_TIMESTAMP, 3, "2019-03-10 02:30:00.1235"}, {PP_TIMESTAMPTZ, -1, "2019-03-10 12:00:00+02"},
	{PP_TIMESTAMPTZ, -1, "2019-03-10 12:00:00"},
	{PP_UUID, -1, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, {PP_UUID, -1, "a0eebc99"},
	{PP_TEXT, -1, "short"}, {PP_TEXT, -1, ""}, {PP_TEXT, -1, "\xc3\xa4\xc3\xb6 and more of it"},
	{PP_VARCHAR, 5, "\xc3\xa4\xc3\xb6\xc3\xbc""ab"}, {PP_VARCHAR, 5, "abcdef"}, {PP_VARCHAR, 40, "abcdef"},
	{PP_VARCHAR, -1, "abcdef"}, {PP_BPCHAR, 10, "\xc3\xa4""b"}, {PP_BPCHAR, 3, "abcd"},
	{PP_BPCHAR, 300, "wide"}, {PP_BPCHAR, -1, "as it is"},
	{PP_NAME, -1, "a_name"}, {PP_NAME, -1, "a123456789012345678901234567890123456789012345678901234567890123456789"},
	{PP_BYTEA, -1, "\\x00ffAB"}, {PP_BYTEA, -1, "\\x0"}, {PP_BYTEA, -1, "\\xzz"}, {PP_BYTEA, -1, "\\x"},
	{PP_BYTEA, -1, "\\x0123456789abcdef0123456789"}, {PP_BYTEA, -1, "plain"}, {PP_BYTEA, -1, "back\\slash"},
	{PP_DEFER, -1, "anything"}
};
constexpr uint32_t NLEVEL = sizeof(level_text) / sizeof(level_text[0]);

/* What the conversion makes of a text: the value or its bytes at copy. */
bool
level_expected(const PpColumn *column, const PpEnv *env, const uint8_t *s, uint32_t n,
			   uint64_t *copy, uint64_t *bytes)
{
	*bytes = 0;
	if (column->type == PP_DEFER)
		return false;
	if (!pp_type_by_reference(column->type))
		return pp_convert_value(column, env, s, n, copy);
	*bytes = pp_convert_reference(column, env, s, n, reinterpret_cast<uint8_t *>(copy));
	return *bytes != 0;
}

/* One record whose fields are these texts, some repeated to be long. */
void
test_level(uint32_t thread_bytes, uint32_t block_bytes, PpTagging tagging, PpCharset charset,
		   uint32_t repeat, uint64_t seed)
{
	static const PpZoneSpan zone = {INT64_MIN, INT64_MAX, 3600};
	const uint32_t records = 3;
	size_t		room = 0;
	uint8_t    *text;
	uint32_t	len = 0;
	PpColumn   *column = static_cast<PpColumn *>(unit_malloc(NLEVEL * sizeof(PpColumn)));
	uint32_t   *from = static_cast<uint32_t *>(unit_malloc(NLEVEL * sizeof(uint32_t)));
	uint32_t   *size = static_cast<uint32_t *>(unit_malloc(NLEVEL * sizeof(uint32_t)));
	PpScanSpec	spec = {};
	UnitHeap	heap = {};
	PpBackendScan *scan;
	PpJob		job = {};
	const PpBatch *b = nullptr;
	const char *message = nullptr;
	PpPoll		poll = PP_POLL_PENDING;
	uint64_t	deferred = 0;
	uint64_t   *copy;

	set_options(tagging, thread_bytes, block_bytes);
	schedule(seed);
	for (uint32_t i = 0; i < NLEVEL; i++)
		room += strlen(level_text[i].text) * repeat + 1;
	text = static_cast<uint8_t *>(unit_malloc(room * records + PP_PAD));
	for (uint32_t r = 0; r < records; r++)
		for (uint32_t i = 0; i < NLEVEL; i++)
		{
			const LevelText *t = &level_text[i];
			bool		is_long = t->type >= PP_TEXT && t->text[0] != '\\';

			from[i] = len;
			for (uint32_t k = 0; k < (is_long ? repeat : 1); k++)
			{
				memcpy(text + len, t->text, strlen(t->text));
				len += (uint32_t) strlen(t->text);
			}
			size[i] = len - from[i];
			text[len++] = i + 1 < NLEVEL ? ';' : '\n';
			column[i].type = t->type;
			column[i].field = i;
			column[i].flags = 0;
			column[i].mod = t->mod;
		}
	memset(text + len, ';', PP_PAD);

	spec.struct_size = sizeof(spec);
	spec.dialect.delimiter = ';';
	spec.dialect.quote = spec.dialect.escape = '"';
	pp_dialect_compile(&spec.dialect, PP_EOL_NL, &spec.dfa);
	spec.nfields = spec.ncolumns = NLEVEL;
	spec.column = column;
	spec.null_text = reinterpret_cast<const uint8_t *>("\\N");
	spec.null_len = 2;
	spec.env.charset = charset;
	spec.env.zone = &zone;
	spec.env.nzone = 1;
	spec.max_records = 10;
	spec.alloc = unit_heap_alloc(&heap);
	job.text = text;
	job.len = len;
	job.last = true;

	scan = backend.open(&spec);
	EXPECT(scan != nullptr, "not opened: %s", library->error());
	if (scan != nullptr)
	{
		EXPECT(backend.submit(scan, &job), "not submitted: %s", library->error());
		for (uint32_t i = 0; i < 1000000 && poll == PP_POLL_PENDING; i++)
			poll = backend.poll(scan, &b, &message);
		EXPECT(poll == PP_POLL_DONE, "not done: %s", message == nullptr ? "no progress" : message);
	}
	copy = static_cast<uint64_t *>(unit_malloc(room * 4 + 100000));
	for (uint32_t i = 0; poll == PP_POLL_DONE && i < NLEVEL * records; i++)
	{
		const uint32_t c = i % NLEVEL;
		const uint32_t r = i / NLEVEL;
		const uint64_t value = b->column[c].value[r];
		uint64_t	want = 0,
					bytes = 0;
		bool		done = level_expected(&column[c], &spec.env, text + from[c], size[c], copy, &bytes);

		memcpy(&want, copy, 8);
		deferred += !done;
		EXPECT(b->column[c].state[r] == (done ? PP_VALUE : PP_DEFERRED),
			   "text %u of %u bytes, levels %u and %u: state %u", c, size[c], thread_bytes,
			   block_bytes, b->column[c].state[r]);
		if (!done || b->column[c].state[r] != PP_VALUE)
			continue;
		if (bytes == 0)
			EXPECT(value == want, "text %u: value %" PRIx64 ", but %" PRIx64 " expected", c, value, want);
		else
			EXPECT(memcmp(reinterpret_cast<const void *>(static_cast<uintptr_t>(value)), copy, bytes) == 0,
				   "text %u of %u bytes, levels %u and %u: %s, but %s expected", c, size[c],
				   thread_bytes, block_bytes,
				   unit_show(reinterpret_cast<const uint8_t *>(static_cast<uintptr_t>(value)), bytes),
				   unit_show(reinterpret_cast<const uint8_t *>(copy), bytes));
	}
	EXPECT(b == nullptr || b->ndeferred == deferred, "%" PRIu64 " handed over, %" PRIu64 " expected",
		   b == nullptr ? 0 : b->ndeferred, deferred);
	EXPECT(simt_reports() == 0, "%s", simt_last_report());
	simt_clear_reports();
	if (scan != nullptr)
	{
		if (poll == PP_POLL_DONE)
			backend.release(scan);
		backend.close(scan);
	}
	EXPECT(heap.live_blocks == 0, "%zu blocks of memory left behind", heap.live_blocks);
	free(copy);
	free(size);
	free(from);
	free(column);
	free(text);
}

void
test_levels(uint64_t n)
{
	static const uint32_t level[][2] = {{0, 0}, {1, 2}, {2, 10}, {8, 1000}, {64, 200}, {1, 1000}, {4, 4}};
	static const uint32_t repeat[] = {1, 1, 3, 40, 700};

	for (uint64_t i = 0; i < 3 + n; i++)
	{
		UnitRandom	r = unit_random(T_LEVELS, i);
		/* all three levels and ways of tagging in any case */
		const uint32_t *l = level[i < 3 ? 2 : unit_below(&r, sizeof(level) / sizeof(level[0]))];
		const uint32_t times = repeat[i < 3 ? 0 : unit_below(&r, sizeof(repeat) / sizeof(repeat[0]))];
		const PpTagging tagging = (PpTagging) (i < 3 ? PP_TAG_RECORD + i : unit_below(&r, 4));

		unit_case("levels %" PRIu64 ": %u and %u bytes, texts %u times, tagging %d", i, l[0], l[1],
				  times, (int) tagging);
		test_level(l[0], l[1], tagging, (PpCharset) unit_below(&r, 3), times, unit_next(&r));
	}
}

/* More columns than are partitioned at a time, filters on some of them. */
void
test_wide(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_WIDE, i);
		const uint32_t nfields = 100 + unit_below(&r, 300);
		const uint32_t records = 1 + unit_below(&r, 9);
		PpColumn   *column = static_cast<PpColumn *>(unit_malloc(nfields * sizeof(PpColumn)));
		uint8_t    *text = static_cast<uint8_t *>(unit_malloc(nfields * records * 12 + PP_PAD));
		PpFilter	filter[3] = {};
		PpScanSpec	spec = {};
		UnitHeap	heap = {};
		PpBackendScan *scan;
		PpJob		job = {};
		const PpBatch *b = nullptr;
		const char *message = nullptr;
		PpPoll		poll = PP_POLL_PENDING;
		uint32_t	at = 0;
		uint64_t	wrong = 0;

		unit_case("wide %" PRIu64 ": %u fields", i, nfields);
		random_options(&r);
		for (uint32_t k = 0; k < records; k++)
			for (uint32_t f = 0; f < nfields; f++)
			{
				job.len += (uint32_t) snprintf(reinterpret_cast<char *>(text + job.len), 12, "%u%c",
											   f * 7 + k * 1000, f + 1 < nfields ? ',' : '\n');
				column[f].type = f % 3 == 0 ? PP_TEXT : PP_INT4;
				column[f].field = f;
				column[f].flags = 0;
				column[f].mod = -1;
			}
		memset(text + job.len, 0, PP_PAD);
		/* every record but those of even number, by filters far apart */
		for (uint32_t f = 0; f < 3; f++)
		{
			filter[f].column = f == 0 ? nfields - 2 - (nfields - 2) % 3 + 1 : f == 1 ? 1 : 40;
			filter[f].op = PP_OP_NE;
			filter[f].compare = PP_COMPARE_INT64;
			filter[f].constant = filter[f].column * 7 + f * 2 * 1000;
		}
		spec.struct_size = sizeof(spec);
		spec.dialect.delimiter = ',';
		spec.dialect.quote = spec.dialect.escape = '"';
		pp_dialect_compile(&spec.dialect, PP_EOL_NL, &spec.dfa);
		spec.nfields = spec.ncolumns = nfields;
		spec.column = column;
		spec.nfilters = 3;
		spec.filter = filter;
		spec.null_text = text;
		spec.max_records = 100;
		spec.alloc = unit_heap_alloc(&heap);
		job.text = text;
		job.last = true;
		scan = backend.open(&spec);
		EXPECT(scan != nullptr && backend.submit(scan, &job), "%s", library->error());
		for (uint32_t k = 0; scan != nullptr && k < 1000000 && poll == PP_POLL_PENDING; k++)
			poll = backend.poll(scan, &b, &message);
		EXPECT(poll == PP_POLL_DONE, "not done: %s", message == nullptr ? "no progress" : message);
		EXPECT(b != nullptr && b->nrecords == records && b->stop == PP_STOP_END, "records");
		for (uint32_t k = 0; b != nullptr && k < b->nrecords; k++)
		{
			if (k == 0 || k == 2 || k == 4)
				continue;
			EXPECT(at < b->nselected && b->selected[at] == k, "record %u is not selected", k);
			if (at == b->nselected)
				break;
			const uint32_t place = pp_batch_at(b, at++);

			for (uint32_t f = 0; f < nfields; f++)
			{
				const uint64_t value = b->column[f].value[place];
				char		want[16];
				int			len = snprintf(want, sizeof(want), "%u", f * 7 + k * 1000);

				if (b->column[f].state[place] != PP_VALUE)
					wrong++;
				else if (f % 3 != 0)
					wrong += value != f * 7 + k * 1000;
				else
					wrong += memcmp(reinterpret_cast<const char *>(static_cast<uintptr_t>(value)) + 4,
									want, (size_t) len) != 0;
			}
		}
		EXPECT(b != nullptr && at == b->nselected, "records selected");
		EXPECT(wrong == 0, "%" PRIu64 " wrong values", wrong);
		if (scan != nullptr)
			backend.close(scan);
		EXPECT(heap.live_blocks == 0, "%zu blocks of memory left behind", heap.live_blocks);
		free(text);
		free(column);
	}
}

/* Nothing is left in the device layer's books. */
void
expect_nothing_left(const char *what, uint64_t at)
{
	SimtMemory	m;

	library->stop();
	m = simt_memory();
	EXPECT(m.device_bytes == 0 && m.pinned_bytes == 0 && m.streams == 0 && m.events == 0 && m.leaked_blocks == 0,
		   "%s %" PRIu64 ": %" PRIu64 " bytes on the device, %" PRIu64 " pinned, %" PRIu64
		   " streams, %" PRIu64 " events left, %" PRIu64 " lost", what, at, m.device_bytes, m.pinned_bytes,
		   m.streams, m.events, m.leaked_blocks);
	start();
}

/* The n-th allocation, copy, launch or kernel fails, for every n. */
void
test_failures(uint64_t n)
{
	static const char *const name[] = {"allocation", "copy", "launch", "kernel", "host allocation"};

	/* a device fails when it likes */
	for (uint64_t i = 0; i < n && simt_present(); i++)
	{
		UnitRandom	r = unit_random(T_FAILURES, i);
		PpDialect	d = texts_dialect[unit_below(&r, texts_nusual)];
		uint8_t		text[600];
		size_t		cut[2];
		size_t		len;
		EngineCase	c;
		const uint32_t levels = unit_below(&r, 2);

		init_case(&c, &d);
		c.nfields = 2 + unit_below(&r, 3);
		do
			check_random_columns(&r, &c);
		while (c.ncolumns < 2 || (c.nfilters > 0) != (i % 2 == 0));
		c.column[0].type = PP_TEXT;
		c.nfilters = i % 2 == 0 ? c.nfilters : 0;
		for (uint32_t f = 0; f < c.nfilters; f++)
			if (c.filter[f].column == 0)
				c.filter[f].op = PP_OP_NOT_NULL;
		c.seed = unit_next(&r);
		c.max_records = 1000;
		len = texts_records(&r, &d, (PpEol) (1 + unit_below(&r, 3)), c.nfields, 0, text, sizeof(text));
		cut[0] = len / 3;
		cut[1] = len / 2;

		for (uint32_t kind = 0; kind <= SIMT_CALLS; kind++)
			for (uint32_t lasting = 0; lasting < 2; lasting++)
			{
				uint64_t	at = 0;
				bool		again = true;

				unit_case("failing %s %" PRIu64 "%s", name[kind], i, lasting ? ", and all behind" : "");
				while (again && ++at < 2000)
				{
					UnitHeap	heap = {};
					EngineResult result;

					expect_nothing_left(name[kind], at);
					set_options((PpTagging) (at % 4), levels, levels);
					schedule(at);
					heap.failed = true; /* of whatever kind */
					if (kind == SIMT_CALLS)
					{
						heap.failed = false;
						heap.fail_at = at;
						heap.fail_on = lasting != 0;
					}
					else
						simt_inject((SimtCall) kind, at, lasting != 0);
					check_backend(&c, text, len, cut, 2, &heap, &result);
					if (kind < SIMT_CALLS)
						simt_inject((SimtCall) kind, 0, false);
					EXPECT(result.verdict != ENGINE_DIFFERS, "%s %" PRIu64 ": %s", name[kind], at, result.why);
					if (result.verdict == ENGINE_NO_MEMORY)
					{
						PpCudaFailure f = library->failure();

						EXPECT(f == (kind == SIMT_ALLOC || kind == SIMT_CALLS ? PP_CUDA_NO_MEMORY : PP_CUDA_BROKEN) &&
							   library->error()[0] != '\0',
							   "%s %" PRIu64 ": failure %d: %s", name[kind], at, (int) f, library->error());
					}
					again = kind == SIMT_CALLS ? heap.failed : result.verdict == ENGINE_NO_MEMORY;
					/* one allocation that fails may be made up for by what is kept */
					if (kind == SIMT_ALLOC && !lasting && result.verdict == ENGINE_SAME)
						again = at < 60;
					if (result.verdict == ENGINE_DIFFERS)
						again = false;
				}
				EXPECT(at > 3 && at < 2000, "stopped at %" PRIu64, at);
				simt_clear_reports();
			}
	}
	expect_nothing_left("the end", 0);
}

const char *const stage_name[PP_STAGES] = {
	"h2d", "vectors", "scan", "bitmaps", "tag", "partition", "index", "thread", "block",
	"device", "parse", "long", "columns", "filter", "d2h"
};

/* Everything, of one pipeline. */
void
test_pipeline(const PpBackend *tested)
{
	const PpDialect *d = texts_dialect;
	/* races show in few cases, of which each takes long where they are looked for */
	const bool	little = unit_iterations(100) < 5;

	pipeline = tested;
	fused = tested == library->fused;
	memset(&total, 0, sizeof(total));
	for (uint32_t i = 0; i < (little ? 1 : 4); i++)
	{
		/* usual, escape of its own, quote is '\', escape is the delimiter */
		static const uint32_t number[] = {0, 1, 6, 9};
		PpDialect	e = d[number[i]];
		const bool	full = unit_iterations(100) >= 100;

		e.end_marker = i % 2 == 0;
		test_exhaustive(&e, little ? 1 : full ? 3 : 2, full ? 1 : 3);
	}
	test_markers();
	if (!fused)
		test_terminator();
	test_padded();
	test_peek();
	test_everywhere(unit_iterations(150));
	test_random(T_SOUP, unit_iterations(1500), 300);
	test_random(T_RECORDS, unit_iterations(600), 2000);
	test_streams(T_STREAM, unit_iterations(400), 1500);
	if (!little)
	{
		test_random(T_LONG, unit_iterations(10), 100 * 1024);
		test_streams(T_STREAM_LONG, unit_iterations(8), 60 * 1024);
	}
	test_levels(unit_iterations(80));
	test_wide(unit_iterations(10));

	unit_case("all stages were done on the device");
	for (uint32_t i = 0; i < PP_STAGES; i++)
		if (i == PP_STAGE_H2D || i == PP_STAGE_FILTER || i == PP_STAGE_D2H)
			EXPECT(total.launches[i] > 0, "nothing launched for stage \"%s\"", stage_name[i]);
		else
			EXPECT((total.launches[i] > 0) == ((i >= PP_STAGE_PARSE) == fused),
				   "%" PRIu64 " launches for stage \"%s\"", total.launches[i], stage_name[i]);
	for (uint32_t i = PP_TAG_RECORD; i <= PP_TAG_VECTOR; i++)
		EXPECT((total.partitions_by_tagging[i] > 0) == !fused, "%" PRIu64 " partitions tagged in way %u",
			   total.partitions_by_tagging[i], i);
	for (uint32_t i = 0; i < 3; i++)
		EXPECT((total.partitions_by_states[i] > 0) == fused, "%" PRIu64 " partitions of states %u",
			   total.partitions_by_states[i], i);
	EXPECT(total.h2d_bytes > 0 && total.d2h_bytes > 0, "bytes");

	if (!little)
		test_failures(unit_iterations(2));
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "pipeline");
	simt_report_to_stderr(false);
	library = pp_cuda_library(PP_CUDA_VERSION);
	unit_case("start");
	EXPECT(library != nullptr && pp_cuda_library(PP_CUDA_VERSION + 1) == nullptr, "versions");
	start();

	test_pipeline(library->paper);
	test_pipeline(library->fused);
	return unit_end();
}
