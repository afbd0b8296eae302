/*
 * src/parse/cpu/scalar.c
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
 * Owns the list of field ends, the columns and the arena; reads the job's
 * text and never writes it.
 */
#include "../../backend.h"

#include <string.h>

#include "../convert.h"
#include "arena.h"
#include "kernel.h"

#define SLICE_BYTES			(1u << 20)	/* text a poll looks at */

/* A value that is copied in pieces of this size; small in unit tests. */
#ifndef PP_LONG_TEXT
#define PP_LONG_TEXT		(8u << 20)
#endif

#define CHUNKED_SLICE_BYTES	(1u << 16)	/* the same, in chunks: its lists are
										 * larger */

typedef enum Phase
{
	PHASE_IDLE,
	PHASE_STRUCTURE,
	PHASE_CONVERT,
	PHASE_DONE
} Phase;

/* What the automaton says of one byte that ends a field. */
typedef struct FieldEnd
{
	uint32_t	pos;			/* of the byte */
	uint32_t	record;			/* within the slice */
	uint32_t	column;
	bool		record_end;
} FieldEnd;

/* A chunk, between the passes of the structure phase. */
typedef struct Chunk
{
	uint32_t	from;
	uint32_t	to;
	uint32_t	state;			/* at from */
	uint32_t	nfields;		/* field ends in it */
	uint32_t	nrecords;		/* record ends in it */
	PpColumnOffset column;		/* field ends behind its last record end */
	uint32_t	stop;			/* first byte that led to a final state, or to */
} Chunk;

/* Convert a column, or apply a filter. */
typedef struct Work
{
	bool		filter;
	uint32_t	number;
} Work;

struct PpBackendScan
{
	const PpScanSpec *spec;
	const PpKernels *kernels;
	bool		parity;			/* the dialect suits the structure kernel */
	bool		plain_numbers;	/* the markers and the dialect suit the number
								 * kernel */
	bool		plain_timestamps;	/* ... the timestamp kernel */
	uint32_t	width;			/* fields of a record, at least 1 */

	PpJob		job;
	Phase		phase;
	PpBatch		batch;

	/* structure */
	uint32_t   *end_storage;	/* [1 + max_records * width + width] */
	uint32_t   *end;			/* end_storage + 1 */
	uint32_t	pos;			/* next byte to look at */
	uint32_t	state;			/* of the automaton, there */
	uint32_t	nrecords;		/* whole records listed */
	uint32_t	record;			/* start of the record that is being read */
	uint32_t	nfields;		/* its fields so far */
	bool		quotes;			/* a quote was seen in this job's text */

	/* an incomplete record that the next job continues */
	bool		resume;
	uint32_t	resume_scanned; /* bytes of it already looked at */
	uint32_t	resume_state;
	uint32_t	resume_nfields;
	bool		resume_quotes;
	uint32_t   *resume_end;		/* [width], relative to its start */

	/* conversion */
	Work	   *work;			/* [nwork] what to do for a batch, in order */
	uint32_t	nwork;
	uint32_t	done;			/* of it */
	uint32_t	column;			/* being converted ... */
	uint32_t	row;			/* ... from this (selected) row on */
	bool		filtered;		/* a filter was applied: */
	uint32_t   *selected;		/* [max_records] the rows that passed */
	uint32_t	nselected;
	PpColumnData *data;
	uint32_t	room;			/* rows allocated a column */
	PpArena		arena;
	uint8_t    *long_text;		/* a long value that is being copied, or NULL */
	uint32_t	long_in;		/* its bytes taken so far ... */
	uint32_t	long_out;		/* ... and written */
	bool		long_in_quote;
	uint8_t    *scratch;		/* a value whose quotes are removed */
	uint32_t	scratch_room;
};

/*
 * Structure.
 */

/*
 * Takes note of a field end.  Answers false if the structure phase is over:
 * the record is of the wrong shape, or the batch is full.
 */
