/*
 * cuda/join_degree.cu
 *	  Counts triangles on the graph of join_degree_build.cu, and enters what
 *	  join.h declares of joins by degree.
 *
 * A triangle is found at its root u, as an entry w that the lists of u and of
 * one of its entries v have both.  How depends on the length of u's list:
 *
 *	up to 32	a thread for each v, in groups of as many as the list has entries:
 *				it merges the entries before v with v's list, or searches them there
 *	up to 512	a warp has u's list in shared memory, as a row of bits if its ranks
 *				lie close together, else as a hash table, and looks up what the
 *				lists of all v have (TRUST: Pandey et al., IEEE TPDS 2021)
 *	longer		the same by a block, with a part of u's list and of all v at a time:
 *				so many blocks share the work of a root
 *
 * Where v's list is much longer than what may be found in it, that is searched
 * in the list instead (TriCore: Hu, Liu, Huang, SC 2018).  Warps and blocks take
 * their work from a counter, most expensive roots first, and leave when they
 * have had their share of a launch.
 */
#include "join_degree.h"

namespace
{

constexpr uint32_t THREADS = 256;
constexpr uint32_t WARPS = THREADS / 32;

/* Blocks that a multiprocessor has registers for: 64 a thread, which is enough. */
constexpr uint32_t BLOCKS = 4;

/* Entries v that a block looks at with one table. */
constexpr uint32_t SLICE = 32 * WARPS;

/* A list as long as that is a warp's, a shorter one its quarter's. */
constexpr uint32_t LONG = 64;

/* Entries that a launch of the small class goes through at most. */
constexpr uint64_t SMALL_PIECE = 1u << 26;

constexpr uint32_t NONE = 0xffffffffu;

/* Items between two looks whether to stop. */
constexpr uint32_t LOOK = 16;

struct SmallShared
{
	PpSumShared sums;
};

struct WarpShared
{
	uint32_t	word[WARPS][PP_DEGREE_WARP_WORDS];
	PpSumShared sums;
};

struct BlockShared
{
	uint32_t	word[PP_DEGREE_BLOCK_WORDS];
	uint32_t	item;
	uint32_t	steps;
	PpSumShared sums;
};

/* ---------- what a triangle counts ---------- */

/* Of GROUPS: factors by place are bytes of weights. */
__device__ __forceinline__ uint32_t
weight_at(uint32_t weights, uint32_t place)
{
	return pp_bfe(weights, 8 * place, 8);
}

/* A triangle of vertices with numbers u and v, and of rank w; counts of u and v
 * are added up, that of w goes where it belongs. */
template <bool GROUPS>
__device__ __forceinline__ void
note_triangle(const PpDegreeGraph &graph, uint32_t weights, uint32_t u, uint32_t v, uint32_t w,
			  uint64_t *nu, uint32_t *nv)
{
	if (GROUPS)
	{
		const uint32_t number = graph.number[w];
		const uint32_t of_u = (u > v) + (u > number);
		const uint32_t of_v = (v > u) + (v > number);

		*nu += weight_at(weights, of_u);
		*nv += weight_at(weights, of_v);
		pp_group_add(graph, number, weight_at(weights, 3 - of_u - of_v));
	}
	else
		++*nu;
}

/* ---------- short lists ---------- */

/* Roots from to to - 1, of at most 1 << shift entries each. */
template <bool GROUPS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
small_triangles(PpDegreeGraph graph, uint32_t from, uint32_t to, uint32_t shift, uint32_t weights)
{
	PP_SHARED(SmallShared, sh);
	const uint64_t end = (uint64_t) (to - from) << shift;
	uint64_t	sum = 0;
	uint32_t	seeks = 0;

	for (uint64_t t = (uint64_t) blockIdx.x * THREADS + threadIdx.x; t < end;
		 t += (uint64_t) gridDim.x * THREADS)
	{
		const uint32_t u = graph.root[from + (uint32_t) (t >> shift)];
		const uint32_t i = (uint32_t) t & ((1u << shift) - 1);
		const uint32_t at = graph.start[u];
		uint32_t	bits;
		uint32_t	v;

		if (i == 0 || i >= graph.start[u + 1] - at)
			continue;
		v = graph.list[at + i];
		bits = pp_common_bits(graph.list, at, i, graph.start[v], graph.start[v + 1]);
		seeks++;
		if (!GROUPS)
			sum += (uint32_t) __popc(bits);
		else if (bits != 0)
		{
			const uint32_t of_u = graph.number[u];
			const uint32_t of_v = graph.number[v];
			uint64_t	nu = 0;
			uint32_t	nv = 0;

			for (; bits != 0; bits &= bits - 1)
				note_triangle<GROUPS>(graph, weights, of_u, of_v,
									  graph.list[at + (uint32_t) __ffs((int) bits) - 1], &nu, &nv);
			pp_group_add(graph, of_u, nu);
			pp_group_add(graph, of_v, nv);
		}
	}
	pp_signal_sums(graph.signals, sh.sums, pp_clique_sum(graph, sum), seeks, false);
}

/* ---------- tables of a list ---------- */

/* A part of a root's list, in shared memory: a row of bits, or a hash table. */
struct Table
{
	uint32_t   *word;
	uint32_t	nwords;
	uint32_t	base;			/* rank of the first bit */
	uint32_t	span;			/* bits; 0: a hash table */
	uint32_t	shift;			/* of hashes, to a word's number */
};

__device__ __forceinline__ uint32_t
slot_of(const Table &table, uint32_t rank)
{
	return rank * 0x9e3779b1u >> table.shift;
}

/* How the n entries from at on are to be held, in room words. */
__device__ __forceinline__ Table
plan_table(const PpDegreeGraph &graph, uint32_t at, uint32_t n, uint32_t *word, uint32_t room)
{
	Table		table;
	const uint32_t span = graph.list[at + n - 1] - graph.list[at] + 1;

	table.word = word;
	table.base = graph.list[at];
	table.span = span <= min(graph.span, 32 * room) ? span : 0;
	table.shift = 31 - pp_search_steps(n - 1);
	table.nwords = table.span > 0 ? (span + 31) / 32 : 1u << (32 - table.shift);
	return table;
}

/* Empties a table; one thread of so many. */
__device__ __forceinline__ void
clear_table(const Table &table, uint32_t thread, uint32_t threads)
{
	for (uint32_t i = thread; i < table.nwords; i += threads)
		table.word[i] = table.span > 0 ? 0 : NONE;
}

__device__ __forceinline__ void
fill_table(const Table &table, const uint32_t *list, uint32_t at, uint32_t n, uint32_t thread,
		   uint32_t threads)
{
	for (uint32_t i = thread; i < n; i += threads)
	{
		const uint32_t rank = list[at + i];
		const uint32_t bit = rank - table.base;
		uint32_t	slot;

		if (table.span > 0)
		{
			atomicOr(&table.word[bit / 32], 1u << bit % 32);
			continue;
		}
		slot = slot_of(table, rank);
		while (atomicCAS(&table.word[slot], NONE, rank) != NONE)
			slot = (slot + 1) & (table.nwords - 1);
	}
}

__device__ __forceinline__ bool
table_has(const Table &table, uint32_t rank)
{
	const uint32_t bit = rank - table.base;
	uint32_t	slot;
	uint32_t	found;

	if (table.span > 0)
		return bit < table.span && (table.word[bit / 32] >> bit % 32 & 1) != 0;
	slot = slot_of(table, rank);
	while ((found = table.word[slot]) != rank && found != NONE)
		slot = (slot + 1) & (table.nwords - 1);
	return found == rank;
}

/* ---------- long lists ---------- */

/* A root, and the part [part, part_end) of its list that a table has. */
struct Root
{
	uint32_t	u;				/* GROUPS: its number */
	uint32_t	at;
	uint32_t	part;
	uint32_t	part_end;
	bool		whole;			/* the part is the list */
};

/* What a thread has found, and steps that its warp has made. */
struct Sums
{
	uint64_t	n;				/* triangles, or GROUPS: what the root counts */
	uint32_t	seeks;
	uint32_t	steps;
};

/*
 * Looks up the lists of the 32 entries from v0 on, but of those before end only,
 * in the table: a warp's work.
 */
template <bool GROUPS>
__device__ __forceinline__ void
look_up(const PpDegreeGraph &graph, uint32_t weights, const Root &root, const Table &table,
		uint32_t v0, uint32_t end, Sums *sums)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t *list = graph.list;
	const uint32_t n = end - v0 < 32 ? end - v0 : 32;
	uint32_t	v = 0;
	uint32_t	from = 0;
	uint32_t	to = 0;
	uint32_t	longs;

