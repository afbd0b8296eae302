/*
 * test/cuda/join_degree_test.cpp
 *	  Cliques that the device counts by degree, against the CPU's engine: all
 *	  sizes, edges in one direction or in both, comparisons, groups; graphs with
 *	  hubs; every kernel on lists that another one would get; rows that it is not
 *	  for; stops, overflows and failures on the way.  Rows that come in any number
 *	  and direction, with loops: triangles against loops over all keys, larger
 *	  cliques against the CPU's engine.
 */
#include "join_degree_check.h"

namespace
{

enum
{
	T_RANDOM = 1,
	T_GRAPHS,
	T_DISTINCT,
	T_DECLINED,
	T_FAILURES,
	T_MIXED,
	T_MAPS
};

/* ---------- cases ---------- */

void
test_random(uint64_t i)
{
	UnitRandom	r = unit_random(T_RANDOM, i);
	const uint32_t k = 3 + (uint32_t) (i % 6);
	const Form	form = (Form) unit_below(&r, FORMS);
	const uint32_t style = unit_below(&r, 2);
	const uint32_t n = 2 + unit_below(&r, unit_once_in(&r, 4) ? 60 : 16);
	const uint32_t percent = n > 20 ? 10 + unit_below(&r, k < 6 ? 50 : 25) : 20 + unit_below(&r, 81);
	const PpJoinMode mode = unit_once_in(&r, 2) ? PP_JOIN_GROUPS : PP_JOIN_COUNT;
	Edges		edges = random_edges(&r, n, percent);
	Pairs		pairs;

	unit_case("random %u: %u vertices, %u percent, %u variables, form %u", (unsigned) i, n, percent,
			  k, (unsigned) form);
	schedule((uint32_t) i);
	edges.insert({0, 1});
	pairs = rows_of(edges, form, style, &r);
	{
		Query		q(k, pairs, mode);

		q.vary(&r);
		EXPECT(pp_degree_match(&q.query) == PP_CUDA_DECLINED_NOT, "it is no clique");
		/* loops are left out where no answer has them */
		for (uint32_t n = pp_clique_distinct(&q.query) ? unit_below(&r, 4) : 0; n > 0; n--)
			for (uint32_t side = 0; side < 2; side++)
				pairs.push_back(key_of(style, n * n));
		q.relation = {pairs.data(), pairs.size() / 2};
		compare(q, random_ways(&r, k));
	}
}

/* Do comparisons keep variables apart?  Against all maps to as many keys. */
void
test_distinct(uint64_t i)
{
	UnitRandom	r = unit_random(T_DISTINCT, i);
	const uint32_t k = 3 + (uint32_t) (i % 3);
	const Pairs pairs = {0, 1};
	Query		q(k, pairs, PP_JOIN_COUNT);
	uint32_t	all = 1;
	uint32_t	fits = 0;
	uint32_t	collapsed = 0;

	unit_case("comparisons %u, %u variables", (unsigned) i, k);
	for (uint32_t n = k - 1 + unit_below(&r, k); n > 0; n--)
	{
		const uint32_t a = unit_below(&r, k);
		const uint32_t b = unit_once_in(&r, 2) ? (a + 1) % k : (a + 1 + unit_below(&r, k - 1)) % k;

		/* not all ways round, which nothing fits */
		q.residuals.push_back({(PpJoinCompare) unit_below(&r, 5), std::min(a, b), std::max(a, b)});
		if (q.residuals.back().op == PP_JOIN_GT || q.residuals.back().op == PP_JOIN_GE)
			std::swap(q.residuals.back().left, q.residuals.back().right);
	}
	q.finish();
	for (uint32_t v = 0; v < k; v++)
		all *= k;
	for (uint32_t map = 0; map < all; map++)
	{
		uint32_t	key[PP_GREATEST_CLIQUE];
		std::set<uint32_t> keys;
		bool		holds = true;

		for (uint32_t v = 0, left = map; v < k; v++, left /= k)
			keys.insert(key[v] = left % k);
		for (const PpJoinResidual &c : q.residuals)
			holds &= pp_compare_holds(c.op, key[c.left], key[c.right]);
		fits += holds;
		collapsed += holds && keys.size() < k;
	}
	EXPECT(fits > 0 && pp_clique_distinct(&q.query) == (collapsed == 0), "%u of %u fit, %u with fewer keys",
		   fits, all, collapsed);
}

void
test_graph(uint32_t number, const char *name, const Edges &edges, uint32_t least, uint32_t greatest)
{
	for (uint32_t k = least; k <= greatest; k++)
		for (PpJoinMode mode : {PP_JOIN_COUNT, PP_JOIN_GROUPS})
		{
			UnitRandom	r = unit_random(T_GRAPHS, number * 16 + k);
			const Form	form = (Form) unit_below(&r, FORMS);
			const Pairs pairs = rows_of(edges, form, k % 2, &r);
			Query		q(k, pairs, mode);

			if (!is_done(number * 20 + k * 2 + (mode == PP_JOIN_COUNT)))
				continue;
			unit_case("%s, %u variables, form %u%s", name, k, (unsigned) form,
					  mode == PP_JOIN_GROUPS ? ", groups" : "");
			schedule(number + k);
			if (form == SYMMETRIC)
				q.ascend(k % 2 ? k : 2);
			compare(q, Ways());
		}
}

/* Is there time for large graphs? */
bool
is_long_run(void)
{
	return unit_iterations(100) >= 10;
}

void
test_graphs(void)
{
	UnitRandom	r = unit_random(T_GRAPHS, 0);
	Edges		mixed = random_edges(&r, 90, 80);

	test_graph(1, "complete graph of 40", random_edges(&r, 40, 100), 3, 6);
	for (uint32_t k : {3u, 6u})
		for (uint32_t span : {0u, 64u})
		{
			const uint32_t n = k == 3 ? 36 : is_long_run() ? 18 : 12;
			const Pairs pairs = rows_of(random_edges(&r, n, 100), DECREASING, 0, &r);
			Query		q(k, pairs, PP_JOIN_COUNT);
			Ways		ways;

			unit_case("lists in parts, and work in many launches, %u variables, tables of %u bits", k, span);
			schedule(k);
			ways.quota = k == 3 ? 20 : 3;
			ways.chunk = 5;
			ways.span = span;
			ways.other = true;
			ways.upto[2] = ways.upto[3] = 7;
			compare(q, ways);
		}
	if (!is_long_run())
		return;
	for (uint32_t i = 0; i < 3000; i++)
		add_edge(&mixed, unit_below(&r, 200), 200 + unit_below(&r, 600));
	test_graph(2, "complete graph of 200", random_edges(&r, 200, 100), 3, 4);
	test_graph(3, "complete graph of 520", random_edges(&r, 520, 100), 3, 3);
	test_graph(4, "wheel", wheel_edges(5000), 3, 4);
	test_graph(5, "skewed graph", skewed_edges(&r, 11, 12000), 3, 5);
	test_graph(6, "dense core and a fringe", mixed, 3, 4);
}

/*
 * Bytes that the busiest thread of a kernel loads, in builds that count them, over
 * its share of what so many threads load.
 */
void
check_share(const char *kernel, double threads, double most)
{
	SimtKernelCount count;

	for (size_t i = 0; simt_counts_bytes() && simt_kernel(i, &count); i++)
		if (strcmp(count.name, kernel) == 0)
			EXPECT((double) count.most_loaded * threads < most * (double) count.bytes_loaded,
				   "%s: one thread loads %llu of %llu bytes", kernel,
				   (unsigned long long) count.most_loaded, (unsigned long long) count.bytes_loaded);
	EXPECT(simt_launches(kernel) > 0, "%s was not launched", kernel);
}

/* A vertex with edges to all others makes no thread work for all of them. */
void
test_hubs(void)
{
	const uint32_t n = simt_counts_bytes() ? 100000 : is_long_run() ? 10000 : 500;
	const bool	large = simt_counts_bytes() || is_long_run();
	const uint32_t longest = large ? 600 : 60;
	UnitRandom	r = unit_random(T_GRAPHS, 1);
	Edges		fan;
	Ways		ways;

	for (uint32_t k : {3u, 4u})
	{
		const Pairs pairs = rows_of(wheel_edges(n), SYMMETRIC, 0, &r);
		Query		q(k, pairs, PP_JOIN_COUNT);

		unit_case("a hub of %u edges, %u variables", n, k);
		schedule(0);
		simt_reset_counters();
		compare(q, Ways());
		for (const char *kernel : {"count_degrees", "pack_edges", "list_entries"})
			check_share(kernel, 4096, 4);
		/* who takes how much from a counter is a matter of chance */
		if (k == 3)
			check_share("small_triangles<GROUPS>", 1024, 4);
		else
			check_share("(lane_cliques<GROUPS, EACH>)", 1024, 32);
	}
	/* in order of keys, the last vertex has a list of all others */
	for (uint32_t v = 1; v < longest; v++)
	{
		for (uint32_t step : {1u, 2u, 7u})
			if (v > step)
				add_edge(&fan, v - step, v);
		add_edge(&fan, v, longest);
	}
	/* matrices in device memory all the same */
	ways.other = !large;
	for (uint32_t k : {4u, 5u})
	{
		const Pairs pairs = rows_of(fan, INCREASING, 0, &r);
		Query		q(k, pairs, PP_JOIN_GROUPS);

		unit_case("a hub of %u edges in order of keys, %u variables", longest - 1, k);
		schedule(0);
		simt_reset_counters();
		q.query.group = 1;
		compare(q, ways);
		check_share("make_matrices<GROUPS>", 1024, 8);
		check_share("warp_cliques<GROUPS>", 1024, 32);
	}
}

/* ---------- edges that do not count alike ---------- */

typedef unsigned __int128 Wide;
typedef std::map<Edge, uint32_t> Rows;	/* how often each row comes, loops included */

Pairs
pairs_of(const Rows &rows, uint32_t style, UnitRandom *r)
{
	std::vector<Edge> all;

	for (const auto &row : rows)
		all.insert(all.end(), row.second, row.first);
	return in_random_order(all, style, r);
}

/* Are some counted otherwise than others? */
bool
are_mixed(const Rows &rows, bool distinct)
{
	bool		up = false;
	bool		down = false;
	bool		mixed = false;
	bool		symmetric = true;

	for (const auto &row : rows)
	{
		const Edge	e = row.first;

		mixed |= e.first == e.second ? !distinct : row.second > 1;
		up |= e.first < e.second;
		down |= e.first > e.second;
		symmetric &= rows.count({e.second, e.first}) > 0;
	}
	return mixed || (up && down && !symmetric);
}

/* All assignments of n vertices, whose keys ascend; by vertex the variable to group by. */
Wide
count_all(const PpJoinQuery &query, const Rows &rows, uint32_t n, std::vector<Wide> *groups)
{
	std::vector<uint32_t> times(n * n);
	uint32_t	all = 1;
	Wide		total = 0;

	groups->assign(n, 0);
	for (const auto &row : rows)
		times[row.first.first * n + row.first.second] = row.second;
	for (uint32_t i = 0; i < query.nvariables; i++)
		all *= n;
	for (uint32_t map = 0; map < all; map++)
	{
		uint32_t	v[PP_GREATEST_CLIQUE];
		Wide		product = 1;

		for (uint32_t i = 0, left = map; i < query.nvariables; i++, left /= n)
			v[i] = left % n;
		for (uint32_t a = 0; a < query.natoms; a++)
			product *= times[v[query.atoms[a].variable[0]] * n + v[query.atoms[a].variable[1]]];
		for (uint32_t c = 0; c < query.nresiduals; c++)
			product *= pp_compare_holds(query.residuals[c].op, v[query.residuals[c].left],
										v[query.residuals[c].right]);
		total += product;
		(*groups)[v[query.group]] += product;
	}
	return total;
}

/* The device's, of rows that all count times, against count_all(). */
void
compare_mixed(const Query &q, const Rows &rows, uint32_t n, uint32_t style, const Ways &ways)
{
	const bool	mixed = are_mixed(rows, pp_clique_distinct(&q.query));
	const Wide	cube = mixed ? (Wide) ways.times * ways.times * ways.times : 1;
	std::vector<Wide> groups;
	const Wide	total = count_all(q.query, rows, n, &groups) * cube;
	std::map<int64_t, uint64_t> want;
	bool		fits = true;
	DeviceCliques device;
	const Answer have = device.run(q, ways, 0);

	EXPECT(device.join->degree != nullptr && device.join->degree->is_mixed == mixed,
		   "edges are taken for such that count %s", mixed ? "alike" : "differently");
	if (q.query.mode == PP_JOIN_COUNT)
	{
		EXPECT(have.status == PP_JOIN_OK && have.low == (uint64_t) total &&
			   have.high == (uint64_t) (total >> 64), "status %d, %llu, %llu, not %llu, %llu",
			   (int) have.status, (unsigned long long) have.high, (unsigned long long) have.low,
			   (unsigned long long) (total >> 64), (unsigned long long) total);
		return;
	}
	for (uint32_t v = 0; v < n; v++)
	{
		fits &= groups[v] * cube >> 64 == 0;
		if (groups[v] > 0)
			want[key_of(style, v)] = (uint64_t) (groups[v] * cube);
	}
	EXPECT(have.status == (fits ? PP_JOIN_OK : PP_JOIN_HANDED_OVER) && (!fits || have.groups == want),
		   "status %d, %zu groups where there are %zu, or others", (int) have.status,
		   have.groups.size(), want.size());
}

Rows
random_rows(UnitRandom *r, uint32_t n)
{
	const uint32_t percent = 10 + unit_below(r, 90);
	const uint32_t most = unit_once_in(r, 3) ? 1 : 1 + unit_below(r, 9);
	const bool	loops = !unit_once_in(r, 3);
	const uint32_t form = unit_below(r, 4);
	Rows		rows;

	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n; b++)
		{
			const uint32_t times = unit_once_in(r, 2) ? 1 : 1 + unit_below(r, most);

			if (unit_below(r, 100) >= percent || (a == b && !loops) || (a > b && form == INCREASING) ||
				(a < b && form == DECREASING))
				continue;
			rows[{a, b}] = times;
			if (form == SYMMETRIC)
				rows[{b, a}] = unit_once_in(r, 2) ? times : 1;
		}
	return rows;
}

