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
constexpr uint32_t WARPS = PP_LFTJ_THREADS / 32;
constexpr uint32_t SAMPLES = 128;	/* of what units are searched in */
constexpr uint32_t MOST_UNITS = 64;	/* that a lane takes at a time */
constexpr uint32_t STEAL_STEPS = 8;	/* between two attempts */
constexpr uint32_t STOP_STEPS = 256;	/* between two looks whether to stop */
constexpr uint32_t FEW = 64;	/* candidates of a leaf that a lane counts alone */
constexpr uint32_t LEAF_STOP = 1u << 17;	/* places in a leaf between two such looks */
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
constexpr uint32_t BLOCKS = 8;

struct WalkShared
{
	PpDeviceStage stage;
	PpSumShared sums;
	uint64_t	sample[SAMPLES];	/* number i * n / SAMPLES of before[], or start[] */
	uint64_t	units;
	uint32_t	at_a_time;		/* units for a lane */
	uint64_t	tile[WARPS][PP_LFTJ_TILE];	/* what tile[] of the job has */
};

/* Of a warp's tile. */
enum
{
	TURN,						/* number of the next one, if they have turns */
	FROM,						/* what is left of it */
	TO
};

/* What a thread has in registers: little, as leaves take many. */
struct Walker
{
	PpStack		s;
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

/* The warp's next tile, in turn or whatever nobody has taken; false: there is none. */
template <Kind KIND>
__device__ __forceinline__ bool
next_tile(const PpLftjJob &job, const WalkShared &sh, uint64_t *tile, uint32_t walkers)
{
	const bool	first = threadIdx.x % 32 == 0;
	uint64_t	turn = tile[TURN];
	uint64_t	from;
	uint64_t	to;

	if (KIND != ROWS)
	{
		if (first)
			turn = atomicAdd(&job.control->next, 1ull);
		turn = __shfl_sync(ALL, turn, 0);
	}
	from = min(turn * 32 * sh.at_a_time, sh.units);
	to = min(from + 32 * sh.at_a_time, sh.units);
	__syncwarp();
	if (first)
	{
		tile[TURN] = turn + walkers / 32;
		tile[FROM] = from;
		tile[TO] = to;
	}
	__syncwarp();
	return from < to;
}

/* Lanes in idle take units of the warp's tile; true: this one has some. */
__device__ __forceinline__ bool
take_units(const WalkShared &sh, const PpStack &s, uint64_t *tile, uint32_t idle)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint64_t to = tile[TO];
	const uint64_t all = tile[FROM] + (uint64_t) sh.at_a_time * __popc(idle);
	const uint64_t from = tile[FROM] +
		(uint64_t) sh.at_a_time * __popc(idle & ((1u << lane) - 1));
	const bool	takes = (idle >> lane & 1) && from < to;

	if (takes)
	{
		s.from() = from;
		s.to() = min(from + sh.at_a_time, to);
	}
	__syncwarp();
	if (lane == 0)
		tile[FROM] = min(all, to);
	__syncwarp();
	return takes;
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
 * of the warp come by, and *spent has as many steps more as it was worth.
 */
__device__ __forceinline__ void
count_leaf(const PpLftjJob &job, const WalkShared &sh, Walker &w, uint32_t l, bool wanted,
		   uint64_t *count, uint32_t *spent)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t nlevels = job.shape.nlevels;
	const PpStageLevel &level = sh.stage.plan.level[l];
	const PpStack &s = w.s;
	uint32_t	many = 0;

