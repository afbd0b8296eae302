/*
 * cuda/join_degree_maps.cu
 *	  Counts cliques of four to eight vertices where edges do not count alike: of
 *	  any number of rows in each direction, in any pattern of directions, with
 *	  loops.
 *
 * What is counted are maps of variables to vertices.  A map's root is its vertex of
 * greatest rank, and the first variable that has it is the map's path: those before
 * that one have something else.  Then all other variables are among the root and
 * its list, whose edges become rows of bits: those from a vertex, those to it,
 * those of several rows, and the vertices of lesser keys.  Variables are bound one
 * after another; what each of the others may be is a set, a row of bits as well,
 * that every value narrows, on an explicit stack.  Of the last two variables, each
 * lane, or some lanes together, take values of the first one and count the bits of
 * the second; only those that have an edge of several rows to something that is
 * bound are multiplied out.
 *
 * Where undirected cliques count alike but for the rows of their edges, maps are
 * those in order of rank, edges lead to lesser ranks, and all variables that are
 * left have the same set.  There, maps in which variables have the same vertex,
 * which has loops, are counted in a pass of their own, that goes on only where two
 * are the same, or may become so.
 *
 * An item is a root and a value of the variable bound after it, or, where lists are
 * short, a root; a warp takes it.  One that has had its share of a launch leaves
 * its stack in device memory, and goes on from there in the next one.
 *
 * Sums are exact: a product of rows of more than 64 bits makes the CPU's engine
 * answer instead, and sums of products have 128 bits.
 */
#include "join_degree.h"

#include <cstring>

namespace
{

constexpr uint32_t THREADS = 256;
constexpr uint32_t WARPS = THREADS / 32;

/* Blocks that a multiprocessor has registers for: 64 a thread, which is enough. */
constexpr uint32_t BLOCKS = 4;

constexpr uint32_t NONE = 0xffffffffu;

/* Bytes of the tables of a plan, as words. */
constexpr uint32_t TABLE_WORDS = PP_GREATEST_CLIQUE * PP_GREATEST_CLIQUE / 4;

/* Levels of a stack: of two values that are bound, and so on up to all but two. */
constexpr uint32_t LEVELS = PP_GREATEST_CLIQUE - 3;

/* Rows of bits of a level, before its sets: what has an edge of several rows to
 * something that is bound, and what is bound. */
constexpr uint32_t HEAVY_ROW = 0;
constexpr uint32_t BOUND_ROW = 1;
constexpr uint32_t SET_ROWS = 2;

/* Entries of a list up to which an item is a root. */
constexpr uint32_t SHORT = 32;

/* A pass; what depends on the lengths of lists is there for each launch. */
struct Plan
{
	uint32_t	order[TABLE_WORDS];	/* bytes [path][i]: the variable that is bound then */
	uint32_t	beside[TABLE_WORDS];	/* bytes as of PpMapQuery */
	uint32_t	k;
	uint32_t	npaths;
	uint32_t	group;			/* variable; NONE: count */
	uint64_t	factor;			/* of a map */
	bool		alike;
	bool		loops;			/* are in answers */
	bool		collapsed;		/* only maps that give two variables the same vertex */
	bool		heavy;
	bool		sorted;

