/*
 * src/trie/join_clique.c
 *	  Counts triangles of the graph that join_oriented.c builds, and says how
 *	  larger cliques are gone through.
 *
 * Triangles are counted by marks: the neighbours of a vertex are marked, their
 * lists looked up in the marks; the vertices of highest degree have rows of
 * bits instead.
 */
#include "join_private.h"

static bool
count_triangles(PpJoinRun *run, PpUint128 *count)
{
	const PpJoin *join = run->join;
	const PpOriented *o = join->oriented;
	const PpTrieKernels *kernels = join->kernels;
	const uint32_t *start = o->start;
	const uint32_t *list = o->list;
	const uint32_t nentries = start[o->n];
	uint8_t    *mark = run->scratch[0];
	uint64_t   *hub_mark = run->scratch[1];

	for (uint32_t u = run->from; u < run->to; u++)
	{
		const uint32_t from = start[u];
		const uint32_t to = start[u + 1];
		uint64_t	n = 0;

		if (!pp_run_work(run, 1 + (uint64_t) (to - from) * 4))
			return false;
		run->seeks += to - from;
		if (kernels->short_triangles && o->nhubs == 0 && to - from <= PP_TRIE_SHORT)
		{
			n = kernels->short_triangles(start, list, from, to, nentries);
			*count += (PpUint128) n * o->factor;
			/* lists of others may be of any length */
			if (!pp_run_work(run, (uint64_t) (to - from) * o->longest / 16))
				return false;
			continue;
		}
		for (uint32_t i = from; i < to; i++)
		{
			mark[list[i]] = 1;
			if (list[i] < o->nhubs)
				hub_mark[list[i] / 64] |= UINT64_C(1) << (list[i] % 64);
		}
		for (uint32_t i = from; i < to; i++)
		{
			uint32_t	v = list[i];
			uint32_t	j = start[v];
			uint32_t	end = start[v + 1];

			pp_oriented_fetch(o, i, nentries);
			if (v < o->nhubs && o->hub[v] < o->hub[v + 1])
				n += kernels->and_count(hub_mark,
										o->bits + (uint64_t) o->hub[v] * (PP_HUB_BITS / 64),
										(size_t) (o->hub[v + 1] - o->hub[v]) * (PP_HUB_BITS / 64));
			else
			{
				uint32_t	odd = 0;
				uint32_t	even = 0;

				if (!pp_run_work(run, end - j))
					return false;
				for (; j + 4 <= end; j += 4)
				{
					even += (uint32_t) mark[list[j]] + mark[list[j + 1]];
					odd += (uint32_t) mark[list[j + 2]] + mark[list[j + 3]];
				}
				for (; j < end; j++)
					even += mark[list[j]];
				n += (uint64_t) even + odd;
			}
		}
		for (uint32_t i = from; i < to; i++)
		{
			mark[list[i]] = 0;
			if (list[i] < o->nhubs)
				hub_mark[list[i] / 64] = 0;
		}
		*count += (PpUint128) n * o->factor;
	}
	return true;
}

/* Rows of a heavy edge that has as many in both directions, or has one only. */
static inline uint32_t
most_rows(const PpHeavy *heavy)
{
	return heavy->down > heavy->up ? heavy->down : heavy->up;
}

/*
 * The same where some edges have several rows, but none more than a mark, which
 * is a byte, can say.
 */
static bool
count_heavy_triangles(PpJoinRun *run, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	const uint32_t *start = o->start;
	const uint32_t *list = o->list;
	const uint32_t nentries = start[o->n];
	uint8_t    *mark = run->scratch[0];
	uint64_t   *hub_mark = run->scratch[1];

	for (uint32_t u = run->from; u < run->to; u++)
	{
		const PpHeavy *heavy = o->heavy + o->heavy_start[u];
		const PpHeavy *behind = o->heavy + o->heavy_start[u + 1];
		PpUint128	n = 0;

		if (!pp_run_work(run, 1 + (uint64_t) (start[u + 1] - start[u]) * 4))
			return false;
		run->seeks += start[u + 1] - start[u];
		for (uint32_t i = start[u]; i < start[u + 1]; i++)
		{
			mark[list[i]] = 1;
			if (list[i] < o->nhubs)
				hub_mark[list[i] / 64] |= UINT64_C(1) << (list[i] % 64);
		}
		for (const PpHeavy *h = heavy; h < behind; h++)
			if (h->v != u)
				mark[h->v] = (uint8_t) most_rows(h);
		for (uint32_t i = start[u]; i < start[u + 1]; i++)
		{
			const uint32_t v = list[i];
			const bool	hub = v < o->nhubs && o->hub[v] < o->hub[v + 1];
			uint64_t	here = 0;

			pp_oriented_fetch(o, i, nentries);
			if (hub)
			{
				const uint64_t *bits = o->bits + (uint64_t) o->hub[v] * (PP_HUB_BITS / 64);

				here = run->join->kernels->and_count(hub_mark, bits, (size_t) (o->hub[v + 1] - o->hub[v]) *
													 (PP_HUB_BITS / 64));
				for (const PpHeavy *h = heavy; h < behind && h->v < v; h++)
					here += (bits[h->v / 64] >> (h->v % 64) & 1) * (most_rows(h) - 1);
			}
			for (uint32_t j = start[v]; j < start[v + 1] && !hub; j++)
				here += mark[list[j]];
			for (uint32_t h = o->heavy_start[v]; h < o->heavy_start[v + 1]; h++)
				if (o->heavy[h].v != v)
					here += (uint64_t) (most_rows(&o->heavy[h]) - 1) * mark[o->heavy[h].v];
			n += here * mark[v];
			if (!pp_run_work(run, hub ? (uint64_t) (behind - heavy) : start[v + 1] - start[v]))
				return false;
		}
		for (uint32_t i = start[u]; i < start[u + 1]; i++)
		{
			mark[list[i]] = 0;
			if (list[i] < o->nhubs)
				hub_mark[list[i] / 64] = 0;
		}
		*count += n * o->factor;
	}
	return true;
}

