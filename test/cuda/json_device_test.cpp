/*
 * test/cuda/json_device_test.cpp
 *	  JSON on the device under the host SIMT layer, against the CPU's backend of
 *	  the reference level: chosen and random records, good and broken, in jobs
 *	  cut anywhere, tiles of several sizes and schedules; the JSONTestSuite if it
 *	  is there; aggregates; what is copied to the device; and failing allocations,
 *	  copies and launches.
 *
 * Launches are counted: records that the device accepts must have been read by
 * its kernels.
 *
 * PP_JSON_SUITE: the folder of the JSONTestSuite with test_parsing in it, by
 * default shared/json_test_suite beside the source tree.
 */
#include <dirent.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C"
{
#include "../unit/json_run.h"
#include "../unit/json_text.h"
}
#include "../../cuda/json_device.h"
#include "../../cuda/memory.h"
#include "../../src/parse/convert.h"
#include "control.h"

namespace
{

enum
{
	T_CHOSEN = 41,
	T_RANDOM,
	T_LARGE,
	T_LONG,
	T_ALIKE,
	T_FAILURES,
	T_DOCUMENTS,
	T_AGGREGATES,
	T_EARLY
};

const PpCudaLibrary *library;
PpCudaStats total;				/* of all scans that were closed */

void
counted_close(PpBackendScan *scan)
{
	PpCudaStats stats;

	if (scan != nullptr)
	{
		library->stats(scan, &stats);
		for (int i = 0; i < PP_STAGES; i++)
			total.launches[i] += stats.launches[i];
		total.h2d_bytes += stats.h2d_bytes;
		total.d2h_bytes += stats.d2h_bytes;
		total.peak_device_bytes = stats.peak_device_bytes;
	}
	pp_backend_device_ndjson.close(scan);
}

/* The backends, with their scans' counters taken when they are closed. */
PpBackend	counted;
PpBackend	counted_documents;

void
start(uint64_t memory = UINT64_MAX)
{
	PpCudaConfig config = {sizeof(PpCudaConfig), 0, memory};
	PpCudaDevice device;
	const char *message;

	EXPECT(library->start(&config, &device, &message), "not started: %s", message);
}

void
schedule(uint32_t seed)
{
	SimtConfig	config = {};

	config.seed = seed;
	config.resident = 1 + seed % 7;
	simt_configure(&config);
	pp_json_stretch = 1 + seed % 90;
	pp_json_tile_bytes = PP_JSON_MIN_TILE * (seed % 3 == 0 ? 1 : 1 + seed % 8);
}

/* Runs a text on the device and compares with what the CPU says. */
void
compare(JsonTable t, const JsonCuts *cuts, const char *text, uint32_t len, const JsonLog *want)
{
	JsonLog		got = {NULL, 0, 0};
	UnitHeap	heap;
	bool		ran;

	memset(&heap, 0, sizeof(heap));
	t.backend = t.documents ? &counted_documents : &counted;
	t.lean = true;
	ran = json_run(&t, cuts, unit_heap_alloc(&heap), reinterpret_cast<const uint8_t *>(text), len, &got);
	EXPECT(ran, "failed: %s", library->error());
	if (ran)
	{
		size_t		at = 0;

		while (at < got.len && at < want->len && got.text[at] == want->text[at])
			at++;
		at = at > 300 ? at - 300 : 0;
		EXPECT(got.len == want->len && (want->len == 0 || memcmp(got.text, want->text, got.len) == 0),
			   "jobs of %u and %u, %u records, %s:\ngot:\n%.900s\nwanted:\n%.900s", cuts->first, cuts->step,
			   cuts->max_records, unit_show(reinterpret_cast<const uint8_t *>(text), len),
			   got.len ? got.text + at : "nothing\n", want->len ? want->text + at : "nothing\n");
	}
	EXPECT(heap.live_blocks == 0, "%zu blocks not released", heap.live_blocks);
	json_log_free(&got);
}

void
expected(JsonTable t, const char *text, uint32_t len, bool unlisted, JsonLog *log)
{
	const JsonCuts reference = {PP_SIMD_SCALAR, 0, 0, 1000000, unlisted};
	UnitHeap	heap;

	memset(&heap, 0, sizeof(heap));
	t.lean = true;
	EXPECT(json_run(&t, &reference, unit_heap_alloc(&heap), reinterpret_cast<const uint8_t *>(text), len, log),
		   "the CPU failed");
}

/* Whole and cut. */
void
everywhere(const JsonTable *t, const char *text, uint32_t len, UnitRandom *r)
{
	JsonLog		want = {NULL, 0, 0};
	JsonCuts	cuts = {PP_SIMD_SCALAR, 0, 0, 1000000, false};

	expected(*t, text, len, false, &want);
	schedule(unit_below(r, 1000));
	compare(*t, &cuts, text, len, &want);
	cuts.first = 1 + unit_below(r, len + 1);
	cuts.step = 1 + unit_below(r, len + 1);
	cuts.max_records = 1 + unit_below(r, 4);
	compare(*t, &cuts, text, len, &want);
	json_log_free(&want);
}

void
test_chosen(void)
{
	UnitRandom	r = unit_random(T_CHOSEN, 0);

	for (uint32_t i = 0; i < JSON_CHOSEN; i++)
		for (uint32_t n = 0; n < JSON_TABLES; n++)
		{
			JsonTable	t;

			if (unit_iterations(JSON_CHOSEN) < JSON_CHOSEN && unit_below(&r, JSON_CHOSEN) >= unit_iterations(JSON_CHOSEN))
				continue;
			json_table(&t, n);
			unit_case("chosen text %u, table %u", i, n);
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

/* Containers within each other, on both sides of the limits. */
void
test_depth(void)
{
	UnitRandom	r = unit_random(T_CHOSEN, 1);

	for (uint32_t depth = 62; depth <= 72; depth++)
		for (uint32_t kind = 0; kind < 3; kind++)
		{
			std::string text;
			JsonTable	t;

			json_table(&t, 1);
			if (kind == 1)
				t.max_depth = 64;
			for (uint32_t i = 0; i < depth; i++)
				text += kind == 0 || (kind == 2 && i % 3) ? "[" : "{\"a\":";
			text += "1";
			for (uint32_t i = depth; i-- > 0;)
				text += kind == 0 || (kind == 2 && i % 3) ? ']' : '}';
			unit_case("depth %u, kind %u", depth, kind);
			everywhere(&t, text.data(), (uint32_t) text.size(), &r);
			text[text.size() - 1 - depth / 2] ^= 0x20;
			everywhere(&t, text.data(), (uint32_t) text.size(), &r);
		}
}

void
test_random(void)
{
	JsonText	text = {NULL, 0, 0};

	for (uint64_t i = 0; i < unit_iterations(1500); i++)
	{
		UnitRandom	r = unit_random(T_RANDOM, i);
		uint32_t	table = unit_below(&r, JSON_TABLES);
		JsonTable	t;

		json_table(&t, table);
		json_random_text(&text, &r, 1 + unit_below(&r, 12), unit_once_in(&r, 2));
		unit_case("random records %llu, table %u", (unsigned long long) i, table);
		everywhere(&t, text.s, text.n, &r);
	}
	free(text.s);
}

/* Many tiles, records that span some, blank lines that do; records unlisted. */
void
test_large(void)
{
	JsonText	text = {NULL, 0, 0};

	for (uint64_t i = 0; i < unit_iterations(60); i++)
	{
		UnitRandom	r = unit_random(T_LARGE, i);
		uint32_t	table = unit_below(&r, JSON_TABLES);
		JsonTable	t;
		JsonLog		want = {NULL, 0, 0};
		JsonCuts	cuts = {PP_SIMD_SCALAR, 0, 0, 1000000, true};

		json_table(&t, table);
		json_random_text(&text, &r, 20 + unit_below(&r, 300), unit_once_in(&r, 2));
		for (uint32_t k = unit_below(&r, 3); k > 0; k--)
		{
			uint32_t	n = unit_below(&r, 6000);

			switch (unit_below(&r, 3))
			{
				case 0:
					json_text_add(&text, "\n{\"b\":\"");
					while (n-- > 0)
						json_text_add(&text, n % 97 ? "long " : "\\u00e9");
					json_text_add(&text, "\",\"a\":[1,2");
					for (n = unit_below(&r, 300); n > 0; n--)
						json_text_add(&text, ",{\"c\":[1.5]}");
					json_text_add(&text, "]}\n");
					break;
				case 1:
					json_text_add(&text, "\n");
					while (n-- > 0)
						json_text_add(&text, n % 7 ? " " : "\r");
					json_text_add(&text, "\n");
					break;
				default:
					json_text_add(&text, "\n{\"a\":1}");
					while (n-- > 0)
						json_text_add(&text, n % 997 ? " " : "\t");
					json_text_add(&text, "\n{\"a\":2}\n");
					break;
			}
		}
		unit_case("large text %llu, table %u", (unsigned long long) i, table);
		schedule((uint32_t) i);
		expected(t, text.s, text.n, true, &want);
		compare(t, &cuts, text.s, text.n, &want);
		cuts.first = 1 + unit_below(&r, text.n);
		cuts.step = 1 + unit_below(&r, 30000) + 5000;
		cuts.max_records = 1 + unit_below(&r, 500);
		compare(t, &cuts, text.s, text.n, &want);
		json_log_free(&want);
	}
	free(text.s);
}

/* What is longer than the device takes: strings, white space, blank lines. */
void
test_long(void)
{
	static const char fill[] = {'x', ' ', '\t', '1'};
	UnitRandom	r = unit_random(T_LONG, 0);

	for (uint32_t kind = 0; kind < 4; kind++)
		for (uint32_t n : {(uint32_t) PP_JSON_LONG - 20, (uint32_t) PP_JSON_LONG - 8, (uint32_t) PP_JSON_LONG, 3u * PP_JSON_LONG})
		{
			const std::string filling(n, fill[kind]);
			const std::string record = kind == 0 ? "{\"b\":\"" + filling + "\",\"a\":7}\n" :
				kind == 1 ? "{\"a\":7}" + filling + "\n" : kind == 2 ? filling + "\n" : "{\"b\":" + filling + "}\n";
			const std::string text = "{\"a\":5,\"b\":\"y\"}\n" + record + "{\"a\":6}\n\n" + filling + "\n" + record;
			JsonTable	t;

			json_table(&t, kind == 1 ? 4 : 0);
			unit_case("%u bytes, kind %u", n, kind);
			everywhere(&t, text.data(), (uint32_t) text.size(), &r);
		}
}

/*
 * Records of one kind, of which all that the device has a conversion for has to
 * be done by it: its launches are counted, and what it hands over.
 */
void
test_alike(void)
{
	static const PpJsonStep a = {reinterpret_cast<const uint8_t *>("a"), 1, 0};
	static const PpJsonStep b = {reinterpret_cast<const uint8_t *>("b"), 1, 0};
	UnitRandom	r = unit_random(T_ALIKE, 0);

	for (uint32_t type = PP_DEFER; type <= PP_BYTEA; type++)
	{
		std::string text;
		JsonTable	t;
		JsonLog		want = {NULL, 0, 0};
		JsonCuts	cuts = {PP_SIMD_SCALAR, 0, 0, 1000000, false};
		PpCudaStats before = total;

		memset(&t, 0, sizeof(t));
		t.ncolumns = 2;
		t.column[0].type = (PpType) type;
		t.column[0].mod = -1;
		if (type == PP_VARCHAR || type == PP_BPCHAR)
			t.column[0].mod = 12;
		t.column[1].type = PP_INT4;
		t.column[1].mod = -1;
		t.json[0].nsteps = t.json[1].nsteps = 1;
		t.json[0].step = &a;
		t.json[1].step = &b;
		t.max_depth = 10;
		for (uint32_t i = 0; i < 400; i++)
		{
			static const char *const value[] = {
				"true", "\"f\"", "12", "-3", "12.25", "1e3", "\"2024-02-29\"", "\"12:34:56\"", "null",
				"\"2024-02-29 12:34:56.5\"", "\"2024-02-29 12:34:56+02\"", "\"some text\"", "\"\\u00e9\\n\"",
				"\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"", "\"\\\\xdeadbeef\"", "\"\"", "[1, 2]", "{\"x\":null}",
				"\"a text of more than forty-eight bytes, which a warp copies together\"", "\"\xe2\x82\xac\xe2\x82\xac\""
			};

			text += "{\"b\": " + std::to_string(i % 10) + ", \"a\": " + value[unit_below(&r, 20)] + "}\r\n";
		}
		unit_case("type %u", type);
		schedule(type);
		expected(t, text.data(), (uint32_t) text.size(), false, &want);
		compare(t, &cuts, text.data(), (uint32_t) text.size(), &want);
		EXPECT(total.launches[PP_STAGE_PARSE] - before.launches[PP_STAGE_PARSE] == 3, "%llu launches of the pass",
			   (unsigned long long) (total.launches[PP_STAGE_PARSE] - before.launches[PP_STAGE_PARSE]));
		EXPECT(total.launches[PP_STAGE_COLUMNS] > before.launches[PP_STAGE_COLUMNS], "no conversion");
		json_log_free(&want);

		/* as elements of an array: another pass over what is behind it, if that */
		unit_case("type %u, a document", type);
		{
			std::string document = "[" + text + "]\n";
			JsonTable	d = t;

			for (size_t i = 0; i + 1 < document.size(); i++)
				if (document[i] == '\n' && document[i + 1] == '{')
					document[i] = ',';
			d.documents = true;
			before = total;
			expected(d, document.data(), (uint32_t) document.size(), false, &want);
			compare(d, &cuts, document.data(), (uint32_t) document.size(), &want);
			EXPECT(total.launches[PP_STAGE_PARSE] - before.launches[PP_STAGE_PARSE] <= 6, "%llu launches of the pass",
				   (unsigned long long) (total.launches[PP_STAGE_PARSE] - before.launches[PP_STAGE_PARSE]));
			EXPECT(total.launches[PP_STAGE_COLUMNS] - before.launches[PP_STAGE_COLUMNS] >= 3, "no conversion");
			json_log_free(&want);
		}

		/* the same with filters, on each of the columns and on both */
		for (uint32_t f = 1; f < 4; f++)
		{
			unit_case("type %u, filters %u", type, f);
			t.nfilters = 0;
			if (f & 1)
			{
				PpFilter   *filter = &t.filter[t.nfilters++];

				filter->column = 1;
				filter->op = PP_OP_LT;
				filter->compare = PP_COMPARE_INT64;
				filter->constant = f == 1 ? 3 : 7;
			}
			if (f & 2)
			{
				PpFilter   *filter = &t.filter[t.nfilters++];

				filter->column = 0;
				filter->op = type % 2 ? PP_OP_NOT_NULL : PP_OP_EQ;
				filter->compare = type == PP_TEXT || type == PP_VARCHAR ? PP_COMPARE_BYTES : PP_COMPARE_INT64;
				filter->constant = 12;
				if (filter->compare == PP_COMPARE_BYTES)
				{
					filter->bytes = reinterpret_cast<const uint8_t *>("some text");
					filter->nbytes = 9;
				}
				else if (pp_type_by_reference((PpType) type))
					filter->op = PP_OP_IS_NULL;
			}
			expected(t, text.data(), (uint32_t) text.size(), false, &want);
			compare(t, &cuts, text.data(), (uint32_t) text.size(), &want);
			cuts.max_records = 77;
			compare(t, &cuts, text.data(), (uint32_t) text.size(), &want);
			cuts.max_records = 1000000;
			json_log_free(&want);
		}
	}
}

/* Lines as documents: elements of arrays, outermost values, and what is neither. */
void
test_documents(void)
{
	JsonText	lines = {NULL, 0, 0};
	const uint64_t before = total.launches[PP_STAGE_COLUMNS];

	for (uint64_t i = 0; i < unit_iterations(1500); i++)
	{
		static const char *const separator[] = {",", ", ", ",\n", "\n,\r\n  "};
		static const char *const between[] = {"\n", "", " ", "\r\n\r\n"};
		static const char *const odd[] = {"[]", "1", "\"a\"", "null ", "]", ",", "[1,2]", "{", "\\", "[[]]", "[{}}"};
		UnitRandom	r = unit_random(T_DOCUMENTS, i);
		std::string text;
		uint32_t	table = unit_below(&r, JSON_TABLES);
		const bool	large = unit_once_in(&r, 20);
		bool		in_array = false;
		uint32_t	start = 0;
		JsonTable	t;

		json_table(&t, table);
		t.documents = true;
		json_random_text(&lines, &r, large ? 40 + unit_below(&r, 200) : 1 + unit_below(&r, 12), unit_once_in(&r, 3));
		if (unit_once_in(&r, 20))
			text += "\xef\xbb\xbf";
		for (uint32_t at = 0; at <= lines.n; at++)
		{
			if (at < lines.n && lines.s[at] != '\n')
				continue;
			if (at > start)
			{
				if (in_array)
					text += separator[unit_below(&r, 4)];
				else if (unit_below(&r, 3) != 0)
				{
					text += unit_once_in(&r, 2) ? "[" : " [\n";
					in_array = true;
				}
				text.append(lines.s + start, at - start);
				if (!in_array)
					text += between[unit_below(&r, 4)];
				else if (unit_once_in(&r, 15))
				{
					text += "\n]\n";
					in_array = false;
				}
				if (unit_once_in(&r, 60))
					text += odd[unit_below(&r, 11)];
			}
			start = at + 1;
		}
		if (in_array && !unit_once_in(&r, 10))
			text += unit_once_in(&r, 2) ? "]" : " ]\n";
		unit_case("documents %llu, table %u", (unsigned long long) i, table);
		everywhere(&t, text.data(), (uint32_t) text.size(), &r);
		if (large)
			everywhere(&t, text.data(), (uint32_t) text.size(), &r);
	}
	free(lines.s);
	unit_case("documents on the device");
	EXPECT(total.launches[PP_STAGE_COLUMNS] > before, "there were none");

	for (uint32_t i = 0; i < JSON_CHOSEN; i++)
	{
		UnitRandom	r = unit_random(T_DOCUMENTS, 1000000 + i);
		JsonTable	t;

		if (unit_iterations(JSON_CHOSEN) < JSON_CHOSEN && unit_below(&r, JSON_CHOSEN) >= unit_iterations(JSON_CHOSEN))
			continue;
		json_table(&t, i % JSON_TABLES);
		t.documents = true;
		unit_case("chosen document %u", i);
		everywhere(&t, json_chosen[i], (uint32_t) strlen(json_chosen[i]), &r);
		everywhere(&t, (std::string("[{\"a\":1},") + json_chosen[i] + ",{\"a\":2}]").c_str(),
				   (uint32_t) strlen(json_chosen[i]) + 19, &r);
	}
}

/* What a scan says of aggregates, all its batches taken together. */
struct Sums
{
	std::vector<uint64_t> count;
	std::vector<__int128> value;	/* sum, least or greatest */
	uint64_t	nselected;		/* or taken */
	uint64_t	ntaken;
	uint64_t	nbad;
	uint64_t	nbatches;
	uint64_t	nahead;			/* texts announced that were taken */
	uint64_t	launches;		/* of filters and aggregates */
	uint64_t	h2d_bytes;
};

void
take(Sums *sums, const std::vector<PpAggregate> &wanted, uint32_t i, __int128 v, uint64_t count)
{
	const PpAggregateOp op = wanted[i].op;
	const bool	first = sums->count[i] == 0;

	sums->count[i] += count;
	if (op == PP_AGGREGATE_SUM)
		sums->value[i] += v;
	else if ((op == PP_AGGREGATE_MIN && (first || v < sums->value[i])) ||
			 (op == PP_AGGREGATE_MAX && (first || v > sums->value[i])))
		sums->value[i] = v;
}

/*
 * Sums of the text: what batches have taken themselves, and what they leave,
 * which is only what is not known throughout.
 */
Sums
summed(const JsonTable &t, const PpBackend *backend, const std::vector<PpAggregate> &wanted,
	   const JsonCuts &cuts, const std::string &text, bool ahead = false)
{
	const PpBackend *host = t.documents ? &pp_backend_json : &pp_backend_ndjson;
	const PpCudaStats before = total;
	std::string memory = text + std::string(PP_PAD, '0');
	const uint32_t len = (uint32_t) text.size();
	Sums		sums = {};
	UnitHeap	heap;
	PpJsonScanSpec spec;
	PpBackendScan *scan;
	PpJob		job = {};
	bool		going = true;

	memset(&heap, 0, sizeof(heap));
	memset(&spec, 0, sizeof(spec));
	spec.scan.struct_size = sizeof(spec);
	spec.scan.ncolumns = t.ncolumns;
	spec.scan.column = t.column;
	spec.scan.nfilters = t.nfilters;
	spec.scan.filter = t.filter;
	spec.scan.naggregates = (uint32_t) wanted.size();
	spec.scan.aggregate = wanted.data();
	spec.scan.env.charset = PP_CHARSET_UTF8;
	spec.scan.unlisted = t.ncolumns == 0;
	spec.scan.max_records = cuts.max_records;
	spec.scan.simd = cuts.level;
	spec.scan.alloc = unit_heap_alloc(&heap);
	spec.column = t.json;
	spec.max_depth = t.max_depth;
	spec.any_value = t.any_value;
	spec.bom = true;
	spec.host = host;
	spec.host_enter = pp_json_enter;
	sums.count.resize(wanted.size());
	sums.value.resize(wanted.size());
	job.text = reinterpret_cast<const uint8_t *>(memory.data());
	job.len = cuts.first > 0 && cuts.first < len ? cuts.first : len;
	scan = backend->open(&spec.scan);
	while (scan != nullptr && going)
	{
		const PpBatch *b;
		const char *message;
		PpPoll		poll = PP_POLL_FAILED;

		job.last = job.len == len;
		if (backend->submit(scan, &job))
		{
			const uint32_t step = cuts.step > 0 && cuts.step < len - job.len ? cuts.step : len - job.len;

			if (ahead && !job.last)
				sums.nahead += backend->ahead(scan, job.text + job.len, step, job.len + step == len);
			while ((poll = backend->poll(scan, &b, &message)) == PP_POLL_PENDING)
				;
		}
		EXPECT(poll == PP_POLL_DONE, "failed: %s", library->error());
		if (poll != PP_POLL_DONE)
			break;
		sums.nbatches++;
		sums.ntaken += b->ntaken;
		sums.nselected += b->ntaken + b->nselected;
		for (uint32_t i = 0; i < wanted.size() && b->partial != nullptr; i++)
		{
			const PpPartial *p = &b->partial[i];

			if (p->count > 0)
				take(&sums, wanted, i, wanted[i].op == PP_AGGREGATE_SUM ?
					 (__int128) (((unsigned __int128) (uint64_t) p->high << 64) | p->low) : (int64_t) p->low, p->count);
		}
		for (uint32_t k = 0; k < b->nselected; k++)
		{
			const uint32_t r = b->selected != nullptr ? b->selected[k] : k;
			bool		known = true;

			for (uint32_t c = 0; c < b->ncolumns; c++)
				known = known && b->column[c].state[r] <= PP_NULL;
			EXPECT(!known || b->partial == nullptr, "record %u of a batch is known, but was not taken", r);
			for (uint32_t i = 0; i < wanted.size(); i++)
			{
				const PpColumnData *d = b->ncolumns > 0 ? &b->column[wanted[i].column] : nullptr;

				if (wanted[i].op == PP_AGGREGATE_COUNT_ALL)
					take(&sums, wanted, i, 0, 1);
				else if (d->state[r] == PP_VALUE)
					take(&sums, wanted, i, (int64_t) d->value[r], 1);
			}
		}
		job.begin = b->next;
		switch (b->stop)
		{
			case PP_STOP_MORE:
				going = !job.last;
				job.len = cuts.step > 0 && cuts.step < len - job.len ? job.len + cuts.step : len;
				break;
			case PP_STOP_FULL:
				break;
			case PP_STOP_SYNTAX:
				sums.nbad++;
				job.begin = b->bad_next;
				going = !t.documents;
				break;
			default:
				going = false;
				break;
		}
		backend->release(scan);
	}
	backend->close(scan);
	EXPECT(heap.live_blocks == 0, "%zu blocks not released", heap.live_blocks);
	sums.launches = total.launches[PP_STAGE_FILTER] - before.launches[PP_STAGE_FILTER];
	sums.h2d_bytes = total.h2d_bytes - before.h2d_bytes;
	return sums;
}

constexpr uint32_t SUMMED_COLUMNS = 6;

/* Integers of all sizes, dates and timestamps, and a text. */
void
summed_table(JsonTable *t)
{
	static const PpJsonStep step[SUMMED_COLUMNS] = {
		{reinterpret_cast<const uint8_t *>("i2"), 2, 0}, {reinterpret_cast<const uint8_t *>("i4"), 2, 0},
		{reinterpret_cast<const uint8_t *>("i8"), 2, 0}, {reinterpret_cast<const uint8_t *>("d"), 1, 0},
		{reinterpret_cast<const uint8_t *>("ts"), 2, 0}, {reinterpret_cast<const uint8_t *>("t"), 1, 0}
	};
	static const PpType type[SUMMED_COLUMNS] = {PP_INT2, PP_INT4, PP_INT8, PP_DATE, PP_TIMESTAMP, PP_TEXT};

	memset(t, 0, sizeof(*t));
	t->max_depth = 10;
	t->ncolumns = SUMMED_COLUMNS;
	for (uint32_t c = 0; c < SUMMED_COLUMNS; c++)
	{
		t->column[c].type = type[c];
		t->column[c].mod = -1;
		t->json[c].nsteps = 1;
		t->json[c].step = &step[c];
	}
}

/* Lines of such; some values no device knows, and some lines are none if `odd`. */
std::string
summed_lines(UnitRandom *r, uint32_t nlines, bool odd)
{
	std::string text;

	while (nlines-- > 0)
	{
		char		date[32];

		if (odd && unit_once_in(r, 40))
		{
			text += unit_once_in(r, 2) ? "{\"i2\": 1, \"t\": \"\\ud800\"}\n" : "broken\n";
			continue;
		}
		snprintf(date, sizeof(date), "%u-%02u-%02u", 1900 + unit_below(r, 200), 1 + unit_below(r, 12), 1 + unit_below(r, 28));
		text += "{\"i2\": " + (unit_once_in(r, 9) ? "null" : std::to_string((int) unit_below(r, 65536) - 32768));
		text += ", \"i4\": " + std::to_string((int32_t) (unit_below(r, 65536) << 16 | unit_below(r, 65536)));
		text += ", \"i8\": ";
		text += unit_once_in(r, 5) ? "9223372036854775807" : unit_once_in(r, 5) ? "-9223372036854775808" :
			std::to_string(unit_below(r, 1000000));
		if (!unit_once_in(r, 7))
			text += std::string(", \"d\": \"") + (unit_once_in(r, 30) ? "today" : date) + "\"";
		text += std::string(", \"ts\": \"") + date + " 12:34:" + (unit_once_in(r, 2) ? "56" : "07.25") + "\"";
		text += std::string(", \"t\": \"") + (unit_once_in(r, 3) ? "\\u00e9" : "some text") + "\"}\n";
	}
	return text;
}

/* The same as an array. */
std::string
as_document(std::string text)
{
	for (size_t i = 0; i + 1 < text.size(); i++)
		if (text[i] == '\n')
			text[i] = ',';
	return "[" + text + "]\n";
}

/* Aggregates of the device against those of what the CPU returns. */
void
test_aggregates(void)
{
	static const PpAggregateOp op[] = {PP_AGGREGATE_COUNT, PP_AGGREGATE_SUM, PP_AGGREGATE_MIN, PP_AGGREGATE_MAX};

	for (uint64_t k = 0; k < unit_iterations(120); k++)
	{
		UnitRandom	r = unit_random(T_AGGREGATES, k);
		std::string text = summed_lines(&r, 1 + unit_below(&r, k % 6 == 0 ? 700 : 60), k % 3 > 0);
		JsonTable	t;
		JsonCuts	cuts = {PP_SIMD_SCALAR, 0, 0, 1000000, false};
		std::vector<PpAggregate> wanted;

		summed_table(&t);
		t.documents = k % 4 == 3;
		if (t.documents)
			text = as_document(text);
		if (k % 10 == 9)
			t.ncolumns = 0;
		for (uint32_t i = 1 + unit_below(&r, 7); i > 0 && t.ncolumns > 0; i--)
		{
			PpAggregate g = {op[unit_below(&r, 4)], unit_below(&r, SUMMED_COLUMNS)};

			if (g.op == PP_AGGREGATE_SUM)
				g.column %= 3;
			else if (g.op != PP_AGGREGATE_COUNT)
				g.column %= SUMMED_COLUMNS - 1;
			wanted.push_back(g);
		}
		wanted.push_back({PP_AGGREGATE_COUNT_ALL, 0});
		if (k % 2 == 1 && t.ncolumns > 0)
		{
			t.filter[0].column = unit_below(&r, 4);
			t.filter[0].op = unit_once_in(&r, 8) ? PP_OP_IS_NULL : PP_OP_GT;
			t.filter[0].compare = PP_COMPARE_INT64;
			t.filter[0].constant = unit_once_in(&r, 5) ? INT64_MAX : 0;
			t.nfilters = 1;
		}
		unit_case("aggregates %llu", (unsigned long long) k);
		for (uint32_t cut = 0; cut < 2; cut++)
		{
			const Sums	want = summed(t, t.documents ? &pp_backend_json : &pp_backend_ndjson, wanted, cuts, text);
			Sums		got;

			schedule(unit_below(&r, 1000));
			got = summed(t, t.documents ? &counted_documents : &counted, wanted, cuts, text, k % 5 < 3);
			EXPECT(got.count == want.count && got.value == want.value && got.nselected == want.nselected &&
				   got.nbad == want.nbad, "%llu and %llu records pass, %llu and %llu are bad; %s",
				   (unsigned long long) got.nselected, (unsigned long long) want.nselected,
				   (unsigned long long) got.nbad, (unsigned long long) want.nbad,
				   got.count == want.count && got.value == want.value ? "sums agree" : "sums differ");
			/* what is good and known is the device's, if it is not beside what is not */
			if (k % 3 == 0 && t.ncolumns > 0 && cut == 0 && want.nselected > 200)
				EXPECT(got.launches > 0 && got.ntaken > want.nselected / 2, "%llu of %llu records taken",
					   (unsigned long long) got.ntaken, (unsigned long long) want.nselected);
			cuts.first = 1 + unit_below(&r, (uint32_t) text.size());
			cuts.step = 1 + unit_below(&r, (uint32_t) text.size());
			cuts.max_records = 1 + unit_below(&r, 50);
		}
	}
}

/*
 * Batches that end early: their text comes to the device once.  What is copied
 * besides, a scan without records does, too.
 */
void
test_early_stops(void)
{
	const std::vector<PpAggregate> none;

	for (uint64_t k = 0; k < unit_iterations(30); k++)
	{
		UnitRandom	r = unit_random(T_EARLY, k);
		const bool	odd = k % 3 == 2;
		const std::string lines = summed_lines(&r, 300 + unit_below(&r, 200), odd);
		JsonTable	t;
		JsonCuts	cuts = {PP_SIMD_SCALAR, 0, 0, 10 + unit_below(&r, 50), false};
		const PpBackend *backend;
		Sums		got;
		Sums		nothing;

		summed_table(&t);
		/* a broken record ends a document */
		t.documents = k % 2 == 1 && !odd;
		backend = t.documents ? &counted_documents : &counted;
		unit_case("early stops %llu", (unsigned long long) k);
		schedule(unit_below(&r, 1000));
		nothing = summed(t, backend, none, cuts, " ");
		got = summed(t, backend, none, cuts, t.documents ? as_document(lines) : lines);
		EXPECT(got.nselected > 200, "%llu records", (unsigned long long) got.nselected);
		EXPECT(got.nbatches > 5 && (got.nbad > 0) == odd, "%llu batches, %llu records bad",
			   (unsigned long long) got.nbatches, (unsigned long long) got.nbad);
		EXPECT(got.h2d_bytes > lines.size() / 2, "%llu bytes: the device had little to do",
			   (unsigned long long) got.h2d_bytes);
		EXPECT(got.h2d_bytes <= nothing.h2d_bytes + lines.size() + 4, "%llu bytes copied for a text of %zu, and %llu for none",
			   (unsigned long long) got.h2d_bytes, lines.size(), (unsigned long long) nothing.h2d_bytes);
	}
}

/* Text that is announced comes to the device once, too, and in time. */
void
test_ahead(void)
{
	const std::vector<PpAggregate> none;

	for (uint64_t k = 0; k < unit_iterations(40); k++)
	{
		UnitRandom	r = unit_random(T_EARLY, 1000 + k);
		std::string text = summed_lines(&r, 500 + unit_below(&r, 200), false);
		const uint32_t step = 3000 + unit_below(&r, 20000);
		JsonTable	t;
		JsonCuts	cuts = {PP_SIMD_SCALAR, step, step, 1000000, false};
		const PpBackend *backend;
		Sums		want;
		Sums		got;

		summed_table(&t);
		t.documents = k % 2 == 1;
		if (t.documents)
			text = as_document(text);
		backend = t.documents ? &counted_documents : &counted;
		unit_case("ahead %llu", (unsigned long long) k);
		schedule(unit_below(&r, 1000));
		want = summed(t, backend, none, cuts, text, false);
		got = summed(t, backend, none, cuts, text, true);
		EXPECT(got.nselected == want.nselected && got.nbatches == want.nbatches, "%llu records, but %llu expected",
			   (unsigned long long) got.nselected, (unsigned long long) want.nselected);
		EXPECT(got.nahead > 0, "nothing was announced");
		/* in front of a short last job, the rest of a record may come again */
		EXPECT(got.h2d_bytes <= want.h2d_bytes + 256, "%llu bytes copied, and %llu without",
			   (unsigned long long) got.h2d_bytes, (unsigned long long) want.h2d_bytes);
		if (k % 4 < 2)
			continue;
		cuts.max_records = 20 + unit_below(&r, 100);
		want = summed(t, backend, none, cuts, text, false);
		got = summed(t, backend, none, cuts, text, true);
		EXPECT(got.nselected == want.nselected, "%llu records, but %llu expected",
			   (unsigned long long) got.nselected, (unsigned long long) want.nselected);
	}
}

/* Memory that suffices without working ahead suffices. */
void
test_short_memory(void)
{
	const std::vector<PpAggregate> none;

	for (uint64_t k = 0; k < 4; k++)
	{
		UnitRandom	r = unit_random(T_EARLY, 2000 + k);
		const std::string text = summed_lines(&r, 3000, false);
		const uint32_t step = (uint32_t) text.size() / 4;
		JsonTable	t;
		const JsonCuts cuts = {PP_SIMD_SCALAR, step, step, k % 2 ? 500u : 1000000u, false};
		Sums		want;
		uint64_t	least = 0;

		summed_table(&t);
		t.ncolumns = 3;
		unit_case("memory %llu", (unsigned long long) k);
		schedule(0);
		library->stop();
		start();
		want = summed(t, &counted, none, cuts, text, true);
		least = total.peak_device_bytes;
		EXPECT(want.nselected == 3000 && want.nahead > 1, "%llu records", (unsigned long long) want.nselected);
		for (uint64_t part = 16; part > 12; part--)
		{
			Sums		got;

			library->stop();
			start(least * part / 16);
			got = summed(t, &counted, none, cuts, text, true);
			EXPECT(got.nselected == 3000, "with %llu of %llu bytes, %llu records", (unsigned long long) (least * part / 16),
				   (unsigned long long) least, (unsigned long long) got.nselected);
			EXPECT(total.peak_device_bytes <= least * part / 16, "%llu bytes in use", (unsigned long long) total.peak_device_bytes);
		}
	}
	library->stop();
	start();
}

/* Each allocation, copy, launch and kernel fails: nothing is left behind. */
void
test_failures(void)
{
	static const char *const name[] = {"allocation", "copy", "launch", "kernel", "host allocation"};
	JsonText	text = {NULL, 0, 0};
	UnitRandom	r = unit_random(T_FAILURES, 0);
	const uint64_t step = unit_iterations(100) >= 5 ? 1 : 3;

	/* a device fails when it likes */
	if (!simt_present())
		return;
	json_random_text(&text, &r, 60, false);
	json_text_add(&text, "\nx\n{\"a\":5,\"b\":\"\\u0061\"}\n");
	simt_report_to_stderr(false);
	for (uint32_t kind = 0; kind <= SIMT_CALLS; kind++)
	{
		uint64_t	at = 0;
		uint64_t	last = 0;
		bool		ran = false;

		unit_case("failing %s", name[kind]);
		while (at < 2000 && (!ran || at < last + 20))
		{
			UnitHeap	heap;
			SimtMemory	m;
			JsonLog		log = {NULL, 0, 0};
			JsonTable	t;
			const JsonCuts cuts = {PP_SIMD_SCALAR, 0, 0, 20, false};

			at += step;
			json_table(&t, 4);
			t.backend = &counted;
			t.lean = true;
			memset(&heap, 0, sizeof(heap));
			schedule((uint32_t) at);
			if (kind == SIMT_CALLS)
				heap.fail_at = at;
			else
				simt_inject((SimtCall) kind, at, kind == SIMT_ALLOC);
			ran = json_run(&t, &cuts, unit_heap_alloc(&heap), reinterpret_cast<const uint8_t *>(text.s), text.n, &log);
			if (kind < SIMT_CALLS)
				simt_inject((SimtCall) kind, 0, false);
			if (!ran)
			{
				last = at;
				EXPECT(library->failure() == (kind == SIMT_ALLOC || kind == SIMT_CALLS ? PP_CUDA_NO_MEMORY : PP_CUDA_BROKEN),
					   "%s %llu: failure %d: %s", name[kind], (unsigned long long) at, (int) library->failure(), library->error());
			}
			EXPECT(heap.live_blocks == 0, "%s %llu: %zu blocks not released", name[kind], (unsigned long long) at,
				   heap.live_blocks);
			json_log_free(&log);
			library->stop();
			m = simt_memory();
			EXPECT(m.device_bytes == 0 && m.pinned_bytes == 0 && m.streams == 0 && m.events == 0 && m.leaked_blocks == 0,
				   "%s %llu: something is left on the device", name[kind], (unsigned long long) at);
			start();
		}
		EXPECT(last > 0 && at < 2000, "stopped at %llu", (unsigned long long) at);
		simt_clear_reports();
	}
	free(text.s);
}

/* The JSONTestSuite, as lines. */
void
test_suite(void)
{
	const char *folder = getenv("PP_JSON_SUITE");
	const std::string path = std::string(folder ? folder : PP_JSON_SUITE_DEFAULT) + "/test_parsing";
	DIR		   *dir = opendir(path.c_str());
	UnitRandom	r = unit_random(T_RANDOM, 999999);
	uint32_t	files = 0;

	if (dir == nullptr)
	{
		printf("json_device_test: no JSONTestSuite at %s, skipped\n", path.c_str());
		return;
	}
	while (const dirent *entry = readdir(dir))
	{
		std::string text(1 << 20, '\0');
		FILE	   *f = strstr(entry->d_name, ".json") ? fopen((path + "/" + entry->d_name).c_str(), "rb") : nullptr;
		JsonTable	t;

		if (f == nullptr)
			continue;
		text.resize(fread(&text[0], 1, text.size(), f));
		fclose(f);
		if (text.size() >= 10000 && unit_iterations(100) < 100)
			continue;
		files++;
		json_table(&t, 1);
		t.max_depth = 6000;
		unit_case("JSONTestSuite %s", entry->d_name);
		everywhere(&t, text.data(), (uint32_t) text.size(), &r);
		t.documents = true;
		everywhere(&t, text.data(), (uint32_t) text.size(), &r);
	}
	closedir(dir);
	printf("json_device_test: JSONTestSuite: %u files\n", files);
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "json_device_test");
	library = pp_cuda_library(PP_CUDA_VERSION);
	counted = pp_backend_device_ndjson;
	counted.close = counted_close;
	counted_documents = pp_backend_device_json;
	counted_documents.close = counted_close;
	unit_case("start");
	start();
	test_chosen();
	test_depth();
	test_random();
	test_large();
	test_long();
	test_alike();
	test_documents();
	test_aggregates();
	test_early_stops();
	test_ahead();
	test_short_memory();
	test_suite();
	test_failures();
	library->stop();
	return unit_end();
}