/* All patterns of directions, in turns. */
void
test_mixed(uint64_t i)
{
	UnitRandom	r = unit_random(T_MIXED, i);
	const uint32_t n = 1 + unit_below(&r, unit_once_in(&r, 8) ? 45 : 12);
	const PpJoinMode mode = i / 8 % 2 ? PP_JOIN_GROUPS : PP_JOIN_COUNT;
	const uint32_t style = unit_below(&r, 2);
	const uint32_t ncompares = unit_once_in(&r, 2) ? 0 : 1 + unit_below(&r, 3);
	Rows		rows = random_rows(&r, n);
	Ways		ways = random_ways(&r, 3);

	unit_case("mixed %u: %u vertices, %zu rows, pattern %u, %u comparisons", (unsigned) i, n,
			  rows.size(), (unsigned) (i % 8), ncompares);
	schedule((uint32_t) i);
	rows[{0, n > 1 && unit_once_in(&r, 2)}] = 1;
	{
		const Pairs pairs = pairs_of(rows, style, &r);
		Query		q(3, pairs, mode);

		for (uint32_t a = 0; a < 3; a++)
			if ((i >> a & 1) != 0)
				std::swap(q.atoms[a].variable[0], q.atoms[a].variable[1]);
		std::swap(q.atoms[0], q.atoms[unit_below(&r, 3)]);
		for (uint32_t c = 0; c < ncompares; c++)
		{
			const uint32_t v = unit_below(&r, 3);

			q.residuals.push_back({(PpJoinCompare) unit_below(&r, 5), v, (v + 1 + unit_below(&r, 2)) % 3});
		}
		q.query.group = unit_below(&r, 3);
		q.finish();
		/* all rows together are less than 2^31 */
		if (unit_once_in(&r, 3))
			ways.times = 1 + unit_below(&r, (uint32_t) (((UINT64_C(1) << 31) - 1) / (pairs.size() / 2)));
		compare_mixed(q, rows, n, style, ways);
	}
}

