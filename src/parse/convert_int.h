/*
 * src/parse/convert_int.h
 *	  Text to bool and to 2-, 4- and 8-byte integers, and the word-at-a-time
 *	  helpers that all conversions share.
 *
 * The helpers treat a 64-bit word as eight characters, the first one in the
 * lowest byte.  Loads may go up to PP_PAD bytes beyond a value's end; what
 * they find there is shifted or masked out before it can matter.  Nothing
 * here allocates, fails or calls libc.
 */
#ifndef PP_CONVERT_INT_H
#define PP_CONVERT_INT_H

#include "column.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* The same byte eight times, and the high bit of each byte. */
#define PP_BYTES(c)		(UINT64_C(0x0101010101010101) * (c))
#define PP_HIGH_BITS	UINT64_C(0x8080808080808080)

PP_INLINE uint64_t
pp_load64(const uint8_t *s)
{
	uint64_t	x;

	__builtin_memcpy(&x, s, sizeof x);
	return x;
}

PP_INLINE void
pp_store64(uint8_t *dst, uint64_t x)
{
	__builtin_memcpy(dst, &x, sizeof x);
}

PP_INLINE uint32_t
pp_load32(const uint8_t *s)
{
	uint32_t	x;

	__builtin_memcpy(&x, s, sizeof x);
	return x;
}

PP_INLINE void
pp_store32(uint8_t *dst, uint32_t x)
{
	__builtin_memcpy(dst, &x, sizeof x);
}

/* Zero bits below the lowest, above the highest set bit; x is not 0. */
PP_INLINE uint32_t
pp_ctz64(uint64_t x)
{
#ifdef __CUDA_ARCH__
	return (uint32_t) __ffsll((long long) x) - 1;
#else
	return (uint32_t) __builtin_ctzll(x);
#endif
}

PP_INLINE uint32_t
pp_clz64(uint64_t x)
{
#ifdef __CUDA_ARCH__
	return (uint32_t) __clzll((long long) x);
#else
	return (uint32_t) __builtin_clzll(x);
#endif
}

/* The full product of a and b: its low half, and its high half in *high. */
PP_INLINE uint64_t
pp_mul128_by_parts(uint64_t a, uint64_t b, uint64_t *high)
{
	uint64_t	a0 = (uint32_t) a;
	uint64_t	a1 = a >> 32;
	uint64_t	b0 = (uint32_t) b;
	uint64_t	b1 = b >> 32;
	uint64_t	low = a0 * b0;
	uint64_t	middle = a1 * b0 + (low >> 32);
	uint64_t	cross = a0 * b1 + (uint32_t) middle;

	*high = a1 * b1 + (middle >> 32) + (cross >> 32);
	return (cross << 32) | (uint32_t) low;
}

/* The same by what the machine has for it. */
PP_INLINE uint64_t
pp_mul128(uint64_t a, uint64_t b, uint64_t *high)
{
#if defined(__CUDA_ARCH__)
	*high = __umul64hi(a, b);
	return a * b;
#elif defined(__SIZEOF_INT128__)
	__extension__ typedef unsigned __int128 PpUint128;
	PpUint128	product = (PpUint128) a * b;

	*high = (uint64_t) (product >> 64);
	return (uint64_t) product;
#else
	return pp_mul128_by_parts(a, b, high);
#endif
}

/*
 * The high bit of every byte that equals c, exact up to the lowest such byte
 * and so for its position.
 */
PP_INLINE uint64_t
pp_find_byte(uint64_t x, uint8_t c)
{
	uint64_t	y = x ^ PP_BYTES(c);

	return (y - PP_BYTES(1)) & ~y & PP_HIGH_BITS;
}

/* The high bit of every byte that is none of '0' to '9', exact for each. */
PP_INLINE uint64_t
pp_non_digits(uint64_t x)
{
	uint64_t	low = (x ^ PP_BYTES(0x30)) & ~PP_HIGH_BITS;

	return ((low + PP_BYTES(0x76)) | x) & PP_HIGH_BITS;
}

/* The number that eight digits spell, by pairs, then fours, then all. */
PP_INLINE uint32_t
pp_eight_digits(uint64_t x)
{
	x = ((x & PP_BYTES(0x0f)) * (10 * 256 + 1)) >> 8;
	x = ((x & UINT64_C(0x00ff00ff00ff00ff)) * (100 * 65536 + 1)) >> 16;
	x = ((x & UINT64_C(0x0000ffff0000ffff)) *
		 (UINT64_C(10000) * (UINT64_C(1) << 32) + 1)) >> 32;
	return (uint32_t) x;
}

/* n characters (1 to 8) moved to the word's end, '0's put in front. */
PP_INLINE uint64_t
pp_right_align(uint64_t x, uint32_t n)
{
	return (x << (64 - 8 * n)) | (PP_BYTES(0x30) >> (8 * (n - 1)) >> 8);
}

/*
 * The number that n digits spell, if there are 1 to 19 of them after at most
 * a run of leading zeros; false otherwise.
 */
PP_INLINE bool
pp_parse_digits(const uint8_t *s, uint32_t n, uint64_t *value)
{
	uint64_t	last;

	while (PP_UNLIKELY(n > 19))
	{
		if (*s != '0')
			return false;
		s++;
		n--;
	}
	if (PP_UNLIKELY(n == 0))
		return false;
	if (PP_LIKELY(n <= 8))
	{
		last = pp_right_align(pp_load64(s), n);
		*value = pp_eight_digits(last);
		return pp_non_digits(last) == 0;
	}

	last = pp_load64(s + n - 8);
	if (n <= 16)
	{
		uint64_t	first = pp_right_align(pp_load64(s), n - 8);

		*value = (uint64_t) pp_eight_digits(first) * 100000000 +
			pp_eight_digits(last);
		return (pp_non_digits(first) | pp_non_digits(last)) == 0;
	}
	else
	{
		uint64_t	first = pp_right_align(pp_load64(s), n - 16);
		uint64_t	middle = pp_load64(s + n - 16);

		*value = ((uint64_t) pp_eight_digits(first) * 100000000 +
				  pp_eight_digits(middle)) * 100000000 +
			pp_eight_digits(last);
		return (pp_non_digits(first) | pp_non_digits(middle) |
				pp_non_digits(last)) == 0;
	}
}

