/*
 * test/simt/cudart.h
 *	  What the files of the fake CUDA runtime share: allocations, streams and
 *	  the calls that are counted and made to fail.
 */
#ifndef SIMT_CUDART_H
#define SIMT_CUDART_H

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "control.h"
#include "grid.h"
#include "report.h"

namespace simt
{

/* Counts a call; true: this one has to fail. */
extern bool injected(SimtCall kind);

/* The injections and the limit of memory that the settings ask for.  What they say
 * of shared memory is shared.cpp's. */
extern void injections_from_settings();
extern void memory_from_settings();

/*
 * Memory (cudart_memory.cpp)
 */

/* What [p, p + n) is to the device. */
enum class Where
{
	host,						/* pageable, or anything else */
	pinned,
	device,
	outside						/* begins in an allocation and leaves it */
};

extern Where where_is(const void *p, size_t n);

/* True for an address within device memory; fast. */
extern bool is_device_address(const void *p);

/* Everything that is still allocated is reported and freed. */
extern void memory_reset();

/* The peak starts again from what is allocated, copies from nothing. */
extern void memory_reset_counters();

/* Releases what cudaFreeAsync() was given. */
extern void memory_free_now(void *p);

/*
 * Streams (cudart_stream.cpp)
 */
struct EventState
{
	uint64_t	recorded;		/* cudaEventRecord() calls, */
	uint64_t	completed;		/* the last one that was executed, */
	const void *stream;			/* where, */
	uint64_t	stream_ns;		/* and the time spent executing that stream, */
	uint64_t	device_ns;		/* and all streams, until then */
	bool		timing;
	char		order;			/* address for happens-before */
};

struct Op
{
	enum class Kind
	{
		call, kernel, record, wait
	}			kind;

	std::function<void()> call;	/* must take no longer than a copy does */
	Launch		launch;
	std::shared_ptr<EventState> event;
	uint64_t	number;			/* of the event's recording */
	size_t		to_device;		/* bytes that a call copies there */
	uint64_t	place;			/* in the order of all that was enqueued */
};

/* Takes over the op. */
extern cudaError_t stream_append(cudaStream_t stream, Op &&op);

/* Executes all that was enqueued anywhere, or drops it. */
extern cudaError_t streams_drain();

/* Is anything enqueued? */
extern bool streams_busy();
extern void streams_reset();

extern uint64_t streams_alive();
extern uint64_t events_alive();

/*
 * Counters (counters.cpp)
 */
extern void count_launch(const Launch &launch);

/* Whose bytes are counted from now on; null: nobody's. */
extern void count_bytes_of(const Launch *launch);

/* Limits of a kernel by cudaFuncSetAttribute (cudart_kernel.cpp). */
extern size_t dynamic_limit(const void *function);
extern void kernels_reset();

}								/* namespace simt */

#endif							/* SIMT_CUDART_H */
