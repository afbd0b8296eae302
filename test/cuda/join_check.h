/*
 * test/cuda/join_check.h
 *	  What tests of the device library's joins share: starting it, running a query
 *	  through its table and comparing the answer, queries that are larger than a
 *	  block, failing calls.
 */
#ifndef JOIN_CHECK_H
#define JOIN_CHECK_H

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

/* ---------- larger queries ---------- */

enum Shape
{
	TRIANGLES,					/* of three relations */
	CLIQUES,					/* of four, of one symmetric relation */
	KITE,						/* two triangles at an edge, a tail at one tip */
	APART,						/* a triangle and a path that share nothing */
	SHAPES
};

/* Has the query read what is in the case. */
void
set_arrays(Case *c)
{
	c->query.atoms = c->atoms;
	c->query.residuals = c->residuals;
	c->query.relations = c->relations;
	c->query.simd = PP_SIMD_LEVELS;
	c->width = c->query.nvariables + c->query.natoms;
}

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
	set_arrays(c);
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

/* ---------- failures and cancelling ---------- */

/*
 * Runs a query with call number nth of a kind failing, and what is left then.  With so
 * much memory of the device's it is in boxes, or limit is UINT64_MAX.
 */
bool
fail_once(const Case *c, PpCudaJoinAlgorithm algorithm, SimtCall kind, uint64_t nth, uint64_t limit)
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
		EXPECT(limit == UINT64_MAX || out.info.nboxes > 2, "%u boxes", out.info.nboxes);
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
	start(limit);
	return true;
}

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

/* What main() does before the tests, and behind them: its result. */
void
begin(int argc, char **argv, const char *name)
{
	unit_begin(argc, argv, name);
	simt_report_to_stderr(false);
	library = pp_cuda_library(PP_CUDA_VERSION);
	joins = library->join;
	unit_case("start");
	start();
}

int
end(void)
{
	unit_case("nothing is left at the end");
	library->stop();
	EXPECT(simt_memory().device_blocks == 0 && simt_memory().pinned_blocks == 0 &&
		   simt_memory().streams == 0 && simt_memory().events == 0,
		   "%" PRIu64 " blocks, %" PRIu64 " streams", simt_memory().device_blocks, simt_memory().streams);
	EXPECT(simt_reports() == 0, "the SIMT layer says: %s", simt_last_report());
	return unit_end();
}

}								/* namespace */

#endif							/* JOIN_CHECK_H */
