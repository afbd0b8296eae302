/*
 * src/parse/cpu/cpu_scan.h
 *	  The state of a scan on the CPU backend, shared by its three parts:
 *	  backend.c (the interface), structure.c (text to field positions) and
 *	  convert.c (fields to columns, filters).  For nobody else.
 */
#ifndef PP_CPU_SCAN_H
#define PP_CPU_SCAN_H

#include "../../backend.h"

#include "arena.h"
#include "kernel.h"

#define SLICE_BYTES			(1u << 20)	/* text a poll looks at */

typedef enum Phase
{
	PHASE_IDLE,
	PHASE_STRUCTURE,
	PHASE_CONVERT,
	PHASE_DONE
} Phase;

/* Convert a column, or apply a filter. */
typedef struct Work
{
	bool		filter;
	uint32_t	number;
} Work;

struct PpBackendScan
{
	const PpScanSpec *spec;
	const PpKernels *kernels;
	bool		parity;			/* the dialect suits the structure kernel */
	bool		plain_numbers;	/* the markers and the dialect suit the number
								 * kernel */
	bool		plain_timestamps;	/* ... the timestamp kernel */
	uint32_t	width;			/* fields of a record, at least 1 */

	PpJob		job;
	Phase		phase;
	PpBatch		batch;

	/* structure */
	uint32_t   *end_storage;	/* [1 + max_records * width + width] */
	uint32_t   *end;			/* end_storage + 1 */
	uint32_t	pos;			/* next byte to look at */
	uint32_t	state;			/* of the automaton, there */
	uint32_t	nrecords;		/* whole records listed */
	uint32_t	record;			/* start of the record that is being read */
	uint32_t	nfields;		/* its fields so far */
	bool		quotes;			/* a quote was seen in this job's text */

	/* an incomplete record that the next job continues */
	bool		resume;
	uint32_t	resume_scanned; /* bytes of it already looked at */
	uint32_t	resume_state;
	uint32_t	resume_nfields;
	bool		resume_quotes;
	uint32_t   *resume_end;		/* [width], relative to its start */

	/* conversion */
	Work	   *work;			/* [nwork] what to do for a batch, in order */
	uint32_t	nwork;
	uint32_t	done;			/* of it */
	uint32_t	column;			/* being converted ... */
	uint32_t	row;			/* ... from this (selected) row on */
	bool		filtered;		/* a filter was applied: */
	uint32_t   *selected;		/* [max_records] the rows that passed */
	uint32_t	nselected;
	PpColumnData *data;
	uint32_t	room;			/* rows allocated a column */
	PpArena		arena;
	uint8_t    *long_text;		/* a long value that is being copied, or NULL */
	uint32_t	long_in;		/* its bytes taken so far ... */
	uint32_t	long_out;		/* ... and written */
	bool		long_in_quote;
	uint8_t    *scratch;		/* a value whose quotes are removed */
	uint32_t	scratch_room;
};

/*
 * structure.c
 */

/* How a slice of the structure phase ended. */
typedef enum SliceEnd
{
	SLICE_GO_ON,
	SLICE_OVER,
	SLICE_NO_MEMORY
} SliceEnd;

/* Goes on up to to, as a single chunk; false: the phase is over. */
extern bool pp_cpu_structure_slice(PpBackendScan *s, uint32_t to);

/* The same in chunks, as published. */
extern SliceEnd pp_cpu_structure_chunked(PpBackendScan *s, uint32_t to);

/* The text is used up: says in the batch what that means. */
extern void pp_cpu_structure_end(PpBackendScan *s);

/*
 * convert.c
 */

/* How a slice of a column's conversion ended. */
typedef enum ConvertEnd
{
	CONVERT_DONE,
	CONVERT_SLICE,				/* enough for one poll */
	CONVERT_NO_MEMORY
} ConvertEnd;

/* What is to be done for a batch, in order; false: out of memory. */
extern bool pp_cpu_plan_work(PpBackendScan *s);

/* Room for that many rows in every column; false: out of memory. */
extern bool pp_cpu_reserve_rows(PpBackendScan *s, uint32_t rows);

/* Converts s->column from s->row on. */
extern ConvertEnd pp_cpu_convert_column(PpBackendScan *s);

/* Narrows the selection. */
extern void pp_cpu_apply_filter(PpBackendScan *s, const PpFilter *f);

/* Do markers and dialect suit the kernels for numbers and timestamps? */
extern bool pp_cpu_numbers_are_plain(const PpScanSpec *spec);
extern bool pp_cpu_timestamps_are_plain(const PpScanSpec *spec);

#endif							/* PP_CPU_SCAN_H */