	if (lane < n)
	{
		v = list[root.at + v0 + lane];
		from = graph.start[v];
		to = graph.start[v + 1];
		if (!root.whole)
		{
			from = pp_lower_bound(list, from, to, list[root.at + root.part]);
			to = pp_lower_bound(list, from, to, list[root.at + root.part_end - 1] + 1);
		}
		if (GROUPS)
			v = graph.number[v];
		sums->seeks++;
	}
	longs = __ballot_sync(PP_JOIN_LANES, to - from >= LONG);
	sums->steps += 8;
	for (uint32_t left = longs; left != 0; left &= left - 1)
	{
		const uint32_t which = (uint32_t) __ffs((int) left) - 1;
		const uint32_t begin = __shfl_sync(PP_JOIN_LANES, from, which);
		const uint32_t behind = __shfl_sync(PP_JOIN_LANES, to, which);
		const uint32_t of_v = GROUPS ? __shfl_sync(PP_JOIN_LANES, v, which) : 0;
		const uint32_t before = v0 + which < root.part_end ? v0 + which : root.part_end;
		const uint32_t search = pp_search_steps(behind - begin);
		uint32_t	nv = 0;

		if ((before - root.part) * search < behind - begin)
		{
			for (uint32_t j = root.part + lane; j < before; j += 32)
			{
				const uint32_t w = list[root.at + j];
				const uint32_t p = pp_lower_bound(list, begin, behind, w);

				if (p < behind && list[p] == w)
					note_triangle<GROUPS>(graph, weights, root.u, of_v, w, &sums->n, &nv);
			}
			sums->steps += (before - root.part) / 32 * search + 1;
		}
		else
		{
			for (uint32_t p = begin + lane; p < behind; p += 32)
			{
				const uint32_t w = list[p];

				if (table_has(table, w))
					note_triangle<GROUPS>(graph, weights, root.u, of_v, w, &sums->n, &nv);
			}
			sums->steps += (behind - begin) / 32 + 1;
		}
		if (GROUPS)
		{
			nv = pp_warp_sum(nv);
			if (lane == 0)
				pp_group_add(graph, of_v, nv);
		}
	}
	if ((longs >> lane & 1) != 0)
		to = from;
	for (uint32_t q = 0; q < n; q += 4)
	{
		const uint32_t which = q + lane / 8;
		const uint32_t begin = __shfl_sync(PP_JOIN_LANES, from, which);
		const uint32_t behind = __shfl_sync(PP_JOIN_LANES, to, which);
		const uint32_t of_v = GROUPS ? __shfl_sync(PP_JOIN_LANES, v, which) : 0;
		uint32_t	nv = 0;

		for (uint32_t p = begin + lane % 8; p < behind; p += 8)
		{
			const uint32_t w = list[p];

			if (table_has(table, w))
				note_triangle<GROUPS>(graph, weights, root.u, of_v, w, &sums->n, &nv);
		}
		if (GROUPS)
		{
			for (int d = 4; d > 0; d /= 2)
				nv += __shfl_xor_sync(PP_JOIN_LANES, nv, d);
			if (lane % 8 == 0)
				pp_group_add(graph, of_v, nv);
		}
	}
}

