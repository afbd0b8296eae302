/*
 * test/cuda/bytes_test.cpp
 *	  Bytes that the pipelines' kernels move to and from device memory, a byte of
 *	  input: of the paper's by stage and way of tagging, held against the
 *	  publication's steps; of the fused one by kernel, held against one reading of
 *	  the text and one writing of the columns.  Counted under the host SIMT layer,
 *	  printed as tables.
 *
 * For builds that count (MODE count of test/simt).  A byte counts each time
 * that a thread asks for it; caches are not modelled.  Device-wide functions
 * count what their twins on the host move, which is what one pass over their
 * arrays takes (the sort reads its keys twice), not what CUB does.  Copies
 * between host and device, and fills, are not a kernel's.
 */
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

extern "C"
{
#include "../unit/unit.h"
}
#include "../../cuda/fused.h"
#include "../../cuda/join.h"
#include "../../cuda/library.h"
#include "../../src/parse/convert.h"
#include "control.h"

namespace
{

enum
{
	T_NUMBERS = 1,
	T_TEXTS,
	T_JOIN
};

const PpCudaLibrary *library;

void
start(void)
{
	PpCudaConfig config = {sizeof(config), 0, UINT64_MAX};
	PpCudaDevice device;
	const char *message = nullptr;

	EXPECT(library->start(&config, &device, &message), "%s", message == nullptr ? "" : message);
}

const PpTagging ways[] = {PP_TAG_RECORD, PP_TAG_VECTOR, PP_TAG_INLINE};
const char *const way_name[] = {"record tags", "vector-delimited", "inline-terminated"};

struct Data
{
	const char *name;
	std::string text;
	uint64_t	nvalues;
	std::vector<PpColumn> column;
};

/* Numbers of about 5.2 bytes, as in a table of taxi trips. */
Data
make_numbers(uint32_t ncolumns, uint32_t nrecords)
{
	static const PpType type[] = {PP_INT4, PP_FLOAT8, PP_INT8};
	UnitRandom	r = unit_random(T_NUMBERS, ncolumns);
	Data		d = {"numbers", "", (uint64_t) ncolumns * nrecords, {}};

	for (uint32_t i = 0; i < nrecords; i++)
		for (uint32_t c = 0; c < ncolumns; c++)
		{
			const uint32_t below = 1000u << (3 * unit_below(&r, 4));

			if (type[c % 3] == PP_FLOAT8)
				d.text += std::to_string(unit_below(&r, below / 50)) + "." +
					std::to_string(10 + unit_below(&r, 90));
			else
				d.text += std::to_string(unit_below(&r, 3 * below));
			d.text += c + 1 < ncolumns ? ',' : '\n';
		}
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		d.column.push_back(PpColumn());
		d.column[c].type = type[c % 3];
	}
	return d;
}

/* Quoted texts, some with quotes and line ends in them, beside short numbers. */
Data
make_texts(uint32_t nrecords)
{
	static const PpType type[] = {PP_INT4, PP_INT4, PP_TEXT, PP_TEXT};
	static const char *const word[] = {"service", "we", "waited", "\"\"great\"\"", "food,", "a", "table",
		"by", "the", "window\n", "again", "never"};
	UnitRandom	r = unit_random(T_TEXTS, nrecords);
	Data		d = {"texts", "", (uint64_t) 4 * nrecords, {}};

	for (uint32_t i = 0; i < nrecords; i++)
	{
		d.text += std::to_string(unit_below(&r, 100000)) + "," + std::to_string(1 + unit_below(&r, 5));
		for (uint32_t c = 2; c < 4; c++)
		{
			d.text += ",\"";
			for (uint32_t n = c == 2 ? 3 + unit_below(&r, 5) : 10 + unit_below(&r, 80); n > 0; n--)
				d.text += std::string(word[unit_below(&r, 12)]) + " ";
			d.text += '"';
		}
		d.text += '\n';
	}
	for (uint32_t c = 0; c < 4; c++)
	{
		d.column.push_back(PpColumn());
		d.column[c].type = type[c];
	}
	return d;
}

/* What one partition took. */
struct Run
{
	bool		done;
	std::vector<SimtKernelCount> kernels;
	double		bytes[PP_STAGES];	/* loaded and stored, a byte of input */
	double		total;
	double		output;			/* of columns, a byte of input */
	double		filled;
	uint64_t	launches;		/* of kernels and device-wide functions */
};