	uint32_t	most;			/* entries of a list */
	uint32_t	words;			/* of a row of bits */
	uint32_t	share;			/* lanes that go through a row together */
	uint32_t	level_rows;		/* of a stack */
	uint32_t	each;			/* turns of an item */
	/* words of a root's matrices: those from a vertex come first, then, unless that is
	 * zero, at: */
	uint32_t	in_at;
	uint32_t	less_at;
	uint32_t	heavy_at;
	uint32_t	looped_at;		/* one row: those that have loops */
	uint32_t	room;			/* of all */
};

/* What a warp has in hand between two launches. */
struct WarpState
{
	uint32_t	turn;
	uint32_t	end;			/* the same: nothing */
	uint32_t	nbound;			/* 0: the turn has not begun */
	uint32_t	met;			/* bit n: two of the first n values are the same */
	uint32_t	value[PP_GREATEST_CLIQUE];	/* local numbers */
	uint32_t	top[LEVELS];	/* word that has the set's greatest bit at most */
	uint64_t	product[LEVELS];	/* of the rows among what is bound */
};

/* A root's list, whose entries' numbers are their places; the root's is n. */
struct Root
{
	uint32_t	u;
	uint32_t	at;
	uint32_t	n;
};

/* What would take too many registers is here. */
struct MapShared
{
	uint32_t	order[TABLE_WORDS];
	uint32_t	beside[TABLE_WORDS];
	WarpState	state[WARPS];
	Root		root[WARPS];
	uint32_t	path[WARPS];
	uint32_t	seeks[WARPS];
	PpWideSum	sum[THREADS];	/* of each lane */
	PpSumShared sums;
};

__device__ __forceinline__ Root
root_of(const PpDegreeGraph &graph, uint32_t u)
{
	const uint32_t at = graph.start[u];

	return {u, at, graph.start[u + 1] - at};
}

__device__ __forceinline__ uint32_t
rank_of(const PpDegreeGraph &graph, const Root &root, uint32_t i)
{
	return i == root.n ? root.u : graph.list[root.at + i];
}

/* An edge's rows in the direction of its list, and back, as a pass has them. */
__device__ __forceinline__ uint2
rows_at(const PpMixedGraph &mixed, bool alike, uint32_t entry)
{
	uint2		rows = mixed.rows[entry];

	rows.x &= ~PP_KEY_LESS;
	if (alike)
	{
		rows.x = max(rows.x, rows.y);
		rows.y = 0;
	}
	return rows;
}

/* ---------- matrices ---------- */

__device__ __forceinline__ void
set_bit(uint32_t *row, uint32_t bit)
{
	atomicOr(&row[bit / 32], 1u << bit % 32);
}

/* An edge between high, whose list has it, and low. */
__device__ __forceinline__ void
put_edge(const Plan &plan, uint32_t *planes, uint32_t high, uint32_t low, bool back, uint2 rows)
{
	uint32_t   *of_high = planes + (size_t) high * plan.words;
	uint32_t   *of_low = planes + (size_t) low * plan.words;

	if (rows.x > 0)
	{
		set_bit(of_high, low);
		if (plan.in_at > 0 && back)
			set_bit(of_low + plan.in_at, high);
	}
	if (rows.y > 0)
	{
		if (plan.in_at > 0)
			set_bit(of_high + plan.in_at, low);
		if (back)
			set_bit(of_low, high);
	}
	if (plan.heavy_at > 0 && max(rows.x, rows.y) > 1)
	{
		set_bit(of_high + plan.heavy_at, low);
		if (back)
			set_bit(of_low + plan.heavy_at, high);
	}
}

/*
 * Rows first to end - 1 of the matrices of roots from on: of plan.most + 1 rows each,
 * which are zero before.  A warp makes a row, and what others have of its edges.
 */
__global__ void __launch_bounds__(THREADS, BLOCKS)
make_planes(PpDegreeGraph graph, PpMixedGraph mixed, Plan plan, uint32_t from, uint64_t first,
			uint64_t end, uint32_t *matrices)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t *list = graph.list;

	for (uint64_t row = first + ((uint64_t) blockIdx.x * THREADS + threadIdx.x) / 32; row < end;
		 row += (uint64_t) gridDim.x * WARPS)
	{
		const uint32_t r = (uint32_t) (row / (plan.most + 1));
		const uint32_t i = (uint32_t) (row % (plan.most + 1));
		const Root	root = root_of(graph, graph.root[from + r]);
		uint32_t   *planes = matrices + (size_t) r * plan.room;
		uint32_t	rank;
		uint32_t	begin;
		uint32_t	behind;

		if (i > root.n)
			continue;
		rank = rank_of(graph, root, i);
		if (plan.less_at > 0)
		{
			const uint32_t all = root.n + plan.loops;
			const uint32_t mine = graph.number[rank];

			for (uint32_t j0 = 0; j0 < all; j0 += 32)
			{
				const uint32_t j = j0 + lane;
				const bool	less = j < all && graph.number[rank_of(graph, root, j)] < mine;
				const uint32_t word = __ballot_sync(PP_JOIN_LANES, less);

				if (lane == 0)
					planes[plan.less_at + (size_t) i * plan.words + j0 / 32] = word;
			}
		}
		if (plan.loops && lane == 0 && mixed.loops[rank] > 0)
		{
			const uint32_t rows = mixed.loops[rank];

			put_edge(plan, planes, i, i, false, {rows, rows});
			set_bit(planes + plan.looped_at, i);
		}
		if (i == root.n)
			continue;
		if (lane == 0)
			put_edge(plan, planes, root.n, i, plan.loops, rows_at(mixed, plan.alike, root.at + i));
		begin = graph.start[rank];
		behind = graph.start[rank + 1];
		/* what both lists have: the shorter way */
		if ((behind - begin) * pp_search_steps(i) < i * pp_search_steps(behind - begin))
			for (uint32_t p = begin + lane; p < behind; p += 32)
			{
				const uint32_t j = pp_lower_bound(list, root.at, root.at + i, list[p]);

				if (j < root.at + i && list[j] == list[p])
					put_edge(plan, planes, i, j - root.at, true, rows_at(mixed, plan.alike, p));
			}
		else
			for (uint32_t j = lane; j < i; j += 32)
			{
				const uint32_t p = pp_lower_bound(list, begin, behind, list[root.at + j]);

				if (p < behind && list[p] == list[root.at + j])
					put_edge(plan, planes, i, j, true, rows_at(mixed, plan.alike, p));
			}
	}
}

