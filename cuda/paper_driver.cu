/*
 * cuda/paper_driver.cu
 *	  The pipeline "paper" of the backend "cuda (paper)": its buffers, and what is
 *	  to be done next on the device.
 *
 * A partition passes through these steps; behind each, something comes back
 * to the host that decides on the next (PpReports):
 *
 *		structure	bitmap indexes, how many records
 *		measure		fields are partitioned by column; what each becomes, and
 *					how many bytes values by reference need
 *		convert		columns are made, filters applied
 *
 * The latter two repeat for each part of the columns (PpPart); then columns go
 * out.
 */
#include "paper_scan.h"

#include <cstring>

namespace
{

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

PpReports *
reports(PpPaperSlot *t)
{
	return reinterpret_cast<PpReports *>(t->reports.p);
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
most_records(const PpPaperRun *s)
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

bool
paper_start(PpDriverScan *scan, PpSlot *slot)
{
	PpPaperRun *s = static_cast<PpPaperRun *>(scan);
	PpPaperSlot *t = static_cast<PpPaperSlot *>(slot);
	const PpScanSpec *spec = s->spec;
	PpStructureJob *job = &t->structure_job;
	size_t		bytes;

	t->part = 0;
	memset(job, 0, sizeof(*job));
	job->dfa = s->dfa;
	job->text = t->input.p + t->offset;
	job->n = t->n;
	job->last = t->last;
	job->chunk = spec->chunk_size == 0 ? PP_PAPER_CHUNK :
		spec->chunk_size > PP_PAPER_MAX_CHUNK ? PP_PAPER_MAX_CHUNK : spec->chunk_size;
	job->nfields = spec->nfields;
	job->max_records = most_records(s);
	if (!pp_frame_launched(s, pp_structure_layout(job, nullptr, &bytes, &t->structure)) ||
		!pp_driver_reserve(s, &s->structure, bytes) ||
		!pp_frame_launched(s, pp_structure_layout(job, s->structure.p, &bytes, &t->structure)) ||
		!pp_frame_launched(s, pp_structure_run(job, &t->structure, s->work, &t->clock)) ||
		!pp_frame_copy(s, &reports(t)->result, t->structure.result, sizeof(PpStructureResult),
					   cudaMemcpyDeviceToHost, s->work))
		return false;
	return pp_driver_end_step(s, t, STEP_STRUCTURE);
}

PpTagging
choose_tagging(const PpPaperRun *s, const PpPaperSlot *t)
{
	if (s->options.tagging == PP_TAG_RECORD || s->options.tagging == PP_TAG_VECTOR)
		return s->options.tagging;
	return t->result.terminator ? PP_TAG_VECTOR : PP_TAG_INLINE;
}

/* Fields of a group, column by column. */
bool
partition_fields(PpPaperRun *s, PpPaperSlot *t, uint32_t group)
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
	return pp_frame_launched(s, pp_fields_layout(&job, nullptr, &bytes, &t->fields)) &&
		pp_driver_reserve(s, &s->fields, bytes) &&
		pp_frame_launched(s, pp_fields_layout(&job, s->fields.p, &bytes, &t->fields)) &&
		pp_frame_launched(s, pp_fields_run(&job, s->fields.p, bytes, &t->fields, s->work, &t->clock));
}

/*
 * How many fields of a part may be longer than thread_bytes: as many as there
 * is text for, but that of a field counts for every column that it goes to.
 */
uint64_t
most_queued(const PpPaperRun *s, const PpPaperSlot *t, const PpPart *part)
{
	const uint64_t all = (uint64_t) part->ncolumns * t->result.nrecords;
	uint64_t	n = (uint64_t) s->plan.most * (t->n / (s->options.thread_bytes + 1));

	n += (uint64_t) part->padded * t->result.nrecords;
	return n < all ? n : all;
}

bool
measure(PpPaperRun *s, PpPaperSlot *t)
{
	const PpPart *part = &s->plan.part[t->part];
	PpPartOutput *o = &t->output[t->part];
	PpColumnsJob *job = &t->columns;
	const uint64_t n = (uint64_t) part->ncolumns * t->result.nrecords;
	const uint64_t queued = most_queued(s, t, part);
	const size_t counts_at = pp_align256(queued * sizeof(uint32_t));
	const size_t temp_at = counts_at + 256;
	size_t		temp_bytes;

	if (n >= INT32_MAX)
		return pp_frame_fail(s, PP_CUDA_UNSUPPORTED, "a partition has too many values");
	o->values_bytes = (n + 1) * sizeof(uint64_t) + n;
	if ((part->partition && !partition_fields(s, t, part->group)) ||
		!pp_frame_launched(s, pp_columns_temp(part->ncolumns, part->nvalues, t->result.nrecords, &temp_bytes)) ||
		!pp_driver_reserve(s, &o->values, o->values_bytes) ||
		!pp_driver_reserve(s, &o->values_host, o->values_bytes) ||
		!pp_driver_reserve(s, &s->columns, temp_at + temp_bytes))
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
	if (!pp_frame_launched(s, cudaMemsetAsync(job->counts, 0, sizeof(PpColumnCounts), s->work)) ||
		!pp_frame_launched(s, pp_columns_measure(job, &t->clock, s->work)) ||
		!pp_frame_copy(s, &reports(t)->counts, job->counts, sizeof(PpColumnCounts),
					   cudaMemcpyDeviceToHost, s->work) ||
		!pp_frame_copy(s, &reports(t)->heap_bytes, job->value + n, sizeof(uint64_t),
					   cudaMemcpyDeviceToHost, s->work))
		return false;
	return pp_driver_end_step(s, t, STEP_MEASURE);
}

/* The output of a projected column, of which there is one: its part, and where in it. */
const PpPartOutput *
find_output(const PpPaperRun *s, const PpPaperSlot *t, uint32_t column, uint32_t *part, size_t *at)
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
filter(PpPaperRun *s, PpPaperSlot *t)
{
	const uint32_t n = t->result.nrecords;
	const uint32_t nfilters = s->spec->nfilters;
	const size_t table_at = pp_align256(n);
	const size_t counts_at = table_at + pp_align256(nfilters * sizeof(PpPaperFilter));
	const size_t temp_at = counts_at + 256;
	PpPaperFilter *host;
	uint32_t   *counts;
	size_t		temp_bytes;

	if (!pp_frame_launched(s, pp_select_flagged(nullptr, &temp_bytes, nullptr, 1, nullptr, nullptr, n, s->work)) ||
		!pp_driver_reserve(s, &s->filters, temp_at + temp_bytes) ||
		!pp_driver_reserve(s, &t->filter_host, nfilters * sizeof(PpPaperFilter)) ||
		!pp_driver_reserve(s, &t->selection, (size_t) n * sizeof(uint32_t)) ||
		!pp_driver_reserve(s, &t->selection_host, (size_t) n * sizeof(uint32_t)))
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
	if (!pp_frame_copy(s, s->filters.p + table_at, host, nfilters * sizeof(PpPaperFilter),
					   cudaMemcpyHostToDevice, s->work) ||
		!pp_frame_launched(s, cudaMemsetAsync(counts, 0, 2 * sizeof(uint32_t), s->work)) ||
		!pp_frame_launched(s, pp_filters_run(reinterpret_cast<const PpPaperFilter *>(s->filters.p + table_at),
											nfilters, n, s->filters.p, counts + 1, &t->clock, s->work)))
		return false;
	pp_stage(&t->clock, PP_STAGE_FILTER, s->work);
	t->filtered = true;
	return pp_frame_launched(s, pp_select_flagged(s->filters.p + temp_at, &temp_bytes, s->filters.p, 1,
												  reinterpret_cast<uint32_t *>(t->selection.p), counts, n, s->work)) &&
		pp_frame_copy(s, &reports(t)->nselected, counts, sizeof(uint32_t), cudaMemcpyDeviceToHost, s->work) &&
		pp_frame_copy(s, &reports(t)->unknown, counts + 1, sizeof(uint32_t), cudaMemcpyDeviceToHost, s->work);
}

bool
convert(PpPaperRun *s, PpPaperSlot *t)
{
	const PpPart *part = &s->plan.part[t->part];
	PpPartOutput *o = &t->output[t->part];
	PpColumnsJob *job = &t->columns;
	const PpColumnCounts counts = reports(t)->counts;

	o->heap_bytes = part->ncolumns > part->nvalues ? reports(t)->heap_bytes : 0;
	if (!pp_driver_reserve(s, &o->heap, o->heap_bytes) || !pp_driver_reserve(s, &o->heap_host, o->heap_bytes) ||
		(counts.ndevice > 0 && !pp_driver_reserve(s, &s->longs, counts.ndevice * sizeof(PpLongField))))
		return false;
	job->longs = reinterpret_cast<PpLongField *>(s->longs.p);
	job->heap = o->heap.p;
	job->host_heap = reinterpret_cast<uintptr_t>(o->heap_host.p);
	if (!pp_frame_launched(s, pp_columns_convert(job, &counts, &t->clock, s->work)) ||
		!pp_frame_copy(s, &reports(t)->counts, job->counts, sizeof(PpColumnCounts),
					   cudaMemcpyDeviceToHost, s->work) ||
		(part->filter && !filter(s, t)))
		return false;
	return pp_driver_end_step(s, t, STEP_CONVERT);
}

/* Columns out, and where fields end; once it is known who asks for them. */
bool
paper_give_back(PpDriverScan *scan, PpSlot *slot)
{
	PpPaperRun *s = static_cast<PpPaperRun *>(scan);
	PpPaperSlot *t = static_cast<PpPaperSlot *>(slot);
	const uint32_t n = t->result.nrecords;
	bool		columns = n > 0 && !(t->filtered && t->nselected == 0);

	t->listed = pp_driver_needs_list(s, t);
	if (t->listed)
	{
		if (pp_driver_hold(t))
			return true;
		if (!pp_driver_reserve_end(s, t, n) ||
			!pp_frame_launched(s, pp_field_ends_run(&t->structure_job, &t->structure, n,
													reinterpret_cast<uint32_t *>(t->end.p), s->work, &t->clock)))
			return false;
	}
	if (!pp_driver_return_begin(s, t))
		return false;
	for (uint32_t k = 0; columns && k < s->plan.nparts; k++)
	{
		PpPartOutput *o = &t->output[k];

		if (!pp_frame_copy(s, o->values_host.p, o->values.p, o->values_bytes, cudaMemcpyDeviceToHost, s->out) ||
			!pp_frame_copy(s, o->heap_host.p, o->heap.p, o->heap_bytes, cudaMemcpyDeviceToHost, s->out))
			return false;
	}
	if (t->filtered &&
		!pp_frame_copy(s, t->selection_host.p, t->selection.p, (size_t) t->nselected * sizeof(uint32_t),
					   cudaMemcpyDeviceToHost, s->out))
		return false;
	return pp_driver_return_end(s, t);
}

bool
paper_next(PpDriverScan *scan, PpSlot *slot)
{
	PpPaperRun *s = static_cast<PpPaperRun *>(scan);
	PpPaperSlot *t = static_cast<PpPaperSlot *>(slot);

	switch (t->step)
	{
		case STEP_STRUCTURE:
			t->result = reports(t)->result;
			return t->result.nrecords > 0 && s->plan.nparts > 0 ? measure(s, t) :
				paper_give_back(s, t);
		case STEP_MEASURE:
			return convert(s, t);
		default:
			break;
	}
	t->ndeferred += reports(t)->counts.ndeferred;
	if (s->plan.part[t->part].filter)
	{
		t->nselected = reports(t)->nselected;
		t->unknown = reports(t)->unknown != 0;
	}
	t->part++;
	return t->part < s->plan.nparts ? measure(s, t) : paper_give_back(s, t);
}

bool
paper_finish(PpDriverScan *scan, PpSlot *slot, PpBatch *)
{
	const PpPaperRun *s = static_cast<PpPaperRun *>(scan);
	PpPaperSlot *t = static_cast<PpPaperSlot *>(slot);
	const uint32_t n = t->result.nrecords;

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
	t->selected = reinterpret_cast<const uint32_t *>(t->selection_host.p);
	return true;
}

void
paper_release_slot(PpDriverScan *scan, PpSlot *slot)
{
	const PpPaperRun *s = static_cast<PpPaperRun *>(scan);
	PpPaperSlot *t = static_cast<PpPaperSlot *>(slot);

	for (uint32_t k = 0; t->output != nullptr && k < s->plan.nparts; k++)
	{
		pp_buffer_release(&t->output[k].values);
		pp_buffer_release(&t->output[k].values_host);
		pp_buffer_release(&t->output[k].heap);
		pp_buffer_release(&t->output[k].heap_host);
	}
	pp_buffer_release(&t->selection);
	pp_buffer_release(&t->selection_host);
	pp_buffer_release(&t->filter_host);
}

void
paper_release(PpDriverScan *scan)
{
	PpPaperRun *s = static_cast<PpPaperRun *>(scan);

	pp_buffer_release(&s->structure);
	pp_buffer_release(&s->fields);
	pp_buffer_release(&s->columns);
	pp_buffer_release(&s->longs);
	pp_buffer_release(&s->filters);
	pp_tables_release(&s->plan.tables);
}

bool
make_slot(PpPaperRun *s, PpPaperSlot *t)
{
	t->selection.kind = PP_MEMORY_DEVICE;
	t->selection_host.kind = t->filter_host.kind = PP_MEMORY_PINNED;
	t->output = static_cast<PpPartOutput *>(pp_driver_host(s, (s->plan.nparts + 1) * sizeof(PpPartOutput)));
	if (t->output == nullptr)
		return false;
	for (uint32_t k = 0; k < s->plan.nparts; k++)
	{
		t->output[k].values.kind = t->output[k].heap.kind = PP_MEMORY_DEVICE;
		t->output[k].values_host.kind = t->output[k].heap_host.kind = PP_MEMORY_PINNED;
	}
	return pp_driver_reserve_reports(s, t, sizeof(PpReports));
}

bool
paper_open_run(PpDriverScan *scan)
{
	PpPaperRun *s = static_cast<PpPaperRun *>(scan);

	return pp_paper_plan(s) && make_slot(s, static_cast<PpPaperSlot *>(s->slot[0])) &&
		make_slot(s, static_cast<PpPaperSlot *>(s->slot[1]));
}

const PpPipeline pipeline = {
	sizeof(PpPaperRun),
	sizeof(PpPaperSlot),
	PP_STAGE_INDEX,
	paper_open_run,
	paper_start,
	paper_next,
	paper_give_back,
	paper_finish,
	paper_release_slot,
	paper_release
};

PpBackendScan *
paper_open(const PpScanSpec *spec)
{
	return pp_driver_open(spec, &pipeline);
}

}								/* namespace */

const PpBackend pp_backend_paper = pp_driver_backend("cuda (paper)", paper_open);
