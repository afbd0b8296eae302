/*-------------------------------------------------------------------------
 *
 * search.c
 *		The search for join orders of queries that have cyclic cores.
 *
 * The server's own search finds small cores: it makes the join relation of
 * their members among others, and path.c is told.  For a clique of five it
 * takes half a second, though, and it does not see cores that collapse limits
 * have torn into several problems, or not certainly if it is the genetic one.
 * In these cases the core's relation is made first, in one greedy order, and
 * joined as a unit to the rest.  If the path of ours wins there, against a
 * greedy plan of the server's joins, that is it, for a large core; so it is if
 * the plan found, whoever's joins it has, costs less than a search for a better
 * one would.  Else the usual search is made as well, and the cheaper result
 * taken.
 *
 * IDENTIFICATION
 *		src/join/search.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/geqo.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"

#include "core.h"

/* Cores of so many relations are not searched for all orders if ours wins. */
#define LARGE_CORE	5

/*
 * What the usual search of all orders takes, in the planner's units: so much
 * for each pair of sets of relations that is joined in a clique.  On the low
 * side, since the plan that is taken instead may be worse than estimated.  The
 * genetic search looks at fewer.
 */
#define COST_OF_PAIR		1.0
#define GENETIC_SEARCH_COST	100000.0

static join_search_hook_type next_join_search_hook = NULL;

/* A problem that was planned in one order only, as part of a larger core. */
typedef struct PpDeferred
{
	RelOptInfo *result;
	List	   *made;			/* join relations, result included */
	int			levels_needed;
	List	   *initial_rels;
} PpDeferred;

/*
 * Join relations made so far, to come back to.
 *
 * A search adds paths to the relations it finds, and adding one frees others,
 * which the paths of larger relations may refer to.  So a search never goes on
 * with relations that another one has finished, but for those it is given.
 */
typedef struct PpSearchState
{
	List	   *join_rel_list;
	List	   *initial_rels;
} PpSearchState;

static void
save_search(PlannerInfo *root, PpSearchState *state)
{
	state->join_rel_list = root->join_rel_list;
	state->initial_rels = root->initial_rels;
}

/* The table by which the server finds them is made again when it is needed. */
static void
set_join_rels(PlannerInfo *root, List *join_rel_list)
{
	root->join_rel_list = join_rel_list;
	root->join_rel_hash = NULL;
}

/* Two lists of join relations, the first having precedence. */
static List *
merge_join_rels(List *first, List *second)
{
	List	   *merged = list_copy(first);
	ListCell   *lc;

	foreach(lc, second)
	{
		RelOptInfo *rel = lfirst(lc);
		bool		found = false;
		ListCell   *lc2;

		foreach(lc2, first)
			found |= bms_equal(((RelOptInfo *) lfirst(lc2))->relids, rel->relids);
		if (!found)
			merged = lappend(merged, rel);
	}
	return merged;
}

/* What the server, or whoever was there before us, would do. */
static RelOptInfo *
usual_search(PlannerInfo *root, PpCores *cores, int levels_needed, List *initial_rels)
{
	root->initial_rels = initial_rels;
	if (next_join_search_hook || (enable_geqo && levels_needed >= geqo_threshold))
	{
		RelOptInfo *rel;

		if (cores)
			cores->again = true;
		rel = next_join_search_hook ?
			next_join_search_hook(root, levels_needed, initial_rels) :
			geqo(root, levels_needed, initial_rels);
		if (cores)
			cores->again = false;
		return rel;
	}
	return standard_join_search(root, levels_needed, initial_rels);
}

/*
 * The relation of two joined, complete with paths; NULL if it is not legal.
 * Paths of cores are offered here, too: releases before 17 do not call the hook
 * for joins that have conditions which depend on no row.
 */
static RelOptInfo *
join_two(PlannerInfo *root, PpCores *cores, RelOptInfo *left, RelOptInfo *right)
{
	RelOptInfo *rel = make_join_rel(root, left, right);

	if (rel == NULL)
		return NULL;
	parparaw_offer_cores(cores, rel);
	generate_partitionwise_join_paths(root, rel);
	if (!bms_equal(rel->relids, pp_all_query_relids(root)))
		generate_useful_gather_paths(root, rel, false);
	set_cheapest(rel);
	return rel;
}

