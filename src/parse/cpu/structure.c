/*
 * src/parse/cpu/structure.c
 *	  The structure phase of the CPU backend: lists where fields end.
 *
 * The automaton, byte by byte, is the reference.  A structure kernel takes
 * short cuts over blocks that hold nothing unusual.  With a chunk size, a
 * slice is done as ParPaRaw does it (sections 3.1 and 3.2).  Converts nothing.
 */
#include "cpu_scan.h"

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
	if (PP_MUTATED(escape_outside_quotes))
		return;					/* this bug is planted in the automaton */

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
bool
pp_cpu_structure_slice(PpBackendScan *s, uint32_t to)
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

/* One slice in many chunks, as published. */
SliceEnd
pp_cpu_structure_chunked(PpBackendScan *s, uint32_t to)
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
void
pp_cpu_structure_end(PpBackendScan *s)
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
