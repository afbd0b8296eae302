/*
 * test/cuda/join_boxes_test.cpp
 *	  Joins of the device library that are larger than its memory: the answer, in
 *	  boxes, or as a whole by what takes less; that of cliques only boxes in order are
 *	  joined; that rows arrive while the device computes; failing and cancelling them.
 */
#include <map>

#include "join_check.h"

namespace
{

enum
{
	T_MEMORY = 1,
	T_OVERLAP,
	T_FAILURES,
	T_CANCEL,
	T_CLIQUES
};

/* Questions whether to go on since something was enqueued. */
struct Quiet
{
	uint64_t	since;
	uint64_t	yes_at;
	bool		said;
};

bool
ask_quietly(void *ctx)
{
	Quiet	   *quiet = static_cast<Quiet *>(ctx);

	quiet->said |= ++quiet->since >= quiet->yes_at;
	return quiet->said;
}

void
watch_quiet(const SimtOp *, void *ctx)
{
	static_cast<Quiet *>(ctx)->since = 0;
}

/* With less and less of the device's memory the answer stays, in boxes. */
void
test_boxes(uint64_t n)
{
	uint64_t	in_boxes[PP_JOIN_MODES] = {};

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_MEMORY, i);
		const Shape shape = (Shape) (i % SHAPES);
		const uint32_t mode = (uint32_t) (i + i / SHAPES) % 4;
		uint64_t	limit = 0;
		uint64_t	rows = 0;
		bool		fits = true;
		Case		c;

		unit_case("boxes %" PRIu64 ": the answer", i);
		make_large(&c, &r, shape, shape == KITE ? 1500 : 4000, shape == KITE ? 450 : shape == CLIQUES ? 400 : 1000);
		answer_large(&c);
		set_large_mode(&c, mode == 0 ? PP_JOIN_COUNT : mode == 1 ? PP_JOIN_GROUPS : PP_JOIN_ROWS, mode == 3,
					   unit_below(&r, c.query.nvariables));
		for (const PpJoinRelation &relation : c.relations)
			rows += relation.nrows;
		for (uint32_t k = 0; k < (is_little() ? 3 : 6) && fits; k++)
		{
			UnitHeap	heap = {};
			PpCudaStats stats;
			Manner		how;
			Outcome		out;

			library->stop();
			unit_case("boxes %" PRIu64 ", mode %u: %" PRIu64 " bytes", i, mode, limit);
			start(limit == 0 ? UINT64_MAX : limit);
			/* others take what there is, and what is for cliques does with less */
			how.algorithm = shape == CLIQUES || k % 2 == 0 ? PP_CUDA_JOIN_LFTJ : PP_CUDA_JOIN_AUTO;
			how.capacity = 3000;
			how.again = k == 2;
			configure(k);
			out = run(&c, how, &heap);
			EXPECT(out.status == PP_JOIN_OK || (out.status == PP_JOIN_NO_FIT && k > (shape != CLIQUES)),
				   "status %d: %s",
				   (int) out.status, library->error());
			library->stats(nullptr, &stats);
			EXPECT(limit == 0 || stats.peak_device_bytes <= limit, "%" PRIu64 " bytes", stats.peak_device_bytes);
			EXPECT(limit > 0 || out.info.nboxes == 1, "in boxes");
			EXPECT(out.info.peak_device_bytes <= stats.peak_device_bytes &&
				   (out.info.peak_device_bytes > 0) == (out.info.nboxes > 0), "says %" PRIu64 " bytes",
				   out.info.peak_device_bytes);
			in_boxes[c.query.mode] += out.status == PP_JOIN_OK && out.info.nboxes > 1;
			/* with still less they are many, and alike */
			fits = out.status == PP_JOIN_OK && out.info.nboxes < 8;
			limit = limit == 0 ? std::min(stats.peak_device_bytes / 4 * 3, rows * 120) : limit / 3 * 2;
		}
		drop_case(&c);
	}
	unit_case("what the memory was for");
	library->stop();
	start();
	for (uint32_t m = 0; m < PP_JOIN_MODES && n >= 16; m++)
		EXPECT(in_boxes[m] > 0, "mode %u was never in boxes", m);
}

