/*
 * cuda/join_frontier.cu
 *	  Kernels of GPU-Optimized: lists of a frontier's entries are opened,
 *	  intersected tile by tile, and what is left becomes the next frontier or is
 *	  counted; rows of the last one.
 *
 * Owns no memory and never waits; join_optimized.cu says what is to be done when.
 */
#include "join_optimized.h"

#include "join_device.h"

namespace
{

constexpr uint32_t THREADS = PP_EXPAND_THREADS;
constexpr uint32_t BLOCKS_PER_SM = 5;	/* at least: 48 registers to a thread */

/* A left item without its like in the right list. */
constexpr uint32_t NO_MATE = 0xffffu;

/* How much longer the second list is than the first if seeking in it beats merging. */
constexpr uint32_t UNEQUAL = 8;

/* ---------- device functions ---------- */

/* Copies bytes from .. to of a level; all threads of a block call it. */
__device__ __forceinline__ void
copy_part(PpFrontLevel &to_level, const PpFrontLevel *from_level, uint32_t from, uint32_t to)
{
	uint32_t   *out = reinterpret_cast<uint32_t *>(&to_level);
	const uint32_t *in = reinterpret_cast<const uint32_t *>(from_level);

	for (uint32_t i = from / 4 + threadIdx.x; i < to / 4; i += THREADS)
		out[i] = in[i];
}

/* Takes a barrier to be there. */
__device__ __forceinline__ void
copy_level(PpFrontLevel &lv, const PpFrontLevel *from)
{
	copy_part(lv, from, 0, offsetof(PpFrontLevel, head) + from->nheads * sizeof(lv.head[0]));
	copy_part(lv, from, offsetof(PpFrontLevel, list),
			  offsetof(PpFrontLevel, list) + from->nlists * sizeof(lv.list[0]));
}

__device__ __forceinline__ uint64_t
add(uint64_t a, uint64_t b, bool *overflow)
{
	*overflow |= a + b < a;
	return a + b;
}

/* An entry's list number k, as places in it. */
__device__ __forceinline__ void
open_list(const PpFrontLevel &lv, uint32_t k, uint32_t e, uint32_t *from, uint32_t *to)
{
	const PpFrontList &list = lv.list[k];

	if (list.start == nullptr)
	{
		*from = 0;
		*to = list.nentries;
	}
	else
	{
		const uint32_t x = lv.in[list.from][e];

		*from = list.start[x];
		*to = list.start[x + 1];
	}
}

/* The values that an entry's comparisons leave: [low, high). */
__device__ __forceinline__ void
bound_values(const PpFrontLevel &lv, uint32_t e, uint32_t *low, uint32_t *high)
{
	*low = 0;
	*high = lv.nkeys;
	for (uint32_t r = 0; r < lv.nresiduals; r++)
	{
		const uint32_t other = lv.in[lv.residual[r].level][e];

		switch (lv.residual[r].op)
		{
			case PP_JOIN_LT:
				*high = min(*high, other);
				break;
			case PP_JOIN_LE:
				*high = min(*high, other + 1);
				break;
			case PP_JOIN_GT:
				*low = max(*low, other + 1);
				break;
			case PP_JOIN_GE:
				*low = max(*low, other);
				break;
			default:
				break;
		}
	}
}

/* Cuts places from .. to of a list down to the values [low, high). */
__device__ __forceinline__ void
cut_list(const PpFrontLevel &lv, const uint32_t *list, uint32_t low, uint32_t high, uint32_t *from,
		 uint32_t *to, uint32_t *seeks)
{
	if (low > 0 && *from < *to)
	{
		*from = pp_lower_bound(list, *from, *to, low);
		++*seeks;
	}
	if (high < lv.nkeys && *from < *to)
	{
		*to = pp_lower_bound(list, *from, *to, high);
		++*seeks;
	}
}

/* A candidate: value of an entry, with its places in the lists that have been looked at. */
struct Candidate
{
	uint32_t	entry;
	uint32_t	value;
	uint32_t	left;			/* these lists' numbers, or PP_FRONT_NONE */
	uint32_t	right;
	uint32_t	left_place;
	uint32_t	right_place;
};

/*
 * Is a candidate what all else leaves as well?  WEIGH: also multiplies *weight,
 * which is the entry's.
 */
template <bool WEIGH>
__device__ __forceinline__ bool
allowed(const PpFrontLevel &lv, const Candidate &c, uint64_t *weight, uint32_t *seeks, bool *overflow)
{
	const uint32_t v = c.value;

	if (lv.unequal)
		for (uint32_t r = 0; r < lv.nresiduals; r++)
			if (lv.residual[r].op == PP_JOIN_NE && lv.in[lv.residual[r].level][c.entry] == v)
				return false;
	for (uint32_t h = 0; h < lv.nheads; h++)
		if (lv.head[h][v] == lv.head[h][v + 1])
			return false;
	for (uint32_t k = 0; k < lv.nlists; k++)
	{
		uint32_t	place = k == c.left ? c.left_place : c.right_place;

		if (k != c.left && k != c.right)
		{
			uint32_t	end;

			open_list(lv, k, c.entry, &place, &end);
			place = pp_lower_bound(lv.list[k].list, place, end, v);
			++*seeks;
			if (place == end || lv.list[k].list[place] != v)
				return false;
		}
		if (WEIGH && lv.list[k].first != nullptr)
			pp_count_multiply(weight, lv.list[k].first[place + 1] - lv.list[k].first[place],
							  overflow);
	}
	for (uint32_t f = 0; f < lv.nfactors; f++)
	{
		const uint64_t factor = lv.factor[f][v];

		if (factor == 0)
			return false;
		if (WEIGH)
			pp_count_multiply(weight, factor, overflow);
	}
	return true;
}

/*
 * Adds sum to out[key].  Equal keys are next to each other in a warp, all of
 * which calls it, so that there is one atomic addition to each.
 */
__device__ __forceinline__ void
add_keyed(uint64_t *out, uint32_t key, uint64_t sum, bool *overflow)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t before = __shfl_up_sync(PP_JOIN_LANES, key, 1);
	const bool	head = lane == 0 || before != key;