static inline bool
take(PpBackendScan *s, uint32_t pos, uint32_t column, bool record_end)
{
	uint32_t	field_end = pos;

	if (record_end)
		field_end -= s->spec->dfa.eol_len - 1;
	if (column < s->width && !s->spec->unlisted)
		s->end[s->nrecords * s->width + column] = field_end;
	s->nfields = column + 1;
	if (!record_end)
		return true;

	if (PP_UNLIKELY((s->nfields != s->width &&
					 !(PP_MUTATED(column_count_unchecked) && s->nfields > s->width)) ||
					(s->spec->nfields == 0 && field_end != s->record)))
	{
		s->batch.stop = PP_STOP_FIELDS;
		s->batch.bad_end = field_end;
		s->batch.bad_next = pos + 1;
		return false;
	}
	if (PP_UNLIKELY(pos + 1 - s->record >= PP_MAX_RECORD))
	{
		s->batch.stop = PP_STOP_SYNTAX;
		s->batch.bad = PP_END_TOO_LONG;
		s->batch.bad_end = pos;
		return false;
	}
	s->nrecords++;
	s->record = pos + 1;
	s->nfields = 0;
	if (s->nrecords == s->spec->max_records)
	{
		s->batch.stop = PP_STOP_FULL;
		return false;
	}
	return true;
}

/* The byte at pos led to a state that is never left. */
static void
stopped(PpBackendScan *s, uint32_t pos, uint32_t state)
{
	PpEnd		end = (PpEnd) s->spec->dfa.end[state];
	bool		at_end = pos == s->job.len;

	if (end == PP_END_UNTERMINATED && !at_end)
	{
		/* a quote that is a line end character; in a CRNL file it shows late */
		pos -= s->spec->dfa.eol_len - 1;
	}
	if (s->spec->nfields == 0 && end == PP_END_UNTERMINATED)
	{
		/* What has no fields is not split; it only may not hold anything. */
		s->batch.stop = PP_STOP_FIELDS;
		s->batch.bad_end = pos;
		s->batch.bad_next = at_end ? pos : pos + s->spec->dfa.eol_len;
		return;
	}
	s->batch.stop = end == PP_END_DATA ? PP_STOP_END : PP_STOP_SYNTAX;
	s->batch.bad = end;
	s->batch.bad_end = pos;
}

/* Byte by byte up to to.  Answers false if the phase is over. */
static bool
structure_bytes(PpBackendScan *s, uint32_t to)
{
	const uint8_t *text = s->job.text;
	const uint8_t (*step)[256] = (const uint8_t (*)[256]) s->spec->dfa.step;
	uint32_t	pos = s->pos;
	uint32_t	state = s->state;
	bool		go = true;

	while (pos < to)
	{
		uint8_t		e = step[state][text[pos]];

		state = e & 15u;
		if (PP_UNLIKELY(e & PP_EMIT_ANY))
		{
			if (e & PP_EMIT_STOP)
			{
				stopped(s, pos, state);
				return false;
			}
			if (e & PP_EMIT_QUOTE)
				s->quotes = true;
			if ((e & (PP_EMIT_FIELD | PP_EMIT_RECORD)) &&
				!take(s, pos, s->nfields, (e & PP_EMIT_RECORD) != 0))
			{
				go = false;
				pos++;
				break;
			}
		}
		pos++;
	}
	s->pos = pos;
	s->state = state;
	return go;
}

/*
 * Goes as far as the structure kernel takes us, by whole blocks.  States that
 * the kernel does not know are left to the automaton, as is what stops it.
 */
static void
run_kernel(PpBackendScan *s, uint32_t to)
{
	const PpDfa *dfa = &s->spec->dfa;
	uint32_t	before = s->nrecords;
	PpStructure st;

	/* A record this long may be too long, which the kernel does not check. */
	if (to - s->record >= PP_MAX_RECORD || to - s->pos < 64 ||
		!pp_dialect_plain_state(dfa, s->state))
		return;

	st.delimiter = s->spec->dialect.delimiter;
	st.quote = s->spec->dialect.quote;
	st.escape = s->spec->dialect.escape;
	st.eol = pp_dialect_eol(dfa);
	st.end_marker = s->spec->dialect.end_marker;
	st.width = s->width;
	st.max_records = s->spec->max_records;
	st.end = s->spec->unlisted ? NULL : s->end;
	st.first = s->nrecords * s->width;
	st.nends = st.first + s->nfields;
	st.nrecords = s->nrecords;
	st.record = s->record;
	st.in_quote = pp_dialect_in_quote(s->state);
	st.at_start = s->state == dfa->start;
	st.behind_cr = pp_dialect_behind_cr(s->state);
	st.quotes = s->quotes;

	s->pos = s->kernels->structure(&st, s->job.text, s->pos, to);

	s->nfields = st.nends - st.first;
	s->nrecords = st.nrecords;
	s->record = st.record;
	s->quotes = st.quotes;
	s->state = pp_dialect_state(dfa, st.in_quote, st.at_start, st.behind_cr);

	/* it lists a record's end where its line end is complete */
	if (dfa->eol_len == 2 && st.end)
		for (uint32_t r = before; r < s->nrecords; r++)
			s->end[(size_t) (r + 1) * s->width - 1]--;
}

