/*
 * cuda/scan_frame.cu
 *	  Streams and events of all scans on the device: making and giving them back,
 *	  recording, waiting and asking, what phases and copies took.
 *
 * Owns the list of open scans, and of each its streams and events.  Must not
 * touch buffers, nor what a slot's phase is.
 */
#include "scan_frame.h"

namespace
{

PpBackendScan *open_scans;

/* All events of a scan, in the order in which they are made. */
cudaEvent_t *
event_number(PpBackendScan *s, uint32_t i)
{
	PpSlotFrame *t;

	if (i == 0)
		return &s->carried;
	t = s->frame[(i - 1) % 2];
	i = (i - 1) / 2;
	if (i == 0)
		return &t->came;
	if (i == 1)
		return &t->done;
	if (i < 6)
		return &t->copy[i - 2];
	return i - 6 < t->clock.room ? &t->clock_event[i - 6] : nullptr;
}

/* Gives back what the scan has on the device, and stops what it does there. */
void
leave_device(PpBackendScan *s)
{
	const cudaStream_t stream[] = {s->in, s->work, s->out};

	if (s->stopped)
		return;
	for (cudaStream_t q : stream)
		if (q != nullptr)
			(void) pp_stream_abandon(q);
	if (s->release != nullptr)
		s->release(s);
	for (uint32_t i = 0; i < s->nevents; i++)
		(void) cudaEventDestroy(*event_number(s, i));
	for (cudaStream_t q : stream)
		if (q != nullptr)
			(void) cudaStreamDestroy(q);
	(void) cudaGetLastError();
	s->stopped = true;
}

}								/* namespace */

bool
pp_frame_fail(PpBackendScan *s, PpCudaFailure kind, const char *what)
{
	s->failed = true;
	pp_fail(kind, what);
	return false;
}

bool
pp_frame_no_memory(PpBackendScan *s)
{
	return pp_frame_fail(s, PP_CUDA_NO_MEMORY, "out of memory");
}

bool
pp_frame_call_failed(PpBackendScan *s, const char *what, cudaError_t e)
{
	s->failed = true;
	pp_fail_call(what, e);
	return false;
}

bool
pp_frame_launched(PpBackendScan *s, cudaError_t e)
{
	return e == cudaSuccess || pp_frame_call_failed(s, "a launch failed", e);
}

bool
pp_frame_open(PpBackendScan *s, PpSlotFrame *first, PpSlotFrame *second, uint32_t clock_events,
			  void (*release) (PpBackendScan *s))
{
	cudaStream_t *const stream[] = {&s->in, &s->work, &s->out};
	cudaError_t e;

	s->frame[0] = first;
	s->frame[1] = second;
	for (PpSlotFrame *t : s->frame)
	{
		t->clock.event = t->clock_event;
		t->clock.stage = t->clock_stage;
		t->clock.room = clock_events;
	}
	s->release = release;
	s->next = open_scans;
	open_scans = s;
	for (cudaStream_t *q : stream)
	{
		e = cudaStreamCreateWithFlags(q, cudaStreamNonBlocking);
		if (e != cudaSuccess)
		{
			*q = nullptr;
			return pp_frame_call_failed(s, "making a stream failed", e);
		}
	}
	for (cudaEvent_t *p; (p = event_number(s, s->nevents)) != nullptr; s->nevents++)
	{
		e = cudaEventCreate(p);
		if (e != cudaSuccess)
			return pp_frame_call_failed(s, "making an event failed", e);
	}
	return true;
}

void
pp_frame_close(PpBackendScan *s)
{
	leave_device(s);
	for (PpBackendScan **p = &open_scans; *p != nullptr; p = &(*p)->next)
		if (*p == s)
		{
			*p = s->next;
			break;
		}
}

bool
pp_frame_usable(PpBackendScan *s)
{
	if (s->stopped)
	{
		pp_fail(PP_CUDA_BROKEN, "the device was stopped");
		return false;
	}
	return pp_process_ready() && !s->failed;
}

bool
pp_frame_device_idle(void)
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

bool
pp_frame_drain(PpBackendScan *s)
{
	const bool	done = cudaStreamSynchronize(s->in) == cudaSuccess &&
		cudaStreamSynchronize(s->work) == cudaSuccess && cudaStreamSynchronize(s->out) == cudaSuccess;

	(void) cudaGetLastError();
	return done;
}

bool
pp_frame_record(PpBackendScan *s, cudaEvent_t event, cudaStream_t stream)
{
	cudaError_t e = cudaEventRecord(event, stream);

	return e == cudaSuccess || pp_frame_call_failed(s, "recording an event failed", e);
}

bool
pp_frame_wait(PpBackendScan *s, cudaStream_t stream, cudaEvent_t event)
{
	cudaError_t e = cudaStreamWaitEvent(stream, event, 0);

	return e == cudaSuccess || pp_frame_call_failed(s, "waiting for an event failed", e);
}

bool
pp_frame_mark_carried(PpBackendScan *s)
{
	return pp_frame_record(s, s->carried, s->work);
}

PpPoll
pp_frame_ask(PpBackendScan *s, cudaEvent_t event)
{
	cudaError_t e = cudaEventQuery(event);

	if (e == cudaErrorNotReady)
	{
		(void) cudaGetLastError();
		return PP_POLL_PENDING;
	}
	if (e == cudaSuccess)
		return PP_POLL_DONE;
	pp_frame_call_failed(s, "waiting for it failed", e);
	return PP_POLL_FAILED;
}

void
pp_frame_read_clock(PpBackendScan *s, PpSlotFrame *t)
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

bool
pp_frame_copy(PpBackendScan *s, void *dst, const void *src, size_t n, cudaMemcpyKind kind,
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
	return e == cudaSuccess || pp_frame_call_failed(s, "a copy between host and device failed", e);
}

bool
pp_frame_bring(PpBackendScan *s, PpSlotFrame *t, uint8_t *to, const uint8_t *text, uint32_t n)
{
	t->copied[0] = false;
	if (!pp_frame_wait(s, s->in, s->carried) || !pp_frame_record(s, t->copy[0], s->in) ||
		!pp_frame_copy(s, to, text, n, cudaMemcpyHostToDevice, s->in) ||
		!pp_frame_record(s, t->copy[1], s->in) || !pp_frame_record(s, t->came, s->in))
		return false;
	t->copied[0] = true;
	return true;
}

bool
pp_frame_return_begin(PpBackendScan *s, PpSlotFrame *t)
{
	/* the working stream is free behind this, and the clock stops */
	if (t->clock.n > 0 && t->clock.n < t->clock.room)
	{
		if (!pp_frame_record(s, t->clock_event[t->clock.n], s->work))
			return false;
		t->clock_stage[t->clock.n++] = PP_STAGES;
	}
	t->copied[1] = false;
	return pp_frame_record(s, t->copy[2], s->work) && pp_frame_wait(s, s->out, t->copy[2]) &&
		pp_frame_record(s, t->copy[2], s->out);
}

bool
pp_frame_return_end(PpBackendScan *s, PpSlotFrame *t)
{
	if (!pp_frame_record(s, t->copy[3], s->out))
		return false;
	t->copied[1] = true;
	return pp_frame_record(s, t->done, s->out);
}

void
pp_frame_stats(const PpBackendScan *scan, PpCudaStats *stats)
{
	*stats = scan->stats;
}

void
pp_frame_stop(void)
{
	for (PpBackendScan *s = open_scans; s != nullptr; s = s->next)
		leave_device(s);
}
