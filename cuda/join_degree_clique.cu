/*
 * cuda/join_degree_clique.cu
 *	  Counts cliques of four to eight vertices on the graph of
 *	  join_degree_build.cu.
 *
 * The edges among the entries of a root's list become a matrix of bits, row i
 * having those to entries before i.  Then entries are bound from the last one
 * down, sets of what is left being rows of bits as well, on an explicit stack;
 * of the last two, rows' bits are counted (Almasri et al., Parallel K-Clique
 * Counting on GPUs, ICS 2022).  By length of the root's list:
 *
 *	up to 32	a lane for each second vertex; a row is one word
 *	up to 512	a block: the matrix is in shared memory, its warps take second
 *				vertices one after another
 *	longer		matrices of several roots in device memory, made by all blocks;
 *				then any warp takes a root's next second vertex
 *
 * A root may take very long.  Who has had its share of a launch leaves its stack
 * in device memory, and goes on from there in the next one.
 *
 * GROUPS: rows have entries behind i, too, so that of the last two each entry's
 * count is one of bits again.  A vertex counts by its place in the clique.
 */
#include "join_degree.h"

namespace
{

constexpr uint32_t THREADS = 256;
constexpr uint32_t WARPS = THREADS / 32;

/* Blocks that a multiprocessor has registers for: 64 a thread, which is enough. */
constexpr uint32_t BLOCKS = 4;

constexpr uint32_t NONE = 0xffffffffu;

/* Bytes of matrices in device memory, unless one root needs more. */
constexpr uint64_t MATRIX_BYTES = (uint64_t) 256 << 20;

/* A set: the word that has its greatest bit at most, the entry that was taken
 * from it last, and its words. */
constexpr uint32_t SET_TOP = 0;
constexpr uint32_t SET_TAKEN = 1;
constexpr uint32_t SET_WORDS = 2;

/* Sets on a stack: the second vertex's row, and what each level leaves of it. */
constexpr uint32_t SETS = PP_CLIQUE_LEVELS + 1;

__device__ __forceinline__ uint32_t
bits_below(uint32_t bit)
{
	return (1u << bit) - 1;
}

/* ---------- counts of vertices ---------- */

/* Those of a root's entries in shared memory. */
struct SharedCounts
{
	unsigned long long *count;
	PpJoinSignals *signals;

	__device__ __forceinline__ void
	add(uint32_t entry, uint64_t n) const
	{
		if (n > 0 && atomicAdd(&count[entry], (unsigned long long) n) + n < n)
			atomicOr(&signals->overflow, 1u);
	}
};

/* Straight to the answer. */
struct GlobalCounts
{
	const PpDegreeGraph &graph;
	uint32_t	at;				/* of the root's list */

	__device__ __forceinline__ void
	add(uint32_t entry, uint64_t n) const
	{
		pp_group_add(graph, graph.number[graph.list[at + entry]], n);
	}
};

/* ---------- matrices ---------- */

/*
 * Row i of the matrix of the list in mine, whose entry i is: a warp's work.  Only
 * words up to that of bit i are written; GROUPS: the matrix is zero before, and
 * bits go to both rows.
 */
template <bool GROUPS>
__device__ __forceinline__ void
make_row(const PpDegreeGraph &graph, const uint32_t *mine, uint32_t i, uint32_t *matrix,
		 uint32_t stride)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t *list = graph.list;
	const uint32_t from = graph.start[mine[i]];
	const uint32_t to = graph.start[mine[i] + 1];
	uint32_t   *row = matrix + (size_t) i * stride;

	if ((to - from) * pp_search_steps(i) < i * pp_search_steps(to - from) || from == to)
	{
		if (!GROUPS)
			for (uint32_t w = lane; w <= i / 32; w += 32)
				row[w] = 0;
		__syncwarp();
		for (uint32_t p = from + lane; p < to; p += 32)
		{
			const uint32_t rank = list[p];
			const uint32_t j = pp_lower_bound(mine, 0, i, rank);

			if (j == i || mine[j] != rank)
				continue;
			atomicOr(&row[j / 32], 1u << j % 32);
			if (GROUPS)
				atomicOr(&matrix[(size_t) j * stride + i / 32], 1u << i % 32);
		}
		return;
	}
	for (uint32_t first = 0; first <= i; first += 32)
	{
		const uint32_t j = first + lane;
		bool		found = false;
		uint32_t	word;

		if (j < i)
		{
			const uint32_t p = pp_lower_bound(list, from, to, mine[j]);

			found = p < to && list[p] == mine[j];
		}
		word = __ballot_sync(PP_JOIN_LANES, found);
		if (GROUPS && found)
			atomicOr(&matrix[(size_t) j * stride + i / 32], 1u << i % 32);
		if (lane == 0 && GROUPS)
			atomicOr(&row[first / 32], word);
		if (lane == 0 && !GROUPS)
			row[first / 32] = word;
	}
}

