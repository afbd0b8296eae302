/*
 * src/parse/convert_text.h
 *	  Text to uuid, text, varchar, bpchar, name and bytea.
 *
 * Varlena values get a 4-byte header, as the input functions write them.  The
 * text is valid in the server encoding; nothing is checked again here.  No
 * more than the answer's bytes are written.
 */
#ifndef PP_CONVERT_TEXT_H
#define PP_CONVERT_TEXT_H

#include "convert_int.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define PP_NAME_LEN			64	/* NAMEDATALEN */
#define PP_MAX_VARLENA		0x3fffffffu /* greatest size of a value in memory */

/* Copies n bytes; the stretches do not overlap. */
PP_INLINE void
pp_copy(uint8_t *dst, const uint8_t *src, uint64_t n)
{
	if (PP_LIKELY(n >= 16))
	{
		uint64_t	i = 0;

		/* Whole chunks, then one that ends with the last byte. */
		do
		{
			uint64_t	a = pp_load64(src + i);
			uint64_t	b = pp_load64(src + i + 8);

			pp_store64(dst + i, a);
			pp_store64(dst + i + 8, b);
			i += 16;
		} while (i + 16 <= n);
		pp_store64(dst + n - 16, pp_load64(src + n - 16));
		pp_store64(dst + n - 8, pp_load64(src + n - 8));
	}
	else if (n >= 8)
	{
		pp_store64(dst, pp_load64(src));
		pp_store64(dst + n - 8, pp_load64(src + n - 8));
	}
	else if (n >= 4)
	{
		pp_store32(dst, pp_load32(src));
		pp_store32(dst + n - 4, pp_load32(src + n - 4));
	}
	else if (n > 0)
	{
		dst[0] = src[0];
		dst[n / 2] = src[n / 2];
		dst[n - 1] = src[n - 1];
	}
}

/* Does any of the n bytes have its high bit set? */
PP_INLINE bool
pp_any_high_bit(const uint8_t *s, uint32_t n)
{
	uint64_t	seen = 0;
	uint32_t	i = 0;

	for (; i + 8 <= n; i += 8)
		seen |= pp_load64(s + i);
	if (i < n)
		seen |= pp_load64(s + i) << (64 - 8 * (n - i));
	return (seen & PP_HIGH_BITS) != 0;
}

/* Characters in n bytes of valid UTF-8: the bytes that do not continue one. */
PP_INLINE uint32_t
pp_utf8_length(const uint8_t *s, uint32_t n)
{
	uint32_t	continued = 0;
	uint32_t	i = 0;
	uint64_t	x;

	for (; i + 8 <= n; i += 8)
	{
		x = pp_load64(s + i);
		x = (x >> 7) & ~(x >> 6) & PP_BYTES(1);
		continued += (uint32_t) ((x * PP_BYTES(1)) >> 56);
	}
	if (i < n)
	{
		x = pp_load64(s + i) << (64 - 8 * (n - i));
		x = (x >> 7) & ~(x >> 6) & PP_BYTES(1);
		continued += (uint32_t) ((x * PP_BYTES(1)) >> 56);
	}
	return n - continued;
}

/* Characters in the n bytes, if that can be told. */
PP_INLINE bool
pp_count_characters(PpCharset charset, const uint8_t *s, uint32_t n,
					uint32_t *count)
{
	*count = n;
	if (charset == PP_CHARSET_UTF8)
		*count = pp_utf8_length(s, n);
	else if (charset != PP_CHARSET_SINGLE)

		/* Bytes below 128 stand for themselves in every server encoding. */
		return !pp_any_high_bit(s, n);
	return true;
}

/* textin */
PP_INLINE uint64_t
pp_to_text(const uint8_t *s, uint32_t n, uint8_t *dst)
{
	if (PP_UNLIKELY(n > PP_MAX_VARLENA - 4))
		return 0;
	pp_store32(dst, (n + 4) << 2);
	pp_copy(dst + 4, s, n);
	return 4 + (uint64_t) n;
}

/*
 * varcharin: at most mod characters, -1: any number.  Longer values, which
 * are cut if only spaces go, are handed over.
 */
PP_INLINE uint64_t
pp_to_varchar(const uint8_t *s, uint32_t n, int32_t mod, const PpEnv *env,
			  uint8_t *dst)
{
	if (mod >= 0 && n > (uint32_t) mod)
	{
		uint32_t	count;

		if (!pp_count_characters(env->charset, s, n, &count) ||
			count > (uint32_t) mod)
			return 0;
	}
	return pp_to_text(s, n, dst);
}

/*
 * bpcharin: blank-padded to mod characters, -1: as it is.  Longer values are
 * handed over, as for varchar.
 */
