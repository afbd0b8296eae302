/*
 * cuda/fused_driver.cu
 *	  The pipeline "fused" of the backend "cuda (fused)": its buffers, and what is
 *	  to be done next on the device.
 *
 * A partition passes through these steps; behind each, its result comes back to
 * the host (PpFusedResult):
 *
 *		pass		from text to columns, copies of long values; then filters and
 *					aggregates, if there are any
 *		columns		those of the records that are left, if some are not
 *
 * Then columns go out, as they are: without filters and aggregates, value c *
 * room + r; else densely (PpBatch.compact).
 *
 * How many records a partition has, and how many bytes its values take, is not
 * known in front of the pass.  Room is made for as many as there were at most so
 * far, by the bytes of text, and some more.  Where records are more than that,
 * the batch ends earlier (PP_STOP_FULL); where values take more, the partition
 * is passed over again, with as much as they do take.
 */
#include "driver.h"
#include "fused.h"

#include "../src/parse/convert.h"

#include <cstring>

namespace
{

/* Bytes of text that a value and its delimiter have, while nothing is known. */
constexpr uint32_t GUESS_BYTES = 4;

/* Values for which there is room whatever is thought of the text. */
constexpr uint32_t LEAST_VALUES = 8192;
constexpr uint32_t LEAST_HEAP = 4096;

/*
 * A text up to this size gets all the room that its values may take while nothing
 * is known, as the first partition of a stream does: so many bytes for each of a
 * value of one byte, its delimiter included, which takes eight.
 */
constexpr uint32_t SHORT_TEXT = 2 * 1024 * 1024;
constexpr uint32_t SHORT_PARTS = 4;

/* More room than there was use for so far, as a part of it. */
constexpr uint32_t MARGIN_PART = 16;

/*
 * With filters or aggregates, values of all records are there besides those that
 * are returned, and for each record a flag and a number: together, at most so
 * many bytes for 16 of text.
 */
constexpr uint32_t SELECT_PARTS = 16;
constexpr uint32_t SELECT_MOST = 24;
constexpr uint32_t SELECT_BYTES = 5;
constexpr uint32_t VALUE_BYTES = 9;

/* As many bytes as take the time of one copy more to the host. */
constexpr size_t COPY_WASTE = 65536;

/* Passes over a partition: values and longs may each be more than thought. */
constexpr uint32_t MOST_PASSES = 4;

/* The list of selected records that has none. */
constexpr uint32_t NO_RECORD = 0;

/* Steps of a slot. */
enum
{
	STEP_PASS,
	STEP_COLUMNS
};

/* What comes back to the host. */
struct Reports
{
	PpFusedResult result;
	PpPartial	partial[1];		/* [naggregates + 1], the last counts records */
};

struct FusedSlot : PpSlot
{
	PpFusedJob	job;
	PpSelectJob select;
	uint32_t	passes;
	bool		with_end;		/* the pass notes where fields end */
	PpBuffer	values;			/* what goes out: values, states, and, where records
								 * are selected, their numbers */
	PpBuffer	values_host;
	PpBuffer	heap;
	PpBuffer	heap_host;
	PpBuffer	filter_host;
};

/* The most there was of something, a byte of text. */
struct Density
{
	double		most;
	uint64_t	bytes;			/* the longest text it was taken from; 0: none */
};

struct FusedRun : PpDriverScan
{
	PpTables	tables;
	const PpPaperScan *scan;
	const PpFusedColumn *column;
	const PpAggregate *aggregate;	/* [naggregates + 1] */
	PpPaperFilter *filter;		/* of the host */
	bool		selecting;		/* there are filters or aggregates */
	bool		deferring;		/* there is a column without conversion */
	uint32_t	nreferences;	/* columns by reference */
	uint32_t	most;			/* columns that a field is projected to */
	uint32_t	npadded;		/* columns padded to more than a thread converts */
	PpFusedJob	dialect;		/* what jobs say of it */

