/*
 * src/parse/json/json_document.c
 *	  Documents of JSON to records: an outermost array is unpacked, any other
 *	  outermost value is a record.
 *
 * What stands between records is looked at here: the brackets of outermost
 * arrays, their commas, and white space.  A record is taken up right behind the
 * separator in front of it (see json_range.h); so is the next job, if this one's
 * text ends within a record.
 *
 * As for lines, windows of text go through the structure pass, and each
 * record's tokens through the shapes.  Where a record ends, its tokens tell: most
 * have as many as one before had, and if so many of them are a record that was
 * proven before, and what may stand behind one follows, that is where it ends.
 * Only else brackets are counted.  What is not accepted so goes to the
 * reference, record by record: its end is found by counting brackets, then it
 * is checked byte by byte.
 */
#include <string.h>

#include "json_scan.h"

/* As in json_backend.c. */
#ifndef PP_JSON_WINDOW
#define PP_JSON_WINDOW		(16u << 10)
#endif
#define PP_JSON_MAX_WINDOW	(16 * PP_JSON_WINDOW)

static const char byte_order_mark[3] = {'\xef', '\xbb', '\xbf'};

bool
pp_json_document_begin(JsonScan *js)
{
	PpBackendScan *s = &js->cpu;
	uint32_t	first = s->job.begin;
	uint32_t	len = s->job.len - first;

	js->limit = s->job.len;
	js->finding = false;
	if (js->resume && js->found <= len && js->first <= js->found)
	{
		/* they were kept from the record's separator on */
		js->finding = true;
		js->first += first;
		js->found += first;
	}
	js->resume = false;
	if (js->bom)
	{
		if (len >= 3 && memcmp(s->job.text + first, byte_order_mark, 3) == 0)
			first += 3;
		else if (len < 3 && !s->job.last && memcmp(s->job.text + first, byte_order_mark, len) == 0)
			js->limit = first;	/* it may be half of one */
	}
	s->record = s->pos = first;
	return s->spec->unlisted || pp_json_reserve_records(js, 1);
}

/*
 * The batch ends here.  s->pos is where the next job begins; what was found out
 * of the record behind it is kept.
 */
static SliceEnd
stop(JsonScan *js, PpStop why)
{
	PpBackendScan *s = &js->cpu;

	s->batch.stop = why;
	s->record = s->pos;
	if (why == PP_STOP_MORE && js->finding)
	{
		js->resume = true;
		js->first -= s->pos;
		js->found -= s->pos;
	}
	if (s->nrecords > 0 || s->pos != s->job.begin || why == PP_STOP_SYNTAX)
		js->bom = false;
	return SLICE_GO_ON;
}

static SliceEnd
fault(JsonScan *js, PpJsonFault what)
{
	js->batch.fault = what;
	js->cpu.batch.bad_end = what.offset;
	js->cpu.batch.bad_next = js->limit;
	return stop(js, PP_STOP_SYNTAX);
}

static SliceEnd
syntax(JsonScan *js, PpJsonReason reason, uint32_t offset)
{
	PpJsonFault what;

	memset(&what, 0, sizeof(what));
	what.code = PP_JSON_SYNTAX;
	what.reason = reason;
	what.offset = offset;
	return fault(js, what);
}

/* Goes on at next, behind a separator. */
static inline void
move(JsonScan *js, PpJsonPlace place, uint32_t next)
{
	js->place = place;
	js->cpu.pos = next;
}

/* The record behind the separator at pos ends at end; there is room for it. */
static inline void
count_record(JsonScan *js, uint32_t end)
{
	PpBackendScan *s = &js->cpu;

	if (!s->spec->unlisted)
	{
		uint32_t   *ends = s->end + 2 * (size_t) s->nrecords;

		ends[-1] = s->pos - 1;
		ends[0] = end;
	}
	s->nrecords++;
}

static inline bool
is_full(const JsonScan *js)
{
	return js->cpu.nrecords >= js->cpu.spec->max_records && js->cpu.pos < js->limit;
}

/*
 * The reference.
 */

static bool
ends_scalar(uint8_t c)
{
	return pp_json_space(c) || c == '"' || c == ',' || c == ':' || c == '[' || c == ']' ||
		c == '{' || c == '}';
}