/* Which way edges lead in a clique's relation. */
enum Edges
{
	BOTH_WAYS,
	LOOPS,						/* both ways, and loops */
	OTHERS,						/* as many up as down, but not the same */
	ORDERED,					/* both ways, but comparisons order the variables */
	UPWARDS,
	DOWNWARDS,
	TWICE,						/* both ways, some of them two or three times */
	LOOPS_APART,				/* both ways, and loops, where variables have to differ */
	EDGES
};

/* A clique of k variables of one relation; no answer yet. */
void
make_clique(Case *c, UnitRandom *r, uint32_t k, Edges edges, uint32_t nrows, uint32_t domain)
{
	const bool	one_way = edges == UPWARDS || edges == DOWNWARDS;
	std::set<std::pair<uint32_t, uint32_t>> seen;
	const uint32_t style = edges == OTHERS ? 0 : unit_below(r, 3);
	int64_t    *pair;

	memset(c, 0, sizeof(*c));
	c->query.nrelations = 1;
	c->query.nvariables = k;
	for (uint32_t x = 0; x < k; x++)
		for (uint32_t y = x + 1; y < k; y++)
		{
			const bool	down = !one_way && unit_once_in(r, 2);

			c->atoms[c->query.natoms++] = {0, {down ? y : x, down ? x : y}};
			if (edges == LOOPS_APART)
				c->residuals[c->query.nresiduals++] = {PP_JOIN_NE, x, y};
		}
	for (uint32_t x = 0; x + 1 < k && edges == ORDERED; x++)
		c->residuals[c->query.nresiduals++] = {PP_JOIN_LT, x, x + 1};
	c->pairs[0] = pair = static_cast<int64_t *>(unit_malloc((size_t) nrows * 12 * sizeof(int64_t)));
	for (uint32_t i = 0; i < nrows; i++)
	{
		const uint32_t x = unit_below(r, 1 + unit_below(r, domain));
		const uint32_t y = unit_below(r, domain);
		const int64_t less = std::min(make_key(style, x), make_key(style, y));
		const int64_t more = std::max(make_key(style, x), make_key(style, y));
		const uint32_t times = edges == TWICE ? 1 + unit_below(r, 30) / 14 : 1;

		if ((x == y && edges != LOOPS && edges != LOOPS_APART) ||
			!seen.insert({std::min(x, y), std::max(x, y)}).second)
			continue;
		/* a few without their reverse, and as many reverses of others nearby */
		const bool	apart = edges == OTHERS && seen.size() < 6 &&
			seen.insert({std::min(x, y ^ 1), std::max(x, y ^ 1)}).second && x != (y ^ 1);

		for (uint32_t t = 0; t < times; t++)
		{
			if (edges != DOWNWARDS)
			{
				*pair++ = less;
				*pair++ = more;
			}
			if (edges != UPWARDS && x != y && !apart)
			{
				*pair++ = more;
				*pair++ = less;
			}
			if (apart)
			{
				*pair++ = std::max(make_key(style, x), make_key(style, y ^ 1));
				*pair++ = std::min(make_key(style, x), make_key(style, y ^ 1));
			}
		}
	}
	c->relations[0] = {c->pairs[0], (uint64_t) (pair - c->pairs[0]) / 2};
	set_arrays(c);
}

