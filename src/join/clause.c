/*-------------------------------------------------------------------------
 *
 * clause.c
 *		The conditions of a cyclic core: which the engine evaluates, which are
 *		left to the executor, and which forbid a join of ours.
 *
 * A core's rows have to satisfy what the server's own join of the same
 * relations would have checked by then: the equalities of every equivalence
 * class with several members among the relations, and all join clauses whose
 * relations are among them.  Variables stand for equalities between columns.
 * Restrictions of single relations are the scans' below.
 *
 * All of these clauses are of the query's own security level, so that the
 * scans below have already applied those of row security and of barrier views
 * when any of them is evaluated, wherever that is.
 *
 * IDENTIFICATION
 *		src/join/clause.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "core.h"

/* Does an expression hold a PlaceHolderVar? */
static bool
has_placeholder(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, PlaceHolderVar))
		return true;
	return expression_tree_walker(node, has_placeholder, context);
}

/* The variable that an operand is, or -1. */
static int
operand_variable(const PpCore *core, Node *node)
{
	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var))
		return -1;
	return parparaw_core_variable(core, (Var *) node);
}

/*
 * Can the engine evaluate a clause?  If so, *residual says it in its terms.
 *
 * It compares keys as numbers.  Those of integers and the like are in the
 * order of their values; of others only equality is known.
 */
static bool
is_residual(const PpCore *core, Expr *clause, PpJoinResidual *residual)
{
	OpExpr	   *op = (OpExpr *) clause;
	const PpKeyType *left,
			   *right;
	TypeCacheEntry *cache;
	int			l,
				r;
	int			strategy;
	Oid			negator;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2)
		return false;
	l = operand_variable(core, linitial(op->args));
	r = operand_variable(core, lsecond(op->args));
	if (l < 0 || r < 0 || l == r)
		return false;
	left = &core->variables[l].key;
	right = &core->variables[r].key;
	if (left->kind != right->kind || left->type != right->type ||
		left->collation != right->collation)
		return false;
	if (OidIsValid(left->collation) && op->inputcollid != left->collation)
		return false;
	if (pp_function_aclcheck(get_opcode(op->opno)) != ACLCHECK_OK)
		return false;

	residual->left = (uint32) l;
	residual->right = (uint32) r;

	cache = lookup_type_cache(left->type, TYPECACHE_BTREE_OPFAMILY);
	negator = get_negator(op->opno);
	if (OidIsValid(negator) &&
		get_op_opfamily_strategy(negator, cache->btree_opf) == BTEqualStrategyNumber)
	{
		residual->op = PP_JOIN_NE;
		return true;
	}

	if (left->kind != PP_KEY_INT && left->kind != PP_KEY_UINT)
		return false;
	strategy = get_op_opfamily_strategy(op->opno, cache->btree_opf);
	switch (strategy)
	{
		case BTLessStrategyNumber:
			residual->op = PP_JOIN_LT;
			return true;
		case BTLessEqualStrategyNumber:
			residual->op = PP_JOIN_LE;
			return true;
		case BTGreaterEqualStrategyNumber:
			residual->op = PP_JOIN_GE;
			return true;
		case BTGreaterStrategyNumber:
			residual->op = PP_JOIN_GT;
			return true;
		default:
			return false;
	}
}

/* Takes a clause in. */
static void
add_clause(PpCore *core, Expr *clause)
{
	PpJoinResidual residual;

	if (core->nresiduals < PP_JOIN_MAX_RESIDUALS &&
		is_residual(core, clause, &residual))
		core->residuals[core->nresiduals++] = residual;
	else
		core->quals = lappend(core->quals, clause);
}

static bool
is_variable(const PpCore *core, const EquivalenceClass *ec)
{
	for (int i = 0; i < core->nvariables; i++)
	{
		if (core->variables[i].ec == ec)
			return true;
	}
	return false;
}

/* Is this column one of the keys by which its relation is an atom? */
static bool
is_key(const PpCore *core, const Var *var)
{
	for (int i = 0; i < core->natoms; i++)
	{
		const PpCoreAtom *atom = &core->atoms[i];

		if (atom->rti == var->varno &&
			(atom->var[0]->varattno == var->varattno ||
			 atom->var[1]->varattno == var->varattno))
			return true;
	}
	return false;
}

