/*
 * cuda/join_device.h
 *	  What kernels of the join's algorithms share: a stage in shared memory,
 *	  bounds of a level, searches in lists, what entries count, sums that leave
 *	  a block.
 *
 * Reads tries and stages only; writes nothing but PpJoinSignals, in
 * pp_signal_sums().  Values of earlier levels are handed over as anything that
 * has operator[] by level.
 */
#ifndef PP_JOIN_DEVICE_H
#define PP_JOIN_DEVICE_H

#include "join.h"

#define PP_JOIN_LANES	0xffffffffu

/*
 * Copies a stage to shared memory; all threads of a block come by, and need a
 * barrier behind it.
 */
__device__ __forceinline__ void
pp_stage_fetch(PpDeviceStage &to, const PpDeviceStage *from)
{
	for (uint32_t i = threadIdx.x; i < PP_JOIN_MAX_ATOMS; i += blockDim.x)
	{
		to.trie[i] = from->trie[i];
		to.plan.list[i] = from->plan.list[i];
		to.plan.head[i] = from->plan.head[i];
		to.plan.residual[i] = from->plan.residual[i];
		if (i < PP_JOIN_MAX_VARIABLES)
		{
			to.plan.level[i] = from->plan.level[i];
			to.factor[i] = from->factor[i];
		}
	}
	if (threadIdx.x == 0)
	{
		to.plan.nlevels = from->plan.nlevels;
		to.plan.by_value = from->plan.by_value;
		to.nkeys = from->nkeys;
	}
}

/* ---------- searches ---------- */

