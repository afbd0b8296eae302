/*-------------------------------------------------------------------------
 *
 * device.h
 *		The part of a scan that is about devices: which backend runs it, and
 *		what that one needs, does and costs.
 *
 * IDENTIFICATION
 *		src/scan/device.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARPARAW_DEVICE_H
#define PARPARAW_DEVICE_H

#include "portability/instr_time.h"

#include "scan.h"

#include "../cuda_loader.h"

/* What a scan has done on a device, over all runs that were on one. */
typedef struct PpDeviceUse
{
	PpCudaPipeline pipeline;	/* of the last run */
	bool		json;			/* of which there is one way to read it */
	bool		cpu;			/* it was not on a device, or did not end there */
	double		total;			/* seconds from the start of a run to its end */
	double		start;			/* of them, for making the context */
	double		read;			/* reading the file, transcoding, verifying */
	double		rest;			/* what neither these nor the device took: rows
								 * returned, and whatever was done with them */
	PpCudaStats stats;
} PpDeviceUse;

/*
 * A run over the file is about to start, its source is open.  True: it is on a
 * device, and scan->spec is what that one wants; parparaw_device_opened()
 * follows once the stream is open.  Raises an error where only a device would
 * do and there is none.
 */
extern bool parparaw_device_begin(PpScan *scan);
extern void parparaw_device_opened(PpScan *scan);

/* pp_stream_step() of a scan on a device; never waits for long. */
extern PpStep parparaw_device_step(PpScan *scan);

/* next_batch() leaves the scan to its caller. */
extern void parparaw_device_pause(PpScan *scan);

/* What a time that started then was spent for reading. */
extern void parparaw_device_was_read(PpScan *scan, instr_time start);

/*
 * The stream has failed.  True: the CPU goes on, step again.  Raises the error
 * if it was the device's; returns false if it was not.
 */
extern bool parparaw_device_failed(PpScan *scan);

/* The run ends; scan->stream is still there. */
extern void parparaw_device_end(PpScan *scan);

/* NULL: it was never on a device. */
extern const PpDeviceUse *parparaw_device_use(const PpScan *scan);

/* device_explain.c: nothing of a scan that was never on a device. */
extern void parparaw_explain_device(const PpScan *scan, ExplainState *es);

#endif							/* PARPARAW_DEVICE_H */
