/*
 * cuda/join_lftj_fixed.cu
 *	  LFTJ-GPU for stages of frequent shapes, level by level: triangles, cliques
 *	  and cycles of four.  What a walker has on its stack is in registers here.
 *
 * The root's entries are items; their units, candidates of level 2, are handed
 * out a tile at a time, one or a few to a thread, so that lanes next to each
 * other have candidates next to each other.  The first steps of searches are in
 * shared memory: samples of all items, of the tile's items, and of one long list,
 * that which the item in the middle of the tile has to be searched in.  Where a
 * hub's entries fill a tile, the others have it as well.
 *
 * Owns no memory.
 */
#include "join_lftj.h"

#include <chrono>

namespace
{

constexpr uint32_t ALL = PP_JOIN_LANES;
constexpr uint32_t THREADS = 256;
constexpr uint32_t BLOCKS_PER_SM = 4;
constexpr uint32_t SAMPLES = THREADS;
constexpr uint32_t LONG_LIST = 4 * SAMPLES;	/* that is worth samples */
constexpr uint32_t TRIANGLE_UNITS = 8;	/* of a thread in a tile */
constexpr uint32_t LONG_UNIT = 2048;	/* candidates of level 3 that a thread does not go
										 * through alone */
constexpr uint32_t SECOND = UINT32_C(1) << 31;	/* in items.place */

/* Launches take about so long, where units' cost is not known. */
constexpr uint64_t FIRST_UNITS = UINT64_C(1) << 20;
constexpr double SHORT_LAUNCH = 0.008;
constexpr double LONG_LAUNCH = 0.030;

/* Values of levels 0 to 2. */
struct Values
{
	uint32_t	x;
	uint32_t	y;
	uint32_t	z;

