/*
 * src/parse/cpu/kernel_impl.h
 *	  The algorithms of the kernels, over what a simd_*.h offers.  Included by
 *	  one kernel_*.c for each instruction set; instantiates nothing itself.
 */
#include <string.h>

#include "../utf8.h"
#include "kernel.h"

/* Does unquoting treat blocks without quotes apart? */
#ifndef UNQUOTE_BRANCHES
#define UNQUOTE_BRANCHES	1
#endif

/*
 * Which bytes of a block are inside quotes, where the escape is not the quote:
 * inside, an escape takes the byte behind it, whatever that is.  q and e have
 * bits for quotes and escapes; *taken is 1 if the first byte is taken by an
 * escape in the block before, and becomes 1 if the first of the next is by one
 * in this.  *q loses the quotes that are taken; *active gets the escapes that
 * take a byte.
 */
static inline PP_TARGET uint64_t
inside_escaped(uint64_t *q, uint64_t e, uint64_t in_quote, uint64_t *taken,
			   uint64_t *active)
{
	/*
	 * As if all escapes were inside: of each run of them, every other takes a
	 * byte.  A run's end is found by subtraction, at an odd or an even place
	 * (as in simdjson's search for escapes, Langdale and Lemire).
	 */
	const uint64_t odd = UINT64_C(0xaaaaaaaaaaaaaaaa);
	uint64_t	runs = e & ~*taken;
	uint64_t	codes = (((runs << 1) | odd) - runs) ^ odd;
	uint64_t	toggles = *q & ~(codes ^ (e | *taken));
	uint64_t	inside = prefix_xor(toggles) ^ in_quote;

	*active = codes & e;
	if (PP_UNLIKELY(e & ~inside))
	{
		/* Some are outside.  One by one, then, unless all are. */
		uint64_t	m = (*q | e) & ~*taken;
		bool		in = in_quote != 0;

		*active = toggles = 0;
		if (!in && !*q)
			m = 0;
		while (m)
		{
			uint64_t	bit = m & (0 - m);

			m ^= bit;
			if (*q & bit)
			{
				toggles |= bit;
				in = !in;
			}
			else if (in)
			{
				*active |= bit;
				m &= ~(bit << 1);
			}
		}
		inside = prefix_xor(toggles) ^ in_quote;
	}
	*q = toggles;
	*taken = *active >> 63;
	return inside;
}

/*
 * Structure of a dialect whose quoting is parity: a byte is inside quotes if
 * an odd number of quotes stand before it, those not counted that an escape
 * takes.
 */
static inline PP_TARGET __attribute__((always_inline)) uint32_t
structure_blocks(PpStructure *st, const uint8_t *text, uint32_t pos, uint32_t to,
				 PpEol eol, bool listed)
{
	const uint8_t delimiter = st->delimiter;
	const uint8_t quote = st->quote;
	const uint32_t width = st->width;
	const bool	has_escape = st->escape != st->quote;
	uint32_t	nends = st->nends;
	uint32_t	first = st->first;
	uint32_t	nrecords = st->nrecords;
	uint32_t	record = st->record;
	uint64_t	in_quote = st->in_quote ? ~UINT64_C(0) : 0; /* before the block */
	uint64_t	at_start = st->at_start;
	uint64_t	behind_cr = st->behind_cr;
	uint64_t	taken = 0;		/* the byte before is an escape that takes one */
	uint64_t	quotes = 0;

	for (; to - pos >= 64; pos += 64)
	{
		Block		b = block_load(text + pos);
		uint64_t	q = block_eq(b, quote);
		uint64_t	nl = block_eq(b, '\n');
		uint64_t	cr = block_eq(b, '\r');
		uint64_t	d = block_eq(b, delimiter);
		uint64_t	e = has_escape ? block_eq(b, st->escape) : 0;
		uint64_t	inside = 0;
		uint64_t	now_taken = taken;
		uint64_t	line,
					ends;
		uint64_t	unusual;
		uint32_t	lines;
		uint32_t	new_first = first;
		uint32_t	new_nends;

		if (q | in_quote)
		{
			if (e | taken)
			{
				uint64_t	active;

				inside = inside_escaped(&q, e, in_quote, &now_taken, &active);
			}
			else
				inside = prefix_xor(q) ^ in_quote;
			d &= ~inside;
			nl &= ~inside;
			cr &= ~inside;
		}

		if (eol == PP_EOL_NL)
		{
			line = nl;
			unusual = cr;
		}
		else if (eol == PP_EOL_CR)
		{
			line = cr;
			unusual = nl;
		}
		else
		{
			line = nl;
			unusual = nl ^ ((cr << 1) | behind_cr);
		}
		if (st->end_marker)
			unusual |= block_eq(b, '\\') & ((line << 1) | at_start);

		ends = d | line;
		lines = (uint32_t) popcount(line);
		new_nends = nends + (uint32_t) popcount(ends);
		if (lines > 0)
		{
			uint64_t	m = line;

			/* each record must have its fields */
			do
			{
				uint64_t	up_to = m ^ (m - 1);
				uint32_t	here = nends + (uint32_t) popcount(ends & up_to);

				unusual |= (uint64_t) ((here - new_first) ^ width);
				new_first = here;
				m &= m - 1;
			} while (m);
			if (nrecords + lines >= st->max_records)
				break;
		}
		/* ... and the one that goes on must have room for another */
		if (unusual || new_nends - new_first >= width)
			break;

		if (listed)
			(void) list_bits(st->end + nends, pos, ends);
		if (lines > 0)
			record = pos + 64 - (uint32_t) __builtin_clzll(line);
		nrecords += lines;
		nends = new_nends;
		first = new_first;
		quotes |= q;
		in_quote = (uint64_t) ((int64_t) inside >> 63);
		at_start = line >> 63;
		behind_cr = cr >> 63;
		taken = now_taken;
	}

	/* There is no name for the state behind an escape: stop before it. */
	pos -= (uint32_t) taken;

	st->nends = nends;
	st->first = first;
	st->nrecords = nrecords;
	st->record = record;
	st->in_quote = in_quote != 0;
	st->at_start = at_start != 0;
	st->behind_cr = eol == PP_EOL_CRNL && behind_cr != 0;
	st->quotes |= quotes != 0;
	return pos;
}

