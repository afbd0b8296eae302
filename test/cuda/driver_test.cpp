/*
 * test/cuda/driver_test.cpp
 *	  The drivers of both pipelines: state machine, streaming with two buffers
 *	  and a carry-over, memory, start and stop; under the host SIMT layer.
 *
 * The layer runs what streams hold in an order that depends on a seed, as far
 * as events leave it open, and fills new memory with garbage: a missing event
 * shows as wrong data.  Batches are compared with those of the CPU backend.
 */
#include "driver_check.h"

namespace
{

/* Streams with and without announced text, in every order that events allow. */
void
test_ahead(uint64_t n)
{
	for (uint64_t k = 0; k < n; k++)
	{
		UnitRandom	r = unit_random(T_AHEAD, k);
		const uint32_t ahead = unit_below(&r, 5);
		const Bytes text = make_text(&r, 200 + unit_below(&r, 3000), unit_once_in(&r, 2));
		std::vector<size_t> partition;
		Scan		s;
		StreamOutcome out;

		for (size_t at = 0; at < text.size();)
		{
			at += 1 + unit_below(&r, unit_once_in(&r, 2) ? 1000 : 150);
			partition.push_back(at < text.size() ? at : text.size());
		}
		if (unit_once_in(&r, 3))
			s.filter_half();
		if (unit_once_in(&r, 4))
			s.spec.max_records = 1 + unit_below(&r, 20);
		set_options((PpTagging) unit_below(&r, 4));
		configure((uint32_t) k);
		unit_case("streaming %" PRIu64 ": %zu partitions, %u of 4 announced", k, partition.size(), ahead);
		out = stream(s, text, partition, ahead, &r);
		EXPECT(ahead < 4 || out.jobs < 2 || out.announced > 0, "none of %" PRIu64 " jobs was announced", out.jobs);
	}
}

/*
 * Aggregates: each record is in a batch's share of them, or selected, or removed,
 * and only once, however the text is announced.
 */
void
test_aggregates(uint64_t n)
{
	for (uint64_t k = 0; k < n; k++)
	{
		UnitRandom	r = unit_random(T_AGGREGATES, k);
		const uint32_t ahead = unit_below(&r, 5);
		const uint32_t spoiled = unit_once_in(&r, 3) ? 2 : unit_once_in(&r, 2) ? 40 : 1000000;
		Bytes		text = make_text(&r, 200 + unit_below(&r, 4000), unit_once_in(&r, 3), unit_once_in(&r, 2));
		std::vector<size_t> partition;
		Scan		s;

		/* values that are handed over */
		for (size_t i = 0; i + 1 < text.size(); i++)
			if (text[i] >= '0' && text[i] <= '9' && text[i + 1] == ',' && unit_once_in(&r, spoiled))
				text[i] = 'x';
		for (size_t at = 0; at < text.size();)
		{
			at += 1 + unit_below(&r, 1500);
			partition.push_back(at < text.size() ? at : text.size());
		}
		s.aggregate_some(&r);
		if (unit_once_in(&r, 2))
			s.filter_half();
		if (unit_once_in(&r, 4))
			s.spec.max_records = 1 + unit_below(&r, 20);
		set_options((PpTagging) unit_below(&r, 4));
		configure((uint32_t) k);
		unit_case("aggregates %" PRIu64 ": %u, %s", k, s.spec.naggregates,
				  s.spec.nfilters > 0 ? "filtered" : "not filtered");
		(void) stream(s, text, partition, ahead, &r);
	}
}

/*
 * Long records that go on from one partition to the next, in buffers that are
 * full of them: text that comes in must not overtake what is carried over.
 */
void
test_order(uint64_t n)
{
	for (uint64_t k = 0; k < n; k++)
	{
		UnitRandom	r = unit_random(T_ORDER, k);
		std::string t;
		std::vector<size_t> partition;
		Scan		s;

		/* every other time, longer than there is room in front of what is announced */
		for (uint32_t i = 0; i < 12; i++)
			t += std::to_string(i) + ",1.5," +
				std::string(k % 2 == 0 ? 300 + unit_below(&r, 300) : unit_below(&r, 9000), (char) ('a' + i)) + ",\n";
		for (size_t at = 500; at < t.size(); at += 500)
			partition.push_back(at);
		partition.push_back(t.size());
		set_options(PP_TAG_AUTO);
		configure((uint32_t) k);
		unit_case("order %" PRIu64, k);
		(void) stream(s, Bytes(t.begin(), t.end()), partition, 4, &r);
	}
}

/* How often a partition was parsed. */
uint64_t
parsed(const PpCudaStats *stats)
{
	uint64_t	n = 0;

	if (!fused)
		return stats->launches[PP_STAGE_VECTORS];
	for (uint64_t k : stats->partitions_by_states)
		n += k;
	return n;
}

/*
 * Every byte goes to the device once, and every job is parsed once, if all is
 * announced; the record that goes on is copied on the device.
 */
void
test_once(void)
{
	for (uint32_t ahead = 0; ahead < 5; ahead += 4)
	{
		UnitRandom	r = unit_random(T_AHEAD, 1000000);
		const Bytes text = make_text(&r, 20000, true);
		std::vector<size_t> partition;
		Scan		s;
		StreamOutcome out;
		uint64_t	tables;

		for (size_t at = 2000; at < text.size(); at += 2000)
			partition.push_back(at);
		partition.push_back(text.size());
		set_options(PP_TAG_AUTO);
		configure(7);
		unit_case("each byte comes in once, %s", ahead ? "announced" : "not announced");
		simt_reset_counters();
		out = stream(s, text, partition, ahead, &r);
		tables = out.stats.h2d_bytes - text.size();
		EXPECT(out.stats.h2d_bytes >= text.size() && tables < 1000, "%" PRIu64 " bytes to the device, of %zu",
			   out.stats.h2d_bytes, text.size());
		EXPECT(out.jobs == partition.size(), "%" PRIu64 " jobs", out.jobs);
		EXPECT(parsed(&out.stats) == out.jobs, "%" PRIu64 " passes, %" PRIu64 " jobs", parsed(&out.stats),
			   out.jobs);
		EXPECT(ahead == 0 ? out.announced == 0 : out.announced == out.jobs - 1, "%" PRIu64 " announced",
			   out.announced);
		EXPECT(out.stats.launches[PP_STAGE_H2D] == out.jobs + 1, "%" PRIu64 " copies to the device",
			   out.stats.launches[PP_STAGE_H2D]);
	}
}

/*
 * Held on the device: at most `times` the partition beside what columns need,
 * that twice if there are two slots; and no more for a longer text.
 */
void
test_memory(PpTagging tagging, uint32_t times, bool announced, bool filtered)
{
	const size_t size = (fused ? 256 : 64) * 1024;
	uint64_t	peak[2];

	unit_case("memory of tagging %d, %s, %s", (int) tagging, announced ? "announced" : "not announced",
			  filtered ? "filtered" : "not filtered");
	for (uint32_t k = 0; k < 2; k++)
	{
		UnitRandom	r = unit_random(T_MEMORY, 0);
		const Bytes text = make_text(&r, size * (k == 0 ? 4 : 9), true);
		std::vector<size_t> partition;
		Scan		s;
		StreamOutcome out;
		PpCudaStats stats;
		const uint32_t slots = announced ? 2 : 1;

		/* as in a stream, the first partition is a short one */
		for (size_t at = fused ? size / 8 : size; at < text.size(); at += size)
			partition.push_back(at);
		partition.push_back(text.size());
		if (filtered)
			s.filter_half();
		library->stop();
		start();
		set_options(tagging);
		configure(0);
		out = stream(s, text, partition, announced ? 4 : 0, &r);
		library->stats(nullptr, &stats);
		peak[k] = stats.peak_device_bytes;
		if (filtered)
			continue;			/* sizes of what was not selected are not known here */
		/* blocks are a bit larger than asked for */
		EXPECT(peak[k] <= times * size + slots * (out.output_bytes + out.output_bytes / 32) + 16384,
			   "%" PRIu64 " bytes on the device for partitions of %zu and output of %" PRIu64,
			   peak[k], size, out.output_bytes);
		EXPECT(peak[k] > 2 * size, "%" PRIu64 " bytes", peak[k]);
		printf("tagging %d, %s: %.1f times the partition beside columns\n", (int) tagging,
			   announced ? "announced" : "not announced",
			   ((double) peak[k] - (double) slots * (double) out.output_bytes) / (double) size);
	}
	EXPECT(peak[1] <= peak[0] + peak[0] / 6, "%" PRIu64 " bytes for 3 partitions, %" PRIu64 " for 8",
		   peak[0], peak[1]);
}

/*
 * The same of values that are as short as they get: the index does not grow
 * with their number beyond bounds, since batches are smaller then.
 */
void
test_short(PpTagging tagging, uint32_t times, uint32_t ncolumns, uint32_t digits, bool filtered)
{
	const size_t size = 256 * 1024;
	const uint32_t row = ncolumns * (digits + 1);
	std::vector<PpColumn> column(ncolumns);
	std::string text;
	std::string ahead;
	Scan		s;
	PpBackendScan *scan;
	PpCudaStats stats;
	PpJob		job = {};
	uint32_t	records = 0;
	uint32_t	jobs = 0;
	uint64_t	wrong = 0;
	uint64_t	output = 0;
	uint32_t	partition = 0;
	uint64_t	ones = 0;		/* as many as there are digits */

	for (uint32_t i = 0; i < digits; i++)
		ones = ones * 10 + 1;
	unit_case("memory of tagging %d, %u columns of %u digits, %s", (int) tagging, ncolumns, digits,
			  filtered ? "filtered" : "not filtered");
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		column[c].type = PP_INT4;
		column[c].field = c;
		column[c].mod = -1;
	}
	s.spec.column = column.data();
	s.spec.ncolumns = s.spec.nfields = ncolumns;
	s.filter[0].op = digits == 0 ? PP_OP_IS_NULL : PP_OP_GE;
	s.spec.nfilters = filtered;
	while (text.size() + row <= size)
		for (uint32_t c = 0; c < ncolumns; c++)
		{
			text += std::string(digits, (char) ('0' + (text.size() / row + c) % 10));
			text += c + 1 < ncolumns ? ',' : '\n';
		}
	job.len = (uint32_t) text.size();
	text.resize(text.size() + PP_PAD);
	ahead = text;
	library->stop();
	start();
	set_options(tagging);
	configure(0);
	scan = cuda->open(&s.spec);
	EXPECT(scan != nullptr, "%s", library->error());
	if (scan == nullptr)
		return;
	job.text = reinterpret_cast<const uint8_t *>(text.data());
	while (partition < 2 && jobs < 40)
	{
		const PpBatch *b;

		EXPECT(cuda->submit(scan, &job), "%s", library->error());
		/* it stays announced until there is no more of this partition */
		EXPECT(jobs > 0 || cuda->ahead(scan, reinterpret_cast<const uint8_t *>(ahead.data()),
											 job.len, false), "not taken");
		b = poll_to_end(cuda, scan);
		if (b == nullptr)
			break;
		jobs++;
		wrong += b->nselected != b->nrecords || b->next != job.begin + b->nrecords * row;
		for (uint32_t c = 0; c < ncolumns; c++)
			for (uint32_t r = 0; r < b->nrecords; r++)
				wrong += digits == 0 ? b->column[c].state[r] != PP_NULL :
					b->column[c].state[r] != PP_VALUE || b->column[c].value[r] != ones * ((job.begin / row + r + c) % 10);
		output = std::max(output, output_bytes(s, b));
		records += b->nrecords;
		job.begin = b->next;
		if (b->stop == PP_STOP_MORE)
		{
			/* the other slot works on the same text */
			partition++;
			job.begin = 0;
			job.text = reinterpret_cast<const uint8_t *>(ahead.data());
		}
		else
			EXPECT(b->stop == PP_STOP_FULL, "stop %d", (int) b->stop);
		cuda->release(scan);
	}
	EXPECT(wrong == 0, "%" PRIu64 " wrong values", wrong);
	EXPECT(partition == 2 && records == 2 * (job.len / row), "%u records", records);
	EXPECT(jobs <= (fused ? 14 : tagging == PP_TAG_RECORD ? 20 : filtered ? 6 : 4), "%u jobs", jobs);
	library->stats(nullptr, &stats);
	EXPECT(stats.peak_device_bytes <= times * size + 2 * (output + output / 32) + 16384,
		   "%" PRIu64 " bytes on the device for a partition of %zu and output of %" PRIu64,
		   stats.peak_device_bytes, size, output);
	printf("tagging %d, %u columns of %u digits%s: %.1f times the partition beside columns, %u jobs\n", (int) tagging,
		   ncolumns, digits, filtered ? ", filtered" : "",
		   ((double) stats.peak_device_bytes - 2.0 * (double) output) / (double) size, jobs);
	cuda->close(scan);
}

