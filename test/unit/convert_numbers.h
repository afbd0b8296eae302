/*
 * test/unit/convert_numbers.h
 *	  Tests of bool, integers, floats and numeric against strtoll, strtod and
 *	  strtof, and a numeric built one decimal digit at a time.
 */
#ifndef CONVERT_NUMBERS_H
#define CONVERT_NUMBERS_H

#include <errno.h>
#include <float.h>
#include <math.h>
#include <strings.h>

#include "convert_check.h"

static const char digits_only[] = "0123456789";

static void
random_digits(char *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = (char) ('0' + below(10));
}

/*
 * The 128-bit product by parts, which this machine's conversions do not use.
 */
static void
test_product(void)
{
	begin_group("product by parts");
	for (uint64_t i = 0; i < iterations; i++)
	{
		uint64_t	a = next_random() >> below(64);
		uint64_t	b = next_random() >> below(64);
		uint64_t	high[2];
		uint64_t	low[2];

		if (one_in(8))
			a = ~a;
		low[0] = pp_mul128(a, b, &high[0]);
		low[1] = pp_mul128_by_parts(a, b, &high[1]);
		group_values++;
		if (low[0] != low[1] || high[0] != high[1])
			complain("", 0, "%" PRIx64 " * %" PRIx64, a, b);
	}
	end_group();
}

static void
expect_bool(const char *text, size_t n)
{
	static const char *const yes[] = {
		"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1", NULL
	};
	static const char *const no[] = {
		"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0", NULL
	};
	Verdict		verdict = MUST_HAND_OVER;
	uint64_t	want = 0;

	for (int i = 0; yes[i]; i++)
		if (strlen(yes[i]) == n && strncasecmp(yes[i], text, n) == 0)
		{
			verdict = MUST_CONVERT;
			want = 1;
		}
	for (int i = 0; no[i]; i++)
		if (strlen(no[i]) == n && strncasecmp(no[i], text, n) == 0)
			verdict = MUST_CONVERT;
	expect_value(PP_BOOL, -1, NULL, text, n, verdict, want);
}

static void
test_bool(void)
{
	static const char letters[] = "tTrRuUeEfFaAlLsSyYnNoO01 \x10\x11.\xff\xf4";
	static const char *const words[] = {
		"true", "false", "yes", "no", "on", "off", "1", "0", "o", "ofF", "ON"
	};
	char		text[16];

	begin_group("bool");
	expect_bool("", 0);

	/* All texts of up to three of the letters, then longer ones. */
	for (size_t i = 0; i < sizeof(letters) - 1; i++)
		for (size_t j = 0; j < sizeof(letters) - 1; j++)
			for (size_t k = 0; k < sizeof(letters) - 1; k++)
			{
				text[0] = letters[i];
				text[1] = letters[j];
				text[2] = letters[k];
				expect_bool(text, 1);
				expect_bool(text, 2);
				expect_bool(text, 3);
			}
	for (uint64_t i = 0; i < iterations; i++)
	{
		const char *word = words[below(sizeof(words) / sizeof(words[0]))];
		size_t		n = strlen(word);

		for (size_t k = 0; k < n; k++)
			text[k] = (char) (one_in(3) ? word[k] ^ 0x20 : word[k]);
		if (one_in(2))
			n = mutate(text, n, letters);
		expect_bool(text, n);
	}
	end_group();
}

static void
expect_int(PpType type, const char *text, size_t n)
{
	char		copy[256];
	int64_t		value;
	int64_t		min = type == PP_INT2 ? INT16_MIN : type == PP_INT4 ? INT32_MIN : INT64_MIN;
	int64_t		max = type == PP_INT2 ? INT16_MAX : type == PP_INT4 ? INT32_MAX : INT64_MAX;
	size_t		sign;
	bool		good;

	memcpy(copy, text, n);
	copy[n] = '\0';
	sign = (copy[0] == '-' || copy[0] == '+');
	good = n > sign && strspn(copy + sign, digits_only) == n - sign;
	errno = 0;
	value = strtoll(copy, NULL, 10);
	good = good && errno == 0 && value >= min && value <= max;
	expect_value(type, -1, NULL, text, n, good ? MUST_CONVERT : MUST_HAND_OVER,
				 (uint64_t) value);
}

