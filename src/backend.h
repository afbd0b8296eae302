/*
 * src/backend.h
 *	  The interface between a scan and the engine that parses its partitions:
 *	  submit a buffer, poll for the columnar batch, release it.
 *
 * Everything is plain memory and plain C: the same interface serves the CPU
 * backend, a device library loaded at run time, and tests.  No call blocks
 * for long: poll does (or waits for) a bounded amount of work and answers
 * PP_POLL_PENDING when there is more, so that the caller can look for
 * interrupts in between.
 *
 * Ownership: the caller owns the job's text and keeps it, unmoved, until the
 * batch is released.  The backend owns the batch and all it points to; it is
 * valid until released.  A failed allocation, submission or device call is
 * reported by value (PP_POLL_FAILED with a message), never by a jump.
 */
#ifndef PP_BACKEND_H
#define PP_BACKEND_H

#include "parse/column.h"
#include "parse/dialect.h"
#include "parse/filter.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define PP_BACKEND_VERSION	3

/*
 * Aggregates over all records that pass, such that batches may give their share.
 * SUM, MIN and MAX are of columns whose Datums compare and add as signed integers.
 * Of numerics, values and sums are multiples of 10000^-fraction; a record with one
 * that has more digits behind the point, PP_FIXED_DIGITS of base 10000 in all, or
 * is no finite number, is left to the caller.
 *
 * Equal floats and numerics may differ (zeros, display scales): of these, the last
 * record's counts.  So with MIN or MAX of them, a batch in which any record is left
 * to the caller leaves all.
 */
typedef enum PpAggregateOp
{
	PP_AGGREGATE_COUNT_ALL,		/* records */
	PP_AGGREGATE_COUNT,			/* values that are not NULL, as in the following */
	PP_AGGREGATE_SUM,
	PP_AGGREGATE_MIN,
	PP_AGGREGATE_MAX,
	PP_AGGREGATE_SUM_NUMERIC,
	PP_AGGREGATE_MIN_FLOAT4,	/* as the server orders them */
	PP_AGGREGATE_MAX_FLOAT4,
	PP_AGGREGATE_MIN_FLOAT8,
	PP_AGGREGATE_MAX_FLOAT8,
	PP_AGGREGATE_MIN_NUMERIC,
	PP_AGGREGATE_MAX_NUMERIC
} PpAggregateOp;

#define PP_FIXED_DIGITS	7

typedef struct PpAggregate
{
	PpAggregateOp op;
	uint32_t	column;			/* number of the projected column; of COUNT_ALL, none */
	uint32_t	fraction;		/* of numerics: digits of base 10000 behind the point,
								 * below PP_FIXED_DIGITS */
} PpAggregate;

/* Does the order of records show in its ties? */
PP_INLINE bool
pp_aggregate_is_ranked(PpAggregateOp op)
{
	return op >= PP_AGGREGATE_MIN_FLOAT4;
}

/* A batch's share of an aggregate. */
typedef struct PpPartial
{
	uint64_t	count;			/* values (COUNT_ALL: records) taken */
	uint64_t	low;			/* SUM: the sum's lower half; MIN, MAX: the value, if
								 * there was one: a Datum, or, of numerics, the
								 * lower half of it */
	int64_t		high;			/* SUM, and all of numerics: the upper half */
	uint32_t	scale;			/* of numerics, the display scale: of the value, or
								 * SUM: the greatest */
	uint32_t	fraction;		/* of numerics, as in PpAggregate */
} PpPartial;

/* What the bits of a key's Datum mean. */
typedef enum PpSinkKind
{
	PP_SINK_UINT8,
	PP_SINK_INT16,
	PP_SINK_INT32,
	PP_SINK_UINT32,
	PP_SINK_INT64,
	PP_SINK_UINT64				/* the key is the number of that rank among signed ones */
} PpSinkKind;

/* Two columns whose values a device is to keep (PpCudaRelation of cuda/library.h). */
typedef struct PpKeySink
{
	void	   *relation;
	uint32_t	column[2];
	uint8_t		kind[2];		/* PpSinkKind */
} PpKeySink;

/* What a scan wants; constant from open to close, owned by the caller. */
typedef struct PpScanSpec
{
	uint32_t	struct_size;	/* sizeof(PpScanSpec) */
	PpDialect	dialect;
	PpDfa		dfa;			/* the dialect compiled for the file's line end */
	uint32_t	nfields;		/* fields of a record; 0: records are empty */
	uint32_t	ncolumns;		/* projected columns; 0: only records are wanted */
	const PpColumn *column;
	uint32_t	nfilters;		/* all of them have to pass */
	const PpFilter *filter;
	uint32_t	naggregates;	/* wanted instead of columns, by a backend that has
								 * them (PpBatch.partial); others ignore it */
	const PpAggregate *aggregate;
	uint32_t	nsinks;			/* of a backend of a device, with aggregates: the
								 * records taken into them leave their keys there, but
								 * for those with a NULL; others ignore it */
	const PpKeySink *sink;
	const uint8_t *null_text;	/* NULL marker */
	uint32_t	null_len;
	const uint8_t *default_text;	/* DEFAULT marker, if has_default */
	uint32_t	default_len;
	bool		has_default;
	PpEnv		env;
	bool		unlisted;		/* end[] of batches is not looked at; with
								 * ncolumns = 0 only */
	uint32_t	max_records;	/* of a batch, at least 1 */
	uint32_t	chunk_size;		/* bytes of a chunk; 0: a partition is one */
	uint32_t	simd;			/* PpSimd level of the CPU backend, which this
								 * processor must have; 0: none */
	PpAlloc		alloc;
} PpScanSpec;

