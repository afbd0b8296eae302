/*-------------------------------------------------------------------------
 *
 * accumulate.c
 *		The arithmetic of aggregates: values of a batch into accumulators,
 *		accumulators into results.
 *
 * Results are the server's own, bit for bit, and so are errors.  What that
 * means for each kind: floating-point values are added in the order given,
 * float4 in float4; the average of floats keeps the sum of squared deviations
 * that the server's accumulator keeps, since that may overflow first; sums of
 * int2 and int4 are taken modulo 2^64, sums of int8 and numeric are exact;
 * a numeric sum has the greatest display scale of its finite inputs; among
 * equal values MIN and MAX keep the one that the server's function keeps.
 *
 * Loops run over one column at a time.  This file knows nothing of files,
 * records or plans.
 *
 * IDENTIFICATION
 *		src/scan/accumulate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "aggregate.h"

/*
 * Adding this changes no value, not even a negative zero, so it stands for
 * NULL in sums and for the sum of nothing.
 */
#define MINUS_ZERO	(UINT64CONST(1) << 63)

/* base of numeric's digits, and how many decimal ones each holds */
#define NUMERIC_BASE	10000
#define NUMERIC_DIGITS	4

/*
 * A sum of numerics: one 64-bit lane for each digit, which may be of any size
 * and sign until the end.  A lane overflows after 2^63 / 9999 values, so
 * never.
 */
struct PpNumericSum
{
	int64		nan;
	int64		plus_infinity;
	int64		minus_infinity;
	int64		finite;
	int			dscale;			/* greatest of the finite values */
	int			weight;			/* of the first lane: power of NUMERIC_BASE */
	int			nlanes;
	int64	   *lane;
};

#define always_inline	inline __attribute__((always_inline))

/* Number of the row of position i. */
static always_inline uint32
row_of(const PpSegment *s, uint32 i)
{
	return s->rows ? s->rows[i] : i;
}

/*
 * Sums.
 */

static always_inline void
add_wide(PpAccum *a, int64 x)
{
	uint64		low = a->u.wide.low + (uint64) x;

	a->u.wide.high += (x < 0 ? -1 : 0) + (low < (uint64) x ? 1 : 0);
	a->u.wide.low = low;
}

static always_inline void
add_float8(PpAccum *a, float8 x)
{
	a->u.f8 = float8_pl(a->u.f8, x);
}

static always_inline void
add_float4(PpAccum *a, float4 x)
{
	a->u.f4 = float4_pl(a->u.f4, x);
}

/*
 * One value more for an average: the algorithm of Youngs and Cramer, as
 * float8_accum() has it.  The deviations are needed for nothing but their
 * overflow.
 */
static always_inline void
add_moments(float8 *count, float8 *sum, float8 *deviations, float8 x)
{
	float8		before = *count;
	float8		n = before + 1.0;
	float8		sx = *sum + x;
	float8		sxx = *deviations;

	if (likely(before > 0.0))
	{
		float8		deviation = x * n - sx;

		sxx += deviation * deviation / (n * before);
		if (unlikely(isinf(sx) || isinf(sxx)))
		{
			if (!isinf(*sum) && !isinf(x))
				float_overflow_error();
			sxx = get_float8_nan();
		}
	}
	else if (unlikely(isnan(x) || isinf(x)))
		sxx = get_float8_nan();
	*count = n;
	*sum = sx;
	*deviations = sxx;
}

/* A value of type float4 or float8 as the latter. */
static always_inline float8
widen_float(PpAggKind kind, uint64 value)
{
	return kind == PP_AGG_AVG_FLOAT4 ? (float8) pp_bits_to_float(value) :
		pp_bits_to_double(value);
}

