/*
 * src/parse/cpu/backend.c
 *	  The CPU backend: the automaton, byte by byte, is the reference; the
 *	  kernels of a SIMD level (kernel.h) only take short cuts.  With the level
 *	  "scalar" none is taken.
 *
 * A job goes through two phases.  The structure phase runs the automaton over
 * the text and lists where fields end, up to max_records whole records.  The
 * conversion phase fills one projected column after the other; columns that
 * filters look at come first, and what follows is done for the records that
 * passed.  Both work in slices, one slice a poll.
 *
 * With a chunk size, the structure phase proceeds as ParPaRaw does: each
 * chunk's transition vector, an exclusive scan for the start states, counts a
 * chunk, exclusive scans of record and column offsets, then an independent
 * pass over every chunk.  Without one a slice is a single chunk whose start
 * is known, and the scans are trivial.
 *
 * Here is the interface; structure.c and convert.c hold the two phases.
 *
 * Owns the list of field ends, the columns and the arena; reads the job's
 * text and never writes it.
 */
#include <string.h>

#include "cpu_scan.h"

/* Text a poll looks at in chunks: less, because their lists are larger. */
#define CHUNKED_SLICE_BYTES	(1u << 16)

static void
scalar_close(PpBackendScan *s)
{
	PpAlloc		a;

	if (!s)
		return;
	a = s->spec->alloc;
	for (uint32_t c = 0; s->data && c < s->spec->ncolumns; c++)
	{
		a.release(a.ctx, s->data[c].value);
		a.release(a.ctx, s->data[c].state);
	}
	a.release(a.ctx, s->data);
	a.release(a.ctx, s->end_storage);
	a.release(a.ctx, s->resume_end);
	a.release(a.ctx, s->scratch);
	a.release(a.ctx, s->work);
	a.release(a.ctx, s->selected);
	pp_arena_destroy(&s->arena);
	a.release(a.ctx, s);
}

static PpBackendScan *
scalar_open(const PpScanSpec *spec)
{
	const PpAlloc *a = &spec->alloc;
	PpBackendScan *s = a->alloc(a->ctx, sizeof(*s));
	size_t		entries;

	if (!s)
		return NULL;
	memset(s, 0, sizeof(*s));
	s->spec = spec;
	s->width = spec->nfields > 0 ? spec->nfields : 1;
	pp_arena_init(&s->arena, a);
	s->kernels = pp_kernels((PpSimd) spec->simd);
	if (!s->kernels)
		s->kernels = &pp_kernels_scalar;
	s->parity = s->kernels->structure && spec->nfields > 0 &&
		pp_dialect_is_parity(&spec->dialect);
	s->plain_numbers = pp_cpu_numbers_are_plain(spec);
	s->plain_timestamps = pp_cpu_timestamps_are_plain(spec);
	entries = 1 + ((size_t) spec->max_records + 1) * s->width + PP_STRUCTURE_SLACK;
	s->end_storage = a->alloc(a->ctx, entries * sizeof(uint32_t));
	s->resume_end = a->alloc(a->ctx, s->width * sizeof(uint32_t));
	if (spec->ncolumns > 0)
		s->data = a->alloc(a->ctx, spec->ncolumns * sizeof(PpColumnData));
	if (!s->end_storage || !s->resume_end || (spec->ncolumns > 0 && !s->data))
	{
		/* without its columns there is nothing in data to be freed */
		a->release(a->ctx, s->data);
		s->data = NULL;
		scalar_close(s);
		return NULL;
	}
	s->end = s->end_storage + 1;
	for (uint32_t c = 0; c < spec->ncolumns; c++)
		s->data[c].value = NULL, s->data[c].state = NULL;
	if (!pp_cpu_plan_work(s))
	{
		scalar_close(s);
		return NULL;
	}
	return s;
}

