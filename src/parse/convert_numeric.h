/*
 * src/parse/convert_numeric.h
 *	  Text to numeric, built directly in its stored form.
 *
 * The form: a 4-byte varlena header; a short (2 bytes) or long (4 bytes)
 * header with sign, display scale and weight; then digits of base 10000, two
 * bytes each, most significant first, with neither leading nor trailing zero
 * digits.  The weight is the power of 10000 of the first digit.  Zero has no
 * digits, weight 0 and no sign.  The short header is taken whenever scale and
 * weight fit, as numeric_in does, so equal values have equal bytes.
 *
 * Exponents, NaN, infinities, other bases, underscores and spaces are handed
 * over, as are values out of range, and columns with a negative scale or one
 * above the precision.
 */
#ifndef PP_CONVERT_NUMERIC_H
#define PP_CONVERT_NUMERIC_H

#include "convert_int.h"

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * Bytes pp_to_numeric() may use for n characters: the headers, two bytes for
 * each group of four digits before and behind the point, and one digit more
 * for a carry out of the first.  Zeros that a modifier adds are not stored.
 */
#define PP_NUMERIC_ROOM(n, mod) (16 + (uint64_t) (n) / 2)

#define PP_NUMERIC_MAX_SCALE	0x3fff	/* of the long header */
#define PP_NUMERIC_MAX_WEIGHT	0x7fff

PP_INLINE void
pp_store16(uint8_t *dst, uint32_t x)
{
	uint16_t	y = (uint16_t) x;

	__builtin_memcpy(dst, &y, sizeof y);
}

PP_INLINE uint32_t
pp_load16(const uint8_t *s)
{
	uint16_t	x;

	__builtin_memcpy(&x, s, sizeof x);
	return x;
}

/* 10^n for n up to 19. */
PP_INLINE uint64_t
pp_power_of_ten(uint32_t n)
{
	static const uint64_t power[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
		1000000000, UINT64_C(10000000000), UINT64_C(100000000000),
		UINT64_C(1000000000000), UINT64_C(10000000000000),
		UINT64_C(100000000000000), UINT64_C(1000000000000000),
		UINT64_C(10000000000000000), UINT64_C(100000000000000000),
		UINT64_C(1000000000000000000), UINT64_C(10000000000000000000)
	};

	return power[n];
}

/*
 * Writes both headers and answers where the digits go.  Scale and weight are
 * within the long header's limits; ndigits 0 makes the value zero.
 */
PP_INLINE uint32_t
pp_numeric_header(uint8_t *dst, bool negative, uint32_t scale, int32_t weight,
				  uint32_t ndigits)
{
	uint32_t	header;

	if (ndigits == 0)
	{
		negative = false;
		weight = 0;
	}
	if (PP_LIKELY(scale <= 0x3f && weight >= -0x40 && weight <= 0x3f))
	{
		header = 0x8000u | (negative ? 0x2000u : 0) | scale << 7 |
			((uint32_t) weight & 0x7f);
		pp_store16(dst + 4, header);
		header = 6;
	}
	else
	{
		pp_store16(dst + 4, (negative ? 0x4000u : 0) | scale);
		pp_store16(dst + 6, (uint32_t) weight);
		header = 8;
	}
	pp_store32(dst, (header + 2 * ndigits) << 2);
	return header;
}

/*
 * The value digits / 10^scale with display scale dscale; digits is below
 * 10^16 and scale at most 15.
 */