/* Makes lanes for digits of the weights from last to first. */
static pg_noinline void
widen(PpNumericSum *sum, int first, int last)
{
	int64	   *lane;
	int			nlanes;

	if (sum->nlanes > 0)
	{
		first = Max(first, sum->weight);
		last = Min(last, sum->weight - sum->nlanes + 1);
	}
	else
		last = Min(last, -1);
	nlanes = first - last + 1;
	lane = palloc0(nlanes * sizeof(int64));
	if (sum->nlanes > 0)
	{
		memcpy(lane + (first - sum->weight), sum->lane, sum->nlanes * sizeof(int64));
		pfree(sum->lane);
	}
	sum->lane = lane;
	sum->nlanes = nlanes;
	sum->weight = first;
}

/* Digits behind the point that a finite numeric is shown with. */
static always_inline int
numeric_dscale(uint64 datum)
{
	uint16		header;

	memcpy(&header, VARDATA((Pointer) (uintptr_t) datum), sizeof(header));
	return header & 0x8000 ? (header >> 7) & 0x3f : header & 0x3fff;
}

static always_inline void
add_numeric(PpAccum *a, uint64 datum)
{
	PpNumericParts p = pp_numeric_parts(datum);
	PpNumericSum *sum = a->u.numeric;
	int64	   *lane;

	if (unlikely(sum == NULL))
		sum = a->u.numeric = palloc0(sizeof(PpNumericSum));
	if (unlikely(p.special != 0))
	{
		if (p.special == 2)
			sum->nan++;
		else if (p.special == 1)
			sum->plus_infinity++;
		else
			sum->minus_infinity++;
		return;
	}
	sum->finite++;
	sum->dscale = Max(sum->dscale, numeric_dscale(datum));
	if (p.ndigits == 0)
		return;
	if (unlikely(p.weight > sum->weight ||
				 p.weight - (int) p.ndigits < sum->weight - sum->nlanes))
		widen(sum, p.weight, p.weight - (int) p.ndigits + 1);
	lane = sum->lane + (sum->weight - p.weight);
	for (uint32 i = 0; i < p.ndigits; i++)
	{
		int16		digit;

		memcpy(&digit, p.digits + 2 * i, sizeof(digit));
		lane[i] += p.sign < 0 ? -digit : digit;
	}
}

/*
 * Minimum and maximum.
 */

/* Compares the bytes of two varlenas. */
static always_inline int
compare_bytes(const uint8 *x, const uint8 *y, bool blanks_count)
{
	const char *p = VARDATA(x);
	const char *q = VARDATA(y);
	Size		m = VARSIZE(x) - VARHDRSZ;
	Size		n = VARSIZE(y) - VARHDRSZ;
	int			c;

	if (!blanks_count)
	{
		while (m > 0 && p[m - 1] == ' ')
			m--;
		while (n > 0 && q[n - 1] == ' ')
			n--;
	}
	c = memcmp(p, q, Min(m, n));
	return c != 0 ? c : m < n ? -1 : m > n ? 1 : 0;
}

/*
 * Does the value y take the place of x?  Of equal ones the server keeps the
 * later, except for bpchar; for text they are the same.
 */
static always_inline bool
replaces(PpAggKind kind, uint64 x, uint64 y)
{
	const uint8 *p = (const uint8 *) (uintptr_t) x;
	const uint8 *q = (const uint8 *) (uintptr_t) y;

	switch (kind)
	{
		case PP_AGG_MIN_FLOAT4:
			return !float4_lt(pp_bits_to_float(x), pp_bits_to_float(y));
		case PP_AGG_MAX_FLOAT4:
			return !float4_gt(pp_bits_to_float(x), pp_bits_to_float(y));
		case PP_AGG_MIN_FLOAT8:
			return !float8_lt(pp_bits_to_double(x), pp_bits_to_double(y));
		case PP_AGG_MAX_FLOAT8:
			return !float8_gt(pp_bits_to_double(x), pp_bits_to_double(y));
		case PP_AGG_MIN_NUMERIC:
			return pp_compare_numeric(x, y) >= 0;
		case PP_AGG_MAX_NUMERIC:
			return pp_compare_numeric(x, y) <= 0;
		case PP_AGG_MIN_BYTES:
			return compare_bytes(p, q, true) > 0;
		case PP_AGG_MAX_BYTES:
			return compare_bytes(p, q, true) < 0;
		case PP_AGG_MIN_BPCHAR:
			return compare_bytes(p, q, false) > 0;
		case PP_AGG_MAX_BPCHAR:
			return compare_bytes(p, q, false) < 0;
		default:
			return false;
	}
}