	Density		records;
	Density		heap_bytes;
	uint64_t	most_longs;

	/* scratch memory, of the stream `work` */
	PpBuffer	pass;			/* result, partials, table of filters, tiles */
	PpBuffer	longs;
	PpBuffer	found;			/* if selecting: all values and states ... */
	PpBuffer	selection;		/* ... flags, numbers */
};

FusedRun *
run_of(PpDriverScan *s)
{
	return static_cast<FusedRun *>(s);
}

FusedSlot *
slot_of(PpSlot *t)
{
	return static_cast<FusedSlot *>(t);
}

Reports *
reports(FusedSlot *t)
{
	return reinterpret_cast<Reports *>(t->reports.p);
}

size_t
reports_bytes(const FusedRun *s)
{
	return sizeof(Reports) + s->spec->naggregates * sizeof(PpPartial);
}

/* Where things are in the scratch memory of a pass. */
struct PassLayout
{
	size_t		partial;
	size_t		filter;
	size_t		tiles;
	size_t		size;
};

PassLayout
lay_out_pass(const FusedRun *s, uint32_t n)
{
	PassLayout	l;

	l.partial = pp_align256(sizeof(PpFusedResult));
	l.filter = l.partial + pp_align256((s->spec->naggregates + 1) * sizeof(PpPartial));
	l.tiles = l.filter + pp_align256(s->spec->nfilters * sizeof(PpPaperFilter));
	l.size = l.tiles + pp_fused_tiles_bytes(n, s->dialect.tile_bytes);
	return l;
}

/* A short text says little of a long one, unless that was cut to be short. */
void
learn(Density *d, double amount, uint64_t bytes, bool cut)
{
	if (bytes == 0 || (bytes < d->bytes / 4 && !cut))
		return;
	if (d->bytes < bytes / 4 || amount / (double) bytes > d->most)
		d->most = amount / (double) bytes;
	if (bytes > d->bytes)
		d->bytes = bytes;
}

/* Room for the records of n bytes. */
uint32_t
room_for(const FusedRun *s, uint32_t n)
{
	const PpScanSpec *spec = s->spec;
	const uint64_t width = spec->nfields > 0 ? spec->nfields : 1;
	const uint64_t widest = width > spec->ncolumns ? width : spec->ncolumns;
	const uint64_t least = LEAST_VALUES / (spec->ncolumns > 0 ? spec->ncolumns : 1);
	/* by the largest partition, since that is what buffers have the size of */
	const uint64_t bound = (uint64_t) s->largest * SELECT_MOST / SELECT_PARTS /
		(VALUE_BYTES * spec->ncolumns + SELECT_BYTES);
	uint64_t	room = n / (width * GUESS_BYTES);

	if (s->records.bytes > 0)
	{
		room = (uint64_t) (s->records.most * n) + 1;
		room += room / MARGIN_PART + 16;
	}
	if (s->selecting && room > bound)
		room = bound;
	if (room < least)
		room = least;
	/* the last record may have no line end */
	if (room > n / width + 1)
		room = n / width + 1;
	if (room > spec->max_records)
		room = spec->max_records;
	if (room > INT32_MAX / widest)
		room = INT32_MAX / widest;
	return room > 0 ? (uint32_t) room : 1;
}

/*
 * Room for the values by reference of n bytes.  While nothing is known, all of a
 * text may be in columns by reference, however few of them there are, with a
 * header and some padding for each value; where memory is limited, less is tried.
 */
uint64_t
heap_for(const FusedRun *s, uint32_t n)
{
	const uint64_t width = s->spec->nfields > 0 ? s->spec->nfields : 1;
	uint64_t	size;

	if (s->nreferences == 0)
		return 0;
	if (s->heap_bytes.bytes > 0)
	{
		size = (uint64_t) (s->heap_bytes.most * n);
		size += size / MARGIN_PART;
	}
	else
	{
		size = (uint64_t) n * s->most * (n <= SHORT_TEXT ? SHORT_PARTS : 1);
		if (n > SHORT_TEXT)
			size += (uint64_t) n * s->nreferences / width;
		if (size > pp_memory_left())
			size = (uint64_t) n * s->nreferences / width;
	}
	return (size + LEAST_HEAP + 7) / 8 * 8;
}

/* Values that are too long for one thread: as many as there is text for. */
uint32_t
longs_for(const FusedRun *s, uint32_t n, uint32_t room)
{
	uint64_t	longs = (uint64_t) s->most * (n / (s->options.thread_bytes + 1)) + 64;
	const uint64_t all = (uint64_t) s->nreferences * room;

	longs += (uint64_t) s->npadded * room;
	if (longs > all)
		longs = all;
	if (longs < s->most_longs)
		longs = s->most_longs;
	return (uint32_t) longs;
}

/* The filters, now that it is known where their columns are. */
bool
set_filters(FusedRun *s, FusedSlot *t, uint8_t *device)
{
	const uint32_t nfilters = s->spec->nfilters;
	const PpFusedJob *job = &t->job;
	PpPaperFilter *host;

	if (!pp_driver_reserve(s, &t->filter_host, nfilters * sizeof(PpPaperFilter)))
		return false;
	host = reinterpret_cast<PpPaperFilter *>(t->filter_host.p);
	for (uint32_t i = 0; i < nfilters; i++)
	{
		const size_t at = (size_t) s->filter[i].filter.column * job->room;

		host[i] = s->filter[i];
		host[i].value = job->value + at;
		host[i].state = job->state + at;
		host[i].to_device = reinterpret_cast<uintptr_t>(job->heap) - job->host_heap;
	}
	return pp_frame_copy(s, device, host, nfilters * sizeof(PpPaperFilter), cudaMemcpyHostToDevice,
						 s->work);
}

/* Filters and aggregates behind the pass. */
bool
select_records(FusedRun *s, FusedSlot *t, const PassLayout *l)
{
	PpSelectJob *job = &t->select;
	const uint32_t room = t->job.room;
	const size_t numbers_at = pp_align256(room);
	const size_t temp_at = numbers_at + pp_align256((size_t) room * sizeof(uint32_t));

	memset(job, 0, sizeof(*job));
	if (!pp_frame_launched(s, pp_select_temp(room, &job->temp_bytes)) ||
		!pp_driver_reserve(s, &s->selection, temp_at + job->temp_bytes) ||
		!set_filters(s, t, s->pass.p + l->filter))
		return false;
	job->job = &t->job;
	job->filter = reinterpret_cast<const PpPaperFilter *>(s->pass.p + l->filter);
	job->nfilters = s->spec->nfilters;
	job->aggregate = s->aggregate;
	job->naggregates = s->spec->naggregates > 0 ? s->spec->naggregates + 1 : 0;
	for (uint32_t i = 0; i < s->spec->naggregates; i++)
		job->ranked = job->ranked || pp_aggregate_is_ranked(s->spec->aggregate[i].op);
	job->partial = reinterpret_cast<PpPartial *>(s->pass.p + l->partial);
	job->flag = s->selection.p;
	job->selected = reinterpret_cast<uint32_t *>(s->selection.p + numbers_at);
	job->temp = s->selection.p + temp_at;
	return pp_frame_launched(s, pp_select_run(job, &t->clock, s->work)) &&
		pp_frame_copy(s, reports(t)->partial, job->partial, job->naggregates * sizeof(PpPartial),
					  cudaMemcpyDeviceToHost, s->work);
}

/* The result of a step back to the host. */
bool
report(FusedRun *s, FusedSlot *t, uint32_t step)
{
	return pp_frame_copy(s, &reports(t)->result, t->job.result, sizeof(PpFusedResult),
						 cudaMemcpyDeviceToHost, s->work) &&
		pp_driver_end_step(s, t, step);
}

/* A pass over the slot's text, for which there is room as its job says. */
bool
pass(FusedRun *s, FusedSlot *t)
{
	PpFusedJob *job = &t->job;
	const uint32_t ncolumns = s->spec->ncolumns;
	const size_t nvalues = (size_t) ncolumns * job->room;
	const PassLayout l = lay_out_pass(s, job->n);
	PpBuffer   *values = s->selecting ? &s->found : &t->values;

	if (!pp_driver_reserve(s, &s->pass, l.size) ||
		!pp_driver_reserve(s, values, nvalues * VALUE_BYTES) ||
		(!s->selecting && !pp_driver_reserve(s, &t->values_host, nvalues * VALUE_BYTES)) ||
		!pp_driver_reserve(s, &t->heap, job->heap_room) ||
		!pp_driver_reserve(s, &t->heap_host, job->heap_room) ||
		!pp_driver_reserve(s, &s->longs, job->longs_room * sizeof(PpFusedLong)) ||
		(t->with_end && !pp_driver_reserve_end(s, t, job->room)))
		return false;
	job->value = reinterpret_cast<uint64_t *>(values->p);
	job->state = values->p + nvalues * sizeof(uint64_t);
	job->heap = t->heap.p;
	job->host_heap = reinterpret_cast<uintptr_t>(t->heap_host.p);
	job->longs = reinterpret_cast<PpFusedLong *>(s->longs.p);
	job->end = t->with_end ? reinterpret_cast<uint32_t *>(t->end.p) : nullptr;
	job->tiles = s->pass.p + l.tiles;
	job->result = reinterpret_cast<PpFusedResult *>(s->pass.p);
	t->passes++;
	return pp_frame_launched(s, pp_fused_parse(job, &t->clock, s->work)) &&
		(ncolumns == 0 || pp_frame_launched(s, pp_fused_long(job, &t->clock, s->work))) &&
		(!s->selecting || select_records(s, t, &l)) &&
		report(s, t, STEP_PASS);
}

bool
fused_start(PpDriverScan *scan, PpSlot *slot)
{
	FusedRun   *s = run_of(scan);
	FusedSlot  *t = slot_of(slot);
	const PpScanSpec *spec = s->spec;
	PpFusedJob *job = &t->job;

	*job = s->dialect;
	job->text = t->input.p + t->offset;
	job->n = t->n;
	job->last = t->last;
	job->nfields = spec->nfields;
	job->scan = s->scan;
	job->column = s->column;
	job->ncolumns = spec->ncolumns;
	job->room = room_for(s, t->n);
	job->heap_room = heap_for(s, t->n);
	job->longs_room = longs_for(s, t->n, job->room);
	t->with_end = spec->has_default || s->deferring || (spec->ncolumns == 0 && !spec->unlisted);
	t->passes = 0;
	s->stats.partitions_by_states[job->states]++;
	return pass(s, t);
}

/*
 * Was there not enough room for values?  Then the pass is done again with more;
 * what it wants does not depend on the room.
 */
bool
needs_more(FusedRun *s, FusedSlot *t)
{
	const PpFusedResult *r = &reports(t)->result;
	PpFusedJob *job = &t->job;

	if (r->nlongs > s->most_longs)
		s->most_longs = r->nlongs;
	if (r->structure.nrecords == 0 || t->passes >= MOST_PASSES ||
		(r->heap_bytes <= job->heap_room && r->nlongs <= job->longs_room))
		return false;
	if (r->heap_bytes > job->heap_room)
		job->heap_room = (r->heap_bytes + 7) / 8 * 8;
	if (r->nlongs > job->longs_room)
		job->longs_room = r->nlongs;
	return true;
}

/* Columns of the selected records. */
bool
compact(FusedRun *s, FusedSlot *t)
{
	const size_t nvalues = (size_t) s->spec->ncolumns * t->nselected;
	const size_t numbers_at = pp_align16(nvalues * VALUE_BYTES);
	const size_t numbers_bytes = (size_t) t->nselected * sizeof(uint32_t);

	return pp_driver_reserve(s, &t->values, numbers_at + numbers_bytes) &&
		pp_driver_reserve(s, &t->values_host, numbers_at + numbers_bytes) &&
		pp_frame_copy(s, t->values.p + numbers_at, t->select.selected, numbers_bytes,
					  cudaMemcpyDeviceToDevice, s->work) &&
		pp_frame_launched(s, pp_select_columns(&t->select, t->nselected,
											   reinterpret_cast<uint64_t *>(t->values.p),
											   t->values.p + nvalues * sizeof(uint64_t),
											   &t->clock, s->work)) &&
		report(s, t, STEP_COLUMNS);
}

/* Where fields end, if that shows to be needed behind the pass. */
bool
list_fields(FusedRun *s, FusedSlot *t)
{
	PpFusedJob	job = t->job;

	if (!pp_driver_reserve_end(s, t, t->result.nrecords))
		return false;
	job.ncolumns = 0;
	job.room = t->result.nrecords;
	job.end = reinterpret_cast<uint32_t *>(t->end.p);
	return pp_frame_launched(s, pp_fused_parse(&job, &t->clock, s->work));
}

/* Columns of all records out: all rooms at once, unless much of them is empty. */
bool
copy_columns(FusedRun *s, FusedSlot *t)
{
	const PpFusedJob *job = &t->job;
	const size_t room = job->room;
	const size_t n = t->result.nrecords;
	const size_t states_at = job->ncolumns * room * sizeof(uint64_t);

	if ((room - n) * VALUE_BYTES < 2 * COPY_WASTE)
		return pp_frame_copy(s, t->values_host.p, t->values.p, job->ncolumns * room * VALUE_BYTES,
							 cudaMemcpyDeviceToHost, s->out);
	for (uint32_t c = 0; c < job->ncolumns; c++)
	{
		const size_t at = c * room * sizeof(uint64_t);
		const size_t state_at = states_at + c * room;

		if (!pp_frame_copy(s, t->values_host.p + at, t->values.p + at, n * sizeof(uint64_t),
						   cudaMemcpyDeviceToHost, s->out) ||
			!pp_frame_copy(s, t->values_host.p + state_at, t->values.p + state_at, n,
						   cudaMemcpyDeviceToHost, s->out))
			return false;
	}
	return true;
}

/* Keys of the records that were taken to where they are to stay. */
bool
sink_keys(FusedRun *s, FusedSlot *t)
{
	const PpPartial *records = &reports(t)->partial[s->spec->naggregates];

	for (uint32_t i = 0; i < s->spec->nsinks; i++)
		if (!pp_relation_sink(&s->spec->sink[i], &t->job, t->select.flag, t->result.nrecords,
							  (uint64_t) records->count, s->work))
		{
			s->failed = true;
			return false;
		}
	return true;
}

bool
fused_give_back(PpDriverScan *scan, PpSlot *slot)
{
	FusedRun   *s = run_of(scan);
	FusedSlot  *t = slot_of(slot);
	const uint32_t ncolumns = s->spec->ncolumns;
	const uint64_t heap_bytes = reports(t)->result.heap_bytes;
	const bool	some = t->result.nrecords > 0 && (!t->filtered || t->nselected > 0);

	/* once only, and not for a job that may be dropped */
	if (s->spec->nsinks > 0 && s->spec->naggregates > 0 && (pp_driver_hold(t) || !sink_keys(s, t)))
		return !s->failed;
	t->listed = pp_driver_needs_list(s, t);
	if (t->listed)
	{
		if (pp_driver_hold(t))
			return true;
		if (!t->with_end && !list_fields(s, t))
			return false;
	}
	if (!pp_driver_return_begin(s, t))
		return false;
	if (some && ncolumns > 0 &&
		(!(t->filtered ? pp_frame_copy(s, t->values_host.p, t->values.p,
									   pp_align16((size_t) ncolumns * t->nselected * VALUE_BYTES) +
									   t->nselected * sizeof(uint32_t), cudaMemcpyDeviceToHost, s->out) :
		   copy_columns(s, t)) ||
		 !pp_frame_copy(s, t->heap_host.p, t->heap.p,
						heap_bytes < t->job.heap_room ? heap_bytes : t->job.heap_room,
						cudaMemcpyDeviceToHost, s->out)))
		return false;
	return pp_driver_return_end(s, t);
}

bool
fused_next(PpDriverScan *scan, PpSlot *slot)
{
	FusedRun   *s = run_of(scan);
	FusedSlot  *t = slot_of(slot);
	const PpFusedResult *r = &reports(t)->result;

	if (needs_more(s, t))
		return pass(s, t);
	learn(&s->heap_bytes, (double) r->heap_bytes, t->n, false);
	t->ndeferred = r->ndeferred;
	if (t->step == STEP_COLUMNS)
		return fused_give_back(s, t);

	t->result = r->structure;
	learn(&s->records, (double) t->result.nrecords, t->result.next, t->result.full != 0);
	if (s->selecting)
	{
		t->filtered = true;
		t->nselected = r->nselected;
		t->unknown = r->unknown != 0;
		if (t->nselected > 0)
			return compact(s, t);
	}
	return fused_give_back(s, t);
}

bool
fused_finish(PpDriverScan *scan, PpSlot *slot, PpBatch *b)
{
	FusedRun   *s = run_of(scan);
	FusedSlot  *t = slot_of(slot);
	const uint32_t ncolumns = s->spec->ncolumns;
	const uint32_t n = t->result.nrecords;
	/* of each column, what is there of it */
	const size_t length = t->filtered ? t->nselected : t->job.room;
	uint64_t   *value = reinterpret_cast<uint64_t *>(t->values_host.p);
	uint8_t    *state = t->values_host.p + ncolumns * length * sizeof(uint64_t);

	if (s->spec->naggregates > 0)
	{
		b->partial = reports(t)->partial;
		b->ntaken = (uint32_t) reports(t)->partial[s->spec->naggregates].count;
	}
	t->selected = &NO_RECORD;
	if (n == 0 || length == 0)
		return true;
	t->selected = reinterpret_cast<const uint32_t *>(t->values_host.p + pp_align16(ncolumns * length * VALUE_BYTES));
	b->compact = t->filtered;
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		t->data[c].value = value + c * length;
		t->data[c].state = state + c * length;
	}
	return true;
}

