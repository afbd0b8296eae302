/*
 * test/unit/trie_query.c
 *	  What tests of the join engine share.
 */
#include <inttypes.h>
#include <string.h>

#include "trie_query.h"

const char *const strategy_name[] = {"auto", "general", "oriented", "wedges"};

bool
query_compares(PpJoinCompare op, int64_t a, int64_t b)
{
	return op == PP_JOIN_LT ? a < b : op == PP_JOIN_LE ? a <= b :
		op == PP_JOIN_GT ? a > b : op == PP_JOIN_GE ? a >= b : a != b;
}

PpJoinStatus
count_query(PpJoinQuery *query, uint32_t nparts, Counted *counted)
{
	UnitHeap	heap = {0};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	const size_t budget = (size_t) 1 << 33;
	PpJoin	   *join;
	PpJoinStatus status;
	PpCount		n;

	memset(counted, 0, sizeof(*counted));
	query->mode = PP_JOIN_COUNT;
	status = pp_join_build(query, &alloc, budget, &join);
	for (uint32_t part = 0; part < nparts && status == PP_JOIN_OK; part++)
	{
		PpJoinRun  *run;

		status = pp_join_open(join, &alloc, budget, part, nparts, &run);
		if (status == PP_JOIN_OK)
			status = pp_join_count(run, &n);
		if (status == PP_JOIN_OK)
			counted->count += (Uint128) n.high << 64 | n.low;
		pp_join_close(run);
	}
	if (nparts == 0 && status == PP_JOIN_OK)
	{
		uint64_t	seeks;

		status = pp_join_count_threads(join, &alloc, budget, query->threads, &n, &seeks);
		counted->count = (Uint128) n.high << 64 | n.low;
		EXPECT(status != PP_JOIN_OK || n.low == 0 || seeks > 0, "counted without seeking");
	}
	if (join)
	{
		counted->strategy = pp_join_info(join)->strategy;
		counted->dictionary = pp_join_info(join)->dictionary;
	}
	pp_join_free(join);
	counted->peak_bytes = heap.peak_bytes;
	EXPECT(heap.live_blocks == 0, "memory is left");
	return status;
}

void
check_modes(PpJoinQuery *query, Uint128 want)
{
	static int64_t keys[4 * 1024];
	static PpCount counts[1024];

	for (uint32_t m = 0; m <= query->nvariables; m++)
	{
		UnitHeap	heap = {0};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		PpJoin	   *join;
		PpJoinRun  *run = NULL;
		PpJoinStatus status;
		Uint128		sum = 0;
		size_t		n;

		query->mode = m < query->nvariables ? PP_JOIN_GROUPS : PP_JOIN_ROWS;
		query->group = m < query->nvariables ? m : 0;
		query->threads = 1 + m % 2;
		status = pp_join_build(query, &alloc, (size_t) 1 << 33, &join);
		if (status == PP_JOIN_OK)
			status = pp_join_open_threads(join, &alloc, (size_t) 1 << 33, query->threads, &run);
		for (n = 1; n > 0 && status == PP_JOIN_OK;)
		{
			status = query->mode == PP_JOIN_ROWS ? pp_join_rows(run, keys, NULL, 1024, &n) :
				pp_join_groups(run, keys, counts, 1024, &n);
			for (size_t i = 0; i < n; i++)
				sum += query->mode == PP_JOIN_ROWS ? 1 : counts[i].low;
		}
		EXPECT(status == PP_JOIN_OK, "status %d", (int) status);
		EXPECT(sum == want, "mode %u: %" PRIu64 ", not %" PRIu64, m, (uint64_t) sum, (uint64_t) want);
		pp_join_close(run);
		pp_join_free(join);
		EXPECT(heap.live_blocks == 0, "memory is left");
	}
}
