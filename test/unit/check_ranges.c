/*
 * test/unit/check_ranges.c
 *	  Ranged streams against the model, see check_ranges.h.
 *
 * Plays the participants of a scan that is shared: who has a range surveys it
 * without knowing what is in front of it, and only then is told.  Must not
 * look inside the streams.
 */
#include "check_ranges.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS		3

typedef struct RangeCheck
{
	const EngineCase *c;
	const uint8_t *input;
	size_t		len;
	size_t		valid;
	UnitRandom	random;
	UnitHeap   *heap;
	EngineResult *result;
	RefFile    *file;
	size_t		next;			/* model record that is due */
	PpStreamSpec spec;
	PpStream   *stream[STREAMS];
	size_t		fed[STREAMS];	/* offset of what is read next */
	PpEolSearch layout;
	uint64_t	deferred_min;
	uint64_t	deferred_max;
	bool		leave;
} RangeCheck;

/* What became of a step, or a range. */
typedef enum Outcome
{
	GO_ON,
	RANGE_ENDS,					/* behind its last record */
	RANGE_LEFT,					/* on purpose, see left_* */
	INPUT_ENDS,					/* by an error */
	WRONG						/* the result says why, or: no memory */
} Outcome;

/* Where a range was left. */
typedef struct Left
{
	uint64_t	offset;
	PpRangeState state;
} Left;

static bool
differs(RangeCheck *k, const char *what, uint64_t is, uint64_t want)
{
	return check_differs(k->result, "record %zu of %zu: %s %" PRIu64 ", but %" PRIu64 " expected",
						 k->next, k->file->nrecords, what, is, want);
}

static void
feed(RangeCheck *k, int i)
{
	const PpRequest *q = pp_stream_request(k->stream[i]);
	size_t		n = k->len - k->fed[i];

	if ((k->c->feed & FEED_IDLE) && unit_once_in(&k->random, 4))
	{
		pp_stream_fed(k->stream[i], 0, false);
		return;
	}
	if (n > q->want)
		n = q->want;
	if ((k->c->feed & FEED_SHORT) && n > 1)
		n = 1 + unit_below(&k->random, (uint32_t) n);
	if (n > 0)
		memcpy(q->dst, k->input + k->fed[i], n);
	k->fed[i] += n;
	pp_stream_fed(k->stream[i], n, k->fed[i] == k->len);
}

static int
bad_of(RefEnd end)
{
	switch (end)
	{
		case REF_UNTERMINATED:
			return PP_BAD_UNTERMINATED;
		case REF_CR:
			return PP_BAD_CR;
		case REF_NL:
			return PP_BAD_NL;
		case REF_MARKER:
			return PP_BAD_MARKER;
		case REF_ENCODING:
			return PP_BAD_ENCODING;
		default:
			return -1;
	}
}

static Outcome
on_batch(RangeCheck *k, int i, bool leave, Left *left)
{
	PpStream   *stream = k->stream[i];
	const PpBatch *b = pp_stream_batch(stream);

	if (b->nrecords == 0 || b->nrecords > k->file->nrecords - k->next)
	{
		differs(k, "records in a batch", b->nrecords, k->file->nrecords - k->next);
		return WRONG;
	}
	if (!check_batch_records(k->c, b, k->file, k->next, k->input, &k->deferred_min,
							 &k->deferred_max, k->result))
		return WRONG;
	for (uint32_t r = 0; r < b->nrecords; r++)
	{
		const RefRecord *want = &k->file->record[k->next];

		if (!k->c->unlisted)
		{
			if (leave && want->start > 0 && unit_once_in(&k->random, 6))
			{
				pp_stream_place(stream, r, &left->offset, &left->state);
				if (left->offset == want->start)
					return RANGE_LEFT;
				differs(k, "starts at", left->offset, want->start);
				return WRONG;
			}
			if (pp_stream_line(stream, r) != want->line)
			{
				differs(k, "line", pp_stream_line(stream, r), want->line);
				return WRONG;
			}
		}
		k->next++;
		k->result->records++;
	}
	return GO_ON;
}