	for (uint32_t d = 1; d < 32; d *= 2)
	{
		const uint64_t other = __shfl_down_sync(PP_JOIN_LANES, sum, d);
		const uint32_t of = __shfl_down_sync(PP_JOIN_LANES, key, d);

		if (lane + d < 32 && of == key)
			sum = add(sum, other, overflow);
	}
	if (head && sum > 0)
		pp_value_add(&out[key], sum, overflow);
}

/* ---------- kernels ---------- */

/* A launch's thread to an entry, and one more. */
__global__ void
__launch_bounds__(THREADS)
open_kernel(const PpFrontLevel *level, PpExpansion x, PpJoinSignals *signals)
{
	struct Shared
	{
		PpFrontLevel		level;
		PpSumShared sums;
	};
	PP_SHARED(Shared, sh);
	const PpFrontLevel &lv = sh.level;
	const uint32_t e = blockIdx.x * THREADS + threadIdx.x;
	uint32_t	left_n = 0;
	uint32_t	right_n = 0;
	uint32_t	seeks = 0;

	copy_level(sh.level, level);
	__syncthreads();
	if (e < x.n && (lv.weight == nullptr || lv.weight[e] > 0))
	{
		uint32_t	left = PP_FRONT_NONE;
		uint32_t	right = PP_FRONT_NONE;
		uint32_t	left_at;
		uint32_t	right_at = 0;
		uint32_t	low;
		uint32_t	high;

		bound_values(lv, e, &low, &high);
		left_at = low;
		left_n = high > low ? high - low : 0;
		for (uint32_t k = 0; k < lv.nlists; k++)
		{
			uint32_t	from;
			uint32_t	to;

			open_list(lv, k, e, &from, &to);
			to -= from;
			if (left == PP_FRONT_NONE || to < left_n)
			{
				right = left;
				right_at = left_at;
				right_n = left_n;
				left = k;
				left_at = from;
				left_n = to;
			}
			else if (right == PP_FRONT_NONE || to < right_n)
			{
				right = k;
				right_at = from;
				right_n = to;
			}
		}
		if (left != PP_FRONT_NONE)
		{
			uint32_t	to = left_at + left_n;

			cut_list(lv, lv.list[left].list, low, high, &left_at, &to, &seeks);
			left_n = to - left_at;
		}
		if (right != PP_FRONT_NONE)
		{
			uint32_t	to = right_at + right_n;

			if (left_n > 0)
				cut_list(lv, lv.list[right].list, low, high, &right_at, &to, &seeks);
			right_n = to - right_at;
			if (right_n < left_n)
			{
				const uint32_t n = left_n;
				const uint32_t at = left_at;
				const uint32_t k = left;

				left = right;
				left_at = right_at;
				left_n = right_n;
				right = k;
				right_at = at;
				right_n = n;
			}
			if (left_n == 0 || right_n / UNEQUAL > left_n)
			{
				right = PP_FRONT_NONE;
				right_n = 0;
			}
		}
		else
			right_n = 0;
		x.left_at[e] = left_at;
		x.pick[e] = left | right << 8;
		if (x.right != nullptr)
			x.right_at[e] = right_at;
	}
	else if (e < x.n)
	{
		x.left_at[e] = 0;
		x.pick[e] = PP_FRONT_NONE | PP_FRONT_NONE << 8;
		if (x.right != nullptr)
			x.right_at[e] = 0;
	}
	if (e <= x.n)
	{
		x.left[e] = left_n;
		if (x.right != nullptr)
			x.right[e] = right_n;
	}
	pp_signal_sums(signals, sh.sums, {0, 0}, seeks, false);
}

