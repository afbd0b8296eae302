/*
 * test/cuda/join_test.cpp
 *	  Joins of the device library through its table: random queries in every mode
 *	  and by every algorithm against nested loops, larger ones against the CPU's
 *	  engine; memory that does not suffice, failures anywhere, cancelling, stopping.
 */
#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

extern "C"
{
#include "../unit/trie_case.h"
#include "../unit/trie_query.h"
#include "../unit/unit.h"
}
#include "../../cuda/library.h"
#include "control.h"

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

constexpr size_t BUDGET = (size_t) 1 << 30;

const char *const algorithm_name[] = {"auto", "lftj", "optimized", "degree", "pairwise"};

const PpCudaLibrary *library;
const PpCudaJoinTable *joins;

bool
start(uint64_t max_bytes = UINT64_MAX)
{
	PpCudaConfig config = {sizeof(config), 0, max_bytes};
	PpCudaDevice device;
	const char *message = nullptr;
	const bool	ok = library->start(&config, &device, &message);

	EXPECT(ok, "not started: %s", message == nullptr ? "" : message);
	return ok;
}

void
configure(uint32_t seed)
{
	SimtConfig	config = {};

	config.seed = seed;
	config.resident = seed == 0 ? 0 : 1 + seed % 7;
	simt_configure(&config);
}

/* A few cases are enough, as where races are looked for. */
bool
is_little(void)
{
	return unit_iterations(100) < 5;
}

struct Outcome
{
	PpJoinStatus status = PP_JOIN_OK;
	PpCudaJoinInfo info = {};
	std::vector<int64_t> rows;	/* as they came */
};

/* How a join is to be run. */
struct Manner
{
	PpCudaJoinAlgorithm algorithm = PP_CUDA_JOIN_AUTO;
	PpCudaRelation *const *resident = nullptr;
	size_t		budget = BUDGET;
	size_t		capacity = 100;
	bool		again = false;	/* a second time, after rewinding */
};

PpJoinStatus
check_count(const Case *c, PpCudaJoin *join)
{
	PpCount		count = {1, 1};
	PpJoinStatus status = joins->count(join, &count);

	if (status == PP_JOIN_OK)
		EXPECT(count.low == c->n && count.high == 0, "%" PRIu64 " counted, not %" PRIu64, count.low, c->n);
	return status;
}

PpJoinStatus
check_groups(const Case *c, PpCudaJoin *join, size_t capacity)
{
	std::vector<int64_t> keys(capacity);
	std::vector<PpCount> counts(capacity);
	std::vector<int64_t> seen;
	PpJoinStatus status;
	uint64_t	total = 0;
	size_t		n = 0;

	do
	{
		status = joins->groups(join, keys.data(), counts.data(), capacity, &n);
		EXPECT(n <= capacity && (status == PP_JOIN_OK || n == 0), "%zu groups, status %d", n, (int) status);
		for (size_t i = 0; i < n && status == PP_JOIN_OK; i++)
		{
			uint64_t	want = 0;

			for (uint64_t t = 0; t < c->n; t++)
				want += c->tuples[t * c->width + c->query.group] == keys[i];
			EXPECT(want > 0 && counts[i].low == want && counts[i].high == 0,
				   "key %" PRId64 ": %" PRIu64 ", not %" PRIu64, keys[i], counts[i].low, want);
			EXPECT(std::find(seen.begin(), seen.end(), keys[i]) == seen.end(), "key %" PRId64 " again", keys[i]);
			seen.push_back(keys[i]);
			total += want;
		}
	} while (n > 0 && status == PP_JOIN_OK);
	if (status == PP_JOIN_OK)
		EXPECT(total == c->n, "%" PRIu64 " in groups, not %" PRIu64, total, c->n);
	return status;
}

