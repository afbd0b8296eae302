/*
 * test/cuda/driver_test.cpp
 *	  The drivers of both pipelines: state machine, streaming with two buffers
 *	  and a carry-over, memory, start and stop; under the host SIMT layer.
 *
 * The layer runs what streams hold in an order that depends on a seed, as far
 * as events leave it open, and fills new memory with garbage: a missing event
 * shows as wrong data.  Batches are compared with those of the CPU backend.
 */
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C"
{
#include "../unit/texts.h"
#include "../unit/unit.h"
}
#include "../../cuda/library.h"
#include "../../cuda/memory.h"
#include "../../src/parse/convert.h"
#include "control.h"

namespace
{

enum
{
	T_AHEAD = 1,
	T_ORDER,
	T_CLOSE,
	T_MEMORY,
	T_FAILURES,
	T_AGGREGATES
};

typedef std::vector<uint8_t> Bytes;

const PpCudaLibrary *library;
const PpBackend *cuda;			/* the pipeline that is tested */
bool		fused;

bool
start(uint64_t max_bytes = UINT64_MAX)
{
	PpCudaConfig config = {sizeof(config), 0, max_bytes};
	PpCudaDevice device;
	const char *message = nullptr;
	const bool	ok = library->start(&config, &device, &message);

	EXPECT(ok && message == nullptr && device.name[0] != '\0' && device.total_bytes > 0 &&
		   device.start_seconds >= 0, "not started: %s", message == nullptr ? "" : message);
	return ok;
}

void
configure(uint32_t seed, uint32_t slice_ms = 0)
{
	SimtConfig	config = {};

	config.seed = seed;
	config.slice_ms = slice_ms;
	simt_configure(&config);
}

/* Ways of tagging, or, of the other pipeline, of states and tiles. */
void
set_options(PpTagging tagging)
{
	PpCudaOptions o = {sizeof(o), tagging, 0, 0, 2048u * tagging, tagging % 3u};

	library->set_options(&o);
}

/* Records with numbers, texts, quotes and an empty field now and then. */
Bytes
make_text(UnitRandom *r, size_t n, bool quotes)
{
	std::string s;

	for (uint32_t i = 0; s.size() < n; i++)
	{
		s += std::to_string(unit_below(r, 100000)) + "," + std::to_string(unit_below(r, 1000)) + ".25,";
		if (quotes && unit_once_in(r, 5))
			s += "\"a \"\"quoted\"\", one\nwith a line end\"";
		else
			s += std::string("text ") + std::string(unit_below(r, 30), 'x');
		s += unit_once_in(r, 7) ? ",\n" : ",2024-02-03 04:05:06\n";
	}
	return Bytes(s.begin(), s.end());
}

struct Scan
{
	UnitHeap	heap = {};
	PpColumn	column[5] = {};
	PpFilter	filter[1] = {};
	PpAggregate aggregate[8] = {};
	PpScanSpec	spec = {};

	Scan()
	{
		static const PpType type[] = {PP_INT4, PP_NUMERIC, PP_TEXT, PP_TIMESTAMP, PP_FLOAT8};

		for (uint32_t i = 0; i < 5; i++)
		{
			column[i].type = type[i];
			column[i].field = i < 4 ? i : 1;
			column[i].mod = -1;
		}
		spec.struct_size = sizeof(spec);
		spec.dialect.delimiter = ',';
		spec.dialect.quote = spec.dialect.escape = '"';
		pp_dialect_compile(&spec.dialect, PP_EOL_NL, &spec.dfa);
		spec.nfields = 4;
		spec.ncolumns = 5;
		spec.column = column;
		spec.filter = filter;
		spec.null_text = reinterpret_cast<const uint8_t *>("");
		spec.env.charset = PP_CHARSET_UTF8;
		spec.max_records = 1000000;
		spec.alloc = unit_heap_alloc(&heap);
	}

	/* The first column at least half of the greatest number. */
	void filter_half()
	{
		filter[0].column = 0;
		filter[0].op = PP_OP_GE;
		filter[0].constant = 50000;
		spec.nfilters = 1;
	}

