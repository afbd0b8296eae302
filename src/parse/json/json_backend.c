/*
 * src/parse/json/json_backend.c
 *	  The JSON backends on the CPU: their interface, and lines to records.  For
 *	  documents to records see json_document.c.
 *
 * The reference (json_check.h) takes one line after the other.  At all levels
 * but "scalar", windows of whole lines go through the structure pass
 * (json_kernel.h) and each record's tokens through the shapes (json_shape.h);
 * a window or a record that these do not accept goes to the reference, which
 * also finds every fault.  So results never depend on the level.
 *
 * Owns the lists and the columns; reads the job's text and never writes it.
 */
#include <string.h>

#include "json_scan.h"

/* Text that the structure pass takes at a time, and at most if lines are long. */
#ifndef PP_JSON_WINDOW
#define PP_JSON_WINDOW		(16u << 10)
#endif
#define PP_JSON_MAX_WINDOW	(16 * PP_JSON_WINDOW)

static void
release_tokens(JsonScan *js)
{
	const PpAlloc *a = &js->spec->scan.alloc;

	a->release(a->ctx, js->tokens.pos);
	a->release(a->ctx, js->tokens.cls);
	a->release(a->ctx, js->tokens.line);
	a->release(a->ctx, js->tokens.word);
	memset(&js->tokens, 0, sizeof(js->tokens));
}

static void
json_close(PpBackendScan *scan)
{
	JsonScan   *js = (JsonScan *) scan;
	PpAlloc		a;

	if (!js)
		return;
	a = js->spec->scan.alloc;
	for (uint32_t c = 0; js->range && c < js->spec->scan.ncolumns; c++)
		a.release(a.ctx, js->range[c]);
	for (uint32_t c = 0; scan->data && c < js->spec->scan.ncolumns; c++)
	{
		a.release(a.ctx, scan->data[c].value);
		a.release(a.ctx, scan->data[c].state);
	}
	a.release(a.ctx, js->range);
	a.release(a.ctx, scan->data);
	a.release(a.ctx, scan->end_storage);
	a.release(a.ctx, scan->scratch);
	a.release(a.ctx, scan->work);
	a.release(a.ctx, scan->selected);
	release_tokens(js);
	pp_arena_destroy(&scan->arena);
	pp_json_check_free(&js->check);
	pp_json_shapes_free(&js->shapes);
	pp_json_paths_free(&js->paths, &a);
	a.release(a.ctx, js);
}

/* Zeroed memory for n pointers or columns. */
static void *
zeroed(const PpAlloc *a, size_t size)
{
	void	   *p = a->alloc(a->ctx, size);

	if (p)
		memset(p, 0, size);
	return p;
}

static PpBackendScan *
open_scan(const PpScanSpec *scan, bool documents)
{
	const PpJsonScanSpec *spec = (const PpJsonScanSpec *) scan;
	const PpAlloc *a = &scan->alloc;
	JsonScan   *js;
	PpBackendScan *s;
	bool		ok;

	if (scan->struct_size != sizeof(PpJsonScanSpec))
		return NULL;
	js = (JsonScan *) zeroed(a, sizeof(*js));
	if (!js)
		return NULL;
	s = &js->cpu;
	js->spec = spec;
	s->spec = scan;
	s->width = documents ? 2 : 1;
	js->documents = js->tokens.no_lines = documents;
	js->place = PP_JSON_AT_TOP;
	js->bom = spec->bom;
	pp_arena_init(&s->arena, a);
	s->kernels = pp_kernels((PpSimd) scan->simd);
	if (!s->kernels)
		s->kernels = &pp_kernels_scalar;
	js->kernels = pp_json_kernels(s->kernels->level);
	js->check.utf8_valid_prefix = s->kernels->utf8_valid_prefix;

	ok = pp_json_paths_init(&js->paths, spec);
	ok = ok && pp_json_check_init(&js->check, &js->paths, spec);
	ok = ok && pp_json_shapes_init(&js->shapes, &js->paths, spec);
	if (scan->ncolumns > 0)
	{
		js->range = (PpJsonRange **) zeroed(a, scan->ncolumns * sizeof(PpJsonRange *));
		s->data = (PpColumnData *) zeroed(a, scan->ncolumns * sizeof(PpColumnData));
		ok = ok && js->range && s->data;
	}
	ok = ok && pp_cpu_plan_work(s);
	if (!ok)
	{
		json_close(s);
		return NULL;
	}
	return s;
}

