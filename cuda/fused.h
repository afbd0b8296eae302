/*
 * cuda/fused.h
 *	  The fused pipeline: one pass over the text of a partition, from bytes to
 *	  columns, by decoupled look-back; and what passes between its parts.
 *
 *	  fused_tile.h			a block's tile of text: transition vectors, both
 *							look-backs, its fields and records (ParPaRaw, 3.1
 *							and 3.2; Merrill and Garland's chained scan)
 *	  fused_convert.h		a tile's fields to columns
 *	  fused_parse.cu		the pass over all tiles that these two make up
 *	  fused_long.cu			copies of long values, by all blocks
 *	  fused_select.cu		filters, aggregates, and the columns of the records
 *							that are left
 *	  fused_driver.cu		the backend: buffers, streams, what comes when
 *
 * Positions are bytes from the start of the partition's text, which starts at
 * a record's first byte.  Records are counted from there, too.  All arrays are
 * in device memory unless said; the driver allocates them, the parts enqueue
 * kernels.  Nothing here waits for the device.
 *
 * A record's field belongs to the tile in which it ends, wherever it starts;
 * so there is no halo, and no limit to a field or record but the partition's.
 *
 * Columns are early or late.  Early ones are converted in the pass over the
 * tiles.  With filters, those that no filter and no aggregate looks at are
 * late: the pass only notes where their fields are (PpFieldRef), and they are
 * converted when it is known which records are left.
 */
#ifndef PP_FUSED_H
#define PP_FUSED_H

#include "paper.h"

/*
 * Threads of a block and bytes of its tile: each thread has as many bytes as
 * the tile's size says, a multiple of 8 and at most 64.  What tiles read and
 * write of each other is the less of the text the larger they are.
 */
#define PP_FUSED_THREADS	256
#define PP_FUSED_TILE		8192	/* see pp_fused_best_tile() */
#define PP_FUSED_MIN_TILE	(8 * PP_FUSED_THREADS)
#define PP_FUSED_MAX_TILE	(64 * PP_FUSED_THREADS)

/* How the state of a tile's bytes is found. */
typedef enum PpFusedStates
{
	PP_FUSED_PARITY,			/* the number of quotes, and what the line end
								 * needs (pp_dialect_is_parity()) */
	PP_FUSED_STATES_8,			/* transition vectors of up to 8 states, in 32 bits */
	PP_FUSED_STATES_16			/* ... of up to 16, in 64 bits */
} PpFusedStates;

/* What a transition does, four bits: one of three, and two flags. */
#define PP_FUSED_FIELD	1u
#define PP_FUSED_RECORD	2u
#define PP_FUSED_STOP	3u
#define PP_FUSED_QUOTING 4u		/* by a quote or, inside quotes, an escape */
#define PP_FUSED_WITHIN	8u		/* in front of it, it is inside quotes; if there is
								 * an escape: inside and behind an escape */

/* What happens to a projected column in the pass over the tiles. */
typedef struct alignas(8) PpFusedColumn
{
	int32_t		mod;			/* as in PpColumn, as all the rest */
	uint16_t	field;
	uint8_t		type;
	uint8_t		flags;			/* and PP_FUSED_LATE */
} PpFusedColumn;

#define PP_FUSED_LATE	0x80u

static inline PpFusedColumn
pp_fused_column(const PpColumn *col, bool late)
{
	PpFusedColumn r;

	r.mod = col->mod;
	r.field = (uint16_t) col->field;
	r.type = (uint8_t) col->type;
	r.flags = (uint8_t) (col->flags | (late ? PP_FUSED_LATE : 0));
	return r;
}

/*
 * A field of a late column, or of a value to be copied: value[] holds this
 * until it is converted, its state is PP_VALUE.
 */
typedef struct PpFieldRef
{
	uint32_t	start;
	uint32_t	length;			/* bit 31: quotes or escapes are to be removed */
} PpFieldRef;

#define PP_FIELD_CONTROL	0x80000000u

