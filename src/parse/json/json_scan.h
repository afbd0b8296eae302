/*
 * src/parse/json/json_scan.h
 *	  The state of a scan on the NDJSON backend, shared by json_backend.c (the
 *	  interface, text to records) and json_convert.c (values to columns).
 *
 * The CPU backend's scan is a part of it: batches, columns, filters and their
 * order are the same, and so is the code for them (../cpu/cpu_scan.h).
 */
#ifndef PP_JSON_SCAN_H
#define PP_JSON_SCAN_H

#include "../cpu/cpu_scan.h"

#include "json.h"
#include "json_check.h"
#include "json_kernel.h"
#include "json_shape.h"

typedef struct JsonScan
{
	PpBackendScan cpu;			/* comes first; its structure part is not used
								 * but for the list of ends, pos and record */
	const PpJsonScanSpec *spec;
	PpJsonPaths paths;
	PpJsonBatch batch;
	bool		bom;			/* nothing was read yet: a mark may come */

	/* structure */
	uint32_t	limit;			/* whole lines end here */
	uint32_t	reference_to;	/* lines in front of this are for the reference */
	const PpJsonKernels *kernels;	/* or NULL */
	PpJsonCheck check;
	bool		checking;		/* a line is being checked: */
	uint32_t	line_end;		/* where it ends, its line end excluded */
	PpJsonShapes shapes;
	PpJsonTokens tokens;
	uint32_t	token_room;
	uint32_t	rows;			/* records there is room for */
	PpJsonRange **range;		/* [ncolumns][rows] */
	bool		resume;
	uint32_t	resume_scanned; /* bytes without a line end, of the record that
								 * the next job starts with */
} JsonScan;

/* As pp_cpu_convert_column(). */
extern ConvertEnd pp_json_convert_column(JsonScan *s);

#endif							/* PP_JSON_SCAN_H */