/*
 * Looks for the end of the record that starts at first: js->found is behind it
 * then (of an element, behind what separates it from the next).  False: that
 * is not in front of to, which js->found is then.
 */
static bool
find_end(JsonScan *js, uint32_t to)
{
	const uint8_t *text = js->cpu.job.text;
	uint8_t		c = text[js->first];
	size_t		pos = js->found;
	size_t		at;

	if (js->place != PP_JSON_AT_TOP || c == '{')
	{
		at = pp_json_separator(text, &pos, to, &js->state);
		js->found = (uint32_t) (at > 0 ? at : to);
		return at > 0;
	}

	/* an outermost scalar, or no value at all, which one byte stands for */
	if (ends_scalar(c) && c != '"')
	{
		js->found = js->first + 1;
		return true;
	}
	if (c == '"')
	{
		for (; pos < to; pos++)
		{
			uint8_t		b = text[pos];

			if (js->state.quoting == PP_ESCAPED)
				js->state.quoting = PP_INSIDE;
			else if (b == '\\')
				js->state.quoting = PP_ESCAPED;
			else if (b == '"' && pos > js->first)
			{
				js->found = (uint32_t) pos + 1;
				return true;
			}
		}
	}
	else
		while (pos < to && !ends_scalar(text[pos]))
			pos++;
	js->found = (uint32_t) pos;
	return pos < to;
}

/* Takes up the record whose first byte that is. */
static void
begin_record(JsonScan *js, uint32_t first)
{
	const PpRangeState start = PP_RANGE_START;

	js->finding = true;
	js->first = js->found = first;
	js->state = start;
	if (js->place != PP_JSON_AT_TOP)
	{
		js->state.depth = 1;
		js->state.array = true;
	}
}

/* The record ends at line_end, and something of an array may follow. */
static SliceEnd
end_record(JsonScan *js)
{
	PpBackendScan *s = &js->cpu;
	uint32_t	end = js->line_end;
	bool		element = js->place != PP_JSON_AT_TOP;
	uint8_t		separator = end < js->found ? s->job.text[end] : 0;

	js->checking = false;
	if (js->check.fault.code != PP_JSON_OK)
	{
		PpJsonFault what = js->check.fault;

		if (element && what.reason == PP_JSON_WANT_END)
			what.reason = PP_JSON_WANT_COMMA_OR_BRACKET;
		return fault(js, what);
	}
	if (element && separator != ',' && separator != ']')
		return syntax(js, PP_JSON_WANT_COMMA_OR_BRACKET, end);
	if (!pp_json_reserve_records(js, 1))
		return SLICE_NO_MEMORY;
	for (uint32_t c = 0; c < s->spec->ncolumns; c++)
		js->range[c][s->nrecords] = js->check.walk.range[js->paths.column[c]];
	count_record(js, end);
	move(js, separator == ',' ? PP_JSON_AT_NEXT : PP_JSON_AT_TOP, js->found);
	if (is_full(js))
		return stop(js, PP_STOP_FULL);
	return SLICE_OVER;
}

/*
 * Goes on with the record at first.  SLICE_GO_ON: the batch is over.
 */
static SliceEnd
reference_record(JsonScan *js, uint32_t budget)
{
	PpBackendScan *s = &js->cpu;

	if (js->finding)
	{
		uint32_t	to = js->limit - js->found > budget ? js->found + budget : js->limit;
		bool		found = find_end(js, to);

		if (!found && to < js->limit)
			return SLICE_OVER;
		if (!found && !s->job.last)
			return stop(js, PP_STOP_MORE);
		js->finding = false;
		js->line_end = js->found;
		if (found && js->place != PP_JSON_AT_TOP)
		{
			js->line_end--;
			if (js->line_end == js->first)
				return syntax(js, js->place == PP_JSON_AT_FIRST ? PP_JSON_WANT_VALUE_OR_CLOSE :
							  PP_JSON_WANT_VALUE, js->first);
		}
		pp_json_check_begin(&js->check, s->job.text, js->first, js->line_end);
		js->checking = true;
	}
	switch (pp_json_check_step(&js->check, budget))
	{
		case PP_JSON_GO_ON:
			return SLICE_OVER;
		case PP_JSON_NO_MEMORY:
			return SLICE_NO_MEMORY;
		case PP_JSON_DONE:
			break;
	}
	return end_record(js);
}

