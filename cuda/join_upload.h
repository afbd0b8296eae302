/*
 * cuda/join_upload.h
 *	  Rows of pageable memory on their way to the device: copied by threads of the
 *	  host to a ring of pinned pieces, and from there by the bus.
 *
 * The calling thread owns the device: it makes, enqueues and waits, asks whether
 * to go on, and copies as well.  The others touch rows and pinned memory only.
 * Pieces get enqueued in the rows' order.
 *
 * Owns the ring and the threads.
 */
#ifndef PP_JOIN_UPLOAD_H
#define PP_JOIN_UPLOAD_H

#include "join.h"

#include "../src/trie/trie_kernel.h"
#include "../src/trie/trie_threads.h"

/* What tests make small. */
typedef struct PpUploadLimits
{
	uint64_t	first_rows;		/* of the first piece; each is twice the one before */
	uint64_t	piece_bytes;	/* of the largest one; a row has 16 */
	uint64_t	thread_rows;	/* of a relation for each thread */
	uint64_t	told_rows;		/* that are told of at a time */
	bool		ask_always;		/* whether to go on, not once a millisecond */
} PpUploadLimits;
extern PpUploadLimits pp_upload_limits;

/* Threads at most, the caller's included, and pieces of the ring. */
#define PP_UPLOAD_THREADS	16u
#define PP_UPLOAD_SLOTS		(2 * PP_UPLOAD_THREADS)

/* A piece of the ring. */
typedef struct PpUploadSlot
{
	cudaEvent_t copied;			/* to the device; NULL: never yet */
	uint64_t	from;			/* rows */
	uint64_t	n;
	bool		filled;
} PpUploadSlot;

typedef struct PpUploadRows
{
	const int64_t *pairs;
	uint64_t	nrows;
	bool		narrow;			/* as distances of 32 bits from base, else as they are */
	uint64_t	base;
	uint8_t    *to;				/* on the device: where row 0 goes */

	/* told of rows whose copies are enqueued */
	PpJoinStatus (*arrive) (void *ctx, uint64_t from, uint64_t n);
	void	   *ctx;
} PpUploadRows;

/*
 * Pieces are numbered as they are taken to be filled: those before freed may be
 * filled again, those before sent are enqueued, those before taken are being
 * filled or wait to be enqueued; piece i is in slot i % nslots.  Zeroed, it is
 * none.
 */
typedef struct PpUpload
{
	PpDeviceJoin *join;
	const PpTrieKernels *kernels;
	PpTeam		team;
	uint32_t	nslots;
	uint64_t	slot_bytes;
	PpBuffer	ring;			/* pinned */
	bool		copying;		/* copies from it were enqueued */
	PpJoinStatus status;
	uint64_t	told;			/* rows */

	const PpUploadRows *rows;	/* of the relation in hand */
	uint64_t	nsent;			/* rows of it, from the first one on */

	/* under the lock */
	pthread_mutex_t lock;
	pthread_cond_t room;		/* there is something to fill, or there won't be */
	pthread_cond_t filled;		/* what is to be enqueued next */
	uint64_t	next;			/* row to go on from */
	uint64_t	piece;			/* rows of the next one */
	uint64_t	taken;
	uint64_t	sent;
	uint64_t	freed;
	uint64_t	unfit;			/* the first piece that has keys that are not narrow */
	bool		stop;
	PpUploadSlot slot[PP_UPLOAD_SLOTS];
} PpUpload;

/* Begins uploads of relations of up to so many rows; allocates nothing. */
extern void pp_upload_begin(PpUpload *upload, PpDeviceJoin *join, const PpJoinQuery *query,
							uint64_t most);

/*
 * Enqueues copies of the rows from *at on, which is how far it got in the end:
 * before all rows if the next ones have keys that are not narrow.
 */
extern PpJoinStatus pp_upload_rows(PpUpload *upload, const PpUploadRows *rows, uint64_t *at);

/* Ends the threads; copies may go on. */
extern void pp_upload_end(PpUpload *upload);

/* The same, waits for copies, and gives back everything. */
extern void pp_upload_close(PpUpload *upload);

#endif							/* PP_JOIN_UPLOAD_H */