	s.weight(l) = *count;
	if (wanted)
	{
		uint64_t	sum = 0;

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
		if (many <= FEW)
			pp_count_multiply(&s.weight(l), sum, &w.overflow);
	}
	for (uint32_t left = __ballot_sync(ALL, many > FEW); left != 0; left &= left - 1)
	{
		const uint32_t from = (uint32_t) __ffs((int) left) - 1;
		const PpStack of = pp_stack_of(s, from);
		const uint32_t steps = __shfl_sync(ALL, many, (int) from) / LEAF_STEP;
		uint64_t	part = 0;
		uint32_t	c = 0;

		/* as where single steps are made, for those that it skips */
		if (*spent % STOP_STEPS + steps >= STOP_STEPS && __any_sync(ALL, pp_stopped(job.signals)))
			*spent = job.steps;
		*spent += steps;

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
		while (c < s.limit(l) && s.cursor(l) < s.limit(l))
		{
			const uint32_t here = c;
			uint64_t	one = 1;

			if (pp_level_bind(sh.stage, s, of, nlevels, l, c, &one, &w.seeks, &w.overflow))
			{
				part += one;
				w.overflow |= part < one;
			}
			/* the next of this lane's that is no less than where to go on */
			c += 32;
			if (s.cursor(l) > c)
				c += (s.cursor(l) - c + 31) / 32 * 32;
			if ((c ^ here) >= LEAF_STOP && pp_stopped(job.signals))
				break;
		}
		for (uint32_t d = 16; d > 0; d /= 2)
		{
			const uint64_t other = __shfl_xor_sync(ALL, part, d);

			part += other;
			w.overflow |= part < other;
		}
		if (lane == from)
			pp_count_multiply(&s.weight(l), part, &w.overflow);
		__syncwarp();
	}
	*count = s.weight(l);
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
steal(const PpLftjJob &job, const PpDeviceStage &stage, const PpStack &s, uint32_t idle)
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
		const PpStack of = pp_stack_of(s, victim);

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
	if (w.s.counted() > 0)
		pp_value_add(&job.out[w.s.key()], w.s.counted(), &w.overflow);
	w.s.counted() = 0;
}

/* An assignment, or all that leaves make of it, counts so often. */
__device__ __forceinline__ void
put_count(const PpLftjJob &job, Walker &w, uint64_t count)
{
	if (job.out && w.s.value(0) != w.s.key())
	{
		flush(job, w);
		w.s.key() = w.s.value(0);
	}
	w.s.counted() += count;
	if (w.s.counted() < count && job.out)
		w.overflow = true;
	else if (w.s.counted() < count)
		w.s.key()++;
}

/* The assignment that is bound becomes an answer, with so many of its copies as one takes. */
__device__ __forceinline__ void
put_answer(const PpLftjJob &job, const PpDeviceStage &stage, const PpStack &s, uint32_t walker,
		   uint32_t walkers)
{
	const size_t room = (size_t) job.round.quota * walkers;
	const size_t at = (size_t) s.answers() * walkers + walker;
	const uint64_t left = s.left();

	for (uint32_t l = 0; l < job.shape.nlevels; l++)
		job.round.values[stage.plan.level[l].variable * room + at] = s.value(l);
	for (uint32_t k = 0; k < job.shape.nlists && job.round.places; k++)
		job.round.places[stage.plan.list[k].atom * room + at] = s.place(job.shape.nlevels, k);
	s.left() = 0;
	if (job.round.left)
	{
		const uint32_t part = (uint32_t) min(left, (uint64_t) job.round.part);
		const uint32_t before = (uint32_t) job.round.count[walker];

		job.round.left[at] = left;
		job.round.before[at] = before;
		job.round.count[walker] = before + part;
		s.left() = left - part;
	}
	s.answers()++;
}

/* ---------- walking ---------- */

/*
 * A step of every lane that go says: a candidate of the level it is at.  All
 * lanes of the warp come by, and *spent has the steps more that leaves were worth.
 */
