/*
 * cuda/json_driver.cu
 *	  The backends of JSON on the device: take jobs, move text in and columns out,
 *	  and say what is to be done next, and by whom.
 *
 * A job passes through these phases; behind each, something comes back to the
 * host that decides on the next (PpJsonReports):
 *
 *		records		text comes in, records are found and checked
 *		convert		columns of filters are made, or all if there are aggregates
 *		select		filters and aggregates are applied
 *		convert		the other columns are made, of the records that are left
 *		return		columns come out, those rows only
 *
 * A conversion whose values find no room in the heap is run again with a larger
 * one; how much is needed is known then, and remembered.
 *
 * If the first record of a job is not accepted, the CPU's backend gets the job,
 * up to the end of that record's line.  If such records follow one another
 * closely, it gets more and more of the text, for each of them costs a pass over
 * all that follows it.  Its batches are passed on as they are.
 *
 * Of documents, the device gets what stands in an outermost array, and objects
 * between which there is nothing else.  All other text, and what a record is cut
 * off in that is the last one, is the CPU's: by stretches, which are cut anywhere
 * and made longer until it gets on.
 *
 * While the device works, the text announced by ahead() comes in by a stream of
 * its own.
 *
 * No call waits, but for buffers that have to grow.  Owns streams, events and
 * buffers; must not touch the job's text but to look for line ends (json_text.cu
 * copies it).
 */
#include "json_scan.h"

#include <cstring>

