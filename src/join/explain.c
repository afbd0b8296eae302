/*-------------------------------------------------------------------------
 *
 * explain.c
 *		What EXPLAIN says about a cyclic join.
 *
 * Only reads.  What depends on the machine or may change with releases is
 * shown only when the plan has run, so that plain plans compare equal
 * everywhere.
 *
 * IDENTIFICATION
 *		src/join/explain.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "utils/ruleutils.h"

#include "../explain_line.h"
#include "joinexec.h"

static const char *
strategy_name(PpJoinStrategy strategy)
{
	switch (strategy)
	{
		case PP_JOIN_ORIENTED:
			return "oriented cliques";
		case PP_JOIN_WEDGES:
			return "wedges";
		default:
			return "leapfrog";
	}
}

/* Why a join is not gone through by the algorithm "degree". */
static const char *const declined[] = {
	[PP_CUDA_DECLINED_NOT] = "no",
	[PP_CUDA_DECLINED_ROWS] = "rows are wanted",
	[PP_CUDA_DECLINED_RELATIONS] = "several relations",
	[PP_CUDA_DECLINED_SHAPE] = "not a clique",
	[PP_CUDA_DECLINED_LISTS] = "long lists",
	[PP_CUDA_DECLINED_MANY] = "too many rows",
	[PP_CUDA_DECLINED_MEMORY] = "not enough memory"
};

StaticAssertDecl(lengthof(declined) == PP_CUDA_DECLINED_REASONS, "a reason has no text");

static const char *
compare_name(PpJoinCompare op)
{
	switch (op)
	{
		case PP_JOIN_LT:
			return "<";
		case PP_JOIN_LE:
			return "<=";
		case PP_JOIN_GT:
			return ">";
		case PP_JOIN_GE:
			return ">=";
		default:
			return "<>";
	}
}

/* Relations, variables, and what is computed of them. */
static void
show_query(const PpJoinPlan *plan, ExplainState *es)
{
	List	   *names = NIL;

	for (int a = 0; a < plan->natoms; a++)
		names = lappend(names, (void *) plan->atoms[a].name);
	ExplainPropertyList("Join Atoms", names, es);

	names = NIL;
	for (int v = 0; v < plan->nvariables; v++)
		names = lappend(names, (void *) plan->variables[v].name);
	ExplainPropertyList("Join Variables", names, es);

	if (plan->nresiduals > 0)
	{
		names = NIL;
		for (int r = 0; r < plan->nresiduals; r++)
		{
			const PpJoinResidual *residual = &plan->residuals[r];

			names = lappend(names, psprintf("%s %s %s",
											plan->variables[residual->left].name,
											compare_name(residual->op),
											plan->variables[residual->right].name));
		}
		ExplainPropertyList("Join Comparisons", names, es);
	}
	if (plan->mode == PP_JOIN_COUNT)
		ExplainPropertyText("Join Output", "count", es);
	else if (plan->mode == PP_JOIN_GROUPS)
		ExplainPropertyText("Join Output",
							psprintf("counts by %s", plan->variables[plan->group].name), es);
	else
		ExplainPropertyText("Join Output", "rows", es);
}

/* Conditions that depend on no row, as the core shows those of its own nodes. */
static void
show_gate(const CustomScanState *node, List *ancestors, ExplainState *es)
{
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	List	   *context;

	if (scan->custom_exprs == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, (Plan *) scan, ancestors);
	ExplainPropertyText("One-Time Filter",
						deparse_expression((Node *) make_ands_explicit(scan->custom_exprs),
										   context, pp_explain_prefix(es), false), es);
}

static void
show_order(const PpJoinPlan *plan, const uint32 *order, ExplainState *es)
{
	List	   *names = NIL;

	for (int v = 0; v < plan->nvariables; v++)
		names = lappend(names, (void *) plan->variables[order[v]].name);
	ExplainPropertyList("Variable Order", names, es);
}

static void
show_built(const char *dictionary, uint32 nkeys, uint32 ntries, uint32 nshared, Size bytes,
		   ExplainState *es)
{
	ExplainPropertyText("Dictionary", dictionary, es);
	ExplainPropertyInteger("Keys", NULL, nkeys, es);
	ExplainPropertyInteger("Tries Built", NULL, ntries, es);
	ExplainPropertyInteger("Tries Shared", NULL, nshared, es);
	ExplainPropertyInteger("Peak Memory Usage", "kB", (int64) ((bytes + 1023) / 1024), es);
}

