/*
 * src/trie/join_private.h
 *	  What the files of the join engine share: a query as it is planned, and a
 *	  pass over it.  Inside the engine; join.h is its contract.
 */
#ifndef PP_JOIN_PRIVATE_H
#define PP_JOIN_PRIVATE_H

#include "trie.h"

#ifdef __cplusplus
extern "C"
{
#endif

__extension__ typedef unsigned __int128 PpUint128;

/* Values that a level takes at a time. */
#define PP_JOIN_BLOCK	512u

/* How much longer a list is than another if seeking in it beats merging. */
#define PP_JOIN_UNEQUAL	32u

/* Steps of work between two questions whether to go on. */
#define PP_JOIN_WORK	UINT64_C(65536)

/* A list that bounds a variable: an atom's second level. */
typedef struct PpLevelList
{
	uint32_t	atom;
	uint32_t	trie;
	uint32_t	from;			/* level of the atom's first level; unused if LOOPS */
	bool		place;			/* are places of entries wanted, for weights or rows? */
} PpLevelList;

typedef struct PpLevelResidual
{
	PpJoinCompare op;			/* this variable OP that of the level */
	uint32_t	level;			/* before this one */
} PpLevelResidual;

/* A variable, and everything that bounds it once those before it are bound. */
typedef struct PpLevelPlan
{
	uint32_t	variable;
	uint32_t	nlists;
	uint32_t	nheads;
	uint32_t	nresiduals;
	bool		unequal;		/* one of them is NE */
	bool		places;			/* some list's are wanted */
	PpLevelList lists[PP_JOIN_MAX_ATOMS];
	uint32_t	heads[PP_JOIN_MAX_ATOMS];	/* tries whose first level it is */
	PpLevelResidual residuals[PP_JOIN_MAX_RESIDUALS];

	/* levels to bind next that do not depend on each other (counting only) */
	uint32_t	nchildren;
	uint32_t	children[PP_JOIN_MAX_VARIABLES];
} PpLevelPlan;

typedef struct PpOriented PpOriented;

struct PpJoin
{
	PpBudget	budget;
	PpCancel	cancel;
	const PpTrieKernels *kernels;
	PpJoinMode	mode;
	bool		row_numbers;
	bool		copies;			/* some trie has an entry of several rows */
	bool		empty;			/* by a comparison of a variable with itself */
	uint32_t	nvariables;
	uint32_t	natoms;
	PpDict		dict;
	uint32_t	ntries;
	PpTrie		tries[PP_JOIN_MAX_ATOMS];
	PpLevelPlan levels[PP_JOIN_MAX_VARIABLES];
	uint32_t	wedge[4];		/* WEDGES: tries of x-y, y-z, x-w, w-z */
	PpOriented *oriented;
	PpJoinInfo	info;
};

/* A level while it is iterated over. */
typedef struct PpLevel
{
	uint32_t	low;			/* of its values */
	uint32_t	high;			/* not one of them */
	uint32_t	next;			/* without lists: the number to go on from */
	uint32_t	n;				/* values in hand */
	uint32_t	i;				/* those used */
	const uint32_t *value;
	uint32_t   *buffer[2];
	uint32_t   *place;			/* of list l's entry for value i: [l * BLOCK + i] */
	PpTrieIter *lists;
} PpLevel;

struct PpJoinRun
{
	const PpJoin *join;
	PpBudget	budget;
	PpJoinStatus status;		/* why it stopped, once it has */
	uint64_t	work;			/* since the last question */
	uint64_t	seeks;
	uint32_t	from;			/* of the first level, or of the roots if ORIENTED */
	uint32_t	to;
	PpLevel		level[PP_JOIN_MAX_VARIABLES];
	uint32_t	bound[PP_JOIN_MAX_VARIABLES];	/* value of each level */
	uint32_t	place[PP_JOIN_MAX_ATOMS];	/* entry of each atom */

	/* rows */
	uint32_t	depth;
	bool		started;
	bool		pending;		/* the assignment in hand comes again ... */
	uint32_t	copy[PP_JOIN_MAX_ATOMS];	/* ... with these of the entries' rows */

	void	   *scratch[4];		/* of a strategy */
};

/* ---------- planning (join_order.c) ---------- */

/* Chooses the order of variables; first < nvariables: which has to be first. */
extern PpJoinStatus pp_join_order(const PpJoinQuery *query, PpBudget *budget,
								  const PpCancel *cancel, const PpCodes *codes,
								  uint32_t nkeys, uint32_t first, uint32_t *order);

/* ---------- levels (join_level.c) ---------- */

extern PpJoinStatus pp_levels_alloc(PpJoinRun *run);
extern void pp_levels_release(PpJoinRun *run);

/* Counts work; false: stop, status says why. */
PP_INLINE bool
pp_run_work(PpJoinRun *run, uint64_t steps)
{
	run->work += steps;
	if (PP_LIKELY(run->work < PP_JOIN_WORK))
		return true;
	run->work = 0;
	if (!pp_cancelled(&run->join->cancel))
		return true;
	run->status = PP_JOIN_CANCELLED;
	return false;
}

/* Begins a level whose predecessors are bound. */
extern void pp_level_open(PpJoinRun *run, uint32_t level);

/* Takes the next values; false: there are none, or status says what is wrong. */
extern bool pp_level_fill(PpJoinRun *run, uint32_t level);

/* Binds the next value in hand. */
PP_INLINE void
pp_level_bind(PpJoinRun *run, uint32_t level)
{
	const PpLevelPlan *plan = &run->join->levels[level];
	PpLevel    *l = &run->level[level];

	run->bound[level] = l->value[l->i];
	if (plan->places)
		for (uint32_t k = 0; k < plan->nlists; k++)
			if (plan->lists[k].place)
				run->place[plan->lists[k].atom] = l->place[k * PP_JOIN_BLOCK + l->i];
	l->i++;
}

/* How many values the level has from here on; none of it may be in hand. */
extern uint64_t pp_level_count(PpJoinRun *run, uint32_t level);

/* ---------- strategies ---------- */

/* Multiplies, or adds; false: the result has more than 128 bits. */
PP_INLINE bool
pp_multiply(PpUint128 *a, PpUint128 b)
{
	if ((*a >> 64) == 0 && (b >> 64) == 0)
		*a *= b;
	else if (b != 0 && *a > ~(PpUint128) 0 / b)
		return false;
	else
		*a *= b;
	return true;
}

PP_INLINE bool
pp_add(PpUint128 *a, PpUint128 b)
{
	*a += b;
	return *a >= b;
}

/* General counting (join_count.c): all values of the first level. */
extern bool pp_general_count(PpJoinRun *run, PpUint128 *count);

/* Cycles of four (join_wedges.c). */
extern bool pp_wedges_match(const PpJoinQuery *query, uint32_t *variables);
extern PpJoinStatus pp_wedges_open(PpJoinRun *run);
extern bool pp_wedges_count(PpJoinRun *run, PpUint128 *count);

/*
 * Cliques of one relation (join_oriented.c).  match: is the query one?
 * build: sets join->oriented and takes the codes' pairs, or leaves it NULL: the
 * rows are none that it is for, and the codes are as they were.
 */
extern bool pp_oriented_match(const PpJoinQuery *query);
extern PpJoinStatus pp_oriented_build(PpJoin *join, const PpJoinQuery *query,
									  PpCodes *codes);
extern void pp_oriented_release(PpJoin *join);
extern PpJoinStatus pp_oriented_open(PpJoinRun *run, uint32_t part, uint32_t nparts);
extern bool pp_oriented_count(PpJoinRun *run, PpUint128 *count);

#ifdef __cplusplus
}
#endif

#endif							/* PP_JOIN_PRIVATE_H */
