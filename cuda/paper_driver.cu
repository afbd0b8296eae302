/*
 * cuda/paper_driver.cu
 *	  The backend "cuda (paper)": takes jobs, moves text in and columns out, and
 *	  says what is to be done next on the device.
 *
 * A partition passes through these phases; behind each, something comes back
 * to the host that decides on the next (PpReports):
 *
 *		structure	text comes in; bitmap indexes, how many records
 *		measure		fields are partitioned by column; what each becomes, and
 *					how many bytes values by reference need
 *		convert		columns are made, filters applied
 *		return		columns go out
 *
 * The middle two repeat for each part of the columns (PpPart).  poll() looks
 * whether what was enqueued last is done, and enqueues what comes next; no
 * call waits, but for buffers that have to grow.
 *
 * Streaming (the paper's 4.4) takes two slots, each with buffers of its own.
 * While one is worked on, the text announced by ahead() comes in to the other,
 * by a stream of its own, behind free room; when the first slot's columns are
 * on their way out, its last, incomplete record is copied into that room, and
 * the other slot is started.  That job is a guess until submit() asks for it.
 * The copy is ordered in front of what overwrites its source by an event.
 * What was not announced is worked on in the slot of the job before it, so that
 * without ahead() one slot holds memory only.
 *
 * Owns streams, events and buffers; must not touch the job's text but to copy it.
 */
#include "paper_scan.h"

#include <cstring>

namespace
{

/*
 * Room in front of announced text for the record that goes on in it, at least
 * and as a part of a partition; a longer record comes in anew.
 */
constexpr uint32_t CARRY_ROOM = 4096;
constexpr uint32_t CARRY_PART = 16;

/*
 * Beside what columns need, the device is to hold no more than 16 times the
 * partition with record tags, 8 times otherwise.  But the index grows with the
 * number of values, and n bytes hold up to n of them, if all are empty.  So
 * this many values and records a byte, in 144ths, are parsed at a time, and
 * what is left is a batch of its own (PP_STOP_FULL).  That concerns values of
 * less than 1.8 bytes, delimiter included; with record tags, values of less
 * than 2.4 and records of less than 10; with filters, whose flags are one a
 * record, records of less than 2.4.  Small partitions are not cut.
 */
constexpr uint32_t PARTS = 144;
constexpr uint32_t VALUES_PART = 80;
constexpr uint32_t VALUES_PART_RECORD = 60;
constexpr uint32_t RECORDS_PART_FILTER = 60;
constexpr uint32_t RECORDS_PART_RECORD = 15;
constexpr uint64_t LEAST_CUT = 16384;

PpBackendScan *open_scans;

size_t
align16(size_t n)
{
	return (n + 15) / 16 * 16;
}

size_t
align256(size_t n)
{
	return (n + 255) / 256 * 256;
}

bool
call_failed(PpBackendScan *s, const char *what, cudaError_t e)
{
	s->failed = true;
	pp_fail_call(what, e);
	return false;
}

bool
reserve(PpBackendScan *s, PpBuffer *b, size_t size)
{
	if (pp_buffer_reserve(b, size))
		return true;
	s->failed = true;
	pp_fail_buffer(b);
	return false;
}

PpReports *
reports(PpSlot *t)
{
	return reinterpret_cast<PpReports *>(t->reports.p);
}

/* A copy, counted; time is taken by those who want it. */
bool
copy(PpBackendScan *s, void *dst, const void *src, size_t n, cudaMemcpyKind kind,
	 cudaStream_t stream)
{
	cudaError_t e;

	if (n == 0)
		return true;
	if (kind == cudaMemcpyHostToDevice)
	{
		s->stats.launches[PP_STAGE_H2D]++;
		s->stats.h2d_bytes += n;
	}
	else if (kind == cudaMemcpyDeviceToHost)
	{
		s->stats.launches[PP_STAGE_D2H]++;
		s->stats.d2h_bytes += n;
	}
	e = cudaMemcpyAsync(dst, src, n, kind, stream);
	return e == cudaSuccess || call_failed(s, "a copy between host and device failed", e);
}

bool
record(PpBackendScan *s, cudaEvent_t event, cudaStream_t stream)
{
	cudaError_t e = cudaEventRecord(event, stream);