/* Where tiles from .. from + n begin, n + 1 points; and a slice, anew. */
__global__ void
__launch_bounds__(THREADS)
points_kernel(const PpFrontLevel *level, PpExpansion x, uint64_t items, uint32_t tile, uint64_t from,
			  uint32_t n, PpExpandPoint *point, PpSlice *slice, uint32_t *chain)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	PpExpandPoint p = {};
	uint64_t	d;
	uint32_t	e;

	if (i == 0)
	{
		slice->next = 0;
		slice->stop = UINT32_MAX;
		slice->n = 0;
	}
	if (i < n)
		chain[i] = 0;
	if (i > n)
		return;
	d = min((from + i) * tile, items);
	e = pp_expand_entry(x.left, x.right, x.n, d);
	p.entries = e;
	p.left = x.left[e];
	p.right = x.right != nullptr ? x.right[e] : 0;
	d -= e + p.left + p.right;
	if (d > 0)
	{
		/* the entry itself, and d - 1 items of its lists */
		const uint32_t pick = x.pick[e];
		uint32_t	left = (uint32_t) --d;

		if (pick >> 8 != PP_FRONT_NONE)
			left = pp_merge_path(level->list[pick & PP_FRONT_NONE].list + x.left_at[e],
								 (uint32_t) (x.left[e + 1] - p.left),
								 level->list[pick >> 8].list + x.right_at[e],
								 (uint32_t) (x.right[e + 1] - p.right), (uint32_t) d);
		p.entries++;
		p.left += left;
		p.right += d - left;
	}
	point[i] = p;
}

struct TileShared
{
	PpFrontLevel		level;
	PpSumShared sums;
	PpExpandScan scan;
	PpExpandKept kept;
	uint32_t	number;			/* of the tile */
	uint32_t	offset;			/* of its entries in the next frontier */
	alignas(16) uint16_t tag[PP_EXPAND_TILE + 8];
	uint32_t	value[PP_EXPAND_TILE + 8];	/* left items, then right ones, and one
											 * more if there is */
	union
	{
		struct
		{
			uint16_t	left[PP_EXPAND_TILE + 2];	/* items in front of each entry */
			uint16_t	right[PP_EXPAND_TILE + 2];
		} before;
		struct
		{
			uint16_t	mate[PP_EXPAND_TILE];	/* of left items: right ones */
			uint16_t	item[PP_EXPAND_TILE];	/* those that have one */
		} found;
	} u;
};

/* An item as merging compares them: entry, then value. */
__device__ __forceinline__ uint64_t
item_key(const TileShared &sh, uint32_t i)
{
	return (uint64_t) (sh.tag[i] & PP_EXPAND_TAG & ~1u) << 31 | sh.value[i];
}

/*
 * This thread's share of the merge path of nleft left items and nright right
 * ones: each left item's mate.
 */