/* The stage of a kernel, by the name that it is launched with; -1: none. */
int
stage_of(const char *kernel)
{
	static const struct
	{
		const char *kernel;
		PpCudaStage stage;
	}			known[] = {
		{"kernel", PP_STAGE_VECTORS},
		{"pp_scan_vectors", PP_STAGE_SCAN},
		{"pp_scan_offsets", PP_STAGE_SCAN},
		{"bitmaps", PP_STAGE_BITMAPS},
		{"pp_paper_shape", PP_STAGE_BITMAPS},
		{"pp_paper_finish", PP_STAGE_BITMAPS},
		{"pp_paper_tag<true>", PP_STAGE_TAG},
		{"pp_paper_tag<false>", PP_STAGE_TAG},
		{"pp_sort_symbols", PP_STAGE_PARTITION},
		{"pp_sort_tagged", PP_STAGE_PARTITION},
		{"pp_paper_symbols", PP_STAGE_INDEX},
		{"pp_run_lengths", PP_STAGE_INDEX},
		{"pp_scan_sum32", PP_STAGE_INDEX},
		{"pp_paper_scatter", PP_STAGE_INDEX},
		{"pp_select_equal", PP_STAGE_INDEX},
		{"pp_select_flagged", PP_STAGE_INDEX},
		{"measure_kernel", PP_STAGE_CONVERT_THREAD},
		{"pp_scan_sum64", PP_STAGE_CONVERT_THREAD},
		{"convert_kernel", PP_STAGE_CONVERT_THREAD},
		{"block_text_kernel", PP_STAGE_CONVERT_BLOCK},
		{"block_number_kernel", PP_STAGE_CONVERT_BLOCK}
	};

	for (const auto &each : known)
		if (strcmp(each.kernel, kernel) == 0)
			return each.stage;
	return -1;
}

/* Bytes of the columns: values, states, and where values by reference are. */
double
columns_bytes(const PpBatch *b, const std::vector<PpColumn> &column)
{
	double		n = 9.0 * b->nrecords * (double) column.size();

	for (uint32_t c = 0; c < column.size(); c++)
		for (uint32_t r = 0; pp_type_by_reference(column[c].type) && r < b->nrecords; r++)
			if (b->column[c].state[r] == PP_VALUE)
			{
				uint32_t	len;

				(void) pp_varlena(b->column[c].value[r], &len);
				n += (len + 4 + 7) / 8 * 8;
			}
	return n;
}

/*
 * One partition, which is all of the text, parsed by a pipeline, that way.  The
 * fused one parses it twice, and the second time counts: it learns from a scan's
 * first partition how much room values take, which it may then pass over again.
 */
