/*
 * test/unit/check_stream.c
 *	  Steps a stream through an input and compares every step with the model.
 *
 * Plays all the roles of a stream's user: reads (in full, in part, or nothing
 * yet), verifies and transcodes invented encodings, looks at batches, lines,
 * header and errors.  Must not look inside the stream.
 */
#include "engine_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct StreamCheck
{
	const EngineCase *c;
	const uint8_t *input;
	size_t		len;
	size_t		fed;
	bool		eof_told;
	UnitRandom	random;

	uint8_t    *text;			/* what comes of the input: itself, or its
								 * transcoding */
	size_t		text_len;		/* one more than valid if an invalid byte follows */
	size_t		valid;
	size_t		raw_done;		/* input bytes transcoded or verified */
	size_t		raw_valid;		/* of those, at the first invalid one */

	RefFile    *file;
	size_t		next;			/* model record that is due */
	bool		header_due;
	uint64_t	deferred_min;
	uint64_t	deferred_max;
	uint64_t	removed;		/* records in batches that are never shown */
	uint64_t	partitions;
	EngineResult *result;
} StreamCheck;

/* The whole input as the encoding's owner sees it. */
static void
prepare_text(StreamCheck *k)
{
	switch (k->c->verify)
	{
		case PP_VERIFY_NUL:
			k->valid = ref_nul_prefix(k->input, k->len);
			break;
		case PP_VERIFY_UTF8:
			k->valid = ref_utf8_prefix(k->input, k->len);
			break;
		case PP_VERIFY_NONE:
			k->valid = k->len;
			break;
		case PP_VERIFY_CALLER:
			k->valid = fake_verify(k->input, k->len);
			break;
		case PP_VERIFY_TRANSCODE:
			{
				size_t		room = k->len * FAKE_GROWTH + 1;

				k->text = unit_malloc(room);
				k->raw_valid = fake_transcode(k->input, k->len, k->text, room,
											  SIZE_MAX, &k->valid);
				k->text_len = k->valid;
				if (k->raw_valid < k->len)
					k->text[k->text_len++] = 0;
				return;
			}
	}
	k->raw_valid = k->valid;
	k->text = unit_malloc(k->len);
	if (k->len > 0)
		memcpy(k->text, k->input, k->len);
	k->text_len = k->len;
}

static bool
on_read(StreamCheck *k, PpStream *stream)
{
	const PpRequest *q = pp_stream_request(stream);
	size_t		n = k->len - k->fed;
	bool		eof;

	if (k->eof_told)
		return check_differs(k->result, "reads behind the end of the input");
	if (q->want == 0 || q->dst == NULL || q->want > k->c->partition)
		return check_differs(k->result, "wants %zu bytes of a partition of %zu",
							 q->want, k->c->partition);
	if ((k->c->feed & FEED_IDLE) && unit_once_in(&k->random, 4))
	{
		pp_stream_fed(stream, 0, false);
		return true;
	}
	if (n > q->want)
		n = q->want;
	if ((k->c->feed & FEED_SHORT) && n > 1)
		n = 1 + unit_below(&k->random, (uint32_t) n);
	eof = k->fed + n == k->len &&
		(n == 0 || !(k->c->feed & FEED_LATE_EOF) || unit_once_in(&k->random, 2));
	if (n > 0)
	{
		memcpy(q->dst, k->input + k->fed, n);
		k->partitions++;
	}
	k->fed += n;
	k->eof_told = eof;
	pp_stream_fed(stream, n, eof);
	return true;
}

/* Is src a stretch of the input that starts where the last one ended? */
static bool
is_next_raw(StreamCheck *k, const PpRequest *q)
{
	if (q->src == NULL || q->len == 0 || q->len > k->fed - k->raw_done ||
		memcmp(q->src, k->input + k->raw_done, q->len) != 0)
		return check_differs(k->result, "asks for bytes at %zu to be looked at, but gives %zu others",
							 k->raw_done, q->len);
	return true;
}

