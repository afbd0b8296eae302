/*-------------------------------------------------------------------------
 *
 * path.c
 *		Offers the paths of cyclic cores, and installs the planner hooks.
 *
 * A core's path is one of the join relation of its members, where the
 * server's own paths are its competition.  It is made from what the query
 * says, never from paths that are there already: those may enforce a condition
 * that cannot be seen in them, and may be freed any time.
 *
 * IDENTIFICATION
 *		src/join/path.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"

#include "core.h"

static set_join_pathlist_hook_type next_join_pathlist_hook = NULL;

const CustomPathMethods parparaw_join_path_methods = {
	.CustomName = PARPARAW_JOIN_NAME,
	.PlanCustomPath = parparaw_plan_join,
};

/* The aliases of a core, for messages. */
char *
parparaw_core_names(PlannerInfo *root, const PpCore *core)
{
	StringInfoData names;
	int			member = -1;

	initStringInfo(&names);
	while ((member = bms_next_member(core->relids, member)) >= 0)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
						 planner_rt_fetch(member, root)->eref->aliasname);
	return names.data;
}

bool
parparaw_is_join_path(const Path *path)
{
	return IsA(path, CustomPath) &&
		((const CustomPath *) path)->methods == &parparaw_join_path_methods;
}

/* Adds a core's path to those of the join relation of its members. */
static void
offer_core(PlannerInfo *root, RelOptInfo *joinrel, PpCore *core)
{
	CustomPath *path;
	PpCoreCost	cost;
	ListCell   *lc;

	foreach(lc, joinrel->reltarget->exprs)
	{
		Var		   *var = lfirst(lc);
		int			variable;

		if (!IsA(var, Var))
		{
			core->rows_refused = "an expression of an outer join";
			return;
		}

		/*
		 * Which of several equal values a group, say, shows depends on the
		 * order of rows.
		 */
		variable = parparaw_core_variable(core, var);
		if (variable >= 0 && core->variables[variable].key.kind == PP_KEY_EQUAL)
		{
			core->rows_refused = "it returns keys whose equals may look different";
			return;
		}
	}

	parparaw_core_cost(root, core, PP_JOIN_ROWS, joinrel->rows, &cost);
	core->cost = cost.total;
	if (parparaw_join_cost_factor > 0)
		cost.total += joinrel->reltarget->cost.startup +
			joinrel->reltarget->cost.per_tuple * joinrel->rows;

	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = joinrel;
	path->path.pathtarget = joinrel->reltarget;
	path->path.rows = joinrel->rows;
	path->path.startup_cost = cost.startup;
	path->path.total_cost = cost.total;
	pp_set_path_disabled_nodes(&path->path, cost.disabled_nodes);

	/*
	 * The node may use several threads, or have workers below, and all of
	 * work_mem: it is not to run in several processes at a time.
	 */
	path->path.parallel_safe = false;
	path->flags = PP_CUSTOMPATH_PROJECTS;
	for (int i = 0; i < core->nchildren; i++)
		path->custom_paths = lappend(path->custom_paths, core->children[i].path);
	path->custom_private = list_make5_int(core->number, PP_JOIN_ROWS, -1, cost.threads,
										  cost.work);
	path->methods = &parparaw_join_path_methods;
	add_path(joinrel, &path->path);
}

/* Adds the path of the core that a join relation is of, if it is of one. */
void
parparaw_offer_cores(PpCores *cores, RelOptInfo *joinrel)
{
	ListCell   *lc;

	if (joinrel->reloptkind != RELOPT_JOINREL || IS_DUMMY_REL(joinrel))
		return;
	foreach(lc, cores->cores)
	{
		PpCore	   *core = lfirst(lc);
		bool		there = false;
		ListCell   *lc2;

		if (core->refused || !bms_equal(joinrel->relids, core->relids))
			continue;

		/* once is enough; where join relations come and go, look */
		if (core->offered == joinrel)
		{
			if (!cores->again)
				continue;
			foreach(lc2, joinrel->pathlist)
				there |= parparaw_is_join_path(lfirst(lc2));
			if (there)
				continue;
		}
		core->offered = joinrel;
		offer_core(cores->root, joinrel, core);
	}
}

/* set_join_pathlist_hook: called for each pair whose join a relation is. */
static void
join_pathlist(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
			  RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	PpCores    *cores;

	if (next_join_pathlist_hook)
		next_join_pathlist_hook(root, joinrel, outerrel, innerrel, jointype, extra);

	if (!parparaw_enable_join || jointype != JOIN_INNER)
		return;
	cores = parparaw_known_cores(root);
	if (cores)
		parparaw_offer_cores(cores, joinrel);
}

void
parparaw_join_install_hooks(void)
{
	next_join_pathlist_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = join_pathlist;
	parparaw_install_join_search();
	parparaw_install_upper_paths();
}
