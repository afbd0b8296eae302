/*-------------------------------------------------------------------------
 *
 * exec.c
 *		Execution of a foreign scan: the executor's callbacks around scan.c.
 *
 * The table's options and columns are read anew at every start, from the
 * relation cache and the catalogs, so a cached plan sees what ALTER FOREIGN
 * TABLE changed.  Only the list of needed columns comes from the plan.
 *
 * IDENTIFICATION
 *		src/scan/exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"

#include "aggregate.h"

void
parparawBeginForeignScan(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Relation	rel = node->ss.ss_currentRelation;
	Bitmapset  *needed = NULL;
	PpExecState *state;
	ListCell   *lc;

	if (plan->scan.scanrelid == 0)
		parparaw_aggregate_check(plan);

	/* EXPLAIN without ANALYZE must not touch the file. */
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	foreach(lc, (List *) list_nth(plan->fdw_private, PP_PLAN_NEEDED))
		needed = bms_add_member(needed, lfirst_int(lc));

	state = palloc0(sizeof(PpExecState));
	if (rel == NULL)
		rel = state->opened = table_open(linitial_oid(list_nth(plan->fdw_private,
															   PP_PLAN_TABLE)),
										 AccessShareLock);
	state->options = parparaw_get_options(RelationGetRelid(rel));
	state->scan = parparaw_scan_begin(rel, state->options, needed, false);
	if (state->opened)
		state->aggregate = parparaw_aggregate_begin(node, state->scan);
	else
		parparaw_scan_set_filters(state->scan, &node->ss.ps, plan->fdw_recheck_quals,
								  plan->scan.scanrelid);
	node->fdw_state = state;
}

/*
 * Does the row pass the restrictions that the scan evaluates?  Asked for rows
 * with values that only input functions could read.
 */
static bool
passes(ForeignScanState *node, TupleTableSlot *slot)
{
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	bool		result;

	econtext->ecxt_scantuple = slot;
	result = ExecQual(node->fdw_recheck_quals, econtext);
	if (!result)
	{
		InstrCountFiltered2(node, 1);	/* see explain.c */
		ResetExprContext(econtext);
		CHECK_FOR_INTERRUPTS();
	}
	return result;
}

/*
 * The slot's Datums belong to the scan, which keeps them until the next call:
 * as long as the executor may look at them.
 */
TupleTableSlot *
parparawIterateForeignScan(ForeignScanState *node)
{
	PpExecState *state = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	if (state->aggregate)
		return parparaw_aggregate_next(state->aggregate);
	for (;;)
	{
		ExecClearTuple(slot);
		if (!parparaw_scan_next(state->scan, slot->tts_values, slot->tts_isnull))
			return slot;
		ExecStoreVirtualTuple(slot);
		if (likely(!parparaw_scan_unknown(state->scan)) || passes(node, slot))
			return slot;
	}
}

void
parparawReScanForeignScan(ForeignScanState *node)
{
	PpExecState *state = node->fdw_state;

	parparaw_scan_restart(state->scan);
	if (state->aggregate)
		parparaw_aggregate_restart(state->aggregate);
}

/*
 * EvalPlanQual has no row of a node without a relation, and asks for one here
 * instead: it gets the next result of a scan that aggregates.  Other scans'
 * rows pass, if only they pass the recheck quals.
 */
bool
parparawRecheckForeignScan(ForeignScanState *node, TupleTableSlot *slot)
{
	PpExecState *state = node->fdw_state;

	return state->aggregate == NULL || !TupIsNull(parparaw_aggregate_next(state->aggregate));
}

void
parparawEndForeignScan(ForeignScanState *node)
{
	PpExecState *state = node->fdw_state;

	if (state == NULL)
		return;
	if (state->aggregate)
		parparaw_aggregate_end(state->aggregate);
	parparaw_scan_end(state->scan);
	if (state->opened)
		table_close(state->opened, NoLock);
}
