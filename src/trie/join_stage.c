/*
 * src/trie/join_stage.c
 *	  Plans a join as passes over levels, as join_stage.h says, from the tree
 *	  of levels that join_plan.c makes.
 *
 * What hangs on one level of the tree alone, beside other things or counted
 * again for the same value, becomes a stage by value and a factor of that
 * level; what hangs on none, a stage whose count multiplies the answer.  All
 * else is gone through in the order of the tree, leaves as soon as what they
 * read is bound.  A factor is counted for every value that the level may have,
 * as a device counts thousands of them at a time and cannot tell which will be
 * asked for.
 *
 * Reads the query only, none of its rows.
 */
#include <stddef.h>
#include <string.h>

#include "join_private.h"

/* A stage while it is put together. */
typedef struct Building
{
	PpStage		stage;
	uint32_t	nlists;
	uint32_t	nheads;
	uint32_t	nresiduals;
	uint32_t	level[PP_JOIN_MAX_VARIABLES];	/* of the join, in the stage's order */
	uint8_t		place[PP_JOIN_MAX_VARIABLES];	/* the other way round */
	bool		bare;			/* level 0 is there for its value only */
} Building;

/* What becomes of a child of a level. */
typedef enum Child
{
	CONSTANT,
	FACTOR,
	HERE
} Child;

static uint8_t add_stage(const PpJoin *join, PpStagePlan *plan, uint32_t root, bool keyed,
						 uint32_t key, bool by_value);

static Child
becomes(const PpJoin *join, uint32_t parent, uint32_t child)
{
	const PpLevelPlan *plan = &join->levels[child];
	uint32_t	beside = 0;

	if (plan->constant)
		return CONSTANT;
	for (uint32_t c = 0; c < join->levels[parent].nchildren; c++)
		beside += !join->levels[join->levels[parent].children[c]].constant;
	/* each value of a stage's first level comes once */
	return plan->needs == UINT32_C(1) << parent &&
		((plan->kept && !join->levels[parent].constant) || beside > 1) ? FACTOR : HERE;
}

/* Does no level of the same stage read this one? */
static bool
is_leaf(const PpJoin *join, uint32_t level)
{
	const PpLevelPlan *plan = &join->levels[level];

	for (uint32_t c = 0; c < plan->nchildren; c++)
		if (becomes(join, level, plan->children[c]) == HERE)
			return false;
	return true;
}

/* Puts a level of the join at the stage's end. */
static PpStageLevel *
put(Building *building, const PpJoin *join, uint32_t level)
{
	const uint32_t at = building->stage.nlevels++;
	PpStageLevel *out = &building->stage.level[at];

	building->level[at] = level;
	building->place[level] = (uint8_t) at;
	out->variable = (uint8_t) join->levels[level].variable;
	return out;
}

/* Levels from one on, which is put there already. */
static void
go_through(Building *building, const PpJoin *join, PpStagePlan *plan, uint32_t level,
		   PpStageLevel *out)
{
	const PpLevelPlan *here = &join->levels[level];

	for (uint32_t c = 0; c < here->nchildren; c++)
	{
		const uint32_t child = here->children[c];
		const Child what = becomes(join, level, child);

		if (what == CONSTANT)
			plan->constant[plan->nconstants++] = add_stage(join, plan, child, false, 0, false);
		else if (what == FACTOR)
			out->factor[out->nfactors++] = add_stage(join, plan, child, true, level, true);
	}
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t c = 0; c < here->nchildren; c++)
		{
			const uint32_t child = here->children[c];
			PpStageLevel *next;

			if (becomes(join, level, child) != HERE || is_leaf(join, child) != (pass == 0))
				continue;
			next = put(building, join, child);
			next->leaf = pass == 0;
			go_through(building, join, plan, child, next);
		}
}

static void
add_lists(Building *building, const PpLevelPlan *from, PpStageLevel *out, bool sorted)
{
	PpStageList *list = building->stage.list;

	out->first_list = (uint8_t) building->nlists;
	out->nlists = (uint8_t) from->nlists;
	for (uint32_t k = 0; k < from->nlists; k++)
	{
		const PpLevelList *in = &from->lists[k];
		uint32_t	at = building->nlists++;
		PpStageList new_list;

		new_list.trie = (uint8_t) in->trie;
		new_list.atom = (uint8_t) in->atom;
		new_list.loops = building->level[out - building->stage.level] == in->from;
		new_list.from = building->place[in->from];
		for (; sorted && at > out->first_list &&
			 (list[at - 1].trie > new_list.trie ||
			  (list[at - 1].trie == new_list.trie && list[at - 1].from > new_list.from)); at--)
			list[at] = list[at - 1];
		list[at] = new_list;
	}
}

/* Is a trie read at a level's value by a list of the stage? */
static bool
reads(const Building *building, const PpJoin *join, uint32_t trie, uint32_t level)
{
	for (uint32_t at = 1; at < building->stage.nlevels; at++)
	{
		const PpLevelPlan *plan = &join->levels[building->level[at]];

		for (uint32_t k = 0; k < plan->nlists; k++)
			if (plan->lists[k].trie == trie && plan->lists[k].from == level)
				return true;
	}
	return false;
}