/*
 * Where memory does not suffice to work ahead, the slot that was to has none
 * of it in the end, and the scan goes on.
 */
void
test_one_slot(void)
{
	UnitRandom	r = unit_random(T_MEMORY, 3);
	const size_t size = 16 * 1024;
	const Bytes text = make_text(&r, size * 6, true);
	std::vector<size_t> partition;
	StreamOutcome one,
				two;
	PpCudaStats stats;
	uint32_t	scarce = 0;

	for (size_t at = size; at < text.size(); at += size)
		partition.push_back(at);
	partition.push_back(text.size());
	set_options(PP_TAG_AUTO);
	/* each query works off all there is, however long it takes */
	configure(0, 600000);
	unit_case("one slot's memory");
	for (uint32_t i = 0; i < 2; i++)
	{
		Scan		s;

		library->stop();
		start();
		(i == 0 ? one : two) = stream(s, text, partition, i == 0 ? 0 : 4, &r);
		if (i == 0)
			library->stats(nullptr, &stats);
	}
	EXPECT(two.used > one.used + size, "%" PRIu64 " bytes of two slots, %" PRIu64 " of one",
		   two.used, one.used);
	/* from where one slot would do up to where two do */
	for (uint64_t limit = stats.peak_device_bytes; limit < 2 * stats.peak_device_bytes; limit += size / 2)
	{
		Scan		s;
		StreamOutcome out;

		library->stop();
		start(limit);
		has_failed = false;
		may_fail = true;
		out = stream(s, text, partition, 4, &r);
		may_fail = false;
		if (has_failed || out.announced == out.jobs - 1)
			continue;
		scarce++;
		EXPECT(out.used <= one.used + size / 2, "%" PRIu64 " bytes, %" PRIu64 " of one slot, limit %" PRIu64,
			   out.used, one.used, limit);
	}
	EXPECT(scarce > 0, "memory was never scarce");
	configure(0);
	library->stop();
	start();
}

