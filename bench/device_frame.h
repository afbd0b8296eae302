/*
 * bench/device_frame.h
 *	  What the programs that measure the device library without a server have in
 *	  common: the library, time, how often and how long, and how a run ends badly.
 *
 * A program says main() and what is measured, and calls frame_option() for each
 * argument that is not its own.
 */
#ifndef BENCH_DEVICE_FRAME_H
#define BENCH_DEVICE_FRAME_H

#include "../cuda/library.h"

#define MAX_ROUNDS	15

extern const PpCudaLibrary *library;
extern double deadline;			/* nothing is begun behind it */
extern uint32_t rounds;
extern bool tiny;
extern uint32_t left_out;		/* rows, the time being used up */
extern uint32_t differences;	/* answers that are not the CPU's */

typedef struct FrameOptions
{
	const char *library;
	const char *tsv;
	const char *name;
	double		limit;			/* seconds */
} FrameOptions;

extern double now(void);
extern void die(const char *fmt,...) __attribute__((format(printf, 1, 2), noreturn));

/* Takes the option at argv[*i], and its value; false: it is none of these. */
extern bool frame_option(FrameOptions *options, int argc, char **argv, int *i);

/* With the options there are: sets the deadline, and loads the library. */
extern void frame_load(const FrameOptions *options);

/* Starts the device; false: *message says why not. */
extern bool frame_start(PpCudaDevice *device, const char **message);

#endif							/* BENCH_DEVICE_FRAME_H */
