/*
 * src/parse/stream.c
 *	  The serial scan of one input: partitions in, batches out.
 *
 * One buffer holds the bytes that are not yet behind us:
 *
 *		text: [ consumed | begin .. valid | valid .. filled ]
 *
 * begin is the first byte of the first record that was not returned, valid
 * ends what is verified and may be parsed, filled ends what was read.  Before
 * a read the incomplete record is moved to the front if room is short, and
 * the buffer doubles if that is not enough, so a long record costs time
 * linear in its length.  Where bytes are transcoded they are read into a
 * second buffer, raw, whose rest (an incomplete character) is kept at its
 * front.
 *
 * Owns the buffers and the backend's scan; what is read ahead of a backend is
 * stream_ahead.c's, what concerns ranges stream_range.c's.  Calls neither the
 * reader nor the transcoder nor the verifier: see stream.h.
 */
#include "stream_private.h"

#include <string.h>

#include "utf8.h"

#define SEARCH_SLICE	(1u << 20)	/* bytes searched for a line end a step */
#define FIRST_PARTITION	UINT64_C(8192)	/* the next is four times as large ... */
#define TRANSCODE_SLICE	(1u << 20)	/* bytes transcoded a step */
#define OVERLAP			4096u	/* bytes behind a range's end that are read with it */

void *
pp_stream_buffer_alloc(PpStream *s, size_t size)
{
	const PpAlloc *a = &s->spec.scan.alloc;
	uint8_t    *p = a->alloc(a->ctx, size + PP_PAD);

	if (p)
	{
		memset(p + size, 0, PP_PAD);
		s->memory += size + PP_PAD;
		if (s->memory > s->stats.peak_memory)
			s->stats.peak_memory = s->memory;
	}
	return p;
}

void
pp_stream_buffer_free(PpStream *s, void *p, size_t size)
{
	const PpAlloc *a = &s->spec.scan.alloc;

	if (p)
		s->memory -= size + PP_PAD;
	a->release(a->ctx, p);
}

PpStep
pp_stream_fail(PpStream *s, const char *message)
{
	s->phase = s->retry = PHASE_FAILED;
	s->message = message;
	return PP_STEP_FAILED;
}

/* The same, by the backend, in the current phase or in the one given. */
static PpStep
backend_failed(PpStream *s, PpPhase retry, const char *message)
{
	(void) pp_stream_fail(s, message);
	s->retry = retry;
	return PP_STEP_FAILED;
}

/*
 * Bytes up to here may be parsed.  COPY looks behind a '\r' before it acts on
 * it, so an invalid character there comes first: the '\r' waits.
 */
static size_t
parse_limit(const PpStream *s)
{
	if (!pp_stream_is_json(s) && s->valid > s->begin && s->text[s->valid - 1] == '\r' &&
		(s->invalid || !s->eof || s->valid < s->filled || s->raw_pos < s->raw_len))
		return s->valid - 1;
	return s->valid;
}

/* Is what parse_limit() ends the whole rest of the input? */
static bool
is_last(const PpStream *s)
{
	return s->eof && s->cut == 0 && !s->invalid && s->valid == s->filled && s->raw_pos == s->raw_len;
}

void
pp_stream_settle_lines(PpStream *s)
{
	if (s->counted < s->begin && s->spec.documents)
		s->column = pp_stream_column_behind(s, s->text + s->counted, s->begin - s->counted,
											s->column, &s->lines);
	else if (s->counted < s->begin)
		s->lines += pp_stream_count_lines(s, s->text + s->counted, s->begin - s->counted,
										  s->line_char);
	s->counted = s->begin;
}

/* The line that byte pos of the record at begin stands in, from 1. */
static uint64_t
line_at(PpStream *s, size_t pos)
{
	uint8_t		c = s->in_first ? '\r' : s->line_char;

	pp_stream_settle_lines(s);
	if (pos == s->begin)
		return 1 + s->lines;	/* there may be no text at all */
	return 1 + s->lines + pp_stream_count_lines(s, s->text + s->begin, pos - s->begin, c);
}

/* Moves begin to next, a record's start. */
static void
advance(PpStream *s, size_t next)
{
	if (next == s->begin)
		return;
	if (s->in_first && next >= s->search.next_record)
	{
		/* Only now does COPY know which character counts. */
		if (s->line_char == '\n')
			s->lines += s->search.quoted_cr - s->search.quoted_nl;
		s->in_first = false;
	}
	s->begin = next;
	s->behind = s->text[next - 1];
}

