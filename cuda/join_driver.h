/*
 * cuda/join_driver.h
 *	  A join as the table of library.h hands it out: what the driver has behind
 *	  what the algorithms see.
 *
 * join_driver.cu	opening and building, waiting and cancelling, the table
 * join_answers.cu	counts, groups and rows of what was built
 * join_boxes.cu	the same of a join in boxes, each of which is a join
 * join_cells.cu	the rows that boxes are made of, sorted
 * join_one_way.cu	rows of cliques, that lead one way, and ranges of their keys
 * join_sort.h		sorting that can be cancelled
 * join_ahead.cu	rows of the next box, uploaded while the device joins the one before
 *
 * Functions here that answer a status, but for those of the table, are called
 * between pp_join_enter() and pp_join_leave().
 */
#ifndef PP_JOIN_DRIVER_H
#define PP_JOIN_DRIVER_H

#include "join.h"
#include "../src/trie/box.h"
#include "../src/trie/join_private.h"

/* Events of the clock. */
#define PP_JOIN_CLOCK	32

/* A batch of rows, or of groups, of which the caller has taken some. */
typedef struct PpJoinBatch
{
	PpBuffer	keys;			/* on the device: as PpRowsNext, but keys */
	PpBuffer	rows;
	PpBuffer	host;			/* pinned: keys, and rows or counts behind them */
	cudaEvent_t ready;			/* on the device */
	cudaEvent_t begin;			/* of the copy */
	cudaEvent_t done;
	uint32_t	capacity;
	uint32_t	n;
	uint32_t	taken;
	bool		copying;
} PpJoinBatch;

typedef struct PpJoinBoxes PpJoinBoxes;

struct PpCudaJoin
{
	PpDeviceJoin device;		/* first */
	PpCudaJoin *next;			/* of all open ones */
	PpCudaJoin **link;
	bool		stopped;		/* has nothing on the device any more */
	PpJoinStatus status;		/* why it can only be freed */
	PpBudget	budget;
	PpAlloc		drawing;		/* from the budget */
	uint64_t	used_by_others;	/* device memory, when the call began */
	uint64_t	used;			/* by this one, when it ended */
	int64_t		asked;			/* last, in ns */

	PpJoinQuery query;			/* but for its relations */
	PpJoinAtom	atoms[PP_JOIN_MAX_ATOMS];
	PpJoinResidual residuals[PP_JOIN_MAX_RESIDUALS];
	bool		automatic;		/* the algorithm may be changed */
	bool		none;			/* there is no key at all, or no answer */
	PpJoinBoxes *boxes;			/* NULL: it is not in boxes */

	/* done while the device works, a little at a time; false: there is nothing */
	bool		(*idle) (void *ctx);
	void	   *idle_ctx;

	/* told with idle_ctx when only what is enqueued looks at rows any more; NULL: nobody */
	PpJoinStatus (*numbered) (void *ctx);

	cudaStream_t out;			/* copies back, and the word to stop */
	PpBuffer	pinned;			/* PpJoinSignals that come back, and one to stop */
	cudaEvent_t clock[PP_JOIN_CLOCK + 1];
	uint8_t		phase[PP_JOIN_CLOCK];
	uint32_t	nphases;

	/* answers */
	PpBuffer   *groups;			/* counts by number */
	PpDeviceRows *rows;
	PpBuffer	values;			/* of a batch, numbers */
	PpJoinBatch batch[2];
	uint32_t	current;		/* that the caller takes from */
	uint32_t	batch_rows;		/* of the next one */
	uint32_t	largest;
	bool		begun;
	bool		sent;			/* rows, by the algorithm that goes on */
	bool		ahead;			/* the other batch is on its way */
	bool		ended;			/* there is no batch behind these */
	uint32_t	next_group;		/* number to go on from */
	PpUint128	factor;			/* of every group */
};

static inline PpCudaJoin *
pp_join_of(PpDeviceJoin *join)
{
	return reinterpret_cast<PpCudaJoin *>(join);
}

/* ---------- join_driver.cu ---------- */

extern void pp_join_enter(PpCudaJoin *j);

/* Keeps what a call came to, and answers it. */
extern PpJoinStatus pp_join_leave(PpCudaJoin *j, PpJoinStatus status);

/* Asks whether to go on, if it is time to. */
extern bool pp_join_cancelled(PpCudaJoin *j);

/* Waits for an event, or if there is none for a stream, as pp_join_wait(). */
extern PpJoinStatus pp_join_wait_for(PpCudaJoin *j, cudaStream_t stream, cudaEvent_t event);

/* Builds all that an open join needs for an algorithm. */
extern PpJoinStatus pp_join_build_as(PpCudaJoin *j, const PpJoinQuery *query,
									 PpCudaJoinAlgorithm algorithm);

/* ---------- join_answers.cu ---------- */