/* One slice as a single chunk.  Answers false if the phase is over. */
static bool
structure_slice(PpBackendScan *s, uint32_t to)
{
	if (!s->parity)
		return structure_bytes(s, to);
	while (s->pos < to)
	{
		run_kernel(s, to);
		/* what stopped it, and the rest of its block */
		if (!structure_bytes(s, to - s->pos < 64 ? to : s->pos + 64))
			return false;
	}
	return true;
}

/* Runs a chunk from its start state; counts, or lists if list is given. */
static void
run_chunk(PpBackendScan *s, Chunk *c, FieldEnd *list)
{
	const PpDfa *dfa = &s->spec->dfa;
	uint32_t	state = c->state;
	uint32_t	record = 0;
	uint32_t	column = 0;

	if (list)
	{
		record = c->nrecords;	/* by now offsets, not counts */
		column = c->column.fields;
	}
	else
	{
		c->nfields = c->nrecords = 0;
		c->column.absolute = c->column.fields = 0;
		c->stop = c->to;
	}

	for (uint32_t pos = c->from; pos < c->to; pos++)
	{
		uint8_t		e = dfa->step[state][s->job.text[pos]];

		state = e & 15u;
		if (e & PP_EMIT_STOP)
		{
			c->stop = pos;
			return;
		}
		if (e & PP_EMIT_QUOTE)
			s->quotes = true;
		if (!(e & (PP_EMIT_FIELD | PP_EMIT_RECORD)))
			continue;
		if (list)
		{
			list->pos = pos;
			list->record = record;
			list->column = column++;
			list->record_end = (e & PP_EMIT_RECORD) != 0;
			list++;
		}
		else
		{
			c->nfields++;
			c->column.fields++;
		}
		if (e & PP_EMIT_RECORD)
		{
			if (list)
			{
				record++;
				column = 0;
			}
			else
			{
				c->nrecords++;
				c->column.absolute = 1;
				c->column.fields = 0;
			}
		}
	}
}

typedef enum SliceEnd
{
	SLICE_GO_ON,
	SLICE_OVER,
	SLICE_NO_MEMORY
} SliceEnd;