/* The same, or each edge has as many rows in both directions. */
Rows
map_rows(UnitRandom *r, uint32_t n)
{
	Rows		rows = random_rows(r, n);

	if (unit_once_in(r, 3))
		for (uint32_t b = 1; b < n; b++)
			for (uint32_t a = 0; a < b; a++)
			{
				rows.erase({b, a});
				if (rows.count({a, b}) > 0)
					rows[{b, a}] = rows[{a, b}];
			}
	return rows;
}

/* Four to eight variables, against the CPU's engine. */
void
test_maps(uint64_t i)
{
	UnitRandom	r = unit_random(T_MAPS, i);
	const uint32_t k = 4 + (uint32_t) (i % 5);
	const uint32_t n = 1 + unit_below(&r, k > 6 ? 8 : k == 4 && unit_once_in(&r, 8) ? 45 : 13);
	const PpJoinMode mode = i / 5 % 2 ? PP_JOIN_GROUPS : PP_JOIN_COUNT;
	const uint32_t style = unit_below(&r, 2);
	Rows		rows = map_rows(&r, n);
	Ways		ways = random_ways(&r, k);

	unit_case("maps %u: %u vertices, %zu rows, %u variables", (unsigned) i, n, rows.size(), k);
	schedule((uint32_t) i);
	rows[{0, n > 1 && unit_once_in(&r, 2)}] = 1;
	/* so many launches take too long */
	if (k > 5 && ways.quota != 0)
		ways.quota += 100;
	if (n < 20 && unit_once_in(&r, 6))
		ways.longest = unit_once_in(&r, 2) ? 2048 : 33 + unit_below(&r, 400);
	{
		const Pairs pairs = pairs_of(rows, style, &r);
		Query		q(k, pairs, mode);

		q.vary(&r);
		compare(q, ways);
	}
}