/*
 * Windows.
 */

/* The bytes of w that are c have their upper bits set, and some above them. */
static inline uint64_t
bytes_equal(uint64_t w, uint8_t c)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	w ^= ones * c;
	return (w - ones) & ~w & (ones << 7);
}

/*
 * A place in text(from .. to] that, if it is outside of strings, no token
 * stands across: most likely a record's end.  to if there is none.
 */
static uint32_t
window_end(const uint8_t *text, uint32_t from, uint32_t to)
{
	const uint64_t lower = UINT64_C(0x2020202020202020);	/* ']' becomes '}' */
	uint64_t	w,
				before;
	uint32_t	p;

	for (p = to; p > from + 1; p--)
	{
		for (; p - from > 8; p -= 8)
		{
			memcpy(&w, text + p - 8, 8);
			memcpy(&before, text + p - 9, 8);
			if (bytes_equal(w, ',') & bytes_equal(before | lower, '}'))
				break;
		}
		if (p > from + 1 && text[p - 1] == ',' && (text[p - 2] == '}' || text[p - 2] == ']'))
			return p;
	}
	for (p = to; p > from; p--)
	{
		for (; p - from >= 8; p -= 8)
		{
			memcpy(&w, text + p - 8, 8);
			if (bytes_equal(w, '\n'))
				break;
		}
		if (p == from)
			break;
		if (text[p - 1] == '\n')
			return p;
	}
	for (p = to; p > from && text[p - 1] != ',' && text[p - 1] != '}'; p--)
		;
	return p > from ? p : to;
}

/* The same for certain: behind the last separator; 0 if there is none. */
static uint32_t
last_separator(const JsonScan *js, uint32_t to)
{
	const PpRangeState start = PP_RANGE_START;
	PpRangeState state = start;
	size_t		pos = js->cpu.pos;
	size_t		at;
	uint32_t	last = 0;

	if (js->place != PP_JSON_AT_TOP)
	{
		state.depth = 1;
		state.array = true;
	}
	while ((at = pp_json_separator(js->cpu.job.text, &pos, to, &state)) > 0)
	{
		last = (uint32_t) at;
		pos = at;
	}
	return last;
}

/* Of brackets' tokens, by the upper bits of their class. */
static const int8_t deeper[16] = {[PP_TOKEN_OBJECT >> 4] = 1,[PP_TOKEN_ARRAY >> 4] = 1,
[PP_TOKEN_OBJECT_END >> 4] = -1,[PP_TOKEN_ARRAY_END >> 4] = -1};

/* Is what follows token i what may stand behind an element? */
static inline bool
ends_element(const PpJsonTokens *t, uint32_t i)
{
	return t->cls[i] == PP_TOKEN_COMMA || t->cls[i] == PP_TOKEN_ARRAY_END;
}

/*
 * The values of the record at token i, an array or object, and how many tokens
 * it has; 0: it does not end in the window.  NULL: not accepted.
 */
static const PpJsonRange *
container(JsonScan *js, uint32_t i, uint32_t *tokens)
{
	const PpJsonTokens *t = &js->tokens;
	const uint8_t *text = js->cpu.job.text;
	int32_t		depth = 0;
	uint32_t	n;

	for (uint32_t k = 0; k < PP_JSON_RECENT; k++)
	{
		PpJsonShape *const *way;

		n = js->recent[k];
		if (n == 0 || n > PP_JSON_SHAPE_TOKENS || n >= t->n - i ||
			deeper[t->cls[i + n - 1] >> 4] >= 0 ||
			(js->place != PP_JSON_AT_TOP && !ends_element(t, i + n)))
			continue;
		way = js->shapes.way[n];
		for (uint32_t w = 0; w < PP_JSON_SHAPE_WAYS && way[w]; w++)
			if (pp_json_shape_is(way[w], text, t->pos + i, t->cls + i, n))
			{
				/* the most recent goes first, half way */
				js->recent[k] = js->recent[k / 2];
				js->recent[k / 2] = n;
				js->shapes.hits++;
				*tokens = n;
				return way[w]->value;
			}
	}
	for (n = 0; i + n < t->n; n++)
	{
		depth += deeper[t->cls[i + n] >> 4];
		if (depth <= 0)
			break;
	}
	*tokens = i + n < t->n ? n + 1 : 0;
	if (*tokens == 0)
		return NULL;
	n = *tokens;
	memmove(js->recent + 1, js->recent, (PP_JSON_RECENT - 1) * sizeof(js->recent[0]));
	js->recent[0] = n;
	return pp_json_shape(&js->shapes, text, t->pos + i, t->cls + i, n);
}