	return e == cudaSuccess || call_failed(s, "recording an event failed", e);
}

bool
wait_for(PpBackendScan *s, cudaStream_t stream, cudaEvent_t event)
{
	cudaError_t e = cudaStreamWaitEvent(stream, event, 0);

	return e == cudaSuccess || call_failed(s, "waiting for an event failed", e);
}

bool
launched(PpBackendScan *s, cudaError_t e)
{
	return e == cudaSuccess || call_failed(s, "a launch failed", e);
}

/* Ends what the phase enqueues: its last event, which also stops the clock. */
bool
end_phase(PpBackendScan *s, PpSlot *t, PpSlotPhase phase, cudaStream_t stream)
{
	t->phase = phase;
	return record(s, t->done, stream);
}

/* Adds up the times of a phase that is over. */
void
read_clock(PpBackendScan *s, PpSlot *t)
{
	PpStageClock *c = &t->clock;

	for (uint32_t i = 0; i < PP_STAGES; i++)
	{
		s->stats.launches[i] += c->launches[i];
		c->launches[i] = 0;
	}
	for (uint32_t i = 0; i < c->n; i++)
	{
		float		ms = 0;

		if (c->stage[i] < PP_STAGES &&
			cudaEventElapsedTime(&ms, c->event[i], i + 1 < c->n ? c->event[i + 1] : t->done) == cudaSuccess)
			s->stats.seconds[c->stage[i]] += ms / 1e3;
	}
	c->n = 0;
	for (uint32_t i = 0; i < 2; i++)
	{
		float		ms = 0;

		if (t->copied[i] && cudaEventQuery(t->copy[2 * i + 1]) == cudaSuccess)
		{
			if (cudaEventElapsedTime(&ms, t->copy[2 * i], t->copy[2 * i + 1]) == cudaSuccess)
				s->stats.seconds[i == 0 ? PP_STAGE_H2D : PP_STAGE_D2H] += ms / 1e3;
			t->copied[i] = false;
		}
	}
	(void) cudaGetLastError();
}

/*
 * Text to the slot's input, at that offset; behind all that was enqueued on the
 * working stream so far, which may still read what stood there.
 */
bool
upload(PpBackendScan *s, PpSlot *t, size_t offset, const uint8_t *text, uint32_t n)
{
	t->copied[0] = false;
	if (!record(s, s->carried, s->work) || !wait_for(s, s->in, s->carried) ||
		!record(s, t->copy[0], s->in) ||
		!copy(s, t->input.p + offset, text, n, cudaMemcpyHostToDevice, s->in) ||
		!record(s, t->copy[1], s->in) || !record(s, t->uploaded, s->in))
		return false;
	t->copied[0] = true;
	return true;
}

uint64_t
part_of(uint32_t n, uint32_t part)
{
	const uint64_t most = (uint64_t) n * part / PARTS;

	return most > LEAST_CUT ? most : LEAST_CUT;
}

/*
 * The most records of a job for which memory is in bounds: those of the largest
 * partition so far, which is what buffers have the size of.
 */
uint32_t
most_records(const PpBackendScan *s)
{
	const uint32_t n = s->largest;
	const bool	record_tags = s->options.tagging == PP_TAG_RECORD;
	const uint32_t ncss = s->plan.ncss < PP_PAPER_COLUMNS ? s->plan.ncss : PP_PAPER_COLUMNS;
	uint64_t	most = s->spec->max_records;
	uint64_t	values = part_of(n, record_tags ? VALUES_PART_RECORD : VALUES_PART);
	uint64_t	records = UINT64_MAX;

	if (record_tags)
		records = part_of(n, RECORDS_PART_RECORD);
	else if (s->spec->nfilters > 0)
		records = part_of(n, RECORDS_PART_FILTER);
	if (ncss > 0 && values / ncss < most)
		most = values / ncss;
	if (ncss > 0 && records < most)
		most = records;
	return (uint32_t) most;
}

/* Text is in its place, or on its way there: the structure phase. */
bool
start(PpBackendScan *s, PpSlot *t)
{
	const PpScanSpec *spec = s->spec;
	PpStructureJob *job = &t->structure_job;
	size_t		bytes;

	t->part = 0;
	t->listed = t->filtered = t->unknown = false;
	t->ndeferred = 0;
	t->clock.n = 0;

	memset(job, 0, sizeof(*job));
	job->dfa = s->dfa;
	job->text = t->input.p + t->offset;
	job->n = t->n;
	job->last = t->last;
	job->chunk = spec->chunk_size == 0 ? PP_PAPER_CHUNK :
		spec->chunk_size > PP_PAPER_MAX_CHUNK ? PP_PAPER_MAX_CHUNK : spec->chunk_size;
	job->nfields = spec->nfields;
	if (t->n > s->largest)
		s->largest = t->n;
	job->max_records = most_records(s);
	if (!launched(s, pp_structure_layout(job, nullptr, &bytes, &t->structure)) ||
		!reserve(s, &s->structure, bytes) ||
		!launched(s, pp_structure_layout(job, s->structure.p, &bytes, &t->structure)) ||
		!wait_for(s, s->work, t->uploaded) ||
		!launched(s, pp_structure_run(job, &t->structure, s->work, &t->clock)) ||
		!copy(s, &reports(t)->result, t->structure.result, sizeof(PpStructureResult),
			  cudaMemcpyDeviceToHost, s->work))
		return false;
	return end_phase(s, t, PP_SLOT_STRUCTURE, s->work);
}

/*
 * The rest of the other slot's text, which this slot's goes on, to its front.
 * Text that was announced in vain may have come in to the same place, but did so
 * before that of the other slot, by the same stream.
 */
bool
carry_over(PpBackendScan *s, PpSlot *from, PpSlot *to, size_t offset, uint32_t rest)
{
	return copy(s, to->input.p + offset, from->input.p + from->offset + from->result.next, rest,
				cudaMemcpyDeviceToDevice, s->work);
}

/* Makes room for a job of n bytes, and moves the rest of the one before to its front. */
bool
carry_within(PpBackendScan *s, PpSlot *t, size_t n, uint32_t rest)
{
	const size_t from = t->offset + t->result.next;

	t->offset = 0;
	/* by way of other memory, since the two may overlap */
	return (rest == 0 ||
			(reserve(s, &s->rest, rest) &&
			 copy(s, s->rest.p, t->input.p + from, rest, cudaMemcpyDeviceToDevice, s->work))) &&
		reserve(s, &t->input, n + PP_PAD) &&
		copy(s, t->input.p, s->rest.p, rest, cudaMemcpyDeviceToDevice, s->work);
}

/*
 * What the end of a partition means, as pp_cpu_structure_end() says it.
 */

void
set_stopped(const PpBackendScan *s, const PpSlot *t, uint32_t pos, uint32_t state, PpBatch *b)
{
	const PpDfa *dfa = &s->spec->dfa;
	PpEnd		end = (PpEnd) dfa->end[state];
	bool		at_end = pos == t->n;

	/* a quote that is a line end character; in a CRNL file it shows late */
	if (end == PP_END_UNTERMINATED && !at_end)
		pos -= dfa->eol_len - 1;
	pos += t->job.begin;
	if (s->spec->nfields == 0 && end == PP_END_UNTERMINATED)
	{
		/* What has no fields is not split; it only may not hold anything. */
		b->stop = PP_STOP_FIELDS;
		b->bad_end = pos;
		b->bad_next = at_end ? pos : pos + dfa->eol_len;
		return;
	}
	b->stop = end == PP_END_DATA ? PP_STOP_END : PP_STOP_SYNTAX;
	b->bad = end;
	b->bad_end = pos;
}

/* Of a job, not of a guess. */
void
set_stop(const PpBackendScan *s, const PpSlot *t, PpBatch *b)
{
	const PpStructureResult *r = &t->result;
	uint32_t	peeked;

	if (r->full)
		b->stop = PP_STOP_FULL;
	else if (r->bad)
	{
		b->stop = PP_STOP_FIELDS;
		b->bad_end = r->bad_end + t->job.begin;
		b->bad_next = r->bad_next + t->job.begin;
	}
	else if (r->stop < t->n)
		set_stopped(s, t, r->stop, r->state, b);
	else if (t->truncated)
	{
		b->stop = r->nrecords > 0 ? PP_STOP_FULL : PP_STOP_SYNTAX;
		b->bad = PP_END_TOO_LONG;
		b->bad_end = t->n + t->job.begin;
	}
	else if (t->job.peek_cr && pp_dialect_peek_cr(&s->spec->dfa, r->state, &peeked))
		set_stopped(s, t, t->n, peeked, b);
	else if (!t->last)
		b->stop = PP_STOP_MORE;
	else if (s->spec->dfa.end[r->state] != PP_END_ACCEPT)
		set_stopped(s, t, t->n, r->state, b);
	else
		b->stop = PP_STOP_END;
}

/*
 * Fields and columns.
 */

PpTagging
choose_tagging(const PpBackendScan *s, const PpSlot *t)
{
	if (s->options.tagging == PP_TAG_RECORD || s->options.tagging == PP_TAG_VECTOR)
		return s->options.tagging;
	return t->result.terminator ? PP_TAG_VECTOR : PP_TAG_INLINE;
}

/* Fields of a group, column by column. */
bool
partition_fields(PpBackendScan *s, PpSlot *t, uint32_t group)
{
	const PpPlan *p = &s->plan;
	const uint32_t left = p->ncss - group * PP_PAPER_COLUMNS;
	PpFieldsJob job;
	size_t		bytes;

	memset(&job, 0, sizeof(job));
	job.job = &t->structure_job;
	job.structure = &t->structure;
	job.nrecords = t->result.nrecords;
	job.next = t->result.next;
	job.ncolumns = left < PP_PAPER_COLUMNS ? left : PP_PAPER_COLUMNS;
	job.column_of_field = p->column_of_field + (size_t) group * s->spec->nfields;
	job.tagging = choose_tagging(s, t);
	if (group == 0)
		s->stats.partitions_by_tagging[job.tagging]++;
	return launched(s, pp_fields_layout(&job, nullptr, &bytes, &t->fields)) &&
		reserve(s, &s->fields, bytes) &&
		launched(s, pp_fields_layout(&job, s->fields.p, &bytes, &t->fields)) &&
		launched(s, pp_fields_run(&job, s->fields.p, bytes, &t->fields, s->work, &t->clock));
}

/*
 * How many fields of a part may be longer than thread_bytes: as many as there
 * is text for, but that of a field counts for every column that it goes to.
 */
uint64_t
most_queued(const PpBackendScan *s, const PpSlot *t, const PpPart *part)
{
	const uint64_t all = (uint64_t) part->ncolumns * t->result.nrecords;
	uint64_t	n = (uint64_t) s->plan.most * (t->n / (s->options.thread_bytes + 1));

	n += (uint64_t) part->padded * t->result.nrecords;
	return n < all ? n : all;
}

bool
measure(PpBackendScan *s, PpSlot *t)
{
	const PpPart *part = &s->plan.part[t->part];
	PpPartOutput *o = &t->output[t->part];
	PpColumnsJob *job = &t->columns;
	const uint64_t n = (uint64_t) part->ncolumns * t->result.nrecords;
	const uint64_t queued = most_queued(s, t, part);
	const size_t counts_at = align256(queued * sizeof(uint32_t));
	const size_t temp_at = counts_at + 256;
	size_t		temp_bytes;

	if (n >= INT32_MAX)
	{
		s->failed = true;
		pp_fail(PP_CUDA_UNSUPPORTED, "a partition has too many values");
		return false;
	}
	o->values_bytes = (n + 1) * sizeof(uint64_t) + n;
	if ((part->partition && !partition_fields(s, t, part->group)) ||
		!launched(s, pp_columns_temp(part->ncolumns, part->nvalues, t->result.nrecords, &temp_bytes)) ||
		!reserve(s, &o->values, o->values_bytes) ||
		!reserve(s, &o->values_host, o->values_bytes) ||
		!reserve(s, &s->columns, temp_at + temp_bytes))
		return false;

	memset(job, 0, sizeof(*job));
	job->scan = s->plan.scan;
	job->column = s->plan.column + part->first;
	job->ncolumns = part->ncolumns;
	job->nvalues = part->nvalues;
	job->nrecords = t->result.nrecords;
	job->fields = t->fields;
	job->pass = part->filtered ? s->filters.p : nullptr;
	job->value = reinterpret_cast<uint64_t *>(o->values.p);
	job->state = o->values.p + (n + 1) * sizeof(uint64_t);
	job->queue = reinterpret_cast<uint32_t *>(s->columns.p);
	job->queue_room = (uint32_t) queued;
	job->counts = reinterpret_cast<PpColumnCounts *>(s->columns.p + counts_at);
	job->temp = s->columns.p + temp_at;
	job->temp_bytes = temp_bytes;

	pp_stage(&t->clock, PP_STAGE_CONVERT_THREAD, s->work);
	if (!launched(s, cudaMemsetAsync(job->counts, 0, sizeof(PpColumnCounts), s->work)) ||
		!launched(s, pp_columns_measure(job, &t->clock, s->work)) ||
		!copy(s, &reports(t)->counts, job->counts, sizeof(PpColumnCounts),
			  cudaMemcpyDeviceToHost, s->work) ||
		!copy(s, &reports(t)->heap_bytes, job->value + n, sizeof(uint64_t),
			  cudaMemcpyDeviceToHost, s->work))
		return false;
	return end_phase(s, t, PP_SLOT_MEASURE, s->work);
}

/* The output of a projected column, of which there is one: its part, and where in it. */
const PpPartOutput *
find_output(const PpBackendScan *s, const PpSlot *t, uint32_t column, uint32_t *part, size_t *at)
{
	for (uint32_t k = 0; k < s->plan.nparts; k++)
	{
		const PpPart *p = &s->plan.part[k];

		for (uint32_t i = 0; i < p->ncolumns; i++)
			if (s->plan.order[p->first + i] == column)
			{
				*part = k;
				*at = (size_t) i * t->result.nrecords;
				return &t->output[k];
			}
	}
	return nullptr;
}

/*
 * Filters, over columns that are all there.  The scratch memory starts with
 * the flags, which later columns look at.
 */
bool
filter(PpBackendScan *s, PpSlot *t)
{
	const uint32_t n = t->result.nrecords;
	const uint32_t nfilters = s->spec->nfilters;
	const size_t table_at = align256(n);
	const size_t counts_at = table_at + align256(nfilters * sizeof(PpPaperFilter));
	const size_t temp_at = counts_at + 256;
	PpPaperFilter *host;
	uint32_t   *counts;
	size_t		temp_bytes;

	if (!launched(s, pp_select_flagged(nullptr, &temp_bytes, nullptr, 1, nullptr, nullptr, n, s->work)) ||
		!reserve(s, &s->filters, temp_at + temp_bytes) ||
		!reserve(s, &t->filter_host, nfilters * sizeof(PpPaperFilter)) ||
		!reserve(s, &t->selected, (size_t) n * sizeof(uint32_t)) ||
		!reserve(s, &t->selected_host, (size_t) n * sizeof(uint32_t)))
		return false;

	host = reinterpret_cast<PpPaperFilter *>(t->filter_host.p);
	for (uint32_t i = 0; i < nfilters; i++)
	{
		uint32_t	part = 0;
		size_t		at = 0;
		const PpPartOutput *o = find_output(s, t, s->plan.filter[i].filter.column, &part, &at);
		const size_t values = (size_t) s->plan.part[part].ncolumns * n + 1;

		host[i] = s->plan.filter[i];
		host[i].value = reinterpret_cast<const uint64_t *>(o->values.p) + at;
		host[i].state = o->values.p + values * sizeof(uint64_t) + at;
		host[i].to_device = reinterpret_cast<uintptr_t>(o->heap.p) - reinterpret_cast<uintptr_t>(o->heap_host.p);
	}
	counts = reinterpret_cast<uint32_t *>(s->filters.p + counts_at);
	pp_stage(&t->clock, PP_STAGE_FILTER, s->work);
	if (!copy(s, s->filters.p + table_at, host, nfilters * sizeof(PpPaperFilter),
			  cudaMemcpyHostToDevice, s->work) ||
		!launched(s, cudaMemsetAsync(counts, 0, 2 * sizeof(uint32_t), s->work)) ||
		!launched(s, pp_filters_run(reinterpret_cast<const PpPaperFilter *>(s->filters.p + table_at),
									nfilters, n, s->filters.p, counts + 1, &t->clock, s->work)))
		return false;
	pp_stage(&t->clock, PP_STAGE_FILTER, s->work);
	t->filtered = true;
	return launched(s, pp_select_flagged(s->filters.p + temp_at, &temp_bytes, s->filters.p, 1,
										 reinterpret_cast<uint32_t *>(t->selected.p), counts, n, s->work)) &&
		copy(s, &reports(t)->nselected, counts, sizeof(uint32_t), cudaMemcpyDeviceToHost, s->work) &&
		copy(s, &reports(t)->unknown, counts + 1, sizeof(uint32_t), cudaMemcpyDeviceToHost, s->work);
}

bool
convert(PpBackendScan *s, PpSlot *t)
{
	const PpPart *part = &s->plan.part[t->part];
	PpPartOutput *o = &t->output[t->part];
	PpColumnsJob *job = &t->columns;
	const PpColumnCounts counts = reports(t)->counts;

	o->heap_bytes = part->ncolumns > part->nvalues ? reports(t)->heap_bytes : 0;
	if (!reserve(s, &o->heap, o->heap_bytes) || !reserve(s, &o->heap_host, o->heap_bytes) ||
		(counts.ndevice > 0 && !reserve(s, &s->longs, counts.ndevice * sizeof(PpLongField))))
		return false;
	job->longs = reinterpret_cast<PpLongField *>(s->longs.p);
	job->heap = o->heap.p;
	job->host_heap = reinterpret_cast<uintptr_t>(o->heap_host.p);
	if (!launched(s, pp_columns_convert(job, &counts, &t->clock, s->work)) ||
		!copy(s, &reports(t)->counts, job->counts, sizeof(PpColumnCounts),
			  cudaMemcpyDeviceToHost, s->work) ||
		(part->filter && !filter(s, t)))
		return false;
	return end_phase(s, t, PP_SLOT_CONVERT, s->work);
}

/* Does the host have to look at fields itself? */
bool
needs_list(const PpBackendScan *s, const PpSlot *t)
{
	return !s->spec->unlisted && t->result.nrecords > 0 &&
		(s->spec->ncolumns == 0 || s->spec->has_default || t->ndeferred > 0);
}

/* Columns out, and where fields end; once it is known who asks for them. */
bool
give_back(PpBackendScan *s, PpSlot *t)
{
	const uint32_t n = t->result.nrecords;
	const uint64_t width = s->spec->nfields > 0 ? s->spec->nfields : 1;
	const uint64_t ends = n * width;
	bool		columns = n > 0 && !(t->filtered && t->nselected == 0);

	t->listed = needs_list(s, t);
	if (t->listed)
	{
		if (!t->adopted)
		{
			t->phase = PP_SLOT_HELD;
			return true;
		}
		if (!reserve(s, &t->end, ends * sizeof(uint32_t)) ||
			!reserve(s, &t->end_host, (ends + 1) * sizeof(uint32_t)) ||
			!launched(s, pp_field_ends_run(&t->structure_job, &t->structure, n,
										   reinterpret_cast<uint32_t *>(t->end.p), s->work, &t->clock)) ||
			(t->job.begin > 0 &&
			 !launched(s, pp_shift_run(reinterpret_cast<uint32_t *>(t->end.p), ends, t->job.begin,
									   &t->clock, s->work))))
			return false;
	}

	/* the working stream is free behind this, and the clock stops */
	if (t->clock.n > 0 && t->clock.n < t->clock.room)
	{
		if (!record(s, t->clock_event[t->clock.n], s->work))
			return false;
		t->clock_stage[t->clock.n++] = PP_STAGES;
	}
	t->copied[1] = false;
	if (!record(s, t->copy[2], s->work) || !wait_for(s, s->out, t->copy[2]) ||
		!record(s, t->copy[2], s->out))
		return false;
	for (uint32_t k = 0; columns && k < s->plan.nparts; k++)
	{
		PpPartOutput *o = &t->output[k];

		if (!copy(s, o->values_host.p, o->values.p, o->values_bytes, cudaMemcpyDeviceToHost, s->out) ||
			!copy(s, o->heap_host.p, o->heap.p, o->heap_bytes, cudaMemcpyDeviceToHost, s->out))
			return false;
	}
	if (t->filtered &&
		!copy(s, t->selected_host.p, t->selected.p, (size_t) t->nselected * sizeof(uint32_t),
			  cudaMemcpyDeviceToHost, s->out))
		return false;
	if (t->listed &&
		!copy(s, t->end_host.p + sizeof(uint32_t), t->end.p, ends * sizeof(uint32_t),
			  cudaMemcpyDeviceToHost, s->out))
		return false;
	if (!record(s, t->copy[3], s->out))
		return false;
	t->copied[1] = true;
	return end_phase(s, t, PP_SLOT_RETURN, s->out);
}

/* Goes on with a slot if what it waits for is done; false: failed. */
bool
advance(PpBackendScan *s, PpSlot *t)
{
	cudaError_t e;

	for (;;)
	{
		if (t->phase == PP_SLOT_HELD)
		{
			if (!t->adopted)
				return true;
			if (!give_back(s, t))
				return false;
		}
		if (t->phase == PP_SLOT_EMPTY || t->phase == PP_SLOT_TEXT || t->phase == PP_SLOT_DONE)
			return true;
		e = cudaEventQuery(t->done);
		if (e == cudaErrorNotReady)
		{
			(void) cudaGetLastError();
			return true;
		}
		if (e != cudaSuccess)
			return call_failed(s, "the device failed", e);
		read_clock(s, t);
		switch (t->phase)
		{
			case PP_SLOT_STRUCTURE:
				t->result = reports(t)->result;
				if (!(t->result.nrecords > 0 && s->plan.nparts > 0 ? measure(s, t) : give_back(s, t)))
					return false;
				break;
			case PP_SLOT_MEASURE:
				if (!convert(s, t))
					return false;
				break;
			case PP_SLOT_CONVERT:
				t->ndeferred += reports(t)->counts.ndeferred;
				if (s->plan.part[t->part].filter)
				{
					t->nselected = reports(t)->nselected;
					t->unknown = reports(t)->unknown != 0;
				}
				t->part++;
				if (!(t->part < s->plan.nparts ? measure(s, t) : give_back(s, t)))
					return false;
				break;
			case PP_SLOT_RETURN:
				t->phase = PP_SLOT_DONE;
				return true;
			default:
				return true;
		}
	}
}

void
make_batch(PpBackendScan *s, PpSlot *t)
{
	const PpScanSpec *spec = s->spec;
	const uint32_t n = t->result.nrecords;
	PpBatch    *b = &t->batch;

	memset(b, 0, sizeof(*b));
	b->text = t->job.text;
	b->nrecords = n;
	b->width = spec->nfields > 0 ? spec->nfields : 1;
	b->eol_len = spec->dfa.eol_len;
	if (t->listed)
	{
		uint32_t   *end = reinterpret_cast<uint32_t *>(t->end_host.p);

		/* one behind the line end that would have ended the record before */
		end[0] = t->job.begin - spec->dfa.eol_len;
		b->end = end + 1;
	}
	for (uint32_t k = 0; k < s->plan.nparts; k++)
	{
		const PpPart *p = &s->plan.part[k];
		uint8_t    *values = t->output[k].values_host.p;
		const size_t states_at = ((size_t) p->ncolumns * n + 1) * sizeof(uint64_t);

		for (uint32_t i = 0; i < p->ncolumns && n > 0; i++)
		{
			PpColumnData *d = &t->data[s->plan.order[p->first + i]];

			d->value = reinterpret_cast<uint64_t *>(values) + (size_t) i * n;
			d->state = values + states_at + (size_t) i * n;
		}
	}
	b->ncolumns = spec->ncolumns;
	b->column = t->data;
	b->selected = t->filtered ? reinterpret_cast<const uint32_t *>(t->selected_host.p) : nullptr;
	b->nselected = t->filtered ? t->nselected : n;
	b->quotes = t->result.quotes != 0;
	b->unknown = t->unknown;
	b->ndeferred = t->ndeferred;
	b->next = t->result.next + t->job.begin;
	set_stop(s, t, b);
}

void
release_slot(PpSlot *t, uint32_t nparts)
{
	for (uint32_t k = 0; t->output != nullptr && k < nparts; k++)
	{
		pp_buffer_release(&t->output[k].values);
		pp_buffer_release(&t->output[k].values_host);
		pp_buffer_release(&t->output[k].heap);
		pp_buffer_release(&t->output[k].heap_host);
	}
	pp_buffer_release(&t->input);
	pp_buffer_release(&t->selected);
	pp_buffer_release(&t->selected_host);
	pp_buffer_release(&t->end);
	pp_buffer_release(&t->end_host);
	pp_buffer_release(&t->filter_host);
	pp_buffer_release(&t->reports);
}

/*
 * Memory does not suffice to work ahead: from now on one slot has to do.  What
 * the other one has is given back, unless the device fails, which shows later.
 */
void
stop_ahead(PpBackendScan *s)
{
	PpSlot	   *next = &s->slot[1 - s->current];

	s->no_ahead = true;
	next->phase = PP_SLOT_EMPTY;
	if (cudaStreamSynchronize(s->in) == cudaSuccess && cudaStreamSynchronize(s->work) == cudaSuccess &&
		cudaStreamSynchronize(s->out) == cudaSuccess)
		release_slot(next, s->plan.nparts);
	(void) cudaGetLastError();
}

/*
 * The slot that works ahead, if text is there for it: starts it once the
 * current one does not need the device, goes on with it.  What fails here fails
 * the scan, unless it is memory: then there is no more working ahead.
 */
bool
work_ahead(PpBackendScan *s)
{
	PpSlot	   *t = &s->slot[s->current];
	PpSlot	   *next = &s->slot[1 - s->current];
	PpBatch		b;
	uint32_t	rest;
	bool		ok = true;

	if (next->phase == PP_SLOT_EMPTY || (t->phase != PP_SLOT_RETURN && t->phase != PP_SLOT_DONE))
		return true;
	if (next->phase == PP_SLOT_TEXT)
	{
		memset(&b, 0, sizeof(b));
		set_stop(s, t, &b);
		rest = t->n - t->result.next;
		if (b.stop != PP_STOP_MORE || rest > next->offset)
		{
			next->phase = PP_SLOT_EMPTY;
			return true;
		}
		next->offset -= rest;
		next->n = rest + next->announced;
		ok = carry_over(s, t, next, next->offset, rest) && start(s, next);
	}
	ok = ok && advance(s, next);
	if (!ok && pp_process_ready())
	{
		s->failed = false;
		stop_ahead(s);
		ok = true;
	}
	return ok;
}

/*
 * The interface.
 */

/* May the scan be used at all? */
bool
is_usable(PpBackendScan *s)
{
	if (s->stopped)
	{
		pp_fail(PP_CUDA_BROKEN, "the device was stopped");
		return false;
	}
	return pp_process_ready() && !s->failed;
}

/* All events of a scan, in the order in which they are made. */
cudaEvent_t *
event_number(PpBackendScan *s, uint32_t i)
{
	PpSlot	   *t;

	if (i == 0)
		return &s->carried;
	t = &s->slot[(i - 1) % 2];
	i = (i - 1) / 2;
	if (i == 0)
		return &t->uploaded;
	if (i == 1)
		return &t->done;
	if (i < 6)
		return &t->copy[i - 2];
	return i - 6 < PP_CLOCK_EVENTS ? &t->clock_event[i - 6] : nullptr;
}

/* Gives back what the scan has on the device, and stops what it does there. */
void
leave_device(PpBackendScan *s)
{
	cudaStream_t stream[] = {s->in, s->work, s->out};

	if (s->stopped)
		return;
	for (cudaStream_t q : stream)
		if (q != nullptr)
			(void) pp_stream_abandon(q);
	for (uint32_t i = 0; i < 2; i++)
		release_slot(&s->slot[i], s->plan.nparts);
	pp_buffer_release(&s->structure);
	pp_buffer_release(&s->fields);
	pp_buffer_release(&s->columns);
	pp_buffer_release(&s->longs);
	pp_buffer_release(&s->filters);
	pp_buffer_release(&s->rest);
	pp_buffer_release(&s->plan.tables);
	pp_buffer_release(&s->plan.tables_host);
	for (uint32_t i = 0; i < s->nevents; i++)
		(void) cudaEventDestroy(*event_number(s, i));
	for (cudaStream_t q : stream)
		if (q != nullptr)
			(void) cudaStreamDestroy(q);
	(void) cudaGetLastError();
	s->stopped = true;
}

void
paper_close(PpBackendScan *s)
{
	PpAlloc		a;

	if (s == nullptr)
		return;
	leave_device(s);
	for (PpBackendScan **p = &open_scans; *p != nullptr; p = &(*p)->next)
		if (*p == s)
		{
			*p = s->next;
			break;
		}
	a = s->spec->alloc;
	for (uint32_t i = 0; i < s->nblocks; i++)
		a.release(a.ctx, s->block[i]);
	a.release(a.ctx, s);
}

bool
make_streams(PpBackendScan *s)
{
	cudaStream_t *stream[] = {&s->in, &s->work, &s->out};

	for (cudaStream_t *q : stream)
	{
		cudaError_t e = cudaStreamCreateWithFlags(q, cudaStreamNonBlocking);

		if (e != cudaSuccess)
		{
			*q = nullptr;
			return call_failed(s, "making a stream failed", e);
		}
	}
	for (cudaEvent_t *p; (p = event_number(s, s->nevents)) != nullptr; s->nevents++)
	{
		cudaError_t e = cudaEventCreate(p);

		if (e != cudaSuccess)
			return call_failed(s, "making an event failed", e);
	}
	return true;
}

bool
make_slot(PpBackendScan *s, PpSlot *t)
{
	const uint32_t ncolumns = s->spec->ncolumns;

	t->input.kind = t->selected.kind = t->end.kind = PP_MEMORY_DEVICE;
	t->selected_host.kind = t->end_host.kind = t->filter_host.kind = t->reports.kind = PP_MEMORY_PINNED;
	t->clock.event = t->clock_event;
	t->clock.stage = t->clock_stage;
	t->clock.room = PP_CLOCK_EVENTS;
	t->data = static_cast<PpColumnData *>(pp_paper_host(s, (ncolumns + 1) * sizeof(PpColumnData)));
	t->output = static_cast<PpPartOutput *>(pp_paper_host(s, (s->plan.nparts + 1) * sizeof(PpPartOutput)));
	if (t->data == nullptr || t->output == nullptr)
		return false;
	for (uint32_t k = 0; k < s->plan.nparts; k++)
	{
		t->output[k].values.kind = t->output[k].heap.kind = PP_MEMORY_DEVICE;
		t->output[k].values_host.kind = t->output[k].heap_host.kind = PP_MEMORY_PINNED;
	}
	if (!reserve(s, &t->reports, sizeof(PpReports)))
		return false;
	memset(t->reports.p, 0, sizeof(PpReports));
	return true;
}

PpBackendScan *
paper_open(const PpScanSpec *spec)
{
	PpBackendScan *s;

	if (!pp_process_ready())
		return nullptr;
	s = static_cast<PpBackendScan *>(spec->alloc.alloc(spec->alloc.ctx, sizeof(*s)));
	if (s == nullptr)
	{
		pp_fail(PP_CUDA_NO_MEMORY, "out of memory");
		return nullptr;
	}
	memset(static_cast<void *>(s), 0, sizeof(*s));
	s->spec = spec;
	s->next = open_scans;
	open_scans = s;
	s->options = pp_process_options();
	if (!pp_device_dfa(&spec->dfa, &spec->dialect, &s->dfa))
		pp_fail(PP_CUDA_UNSUPPORTED, "the dialect has too many special bytes");
	else if (make_streams(s) && pp_paper_plan(s) && make_slot(s, &s->slot[0]) &&
			 make_slot(s, &s->slot[1]))
		return s;
	paper_close(s);
	return nullptr;
}

/* Does the text that was announced, behind what is left, make up this job? */
bool
is_ahead(const PpBackendScan *s, const PpSlot *next, const PpJob *job, uint32_t rest)
{
	const uint32_t n = job->len - job->begin;

	if (!s->carry || next->phase == PP_SLOT_EMPTY || job->last != next->last)
		return false;
	return n == rest + next->announced && (next->phase != PP_SLOT_TEXT || rest <= next->offset);
}

bool
paper_submit(PpBackendScan *s, const PpJob *job)
{
	PpSlot	   *before = &s->slot[s->current];
	PpSlot	   *t = &s->slot[1 - s->current];
	uint32_t	rest = s->carry ? before->n - before->result.next : 0;

	if (!is_usable(s))
		return false;
	if (is_ahead(s, t, job, rest))
	{
		t->job = *job;
		t->adopted = true;
		s->current = 1 - s->current;
		s->carry = false;
		if (t->phase != PP_SLOT_TEXT)
			return true;
		t->offset -= rest;
		t->n = rest + t->announced;
		return carry_over(s, before, t, t->offset, rest) && start(s, t);
	}

	t->phase = PP_SLOT_EMPTY;
	t = before;
	t->job = *job;
	t->adopted = true;
	t->n = job->len - job->begin;
	t->last = job->last;
	t->truncated = t->n >= PP_PAPER_MAX_BYTES;
	if (t->truncated)
	{
		t->n = PP_PAPER_MAX_BYTES - 1;
		t->last = false;
	}
	if (rest > t->n)
		rest = 0;
	s->carry = false;
	return carry_within(s, t, t->n, rest) &&
		upload(s, t, rest, job->text + job->begin + rest, t->n - rest) &&
		start(s, t);
}

bool
paper_ahead(PpBackendScan *s, const uint8_t *text, uint32_t len, bool last)
{
	PpSlot	   *t = &s->slot[s->current];
	PpSlot	   *next = &s->slot[1 - s->current];
	uint32_t	room;

	if (!is_usable(s) || s->no_ahead || t->phase == PP_SLOT_EMPTY || t->last || t->truncated ||
		next->phase != PP_SLOT_EMPTY)
		return false;
	room = t->n / CARRY_PART > CARRY_ROOM ? t->n / CARRY_PART : CARRY_ROOM;
	if (room > t->n)
		room = t->n;
	room = (uint32_t) align16(room);
	if (len >= PP_PAPER_MAX_BYTES - room)
		return false;
	if (!pp_buffer_reserve(&next->input, (size_t) room + len + PP_PAD))
	{
		stop_ahead(s);
		return false;
	}
	next->adopted = next->truncated = false;
	next->offset = room;
	next->announced = len;
	next->last = last;
	if (!upload(s, next, room, text, len))
		return false;
	next->phase = PP_SLOT_TEXT;
	return true;
}

PpPoll
paper_poll(PpBackendScan *s, const PpBatch **batch, const char **message)
{
	PpSlot	   *t = &s->slot[s->current];
	PpCudaLibrary const *library = pp_cuda_library(PP_CUDA_VERSION);

	if (!is_usable(s) || !advance(s, t) || !work_ahead(s))
	{
		*message = library->error();
		return PP_POLL_FAILED;
	}
	if (t->phase != PP_SLOT_DONE)
		return PP_POLL_PENDING;
	make_batch(s, t);
	s->carry = t->batch.stop == PP_STOP_MORE;
	*batch = &t->batch;
	return PP_POLL_DONE;
}

void
paper_release(PpBackendScan *s)
{
	s->slot[s->current].phase = PP_SLOT_EMPTY;
}

}								/* namespace */

void *
pp_paper_host(PpBackendScan *s, size_t size)
{
	const PpAlloc *a = &s->spec->alloc;
	void	   *p = a->alloc(a->ctx, size);

	if (p == nullptr)
	{
		s->failed = true;
		pp_fail(PP_CUDA_NO_MEMORY, "out of memory");
		return nullptr;
	}
	memset(p, 0, size);
	s->block[s->nblocks++] = p;
	return p;
}

void
pp_paper_stats(const PpBackendScan *scan, PpCudaStats *stats)
{
	*stats = scan->stats;
}

void
pp_paper_stop(void)
{
	for (PpBackendScan *s = open_scans; s != nullptr; s = s->next)
		leave_device(s);
}

const PpBackend pp_backend_paper = {
	sizeof(PpBackend),
	PP_BACKEND_VERSION,
	"cuda (paper)",
	paper_open,
	paper_submit,
	paper_poll,
	paper_release,
	paper_close,
	paper_ahead
};
