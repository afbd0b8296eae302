/*-------------------------------------------------------------------------
 *
 * scan_private.h
 *		The state of a scan, shared by scan.c (bytes to batches) and record.c
 *		(records to Datums), and by nothing else.
 *
 * IDENTIFICATION
 *		src/scan/scan_private.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARPARAW_SCAN_PRIVATE_H
#define PARPARAW_SCAN_PRIVATE_H

#include <sys/stat.h>

#include "fmgr.h"
#include "scan.h"

/* A column of the file, in file order. */
typedef struct PpFileColumn
{
	AttrNumber	attnum;
	const char *name;
	bool		force_not_null;
	bool		force_null;

	/* with the DEFAULT option only */
	ExprState  *default_expr;	/* NULL: the marker is an error here */

	/* columns that the query needs */
	bool		needed;
	PpType		native_type;	/* PP_DEFER: it has no native conversion */
	FmgrInfo	in_function;
	Oid			in_param;
	int32		typmod;
	int			projected;		/* its number in the batch, -1 if lazy */
} PpFileColumn;

/* Where an error happened, for its context. */
typedef struct PpErrorPlace
{
	uint64		line;			/* 0: none, or that of row of the batch */
	int64		row;			/* -1: none; finding its line takes time, so that
								 * is left until it is shown */
	const char *column;
	const char *value;			/* of the column; NULL: json ... */
	const uint8 *json;			/* ... which is not shown as it stands; or both
								 * NULL: null input */
	uint32		json_len;
	const char *record;			/* whole record, if no column; or NULL */
	uint32		record_len;
	uint64		byte;			/* of the line, from 1, or 0; of JSON */
	const char *key;			/* the last one in front of it, or NULL */
	const char *fault;			/* why the record is skipped, if not for a value */
} PpErrorPlace;

typedef struct PpFilterClause PpFilterClause;	/* filter.c */
typedef struct PpShared PpShared;	/* parallel.c */

struct PpScan
{
	Relation	rel;
	PpOptions  *options;
	bool		lazy;
	MemoryContext context;		/* lives as long as the scan */
	MemoryContext run_context;	/* source and stream of one run over the file */
	MemoryContext value_context;	/* values of the current row that input
									 * functions made */

	/* columns */
	int			natts;
	int			nfile;			/* columns of the file */
	PpFileColumn *file;
	int			nneeded;
	int		   *needed;			/* their positions in file, ascending */
	int		   *attribute;		/* their positions in the table */
	bool		may_miss_default;	/* a column without default, and the DEFAULT
									 * option: its marker must be looked for */
	ExprContext *default_context;	/* for defaults */

	struct PpJsonMaker *maker;	/* [nneeded], json.c; NULL: the format is CSV */

	/* parsing */
	PpDialect	dialect;
	PpStreamSpec spec;
	PpColumn   *column;			/* [nneeded] unless lazy */
	int			encoding;		/* of the bytes that are verified or
								 * transcoded */
	Oid			conversion;		/* transcodes them; InvalidOid if not needed */
	bool		at_mark;		/* JSON to be transcoded may begin with a byte order
								 * mark, and nothing of it has been yet */
	const pg_tz *zone_of;		/* time zone that spec's spans are made of */

	/* restrictions that the engine evaluates */
	int			nfilters;
	PpFilterClause *filter_clause;
	ExprState **filter_expr;	/* the constants; NULL if fixed */
	ExprContext *filter_context;

	PpSource   *source;
	struct stat found;			/* a regular file, as the last run found it */
	bool		same;			/* the next one has to find the same */
	PpStream   *stream;
	struct PpDeviceRun *device; /* device.c; NULL: this run is on the CPU */
	struct PpDeviceUse *device_use; /* the same; NULL: all have been */
	const PpBatch *batch;		/* current, or NULL */
	uint32		row;			/* next of it, of the selected ones */
	bool		unknown;		/* the engine could not tell whether the row that
								 * was returned last passes the filters */
	bool		at_end;

	/* one value as a C string, and the fields of one record */
	char	   *string;
	Size		string_room;
	PpField    *field;			/* [nfile] */

	/* a scan that other processes take part in, see parallel.c */
	PpShared   *shared;			/* NULL: it is not */
	int			participant;	/* 0 is the leader */
	bool		ranged;			/* ranges are claimed, in turn */
	bool		finder;			/* we find the layout for all */
	bool		in_turn;		/* no range in front of ours is unfinished */
	bool		probing;		/* a value that cannot be converted is not to be
								 * reported yet, but ... */
	bool		refused;		/* ... this set */
	bool		harmless;		/* an error raised now leaves nothing behind */

	/* rows skipped in this run, of them those that are not JSON; counters of the
	 * runs before */
	uint64		skipped;
	uint64		malformed;
	PpScanStats stats;
	uint64		deferred;		/* by this run, lazily */

	PpErrorPlace place;
};

/* scan.c: no more rows until the next restart. */
extern void parparaw_scan_stop(PpScan *scan);

/* scan.c: a type modifier in the engine's terms. */
extern int32 parparaw_engine_typmod(PpType type, int32 typmod);

/* scan.c: records of a batch of the CPU's. */
extern uint32 parparaw_scan_max_records(const PpScan *scan);

/*
 * parallel.c: the part of a participant in a scan that is shared.
 */

/*
 * Opens the source; NULL if there is nothing for us to do.  If then
 * scan->ranged, the stream has to be ranged, and once it is open be prepared
 * (false: out of memory).
 */
