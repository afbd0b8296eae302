/*
 * src/parse/filter.h
 *	  Comparisons of a column with a constant that a scan evaluates itself,
 *	  exactly as the server's operators would.
 *
 * A scan's filters are combined by AND.  A value that is NULL passes none but
 * PP_OP_IS_NULL.  Of a value that was handed over to an input function
 * nothing is known here: its record passes, and the caller decides.
 *
 * Written once for host and device, like the conversions.
 */
#ifndef PP_FILTER_H
#define PP_FILTER_H

#include "column.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef enum PpOp
{
	PP_OP_EQ,
	PP_OP_NE,
	PP_OP_LT,
	PP_OP_LE,
	PP_OP_GT,
	PP_OP_GE,
	PP_OP_PREFIX,				/* value starts with the constant */
	PP_OP_IS_NULL,
	PP_OP_NOT_NULL,
	PP_OP_NEVER					/* compared with NULL: nothing passes */
} PpOp;

/* What a comparison takes a value, and the constant, for. */
typedef enum PpCompare
{
	PP_COMPARE_INT64,			/* the Datum as a signed integer */
	PP_COMPARE_DAYS,			/* value: days, constant: microseconds */
	PP_COMPARE_FLOAT8,
	PP_COMPARE_FLOAT4,			/* value: float4, constant: float8 */
	PP_COMPARE_BYTES,			/* varlena, byte by byte, then by length */
	PP_COMPARE_BPCHAR,			/* the same, trailing blanks aside */
	PP_COMPARE_UUID,
	PP_COMPARE_NUMERIC
} PpCompare;

typedef struct PpFilter
{
	uint32_t	column;			/* number of the projected column */
	PpOp		op;
	PpCompare	compare;
	uint64_t	constant;		/* INT64, DAYS: the integer; FLOAT*: bits of a
								 * float8 */
	const uint8_t *bytes;		/* BYTES, BPCHAR (without trailing blanks), UUID:
								 * the constant's bytes; NUMERIC: a varlena with
								 * a 4-byte header */
	uint32_t	nbytes;
} PpFilter;