extern PpJoinStatus pp_answer_events(PpCudaJoin *j);
extern void pp_answer_begin(PpCudaJoin *j);
extern PpJoinStatus pp_answer_count(PpCudaJoin *j, PpCount *count);
extern PpJoinStatus pp_answer_groups(PpCudaJoin *j, int64_t *keys, PpCount *counts,
									 size_t capacity, size_t *n);
extern PpJoinStatus pp_answer_rows(PpCudaJoin *j, int64_t *keys, uint32_t *rows, size_t capacity,
								   size_t *n);

/* Ends the rows; no work may be left on the device. */
extern void pp_answer_close(PpCudaJoin *j);
extern void pp_answer_release(PpCudaJoin *j);

/* ---------- join_cells.cu ---------- */

/* Zeros are none. */
typedef struct PpCells
{
	uint32_t	bits;			/* of each of a row's hashes */
	uint64_t	nrows;
	uint64_t   *start;			/* of the cell part0 << bits | part1, and the end */
	int64_t    *pairs;			/* rows by cell */
	uint32_t   *number;			/* of each in the relation; NULL: not wanted */
} PpCells;

/* Cells that have an atom's rows of a box: n[1] of them, n[0] times. */
typedef struct PpCellReach
{
	uint32_t	first[2];
	uint32_t	n[2];
	bool		whole[2];		/* by this key, all their rows are the box's */
} PpCellReach;

/* Which rows of a relation are wanted. */
typedef enum PpCellKind
{
	PP_CELLS_ALL,
	PP_CELLS_UP,				/* first key less than the second */
	PP_CELLS_DOWN,				/* greater */
	PP_CELLS_REVERSED			/* those of DOWN, the other way round */
} PpCellKind;

/* Where rows come from, and how they are cut. */
typedef struct PpCellRows
{
	const PpJoinRelation *relation;
	PpCudaRelation *resident;	/* NULL, or where they are instead */
	PpCellKind	kind;
	uint64_t	nrows;			/* of that kind; of ALL it need not be told */
	const struct PpOneWay *ranges;	/* NULL: by hash */
	uint64_t	seed;
} PpCellRows;

/* Hands all rows over, many at a time: at is the number of the first one. */
typedef void (*PpCellVisit) (void *ctx, const int64_t *pairs, uint64_t at, uint64_t n);
extern PpJoinStatus pp_cells_visit(PpCudaJoin *j, const PpCellRows *rows, PpCellVisit visit, void *ctx);

/* Copies a relation's rows.  Whatever it answers, the cells are to be released. */
extern PpJoinStatus pp_cells_make(PpCudaJoin *j, const PpCellRows *rows, bool numbers, PpCells *cells);
extern void pp_cells_release(PpCudaJoin *j, PpCells *cells);

/* Have two relations that are cut alike the same rows, each as often?  Sorts the rows
 * of each cell, which must have no numbers. */
extern PpJoinStatus pp_cells_compare(PpCudaJoin *j, PpCells *a, PpCells *b, bool *same);

extern PpCellReach pp_cells_reach(const PpCells *cells, const PpBox *box, const PpJoinAtom *atom);

/* The rows of the n[1] cells for the i-th time. */
static inline uint64_t
pp_cells_begin(const PpCells *cells, const PpCellReach *reach, uint32_t i)
{
	return cells->start[(reach->first[0] + i) * (UINT64_C(1) << cells->bits) + reach->first[1]];
}

static inline uint64_t
pp_cells_end(const PpCells *cells, const PpCellReach *reach, uint32_t i)
{
	return cells->start[(reach->first[0] + i) * (UINT64_C(1) << cells->bits) + reach->first[1] + reach->n[1]];
}

/* ---------- join_one_way.cu ---------- */

/* Ranges of keys: 2 to the power of that, which boxes cut by interpolation. */
#define PP_RANGE_BITS	10u

/*
 * Rows that lead all up, or all down, so that boxes of a clique have no rows unless
 * their ranges are in order.  Zeros, but for factor: it is no such query.
 */
typedef struct PpOneWay
{
	int64_t    *bound;			/* [2^PP_RANGE_BITS + 1] the least keys of ranges; greater
								 * than the least there is */
	uint64_t	factor;			/* of the count of what is joined */
	bool		fewer;			/* some rows are left out */
	uint32_t	more_cuts;		/* as so few of 2^more_cuts boxes are in order as one */
} PpOneWay;

/*
 * Copies the rows of a query that is a clique of one relation, whose edges lead one
 * way, or are wanted one way only, or are there in both directions and counted, and
 * makes *query one of which the count, and otherwise the answer, is the same but for
 * the factor; atoms are its own.  Without bound: nothing was done.
 */
extern PpJoinStatus pp_one_way_make(PpCudaJoin *j, PpJoinQuery *query, PpJoinAtom *atoms,
									 PpCudaRelation *resident, PpOneWay *one_way, PpCells *cells);
