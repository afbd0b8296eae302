/*-------------------------------------------------------------------------
 *
 * aggregate.c
 *		Which aggregates a scan can compute itself, and the planning of scans
 *		that do.
 *
 * Taken are count, sum, avg, min and max over plain columns of one foreign
 * table, with no grouping or with grouping by one or two plain columns, if
 * all restrictions are evaluated in the scan too.  A grouping column's type
 * has to be one whose equal values have equal bytes.  HAVING and expressions
 * over aggregates stay with the executor.
 *
 * As partial aggregates, below the final aggregate of a partitionwise or a
 * parallel plan, only those are offered whose transition values do not depend
 * on the order of their input and are of an ordinary type.
 *
 * IDENTIFICATION
 *		src/scan/aggregate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "aggregate.h"
#include "plan_private.h"

/*
 * Costs, in units of cpu_operator_cost on the scale of plan.c: of a value for
 * an aggregate, which takes 1 nanosecond, and, for each grouping column, of a
 * record's search for its group.  That takes 7 nanoseconds where the core's
 * takes 25, for which the core estimates the cost of one operator.
 */
#define COST_OF_AGGREGATE	0.2
#define COST_OF_GROUPING	0.3

/* The path's fdw_private, in this order. */
enum PpAggregatePath
{
	PP_PATH_SCAN_TLIST,			/* target entries, see aggregate.h */
	PP_PATH_FILTERS,			/* restrictions */
	PP_PATH_HAVING,				/* what groups are checked for */
	PP_PATH_PLAN_PRIVATE		/* the plan's fdw_private */
};

/* An aggregate over a column of the given type. */
typedef struct PpKnownAggregate
{
	Oid			aggfnoid;
	Oid			type;
	PpAggKind	kind;
} PpKnownAggregate;

static const PpKnownAggregate known_aggregates[] = {
	{F_SUM_INT2, INT2OID, PP_AGG_SUM_INT},
	{F_SUM_INT4, INT4OID, PP_AGG_SUM_INT},
	{F_SUM_INT8, INT8OID, PP_AGG_SUM_INT8},
	{F_SUM_NUMERIC, NUMERICOID, PP_AGG_SUM_NUMERIC},
	{F_SUM_FLOAT4, FLOAT4OID, PP_AGG_SUM_FLOAT4},
	{F_SUM_FLOAT8, FLOAT8OID, PP_AGG_SUM_FLOAT8},

	{F_AVG_INT2, INT2OID, PP_AGG_AVG_INT},
	{F_AVG_INT4, INT4OID, PP_AGG_AVG_INT},
	{F_AVG_INT8, INT8OID, PP_AGG_AVG_INT8},
	{F_AVG_NUMERIC, NUMERICOID, PP_AGG_AVG_NUMERIC},
	{F_AVG_FLOAT4, FLOAT4OID, PP_AGG_AVG_FLOAT4},
	{F_AVG_FLOAT8, FLOAT8OID, PP_AGG_AVG_FLOAT8},

	{F_MIN_INT2, INT2OID, PP_AGG_MIN_INT},
	{F_MIN_INT4, INT4OID, PP_AGG_MIN_INT},
	{F_MIN_INT8, INT8OID, PP_AGG_MIN_INT},
	{F_MIN_DATE, DATEOID, PP_AGG_MIN_INT},
	{F_MIN_TIME, TIMEOID, PP_AGG_MIN_INT},
	{F_MIN_TIMESTAMP, TIMESTAMPOID, PP_AGG_MIN_INT},
	{F_MIN_TIMESTAMPTZ, TIMESTAMPTZOID, PP_AGG_MIN_INT},
	{F_MIN_FLOAT4, FLOAT4OID, PP_AGG_MIN_FLOAT4},
	{F_MIN_FLOAT8, FLOAT8OID, PP_AGG_MIN_FLOAT8},
	{F_MIN_NUMERIC, NUMERICOID, PP_AGG_MIN_NUMERIC},
	{F_MIN_TEXT, TEXTOID, PP_AGG_MIN_BYTES},
	{F_MIN_TEXT, VARCHAROID, PP_AGG_MIN_BYTES},
	{F_MIN_BPCHAR, BPCHAROID, PP_AGG_MIN_BPCHAR},

	{F_MAX_INT2, INT2OID, PP_AGG_MAX_INT},
	{F_MAX_INT4, INT4OID, PP_AGG_MAX_INT},
	{F_MAX_INT8, INT8OID, PP_AGG_MAX_INT},
	{F_MAX_DATE, DATEOID, PP_AGG_MAX_INT},
	{F_MAX_TIME, TIMEOID, PP_AGG_MAX_INT},
	{F_MAX_TIMESTAMP, TIMESTAMPOID, PP_AGG_MAX_INT},
	{F_MAX_TIMESTAMPTZ, TIMESTAMPTZOID, PP_AGG_MAX_INT},
	{F_MAX_FLOAT4, FLOAT4OID, PP_AGG_MAX_FLOAT4},
	{F_MAX_FLOAT8, FLOAT8OID, PP_AGG_MAX_FLOAT8},
	{F_MAX_NUMERIC, NUMERICOID, PP_AGG_MAX_NUMERIC},
	{F_MAX_TEXT, TEXTOID, PP_AGG_MAX_BYTES},
	{F_MAX_TEXT, VARCHAROID, PP_AGG_MAX_BYTES},
	{F_MAX_BPCHAR, BPCHAROID, PP_AGG_MAX_BPCHAR},

#ifdef F_MIN_BYTEA				/* not known to every major */
	{F_MIN_BYTEA, BYTEAOID, PP_AGG_MIN_BYTES},
	{F_MAX_BYTEA, BYTEAOID, PP_AGG_MAX_BYTES},
#endif
};

