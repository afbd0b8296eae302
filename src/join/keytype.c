/*-------------------------------------------------------------------------
 *
 * keytype.c
 *		Which columns can be keys of a cyclic join, and as what.
 *
 * An equivalence class can be a variable if all of its columns are of one
 * type, or are integers of any widths, and equality of the class is the
 * equality of that type's default btree operator class.  Where that class says
 * that equal values have equal images ("equalimage"), a key can be returned
 * in place of any of the columns; else it only serves to count rows.
 *
 * IDENTIFICATION
 *		src/join/keytype.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/stratnum.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "core.h"

/*
 * The column that a member of an equivalence class is, or NULL.  A cast that
 * does not change the image is looked through.
 */
Var *
parparaw_key_column(const EquivalenceMember *em)
{
	Node	   *expr = (Node *) em->em_expr;

	if (em->em_is_const || em->em_is_child)
		return NULL;
	while (expr && IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	if (expr == NULL || !IsA(expr, Var))
		return NULL;
	if (((Var *) expr)->varlevelsup != 0 || pp_var_is_nullable((Var *) expr))
		return NULL;
	return (Var *) expr;
}

/* The type of a member that is a column: what its operators take. */
Oid
parparaw_key_column_type(const EquivalenceMember *em)
{
	Oid			type = em->em_datatype;

	/* operators of any enum, of any array */
	if (get_typtype(type) == TYPTYPE_PSEUDO)
		type = exprType((Node *) em->em_expr);
	return getBaseType(type);
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* Would the core have been allowed to compare values of this type? */
static bool
may_execute(Oid operator)
{
	return OidIsValid(operator) &&
		pp_function_aclcheck(get_opcode(operator)) == ACLCHECK_OK;
}

static bool
has_equal_images(Oid opfamily, Oid opcintype, Oid collation)
{
	Oid			function = get_opfamily_proc(opfamily, opcintype, opcintype,
											 BTEQUALIMAGE_PROC);

	return OidIsValid(function) &&
		DatumGetBool(OidFunctionCall1Coll(function, collation,
										  ObjectIdGetDatum(opcintype)));
}

/*
 * Can the class's columns of these relations be a variable's keys?  Fills in
 * key if so.
 */
bool
parparaw_key_type(EquivalenceClass *ec, Relids relids, PpKeyType *key)
{
	Oid			type = InvalidOid;
	TypeCacheEntry *cache;
	ListCell   *lc;

	foreach(lc, ec->ec_members)
	{
		EquivalenceMember *em = lfirst(lc);
		Oid			member;

		if (!bms_is_subset(em->em_relids, relids) || parparaw_key_column(em) == NULL)
			continue;
		member = parparaw_key_column_type(em);
		if (type == InvalidOid)
			type = member;
		else if (is_integer(type) && is_integer(member))
		{
			Oid			opfamily = linitial_oid(ec->ec_opfamilies);

			if (type != member &&
				!may_execute(get_opfamily_member(opfamily, type, member,
												 BTEqualStrategyNumber)))
				return false;
		}
		else if (type != member)
			return false;
	}
	if (type == InvalidOid)
		return false;

	cache = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_BTREE_OPFAMILY |
							  TYPECACHE_HASH_PROC);
	if (!OidIsValid(cache->btree_opf) ||
		!list_member_oid(ec->ec_opfamilies, cache->btree_opf) ||
		!may_execute(cache->eq_opr))
		return false;

	key->type = type;
	key->collation = ec->ec_collation;
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			key->kind = PP_KEY_INT;
			key->type = INT8OID;
			return true;
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case CASHOID:
			key->kind = PP_KEY_INT;
			return true;
		case OIDOID:
		case BOOLOID:
		case CHAROID:
			key->kind = PP_KEY_UINT;
			return true;
		case BPCHAROID:
			/* trailing blanks count for nothing, but are there */
		case INTERVALOID:
			/* '1 day' equals '24 hours', whatever catalogs of before late 2023 say */
			key->kind = PP_KEY_EQUAL;
			return OidIsValid(cache->hash_proc);
		default:
			break;
	}

	if (has_equal_images(cache->btree_opf, cache->btree_opintype, ec->ec_collation))
	{
		key->kind = get_typbyval(type) ? PP_KEY_OPAQUE : PP_KEY_IMAGE;
		return true;
	}
	key->kind = PP_KEY_EQUAL;
	return OidIsValid(cache->hash_proc);
}
