/*
 * test/unit/filter_test.c
 *	  Filters: every comparison and operator against one that is written the
 *	  long way, on values that the conversions make of random text.
 *
 * The order of numbers is that of their decimal digits, compared as text, so
 * that nothing of how a numeric is stored is taken for granted here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/convert.h"
#include "parse/filter.h"
#include "unit.h"

enum
{
	T_INT = 1,
	T_DAYS,
	T_FLOAT,
	T_BYTES,
	T_UUID,
	T_NUMERIC
};

static const char *const op_name[] = {
	"=", "<>", "<", "<=", ">", ">=", "starts with", "is null", "is not null", "never"
};

/* All operators must agree with the order of value and constant. */
static void
check_ops(const PpFilter *filter, uint64_t value, int order, const char *what)
{
	for (uint32_t op = PP_OP_EQ; op <= PP_OP_GE; op++)
	{
		PpFilter	f = *filter;
		bool		want = op == PP_OP_EQ ? order == 0 : op == PP_OP_NE ? order != 0 :
			op == PP_OP_LT ? order < 0 : op == PP_OP_LE ? order <= 0 :
			op == PP_OP_GT ? order > 0 : order >= 0;

		f.op = (PpOp) op;
		EXPECT(pp_filter_passes(&f, f.compare, f.op, value) == want, "%s: %s is not %s", what,
			   op_name[op], want ? "true" : "false");
	}
	EXPECT(pp_filter_compare(filter, filter->compare, value) ==
		   (order < 0 ? -1 : order > 0), "%s: order is not %d", what, order);
	EXPECT(pp_filter_passes(filter, filter->compare, PP_OP_NOT_NULL, value) &&
		   !pp_filter_passes(filter, filter->compare, PP_OP_IS_NULL, value) &&
		   !pp_filter_passes(filter, filter->compare, PP_OP_NEVER, value), "%s: null tests", what);
}

static void
test_int(void)
{
	static const int64_t edge[] = {INT64_MIN, INT64_MIN + 1, INT32_MIN, -1, 0, 1, INT32_MAX,
	INT64_MAX - 1, INT64_MAX};
	uint64_t	n = unit_iterations(2000);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_INT, i);
		int64_t		a = unit_once_in(&r, 2) ? edge[unit_below(&r, 9)] : (int64_t) unit_next(&r);
		int64_t		b = unit_once_in(&r, 2) ? edge[unit_below(&r, 9)] : (int64_t) unit_next(&r);
		PpFilter	f;

		unit_case("integers %lld, %lld", (long long) a, (long long) b);
		memset(&f, 0, sizeof(f));
		f.compare = PP_COMPARE_INT64;
		f.constant = (uint64_t) b;
		check_ops(&f, (uint64_t) a, a < b ? -1 : a > b, "int64");
	}
}

/* A date against a time stamp, over all years that dates have here. */
static void
test_days(void)
{
	uint64_t	n = unit_iterations(2000);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_DAYS, i);
		char		date[32];
		uint32_t	year = unit_once_in(&r, 4) ? (unit_once_in(&r, 2) ? 1 : 9999) : 1 + unit_below(&r, 9999);
		uint64_t	value = 0;
		int64_t		days;
		int64_t		b;
		PpFilter	f;

		snprintf(date, sizeof(date), "%04u-%02u-%02u", year, 1 + unit_below(&r, 12),
				 1 + unit_below(&r, 28));
		unit_case("date %s", date);
		EXPECT(pp_to_date((const uint8_t *) date, 10, &value), "is handed over");
		days = (int64_t) value;
		EXPECT(days >= -730119 && days <= 2921939, "%lld days", (long long) days);
		/* within a day, and far away */
		b = unit_once_in(&r, 4) ? (int64_t) unit_next(&r) :
			(days + (int64_t) unit_below(&r, 3) - 1) * INT64_C(86400000000) +
			(unit_once_in(&r, 2) ? 0 : (int64_t) unit_below(&r, 3) - 1);
		memset(&f, 0, sizeof(f));
		f.compare = PP_COMPARE_DAYS;
		f.constant = (uint64_t) b;
		check_ops(&f, value, days * INT64_C(86400000000) < b ? -1 : days * INT64_C(86400000000) > b, "days");
	}
}

/* NaN equals itself and is greater than all else; zeros are equal. */
static int
float_order(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b) ? 0 : isnan(a) ? 1 : -1;
	return a < b ? -1 : a > b;
}