/* Rows that undirected cliques of which do not count alike, in some way or other. */
void
test_some_maps(const char *name, const Pairs &pairs, uint32_t k)
{
	for (PpJoinMode mode : {PP_JOIN_COUNT, PP_JOIN_GROUPS})
		for (uint32_t compared = 0; compared < 3; compared++)
		{
			Query		q(k, pairs, mode);
			DeviceCliques device;

			unit_case("%s, %u variables, mode %u, %u", name, k, (unsigned) mode, compared);
			schedule(k + compared);
			q.query.group = 1;
			if (compared > 0)
				q.ascend(compared == 1 ? k : 2);
			EXPECT(device.build(q, Ways()) == PP_JOIN_OK && device.join->degree != nullptr &&
				   device.join->info.declined == PP_CUDA_DECLINED_NOT &&
				   device.join->degree->is_mixed != (compared == 1 && strstr(name, "loop") != nullptr),
				   "it is declined, or edges are taken for such that count alike");
			compare(q, Ways());
		}
}

void
test_kinds_of_maps(void)
{
	UnitRandom	r = unit_random(T_MAPS, UINT32_MAX);
	const Edges edges = random_edges(&r, 12, 70);
	Pairs		pairs = rows_of(edges, SYMMETRIC, 0, &r);

	test_some_maps("one direction missing", Pairs(pairs.begin(), pairs.end() - 2), 5);
	test_some_maps("as many in each direction", {0, 1, 2, 1, 1, 3, 4, 3}, 4);
	pairs.push_back(pairs[0]);
	pairs.push_back(pairs[0]);
	test_some_maps("a loop", pairs, 4);
	test_some_maps("nothing but a loop", {7, 7}, 6);
	pairs = rows_of(edges, INCREASING, 1, &r);
	pairs.push_back(pairs[4]);
	pairs.push_back(pairs[5]);
	test_some_maps("a row comes twice", pairs, 4);
	pairs = rows_of(edges, SYMMETRIC, 1, &r);
	for (uint32_t i = 0; i < 2; i++)
	{
		pairs.push_back(pairs[0 + i]);
		pairs.push_back(pairs[1 - i]);
	}
	/* as many rows in each direction, but not of each edge */
	test_some_maps("two rows in two directions", pairs, 5);
	/* as many edges as there are to be, and rows in each direction */
	test_some_maps("two edges in one direction, twice", {0, 1, 0, 1, 3, 2, 3, 2, 1, 2, 2, 1}, 4);
}

