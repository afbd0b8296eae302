/*
 * test/simt/grid.h
 *	  A kernel in execution: its resident blocks, their warps and threads, and
 *	  the schedule.  For the files of the runtime only; kernels see runtime.h.
 *
 * A grid can be left in the middle and gone on with later; several may be
 * half-way at the same time, but only one is being executed.
 */
#ifndef SIMT_GRID_H
#define SIMT_GRID_H

#include "control.h"
#include "fiber.h"
#include "runtime.h"

namespace simt
{

struct Block;
struct WarpState;
struct Grid;

enum class State
{
	ready, at_barrier, in_warp, done
};

/* Where lanes of a warp order their memory: an address for happens-before. */
struct Meeting
{
	unsigned	users;
	char		order;
};

/* A CUDA thread.  Its stack comes with its first step and goes with its last. */
struct Fiber : Index
{
	Context		context;
	Stack	   *stack;			/* null: has not begun, or has ended */
	Line	   *line;			/* null: any stack will do */
	Block	   *block;
	WarpState  *warp;
	unsigned	lane;
	State		state;
	const char *where;			/* barrier or warp operation it waits in */

	/* the warp operation that it waits in */
	Warp		op;
	unsigned	mask;
	unsigned	arg;
	uint64_t	value;
	uint64_t	result;
	Meeting    *meeting;		/* of __syncwarp */

	uint64_t	loaded;			/* bytes, in builds that count them */
};

struct WarpState
{
	Fiber	   *lane[32];
	unsigned	lanes;
	unsigned	waiting;		/* bitmaps over lanes */
	unsigned	exited;

	Meeting		meetings[32];	/* one a lane is enough */
};

/* A resident block; the slot is used again by a later block. */
struct Block
{
	Grid	   *grid;
	Fiber	   *fibers;
	WarpState  *warps;
	unsigned	threads;
	unsigned	alive;			/* threads that have not exited */
	unsigned	arrived;		/* at the barrier */
	unsigned	arrived_true;
	const char *barrier_where;
	int			barrier_result;
	unsigned	generation;		/* of the barrier: two addresses in turn, so that
								 * a thread that is late to acquire does not see
								 * what others release for the next one */
	char		order[2];
	unsigned char *shared;		/* see shared.cpp */
	const char *shared_where;
	char		start_order;	/* address for happens-before */
	bool		open;
};

enum class Step
{
	done, more, failed
};

/* What may be done before grid_run() answers more. */
struct Budget
{
	uint64_t	deadline;		/* of clock_ns(); 0: any time */
	uint64_t	switches;		/* 0: any number */
};

struct Grid
{
	Launch		launch;
	Dims		dims;
	Block	   *blocks;
	unsigned	resident;
	unsigned	threads;		/* of a block */
	uint64_t	next_block;
	uint64_t	nblocks;
	unsigned	open_blocks;

	Fiber	  **ready;
	size_t		nready;
	Fiber	   *running;
	Stack	   *dying;			/* still in use until the next switch */
	uint64_t	picks;

	Context		main;			/* who called grid_run() */
	uint64_t	deadline;
	uint64_t	switches_left;
	unsigned	clock_in;		/* switches until the clock is looked at */
	bool		leave;			/* the slice is over */
	bool		failed;

	uint64_t	progress;		/* changes when a thread did what others may wait for */
	uint64_t	spin_progress;
	uint64_t	spins;

	char		end_order;		/* address for happens-before */
};

/*
 * Null: no memory.  Takes the launch's arguments in any case.  The lines are
 * of the stream and must outlive the grid.
 */
extern Grid *grid_create(const Launch &launch, Lines *lines);
extern Step grid_run(Grid *grid, const Budget &budget);

/* Threads that have not ended are forgotten. */
extern void grid_destroy(Grid *grid);

extern Grid *active;			/* being executed */
extern uint64_t clock_ns();

/*
 * Schedule (schedule.cpp)
 */
extern SimtConfig config;		/* no zeros but seed and preempt */

/* Random 32 bits, and a number below n; the same after every configuration. */
extern uint32_t random32();
extern size_t random_below(size_t n);

extern void make_ready(Fiber *fiber);

/* The running thread waits, state set, until someone makes it ready. */
extern void wait();

/* Others may go first. */
extern void yield();

/* For the runtime's own loop and the end of a thread. */
extern Fiber *pick(Grid *grid);
extern void leave_fiber(bool ends);

/* With shuffled schedules another thread goes on behind each rendezvous. */
static inline void
maybe_yield()
{
	if (config.seed != 0)
		yield();
}

/* A lane that others may wait for has exited (warp.cpp). */
extern void warp_exit(Fiber *fiber);

/* A thread has exited that the barrier does not wait for any more. */
extern void barrier_exit(Block *block);

/* The configuration of the environment, unless there is one. */
extern void configure_once();

/* From grid_run() to a thread, until it comes back; false: no memory. */
extern bool enter_fiber(Grid *grid, Fiber *next);

/* A signal of the hardware, met by the running thread. */
extern void thread_crashed(int signal, const void *address);

/*
 * Shared memory of a block (shared.cpp): static, a gap, dynamic, a gap.  What
 * the device has of it, a multiprocessor and at most a block, is a setting.
 */
extern unsigned char *shared_take();
extern void shared_give(unsigned char *shared);
extern void shared_start(Block *block);
extern void shared_release();

static const size_t SHARED_STATIC = 49152;
static const size_t SHARED_MOST = 227 * 1024;	/* that a block has of any device */
static const size_t SHARED_RESERVED = 1024;	/* of a block, for the device itself */
extern void shared_from_settings();
extern size_t shared_multiprocessor();
extern size_t shared_block();

/*
 * No signal handler of the process runs while it lives, for it would run on a
 * thread's stack; crashes of threads become errors of the grid (signals.cpp).
 */
struct SignalGuard
{
	SignalGuard();
	~SignalGuard();
	SignalGuard(const SignalGuard &) = delete;
	SignalGuard &operator=(const SignalGuard &) = delete;
};

}								/* namespace simt */

#endif							/* SIMT_GRID_H */
