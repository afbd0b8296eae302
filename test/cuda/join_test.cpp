/*
 * test/cuda/join_test.cpp
 *	  Joins of the device library through its table: random queries in every mode
 *	  and by every algorithm against nested loops, larger ones against the CPU's
 *	  engine; memory that does not suffice, failures anywhere, cancelling, stopping.
 */
#include "join_check.h"

namespace
{

enum
{
	T_QUERIES = 1,
	T_LARGE,
	T_FAILURES,
	T_CANCEL,
	T_MEMORY,
	T_RESIDENT,
	T_LIMIT
};

bool
admits(const Case *c, uint32_t algorithm)
{
	return algorithm != PP_CUDA_JOIN_PAIRWISE || c->query.mode == PP_JOIN_COUNT;
}

/* ---------- answers ---------- */

void
test_queries(uint64_t n)
{
	uint64_t	met[PP_CUDA_JOIN_ALGORITHMS] = {};

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_QUERIES, i);
		Case		c;

		make_case(&c, &r);
		for (uint32_t m = 0; set_mode(&c, m); m++)
		{
			const uint32_t algorithm = unit_below(&r, PP_CUDA_JOIN_ALGORITHMS);
			UnitHeap	heap = {};
			Manner		how;
			Outcome		out;

			/* each variable to count by is one mode; a few are enough */
			if (!admits(&c, algorithm) || (m > 4 && !unit_once_in(&r, 3)))
				continue;
			how.algorithm = (PpCudaJoinAlgorithm) algorithm;
			how.capacity = 1 + unit_below(&r, 200);
			how.again = unit_once_in(&r, 4);
			unit_case("query %" PRIu64 ", mode %u, %s", i, m, algorithm_name[algorithm]);
			configure(unit_once_in(&r, 3) ? 0 : 1 + unit_below(&r, 1000));
			out = run(&c, how, &heap);
			EXPECT(out.status == PP_JOIN_OK, "status %d: %s", (int) out.status, library->error());
			EXPECT((algorithm != PP_CUDA_JOIN_LFTJ && algorithm != PP_CUDA_JOIN_OPTIMIZED &&
					algorithm != PP_CUDA_JOIN_PAIRWISE) || out.info.algorithm == algorithm, "by another algorithm");
			met[out.info.algorithm]++;
		}
		drop_case(&c);
	}
	unit_case("what the queries were");
	check_nothing_used();
	if (n >= 100)
		for (uint32_t a = PP_CUDA_JOIN_LFTJ; a < PP_CUDA_JOIN_ALGORITHMS; a++)
			EXPECT(met[a] > 0, "%s was never met", algorithm_name[a]);
}

/* ---------- larger queries ---------- */

/* Larger than a block, or a batch, is. */
void
test_large(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_LARGE, i);
		const Shape shape = (Shape) (i % SHAPES);
		const uint32_t nrows = shape == KITE ? 600 : 1500;
		Case		c;

		unit_case("large query %" PRIu64 ": its answer", i);
		make_large(&c, &r, shape, nrows, shape == KITE ? 150 : shape == CLIQUES ? 120 : 180);
		answer_large(&c);
		EXPECT(c.n > 500, "%" PRIu64 " rows", c.n);
		for (uint32_t m = 0; m < 4; m++)
			for (uint32_t algorithm = PP_CUDA_JOIN_LFTJ; algorithm < PP_CUDA_JOIN_ALGORITHMS; algorithm++)
			{
				UnitHeap	heap = {};
				Manner		how;
				Outcome		out;

				set_large_mode(&c, m == 0 ? PP_JOIN_COUNT : m == 1 ? PP_JOIN_GROUPS : PP_JOIN_ROWS, m == 3,
							   unit_below(&r, c.query.nvariables));
				if (!admits(&c, algorithm) || (algorithm == PP_CUDA_JOIN_DEGREE && (shape != CLIQUES || m > 1)))
					continue;
				how.algorithm = (PpCudaJoinAlgorithm) algorithm;
				how.capacity = unit_once_in(&r, 2) ? 70 : 5000;
				unit_case("large query %" PRIu64 ", mode %u, %s", i, m, algorithm_name[algorithm]);
				configure((uint32_t) i);
				out = run(&c, how, &heap);
				EXPECT(out.status == PP_JOIN_OK && out.info.algorithm == algorithm, "status %d: %s, by %s",
					   (int) out.status, library->error(), algorithm_name[out.info.algorithm]);
				EXPECT(out.info.launches > 0 && out.info.h2d_bytes > 0 && out.info.d2h_bytes > 0 &&
					   out.info.nboxes == 1, "nothing is said of what was done");
			}
		drop_case(&c);
	}
}