static bool
on_verify(StreamCheck *k, PpStream *stream)
{
	const PpRequest *q = pp_stream_request(stream);
	size_t		n;

	if (k->c->verify != PP_VERIFY_CALLER)
		return check_differs(k->result, "asks for bytes to be verified");
	if (!is_next_raw(k, q))
		return false;
	n = fake_verify(q->src, q->len);
	k->raw_done += n;
	pp_stream_verified(stream, n);
	return true;
}

static bool
on_transcode(StreamCheck *k, PpStream *stream)
{
	const PpRequest *q = pp_stream_request(stream);
	size_t		most = SIZE_MAX;
	size_t		produced;
	size_t		n;

	if (k->c->verify != PP_VERIFY_TRANSCODE)
		return check_differs(k->result, "asks for bytes to be transcoded");
	if (!is_next_raw(k, q))
		return false;
	if (q->dst == NULL || q->want < FAKE_GROWTH)
		return check_differs(k->result, "room for %zu bytes only", q->want);
	if (k->c->feed & FEED_PARTIAL)
		most = 1 + unit_below(&k->random, 5);
	n = fake_transcode(q->src, q->len, q->dst, q->want, most, &produced);
	k->raw_done += n;
	pp_stream_transcoded(stream, n, produced);
	return true;
}

static bool
same_text(const uint8_t *a, const uint8_t *b, size_t n)
{
	return n == 0 || memcmp(a, b, n) == 0;
}

static bool
on_header(StreamCheck *k, PpStream *stream)
{
	const PpRecord *rec = pp_stream_record(stream);
	const RefRecord *h = &k->file->header;

	if (!k->header_due)
		return check_differs(k->result, "unexpected header");
	k->header_due = false;
	if (rec->len != h->stop - h->start ||
		!same_text(rec->text, k->text + h->start, rec->len))
		return check_differs(k->result, "header is %s, but %s expected",
							 unit_show(rec->text, rec->len),
							 unit_show(k->text + h->start, h->stop - h->start));
	if (rec->line != h->line)
		return check_differs(k->result, "header at line %" PRIu64 ", but %" PRIu64 " expected",
							 rec->line, h->line);
	return true;
}

/*
 * Whole batches that the filters leave empty are not shown: steps over their
 * records, up to number `to`.
 */
static bool
skip_removed(StreamCheck *k, uint64_t to)
{
	if (to < k->next || to > k->file->nrecords)
		return check_differs(k->result, "counts %" PRIu64 " records, %zu were seen of %zu",
							 to, k->next, k->file->nrecords);
	for (; k->next < to; k->next++)
	{
		const RefRecord *rec = &k->file->record[k->next];

		if (rec->bad_fields || k->c->nfilters == 0 ||
			!check_may_be_removed(k->c, k->file, rec, k->text))
			return check_differs(k->result, "record %zu at %zu is left out", k->next, rec->start);
		k->removed++;
		k->deferred_max += k->c->ncolumns;
		k->result->records++;
	}
	return true;
}

static bool
on_batch(StreamCheck *k, PpStream *stream)
{
	const PpBatch *b = pp_stream_batch(stream);

	if (k->header_due)
		return check_differs(k->result, "batch before the header");
	if (b->nrecords == 0 || b->nrecords > k->c->max_records)
		return check_differs(k->result, "batch of %u records, %u allowed",
							 b->nrecords, k->c->max_records);
	if (b->ncolumns != k->c->ncolumns || b->width != (k->c->nfields > 0 ? k->c->nfields : 1))
		return check_differs(k->result, "batch of %u columns, %u fields",
							 b->ncolumns, b->width);
	if (!skip_removed(k, pp_stream_stats(stream).records - b->nrecords))
		return false;
	if (b->nrecords > k->file->nrecords - k->next)
		return check_differs(k->result, "%u records, but only %zu follow record %zu",
							 b->nrecords, k->file->nrecords - k->next, k->next);
	if (!check_batch_records(k->c, b, k->file, k->next, k->text, &k->deferred_min,
							 &k->deferred_max, k->result))
		return false;
	k->removed += b->nrecords - b->nselected;
	for (uint32_t r = 0; r < b->nrecords; r++)
	{
		const RefRecord *want = &k->file->record[k->next];

		/* each answer goes over the batch's text: of large ones, ask for some */
		bool		ask = !k->c->unlisted && b->end != NULL &&
			(b->nrecords <= 50 || r + 1 == b->nrecords || unit_once_in(&k->random, b->nrecords / 20));

		if (ask && pp_stream_line(stream, r) != want->line)
			return check_differs(k->result, "record %zu at %zu: line %" PRIu64 ", but %" PRIu64 " expected",
								 k->next, want->start, pp_stream_line(stream, r), want->line);
		k->next++;
		k->result->records++;
	}
	return true;
}