/* What is found out about a query before it gets a path. */
typedef struct PpAggregateQuery
{
	RelOptInfo *input;
	Relation	rel;
	bool		partial;
	List	   *tlist;
	int			naggs;
	List	   *keys;			/* resnos in tlist, of grouping columns */
	List	   *filters;
	List	   *having;
	Bitmapset  *needed;			/* attribute numbers */
} PpAggregateQuery;

/*
 * Aggregates.
 */

/* Can a transition value be handed to the server's final aggregate? */
static bool
is_partial_kind(PpAggKind kind)
{
	switch (kind)
	{
		case PP_AGG_COUNT_ALL:
		case PP_AGG_COUNT:
		case PP_AGG_SUM_INT:
		case PP_AGG_AVG_INT:
		case PP_AGG_MIN_INT:
		case PP_AGG_MAX_INT:
		case PP_AGG_MIN_BYTES:
		case PP_AGG_MAX_BYTES:
			return true;
		default:
			return false;
	}
}

bool
parparaw_can_aggregate(const Aggref *aggref, Index varno, PpAggSpec *spec)
{
	Expr	   *arg;
	Var		   *var;

	memset(spec, 0, sizeof(*spec));
	if (aggref->aggdistinct != NIL || aggref->aggorder != NIL ||
		aggref->aggfilter != NULL || aggref->aggdirectargs != NIL ||
		aggref->aggkind != AGGKIND_NORMAL || aggref->aggvariadic ||
		aggref->agglevelsup != 0)
		return false;
	if (aggref->aggsplit == AGGSPLIT_INITIAL_SERIAL)
		spec->partial = true;
	else if (aggref->aggsplit != AGGSPLIT_SIMPLE)
		return false;

	if (aggref->aggfnoid == F_COUNT_)
	{
		spec->kind = PP_AGG_COUNT_ALL;
		return true;
	}

	if (list_length(aggref->args) != 1)
		return false;
	arg = linitial_node(TargetEntry, aggref->args)->expr;
	while (IsA(arg, RelabelType))
		arg = ((RelabelType *) arg)->arg;
	var = (Var *) arg;
	if (!IsA(var, Var) || var->varlevelsup != 0 || var->varattno <= 0 ||
		(varno != 0 && var->varno != varno))
		return false;
	spec->attnum = var->varattno;

	if (aggref->aggfnoid == F_COUNT_ANY)
	{
		spec->kind = PP_AGG_COUNT;
		return true;
	}
	for (int i = 0; i < lengthof(known_aggregates); i++)
	{
		const PpKnownAggregate *known = &known_aggregates[i];

		if (aggref->aggfnoid != known->aggfnoid || var->vartype != known->type)
			continue;
		spec->kind = known->kind;
		if (spec->partial && !is_partial_kind(spec->kind))
			return false;

		/* characters are compared by their bytes under C only */
		return known->type == BYTEAOID || spec->kind < PP_AGG_MIN_BYTES ||
			(OidIsValid(aggref->inputcollid) && pp_collation_is_c(aggref->inputcollid));
	}
	return false;
}