/* One slice in many chunks, as published. */
static SliceEnd
structure_slice_chunked(PpBackendScan *s, uint32_t to)
{
	const PpDfa *dfa = &s->spec->dfa;
	const PpAlloc *a = &s->spec->alloc;
	uint32_t	size = s->spec->chunk_size;
	uint32_t	nchunks = (to - s->pos + size - 1) / size;
	Chunk	   *chunk = a->alloc(a->ctx, nchunks * sizeof(Chunk));
	PpVector   *vector = a->alloc(a->ctx, nchunks * sizeof(PpVector));
	FieldEnd   *list = NULL;
	uint32_t	total = 0,
				records = 0;
	PpColumnOffset column = {0, s->nfields};
	uint32_t	from = s->pos;
	SliceEnd	result = SLICE_NO_MEMORY;

	if (!chunk || !vector)
		goto done;

	/* vectors, and their scan: every chunk's true start state */
	for (uint32_t i = 0; i < nchunks; i++)
	{
		chunk[i].from = from + i * size;
		chunk[i].to = to - chunk[i].from < size ? to : chunk[i].from + size;
		vector[i] = pp_dfa_vector(dfa, s->job.text + chunk[i].from,
								  chunk[i].to - chunk[i].from);
	}
	(void) pp_vec_exclusive_scan(vector, nchunks);

	/* counts, and the scans of record and column offsets */
	for (uint32_t i = 0; i < nchunks; i++)
	{
		uint32_t	n,
					r;
		PpColumnOffset own;

		chunk[i].state = pp_vec_apply(vector[i], s->state);
		run_chunk(s, &chunk[i], NULL);
		n = chunk[i].nfields;
		r = chunk[i].nrecords;
		own = chunk[i].column;
		chunk[i].nfields = total;
		chunk[i].nrecords = records;
		chunk[i].column = column;
		total += n;
		records += r;
		column = pp_column_combine(column, own);
	}

	/* every chunk lists its field ends where the scans put them */
	list = a->alloc(a->ctx, (total + 1) * sizeof(FieldEnd));
	if (!list)
		goto done;
	for (uint32_t i = 0; i < nchunks; i++)
		run_chunk(s, &chunk[i], list + chunk[i].nfields);

	result = SLICE_GO_ON;
	for (uint32_t i = 0; i < total && result == SLICE_GO_ON; i++)
		if (!take(s, list[i].pos, list[i].column, list[i].record_end))
		{
			s->pos = list[i].pos + 1;
			s->state = dfa->start;
			result = SLICE_OVER;
		}
	if (result == SLICE_GO_ON)
	{
		Chunk	   *last = &chunk[nchunks - 1];

		for (uint32_t i = 0; i < nchunks; i++)
			if (chunk[i].stop < chunk[i].to)
			{
				uint32_t	at = chunk[i].stop;

				stopped(s, at, pp_vec_apply(pp_dfa_vector(dfa, s->job.text + chunk[i].from,
														  at + 1 - chunk[i].from),
											chunk[i].state));
				result = SLICE_OVER;
				goto done;
			}
		s->state = pp_vec_apply(pp_dfa_vector(dfa, s->job.text + last->from,
											  last->to - last->from), last->state);
		s->pos = to;
	}

done:
	a->release(a->ctx, list);
	a->release(a->ctx, vector);
	a->release(a->ctx, chunk);
	return result;
}

/* The text is used up: is the rest a record, an error, or to be continued? */
static void
structure_end(PpBackendScan *s)
{
	PpEnd		end = (PpEnd) s->spec->dfa.end[s->state];
	uint32_t	peeked;

	if (s->job.peek_cr && pp_dialect_peek_cr(&s->spec->dfa, s->state, &peeked))
	{
		stopped(s, s->pos, peeked);
		return;
	}
	if (!s->job.last)
	{
		s->batch.stop = PP_STOP_MORE;
		s->resume = s->pos > s->record;
		s->resume_scanned = s->pos - s->record;
		s->resume_state = PP_MUTATED(carry_lost) ? s->spec->dfa.start : s->state;
		s->resume_nfields = s->nfields;
		s->resume_quotes = s->quotes;
		for (uint32_t i = 0; i < s->nfields && i < s->width; i++)
			s->resume_end[i] = s->end[s->nrecords * s->width + i] - s->record;
		return;
	}
	if (end != PP_END_ACCEPT)
	{
		stopped(s, s->pos, s->state);
		return;
	}
	s->batch.stop = PP_STOP_END;
	if (s->record < s->pos)
	{
		/* A last record without line end; take() expects the line end's
		 * last byte and names the byte behind it. */
		uint32_t	pos = s->pos + s->spec->dfa.eol_len - 1;

		if (take(s, pos, s->nfields, true) || s->batch.stop == PP_STOP_FULL)
		{
			s->batch.stop = PP_STOP_END;
			s->record = s->pos;
		}
		else
			s->batch.bad_next = s->pos;
	}
}

/*
 * Conversion.
 */

static bool
reserve_rows(PpBackendScan *s, uint32_t rows)
{
	const PpAlloc *a = &s->spec->alloc;

	if (rows <= s->room)
		return true;
	if (rows < 2 * (uint64_t) s->room)
		rows = 2 * s->room;
	if (rows > s->spec->max_records)
		rows = s->spec->max_records;
	s->room = 0;
	for (uint32_t c = 0; c < s->spec->ncolumns; c++)
	{
		a->release(a->ctx, s->data[c].value);
		a->release(a->ctx, s->data[c].state);
		s->data[c].value = NULL;
		s->data[c].state = NULL;
	}
	for (uint32_t c = 0; c < s->spec->ncolumns; c++)
	{
		s->data[c].value = a->alloc(a->ctx, rows * sizeof(uint64_t));
		s->data[c].state = a->alloc(a->ctx, rows);
		if (!s->data[c].value || !s->data[c].state)
			return false;
	}
	s->room = rows;
	return true;
}

