/*
 * test/cuda/join_optimized_test.cpp
 *	  Joins that go breadth first (cuda/join_optimized.cu), through the library's
 *	  table: random queries against nested loops and graphs against the CPU's
 *	  engine, in frontiers and tiles of any size; hubs, limits of memory, counts
 *	  that are too large, failures and cancelling.
 */
#include <algorithm>
#include <cinttypes>
#include <map>
#include <vector>

extern "C"
{
#include "../unit/trie_case.h"
#include "../unit/trie_query.h"
}
#include "../../cuda/join_optimized.h"
#include "device_check.h"

namespace
{

enum
{
	T_QUERIES = 1,
	T_GRAPHS,
	T_MEMORY,
	T_FAILURES
};

constexpr size_t BUDGET = (size_t) 1 << 30;

const PpCudaLibrary *library;

void
start(void)
{
	PpCudaConfig config = {sizeof(config), 0, UINT64_MAX};
	PpCudaDevice device;
	const char *message = nullptr;

	EXPECT(library->start(&config, &device, &message), "not started: %s", message ? message : "");
}

/* Frontiers and tiles of some size; 0, 0: as large as they come. */
void
set_sizes(uint32_t room, uint32_t tile)
{
	pp_optimized_room = room;
	pp_optimized_tile = tile;
}

typedef std::vector<std::vector<int64_t>> Tuples;

struct Outcome
{
	PpJoinStatus status = PP_JOIN_OK;
	Uint128		count = 0;
	std::map<int64_t, uint64_t> groups;
	Tuples		tuples;			/* as they came */
	PpCudaJoinInfo info = {};
};

/* What a query's mode asks for; rows no more than most. */
void
ask(const PpJoinQuery *q, PpCudaJoin *join, size_t capacity, uint64_t most, Outcome *out)
{
	const PpCudaJoinTable *joins = library->join;
	std::vector<int64_t> keys(capacity * q->nvariables);
	std::vector<uint32_t> rows(capacity * q->natoms);
	std::vector<PpCount> counts(capacity);
	PpCount		count = {0, 0};
	size_t		n = 0;

	if (q->mode == PP_JOIN_COUNT)
	{
		out->status = joins->count(join, &count);
		out->count = (Uint128) count.high << 64 | count.low;
		return;
	}
	do
	{
		out->status = q->mode == PP_JOIN_GROUPS ?
			joins->groups(join, keys.data(), counts.data(), capacity, &n) :
			joins->rows(join, keys.data(), q->row_numbers ? rows.data() : nullptr, capacity, &n);
		for (size_t i = 0; i < n && out->status == PP_JOIN_OK; i++)
			if (q->mode == PP_JOIN_GROUPS)
			{
				EXPECT(counts[i].high == 0 && out->groups.count(keys[i]) == 0, "key %" PRId64, keys[i]);
				out->groups[keys[i]] = counts[i].low;
			}
			else
			{
				std::vector<int64_t> tuple;

				for (uint32_t v = 0; v < q->nvariables; v++)
					tuple.push_back(keys[v * capacity + i]);
				for (uint32_t a = 0; a < q->natoms && q->row_numbers; a++)
					tuple.push_back(rows[a * capacity + i]);
				out->tuples.push_back(tuple);
			}
	} while (n > 0 && out->status == PP_JOIN_OK && out->tuples.size() < most);
}

Outcome
run(const PpJoinQuery *q, size_t capacity = 100, uint64_t most = UINT64_MAX)
{
	UnitHeap	heap = {};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	PpCudaJoin *join = nullptr;
	Outcome		out;

	out.status = library->join->build(q, nullptr, PP_CUDA_JOIN_OPTIMIZED, &alloc, BUDGET, &join);
	if (join != nullptr)
	{
		ask(q, join, capacity, most, &out);
		library->join->info(join, &out.info);
		EXPECT(out.status != PP_JOIN_OK || out.info.algorithm == PP_CUDA_JOIN_OPTIMIZED, "algorithm %d",
			   (int) out.info.algorithm);
	}
	library->join->free(join);
	EXPECT(heap.live_blocks == 0, "%zu blocks of the host are left", heap.live_blocks);
	return out;
}

/* ---------- random queries ---------- */

void
check_case(const Case *c, const Outcome &out)
{
	const PpJoinQuery *q = &c->query;
	std::map<int64_t, uint64_t> groups;
	Tuples		want;
	Tuples		got = out.tuples;

	EXPECT(out.status == PP_JOIN_OK, "status %d: %s", (int) out.status, library->error());
	for (uint64_t t = 0; t < c->n; t++)
	{
		const int64_t *tuple = c->tuples + t * c->width;

		groups[tuple[q->group]]++;
		want.emplace_back(tuple, tuple + (q->row_numbers ? c->width : q->nvariables));
	}
	if (q->mode == PP_JOIN_COUNT)
		EXPECT(out.count == c->n, "%" PRIu64 " counted, not %" PRIu64, (uint64_t) out.count, c->n);
	else if (q->mode == PP_JOIN_GROUPS)
		EXPECT(out.groups == groups, "%zu groups, or others, instead of %zu", out.groups.size(), groups.size());
	else
	{
		std::sort(want.begin(), want.end());
		std::sort(got.begin(), got.end());
		EXPECT(got == want, "%zu rows, or others, instead of %zu", got.size(), want.size());
	}
}

void
test_queries(uint64_t i)
{
	UnitRandom	r = unit_random(T_QUERIES, i);
	Case		c;

	make_case(&c, &r);
	for (uint32_t m = 0; set_mode(&c, m); m++)
	{
		const uint32_t room = unit_once_in(&r, 3) ? 0 : 1 + unit_below(&r, 60);
		const uint32_t tile = unit_once_in(&r, 3) ? 0 : 4 + unit_below(&r, 40);
		const size_t capacity = 1 + unit_below(&r, 300);
		Outcome		out;

		/* the device has one way of counting, and each variable is one mode */
		if (m == 1 || (m > 4 && !unit_once_in(&r, 3)))
			continue;
		unit_case("query %" PRIu64 ", mode %u, room %u, tile %u", i, m, room, tile);
		schedule(unit_once_in(&r, 3) ? 0 : 1 + unit_below(&r, 1000));
		set_sizes(room, tile);
		out = run(&c.query, capacity);
		check_case(&c, out);
		if (c.query.mode == PP_JOIN_ROWS && c.n > 0)
		{
			/* the order is always the same */
			set_sizes(unit_below(&r, 30), unit_below(&r, 30));
			EXPECT(run(&c.query, 1000).tuples == out.tuples, "in another order");
		}
	}
	drop_case(&c);
}

/* ---------- graphs ---------- */

struct Graph
{
	std::vector<int64_t> pairs;
	PpJoinRelation relation;