/*
 * Texts that turn from few long records to many short ones and back: there may be
 * less room than is wanted, for records or for values, but nothing is lost.
 */
void
test_density(void)
{
	for (uint32_t ahead = 0; ahead < 2; ahead++)
	{
		const uint32_t long_text = 700;
		const size_t size = 30000;
		UnitRandom	r = unit_random(T_MEMORY, 5);
		std::string t;
		Scan		s;
		PpBackendScan *scan;
		PpJob		job = {};
		uint64_t	expected[3] = {0, 0, 0};
		uint64_t	found[3] = {0, 0, 0};
		uint64_t	cut = 0;
		size_t		begin = 0;
		size_t		end = size;
		bool		over = false;

		for (uint32_t phase = 0; phase < 4; phase++)
			for (uint32_t i = 0; i < (phase % 2 == 0 ? 150 : 12000); i++)
			{
				const uint32_t number = unit_below(&r, 10);
				const uint32_t n = phase % 2 == 0 ? long_text - unit_below(&r, 600) : unit_once_in(&r, 9);

				t += std::to_string(number) + ",1," + std::string(n, 'y') + ",\n";
				expected[0]++;
				expected[1] += number;
				expected[2] += n;
			}
		unit_case("changing density, %s", ahead ? "announced" : "not announced");
		set_options(PP_TAG_AUTO);
		configure(3);
		t.resize(t.size() + PP_PAD);
		scan = cuda->open(&s.spec);
		EXPECT(scan != nullptr, "%s", library->error());
		while (scan != nullptr && !over)
		{
			const size_t all = t.size() - PP_PAD;
			const size_t next = end + size < all ? end + size : all;
			const PpBatch *b;

			job.text = reinterpret_cast<const uint8_t *>(t.data());
			job.begin = (uint32_t) begin;
			job.len = (uint32_t) end;
			job.last = end == all;
			EXPECT(cuda->submit(scan, &job), "%s", library->error());
			if (ahead != 0 && !job.last)
				(void) cuda->ahead(scan, job.text + end, (uint32_t) (next - end), next == all);
			b = poll_to_end(cuda, scan);
			if (b == nullptr)
				break;
			found[0] += b->nrecords;
			for (uint32_t i = 0; i < b->nrecords; i++)
			{
				uint32_t	len = 0;

				if (b->column[0].state[i] == PP_VALUE)
					found[1] += b->column[0].value[i];
				if (b->column[2].state[i] == PP_VALUE)
					(void) pp_varlena(b->column[2].value[i], &len);
				found[2] += len;
			}
			EXPECT(b->ndeferred == 0, "%" PRIu64 " handed over", b->ndeferred);
			begin = b->next;
			cut += b->stop == PP_STOP_FULL;
			over = b->stop == PP_STOP_END;
			EXPECT(over || b->stop == PP_STOP_MORE || b->stop == PP_STOP_FULL, "stop %d", (int) b->stop);
			if (b->stop == PP_STOP_MORE)
				end = next;
			cuda->release(scan);
		}
		cuda->close(scan);
		EXPECT(found[0] == expected[0] && found[1] == expected[1] && found[2] == expected[2],
			   "%" PRIu64 ", %" PRIu64 ", %" PRIu64 "; but %" PRIu64 ", %" PRIu64 ", %" PRIu64 " expected",
			   found[0], found[1], found[2], expected[0], expected[1], expected[2]);
		EXPECT(!fused || (cut > 0 && cut < 10), "%" PRIu64 " batches were full", cut);
	}
}