static always_inline bool
is_best_by_reference(PpAggKind kind)
{
	return kind >= PP_AGG_MIN_NUMERIC;
}

/* Keeps a varlena of the batch. */
static void
keep(PpAccum *a, const uint8 *bytes)
{
	Size		size = VARSIZE(bytes);

	if (size > a->u.best.room)
	{
		Size		room = Min(Max(2 * size, 32), MaxAllocSize);

		if (a->u.best.bytes)
			pfree(a->u.best.bytes);
		a->u.best.room = 0;
		a->u.best.bytes = NULL;
		a->u.best.bytes = palloc(room);
		a->u.best.room = room;
	}
	memcpy(a->u.best.bytes, bytes, size);
}

/*
 * All kinds.
 */

/* One value that is not NULL; by-reference MIN and MAX excepted. */
static always_inline void
take(PpAggKind kind, PpAccum *a, uint64 value)
{
	switch (kind)
	{
		case PP_AGG_COUNT_ALL:
		case PP_AGG_COUNT:
			break;
		case PP_AGG_SUM_INT:
		case PP_AGG_AVG_INT:
			a->u.sum = (int64) ((uint64) a->u.sum + value);
			break;
		case PP_AGG_SUM_INT8:
		case PP_AGG_AVG_INT8:
			add_wide(a, (int64) value);
			break;
		case PP_AGG_SUM_NUMERIC:
		case PP_AGG_AVG_NUMERIC:
			add_numeric(a, value);
			break;
		case PP_AGG_SUM_FLOAT4:
			add_float4(a, pp_bits_to_float(value));
			break;
		case PP_AGG_SUM_FLOAT8:
			add_float8(a, pp_bits_to_double(value));
			break;
		case PP_AGG_AVG_FLOAT4:
		case PP_AGG_AVG_FLOAT8:
			{
				float8		n = (float8) a->n;

				add_moments(&n, &a->u.moments.sx, &a->u.moments.sxx,
							widen_float(kind, value));
			}
			break;
		case PP_AGG_MIN_INT:
			a->u.value = (int64) value < (int64) a->u.value ? value : a->u.value;
			break;
		case PP_AGG_MAX_INT:
			a->u.value = (int64) value > (int64) a->u.value ? value : a->u.value;
			break;
		default:
			if (a->n == 0 || replaces(kind, a->u.value, value))
				a->u.value = value;
			break;
	}
	a->n++;
}

/* Are there no NULLs among consecutive rows? */
static bool
all_values(const PpSegment *s)
{
	uint32		i = s->from;
	uint64		any = 0;
	uint64		word;

	for (; s->to - i >= sizeof(word); i += sizeof(word))
	{
		memcpy(&word, s->state + i, sizeof(word));
		any |= word;
	}
	for (; i < s->to; i++)
		any |= s->state[i];
	return any == PP_VALUE;
}

