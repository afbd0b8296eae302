/*
 * cuda/fused_bits.h
 *	  A thread's bytes in the fused pass: what they do to the state, and, once
 *	  the state is known, which of them end fields and records (ParPaRaw, 3.1).
 *
 * A thread has up to 64 neighbouring bytes of the tile in shared memory, which
 * are made to two words of a bit a byte, first byte lowest.  Bits of bytes that
 * are none of the text's are zero.
 *
 * Parity: quotes are counted; a byte is inside quotes if their number in front
 * of it is odd.  All else is comparing bytes, four at a time.  States: from the
 * last byte to the first, the vector of what follows is looked up by the byte's
 * row, so that rows stay packed and vectors need not be composed; then the
 * automaton runs once from its true state.
 */
#ifndef PP_FUSED_BITS_H
#define PP_FUSED_BITS_H

#include "fused_tile.h"

/* A thread's bytes. */
struct PpStretch
{
	const uint8_t *bytes;		/* the tile's, in shared memory; 8-aligned */
	uint32_t	from;			/* the first one's number in the tile */
	uint32_t	count;			/* a multiple of 8, 64 at most */
	uint32_t	begin;			/* bytes of the text are [begin, end) of the tile ... */
	uint32_t	end;
	uint32_t	text_end;		/* ... where the text ends there, or later */
};

/* What a thread found. */
struct PpBits
{
	uint64_t	end;			/* of fields, those of records among them */
	uint64_t	record;
	uint64_t	control;		/* quotes and escapes that are no content */
	uint64_t	quoting;		/* these, content or not */
	uint32_t	stop;			/* the first byte, counted in the tile, that leads to
								 * a final state */
};

#define PP_NO_STOP	0xffffffffu

/* One of the words of a thread's bits, and such a word as part of all. */
static __device__ __forceinline__ uint32_t
pp_word(uint64_t bits, uint32_t h)
{
	return (uint32_t) (bits >> (32 * h));
}

static __device__ __forceinline__ uint64_t
pp_words(uint32_t word, uint32_t h)
{
	return (uint64_t) word << (32 * h);
}

/* Bits of word h that are bytes of the text. */
static __device__ __forceinline__ uint32_t
pp_text_bits(const PpStretch &s, uint32_t h)
{
	uint32_t	start = s.from + 32 * h;
	uint32_t	low = s.begin > start ? s.begin - start : 0;
	uint32_t	high = s.end > start ? s.end - start : 0;
	uint32_t	most = s.count > 32 * h ? s.count - 32 * h : 0;

	high = high < most ? high : most;
	if (low >= high)
		return 0;
	return (high >= 32 ? 0xffffffffu : (1u << high) - 1) & (0xffffffffu << low);
}

