/*
 * test/cuda/join_degree_check.h
 *	  What the tests of cliques that are counted by degree share: graphs and their
 *	  rows, queries, and both engines' answers.
 *
 * Included once a program.
 */
#ifndef JOIN_DEGREE_CHECK_H
#define JOIN_DEGREE_CHECK_H

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "../../cuda/join_degree.h"
#include "device_check.h"

namespace
{

const PpCudaLibrary *library;

typedef std::pair<uint32_t, uint32_t> Edge;
typedef std::set<Edge> Edges;	/* first less than second */
typedef std::vector<int64_t> Pairs;

enum Form
{
	INCREASING,
	DECREASING,
	SYMMETRIC,
	FORMS
};

int64_t
key_of(uint32_t style, uint32_t v)
{
	return style == 0 ? (int64_t) v - 3 :
		(int64_t) ((uint64_t) v * 0x123456789abcdu - UINT64_C(0x4000000000000000));
}

Pairs
in_random_order(std::vector<Edge> rows, uint32_t style, UnitRandom *r)
{
	Pairs		pairs;

	for (size_t i = rows.size(); i > 1; i--)
		std::swap(rows[i - 1], rows[unit_below(r, (uint32_t) i)]);
	for (const Edge &e : rows)
	{
		pairs.push_back(key_of(style, e.first));
		pairs.push_back(key_of(style, e.second));
	}
	return pairs;
}

/* Rows of a graph, in random order. */
Pairs
rows_of(const Edges &edges, Form form, uint32_t style, UnitRandom *r)
{
	std::vector<Edge> rows;

	for (const Edge &e : edges)
	{
		if (form != DECREASING)
			rows.push_back(e);
		if (form != INCREASING)
			rows.push_back({e.second, e.first});
	}
	return in_random_order(rows, style, r);
}

/* ---------- queries ---------- */

struct Query
{
	PpJoinQuery query = {};
	std::vector<PpJoinAtom> atoms;
	std::vector<PpJoinResidual> residuals;
	PpJoinRelation relation = {};

	Query(uint32_t k, const Pairs &pairs, PpJoinMode mode)
	{
		relation = {pairs.data(), pairs.size() / 2};
		query.nvariables = k;
		query.nrelations = 1;
		query.relations = &relation;
		query.mode = mode;
		query.simd = PP_SIMD_LEVELS;
		for (uint32_t b = 1; b < k; b++)
			for (uint32_t a = 0; a < b; a++)
				atoms.push_back({0, {a, b}});
		finish();
	}
	Query(const Query &) = delete;
	Query	   &operator=(const Query &) = delete;

