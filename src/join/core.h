/*-------------------------------------------------------------------------
 *
 * core.h
 *		Cyclic cores of a query, as the planner's files of the join see them.
 *
 * recognize.c finds cores, clause.c and keytype.c say what of their conditions
 * the engine evaluates, cost.c what they cost, path.c and upper.c make paths
 * of them, search.c steers the search for join orders, and plan.c turns a
 * chosen path into a plan.  Nothing of this outlives planning.
 *
 * All structures live in the planner's memory (root->planner_cxt) and are
 * never changed by one who did not make them, but for the fields said to be
 * notes.
 *
 * IDENTIFICATION
 *		src/join/core.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARPARAW_CORE_H
#define PARPARAW_CORE_H

#include "joinscan.h"

/* What columns of an equivalence class are as keys. */
typedef struct PpKeyType
{
	PpKeyKind	kind;
	Oid			type;
	Oid			collation;
} PpKeyType;

typedef struct PpCoreVariable
{
	EquivalenceClass *ec;
	PpKeyType	key;
} PpCoreVariable;

typedef struct PpCoreAtom
{
	Index		rti;
	int			variable[2];	/* the same twice if there is but one */
	Var		   *var[2];			/* the columns */
	Oid			type[2];		/* as stored, see PpAtomPlan */
	int			child;			/* number of the child that reads it */
} PpCoreAtom;

/* A scan that one or several atoms read, all with the same restrictions. */
typedef struct PpCoreChild
{
	Index		rti;			/* whose columns its target list is of */
	Path	   *path;
	double		rows;
} PpCoreChild;

typedef struct PpCore
{
	Relids		relids;
	int			number;			/* in its PpCores */
	const char *refused;		/* why there is no path for it, else NULL */
	int			nvariables;
	int			natoms;
	int			nresiduals;
	int			nchildren;
	PpCoreVariable *variables;
	PpCoreAtom *atoms;
	PpJoinResidual *residuals;
	PpCoreChild *children;
	List	   *quals;			/* clauses left to the executor */
	List	   *gates;			/* clauses that depend on no row: the node's to
								 * check, once */

	/* Notes of path.c: the join relation it has offered a path for, what that
	 * costs, and why rows are not offered if counts may be. */
	RelOptInfo *offered;
	Cost		cost;
	const char *rows_refused;
} PpCore;

/* The cores of a query level. */
typedef struct PpCores
{
	PlannerInfo *root;
	bool		cyclic;			/* else the rest is empty */
	List	   *cores;			/* of PpCore */
	List	   *classes;		/* equivalence classes that are variables */
	bool		again;			/* note of search.c: join relations may be made
								 * more than once */
	List	   *deferred;		/* note of search.c */
} PpCores;

typedef struct PpCoreCost
{
	Cost		startup;
	Cost		total;
	int			disabled_nodes;
	int			threads;
	int			work;			/* as PpJoinPlan's */
} PpCoreCost;

/* The path's custom_private, integers in this order. */
enum PpCorePrivate
{
	PP_CORE_NUMBER,
	PP_CORE_MODE,
	PP_CORE_GROUP,				/* variable, or -1 */
	PP_CORE_THREADS,
	PP_CORE_WORK
};

/* recognize.c */
extern PpCores *parparaw_find_cores(PlannerInfo *root);
extern PpCores *parparaw_known_cores(PlannerInfo *root);
extern PpCore *parparaw_make_core(PpCores *cores, Relids relids, bool unary);
extern PpCore *parparaw_core_of_path(PlannerInfo *root, CustomPath *path);
extern int	parparaw_core_variable(const PpCore *core, const Var *var);

/* keytype.c */
extern bool parparaw_key_type(EquivalenceClass *ec, Relids relids, PpKeyType *key);
extern Oid	parparaw_key_column_type(const EquivalenceMember *em);
extern Var *parparaw_key_column(const EquivalenceMember *em);

/* clause.c */
extern const char *parparaw_core_clauses(PlannerInfo *root, PpCore *core);

/* cost.c */
extern void parparaw_core_cost(PlannerInfo *root, PpCore *core, PpJoinMode mode,
							   double rows, PpCoreCost *cost);

/* path.c */
extern const CustomPathMethods parparaw_join_path_methods;
extern bool parparaw_is_join_path(const Path *path);
extern void parparaw_offer_cores(PpCores *cores, RelOptInfo *joinrel);
extern char *parparaw_core_names(PlannerInfo *root, const PpCore *core);

/* plan.c */
extern Plan *parparaw_plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
								List *tlist, List *clauses, List *custom_plans);

/* search.c */
extern void parparaw_install_join_search(void);

/* upper.c */
extern void parparaw_install_upper_paths(void);
extern bool parparaw_count_cost(PlannerInfo *root, PpCore *core, PpCoreCost *cost);

#endif							/* PARPARAW_CORE_H */