/*
 * What a text's values take is not known in front of the first pass, which is
 * done once nevertheless, whether texts are long or short, and in which columns.
 */
void
test_passes(void)
{
	for (uint32_t k = 0; k < 4; k++)
	{
		/* as a stream's first partition, and longer */
		const size_t size = k < 3 ? 40000 : 2200000;
		UnitRandom	r = unit_random(T_MEMORY, 20 + k);
		std::string t;
		Scan		s;
		StreamOutcome out;

		while (t.size() < size)
			if (k % 3 == 0)
				t += "1,2.5," + std::string(unit_below(&r, 900), 'x') + ",\n";
			else if (k % 3 == 1)
				t += std::to_string(unit_below(&r, 10)) + ",,abcdefghijklmnop,\n";
			else
				t += "123456789," + std::to_string(unit_below(&r, 10)) + ",yzwv,\n";
		s.spec.ncolumns = 4;
		unit_case("passes over a text of kind %u, %zu bytes", k % 3, t.size());
		set_options(PP_TAG_AUTO);
		configure(0);
		library->stop();
		start();
		out = stream(s, Bytes(t.begin(), t.end()), {t.size()}, 0, &r);
		/* the kernel and two fills */
		EXPECT(out.stats.launches[PP_STAGE_PARSE] == 3 * out.jobs, "%" PRIu64 " launches of %" PRIu64 " jobs",
			   out.stats.launches[PP_STAGE_PARSE], out.jobs);
	}
}

