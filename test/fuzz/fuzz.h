/*
 * test/fuzz/fuzz.h
 *	  What a fuzz target offers to fuzz_main.c.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The entry point that libFuzzer calls as well. */
extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const char *const fuzz_name;
extern const char *const fuzz_seed[];	/* NULL-terminated */
extern const size_t fuzz_head;	/* bytes in front of a seed, chosen at random */

#endif							/* FUZZ_H */