template <Kind KIND>
__device__ __forceinline__ void
step(const PpLftjJob &job, const WalkShared &sh, Walker &w, bool go, uint32_t *spent)
{
	const PpStack &s = w.s;
	const uint32_t nlevels = job.shape.nlevels;
	uint64_t	count = 0;		/* of what is bound; 0: nothing is */

	if (go)
	{
		const uint32_t l = s.depth();
		const uint32_t before = pp_level_before(job.shape, l);
		const uint32_t c = s.cursor(l);

		if (c < s.limit(l))
		{
			count = before == NONE ? 1 : s.weight(before);
			if (!pp_level_bind(sh.stage, s, s, nlevels, l, c, &count, &w.seeks, &w.overflow))
				count = 0;
		}
		else
			s.depth() = before;
	}
	if (KIND != ROWS)
	{
		uint32_t	quick = count != 0 ? pp_leaves_of(job.shape, job.shape.quick, s.depth()) : 0;

		for (; quick != 0 && count != 0; quick &= quick - 1)
		{
			const uint32_t leaf = (uint32_t) __ffs((int) quick) - 1;

			pp_level_open(sh.stage, s, nlevels, leaf, NONE, &w.seeks);
			pp_count_multiply(&count, pp_quick_count(sh.stage, s, leaf, &w.seeks), &w.overflow);
		}
	}
	if (KIND == COUNT_LEAVES)
	{
		const uint32_t own = count != 0 ? pp_leaves_of(job.shape, job.shape.slow, s.depth()) : 0;

		for (uint32_t slow = job.shape.slow; slow != 0; slow &= slow - 1)
		{
			const uint32_t leaf = (uint32_t) __ffs((int) slow) - 1;
			const bool	wanted = count != 0 && (own >> leaf & 1);

			if (__any_sync(ALL, wanted))
				count_leaf(job, sh, w, leaf, wanted, &count, spent);
		}
	}
	if (count != 0)
	{
		const uint32_t l = s.depth();
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
}

template <Kind KIND>
__global__ void
__launch_bounds__(PP_LFTJ_THREADS, BLOCKS)
lftj_walk_kernel(PpLftjJob job)
{
	PP_SHARED(WalkShared, sh);
	PP_DYNAMIC_SHARED(memory);
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t walkers = gridDim.x * blockDim.x;
	const uint32_t walker = blockIdx.x * blockDim.x + threadIdx.x;
	const uint32_t nwide = PP_LFTJ_WIDE(job.shape.nlevels);
	const uint32_t nwords = PP_LFTJ_WORDS(job.shape.nlevels, job.shape.nlists);
	uint64_t   *tile = sh.tile[threadIdx.x / 32];
	bool		more = true;	/* are there other tiles, as far as is known? */
	bool		busy;
	PpWideSum	total = {0, 0};
	Walker		w;

	pp_stage_fetch(sh.stage, job.stage);
	__syncthreads();
	take_samples(job, sh);
	if (threadIdx.x == 0)
	{
		sh.units = job.shape.split == 2 ? job.items.before[job.items.n] : job.shape.units;
		sh.at_a_time = (uint32_t) min(sh.units / ((uint64_t) walkers * 8) + 1,
									  (uint64_t) MOST_UNITS);
	}
	w.s = pp_stack(memory, job.shape, threadIdx.x);
	w.seeks = 0;
	w.overflow = false;
	for (uint32_t i = 0; i < nwide; i++)
		w.s.wide[i * PP_STACK_LANES] = job.resume ? job.wide[(size_t) i * walkers + walker] : 0;
	for (uint32_t i = 0; i < nwords; i++)
		w.s.word[i * PP_STACK_LANES] = job.resume ? job.word[(size_t) i * walkers + walker] : 0;
	if (!job.resume)
		w.s.depth() = NONE;
	if (lane < PP_LFTJ_TILE)
		tile[lane] = job.resume ? job.tile[(size_t) PP_LFTJ_TILE * (walker / 32) + lane] :
			lane == TURN ? walker / 32 : 0;
	if (KIND == ROWS)
	{
		w.s.answers() = 0;
		job.round.count[walker] = 0;
	}
	else
	{
		w.s.counted() = 0;
		w.s.key() = 0;
	}
	__syncthreads();
	for (uint32_t n = 0, spent = 0; spent < job.steps; n++, spent++)
	{
		const bool	full = KIND == ROWS && w.s.answers() == job.round.quota;
		uint32_t	idle;

		busy = w.s.depth() != NONE || w.s.from() < w.s.to() || (KIND == ROWS && w.s.left() > 0);
		idle = __ballot_sync(ALL, !busy && !full);
		if (idle != 0 && tile[FROM] == tile[TO] && more)
			more = next_tile<KIND>(job, sh, tile, walkers);
		if (idle != 0 && tile[FROM] < tile[TO])
			busy |= take_units(sh, w.s, tile, idle);
		else if (idle != 0 && (n % STEAL_STEPS == STEAL_STEPS - 1 ||
							   !__any_sync(ALL, busy && !full)))
		{
			steal(job, sh.stage, w.s, idle);
			busy = w.s.depth() != NONE || w.s.from() < w.s.to() || (KIND == ROWS && w.s.left() > 0);
		}
		if (!__any_sync(ALL, busy && !full))
			break;
		if (spent % STOP_STEPS == 0 && __any_sync(ALL, pp_stopped(job.signals)))
			break;
		if (KIND == ROWS && w.s.left() > 0)
		{
			if (!full)
				put_answer(job, sh.stage, w.s, walker, walkers);
			busy = false;
		}
		else if (busy && !full && w.s.depth() == NONE)
			take_unit(job, sh, w);
		step<KIND>(job, sh, w, busy && !full, &spent);
	}
	busy = w.s.depth() != NONE || w.s.from() < w.s.to() || (KIND == ROWS && w.s.left() > 0);
	busy = __any_sync(ALL, busy) || more || tile[FROM] < tile[TO];
	if (lane == 0 && busy)
		atomicAdd(&job.control->running, 1u);
	if (KIND != ROWS && job.out)
		flush(job, w);
	else if (KIND != ROWS)
		total = {w.s.counted(), w.s.key()};
	for (uint32_t i = 0; i < nwide; i++)
		job.wide[(size_t) i * walkers + walker] = w.s.wide[i * PP_STACK_LANES];
	for (uint32_t i = 0; i < nwords; i++)
		job.word[(size_t) i * walkers + walker] = w.s.word[i * PP_STACK_LANES];
	if (lane < PP_LFTJ_TILE)
		job.tile[(size_t) PP_LFTJ_TILE * (walker / 32) + lane] = tile[lane];
	if (KIND == ROWS)
	{
		uint64_t	nrows = w.s.answers();

		if (job.round.left)
		{
			job.round.answers[walker] = (uint32_t) nrows;
			nrows = job.round.count[walker];
		}
		else
			job.round.count[walker] = nrows;
		for (uint32_t d = 16; d > 0; d /= 2)
			nrows += __shfl_down_sync(ALL, nrows, d);
		if (lane == 0 && nrows > 0)
			atomicAdd(&job.control->nrows, (unsigned long long) nrows);
	}
	pp_signal_sums(job.signals, sh.sums, total, w.seeks, w.overflow);
}

/* Units of each item: how many candidates the level below it has. */
__global__ void
__launch_bounds__(PP_LFTJ_THREADS, BLOCKS)
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
	pp_signal_sums(job.signals, sh.sums, {0, 0}, w.seeks, false);
}

