/*-------------------------------------------------------------------------
 *
 * upper.c
 *		Counting in the join: count(*) of a cyclic query, as a whole or for
 *		each value of one of its keys.
 *
 * That is offered only if the engine evaluates every condition of the join,
 * and for queries whose only aggregates are count(*), or counts of what is
 * never NULL, which is the same.  HAVING is checked on the rows that come out.
 * Anything else stays with the server's Aggregate above the join's rows.
 *
 * Relations that hang on a core by one key, or by a path of them, multiply
 * counts.  They are joined by the engine here, too, if the query is nothing
 * else.
 *
 * IDENTIFICATION
 *		src/join/upper.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "../parse/mutation.h"
#include "core.h"

static create_upper_paths_hook_type next_upper_paths_hook = NULL;

/* The variable that a column is, looking through casts; or -1. */
static int
expression_variable(const PpCore *core, Node *node)
{
	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var))
		return -1;
	return parparaw_core_variable(core, (Var *) node);
}

/* Does the aggregate count the join's rows? */
static bool
is_count(const PpCore *core, const Aggref *aggref)
{
	if (aggref->aggdistinct != NIL || aggref->aggorder != NIL ||
		aggref->aggfilter != NULL || aggref->agglevelsup != 0 ||
		aggref->aggsplit != AGGSPLIT_SIMPLE ||
		pp_function_aclcheck(aggref->aggfnoid) != ACLCHECK_OK)
		return false;
	if (aggref->aggfnoid == F_COUNT_)
		return true;

	/* keys of rows that were joined are not NULL */
	return aggref->aggfnoid == F_COUNT_ANY && list_length(aggref->args) == 1 &&
		expression_variable(core, (Node *) linitial_node(TargetEntry, aggref->args)->expr) >= 0;
}

/*
 * Can the core's node compute these expressions?  Of columns they may use that
 * of the group only.
 */
static bool
are_computable(const PpCore *core, Node *exprs, int group)
{
	List	   *columns;
	ListCell   *lc;

	if (contain_subplans(exprs) || expression_returns_set(exprs))
		return false;
	columns = pull_var_clause(exprs, PVC_INCLUDE_AGGREGATES | PVC_INCLUDE_WINDOWFUNCS |
							  PVC_INCLUDE_PLACEHOLDERS);
	foreach(lc, columns)
	{
		Node	   *column = lfirst(lc);

		if (IsA(column, Aggref))
		{
			if (!is_count(core, (Aggref *) column))
				return false;
		}
		else if (!IsA(column, Var) || group < 0 ||
				 parparaw_core_variable(core, (Var *) column) != group)
			return false;
	}
	return true;
}

/*
 * Is the query one that counts, and can this core, which is of all its
 * relations, answer it?  *group is the variable to group by, or -1.
 */
static bool
can_count(PlannerInfo *root, const PpCore *core, PathTarget *target, int *group)
{
	Query	   *parse = root->parse;
	ListCell   *lc;

	*group = -1;
	if (core->refused ||
		(core->quals != NIL && !PP_MUTATED(join_quals_lost)) ||
		parse->groupingSets != NIL || parse->hasTargetSRFs || !parse->hasAggs)
		return false;

	foreach(lc, parse->groupClause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		TargetEntry *entry = get_sortgroupclause_tle(clause, root->processed_tlist);
		int			variable = expression_variable(core, (Node *) entry->expr);

		if (variable < 0 || (*group >= 0 && variable != *group))
			return false;
		*group = variable;

		/* groups are to be those of the join's equality, and of equal images */
		if (core->variables[variable].key.kind == PP_KEY_EQUAL ||
			get_op_opfamily_strategy(clause->eqop,
									 linitial_oid(core->variables[variable].ec->ec_opfamilies)) == 0)
			return false;
		if (exprCollation((Node *) entry->expr) != core->variables[variable].key.collation)
			return false;
	}
	return are_computable(core, (Node *) target->exprs, *group) &&
		are_computable(core, parse->havingQual, *group);
}

