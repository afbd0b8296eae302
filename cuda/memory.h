/*
 * cuda/memory.h
 *	  Device and pinned memory of the process: counted, limited, and kept for
 *	  the next scan.
 *
 * A block that is put back stays allocated and serves a later request of
 * about its size; blocks are freed when the limit is near, when the device
 * has no more, or by pp_memory_trim().  Sizes grow in steps, so that requests
 * that differ a little share a block.
 *
 * Not for use by several threads at a time.  No stream may still work on what
 * is put back, unless whoever gets it next uses the same stream.
 */
#ifndef PP_MEMORY_H
#define PP_MEMORY_H

#include "device.h"

typedef enum PpMemoryKind
{
	PP_MEMORY_DEVICE,
	PP_MEMORY_PINNED			/* of the host */
} PpMemoryKind;

/* One block, or none; zeroed but for kind, it is none. */
typedef struct PpBuffer
{
	PpMemoryKind kind;
	uint8_t    *p;
	size_t		size;
} PpBuffer;

/*
 * Makes room for size bytes, what was in it being lost if there was not; false:
 * no memory, and the buffer is none.  A block that has become too small is freed.
 */
extern bool pp_buffer_reserve(PpBuffer *buffer, size_t size);

/* Why pp_buffer_reserve() failed last: cudaErrorMemoryAllocation, or the device
 * is in no state to allocate anything. */
extern cudaError_t pp_buffer_error(void);

/* Puts the block back; the buffer is none. */
extern void pp_buffer_release(PpBuffer *buffer);

/*
 * The same of a block that work on the device may still look at, and that is too
 * small to be kept.  To free memory is to wait for all such work, so the block is
 * put aside, counted as held, until pp_memory_settle() says that there is none
 * left; or until no memory is left without it.
 */
extern void pp_buffer_retire(PpBuffer *buffer);
extern void pp_memory_settle(void);

/* Bytes put aside, on the device and pinned. */
extern uint64_t pp_memory_retired(void);

typedef struct PpMemoryCounts
{
	uint64_t	held;			/* on the device, in bytes; blocks not in use included */
	uint64_t	peak;
	uint64_t	used;			/* by buffers */
	uint64_t	pinned;			/* of the host; blocks not in use included */
	uint64_t	pinned_used;
} PpMemoryCounts;

extern PpMemoryCounts pp_memory_counts(void);

/*
 * Bytes of the device's memory that may be held; frees what is beyond, if it can.
 * With more pinned memory than that, no unused block of it is kept.
 */
extern void pp_memory_limit(uint64_t bytes);

/* Bytes that buffers may still have on the device, blocks not in use included. */
extern uint64_t pp_memory_left(void);

/* Frees all blocks that are not in use. */
extern void pp_memory_trim(void);

/* Forgets all blocks, when the context they were in is gone; counts from 0. */
extern void pp_memory_forget(void);

#endif							/* PP_MEMORY_H */