/*
 * Queries.
 */

/* A column that is in the file; its values are needed then. */
static bool
need_column(PpAggregateQuery *q, AttrNumber attnum)
{
	Form_pg_attribute attr;

	if (attnum <= 0)
		return false;
	attr = TupleDescAttr(RelationGetDescr(q->rel), attnum - 1);
	if (attr->attisdropped || attr->attgenerated)
		return false;
	q->needed = bms_add_member(q->needed, attnum);
	return true;
}

/*
 * A grouping column.  Types whose equal values may differ in their bytes are
 * left out: floating point (zeros), numeric (scales), bpchar (blanks).
 */
static bool
add_key(PpAggregateQuery *q, Expr *expr, Index sgref, SortGroupClause *clause)
{
	Var		   *var = (Var *) expr;
	Oid			family;
	TargetEntry *tle;

	if (!IsA(var, Var) || var->varno != q->input->relid || var->varlevelsup != 0 ||
		!need_column(q, var->varattno))
		return false;
	switch (var->vartype)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
		case BYTEAOID:
			break;
		case TEXTOID:
		case VARCHAROID:
		case NAMEOID:
			if (!OidIsValid(var->varcollid) || !get_collation_isdeterministic(var->varcollid))
				return false;
			break;
		default:
			return false;
	}
	family = lookup_type_cache(var->vartype, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	if (get_op_opfamily_strategy(clause->eqop, family) != BTEqualStrategyNumber)
		return false;

	tle = makeTargetEntry((Expr *) copyObject(var), list_length(q->tlist) + 1, NULL, false);
	tle->ressortgroupref = sgref;
	q->tlist = lappend(q->tlist, tle);
	q->keys = lappend_int(q->keys, tle->resno);
	return list_length(q->keys) <= PP_MAX_GROUP_KEYS;
}

static bool
is_key(PpAggregateQuery *q, Var *var)
{
	ListCell   *lc;

	foreach(lc, q->keys)
		if (equal(list_nth_node(TargetEntry, q->tlist, lfirst_int(lc) - 1)->expr, var))
			return true;
	return false;
}

/* The aggregates in an expression, which may look at keys besides. */
static bool
add_aggregates(PpAggregateQuery *q, Node *expr)
{
	List	   *parts = pull_var_clause(expr, PVC_INCLUDE_AGGREGATES |
										PVC_INCLUDE_WINDOWFUNCS |
										PVC_INCLUDE_PLACEHOLDERS);
	ListCell   *lc;

	foreach(lc, parts)
	{
		Node	   *part = lfirst(lc);
		PpAggSpec	spec;

		if (IsA(part, Var) && is_key(q, (Var *) part))
			continue;
		if (!IsA(part, Aggref) ||
			!parparaw_can_aggregate((Aggref *) part, q->input->relid, &spec) ||
			spec.partial != q->partial ||
			(spec.kind != PP_AGG_COUNT_ALL && !need_column(q, spec.attnum)))
			return false;
		q->tlist = add_to_flat_tlist(q->tlist, list_make1(part));
		q->naggs++;
	}
	return true;
}