static void
test_ints(void)
{
	static const PpType types[] = {PP_INT2, PP_INT4, PP_INT8};
	static const char alphabet[] = "0123456789+-. _xeE/:\xb0";
	static const int64_t edges[] = {
		0, INT16_MAX, INT16_MIN, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
		UINT16_MAX, UINT32_MAX, 99999999, 100000000, 9999999999999999,
		10000000000000000, 1000000000000000000
	};
	static const char *const fixed[] = {
		"", "+", "-", "+-1", "--1", "9223372036854775808",
		"-9223372036854775809", "18446744073709551616", "18446744073709551615",
		"9999999999999999999", "10000000000000000000", "00000000000000000001",
		"-0", "+0", "0000000000000000000000000000000000032767", " 1", "1 ",
		"0x1", "1_000", "1e3", "1.0",
		"-00000000000000000000000000000000009223372036854775808",
		"340282366920938463463374607431768211456"
	};
	char		text[256];

	begin_group("integers");
	for (int t = 0; t < 3; t++)
	{
		for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
			expect_int(types[t], fixed[i], strlen(fixed[i]));
		for (int i = -70000; i < 70000; i++)
			expect_int(types[t], text, (size_t) sprintf(text, "%d", i));
		for (uint64_t i = 0; i < iterations; i++)
		{
			int64_t		value = (int64_t) next_random() >> below(64);
			size_t		n;

			if (one_in(3))
				value = (int64_t) ((uint64_t) edges[below(sizeof(edges) / sizeof(edges[0]))] +
								   below(5) - 2);
			n = (size_t) sprintf(text, "%s%0*" PRId64,
								 value >= 0 && one_in(4) ? "+" : "",
								 one_in(4) ? (int) below(40) : 0, value);
			expect_int(types[t], text, n);
			n = mutate(text, n, alphabet);
			expect_int(types[t], text, n);
		}
	}
	end_group();
}

/*
 * Is the text a decimal floating-point number?  Counts significant digits and
 * digits of the exponent.
 */
static bool
float_syntax(const char *p, int *significant, int *exponent_digits)
{
	size_t		whole;
	size_t		fraction = 0;
	bool		seen = false;

	*significant = *exponent_digits = 0;
	p += (*p == '-' || *p == '+');
	whole = strspn(p, digits_only);
	if (p[whole] == '.')
		fraction = strspn(p + whole + 1, digits_only);
	if (whole + fraction == 0)
		return false;
	for (size_t i = 0; i < whole + (p[whole] == '.') + fraction; i++)
	{
		seen |= (p[i] > '0' && p[i] <= '9');
		*significant += (seen && p[i] != '.');
	}
	p += whole + (p[whole] == '.') + fraction;
	if (*p == 'e' || *p == 'E')
	{
		p++;
		p += (*p == '-' || *p == '+');
		*exponent_digits = (int) strspn(p, digits_only);
		if (*exponent_digits == 0)
			return false;
		p += *exponent_digits;
	}
	return *p == '\0';
}

/*
 * Numbers that round up to the least normal one may stay with the input
 * function, as subnormal ones do.
 */
static void
expect_float(const char *text, size_t n)
{
	static char copy[8192];
	int			significant;
	int			exponent_digits;
	bool		good;
	bool		plain;
	double		d;
	float		f;
	uint64_t	bits;
	int32_t		bits4;

	memcpy(copy, text, n);
	copy[n] = '\0';
	good = float_syntax(copy, &significant, &exponent_digits);
	plain = significant <= 19 && exponent_digits <= 4;

	errno = 0;
	d = strtod(copy, NULL);
	memcpy(&bits, &d, 8);
	expect_value(PP_FLOAT8, -1, NULL, text, n,
				 !good || errno != 0 || !isfinite(d) ? MUST_HAND_OVER :
				 plain && (d == 0 || fabs(d) > DBL_MIN) ? MUST_CONVERT : MAY_CONVERT,
				 bits);

	errno = 0;
	f = strtof(copy, NULL);
	memcpy(&bits4, &f, 4);
	expect_value(PP_FLOAT4, -1, NULL, text, n,
				 !good || errno != 0 || !isfinite(f) ? MUST_HAND_OVER :
				 plain && (f == 0 || fabsf(f) > FLT_MIN) ? MUST_CONVERT : MAY_CONVERT,
				 (uint64_t) (int64_t) bits4);
}

