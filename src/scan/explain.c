/*-------------------------------------------------------------------------
 *
 * explain.c
 *		What EXPLAIN says about a foreign scan.
 *
 * Only reads: a plain EXPLAIN has opened nothing, and this must not either.
 *
 * IDENTIFICATION
 *		src/scan/explain.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "aggregate.h"
#include "device.h"

/*
 * A parameter that another node of the plan sets is shown as that expression
 * where the node's ancestors are known.  Here they are not: by its number.
 */
static Node *
number_parameters(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
	{
		Param	   *param = copyObject((Param *) node);

		param->paramkind = PARAM_EXTERN;
		return (Node *) param;
	}
	return expression_tree_mutator(node, number_parameters, context);
}

/*
 * The restrictions that the scan evaluates itself, and what they removed: in
 * the engine, or on rows with values that only input functions could read.
 * The latter are counted where the core counts rows that fail a recheck; it
 * shows them for other kinds of scans only.
 */
static void
show_filter(ForeignScanState *node, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	PpExecState *state = (PpExecState *) node->fdw_state;
	List	   *quals = plan->scan.scanrelid > 0 ? plan->fdw_recheck_quals : plan->fdw_exprs;
	List	   *context;
	char	   *text;

	if (quals == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, NIL);
	text = deparse_expression(number_parameters((Node *) make_ands_explicit(quals), NULL),
							  context, pp_explain_prefix(es), false);
	ExplainPropertyText("Scan Filter", text, es);
	if (es->analyze && state)
	{
		Instrumentation *instrument = node->ss.ps.instrument;
		uint64		removed = parparaw_scan_stats(state->scan).removed;

		if (instrument)
			removed += (uint64) instrument->nfiltered2;
		ExplainPropertyInteger("Rows Removed in Scan", NULL, (int64) removed, es);
	}
}

/* What a scan computes instead of returning rows, and of which table. */
static void
show_aggregates(ForeignScanState *node, Oid table, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, NIL);
	List	   *aggregates = NIL;
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, plan->fdw_scan_tlist)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		char	   *text = deparse_expression((Node *) tle->expr, context,
											pp_explain_prefix(es), false);

		if (IsA(tle->expr, Aggref))
			aggregates = lappend(aggregates, text);
		else if (list_member_int(list_nth(plan->fdw_private, PP_PLAN_KEYS), tle->resno))
			keys = lappend(keys, text);
	}
	ExplainPropertyText("Foreign Table",
						es->verbose ?
						quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)),
												   get_rel_name(table)) :
						quote_identifier(get_rel_name(table)), es);
	if (aggregates != NIL)
		ExplainPropertyList("Scan Aggregate", aggregates, es);
	if (keys != NIL)
		ExplainPropertyList("Scan Group Key", keys, es);
}

/*
 * Adds the file or program, the file's size in bytes if costs are shown, the
 * backend if asked for detail or if the plan has run, and then also what it
 * has done, all rescans together.
 *
 * What depends on the machine (instruction set) or may change with settings
 * and releases (counters) is shown only when the plan has run, so that plain
 * plans compare equal everywhere.
 */
void
parparawExplainForeignScan(ForeignScanState *node, ExplainState *es)
{
	PpExecState *state = (PpExecState *) node->fdw_state;
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	bool		aggregates = plan->scan.scanrelid == 0;
	Oid			table;
	PpOptions  *options;

	/* not from the state, which is missing unless the plan has run */
	table = aggregates ? linitial_oid(list_nth(plan->fdw_private, PP_PLAN_TABLE)) :
		RelationGetRelid(node->ss.ss_currentRelation);
	options = parparaw_get_options(table);

	if (aggregates)
		show_aggregates(node, table, es);
	ExplainPropertyText(options->is_program ? "Foreign Program" : "Foreign File",
						options->filename, es);

	if (es->costs && !options->is_program)
	{
		struct stat st;

		if (stat(options->filename, &st) == 0)
			ExplainPropertyInteger("Foreign File Size", "b",
								   (int64) st.st_size, es);
	}

	show_filter(node, es);

	if (es->verbose || es->analyze)
		ExplainPropertyText("Backend", es->analyze && state && state->scan ?
							parparaw_scan_backend(state->scan) :
							parparaw_scan_predicted(options, plan->scan.plan.parallel_aware),
							es);

	if (es->analyze && state && state->scan)
	{
		PpScanStats stats = parparaw_scan_stats(state->scan);

		ExplainPropertyText("SIMD", parparaw_scan_simd(), es);
		ExplainPropertyInteger("Partitions", NULL, (int64) stats.partitions, es);
		ExplainPropertyInteger("Bytes", NULL, (int64) stats.bytes, es);
		ExplainPropertyInteger("Records", NULL, (int64) stats.records, es);
		if (state->aggregate && list_nth(plan->fdw_private, PP_PLAN_KEYS) != NIL)
			ExplainPropertyInteger("Records Put Aside", NULL,
								   (int64) stats.put_aside, es);
		ExplainPropertyInteger("Deferred Values", NULL, (int64) stats.deferred, es);
		parparaw_explain_device(state->scan, es);
	}
}
