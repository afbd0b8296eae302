/*
 * src/trie/join.c
 *	  Builds a join: checks the query, chooses how to go about it, has
 *	  dictionary and tries built.
 */
#include <stddef.h>
#include <string.h>

#include "join_private.h"

/* The caller's numbers, which stay its own; they are not written to. */
static PpJoinStatus
take_codes(PpJoin *join, const PpJoinQuery *query, PpCodes *codes)
{
	join->dict.kind = PP_DICT_DIRECT;
	join->dict.n = query->nkeys;
	for (uint32_t r = 0; r < query->nrelations; r++)
	{
		const uint32_t *pairs = query->codes[r];

		if (query->relations[r].nrows > PP_JOIN_MAX_ROWS)
			return PP_JOIN_TOO_MANY;
		codes[r].pairs = (uint32_t *) (uintptr_t) pairs;
		codes[r].nrows = (uint32_t) query->relations[r].nrows;
		for (uint32_t i = 0; i < codes[r].nrows; i++)
		{
			if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(&join->cancel))
				return PP_JOIN_CANCELLED;
			codes[r].nless += pairs[2 * (size_t) i] < pairs[2 * (size_t) i + 1];
			codes[r].nequal += pairs[2 * (size_t) i] == pairs[2 * (size_t) i + 1];
		}
	}
	return PP_JOIN_OK;
}

static PpJoinStatus
build_tries(PpJoin *join, PpTeam *team, PpCodes *codes)
{
	for (uint32_t t = 0; t < join->ntries; t++)
	{
		PpTrie	   *trie = &join->tries[t];
		PpJoinStatus status;
		bool		last = true;

		if (!pp_plan_wanted(join, t))
			continue;
		join->info.ntries++;
		status = pp_trie_build(trie, &join->budget, &join->cancel, team,
							   &codes[trie->relation], join->dict.n, join->row_numbers);
		if (status != PP_JOIN_OK)
			return status;
		for (uint32_t u = t + 1; u < join->ntries; u++)
			last &= join->tries[u].relation != trie->relation || !pp_plan_wanted(join, u);
		if (last)
		{
			if (!join->numbered)
				pp_budget_release(&join->budget, codes[trie->relation].pairs);
			codes[trie->relation].pairs = NULL;
		}
	}
	return PP_JOIN_OK;
}

static PpJoinStatus
build_general(PpJoin *join, const PpJoinQuery *query, PpTeam *team, PpCodes *codes)
{
	PpJoinStatus status;

	status = pp_join_order(query, &join->budget, &join->cancel, codes, join->dict.n,
						   query->mode == PP_JOIN_GROUPS ? query->group : query->nvariables,
						   join->info.order);
	if (status != PP_JOIN_OK)
		return status;
	join->info.strategy = PP_JOIN_GENERAL;
	pp_plan_levels(join, query);
	if (query->mode != PP_JOIN_ROWS)
	{
		pp_plan_products(join);
		if (query->strategy == PP_JOIN_AUTO && !join->numbered)
			status = pp_parts_count(join, query, team, codes);
		if (status != PP_JOIN_OK)
			return status;
		pp_plan_drop_heads(join);
		pp_plan_twins(join);
	}
	status = build_tries(join, team, codes);
	for (uint32_t v = 0; v < join->nvariables; v++)
	{
		PpLevelPlan *plan = &join->levels[v];

		for (uint32_t k = 0; k < plan->nlists && !plan->within; k++)
		{
			plan->lists[k].place = join->row_numbers ||
				join->tries[plan->lists[k].trie].first != NULL;
			plan->places |= plan->lists[k].place;
			join->copies |= join->tries[plan->lists[k].trie].first != NULL;
		}
	}
	return status;
}

static PpJoinStatus
build_wedges(PpJoin *join, const PpJoinQuery *query, PpTeam *team, PpCodes *codes,
			 uint32_t *variables)
{
	PpJoinStatus status = pp_wedges_turn(query, &join->budget, codes, join->dict.n, variables);

	if (status != PP_JOIN_OK)
		return status;
	join->info.strategy = PP_JOIN_WEDGES;
	for (uint32_t i = 0; i < 4; i++)
	{
		/* x-y, y-z, x-w, w-z */
		uint32_t	from = i == 1 ? 1 : i == 3 ? 3 : 0;
		uint32_t	to = i == 0 ? 1 : i == 2 ? 3 : 2;

		join->info.order[i] = variables[i];
		for (uint32_t a = 0; a < query->natoms; a++)
		{
			const PpJoinAtom *atom = &query->atoms[a];

			for (uint32_t b = 0; b < 2; b++)
				if (atom->variable[b] == variables[from] &&
					atom->variable[1 - b] == variables[to])
					join->wedge[i] = pp_plan_trie(join, atom->relation,
											   b == 0 ? PP_TRIE_FORWARD : PP_TRIE_BACKWARD);
		}
	}
	return build_tries(join, team, codes);
}