Run
run(const Data &d, const PpBackend *pipeline, PpTagging way, uint32_t states = 0)
{
	PpCudaOptions options = {sizeof(options), way, 0, 0, 0, states};
	std::vector<PpColumn> column = d.column;
	std::string text = d.text;
	UnitHeap	heap = {};
	PpScanSpec	spec = {};
	PpBackendScan *scan;
	PpJob		job = {};
	const PpBatch *b = nullptr;
	const char *message = "";
	PpPoll		poll = PP_POLL_FAILED;
	PpCudaStats stats;
	SimtKernelCount count;
	const double n = (double) text.size();
	const uint32_t partitions = pipeline == library->fused ? 2 : 1;
	Run			out = {};

	for (uint32_t c = 0; c < column.size(); c++)
	{
		column[c].field = c;
		column[c].mod = -1;
	}
	text.resize(text.size() + PP_PAD);
	spec.struct_size = sizeof(spec);
	spec.dialect.delimiter = ',';
	spec.dialect.quote = spec.dialect.escape = '"';
	pp_dialect_compile(&spec.dialect, PP_EOL_NL, &spec.dfa);
	spec.nfields = spec.ncolumns = (uint32_t) column.size();
	spec.column = column.data();
	spec.null_text = reinterpret_cast<const uint8_t *>("");
	spec.env.charset = PP_CHARSET_UTF8;
	spec.max_records = PP_MAX_RECORD;
	spec.alloc = unit_heap_alloc(&heap);
	job.text = reinterpret_cast<const uint8_t *>(text.data());
	job.len = (uint32_t) d.text.size();
	job.last = true;

	library->set_options(&options);
	scan = pipeline->open(&spec);
	EXPECT(scan != nullptr, "%s", library->error());
	if (scan == nullptr)
		return out;
	for (uint32_t i = 0; i < partitions; i++)
	{
		if (i > 0 && poll == PP_POLL_DONE)
			pipeline->release(scan);
		simt_reset_counters();
		poll = PP_POLL_FAILED;
		if (pipeline->submit(scan, &job))
			while ((poll = pipeline->poll(scan, &b, &message)) == PP_POLL_PENDING)
				;
	}
	EXPECT(poll == PP_POLL_DONE, "%s", library->error());
	if (poll == PP_POLL_DONE)
	{
		EXPECT(b->stop == PP_STOP_END && b->nrecords == d.nvalues / column.size() && b->ndeferred == 0,
			   "%u records, stop %d, %u deferred", b->nrecords, (int) b->stop, (unsigned) b->ndeferred);
		library->stats(scan, &stats);
		EXPECT(pipeline == library->fused ? stats.partitions_by_states[states] == partitions :
			   stats.partitions_by_tagging[way] == 1, "not parsed that way");
		for (size_t i = 0; simt_kernel(i, &count); i++)
		{
			const int	stage = stage_of(count.name);
			const double bytes = (double) (count.bytes_loaded + count.bytes_stored) / n;

			out.kernels.push_back(count);
			EXPECT(stage >= 0 || pipeline == library->fused, "a kernel of no stage: %s", count.name);
			EXPECT(bytes > 0 || pipeline == library->fused, "%s moves nothing", count.name);
			if (stage >= 0)
				out.bytes[stage] += bytes;
			out.total += bytes;
			out.launches += count.launches;
		}
		/* (there is room for more records than there are, which goes along) */
		out.output = pipeline == library->fused ? columns_bytes(b, column) / n :
			(double) simt_copies().to_host / n;
		out.filled = (double) simt_copies().filled / n;
		out.done = true;
		pipeline->release(scan);
	}
	pipeline->close(scan);
	EXPECT(simt_reports() == 0, "%s", simt_last_report());
	return out;
}

/*
 * The three ways over one text.  The model, a byte of input that has f bytes a
 * value, delimiter included: text read four times and more (vectors, bitmaps,
 * tags), vectors and offsets of chunks, symbols and keys written, sorted and
 * indexed: 29, 17 and 14 bytes, 32 / f of an index's entries and what else a
 * field has, and columns written.
 */