	void
	edge(uint32_t a, uint32_t b)
	{
		pairs.push_back(a);
		pairs.push_back(b);
		relation = {pairs.data(), pairs.size() / 2};
	}
};

/*
 * Skewed: low numbers have many neighbours, or with up high ones, which slices
 * meet when they have become long; and a hub.
 */
Graph
random_graph(UnitRandom *r, uint32_t nvertices, uint32_t nedges, uint32_t nhub, bool up = false)
{
	const uint32_t hub = up ? nvertices + nhub : 0;
	const bool	twice = unit_once_in(r, 2);
	Graph		g;

	for (uint32_t i = 0; i < nedges; i++)
	{
		const uint32_t a = unit_below(r, unit_below(r, nvertices) + 1);
		const uint32_t b = unit_below(r, nvertices);

		for (uint32_t k = 0; k <= (uint32_t) (twice && i % 4 == 0); k++)
			g.edge(up ? nvertices - 1 - a : a, b);
	}
	for (uint32_t i = 1; i < nhub; i++)
	{
		g.edge(hub, i);
		if (i % 4 == 0)
			g.edge(i, i + 1);
	}
	return g;
}

struct Pattern
{
	const char *name;
	uint32_t	nvariables;
	std::vector<PpJoinAtom> atoms;
	std::vector<PpJoinResidual> residuals;
};

const std::vector<Pattern> patterns = {
	{"triangle", 3, {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}}, {}},
	{"cyclic triangle", 3, {{0, {0, 1}}, {0, {1, 2}}, {0, {2, 0}}}, {{PP_JOIN_LT, 0, 1}}},
	{"4-clique", 4, {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}, {0, {0, 3}}, {0, {1, 3}}, {0, {2, 3}}},
	 {{PP_JOIN_NE, 0, 3}, {PP_JOIN_LE, 1, 2}}},
	{"4-cycle", 4, {{0, {0, 1}}, {0, {1, 2}}, {0, {2, 3}}, {0, {3, 0}}}, {{PP_JOIN_NE, 0, 2}}},
	{"two triangles at an edge", 4, {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}, {0, {1, 3}}, {0, {0, 3}}}, {}},
	{"triangle with tails", 5, {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}, {0, {2, 3}}, {0, {3, 4}}}, {}},
};