	void
	finish(void)
	{
		query.natoms = (uint32_t) atoms.size();
		query.atoms = atoms.data();
		query.nresiduals = (uint32_t) residuals.size();
		query.residuals = residuals.data();
	}
	/* Variables in order, all or the first ones. */
	void
	ascend(uint32_t n)
	{
		for (uint32_t v = 0; v + 1 < n; v++)
			residuals.push_back({PP_JOIN_LT, v, v + 1});
		finish();
	}
	/* Some atoms the other way round, some comparisons. */
	void
	vary(UnitRandom *r)
	{
		const uint32_t k = query.nvariables;
		const uint32_t turn = unit_below(r, 3);

		for (PpJoinAtom &a : atoms)
			if (turn == 0 ? unit_once_in(r, 8) : turn == 1 && unit_once_in(r, 2))
				std::swap(a.variable[0], a.variable[1]);
		query.group = unit_below(r, k);
		switch (unit_below(r, 4))
		{
			case 0:
				ascend(k);
				break;
			case 1:
				for (uint32_t n = unit_below(r, 4); n > 0; n--)
				{
					const uint32_t a = unit_below(r, k);
					const uint32_t b = (a + 1 + unit_below(r, k - 1)) % k;

					residuals.push_back({(PpJoinCompare) unit_below(r, 5), a, b});
				}
				break;
			case 2:
				for (uint32_t b = 1; b < k; b++)
					residuals.push_back({PP_JOIN_NE, b - 1, b});
				break;
		}
		finish();
	}
};

struct Answer
{
	PpJoinStatus status = PP_JOIN_OK;
	uint64_t	low = 0;
	uint64_t	high = 0;
	std::map<int64_t, uint64_t> groups;
};

/* What the CPU's engine says. */
Answer
expected(const Query &q)
{
	UnitHeap	heap = {};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	Answer		answer;
	PpJoin	   *join = nullptr;
	PpJoinRun  *run = nullptr;

	answer.status = pp_join_build(&q.query, &alloc, SIZE_MAX, &join);
	if (answer.status == PP_JOIN_OK)
		answer.status = pp_join_open(join, &alloc, SIZE_MAX, 0, 1, &run);
	if (answer.status == PP_JOIN_OK && q.query.mode == PP_JOIN_COUNT)
	{
		PpCount		count;

		answer.status = pp_join_count(run, &count);
		answer.low = count.low;
		answer.high = count.high;
	}
	else if (answer.status == PP_JOIN_OK)
	{
		int64_t		keys[256];
		PpCount		counts[256];
		size_t		n;

		while ((answer.status = pp_join_groups(run, keys, counts, 256, &n)) == PP_JOIN_OK && n > 0)
			for (size_t i = 0; i < n; i++)
				answer.groups[keys[i]] = counts[i].low;
	}
	pp_join_close(run);
	pp_join_free(join);
	return answer;
}

/* How the device goes about it, where not as it would. */
struct Ways
{
	uint32_t	quota = 0;		/* 0: as it would */
	uint32_t	chunk = 0;
	uint32_t	span = UINT32_MAX;
	bool		other = false;
	uint32_t	upto[PP_DEGREE_WAYS] = {};
	uint32_t	times = 1;		/* of mixed edges and loops: each row is so many */
	uint32_t	longest = 0;	/* lists are taken for such that are as long; 0: as they are */
};

Ways
random_ways(UnitRandom *r, uint32_t k)
{
	static const uint32_t most[2][PP_DEGREE_WAYS] = {{5, 9, 0, 0}, {3, 5, 7, 9}};
	Ways		ways;
	uint32_t	least = 0;

	if (unit_once_in(r, 2))
		ways.quota = 1 + unit_below(r, unit_once_in(r, 2) ? 6 : 100);
	if (unit_once_in(r, 2))
		ways.chunk = 1 + unit_below(r, 12);
	if (unit_once_in(r, 2))
		ways.span = unit_below(r, 30);
	ways.other = !unit_once_in(r, 3);
	for (uint32_t w = 0; w < PP_DEGREE_WAYS; w++)
	{
		const uint32_t room = most[k > 3][w];

		ways.upto[w] = room > least && !unit_once_in(r, 2) ? least + unit_below(r, 4) : least;
		if (ways.upto[w] > room)
			ways.upto[w] = room > least ? room : least;
		least = ways.upto[w];
	}
	return ways;
}

/* ---------- the device ---------- */

struct DeviceCliques
{
	UnitHeap	heap = {};
	PpAlloc		alloc;
	PpDeviceJoin *join = nullptr;