/*
 * The relations joined one after another.  First comes the smallest; then,
 * always, the one that most variables connect to those before, and of these
 * the smallest.
 */
static RelOptInfo *
greedy_join(PlannerInfo *root, PpCores *cores, List *rels)
{
	RelOptInfo *joined = NULL;
	List	   *left = list_copy(rels);

	while (left != NIL)
	{
		RelOptInfo *best = NULL;
		int			best_links = -1;
		ListCell   *lc;

		foreach(lc, left)
		{
			RelOptInfo *rel = lfirst(lc);
			int			links = 0;
			ListCell   *lc2;

			if (joined)
			{
				foreach(lc2, cores->classes)
				{
					EquivalenceClass *ec = lfirst(lc2);

					links += bms_overlap(ec->ec_relids, joined->relids) &&
						bms_overlap(ec->ec_relids, rel->relids);
				}
			}
			if (links > best_links || (links == best_links && rel->rows < best->rows))
			{
				best = rel;
				best_links = links;
			}
		}
		left = list_delete_ptr(left, best);
		joined = joined ? join_two(root, cores, joined, best) : best;
		if (joined == NULL)
			return NULL;
	}
	return joined;
}

/* The base relations of a set, as a list. */
static List *
base_rels(PlannerInfo *root, Relids relids)
{
	List	   *rels = NIL;
	int			member = -1;

	while ((member = bms_next_member(relids, member)) >= 0)
	{
		if (bms_is_member(member, root->all_baserels))
			rels = lappend(rels, find_base_rel(root, member));
	}
	return rels;
}

/* A problem's items without a core, those that it cuts through taken apart. */
static List *
other_items(PlannerInfo *root, const PpCore *core, List *initial_rels)
{
	List	   *items = NIL;
	ListCell   *lc;

	foreach(lc, initial_rels)
	{
		RelOptInfo *rel = lfirst(lc);

		if (!bms_overlap(rel->relids, core->relids))
			items = lappend(items, rel);
		else
			items = list_concat(items, base_rels(root, bms_difference(rel->relids,
																	  core->relids)));
	}
	return items;
}

/*
 * Plans the problem with a core, joined greedily, as one of its items.  NULL if
 * it cannot be.
 */
static RelOptInfo *
core_first(PlannerInfo *root, PpCores *cores, const PpCore *core, List *items)
{
	RelOptInfo *joined;

	root->initial_rels = list_concat(base_rels(root, core->relids), items);
	joined = greedy_join(root, cores, base_rels(root, core->relids));
	if (joined == NULL || items == NIL)
		return joined;
	return usual_search(root, cores, list_length(items) + 1, lcons(joined, list_copy(items)));
}

/* Is a path of ours for the core in a plan? */
static bool
uses_core(Path *path, const PpCore *core)
{
	if (path == NULL)
		return false;
	if (parparaw_is_join_path(path))
		return list_nth_int(((CustomPath *) path)->custom_private, PP_CORE_NUMBER) ==
			core->number;
	switch (nodeTag(path))
	{
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			return uses_core(((JoinPath *) path)->outerjoinpath, core) ||
				uses_core(((JoinPath *) path)->innerjoinpath, core);
		case T_MaterialPath:
			return uses_core(((MaterialPath *) path)->subpath, core);
		case T_MemoizePath:
			return uses_core(((MemoizePath *) path)->subpath, core);
		case T_UniquePath:
			return uses_core(((UniquePath *) path)->subpath, core);
		case T_ProjectionPath:
			return uses_core(((ProjectionPath *) path)->subpath, core);
		case T_SortPath:
		case T_IncrementalSortPath:
			return uses_core(((SortPath *) path)->subpath, core);
		default:
			return false;
	}
}

/* A relation's cheapest path for the query's purpose. */
static Path *
best_path(PlannerInfo *root, RelOptInfo *rel)
{
	return root->tuple_fraction > 0 ?
		get_cheapest_fractional_path(rel, root->tuple_fraction) :
		rel->cheapest_total_path;
}