PpJoinQuery
query_of(const Pattern &p, const Graph &g, PpJoinMode mode)
{
	PpJoinQuery q = {};

	q.nvariables = p.nvariables;
	q.natoms = (uint32_t) p.atoms.size();
	q.nresiduals = (uint32_t) p.residuals.size();
	q.nrelations = 1;
	q.atoms = p.atoms.data();
	q.residuals = p.residuals.data();
	q.relations = &g.relation;
	q.mode = mode;
	q.strategy = PP_JOIN_GENERAL;
	q.simd = PP_SIMD_LEVELS;
	return q;
}

Uint128
count_on_cpu(PpJoinQuery q)
{
	Counted		counted = {};

	q.mode = PP_JOIN_COUNT;
	EXPECT(count_query(&q, 1, &counted) == PP_JOIN_OK, "the CPU's engine");
	return counted.count;
}

Uint128
sum_of(const std::map<int64_t, uint64_t> &groups)
{
	Uint128		sum = 0;

	for (const auto &each : groups)
		sum += each.second;
	return sum;
}

void
test_graphs(uint64_t i)
{
	UnitRandom	r = unit_random(T_GRAPHS, i);
	const Pattern &p = patterns[i % patterns.size()];
	const Graph g = random_graph(&r, 400, 3000, i % 2 ? 300 : 0, unit_once_in(&r, 2));
	const Uint128 want = count_on_cpu(query_of(p, g, PP_JOIN_COUNT));
	const uint32_t room = unit_once_in(&r, 3) ? 0 : 200 + unit_below(&r, 1000);
	const uint32_t tile = unit_once_in(&r, 3) ? 0 : 50 + unit_below(&r, 300);
	PpJoinQuery q;

	unit_case("%s, graph %" PRIu64 ", room %u, tile %u", p.name, i, room, tile);
	schedule((uint32_t) i);
	set_sizes(room, tile);
	for (PpJoinMode mode : {PP_JOIN_COUNT, PP_JOIN_GROUPS, PP_JOIN_ROWS})
	{
		Outcome		out;

		q = query_of(p, g, mode);
		q.group = (uint32_t) (i % p.nvariables);
		if (mode == PP_JOIN_ROWS && want > 20000)
			continue;
		out = run(&q, 4096);
		EXPECT(out.status == PP_JOIN_OK, "mode %d: status %d: %s", (int) mode, (int) out.status, library->error());
		EXPECT((mode == PP_JOIN_COUNT ? out.count : mode == PP_JOIN_GROUPS ? sum_of(out.groups) :
				(Uint128) out.tuples.size()) == want, "mode %d: not %" PRIu64, (int) mode, (uint64_t) want);
	}
}

