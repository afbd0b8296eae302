/*
 * test/unit/engine_check.c
 *	  What the checks of the backend and of streams share: comparing one
 *	  record of a batch with the model, random columns, invented encodings.
 */
#include "engine_check.h"

#include <math.h>
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

/* About every third case with columns has filters on them. */
static void
random_filters(UnitRandom *r, EngineCase *c)
{
	static const char *const bytes[] = {"", "a", "1", "-5", "x", "DEF", "b", "\xc3"};

	memset(c->filter, 0, sizeof(c->filter));
	c->nfilters = 0;
	if (c->ncolumns == 0 || !unit_once_in(r, 3))
		return;
	c->nfilters = 1 + unit_below(r, CHECK_FILTERS);
	for (uint32_t i = 0; i < c->nfilters; i++)
	{
		PpFilter   *f = &c->filter[i];
		const char *b = bytes[unit_below(r, sizeof(bytes) / sizeof(bytes[0]))];
		double		d = (int32_t) unit_below(r, 200) - 100;

		f->column = unit_below(r, c->ncolumns);
		switch (c->column[f->column].type)
		{
			case PP_TEXT:
				f->compare = PP_COMPARE_BYTES;
				f->op = (PpOp) unit_below(r, PP_OP_NEVER + 1);
				f->bytes = (const uint8_t *) b;
				f->nbytes = (uint32_t) strlen(b);
				break;
			case PP_FLOAT8:
				f->compare = PP_COMPARE_FLOAT8;
				memcpy(&f->constant, &d, sizeof(d));
				f->op = (PpOp) unit_below(r, PP_OP_GE + 1);
				break;
			case PP_DEFER:
				/* nothing can be compared */
				f->compare = PP_COMPARE_INT64;
				f->op = unit_once_in(r, 2) ? PP_OP_IS_NULL : PP_OP_NOT_NULL;
				break;
			default:
				f->compare = PP_COMPARE_INT64;
				f->constant = (uint64_t) (int64_t) ((int32_t) unit_below(r, 2000) - 1000);
				f->op = (PpOp) unit_below(r, PP_OP_GE + 1);
				break;
		}
		if (unit_once_in(r, 6))
			f->op = (PpOp) (PP_OP_IS_NULL + unit_below(r, 3));
	}
}

void
check_random_columns(UnitRandom *r, EngineCase *c)
{
	static const PpType type[] = {PP_DEFER, PP_INT2, PP_INT4, PP_INT8, PP_FLOAT8,
	PP_TEXT, PP_TEXT};
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

	random_filters(r, c);

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
	*why = "value of a number";
	if (column->type == PP_FLOAT8)
	{
		double		a;
		double		b;

		memcpy(&a, &value, sizeof(a));
		memcpy(&b, &want->integer, sizeof(b));
		if (isnan(a) && isnan(b))
			return true;
	}
	return (int64_t) value == want->integer;
}

/* Does a value pass a filter, written the long way. */
static bool
value_passes(const PpFilter *f, const RefDatum *datum)
{
	int			order;

	if (f->op == PP_OP_NOT_NULL)
		return true;
	if (f->op == PP_OP_IS_NULL || f->op == PP_OP_NEVER)
		return false;
	if (f->compare == PP_COMPARE_BYTES)
	{
		size_t		common = datum->len < f->nbytes ? datum->len : f->nbytes;

		order = common > 0 ? memcmp(datum->bytes, f->bytes, common) : 0;
		if (f->op == PP_OP_PREFIX)
			return datum->len >= f->nbytes && order == 0;
		if (order == 0)
			order = datum->len < f->nbytes ? -1 : datum->len > f->nbytes;
	}
	else if (f->compare == PP_COMPARE_FLOAT8)
	{
		double		a;
		double		b;

		memcpy(&a, &datum->integer, sizeof(a));
		memcpy(&b, &f->constant, sizeof(b));
		/* the constants here are no NaN; one is greater than all else */
		order = isnan(a) ? 1 : a < b ? -1 : a > b;
	}
	else
		order = datum->integer < (int64_t) f->constant ? -1 :
			datum->integer > (int64_t) f->constant;
	switch (f->op)
	{
		case PP_OP_EQ:
			return order == 0;
		case PP_OP_NE:
			return order != 0;
		case PP_OP_LT:
			return order < 0;
		case PP_OP_LE:
			return order <= 0;
		case PP_OP_GT:
			return order > 0;
		default:
			return order >= 0;
	}
}

/* What the filters say of a record. */
typedef enum Passes
{
	PASSES,						/* it must be selected */
	MAY_PASS,					/* it depends on what is handed over */
	FAILS
} Passes;