/* A segment; the accumulator stays in registers. */
static always_inline void
accumulate(PpAccum *accum, PpAggKind kind, const PpSegment *segment)
{
	PpSegment	s = *segment;
	PpAccum		a = *accum;

	if (is_best_by_reference(kind))
	{
		const uint8 *best = a.u.best.bytes;

		for (uint32 i = s.from; i < s.to; i++)
		{
			uint32		r = row_of(&s, i);

			if (s.state[r] != PP_VALUE)
				continue;
			if (a.n == 0 || replaces(kind, (uint64) (uintptr_t) best, s.value[r]))
				best = (const uint8 *) (uintptr_t) s.value[r];
			a.n++;
		}
		if (best != a.u.best.bytes)
			keep(&a, best);
	}
	else if (kind == PP_AGG_COUNT && s.rows == NULL && all_values(&s))
		a.n += s.to - s.from;
	else if (kind == PP_AGG_AVG_FLOAT4 || kind == PP_AGG_AVG_FLOAT8)
	{
		float8		n = (float8) a.n;
		float8		sx = a.u.moments.sx;
		float8		sxx = a.u.moments.sxx;

		for (uint32 i = s.from; i < s.to; i++)
		{
			uint32		r = row_of(&s, i);

			if (s.state[r] == PP_VALUE)
				add_moments(&n, &sx, &sxx, widen_float(kind, s.value[r]));
		}
		a.n = (int64) n;
		a.u.moments.sx = sx;
		a.u.moments.sxx = sxx;
	}
	else
	{
		for (uint32 i = s.from; i < s.to; i++)
		{
			uint32		r = row_of(&s, i);

			if (s.state[r] == PP_VALUE)
				take(kind, &a, s.value[r]);
		}
	}
	*accum = a;
}

static always_inline void
accumulate_groups(PpAccum *accums, Size stride, PpAggKind kind,
				  const PpSegment *segment, const uint32 *group)
{
	PpSegment	s = *segment;

	for (uint32 i = s.from; i < s.to; i++)
	{
		uint32		r = row_of(&s, i);
		PpAccum    *a = &accums[group[i] * stride];

		if (s.state[r] != PP_VALUE)
			continue;
		if (is_best_by_reference(kind))
		{
			const uint8 *bytes = (const uint8 *) (uintptr_t) s.value[r];

			if (a->n == 0 || replaces(kind, (uint64) (uintptr_t) a->u.best.bytes, s.value[r]))
				keep(a, bytes);
			a->n++;
		}
		else
			take(kind, a, s.value[r]);
	}
}

/* A value to be added; of NULL, one that changes nothing. */
static always_inline float8
addend(const PpSegment *s, uint32 row)
{
	return pp_bits_to_double(s->state[row] == PP_VALUE ? s->value[row] : MINUS_ZERO);
}

#define SUMS	4				/* at a time, spelled out below */

/*
 * Sums without a look at overflow, for which the end result is enough.  An
 * addition waits for the one before it, but sums do not wait for each other.
 */
static void
sum_float8(PpAccum **accum, const PpSegment *segment)
{
	const PpSegment a = segment[0],
				b = segment[1],
				c = segment[2],
				d = segment[3];
	float8		x = accum[0]->u.f8,
				y = accum[1]->u.f8,
				z = accum[2]->u.f8,
				w = accum[3]->u.f8;
	float8		sum[SUMS];

	if (a.rows == NULL && all_values(&a) && all_values(&b) && all_values(&c) && all_values(&d))
	{
		for (uint32 i = a.from; i < a.to; i++)
		{
			x += pp_bits_to_double(a.value[i]);
			y += pp_bits_to_double(b.value[i]);
			z += pp_bits_to_double(c.value[i]);
			w += pp_bits_to_double(d.value[i]);
		}
	}
	else
	{
		for (uint32 i = a.from; i < a.to; i++)
		{
			uint32		r = row_of(&a, i);

			x += addend(&a, r);
			y += addend(&b, r);
			z += addend(&c, r);
			w += addend(&d, r);
		}
	}

	sum[0] = x;
	sum[1] = y;
	sum[2] = z;
	sum[3] = w;
	for (int k = 0; k < SUMS; k++)
	{
		if (unlikely(isinf(sum[k]) || isnan(sum[k])) &&
			!isinf(accum[k]->u.f8) && !isnan(accum[k]->u.f8))
		{
			/* Was that an overflow, or are there such values? */
			accumulate(accum[k], PP_AGG_SUM_FLOAT8, &segment[k]);
			continue;
		}
		accum[k]->u.f8 = sum[k];
		accumulate(accum[k], PP_AGG_COUNT, &segment[k]);
	}
}