/* The same, where it is known to be lines line characters ahead. */
static void
advance_lines(PpStream *s, size_t next, uint64_t lines)
{
	bool		known = s->counted == s->begin && next != s->begin;

	advance(s, next);
	if (!known)
		return;
	s->lines += lines;
	s->counted = next;
}

static PpStep
bad_record(PpStream *s, PpBad bad, size_t end, bool fatal)
{
	s->record.bad = bad;
	s->record.text = s->text + s->begin;
	s->record.len = (uint32_t) (end - s->begin);
	s->record.line = line_at(s, end);
	if (bad == PP_BAD_ENCODING)
	{
		bool		raw = s->spec.verify == PP_VERIFY_TRANSCODE;

		s->record.invalid = raw ? s->raw + s->raw_pos : s->text + s->valid;
		s->record.invalid_len = raw ? s->raw_len - s->raw_pos : s->filled - s->valid;
	}
	s->phase = fatal ? PHASE_BROKEN : PHASE_SKIP;
	if (!fatal)
		s->stats.records++;
	return PP_STEP_BAD_RECORD;
}

/* Room for a partition behind filled: by moving, else by growing. */
PpRoom
pp_stream_make_room(PpStream *s, size_t want)
{
	if (s->capacity - s->filled >= want)
		return ROOM;
	if (s->begin > 0)
	{
		pp_stream_settle_lines(s);
		memmove(s->text, s->text + s->begin, s->filled - s->begin);
		s->base += s->begin;
		s->stop -= s->begin < s->stop ? s->begin : s->stop;
		s->cut_looked -= s->begin;
		if (s->cut > 0)
			s->cut -= s->begin;
		s->valid -= s->begin;
		s->filled -= s->begin;
		s->begin = 0;
		s->counted = 0;
	}
	if (s->capacity - s->filled >= want)
		return ROOM;

	s->bigger_capacity = s->capacity * 2;
	if (s->bigger_capacity < s->filled + want)
		s->bigger_capacity = s->filled + want;
	if (s->bigger_capacity < s->spec.partition_size)
		s->bigger_capacity = s->spec.partition_size;
	s->bigger = pp_stream_buffer_alloc(s, s->bigger_capacity);
	if (!s->bigger)
		return NO_ROOM;
	s->copied = 0;
	s->behind_grow = s->phase;
	s->phase = PHASE_GROW;
	return ROOM_LATER;
}

/* Moves what was read into the bigger buffer, a piece each time. */
static PpStep
step_grow(PpStream *s)
{
	size_t		n = s->filled - s->copied;

	if (n > COPY_SLICE)
		n = COPY_SLICE;
	if (n > 0)
		memcpy(s->bigger + s->copied, s->text + s->copied, n);
	s->copied += n;
	if (s->copied < s->filled)
		return PP_STEP_AGAIN;
	pp_stream_buffer_free(s, s->text, s->capacity);
	s->text = s->bigger;
	s->capacity = s->bigger_capacity;
	s->bigger = NULL;
	s->phase = s->behind_grow;
	return PP_STEP_AGAIN;
}

/*
 * How much to read.  The first partitions are small, for the sake of those
 * who want a few records only.
 */
size_t
pp_stream_read_size(const PpStream *s)
{
	uint64_t	first = s->spec.first_partition > 0 ? s->spec.first_partition : FIRST_PARTITION;
	uint64_t	ramp = first << (2 * (s->stats.partitions < 16 ? s->stats.partitions : 16));

	return s->spec.partition_size < ramp ? s->spec.partition_size : (size_t) ramp;
}

/* What is read beyond a range's end at first, in bytes. */
static size_t
overlap(const PpStream *s)
{
	size_t		n = s->spec.partition_size < OVERLAP ? s->spec.partition_size : OVERLAP;

	return n < PP_RANGE_AHEAD ? PP_RANGE_AHEAD : n;
}