/*
 * A decimal text of the value with so many significant digits, cut off rather
 * than rounded so that it lies just below, and those just beside it.
 */
static void
expect_float_around(long double value, int significant)
{
	char		text[2048];
	char		out[2112];
	char	   *e;
	int			length;

	length = snprintf(text, sizeof text, "%.1100Le", value);
	if (length <= 0 || (size_t) length >= sizeof text)
		abort();
	e = strchr(text, 'e');

	/* d.ddd: 19 digits are 20 characters. */
	for (int step = -1; step <= 1; step++)
	{
		char		digits[2048];
		int			i = significant;

		memcpy(digits, text, (size_t) significant + 1);
		if (step > 0)
		{
			while (i > 1 && digits[i] == '9')
				digits[i--] = '0';
			if (i > 1)
				digits[i]++;
		}
		else if (step < 0)
		{
			while (i > 1 && digits[i] == '0')
				digits[i--] = '9';
			if (i > 1)
				digits[i]--;
		}
		if (i == 1 && step != 0)
			continue;
		length = snprintf(out, sizeof out, "%.*s%s", significant + 1, digits, e);
		expect_float(out, (size_t) length);
	}
}

static void
test_float_ties(void)
{
	begin_group("floats half way between two");
	for (uint64_t i = 0; i < iterations / 4; i++)
	{
		int			significant = 2 + (int) below(24);

		if (one_in(2))
		{
			uint64_t	bits = next_random() >> 1;
			double		a;
			double		b;

			/* Exponents near 0 have ties with few digits. */
			if (one_in(2))
				bits = (bits & (UINT64_MAX >> 12)) | (uint64_t) (1023 + below(64)) << 52;
			if (one_in(2))
				bits &= UINT64_MAX << below(52);
			memcpy(&a, &bits, 8);
			bits++;
			memcpy(&b, &bits, 8);
			if (!isfinite(a) || !isfinite(b))
				continue;
			expect_float_around(((long double) a + b) / 2, significant);
			expect_float_around(a, significant);
		}
		else
		{
			uint32_t	bits = (uint32_t) (next_random() >> 33);
			float		a;
			float		b;

			if (one_in(2))
				bits = (bits & (UINT32_MAX >> 9)) | (127 + below(40)) << 23;
			if (one_in(2))
				bits &= UINT32_MAX << below(23);
			memcpy(&a, &bits, 4);
			bits++;
			memcpy(&b, &bits, 4);
			if (!isfinite(a) || !isfinite(b))
				continue;
			expect_float_around(((long double) a + b) / 2, significant);
			expect_float_around(a, significant);
		}
	}

	/* Integers and halves just above what the mantissas hold: exact ties. */
	for (uint64_t i = 0; i < iterations / 4; i++)
	{
		char		text[64];
		int			bits = one_in(2) ? 53 : 24;
		uint64_t	odd = (UINT64_C(1) << bits) + (next_random() >> (64 - bits)) / 2 * 2 + 1;
		int			length;

		switch (below(3))
		{
			case 0:
				length = sprintf(text, "%" PRIu64, odd << below((uint32_t) (64 - bits)));
				break;
			case 1:
				length = sprintf(text, "%" PRIu64 ".%c", odd / 2, odd & 1 ? '5' : '0');
				break;
			default:
				length = sprintf(text, "%" PRIu64 ".%s", odd / 4,
								 odd % 4 == 1 ? "25" : "75");
				break;
		}
		expect_float(text, (size_t) length);
	}
	end_group();
}

