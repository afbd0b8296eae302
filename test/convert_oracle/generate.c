/*
 * test/convert_oracle/generate.c
 *	  Texts to try on the conversions.
 *
 * Most are what files hold: plain values of the type, with the edges of every
 * type, rounding and carry, and changes of the time zone over-represented.
 * Many are then damaged in a place or two, so that what is just no value, or
 * a value in a form that only the input function knows, is tried as well.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "oracle.h"

#define LENGTH(a)	(sizeof(a) / sizeof((a)[0]))

typedef struct Writer
{
	OracleRandom *r;
	char	   *dst;
	size_t		n;
} Writer;

static void
put(Writer *w, char c)
{
	w->dst[w->n++] = c;
}

static void
put_text(Writer *w, const char *s)
{
	size_t		n = strlen(s);

	memcpy(w->dst + w->n, s, n);
	w->n += n;
}

/* Digits at random, in runs at times: zeros and nines make carries. */
static void
put_digits(Writer *w, uint32_t n)
{
	char		last = '0';

	for (uint32_t i = 0; i < n; i++)
	{
		if (!oracle_one_in(w->r, 3))
			last = (char) ('0' + oracle_below(w->r, 10));
		else if (oracle_one_in(w->r, 4))
			last = oracle_one_in(w->r, 2) ? '0' : '9';
		put(w, last);
	}
}

static void
put_number(Writer *w, const char *format, long long value)
{
	w->n += (size_t) sprintf(w->dst + w->n, format, value);
}

/* An integer, often one or two from where a type or a block of digits ends. */
static void
put_integer(Writer *w)
{
	OracleRandom *r = w->r;
	uint64_t	value = oracle_random(r) >> oracle_below(r, 64);

	if (oracle_one_in(r, 2))
	{
		if (oracle_one_in(r, 2))
			value = UINT64_C(1) << oracle_below(r, 64);
		else
		{
			value = 1;
			for (uint32_t i = oracle_below(r, 20); i > 0; i--)
				value *= 10;
		}
		value += oracle_below(r, 5);
		value -= 2;
	}
	if (oracle_one_in(r, 2))
		put(w, oracle_one_in(r, 5) ? '+' : '-');
	if (oracle_one_in(r, 10))
		for (uint32_t i = oracle_below(r, 30); i > 0; i--)
			put(w, '0');
	w->n += (size_t) sprintf(w->dst + w->n, "%llu", (unsigned long long) value);
	if (oracle_one_in(r, 40))
		put_digits(w, 1 + oracle_below(r, 4));
}

static void
put_decimal(Writer *w, uint32_t whole, uint32_t fraction)
{
	if (oracle_one_in(w->r, 3))
		put(w, oracle_one_in(w->r, 5) ? '+' : '-');
	put_digits(w, whole);
	if (fraction > 0 || oracle_one_in(w->r, 10))
		put(w, '.');
	put_digits(w, fraction);
}

static void
put_float(Writer *w)
{
	OracleRandom *r = w->r;
	uint64_t	bits = oracle_random(r);
	double		d;
	float		f;
	uint32_t	low = (uint32_t) bits;
	static const char *const ties[] = {
		"", ".", ".5", ".25", ".75", ".000000000000000000000", ".500000000",
		".000000000000000000001", ".4999999999999999999999", "e-3", "0000e-2"
	};

	memcpy(&d, &bits, 8);
	memcpy(&f, &low, 4);
	switch (oracle_below(r, 8))
	{
		case 0:
			w->n += (size_t) sprintf(w->dst + w->n, "%.*g",
									 15 + (int) oracle_below(r, 5), d);
			break;
		case 1:
			w->n += (size_t) sprintf(w->dst + w->n, "%.*g",
									 6 + (int) oracle_below(r, 5), (double) f);
			break;
		case 2:

			/*
			 * Integers, halves and quarters beyond the mantissa: half way
			 * between two floats, or hardly off it.
			 */
			bits = (UINT64_C(1) << (oracle_one_in(r, 2) ? 53 : 24)) |
				(bits >> (12 + oracle_below(r, 40)));
			bits <<= oracle_below(r, 10);
			w->n += (size_t) sprintf(w->dst + w->n, "%llu%s",
									 (unsigned long long) bits,
									 ties[oracle_below(r, LENGTH(ties))]);
			break;
		case 3:
			w->n += (size_t) sprintf(w->dst + w->n, "%lluE%d",
									 (unsigned long long) (bits >> oracle_below(r, 64)),
									 (int) oracle_below(r, 700) - 360);
			break;
		case 4:
			w->n += (size_t) sprintf(w->dst + w->n, "%lluE%d",
									 (unsigned long long) (bits >> oracle_below(r, 64)),
									 (int) oracle_below(r, 110) - 60);
			break;
		default:
			put_decimal(w, oracle_below(r, oracle_one_in(r, 8) ? 40 : 12),
						oracle_below(r, oracle_one_in(r, 8) ? 40 : 9));
			break;
	}
}

