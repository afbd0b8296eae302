/*
 * cuda/json_device.h
 *	  JSON on the device: what passes between the parts.
 *
 *	  json_walk.h		one record: is it JSON, and where are its values?
 *	  json_tile.h		what both passes have in common
 *	  json_records.cu	the pass over the text: lines to records, each walked
 *	  json_documents.cu	the same of documents
 *	  json_column.cu	values to columns
 *	  json_driver.cu	the backend; what it consists of besides is told by
 *						json_scan.h
 *
 * A newline ends a record of NDJSON wherever it stands (RFC 8259 allows no
 * control character in a string), so lines are found without any state, and one
 * record that is broken does not concern the others.  A record belongs to the
 * tile that its line end lies in; its first byte is found by looking back from
 * there.
 *
 * The device accepts a record only if it is right in every respect (UTF-8,
 * grammar, numbers, escapes, depth) and nothing about it needs more than this
 * code knows.  The first record that is not accepted ends the batch in front of
 * it; the CPU's backend takes it, with the text behind it or alone, and finds
 * what is wrong, if anything is.  So faults, and whatever is rare, are the
 * CPU's by construction.
 *
 * For these and their tests only.  Positions are those of the job's text, all
 * arrays are in device memory unless said.  Nothing here waits for the device.
 */
#ifndef PP_JSON_DEVICE_H
#define PP_JSON_DEVICE_H

#include "paper.h"

#include "../src/parse/json/json.h"

/*
 * Threads of a block, and bytes of its tile: a multiple of
 * PP_JSON_MIN_TILE, at most PP_JSON_MAX_TILE.
 */
#define PP_JSON_THREADS		128
#define PP_JSON_WARPS		(PP_JSON_THREADS / 32)
#define PP_JSON_MIN_TILE	(16 * PP_JSON_THREADS)
#define PP_JSON_MAX_TILE	(8 * PP_JSON_MIN_TILE)

/* A line as long as this, white space included, is not accepted. */
#define PP_JSON_LONG		65536

/* Nodes and keys of up to so many bytes are kept on chip. */
#define PP_JSON_TABLE		4096

/* Containers within each other that the device keeps track of. */
#define PP_JSON_LEVELS		64

/* A value that may need more room than this is handed over. */
#define PP_JSON_VALUE_ROOM	1048576

#define PP_JSON_NOWHERE		0xffffffffu	/* no node */

/* A node of the columns' paths; order and meaning as PpJsonNode. */
typedef struct PpJsonDeviceNode
{
	uint64_t	head;			/* the key's first eight bytes, zeros behind its end */
	uint32_t	key;			/* its offset in the job's keys */
	uint32_t	key_len;		/* PP_JSON_NOWHERE: an array's element */
	uint32_t	index;			/* of the element */
	uint32_t	size;			/* nodes below it, and itself */
	uint32_t	parent;			/* of node 0: PP_JSON_NOWHERE */
	uint32_t	place;			/* of columns' nodes: its number among these; else
								 * PP_JSON_NOWHERE */
	uint16_t	below;			/* places of nodes below it: the first, how many */
	uint16_t	nbelow;
	uint8_t		keys;			/* some nodes below are reached by keys ... */
	uint8_t		elements;		/* ... or by indexes */
	uint8_t		unused[2];
} PpJsonDeviceNode;

/* What bytes of 0x80 and more are good for. */
typedef enum PpJsonHigh
{
	PP_JSON_HIGH_UTF8,			/* checked */
	PP_JSON_HIGH_KNOWN,			/* known to be right */
	PP_JSON_HIGH_REFUSED		/* in an encoding the device knows nothing of */
} PpJsonHigh;

/* Written by the device; all zero at first. */
typedef struct PpJsonResult
{
	unsigned long long heap_bytes;	/* that values by reference want */
	unsigned long long limit;	/* documents: ~(position << 32 | records up to it), see
								 * json_documents.cu; 0: there is none */
	uint32_t	ticket;			/* tiles taken */
	uint32_t	nrecords;		/* of the text; those beyond the room are not listed */
	uint32_t	refused;		/* ~number of the first listed record that is not
								 * accepted; 0: all are */
	uint32_t	lines_end;		/* behind the last line end, or what separates
								 * documents, less the text's beginning; 0: there is
								 * none */
} PpJsonResult;

/* Of a value's place: its string has escapes. */
#define PP_JSON_ESCAPES		0x80000000u