/*
 * A thread to each of n rows of the round, from number first on, in walkers'
 * order: whose it is, of which of its answers, and which copy.
 */
__global__ void
__launch_bounds__(PP_LFTJ_THREADS, BLOCKS)
lftj_gather_kernel(PpLftjJob job, const uint64_t *before, uint32_t walkers, uint64_t first,
				   uint32_t n, uint32_t nvariables, uint32_t *values, uint32_t *rows,
				   uint32_t capacity)
{
	const PpLftjRound &round = job.round;
	const size_t room = (size_t) round.quota * walkers;
	const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t	copy = 0;
	uint32_t	row;			/* of the walker's */
	uint32_t	w;
	size_t		at;

	if (i >= n)
		return;
	w = item_of(before, 0, walkers, first + i);
	row = (uint32_t) (first + i - before[w]);
	at = (size_t) row * walkers + w;
	if (round.left)
	{
		uint32_t	from = 0;
		uint32_t	to = round.answers[w];

		/* the last answer that does not begin behind it */
		while (to - from > 1)
		{
			const uint32_t middle = from + (to - from) / 2;

			if (round.before[(size_t) middle * walkers + w] <= row)
				from = middle;
			else
				to = middle;
		}
		at = (size_t) from * walkers + w;
		copy = round.left[at] - 1 - (row - round.before[at]);
	}
	for (uint32_t v = 0; v < nvariables; v++)
		values[v * (size_t) capacity + i] = round.values[v * room + at];
	for (uint32_t k = 0; k < job.shape.nlists && rows; k++)
	{
		const PpStageList &list = job.stage->plan.list[k];
		const PpDeviceTrie &trie = job.stage->trie[list.trie];
		uint32_t	place = round.places[list.atom * room + at];

		if (trie.first)
		{
			const uint32_t begin = trie.first[place];
			const uint32_t count = trie.first[place + 1] - begin;

			place = begin + (uint32_t) (copy % count);
			copy /= count;
		}
		rows[list.atom * (size_t) capacity + i] = trie.row[place];
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
pp_lftj_gather(PpDeviceJoin *join, const PpLftjJob *job, const uint64_t *before, uint32_t walkers,
			   uint64_t first, uint32_t n, uint32_t *values, uint32_t *rows, uint32_t capacity)
{
	PP_LAUNCH(lftj_gather_kernel, (n + PP_LFTJ_THREADS - 1) / PP_LFTJ_THREADS, PP_LFTJ_THREADS, 0,
			  join->stream, *job, before, walkers, first, n, join->nvariables, values, rows,
			  capacity);
	return pp_join_launched(join, "lftj_gather");
}
