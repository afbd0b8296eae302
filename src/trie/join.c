/*
 * src/trie/join.c
 *	  Builds a join: checks the query, chooses how to go about it, has
 *	  dictionary and tries built.
 */
#include <stddef.h>
#include <string.h>

#include "join_private.h"

static bool
valid(const PpJoinQuery *query)
{
	uint32_t	seen = 0;

	if (query->nvariables == 0 || query->nvariables > PP_JOIN_MAX_VARIABLES ||
		query->natoms == 0 || query->natoms > PP_JOIN_MAX_ATOMS ||
		query->nresiduals > PP_JOIN_MAX_RESIDUALS ||
		query->nrelations == 0 || query->nrelations > PP_JOIN_MAX_RELATIONS ||
		(uint32_t) query->mode >= PP_JOIN_MODES ||
		(query->mode == PP_JOIN_GROUPS && query->group >= query->nvariables) ||
		(query->strategy != PP_JOIN_AUTO && query->strategy != PP_JOIN_GENERAL))
		return false;
	for (uint32_t a = 0; a < query->natoms; a++)
	{
		if (query->atoms[a].relation >= query->nrelations)
			return false;
		for (uint32_t i = 0; i < 2; i++)
		{
			if (query->atoms[a].variable[i] >= query->nvariables)
				return false;
			seen |= UINT32_C(1) << query->atoms[a].variable[i];
		}
	}
	for (uint32_t r = 0; r < query->nresiduals; r++)
		if ((uint32_t) query->residuals[r].op > PP_JOIN_NE ||
			query->residuals[r].left >= query->nvariables ||
			query->residuals[r].right >= query->nvariables)
			return false;
	return seen == (UINT32_C(1) << query->nvariables) - 1 &&
		(query->simd == PP_SIMD_LEVELS || pp_trie_kernels(query->simd));
}

/* The trie of a relation in an order, added to those to build if it is new. */
static uint32_t
want_trie(PpJoin *join, uint32_t relation, PpTrieOrder order)
{
	for (uint32_t t = 0; t < join->ntries; t++)
		if (join->tries[t].relation == relation && join->tries[t].order == order)
		{
			join->info.nshared++;
			return t;
		}
	join->tries[join->ntries].relation = relation;
	join->tries[join->ntries].order = order;
	return join->ntries++;
}

/* The same condition, with its sides exchanged. */
static PpJoinCompare
flip(PpJoinCompare op)
{
	switch (op)
	{
		case PP_JOIN_LT:
			return PP_JOIN_GT;
		case PP_JOIN_LE:
			return PP_JOIN_GE;
		case PP_JOIN_GT:
			return PP_JOIN_LT;
		case PP_JOIN_GE:
			return PP_JOIN_LE;
		default:
			return op;
	}
}

/* Gives each level what bounds it. */
static void
plan_levels(PpJoin *join, const PpJoinQuery *query)
{
	uint32_t	level[PP_JOIN_MAX_VARIABLES];

	for (uint32_t v = 0; v < query->nvariables; v++)
	{
		join->levels[v].variable = join->info.order[v];
		level[join->info.order[v]] = v;
	}
	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const PpJoinAtom *atom = &query->atoms[a];
		uint32_t	one = level[atom->variable[0]];
		uint32_t	two = level[atom->variable[1]];
		uint32_t	trie = want_trie(join, atom->relation,
									 one == two ? PP_TRIE_LOOPS :
									 one < two ? PP_TRIE_FORWARD : PP_TRIE_BACKWARD);
		PpLevelPlan *plan = &join->levels[one < two ? two : one];
		PpLevelList *list = &plan->lists[plan->nlists++];

		list->atom = a;
		list->trie = trie;
		list->from = one < two ? one : two;
		if (one != two)
		{
			PpLevelPlan *head = &join->levels[list->from];
			bool		there = false;

			for (uint32_t h = 0; h < head->nheads; h++)
				there |= head->heads[h] == trie;
			if (!there)
				head->heads[head->nheads++] = trie;
		}
	}
	for (uint32_t r = 0; r < query->nresiduals; r++)
	{
		const PpJoinResidual *residual = &query->residuals[r];
		uint32_t	left = level[residual->left];
		uint32_t	right = level[residual->right];

		if (left == right)
			join->empty |= residual->op != PP_JOIN_LE && residual->op != PP_JOIN_GE;
		else
		{
			PpLevelPlan *plan = &join->levels[left > right ? left : right];
			PpLevelResidual *out = &plan->residuals[plan->nresiduals++];

			out->op = left > right ? residual->op : flip(residual->op);
			out->level = left > right ? right : left;
			plan->unequal |= out->op == PP_JOIN_NE;
		}
	}
}

/*
 * Is what is counted from root on, for the levels in part, needed again with
 * the same values?  Not where counting is a look at one list.
 */
static void
plan_keeping(PpJoin *join, const uint32_t *adjacent, uint32_t part, uint32_t root)
{
	PpLevelPlan *plan = &join->levels[root];
	uint32_t	needs = 0;

	for (uint32_t v = 0; v < join->nvariables; v++)
		if (part >> v & 1)
			needs |= adjacent[v] & ~part;
	plan->part = part;
	plan->needs = needs;
	plan->constant = needs == 0;
	plan->key = needs ? (uint32_t) __builtin_ctz(needs) : 0;
	/* each value of the first level comes once */
	plan->kept = plan->constant || (needs == UINT32_C(1) << plan->key && plan->key > 0 &&
									(plan->nlists > 1 || part != UINT32_C(1) << root));
}