/* Cliques in boxes whose keys are in order, where edges lead one way or can be made to. */
void
test_cliques(uint64_t n)
{
	uint64_t	boxes[2] = {};
	uint32_t	largest = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_CLIQUES, i);
		const Edges edges = (Edges) (i % EDGES);
		const bool	any_mode = edges == ORDERED || edges == UPWARDS || edges == DOWNWARDS;
		const bool	in_order = edges != LOOPS && edges != OTHERS;
		const uint32_t k = i / EDGES % 4 < 3 || !in_order ? 3 : 4;
		const PpJoinMode mode = (PpJoinMode) (any_mode ? i / EDGES % 3 : 0);
		uint64_t	rows;
		UnitHeap	heap = {};
		Manner		how;
		Outcome		out;
		Case		c;

		unit_case("cliques %" PRIu64 ": the answer", i);
		make_clique(&c, &r, k, edges, k == 3 ? 3000 : 4000, k == 3 ? 400 : 600);
		answer_large(&c);
		set_large_mode(&c, mode, unit_once_in(&r, 2), unit_below(&r, k));
		library->stop();
		/* half of what comes both ways is joined */
		rows = c.relations[0].nrows / (in_order && edges != UPWARDS && edges != DOWNWARDS ? 2 : 1);
		start(mode == PP_JOIN_ROWS ? 28000 + rows * 32 : i < EDGES && k == 3 ? 24000 + rows * 10 : 28000 + rows * 20);
		configure((uint32_t) i);
		how.algorithm = i % 2 == 0 ? PP_CUDA_JOIN_LFTJ : PP_CUDA_JOIN_AUTO;
		how.capacity = 5000;
		unit_case("cliques of %u, edges %u, mode %u", k, (uint32_t) edges, (uint32_t) mode);
		out = run(&c, how, &heap);
		EXPECT(out.status == PP_JOIN_OK, "status %d: %s", (int) out.status, library->error());
		if (in_order)
			boxes[k - 3] += out.info.nboxes > 1;
		if (in_order && k == 4)
			largest = std::max(largest, out.info.nboxes);
		drop_case(&c);
	}
	unit_case("boxes in order");
	EXPECT(n < 32 || (boxes[0] > 10 && boxes[1] > 3 && largest < 100), "%" PRIu64 " triangles, %" PRIu64
		   " of four, in up to %u boxes", boxes[0], boxes[1], largest);
	library->stop();
	start();
}

/* What does not fit by degree is joined as a whole where that takes less memory. */
void
test_auto(void)
{
	UnitRandom	r = unit_random(T_CLIQUES, 1003);
	uint64_t	limit = UINT64_MAX;
	bool		met = false;
	Case		c;

	unit_case("by what fits: the answer");
	make_clique(&c, &r, 3, BOTH_WAYS, 3000, 400);
	answer_large(&c);
	set_large_mode(&c, PP_JOIN_GROUPS, false, 0);
	configure(0);
	for (uint32_t step = 0; step < 8 && !met; step++)
	{
		UnitHeap	heap = {};
		PpCudaStats stats;
		Manner		how;
		Outcome		out;

		library->stop();
		start(limit);
		unit_case("by what fits, %" PRIu64 " bytes", limit);
		out = run(&c, how, &heap);
		library->stats(nullptr, &stats);
		met = out.info.algorithm != PP_CUDA_JOIN_DEGREE;
		EXPECT(out.status == PP_JOIN_OK && out.info.nboxes == 1, "status %d: %s, %u boxes", (int) out.status,
			   library->error(), out.info.nboxes);
		EXPECT(out.info.declined == (met ? PP_CUDA_DECLINED_MEMORY : PP_CUDA_DECLINED_NOT), "declined %d",
			   (int) out.info.declined);
		limit = stats.peak_device_bytes - stats.peak_device_bytes / 16;
	}
	EXPECT(met, "always by degree");
	drop_case(&c);
	library->stop();
	start();
}

/* What a join in boxes had on the device at the same time. */
struct Overlap
{
	std::map<uint64_t, uint64_t> kernels;	/* enqueued and not done: their streams */
	std::set<uint64_t> computing;	/* streams that have kernels */
	std::map<uint64_t, uint64_t> beside;	/* bytes copied to the device while an earlier
											 * kernel of another stream was not done, by
											 * stream */
	std::map<uint64_t, uint64_t> copied;	/* all bytes */
};

