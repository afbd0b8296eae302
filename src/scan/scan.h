/*-------------------------------------------------------------------------
 *
 * scan.h
 *		The foreign scan's own interfaces: options, sources, scans.
 *
 * Everything here is PostgreSQL glue above the wall; the parsing itself is in
 * src/parse behind stream.h and backend.h.
 *
 * IDENTIFICATION
 *		src/scan/scan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARPARAW_SCAN_H
#define PARPARAW_SCAN_H

#include "postgres.h"

#include <sys/stat.h>

#include "access/parallel.h"
#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "foreign/fdwapi.h"
#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
#include "pgtime.h"
#include "utils/rel.h"

#include "../compat.h"
#include "../parse/cpu/kernel.h"
#include "../parse/stream.h"

/* GUCs, defined in module.c */
extern PGDLLIMPORT int parparaw_partition_size;	/* bytes */
extern PGDLLIMPORT int parparaw_chunk_size; /* bytes, 0: a partition is one chunk */
extern PGDLLIMPORT bool parparaw_enable_filter_pushdown;
extern PGDLLIMPORT bool parparaw_enable_aggregate_pushdown;
extern PGDLLIMPORT int parparaw_simd;	/* PpSimd, or PP_SIMD_LEVELS: the best */

/*
 * What the options of a foreign table and its columns say, defaults filled
 * in.  Strings are in the server encoding and live in the memory context that
 * was current when they were read.
 */
typedef enum PpHeader
{
	PP_HEADER_FALSE,
	PP_HEADER_TRUE,
	PP_HEADER_MATCH
} PpHeader;

typedef enum PpLogVerbosity
{
	PP_LOG_SILENT = -1,
	PP_LOG_DEFAULT = 0,
	PP_LOG_VERBOSE = 1
} PpLogVerbosity;

typedef enum PpFormat
{
	PP_FORMAT_CSV,
	PP_FORMAT_NDJSON,			/* one JSON value a line */
	PP_FORMAT_JSON				/* JSON documents */
} PpFormat;

/* Where a column of a JSON format is; at most one of these is set. */
typedef struct PpJsonOption
{
	char	   *key;
	char	   *path;
	bool		raw;
} PpJsonOption;

typedef struct PpOptions
{
	PpFormat	format;
	char	   *filename;		/* file or command */
	bool		is_program;
	PpHeader	header;
	char		delimiter;
	char		quote;
	char		escape;
	char	   *null_print;
	char	   *default_print;	/* NULL: no such marker */
	int			encoding;		/* of the file; the client encoding by default */
	bool		on_error_ignore;
	int64		reject_limit;	/* 0: none */
	PpLogVerbosity log_verbosity;
	Bitmapset  *force_not_null; /* attribute numbers */
	Bitmapset  *force_null;		/* attribute numbers */
	PpJsonOption *json;			/* [attributes]; NULL unless format is JSON */
} PpOptions;

/*
 * option.c
 */

/* Once, when the library is loaded: watches over what is altered. */
extern void parparaw_option_init(void);

/* A format as the option says it. */
extern const char *parparaw_format_name(PpFormat format);

/* Options of a foreign table; ereports if they contradict each other. */
extern PpOptions *parparaw_get_options(Oid foreigntableid);

/*
 * json.c: the steps of a column's path, in CurrentMemoryContext, and their
 * number.  Raises an error if it is not one.
 */
extern uint32 parparaw_json_path(const char *path, PpJsonStep **steps);

/*
 * source.c: where the bytes come from.
 *
 * A source belongs to the memory context it was opened in: when that context
 * goes, normally or at abort, descriptors are closed and a program that still
 * runs is ended, so nothing is left behind.
 */
typedef struct PpSource PpSource;

/* Is it a regular file (so it can be read again and in pieces)? */
extern bool parparaw_is_regular_file(const char *filename);

extern PpSource *parparaw_source_open(const char *filename, bool is_program);

/*
 * Opens a regular file that must be the same, in the same state, as the one
 * that another process, or an earlier run, has opened; it is read up to the size
 * it had there.  It may have grown since, unless it is to be unchanged.
 */
extern PpSource *parparaw_source_open_same(const char *filename, const struct stat *state,
										   bool unchanged);

/* The state of a regular file when it was opened. */
extern const struct stat *parparaw_source_state(const PpSource *source);

/* Where a regular file is read next, at most at its end. */
extern void parparaw_source_seek(PpSource *source, uint64 offset);

/* Raises an error if a regular file was changed since it was opened. */
extern void parparaw_source_check(PpSource *source);

/* Size of a regular file when it was opened; -1 of anything else. */
extern int64 parparaw_source_size(const PpSource *source);

