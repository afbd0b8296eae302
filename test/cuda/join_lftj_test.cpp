/*
 * test/cuda/join_lftj_test.cpp
 *	  LFTJ-GPU: random queries against nested loops, graphs against the CPU's
 *	  engine, in many small turns and under many schedules; rows come in the
 *	  same order every time; a hub's work is shared by many threads.
 */
#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <vector>

extern "C"
{
#include "trie_case.h"
#include "trie_query.h"
}
#include "../../cuda/join_lftj.h"
#include "control.h"

namespace
{

const PpCudaLibrary *library;
const PpCudaJoinTable *joins;
PpLftjLimits usual;

enum
{
	T_QUERIES,
	T_GRAPHS,
	T_ROWS,
	T_FIXED
};

void
schedule(uint32_t seed)
{
	SimtConfig	config = {};

	config.seed = seed;
	config.resident = seed == 0 ? 0 : 1 + seed % 7;
	simt_configure(&config);
}

/* Sometimes few steps, few items, few blocks. */
void
set_limits(UnitRandom *r)
{
	pp_lftj_limits = usual;
	if (unit_once_in(r, 2))
		pp_lftj_limits.steps = 1 + unit_below(r, 40);
	if (unit_once_in(r, 2))
		pp_lftj_limits.items = 1 + unit_below(r, 30);
	if (unit_once_in(r, 2))
		pp_lftj_limits.blocks = 1 + unit_below(r, 3);
	if (unit_once_in(r, 2))
		pp_lftj_limits.units = 1 + unit_below(r, 50);
	if (unit_once_in(r, 2))
		pp_lftj_limits.copies = 1 + unit_below(r, 3);
}

PpCudaJoin *
build(const PpJoinQuery *query, const PpAlloc *alloc)
{
	PpCudaJoin *join = nullptr;
	PpCudaJoinInfo info = {};
	const PpJoinStatus status = joins->build(query, nullptr, PP_CUDA_JOIN_LFTJ, alloc, SIZE_MAX, &join);

	EXPECT(status == PP_JOIN_OK && join != nullptr, "status %d: %s", (int) status, library->error());
	if (join != nullptr)
	{
		joins->info(join, &info);
		EXPECT(info.algorithm == PP_CUDA_JOIN_LFTJ, "algorithm %d", (int) info.algorithm);
	}
	return join;
}

/* Keys and their counts, by key. */
typedef std::vector<std::pair<int64_t, uint64_t>> Groups;

Groups
groups_of(const PpJoinQuery *query)
{
	UnitHeap	heap = {};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	PpCudaJoin *join = build(query, &alloc);
	std::vector<int64_t> keys(1000);
	std::vector<PpCount> counts(1000);
	Groups		groups;
	size_t		n = 0;

	do
	{
		const PpJoinStatus status = join == nullptr ? PP_JOIN_INVALID :
			joins->groups(join, keys.data(), counts.data(), keys.size(), &n);

		EXPECT(status == PP_JOIN_OK, "status %d: %s", (int) status, library->error());
		if (status != PP_JOIN_OK)
			break;
		for (size_t i = 0; i < n; i++)
			groups.emplace_back(keys[i], counts[i].low);
	} while (n > 0);
	joins->free(join);
	std::sort(groups.begin(), groups.end());
	return groups;
}

/* The count, and seeks if wanted. */
uint64_t
count_of(const PpJoinQuery *query, uint64_t *seeks)
{
	UnitHeap	heap = {};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	PpCudaJoin *join = build(query, &alloc);
	PpCudaJoinInfo info = {};
	PpCount		count = {0, 1};

	if (join != nullptr)
	{
		const PpJoinStatus status = joins->count(join, &count);

		EXPECT(status == PP_JOIN_OK, "status %d: %s", (int) status, library->error());
		joins->info(join, &info);
	}
	if (seeks)
		*seeks = info.seeks;
	joins->free(join);
	EXPECT(heap.live_blocks == 0, "%zu blocks are left", heap.live_blocks);
	EXPECT(count.high == 0, "a count of 2^64 and more");
	return count.low;
}

/*
 * Variables' keys, then atoms' rows if the query asks for them, as they come, so
 * many and no more; and the join's launches if wanted.
 */
std::vector<int64_t>
rows_of(const PpJoinQuery *query, size_t capacity, size_t most = SIZE_MAX, uint64_t *launches = nullptr)
{
	UnitHeap	heap = {};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	PpCudaJoin *join = build(query, &alloc);
	std::vector<int64_t> keys(capacity * query->nvariables);
	std::vector<uint32_t> rows(capacity * query->natoms);
	std::vector<int64_t> out;
	PpCudaJoinInfo info = {};
	size_t		n = 0;

	do
	{
		const PpJoinStatus status = join == nullptr ? PP_JOIN_INVALID :
			joins->rows(join, keys.data(), query->row_numbers ? rows.data() : nullptr, capacity, &n);

		EXPECT(status == PP_JOIN_OK, "status %d: %s", (int) status, library->error());
		if (status != PP_JOIN_OK)
			break;
		for (size_t i = 0; i < n; i++)
		{
			for (uint32_t v = 0; v < query->nvariables; v++)
				out.push_back(keys[v * capacity + i]);
			for (uint32_t a = 0; a < query->natoms; a++)
				out.push_back(query->row_numbers ? rows[a * capacity + i] : 0);
		}
	} while (n > 0 && out.size() < most * (query->nvariables + query->natoms));
	if (join != nullptr)
		joins->info(join, &info);
	if (launches)
		*launches = info.launches;
	joins->free(join);
	return out;
}

/* ---------- random queries ---------- */

std::vector<std::vector<int64_t>>
sorted(const int64_t *rows, size_t n, size_t width, size_t used)
{
	std::vector<std::vector<int64_t>> v;

	for (size_t at = 0; at < n; at++)
		v.emplace_back(rows + at * width, rows + at * width + used);
	std::sort(v.begin(), v.end());
	return v;
}

void
check_mode(const Case *c, size_t capacity)
{
	const PpJoinQuery *q = &c->query;
	const size_t used = q->row_numbers ? c->width : q->nvariables;

	if (q->mode == PP_JOIN_COUNT)
	{
		const uint64_t n = count_of(q, nullptr);

		EXPECT(n == c->n, "%" PRIu64 " counted, not %" PRIu64, n, c->n);
	}
	else if (q->mode == PP_JOIN_GROUPS)
	{
		std::vector<int64_t> keys;
		Groups		want;

		for (uint64_t t = 0; t < c->n; t++)
			keys.push_back(c->tuples[t * c->width + q->group]);
		std::sort(keys.begin(), keys.end());
		for (size_t i = 0; i < keys.size(); i++)
			if (i == 0 || keys[i] != keys[i - 1])
				want.emplace_back(keys[i], 1);
			else
				want.back().second++;
		EXPECT(groups_of(q) == want, "groups differ");
	}
	else
	{
		const std::vector<int64_t> got = rows_of(q, capacity);

		EXPECT(sorted(got.data(), got.size() / c->width, c->width, used) ==
			   sorted(c->tuples, c->n, c->width, used), "%zu rows, or others, instead of %" PRIu64,
			   got.size() / c->width, c->n);
	}
}

void
test_queries(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_QUERIES, i);
		Case		c;

