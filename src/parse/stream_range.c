/*
 * src/parse/stream_range.c
 *	  The steps of a stream that goes over ranges of its input: surveying one,
 *	  finding its first record and where its last one ends.
 *
 * A ranged stream's text is that of one range from its first byte on, and of
 * what stands behind the range's end as far as its last record reaches:
 *
 *		text: [ .. | begin .. valid | valid .. stop | .. cut | .. filled ]
 *
 * cut ends the range's last record, and is the first line end behind stop (of
 * JSON documents, the first separator); it is found by the state there alone,
 * and nothing behind it is parsed.
 *
 * Must not read, verify or parse: that is stream.c's, as for any stream.
 */
#include "stream_private.h"

#include <string.h>

#include "json/json_range.h"

#define SURVEY_SLICE	(1u << 23)	/* bytes of a range surveyed a step */

/*
 * Surveys the range that was read.  What lies behind it is looked at for an
 * end-of-data marker that starts at its end.  Lines of JSON are outside of
 * quotes wherever they begin, so only their number counts.
 */
PpStep
pp_stream_survey(PpStream *s)
{
	const PpDialect *d = &s->spec.scan.dialect;
	size_t		left;

	if (s->filled < s->stop + PP_RANGE_AHEAD && !s->eof)
	{
		s->phase = PHASE_FILL;
		return PP_STEP_AGAIN;
	}
	if (s->stop > s->filled)
		s->stop = s->filled;
	left = s->stop - s->looked;
	if (left > SURVEY_SLICE)
		left = SURVEY_SLICE;
	if (s->spec.lines)
		s->effect.lines += pp_stream_count_lines(s, s->text + s->looked, left, '\n');
	else if (s->spec.documents)
	{
		s->effect.tail = pp_stream_column_behind(s, s->text + s->looked, left,
												 s->effect.tail, &s->effect.lines);
		pp_json_effect_add(&s->effect.json, s->kernels, s->text + s->looked, left);
	}
	else
		pp_range_survey(d, s->kernels, s->line_char, s->text + s->looked, left, &s->effect);
	s->looked += left;
	if (s->looked < s->stop)
		return PP_STEP_AGAIN;
	s->effect.marker = !pp_stream_is_json(s) && d->end_marker &&
		(s->effect.marker || (s->stop < s->filled && s->text[s->stop] == '\\')) &&
		pp_range_marker(d, s->kernels, s->search.eol, s->text, s->stop, s->filled,
						PP_QUOTINGS);
	if (!s->at_record || s->base == 0)
	{
		/* one that is gone on with was counted before */
		s->stats.bytes += s->stop;
		s->stats.partitions++;
	}
	s->phase = PHASE_EFFECT;
	return PP_STEP_EFFECT;
}

/*
 * Search for the first place in text[*pos .. to) behind which a record starts:
 * as pp_range_line_end().
 */
static size_t
record_start(const PpStream *s, size_t *pos, size_t to, PpRangeState *state)
{
	const uint8_t *found;

	if (s->spec.documents)
	{
		size_t		at = pp_json_separator(s->text, pos, to, state);

		if (at > 0)
			*pos = at;
		return at;
	}
	if (!s->spec.lines)
		return pp_range_line_end(&s->spec.scan.dialect, s->kernels, s->search.eol,
								 s->text, pos, to, &state->quoting);
	found = *pos < to ? (const uint8_t *) memchr(s->text + *pos, '\n', to - *pos) : NULL;
	*pos = to;
	return found ? (size_t) (found - s->text) + 1 : 0;
}

/* The state at the range's start is known: which record is its first? */
PpStep
pp_stream_first_record(PpStream *s)
{
	size_t		begin = 0;

	if (!s->at_record)
	{
		size_t		to = s->stop - s->looked > SURVEY_SLICE ? s->looked + SURVEY_SLICE : s->stop;

		begin = record_start(s, &s->looked, to, &s->state);
		if (begin == 0)
		{
			if (s->looked < s->stop)
				return PP_STEP_AGAIN;
			s->phase = PHASE_END;
			return PP_STEP_END;
		}
	}
	else if (pp_stream_is_json(s) && s->base == 0 && s->filled >= 3 &&
			 (!s->spec.json.charset || s->spec.json.charset->utf8) &&
			 memcmp(s->text, "\xef\xbb\xbf", 3) == 0 && !PP_MUTATED(json_mark_kept))
	{
		begin = 3;
		if (s->stop < begin)
			s->stop = begin;
	}
	if (s->spec.documents)
		s->column = pp_stream_column_behind(s, s->text, begin, s->column, &s->lines);
	else
		s->lines += pp_stream_count_lines(s, s->text, begin, s->line_char);
	s->behind = s->state.behind;
	s->enter = true;
	s->begin = s->counted = s->valid = begin;
	s->phase = PHASE_FED;
	return PP_STEP_AGAIN;
}