void
watch_overlap(const SimtOp *op, void *ctx)
{
	Overlap    *o = static_cast<Overlap *>(ctx);

	if (op->kernel != nullptr && !op->done)
	{
		o->computing.insert(op->stream);
		o->kernels[op->number] = op->stream;
	}
	else if (op->kernel != nullptr)
		o->kernels.erase(op->number);
	else if (op->to_device > 0 && op->done)
	{
		o->copied[op->stream] += op->to_device;
		for (const auto &kernel : o->kernels)
			if (kernel.first < op->number && kernel.second != op->stream)
			{
				o->beside[op->stream] += op->to_device;
				break;
			}
	}
}

/*
 * Rows of the next box arrive while kernels of the one before are not done: on a stream
 * of their own, enqueued behind these kernels and not ordered behind them.
 */
void
test_overlap(uint64_t n)
{
	uint64_t	all = 0;
	uint64_t	copied = 0;
	uint64_t	beside = 0;

	for (uint64_t i = 0; i < n && simt_present(); i++)
	{
		UnitRandom	r = unit_random(T_OVERLAP, i);
		SimtConfig	config = {};
		UnitHeap	heap = {};
		Manner		how;
		Outcome		out;
		Overlap		seen;
		Case		c;

		unit_case("overlap %" PRIu64 ": the answer", i);
		make_large(&c, &r, i % 2 == 0 ? TRIANGLES : APART, 4000, 1000);
		answer_large(&c);
		set_large_mode(&c, (PpJoinMode) (i % 3), i % 2 == 0, unit_below(&r, c.query.nvariables));
		library->stop();
		start(120000 + 20000 * (i % 5));
		config.seed = 1 + (uint32_t) i;
		config.slow = true;
		simt_configure(&config);
		how.algorithm = i % 4 < 3 || i % 3 == 2 ? PP_CUDA_JOIN_LFTJ : PP_CUDA_JOIN_OPTIMIZED;
		how.capacity = 5000;
		unit_case("overlap %" PRIu64, i);
		simt_watch(watch_overlap, &seen);
		out = run(&c, how, &heap);
		simt_watch(nullptr, nullptr);
		EXPECT(out.status == PP_JOIN_OK && out.info.nboxes > 2, "status %d: %s, %u boxes", (int) out.status,
			   library->error(), out.info.nboxes);
		for (const auto &stream : seen.copied)
			if (seen.computing.count(stream.first) == 0)
			{
				copied += stream.second;
				beside += seen.beside[stream.first];
			}
		all += out.info.h2d_bytes;
		drop_case(&c);
	}
	/* a host and a device that are as fast as they are here meet that rarely */
	unit_case("overlap");
	EXPECT(!simt_present() || (copied * 6 >= all && beside * 20 >= copied), "of %" PRIu64 " bytes to the device %"
		   PRIu64 " came by streams without kernels, %" PRIu64 " of them beside kernels", all, copied, beside);
	library->stop();
	start();
}