static PP_TARGET uint32_t
structure(PpStructure *st, const uint8_t *text, uint32_t pos, uint32_t to)
{
	switch (st->eol)
	{
		case PP_EOL_CR:
			return st->end ? structure_blocks(st, text, pos, to, PP_EOL_CR, true) :
				structure_blocks(st, text, pos, to, PP_EOL_CR, false);
		case PP_EOL_CRNL:
			return st->end ? structure_blocks(st, text, pos, to, PP_EOL_CRNL, true) :
				structure_blocks(st, text, pos, to, PP_EOL_CRNL, false);
		default:
			return st->end ? structure_blocks(st, text, pos, to, PP_EOL_NL, true) :
				structure_blocks(st, text, pos, to, PP_EOL_NL, false);
	}
}

/*
 * Quotes toggle and are dropped, except one that opens directly behind one
 * that closes: such a pair stands for a quote.
 */
static PP_TARGET uint32_t
unquote(const uint8_t *src, uint32_t n, uint8_t quote, bool *state, uint8_t *dst)
{
	uint8_t    *out = dst;
	uint64_t	in_quote = *state ? ~UINT64_C(0) : 0;	/* before the block */
	uint64_t	closed = 0;		/* the byte before is a quote that closes */

	for (uint32_t i = 0; i < n; i += 64)
	{
		/* PP_PAD bytes behind src may be read */
		Block		b = block_load(src + i);
		uint64_t	here = n - i < 64 ? (UINT64_C(1) << (n - i)) - 1 : ~UINT64_C(0);
		uint64_t	q = block_eq(b, quote) & here;
		uint64_t	inside,
					closing,
					keep;

		if (UNQUOTE_BRANCHES && !q)
		{
			block_copy(out, b);
			out += n - i < 64 ? n - i : 64;
			closed = 0;
			continue;
		}
		inside = prefix_xor(q) ^ in_quote;
		closing = q & ~inside;
		keep = (~q | (inside & ((closing << 1) | closed))) & here;
		block_keep(out, src + i, b, keep);
		out += popcount(keep);
		in_quote = (uint64_t) ((int64_t) inside >> 63);
		closed = closing >> 63;
	}
	*state = in_quote != 0;
	return (uint32_t) (out - dst);
}

/*
 * Where the escape is another byte: dropped are quotes that toggle, and the
 * escapes inside that take a quote or an escape.
 */