static void
test_floats(void)
{
	static const char alphabet[] = "0123456789+-..eEexX nNiI_,\xff";
	static const char *const fixed[] = {
		"", "-", "+", ".", "-.", "e5", ".e5", "1e", "1e+", "1e-", "0", "-0",
		"+0", "-0.0", "0e0", "0e9999", "-0e-9999", "0e99999", ".5", "5.",
		"-.5e1", "1.7976931348623157e308", "1.7976931348623159e308",
		"1.7976931348623158e308", "179769313486231580793e289",
		"2.2250738585072014e-308", "2.2250738585072011e-308",
		"2.225073858507201e-308", "4.9e-324", "2e-324", "1e400", "1e-400",
		"3.4028235e38", "3.4028236e38", "3.40282356e38", "3.40282357e38",
		"1.17549435e-38", "1.17549421e-38", "1.1754944e-38", "1.4e-45",
		"9007199254740993", "9007199254740992.5", "16777217", "16777217.0",
		"16777216.9999999999999999999", "9007199254740993.000000000000001",
		"9007199254740993000000000000", "8388608.5", "8388609.5", "1e23",
		"9.5367431640625e-7", "nan", "NaN", "inf", "-Infinity", "0x10",
		"0x1p3", " 1", "1 ", "1.2.3", "1e5.", "1,5", "1_0", "1d5", "1e1e1",
		"18446744073709551615", "18446744073709551616", "9999999999999999999",
		"99999999999999999999", "0.00000000000000000000000000000000000000001",
		"100000000000000000000000000000000000000000000000000",
		"123456789012345678901234567890e-20", "1e-326", "1e-327", "1e308",
		"1e309", "9999999999999999999e-326", "1e0000", "1e00001"
	};
	char		text[1024];

	begin_group("floats");
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		expect_float(fixed[i], strlen(fixed[i]));

	/* All powers of ten, with short and full mantissas. */
	for (int e = -345; e <= 315; e++)
		for (uint64_t k = 0; k < 1 + iterations / 4000; k++)
		{
			uint64_t	mantissa = next_random() % UINT64_C(10000000000000000000);

			expect_float(text, (size_t) sprintf(text, "1e%d", e));
			expect_float(text, (size_t) sprintf(text, "%" PRIu64 "e%d", mantissa, e));
			expect_float(text, (size_t) sprintf(text, "%" PRIu64 "e%d",
												mantissa >> below(64), e));
		}

	for (uint64_t i = 0; i < iterations; i++)
	{
		uint64_t	bits = next_random();
		double		d;
		float		f;
		uint32_t	bits4 = (uint32_t) bits;
		size_t		n;

		memcpy(&d, &bits, 8);
		memcpy(&f, &bits4, 4);
		switch (below(8))
		{
			case 0:
				n = (size_t) sprintf(text, "%.*g", 15 + (int) below(5), d);
				break;
			case 1:
				n = (size_t) sprintf(text, "%.*g", 6 + (int) below(5), f);
				break;
			case 2:
				n = (size_t) sprintf(text, "%.*f", (int) below(10),
									 (double) (int64_t) bits / (1 << below(31)));
				break;
			case 3:
				n = (size_t) sprintf(text, "%d.%0*d", (int) (bits % 100000) - 50000,
									 1 + (int) below(6), (int) below(100));
				break;
			default:
				{
					size_t		whole = below(one_in(8) ? 40 : 12);
					size_t		fraction = below(one_in(8) ? 40 : 10);

					n = 0;
					if (one_in(3))
						text[n++] = one_in(2) ? '-' : '+';
					random_digits(text + n, whole);
					n += whole;
					if (fraction > 0 || one_in(4))
						text[n++] = '.';
					random_digits(text + n, fraction);
					if (one_in(4))
						memset(text + n, '0', one_in(2) ? fraction : fraction / 2);
					n += fraction;
					if (one_in(4))
						n += (size_t) sprintf(text + n, "%c%s%u",
											  one_in(2) ? 'e' : 'E',
											  one_in(3) ? "-" : one_in(3) ? "+" : "",
											  below(one_in(3) ? 400 : 30));
					break;
				}
		}
		expect_float(text, n);
		if (one_in(4))
			expect_float(text, mutate(text, n, alphabet));
	}

	/* Very long ones. */
	for (uint64_t i = 0; i < iterations / 1000; i++)
	{
		static char longer[4096];
		size_t		n = 100 + below(3000);

		random_digits(longer, n);
		longer[below((uint32_t) n)] = '.';
		if (one_in(2))
			memset(longer, '0', n / 2);
		n += (size_t) sprintf(longer + n, "e%d", (int) below(3000) - 2500);
		expect_float(longer, n);
	}
	end_group();
}