/*
 * Makes a tree of the levels in set, below parent: they fall into parts that
 * nothing connects, each of which begins with its first level.
 */
static void
plan_tree(PpJoin *join, const uint32_t *adjacent, uint32_t set, uint32_t parent)
{
	while (set)
	{
		uint32_t	root = (uint32_t) __builtin_ctz(set);
		uint32_t	part = UINT32_C(1) << root;
		uint32_t	grown = part;

		for (uint32_t more = part; more; more = grown & ~part, part = grown)
			for (uint32_t v = 0; v < join->nvariables; v++)
				if (more >> v & 1)
					grown |= adjacent[v] & set;
		part = grown;
		set &= ~part;
		plan_keeping(join, adjacent, part, root);
		join->levels[parent].children[join->levels[parent].nchildren++] = root;
		plan_tree(join, adjacent, part & ~(UINT32_C(1) << root), root);
	}
}

static void
plan_products(PpJoin *join)
{
	uint32_t	adjacent[PP_JOIN_MAX_VARIABLES] = {0};

	for (uint32_t v = 0; v < join->nvariables; v++)
	{
		const PpLevelPlan *plan = &join->levels[v];

		for (uint32_t k = 0; k < plan->nlists; k++)
			if (plan->lists[k].from != v)
			{
				adjacent[v] |= UINT32_C(1) << plan->lists[k].from;
				adjacent[plan->lists[k].from] |= UINT32_C(1) << v;
			}
		for (uint32_t r = 0; r < plan->nresiduals; r++)
		{
			adjacent[v] |= UINT32_C(1) << plan->residuals[r].level;
			adjacent[plan->residuals[r].level] |= UINT32_C(1) << v;
		}
	}
	/* parts that the first level is not connected with are below it, too */
	plan_tree(join, adjacent, ((UINT32_C(1) << join->nvariables) - 1) & ~UINT32_C(1), 0);
}

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

/* Is a trie looked at where levels are not counted beforehand? */
static bool
wanted(const PpJoin *join, uint32_t trie)
{
	bool		any = join->info.strategy == PP_JOIN_WEDGES;

	for (uint32_t v = 0; v < join->nvariables; v++)
		for (uint32_t k = 0; k < join->levels[v].nlists && !join->levels[v].within; k++)
			any |= join->levels[v].lists[k].trie == trie;
	return any;
}

/* Heads that only lead to what is counted beforehand are none. */
static void
drop_heads(PpJoin *join)
{
	for (uint32_t v = 0; v < join->nvariables; v++)
	{
		PpLevelPlan *plan = &join->levels[v];
		uint32_t	n = 0;

		for (uint32_t h = 0; h < plan->nheads; h++)
			if (wanted(join, plan->heads[h]))
				plan->heads[n++] = plan->heads[h];
		plan->nheads = n;
	}
}

/* Do two levels without children, of one parent, count the same? */
static bool
twins(const PpLevelPlan *a, const PpLevelPlan *b)
{
	uint64_t	used = 0;

	if (a->nchildren || b->nchildren || a->counted || b->counted || a->nheads || b->nheads ||
		a->nlists != b->nlists || a->nresiduals || b->nresiduals)
		return false;
	for (uint32_t i = 0; i < a->nlists; i++)
	{
		uint32_t	j = 0;

		while (j < b->nlists && ((used >> j & 1) || a->lists[i].trie != b->lists[j].trie ||
								 a->lists[i].from != b->lists[j].from))
			j++;
		if (j == b->nlists)
			return false;
		used |= UINT64_C(1) << j;
	}
	return true;
}

static void
find_twins(PpJoin *join)
{
	for (uint32_t v = 0; v < join->nvariables; v++)
	{
		PpLevelPlan *plan = &join->levels[v];

		for (uint32_t c = 1; c < plan->nchildren; c++)
			for (uint32_t before = 0; before < c && plan->twin[c] == 0; before++)
				if (plan->twin[before] == 0 &&
					twins(&join->levels[plan->children[before]], &join->levels[plan->children[c]]))
					plan->twin[c] = before + 1;
	}
}

static PpJoinStatus
build_tries(PpJoin *join, PpTeam *team, PpCodes *codes)
{
	for (uint32_t t = 0; t < join->ntries; t++)
	{
		PpTrie	   *trie = &join->tries[t];
		PpJoinStatus status;
		bool		last = true;

		if (!wanted(join, t))
			continue;
		join->info.ntries++;
		status = pp_trie_build(trie, &join->budget, &join->cancel, team,
							   &codes[trie->relation], join->dict.n, join->row_numbers);
		if (status != PP_JOIN_OK)
			return status;
		for (uint32_t u = t + 1; u < join->ntries; u++)
			last &= join->tries[u].relation != trie->relation || !wanted(join, u);
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
	plan_levels(join, query);
	if (query->mode != PP_JOIN_ROWS)
	{
		plan_products(join);
		if (query->strategy == PP_JOIN_AUTO && !join->numbered)
			status = pp_parts_count(join, query, team, codes);
		if (status != PP_JOIN_OK)
			return status;
		drop_heads(join);
		find_twins(join);
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
					join->wedge[i] = want_trie(join, atom->relation,
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
	if (!valid(query))
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
	clique = query->strategy == PP_JOIN_AUTO && !join->numbered && pp_oriented_match(query);
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
