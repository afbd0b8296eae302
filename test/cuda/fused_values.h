/*
 * test/cuda/fused_values.h
 *	  Fields at random for the tests of the fused pipeline's columns: texts of
 *	  every type, in order or nearly so, and all ways to quote them.
 *
 * Included once a program.
 */
#ifndef FUSED_VALUES_H
#define FUSED_VALUES_H

#include "fused_check.h"

namespace
{

constexpr uint32_t NTYPES = PP_BYTEA + 1;

Bytes
digits(UnitRandom *r, uint32_t n)
{
	Bytes		b;

	for (uint32_t i = 0; i < n; i++)
		b.push_back((uint8_t) ('0' + unit_below(r, 10)));
	return b;
}

void
append(Bytes *to, const Bytes &b)
{
	to->insert(to->end(), b.begin(), b.end());
}

Bytes
printed(const char *format, unsigned a, unsigned b, unsigned c)
{
	char		buffer[64];

	snprintf(buffer, sizeof(buffer), format, a, b, c);
	return bytes_of(buffer);
}

/* Characters, now and then such that quotes are needed. */
Bytes
random_text(UnitRandom *r, const PpDialect &d, uint32_t n)
{
	static const char *const wide[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	const uint8_t special[] = {d.quote, d.escape, d.delimiter, '\n', '\r', '\\', ' '};
	const uint32_t kind = unit_below(r, 4);
	Bytes		b;

	while (b.size() < n)
	{
		if (kind >= 2 && unit_once_in(r, kind == 2 ? 12 : 3))
			b.push_back(special[unit_below(r, sizeof(special))]);
		else if (kind % 2 == 1 && unit_once_in(r, 5))
			append(&b, bytes_of(wide[unit_below(r, 3)]));
		else
			b.push_back((uint8_t) ('a' + unit_below(r, 26)));
	}
	return b;
}

uint32_t
random_length(UnitRandom *r, uint32_t most)
{
	const uint32_t n = unit_below(r, 20) == 0 ? unit_below(r, most + 1) : unit_below(r, 40);

	return n < most ? n : most;
}

/* A text that the type may read; spoilt at times. */
Bytes
random_value(UnitRandom *r, const PpColumn &col, const PpDialect &d, uint32_t most)
{
	static const char *const word[] = {"t", "true", "FALSE", "yes", "no", "on", "off", "1", "0", "o"};
	static const char *const edge[] = {"32767", "-32768", "32768", "2147483647", "-2147483648", "2147483648",
	"9223372036854775807", "-9223372036854775808", "9223372036854775808", "-0", "+7", ""};
	const bool	sign = unit_once_in(r, 3);
	Bytes		b;

	switch (col.type)
	{
		case PP_BOOL:
			b = bytes_of(word[unit_below(r, sizeof(word) / sizeof(word[0]))]);
			break;
		case PP_INT2:
		case PP_INT4:
		case PP_INT8:
			if (unit_once_in(r, 4))
				b = bytes_of(edge[unit_below(r, sizeof(edge) / sizeof(edge[0]))]);
			else
			{
				if (sign)
					b.push_back('-');
				append(&b, digits(r, 1 + unit_below(r, col.type == PP_INT2 ? 5 : col.type == PP_INT4 ? 10 : 19)));
			}
			break;
		case PP_FLOAT4:
		case PP_FLOAT8:
		case PP_NUMERIC:
			if (sign)
				b.push_back('-');
			append(&b, digits(r, 1 + unit_below(r, unit_once_in(r, 5) ? 40 : 6)));
			b.push_back('.');
			append(&b, digits(r, unit_below(r, unit_once_in(r, 5) ? 40 : 6)));
			if (col.type != PP_NUMERIC && unit_once_in(r, 4))
				append(&b, printed("e-%u", unit_below(r, 30), 0, 0));
			break;
		case PP_DATE:
		case PP_TIMESTAMP:
		case PP_TIMESTAMPTZ:
			b = printed("%04u-%02u-%02u", 1900 + unit_below(r, 200), 1 + unit_below(r, 12), 1 + unit_below(r, 31));
			if (col.type == PP_DATE)
				break;
			b.push_back(' ');
			/* FALLTHROUGH */
		case PP_TIME:
			append(&b, printed("%02u:%02u:%02u", unit_below(r, 24), unit_below(r, 60), unit_below(r, 60)));
			if (unit_once_in(r, 2))
			{
				b.push_back('.');
				append(&b, digits(r, 1 + unit_below(r, 6)));
			}
			if (col.type == PP_TIMESTAMPTZ && unit_once_in(r, 2))
				append(&b, printed("+%02u", unit_below(r, 12), 0, 0));
			break;
		case PP_UUID:
			for (uint32_t i = 0; i < 36; i++)
				b.push_back(i == 8 || i == 13 || i == 18 || i == 23 ? '-' :
							(uint8_t) "0123456789abcdefABCDEF"[unit_below(r, 22)]);
			break;
		case PP_BYTEA:
			if (unit_once_in(r, 2))
			{
				b = bytes_of("\\x");
				for (uint32_t n = random_length(r, most) / 2 * 2; n > 0; n--)
					b.push_back((uint8_t) "0123456789abcdefABCDEF"[unit_below(r, 22)]);
				break;
			}
			/* FALLTHROUGH */
		default:
			b = random_text(r, d, random_length(r, col.type == PP_NAME ? 70 : most));
			break;
	}
	if (!b.empty() && col.type < PP_TEXT && unit_once_in(r, 15))
		b[unit_below(r, (uint32_t) b.size())] = (uint8_t) "x -+0."[unit_below(r, 6)];
	return b;
}

/*
 * A field that means these bytes.  Quotes are opened where they have to be and
 * where they may be; style 0: not without need, 1: all around, 2: anywhere.
 */
Bytes
quoted_field(UnitRandom *r, const PpDialect &d, const Bytes &value, uint32_t style)
{
	Bytes		f;
	bool		inside = style == 1;
	bool		closed = false; /* a quote that opens would be one of a pair */

	if (inside)
		f.push_back(d.quote);
	for (size_t i = 0; i < value.size(); i++)
	{
		const uint8_t b = value[i];
		const bool	needs = b == d.quote || b == d.delimiter || b == '\n' || b == '\r';

		if (!inside && (needs || (style == 2 && !closed && unit_once_in(r, 4))))
		{
			f.push_back(d.quote);
			inside = true;
		}
		else if (inside && !needs && style == 2 && unit_once_in(r, 4))
		{
			f.push_back(d.quote);
			inside = false;
		}
		if (inside && (b == d.quote || b == d.escape))
			f.push_back(d.escape);
		f.push_back(b);
		closed = false;
		if (inside && style != 1 && unit_once_in(r, 8) && i + 1 < value.size() &&
			value[i + 1] != d.quote && value[i + 1] != d.delimiter && value[i + 1] != '\n' &&
			value[i + 1] != '\r')
		{
			f.push_back(d.quote);
			inside = false;
			closed = true;
		}
	}
	if (inside)
		f.push_back(d.quote);
	return f;
}

/* One record after the other. */
void
add_records(UnitRandom *r, FusedCase *c, uint32_t nrecords, uint32_t most)
{
	for (uint32_t k = 0; k < nrecords; k++)
	{
		for (uint32_t i = 0; i < c->nfields; i++)
		{
			PpColumn	col = {PP_TEXT, 0, 0, -1};
			Bytes		value;

			for (const PpColumn &x : c->column)
				if (x.field == i)
					col = x;
			if (i > 0)
				c->text.push_back(c->dialect.delimiter);
			value = unit_once_in(r, 10) ? c->null_text : unit_once_in(r, 12) ? c->default_text :
				random_value(r, col, c->dialect, most);
			append(&c->text, quoted_field(r, c->dialect, value, unit_below(r, 5) / 2));
		}
		if (c->eol != PP_EOL_NL)
			c->text.push_back('\r');
		if (c->eol != PP_EOL_CR)
			c->text.push_back('\n');
	}
}

/* A column of a type with a modifier, flags at random. */
PpColumn
random_column(UnitRandom *r, PpType type, uint32_t field)
{
	PpColumn	col = {type, field, unit_once_in(r, 3) ? unit_below(r, 8) : 0, -1};

	if (unit_once_in(r, 2))
		return col;
	if (type == PP_NUMERIC)
		col.mod = PP_NUMERIC_MOD(1 + unit_below(r, 30), unit_below(r, 10));
	else if (type == PP_TIME || type == PP_TIMESTAMP || type == PP_TIMESTAMPTZ)
		col.mod = (int32_t) unit_below(r, 7);
	else if (type == PP_VARCHAR || type == PP_BPCHAR)
		col.mod = (int32_t) (1 + unit_below(r, unit_once_in(r, 4) ? 600 : 40));
	return col;
}

/* The session's time zone: two stretches. */
std::vector<PpZoneSpan>
usual_zone(void)
{
	const int64_t day = INT64_C(86400000000);

	return {{-60 * 365 * day, 10 * 365 * day, 3600}, {10 * 365 * day + 3600000000, 60 * 365 * day, -7200}};
}

}								/* namespace */

#endif							/* FUSED_VALUES_H */