static void
test_float(void)
{
	static const double edge[] = {-INFINITY, -1e308, -1.5, -1e-310, -0.0, 0.0, 1e-310, 0.1, 1.5,
	16777217.0, 1e38, 1e308, INFINITY, NAN};
	uint64_t	n = unit_iterations(3000);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_FLOAT, i);
		double		a = edge[unit_below(&r, 14)];
		double		b = edge[unit_below(&r, 14)];
		float		a4;
		PpFilter	f;
		uint64_t	bits;
		int32_t		bits4;

		if (unit_once_in(&r, 2))
		{
			bits = unit_next(&r);
			memcpy(&a, &bits, sizeof(a));
		}
		if (unit_once_in(&r, 4))
			b = a;
		unit_case("floats %g, %g", a, b);
		memset(&f, 0, sizeof(f));
		memcpy(&f.constant, &b, sizeof(b));
		f.compare = PP_COMPARE_FLOAT8;
		memcpy(&bits, &a, sizeof(bits));
		check_ops(&f, bits, float_order(a, b), "float8");

		f.compare = PP_COMPARE_FLOAT4;
		a4 = isnan(a) ? NAN : a > 3e38 ? INFINITY : a < -3e38 ? -INFINITY : (float) a;
		memcpy(&bits4, &a4, sizeof(bits4));
		check_ops(&f, (uint64_t) (int64_t) bits4, float_order(a4, b), "float4");
	}
}

static void
test_bytes(void)
{
	uint64_t	n = unit_iterations(20000);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_BYTES, i);
		static const uint8_t letter[] = "ab \xff";
		uint8_t		a[12];
		uint8_t		b[12];
		uint32_t	na = unit_below(&r, sizeof(a) + 1);
		uint32_t	nb = unit_below(&r, sizeof(b) + 1);
		_Alignas(8) uint8_t datum[64];
		uint32_t	common;
		int			order;
		PpFilter	f;

		for (uint32_t k = 0; k < sizeof(a); k++)
		{
			a[k] = letter[unit_below(&r, 4)];
			b[k] = unit_once_in(&r, 8) ? letter[unit_below(&r, 4)] : a[k];
		}
		unit_case("bytes %s, %s", unit_show(a, na), unit_show(b, nb));
		EXPECT(pp_to_text(a, na, datum) == 4 + na, "text");
		memset(&f, 0, sizeof(f));
		f.compare = PP_COMPARE_BYTES;
		f.bytes = b;
		f.nbytes = nb;
		common = na < nb ? na : nb;
		order = common > 0 ? memcmp(a, b, common) : 0;
		if (order == 0)
			order = na < nb ? -1 : na > nb;
		check_ops(&f, (uint64_t) (uintptr_t) datum, order, "bytes");
		EXPECT(pp_filter_passes(&f, f.compare, PP_OP_PREFIX, (uint64_t) (uintptr_t) datum) ==
			   (na >= nb && memcmp(a, b, nb) == 0), "prefix");

		/* blanks at the end do not count; the constant comes without them */
		while (na > 0 && a[na - 1] == ' ')
			na--;
		while (nb > 0 && b[nb - 1] == ' ')
			nb--;
		f.compare = PP_COMPARE_BPCHAR;
		f.nbytes = nb;
		common = na < nb ? na : nb;
		order = common > 0 ? memcmp(a, b, common) : 0;
		if (order == 0)
			order = na < nb ? -1 : na > nb;
		check_ops(&f, (uint64_t) (uintptr_t) datum, order, "bpchar");
	}
}

static void
test_uuid(void)
{
	uint64_t	n = unit_iterations(2000);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_UUID, i);
		uint8_t		a[16];
		uint8_t		b[16];
		PpFilter	f;

		unit_case("uuid %llu", (unsigned long long) i);
		for (uint32_t k = 0; k < 16; k++)
		{
			a[k] = (uint8_t) unit_below(&r, 256);
			b[k] = unit_once_in(&r, 30) ? (uint8_t) unit_below(&r, 256) : a[k];
		}
		memset(&f, 0, sizeof(f));
		f.compare = PP_COMPARE_UUID;
		f.bytes = b;
		f.nbytes = 16;
		check_ops(&f, (uint64_t) (uintptr_t) a, memcmp(a, b, 16), "uuid");
	}
}