/*
 * Counts around 2^64: of a complete graph of five, all rows of which are so many,
 * with an edge of twice as many, or a loop.
 */
void
test_large_maps(void)
{
	UnitRandom	r = unit_random(T_MAPS, UINT32_MAX - 1);

	for (PpJoinMode mode : {PP_JOIN_COUNT, PP_JOIN_GROUPS})
		for (uint32_t times : {2u, 1000u, 1447u, 1449u, 1625u, 1626u, 65536u})
			for (bool loop : {false, true})
			{
				Rows		rows;

				for (uint32_t b = 1; b < 5; b++)
					for (uint32_t a = 0; a < b; a++)
						rows[{a, b}] = 1;
				rows[loop ? Edge(1, 1) : Edge(3, 4)] = loop ? 1 : 2;
				unit_case("rows of %u each, mode %u, %s", times, (unsigned) mode, loop ? "a loop" : "twice");
				schedule(times);
				{
					const Pairs pairs = pairs_of(rows, 0, &r);
					Query		q(4, pairs, mode);
					const Wide	each = (Wide) times * times * times * times * times * times;
					std::vector<Wide> groups;
					const Wide	want = count_all(q.query, rows, 5, &groups) * each;
					bool		fits = (loop ? each : 2 * each) >> 64 == 0;
					DeviceCliques device;
					Ways		ways;
					Answer		have;

					for (const Wide &g : groups)
						fits &= mode == PP_JOIN_COUNT || g * each >> 64 == 0;
					ways.times = times;
					have = device.run(q, ways, 0);
					EXPECT(have.status == (fits ? PP_JOIN_OK : PP_JOIN_HANDED_OVER), "status %d", (int) have.status);
					if (!fits)
						continue;
					EXPECT(mode == PP_JOIN_GROUPS || (have.low == (uint64_t) want && have.high == (uint64_t) (want >> 64)),
						   "%llu, %llu", (unsigned long long) have.high, (unsigned long long) have.low);
					for (uint32_t v = 0; v < 5 && mode == PP_JOIN_GROUPS; v++)
						EXPECT(have.groups[key_of(0, v)] == (uint64_t) (groups[v] * each), "%llu of vertex %u",
							   (unsigned long long) have.groups[key_of(0, v)], v);
				}
			}
}