/* Groups are put together behind the last box: cancelled then, too. */
void
test_many_groups(void)
{
	UnitRandom	r = unit_random(T_OVERLAP, 1000);
	const uint32_t nrows = 200000;
	std::vector<int64_t> pairs(2 * nrows);
	const PpJoinRelation relation = {pairs.data(), nrows};
	const PpJoinAtom atom = {0, {0, 1}};
	Quiet		quiet = {};
	PpJoinQuery q = {};

	if (!simt_present())
		return;
	for (uint32_t i = 0; i < nrows; i++)
	{
		/* far apart, some of them negative, each in two boxes at most */
		pairs[2 * i] = (int64_t) (i / 2 * UINT64_C(0x9e3779b97f4a7c15));
		pairs[2 * i + 1] = unit_below(&r, 1000000);
	}
	q.nvariables = 2;
	q.natoms = 1;
	q.nrelations = 1;
	q.atoms = &atom;
	q.relations = &relation;
	q.simd = PP_SIMD_LEVELS;
	q.mode = PP_JOIN_GROUPS;
	q.cancelled = ask_quietly;
	q.cancel_ctx = &quiet;
	configure(0);
	for (uint32_t k = 0; k < 2; k++)
	{
		UnitHeap	heap = {};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		std::vector<int64_t> keys(1000);
		std::vector<PpCount> counts(1000);
		std::set<int64_t> seen;
		PpCudaJoin *join = nullptr;
		PpCudaJoinInfo info = {};
		PpJoinStatus status;
		size_t		n = 0;

		library->stop();
		start(nrows * 40);
		/* the second time, cancelled when nothing happens on the device any more */
		unit_case("many groups, %s", k == 0 ? "counted" : "cancelled at the end");
		quiet.yes_at = k == 0 ? UINT64_MAX : quiet.since;
		quiet.since = 0;
		simt_watch(watch_quiet, &quiet);
		status = joins->build(&q, nullptr, PP_CUDA_JOIN_LFTJ, &alloc, BUDGET, &join);
		do
		{
			n = 0;
			if (status == PP_JOIN_OK)
				status = joins->groups(join, keys.data(), counts.data(), 1000, &n);
			for (size_t i = 0; i < n; i++)
				EXPECT(seen.insert(keys[i]).second && counts[i].low == 2 && counts[i].high == 0, "key %" PRId64, keys[i]);
		} while (n > 0);
		simt_watch(nullptr, nullptr);
		if (join != nullptr)
			joins->info(join, &info);
		joins->free(join);
		if (k == 0)
			EXPECT(status == PP_JOIN_OK && seen.size() == nrows / 2 && info.nboxes > 1, "status %d: %s, %zu groups, %u boxes",
				   (int) status, library->error(), seen.size(), info.nboxes);
		/* some questions take a millisecond each */
		EXPECT(k == 0 ? quiet.since > 1 : status == (quiet.said ? PP_JOIN_CANCELLED : PP_JOIN_OK),
			   "asked %" PRIu64 " times at the end, status %d", quiet.since, (int) status);
		EXPECT(heap.live_blocks == 0, "%zu blocks are left", heap.live_blocks);
		check_nothing_used();
	}
	library->stop();
	start();
}

/* ---------- failures ---------- */

/* Anything may fail while boxes are joined and sent. */
void
test_failing_boxes(uint64_t n)
{
	static const char *const name[] = {"allocation", "copy", "launch", "execution"};
	const uint64_t limit = 40000;

	for (uint64_t i = 0; i < n && simt_present(); i++)
	{
		UnitRandom	r = unit_random(T_FAILURES, 1000 + i);
		Case		c;

		if (i % 6 == 3)
			make_clique(&c, &r, 3, BOTH_WAYS, 1800, 300);
		else
			make_large(&c, &r, TRIANGLES, 600, 200);
		unit_case("failures in boxes %" PRIu64 ": the answer", i);
		answer_large(&c);
		set_large_mode(&c, (PpJoinMode) (i % 3), true, 1);
		configure((uint32_t) i);
		for (uint32_t kind = 0; kind < SIMT_CALLS; kind++)
		{
			library->stop();
			start(limit);
			for (uint64_t nth = 1 + unit_below(&r, 8); nth < 4000; nth += 3 + nth / 4)
			{
				unit_case("in boxes: %s %" PRIu64 " fails, mode %d", name[kind], nth, (int) c.query.mode);
				if (!fail_once(&c, PP_CUDA_JOIN_LFTJ, (SimtCall) kind, nth, limit))
					break;
			}
		}
		for (uint64_t nth = 1; nth < 4000; nth += 1 + nth / 8)
		{
			UnitHeap	heap = {};
			Manner		how;
			Outcome		out;

			unit_case("in boxes: allocation %" PRIu64 " of the host fails, mode %d", nth, (int) c.query.mode);
			heap.fail_at = nth;
			how.algorithm = PP_CUDA_JOIN_LFTJ;
			out = run(&c, how, &heap);
			EXPECT(out.status == (heap.failed ? PP_JOIN_NO_MEMORY : PP_JOIN_OK), "status %d", (int) out.status);
			if (!heap.failed)
				break;
		}
		drop_case(&c);
	}
	library->stop();
	start();
}

/* ---------- cancelling ---------- */

