/*
 * test/simt/control.h
 *	  What tests may ask of the host SIMT layer and tell it: schedules, faults
 *	  to inject, what was found, and what was counted.
 *
 * Not for drivers or kernels: these know nothing of the layer.  The shared
 * library exports these functions beside its one entry, so that a test that
 * loads it can look inside.  One process, one thread.
 *
 * Settings come from these functions, from the environment, or, for processes
 * of a server, from a file of lines NAME=VALUE that SIMT_CONTROL names: it is
 * read at each cudaGetDeviceCount(), and wins over the environment and over
 * what the functions said before.
 */
#ifndef SIMT_CONTROL_H
#define SIMT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

/* also from the library, whose functions are hidden otherwise */
#pragma GCC visibility push(default)

/*
 * False where a real device executes the kernels, of which nothing of the
 * following can be asked (test/cuda/control_device.cpp).
 */
extern bool simt_present(void);

/*
 * How kernels are scheduled.  Zeros are the defaults; the environment sets the
 * same: SIMT_SEED, SIMT_RESIDENT, SIMT_PREEMPT, SIMT_STACK, SIMT_SLICE_MS.
 */
typedef struct SimtConfig
{
	uint32_t	seed;			/* 0: orderly, else any runnable thread is next */
	uint32_t	resident;		/* blocks of a grid that are alive at once */
	uint32_t	preempt;		/* chance in 65536 to yield at an atomic access */
	uint32_t	stack_bytes;	/* of a thread */
	uint32_t	slice_ms;		/* that a query works off at most */
	bool		slow;			/* it works off one op at most, or a small part of a kernel */
} SimtConfig;

/* NULL: as the environment says.  Nothing may be in flight. */
extern void simt_configure(const SimtConfig *config);

/*
 * What was found wrong last ("" is nothing): divergent barriers, deadlocks,
 * bad masks, copies out of bounds, leaks.  Valid until the next report.
 */
extern const char *simt_last_report(void);
extern uint64_t simt_reports(void);
extern void simt_clear_reports(void);

/* Reports also go to the standard error output; on unless switched off. */
extern void simt_report_to_stderr(bool on);

/*
 * Injected failures: call number nth of its kind from now on (1 is the next;
 * 0: none) fails, and if lasting so do all behind it.  The environment says
 * the same by SIMT_FAIL_ALLOC, SIMT_FAIL_COPY, SIMT_FAIL_LAUNCH and
 * SIMT_FAIL_EXECUTION: "3" or, lasting, "3+".
 */
typedef enum SimtCall
{
	SIMT_ALLOC,					/* cudaMalloc and cudaHostAlloc: out of memory */
	SIMT_COPY,					/* copies and fills: invalid value */
	SIMT_LAUNCH,				/* launches: refused at once */
	SIMT_EXECUTION,				/* launches: die while they run; sticky */
	SIMT_CALLS
} SimtCall;

extern void simt_inject(SimtCall kind, uint64_t nth, bool lasting);
extern uint64_t simt_calls(SimtCall kind);	/* since simt_reset_counters() */

/* Device memory that there is; SIMT_MEMORY in the environment. */
extern void simt_set_device_bytes(uint64_t bytes);

/*
 * Shared memory of a multiprocessor, in bytes; SIMT_SHARED in the environment.
 * 0: as that says, or as a device of compute capability 9.0 has it.  A driver
 * looks at it when it starts.
 */
extern void simt_set_shared(uint64_t bytes);

typedef struct SimtMemory
{
	uint64_t	device_bytes;	/* allocated now */
	uint64_t	peak_device_bytes;
	uint64_t	device_blocks;
	uint64_t	pinned_bytes;
	uint64_t	pinned_blocks;
	uint64_t	streams;		/* handles that were not destroyed */
	uint64_t	events;
	uint64_t	leaked_blocks;	/* alive when the device was reset: all so far */
	uint64_t	waits;			/* frees that found work to be waited for */
} SimtMemory;

extern SimtMemory simt_memory(void);

/*
 * Launches of a kernel by its name in the source, NULL is all; the functions
 * of device_wide.h count under their names.  Kernels made from PTX (test/ptx)
 * are counted with all others of their template, and CUB's as what they are.
 */
extern uint64_t simt_launches(const char *kernel);

typedef struct SimtKernelCount
{
	const char *name;
	uint64_t	launches;
	uint64_t	threads;
	uint64_t	bytes_loaded;	/* from device memory; SIMT_COUNT_BYTES builds */
	uint64_t	bytes_stored;
	uint64_t	most_loaded;	/* bytes by one thread of a launch */
} SimtKernelCount;

/* Number i in the order of their first launch; false: there is none. */
extern bool simt_kernel(size_t i, SimtKernelCount *count);

/* Bytes that copies and fills moved, in every build. */
typedef struct SimtCopies
{
	uint64_t	to_device;
	uint64_t	to_host;
	uint64_t	within_device;
	uint64_t	filled;
} SimtCopies;

extern SimtCopies simt_copies(void);

/* True if this build counts bytes. */
extern bool simt_counts_bytes(void);

/*
 * What is done on the device, op by op: told once when it is enqueued, and once when
 * it was executed to its end.  An op that was executed depended on none that was not.
 */
typedef struct SimtOp
{
	uint64_t	number;			/* in the order of enqueueing, over all streams */
	uint64_t	stream;			/* number of the stream, in the order of creation */
	const char *kernel;			/* NULL: it is none */
	size_t		to_device;		/* bytes that it copies from the host */
	bool		done;
} SimtOp;

/* NULL: nothing is told any more. */
extern void simt_watch(void (*watch) (const SimtOp *op, void *ctx), void *ctx);

/* Calls, launches and bytes start again from 0, the peak from what is held. */
extern void simt_reset_counters(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif							/* SIMT_CONTROL_H */