		make_case(&c, &r);
		for (uint32_t m = 0; set_mode(&c, m); m++)
		{
			if (m > 4 && !unit_once_in(&r, 3))
				continue;
			unit_case("query %" PRIu64 ", mode %u", i, m);
			schedule(unit_once_in(&r, 3) ? 0 : 1 + unit_below(&r, 1000));
			set_limits(&r);
			check_mode(&c, 1 + unit_below(&r, 200));
		}
		drop_case(&c);
	}
	pp_lftj_limits = usual;
}

/* ---------- graphs ---------- */

/* Different pairs of vertices, more of low numbers; a vertex in between has an edge
 * to and from every other one if it is a hub. */
std::vector<int64_t>
make_graph(UnitRandom *r, uint32_t vertices, uint32_t edges, bool hub, bool ascending)
{
	std::vector<std::pair<int64_t, int64_t>> pairs;
	std::vector<int64_t> out;

	for (uint32_t e = 0; e < edges; e++)
	{
		uint32_t	a = unit_below(r, 1 + unit_below(r, vertices));
		uint32_t	b = unit_below(r, vertices);

		if (ascending && a > b)
			std::swap(a, b);
		if (a != b)
			pairs.emplace_back(a, b);
	}
	for (uint32_t v = 0; v < vertices && hub; v++)
	{
		const uint32_t middle = vertices / 2;

		if (v != middle && (!ascending || v > middle))
			pairs.emplace_back(middle, v);
		if (v != middle && (!ascending || v < middle))
			pairs.emplace_back(v, middle);
	}
	std::sort(pairs.begin(), pairs.end());
	pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
	for (const std::pair<int64_t, int64_t> &p : pairs)
	{
		out.push_back(p.first);
		out.push_back(p.second);
	}
	return out;
}