/*
 * Reads up to len bytes in order; waits in an interruptible way.  *eof is set
 * once no byte follows.  Raises an error if the file was truncated, replaced
 * or rewritten since it was opened.
 */
extern size_t parparaw_source_read(PpSource *source, void *dst, size_t len, bool *eof);

/*
 * Ends the source.  A program that was read to its end and failed is an
 * error; one that was stopped early is not.
 */
extern void parparaw_source_close(PpSource *source);

/*
 * scan.c: rows of one foreign table.
 */
typedef struct PpScan PpScan;

/* Counters over all (re)scans, for EXPLAIN ANALYZE. */
typedef struct PpScanStats
{
	uint64		partitions;
	uint64		bytes;
	uint64		records;
	uint64		removed;		/* of them, by filters in the scan */
	uint64		deferred;
	uint64		put_aside;		/* for want of room for their groups */
} PpScanStats;

/*
 * Prepares a scan that returns the attributes in needed (attribute numbers;
 * file columns only, others are ignored and come out NULL).  If lazy, no
 * value is converted before its row is asked for: for callers that look at
 * few of the rows.  Opens the source at the first row.  Must be called in a
 * memory context that lives as long as the scan.
 */
extern PpScan *parparaw_scan_begin(Relation rel, PpOptions *options,
								   Bitmapset *needed, bool lazy);

/*
 * filter.c: can the scan of table varno, with these columns of the file
 * (attribute numbers), evaluate a restriction itself?
 */
extern bool parparaw_can_filter(Expr *clause, Index varno, Bitmapset *columns);

/*
 * Sets the restrictions, all of which parparaw_can_filter() said yes to.
 * Their constants are evaluated in the parent's expression context, anew for
 * every run over the file.  Must be called before the first row.
 */
extern void parparaw_scan_set_filters(PpScan *scan, PlanState *parent,
									  List *quals, Index varno);

/*
 * Aggregates that are wanted instead of columns, which have to live as long as
 * the scan: a backend may give its share of them by batches (PpBatch.partial), or
 * not.  What concerns the columns' types is filled in here.  For callers of parparaw_scan_next_batch() only, before the first batch.
 */
extern void parparaw_scan_set_aggregates(PpScan *scan, PpAggregate *aggregate,
										 uint32 naggregates);

/*
 * Keys that a device is to keep, while records of which all is known are only
 * counted by batches (PpBatch.ntaken); both arrays have to live as long as the
 * scan.  With n = 0 nothing is kept any more.  False: the scan is none of which
 * that can be asked, as what may be lost has to be read again, so is no regular
 * file.  For the same callers, before the first batch.
 */
extern bool parparaw_scan_set_sinks(PpScan *scan, const PpKeySink *sink, uint32 nsinks);

/*
 * Gives back what a scan that has come to its end holds of a device.  Others do that
 * there by themselves; where keys were kept, what is enqueued may still read from the
 * scan's memory until somebody has asked for the number of rows.
 */
extern void parparaw_scan_let_go(PpScan *scan);

/*
 * Of the row that parparaw_scan_next() returned last: must the restrictions
 * be checked, since a value was not known to the engine?
 */
extern bool parparaw_scan_unknown(const PpScan *scan);

/*
 * Next row into values/nulls (natts entries), or false at the end.  Datums
 * point into the scan's batch or its own memory and stay valid until the next
 * call on the scan.
 */
extern bool parparaw_scan_next(PpScan *scan, Datum *values, bool *nulls);

/*
 * For callers that look at columns rather than rows: the next batch, whose
 * selected records have not been returned yet (there may be none, if it has a
 * share of aggregates), or NULL at the end; valid until the next call on the scan.  Not to be mixed with the function above.
 */
extern const PpBatch *parparaw_scan_next_batch(PpScan *scan);

/* The number that an attribute's column has in batches; -1: it is not needed. */
extern int	parparaw_scan_column(const PpScan *scan, AttrNumber attnum);

/*
 * Selected record i of that batch as a row, whatever the state of its values; false if
 * it is to be skipped, or if it is left to another participant of a parallel
 * scan, as then is all that follows it: the batch must not be looked at any
 * more.  parparaw_scan_unknown() and parparaw_scan_stopped() tell.
 */
extern bool parparaw_scan_row(PpScan *scan, uint32 i, Datum *values, bool *nulls);
extern bool parparaw_scan_stopped(const PpScan *scan);

extern Relation parparaw_scan_relation(const PpScan *scan);

/*
 * Steps over up to n rows without converting anything (an error in such a row
 * other than its structure goes unnoticed); answers how many there were.
 */
extern uint64 parparaw_scan_skip(PpScan *scan, uint64 n);

