/*
 * cuda/paper.h
 *	  The pipeline as published (ParPaRaw), in two halves, and what passes
 *	  between them.
 *
 *	  paper_structure.cu	text to bitmap indexes: transition vectors, their
 *							scan, record and column offsets (3.1, 3.2)
 *	  paper_fields.cu		bitmaps to fields: tags, radix partition, CSS index
 *							(3.3, 4.1)
 *	  paper_rows.cu			skipping rows (4.3)
 *	  paper_infer.cu		type inference (4.3)
 *	  paper_column.cu		fields to columns: conversion at the three levels
 *							of collaboration, NULLs and markers, filters
 *	  paper_driver.cu		the backend: buffers, streams, what comes when
 *
 * For these three and their tests only.  Positions are bytes from the start
 * of the partition's text, which starts at a record's first byte.  All arrays
 * are in device memory unless said; the driver allocates them, the halves say
 * how much they need and enqueue kernels.  Nothing here waits for the device.
 */
#ifndef PP_PAPER_H
#define PP_PAPER_H

#include "device.h"
#include "device_wide.h"
#include "library.h"
#include "symbol.h"

/* Bytes a chunk has unless the scan says other; the publication's best. */
#define PP_PAPER_CHUNK		31
/* The most it may have. */
#define PP_PAPER_MAX_CHUNK	256

/* A partition has fewer bytes, so that no record in it is too long. */
#define PP_PAPER_MAX_BYTES	(PP_MAX_RECORD - 2)

/* Columns partitioned at a time: 7 bits of a key, of which one is spare. */
#define PP_PAPER_COLUMNS	126

/* Separates fields in an inline-terminated CSS. */
#define PP_TERMINATOR		0x1e

/*
 * A dialect's automaton as the device wants it.  The bytes that act like no
 * other are symbols, each a group of its own; all other bytes are the
 * catch-all group.  A group's transition row is a vector; emit holds, four
 * bits a state, its PP_EMIT_* flags >> 4.
 */
#define PP_DEVICE_SYMBOLS	16

typedef struct PpDeviceDfa
{
	uint32_t	nstates;
	uint32_t	start;
	uint32_t	eol_len;
	uint32_t	nsymbols;		/* the number of the catch-all group */
	uint32_t	symbol[PP_DEVICE_SYMBOLS / 4];	/* lookup registers; behind the
								 * last symbol it is repeated */
	uint64_t	row[PP_DEVICE_SYMBOLS + 1];
	uint64_t	emit[PP_DEVICE_SYMBOLS + 1];
	uint8_t		end[PP_DFA_STATES];	/* PpEnd */
	uint16_t	accept;			/* bit s: end[s] is PP_END_ACCEPT */
	uint16_t	inside;			/* bit s: in state s a byte is inside quotes and
								 * not behind an escape */
	uint8_t		quote;
	uint8_t		escape;
} PpDeviceDfa;

/*
 * False: more symbols than there is room for.  Without a dialect no byte is
 * inside quotes (any automaton will do).
 */
extern bool pp_device_dfa(const PpDfa *dfa, const PpDialect *dialect, PpDeviceDfa *out);

/*
 * Counts launches by stage and, given events, takes the time wherever the
 * stage changes.  Zeroed, it only counts.
 */
typedef struct PpStageClock
{
	uint64_t	launches[PP_STAGES];
	uint32_t	room;			/* events there are */
	uint32_t	n;				/* recorded so far */
	cudaEvent_t *event;			/* [room]; event[i] was recorded ... */
	uint8_t    *stage;			/* [room] ... in front of work of this stage */
} PpStageClock;

/* To be called in front of each launch, device-wide call and memset. */
static inline void
pp_stage(PpStageClock *clock, PpCudaStage stage, cudaStream_t stream)
{
	clock->launches[stage]++;
	if (clock->n < clock->room &&
		(clock->n == 0 || clock->stage[clock->n - 1] != (uint8_t) stage) &&
		cudaEventRecord(clock->event[clock->n], stream) == cudaSuccess)
		clock->stage[clock->n++] = (uint8_t) stage;
}