	__device__ __forceinline__ uint32_t operator[](uint32_t l) const
	{
		return l == 0 ? x : l == 1 ? y : z;
	}
};

/* What is left of a list. */
struct Range
{
	const uint32_t *list;
	uint32_t	from;
	uint32_t	to;
};

__device__ __forceinline__ Range
range_of(const PpDeviceStage &stage, uint32_t k, const Values &values)
{
	const PpStageList list = stage.plan.list[k];
	const PpDeviceTrie &trie = stage.trie[list.trie];
	const uint32_t value = values[list.from];
	Range		r;

	r.list = trie.list;
	r.from = trie.start[value];
	r.to = trie.start[value + 1];
	return r;
}

/* Narrows [*low, *high) to what a list has, and leaves out what is below low; false: nothing. */
__device__ __forceinline__ bool
narrow(const Range &r, uint32_t *low, uint32_t *high)
{
	if (r.from == r.to)
		return false;
	*low = max(*low, r.list[r.from]);
	*high = min(*high, r.list[r.to - 1] + 1);
	return *low < *high;
}

__device__ __forceinline__ void
skip_below(Range *r, uint32_t low, uint32_t *seeks)
{
	if (r->list[r->from] >= low)
		return;
	r->from = pp_lower_bound(r->list, r->from + 1, r->to, low);
	++*seeks;
}

/* ---------- items ---------- */

struct CostShared
{
	PpDeviceStage stage;
	PpSumShared sums;
	uint32_t	key[2];			/* of the tile's first entry and of its last */
};

/* Units of entries; with FROM 3 level 2 has two lists, else one. */
template <uint32_t FROM>
__global__ void
__launch_bounds__(THREADS, BLOCKS_PER_SM)
fixed_cost_kernel(PpLftjJob job)
{
	PP_SHARED(CostShared, sh);
	PpWideSum	none = {0, 0};
	uint32_t	seeks = 0;
	const PpDeviceTrie *root;

	pp_stage_fetch(sh.stage, job.stage);
	__syncthreads();
	root = &sh.stage.trie[sh.stage.plan.list[job.shape.root].trie];
	for (uint32_t base = blockIdx.x * THREADS; base < job.items.n; base += gridDim.x * THREADS)
	{
		const uint32_t i = base + threadIdx.x;
		const uint32_t entry = job.items.first + i;

		if (threadIdx.x == 0 || threadIdx.x == 32)
			sh.key[threadIdx.x / 32] =
				pp_key_of(root->start, 0, sh.stage.nkeys, threadIdx.x == 0 ? entry :
						  job.items.first + min(base + THREADS, job.items.n) - 1);
		__syncthreads();
		if (i < job.items.n)
		{
			const PpStageLevel &level = sh.stage.plan.level[2];
			uint32_t	low = 0;
			uint32_t	high = sh.stage.nkeys;
			uint32_t	units = 0;
			uint32_t	place = 0;
			Values		v = {};

			v.x = pp_key_of(root->start, sh.key[0], sh.key[1] + 1, entry);
			v.y = root->list[entry];
			pp_level_bounds(sh.stage, sh.stage.plan.level[1], v, &low, &high);
			if (low <= v.y && v.y < high)
			{
				Range		a = range_of(sh.stage, level.first_list, v);
				Range		b = FROM == 3 ? range_of(sh.stage, level.first_list + 1, v) : a;

				low = 0;
				high = sh.stage.nkeys;
				pp_level_bounds(sh.stage, level, v, &low, &high);
				if (low < high && narrow(a, &low, &high) && narrow(b, &low, &high))
				{
					skip_below(&a, low, &seeks);
					if (FROM == 3)
						skip_below(&b, low, &seeks);
					if (FROM == 3 && b.to - b.from < a.to - a.from)
					{
						a = b;
						place = SECOND;
					}
					if (a.from < a.to && a.list[a.to - 1] >= high)
					{
						a.to = pp_lower_bound(a.list, a.from, a.to, high);
						seeks++;
					}
					place |= a.from;
					units = a.to - a.from;
				}
			}
			job.items.key[i] = v.x;
			job.items.place[i] = place;
			job.items.before[i] = units;
		}
		__syncthreads();
	}
	if (blockIdx.x == 0 && threadIdx.x == 0)
		job.items.before[job.items.n] = 0;
	pp_signal_sums(job.signals, sh.sums, none, seeks, false);
}

/* ---------- counting ---------- */

struct CountShared
{
	PpDeviceStage stage;
	PpSumShared sums;
	uint64_t	all[SAMPLES];	/* of before[]: number i * n / SAMPLES */
	uint64_t	near[SAMPLES];	/* of the tile's items */
	uint32_t	hot[SAMPLES];	/* of one list, in the same way */
	uint64_t	from;			/* the tile's units */
	uint64_t	to;
	uint32_t	first;			/* and items */
	uint32_t	last;
	Range		hot_list;
	uint32_t	stop;
	uint32_t	nlong;			/* units that are left to the block */
	Values		long_unit[THREADS];
};

/* The last item of [from, to) that does not begin behind a unit. */
__device__ __forceinline__ uint32_t
item_of(const uint64_t *before, uint32_t from, uint32_t to, uint64_t unit)
{
	while (to - from > 1)
	{
		const uint32_t middle = from + (to - from) / 2;

		if (before[middle] <= unit)
			from = middle;
		else
			to = middle;
	}
	return from;
}

/* The same, by samples of n items from first on, of which one at least is no greater. */
__device__ __forceinline__ uint32_t
item_by_samples(const uint64_t *before, const uint64_t *sample, uint32_t first, uint32_t n,
				uint64_t unit)
{
	uint32_t	low = 0;

	for (uint32_t step = SAMPLES / 2; step > 0; step /= 2)
		if (sample[low + step] <= unit)
			low += step;
	return item_of(before, first + (uint32_t) ((uint64_t) n * low / SAMPLES),
				   first + (uint32_t) ((uint64_t) n * (low + 1) / SAMPLES), unit);
}

/* pp_lower_bound() in what is left of a list, by samples if it is the one that has them. */
__device__ __forceinline__ uint32_t
seek(const CountShared &sh, const Range &r, uint32_t key, uint32_t *seeks)
{
	uint32_t	from = r.from;
	uint32_t	to = r.to;

	++*seeks;
	if (r.list == sh.hot_list.list && r.to == sh.hot_list.to)
	{
		const uint64_t n = sh.hot_list.to - sh.hot_list.from;
		uint32_t	low = 0;

		for (uint32_t step = SAMPLES / 2; step > 0; step /= 2)
			if (sh.hot[low + step] < key)
				low += step;
		to = max(from, sh.hot_list.from + (uint32_t) (n * (low + 1) / SAMPLES));
		from = max(from, sh.hot_list.from + (uint32_t) (n * low / SAMPLES));
	}
	return pp_lower_bound(r.list, from, to, key);
}

/* The next tile of the launch's units, its items, and the list for samples; the
 * whole block comes by. */
template <uint32_t DEEP>
__device__ __forceinline__ void
next_tile(const PpLftjJob &job, CountShared &sh, uint64_t from, uint64_t to, uint32_t size)
{
	if (threadIdx.x == 0)
	{
		const uint64_t tile = atomicAdd(&job.control->next, 1ull);

		sh.from = min(from + tile * size, to);
		sh.to = min(sh.from + size, to);
		sh.stop = pp_stopped(job.signals);
		sh.nlong = 0;
	}
	__syncthreads();
	if (sh.from < sh.to && (threadIdx.x == 0 || threadIdx.x == 32))
	{
		const uint32_t item = item_by_samples(job.items.before, sh.all, 0, job.items.n,
											  threadIdx.x == 0 ? sh.from : sh.to - 1);

		if (threadIdx.x == 0)
			sh.first = item;
		else
			sh.last = item;
	}
	__syncthreads();
	if (sh.from >= sh.to)
		return;
	sh.near[threadIdx.x] =
		job.items.before[sh.first + (uint64_t) (sh.last + 1 - sh.first) * threadIdx.x / SAMPLES];
	if (threadIdx.x == 0)
	{
		const PpStageLevel &level = sh.stage.plan.level[DEEP];
		const uint32_t middle = sh.first + (sh.last - sh.first) / 2;
		Values		v = {};

		v.x = job.items.key[middle];
		v.y = sh.stage.trie[sh.stage.plan.list[job.shape.root].trie].list[job.items.first + middle];
		sh.hot_list.list = NULL;
		/* which list is searched is known of level 2; of level 3, one that does not change */
		if (DEEP == 2)
			sh.hot_list = range_of(sh.stage, level.first_list + 1 - job.items.place[middle] / SECOND,
								   v);
		else
			for (uint32_t k = level.first_list; k < (uint32_t) level.first_list + level.nlists; k++)
				if (sh.stage.plan.list[k].from == 0)
					sh.hot_list = range_of(sh.stage, k, v);
		if (sh.hot_list.list && sh.hot_list.to - sh.hot_list.from < LONG_LIST)
			sh.hot_list.list = NULL;
	}
	__syncthreads();
	if (sh.hot_list.list)
		sh.hot[threadIdx.x] = sh.hot_list.list[sh.hot_list.from +
											   (uint64_t) (sh.hot_list.to - sh.hot_list.from) *
											   threadIdx.x / SAMPLES];
	__syncthreads();
}

__device__ __forceinline__ void
put_shorter_first(Range *a, Range *b)
{
	if (b->to - b->from < a->to - a->from)
	{
		const Range r = *a;

		*a = *b;
		*b = r;
	}
}

/*
 * Values of level 3, of N lists, in one of so many slices; all of them: if they are
 * too many for a thread, *too_long is set instead.
 */
template <uint32_t N>
__device__ __forceinline__ uint32_t
count_last(const CountShared &sh, const Values &v, uint32_t slice, uint32_t nslices,
		   bool *too_long, uint32_t *seeks)
{
	const PpStageLevel &level = sh.stage.plan.level[3];
	uint32_t	low = 0;
	uint32_t	high = sh.stage.nkeys;
	uint32_t	n = 0;
	Range		a = range_of(sh.stage, level.first_list, v);
	Range		b = range_of(sh.stage, level.first_list + 1, v);
	Range		c = N > 2 ? range_of(sh.stage, level.first_list + 2, v) : a;

	pp_level_bounds(sh.stage, level, v, &low, &high);
	if (low >= high || !narrow(a, &low, &high) || !narrow(b, &low, &high) ||
		!narrow(c, &low, &high))
		return 0;
	put_shorter_first(&a, &b);
	if (N > 2)
		put_shorter_first(&a, &c);
	skip_below(&a, low, seeks);
	if (nslices == 1)
	{
		*too_long = a.to - a.from > LONG_UNIT;
		if (*too_long)
			return 0;
	}
	else
	{
		const uint64_t all = a.to - a.from;

		a.to = a.from + (uint32_t) (all * (slice + 1) / nslices);
		a.from += (uint32_t) (all * slice / nslices);
	}
	while (a.from < a.to)
	{
		const uint32_t key = a.list[a.from];
		uint32_t	beyond;

		if (key >= high)
			break;
		b.from = seek(sh, b, key, seeks);
		if (b.from == b.to)
			break;
		beyond = b.list[b.from];
		if (N > 2 && beyond == key)
		{
			c.from = seek(sh, c, key, seeks);
			if (c.from == c.to)
				break;
			beyond = c.list[c.from];
		}
		n += beyond == key;
		a.from = pp_gallop(a.list, a.from + 1, a.to, beyond);
	}
	return n;
}

/* Counts of one value of level 0 by all lanes, or each by itself. */
__device__ __forceinline__ void
put_values(const PpLftjJob &job, uint32_t key, uint64_t count, bool *overflow)
{
	const uint32_t first = __shfl_sync(ALL, key, 0);

	if (__all_sync(ALL, key == first))
	{
		for (uint32_t d = 16; d > 0; d /= 2)
		{
			const uint64_t other = __shfl_down_sync(ALL, count, d);

			count += other;
		}
		if (threadIdx.x % 32 != 0)
			count = 0;
	}
	if (count > 0)
		pp_value_add(&job.out[key], count, overflow);
}

/*
 * Units [from, to): level 2 reads levels by the bits of TWO, level 3, if there is
 * one, by those of THREE.
 */
template <uint32_t TWO, uint32_t THREE>
__global__ void
__launch_bounds__(THREADS, BLOCKS_PER_SM)
fixed_count_kernel(PpLftjJob job, uint64_t from, uint64_t to)
{
	constexpr uint32_t UNITS = THREE == 0 ? TRIANGLE_UNITS : 1;
	constexpr uint32_t LISTS = THREE == 7 ? 3 : 2;
	PP_SHARED(CountShared, sh);
	PpWideSum	total = {0, 0};
	uint32_t	seeks = 0;
	bool		overflow = false;

	pp_stage_fetch(sh.stage, job.stage);
	sh.all[threadIdx.x] = job.items.before[(uint64_t) job.items.n * threadIdx.x / SAMPLES];
	__syncthreads();
	for (;;)
	{
		uint64_t	count = 0;
		uint32_t	key = 0;

		next_tile<THREE == 0 ? 2 : 3>(job, sh, from, to, THREADS * UNITS);
		if (sh.from >= sh.to || sh.stop)
			break;
		for (uint32_t u = 0; u < UNITS; u++)
		{
			const uint64_t unit = sh.from + u * THREADS + threadIdx.x;
			const PpStageLevel &level = sh.stage.plan.level[2];
			uint32_t	n = 1;
			uint32_t	item;
			uint32_t	place;
			Values		v;

			if (unit >= sh.to)
				break;
			item = item_by_samples(job.items.before, sh.near, sh.first, sh.last + 1 - sh.first,
								   unit);
			place = job.items.place[item];
			v.x = job.items.key[item];
			v.y = sh.stage.trie[sh.stage.plan.list[job.shape.root].trie]
				.list[job.items.first + item];
			v.z = sh.stage.trie[sh.stage.plan.list[level.first_list + place / SECOND].trie]
				.list[(place & ~SECOND) + (uint32_t) (unit - job.items.before[item])];
			if (TWO == 3)
			{
				const Range other = range_of(sh.stage, level.first_list + 1 - place / SECOND, v);
				const uint32_t at = seek(sh, other, v.z, &seeks);

				n = at < other.to && other.list[at] == v.z;
			}
			if (THREE != 0 && n != 0)
			{
				bool		too_long = false;

				n = count_last<LISTS>(sh, v, 0, 1, &too_long, &seeks);
				if (too_long)
					sh.long_unit[atomicAdd(&sh.nlong, 1u)] = v;
			}
			if (job.out && v.x != key)
			{
				if (count > 0)
					pp_value_add(&job.out[key], count, &overflow);
				key = v.x;
				count = 0;
			}
			count += n;
		}
		if (job.out)
			put_values(job, key, count, &overflow);
		else
			pp_wide_add(&total, count, 0);
		__syncthreads();
		for (uint32_t i = 0; THREE != 0 && i < sh.nlong; i++)
		{
			const Values v = sh.long_unit[i];
			const uint32_t n = count_last<LISTS>(sh, v, threadIdx.x, THREADS, NULL, &seeks);

			if (job.out && n > 0)
				pp_value_add(&job.out[v.x], n, &overflow);
			else
				pp_wide_add(&total, n, 0);
		}
		__syncthreads();
	}
	pp_signal_sums(job.signals, sh.sums, total, seeks, overflow);
}

/* ---------- which stages ---------- */

/* The levels that a level reads, as bits; false: not by one list each. */
bool
reads(const PpStage *stage, uint32_t l, uint32_t *levels)
{
	const PpStageLevel *level = &stage->level[l];

	*levels = 0;
	for (uint32_t k = level->first_list; k < (uint32_t) level->first_list + level->nlists; k++)
	{
		if (stage->list[k].loops || (*levels >> stage->list[k].from & 1))
			return false;
		*levels |= 1u << stage->list[k].from;
	}
	return true;
}

/* Is a trie read by a later level at this one's value, so that it does not have
 * to be looked at before? */
bool
is_read(const PpStage *stage, uint32_t l, uint32_t trie)
{
	for (uint32_t later = l + 1; later < stage->nlevels; later++)
	{
		const PpStageLevel *level = &stage->level[later];

		for (uint32_t k = level->first_list; k < (uint32_t) level->first_list + level->nlists; k++)
			if (!stage->list[k].loops && stage->list[k].from == l && stage->list[k].trie == trie)
				return true;
	}
	return false;
}

}								/* namespace */

