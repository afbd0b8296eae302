/*
 * test/unit/engine_check.c
 *	  What the checks of the backend and of streams share: comparing one
 *	  record of a batch with the model, random columns, invented encodings.
 */
#include "engine_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "parse/cpu/kernel.h"

uint32_t
check_simd_levels(uint32_t level[CHECK_LEVELS])
{
	uint32_t	n = 0;

	for (uint32_t l = PP_SIMD_SCALAR; l < PP_SIMD_LEVELS; l++)
		if (pp_kernels((PpSimd) l) != NULL && n < CHECK_LEVELS)
			level[n++] = l;
	return n;
}

uint32_t
check_random_level(UnitRandom *r)
{
	uint32_t	level[CHECK_LEVELS];

	return level[unit_below(r, check_simd_levels(level))];
}

bool
check_differs(EngineResult *result, const char *fmt,...)
{
	if (result->verdict != ENGINE_DIFFERS)
	{
		va_list		args;

		result->verdict = ENGINE_DIFFERS;
		va_start(args, fmt);
		vsnprintf(result->why, sizeof(result->why), fmt, args);
		va_end(args);
	}
	return false;
}

void
check_random_columns(UnitRandom *r, EngineCase *c)
{
	static const PpType type[] = {PP_DEFER, PP_INT2, PP_INT4, PP_INT8, PP_TEXT, PP_TEXT};
	static const uint8_t null_text[] = "\\N";
	static const uint8_t nul_text[] = "NUL";
	static const uint8_t default_text[] = "DEF";

	memset(c->column, 0, sizeof(c->column));
	c->ncolumns = c->nfields == 0 ? 0 : unit_below(r, CHECK_COLUMNS + 1);
	c->unlisted = c->ncolumns == 0 && unit_once_in(r, 2);
	for (uint32_t i = 0; i < c->ncolumns; i++)
	{
		c->column[i].type = type[unit_below(r, sizeof(type) / sizeof(type[0]))];
		c->column[i].field = unit_below(r, c->nfields);
		c->column[i].flags = unit_below(r, 8);
		c->column[i].mod = -1;
	}

	/* COPY refuses markers that hold the delimiter or the quote. */
	memset(&c->markers, 0, sizeof(c->markers));
	switch (unit_below(r, 3))
	{
		case 0:
			c->markers.null_text = null_text;
			c->markers.null_len = c->dialect.delimiter == '\\' || c->dialect.quote == '\\' ? 0 : 2;
			break;
		case 1:
			c->markers.null_text = nul_text;
			c->markers.null_len = 3;
			break;
		default:
			c->markers.null_text = null_text;
			c->markers.null_len = 0;
			break;
	}
	if (unit_once_in(r, 2))
	{
		c->markers.has_default = true;
		c->markers.default_text = default_text;
		c->markers.default_len = 3;
	}
}

/* Compares the value of one column; false if it differs. */
static bool
check_value(const PpColumn *column, const RefDatum *want, uint64_t value,
			uint8_t state, uint64_t *deferred, const char **why)
{
	if (state == PP_DEFERRED)
		(*deferred)++;
	switch (want->verdict)
	{
		case REF_NULL:
			*why = "NULL expected";
			return state == PP_NULL;
		case REF_DEFAULT:
			*why = "DEFAULT expected";
			return state == PP_DEFAULT;
		case REF_DEFERRED:
			*why = "handing over expected";
			return state == PP_DEFERRED;
		case REF_VALUE_OR_DEFERRED:
			if (state == PP_DEFERRED)
				return true;
			break;
		case REF_VALUE:
			break;
	}
	*why = "a value expected";
	if (state != PP_VALUE)
		return false;
	if (column->type == PP_TEXT)
	{
		const uint8_t *p = (const uint8_t *) (uintptr_t) value;
		uint32_t	header;

		*why = "address not aligned";
		if (value % 8 != 0 || value == 0)
			return false;
		*why = "length of a text value";
		memcpy(&header, p, 4);
		if (header != (uint32_t) (want->len + 4) << 2)
			return false;
		*why = "bytes of a text value";
		return want->len == 0 || memcmp(p + 4, want->bytes, want->len) == 0;
	}
	*why = "value of an integer";
	return (int64_t) value == want->integer;
}

