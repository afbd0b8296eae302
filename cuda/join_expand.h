/*
 * cuda/join_expand.h
 *	  Load balancing for joins that go breadth first: entries with lists of very
 *	  different lengths are cut into tiles of the same number of items.
 *
 * Each entry has a left list, whose items are candidates, and may have a right
 * one to intersect it with.  Its items are the entry itself, then those of both
 * lists, merged, the left one's first where they are equal.  All entries' items
 * one after another are cut into tiles: where a tile begins is found by a
 * binary search over the sums of lengths in front of each entry, and one along
 * the merge path of its lists (Odeh, Green, Birk: Merge Path, 2012; Baxter:
 * ModernGPU, load-balancing search).  So no thread has more than its share,
 * whether entries are many and empty or one of them is a hub.
 *
 * Device functions only; nothing here knows levels or tries.
 */
#ifndef PP_JOIN_EXPAND_H
#define PP_JOIN_EXPAND_H

#include "device.h"

#define PP_EXPAND_THREADS	256u
#define PP_EXPAND_WARPS		(PP_EXPAND_THREADS / 32)
#define PP_EXPAND_SHARE		8u	/* items of a thread, at most */
#define PP_EXPAND_TILE		(PP_EXPAND_THREADS * PP_EXPAND_SHARE)

/* Where a tile begins: so many entries, left items and right items are in front. */
typedef struct PpExpandPoint
{
	uint64_t	left;
	uint64_t	right;
	uint32_t	entries;
	uint32_t	unused;
} PpExpandPoint;

/*
 * The last of entries 0 .. n in front of which there are at most d items;
 * right NULL: there are no right lists.
 */
static __device__ __forceinline__ uint32_t
pp_expand_entry(const uint64_t *left, const uint64_t *right, uint32_t n, uint64_t d)
{
	uint32_t	from = 0;
	uint32_t	to = n;

	while (from < to)
	{
		const uint32_t middle = to - (to - from) / 2;

		if (middle + left[middle] + (right != nullptr ? right[middle] : 0) <= d)
			from = middle;
		else
			to = middle - 1;
	}
	return from;
}

/* Of the first d items of two merged lists, those of the left one. */
static __device__ __forceinline__ uint32_t
pp_merge_path(const uint32_t *left, uint32_t nleft, const uint32_t *right, uint32_t nright,
			  uint32_t d)
{
	uint32_t	from = d > nright ? d - nright : 0;
	uint32_t	to = d < nleft ? d : nleft;

	while (from < to)
	{
		const uint32_t middle = from + (to - from) / 2;

		if (left[middle] <= right[d - 1 - middle])
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/*
 * In a tile, items carry the number of their entry there, as tags: a left item
 * has 2 * entry, plus 1 if its entry has a right list, a right item
 * PP_EXPAND_RIGHT besides.  Tags ascend from item to item.
 */
#define PP_EXPAND_RIGHT		0x2000u
#define PP_EXPAND_TAG		(PP_EXPAND_RIGHT - 1)

static_assert(2 * (PP_EXPAND_TILE + 1) + 1 < PP_EXPAND_RIGHT, "an entry's number fits");

struct PpExpandScan
{
	uint32_t	warp[PP_EXPAND_WARPS];
};

/*
 * Where only an entry's first item has its tag, and all others have zero, gives
 * each item that of the last one in front of it.  All threads of a block call
 * it, behind a barrier, and have one behind it.
 */
static __device__ __forceinline__ void
pp_expand_tags(uint16_t (&tag)[PP_EXPAND_TILE + 8], PpExpandScan &scan)
{
	const uint32_t first = threadIdx.x * PP_EXPAND_SHARE;
	const uint32_t lane = threadIdx.x % 32;
	const uint4 eight = pp_load16(&tag[first]);
	uint32_t	v0 = eight.x & 0xffffu;
	uint32_t	v1 = max(v0, eight.x >> 16);
	uint32_t	v2 = max(v1, eight.y & 0xffffu);
	uint32_t	v3 = max(v2, eight.y >> 16);
	uint32_t	v4 = max(v3, eight.z & 0xffffu);
	uint32_t	v5 = max(v4, eight.z >> 16);
	uint32_t	v6 = max(v5, eight.w & 0xffffu);
	uint32_t	v7 = max(v6, eight.w >> 16);
	uint32_t	all = v7;
	uint32_t	before;

	for (uint32_t d = 1; d < 32; d *= 2)
	{
		const uint32_t other = __shfl_up_sync(0xffffffffu, all, d);

		if (lane >= d)
			all = max(all, other);
	}
	before = __shfl_up_sync(0xffffffffu, all, 1);
	if (lane == 0)
		before = 0;
	if (lane == 31)
		scan.warp[threadIdx.x / 32] = all;
	__syncthreads();
	for (uint32_t w = 0; w < threadIdx.x / 32; w++)
		before = max(before, scan.warp[w]);
	tag[first] = (uint16_t) max(before, v0);
	tag[first + 1] = (uint16_t) max(before, v1);
	tag[first + 2] = (uint16_t) max(before, v2);
	tag[first + 3] = (uint16_t) max(before, v3);
	tag[first + 4] = (uint16_t) max(before, v4);
	tag[first + 5] = (uint16_t) max(before, v5);
	tag[first + 6] = (uint16_t) max(before, v6);
	tag[first + 7] = (uint16_t) max(before, v7);
}

/*
 * Which of a tile's items are kept, item row * THREADS + thread being this
 * thread's in each row, and where each goes.
 */
struct PpExpandKept
{
	uint32_t	before[PP_EXPAND_SHARE * PP_EXPAND_WARPS];	/* kept in front of each
															 * row's warps */
	uint32_t	total;
};

/*
 * Counts what is kept: bit r of kept is this thread's item in row r.  All
 * threads of a block call it; it ends with a barrier.
 */
static __device__ __forceinline__ void
pp_expand_count(PpExpandKept &sh, uint32_t kept, uint32_t rows)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t warp = threadIdx.x / 32;

	for (uint32_t r = 0; r < PP_EXPAND_SHARE; r++)
	{
		const uint32_t votes = r < rows ? __ballot_sync(0xffffffffu, kept >> r & 1) : 0;

		if (lane == 0)
			sh.before[r * PP_EXPAND_WARPS + warp] = __popc(votes);
	}
	__syncthreads();
	if (warp == 0)
	{
		const uint32_t a = sh.before[2 * lane];
		const uint32_t b = sh.before[2 * lane + 1];
		uint32_t	sum = a + b;

		for (uint32_t d = 1; d < 32; d *= 2)
		{
			const uint32_t other = __shfl_up_sync(0xffffffffu, sum, d);

			if (lane >= d)
				sum += other;
		}
		sh.before[2 * lane] = sum - a - b;
		sh.before[2 * lane + 1] = sum - b;
		if (lane == 31)
			sh.total = sum;
	}
	__syncthreads();
}

static_assert(PP_EXPAND_SHARE * PP_EXPAND_WARPS == 64, "two counts to a lane");

/* The place of this thread's item in row r among those kept; all lanes call it. */
static __device__ __forceinline__ uint32_t
pp_expand_place(const PpExpandKept &sh, uint32_t kept, uint32_t r)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t votes = __ballot_sync(0xffffffffu, kept >> r & 1);

	return sh.before[r * PP_EXPAND_WARPS + threadIdx.x / 32] + __popc(votes & ((1u << lane) - 1));
}

