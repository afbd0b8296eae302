/*
 * cuda/json_host.cu
 *	  The CPU's share of a scan of JSON on the device: which part of a job its
 *	  backend gets, and what becomes of that backend's batches.
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
 * Must not touch the device.
 */
#include "json_scan.h"

#include <cstring>

namespace
{

/*
 * For refused records that are closer than this to each other, the CPU takes
 * pp_json_stretch bytes, and twice as many each time, up to so many times that.
 */
constexpr uint32_t CLOSE = 1u << 22;
constexpr uint32_t MOST_STRETCHES = 256;

/* The least that the CPU gets of a document. */
constexpr uint32_t LEAST_PIECE = 4096;

/* Hands over what host_job says. */
bool
submit(PpJsonScan *s)
{
	s->host_first = false;
	s->left = 0;
	s->slot[s->current].phase = PP_JSON_HOST;
	return s->spec->host->submit(s->host, &s->host_job) || pp_frame_no_memory(s);
}

}								/* namespace */

uint32_t	pp_json_stretch = 1u << 18;

uint32_t
pp_json_behind_line(const PpJob *job, uint32_t at)
{
	const void *nl = at < job->len ? memchr(job->text + at, '\n', job->len - at) : nullptr;

	return nl != nullptr ? (uint32_t) (static_cast<const uint8_t *>(nl) - job->text) + 1 : job->len;
}

bool
pp_json_start_piece(PpJsonScan *s, uint32_t from, uint32_t bytes)
{
	const PpJob *job = &s->slot[s->current].job;
	const uint32_t least = pp_json_stretch < LEAST_PIECE ? pp_json_stretch : LEAST_PIECE;

	if (bytes < least)
		bytes = least;
	s->host_job = *job;
	s->host_job.begin = from;
	if (job->len - from > bytes)
	{
		s->host_job.len = from + bytes;
		s->host_job.last = false;
	}
	if (!s->host_resumes)
		s->spec->host_enter(s->host, s->place);
	return submit(s);
}

bool
pp_json_start_host(PpJsonScan *s, uint32_t from, uint32_t bytes)
{
	const PpJob *job = &s->slot[s->current].job;
	uint32_t	to = from;

	if (s->documents)
		return pp_json_start_piece(s, from, bytes);
	/* at least one line that is not blank */
	while (to < job->len && pp_json_space(job->text[to]))
		to++;
	if (bytes > 0 && to - from < bytes)
		to = job->len - from > bytes ? from + bytes : job->len;
	s->host_job = *job;
	s->host_job.begin = from;
	s->host_job.len = pp_json_behind_line(job, to);
	if (s->host_job.len < job->len)
		s->host_job.last = false;
	return submit(s);
}

bool
pp_json_start_whole(PpJsonScan *s)
{
	const PpJsonSlot *t = &s->slot[s->current];

	s->host_job = t->job;
	s->host_job.begin = t->first;
	if (s->documents && !s->host_resumes)
		s->spec->host_enter(s->host, s->place);
	return submit(s);
}

void
pp_json_note_refused(PpJsonScan *s, uint32_t bytes)
{
	if (bytes >= CLOSE)
		s->stretch = 0;
	else
		s->stretch = s->stretch == 0 ? pp_json_stretch :
			s->stretch < MOST_STRETCHES * pp_json_stretch ? 2 * s->stretch : s->stretch;
}

PpPoll
pp_json_poll_host(PpJsonScan *s, const PpBatch **batch, const char **message)
{
	PpJsonSlot *t = &s->slot[s->current];
	const PpBatch *from;
	PpPoll		p = s->spec->host->poll(s->host, &from, message);

	if (p == PP_POLL_FAILED)
	{
		(void) pp_frame_no_memory(s);
		*message = "out of memory";
	}
	if (p != PP_POLL_DONE)
		return p;
	if (s->documents)
	{
		s->host_resumes = from->stop == PP_STOP_MORE;
		if (s->host_resumes && s->host_job.len < t->job.len && from->nrecords == 0 &&
			from->next == s->host_job.begin)
		{
			/* a record that is longer: as much again, and more */
			const uint32_t had = s->host_job.len - s->host_job.begin;

			s->spec->host->release(s->host);
			t->phase = PP_JSON_IDLE;
			if (!pp_json_start_piece(s, s->host_job.begin, had > UINT32_MAX / 4 ? UINT32_MAX : 4 * had))
			{
				*message = "out of memory";
				return PP_POLL_FAILED;
			}
			return PP_POLL_PENDING;
		}
	}
	t->batch = *pp_json_batch(from);
	/* what it had was whole lines: more follow, but for the device */
	if (t->batch.batch.stop == PP_STOP_MORE && s->host_job.len < t->job.len)
	{
		t->batch.batch.stop = PP_STOP_FULL;
		s->host_resumes = false;
	}
	s->left = 0;
	if (from->stop != PP_STOP_MORE)
		s->left = s->host_job.len - (from->stop == PP_STOP_SYNTAX ? from->bad_next : from->next);
	pp_json_note_read(s, &t->batch.batch);
	*batch = &t->batch.batch;
	return p;
}