/* The values' places, from tokens to bytes. */
static inline void
take_values(JsonScan *js, const PpJsonRange *value, const uint32_t *pos)
{
	PpBackendScan *s = &js->cpu;
	const uint8_t *text = s->job.text;

	for (uint32_t c = 0; c < s->spec->ncolumns; c++)
	{
		PpJsonRange *range = &js->range[c][s->nrecords];

		if (value[c].end == 0)
			range->start = range->end = 0;
		else
		{
			uint32_t	end = pos[value[c].end];

			while (pp_json_space(text[end - 1]))
				end--;
			range->start = pos[value[c].start];
			range->end = end;
		}
	}
}

typedef enum WindowEnd
{
	WINDOW_DONE,				/* to be gone on with at pos */
	WINDOW_SHORT,				/* no record ends in it */
	WINDOW_ODD,					/* not accepted as a whole */
	WINDOW_REFERENCE,			/* what is at pos is for the reference */
	WINDOW_FULL,
	WINDOW_NO_MEMORY
} WindowEnd;

/* Records of text[pos .. to). */
static WindowEnd
window(JsonScan *js, uint32_t to)
{
	PpBackendScan *s = &js->cpu;
	PpJsonTokens *t = &js->tokens;
	const uint8_t *text = s->job.text;
	uint32_t	from = s->pos;
	uint32_t	flags;
	uint32_t	i = 0;

	if (!pp_json_reserve_tokens(js, to - from < PP_JSON_WINDOW ? PP_JSON_WINDOW : to - from))
		return WINDOW_NO_MEMORY;
	flags = js->kernels->tokens(t, text, from, to);
	t->pos[t->n] = to;
	t->cls[t->n] = PP_TOKEN_LINE;
	if (!pp_json_tokens_valid(js, from, to, flags))
		return WINDOW_ODD;

	while (i < t->n)
	{
		const PpJsonRange *value;
		uint8_t		cls = t->cls[i];
		uint32_t	n = 1;
		bool		element = js->place != PP_JSON_AT_TOP;

		if (!element && cls == PP_TOKEN_ARRAY)
		{
			move(js, PP_JSON_AT_FIRST, t->pos[i++] + 1);
			continue;
		}
		if (js->place == PP_JSON_AT_FIRST && cls == PP_TOKEN_ARRAY_END)
		{
			move(js, PP_JSON_AT_TOP, t->pos[i++] + 1);
			continue;
		}
		if (cls == PP_TOKEN_OBJECT || cls == PP_TOKEN_ARRAY)
		{
			value = container(js, i, &n);
			if (n == 0)
				break;
		}
		else if (!element || i + 1 == t->n)
		{
			/* outermost scalars are rare, and what may be cut waits */
			if (!element)
				js->reference_to = to;
			break;
		}
		else
			value = pp_json_shape(&js->shapes, text, t->pos + i, t->cls + i, 1);
		if (element && i + n == t->n)
			break;
		if (!value || (element && !ends_element(t, i + n)))
			return WINDOW_REFERENCE;
		if (!pp_json_reserve_records(js, 1))
			return WINDOW_NO_MEMORY;
		take_values(js, value, t->pos + i);
		if (!element)
		{
			count_record(js, t->pos[i + n - 1] + 1);
			move(js, PP_JSON_AT_TOP, t->pos[i + n - 1] + 1);
		}
		else
		{
			count_record(js, t->pos[i + n]);
			move(js, t->cls[i + n] == PP_TOKEN_COMMA ? PP_JSON_AT_NEXT : PP_JSON_AT_TOP,
				 t->pos[i + n] + 1);
			n++;
		}
		i += n;
		if (PP_UNLIKELY(is_full(js)))
			return WINDOW_FULL;
	}
	if (i == t->n && js->place == PP_JSON_AT_TOP)
		s->pos = to;			/* but white space */
	return s->pos > from ? WINDOW_DONE : WINDOW_SHORT;
}

