/*-------------------------------------------------------------------------
 *
 * joinscan.h
 *		The cyclic join's own interfaces: what planning hands to execution.
 *
 * A core is a set of relations of two join keys each (atoms) whose join graph
 * is cyclic.  recognize.c finds cores in a query, path.c offers a custom path
 * for them, and exec.c runs it on the join engine (src/trie).
 *
 * A plan's facts travel as a PpJoinPlan, written into custom_private as lists
 * of integers and strings and read back from it (plan.c).  It holds no range
 * table indexes, which setrefs.c would have to shift.
 *
 * IDENTIFICATION
 *		src/join/joinscan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARPARAW_JOINSCAN_H
#define PARPARAW_JOINSCAN_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "../compat.h"
#include "../trie/join.h"

/* GUCs, defined in module.c */
extern PGDLLIMPORT bool parparaw_enable_join;
extern PGDLLIMPORT double parparaw_join_cost_factor;

#define PARPARAW_JOIN_NAME "ParparawJoin"

/* How a variable's keys become the engine's 64-bit keys. */
typedef enum PpKeyKind
{
	PP_KEY_INT,					/* int2, int4, int8, date, timestamps, time,
								 * money, "char", bool: the number; order is the
								 * type's */
	PP_KEY_UINT,				/* oid and the like: the number, unsigned */
	PP_KEY_OPAQUE,				/* by-value types whose order is not the number's,
								 * such as enums: only equality is known */
	PP_KEY_IMAGE,				/* equal if their bytes are: text, bytea, uuid ...;
								 * numbered as they come, only equality is known */
	PP_KEY_EQUAL				/* equal if the type's operator says so: numbered by
								 * its hash and equality functions; only counts
								 * may depend on them, never a key's image */
} PpKeyKind;

typedef struct PpVariablePlan
{
	PpKeyKind	kind;
	Oid			type;			/* of the keys; INT8OID for integers of any width */
	Oid			collation;
	const char *name;			/* for EXPLAIN, as "a.src" */
} PpVariablePlan;

typedef struct PpAtomPlan
{
	int			child;			/* number in custom_plans, from 0 */
	AttrNumber	resno[2];		/* of its keys in the child's target list */
	Oid			type[2];		/* of its keys as stored: a base type, of the same
								 * image as what the child returns; widths of
								 * integers differ from the variable's */
	int			variable[2];	/* one twice, of the same column even, if the
								 * relation has only one that joins */
	const char *name;			/* for EXPLAIN, as "a(src, dst)" */
} PpAtomPlan;

/* Where an entry of custom_scan_tlist comes from. */
typedef enum PpOutputKind
{
	PP_OUTPUT_KEY,				/* number: a variable; type says as which type (an
								 * int4's key is computed as int8) */
	PP_OUTPUT_PAYLOAD,			/* number: an atom; resno in its child's list */
	PP_OUTPUT_COUNT				/* count(*), modes COUNT and GROUPS */
} PpOutputKind;

typedef struct PpOutputPlan
{
	PpOutputKind kind;
	int			number;
	AttrNumber	resno;
	Oid			type;
} PpOutputPlan;

typedef struct PpJoinPlan
{
	PpJoinMode	mode;			/* COUNT and GROUPS only if no qual is left to the
								 * executor */
	int			group;			/* GROUPS: variable */
	int			nvariables;
	int			natoms;
	int			nresiduals;
	int			noutputs;		/* one an entry of custom_scan_tlist */
	PpVariablePlan *variables;
	PpAtomPlan *atoms;
	PpJoinResidual *residuals;	/* evaluated by the engine; only between variables
								 * of the same kind and type, and of kinds OPAQUE,
								 * IMAGE and EQUAL only "not equal" */
	PpOutputPlan *outputs;
	int			threads;		/* to use at most, the caller's included */
	bool		partial;		/* GROUPS or COUNT below a Finalize Aggregate: unused
								 * so far, false */
	int			work;			/* microseconds that one thread of the CPU is thought
								 * to build and join for; INT_MAX: or more */
} PpJoinPlan;

/* plan.c: to and from custom_private */
extern List *parparaw_join_plan_write(const PpJoinPlan *plan);
extern PpJoinPlan *parparaw_join_plan_read(List *custom_private);

/* path.c: installs the planner hooks, behind those already there */
extern void parparaw_join_install_hooks(void);

/* exec.c: executor methods; registered by module.c in every process */
extern const CustomScanMethods parparaw_join_scan_methods;
extern Node *parparaw_join_create_state(CustomScan *scan);

#endif							/* PARPARAW_JOINSCAN_H */