/* Counts around 2^64, and far beyond it, of a triangle, an edge with a loop, a loop. */
void
test_mixed_large(void)
{
	UnitRandom	r = unit_random(T_MIXED, UINT32_MAX);
	const Rows	shapes[3] = {
		{{{0, 1}, 2}, {{1, 2}, 1}, {{0, 2}, 1}},
		{{{0, 0}, 1}, {{0, 1}, 2}},
		{{{0, 0}, 2}}
	};

	for (uint32_t shape = 0; shape < 3; shape++)
		for (PpJoinMode mode : {PP_JOIN_COUNT, PP_JOIN_GROUPS})
			for (uint32_t times : {1u << 20, 1664510u, 1664511u, 2097151u, 2642245u, 2642246u, 1u << 22, 1u << 28})
			{
				const Pairs pairs = pairs_of(shapes[shape], 0, &r);
				Query		q(3, pairs, mode);
				Ways		ways;

				unit_case("rows of %u each, shape %u, mode %u", times, shape, (unsigned) mode);
				schedule(shape);
				ways.times = times;
				compare_mixed(q, shapes[shape], 3 - shape, 0, ways);
			}
	/* added to what there is */
	{
		const Pairs pairs = pairs_of(shapes[0], 0, &r);
		Query		count(3, pairs, PP_JOIN_COUNT);
		Query		groups(3, pairs, PP_JOIN_GROUPS);
		DeviceCliques first;
		DeviceCliques second;
		const Answer have = first.run(count, Ways(), UINT64_MAX);

		unit_case("mixed, a total of more than 64 bits");
		EXPECT(have.status == PP_JOIN_OK && have.high == 1 && have.low == 1, "status %d, %llu, %llu",
			   (int) have.status, (unsigned long long) have.high, (unsigned long long) have.low);
		EXPECT(second.run(groups, Ways(), UINT64_MAX).status == PP_JOIN_HANDED_OVER, "no overflow");
	}
}

/* Rows of a graph, some of which come twice, some in one direction only, with loops. */
Rows
mix(const Edges &edges, UnitRandom *r)
{
	Rows		rows;

	for (const Edge &e : edges)
	{
		const uint32_t form = unit_below(r, 3);

		if (form != DECREASING)
			rows[e] = unit_once_in(r, 4) ? 2 : 1;
		if (form != INCREASING)
			rows[{e.second, e.first}] = unit_once_in(r, 4) ? 3 : 1;
		if (unit_once_in(r, 16))
			rows[{e.first, e.first}] = 1 + unit_below(r, 2);
	}
	rows[{0, 1}] = 2;
	return rows;
}

/* A vertex with edges to all others makes no thread work for all of them. */
void
test_map_hubs(void)
{
	UnitRandom	r = unit_random(T_MAPS, UINT32_MAX - 2);
	const Rows	rows = mix(wheel_edges(simt_counts_bytes() ? 10000 : 200), &r);
	const Pairs pairs = pairs_of(rows, 0, &r);
	Query		q(4, pairs, PP_JOIN_GROUPS);

	unit_case("a hub, and edges that do not count alike");
	schedule(0);
	simt_reset_counters();
	q.residuals.push_back({PP_JOIN_LE, 0, 1});
	q.finish();
	compare(q, Ways());
	check_share("judge_edges", 1024, 8);
	check_share("make_planes", 1024, 32);
	/* who takes how much from a counter is a matter of chance */
	check_share("map_cliques", 1024, 32);
}

/* Against the CPU's engine: larger ones, and a hub. */
void
test_mixed_graphs(void)
{
	UnitRandom	r = unit_random(T_MIXED, UINT32_MAX - 1);
	const bool	hub = simt_counts_bytes() || is_long_run();
	const uint32_t n = simt_counts_bytes() ? 100000 : hub ? 10000 : 500;
	const std::pair<const char *, Edges> graphs[] = {
		{"wheel", wheel_edges(n)},
		{"complete graph", random_edges(&r, hub ? 150 : 40, 100)},
		{"skewed graph", skewed_edges(&r, 10, hub ? 9000 : 1000)},
		{"dense core and a fringe", random_edges(&r, hub ? 120 : 30, 70)}
	};

	for (const auto &graph : graphs)
	{
		Rows		rows = mix(graph.second, &r);

		rows[{2, 1}] = 300;
		rows[{3, 3}] = 300;
		for (PpJoinMode mode : {PP_JOIN_COUNT, PP_JOIN_GROUPS})
		{
			const Pairs pairs = pairs_of(rows, mode == PP_JOIN_COUNT, &r);
			Query		q(3, pairs, mode);

			unit_case("mixed %s, mode %u", graph.first, (unsigned) mode);
			schedule((uint32_t) mode);
			q.vary(&r);
			q.residuals.clear();
			if (mode == PP_JOIN_GROUPS)
				q.residuals.push_back({PP_JOIN_LE, 0, 1});
			q.finish();
			simt_reset_counters();
			compare(q, Ways());
			if (!simt_present() || graph.first != graphs[0].first)
				continue;
			for (const char *kernel : {"mark_edges", "list_mixed", "count_loops"})
				check_share(kernel, 4096, 4);
			check_share("loop_triangles<GROUPS>", 1024, 4);
			/* who takes how much from a counter is a matter of chance */
			check_share("mixed_triangles<GROUPS>", 1024, 32);
		}
	}
}