/* Restrictions, and the columns that they look at. */
static bool
add_filters(PpAggregateQuery *q)
{
	ListCell   *lc;

	foreach(lc, q->input->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		List	   *vars;
		ListCell   *lv;

		if (rinfo->pseudoconstant || !parparaw_is_filter(q->input, rinfo))
			return false;
		vars = pull_var_clause((Node *) rinfo->clause, 0);
		foreach(lv, vars)
			if (!need_column(q, lfirst_node(Var, lv)->varattno))
				return false;
		q->tlist = add_to_flat_tlist(q->tlist, vars);
		q->filters = lappend(q->filters, rinfo->clause);
	}
	return true;
}

/* Can the scan compute all of it?  Fills in what the path needs. */
static bool
examine(PlannerInfo *root, PpAggregateQuery *q, PathTarget *target, List *having)
{
	Query	   *parse = root->parse;
	ListCell   *lc;
	int			i = 0;
	int			nclauses = 0;

	/* keys first, since other expressions may look at them */
	foreach(lc, target->exprs)
	{
		Index		sgref = get_pathtarget_sortgroupref(target, i++);
		SortGroupClause *clause = sgref == 0 ? NULL :
			get_sortgroupref_clause_noerr(sgref, parse->groupClause);

		if (clause == NULL)
			continue;
		if (!add_key(q, lfirst(lc), sgref, clause))
			return false;
		nclauses++;
	}
	if (nclauses != list_length(parse->groupClause))
		return false;
	if (!add_aggregates(q, (Node *) target->exprs) ||
		!add_aggregates(q, (Node *) having) ||
		!add_filters(q))
		return false;
	q->having = having;
	return q->naggs > 0 || q->keys != NIL;
}

/*
 * Adds a path.  With workers, it is one for each of them and the leader to do
 * a part of.
 *
 * Costs are those of the scan without what rows cost in themselves, plus
 * little for each aggregate.
 */
static void
add_aggregate_path(PlannerInfo *root, PpAggregateQuery *q, RelOptInfo *output_rel,
				   int workers)
{
	PpPlanState *state = (PpPlanState *) q->input->fdw_private;
	PathTarget *target = output_rel->reltarget;
	List	   *columns = NIL;
	List	   *plan_private;
	ForeignPath *path;
	AggClauseCosts costs;
	QualCost	having;
	double		divisor = workers > 0 ? parparaw_parallel_divisor(workers) : 1.0;
	double		input_rows = clamp_row_est(q->input->rows / divisor);
	double		groups = 1.0;
	double		rows;
	Cost		run;
	Cost		startup;
	Cost		total;
	int			attnum = -1;

	while ((attnum = bms_next_member(q->needed, attnum)) >= 0)
		columns = lappend_int(columns, attnum);

	run = parparaw_cost_of_scan(state, q->needed);
	run += q->input->rows * q->naggs * COST_OF_AGGREGATE * cpu_operator_cost;
	if (q->keys != NIL)
	{
		List	   *exprs = NIL;
		double		memory;
		ListCell   *lc;

		foreach(lc, q->keys)
			exprs = lappend(exprs, list_nth_node(TargetEntry, q->tlist, lfirst_int(lc) - 1)->expr);
		groups = estimate_num_groups(root, exprs, input_rows, NULL, NULL);
		run += q->input->rows * list_length(q->keys) * COST_OF_GROUPING * cpu_operator_cost;

		/* records of groups that find no room are written and read again */
		memory = groups * (q->naggs * sizeof(PpAccum) + 64 + q->input->reltarget->width);
		if (memory > pp_hash_memory_limit())
			run += divisor * 2.0 * seq_page_cost *
				ceil(input_rows * (1.0 - pp_hash_memory_limit() / memory) *
					 (q->input->reltarget->width + 32) / BLCKSZ);
	}

	MemSet(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, q->partial ? AGGSPLIT_INITIAL_SERIAL : AGGSPLIT_SIMPLE, &costs);
	cost_qual_eval(&having, q->having, root);
	rows = groups;
	if (q->having != NIL)
		rows = clamp_row_est(groups * clauselist_selectivity(root, q->having, 0,
															 JOIN_INNER, NULL));
	startup = q->input->baserestrictcost.startup + state->pages * seq_page_cost +
		run / divisor + costs.finalCost.startup + having.startup + target->cost.startup;
	total = startup + rows * (cpu_tuple_cost + target->cost.per_tuple) +
		groups * (costs.finalCost.per_tuple + having.per_tuple);

	plan_private = list_make3(columns, list_make1_oid(RelationGetRelid(q->rel)), q->keys);
	path = pp_create_foreign_upper_path(root, output_rel, target, rows, startup, total,
										list_make4(q->tlist, q->filters, q->having,
												   plan_private));
	if (workers == 0)
	{
		add_path(output_rel, (Path *) path);
		return;
	}
	path->path.parallel_aware = true;
	path->path.parallel_workers = workers;
	add_partial_path(output_rel, (Path *) path);
}