/* ---------- memory ---------- */

/* The host's budget. */
void
test_budgets(void)
{
	UnitRandom	r = unit_random(T_MEMORY, 1000);
	bool		fits = false;
	Case		c;

	make_case(&c, &r);
	configure(0);
	for (uint32_t mode = 0; mode < 3; mode++)
		for (size_t budget = 1; !fits || mode < 2; budget *= 2)
		{
			UnitHeap	heap = {};
			Manner		how;
			Outcome		out;

			(void) set_mode(&c, mode == 0 ? 0 : mode + 2);
			how.budget = budget;
			unit_case("a budget of %zu bytes, mode %u", budget, mode);
			out = run(&c, how, &heap);
			fits = out.status == PP_JOIN_OK;
			EXPECT(fits || out.status == PP_JOIN_NO_FIT, "status %d", (int) out.status);
			if (fits)
				break;
		}
	drop_case(&c);
}

/* ---------- failures ---------- */

void
test_failures(uint64_t n)
{
	static const char *const name[] = {"allocation", "copy", "launch", "execution"};
	static const struct
	{
		PpCudaJoinAlgorithm algorithm;
		PpJoinMode	mode;
	}			what[] = {
		{PP_CUDA_JOIN_LFTJ, PP_JOIN_ROWS},
		{PP_CUDA_JOIN_OPTIMIZED, PP_JOIN_GROUPS},
		{PP_CUDA_JOIN_DEGREE, PP_JOIN_GROUPS},
		{PP_CUDA_JOIN_OPTIMIZED, PP_JOIN_ROWS},
		{PP_CUDA_JOIN_LFTJ, PP_JOIN_COUNT},
		{PP_CUDA_JOIN_PAIRWISE, PP_JOIN_COUNT}
	};

	if (!simt_present())
		return;
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_FAILURES, i);
		const PpCudaJoinAlgorithm algorithm = what[i % 6].algorithm;
		Case		c;

		make_large(&c, &r, CLIQUES, 12, 6);
		unit_case("failures %" PRIu64 ": the answer", i);
		answer_large(&c);
		set_large_mode(&c, what[i % 6].mode, true, 1);
		configure((uint32_t) i);
		for (uint32_t kind = 0; kind < SIMT_CALLS; kind++)
		{
			uint64_t	step = 1;

			library->stop();
			start();
			for (uint64_t nth = 1; nth < 2000; nth += step, step = nth < 16 ? 1 : nth < 60 ? 3 : 11)
			{
				unit_case("%s %" PRIu64 " fails, mode %d, %s", name[kind], nth, (int) c.query.mode,
						  algorithm_name[algorithm]);
				if (!fail_once(&c, algorithm, (SimtCall) kind, nth, UINT64_MAX))
					break;
			}
		}
		/* the host's memory */
		for (uint64_t nth = 1; nth < 2000; nth++)
		{
			UnitHeap	heap = {};
			Manner		how;
			Outcome		out;

			unit_case("allocation %" PRIu64 " of the host fails, mode %d, %s", nth, (int) c.query.mode,
					  algorithm_name[algorithm]);
			heap.fail_at = nth;
			how.algorithm = algorithm;
			out = run(&c, how, &heap);
			EXPECT(out.status == (heap.failed ? PP_JOIN_NO_MEMORY : PP_JOIN_OK), "status %d", (int) out.status);
			if (!heap.failed)
				break;
		}
		drop_case(&c);
	}
}

