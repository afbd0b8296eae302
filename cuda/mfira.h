/*
 * cuda/mfira.h
 *	  The multi-fragment in-register array (ParPaRaw, section 4.5): a small
 *	  array of small integers that a thread indexes dynamically and that never
 *	  leaves its registers.
 *
 * Registers cannot be addressed, but bits within a register can.  An item's
 * bits are cut into fragments; fragment f of every item lives in register f,
 * the items' fragments side by side.  With N items a register has 32 / N bits
 * for each; only a power of two of them is used, so that the position is a
 * shift of the index and not a product.  Ten items of five bits, for example,
 * could have three bits a fragment, use two, and take three registers.
 *
 * Holds no state but its registers; indexes are not checked.
 */
#ifndef PP_MFIRA_H
#define PP_MFIRA_H

#include "device.h"

#ifdef __CUDACC__
#define PP_UNROLL	_Pragma("unroll")
#define PP_NO_UNROLL	_Pragma("unroll 1")
#else
#define PP_UNROLL
#define PP_NO_UNROLL
#endif

template <int ITEMS, int BITS>
struct PpMfira
{
	static_assert(ITEMS >= 1 && ITEMS <= 32, "a register has a bit for each of at most 32 items");
	static_assert(BITS >= 1 && BITS <= 32, "an item is a word at most");

	/* bits a fragment: the greatest power of two that fits and is of use */
	static constexpr int
	shift_of(int bits)
	{
		return bits >= 2 && (1 << (shift_of(bits / 2) + 1)) <= bits ? shift_of(bits / 2) + 1 : 0;
	}
	static constexpr int available = 32 / ITEMS;
	static constexpr int shift_fit = shift_of(available);
	static constexpr int shift_use = shift_of(BITS) + ((1 << shift_of(BITS)) < BITS ? 1 : 0);
	static constexpr int shift = shift_fit < shift_use ? shift_fit : shift_use;
	static constexpr int bits = 1 << shift;
	static constexpr int fragments = (BITS + bits - 1) / bits;

	uint32_t	reg[fragments];

	__device__ __forceinline__ uint32_t
	get(uint32_t item) const
	{
		uint32_t	v = 0;

		PP_UNROLL
		for (int f = 0; f < fragments; f++)
			v |= pp_bfe(reg[f], item << shift, bits) << (f * bits);
		return v;
	}

	/* Bits of v above BITS must be zero. */
	__device__ __forceinline__ void
	set(uint32_t item, uint32_t v)
	{
		PP_UNROLL
		for (int f = 0; f < fragments; f++)
			reg[f] = pp_bfi(reg[f], v >> (f * bits), item << shift, bits);
	}

	__device__ __forceinline__ void
	clear(void)
	{
		PP_UNROLL
		for (int f = 0; f < fragments; f++)
			reg[f] = 0;
	}
};

#endif							/* PP_MFIRA_H */