/* ---------- a turn: a path, a root, and the value bound after it ---------- */

/* What a warp works with. */
struct Walk
{
	const PpDegreeGraph &graph;
	const PpMixedGraph &mixed;
	const Plan &plan;
	MapShared  &shared;
	WarpState  &state;
	const Root &root;
	const uint32_t *planes;
	uint32_t   *stacks;
	uint32_t	mine;			/* where this warp's begins there */
	uint32_t	nbound;
	uint32_t	steps;
};

/* The variable that is bound as number i. */
__device__ __forceinline__ uint32_t
variable(const Walk &walk, uint32_t i)
{
	return reinterpret_cast<const uint8_t *>(walk.shared.order)[PP_GREATEST_CLIQUE *
																	 walk.shared.path[threadIdx.x / 32] + i];
}

/* What variable number j may be beside number i. */
__device__ __forceinline__ uint32_t
beside(const Walk &walk, uint32_t i, uint32_t j)
{
	return reinterpret_cast<const uint8_t *>(walk.shared.beside)[PP_GREATEST_CLIQUE *
																   variable(walk, i) + variable(walk, j)];
}

__device__ __forceinline__ uint32_t *
row_of_level(const Walk &walk, uint32_t nbound, uint32_t row)
{
	return walk.stacks + (walk.mine + ((nbound - 2) * walk.plan.level_rows + row) * walk.plan.words);
}

/* Of what number i may be when so many are bound; alike: all may be the same. */
__device__ __forceinline__ uint32_t *
set_of(const Walk &walk, uint32_t nbound, uint32_t i)
{
	return row_of_level(walk, nbound, SET_ROWS + (walk.plan.alike ? 0 : i - nbound));
}

/* The word of what may be beside value a. */
__device__ __forceinline__ uint32_t
allowed(const Walk &walk, uint32_t may, uint32_t a, uint32_t word)
{
	const Plan &plan = walk.plan;
	const uint32_t *row = walk.planes + (size_t) a * plan.words + word;
	const uint32_t same = word == a / 32 ? 1u << a % 32 : 0;
	uint32_t	bits = 0;
	uint32_t	less;

	if ((may & PP_MAP_OUT) != 0)
		bits = row[0];
	if ((may & PP_MAP_IN) != 0)
		bits |= row[plan.in_at];
	if ((may & PP_MAP_ANY) == PP_MAP_ANY)
		return bits;
	if ((may & PP_MAP_ANY) == (PP_MAP_LESS | PP_MAP_GREATER))
		return bits & ~same;
	less = row[plan.less_at];
	return bits & (((may & PP_MAP_LESS) != 0 ? less : 0) | ((may & PP_MAP_SAME) != 0 ? same : 0) |
				   ((may & PP_MAP_GREATER) != 0 ? ~(less | same) : 0));
}

__device__ __forceinline__ uint32_t
heavy_word(const Walk &walk, uint32_t a, uint32_t word)
{
	return walk.planes[walk.plan.heavy_at + (size_t) a * walk.plan.words + word];
}

/* Multiplies by the rows between a and b, which may be there beside a. */
__device__ __forceinline__ void
multiply(Walk &walk, uint64_t *product, uint32_t may, uint32_t a, uint32_t b)
{
	const PpDegreeGraph &graph = walk.graph;
	const uint32_t high = max(a, b);
	uint32_t	by;
	bool		overflow = false;

	if ((heavy_word(walk, a, b / 32) >> b % 32 & 1) == 0)
		return;
	if (a == b)
		by = walk.mixed.loops[rank_of(graph, walk.root, a)];
	else
	{
		uint32_t	entry = walk.root.at + min(a, b);
		uint2		rows;

		if (high != walk.root.n)
		{
			const uint32_t v = graph.list[walk.root.at + high];

			entry = pp_lower_bound(graph.list, graph.start[v], graph.start[v + 1], graph.list[entry]);
		}
		rows = rows_at(walk.mixed, walk.plan.alike, entry);
		by = walk.plan.alike || ((may & PP_MAP_OUT) != 0) == (a == high) ? rows.x : rows.y;
	}
	pp_count_multiply(product, by, &overflow);
	if (overflow)
		atomicOr(&graph.signals->overflow, 1u);
}