/* ---------- the last two vertices ---------- */

/*
 * Pairs of neighbours in a set, of which the greater one is entry j of it; GROUPS:
 * *above: those of which it is the lesser one.  A lane takes every step-th word,
 * from first on.
 */
template <bool GROUPS>
__device__ __forceinline__ uint32_t
count_row(const uint32_t *set, uint32_t top, const uint32_t *row, uint32_t j, uint32_t first,
		  uint32_t step, uint32_t *above)
{
	uint32_t	below = 0;

	for (uint32_t w = first; w <= j / 32; w += step)
		below += (uint32_t) __popc(set[w] & row[w] &
								   (GROUPS && w == j / 32 ? bits_below(j % 32) : PP_JOIN_LANES));
	if (GROUPS)
	{
		*above = 0;
		for (uint32_t w = first; w <= top; w += step)
			if (w >= j / 32)
				*above += (uint32_t) __popc(set[w] & row[w] &
											(w == j / 32 ? ~bits_below(j % 32) : PP_JOIN_LANES));
	}
	return below;
}

/*
 * Pairs of neighbours in a set; a lane's share of them.  TOGETHER: the lanes go
 * through an entry's row, else each through its own.  buffer: 64 words.
 */
template <bool GROUPS, bool TOGETHER, class Counts>
__device__ __forceinline__ uint64_t
count_pairs(const uint32_t *set, uint32_t top, const uint32_t *matrix, uint32_t stride,
			uint32_t *buffer, const uint64_t *place, const Counts &counts, uint32_t *steps)
{
	const uint32_t lane = threadIdx.x % 32;
	uint32_t	fill = 0;
	uint64_t	sum = 0;

	for (uint32_t w = 0; w <= top; w++)
	{
		const uint32_t bits = set[w];

		if (TOGETHER)
		{
			for (uint32_t left = bits; left != 0; left &= left - 1)
			{
				const uint32_t j = 32 * w + (uint32_t) __ffs((int) left) - 1;
				uint32_t	above = 0;
				const uint32_t below = count_row<GROUPS>(set, top, matrix + (size_t) j * stride, j,
														 lane, 32, &above);

				if (GROUPS)
				{
					const uint64_t all = pp_warp_sum(below * place[1] + above * place[0]);

					if (lane == 0)
						counts.add(j, all);
				}
				sum += below;
				*steps += top / 32 + 1;
			}
			continue;
		}
		if ((bits >> lane & 1) != 0)
			buffer[fill + (uint32_t) __popc(bits & bits_below(lane))] = 32 * w + lane;
		fill += (uint32_t) __popc(bits);
		if (fill >= 32 || w == top)
		{
			uint32_t	j;
			uint32_t	rest;

			__syncwarp();
			j = buffer[lane];
			rest = buffer[32 + lane];
			if (lane < fill)
			{
				uint32_t	above = 0;
				const uint32_t below = count_row<GROUPS>(set, top, matrix + (size_t) j * stride, j,
														 0, 1, &above);

				if (GROUPS)
					counts.add(j, below * place[1] + above * place[0]);
				sum += below;
			}
			__syncwarp();
			*steps += top + 1;
			buffer[lane] = rest;
			fill = fill > 32 ? fill - 32 : 0;
			__syncwarp();
		}
	}
	/* what was left when the last word came */
	if (!TOGETHER && lane < fill)
	{
		const uint32_t j = buffer[lane];
		uint32_t	above = 0;
		const uint32_t below = count_row<GROUPS>(set, top, matrix + (size_t) j * stride, j, 0, 1,
												 &above);

		if (GROUPS)
			counts.add(j, below * place[1] + above * place[0]);
		sum += below;
	}
	__syncwarp();
	return sum;
}

/* ---------- a second vertex ---------- */

/* What a warp works with; sets are stride words apart. */
struct Walk
{
	const uint32_t *matrix;
	uint32_t	matrix_stride;
	uint32_t   *sets;
	uint32_t	set_stride;
	uint32_t   *buffer;
	const uint64_t *place;
	uint32_t	k;
	uint32_t	quota;
	uint32_t	steps;			/* of this warp */
	uint64_t	n;				/* cliques; GROUPS: what the root counts */
};