static Outcome
on_bad_record(RangeCheck *k, int i, bool leave, Left *left)
{
	const PpRecord *rec = pp_stream_record(k->stream[i]);
	const RefFile *f = k->file;

	if (rec->bad == PP_BAD_FIELDS)
	{
		const RefRecord *want = &f->record[k->next];

		if (k->next >= f->nrecords || !want->bad_fields)
			check_differs(k->result, "record %zu has a wrong number of fields", k->next);
		else if (rec->len != want->stop - want->start ||
				 (rec->len > 0 && memcmp(rec->text, k->input + want->start, rec->len) != 0))
			check_differs(k->result, "record of the wrong shape is %s, but %s expected",
						  unit_show(rec->text, rec->len),
						  unit_show(k->input + want->start, want->stop - want->start));
		else if (rec->line != want->line)
			differs(k, "of wrong shape: line", rec->line, want->line);
		else if (leave && want->start > 0 && unit_once_in(&k->random, 6))
		{
			pp_stream_place(k->stream[i], -1, &left->offset, &left->state);
			if (left->offset == want->start)
				return RANGE_LEFT;
			differs(k, "of wrong shape: starts at", left->offset, want->start);
		}
		else
		{
			k->next++;
			k->result->errors++;
			return GO_ON;
		}
		return WRONG;
	}
	if (k->next != f->nrecords || (int) rec->bad != bad_of(f->end))
	{
		check_differs(k->result, "error %d behind %zu of %zu records, %d expected there, at %zu",
					  (int) rec->bad, k->next, f->nrecords, bad_of(f->end), f->end_at);
		return WRONG;
	}
	if (rec->line != f->end_line)
	{
		differs(k, "error at line", rec->line, f->end_line);
		return WRONG;
	}
	if (leave && f->end_start > 0 && unit_once_in(&k->random, 2))
	{
		pp_stream_place(k->stream[i], -1, &left->offset, &left->state);
		if (left->offset == f->end_start)
			return RANGE_LEFT;
		differs(k, "error: starts at", left->offset, f->end_start);
		return WRONG;
	}
	k->result->errors++;
	return INPUT_ENDS;
}

/* Steps until something is to be decided; *step is what it is. */
static Outcome
steps(RangeCheck *k, int i, bool leave, Left *left, PpStep *step)
{
	uint64_t	limit = 2000 + 200 * (uint64_t) (k->len + 1);

	while (limit-- > 0)
	{
		Outcome		out = GO_ON;

		*step = pp_stream_step(k->stream[i]);
		switch (*step)
		{
			case PP_STEP_AGAIN:
				break;
			case PP_STEP_READ:
				feed(k, i);
				break;
			case PP_STEP_BATCH:
				out = on_batch(k, i, leave, left);
				break;
			case PP_STEP_BAD_RECORD:
				out = on_bad_record(k, i, leave, left);
				break;
			case PP_STEP_END:
				return RANGE_ENDS;
			case PP_STEP_FAILED:
				if (k->heap->failed)
					k->result->verdict = ENGINE_NO_MEMORY;
				else
					check_differs(k->result, "failed: %s", pp_stream_message(k->stream[i]));
				return WRONG;
			default:
				return GO_ON;
		}
		if (out != GO_ON)
			return out;
	}
	check_differs(k->result, "makes no progress");
	return WRONG;
}

/*
 * Behind the end of the input a range may hold anything, as its start state
 * may be wrong; but it must come to an end.
 */
static bool
run_anything(RangeCheck *k, int i, size_t start, size_t end, PpQuoting state)
{
	uint64_t	limit = 2000 + 200 * (uint64_t) (k->len + 1);
	PpRangeState enter = PP_RANGE_START;

	enter.quoting = state;
	if (!pp_stream_range(k->stream[i], start, end, false))
		return k->heap->failed || check_differs(k->result, "cannot be moved");
	k->fed[i] = start;
	while (limit-- > 0)
	{
		switch (pp_stream_step(k->stream[i]))
		{
			case PP_STEP_READ:
				feed(k, i);
				break;
			case PP_STEP_EFFECT:
				pp_stream_enter(k->stream[i], &enter);
				break;
			case PP_STEP_BAD_RECORD:
				if (pp_stream_record(k->stream[i])->bad == PP_BAD_FIELDS)
					break;
				return true;
			case PP_STEP_END:
				return true;
			case PP_STEP_FAILED:
				return k->heap->failed ||
					check_differs(k->result, "failed behind the end: %s", pp_stream_message(k->stream[i]));
			default:
				break;
		}
	}
	return check_differs(k->result, "makes no progress behind the end");
}