static PpBackendScan *
json_open(const PpScanSpec *scan)
{
	return open_scan(scan, false);
}

static PpBackendScan *
document_open(const PpScanSpec *scan)
{
	return open_scan(scan, true);
}

void
pp_json_enter(PpBackendScan *s, PpJsonPlace place)
{
	JsonScan   *js = (JsonScan *) s;

	js->place = place;
	js->resume = false;
}

/* Moves n rows of size bytes into larger memory; false: out of memory. */
static bool
grow(const PpAlloc *a, void **memory, size_t used, size_t room)
{
	void	   *p = a->alloc(a->ctx, room);

	if (!p)
		return false;
	if (used > 0)
		memcpy(p, *memory, used);
	a->release(a->ctx, *memory);
	*memory = p;
	return true;
}

bool
pp_json_reserve_records(JsonScan *js, uint32_t more)
{
	PpBackendScan *s = &js->cpu;
	const PpAlloc *a = &s->spec->alloc;
	uint64_t	rows = (uint64_t) s->nrecords + more;
	uint32_t	used = s->nrecords;

	if (rows <= js->rows || s->spec->unlisted)
		return true;
	if (rows < 2 * (uint64_t) js->rows)
		rows = 2 * (uint64_t) js->rows;
	if (rows < 256)
		rows = 256;
	/* ends have one in front, which is in use from the start */
	if (!grow(a, (void **) &s->end_storage, s->end ? (used * (size_t) s->width + 1) * sizeof(uint32_t) : 0,
			  (rows * s->width + 1) * sizeof(uint32_t)))
		return false;
	s->end = s->end_storage + 1;
	for (uint32_t c = 0; c < s->spec->ncolumns; c++)
	{
		void	   *p = js->range[c];

		if (!grow(a, &p, used * sizeof(PpJsonRange), rows * sizeof(PpJsonRange)))
			return false;
		js->range[c] = (PpJsonRange *) p;
	}
	js->rows = (uint32_t) (rows < UINT32_MAX ? rows : UINT32_MAX);
	return true;
}

bool
pp_json_reserve_tokens(JsonScan *js, uint32_t n)
{
	const PpAlloc *a = &js->spec->scan.alloc;
	size_t		entries = (size_t) n + PP_JSON_TOKEN_SLACK;

	if (n <= js->token_room)
		return true;
	release_tokens(js);
	js->token_room = 0;
	js->tokens.no_lines = js->documents;
	js->tokens.pos = (uint32_t *) a->alloc(a->ctx, entries * sizeof(uint32_t));
	js->tokens.cls = (uint8_t *) a->alloc(a->ctx, entries);
	js->tokens.line = (uint32_t *) a->alloc(a->ctx, entries * sizeof(uint32_t));
	js->tokens.word = (uint32_t *) a->alloc(a->ctx, entries * sizeof(uint32_t));
	if (!js->tokens.pos || !js->tokens.cls || !js->tokens.line || !js->tokens.word)
		return false;
	js->token_room = n;
	return true;
}

/* Behind the last line end of text[from .. to), or from. */
static uint32_t
behind_last_line(const uint8_t *text, uint32_t from, uint32_t to)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	while (to - from >= 8)
	{
		uint64_t	w;

		memcpy(&w, text + to - 8, 8);
		w ^= ones * '\n';
		if (((w - ones) & ~w & (ones << 7)) != 0)
			break;
		to -= 8;
	}
	while (to > from && text[to - 1] != '\n')
		to--;
	return to;
}