	/* Some that the order of records does not show in. */
	void aggregate_some(UnitRandom *r)
	{
		spec.naggregates = 1 + unit_below(r, 8);
		spec.aggregate = aggregate;
		for (uint32_t i = 0; i < spec.naggregates; i++)
		{
			aggregate[i].op = (PpAggregateOp) unit_below(r, 5);
			aggregate[i].column = aggregate[i].op <= PP_AGGREGATE_COUNT ? unit_below(r, 5) :
				unit_once_in(r, 2) ? 3 : 0;
		}
	}
};

bool		may_fail;			/* a failure was injected */
bool		has_failed;

/* The device refused; a case goes wrong by that if it was not made to. */
void
refused(const char *what)
{
	has_failed = true;
	EXPECT(may_fail && library->error()[0] != '\0', "%s: %s", what, library->error());
}

const PpBatch *
poll_to_end(const PpBackend *backend, PpBackendScan *scan, uint64_t *pending = nullptr)
{
	const PpBatch *b = nullptr;
	const char *message = nullptr;

	for (uint32_t i = 0; i < 10000000; i++)
		switch (backend->poll(scan, &b, &message))
		{
			case PP_POLL_DONE:
				return b;
			case PP_POLL_FAILED:
				refused(message);
				return nullptr;
			case PP_POLL_PENDING:
				if (pending != nullptr)
					++*pending;
				break;
		}
	EXPECT(false, "makes no progress");
	return nullptr;
}

/* Is what the two say of a value the same? */
bool
same_value(const PpColumn *c, uint64_t a, uint64_t b)
{
	uint32_t	na,
				nb;

	if (!pp_type_by_reference(c->type))
		return a == b;
	const uint8_t *x = pp_varlena(a, &na);
	const uint8_t *y = pp_varlena(b, &nb);

	return na == nb && memcmp(x, y, na) == 0;
}

/* An aggregate of what is known of the selected records, and of a share of it. */
PpPartial
fold(const Scan &s, const PpBatch *b, uint32_t i)
{
	const PpAggregate *g = &s.spec.aggregate[i];
	PpPartial	p = {};
	__int128	sum = 0;

	if (b->partial != nullptr)
	{
		p = b->partial[i];
		sum = (__int128) (((unsigned __int128) (uint64_t) p.high << 64) | p.low);
	}
	for (uint32_t k = 0; k < b->nselected; k++)
	{
		const uint32_t r = b->selected == nullptr ? k : b->selected[k];
		const PpColumnData *d = &b->column[g->column];
		int64_t		v;

		if (g->op != PP_AGGREGATE_COUNT_ALL && d->state[r] != PP_VALUE)
			continue;
		p.count++;
		if (g->op <= PP_AGGREGATE_COUNT)
			continue;
		v = (int64_t) d->value[r];
		sum += v;
		if (g->op == PP_AGGREGATE_MIN && (p.count == 1 || v < (int64_t) p.low))
			p.low = (uint64_t) v;
		if (g->op == PP_AGGREGATE_MAX && (p.count == 1 || v > (int64_t) p.low))
			p.low = (uint64_t) v;
	}
	p.high = 0;
	if (g->op == PP_AGGREGATE_SUM)
	{
		p.low = (uint64_t) sum;
		p.high = (int64_t) (sum >> 64);
	}
	else if (g->op <= PP_AGGREGATE_COUNT || p.count == 0)
		p.low = 0;
	return p;
}

/* The same of batches with aggregates, of which b has given none. */
bool
same_aggregates(const Scan &s, const PpBatch *a, const PpBatch *b)
{
	uint64_t	wrong = 0;
	uint32_t	k = 0;

	EXPECT(a->nrecords == b->nrecords && a->next == b->next && a->stop == b->stop &&
		   a->nselected + a->ntaken == b->nselected && a->unknown == b->unknown,
		   "%u records up to %u, stop %d, %u selected, %u taken; but %u, %u, %d, %u expected",
		   a->nrecords, a->next, (int) a->stop, a->nselected, a->ntaken, b->nrecords, b->next,
		   (int) b->stop, b->nselected);
	if (a->nrecords != b->nrecords || a->next != b->next)
		return false;
	for (uint32_t i = 0; i < s.spec.naggregates; i++)
	{
		const PpPartial x = fold(s, a, i);
		const PpPartial y = fold(s, b, i);

		wrong += x.count != y.count || x.low != y.low || x.high != y.high;
	}
	/* what is not aggregated is what is not known, and no record is both */
	for (uint32_t i = 0; i < b->nselected && a->partial != nullptr; i++)
	{
		const uint32_t r = b->selected == nullptr ? i : b->selected[i];
		bool		known = true;

		for (uint32_t c = 0; c < s.spec.ncolumns; c++)
			known = known && (b->column[c].state[r] & ~PP_NULL) == 0;
		if (known)
			continue;
		wrong += k >= a->nselected || a->selected[k] != r;
		k++;
	}
	wrong += a->partial != nullptr && k != a->nselected;
	EXPECT(wrong == 0, "%" PRIu64 " wrong", wrong);
	return wrong == 0;
}

bool
same_batch(const Scan &s, const PpBatch *a, const PpBatch *b)
{
	uint64_t	wrong = 0;

	if (s.spec.naggregates > 0)
		return same_aggregates(s, a, b);

	EXPECT(a->nrecords == b->nrecords && a->next == b->next && a->stop == b->stop &&
		   a->nselected == b->nselected && a->unknown == b->unknown,
		   "%u records up to %u, stop %d, %u selected; but %u, %u, %d, %u expected",
		   a->nrecords, a->next, (int) a->stop, a->nselected, b->nrecords, b->next, (int) b->stop,
		   b->nselected);
	if (a->nrecords != b->nrecords || a->nselected != b->nselected || a->stop != b->stop ||
		a->next != b->next)
		return false;
	for (uint32_t i = 0; i < a->nselected; i++)
	{
		const uint32_t r = a->selected == nullptr ? i : a->selected[i];

		wrong += b->selected != nullptr && b->selected[i] != r;
		for (uint32_t c = 0; c < s.spec.ncolumns; c++)
		{
			const PpColumnData *x = &a->column[c];
			const PpColumnData *y = &b->column[c];

			wrong += x->state[r] != y->state[r] ||
				(x->state[r] == PP_VALUE && !same_value(&s.spec.column[c], x->value[r], y->value[r]));
		}
	}
	EXPECT(wrong == 0, "%" PRIu64 " wrong values", wrong);
	return wrong == 0;
}

/*
 * Pinned text: copies read it when they are executed, not when they are asked
 * for.  Made once a stream, for freeing it would execute them.
 */
struct Pinned
{
	uint8_t    *p = nullptr;
	size_t		n = 0;

