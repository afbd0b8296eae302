/*
 * cuda/join_degree_build.cu
 *	  Builds the graph of a join by degree from the codes of a relation:
 *	  vertices ranked by degree, of each the list of its neighbours of higher
 *	  degree, and roots in order of the lengths of these.
 *
 * All undirected cliques count alike if every first key is less than the second,
 * or greater, or every row has its reverse; none has both keys the same, unless
 * comparisons leave these out, and none comes twice.  That the codes, sorted by the
 * ranks of both ends, show at once: then they are the lists.  Of other rows, those of
 * an edge are counted in each direction, and loops of a vertex.
 *
 * Where undirected cliques count alike, keys are compared, and counts are wanted by
 * the key of one variable of four or more, ranks are in order of keys: so a vertex's
 * rank among its clique says which variables it may be.  Lists may be long then; if
 * they are too long for a matrix of bits, it is not for those rows.
 */
#include "join_degree.h"

#include "device_wide.h"

#include <cstring>
#include <initializer_list>

namespace
{

constexpr uint32_t BLOCK = 256;
constexpr uint32_t MOST_BLOCKS = 8192;

/* Steps of a warp in one launch: some milliseconds. */
constexpr uint32_t QUOTA = 1u << 17;

/* Rows that an edge's two counts, of 31 bits, have to do for. */
constexpr uint32_t MOST_MIXED = 1u << 31;

/* Entries of the longest list that a matrix of bits is made of where ranks are
 * those of keys. */
constexpr uint32_t LONGEST_BY_KEY = 16384;

/* Lists of up to 32 and 512 entries; of 8, 32, 128 and 512. */
constexpr uint32_t triangle_class[PP_DEGREE_WAYS] = {5, 9, 0, 0};
constexpr uint32_t clique_class[PP_DEGREE_WAYS] = {3, 5, 7, 9};

/* What is found out on the device. */
struct Found
{
	unsigned int nedges;		/* undirected ones */
	unsigned int duplicates;	/* rows that are there already */
	unsigned int unbalanced;	/* has an edge more rows in one direction? */
	unsigned int heavy;			/* has an edge, or a loop, several in one? */
	unsigned int longest;
	unsigned int roots[PP_DEGREE_CLASSES];	/* by class */
};

struct RootsShared
{
	unsigned int roots[PP_DEGREE_CLASSES];
	unsigned int longest;
};

__device__ __forceinline__ uint64_t
first_item(void)
{
	return (uint64_t) blockIdx.x * BLOCK + threadIdx.x;
}

__device__ __forceinline__ uint64_t
step_items(void)
{
	return (uint64_t) gridDim.x * BLOCK;
}

__global__ void __launch_bounds__(BLOCK)
count_degrees(const uint64_t *codes, uint32_t nrows, unsigned int *degree)
{
	for (uint64_t i = first_item(); i < nrows; i += step_items())
	{
		const uint64_t code = codes[i];

		if (code >> 32 == (uint32_t) code)
			continue;
		atomicAdd(&degree[code >> 32], 1u);
		atomicAdd(&degree[(uint32_t) code], 1u);
	}
}

__global__ void __launch_bounds__(BLOCK)
pack_degrees(const uint32_t *degree, uint32_t n, uint64_t *packed)
{
	for (uint64_t v = first_item(); v < n; v += step_items())
		packed[v] = (uint64_t) degree[v] << 32 | v;
}

/* By rising degree come the greatest ranks first; packed NULL: by number. */
__global__ void __launch_bounds__(BLOCK)
rank_vertices(const uint64_t *packed, uint32_t n, uint32_t *rank, uint32_t *number)
{
	for (uint64_t i = first_item(); i < n; i += step_items())
	{
		const uint32_t v = packed != nullptr ? (uint32_t) packed[i] : (uint32_t) i;
		const uint32_t r = packed != nullptr ? n - 1 - (uint32_t) i : v;

		rank[v] = r;
		if (number != nullptr)
			number[r] = v;
	}
}

/*
 * The greater rank, the lesser one, and whether the row leads to the greater one.
 * Rows with both keys the same are to sort behind all others.
 */
__global__ void __launch_bounds__(BLOCK)
pack_edges(const uint64_t *codes, uint32_t nrows, const uint32_t *rank, uint32_t bits,
		   uint64_t *packed)
{
	for (uint64_t i = first_item(); i < nrows; i += step_items())
	{
		const uint64_t code = codes[i];
		const uint64_t a = rank[code >> 32];
		const uint64_t b = rank[(uint32_t) code];

		packed[i] = a > b ? (a << bits | b) << 1 : a < b ? (b << bits | a) << 1 | 1 :
			(UINT64_C(1) << (2 * bits + 1)) - 1;
	}
}

/* What neighbours in the order say: are they rows of one edge, or the same? */
__global__ void __launch_bounds__(BLOCK)
compare_edges(const uint64_t *packed, uint32_t nrows, Found *found)
{
	unsigned int nedges = 0;
	unsigned int duplicates = 0;

	for (uint64_t i = first_item(); i < nrows; i += step_items())
	{
		const uint64_t here = packed[i];
		const uint64_t before = i == 0 ? ~here : packed[i - 1];

		nedges += here >> 1 != before >> 1;
		duplicates += here == before;
	}
	nedges = pp_warp_sum(nedges);
	duplicates = pp_warp_sum(duplicates);
	if (threadIdx.x % 32 == 0)
	{
		atomicAdd(&found->nedges, nedges);
		if (duplicates > 0)
			atomicAdd(&found->duplicates, duplicates);
	}
}

/*
 * Entries from rows, every stride-th of which is one.  An entry that is the first
 * of its list adds minus its place to the list's length, the last one its place
 * plus one: lengths are zero before.
 */
__global__ void __launch_bounds__(BLOCK)
list_entries(const uint64_t *packed, uint32_t nentries, uint32_t stride, uint32_t bits,
			 uint32_t *list, unsigned int *length)
{
	for (uint64_t i = first_item(); i < nentries; i += step_items())
	{
		const uint64_t edge = packed[i * stride] >> 1;
		const uint32_t u = (uint32_t) (edge >> bits);

		list[i] = (uint32_t) (edge & ((UINT64_C(1) << bits) - 1));
		if (i == 0 || (uint32_t) (packed[(i - 1) * stride] >> 1 >> bits) != u)
			atomicAdd(&length[u], 0u - (unsigned int) i);
		if (i + 1 == nentries || (uint32_t) (packed[(i + 1) * stride] >> 1 >> bits) != u)
			atomicAdd(&length[u], (unsigned int) i + 1);
	}
}

/* Which of the sorted rows are the first of an edge; n + 1 words, the last one 0. */
__global__ void __launch_bounds__(BLOCK)
mark_edges(const uint64_t *packed, uint32_t n, uint32_t *mark)
{
	for (uint64_t i = first_item(); i <= n; i += step_items())
		mark[i] = i < n && (i == 0 || packed[i] >> 1 != packed[i - 1] >> 1);
}

/*
 * Entries of rows of any number, before[i] edges being before row i.  Lengths are
 * made as those of list_entries(), and so are the numbers of rows that an entry
 * has in each direction; both are zero before.
 */
__global__ void __launch_bounds__(BLOCK)
list_mixed(const uint64_t *packed, uint32_t n, const uint32_t *before, const uint32_t *number,
		   uint32_t bits, uint32_t *list, unsigned int *length, unsigned int *rows)
{
	for (uint64_t i = first_item(); i < n; i += step_items())
	{
		const uint64_t here = packed[i];
		const uint64_t last = i == 0 ? ~here : packed[i - 1];
		const uint64_t next = i + 1 == n ? ~here : packed[i + 1];
		const uint32_t entry = before[i + 1] - 1;
		const uint32_t u = (uint32_t) (here >> 1 >> bits);
		const uint32_t v = (uint32_t) (here >> 1 & ((UINT64_C(1) << bits) - 1));
		unsigned int *const counted = &rows[2 * (uint64_t) entry + (here & 1)];

		if (last != here)
			atomicAdd(counted, 0u - (unsigned int) i);
		if (next != here)
			atomicAdd(counted, (unsigned int) i + 1);
		if (last >> 1 >> bits != u)
			atomicAdd(&length[u], 0u - entry);
		if (next >> 1 >> bits != u)
			atomicAdd(&length[u], entry + 1);
		if (last >> 1 == here >> 1)
			continue;
		list[entry] = v;
		if (number[u] < number[v])
			atomicAdd(&rows[2 * (uint64_t) entry], PP_KEY_LESS);
	}
}

__global__ void __launch_bounds__(BLOCK)
count_loops(const uint64_t *codes, uint32_t nrows, const uint32_t *rank, unsigned int *loops)
{
	for (uint64_t i = first_item(); i < nrows; i += step_items())
		if (codes[i] >> 32 == (uint32_t) codes[i])
			atomicAdd(&loops[rank[(uint32_t) codes[i]]], 1u);
}

__global__ void __launch_bounds__(BLOCK)
number_vertices(const uint32_t *rank, uint32_t n, uint32_t *number)
{
	for (uint64_t v = first_item(); v < n; v += step_items())
		number[rank[v]] = (uint32_t) v;
}

/* What is the same for all entries and loops? */
__global__ void __launch_bounds__(BLOCK)
judge_edges(const uint2 *rows, uint32_t nentries, const uint32_t *loops, uint32_t nvertices,
			Found *found)
{
	bool		unbalanced = false;
	bool		heavy = false;

	for (uint64_t i = first_item(); i < nentries; i += step_items())
	{
		const uint2 here = rows[i];

		unbalanced |= (here.x & ~PP_KEY_LESS) != here.y;
		heavy |= max(here.x & ~PP_KEY_LESS, here.y) > 1;
	}
	for (uint64_t v = first_item(); loops != nullptr && v < nvertices; v += step_items())
		heavy |= loops[v] > 1;
	unbalanced = __any_sync(PP_JOIN_LANES, unbalanced);
	heavy = __any_sync(PP_JOIN_LANES, heavy);
	if (threadIdx.x % 32 == 0 && unbalanced)
		atomicOr(&found->unbalanced, 1u);
	if (threadIdx.x % 32 == 0 && heavy)
		atomicOr(&found->heavy, 1u);
}

/* The class of a list; those of less than two entries are of the first one. */
__device__ __forceinline__ uint32_t
class_of(uint32_t length)
{
	return length < 2 ? 0 : 32 - (uint32_t) __clz((int) (length - 1));
}

/* Vertices so that those of long lists sort first, and how many of each class
 * there are; those with less than so many entries are of none. */
__global__ void __launch_bounds__(BLOCK)
pack_roots(const uint32_t *start, uint32_t n, uint64_t *packed, uint32_t least, uint32_t most,
		   Found *found)
{
	PP_SHARED(RootsShared, sh);

	for (uint32_t c = threadIdx.x; c < PP_DEGREE_CLASSES; c += BLOCK)
		sh.roots[c] = 0;
	if (threadIdx.x == 0)
		sh.longest = 0;
	__syncthreads();
	for (uint64_t u = first_item(); u < n; u += step_items())
	{
		const uint32_t length = start[u + 1] - start[u];

		packed[u] = (uint64_t) (most - length) << 32 | u;
		if (length >= least)
		{
			atomicAdd(&sh.roots[class_of(length)], 1u);
			atomicMax(&sh.longest, (unsigned int) length);
		}
	}
	__syncthreads();
	for (uint32_t c = threadIdx.x; c < PP_DEGREE_CLASSES; c += BLOCK)
		if (sh.roots[c] > 0)
			atomicAdd(&found->roots[c], sh.roots[c]);
	if (threadIdx.x == 0 && sh.longest > 0)
		atomicMax(&found->longest, sh.longest);
}

__global__ void __launch_bounds__(BLOCK)
unpack_roots(const uint64_t *packed, uint32_t n, uint32_t *root)
{
	for (uint64_t i = first_item(); i < n; i += step_items())
		root[i] = (uint32_t) packed[i];
}

/* ---------- the host's side ---------- */

/* What is needed while building. */
struct Scratch
{
	PpBuffer	sorted[2] = {};
	PpBuffer	vertices[2] = {};	/* degrees, ranks */
	PpBuffer	temp = {};
	PpBuffer	found = {};