static bool
scalar_submit(PpBackendScan *s, const PpJob *job)
{
	s->job = *job;
	memset(&s->batch, 0, sizeof(s->batch));
	s->nrecords = 0;
	s->record = s->pos = job->begin;
	s->state = s->spec->dfa.start;
	s->nfields = 0;
	s->quotes = false;
	s->done = s->row = 0;
	s->long_text = NULL;
	s->filtered = false;
	/* one behind the line end that would have ended the record before */
	s->end[-1] = job->begin - s->spec->dfa.eol_len;
	if (s->resume)
	{
		s->resume = false;
		s->pos += s->resume_scanned;
		s->state = s->resume_state;
		s->nfields = s->resume_nfields;
		s->quotes = s->resume_quotes;
		for (uint32_t i = 0; i < s->nfields && i < s->width; i++)
			s->end[i] = s->resume_end[i] + s->record;
	}
	s->phase = PHASE_STRUCTURE;
	return true;
}

static PpPoll
failed(PpBackendScan *s, const char **message)
{
	s->phase = PHASE_IDLE;
	*message = "out of memory";
	return PP_POLL_FAILED;
}

static PpPoll
scalar_poll(PpBackendScan *s, const PpBatch **batch, const char **message)
{
	if (s->phase == PHASE_STRUCTURE)
	{
		bool		chunked = s->spec->chunk_size > 0;
		uint32_t	slice = chunked ? CHUNKED_SLICE_BYTES : SLICE_BYTES;
		uint32_t	to = s->job.len - s->pos < slice ? s->job.len : s->pos + slice;
		bool		go = true;

		if (chunked && to - s->pos > s->spec->chunk_size)
		{
			SliceEnd	e = pp_cpu_structure_chunked(s, to);

			if (e == SLICE_NO_MEMORY)
				return failed(s, message);
			go = e == SLICE_GO_ON;
		}
		else
			go = pp_cpu_structure_slice(s, to);
		if (go && s->pos < s->job.len)
			return PP_POLL_PENDING;
		if (go)
			pp_cpu_structure_end(s);
		if (s->spec->ncolumns > 0 && !pp_cpu_reserve_rows(s, s->nrecords))
			return failed(s, message);
		s->phase = PHASE_CONVERT;
		return PP_POLL_PENDING;
	}

	if (s->phase == PHASE_CONVERT)
	{
		if (s->nrecords > 0 && s->done < s->nwork)
		{
			const Work *work = &s->work[s->done];

			if (work->filter)
			{
				pp_cpu_apply_filter(s, &s->spec->filter[work->number]);
				s->done++;
			}
			else
			{
				s->column = work->number;
				switch (pp_cpu_convert_column(s))
				{
					case CONVERT_NO_MEMORY:
						return failed(s, message);
					case CONVERT_DONE:
						s->done++;
						s->row = 0;
						break;
					case CONVERT_SLICE:
						break;
				}
			}
			if (s->done < s->nwork)
				return PP_POLL_PENDING;
		}
		s->phase = PHASE_DONE;
	}

	s->batch.text = s->job.text;
	s->batch.nrecords = s->nrecords;
	s->batch.width = s->width;
	s->batch.eol_len = s->spec->dfa.eol_len;
	s->batch.end = s->end;
	s->batch.ncolumns = s->spec->ncolumns;
	s->batch.column = s->data;
	s->batch.quotes = s->quotes;
	s->batch.selected = s->filtered ? s->selected : NULL;
	s->batch.nselected = s->filtered ? s->nselected : s->nrecords;
	s->batch.next = s->record;
	*batch = &s->batch;
	return PP_POLL_DONE;
}

static void
scalar_release(PpBackendScan *s)
{
	s->phase = PHASE_IDLE;
	pp_arena_reset(&s->arena);
}

const PpBackend pp_backend_scalar = {
	sizeof(PpBackend),
	PP_BACKEND_VERSION,
	"cpu",
	scalar_open,
	scalar_submit,
	scalar_poll,
	scalar_release,
	scalar_close,
	NULL
};
