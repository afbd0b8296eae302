/*
 * cuda/join_sort.h
 *	  Sorts in the host's memory, in place, as there may be no memory for more, and
 *	  by digits, as that goes in steps between which it can end.
 *
 * Owns nothing.
 */
#ifndef PP_JOIN_SORT_H
#define PP_JOIN_SORT_H

#include <algorithm>
#include <utility>

#include "join_driver.h"

/* Items that are sorted as they are, and that are gone through between two questions
 * whether to go on. */
#define PP_SORT_FEW		1024u
#define PP_SORT_STEP	16384u

/* Every so many steps it is asked whether to go on. */
static inline bool
pp_sort_cancelled(PpCudaJoin *j, uint64_t step)
{
	return step % PP_SORT_STEP == 0 && pp_join_cancelled(j);
}

/*
 * Sorts n items that differ in digit at and those behind it only, of T::DIGITS: by
 * less(), whose order is that of digit(0), digit(1), ..., each below 256.
 */
template <class T>
static PpJoinStatus
pp_sort(PpCudaJoin *j, T *item, uint64_t n, uint32_t digit)
{
	uint64_t	at[256];
	uint64_t	end[256] = {};
	uint64_t	before = 0;
	uint64_t	steps = 0;

	if (n <= PP_SORT_FEW)
	{
		std::sort(item, item + n, [](const T &a, const T &b) { return a.less(b); });
		return pp_join_cancelled(j) ? PP_JOIN_CANCELLED : PP_JOIN_OK;
	}
	for (uint64_t i = 0; i < n; i++)
	{
		if (pp_sort_cancelled(j, i))
			return PP_JOIN_CANCELLED;
		end[item[i].digit(digit)]++;
	}
	for (uint32_t d = 0; d < 256; d++)
	{
		at[d] = before;
		before = end[d] += before;
	}
	for (uint32_t d = 0; d < 256; d++)
		while (at[d] < end[d])
		{
			const uint32_t other = item[at[d]].digit(digit);

			if (pp_sort_cancelled(j, ++steps))
				return PP_JOIN_CANCELLED;
			if (other != d)
				std::swap(item[at[d]], item[at[other]]);
			at[other]++;
		}
	before = 0;
	for (uint32_t d = 0; d < 256 && digit + 1 < T::DIGITS; d++)
	{
		PpJoinStatus status = pp_sort(j, item + before, end[d] - before, digit + 1);

		if (status != PP_JOIN_OK)
			return status;
		before = end[d];
	}
	return PP_JOIN_OK;
}

/* Byte number digit, from the highest, of a key, in the order of keys. */
static inline uint32_t
pp_sort_digit(int64_t key, uint32_t digit)
{
	return (uint32_t) (((uint64_t) key ^ UINT64_C(1) << 63) >> (56 - 8 * digit)) & 0xff;
}

#endif							/* PP_JOIN_SORT_H */
