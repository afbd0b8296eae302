/*
 * src/trie/join_parts.c
 *	  Parts of a query that hang on one variable: cliques of one relation are
 *	  counted for each of its values before the rest is, by the ways for
 *	  cliques.  So a bow tie or a lollipop costs as much as its triangles do.
 */
#include <stddef.h>
#include <string.h>

#include "join_private.h"

/* Groups that are asked for at a time. */
#define BATCH			512u

/* A part as a query of its own, by the value of its variable 0. */
typedef struct Part
{
	PpJoinQuery query;
	PpJoinAtom	atoms[PP_GREATEST_CLIQUE * (PP_GREATEST_CLIQUE - 1) / 2];
	PpJoinResidual residuals[PP_JOIN_MAX_RESIDUALS];
} Part;

static void
make_part(Part *part, const PpJoin *join, const PpJoinQuery *query, uint32_t root)
{
	const PpLevelPlan *plan = &join->levels[root];
	uint32_t	number[PP_JOIN_MAX_VARIABLES];
	uint32_t	set = 0;
	PpJoinQuery *q = &part->query;

	memset(part, 0, sizeof(*part));
	q->nvariables = 1;
	number[join->levels[plan->key].variable] = 0;
	set |= UINT32_C(1) << join->levels[plan->key].variable;
	for (uint32_t v = 0; v < join->nvariables; v++)
		if (plan->part >> v & 1)
		{
			number[join->levels[v].variable] = q->nvariables++;
			set |= UINT32_C(1) << join->levels[v].variable;
		}
	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const uint32_t *v = query->atoms[a].variable;

		if (!(set >> v[0] & set >> v[1] & 1) || v[0] == v[1])
			continue;
		q->relations = &query->relations[query->atoms[a].relation];
		part->atoms[q->natoms].variable[0] = number[v[0]];
		part->atoms[q->natoms++].variable[1] = number[v[1]];
	}
	for (uint32_t r = 0; r < query->nresiduals; r++)
	{
		const PpJoinResidual *residual = &query->residuals[r];

		/* the key's comparisons with itself are another level's */
		if (!(set >> residual->left & set >> residual->right & 1) ||
			(number[residual->left] == 0 && number[residual->right] == 0))
			continue;
		part->residuals[q->nresiduals].op = residual->op;
		part->residuals[q->nresiduals].left = number[residual->left];
		part->residuals[q->nresiduals++].right = number[residual->right];
	}
	q->nrelations = 1;
	q->atoms = part->atoms;
	q->residuals = part->residuals;
	q->mode = PP_JOIN_GROUPS;
}

static bool
same_parts(const Part *a, const Part *b)
{
	if (a->query.relations != b->query.relations || a->query.natoms != b->query.natoms ||
		a->query.nresiduals > 0 || b->query.nresiduals > 0)
		return false;
	for (uint32_t i = 0; i < a->query.natoms; i++)
	{
		bool		there = false;

		for (uint32_t j = 0; j < b->query.natoms; j++)
			there |= a->atoms[i].variable[0] == b->atoms[j].variable[0] &&
				a->atoms[i].variable[1] == b->atoms[j].variable[1];
		if (!there)
			return false;
	}
	return true;
}

/* Adds up a part's groups in counted[]. */
static PpJoinStatus
add_groups(const PpJoin *join, PpTeam *team, PpBudget *budget, uint64_t *counted,
		   uint64_t *seeks)
{
	PpJoinRun  *run;
	PpJoinStatus status;
	size_t		used;
	size_t		n;

	status = pp_join_open_threads(join, &budget->alloc, budget->limit - budget->used,
								  team->most, &run);
	if (status != PP_JOIN_OK)
		return status;
	used = budget->used + run->budget.peak;
	for (uint32_t i = 0; i < run->nothers; i++)
		used += run->others[i]->budget.peak;
	if (used > budget->peak)
		budget->peak = used;
	do
	{
		int64_t		keys[BATCH];
		PpCount		counts[BATCH];

		status = pp_join_groups(run, keys, counts, BATCH, &n);
		for (size_t i = 0; i < n && status == PP_JOIN_OK; i++)
			counted[keys[i]] = counts[i].low;
	} while (n > 0 && status == PP_JOIN_OK);
	*seeks = pp_join_seeks(run);
	pp_join_close(run);
	return status;
}

/*
 * Counts one part by a join of its own, whose keys are the numbers of ours;
 * ordered: they compare as keys even if they come from a hash table.
 */
