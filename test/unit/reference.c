/*
 * test/unit/reference.c
 *	  The sequential model of COPY's CSV mode, see reference.h.
 *
 * Deliberately naive: no automaton, no tables, no vectors, no partitions.
 * Must not call the engine.
 */
#include "reference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* How the search for the end of a line came out. */
typedef enum Line
{
	LINE_FOUND,					/* a line end */
	LINE_EOF,					/* the end of the data */
	LINE_MARKER,				/* the end-of-data marker */
	LINE_BAD_CR,
	LINE_BAD_NL,
	LINE_BAD_MARKER,
	LINE_BAD_ENCODING
} Line;

typedef struct Reader
{
	const RefSpec *spec;
	const uint8_t *text;
	size_t		len;
	size_t		valid;
	size_t		pos;			/* start of the next record */
	PpEol		eol;
	uint64_t	line;
	RefFile    *file;
	uint8_t    *out;			/* where the next value goes */
} Reader;

/* What looking at a position gives: a byte, END or INVALID. */
enum
{
	END = -1,
	INVALID = -2
};

static int
look(const Reader *r, size_t pos)
{
	if (pos < r->valid)
		return r->text[pos];
	return r->valid < r->len ? INVALID : END;
}

/*
 * Is there an end-of-data marker at pos, the start of a line?  LINE_MARKER,
 * LINE_BAD_MARKER, LINE_BAD_ENCODING, or LINE_FOUND for "no".
 */
static Line
look_for_marker(const Reader *r, size_t pos)
{
	int			c;

	if (look(r, pos) != '\\' || look(r, pos + 1) != '.')
		return LINE_FOUND;
	pos += 2;
	if (r->eol == PP_EOL_CRNL)
	{
		c = look(r, pos);
		if (c == INVALID)
			return LINE_BAD_ENCODING;
		if (c != '\r')
			return LINE_FOUND;
		pos++;
	}
	c = look(r, pos);
	if (c == INVALID)
		return LINE_BAD_ENCODING;
	if (c != '\r' && c != '\n')
		return LINE_FOUND;
	if (r->eol == PP_EOL_NL || r->eol == PP_EOL_CRNL)
		return c == '\n' ? LINE_MARKER : LINE_BAD_MARKER;
	if (r->eol == PP_EOL_CR)
		return c == '\r' ? LINE_MARKER : LINE_BAD_MARKER;
	return LINE_MARKER;
}

/*
 * The first layer: where does the line end?  *stop is the end of its text or
 * the offending byte, *next the start of the next line.
 */
static Line
read_line(Reader *r, size_t *stop, size_t *next)
{
	const PpDialect *d = &r->spec->dialect;
	bool		in_quote = false;
	bool		after_escape = false;

	r->line++;
	for (size_t i = r->pos;; i++)
	{
		int			c = look(r, i);

		*stop = *next = i;
		if (c == END)
			return LINE_EOF;
		if (c == INVALID)
			return LINE_BAD_ENCODING;

		/* One byte of look-ahead comes before any effect of these two. */
		if ((c == '\r' || (c == '\\' && d->end_marker)) && look(r, i + 1) == INVALID)
		{
			*stop = i + 1;
			return LINE_BAD_ENCODING;
		}

		/* Quoting; an escape counts inside quotes only. */
		if (d->quote == d->escape)
		{
			if (c == d->quote)
				in_quote = !in_quote;
		}
		else
		{
			bool		escaped = after_escape;

			if (in_quote && c == d->escape)
				after_escape = !after_escape;
			else if (c != d->escape)
				after_escape = false;
			if (c == d->quote && !escaped)
				in_quote = !in_quote;
		}

		if (in_quote && c == (r->eol == PP_EOL_NL ? '\n' : '\r'))
			r->line++;

		if (c == '\r' && !in_quote)
		{
			bool		pair = look(r, i + 1) == '\n';

			if (r->eol == PP_EOL_NL || (r->eol == PP_EOL_CRNL && !pair))
				return LINE_BAD_CR;
			if (r->eol == PP_EOL_UNKNOWN)
				r->eol = pair ? PP_EOL_CRNL : PP_EOL_CR;
			*next = r->eol == PP_EOL_CRNL ? i + 2 : i + 1;
			return LINE_FOUND;
		}
		if (c == '\n' && !in_quote)
		{
			if (r->eol == PP_EOL_CR || r->eol == PP_EOL_CRNL)
				return LINE_BAD_NL;
			r->eol = PP_EOL_NL;
			*next = i + 1;
			return LINE_FOUND;
		}
		if (c == '\\' && i == r->pos && d->end_marker)
		{
			Line		marker = look_for_marker(r, i);

			if (marker == LINE_BAD_ENCODING)
				*stop = r->valid;
			if (marker != LINE_FOUND)
				return marker;
		}
	}
}

