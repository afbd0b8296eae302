/*
 * test/simt/runtime.h
 *	  What code that stands for kernels calls in the host SIMT runtime, and how
 *	  kernels are handed to it.
 *
 * Every CUDA thread is a fiber of the one thread of the process; a kernel's
 * blocks are executed in any order, several at a time.  The runtime itself is
 * never compiled for ThreadSanitizer; only what is declared here tells it of
 * happens-before (fiber.h).
 *
 * simt.h makes the names of CUDA from this; other translations of kernels
 * (PTX) use it directly.  A place in the source ("file:line") is a string
 * that lives for ever; the same place may be given by different strings.
 */
#ifndef SIMT_RUNTIME_H
#define SIMT_RUNTIME_H

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace simt
{

/* threadIdx and blockIdx of the running thread. */
struct Index
{
	uint3		thread;
	uint3		block;
};

/* blockDim and gridDim. */
struct Dims
{
	dim3		grid;
	dim3		block;
};

extern const Index *current;	/* null: no kernel is being executed */
extern Dims dims;

enum class Warp
{
	sync, ballot, all, match, add, smin, smax, umin, umax, bit_and, bit_or, bit_xor,
	shuffle, active
};

enum class Shuffle
{
	index, up, down, bfly
};

/* The last argument of warp() for shuffles; width is a power of two. */
static inline unsigned
shuffle_arg(Shuffle kind, int lane, int width)
{
	return (unsigned) kind << 16 | (unsigned) width << 8 | ((unsigned) lane & 0xffu);
}

enum class Reduce
{
	none, count, all, any
};

/*
 * For the running thread.  An error (a barrier that threads of a block reach
 * at different places, lanes of a mask at different operations, a mask without
 * the caller, a deadlock) ends the whole grid: these do not return then.
 */
extern int	barrier(Reduce kind, int predicate, const char *where);
extern uint64_t warp(Warp op, unsigned mask, uint64_t value, unsigned arg, const char *where);

/* Chances for other threads: at accesses to atomics, and in loops that wait. */
extern void before_load();
extern void before_store();
extern void spin();				/* seldom yields; for loops that cannot say pause */
extern void pause();

/* Long loops of one thread: lets a query end in time. */
extern void checkpoint();

/* The only static shared struct of a kernel; dynamic shared memory. */
extern unsigned char *static_shared(size_t bytes, const char *where);
extern unsigned char *dynamic_shared();

/* One window for all shared memory (Launch::flat_bytes). */
extern unsigned char *flat_shared();

/* Ends the grid: what a device would answer with this error. */
[[noreturn]] extern void fail(cudaError_t error, const char *fmt,...)
			__attribute__((format(printf, 2, 3)));

/* Access of so many bytes at p that is not aligned to them. */
[[noreturn]] extern void misaligned(const void *p, unsigned bytes);

/*
 * A kernel with its arguments.  run(args) is called once a thread; release()
 * gets the arguments when nothing will look at them any more, in the error
 * case as well.
 */
struct Launch
{
	const char *kernel;			/* lives for ever */
	const void *function;		/* as given to cudaFuncSetAttribute, or null */
	dim3		grid;
	dim3		block;
	size_t		dynamic_bytes;
	size_t		flat_bytes;		/* not 0: static and dynamic together, in one
								 * window; dynamic_bytes is 0 then */
	void		(*run) (void *args);
	void		(*release) (void *args);
	void	   *args;
};

/* Checks as a launch does and appends to the stream; sets the last error. */
extern cudaError_t enqueue(const Launch &launch, cudaStream_t stream);

/* True if [p, p + n) lies within one allocation of device memory. */
extern bool in_device_memory(const void *p, size_t n);

/* Drops what the stream has not executed yet, a kernel half-way included. */
extern void abandon(cudaStream_t stream);

}								/* namespace simt */

#endif							/* SIMT_RUNTIME_H */