static PpJoinStatus
count_part(PpJoin *join, const Part *part, bool ordered, PpTeam *team, const PpCodes *codes,
		   uint64_t **counted)
{
	PpBudget   *budget = &join->budget;
	PpJoin	   *own = pp_budget_zeros(budget, 1, offsetof(PpJoin, levels));
	PpCodes		copy = *codes;
	uint64_t	seeks = 0;
	PpJoinStatus status = PP_JOIN_OK;

	*counted = NULL;
	if (own == NULL)
		return budget->failure;
	copy.pairs = pp_budget_alloc(budget, 2 * (uint64_t) codes->nrows, sizeof(uint32_t));
	*counted = pp_budget_zeros(budget, join->dict.n, sizeof(uint64_t));
	if (copy.pairs == NULL || *counted == NULL)
		status = budget->failure;
	for (uint64_t i = 0; i < 2 * (uint64_t) codes->nrows && status == PP_JOIN_OK; i += PP_CANCEL_ROWS)
	{
		const uint64_t left = 2 * (uint64_t) codes->nrows - i;

		if (pp_cancelled(&join->cancel))
			status = PP_JOIN_CANCELLED;
		memcpy(copy.pairs + i, codes->pairs + i,
			   (left < PP_CANCEL_ROWS ? left : PP_CANCEL_ROWS) * sizeof(uint32_t));
	}
	own->cancel = join->cancel;
	own->kernels = join->kernels;
	own->mode = PP_JOIN_GROUPS;
	own->nvariables = part->query.nvariables;
	own->natoms = part->query.natoms;
	own->dict.n = join->dict.n;
	own->unordered = join->dict.kind == PP_DICT_HASH && !ordered;
	/* it allocates from the same budget */
	own->budget = *budget;
	if (status == PP_JOIN_OK)
		status = pp_oriented_build(own, &part->query, team, &copy);
	if (status == PP_JOIN_OK && own->oriented)
		status = add_groups(own, team, &own->budget, *counted, &seeks);
	if (status == PP_JOIN_OK && own->oriented == NULL)
		status = PP_JOIN_NO_FIT;
	join->seeks += seeks;
	pp_oriented_release(own);
	*budget = own->budget;
	pp_budget_release(budget, copy.pairs);
	pp_budget_release(budget, own);
	if (status != PP_JOIN_OK)
	{
		pp_budget_release(budget, *counted);
		*counted = NULL;
	}
	return status;
}

PpJoinStatus
pp_parts_count(PpJoin *join, const PpJoinQuery *query, PpTeam *team, const PpCodes *codes)
{
	bool		ordered = false;

	for (uint32_t r = 0; r < query->nresiduals; r++)
		ordered |= query->residuals[r].op != PP_JOIN_NE;
	for (uint32_t root = 1; root < join->nvariables; root++)
	{
		PpLevelPlan *plan = &join->levels[root];
		Part		part;
		PpJoinStatus status = PP_JOIN_OK;
		uint32_t	set = 0;

		if (plan->part == 0 || plan->within || plan->constant ||
			plan->needs != UINT32_C(1) << plan->key)
			continue;
		for (uint32_t v = 0; v < join->nvariables; v++)
			if ((plan->part | plan->needs) >> v & 1)
				set |= UINT32_C(1) << join->levels[v].variable;
		if (!pp_plan_clique(query, set, join->levels[plan->key].variable))
			continue;
		make_part(&part, join, query, root);
		for (uint32_t before = 1; before < root && plan->counted == NULL; before++)
			if (join->levels[before].counted && join->levels[before].key == plan->key)
			{
				Part		other;

				make_part(&other, join, query, before);
				if (same_parts(&part, &other))
					plan->counted = join->levels[before].counted;
			}
		if (plan->counted == NULL)
			status = count_part(join, &part, ordered, team,
								&codes[part.query.relations - query->relations], &plan->counted);
		/* without it, levels count as others do */
		if (status != PP_JOIN_OK && status != PP_JOIN_NO_FIT && status != PP_JOIN_TOO_MANY)
			return status;
		for (uint32_t v = 0; v < join->nvariables && plan->counted; v++)
			if (plan->part >> v & 1)
				join->levels[v].within = true;
	}
	return PP_JOIN_OK;
}

void
pp_parts_release(PpJoin *join)
{
	for (uint32_t v = 0; v < join->nvariables; v++)
	{
		bool		shared = false;

		for (uint32_t before = 0; before < v; before++)
			shared |= join->levels[before].counted == join->levels[v].counted;
		if (!shared)
			pp_budget_release(&join->budget, join->levels[v].counted);
	}
}