/*
 * A chained scan of counts over tiles (Merrill and Garland: decoupled
 * look-back).  Words are zero at first; tiles take their numbers from an atomic
 * counter, so that those that are waited for are at work.
 */
#define PP_CHAIN_OWN		1u	/* what the tile alone has */
#define PP_CHAIN_ALL		2u	/* with all in front of it */
#define PP_CHAIN_BITS		2

/* The sum of all tiles in front; the whole warp calls it. */
static __device__ __forceinline__ uint32_t
pp_chain_sum(uint32_t *word, uint32_t tile, uint32_t own)
{
	const uint32_t lane = threadIdx.x % 32;
	uint32_t	sum = 0;

	if (lane == 0)
		pp_store_release(&word[tile], own << PP_CHAIN_BITS |
						 (tile == 0 ? PP_CHAIN_ALL : PP_CHAIN_OWN));
	for (uint32_t at = tile; at > 0; at = at > 32 ? at - 32 : 0)
	{
		uint32_t	w = PP_CHAIN_ALL;
		uint32_t	known;
		uint32_t	part;

		if (lane < at)
			while ((w = pp_load_acquire(&word[at - 1 - lane])) == 0)
				pp_pause();
		known = __ballot_sync(0xffffffffu, (w & PP_CHAIN_ALL) != 0);
		part = known == 0 || lane <= (uint32_t) __ffs((int) known) - 1 ? w >> PP_CHAIN_BITS : 0;
		for (uint32_t d = 16; d > 0; d /= 2)
			part += __shfl_xor_sync(0xffffffffu, part, d);
		sum += part;
		if (known != 0)
			break;
	}
	if (lane == 0 && tile > 0)
		pp_store_release(&word[tile], (sum + own) << PP_CHAIN_BITS | PP_CHAIN_ALL);
	return sum;
}

/* Tells the tiles behind that so much is in front of them, whatever is. */
static __device__ __forceinline__ void
pp_chain_end(uint32_t *word, uint32_t tile, uint32_t sum)
{
	pp_store_release(&word[tile], sum << PP_CHAIN_BITS | PP_CHAIN_ALL);
}

#endif							/* PP_JOIN_EXPAND_H */
