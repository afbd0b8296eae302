/*
 * cuda/join_lftj_walk.cu
 *	  LFTJ-GPU for any stage: each thread is a walker that goes depth first
 *	  through what is below the units that it takes.
 *
 * The lanes of a warp make a step each at a time: a candidate of the level that
 * they are at.  Lanes without work take units of the warp's tile, tiles being
 * taken from a counter, or, for rows, whose order has to be the same every time,
 * in turns.  When there are none left, they take half of what a lane of the same
 * warp has to do at its first level that has several candidates.  Leaves of many
 * candidates are counted by the whole warp.
 *
 * After so many steps a walker stores its stack and ends; the next launch goes
 * on from there.  So no launch runs for long, and rows come in rounds.
 */
#include "join_lftj_stack.h"

namespace
{

constexpr uint32_t ALL = PP_JOIN_LANES;
constexpr uint32_t NONE = PP_LFTJ_NONE;
constexpr uint32_t SAMPLES = 128;	/* of what units are searched in */
constexpr uint32_t MOST_UNITS = 64;	/* that a lane takes at a time */
constexpr uint32_t STEAL_STEPS = 8;	/* between two attempts */
constexpr uint32_t STOP_STEPS = 256;	/* between two looks whether to stop */
constexpr uint32_t FEW = 64;	/* candidates of a leaf that a lane counts alone */
constexpr uint32_t LEAF_STEP = 512;	/* and those of a warp that are as much as a step */

/* What a kernel is for: stages whose leaves a look at a list counts, if there
 * are any; stages with others; rows. */
enum Kind
{
	COUNT,
	COUNT_LEAVES,
	ROWS
};

/* Blocks of a multiprocessor, at least: registers for all there is, and no more. */
__host__ __device__ constexpr uint32_t
blocks_of(Kind kind)
{
	return kind == COUNT_LEAVES ? 5 : 8;
}

struct WalkShared
{
	PpDeviceStage stage;
	PpSumShared sums;
	uint64_t	sample[SAMPLES];	/* number i * n / SAMPLES of before[], or start[] */
};

/* What a thread has in registers. */
struct Walker
{
	PpStack		s;
	PpWideSum	total;
	uint64_t	counted;		/* of value key, not in out[] yet */
	uint32_t	key;
	uint32_t	seeks;
	bool		overflow;
};

/* ---------- units ---------- */

/* Has the block look where units are searched: in before[], or in start[]. */
__device__ __forceinline__ void
take_samples(const PpLftjJob &job, WalkShared &sh)
{
	if (job.shape.split == 0)
		return;
	for (uint32_t i = threadIdx.x; i < SAMPLES; i += blockDim.x)
	{
		if (job.shape.split == 2)
			sh.sample[i] = job.items.before[(uint64_t) job.items.n * i / SAMPLES];
		else
			sh.sample[i] = sh.stage.trie[sh.stage.plan.list[job.shape.root].trie]
				.start[(uint64_t) sh.stage.nkeys * i / SAMPLES];
	}
}

/* Between which samples, the last that is no greater than unit and the next one? */
__device__ __forceinline__ void
search_samples(const WalkShared &sh, uint64_t unit, uint32_t n, uint32_t *from, uint32_t *to)
{
	uint32_t	low = 0;

	for (uint32_t step = SAMPLES / 2; step > 0; step /= 2)
		if (sh.sample[low + step] <= unit)
			low += step;
	*from = (uint32_t) ((uint64_t) n * low / SAMPLES);
	*to = (uint32_t) ((uint64_t) n * (low + 1) / SAMPLES);
}

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

/* Level 0 has that value, if lists let it: it is the only candidate. */
__device__ __forceinline__ void
open_at(const PpLftjJob &job, const WalkShared &sh, Walker &w, uint32_t key)
{
	pp_level_open(sh.stage, w.s, job.shape.nlevels, 0, NONE, &w.seeks);
	if (w.s.cursor(0) < w.s.limit(0))
	{
		w.s.driver(0) = NONE;
		w.s.cursor(0) = key;
		w.s.limit(0) = key + 1;
	}
}

/* Takes what is next of a walker's units in hand, all of one item. */
__device__ __forceinline__ void
take_unit(const PpLftjJob &job, const WalkShared &sh, Walker &w)
{
	const PpStack &s = w.s;
	const uint64_t unit = s.from();
	const uint64_t to = s.to();
	uint64_t	end = to;
	uint32_t	a;
	uint32_t	b;

	s.depth() = 0;
	if (job.shape.split == 0)
	{
		pp_level_open(sh.stage, s, job.shape.nlevels, 0, job.shape.root, &w.seeks);
		s.cursor(0) = max(s.cursor(0), (uint32_t) unit);
		s.limit(0) = min(s.limit(0), (uint32_t) to);
	}
	else if (job.shape.split == 1)
	{
		const uint32_t *start =
			sh.stage.trie[sh.stage.plan.list[job.shape.root].trie].start;
		uint32_t	key;

		search_samples(sh, unit, sh.stage.nkeys, &a, &b);
		key = pp_key_of(start, a, b, (uint32_t) unit);
		end = min(to, (uint64_t) start[key + 1]);
		open_at(job, sh, w, key);
		s.clip(0) = (uint32_t) unit;
		s.clip(1) = (uint32_t) end;
	}
	else
	{
		uint32_t	i;

		search_samples(sh, unit, job.items.n, &a, &b);
		i = item_of(job.items.before, a, b, unit);
		end = min(to, job.items.before[i + 1]);
		open_at(job, sh, w, job.items.key[i]);
		s.clip(0) = job.items.first + i;
		s.clip(1) = job.items.first + i + 1;
		s.clip(2) = (uint32_t) (unit - job.items.before[i]);
		s.clip(3) = (uint32_t) (end - job.items.before[i]);
	}
	s.from() = end;
}

/* Opens the level behind one that is bound; of the first ones, the unit's part. */
__device__ __forceinline__ void
open_next(const PpLftjJob &job, const WalkShared &sh, Walker &w, uint32_t at, uint32_t next)
{
	const PpStack &s = w.s;
	const bool	root = at == 0 && job.shape.split > 0;

	pp_level_open(sh.stage, s, job.shape.nlevels, next, root ? job.shape.root : NONE, &w.seeks);
	if (root)
	{
		s.cursor(next) = max(s.cursor(next), s.clip(0));
		s.limit(next) = min(s.limit(next), s.clip(1));
	}
	else if (job.shape.split == 2 && pp_level_before(job.shape, at) == 0)
	{
		s.limit(next) = min(s.limit(next), s.cursor(next) + s.clip(3));
		s.cursor(next) += s.clip(2);
	}
	s.depth() = next;
}

/* ---------- leaves ---------- */

/*
 * Multiplies the lanes' counts by their leaf l, of those that want it.  All lanes
 * of the warp come by, and are told how many steps it was worth.
 */
__device__ __forceinline__ uint32_t
count_leaf(const PpLftjJob &job, const WalkShared &sh, Walker &w, unsigned char *memory,
		   uint32_t l, bool wanted, uint64_t *count)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t nlevels = job.shape.nlevels;
	const PpStageLevel &level = sh.stage.plan.level[l];
	const PpStack &s = w.s;
	uint64_t	sum = 0;
	uint32_t	many = 0;
	uint32_t	steps = 0;

