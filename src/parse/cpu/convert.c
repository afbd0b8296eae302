/*
 * src/parse/cpu/convert.c
 *	  The conversion phase of the CPU backend: fills columns, applies filters.
 *
 * Works column by column over the list that the structure phase made, for the
 * records that filters have left.  What it cannot convert it hands over.
 */
#include <string.h>

#include "../convert.h"
#include "cpu_scan.h"

/* A value that is copied in pieces of this size; small in unit tests. */
#ifndef PP_LONG_TEXT
#define PP_LONG_TEXT		(8u << 20)
#endif

bool
pp_cpu_reserve_rows(PpBackendScan *s, uint32_t rows)
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

	if (PP_MUTATED(drop_quote_toggle))
		return pp_unquote_piece(d, raw, n, in_quote, dst);
	if (d->escape == d->quote)
		return s->kernels->unquote(raw, n, d->quote, in_quote, dst);
	return s->kernels->unescape(raw, n, d->quote, d->escape, in_quote, dst);
}

static inline uint32_t
unquote(PpBackendScan *s, const uint8_t *raw, uint32_t n, uint8_t *dst)
{
	bool		in_quote = false;

	return unquote_piece(s, raw, n, &in_quote, dst);
}

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
bool
pp_cpu_numbers_are_plain(const PpScanSpec *spec)
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
bool
pp_cpu_timestamps_are_plain(const PpScanSpec *spec)
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
			uint64_t   *value = s->filtered ? value8 : c.value + at;
			uint32_t	done;

			for (uint32_t j = 0; j < 8; j++)
				row8[j] = s->filtered ? s->selected[at + j] : at + j;
			done = timestamps ?
				s->kernels->timestamps(s->job.text, c.end, c.width, c.lead, row8, value) :
				s->kernels->numbers(s->job.text, c.end, c.width, c.lead, row8,
									type == PP_FLOAT8, value);
			if (s->filtered)
				for (uint32_t j = 0; j < 8; j++)
				{
					c.value[row8[j]] = value8[j];
					c.state[row8[j]] = PP_VALUE;
				}
			else
				memset(c.state + at, PP_VALUE, 8);
			if (type == PP_INT2)
				for (uint32_t j = 0; j < 8; j++)
					done &= ~((uint32_t) (value[j] + 0x8000 > 0xffff) << j);
			if (PP_MUTATED(float_rounding))
				done = 0;
			for (uint32_t left = ~done & 0xff; PP_UNLIKELY(left != 0); left &= left - 1)
				if (!convert_row(s, &c, type, row8[pp_ctz64(left) & 7]))
					return CONVERT_NO_MEMORY;
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

ConvertEnd
pp_cpu_convert_column(PpBackendScan *s)
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

void
pp_cpu_apply_filter(PpBackendScan *s, const PpFilter *f)
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
bool
pp_cpu_plan_work(PpBackendScan *s)
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
