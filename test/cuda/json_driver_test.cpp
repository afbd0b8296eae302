/*
 * test/cuda/json_driver_test.cpp
 *	  What the backends of JSON on the device do beside reading records, under the
 *	  host SIMT layer: aggregates; what is copied to the device, and how often;
 *	  working ahead; memory; and failing allocations, copies and launches.
 */
#include <algorithm>

#include "json_check.h"

namespace
{

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
	uint64_t	nearly;			/* jobs on which the device was at work before they
								 * were submitted */
	uint64_t	output_bytes;	/* of the columns of the batch that has most */
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

/* Is what comes next announced? */
enum Ahead
{
	AHEAD_NONE,
	AHEAD_ALL,
	AHEAD_WRONG					/* the next job is sometimes another one */
};

/* Bytes that the columns of a batch take on the device. */
uint64_t
output_bytes(const JsonTable &t, const PpBatch *b)
{
	uint64_t	n = UINT64_C(9) * b->nrecords * t.ncolumns;

	for (uint32_t c = 0; c < t.ncolumns; c++)
		for (uint32_t r = 0; pp_type_by_reference(t.column[c].type) && r < b->nrecords; r++)
			if (b->column[c].state != nullptr && b->column[c].state[r] == PP_VALUE)
			{
				uint32_t	len;

				(void) pp_varlena(b->column[c].value[r], &len);
				n += (len + 4 + 7) / 8 * 8;
			}
	return n;
}

/*
 * Sums of the text: what batches have taken themselves, and what they leave,
 * which is only what is not known throughout.
 */
Sums
summed(const JsonTable &t, const PpBackend *backend, const std::vector<PpAggregate> &wanted,
	   const JsonCuts &cuts, const std::string &text, Ahead ahead = AHEAD_NONE)
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
	bool		announced = false;

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
		const char *const kernel = t.documents ? "documents_kernel<true>" : "records_kernel<true>";
		const uint64_t launched = simt_launches(kernel);

		job.last = job.len == len;
		if (backend->submit(scan, &job))
		{
			const uint32_t step = cuts.step > 0 && cuts.step < len - job.len ? cuts.step : len - job.len;

			sums.nearly += announced && simt_launches(kernel) == launched;
			if (ahead != AHEAD_NONE && !job.last)
			{
				const uint32_t part = ahead == AHEAD_WRONG && sums.nbatches % 3 == 1 ? step - step / 2 : step;

				sums.nahead += backend->ahead(scan, job.text + job.len, part, job.len + part == len);
			}
			while ((poll = backend->poll(scan, &b, &message)) == PP_POLL_PENDING)
				;
		}
		EXPECT(poll == PP_POLL_DONE, "failed: %s", library->error());
		if (poll != PP_POLL_DONE)
			break;
		sums.nbatches++;
		if (wanted.empty())
			sums.output_bytes = std::max(sums.output_bytes, output_bytes(t, b));
		announced = sums.nahead > 0 && b->stop == PP_STOP_MORE;
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
			PpAggregate g = {op[unit_below(&r, 4)], unit_below(&r, SUMMED_COLUMNS), 0};

			if (g.op == PP_AGGREGATE_SUM)
				g.column %= 3;
			else if (g.op != PP_AGGREGATE_COUNT)
				g.column %= SUMMED_COLUMNS - 1;
			wanted.push_back(g);
		}
		wanted.push_back({PP_AGGREGATE_COUNT_ALL, 0, 0});
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
			got = summed(t, t.documents ? &counted_documents : &counted, wanted, cuts, text, k % 5 < 3 ? (Ahead) (1 + k % 2) : AHEAD_NONE);
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
		want = summed(t, backend, none, cuts, text);
		got = summed(t, backend, none, cuts, text, AHEAD_ALL);
		EXPECT(got.nselected == want.nselected && got.nbatches == want.nbatches, "%llu records, but %llu expected",
			   (unsigned long long) got.nselected, (unsigned long long) want.nselected);
		EXPECT(got.nahead > 0, "nothing was announced");
		EXPECT(got.nearly == got.nahead || !simt_present(), "%llu of %llu jobs that were announced had begun",
			   (unsigned long long) got.nearly, (unsigned long long) got.nahead);
		EXPECT(want.nearly == 0, "%llu jobs had begun", (unsigned long long) want.nearly);
		/* in front of a short last job, the rest of a record may come again */
		EXPECT(got.h2d_bytes <= want.h2d_bytes + 256, "%llu bytes copied, and %llu without",
			   (unsigned long long) got.h2d_bytes, (unsigned long long) want.h2d_bytes);
		if (k % 4 < 2)
			continue;
		cuts.max_records = 20 + unit_below(&r, 100);
		want = summed(t, backend, none, cuts, text);
		got = summed(t, backend, none, cuts, text, AHEAD_ALL);
		EXPECT(got.nselected == want.nselected, "%llu records, but %llu expected",
			   (unsigned long long) got.nselected, (unsigned long long) want.nselected);
	}
}

/*
 * Long records that go on from one job to the next, in buffers that are full of
 * them: text that comes in must not overtake what is carried over.
 */
