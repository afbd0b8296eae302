/*
 * src/trie/join_plan.c
 *	  What a query comes to once the order of its variables is known: which
 *	  tries there are to be, what bounds each level, which levels nothing
 *	  connects once others are bound.
 *
 * Reads the query only, none of its rows; so that every backend plans alike.
 * Allocates nothing.
 */
#include "join_private.h"

bool
pp_plan_valid(const PpJoinQuery *query)
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
	return seen == (UINT32_C(1) << query->nvariables) - 1;
}

uint32_t
pp_plan_trie(PpJoin *join, uint32_t relation, PpTrieOrder order)
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

void
pp_plan_levels(PpJoin *join, const PpJoinQuery *query)
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
		uint32_t	trie = pp_plan_trie(join, atom->relation,
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

void
pp_plan_products(PpJoin *join)
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

bool
pp_plan_wanted(const PpJoin *join, uint32_t trie)
{
	bool		any = join->info.strategy == PP_JOIN_WEDGES;

	for (uint32_t v = 0; v < join->nvariables; v++)
		for (uint32_t k = 0; k < join->levels[v].nlists && !join->levels[v].within; k++)
			any |= join->levels[v].lists[k].trie == trie;
	return any;
}

void
pp_plan_drop_heads(PpJoin *join)
{
	for (uint32_t v = 0; v < join->nvariables; v++)
	{
		PpLevelPlan *plan = &join->levels[v];
		uint32_t	n = 0;

		for (uint32_t h = 0; h < plan->nheads; h++)
			if (pp_plan_wanted(join, plan->heads[h]))
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

void
pp_plan_twins(PpJoin *join)
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

bool
pp_plan_clique(const PpJoinQuery *query, uint32_t set, uint32_t key)
{
	const uint32_t m = (uint32_t) __builtin_popcount(set);
	uint32_t	adjacent[PP_JOIN_MAX_VARIABLES] = {0};
	uint32_t	relation = UINT32_MAX;
	uint32_t	n = 0;

	if (m < PP_LEAST_CLIQUE || m > PP_GREATEST_CLIQUE)
		return false;
	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const PpJoinAtom *atom = &query->atoms[a];
		const uint32_t *v = atom->variable;

		if (!(set >> v[0] & set >> v[1] & 1) || (v[0] == key && v[1] == key))
			continue;
		if (relation == UINT32_MAX)
			relation = atom->relation;
		if (atom->relation != relation || v[0] == v[1])
			return false;
		adjacent[v[0]] |= UINT32_C(1) << v[1];
		adjacent[v[1]] |= UINT32_C(1) << v[0];
		n++;
	}
	for (uint32_t v = 0; v < query->nvariables; v++)
		if ((set >> v & 1) && adjacent[v] != (set & ~(UINT32_C(1) << v)))
			return false;
	return n == m * (m - 1) / 2;
}