/* What was done on a device, and what became of it. */
static void
show_device(const PpJoinState *state, const PpCudaJoinInfo *info, ExplainState *es)
{
	const PpJoinStats *stats = &state->stats;

	if (stats->device.handed_over)
		ExplainPropertyText("Handed over to CPU", stats->device.handed_over, es);
	else
	{
		if (es->verbose && parparaw_cuda_join_algorithm == PP_CUDA_JOIN_DEGREE &&
			info->declined != PP_CUDA_DECLINED_NOT)
			ExplainPropertyText("Degree Declined", declined[info->declined], es);
		if (info->algorithm != PP_CUDA_JOIN_DEGREE)
			show_order(state->plan, info->order, es);
		show_built(info->dictionary, info->nkeys, info->ntries, info->nshared,
				   stats->device.held + info->host_peak_bytes, es);
		ExplainPropertyInteger("Device Boxes", NULL, info->nboxes, es);
		if (stats->device.kept > 0)
			ExplainPropertyInteger("Rows Kept on Device", NULL, (int64) stats->device.kept, es);
	}
	ExplainPropertyText("Device", parparaw_cuda_device_facts()->name, es);
	if (es->timing)
	{
		pp_explain_begin_line("Device Timing", es);
		pp_explain_ms("start-up", "Start-up",
					  INSTR_TIME_GET_DOUBLE(stats->device.start_time), es);
		pp_explain_ms("h2d", "H2D", info->h2d_seconds, es);
		pp_explain_ms("build", "Build", info->build_seconds, es);
		pp_explain_ms("join", "Join", info->join_seconds, es);
		pp_explain_ms("d2h", "D2H", info->d2h_seconds, es);
		pp_explain_end_line("Device Timing", es);
	}
	pp_explain_begin_line("Device Bytes", es);
	pp_explain_count("h2d", "H2D", "B", info->h2d_bytes, es);
	pp_explain_count("d2h", "D2H", "B", info->d2h_bytes, es);
	pp_explain_count("peak", "Peak Memory", "B", info->peak_device_bytes, es);
	pp_explain_end_line("Device Bytes", es);
	ExplainPropertyInteger("Device Launches", NULL, (int64) info->launches, es);
}

/* What the runs so far did, all rescans together. */
static void
show_runs(const PpJoinState *state, ExplainState *es)
{
	const PpJoinStats *stats = &state->stats;
	const PpJoinInfo *info = &stats->info;
	uint64		seeks = stats->seeks + (state->run ? pp_join_seeks(state->run) : 0);

	if (stats->device.used)
	{
		PpCudaJoinInfo device;

		parparaw_join_device_info(state, &device);
		seeks += device.seeks;
		show_device(state, &device, es);
	}
	else if (stats->device.handed_over)
		ExplainPropertyText("Handed over to CPU", stats->device.handed_over, es);
	if (stats->built && (!stats->device.used || stats->device.handed_over))
	{
		ExplainPropertyText("SIMD", info->simd, es);
		ExplainPropertyText("Strategy", strategy_name(info->strategy), es);
		if (info->strategy != PP_JOIN_ORIENTED)
			show_order(state->plan, info->order, es);
		show_built(info->dictionary, info->nkeys, info->ntries, info->nshared, stats->bytes, es);
	}
	if (state->boxes)
	{
		ExplainPropertyInteger("Boxes", NULL,
							   (int64) parparaw_boxes_count(state->boxes), es);
		ExplainPropertyInteger("Rows Read for Boxes", NULL,
							   (int64) parparaw_boxes_read(state->boxes), es);
	}
	ExplainPropertyInteger("Seeks", NULL, (int64) seeks, es);
	if (es->timing)
	{
		ExplainPropertyFloat("Read Time", "ms",
							 INSTR_TIME_GET_MILLISEC(stats->read_time), 3, es);
		ExplainPropertyFloat("Build Time", "ms",
							 INSTR_TIME_GET_MILLISEC(stats->build_time), 3, es);
		ExplainPropertyFloat("Join Time", "ms",
							 INSTR_TIME_GET_MILLISEC(stats->join_time), 3, es);
	}
}

void
parparaw_join_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	PpJoinState *state = (PpJoinState *) node;

	show_query(state->plan, es);
	show_gate(node, ancestors, es);
	if (es->verbose || es->analyze)
		ExplainPropertyText("Backend", es->analyze && state->context ?
							parparaw_join_backend(state) : parparaw_join_predicted(state), es);
	if (es->analyze && state->context)
		show_runs(state, es);
}