static PpStep
step_fill(PpStream *s)
{
	size_t		want = pp_stream_read_size(s);
	size_t		limit = parse_limit(s);

	if (s->cut > 0 && s->begin >= s->cut)
	{
		s->phase = PHASE_END;
		return PP_STEP_END;
	}
	if (s->invalid)
		return bad_record(s, PP_BAD_ENCODING, limit, true);
	if (s->filled - s->begin >= PP_MAX_RECORD)
		return bad_record(s, PP_BAD_LENGTH, limit, true);
	if (s->ahead_state == AHEAD_GIVEN)
		return pp_stream_take_ahead(s);
	s->ahead_state = AHEAD_NONE;
	if (s->searched && s->spec.ranged)
	{
		if (s->bounded && s->cut > 0 && s->spec.documents)
		{
			/*
			 * What is no JSON has misled who looked for the cut: a backslash
			 * outside of strings.  It is found by parsing on.
			 */
			s->cut = 0;
			s->phase = PHASE_PARSE;
			return PP_STEP_AGAIN;
		}
		/* between documents is white space */
		if (!s->spec.documents && (s->bounded || s->begin > s->stop))
			return pp_stream_fail(s, "a record does not end where its line does");
		/* the range, then more and more of what its last record may need */
		want = overlap(s);
		if (s->filled < s->stop + want)
			want += s->stop - s->filled;
		else if (s->filled - s->stop > want)
			want = s->filled - s->stop;
	}

	if (s->spec.verify == PP_VERIFY_TRANSCODE)
	{
		size_t		need;

		/* an incomplete character at most */
		if (s->raw_pos < s->raw_len)
			memmove(s->raw, s->raw + s->raw_pos, s->raw_len - s->raw_pos);
		s->raw_len -= s->raw_pos;
		s->raw_pos = 0;
		need = s->raw_len + s->spec.partition_size;
		if (s->raw_capacity < need)
		{
			uint8_t    *raw = pp_stream_buffer_alloc(s, need);

			if (!raw)
				return pp_stream_fail(s, "out of memory");
			if (s->raw_len > 0)
				memcpy(raw, s->raw, s->raw_len);
			pp_stream_buffer_free(s, s->raw, s->raw_capacity);
			s->raw = raw;
			s->raw_capacity = need;
		}
		s->request.dst = s->raw + s->raw_len;
	}
	else
	{
		PpRoom		room = pp_stream_make_room(s, want);

		if (room != ROOM)
			return room == ROOM_LATER ? PP_STEP_AGAIN : pp_stream_fail(s, "out of memory");
		s->request.dst = s->text + s->filled;
	}
	s->request.want = want;
	return PP_STEP_READ;
}

void
pp_stream_fed(PpStream *s, size_t n, bool eof)
{
	if (n > 0 && !s->spec.ranged)
	{
		s->stats.bytes += n;
		s->stats.partitions++;
	}
	if (s->ahead_state == AHEAD_READING)
	{
		s->ahead_filled += n;
		s->ahead_eof = eof;
		s->ahead_state = n > 0 || eof ? AHEAD_READ : AHEAD_NONE;
		return;
	}
	if (s->spec.verify == PP_VERIFY_TRANSCODE)
		s->raw_len += n;
	else
		s->filled += n;
	s->eof = eof;
	if (n > 0 || eof)
		s->phase = PHASE_FED;
}

/* What to do with verified bytes. */
static PpStep
parse_on(PpStream *s)
{
	s->phase = s->searched ? PHASE_PARSE : PHASE_SEARCH;
	return PP_STEP_AGAIN;
}