__device__ __forceinline__ void
merge_share(TileShared &sh, uint32_t nleft, uint32_t nright, bool more)
{
	const uint32_t n = nleft + nright;
	const uint32_t share = (n + THREADS - 1) / THREADS;
	uint32_t	d = min(threadIdx.x * share, n);
	const uint32_t end = min(d + share, n);
	uint32_t	i = d > nright ? d - nright : 0;
	uint32_t	to = min(d, nleft);
	uint32_t	k;
	uint64_t	left = UINT64_MAX;
	uint64_t	right = UINT64_MAX;

	while (i < to)
	{
		const uint32_t middle = i + (to - i) / 2;

		if (item_key(sh, middle) <= item_key(sh, nleft + d - 1 - middle))
			i = middle + 1;
		else
			to = middle;
	}
	k = d - i;
	if (i < nleft)
		left = item_key(sh, i);
	if (k < nright + more)
		right = item_key(sh, nleft + k);
	for (; d < end; d++)
	{
		if (i < nleft && (k >= nright || left <= right))
		{
			sh.u.found.mate[i] = (uint16_t) (left == right ? k : NO_MATE);
			i++;
			left = i < nleft ? item_key(sh, i) : UINT64_MAX;
		}
		else
		{
			k++;
			right = k < nright + more ? item_key(sh, nleft + k) : UINT64_MAX;
		}
	}
}

/* The candidate that left item i is. */
__device__ __forceinline__ Candidate
candidate_at(const TileShared &sh, const PpTileJob &job, const PpExpandPoint &from, uint32_t base,
			 uint32_t i)
{
	Candidate	c;
	const uint32_t tag = sh.tag[i];
	const uint32_t e = base + tag / 2;

	c.entry = e;
	c.value = sh.value[i];
	c.left = job.x.pick[e];
	c.right = c.left >> 8;
	c.left &= PP_FRONT_NONE;
	c.left_place = job.x.left_at[e] + (uint32_t) (from.left + i - job.x.left[e]);
	c.right_place = 0;
	if (tag & 1)
		c.right_place = job.x.right_at[e] +
			(uint32_t) (from.right + sh.u.found.mate[i] - job.x.right[e]);
	return c;
}