PpLftjFixed
pp_lftj_fixed(const PpDeviceJoin *join, const PpStage *stage, const PpLftjShape *shape)
{
	uint32_t	levels[4] = {};

	if (shape->split != 2 || shape->nlevels < 3 || shape->nlevels > 4 || shape->quick ||
		shape->slow)
		return PP_LFTJ_ANY;
	for (uint32_t l = 0; l < shape->nlevels; l++)
	{
		const PpStageLevel *level = &stage->level[l];

		if (level->nfactors > 0 || !reads(stage, l, &levels[l]))
			return PP_LFTJ_ANY;
		for (uint32_t h = 0; h < level->nheads; h++)
			if (!is_read(stage, l, stage->head[level->first_head + h]))
				return PP_LFTJ_ANY;
		for (uint32_t r = 0; r < level->nresiduals; r++)
			if (stage->residual[level->first_residual + r].op == PP_JOIN_NE)
				return PP_LFTJ_ANY;
		for (uint32_t k = level->first_list; k < (uint32_t) level->first_list + level->nlists; k++)
			if (join->trie[stage->list[k].trie].first)
				return PP_LFTJ_ANY;
	}
	if (levels[0] != 0 || levels[1] != 1)
		return PP_LFTJ_ANY;
	if (shape->nlevels == 3)
		return levels[2] == 3 ? PP_LFTJ_TRIANGLE : PP_LFTJ_ANY;
	if (levels[2] == 3 && levels[3] == 7)
		return PP_LFTJ_CLIQUE;
	if (levels[2] == 2 && levels[3] == 5)
		return PP_LFTJ_CYCLE;
	return levels[2] == 1 && levels[3] == 6 ? PP_LFTJ_OTHER_CYCLE : PP_LFTJ_ANY;
}