/* Of GROUPS: pairs were found behind a second vertex and levels + 1 levels, or none. */
template <class Counts>
__device__ __forceinline__ uint64_t
give_pairs(const Walk &walk, uint32_t second, uint32_t levels, uint64_t pairs, const Counts &counts)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint64_t all = pp_warp_sum(pairs);

	if (lane < levels)
		counts.add(walk.sets[lane * walk.set_stride + SET_TAKEN], all * walk.place[walk.k - 3 - lane]);
	if (lane == 31)
		counts.add(second, all * walk.place[walk.k - 2]);
	return pairs * walk.place[walk.k - 1];
}

/* Begins with a second vertex; false: all that is in it is counted already. */
template <bool GROUPS, bool TOGETHER, class Counts>
__device__ __forceinline__ bool
begin_walk(Walk &walk, uint32_t second, const Counts &counts)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t *row = walk.matrix + (size_t) second * walk.matrix_stride;
	uint32_t   *set = walk.sets;
	uint32_t	n = 0;

	/* none still looks at the second vertex before */
	__syncwarp();
	for (uint32_t w = lane; w <= second / 32; w += 32)
	{
		const uint32_t word = row[w] & (GROUPS && w == second / 32 ? bits_below(second % 32) :
										PP_JOIN_LANES);

		set[SET_WORDS + w] = word;
		n += (uint32_t) __popc(word);
	}
	if (lane == 0)
		set[SET_TOP] = second / 32;
	__syncwarp();
	walk.steps += second / 1024 + 1;
	if (pp_warp_sum(n) < walk.k - 2)
		return false;
	if (walk.k > 4)
		return true;
	{
		const uint64_t pairs = count_pairs<GROUPS, TOGETHER>(set + SET_WORDS, second / 32, walk.matrix,
															 walk.matrix_stride, walk.buffer, walk.place,
															 counts, &walk.steps);

		walk.n += GROUPS ? give_pairs(walk, second, 0, pairs, counts) : pairs;
	}
	return false;
}

/* Goes on with a second vertex, on some level; false: it has not come to an end. */
template <bool GROUPS, bool TOGETHER, class Counts>
__device__ __forceinline__ bool
go_on(Walk &walk, uint32_t second, uint32_t *at_level, const Counts &counts)
{
	const uint32_t lane = threadIdx.x % 32;
	uint32_t	level = *at_level;

	while (walk.steps < walk.quota)
	{
		uint32_t   *set = walk.sets + level * walk.set_stride;
		uint32_t   *next = set + walk.set_stride;
		uint32_t	top = set[SET_TOP];
		uint32_t	word;
		uint32_t	which;
		uint32_t	lanes;
		uint32_t	j;
		uint32_t	n = 0;

		/* the last entry that is left */
		for (;;)
		{
			word = lane <= top ? set[SET_WORDS + top - lane] : 0;
			lanes = __ballot_sync(PP_JOIN_LANES, word != 0);
			if (lanes != 0 || top < 32)
				break;
			top -= 32;
		}
		walk.steps++;
		if (lanes == 0)
		{
			if (level == 0)
				return true;
			level--;
			continue;
		}
		which = (uint32_t) __ffs((int) lanes) - 1;
		word = __shfl_sync(PP_JOIN_LANES, word, which);
		top -= which;
		j = 31 - (uint32_t) __clz((int) word);
		__syncwarp();
		if (lane == 0)
		{
			set[SET_TOP] = top;
			set[SET_TAKEN] = 32 * top + j;
			set[SET_WORDS + top] = word ^ 1u << j;
			next[SET_TOP] = top;
		}
		__syncwarp();
		j += 32 * top;
		/* those behind it were taken already, or are not in its row */
		for (uint32_t w = lane; w <= top; w += 32)
		{
			const uint32_t both = set[SET_WORDS + w] & walk.matrix[(size_t) j * walk.matrix_stride + w];

			next[SET_WORDS + w] = both;
			n += (uint32_t) __popc(both);
		}
		__syncwarp();
		walk.steps += top / 32;
		if (pp_warp_sum(n) < walk.k - 3 - level)
			continue;
		if (level + 5 < walk.k)
		{
			level++;
			continue;
		}
		{
			const uint64_t pairs = count_pairs<GROUPS, TOGETHER>(next + SET_WORDS, top, walk.matrix,
																 walk.matrix_stride, walk.buffer,
																 walk.place, counts, &walk.steps);

			walk.n += GROUPS ? give_pairs(walk, second, level + 1, pairs, counts) : pairs;
		}
	}
	*at_level = level;
	return false;
}

/* ---------- up to 32 entries ---------- */

