/*-------------------------------------------------------------------------
 *
 * plan.c
 *		From a cyclic core's path to its plan, and the plan's facts as lists.
 *
 * custom_private has to survive copying, and being written and read as text by
 * parallel workers, so that it consists of lists of integers and strings.  It
 * names columns by their place in target lists only: range table indexes
 * would not be shifted along with the rest of the plan.  Conditions that depend
 * on no row are in custom_exprs.
 *
 * IDENTIFICATION
 *		src/join/plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "core.h"

/* The elements of custom_private. */
enum PpJoinPlanList
{
	PP_PLAN_FACTS,				/* mode, group, threads, partial, work */
	PP_PLAN_VARIABLES,			/* kind, type, collation of each */
	PP_PLAN_VARIABLE_NAMES,
	PP_PLAN_ATOMS,				/* child, resnos, types, variables of each */
	PP_PLAN_ATOM_NAMES,
	PP_PLAN_RESIDUALS,			/* op, left, right of each */
	PP_PLAN_OUTPUTS				/* kind, number, resno, type of each */
};

#define FACTS			5
#define VARIABLE_FACTS	3
#define ATOM_FACTS		7
#define RESIDUAL_FACTS	3
#define OUTPUT_FACTS	4

/*
 * Lists.  Oids are stored as the integers of the same bits.
 */

List *
parparaw_join_plan_write(const PpJoinPlan *plan)
{
	List	   *facts;
	List	   *variables = NIL;
	List	   *variable_names = NIL;
	List	   *atoms = NIL;
	List	   *atom_names = NIL;
	List	   *residuals = NIL;
	List	   *outputs = NIL;

	facts = list_make5_int(plan->mode, plan->group, plan->threads, plan->partial, plan->work);

	for (int i = 0; i < plan->nvariables; i++)
	{
		const PpVariablePlan *variable = &plan->variables[i];

		variables = lappend_int(variables, variable->kind);
		variables = lappend_int(variables, (int) variable->type);
		variables = lappend_int(variables, (int) variable->collation);
		variable_names = lappend(variable_names, makeString(pstrdup(variable->name)));
	}

	for (int i = 0; i < plan->natoms; i++)
	{
		const PpAtomPlan *atom = &plan->atoms[i];

		atoms = lappend_int(atoms, atom->child);
		for (int k = 0; k < 2; k++)
		{
			atoms = lappend_int(atoms, atom->resno[k]);
			atoms = lappend_int(atoms, (int) atom->type[k]);
			atoms = lappend_int(atoms, atom->variable[k]);
		}
		atom_names = lappend(atom_names, makeString(pstrdup(atom->name)));
	}

	for (int i = 0; i < plan->nresiduals; i++)
	{
		const PpJoinResidual *residual = &plan->residuals[i];

		residuals = lappend_int(residuals, residual->op);
		residuals = lappend_int(residuals, (int) residual->left);
		residuals = lappend_int(residuals, (int) residual->right);
	}

	for (int i = 0; i < plan->noutputs; i++)
	{
		const PpOutputPlan *output = &plan->outputs[i];

		outputs = lappend_int(outputs, output->kind);
		outputs = lappend_int(outputs, output->number);
		outputs = lappend_int(outputs, output->resno);
		outputs = lappend_int(outputs, (int) output->type);
	}

	return lappend(lappend(list_make5(facts, variables, variable_names, atoms, atom_names),
						   residuals), outputs);
}