/*
 * A numeric by the definition of its stored form.  Digits are kept in an
 * array by power of ten, from the highest to 10^-fraction.
 */
typedef struct RefNumeric
{
	uint8_t		bytes[70000];
	uint64_t	size;
} RefNumeric;

static Verdict
reference_numeric(const char *text, size_t n, int32_t mod, RefNumeric *ref)
{
	static uint8_t digit[200000];	/* [0] is free for a carry */
	size_t		at = 0;
	size_t		whole;
	size_t		fraction = 0;
	size_t		total = 1;
	size_t		dscale;
	bool		negative;
	int			scale = 0;
	int			precision = 0;
	long		group;
	long		weight = 0;
	long		lowest = 0;
	size_t		ngroups = 0;
	bool		is_short;
	uint16_t	header[2];

	negative = n > 0 && text[0] == '-';
	if (n > 0 && (text[0] == '-' || text[0] == '+'))
		at++;
	digit[0] = 0;
	for (; at < n && text[at] >= '0' && text[at] <= '9'; at++)
		digit[total++] = (uint8_t) (text[at] - '0');
	whole = total;				/* with the free one */
	if (at < n && text[at] == '.')
		for (at++; at < n && text[at] >= '0' && text[at] <= '9'; at++, fraction++)
			digit[total++] = (uint8_t) (text[at] - '0');
	if (at != n || total == 1)
		return MUST_HAND_OVER;
	dscale = fraction;

	if (mod != -1)
	{
		precision = mod >> 16;
		scale = (int16_t) (mod & 0xffff);
		if (scale < 0 || scale > precision)
			return MUST_HAND_OVER;
		dscale = (size_t) scale;
		if (fraction > dscale)
		{
			bool		up = digit[whole + dscale] >= 5;

			fraction = dscale;
			total = whole + fraction;
			for (size_t i = total; up; i--)
			{
				up = digit[i - 1] == 9;
				digit[i - 1] = (uint8_t) (up ? 0 : digit[i - 1] + 1);
			}
		}
		for (size_t i = 0; i < whole; i++)
			if (digit[i] != 0)
			{
				if (whole - i > (size_t) (precision - scale))
					return MUST_HAND_OVER;
				break;
			}
	}

	/* Groups of four from the highest power down. */
	for (group = (long) (whole - 1) / 4; group * 4 + 3 >= -(long) fraction; group--)
	{
		int			value = 0;

		for (long power = group * 4 + 3; power >= group * 4; power--)
		{
			long		i = (long) whole - 1 - power;

			value = value * 10 + (i >= 0 && i < (long) total ? digit[i] : 0);
		}
		if (ngroups == 0 && value == 0)
			continue;
		if (ngroups == 0)
			weight = group;
		if (ngroups < 34000)
		{
			ref->bytes[8 + 2 * ngroups] = (uint8_t) (value & 255);
			ref->bytes[9 + 2 * ngroups] = (uint8_t) (value >> 8);
		}
		ngroups++;
		if (value != 0)
			lowest = group;
	}
	if (ngroups == 0)
		negative = false;
	else
		ngroups = (size_t) (weight - lowest + 1);
	if (weight > 32767 || dscale > 16383 || ngroups > 34000)
		return MUST_HAND_OVER;

	is_short = dscale < 64 && weight < 64 && weight >= -64;
	header[0] = (uint16_t) (is_short
							? 0x8000 + 0x2000 * negative + 128 * (int) dscale + (weight & 127)
							: 0x4000 * negative + (int) dscale);
	header[1] = (uint16_t) weight;
	ref->size = 4 + (is_short ? 2 : 4) + 2 * ngroups;
	if (is_short)
		memmove(ref->bytes + 6, ref->bytes + 8, 2 * ngroups);
	memcpy(ref->bytes + 4, header, is_short ? 2 : 4);
	for (int i = 0; i < 4; i++)
		ref->bytes[i] = (uint8_t) ((ref->size * 4) >> (8 * i));
	return MUST_CONVERT;
}

static void
expect_numeric(const char *text, size_t n, int32_t mod)
{
	static RefNumeric ref;
	PpColumn	col = {PP_NUMERIC, 0, 0, mod};
	Verdict		verdict = reference_numeric(text, n, mod, &ref);

	expect(&col, NULL, text, n, verdict, ref.bytes, ref.size);
}