PP_INLINE uint64_t
pp_numeric_small(uint64_t digits, uint32_t scale, bool negative,
				 uint32_t dscale, uint8_t *dst)
{
	uint32_t	fraction = (scale + 3) / 4; /* base-10000 digits behind the point */
	uint64_t	high;
	uint64_t	low;
	uint32_t	top;
	uint64_t	word;
	uint32_t	leading;
	uint32_t	ndigits;
	uint32_t	header;

	/* Fill up the last group; three digits more still fit in 64 bits. */
	switch (scale & 3)
	{
		case 1:
			digits *= 1000;
			break;
		case 2:
			digits *= 100;
			break;
		case 3:
			digits *= 10;
			break;
		default:
			break;
	}

	/* Five groups: top, then four in the order that they have in memory. */
	high = digits / 100000000;
	low = digits - high * 100000000;
	top = (uint32_t) (high / 100000000);
	high -= (uint64_t) top * 100000000;
	word = high / 10000 | (high % 10000) << 16 |
		(low / 10000) << 32 | (low % 10000) << 48;
	if (PP_UNLIKELY(top != 0))
	{
		ndigits = 5 - (word == 0 ? 4 : pp_clz64(word) / 16);
		header = pp_numeric_header(dst, negative, dscale,
								   4 - (int32_t) fraction, ndigits);
		pp_store16(dst + header, top);
		pp_store64(dst + header + 2, word);
		return header + 2 * ndigits;
	}
	if (PP_UNLIKELY(word == 0))
		return pp_numeric_header(dst, false, dscale, 0, 0);
	leading = pp_ctz64(word) / 16;
	ndigits = 4 - leading - pp_clz64(word) / 16;
	header = pp_numeric_header(dst, negative, dscale,
							   3 - (int32_t) leading - (int32_t) fraction,
							   ndigits);
	pp_store64(dst + header, word >> (16 * leading));
	return header + 2 * ndigits;
}

/* Four digits from s, none of them behind it checked. */
PP_INLINE uint32_t
pp_four_digits(const uint8_t *s)
{
	return (s[0] - '0') * 1000u + (s[1] - '0') * 100u +
		(s[2] - '0') * 10u + (s[3] - '0');
}

/*
 * Any length: nwhole digits at whole, without leading zeros, and nfraction
 * ones at fraction, of which more than dscale are rounded off, half away from
 * zero.  maxwhole limits the digits before the point after that, -1: no limit.
 */
PP_INLINE uint64_t
pp_numeric_large(const uint8_t *whole, uint32_t nwhole,
				 const uint8_t *fraction, uint32_t nfraction, bool negative,
				 uint32_t dscale, int32_t maxwhole, uint8_t *dst)
{
	/*
	 * Digits are written behind a free one for the carry and behind the long
	 * header, then moved to where they belong: never upwards.
	 */
	uint8_t    *start = dst + 10;
	uint8_t    *out = start;
	int32_t		weight = (int32_t) ((nwhole + 3) / 4) - 1;
	bool		up = false;
	uint32_t	rest;
	uint32_t	ndigits;
	uint32_t	header;

	if (weight > PP_NUMERIC_MAX_WEIGHT)
		return 0;
	if (nfraction > dscale)
	{
		up = fraction[dscale] >= '5';
		nfraction = dscale;
	}

	rest = nwhole & 3;
	if (rest != 0)
	{
		uint32_t	digit = 0;

		for (uint32_t i = 0; i < rest; i++)
			digit = digit * 10 + (whole[i] - '0');
		pp_store16(out, digit);
		out += 2;
	}
	for (uint32_t i = rest; i < nwhole; i += 4, out += 2)
		pp_store16(out, pp_four_digits(whole + i));
	rest = nfraction & 3;
	for (uint32_t i = 0; i < nfraction - rest; i += 4, out += 2)
		pp_store16(out, pp_four_digits(fraction + i));
	if (rest != 0)
	{
		uint32_t	digit = 0;

		for (uint32_t i = 0; i < 4; i++)
			digit = digit * 10 +
				(i < rest ? fraction[nfraction - rest + i] - '0' : 0);
		pp_store16(out, digit);
		out += 2;
	}

	if (up)
	{
		uint8_t    *at = out;
		uint32_t	carry = rest == 1 ? 1000 : rest == 2 ? 100 : rest == 3 ? 10 : 1;

		/* The last kept digit has no group yet if none was written. */
		pp_store16(dst + 8, 0);
		do
		{
			at -= 2;
			carry += pp_load16(at);
			pp_store16(at, carry >= 10000 ? carry - 10000 : carry);
			carry = carry >= 10000;
		} while (carry);
		if (at < start)
		{
			start = at;
			weight++;
		}
	}

	while (start < out && pp_load16(start) == 0)
	{
		start += 2;
		weight--;
	}
	while (start < out && pp_load16(out - 2) == 0)
		out -= 2;
	ndigits = (uint32_t) (out - start) / 2;
	if (weight > PP_NUMERIC_MAX_WEIGHT)
		return 0;
	if (maxwhole >= 0 && ndigits > 0 && weight >= 0)
	{
		uint32_t	digit = pp_load16(start);

		if (weight * 4 + (digit >= 1000 ? 4 : digit >= 100 ? 3 :
						  digit >= 10 ? 2 : 1) > maxwhole)
			return 0;
	}

	header = pp_numeric_header(dst, negative, dscale, weight, ndigits);
	for (uint32_t i = 0; i < ndigits; i++)
		pp_store16(dst + header + 2 * i, pp_load16(start + 2 * i));
	return header + 2 * (uint64_t) ndigits;
}

