/*
 * src/parse/convert_float.h
 *	  Text to float4 and float8, correctly rounded.
 *
 * Decimal to binary by integer arithmetic only, so that neither the rounding
 * mode nor the compiler's or device's floating point can matter: the method
 * of Eisel and Lemire (Lemire, Number Parsing at a Gigabyte per Second, 2021)
 * with 128-bit powers of five, which needs no fallback for up to 19 digits
 * (Mushtak and Lemire, Fast Number Parsing Without Fallback, 2023).  float4
 * is rounded once, from the decimal number.
 *
 * What stays with the input functions: numbers of more digits whose rounding
 * the first 19 do not decide, subnormal results, overflow and underflow, NaN,
 * infinities, hexadecimal and spaces.
 */
#ifndef PP_CONVERT_FLOAT_H
#define PP_CONVERT_FLOAT_H

#include "convert_int.h"
#include "power_of_five.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* What distinguishes the IEEE formats here. */
typedef struct PpFloatFormat
{
	int32_t		mantissa_bits;	/* stored ones, without the hidden bit */
	int32_t		bias;			/* exponent 0 is stored as this */
	int32_t		infinity;		/* the stored exponent of infinities */
	int32_t		min_power;		/* 10^q outside these limits is never normal */
	int32_t		max_power;
	int32_t		min_tie;		/* only 10^q inside these limits can lead to a */
	int32_t		max_tie;		/* number half way between two floats */
} PpFloatFormat;

/* The number digits * 10^exponent, and how much of the text it stands for. */
typedef struct PpDecimal
{
	uint64_t	digits;
	int32_t		exponent;
	bool		truncated;		/* further digits follow, not all zero */
} PpDecimal;

/*
 * The general form: digits with an optional point, then an optional exponent.
 * Keeps the first 19 significant digits.  n may be anything; the sign has
 * been taken off.
 */
PP_INLINE bool
pp_scan_decimal(const uint8_t *s, uint32_t n, PpDecimal *number)
{
	const uint8_t *end = s + n;
	uint64_t	digits = 0;
	int32_t		kept = 0;		/* significant digits in there */
	int32_t		exponent = 0;
	bool		any = false;
	bool		point = false;

	number->truncated = false;
	for (; s < end; s++)
	{
		uint32_t	digit = (uint32_t) *s - '0';

		/* Eight at a time, once leading zeros are over. */
		while (kept > 0 && kept <= 11 && end - s > 8 &&
			   pp_non_digits(pp_load64(s)) == 0)
		{
			digits = digits * 100000000 + pp_eight_digits(pp_load64(s));
			kept += 8;
			exponent -= point ? 8 : 0;
			s += 8;
			digit = (uint32_t) *s - '0';
		}
		if (digit < 10)
		{
			any = true;
			if (kept < 19)
			{
				digits = digits * 10 + digit;
				kept += (digits != 0);
				exponent -= point;
			}
			else
			{
				number->truncated |= (digit != 0);
				exponent += !point;
			}
		}
		else if (*s == '.' && !point)
			point = true;
		else
			break;
	}
	if (!any)
		return false;

	if (s < end)
	{
		int32_t		explicit_exponent = 0;
		bool		negative;

		if ((*s | 0x20) != 'e' || ++s == end)
			return false;
		negative = (*s == '-');
		if (negative || *s == '+')
			s++;

		/* Four digits are more than any number in range needs. */
		if (s == end || end - s > 4)
			return false;
		for (; s < end; s++)
		{
			uint32_t	digit = (uint32_t) *s - '0';

			if (digit >= 10)
				return false;
			explicit_exponent = explicit_exponent * 10 + (int32_t) digit;
		}
		exponent += negative ? -explicit_exponent : explicit_exponent;
	}
	number->digits = digits;
	number->exponent = exponent;
	return true;
}

/*
 * The float nearest to digits * 10^exponent, ties to even, as its bits without
 * a sign.  False unless it is a normal number.  digits is not 0.
 */
