/*
 * cuda/json_steps.cu
 *	  What a job of JSON passes through on the device.  Behind each phase,
 *	  something comes back to the host that decides on the next (PpJsonReports):
 *
 *		records		records are found and checked
 *		convert		columns of filters are made, or all if there are aggregates
 *		select		filters and aggregates are applied
 *		convert		the other columns are made, of the records that are left
 *		return		columns come out, those rows only
 *
 * A conversion whose values find no room in the heap is run again with a larger
 * one; how much is needed is known then, and the next one's room goes by that.
 * What is but a guess goes as far as a job does, unless the CPU is to have it.
 *
 * No call waits, but for buffers that have to grow.
 */
#include "json_scan.h"

#include <cstring>

namespace
{

/*
 * Records of a slot are limited by what their places take, in eighths of a byte
 * for each byte of text: with two slots, with one.
 */
constexpr uint64_t PLACES = 6;
constexpr uint64_t PLACES_ALONE = 12;
constexpr uint64_t LEAST_RECORDS = 1024;

/* The device's result, as it is now, to the reports. */
bool
report(PpJsonScan *s, PpJsonSlot *t)
{
	return pp_json_copy(s, t, &pp_json_reports(t)->result, t->records.result, sizeof(PpJsonResult),
						cudaMemcpyDeviceToHost);
}

/* Ends what the phase enqueues: its last event, which also stops the clock. */
bool
end_phase(PpJsonScan *s, PpJsonSlot *t, PpJsonPhase phase)
{
	t->phase = phase;
	return pp_frame_record(s, t->done, s->work);
}

/* How many records of n bytes are taken at a time. */
uint32_t
most_records(const PpJsonScan *s, uint64_t n)
{
	const uint64_t each = sizeof(uint32_t) + s->nplaces * sizeof(uint2);
	uint64_t	most = n * (s->dense || s->no_ahead ? PLACES_ALONE : PLACES) / 8 / each;

	if (most < LEAST_RECORDS)
		most = LEAST_RECORDS;
	/* a record and its line end have two bytes at least */
	if (most > n / 2 + 1)
		most = n / 2 + 1;
	return most < s->spec->scan.max_records ? (uint32_t) most : s->spec->scan.max_records;
}

/* Columns of a part, of the rows that are left so far. */
bool
convert(PpJsonScan *s, PpJsonSlot *t)
{
	PpJsonPart *part = &t->part_of[t->part];
	const uint32_t ncolumns = pp_json_part_columns(s, t->part);
	const bool	some = t->filtered && t->nselected < t->nrecords;
	PpJsonColumnsJob job;
	uint64_t	values;

	part->nrows = t->filtered ? t->nselected : t->nrecords;
	values = (uint64_t) ncolumns * part->nrows;
	if (values >= INT32_MAX)
		return pp_frame_fail(s, PP_CUDA_UNSUPPORTED, "a partition has too many values");
	part->heap_room = s->heaps[t->part] ? s->heap_guess[t->part] * (t->n / 1024 + 1) : 0;
	if (part->heap_room < part->heap_bytes)
		part->heap_room = part->heap_bytes;
	if (!pp_json_reserve(s, t, &part->values, values * 9) ||
		!pp_json_reserve(s, t, &part->heap, part->heap_room + PP_PAD) ||
		!pp_json_reserve(s, t, &part->heap_host, part->heap_room))
		return false;
	memset(&job, 0, sizeof(job));
	job.job = &t->records;
	job.env = s->env;
	job.charset = s->spec->charset != nullptr;
	job.column = s->column + s->first_of[t->part];
	job.ncolumns = ncolumns;
	job.nrows = part->nrows;
	job.selected = some ? reinterpret_cast<const uint32_t *>(t->selected.p) : nullptr;
	job.value = reinterpret_cast<uint64_t *>(part->values.p);
	job.state = part->values.p + values * 8;
	job.ndeferred = reinterpret_cast<uint32_t *>(t->deferred.p) + s->first_of[t->part];
	job.heap = part->heap.p;
	job.heap_room = part->heap_room;
	job.host_heap = reinterpret_cast<uintptr_t>(part->heap_host.p);
	pp_stage(&t->clock, PP_STAGE_COLUMNS, s->work);
	if (!pp_frame_launched(s, cudaMemsetAsync(job.ndeferred, 0, ncolumns * sizeof(uint32_t), s->work)))
		return false;
	pp_stage(&t->clock, PP_STAGE_COLUMNS, s->work);
	return pp_frame_launched(s, cudaMemsetAsync(&t->records.result->heap_bytes, 0,
												sizeof(t->records.result->heap_bytes), s->work)) &&
		pp_frame_launched(s, pp_json_columns_run(&job, &t->clock, s->work)) && report(s, t) &&
		end_phase(s, t, PP_JSON_CONVERT);
}

/*
 * Filters and aggregates, over the columns of the first part; by the fused
 * pipeline's kernels, to which it is a pass that has found these records.
 */
bool
select_rows(PpJsonScan *s, PpJsonSlot *t)
{
	const PpScanSpec *spec = &s->spec->scan;
	const uint32_t n = t->nrecords;
	const uint32_t nfilters = spec->nfilters;
	const uint32_t npartials = spec->naggregates > 0 ? spec->naggregates + 1 : 0;
	const PpJsonPart *part = &t->part_of[0];
	const size_t values = (size_t) pp_json_part_columns(s, 0) * n;
	/* those that come in go first */
	const size_t table_at = pp_align256(sizeof(PpFusedResult));
	const size_t in_bytes = table_at + nfilters * sizeof(PpPaperFilter);
	const size_t partial_at = pp_align256(in_bytes);
	const size_t flag_at = partial_at + pp_align256(npartials * sizeof(PpPartial));
	const size_t temp_at = flag_at + pp_align256(n);
	PpFusedJob	found;
	PpSelectJob job;
	PpFusedResult *result;
	PpPaperFilter *host;

	memset(&found, 0, sizeof(found));
	memset(&job, 0, sizeof(job));
	if (!pp_frame_launched(s, pp_select_temp(n, &job.temp_bytes)) ||
		!pp_json_reserve(s, t, &t->selection, temp_at + job.temp_bytes) ||
		!pp_json_reserve(s, t, &t->selection_host, in_bytes) ||
		!pp_json_reserve(s, t, &t->selected, (size_t) n * sizeof(uint32_t)) ||
		!pp_json_reserve(s, t, &t->selected_host, (size_t) n * sizeof(uint32_t)))
		return false;
	found.ncolumns = pp_json_part_columns(s, 0);
	found.room = n;
	found.value = reinterpret_cast<uint64_t *>(part->values.p);
	found.state = part->values.p + values * 8;
	found.heap = part->heap.p;
	found.host_heap = reinterpret_cast<uintptr_t>(part->heap_host.p);
	found.result = reinterpret_cast<PpFusedResult *>(t->selection.p);
	result = reinterpret_cast<PpFusedResult *>(t->selection_host.p);
	memset(result, 0, sizeof(*result));
	result->structure.nrecords = n;
	host = reinterpret_cast<PpPaperFilter *>(t->selection_host.p + table_at);
	for (uint32_t i = 0; i < nfilters; i++)
	{
		uint32_t	at = 0;

		while (s->order[at] != s->filter[i].filter.column)
			at++;
		host[i] = s->filter[i];
		host[i].value = found.value + (size_t) at * n;
		host[i].state = found.state + (size_t) at * n;
		host[i].to_device = reinterpret_cast<uintptr_t>(part->heap.p) -
			reinterpret_cast<uintptr_t>(part->heap_host.p);
	}
	job.job = &found;
	job.filter = reinterpret_cast<const PpPaperFilter *>(t->selection.p + table_at);
	job.nfilters = nfilters;
	job.aggregate = s->aggregate;
	job.naggregates = npartials;
	for (uint32_t i = 0; i < spec->naggregates; i++)
		job.ranked = job.ranked || pp_aggregate_is_ranked(spec->aggregate[i].op);
	job.partial = reinterpret_cast<PpPartial *>(t->selection.p + partial_at);
	job.flag = t->selection.p + flag_at;
	t->flag = job.flag;
	job.selected = reinterpret_cast<uint32_t *>(t->selected.p);
	job.temp = t->selection.p + temp_at;
	return pp_json_copy(s, t, t->selection.p, t->selection_host.p, in_bytes, cudaMemcpyHostToDevice) &&
		pp_frame_launched(s, pp_select_run(&job, &t->clock, s->work)) &&
		pp_json_copy(s, t, pp_json_reports(t)->partial, job.partial, npartials * sizeof(PpPartial),
					 cudaMemcpyDeviceToHost) &&
		pp_json_copy(s, t, &pp_json_reports(t)->selection, found.result, sizeof(PpFusedResult),
					 cudaMemcpyDeviceToHost) &&
		end_phase(s, t, PP_JSON_SELECT);
}

/* Does the host have to look at records itself? */
bool
needs_list(const PpJsonScan *s, const PpJsonSlot *t)
{
	return !s->spec->scan.unlisted && t->nrecords > 0 &&
		(s->spec->scan.ncolumns == 0 || t->ndeferred > 0);
}

/*
 * A part's columns, of the rows that are left: where they stand on the device,
 * dense being the next place free for those that have to be gathered.
 */
const uint8_t *
gather(PpJsonScan *s, PpJsonSlot *t, uint32_t p, uint8_t **dense)
{
	const PpJsonPart *part = &t->part_of[p];
	const uint32_t nrows = t->filtered ? t->nselected : t->nrecords;
	const uint32_t ncolumns = pp_json_part_columns(s, p);
	const size_t values = (size_t) ncolumns * nrows;
	uint8_t    *to = *dense;

	if (part->nrows == nrows || values == 0)
		return part->values.p;
	*dense += pp_align256(values * 9);
	return pp_frame_launched(s, pp_json_gather_run(reinterpret_cast<const uint64_t *>(part->values.p),
												   part->values.p + (size_t) ncolumns * part->nrows * 8,
												   ncolumns, part->nrows,
												   reinterpret_cast<const uint32_t *>(t->selected.p), nrows,
												   reinterpret_cast<uint64_t *>(to), to + values * 8,
												   &t->clock, s->work)) ? to : nullptr;
}

/* To the host, by the stream of columns. */
bool
copy_out(PpJsonScan *s, void *dst, const void *src, size_t n)
{
	return pp_frame_copy(s, dst, src, n, cudaMemcpyDeviceToHost, s->out);
}

/* Columns out; where records end, and handed over values stand, if that is asked. */
bool
give_back(PpJsonScan *s, PpJsonSlot *t)
{
	const PpScanSpec *spec = &s->spec->scan;
	const uint32_t n = t->nrecords;
	const uint32_t nrows = t->filtered ? t->nselected : n;
	const uint32_t *deferred = reinterpret_cast<const uint32_t *>(t->deferred_host.p);
	const uint8_t *values[PP_JSON_PARTS];
	size_t		gathered = 0;
	uint8_t    *dense;
	uint32_t	nranges = 0;

	t->listed = needs_list(s, t);
	for (uint32_t p = 0; p < PP_JSON_PARTS; p++)
		if (t->part_of[p].nrows != nrows)
			gathered += pp_align256((size_t) pp_json_part_columns(s, p) * nrows * 9);
	for (uint32_t i = 0; i < spec->ncolumns && t->ndeferred > 0; i++)
		nranges += deferred[i] > 0;
	/* of documents, there are to be two ends of each */
	if (!pp_json_reserve(s, t, &t->dense, gathered) ||
		!pp_json_reserve(s, t, &t->range_host, (size_t) nranges * n * sizeof(PpJsonRange)) ||
		(t->listed && !pp_json_reserve(s, t, &t->end_host, ((s->documents ? 2 : 1) * (size_t) n + 1) * sizeof(uint32_t))))
		return false;
	dense = t->dense.p;
	for (uint32_t p = 0; p < PP_JSON_PARTS; p++)
	{
		const size_t bytes = (size_t) pp_json_part_columns(s, p) * nrows * 9;

		values[p] = gather(s, t, p, &dense);
		if ((values[p] == nullptr && bytes > 0) || !pp_json_reserve(s, t, &t->part_of[p].values_host, bytes))
			return false;
	}
	if (!pp_frame_return_begin(s, t))
		return false;

	for (uint32_t p = 0; p < PP_JSON_PARTS; p++)
	{
		const PpJsonPart *part = &t->part_of[p];
		const size_t bytes = (size_t) pp_json_part_columns(s, p) * nrows * 9;

		if (bytes > 0 && (!copy_out(s, part->values_host.p, values[p], bytes) ||
						  !copy_out(s, part->heap_host.p, part->heap.p, part->heap_bytes)))
			return false;
	}
	if (t->filtered && t->nselected < n &&
		!copy_out(s, t->selected_host.p, t->selected.p, (size_t) t->nselected * sizeof(uint32_t)))
		return false;
	if (n > 0 && !copy_out(s, &pp_json_reports(t)->last_end, t->records.end + (n - 1), sizeof(uint32_t)))
		return false;
	if (t->listed && !copy_out(s, t->end_host.p + (s->documents ? (size_t) n + 1 : 1) * sizeof(uint32_t),
							   t->records.end, (size_t) n * sizeof(uint32_t)))
		return false;
	memset(t->range, 0, spec->ncolumns * sizeof(*t->range));
	nranges = 0;
	for (uint32_t i = 0; i < spec->ncolumns && t->ndeferred > 0; i++)
		if (deferred[i] > 0)
		{
			const uint32_t c = s->order[i];
			PpJsonRange *range = reinterpret_cast<PpJsonRange *>(t->range_host.p) + (size_t) nranges++ * n;

			if (!copy_out(s, range, t->records.place + (size_t) s->column_host[i].place * t->records.room,
						  (size_t) n * sizeof(PpJsonRange)))
				return false;
			t->range[c] = range;
		}
	t->phase = PP_JSON_RETURN;
	return pp_frame_return_end(s, t);
}

/* What comes behind a part, or behind the records. */
bool
go_on(PpJsonScan *s, PpJsonSlot *t, uint32_t part)
{
	const uint32_t rows = t->filtered ? t->nselected : t->nrecords;

	for (t->part = part; t->part < PP_JSON_PARTS; t->part++)
		if (rows > 0 && pp_json_part_columns(s, t->part) > 0)
			return convert(s, t);
		else
			t->part_of[t->part].nrows = rows;
	return give_back(s, t);
}

/* Which records the batch has, once the device has looked at the text. */
bool
take_records(PpJsonScan *s, PpJsonSlot *t)
{
	const PpJsonResult *r = &pp_json_reports(t)->result;

	t->nrecords = pp_json_all_records(r) < t->records.room ? pp_json_all_records(r) : t->records.room;
	if (r->refused != 0 && ~r->refused < t->nrecords)
	{
		t->nrecords = ~r->refused;
		t->refused = true;
	}
	if (t->nrecords == 0 && !t->adopted)
	{
		/* the CPU may have to look */
		t->phase = PP_JSON_HELD;
		return true;
	}
	if (t->refused && t->nrecords == 0)
	{
		pp_json_note_refused(s, 0);
		return pp_json_start_host(s, t->first, s->stretch);
	}
	if (s->documents && t->nrecords == 0 &&
		(r->limit != 0 || t->job.last || t->job.len - t->first > PP_JSON_LONG || t->truncated ||
		 pp_json_scalar_next(t, t->first)))
		return pp_json_start_host(s, t->first, s->stretch);
	/* a line that is longer than what the device can take is the CPU's */
	if (!s->documents && t->truncated && r->nrecords == 0 && r->lines_end == 0)
		return pp_json_start_host(s, t->first, 0);
	return go_on(s, t, 0);
}

/* What follows the phase that is done; false: failed. */
bool
next_phase(PpJsonScan *s, PpJsonSlot *t)
{
	PpJsonPart *part = &t->part_of[t->part < PP_JSON_PARTS ? t->part : 0];
	const uint32_t first = s->first_of[t->part < PP_JSON_PARTS ? t->part : 0];
	const uint32_t ncolumns = pp_json_part_columns(s, t->part < PP_JSON_PARTS ? t->part : 0);
	const uint64_t kilobytes = t->n / 1024 + 1;

	switch (t->phase)
	{
		case PP_JSON_RECORDS:
			return take_records(s, t);
		case PP_JSON_CONVERT:
			part->heap_bytes = pp_json_reports(t)->result.heap_bytes;
			/* a bit more, since texts are not all alike */
			s->heap_guess[t->part] = (part->heap_bytes + part->heap_bytes / 16) / kilobytes + 1;
			/* once more, with room for all? */
			if (part->heap_bytes > part->heap_room)
				return convert(s, t);
			return pp_json_copy(s, t, t->deferred_host.p + first * sizeof(uint32_t),
								t->deferred.p + first * sizeof(uint32_t), ncolumns * sizeof(uint32_t),
								cudaMemcpyDeviceToHost) &&
				(t->part == 0 && s->selecting ? select_rows(s, t) : end_phase(s, t, PP_JSON_SELECT));
		case PP_JSON_SELECT:
			for (uint32_t i = 0; i < ncolumns; i++)
				t->ndeferred += reinterpret_cast<const uint32_t *>(t->deferred_host.p)[first + i];
			if (t->part == 0 && s->selecting)
			{
				t->filtered = true;
				t->nselected = pp_json_reports(t)->selection.nselected;
			}
			return go_on(s, t, t->part + 1);
		case PP_JSON_RETURN:
			t->phase = PP_JSON_DONE;
			return true;
		default:
			return true;
	}
}

}								/* namespace */

