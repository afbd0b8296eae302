/*
 * cuda/field.h
 *	  What a field becomes, as far as all pipelines agree: its state before it
 *	  is converted, and texts, which many threads may work on together.
 *
 * Follows the conversions of every backend (src/parse/convert.h), whose rules
 * for texts are written here for any number of threads.  Owns nothing,
 * launches nothing, and knows neither where a field came from nor where its
 * value is noted.
 */
#ifndef PP_FIELD_H
#define PP_FIELD_H

#include "paper.h"

#include "../src/parse/convert.h"
#include "../src/parse/filter.h"

/* What was seen in a text. */
#define PP_SEEN_HIGH		1u	/* a byte above 127 */
#define PP_SEEN_BACKSLASH	2u
#define PP_SEEN_NO_HEX		4u	/* something else than hexadecimal digits */

static __device__ __forceinline__ bool
pp_is_text(PpType type)
{
	return type == PP_TEXT || type == PP_VARCHAR || type == PP_BPCHAR || type == PP_BYTEA;
}

/* Too long to be anything but a matter of the input function. */
static __device__ __forceinline__ bool
pp_is_beyond(PpType type, uint32_t n)
{
	if (pp_is_text(type))
		return n > PP_MAX_VARLENA - 4;
	if (type == PP_NAME)
		return n >= PP_NAME_LEN;
	if (type == PP_UUID)
		return n != 36;
	return n > PP_PAPER_NUMBER_BYTES;
}

/* By how many bytes it is decided who converts: of text that is or becomes. */
static __device__ __forceinline__ uint32_t
pp_work_bytes(const PpColumn &col, uint32_t n)
{
	if (col.type == PP_BPCHAR && col.mod > 0 && (uint32_t) col.mod > n)
		return (uint32_t) col.mod;
	return n;
}

static __device__ __forceinline__ bool
pp_is_marker(const uint8_t *s, uint32_t n, const uint8_t *marker, uint32_t len)
{
	return n == len && pp_same_bytes(s, marker, n);
}

/*
 * A field's state before conversion, as COPY reads it.  Only an unquoted field
 * equals a marker; FORCE_NULL looks at quoted ones, too.
 */
static __device__ __forceinline__ PpState
pp_field_state(const PpPaperScan *scan, const PpColumn &col, const uint8_t *s,
			   uint32_t n, bool quoted)
{
	bool		null = pp_is_marker(s, n, scan->null_text, scan->null_len);

	if (null && (col.flags & (quoted ? PP_COL_FORCE_NULL : PP_COL_FORCE_NOT_NULL)) ==
		(quoted ? PP_COL_FORCE_NULL : 0))
		return col.flags & PP_COL_NULL_DEFERS ? PP_DEFERRED : PP_NULL;
	if (!quoted && !null && scan->has_default &&
		pp_is_marker(s, n, scan->default_text, scan->default_len))
		return PP_DEFAULT;
	return col.type == PP_DEFER || pp_is_beyond(col.type, n) ? PP_DEFERRED : PP_VALUE;
}

/*
 * Texts, by many threads: lane, of lanes that share the work, takes its part
 * of the stretch [from, to), from being a multiple of 8.
 */

/* Is it a bytea in hexadecimal digits, which then start behind "\x"? */
static __device__ __forceinline__ bool
pp_is_hex(const PpColumn &col, const uint8_t *s, uint32_t n)
{
	return col.type == PP_BYTEA && n >= 2 && s[0] == '\\' && s[1] == 'x';
}

/* Digits [i, i + 8), or those up to n, as bytes; of the last of an odd number
 * nothing is said. */
static __device__ __forceinline__ uint32_t
pp_hex_bytes(const uint8_t *s, uint32_t i, uint32_t n, uint64_t *bad)
{
	const uint32_t left = n - i;

	if (left >= 8)
		return pp_eight_hex_digits(pp_load64(s + i), bad);
	if (left < 2)
		return 0;
	return pp_eight_hex_digits(pp_right_align(pp_load64(s + i), left), bad) >>
		(8 * (4 - left / 2));
}

/* Does it need to be looked at before it is known what it becomes? */
static __device__ __forceinline__ bool
pp_needs_look(const PpColumn &col, uint32_t n)
{
	return col.type == PP_BYTEA || (col.type == PP_BPCHAR && col.mod >= 0) ||
		(col.type == PP_VARCHAR && col.mod >= 0 && n > (uint32_t) col.mod);
}

