/*
 * test/cuda/join_bytes_test.cpp
 *	  Bytes that joins move to and from device memory, an edge: what kernels that
 *	  number keys and build tries move, and those that join, by every algorithm.
 *	  Counted under the host SIMT layer, printed as tables, held against bounds.
 *
 * For builds that count (MODE count of test/simt).  A byte counts each time that a
 * thread asks for it; caches are not modelled.  A sort counts as passes over 8 bits,
 * each of which reads the keys twice, which is more than CUB's do.
 */
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

extern "C"
{
#include "../unit/unit.h"
}
#include "../../cuda/library.h"
#include "control.h"

namespace
{

enum
{
	T_RANDOM = 81,
	T_SKEWED
};

const PpCudaLibrary *library;

const char *const algorithm_name[] = {"auto", "lftj", "optimized", "degree", "pairwise"};

/* Edges from the smaller key to the greater, each once. */
using Edges = std::vector<std::pair<int64_t, int64_t>>;

void
add_edge(std::set<std::pair<int64_t, int64_t>> *edges, int64_t a, int64_t b)
{
	if (a != b)
		edges->insert(std::minmax(a, b));
}

/* Keys are 64 bits at random, any two vertices as likely as others, but for a clique
 * of four, so that there is an answer. */
Edges
random_graph(uint32_t nvertices, uint32_t nedges)
{
	UnitRandom	r = unit_random(T_RANDOM, nedges);
	std::vector<int64_t> key(nvertices);
	std::set<std::pair<int64_t, int64_t>> edges;

	for (int64_t &k : key)
		k = (int64_t) unit_next(&r);
	for (uint32_t b = 0; b < 4; b++)
		for (uint32_t a = 0; a < b; a++)
			add_edge(&edges, key[a], key[b]);
	while (edges.size() < nedges)
		add_edge(&edges, key[unit_below(&r, nvertices)], key[unit_below(&r, nvertices)]);
	return Edges(edges.begin(), edges.end());
}

/* R-MAT with the probabilities of Graph500. */
Edges
skewed_graph(uint32_t scale, uint32_t nedges)
{
	UnitRandom	r = unit_random(T_SKEWED, nedges);
	std::set<std::pair<int64_t, int64_t>> edges;

	while (edges.size() < nedges)
	{
		int64_t		a = 0;
		int64_t		b = 0;

		for (uint32_t i = 0; i < scale; i++)
		{
			const uint32_t p = unit_below(&r, 100);

			a = 2 * a + (p >= 76);
			b = 2 * b + (p >= 57 && (p < 76 || p >= 95));
		}
		add_edge(&edges, a, b);
	}
	return Edges(edges.begin(), edges.end());
}

/* Bytes of all kernels since the counters were reset, an edge. */
double
bytes_so_far(double nedges, bool show)
{
	SimtKernelCount count;
	double		total = 0;

	for (size_t i = 0; simt_kernel(i, &count); i++)
	{
		if (show)
			printf("| %s | %llu | %.1f | %.1f |\n", count.name, (unsigned long long) count.launches,
				   (double) count.bytes_loaded / nedges, (double) count.bytes_stored / nedges);
		total += (double) (count.bytes_loaded + count.bytes_stored) / nedges;
	}
	return total;
}

/* A clique's answer, and bytes an edge that building and joining take at most. */
void
test_graph(const char *what, const Edges &edges, uint32_t k, PpCudaJoinAlgorithm algorithm,
		   uint64_t *answer, double most_build, double most_join)
{
	std::vector<int64_t> pairs;
	std::vector<PpJoinAtom> atoms;
	UnitHeap	heap = {};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	const double n = (double) edges.size();
	PpJoinRelation relation = {};
	PpJoinQuery query = {};
	PpCudaJoin *join = nullptr;
	PpCudaJoinInfo info;
	PpCount		count = {0, 0};
	PpJoinStatus status;
	double		build;
	double		joining;

	unit_case("bytes moved by %s, %s, %u-cliques", algorithm_name[algorithm], what, k);
	for (const auto &e : edges)
	{
		pairs.push_back(e.first);
		pairs.push_back(e.second);
	}
	for (uint32_t b = 1; b < k; b++)
		for (uint32_t a = 0; a < b; a++)
			atoms.push_back({0, {a, b}});
	relation.pairs = pairs.data();
	relation.nrows = edges.size();
	query.nvariables = k;
	query.natoms = (uint32_t) atoms.size();
	query.atoms = atoms.data();
	query.nrelations = 1;
	query.relations = &relation;
	query.simd = PP_SIMD_LEVELS;
	query.threads = 1;

	simt_reset_counters();
	status = library->join->build(&query, nullptr, algorithm, &alloc, SIZE_MAX, &join);
	EXPECT(status == PP_JOIN_OK, "status %d: %s", (int) status, library->error());
	if (status != PP_JOIN_OK)
		return;
	printf("\n| %s, %u-cliques, %s: bytes an edge | launches | loaded | stored |\n|---|--:|--:|--:|\n",
		   what, k, algorithm_name[algorithm]);
	build = bytes_so_far(n, true);
	simt_reset_counters();
	status = library->join->count(join, &count);
	EXPECT(status == PP_JOIN_OK, "status %d: %s", (int) status, library->error());
	printf("| *to join:* | | | |\n");
	joining = bytes_so_far(n, true);
	library->join->info(join, &info);
	printf("| built %.1f, joined %.1f, %.2f seeks, peak %.1f | | | |\n", build, joining,
		   (double) info.seeks / n, (double) info.peak_device_bytes / n);
	EXPECT(info.algorithm == algorithm, "by %s", algorithm_name[info.algorithm]);
	if (*answer == 0)
		*answer = count.low;
	EXPECT(count.low == *answer && count.low > 0, "%llu, not %llu", (unsigned long long) count.low,
		   (unsigned long long) *answer);
	EXPECT(build <= most_build, "%.1f bytes an edge to build, at most %.1f", build, most_build);
	EXPECT(joining <= most_join, "%.1f bytes an edge to join, at most %.1f", joining, most_join);
	library->join->free(join);
	EXPECT(simt_reports() == 0, "%s", simt_last_report());
}

/* Bytes an edge at most, to build and to join. */
struct Most
{
	PpCudaJoinAlgorithm algorithm;
	double		build;
	double		join;
};

void
test_all(const char *what, const Edges &edges, uint32_t k, const std::vector<Most> &all)
{
	uint64_t	answer = 0;

	for (const Most &m : all)
		test_graph(what, edges, k, m.algorithm, &answer, m.build, m.join);
}

}								/* namespace */