/*
 * n characters, 1 to 16, that are digits and at most one point, which may
 * stand anywhere: the number *digits / 10^*scale, *digits below 10^16.  False
 * if the text has another form, which then may still be a number.
 */
PP_INLINE bool
pp_parse_decimal(const uint8_t *s, uint32_t n, uint64_t *digits, uint32_t *scale)
{
	uint64_t	first;
	uint64_t	last;
	uint64_t	point;
	uint32_t	at;
	uint64_t	before;

	/* Take the point out and move what stands before it up by one. */
	*scale = 0;
	if (PP_LIKELY(n <= 8))
	{
		last = pp_right_align(pp_load64(s), n);
		point = pp_find_byte(last, '.');
		if (point != 0)
		{
			at = pp_ctz64(point) - 7;	/* its bit position */
			before = (UINT64_C(1) << at) - 1;
			*scale = 7 - at / 8;
			last = (last & ~before & ~(UINT64_C(0xff) << at)) |
				((last & before) << 8) | 0x30;
			n--;
		}
		*digits = pp_eight_digits(last);
		return n > 0 && pp_non_digits(last) == 0;
	}

	first = pp_right_align(pp_load64(s), n - 8);
	last = pp_load64(s + n - 8);
	if ((point = pp_find_byte(last, '.')) != 0)
	{
		at = pp_ctz64(point) - 7;
		before = (UINT64_C(1) << at) - 1;
		*scale = 7 - at / 8;
		last = (last & ~before & ~(UINT64_C(0xff) << at)) |
			((last & before) << 8) | (first >> 56);
		first = (first << 8) | 0x30;
	}
	else if ((point = pp_find_byte(first, '.')) != 0)
	{
		at = pp_ctz64(point) - 7;
		before = (UINT64_C(1) << at) - 1;
		*scale = 15 - at / 8;
		first = (first & ~before & ~(UINT64_C(0xff) << at)) |
			((first & before) << 8) | 0x30;
	}
	*digits = (uint64_t) pp_eight_digits(first) * 100000000 +
		pp_eight_digits(last);
	return (pp_non_digits(first) | pp_non_digits(last)) == 0;
}

/* An optional sign and digits, at most limit (with '-': limit + 1). */
PP_INLINE bool
pp_to_integer(const uint8_t *s, uint32_t n, uint64_t limit, uint64_t *value)
{
	uint64_t	negative;
	uint64_t	magnitude;

	if (PP_UNLIKELY(n == 0))
		return false;
	negative = (*s == '-');
	if (negative || *s == '+')
	{
		s++;
		n--;
	}
	if (!pp_parse_digits(s, n, &magnitude) || magnitude > limit + negative)
		return false;
	*value = (magnitude ^ (0 - negative)) + negative;
	return true;
}

/*
 * int2in, int4in, int8in: an optional sign and decimal digits.  Spaces,
 * underscores, other bases and values out of range are handed over.
 */
PP_INLINE bool
pp_to_int2(const uint8_t *s, uint32_t n, uint64_t *value)
{
	return pp_to_integer(s, n, 0x7fff, value);
}

PP_INLINE bool
pp_to_int4(const uint8_t *s, uint32_t n, uint64_t *value)
{
	return pp_to_integer(s, n, 0x7fffffff, value);
}

PP_INLINE bool
pp_to_int8(const uint8_t *s, uint32_t n, uint64_t *value)
{
	return pp_to_integer(s, n, UINT64_C(0x7fffffffffffffff), value);
}

/*
 * boolin: any prefix of true, false, yes and no, the words on, of and off, in
 * any case, and 1 and 0.  Surrounding spaces are handed over.
 */
PP_INLINE bool
pp_to_bool(const uint8_t *s, uint32_t n, uint64_t *value)
{
	uint64_t	word;
	uint64_t	mask;

	if (PP_UNLIKELY(n == 0 || n > 5))
		return false;
	mask = (UINT64_C(1) << (8 * n)) - 1;
	word = pp_load64(s) & mask;

	/* Setting bit 5 folds case and makes no letter out of anything else. */
	switch ((uint8_t) word | 0x20)
	{
		case 't':
			*value = 1;
			return ((word | PP_BYTES(0x20)) & mask) ==
				(UINT64_C(0x65757274) & mask);
		case 'f':
			*value = 0;
			return ((word | PP_BYTES(0x20)) & mask) ==
				(UINT64_C(0x65736c6166) & mask);
		case 'y':
			*value = 1;
			return ((word | PP_BYTES(0x20)) & mask) ==
				(UINT64_C(0x736579) & mask);
		case 'n':
			*value = 0;
			return ((word | PP_BYTES(0x20)) & mask) ==
				(UINT64_C(0x6f6e) & mask);
		case 'o':
			word = (word | PP_BYTES(0x20)) & mask;
			*value = (word == UINT64_C(0x6e6f));
			return word == UINT64_C(0x6e6f) || word == UINT64_C(0x666f) ||
				word == UINT64_C(0x66666f);
		case '0':
		case '1':
			*value = word & 1;
			return n == 1 && word >= 0x30;
		default:
			return false;
	}
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_CONVERT_INT_H */
