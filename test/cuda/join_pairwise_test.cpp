/*
 * test/cuda/join_pairwise_test.cpp
 *	  The baseline of binary joins: counts of random queries against nested loops
 *	  of the host, with much room for intermediate results and with little.
 */
extern "C"
{
#include "../unit/trie_case.h"
}

#include "../../cuda/library.h"
#include "../../cuda/memory.h"
#include "device_check.h"

namespace
{

enum
{
	T_RANDOM = 1,
	T_TRIANGLES
};

const PpCudaLibrary *library;

/* Counts a query's answers; the join is freed. */
PpJoinStatus
count(const PpJoinQuery *query, PpCount *counted, PpCudaJoinInfo *info)
{
	UnitHeap	heap = {};
	PpAlloc		alloc = unit_heap_alloc(&heap);
	PpCudaJoin *join = nullptr;
	PpJoinStatus status;

	status = library->join->build(query, nullptr, PP_CUDA_JOIN_PAIRWISE, &alloc, SIZE_MAX, &join);
	for (uint32_t turn = 0; turn < 2 && status == PP_JOIN_OK; turn++)
	{
		/* once more, with the tries that are there */
		if (turn > 0)
			library->join->rewind(join);
		status = library->join->count(join, counted);
	}
	if (join != nullptr)
		library->join->info(join, info);
	library->join->free(join);
	EXPECT(heap.live_blocks == 0, "%zu blocks of the host's memory are left", heap.live_blocks);
	return status;
}

void
test_random(uint64_t i)
{
	UnitRandom	r = unit_random(T_RANDOM, i);
	Case		c;
	const uint64_t limits[] = {UINT64_C(4) << 20, UINT64_C(384) << 10};

	unit_case("random query %u", (unsigned) i);
	schedule((uint32_t) i);
	make_case(&c, &r);
	c.query.mode = PP_JOIN_COUNT;
	c.query.row_numbers = false;
	for (uint64_t limit : limits)
	{
		PpCount		counted = {0, 0};
		PpCudaJoinInfo info = {};
		PpJoinStatus status;

		/* pieces of many rows, and of few */
		pp_memory_trim();
		pp_memory_limit(limit);
		status = count(&c.query, &counted, &info);
		pp_memory_limit(UINT64_MAX);
		EXPECT(status == PP_JOIN_OK, "status %d: %s", (int) status, library->error());
		EXPECT(status != PP_JOIN_OK || info.algorithm == PP_CUDA_JOIN_PAIRWISE, "algorithm %d",
			   (int) info.algorithm);
		EXPECT(status != PP_JOIN_OK || (counted.low == c.n && counted.high == 0),
			   "%llu answers, not %llu", (unsigned long long) counted.low,
			   (unsigned long long) c.n);
	}
	drop_case(&c);
}

/* Triangles of a random relation, and how many there are. */
struct Triangles
{
	const PpJoinAtom atoms[3] = {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}};
	std::vector<int64_t> pairs;
	PpJoinRelation relation = {};
	PpJoinQuery query = {};
	uint64_t	wanted = 0;

	Triangles(uint32_t n, uint32_t domain)
	{
		UnitRandom	r = unit_random(T_TRIANGLES, n);
		std::vector<uint32_t> edges(domain * domain);

		for (uint32_t i = 0; i < n; i++)
		{
			const uint32_t a = unit_below(&r, domain);
			const uint32_t b = unit_below(&r, domain);

			pairs.push_back(a);
			pairs.push_back(b);
			edges[a * domain + b]++;
		}
		for (uint32_t a = 0; a < domain; a++)
			for (uint32_t b = 0; b < domain; b++)
				for (uint32_t c = 0; c < domain && edges[a * domain + b] > 0; c++)
					wanted += (uint64_t) edges[a * domain + b] * edges[b * domain + c] *
						edges[a * domain + c];
		relation.pairs = pairs.data();
		relation.nrows = n;
		query.nvariables = 3;
		query.natoms = 3;
		query.atoms = atoms;
		query.nrelations = 1;
		query.relations = &relation;
		query.mode = PP_JOIN_COUNT;
		query.simd = PP_SIMD_LEVELS;
	}
};

/* Pairs of edges come in many pieces. */
void
test_pieces(void)
{
	const Triangles t(1200, 90);
	PpCount		counted = {0, 0};
	PpCudaJoinInfo info = {};
	PpJoinStatus status;

	unit_case("intermediate results in pieces");
	schedule(0);
	pp_memory_trim();
	pp_memory_limit(UINT64_C(320) << 10);
	simt_reset_counters();
	status = count(&t.query, &counted, &info);
	pp_memory_limit(UINT64_MAX);
	EXPECT(status == PP_JOIN_OK && info.algorithm == PP_CUDA_JOIN_PAIRWISE && info.nboxes <= 1,
		   "status %d, algorithm %d, %u boxes", (int) status, (int) info.algorithm, info.nboxes);
	EXPECT(counted.low == t.wanted && counted.high == 0, "%llu triangles, not %llu",
		   (unsigned long long) counted.low, (unsigned long long) t.wanted);
	EXPECT(!simt_present() || simt_launches("join_rows") > 20, "%llu pieces",
		   (unsigned long long) simt_launches("join_rows"));
}

/* Every allocation and launch fails in turn. */
void
test_failures(SimtCall kind, const char *name)
{
	const Triangles t(200, 30);

	for (uint64_t nth = 1; nth < 1000; nth++)
	{
		PpCount		counted = {0, 0};
		PpCudaJoinInfo info = {};
		PpJoinStatus status;

		if (!is_done(nth) && nth > 3)
			continue;
		unit_case("%s number %u fails", name, (unsigned) nth);
		simt_report_to_stderr(false);
		pp_memory_trim();
		pp_memory_limit(UINT64_C(4) << 20);
		simt_inject(kind, nth, false);
		status = count(&t.query, &counted, &info);
		simt_inject(kind, 0, false);
		EXPECT(status == PP_JOIN_DEVICE_FAILED || status == PP_JOIN_OK ||
			   (kind == SIMT_ALLOC && status == PP_JOIN_NO_FIT), "status %d", (int) status);
		EXPECT(status != PP_JOIN_OK || counted.low == t.wanted, "%llu answers",
			   (unsigned long long) counted.low);
		restart_library(library);
		if (status == PP_JOIN_OK)
			break;
	}
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "join_pairwise_test");
	library = pp_cuda_library(PP_CUDA_VERSION);
	unit_case("start");
	start_library(library);
	for (uint64_t i = 0; i < unit_iterations(80); i++)
		test_random(i);
	test_pieces();
	if (simt_present())
	{
		test_failures(SIMT_ALLOC, "allocation");
		test_failures(SIMT_LAUNCH, "launch");
	}
	library->stop();
	check_leftovers();
	return unit_end();
}
