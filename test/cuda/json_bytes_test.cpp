/*
 * test/cuda/json_bytes_test.cpp
 *	  Bytes that the kernels of JSON move to and from device memory, a byte of input,
 *	  held against what they are said to take at most.  Counted under the host SIMT
 *	  layer, printed as tables.
 *
 * For builds that count (MODE count of test/simt).  A byte counts each time that a
 * thread asks for it; caches are not modelled.
 */
#include <cstdio>
#include <cstring>
#include <string>

extern "C"
{
#include "../unit/unit.h"
}
#include "../../cuda/json_device.h"
#include "../../cuda/library.h"
#include "../../src/parse/convert.h"
#include "control.h"

namespace
{

enum
{
	T_EVENTS = 71
};

constexpr uint32_t RECORDS = 4000;

const PpCudaLibrary *library;

/* Bytes of the columns: values, states, and where values by reference are. */
double
columns_bytes(const PpBatch *b, const PpColumn *column, uint32_t ncolumns)
{
	double		n = 9.0 * b->nrecords * ncolumns;

	for (uint32_t c = 0; c < ncolumns; c++)
		for (uint32_t r = 0; pp_type_by_reference(column[c].type) && r < b->nrecords; r++)
			if (b->column[c].state[r] == PP_VALUE)
			{
				uint32_t	len;

				(void) pp_varlena(b->column[c].value[r], &len);
				n += (len + 4 + 7) / 8 * 8;
			}
	return n;
}

/* Events, as lines or as an array: some values each, a nested object, a list. */
struct Text
{
	std::string text;
	uint64_t	value_bytes[5];	/* of the columns' values, as they stand */
};

Text
make_events(uint32_t nrecords, bool documents)
{
	static const char *const kind[] = {"click", "view", "purchase", "login", "search \\u2192"};
	UnitRandom	r = unit_random(T_EVENTS, nrecords);
	Text		out = {documents ? "[" : "", {}};

	for (uint32_t i = 0; i < nrecords; i++)
	{
		const std::string value[] = {std::to_string(i), std::to_string(unit_below(&r, 900)) + "." + std::to_string(unit_below(&r, 1000)),
			std::to_string(unit_below(&r, 90)) + "." + std::to_string(100000 + unit_below(&r, 900000)),
			unit_once_in(&r, 9) ? "false" : "true", std::string("\"") + kind[unit_below(&r, 5)] + "\""};
		char		record[400];

		for (uint32_t c = 0; c < 5; c++)
			out.value_bytes[c] += value[c].size();
		snprintf(record, sizeof(record), "%s{\"id\":%s,\"ts\":\"2025-03-%02uT%02u:12:56.123Z\",\"user\":\"u%06u\","
				 "\"kind\":%s,\"value\":%s,\"ok\":%s,\"geo\":{\"lat\":%s,\"lon\":-%u.5},\"tags\":[%s]}%s",
				 documents && i > 0 ? "," : "", value[0].c_str(), 1 + unit_below(&r, 28), unit_below(&r, 24),
				 unit_below(&r, 500000), value[4].c_str(), value[1].c_str(), value[3].c_str(), value[2].c_str(),
				 unit_below(&r, 180), unit_once_in(&r, 2) ? "\"web\",\"eu\"" : "", documents ? "" : "\n");
		out.text += record;
	}
	out.text += documents ? "]" : "";
	return out;
}

/* Columns of events by their paths. */
struct Events
{
	PpColumn	column[5];
	PpJsonColumn json[5];
	PpJsonStep	step[6];
};

void
make_columns(Events *e, uint32_t ncolumns)
{
	static const char *const key[] = {"id", "value", "geo", "lat", "ok", "kind"};
	static const PpType type[] = {PP_INT8, PP_FLOAT8, PP_FLOAT8, PP_BOOL, PP_TEXT};

	memset(e, 0, sizeof(*e));
	for (uint32_t i = 0; i < 6; i++)
		e->step[i] = {reinterpret_cast<const uint8_t *>(key[i]), (uint32_t) strlen(key[i]), 0};
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		e->column[c].type = type[c];
		e->column[c].mod = -1;
		e->json[c].nsteps = c == 2 ? 2 : 1;
		e->json[c].step = &e->step[c < 3 ? c : c + 1];
	}
}

/*
 * So many columns: a byte of input is loaded once, and the columns are stored.
 * Beside that, there are at most
 *
 *		1/20			records that begin in front of their tile, what tiles tell
 *						each other, nodes and keys
 *		12 a record		where its text ends, which is stored, and loaded for it and
 *						for the one behind it
 *		16 a value		where it stands, which is stored and loaded
 *		2 a byte of values	which conversions look at up to twice
 *
 * for values are converted by a kernel of their own, when filters have left the
 * others out.  Documents take a hundredth more: strings and depth are found in the
 * same pass, and told from tile to tile.
 */