static bool
json_submit(PpBackendScan *s, const PpJob *job)
{
	JsonScan   *js = (JsonScan *) s;
	uint32_t	first = job->begin;
	uint32_t	seen = job->begin;

	s->job = *job;
	memset(&s->batch, 0, sizeof(s->batch));
	memset(&js->batch, 0, sizeof(js->batch));
	s->nrecords = 0;
	s->done = s->row = 0;
	s->filtered = false;
	s->phase = PHASE_STRUCTURE;
	js->checking = false;
	js->reference_to = 0;
	if (js->documents)
		return pp_json_document_begin(js);
	js->limit = job->last ? job->len : 0;
	if (js->resume)
	{
		js->resume = false;
		if (js->resume_scanned <= job->len - job->begin)
			seen += js->resume_scanned;
	}
	if (js->bom && job->len - first >= 3 &&
		job->text[first] == 0xef && job->text[first + 1] == 0xbb && job->text[first + 2] == 0xbf)
		first += 3;
	if (seen < first)
		seen = first;
	if (!job->last)
	{
		js->limit = behind_last_line(job->text, seen, job->len);
		/* in front of a line end, three bytes of a mark are known */
		if (js->limit == seen)
			js->limit = first;
	}
	s->record = s->pos = first;
	if (!s->spec->unlisted)
	{
		if (!pp_json_reserve_records(js, 1))
			return false;
		s->end[-1] = first - 1;
	}
	return true;
}

/* A record was found; the ends of values are those of places in ranges. */
static inline void
count_record(JsonScan *js, uint32_t line_end)
{
	PpBackendScan *s = &js->cpu;

	if (!s->spec->unlisted)
		s->end[s->nrecords] = line_end;
	s->nrecords++;
	s->record = s->pos = line_end < s->job.len ? line_end + 1 : line_end;
}

/* The batch ends here, in front of s->record. */
static void
stop(JsonScan *js, PpStop why)
{
	js->cpu.batch.stop = why;
	js->limit = js->cpu.pos;	/* nothing is left to be done */
}

/*
 * Goes on with the line at pos, byte by byte.
 */