extern PpSource *parparaw_parallel_open(PpScan *scan);
extern uint64 parparaw_parallel_range_size(const PpScan *scan);
extern bool parparaw_parallel_prepare(PpScan *scan);

/* At PP_STEP_LAYOUT. */
extern void parparaw_parallel_found(PpScan *scan);

/* Finishes the current range and moves to another; false: there is none. */
extern bool parparaw_parallel_claim(PpScan *scan);

/* At PP_STEP_EFFECT; false: the range holds no data after all. */
extern bool parparaw_parallel_enter(PpScan *scan);

/*
 * Row `row` of the batch, or the bad record shown (row < 0), is about to raise
 * an error.  True: it may not be the first in the file, and it is left to
 * another participant; the scan is over here.
 */
extern bool parparaw_parallel_leave(PpScan *scan, int64 row);

/* Before an error that cannot be left to another is raised. */
extern void parparaw_parallel_wait_turn(PpScan *scan);

/* Counts a row that is skipped, in scan->skipped and scan->malformed what all have
 * skipped. */
extern void parparaw_parallel_skip(PpScan *scan, bool malformed);

/* Raises the error that a serial scan of the file would; returns if none. */
extern void parparaw_parallel_replay(PpScan *scan);

/* The shared memory is about to go; what others counted is taken over. */
extern void parparaw_parallel_detach(PpScan *scan);

/*
 * filter.c: the filters with the values that their constants have now, in
 * CurrentMemoryContext.
 */
extern PpFilter *parparaw_scan_make_filters(PpScan *scan);

/*
 * record.c
 */

/* Fills in the needed columns' input functions, and the defaults. */
extern void parparaw_record_init(PpScan *scan);

/* Checks the header record against the column names. */
extern void parparaw_record_header(PpScan *scan, const PpRecord *record);

/*
 * Selected record k of the batch into values/nulls.  False: it is skipped, by
 * on_error.
 */
extern bool parparaw_record_row(PpScan *scan, uint32 k, Datum *values, bool *nulls);

/* Room for a value of len bytes and a zero behind them, until the next call. */
extern char *parparaw_record_string(PpScan *scan, uint32 len);

/*
 * Calls the input function of a needed column; false: the row is to be
 * skipped, which parparaw_record_skipped() is to be told.
 */
extern bool parparaw_record_input(PpScan *scan, PpFileColumn *col, char *string,
								  Datum *value);

/*
 * Calls a function whose value errors are forgiven, in a subtransaction if it
 * may do more than compute; false: there was one.
 */
extern bool parparaw_record_caught(PpFileColumn *col, bool subtransaction,
								   Datum (*function) (void *arg), void *arg,
								   Datum *value);

/*
 * A row is skipped because of what scan->place shows: counts and tells it,
 * and raises an error if these are too many.
 */
extern void parparaw_record_skipped(PpScan *scan);

/*
 * A record that no batch can hold: raises its error, or answers (it is
 * skipped, by on_error) if one of its values came before the error.
 */
extern void parparaw_record_bad(PpScan *scan, const PpRecord *record);

/*
 * json.c: of scans of JSON only.
 */

/* Fills in what the stream and values need, once the columns are known. */
extern void parparaw_json_init(PpScan *scan);

/* As much of a string or other value as a message shows, and more. */
extern char *parparaw_json_shown(const PpScan *scan, const uint8 *text, uint32 len);

/* Containers that a record may have within each other. */
extern uint32 parparaw_json_max_depth(void);

/*
 * The value that record r of the batch has for needed column i, if it was
 * handed over; *isnull is set before.  False: the row is skipped, by on_error.
 * The error context must be pushed.
 */
extern bool parparaw_json_value(PpScan *scan, int i, uint32 r, Datum *value, bool *isnull);

/*
 * What the engine must know of the server encoding, once it is known how the
 * file's bytes become text of it; NULL if it is UTF-8.
 */
extern const PpJsonCharset *parparaw_json_charset(PpScan *scan);

/* A record that is bad; the same, or it is skipped. */
extern void parparaw_json_bad(PpScan *scan, const PpRecord *record);

/*
 * populate.c: values of types that are more than what their input function
 * reads, or that are JSON themselves.
 */
typedef struct PpMaker PpMaker;

/* In CurrentMemoryContext, which has to live as long as the scan. */
extern PpMaker *parparaw_populate_maker(Oid type, int32 typmod);

/* May a type's values refuse to be NULL? */
extern bool parparaw_populate_checks_null(const PpMaker *maker);

/* Does making a value leave nothing behind, if it fails, but memory? */
extern bool parparaw_populate_only_computes(Oid type);

/* Are errors in a value reported softly, if that is asked for? */
extern bool parparaw_populate_is_soft(Oid type);

/*
 * The value of a column of that name from its JSON text, NULL for null, in
 * CurrentMemoryContext.  Errors are json_populate_record()'s; false: one was
 * reported softly.
 */
extern bool parparaw_populate(PpScan *scan, PpMaker *maker, const char *name,
							  const uint8 *text, uint32 len, Node *soft,
							  Datum *value, bool *isnull);

/* The same of a whole record, as json or jsonb. */
extern bool parparaw_populate_raw(PpScan *scan, PpMaker *maker, const uint8 *text,
								  uint32 len, Node *soft, Datum *value);

#endif							/* PARPARAW_SCAN_PRIVATE_H */