static const char *
bad_name(int bad)
{
	static const char *const name[] = {
		"fields", "unterminated", "carriage return", "newline", "marker",
		"encoding", "length"
	};

	return bad >= 0 && bad < 7 ? name[bad] : "none";
}

static int
expected_bad(RefEnd end)
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
		case REF_END:
		case REF_MARKER_END:
			break;
	}
	return -1;
}

/*
 * Are the bytes there that an error message would show?  All of the invalid
 * character, as far as the input goes.
 */
static bool
check_invalid_bytes(StreamCheck *k, const PpRecord *rec)
{
	const uint8_t *want = k->input + k->raw_valid;
	size_t		left = k->len - k->raw_valid;
	size_t		shown = 1;

	if (k->c->verify == PP_VERIFY_TRANSCODE)
		shown = FAKE_MAX_CHAR;
	else if (k->c->verify == PP_VERIFY_CALLER)
		shown = fake_char_length(want[0]);
	else if (k->c->verify == PP_VERIFY_UTF8)
		shown = want[0] >= 0xf8 ? 1 : want[0] >= 0xf0 ? 4 : want[0] >= 0xe0 ? 3 :
			want[0] >= 0xc0 ? 2 : 1;
	if (want[0] == 0)
		shown = 1;
	if (shown > left)
		shown = left;
	if (rec->invalid == NULL || rec->invalid_len < shown ||
		rec->invalid_len > k->fed - k->raw_valid ||
		memcmp(rec->invalid, want, rec->invalid_len) != 0)
		return check_differs(k->result, "of an invalid character of %zu bytes %zu are there: %s, but %s expected",
							 shown, rec->invalid_len,
							 rec->invalid ? unit_show(rec->invalid, rec->invalid_len < 8 ? rec->invalid_len : 8) : "",
							 unit_show(want, shown));
	return true;
}