static void
put_numeric(Writer *w, int32_t mod)
{
	OracleRandom *r = w->r;
	uint32_t	whole = oracle_below(r, oracle_one_in(r, 8) ? 300 : 14);
	uint32_t	fraction = oracle_below(r, oracle_one_in(r, 8) ? 300 : 9);

	/* Around the precision and scale of the column. */
	if (mod >= 0 && oracle_one_in(r, 2))
	{
		int32_t		most = PP_NUMERIC_PRECISION(mod) - PP_NUMERIC_SCALE(mod);

		if (most >= 0 && most < 1000)
			whole = (uint32_t) most + (oracle_one_in(r, 4) ? oracle_below(r, 2) : 0);
		if (PP_NUMERIC_SCALE(mod) >= 0)
			fraction = (uint32_t) PP_NUMERIC_SCALE(mod) + oracle_below(r, 6);
		if (oracle_one_in(r, 4))
			fraction = oracle_below(r, fraction + 1);
	}
	put_decimal(w, whole, fraction);
	if (oracle_one_in(r, 30))
		w->n += (size_t) sprintf(w->dst + w->n, "e%d", (int) oracle_below(r, 60) - 30);
}

static void
put_date(Writer *w)
{
	OracleRandom *r = w->r;
	int			year = oracle_one_in(r, 3) ? (int) oracle_below(r, 10000) :
		1900 + (int) oracle_below(r, 200);
	int			month = 1 + (int) oracle_below(r, 12);
	int			day = 1 + (int) oracle_below(r, oracle_one_in(r, 3) ? 31 : 28);
	static const char *const other[] = {
		"%02d/%02d/%04d", "%02d.%02d.%04d", "%02d-%02d-%04d"
	};

	if (oracle_one_in(r, 6))
		day = 28 + (int) oracle_below(r, 4);
	if (oracle_one_in(r, 30))
		month = (int) oracle_below(r, 20);
	if (oracle_one_in(r, 30))
		w->n += (size_t) sprintf(w->dst + w->n, other[oracle_below(r, LENGTH(other))],
								 month, day, year);
	else if (oracle_one_in(r, 60))
		w->n += (size_t) sprintf(w->dst + w->n, "%04d%02d%02d", year, month, day);
	else
		w->n += (size_t) sprintf(w->dst + w->n, "%04d-%02d-%02d", year, month, day);
}

static void
put_time(Writer *w)
{
	OracleRandom *r = w->r;
	int			hour = (int) oracle_below(r, oracle_one_in(r, 20) ? 26 : 24);
	int			minute = (int) oracle_below(r, oracle_one_in(r, 40) ? 62 : 60);
	int			second = (int) oracle_below(r, oracle_one_in(r, 40) ? 62 : 60);

	if (oracle_one_in(r, 8))
	{
		hour = 23;
		minute = second = 59;
	}
	w->n += (size_t) sprintf(w->dst + w->n, "%02d:%02d", hour, minute);
	if (!oracle_one_in(r, 10))
	{
		put_number(w, ":%02lld", second);
		if (oracle_one_in(r, 2))
		{
			put(w, '.');
			if (oracle_one_in(r, 4))
				for (uint32_t i = oracle_below(r, 9); i > 0; i--)
					put(w, '9');
			put_digits(w, 1 + oracle_below(r, oracle_one_in(r, 2) ? 6 : 10));
		}
	}
}

static void
put_zone(Writer *w)
{
	OracleRandom *r = w->r;
	static const char *const names[] = {
		" UTC", "UTC", " Europe/Berlin", " PST", " AM", " PM", " BC", "+5", "+123"
	};

	switch (oracle_below(r, 8))
	{
		case 0:
			put(w, oracle_one_in(r, 4) ? 'z' : 'Z');
			break;
		case 1:
			put_text(w, names[oracle_below(r, LENGTH(names))]);
			break;
		default:
			put(w, oracle_one_in(r, 2) ? '+' : '-');
			put_number(w, "%02lld", oracle_below(r, oracle_one_in(r, 6) ? 20 : 15));
			if (oracle_one_in(r, 2))
				put_number(w, oracle_one_in(r, 3) ? "%02lld" : ":%02lld",
						   oracle_below(r, oracle_one_in(r, 10) ? 64 : 60));
			if (oracle_one_in(r, 20))
				put_text(w, ":30");
			break;
	}
}