	if (wanted)
	{
		pp_level_open(sh.stage, s, nlevels, l, NONE, &w.seeks);
		many = s.limit(l) - s.cursor(l);
		if (s.cursor(l) >= s.limit(l))
			many = 0;
		while (many <= FEW && s.cursor(l) < s.limit(l))
		{
			uint64_t	one = 1;

			if (pp_level_bind(sh.stage, s, s, nlevels, l, s.cursor(l), &one, &w.seeks, &w.overflow))
			{
				sum += one;
				w.overflow |= sum < one;
			}
		}
	}
	for (uint32_t left = __ballot_sync(ALL, many > FEW); left != 0; left &= left - 1)
	{
		const uint32_t from = (uint32_t) __ffs((int) left) - 1;
		const PpStack of = pp_stack(memory, job.shape, threadIdx.x - lane + from);
		uint64_t	part = 0;
		uint32_t	c = 0;

		steps += __shfl_sync(ALL, many, (int) from) / LEAF_STEP;

		/* other lanes' slots of the leaf hold nothing that is needed later */
		if (lane == from)
			pp_level_open(sh.stage, s, nlevels, l, NONE, &w.seeks);
		__syncwarp();
		if (lane != from)
		{
			s.cursor(l) = of.cursor(l);
			s.limit(l) = of.limit(l);
			s.driver(l) = of.driver(l);
			for (uint32_t k = level.first_list; k < (uint32_t) level.first_list + level.nlists; k++)
			{
				s.place(nlevels, k) = of.place(nlevels, k);
				s.end(nlevels, k) = of.end(nlevels, k);
			}
		}
		c = s.cursor(l) + lane;
		__syncwarp();
		for (uint32_t n = 1; c < s.limit(l) && s.cursor(l) < s.limit(l); c += 32, n++)
		{
			uint64_t	one = 1;

			if (pp_level_bind(sh.stage, s, of, nlevels, l, c, &one, &w.seeks, &w.overflow))
			{
				part += one;
				w.overflow |= part < one;
			}
			/* the next of this lane's that is no less than where to go on */
			if (s.cursor(l) > c + 32)
				c += (s.cursor(l) - c - 1) / 32 * 32;
			if (n % (16 * STOP_STEPS) == 0 && pp_stopped(job.signals))
				break;
		}
		for (uint32_t d = 16; d > 0; d /= 2)
		{
			const uint64_t other = __shfl_xor_sync(ALL, part, d);

			part += other;
			w.overflow |= part < other;
		}
		if (lane == from)
			sum = part;
		__syncwarp();
	}
	if (wanted)
		pp_count_multiply(count, sum, &w.overflow);
	return steps;
}