/* The general form of pp_to_numeric(), behind the sign. */
PP_INLINE uint64_t
pp_numeric_scan(const uint8_t *s, uint32_t n, bool negative, int32_t mod,
				uint8_t *dst)
{
	uint32_t	point = n;
	uint32_t	skip = 0;
	uint32_t	nfraction;
	uint32_t	dscale;
	int32_t		maxwhole = -1;

	for (uint32_t i = 0; i < n; i++)
	{
		while (n - i > 8 && pp_non_digits(pp_load64(s + i)) == 0)
			i += 8;
		if ((uint32_t) s[i] - '0' < 10)
			continue;
		if (s[i] != '.' || point != n)
			return 0;
		point = i;
	}
	nfraction = point < n ? n - point - 1 : 0;
	if (point + nfraction == 0)
		return 0;
	while (skip < point && s[skip] == '0')
		skip++;

	dscale = nfraction;
	if (mod >= 0)
	{
		dscale = (uint32_t) PP_NUMERIC_SCALE(mod);
		maxwhole = PP_NUMERIC_PRECISION(mod) - PP_NUMERIC_SCALE(mod);
	}
	else if (nfraction > PP_NUMERIC_MAX_SCALE)
		return 0;
	return pp_numeric_large(s + skip, point - skip,
							s + n - nfraction, nfraction,
							negative, dscale, maxwhole, dst);
}

/*
 * numeric_in: an optional sign, digits with an optional point.  mod is
 * PP_NUMERIC_MOD or -1.  dst has PP_NUMERIC_ROOM().
 */
PP_INLINE uint64_t
pp_to_numeric(const uint8_t *s, uint32_t n, int32_t mod, uint8_t *dst)
{
	bool		negative;
	uint64_t	digits;
	uint32_t	scale;
	uint32_t	dscale;

	if (PP_UNLIKELY(n == 0))
		return 0;
	negative = (*s == '-');
	if (negative || *s == '+')
	{
		s++;
		n--;
	}
	if (PP_UNLIKELY(n == 0))
		return 0;
	if (mod >= 0 && (PP_NUMERIC_SCALE(mod) < 0 ||
					 PP_NUMERIC_SCALE(mod) > PP_NUMERIC_PRECISION(mod)))
		return 0;

	if (PP_UNLIKELY(n > 16))
		return pp_numeric_scan(s, n, negative, mod, dst);
	if (!pp_parse_decimal(s, n, &digits, &scale))
		return 0;

	dscale = scale;
	if (mod >= 0)
	{
		int32_t		maxwhole = PP_NUMERIC_PRECISION(mod) - PP_NUMERIC_SCALE(mod);

		dscale = (uint32_t) PP_NUMERIC_SCALE(mod);
		if (scale > dscale)
		{
			uint64_t	unit = pp_power_of_ten(scale - dscale);

			digits = (digits + unit / 2) / unit;
			scale = dscale;
		}
		if (maxwhole + (int32_t) scale < 16 &&
			digits >= pp_power_of_ten((uint32_t) maxwhole + scale))
			return 0;
	}
	return pp_numeric_small(digits, scale, negative, dscale, dst);
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_CONVERT_NUMERIC_H */
