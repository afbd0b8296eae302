/*
 * cuda/json_text.cu
 *	  The text of a scan of JSON on its way to the device: what is there already is
 *	  not copied again, what was announced comes in while the device works.
 *
 * Uses the scan's streams, events and buffers, which are json_driver.cu's; must
 * not touch the job's text but to copy it.  Nothing here waits, but for buffers
 * that have to grow.
 */
#include "json_scan.h"

namespace
{

/* A copy on the device. */
bool
move(PpJsonScan *s, uint8_t *dst, const uint8_t *src, size_t n)
{
	cudaError_t e = n == 0 ? cudaSuccess : cudaMemcpyAsync(dst, src, n, cudaMemcpyDeviceToDevice, s->stream);

	return e == cudaSuccess || pp_json_call_failed(s, "a copy on the device failed", e);
}

/*
 * Memory is short: does without what was announced, and without the buffer that
 * it needs.  False: there is none.
 */
bool
stop_ahead(PpJsonScan *s)
{
	const bool	had = s->moved.p != nullptr && cudaStreamSynchronize(s->in) == cudaSuccess &&
		cudaStreamSynchronize(s->stream) == cudaSuccess;

	(void) cudaGetLastError();
	s->no_ahead = true;
	s->announced = s->tail = 0;
	if (had)
		pp_buffer_release(&s->moved);
	return had;
}

}								/* namespace */

bool
pp_json_call_failed(PpJsonScan *s, const char *what, cudaError_t e)
{
	s->failed = true;
	pp_fail_call(what, e);
	return false;
}

bool
pp_json_reserve(PpJsonScan *s, PpBuffer *b, size_t size)
{
	if (pp_buffer_reserve(b, size) || (stop_ahead(s) && pp_buffer_reserve(b, size)))
		return true;
	s->failed = true;
	pp_fail_buffer(b);
	return false;
}

/* A copy, counted. */
bool
pp_json_copy(PpJsonScan *s, void *dst, const void *src, size_t n, cudaMemcpyKind kind)
{
	const bool	in = kind == cudaMemcpyHostToDevice;
	cudaError_t e;

	if (n == 0)
		return true;
	/* counts the launch, too */
	pp_stage(&s->clock, in ? PP_STAGE_H2D : PP_STAGE_D2H, s->stream);
	*(in ? &s->stats.h2d_bytes : &s->stats.d2h_bytes) += n;
	e = cudaMemcpyAsync(dst, src, n, kind, s->stream);
	return e == cudaSuccess || pp_json_call_failed(s, "a copy between host and device failed", e);
}

/*
 * Text in.  What the device has of it is only moved to where it is aligned: the
 * rest of the job before that ended early, or of which the CPU had a part, or
 * that ends in the middle of a record; and what was announced.
 *
 * The former can be moved within the input if it does not overlap itself, else
 * by way of the other buffer, which takes that from an announcement.  If there is
 * no memory for that, it is copied again.
 */
bool
pp_json_upload(PpJsonScan *s)
{
	const size_t size = (size_t) s->n + PP_PAD;
	const int64_t from = s->there_from + (s->first - s->job.begin);
	const uint8_t *text = s->job.text + s->first;
	uint32_t	front;
	uint32_t	had = 0;
	cudaError_t e;

	if (s->truncated || s->tail > s->n)
		s->tail = 0;
	front = s->n - s->tail;
	if (from >= 0 && from < s->there_to)
		had = s->there_to - (uint32_t) from < front ? s->there_to - (uint32_t) from : front;
	e = cudaStreamWaitEvent(s->stream, s->came, 0);
	if (e != cudaSuccess)
		return pp_json_call_failed(s, "waiting for an event failed", e);
	if (had > 0 && s->input.size >= size && from >= had)
	{
		if (!move(s, s->input.p, s->input.p + from, had))
			return false;
	}
	else if (had > 0 && s->tail == 0 && pp_buffer_reserve(&s->moved, size))
	{
		const PpBuffer input = s->input;

		s->announced = 0;
		if (!move(s, s->moved.p, input.p + from, had))
			return false;
		s->input = s->moved;
		s->moved = input;
	}
	else
	{
		had = 0;
		if (s->moved.p == nullptr)
			s->announced = 0;
		if (!pp_json_reserve(s, &s->input, size))
			return false;
		/* that may have taken it away */
		front = s->n - s->tail;
	}
	s->there_from = (int64_t) s->job.begin - s->first;
	s->there_to = s->n;
	if (!move(s, s->input.p + front, s->moved.p, s->tail))
		return false;
	e = cudaEventRecord(s->carried, s->stream);
	if (e != cudaSuccess)
		return pp_json_call_failed(s, "recording an event failed", e);
	return pp_json_copy(s, s->input.p + had, text + had, front - had, cudaMemcpyHostToDevice);
}

/*
 * Is the job the rest of the one before, and what was announced behind that?  If
 * the one before is used up, and it is not, that was in vain.
 */
void
pp_json_take_announced(PpJsonScan *s)
{
	const PpJob *job = &s->job;

	s->tail = 0;
	if (!s->carry)
		return;
	if (s->announced > 0 && job->len - job->begin == s->rest + s->announced &&
		job->last == s->announced_last && job->text + (job->len - s->announced) == s->announced_text)
		s->tail = s->announced;
	s->announced = 0;
}

bool
pp_json_announce(PpJsonScan *s, const uint8_t *text, uint32_t len, bool last)
{
	cudaError_t e;

	if (s->no_ahead || s->announced > 0 || len == 0 || len >= PP_PAPER_MAX_BYTES / 2)
		return false;
	if (!pp_buffer_reserve(&s->moved, (size_t) len + PP_PAD))
	{
		(void) cudaGetLastError();
		s->no_ahead = true;
		return false;
	}
	e = cudaStreamWaitEvent(s->in, s->carried, 0);
	if (e == cudaSuccess)
		e = cudaMemcpyAsync(s->moved.p, text, len, cudaMemcpyHostToDevice, s->in);
	if (e == cudaSuccess)
		e = cudaEventRecord(s->came, s->in);
	if (e != cudaSuccess)
		return pp_json_call_failed(s, "a copy between host and device failed", e);
	s->stats.launches[PP_STAGE_H2D]++;
	s->stats.h2d_bytes += len;
	s->announced = len;
	s->announced_text = text;
	s->announced_last = last;
	return true;
}
