/*
 * cuda/process.h
 *	  What the library (library.cu) and its pipelines know of each other: the
 *	  process's device, options, and how failures are told.
 */
#ifndef PP_PROCESS_H
#define PP_PROCESS_H

#include "library.h"
#include "memory.h"

/* Takes note of a failure; answers its text, which is static. */
extern const char *pp_fail(PpCudaFailure kind, const char *what);

/* The same of a call of the device's; breaks the context if there is no telling
 * what works behind it. */
extern const char *pp_fail_call(const char *what, cudaError_t error);

/* The same of pp_buffer_reserve(). */
extern const char *pp_fail_buffer(const PpBuffer *buffer);

/* Was start() called, and did nothing break the context since?  Else fails. */
extern bool pp_process_ready(void);

/* As set_options() left them; no value is 0. */
extern PpCudaOptions pp_process_options(void);

/* paper_driver.cu, fused_driver.cu */
extern const PpBackend pp_backend_paper;
extern const PpBackend pp_backend_fused;

/* scan_frame.cu: what a scan did so far. */
extern void pp_frame_stats(const PpBackendScan *scan, PpCudaStats *stats);

/* Takes from all open scans what they have on the device; they may be closed. */
extern void pp_frame_stop(void);

/* join_driver.cu: the table, and the same of joins. */
extern const PpCudaJoinTable pp_cuda_join_table;
extern void pp_joins_stop(void);

#endif							/* PP_PROCESS_H */
