/*
 * src/parse/json/json_convert.c
 *	  Values to columns: what json_populate_record() does for scalar types,
 *	  where it can be done exactly.
 */
#include <string.h>

#include "../convert.h"
#include "json_scan.h"

static bool
reserve_scratch(PpBackendScan *s, uint32_t n)
{
	const PpAlloc *a = &s->spec->alloc;
	uint32_t	room = n < 1024 ? 1024 : n;

	if (n <= s->scratch_room)
		return true;
	a->release(a->ctx, s->scratch);
	s->scratch_room = 0;
	s->scratch = (uint8_t *) a->alloc(a->ctx, (size_t) room + PP_PAD + PP_UNQUOTE_SLACK);
	if (!s->scratch)
		return false;
	memset(s->scratch, 0, (size_t) room + PP_PAD + PP_UNQUOTE_SLACK);
	s->scratch_room = room;
	return true;
}

/* The eight digits in a word, less '0' each, the first in the lowest byte. */
static inline uint64_t
eight_digits(uint64_t v)
{
	v = v * 10 + (v >> 8);
	return (((v & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
			 ((v >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >> 32);
}

/* The n digits at p, at most eight, less '0' each, behind zeros. */
static inline uint64_t
load_digits(const uint8_t *p, uint32_t n)
{
	uint64_t	v;

	memcpy(&v, p, 8);
	return (v ^ UINT64_C(0x3030303030303030)) << (64 - 8 * n);
}

/* Are all of them at most 9? */
static inline bool
all_digits(uint64_t v)
{
	return ((v | (v + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080)) == 0;
}

/*
 * A number of the record, from nine bytes on: seven digits at most, a decimal
 * point, eight at most; or, as an integer, at most sixteen digits.  False: it is
 * none of these.  Fifteen digits as an integer are a double, and so is the
 * power of ten behind the point; so their quotient is the nearest one.
 */
static inline bool
longer_number(const uint8_t *raw, uint32_t n, bool real, uint64_t *value)
{
	static const double power[9] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
	static const uint32_t power_int[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
	const uint64_t ones = UINT64_C(0x0101010101010101);
	bool		negative = raw[0] == '-';
	uint64_t	head,
				tail,
				point;
	uint32_t	before,
				behind;

	if (n < 9)
		return false;
	raw += negative;
	n -= negative;
	if (!real)
	{
		if (n < 9 || n > 16)
			return false;
		head = load_digits(raw, n - 8);
		tail = load_digits(raw + n - 8, 8);
		if (!all_digits(head) || !all_digits(tail))
			return false;
		head = eight_digits(head) * 100000000 + eight_digits(tail);
		*value = negative ? 0 - head : head;
		return true;
	}
	memcpy(&point, raw, 8);
	point ^= ones * '.';
	point = (point - ones) & ~point & (ones << 7);
	if (point == 0)
		return false;
	before = (uint32_t) __builtin_ctzll(point) / 8;
	if (before == 0 || before + 1 >= n || n - before > 9)
		return false;
	behind = n - before - 1;
	head = load_digits(raw, before);
	tail = load_digits(raw + before + 1, behind);
	if (!all_digits(head) || !all_digits(tail))
		return false;
	head = eight_digits(head) * power_int[behind] + eight_digits(tail);
	{
		double		quotient = (double) head / power[behind];

		quotient = negative ? -quotient : quotient;
		memcpy(value, &quotient, 8);
	}
	return true;
}

/* A string's characters; dst has room for n + PP_UNQUOTE_SLACK. */
static inline uint32_t
unescape(JsonScan *js, const uint8_t *raw, uint32_t n, uint8_t *dst)
{
	return js->kernels ? js->kernels->unescape(raw, n, dst) : pp_json_unescape(raw, n, dst);
}

/*
 * Converts the value of one row; false: out of memory.  type is the column's
 * type as a constant, so that each instance holds one conversion only.
 */
static inline __attribute__((always_inline)) bool
convert_row(JsonScan *js, const PpColumn *col, const PpJsonColumn *json, PpType type,
			PpColumnData *data, PpJsonRange range, uint32_t row)
{
	PpBackendScan *s = &js->cpu;
	const uint8_t *raw = s->job.text + range.start;
	uint32_t	n = range.end - range.start;
	const bool	whole_text = type == PP_TEXT || (type == PP_VARCHAR && col->mod < 0);
	bool		done;

	data->value[row] = 0;
	/* of values, only null begins with n */
	if (n == 0 || (raw[0] == 'n' && json->nsteps > 0))
	{
		bool		defers = (col->flags & PP_COL_NULL_DEFERS) != 0;

		data->state[row] = defers ? PP_DEFERRED : PP_NULL;
		s->batch.ndeferred += defers;
		return true;
	}
	if (type != PP_DEFER && raw[0] == '"')
	{
		/* what escapes stand for is not for here to tell in other encodings */
		if (js->spec->charset && memchr(raw, '\\', n))
		{
			data->state[row] = PP_DEFERRED;
			s->batch.ndeferred++;
			return true;
		}
		if (json->as_json)
		{
			if (json->nsteps > 0 && memchr(raw, '\\', n))
			{
				data->state[row] = PP_DEFERRED;
				s->batch.ndeferred++;
				return true;
			}
		}
		else
		{
			raw++;
			n -= 2;
			if (whole_text && n < PP_MAX_RECORD - 4)
			{
				/* straight to where it will stay, behind its header */
				uint8_t    *dst = pp_arena_room(&s->arena, (uint64_t) n + 4 + PP_UNQUOTE_SLACK);
				uint32_t	header;

				if (!dst)
					return false;
				n = unescape(js, raw, n, dst + 4);
				header = (n + 4) << 2;
				memcpy(dst, &header, 4);
				pp_arena_take(&s->arena, (uint64_t) n + 4);
				data->value[row] = (uint64_t) (uintptr_t) dst;
				data->state[row] = PP_VALUE;
				return true;
			}
			if (memchr(raw, '\\', n))
			{
				if (!reserve_scratch(s, n))
					return false;
				n = unescape(js, raw, n, s->scratch);
				raw = s->scratch;
			}
		}
	}

	if (type == PP_DEFER)
		done = false;
	else if (pp_type_by_reference(type))
	{
		uint8_t    *dst = pp_arena_room(&s->arena, pp_convert_room(col, n));
		uint64_t	used;

		if (!dst)
			return false;
		used = pp_convert_reference(col, &s->spec->env, raw, n, dst);
		pp_arena_take(&s->arena, used);
		data->value[row] = (uint64_t) (uintptr_t) dst;
		done = used > 0;
	}
	else
		done = pp_convert_value(col, &s->spec->env, raw, n, &data->value[row]);
	data->state[row] = done ? PP_VALUE : PP_DEFERRED;
	s->batch.ndeferred += !done;
	return true;
}

/* Converts a column's values from row cpu.row on. */
static inline __attribute__((always_inline)) ConvertEnd
convert_rows(JsonScan *js, PpType type)
{
	PpBackendScan *s = &js->cpu;
	const uint32_t rows = s->filtered ? s->nselected : s->nrecords;
	const PpJsonColumn *json = &js->spec->column[s->column];
	const PpJsonRange *range = js->range[s->column];
	PpColumnData *data = &s->data[s->column];
	/* a range is two words: it looks like a list of fields of width 2 */
	const uint32_t *end = &range[0].end;
	const bool	numbers = js->kernels && s->kernels->numbers &&
		(type == PP_INT2 || type == PP_INT4 || type == PP_INT8 || type == PP_FLOAT8);
	PpColumn	col = s->spec->column[s->column];
	int64_t		budget = SLICE_BYTES;
	uint32_t	at = s->row;

	col.type = type;
	while (at < rows)
	{
		uint32_t	row = s->filtered ? s->selected[at] : at;

		if (budget < 0)
		{
			s->row = at;
			return CONVERT_SLICE;
		}
		if (numbers && rows - at >= 8)
		{
			/* short ones, eight at a time; the others one by one */
			uint32_t	row8[8];
			uint64_t	value8[8];
			uint64_t   *value = s->filtered ? value8 : data->value + at;
			uint32_t	done;

			for (uint32_t j = 0; j < 8; j++)
				row8[j] = s->filtered ? s->selected[at + j] : at + j;
			done = s->kernels->numbers(s->job.text, end, 2, 0, row8, type == PP_FLOAT8, value);
			for (uint32_t j = 0; s->filtered && j < 8; j++)
				data->value[row8[j]] = value8[j];
			for (uint32_t j = 0; j < 8; j++)
				data->state[row8[j]] = PP_VALUE;
			if (type == PP_INT2)
				for (uint32_t j = 0; j < 8; j++)
					done &= ~((uint32_t) (value[j] + 0x8000 > 0xffff) << j);
			for (uint32_t left = ~done & 0xff; left != 0; left &= left - 1)
			{
				row = row8[__builtin_ctz(left)];
				if ((type == PP_FLOAT8 || type == PP_INT8) &&
					longer_number(s->job.text + range[row].start, range[row].end - range[row].start,
								  type == PP_FLOAT8, &data->value[row]))
					continue;
				if (!convert_row(js, &col, json, type, data, range[row], row))
					return CONVERT_NO_MEMORY;
				budget -= range[row].end - range[row].start;
			}
			at += 8;
			budget -= 64;
			continue;
		}
		if (type == PP_BOOL && range[row].end > 0)
		{
			/* of values, only true and false begin so */
			uint8_t		first = s->job.text[range[row].start];

			if (first == 't' || first == 'f')
			{
				data->value[row] = first == 't';
				data->state[row] = PP_VALUE;
				budget -= 8;
				at++;
				continue;
			}
		}
		if (!convert_row(js, &col, json, type, data, range[row], row))
			return CONVERT_NO_MEMORY;
		budget -= (int64_t) (range[row].end - range[row].start) + 8;
		at++;
	}
	return CONVERT_DONE;
}

ConvertEnd
pp_json_convert_column(JsonScan *js)
{
#define CASE(type) case type: return convert_rows(js, type)
	switch (js->cpu.spec->column[js->cpu.column].type)
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
	return convert_rows(js, PP_DEFER);
}