/* Which of two results is the cheaper one? */
static bool
is_cheaper(PlannerInfo *root, RelOptInfo *a, RelOptInfo *b)
{
	if (root->tuple_fraction > 0)
		return compare_fractional_path_costs(best_path(root, a), best_path(root, b),
											 root->tuple_fraction) < 0;
	return compare_path_costs(best_path(root, a), best_path(root, b), TOTAL_COST) < 0;
}

/* Plans again what had been planned in one order only, which is forgotten. */
static List *
undefer(PlannerInfo *root, PpCores *cores, List *initial_rels)
{
	List	   *rels = NIL;
	ListCell   *lc;

	foreach(lc, initial_rels)
	{
		RelOptInfo *rel = lfirst(lc);
		ListCell   *lc2;

		foreach(lc2, cores->deferred)
		{
			PpDeferred *deferred = lfirst(lc2);

			if (deferred->result == rel)
			{
				rel = usual_search(root, cores, deferred->levels_needed,
								   undefer(root, cores, deferred->initial_rels));
				break;
			}
		}
		rels = lappend(rels, rel);
	}
	return rels;
}

static void
search_debug(PlannerInfo *root, PpCores *cores, RelOptInfo *rel)
{
	ListCell   *lc;

	if (!message_level_is_interesting(DEBUG1))
		return;
	foreach(lc, cores->cores)
	{
		PpCore	   *core = lfirst(lc);

		if (core->refused)
			ereport(DEBUG1,
					(errmsg_internal("cyclic join of %s not offered: %s",
									 parparaw_core_names(root, core), core->refused)));
		else if (core->rows_refused)
			ereport(DEBUG1,
					(errmsg_internal("cyclic join of %s not offered for its rows: %s",
									 parparaw_core_names(root, core), core->rows_refused)));
		else if (core->offered == NULL)
			ereport(DEBUG1,
					(errmsg_internal("cyclic join of %s not offered: its relations are not joined first",
									 parparaw_core_names(root, core))));
		else if (!uses_core(best_path(root, rel), core) &&
				 core->cost < best_path(root, rel)->total_cost)
			ereport(DEBUG1,
					(errmsg_internal("cyclic join of %s not chosen for its rows: another plan is cheaper for those that are wanted",
									 parparaw_core_names(root, core))));
		else if (!uses_core(best_path(root, rel), core))
			ereport(DEBUG1,
					(errmsg_internal("cyclic join of %s not chosen for its rows: cost %.2f, of the best plan %.2f",
									 parparaw_core_names(root, core), core->cost,
									 best_path(root, rel)->total_cost)));
	}
}

/* The core to be joined first in this problem, or NULL. */
static PpCore *
pick_core(PlannerInfo *root, PpCores *cores, int levels_needed, List *initial_rels,
		  Relids relids)
{
	PpCore	   *best = NULL;
	ListCell   *lc;

	foreach(lc, cores->cores)
	{
		PpCore	   *core = lfirst(lc);
		bool		torn = false;
		ListCell   *lc2;

		if (core->refused || !bms_is_subset(core->relids, relids))
			continue;
		foreach(lc2, initial_rels)
		{
			RelOptInfo *rel = lfirst(lc2);

			if (bms_overlap(rel->relids, core->relids) &&
				bms_membership(rel->relids) == BMS_MULTIPLE)
			{
				/* has it been dealt with in a smaller problem? */
				if (bms_is_subset(core->relids, rel->relids))
				{
					torn = false;
					goto next;
				}
				torn = true;
			}
		}
		if (!torn && core->natoms < LARGE_CORE && core->gates == NIL &&
			!(enable_geqo && levels_needed >= geqo_threshold) &&
			parparaw_join_cost_factor > 0)
			continue;
		if (best == NULL || core->natoms > best->natoms)
			best = core;
next:	;
	}
	return best;
}

/* Is the problem but a part of a core? */
static bool
is_part_of_core(PpCores *cores, Relids relids)
{
	ListCell   *lc;

	foreach(lc, cores->cores)
	{
		PpCore	   *core = lfirst(lc);

		if (!core->refused && bms_is_subset(relids, core->relids) &&
			!bms_equal(relids, core->relids))
			return true;
	}
	return false;
}

/* What a search for a better order of so many relations would cost. */
static Cost
search_cost(int nrels)
{
	if (enable_geqo && nrels >= geqo_threshold)
		return GENETIC_SEARCH_COST;
	return COST_OF_PAIR * (pow(3, nrels) + 1) / 2 - pow(2, nrels);
}