/* *go_on: may be stepped on. */
static bool
on_bad_record(StreamCheck *k, PpStream *stream, bool *go_on)
{
	const PpRecord *rec = pp_stream_record(stream);
	const RefFile *f = k->file;
	size_t		room;

	*go_on = rec->bad == PP_BAD_FIELDS;
	k->result->errors++;
	if (k->header_due && f->has_header)
		return check_differs(k->result, "error (%s) instead of the header", bad_name((int) rec->bad));
	if (!skip_removed(k, pp_stream_stats(stream).records - (rec->bad == PP_BAD_FIELDS)))
		return false;
	if (rec->bad == PP_BAD_FIELDS)
	{
		const RefRecord *want = &f->record[k->next];

		if (k->next >= f->nrecords || !want->bad_fields)
			return check_differs(k->result, "record %zu has a wrong number of fields", k->next);
		k->next++;
		if (rec->len != want->stop - want->start ||
			!same_text(rec->text, k->text + want->start, rec->len))
			return check_differs(k->result, "record of the wrong shape is %s, but %s expected",
								 unit_show(rec->text, rec->len),
								 unit_show(k->text + want->start, want->stop - want->start));
		if (rec->line != want->line)
			return check_differs(k->result, "record of the wrong shape: line %" PRIu64 ", but %" PRIu64 " expected",
								 rec->line, want->line);
		return true;
	}

	if (k->next != f->nrecords || (int) rec->bad != expected_bad(f->end))
		return check_differs(k->result, "error \"%s\" behind %zu of %zu records, \"%s\" expected there, at %zu",
							 bad_name((int) rec->bad), k->next, f->nrecords,
							 bad_name(expected_bad(f->end)), f->end_at);
	if (rec->line != f->end_line)
		return check_differs(k->result, "error \"%s\" at line %" PRIu64 ", but %" PRIu64 " expected",
							 bad_name((int) rec->bad), rec->line, f->end_line);
	room = k->text_len - f->end_start;
	if (rec->len > room ||
		!same_text(rec->text, k->text + f->end_start, rec->len))
		return check_differs(k->result, "error \"%s\": record starts %s, but %s expected",
							 bad_name((int) rec->bad), unit_show(rec->text, rec->len),
							 unit_show(k->text + f->end_start, room));
	if (rec->bad == PP_BAD_UNTERMINATED && rec->len != f->end_at - f->end_start)
		return check_differs(k->result, "unterminated: record of %u bytes, but %zu expected",
							 rec->len, f->end_at - f->end_start);
	if (rec->bad == PP_BAD_ENCODING)
	{
		size_t		known = k->valid - f->end_start;

		/* a carriage return that is looked behind may not count yet */
		if (rec->len != known &&
			!(rec->len + 1 == known && k->text[k->valid - 1] == '\r'))
			return check_differs(k->result, "encoding: %u valid bytes, but %zu expected",
								 rec->len, known);
		return check_invalid_bytes(k, rec);
	}
	return true;
}

static bool
on_end(StreamCheck *k, PpStream *stream)
{
	PpStreamStats stats = pp_stream_stats(stream);

	if (k->header_due)
		return check_differs(k->result, "end without a header");
	if (!skip_removed(k, stats.records))
		return false;
	if (k->next != k->file->nrecords || expected_bad(k->file->end) >= 0)
		return check_differs(k->result, "end behind %zu of %zu records, \"%s\" expected",
							 k->next, k->file->nrecords, bad_name(expected_bad(k->file->end)));
	if (pp_stream_step(stream) != PP_STEP_END)
		return check_differs(k->result, "the end does not last");
	if (k->file->end == REF_END && k->fed != k->len)
		return check_differs(k->result, "end behind %zu of %zu bytes", k->fed, k->len);
	if (stats.bytes != k->fed || stats.partitions != k->partitions ||
		stats.removed != k->removed || stats.deferred < k->deferred_min ||
		stats.deferred > k->deferred_max)
		return check_differs(k->result, "counted %" PRIu64 " bytes, %" PRIu64 " partitions, %"
							 PRIu64 " removed, %" PRIu64 " deferred; but %zu, %" PRIu64
							 ", %" PRIu64 ", %" PRIu64 " to %" PRIu64 " there were",
							 stats.bytes, stats.partitions, stats.removed, stats.deferred,
							 k->fed, k->partitions, k->removed, k->deferred_min, k->deferred_max);
	return true;
}

static void
step_through(StreamCheck *k, PpStream *stream, UnitHeap *heap)
{
	/* Far more steps than any input of this length can need. */
	uint64_t	steps = 2000 + 200 * (uint64_t) (k->len + 1);
	bool		go_on = true;

	while (go_on)
	{
		PpStep		step = pp_stream_step(stream);
		const char *message;

		if (steps-- == 0)
		{
			check_differs(k->result, "makes no progress");
			return;
		}
		switch (step)
		{
			case PP_STEP_AGAIN:
				break;
			case PP_STEP_READ:
				go_on = on_read(k, stream);
				break;
			case PP_STEP_TRANSCODE:
				go_on = on_transcode(k, stream);
				break;
			case PP_STEP_VERIFY:
				go_on = on_verify(k, stream);
				break;
			case PP_STEP_HEADER:
				go_on = on_header(k, stream);
				break;
			case PP_STEP_LAYOUT:
			case PP_STEP_EFFECT:
				go_on = check_differs(k->result, "step %d of a ranged stream", (int) step);
				break;
			case PP_STEP_BATCH:
				go_on = on_batch(k, stream);
				break;
			case PP_STEP_BAD_RECORD:
				if (!on_bad_record(k, stream, &go_on))
					go_on = false;
				break;
			case PP_STEP_END:
				on_end(k, stream);
				go_on = false;
				break;
			case PP_STEP_FAILED:
				message = pp_stream_message(stream);
				if (k->c->fallback && heap->failed)
				{
					heap->failed = false;
					if (pp_stream_set_backend(stream, k->c->fallback, k->c->max_records,
											  k->c->chunk))
						break;
				}
				if (!heap->failed)
					check_differs(k->result, "failed: %s", message ? message : "no message");
				else if (message == NULL || message[0] == '\0')
					check_differs(k->result, "failed without a message");
				else
					k->result->verdict = ENGINE_NO_MEMORY;
				go_on = false;
				break;
		}
	}
}

