/*
 * test/unit/texts.c
 *	  Dialects and hostile texts, see texts.h.
 */
#include "texts.h"

#include <stdio.h>
#include <string.h>

const PpDialect texts_dialect[] = {
	{',', '"', '"', false},
	{',', '"', '\\', false},
	{';', '\'', '\'', false},
	{'\t', '"', '"', false},
	{'|', '"', '\'', false},
	{' ', '"', '"', false},
	/* odd ones */
	{',', '\\', '\\', false},
	{',', '\\', '"', false},
	{',', '\\', '.', false},
	{',', '"', ',', false},		/* escape is the delimiter */
	{'.', '"', '"', false},
	{'.', '"', '.', false},
	{'.', '\\', '\\', false},
	{'\\', '"', '"', false},
	{'\\', '.', '.', false},
	{',', '.', '.', false},
	{',', '.', '\\', false},
	{',', '\n', '\n', false},
	{',', '\n', '"', false},
	{',', '\n', '\\', false},
	{',', '\n', '\r', false},
	{',', '\r', '\r', false},
	{',', '\r', '"', false},
	{',', '\r', '\n', false},
	{',', '"', '\n', false},
	{',', '"', '\r', false},
	{'a', 'b', 'c', false},
	{'\x01', '\x7f', '\x7f', false},
};
const uint32_t texts_ndialects = sizeof(texts_dialect) / sizeof(texts_dialect[0]);
const uint32_t texts_nusual = 6;

const char *
texts_dialect_name(const PpDialect *d)
{
	static char buffer[4][80];
	static unsigned turn;
	char	   *out = buffer[turn++ % 4];

	snprintf(out, sizeof(buffer[0]), "delimiter %s quote %s escape %s%s",
			 unit_show(&d->delimiter, 1), unit_show(&d->quote, 1),
			 unit_show(&d->escape, 1), d->end_marker ? " with end marker" : "");
	return out;
}

const char *
texts_eol_name(PpEol eol)
{
	switch (eol)
	{
		case PP_EOL_UNKNOWN:
			return "unknown";
		case PP_EOL_NL:
			return "NL";
		case PP_EOL_CR:
			return "CR";
		case PP_EOL_CRNL:
			return "CRNL";
	}
	return "?";
}

/* Output that stops at its end. */
typedef struct Out
{
	uint8_t    *dst;
	size_t		n;
	size_t		len;
} Out;

static void
put(Out *o, uint8_t c)
{
	if (o->len < o->n)
		o->dst[o->len++] = c;
}

static void
put_string(Out *o, const char *s)
{
	while (*s)
		put(o, (uint8_t) *s++);
}

static bool
is_special(const PpDialect *d, uint8_t c)
{
	return c == d->delimiter || c == d->quote || c == d->escape ||
		c == '\n' || c == '\r';
}

/* A character without a meaning in the dialect. */
static void
put_plain(Out *o, UnitRandom *r, const PpDialect *d)
{
	static const char plain[] = "abcxyz0123456789-. \\N\t'_";
	uint8_t		c;

	switch (unit_below(r, 24))
	{
		case 0:
			put_string(o, "\xc3\xa9");
			break;
		case 1:
			put_string(o, "\xe2\x82\xac");
			break;
		case 2:
			put_string(o, "\xf0\x9f\x98\x80");
			break;
		default:
			do
				c = (uint8_t) plain[unit_below(r, sizeof(plain) - 1)];
			while (is_special(d, c));
			put(o, c);
			break;
	}
}

size_t
texts_soup(UnitRandom *r, const PpDialect *d, uint8_t *dst, size_t n)
{
	Out			o = {dst, n, 0};
	size_t		want = unit_below(r, (uint32_t) n + 1);
	uint32_t	quotes = 1 + unit_below(r, 4);

	while (o.len < want)
	{
		switch (unit_below(r, 16 + quotes))
		{
			case 0:
			case 1:
				put(&o, '\n');
				break;
			case 2:
			case 3:
				put(&o, '\r');
				break;
			case 4:
				put_string(&o, "\r\n");
				break;
			case 5:
				put(&o, '\\');
				break;
			case 6:
				put(&o, '.');
				break;
			case 7:
				put_string(&o, unit_once_in(r, 2) ? "\n\\." : "\r\\.");
				break;
			case 8:
			case 9:
				put(&o, d->escape);
				break;
			case 10:
			case 11:
			case 12:
				put(&o, d->delimiter);
				break;
			case 13:
			case 14:
			case 15:
				put_plain(&o, r, d);
				break;
			default:
				put(&o, d->quote);
				break;
		}
	}
	return o.len < want ? o.len : want;
}

static void
put_eol(Out *o, PpEol eol)
{
	if (eol == PP_EOL_CR || eol == PP_EOL_CRNL)
		put(o, '\r');
	if (eol != PP_EOL_CR)
		put(o, '\n');
}

