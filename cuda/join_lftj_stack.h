/*
 * cuda/join_lftj_stack.h
 *	  A thread's stack in shared memory, and the levels of a stage on it: the
 *	  iterators of Leapfrog Triejoin, as places in lists.
 *
 * Slot s of a warp's lane t is at [s * 32 + t], so that lanes do not meet in one
 * bank; the distance of slots being a constant, one address does for several.  A
 * level's candidates are entries [cursor, limit) of its driver, which is the list
 * with the fewest that comparisons and other lists' ends leave; or, without lists,
 * numbers.  They ascend, so what is left of another list begins where the last
 * search in it ended (shrinking scope), and where that is beyond the next
 * candidates the driver leaps.
 */
#ifndef PP_JOIN_LFTJ_STACK_H
#define PP_JOIN_LFTJ_STACK_H

#include "join_lftj.h"

#define PP_STACK_LANES	32

/* Slots of 8 bytes, then of 4. */
struct PpStack
{
	uint64_t   *wide;
	uint32_t   *word;

	/* units that the thread has, but for the one in hand */
	__device__ __forceinline__ uint64_t &from() const { return wide[0]; }
	__device__ __forceinline__ uint64_t &to() const { return wide[PP_STACK_LANES]; }
	/* rows: copies of the assignment that are still to come */
	__device__ __forceinline__ uint64_t &left() const { return wide[2 * PP_STACK_LANES]; }
	/* or else what value key counts and is not in out[] yet; or all, then key says how
	 * often 64 bits did not suffice */
	__device__ __forceinline__ uint64_t &counted() const { return left(); }
	/* count of the levels so far */
	__device__ __forceinline__ uint64_t &weight(uint32_t l) const
	{
		return wide[(3 + l) * PP_STACK_LANES];
	}

	/* level that is gone through, NONE: no unit is in hand */
	__device__ __forceinline__ uint32_t &depth() const { return word[0]; }
	/* what of the levels behind level 0 is the unit's: entries, and candidates */
	__device__ __forceinline__ uint32_t &clip(uint32_t i) const { return word[(1 + i) * PP_STACK_LANES]; }
	/* rows: answers so far */
	__device__ __forceinline__ uint32_t &answers() const { return word[5 * PP_STACK_LANES]; }
	__device__ __forceinline__ uint32_t &key() const { return answers(); }
	__device__ __forceinline__ uint32_t &value(uint32_t l) const
	{
		return word[(6 + 4 * l) * PP_STACK_LANES];
	}
	__device__ __forceinline__ uint32_t &cursor(uint32_t l) const
	{
		return word[(7 + 4 * l) * PP_STACK_LANES];
	}
	__device__ __forceinline__ uint32_t &limit(uint32_t l) const
	{
		return word[(8 + 4 * l) * PP_STACK_LANES];
	}
	__device__ __forceinline__ uint32_t &driver(uint32_t l) const
	{
		return word[(9 + 4 * l) * PP_STACK_LANES];
	}

	/* of list k, behind the levels' slots: its place, and its end */
	__device__ __forceinline__ uint32_t &place(uint32_t nlevels, uint32_t k) const
	{
		return word[(6 + 4 * nlevels + 2 * k) * PP_STACK_LANES];
	}
	__device__ __forceinline__ uint32_t &end(uint32_t nlevels, uint32_t k) const
	{
		return word[(7 + 4 * nlevels + 2 * k) * PP_STACK_LANES];
	}

	/* values by level, for join_device.h */
	__device__ __forceinline__ uint32_t operator[](uint32_t l) const { return value(l); }
};

/* The stack of a thread of the block, in dynamic shared memory. */
__device__ __forceinline__ PpStack
pp_stack(unsigned char *memory, const PpLftjShape &shape, uint32_t thread)
{
	const uint32_t nwide = 2 * PP_STACK_LANES * PP_LFTJ_WIDE(shape.nlevels);
	const uint32_t nwords = PP_STACK_LANES * PP_LFTJ_WORDS(shape.nlevels, shape.nlists);
	uint32_t   *of_warp = reinterpret_cast<uint32_t *>(memory) + thread / PP_STACK_LANES *
		(nwide + nwords);
	PpStack		s;

	s.wide = reinterpret_cast<uint64_t *>(of_warp) + thread % PP_STACK_LANES;
	s.word = of_warp + nwide + thread % PP_STACK_LANES;
	return s;
}