void
check_stream(const EngineCase *c, const uint8_t *input, size_t len,
			 UnitHeap *heap, EngineResult *result)
{
	StreamCheck k;
	PpStreamSpec spec;
	RefSpec		ref;
	PpStream   *stream;

	memset(result, 0, sizeof(*result));
	memset(&k, 0, sizeof(k));
	k.c = c;
	k.input = input;
	k.len = len;
	k.random = c->seed;
	k.result = result;
	prepare_text(&k);

	memset(&ref, 0, sizeof(ref));
	ref.dialect = c->dialect;
	ref.header = c->header;
	ref.whole = true;
	ref.nfields = c->nfields;
	ref.null_text = c->markers.null_text;
	ref.null_len = c->markers.null_len;
	k.file = ref_read(&ref, k.text, k.text_len, k.valid);
	k.header_due = k.file->has_header;
	result->end = k.file->end;
	if (expected_bad(k.file->end) >= 0)
		result->errors++;

	memset(&spec, 0, sizeof(spec));
	spec.backend = c->backend;
	spec.scan.struct_size = sizeof(spec.scan);
	spec.scan.dialect = c->dialect;
	spec.scan.nfields = c->nfields;
	spec.scan.ncolumns = c->ncolumns;
	spec.scan.column = c->column;
	spec.scan.nfilters = c->nfilters;
	spec.scan.filter = c->filter;
	spec.scan.null_text = c->markers.null_text;
	spec.scan.null_len = c->markers.null_len;
	spec.scan.has_default = c->markers.has_default;
	spec.scan.default_text = c->markers.default_text;
	spec.scan.default_len = c->markers.default_len;
	spec.scan.env.charset = c->verify == PP_VERIFY_UTF8 ? PP_CHARSET_UTF8 :
		c->verify == PP_VERIFY_NUL ? PP_CHARSET_SINGLE : PP_CHARSET_OTHER;
	spec.scan.max_records = c->max_records;
	spec.scan.chunk_size = c->chunk;
	spec.scan.simd = c->simd;
	spec.scan.unlisted = c->unlisted;
	spec.scan.alloc = unit_heap_alloc(heap);
	spec.header = c->header;
	spec.partition_size = c->partition;
	spec.verify = c->verify;
	spec.read_ahead = c->read_ahead;
	spec.max_char = FAKE_MAX_CHAR;
	spec.growth = FAKE_GROWTH;

	stream = pp_stream_open(&spec);
	/* The spec is copied. */
	memset(&spec, 0xee, sizeof(spec));
	if (stream == NULL)
	{
		if (heap->failed)
			result->verdict = ENGINE_NO_MEMORY;
		else
			check_differs(result, "cannot be opened");
	}
	else
	{
		step_through(&k, stream, heap);
		result->peak_memory = pp_stream_stats(stream).peak_memory;
		pp_stream_close(stream);
	}
	if (heap->live_blocks != 0 || heap->live_bytes != 0)
		check_differs(result, "%zu blocks of memory left behind", heap->live_blocks);

	ref_free(k.file);
	free(k.text);
}
