/*
 * cuda/driver.cu
 *	  The interface of a backend, for all pipelines: takes jobs, moves text in,
 *	  looks whether what was enqueued is done, works ahead in the second slot,
 *	  and says how a batch ends.
 *
 * Owns slots and the text's buffers; must not touch the job's text but to copy
 * it, and knows nothing of what a pipeline does.
 */
#include "driver.h"

#include <cstring>

namespace
{

PpDriverScan *
scan_of(PpBackendScan *s)
{
	return static_cast<PpDriverScan *>(s);
}

/* Frees what was put aside while there was work, if there is none any more. */
bool
settle(void)
{
	if (pp_memory_retired() == 0)
		return true;
	if (!pp_frame_device_idle())
		return false;
	pp_memory_settle();
	return true;
}

/*
 * Room in a buffer.  One that is too small is not freed at once, which would
 * wait for all that is enqueued.
 */
bool
make_room(PpBuffer *b, size_t size)
{
	if (b->p != nullptr && b->size < size)
	{
		pp_buffer_retire(b);
		(void) settle();
	}
	return pp_buffer_reserve(b, size);
}

/*
 * The rest of the other slot's text, which this slot's goes on, to its front.
 * Behind that nothing of the other slot's text is needed, so what is announced next
 * comes in there while kernels work on this slot's.  Text that was announced in vain
 * may have come in to the same place, but did so before that of the other slot, by
 * the same stream.
 */
bool
carry_over(PpDriverScan *s, PpSlot *from, PpSlot *to, size_t offset, uint32_t rest)
{
	return pp_frame_copy(s, to->input.p + offset, from->input.p + from->offset + from->result.next,
						 rest, cudaMemcpyDeviceToDevice, s->work) &&
		pp_frame_mark_carried(s);
}

/* Makes room for a job of n bytes, and moves the rest of the one before to its front. */
bool
carry_within(PpDriverScan *s, PpSlot *t, size_t n, uint32_t rest)
{
	const size_t from = t->offset + t->result.next;

	t->offset = 0;
	/* by way of other memory, since the two may overlap */
	return (rest == 0 ||
			(pp_driver_reserve(s, &s->rest, rest) &&
			 pp_frame_copy(s, s->rest.p, t->input.p + from, rest, cudaMemcpyDeviceToDevice, s->work))) &&
		pp_driver_reserve(s, &t->input, n + PP_PAD) &&
		pp_frame_copy(s, t->input.p, s->rest.p, rest, cudaMemcpyDeviceToDevice, s->work);
}

/*
 * What the end of a partition means, as pp_cpu_structure_end() says it.
 */

void
set_stopped(const PpDriverScan *s, const PpSlot *t, uint32_t pos, uint32_t state, PpBatch *b)
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
set_stop(const PpDriverScan *s, const PpSlot *t, PpBatch *b)
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

/* The first phase of a slot whose text is in its place, or on its way there. */
bool
start(PpDriverScan *s, PpSlot *t)
{
	t->listed = t->filtered = t->unknown = false;
	t->ndeferred = 0;
	t->clock.n = 0;
	if (t->n > s->largest)
		s->largest = t->n;
	return pp_frame_wait(s, s->work, t->came) && s->pipeline->start(s, t);
}

/* Goes on with a slot if what it waits for is done; false: failed. */
bool
advance(PpDriverScan *s, PpSlot *t)
{
	for (;;)
	{
		PpPoll		done;

		if (t->phase == PP_SLOT_HELD)
		{
			if (!t->adopted)
				return true;
			if (!s->pipeline->give_back(s, t))
				return false;
		}
		if (t->phase != PP_SLOT_WORK && t->phase != PP_SLOT_RETURN)
			return true;
		done = pp_frame_ask(s, t->done);
		if (done != PP_POLL_DONE)
			return done == PP_POLL_PENDING;
		pp_frame_read_clock(s, t);
		if (t->phase == PP_SLOT_RETURN)
			t->phase = PP_SLOT_DONE;
		else if (!s->pipeline->next(s, t))
			return false;
	}
}

bool
make_batch(PpDriverScan *s, PpSlot *t)
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
	b->ncolumns = spec->ncolumns;
	b->column = t->data;
	b->quotes = t->result.quotes != 0;
	b->next = t->result.next + t->job.begin;
	if (!s->pipeline->finish(s, t, b))
		return false;
	/* the pipeline has set partial, if it has that */
	b->selected = t->filtered ? t->selected : nullptr;
	b->nselected = t->filtered ? t->nselected : n;
	b->unknown = t->unknown;
	b->ndeferred = t->ndeferred;
	set_stop(s, t, b);
	return true;
}