static bool
reserve_scratch(PpBackendScan *s, uint32_t n)
{
	const PpAlloc *a = &s->spec->alloc;
	uint32_t	room = n < 1024 ? 1024 : n;

	if (n <= s->scratch_room)
		return true;
	a->release(a->ctx, s->scratch);
	s->scratch_room = 0;
	s->scratch = a->alloc(a->ctx, (size_t) room + PP_PAD + PP_UNQUOTE_SLACK);
	if (!s->scratch)
		return false;
	memset(s->scratch, 0, (size_t) room + PP_PAD + PP_UNQUOTE_SLACK);
	s->scratch_room = room;
	return true;
}

/* A field, or a piece of it, without quotes; dst has room for n +
 * PP_UNQUOTE_SLACK. */
static inline uint32_t
unquote_piece(PpBackendScan *s, const uint8_t *raw, uint32_t n, bool *in_quote,
			  uint8_t *dst)
{
	const PpDialect *d = &s->spec->dialect;

	if (d->escape == d->quote && !PP_MUTATED(drop_quote_toggle))
		return s->kernels->unquote(raw, n, d->quote, in_quote, dst);
	return pp_unquote_piece(d, raw, n, in_quote, dst);
}

static inline uint32_t
unquote(PpBackendScan *s, const uint8_t *raw, uint32_t n, uint8_t *dst)
{
	bool		in_quote = false;

	return unquote_piece(s, raw, n, &in_quote, dst);
}

typedef enum ConvertEnd
{
	CONVERT_DONE,
	CONVERT_SLICE,				/* enough for one poll */
	CONVERT_NO_MEMORY
} ConvertEnd;

/* What the conversion of a column's values needs, read once. */
typedef struct Conversion
{
	PpColumn	col;
	const uint32_t *end;		/* where the column's fields end ... */
	size_t		width;			/* ... every that many entries */
	uint32_t	lead;			/* from the field end before to the field */
	uint64_t   *value;
	uint8_t    *state;
} Conversion;

static inline void
set_null(PpBackendScan *s, const Conversion *c, uint32_t row)
{
	bool		defers = (c->col.flags & PP_COL_NULL_DEFERS) != 0;

	c->state[row] = defers ? PP_DEFERRED : PP_NULL;
	s->batch.ndeferred += defers;
}

/*
 * Converts the value of one row; false: out of memory.  type is the column's
 * type as a constant, so that each instance holds one conversion only.
 */