PpJoinStatus
pp_lftj_fixed_cost(PpDeviceJoin *join, const PpLftjJob *job, PpLftjFixed fixed)
{
	uint32_t	blocks;
	PpJoinStatus status = pp_lftj_blocks(THREADS, job->items.n, &blocks);

	if (status != PP_JOIN_OK)
		return status;
	if (fixed == PP_LFTJ_TRIANGLE || fixed == PP_LFTJ_CLIQUE)
		PP_LAUNCH(fixed_cost_kernel<3>, blocks, THREADS, 0, join->stream, *job);
	else
		PP_LAUNCH(fixed_cost_kernel<1>, blocks, THREADS, 0, join->stream, *job);
	return pp_join_launched(join, "lftj_fixed_cost");
}

namespace
{

PpJoinStatus
launch(PpDeviceJoin *join, const PpLftjJob *job, PpLftjFixed fixed, uint64_t from, uint64_t to)
{
	uint32_t	blocks;
	PpJoinStatus status = pp_lftj_blocks(THREADS, to - from, &blocks);

	if (status == PP_JOIN_OK)
		status = pp_join_clear(join, job->control, sizeof(PpLftjControl));
	if (status != PP_JOIN_OK)
		return status;
	switch (fixed)
	{
		case PP_LFTJ_TRIANGLE:
			PP_LAUNCH((fixed_count_kernel<3, 0>), blocks, THREADS, 0, join->stream, *job, from, to);
			break;
		case PP_LFTJ_CLIQUE:
			PP_LAUNCH((fixed_count_kernel<3, 7>), blocks, THREADS, 0, join->stream, *job, from, to);
			break;
		case PP_LFTJ_CYCLE:
			PP_LAUNCH((fixed_count_kernel<2, 5>), blocks, THREADS, 0, join->stream, *job, from, to);
			break;
		default:
			PP_LAUNCH((fixed_count_kernel<1, 6>), blocks, THREADS, 0, join->stream, *job, from, to);
			break;
	}
	return pp_join_launched(join, "lftj_fixed_count");
}

}								/* namespace */