/* Rows that come several times, at every level of every pattern. */
void
test_weights(void)
{
	Graph		g;

	for (uint32_t a = 0; a < 8; a++)
		for (uint32_t b = 0; b < 8; b++)
			for (uint32_t k = 0; k <= (a + 2 * b) % 3 && a != b; k++)
				g.edge(a, b);
	set_sizes(0, 0);
	for (const Pattern &p : patterns)
	{
		PpJoinQuery q = query_of(p, g, PP_JOIN_COUNT);
		const Uint128 want = count_on_cpu(q);

		unit_case("%s of rows that come several times", p.name);
		schedule(0);
		EXPECT(run(&q).count == want, "another count");
		q.mode = PP_JOIN_GROUPS;
		for (q.group = 0; q.group < q.nvariables; q.group++)
			EXPECT(sum_of(run(&q).groups) == want, "other groups by %u", q.group);
	}
}

/*
 * Slices have become long where lists are short, when a hub's come: tiles find
 * no room and are met again.
 */
void
test_full(void)
{
	const uint32_t n = 400;
	Graph		g;

	for (uint32_t i = 0; i < n; i++)
	{
		g.edge(i, 2 * n + i);
		g.edge(3 * n, n + i);
		g.edge(n + i, n + (i + 1) % n);
	}
	for (PpJoinMode mode : {PP_JOIN_COUNT, PP_JOIN_ROWS})
		/* with nothing between arrays of so many entries */
		for (uint32_t room = 128; room <= 384; room += 128)
		{
			const PpJoinQuery q = query_of(patterns[0], g, mode);
			Outcome		out;

			unit_case("a hub behind others, mode %d, room %u", (int) mode, room);
			schedule(room);
			set_sizes(room, 7);
			/* so many tiles at once that one looks back more than a warp's width; more
			 * threads than sanitizers can do with */
			if (room == 384 && mode == PP_JOIN_COUNT && unit_iterations(100) >= 100)
			{
				SimtConfig	config = {};

				config.seed = room;
				config.resident = 60;
				config.preempt = 2000;
				simt_configure(&config);
				set_sizes(4 * room, 7);
			}
			out = run(&q);
			EXPECT((mode == PP_JOIN_COUNT ? out.count : (Uint128) out.tuples.size()) == n, "not %u", n);
		}
}

/* Of a kernel, whatever its parameters are. */
uint64_t
threads_of(const char *kernel)
{
	SimtKernelCount count;
	uint64_t	threads = 0;

	for (size_t i = 0; simt_kernel(i, &count); i++)
		if (strncmp(count.name, kernel, strlen(kernel)) == 0)
			threads += count.threads;
	return threads;
}

/* All neighbours of one vertex are shared out, whatever level they are met at. */
void
test_hub(void)
{
	const uint32_t n = (uint32_t) unit_iterations(100000);
	Graph		g;
	PpJoinQuery q;

	for (uint32_t i = 1; i <= n; i++)
	{
		g.edge(0, i);
		if (i % 16 == 0)
			g.edge(i - 1, i);
	}
	/* triangles at the hub, and pairs of its neighbours that one more has */
	g.edge(n + 1, n + 2);
	for (uint32_t i = 1; i <= n; i += 2)
		g.edge(n + 1, i);
	set_sizes(0, 0);
	for (const Pattern &p : {patterns[0], patterns[3]})
	{
		unit_case("a hub of %u neighbours, %s", n, p.name);
		schedule(0);
		simt_reset_counters();
		q = query_of(p, g, PP_JOIN_COUNT);
		EXPECT(run(&q).count == count_on_cpu(q), "another count");
		if (simt_present())
			EXPECT(threads_of("tiles_kernel") >= n / PP_EXPAND_SHARE, "%" PRIu64 " threads",
				   threads_of("tiles_kernel"));
	}
}

/* ---------- limits ---------- */

/* With less and less memory frontiers shrink, and with them tiles, up to where
 * nothing fits. */