	bool		make(size_t room)
	{
		p = static_cast<uint8_t *>(library->pinned_alloc(room));
		return p != nullptr;
	}

	void		fill(const uint8_t *s, size_t len, size_t front, size_t behind)
	{
		n = front + len + behind;
		memset(p, '"', n);
		memcpy(p + front, s, len);
	}

	/* What it held is not needed any more. */
	void		spoil()
	{
		memset(p, '"', n);
	}

	~Pinned()
	{
		library->pinned_free(p);
	}
};

struct StreamOutcome
{
	uint64_t	jobs = 0;
	uint64_t	announced = 0;
	uint64_t	pending = 0;
	uint64_t	output_bytes = 0;	/* greatest of a batch */
	uint64_t	used = 0;		/* of the device's memory, by the last batch */
	PpCudaStats stats = {};
};

/* Bytes that a batch's columns have. */
uint64_t
output_bytes(const Scan &s, const PpBatch *b)
{
	uint64_t	n = (uint64_t) b->nrecords * s.spec.ncolumns * 9 + (uint64_t) b->nselected * 4;

	for (uint32_t c = 0; c < s.spec.ncolumns; c++)
		for (uint32_t r = 0; pp_type_by_reference(s.spec.column[c].type) && r < b->nrecords; r++)
			if (b->nselected == b->nrecords && b->column[c].state[r] == PP_VALUE)
			{
				uint32_t	len;

				(void) pp_varlena(b->column[c].value[r], &len);
				/* a numeric's room is counted by its text */
				n += (len + 4 + 7) / 8 * 8 + (s.spec.column[c].type == PP_NUMERIC ? 16 : 0);
			}
	return n;
}

/*
 * A text in partitions, as a stream hands them over: what is left of a record
 * in front of the next bytes.  ahead: chance in 4 that the next ones are
 * announced.  Every job's text is a copy that is overwritten when it may be.
 */
StreamOutcome
stream(Scan &s, const Bytes &text, const std::vector<size_t> &partition, uint32_t ahead,
	   UnitRandom *r)
{
	StreamOutcome out;
	PpBackendScan *a = cuda->open(&s.spec);
	PpBackendScan *b = pp_backend_scalar.open(&s.spec);
	size_t		begin = 0;
	size_t		end = partition[0];
	size_t		i = 0;
	Pinned		announced[2];
	Pinned		copy;
	bool		over = a == nullptr || b == nullptr || !announced[0].make(text.size() + 1) ||
		!announced[1].make(text.size() + 1) || !copy.make(text.size() + 40 + PP_PAD);

	if (over)
		refused("open");
	while (!over)
	{
		const PpBatch *x,
				   *y;
		PpJob		job = {};
		Pinned	   *front = &announced[out.jobs % 2];
		const uint32_t offset = unit_below(r, 40);

		copy.fill(text.data() + begin, end - begin, offset, PP_PAD);
		job.text = copy.p;
		job.begin = offset;
		job.len = (uint32_t) (offset + end - begin);
		job.last = end == text.size();
		out.jobs++;
		if (!cuda->submit(a, &job) || !pp_backend_scalar.submit(b, &job))
		{
			refused("submit");
			break;
		}
		if (!job.last && unit_below(r, 4) < ahead)
		{
			const size_t next = i + 1 < partition.size() ? partition[i + 1] : text.size();
			/* what is announced is not always what comes */
			const size_t stop = unit_once_in(r, 8) && ahead < 4 ? end + (next - end) / 2 : next;

			front->fill(text.data() + end, stop - end, 0, 0);
			/* nor is it always said rightly whether it is the last */
			out.announced += cuda->ahead(a, front->p, (uint32_t) front->n,
										 (stop == text.size()) != (ahead < 4 && unit_once_in(r, 8)));
		}
		x = poll_to_end(cuda, a, &out.pending);
		if (x == nullptr)
			break;
		y = poll_to_end(&pp_backend_scalar, b);
		over = !same_batch(s, x, y);
		if (output_bytes(s, x) > out.output_bytes)
			out.output_bytes = output_bytes(s, x);
		out.used = pp_memory_counts().used;
		begin += (x->stop == PP_STOP_FIELDS ? x->bad_next : x->next) - offset;
		if (x->stop == PP_STOP_MORE)
		{
			i++;
			end = i < partition.size() ? partition[i] : text.size();
		}
		else
			over |= x->stop == PP_STOP_END || x->stop == PP_STOP_SYNTAX;
		cuda->release(a);
		pp_backend_scalar.release(b);
		copy.spoil();
		announced[out.jobs % 2].spoil();
	}
	if (a != nullptr)
	{
		library->stats(a, &out.stats);
		cuda->close(a);
	}
	if (b != nullptr)
		pp_backend_scalar.close(b);
	EXPECT(s.heap.live_blocks == 0, "%zu blocks of memory left behind", s.heap.live_blocks);
	EXPECT(simt_reports() == 0 || may_fail, "%s", simt_last_report());
	simt_clear_reports();
	return out;
}

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
		const uint32_t spoiled = unit_once_in(&r, 3) ? 2 : 40;
		Bytes		text = make_text(&r, 200 + unit_below(&r, 4000), unit_once_in(&r, 3));
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