void
parparaw_accumulate_float8(PpAccum **accum, const PpSegment *segment, int n)
{
	PpAccum    *last[SUMS];
	PpSegment	last_segment[SUMS];
	PpAccum		unused[SUMS];

	for (; n >= SUMS; accum += SUMS, segment += SUMS, n -= SUMS)
		sum_float8(accum, segment);
	if (n == 1)
		accumulate(accum[0], PP_AGG_SUM_FLOAT8, &segment[0]);
	else if (n > 1)
	{
		/* a sum that nobody wants does no harm */
		for (int k = 0; k < SUMS; k++)
		{
			last[k] = k < n ? accum[k] : &unused[k];
			last_segment[k] = segment[k < n ? k : 0];
			if (k >= n)
				unused[k] = *accum[0];
		}
		sum_float8(last, last_segment);
	}
}

/* Calls f for the kind, as a constant. */
#define FOR_KIND(kind, f, ...) \
	switch (kind) \
	{ \
		CASE(PP_AGG_COUNT, f, __VA_ARGS__); \
		CASE(PP_AGG_SUM_INT, f, __VA_ARGS__); \
		CASE(PP_AGG_AVG_INT, f, __VA_ARGS__); \
		CASE(PP_AGG_SUM_INT8, f, __VA_ARGS__); \
		CASE(PP_AGG_AVG_INT8, f, __VA_ARGS__); \
		CASE(PP_AGG_SUM_NUMERIC, f, __VA_ARGS__); \
		CASE(PP_AGG_AVG_NUMERIC, f, __VA_ARGS__); \
		CASE(PP_AGG_SUM_FLOAT4, f, __VA_ARGS__); \
		CASE(PP_AGG_SUM_FLOAT8, f, __VA_ARGS__); \
		CASE(PP_AGG_AVG_FLOAT4, f, __VA_ARGS__); \
		CASE(PP_AGG_AVG_FLOAT8, f, __VA_ARGS__); \
		CASE(PP_AGG_MIN_INT, f, __VA_ARGS__); \
		CASE(PP_AGG_MAX_INT, f, __VA_ARGS__); \
		CASE(PP_AGG_MIN_FLOAT4, f, __VA_ARGS__); \
		CASE(PP_AGG_MAX_FLOAT4, f, __VA_ARGS__); \
		CASE(PP_AGG_MIN_FLOAT8, f, __VA_ARGS__); \
		CASE(PP_AGG_MAX_FLOAT8, f, __VA_ARGS__); \
		CASE(PP_AGG_MIN_NUMERIC, f, __VA_ARGS__); \
		CASE(PP_AGG_MAX_NUMERIC, f, __VA_ARGS__); \
		CASE(PP_AGG_MIN_BYTES, f, __VA_ARGS__); \
		CASE(PP_AGG_MAX_BYTES, f, __VA_ARGS__); \
		CASE(PP_AGG_MIN_BPCHAR, f, __VA_ARGS__); \
		CASE(PP_AGG_MAX_BPCHAR, f, __VA_ARGS__); \
		case PP_AGG_COUNT_ALL: \
			break; \
	}

void
parparaw_accumulate(PpAccum *accum, PpAggKind kind, const PpSegment *segment)
{
#define CASE(k, f, ...) case k: f(accum, k, __VA_ARGS__); return
	FOR_KIND(kind, accumulate, segment);
#undef CASE
	accum->n += segment->to - segment->from;
}

void
parparaw_accumulate_groups(PpAccum *accums, Size stride, PpAggKind kind,
						   const PpSegment *segment, const uint32 *group)
{
#define CASE(k, f, ...) case k: f(accums, stride, k, __VA_ARGS__); return
	FOR_KIND(kind, accumulate_groups, segment, group);
#undef CASE
	for (uint32 i = segment->from; i < segment->to; i++)
		accums[group[i] * stride].n++;
}

