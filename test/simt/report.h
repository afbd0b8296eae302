/*
 * test/simt/report.h
 *	  What the SIMT layer found wrong: the text for people, and the error that
 *	  the runtime's functions answer from then on.
 */
#ifndef SIMT_REPORT_H
#define SIMT_REPORT_H

#include <cuda_runtime_api.h>

namespace simt
{

/* Begins, continues and ends one report. */
extern void report_begin();
extern void report_add(const char *fmt,...) __attribute__((format(printf, 1, 2)));
extern void report_end();

/* One report in one call. */
extern void report(const char *fmt,...) __attribute__((format(printf, 1, 2)));

/* Answers the error, which becomes the last one unless it is success. */
extern cudaError_t answer(cudaError_t error);

/* The device is broken: what every call answers until it is reset. */
extern cudaError_t sticky_error();
extern void set_sticky_error(cudaError_t error);
extern void clear_errors();

}								/* namespace simt */

#endif							/* SIMT_REPORT_H */