/* Patterns: their edges, from and to. */
struct Pattern
{
	const char *name;
	uint32_t	nvariables;
	uint32_t	nedges;
	uint8_t		edge[10][2];
};

const Pattern patterns[] = {
	{"triangle", 3, 3, {{0, 1}, {1, 2}, {0, 2}}},
	{"triangle around", 3, 3, {{0, 1}, {1, 2}, {2, 0}}},
	{"clique of 4", 4, 6, {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}},
	{"cycle of 4", 4, 4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}},
	{"other cycle of 4", 4, 4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}},
	{"clique of 5", 5, 10, {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}}},
	{"two triangles at an edge", 4, 5, {{0, 1}, {1, 2}, {0, 2}, {1, 3}, {0, 3}}},
	{"triangle with a tail", 4, 4, {{0, 1}, {1, 2}, {0, 2}, {2, 3}}},
	{"path", 4, 3, {{0, 1}, {1, 2}, {2, 3}}},
	{"claw", 4, 3, {{1, 0}, {1, 2}, {1, 3}}},
	{"wheel", 5, 8, {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}, {2, 3}, {3, 4}, {4, 1}}}
};

/* A pattern in one relation of different or of the same pairs. */
struct Query
{
	PpJoinRelation relation = {};
	std::vector<PpJoinAtom> atoms;
	mutable PpJoinQuery query = {};

	Query(const Pattern &pattern, const std::vector<int64_t> &pairs)
	{
		relation.pairs = pairs.data();
		relation.nrows = pairs.size() / 2;
		for (uint32_t e = 0; e < pattern.nedges; e++)
			atoms.push_back({0, {pattern.edge[e][0], pattern.edge[e][1]}});
		query.nvariables = pattern.nvariables;
		query.natoms = (uint32_t) atoms.size();
		query.atoms = atoms.data();
		query.nrelations = 1;
		query.relations = &relation;
		query.simd = PP_SIMD_LEVELS;
	}
	Query(const Query &) = delete;
	Query	   &operator=(const Query &) = delete;
};

uint64_t
total_of(const Groups &groups)
{
	uint64_t	total = 0;

	for (const std::pair<int64_t, uint64_t> &g : groups)
		total += g.second;
	return total;
}

/* The CPU's engine, counting every assignment by itself. */
Groups
cpu_groups(const PpJoinQuery *query)
{
	UnitHeap	heap = {};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	PpJoinQuery general = *query;
	PpJoin	   *join = nullptr;
	PpJoinRun  *run = nullptr;
	std::vector<int64_t> keys(1000);
	std::vector<PpCount> counts(1000);
	Groups		groups;
	size_t		n = 0;

	general.strategy = PP_JOIN_GENERAL;
	EXPECT(pp_join_build(&general, &alloc, SIZE_MAX, &join) == PP_JOIN_OK &&
		   pp_join_open(join, &alloc, SIZE_MAX, 0, 1, &run) == PP_JOIN_OK, "the CPU's engine failed");
	do
	{
		EXPECT(pp_join_groups(run, keys.data(), counts.data(), keys.size(), &n) == PP_JOIN_OK,
			   "the CPU's engine failed");
		for (size_t i = 0; i < n; i++)
			groups.emplace_back(keys[i], counts[i].low);
	} while (n > 0);
	pp_join_close(run);
	pp_join_free(join);
	std::sort(groups.begin(), groups.end());
	return groups;
}

