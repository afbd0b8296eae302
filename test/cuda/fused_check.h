/*
 * test/cuda/fused_check.h
 *	  What the tests of the fused pipeline's columns share: a job with all its
 *	  device memory, and the CPU backend's answer to the same text.
 *
 * Included once a program.
 */
#ifndef FUSED_CHECK_H
#define FUSED_CHECK_H

#include <algorithm>
#include <cstdio>

#include "device_check.h"

#include "../../cuda/fused.h"
#include "../../src/parse/convert.h"
extern "C"
{
#include "../unit/texts.h"
}

namespace
{

/* A scan and its text. */
struct FusedCase
{
	PpDialect	dialect = {',', '"', '"', false};
	PpEol		eol = PP_EOL_NL;
	Bytes		text;
	bool		last = true;
	uint32_t	nfields = 1;
	std::vector<PpColumn> column;
	std::vector<bool> late;		/* empty: no column is */
	Bytes		null_text;
	Bytes		default_text;
	bool		has_default = false;
	PpCharset	charset = PP_CHARSET_UTF8;
	std::vector<PpZoneSpan> zone;
	std::vector<PpFilter> filter;
	std::vector<PpAggregate> aggregate;

	uint32_t	room = 0;		/* 0: as many records as the text may have */
	uint32_t	thread_bytes = 256;
	uint32_t	tile_bytes = PP_FUSED_MIN_TILE;
	uint32_t	skew = 0;		/* of the text's address */
	uint64_t	heap_room = UINT64_MAX; /* ... more than is needed */
	uint32_t	longs_room = UINT32_MAX;
};

/* What comes of it: columns[c][i] of record number[i]. */
struct Value
{
	uint8_t		state = 0xff;
	uint64_t	datum = 0;		/* 0 of values by reference */
	Bytes		bytes;			/* of values by reference */
};

struct Columns
{
	std::vector<std::vector<Value>> column;
	std::vector<uint32_t> number;	/* records that these are */
	uint32_t	nrecords = 0;
	uint64_t	ndeferred = 0;
	bool		unknown = false;
};

/* Bytes of a value by reference. */
Bytes
bytes_of_value(PpType type, const uint8_t *p)
{
	uint32_t	n = type == PP_UUID ? 16 : type == PP_NAME ? 64 : 0;

	if (n == 0)
	{
		memcpy(&n, p, 4);
		n >>= 2;
	}
	return Bytes(p, p + n);
}

/*
 * The CPU backend's answer.
 */
inline Columns
cpu_columns(const FusedCase &c)
{
	UnitHeap	heap = {};
	PpScanSpec	spec = {};
	PpJob		job = {};
	PpBackendScan *scan;
	const PpBatch *batch = nullptr;
	const char *message = nullptr;
	Bytes		text = c.text;
	Columns		out;

	text.resize(text.size() + PP_PAD, '"');
	spec.struct_size = sizeof(spec);
	spec.dialect = c.dialect;
	pp_dialect_compile(&c.dialect, c.eol, &spec.dfa);
	spec.nfields = c.nfields;
	spec.ncolumns = (uint32_t) c.column.size();
	spec.column = c.column.data();
	spec.nfilters = (uint32_t) c.filter.size();
	spec.filter = c.filter.data();
	spec.null_text = c.null_text.data();
	spec.null_len = (uint32_t) c.null_text.size();
	spec.has_default = c.has_default;
	spec.default_text = c.default_text.data();
	spec.default_len = (uint32_t) c.default_text.size();
	spec.env.charset = c.charset;
	spec.env.zone = c.zone.data();
	spec.env.nzone = (uint32_t) c.zone.size();
	spec.max_records = c.room == 0 ? (uint32_t) c.text.size() + 1 : c.room;
	spec.alloc = unit_heap_alloc(&heap);
	job.text = text.data();
	job.len = (uint32_t) c.text.size();
	job.last = c.last;
	scan = pp_backend_scalar.open(&spec);
	EXPECT(scan != nullptr && pp_backend_scalar.submit(scan, &job), "the CPU backend does not start");
	while (pp_backend_scalar.poll(scan, &batch, &message) == PP_POLL_PENDING)
		continue;
	EXPECT(batch != nullptr, "the CPU backend fails");
	if (batch)
	{
		out.nrecords = batch->nrecords;
		out.unknown = batch->unknown;
		out.ndeferred = batch->ndeferred;
		for (uint32_t i = 0; i < (batch->selected ? batch->nselected : batch->nrecords); i++)
			out.number.push_back(batch->selected ? batch->selected[i] : i);
		for (uint32_t k = 0; k < spec.ncolumns; k++)
		{
			std::vector<Value> column;

			for (uint32_t r : out.number)
			{
				Value		v;

				v.state = batch->column[k].state[r];
				if (v.state == PP_VALUE && pp_type_by_reference(c.column[k].type))
					v.bytes = bytes_of_value(c.column[k].type,
											 reinterpret_cast<const uint8_t *>(batch->column[k].value[r]));
				else if (v.state == PP_VALUE)
					v.datum = batch->column[k].value[r];
				column.push_back(v);
			}
			out.column.push_back(column);
		}
		pp_backend_scalar.release(scan);
	}
	pp_backend_scalar.close(scan);
	return out;
}

/* Where the host would have the heap: nowhere. */
constexpr uint64_t HOST_HEAP = 0x100000000000;

/* A job on the device, with guarded memory of just the sizes that it says. */
struct FusedRun
{
	const FusedCase &c;
	Stream		stream;
	uint32_t	room;
	uint32_t	ncolumns;
	uint64_t	heap_room;
	uint32_t	longs_room;
	Device<uint8_t> text;
	Device<PpPaperScan> scan;
	Device<uint8_t> markers;
	Device<PpZoneSpan> zone;
	Device<PpFusedColumn> column;
	Device<uint64_t> value;
	Device<uint8_t> state;
	Device<uint64_t> heap;
	Device<PpFusedLong> longs;
	Device<uint64_t> tiles;
	Device<PpFusedResult> result;
	PpFusedJob	job = {};
	PpStageClock clock = {};
	bool		is_sound;