/* Fills in what bounds the levels, once all of them are there. */
static void
bound_levels(Building *building, const PpJoin *join)
{
	for (uint32_t at = 0; at < building->stage.nlevels; at++)
	{
		const PpLevelPlan *from = &join->levels[building->level[at]];
		PpStageLevel *out = &building->stage.level[at];
		const bool	bare = building->bare && at == 0;

		if (!bare)
			add_lists(building, from, out, join->mode != PP_JOIN_ROWS);
		out->first_head = (uint8_t) building->nheads;
		for (uint32_t h = 0; h < from->nheads; h++)
			if (bare || reads(building, join, from->heads[h], building->level[at]))
				building->stage.head[building->nheads++] = (uint8_t) from->heads[h];
		out->nheads = (uint8_t) (building->nheads - out->first_head);
		out->first_residual = (uint8_t) building->nresiduals;
		for (uint32_t r = 0; r < from->nresiduals && !bare; r++)
		{
			PpStageResidual *residual = &building->stage.residual[building->nresiduals++];

			residual->op = (uint8_t) from->residuals[r].op;
			residual->level = building->place[from->residuals[r].level];
		}
		out->nresiduals = (uint8_t) (building->nresiduals - out->first_residual);
	}
}

/* Two stages that count the same, whatever variables and atoms they are of. */
static bool
same(const PpStage *a, const PpStage *b)
{
	PpStage		x = *a;
	PpStage		y = *b;

	for (uint32_t v = 0; v < PP_JOIN_MAX_VARIABLES; v++)
		x.level[v].variable = y.level[v].variable = 0;
	for (uint32_t k = 0; k < PP_JOIN_MAX_ATOMS; k++)
		x.list[k].atom = y.list[k].atom = 0;
	return memcmp(&x, &y, sizeof(x)) == 0;
}

/*
 * Adds the stage of a level and what is below it, for each value of the level
 * key if it is keyed, and those that it needs before it; answers its number,
 * or that of a stage that counts the same.
 */
static uint8_t
add_stage(const PpJoin *join, PpStagePlan *plan, uint32_t root, bool keyed, uint32_t key,
		  bool by_value)
{
	Building	building;
	PpStageLevel *first;

	memset(&building, 0, sizeof(building));
	building.stage.by_value = by_value;
	building.bare = keyed;
	if (keyed)
		(void) put(&building, join, key);
	first = put(&building, join, root);
	first->leaf = keyed && is_leaf(join, root);
	go_through(&building, join, plan, root, first);
	bound_levels(&building, join);
	if (root > 0)
		for (uint32_t s = 0; s < plan->nstages; s++)
			if (same(&plan->stage[s], &building.stage))
				return (uint8_t) s;
	plan->stage[plan->nstages] = building.stage;
	return (uint8_t) plan->nstages++;
}

/* All levels one after another. */
static void
add_rows_stage(const PpJoin *join, PpStagePlan *plan)
{
	Building	building;

	memset(&building, 0, sizeof(building));
	for (uint32_t v = 0; v < join->nvariables; v++)
		(void) put(&building, join, v);
	bound_levels(&building, join);
	plan->stage[plan->nstages++] = building.stage;
}

PpJoinStatus
pp_stages_plan(const PpJoinQuery *query, const PpJoinSides *sides, const PpAlloc *alloc,
			   PpStagePlan *plan)
{
	const PpCancel never = {NULL, NULL};
	PpJoinQuery general = *query;
	PpBudget	budget;
	PpJoin	   *join;
	PpJoinStatus status;

	if (!pp_plan_valid(query))
		return PP_JOIN_INVALID;
	/* nothing is counted beforehand but by stages */
	general.strategy = PP_JOIN_GENERAL;
	pp_budget_init(&budget, alloc, SIZE_MAX, &never);
	join = pp_budget_zeros(&budget, 1, offsetof(PpJoin, levels) +
						   query->nvariables * sizeof(PpLevelPlan));
	if (join == NULL)
		return budget.failure;
	join->mode = query->mode;
	join->nvariables = query->nvariables;
	join->natoms = query->natoms;
	join->info.strategy = PP_JOIN_GENERAL;
	status = pp_join_order_by(&general, &budget, sides, query->mode == PP_JOIN_GROUPS ?
							  query->group : query->nvariables, join->info.order);
	if (status == PP_JOIN_OK)
	{
		pp_plan_levels(join, query);
		memset(plan, 0, sizeof(*plan));
		for (uint32_t v = 0; v < query->nvariables; v++)
			plan->order[v] = join->info.order[v];
		plan->empty = join->empty;
		plan->ntries = join->ntries;
		plan->nshared = join->info.nshared;
		for (uint32_t t = 0; t < join->ntries; t++)
		{
			plan->trie[t].relation = (uint8_t) join->tries[t].relation;
			plan->trie[t].order = (uint8_t) join->tries[t].order;
		}
		if (query->mode == PP_JOIN_ROWS)
			add_rows_stage(join, plan);
		else
		{
			pp_plan_products(join);
			(void) add_stage(join, plan, 0, false, 0, query->mode == PP_JOIN_GROUPS);
		}
	}
	pp_budget_release(&budget, join);
	return status;
}