/* The next item of nitems, or NONE. */
__device__ __forceinline__ uint32_t
take_item(const PpDegreeGraph &graph, uint32_t nitems, uint32_t steps, uint32_t *taken)
{
	uint32_t	item;

	if (steps >= graph.quota || (*taken % LOOK == 0 && pp_stopped(graph.signals)))
		return NONE;
	++*taken;
	item = atomicAdd(&graph.work->next, 1u);
	return item < nitems ? item : NONE;
}

/* Roots from to to - 1, of at most PP_DEGREE_WARP_WORDS / 2 entries each. */
template <bool GROUPS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
warp_triangles(PpDegreeGraph graph, uint32_t from, uint32_t to, uint32_t weights)
{
	PP_SHARED(WarpShared, sh);
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t warp = threadIdx.x / 32;
	Sums		sums = {0, 0, 0};
	uint64_t	sum = 0;
	uint32_t	taken = 0;

	for (;;)
	{
		uint32_t	item = NONE;
		Root		root;
		Table		table;
		uint32_t	n;

		if (lane == 0)
			item = take_item(graph, to - from, sums.steps, &taken);
		item = __shfl_sync(PP_JOIN_LANES, item, 0);
		if (item == NONE)
			break;
		root.u = graph.root[from + item];
		root.at = graph.start[root.u];
		n = graph.start[root.u + 1] - root.at;
		root.part = 0;
		root.part_end = n;
		root.whole = true;
		if (GROUPS)
			root.u = graph.number[root.u];
		table = plan_table(graph, root.at, n, sh.word[warp], PP_DEGREE_WARP_WORDS);
		clear_table(table, lane, 32);
		__syncwarp();
		fill_table(table, graph.list, root.at, n, lane, 32);
		__syncwarp();
		sums.n = 0;
		for (uint32_t v = 0; v < n; v += 32)
			look_up<GROUPS>(graph, weights, root, table, v, n, &sums);
		if (GROUPS)
		{
			sums.n = pp_warp_sum(sums.n);
			if (lane == 0)
				pp_group_add(graph, root.u, sums.n);
		}
		else
			sum += sums.n;
		__syncwarp();
	}
	pp_signal_sums(graph.signals, sh.sums, pp_clique_sum(graph, sum), sums.seeks, false);
}