/* The same for all that is bound, and what number i is. */
__device__ __forceinline__ void
multiply_bound(Walk &walk, uint64_t *product, uint32_t i, uint32_t b)
{
#pragma unroll 1
	for (uint32_t j = 0; j < walk.nbound; j++)
		multiply(walk, product, beside(walk, j, i), walk.state.value[j], b);
}

/*
 * Binds another variable, to a: what those behind it may still be becomes a level.
 * Nothing is bound if one of them may be nothing.
 */
__device__ __forceinline__ void
bind(Walk &walk, uint32_t a)
{
	const Plan &plan = walk.plan;
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t i = walk.nbound;
	const uint32_t n = walk.root.n;
	const uint32_t sub = lane % plan.share;
	const uint32_t nsets = plan.alike ? 1 : plan.k - i - 1;
	const uint32_t lanes = (plan.share == 32 ? PP_JOIN_LANES : (1u << plan.share) - 1) << (lane - sub);
	bool		may_meet = true;

	/* none still looks at what was bound before */
	__syncwarp();
	if (plan.collapsed)
	{
		bool		met = a == n;

		if (i > 1)
			met = (walk.state.met >> i & 1) != 0 ||
				(row_of_level(walk, i, BOUND_ROW)[a / 32] >> a % 32 & 1) != 0;
		may_meet = met;
		__syncwarp();
		if (lane == 0)
			walk.state.met = (walk.state.met & ~(2u << i)) | (met ? 2u << i : 0);
	}
	for (uint32_t t = 0; t < nsets; t += 32 / plan.share)
	{
		const uint32_t j = i + 1 + t + lane / plan.share;
		uint32_t	any = 0;
		uint32_t	looped = 0;

		if (j <= i + nsets)
			for (uint32_t w = sub; w < plan.words; w += plan.share)
			{
				uint32_t	word = allowed(walk, beside(walk, i, j), a, w);

				if (i > 1)
					word &= set_of(walk, i, j)[w];
				else
				{
					word &= allowed(walk, beside(walk, 0, j), n, w);
					if (w == n / 32 && variable(walk, j) < variable(walk, 0))
						word &= ~(1u << n % 32);
				}
				set_of(walk, i + 1, j)[w] = word;
				any |= word;
				if (plan.collapsed)
					looped |= word & walk.planes[plan.looped_at + w];
			}
		any = __ballot_sync(PP_JOIN_LANES, any != 0);
		if (!__all_sync(PP_JOIN_LANES, j > i + nsets || (any & lanes) != 0))
			return;
		may_meet |= __any_sync(PP_JOIN_LANES, looped != 0);
	}
	walk.steps += 1 + nsets * plan.words / 32;
	if (!may_meet)
		return;
	for (uint32_t w = lane; plan.heavy && w < plan.words; w += 32)
		row_of_level(walk, i + 1, HEAVY_ROW)[w] = heavy_word(walk, a, w) |
			(i > 1 ? row_of_level(walk, i, HEAVY_ROW)[w] : heavy_word(walk, n, w));
	for (uint32_t w = lane; plan.collapsed && w < plan.words; w += 32)
		row_of_level(walk, i + 1, BOUND_ROW)[w] = (w == a / 32 ? 1u << a % 32 : 0) |
			(i > 1 ? row_of_level(walk, i, BOUND_ROW)[w] : w == n / 32 ? 1u << n % 32 : 0);
	if (lane == 0)
	{
		uint64_t	product = i > 1 ? walk.state.product[i - 2] : plan.factor;

		if (plan.heavy &&
			(i == 1 || (row_of_level(walk, i, HEAVY_ROW)[a / 32] >> a % 32 & 1) != 0))
			multiply_bound(walk, &product, i, a);
		walk.state.product[i - 1] = product;
		walk.state.value[i] = a;
		walk.state.top[i - 1] = n / 32 < plan.words ? n / 32 : plan.words - 1;
	}
	walk.nbound = i + 1;
	__syncwarp();
}