/* memcmp, for host and device. */
PP_INLINE int32_t
pp_compare_bytes(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

/* As float8_cmp_internal(): NaN equals NaN and is greater than all else. */
PP_INLINE int32_t
pp_compare_float8(double a, double b)
{
	bool		a_nan = a != a;
	bool		b_nan = b != b;

	if (a_nan || b_nan)
		return (int32_t) a_nan - (int32_t) b_nan;
	return a < b ? -1 : a > b ? 1 : 0;
}

/* A varlena's data and its length; 4-byte headers only. */
PP_INLINE const uint8_t *
pp_varlena(uint64_t datum, uint32_t *len)
{
	const uint8_t *p = (const uint8_t *) (uintptr_t) datum;

	*len = (((uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 |
			 (uint32_t) p[3] << 24) >> 2) - 4;
	return p + 4;
}

/* A numeric, taken apart. */
typedef struct PpNumericParts
{
	int32_t		special;		/* 0: finite; -1, 1: infinite; 2: NaN */
	int32_t		sign;			/* -1, 0 (zero), 1 */
	int32_t		weight;
	uint32_t	ndigits;
	const uint8_t *digits;		/* 16-bit base-10000 digits */
} PpNumericParts;

PP_INLINE PpNumericParts
pp_numeric_parts(uint64_t datum)
{
	PpNumericParts r;
	uint32_t	len;
	const uint8_t *p = pp_varlena(datum, &len);
	uint32_t	header = (uint32_t) p[0] | (uint32_t) p[1] << 8;
	bool		negative;

	r.special = 0;
	r.sign = 0;
	r.weight = 0;
	r.ndigits = 0;
	r.digits = p;
	if ((header & 0xc000u) == 0xc000u)
	{
		r.special = (header & 0xf000u) == 0xd000u ? 1 :
			(header & 0xf000u) == 0xf000u ? -1 : 2;
		return r;
	}
	if (header & 0x8000u)
	{
		/* short header: sign, 6 bits of scale, 7 bits of signed weight */
		negative = (header & 0x2000u) != 0;
		r.weight = (int32_t) ((header & 0x7fu) ^ 0x40u) - 0x40;
		r.digits = p + 2;
		r.ndigits = (len - 2) / 2;
	}
	else
	{
		negative = (header & 0x4000u) != 0;
		r.weight = (int16_t) (uint16_t) ((uint32_t) p[2] | (uint32_t) p[3] << 8);
		r.digits = p + 4;
		r.ndigits = (len - 4) / 2;
	}
	if (r.ndigits > 0)
		r.sign = negative ? -1 : 1;
	return r;
}

/* As numeric_cmp(); both without leading zero digits, as stored numerics are. */
PP_INLINE int32_t
pp_compare_numeric(uint64_t x, uint64_t y)
{
	PpNumericParts a = pp_numeric_parts(x);
	PpNumericParts b = pp_numeric_parts(y);
	uint32_t	n = a.ndigits > b.ndigits ? a.ndigits : b.ndigits;

	if (a.special != b.special)
		return a.special < b.special ? -1 : 1;
	if (a.special != 0)
		return 0;
	if (a.sign != b.sign)
		return a.sign < b.sign ? -1 : 1;
	if (a.sign == 0)
		return 0;
	if (a.weight != b.weight)
		return (a.weight < b.weight) == (a.sign > 0) ? -1 : 1;
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	p = i < a.ndigits ? (uint32_t) a.digits[2 * i] | (uint32_t) a.digits[2 * i + 1] << 8 : 0;
		uint32_t	q = i < b.ndigits ? (uint32_t) b.digits[2 * i] | (uint32_t) b.digits[2 * i + 1] << 8 : 0;

		if (p != q)
			return (p < q) == (a.sign > 0) ? -1 : 1;
	}
	return 0;
}

PP_INLINE double
pp_bits_to_double(uint64_t bits)
{
	union
	{
		uint64_t	u;
		double		d;
	}			x;

	x.u = bits;
	return x.d;
}

PP_INLINE float
pp_bits_to_float(uint64_t bits)
{
	union
	{
		uint32_t	u;
		float		f;
	}			x;

	x.u = (uint32_t) bits;
	return x.f;
}

/* -1, 0 or 1: a value (not NULL) against the filter's constant. */
PP_INLINE int32_t
pp_filter_compare(const PpFilter *f, PpCompare compare, uint64_t value)
{
	const uint8_t *p;
	uint32_t	n,
				common;
	int64_t		a = (int64_t) value,
				b = (int64_t) f->constant;
	int32_t		c;

	switch (compare)
	{
		case PP_COMPARE_DAYS:
			a *= INT64_C(86400000000);
			return a < b ? -1 : a > b ? 1 : 0;
		case PP_COMPARE_FLOAT8:
			return pp_compare_float8(pp_bits_to_double(value), pp_bits_to_double(f->constant));
		case PP_COMPARE_FLOAT4:
			return pp_compare_float8((double) pp_bits_to_float(value),
									 pp_bits_to_double(f->constant));
		case PP_COMPARE_UUID:
			return pp_compare_bytes((const uint8_t *) (uintptr_t) value, f->bytes, 16);
		case PP_COMPARE_NUMERIC:
			return pp_compare_numeric(value, (uint64_t) (uintptr_t) f->bytes);
		case PP_COMPARE_BYTES:
		case PP_COMPARE_BPCHAR:
			p = pp_varlena(value, &n);
			if (compare == PP_COMPARE_BPCHAR)
				while (n > 0 && p[n - 1] == ' ')
					n--;
			common = n < f->nbytes ? n : f->nbytes;
			c = pp_compare_bytes(p, f->bytes, common);
			return c != 0 ? c : n < f->nbytes ? -1 : n > f->nbytes ? 1 : 0;
		case PP_COMPARE_INT64:
			break;
	}
	return a < b ? -1 : a > b ? 1 : 0;
}

/* Does a value (not NULL) pass? */
PP_INLINE bool
pp_filter_passes(const PpFilter *f, PpCompare compare, PpOp op, uint64_t value)
{
	const uint8_t *p;
	uint32_t	n;

	switch (op)
	{
		case PP_OP_EQ:
		case PP_OP_NE:
			if (compare == PP_COMPARE_BYTES)
			{
				/* most differ in length already */
				p = pp_varlena(value, &n);
				return (n == f->nbytes && pp_same_bytes(p, f->bytes, n)) == (op == PP_OP_EQ);
			}
			return (pp_filter_compare(f, compare, value) == 0) == (op == PP_OP_EQ);
		case PP_OP_LT:
			return pp_filter_compare(f, compare, value) < 0;
		case PP_OP_LE:
			return pp_filter_compare(f, compare, value) <= 0;
		case PP_OP_GT:
			return pp_filter_compare(f, compare, value) > 0;
		case PP_OP_GE:
			return pp_filter_compare(f, compare, value) >= 0;
		case PP_OP_PREFIX:
			p = pp_varlena(value, &n);
			return n >= f->nbytes && pp_same_bytes(p, f->bytes, f->nbytes);
		case PP_OP_NOT_NULL:
			return true;
		case PP_OP_IS_NULL:
		case PP_OP_NEVER:
			break;
	}
	return false;
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_FILTER_H */