static PpStep
step_fed(PpStream *s)
{
	size_t		left;
	PpRoom		room;

	if (s->spec.ranged && s->searched)
	{
		if (!s->entered)
			return pp_stream_survey(s);
		if (!s->bounded)
			pp_stream_find_cut(s);
	}
	switch (s->spec.verify)
	{
		case PP_VERIFY_TRANSCODE:
			left = s->raw_len - s->raw_pos;
			if (left == 0)
				return parse_on(s);
			if (left > TRANSCODE_SLICE)
				left = TRANSCODE_SLICE;
			room = pp_stream_make_room(s, left * s->spec.growth + 1);
			if (room != ROOM)
				return room == ROOM_LATER ? PP_STEP_AGAIN : pp_stream_fail(s, "out of memory");
			s->request.src = s->raw + s->raw_pos;
			s->request.len = left;
			s->request.dst = s->text + s->filled;
			s->request.want = s->capacity - s->filled;
			return PP_STEP_TRANSCODE;

		case PP_VERIFY_CALLER:
			left = s->filled - s->valid;
			if (left == 0)
				return parse_on(s);
			s->request.src = s->text + s->valid;
			s->request.len = left < VERIFY_SLICE ? left : VERIFY_SLICE;
			return PP_STEP_VERIFY;

		case PP_VERIFY_UTF8:
			left = s->filled - s->valid;
			if (left > VERIFY_SLICE)
			{
				size_t		good = s->kernels->utf8_valid_prefix(s->text + s->valid, VERIFY_SLICE);

				/* less than a whole slice: a character is cut, or invalid */
				s->valid += good;
				if (good + 4 > VERIFY_SLICE)
					return PP_STEP_AGAIN;
				s->invalid = true;
				break;
			}
			s->valid += s->kernels->utf8_valid_prefix(s->text + s->valid, left);
			left = s->filled - s->valid;
			s->invalid = left >= 4 ||
				(left > 0 && (s->eof || s->text[s->valid] == 0 ||
							  (s->bounded && s->valid < s->cut)));
			break;

		case PP_VERIFY_NONE:
			s->valid = s->filled;
			break;

		case PP_VERIFY_NUL:
			s->valid += pp_nul_free_prefix(s->text + s->valid, s->filled - s->valid);
			s->invalid = s->valid < s->filled;
			break;
	}
	return parse_on(s);
}

void
pp_stream_transcoded(PpStream *s, size_t consumed, size_t produced)
{
	size_t		left;

	s->filled += produced;
	s->valid = s->filled;
	s->raw_pos += consumed;
	left = s->raw_len - s->raw_pos;
	if (consumed > 0 && left > 0)
		return;					/* once more, for the rest */
	s->invalid = left > 0 && (s->eof || left >= s->spec.max_char);
	(void) parse_on(s);
}

void
pp_stream_verified(PpStream *s, size_t valid)
{
	size_t		left;

	s->valid += valid;
	left = s->filled - s->valid;
	if (valid > 0 && left > 0)
		return;
	s->invalid = left > 0 && (s->eof || left >= s->spec.max_char);
	(void) parse_on(s);
}

/* The header, if there is one, is dealt with. */
static PpStep
parse_records(PpStream *s)
{
	if (s->spec.ranged)
	{
		s->phase = PHASE_LAYOUT;
		return PP_STEP_LAYOUT;
	}
	s->phase = pp_stream_has_records(s) ? PHASE_PARSE : PHASE_END;
	return PP_STEP_AGAIN;
}

/* The kind of line end is known. */
bool
pp_stream_begin_parsing(PpStream *s)
{
	s->searched = true;
	s->line_char = s->search.eol == PP_EOL_NL ? '\n' : '\r';
	if (!pp_stream_is_json(s))
		pp_dialect_compile(&s->spec.scan.dialect, s->search.eol, &s->spec.scan.dfa);
	s->scan = s->spec.backend->open(&s->spec.scan);
	return s->scan != NULL;
}

/*
 * Looks for the first line end outside quotes, compiles the automaton for its
 * kind and opens the backend.
 */
static PpStep
step_search(PpStream *s)
{
	size_t		limit = s->valid;	/* it looks behind a '\r' by itself */
	size_t		to = limit;
	bool		last = is_last(s);

	if (pp_stream_is_json(s))
	{
		s->search.eol = PP_EOL_NL;
		s->search.found = true;
		s->in_first = false;
		s->searched = true;
	}
	if (to > s->search.scanned + SEARCH_SLICE)
	{
		to = s->search.scanned + SEARCH_SLICE;
		last = false;
	}
	if (!s->searched && !pp_eol_search(&s->spec.scan.dialect, &s->search, s->text, to, last))
	{
		if (to == limit)
			s->phase = PHASE_FILL;
		return PP_STEP_AGAIN;
	}

	if (s->search.at_marker)
		s->search.record_end = s->search.next_record = 0;
	if (!pp_stream_begin_parsing(s))
		return backend_failed(s, PHASE_SEARCH, "out of memory");
	if (s->spec.header)
	{
		s->record.text = s->text;
		s->record.len = (uint32_t) s->search.record_end;
		s->record.line = line_at(s, s->search.record_end);
		s->phase = PHASE_HEADER;
		return PP_STEP_HEADER;
	}
	return parse_records(s);
}

