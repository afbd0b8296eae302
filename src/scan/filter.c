/*-------------------------------------------------------------------------
 *
 * filter.c
 *		Which restrictions a scan can evaluate itself, and their translation
 *		for the parse engine.
 *
 * Only comparisons are taken whose result the engine computes exactly as the
 * server's operator does: built-in btree operators (and <>) on natively read
 * types, text by bytes where the collation says that this is right, prefixes
 * by LIKE, tests for NULL and boolean columns.  The other side is any
 * expression without a variable of the scan and without volatile functions;
 * it is evaluated once a run.  All else stays with the executor, and so do
 * records of whose value the engine knows nothing because it was handed over:
 * for those the plan's recheck quals are evaluated.
 *
 * IDENTIFICATION
 *		src/scan/filter.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "scan_private.h"

/* A restriction, taken apart. */
struct PpFilterClause
{
	AttrNumber	attnum;
	PpOp		op;
	PpCompare	compare;
	Expr	   *constant;		/* NULL: the value is in fixed */
	Oid			type;			/* of the constant */
	bool		as_timestamp;	/* it is a date to be compared with timestamps */
	uint64		fixed;
};

/* A column of the scan, maybe taken for another type of the same bytes. */
static Var *
plain_column(Expr *expr, Index varno)
{
	Var		   *var;

	while (expr && IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	if (expr == NULL || !IsA(expr, Var))
		return NULL;
	var = (Var *) expr;
	if (var->varno != varno || var->varlevelsup != 0 || var->varattno <= 0)
		return NULL;
	return var;
}

/* May the expression be evaluated once, before the scan? */
static bool
is_constant(Expr *expr)
{
	return !contain_var_clause((Node *) expr) &&
		!contain_volatile_functions((Node *) expr) &&
		!contain_subplans((Node *) expr);
}

/* How values of the column compare with the other type's, if exactly. */
static bool
choose_compare(Oid column, Oid other, PpOp op, Oid collation, PpCompare *compare)
{
	bool		equality = op == PP_OP_EQ || op == PP_OP_NE;

	switch (column)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			*compare = PP_COMPARE_INT64;
			return other == INT2OID || other == INT4OID || other == INT8OID;
		case FLOAT4OID:
			*compare = PP_COMPARE_FLOAT4;
			return other == FLOAT4OID || other == FLOAT8OID;
		case FLOAT8OID:
			*compare = PP_COMPARE_FLOAT8;
			return other == FLOAT4OID || other == FLOAT8OID;
		case DATEOID:
			*compare = other == DATEOID ? PP_COMPARE_INT64 : PP_COMPARE_DAYS;
			return other == DATEOID || other == TIMESTAMPOID;
		case TIMESTAMPOID:
			*compare = PP_COMPARE_INT64;
			return other == TIMESTAMPOID || other == DATEOID;
		case BOOLOID:
		case TIMEOID:
		case TIMESTAMPTZOID:
			*compare = PP_COMPARE_INT64;
			return other == column;
		case UUIDOID:
			*compare = PP_COMPARE_UUID;
			return other == column;
		case NUMERICOID:
			*compare = PP_COMPARE_NUMERIC;
			return other == column;
		case BYTEAOID:
			*compare = PP_COMPARE_BYTES;
			return other == column;
		case TEXTOID:
		case VARCHAROID:
			*compare = PP_COMPARE_BYTES;
			if (other != TEXTOID)
				return false;
			break;
		case BPCHAROID:
			*compare = PP_COMPARE_BPCHAR;
			if (other != BPCHAROID)
				return false;
			break;
		default:
			return false;
	}

	/* text: equal bytes are what a deterministic collation calls equal */
	if (!OidIsValid(collation))
		return false;
	return equality ? get_collation_isdeterministic(collation) :
		pp_collation_is_c(collation);
}

/*
 * A pattern that is nothing but a prefix: no wildcard and no escape but one
 * trailing percent sign.
 */
static bool
is_prefix_pattern(Expr *expr)
{
	Const	   *c = (Const *) expr;
	text	   *t;
	char	   *p;
	int			len;

	if (!IsA(expr, Const) || c->constisnull || c->consttype != TEXTOID)
		return false;
	t = DatumGetTextPP(c->constvalue);
	p = VARDATA_ANY(t);
	len = VARSIZE_ANY_EXHDR(t);
	if (len == 0 || p[len - 1] != '%')
		return false;
	for (int i = 0; i < len - 1; i++)
		if (p[i] == '%' || p[i] == '_' || p[i] == '\\')
			return false;
	return true;
}