/* The rows stay as they were. */
void
test_declined(const char *name, const Pairs &pairs, uint32_t k, PpCudaJoinDeclined why)
{
	Query		q(k, pairs, PP_JOIN_GROUPS);
	DeviceCliques		device;
	PpJoinStatus status;
	std::vector<uint64_t> codes;
	std::vector<int64_t> names;

	unit_case("%s, %u variables", name, k);
	schedule(k);
	q.query.group = 1;
	EXPECT(pp_degree_match(&q.query) == PP_CUDA_DECLINED_NOT, "it is no clique");
	status = device.build(q, Ways());
	EXPECT(status == PP_JOIN_OK && device.join->degree == nullptr && device.join->info.declined == why,
		   "status %d, or it is not declined, but %d", (int) status, (int) device.join->info.declined);
	codes = get(reinterpret_cast<uint64_t *>(device.join->relation[0].codes.p), pairs.size() / 2,
				device.join->stream);
	names = get(reinterpret_cast<int64_t *>(device.join->names.p), device.join->nkeys,
				device.join->stream);
	for (size_t i = 0; i < codes.size(); i++)
		EXPECT(names[codes[i] >> 32] == pairs[2 * i] && names[(uint32_t) codes[i]] == pairs[2 * i + 1],
			   "row %zu is another one", i);
}

void
test_declined_rows(void)
{
	UnitRandom	r = unit_random(T_DECLINED, 0);
	const Pairs pairs = rows_of(random_edges(&r, 5, 70), SYMMETRIC, 0, &r);

	if (is_long_run())
	{
		Pairs		star;

		for (int64_t v = 0; v < 16385; v++)
		{
			star.push_back(v);
			star.push_back(20000);
		}
		test_declined("a long list in order of keys", star, 4, PP_CUDA_DECLINED_LISTS);
	}

	{
		Query		q(3, pairs, PP_JOIN_ROWS);

		unit_case("queries that are none");
		EXPECT(pp_degree_match(&q.query) == PP_CUDA_DECLINED_ROWS, "rows");
		q.query.mode = PP_JOIN_COUNT;
		EXPECT(pp_degree_match(&q.query) == PP_CUDA_DECLINED_NOT, "a triangle");
		q.query.strategy = PP_JOIN_GENERAL;
		EXPECT(pp_degree_match(&q.query) == PP_CUDA_DECLINED_SHAPE, "no short cut is wanted");
		q.query.strategy = PP_JOIN_AUTO;
		q.atoms[1].relation = 1;
		EXPECT(pp_degree_match(&q.query) == PP_CUDA_DECLINED_RELATIONS, "several relations");
		q.atoms[1].relation = 0;
		q.atoms[2].variable[0] = 0;
		q.atoms[2].variable[1] = 1;
		EXPECT(pp_degree_match(&q.query) == PP_CUDA_DECLINED_SHAPE, "a pair has two atoms");
	}
}

/* Sums beyond 64 bits, in all and of a group. */
void
test_large_counts(void)
{
	UnitRandom	r = unit_random(T_DECLINED, 1);
	const Edges edges = random_edges(&r, 12, 100);
	const Pairs pairs = rows_of(edges, INCREASING, 0, &r);

	schedule(3);
	for (uint32_t k : {3u, 5u})
		for (uint32_t way = 0; way < 3; way++)
		{
			Ways		ways;

			ways.other = way > 0;
			for (uint32_t w = way == 1 ? 2 : PP_DEGREE_WAYS; w < PP_DEGREE_WAYS; w++)
				ways.upto[w] = 9;
			{
				Query		q(k, pairs, PP_JOIN_COUNT);
				DeviceCliques		device;
				const Answer want = expected(q);
				const Answer have = device.run(q, ways, UINT64_MAX);

				unit_case("a total of more than 64 bits, %u variables, way %u", k, way);
				EXPECT(have.status == PP_JOIN_OK && have.high == 1 && have.low == want.low - 1,
					   "status %d, %llu, %llu", (int) have.status, (unsigned long long) have.high,
					   (unsigned long long) have.low);
			}
			{
				Query		q(k, pairs, PP_JOIN_GROUPS);
				DeviceCliques		device;
				const Answer have = device.run(q, ways, UINT64_MAX);

				unit_case("a group of more than 64 bits, %u variables, way %u", k, way);
				EXPECT(have.status == PP_JOIN_HANDED_OVER, "status %d", (int) have.status);
			}
		}
}