int
main(int argc, char **argv)
{
	PpCudaConfig config = {sizeof(config), 0, UINT64_MAX};
	PpCudaDevice device;
	const char *message = nullptr;

	unit_begin(argc, argv, "join_bytes");
	simt_report_to_stderr(false);
	library = pp_cuda_library(PP_CUDA_VERSION);
	unit_case("this build counts");
	EXPECT(simt_counts_bytes(), "it does not");
	EXPECT(library->start(&config, &device, &message), "%s", message == nullptr ? "" : message);
	/* the publication's: as many vertices as edges, and edges^(3/4) */
	test_all("random", random_graph(20000, 20000), 3, {
		{PP_CUDA_JOIN_LFTJ, 1120, 135}, {PP_CUDA_JOIN_OPTIMIZED, 1120, 440},
		{PP_CUDA_JOIN_DEGREE, 1050, 10}, {PP_CUDA_JOIN_PAIRWISE, 710, 1700}});
	test_all("random", random_graph(1000, 10000), 4, {
		{PP_CUDA_JOIN_LFTJ, 960, 490}, {PP_CUDA_JOIN_OPTIMIZED, 960, 870},
		{PP_CUDA_JOIN_DEGREE, 820, 96}});
	test_all("skewed", skewed_graph(11, 20000), 3, {
		{PP_CUDA_JOIN_LFTJ, 380, 1310}, {PP_CUDA_JOIN_OPTIMIZED, 380, 3500},
		{PP_CUDA_JOIN_DEGREE, 235, 147}});
	library->stop();
	return unit_end();
}