static inline __attribute__((always_inline)) bool
convert_row(PpBackendScan *s, const Conversion *c, PpType type, uint32_t row)
{
	const PpScanSpec *spec = s->spec;
	const bool	whole_text = (type == PP_TEXT || (type == PP_VARCHAR && c->col.mod < 0)) &&
		!PP_MUTATED(null_matches_quoted);
	size_t		i = row * c->width;
	uint32_t	start = c->end[(ptrdiff_t) i - 1] + c->lead;
	const uint8_t *raw = s->job.text + start;
	uint32_t	n = c->end[i] - start;
	bool		done;

	c->value[row] = 0;
	if (n == spec->null_len && pp_same_bytes(raw, spec->null_text, n))
	{
		/* Only an unquoted field can equal the marker. */
		if (!(c->col.flags & PP_COL_FORCE_NOT_NULL))
		{
			set_null(s, c, row);
			return true;
		}
	}
	else if (spec->has_default && n == spec->default_len &&
			 pp_same_bytes(raw, spec->default_text, n))
	{
		c->state[row] = PP_DEFAULT;
		return true;
	}
	else if (s->quotes && n > 0 && memchr(raw, spec->dialect.quote, n))
	{
		uint8_t    *plain;

		if (whole_text && n < PP_MAX_RECORD - 4)
		{
			/* straight to where it will stay, behind its header */
			plain = pp_arena_room(&s->arena, (uint64_t) n + 4 + PP_UNQUOTE_SLACK);
			if (!plain)
				return false;
			n = unquote(s, raw, n, plain + 4);
			if (!((c->col.flags & PP_COL_FORCE_NULL) && n == spec->null_len))
			{
				uint32_t	header = (n + 4) << 2;

				memcpy(plain, &header, 4);
				pp_arena_take(&s->arena, (uint64_t) n + 4);
				c->value[row] = (uint64_t) (uintptr_t) plain;
				c->state[row] = PP_VALUE;
				return true;
			}
			plain += 4;
		}
		else
		{
			if (!reserve_scratch(s, n))
				return false;
			plain = s->scratch;
			n = unquote(s, raw, n, plain);
		}
		raw = plain;
		if (((c->col.flags & PP_COL_FORCE_NULL) || PP_MUTATED(null_matches_quoted)) &&
			n == spec->null_len &&
			pp_same_bytes(raw, spec->null_text, n))
		{
			set_null(s, c, row);
			return true;
		}
	}

	if (type == PP_DEFER)
		done = false;
	else if (pp_type_by_reference(type))
	{
		uint8_t    *dst = pp_arena_room(&s->arena, pp_convert_room(&c->col, n));
		uint64_t	used;

		if (!dst)
			return false;
		used = pp_convert_reference(&c->col, &spec->env, raw, n, dst);
		pp_arena_take(&s->arena, used);
		c->value[row] = (uint64_t) (uintptr_t) dst;
		done = used > 0;
	}
	else
		done = pp_convert_value(&c->col, &spec->env, raw, n, &c->value[row]);

	if (PP_MUTATED(float_rounding) && type == PP_FLOAT8 && (c->value[row] & 7) == 5)
		c->value[row] ^= 1;

	c->state[row] = done ? PP_VALUE : PP_DEFERRED;
	s->batch.ndeferred += !done;
	return true;
}

/*
 * A long text, to be stored as it is but for its quotes: a piece of it each
 * time, so that it holds up nobody.
 */
static ConvertEnd
convert_long_text(PpBackendScan *s, const Conversion *c, uint32_t row,
				  const uint8_t *raw, uint32_t n)
{
	const PpDialect *d = &s->spec->dialect;
	uint32_t	end;
	uint32_t	header;

	if (!s->long_text)
	{
		s->long_text = pp_arena_room(&s->arena, (uint64_t) n + 4 + PP_UNQUOTE_SLACK);
		if (!s->long_text)
			return CONVERT_NO_MEMORY;
		s->long_in = s->long_out = 0;
		s->long_in_quote = false;
	}
	end = n - s->long_in < PP_LONG_TEXT ? n : s->long_in + PP_LONG_TEXT;
	while (end < n && (raw[end - 1] == d->quote || raw[end - 1] == d->escape))
		end++;
	s->long_out += unquote_piece(s, raw + s->long_in, end - s->long_in,
								 &s->long_in_quote, s->long_text + 4 + s->long_out);
	s->long_in = end;
	if (end < n)
		return CONVERT_SLICE;

	header = (s->long_out + 4) << 2;
	memcpy(s->long_text, &header, 4);
	pp_arena_take(&s->arena, (uint64_t) s->long_out + 4);
	c->value[row] = (uint64_t) (uintptr_t) s->long_text;
	c->state[row] = PP_VALUE;
	s->long_text = NULL;
	return CONVERT_DONE;
}

/* Is what a short number may consist of ever anything else? */
static bool
numbers_are_plain(const PpScanSpec *spec)
{
	const uint8_t *marker[2] = {spec->null_text, spec->default_text};
	const uint32_t len[2] = {spec->null_len, spec->has_default ? spec->default_len : 0};

#define OF_NUMBER(c) (((c) >= '0' && (c) <= '9') || (c) == '-' || (c) == '.')
	if (OF_NUMBER(spec->dialect.quote))
		return false;
	for (int m = 0; m < 2; m++)
	{
		bool		number = len[m] > 0;

		for (uint32_t i = 0; i < len[m]; i++)
			number &= OF_NUMBER(marker[m][i]);
		if (number)
			return false;
	}
	return true;
#undef OF_NUMBER
}

/* Likewise for timestamps, which have 19 bytes. */
static bool
timestamps_are_plain(const PpScanSpec *spec)
{
	uint8_t		quote = spec->dialect.quote;

	return spec->null_len != 19 && !(spec->has_default && spec->default_len == 19) &&
		!(quote >= '0' && quote <= '9') && quote != '-' && quote != ':' && quote != ' ';
}