void
test_memory(void)
{
	UnitRandom	r = unit_random(T_MEMORY, 0);
	const Graph g = random_graph(&r, 500, 6000, 400);
	const PpJoinQuery q = query_of(patterns[2], g, PP_JOIN_COUNT);
	const Uint128 want = count_on_cpu(q);

	const uint64_t least = 160 << 10;
	const uint64_t none = 16 << 10;

	set_sizes(0, 0);
	for (uint64_t bytes = 16 << 20; bytes > 0; bytes = bytes == none ? 0 : bytes / 4 * 3 < least ? none : bytes / 4 * 3)
	{
		const bool	fits = bytes > none;
		Outcome		out;

		unit_case("%" PRIu64 " bytes of the device", bytes);
		pp_memory_trim();
		pp_memory_limit(bytes);
		simt_reset_counters();
		out = run(&q);
		EXPECT(fits ? out.status == PP_JOIN_OK && out.count == want : out.status == PP_JOIN_NO_FIT, "status %d",
			   (int) out.status);
		/* the rows leave room for frontiers of less than a tile */
		EXPECT(!fits || (out.info.nboxes == 1 && out.info.launches < 1000), "%u boxes, %" PRIu64 " launches",
			   out.info.nboxes, out.info.launches);
		EXPECT(!simt_present() || simt_memory().peak_device_bytes <= bytes, "%" PRIu64 " bytes",
			   simt_memory().peak_device_bytes);
	}
	pp_memory_limit(UINT64_MAX);
}

void
test_overflow(void)
{
	std::vector<PpJoinAtom> atoms;
	Graph		g;
	PpJoinQuery q;

	set_sizes(0, 0);
	for (uint32_t i = 0; i < 1000; i++)
		g.edge(1, 2);
	for (uint32_t n = 6; n <= 7; n++)
	{
		const Pattern p = {"", 2, std::vector<PpJoinAtom>(n, {0, {0, 1}}), {}};
		const PpJoinStatus want = n == 6 ? PP_JOIN_OK : PP_JOIN_HANDED_OVER;

		unit_case("1000^%u", n);
		q = query_of(p, g, PP_JOIN_COUNT);
		EXPECT(run(&q).status == want, "status %d", (int) run(&q).status);
		EXPECT(n == 7 || run(&q).count == (Uint128) 1000000000 * 1000000000, "another count");
		q.mode = PP_JOIN_GROUPS;
		EXPECT(run(&q).status == want, "status %d", (int) run(&q).status);
	}
	/* sums: of groups 64 bits have to do, of all 128 */
	unit_case("20 times 1000^6");
	for (uint32_t v = 3; v <= 21; v++)
		for (uint32_t i = 0; i < 1000; i++)
			g.edge(1, v);
	{
		const Pattern p = {"", 2, std::vector<PpJoinAtom>(6, {0, {0, 1}}), {}};
		Outcome		out;

		q = query_of(p, g, PP_JOIN_COUNT);
		out = run(&q);
		EXPECT(out.status == PP_JOIN_OK && out.count == (Uint128) 1000000000 * 1000000000 * 20,
			   "status %d, or another count", (int) out.status);
		q.mode = PP_JOIN_GROUPS;
		EXPECT(run(&q).status == PP_JOIN_HANDED_OVER, "status %d", (int) run(&q).status);
	}
	g = Graph();
	for (uint32_t i = 0; i < 1000; i++)
		g.edge(1, 2);
	unit_case("the first of 1000^3 rows");
	{
		const Pattern p = {"", 2, std::vector<PpJoinAtom>(3, {0, {0, 1}}), {}};

		q = query_of(p, g, PP_JOIN_ROWS);
		EXPECT(run(&q, 100, 100).tuples == Tuples(100, {1, 2}), "other rows");
		q.row_numbers = true;
		{
			Tuples		tuples = run(&q, 1000, 1000).tuples;

			EXPECT(tuples.size() >= 1000, "%zu rows", tuples.size());
			std::sort(tuples.begin(), tuples.end());
			EXPECT(std::unique(tuples.begin(), tuples.end()) == tuples.end(), "a row twice");
		}
	}
}