static bool
classify_operator(OpExpr *clause, Index varno, PpFilterClause *f)
{
	static const PpOp ops[] = {
		[BTLessStrategyNumber] = PP_OP_LT,
		[BTLessEqualStrategyNumber] = PP_OP_LE,
		[BTEqualStrategyNumber] = PP_OP_EQ,
		[BTGreaterEqualStrategyNumber] = PP_OP_GE,
		[BTGreaterStrategyNumber] = PP_OP_GT
	};
	Expr	   *left,
			   *right;
	Oid			opno = clause->opno;
	Oid			left_type,
				right_type;
	Var		   *var;
	Oid			family;
	int			strategy;

	if (list_length(clause->args) != 2)
		return false;
	left = linitial(clause->args);
	right = lsecond(clause->args);
	var = plain_column(left, varno);
	if (var == NULL)
	{
		/* constant on the left */
		var = plain_column(right, varno);
		opno = get_commutator(opno);
		if (var == NULL || !OidIsValid(opno))
			return false;
		right = left;
	}
	if (parparaw_native_type(var->vartype) == PP_DEFER || !is_constant(right))
		return false;
	f->attnum = var->varattno;
	f->constant = right;

	if (opno == OID_TEXT_LIKE_OP)
	{
		f->op = PP_OP_PREFIX;
		f->type = TEXTOID;
		return is_prefix_pattern(right) &&
			choose_compare(var->vartype, TEXTOID, PP_OP_EQ, clause->inputcollid,
						   &f->compare) &&
			f->compare == PP_COMPARE_BYTES;
	}

	family = lookup_type_cache(var->vartype, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	if (!OidIsValid(family))
		return false;
	strategy = get_op_opfamily_strategy(opno, family);
	if (strategy != 0)
		f->op = ops[strategy];
	else
	{
		Oid			negator = get_negator(opno);

		if (!OidIsValid(negator) ||
			get_op_opfamily_strategy(negator, family) != BTEqualStrategyNumber)
			return false;
		f->op = PP_OP_NE;
	}
	op_input_types(opno, &left_type, &right_type);
	f->type = right_type;
	f->as_timestamp = var->vartype == TIMESTAMPOID && right_type == DATEOID;
	return choose_compare(var->vartype, right_type, f->op, clause->inputcollid,
						  &f->compare);
}

/* A test for true or false of a boolean column. */
static bool
classify_boolean(Var *var, bool value, PpFilterClause *f)
{
	if (var == NULL || var->vartype != BOOLOID)
		return false;
	f->attnum = var->varattno;
	f->op = PP_OP_EQ;
	f->compare = PP_COMPARE_INT64;
	f->constant = NULL;
	f->fixed = value;
	return true;
}

static bool
classify(Expr *clause, Index varno, PpFilterClause *f)
{
	memset(f, 0, sizeof(*f));
	switch (nodeTag(clause))
	{
		case T_OpExpr:
			return classify_operator((OpExpr *) clause, varno, f);

		case T_Var:
			return classify_boolean(plain_column(clause, varno), true, f);

		case T_BoolExpr:
			return ((BoolExpr *) clause)->boolop == NOT_EXPR &&
				classify_boolean(plain_column(linitial(((BoolExpr *) clause)->args), varno),
								 false, f);

		case T_BooleanTest:
			{
				BooleanTest *test = (BooleanTest *) clause;

				return (test->booltesttype == IS_TRUE || test->booltesttype == IS_FALSE) &&
					classify_boolean(plain_column(test->arg, varno),
									 test->booltesttype == IS_TRUE, f);
			}

		case T_NullTest:
			{
				NullTest   *test = (NullTest *) clause;
				Var		   *var = plain_column(test->arg, varno);

				if (var == NULL || test->argisrow ||
					parparaw_native_type(var->vartype) == PP_DEFER)
					return false;
				f->attnum = var->varattno;
				f->op = test->nulltesttype == IS_NULL ? PP_OP_IS_NULL : PP_OP_NOT_NULL;
				return true;
			}

		default:
			return false;
	}
}

bool
parparaw_can_filter(Expr *clause, Index varno, Bitmapset *columns)
{
	PpFilterClause f;

	/* a generated column, for one, is not in the file */
	return classify(clause, varno, &f) && bms_is_member(f.attnum, columns);
}

void
parparaw_scan_set_filters(PpScan *scan, PlanState *parent, List *quals, Index varno)
{
	ListCell   *lc;

	scan->nfilters = list_length(quals);
	if (scan->nfilters == 0)
		return;
	scan->filter_clause = palloc(scan->nfilters * sizeof(PpFilterClause));
	scan->filter_expr = palloc0(scan->nfilters * sizeof(ExprState *));
	scan->filter_context = parent->ps_ExprContext;
	foreach(lc, quals)
	{
		int			i = foreach_current_index(lc);
		PpFilterClause *f = &scan->filter_clause[i];

		if (!classify((Expr *) lfirst(lc), varno, f))
			elog(ERROR, "unexpected filter");
		if (f->constant)
			scan->filter_expr[i] = ExecInitExpr(f->constant, parent);
	}
}

/* The constant in the engine's terms; its bytes in CurrentMemoryContext. */
static void
set_constant(PpFilter *filter, const PpFilterClause *f, Datum value)
{
	switch (f->type)
	{
		case BOOLOID:
			filter->constant = DatumGetBool(value);
			break;
		case INT2OID:
			filter->constant = (uint64) (int64) DatumGetInt16(value);
			break;
		case INT4OID:
			filter->constant = (uint64) (int64) DatumGetInt32(value);
			break;
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			filter->constant = (uint64) DatumGetInt64(value);
			break;
		case DATEOID:
			{
				DateADT		date = DatumGetDateADT(value);

				/*
				 * Against a timestamp a date is its midnight.  One beyond the
				 * range of timestamps is beyond all finite ones, like an
				 * infinite one, and the engine has no others.
				 */
				if (!f->as_timestamp)
					filter->constant = (uint64) (int64) date;
				else if (DATE_IS_NOBEGIN(date) || date < DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE)
					filter->constant = (uint64) PG_INT64_MIN;
				else if (DATE_IS_NOEND(date) || date >= TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE)
					filter->constant = (uint64) PG_INT64_MAX;
				else
					filter->constant = (uint64) (date * USECS_PER_DAY);
			}
			break;
		case FLOAT4OID:
			value = Float8GetDatum((float8) DatumGetFloat4(value));
			/* FALLTHROUGH */
		case FLOAT8OID:
			filter->constant = (uint64) DatumGetInt64(value);
			break;
		case NUMERICOID:
			filter->bytes = (const uint8 *) DatumGetNumericCopy(value);
			break;
		case UUIDOID:
			{
				uint8	   *copy = palloc(UUID_LEN);

				memcpy(copy, DatumGetUUIDP(value)->data, UUID_LEN);
				filter->bytes = copy;
				filter->nbytes = UUID_LEN;
			}
			break;
		default:
			{
				struct varlena *v = PG_DETOAST_DATUM_COPY(value);

				filter->bytes = (const uint8 *) VARDATA_ANY(v);
				filter->nbytes = VARSIZE_ANY_EXHDR(v);
				if (filter->compare == PP_COMPARE_BPCHAR)
					while (filter->nbytes > 0 && filter->bytes[filter->nbytes - 1] == ' ')
						filter->nbytes--;
				if (filter->op == PP_OP_PREFIX)
					filter->nbytes--;	/* the percent sign */
			}
			break;
	}
}

static uint32
projected_column(PpScan *scan, AttrNumber attnum)
{
	for (int k = 0; k < scan->nfile; k++)
		if (scan->file[k].attnum == attnum && scan->file[k].projected >= 0)
			return scan->file[k].projected;
	elog(ERROR, "filter on a column that is not read");
}

PpFilter *
parparaw_scan_make_filters(PpScan *scan)
{
	PpFilter   *filter = palloc0(Max(scan->nfilters, 1) * sizeof(PpFilter));

	for (int i = 0; i < scan->nfilters; i++)
	{
		const PpFilterClause *f = &scan->filter_clause[i];

		filter[i].op = f->op;
		filter[i].compare = f->compare;
		filter[i].constant = f->fixed;
		filter[i].column = projected_column(scan, f->attnum);
		if (scan->filter_expr[i])
		{
			bool		isnull;
			Datum		value = ExecEvalExprSwitchContext(scan->filter_expr[i],
														  scan->filter_context, &isnull);

			if (isnull)
				filter[i].op = PP_OP_NEVER;
			else
				set_constant(&filter[i], f, value);
		}
	}
	return filter;
}