/*
 * Is the result with the core first so good that it is not worth while to
 * search further?  The rival is a plan in one greedy order: among a core's
 * paths if that is all there is to join, else one over all items, which may
 * begin with a selective one outside of the core.
 */
static bool
wins(PlannerInfo *root, PpCores *cores, PpCore *core, List *items, RelOptInfo *ours)
{
	PpCoreCost	count;
	RelOptInfo *rival;

	if (parparaw_join_cost_factor == 0)
		return uses_core(best_path(root, ours), core);
	if (core->natoms < LARGE_CORE)
		return false;
	if (ours->cheapest_total_path->total_cost <
		search_cost(core->natoms + list_length(items)))
		return true;
	if (items == NIL)
		return uses_core(best_path(root, ours), core) ||
			(parparaw_count_cost(root, core, &count) &&
			 count.total < ours->cheapest_total_path->total_cost);
	if (!uses_core(best_path(root, ours), core))
		return false;
	set_join_rels(root, NIL);
	root->initial_rels = list_concat(base_rels(root, core->relids), items);
	rival = greedy_join(root, cores, root->initial_rels);
	return rival && is_cheaper(root, ours, rival);
}

/* join_search_hook */
static RelOptInfo *
join_search(PlannerInfo *root, int levels_needed, List *initial_rels)
{
	PpCores    *cores = NULL;
	PpCore	   *core;
	Relids		relids = NULL;
	RelOptInfo *ours;
	RelOptInfo *rel;
	List	   *ours_made = NIL;
	PpSearchState before;
	ListCell   *lc;

	if (parparaw_enable_join && bms_num_members(root->all_baserels) >= 3)
		cores = parparaw_find_cores(root);
	if (cores == NULL)
		return usual_search(root, NULL, levels_needed, initial_rels);

	foreach(lc, initial_rels)
		relids = bms_add_members(relids, ((RelOptInfo *) lfirst(lc))->relids);

	save_search(root, &before);

	/* part of a core that is joined as a whole later: do not spend time on it */
	if (levels_needed > 3 && is_part_of_core(cores, relids))
	{
		set_join_rels(root, NIL);
		ours = greedy_join(root, cores, initial_rels);
		if (ours)
		{
			MemoryContext old = MemoryContextSwitchTo(root->planner_cxt);
			PpDeferred *deferred = palloc(sizeof(PpDeferred));

			deferred->result = ours;
			deferred->made = root->join_rel_list;
			deferred->levels_needed = levels_needed;
			deferred->initial_rels = list_copy(initial_rels);
			cores->deferred = lappend(cores->deferred, deferred);
			set_join_rels(root, merge_join_rels(before.join_rel_list, deferred->made));
			MemoryContextSwitchTo(old);
			return ours;
		}
		set_join_rels(root, before.join_rel_list);
	}
	foreach(lc, cores->deferred)
		before.join_rel_list = list_difference_ptr(before.join_rel_list,
												   ((PpDeferred *) lfirst(lc))->made);

	core = pick_core(root, cores, levels_needed, initial_rels, relids);
	ours = NULL;
	rel = NULL;
	if (core)
	{
		List	   *items = other_items(root, core, initial_rels);

		set_join_rels(root, NIL);
		ours = core_first(root, cores, core, items);
		ours_made = root->join_rel_list;
		if (ours && wins(root, cores, core, items, ours))
			rel = ours;
	}
	if (rel == NULL)
	{
		/* the usual way */
		set_join_rels(root, before.join_rel_list);
		rel = usual_search(root, cores, levels_needed, undefer(root, cores, initial_rels));
		if (ours && is_cheaper(root, ours, rel))
			rel = ours;
	}
	if (rel == ours)
		set_join_rels(root, merge_join_rels(ours_made, before.join_rel_list));
	root->initial_rels = before.initial_rels;

	if (bms_equal(rel->relids, pp_all_query_relids(root)))
		search_debug(root, cores, rel);
	return rel;
}

void
parparaw_install_join_search(void)
{
	next_join_search_hook = join_search_hook;
	join_search_hook = join_search;
}