/* That of another lane of the warp. */
__device__ __forceinline__ PpStack
pp_stack_of(const PpStack &s, uint32_t lane)
{
	const int	by = (int) lane - (int) (threadIdx.x % PP_STACK_LANES);
	PpStack		of;

	of.wide = s.wide + by;
	of.word = s.word + by;
	return of;
}

/* The level that is gone through behind one, and before one; NONE: none is. */
__device__ __forceinline__ uint32_t
pp_next_level(const PpLftjShape &shape, uint32_t l)
{
	const uint32_t behind = shape.inner & ~((2u << l) - 1);

	if (l == shape.tail)
		return PP_LFTJ_NONE;
	return behind ? (uint32_t) __ffs((int) behind) - 1 : shape.tail;
}

__device__ __forceinline__ uint32_t
pp_level_before(const PpLftjShape &shape, uint32_t l)
{
	const uint32_t before = l == shape.tail ? shape.inner : shape.inner & ((1u << l) - 1);

	return before ? 31 - (uint32_t) __clz((int) before) : PP_LFTJ_NONE;
}

/* Of a set of leaves, those to be counted once a level is bound. */
__device__ __forceinline__ uint32_t
pp_leaves_of(const PpLftjShape &shape, uint32_t leaves, uint32_t l)
{
	const uint32_t behind = shape.inner & ~((2u << l) - 1);
	const uint32_t there = leaves & ~((2u << l) - 1);

	if (l == shape.tail)
		return 0;
	return behind ? there & ((behind & (0 - behind)) - 1) : there;
}

/*
 * Opens a level, once those that it reads are bound: [cursor, limit) may be
 * empty.  first: the list that is to be the driver, or NONE.
 */
__device__ __forceinline__ void
pp_level_open(const PpDeviceStage &stage, const PpStack &s, uint32_t nlevels, uint32_t l,
			  uint32_t first, uint32_t *seeks)
{
	const PpStageLevel &level = stage.plan.level[l];
	const uint32_t end = level.first_list + level.nlists;
	uint32_t	low = 0;
	uint32_t	high = stage.nkeys;
	uint32_t	driver = PP_LFTJ_NONE;
	uint32_t	fewest = UINT32_MAX;
	uint32_t	cursor;
	uint32_t	limit;

	s.cursor(l) = 0;
	s.limit(l) = 0;
	pp_level_bounds(stage, level, s, &low, &high);
	for (uint32_t k = level.first_list; k < end; k++)
	{
		const PpStageList list = stage.plan.list[k];
		const PpDeviceTrie &trie = stage.trie[list.trie];
		uint32_t	from;
		uint32_t	to;

		pp_list_range(trie, list.loops, list.loops ? 0 : s.value(list.from), &from, &to);
		if (from == to)
			return;
		s.place(nlevels, k) = from;
		s.end(nlevels, k) = to;
		low = max(low, trie.list[from]);
		high = min(high, trie.list[to - 1] + 1);
	}
	if (low >= high)
		return;
	cursor = low;
	limit = high;
	for (uint32_t k = level.first_list; k < end; k++)
	{
		const uint32_t *list = stage.trie[stage.plan.list[k].trie].list;
		const uint32_t to = s.end(nlevels, k);
		uint32_t	at = s.place(nlevels, k);

		if (list[at] < low)
		{
			at = pp_lower_bound(list, at + 1, to, low);
			s.place(nlevels, k) = at;
			++*seeks;
		}
		if (k == first || (first == PP_LFTJ_NONE && to - at < fewest))
		{
			fewest = to - at;
			driver = k;
			cursor = at;
			limit = to;
		}
	}
	if (driver != PP_LFTJ_NONE)
	{
		const uint32_t *list = stage.trie[stage.plan.list[driver].trie].list;

		if (list[limit - 1] >= high)
		{
			limit = pp_lower_bound(list, cursor, limit, high);
			++*seeks;
		}
	}
	s.driver(l) = driver;
	s.cursor(l) = cursor;
	s.limit(l) = limit;
}