void
fused_release_slot(PpDriverScan *, PpSlot *slot)
{
	FusedSlot  *t = slot_of(slot);

	pp_buffer_release(&t->values);
	pp_buffer_release(&t->values_host);
	pp_buffer_release(&t->heap);
	pp_buffer_release(&t->heap_host);
	pp_buffer_release(&t->filter_host);
}

void
fused_release(PpDriverScan *scan)
{
	FusedRun   *s = run_of(scan);

	pp_buffer_release(&s->pass);
	pp_buffer_release(&s->longs);
	pp_buffer_release(&s->found);
	pp_buffer_release(&s->selection);
	pp_tables_release(&s->tables);
}

/* Is a column needed before it is known which records are left? */
bool
is_early(const PpScanSpec *spec, uint32_t c)
{
	/* records of which something is not known are not aggregated */
	if (spec->nfilters == 0 || spec->naggregates > 0)
		return true;
	for (uint32_t i = 0; i < spec->nfilters; i++)
		if (spec->filter[i].column == c)
			return true;
	return false;
}

/* Facts of the columns that room is made by. */
void
look_at_columns(FusedRun *s)
{
	const PpScanSpec *spec = s->spec;

	s->most = 1;
	for (uint32_t c = 0; c < spec->ncolumns; c++)
	{
		const PpColumn *col = &spec->column[c];
		uint32_t	same = 0;

		s->deferring = s->deferring || col->type == PP_DEFER;
		if (!pp_type_by_reference(col->type))
			continue;
		s->nreferences++;
		s->npadded += col->type == PP_BPCHAR && col->mod > 0 &&
			(uint32_t) col->mod > s->options.thread_bytes;
		for (uint32_t d = 0; d < spec->ncolumns; d++)
			same += spec->column[d].field == col->field && pp_type_by_reference(spec->column[d].type);
		if (same > s->most)
			s->most = same;
	}
}