void
test_graphs(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_GRAPHS, i);
		const Pattern &pattern = patterns[i % (sizeof(patterns) / sizeof(patterns[0]))];
		const bool	ascending = unit_once_in(&r, 2);
		/* now and then more than walkers take at once, and lists for a whole warp */
		const bool	large = unit_once_in(&r, 6);
		const uint32_t vertices = large ? 200 : 20 + unit_below(&r, 60);
		std::vector<int64_t> pairs = make_graph(&r, vertices, vertices * (2 + unit_below(&r, 4)),
												large || unit_once_in(&r, 2), ascending);
		std::vector<PpJoinResidual> residuals;
		Groups		want;
		uint64_t	got;

		/* now and then an edge comes twice */
		if (unit_once_in(&r, large ? 2 : 4))
		{
			pairs.push_back(pairs[0]);
			pairs.push_back(pairs[1]);
		}
		const Query q(pattern, pairs);
		PpJoinQuery &query = q.query;

		if (!ascending && unit_once_in(&r, 2))
			for (uint32_t v = 1; v < pattern.nvariables; v++)
				residuals.push_back({(PpJoinCompare) (unit_once_in(&r, 4) ? unit_below(&r, 5) : 0),
									 v - 1, v});
		/* values that a leaf differs from may be the same */
		if (pattern.nedges == 3 && pattern.edge[0][0] == 1)
			residuals = {{PP_JOIN_NE, 0, 3}, {PP_JOIN_NE, 3, 2}};
		query.nresiduals = (uint32_t) residuals.size();
		query.residuals = residuals.data();
		query.mode = PP_JOIN_GROUPS;
		query.group = unit_below(&r, pattern.nvariables);
		schedule(unit_once_in(&r, 3) ? 0 : 1 + unit_below(&r, 1000));
		set_limits(&r);
		/* not so small, as there is more to do here */
		pp_lftj_limits.steps = std::max(pp_lftj_limits.steps, 100u);
		pp_lftj_limits.items = std::max(pp_lftj_limits.items, 200u);
		pp_lftj_limits.units = std::max(pp_lftj_limits.units, UINT64_C(500));
		if (large)
			pp_lftj_limits.blocks = 1;
		unit_case("%s, graph %" PRIu64 ", groups", pattern.name, i);
		want = cpu_groups(&query);
		EXPECT(groups_of(&query) == want, "groups differ");
		unit_case("%s, graph %" PRIu64 ", count", pattern.name, i);
		query.mode = PP_JOIN_COUNT;
		got = count_of(&query, nullptr);
		EXPECT(got == total_of(want), "%" PRIu64 " counted, not %" PRIu64, got, total_of(want));
	}
	pp_lftj_limits = usual;
}

/* Patterns that have kernels of their own, by each variable's values and as a whole. */
void
test_fixed(void)
{
	static const struct
	{
		uint32_t	pattern;
		const char *kernel;
	}			cases[] = {
		{0, "(fixed_count_kernel<3, 0>)"},
		{2, "(fixed_count_kernel<3, 7>)"},
		{3, "(fixed_count_kernel<2, 5>)"},
		{4, "(fixed_count_kernel<1, 6>)"}
	};

	for (const auto &c : cases)
	{
		const Pattern &pattern = patterns[c.pattern];
		UnitRandom	r = unit_random(T_FIXED, c.pattern);
		const std::vector<int64_t> pairs = make_graph(&r, 80, 320, true, false);
		const Query q(pattern, pairs);
		std::vector<PpJoinResidual> residuals;

		for (uint32_t v = 1; v < pattern.nvariables; v++)
			residuals.push_back({PP_JOIN_LT, v - 1, v});
		q.query.residuals = residuals.data();
		q.query.nresiduals = (uint32_t) residuals.size();
		simt_reset_counters();
		for (uint32_t v = 0; v < pattern.nvariables; v++)
		{
			Groups		want;

			unit_case("%s in order, by variable %u", pattern.name, v);
			schedule(v);
			q.query.mode = PP_JOIN_GROUPS;
			q.query.group = v;
			want = cpu_groups(&q.query);
			EXPECT(groups_of(&q.query) == want, "groups differ");
			q.query.mode = PP_JOIN_COUNT;
			EXPECT(count_of(&q.query, nullptr) == total_of(want), "the count differs");
		}
		/* not by all of the orders that variables may have */
		EXPECT(!simt_present() || simt_launches(c.kernel) > 0, "%s was not launched", c.kernel);
	}
}

/* ---------- rows ---------- */