/* Back to the start; the source is opened anew at the next row. */
extern void parparaw_scan_restart(PpScan *scan);

/* The run that begins next fails if the file has changed since the last one began. */
extern void parparaw_scan_require_same(PpScan *scan);

/*
 * Gives the NOTICE about skipped rows, if any, and frees everything.
 */
extern void parparaw_scan_end(PpScan *scan);

extern PpScanStats parparaw_scan_stats(const PpScan *scan);

/* Counts a record as put aside, each time that it is. */
extern void parparaw_scan_put_aside(PpScan *scan);

/*
 * device.c: the backend as EXPLAIN shows it ("cpu"): the one that has run the
 * scan last, and the one that would be tried first, also of a scan that several
 * processes share; and scan.c: the CPU's
 * instruction set ("scalar").
 */
extern const char *parparaw_scan_backend(const PpScan *scan);
extern const char *parparaw_scan_predicted(const PpOptions *options, bool shared);
extern const char *parparaw_scan_simd(void);

/*
 * parallel.c: can several processes share a scan of the table's file, as far
 * as its options tell?
 */
extern bool parparaw_can_share(const PpOptions *options);

/*
 * How a column's type is read: a native conversion or PP_DEFER.  Domains and
 * all types without one are PP_DEFER.
 */
extern PpType parparaw_native_type(Oid type);

/* json.c: the same of columns of a JSON format. */
extern PpType parparaw_json_type(Oid type);

/*
 * json.c: can errors in values of a column of a JSON format be forgiven
 * without a subtransaction?
 */
extern bool parparaw_json_catchable(Oid type);

/*
 * zone.c: what reading timestamps depends on.
 */

/*
 * A time zone as the engine wants it: stretches of local time that belong to
 * exactly one offset.  Allocated in CurrentMemoryContext.
 */
extern PpZoneSpan *parparaw_zone_spans(const pg_tz *zone, uint32 *nspans);

/*
 * Do "T" between date and time and "Z" behind it mean what they do in ISO
 * 8601?  The server takes them for time zone abbreviations first, which the
 * session's settings may define.
 */
extern bool parparaw_iso_letters(void);

/*
 * plan.c, exec.c, explain.c, analyze.c: the callbacks of the handler.
 */
extern void parparawGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel,
									  Oid foreigntableid);
extern void parparawGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel,
									Oid foreigntableid);
extern ForeignScan *parparawGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel,
										   Oid foreigntableid,
										   ForeignPath *best_path,
										   List *tlist, List *scan_clauses,
										   Plan *outer_plan);
extern void parparawGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage,
										 RelOptInfo *input_rel, RelOptInfo *output_rel,
										 void *extra);
extern bool parparawIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel,
											  RangeTblEntry *rte);
extern void parparawBeginForeignScan(ForeignScanState *node, int eflags);
extern TupleTableSlot *parparawIterateForeignScan(ForeignScanState *node);
extern void parparawReScanForeignScan(ForeignScanState *node);
extern bool parparawRecheckForeignScan(ForeignScanState *node, TupleTableSlot *slot);
extern void parparawEndForeignScan(ForeignScanState *node);
extern Size parparawEstimateDSMForeignScan(ForeignScanState *node,
										   ParallelContext *pcxt);
extern void parparawInitializeDSMForeignScan(ForeignScanState *node,
											 ParallelContext *pcxt,
											 void *coordinate);
extern void parparawReInitializeDSMForeignScan(ForeignScanState *node,
											   ParallelContext *pcxt,
											   void *coordinate);
extern void parparawInitializeWorkerForeignScan(ForeignScanState *node,
												shm_toc *toc, void *coordinate);
extern void parparawShutdownForeignScan(ForeignScanState *node);
extern void parparawExplainForeignScan(ForeignScanState *node, ExplainState *es);
extern bool parparawAnalyzeForeignTable(Relation relation,
										AcquireSampleRowsFunc *func,
										BlockNumber *totalpages);

/*
 * The plan's fdw_private, in this order: an integer list of the needed
 * attribute numbers (file columns only, ascending); of a scan that aggregates,
 * which has no relation of its own, also an OID list of the table alone, and
 * an integer list of the positions in fdw_scan_tlist of grouping columns.
 */
enum PpPlanPrivate
{
	PP_PLAN_NEEDED,
	PP_PLAN_TABLE,
	PP_PLAN_KEYS
};

/* exec.c: what a ForeignScanState carries; NULL fdw_state under EXPLAIN. */
typedef struct PpExecState
{
	PpOptions  *options;
	PpScan	   *scan;
	Relation	opened;			/* of a scan that aggregates, or NULL */
	struct PpAggregation *aggregate;	/* the same */
} PpExecState;

#endif							/* PARPARAW_SCAN_H */