bool
make_tables(FusedRun *s)
{
	const PpScanSpec *spec = s->spec;
	PpTables   *t = &s->tables;
	PpFusedColumn *column;
	PpAggregate *aggregate;
	size_t		column_at,
				aggregate_at;

	pp_tables_layout(s, t);
	column_at = pp_table_place(&t->bytes, spec->ncolumns * sizeof(PpFusedColumn));
	aggregate_at = pp_table_place(&t->bytes, (spec->naggregates + 1) * sizeof(PpAggregate));
	if (!pp_tables_make(s, t))
		return false;
	column = reinterpret_cast<PpFusedColumn *>(t->host.p + column_at);
	for (uint32_t c = 0; c < spec->ncolumns; c++)
		column[c] = pp_fused_column(&spec->column[c], !is_early(spec, c));
	aggregate = reinterpret_cast<PpAggregate *>(t->host.p + aggregate_at);
	for (uint32_t i = 0; i < spec->naggregates; i++)
		aggregate[i] = spec->aggregate[i];
	aggregate[spec->naggregates] = {PP_AGGREGATE_COUNT_ALL, 0, 0};
	if (spec->nfilters > 0)
	{
		s->filter = static_cast<PpPaperFilter *>(pp_driver_host(s, spec->nfilters * sizeof(PpPaperFilter)));
		if (s->filter == nullptr)
			return false;
		pp_tables_filters(s, t, s->filter);
	}
	s->scan = reinterpret_cast<const PpPaperScan *>(t->device.p + t->scan_at);
	s->column = reinterpret_cast<const PpFusedColumn *>(t->device.p + column_at);
	s->aggregate = reinterpret_cast<const PpAggregate *>(t->device.p + aggregate_at);
	return pp_tables_copy(s, t);
}

