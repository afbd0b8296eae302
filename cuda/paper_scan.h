/*
 * cuda/paper_scan.h
 *	  The state of a scan in the paper pipeline, shared by its host files:
 *	  paper_driver.cu (the interface, buffers, what comes when) and
 *	  paper_plan.cu (what is constant from open to close).
 */
#ifndef PP_PAPER_SCAN_H
#define PP_PAPER_SCAN_H

#include "paper.h"
#include "process.h"

/* Events that a slot's clock has; a phase records fewer. */
#define PP_CLOCK_EVENTS	40

/*
 * Columns that are converted together: of one group of fields, and either
 * all looked at by filters or none.
 */
typedef struct PpPart
{
	uint32_t	group;
	uint32_t	first;			/* in PpPlan.order */
	uint32_t	ncolumns;
	uint32_t	nvalues;		/* of them, by value; these come first */
	uint32_t	padded;			/* of them, those whose values are padded to more
								 * than a thread converts */
	bool		partition;		/* the group's fields have to be made first */
	bool		filter;			/* filters are applied behind it ... */
	bool		filtered;		/* ... or were before */
} PpPart;

/* What is constant in a scan. */
typedef struct PpPlan
{
	uint32_t   *order;			/* [ncolumns] projected columns, part by part */
	uint32_t   *css;			/* [ncolumns] distinct field of each projected column */
	uint32_t	ncss;			/* distinct fields, those of filters first ... */
	uint32_t	most;			/* columns that one of them is projected to */
	uint32_t	ngroups;		/* ... PP_PAPER_COLUMNS a group */
	PpPart	   *part;			/* [nparts] */
	uint32_t	nparts;

	/* in device memory */
	PpBuffer	tables;
	PpBuffer	tables_host;	/* what was copied there */
	size_t		tables_bytes;
	const PpPaperScan *scan;
	const PpPaperColumn *column;	/* [ncolumns], in order */
	const uint16_t *column_of_field;	/* [ngroups * nfields] */
	PpPaperFilter *filter;		/* [nfilters], of the host: bytes are set */
} PpPlan;

/* What comes back to the host in the middle of the work. */
typedef struct PpReports
{
	PpStructureResult result;
	PpColumnCounts counts;
	uint64_t	heap_bytes;
	uint32_t	nselected;
	uint32_t	unknown;
} PpReports;

typedef enum PpSlotPhase
{
	PP_SLOT_EMPTY,
	PP_SLOT_TEXT,				/* text comes in that was announced */
	PP_SLOT_STRUCTURE,
	PP_SLOT_MEASURE,			/* of slot->part */
	PP_SLOT_CONVERT,
	PP_SLOT_HELD,				/* columns are there, who wants them is not known */
	PP_SLOT_RETURN,				/* columns come out */
	PP_SLOT_DONE
} PpSlotPhase;

/* Output of one part of the columns. */
typedef struct PpPartOutput
{
	PpBuffer	values;			/* values and one more, then states */
	PpBuffer	values_host;
	PpBuffer	heap;
	PpBuffer	heap_host;
	size_t		values_bytes;
	size_t		heap_bytes;
} PpPartOutput;

/*
 * One of the two buffers (4.4) with all that belongs to a partition: text with
 * room for a carry-over in front, results, output.
 */
typedef struct PpSlot
{
	PpSlotPhase phase;
	bool		adopted;		/* job is a job; else it is guessed */
	PpJob		job;
	uint32_t	n;				/* bytes of text that are parsed */
	bool		last;
	bool		truncated;		/* the job has more */
	PpBuffer	input;
	size_t		offset;			/* of the text in it */
	uint32_t	announced;		/* PP_SLOT_TEXT: bytes, room for what is in front */

	PpStructureJob structure_job;
	PpPaperStructure structure;
	PpStructureResult result;
	uint32_t	part;
	PpPartOutput *output;		/* [nparts] */
	PpFields	fields;
	PpColumnsJob columns;
	PpBuffer	selected;
	PpBuffer	selected_host;
	PpBuffer	end;
	PpBuffer	end_host;
	PpBuffer	filter_host;
	PpBuffer	reports;		/* PpReports, of the host */
	bool		listed;			/* end was filled */
	bool		filtered;
	uint32_t	nselected;
	bool		unknown;
	uint64_t	ndeferred;

	cudaEvent_t uploaded;
	cudaEvent_t done;			/* what the phase waits for */
	cudaEvent_t copy[4];		/* start and end of copies, in and out */
	bool		copied[2];		/* copy[] is to be read */
	PpStageClock clock;
	cudaEvent_t clock_event[PP_CLOCK_EVENTS];
	uint8_t		clock_stage[PP_CLOCK_EVENTS];

	PpColumnData *data;			/* [ncolumns] */
	PpBatch		batch;
} PpSlot;

struct PpBackendScan
{
	const PpScanSpec *spec;
	PpBackendScan *next;		/* of all open scans */
	bool		stopped;		/* has nothing on the device any more */
	PpCudaOptions options;
	PpDeviceDfa dfa;
	PpPlan		plan;
	void	   *block[8];		/* of the caller's memory */
	uint32_t	nblocks;

	cudaStream_t in;
	cudaStream_t work;
	cudaStream_t out;
	cudaEvent_t carried;		/* what the stream `in` must not overtake */
	uint32_t	nevents;		/* made so far, for close */
	bool		failed;

	PpSlot		slot[2];
	uint32_t	current;		/* the slot of the job that was submitted last */
	uint32_t	largest;		/* job so far, in bytes */
	bool		carry;			/* its last record goes on in the next job */
	bool		no_ahead;		/* memory does not suffice to work ahead: the other
								 * slot has none */

	/* scratch memory, of the stream `work` */
	PpBuffer	structure;
	PpBuffer	fields;
	PpBuffer	columns;
	PpBuffer	longs;
	PpBuffer	filters;
	PpBuffer	rest;			/* of a record that goes on in the same slot */

	PpCudaStats stats;
};

/* Host memory of the scan's, zeroed, freed by close; NULL: there is none. */
extern void *pp_paper_host(PpBackendScan *s, size_t size);

/* paper_plan.cu: false: no memory, or a call failed; pp_fail() was told. */
extern bool pp_paper_plan(PpBackendScan *s);

#endif							/* PP_PAPER_SCAN_H */