/*
 * Roots from to to - 1, of at most most entries each: an item is a chunk of a
 * root's list that becomes a table, and a slice of it whose lists are looked up.
 */
template <bool GROUPS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
block_triangles(PpDegreeGraph graph, uint32_t from, uint32_t to, uint32_t most, uint32_t weights)
{
	PP_SHARED(BlockShared, sh);
	const uint32_t chunks = (most + graph.chunk - 1) / graph.chunk;
	const uint32_t slices = (most + SLICE - 1) / SLICE;
	Sums		sums = {0, 0, 0};
	uint64_t	sum = 0;
	uint32_t	taken = 0;

	if (threadIdx.x == 0)
		sh.steps = 0;
	for (;;)
	{
		uint32_t	item;
		uint32_t	n;
		uint32_t	v;
		uint32_t	end;
		Root		root;
		Table		table;

		if (threadIdx.x == 0)
			sh.item = take_item(graph, (to - from) * chunks * slices, sh.steps, &taken);
		__syncthreads();
		item = sh.item;
		__syncthreads();
		if (item == NONE)
			break;
		root.u = graph.root[from + item / (chunks * slices)];
		root.at = graph.start[root.u];
		n = graph.start[root.u + 1] - root.at;
		root.part = item / slices % chunks * graph.chunk;
		root.part_end = n - root.part < graph.chunk ? n : root.part + graph.chunk;
		root.whole = n <= graph.chunk;
		v = item % slices * SLICE;
		end = n < v + SLICE ? n : v + SLICE;
		/* what the chunk has is before v */
		if (root.part >= n || v >= n || end <= root.part + 1)
			continue;
		if (v <= root.part)
			v = root.part + 1;
		if (GROUPS)
			root.u = graph.number[root.u];
		table = plan_table(graph, root.at + root.part, root.part_end - root.part, sh.word,
						   PP_DEGREE_BLOCK_WORDS);
		clear_table(table, threadIdx.x, THREADS);
		__syncthreads();
		fill_table(table, graph.list, root.at + root.part, root.part_end - root.part, threadIdx.x,
				   THREADS);
		__syncthreads();
		sums.n = 0;
		sums.steps = 0;
		v += threadIdx.x / 32 * 32;
		if (v < end)
			look_up<GROUPS>(graph, weights, root, table, v, end, &sums);
		if (GROUPS)
		{
			sums.n = pp_warp_sum(sums.n);
			if (threadIdx.x % 32 == 0)
				pp_group_add(graph, root.u, sums.n);
		}
		else
			sum += sums.n;
		if (threadIdx.x % 32 == 0)
			atomicAdd(&sh.steps, sums.steps);
		__syncthreads();
	}
	pp_signal_sums(graph.signals, sh.sums, pp_clique_sum(graph, sum), sums.seeks, false);
}