uint32_t
pp_json_all_records(const PpJsonResult *r)
{
	return r->limit != 0 && (uint32_t) ~r->limit < r->nrecords ? (uint32_t) ~r->limit : r->nrecords;
}

bool
pp_json_scalar_next(const PpJsonSlot *t, uint32_t at)
{
	if (t->records.level > 0)
		return false;
	while (at < t->job.len && pp_json_space(t->job.text[at]))
		at++;
	return at < t->job.len && t->job.text[at] != '{';
}

bool
pp_json_start(PpJsonScan *s, PpJsonSlot *t)
{
	const PpJsonScanSpec *spec = s->spec;
	const PpJsonCharset *charset = spec->charset;
	const uint32_t n = t->n + t->blanks;
	const uint32_t room = most_records(s, t->n);
	const size_t tiles_at = 256;
	const size_t ends_at = tiles_at + pp_align256(pp_json_tiles(n, s->tile_bytes) *
												  (s->documents ? 2 * sizeof(uint64_t) : sizeof(uint32_t)));
	const size_t places_at = ends_at + pp_align256(room * sizeof(uint32_t));
	const uint8_t *text = t->records.text;
	PpJsonJob  *job = &t->records;

	t->part = 0;
	t->filtered = t->listed = t->refused = false;
	t->ndeferred = 0;
	t->moved = 0;
	for (PpJsonPart &part : t->part_of)
		part.heap_bytes = 0;
	/* a guess that was dropped may still be on its way out */
	if (!pp_frame_wait(s, s->work, t->done) ||
		!pp_json_reserve(s, t, &t->structure, places_at + (size_t) room * s->nplaces * sizeof(uint2)))
		return false;
	memset(job, 0, sizeof(*job));
	job->text = text;
	job->n = n;
	job->begin = t->first - t->blanks;
	job->last = t->job.last && !t->truncated;
	job->tile_bytes = s->tile_bytes;
	job->room = room;
	job->any_value = spec->any_value;
	job->max_depth = spec->max_depth < PP_JSON_LEVELS ? spec->max_depth : PP_JSON_LEVELS;
	job->high = charset == nullptr || charset->utf8 ? PP_JSON_HIGH_UTF8 :
		charset->valid_prefix == nullptr ? PP_JSON_HIGH_KNOWN : PP_JSON_HIGH_REFUSED;
	job->escapes_refused = charset != nullptr;
	job->nnodes = s->paths.nnodes;
	job->nplaces = s->nplaces;
	job->table_bytes = s->table_bytes;
	job->node = s->node;
	job->keys = s->keys;
	job->result = reinterpret_cast<PpJsonResult *>(t->structure.p);
	job->tiles = reinterpret_cast<uint32_t *>(t->structure.p + tiles_at);
	job->states = reinterpret_cast<uint64_t *>(t->structure.p + tiles_at);
	job->level = t->place != PP_JSON_AT_TOP;
	job->end = reinterpret_cast<uint32_t *>(t->structure.p + ends_at);
	job->place = reinterpret_cast<uint2 *>(t->structure.p + places_at);
	return pp_frame_launched(s, s->documents ? pp_json_documents_run(job, &t->clock, s->work) :
							 pp_json_records_run(job, &t->clock, s->work)) && report(s, t) &&
		end_phase(s, t, PP_JSON_RECORDS);
}