/* first = second, by the class's operator.  NULL if there is none. */
static Expr *
make_equality(EquivalenceClass *ec, EquivalenceMember *first, EquivalenceMember *second)
{
	ListCell   *lc;

	foreach(lc, ec->ec_opfamilies)
	{
		Oid			operator = get_opfamily_member(lfirst_oid(lc), first->em_datatype,
												   second->em_datatype,
												   BTEqualStrategyNumber);

		if (OidIsValid(operator))
		{
			OpExpr	   *op = (OpExpr *) make_opclause(operator, BOOLOID, false,
													  first->em_expr, second->em_expr,
													  InvalidOid, ec->ec_collation);

			op->opfuncid = get_opcode(operator);
			return (Expr *) op;
		}
	}
	return NULL;
}

/*
 * The equalities of a class that no variable stands for.  Its members that
 * belong to one relation are equal by that relation's restrictions.
 */
static const char *
class_clauses(PpCore *core, EquivalenceClass *ec)
{
	bool		variable = is_variable(core, ec);
	EquivalenceMember *first = NULL;
	Relids		done = NULL;
	ListCell   *lc;

	if (!bms_overlap(ec->ec_relids, core->relids))
		return NULL;
	if (ec->ec_has_volatile)
		return NULL;			/* of a single member */
	if (ec->ec_broken)
		return "an equality between types that have no operator for it";
	if (ec->ec_has_const)
		return NULL;			/* they are restrictions and join clauses */

	/* what the others are compared to: a key if the class is a variable */
	if (variable)
	{
		foreach(lc, ec->ec_members)
		{
			EquivalenceMember *em = lfirst(lc);
			Var		   *var;

			if (!bms_is_subset(em->em_relids, core->relids))
				continue;
			var = parparaw_key_column(em);
			if (var == NULL || !is_key(core, var))
				continue;
			if (first == NULL)
				first = em;
			done = bms_add_members(done, em->em_relids);
		}
		Assert(first != NULL);
	}

	foreach(lc, ec->ec_members)
	{
		EquivalenceMember *em = lfirst(lc);
		Expr	   *clause;

		if (em->em_is_const || em->em_is_child || bms_is_empty(em->em_relids) ||
			!bms_is_subset(em->em_relids, core->relids))
			continue;
		if (bms_membership(em->em_relids) == BMS_SINGLETON)
		{
			if (bms_is_subset(em->em_relids, done))
				continue;
			done = bms_add_members(done, em->em_relids);
		}
		if (first == NULL)
		{
			first = em;
			continue;
		}
		if (has_placeholder((Node *) em->em_expr, NULL) ||
			has_placeholder((Node *) first->em_expr, NULL))
			return "an expression of an outer join";
		clause = make_equality(ec, first, em);
		if (clause == NULL)
			return "an equality between types that have no operator for it";
		add_clause(core, clause);
	}
	return NULL;
}

/*
 * Finds the conditions of a core whose variables and atoms are known: fills in
 * residuals, quals and gates.  Returns why the core cannot be joined by us,
 * or NULL.
 */
const char *
parparaw_core_clauses(PlannerInfo *root, PpCore *core)
{
	List	   *clauses = NIL;
	ListCell   *lc;
	int			member = -1;
	Index		security_level = root->qual_security_level;

	core->residuals = palloc0(PP_JOIN_MAX_RESIDUALS * sizeof(PpJoinResidual));

	foreach(lc, root->eq_classes)
	{
		const char *refused = class_clauses(core, lfirst(lc));

		if (refused)
			return refused;
	}

	while ((member = bms_next_member(core->relids, member)) >= 0)
	{
		RelOptInfo *rel = root->simple_rel_array[member];

		foreach(lc, rel->baserestrictinfo)
		{
			if (contain_volatile_functions((Node *) lfirst_node(RestrictInfo, lc)->clause))
				return "a volatile condition";
		}
		foreach(lc, rel->joininfo)
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

			if (bms_is_subset(rinfo->required_relids, core->relids))
				clauses = list_append_unique_ptr(clauses, rinfo);
		}
	}

	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (pp_restrictinfo_is_clone(rinfo) || !rinfo->is_pushed_down)
			return "a condition of an outer join";
		if (contain_volatile_functions((Node *) rinfo->clause))
			return "a volatile condition";
		if (has_placeholder((Node *) rinfo->clause, NULL))
			return "an expression of an outer join";
		if (rinfo->security_level != security_level)
			return "conditions of different security levels";
		if (rinfo->pseudoconstant)
		{
			core->gates = lappend(core->gates, rinfo->clause);
			continue;
		}
		add_clause(core, rinfo->clause);
	}
	return NULL;
}