/* ---------- cancelling ---------- */

/* Cancelled anywhere, or never. */
void
test_cancel(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_CANCEL, i);
		const PpCudaJoinAlgorithm algorithm = (PpCudaJoinAlgorithm) (1 + i % 4);
		Asked		asked = {0, UINT64_MAX};
		uint64_t	times = 0;
		Case		c;

		make_large(&c, &r, CLIQUES, 800, 150);
		unit_case("cancelling %" PRIu64 ": the answer", i);
		answer_large(&c);
		set_large_mode(&c, (PpJoinMode) (algorithm == PP_CUDA_JOIN_PAIRWISE ? 0 : i / 4 % 3), false, 0);
		c.query.cancelled = cancelled;
		c.query.cancel_ctx = &asked;
		configure((uint32_t) i);
		for (uint64_t k = 0; k < 4; k++)
		{
			UnitHeap	heap = {};
			Manner		how;
			Outcome		out;

			asked.yes_at = k == 0 ? UINT64_MAX : 1 + times * (k - 1) / 4;
			asked.times = 0;
			how.algorithm = algorithm;
			unit_case("cancelled at %" PRIu64 " of %" PRIu64 ", mode %d, %s", asked.yes_at, times,
					  (int) c.query.mode, algorithm_name[algorithm]);
			out = run(&c, how, &heap);
			if (k == 0)
				times = asked.times;
			/* how often it is asked depends on time */
			EXPECT(out.status == (asked.times >= asked.yes_at ? PP_JOIN_CANCELLED : PP_JOIN_OK), "status %d",
				   (int) out.status);
			EXPECT(k != 1 || asked.times > 0 || !simt_present(), "never asked");
			check_nothing_used();
		}
		drop_case(&c);
	}
}

/* ---------- counts that are too large, limits, what stays on the device ---------- */

/* natoms atoms over the same two variables, all rows alike. */
void
test_overflow(void)
{
	static const uint32_t nrows = 4096;
	std::vector<int64_t> pairs(2 * nrows, 7);
	const PpJoinRelation relation = {pairs.data(), nrows};

	for (uint32_t natoms = 4; natoms < 8; natoms += is_little() ? 3 : 1)
		for (uint32_t apart = 0; apart < 2; apart++)
			for (uint32_t algorithm = PP_CUDA_JOIN_LFTJ; algorithm <= PP_CUDA_JOIN_OPTIMIZED; algorithm++)
			{
				UnitHeap	heap = {};
				const PpAlloc alloc = unit_heap_alloc(&heap);
				PpJoinAtom	atoms[16];
				PpJoinQuery q = {};
				PpCudaJoin *join;
				PpCount		count = {0, 0};
				PpJoinStatus status;
				/* 2^12 each: in one part 2^64 is too much, in two 2^128 */
				const uint32_t bits = 12 * natoms * (1 + apart);
				const bool	too_much = 12 * natoms >= 64;

				for (uint32_t a = 0; a < 2 * natoms; a++)
					atoms[a] = {0, {a / natoms * 2, a / natoms * 2 + 1}};
				q.nvariables = apart ? 4 : 2;
				q.natoms = apart ? 2 * natoms : natoms;
				q.nrelations = 1;
				q.atoms = atoms;
				q.relations = &relation;
				q.simd = PP_SIMD_LEVELS;
				unit_case("a count of 2^%u in %u parts, %s", bits, 1 + apart, algorithm_name[algorithm]);
				configure(0);
				status = joins->build(&q, nullptr, (PpCudaJoinAlgorithm) algorithm, &alloc, BUDGET, &join);
				EXPECT(status == PP_JOIN_OK, "status %d", (int) status);
				if (status == PP_JOIN_OK)
					status = joins->count(join, &count);
				joins->free(join);
				EXPECT(status == (too_much ? PP_JOIN_HANDED_OVER : PP_JOIN_OK), "status %d", (int) status);
				EXPECT(too_much || (count.high == (bits >= 64 ? UINT64_C(1) << (bits - 64) : 0) &&
									count.low == (bits >= 64 ? 0 : UINT64_C(1) << bits)),
					   "%" PRIx64 " %" PRIx64, count.high, count.low);
			}
}