/* Four bits: which bytes of w are equal to the pattern's. */
static __device__ __forceinline__ uint32_t
pp_equal_bits(uint32_t w, uint32_t pattern)
{
	uint32_t	x = w ^ pattern;
	uint32_t	y = ~(((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x) & 0x80808080u;

	return (y * 0x00204081u) >> 28;
}

/* The same of word h's bytes, and in one go of three patterns. */
static __device__ __forceinline__ uint32_t
pp_equal_word(const PpStretch &s, uint32_t h, uint32_t pattern)
{
	uint32_t	bits = 0;

	PP_UNROLL
	for (uint32_t w = 0; w < 4; w++)
		if (32 * h + 8 * w < s.count)
		{
			uint2		v = pp_load8(s.bytes + s.from + 32 * h + 8 * w);

			bits |= pp_equal_bits(v.x, pattern) << (8 * w) |
				pp_equal_bits(v.y, pattern) << (8 * w + 4);
		}
	return bits;
}

static __device__ __forceinline__ void
pp_equal_words(const PpStretch &s, uint32_t h, const uint32_t (&pattern)[3], uint32_t (&bits)[3])
{
	bits[0] = bits[1] = bits[2] = 0;
	PP_UNROLL
	for (uint32_t w = 0; w < 4; w++)
		if (32 * h + 8 * w < s.count)
		{
			uint2		v = pp_load8(s.bytes + s.from + 32 * h + 8 * w);

			PP_UNROLL
			for (uint32_t k = 0; k < 3; k++)
				bits[k] |= pp_equal_bits(v.x, pattern[k]) << (8 * w) |
					pp_equal_bits(v.y, pattern[k]) << (8 * w + 4);
		}
}

/* Bit i: the number of bits [0, i] of v is odd. */
static __device__ __forceinline__ uint32_t
pp_prefix_xor(uint32_t v)
{
	v ^= v << 1;
	v ^= v << 2;
	v ^= v << 4;
	v ^= v << 8;
	return v ^ v << 16;
}

/* The byte behind the thread's word h, or 256 at the end of the text. */
static __device__ __forceinline__ uint32_t
pp_byte_behind(const PpStretch &s, uint32_t h)
{
	uint32_t	most = s.count - 32 * h;
	uint32_t	at = s.from + 32 * h + (most < 32 ? most : 32);

	return at < s.text_end ? s.bytes[at] : 256;
}

/* Bit of the last byte of word h, if that is one of the text's. */
static __device__ __forceinline__ uint32_t
pp_last_bit(const PpStretch &s, uint32_t h)
{
	uint32_t	most = s.count - 32 * h;

	return 1u << ((most < 32 ? most : 32) - 1);
}

static __device__ __forceinline__ void
pp_note_stop(const PpStretch &s, uint32_t h, uint32_t stops, PpBits *b)
{
	if (stops != 0 && b->stop == PP_NO_STOP)
		b->stop = s.from + 32 * h + (uint32_t) (__ffs((int) stops) - 1);
}

/*
 * Does the record end whose last byte is number at of the tile, at position pos
 * of the text, end a record of "\."?  Neither of these is a quote, so if the
 * line end in front of them is outside quotes, or a record begins there, so
 * does all of this.
 */
static __device__ __forceinline__ bool
pp_is_marker(const PpFusedJob &job, const uint8_t *bytes, uint32_t at, uint32_t pos)
{
	const uint32_t eol_len = job.dfa.eol_len;
	const uint8_t *p = bytes + at - eol_len;

	return *p == '.' && pos >= eol_len + 1 && p[-1] == '\\' &&
		(pos == eol_len + 1 || p[-2] == job.eol);
}

/*
 * Parity: bits from the bits of quotes and the state in front of the bytes.
 * base is the tile's position.  *state moves on.
 */
static __device__ __forceinline__ void
pp_parity_bits(const PpFusedJob &job, const PpStretch &s, uint32_t base,
			   uint64_t quotes, uint32_t *state, PpBits *b)
{
	/* line ends, the character that is one in other files, delimiters */
	const uint32_t pattern[3] = {
		job.eol * 0x01010101u, ('\n' + '\r' - job.eol) * 0x01010101u, job.delimiter * 0x01010101u
	};
	uint32_t	inside = *state;
	uint32_t	carry = 0;		/* a '\r' outside quotes is in front, of CRNL */

	b->end = b->record = b->control = 0;
	b->quoting = quotes;
	b->stop = PP_NO_STOP;
	if (job.dfa.eol_len == 2 && (int32_t) (base + s.from) > 0)
		carry = inside == 0 && s.bytes[(int32_t) s.from - 1] == '\r';
	PP_UNROLL
	for (uint32_t h = 0; h < 2; h++)
	{
		uint32_t	q = pp_word(quotes, h);
		uint32_t	behind,
					outside,
					equal[3],
					records,
					stops;

		if (h == 1 && s.count <= 32)
			continue;
		behind = pp_prefix_xor(q) ^ (0 - inside);	/* inside quotes behind the byte */
		outside = ~behind & pp_text_bits(s, h);
		pp_equal_words(s, h, pattern, equal);
		if (job.dfa.eol_len == 1)
		{
			records = equal[0] & outside;
			stops = equal[1] & outside;
		}
		else
		{
			uint32_t	cr = equal[1] & outside;
			uint32_t	behind_cr = (cr << 1 | carry) & pp_text_bits(s, h);

			carry = cr >> 31;
			records = behind_cr & equal[0];
			stops = (behind_cr & ~equal[0]) | (equal[0] & outside & ~behind_cr);
		}
		if (job.markers)
			for (uint32_t left = records; left != 0; left &= left - 1)
			{
				uint32_t	at = s.from + 32 * h + (uint32_t) (__ffs((int) left) - 1);

				if (pp_is_marker(job, s.bytes, at, base + at))
					stops |= left & (0 - left);
			}
		pp_note_stop(s, h, stops, b);
		b->record |= pp_words(records, h);
		b->end |= pp_words(records | (equal[2] & outside), h);
		if (q != 0)
		{
			/* of two that are side by side inside quotes, the first one stands for both */
			uint32_t	next = q >> 1;

			if (pp_byte_behind(s, h) == job.dfa.quote)
				next |= pp_last_bit(s, h);
			b->control |= pp_words(q & ~((behind ^ q) & next), h);
		}
		inside = behind >> 31;
	}
	*state = inside;
}

/* Tables of the automaton, in shared memory, by byte. */
template <int STATES>
struct PpByteTable
{
	typename PpMap<STATES>::Word row[256];	/* transitions */
	typename PpMap<STATES>::Word emit[256];
};

template <>
struct PpByteTable<PP_FUSED_PARITY>
{
	uint32_t	unused;
};

/* Vectors while they grow at their start: a byte a state. */
template <int STATES>
struct PpOpenMap;

template <>
struct PpOpenMap<PP_FUSED_STATES_8>
{
	uint32_t	low,
				high;

	__device__ __forceinline__ void
	clear(void)
	{
		low = 0x03020100u;
		high = 0x07060504u;
	}
	/* row, and then what was there */
	__device__ __forceinline__ void
	prepend(uint32_t row)
	{
		uint32_t	l = __byte_perm(low, high, row & 0xffffu);

		high = __byte_perm(low, high, row >> 16);
		low = l;
	}
	__device__ __forceinline__ uint32_t
	close(void) const
	{
		return pp_gather_nibbles(low) | pp_gather_nibbles(high) << 16;
	}
};

template <>
struct PpOpenMap<PP_FUSED_STATES_16>
{
	uint32_t	b0,
				b1,
				b2,
				b3;

	__device__ __forceinline__ void
	clear(void)
	{
		b0 = 0x03020100u;
		b1 = 0x07060504u;
		b2 = 0x0b0a0908u;
		b3 = 0x0f0e0d0cu;
	}
	__device__ __forceinline__ void
	prepend(uint64_t row)
	{
		typedef PpMap<PP_FUSED_STATES_16> Map;
		uint32_t	first = (uint32_t) row;
		uint32_t	second = (uint32_t) (row >> 32);
		uint32_t	n0 = Map::select(b0, b1, b2, b3, first & 0xffffu);
		uint32_t	n1 = Map::select(b0, b1, b2, b3, first >> 16);
		uint32_t	n2 = Map::select(b0, b1, b2, b3, second & 0xffffu);
		uint32_t	n3 = Map::select(b0, b1, b2, b3, second >> 16);

		b0 = n0;
		b1 = n1;
		b2 = n2;
		b3 = n3;
	}
	__device__ __forceinline__ uint64_t
	close(void) const
	{
		return (pp_gather_nibbles(b0) | pp_gather_nibbles(b1) << 16) |
			(uint64_t) (pp_gather_nibbles(b2) | pp_gather_nibbles(b3) << 16) << 32;
	}
};

/* The vector of the thread's bytes. */
template <int STATES>
static __device__ __forceinline__ typename PpMap<STATES>::Word
pp_states_vector(const PpByteTable<STATES> &table, const PpStretch &s)
{
	PpOpenMap<STATES> map;

	map.clear();
	for (uint32_t w = s.count; w > 0; w -= 8)
	{
		uint32_t	at = s.from + w - 8;

		if (at >= s.begin && at + 8 <= s.end)
		{
			uint2		v = pp_load8(s.bytes + at);

			PP_UNROLL
			for (uint32_t j = 4; j > 0; j--)
				map.prepend(table.row[pp_bfe(v.y, 8 * (j - 1), 8)]);
			PP_UNROLL
			for (uint32_t j = 4; j > 0; j--)
				map.prepend(table.row[pp_bfe(v.x, 8 * (j - 1), 8)]);
		}
		else
			for (uint32_t j = 8; j > 0; j--)
				if (at + j - 1 >= s.begin && at + j - 1 < s.end)
					map.prepend(table.row[s.bytes[at + j - 1]]);
	}
	return map.close();
}

/* Bits 0, 4, .. 28 of v, side by side. */
static __device__ __forceinline__ uint32_t
pp_gather_bits(uint32_t v)
{
	v &= 0x11111111u;
	v = (v | v >> 3) & 0x03030303u;
	v = (v | v >> 6) & 0x000f000fu;
	return (v | v >> 12) & 0xffu;
}

/* States: bits from the state in front of the bytes, which moves on. */
template <int STATES>
static __device__ __forceinline__ void
pp_states_bits(const PpFusedJob &job, const PpByteTable<STATES> &table, const PpStretch &s,
			   uint32_t *state, PpBits *b)
{
	typedef typename PpMap<STATES>::Word Word;
	uint32_t	by4 = *state * 4;

	b->end = b->record = b->control = b->quoting = 0;
	b->stop = PP_NO_STOP;
	PP_NO_UNROLL				/* which would take more registers than there are */
	for (uint32_t h = 0; h < 2; h++)
	{
		uint32_t	low = 0;	/* planes of the emitted nibbles */
		uint32_t	high = 0;
		uint32_t	flags = 0;
		uint32_t	facts = 0;

		if (h == 1 && s.count <= 32)
			continue;
		for (uint32_t w = 0; w < 32 && 32 * h + w < s.count; w += 8)
		{
			uint32_t	at = s.from + 32 * h + w;
			uint32_t	emitted = 0;

			if (at >= s.begin && at + 8 <= s.end)
			{
				uint2		v = pp_load8(s.bytes + at);

				PP_UNROLL
				for (uint32_t j = 0; j < 8; j++)
				{
					uint32_t	c = pp_bfe(j < 4 ? v.x : v.y, 8 * (j % 4), 8);
					Word		row = table.row[c];
					Word		emit = table.emit[c];

					emitted |= ((uint32_t) (emit >> by4) & 15u) << (4 * j);
					by4 = ((uint32_t) (row >> by4) & 15u) * 4;
				}
			}
			else
				for (uint32_t j = 0; j < 8; j++)
					if (at + j >= s.begin && at + j < s.end)
					{
						uint32_t	c = s.bytes[at + j];

						emitted |= ((uint32_t) (table.emit[c] >> by4) & 15u) << (4 * j);
						by4 = ((uint32_t) (table.row[c] >> by4) & 15u) * 4;
					}
			low |= pp_gather_bits(emitted) << w;
			high |= pp_gather_bits(emitted >> 1) << w;
			flags |= pp_gather_bits(emitted >> 2) << w;
			facts |= pp_gather_bits(emitted >> 3) << w;
		}
		b->end |= pp_words(low ^ high, h);
		b->record |= pp_words(high & ~low, h);
		b->quoting |= pp_words(flags, h);
		pp_note_stop(s, h, low & high, b);
		if (flags != 0)
		{
			uint32_t	next = pp_byte_behind(s, h);
			uint32_t	last = pp_last_bit(s, h);
			uint32_t	control;

			if (job.dfa.quote == job.dfa.escape)
				/* as with parity; facts: in front of it, it is inside quotes */
				control = flags & ~(facts & (flags >> 1 | (next == job.dfa.quote ? last : 0)));
			else
			{
				/*
				 * facts: it is behind an escape, whether or not that one is
				 * content.  It is if what follows, being flagged, was escaped.
				 */
				bool		open = (job.escaped >> (by4 / 4) & 1u) != 0;
				bool		taken = next == job.dfa.quote || next == job.dfa.escape;
				uint32_t	escapes = facts >> 1;
				uint32_t	literals = (flags & facts) >> 1;

				if (open)
				{
					/* at the text's end that is its last byte, wherever it is */
					uint32_t	text = pp_text_bits(s, h);
					uint32_t	end = text & ~(text >> 1);

					escapes |= end;
					literals |= taken ? end & last : 0;
				}
				control = flags & ~facts & ~(escapes & ~literals);
			}
			b->control |= pp_words(control, h);
		}
	}
	*state = by4 / 4;
}

#endif							/* PP_FUSED_BITS_H */