/* ---------- stealing ---------- */

constexpr uint32_t UNITS = 31;	/* in place of a level */

/* Where a walker has something that another may take: units, a level, or NONE. */
__device__ __forceinline__ uint32_t
spare(const PpLftjJob &job, const PpStack &s)
{
	if (s.from() < s.to())
		return UNITS;
	if (s.depth() == NONE)
		return NONE;
	for (uint32_t l = 0; l != NONE; l = pp_next_level(job.shape, l))
	{
		if (s.cursor(l) < s.limit(l) && s.limit(l) - s.cursor(l) > 1)
			return l;
		if (l == s.depth())
			break;
	}
	return NONE;
}

/* Lane number n of those in a set. */
__device__ __forceinline__ uint32_t
lane_of(uint32_t set, uint32_t n)
{
	for (; n > 0; n--)
		set &= set - 1;
	return (uint32_t) __ffs((int) set) - 1;
}

/* Lanes in idle take half of what others have to do.  All lanes come by. */
__device__ __forceinline__ void
steal(const PpLftjJob &job, const PpDeviceStage &stage, const PpStack &s, unsigned char *memory,
	  uint32_t idle)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t below = (1u << lane) - 1;
	const bool	thief = idle >> lane & 1;
	const uint32_t what = thief ? NONE : spare(job, s);
	const uint32_t rich = __ballot_sync(ALL, what != NONE);
	const uint32_t pairs = min(__popc(idle), __popc(rich));
	const bool	takes = thief && (uint32_t) __popc(idle & below) < pairs;
	const bool	gives = what != NONE && (uint32_t) __popc(rich & below) < pairs;
	const uint32_t victim = takes ? lane_of(rich, (uint32_t) __popc(idle & below)) : lane;
	const uint32_t of_what = __shfl_sync(ALL, what, (int) victim);

	__syncwarp();
	if (takes)
	{
		const PpStack of = pp_stack(memory, job.shape, threadIdx.x - lane + victim);

		if (of_what == UNITS)
		{
			s.from() = of.from() + (of.to() - of.from()) / 2;
			s.to() = of.to();
		}
		else
		{
			const PpStageLevel &level = stage.plan.level[of_what];
			const uint32_t nlists = (uint32_t) level.first_list + level.nlists;

			for (uint32_t l = 0; l != NONE; l = pp_next_level(job.shape, l))
			{
				s.weight(l) = of.weight(l);
				s.value(l) = of.value(l);
				s.driver(l) = of.driver(l);
				s.limit(l) = of.limit(l);
				s.cursor(l) = l == of_what ?
					of.cursor(l) + (of.limit(l) - of.cursor(l)) / 2 : of.limit(l);
				if (l == of_what)
					break;
			}
			for (uint32_t k = 0; k < nlists; k++)
			{
				s.place(job.shape.nlevels, k) = of.place(job.shape.nlevels, k);
				s.end(job.shape.nlevels, k) = of.end(job.shape.nlevels, k);
			}
			s.depth() = of_what;
		}
	}
	__syncwarp();
	if (gives && what == UNITS)
		s.to() = s.from() + (s.to() - s.from()) / 2;
	else if (gives)
		s.limit(what) = s.cursor(what) + (s.limit(what) - s.cursor(what)) / 2;
}