static PpStep
step_parse(PpStream *s)
{
	PpJob		job;
	size_t		limit = parse_limit(s);

	job.peek_cr = limit < s->valid;
	if (s->cut > 0 && limit > s->cut)
		limit = s->cut;
	job.text = s->text;
	job.begin = (uint32_t) s->begin;
	job.len = (uint32_t) limit;
	s->parsed = limit;
	job.last = is_last(s);
	if (job.len <= job.begin && !job.last)
	{
		s->phase = PHASE_FILL;
		return PP_STEP_AGAIN;
	}
	if (s->reopen)
	{
		s->spec.backend->close(s->scan);
		s->scan = s->spec.backend->open(&s->spec.scan);
		if (!s->scan)
			return backend_failed(s, PHASE_PARSE, "out of memory");
		s->reopen = false;
		s->enter = true;
	}
	if (s->enter && s->spec.documents)
		s->spec.enter(s->scan, s->behind == ',' ? PP_JSON_AT_NEXT :
					  s->behind == '[' ? PP_JSON_AT_FIRST : PP_JSON_AT_TOP);
	s->enter = false;
	if (!s->spec.backend->submit(s->scan, &job))
		return backend_failed(s, PHASE_PARSE, "out of memory");
	s->phase = PHASE_POLL;
	if (s->spec.read_ahead && s->spec.backend->ahead && s->ahead_state == AHEAD_NONE &&
		!s->ahead_copied && !s->eof && !s->invalid &&
		(s->spec.verify == PP_VERIFY_NUL || s->spec.verify == PP_VERIFY_UTF8))
		s->ahead_state = AHEAD_WANTED;
	s->ahead_copied = false;
	return PP_STEP_AGAIN;
}

void
pp_stream_release_batch(PpStream *s)
{
	if (s->batch)
	{
		s->resumable = (s->batch->stop == PP_STOP_MORE || s->batch->stop == PP_STOP_FULL) &&
			s->batch->next < s->parsed;
		s->spec.backend->release(s->scan);
	}
	s->batch = NULL;
}

/* The line of JSON at begin is bad, or what is there of a document. */
static PpStep
bad_line(PpStream *s, const PpBatch *b, const PpJsonFault *fault)
{
	uint32_t	begin = (uint32_t) s->begin;
	uint32_t	end = b->bad_next;
	PpStep		step;

	if (end > b->bad_end && s->text[end - 1] == '\n')
		end--;
	step = bad_record(s, PP_BAD_JSON, end, s->spec.documents);
	s->record.fault = *fault;
	s->record.fault.offset -= begin;
	s->record.byte = (uint64_t) s->record.fault.offset + 1;
	if (fault->key.end > 0)
	{
		s->record.fault.key.start -= begin;
		s->record.fault.key.end -= begin;
	}
	if (s->spec.documents)
	{
		uint64_t	lines = s->lines;	/* they are settled up to begin */

		s->record.byte = pp_stream_column_behind(s, s->text + begin, fault->offset - begin,
												 s->column, &lines) + 1;
		s->record.line = lines + 1;
		/* white space behind the separator is not shown */
		while (s->record.fault.offset > 0 && pp_json_space(s->record.text[0]))
		{
			s->record.text++;
			s->record.len--;
			s->record.fault.offset--;
			s->record.fault.key.start -= fault->key.end > 0;
			s->record.fault.key.end -= fault->key.end > 0;
		}
	}
	s->skip_to = PP_MUTATED(json_bad_line) ? s->parsed : b->bad_next;
	return step;
}

/* The same as after_batch() of JSON. */
static PpStep
after_lines(PpStream *s)
{
	PpBatch		b = *s->batch;
	PpJsonFault fault = pp_json_batch(s->batch)->fault;

	pp_stream_release_batch(s);
	/* a scan that is opened anew is behind the mark */
	if (b.nrecords > 0 || b.next != s->begin || b.stop == PP_STOP_SYNTAX)
		s->spec.json.bom = false;
	/* blank lines are in no record, so lines are to be counted */
	advance(s, b.next);
	switch (b.stop)
	{
		case PP_STOP_FULL:
			s->phase = PHASE_PARSE;
			return PP_STEP_AGAIN;
		case PP_STOP_MORE:
			s->phase = PHASE_FILL;
			return PP_STEP_AGAIN;
		case PP_STOP_SYNTAX:
			return bad_line(s, &b, &fault);
		case PP_STOP_FIELDS:
		case PP_STOP_END:
			break;
	}
	s->phase = PHASE_END;
	return PP_STEP_END;
}