PpJoinPlan *
parparaw_join_plan_read(List *custom_private)
{
	PpJoinPlan *plan = palloc0(sizeof(PpJoinPlan));
	List	   *facts = list_nth(custom_private, PP_PLAN_FACTS);
	List	   *variables = list_nth(custom_private, PP_PLAN_VARIABLES);
	List	   *variable_names = list_nth(custom_private, PP_PLAN_VARIABLE_NAMES);
	List	   *atoms = list_nth(custom_private, PP_PLAN_ATOMS);
	List	   *atom_names = list_nth(custom_private, PP_PLAN_ATOM_NAMES);
	List	   *residuals = list_nth(custom_private, PP_PLAN_RESIDUALS);
	List	   *outputs = list_nth(custom_private, PP_PLAN_OUTPUTS);

	Assert(list_length(facts) == FACTS);
	plan->mode = (PpJoinMode) linitial_int(facts);
	plan->group = lsecond_int(facts);
	plan->threads = lthird_int(facts);
	plan->partial = lfourth_int(facts) != 0;
	plan->work = list_nth_int(facts, 4);

	plan->nvariables = list_length(variable_names);
	plan->variables = palloc0(plan->nvariables * sizeof(PpVariablePlan));
	for (int i = 0; i < plan->nvariables; i++)
	{
		PpVariablePlan *variable = &plan->variables[i];
		int			at = i * VARIABLE_FACTS;

		variable->kind = (PpKeyKind) list_nth_int(variables, at);
		variable->type = (Oid) list_nth_int(variables, at + 1);
		variable->collation = (Oid) list_nth_int(variables, at + 2);
		variable->name = strVal(list_nth(variable_names, i));
	}

	plan->natoms = list_length(atom_names);
	plan->atoms = palloc0(plan->natoms * sizeof(PpAtomPlan));
	for (int i = 0; i < plan->natoms; i++)
	{
		PpAtomPlan *atom = &plan->atoms[i];
		int			at = i * ATOM_FACTS;

		atom->child = list_nth_int(atoms, at++);
		for (int k = 0; k < 2; k++)
		{
			atom->resno[k] = (AttrNumber) list_nth_int(atoms, at++);
			atom->type[k] = (Oid) list_nth_int(atoms, at++);
			atom->variable[k] = list_nth_int(atoms, at++);
		}
		atom->name = strVal(list_nth(atom_names, i));
	}

	plan->nresiduals = list_length(residuals) / RESIDUAL_FACTS;
	plan->residuals = palloc0(plan->nresiduals * sizeof(PpJoinResidual));
	for (int i = 0; i < plan->nresiduals; i++)
	{
		PpJoinResidual *residual = &plan->residuals[i];
		int			at = i * RESIDUAL_FACTS;

		residual->op = (PpJoinCompare) list_nth_int(residuals, at);
		residual->left = (uint32) list_nth_int(residuals, at + 1);
		residual->right = (uint32) list_nth_int(residuals, at + 2);
	}

	plan->noutputs = list_length(outputs) / OUTPUT_FACTS;
	plan->outputs = palloc0(plan->noutputs * sizeof(PpOutputPlan));
	for (int i = 0; i < plan->noutputs; i++)
	{
		PpOutputPlan *output = &plan->outputs[i];
		int			at = i * OUTPUT_FACTS;

		output->kind = (PpOutputKind) list_nth_int(outputs, at);
		output->number = list_nth_int(outputs, at + 1);
		output->resno = (AttrNumber) list_nth_int(outputs, at + 2);
		output->type = (Oid) list_nth_int(outputs, at + 3);
	}

	return plan;
}

/*
 * Making the plan.
 */

/* The place of a column of an atom's relation in its child's target list. */
static AttrNumber
find_column(const PpCore *core, const PpCoreAtom *atom, AttrNumber attno,
			List *custom_plans)
{
	Plan	   *child = list_nth(custom_plans, atom->child);
	Index		rti = core->children[atom->child].rti;
	ListCell   *lc;

	foreach(lc, child->targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Var		   *var = (Var *) entry->expr;

		if (IsA(var, Var) && var->varno == rti && var->varattno == attno)
			return entry->resno;
	}
	elog(ERROR, "column %d of relation %u is missing from a scan below a cyclic join",
		 attno, atom->rti);
}

static const char *
column_name(PlannerInfo *root, const Var *var)
{
	return get_rte_attribute_name(planner_rt_fetch(var->varno, root), var->varattno);
}

static const char *
relation_name(PlannerInfo *root, Index rti)
{
	return planner_rt_fetch(rti, root)->eref->aliasname;
}

/* Where a column of the join's rows comes from. */
static PpOutputPlan
plan_output(const PpCore *core, Var *var, List *custom_plans)
{
	PpOutputPlan output = {0};
	int			variable = parparaw_core_variable(core, var);

	output.type = getBaseType(var->vartype);
	if (variable >= 0 && core->variables[variable].key.kind != PP_KEY_EQUAL)
	{
		output.kind = PP_OUTPUT_KEY;
		output.number = variable;
		return output;
	}

	output.kind = PP_OUTPUT_PAYLOAD;
	for (int i = 0; i < core->natoms; i++)
	{
		if (core->atoms[i].rti == var->varno)
		{
			output.number = i;
			output.resno = find_column(core, &core->atoms[i], var->varattno,
									   custom_plans);
			return output;
		}
	}
	elog(ERROR, "relation %d is not in the cyclic join", var->varno);
}

/*
 * CustomPathMethods.PlanCustomPath.
 */