PP_INLINE uint64_t
pp_to_bpchar(const uint8_t *s, uint32_t n, int32_t mod, const PpEnv *env,
			 uint8_t *dst)
{
	uint32_t	count;
	uint64_t	size;
	uint64_t	i;

	if (mod < 0)
		return pp_to_text(s, n, dst);
	if (!pp_count_characters(env->charset, s, n, &count) ||
		count > (uint32_t) mod)
		return 0;
	size = 4 + (uint64_t) n + ((uint32_t) mod - count);
	if (PP_UNLIKELY(size > PP_MAX_VARLENA))
		return 0;
	pp_store32(dst, (uint32_t) size << 2);
	pp_copy(dst + 4, s, n);
	for (i = 4 + (uint64_t) n; i + 8 <= size; i += 8)
		pp_store64(dst + i, PP_BYTES(0x20));
	for (; i < size; i++)
		dst[i] = ' ';
	return size;
}

/* namein: shorter than 64 bytes, zero-padded; longer is handed over. */
PP_INLINE uint64_t
pp_to_name(const uint8_t *s, uint32_t n, uint8_t *dst)
{
	if (n >= PP_NAME_LEN)
		return 0;
	for (uint32_t i = 0; i < PP_NAME_LEN; i += 8)
		pp_store64(dst + i, 0);
	pp_copy(dst, s, n);
	return PP_NAME_LEN;
}

/*
 * Eight hexadecimal digits, in either case, as four bytes in memory order;
 * *bad collects bits for characters that are none.
 */
PP_INLINE uint32_t
pp_eight_hex_digits(uint64_t x, uint64_t *bad)
{
	uint64_t	full = x | PP_HIGH_BITS;
	uint64_t	fold = full | PP_BYTES(0x20);
	uint64_t	digit = (full - PP_BYTES(0x30)) & ~(full - PP_BYTES(0x3a));
	uint64_t	letter = (fold - PP_BYTES(0x61)) & ~(fold - PP_BYTES(0x67));

	*bad |= ((~(digit | letter)) | x) & PP_HIGH_BITS;
	x = (x & PP_BYTES(0x0f)) + ((letter & PP_HIGH_BITS) >> 7) * 9;
	x = ((x << 4) | (x >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x | (x >> 8)) & UINT64_C(0x0000ffff0000ffff);
	return (uint32_t) (x | (x >> 16));
}

/* uuid_in: 8-4-4-4-12 hexadecimal digits; other forms are handed over. */
PP_INLINE uint64_t
pp_to_uuid(const uint8_t *s, uint32_t n, uint8_t *dst)
{
	uint64_t	bad = 0;

	if (n != 36)
		return 0;
	if (s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-')
		return 0;
	pp_store32(dst, pp_eight_hex_digits(pp_load64(s), &bad));
	pp_store32(dst + 4, pp_eight_hex_digits(pp_load32(s + 9) |
											(uint64_t) pp_load32(s + 14) << 32,
											&bad));
	pp_store32(dst + 8, pp_eight_hex_digits(pp_load32(s + 19) |
											(uint64_t) pp_load32(s + 24) << 32,
											&bad));
	pp_store32(dst + 12, pp_eight_hex_digits(pp_load64(s + 28), &bad));
	return bad == 0 ? 16 : 0;
}

/*
 * byteain: "\x" and pairs of hexadecimal digits, or text without a backslash,
 * which stands for its own bytes.  Escapes and spaces between the pairs are
 * handed over.
 */
PP_INLINE uint64_t
pp_to_bytea(const uint8_t *s, uint32_t n, uint8_t *dst)
{
	uint64_t	bad = 0;
	uint32_t	i = 0;

	if (n >= 2 && s[0] == '\\' && s[1] == 'x')
	{
		uint8_t    *out = dst + 4;

		if (n & 1)
			return 0;
		s += 2;
		n -= 2;
		for (; i + 8 <= n; i += 8, out += 4)
			pp_store32(out, pp_eight_hex_digits(pp_load64(s + i), &bad));
		if (i < n)
		{
			uint32_t	rest = pp_eight_hex_digits(pp_right_align(pp_load64(s + i),
																  n - i), &bad);

			for (rest >>= 8 * (4 - (n - i) / 2); i < n; i += 2, rest >>= 8)
				*out++ = (uint8_t) rest;
		}
		pp_store32(dst, (n / 2 + 4) << 2);
		return bad == 0 ? 4 + (uint64_t) n / 2 : 0;
	}

	for (; i + 8 <= n; i += 8)
		bad |= pp_find_byte(pp_load64(s + i), '\\');
	if (i < n)
		bad |= pp_find_byte(pp_right_align(pp_load64(s + i), n - i), '\\');
	return bad == 0 ? pp_to_text(s, n, dst) : 0;
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_CONVERT_TEXT_H */