bool
check_record(const EngineCase *c, const PpBatch *batch, uint32_t r,
			 const RefFile *file, const RefRecord *record,
			 const uint8_t *text, uint64_t *deferred, EngineResult *result)
{
	uint32_t	nfields = c->nfields > 0 ? c->nfields : 1;

	if (record->bad_fields)
		return check_differs(result, "record at %zu has a wrong number of fields, but is in a batch",
							 record->start);
	for (uint32_t k = 0; k < nfields && !c->unlisted; k++)
	{
		const RefField *f = &file->field[record->first_field + k];
		uint32_t	start;
		uint32_t	stop;

		pp_batch_field(batch, r, k, &start, &stop);
		if (start > stop || stop - start != f->stop - f->start ||
			(stop > start && memcmp(batch->text + start, text + f->start, stop - start) != 0))
			return check_differs(result, "record at %zu, field %u: [%u, %u) is not %s",
								 record->start, k, start, stop,
								 unit_show(text + f->start, f->stop - f->start));
	}
	for (uint32_t i = 0; i < c->ncolumns; i++)
	{
		const RefField *f = &file->field[record->first_field + c->column[i].field];
		RefDatum	want = ref_datum(&c->column[i], &c->markers, text, f);
		const char *why = "";

		if (!check_value(&c->column[i], &want, batch->column[i].value[r],
						 batch->column[i].state[r], deferred, &why))
			return check_differs(result, "record at %zu, column %u (type %d, flags %u): %s, state %u, field %s",
								 record->start, i, (int) c->column[i].type,
								 c->column[i].flags, why, batch->column[i].state[r],
								 unit_show(text + f->start, f->stop - f->start));
	}
	return true;
}

uint32_t
fake_char_length(uint8_t c)
{
	return c >= 0xe0 && c < 0xf0 ? 3 : c >= 0x80 && c < 0xe0 ? 2 : 1;
}

size_t
fake_verify(const uint8_t *s, size_t n)
{
	size_t		i = 0;

	while (i < n)
	{
		uint32_t	len = fake_char_length(s[i]);

		if (s[i] == 0 || s[i] >= 0xf0 || n - i < len)
			break;
		for (uint32_t k = 1; k < len; k++)
			if (s[i + k] < 0x80)
				return i;
		i += len;
	}
	return i;
}

size_t
fake_transcode(const uint8_t *s, size_t n, uint8_t *dst, size_t room,
			   size_t most, size_t *produced)
{
	size_t		i = 0;
	size_t		o = 0;

	while (i < n && most-- > 0)
	{
		uint8_t		c = s[i];
		uint32_t	in;
		uint32_t	out;

		if (c == 0)
			break;
		if (c < 0x80)
			in = 1, out = 1;
		else if (c >= 0x81 && c <= 0x9f)
			in = 2, out = c < 0x90 ? 2 : 3;
		else if (c >= 0xa0 && c <= 0xdf)
			in = 1, out = 3;
		else if (c >= 0xe0 && c <= 0xe3)
			in = 3, out = 1;
		else
			break;
		if (n - i < in || room - o < out)
			break;
		if (in == 2 && (s[i + 1] < 0x20 || s[i + 1] == 0x7f))
			break;
		if (in == 3 && (s[i + 1] < 0x30 || s[i + 2] < 0x30))
			break;
		if (c < 0x80)
			dst[o++] = c;
		else if (in == 3)
			dst[o++] = 'z';
		else
		{
			uint8_t		low = in == 2 ? s[i + 1] : c;

			if (out == 3)
				dst[o++] = (uint8_t) (0xe1 + (c & 3));
			dst[o++] = (uint8_t) (0x80 | (low & 0x3f));
			dst[o++] = (uint8_t) (0x80 | (low >> 4));
		}
		i += in;
	}
	*produced = o;
	return i;
}
