/*
 * cuda/join_lftj.h
 *	  What the files of LFTJ-GPU share: how a stage is gone through, and the
 *	  work that its threads take.
 *
 * join_lftj.cu		plans, prepares items, counts a stage
 * join_lftj_walk.cu	any stage: threads with stacks in shared memory
 * join_lftj_fixed.cu	stages of frequent shapes: loops in registers
 * join_lftj_rows.cu	rows, batch by batch
 * join_lftj_stack.h	a thread's stack, and its levels
 *
 * A thread takes units of work by itself, from a list that all of them share,
 * so that a hub's neighbours are spread over all.  With split 0 a unit is a
 * value of level 0; with 1, an entry of the root, a trie from level 0 to the
 * next bound level; with 2 the root's entries are items, each of as many units
 * as the level below has candidates: those of the shortest list there.
 */
#ifndef PP_JOIN_LFTJ_H
#define PP_JOIN_LFTJ_H

#include "join_device.h"

#define PP_LFTJ_NONE	UINT32_MAX

/* Threads of a block, at most. */
#define PP_LFTJ_THREADS	128

/*
 * How the levels of a stage are gone through; masks have a bit a level.  Leaves
 * are counted as soon as the inner level before them is bound, but for the tail,
 * which is gone through like an inner level behind all others: its values need
 * not be kept together, so that threads share them.
 */
typedef struct PpLftjShape
{
	uint32_t	nlevels;
	uint32_t	nlists;
	uint32_t	inner;			/* levels that others read, and level 0 */
	uint32_t	tail;			/* NONE: there is none */
	uint32_t	quick;			/* leaves that a look at one list counts */
	uint32_t	slow;			/* other leaves */
	uint32_t	split;
	uint32_t	root;			/* list; NONE: units are numbers from 0 */
	uint64_t	units;			/* all, or all items with split 2 */
} PpLftjShape;

/* Items of split 2: a stretch of the root's entries. */
typedef struct PpLftjItems
{
	uint32_t	first;			/* entry */
	uint32_t	n;
	uint64_t   *before;			/* [n + 1] units in front of each item */
	uint32_t   *key;			/* [n] value of level 0 */
	uint32_t   *place;			/* [n] of fixed shapes: where the first candidate is, the
								 * highest bit saying that it is of the second list */
} PpLftjItems;

/* What threads share in device memory. */
typedef struct PpLftjControl
{
	unsigned long long next;	/* tile of units that nobody has taken */
	unsigned long long nrows;	/* of a round */
	uint32_t	running;		/* warps that stopped before they were done */
	uint32_t	unused;
} PpLftjControl;

/*
 * What walkers make in a round: answers, each an assignment and as many as part
 * of its copies.  The i-th of walker w is at place i * nwalkers + w.  left and
 * before are NULL if no assignment has several copies.
 */
typedef struct PpLftjRound
{
	uint32_t   *values;			/* [variable][quota * nwalkers] */
	uint32_t   *places;			/* [atom][quota * nwalkers] in its list; NULL: not
								 * wanted */
	uint64_t   *left;			/* [quota * nwalkers] copies of which these are the first */
	uint32_t   *before;			/* [quota * nwalkers] rows of the walker's in front */
	uint32_t   *answers;		/* [nwalkers] if there is before */
	uint64_t   *count;			/* [nwalkers] rows */
	uint32_t	quota;			/* answers of a walker */
	uint32_t	part;			/* quota * part are less than 2^32 */
} PpLftjRound;

typedef struct PpLftjJob
{
	const PpDeviceStage *stage;
	PpJoinSignals *signals;
	PpLftjControl *control;
	PpLftjShape shape;
	PpLftjItems items;
	PpLftjRound round;
	uint64_t   *out;			/* NULL: to the signals */
	uint64_t   *wide;			/* stacks of all walkers, by slot, between launches */
	uint32_t   *word;
	uint64_t   *tile;			/* and tiles of all warps */
	uint32_t	steps;			/* of a launch */
	bool		resume;			/* go on with what is there */
} PpLftjJob;

/* Slots of a stack: see join_lftj_stack.h. */
#define PP_LFTJ_WIDE(nlevels)			(3 + (nlevels))
#define PP_LFTJ_WORDS(nlevels, nlists)	(6 + 4 * (nlevels) + 2 * (nlists))

/* Of each warp, in tile[]. */
#define PP_LFTJ_TILE	3

/* ---------- join_lftj.cu ---------- */

