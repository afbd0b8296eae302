/*
 * cuda/join_degree_mixed.cu
 *	  Counts triangles where edges do not count alike: of any number of rows in
 *	  each direction, in any pattern of directions, with loops.
 *
 * Each undirected triangle is found once, at the edge of its two vertices of
 * greatest rank, as what the lists of both have in common: entries of the shorter
 * one are searched in the other.  A warp takes 32 edges at a time and shares out
 * the searches of all of them, so that no lane waits for a long list.  A triangle
 * counts for each map of the variables to its vertices that comparisons allow, as
 * the product of the rows that lead as the atoms do: sums over these maps are
 * those of PpTriangleWays.
 *
 * Where a vertex has loops, two variables or all three may be that vertex: these
 * are answers of an edge, or of the vertex alone, and are counted apart.
 *
 * Sums are exact: an edge's rows are less than 2^31, and so are all of them
 * together, so that only the last product may exceed 64 bits.
 */
#include "join_degree.h"

namespace
{

constexpr uint32_t THREADS = 256;
constexpr uint32_t WARPS = THREADS / 32;
constexpr uint32_t BLOCKS = 4;
constexpr uint32_t NONE = 0xffffffffu;

/* Edges and vertices that a launch looks for loops at most. */
constexpr uint64_t PIECE = 1u << 26;

/* What a warp knows of its 32 edges. */
struct Edges
{
	uint32_t	end[32];		/* searches of this one and of those before */
	uint32_t	shorter[32];	/* where its list begins, less the searches before */
	uint32_t	from[32];		/* the part of the longer list that is searched */
	uint32_t	to[32];
	uint32_t	u[32];			/* of greater rank, whose list has the edge */
};

struct TriangleShared
{
	uint64_t	three[8][PP_WAYS_ALL + 1];
	Edges		edges[WARPS];
	PpSumShared sums;
};

struct LoopShared
{
	uint32_t	two[2][2][PP_WAYS_ALL + 1];
	PpSumShared sums;
};

/* ---------- products ---------- */

__device__ __forceinline__ void
add_product(PpWideSum *sum, uint64_t a, uint64_t b)
{
	pp_wide_add(sum, a * b, __umul64hi(a, b));
}

/* a of the rows in two directions, by ways at byte and at byte + 4. */
__device__ __forceinline__ uint64_t
by_last(uint64_t ways, uint32_t byte, uint2 rows)
{
	return (ways >> 8 * byte & 0xff) * rows.x + (ways >> (8 * byte + 32) & 0xff) * rows.y;
}

/* What a triangle of edges a, b and c counts. */
__device__ __forceinline__ PpWideSum
weigh(uint64_t ways, uint2 a, uint2 b, uint2 c)
{
	PpWideSum	sum = {0, 0};

	add_product(&sum, by_last(ways, 0, c) * b.x + by_last(ways, 2, c) * b.y, a.x);
	add_product(&sum, by_last(ways, 1, c) * b.x + by_last(ways, 3, c) * b.y, a.y);
	return sum;
}

/* What an edge counts with the loops of one of its vertices. */
__device__ __forceinline__ PpWideSum
weigh_loop(uint32_t ways, uint2 rows, uint32_t loops)
{
	PpWideSum	sum = {0, 0};

	add_product(&sum, (ways & 0xff) * (uint64_t) rows.x * rows.x +
				(ways >> 8 & 0xff) * (uint64_t) rows.x * rows.y +
				(ways >> 16 & 0xff) * (uint64_t) rows.y * rows.y, loops);
	return sum;
}

/* Adds to what a group counts. */
__device__ __forceinline__ void
add_sum(uint64_t *n, PpWideSum sum, bool *overflow)
{
	*n += sum.low;
	*overflow |= sum.high != 0 || *n < sum.low;
}

/* ---------- triangles ---------- */

/* An item is 32 entries. */
template <bool GROUPS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
mixed_triangles(PpDegreeGraph graph, PpMixedGraph mixed)
{
	PP_SHARED(TriangleShared, sh);
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t nitems = (mixed.nentries + 31) / 32;
	const uint32_t *list = graph.list;
	Edges	   &edges = sh.edges[threadIdx.x / 32];
	PpWideSum	sum = {0, 0};
	uint32_t	seeks = 0;
	uint32_t	steps = 0;
	bool		overflow = false;

	if (threadIdx.x == 0)
	{
#pragma unroll
		for (uint32_t order = 0; order < 8; order++)
#pragma unroll
			for (uint32_t whom = 0; whom <= PP_WAYS_ALL; whom++)
				sh.three[order][whom] = mixed.ways.three[order][whom];
	}
	__syncthreads();
	for (;;)
	{
		uint32_t	item = NONE;
		uint32_t	entry;
		uint32_t	n = 0;
		uint32_t	shorter = 0;
		uint32_t	cost = 0;
		uint32_t	end;
		uint32_t	total;
		uint32_t	which = 0;
		uint32_t	last = 0;
		uint32_t	upper;
		uint64_t	nu = 0;
		uint64_t	nv = 0;
		bool		mine = false;

		if (lane == 0 && steps < graph.quota && !pp_stopped(graph.signals))
			item = atomicAdd(&graph.work->next, 1u);
		item = __shfl_sync(PP_JOIN_LANES, item, 0);
		if (item >= nitems)
			break;
		entry = 32 * item;
		if (lane < mixed.nentries - entry)
		{
			const uint32_t u = pp_key_of(graph.start, 0, mixed.nvertices, entry + lane);
			const uint32_t v = list[entry + lane];
			const uint32_t at = graph.start[u];
			const uint32_t of_v = graph.start[v];
			const uint32_t before = entry + lane - at;
			const uint32_t length = graph.start[v + 1] - of_v;

			/* what both have is before v in the list of u */
			mine = before <= length;
			n = mine ? before : length;
			shorter = mine ? at : of_v;
			edges.from[lane] = mine ? of_v : at;
			edges.to[lane] = mine ? of_v + length : at + before;
			edges.u[lane] = u;
			cost = n * pp_search_steps(mine ? length : before);
			seeks += n;
		}
		upper = __ballot_sync(PP_JOIN_LANES, mine);
		end = n;
		for (uint32_t d = 1; d < 32; d *= 2)
		{
			const uint32_t before = __shfl_up_sync(PP_JOIN_LANES, end, d);

			if (lane >= d)
				end += before;
		}
		edges.end[lane] = end;
		edges.shorter[lane] = shorter - (end - n);
		total = __shfl_sync(PP_JOIN_LANES, end, 31);
		__syncwarp();
		for (uint32_t t = lane; t < total; t += 32)
		{
			uint32_t	place;
			uint32_t	p;
			uint32_t	w;
			uint2		a;
			uint2		b;
			uint2		c;
			uint32_t	order;

			while (edges.end[which] <= t)
				which++;
			place = edges.shorter[which] + t;
			w = list[place];
			p = pp_lower_bound(list, edges.from[which], edges.to[which], w);
			if (p == edges.to[which] || list[p] != w)
				continue;
			a = mixed.rows[entry + which];
			b = mixed.rows[(upper >> which & 1) != 0 ? place : p];
			c = mixed.rows[(upper >> which & 1) != 0 ? p : place];
			order = a.x >> 31 | b.x >> 31 << 1 | c.x >> 31 << 2;
			a.x &= ~PP_KEY_LESS;
			b.x &= ~PP_KEY_LESS;
			c.x &= ~PP_KEY_LESS;
			if (GROUPS)
			{
				PpWideSum	of_w;

				/* sums of an edge's vertices are kept while it is the same */
				if (last != which)
				{
					pp_group_add(graph, graph.number[list[entry + last]], nv);
					nv = 0;
					if (edges.u[last] != edges.u[which])
					{
						pp_group_add(graph, graph.number[edges.u[last]], nu);
						nu = 0;
					}
					last = which;
				}
				add_sum(&nu, weigh(sh.three[order][0], a, b, c), &overflow);
				add_sum(&nv, weigh(sh.three[order][1], a, b, c), &overflow);
				of_w = weigh(sh.three[order][2], a, b, c);
				overflow |= of_w.high != 0;
				pp_group_add(graph, graph.number[w], of_w.low);
			}
			else
			{
				const PpWideSum here = weigh(sh.three[order][PP_WAYS_ALL], a, b, c);

				pp_wide_add(&sum, here.low, here.high);
			}
		}
		if (GROUPS)
		{
			if (nv != 0)
				pp_group_add(graph, graph.number[list[entry + last]], nv);
			if (nu != 0)
				pp_group_add(graph, graph.number[edges.u[last]], nu);
		}
		steps += pp_warp_sum(cost) / 32 + 16;
		__syncwarp();
	}
	pp_signal_sums(graph.signals, sh.sums, sum, seeks, overflow);
}

/* ---------- loops ---------- */

/* Entries, and vertices behind them, from first to end - 1. */
template <bool GROUPS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
loop_triangles(PpDegreeGraph graph, PpMixedGraph mixed, uint64_t first, uint64_t end)
{
	PP_SHARED(LoopShared, sh);
	PpWideSum	sum = {0, 0};
	bool		overflow = false;

	if (threadIdx.x == 0)
	{
#pragma unroll
		for (uint32_t i = 0; i < 4; i++)
#pragma unroll
			for (uint32_t whom = 0; whom <= PP_WAYS_ALL; whom++)
				sh.two[i / 2][i % 2][whom] = mixed.ways.two[i / 2][i % 2][whom];
	}
	__syncthreads();
	for (uint64_t i = first + (uint64_t) blockIdx.x * THREADS + threadIdx.x; i < end;
		 i += (uint64_t) gridDim.x * THREADS)
	{
		uint32_t	vertex[2];
		uint2		rows;
		uint32_t	order;

		if (i >= mixed.nentries)
		{
			const uint32_t u = (uint32_t) (i - mixed.nentries);
			const uint64_t loops = mixed.loops[u];
			PpWideSum	here = {0, 0};

			add_product(&here, loops * loops, mixed.ways.one * loops);
			if (!GROUPS)
				pp_wide_add(&sum, here.low, here.high);
			else
			{
				overflow |= here.high != 0;
				pp_group_add(graph, graph.number[u], here.low);
			}
			continue;
		}
		vertex[0] = pp_key_of(graph.start, 0, mixed.nvertices, (uint32_t) i);
		vertex[1] = graph.list[i];
		rows = mixed.rows[i];
		order = rows.x >> 31;
		rows.x &= ~PP_KEY_LESS;
#pragma unroll
		for (uint32_t which = 0; which < 2; which++)
		{
			const uint32_t loops = mixed.loops[vertex[which]];

			if (loops == 0)
				continue;
			for (uint32_t whom = GROUPS ? 0 : PP_WAYS_ALL; whom < 2 || whom == PP_WAYS_ALL; whom++)
			{
				const PpWideSum here = weigh_loop(sh.two[order][which][whom], rows, loops);

				if (!GROUPS)
					pp_wide_add(&sum, here.low, here.high);
				else
				{
					overflow |= here.high != 0;
					pp_group_add(graph, graph.number[whom == 0 ? vertex[0] : vertex[1]], here.low);
				}
			}
		}
	}
	pp_signal_sums(graph.signals, sh.sums, sum, 0, overflow);
}

/* ---------- the host's side ---------- */

template <bool GROUPS>
PpJoinStatus
triangles(PpDeviceJoin *join, const PpDegreeGraph &graph)
{
	const PpDegreeJoin *d = join->degree;
	const PpMixedGraph &mixed = d->mixed;
	const uint64_t nloops = mixed.loops != nullptr ? (uint64_t) mixed.nentries + mixed.nvertices : 0;
	uint32_t	blocks;

	TRY(pp_degree_blocks(d, mixed_triangles<GROUPS>, THREADS, &blocks));
	TRY(pp_degree_repeat(join, (mixed.nentries + 31) / 32, [&]() {
		PP_LAUNCH(mixed_triangles<GROUPS>, blocks, THREADS, 0, join->stream, graph, mixed);
	}));
	if (nloops > 0)
		TRY(pp_degree_blocks(d, loop_triangles<GROUPS>, THREADS, &blocks));
	for (uint64_t first = 0, end; first < nloops; first = end)
	{
		end = nloops - first < PIECE ? nloops : first + PIECE;
		PP_LAUNCH(loop_triangles<GROUPS>, blocks, THREADS, 0, join->stream, graph, mixed, first, end);
		TRY(pp_join_launched(join, "launching a join by degree failed"));
		TRY(pp_join_wait(join));
	}
	return PP_JOIN_OK;
}

}								/* namespace */

PpJoinStatus
pp_degree_mixed(PpDeviceJoin *join, uint64_t *out)
{
	PpDegreeGraph graph = join->degree->graph;

	graph.out = out;
	return out != nullptr ? triangles<true>(join, graph) : triangles<false>(join, graph);
}
