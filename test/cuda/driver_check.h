/*
 * test/cuda/driver_check.h
 *	  A stream of partitions through a pipeline of the device library, batch by
 *	  batch beside the CPU backend: what the tests of the drivers share.
 *
 * Not for product code.  Text that a driver may not look at any more is spoilt
 * on purpose.
 */
#ifndef DRIVER_CHECK_H
#define DRIVER_CHECK_H

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

/* of its one program */
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

/*
 * Records with numbers, texts, quotes and an empty field now and then; odd: with
 * numbers that are equal, but not the same.
 */
inline Bytes
make_text(UnitRandom *r, size_t n, bool quotes, bool odd = false)
{
	static const char *const same[] = {"0", "-0", "0.00", "-0.0", "1.5", "1.50", "-1.50", "-1.5", "1000.25", "1000.2500"};
	std::string s;

	for (uint32_t i = 0; s.size() < n; i++)
	{
		s += std::to_string(unit_below(r, 100000)) + ",";
		s += odd ? std::string(same[unit_below(r, 10)]) : std::to_string(unit_below(r, 1000)) + ".25";
		s += ",";
		if (quotes && unit_once_in(r, 5))
			s += "\"a \"\"quoted\"\", one\nwith a line end\"";
		else
			s += std::string("text ") + std::string(unit_below(r, 30), 'x');
		s += unit_once_in(r, 7) ? ",\n" : ",2024-02-03 04:05:06\n";
	}
	return Bytes(s.begin(), s.end());
}

inline bool
is_numeric(PpAggregateOp op)
{
	return op == PP_AGGREGATE_SUM_NUMERIC || op == PP_AGGREGATE_MIN_NUMERIC ||
		op == PP_AGGREGATE_MAX_NUMERIC;
}

/* A numeric of the texts of these tests, as a multiple of 1/10000. */
inline __int128
fixed_value(uint64_t datum, uint32_t *scale)
{
	const PpNumericParts p = pp_numeric_parts(datum);
	uint32_t	len;
	const uint8_t *header = pp_varlena(datum, &len);
	__int128	v = 0;

	for (int32_t i = 0; i <= p.weight + 1; i++)
		v = v * 10000 + ((uint32_t) i < p.ndigits ? p.digits[2 * i] | p.digits[2 * i + 1] << 8 : 0);
	*scale = header[1] & 0x80 ? (header[0] | header[1] << 8) >> 7 & 63 : header[0];
	return p.sign < 0 ? -v : v;
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
			do
				aggregate[i].op = (PpAggregateOp) unit_below(r, PP_AGGREGATE_MAX_NUMERIC + 1);
			while (aggregate[i].op == PP_AGGREGATE_MIN_FLOAT4 || aggregate[i].op == PP_AGGREGATE_MAX_FLOAT4);
			aggregate[i].column = aggregate[i].op <= PP_AGGREGATE_COUNT ? unit_below(r, 5) :
				aggregate[i].op <= PP_AGGREGATE_MAX ? (unit_once_in(r, 2) ? 3 : 0) :
				is_numeric(aggregate[i].op) ? 1 : 4;
			aggregate[i].fraction = is_numeric(aggregate[i].op) ? 1 : 0;
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
		const uint32_t r = pp_batch_at(b, k);
		const PpColumnData *d = &b->column[g->column];
		int64_t		v;

		if (g->op != PP_AGGREGATE_COUNT_ALL && d->state[r] != PP_VALUE)
			continue;
		p.count++;
		if (g->op <= PP_AGGREGATE_COUNT)
			continue;
		if (is_numeric(g->op))
		{
			uint32_t	scale;
			const __int128 w = fixed_value(d->value[r], &scale);

			if (g->op == PP_AGGREGATE_SUM_NUMERIC)
			{
				sum += w;
				p.scale = std::max(p.scale, scale);
			}
			else if (p.count == 1 || (g->op == PP_AGGREGATE_MIN_NUMERIC ? w <= sum : w >= sum))
			{
				sum = w;
				p.scale = scale;
			}
			continue;
		}
		if (pp_aggregate_is_ranked(g->op))
		{
			const int32_t order = pp_compare_float8(pp_bits_to_double(d->value[r]), pp_bits_to_double(p.low));

			if (p.count == 1 || (g->op == PP_AGGREGATE_MIN_FLOAT8 ? order <= 0 : order >= 0))
				p.low = d->value[r];
			continue;
		}
		v = (int64_t) d->value[r];
		sum += v;
		if (g->op == PP_AGGREGATE_MIN && (p.count == 1 || v < (int64_t) p.low))
			p.low = (uint64_t) v;
		if (g->op == PP_AGGREGATE_MAX && (p.count == 1 || v > (int64_t) p.low))
			p.low = (uint64_t) v;
	}
	p.high = 0;
	p.fraction = 0;
	if (g->op == PP_AGGREGATE_SUM || is_numeric(g->op))
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
	bool		ranked = false;

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

		wrong += x.count != y.count || x.low != y.low || x.high != y.high || x.scale != y.scale;
		ranked = ranked || pp_aggregate_is_ranked(s.spec.aggregate[i].op);
	}
	/* what is not aggregated is what is not known, or all, and no record is both */
	for (uint32_t i = 0; i < b->nselected && a->partial != nullptr; i++)
	{
		const uint32_t r = pp_batch_record(b, i);
		bool		known = !ranked || a->nselected == 0;

		for (uint32_t c = 0; c < s.spec.ncolumns; c++)
			known = known && (b->column[c].state[pp_batch_at(b, i)] & ~PP_NULL) == 0;
		if (known)
			continue;
		wrong += k >= a->nselected || a->selected[k] != r;
		k++;
	}
	wrong += a->partial != nullptr && k != a->nselected;
	wrong += ranked && a->partial != nullptr && a->nselected > 0 && a->ntaken > 0;
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
		const uint32_t p = pp_batch_at(a, i);
		const uint32_t q = pp_batch_at(b, i);

		wrong += pp_batch_record(a, i) != pp_batch_record(b, i);
		for (uint32_t c = 0; c < s.spec.ncolumns; c++)
		{
			const PpColumnData *x = &a->column[c];
			const PpColumnData *y = &b->column[c];

			wrong += x->state[p] != y->state[q] ||
				(x->state[p] == PP_VALUE && !same_value(&s.spec.column[c], x->value[p], y->value[q]));
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

}								/* namespace */

#endif							/* DRIVER_CHECK_H */