template <int MODE>
__global__ void
__launch_bounds__(THREADS, BLOCKS_PER_SM)
tiles_kernel(PpTileJob job)
{
	PP_SHARED(TileShared, sh);
	const PpFrontLevel &lv = sh.level;
	PpExpandPoint from;
	PpExpandPoint to;
	uint32_t	base;			/* first entry */
	uint32_t	nentries;
	uint32_t	nleft;
	uint32_t	nright;
	uint32_t	ncandidates;
	uint32_t	rows;
	uint32_t	kept = 0;
	uint32_t	seeks = 0;
	PpWideSum	sum = {0, 0};
	bool		overflow = false;
	bool		more;			/* there is a right item behind the tile's */

	if (threadIdx.x == 0)
	{
		bool		stop = pp_stopped(job.signals);

		if (MODE == PP_TO_FRONTIER)
		{
			const uint32_t number = atomicAdd(&job.slice->next, 1u);

			stop |= pp_load_acquire(&job.slice->stop) < number;
			if (stop)
			{
				atomicMin(&job.slice->stop, number);
				pp_chain_end(job.chain, number, PP_FRONT_NO_ROOM);
			}
			sh.offset = number;
		}
		else
			sh.offset = blockIdx.x;
		sh.number = stop ? UINT32_MAX : sh.offset;
	}
	copy_level(sh.level, job.level);
	for (uint32_t i = threadIdx.x; i < (PP_EXPAND_TILE + 8) / 2; i += THREADS)
		reinterpret_cast<uint32_t *>(sh.tag)[i] = 0;
	__syncthreads();
	if (sh.number == UINT32_MAX)
		return;

	/* whose items these are */
	from = job.point[sh.number];
	to = job.point[sh.number + 1];
	base = from.entries > 0 ? from.entries - 1 : 0;
	nentries = to.entries - base;
	nleft = (uint32_t) (to.left - from.left);
	nright = (uint32_t) (to.right - from.right);
	more = job.x.right != nullptr && to.right < job.x.right[to.entries];
	for (uint32_t i = threadIdx.x; i <= nentries; i += THREADS)
	{
		sh.u.before.left[i] = (uint16_t) (min(max(job.x.left[base + i], from.left), to.left) -
										  from.left);
		if (job.x.right != nullptr)
			sh.u.before.right[i] =
				(uint16_t) (min(max(job.x.right[base + i], from.right), to.right) - from.right);
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < nentries; i += THREADS)
	{
		const uint32_t at = sh.u.before.left[i];

		if (at < sh.u.before.left[i + 1])
			sh.tag[at] = (uint16_t) (2 * i + (job.x.pick[base + i] >> 8 != PP_FRONT_NONE));
		if (nright > 0)
		{
			const uint32_t there = sh.u.before.right[i];

			if (there < sh.u.before.right[i + 1])
				sh.tag[nleft + there] = (uint16_t) (PP_EXPAND_RIGHT | (2 * i + 1));
		}
	}
	__syncthreads();
	pp_expand_tags(sh.tag, sh.scan);
	__syncthreads();

	/* their values */
	for (uint32_t i = threadIdx.x; i < nleft + nright + more; i += THREADS)
	{
		const bool	last = i == nleft + nright;
		const uint32_t tag = last ? 2 * (nentries - 1) + 1 : sh.tag[i] & PP_EXPAND_TAG;
		const uint32_t e = base + tag / 2;
		const uint32_t pick = job.x.pick[e];
		uint32_t	at;
		uint32_t	k;

		if (i < nleft)
		{
			at = job.x.left_at[e] + (uint32_t) (from.left + i - job.x.left[e]);
			k = pick & PP_FRONT_NONE;
		}
		else
		{
			at = job.x.right_at[e] + (uint32_t) (from.right + i - nleft - job.x.right[e]);
			k = pick >> 8;
		}
		sh.value[i] = k == PP_FRONT_NONE ? at : lv.list[k].list[at];
		if (last)
			sh.tag[i] = (uint16_t) tag;
	}
	__syncthreads();

	/* which of them are in both lists */
	ncandidates = nleft;
	if (job.x.right != nullptr)
	{
		const bool	merging = nright + more > 0;

		if (merging)
		{
			merge_share(sh, nleft, nright, more);
			__syncthreads();
		}
		rows = (nleft + THREADS - 1) / THREADS;
		for (uint32_t r = 0; r < rows; r++)
		{
			const uint32_t i = r * THREADS + threadIdx.x;

			/* an entry's right list may be far longer, or behind */
			if (i < nleft && (!(sh.tag[i] & 1) || (merging && sh.u.found.mate[i] != NO_MATE)))
				kept |= 1u << r;
		}
		pp_expand_count(sh.kept, kept, rows);
		for (uint32_t r = 0; r < rows; r++)
		{
			const uint32_t place = pp_expand_place(sh.kept, kept, r);

			if (kept >> r & 1)
				sh.u.found.item[place] = (uint16_t) (r * THREADS + threadIdx.x);
		}
		ncandidates = sh.kept.total;
		kept = 0;
		__syncthreads();
	}

	/* and in all the others */
	rows = (ncandidates + THREADS - 1) / THREADS;
	for (uint32_t r = 0; r < rows; r++)
	{
		const uint32_t s = r * THREADS + threadIdx.x;
		const bool	there = s < ncandidates;
		uint32_t	key = UINT32_MAX;
		uint64_t	weight = 0;

		if (there)
		{
			const Candidate c = candidate_at(sh, job, from, base,
											 job.x.right != nullptr ? sh.u.found.item[s] : s);

			if (MODE == PP_TO_FRONTIER)
			{
				if (allowed<false>(lv, c, nullptr, &seeks, &overflow))
					kept |= 1u << r;
			}
			else
			{
				/* an entry's own weight comes in with the product, see leaf_kernel() */
				weight = lv.weight != nullptr && (MODE != PP_TO_KEYS || job.key != PP_KEY_ENTRY) ?
					lv.weight[c.entry] : 1;
				if (!allowed<true>(lv, c, &weight, &seeks, &overflow))
					weight = 0;
				if (MODE == PP_TO_KEYS)
					key = job.key == PP_KEY_ENTRY ? c.entry :
						job.key == PP_KEY_FIRST ? lv.in[0][c.entry] : c.value;
			}
		}
		if (MODE == PP_TO_TOTAL)
			pp_wide_add(&sum, weight, 0);
		if (MODE == PP_TO_KEYS)
			add_keyed(job.out, key, weight, &overflow);
	}
	if (MODE == PP_TO_FRONTIER)
	{
		pp_expand_count(sh.kept, kept, rows);
		if (threadIdx.x < 32)
		{
			const uint32_t offset = pp_chain_sum(job.chain, sh.number, sh.kept.total);

			if (threadIdx.x == 0)
			{
				sh.offset = offset;
				if (offset + sh.kept.total > job.room)
					atomicMin(&job.slice->stop, sh.number);
				else
					atomicMax(&job.slice->n, offset + sh.kept.total);
			}
		}
		__syncthreads();
		if (sh.offset + sh.kept.total > job.room)
			return;
		for (uint32_t r = 0; r < rows; r++)
		{
			const uint32_t s = r * THREADS + threadIdx.x;
			const uint32_t o = sh.offset + pp_expand_place(sh.kept, kept, r);

			if (kept >> r & 1)
			{
				const Candidate c = candidate_at(sh, job, from, base,
												 job.x.right != nullptr ? sh.u.found.item[s] : s);

				for (uint32_t k = 0; k < lv.nout; k++)
				{
					const uint32_t of = lv.out_level[k];

					lv.out[k][o] = of == lv.level ? c.value : lv.in[of][c.entry];
				}
				if (lv.out_weight != nullptr)
				{
					uint64_t	weight = lv.weight != nullptr ? lv.weight[c.entry] : 1;
					uint32_t	again = 0;

					(void) allowed<true>(lv, c, &weight, &again, &overflow);
					lv.out_weight[o] = weight;
				}
			}
		}
	}
	pp_signal_sums(job.signals, sh.sums, sum, seeks, overflow);
}