void
release_slot(PpDriverScan *s, PpSlot *t)
{
	s->pipeline->release_slot(s, t);
	pp_buffer_release(&t->input);
	pp_buffer_release(&t->end);
	pp_buffer_release(&t->end_host);
	pp_buffer_release(&t->reports);
}

/*
 * Memory does not suffice to work ahead: from now on one slot has to do.  What
 * the other one has is given back, unless the device fails, which shows later.
 */
void
stop_ahead(PpDriverScan *s)
{
	PpSlot	   *next = s->slot[1 - s->current];

	s->no_ahead = true;
	next->phase = PP_SLOT_EMPTY;
	if (pp_frame_drain(s))
		release_slot(s, next);
}

/*
 * The slot that works ahead, if text is there for it: starts it once the
 * current one does not need the device, goes on with it.  What fails here fails
 * the scan, unless it is memory: then there is no more working ahead.
 */
bool
work_ahead(PpDriverScan *s)
{
	PpSlot	   *t = s->slot[s->current];
	PpSlot	   *next = s->slot[1 - s->current];
	PpBatch		b;
	uint32_t	rest;
	bool		ok = true;

	if (next->phase == PP_SLOT_EMPTY || (t->phase != PP_SLOT_RETURN && t->phase != PP_SLOT_DONE))
		return true;
	if (next->phase == PP_SLOT_TEXT)
	{
		/* memory put aside is to go before more is taken */
		if (!settle())
			return true;
		memset(&b, 0, sizeof(b));
		set_stop(s, t, &b);
		if (b.stop == PP_STOP_FULL)
			return true;		/* the rest of the text comes first */
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

void
release_buffers(PpBackendScan *scan)
{
	PpDriverScan *s = scan_of(scan);

	for (PpSlot *t : s->slot)
		release_slot(s, t);
	s->pipeline->release(s);
	pp_buffer_release(&s->rest);
}

bool
make_slot(PpDriverScan *s, PpSlot *t)
{
	t->input.kind = t->end.kind = PP_MEMORY_DEVICE;
	t->end_host.kind = t->reports.kind = PP_MEMORY_PINNED;
	t->data = static_cast<PpColumnData *>(pp_driver_host(s, (s->spec->ncolumns + 1) * sizeof(PpColumnData)));
	return t->data != nullptr;
}

/* Is the job what the batch before had no room for?  Then its text is there. */
bool
is_rest(const PpDriverScan *s, const PpSlot *before, const PpJob *job)
{
	return s->full && !before->truncated && job->last == before->last &&
		job->len - job->begin == before->n - before->result.next;
}

/* Does the text that was announced, behind what is left, make up this job? */
bool
is_ahead(const PpDriverScan *s, const PpSlot *next, const PpJob *job, uint32_t rest)
{
	const uint32_t n = job->len - job->begin;

	if (!s->carry || next->phase == PP_SLOT_EMPTY || job->last != next->last)
		return false;
	return n == rest + next->announced && (next->phase != PP_SLOT_TEXT || rest <= next->offset);
}

}								/* namespace */

void *
pp_driver_host(PpDriverScan *s, size_t size)
{
	const PpAlloc *a = &s->spec->alloc;
	void	   *p = a->alloc(a->ctx, size);

	if (p == nullptr)
	{
		pp_frame_no_memory(s);
		return nullptr;
	}
	memset(p, 0, size);
	s->block[s->nblocks++] = p;
	return p;
}

bool
pp_driver_reserve(PpDriverScan *s, PpBuffer *b, size_t size)
{
	if (make_room(b, size))
		return true;
	s->failed = true;
	pp_fail_buffer(b);
	return false;
}

bool
pp_driver_reserve_reports(PpDriverScan *s, PpSlot *t, size_t size)
{
	if (!pp_driver_reserve(s, &t->reports, size))
		return false;
	memset(t->reports.p, 0, size);
	return true;
}

bool
pp_driver_end_step(PpDriverScan *s, PpSlot *t, uint32_t step)
{
	t->phase = PP_SLOT_WORK;
	t->step = step;
	return pp_frame_record(s, t->done, s->work);
}

bool
pp_driver_needs_list(const PpDriverScan *s, const PpSlot *t)
{
	return !s->spec->unlisted && t->result.nrecords > 0 &&
		(s->spec->ncolumns == 0 || s->spec->has_default || t->ndeferred > 0);
}

bool
pp_driver_hold(PpSlot *t)
{
	if (t->adopted)
		return false;
	t->phase = PP_SLOT_HELD;
	return true;
}

bool
pp_driver_reserve_end(PpDriverScan *s, PpSlot *t, uint64_t nrecords)
{
	const uint64_t width = s->spec->nfields > 0 ? s->spec->nfields : 1;
	const uint64_t ends = nrecords * width;

	return pp_driver_reserve(s, &t->end, ends * sizeof(uint32_t)) &&
		pp_driver_reserve(s, &t->end_host, (ends + 1) * sizeof(uint32_t));
}

bool
pp_driver_return_begin(PpDriverScan *s, PpSlot *t)
{
	const uint64_t width = s->spec->nfields > 0 ? s->spec->nfields : 1;

	if (t->listed && t->job.begin > 0 &&
		!pp_frame_launched(s, pp_shift_run(reinterpret_cast<uint32_t *>(t->end.p),
										   t->result.nrecords * width, t->job.begin,
										   s->pipeline->list_stage, &t->clock, s->work)))
		return false;
	return pp_frame_return_begin(s, t);
}

bool
pp_driver_return_end(PpDriverScan *s, PpSlot *t)
{
	const uint64_t width = s->spec->nfields > 0 ? s->spec->nfields : 1;

	if (t->listed &&
		!pp_frame_copy(s, t->end_host.p + sizeof(uint32_t), t->end.p,
					   t->result.nrecords * width * sizeof(uint32_t),
					   cudaMemcpyDeviceToHost, s->out))
		return false;
	t->phase = PP_SLOT_RETURN;
	return pp_frame_return_end(s, t);
}

/*
 * The interface.
 */

PpBackendScan *
pp_driver_open(const PpScanSpec *spec, const PpPipeline *pipeline)
{
	const size_t scan_size = pp_align256(pipeline->scan_size);
	const size_t slot_size = pp_align256(pipeline->slot_size);
	PpDriverScan *s;
	uint8_t    *p;

	if (!pp_process_ready())
		return nullptr;
	p = static_cast<uint8_t *>(spec->alloc.alloc(spec->alloc.ctx, scan_size + 2 * slot_size));
	if (p == nullptr)
	{
		pp_fail(PP_CUDA_NO_MEMORY, "out of memory");
		return nullptr;
	}
	memset(p, 0, scan_size + 2 * slot_size);
	s = reinterpret_cast<PpDriverScan *>(p);
	s->pipeline = pipeline;
	s->spec = spec;
	s->slot[0] = reinterpret_cast<PpSlot *>(p + scan_size);
	s->slot[1] = reinterpret_cast<PpSlot *>(p + scan_size + slot_size);
	s->options = pp_process_options();
	if (!pp_device_dfa(&spec->dfa, &spec->dialect, &s->dfa))
		pp_fail(PP_CUDA_UNSUPPORTED, "the dialect has too many special bytes");
	else if (pp_frame_open(s, s->slot[0], s->slot[1], PP_CLOCK_EVENTS, release_buffers) &&
			 make_slot(s, s->slot[0]) && make_slot(s, s->slot[1]) && pipeline->open(s))
		return s;
	pp_driver_close(s);
	return nullptr;
}

void
pp_driver_close(PpBackendScan *scan)
{
	PpDriverScan *s = scan_of(scan);
	PpAlloc		a;

	if (s == nullptr)
		return;
	pp_frame_close(s);
	a = s->spec->alloc;
	for (uint32_t i = 0; i < s->nblocks; i++)
		a.release(a.ctx, s->block[i]);
	a.release(a.ctx, s);
}

bool
pp_driver_submit(PpBackendScan *scan, const PpJob *job)
{
	PpDriverScan *s = scan_of(scan);
	PpSlot	   *before = s->slot[s->current];
	PpSlot	   *t = s->slot[1 - s->current];
	uint32_t	rest = s->carry ? before->n - before->result.next : 0;

	if (!pp_frame_usable(s))
		return false;
	if (is_rest(s, before, job))
	{
		before->job = *job;
		before->offset += before->result.next;
		before->n -= before->result.next;
		s->full = false;
		/* what was announced for later is the caller's again with this batch */
		return (t->phase != PP_SLOT_TEXT || pp_frame_wait(s, s->work, t->came)) && start(s, before);
	}
	s->full = false;
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
	/* a guess that is given up may still be worked on */
	return carry_within(s, t, t->n, rest) && pp_frame_mark_carried(s) &&
		pp_frame_bring(s, t, t->input.p + rest, job->text + job->begin + rest, t->n - rest) &&
		start(s, t);
}

bool
pp_driver_ahead(PpBackendScan *scan, const uint8_t *text, uint32_t len, bool last)
{
	PpDriverScan *s = scan_of(scan);
	PpSlot	   *t = s->slot[s->current];
	PpSlot	   *next = s->slot[1 - s->current];
	uint32_t	room;

	if (!pp_frame_usable(s) || s->no_ahead || t->phase == PP_SLOT_EMPTY || t->last || t->truncated ||
		next->phase != PP_SLOT_EMPTY)
		return false;
	room = pp_frame_carry_room(t->n);
	if (room > pp_align16(t->n))
		room = (uint32_t) pp_align16(t->n);
	if (len >= PP_PAPER_MAX_BYTES - room)
		return false;
	if (!make_room(&next->input, (size_t) room + len + PP_PAD))
	{
		stop_ahead(s);
		return false;
	}
	next->adopted = next->truncated = false;
	next->offset = room;
	next->announced = len;
	next->last = last;
	if (!pp_frame_bring(s, next, next->input.p + room, text, len))
		return false;
	next->phase = PP_SLOT_TEXT;
	return true;
}

PpPoll
pp_driver_poll(PpBackendScan *scan, const PpBatch **batch, const char **message)
{
	PpDriverScan *s = scan_of(scan);
	PpSlot	   *t = s->slot[s->current];
	PpCudaLibrary const *library = pp_cuda_library(PP_CUDA_VERSION);

	if (!pp_frame_usable(s) || !advance(s, t) || !work_ahead(s))
	{
		*message = library->error();
		return PP_POLL_FAILED;
	}
	if (t->phase != PP_SLOT_DONE)
		return PP_POLL_PENDING;
	if (!make_batch(s, t))
	{
		*message = library->error();
		return PP_POLL_FAILED;
	}
	s->carry = t->batch.stop == PP_STOP_MORE;
	s->full = t->batch.stop == PP_STOP_FULL;
	*batch = &t->batch;
	return PP_POLL_DONE;
}

void
pp_driver_release(PpBackendScan *scan)
{
	PpDriverScan *s = scan_of(scan);

	s->slot[s->current]->phase = PP_SLOT_EMPTY;
}
