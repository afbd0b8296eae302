/*
 * cuda/json_text.cu
 *	  The text of a scan of JSON on its way to the device: what is there already is
 *	  not copied again, what was announced comes in while the device works.
 *
 * Kernels read from multiples of 16 on.  Text that begins elsewhere stays where
 * it is: what stands in front of it there is used up, and becomes blanks, which
 * mean nothing in front of a record.
 *
 * Uses the scan's streams and buffers, which are others'; must not touch the
 * job's text but to copy it.  Nothing here waits, but for buffers that have to
 * grow.
 */
#include "json_scan.h"

namespace
{

/* Where the slot's text begins: blanks in front of it, and the kernels' text. */
bool
set_text(PpJsonScan *s, PpJsonSlot *t, uint32_t from)
{
	t->blanks = from % 16;
	t->records.text = t->input.p + (from - t->blanks);
	if (t->blanks == 0)
		return true;
	pp_stage(&t->clock, PP_STAGE_H2D, s->work);
	return pp_frame_launched(s, cudaMemsetAsync(t->input.p + (from - t->blanks), ' ', t->blanks, s->work));
}

/* To the front of the other slot's text, announced before, what the current one
 * has of the next job from begin on, and what is missing of these bytes. */
bool
carry(PpJsonScan *s, int64_t from, uint32_t front, const uint8_t *text)
{
	PpJsonSlot *t = &s->slot[s->current];
	PpJsonSlot *to = &s->slot[1 - s->current];
	uint32_t	had = 0;

	if (from >= 0 && from < t->there_to)
		had = t->there_to - (uint32_t) from < front ? t->there_to - (uint32_t) from : front;
	to->there_from = to->offset - front;
	to->there_to = to->offset + to->announced;
	return pp_frame_copy(s, to->input.p + to->there_from, t->input.p + (had > 0 ? from : 0), had,
						 cudaMemcpyDeviceToDevice, s->work) &&
		pp_json_copy(s, to, to->input.p + to->there_from + had, text + had, front - had, cudaMemcpyHostToDevice) &&
		pp_frame_mark_carried(s) && pp_frame_wait(s, s->work, to->came);
}

/* What the input has of the text to its front, where n bytes have room. */
bool
move_to_front(PpJsonScan *s, PpJsonSlot *t, uint32_t from, uint32_t had, size_t size)
{
	if (from >= had && t->input.size >= size)
		return pp_frame_copy(s, t->input.p, t->input.p + from, had, cudaMemcpyDeviceToDevice, s->work);
	/* by way of other memory, since the two may overlap */
	return pp_json_reserve(s, t, &s->rest, had) &&
		pp_frame_copy(s, s->rest.p, t->input.p + from, had, cudaMemcpyDeviceToDevice, s->work) &&
		pp_json_reserve(s, t, &t->input, size) &&
		pp_frame_copy(s, t->input.p, s->rest.p, had, cudaMemcpyDeviceToDevice, s->work);
}

}								/* namespace */

bool
pp_json_upload(PpJsonScan *s)
{
	PpJsonSlot *t = &s->slot[s->current];
	const size_t size = (size_t) t->n + PP_PAD;
	int64_t		from = t->there_from + (t->first - t->job.begin);
	uint32_t	had = 0;

	if (from >= 0 && from < t->there_to)
		had = t->there_to - (uint32_t) from < t->n ? t->there_to - (uint32_t) from : t->n;
	if (had == 0 || t->input.size < (uint64_t) from + size)
	{
		if (had == 0 ? !pp_json_reserve(s, t, &t->input, size) :
			!move_to_front(s, t, (uint32_t) from, had, size))
			return false;
		from = 0;
	}
	t->there_from = from - (t->first - t->job.begin);
	t->there_to = (uint32_t) from + t->n;
	return set_text(s, t, (uint32_t) from) &&
		pp_json_copy(s, t, t->input.p + from + had, t->job.text + t->first + had, t->n - had,
					 cudaMemcpyHostToDevice);
}

bool
pp_json_carry_over(PpJsonScan *s, uint32_t rest)
{
	const PpJsonSlot *t = &s->slot[s->current];
	PpJsonSlot *to = &s->slot[1 - s->current];
	const uint32_t end = t->first + t->n;

	return carry(s, t->there_from + (int64_t) (end - rest - t->job.begin), rest, t->job.text + (end - rest)) &&
		set_text(s, to, (uint32_t) to->there_from);
}

bool
pp_json_take_announced(PpJsonScan *s, const PpJob *job)
{
	const PpJsonSlot *t = &s->slot[1 - s->current];

	return carry(s, s->slot[s->current].there_from, job->len - job->begin - t->announced, job->text + job->begin);
}

bool
pp_json_is_announced(const PpJsonScan *s, const PpJob *job)
{
	const PpJsonSlot *t = &s->slot[1 - s->current];

	return s->carry && t->phase != PP_JSON_IDLE && job->last == t->job.last &&
		job->len - job->begin == s->no_line + t->announced && s->no_line <= t->offset &&
		job->text + (job->len - t->announced) == t->announced_text && job->len < PP_JSON_ESCAPES;
}

bool
pp_json_announce(PpJsonScan *s, const uint8_t *text, uint32_t len, bool last)
{
	PpJsonSlot *t = &s->slot[1 - s->current];
	const uint32_t room = pp_frame_carry_room(len);

	if (s->no_ahead || t->phase != PP_JSON_IDLE || len == 0 || len >= PP_PAPER_MAX_BYTES / 2)
		return false;
	if (!pp_buffer_reserve(&t->input, (size_t) room + len + PP_PAD))
	{
		pp_json_stop_ahead(s);
		return false;
	}
	t->there_to = 0;
	if (!pp_frame_bring(s, t, t->input.p + room, text, len))
		return false;
	t->offset = room;
	t->announced = len;
	t->announced_text = text;
	t->job.last = last;
	t->phase = PP_JSON_TEXT;
	return true;
}
