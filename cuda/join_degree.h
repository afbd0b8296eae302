/*
 * cuda/join_degree.h
 *	  What the files of the device's join by degree share: the oriented graph,
 *	  what kernels get of it, and how work is handed out.
 *
 * join_degree_build.cu		ranks vertices by degree and lists of each those of
 *							higher degree
 * join_degree.cu			triangles; and what join.h declares
 * join_degree_mixed.cu		triangles where edges count differently, or have loops
 * join_degree_clique.cu	cliques of four vertices or more
 * join_degree_maps.cu		the same where edges count differently, or have loops
 *
 * Vertices are named by rank, 0 having the highest degree; a list has lesser
 * ranks only, ascending, so that it is short (Chiba, Nishizeki, SIAM J. Comput.
 * 1985) and each undirected clique is found once, at its vertex of greatest
 * rank, its root.  Roots are in order of falling length of their lists, which is
 * about that of falling cost: kernels take a range of them, by class.
 *
 * Inside of those files; owns the memory of a PpDegreeJoin.
 */
#ifndef PP_JOIN_DEGREE_H
#define PP_JOIN_DEGREE_H

#include "join_device.h"
#include "../src/trie/join_ways.h"

/* Classes of lists: those of class c are of at most 2^c entries and more than
 * half of that. */
#define PP_DEGREE_CLASSES	32u

/* Kernels, by length of lists; triangles have fewer. */
#define PP_DEGREE_WAYS		4u

/* Entries and words of tables of triangles, of blocks and of warps. */
#define PP_DEGREE_BLOCK_WORDS	8192u
#define PP_DEGREE_WARP_WORDS	1024u
#define PP_DEGREE_CHUNK			(PP_DEGREE_BLOCK_WORDS / 2)

/* Searches that a launch that makes matrices has about. */
#define PP_DEGREE_SEARCHES		((uint64_t) 1 << 28)

/* Variables that are bound one after another between a clique's second vertex
 * and its last two. */
#define PP_CLIQUE_LEVELS	(PP_GREATEST_CLIQUE - 4)

/* What the host reads back between two launches. */
typedef struct PpDegreeWork
{
	uint32_t	next;			/* item to be taken */
	uint32_t	pending;		/* blocks, or warps, that have something in hand */
} PpDegreeWork;

/* What kernels know; pointers are the device's. */
typedef struct PpDegreeGraph
{
	const uint32_t *start;		/* list of u: start[u] .. start[u + 1) */
	const uint32_t *list;
	const uint32_t *root;		/* in order of falling length */
	const uint32_t *number;		/* of each rank; GROUPS only */
	uint64_t   *out;			/* GROUPS: by number */
	PpJoinSignals *signals;
	PpDegreeWork *work;
	uint32_t	quota;			/* steps of a warp that a launch may take, about */
	uint32_t	chunk;			/* entries of a list that become a table at a time */
	uint32_t	span;			/* bits of a table at most; what needs more is hashed */
	uint32_t	k;
	uint64_t	factor;			/* of an undirected clique */
	uint64_t	place[PP_GREATEST_CLIQUE];	/* GROUPS: of its vertex of the least key, ... */
} PpDegreeGraph;

/* Set in the rows of an edge if the vertex whose list has it has the lesser key. */
#define PP_KEY_LESS		0x80000000u

/*
 * What kernels know besides where edges do not count alike: some come twice, or
 * lead another way than others, or loops are in answers.
 */
typedef struct PpMixedGraph
{
	const uint2 *rows;			/* of each entry: from the vertex that has the list, with
								 * PP_KEY_LESS, and to it */
	const uint32_t *loops;		/* rows, by rank; NULL: none are in answers */
	uint32_t	nvertices;
	uint32_t	nentries;
	PpTriangleWays ways;		/* of triangles */
} PpMixedGraph;

/* What a variable may be beside another one that has a value: one with an edge from
 * it, or to it; of a lesser key, of the same, of a greater one. */
#define PP_MAP_OUT		1u
#define PP_MAP_IN		2u
#define PP_MAP_LESS		4u
#define PP_MAP_SAME		8u
#define PP_MAP_GREATER	16u
#define PP_MAP_ANY		(PP_MAP_LESS | PP_MAP_SAME | PP_MAP_GREATER)

/* A query of four variables or more, and what is known of its rows, for
 * join_degree_maps.cu. */
typedef struct PpMapQuery
{
	uint8_t		beside[PP_GREATEST_CLIQUE][PP_GREATEST_CLIQUE];	/* [of one][the other] */
	uint32_t	group;
	bool		never;			/* comparisons keep everything out */
	bool		sorted;			/* they ask for more than whether keys differ */
	bool		heavy;			/* some edge or loop has several rows */
	bool		alike;			/* undirected cliques without loops count alike, but for
								 * the rows of their edges */
} PpMapQuery;

struct PpDegreeJoin
{
	PpDegreeGraph graph;
	bool		is_mixed;		/* edges are for join_degree_mixed.cu, which needs no roots,
								 * or join_degree_maps.cu */
	PpMixedGraph mixed;
	PpMapQuery	maps;
	uint32_t	nvertices;
	uint32_t	nentries;
	uint32_t	longest;
	uint32_t	nroots;			/* of two entries or more; where loops are in answers, all */