/* Rows one after another: variables' keys, then atoms' rows, 0 if not asked for. */
PpJoinStatus
take_rows(const PpJoinQuery *q, PpCudaJoin *join, size_t capacity, uint64_t most, std::vector<int64_t> *out)
{
	std::vector<int64_t> keys(capacity * q->nvariables);
	std::vector<uint32_t> rows(capacity * q->natoms);
	const size_t width = q->nvariables + q->natoms;
	PpJoinStatus status;
	size_t		n = 0;

	do
	{
		status = joins->rows(join, keys.data(), q->row_numbers ? rows.data() : nullptr, capacity, &n);
		EXPECT(n <= capacity && (status == PP_JOIN_OK || n == 0 || q->mode == PP_JOIN_ROWS), "%zu rows", n);
		for (size_t i = 0; i < n && status == PP_JOIN_OK; i++)
		{
			for (uint32_t v = 0; v < q->nvariables; v++)
				out->push_back(keys[v * capacity + i]);
			for (uint32_t a = 0; a < q->natoms; a++)
				out->push_back(q->row_numbers ? rows[a * capacity + i] : 0);
		}
	} while (n > 0 && status == PP_JOIN_OK && out->size() <= most * width);
	return status;
}

/* Rows in order, of which the first so many numbers count. */
std::vector<std::vector<int64_t>>
sorted(const std::vector<int64_t> &rows, size_t width, size_t used)
{
	std::vector<std::vector<int64_t>> v;

	for (size_t at = 0; at < rows.size(); at += width)
		v.emplace_back(rows.begin() + at, rows.begin() + at + used);
	std::sort(v.begin(), v.end());
	return v;
}

PpJoinStatus
check_rows(const Case *c, PpCudaJoin *join, size_t capacity, std::vector<int64_t> *rows)
{
	const size_t used = c->query.row_numbers ? c->width : c->query.nvariables;
	const std::vector<int64_t> want(c->tuples, c->tuples + c->n * c->width);
	PpJoinStatus status;

	rows->clear();
	status = take_rows(&c->query, join, capacity, c->n, rows);
	if (status == PP_JOIN_OK)
		EXPECT(sorted(*rows, c->width, used) == sorted(want, c->width, used),
			   "%zu rows, or others, instead of %" PRIu64, rows->size() / c->width, c->n);
	return status;
}

PpJoinStatus
check_answer(const Case *c, PpCudaJoin *join, const Manner &how, Outcome *out)
{
	switch (c->query.mode)
	{
		case PP_JOIN_COUNT:
			return check_count(c, join);
		case PP_JOIN_GROUPS:
			return check_groups(c, join, how.capacity);
		default:
			return check_rows(c, join, how.capacity, &out->rows);
	}
}

/* Builds, asks, compares, frees; what is left is a fact of the case. */
Outcome
run(const Case *c, const Manner &how, UnitHeap *heap)
{
	const PpAlloc alloc = unit_heap_alloc(heap);
	PpCudaJoin *join = nullptr;
	Outcome		out;

	out.status = joins->build(&c->query, how.resident, how.algorithm, &alloc, how.budget, &join);
	EXPECT((out.status == PP_JOIN_OK) == (join != nullptr), "status %d", (int) out.status);
	if (join != nullptr)
	{
		out.status = check_answer(c, join, how, &out);
		if (how.again && out.status == PP_JOIN_OK)
		{
			Outcome		second;

			joins->rewind(join);
			out.status = check_answer(c, join, how, &second);
			joins->info(join, &out.info);
			/* boxes may have become smaller */
			EXPECT(out.status != PP_JOIN_OK || out.info.nboxes > 1 || second.rows == out.rows,
				   "other rows the second time");
		}
		joins->info(join, &out.info);
		if (out.status == PP_JOIN_OK)
		{
			EXPECT(out.info.algorithm > PP_CUDA_JOIN_AUTO && out.info.algorithm < PP_CUDA_JOIN_ALGORITHMS,
				   "algorithm %d", (int) out.info.algorithm);
			EXPECT(out.info.host_bytes == heap->live_bytes && out.info.host_peak_bytes <= how.budget,
				   "says %zu bytes, not %zu", out.info.host_bytes, heap->live_bytes);
			EXPECT(out.info.nboxes > 0 && out.info.dictionary != nullptr, "info");
		}
		else
		{
			PpCount		count;
			size_t		n;
			int64_t		key[PP_JOIN_MAX_VARIABLES];

			/* it can only be freed */
			EXPECT(joins->count(join, &count) != PP_JOIN_OK &&
				   joins->groups(join, key, &count, 1, &n) != PP_JOIN_OK &&
				   joins->rows(join, key, nullptr, 1, &n) != PP_JOIN_OK, "goes on after status %d",
				   (int) out.status);
		}
	}
	joins->free(join);
	EXPECT(heap->live_blocks == 0, "%zu blocks are left", heap->live_blocks);
	EXPECT(heap->peak_bytes <= how.budget, "%zu bytes of %zu", heap->peak_bytes, how.budget);
	return out;
}