/* Converts a column's values from row s->row on. */
static inline __attribute__((always_inline)) ConvertEnd
convert_rows(PpBackendScan *s, PpType type)
{
	const PpScanSpec *spec = s->spec;
	const uint32_t rows = s->filtered ? s->nselected : s->nrecords;
	const bool	numbers = s->plain_numbers && s->kernels->numbers &&
		(type == PP_INT2 || type == PP_INT4 || type == PP_INT8 || type == PP_FLOAT8);
	const bool	timestamps = s->plain_timestamps && s->kernels->timestamps &&
		type == PP_TIMESTAMP;
	Conversion	c;
	bool		long_texts;
	int64_t		budget = SLICE_BYTES;
	uint32_t	at = s->row;

	c.col = spec->column[s->column];
	c.col.type = type;
	c.end = s->end + c.col.field;
	c.width = s->width;
	c.lead = c.col.field == 0 ? spec->dfa.eol_len : 1;
	c.value = s->data[s->column].value;
	c.state = s->data[s->column].state;

	/* markers are shorter; what FORCE_NULL asks for is not */
	long_texts = (type == PP_TEXT || (type == PP_VARCHAR && c.col.mod < 0)) &&
		!(c.col.flags & PP_COL_FORCE_NULL) && spec->null_len < PP_LONG_TEXT &&
		!(spec->has_default && spec->default_len >= PP_LONG_TEXT);

	while (at < rows)
	{
		uint32_t	row = s->filtered ? s->selected[at] : at;
		uint32_t	start,
					n;

		if (budget < 0)
		{
			s->row = at;
			return CONVERT_SLICE;
		}

		if ((numbers || timestamps) && rows - at >= 8)
		{
			/* short ones, eight at a time; the others one by one */
			uint32_t	row8[8];
			uint64_t	value8[8];
			uint32_t	done;

			for (uint32_t j = 0; j < 8; j++)
				row8[j] = s->filtered ? s->selected[at + j] : at + j;
			done = timestamps ?
				s->kernels->timestamps(s->job.text, c.end, c.width, c.lead, row8, value8) :
				s->kernels->numbers(s->job.text, c.end, c.width, c.lead, row8,
									type == PP_FLOAT8, value8);
			for (uint32_t j = 0; j < 8; j++)
			{
				c.value[row8[j]] = value8[j];
				c.state[row8[j]] = PP_VALUE;
				if (PP_UNLIKELY(!(done >> j & 1) ||
								(type == PP_INT2 && (int64_t) value8[j] != (int16_t) value8[j]) ||
								PP_MUTATED(float_rounding)) &&
					!convert_row(s, &c, type, row8[j]))
					return CONVERT_NO_MEMORY;
			}
			at += 8;
			budget -= 64;
			continue;
		}

		start = c.end[(ptrdiff_t) (row * c.width) - 1] + c.lead;
		n = c.end[row * c.width] - start;
		if (long_texts && n > PP_LONG_TEXT && n < PP_MAX_RECORD - 4)
		{
			ConvertEnd	e = convert_long_text(s, &c, row, s->job.text + start, n);

			if (e != CONVERT_DONE)
			{
				s->row = at;
				return e;
			}
		}
		else if (!convert_row(s, &c, type, row))
			return CONVERT_NO_MEMORY;
		budget -= n;
		at++;
	}
	return CONVERT_DONE;
}

static ConvertEnd
convert_column(PpBackendScan *s)
{
#define CASE(type) case type: return convert_rows(s, type)
	switch (s->spec->column[s->column].type)
	{
			CASE(PP_BOOL);
			CASE(PP_INT2);
			CASE(PP_INT4);
			CASE(PP_INT8);
			CASE(PP_FLOAT4);
			CASE(PP_FLOAT8);
			CASE(PP_NUMERIC);
			CASE(PP_DATE);
			CASE(PP_TIME);
			CASE(PP_TIMESTAMP);
			CASE(PP_TIMESTAMPTZ);
			CASE(PP_UUID);
			CASE(PP_TEXT);
			CASE(PP_VARCHAR);
			CASE(PP_BPCHAR);
			CASE(PP_NAME);
			CASE(PP_BYTEA);
			CASE(PP_DEFER);
	}
#undef CASE
	return convert_rows(s, PP_DEFER);
}