struct LaneShared
{
	uint32_t	row[THREADS];
	uint32_t	above[THREADS];	/* GROUPS: bits of entries behind it */
	uint32_t	set[PP_CLIQUE_LEVELS][THREADS];
	uint8_t		taken[PP_CLIQUE_LEVELS][THREADS];
	unsigned long long count[THREADS];
	uint64_t	place[PP_GREATEST_CLIQUE];
	PpSumShared sums;
};

/* Pairs of neighbours in a set of a lane's. */
template <bool GROUPS>
__device__ __forceinline__ uint32_t
count_short_pairs(LaneShared &sh, uint32_t base, uint32_t set, const SharedCounts &counts)
{
	uint32_t	pairs = 0;

	for (uint32_t left = set; left != 0; left &= left - 1)
	{
		const uint32_t j = (uint32_t) __ffs((int) left) - 1;
		const uint32_t below = (uint32_t) __popc(set & sh.row[base + j]);

		pairs += below;
		if (GROUPS)
			counts.add(base + j, below * sh.place[1] +
					   (uint32_t) __popc(set & sh.above[base + j]) * sh.place[0]);
	}
	return pairs;
}

/* Cliques of a root and the lane's entry, i. */
template <bool GROUPS>
__device__ __forceinline__ uint64_t
count_short(LaneShared &sh, uint32_t k, uint32_t i, const SharedCounts &counts, uint32_t *steps)
{
	const uint32_t thread = threadIdx.x;
	const uint32_t base = thread - i;
	uint32_t	left = sh.row[thread];
	uint32_t	level = 0;
	uint64_t	n = 0;

	if ((uint32_t) __popc(left) < k - 2)
		return 0;
	if (k == 4)
	{
		n = count_short_pairs<GROUPS>(sh, base, left, counts);
		*steps += (uint32_t) __popc(left);
	}
	else
		for (;;)
		{
			uint32_t	j;
			uint32_t	next;

			++*steps;
			if ((uint32_t) __popc(left) < k - 2 - level)
			{
				if (level == 0)
					break;
				left = sh.set[--level][thread];
				continue;
			}
			j = 31 - (uint32_t) __clz((int) left);
			left ^= 1u << j;
			next = left & sh.row[base + j];
			if (GROUPS)
				sh.taken[level][thread] = (uint8_t) j;
			if (level + 5 < k)
			{
				sh.set[level++][thread] = left;
				left = next;
				continue;
			}
			{
				const uint32_t pairs = count_short_pairs<GROUPS>(sh, base, next, counts);

				n += pairs;
				*steps += (uint32_t) __popc(next);
				for (uint32_t l = 0; l <= level && GROUPS; l++)
					counts.add(base + sh.taken[l][thread], pairs * sh.place[k - 3 - l]);
			}
		}
	if (GROUPS)
		counts.add(thread, n * sh.place[k - 2]);
	return n;
}

/* Roots from to to - 1, of at most EACH entries: an item is a warp's fill of them. */
template <bool GROUPS, uint32_t EACH>
__global__ void __launch_bounds__(THREADS, BLOCKS)
lane_cliques(PpDegreeGraph graph, uint32_t from, uint32_t to)
{
	PP_SHARED(LaneShared, sh);
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t i = lane % EACH;
	const uint32_t nitems = (to - from + 32 / EACH - 1) / (32 / EACH);
	const SharedCounts counts = {sh.count, graph.signals};
	uint64_t	sum = 0;
	uint32_t	seeks = 0;
	uint32_t	steps = 0;

	if (GROUPS)
	{
		if (threadIdx.x == 0)
		{
#pragma unroll
			for (uint32_t p = 0; p < PP_GREATEST_CLIQUE; p++)
				sh.place[p] = graph.place[p];
		}
		__syncthreads();
	}
	for (;;)
	{
		uint32_t	item = NONE;
		uint32_t	r;
		uint32_t	u = 0;
		uint32_t	v = 0;
		uint32_t	at = 0;
		uint32_t	length = 0;
		uint32_t	bits = 0;
		uint32_t	here = 0;
		uint64_t	n;

		if (lane == 0 && steps < graph.quota && !pp_stopped(graph.signals))
			item = atomicAdd(&graph.work->next, 1u);
		item = __shfl_sync(PP_JOIN_LANES, item, 0);
		if (item >= nitems)
			break;
		r = from + item * (32 / EACH) + lane / EACH;
		if (r < to)
		{
			u = graph.root[r];
			at = graph.start[u];
			length = graph.start[u + 1] - at;
		}
		if (i < length)
		{
			v = graph.list[at + i];
			bits = pp_common_bits(graph.list, at, i, graph.start[v], graph.start[v + 1]);
			here = i;
			seeks++;
		}
		sh.row[threadIdx.x] = bits;
		__syncwarp();
		if (GROUPS)
		{
			uint32_t	above = 0;

			for (uint32_t b = i + 1; b < EACH; b++)
				above |= (sh.row[threadIdx.x - i + b] >> i & 1) << b;
			sh.above[threadIdx.x] = above;
			sh.count[threadIdx.x] = 0;
			__syncwarp();
		}
		n = count_short<GROUPS>(sh, graph.k, i, counts, &here);
		__syncwarp();
		if (GROUPS)
		{
			for (uint32_t d = EACH / 2; d > 0; d /= 2)
				n += __shfl_xor_sync(PP_JOIN_LANES, n, (int) d);
			if (i < length)
				pp_group_add(graph, graph.number[v], sh.count[threadIdx.x]);
			if (i == 0 && length > 0)
				pp_group_add(graph, graph.number[u], n * sh.place[graph.k - 1]);
		}
		else
			sum += n;
		/* lanes wait for each other, but not all for the same one */
		steps += pp_warp_sum(here) / 8;
	}
	pp_signal_sums(graph.signals, sh.sums, pp_clique_sum(graph, sum), seeks, false);
}