static SliceEnd
reference_line(JsonScan *js, uint32_t budget)
{
	PpBackendScan *s = &js->cpu;
	const uint8_t *text = s->job.text;

	if (!js->checking)
	{
		const uint8_t *nl = (const uint8_t *) memchr(text + s->pos, '\n', js->limit - s->pos);
		uint32_t	at = s->pos;

		js->line_end = nl ? (uint32_t) (nl - text) : js->limit;
		while (at < js->line_end && pp_json_space(text[at]))
			at++;
		if (at == js->line_end)
		{
			/* a blank line */
			s->pos = nl ? at + 1 : at;
			return SLICE_GO_ON;
		}
		if (!pp_json_reserve_records(js, 1))
			return SLICE_NO_MEMORY;
		s->record = s->pos;
		pp_json_check_begin(&js->check, text, at, js->line_end);
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
	js->checking = false;
	if (js->check.fault.code != PP_JSON_OK)
	{
		js->batch.fault = js->check.fault;
		s->batch.bad_end = js->check.fault.offset;
		s->batch.bad_next = js->line_end < s->job.len ? js->line_end + 1 : js->line_end;
		stop(js, PP_STOP_SYNTAX);
		return SLICE_GO_ON;
	}
	for (uint32_t c = 0; c < s->spec->ncolumns; c++)
		js->range[c][s->nrecords] = js->check.walk.range[js->paths.column[c]];
	count_record(js, js->line_end);
	if (s->nrecords >= s->spec->max_records && s->pos < js->limit)
		stop(js, PP_STOP_FULL);
	return SLICE_GO_ON;
}

/* Are words, and numbers where flags want it, what they may be? */
static bool
tokens_are_right(const PpJsonTokens *t, const uint8_t *text, uint32_t to, uint32_t flags)
{
	if (flags & PP_JSON_NUMBERS)
		for (uint32_t i = 0; i < t->n; i++)
			if ((t->cls[i] == PP_TOKEN_NUMBER || t->cls[i] == PP_TOKEN_OTHER) &&
				!pp_json_scalar_end(text, t->pos[i], to))
				return false;
	for (uint32_t i = 0; i < t->nwords; i++)
	{
		uint32_t	pos = t->pos[t->word[i]];
		/* behind the last token of all, which is a line end, stands to */
		uint32_t	next = t->word[i] + 1 < t->n ? t->pos[t->word[i] + 1] : to;
		const uint8_t *p = text + pos;
		bool		false_word = p[0] == 'f';
		uint32_t	w;

		/* "true", "null", and "alse" of "false" */
		memcpy(&w, p + false_word, 4);
		if (PP_LIKELY(next - pos == 4u + false_word &&
					  (false_word ? w == UINT32_C(0x65736c61) :
					   (w == UINT32_C(0x65757274) || w == UINT32_C(0x6c6c756e)))))
			continue;
		if (!pp_json_scalar_end(text, pos, to))
			return false;
	}
	return true;
}

static bool
valid(const JsonScan *js, const uint8_t *text, uint32_t n)
{
	const PpJsonCharset *charset = js->spec->charset;

	if (!charset || charset->utf8)
		return js->cpu.kernels->utf8_valid_prefix(text, n) == n;
	return !charset->valid_prefix || charset->valid_prefix(charset->ctx, text, n) == n;
}

/* Are there escapes that the server encoding may lack the characters of? */
static bool
escapes_characters(const uint8_t *text, uint32_t n)
{
	const uint8_t *end = text + n;

	while ((text = (const uint8_t *) memchr(text, '\\', (size_t) (end - text))) != NULL)
	{
		if (end - text >= 2 && text[1] == 'u')
			return true;
		text += end - text >= 2 ? 2 : 1;
	}
	return false;
}

bool
pp_json_tokens_valid(JsonScan *js, uint32_t from, uint32_t to, uint32_t flags)
{
	const uint8_t *text = js->cpu.job.text;

	return !(flags & PP_JSON_ODD) &&
		(!(flags & PP_JSON_NOT_ASCII) || valid(js, text + from, to - from)) &&
		(!js->spec->charset || !escapes_characters(text + from, to - from)) &&
		tokens_are_right(&js->tokens, text, to, flags);
}

/* Goes on with the lines at pos, some of them at once. */
static SliceEnd
window(JsonScan *js)
{
	PpBackendScan *s = &js->cpu;
	PpJsonTokens *t = &js->tokens;
	const uint8_t *text = s->job.text;
	const uint32_t ncolumns = s->spec->ncolumns;
	uint32_t	from = s->pos;
	uint32_t	to = js->limit;
	uint32_t	flags;
	uint32_t	first = 0;

	if (to - from > PP_JSON_WINDOW)
	{
		to = behind_last_line(text, from, from + PP_JSON_WINDOW);
		if (to == from)
		{
			uint32_t	look = js->limit - from < PP_JSON_MAX_WINDOW ? js->limit : from + PP_JSON_MAX_WINDOW;
			const uint8_t *nl = (const uint8_t *) memchr(text + from, '\n', look - from);

			if (!nl && look < js->limit)
			{
				/* an endless line */
				js->reference_to = from + 1;
				return SLICE_GO_ON;
			}
			to = nl ? (uint32_t) (nl - text) + 1 : look;
		}
	}
	if (!pp_json_reserve_tokens(js, to - from < PP_JSON_WINDOW ? PP_JSON_WINDOW : to - from))
		return SLICE_NO_MEMORY;
	flags = js->kernels->tokens(t, text, from, to);
	if (text[to - 1] != '\n')
	{
		/* the last line has no end: as if it had */
		t->line[t->nlines++] = t->n;
		t->pos[t->n] = to;
		t->cls[t->n++] = PP_TOKEN_LINE;
	}
	if (!pp_json_tokens_valid(js, from, to, flags))
	{
		js->reference_to = to;
		return SLICE_GO_ON;
	}
	if (!pp_json_reserve_records(js, t->nlines))
		return SLICE_NO_MEMORY;

	for (uint32_t l = 0; l < t->nlines; l++)
	{
		const PpJsonRange *value;
		uint32_t	n = t->line[l] - first;
		uint32_t	line_end = t->pos[t->line[l]];

		if (n == 0)
		{
			/* a blank line */
			s->pos = line_end < s->job.len ? line_end + 1 : line_end;
			first++;
			continue;
		}
		s->record = s->pos;
		value = pp_json_shape(&js->shapes, text, t->pos + first, t->cls + first, n);
		if (PP_UNLIKELY(!value))
		{
			js->reference_to = s->pos + 1;
			return SLICE_GO_ON;
		}
		for (uint32_t c = 0; c < ncolumns; c++)
		{
			PpJsonRange *range = &js->range[c][s->nrecords];
			const uint32_t *pos = t->pos + first;

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
		count_record(js, line_end);
		first += n + 1;
		if (PP_UNLIKELY(s->nrecords >= s->spec->max_records) && s->pos < js->limit)
		{
			stop(js, PP_STOP_FULL);
			return SLICE_GO_ON;
		}
	}
	return SLICE_GO_ON;
}

static PpPoll
failed(PpBackendScan *s, const char **message)
{
	s->phase = PHASE_IDLE;
	*message = "out of memory";
	return PP_POLL_FAILED;
}

/* The lines are used up, or the batch is full, or a record is bad. */
static void
structure_end(JsonScan *js)
{
	PpBackendScan *s = &js->cpu;

	if (s->batch.stop == PP_STOP_FULL || s->batch.stop == PP_STOP_SYNTAX)
		;
	else if (s->job.last)
	{
		s->batch.stop = PP_STOP_END;
		s->record = s->job.len;
	}
	else
	{
		s->batch.stop = PP_STOP_MORE;
		s->record = s->pos;
		js->resume = true;
		js->resume_scanned = s->job.len - s->pos;
	}
	if (s->nrecords > 0 || s->record != s->job.begin || s->batch.stop == PP_STOP_SYNTAX)
		js->bom = false;
}

static PpPoll
json_poll(PpBackendScan *s, const PpBatch **batch, const char **message)
{
	JsonScan   *js = (JsonScan *) s;

	if (s->phase == PHASE_STRUCTURE)
	{
		uint32_t	until = s->pos;

		if (js->documents)
			switch (pp_json_document_slice(js))
			{
				case SLICE_NO_MEMORY:
					return failed(s, message);
				case SLICE_OVER:
					return PP_POLL_PENDING;
				case SLICE_GO_ON:
					break;
			}
		while (!js->documents && s->pos < js->limit)
		{
			SliceEnd	e;

			if (s->pos - until >= SLICE_BYTES)
				return PP_POLL_PENDING;
			if (!js->kernels || js->checking || s->pos < js->reference_to)
				e = reference_line(js, SLICE_BYTES);
			else
				e = window(js);
			if (e == SLICE_NO_MEMORY)
				return failed(s, message);
			if (e == SLICE_OVER)
				return PP_POLL_PENDING;
		}
		if (!js->documents)
			structure_end(js);
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
				switch (pp_json_convert_column(js))
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
	s->batch.eol_len = 1;
	s->batch.end = s->end;
	s->batch.ncolumns = s->spec->ncolumns;
	s->batch.column = s->data;
	s->batch.selected = s->filtered ? s->selected : NULL;
	s->batch.nselected = s->filtered ? s->nselected : s->nrecords;
	s->batch.next = s->record;
	js->batch.batch = s->batch;
	js->batch.range = (const PpJsonRange *const *) js->range;
	*batch = &js->batch.batch;
	return PP_POLL_DONE;
}

static void
json_release(PpBackendScan *s)
{
	s->phase = PHASE_IDLE;
	pp_arena_reset(&s->arena);
}

const PpBackend pp_backend_ndjson = {
	sizeof(PpBackend),
	PP_BACKEND_VERSION,
	"cpu",
	json_open,
	json_submit,
	json_poll,
	json_release,
	json_close,
	NULL
};

const PpBackend pp_backend_json = {
	sizeof(PpBackend),
	PP_BACKEND_VERSION,
	"cpu",
	document_open,
	json_submit,
	json_poll,
	json_release,
	json_close,
	NULL
};