/* A quoted stretch; line ends in it may be of any kind. */
static void
put_quoted(Out *o, UnitRandom *r, const PpDialect *d, bool closed)
{
	uint32_t	n = unit_below(r, 6);

	put(o, d->quote);
	for (uint32_t i = 0; i < n; i++)
	{
		switch (unit_below(r, 9))
		{
			case 0:
				put(o, d->escape);
				put(o, d->quote);
				break;
			case 1:
				put(o, d->escape);
				put(o, d->escape);
				break;
			case 2:
				put(o, d->delimiter == d->escape || d->delimiter == d->quote ? 'x' : d->delimiter);
				break;
			case 3:
				put_eol(o, (PpEol) (1 + unit_below(r, 3)));
				break;
			case 4:
				/* an escape that escapes nothing, if it is not the quote */
				if (d->escape != d->quote)
				{
					put(o, d->escape);
					put(o, 'q');
				}
				break;
			default:
				put_plain(o, r, d);
				break;
		}
	}
	if (closed)
		put(o, d->quote);
}

static void
put_field(Out *o, UnitRandom *r, const PpDialect *d, bool slip)
{
	uint32_t	n;

	if (slip)
	{
		put_quoted(o, r, d, false);
		return;
	}
	switch (unit_below(r, 10))
	{
		case 0:
			break;
		case 1:
			put_string(o, is_special(d, '\\') ? "NUL" : "\\N");
			break;
		case 2:
			put(o, d->quote);
			put_string(o, is_special(d, '\\') ? "NUL" : "\\N");
			put(o, d->quote);
			break;
		case 3:
		case 4:
			n = 1 + unit_below(r, unit_once_in(r, 8) ? 21 : 5);
			if (unit_once_in(r, 3))
				put(o, '-');
			while (n-- > 0)
				put(o, (uint8_t) ('0' + unit_below(r, 10)));
			if (unit_once_in(r, 2) && !is_special(d, '.'))
			{
				put(o, '.');
				for (n = unit_below(r, 5); n > 0; n--)
					put(o, (uint8_t) ('0' + unit_below(r, 10)));
			}
			break;
		case 5:
		case 6:
			put_quoted(o, r, d, true);
			break;
		case 7:
			/* quotes in mid-field */
			put_plain(o, r, d);
			put_quoted(o, r, d, true);
			put_plain(o, r, d);
			put_quoted(o, r, d, true);
			break;
		case 8:
			put_string(o, "DEF");
			break;
		default:
			n = 1 + unit_below(r, unit_once_in(r, 20) ? 120 : 8);
			while (n-- > 0)
				put_plain(o, r, d);
			break;
	}
}

size_t
texts_records(UnitRandom *r, const PpDialect *d, PpEol eol, uint32_t nfields,
			  uint32_t slips, uint8_t *dst, size_t n)
{
	Out			o = {dst, n, 0};
	size_t		want = unit_below(r, (uint32_t) n + 1);

#define SLIP()	(slips > 0 && unit_once_in(r, slips))
	while (o.len < want)
	{
		uint32_t	fields = nfields;

		if (SLIP())
			fields = unit_below(r, nfields + 3);
		if (slips > 0 && unit_once_in(r, slips * 4))
			put_string(&o, unit_once_in(r, 2) ? "\\." : "\\.x");
		else
			for (uint32_t i = 0; i < fields; i++)
			{
				if (i > 0)
					put(&o, d->delimiter);
				put_field(&o, r, d, slips > 0 && unit_once_in(r, slips * 8));
			}
		if (o.len >= want && unit_once_in(r, 2))
			break;
		put_eol(&o, slips > 0 && unit_once_in(r, slips * 4) ? (PpEol) (1 + unit_below(r, 3)) : eol);
	}
#undef SLIP
	return o.len;
}

size_t
texts_spoil(UnitRandom *r, uint8_t *text, size_t len, size_t room)
{
	static const char *const bad[] = {
		"\xff", "\x80", "\xc0\x80", "\xe2\x82", "\xed\xa0\x80", "\xf0\x9f\x98",
		"\xf4\x90\x80\x80", "\xc3", "\xf5\x80\x80\x80", "\xe0\x9f\xbf", "\xa1"
	};
	const char *s = bad[unit_below(r, sizeof(bad) / sizeof(bad[0]))];
	size_t		n = strlen(s);
	size_t		at = unit_below(r, (uint32_t) len + 1);

	/* often right behind a byte that COPY looks behind */
	if (unit_once_in(r, 2))
		for (size_t i = 0; i < len; i++)
			if (text[(at + i) % len] == '\r' || text[(at + i) % len] == '\\')
			{
				at = (at + i) % len + 1;
				break;
			}
	if (unit_once_in(r, 5))
	{
		s = "";
		n = 1;					/* the zero byte that ends it */
	}
	if (len + n > room)
		return len;
	memmove(text + at + n, text + at, len - at);
	memcpy(text + at, s, n);
	return len + n;
}