/* ---------- the host's side ---------- */

/* Roots of classes from greatest down to least. */
void
roots_of(const PpDegreeJoin *d, uint32_t greatest, uint32_t least, uint32_t *from, uint32_t *to)
{
	*from = d->first[greatest];
	*to = d->first[least - 1];
}

template <bool GROUPS>
PpJoinStatus
triangles(PpDeviceJoin *join, const PpDegreeGraph &graph)
{
	const PpDegreeJoin *d = join->degree;
	uint32_t	weights = 0;
	uint32_t	from;
	uint32_t	to;
	uint32_t	blocks;

	for (uint32_t i = 0; i < 3; i++)
		weights |= (uint32_t) d->graph.place[i] << (8 * i);
	TRY(pp_degree_blocks(d, block_triangles<GROUPS>, THREADS, &blocks));
	for (uint32_t c = PP_DEGREE_CLASSES - 1; c > d->upto[1]; c--)
	{
		const uint32_t most = pp_degree_most(d, c);
		const uint32_t items = (most + graph.chunk - 1) / graph.chunk * ((most + SLICE - 1) / SLICE);

		roots_of(d, c, c, &from, &to);
		TRY(pp_degree_repeat(join, (to - from) * items, [&]() {
			PP_LAUNCH(block_triangles<GROUPS>, blocks, THREADS, 0, join->stream, graph, from, to,
					  most, weights);
		}));
	}
	roots_of(d, d->upto[1], d->upto[0] + 1, &from, &to);
	TRY(pp_degree_blocks(d, warp_triangles<GROUPS>, THREADS, &blocks));
	TRY(pp_degree_repeat(join, to - from, [&]() {
		PP_LAUNCH(warp_triangles<GROUPS>, blocks, THREADS, 0, join->stream, graph, from, to,
				  weights);
	}));
	TRY(pp_degree_blocks(d, small_triangles<GROUPS>, THREADS, &blocks));
	for (uint32_t c = d->upto[0]; c > 0; c--)
	{
		const uint32_t piece = (uint32_t) (SMALL_PIECE >> c);

		roots_of(d, c, c, &from, &to);
		for (uint32_t n; from < to; from += n)
		{
			n = to - from < piece ? to - from : piece;
			PP_LAUNCH(small_triangles<GROUPS>, blocks, THREADS, 0, join->stream, graph, from,
					  from + n, c, weights);
			TRY(pp_join_launched(join, "launching a join by degree failed"));
			TRY(pp_join_wait(join));
		}
	}
	return PP_JOIN_OK;
}

}								/* namespace */

PpJoinStatus
pp_degree_count(PpDeviceJoin *join)
{
	const PpDegreeGraph *graph = &join->degree->graph;

	if (join->degree->is_mixed)
		return graph->k == 3 ? pp_degree_mixed(join, nullptr) : pp_degree_maps(join, nullptr);
	if (graph->factor == 0)
		return PP_JOIN_OK;
	return graph->k == 3 ? triangles<false>(join, *graph) : pp_degree_cliques(join, nullptr);
}

PpJoinStatus
pp_degree_groups(PpDeviceJoin *join, uint64_t *out)
{
	PpDegreeGraph graph = join->degree->graph;

	if (join->degree->is_mixed)
		return graph.k == 3 ? pp_degree_mixed(join, out) : pp_degree_maps(join, out);
	graph.out = out;
	if (graph.factor == 0)
		return PP_JOIN_OK;
	return graph.k == 3 ? triangles<true>(join, graph) : pp_degree_cliques(join, out);
}