PpJoinStatus
pp_join_build(const PpJoinQuery *query, const PpAlloc *alloc, size_t budget, PpJoin **out)
{
	const PpCancel cancel = {query->cancelled, query->cancel_ctx};
	PpBudget	own;
	PpJoin	   *join;
	PpCodes		codes[PP_JOIN_MAX_RELATIONS];
	bool		used[PP_JOIN_MAX_RELATIONS] = {false};
	bool		ordered = false;
	bool		shortcut = query->mode == PP_JOIN_COUNT && query->strategy == PP_JOIN_AUTO;
	bool		clique;
	uint32_t	variables[4];
	PpTeam		team;
	PpJoinStatus status;

	*out = NULL;
	if (!pp_plan_valid(query) ||
		(query->simd != PP_SIMD_LEVELS && pp_trie_kernels(query->simd) == NULL))
		return PP_JOIN_INVALID;
	pp_budget_init(&own, alloc, budget, &cancel);
	join = pp_budget_zeros(&own, 1, offsetof(PpJoin, levels) +
						   query->nvariables * sizeof(PpLevelPlan));
	if (join == NULL)
		return own.failure;
	join->budget = own;
	join->cancel = cancel;
	join->kernels = query->simd == PP_SIMD_LEVELS ?
		pp_trie_best_kernels() : pp_trie_kernels(query->simd);
	join->mode = query->mode;
	join->row_numbers = query->mode == PP_JOIN_ROWS && query->row_numbers;
	join->nvariables = query->nvariables;
	join->natoms = query->natoms;
	for (uint32_t a = 0; a < query->natoms; a++)
		used[query->atoms[a].relation] = true;
	for (uint32_t r = 0; r < query->nresiduals; r++)
		ordered |= query->residuals[r].op != PP_JOIN_NE;
	memset(codes, 0, sizeof(codes));

	join->numbered = query->nkeys > 0;
	clique = query->strategy == PP_JOIN_AUTO && !join->numbered && pp_clique_match(query);
	pp_team_begin(&team, query->threads, query->cancelled, query->cancel_ctx);
	status = join->numbered ? take_codes(join, query, codes) :
		pp_dict_build(&join->dict, &join->budget, &join->cancel, &team, query, used,
					  ordered, query->mode != PP_JOIN_COUNT || (clique && ordered), codes);
	if (status == PP_JOIN_OK && clique)
		status = pp_oriented_build(join, query, &team, codes);
	if (status == PP_JOIN_OK && join->oriented == NULL)
		status = shortcut && pp_wedges_match(query, variables) ?
			build_wedges(join, query, &team, codes, variables) :
			build_general(join, query, &team, codes);
	pp_team_end(&team);

	for (uint32_t r = 0; r < query->nrelations && !join->numbered; r++)
		pp_budget_release(&join->budget, codes[r].pairs);
	if (status != PP_JOIN_OK)
	{
		pp_join_free(join);
		return status;
	}
	join->info.nkeys = join->dict.n;
	join->info.dictionary = join->numbered ? "none" : join->dict.kind == PP_DICT_DIRECT ? "direct" :
		join->dict.kind == PP_DICT_RANK ? "rank" : "hash";
	join->info.simd = join->kernels->name;
	join->info.bytes = join->budget.used;
	join->info.peak_bytes = join->budget.peak;
	*out = join;
	return PP_JOIN_OK;
}

void
pp_join_free(PpJoin *join)
{
	if (join)
	{
		PpBudget	budget;

		for (uint32_t t = 0; t < join->ntries; t++)
			pp_trie_release(&join->tries[t], &join->budget);
		pp_oriented_release(join);
		pp_parts_release(join);
		pp_dict_release(&join->dict, &join->budget);
		/* what counts it goes with it */
		budget = join->budget;
		pp_budget_release(&budget, join);
	}
}

const PpJoinInfo *
pp_join_info(const PpJoin *join)
{
	return &join->info;
}
