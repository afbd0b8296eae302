/*
 * cuda/json_driver.cu
 *	  The backends of JSON on the device: the interface, which of two slots has
 *	  what, and who gets a job, the device or the CPU's backend (json_scan.h).
 *
 * No call waits, but for buffers that have to grow, and for memory when there is
 * none left.  Owns slots and their buffers; must not touch the job's text but
 * to look where lines and arrays begin (json_text.cu copies it).
 */
#include "json_scan.h"

#include <cstring>
#include <utility>

namespace
{

const uint8_t byte_order_mark[3] = {0xef, 0xbb, 0xbf};

PpJsonScan *
scan_of(PpBackendScan *s)
{
	return static_cast<PpJsonScan *>(s);
}

/*
 * Slots and memory.
 */

void
release_slot(PpJsonSlot *t)
{
	PpBuffer   *buffer[] = {&t->input, &t->structure, &t->selection, &t->selection_host, &t->selected,
		&t->selected_host, &t->deferred, &t->deferred_host, &t->dense, &t->end_host, &t->range_host,
	&t->spread_host, &t->reports};

	for (PpBuffer *b : buffer)
		pp_buffer_release(b);
	for (PpJsonPart &part : t->part_of)
	{
		pp_buffer_release(&part.values);
		pp_buffer_release(&part.values_host);
		pp_buffer_release(&part.heap);
		pp_buffer_release(&part.heap_host);
	}
	t->phase = PP_JSON_IDLE;
	t->there_to = 0;
}

void
release_buffers(PpBackendScan *scan)
{
	PpJsonScan *s = scan_of(scan);
	PpBuffer   *buffer[] = {&s->tables, &s->tables_host, &s->rest};

	for (PpJsonSlot &t : s->slot)
		release_slot(&t);
	for (PpBuffer *b : buffer)
		pp_buffer_release(b);
}

/*
 * What the other slot has is not wanted.  What it still reads must not be overtaken,
 * and the text that comes in to it is the caller's again with the next batch.
 */
bool
drop_ahead(PpJsonScan *s)
{
	PpJsonSlot *t = &s->slot[1 - s->current];

	t->phase = PP_JSON_IDLE;
	t->there_to = 0;
	return pp_frame_wait(s, s->work, t->came) && pp_frame_mark_carried(s) &&
		pp_frame_record(s, s->slot[s->current].done, s->work);
}

/*
 * Does the batch of the current slot leave a record that goes on in what was
 * announced, and nothing else?  Answers how many bytes of that there are, and
 * where it stands.
 */
bool
can_guess(const PpJsonScan *s, PpJsonSlot *t, const PpJsonSlot *ahead, uint32_t *rest, PpJsonPlace *place)
{
	const uint8_t *text = t->job.text + t->first;
	uint32_t	next;

	if (s->dense || t->nrecords == 0 || !pp_json_takes_all(s, t, &next))
		return false;
	*rest = t->n - next;
	*place = PP_JSON_AT_TOP;
	if (*rest > ahead->offset)
		return false;
	if (!s->documents)
		return true;
	*place = next > 0 ? pp_json_place_behind(text[next - 1]) : PP_JSON_AT_TOP;
	if (*place != PP_JSON_AT_TOP)
		return true;
	/* if it is no object that comes next, the next job does not begin there */
	while (next < t->n && pp_json_space(text[next]))
		next++;
	if (next < t->n)
		return text[next] == '{';
	next = 0;
	while (next < ahead->announced && pp_json_space(ahead->announced_text[next]))
		next++;
	return next < ahead->announced && ahead->announced_text[next] == '{';
}

/*
 * The slot that works ahead, if text is there for it: starts it once the current
 * one does not need the device, goes on with it.  What fails here fails the scan,
 * unless it is memory: then there is no more working ahead.
 */
bool
work_ahead(PpJsonScan *s)
{
	PpJsonSlot *t = &s->slot[s->current];
	PpJsonSlot *ahead = &s->slot[1 - s->current];
	PpJsonPlace place;
	uint32_t	rest;
	bool		ok = true;

	if (ahead->phase == PP_JSON_IDLE || (t->phase != PP_JSON_RETURN && t->phase != PP_JSON_DONE))
		return true;
	if (ahead->phase == PP_JSON_TEXT)
	{
		if (!can_guess(s, t, ahead, &rest, &place))
			return true;
		ahead->adopted = ahead->truncated = false;
		ahead->place = place;
		ahead->first = ahead->job.begin = 0;
		ahead->n = rest + ahead->announced;
		ahead->clock.n = 0;
		ok = pp_json_carry_over(s, rest) && pp_json_start(s, ahead);
	}
	ok = ok && pp_json_advance(s, ahead);
	if (!ok && pp_process_ready())
	{
		s->failed = false;
		pp_json_stop_ahead(s);
		ok = true;
	}
	return ok;
}

/*
 * The interface.
 */

void
json_close(PpBackendScan *scan)
{
	PpJsonScan *s = scan_of(scan);
	PpAlloc		a;

	if (s == nullptr)
		return;
	pp_frame_close(s);
	a = s->spec->scan.alloc;
	if (s->host != nullptr)
		s->spec->host->close(s->host);
	pp_json_paths_free(&s->paths, &a);
	a.release(a.ctx, s->order);
	a.release(a.ctx, s->filter);
	for (PpJsonSlot &t : s->slot)
	{
		a.release(a.ctx, t.data);
		a.release(a.ctx, t.range);
	}
	a.release(a.ctx, s);
}

/* Buffers of a size that is known, and what the host keeps. */
bool
make_slot(PpJsonScan *s, PpJsonSlot *t)
{
	const PpAlloc *a = &s->spec->scan.alloc;
	const uint32_t n = s->spec->scan.ncolumns + 1;

	t->selection_host.kind = t->selected_host.kind = t->deferred_host.kind = t->end_host.kind =
		t->range_host.kind = t->spread_host.kind = t->reports.kind = PP_MEMORY_PINNED;
	for (PpJsonPart &part : t->part_of)
		part.values_host.kind = part.heap_host.kind = PP_MEMORY_PINNED;
	t->data = static_cast<PpColumnData *>(a->alloc(a->ctx, n * sizeof(PpColumnData)));
	t->range = static_cast<const PpJsonRange **>(a->alloc(a->ctx, n * sizeof(PpJsonRange *)));
	if (t->data == nullptr || t->range == nullptr)
		return pp_frame_no_memory(s);
	memset(t->data, 0, n * sizeof(PpColumnData));
	memset(t->range, 0, n * sizeof(PpJsonRange *));
	return true;
}

/* What the host keeps of the scan, and the CPU's backend. */
bool
make_host(PpJsonScan *s)
{
	const PpScanSpec *spec = &s->spec->scan;
	const PpAlloc *a = &spec->alloc;

	s->order = static_cast<uint32_t *>(a->alloc(a->ctx, (spec->ncolumns + 1) * sizeof(uint32_t)));
	s->filter = static_cast<PpPaperFilter *>(a->alloc(a->ctx, (spec->nfilters + 1) * sizeof(PpPaperFilter)));
	if (!pp_json_paths_init(&s->paths, s->spec) || s->order == nullptr || s->filter == nullptr)
		return pp_frame_no_memory(s);
	memset(static_cast<void *>(s->filter), 0, (spec->nfilters + 1) * sizeof(PpPaperFilter));

	/* no more at a time than the CPU's columns suit */
	s->host_spec = *s->spec;
	s->host_spec.bom = false;
	if (s->host_spec.scan.max_records > 8192)
		s->host_spec.scan.max_records = 8192;
	s->host = s->spec->host->open(&s->host_spec.scan);
	return s->host != nullptr || pp_frame_no_memory(s);
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
	if (spec->ncolumns > UINT16_MAX)
	{
		pp_fail(PP_CUDA_UNSUPPORTED, "too many columns");
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
	for (uint64_t &guess : s->heap_guess)
		guess = 256;
	s->tables_host.kind = PP_MEMORY_PINNED;
	if (pp_frame_open(s, &s->slot[0], &s->slot[1], PP_JSON_EVENTS, release_buffers) &&
		make_slot(s, &s->slot[0]) && make_slot(s, &s->slot[1]) && make_host(s) && pp_json_plan(s))
		return s;
	json_close(s);
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
no_line(PpJsonScan *s, const PpJsonSlot *t)
{
	const PpJob *job = &t->job;
	const uint32_t seen = s->no_line <= job->len - job->begin ? job->begin + s->no_line : job->begin;
	const uint32_t to = pp_json_behind_line(job, seen);

	s->no_line = 0;
	if (to - job->begin > PP_JSON_LONG)
		s->host_first = true;
	return !job->last && (to == job->begin || job->text[to - 1] != '\n');
}

/*
 * Documents: moves between outermost values to one, and into an array.  True:
 * there is nothing else in the job so far.
 */
bool
find_array(PpJsonScan *s, PpJsonSlot *t)
{
	const PpJob *job = &t->job;
	const uint32_t n = job->len - t->first;

	if (s->place != PP_JSON_AT_TOP || s->host_resumes)
		return false;
	/* it may be the first part of a mark */
	if (s->bom && t->first == job->begin && n < sizeof(byte_order_mark) && !job->last &&
		memcmp(job->text + t->first, byte_order_mark, n) == 0)
		return true;
	while (t->first < job->len && pp_json_space(job->text[t->first]))
		t->first++;
	if (t->first < job->len && job->text[t->first] == '[')
	{
		s->place = PP_JSON_AT_FIRST;
		t->first++;
	}
	return t->first == job->len && !job->last;
}

bool
json_ahead(PpBackendScan *scan, const uint8_t *text, uint32_t len, bool last)
{
	PpJsonScan *s = scan_of(scan);
	const PpJsonSlot *t = &s->slot[s->current];

	return pp_frame_usable(s) && t->phase != PP_JSON_IDLE && !t->job.last && !t->truncated &&
		pp_json_announce(s, text, len, last);
}

/* A job whose slot is known: the CPU's backend gets it, or the device. */
bool
begin_job(PpJsonScan *s, PpJsonSlot *t)
{
	const PpJob *job = &t->job;

	if (s->bom && job->len - t->first >= 3 && memcmp(job->text + t->first, byte_order_mark, 3) == 0)
		t->first += 3;
	if (s->documents)
	{
		if (find_array(s, t))
		{
			pp_json_give_nothing(s);
			return true;
		}
		if (s->host_resumes)
			return pp_json_start_piece(s, t->first, s->no_line > UINT32_MAX / 2 ? UINT32_MAX : 2 * s->no_line);
	}
	else if (no_line(s, t))
	{
		pp_json_give_nothing(s);
		return true;
	}
	if (s->host_first || s->left > 0)
		return pp_json_start_host(s, t->first, s->host_first ? s->stretch : s->left);
	/* a text whose places are too large for the device, or that is none */
	if (job->len >= PP_JSON_ESCAPES || job->len == t->first)
		return pp_json_start_whole(s);
	t->coming = false;
	t->n = job->len - t->first;
	/* blanks may come in front */
	t->truncated = t->n >= PP_PAPER_MAX_BYTES - 16;
	if (t->truncated)
		t->n = PP_PAPER_MAX_BYTES - 17;
	t->place = s->place;
	s->host_resumes = false;
	return pp_json_upload(s) && pp_json_start(s, t);
}

bool
json_submit(PpBackendScan *scan, const PpJob *job)
{
	PpJsonScan *s = scan_of(scan);
	PpJsonSlot *t = &s->slot[s->current];
	PpJsonSlot *ahead = &s->slot[1 - s->current];
	const bool	announced = pp_json_is_announced(s, job);
	const bool	dropped = !announced && ahead->phase != PP_JSON_IDLE &&
		(s->carry || s->entered || ahead->phase > PP_JSON_TEXT);

	if (!pp_frame_usable(s))
		return false;
	if (announced)
	{
		const bool	guessed = ahead->phase != PP_JSON_TEXT;

		ahead->clock.n = guessed ? ahead->clock.n : 0;
		if (!guessed && (!pp_json_take_announced(s, job) || !pp_frame_record(s, ahead->done, s->work)))
			return false;
		s->current = 1 - s->current;
		if (s->dense)
			std::swap(t->structure, ahead->structure);
		t = ahead;
		if (guessed)
		{
			t->job = *job;
			t->adopted = true;
			t->coming = false;
			t->first = t->moved = job->begin;
			s->host_resumes = false;
			return true;
		}
	}
	else if (dropped && !drop_ahead(s))
		return false;
	s->entered = false;
	t->job = *job;
	t->adopted = true;
	t->truncated = false;
	t->coming = announced || dropped;
	t->first = job->begin;
	t->clock.n = 0;
	return begin_job(s, t);
}

/*
 * Text of the job that the device does not work on may still be on its way there,
 * and the job's memory is the caller's once its batch is released.
 */
bool
has_come(PpJsonScan *s, PpJsonSlot *t)
{
	PpPoll		done = t->coming ? pp_frame_ask(s, t->done) : PP_POLL_DONE;

	t->coming = done == PP_POLL_PENDING;
	return done == PP_POLL_DONE;
}

PpPoll
json_poll(PpBackendScan *scan, const PpBatch **batch, const char **message)
{
	PpJsonScan *s = scan_of(scan);
	PpJsonSlot *t = &s->slot[s->current];

	*message = nullptr;
	if (pp_frame_usable(s))
	{
		if (t->phase >= PP_JSON_GIVEN && !has_come(s, t))
		{
			if (!s->failed)
				return PP_POLL_PENDING;
		}
		else if (t->phase == PP_JSON_HOST)
			return pp_json_poll_host(s, batch, message);
		else if (t->phase == PP_JSON_GIVEN)
		{
			*batch = &t->batch.batch;
			return PP_POLL_DONE;
		}
		else if (pp_json_advance(s, t) && work_ahead(s))
		{
			if (t->phase != PP_JSON_DONE)
				return PP_POLL_PENDING;
			if (pp_json_make_batch(s))
			{
				*batch = &t->batch.batch;
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
	PpJsonSlot *t = &s->slot[s->current];

	if (t->phase == PP_JSON_HOST)
		s->spec->host->release(s->host);
	t->phase = PP_JSON_IDLE;
}

constexpr PpBackend
backend_of(PpBackendScan *(*open) (const PpScanSpec *spec))
{
	return {sizeof(PpBackend), PP_BACKEND_VERSION, "cuda (fused)", open, json_submit, json_poll,
		json_release, json_close, json_ahead};
}

}								/* namespace */

uint32_t	pp_json_tile_bytes = PP_JSON_MAX_TILE;

void
pp_json_stop_ahead(PpJsonScan *s)
{
	s->no_ahead = true;
	s->slot[1 - s->current].phase = PP_JSON_IDLE;
	if (pp_frame_drain(s))
		release_slot(&s->slot[1 - s->current]);
}

bool
pp_json_reserve(PpJsonScan *s, const PpJsonSlot *t, PpBuffer *b, size_t size)
{
	if (pp_buffer_reserve(b, size))
		return true;
	if (t == &s->slot[s->current] && !s->no_ahead)
	{
		(void) cudaGetLastError();
		pp_json_stop_ahead(s);
		if (pp_buffer_reserve(b, size))
			return true;
	}
	s->failed = true;
	pp_fail_buffer(b);
	return false;
}

bool
pp_json_copy(PpJsonScan *s, PpJsonSlot *t, void *dst, const void *src, size_t n, cudaMemcpyKind kind)
{
	const PpCudaStage stage = kind == cudaMemcpyHostToDevice ? PP_STAGE_H2D : PP_STAGE_D2H;

	if (n == 0)
		return true;
	pp_stage(&t->clock, stage, s->work);
	/* which has counted a launch, as the copy will */
	t->clock.launches[stage]--;
	return pp_frame_copy(s, dst, src, n, kind, s->work);
}

void
pp_device_json_enter(PpBackendScan *scan, PpJsonPlace place)
{
	PpJsonScan *s = scan_of(scan);

	s->place = place;
	s->slot[s->current].there_to = 0;
	s->carry = false;
	s->entered = true;
	s->host_first = s->host_resumes = false;
	s->left = 0;
}

const PpBackend pp_backend_device_ndjson = backend_of(ndjson_open);
const PpBackend pp_backend_device_json = backend_of(document_open);