static RefField *
add_field(RefFile *file)
{
	if (file->nallfields == file->room_fields)
	{
		file->room_fields = file->room_fields * 2 + 16;
		file->field = realloc(file->field, file->room_fields * sizeof(RefField));
		if (file->field == NULL)
			abort();
	}
	return &file->field[file->nallfields++];
}

static void
add_record(RefFile *file, const RefRecord *record)
{
	if (file->nrecords == file->room_records)
	{
		file->room_records = file->room_records * 2 + 16;
		file->record = realloc(file->record, file->room_records * sizeof(RefRecord));
		if (file->record == NULL)
			abort();
	}
	file->record[file->nrecords++] = *record;
}

/* The second layer: fields of the line [record->start, record->stop). */
static void
split_line(Reader *r, RefRecord *record)
{
	const PpDialect *d = &r->spec->dialect;
	const uint8_t *t = r->text;
	size_t		i = record->start;

	record->first_field = r->file->nallfields;
	for (;;)
	{
		RefField   *f = add_field(r->file);
		bool		in_quote = false;

		f->start = i;
		f->value = r->out;
		f->quoted = false;
		while (i < record->stop)
		{
			if (!in_quote && t[i] == d->delimiter)
				break;
			if (!in_quote && t[i] == d->quote)
			{
				f->quoted = in_quote = true;
				i++;
			}
			else if (in_quote && t[i] == d->escape && i + 1 < record->stop &&
					 (t[i + 1] == d->escape || t[i + 1] == d->quote))
			{
				*r->out++ = t[i + 1];
				i += 2;
			}
			else if (in_quote && t[i] == d->quote)
			{
				in_quote = false;
				i++;
			}
			else
				*r->out++ = t[i++];
		}
		f->stop = i;
		f->len = (size_t) (r->out - f->value);
		f->is_null = !f->quoted && f->stop - f->start == r->spec->null_len &&
			(r->spec->null_len == 0 ||
			 memcmp(t + f->start, r->spec->null_text, r->spec->null_len) == 0);
		if (in_quote)
			record->unterminated = true;
		if (i >= record->stop)
			break;
		i++;
	}
	record->nfields = r->file->nallfields - record->first_field;
}