/* A local time within two hours of where the session's zone changes. */
static bool
put_time_at_change(Writer *w, const PpEnv *env)
{
	OracleRandom *r = w->r;
	const PpZoneSpan *span;
	time_t		t;
	struct tm	tm;

	if (env->nzone == 0)
		return false;
	span = &env->zone[oracle_below(r, env->nzone)];
	t = (time_t) ((oracle_one_in(r, 2) ? span->from : span->to) / 1000000) + 946684800;
	if (oracle_one_in(r, 2))
		t += (time_t) oracle_below(r, 5) - 2;
	else
		t += (time_t) oracle_below(r, 4 * 86400) - 2 * 86400;
	if (gmtime_r(&t, &tm) == NULL || tm.tm_year < -1899 || tm.tm_year > 8099)
		return false;
	w->n += (size_t) sprintf(w->dst + w->n, "%04d-%02d-%02d %02d:%02d:%02d",
							 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
							 tm.tm_hour, tm.tm_min, tm.tm_sec);
	return true;
}

static void
put_datetime(Writer *w, PpType type, const PpEnv *env)
{
	OracleRandom *r = w->r;
	static const char *const special[] = {
		"infinity", "-infinity", "epoch", "allballs", "J2451187", "2024-001",
		"2024-01-01 BC", "10000-01-01", "0000-01-01", "99-01-01",
		"Jan 8, 1999", "1999-Jan-08", "January 8 1999 04:05:06 PST",
		"19990108", "040506", "04:05:06.789-8", "04:05 PM", "24:00:00",
		"24:00:00.000001", "23:59:60", "23:59:59.9999999", "9999-12-31 23:59:59.999999",
		"0001-01-01 00:00:00", "2000-02-29", "1900-02-29", "2024-06-30 23:59:60",
		"2024-01-01 24:00:00", "2024-01-01T00:00", "2024-01-01 00:00:00 -00:00"
	};

	if (oracle_one_in(r, 20))
	{
		put_text(w, special[oracle_below(r, LENGTH(special))]);
		return;
	}
	if (type != PP_TIME)
	{
		if (type != PP_DATE && oracle_one_in(r, 3) && put_time_at_change(w, env))
		{
			if (oracle_one_in(r, 4))
				put_text(w, ".999999999" + oracle_below(r, 9));
			return;
		}
		put_date(w);
		if (oracle_one_in(r, 8) == (type != PP_DATE))
			return;
		put_text(w, oracle_one_in(r, 3) ? "T" : oracle_one_in(r, 20) ? "t" : " ");
	}
	put_time(w);
	if (oracle_one_in(r, type == PP_TIMESTAMPTZ ? 2 : 6))
		put_zone(w);
}

static void
put_uuid(Writer *w)
{
	OracleRandom *r = w->r;
	const char *digits = oracle_one_in(r, 3) ? "0123456789ABCDEF" :
		oracle_one_in(r, 10) ? "0123456789aBcDEf" : "0123456789abcdef";
	int			form = (int) oracle_below(r, 20);

	if (form == 0)
		put(w, '{');
	for (int i = 0; i < 32; i++)
	{
		if (form != 1 && form != 2 && (i == 8 || i == 12 || i == 16 || i == 20))
			put(w, '-');
		if (form == 2 && i % 4 == 0 && i > 0)
			put(w, '-');
		put(w, digits[oracle_below(r, 16)]);
	}
	if (form == 0)
		put(w, '}');
}

/* One character, mostly a plain one. */
static void
put_character(Writer *w, OracleCharset charset)
{
	OracleRandom *r = w->r;
	uint32_t	code;

	if (charset == ORACLE_ASCII || !oracle_one_in(r, 5))
	{
		put(w, (char) (oracle_one_in(r, 3) ? ' ' : 1 + oracle_below(r, 127)));
		return;
	}
	switch (charset)
	{
		case ORACLE_EUC_JP:
			put(w, (char) (0xb0 + oracle_below(r, 32)));
			put(w, (char) (0xa1 + oracle_below(r, 94)));
			break;
		case ORACLE_UTF8:
			code = 0x80 + oracle_below(r, oracle_one_in(r, 2) ? 0x700 : 0x10ff80);
			if (code >= 0xd800 && code < 0xe000)
				code = 0x20ac;
			if (code >= 0x10000)
			{
				put(w, (char) (0xf0 | code >> 18));
				put(w, (char) (0x80 | (code >> 12 & 63)));
			}
			else if (code >= 0x800)
				put(w, (char) (0xe0 | code >> 12));
			if (code >= 0x800)
				put(w, (char) (0x80 | (code >> 6 & 63)));
			else
				put(w, (char) (0xc0 | code >> 6));
			put(w, (char) (0x80 | (code & 63)));
			break;
		default:
			put(w, (char) (128 + oracle_below(r, 128)));
			break;
	}
}