/* ---------- failures ---------- */

/* Every allocation, copy and launch fails in turn. */
void
test_failures(SimtCall kind, const char *name, PpJoinMode mode)
{
	UnitRandom	r = unit_random(T_FAILURES, 0);
	const Graph g = random_graph(&r, 30, 90, 0);
	const PpJoinQuery q = query_of(patterns[mode == PP_JOIN_ROWS ? 0 : 5], g, mode);
	bool		passed = false;

	set_sizes(40, 50);
	for (uint64_t nth = 1; !passed; nth++)
	{
		Outcome		out;
		uint64_t	calls;

		/* most of them are slices, one like another */
		if (nth > 3 && (!is_done(nth) || (nth > 30 && nth % 8 != 0)))
			continue;
		unit_case("%s number %u fails, mode %d", name, (unsigned) nth, (int) mode);
		schedule((uint32_t) nth);
		simt_report_to_stderr(false);
		pp_memory_trim();
		simt_reset_counters();
		simt_inject(kind, nth, false);
		out = run(&q);
		simt_inject(kind, 0, false);
		calls = simt_calls(kind);
		EXPECT(out.status == PP_JOIN_OK || out.status == PP_JOIN_DEVICE_FAILED ||
			   (kind == SIMT_ALLOC && out.status == PP_JOIN_NO_FIT), "status %d", (int) out.status);
		library->stop();
		EXPECT(simt_memory().device_bytes == 0 && simt_memory().pinned_bytes == 0,
			   "%" PRIu64 " bytes, %" PRIu64 " pinned are left", simt_memory().device_bytes,
			   simt_memory().pinned_bytes);
		simt_clear_reports();
		simt_report_to_stderr(true);
		start();
		/* with less memory a join may succeed as well */
		passed = nth > calls;
	}
}

#ifndef SIMT_TSAN
uint32_t	asked;
uint32_t	asked_most;

bool
cancel(void *)
{
	return ++asked > asked_most;
}

void
test_cancel(void)
{
	UnitRandom	r = unit_random(T_FAILURES, 1);
	const Graph g = random_graph(&r, 300, 4000, 200);

	set_sizes(500, 300);
	for (PpJoinMode mode : {PP_JOIN_COUNT, PP_JOIN_ROWS})
		for (asked_most = 0; asked_most < 40; asked_most += 5)
		{
			PpJoinQuery q = query_of(patterns[2], g, mode);
			Outcome		out;

			unit_case("cancelled when asked for time %u, mode %d", asked_most + 1, (int) mode);
			asked = 0;
			q.cancelled = cancel;
			out = run(&q);
			EXPECT(out.status == (asked > asked_most ? PP_JOIN_CANCELLED : PP_JOIN_OK), "status %d",
				   (int) out.status);
		}
}
#endif

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "join_optimized_test");
	library = pp_cuda_library(PP_CUDA_VERSION);
	unit_case("start");
	start();
	for (uint64_t i = 0; i < unit_iterations(80); i++)
		test_queries(i);
	for (uint64_t i = 0; i < unit_iterations(12); i++)
		test_graphs(i);
	test_weights();
	test_full();
	test_hub();
	test_overflow();
#ifndef SIMT_TSAN
	/* a copy writes the word to stop while kernels look at it */
	test_cancel();
#endif
	if (simt_present())
	{
		test_memory();
		for (PpJoinMode mode : {PP_JOIN_COUNT, PP_JOIN_ROWS})
		{
			test_failures(SIMT_ALLOC, "allocation", mode);
			test_failures(SIMT_COPY, "copy", mode);
			test_failures(SIMT_LAUNCH, "launch", mode);
			test_failures(SIMT_EXECUTION, "execution", mode);
		}
	}
	library->stop();
	check_leftovers();
	return unit_end();
}