	static uint64_t
	enough_heap(const FusedCase &c)
	{
		uint64_t	n = 64;

		for (const PpColumn &col : c.column)
			n += 2 * c.text.size() + (c.text.size() + 1) * (72 + (uint64_t) (col.type == PP_BPCHAR && col.mod > 0 ? col.mod : 0) / 8) + 8 * PP_PAD;
		return n;
	}

	explicit FusedRun(const FusedCase &of)
		: c(of), room(c.room == 0 ? (uint32_t) c.text.size() + 1 : c.room),
		  ncolumns((uint32_t) c.column.size()),
		  heap_room(c.heap_room == UINT64_MAX ? enough_heap(c) / 8 * 8 : c.heap_room),
		  longs_room(c.longs_room == UINT32_MAX ? room * ncolumns : c.longs_room),
		  text(c.skew + c.text.size() + PP_PAD), scan(1), markers(c.null_text.size() + c.default_text.size()),
		  zone(c.zone.size()), column(ncolumns), value((size_t) ncolumns * room),
		  state((size_t) ncolumns * room), heap(heap_room / 8), longs(longs_room),
		  tiles(pp_fused_tiles_bytes((uint32_t) c.text.size(), c.tile_bytes) / 8 + 1), result(1)
	{
		PpDfa		dfa;
		Bytes		padded(c.skew, ',');
		Bytes		marker = c.null_text;
		std::vector<PpFusedColumn> columns;
		PpPaperScan s = {};

		padded.insert(padded.end(), c.text.begin(), c.text.end());
		padded.resize(padded.size() + PP_PAD, c.dialect.quote);
		text.put(padded.data(), padded.size(), stream.s);
		s.env.charset = c.charset;
		s.env.nzone = (uint32_t) c.zone.size();
		s.env.zone = zone.p;
		s.null_text = markers.p;
		s.null_len = (uint32_t) c.null_text.size();
		s.default_text = markers.p + c.null_text.size();
		s.default_len = (uint32_t) c.default_text.size();
		s.has_default = c.has_default;
		s.thread_bytes = c.thread_bytes;
		scan.put(&s, 1, stream.s);
		marker.insert(marker.end(), c.default_text.begin(), c.default_text.end());
		markers.put(marker.data(), marker.size(), stream.s);
		zone.put(c.zone.data(), c.zone.size(), stream.s);
		for (uint32_t k = 0; k < ncolumns; k++)
			columns.push_back(pp_fused_column(&c.column[k], k < c.late.size() && c.late[k]));
		column.put(columns.data(), ncolumns, stream.s);

		pp_dialect_compile(&c.dialect, c.eol, &dfa);
		is_sound = pp_fused_states(&job, &c.dialect, &dfa, PP_FUSED_PARITY);
		job.tile_bytes = c.tile_bytes;
		job.text = text.p + c.skew;
		job.n = (uint32_t) c.text.size();
		job.last = c.last;
		job.nfields = c.nfields;
		job.scan = scan.p;
		job.column = column.p;
		job.ncolumns = ncolumns;
		job.room = room;
		job.value = value.p;
		job.state = state.p;
		job.heap = reinterpret_cast<uint8_t *>(heap.p);
		job.heap_room = heap_room;
		job.host_heap = HOST_HEAP;
		job.longs = longs.p;
		job.longs_room = longs_room;
		job.tiles = tiles.p;
		job.result = result.p;
		/* what was put from memory of this function is there before it ends */
		CUDA(cudaStreamSynchronize(stream.s));
	}