/* The batch's records are dealt with; go on as its end says. */
static PpStep
after_batch(PpStream *s)
{
	PpBatch		b;

	if (pp_stream_is_json(s))
		return after_lines(s);
	b = *s->batch;

	pp_stream_release_batch(s);
	if (b.quotes || b.stop == PP_STOP_END)
		advance(s, b.next);
	else
		advance_lines(s, b.next, b.nrecords);
	switch (b.stop)
	{
		case PP_STOP_FULL:
			s->phase = PHASE_PARSE;
			return PP_STEP_AGAIN;
		case PP_STOP_MORE:
			s->phase = PHASE_FILL;
			return PP_STEP_AGAIN;
		case PP_STOP_END:
			s->phase = PHASE_END;
			return PP_STEP_END;
		case PP_STOP_FIELDS:
			s->skip_to = b.bad_next;
			return bad_record(s, PP_BAD_FIELDS, b.bad_end, false);
		case PP_STOP_SYNTAX:
			break;
	}
	switch (b.bad)
	{
		case PP_END_BAD_CR:
			/* in a CRNL file it shows one byte late */
			if (s->spec.scan.dfa.eol_len == 2)
				b.bad_end--;
			return bad_record(s, PP_BAD_CR, b.bad_end, true);
		case PP_END_BAD_NL:
			return bad_record(s, PP_BAD_NL, b.bad_end, true);
		case PP_END_BAD_MARKER:
			/* the line ends in the marker do not count */
			return bad_record(s, PP_BAD_MARKER, b.next, true);
		case PP_END_TOO_LONG:
			return bad_record(s, PP_BAD_LENGTH, b.bad_end, true);
		default:
			return bad_record(s, PP_BAD_UNTERMINATED, b.bad_end, true);
	}
}

static PpStep
step_poll(PpStream *s)
{
	const PpBatch *batch;
	const char *message;

	/* first of all the device is to have something to do */
	if (s->ahead_state == AHEAD_WANTED)
		return pp_stream_read_ahead(s);
	if (s->ahead_state == AHEAD_READ)
		return pp_stream_give_ahead(s);
	switch (s->spec.backend->poll(s->scan, &batch, &message))
	{
		case PP_POLL_PENDING:
			return PP_STEP_AGAIN;
		case PP_POLL_FAILED:
			return backend_failed(s, PHASE_PARSE, message);
		case PP_POLL_DONE:
			break;
	}
	s->batch = batch;
	s->line_known = false;
	s->stats.records += batch->nrecords;
	s->stats.removed += batch->nrecords - batch->nselected - batch->ntaken;
	s->stats.deferred += batch->ndeferred;
	if (batch->nselected == 0 && batch->ntaken == 0)
		return after_batch(s);
	s->phase = PHASE_BATCH;
	return PP_STEP_BATCH;
}

PpStep
pp_stream_step(PpStream *s)
{
	switch (s->phase)
	{
		case PHASE_FILL:
			return step_fill(s);
		case PHASE_GROW:
			return step_grow(s);
		case PHASE_FED:
			return step_fed(s);
		case PHASE_SEARCH:
			return step_search(s);
		case PHASE_HEADER:
			advance(s, s->search.next_record);
			return parse_records(s);
		case PHASE_LAYOUT:
			return PP_STEP_LAYOUT;
		case PHASE_EFFECT:
			return PP_STEP_EFFECT;
		case PHASE_ENTER:
			return pp_stream_first_record(s);
		case PHASE_PARSE:
			return step_parse(s);
		case PHASE_POLL:
			return step_poll(s);
		case PHASE_BATCH:
			return after_batch(s);
		case PHASE_APPEND:
			return pp_stream_append_ahead(s);
		case PHASE_SKIP:
			advance(s, s->skip_to);
			s->phase = PHASE_PARSE;
			return PP_STEP_AGAIN;
		case PHASE_BROKEN:
			return PP_STEP_BAD_RECORD;
		case PHASE_END:
			return PP_STEP_END;
		case PHASE_FAILED:
			break;
	}
	return PP_STEP_FAILED;
}