/* Rows come in the same order, whatever order threads run in. */
void
test_order(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_ROWS, i);
		const Pattern &pattern = patterns[unit_below(&r, sizeof(patterns) / sizeof(patterns[0]))];
		std::vector<int64_t> pairs = make_graph(&r, 20, 50, unit_once_in(&r, 2), true);

		/* some edges come several times */
		for (uint32_t again = unit_once_in(&r, 2) ? 2 : 0; again > 0 && pairs.size() > 0; again--)
		{
			const size_t e = 2 * unit_below(&r, (uint32_t) (pairs.size() / 2));

			pairs.insert(pairs.end(), {pairs[e], pairs[e + 1]});
		}
		const Query q(pattern, pairs);
		const size_t capacity = 1 + unit_below(&r, 300);
		std::vector<int64_t> first;

		unit_case("%s, order %" PRIu64, pattern.name, i);
		set_limits(&r);
		schedule(0);
		q.query.mode = PP_JOIN_ROWS;
		q.query.row_numbers = unit_once_in(&r, 2);
		first = rows_of(&q.query, capacity);
		for (uint32_t again = 0; again < 2; again++)
		{
			schedule(1 + unit_below(&r, 1000));
			EXPECT(rows_of(&q.query, capacity) == first, "other rows, or in another order");
		}
		q.query.mode = PP_JOIN_GROUPS;
		EXPECT(total_of(cpu_groups(&q.query)) * (q.query.nvariables + q.query.natoms) == first.size(),
			   "%zu numbers of rows", first.size());
	}
	pp_lftj_limits = usual;
}

/*
 * All rows differ, and each atom's is one of the first variable's key: those of a
 * relation have npairs keys in turn.
 */
void
check_copies(const std::vector<int64_t> &rows, uint32_t nvariables, uint32_t natoms, int64_t npairs)
{
	const size_t width = nvariables + natoms;
	const std::vector<std::vector<int64_t>> all = sorted(rows.data(), rows.size() / width, width, width);
	bool		same = false;

	for (size_t i = 1; i < all.size(); i++)
		same |= all[i] == all[i - 1];
	EXPECT(!same, "a row comes twice");
	for (const std::vector<int64_t> &row : all)
		for (size_t a = nvariables; a < width; a++)
			if (row[a] % npairs != row[0])
			{
				EXPECT(false, "row %" PRId64 " of an atom is none of key %" PRId64, row[a], row[0]);
				return;
			}
}

/* Walkers of rows were launched so often. */
void
check_rounds(uint64_t least, uint64_t most)
{
	const uint64_t n = simt_launches("lftj_walk_kernel<ROWS>");

	EXPECT(!simt_present() || (n >= least && n <= most), "%" PRIu64 " rounds", n);
}

/* Few assignments of many copies: walkers are launched for the former only. */
void
test_copies(void)
{
	static const struct
	{
		uint32_t	copies;		/* of an answer */
		uint32_t	rounds;		/* at least, and at most */
		uint32_t	most;
	}			cases[] = {{UINT32_MAX, 1, 1}, {100, 2, 4}};
	const std::vector<int64_t> loops(80, 0);
	const Query q(patterns[0], loops);
	uint64_t	launches;
	uint64_t	fewer;

	schedule(0);
	q.query.mode = PP_JOIN_ROWS;
	for (const auto &c : cases)
		for (uint32_t numbers = 0; numbers < 2; numbers++)
		{
			std::vector<int64_t> rows;

			unit_case("copies of a loop, %u to an answer%s", c.copies, numbers ? ", numbers of rows" : "");
			pp_lftj_limits.copies = c.copies;
			q.query.row_numbers = numbers;
			simt_reset_counters();
			rows = rows_of(&q.query, 7000, SIZE_MAX, &launches);
			EXPECT(rows.size() == 6 * 64000, "%zu rows", rows.size() / 6);
			check_rounds(c.rounds, c.most);
			EXPECT(launches < 60, "%" PRIu64 " launches", launches);
			if (numbers)
				check_copies(rows, 3, 3, 1);
			/* a LIMIT wants only few of them */
			(void) rows_of(&q.query, 10, 10, &fewer);
			EXPECT(fewer < launches, "%" PRIu64 " launches for 10 rows, not %" PRIu64, fewer, launches);
		}
	pp_lftj_limits = usual;
}