	/* The pass and what belongs to it; answers the result. */
	PpFusedResult
	pass(void)
	{
		CUDA(pp_fused_parse(&job, &clock, stream.s));
		CUDA(pp_fused_long(&job, &clock, stream.s));
		return get(result.p, 1, stream.s)[0];
	}

	/* Columns out of arrays of the device, of `stride` values each. */
	Columns
	fetch(const uint64_t *values, const uint8_t *states, uint32_t stride,
		  const std::vector<uint32_t> &number, bool dense)
	{
		const std::vector<uint64_t> v = get(values, (size_t) ncolumns * stride, stream.s);
		const std::vector<uint8_t> st = get(states, (size_t) ncolumns * stride, stream.s);
		const std::vector<uint64_t> h = get(heap.p, heap_room / 8, stream.s);
		const uint8_t *bytes = reinterpret_cast<const uint8_t *>(h.data());
		Columns		out;

		out.number = number;
		for (uint32_t k = 0; k < ncolumns; k++)
		{
			const bool	by_reference = pp_type_by_reference(c.column[k].type);
			std::vector<Value> column_values;

			for (size_t i = 0; i < number.size(); i++)
			{
				const size_t at = (size_t) k * stride + (dense ? i : number[i]);
				Value		x;

				x.state = st[at];
				if (x.state == PP_VALUE && by_reference)
				{
					const uint64_t offset = v[at] - HOST_HEAP;

					EXPECT(offset % 8 == 0 && offset < heap_room, "column %u, value %zu: address %llx", k, i,
						   (unsigned long long) v[at]);
					if (offset % 8 == 0 && offset < heap_room)
						x.bytes = bytes_of_value(c.column[k].type, bytes + offset);
				}
				else if (x.state == PP_VALUE)
					x.datum = v[at];
				else
					EXPECT(v[at] == 0, "column %u, value %zu: state %u, but value %llx", k, i, x.state,
						   (unsigned long long) v[at]);
				column_values.push_back(x);
			}
			out.column.push_back(column_values);
		}
		return out;
	}

	Columns
	all(const PpFusedResult &r)
	{
		std::vector<uint32_t> number;
		Columns		out;

		for (uint32_t i = 0; i < r.structure.nrecords; i++)
			number.push_back(i);
		out = fetch(value.p, state.p, room, number, false);
		out.nrecords = r.structure.nrecords;
		out.ndeferred = r.ndeferred;
		return out;
	}
};

/*
 * Are they the same?  A value may be handed over instead, if `lenient`; answers
 * how many are, of those that the CPU has.
 */
inline uint64_t
check_columns(const FusedCase &c, const Columns &g, const Columns &w, bool lenient)
{
	uint64_t	more = 0;
	uint64_t	deferred = 0;

	EXPECT(g.nrecords == w.nrecords, "%u records, not %u", g.nrecords, w.nrecords);
	EXPECT(g.number == w.number, "%zu records, not %zu, or others", g.number.size(), w.number.size());
	if (g.number != w.number)
		return 0;
	for (size_t k = 0; k < c.column.size(); k++)
		for (size_t i = 0; i < g.number.size(); i++)
		{
			const Value &a = g.column[k][i];
			const Value &b = w.column[k][i];

			deferred += a.state == PP_DEFERRED;
			if (lenient && a.state == PP_DEFERRED && b.state == PP_VALUE)
			{
				more++;
				continue;
			}
			EXPECT(a.state == b.state, "column %zu (type %d), record %u: state %u, not %u", k,
				   (int) c.column[k].type, g.number[i], a.state, b.state);
			EXPECT(a.state != b.state || (a.datum == b.datum && a.bytes == b.bytes),
				   "column %zu (type %d), record %u: %llx %s, not %llx %s", k, (int) c.column[k].type,
				   g.number[i], (unsigned long long) a.datum, unit_show(a.bytes.data(), a.bytes.size()),
				   (unsigned long long) b.datum, unit_show(b.bytes.data(), b.bytes.size()));
		}
	EXPECT(!c.filter.empty() || g.ndeferred == deferred, "%llu are said to be handed over, %llu are",
		   (unsigned long long) g.ndeferred, (unsigned long long) deferred);
	return more;
}

}								/* namespace */

#endif							/* FUSED_CHECK_H */