void
parparaw_accum_init(PpAccum *accum, PpAggKind kind)
{
	memset(accum, 0, sizeof(*accum));
	switch (kind)
	{
		case PP_AGG_SUM_FLOAT4:
			accum->u.f4 = -0.0f;
			break;
		case PP_AGG_SUM_FLOAT8:
			accum->u.f8 = -0.0;
			break;
		case PP_AGG_MIN_INT:
			accum->u.value = (uint64) PG_INT64_MAX;
			break;
		case PP_AGG_MAX_INT:
			accum->u.value = (uint64) PG_INT64_MIN;
			break;
		default:
			break;
	}
}

bool
parparaw_accum_operation(PpAggKind kind, PpAggregateOp *op)
{
	switch (kind)
	{
		case PP_AGG_COUNT_ALL:
			*op = PP_AGGREGATE_COUNT_ALL;
			return true;
		case PP_AGG_COUNT:
			*op = PP_AGGREGATE_COUNT;
			return true;
		case PP_AGG_SUM_INT:
		case PP_AGG_AVG_INT:
		case PP_AGG_SUM_INT8:
		case PP_AGG_AVG_INT8:
			*op = PP_AGGREGATE_SUM;
			return true;
		case PP_AGG_SUM_NUMERIC:
		case PP_AGG_AVG_NUMERIC:
			*op = PP_AGGREGATE_SUM_NUMERIC;
			return true;
		case PP_AGG_MIN_INT:
			*op = PP_AGGREGATE_MIN;
			return true;
		case PP_AGG_MAX_INT:
			*op = PP_AGGREGATE_MAX;
			return true;
		case PP_AGG_MIN_FLOAT4:
			*op = PP_AGGREGATE_MIN_FLOAT4;
			return true;
		case PP_AGG_MAX_FLOAT4:
			*op = PP_AGGREGATE_MAX_FLOAT4;
			return true;
		case PP_AGG_MIN_FLOAT8:
			*op = PP_AGGREGATE_MIN_FLOAT8;
			return true;
		case PP_AGG_MAX_FLOAT8:
			*op = PP_AGGREGATE_MAX_FLOAT8;
			return true;
		case PP_AGG_MIN_NUMERIC:
			*op = PP_AGGREGATE_MIN_NUMERIC;
			return true;
		case PP_AGG_MAX_NUMERIC:
			*op = PP_AGGREGATE_MAX_NUMERIC;
			return true;
		default:
			return false;
	}
}

static Datum lanes_to_numeric(const PpNumericSum *sum);

/*
 * Adds a partial's value or sum of numerics, which is a multiple of
 * 10000^-fraction in 128 bits, as one finite value.
 */
static void
add_fixed(PpNumericSum *sum, const PpPartial *p)
{
	bool		negative = p->high < 0;
	uint64		low = negative ? -p->low : p->low;
	uint64		high = negative ? ~(uint64) p->high + (low == 0) : (uint64) p->high;
	uint32		limb[4] = {(uint32) (high >> 32), (uint32) high, (uint32) (low >> 32), (uint32) low};
	int			last = -(int) p->fraction;	/* weight of the next digit */

	sum->dscale = Max(sum->dscale, (int) p->scale);
	for (; limb[0] | limb[1] | limb[2] | limb[3]; last++)
	{
		uint64		rest = 0;

		for (int i = 0; i < lengthof(limb); i++)
		{
			rest = rest << 32 | limb[i];
			limb[i] = (uint32) (rest / NUMERIC_BASE);
			rest %= NUMERIC_BASE;
		}
		if (last > sum->weight || last <= sum->weight - sum->nlanes)
			widen(sum, last, last);
		sum->lane[sum->weight - last] += negative ? -(int64) rest : (int64) rest;
	}
}