/* Adds the values of the last two variables, all others being bound. */
__device__ __forceinline__ void
count_pairs(Walk &walk)
{
	const Plan &plan = walk.plan;
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t sub = lane % plan.share;
	const uint32_t i = walk.nbound;
	const uint32_t may = beside(walk, i, i + 1);
	PpWideSum  &sum = walk.shared.sum[threadIdx.x];

	for (uint32_t v = 0; v < plan.words; v++)
	{
		const uint32_t all = set_of(walk, i, i)[v];
		uint32_t	left = all;

		if (plan.share < 32)
			left &= ((1u << plan.share) - 1) << (lane - sub);
		for (; left != 0; left &= left - 1)
		{
			const uint32_t a = 32 * v + (uint32_t) __ffs((int) left) - 1;
			uint64_t	product = walk.state.product[i - 2];
			uint32_t	n = 0;

			if (plan.heavy && (row_of_level(walk, i, HEAVY_ROW)[v] & left & (0u - left)) != 0)
				multiply_bound(walk, &product, i, a);
			for (uint32_t w = sub; w < plan.words; w += plan.share)
			{
				uint32_t	word = set_of(walk, i, i + 1)[w] & allowed(walk, may, a, w);

				if (plan.collapsed && (walk.state.met >> i & 1) == 0 &&
					(row_of_level(walk, i, BOUND_ROW)[v] & left & (0u - left)) == 0)
					word &= row_of_level(walk, i, BOUND_ROW)[w] | (w == v ? left & (0u - left) : 0);
				n += (uint32_t) __popc(word);
				if (!plan.heavy)
					continue;
				word &= row_of_level(walk, i, HEAVY_ROW)[w] | heavy_word(walk, a, w);
				n -= (uint32_t) __popc(word);
				for (; word != 0; word &= word - 1)
				{
					const uint32_t b = 32 * w + (uint32_t) __ffs((int) word) - 1;
					uint64_t	here = product;

					multiply(walk, &here, may, a, b);
					multiply_bound(walk, &here, i + 1, b);
					pp_wide_add(&sum, here, 0);
				}
			}
			pp_wide_add(&sum, n * product, __umul64hi(n, product));
		}
		walk.steps += 1 + (uint32_t) __popc(all) * plan.words / 32 * (plan.heavy ? 4 : 1);
	}
}

/* Takes the greatest value that is left of the next variable's set, or NONE. */
__device__ __forceinline__ uint32_t
take_value(Walk &walk)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t level = walk.nbound - 2;
	uint32_t   *set = set_of(walk, walk.nbound, walk.nbound);
	uint32_t	top = walk.state.top[level];
	uint32_t	word;
	uint32_t	lanes;
	uint32_t	which;
	uint32_t	j;

	for (;;)
	{
		word = lane <= top ? set[top - lane] : 0;
		lanes = __ballot_sync(PP_JOIN_LANES, word != 0);
		walk.steps++;
		if (lanes != 0 || top < 32)
			break;
		top -= 32;
	}
	if (lanes == 0)
		return NONE;
	which = (uint32_t) __ffs((int) lanes) - 1;
	word = __shfl_sync(PP_JOIN_LANES, word, which);
	top -= which;
	j = 31 - (uint32_t) __clz((int) word);
	__syncwarp();
	if (lane == 0)
	{
		walk.state.top[level] = top;
		set[top] = word ^ 1u << j;
	}
	__syncwarp();
	return 32 * top + j;
}

/* May the second variable be a? */
__device__ __forceinline__ bool
may_begin(const Walk &walk, uint32_t a)
{
	const uint32_t n = walk.root.n;

	return (a != n || variable(walk, 1) > variable(walk, 0)) &&
		(allowed(walk, beside(walk, 0, 1), n, a / 32) >> a % 32 & 1) != 0;
}

/* Goes on with a turn, or begins it; false: it has not come to an end. */
__device__ __forceinline__ bool
go_on(Walk &walk)
{
	while (walk.steps < walk.graph.quota)
	{
		uint32_t	next;

		if (walk.nbound == 0)
		{
			next = walk.state.value[1];
			walk.nbound = 1;
		}
		else if (walk.nbound + 2 < walk.plan.k)
			next = take_value(walk);
		else
		{
			count_pairs(walk);
			next = NONE;
		}
		if (next == NONE)
			walk.nbound--;
		else
			bind(walk, next);
		if (walk.nbound < 2)
			return true;
	}
	return false;
}

/* Has some vertex of the root's list, or the root, a loop? */
__device__ __forceinline__ bool
has_loops(const Walk &walk)
{
	bool		found = false;

	for (uint32_t w = threadIdx.x % 32; w < walk.plan.words; w += 32)
		found |= walk.planes[walk.plan.looped_at + w] != 0;
	return __any_sync(PP_JOIN_LANES, found);
}

/* What a turn has counted goes to a group. */
__device__ __forceinline__ void
give(Walk &walk)
{
	PpWideSum	sum = walk.shared.sum[threadIdx.x];

	for (int d = 16; d > 0; d /= 2)
	{
		const uint64_t low = __shfl_xor_sync(PP_JOIN_LANES, sum.low, d);
		const uint64_t high = __shfl_xor_sync(PP_JOIN_LANES, sum.high, d);

		pp_wide_add(&sum, low, high);
	}
	if (threadIdx.x % 32 == 0)
	{
		const uint32_t i = walk.state.value[variable(walk, 0) == walk.plan.group ? 0 : 1];

		pp_group_add(walk.graph, walk.graph.number[rank_of(walk.graph, walk.root, i)], sum.low);
		if (sum.high != 0)
			atomicOr(&walk.graph.signals->overflow, 1u);
	}
	walk.shared.sum[threadIdx.x] = {0, 0};
}