/*
 * No call waits: memory that becomes too small while there is work on the device
 * is not freed before that is done, since freeing it would wait.
 */
void
test_growing(void)
{
	for (uint32_t ahead = 0; ahead < 5; ahead += 2)
	{
		UnitRandom	r = unit_random(T_MEMORY, 4 + ahead);
		const Bytes text = make_text(&r, 100000, true);
		std::vector<size_t> partition;
		Scan		s;

		/* as a stream's, each a few times as large as the one before */
		for (size_t at = 0, size = 300; at < text.size(); size = size * 2 < 20000 ? size * 2 : 20000)
		{
			at += size;
			partition.push_back(at < text.size() ? at : text.size());
		}
		unit_case("growing partitions, %u of 4 announced", ahead);
		library->stop();
		start();
		set_options(PP_TAG_AUTO);
		configure(0, 1);
		simt_reset_counters();
		(void) stream(s, text, partition, ahead, &r);
		EXPECT(simt_memory().waits == 0, "%" PRIu64 " waits", simt_memory().waits);
	}
	configure(0);
}

/* The limit holds, is told as such, and leaves the context alone. */
void
test_limit(void)
{
	UnitRandom	r = unit_random(T_MEMORY, 1);
	const Bytes text = make_text(&r, 60000, false);
	Bytes		padded = text;
	uint64_t	refused = 0;
	bool		done = false;

	unit_case("memory limit");
	padded.resize(text.size() + PP_PAD);
	configure(0);
	set_options(PP_TAG_AUTO);
	for (uint64_t limit = 1000; limit < 100000000 && !done; limit = limit * 3 / 2)
	{
		Scan		s;
		PpBackendScan *scan;
		PpJob		job = {};
		const PpBatch *b;
		const char *message = library->error();
		PpPoll		poll = PP_POLL_FAILED;
		PpCudaStats stats;

		library->stop();
		start(limit);
		job.text = padded.data();
		job.len = (uint32_t) text.size();
		job.last = true;
		scan = cuda->open(&s.spec);
		if (scan != nullptr && cuda->submit(scan, &job))
			while ((poll = cuda->poll(scan, &b, &message)) == PP_POLL_PENDING)
				;
		library->stats(nullptr, &stats);
		EXPECT(stats.peak_device_bytes <= limit, "%" PRIu64 " bytes of %" PRIu64, stats.peak_device_bytes, limit);
		if (poll == PP_POLL_FAILED)
		{
			refused++;
			EXPECT(strcmp(library->error(), "out of device memory") == 0 &&
				   library->failure() == PP_CUDA_NO_MEMORY, "%s", library->error());
			EXPECT(scan == nullptr || !cuda->submit(scan, &job), "goes on behind a failure");
		}
		done = poll == PP_POLL_DONE;
		if (scan != nullptr)
			cuda->close(scan);
		EXPECT(start(limit), "the context is not usable");
		EXPECT(s.heap.live_blocks == 0, "host memory is left");
	}
	EXPECT(refused > 3 && done, "%" PRIu64 " refused", refused);

	unit_case("pinned memory that is not used is limited, what is used is not");
	library->stop();
	start(100000);
	for (size_t size = 10000; size < 160000; size += 10000)
	{
		PpBuffer	b = {PP_MEMORY_PINNED, nullptr, 0};

		EXPECT(pp_buffer_reserve(&b, size), "%zu bytes are refused", size);
		EXPECT(pp_memory_counts().pinned <= (size + size / 32 > 100000 ? size + size / 32 : 100000),
			   "%" PRIu64 " bytes are held for %zu", pp_memory_counts().pinned, size);
		pp_buffer_release(&b);
	}
	library->stop();
	start();
}