/* The core of all of a query's relations, made if it is not there. */
static PpCore *
whole_core(PlannerInfo *root, PpCores *cores)
{
	ListCell   *lc;

	foreach(lc, cores->cores)
	{
		PpCore	   *core = lfirst(lc);

		if (bms_equal(core->relids, root->all_baserels))
			return core;
	}
	if (root->join_info_list != NIL)
		return NULL;
	return parparaw_make_core(cores, root->all_baserels, true);
}

/* What counting costs if the query only does that; false if it does not. */
bool
parparaw_count_cost(PlannerInfo *root, PpCore *core, PpCoreCost *cost)
{
	PathTarget *target;
	int			group;

	if (!root->parse->hasAggs || !bms_equal(core->relids, root->all_baserels))
		return false;
	target = create_pathtarget(root, root->processed_tlist);
	if (!can_count(root, core, target, &group))
		return false;
	parparaw_core_cost(root, core, group < 0 ? PP_JOIN_COUNT : PP_JOIN_GROUPS, 1, cost);
	return true;
}

/* create_upper_paths_hook */
static void
upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
			RelOptInfo *output_rel, void *extra)
{
	PpCores    *cores;
	PpCore	   *core;
	CustomPath *path;
	PpCoreCost	cost;
	PpJoinMode	mode;
	int			group;
	double		rows = 1;

	if (next_upper_paths_hook)
		next_upper_paths_hook(root, stage, input_rel, output_rel, extra);

	if (stage != UPPERREL_GROUP_AGG || !parparaw_enable_join ||
		input_rel->reloptkind != RELOPT_JOINREL || IS_DUMMY_REL(input_rel))
		return;
	cores = parparaw_known_cores(root);
	if (cores == NULL || !root->parse->hasAggs)
		return;
	core = whole_core(root, cores);
	if (core == NULL || !bms_equal(core->relids, input_rel->relids))
		return;
	if (!can_count(root, core, output_rel->reltarget, &group))
	{
		if (core->refused == NULL)
			ereport(DEBUG1,
					(errmsg_internal("cyclic join of %s: rows are not counted in the join",
									 parparaw_core_names(root, core))));
		return;
	}

	mode = group < 0 ? PP_JOIN_COUNT : PP_JOIN_GROUPS;
	if (group >= 0)
	{
		rows = estimate_num_groups(root,
								   get_sortgrouplist_exprs(root->parse->groupClause,
														   root->processed_tlist),
								   input_rel->rows, NULL, NULL);
	}
	parparaw_core_cost(root, core, mode, rows, &cost);
	if (root->parse->havingQual)
	{
		QualCost	qual_cost;

		cost_qual_eval(&qual_cost, (List *) root->parse->havingQual, root);
		cost.total += parparaw_join_cost_factor *
			(qual_cost.startup + qual_cost.per_tuple * rows);
		rows = clamp_row_est(rows *
							 clauselist_selectivity(root, (List *) root->parse->havingQual,
													0, JOIN_INNER, NULL));
	}

	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = output_rel;
	path->path.pathtarget = output_rel->reltarget;
	path->path.rows = rows;
	path->path.startup_cost = cost.startup;
	path->path.total_cost = cost.total;
	pp_set_path_disabled_nodes(&path->path, cost.disabled_nodes);
	path->flags = PP_CUSTOMPATH_PROJECTS;
	for (int i = 0; i < core->nchildren; i++)
		path->custom_paths = lappend(path->custom_paths, core->children[i].path);
	path->custom_private = list_make5_int(core->number, mode, group, cost.threads, cost.work);
	path->methods = &parparaw_join_path_methods;
	add_path(output_rel, &path->path);

	if (message_level_is_interesting(DEBUG1) &&
		!list_member_ptr(output_rel->pathlist, path))
		ereport(DEBUG1,
				(errmsg_internal("cyclic join of %s not chosen for counting: cost %.2f is not the lowest",
								 parparaw_core_names(root, core), cost.total)));
}

void
parparaw_install_upper_paths(void)
{
	next_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = upper_paths;
}