/* ---------- results ---------- */

__device__ __forceinline__ void
flush(const PpLftjJob &job, Walker &w)
{
	if (w.counted > 0)
		pp_value_add(&job.out[w.key], w.counted, &w.overflow);
	w.counted = 0;
}

/* An assignment, or all that leaves make of it, counts so often. */
__device__ __forceinline__ void
put_count(const PpLftjJob &job, Walker &w, uint64_t count)
{
	if (job.out == NULL)
	{
		pp_wide_add(&w.total, count, 0);
		return;
	}
	if (w.s.value(0) != w.key)
	{
		flush(job, w);
		w.key = w.s.value(0);
	}
	w.counted += count;
	w.overflow |= w.counted < count;
}

/* Writes a copy of the assignment that is bound. */
__device__ __forceinline__ void
put_row(const PpLftjJob &job, const PpDeviceStage &stage, const PpStack &s, uint32_t walker,
		uint32_t walkers)
{
	const size_t room = (size_t) job.round.quota * walkers;
	const size_t at = (size_t) s.nrows() * walkers + walker;
	uint64_t	copy = s.left() - 1;

	for (uint32_t l = 0; l < job.shape.nlevels; l++)
		job.round.values[stage.plan.level[l].variable * room + at] = s.value(l);
	for (uint32_t k = 0; k < job.shape.nlists && job.round.rows; k++)
	{
		const PpStageList list = stage.plan.list[k];
		const PpDeviceTrie &trie = stage.trie[list.trie];
		uint32_t	place = s.place(job.shape.nlevels, k);

		if (trie.first)
		{
			const uint32_t first = trie.first[place];
			const uint32_t n = trie.first[place + 1] - first;

			place = first + (uint32_t) (copy % n);
			copy /= n;
		}
		job.round.rows[list.atom * room + at] = trie.row[place];
	}
	s.nrows()++;
	s.left()--;
}

/* ---------- walking ---------- */

/*
 * A step of every lane that go says: a candidate of the level it is at.  All
 * lanes of the warp come by, and are told how many more steps it was worth.
 */