/* Closing at any time leaves nothing behind, and the next scan is right. */
void
test_close(uint64_t n)
{
	for (uint64_t k = 0; k < n; k++)
	{
		UnitRandom	r = unit_random(T_CLOSE, k);
		const Bytes text = make_text(&r, 2000, true);
		Bytes		padded = text;
		Scan		s;
		PpBackendScan *scan;
		PpJob		job = {};
		const PpBatch *b;
		const char *message;

		unit_case("closed after %" PRIu64 " polls", k);
		configure((uint32_t) k);
		set_options((PpTagging) (k % 4));
		padded.resize(text.size() + PP_PAD);
		job.text = padded.data();
		job.len = 1000;
		scan = cuda->open(&s.spec);
		EXPECT(scan != nullptr, "%s", library->error());
		if (scan == nullptr)
			continue;
		EXPECT(cuda->submit(scan, &job), "%s", library->error());
		EXPECT(cuda->ahead(scan, text.data() + 1000, 1000, false), "not taken");
		for (uint64_t i = 0; i < k && cuda->poll(scan, &b, &message) == PP_POLL_PENDING; i++)
			;
		cuda->close(scan);
		EXPECT(s.heap.live_blocks == 0, "%zu blocks of memory left behind", s.heap.live_blocks);
		EXPECT(pp_memory_counts().used == 0 && pp_memory_counts().pinned_used == 0,
			   "%" PRIu64 " bytes in use", pp_memory_counts().used);
		if (k % 5 == 0)
		{
			Scan		t;

			stream(t, text, {1000, text.size()}, 4, &r);
		}
	}
}

/*
 * The n-th call of a kind fails while text is announced, for every n: an error,
 * or the same batches without working ahead; nothing is left.
 */
