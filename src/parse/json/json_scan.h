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

/* How long records were lately is remembered of so many. */
#define PP_JSON_RECENT	4

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

	/* structure of documents, see json_document.c */
	bool		documents;
	PpJsonPlace place;			/* that of cpu.pos, which is behind a separator */
	bool		finding;		/* a record's end is looked for: */
	uint32_t	first;			/* its first byte */
	uint32_t	found;			/* the next byte to be looked at */
	PpRangeState state;			/* there; of what is no container, quoting only */
	uint32_t	recent[PP_JSON_RECENT]; /* numbers of tokens of recent records */
} JsonScan;

/* json_backend.c: room for more records, or the tokens of n bytes; false: out
 * of memory. */
extern bool pp_json_reserve_records(JsonScan *js, uint32_t more);
extern bool pp_json_reserve_tokens(JsonScan *js, uint32_t n);

/* json_backend.c: do tokens hold what tokens() has not checked, of [from, to)? */
extern bool pp_json_tokens_valid(JsonScan *js, uint32_t from, uint32_t to, uint32_t flags);

/*
 * json_document.c: the structure phase of documents.
 */

/* Takes up the job. */
extern bool pp_json_document_begin(JsonScan *js);

/* Goes on, by about a slice. */
extern SliceEnd pp_json_document_slice(JsonScan *js);

/* As pp_cpu_convert_column(). */
extern ConvertEnd pp_json_convert_column(JsonScan *s);

#endif							/* PP_JSON_SCAN_H */