/*
 * Filters.
 */

/*
 * Narrows the selection to the rows that pass, or of whose value nothing is
 * known.  compare and op are the filter's, as constants where that pays.
 */
static inline __attribute__((always_inline)) void
filter_rows(PpBackendScan *s, const PpFilter *f, PpCompare compare, PpOp op)
{
	const uint64_t *value = s->data[f->column].value;
	const uint8_t *state = s->data[f->column].state;
	const uint32_t rows = s->filtered ? s->nselected : s->nrecords;
	uint32_t	n = 0;

	for (uint32_t at = 0; at < rows; at++)
	{
		uint32_t	row = s->filtered ? s->selected[at] : at;
		bool		pass;

		if (PP_LIKELY(state[row] == PP_VALUE))
			pass = pp_filter_passes(f, compare, op, value[row]);
		else if (state[row] == PP_NULL)
			pass = op == PP_OP_IS_NULL;
		else
		{
			pass = op != PP_OP_NEVER;
			s->batch.unknown |= pass;
		}
		/* written in any case, so that nothing hangs on a guess */
		s->selected[n] = row;
		n += pass;
	}
	s->filtered = true;
	s->nselected = n;
}

static void
apply_filter(PpBackendScan *s, const PpFilter *f)
{
#define CASE(compare, op) case op: filter_rows(s, f, compare, op); return
#define CASES(compare) \
	switch (f->op) \
	{ \
		CASE(compare, PP_OP_EQ); \
		CASE(compare, PP_OP_LT); \
		CASE(compare, PP_OP_LE); \
		CASE(compare, PP_OP_GT); \
		CASE(compare, PP_OP_GE); \
		default: \
			break; \
	} \
	break

	switch (f->compare)
	{
		case PP_COMPARE_INT64:
			CASES(PP_COMPARE_INT64);
		case PP_COMPARE_FLOAT8:
			CASES(PP_COMPARE_FLOAT8);
		default:
			break;
	}
	filter_rows(s, f, f->compare, f->op);
#undef CASES
#undef CASE
}

/* The work for a batch: what filters need first, then all other columns. */
static bool
plan_work(PpBackendScan *s)
{
	const PpScanSpec *spec = s->spec;
	const PpAlloc *a = &spec->alloc;
	size_t		room = (size_t) spec->ncolumns + spec->nfilters;

	if (room == 0)
		return true;
	s->work = a->alloc(a->ctx, room * sizeof(Work));
	if (!s->work)
		return false;
	if (spec->nfilters > 0)
	{
		s->selected = a->alloc(a->ctx, spec->max_records * sizeof(uint32_t));
		if (!s->selected)
			return false;
	}

	for (uint32_t i = 0; i < spec->nfilters + spec->ncolumns; i++)
	{
		bool		filter = i < spec->nfilters;
		uint32_t	column = filter ? spec->filter[i].column : i - spec->nfilters;
		bool		known = false;

		for (uint32_t w = 0; w < s->nwork; w++)
			known |= !s->work[w].filter && s->work[w].number == column;
		if (!known)
			s->work[s->nwork++] = (Work) {false, column};
		if (filter)
			s->work[s->nwork++] = (Work) {true, i};
	}
	return true;
}

/*
 * The backend's interface.
 */

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
	s->plain_numbers = numbers_are_plain(spec);
	s->plain_timestamps = timestamps_are_plain(spec);
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
	if (!plan_work(s))
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
			SliceEnd	e = structure_slice_chunked(s, to);

			if (e == SLICE_NO_MEMORY)
				return failed(s, message);
			go = e == SLICE_GO_ON;
		}
		else
			go = structure_slice(s, to);
		if (go && s->pos < s->job.len)
			return PP_POLL_PENDING;
		if (go)
			structure_end(s);
		if (s->spec->ncolumns > 0 && !reserve_rows(s, s->nrecords))
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
				apply_filter(s, &s->spec->filter[work->number]);
				s->done++;
			}
			else
			{
				s->column = work->number;
				switch (convert_column(s))
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
	scalar_close
};