void
test_failures(void)
{
	static const char *const name[] = {"allocation", "copy", "launch", "kernel"};

	/* a device fails when it likes */
	for (uint32_t kind = 0; kind < SIMT_CALLS && simt_present(); kind++)
	{
		uint64_t	at = 0;
		uint64_t	failures = 0;
		uint32_t	same = 0;

		unit_case("failing %s while working ahead", name[kind]);
		while (same < (kind == SIMT_ALLOC ? 40 : 1) && ++at < 3000)
		{
			UnitRandom	r = unit_random(T_FAILURES, kind);
			const Bytes text = make_text(&r, 1200, true);
			Scan		s;

			library->stop();
			simt_clear_reports();
			EXPECT(simt_memory().device_blocks == 0 && simt_memory().pinned_blocks == 0 &&
				   simt_memory().streams == 0 && simt_memory().events == 0 &&
				   simt_memory().leaked_blocks == 0, "%s %" PRIu64 ": something is left", name[kind], at - 1);
			start();
			set_options((PpTagging) (at % 4));
			configure((uint32_t) at);
			has_failed = false;
			may_fail = true;
			simt_inject((SimtCall) kind, at, at % 2 == 0);
			stream(s, text, {300, 700, 1000, text.size()}, 4, &r);
			simt_inject((SimtCall) kind, 0, false);
			may_fail = false;
			failures += has_failed;
			/* what fails may be done without; behind the last call, all is */
			same = has_failed ? 0 : same + 1;
		}
		EXPECT(failures > 5 && at < 3000, "%" PRIu64 " failures, stopped at %" PRIu64, failures, at);
	}
	library->stop();
	start();
}

/* What comes in which order, and what does not. */
void
test_states(void)
{
	UnitRandom	r = unit_random(T_CLOSE, 1000);
	const Bytes text = make_text(&r, 30000, true);
	Scan		s;
	PpBackendScan *scan;
	PpCudaStats stats;
	PpCudaDevice device;
	PpCudaConfig config = {sizeof(config), 99, UINT64_MAX};
	const char *message = nullptr;
	StreamOutcome out;
	void	   *pinned;

	unit_case("nothing works before start");
	library->stop();
	EXPECT(cuda->open(&s.spec) == nullptr && library->failure() == PP_CUDA_NO_DEVICE &&
		   library->error()[0] != '\0', "opened");
	EXPECT(library->pinned_alloc(10) == nullptr, "pinned memory");
	EXPECT(!library->start(&config, &device, &message) && message != nullptr &&
		   library->failure() == PP_CUDA_NO_DEVICE, "a device that is not there");
	EXPECT(simt_memory().device_blocks == 0 && simt_memory().streams == 0, "touched the device");

	unit_case("polls are answered at once, and many are");
	start();
	configure(1, 1);
	set_options(PP_TAG_AUTO);
	out = stream(s, text, {text.size()}, 0, &r);
	EXPECT(out.pending >= 3, "%" PRIu64 " pending", out.pending);
	for (uint32_t i = 0; i < PP_STAGES; i++)
		EXPECT(out.stats.seconds[i] >= 0, "time of stage %u", i);
	EXPECT(fused ? out.stats.seconds[PP_STAGE_PARSE] > 0 :
		   out.stats.seconds[PP_STAGE_VECTORS] > 0 && out.stats.seconds[PP_STAGE_CONVERT_THREAD] > 0,
		   "no time was taken");

	unit_case("memory is kept for the next scan, and freed by stop");
	library->stats(nullptr, &stats);
	EXPECT(stats.device_bytes > 0, "nothing is kept");
	pinned = library->pinned_alloc(100);
	EXPECT(pinned != nullptr, "no pinned memory");
	library->pinned_free(pinned);
	library->pinned_free(nullptr);
	library->stop();
	EXPECT(simt_memory().device_bytes == 0 && simt_memory().pinned_bytes == 0 &&
		   simt_memory().leaked_blocks == 0, "%" PRIu64 " bytes are left", simt_memory().device_bytes);

	unit_case("a scan that outlives its context fails, and can be closed");
	start();
	scan = cuda->open(&s.spec);
	EXPECT(scan != nullptr, "%s", library->error());
	if (scan != nullptr)
	{
		PpJob		job = {text.data(), 0, 100, false, false};

		library->stop();
		start();
		EXPECT(!cuda->submit(scan, &job), "submitted");
		cuda->close(scan);
	}
	EXPECT(s.heap.live_blocks == 0, "%zu blocks of memory left behind", s.heap.live_blocks);

	if (!simt_present())
		return;
	unit_case("a broken context is told until it is made anew");
	simt_inject(SIMT_EXECUTION, 1, false);
	scan = cuda->open(&s.spec);
	if (scan != nullptr)
	{
		Bytes		padded = text;
		PpJob		job = {};
		const PpBatch *b;
		PpPoll		poll = PP_POLL_FAILED;

		padded.resize(text.size() + PP_PAD);
		job.text = padded.data();
		job.len = (uint32_t) text.size();
		if (cuda->submit(scan, &job))
			while ((poll = cuda->poll(scan, &b, &message)) == PP_POLL_PENDING)
				;
		EXPECT(poll == PP_POLL_FAILED && library->failure() == PP_CUDA_BROKEN, "did not fail");
		cuda->close(scan);
	}
	EXPECT(cuda->open(&s.spec) == nullptr, "opened");
	config.device = 0;
	EXPECT(!library->start(&config, &device, &message) && message != nullptr, "started");
	library->stop();
	simt_clear_reports();
	EXPECT(start(), "does not start again");
	scan = cuda->open(&s.spec);
	EXPECT(scan != nullptr, "%s", library->error());
	cuda->close(scan);
	cuda->close(nullptr);
}