void
test_order(void)
{
	const std::vector<PpAggregate> wanted = {{PP_AGGREGATE_SUM, 0, 0}, {PP_AGGREGATE_SUM, 2, 0}, {PP_AGGREGATE_MAX, 1, 0},
	{PP_AGGREGATE_COUNT_ALL, 0, 0}};

	for (uint64_t k = 0; k < unit_iterations(60); k++)
	{
		UnitRandom	r = unit_random(T_EARLY, 3000 + k);
		const uint32_t step = k % 2 ? 700 : 9000;
		std::string text;
		JsonTable	t;
		JsonCuts	cuts = {PP_SIMD_SCALAR, step, step, 1000000, false};
		Sums		want;
		Sums		got;

		summed_table(&t);
		t.documents = k % 4 > 1;
		for (uint32_t i = 0; i < 40; i++)
			text += "{\"i2\":" + std::to_string(i) + ",\"t\":\"" +
				std::string(unit_below(&r, step) * 2 / 3, (char) ('a' + i % 26)) + "\",\"i8\":" +
				std::to_string(unit_below(&r, 1000000)) + ",\"i4\":7}\n";
		if (t.documents)
			text = as_document(text);
		unit_case("order %llu", (unsigned long long) k);
		schedule(unit_below(&r, 1000));
		want = summed(t, t.documents ? &pp_backend_json : &pp_backend_ndjson, wanted, cuts, text);
		got = summed(t, t.documents ? &counted_documents : &counted, wanted, cuts, text, (Ahead) (1 + k % 3 / 2));
		EXPECT(got.count == want.count && got.value == want.value && got.nselected == want.nselected &&
			   got.nbad == want.nbad, "%llu and %llu records pass, %llu and %llu are bad",
			   (unsigned long long) got.nselected, (unsigned long long) want.nselected,
			   (unsigned long long) got.nbad, (unsigned long long) want.nbad);
	}
}

/*
 * Held on the device: at most four times the partition beside what columns need,
 * that twice; and no more for a longer text.
 */
void
test_memory(void)
{
	const std::vector<PpAggregate> none;
	constexpr uint32_t size = 192 * 1024;

	/* lines as they are, and as many as there may be: these have no time ahead */
	for (uint32_t k = 0; k < 6; k++)
	{
		uint64_t	peak[2];

		unit_case("memory %u", k);
		for (uint32_t times = 0; times < 2; times++)
		{
			UnitRandom	r = unit_random(T_MEMORY, 0);
			std::string text;
			JsonTable	t;
			JsonCuts	cuts = {PP_SIMD_SCALAR, size / 8, size, 1000000, false};
			Sums		got;

			summed_table(&t);
			if (k % 3 == 2)
				for (t.ncolumns = 2; text.size() < (times == 0 ? 4 : 8) * size;)
					text += "{\"i2\":1,\"i4\":2}\n";
			else
				text = summed_lines(&r, (times == 0 ? 4 : 8) * size / 130, false);
			if (k % 3 == 1)
				t.ncolumns = 2;
			t.documents = k >= 3;
			if (t.documents)
				text = as_document(text);
			schedule(3);
			library->stop();
			start();
			got = summed(t, t.documents ? &counted_documents : &counted, none, cuts, text, AHEAD_ALL);
			peak[times] = total.peak_device_bytes;
			/* blocks are a bit larger than asked for */
			EXPECT(peak[times] <= 4 * size + 2 * (got.output_bytes + got.output_bytes / 32) + 16384,
				   "%llu bytes on the device for partitions of %u and output of %llu", (unsigned long long) peak[times],
				   size, (unsigned long long) got.output_bytes);
			EXPECT(peak[times] > 2 * size && got.nahead > 2, "%llu bytes", (unsigned long long) peak[times]);
			EXPECT(!simt_present() || (k % 3 == 2 ? got.nearly < 2 : got.nearly == got.nahead), "%llu of %llu jobs had begun",
				   (unsigned long long) got.nearly, (unsigned long long) got.nahead);
			if (times > 0)
				printf("JSON, memory %u: %.1f times the partition beside columns\n", k,
					   ((double) peak[times] - 2.0 * (double) got.output_bytes) / size);
		}
		EXPECT(peak[1] <= peak[0] + peak[0] / 6, "%llu bytes for 4 partitions, %llu for 8",
			   (unsigned long long) peak[0], (unsigned long long) peak[1]);
	}
	library->stop();
	start();
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
		want = summed(t, &counted, none, cuts, text, AHEAD_ALL);
		least = total.peak_device_bytes;
		EXPECT(want.nselected == 3000 && want.nahead > 1, "%llu records", (unsigned long long) want.nselected);
		for (uint64_t part = 16; part > 12; part--)
		{
			Sums		got;

			library->stop();
			start(least * part / 16);
			got = summed(t, &counted, none, cuts, text, AHEAD_ALL);
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

}								/* namespace */

int
main(int argc, char **argv)
{
	begin(argc, argv, "json_driver_test");
	test_aggregates();
	test_early_stops();
	test_ahead();
	test_order();
	test_memory();
	test_short_memory();
	test_failures();
	library->stop();
	return unit_end();
}