/* The one that finds the layout, and the others that are given it. */
static bool
open_streams(RangeCheck *k)
{
	Left		left;
	PpStep		step = PP_STEP_AGAIN;

	for (int i = 0; i < STREAMS; i++)
	{
		k->stream[i] = pp_stream_open(&k->spec);
		if (k->stream[i] == NULL ||
			(i > 0 && !pp_stream_set_layout(k->stream[i], &k->layout)))
		{
			if (k->heap->failed)
				k->result->verdict = ENGINE_NO_MEMORY;
			else
				check_differs(k->result, "cannot be opened");
			return false;
		}
		if (i > 0)
			continue;
		if (steps(k, 0, false, &left, &step) != GO_ON)
			return false;		/* an error in the first record, for one */
		if (step == PP_STEP_HEADER)
		{
			if (!k->file->has_header ||
				pp_stream_record(k->stream[0])->len != k->file->header.stop - k->file->header.start)
				return check_differs(k->result, "unexpected header");
			if (steps(k, 0, false, &left, &step) != GO_ON)
				return false;
		}
		else if (k->file->has_header)
			return check_differs(k->result, "no header");
		if (step != PP_STEP_LAYOUT)
			return check_differs(k->result, "step %d instead of the layout", (int) step);
		k->layout = *pp_stream_layout(k->stream[0]);
	}
	return true;
}

/* The range that the record starting at start belongs to. */
static size_t
range_of(const RangeCheck *k, size_t start)
{
	return start == 0 ? 0 : (start - 1) / k->c->partition;
}

static void
run_ranges(RangeCheck *k)
{
	const RefFile *f = k->file;
	size_t		size = k->c->partition;
	size_t		n = (k->len + size - 1) / size;
	PpRangeState state = PP_RANGE_START;
	uint64_t	bytes = 0;
	bool		over = !pp_stream_has_records(k->stream[0]);

	if (over && (f->nrecords > 0 || bad_of(f->end) >= 0))
	{
		check_differs(k->result, "no records");
		return;
	}
	for (size_t r = 0; r < n && !over; r++)
	{
		size_t		start = r * size;
		size_t		end = k->len - start < size ? k->len : start + size;
		int			i = (int) unit_below(&k->random, STREAMS);
		bool		at_record = r == 0 && !k->c->header;
		bool		again = false;
		bool		ends_here = range_of(k, f->end_start) == r;
		PpRangeState enter = state;
		Left		left = {start, state};
		Outcome		out = GO_ON;

		do
		{
			PpStep		step = PP_STEP_AGAIN;
			const PpEffect *e;

			if (!pp_stream_range(k->stream[i], left.offset, end, at_record))
			{
				if (k->heap->failed)
					k->result->verdict = ENGINE_NO_MEMORY;
				else
					check_differs(k->result, "cannot be moved");
				return;
			}
			k->fed[i] = (size_t) left.offset;
			out = steps(k, i, false, &left, &step);
			if (out == WRONG)
				return;
			if (step != PP_STEP_EFFECT)
			{
				check_differs(k->result, "step %d instead of the effect", (int) step);
				return;
			}
			e = pp_stream_effect(k->stream[i]);
			if (!again)
			{
				bool		marker = e->marker && pp_stream_data_ends(k->stream[i], enter.quoting);
				bool		want = f->end == REF_MARKER_END && ends_here && f->end_start > 0;

				/* behind an error it does not matter */
				if (marker != want && (bad_of(f->end) < 0 || range_of(k, f->end_start) > r))
				{
					check_differs(k->result, "range %zu: a marker is %s", r, marker ? "seen" : "missed");
					return;
				}
				over = marker;
				state = pp_range_apply(e, state);
				bytes += end - start;
			}
			pp_stream_enter(k->stream[i], &enter);
			/* a record that is left is never the first of the input */
			out = steps(k, i, k->leave, &left, &step);
			if (out == WRONG)
				return;
			if (out == GO_ON)
			{
				check_differs(k->result, "step %d within a range", (int) step);
				return;
			}
			if (out == RANGE_LEFT)
			{
				i = (int) unit_below(&k->random, STREAMS);
				at_record = again = true;
				enter = left.state;
			}
		} while (out == RANGE_LEFT);

		if (out == INPUT_ENDS)
		{
			if (!ends_here)
				check_differs(k->result, "range %zu has an error of range %zu", r, range_of(k, f->end_start));
			for (r++; r < n; r++)
				if (!run_anything(k, (int) unit_below(&k->random, STREAMS), r * size,
								  k->len - r * size < size ? k->len : (r + 1) * size,
								  (PpQuoting) unit_below(&k->random, k->c->dialect.escape == k->c->dialect.quote ?
														 PP_ESCAPED : PP_QUOTINGS)))
					return;
			return;
		}
		if (bad_of(f->end) >= 0 && ends_here)
		{
			check_differs(k->result, "range %zu misses error %d at %zu", r, bad_of(f->end), f->end_at);
			return;
		}
		/* exactly the range's records */
		if ((k->next < f->nrecords && range_of(k, f->record[k->next].start) <= r) ||
			(k->next > 0 && range_of(k, f->record[k->next - 1].start) > r))
		{
			check_differs(k->result, "range %zu ends in front of record %zu", r, k->next);
			return;
		}
	}
	if (k->next != f->nrecords || bad_of(f->end) >= 0)
		check_differs(k->result, "end behind %zu of %zu records, error %d expected there",
					  k->next, f->nrecords, bad_of(f->end));
	else
	{
		PpStreamStats sum;

		memset(&sum, 0, sizeof(sum));
		for (int i = 0; i < STREAMS; i++)
			sum.bytes += pp_stream_stats(k->stream[i]).bytes;
		if (sum.bytes != bytes)
			check_differs(k->result, "%" PRIu64 " bytes counted, but %" PRIu64 " expected",
						  sum.bytes, bytes);
	}
}

