/*
 * cuda/json_scan.h
 *	  The state of a scan of JSON on the device, shared by json_driver.cu (the
 *	  interface, what comes when), json_text.cu (text on its way to the device) and
 *	  json_plan.cu (what is constant from open to close).  For these only.
 */
#ifndef PP_JSON_DEVICE_SCAN_H
#define PP_JSON_DEVICE_SCAN_H

#include "fused.h"
#include "json_device.h"
#include "process.h"

#include "../src/parse/json/json_path.h"

/* Events that the clock has; a phase records fewer. */
#define PP_JSON_EVENTS		16

/* Columns that are converted in one step: those of filters, or, with aggregates,
 * all; then the others. */
#define PP_JSON_PARTS		2

typedef enum PpJsonPhase
{
	PP_JSON_IDLE,
	PP_JSON_RECORDS,			/* text comes in, records are found */
	PP_JSON_CONVERT,			/* columns of the part are made; then filters and
								 * aggregates ... */
	PP_JSON_SELECT,				/* ... are applied */
	PP_JSON_RETURN,				/* columns come out */
	PP_JSON_DONE,
	PP_JSON_GIVEN,				/* the batch is there, without the device */
	PP_JSON_HOST				/* the CPU's backend has the job */
} PpJsonPhase;

/* Columns that are made together: values, then states. */
typedef struct PpJsonPart
{
	uint32_t	first;			/* in order[] */
	uint32_t	ncolumns;
	uint32_t	nrows;			/* of the job */
	PpBuffer	values;
	PpBuffer	values_host;
	PpBuffer	heap;
	PpBuffer	heap_host;
	uint64_t	heap_room;
	uint64_t	heap_bytes;		/* in use, or wanted */
} PpJsonPart;

/* What comes back to the host in the middle of the work. */
typedef struct PpJsonReports
{
	PpJsonResult result;
	PpFusedResult selection;	/* nselected, unknown */
	uint32_t	last_end;		/* where the last record of the batch ends */
	PpPartial	partial[1];		/* [naggregates + 1] */
} PpJsonReports;

typedef struct PpJsonScan
{
	const PpJsonScanSpec *spec;
	struct PpJsonScan *next;	/* of all open scans */
	bool		stopped;		/* has nothing on the device any more */
	bool		failed;
	bool		documents;
	uint32_t	tile_bytes;

	/* constant */
	PpJsonPaths paths;
	uint32_t   *order;			/* [ncolumns] projected columns, those of filters first */
	PpBuffer	tables;			/* what the device has of all that follows */
	PpBuffer	tables_host;
	const PpJsonDeviceNode *node;
	const uint8_t *keys;
	const PpEnv *env;
	const PpJsonDeviceColumn *column;	/* [ncolumns] as order[] has them */
	PpPaperFilter *filter;		/* [nfilters], of the host: bytes are set */
	const PpAggregate *aggregate;	/* [naggregates + 1], the last counts records */
	bool		selecting;		/* there are filters, or aggregates of columns */

	/* the CPU's share */
	PpJsonScanSpec host_spec;
	PpBackendScan *host;
	PpJob		host_job;
	bool		host_first;		/* the record that comes next was refused */
	bool		host_resumes;	/* documents: it has a part of that record */
	uint32_t	stretch;		/* bytes the CPU takes beside a record refused */
	uint32_t	left;			/* of them, those it was not given yet */

	/* the job */
	PpJob		job;
	PpJsonPhase phase;
	PpJsonPlace place;			/* documents: of the next job's beginning */
	bool		bom;			/* nothing was read yet: a mark may come */
	uint32_t	no_line;		/* bytes without a line end that the next job starts
								 * with */
	uint32_t	first;			/* begin, behind a mark */
	uint32_t	n;				/* bytes from there on that are parsed */
	bool		truncated;		/* there are more */
	int64_t		there_from;		/* what the input holds of the next job: from its
								 * begin on, all up to ... */
	uint32_t	there_to;		/* ... here; 0: nothing */
	bool		carry;			/* the next job begins with the rest of this one ... */
	uint32_t	rest;			/* ... of so many bytes */
	uint32_t	announced;		/* bytes that come in to `moved`; 0: none */
	const uint8_t *announced_text;
	bool		announced_last;
	bool		no_ahead;		/* there is no memory for that */
	uint32_t	tail;			/* bytes at the job's end that were announced */
	PpJsonJob	records;
	uint32_t	nrecords;		/* of the batch */
	bool		refused;		/* it ends in front of a record that is not accepted */
	uint32_t	part;			/* that is being made */
	bool		filtered;
	uint32_t	nselected;
	uint32_t	ndeferred;
	bool		listed;

	cudaStream_t stream;
	cudaStream_t in;			/* text that was announced */
	cudaEvent_t done;
	cudaEvent_t came;			/* it is there */
	cudaEvent_t carried;		/* what `moved` held is not needed any more */
	cudaEvent_t event[PP_JSON_EVENTS];
	uint32_t	nevents;		/* made so far */
	uint8_t		stage[PP_JSON_EVENTS];
	PpStageClock clock;
	PpBuffer	input;
	PpBuffer	moved;			/* where what it holds is moved to, or text comes in
								 * that was announced */
	PpBuffer	structure;		/* tiles, ends, places, the result */
	PpBuffer	selection;		/* the result, partials, the filters, flags, scratch
								 * memory */
	PpBuffer	selection_host;	/* the result as it is at first, the filters */
	PpBuffer	selected;
	PpBuffer	selected_host;
	PpBuffer	deferred;		/* [ncolumns] values handed over */
	PpBuffer	deferred_host;
	PpBuffer	dense;			/* values of selected rows */
	PpBuffer	end_host;		/* of the host, like those that follow */
	PpBuffer	range_host;
	PpBuffer	spread_host;	/* columns with selected rows at their records' places */
	PpBuffer	reports;
	PpJsonPart	part_of[PP_JSON_PARTS];
	uint64_t	heap_guess;		/* bytes of a heap a kilobyte of text */

	PpColumnData *data;			/* [ncolumns] */
	const PpJsonRange **range;	/* [ncolumns] */
	PpJsonBatch batch;
	PpCudaStats stats;
} PpJsonScan;

/* json_plan.cu: false: no memory, or a call failed; pp_fail() was told. */
extern bool pp_json_plan(PpJsonScan *s);

/*
 * json_text.cu.  What answers a bool has told pp_fail() when it is false, but for
 * pp_json_announce().
 */

/* A call has failed: notes that, and answers false. */
extern bool pp_json_call_failed(PpJsonScan *s, const char *what, cudaError_t e);

/* Makes room in a buffer, whose content is lost if it has to grow; rather than
 * that there is none, it does without tail and what was announced. */
extern bool pp_json_reserve(PpJsonScan *s, PpBuffer *b, size_t size);

/* A copy between host and device, counted. */
extern bool pp_json_copy(PpJsonScan *s, void *dst, const void *src, size_t n, cudaMemcpyKind kind);

/* The n bytes at first of the job to the input. */
extern bool pp_json_upload(PpJsonScan *s);

/* Lets text come in that may stand behind the job's; false: it does not. */
extern bool pp_json_announce(PpJsonScan *s, const uint8_t *text, uint32_t len, bool last);

/* Sets tail, of a job that was just submitted. */
extern void pp_json_take_announced(PpJsonScan *s);

#endif							/* PP_JSON_DEVICE_SCAN_H */