/*
 * Roots from on, whose matrices begin at matrices; stacks are those of all warps.
 * A turn is a root, a value, the greatest one first, and a path.
 */
__global__ void __launch_bounds__(THREADS, BLOCKS)
map_cliques(PpDegreeGraph graph, PpMixedGraph mixed, Plan plan, uint32_t from, uint32_t nitems,
			const uint32_t *matrices, WarpState *states, uint32_t *stacks)
{
	PP_SHARED(MapShared, sh);
	constexpr uint32_t STATE_WORDS = sizeof(WarpState) / sizeof(uint32_t);
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t warp = (blockIdx.x * THREADS + threadIdx.x) / 32;
	const uint32_t nfirst = plan.most + plan.loops;
	WarpState  &state = sh.state[threadIdx.x / 32];
	Walk		walk = {graph, mixed, plan, sh, state, sh.root[threadIdx.x / 32], nullptr,
		stacks, warp * (plan.k - 3) * plan.level_rows * plan.words, 0, 0};

	for (uint32_t i = lane; i < STATE_WORDS; i += 32)
		reinterpret_cast<uint32_t *>(&state)[i] = reinterpret_cast<const uint32_t *>(&states[warp])[i];
	sh.sum[threadIdx.x] = {0, 0};
	if (lane == 0)
		sh.seeks[threadIdx.x / 32] = 0;
	if (threadIdx.x == 0)
	{
#pragma unroll
		for (uint32_t i = 0; i < TABLE_WORDS; i++)
		{
			sh.order[i] = plan.order[i];
			sh.beside[i] = plan.beside[i];
		}
	}
	__syncthreads();
	walk.nbound = state.nbound;
	for (;;)
	{
		uint32_t	turn = state.turn;
		uint32_t	end = state.end;
		uint32_t	a;
		bool		ended;

		if (turn == end)
		{
			uint32_t	item = NONE;

			if (lane == 0 && walk.steps < graph.quota && !pp_stopped(graph.signals))
				item = atomicAdd(&graph.work->next, 1u);
			item = __shfl_sync(PP_JOIN_LANES, item, 0);
			if (item >= nitems)
				break;
			turn = item * plan.each;
			end = turn + plan.each;
		}
		else if (walk.steps >= graph.quota)
			break;
		a = turn / plan.npaths;
		walk.planes = matrices + (size_t) (a / nfirst) * plan.room;
		__syncwarp();
		if (lane == 0)
		{
			state.turn = turn;
			state.end = end;
			sh.root[threadIdx.x / 32] = root_of(graph, graph.root[from + a / nfirst]);
			sh.path[threadIdx.x / 32] = turn % plan.npaths;
		}
		__syncwarp();
		a = nfirst - 1 - a % nfirst;
		if (walk.nbound == 0)
		{
			const uint32_t behind = walk.root.n + plan.loops;
			uint32_t	next = turn;

			if ((!plan.loops && walk.root.n + 1 < plan.k) || (plan.collapsed && !has_loops(walk)))
				next = end;
			else if (a >= behind)
				/* shorter lists have no such values */
				next = min(end, turn + (a - behind + 1) * plan.npaths);
			else if (!may_begin(walk, a))
				next = turn + 1;
			__syncwarp();
			if (lane == 0)
			{
				state.turn = next;
				state.value[0] = walk.root.n;
				state.value[1] = a;
				sh.seeks[threadIdx.x / 32] += next == turn;
			}
			__syncwarp();
			if (next > turn)
			{
				walk.steps++;
				continue;
			}
		}
		ended = go_on(walk);
		if (plan.group != NONE)
			give(walk);
		if (!ended)
			break;
		walk.nbound = 0;
		__syncwarp();
		if (lane == 0)
			state.turn++;
		__syncwarp();
	}
	__syncwarp();
	if (lane == 0)
	{
		state.nbound = walk.nbound;
		if (state.turn != state.end)
			atomicAdd(&graph.work->pending, 1u);
	}
	__syncwarp();
	for (uint32_t i = lane; i < STATE_WORDS; i += 32)
		reinterpret_cast<uint32_t *>(&states[warp])[i] = reinterpret_cast<const uint32_t *>(&state)[i];
	pp_signal_sums(graph.signals, sh.sums, sh.sum[threadIdx.x], lane == 0 ? sh.seeks[threadIdx.x / 32] : 0,
				   false);
}