/* The first place of [from, to) whose entry is key or more; to: there is none. */
__device__ __forceinline__ uint32_t
pp_lower_bound(const uint32_t *list, uint32_t from, uint32_t to, uint32_t key)
{
	while (from < to)
	{
		const uint32_t middle = from + (to - from) / 2;

		if (list[middle] < key)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The same where the answer is expected near from. */
__device__ __forceinline__ uint32_t
pp_gallop(const uint32_t *list, uint32_t from, uint32_t to, uint32_t key)
{
	uint32_t	step = 1;

	while (from < to && list[from] < key)
	{
		from++;
		if (step >= to - from || list[from + step - 1] >= key)
			return pp_lower_bound(list, from, step < to - from ? from + step - 1 : to, key);
		from += step - 1;
		step *= 2;
	}
	return from;
}

/* The key in [from, to) whose list has entry number entry: some has. */
__device__ __forceinline__ uint32_t
pp_key_of(const uint32_t *start, uint32_t from, uint32_t to, uint32_t entry)
{
	while (to - from > 1)
	{
		const uint32_t middle = from + (to - from) / 2;

		if (start[middle] <= entry)
			from = middle;
		else
			to = middle;
	}
	return from;
}

/* The entries of a list where the level that it comes from has that value. */
__device__ __forceinline__ void
pp_list_range(const PpDeviceTrie &trie, bool loops, uint32_t value, uint32_t *from, uint32_t *to)
{
	*from = loops ? 0 : trie.start[value];
	*to = loops ? trie.nentries : trie.start[value + 1];
}

/* ---------- what a level allows ---------- */

/* Narrows [*low, *high) to what comparisons with earlier levels' values allow;
 * those that values shall differ are for pp_level_differs(). */
template <class Values>
__device__ __forceinline__ void
pp_level_bounds(const PpDeviceStage &stage, const PpStageLevel &level, const Values &values,
				uint32_t *low, uint32_t *high)
{
	for (uint32_t r = 0; r < level.nresiduals; r++)
	{
		const PpStageResidual residual = stage.plan.residual[level.first_residual + r];
		const uint32_t other = values[residual.level];

		if (residual.op == PP_JOIN_LT)
			*high = min(*high, other);
		else if (residual.op == PP_JOIN_LE)
			*high = min(*high, other + 1);
		else if (residual.op == PP_JOIN_GT)
			*low = max(*low, other + 1);
		else if (residual.op == PP_JOIN_GE)
			*low = max(*low, other);
	}
}

/* Does v differ from all values that it shall differ from? */
template <class Values>
__device__ __forceinline__ bool
pp_level_differs(const PpDeviceStage &stage, const PpStageLevel &level, const Values &values,
				 uint32_t v)
{
	bool		differs = true;

	for (uint32_t r = 0; r < level.nresiduals; r++)
	{
		const PpStageResidual residual = stage.plan.residual[level.first_residual + r];

		if (residual.op == PP_JOIN_NE)
			differs &= values[residual.level] != v;
	}
	return differs;
}

/* Has v a list in each of the level's heads? */
__device__ __forceinline__ bool
pp_level_begins(const PpDeviceStage &stage, const PpStageLevel &level, uint32_t v)
{
	for (uint32_t h = 0; h < level.nheads; h++)
	{
		const uint32_t *start = stage.trie[stage.plan.head[level.first_head + h]].start;

		if (start[v] == start[v + 1])
			return false;
	}
	return true;
}

/* ---------- what entries and values count ---------- */

/* Rows of an entry, or of entries [from, to). */
__device__ __forceinline__ uint32_t
pp_entry_rows(const PpDeviceTrie &trie, uint32_t from, uint32_t to)
{
	return trie.first ? trie.first[to] - trie.first[from] : to - from;
}

/* *count times by; of more than 64 bits: it is void, and *overflow is set. */
__device__ __forceinline__ void
pp_count_multiply(uint64_t *count, uint64_t by, bool *overflow)
{
	*overflow |= __umul64hi(*count, by) != 0;
	*count *= by;
}

/* The product of a value's factors at a level goes to *count. */
__device__ __forceinline__ void
pp_level_factors(const PpDeviceStage &stage, const PpStageLevel &level, uint32_t v,
				 uint64_t *count, bool *overflow)
{
	for (uint32_t f = 0; f < level.nfactors; f++)
		pp_count_multiply(count, stage.factor[level.factor[f]][v], overflow);
}

/* ---------- sums ---------- */

/* A sum of 128 bits. */
typedef struct PpWideSum
{
	uint64_t	low;
	uint64_t	high;
} PpWideSum;

__device__ __forceinline__ void
pp_wide_add(PpWideSum *sum, uint64_t low, uint64_t high)
{
	sum->low += low;
	sum->high += high + (sum->low < low);
}

/* For each warp of a block, in shared memory. */
typedef struct PpSumShared
{
	PpWideSum	sum[32];
	uint64_t	seeks[32];
	uint32_t	overflow[32];
} PpSumShared;

/*
 * Adds what the threads of a block have summed up to the signals: sum to total
 * and seeks; overflow is set if one of them says so.  All threads of the block
 * come by, once a kernel.
 */
__device__ __forceinline__ void
pp_signal_sums(PpJoinSignals *signals, PpSumShared &sh, PpWideSum sum, uint64_t seeks,
			   bool overflow)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t warp = threadIdx.x / 32;
	const uint32_t overflows = __ballot_sync(PP_JOIN_LANES, overflow);

	for (uint32_t d = 16; d > 0; d /= 2)
	{
		const uint64_t low = __shfl_down_sync(PP_JOIN_LANES, sum.low, d);
		const uint64_t high = __shfl_down_sync(PP_JOIN_LANES, sum.high, d);

		seeks += __shfl_down_sync(PP_JOIN_LANES, seeks, d);
		pp_wide_add(&sum, low, high);
	}
	if (lane == 0)
	{
		sh.sum[warp] = sum;
		sh.seeks[warp] = seeks;
		sh.overflow[warp] = overflows;
	}
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	for (uint32_t w = 1; w < (blockDim.x + 31) / 32; w++)
	{
		pp_wide_add(&sum, sh.sum[w].low, sh.sum[w].high);
		seeks += sh.seeks[w];
		overflow |= sh.overflow[w] != 0;
	}
	overflow |= overflows != 0;
	if (overflow)
		atomicOr(&signals->overflow, 1u);
	if (seeks > 0)
		atomicAdd(reinterpret_cast<unsigned long long *>(&signals->seeks),
				  (unsigned long long) seeks);
	if (sum.low != 0 || sum.high != 0)
	{
		const uint64_t before = atomicAdd(reinterpret_cast<unsigned long long *>(&signals->total[0]),
										  (unsigned long long) sum.low);

		/* every carry out of the lower half is seen by the one who makes it */
		atomicAdd(reinterpret_cast<unsigned long long *>(&signals->total[1]),
				  (unsigned long long) (sum.high + (before + sum.low < before)));
	}
}

/* Adds to the count of a value; of more than 64 bits: *overflow is set. */
__device__ __forceinline__ void
pp_value_add(uint64_t *out, uint64_t count, bool *overflow)
{
	const uint64_t before = atomicAdd(reinterpret_cast<unsigned long long *>(out),
									  (unsigned long long) count);

	*overflow |= before + count < before;
}

/* Does the host want the kernel to end? */
__device__ __forceinline__ bool
pp_stopped(PpJoinSignals *signals)
{
	return pp_load_acquire(&signals->stop) != 0;
}

#endif							/* PP_JOIN_DEVICE_H */