PpJoinStatus
pp_lftj_fixed_count(PpDeviceJoin *join, const PpLftjJob *job, const PpLftjMemory *memory,
					PpLftjFixed fixed)
{
	const bool	deep = fixed != PP_LFTJ_TRIANGLE;
	uint64_t	most = deep && pp_lftj_limits.units > FIRST_UNITS ? FIRST_UNITS :
		pp_lftj_limits.units;
	uint64_t	units = 0;
	PpJoinStatus status = pp_join_copy(join, memory->report.p, job->items.before + job->items.n,
									   sizeof(uint64_t), cudaMemcpyDeviceToHost);

	if (status == PP_JOIN_OK)
		status = pp_join_wait(join);
	if (status == PP_JOIN_OK)
		units = *reinterpret_cast<const uint64_t *>(memory->report.p);
	for (uint64_t from = 0; from < units && status == PP_JOIN_OK;)
	{
		const uint64_t n = units - from < most ? units - from : most;
		const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
		double		seconds;

		status = launch(join, job, fixed, from, from + n);
		if (status == PP_JOIN_OK)
			status = pp_join_wait(join);
		seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
		if (deep && seconds < SHORT_LAUNCH && most < pp_lftj_limits.units)
			most *= 2;
		else if (deep && seconds > LONG_LAUNCH && most > THREADS)
			most /= 2;
		from += n;
	}
	return status;
}