/*
 * Offers a path that computes all aggregates and groups of a query level
 * inside the scan of its only table.
 */
void
parparawGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage,
							 RelOptInfo *input_rel, RelOptInfo *output_rel,
							 void *extra)
{
	GroupPathExtraData *group_extra = (GroupPathExtraData *) extra;
	PpPlanState *state = (PpPlanState *) input_rel->fdw_private;
	PpAggregateQuery q = {0};
	RangeTblEntry *rte;

	if (!parparaw_enable_aggregate_pushdown || output_rel->fdw_private ||
		(stage != UPPERREL_GROUP_AGG && stage != UPPERREL_PARTIAL_GROUP_AGG))
		return;

	if (!IS_SIMPLE_REL(input_rel) || IS_DUMMY_REL(input_rel) ||
		input_rel->rtekind != RTE_RELATION ||
		state == NULL || !bms_is_empty(input_rel->lateral_relids) ||
		root->parse->groupingSets != NIL || root->parse->hasTargetSRFs ||
		state->options->on_error_ignore || state->options->default_print)
		return;

	q.input = input_rel;
	q.partial = stage == UPPERREL_PARTIAL_GROUP_AGG;
	rte = planner_rt_fetch(input_rel->relid, root);
	q.rel = table_open(rte->relid, NoLock);
	if (examine(root, &q, output_rel->reltarget,
				q.partial ? NIL : (List *) group_extra->havingQual))
	{
		output_rel->fdw_private = state;

		/* partial results of a whole table are of use below an Append only */
		if (!q.partial || group_extra->patype == PARTITIONWISE_AGGREGATE_PARTIAL)
			add_aggregate_path(root, &q, output_rel, 0);
		if (q.partial && output_rel->consider_parallel && input_rel->partial_pathlist != NIL)
			add_aggregate_path(root, &q, output_rel,
							   ((Path *) linitial(input_rel->partial_pathlist))->parallel_workers);
	}
	table_close(q.rel, NoLock);
}

/*
 * Restrictions go to fdw_exprs rather than to the recheck quals: those would
 * be checked on the results when rows are fetched again by EvalPlanQual.
 */
ForeignScan *
parparaw_aggregate_plan(ForeignPath *best_path, List *tlist, Plan *outer_plan)
{
	List	   *path = best_path->fdw_private;

	return make_foreignscan(tlist,
							list_nth(path, PP_PATH_HAVING),
							0,	/* rows are not the table's */
							list_nth(path, PP_PATH_FILTERS),
							list_nth(path, PP_PATH_PLAN_PRIVATE),
							list_nth(path, PP_PATH_SCAN_TLIST),
							NIL,
							outer_plan);
}
