/*
 * cuda/symbol.h
 *	  From bytes to symbol groups without branches (ParPaRaw, section 4.5), and
 *	  whose chunk a symbol of several bytes belongs to (section 4.2).
 *
 * The bytes that an automaton tells apart stand four to a lookup register.
 * A byte is replicated, the exclusive or with a register has a zero byte where
 * they are equal, and H(x) = (x - 0x01010101) & ~x & 0x80808080 (Mycroft)
 * flags zero bytes.
 *
 * H has false positives: in subtracting, a zero byte borrows from the byte
 * above it, which is flagged wrongly if it is 0x01.  A borrow needs a true
 * zero byte below, so the lowest flag is always true.  The index is therefore
 * taken from the lowest flag, not from the highest as bfind would give it.
 * Without a flag the index is huge, and the minimum over all registers and
 * the catch-all group's index is the group.
 */
#ifndef PP_SYMBOL_H
#define PP_SYMBOL_H

#include "device.h"
#include "mfira.h"

/* Index of the byte of lu that equals c, least one first; 0x1fffffff: none. */
static __device__ __forceinline__ uint32_t
pp_symbol_index(uint32_t lu, uint32_t c)
{
	uint32_t	x = lu ^ (c * 0x01010101u);
	uint32_t	h = (x - 0x01010101u) & ~x & 0x80808080u;

	return (uint32_t) (__ffs((int) h) - 1) >> 3;
}

/*
 * The group of c: its index among the symbols of REGISTERS lookup registers,
 * or catch_all, which is not above the number of symbols that count.
 */
template <int REGISTERS>
static __device__ __forceinline__ uint32_t
pp_symbol_group(const uint32_t (&lu)[REGISTERS], uint32_t c, uint32_t catch_all)
{
	uint32_t	group = catch_all;

	PP_UNROLL
	for (int r = 0; r < REGISTERS; r++)
	{
		uint32_t	at = pp_symbol_index(lu[r], c) + 4 * r;

		group = at < group ? at : group;
	}
	return group;
}

/* What a symbol is. */
typedef enum PpSymbolEncoding
{
	PP_SYMBOL_BYTE,				/* a byte */
	PP_SYMBOL_UTF8,				/* a code point; it is told apart by its lead
								 * byte, for all that count are ASCII */
	PP_SYMBOL_UTF16				/* a code point, little-endian; chunks and text
								 * are of an even number of bytes */
} PpSymbolEncoding;

/*
 * The chunk of its lead byte (unit) owns a symbol.  Both facts are local, so
 * text that is not well-formed has no say in where symbols start.  UTF-16:
 * high surrogates are 0xd800 to 0xdbff, low ones 0xdc00 to 0xdfff.
 */
static __device__ __forceinline__ bool
pp_utf8_is_trailing(uint32_t byte)
{
	return (byte & 0xc0u) == 0x80u;
}

static __device__ __forceinline__ bool
pp_utf16_is_trailing(uint32_t unit)
{
	return (unit & 0xfc00u) == 0xdc00u;
}

/* First byte in text[from, to) that starts a symbol, or to. */
static __device__ __forceinline__ uint32_t
pp_symbol_first(PpSymbolEncoding encoding, const uint8_t *text, uint32_t from, uint32_t to)
{
	if (encoding == PP_SYMBOL_UTF8)
		while (from < to && pp_utf8_is_trailing(text[from]))
			from++;
	if (encoding == PP_SYMBOL_UTF16)
		while (from < to && pp_utf16_is_trailing(text[from] | (uint32_t) text[from + 1] << 8))
			from += 2;
	return from;
}

/* The byte that stands for the symbol at text[at]; 256: one above 0xff. */
static __device__ __forceinline__ uint32_t
pp_symbol_value(PpSymbolEncoding encoding, const uint8_t *text, uint32_t at)
{
	if (encoding == PP_SYMBOL_UTF16 && text[at + 1] != 0)
		return 256;
	return text[at];
}

#endif							/* PP_SYMBOL_H */