bool
make_slot(FusedRun *s, FusedSlot *t)
{
	t->values.kind = t->heap.kind = PP_MEMORY_DEVICE;
	t->values_host.kind = t->heap_host.kind = t->filter_host.kind = PP_MEMORY_PINNED;
	return pp_driver_reserve_reports(s, t, reports_bytes(s));
}

bool
fused_open_run(PpDriverScan *scan)
{
	FusedRun   *s = run_of(scan);
	const PpScanSpec *spec = s->spec;

	s->pass.kind = s->longs.kind = s->found.kind = s->selection.kind = PP_MEMORY_DEVICE;
	s->selecting = spec->nfilters > 0 || spec->naggregates > 0;
	if (!pp_fused_states(&s->dialect, &spec->dialect, &spec->dfa, (PpFusedStates) s->options.states))
		return pp_frame_fail(s, PP_CUDA_UNSUPPORTED, "the dialect has too many special bytes");
	s->dialect.tile_bytes = s->options.tile_bytes;
	look_at_columns(s);
	return make_tables(s) && make_slot(s, slot_of(s->slot[0])) && make_slot(s, slot_of(s->slot[1]));
}

const PpPipeline pipeline = {
	sizeof(FusedRun),
	sizeof(FusedSlot),
	PP_STAGE_PARSE,
	fused_open_run,
	fused_start,
	fused_next,
	fused_give_back,
	fused_finish,
	fused_release_slot,
	fused_release
};

PpBackendScan *
fused_open(const PpScanSpec *spec)
{
	return pp_driver_open(spec, &pipeline);
}

}								/* namespace */

const PpBackend pp_backend_fused = pp_driver_backend("cuda (fused)", fused_open);
