/*
 * test/unit/trie_test.c
 *	  The join engine against nested loops: random relations and patterns in
 *	  every mode, strategy and SIMD level, cut into parts, short of memory,
 *	  cancelled anywhere; and queries that are none.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trie/trie.h"
#include "trie_case.h"

enum
{
	T_QUERY = 3,
	T_BUDGET,
	T_CANCEL,
	T_FAIL
};

static void
test_queries(void)
{
	uint64_t	met[4] = {0};
	uint64_t	nonempty = 0;
	uint64_t	n = unit_iterations(4000);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_QUERY, i);
		Case		c;

		unit_case("query %" PRIu64, i);
		make_case(&c, &r);
		nonempty += c.n > 0;
		for (uint32_t m = 0; set_mode(&c, m); m++)
		{
			UnitHeap	heap = {0};
			PpJoinStrategy strategy = PP_JOIN_AUTO;
			PpJoinStatus status;

			do
				c.query.simd = (PpSimd) unit_below(&r, PP_SIMD_LEVELS + 1);
			while (c.query.simd != PP_SIMD_LEVELS && pp_trie_kernels(c.query.simd) == NULL);
			c.query.threads = unit_below(&r, 4);
			status = run_case(&c, &heap, (size_t) 1 << 30, 1 + unit_below(&r, 3),
							  1 + unit_below(&r, 40), &strategy);
			EXPECT(status == PP_JOIN_OK, "mode %u: status %d", m, (int) status);
			met[strategy]++;
		}
		drop_case(&c);
	}
	unit_case("what the queries were");
	EXPECT(nonempty * 4 > n, "%" PRIu64 " of %" PRIu64 " have an answer", nonempty, n);
	EXPECT(met[PP_JOIN_GENERAL] && (n < 100 || (met[PP_JOIN_ORIENTED] && met[PP_JOIN_WEDGES])),
		   "a strategy was never met");
}

static void
test_budgets(void)
{
	uint64_t	refused = 0;
	uint64_t	done = 0;

	for (uint64_t i = 0; i < unit_iterations(150); i++)
	{
		UnitRandom	r = unit_random(T_BUDGET, i);
		Case		c;

		unit_case("budgets of query %" PRIu64, i);
		make_case(&c, &r);
		for (uint32_t m = 0; set_mode(&c, m); m++)
			for (size_t budget = 0; budget < 400000; budget += budget / 3 + 1 + unit_below(&r, 5000))
			{
				UnitHeap	heap = {0};
				PpJoinStrategy strategy = PP_JOIN_AUTO;
				PpJoinStatus status = run_case(&c, &heap, budget, 1, 20, &strategy);

				EXPECT(status == PP_JOIN_OK || status == PP_JOIN_NO_FIT, "status %d", (int) status);
				refused += status == PP_JOIN_NO_FIT;
				done += status == PP_JOIN_OK;
			}
		drop_case(&c);
	}
	unit_case("budgets");
	EXPECT(refused > 0 && done > 0, "%" PRIu64 " refused, %" PRIu64 " done", refused, done);
}

static bool
count_down(void *ctx)
{
	uint64_t   *left = ctx;
	uint64_t	n = __atomic_load_n(left, __ATOMIC_RELAXED);

	while (n > 0 && !__atomic_compare_exchange_n(left, &n, n - 1, false,
												 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return n == 0;
}

static void
test_cancel(void)
{
	for (uint64_t i = 0; i < unit_iterations(100); i++)
	{
		UnitRandom	r = unit_random(T_CANCEL, i);
		Case		c;

		make_case(&c, &r);
		c.query.cancelled = count_down;
		for (uint32_t m = 0; set_mode(&c, m); m++)
		{
			PpJoinStatus status = PP_JOIN_CANCELLED;

			unit_case("query %" PRIu64 " cancelled, mode %u", i, m);
			for (uint64_t calls = 0; status == PP_JOIN_CANCELLED && calls < 10000; calls++)
			{
				UnitHeap	heap = {0};
				uint64_t	left = calls;
				PpJoinStrategy strategy = PP_JOIN_AUTO;

				c.query.cancel_ctx = &left;
				status = run_case(&c, &heap, (size_t) 1 << 30, 2, 20, &strategy);
				EXPECT(status == PP_JOIN_OK || status == PP_JOIN_CANCELLED, "status %d", (int) status);
				EXPECT(calls > 0 || status == PP_JOIN_CANCELLED || c.relations[0].nrows == 0 ||
					   c.n == 0, "never asked");
			}
			EXPECT(status == PP_JOIN_OK, "it does not end");
		}
		drop_case(&c);
	}
}

static void
test_failures(void)
{
	for (uint64_t i = 0; i < unit_iterations(100); i++)
	{
		UnitRandom	r = unit_random(T_FAIL, i);
		Case		c;

		make_case(&c, &r);
		for (uint32_t m = 0; set_mode(&c, m); m++)
		{
			PpJoinStatus status = PP_JOIN_NO_MEMORY;

			unit_case("query %" PRIu64 " without memory, mode %u", i, m);
			for (uint64_t at = 1; status == PP_JOIN_NO_MEMORY && at < 1000; at++)
			{
				UnitHeap	heap = {0};
				PpJoinStrategy strategy = PP_JOIN_AUTO;

				heap.fail_at = at;
				status = run_case(&c, &heap, (size_t) 1 << 30, 1, 20, &strategy);
				EXPECT(status == PP_JOIN_OK || status == PP_JOIN_NO_MEMORY, "status %d", (int) status);
				EXPECT(heap.failed == (status == PP_JOIN_NO_MEMORY), "failure %" PRIu64, at);
			}
			EXPECT(status == PP_JOIN_OK, "it does not end");
		}
		drop_case(&c);
	}
}

static void
test_invalid(void)
{
	static const int64_t pairs[] = {1, 2};
	static const PpJoinRelation e = {pairs, 1};
	static const PpJoinAtom atoms[] = {{0, {0, 1}}, {0, {1, 0}}};
	static const PpJoinResidual residual = {PP_JOIN_LT, 0, 1};

	for (uint32_t i = 0; i <= 13; i++)
	{
		PpJoinAtom	a[2];
		PpJoinResidual less = residual;
		PpJoinQuery q;
		UnitHeap	heap = {0};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		PpJoin	   *join;
		PpJoinRun  *run;
		PpJoinStatus status;

		memcpy(a, atoms, sizeof(a));
		memset(&q, 0, sizeof(q));
		q.nvariables = q.natoms = 2;
		q.nrelations = q.nresiduals = 1;
		q.atoms = a;
		q.residuals = &less;
		q.relations = &e;
		q.simd = PP_SIMD_LEVELS;
		switch (i)
		{
			case 1: q.nvariables = 0; break;
			case 2: q.nvariables = 3; break;
			case 3: q.natoms = 0; break;
			case 4: q.nrelations = 0; break;
			case 5: a[1].relation = 1; break;
			case 6: a[1].variable[0] = 2; break;
			case 7: less.left = 2; break;
			case 8: less.right = 2; break;
			case 9: less.op = (PpJoinCompare) 5; break;
			case 10: q.mode = PP_JOIN_GROUPS; q.group = 2; break;
			case 11: q.mode = PP_JOIN_MODES; break;
			case 12: q.strategy = PP_JOIN_WEDGES; break;
			case 13: q.simd = (PpSimd) 77; break;
			default: break;
		}
		unit_case("invalid query %u", i);
		status = pp_join_build(&q, &alloc, 1 << 20, &join);
		EXPECT(status == (i == 0 ? PP_JOIN_OK : PP_JOIN_INVALID), "status %d", (int) status);
		EXPECT((join == NULL) == (i > 0), "a join");
		if (join)
		{
			size_t		n;

			EXPECT(pp_join_open(join, &alloc, 1 << 20, 1, 1, &run) == PP_JOIN_INVALID && run == NULL,
				   "part 1 of 1");
			EXPECT(pp_join_open(join, &alloc, 1 << 20, 0, 1, &run) == PP_JOIN_OK, "not opened");
			EXPECT(pp_join_rows(run, NULL, NULL, 1, &n) == PP_JOIN_INVALID && n == 0, "rows");
			EXPECT(pp_join_groups(run, NULL, NULL, 1, &n) == PP_JOIN_INVALID && n == 0, "groups");
			pp_join_close(run);
		}
		pp_join_free(join);
		EXPECT(heap.live_blocks == 0, "memory is left");
	}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "trie_test");
	test_invalid();
	test_queries();
	test_budgets();
	test_cancel();
	test_failures();
	return unit_end();
}