/* What is wanted of a partition's structure. */
typedef struct PpStructureJob
{
	PpDeviceDfa dfa;
	const uint8_t *text;		/* of any alignment; bytes down to the multiple
								 * of 16 below it and PP_PAD bytes behind n may
								 * be read */
	uint32_t	n;				/* below PP_PAPER_MAX_BYTES; 0 is fine */
	bool		last;			/* no byte follows: a record needs no line end */
	uint32_t	chunk;			/* bytes, 1 to PP_PAPER_MAX_CHUNK */
	uint32_t	nfields;		/* that a record has to have; 0: it has to be empty */
	uint32_t	max_records;	/* at least 1 */
	uint64_t	skip_first;		/* records to be ignored at the start (4.3,
								 * skipping records): they count, but have no
								 * fields, may be of any shape and do not add to
								 * min_fields and max_fields */
	bool		ragged;			/* any number of fields is fine */
} PpStructureJob;

/* What the host has to know of it: written by the device, copied by the driver. */
typedef struct PpStructureResult
{
	uint32_t	nrecords;		/* whole records of the right shape in front of
								 * the first error, max_records at most */
	uint32_t	next;			/* start of the record behind them */
	uint32_t	full;			/* max_records was reached (and the last of them
								 * has a line end); what follows was not judged */
	uint32_t	bad;			/* the record at next is of the wrong shape ... */
	uint32_t	bad_end;		/* ... and ends here, line end excluded ... */
	uint32_t	bad_next;		/* ... and the one behind it starts here */
	uint32_t	stop;			/* first byte that led to a final state, or n; of
								 * no interest if full or bad */
	uint32_t	state;			/* that state, or the state at n */
	uint32_t	min_fields;		/* of all whole records; min > max: there is none */
	uint32_t	max_fields;
	uint32_t	quotes;			/* a quoted stretch opens somewhere */
	uint32_t	terminator;		/* PP_TERMINATOR occurs in a field */
	uint32_t	chunk_of_next;	/* chunk that holds the byte before next */
} PpStructureResult;

/*
 * A partition's structure: arrays of the driver's, see pp_structure_layout().
 *
 * Bit b of word w of chunk i of a bitmap is [w * nchunks + i] >> b: byte
 * i * chunk + 32 * w + b.
 */
typedef struct PpPaperStructure
{
	uint32_t	nchunks;		/* at least 1 */
	uint32_t	words;			/* 32-bit words of a bitmap a chunk */
	PpVector   *vector;			/* [nchunks]; in the end of what stands before */
	PpChunkOffset *offset;		/* [nchunks], in the end exclusive */
	uint32_t   *record_bits;	/* [words * nchunks] bitmap indexes (3.1): last
								 * byte of a record's line end */
	uint32_t   *field_bits;		/* delimiters */
	uint32_t   *control_bits;	/* these, and all that is not part of a value */
	uint32_t   *shape;			/* [nchunks] min and max of fields a record (4.3) */
	PpStructureResult *result;	/* one */
	void	   *temp;
	size_t		temp_bytes;
} PpPaperStructure;

/*
 * Lays the arrays out in one allocation of *bytes at base (NULL: only sizes);
 * base is a multiple of 256.
 */
extern cudaError_t pp_structure_layout(const PpStructureJob *job, void *base,
									   size_t *bytes, PpPaperStructure *out);

/* Kernels and scans up to result. */
extern cudaError_t pp_structure_run(const PpStructureJob *job, const PpPaperStructure *s,
									cudaStream_t stream, PpStageClock *clock);

/*
 * The first pass alone: each chunk's transition vector, to s->vector.  A
 * symbol of several bytes belongs to the chunk of its lead byte (4.2).
 */
extern cudaError_t pp_structure_vectors(const PpStructureJob *job, const PpPaperStructure *s,
										PpSymbolEncoding encoding,
										cudaStream_t stream, PpStageClock *clock);

/* Fields of up to PP_PAPER_COLUMNS columns, column by column (CSS and index). */
typedef struct PpFieldsJob
{
	const PpStructureJob *job;
	const PpPaperStructure *structure;
	uint32_t	nrecords;		/* as the result says */
	uint32_t	next;
	uint32_t	ncolumns;		/* at least 1 */
	const uint16_t *column_of_field;	/* [nfields] number of the column among
								 * these, or 0xffff; one to one; device memory */
	PpTagging	tagging;		/* not AUTO; RECORD if the job is ragged */
} PpFieldsJob;

/*
 * Field j = column * nrecords + record.  Its symbols, quotes and escapes
 * removed, are css[offset, offset + length); see pp_css_field().
 */