void
test_bytes(const Data &d)
{
	static const double symbols[] = {29, 17, 14};
	static const char *const stage[PP_STAGES] = {nullptr, "transition vectors", "scans of chunks",
		"bitmap indexes", "tags", "partition by column", "index", "conversion by thread",
		"conversion by block", nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
	const double f = (double) d.text.size() / (double) d.nvalues;
	Run			r[3];

	unit_case("bytes moved of %s", d.name);
	for (uint32_t k = 0; k < 3; k++)
		r[k] = run(d, library->paper, ways[k]);
	if (!r[0].done || !r[1].done || !r[2].done)
		return;

	printf("\n| %s: %zu bytes, %.1f a value | %s | %s | %s |\n|---|--:|--:|--:|\n", d.name, d.text.size(), f,
		   way_name[0], way_name[1], way_name[2]);
	for (uint32_t i = 0; i < PP_STAGES; i++)
		if (stage[i] != nullptr)
			printf("| %s | %.2f | %.2f | %.2f |\n", stage[i], r[0].bytes[i], r[1].bytes[i], r[2].bytes[i]);
	printf("| in total | %.2f | %.2f | %.2f |\n", r[0].total, r[1].total, r[2].total);
	printf("| as modelled | %.2f | %.2f | %.2f |\n", symbols[0] + 32 / f + r[0].output,
		   symbols[1] + 32 / f + r[1].output, symbols[2] + 32 / f + r[2].output);
	printf("| besides: filled | %.2f | %.2f | %.2f |\n", r[0].filled, r[1].filled, r[2].filled);
	printf("| columns to the host | %.2f | %.2f | %.2f |\n\n", r[0].output, r[1].output, r[2].output);

	for (uint32_t k = 0; k < 3; k++)
	{
		const double model = symbols[k] + 32 / f + r[k].output;

		EXPECT(r[k].total > model / 2 && r[k].total < model * 2, "%s: %.2f bytes, model %.2f",
			   way_name[k], r[k].total, model);
		/* the text is read, and a vector and an offset a chunk written */
		EXPECT(r[k].bytes[PP_STAGE_VECTORS] >= 1 && r[k].bytes[PP_STAGE_VECTORS] < 3, "vectors");
		EXPECT(r[k].bytes[PP_STAGE_SCAN] >= 32.0 / 31 && r[k].bytes[PP_STAGE_SCAN] < 1.5, "scans");
		/* what tags have no part in */
		for (uint32_t i = PP_STAGE_VECTORS; i <= PP_STAGE_BITMAPS; i++)
			EXPECT(r[k].bytes[i] == r[0].bytes[i], "stage %u differs", i);
	}
	EXPECT(r[0].total > r[1].total * 1.25, "record tags move %.2f bytes, vectors %.2f", r[0].total, r[1].total);
	/* the flag of a vector has its place in the key, and costs nothing */
	EXPECT(r[1].total >= r[2].total, "vectors move %.2f bytes, inline %.2f", r[1].total, r[2].total);
	/* a symbol and its key of one byte, or four bytes more */
	EXPECT(r[0].bytes[PP_STAGE_PARTITION] > r[1].bytes[PP_STAGE_PARTITION] * 2, "partition by column");
}

/* Launches of a partition do not grow with columns or records. */
void
test_launches(void)
{
	for (uint32_t k = 0; k < 3; k++)
	{
		uint64_t	launches = 0;

		unit_case("launches, %s", way_name[k]);
		for (uint32_t i = 0; i < 6; i++)
		{
			static const uint32_t ncolumns[] = {3, 17, 126, 3, 17, 126};
			static const uint32_t nrecords[] = {7, 7, 7, 1500, 900, 150};
			const Run	r = run(make_numbers(ncolumns[i], nrecords[i]), library->paper, ways[k]);

			EXPECT(r.launches > 0 && (i == 0 || r.launches == launches), "%" PRIu64 " for %u columns, %u records; %" PRIu64,
				   r.launches, ncolumns[i], nrecords[i], launches);
			launches = r.launches;
		}
		printf("%s: %" PRIu64 " launches a partition\n", way_name[k], launches);
	}
}

/*
 * The fused pipeline, in every way of states, with the tiles that it takes by
 * itself on a large device and on a small one: at most so many bytes beside those
 * of the columns.  One is the text's.  More are what lanes read of values that
 * start in front of their tile, and what a tile is told: 32 states and counts of
 * those before it, and the columns' types.
 */
void
test_fused(const Data &d)
{
	static const char *const name[] = {"parity", "8 states", "16 states"};
	static const struct
	{
		const char *name;
		uint64_t	shared;		/* bytes of a multiprocessor, 0: those of an H200 */
		uint32_t	tile;
		double		most;
	}			device[] = {{"large", 0, PP_FUSED_MAX_TILE, 1.05}, {"small", 65536, PP_FUSED_TILE, 1.09}};

	for (uint32_t k = 0; k < 6; k++)
	{
		const uint32_t states = k % 3;
		const uint32_t tile = device[k / 3].tile;
		const double most = device[k / 3].most;
		const double n = (double) d.text.size();
		uint64_t	tiles = 0;
		Run			r;

		unit_case("bytes moved of %s, fused, %s, %s device", d.name, name[states], device[k / 3].name);
		simt_set_shared(device[k / 3].shared);
		library->stop();
		start();
		r = run(d, library->fused, PP_TAG_AUTO, states);
		if (!r.done)
			continue;
		for (const SimtKernelCount &c : r.kernels)
			if (strcmp(c.name, "pass") == 0)
				tiles = c.threads / PP_FUSED_THREADS;
		EXPECT(tiles >= d.text.size() / tile && tiles <= d.text.size() / tile + 2, "%" PRIu64 " tiles", tiles);
		printf("\n| %s, %s, tiles of %u: bytes a byte of input | loaded | stored |\n|---|--:|--:|\n", d.name,
			   name[states], tile);
		for (const SimtKernelCount &c : r.kernels)
			printf("| %s | %.3f | %.3f |\n", c.name, (double) c.bytes_loaded / n, (double) c.bytes_stored / n);
		printf("| in total | %.3f | |\n| columns to the host | %.3f | |\n| besides: filled | %.3f | |\n",
			   r.total, r.output, r.filled);
		EXPECT(r.total <= most + r.output, "%.3f bytes moved, %.3f of columns", r.total, r.output);
		EXPECT(r.total >= 1 + r.output / 2, "%.3f bytes moved, %.3f of columns", r.total, r.output);
	}
}

/*
 * Rows of keys to numbers, and to a trie: bytes a row that the kernels of both
 * move, sorts and other device-wide functions left out, whose calls are counted.
 */
void
test_join(const char *name, bool close, double most_number, double most_trie, uint32_t most_sorts)
{
	const uint32_t n = 20000;
	UnitRandom	r = unit_random(T_JOIN, close);
	UnitHeap	heap = {};
	PpAlloc		alloc = unit_heap_alloc(&heap);
	std::vector<int64_t> pairs(2 * n);
	PpJoinRelation relation = {pairs.data(), n};
	PpJoinAtom	atom = {0, {0, 1}};
	PpJoinQuery query = {};
	const bool	used[PP_JOIN_MAX_RELATIONS] = {true};
	PpDeviceJoin *join = nullptr;
	SimtKernelCount count;

	for (int64_t &key : pairs)
		key = close ? (int64_t) unit_below(&r, n) : (int64_t) unit_next(&r);
	query.nvariables = 2;
	query.natoms = 1;
	query.atoms = &atom;
	query.nrelations = 1;
	query.relations = &relation;
	query.mode = PP_JOIN_COUNT;
	query.simd = PP_SIMD_LEVELS;
	unit_case("joins: %s", name);
	EXPECT(pp_device_join_open(&query, &alloc, SIZE_MAX, &join) == PP_JOIN_OK, "%s", library->error());
	for (uint32_t part = 0; part < 2; part++)
	{
		double		total = 0;
		PpJoinStatus status;

		simt_reset_counters();
		if (part == 0)
			status = pp_device_number(join, &query, used);
		else
		{
			join->plan.ntries = 1;
			join->plan.trie[0] = {0, PP_STAGE_BACKWARD};
			status = pp_device_trie(join, 0, false);
		}
		EXPECT(status == PP_JOIN_OK, "%s", library->error());
		printf("\n%s of a join, %s: bytes a row\n", part == 0 ? "numbers" : "a trie", name);
		for (size_t i = 0; simt_kernel(i, &count); i++)
		{
			const double bytes = (double) (count.bytes_loaded + count.bytes_stored) / n;

			if (strncmp(count.name, "pp_", 3) == 0)
				printf("  %-28s %8" PRIu64 " calls\n", count.name, count.launches);
			else
			{
				printf("  %-28s %8.2f\n", count.name, bytes);
				total += bytes;
			}
		}
		printf("  %-28s %8.2f\n", "together", total);
		EXPECT(total <= (part == 0 ? most_number : most_trie), "%s: %.2f bytes a row",
			   part == 0 ? "numbers" : "a trie", total);
		if (part == 0)
			EXPECT(simt_launches("pp_sort_keys64") <= most_sorts, "%" PRIu64 " sorts",
				   simt_launches("pp_sort_keys64"));
	}
	pp_device_join_free(join);
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "bytes");
	simt_report_to_stderr(false);
	library = pp_cuda_library(PP_CUDA_VERSION);
	unit_case("this build counts");
	EXPECT(simt_counts_bytes(), "it does not");
	start();
	test_bytes(make_numbers(17, 1500));
	test_bytes(make_texts(450));
	test_launches();
	/* long enough for what a launch reads by itself not to count */
	test_fused(make_numbers(17, 10000));
	test_fused(make_texts(3000));
	test_join("keys close together", true, 54, 83, 0);
	test_join("64 random bits", false, 405, 90, 3);
	library->stop();
	return unit_end();
}