/* ---------- up to 512 entries ---------- */

/* What a block has in hand between two launches. */
template <uint32_t MOST>
struct BlockState
{
	uint32_t	item;			/* NONE: nothing */
	uint32_t	second;			/* second vertices that were taken */
	uint32_t	warp_second[WARPS];	/* what each warp has in hand, or NONE */
	uint32_t	warp_level[WARPS];
	uint32_t	set[WARPS][SETS][SET_WORDS + MOST / 32];
};

template <bool GROUPS, uint32_t MOST>
struct BlockShared
{
	BlockState<MOST> state;
	uint32_t	matrix[MOST * (MOST / 32 | 1)];	/* rows in different banks */
	uint32_t	mine[MOST];
	uint32_t	buffer[WARPS][64];
	unsigned long long count[GROUPS ? MOST : 1];
	uint64_t	place[PP_GREATEST_CLIQUE];
	uint32_t	steps;
	uint32_t	ended;
	PpSumShared sums;
};

/* Roots from to to - 1, of at most MOST entries each. */
template <bool GROUPS, uint32_t MOST>
__global__ void __launch_bounds__(THREADS, BLOCKS)
block_cliques(PpDegreeGraph graph, uint32_t from, uint32_t to, BlockState<MOST> *states)
{
	typedef BlockShared<GROUPS, MOST> Shared;
	PP_SHARED(Shared, sh);
	constexpr uint32_t STRIDE = MOST / 32 | 1;
	constexpr uint32_t STATE_WORDS = sizeof(BlockState<MOST>) / sizeof(uint32_t);
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t warp = threadIdx.x / 32;
	const SharedCounts counts = {sh.count, graph.signals};
	uint64_t	sum = 0;
	uint32_t	seeks = 0;
	Walk		walk;

	for (uint32_t i = threadIdx.x; i < STATE_WORDS; i += THREADS)
		reinterpret_cast<uint32_t *>(&sh.state)[i] =
			reinterpret_cast<const uint32_t *>(&states[blockIdx.x])[i];
	if (threadIdx.x == 0)
	{
#pragma unroll
		for (uint32_t p = 0; p < PP_GREATEST_CLIQUE; p++)
			sh.place[p] = graph.place[p];
		sh.steps = 0;
	}
	walk.matrix = sh.matrix;
	walk.matrix_stride = STRIDE;
	walk.sets = sh.state.set[warp][0];
	walk.set_stride = SET_WORDS + MOST / 32;
	walk.buffer = sh.buffer[warp];
	walk.place = sh.place;
	walk.k = graph.k;
	walk.quota = graph.quota;
	walk.steps = 0;
	walk.n = 0;
	__syncthreads();
	for (;;)
	{
		uint32_t	u;
		uint32_t	at;
		uint32_t	length;
		uint32_t	seconds;
		uint32_t	second;
		uint32_t	level;

		if (threadIdx.x == 0 && sh.state.item == NONE && sh.steps < graph.quota &&
			!pp_stopped(graph.signals))
		{
			const uint32_t item = atomicAdd(&graph.work->next, 1u);

			sh.state.item = item < to - from ? item : NONE;
			sh.state.second = 0;
		}
		__syncthreads();
		if (sh.state.item == NONE)
			break;
		u = graph.root[from + sh.state.item];
		at = graph.start[u];
		length = graph.start[u + 1] - at;
		seconds = length + 2 > graph.k ? length + 2 - graph.k : 0;
		for (uint32_t i = threadIdx.x; i < length; i += THREADS)
		{
			sh.mine[i] = graph.list[at + i];
			if (GROUPS)
				sh.count[i] = 0;
		}
		for (uint32_t i = threadIdx.x; GROUPS && i < length * STRIDE; i += THREADS)
			sh.matrix[i] = 0;
		__syncthreads();
		for (uint32_t i = warp; i < length; i += WARPS)
		{
			make_row<GROUPS>(graph, sh.mine, i, sh.matrix, STRIDE);
			seeks += lane == 0;
		}
		__syncthreads();
		second = sh.state.warp_second[warp];
		level = sh.state.warp_level[warp];
		__syncwarp();
		for (;;)
		{
			if (second == NONE)
			{
				uint32_t	next = NONE;

				if (walk.steps >= walk.quota)
					break;
				if (lane == 0)
					next = atomicAdd(&sh.state.second, 1u);
				next = __shfl_sync(PP_JOIN_LANES, next, 0);
				if (next >= seconds)
					break;
				/* those that most entries are before come first */
				second = length - 1 - next;
				level = 0;
				if (!begin_walk<GROUPS, false>(walk, second, counts))
				{
					second = NONE;
					continue;
				}
			}
			if (!go_on<GROUPS, false>(walk, second, &level, counts))
				break;
			second = NONE;
		}
		if (lane == 0)
		{
			sh.state.warp_second[warp] = second;
			sh.state.warp_level[warp] = level;
			atomicMax(&sh.steps, walk.steps);
		}
		if (GROUPS)
		{
			walk.n = pp_warp_sum(walk.n);
			if (lane == 0)
				pp_group_add(graph, graph.number[u], walk.n);
		}
		else
			sum += walk.n;
		walk.n = 0;
		__syncthreads();
		for (uint32_t i = threadIdx.x; GROUPS && i < length; i += THREADS)
			pp_group_add(graph, graph.number[sh.mine[i]], sh.count[i]);
		if (threadIdx.x == 0)
		{
			bool		ended = sh.state.second >= seconds;

			for (uint32_t w = 0; w < WARPS; w++)
				ended &= sh.state.warp_second[w] == NONE;
			if (ended)
				sh.state.item = NONE;
			sh.ended = ended;
		}
		__syncthreads();
		if (!sh.ended)
			break;
	}
	for (uint32_t i = threadIdx.x; i < STATE_WORDS; i += THREADS)
		reinterpret_cast<uint32_t *>(&states[blockIdx.x])[i] =
			reinterpret_cast<const uint32_t *>(&sh.state)[i];
	if (threadIdx.x == 0 && sh.state.item != NONE)
		atomicAdd(&graph.work->pending, 1u);
	pp_signal_sums(graph.signals, sh.sums, pp_clique_sum(graph, sum), seeks, false);
}