/* A value too long for one thread: the copy of a text into its heap space. */
typedef struct PpFusedLong
{
	uint64_t	heap;			/* offset there, of the value's header */
	PpFieldRef	ref;
	uint32_t	column;			/* PP_FUSED_NOTHING: there was no heap space */
	uint32_t	record;			/* (or row, of a late column) */
	PpLongField look;			/* if it is huge, what was seen in it ... */
	uint32_t	content;		/* ... and its bytes without quotes and escapes */
} PpFusedLong;

#define PP_FUSED_NOTHING	UINT32_MAX

/* With more bytes of text than this it is huge: many warps share it. */
#define PP_FUSED_HUGE_BYTES	65536

/* Counters and sizes, written by the device, copied by the driver. */
typedef struct PpFusedResult
{
	PpStructureResult structure;
	uint32_t	ticket;			/* tiles taken so far */
	uint32_t	nlongs;			/* wanted; those beyond the room are handed over */
	uint64_t	heap_bytes;		/* wanted; values beyond the room are handed over */
	uint64_t	ndeferred;		/* values handed over, of the records that count:
								 * early ones, then late ones of those selected */
	uint32_t	handed;			/* one was, perhaps of a record that does not count */
	uint32_t	nhuge;			/* of the longs */
	uint32_t	longs_done;		/* of the longs, those that were copied */
	uint32_t	nselected;
	uint32_t	unknown;		/* a filter met a value that was handed over */
	uint32_t	some_left;		/* with aggregates, a record that passes is left */
} PpFusedResult;

/*
 * One pass over a partition.  Value c * room + r is that of record r in
 * projected column c.  The result's fields are as in the paper pipeline
 * (PpStructureResult), with max_records = room.  Everything beyond the last
 * record that counts is garbage.
 */
typedef struct PpFusedJob
{
	/* the dialect's, see pp_fused_states() */
	PpDeviceDfa dfa;			/* with PP_FUSED_* for PP_EMIT_*, unless PARITY */
	PpFusedStates states;
	uint64_t	state_of;		/* nibble s: what the PpDfa calls state s */
	uint64_t	final_of[PP_DEVICE_SYMBOLS + 1];	/* [group] nibble s: the state,
													 * of the PpDfa, behind that byte */
	uint32_t	escaped;		/* bit s: in state s, a byte is inside quotes and
								 * behind an escape */
	uint8_t		delimiter;
	uint8_t		eol;			/* the last byte of a line end */
	uint8_t		markers;		/* a line of "\." is looked for (PARITY) */

	uint32_t	tile_bytes;
	const uint8_t *text;		/* alignment and padding as in PpStructureJob */
	uint32_t	n;				/* below PP_PAPER_MAX_BYTES; 0 is fine */
	uint32_t	last;			/* no byte follows: a record needs no line end */
	uint32_t	nfields;		/* that a record has to have; 0: it has to be empty */

	const PpPaperScan *scan;
	const PpFusedColumn *column;	/* [ncolumns] */
	uint32_t	ncolumns;
	uint32_t	room;			/* records, at least 1 */
	uint64_t   *value;			/* [ncolumns * room] Datums or, of late columns,
								 * PpFieldRef */
	uint8_t    *state;			/* [ncolumns * room] PpState */
	uint8_t    *heap;			/* by-reference values, each 8-aligned */
	uint64_t	heap_room;
	uint64_t	host_heap;		/* where the host will have it: Datums are addresses
								 * in there */
	uint32_t   *end;			/* [room * max(nfields, 1)] where fields end, as in
								 * PpBatch but from the text's start; NULL: not wanted */
	PpFusedLong *longs;			/* [longs_room] */
	uint32_t	longs_room;
	void	   *tiles;			/* of pp_fused_tiles_bytes() bytes: what tiles tell
								 * each other, and pp_tile_start(); all zero at first */
	PpFusedResult *result;		/* one; all zero at first but nothing else */
} PpFusedJob;