/* Asked often enough, the caller wants to stop. */
bool
stop_later(void *ctx)
{
	uint32_t   *left = static_cast<uint32_t *>(ctx);

	return *left == 0 || --*left == 0;
}

/* A query that is cancelled at that question, with launches of so much work. */
void
expect_stopped(const char *what, uint32_t nvariables, const Pairs &rows, uint32_t after, uint32_t quota)
{
	Query		q(nvariables, rows, after % 2 ? PP_JOIN_COUNT : PP_JOIN_GROUPS);
	uint32_t	left = after;
	DeviceCliques		device;
	Ways		ways;
	Answer		have;

	unit_case("%s, stopped at question %u", what, after);
	schedule(after);
	q.query.cancelled = stop_later;
	q.query.cancel_ctx = &left;
	ways.quota = quota;
	have = device.run(q, ways, 0);
	/* how often it is asked is a matter of time: it may be done before */
	EXPECT(have.status == PP_JOIN_CANCELLED ||
		   (have.status == PP_JOIN_OK && after > 2 && left > 0), "status %d, %u questions left",
		   (int) have.status, left);
}

void
test_stops(void)
{
	UnitRandom	r = unit_random(T_DECLINED, 2);
	const Pairs pairs = rows_of(random_edges(&r, is_long_run() ? 70 : 40, 95), INCREASING, 0, &r);

	for (uint32_t after : {1u, 2u, 5u, 20u})
		expect_stopped("cliques", 6, pairs, after, 1000);
	for (uint32_t after : {1u, 3u, 8u})
		for (uint32_t k : {3u, 5u})
			expect_stopped("mixed", k, pairs_of(mix(random_edges(&r, k == 5 ? 20 : is_long_run() ? 200 : 50,
																95), &r), 0, &r), after, 200);
}

void
test_failures(SimtCall kind, const char *name)
{
	UnitRandom	r = unit_random(T_FAILURES, 0);
	const Pairs alike = rows_of(random_edges(&r, 18, 90), INCREASING, 0, &r);
	const Pairs mixed = pairs_of(mix(random_edges(&r, 18, 90), &r), 0, &r);

	/* 0, 1: triangles of rows of any kind, and groups of these; 2, 4: the same of
	 * larger cliques */
	for (uint32_t k : {3u, 5u, 0u, 1u, 2u, 4u})
		for (uint64_t nth = 1;; nth++)
		{
			Ways		ways;
			PpJoinStatus status;

			if (!is_done(nth) && nth > 3)
				continue;
			unit_case("%s number %u fails, %u variables, or kind", name, (unsigned) nth, k);
			schedule((uint32_t) nth);
			simt_report_to_stderr(false);
			/* all kernels, some with more than one launch */
			ways.other = true;
			ways.quota = 300;
			for (uint32_t w = 0; w < PP_DEGREE_WAYS; w++)
				ways.upto[w] = k <= 3 ? std::min(3 + w, 4u) : 1 + w;
			{
				Query		q(k < 2 ? 3 : k == 2 ? 4 : k, k < 3 || k == 4 ? mixed : alike,
							  k == 3 || k == 0 || k == 2 ? PP_JOIN_COUNT : PP_JOIN_GROUPS);
				DeviceCliques		device;

				pp_memory_trim();
				simt_inject(kind, nth, false);
				status = device.run(q, ways, 0).status;
				simt_inject(kind, 0, false);
				EXPECT(status == PP_JOIN_OK || status == PP_JOIN_DEVICE_FAILED ||
					   (kind == SIMT_ALLOC && status == PP_JOIN_NO_FIT), "status %d", (int) status);
			}
			restart_library(library);
			if (status == PP_JOIN_OK)
				break;
		}
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "join_degree_test");
	library = pp_cuda_library(PP_CUDA_VERSION);
	unit_case("start");
	start_library(library);
	for (uint64_t i = 0; i < unit_iterations(300); i++)
		test_random(i);
	for (uint64_t i = 0; i < unit_iterations(120); i++)
		test_distinct(i);
	for (uint64_t i = 0; i < unit_iterations(500); i++)
		test_mixed(i);
	for (uint64_t i = 0; i < unit_iterations(200); i++)
		test_maps(i);
	test_kinds_of_maps();
	test_large_maps();
	test_mixed_large();
	test_graphs();
	test_mixed_graphs();
	if (simt_present())
	{
		test_hubs();
		test_map_hubs();
	}
	test_declined_rows();
	test_large_counts();
	test_stops();
	if (simt_present())
	{
		test_failures(SIMT_ALLOC, "allocation");
		test_failures(SIMT_COPY, "copy");
		test_failures(SIMT_LAUNCH, "launch");
		test_failures(SIMT_EXECUTION, "execution");
	}
	library->stop();
	check_leftovers();
	return unit_end();
}