void
parparaw_accum_add(PpAccum *a, PpAggKind kind, const PpPartial *p)
{
	PpNumericSum one = {0};
	Datum		datum;
	uint64		low;

	if (p->count == 0)
		return;
	switch (kind)
	{
		case PP_AGG_SUM_INT:
		case PP_AGG_AVG_INT:
			a->u.sum = (int64) ((uint64) a->u.sum + p->low);
			break;
		case PP_AGG_SUM_INT8:
		case PP_AGG_AVG_INT8:
			low = a->u.wide.low + p->low;
			a->u.wide.high += p->high + (low < p->low ? 1 : 0);
			a->u.wide.low = low;
			break;
		case PP_AGG_MIN_INT:
			if ((int64) p->low < (int64) a->u.value)
				a->u.value = p->low;
			break;
		case PP_AGG_MAX_INT:
			if ((int64) p->low > (int64) a->u.value)
				a->u.value = p->low;
			break;
		case PP_AGG_SUM_NUMERIC:
		case PP_AGG_AVG_NUMERIC:
			if (a->u.numeric == NULL)
				a->u.numeric = palloc0(sizeof(PpNumericSum));
			a->u.numeric->finite += (int64) p->count;
			add_fixed(a->u.numeric, p);
			break;
		case PP_AGG_MIN_FLOAT4:
		case PP_AGG_MAX_FLOAT4:
		case PP_AGG_MIN_FLOAT8:
		case PP_AGG_MAX_FLOAT8:
			if (a->n == 0 || replaces(kind, a->u.value, p->low))
				a->u.value = p->low;
			break;
		case PP_AGG_MIN_NUMERIC:
		case PP_AGG_MAX_NUMERIC:
			add_fixed(&one, p);
			datum = lanes_to_numeric(&one);
			if (a->n == 0 || replaces(kind, (uint64) (uintptr_t) a->u.best.bytes, (uint64) datum))
				keep(a, (const uint8 *) DatumGetPointer(datum));
			pfree(DatumGetPointer(datum));
			if (one.lane)
				pfree(one.lane);
			break;
		default:
			break;
	}
	a->n += (int64) p->count;
}

/*
 * Results.
 */

static Datum
divide(Datum sum, int64 n)
{
	return DirectFunctionCall2(numeric_div, sum,
							   NumericGetDatum(int64_to_numeric(n)));
}

/* x * 2^32 + y */
static Datum
shift_and_add(Datum x, int64 y)
{
	Datum		base = NumericGetDatum(int64_to_numeric(INT64CONST(1) << 32));

	return DirectFunctionCall2(numeric_add,
							   DirectFunctionCall2(numeric_mul, x, base),
							   NumericGetDatum(int64_to_numeric(y)));
}

static Datum
wide_to_numeric(const PpAccum *a)
{
	Datum		high;

	if (a->u.wide.high == ((int64) a->u.wide.low < 0 ? -1 : 0))
		return NumericGetDatum(int64_to_numeric((int64) a->u.wide.low));
	high = NumericGetDatum(int64_to_numeric(a->u.wide.high));
	high = shift_and_add(high, (int64) (a->u.wide.low >> 32));
	return shift_and_add(high, (int64) (a->u.wide.low & 0xffffffff));
}