RefFile *
ref_read(const RefSpec *spec, const uint8_t *text, size_t len, size_t valid)
{
	RefFile    *file = calloc(1, sizeof(RefFile));
	Reader		r;
	bool		header = spec->header;

	if (file == NULL)
		abort();
	file->bytes = unit_malloc(len);
	memset(&r, 0, sizeof(r));
	r.spec = spec;
	r.text = text;
	r.len = len;
	r.valid = valid;
	r.eol = spec->eol;
	r.file = file;
	r.out = file->bytes;

	for (;;)
	{
		RefRecord	record;
		Line		line;

		memset(&record, 0, sizeof(record));
		record.start = r.pos;
		line = read_line(&r, &record.stop, &record.next);
		record.line = r.line;
		record.at_eof = line == LINE_EOF;
		file->eol = r.eol;
		file->end_start = record.start;
		file->end_at = record.stop;
		file->end_next = record.next;
		file->end_line = r.line;
		switch (line)
		{
			case LINE_BAD_CR:
				file->end = REF_CR;
				return file;
			case LINE_BAD_NL:
				file->end = REF_NL;
				return file;
			case LINE_BAD_MARKER:
				file->end = REF_MARKER;
				return file;
			case LINE_BAD_ENCODING:
				file->end = REF_ENCODING;
				return file;
			case LINE_MARKER:
				/* the marker stands at a line's start, so the line is empty */
				file->end = REF_MARKER_END;
				file->marker_first = record.start == 0;
				record.stop = record.next = record.start;
				if (header)
				{
					file->has_header = true;
					file->header = record;
					split_line(&r, &file->header);
				}
				return file;
			default:
				break;
		}
		if (header)
		{
			/* A header line is read as a line; a last one ends the data. */
			file->has_header = true;
			file->header = record;
			split_line(&r, &file->header);
			header = false;
			file->end = REF_END;
			file->end_start = file->end_at = record.next;
			if (line == LINE_EOF)
				return file;
			r.pos = record.next;
			continue;
		}
		if (line == LINE_EOF && record.start == record.stop)
		{
			file->end = REF_END;
			return file;
		}
		split_line(&r, &record);
		if (spec->whole && spec->nfields == 0)
		{
			/* Without columns a line must be empty, and is not split at all. */
			record.unterminated = false;
			record.bad_fields = record.stop > record.start;
		}
		else if (spec->whole)
			record.bad_fields = record.nfields != spec->nfields;
		if (record.unterminated)
		{
			file->end = REF_UNTERMINATED;
			file->broken = record;
			return file;
		}
		add_record(file, &record);
		r.pos = record.next;
		if (line == LINE_EOF)
		{
			file->end = REF_END;
			file->end_start = file->end_at = record.next;
			return file;
		}
	}
}

void
ref_free(RefFile *file)
{
	free(file->record);
	free(file->field);
	free(file->bytes);
	free(file);
}

size_t
ref_nul_prefix(const uint8_t *s, size_t n)
{
	size_t		i = 0;

	while (i < n && s[i] != 0)
		i++;
	return i;
}

/*
 * By the definition: decode the bits, then ask whether the code point may be
 * written in so many bytes and whether it is one.
 */
size_t
ref_utf8_prefix(const uint8_t *s, size_t n)
{
	static const struct
	{
		uint8_t		mask;
		uint8_t		lead;
		uint32_t	least;
	}			form[4] = {
		{0x80, 0x00, 0x1},		/* zero is not accepted */
		{0xe0, 0xc0, 0x80},
		{0xf0, 0xe0, 0x800},
		{0xf8, 0xf0, 0x10000}
	};
	size_t		i = 0;

	while (i < n)
	{
		uint32_t	bytes = 0;
		uint32_t	code;

		while (bytes < 4 && (s[i] & form[bytes].mask) != form[bytes].lead)
			bytes++;
		if (bytes == 4 || n - i < bytes + 1)
			return i;
		code = s[i] & (uint8_t) ~form[bytes].mask;
		for (uint32_t k = 1; k <= bytes; k++)
		{
			if (s[i + k] >> 6 != 2)
				return i;
			code = code << 6 | (s[i + k] & 0x3f);
		}
		if (code < form[bytes].least || code > 0x10ffff ||
			(code >= 0xd800 && code <= 0xdfff))
			return i;
		i += bytes + 1;
	}
	return i;
}

static bool
same(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	return alen == blen && (alen == 0 || memcmp(a, b, alen) == 0);
}