typedef struct PpJsonJob
{
	const uint8_t *text;		/* 16-aligned; PP_PAD bytes behind n may be read */
	uint32_t	n;				/* below PP_PAPER_MAX_BYTES; 0 is fine */
	uint32_t	begin;			/* the position of its first byte, which may be up to
								 * 15 below 0 if these are blanks; begin + n stays
								 * below PP_JSON_ESCAPES */
	uint32_t	last;			/* no byte follows: a record needs no line end */
	uint32_t	tile_bytes;
	uint32_t	room;			/* records, at least 1 */
	uint32_t	any_value;
	uint32_t	max_depth;		/* at most PP_JSON_LEVELS */
	uint32_t	high;			/* PpJsonHigh */
	uint32_t	escapes_refused;	/* escapes of 0x80 and more are not accepted */
	uint32_t	nnodes;
	uint32_t	nplaces;		/* of them, those whose values columns want */
	uint32_t	table_bytes;	/* of nodes, and keys behind them; a multiple of 4 */
	const PpJsonDeviceNode *node;	/* [nnodes] */
	const uint8_t *keys;

	uint32_t   *end;			/* [room] where records' lines end; of documents,
								 * where what separates them stands */
	uint2	   *place;			/* [nplaces * room]: first byte of the node's value,
								 * and the one behind it with PP_JSON_ESCAPES; both
								 * 0: there is none */
	uint32_t   *tiles;			/* [pp_json_tiles()] what tiles tell each other */
	uint64_t   *states;			/* [2 * pp_json_tiles()] the same, of documents */
	uint32_t	level;			/* of documents: 1, the text begins in an outermost
								 * array; 0, between outermost values */
	PpJsonResult *result;
} PpJsonJob;

extern uint32_t pp_json_tiles(uint32_t n, uint32_t tile_bytes);

/*
 * The sum of a value over the threads in front, and over all, of a block of
 * PP_JSON_THREADS; count is in shared memory, and has room for each warp's.
 */
static __device__ __forceinline__ uint32_t
pp_json_sum_block(uint32_t *count, uint32_t v, uint32_t *all)
{
	const uint32_t lane = threadIdx.x % 32;
	uint32_t	sum = v;
	uint32_t	before = 0;

	for (uint32_t d = 1; d < 32; d *= 2)
	{
		const uint32_t other = __shfl_up_sync(0xffffffffu, sum, d);

		if (lane >= d)
			sum += other;
	}
	if (lane == 31)
		count[threadIdx.x / 32] = sum;
	__syncthreads();
	*all = 0;
	for (uint32_t w = 0; w < PP_JSON_WARPS; w++)
	{
		if (w == threadIdx.x / 32)
			before = *all;
		*all += count[w];
	}
	return before + sum - v;
}

/* json_documents.cu, json_records.cu: zeroes tiles and result, and runs the pass.
 * Of documents, n is not 0. */
extern cudaError_t pp_json_documents_run(const PpJsonJob *job, PpStageClock *clock,
										 cudaStream_t stream);
extern cudaError_t pp_json_records_run(const PpJsonJob *job, PpStageClock *clock,
									   cudaStream_t stream);

/* A projected column. */
typedef struct PpJsonDeviceColumn
{
	PpColumn	col;
	uint32_t	place;			/* of its node */
	uint8_t		as_json;		/* as in PpJsonColumn */
	uint8_t		whole;			/* it is the record itself */
	uint8_t		unused[2];
} PpJsonDeviceColumn;

/*
 * Columns of records: rows r < nrows are the first records, or those of
 * selected[].  Value c * nrows + r is that of row r in column c.
 */
typedef struct PpJsonColumnsJob
{
	const PpJsonJob *job;		/* of the host */
	const PpEnv *env;
	uint32_t	charset;		/* not UTF-8: strings with escapes are handed over */
	const PpJsonDeviceColumn *column;	/* [ncolumns] */
	uint32_t	ncolumns;
	uint32_t	nrows;
	const uint32_t *selected;	/* [nrows]; NULL: all */
	uint64_t   *value;			/* [ncolumns * nrows] Datums */
	uint8_t    *state;			/* [ncolumns * nrows] PpState */
	uint32_t   *ndeferred;		/* [ncolumns], zero at first */
	uint8_t    *heap;			/* by-reference values, 8-aligned: from heap_bytes of
								 * the result on, which is where they end then, or
								 * would if there was more room */
	uint64_t	heap_room;		/* PP_PAD bytes behind it may be read */
	uint64_t	host_heap;		/* where the host will have it */
} PpJsonColumnsJob;

extern cudaError_t pp_json_columns_run(const PpJsonColumnsJob *job, PpStageClock *clock,
									   cudaStream_t stream);

/* Rows of columns that are there for all records: out[c * nrows + i] is that of
 * record selected[i], of nrecords. */
extern cudaError_t pp_json_gather_run(const uint64_t *value, const uint8_t *state,
									  uint32_t ncolumns, uint32_t nrecords,
									  const uint32_t *selected, uint32_t nrows,
									  uint64_t *out_value, uint8_t *out_state,
									  PpStageClock *clock, cudaStream_t stream);

/*
 * json_driver.cu.  The backend of newline-delimited JSON; its spec has a host
 * backend.  Of its batches, range[] has no list of columns no value of which was
 * handed over, and end is NULL where PpBatch allows it.
 */
extern const PpBackend pp_backend_device_ndjson;
extern const PpBackend pp_backend_device_json;	/* of documents */

/* As pp_json_enter(). */
extern void pp_device_json_enter(PpBackendScan *scan, PpJsonPlace place);

/*
 * Of tests, for scans opened from then on: bytes of a tile; bytes that the CPU
 * takes if records that are not accepted come close to each other.
 */
extern uint32_t pp_json_tile_bytes;
extern uint32_t pp_json_stretch;

#endif							/* PP_JSON_DEVICE_H */