static PP_TARGET uint32_t
unescape(const uint8_t *src, uint32_t n, uint8_t quote, uint8_t escape,
		 bool *state, uint8_t *dst)
{
	uint8_t    *out = dst;
	uint64_t	in_quote = *state ? ~UINT64_C(0) : 0;	/* before the block */
	uint64_t	taken = 0;		/* the byte before is an escape that takes one */

	for (uint32_t i = 0; i < n; i += 64)
	{
		/* PP_PAD bytes behind src may be read */
		Block		b = block_load(src + i);
		uint64_t	here = n - i < 64 ? (UINT64_C(1) << (n - i)) - 1 : ~UINT64_C(0);
		uint64_t	q = block_eq(b, quote) & here;
		uint64_t	e = block_eq(b, escape) & here;
		uint64_t	either = q | e;
		uint64_t	inside,
					active,
					keep;

		if (!either)
		{
			block_copy(out, b);
			out += n - i < 64 ? n - i : 64;
			taken = 0;
			continue;
		}
		inside = inside_escaped(&q, e, in_quote, &taken, &active);
		/* before another byte an escape is data; so it is as the last byte */
		either >>= 1;
		if (n - i > 64 && (src[i + 64] == quote || src[i + 64] == escape))
			either |= UINT64_C(1) << 63;
		keep = ~(q | (active & either)) & here;
		block_keep(out, src + i, b, keep);
		out += popcount(keep);
		in_quote = (uint64_t) ((int64_t) inside >> 63);
	}
	*state = in_quote != 0;
	return (uint32_t) (out - dst);
}

static PP_TARGET uint64_t
count_byte(const uint8_t *s, size_t n, uint8_t c)
{
	uint64_t	total = 0;
	size_t		i = 0;

	for (; n - i >= 64; i += 64)
		total += (uint64_t) popcount(block_eq(block_load(s + i), c));
	for (; i < n; i++)
		total += s[i] == c;
	return total;
}

static PP_TARGET bool
survey(const uint8_t *s, size_t n, uint8_t a, uint8_t b, uint8_t c,
	   uint64_t *na, uint64_t *nb)
{
	uint64_t	found = 0;
	uint64_t	sum_a = 0;
	uint64_t	sum_b = 0;
	size_t		i = 0;

	for (; n - i >= 64; i += 64)
	{
		Block		block = block_load(s + i);

		sum_a += (uint64_t) popcount(block_eq(block, a));
		sum_b += (uint64_t) popcount(block_eq(block, b));
		found |= block_eq(block, c);
	}
	for (; i < n; i++)
	{
		sum_a += s[i] == a;
		sum_b += s[i] == b;
		found |= s[i] == c;
	}
	*na += sum_a;
	*nb += sum_b;
	return found != 0;
}

#ifdef HAVE_VECTOR

/*
 * UTF-8 by table look-up (Keiser and Lemire, "Validating UTF-8 in less than
 * one instruction per byte", section 6): what is wrong with two neighbouring
 * bytes is the intersection of what three nibbles allow to be wrong.
 */
enum
{
	TOO_SHORT = 1 << 0,			/* lead byte, then no continuation */
	TOO_LONG = 1 << 1,			/* ASCII, then a continuation */
	OVERLONG_3 = 1 << 2,
	TOO_LARGE = 1 << 3,			/* above U+10FFFF */
	SURROGATE = 1 << 4,
	OVERLONG_2 = 1 << 5,
	TOO_LARGE_1000 = 1 << 6,	/* f5 .. ff, shares its bit with ... */
	OVERLONG_4 = 1 << 6,
	TWO_CONTS = 1 << 7,			/* right only as third or fourth byte */
	CARRY = TOO_SHORT | TOO_LONG | TWO_CONTS
};

static const uint8_t first_high[16] = {
	/* 0. to 7.: ASCII */
	TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG,
	TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG,
	/* 8. to b.: continuations */
	TWO_CONTS, TWO_CONTS, TWO_CONTS, TWO_CONTS,
	TOO_SHORT | OVERLONG_2,		/* c. */
	TOO_SHORT,					/* d. */
	TOO_SHORT | OVERLONG_3 | SURROGATE, /* e. */
	TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4 /* f. */
};

static const uint8_t first_low[16] = {
	CARRY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4,	/* .0 */
	CARRY | OVERLONG_2,			/* .1 */
	CARRY, CARRY,				/* .2, .3 */
	CARRY | TOO_LARGE,			/* .4 */
	CARRY | TOO_LARGE | TOO_LARGE_1000, /* .5 ... */
	CARRY | TOO_LARGE | TOO_LARGE_1000,
	CARRY | TOO_LARGE | TOO_LARGE_1000,
	CARRY | TOO_LARGE | TOO_LARGE_1000,
	CARRY | TOO_LARGE | TOO_LARGE_1000,
	CARRY | TOO_LARGE | TOO_LARGE_1000,
	CARRY | TOO_LARGE | TOO_LARGE_1000,
	CARRY | TOO_LARGE | TOO_LARGE_1000,
	CARRY | TOO_LARGE | TOO_LARGE_1000 | SURROGATE, /* .d */
	CARRY | TOO_LARGE | TOO_LARGE_1000,
	CARRY | TOO_LARGE | TOO_LARGE_1000
};