namespace
{

/* Records of a job are limited by what their places and values take: in bytes
 * for each byte of text. */
constexpr uint64_t RECORD_MEMORY = 2;
constexpr uint64_t LEAST_RECORDS = 1024;

/*
 * For refused records that are closer than this to each other, the CPU takes
 * pp_json_stretch bytes, and twice as many each time, up to so many times that.
 */
constexpr uint32_t CLOSE = 1u << 22;
constexpr uint32_t MOST_STRETCHES = 256;

/* The least that the CPU gets of a document. */
constexpr uint32_t LEAST_PIECE = 4096;

const uint8_t byte_order_mark[3] = {0xef, 0xbb, 0xbf};

PpJsonScan *open_scans;

size_t
align256(size_t n)
{
	return (n + 255) / 256 * 256;
}

bool
launched(PpJsonScan *s, cudaError_t e)
{
	return e == cudaSuccess || pp_json_call_failed(s, "a launch failed", e);
}

bool
out_of_memory(PpJsonScan *s)
{
	s->failed = true;
	pp_fail(PP_CUDA_NO_MEMORY, "out of memory");
	return false;
}

PpJsonReports *
reports(PpJsonScan *s)
{
	return reinterpret_cast<PpJsonReports *>(s->reports.p);
}

/* The device's result, as it is now, to the reports. */
bool
report(PpJsonScan *s)
{
	return pp_json_copy(s, &reports(s)->result, s->records.result, sizeof(PpJsonResult), cudaMemcpyDeviceToHost);
}

/* Ends what the phase enqueues: its last event, which also stops the clock. */
bool
end_phase(PpJsonScan *s, PpJsonPhase phase)
{
	cudaError_t e = cudaEventRecord(s->done, s->stream);

	s->phase = phase;
	return e == cudaSuccess || pp_json_call_failed(s, "recording an event failed", e);
}

/* Adds up the times of a phase that is over. */
void
read_clock(PpJsonScan *s)
{
	PpStageClock *c = &s->clock;

	for (uint32_t i = 0; i < PP_STAGES; i++)
	{
		s->stats.launches[i] += c->launches[i];
		c->launches[i] = 0;
	}
	for (uint32_t i = 0; i < c->n; i++)
	{
		float		ms = 0;

		if (cudaEventElapsedTime(&ms, c->event[i], i + 1 < c->n ? c->event[i + 1] : s->done) == cudaSuccess)
			s->stats.seconds[c->stage[i]] += ms / 1e3;
	}
	c->n = 0;
	(void) cudaGetLastError();
}

/*
 * The CPU's share.
 */

/* Behind the line that position at is in, or the job's end. */
uint32_t
behind_line(const PpJob *job, uint32_t at)
{
	const void *nl = at < job->len ? memchr(job->text + at, '\n', job->len - at) : nullptr;

	return nl != nullptr ? (uint32_t) (static_cast<const uint8_t *>(nl) - job->text) + 1 : job->len;
}

/* The CPU's backend takes a piece of a document. */
bool
start_piece(PpJsonScan *s, uint32_t from, uint32_t bytes)
{
	const uint32_t least = pp_json_stretch < LEAST_PIECE ? pp_json_stretch : LEAST_PIECE;

	if (bytes < least)
		bytes = least;
	s->host_job = s->job;
	s->host_job.begin = from;
	if (s->job.len - from > bytes)
	{
		s->host_job.len = from + bytes;
		s->host_job.last = false;
	}
	if (!s->host_resumes)
		s->spec->host_enter(s->host, s->place);
	s->host_first = false;
	s->left = 0;
	s->phase = PP_JSON_HOST;
	return s->spec->host->submit(s->host, &s->host_job) || out_of_memory(s);
}

/* The CPU's backend takes the job from there, for that many bytes at least. */
bool
start_host(PpJsonScan *s, uint32_t from, uint32_t bytes)
{
	uint32_t	to = from;

	if (s->documents)
		return start_piece(s, from, bytes);
	/* at least one line that is not blank */
	while (to < s->job.len && pp_json_space(s->job.text[to]))
		to++;
	if (bytes > 0 && to - from < bytes)
		to = s->job.len - from > bytes ? from + bytes : s->job.len;
	s->host_job = s->job;
	s->host_job.begin = from;
	s->host_job.len = behind_line(&s->job, to);
	if (s->host_job.len < s->job.len)
		s->host_job.last = false;
	s->host_first = false;
	s->left = 0;
	s->phase = PP_JSON_HOST;
	return s->spec->host->submit(s->host, &s->host_job) || out_of_memory(s);
}

/* A record was refused behind that many bytes that were not. */
void
note_refused(PpJsonScan *s, uint32_t bytes)
{
	if (bytes >= CLOSE)
		s->stretch = 0;
	else
		s->stretch = s->stretch == 0 ? pp_json_stretch :
			s->stretch < MOST_STRETCHES * pp_json_stretch ? 2 * s->stretch : s->stretch;
}

/*
 * What the next job has to know: as for pp_backend_ndjson, a mark may come until
 * something was read.
 */
void
note_read(PpJsonScan *s, const PpBatch *b)
{
	s->no_line = b->stop == PP_STOP_MORE ? s->job.len - b->next : 0;
	/* behind a bad record, lines go on with the next one */
	s->there_from += (int64_t) (b->stop == PP_STOP_SYNTAX ? b->bad_next : b->next) - s->job.begin;
	if (b->stop == PP_STOP_SYNTAX && s->documents)
		s->there_to = 0;
	s->carry = b->stop == PP_STOP_MORE;
	s->rest = s->job.len - b->next;
	if (s->documents && b->next > s->first)
	{
		const uint8_t c = s->job.text[b->next - 1];

		s->place = c == ',' ? PP_JSON_AT_NEXT : c == '[' ? PP_JSON_AT_FIRST : PP_JSON_AT_TOP;
	}
	if (b->nrecords > 0 || b->next != s->job.begin || b->stop == PP_STOP_SYNTAX)
		s->bom = false;
}

PpPoll
poll_host(PpJsonScan *s, const PpBatch **batch, const char **message)
{
	const PpBatch *from;
	PpPoll		p = s->spec->host->poll(s->host, &from, message);

	if (p == PP_POLL_FAILED)
	{
		(void) out_of_memory(s);
		*message = "out of memory";
	}
	if (p != PP_POLL_DONE)
		return p;
	if (s->documents)
	{
		s->host_resumes = from->stop == PP_STOP_MORE;
		if (s->host_resumes && s->host_job.len < s->job.len && from->nrecords == 0 &&
			from->next == s->host_job.begin)
		{
			/* a record that is longer: as much again, and more */
			const uint32_t had = s->host_job.len - s->host_job.begin;

			s->spec->host->release(s->host);
			s->phase = PP_JSON_IDLE;
			if (!start_piece(s, s->host_job.begin, had > UINT32_MAX / 4 ? UINT32_MAX : 4 * had))
			{
				*message = "out of memory";
				return PP_POLL_FAILED;
			}
			return PP_POLL_PENDING;
		}
	}
	s->batch = *pp_json_batch(from);
	/* what it had was whole lines: more follow, but for the device */
	if (s->batch.batch.stop == PP_STOP_MORE && s->host_job.len < s->job.len)
	{
		s->batch.batch.stop = PP_STOP_FULL;
		s->host_resumes = false;
	}
	s->left = 0;
	if (from->stop != PP_STOP_MORE)
		s->left = s->host_job.len - (from->stop == PP_STOP_SYNTAX ? from->bad_next : from->next);
	note_read(s, &s->batch.batch);
	*batch = &s->batch.batch;
	return p;
}

/*
 * The device's.
 */

/* How many records of n bytes are taken at a time. */
uint32_t
most_records(const PpJsonScan *s, uint64_t n)
{
	const uint64_t each = sizeof(uint32_t) + s->paths.nnodes * sizeof(uint2) + s->spec->scan.ncolumns * 9;
	uint64_t	most = n * RECORD_MEMORY / each + LEAST_RECORDS;

	/* a record and its line end have two bytes at least */
	if (most > n / 2 + 1)
		most = n / 2 + 1;
	return most < s->spec->scan.max_records ? (uint32_t) most : s->spec->scan.max_records;
}

/* Text in, and the pass over it. */
bool
start(PpJsonScan *s)
{
	const PpJsonScanSpec *spec = s->spec;
	const PpJsonCharset *charset = spec->charset;
	PpJsonJob  *job = &s->records;
	const uint32_t room = most_records(s, s->n);
	const size_t tiles_at = 256;
	const size_t ends_at = tiles_at + align256(pp_json_tiles(s->n, s->tile_bytes) *
											   (s->documents ? 2 * sizeof(uint64_t) : sizeof(uint32_t)));
	const size_t places_at = ends_at + align256(room * sizeof(uint32_t));

	s->part = 0;
	s->filtered = s->listed = s->refused = false;
	s->ndeferred = 0;
	if (!pp_json_reserve(s, &s->structure, places_at + (size_t) room * s->paths.nnodes * sizeof(uint2)) ||
		!pp_json_upload(s))
		return false;
	memset(job, 0, sizeof(*job));
	job->text = s->input.p;
	job->n = s->n;
	job->begin = s->first;
	job->last = s->job.last && !s->truncated;
	job->tile_bytes = s->tile_bytes;
	job->room = room;
	job->any_value = spec->any_value;
	job->max_depth = spec->max_depth < PP_JSON_LEVELS ? spec->max_depth : PP_JSON_LEVELS;
	job->high = charset == nullptr || charset->utf8 ? PP_JSON_HIGH_UTF8 :
		charset->valid_prefix == nullptr ? PP_JSON_HIGH_KNOWN : PP_JSON_HIGH_REFUSED;
	job->escapes_refused = charset != nullptr;
	job->nnodes = s->paths.nnodes;
	job->node = s->node;
	job->keys = s->keys;
	job->result = reinterpret_cast<PpJsonResult *>(s->structure.p);
	job->tiles = reinterpret_cast<uint32_t *>(s->structure.p + tiles_at);
	job->states = reinterpret_cast<uint64_t *>(s->structure.p + tiles_at);
	job->level = s->place != PP_JSON_AT_TOP;
	s->host_resumes = false;
	job->end = reinterpret_cast<uint32_t *>(s->structure.p + ends_at);
	job->place = reinterpret_cast<uint2 *>(s->structure.p + places_at);
	return launched(s, s->documents ? pp_json_documents_run(job, &s->clock, s->stream) :
					pp_json_records_run(job, &s->clock, s->stream)) && report(s) &&
		end_phase(s, PP_JSON_RECORDS);
}

/* Columns of a part, of the rows that are left so far. */
bool
convert(PpJsonScan *s)
{
	PpJsonPart *part = &s->part_of[s->part];
	const bool	some = s->filtered && s->nselected < s->nrecords;
	PpJsonColumnsJob job;
	uint64_t	values;

	part->nrows = s->filtered ? s->nselected : s->nrecords;
	values = (uint64_t) part->ncolumns * part->nrows;
	if (values >= INT32_MAX)
	{
		s->failed = true;
		pp_fail(PP_CUDA_UNSUPPORTED, "a partition has too many values");
		return false;
	}
	part->heap_room = s->heap_guess * (s->n / 1024 + 1);
	if (part->heap_room < part->heap_bytes)
		part->heap_room = part->heap_bytes;
	if (!pp_json_reserve(s, &part->values, values * 9) || !pp_json_reserve(s, &part->heap, part->heap_room + PP_PAD) ||
		!pp_json_reserve(s, &part->heap_host, part->heap_room))
		return false;
	memset(&job, 0, sizeof(job));
	job.job = &s->records;
	job.env = s->env;
	job.charset = s->spec->charset != nullptr;
	job.column = s->column + part->first;
	job.ncolumns = part->ncolumns;
	job.nrows = part->nrows;
	job.selected = some ? reinterpret_cast<const uint32_t *>(s->selected.p) : nullptr;
	job.value = reinterpret_cast<uint64_t *>(part->values.p);
	job.state = part->values.p + values * 8;
	job.ndeferred = reinterpret_cast<uint32_t *>(s->deferred.p) + part->first;
	job.heap = part->heap.p;
	job.heap_room = part->heap_room;
	job.host_heap = reinterpret_cast<uintptr_t>(part->heap_host.p);
	pp_stage(&s->clock, PP_STAGE_COLUMNS, s->stream);
	if (!launched(s, cudaMemsetAsync(job.ndeferred, 0, part->ncolumns * sizeof(uint32_t), s->stream)))
		return false;
	pp_stage(&s->clock, PP_STAGE_COLUMNS, s->stream);
	return launched(s, cudaMemsetAsync(&s->records.result->heap_bytes, 0,
									   sizeof(s->records.result->heap_bytes), s->stream)) &&
		launched(s, pp_json_columns_run(&job, &s->clock, s->stream)) && report(s) &&
		end_phase(s, PP_JSON_CONVERT);
}

/*
 * Filters and aggregates, over the columns of the first part; by the fused
 * pipeline's kernels, to which it is a pass that has found these records.
 */
bool
select_rows(PpJsonScan *s)
{
	const PpScanSpec *spec = &s->spec->scan;
	const uint32_t n = s->nrecords;
	const uint32_t nfilters = spec->nfilters;
	const uint32_t npartials = spec->naggregates > 0 ? spec->naggregates + 1 : 0;
	const PpJsonPart *part = &s->part_of[0];
	const size_t values = (size_t) part->ncolumns * n;
	/* those that come in go first */
	const size_t table_at = align256(sizeof(PpFusedResult));
	const size_t in_bytes = table_at + nfilters * sizeof(PpPaperFilter);
	const size_t partial_at = align256(in_bytes);
	const size_t flag_at = partial_at + align256(npartials * sizeof(PpPartial));
	const size_t temp_at = flag_at + align256(n);
	PpFusedJob	found;
	PpSelectJob job;
	PpFusedResult *result;
	PpPaperFilter *host;

	memset(&found, 0, sizeof(found));
	memset(&job, 0, sizeof(job));
	if (!launched(s, pp_select_temp(n, &job.temp_bytes)) ||
		!pp_json_reserve(s, &s->selection, temp_at + job.temp_bytes) ||
		!pp_json_reserve(s, &s->selection_host, in_bytes) ||
		!pp_json_reserve(s, &s->selected, (size_t) n * sizeof(uint32_t)) ||
		!pp_json_reserve(s, &s->selected_host, (size_t) n * sizeof(uint32_t)))
		return false;
	found.ncolumns = part->ncolumns;
	found.room = n;
	found.value = reinterpret_cast<uint64_t *>(part->values.p);
	found.state = part->values.p + values * 8;
	found.result = reinterpret_cast<PpFusedResult *>(s->selection.p);
	result = reinterpret_cast<PpFusedResult *>(s->selection_host.p);
	memset(result, 0, sizeof(*result));
	result->structure.nrecords = n;
	host = reinterpret_cast<PpPaperFilter *>(s->selection_host.p + table_at);
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
	job.filter = reinterpret_cast<const PpPaperFilter *>(s->selection.p + table_at);
	job.nfilters = nfilters;
	job.aggregate = s->aggregate;
	job.naggregates = npartials;
	job.partial = reinterpret_cast<PpPartial *>(s->selection.p + partial_at);
	job.flag = s->selection.p + flag_at;
	job.selected = reinterpret_cast<uint32_t *>(s->selected.p);
	job.temp = s->selection.p + temp_at;
	return pp_json_copy(s, s->selection.p, s->selection_host.p, in_bytes, cudaMemcpyHostToDevice) &&
		launched(s, pp_select_run(&job, &s->clock, s->stream)) &&
		pp_json_copy(s, reports(s)->partial, job.partial, npartials * sizeof(PpPartial), cudaMemcpyDeviceToHost) &&
		pp_json_copy(s, &reports(s)->selection, found.result, sizeof(PpFusedResult), cudaMemcpyDeviceToHost) &&
		end_phase(s, PP_JSON_SELECT);
}

/* Does the host have to look at records itself? */
bool
needs_list(const PpJsonScan *s)
{
	return !s->spec->scan.unlisted && s->nrecords > 0 &&
		(s->spec->scan.ncolumns == 0 || s->ndeferred > 0);
}

/* A part's columns out, of the rows that are left. */
bool
return_part(PpJsonScan *s, PpJsonPart *part)
{
	const uint32_t nrows = s->filtered ? s->nselected : s->nrecords;
	const size_t values = (size_t) part->ncolumns * nrows;
	const uint8_t *from = part->values.p;

	if (values == 0)
		return true;
	if (part->nrows != nrows)
	{
		uint64_t   *dense;

		if (!pp_json_reserve(s, &s->dense, values * 9))
			return false;
		dense = reinterpret_cast<uint64_t *>(s->dense.p);
		if (!launched(s, pp_json_gather_run(reinterpret_cast<const uint64_t *>(from),
											from + (size_t) part->ncolumns * part->nrows * 8,
											part->ncolumns, part->nrows,
											reinterpret_cast<const uint32_t *>(s->selected.p), nrows,
											dense, s->dense.p + values * 8, &s->clock, s->stream)))
			return false;
		from = s->dense.p;
	}
	return pp_json_reserve(s, &part->values_host, values * 9) &&
		pp_json_copy(s, part->values_host.p, from, values * 9, cudaMemcpyDeviceToHost) &&
		pp_json_copy(s, part->heap_host.p, part->heap.p, part->heap_bytes, cudaMemcpyDeviceToHost);
}

/* Columns out; where records end, and handed over values stand, if that is asked. */
bool
give_back(PpJsonScan *s)
{
	const PpScanSpec *spec = &s->spec->scan;
	const uint32_t n = s->nrecords;
	const uint32_t *deferred = reinterpret_cast<const uint32_t *>(s->deferred_host.p);
	const bool	some = s->filtered && s->nselected < n;
	uint32_t	nranges = 0;

	s->listed = needs_list(s);
	for (PpJsonPart &part : s->part_of)
		if (!return_part(s, &part))
			return false;
	if (some && !pp_json_copy(s, s->selected_host.p, s->selected.p, (size_t) s->nselected * sizeof(uint32_t),
					  cudaMemcpyDeviceToHost))
		return false;
	if (n > 0 && !pp_json_copy(s, &reports(s)->last_end, s->records.end + (n - 1), sizeof(uint32_t),
					   cudaMemcpyDeviceToHost))
		return false;
	/* of documents, there are to be two of each */
	if (s->listed && (!pp_json_reserve(s, &s->end_host, (s->documents ? 2 * (size_t) n + 1 : (size_t) n + 1) * sizeof(uint32_t)) ||
					  !pp_json_copy(s, s->end_host.p + (s->documents ? (size_t) n + 1 : 1) * sizeof(uint32_t),
							s->records.end, (size_t) n * sizeof(uint32_t), cudaMemcpyDeviceToHost)))
		return false;
	for (uint32_t i = 0; i < spec->ncolumns && s->ndeferred > 0; i++)
		nranges += deferred[i] > 0;
	if (!pp_json_reserve(s, &s->range_host, (size_t) nranges * n * sizeof(PpJsonRange)))
		return false;
	memset(s->range, 0, spec->ncolumns * sizeof(*s->range));
	nranges = 0;
	for (uint32_t i = 0; i < spec->ncolumns && s->ndeferred > 0; i++)
		if (deferred[i] > 0)
		{
			const uint32_t c = s->order[i];
			PpJsonRange *range = reinterpret_cast<PpJsonRange *>(s->range_host.p) + (size_t) nranges++ * n;

			if (!pp_json_copy(s, range, s->records.place + (size_t) s->paths.column[c] * s->records.room,
					  (size_t) n * sizeof(PpJsonRange), cudaMemcpyDeviceToHost))
				return false;
			s->range[c] = range;
		}
	return end_phase(s, PP_JSON_RETURN);
}

/* What comes behind a part, or behind the records. */
bool
go_on(PpJsonScan *s, uint32_t part)
{
	const uint32_t rows = s->filtered ? s->nselected : s->nrecords;

	for (s->part = part; s->part < PP_JSON_PARTS; s->part++)
		if (rows > 0 && s->part_of[s->part].ncolumns > 0)
			return convert(s);
		else
			s->part_of[s->part].nrows = rows;
	return give_back(s);
}

/* Records there are, in front of the limit. */
uint32_t
all_records(const PpJsonResult *r)
{
	return r->limit != 0 && (uint32_t) ~r->limit < r->nrecords ? (uint32_t) ~r->limit : r->nrecords;
}

/*
 * Documents: is what comes next an outermost scalar, or nothing that is JSON?
 * The CPU says so before it knows what follows.
 */
bool
is_scalar_next(const PpJsonScan *s, uint32_t at)
{
	if (s->records.level > 0)
		return false;
	while (at < s->job.len && pp_json_space(s->job.text[at]))
		at++;
	return at < s->job.len && s->job.text[at] != '{';
}

/* Which records the batch has, once the device has looked at the text. */
bool
take_records(PpJsonScan *s)
{
	const PpJsonResult *r = &reports(s)->result;

	s->nrecords = all_records(r) < s->records.room ? all_records(r) : s->records.room;
	if (r->refused != 0 && ~r->refused < s->nrecords)
	{
		s->nrecords = ~r->refused;
		s->refused = true;
	}
	if (s->refused && s->nrecords == 0)
	{
		note_refused(s, 0);
		return start_host(s, s->first, s->stretch);
	}
	if (s->documents && s->nrecords == 0 &&
		(r->limit != 0 || s->job.last || s->job.len - s->first > PP_JSON_LONG || s->truncated ||
		 is_scalar_next(s, s->first)))
		return start_host(s, s->first, s->stretch);
	/* a line that is longer than what the device can take is the CPU's */
	if (!s->documents && s->truncated && r->nrecords == 0 && r->lines_end == 0)
		return start_host(s, s->first, 0);
	return go_on(s, 0);
}

/* Goes on if what is waited for is done; false: failed. */
bool
advance(PpJsonScan *s)
{
	for (;;)
	{
		PpJsonPart *part = &s->part_of[s->part < PP_JSON_PARTS ? s->part : 0];
		bool		ok = true;
		cudaError_t e;

		if (s->phase == PP_JSON_IDLE || s->phase >= PP_JSON_DONE)
			return true;
		e = cudaEventQuery(s->done);
		if (e == cudaErrorNotReady)
		{
			(void) cudaGetLastError();
			return true;
		}
		if (e != cudaSuccess)
			return pp_json_call_failed(s, "the device failed", e);
		read_clock(s);
		switch (s->phase)
		{
			case PP_JSON_RECORDS:
				ok = take_records(s);
				break;
			case PP_JSON_CONVERT:
				part->heap_bytes = reports(s)->result.heap_bytes;
				if (part->heap_bytes > part->heap_room)
				{
					/* once more, with room for all */
					if (part->heap_bytes / (s->n / 1024 + 1) >= s->heap_guess)
						s->heap_guess = part->heap_bytes / (s->n / 1024 + 1) + 1;
					ok = convert(s);
					break;
				}
				ok = pp_json_copy(s, s->deferred_host.p + part->first * sizeof(uint32_t),
						  s->deferred.p + part->first * sizeof(uint32_t),
						  part->ncolumns * sizeof(uint32_t), cudaMemcpyDeviceToHost) &&
					(s->part == 0 && s->selecting ? select_rows(s) :
					 end_phase(s, PP_JSON_SELECT));
				break;
			case PP_JSON_SELECT:
				for (uint32_t i = 0; i < part->ncolumns; i++)
					s->ndeferred += reinterpret_cast<const uint32_t *>(s->deferred_host.p)[part->first + i];
				if (s->part == 0 && s->selecting)
				{
					s->filtered = true;
					s->nselected = reports(s)->selection.nselected;
				}
				ok = go_on(s, s->part + 1);
				break;
			case PP_JSON_RETURN:
				s->phase = PP_JSON_DONE;
				return true;
			default:
				return true;
		}
		if (!ok)
			return false;
	}
}

/* Columns as the batch has them: by records. */
bool
place_columns(PpJsonScan *s)
{
	const uint32_t n = s->nrecords;
	const uint32_t nrows = s->filtered ? s->nselected : n;
	const uint32_t *selected = reinterpret_cast<const uint32_t *>(s->selected_host.p);
	const size_t all = (size_t) s->spec->scan.ncolumns * n;
	const bool	spread = nrows > 0 && nrows < n;

	if (spread && !pp_json_reserve(s, &s->spread_host, all * 9))
		return false;
	for (const PpJsonPart &part : s->part_of)
		for (uint32_t i = 0; i < part.ncolumns && nrows > 0; i++)
		{
			PpColumnData *d = &s->data[s->order[part.first + i]];
			uint64_t   *value = reinterpret_cast<uint64_t *>(part.values_host.p) + (size_t) i * nrows;
			uint8_t    *state = part.values_host.p + (size_t) part.ncolumns * nrows * 8 + (size_t) i * nrows;

			d->value = value;
			d->state = state;
			if (!spread)
				continue;
			d->value = reinterpret_cast<uint64_t *>(s->spread_host.p) + (size_t) (part.first + i) * n;
			d->state = s->spread_host.p + all * 8 + (size_t) (part.first + i) * n;
			for (uint32_t k = 0; k < nrows; k++)
			{
				d->value[selected[k]] = value[k];
				d->state[selected[k]] = state[k];
			}
		}
	return true;
}

bool
make_batch(PpJsonScan *s)
{
	const PpScanSpec *spec = &s->spec->scan;
	const PpJsonResult *r = &reports(s)->result;
	const uint32_t n = s->nrecords;
	PpBatch    *b = &s->batch.batch;

	memset(&s->batch, 0, sizeof(s->batch));
	if (!place_columns(s))
		return false;
	b->text = s->job.text;
	b->nrecords = n;
	b->width = s->documents ? 2 : 1;
	b->eol_len = 1;
	if (s->listed)
	{
		uint32_t   *end = reinterpret_cast<uint32_t *>(s->end_host.p);

		end[0] = s->first - 1;
		b->end = end + 1;
		for (uint32_t i = 0; s->documents && i < n; i++)
		{
			const uint32_t separator = end[1 + (size_t) n + i];

			end[1 + 2 * (size_t) i] = separator + (s->records.level == 0);
			if (i + 1 < n)
				end[2 + 2 * (size_t) i] = separator;
		}
	}
	b->ncolumns = spec->ncolumns;
	b->column = s->data;
	b->nselected = s->filtered ? s->nselected : n;
	if (s->filtered && s->nselected < n)
		b->selected = reinterpret_cast<const uint32_t *>(s->selected_host.p);
	b->unknown = s->filtered && reports(s)->selection.unknown != 0;
	if (s->filtered && spec->naggregates > 0)
	{
		b->partial = reports(s)->partial;
		b->ntaken = (uint32_t) b->partial[spec->naggregates].count;
	}
	b->ndeferred = s->ndeferred;
	if (n < all_records(r))
	{
		b->stop = PP_STOP_FULL;
		b->next = reports(s)->last_end + 1;
		s->host_first = s->refused;
		if (s->refused)
			note_refused(s, b->next - s->first);
	}
	else if (s->documents)
	{
		/* behind the limit, and at the end, the CPU sees what there is */
		b->next = n > 0 ? reports(s)->last_end + 1 : s->first;
		s->host_first = r->limit == 0 && (s->job.last || is_scalar_next(s, b->next));
		b->stop = s->host_first || r->limit != 0 || s->truncated ? PP_STOP_FULL : PP_STOP_MORE;
		s->stretch = 0;
	}
	else if (s->job.last && !s->truncated)
	{
		b->stop = PP_STOP_END;
		b->next = s->job.len;
	}
	else
	{
		b->stop = s->truncated ? PP_STOP_FULL : PP_STOP_MORE;
		b->next = s->first + r->lines_end;
		s->stretch = 0;
	}
	for (uint32_t c = 0; c < spec->ncolumns; c++)
		if (s->range[c] != nullptr)
		{
			PpJsonRange *range = const_cast<PpJsonRange *>(s->range[c]);

			for (uint32_t i = 0; i < n; i++)
				range[i].end &= ~PP_JSON_ESCAPES;
		}
	s->batch.range = s->range;
	note_read(s, b);
	return true;
}

/*
 * The interface.
 */

bool
is_usable(PpJsonScan *s)
{
	if (s->stopped)
	{
		pp_fail(PP_CUDA_BROKEN, "the device was stopped");
		return false;
	}
	return pp_process_ready() && !s->failed;
}

/* Gives back what the scan has on the device, and stops what it does there. */
void
leave_device(PpJsonScan *s)
{
	PpBuffer   *buffer[] = {&s->tables, &s->tables_host, &s->input, &s->moved, &s->structure,
		&s->selection, &s->selection_host, &s->selected, &s->selected_host, &s->deferred, &s->deferred_host, &s->dense,
	&s->end_host, &s->range_host, &s->spread_host, &s->reports};
	const cudaStream_t stream[] = {s->in, s->stream};
	const cudaEvent_t event[] = {s->done, s->came, s->carried};

	if (s->stopped)
		return;
	for (cudaStream_t q : stream)
		if (q != nullptr)
			(void) pp_stream_abandon(q);
	for (PpBuffer *b : buffer)
		pp_buffer_release(b);
	for (PpJsonPart &part : s->part_of)
	{
		pp_buffer_release(&part.values);
		pp_buffer_release(&part.values_host);
		pp_buffer_release(&part.heap);
		pp_buffer_release(&part.heap_host);
	}
	for (cudaEvent_t e : event)
		if (e != nullptr)
			(void) cudaEventDestroy(e);
	for (uint32_t i = 0; i < s->nevents; i++)
		(void) cudaEventDestroy(s->event[i]);
	for (cudaStream_t q : stream)
		if (q != nullptr)
			(void) cudaStreamDestroy(q);
	(void) cudaGetLastError();
	s->stopped = true;
}

PpJsonScan *
scan_of(PpBackendScan *s)
{
	return reinterpret_cast<PpJsonScan *>(s);
}

void
json_close(PpBackendScan *scan)
{
	PpJsonScan *s = scan_of(scan);
	PpAlloc		a;

	if (s == nullptr)
		return;
	leave_device(s);
	for (PpJsonScan **p = &open_scans; *p != nullptr; p = &(*p)->next)
		if (*p == s)
		{
			*p = s->next;
			break;
		}
	a = s->spec->scan.alloc;
	if (s->host != nullptr)
		s->spec->host->close(s->host);
	pp_json_paths_free(&s->paths, &a);
	a.release(a.ctx, s->order);
	a.release(a.ctx, s->filter);
	a.release(a.ctx, s->data);
	a.release(a.ctx, s->range);
	a.release(a.ctx, s);
}

/* Streams, events, and buffers of a size that is known. */
bool
make_streams(PpJsonScan *s)
{
	const uint32_t ncolumns = s->spec->scan.ncolumns;
	cudaStream_t *const stream[] = {&s->stream, &s->in};
	cudaEvent_t *const event[] = {&s->done, &s->came, &s->carried};
	cudaError_t e;

	for (cudaStream_t *q : stream)
	{
		e = cudaStreamCreateWithFlags(q, cudaStreamNonBlocking);
		if (e != cudaSuccess)
		{
			*q = nullptr;
			return pp_json_call_failed(s, "making a stream failed", e);
		}
	}
	for (cudaEvent_t *q : event)
	{
		e = cudaEventCreate(q);
		if (e != cudaSuccess)
		{
			*q = nullptr;
			return pp_json_call_failed(s, "making an event failed", e);
		}
	}
	for (; s->nevents < PP_JSON_EVENTS; s->nevents++)
	{
		e = cudaEventCreate(&s->event[s->nevents]);
		if (e != cudaSuccess)
			return pp_json_call_failed(s, "making an event failed", e);
	}
	s->clock.event = s->event;
	s->clock.stage = s->stage;
	s->clock.room = PP_JSON_EVENTS;

	s->tables_host.kind = s->selection_host.kind = s->selected_host.kind = s->deferred_host.kind =
		s->end_host.kind = s->range_host.kind = s->spread_host.kind = s->reports.kind = PP_MEMORY_PINNED;
	for (PpJsonPart &part : s->part_of)
		part.values_host.kind = part.heap_host.kind = PP_MEMORY_PINNED;
	return pp_json_reserve(s, &s->reports, sizeof(PpJsonReports) + s->spec->scan.naggregates * sizeof(PpPartial)) &&
		pp_json_reserve(s, &s->deferred, (ncolumns + 1) * sizeof(uint32_t)) &&
		pp_json_reserve(s, &s->deferred_host, (ncolumns + 1) * sizeof(uint32_t));
}

/* What the host keeps of the scan, and the CPU's backend. */
bool
make_host(PpJsonScan *s)
{
	const PpScanSpec *spec = &s->spec->scan;
	const PpAlloc *a = &spec->alloc;
	const size_t n = spec->ncolumns + 1;

	s->order = static_cast<uint32_t *>(a->alloc(a->ctx, n * sizeof(uint32_t)));
	s->filter = static_cast<PpPaperFilter *>(a->alloc(a->ctx, (spec->nfilters + 1) * sizeof(PpPaperFilter)));
	s->data = static_cast<PpColumnData *>(a->alloc(a->ctx, n * sizeof(PpColumnData)));
	s->range = static_cast<const PpJsonRange **>(a->alloc(a->ctx, n * sizeof(PpJsonRange *)));
	if (!pp_json_paths_init(&s->paths, s->spec) || s->order == nullptr || s->filter == nullptr ||
		s->data == nullptr || s->range == nullptr)
		return out_of_memory(s);
	memset(static_cast<void *>(s->filter), 0, (spec->nfilters + 1) * sizeof(PpPaperFilter));
	memset(s->data, 0, n * sizeof(PpColumnData));
	memset(s->range, 0, n * sizeof(PpJsonRange *));

	/* no more at a time than the CPU's columns suit */
	s->host_spec = *s->spec;
	s->host_spec.bom = false;
	if (s->host_spec.scan.max_records > 8192)
		s->host_spec.scan.max_records = 8192;
	s->host = s->spec->host->open(&s->host_spec.scan);
	return s->host != nullptr || out_of_memory(s);
}

PpBackendScan *
open_scan(const PpScanSpec *spec, bool documents)
{
	PpJsonScan *s;

	if (!pp_process_ready())
		return nullptr;
	if (spec->struct_size != sizeof(PpJsonScanSpec))
	{
		pp_fail(PP_CUDA_UNSUPPORTED, "a scan of another version");
		return nullptr;
	}
	s = static_cast<PpJsonScan *>(spec->alloc.alloc(spec->alloc.ctx, sizeof(*s)));
	if (s == nullptr)
	{
		pp_fail(PP_CUDA_NO_MEMORY, "out of memory");
		return nullptr;
	}
	memset(static_cast<void *>(s), 0, sizeof(*s));
	s->spec = reinterpret_cast<const PpJsonScanSpec *>(spec);
	s->documents = documents;
	s->place = PP_JSON_AT_TOP;
	s->bom = s->spec->bom;
	s->tile_bytes = pp_json_tile_bytes;
	s->heap_guess = 256;
	s->next = open_scans;
	open_scans = s;
	if (make_host(s) && make_streams(s) && pp_json_plan(s))
		return reinterpret_cast<PpBackendScan *>(s);
	json_close(reinterpret_cast<PpBackendScan *>(s));
	return nullptr;
}

PpBackendScan *
ndjson_open(const PpScanSpec *spec)
{
	return open_scan(spec, false);
}

PpBackendScan *
document_open(const PpScanSpec *spec)
{
	return open_scan(spec, true);
}

/*
 * Is the job, as the one before it, but a part of a line?  If it now has the end
 * of one that the device does not take anyhow, that is left to the host.
 */
bool
no_line(PpJsonScan *s)
{
	const uint32_t seen = s->no_line <= s->job.len - s->job.begin ? s->job.begin + s->no_line : s->job.begin;
	const uint32_t to = behind_line(&s->job, seen);

	s->no_line = 0;
	if (to - s->job.begin > PP_JSON_LONG)
		s->host_first = true;
	return !s->job.last && (to == s->job.begin || s->job.text[to - 1] != '\n');
}

/* The batch of a job that is but a part of a line. */
void
give_nothing(PpJsonScan *s)
{
	PpBatch    *b = &s->batch.batch;

	memset(&s->batch, 0, sizeof(s->batch));
	b->text = s->job.text;
	b->width = s->documents ? 2 : 1;
	b->eol_len = 1;
	b->ncolumns = s->spec->scan.ncolumns;
	b->column = s->data;
	b->stop = PP_STOP_MORE;
	b->next = s->first;
	memset(s->range, 0, b->ncolumns * sizeof(*s->range));
	s->batch.range = s->range;
	s->host_first = false;
	s->phase = PP_JSON_GIVEN;
	note_read(s, b);
}

/*
 * Documents: moves between outermost values to one, and into an array.  True:
 * there is nothing else in the job so far.
 */
bool
find_array(PpJsonScan *s)
{
	const uint32_t n = s->job.len - s->first;

	if (s->place != PP_JSON_AT_TOP || s->host_resumes)
		return false;
	/* it may be the first part of a mark */
	if (s->bom && s->first == s->job.begin && n < sizeof(byte_order_mark) && !s->job.last &&
		memcmp(s->job.text + s->first, byte_order_mark, n) == 0)
		return true;
	while (s->first < s->job.len && pp_json_space(s->job.text[s->first]))
		s->first++;
	if (s->first < s->job.len && s->job.text[s->first] == '[')
	{
		s->place = PP_JSON_AT_FIRST;
		s->first++;
	}
	return s->first == s->job.len && !s->job.last;
}

bool
json_ahead(PpBackendScan *scan, const uint8_t *text, uint32_t len, bool last)
{
	PpJsonScan *s = scan_of(scan);

	return is_usable(s) && s->phase != PP_JSON_IDLE && !s->job.last && !s->truncated &&
		pp_json_announce(s, text, len, last);
}

bool
json_submit(PpBackendScan *scan, const PpJob *job)
{
	PpJsonScan *s = scan_of(scan);

	if (!is_usable(s))
		return false;
	s->job = *job;
	s->first = job->begin;
	pp_json_take_announced(s);
	s->clock.n = 0;
	for (PpJsonPart &part : s->part_of)
		part.heap_bytes = 0;
	if (s->bom && job->len - s->first >= 3 && memcmp(job->text + s->first, byte_order_mark, 3) == 0)
		s->first += 3;
	if (s->documents)
	{
		if (find_array(s))
		{
			give_nothing(s);
			return true;
		}
		if (s->host_resumes)
			return start_piece(s, s->first, s->no_line > UINT32_MAX / 2 ? UINT32_MAX : 2 * s->no_line);
	}
	else if (no_line(s))
	{
		give_nothing(s);
		return true;
	}
	if (s->host_first || s->left > 0)
		return start_host(s, s->first, s->host_first ? s->stretch : s->left);
	/* a text whose places are too large for the device, or that is none */
	if (job->len >= PP_JSON_ESCAPES || job->len == s->first)
	{
		s->host_job = *job;
		s->host_job.begin = s->first;
		if (s->documents && !s->host_resumes)
			s->spec->host_enter(s->host, s->place);
		s->phase = PP_JSON_HOST;
		return s->spec->host->submit(s->host, &s->host_job) || out_of_memory(s);
	}
	s->n = job->len - s->first;
	s->truncated = s->n >= PP_PAPER_MAX_BYTES;
	if (s->truncated)
		s->n = PP_PAPER_MAX_BYTES - 1;
	return start(s);
}

PpPoll
json_poll(PpBackendScan *scan, const PpBatch **batch, const char **message)
{
	PpJsonScan *s = scan_of(scan);

	*message = nullptr;
	if (is_usable(s))
	{
		if (s->phase == PP_JSON_HOST)
			return poll_host(s, batch, message);
		if (s->phase == PP_JSON_GIVEN)
		{
			*batch = &s->batch.batch;
			return PP_POLL_DONE;
		}
		if (advance(s))
		{
			if (s->phase != PP_JSON_DONE)
				return PP_POLL_PENDING;
			if (make_batch(s))
			{
				*batch = &s->batch.batch;
				return PP_POLL_DONE;
			}
		}
	}
	*message = pp_cuda_library(PP_CUDA_VERSION)->error();
	return PP_POLL_FAILED;
}

void
json_release(PpBackendScan *scan)
{
	PpJsonScan *s = scan_of(scan);

	if (s->phase == PP_JSON_HOST)
		s->spec->host->release(s->host);
	s->phase = PP_JSON_IDLE;
}

}								/* namespace */