void
check_ranges(const EngineCase *c, const uint8_t *input, size_t len,
			 bool leave, UnitHeap *heap, EngineResult *result)
{
	RangeCheck	k;
	RefSpec		ref;

	memset(result, 0, sizeof(*result));
	memset(&k, 0, sizeof(k));
	k.c = c;
	k.input = input;
	k.len = len;
	k.valid = c->verify == PP_VERIFY_UTF8 ? ref_utf8_prefix(input, len) : ref_nul_prefix(input, len);
	k.random = c->seed;
	k.leave = leave;
	k.heap = heap;
	k.result = result;

	memset(&ref, 0, sizeof(ref));
	ref.dialect = c->dialect;
	ref.header = c->header;
	ref.whole = true;
	ref.nfields = c->nfields;
	ref.null_text = c->markers.null_text;
	ref.null_len = c->markers.null_len;
	k.file = ref_read(&ref, input, len, k.valid);
	result->end = k.file->end;

	k.spec.backend = c->backend;
	k.spec.scan.struct_size = sizeof(k.spec.scan);
	k.spec.scan.dialect = c->dialect;
	k.spec.scan.nfields = c->nfields;
	k.spec.scan.ncolumns = c->ncolumns;
	k.spec.scan.column = c->column;
	k.spec.scan.null_text = c->markers.null_text;
	k.spec.scan.null_len = c->markers.null_len;
	k.spec.scan.has_default = c->markers.has_default;
	k.spec.scan.default_text = c->markers.default_text;
	k.spec.scan.default_len = c->markers.default_len;
	k.spec.scan.env.charset = c->verify == PP_VERIFY_UTF8 ? PP_CHARSET_UTF8 : PP_CHARSET_SINGLE;
	k.spec.scan.unlisted = c->unlisted;
	k.spec.scan.max_records = c->max_records;
	k.spec.scan.chunk_size = c->chunk;
	k.spec.scan.simd = c->simd;
	k.spec.scan.alloc = unit_heap_alloc(heap);
	k.spec.header = c->header;
	k.spec.ranged = true;
	k.spec.partition_size = c->partition;
	k.spec.verify = c->verify;
	k.spec.max_char = 4;

	if (open_streams(&k))
		run_ranges(&k);
	for (int i = 0; i < STREAMS; i++)
		pp_stream_close(k.stream[i]);
	if (heap->live_blocks != 0 || heap->live_bytes != 0)
		check_differs(result, "%zu blocks of memory left behind", heap->live_blocks);
	ref_free(k.file);

}