/*
 * A buffer to parse.  Bytes [begin, len) start at a record's first byte.
 * PP_PAD bytes behind len may be read.  A job whose begin names the record
 * that an earlier batch left incomplete (PP_STOP_MORE), or unread (PP_STOP_FULL),
 * may continue where that one stopped; the record may have moved within, or with,
 * the buffer.  A scan that goes on elsewhere has to be opened anew, then.
 */
typedef struct PpJob
{
	const uint8_t *text;
	uint32_t	begin;
	uint32_t	len;
	bool		last;			/* no byte follows len, in this buffer or later */
	bool		peek_cr;		/* text[len] is a '\r' of which is not known what
								 * follows: it may decide what the bytes before
								 * mean, but not be taken itself */
} PpJob;

/* Why a batch ends where it does. */
typedef enum PpStop
{
	PP_STOP_MORE,				/* the record at next is incomplete */
	PP_STOP_FULL,				/* max_records, or as many as the backend has room
								 * for; the record at next is unread */
	PP_STOP_END,				/* no record follows */
	PP_STOP_FIELDS,				/* the record at next has too many or too few
								 * fields; it ends at bad_end */
	PP_STOP_SYNTAX				/* the record at next is broken at bad_end, as
								 * bad says */
} PpStop;

typedef struct PpColumnData
{
	uint64_t   *value;			/* [nrecords] Datums; [nselected] if compact */
	uint8_t    *state;			/* the same, PpState */
} PpColumnData;

/*
 * Whole records with the wanted number of fields, in file order.  end[i] is
 * the text position behind field i, counted through the records: field k of
 * record r is number r * width + k, width being nfields (at least 1).  See
 * pp_batch_field().  end[-1] exists and is such that record 0 needs no case
 * of its own.  Of an unlisted scan it is not filled.  A backend that has to
 * fetch the list may leave end NULL where there is no field to be looked at:
 * with ncolumns > 0, without has_default, where ndeferred is 0.
 */
typedef struct PpBatch
{
	const uint8_t *text;
	uint32_t	nrecords;
	uint32_t	width;
	uint32_t	eol_len;
	const uint32_t *end;
	uint32_t	ncolumns;
	const PpColumnData *column;
	const uint32_t *selected;	/* with filters: the records that pass, or may
								 * pass, ascending; of others, columns may not
								 * be filled.  NULL: all records */
	uint32_t	nselected;
	bool		compact;		/* columns have the selected records only, in their
								 * order: see pp_batch_at() */
	const PpPartial *partial;	/* [naggregates] of the records that pass but are not
								 * selected, of which everything is known; the
								 * selected ones are left to the caller.  NULL: all
								 * are */
	uint32_t	ntaken;			/* records in partial */
	bool		quotes;			/* the text may hold quotes; if not, each record
								 * is one line */
	bool		unknown;		/* a filter met a value that was handed over (or
								 * is a default): its record may pass */
	uint64_t	ndeferred;		/* values in state PP_DEFERRED */
	uint32_t	next;			/* first byte not covered by the records */
	PpStop		stop;
	PpEnd		bad;			/* for PP_STOP_SYNTAX */
	uint32_t	bad_end;		/* FIELDS: end of the record, its line end
								 * excluded; SYNTAX: the offending byte, or len
								 * at the end of the data */
	uint32_t	bad_next;		/* FIELDS: start of the record behind it */
} PpBatch;

/* The number of selected record i, and where in columns its values are. */
PP_INLINE uint32_t
pp_batch_record(const PpBatch *b, uint32_t i)
{
	return b->selected ? b->selected[i] : i;
}

PP_INLINE uint32_t
pp_batch_at(const PpBatch *b, uint32_t i)
{
	return b->selected && !b->compact ? b->selected[i] : i;
}

/* Raw bytes [*start, *stop) of field k of record r. */
PP_INLINE void
pp_batch_field(const PpBatch *b, uint32_t r, uint32_t k,
			   uint32_t *start, uint32_t *stop)
{
	size_t		i = (size_t) r * b->width + k;

	*start = b->end[(ptrdiff_t) i - 1] + (k == 0 ? b->eol_len : 1);
	*stop = b->end[i];
}

typedef enum PpPoll
{
	PP_POLL_DONE,
	PP_POLL_PENDING,
	PP_POLL_FAILED
} PpPoll;

typedef struct PpBackendScan PpBackendScan;

typedef struct PpBackend
{
	uint32_t	struct_size;
	uint32_t	version;		/* PP_BACKEND_VERSION */
	const char *name;			/* as EXPLAIN shows it */

	/* Both answer NULL or false when out of memory. */
	PpBackendScan *(*open) (const PpScanSpec *spec);
	bool		(*submit) (PpBackendScan *scan, const PpJob *job);

	/* On DONE *batch is set; on FAILED *message is set, static text. */
	PpPoll		(*poll) (PpBackendScan *scan, const PpBatch **batch,
						 const char **message);
	void		(*release) (PpBackendScan *scan);
	void		(*close) (PpBackendScan *scan);

	/*
	 * May be NULL.  Behind submit(): bytes that will stand directly behind the
	 * job's text in the next job, if this job stops with PP_STOP_MORE; last says
	 * that none will follow them.  They may be worked on at once, and stay
	 * unmoved until the next submit() has answered, or, if the next job is what
	 * was announced, until its batch is released.  It may be another one.
	 * False: no use is made of them.
	 */
	bool		(*ahead) (PpBackendScan *scan, const uint8_t *text, uint32_t len,
						  bool last);
} PpBackend;

/* The CPU backend; without vector instructions (simd 0) it is the reference. */
extern const PpBackend pp_backend_scalar;

#ifdef __cplusplus
}
#endif

#endif							/* PP_BACKEND_H */