/* A few rows do not cost what all of them would. */
void
test_limit(void)
{
	UnitRandom	r = unit_random(T_LIMIT, 0);
	Case		c;

	unit_case("a limit: the answer");
	make_large(&c, &r, TRIANGLES, 2500, 120);
	answer_large(&c);
	EXPECT(c.n > 10000, "%" PRIu64 " rows", c.n);
	set_large_mode(&c, PP_JOIN_ROWS, false, 0);
	for (uint32_t algorithm = PP_CUDA_JOIN_LFTJ; algorithm <= PP_CUDA_JOIN_OPTIMIZED; algorithm++)
	{
		uint64_t	launches[2];
		uint64_t	bytes[2];

		unit_case("a limit of 10, %s", algorithm_name[algorithm]);
		configure(0);
		for (uint32_t all = 0; all < 2; all++)
		{
			UnitHeap	heap = {};
			const PpAlloc alloc = unit_heap_alloc(&heap);
			std::vector<int64_t> rows;
			PpCudaJoinInfo info;
			PpCudaJoin *join;
			PpJoinStatus status;

			status = joins->build(&c.query, nullptr, (PpCudaJoinAlgorithm) algorithm, &alloc, BUDGET, &join);
			EXPECT(status == PP_JOIN_OK, "status %d", (int) status);
			if (status == PP_JOIN_OK)
				status = take_rows(&c.query, join, 10, all ? c.n : 0, &rows);
			EXPECT(status == PP_JOIN_OK && rows.size() / c.width == (all ? c.n : 10), "%zu rows",
				   rows.size() / c.width);
			joins->info(join, &info);
			launches[all] = info.launches;
			bytes[all] = info.d2h_bytes;
			joins->free(join);
		}
		EXPECT(launches[0] < launches[1] && bytes[0] * 4 < bytes[1], "%" PRIu64 " and %" PRIu64 " launches, %"
			   PRIu64 " and %" PRIu64 " bytes", launches[0], launches[1], bytes[0], bytes[1]);
	}
	drop_case(&c);
}

/* Relations that are on the device already, some or all. */
void
test_resident(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_RESIDENT, i);
		PpCudaRelation *resident[MAX_RELATIONS] = {};
		PpJoinRelation relations[MAX_RELATIONS];
		Case		c;

		unit_case("resident %" PRIu64, i);
		configure((uint32_t) i);
		make_case(&c, &r);
		memcpy(relations, c.relations, sizeof(relations));
		for (uint32_t k = 0; k < c.query.nrelations; k++)
			if (!unit_once_in(&r, 3))
			{
				uint64_t	at = unit_below(&r, (uint32_t) relations[k].nrows + 1);

				resident[k] = joins->relation_open();
				EXPECT(resident[k] != nullptr &&
					   joins->relation_append(resident[k], relations[k].pairs, at) &&
					   joins->relation_append(resident[k], relations[k].pairs + 2 * at, relations[k].nrows - at),
					   "not there: %s", library->error());
				c.relations[k].pairs = nullptr;
				c.relations[k].nrows = 0;
			}
		for (uint32_t m = 0; set_mode(&c, m) && m < 5; m++)
		{
			UnitHeap	heap = {};
			Manner		how;
			Outcome		out;

			if (c.query.row_numbers)
				continue;
			how.resident = resident;
			how.algorithm = (PpCudaJoinAlgorithm) unit_below(&r, PP_CUDA_JOIN_PAIRWISE);
			out = run(&c, how, &heap);
			EXPECT(out.status == PP_JOIN_OK, "mode %u: status %d: %s", m, (int) out.status, library->error());
		}
		for (PpCudaRelation *relation : resident)
			joins->relation_close(relation);
		memcpy(c.relations, relations, sizeof(relations));
		drop_case(&c);
	}
}