uint32_t	pp_json_tile_bytes = PP_JSON_MAX_TILE;
uint32_t	pp_json_stretch = 1u << 18;

void
pp_device_json_enter(PpBackendScan *scan, PpJsonPlace place)
{
	PpJsonScan *s = scan_of(scan);

	s->place = place;
	s->there_to = 0;
	s->carry = false;
	s->host_first = s->host_resumes = false;
	s->left = 0;
}

bool
pp_json_stats(const PpBackendScan *scan, PpCudaStats *stats)
{
	for (const PpJsonScan *s = open_scans; s != nullptr; s = s->next)
		if (reinterpret_cast<const PpBackendScan *>(s) == scan)
		{
			*stats = s->stats;
			return true;
		}
	return false;
}

void
pp_json_stop(void)
{
	for (PpJsonScan *s = open_scans; s != nullptr; s = s->next)
		leave_device(s);
}

const PpBackend pp_backend_device_ndjson = {
	sizeof(PpBackend),
	PP_BACKEND_VERSION,
	"cuda (fused)",
	ndjson_open,
	json_submit,
	json_poll,
	json_release,
	json_close,
	json_ahead
};

const PpBackend pp_backend_device_json = {
	sizeof(PpBackend),
	PP_BACKEND_VERSION,
	"cuda (fused)",
	document_open,
	json_submit,
	json_poll,
	json_release,
	json_close,
	json_ahead
};