static bool
is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Decimal integers; other spellings that some servers know are left to them. */
static RefDatum
integer_datum(PpType type, const uint8_t *s, size_t n)
{
	int64_t		max = type == PP_INT2 ? INT16_MAX : type == PP_INT4 ? INT32_MAX : INT64_MAX;
	uint64_t	limit;
	uint64_t	sum = 0;
	bool		negative = false;
	bool		spaces = false;
	RefDatum	datum;

	memset(&datum, 0, sizeof(datum));
	datum.verdict = REF_DEFERRED;
	while (n > 0 && is_space(s[0]))
		s++, n--, spaces = true;
	while (n > 0 && is_space(s[n - 1]))
		n--, spaces = true;
	if (n > 0 && (s[0] == '-' || s[0] == '+'))
	{
		negative = s[0] == '-';
		s++, n--;
	}
	if (n == 0)
		return datum;
	limit = (uint64_t) max + (negative ? 1 : 0);
	for (size_t i = 0; i < n; i++)
	{
		uint32_t	digit = (uint32_t) s[i] - '0';

		if (digit > 9 || sum > (limit - digit) / 10)
			return datum;
		sum = sum * 10 + digit;
	}
	datum.integer = negative ? (int64_t) (0 - sum) : (int64_t) sum;
	datum.verdict = spaces || n > 18 ? REF_VALUE_OR_DEFERRED : REF_VALUE;
	return datum;
}

/* Numbers as strtod() reads them, which rounds correctly. */
static RefDatum
float8_datum(const uint8_t *s, size_t n)
{
	char	   *copy = unit_malloc(n + 1);
	char	   *end;
	double		value;
	RefDatum	datum;
	size_t		digits = 0;
	bool		plain = n > 0;	/* digits, a sign, a point between digits */

	memset(&datum, 0, sizeof(datum));
	datum.verdict = REF_DEFERRED;
	memcpy(copy, s, n);
	copy[n] = '\0';
	for (size_t i = 0; i < n; i++)
	{
		bool		digit = s[i] >= '0' && s[i] <= '9';

		digits += digit;
		if (!digit && !(s[i] == '-' && i == 0 && n > 1) &&
			!(s[i] == '.' && i > 0 && s[i - 1] != '-' && i + 1 < n &&
			  memchr(s, '.', i) == NULL))
			plain = false;
	}
	errno = 0;
	value = strtod(copy, &end);
	while (is_space((uint8_t) *end))
		end++;
	if (end > copy && *end == '\0' && n > 0 && memchr(s, '\0', n) == NULL)
	{
		bool		number = false;

		for (size_t i = 0; i < n; i++)
			number |= !is_space(s[i]);
		/* what is out of range is an error, which the server raises */
		if (number && !(errno == ERANGE && (value == 0 || isinf(value))))
			datum.verdict = plain && digits <= 15 ? REF_VALUE : REF_VALUE_OR_DEFERRED;
	}
	memcpy(&datum.integer, &value, sizeof(value));
	free(copy);
	return datum;
}

RefDatum
ref_datum(const PpColumn *column, const RefMarkers *markers,
		  const uint8_t *text, const RefField *field)
{
	RefDatum	datum;
	const uint8_t *s = field->value;
	size_t		n = field->len;
	bool		is_null = field->is_null;

	memset(&datum, 0, sizeof(datum));
	if (markers->has_default && !is_null &&
		same(text + field->start, field->stop - field->start,
			 markers->default_text, markers->default_len))
	{
		datum.verdict = REF_DEFAULT;
		return datum;
	}
	if (is_null && (column->flags & PP_COL_FORCE_NOT_NULL))
	{
		s = markers->null_text;
		n = markers->null_len;
		is_null = false;
	}
	else if (!is_null && (column->flags & PP_COL_FORCE_NULL) &&
			 same(s, n, markers->null_text, markers->null_len))
		is_null = true;
	if (is_null)
	{
		datum.verdict = column->flags & PP_COL_NULL_DEFERS ? REF_DEFERRED : REF_NULL;
		return datum;
	}
	switch (column->type)
	{
		case PP_INT2:
		case PP_INT4:
		case PP_INT8:
			return integer_datum(column->type, s, n);
		case PP_FLOAT8:
			return float8_datum(s, n);
		case PP_TEXT:
			datum.verdict = REF_VALUE;
			datum.bytes = s;
			datum.len = n;
			return datum;
		default:
			datum.verdict = REF_DEFERRED;
			return datum;
	}
}