Plan *
parparaw_plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
				   List *clauses, List *custom_plans)
{
	PpCore	   *core = parparaw_core_of_path(root, path);
	CustomScan *scan = makeNode(CustomScan);
	PpJoinPlan	plan = {0};
	List	   *columns;
	ListCell   *lc;

	plan.mode = (PpJoinMode) list_nth_int(path->custom_private, PP_CORE_MODE);
	plan.group = list_nth_int(path->custom_private, PP_CORE_GROUP);
	plan.threads = list_nth_int(path->custom_private, PP_CORE_THREADS);
	plan.work = list_nth_int(path->custom_private, PP_CORE_WORK);

	/* HAVING, or the join's conditions */
	if (plan.mode == PP_JOIN_ROWS)
		scan->scan.plan.qual = list_copy(core->quals);
	else
		scan->scan.plan.qual = (List *) copyObject(root->parse->havingQual);

	/*
	 * Columns that are needed, each once.  A projection above that is to be
	 * done by this node lets it be planned without a target list.
	 */
	columns = pull_var_clause(tlist == NIL ? (Node *) rel->reltarget->exprs : (Node *) tlist,
							  PVC_INCLUDE_AGGREGATES);
	columns = list_concat(columns, pull_var_clause((Node *) scan->scan.plan.qual,
												   PVC_INCLUDE_AGGREGATES));
	foreach(lc, columns)
	{
		Expr	   *column = lfirst(lc);

		if (tlist_member(column, scan->custom_scan_tlist))
			continue;
		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry((Expr *) copyObject(column),
									list_length(scan->custom_scan_tlist) + 1,
									NULL, false));
	}

	plan.nvariables = core->nvariables;
	plan.variables = palloc0(plan.nvariables * sizeof(PpVariablePlan));
	for (int i = 0; i < core->nvariables; i++)
	{
		plan.variables[i].kind = core->variables[i].key.kind;
		plan.variables[i].type = core->variables[i].key.type;
		plan.variables[i].collation = core->variables[i].key.collation;
	}

	plan.natoms = core->natoms;
	plan.atoms = palloc0(plan.natoms * sizeof(PpAtomPlan));
	for (int i = 0; i < core->natoms; i++)
	{
		const PpCoreAtom *from = &core->atoms[i];
		PpAtomPlan *atom = &plan.atoms[i];

		atom->child = from->child;
		for (int k = 0; k < 2; k++)
		{
			PpVariablePlan *variable = &plan.variables[from->variable[k]];

			atom->variable[k] = from->variable[k];
			atom->type[k] = from->type[k];
			atom->resno[k] = find_column(core, from, from->var[k]->varattno,
										 custom_plans);
			if (variable->name == NULL)
				variable->name = psprintf("%s.%s", relation_name(root, from->rti),
										  column_name(root, from->var[k]));
		}
		if (from->variable[0] == from->variable[1])
			atom->name = psprintf("%s(%s)", relation_name(root, from->rti),
								  column_name(root, from->var[0]));
		else
			atom->name = psprintf("%s(%s, %s)", relation_name(root, from->rti),
								  column_name(root, from->var[0]),
								  column_name(root, from->var[1]));
	}

	plan.nresiduals = core->nresiduals;
	plan.residuals = core->residuals;

	plan.noutputs = list_length(scan->custom_scan_tlist);
	plan.outputs = palloc0(plan.noutputs * sizeof(PpOutputPlan));
	foreach(lc, scan->custom_scan_tlist)
	{
		Expr	   *column = lfirst_node(TargetEntry, lc)->expr;
		PpOutputPlan *output = &plan.outputs[foreach_current_index(lc)];

		if (IsA(column, Var))
			*output = plan_output(core, (Var *) column, custom_plans);
		else if (IsA(column, Aggref) && plan.mode != PP_JOIN_ROWS)
		{
			output->kind = PP_OUTPUT_COUNT;
			output->type = INT8OID;
		}
		else
			elog(ERROR, "unexpected node of type %d in a cyclic join's columns",
				 (int) nodeTag(column));
	}

	scan->scan.plan.targetlist = tlist;
	scan->scan.scanrelid = 0;
	scan->flags = path->flags;
	scan->custom_plans = custom_plans;
	scan->custom_exprs = (List *) copyObject(core->gates);
	scan->custom_private = parparaw_join_plan_write(&plan);
	scan->methods = &parparaw_join_scan_methods;
	return &scan->scan.plan;
}