PP_INLINE bool
pp_round_decimal(PpFloatFormat f, uint64_t digits, int32_t exponent,
				 uint64_t *bits)
{
	uint32_t	shift = pp_clz64(digits);
	const uint64_t *power;
	uint64_t	high;
	uint64_t	low;
	uint64_t	mantissa;
	int32_t		top;
	int32_t		drop;
	int32_t		stored;

	if (exponent < f.min_power || exponent > f.max_power)
		return false;

	/*
	 * The 128 leading bits of digits * 5^exponent.  The lower half of the
	 * power is only needed if what it adds could carry into the bits kept:
	 * the mantissa, the hidden bit, one bit that rounds and one that the
	 * product may lack in front.
	 */
	digits <<= shift;
	power = pp_power_of_five(exponent);
	low = pp_mul128(digits, power[0], &high);
	if (PP_UNLIKELY((~high & (~UINT64_C(0) >> (f.mantissa_bits + 3))) == 0))
	{
		uint64_t	carry;

		(void) pp_mul128(digits, power[1], &carry);
		low += carry;
		high += (low < carry);
	}

	top = (int32_t) (high >> 63);
	drop = top + 64 - f.mantissa_bits - 3;
	mantissa = high >> drop;

	/*
	 * Two to the power of the leading bit; 217706 / 2^16 approximates
	 * log2(10), and its floor is exact over the table's range.
	 */
	stored = ((exponent * 217706) >> 16) + 63 + top - (int32_t) shift + f.bias;
	if (PP_UNLIKELY(stored <= 0))
		return false;

	/*
	 * The last bit of mantissa decides the rounding.  If it is set and
	 * nothing was cut off, the number lies half way: let it go to even.
	 */
	if (PP_UNLIKELY(low <= 1 && exponent >= f.min_tie && exponent <= f.max_tie &&
					(mantissa & 3) == 1 && (mantissa << drop) == high))
		mantissa &= ~UINT64_C(1);
	mantissa = (mantissa + (mantissa & 1)) >> 1;
	if (PP_UNLIKELY(mantissa >> (f.mantissa_bits + 1)))
	{
		mantissa >>= 1;
		stored++;
	}
	if (PP_UNLIKELY(stored >= f.infinity))
		return false;

	/* The hidden bit adds one to the exponent field, so take one off. */
	*bits = ((uint64_t) (stored - 1) << f.mantissa_bits) + mantissa;
	return true;
}

/* The nearest float's bits without a sign; s is behind the sign. */
PP_INLINE bool
pp_to_float_bits(PpFloatFormat f, const uint8_t *s, uint32_t n, uint64_t *bits)
{
	PpDecimal	number;
	uint32_t	scale;
	uint64_t	above;

	if (PP_UNLIKELY(n == 0))
		return false;
	number.truncated = false;
	if (PP_LIKELY(n <= 16 && pp_parse_decimal(s, n, &number.digits, &scale)))
		number.exponent = -(int32_t) scale;
	else if (!pp_scan_decimal(s, n, &number))
		return false;

	if (number.digits == 0)
	{
		*bits = 0;
		return true;
	}
	if (!pp_round_decimal(f, number.digits, number.exponent, bits))
		return false;

	/* The whole number lies between two that must round alike. */
	return PP_LIKELY(!number.truncated) ||
		(pp_round_decimal(f, number.digits + 1, number.exponent, &above) &&
		 above == *bits);
}

/* float8in */
PP_INLINE bool
pp_to_float8(const uint8_t *s, uint32_t n, uint64_t *value)
{
	const PpFloatFormat binary64 = {52, 1023, 0x7ff, -326, 308, -4, 23};
	uint64_t	sign = (n > 0 && *s == '-');
	uint32_t	skip = (n > 0 && (*s == '-' || *s == '+'));
	uint64_t	bits;

	if (!pp_to_float_bits(binary64, s + skip, n - skip, &bits))
		return false;
	*value = bits | (sign << 63);
	return true;
}

/* float4in */
PP_INLINE bool
pp_to_float4(const uint8_t *s, uint32_t n, uint64_t *value)
{
	const PpFloatFormat binary32 = {23, 127, 0xff, -57, 38, -17, 10};
	uint64_t	sign = (n > 0 && *s == '-');
	uint32_t	skip = (n > 0 && (*s == '-' || *s == '+'));
	uint64_t	bits;

	if (!pp_to_float_bits(binary32, s + skip, n - skip, &bits))
		return false;
	*value = (uint64_t) (int64_t) (int32_t) (uint32_t) (bits | (sign << 31));
	return true;
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_CONVERT_FLOAT_H */