template <Kind KIND>
__device__ __forceinline__ uint32_t
step(const PpLftjJob &job, const WalkShared &sh, Walker &w, unsigned char *memory, bool go)
{
	const PpStack &s = w.s;
	const uint32_t nlevels = job.shape.nlevels;
	const uint32_t l = go ? s.depth() : 0;
	bool		bound = false;
	uint64_t	count = 1;
	uint32_t	more = 0;

	if (go)
	{
		const uint32_t before = pp_level_before(job.shape, l);
		const uint32_t c = s.cursor(l);

		if (c < s.limit(l))
		{
			count = before == NONE ? 1 : s.weight(before);
			bound = pp_level_bind(sh.stage, s, s, nlevels, l, c, &count, &w.seeks, &w.overflow);
		}
		else
			s.depth() = before;
	}
	if (KIND != ROWS)
	{
		uint32_t	quick = bound ? pp_leaves_of(job.shape, job.shape.quick, l) : 0;

		for (; quick != 0 && count != 0; quick &= quick - 1)
		{
			const uint32_t leaf = (uint32_t) __ffs((int) quick) - 1;

			pp_level_open(sh.stage, s, nlevels, leaf, NONE, &w.seeks);
			pp_count_multiply(&count, pp_quick_count(sh.stage, s, leaf, &w.seeks), &w.overflow);
		}
		for (uint32_t slow = KIND == COUNT_LEAVES ? job.shape.slow : 0; slow != 0; slow &= slow - 1)
		{
			const uint32_t leaf = (uint32_t) __ffs((int) slow) - 1;
			const bool	wanted = bound && count != 0 &&
				(pp_leaves_of(job.shape, slow, l) >> leaf & 1);

			if (__any_sync(ALL, wanted))
				more += count_leaf(job, sh, w, memory, leaf, wanted, &count);
		}
	}
	if (bound && count != 0)
	{
		const uint32_t next = pp_next_level(job.shape, l);

		if (next != NONE)
		{
			s.weight(l) = count;
			open_next(job, sh, w, l, next);
		}
		else if (KIND == ROWS)
			s.left() = count;
		else
			put_count(job, w, count);
	}
	return more;
}

template <Kind KIND>
__global__ void
__launch_bounds__(PP_LFTJ_THREADS, blocks_of(KIND))
lftj_walk_kernel(PpLftjJob job)
{
	PP_SHARED(WalkShared, sh);
	PP_DYNAMIC_SHARED(memory);
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t walkers = gridDim.x * blockDim.x;
	const uint32_t walker = blockIdx.x * blockDim.x + threadIdx.x;
	const uint32_t nwide = PP_LFTJ_WIDE(job.shape.nlevels);
	const uint32_t nwords = PP_LFTJ_WORDS(job.shape.nlevels, job.shape.nlists);
	uint64_t   *tile = &job.tile[(size_t) PP_LFTJ_TILE * (walker / 32)];
	uint64_t	units = job.shape.units;
	uint64_t	turn = walker / 32;	/* the next tile of this warp, if they have turns */
	uint64_t	tile_from = 0;	/* what is left of the warp's tile */
	uint64_t	tile_to = 0;
	bool		more = true;	/* are there other tiles, as far as is known? */
	uint32_t	at_a_time;		/* units for a lane */
	uint32_t	look = STOP_STEPS;	/* steps until the next look whether to stop */
	bool		busy;
	Walker		w;

	pp_stage_fetch(sh.stage, job.stage);
	__syncthreads();
	take_samples(job, sh);
	if (job.shape.split == 2)
		units = job.items.before[job.items.n];
	at_a_time = (uint32_t) min(units / ((uint64_t) walkers * 8) + 1, (uint64_t) MOST_UNITS);
	w.s = pp_stack(memory, job.shape, threadIdx.x);
	w.total.low = w.total.high = 0;
	w.counted = 0;
	w.key = 0;
	w.seeks = 0;
	w.overflow = false;
	for (uint32_t i = 0; i < nwide; i++)
		w.s.wide[i * blockDim.x] = job.resume ? job.wide[(size_t) i * walkers + walker] : 0;
	for (uint32_t i = 0; i < nwords; i++)
		w.s.word[i * blockDim.x] = job.resume ? job.word[(size_t) i * walkers + walker] : 0;
	if (job.resume)
	{
		turn = tile[0];
		tile_from = tile[1];
		tile_to = tile[2];
	}
	else
		w.s.depth() = NONE;
	w.s.nrows() = 0;
	__syncthreads();
	for (uint32_t n = 0, spent = 0; spent < job.steps; n++, spent++)
	{
		const bool	full = KIND == ROWS && w.s.nrows() == job.round.quota;
		uint32_t	idle;

		busy = w.s.depth() != NONE || w.s.from() < w.s.to() || (KIND == ROWS && w.s.left() > 0);
		idle = __ballot_sync(ALL, !busy && !full);
		if (idle != 0 && tile_from == tile_to && more)
		{
			if (KIND != ROWS)
			{
				if (lane == 0)
					turn = atomicAdd(&job.control->next, 1ull);
				turn = __shfl_sync(ALL, turn, 0);
			}
			tile_from = min(turn * 32 * at_a_time, units);
			tile_to = min(tile_from + 32 * at_a_time, units);
			more = tile_from < tile_to;
			if (KIND == ROWS)
				turn += walkers / 32;
		}
		if (idle != 0 && tile_from < tile_to)
		{
			const uint64_t from = tile_from +
				(uint64_t) at_a_time * __popc(idle & ((1u << lane) - 1));

			if ((idle >> lane & 1) && from < tile_to)
			{
				w.s.from() = from;
				w.s.to() = min(from + at_a_time, tile_to);
				busy = true;
			}
			tile_from = min(tile_from + (uint64_t) at_a_time * __popc(idle), tile_to);
		}
		else if (idle != 0 && (n % STEAL_STEPS == STEAL_STEPS - 1 ||
							   !__any_sync(ALL, busy && !full)))
		{
			steal(job, sh.stage, w.s, memory, idle);
			busy = w.s.depth() != NONE || w.s.from() < w.s.to() || (KIND == ROWS && w.s.left() > 0);
		}
		if (!__any_sync(ALL, busy && !full))
			break;
		if (spent >= look)
		{
			if (__any_sync(ALL, pp_stopped(job.signals)))
				break;
			look = spent + STOP_STEPS;
		}
		if (KIND == ROWS && w.s.left() > 0)
		{
			if (!full)
				put_row(job, sh.stage, w.s, walker, walkers);
			busy = false;
		}
		else if (busy && !full && w.s.depth() == NONE)
			take_unit(job, sh, w);
		spent += step<KIND>(job, sh, w, memory, busy && !full);
	}
	busy = w.s.depth() != NONE || w.s.from() < w.s.to() || (KIND == ROWS && w.s.left() > 0);
	busy = __any_sync(ALL, busy) || more || tile_from < tile_to;
	if (lane == 0 && busy)
		atomicAdd(&job.control->running, 1u);
	if (job.out)
		flush(job, w);
	for (uint32_t i = 0; i < nwide; i++)
		job.wide[(size_t) i * walkers + walker] = w.s.wide[i * blockDim.x];
	for (uint32_t i = 0; i < nwords; i++)
		job.word[(size_t) i * walkers + walker] = w.s.word[i * blockDim.x];
	if (lane == 0)
	{
		tile[0] = turn;
		tile[1] = tile_from;
		tile[2] = tile_to;
	}
	if (KIND == ROWS)
	{
		uint32_t	nrows = w.s.nrows();

		job.round.count[walker] = nrows;
		for (uint32_t d = 16; d > 0; d /= 2)
			nrows += __shfl_down_sync(ALL, nrows, d);
		if (lane == 0 && nrows > 0)
			atomicAdd(&job.control->nrows, nrows);
	}
	pp_signal_sums(job.signals, sh.sums, w.total, w.seeks, w.overflow);
}

