/*
 * src/trie/join_stage.h
 *	  A join as passes over levels, for backends that go through many values of
 *	  a level at once: the plan of join_plan.c without its recursion.
 *
 * A stage goes through its levels in order.  An assignment of them counts as
 * often as its lists' entries have rows, times the factors of its values, times
 * what its leaves count.  A leaf is a level that no other level of the stage
 * reads: it is only counted, as the sum over its values of what each counts,
 * where the levels before it are bound.  Level 0 never is one.  What hangs
 * on one variable only is a stage of its own, run before, whose counts by value
 * are factors of a level; what hangs on none multiplies the answer.
 *
 * Owns nothing: plans are plain data of the caller's.
 */
#ifndef PP_JOIN_STAGE_H
#define PP_JOIN_STAGE_H

#include "join.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Which rows' keys a trie has, and in what order: as PpTrieOrder of trie.h. */
typedef enum PpStageOrder
{
	PP_STAGE_FORWARD,			/* first key, then second */
	PP_STAGE_BACKWARD,			/* second key, then first */
	PP_STAGE_LOOPS				/* one level: keys of rows with both the same */
} PpStageOrder;

typedef struct PpStageTrie
{
	uint8_t		relation;
	uint8_t		order;			/* PpStageOrder */
} PpStageTrie;

/* A list that bounds a level: that of the value of the level from, or, of a
 * trie of LOOPS, the whole of it. */
typedef struct PpStageList
{
	uint8_t		trie;
	uint8_t		from;			/* level of this stage; meaningless if LOOPS */
	uint8_t		atom;
	uint8_t		loops;
} PpStageList;

/* The level's value OP that of an earlier one. */
typedef struct PpStageResidual
{
	uint8_t		op;				/* PpJoinCompare */
	uint8_t		level;
} PpStageResidual;

/* Stages whose counts by value a level multiplies by, repeated ones repeated. */
#define PP_STAGE_FACTORS	PP_JOIN_MAX_VARIABLES

typedef struct PpStageLevel
{
	uint8_t		variable;
	uint8_t		leaf;
	uint8_t		first_list;		/* in the stage's lists */
	uint8_t		nlists;			/* 0: every key that all heads begin with */
	uint8_t		first_head;
	uint8_t		nheads;			/* tries, values without a list in one of which are
								 * left out */
	uint8_t		first_residual;
	uint8_t		nresiduals;
	uint8_t		nfactors;
	uint8_t		factor[PP_STAGE_FACTORS];	/* stages */
} PpStageLevel;

typedef struct PpStage
{
	uint8_t		nlevels;
	uint8_t		by_value;		/* counted for each value of level 0; else in all */
	PpStageLevel level[PP_JOIN_MAX_VARIABLES];
	PpStageList list[PP_JOIN_MAX_ATOMS];
	uint8_t		head[PP_JOIN_MAX_ATOMS];
	PpStageResidual residual[PP_JOIN_MAX_RESIDUALS];
} PpStage;

typedef struct PpStagePlan
{
	uint32_t	order[PP_JOIN_MAX_VARIABLES];	/* of variables */
	bool		empty;			/* a comparison of a variable with itself: no answer */
	uint32_t	ntries;
	uint32_t	nshared;		/* lists that use a trie of another's */
	PpStageTrie trie[PP_JOIN_MAX_ATOMS];

	/*
	 * In the order in which they run.  The last one is the answer, by value if
	 * the mode is GROUPS; of mode ROWS it is the only one, without leaves.
	 */
	uint32_t	nstages;
	PpStage		stage[PP_JOIN_MAX_VARIABLES];
	uint32_t	nconstants;		/* stages whose count multiplies the answer */
	uint8_t		constant[PP_JOIN_MAX_VARIABLES];
} PpStagePlan;

/* What is known of a relation's rows: of each column the different keys, and
 * the length to be expected of the list that a row's key has there. */
typedef struct PpJoinSides
{
	double		nkeys[2];
	double		length[2];
	double		nloops;			/* rows with both keys the same */
} PpJoinSides;

/*
 * Plans a query whose relations are like sides[].  INVALID: it is no query;
 * NO_MEMORY: the allocator has not a few dozen kB.
 */
extern PpJoinStatus pp_stages_plan(const PpJoinQuery *query, const PpJoinSides *sides,
								   const PpAlloc *alloc, PpStagePlan *plan);

#ifdef __cplusplus
}
#endif

#endif							/* PP_JOIN_STAGE_H */