/*
 * Windows from pos on.  SLICE_GO_ON: the batch is over; SLICE_OVER: go on, by
 * the reference if pos is still in front of reference_to.
 */
static SliceEnd
windows(JsonScan *js)
{
	PpBackendScan *s = &js->cpu;
	uint32_t	size = PP_JSON_WINDOW;

	for (;;)
	{
		bool		rest = js->limit - s->pos <= size;
		uint32_t	most = rest ? js->limit : s->pos + size;
		uint32_t	to = rest && s->job.last ? most : window_end(s->job.text, s->pos, most);
		WindowEnd	end = window(js, to);

		if (end == WINDOW_ODD && to < js->limit)
		{
			/* it may have ended within a string; most likely a larger one does not */
			if (!rest && size < PP_JSON_MAX_WINDOW)
				end = WINDOW_SHORT;
			else
			{
				to = last_separator(js, most);
				if (to > 0)
					end = window(js, to);
			}
		}
		switch (end)
		{
			case WINDOW_DONE:
				return SLICE_OVER;
			case WINDOW_FULL:
				return stop(js, PP_STOP_FULL);
			case WINDOW_NO_MEMORY:
				return SLICE_NO_MEMORY;
			case WINDOW_ODD:
				/* all of it, lest it be looked at again for each record */
				js->reference_to = to > s->pos ? to : s->pos + 1;
				return SLICE_OVER;
			case WINDOW_REFERENCE:
				js->reference_to = s->pos + 1;
				return SLICE_OVER;
			case WINDOW_SHORT:
				break;
		}
		if (js->reference_to > s->pos)
			return SLICE_OVER;
		if (rest || size >= PP_JSON_MAX_WINDOW)
		{
			js->reference_to = s->pos + 1;
			return SLICE_OVER;
		}
		size *= 4;
	}
}

SliceEnd
pp_json_document_slice(JsonScan *js)
{
	PpBackendScan *s = &js->cpu;
	const uint8_t *text = s->job.text;
	uint32_t	from = s->pos;

	for (;;)
	{
		uint32_t	at;
		SliceEnd	e;

		if (js->finding || js->checking)
		{
			uint32_t	pos = s->pos;

			e = reference_record(js, SLICE_BYTES);
			if (e != SLICE_OVER)
				return e;
			if (s->pos == pos || s->pos - from >= SLICE_BYTES)
				return SLICE_OVER;
			continue;
		}
		if (s->pos - from >= SLICE_BYTES)
			return SLICE_OVER;
		if (js->kernels && s->pos < js->limit && s->pos >= js->reference_to)
		{
			e = windows(js);
			if (e != SLICE_OVER)
				return e;
			continue;
		}

		/* by hand: to the record behind the separator */
		for (at = s->pos; at < js->limit && pp_json_space(text[at]); at++)
			;
		if (at == js->limit)
		{
			if (js->place == PP_JSON_AT_TOP)
				s->pos = at;
			if (!s->job.last)
				return stop(js, PP_STOP_MORE);
			if (js->place == PP_JSON_AT_TOP)
				return stop(js, PP_STOP_END);
			return syntax(js, js->place == PP_JSON_AT_FIRST ? PP_JSON_WANT_VALUE_OR_CLOSE :
						  PP_JSON_WANT_VALUE, at);
		}
		if (js->place == PP_JSON_AT_TOP && text[at] == '[')
			move(js, PP_JSON_AT_FIRST, at + 1);
		else if (js->place == PP_JSON_AT_FIRST && text[at] == ']')
			move(js, PP_JSON_AT_TOP, at + 1);
		else
			begin_record(js, at);
	}
}