/* counts NULL: lists are counted, else that is what counts for each entry. */
__global__ void
__launch_bounds__(THREADS)
leaf_kernel(const PpFrontLevel *level, uint32_t n, const uint64_t *counts, uint32_t leaf_to,
			uint64_t *out, PpJoinSignals *signals)
{
	struct Shared
	{
		PpFrontLevel		level;
		PpSumShared sums;
	};
	PP_SHARED(Shared, sh);
	const PpFrontLevel &lv = sh.level;
	const uint32_t e = blockIdx.x * THREADS + threadIdx.x;
	uint32_t	seeks = 0;
	uint32_t	key = UINT32_MAX;
	uint64_t	weight = 0;
	bool		overflow = false;

	copy_level(sh.level, level);
	__syncthreads();
	if (e < n)
	{
		uint64_t	count = 0;

		weight = lv.weight != nullptr ? lv.weight[e] : 1;
		if (counts != nullptr)
			count = counts[e];
		else if (weight > 0)
		{
			const PpFrontList &list = lv.list[0];
			uint32_t	from;
			uint32_t	to;
			uint32_t	low;
			uint32_t	high;

			bound_values(lv, e, &low, &high);
			open_list(lv, 0, e, &from, &to);
			cut_list(lv, list.list, low, high, &from, &to, &seeks);
			count = list.first != nullptr ? list.first[to] - list.first[from] : to - from;
		}
		pp_count_multiply(&weight, count, &overflow);
		if (leaf_to == PP_LEAF_WEIGHT)
			lv.weight[e] = weight;
		if (leaf_to == PP_LEAF_FIRST)
			key = lv.in[0][e];
	}
	if (leaf_to == PP_LEAF_FIRST)
		add_keyed(out, key, weight, &overflow);
	pp_signal_sums(signals, sh.sums, {leaf_to == PP_LEAF_TOTAL ? weight : 0, 0}, seeks, overflow);
}

/* The place of an assignment's entry in an atom's trie. */
__device__ __forceinline__ uint32_t
atom_place(const PpAnswer *answer, const PpFrontAtom &atom, uint32_t e)
{
	uint32_t	from = 0;
	uint32_t	to = atom.nentries;

	if (atom.start != nullptr)
	{
		const uint32_t x = answer->in[atom.from][e];

		from = atom.start[x];
		to = atom.start[x + 1];
	}
	return pp_lower_bound(atom.list, from, to, answer->in[atom.to][e]);
}

/* How often each of n assignments comes; one more is none. */
__global__ void
__launch_bounds__(THREADS)
copies_kernel(const PpAnswer *answer, uint32_t n, uint64_t *copies, PpJoinSignals *signals)
{
	const uint32_t e = blockIdx.x * THREADS + threadIdx.x;
	uint64_t	product = 1;

	if (e > n)
		return;
	for (uint32_t a = 0; a < answer->natoms && e < n; a++)
	{
		const PpFrontAtom &atom = answer->atom[a];

		if (atom.first != nullptr)
		{
			const uint32_t place = atom_place(answer, atom, e);

			product *= atom.first[place + 1] - atom.first[place];
			/* more than anybody takes, and sums of them would not do */
			if (product > UINT32_MAX)
			{
				atomicOr(&signals->overflow, 1u);
				product = 1;
			}
		}
	}
	copies[e] = e < n ? product : 0;
}