/* What tests make small, so that little data takes many turns. */
typedef struct PpLftjLimits
{
	uint32_t	items;			/* at a time */
	uint32_t	steps;			/* of a launch */
	uint32_t	blocks;
	uint32_t	copies;			/* of an answer */
	uint64_t	units;			/* of a launch of fixed shapes */
} PpLftjLimits;
extern PpLftjLimits pp_lftj_limits;

/* Which of the kernels of join_lftj_fixed.cu a stage is for. */
typedef enum PpLftjFixed
{
	PP_LFTJ_ANY,				/* none */
	PP_LFTJ_TRIANGLE,			/* three levels, each read by all behind it */
	PP_LFTJ_CLIQUE,				/* four of them */
	PP_LFTJ_CYCLE,				/* four levels: 2 reads 1, and 3 reads 0 and 2 */
	PP_LFTJ_OTHER_CYCLE			/* 2 reads 0, and 3 reads 1 and 2 */
} PpLftjFixed;

/* How the stage is to be gone through. */
extern PpLftjShape pp_lftj_shape(const PpDeviceJoin *join, const PpStage *stage);

/* Threads of a block for the shape, and bytes of dynamic shared memory. */
extern uint32_t pp_lftj_threads(const PpLftjShape *shape);
extern uint32_t pp_lftj_bytes(const PpLftjShape *shape, uint32_t threads);

/* Blocks that the device has at a time, but not more than units are for. */
extern PpJoinStatus pp_lftj_blocks(uint32_t threads, uint64_t units, uint32_t *blocks);

/* Memory of a pass. */
typedef struct PpLftjMemory
{
	PpBuffer	control;
	PpBuffer	report;			/* PpLftjControl, pinned */
	PpBuffer	wide;
	PpBuffer	word;
	PpBuffer	tile;
	PpBuffer	before;
	PpBuffer	key;
	PpBuffer	place;
	PpBuffer	temp;
	uint32_t	nitems;			/* that there is room for at a time */
} PpLftjMemory;

/*
 * Makes room for walkers, if they are wanted, in blocks of threads, and, with
 * split 2, items, with places if wanted; for fewer of either, and then *blocks is
 * less, if memory is short.
 */
extern PpJoinStatus pp_lftj_reserve(PpDeviceJoin *join, const PpLftjShape *shape, bool walkers,
									bool places, uint32_t threads, uint32_t *blocks,
									PpLftjMemory *memory);
extern void pp_lftj_release(PpLftjMemory *memory);

/* Fills in what of a job is of the join, the shape and the memory. */
extern void pp_lftj_job(PpDeviceJoin *join, uint32_t stage, const PpLftjShape *shape,
						const PpLftjMemory *memory, PpLftjJob *job);

/* Enqueues the making of items from the root's entry first on. */
extern PpJoinStatus pp_lftj_items(PpDeviceJoin *join, PpLftjJob *job, const PpLftjMemory *memory,
								  uint64_t first, PpLftjFixed fixed, uint32_t threads);

/* Waits, and brings job->control. */
extern PpJoinStatus pp_lftj_report(PpDeviceJoin *join, const PpLftjJob *job,
								   const PpLftjMemory *memory, PpLftjControl *control);

/* ---------- join_lftj_walk.cu ---------- */

/* Enqueue one launch: items' units, before they are summed up; walkers, for rows
 * if the job has a round. */
extern PpJoinStatus pp_lftj_cost(PpDeviceJoin *join, const PpLftjJob *job, uint32_t threads);
extern PpJoinStatus pp_lftj_walk(PpDeviceJoin *join, const PpLftjJob *job, uint32_t threads,
								 uint32_t blocks);

/*
 * Enqueues the making of rows first .. first + n - 1 of the job's round, by
 * walkers, to values and rows of PpRowsNext, from their place 0 on; before:
 * counts summed up.
 */
extern PpJoinStatus pp_lftj_gather(PpDeviceJoin *join, const PpLftjJob *job,
								   const uint64_t *before, uint32_t walkers, uint64_t first,
								   uint32_t n, uint32_t *values, uint32_t *rows,
								   uint32_t capacity);

/* ---------- join_lftj_fixed.cu ---------- */

extern PpLftjFixed pp_lftj_fixed(const PpDeviceJoin *join, const PpStage *stage,
								 const PpLftjShape *shape);

/* As pp_lftj_cost(), places included. */
extern PpJoinStatus pp_lftj_fixed_cost(PpDeviceJoin *join, const PpLftjJob *job,
									   PpLftjFixed fixed);

/* Counts what items have, in pieces, and waits for each. */
extern PpJoinStatus pp_lftj_fixed_count(PpDeviceJoin *join, const PpLftjJob *job,
										const PpLftjMemory *memory, PpLftjFixed fixed);

#endif							/* PP_JOIN_LFTJ_H */