static void
put_characters(Writer *w, PpType type, int32_t mod, OracleCharset charset)
{
	OracleRandom *r = w->r;
	uint32_t	n = oracle_below(r, oracle_one_in(r, 10) ? 400 : 24);

	if (type == PP_NAME && oracle_one_in(r, 2))
		n = 55 + oracle_below(r, 15);
	if (mod >= 0 && mod < 500 && oracle_one_in(r, 2))
	{
		n = (uint32_t) mod + oracle_below(r, 4);
		n -= n > 2 ? oracle_below(r, 3) : 0;
	}
	while (n-- > 0)
		put_character(w, charset);
	if (oracle_one_in(r, 6))
		for (n = oracle_below(r, 10); n > 0; n--)
			put(w, ' ');
}

static void
put_bytea(Writer *w, OracleCharset charset)
{
	OracleRandom *r = w->r;
	const char *digits = oracle_one_in(r, 3) ? "0123456789ABCDEF" : "0123456789abcdef";

	if (oracle_one_in(r, 3))
	{
		put_characters(w, PP_BYTEA, -1, charset);
		if (oracle_one_in(r, 4))
			put_text(w, oracle_one_in(r, 2) ? "\\\\" : "\\101");
		return;
	}
	put_text(w, "\\x");
	for (uint32_t n = 2 * oracle_below(r, oracle_one_in(r, 10) ? 300 : 20); n > 0; n--)
	{
		put(w, digits[oracle_below(r, 16)]);
		if (n % 2 == 1 && oracle_one_in(r, 300))
			put(w, ' ');
	}
}

/* A byte replaced, taken out, doubled or put in. */
static void
damage(Writer *w, const char *alphabet)
{
	OracleRandom *r = w->r;
	size_t		at = w->n > 0 ? oracle_below(r, (uint32_t) w->n) : 0;
	char		c = alphabet[oracle_below(r, (uint32_t) strlen(alphabet))];
	uint32_t	kind = w->n > 0 ? oracle_below(r, 4) : 3;

	if (kind == 0)
		w->dst[at] = c;
	else if (kind == 1)
	{
		memmove(w->dst + at, w->dst + at + 1, w->n - at - 1);
		w->n--;
	}
	else
	{
		if (kind == 2)
			c = w->dst[at];
		memmove(w->dst + at + 1, w->dst + at, w->n - at);
		w->dst[at] = c;
		w->n++;
	}
}

size_t
oracle_generate(OracleRandom *r, PpType type, int32_t mod, OracleCharset charset,
				const PpEnv *env, char *dst)
{
	static const char *const booleans[] = {
		"t", "f", "true", "false", "TRUE", "False", "yes", "no", "on", "off",
		"1", "0", "y", "n", "tr", "fals", "o", "of", "ye", "T", "truey", "10"
	};
	Writer		w = {r, dst, 0};
	const char *alphabet = "0123456789+-.eE _xXobn";

	switch (type)
	{
		case PP_BOOL:
			put_text(&w, booleans[oracle_below(r, LENGTH(booleans))]);
			alphabet = "truefalsyonTRUEFALSYON10 ";
			break;
		case PP_INT2:
		case PP_INT4:
		case PP_INT8:
			put_integer(&w);
			break;
		case PP_FLOAT4:
		case PP_FLOAT8:
			if (oracle_one_in(r, 10))
				put_integer(&w);
			else
				put_float(&w);
			if (oracle_one_in(r, 100))
			{
				w.n = 0;
				put_text(&w, oracle_one_in(r, 2) ? "NaN" : "-Infinity");
			}
			break;
		case PP_NUMERIC:
			if (oracle_one_in(r, 10))
				put_integer(&w);
			else
				put_numeric(&w, mod);
			break;
		case PP_DATE:
		case PP_TIME:
		case PP_TIMESTAMP:
		case PP_TIMESTAMPTZ:
			put_datetime(&w, type, env);
			alphabet = "0123456789-:. TZ+/APMBC,";
			break;
		case PP_UUID:
			put_uuid(&w);
			alphabet = "0123456789abcdefABCDEFgG-{}@` ";
			break;
		case PP_BYTEA:
			put_bytea(&w, charset);
			alphabet = "0123456789abcdefgxX\\ \n@G";
			break;
		default:
			put_characters(&w, type, mod, charset);
			return w.n;
	}
	if (oracle_one_in(r, 5))
		for (uint32_t i = 1 + oracle_below(r, 2); i > 0; i--)
			damage(&w, alphabet);
	return w.n;
}