/* ---------- the host's side ---------- */

template <class T>
T *
as(const PpBuffer &buffer)
{
	return reinterpret_cast<T *>(buffer.p);
}

void
put_byte(uint32_t *table, uint32_t row, uint32_t column, uint32_t byte)
{
	const uint32_t i = PP_GREATEST_CLIQUE * row + column;

	table[i / 4] |= byte << (8 * (i % 4));
}

/*
 * Of maps of all kinds, each variable is a path, and if there are groups, theirs is
 * bound first, or second.  Alike, variables are in falling order of ranks, but for
 * the group's, which may be anywhere.
 */
Plan
plan_pass(const PpDegreeJoin *d, bool groups, bool alike, bool collapsed)
{
	const PpMapQuery &maps = d->maps;
	const uint32_t k = d->graph.k;
	Plan		plan = {};

	plan.k = k;
	plan.alike = alike;
	plan.collapsed = collapsed;
	plan.loops = !alike && d->mixed.loops != nullptr;
	plan.heavy = maps.heavy;
	plan.sorted = !alike && maps.sorted;
	plan.group = !groups ? NONE : alike ? 0 : maps.group;
	plan.npaths = !alike ? k : groups ? 2 : 1;
	plan.factor = !alike ? 1 : groups ? d->graph.place[0] : d->graph.factor;
	plan.level_rows = SET_ROWS + (alike ? 1 : k - 2);
	for (uint32_t path = 0; path < plan.npaths; path++)
	{
		uint32_t	i = 0;

		put_byte(plan.order, path, i++, path);
		if (groups && path != plan.group)
			put_byte(plan.order, path, i++, plan.group);
		for (uint32_t v = 0; v < k; v++)
			if (v != path && v != plan.group)
				put_byte(plan.order, path, i++, v);
	}
	for (uint32_t x = 0; x < k; x++)
		for (uint32_t y = 0; y < k; y++)
			put_byte(plan.beside, x, y, !alike ? maps.beside[x][y] : PP_MAP_ANY | PP_MAP_OUT |
					 (groups && (x == 0 || y == 0) ? PP_MAP_IN : 0));
	return plan;
}

/* Lays matrices out for lists of most entries; NO_FIT: a root's have too many words
 * to be numbered. */
PpJoinStatus
lay_out(Plan *plan, uint32_t most)
{
	uint32_t	plane;

	plan->most = most;
	plan->words = (most + plan->loops + 31) / 32;
	plan->words = plan->words > 0 ? plan->words : 1;
	for (plan->share = 1; plan->share < 32 && plan->share < plan->words;)
		plan->share *= 2;
	plan->each = plan->npaths * (most <= SHORT ? most + plan->loops : 1);
	if (((uint64_t) most + 2) * plan->words > UINT32_MAX / 4)
		return PP_JOIN_NO_FIT;
	plane = (most + 1) * plan->words;
	plan->room = plane;
	if (!plan->alike || plan->group != NONE)
	{
		plan->in_at = plan->room;
		plan->room += plane;
	}
	if (plan->sorted)
	{
		plan->less_at = plan->room;
		plan->room += plane;
	}
	if (plan->heavy)
	{
		plan->heavy_at = plan->room;
		plan->room += plane;
	}
	if (plan->loops)
	{
		plan->looped_at = plan->room;
		plan->room += plan->words;
	}
	return PP_JOIN_OK;
}

/* Roots from to from + n - 1. */
PpJoinStatus
batch(PpDeviceJoin *join, const PpDegreeGraph &graph, const Plan &plan, uint32_t from, uint32_t n,
	  uint32_t blocks)
{
	PpDegreeJoin *d = join->degree;
	const PpMixedGraph &mixed = d->mixed;
	const uint64_t rows = (uint64_t) n * (plan.most + 1);
	const uint64_t piece = PP_DEGREE_SEARCHES / (plan.most + 1) + 1;
	const uint32_t nitems = n * ((plan.most + plan.loops) * plan.npaths / plan.each);
	uint32_t	makers;

	TRY(pp_join_clear(join, d->scratch[1].p, (uint64_t) n * plan.room * sizeof(uint32_t)));
	TRY(pp_degree_blocks(d, make_planes, THREADS, &makers));
	for (uint64_t row = 0, end; row < rows; row = end)
	{
		end = rows - row < piece ? rows : row + piece;
		PP_LAUNCH(make_planes, makers, THREADS, 0, join->stream, graph, mixed, plan, from, row, end,
				  as<uint32_t>(d->scratch[1]));
		TRY(pp_join_launched(join, "launching a join by degree failed"));
		TRY(pp_join_wait(join));
	}
	TRY(pp_join_clear(join, d->scratch[0].p, (uint64_t) blocks * WARPS * sizeof(WarpState)));
	return pp_degree_repeat(join, nitems, [&]() {
		PP_LAUNCH(map_cliques, blocks, THREADS, 0, join->stream, graph, mixed, plan, from, nitems,
				  as<uint32_t>(d->scratch[1]), as<WarpState>(d->scratch[0]), as<uint32_t>(d->scratch[2]));
	});
}