/* ---------- longer lists ---------- */

/* What a warp has in hand between two launches. */
struct WarpState
{
	uint32_t	item;			/* or NONE */
	uint32_t	level;
};

struct WarpShared
{
	uint64_t	place[PP_GREATEST_CLIQUE];
	PpSumShared sums;
};

/* Rows first to end - 1 of the matrices of roots from on: of most rows each. */
template <bool GROUPS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
make_matrices(PpDegreeGraph graph, uint32_t from, uint32_t most, uint64_t first, uint64_t end,
			  uint32_t *matrices)
{
	const uint32_t stride = (most + 31) / 32;

	for (uint64_t row = first + ((uint64_t) blockIdx.x * THREADS + threadIdx.x) / 32; row < end;
		 row += (uint64_t) gridDim.x * WARPS)
	{
		const uint32_t r = (uint32_t) (row / most);
		const uint32_t i = (uint32_t) (row % most);
		const uint32_t u = graph.root[from + r];
		const uint32_t at = graph.start[u];

		if (i < graph.start[u + 1] - at)
			make_row<GROUPS>(graph, graph.list + at, i, matrices + (size_t) r * most * stride,
							 stride);
	}
}

/*
 * An item is a second vertex of one of n roots; stacks are those of all warps, of
 * SETS sets each.
 */