bool
pp_json_advance(PpJsonScan *s, PpJsonSlot *t)
{
	for (;;)
	{
		PpPoll		done;

		if (t->phase == PP_JSON_HELD)
		{
			if (!t->adopted)
				return true;
			if (!take_records(s, t))
				return false;
		}
		if (t->phase < PP_JSON_RECORDS || t->phase > PP_JSON_RETURN)
			return true;
		done = pp_frame_ask(s, t->done);
		if (done != PP_POLL_DONE)
			return done == PP_POLL_PENDING;
		pp_frame_read_clock(s, t);
		if (!next_phase(s, t))
			return false;
	}
}

bool
pp_json_sink_keys(PpJsonScan *s, PpJsonSlot *t, uint64_t ntaken)
{
	const PpScanSpec *spec = &s->spec->scan;
	const PpJsonPart *part = &t->part_of[0];
	PpFusedJob	found;

	memset(&found, 0, sizeof(found));
	found.room = t->nrecords;
	found.value = reinterpret_cast<uint64_t *>(part->values.p);
	found.state = part->values.p + (size_t) pp_json_part_columns(s, 0) * t->nrecords * 8;
	for (uint32_t i = 0; i < spec->nsinks; i++)
		if (!pp_relation_sink(&spec->sink[i], &found, t->flag, t->nrecords, ntaken, s->work))
			return false;
	return true;
}