static int32_t
random_numeric_mod(void)
{
	int			precision = 1 + (int) below(one_in(4) ? 1000 : 20);
	int			scale;

	if (one_in(3))
		return -1;
	scale = one_in(10) ? (int) below(2001) - 1000 : (int) below((uint32_t) precision + 1);
	return PP_NUMERIC_MOD(precision, scale);
}

static void
test_numeric(void)
{
	static const char alphabet[] = "0123456789+-..eE _xnN\xff";
	static const char *const fixed[] = {
		"", "-", "+", ".", "-.", "0", "-0", "+0", "0.0", "-0.000", ".0", "0.",
		"00000000000000000000000000000000000", "-00000000000000000000.00000",
		"1", "-1", "10000", "9999", "99999999", "10000.0001", "0.0001",
		"0.00001", "1e5", "1E-5", "NaN", "Infinity", "0x10", "1_000", " 1",
		"1 ", "9.99", "99.995", "0.5", "-0.5", "0.05", "9999.99995",
		"99999999999999.5", "999999999999999", "9999999999999999",
		"99999999999999999", "0.999999999999999", "9999999999999999.9",
		"12345678901234567890.12345678901234567890", "9999999999999999999999.5",
		"0.00000000000000000000000000000000000000000000000000000000000000000001"
	};
	static char big[140000];
	char		text[512];

	begin_group("numeric");
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
	{
		expect_numeric(fixed[i], strlen(fixed[i]), -1);
		for (int precision = 1; precision <= 25; precision++)
			for (int scale = -1; scale <= precision + 1; scale++)
				expect_numeric(fixed[i], strlen(fixed[i]),
							   PP_NUMERIC_MOD(precision, scale));
	}

	for (uint64_t i = 0; i < iterations; i++)
	{
		size_t		whole = below(one_in(8) ? 200 : 12);
		size_t		fraction = below(one_in(8) ? 200 : 8);
		size_t		n = 0;
		int32_t		mod = random_numeric_mod();

		if (one_in(3))
			text[n++] = one_in(3) ? '+' : '-';
		for (size_t k = 0; k < whole + 1 + fraction; k++)
		{
			/* Runs of zeros and nines find carries and empty groups. */
			if (k == whole)
			{
				if (fraction > 0 || one_in(4))
					text[n++] = '.';
			}
			else if (one_in(3) && n > 0 && text[n - 1] >= '0')
			{
				text[n] = text[n - 1];
				n++;
			}
			else
				text[n++] = one_in(3) ? '0' : one_in(3) ? '9' : (char) ('0' + below(10));
		}
		expect_numeric(text, n, mod);
		if (mod != -1 && one_in(2))
			expect_numeric(text, n, -1);
		if (one_in(4))
			expect_numeric(text, mutate(text, n, alphabet), mod);
	}

	/* The limits of weight and scale. */
	memset(big, '9', sizeof big);
	expect_numeric(big, 131071, -1);
	expect_numeric(big, 131072, -1);
	expect_numeric(big, 131073, -1);
	expect_numeric(big, 131072, PP_NUMERIC_MOD(1000, 0));
	for (size_t fraction = 16380; fraction < 16388; fraction++)
	{
		big[2] = '.';
		expect_numeric(big, 3 + fraction, -1);
		expect_numeric(big, 3 + fraction, PP_NUMERIC_MOD(10, 3));
		big[2] = '9';
		big[131072] = '.';
		expect_numeric(big, 131073, -1);
		expect_numeric(big, 131073 + 2, PP_NUMERIC_MOD(1000, 0));
		big[131072] = '9';
	}
	memset(big, '0', 135000);
	expect_numeric(big, 139000, -1);
	big[1] = '.';
	expect_numeric(big, 139000, PP_NUMERIC_MOD(5, 5));
	for (size_t n = 248; n < 268; n++)
	{
		memset(big, '0', n);
		big[0] = '7';
		expect_numeric(big, n, -1);
		big[0] = '.';
		big[n - 1] = '7';
		expect_numeric(big, n, -1);
		big[n - 1] = '0';
		expect_numeric(big, n, -1);
	}
	end_group();
}

#endif							/* CONVERT_NUMBERS_H */