/* A unit has all the rows: so few walkers take long turns. */
void
test_few_walkers(void)
{
	constexpr int64_t N = 20000;
	const int64_t one[] = {0, 1};
	std::vector<int64_t> pairs[2];
	PpJoinRelation relation[3] = {};
	const PpJoinAtom atoms[] = {{0, {0, 1}}, {1, {1, 2}}, {2, {0, 2}}};
	PpJoinQuery query = {};
	std::vector<int64_t> rows;

	for (int64_t v = 2; v < N + 2; v++)
	{
		pairs[0].insert(pairs[0].end(), {1, v});
		pairs[1].insert(pairs[1].end(), {0, v});
	}
	relation[0].pairs = one;
	relation[0].nrows = 1;
	for (uint32_t i = 0; i < 2; i++)
	{
		relation[i + 1].pairs = pairs[i].data();
		relation[i + 1].nrows = N;
	}
	query.nvariables = 3;
	query.natoms = 3;
	query.atoms = atoms;
	query.nrelations = 3;
	query.relations = relation;
	query.simd = PP_SIMD_LEVELS;
	query.mode = PP_JOIN_ROWS;
	unit_case("few walkers");
	schedule(0);
	simt_reset_counters();
	rows = rows_of(&query, 5000);
	EXPECT(rows.size() == 6 * N, "%zu rows", rows.size() / 6);
	check_rounds(2, 6);
}

/* ---------- hubs ---------- */

/*
 * Hubs, 0 and so on, with edges to and from all vertices; n vertices have no
 * others.  So the work is at the edges between hubs, whatever variable comes first.
 */
std::vector<int64_t>
make_hubs(int64_t nhubs, int64_t n)
{
	std::vector<int64_t> pairs;

	for (int64_t hub = 0; hub < nhubs; hub++)
		for (int64_t v = hub + 1; v < nhubs + n; v++)
			for (int64_t end : {hub, v, v, hub})
				pairs.push_back(end);
	return pairs;
}

/*
 * Bytes that the busiest thread of a kernel loaded, where that is counted, over
 * what each of so many threads would load if all had the same.
 */
void
check_shared(const char *kernel, double threads, double most)
{
	SimtKernelCount count;

	for (size_t i = 0; simt_counts_bytes() && simt_kernel(i, &count); i++)
		if (strcmp(count.name, kernel) == 0)
		{
			const double ratio = (double) count.most_loaded * threads / (double) count.bytes_loaded;

			EXPECT(ratio < most, "%s: one thread loads %.1f times its share of %" PRIu64 " bytes",
				   kernel, ratio, count.bytes_loaded);
		}
	EXPECT(!simt_present() || simt_launches(kernel) > 0, "%s was not launched", kernel);
}