	~Scratch()
	{
		for (PpBuffer *b : {&sorted[0], &sorted[1], &vertices[0], &vertices[1], &temp, &found})
			pp_buffer_release(b);
	}
};

template <class T>
T *
as(const PpBuffer &buffer)
{
	return reinterpret_cast<T *>(buffer.p);
}

uint32_t
blocks(uint64_t n)
{
	const uint64_t wanted = (n + BLOCK - 1) / BLOCK;

	return wanted == 0 ? 1 : wanted < MOST_BLOCKS ? (uint32_t) wanted : MOST_BLOCKS;
}

/* Bits that numbers up to n have, 1 at least. */
uint32_t
bits_of(uint64_t n)
{
	uint32_t	bits = 1;

	while (bits < 64 && n >> bits != 0)
		bits++;
	return bits;
}

PpJoinStatus
launched(PpDeviceJoin *join)
{
	return pp_join_launched(join, "launching a kernel that orients edges failed");
}

/* Sorts sorted[0]; *at: in which of both it is then. */
PpJoinStatus
sort(PpDeviceJoin *join, Scratch *s, uint32_t n, uint32_t first, uint32_t end, uint32_t *at)
{
	uint64_t   *key = as<uint64_t>(s->sorted[0]);
	uint64_t   *other = as<uint64_t>(s->sorted[1]);
	size_t		bytes = 0;

	*at = pp_sort_passes(first, end) % 2;
	TRY(pp_join_call("sorting failed", pp_sort_keys64(nullptr, &bytes, key, other, n, first, end,
													  join->stream)));
	TRY(pp_join_reserve(join, &s->temp, bytes));
	join->info.launches++;
	return pp_join_call("sorting failed", pp_sort_keys64(s->temp.p, &bytes, key, other, n, first,
														 end, join->stream));
}

PpJoinStatus
rank(PpDeviceJoin *join, Scratch *s, PpDegreeJoin *d, uint32_t nrows, const uint64_t *codes,
	 bool by_key, bool numbers)
{
	const uint32_t n = d->nvertices;
	uint32_t	at = 0;

	TRY(pp_join_reserve(join, &s->vertices[1], (uint64_t) n * sizeof(uint32_t)));
	if (numbers)
		TRY(pp_join_reserve(join, &d->memory[3], (uint64_t) n * sizeof(uint32_t)));
	d->graph.number = as<uint32_t>(d->memory[3]);
	if (!by_key)
	{
		TRY(pp_join_reserve(join, &s->vertices[0], (uint64_t) n * sizeof(uint32_t)));
		TRY(pp_join_clear(join, s->vertices[0].p, (uint64_t) n * sizeof(uint32_t)));
		PP_LAUNCH(count_degrees, blocks(nrows), BLOCK, 0, join->stream, codes, nrows,
				  as<unsigned int>(s->vertices[0]));
		TRY(launched(join));
		PP_LAUNCH(pack_degrees, blocks(n), BLOCK, 0, join->stream, as<uint32_t>(s->vertices[0]), n,
				  as<uint64_t>(s->sorted[0]));
		TRY(launched(join));
		/* stable: of the same degree, lesser numbers come first */
		TRY(sort(join, s, n, 32, 32 + bits_of(2 * (uint64_t) nrows) > 64 ? 64 :
				 32 + bits_of(2 * (uint64_t) nrows), &at));
	}
	PP_LAUNCH(rank_vertices, blocks(n), BLOCK, 0, join->stream,
			  by_key ? nullptr : as<uint64_t>(s->sorted[at]), n, as<uint32_t>(s->vertices[1]),
			  as<uint32_t>(d->memory[3]));
	return launched(join);
}

/* Lengths become places where lists begin. */
PpJoinStatus
start_lists(PpDeviceJoin *join, Scratch *s, PpDegreeJoin *d)
{
	uint32_t   *start = as<uint32_t>(d->memory[0]);
	size_t		temp = 0;

	TRY(pp_join_call("summing up failed", pp_scan_sum32(nullptr, &temp, start, start,
														d->nvertices + 1, join->stream)));
	TRY(pp_join_reserve(join, &s->temp, temp));
	join->info.launches++;
	d->graph.start = start;
	d->graph.list = as<uint32_t>(d->memory[1]);
	return pp_join_call("summing up failed", pp_scan_sum32(s->temp.p, &temp, start, start,
														   d->nvertices + 1, join->stream));
}

/* Room for lists of nentries; lengths are zero. */
PpJoinStatus
room_for_lists(PpDeviceJoin *join, PpDegreeJoin *d)
{
	const uint64_t bytes = ((uint64_t) d->nvertices + 1) * sizeof(uint32_t);

	TRY(pp_join_reserve(join, &d->memory[0], bytes));
	TRY(pp_join_reserve(join, &d->memory[1], (uint64_t) d->nentries * sizeof(uint32_t) + 1));
	return pp_join_clear(join, d->memory[0].p, bytes);
}

/* What join_degree_maps.cu wants to know of edges and loops. */
PpJoinStatus
judge(PpDeviceJoin *join, Scratch *s, PpDegreeJoin *d, bool symmetric)
{
	Found		found;

	TRY(pp_join_clear(join, s->found.p, sizeof(Found)));
	PP_LAUNCH(judge_edges, blocks(d->nentries > d->nvertices ? d->nentries : d->nvertices), BLOCK, 0,
			  join->stream, d->mixed.rows, d->nentries, d->mixed.loops, d->nvertices,
			  as<Found>(s->found));
	TRY(launched(join));
	TRY(pp_degree_fetch(join, &found, s->found.p, sizeof(found)));
	d->maps.heavy = found.heavy != 0;
	d->maps.alike &= !symmetric || found.unbalanced == 0;
	return PP_JOIN_OK;
}

/* Lists of the n rows that sorted[at] has of edges, in any number and direction. */
PpJoinStatus
list_any(PpDeviceJoin *join, Scratch *s, PpDegreeJoin *d, const PpDeviceRelation *relation,
		 const PpJoinQuery *query, bool symmetric, uint32_t n, uint32_t at)
{
	const uint32_t bits = bits_of(d->nvertices - 1);
	const uint64_t bytes = (uint64_t) d->nentries * sizeof(uint2);
	uint32_t   *before = as<uint32_t>(s->sorted[at ^ 1]);
	size_t		temp = 0;

	d->is_mixed = true;
	d->mixed.nvertices = d->nvertices;
	d->mixed.nentries = d->nentries;
	if (query->nvariables == 3)
		pp_triangle_ways(query, &d->mixed.ways);
	TRY(room_for_lists(join, d));
	TRY(pp_join_reserve(join, &d->memory[5], bytes + 1));
	TRY(pp_join_clear(join, d->memory[5].p, bytes));
	d->mixed.rows = as<uint2>(d->memory[5]);
	if (d->graph.number == nullptr)
	{
		TRY(pp_join_reserve(join, &d->memory[3], (uint64_t) d->nvertices * sizeof(uint32_t)));
		d->graph.number = as<uint32_t>(d->memory[3]);
		PP_LAUNCH(number_vertices, blocks(d->nvertices), BLOCK, 0, join->stream,
				  as<uint32_t>(s->vertices[1]), d->nvertices, as<uint32_t>(d->memory[3]));
		TRY(launched(join));
	}
	if (relation->nequal > 0 && !pp_clique_distinct(query))
	{
		TRY(pp_join_reserve(join, &d->memory[6], (uint64_t) d->nvertices * sizeof(uint32_t)));
		TRY(pp_join_clear(join, d->memory[6].p, (uint64_t) d->nvertices * sizeof(uint32_t)));
		d->mixed.loops = as<uint32_t>(d->memory[6]);
		PP_LAUNCH(count_loops, blocks(relation->nrows), BLOCK, 0, join->stream,
				  as<uint64_t>(relation->codes), relation->nrows, as<uint32_t>(s->vertices[1]),
				  as<unsigned int>(d->memory[6]));
		TRY(launched(join));
	}
	if (n > 0)
	{
		PP_LAUNCH(mark_edges, blocks(n), BLOCK, 0, join->stream, as<uint64_t>(s->sorted[at]), n, before);
		TRY(launched(join));
		TRY(pp_join_call("summing up failed", pp_scan_sum32(nullptr, &temp, before, before, n + 1,
															join->stream)));
		TRY(pp_join_reserve(join, &s->temp, temp));
		join->info.launches++;
		TRY(pp_join_call("summing up failed", pp_scan_sum32(s->temp.p, &temp, before, before, n + 1,
															join->stream)));
		PP_LAUNCH(list_mixed, blocks(n), BLOCK, 0, join->stream, as<uint64_t>(s->sorted[at]), n, before,
				  d->graph.number, bits, as<uint32_t>(d->memory[1]), as<unsigned int>(d->memory[0]),
				  as<unsigned int>(d->memory[5]));
		TRY(launched(join));
		/* what the sum is made with next is the same memory */
		TRY(pp_join_wait(join));
	}
	TRY(start_lists(join, s, d));
	TRY(pp_join_wait(join));
	return query->nvariables > 3 ? judge(join, s, d, symmetric) : PP_JOIN_OK;
}

/* Lists, unless *declined says why the rows are not for this; by_key: of vertices that
 * rank() was asked to rank by key. */
PpJoinStatus
list(PpDeviceJoin *join, Scratch *s, PpDegreeJoin *d, const PpDeviceRelation *relation,
	 const PpJoinQuery *query, bool symmetric, bool by_key, PpCudaJoinDeclined *declined)
{
	const uint32_t nrows = relation->nrows;
	const uint32_t nedges = nrows - relation->nequal;	/* rows that are none left out */
	const bool	loops = relation->nequal > 0 && !pp_clique_distinct(query);
	const uint32_t bits = bits_of(d->nvertices - 1);
	uint32_t	at;
	Found		found;

	PP_LAUNCH(pack_edges, blocks(nrows), BLOCK, 0, join->stream, as<uint64_t>(relation->codes),
			  nrows, as<uint32_t>(s->vertices[1]), bits, as<uint64_t>(s->sorted[0]));
	TRY(launched(join));
	TRY(sort(join, s, nrows, 0, 2 * bits + 1, &at));
	TRY(pp_join_clear(join, s->found.p, sizeof(Found)));
	PP_LAUNCH(compare_edges, blocks(nrows), BLOCK, 0, join->stream, as<uint64_t>(s->sorted[at]),
			  nedges, as<Found>(s->found));
	TRY(launched(join));
	TRY(pp_degree_fetch(join, &found, s->found.p, sizeof(found)));
	d->nentries = found.nedges;
	pp_buffer_release(&s->vertices[0]);
	if (loops || found.duplicates > 0 || found.nedges != (symmetric ? nedges / 2 : nedges))
	{
		if (nrows >= MOST_MIXED)
			*declined = PP_CUDA_DECLINED_MANY;
		else if (by_key)
		{
			/* lists by degree are shorter, and do as well */
			TRY(rank(join, s, d, nrows, as<uint64_t>(relation->codes), false, true));
			TRY(list(join, s, d, relation, query, symmetric, false, declined));
		}
		else
			TRY(list_any(join, s, d, relation, query, symmetric, nedges, at));
		return PP_JOIN_OK;
	}
	pp_buffer_release(&s->vertices[1]);
	TRY(room_for_lists(join, d));
	PP_LAUNCH(list_entries, blocks(d->nentries), BLOCK, 0, join->stream,
			  as<uint64_t>(s->sorted[at]), d->nentries, symmetric ? 2 : 1, bits,
			  as<uint32_t>(d->memory[1]), as<unsigned int>(d->memory[0]));
	TRY(launched(join));
	return start_lists(join, s, d);
}

PpJoinStatus
sort_roots(PpDeviceJoin *join, Scratch *s, PpDegreeJoin *d)
{
	const uint32_t n = d->nvertices;
	const uint32_t most = d->nentries < n ? d->nentries : n;
	uint32_t	at;
	Found		found;

	TRY(pp_join_clear(join, s->found.p, sizeof(Found)));
	PP_LAUNCH(pack_roots, blocks(n), BLOCK, 0, join->stream, d->graph.start, n,
			  as<uint64_t>(s->sorted[0]), d->mixed.loops != nullptr ? 0 : 2, most, as<Found>(s->found));
	TRY(launched(join));
	TRY(sort(join, s, n, 32, 32 + bits_of(most), &at));
	TRY(pp_degree_fetch(join, &found, s->found.p, sizeof(found)));
	d->longest = found.longest;
	d->nroots = 0;
	for (uint32_t c = PP_DEGREE_CLASSES; c-- > 0;)
	{
		d->first[c] = d->nroots;
		d->nroots += found.roots[c];
	}
	TRY(pp_join_reserve(join, &d->memory[2], (uint64_t) d->nroots * sizeof(uint32_t) + 1));
	if (d->nroots > 0)
	{
		PP_LAUNCH(unpack_roots, blocks(d->nroots), BLOCK, 0, join->stream,
				  as<uint64_t>(s->sorted[at]), d->nroots, as<uint32_t>(d->memory[2]));
		TRY(launched(join));
	}
	d->graph.root = as<uint32_t>(d->memory[2]);
	return pp_join_wait(join);
}

PpJoinStatus
build(PpDeviceJoin *join, Scratch *s, PpDegreeJoin *d, const PpJoinQuery *query,
	  PpCudaJoinDeclined *declined)
{
	const PpDeviceRelation *relation = &join->relation[query->atoms[0].relation];
	const PpEdgeKind kind = relation->nless + relation->nequal == relation->nrows ? PP_EDGES_INCREASING :
		relation->nless == 0 ? PP_EDGES_DECREASING : PP_EDGES_SYMMETRIC;
	const bool	groups = query->mode == PP_JOIN_GROUPS;
	const uint64_t room = relation->nrows > join->nkeys ? relation->nrows : join->nkeys;
	bool		by_key = false;
	int			device = 0;
	int			processors = 0;

	d->nvertices = join->nkeys;
	d->graph.k = query->nvariables;
	d->graph.quota = QUOTA;
	d->graph.chunk = PP_DEGREE_CHUNK;
	d->graph.span = 32 * PP_DEGREE_BLOCK_WORDS;
	for (uint32_t i = 0; i < PP_DEGREE_WAYS; i++)
		d->upto[i] = query->nvariables == 3 ? triangle_class[i] : clique_class[i];
	d->graph.signals = as<PpJoinSignals>(join->signals);
	d->graph.factor = pp_clique_ways(query, kind, groups ? d->graph.place : nullptr);
	for (uint32_t i = 1; i < query->nvariables; i++)
		by_key |= groups && query->nvariables > 3 && d->graph.place[i] != d->graph.place[0];
	pp_map_query(query, &d->maps);
	d->maps.alike = !by_key;
	TRY(pp_join_call("asking the device failed", cudaGetDevice(&device)));
	TRY(pp_join_call("asking the device failed",
					 cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device)));
	d->processors = (uint32_t) processors;
	TRY(pp_join_reserve(join, &d->memory[4], sizeof(PpDegreeWork)));
	d->graph.work = as<PpDegreeWork>(d->memory[4]);
	TRY(pp_join_reserve(join, &s->found, sizeof(Found)));
	for (PpBuffer &b : s->sorted)
		TRY(pp_join_reserve(join, &b, room * sizeof(uint64_t)));
	TRY(rank(join, s, d, relation->nrows, as<uint64_t>(relation->codes), by_key, groups));
	TRY(list(join, s, d, relation, query, kind == PP_EDGES_SYMMETRIC, by_key, declined));
	if (*declined != PP_CUDA_DECLINED_NOT || (d->is_mixed && query->nvariables == 3))
		return PP_JOIN_OK;
	TRY(sort_roots(join, s, d));
	if (by_key && !d->is_mixed && d->longest > LONGEST_BY_KEY)
		*declined = PP_CUDA_DECLINED_LISTS;
	return PP_JOIN_OK;
}

}								/* namespace */

