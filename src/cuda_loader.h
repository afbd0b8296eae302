/*-------------------------------------------------------------------------
 *
 * cuda_loader.h
 *		The device library of a server process: loaded and started when a scan
 *		or a join needs it, and not before.
 *
 * Failures are values here, so that "auto" can go on without a device where
 * "cuda" raises an error.
 *
 * IDENTIFICATION
 *		src/cuda_loader.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARPARAW_CUDA_LOADER_H
#define PARPARAW_CUDA_LOADER_H

#include "postgres.h"

#include <signal.h>

#include "../cuda/library.h"

/* parparaw.backend */
typedef enum PpBackendChoice
{
	PP_USE_AUTO,
	PP_USE_CPU,
	PP_USE_CUDA
} PpBackendChoice;

/* parparaw.cuda_pipeline */
typedef enum PpCudaPipeline
{
	PP_PIPELINE_FUSED,
	PP_PIPELINE_PAPER
} PpCudaPipeline;

/* GUCs, defined in module.c */
extern PGDLLIMPORT int parparaw_backend;	/* PpBackendChoice */
extern PGDLLIMPORT char *parparaw_cuda_library;
extern PGDLLIMPORT char *parparaw_cuda_probe;
extern PGDLLIMPORT int parparaw_cuda_pipeline;
extern PGDLLIMPORT int parparaw_cuda_partition_size;	/* bytes */
extern PGDLLIMPORT int parparaw_cuda_min_file_size; /* kB; -1: by estimate */
extern PGDLLIMPORT int parparaw_cuda_tagging;	/* PpTagging */
extern PGDLLIMPORT int parparaw_cuda_join_algorithm;	/* PpCudaJoinAlgorithm */
extern PGDLLIMPORT int parparaw_cuda_device;	/* ordinal */
extern PGDLLIMPORT int parparaw_cuda_max_backends;
extern PGDLLIMPORT int parparaw_cuda_max_memory;	/* kB */

#define PP_CUDA_MAX_BACKENDS	64	/* at most, whatever is set */

/* What an error is going to say.  Texts are in CurrentMemoryContext. */
typedef struct PpCudaProblem
{
	int			sqlstate;
	const char *message;
	const char *detail;			/* NULL: none */
	const char *hint;			/* the same */
} PpCudaProblem;

/* Raises the problem as it is; or tells the server's log of it. */
extern void parparaw_cuda_raise(const PpCudaProblem *problem);
extern void parparaw_cuda_log(const PpCudaProblem *problem);

/*
 * "auto": is a device to be tried, as far as this process has seen?  Not if one
 * could not be started, or for some seconds if that may change.
 */
extern bool parparaw_cuda_tries(void);

/* Notes that the CPU took a device's place, or that none could be started. */
extern void parparaw_cuda_note_fallback(const PpCudaProblem *problem);
extern void parparaw_cuda_note_failed_start(const PpCudaProblem *problem);

/*
 * Is a device likely to be there?  Looks for the library's file and for the
 * probe's, and touches neither.
 */
extern bool parparaw_cuda_likely(void);

/* Has this process a context already? */
extern bool parparaw_cuda_started(void);

/*
 * The library, with a context; loads, and starts, what has to be.  NULL: the
 * problem is set.  Takes a noticeable part of a second the first time, during
 * which no interrupt is served.
 */
extern const PpCudaLibrary *parparaw_cuda_start(PpCudaProblem *problem);

/* The device of the context. */
extern const PpCudaDevice *parparaw_cuda_device_facts(void);

/*
 * What holds something of the context's: it is not stopped as long, except at
 * the end of the session.  False: the session has ended, nothing is held.
 */
extern void parparaw_cuda_hold(void);
extern bool parparaw_cuda_let_go(void);

/* The problem that a failed call of the library was, by its failure() then. */
extern void parparaw_cuda_explain_failure(PpCudaFailure failure, const char *text,
										  PpCudaProblem *problem);

/*
 * No signal may be delivered while the library runs: threads that the driver
 * starts inherit the mask, and must never run a handler of the server's.
 */
extern void parparaw_cuda_block(sigset_t *saved);
extern void parparaw_cuda_unblock(const sigset_t *saved);

/*
 * cuda_slots.c: how many sessions of the server use devices, and how much
 * memory.
 */

/* Takes a slot, *bytes of device memory with it.  False: the problem is set. */
extern bool parparaw_cuda_slot_take(uint64 *bytes, PpCudaProblem *problem);
extern void parparaw_cuda_slot_free(void);

#endif							/* PARPARAW_CUDA_LOADER_H */