static const uint8_t second_high[16] = {
	/* 0. to 7.: ASCII */
	TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
	TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
	TOO_LONG | OVERLONG_2 | TWO_CONTS | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4,	/* 8. */
	TOO_LONG | OVERLONG_2 | TWO_CONTS | OVERLONG_3 | TOO_LARGE, /* 9. */
	TOO_LONG | OVERLONG_2 | TWO_CONTS | SURROGATE | TOO_LARGE,	/* a. */
	TOO_LONG | OVERLONG_2 | TWO_CONTS | SURROGATE | TOO_LARGE,	/* b. */
	/* c. to f.: lead bytes */
	TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT
};

/* Not zero where something is wrong in v, given the vector before. */
static inline PP_TARGET Vector
utf8_errors(Vector v, Vector before)
{
	Vector		prev1 = vector_back1(v, before);
	Vector		special = vector_and(vector_and(vector_lookup(first_high, vector_high_nibble(prev1)),
												vector_lookup(first_low, prev1)),
									 vector_lookup(second_high, vector_high_nibble(v)));

	/* third byte of three, third or fourth of four: 0x80 where it must be a
	 * continuation that follows a continuation */
	Vector		third = vector_minus(vector_back2(v, before), vector_set(0xe0 - 0x80));
	Vector		fourth = vector_minus(vector_back3(v, before), vector_set(0xf0 - 0x80));
	Vector		must = vector_and(vector_or(third, fourth), vector_set(0x80));

	return vector_xor(must, special);
}

/* Bytes between two looks at whether anything was wrong. */
#define UTF8_STRETCH	(16 * VECTOR_BYTES)

static PP_TARGET size_t
utf8_valid_prefix(const uint8_t *s, size_t n)
{
	uint8_t		last_bytes[VECTOR_BYTES];
	Vector		whole;
	Vector		before = vector_set(0);
	size_t		good = 0;		/* valid so far, but for a character that goes on */
	size_t		i;

	/* the greatest last bytes that begin no character which goes on */
	memset(last_bytes, 0xff, sizeof(last_bytes));
	last_bytes[VECTOR_BYTES - 3] = 0xef;
	last_bytes[VECTOR_BYTES - 2] = 0xdf;
	last_bytes[VECTOR_BYTES - 1] = 0xbf;
	whole = vector_load(last_bytes);

	while (n - good >= VECTOR_BYTES)
	{
		size_t		left = n - good < UTF8_STRETCH ? n - good : UTF8_STRETCH;
		size_t		stop = good + left / VECTOR_BYTES * VECTOR_BYTES;
		Vector		wrong = vector_set(0);
		Vector		least = vector_set(0xff);

		for (i = good; i < stop;)
		{
			Vector		v0 = vector_load(s + i);

			if (stop - i >= 4 * VECTOR_BYTES)
			{
				Vector		v1 = vector_load(s + i + VECTOR_BYTES);
				Vector		v2 = vector_load(s + i + 2 * VECTOR_BYTES);
				Vector		v3 = vector_load(s + i + 3 * VECTOR_BYTES);

				least = vector_min(least, vector_min(vector_min(v0, v1), vector_min(v2, v3)));
				if (vector_any_high(vector_or(vector_or(v0, v1), vector_or(v2, v3))))
				{
					wrong = vector_or(wrong, vector_or(utf8_errors(v0, before), utf8_errors(v1, v0)));
					wrong = vector_or(wrong, vector_or(utf8_errors(v2, v1), utf8_errors(v3, v2)));
				}
				else
					wrong = vector_or(wrong, vector_minus(before, whole));
				before = v3;
				i += 4 * VECTOR_BYTES;
			}
			else
			{
				least = vector_min(least, v0);
				wrong = vector_or(wrong, utf8_errors(v0, before));
				before = v0;
				i += VECTOR_BYTES;
			}
		}
		if (vector_any(wrong) || vector_any_zero(least))
			break;
		good = stop;
	}

	/*
	 * The rest, or the stretch in which something is wrong, by character.  All
	 * whole characters so far are valid, but the last one may go on: go back to
	 * its start.
	 */
	i = good;
	for (size_t back = 1; back <= 3 && back <= i; back++)
	{
		uint8_t		c = s[i - back];

		if ((c & 0xc0) == 0x80)
			continue;
		if (c >= 0xc0 && (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) > back)
			i -= back;
		break;
	}
	while (i < n)
	{
		size_t		len = pp_utf8_character(s + i, n - i);

		if (len == 0)
			return i;
		i += len;
	}
	return n;
}

#endif							/* HAVE_VECTOR */