/* Launches of a partition do not grow with columns. */
void
test_launches(void)
{
	UnitRandom	r = unit_random(T_MEMORY, 2);
	const Bytes text = make_text(&r, 3000, false);
	uint64_t	launches[2] = {0, 0};

	unit_case("launches do not grow with columns");
	configure(0);
	set_options(PP_TAG_AUTO);
	for (uint32_t k = 0; k < 2; k++)
	{
		Scan		s;
		StreamOutcome out;

		s.spec.ncolumns = k == 0 ? 3 : 5;
		out = stream(s, text, {text.size()}, 0, &r);
		for (uint32_t i = 0; i < PP_STAGES; i++)
			launches[k] += out.stats.launches[i];
	}
	EXPECT(launches[0] == launches[1] && launches[0] > 0, "%" PRIu64 " for 3, %" PRIu64 " for 5",
		   launches[0], launches[1]);
}

/* Everything, of one pipeline. */
void
test_pipeline(const PpBackend *pipeline)
{
	/* bounds of the memory: of ways of tagging, or of states */
	static const uint32_t times[] = {16, 8, 8};

	cuda = pipeline;
	fused = pipeline == library->fused;
	/* a little is enough where races are looked for */
	test_ahead(unit_iterations(300));
	test_aggregates(unit_iterations(100));
	test_order(unit_iterations(60));
	if (unit_iterations(100) >= 5)
	{
		test_once();
		test_launches();
		for (uint32_t i = 0; i < 12; i++)
			test_memory((PpTagging) (PP_TAG_RECORD + i % 3), fused ? 4 : times[i % 3], (i / 3 & 1) != 0,
						(i / 3 & 2) != 0);
		for (uint32_t i = 0; i < 21; i++)
		{
			static const uint32_t ncolumns[] = {1, 1, 1, 130, 130, 1, 1};
			static const uint32_t digits[] = {0, 1, 9, 0, 1, 1, 9};

			test_short((PpTagging) (PP_TAG_RECORD + i % 3), fused ? 4 : times[i % 3], ncolumns[i / 3],
					   digits[i / 3], i / 3 >= 5);
		}
		test_one_slot();
		test_growing();
		if (fused)
			test_passes();
		test_density();
		test_limit();
		test_failures();
		test_states();
	}
	test_close(unit_iterations(60));
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "driver");
	simt_report_to_stderr(false);
	library = pp_cuda_library(PP_CUDA_VERSION);
	unit_case("start");
	start();
	test_pipeline(library->paper);
	test_pipeline(library->fused);
	unit_case("nothing is left at the end");
	library->stop();
	EXPECT(simt_memory().device_blocks == 0 && simt_memory().pinned_blocks == 0 &&
		   simt_memory().streams == 0 && simt_memory().events == 0,
		   "%" PRIu64 " and %" PRIu64 " blocks, %" PRIu64 " streams, %" PRIu64 " events",
		   simt_memory().device_blocks, simt_memory().pinned_blocks, simt_memory().streams,
		   simt_memory().events);
	return unit_end();
}