template <bool GROUPS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
warp_cliques(PpDegreeGraph graph, uint32_t from, uint32_t n, uint32_t most, const uint32_t *matrices,
			 WarpState *states, uint32_t *stacks)
{
	PP_SHARED(WarpShared, sh);
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t warp = (blockIdx.x * THREADS + threadIdx.x) / 32;
	const uint32_t words = (most + 31) / 32;
	uint32_t	item = states[warp].item;
	uint32_t	level = states[warp].level;
	uint64_t	sum = 0;
	uint32_t	seeks = 0;
	Walk		walk;

	if (threadIdx.x == 0)
	{
#pragma unroll
		for (uint32_t p = 0; p < PP_GREATEST_CLIQUE; p++)
			sh.place[p] = graph.place[p];
	}
	__syncthreads();
	walk.matrix_stride = words;
	walk.set_stride = SET_WORDS + words;
	walk.sets = stacks + (size_t) warp * SETS * walk.set_stride;
	walk.buffer = nullptr;
	walk.place = sh.place;
	walk.k = graph.k;
	walk.quota = graph.quota;
	walk.steps = 0;
	for (;;)
	{
		const bool	begun = item != NONE;
		bool		ended = true;
		uint32_t	u;
		uint32_t	second;

		if (!begun)
		{
			if (lane == 0 && walk.steps < walk.quota && !pp_stopped(graph.signals))
				item = atomicAdd(&graph.work->next, 1u);
			item = __shfl_sync(PP_JOIN_LANES, item, 0);
			if (item >= n * most)
			{
				item = NONE;
				break;
			}
		}
		u = graph.root[from + item / most];
		second = most - 1 - item % most;
		walk.matrix = matrices + (size_t) (item / most) * most * words;
		walk.n = 0;
		if (second < graph.start[u + 1] - graph.start[u] && second + 2 >= graph.k)
		{
			const GlobalCounts counts = {graph, graph.start[u]};

			if (!begun)
			{
				level = 0;
				seeks += lane == 0;
				ended = !begin_walk<GROUPS, true>(walk, second, counts);
			}
			if (begun || !ended)
				ended = go_on<GROUPS, true>(walk, second, &level, counts);
		}
		else
			walk.steps++;
		if (GROUPS)
		{
			walk.n = pp_warp_sum(walk.n);
			if (lane == 0)
				pp_group_add(graph, graph.number[u], walk.n);
		}
		else
			sum += walk.n;
		if (!ended)
			break;
		item = NONE;
	}
	if (lane == 0)
	{
		states[warp].item = item;
		states[warp].level = level;
		if (item != NONE)
			atomicAdd(&graph.work->pending, 1u);
	}
	pp_signal_sums(graph.signals, sh.sums, pp_clique_sum(graph, sum), seeks, false);
}

/* ---------- the host's side ---------- */

template <class T>
T *
as(const PpBuffer &buffer)
{
	return reinterpret_cast<T *>(buffer.p);
}

/* Sets states to NONE. */
PpJoinStatus
forget(PpDeviceJoin *join, const PpBuffer &states, uint64_t bytes)
{
	return pp_join_call("filling memory of the device failed",
						cudaMemsetAsync(states.p, 0xff, bytes, join->stream));
}

template <bool GROUPS, uint32_t EACH>
PpJoinStatus
short_lists(PpDeviceJoin *join, const PpDegreeGraph &graph, uint32_t greatest, uint32_t least)
{
	const PpDegreeJoin *d = join->degree;
	const uint32_t from = d->first[greatest];
	const uint32_t to = d->first[least - 1];
	uint32_t	blocks;

	TRY(pp_degree_blocks(d, lane_cliques<GROUPS, EACH>, THREADS, &blocks));
	return pp_degree_repeat(join, (to - from + 32 / EACH - 1) / (32 / EACH), [&]() {
		PP_LAUNCH((lane_cliques<GROUPS, EACH>), blocks, THREADS, 0, join->stream, graph, from, to);
	});
}

template <bool GROUPS, uint32_t MOST>
PpJoinStatus
medium_lists(PpDeviceJoin *join, const PpDegreeGraph &graph, uint32_t greatest, uint32_t least)
{
	PpDegreeJoin *d = join->degree;
	const uint32_t from = d->first[greatest];
	const uint32_t to = d->first[least - 1];
	uint32_t	blocks;

	if (from == to)
		return PP_JOIN_OK;
	TRY(pp_degree_blocks(d, block_cliques<GROUPS, MOST>, THREADS, &blocks));
	TRY(pp_join_reserve(join, &d->scratch[0], (uint64_t) blocks * sizeof(BlockState<MOST>)));
	TRY(forget(join, d->scratch[0], (uint64_t) blocks * sizeof(BlockState<MOST>)));
	return pp_degree_repeat(join, to - from, [&]() {
		PP_LAUNCH((block_cliques<GROUPS, MOST>), blocks, THREADS, 0, join->stream, graph, from, to,
				  as<BlockState<MOST> >(d->scratch[0]));
	});
}