/* Cancelled anywhere, or never. */
void
test_cancel(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_CANCEL, i);
		Asked		asked = {0, UINT64_MAX};
		uint64_t	times = 0;
		Case		c;

		library->stop();
		start(80000);
		make_large(&c, &r, TRIANGLES, 1200, 300);
		unit_case("cancelling boxes %" PRIu64 ": the answer", i);
		answer_large(&c);
		set_large_mode(&c, (PpJoinMode) (i % 3), i % 2 == 0, 0);
		c.query.cancelled = cancelled;
		c.query.cancel_ctx = &asked;
		configure((uint32_t) i);
		for (uint64_t k = 0; k < 6; k++)
		{
			UnitHeap	heap = {};
			Manner		how;
			Outcome		out;

			asked.yes_at = k == 0 ? UINT64_MAX : 1 + times * (k - 1) / 5;
			asked.times = 0;
			how.algorithm = i % 4 < 2 ? PP_CUDA_JOIN_LFTJ : PP_CUDA_JOIN_OPTIMIZED;
			unit_case("boxes cancelled at %" PRIu64 " of %" PRIu64 ", mode %d", asked.yes_at, times,
					  (int) c.query.mode);
			out = run(&c, how, &heap);
			if (k == 0)
				times = asked.times;
			/* how often it is asked depends on time */
			EXPECT(out.status == (asked.times >= asked.yes_at ? PP_JOIN_CANCELLED : PP_JOIN_OK), "status %d",
				   (int) out.status);
			EXPECT(k > 0 || out.info.nboxes > 2, "%u boxes", out.info.nboxes);
			check_nothing_used();
		}
		drop_case(&c);
	}
	library->stop();
	start();
}

/* A library that is stopped while a box is joined and rows of the next one are sent. */
void
test_stop(void)
{
	UnitRandom	r = unit_random(T_CANCEL, 1000);
	SimtConfig	config = {};
	Case		c;

	unit_case("stopped: the answer");
	make_large(&c, &r, TRIANGLES, 4000, 1000);
	answer_large(&c);
	set_large_mode(&c, PP_JOIN_ROWS, true, 0);
	config.seed = 1;
	config.slow = true;
	for (uint32_t k = 1; k < 4 && simt_present(); k++)
	{
		UnitHeap	heap = {};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		std::vector<int64_t> keys(20 * PP_JOIN_MAX_VARIABLES);
		std::vector<uint32_t> rows(20 * PP_JOIN_MAX_ATOMS);
		PpCudaJoin *join = nullptr;
		PpCudaJoinInfo info = {};
		PpJoinStatus status;
		size_t		n = 0;

		library->stop();
		start(160000);
		simt_configure(&config);
		unit_case("stopped after %u rows", 20 * k);
		status = joins->build(&c.query, nullptr, PP_CUDA_JOIN_LFTJ, &alloc, BUDGET, &join);
		for (uint32_t i = 0; i < k && status == PP_JOIN_OK; i++)
			status = joins->rows(join, keys.data(), rows.data(), 20, &n);
		EXPECT(status == PP_JOIN_OK && n == 20, "status %d, %zu rows", (int) status, n);
		library->stop();
		EXPECT(simt_memory().device_blocks == 0 && simt_memory().pinned_blocks == 0 &&
			   simt_memory().streams == 0 && simt_memory().events == 0, "something is left");
		if (join != nullptr)
		{
			joins->info(join, &info);
			EXPECT(info.nboxes > 0 && joins->rows(join, keys.data(), rows.data(), 20, &n) == PP_JOIN_DEVICE_FAILED,
				   "goes on");
		}
		joins->free(join);
		EXPECT(heap.live_blocks == 0, "memory is left");
	}
	drop_case(&c);
	start();
}

}								/* namespace */

int
main(int argc, char **argv)
{
	begin(argc, argv, "join_boxes");
	test_boxes(unit_iterations(16));
	test_cliques(unit_iterations(32));
	if (!is_little())
		test_auto();
	test_overlap(4 + unit_iterations(8));
	if (!is_little())
		test_many_groups();
	test_failing_boxes(unit_iterations(6));
	test_cancel(unit_iterations(12));
	test_stop();
	return end();
}