/* A library that is stopped while joins are there; queries that are none. */
void
test_states(void)
{
	UnitRandom	r = unit_random(T_LIMIT, 1);
	Case		c;

	make_case(&c, &r);
	configure(0);
	for (uint32_t m = 0; m < 5; m++)
	{
		UnitHeap	heap = {};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		PpCudaJoin *join;
		PpCudaJoin *other;
		PpCudaJoinInfo info;
		int64_t		keys[PP_JOIN_MAX_VARIABLES];
		PpCount		counts[1];
		size_t		n = 1;

		unit_case("stopped in mode %u", m);
		(void) set_mode(&c, m);
		EXPECT(joins->build(&c.query, nullptr, PP_CUDA_JOIN_AUTO, &alloc, BUDGET, &join) == PP_JOIN_OK &&
			   joins->build(&c.query, nullptr, PP_CUDA_JOIN_LFTJ, &alloc, BUDGET, &other) == PP_JOIN_OK,
			   "not built");
		if (c.query.mode == PP_JOIN_ROWS)
			EXPECT(joins->rows(join, keys, nullptr, 1, &n) == PP_JOIN_OK, "no row");
		EXPECT(joins->count(join, counts) == (c.query.mode == PP_JOIN_COUNT ? PP_JOIN_OK : PP_JOIN_INVALID) &&
			   (c.query.mode == PP_JOIN_GROUPS || joins->groups(join, keys, counts, 1, &n) == PP_JOIN_INVALID),
			   "another mode");
		joins->free(other);
		library->stop();
		EXPECT(simt_memory().device_blocks == 0 && simt_memory().streams == 0 && simt_memory().events == 0,
			   "something is left");
		EXPECT(joins->count(join, counts) == PP_JOIN_DEVICE_FAILED, "goes on");
		joins->info(join, &info);
		joins->free(join);
		EXPECT(heap.live_blocks == 0, "memory is left");
		EXPECT(joins->build(&c.query, nullptr, PP_CUDA_JOIN_AUTO, &alloc, BUDGET, &join) == PP_JOIN_DEVICE_FAILED &&
			   join == nullptr && library->failure() == PP_CUDA_NO_DEVICE, "built without a device");
		start();
	}
	for (uint32_t i = 0; i < 4; i++)
	{
		UnitHeap	heap = {};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		PpJoinQuery q = c.query;
		PpCudaJoin *join = nullptr;

		unit_case("a query that is none: %u", i);
		switch (i)
		{
			case 0: q.nvariables = 0; break;
			case 1: q.natoms = PP_JOIN_MAX_ATOMS + 1; break;
			case 2: q.mode = PP_JOIN_MODES; break;
			case 3: q.nkeys = 3; break;
		}
		EXPECT(joins->build(&q, nullptr, PP_CUDA_JOIN_AUTO, &alloc, BUDGET, &join) == PP_JOIN_INVALID &&
			   join == nullptr && heap.calls == 0, "built");
	}
	joins->free(nullptr);
	drop_case(&c);
}

}								/* namespace */

int
main(int argc, char **argv)
{
	begin(argc, argv, "join");
	test_queries(unit_iterations(150));
	test_large(unit_iterations(8));
	test_budgets();
	test_failures(unit_iterations(6));
	test_cancel(unit_iterations(8));
	test_overflow();
	if (!is_little())
		test_limit();
	test_resident(unit_iterations(20));
	test_states();
	return end();
}