/* Roots from to from + n - 1, of at most most entries each. */
template <bool GROUPS>
PpJoinStatus
long_batch(PpDeviceJoin *join, const PpDegreeGraph &graph, uint32_t from, uint32_t n, uint32_t most,
		   uint32_t blocks)
{
	PpDegreeJoin *d = join->degree;
	const uint64_t rows = (uint64_t) n * most;
	const uint64_t words = (most + 31) / 32;
	const uint64_t piece = PP_DEGREE_SEARCHES / most + 1;
	uint32_t	makers;

	if (GROUPS)
		TRY(pp_join_clear(join, d->scratch[1].p, rows * words * sizeof(uint32_t)));
	TRY(pp_degree_blocks(d, make_matrices<GROUPS>, THREADS, &makers));
	for (uint64_t row = 0, end; row < rows; row = end)
	{
		end = rows - row < piece ? rows : row + piece;
		PP_LAUNCH(make_matrices<GROUPS>, makers, THREADS, 0, join->stream, graph, from, most, row,
				  end, as<uint32_t>(d->scratch[1]));
		TRY(pp_join_launched(join, "launching a join by degree failed"));
		TRY(pp_join_wait(join));
	}
	TRY(forget(join, d->scratch[0], (uint64_t) blocks * WARPS * sizeof(WarpState)));
	return pp_degree_repeat(join, (uint32_t) rows, [&]() {
		PP_LAUNCH(warp_cliques<GROUPS>, blocks, THREADS, 0, join->stream, graph, from, n, most,
				  as<uint32_t>(d->scratch[1]), as<WarpState>(d->scratch[0]),
				  as<uint32_t>(d->scratch[2]));
	});
}

template <bool GROUPS>
PpJoinStatus
long_lists(PpDeviceJoin *join, const PpDegreeGraph &graph, uint32_t c)
{
	PpDegreeJoin *d = join->degree;
	const uint32_t to = d->first[c - 1];
	const uint32_t most = pp_degree_most(d, c);
	const uint64_t words = (most + 31) / 32;
	const uint64_t matrix = most * words * sizeof(uint32_t);
	const uint64_t stack = WARPS * SETS * (SET_WORDS + words) * sizeof(uint32_t);
	uint64_t	batch;
	uint32_t	from = d->first[c];
	uint32_t	blocks;

	if (from == to)
		return PP_JOIN_OK;
	batch = to - from;
	TRY(pp_degree_blocks(d, warp_cliques<GROUPS>, THREADS, &blocks));
	TRY(pp_degree_room(join, matrix, stack, &batch, &blocks));
	TRY(pp_join_reserve(join, &d->scratch[0], (uint64_t) blocks * WARPS * sizeof(WarpState)));
	for (uint32_t n; from < to; from += n)
	{
		n = to - from < batch ? to - from : (uint32_t) batch;
		TRY(long_batch<GROUPS>(join, graph, from, n, most, blocks));
	}
	return PP_JOIN_OK;
}

template <bool GROUPS>
PpJoinStatus
cliques(PpDeviceJoin *join, const PpDegreeGraph &graph)
{
	const uint32_t *upto = join->degree->upto;

	for (uint32_t c = PP_DEGREE_CLASSES - 1; c > upto[3]; c--)
		TRY(long_lists<GROUPS>(join, graph, c));
	TRY((medium_lists<GROUPS, 512>(join, graph, upto[3], upto[2] + 1)));
	TRY((medium_lists<GROUPS, 128>(join, graph, upto[2], upto[1] + 1)));
	TRY((short_lists<GROUPS, 32>(join, graph, upto[1], upto[0] + 1)));
	return short_lists<GROUPS, 8>(join, graph, upto[0], 1);
}

}								/* namespace */

PpJoinStatus
pp_degree_room(PpDeviceJoin *join, uint64_t matrix, uint64_t stack, uint64_t *batch,
			   uint32_t *blocks)
{
	PpDegreeJoin *d = join->degree;
	const uint64_t most = MATRIX_BYTES / matrix;
	PpJoinStatus status;

	*batch = most < 1 ? 1 : most < *batch ? most : *batch;
	/* less of it does, too */
	while ((status = pp_join_reserve(join, &d->scratch[1], *batch * matrix)) == PP_JOIN_NO_FIT &&
		   *batch > 1)
		*batch /= 2;
	while (status == PP_JOIN_OK &&
		   (status = pp_join_reserve(join, &d->scratch[2], *blocks * stack)) == PP_JOIN_NO_FIT &&
		   *blocks > 1)
	{
		*blocks /= 2;
		status = PP_JOIN_OK;
	}
	return status;
}

PpJoinStatus
pp_degree_cliques(PpDeviceJoin *join, uint64_t *out)
{
	PpDegreeGraph graph = join->degree->graph;

	graph.out = out;
	return out != nullptr ? cliques<true>(join, graph) : cliques<false>(join, graph);
}