/*
 * Is candidate c of a level a value of it?  Then it is bound, and what its
 * entries' rows and its factors count goes to *count, which it multiplies.
 * values: those of earlier levels.  Moves the cursor to where the next
 * candidate can be.
 */
template <class Values>
__device__ __forceinline__ bool
pp_level_bind(const PpDeviceStage &stage, const PpStack &s, const Values &values,
			  uint32_t nlevels, uint32_t l, uint32_t c, uint64_t *count, uint32_t *seeks,
			  bool *overflow)
{
	const PpStageLevel &level = stage.plan.level[l];
	const uint32_t end = level.first_list + level.nlists;
	const uint32_t driver = s.driver(l);
	const uint32_t *own = driver == PP_LFTJ_NONE ? NULL :
		stage.trie[stage.plan.list[driver].trie].list;
	const uint32_t v = own ? own[c] : c;

	s.cursor(l) = c + 1;
	if (!pp_level_differs(stage, level, values, v))
		return false;
	for (uint32_t k = level.first_list; k < end; k++)
	{
		const uint32_t *list = stage.trie[stage.plan.list[k].trie].list;
		const uint32_t to = s.end(nlevels, k);
		uint32_t	at = c;

		if (k != driver)
		{
			at = pp_lower_bound(list, s.place(nlevels, k), to, v);
			++*seeks;
		}
		s.place(nlevels, k) = at;
		if (at == to)
		{
			s.cursor(l) = s.limit(l);
			return false;
		}
		if (k != driver && list[at] != v)
		{
			s.cursor(l) = own ? pp_gallop(own, c + 1, s.limit(l), list[at]) :
				min(list[at], s.limit(l));
			return false;
		}
	}
	if (!pp_level_begins(stage, level, v))
		return false;
	for (uint32_t k = level.first_list; k < end; k++)
	{
		const PpDeviceTrie &trie = stage.trie[stage.plan.list[k].trie];
		const uint32_t at = s.place(nlevels, k);

		if (trie.first)
			pp_count_multiply(count, trie.first[at + 1] - trie.first[at], overflow);
	}
	pp_level_factors(stage, level, v, count, overflow);
	s.value(l) = v;
	return true;
}

/*
 * What a leaf counts whose only list is open: rows of the entries that
 * comparisons leave.
 */
__device__ __forceinline__ uint32_t
pp_quick_count(const PpDeviceStage &stage, const PpStack &s, uint32_t l, uint32_t *seeks)
{
	const PpStageLevel &level = stage.plan.level[l];
	const PpDeviceTrie &trie = stage.trie[stage.plan.list[level.first_list].trie];
	const uint32_t from = s.cursor(l);
	const uint32_t to = s.limit(l);
	uint32_t	n;

	if (from >= to)
		return 0;
	n = pp_entry_rows(trie, from, to);
	for (uint32_t r = 0; r < level.nresiduals; r++)
	{
		const PpStageResidual residual = stage.plan.residual[level.first_residual + r];
		const uint32_t v = s.value(residual.level);
		bool		again = residual.op != PP_JOIN_NE;
		uint32_t	at;

		/* an earlier comparison has left it out */
		for (uint32_t q = 0; q < r; q++)
		{
			const PpStageResidual other = stage.plan.residual[level.first_residual + q];

			again |= other.op == PP_JOIN_NE && s.value(other.level) == v;
		}
		if (again)
			continue;
		at = pp_lower_bound(trie.list, from, to, v);
		++*seeks;
		if (at < to && trie.list[at] == v)
			n -= pp_entry_rows(trie, at, at + 1);
	}
	return n;
}

#endif							/* PP_JOIN_LFTJ_STACK_H */