void
test_hubs(void)
{
	int64_t		n = simt_counts_bytes() ? 100000 : unit_iterations(100) < 20 ? 11000 : 20000;
	std::vector<int64_t> pairs = make_hubs(2, n);
	const Pattern &triangle = patterns[0];
	const Pattern &clique = patterns[2];
	const Pattern &edge = patterns[6];
	uint64_t	got;
	uint64_t	want;

	schedule(0);
	{
		const Query q(triangle, pairs);
		Groups		groups;

		unit_case("hubs, triangles");
		simt_reset_counters();
		q.query.mode = PP_JOIN_COUNT;
		got = count_of(&q.query, nullptr);
		EXPECT(got == 6 * (uint64_t) n, "%" PRIu64 " counted", got);
		check_shared("(fixed_count_kernel<3, 0>)", 2048, 3);
		unit_case("hubs, triangles by value");
		q.query.mode = PP_JOIN_GROUPS;
		groups = groups_of(&q.query);
		EXPECT(groups.size() == (size_t) n + 2 && groups[0].second == 2 * (uint64_t) n &&
			   groups[1].second == 2 * (uint64_t) n && total_of(groups) == 6 * (uint64_t) n,
			   "groups differ");
	}
	n /= 5;
	pairs = make_hubs(2, n);
	{
		const Query q(triangle, pairs);

		unit_case("hubs, rows");
		q.query.mode = PP_JOIN_ROWS;
		simt_reset_counters();
		EXPECT(rows_of(&q.query, 50000).size() == 36 * (size_t) n, "rows");
		check_shared("lftj_walk_kernel<ROWS>", 2048, 12);
	}
	{
		const std::vector<int64_t> three = make_hubs(3, n);
		const Query q(clique, three);

		unit_case("hubs, cliques");
		simt_reset_counters();
		q.query.mode = PP_JOIN_COUNT;
		got = count_of(&q.query, nullptr);
		EXPECT(got == 24 * (uint64_t) n, "%" PRIu64 " counted", got);
		check_shared("(fixed_count_kernel<3, 7>)", 1024, 3);
		unit_case("hubs, cliques by value");
		q.query.mode = PP_JOIN_GROUPS;
		EXPECT(groups_of(&q.query) == cpu_groups(&q.query), "groups differ");
	}
	/* all edges from a hub but its last one come twice */
	for (int64_t v = 2; v < n + 1; v++)
	{
		pairs.push_back(0);
		pairs.push_back(v);
	}
	{
		const Query q(triangle, pairs);

		unit_case("hubs, triangles of several rows");
		simt_reset_counters();
		q.query.mode = PP_JOIN_COUNT;
		got = count_of(&q.query, nullptr);
		EXPECT(got == 9 * (uint64_t) n - 3, "%" PRIu64 " counted", got);
		check_shared("lftj_walk_kernel<COUNT>", 2048, 6);
	}
	{
		const Query q(edge, pairs);

		/* two items have most of it, so it is two warps' work */
		unit_case("hubs, two triangles");
		simt_reset_counters();
		q.query.mode = PP_JOIN_COUNT;
		got = count_of(&q.query, nullptr);
		q.query.mode = PP_JOIN_GROUPS;
		want = total_of(cpu_groups(&q.query));
		EXPECT(got == want, "%" PRIu64 " counted, not %" PRIu64, got, want);
		check_shared("lftj_walk_kernel<COUNT_LEAVES>", 64, 4);
	}
}

/* Sums of a lane that need more than 64 bits: any two assignments' do. */
void
test_carries(void)
{
	constexpr int64_t ROWS = 84;	/* of each pair; ROWS^10 is 0.95 * 2^64 */
	constexpr int64_t PAIRS = 256;	/* twice as many as lanes */
	const Pattern pattern = {"parallel edges", 2, 10, {}};
	std::vector<int64_t> pairs;
	Uint128		want = PAIRS;
	UnitHeap	heap = {};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	PpCount		count = {0, 0};
	PpCudaJoin *join;

	unit_case("a lane's counts beyond 64 bits");
	schedule(0);
	pp_lftj_limits.blocks = 1;
	for (int64_t i = 0; i < ROWS * PAIRS; i++)
		pairs.insert(pairs.end(), {i % PAIRS, PAIRS + i % PAIRS});
	Query		q(pattern, pairs);

	for (PpJoinAtom &atom : q.atoms)
	{
		atom = {0, {0, 1}};
		want *= ROWS;
	}
	join = build(&q.query, &alloc);
	EXPECT(join != nullptr && joins->count(join, &count) == PP_JOIN_OK, "%s", library->error());
	EXPECT(count.low == (uint64_t) want && count.high == (uint64_t) (want >> 64), "%" PRIu64 " and %" PRIu64,
		   count.high, count.low);
	joins->free(join);
	pp_lftj_limits = usual;
}

