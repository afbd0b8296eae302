/*
 * test/unit/unit.h
 *	  The frame of every unit test program: options, deterministic random
 *	  numbers, cases that pass or fail, and an allocator that counts and fails
 *	  on demand.
 *
 * A program calls unit_begin() first and returns unit_end().  In between it
 * opens cases with unit_case() and states facts with EXPECT(); a case passes
 * if none of its facts is wrong.  The last line that a program prints is
 * "NAME: N passed, N failed".
 *
 * Options: -n PERCENT scales the number of random cases, -s SEED changes
 * them.  Nothing else may make two runs differ.  Not for use by the engine.
 */
#ifndef UNIT_H
#define UNIT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parse/common.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Reads the options; prints name and seed. */
extern void unit_begin(int argc, char **argv, const char *name);

/* Prints the summary; answers the exit status. */
extern int	unit_end(void);

/* A number of random cases, scaled by -n; at least 1. */
extern uint64_t unit_iterations(uint64_t n);

/* Ends the case before and opens one; the text tells it apart from others. */
extern void unit_case(const char *fmt,...) __attribute__((format(printf, 1, 2)));

/* A fact of the current case; the rest says what is wrong if it is not so. */
#define EXPECT(cond, ...) \
	((void) (unit_facts++, (cond) || unit_wrong(__FILE__, __LINE__, __VA_ARGS__)))

extern uint64_t unit_facts;		/* of the current case */
extern bool unit_wrong(const char *file, int line, const char *fmt,...)
			__attribute__((format(printf, 3, 4)));

/*
 * Random numbers (splitmix64).  A generator is one word, so that a case can
 * be repeated from the seed it prints.
 */
typedef uint64_t UnitRandom;

/* The generator of case number i of test number t under the program's seed. */
extern UnitRandom unit_random(uint32_t t, uint64_t i);
extern uint64_t unit_next(UnitRandom *r);

/* Uniform in 0 .. n - 1; n at least 1. */
extern uint32_t unit_below(UnitRandom *r, uint32_t n);

/* True once in n times. */
extern bool unit_once_in(UnitRandom *r, uint32_t n);

/*
 * An allocator that knows what is live.  New memory is filled with 0xa5 and
 * released memory with 0xdd, so that reading either shows.  Allocation number
 * fail_at (from 1; 0 is never) fails, and if fail_on so do all behind it.
 */
typedef struct UnitHeap
{
	size_t		live_blocks;
	size_t		live_bytes;
	size_t		peak_bytes;
	uint64_t	calls;
	uint64_t	fail_at;
	bool		fail_on;
	bool		failed;			/* a failure was injected */
} UnitHeap;

extern PpAlloc unit_heap_alloc(UnitHeap *heap);

/* malloc() that ends the program when there is no memory. */
extern void *unit_malloc(size_t n);

/* Bytes as a C string literal, shortened; static buffers, used in turn. */
extern const char *unit_show(const uint8_t *s, size_t n);

#ifdef __cplusplus
}
#endif

#endif							/* UNIT_H */
