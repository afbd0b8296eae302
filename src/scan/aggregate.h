/*-------------------------------------------------------------------------
 *
 * aggregate.h
 *		Aggregates inside the scan: what aggregate.c (which ones, planning),
 *		accumulate.c (their arithmetic), groups.c (the table of groups) and
 *		aggexec.c (the loop over batches) share.
 *
 * An aggregating scan is a plan node without a scan relation.  Its tuples are
 * described by the node's fdw_scan_tlist, which holds, in any order: the
 * aggregates (Aggref), the grouping columns, and the columns that
 * restrictions look at (Var), the latter only so that the restrictions in
 * fdw_exprs can be evaluated on such a tuple.
 *
 * IDENTIFICATION
 *		src/scan/aggregate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARPARAW_AGGREGATE_H
#define PARPARAW_AGGREGATE_H

#include "scan.h"

#include "nodes/primnodes.h"

/*
 * What an aggregate does with the values that are not NULL.  Integers are all
 * types whose Datums compare as such: dates, times and timestamps too.
 */
typedef enum PpAggKind
{
	PP_AGG_COUNT_ALL,			/* count(*) */
	PP_AGG_COUNT,
	PP_AGG_SUM_INT,				/* of int2 and int4, in int8 */
	PP_AGG_AVG_INT,
	PP_AGG_SUM_INT8,			/* numeric, as the following two */
	PP_AGG_AVG_INT8,
	PP_AGG_SUM_NUMERIC,
	PP_AGG_AVG_NUMERIC,
	PP_AGG_SUM_FLOAT4,
	PP_AGG_SUM_FLOAT8,
	PP_AGG_AVG_FLOAT4,
	PP_AGG_AVG_FLOAT8,
	PP_AGG_MIN_INT,
	PP_AGG_MAX_INT,
	PP_AGG_MIN_FLOAT4,
	PP_AGG_MAX_FLOAT4,
	PP_AGG_MIN_FLOAT8,
	PP_AGG_MAX_FLOAT8,
	PP_AGG_MIN_NUMERIC,
	PP_AGG_MAX_NUMERIC,
	PP_AGG_MIN_BYTES,			/* text by bytes, bytea */
	PP_AGG_MAX_BYTES,
	PP_AGG_MIN_BPCHAR,			/* the same, trailing blanks aside */
	PP_AGG_MAX_BPCHAR
} PpAggKind;

typedef struct PpAggSpec
{
	PpAggKind	kind;
	AttrNumber	attnum;			/* of the argument; 0 of count(*) */
	bool		partial;		/* its transition value is wanted */
} PpAggSpec;

/*
 * aggregate.c
 */

/*
 * Can a scan compute the aggregate?  varno is the table's, or 0 if all Vars
 * are known to be its columns.
 */
extern bool parparaw_can_aggregate(const Aggref *aggref, Index varno, PpAggSpec *spec);

/*
 * accumulate.c
 */

typedef struct PpNumericSum PpNumericSum;

/* The state of one aggregate, of one group. */
typedef struct PpAccum
{
	int64		n;				/* values taken */
	union
	{
		int64		sum;
		struct
		{
			uint64		low;
			int64		high;
		}			wide;		/* 128 bits */
		float4		f4;
		float8		f8;
		struct
		{
			float8		sx;
			float8		sxx;
		}			moments;
		uint64		value;		/* MIN, MAX: by value */
		struct
		{
			uint8	   *bytes;	/* varlena with a 4-byte header */
			Size		room;
		}			best;		/* MIN, MAX: by reference */
		PpNumericSum *numeric;	/* NULL at first */
	}			u;
} PpAccum;

/*
 * Values for an aggregate: those of the rows from .. to - 1, or, if rows is
 * given, of rows[from .. to - 1].  All are in state PP_VALUE or PP_NULL.
 */
typedef struct PpSegment
{
	const uint64 *value;		/* NULL of count(*) */
	const uint8 *state;
	const uint32 *rows;
	uint32		from;
	uint32		to;
} PpSegment;