/* Units of each item: how many candidates the level below it has. */
__global__ void
__launch_bounds__(PP_LFTJ_THREADS, blocks_of(COUNT))
lftj_cost_kernel(PpLftjJob job)
{
	PP_SHARED(WalkShared, sh);
	PP_DYNAMIC_SHARED(memory);
	const uint32_t one = pp_next_level(job.shape, 0);
	const uint32_t two = pp_next_level(job.shape, one);
	const uint32_t nlevels = job.shape.nlevels;
	const uint32_t *start;
	Walker		w;

	pp_stage_fetch(sh.stage, job.stage);
	__syncthreads();
	start = sh.stage.trie[sh.stage.plan.list[job.shape.root].trie].start;
	w.s = pp_stack(memory, job.shape, threadIdx.x);
	w.total.low = w.total.high = 0;
	w.seeks = 0;
	w.overflow = false;
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < job.items.n;
		 i += gridDim.x * blockDim.x)
	{
		const uint32_t entry = job.items.first + i;
		const uint32_t key = pp_key_of(start, 0, sh.stage.nkeys, entry);
		uint64_t	count = 1;
		uint64_t	units = 0;

		open_at(job, sh, w, key);
		if (w.s.cursor(0) < w.s.limit(0) &&
			pp_level_bind(sh.stage, w.s, w.s, nlevels, 0, key, &count, &w.seeks, &w.overflow))
		{
			pp_level_open(sh.stage, w.s, nlevels, one, job.shape.root, &w.seeks);
			if (w.s.cursor(one) <= entry && entry < w.s.limit(one) &&
				pp_level_bind(sh.stage, w.s, w.s, nlevels, one, entry, &count, &w.seeks,
							  &w.overflow))
			{
				pp_level_open(sh.stage, w.s, nlevels, two, NONE, &w.seeks);
				if (w.s.cursor(two) < w.s.limit(two))
					units = w.s.limit(two) - w.s.cursor(two);
			}
		}
		job.items.key[i] = key;
		job.items.before[i] = units;
	}
	if (blockIdx.x == 0 && threadIdx.x == 0)
		job.items.before[job.items.n] = 0;
	pp_signal_sums(job.signals, sh.sums, w.total, w.seeks, false);
}