extern size_t pp_fused_tiles_bytes(uint32_t n, uint32_t tile_bytes);

/*
 * The size of tiles for a device with so many bytes of shared memory: of a
 * multiprocessor, of a block at most, and of each block for the device itself.
 * The largest, if multiprocessors then have as many blocks as registers leave
 * them; else PP_FUSED_TILE.
 */
extern uint32_t pp_fused_best_tile(size_t multiprocessor, size_t block, size_t reserved);

/*
 * Fills in what a job says of the dialect: the least way, but not below
 * `least`, that serves it; of the automaton, only states that can be reached,
 * those that are never left being one.  False: more symbols than there is room
 * for, as in pp_device_dfa().
 */
extern bool pp_fused_states(PpFusedJob *job, const PpDialect *dialect, const PpDfa *dfa,
							PpFusedStates least);

/* fused_parse.cu: zeroes tiles and result, and runs the pass. */
extern cudaError_t pp_fused_parse(const PpFusedJob *job, PpStageClock *clock, cudaStream_t stream);

/*
 * fused_long.cu: copies the values that the pass has queued, and makes
 * result->ndeferred complete; for every job with columns.  How many values there
 * are is read on the device.
 */
extern cudaError_t pp_fused_long(const PpFusedJob *job, PpStageClock *clock, cudaStream_t stream);

/*
 * The same for what the conversion of late columns has queued behind that: value,
 * state and room are those of the selected records.  pp_select_columns() calls it.
 */
extern cudaError_t pp_fused_long_late(const PpFusedJob *job, PpStageClock *clock,
									  cudaStream_t stream);

/*
 * Behind the pass: filters are applied to the records that count; with
 * aggregates, those records of which everything is known are taken into
 * partial[] and count as done: if they are ranked, all or none.  The other records
 * that pass, or may pass, are selected: their numbers, ascending, and their
 * columns, densely, late ones being converted.  In: result; out:
 * result->nselected, unknown and the heap's size; selected[].  MIN and MAX of a
 * partial without values mean nothing.
 */
#define PP_SELECT_LEFT	1u		/* selected */
#define PP_SELECT_TAKEN	2u		/* into partial[] */

typedef struct PpSelectJob
{
	const PpFusedJob *job;
	const PpPaperFilter *filter;	/* [nfilters] value and state point into the job's;
								 * to_device is set */
	uint32_t	nfilters;
	const PpAggregate *aggregate;	/* [naggregates], device memory */
	uint32_t	naggregates;
	bool		ranked;			/* pp_aggregate_is_ranked() of one of them */
	PpPartial  *partial;		/* [naggregates] */
	uint8_t    *flag;			/* [room] PP_SELECT_* */
	uint32_t   *selected;		/* [room], 8-aligned */
	void	   *temp;			/* of pp_select_temp() bytes */
	size_t		temp_bytes;
} PpSelectJob;

extern cudaError_t pp_select_temp(uint32_t room, size_t *bytes);

/* First step: filters and aggregates; then nselected is known to the host. */
extern cudaError_t pp_select_run(const PpSelectJob *job, PpStageClock *clock, cudaStream_t stream);

/*
 * Second step: columns of nselected records, dense, late ones converted (into
 * the job's heap, behind what is there): out_value[c * nselected + i].
 */
extern cudaError_t pp_select_columns(const PpSelectJob *job, uint32_t nselected,
									 uint64_t *out_value, uint8_t *out_state,
									 PpStageClock *clock, cudaStream_t stream);

/*
 * join_relation.cu: behind the first step, once its result is what counts: the
 * ntaken of nrecords records whose flags say that they are taken leave the
 * sink's columns in its relation.  False: failed, as pp_fail() was told; but for
 * memory, without which the relation is lost, and the scan goes on.
 */
extern bool pp_relation_sink(const PpKeySink *sink, const PpFusedJob *job, const uint8_t *flag,
							 uint32_t nrecords, uint64_t ntaken, cudaStream_t stream);

#endif							/* PP_FUSED_H */