static Passes
record_passes(const EngineCase *c, const RefFile *file, const RefRecord *record,
			  const uint8_t *text)
{
	Passes		all = PASSES;

	for (uint32_t i = 0; i < c->nfilters; i++)
	{
		const PpFilter *f = &c->filter[i];
		const PpColumn *col = &c->column[f->column];
		RefDatum	datum = ref_datum(col, &c->markers, text,
									  &file->field[record->first_field + col->field]);

		switch (datum.verdict)
		{
			case REF_NULL:
				if (f->op != PP_OP_IS_NULL)
					return FAILS;
				break;
			case REF_DEFERRED:
			case REF_DEFAULT:
				/* nothing is known, so it passes here */
				if (f->op == PP_OP_NEVER)
					return FAILS;
				break;
			case REF_VALUE:
				if (!value_passes(f, &datum))
					return FAILS;
				break;
			case REF_VALUE_OR_DEFERRED:
				if (f->op == PP_OP_NEVER)
					return FAILS;
				if (!value_passes(f, &datum))
					all = MAY_PASS;
				break;
		}
	}
	return all;
}

bool
check_may_be_removed(const EngineCase *c, const RefFile *file,
					 const RefRecord *record, const uint8_t *text)
{
	return record_passes(c, file, record, text) != PASSES;
}

static bool
check_fields(const EngineCase *c, const PpBatch *batch, uint32_t r,
			 const RefFile *file, const RefRecord *record, const uint8_t *text,
			 EngineResult *result)
{
	uint32_t	nfields = c->nfields > 0 ? c->nfields : 1;

	for (uint32_t k = 0; k < nfields && !c->unlisted && batch->end != NULL; k++)
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
	return true;
}

static bool
check_values(const EngineCase *c, const PpBatch *batch, uint32_t r,
			 const RefFile *file, const RefRecord *record, const uint8_t *text,
			 uint64_t *deferred, EngineResult *result)
{
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

/* A selected record that passes for want of knowledge makes a batch unknown. */
static bool
is_unknown(const EngineCase *c, const PpBatch *batch, uint32_t value)
{
	for (uint32_t i = 0; i < c->nfilters; i++)
	{
		uint8_t		state = batch->column[c->filter[i].column].state[value];

		if (state == PP_DEFERRED || state == PP_DEFAULT)
			return true;
	}
	return false;
}

bool
check_batch_records(const EngineCase *c, const PpBatch *batch,
					const RefFile *file, size_t first, const uint8_t *text,
					uint64_t *deferred_min, uint64_t *deferred_max,
					EngineResult *result)
{
	uint32_t	at = 0;
	uint64_t	deferred = 0;

	if ((batch->selected == NULL && c->nfilters > 0 && batch->nrecords > 0) ||
		(batch->selected != NULL && c->nfilters == 0) ||
		(c->nfilters == 0 && batch->nselected != batch->nrecords) ||
		batch->nselected > batch->nrecords)
		return check_differs(result, "%u of %u records selected by %u filters",
							 batch->nselected, batch->nrecords, c->nfilters);
	if (batch->end == NULL && batch->nrecords > 0 && !c->unlisted &&
		(c->ncolumns == 0 || c->markers.has_default || batch->ndeferred > 0))
		return check_differs(result, "%u records without a list of their fields", batch->nrecords);
	for (uint32_t r = 0; r < batch->nrecords; r++)
	{
		const RefRecord *record = &file->record[first + r];
		Passes		passes;
		bool		selected;

		if (record->bad_fields)
			return check_differs(result, "record at %zu has a wrong number of fields, but is in a batch",
								 record->start);
		if (!check_fields(c, batch, r, file, record, text, result))
			return false;
		selected = batch->selected == NULL ||
			(at < batch->nselected && batch->selected[at] == r);
		passes = record_passes(c, file, record, text);
		if (selected ? passes == FAILS : passes == PASSES)
			return check_differs(result, "record at %zu is%s selected", record->start,
								 selected ? "" : " not");
		if (!selected)
		{
			*deferred_max += c->ncolumns;
			continue;
		}
		if (!check_values(c, batch, pp_batch_at(batch, at), file, record, text, &deferred, result))
			return false;
		if (is_unknown(c, batch, pp_batch_at(batch, at)) && !batch->unknown)
			return check_differs(result, "record at %zu may pass, but the batch is called known",
								 record->start);
		result->selected++;
		at++;
	}
	if (batch->selected != NULL && at != batch->nselected)
		return check_differs(result, "%u of %u selected records are in order", at, batch->nselected);
	*deferred_min += deferred;
	*deferred_max += deferred;
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
