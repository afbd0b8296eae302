/*
 * cuda/paper_scan.h
 *	  The state of a scan in the paper pipeline, shared by its host files:
 *	  paper_driver.cu (buffers, what comes when) and
 *	  paper_plan.cu (what is constant from open to close).
 */
#ifndef PP_PAPER_SCAN_H
#define PP_PAPER_SCAN_H

#include "driver.h"

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

	PpTables	tables;

	/* in device memory */
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

/* Steps of a slot, in this order; the latter two of slot->part. */
enum
{
	STEP_STRUCTURE,
	STEP_MEASURE,
	STEP_CONVERT
};

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

/* What belongs to a partition. */
struct PpPaperSlot : PpSlot
{
	PpStructureJob structure_job;
	PpPaperStructure structure;
	uint32_t	part;
	PpPartOutput *output;		/* [nparts] */
	PpFields	fields;
	PpColumnsJob columns;
	PpBuffer	selection;
	PpBuffer	selection_host;
	PpBuffer	filter_host;
};

struct PpPaperRun : PpDriverScan
{
	PpPlan		plan;

	/* scratch memory, of the stream `work` */
	PpBuffer	structure;
	PpBuffer	fields;
	PpBuffer	columns;
	PpBuffer	longs;
	PpBuffer	filters;
};

/* paper_plan.cu: false: no memory, or a call failed; pp_fail() was told. */
extern bool pp_paper_plan(PpPaperRun *s);

#endif							/* PP_PAPER_SCAN_H */