PpStream *
pp_stream_open(const PpStreamSpec *spec)
{
	const PpAlloc *a = &spec->scan.alloc;
	PpStream   *s = a->alloc(a->ctx, sizeof(*s));

	if (!s)
		return NULL;
	memset(s, 0, sizeof(*s));
	s->spec = *spec;
	s->spec.scan.struct_size = pp_stream_is_json(s) ? sizeof(PpJsonScanSpec) : sizeof(PpScanSpec);
	s->spec.json.bom = pp_stream_is_json(s) && !spec->ranged &&
		(!spec->json.charset || spec->json.charset->utf8) && !PP_MUTATED(json_mark_kept);
	s->kernels = pp_kernels((PpSimd) spec->scan.simd);
	if (!s->kernels)
		s->kernels = &pp_kernels_scalar;
	s->in_first = true;
	s->phase = PHASE_FILL;
	return s;
}

void
pp_stream_close(PpStream *s)
{
	PpAlloc		a;

	if (!s)
		return;
	a = s->spec.scan.alloc;
	pp_stream_release_batch(s);
	if (s->scan)
		s->spec.backend->close(s->scan);
	a.release(a.ctx, s->text);
	a.release(a.ctx, s->bigger);
	a.release(a.ctx, s->raw);
	a.release(a.ctx, s->spare);
	a.release(a.ctx, s);
}

const PpRequest *
pp_stream_request(const PpStream *s)
{
	return &s->request;
}

const PpBatch *
pp_stream_batch(const PpStream *s)
{
	return s->batch;
}

const PpRecord *
pp_stream_record(const PpStream *s)
{
	return &s->record;
}

const char *
pp_stream_message(const PpStream *s)
{
	return s->message;
}

uint64_t
pp_stream_line(PpStream *s, uint32_t r)
{
	const PpBatch *b = s->batch;
	uint32_t	end = b->end[(size_t) r * b->width + b->width - 1];
	size_t		from = s->begin;
	uint64_t	line;
	uint8_t		c = s->line_char;

	pp_stream_settle_lines(s);
	line = 1 + s->lines;
	if (s->spec.documents)
		end = pp_json_record(b, r).start;
	if (s->line_known && r >= s->line_row)
	{
		/* from the end of that record on, its line end included */
		from = s->line_pos;
		line = s->line;
	}
	else if (s->in_first)
	{
		/* record 0 is the file's first; the kind is known behind it only */
		uint32_t	first = b->end[b->width - 1];

		line += pp_stream_count_lines(s, s->text + from, first - from, '\r');
		from = first;
	}
	line += pp_stream_count_lines(s, s->text + from, end - from, c);
	s->line_known = true;
	s->line_row = r;
	s->line_pos = end;
	s->line = line;
	return line;
}

bool
pp_stream_set_backend(PpStream *s, const PpBackend *backend,
					  uint32_t max_records, uint32_t chunk_size)
{
	if (s->phase != PHASE_FAILED || s->retry == PHASE_FAILED)
		return false;
	if (s->scan)
		s->spec.backend->close(s->scan);
	s->spec.backend = backend;
	s->spec.scan.max_records = max_records;
	s->spec.scan.chunk_size = chunk_size;
	s->scan = NULL;
	s->reopen = false;
	if (s->retry == PHASE_PARSE)
	{
		s->scan = backend->open(&s->spec.scan);
		if (!s->scan)
			return false;
		s->enter = s->spec.documents;
	}
	s->phase = s->retry;
	return true;
}

const PpBackendScan *
pp_stream_scan(const PpStream *s)
{
	return s->scan;
}

void
pp_stream_set_env(PpStream *s, const PpEnv *env)
{
	/* a backend may have copied what it was opened with */
	s->spec.scan.env = *env;
	s->reopen = s->scan != NULL;
}

bool
pp_stream_has_records(const PpStream *s)
{
	return !s->search.at_marker && (s->search.found || !s->spec.header);
}

PpStreamStats
pp_stream_stats(const PpStream *s)
{
	return s->stats;
}