void
test_json(uint32_t ncolumns, bool documents)
{
	const Text	events_text = make_events(RECORDS, documents);
	const std::string &text = events_text.text;
	const std::string padded = text + std::string(PP_PAD, '0');
	const PpBackend *backend = documents ? library->json : library->ndjson;
	UnitHeap	heap = {};
	PpJsonScanSpec spec;
	Events		events;
	PpBackendScan *scan;
	PpJob		job = {};
	const PpBatch *b = nullptr;
	const char *message = "";
	PpPoll		poll = PP_POLL_FAILED;
	const double n = (double) text.size();
	double		total = 0;
	double		most = documents ? 1.06 : 1.05;
	double		output;
	SimtKernelCount count;

	unit_case("bytes moved of JSON, %u columns, %s", ncolumns, documents ? "documents" : "lines");
	make_columns(&events, ncolumns);
	memset(&spec, 0, sizeof(spec));
	spec.scan.struct_size = sizeof(spec);
	spec.scan.ncolumns = ncolumns;
	spec.scan.column = events.column;
	spec.scan.env.charset = PP_CHARSET_UTF8;
	spec.scan.unlisted = ncolumns == 0;
	spec.scan.max_records = PP_MAX_RECORD;
	spec.scan.alloc = unit_heap_alloc(&heap);
	spec.column = events.json;
	spec.max_depth = 60;
	spec.host = documents ? &pp_backend_json : &pp_backend_ndjson;
	spec.host_enter = pp_json_enter;
	job.text = reinterpret_cast<const uint8_t *>(padded.data());
	job.len = (uint32_t) text.size();
	job.last = true;
	scan = backend->open(&spec.scan);
	EXPECT(scan != nullptr, "%s", library->error());
	if (scan == nullptr)
		return;
	simt_reset_counters();
	if (backend->submit(scan, &job))
		while ((poll = backend->poll(scan, &b, &message)) == PP_POLL_PENDING)
			;
	EXPECT(poll == PP_POLL_DONE, "%s", library->error());
	if (poll == PP_POLL_DONE)
	{
		EXPECT(b->nrecords == RECORDS && b->ndeferred == 0, "%u records, %u deferred", b->nrecords, (unsigned) b->ndeferred);
		output = columns_bytes(b, events.column, ncolumns) / n;
		printf("\n| JSON, %u columns, %s: bytes a byte of input | loaded | stored |\n|---|--:|--:|\n", ncolumns,
			   documents ? "documents" : "lines");
		for (size_t i = 0; simt_kernel(i, &count); i++)
		{
			printf("| %s | %.3f | %.3f |\n", count.name, (double) count.bytes_loaded / n, (double) count.bytes_stored / n);
			total += (double) (count.bytes_loaded + count.bytes_stored) / n;
		}
		printf("| in total | %.3f | |\n| columns to the host | %.3f | |\n| besides: filled | %.3f | |\n", total, output,
			   (double) simt_copies().filled / n);
		most += output + RECORDS * (12 + 16.0 * ncolumns) / n;
		for (uint32_t c = 0; c < ncolumns; c++)
			most += 2.0 * (double) events_text.value_bytes[c] / n;
		printf("| at most | %.3f | |\n", most);
		EXPECT(total <= most, "%.3f bytes moved, but at most %.3f", total, most);
		EXPECT(total >= 1 + output, "%.3f bytes moved, %.3f of columns", total, output);
		backend->release(scan);
	}
	backend->close(scan);
	EXPECT(simt_reports() == 0, "%s", simt_last_report());
}

}								/* namespace */

int
main(int argc, char **argv)
{
	PpCudaConfig config = {sizeof(config), 0, UINT64_MAX};
	PpCudaDevice device;
	const char *message = nullptr;

	unit_begin(argc, argv, "json_bytes");
	simt_report_to_stderr(false);
	library = pp_cuda_library(PP_CUDA_VERSION);
	unit_case("this build counts");
	EXPECT(simt_counts_bytes(), "it does not");
	EXPECT(library->start(&config, &device, &message), "%s", message == nullptr ? "" : message);
	for (uint32_t i = 0; i < 6; i++)
		test_json(i % 3 == 0 ? 0 : i % 3 == 1 ? 3 : 5, i >= 3);
	library->stop();
	return unit_end();
}