	DeviceCliques()
	{
		alloc = unit_heap_alloc(&heap);
	}
	DeviceCliques(const DeviceCliques &) = delete;
	DeviceCliques	   &operator=(const DeviceCliques &) = delete;
	~DeviceCliques()
	{
		pp_device_join_free(join);
		EXPECT(heap.live_blocks == 0, "%zu blocks of the host's memory are left", heap.live_blocks);
	}
	PpJoinStatus
	build(const Query &q, const Ways &ways)
	{
		const bool	used[] = {true};
		PpJoinStatus status = pp_device_join_open(&q.query, &alloc, SIZE_MAX, &join);

		if (status == PP_JOIN_OK)
			status = pp_device_number(join, &q.query, used);
		if (status == PP_JOIN_OK && join->nkeys > 0)
			status = pp_degree_build(join, &q.query);
		if (status != PP_JOIN_OK || join->degree == nullptr)
			return status;
		if (ways.quota != 0)
			join->degree->graph.quota = ways.quota;
		if (ways.chunk != 0)
			join->degree->graph.chunk = ways.chunk;
		join->degree->graph.span = std::min(join->degree->graph.span, ways.span);
		for (uint32_t w = 0; w < PP_DEGREE_WAYS && ways.other; w++)
			join->degree->upto[w] = ways.upto[w];
		if (ways.longest != 0 && join->degree->is_mixed)
		{
			join->degree->longest = ways.longest;
			join->degree->upto[1] = 11;
		}
		if (ways.times > 1 && join->degree->is_mixed)
			multiply(ways.times);
		return PP_JOIN_OK;
	}
	void
	multiply(uint32_t by)
	{
		const PpMixedGraph &mixed = join->degree->mixed;
		uint32_t   *const where[2] = {
			reinterpret_cast<uint32_t *>(join->degree->memory[5].p),
			reinterpret_cast<uint32_t *>(join->degree->memory[6].p)
		};
		const uint32_t n[2] = {2 * mixed.nentries, mixed.loops != nullptr ? mixed.nvertices : 0};

		join->degree->maps.heavy = true;
		for (uint32_t i = 0; i < 2; i++)
		{
			std::vector<uint32_t> rows = get(where[i], n[i], join->stream);

			for (uint32_t &r : rows)
				r = (r & PP_KEY_LESS) | (r & ~PP_KEY_LESS) * by;
			EXPECT(pp_join_copy(join, where[i], rows.data(), n[i] * sizeof(uint32_t),
								cudaMemcpyHostToDevice) == PP_JOIN_OK &&
				   pp_join_wait(join) == PP_JOIN_OK, "%s", library->error());
		}
	}
	/* begin: what there is in the total, or in each group, before. */
	Answer
	run(const Query &q, const Ways &ways, uint64_t begin)
	{
		PpBuffer	out = {};
		Answer		answer;
		PpJoinSignals signals = {};

		answer.status = build(q, ways);
		if (answer.status != PP_JOIN_OK)
			return answer;
		EXPECT(join->degree != nullptr, "it is not for these rows");
		if (join->degree == nullptr)
			return answer;
		if (q.query.mode == PP_JOIN_COUNT)
		{
			if (begin != 0)
				answer.status = pp_join_copy(join, join->signals.p + offsetof(PpJoinSignals, total),
											 &begin, sizeof(begin), cudaMemcpyHostToDevice);
			if (answer.status == PP_JOIN_OK)
				answer.status = pp_degree_count(join);
			if (answer.status == PP_JOIN_OK)
				answer.status = pp_join_signals(join, &signals);
			answer.low = signals.total[0];
			answer.high = signals.total[1];
			return answer;
		}
		answer.status = pp_join_reserve(join, &out, join->nkeys * sizeof(uint64_t));
		if (answer.status == PP_JOIN_OK)
			answer.status = pp_join_call("filling failed",
										 cudaMemsetAsync(out.p, begin != 0 ? 0xff : 0,
														 join->nkeys * sizeof(uint64_t), join->stream));
		if (answer.status == PP_JOIN_OK)
			answer.status = pp_degree_groups(join, reinterpret_cast<uint64_t *>(out.p));
		if (answer.status == PP_JOIN_OK)
			answer.status = pp_join_signals(join, nullptr);
		if (answer.status == PP_JOIN_OK)
		{
			/* what follows is the test's own */
			simt_inject(SIMT_COPY, 0, false);
			const std::vector<uint64_t> counts =
				get(reinterpret_cast<uint64_t *>(out.p), join->nkeys, join->stream);
			const std::vector<int64_t> names =
				get(reinterpret_cast<int64_t *>(join->names.p), join->nkeys, join->stream);

			for (uint32_t i = 0; i < join->nkeys; i++)
				if (counts[i] != 0)
					answer.groups[names[i]] = counts[i];
		}
		pp_buffer_release(&out);
		return answer;
	}
};

void
compare(const Query &q, const Ways &ways)
{
	const Answer want = expected(q);
	DeviceCliques		device;
	const Answer have = device.run(q, ways, 0);

	/* what is more than the device has bits for */
	if (have.status == PP_JOIN_HANDED_OVER && (want.status == PP_JOIN_TOO_MANY || want.high != 0))
		return;
	EXPECT(want.status == PP_JOIN_OK && have.status == PP_JOIN_OK, "status %d, %d: %s",
		   (int) want.status, (int) have.status, library->error());
	EXPECT(have.low == want.low && have.high == want.high, "%llu, %llu, not %llu, %llu",
		   (unsigned long long) have.high, (unsigned long long) have.low,
		   (unsigned long long) want.high, (unsigned long long) want.low);
	EXPECT(have.groups == want.groups, "%zu groups where there are %zu, or others",
		   have.groups.size(), want.groups.size());
}

/* ---------- graphs ---------- */

Edges
random_edges(UnitRandom *r, uint32_t n, uint32_t percent)
{
	Edges		edges;

	for (uint32_t b = 1; b < n; b++)
		for (uint32_t a = 0; a < b; a++)
			if (unit_below(r, 100) < percent)
				edges.insert({a, b});
	return edges;
}

void
add_edge(Edges *edges, uint32_t a, uint32_t b)
{
	if (a != b)
		edges->insert({std::min(a, b), std::max(a, b)});
}

/* Recursive quadrants (R-MAT): few vertices have most edges. */
Edges
skewed_edges(UnitRandom *r, uint32_t scale, uint32_t n)
{
	Edges		edges;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	a = 0;
		uint32_t	b = 0;

		for (uint32_t bit = 0; bit < scale; bit++)
		{
			const uint32_t at = unit_below(r, 100);

			a = a << 1 | (at >= 76);
			b = b << 1 | ((at >= 57 && at < 76) || at >= 95);
		}
		add_edge(&edges, a, b);
	}
	return edges;
}

/* A hub, and a ring of the others. */
Edges
wheel_edges(uint32_t n)
{
	Edges		edges;

	for (uint32_t v = 1; v <= n; v++)
	{
		add_edge(&edges, 0, v);
		add_edge(&edges, v, v % n + 1);
	}
	return edges;
}

}								/* namespace */

#endif							/* JOIN_DEGREE_CHECK_H */