extern void pp_one_way_release(PpCudaJoin *j, PpOneWay *one_way);

/* The least key of a part of 2^bits; of part 0 the least there is. */
static inline int64_t
pp_range_least(const PpOneWay *one_way, uint32_t bits, uint32_t part)
{
	const uint32_t more = bits > PP_RANGE_BITS ? bits - PP_RANGE_BITS : 0;
	const uint32_t range = bits > PP_RANGE_BITS ? part >> more : part << (PP_RANGE_BITS - bits);
	const uint32_t within = bits > PP_RANGE_BITS ? part - (range << more) : 0;
	const uint64_t least = (uint64_t) one_way->bound[range];
	const uint64_t width = (uint64_t) one_way->bound[range + 1] - least;

	return part == 0 ? INT64_MIN : (int64_t) (least + (uint64_t) ((PpUint128) width * within >> more));
}

/* The part of 2^bits that a key is in, no finer than ranges are. */
static inline uint32_t
pp_range_of(const PpOneWay *one_way, uint32_t bits, int64_t key)
{
	uint32_t	part = 0;

	for (uint32_t b = 1; b <= bits; b++)
		part = 2 * part + (key >= one_way->bound[(2 * part + 1) << (PP_RANGE_BITS - b)]);
	return part;
}

/* ---------- join_ahead.cu ---------- */

#define PP_AHEAD_SLOTS	3

typedef struct PpAheadSlot
{
	PpBuffer	pinned;
	cudaEvent_t begin;			/* of the copy */
	cudaEvent_t end;
	bool		sent;			/* since its clock was read */
} PpAheadSlot;

/* Zeros are one that is closed. */
typedef struct PpAhead
{
	cudaStream_t stream;
	cudaEvent_t read;			/* the build before has read its rows */
	bool		reading;		/* nothing was sent since that was recorded */
	PpBuffer	memory;			/* set aside; none: no input finds a place */
	size_t		used;			/* of it, by places */
	PpAheadSlot slot[PP_AHEAD_SLOTS];
	uint32_t	slot_rows;
	uint32_t	at;				/* slot that is filled next */
	uint64_t	filled;			/* rows in it */
	uint64_t	bytes;			/* sent, in all */
	double		seconds;		/* that the device took for them */
} PpAhead;

/* Memory for inputs of so many rows together. */
extern uint64_t pp_ahead_bytes(uint64_t nrows, uint32_t ninputs);

/* Sets other memory aside; what was in it is lost.  NO_FIT: there is none now. */
extern PpJoinStatus pp_ahead_open(PpCudaJoin *j, PpAhead *a, uint64_t bytes, uint32_t slot_rows);
extern void pp_ahead_close(PpAhead *a);

/* Forgets the places, and what was not sent. */
extern void pp_ahead_drop(PpAhead *a);

/* A place for an input's rows; false: they have to come another way. */
extern bool pp_ahead_place(PpAhead *a, uint64_t nrows, size_t *place);

/*
 * Where the next rows are to be put, up to a->slot_rows - a->filled of them; the
 * caller counts them in a->filled.  NULL: nowhere now, as all slots are on their way.
 */
extern PpJoinStatus pp_ahead_slot(PpAhead *a, int64_t **pairs);

/* Sends a->filled rows of an input of nrows, of which done were sent before. */
extern PpJoinStatus pp_ahead_send(PpAhead *a, size_t place, uint64_t done, uint64_t nrows);

/* Waits until there is a slot. */
extern PpJoinStatus pp_ahead_wait(PpCudaJoin *j, PpAhead *a);

/* An input whose rows were all sent; it is the caller's.  NULL: see the error. */
extern PpCudaRelation *pp_ahead_relation(PpAhead *a, size_t place, uint64_t nrows);

/* What comes next has to wait for what is enqueued on a stream, which reads rows. */
extern PpJoinStatus pp_ahead_read(PpAhead *a, cudaStream_t stream);

/* ---------- join_boxes.cu ---------- */

/*
 * Begins in boxes what may not fit as a whole: with one of everything, or, if
 * that was tried, with smaller ones.  A copy of the rows is kept.
 */
extern PpJoinStatus pp_boxes_open(PpCudaJoin *j, const PpJoinQuery *query,
								  PpCudaJoinAlgorithm algorithm, bool tried);
extern PpJoinStatus pp_boxes_count(PpCudaJoin *j, PpCount *count);
extern PpJoinStatus pp_boxes_groups(PpCudaJoin *j, int64_t *keys, PpCount *counts,
									size_t capacity, size_t *n);
extern PpJoinStatus pp_boxes_rows(PpCudaJoin *j, int64_t *keys, uint32_t *rows, size_t capacity,
								  size_t *n);
extern void pp_boxes_rewind(PpCudaJoin *j);
extern void pp_boxes_release(PpCudaJoin *j);	/* without boxes is fine */

#endif							/* PP_JOIN_DRIVER_H */