/* The same where each edge has its directions. */
static bool
count_directed_triangles(PpJoinRun *run, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;
	const uint32_t *start = o->start;
	const uint32_t *list = o->list;
	const uint32_t nentries = start[o->n];
	uint8_t    *mark = run->scratch[0];
	uint8_t		ways[64];

	for (uint32_t code = 0; code < 64; code++)
		ways[code] = (uint8_t) (o->ways[3].first[code + 1] - o->ways[3].first[code]);
	for (uint32_t u = run->from; u < run->to; u++)
	{
		const uint32_t from = start[u];
		const uint32_t to = start[u + 1];
		uint64_t	n = 0;

		if (!pp_run_work(run, 1))
			return false;
		if (to - from < 2)
			continue;
		for (uint32_t i = from; i < to; i++)
			mark[list[i] & PP_VERTEX] = (uint8_t) (list[i] >> 30 << pp_pair_shift(0, 2));
		for (uint32_t i = from; i < to; i++)
		{
			const uint32_t edge = list[i] >> 30 << pp_pair_shift(0, 1);
			uint32_t	v = list[i] & PP_VERTEX;

			pp_oriented_fetch(o, i, nentries);
			for (uint32_t j = start[v]; j < start[v + 1]; j++)
				n += ways[edge | mark[list[j] & PP_VERTEX] | list[j] >> 30 << pp_pair_shift(1, 2)];
			if (!pp_run_work(run, start[v + 1] - start[v]))
				return false;
		}
		run->seeks += to - from;
		for (uint32_t i = from; i < to; i++)
			mark[list[i] & PP_VERTEX] = 0;
		*count += n;
	}
	return true;
}

/* ---------- what a pass is asked for ---------- */

PpJoinStatus
pp_oriented_open(PpJoinRun *run)
{
	const PpOriented *o = run->join->oriented;

	if (o->way == PP_CLIQUES_BLOCKS)
		return pp_blocks_open(run);
	if (o->way == PP_CLIQUES_EACH || o->loops_only || o->k > 3)
		return pp_local_open(run);
	/* marks, by bytes and, of hubs, by bits */
	run->scratch[0] = pp_budget_zeros(&run->budget, o->n, 1);
	run->scratch[1] = pp_budget_zeros(&run->budget, PP_HUBS / 64, sizeof(uint64_t));
	if (run->scratch[0] == NULL || run->scratch[1] == NULL)
		return run->budget.failure;
	return PP_JOIN_OK;
}

void
pp_oriented_close(PpJoinRun *run)
{
	pp_blocks_close(run);
	pp_local_close(run);
	pp_budget_release(&run->budget, run->groups);
}

bool
pp_oriented_count(PpJoinRun *run, PpUint128 *count)
{
	const PpOriented *o = run->join->oriented;

	*count = 0;
	if (o->loops_only || o->way == PP_CLIQUES_EACH)
		return pp_local_count_each(run, o->loops_only, count);
	if (o->k > 3)
		return pp_local_count(run, count);
	return o->way == PP_CLIQUES_TABLE ? count_directed_triangles(run, count) :
		o->heavy ? count_heavy_triangles(run, count) : count_triangles(run, count);
}

bool
pp_oriented_groups(PpJoinRun *run)
{
	PpUint128	none;

	switch (run->join->oriented->way)
	{
		case PP_CLIQUES_BLOCKS:
			return pp_blocks_groups(run);
		case PP_CLIQUES_ALIKE:
			return pp_local_count(run, &none);
		default:
			return pp_local_count_each(run, false, &none);
	}
}