typedef struct PpFields
{
	PpTagging	tagging;
	uint32_t	nrecords;		/* the job's, less those skipped; record 0 is the
								 * first that is not */
	uint32_t	nfields;		/* ncolumns * nrecords */
	const uint8_t *css;			/* PP_PAD bytes behind its end may be read */
	const uint32_t *mark;		/* INLINE, VECTOR: [nfields] where field j's
								 * terminator stands */
	const uint32_t *offset;		/* RECORD: [nfields] */
	const uint32_t *length;		/* RECORD: [nfields], 0 where there is no symbol */
	const uint32_t *record_fields;	/* RECORD: [nrecords] fields that the record
								 * has; those behind them are missing, not empty */
	const uint32_t *quoted;		/* bitmap over fields: a quote was seen */
} PpFields;

static __host__ __device__ __forceinline__ void
pp_css_field(const PpFields *f, uint32_t j, uint32_t *offset, uint32_t *length)
{
	if (f->tagging == PP_TAG_RECORD)
	{
		*offset = f->offset[j];
		*length = f->length[j];
	}
	else
	{
		*offset = j == 0 ? 0 : f->mark[j - 1] + 1;
		*length = f->mark[j] - *offset;
	}
}

/*
 * As for the structure.  If no record is left, nothing is done; nfields has
 * to stay below 2^31.
 */
extern cudaError_t pp_fields_layout(const PpFieldsJob *job, void *base, size_t *bytes,
									PpFields *out);
extern cudaError_t pp_fields_run(const PpFieldsJob *job, void *base, size_t bytes,
								 const PpFields *out, cudaStream_t stream,
								 PpStageClock *clock);

/*
 * Where field i of record r ends, end[r * width + i], as PpBatch has it; for
 * hosts that have to look at a record themselves.  Positions of the
 * partition's text.  Fields beyond width are left out, missing ones not filled.
 */
extern cudaError_t pp_field_ends_run(const PpStructureJob *job, const PpPaperStructure *s,
									 uint32_t nrecords, uint32_t *end,
									 cudaStream_t stream, PpStageClock *clock);

/*
 * Skipping rows (4.3): a copy of the text without the physical lines of the
 * given numbers, from 0, ascending.  A row ends behind '\n', or behind '\r'
 * without '\n'; quotes do not matter, for nothing was parsed yet.
 */
typedef struct PpRowsJob
{
	const uint8_t *text;		/* alignment and padding as in PpStructureJob */
	uint32_t	n;
	uint32_t	chunk;
	const uint32_t *row;		/* [nrows] to be ignored; device memory */
	uint32_t	nrows;
} PpRowsJob;

/* *out_n, of device memory, is the number of bytes that are left; out has room
 * for n. */
extern cudaError_t pp_rows_layout(const PpRowsJob *job, size_t *bytes);
extern cudaError_t pp_rows_run(const PpRowsJob *job, void *base, size_t bytes,
							   uint8_t *out, uint32_t *out_n,
							   cudaStream_t stream, PpStageClock *clock);

/*
 * Type inference (4.3) over the CSS: kinds[column], of device memory, gets the
 * PP_KIND_* of all its fields; the host takes the column's type from them.
 * Empty fields (and, unquoted, the NULL marker) say nothing.
 */
#define PP_KIND_INT2		0x001u
#define PP_KIND_INT4		0x002u
#define PP_KIND_INT8		0x004u
#define PP_KIND_NUMERIC		0x008u	/* decimals, larger integers */
#define PP_KIND_FLOAT8		0x010u	/* exponents, infinity, not a number */
#define PP_KIND_DATE		0x020u
#define PP_KIND_TIME		0x040u
#define PP_KIND_TIMESTAMP	0x080u
#define PP_KIND_TIMESTAMPTZ 0x100u
#define PP_KIND_TEXT		0x200u

extern cudaError_t pp_infer_run(const PpFields *fields, uint32_t ncolumns,
								const uint8_t *null_text, uint32_t null_len,
								uint32_t *kinds, cudaStream_t stream,
								PpStageClock *clock);

/* The narrowest type that has a place for all of them; PP_TEXT if there is none. */
extern PpType pp_infer_type(uint32_t kinds);

/*
 * paper_column.cu
 */