static __device__ __forceinline__ PpLongField
pp_look_at(const uint8_t *s, uint32_t n, bool hex, uint32_t from, uint32_t to,
		   uint32_t lane, uint32_t lanes)
{
	PpLongField r = {0, 0};

	if (hex)
	{
		uint64_t	bad = 0;

		for (uint32_t i = from + 8 * lane; i < to; i += 8 * lanes)
			(void) pp_hex_bytes(s, i, n, &bad);
		if (bad != 0)
			r.seen = PP_SEEN_NO_HEX;
		return r;
	}
	for (uint32_t i = from + lane; i < to; i += lanes)
	{
		uint8_t		b = s[i];

		r.continued += (b & 0xc0) == 0x80;
		r.seen |= b >= 0x80 ? PP_SEEN_HIGH : b == '\\' ? PP_SEEN_BACKSLASH : 0;
	}
	return r;
}

/*
 * The size of the value that a text of n bytes becomes, header included, or 0:
 * handed over; *pad of its bytes are blanks at the end.  As pp_to_varchar(),
 * pp_to_bpchar() and pp_to_bytea().
 */
static __device__ __forceinline__ uint32_t
pp_text_size(const PpColumn &col, PpCharset charset, uint32_t n, bool hex,
			 PpLongField look, uint32_t *pad)
{
	*pad = 0;
	if (col.type == PP_BYTEA)
	{
		if (hex)
			return (n & 1) != 0 || (look.seen & PP_SEEN_NO_HEX) ? 0 : 4 + (n - 2) / 2;
		return look.seen & PP_SEEN_BACKSLASH ? 0 : 4 + n;
	}
	if (pp_needs_look(col, n))
	{
		uint32_t	characters = charset == PP_CHARSET_UTF8 ? n - look.continued : n;

		if ((charset == PP_CHARSET_OTHER && (look.seen & PP_SEEN_HIGH)) ||
			characters > (uint32_t) col.mod)
			return 0;
		if (col.type == PP_BPCHAR)
			*pad = (uint32_t) col.mod - characters;
		if ((uint64_t) n + *pad > PP_MAX_VARLENA - 4)
			return 0;
	}
	return 4 + n + *pad;
}

/* Writes what [from, to) of the text (or of its digits) becomes, behind the header. */
static __device__ __forceinline__ void
pp_write_text(const uint8_t *s, uint32_t n, bool hex, uint32_t from, uint32_t to,
			  uint32_t lane, uint32_t lanes, uint8_t *dst)
{
	if (hex)
	{
		for (uint32_t i = from + 8 * lane; i < to; i += 8 * lanes)
		{
			uint64_t	bad = 0;
			uint32_t	x = pp_hex_bytes(s, i, n, &bad);
			uint32_t	bytes = n - i < 8 ? (n - i) / 2 : 4;

			for (uint32_t k = 0; k < bytes; k++, x >>= 8)
				dst[i / 2 + k] = (uint8_t) x;
		}
		return;
	}
	for (uint32_t i = from + 4 * lane; i < to; i += 4 * lanes)
	{
		if (i + 4 <= n)
			*reinterpret_cast<uint32_t *>(dst + i) = pp_load32(s + i);
		else
			for (uint32_t k = i; k < n; k++)
				dst[k] = s[k];
	}
}

/*
 * Does record r pass all filters, or may it?  *may: one of them met a value of
 * which nothing is known here.
 */
static __device__ __forceinline__ bool
pp_record_passes(const PpPaperFilter *filter, uint32_t nfilters, uint32_t r, bool *may)
{
	bool		pass = true;

	*may = false;
	for (uint32_t f = 0; f < nfilters && pass; f++)
	{
		const PpPaperFilter *p = &filter[f];
		const PpOp	op = p->filter.op;
		const uint8_t state = p->state[r];

		if (state == PP_VALUE)
			pass = pp_filter_passes(&p->filter, p->filter.compare, op,
									p->value[r] + (p->by_reference ? p->to_device : 0));
		else if (state == PP_NULL)
			pass = op == PP_OP_IS_NULL;
		else
		{
			pass = op != PP_OP_NEVER;
			*may |= pass;
		}
	}
	return pass;
}

#endif							/* PP_FIELD_H */