/* Counts of an assignment, and sums of them, that need more than 64 bits. */
void
test_counts(void)
{
	constexpr int64_t ROWS = 4096;	/* of each pair */
	Pattern		pattern = {"parallel edges", 2, 5, {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}};
	std::vector<int64_t> pairs;

	for (int64_t i = 0; i < 32 * ROWS; i++)
	{
		pairs.push_back(i % 32);
		pairs.push_back(i % 32 + 1);
	}
	for (pattern.nedges = 5; pattern.nedges <= 6; pattern.nedges++)
	{
		const Query q(pattern, pairs);
		UnitHeap	heap = {};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		PpCount		count = {1, 0};
		PpCudaJoin *join;
		PpJoinStatus status;

		unit_case("%u edges of %d rows", pattern.nedges, (int) ROWS);
		join = build(&q.query, &alloc);
		status = join == nullptr ? PP_JOIN_INVALID : joins->count(join, &count);
		/* 32 times 2^60, or 2^72 */
		if (pattern.nedges == 5)
			EXPECT(status == PP_JOIN_OK && count.low == 0 && count.high == 2,
				   "status %d, %" PRIu64 " and %" PRIu64, (int) status, count.high, count.low);
		else
			EXPECT(status == PP_JOIN_HANDED_OVER, "status %d", (int) status);
		joins->free(join);
		unit_case("rows of %u edges of %d rows", pattern.nedges, (int) ROWS);
		q.query.mode = PP_JOIN_ROWS;
		q.query.row_numbers = true;
		if (pattern.nedges == 5)
		{
			const std::vector<int64_t> rows = rows_of(&q.query, 3000, 12000);

			EXPECT(rows.size() >= 7 * 12000, "%zu rows", rows.size() / 7);
			check_copies(rows, 2, 5, 32);
			continue;
		}
		{
			std::vector<int64_t> keys(20);
			size_t		n = 0;

			join = build(&q.query, &alloc);
			status = join == nullptr ? PP_JOIN_INVALID : joins->rows(join, keys.data(), nullptr, 10, &n);
			EXPECT(status == PP_JOIN_HANDED_OVER, "status %d", (int) status);
			joins->free(join);
		}
	}
}

/* With little memory there are fewer walkers, and fewer items at a time. */
void
test_memory(void)
{
	const std::vector<int64_t> pairs = make_hubs(3, 800);
	const Query q(patterns[2], pairs);
	UnitHeap	heap = {};
	const PpAlloc alloc = unit_heap_alloc(&heap);

	for (uint32_t m = 0; m < 2; m++)
	{
		PpCudaJoin *join;
		PpCudaJoinInfo info = {};
		PpCount		count = {0, 0};
		std::vector<int64_t> keys(4000);
		uint64_t	total = 0;
		size_t		n = 0;

		unit_case("little memory, %s", m == 0 ? "count" : "rows");
		q.query.mode = m == 0 ? PP_JOIN_COUNT : PP_JOIN_ROWS;
		join = build(&q.query, &alloc);
		pp_memory_limit(pp_memory_counts().used + (m == 0 ? 80000 : 400000));
		simt_reset_counters();
		if (join != nullptr && m == 0)
		{
			EXPECT(joins->count(join, &count) == PP_JOIN_OK, "%s", library->error());
			total = count.low;
		}
		do
		{
			if (join == nullptr || m == 0)
				break;
			EXPECT(joins->rows(join, keys.data(), nullptr, 1000, &n) == PP_JOIN_OK, "%s", library->error());
			total += n;
		} while (n > 0);
		EXPECT(total == 24 * 800, "%" PRIu64 " counted", total);
		joins->info(join, &info);
		EXPECT(info.nboxes == 1, "%u boxes", info.nboxes);
		EXPECT(!simt_present() || simt_launches(m == 0 ? "fixed_cost_kernel<3>" : "lftj_cost_kernel") > 1,
			   "all items fit");
		pp_memory_limit(UINT64_MAX);
		joins->free(join);
	}
}

}								/* namespace */

int
main(int argc, char **argv)
{
	PpCudaConfig config = {};
	PpCudaDevice device = {};
	const char *message = nullptr;

	unit_begin(argc, argv, "join_lftj");
	simt_report_to_stderr(false);
	usual = pp_lftj_limits;
	library = pp_cuda_library(PP_CUDA_VERSION);
	joins = library->join;
	config.struct_size = sizeof(config);
	config.max_bytes = UINT64_MAX;
	device.total_bytes = 0;
	unit_case("start");
	EXPECT(library->start(&config, &device, &message), "%s", message);
	test_queries(unit_iterations(60));
	test_graphs(unit_iterations(60));
	test_fixed();
	test_order(unit_iterations(20));
	test_copies();
	test_few_walkers();
	test_hubs();
	test_counts();
	test_carries();
	test_memory();
	unit_case("nothing is left");
	library->stop();
	EXPECT(simt_memory().device_blocks == 0 && simt_memory().pinned_blocks == 0 &&
		   simt_memory().streams == 0 && simt_memory().events == 0, "%" PRIu64 " blocks, %" PRIu64 " streams",
		   simt_memory().device_blocks, simt_memory().streams);
	EXPECT(simt_reports() == 0, "the SIMT layer says: %s", simt_last_report());
	return unit_end();
}
