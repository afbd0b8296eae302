/*
 * src/parse/stream_ahead.c
 *	  Reading on while a backend works.
 *
 * While a backend that can make use of it works on the text, what follows is
 * read into a spare buffer, behind the few bytes that are not parsed yet:
 *
 *		spare: [ room for the rest of a record | ahead .. | .. ahead_filled ]
 *
 * The buffers then change places, once what the batch left has been copied in
 * front.  Only a long rest is not: what was read is appended to it instead, so
 * that the time stays linear.
 *
 * Owns the spare buffer.  Must not touch the text, which the backend has, but to
 * copy from it; what a batch left is moved only once the batch is released.
 */
#include "stream_private.h"

#include <string.h>

#include "utf8.h"

/* Bytes of a record that are moved in front of what was read ahead. */
#ifndef PP_HEADROOM
#define PP_HEADROOM		(1u << 16)
#endif

/* Bytes of p, from `from` on, up to where they are known to be valid text. */
static size_t
verified(const PpStream *s, const uint8_t *p, size_t from, size_t to, bool eof, bool *invalid)
{
	if (s->spec.verify == PP_VERIFY_NUL)
	{
		from += pp_nul_free_prefix(p + from, to - from);
		*invalid = from < to;
	}
	else
	{
		from += s->kernels->utf8_valid_prefix(p + from, to - from);
		*invalid = to - from >= 4 || (to > from && (eof || p[from] == 0));
	}
	return from;
}

/*
 * Asks for the bytes behind the text that was submitted.  Few of those are not
 * a part of it: a '\r' that waits, an incomplete character.
 */
PpStep
pp_stream_read_ahead(PpStream *s)
{
	size_t		want = pp_stream_read_size(s);
	size_t		tail = s->filled - s->parsed;
	size_t		need = PP_HEADROOM + want;

	s->ahead_state = AHEAD_NONE;
	if (tail > PP_HEADROOM)
		return PP_STEP_AGAIN;
	if (s->spare_capacity < need)
	{
		pp_stream_buffer_free(s, s->spare, s->spare_capacity);
		s->spare_capacity = 0;
		if (need < PP_HEADROOM + s->spec.partition_size)
			need = PP_HEADROOM + s->spec.partition_size;
		s->spare = pp_stream_buffer_alloc(s, need);
		if (!s->spare)
			return pp_stream_fail(s, "out of memory");
		s->spare_capacity = need;
	}
	s->ahead_read = s->ahead_filled = PP_HEADROOM;
	s->ahead = s->ahead_valid = PP_HEADROOM - tail;
	memcpy(s->spare + s->ahead, s->text + s->parsed, tail);
	s->request.dst = s->spare + s->ahead_read;
	s->request.want = want;
	s->ahead_state = AHEAD_READING;
	return PP_STEP_READ;
}

/* Verifies a slice of it; once all is, lets the backend have it. */
PpStep
pp_stream_give_ahead(PpStream *s)
{
	size_t		to = s->ahead_filled;
	bool		eof = s->ahead_eof;
	size_t		limit;

	if (to - s->ahead_valid > VERIFY_SLICE)
	{
		to = s->ahead_valid + VERIFY_SLICE;
		eof = false;
	}
	s->ahead_valid = verified(s, s->spare, s->ahead_valid, to, eof, &s->ahead_invalid);
	if (to < s->ahead_filled && !s->ahead_invalid)
		return PP_STEP_AGAIN;

	limit = s->ahead_valid;
	if (limit > s->ahead && s->spare[limit - 1] == '\r' &&
		(s->ahead_invalid || !s->ahead_eof || limit < s->ahead_filled))
		limit--;
	(void) s->spec.backend->ahead(s->scan, s->spare + s->ahead,
								  (uint32_t) (limit - s->ahead),
								  s->ahead_eof && limit == s->ahead_filled);
	s->ahead_state = AHEAD_GIVEN;
	return PP_STEP_AGAIN;
}

/* The text is used up but for [begin, parsed): go on with what was read ahead. */
PpStep
pp_stream_take_ahead(PpStream *s)
{
	size_t		rest = s->parsed - s->begin;
	uint8_t    *text = s->text;
	size_t		capacity = s->capacity;

	if (rest > s->ahead)
	{
		s->phase = PHASE_APPEND;
		return PP_STEP_AGAIN;
	}
	pp_stream_settle_lines(s);
	memcpy(s->spare + s->ahead - rest, s->text + s->begin, rest);
	s->begin = s->counted = s->ahead - rest;
	s->valid = s->ahead_valid;
	s->filled = s->ahead_filled;
	s->eof = s->ahead_eof;
	s->invalid = s->ahead_invalid;
	s->text = s->spare;
	s->capacity = s->spare_capacity;
	s->spare = text;
	s->spare_capacity = capacity;
	s->ahead_state = AHEAD_NONE;
	s->phase = PHASE_PARSE;
	return PP_STEP_AGAIN;
}

PpStep
pp_stream_append_ahead(PpStream *s)
{
	size_t		n = s->ahead_filled - s->ahead_read;
	PpRoom		room = pp_stream_make_room(s, n);

	if (room != ROOM)
		return room == ROOM_LATER ? PP_STEP_AGAIN : pp_stream_fail(s, "out of memory");
	if (n > COPY_SLICE)
		n = COPY_SLICE;
	memcpy(s->text + s->filled, s->spare + s->ahead_read, n);
	s->filled += n;
	s->ahead_read += n;
	if (s->ahead_read < s->ahead_filled)
		return PP_STEP_AGAIN;
	s->eof = s->ahead_eof;
	s->ahead_state = AHEAD_NONE;
	s->ahead_copied = true;
	s->phase = PHASE_FED;
	return PP_STEP_AGAIN;
}