/* The round's rows from number first on, n of them, to out, of walkers' order. */
__global__ void
__launch_bounds__(PP_LFTJ_THREADS, blocks_of(ROWS))
lftj_gather_kernel(PpLftjRound round, const uint32_t *before, uint32_t walkers, uint32_t first,
				   uint32_t n, uint32_t nvariables, uint32_t natoms, uint32_t *values,
				   uint32_t *rows, uint32_t capacity)
{
	const size_t room = (size_t) round.quota * walkers;

	for (uint32_t w = blockIdx.x * blockDim.x + threadIdx.x; w < walkers;
		 w += gridDim.x * blockDim.x)
	{
		const uint32_t count = round.count[w];
		const uint32_t at = before[w];

		for (uint32_t i = at < first ? min(first - at, count) : 0;
			 i < count && at + i - first < n; i++)
		{
			const size_t from = (size_t) i * walkers + w;
			const size_t to = at + i - first;

			for (uint32_t v = 0; v < nvariables; v++)
				values[v * (size_t) capacity + to] = round.values[v * room + from];
			for (uint32_t a = 0; a < natoms && rows; a++)
				rows[a * (size_t) capacity + to] = round.rows[a * room + from];
		}
	}
}

}								/* namespace */

PpJoinStatus
pp_lftj_cost(PpDeviceJoin *join, const PpLftjJob *job, uint32_t threads)
{
	uint32_t	blocks;
	PpJoinStatus status = pp_lftj_blocks(threads, job->items.n, &blocks);

	if (status != PP_JOIN_OK)
		return status;
	PP_LAUNCH(lftj_cost_kernel, blocks, threads, pp_lftj_bytes(&job->shape, threads), join->stream,
			  *job);
	return pp_join_launched(join, "lftj_cost");
}

PpJoinStatus
pp_lftj_walk(PpDeviceJoin *join, const PpLftjJob *job, uint32_t threads, uint32_t blocks)
{
	const uint32_t bytes = pp_lftj_bytes(&job->shape, threads);

	if (job->round.count)
		PP_LAUNCH(lftj_walk_kernel<ROWS>, blocks, threads, bytes, join->stream, *job);
	else if (job->shape.slow != 0)
		PP_LAUNCH(lftj_walk_kernel<COUNT_LEAVES>, blocks, threads, bytes, join->stream, *job);
	else
		PP_LAUNCH(lftj_walk_kernel<COUNT>, blocks, threads, bytes, join->stream, *job);
	return pp_join_launched(join, "lftj_walk");
}

PpJoinStatus
pp_lftj_gather(PpDeviceJoin *join, const PpLftjRound *round, const uint32_t *before,
			   uint32_t walkers, uint32_t first, uint32_t n, uint32_t *values, uint32_t *rows,
			   uint32_t capacity)
{
	PP_LAUNCH(lftj_gather_kernel, (walkers + PP_LFTJ_THREADS - 1) / PP_LFTJ_THREADS,
			  PP_LFTJ_THREADS, 0, join->stream, *round, before, walkers, first, n,
			  join->nvariables, join->natoms, values, rows, capacity);
	return pp_join_launched(join, "lftj_gather");
}
