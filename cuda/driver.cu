/*
 * cuda/driver.cu
 *	  The interface of a backend, for all pipelines: takes jobs, moves text in,
 *	  looks whether what was enqueued is done, works ahead in the second slot,
 *	  and says how a batch ends.
 *
 * Owns streams, events, slots and the text's buffers; must not touch the job's
 * text but to copy it, and knows nothing of what a pipeline does.
 */
#include "driver.h"

#include <cstring>

namespace
{

/*
 * Room in front of announced text for the record that goes on in it, at least
 * and as a part of a partition; a longer record comes in anew.
 */
constexpr uint32_t CARRY_ROOM = 4096;
constexpr uint32_t CARRY_PART = 16;

PpBackendScan *open_scans;

bool
call_failed(PpBackendScan *s, const char *what, cudaError_t e)
{
	s->failed = true;
	pp_fail_call(what, e);
	return false;
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

/* Is nothing enqueued on the device, for any scan? */
bool
device_is_idle(void)
{
	bool		idle = true;

	for (PpBackendScan *s = open_scans; s != nullptr && idle; s = s->next)
	{
		const cudaStream_t stream[] = {s->in, s->work, s->out};

		for (cudaStream_t q : stream)
			idle = idle && (s->stopped || q == nullptr || cudaStreamQuery(q) == cudaSuccess);
	}
	(void) cudaGetLastError();
	return idle;
}

/* Frees what was put aside while there was work, if there is none any more. */
bool
settle(void)
{
	if (pp_memory_retired() == 0)
		return true;
	if (!device_is_idle())
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

/* What was enqueued on the working stream so far may read text that is replaced next. */
bool
mark_carried(PpBackendScan *s)
{
	return record(s, s->carried, s->work);
}

/* Text to the slot's input, at that offset; behind the last mark_carried(). */
bool
upload(PpBackendScan *s, PpSlot *t, size_t offset, const uint8_t *text, uint32_t n)
{
	t->copied[0] = false;
	if (!wait_for(s, s->in, s->carried) || !record(s, t->copy[0], s->in) ||
		!pp_driver_copy(s, t->input.p + offset, text, n, cudaMemcpyHostToDevice, s->in) ||
		!record(s, t->copy[1], s->in) || !record(s, t->uploaded, s->in))
		return false;
	t->copied[0] = true;
	return true;
}

/*
 * The rest of the other slot's text, which this slot's goes on, to its front.
 * Behind that nothing of the other slot's text is needed, so what is announced next
 * comes in there while kernels work on this slot's.  Text that was announced in vain may have come in to the same place, but did so
 * before that of the other slot, by the same stream.
 */
bool
carry_over(PpBackendScan *s, PpSlot *from, PpSlot *to, size_t offset, uint32_t rest)
{
	return pp_driver_copy(s, to->input.p + offset, from->input.p + from->offset + from->result.next,
						  rest, cudaMemcpyDeviceToDevice, s->work) &&
		mark_carried(s);
}

/* Makes room for a job of n bytes, and moves the rest of the one before to its front. */
bool
carry_within(PpBackendScan *s, PpSlot *t, size_t n, uint32_t rest)
{
	const size_t from = t->offset + t->result.next;

	t->offset = 0;
	/* by way of other memory, since the two may overlap */
	return (rest == 0 ||
			(pp_driver_reserve(s, &s->rest, rest) &&
			 pp_driver_copy(s, s->rest.p, t->input.p + from, rest, cudaMemcpyDeviceToDevice, s->work))) &&
		pp_driver_reserve(s, &t->input, n + PP_PAD) &&
		pp_driver_copy(s, t->input.p, s->rest.p, rest, cudaMemcpyDeviceToDevice, s->work);
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

/* The first phase of a slot whose text is in its place, or on its way there. */
bool
start(PpBackendScan *s, PpSlot *t)
{
	t->listed = t->filtered = t->unknown = false;
	t->ndeferred = 0;
	t->clock.n = 0;
	if (t->n > s->largest)
		s->largest = t->n;
	return wait_for(s, s->work, t->uploaded) && s->pipeline->start(s, t);
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
			if (!s->pipeline->give_back(s, t))
				return false;
		}
		if (t->phase != PP_SLOT_WORK && t->phase != PP_SLOT_RETURN)
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
		if (t->phase == PP_SLOT_RETURN)
			t->phase = PP_SLOT_DONE;
		else if (!s->pipeline->next(s, t))
			return false;
	}
}

bool
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
release_slot(PpBackendScan *s, PpSlot *t)
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
stop_ahead(PpBackendScan *s)
{
	PpSlot	   *next = s->slot[1 - s->current];

	s->no_ahead = true;
	next->phase = PP_SLOT_EMPTY;
	if (cudaStreamSynchronize(s->in) == cudaSuccess && cudaStreamSynchronize(s->work) == cudaSuccess &&
		cudaStreamSynchronize(s->out) == cudaSuccess)
		release_slot(s, next);
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
	t = s->slot[(i - 1) % 2];
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
		release_slot(s, s->slot[i]);
	s->pipeline->release(s);
	pp_buffer_release(&s->rest);
	for (uint32_t i = 0; i < s->nevents; i++)
		(void) cudaEventDestroy(*event_number(s, i));
	for (cudaStream_t q : stream)
		if (q != nullptr)
			(void) cudaStreamDestroy(q);
	(void) cudaGetLastError();
	s->stopped = true;
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
	t->input.kind = t->end.kind = PP_MEMORY_DEVICE;
	t->end_host.kind = t->reports.kind = PP_MEMORY_PINNED;
	t->clock.event = t->clock_event;
	t->clock.stage = t->clock_stage;
	t->clock.room = PP_CLOCK_EVENTS;
	t->data = static_cast<PpColumnData *>(pp_driver_host(s, (s->spec->ncolumns + 1) * sizeof(PpColumnData)));
	return t->data != nullptr;
}

/* Is the job what the batch before had no room for?  Then its text is there. */
bool
is_rest(const PpBackendScan *s, const PpSlot *before, const PpJob *job)
{
	return s->full && !before->truncated && job->last == before->last &&
		job->len - job->begin == before->n - before->result.next;
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

}								/* namespace */

void *
pp_driver_host(PpBackendScan *s, size_t size)
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

bool
pp_driver_reserve(PpBackendScan *s, PpBuffer *b, size_t size)
{
	if (make_room(b, size))
		return true;
	s->failed = true;
	pp_fail_buffer(b);
	return false;
}

bool
pp_driver_copy(PpBackendScan *s, void *dst, const void *src, size_t n, cudaMemcpyKind kind,
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
pp_driver_launched(PpBackendScan *s, cudaError_t e)
{
	return e == cudaSuccess || call_failed(s, "a launch failed", e);
}

bool
pp_driver_end_step(PpBackendScan *s, PpSlot *t, uint32_t step)
{
	t->phase = PP_SLOT_WORK;
	t->step = step;
	return record(s, t->done, s->work);
}

bool
pp_driver_needs_list(const PpBackendScan *s, const PpSlot *t)
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
pp_driver_reserve_end(PpBackendScan *s, PpSlot *t, uint64_t nrecords)
{
	const uint64_t width = s->spec->nfields > 0 ? s->spec->nfields : 1;
	const uint64_t ends = nrecords * width;

	return pp_driver_reserve(s, &t->end, ends * sizeof(uint32_t)) &&
		pp_driver_reserve(s, &t->end_host, (ends + 1) * sizeof(uint32_t));
}

bool
pp_driver_return_begin(PpBackendScan *s, PpSlot *t)
{
	const uint64_t width = s->spec->nfields > 0 ? s->spec->nfields : 1;

	if (t->listed && t->job.begin > 0 &&
		!pp_driver_launched(s, pp_shift_run(reinterpret_cast<uint32_t *>(t->end.p),
											t->result.nrecords * width, t->job.begin,
											s->pipeline->list_stage, &t->clock, s->work)))
		return false;

	/* the working stream is free behind this, and the clock stops */
	if (t->clock.n > 0 && t->clock.n < t->clock.room)
	{
		if (!record(s, t->clock_event[t->clock.n], s->work))
			return false;
		t->clock_stage[t->clock.n++] = PP_STAGES;
	}
	t->copied[1] = false;
	return record(s, t->copy[2], s->work) && wait_for(s, s->out, t->copy[2]) &&
		record(s, t->copy[2], s->out);
}

bool
pp_driver_return_end(PpBackendScan *s, PpSlot *t)
{
	const uint64_t width = s->spec->nfields > 0 ? s->spec->nfields : 1;

	if (t->listed &&
		!pp_driver_copy(s, t->end_host.p + sizeof(uint32_t), t->end.p,
						t->result.nrecords * width * sizeof(uint32_t),
						cudaMemcpyDeviceToHost, s->out))
		return false;
	if (!record(s, t->copy[3], s->out))
		return false;
	t->copied[1] = true;
	t->phase = PP_SLOT_RETURN;
	return record(s, t->done, s->out);
}

/*
 * The interface.
 */

PpBackendScan *
pp_driver_open(const PpScanSpec *spec, const PpPipeline *pipeline)
{
	const size_t scan_size = pp_align256(pipeline->scan_size);
	const size_t slot_size = pp_align256(pipeline->slot_size);
	PpBackendScan *s;
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
	s = reinterpret_cast<PpBackendScan *>(p);
	s->pipeline = pipeline;
	s->spec = spec;
	s->slot[0] = reinterpret_cast<PpSlot *>(p + scan_size);
	s->slot[1] = reinterpret_cast<PpSlot *>(p + scan_size + slot_size);
	s->next = open_scans;
	open_scans = s;
	s->options = pp_process_options();
	if (!pp_device_dfa(&spec->dfa, &spec->dialect, &s->dfa))
		pp_fail(PP_CUDA_UNSUPPORTED, "the dialect has too many special bytes");
	else if (make_streams(s) && make_slot(s, s->slot[0]) && make_slot(s, s->slot[1]) &&
			 pipeline->open(s))
		return s;
	pp_driver_close(s);
	return nullptr;
}

void
pp_driver_close(PpBackendScan *s)
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
pp_driver_submit(PpBackendScan *s, const PpJob *job)
{
	PpSlot	   *before = s->slot[s->current];
	PpSlot	   *t = s->slot[1 - s->current];
	uint32_t	rest = s->carry ? before->n - before->result.next : 0;

	if (!is_usable(s))
		return false;
	if (is_rest(s, before, job))
	{
		before->job = *job;
		before->offset += before->result.next;
		before->n -= before->result.next;
		s->full = false;
		return start(s, before);
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
	return carry_within(s, t, t->n, rest) && mark_carried(s) &&
		upload(s, t, rest, job->text + job->begin + rest, t->n - rest) &&
		start(s, t);
}

bool
pp_driver_ahead(PpBackendScan *s, const uint8_t *text, uint32_t len, bool last)
{
	PpSlot	   *t = s->slot[s->current];
	PpSlot	   *next = s->slot[1 - s->current];
	uint32_t	room;

	if (!is_usable(s) || s->no_ahead || t->phase == PP_SLOT_EMPTY || t->last || t->truncated ||
		next->phase != PP_SLOT_EMPTY)
		return false;
	room = t->n / CARRY_PART > CARRY_ROOM ? t->n / CARRY_PART : CARRY_ROOM;
	if (room > t->n)
		room = t->n;
	room = (uint32_t) pp_align16(room);
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
	if (!upload(s, next, room, text, len))
		return false;
	next->phase = PP_SLOT_TEXT;
	return true;
}

PpPoll
pp_driver_poll(PpBackendScan *s, const PpBatch **batch, const char **message)
{
	PpSlot	   *t = s->slot[s->current];
	PpCudaLibrary const *library = pp_cuda_library(PP_CUDA_VERSION);

	if (!is_usable(s) || !advance(s, t) || !work_ahead(s))
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
pp_driver_release(PpBackendScan *s)
{
	s->slot[s->current]->phase = PP_SLOT_EMPTY;
}

void
pp_driver_stats(const PpBackendScan *scan, PpCudaStats *stats)
{
	*stats = scan->stats;
}

void
pp_driver_stop(void)
{
	for (PpBackendScan *s = open_scans; s != nullptr; s = s->next)
		leave_device(s);
}