/* A field longer than this is converted by no thread alone, numbers not at all. */
#define PP_PAPER_THREAD_BYTES	256
#define PP_PAPER_BLOCK_BYTES	32768
#define PP_PAPER_NUMBER_BYTES	1024

/* Facts of a scan, in device memory with all that they point to. */
typedef struct PpPaperScan
{
	PpEnv		env;
	const uint8_t *null_text;
	uint32_t	null_len;
	const uint8_t *default_text;
	uint32_t	default_len;
	uint32_t	has_default;
	uint32_t	thread_bytes;	/* longer fields are left to a block ... */
	uint32_t	block_bytes;	/* ... and still longer ones to the device */
} PpPaperScan;

/* A projected column. */
typedef struct PpPaperColumn
{
	PpColumn	col;
	uint32_t	css;			/* which column of the PpFields it is */
} PpPaperColumn;

/* Counters of one PpColumnsJob, to be zero at first. */
typedef struct PpColumnCounts
{
	uint32_t	nblock;			/* fields queued for blocks ... */
	uint32_t	ndevice;		/* ... and for the device */
	uint32_t	ndeferred;
	uint32_t	unused;
} PpColumnCounts;

/* What is known of a field that the whole device works on. */
typedef struct PpLongField
{
	uint32_t	continued;		/* bytes that continue a UTF-8 character */
	uint32_t	seen;			/* PP_SEEN_* */
} PpLongField;

/*
 * Columns to be made of fields, those by value first.  Value c * nrecords + r
 * is that of record r in column c.  All in device memory.
 */
typedef struct PpColumnsJob
{
	const PpPaperScan *scan;
	const PpPaperColumn *column;	/* [ncolumns] */
	uint32_t	ncolumns;
	uint32_t	nvalues;		/* how many of them are by value */
	uint32_t	nrecords;
	PpFields	fields;
	const uint8_t *pass;		/* [nrecords] records with 0 are left out; NULL:
								 * none */
	uint64_t   *value;			/* [ncolumns * nrecords + 1] Datums.  Between the
								 * two steps, of columns by reference, offsets in
								 * heap; the entry behind all is its size */
	uint8_t    *state;			/* [ncolumns * nrecords] PpState */
	PpColumnCounts *counts;
	uint32_t   *queue;			/* [queue_room] for blocks from the front, for the
								 * device from the end */
	uint32_t	queue_room;
	PpLongField *longs;			/* [ndevice] */
	uint8_t    *heap;			/* bytes of by-reference values, 8-aligned ... */
	uint64_t	host_heap;		/* ... and where the host will have them */
	void	   *temp;			/* of pp_columns_temp() bytes */
	size_t		temp_bytes;
} PpColumnsJob;

/* Scratch memory of a job with that many columns and records. */
extern cudaError_t pp_columns_temp(uint32_t ncolumns, uint32_t nvalues,
								   uint32_t nrecords, size_t *bytes);

/*
 * First step: what becomes of each field (NULL, DEFAULT, handed over, to be
 * converted and by whom), and where in heap the value goes.  Then counts and
 * the size of heap are known.
 */
extern cudaError_t pp_columns_measure(const PpColumnsJob *job, PpStageClock *clock,
									  cudaStream_t stream);

/* Second step: conversion, given the counts of the first. */
extern cudaError_t pp_columns_convert(const PpColumnsJob *job, const PpColumnCounts *counts,
									  PpStageClock *clock, cudaStream_t stream);

/* A filter and the column that it looks at, in device memory. */
typedef struct PpPaperFilter
{
	PpFilter	filter;			/* its bytes in device memory */
	const uint64_t *value;		/* [nrecords] */
	const uint8_t *state;
	uint64_t	to_device;		/* added to an address makes it the device's */
	uint32_t	by_reference;
} PpPaperFilter;

/* flag[r]: record r passes all filters, or may; *unknown is set if one may. */
extern cudaError_t pp_filters_run(const PpPaperFilter *filter, uint32_t nfilters,
								  uint32_t nrecords, uint8_t *flag, uint32_t *unknown,
								  PpStageClock *clock, cudaStream_t stream);

/* Adds a number to all elements. */
extern cudaError_t pp_shift_run(uint32_t *position, uint64_t n, uint32_t by,
								PpCudaStage stage, PpStageClock *clock, cudaStream_t stream);

#endif							/* PP_PAPER_H */