/* Is nothing of the device's held but blocks kept for later? */
void
check_nothing_used(void)
{
	PpCudaStats stats;

	library->stats(nullptr, &stats);
	EXPECT(simt_memory().streams == 0 && simt_memory().events == 0, "%" PRIu64 " streams, %" PRIu64 " events",
		   simt_memory().streams, simt_memory().events);
}

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

enum Shape
{
	TRIANGLES,					/* of three relations */
	CLIQUES,					/* of four, of one symmetric relation */
	KITE,						/* two triangles at an edge, a tail at one tip */
	APART,						/* a triangle and a path that share nothing */
	SHAPES
};

/* Rows of keys below domain, the lower ones more often; no answer yet. */
void
make_large(Case *c, UnitRandom *r, Shape shape, uint32_t nrows, uint32_t domain)
{
	static const uint8_t edges[SHAPES][6][3] = {
		{{0, 0, 1}, {1, 1, 2}, {2, 0, 2}},
		{{0, 0, 1}, {0, 0, 2}, {0, 0, 3}, {0, 1, 2}, {0, 1, 3}, {0, 2, 3}},
		{{0, 0, 1}, {1, 0, 2}, {1, 1, 2}, {0, 0, 3}, {0, 1, 3}, {2, 3, 4}},
		{{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {2, 3, 4}}
	};
	static const uint8_t natoms[SHAPES] = {3, 6, 6, 4};
	static const uint8_t nvariables[SHAPES] = {3, 4, 5, 5};
	const uint32_t style = unit_below(r, 3);

	memset(c, 0, sizeof(*c));
	c->query.nrelations = shape == CLIQUES ? 1 : 3;
	c->query.nvariables = nvariables[shape];
	c->query.natoms = natoms[shape];
	for (uint32_t a = 0; a < natoms[shape]; a++)
		c->atoms[a] = {edges[shape][a][0], {edges[shape][a][1], edges[shape][a][2]}};
	for (uint32_t i = 0; i < c->query.nrelations; i++)
	{
		/* what is combined with everything is small */
		const uint32_t n = shape == APART && i == 2 ? 10 : nrows;

		std::set<std::pair<uint32_t, uint32_t>> seen;

		c->pairs[i] = static_cast<int64_t *>(unit_malloc((size_t) n * 4 * sizeof(int64_t)));
		for (uint32_t k = 0; k < n; k++)
		{
			const uint32_t x = unit_below(r, 1 + unit_below(r, domain));
			const uint32_t y = unit_below(r, domain);
			int64_t    *pair = c->pairs[i] + 2 * c->relations[i].nrows;

			if (shape == CLIQUES && (x == y || !seen.insert({std::min(x, y), std::max(x, y)}).second))
				continue;
			pair[0] = pair[3] = make_key(style, x);
			pair[1] = pair[2] = make_key(style, y);
			c->relations[i].nrows += shape == CLIQUES ? 2 : 1;
		}
		c->relations[i].pairs = c->pairs[i];
	}
	c->query.atoms = c->atoms;
	c->query.residuals = c->residuals;
	c->query.relations = c->relations;
	c->query.simd = PP_SIMD_LEVELS;
	c->width = c->query.nvariables + c->query.natoms;
}

/* The answer as the CPU's engine has it. */
void
answer_large(Case *c)
{
	UnitHeap	heap = {};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	constexpr size_t capacity = 1000;
	std::vector<int64_t> keys(capacity * PP_JOIN_MAX_VARIABLES);
	std::vector<uint32_t> rows(capacity * PP_JOIN_MAX_ATOMS);
	std::vector<int64_t> tuples;
	PpJoin	   *join;
	PpJoinRun  *run;
	PpJoinStatus status;
	size_t		n;

	c->query.mode = PP_JOIN_ROWS;
	c->query.row_numbers = true;
	c->query.strategy = PP_JOIN_AUTO;
	status = pp_join_build(&c->query, &alloc, BUDGET, &join);
	EXPECT(status == PP_JOIN_OK, "the CPU's engine: %d", (int) status);
	status = pp_join_open(join, &alloc, BUDGET, 0, 1, &run);
	do
	{
		status = pp_join_rows(run, keys.data(), rows.data(), capacity, &n);
		for (size_t i = 0; i < n; i++)
		{
			for (uint32_t v = 0; v < c->query.nvariables; v++)
				tuples.push_back(keys[v * capacity + i]);
			for (uint32_t a = 0; a < c->query.natoms; a++)
				tuples.push_back(rows[a * capacity + i]);
		}
	} while (n > 0 && status == PP_JOIN_OK);
	EXPECT(status == PP_JOIN_OK, "the CPU's engine: %d", (int) status);
	pp_join_close(run);
	pp_join_free(join);
	c->n = tuples.size() / c->width;
	c->tuples = static_cast<int64_t *>(unit_malloc((tuples.size() + 1) * sizeof(int64_t)));
	if (!tuples.empty())
		memcpy(c->tuples, tuples.data(), tuples.size() * sizeof(int64_t));
}

void
set_large_mode(Case *c, PpJoinMode mode, bool row_numbers, uint32_t group)
{
	c->query.mode = mode;
	c->query.row_numbers = row_numbers;
	c->query.group = group;
}

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

/* Runs a query with call number nth of a kind failing, and what is left then. */
bool
fail_once(const Case *c, PpCudaJoinAlgorithm algorithm, SimtCall kind, uint64_t nth)
{
	UnitHeap	heap = {};
	Manner		how;
	Outcome		out;
	uint64_t	before;

	how.algorithm = algorithm;
	how.capacity = 50;
	simt_reset_counters();
	before = simt_calls(kind);
	simt_inject(kind, nth, false);
	out = run(c, how, &heap);
	simt_inject(kind, 0, false);
	if (simt_calls(kind) - before < nth)
	{
		EXPECT(out.status == PP_JOIN_OK, "status %d without a failure", (int) out.status);
		return false;
	}
	if (kind == SIMT_ALLOC)
		EXPECT(out.status == PP_JOIN_OK || out.status == PP_JOIN_NO_FIT, "status %d: %s", (int) out.status,
			   library->error());
	else
		EXPECT(out.status == PP_JOIN_DEVICE_FAILED && library->failure() == PP_CUDA_BROKEN &&
			   library->error()[0] != '\0', "status %d: %s", (int) out.status, library->error());
	EXPECT(simt_memory().streams == 0 && simt_memory().events == 0, "%" PRIu64 " streams, %" PRIu64 " events",
		   simt_memory().streams, simt_memory().events);
	library->stop();
	EXPECT(simt_memory().device_blocks == 0 && simt_memory().pinned_blocks == 0, "memory is left");
	simt_clear_reports();
	start();
	return true;
}

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
				if (!fail_once(&c, algorithm, (SimtCall) kind, nth))
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

struct Asked
{
	uint64_t	times;
	uint64_t	yes_at;
};

bool
cancelled(void *ctx)
{
	Asked	   *asked = static_cast<Asked *>(ctx);

	return ++asked->times >= asked->yes_at;
}

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
	unit_begin(argc, argv, "join");
	simt_report_to_stderr(false);
	library = pp_cuda_library(PP_CUDA_VERSION);
	joins = library->join;
	unit_case("start");
	start();
	test_queries(unit_iterations(150));
	test_large(unit_iterations(8));
	test_boxes(unit_iterations(16));
	test_budgets();
	test_failures(unit_iterations(6));
	test_cancel(unit_iterations(8));
	test_overflow();
	if (!is_little())
		test_limit();
	test_resident(unit_iterations(20));
	test_states();
	unit_case("nothing is left at the end");
	library->stop();
	EXPECT(simt_memory().device_blocks == 0 && simt_memory().pinned_blocks == 0 &&
		   simt_memory().streams == 0 && simt_memory().events == 0,
		   "%" PRIu64 " blocks, %" PRIu64 " streams", simt_memory().device_blocks, simt_memory().streams);
	EXPECT(simt_reports() == 0, "the SIMT layer says: %s", simt_last_report());
	return unit_end();
}