PpCudaJoinDeclined
pp_degree_match(const PpJoinQuery *query)
{
	if (query->mode == PP_JOIN_ROWS)
		return PP_CUDA_DECLINED_ROWS;
	if (query->strategy == PP_JOIN_GENERAL)
		return PP_CUDA_DECLINED_SHAPE;
	for (uint32_t a = 1; a < query->natoms; a++)
		if (query->atoms[a].relation != query->atoms[0].relation)
			return PP_CUDA_DECLINED_RELATIONS;
	return pp_clique_match(query) ? PP_CUDA_DECLINED_NOT : PP_CUDA_DECLINED_SHAPE;
}

PpJoinStatus
pp_degree_build(PpDeviceJoin *join, const PpJoinQuery *query)
{
	const uint32_t which = query->atoms[0].relation;
	PpDegreeJoin *d;
	Scratch		s;
	PpCudaJoinDeclined *declined = &join->info.declined;
	PpJoinStatus status;

	d = static_cast<PpDegreeJoin *>(join->alloc->alloc(join->alloc->ctx, sizeof(PpDegreeJoin)));
	if (d == nullptr)
		return PP_JOIN_NO_MEMORY;
	memset(static_cast<void *>(d), 0, sizeof(*d));
	join->degree = d;
	status = build(join, &s, d, query, declined);
	/* nothing may work on what is put back */
	if (status != PP_JOIN_OK || *declined != PP_CUDA_DECLINED_NOT)
	{
		const PpJoinStatus last = pp_join_wait(join);

		pp_degree_release(join);
		return status == PP_JOIN_OK ? last : status;
	}
	pp_device_codes_release(join, which);
	return PP_JOIN_OK;
}

void
pp_degree_release(PpDeviceJoin *join)
{
	PpDegreeJoin *d = join->degree;

	if (d == nullptr)
		return;
	for (PpBuffer &b : d->memory)
		pp_buffer_release(&b);
	for (PpBuffer &b : d->scratch)
		pp_buffer_release(&b);
	join->alloc->release(join->alloc->ctx, d);
	join->degree = nullptr;
}

PpJoinStatus
pp_degree_fetch(PpDeviceJoin *join, void *to, const void *from, size_t bytes)
{
	PpJoinStatus status = pp_join_wait(join);

	if (status == PP_JOIN_OK)
		status = pp_join_copy(join, to, from, bytes, cudaMemcpyDeviceToHost);
	return status == PP_JOIN_OK ? pp_join_wait(join) : status;
}