	/* the greatest class that each kernel but the last gets, shortest lists first;
	 * tests set less than what there is room for */
	uint32_t	upto[PP_DEGREE_WAYS];
	uint32_t	first[PP_DEGREE_CLASSES];	/* roots of class c: first[c] .. first[c - 1) */
	uint32_t	processors;		/* of the device */
	PpBuffer	memory[7];		/* start, list, root, number, work, rows, loops */
	PpBuffer	scratch[3];		/* of kernels */
};

typedef struct PpDegreeJoin PpDegreeJoin;

/* Waits, then brings bytes from the device. */
extern PpJoinStatus pp_degree_fetch(PpDeviceJoin *join, void *to, const void *from, size_t bytes);

/* join_degree_clique.cu: counts, or if out is not NULL adds to that. */
extern PpJoinStatus pp_degree_cliques(PpDeviceJoin *join, uint64_t *out);

/* join_degree_mixed.cu: the same. */
extern PpJoinStatus pp_degree_mixed(PpDeviceJoin *join, uint64_t *out);

/* join_degree_maps.cu: the same; and what it wants to know of a query. */
extern PpJoinStatus pp_degree_maps(PpDeviceJoin *join, uint64_t *out);
extern void pp_map_query(const PpJoinQuery *query, PpMapQuery *maps);

/*
 * join_degree_clique.cu: reserves scratch[1] for matrices of *batch roots, scratch[2]
 * for stacks of *blocks blocks, of so many bytes each; of fewer if these do not fit.
 */
extern PpJoinStatus pp_degree_room(PpDeviceJoin *join, uint64_t matrix, uint64_t stack,
								   uint64_t *batch, uint32_t *blocks);

/* The longest list that a root of class c may have. */
static inline uint32_t
pp_degree_most(const PpDegreeJoin *degree, uint32_t c)
{
	return degree->longest >> c > 0 ? 1u << c : degree->longest;
}

/*
 * Launches what hands items out by graph.work until all are done; enqueue is
 * asked to launch once.
 */
template <class F>
static inline PpJoinStatus
pp_degree_repeat(PpDeviceJoin *join, uint32_t nitems, F enqueue)
{
	PpDegreeWork *there = join->degree->graph.work;
	PpDegreeWork work = {0, 0};
	PpJoinStatus status = nitems > 0 ? pp_join_clear(join, there, sizeof(work)) : PP_JOIN_OK;

	while (status == PP_JOIN_OK && (work.next < nitems || work.pending > 0))
	{
		status = pp_join_clear(join, &there->pending, sizeof(there->pending));
		if (status == PP_JOIN_OK)
		{
			enqueue();
			status = pp_join_launched(join, "launching a join by degree failed");
		}
		if (status == PP_JOIN_OK)
			status = pp_degree_fetch(join, &work, there, sizeof(work));
	}
	return status;
}

/* Blocks that the device has room for. */
template <class... P>
static inline PpJoinStatus
pp_degree_blocks(const PpDegreeJoin *degree, void (*kernel) (P...), uint32_t threads,
				 uint32_t *blocks)
{
	int			each = 0;
	PpJoinStatus status = pp_join_call("asking the device failed",
									   cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel,
																					 (int) threads, 0));

	*blocks = degree->processors * (each > 0 ? (uint32_t) each : 1);
	return status;
}

/* ---------- in kernels ---------- */

/* Adds to the count of a vertex, by number. */
__device__ __forceinline__ void
pp_group_add(const PpDegreeGraph &graph, uint32_t number, uint64_t n)
{
	bool		overflow = false;

	if (n == 0)
		return;
	pp_value_add(graph.out + number, n, &overflow);
	if (overflow)
		atomicOr(&graph.signals->overflow, 1u);
}

/* A number of cliques, as a sum that they add to the answer. */
__device__ __forceinline__ PpWideSum
pp_clique_sum(const PpDegreeGraph &graph, uint64_t n)
{
	PpWideSum	sum;

	sum.low = n * graph.factor;
	sum.high = __umul64hi(n, graph.factor);
	return sum;
}

/* The sum over all lanes of a warp, in each of them. */
template <class T>
__device__ __forceinline__ T
pp_warp_sum(T v)
{
	for (int d = 16; d > 0; d /= 2)
		v += __shfl_xor_sync(PP_JOIN_LANES, v, d);
	return v;
}

/* Steps of a binary search in n entries. */
__device__ __forceinline__ uint32_t
pp_search_steps(uint32_t n)
{
	return 32 - (uint32_t) __clz((int) n);
}

/*
 * Which of the n <= 32 entries from at on are in [from, to) as well, as bits: by
 * searches with a scope that shrinks, or by merging, whatever takes fewer steps.
 */
__device__ __forceinline__ uint32_t
pp_common_bits(const uint32_t *list, uint32_t at, uint32_t n, uint32_t from, uint32_t to)
{
	uint32_t	bits = 0;
	uint32_t	j = 0;

	if (from == to || n == 0)
		return 0;
	if (n * pp_search_steps(to - from) < n + to - from)
	{
		for (; j < n && from < to; j++)
		{
			const uint32_t key = list[at + j];

			from = pp_lower_bound(list, from, to, key);
			if (from < to && list[from] == key)
				bits |= 1u << j;
		}
		return bits;
	}
	for (uint32_t a = list[at], b = list[from];;)
	{
		const bool	less = a <= b;
		const bool	greater = b <= a;

		if (less)
		{
			if (greater)
				bits |= 1u << j;
			if (++j == n)
				return bits;
			a = list[at + j];
		}
		if (greater)
		{
			if (++from == to)
				return bits;
			b = list[from];
		}
	}
}

#endif							/* PP_JOIN_DEGREE_H */