extern void parparaw_accum_init(PpAccum *accum, PpAggKind kind);

/*
 * What a backend may compute its share of, which is added here: aggregates by
 * which the order of values within a batch does not show, and those of which the
 * backend heeds it.  False: it may not; sums of floats are rounded value by value.
 */
extern bool parparaw_accum_operation(PpAggKind kind, PpAggregateOp *op);
extern void parparaw_accum_add(PpAccum *accum, PpAggKind kind, const PpPartial *partial);

/*
 * Takes the segment's values in order.  What has to be kept is allocated in
 * CurrentMemoryContext.  Raises the error that the server's transition
 * function would.
 */
extern void parparaw_accumulate(PpAccum *accum, PpAggKind kind, const PpSegment *segment);

/*
 * The same for many PP_AGG_SUM_FLOAT8 at once, the segments being of the same
 * rows.
 */
extern void parparaw_accumulate_float8(PpAccum **accum, const PpSegment *segment, int n);

/*
 * The same for groups: value i of the segment goes to the accumulator
 * accums[group[i] * stride].
 */
extern void parparaw_accumulate_groups(PpAccum *accums, Size stride, PpAggKind kind,
									   const PpSegment *segment, const uint32 *group);

/*
 * The aggregate's result, or its transition value if it is partial, in
 * CurrentMemoryContext or the accumulator's memory.
 */
extern Datum parparaw_accum_result(const PpAccum *accum, const PpAggSpec *spec, bool *isnull);

/*
 * groups.c
 */

#define PP_MAX_GROUP_KEYS	2
#define PP_NO_GROUP			UINT32_MAX

/* How a grouping column's values are compared. */
typedef enum PpKeyKind
{
	PP_KEY_VALUE,				/* the Datum itself */
	PP_KEY_VARLENA,				/* the bytes behind a 4-byte header */
	PP_KEY_UUID,
	PP_KEY_NAME
} PpKeyKind;

typedef struct PpGroups PpGroups;

/*
 * A table of groups with nkeys grouping columns and naggs accumulators each,
 * which may take limit bytes.  Its memory hangs below CurrentMemoryContext.
 */
extern PpGroups *parparaw_groups_create(int nkeys, const PpKeyKind *keys,
										int naggs, const PpAggKind *aggs, Size limit);
extern void parparaw_groups_free(PpGroups *groups);

/*
 * The groups of values: of value i of the segments (one a key, of the same
 * rows) into group[i].  Those of no group yet make one as long as there is
 * room, or else get PP_NO_GROUP.
 */
extern void parparaw_groups_find(PpGroups *groups, const PpSegment *segment,
								 uint32 *group);

/* A hash of the key of one row, as the table computes it. */
extern uint64 parparaw_groups_hash(PpGroups *groups, const PpSegment *segment);

extern uint32 parparaw_groups_count(const PpGroups *groups);

/* Where what accumulators keep belongs. */
extern MemoryContext parparaw_groups_context(const PpGroups *groups);

/* Accumulator 0 of group 0; there are naggs of each group. */
extern PpAccum *parparaw_groups_accums(PpGroups *groups);

/* Column k of a group's key. */
extern Datum parparaw_groups_key(const PpGroups *groups, uint32 group, int k, bool *isnull);

/*
 * aggexec.c: what the callbacks of exec.c do for an aggregating scan.
 */
typedef struct PpAggregation PpAggregation;

/* Raises an error if the user may not call one of the aggregates. */
extern void parparaw_aggregate_check(ForeignScan *plan);

/*
 * The scan has to deliver the plan's needed columns, has not been started,
 * and gets the plan's restrictions from here.  Ending leaves it to the caller.
 */
extern PpAggregation *parparaw_aggregate_begin(ForeignScanState *node, PpScan *scan);
extern TupleTableSlot *parparaw_aggregate_next(PpAggregation *aggregate);
extern void parparaw_aggregate_restart(PpAggregation *aggregate);
extern void parparaw_aggregate_end(PpAggregation *aggregate);

#endif							/* PARPARAW_AGGREGATE_H */