/* Roots from to to - 1, of at most most entries each. */
PpJoinStatus
roots(PpDeviceJoin *join, const PpDegreeGraph &graph, const Plan &of_pass, uint32_t from, uint32_t to,
	  uint32_t most)
{
	PpDegreeJoin *d = join->degree;
	Plan		plan = of_pass;
	uint64_t	nroots = to - from;
	uint32_t	blocks;

	if (from == to)
		return PP_JOIN_OK;
	TRY(lay_out(&plan, most));
	TRY(pp_degree_blocks(d, map_cliques, THREADS, &blocks));
	TRY(pp_degree_room(join, plan.room * sizeof(uint32_t),
					   (uint64_t) WARPS * (plan.k - 3) * plan.level_rows * plan.words * sizeof(uint32_t),
					   &nroots, &blocks));
	TRY(pp_join_reserve(join, &d->scratch[0], (uint64_t) blocks * WARPS * sizeof(WarpState)));
	for (uint32_t n; from < to; from += n)
	{
		n = to - from < nroots ? to - from : (uint32_t) nroots;
		TRY(batch(join, graph, plan, from, n, blocks));
	}
	return PP_JOIN_OK;
}

PpJoinStatus
pass(PpDeviceJoin *join, const PpDegreeGraph &graph, const Plan &plan)
{
	const PpDegreeJoin *d = join->degree;
	const uint32_t *upto = d->upto;

	for (uint32_t c = PP_DEGREE_CLASSES - 1; c > upto[1]; c--)
		TRY(roots(join, graph, plan, d->first[c], d->first[c - 1], pp_degree_most(d, c)));
	TRY(roots(join, graph, plan, d->first[upto[1]], d->first[upto[0]], pp_degree_most(d, upto[1])));
	return roots(join, graph, plan, d->first[upto[0]], plan.loops ? d->nroots : d->first[0],
				 pp_degree_most(d, upto[0]));
}

}								/* namespace */

void
pp_map_query(const PpJoinQuery *query, PpMapQuery *maps)
{
	/* of right beside left, by comparison */
	static const uint8_t holds[] = {
		PP_MAP_GREATER, PP_MAP_GREATER | PP_MAP_SAME, PP_MAP_LESS, PP_MAP_LESS | PP_MAP_SAME,
		PP_MAP_LESS | PP_MAP_GREATER
	};
	static const uint8_t reverse[] = {
		PP_MAP_LESS, PP_MAP_LESS | PP_MAP_SAME, PP_MAP_GREATER, PP_MAP_GREATER | PP_MAP_SAME,
		PP_MAP_LESS | PP_MAP_GREATER
	};

	memset(maps, 0, sizeof(*maps));
	maps->group = query->group;
	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const uint32_t *variable = query->atoms[a].variable;

		maps->beside[variable[0]][variable[1]] = PP_MAP_ANY | PP_MAP_OUT;
		maps->beside[variable[1]][variable[0]] = PP_MAP_ANY | PP_MAP_IN;
	}
	for (uint32_t r = 0; r < query->nresiduals; r++)
	{
		const PpJoinResidual *residual = &query->residuals[r];
		const uint8_t edges = PP_MAP_OUT | PP_MAP_IN;

		maps->sorted |= residual->op != PP_JOIN_NE;
		maps->never |= residual->left == residual->right && !pp_compare_holds(residual->op, 0, 0);
		maps->beside[residual->left][residual->right] &= holds[residual->op] | edges;
		maps->beside[residual->right][residual->left] &= reverse[residual->op] | edges;
	}
}

PpJoinStatus
pp_degree_maps(PpDeviceJoin *join, uint64_t *out)
{
	const PpDegreeJoin *d = join->degree;
	const bool	groups = out != nullptr;
	PpDegreeGraph graph = d->graph;

	graph.out = out;
	if (d->maps.never)
		return PP_JOIN_OK;
	if (!d->maps.alike)
		return pass(join, graph, plan_pass(d, groups, false, false));
	if (graph.factor > 0)
		TRY(pass(join, graph, plan_pass(d, groups, true, false)));
	return d->mixed.loops != nullptr ? pass(join, graph, plan_pass(d, groups, false, true)) : PP_JOIN_OK;
}