/* Rows from .. from + m of the answer's n assignments. */
__global__ void
__launch_bounds__(THREADS)
rows_kernel(const PpAnswer *answer, const uint64_t *copies, uint32_t n, uint64_t from, uint32_t m,
			uint32_t *values, uint32_t *rows, uint32_t capacity)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	uint32_t	e;
	uint64_t	copy = 0;

	if (i >= m)
		return;
	if (copies == nullptr)
		e = (uint32_t) from + i;
	else
	{
		uint32_t	to = n - 1;

		/* the last assignment in front of which there are not more */
		e = 0;
		while (e < to)
		{
			const uint32_t middle = to - (to - e) / 2;

			if (copies[middle] <= from + i)
				e = middle;
			else
				to = middle - 1;
		}
		copy = from + i - copies[e];
	}
	for (uint32_t l = 0; l < answer->nlevels; l++)
		values[(size_t) answer->variable[l] * capacity + i] = answer->in[l][e];
	for (uint32_t a = 0; a < answer->natoms && rows != nullptr; a++)
	{
		const PpFrontAtom &atom = answer->atom[a];
		uint32_t	place = atom_place(answer, atom, e);

		if (atom.first != nullptr)
		{
			const uint32_t first = atom.first[place];
			const uint32_t count = atom.first[place + 1] - first;

			place = first + (uint32_t) (copy % count);
			copy /= count;
		}
		rows[(size_t) atom.atom * capacity + i] = atom.row[place];
	}
}

uint32_t
blocks_for(uint64_t n)
{
	return (uint32_t) ((n + THREADS - 1) / THREADS);
}

}								/* namespace */

void
pp_front_open(const PpFrontLevel *level, const PpExpansion &x, PpJoinSignals *signals,
			  cudaStream_t stream)
{
	PP_LAUNCH(open_kernel, blocks_for((uint64_t) x.n + 1), THREADS, 0, stream, level, x, signals);
}

void
pp_front_points(const PpTileJob &job, PpExpandPoint *point, uint64_t items, uint32_t tile,
				uint64_t from, uint32_t n, cudaStream_t stream)
{
	PP_LAUNCH(points_kernel, blocks_for((uint64_t) n + 1), THREADS, 0, stream, job.level, job.x,
			  items, tile, from, n, point, job.slice, job.chain);
}

void
pp_front_tiles(const PpTileJob &job, PpTileMode mode, uint32_t n, cudaStream_t stream)
{
	if (mode == PP_TO_FRONTIER)
		PP_LAUNCH(tiles_kernel<PP_TO_FRONTIER>, n, THREADS, 0, stream, job);
	else if (mode == PP_TO_TOTAL)
		PP_LAUNCH(tiles_kernel<PP_TO_TOTAL>, n, THREADS, 0, stream, job);
	else
		PP_LAUNCH(tiles_kernel<PP_TO_KEYS>, n, THREADS, 0, stream, job);
}

void
pp_front_leaf(const PpFrontLevel *level, uint32_t n, const uint64_t *counts, PpLeafTo leaf_to,
			  uint64_t *out, PpJoinSignals *signals, cudaStream_t stream)
{
	PP_LAUNCH(leaf_kernel, blocks_for(n), THREADS, 0, stream, level, n, counts, leaf_to, out,
			  signals);
}

void
pp_front_copies(const PpAnswer *answer, uint32_t n, uint64_t *copies, PpJoinSignals *signals,
				cudaStream_t stream)
{
	PP_LAUNCH(copies_kernel, blocks_for((uint64_t) n + 1), THREADS, 0, stream, answer, n, copies,
			  signals);
}

void
pp_front_rows(const PpAnswer *answer, const uint64_t *copies, uint32_t n, uint64_t from,
			  uint32_t m, uint32_t *values, uint32_t *rows, uint32_t capacity, cudaStream_t stream)
{
	PP_LAUNCH(rows_kernel, blocks_for(m), THREADS, 0, stream, answer, copies, n, from, m, values,
			  rows, capacity);
}