/*
 * Looks for the end of the range's last record in what was read.  Behind it
 * nothing counts, but COPY looks behind a '\r' for another character first.
 */
void
pp_stream_find_cut(PpStream *s)
{
	bool		cr = s->search.eol == PP_EOL_CR;
	size_t		limit;

	if (s->cut == 0)
		s->cut = record_start(s, &s->cut_looked, s->filled, &s->cut_state);
	if (s->cut == 0 || (cr && !s->eof && s->filled < s->cut + PP_RANGE_AHEAD))
		return;
	limit = s->cut + (cr ? PP_RANGE_AHEAD : 0);
	if (s->filled > limit && !s->spec.documents)
	{
		s->filled = limit;
		s->eof = false;
	}
	s->bounded = true;
}

const PpEolSearch *
pp_stream_layout(const PpStream *s)
{
	return &s->search;
}

bool
pp_stream_set_layout(PpStream *s, const PpEolSearch *layout)
{
	s->search = *layout;
	s->phase = PHASE_LAYOUT;
	return pp_stream_begin_parsing(s);
}

bool
pp_stream_range(PpStream *s, uint64_t start, uint64_t end, bool at_record)
{
	pp_stream_release_batch(s);
	if (s->resumable)
	{
		/* of a record that is not gone on with */
		s->spec.backend->close(s->scan);
		s->scan = s->spec.backend->open(&s->spec.scan);
		if (!s->scan)
		{
			(void) pp_stream_fail(s, "out of memory");
			return false;
		}
		s->resumable = false;
	}
	s->begin = s->counted = s->valid = s->filled = 0;
	s->eof = s->invalid = false;
	s->entered = s->bounded = false;
	s->at_record = at_record;
	s->base = start;
	/* between documents, a record may be left behind the range's end */
	s->stop = end > start ? (size_t) (end - start) : 0;
	s->looked = 0;
	memset(&s->effect, 0, sizeof(s->effect));
	s->effect.vector = PP_VEC_IDENTITY;
	s->effect.documents = s->spec.documents;
	pp_json_effect_init(&s->effect.json);
	s->cut = 0;
	s->phase = PHASE_FILL;
	return true;
}

const PpEffect *
pp_stream_effect(const PpStream *s)
{
	return &s->effect;
}

bool
pp_stream_data_ends(const PpStream *s, PpQuoting state)
{
	return s->effect.marker &&
		pp_range_marker(&s->spec.scan.dialect, s->kernels, s->search.eol,
						s->text, s->stop, s->filled, state);
}

void
pp_stream_enter(PpStream *s, const PpRangeState *state)
{
	s->entered = true;
	s->in_first = s->at_record && s->base == 0 && !pp_stream_is_json(s);
	s->lines = state->lines;
	s->column = state->column;
	if (!s->in_first && s->line_char == '\n')
		s->lines += s->search.quoted_cr - s->search.quoted_nl;
	s->looked = 0;
	s->state = *state;
	s->cut_looked = s->stop;
	s->cut_state = pp_range_apply(&s->effect, *state);
	s->phase = PHASE_ENTER;
}

void
pp_stream_place(const PpStream *s, int64_t r, uint64_t *offset, PpRangeState *state)
{
	const PpRangeState start = PP_RANGE_START;
	const PpBatch *b = s->batch;
	size_t		at = s->begin;

	*state = start;
	state->behind = s->behind;
	if (r > 0)
	{
		at = b->end[(size_t) r * b->width - 1] + b->eol_len;
		state->behind = s->text[at - 1];
	}
	*offset = s->base + at;
	state->lines = s->lines;
	if (s->spec.documents)
	{
		state->array = state->behind == ',' || state->behind == '[';
		state->depth = state->array;
		state->column = pp_stream_column_behind(s, s->text + s->counted, at - s->counted,
												s->column, &state->lines);
		return;
	}
	state->lines += pp_stream_count_lines(s, s->text + s->counted, at - s->counted, s->line_char);
	if (!s->in_first && s->line_char == '\n')
		state->lines -= s->search.quoted_cr - s->search.quoted_nl;
}