static Datum
string_to_numeric(char *string)
{
	return DirectFunctionCall3(numeric_in, CStringGetDatum(string),
							   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

/*
 * Brings all lanes into 0 .. NUMERIC_BASE - 1, from the last to the first;
 * answers what is carried out of the first.
 */
static int64
propagate(int64 *lane, int nlanes)
{
	int64		carry = 0;

	for (int i = nlanes - 1; i >= 0; i--)
	{
		int64		x = lane[i] + carry;

		carry = x / NUMERIC_BASE;
		x %= NUMERIC_BASE;
		if (x < 0)
		{
			x += NUMERIC_BASE;
			carry--;
		}
		lane[i] = x;
	}
	return carry;
}

/* The sum of finite values; of none, 0. */
static Datum
lanes_to_numeric(const PpNumericSum *sum)
{
	const int	extra = 6;		/* digits that carries may add */
	int			nlanes = sum->nlanes + extra;
	int			weight = sum->weight + extra;
	int64	   *lane = palloc0(nlanes * sizeof(int64));
	StringInfoData buf;
	bool		negative;

	if (sum->nlanes > 0)
		memcpy(lane + extra, sum->lane, sum->nlanes * sizeof(int64));
	negative = propagate(lane, nlanes) < 0;
	if (negative)
	{
		/* what was carried out was -1, so this is the sum less 10000^n */
		for (int i = 0; i < nlanes; i++)
			lane[i] = -lane[i];
		(void) propagate(lane, nlanes);
	}

	initStringInfo(&buf);
	if (negative)
		appendStringInfoChar(&buf, '-');
	appendStringInfoChar(&buf, '0');
	for (int w = weight; w >= 0; w--)
		appendStringInfo(&buf, "%04d", weight - w < nlanes ? (int) lane[weight - w] : 0);
	if (sum->dscale > 0)
	{
		int			point = buf.len;

		/* no value has digits other than 0 behind its display scale */
		appendStringInfoChar(&buf, '.');
		for (int w = -1; buf.len - point <= sum->dscale; w--)
			appendStringInfo(&buf, "%04d",
							 w <= weight && weight - w < nlanes ? (int) lane[weight - w] : 0);
		buf.len = point + 1 + sum->dscale;
		buf.data[buf.len] = '\0';
	}
	pfree(lane);
	return string_to_numeric(buf.data);
}

/* Sum or average of numerics, of which there is at least one. */
static Datum
numeric_result(const PpNumericSum *sum, bool average)
{
	if (sum->nan > 0 || (sum->plus_infinity > 0 && sum->minus_infinity > 0))
		return string_to_numeric("NaN");
	if (sum->plus_infinity > 0)
		return string_to_numeric("Infinity");
	if (sum->minus_infinity > 0)
		return string_to_numeric("-Infinity");
	return average ? divide(lanes_to_numeric(sum), sum->finite) : lanes_to_numeric(sum);
}

/* The transition value of an average of integers: count and sum. */
static Datum
average_state(const PpAccum *a)
{
	Datum		state[2];

	state[0] = Int64GetDatum(a->n);
	state[1] = Int64GetDatum(a->u.sum);
	return PointerGetDatum(construct_array(state, 2, INT8OID, sizeof(int64),
										   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

Datum
parparaw_accum_result(const PpAccum *a, const PpAggSpec *spec, bool *isnull)
{
	*isnull = false;
	switch (spec->kind)
	{
		case PP_AGG_COUNT_ALL:
		case PP_AGG_COUNT:
			return Int64GetDatum(a->n);
		case PP_AGG_AVG_INT:
			if (spec->partial)
				return average_state(a);
			break;
		default:
			break;
	}

	if (a->n == 0)
	{
		*isnull = true;
		return (Datum) 0;
	}
	switch (spec->kind)
	{
		case PP_AGG_SUM_INT:
			return Int64GetDatum(a->u.sum);
		case PP_AGG_AVG_INT:
			return divide(NumericGetDatum(int64_to_numeric(a->u.sum)), a->n);
		case PP_AGG_SUM_INT8:
			return wide_to_numeric(a);
		case PP_AGG_AVG_INT8:
			return divide(wide_to_numeric(a), a->n);
		case PP_AGG_SUM_NUMERIC:
			return numeric_result(a->u.numeric, false);
		case PP_AGG_AVG_NUMERIC:
			return numeric_result(a->u.numeric, true);
		case PP_AGG_SUM_FLOAT4:
			return Float4GetDatum(a->u.f4);
		case PP_AGG_SUM_FLOAT8:
			return Float8GetDatum(a->u.f8);
		case PP_AGG_AVG_FLOAT4:
		case PP_AGG_AVG_FLOAT8:
			return Float8GetDatum(a->u.moments.sx / (float8) a->n);
		case PP_AGG_MIN_INT:
		case PP_AGG_MAX_INT:
		case PP_AGG_MIN_FLOAT4:
		case PP_AGG_MAX_FLOAT4:
		case PP_AGG_MIN_FLOAT8:
		case PP_AGG_MAX_FLOAT8:
			return (Datum) a->u.value;
		default:
			return PointerGetDatum(a->u.best.bytes);
	}
}