/* A decimal number of w digits in front of the point and f behind it. */
static void
random_decimal(UnitRandom *r, char *out)
{
	uint32_t	w = unit_once_in(r, 4) ? unit_below(r, 30) : unit_below(r, 6);
	uint32_t	f = unit_once_in(r, 4) ? unit_below(r, 30) : unit_below(r, 6);
	uint32_t	zeros = unit_below(r, 4);
	size_t		o = 0;

	if (unit_once_in(r, 2))
		out[o++] = '-';
	out[o++] = '0';
	for (uint32_t i = 0; i < w; i++)
		out[o++] = i < zeros ? '0' : (char) ('0' + unit_below(r, unit_once_in(r, 2) ? 2 : 10));
	if (f > 0)
		out[o++] = '.';
	for (uint32_t i = 0; i < f; i++)
		out[o++] = i < zeros && unit_once_in(r, 2) ? '0' : (char) ('0' + unit_below(r, unit_once_in(r, 2) ? 2 : 10));
	out[o] = '\0';
}

/* The digits of the absolute value, with the point at a fixed place. */
static void
align(const char *s, char digits[81])
{
	const char *point;
	size_t		whole;

	if (*s == '-')
		s++;
	point = strchr(s, '.');
	whole = point ? (size_t) (point - s) : strlen(s);
	memset(digits, '0', 80);
	digits[80] = '\0';
	memcpy(digits + 40 - whole, s, whole);
	if (point)
		memcpy(digits + 40, point + 1, strlen(point + 1));
}

static int
decimal_order(const char *a, const char *b)
{
	char		da[81];
	char		db[81];
	char		zero[81];
	bool		na = *a == '-';
	bool		nb = *b == '-';
	int			order;

	align(a, da);
	align(b, db);
	align("0", zero);
	na = na && strcmp(da, zero) != 0;
	nb = nb && strcmp(db, zero) != 0;
	if (na != nb)
		return na ? -1 : 1;
	order = strcmp(da, db);
	return na ? -order : order;
}

static void
test_numeric(void)
{
	uint64_t	n = unit_iterations(40000);
	uint64_t	handed_over = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_NUMERIC, i);
		char		a[80];
		char		b[80];
		_Alignas(8) uint8_t da[256];
		_Alignas(8) uint8_t db[256];
		PpFilter	f;

		random_decimal(&r, a);
		random_decimal(&r, b);
		if (unit_once_in(&r, 3))
		{
			/* the same number, or nearly, at another scale */
			strcpy(b, a);
			if (strchr(b, '.') == NULL)
				strcat(b, ".0");
			strcat(b, unit_once_in(&r, 2) ? "00" : "01");
		}
		unit_case("numeric %s, %s", a, b);
		if (!pp_to_numeric((const uint8_t *) a, (uint32_t) strlen(a), -1, da) ||
			!pp_to_numeric((const uint8_t *) b, (uint32_t) strlen(b), -1, db))
		{
			handed_over++;
			EXPECT(true, "handed over");
			continue;
		}
		memset(&f, 0, sizeof(f));
		f.compare = PP_COMPARE_NUMERIC;
		f.bytes = db;
		check_ops(&f, (uint64_t) (uintptr_t) da, decimal_order(a, b), "numeric");
	}
	unit_case("numerics that are compared");
	EXPECT(handed_over * 2 < n, "%llu of %llu handed over", (unsigned long long) handed_over,
		   (unsigned long long) n);

	/*
	 * Special values are no business of the conversions but may be constants:
	 * infinities and NaN as they are stored.
	 */
	for (uint32_t k = 0; k < 3; k++)
	{
		static const uint16_t special[] = {0xf000, 0xd000, 0xc000};
		static const int order[] = {1, -1, -1};
		_Alignas(8) uint8_t value[64];
		_Alignas(8) uint8_t constant[8] = {6 << 2, 0, 0, 0, 0, 0, 0, 0};
		PpFilter	f;

		unit_case("numeric special value %u", k);
		constant[4] = (uint8_t) (special[k] & 0xff);
		constant[5] = (uint8_t) (special[k] >> 8);
		EXPECT(pp_to_numeric((const uint8_t *) "-12345.5", 8, -1, value) > 0, "handed over");
		memset(&f, 0, sizeof(f));
		f.compare = PP_COMPARE_NUMERIC;
		f.bytes = constant;
		check_ops(&f, (uint64_t) (uintptr_t) value, order[k], "number and special value");
		check_ops(&f, (uint64_t) (uintptr_t) constant, 0, "special value and itself");
	}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "filter");
	test_int();
	test_days();
	test_float();
	test_bytes();
	test_uuid();
	test_numeric();
	return unit_end();
}
