/*
 * cuda/join_driver.h
 *	  A join as the table of library.h hands it out: what the driver has behind
 *	  what the algorithms see.
 *
 * join_driver.cu	opening and building, waiting and cancelling, the table
 * join_answers.cu	counts, groups and rows of what was built
 * join_boxes.cu	the same of a join in boxes, each of which is a join
 *
 * Functions here that answer a status, but for those of the table, are called
 * between pp_join_enter() and pp_join_leave().
 */
#ifndef PP_JOIN_DRIVER_H
#define PP_JOIN_DRIVER_H

#include "join.h"
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
