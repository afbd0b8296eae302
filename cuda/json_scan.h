/*
 * cuda/json_scan.h
 *	  The state of a scan of JSON on the device, and what its parts do for each
 *	  other.  For these only:
 *
 *	  json_driver.cu	the interface of a backend, which slot has what
 *	  json_text.cu		text on its way to the device
 *	  json_steps.cu		what a job passes through on the device
 *	  json_batch.cu		what came of it, as a batch
 *	  json_host.cu		the CPU's share
 *	  json_plan.cu		what is constant from open to close
 *
 * A job has one of two slots, with buffers of its own.  While the device works
 * for it, text announced by ahead() comes in to the other, behind free room, by
 * a stream of its own.  Once the first one's columns are on their way out, by
 * another stream, and its batch is known to take up all but a record that goes
 * on, that record is copied into the room, and the other slot is started: a guess
 * until submit() asks for just that.  Where the CPU has to have a part of the
 * text, or the batch has no room for all records, nothing is guessed, and what
 * was guessed before is left alone.
 */
#ifndef PP_JSON_DEVICE_SCAN_H
#define PP_JSON_DEVICE_SCAN_H

#include "fused.h"
#include "json_device.h"
#include "scan_frame.h"

#include "../src/parse/json/json_path.h"

/* Events that a slot's clock has; a phase records fewer. */
#define PP_JSON_EVENTS		16

/* Columns that are converted in one step: those of filters, or, with aggregates,
 * all; then the others. */
#define PP_JSON_PARTS		2

typedef enum PpJsonPhase
{
	PP_JSON_IDLE,
	PP_JSON_TEXT,				/* text comes in that was announced */
	PP_JSON_RECORDS,			/* records are found */
	PP_JSON_CONVERT,			/* columns of the part are made; then filters and
								 * aggregates ... */
	PP_JSON_SELECT,				/* ... are applied */
	PP_JSON_HELD,				/* of a guess: the CPU is to have it, if it is a job */
	PP_JSON_RETURN,				/* columns come out */
	PP_JSON_DONE,
	PP_JSON_GIVEN,				/* the batch is there, without the device */
	PP_JSON_HOST				/* the CPU's backend has the job */
} PpJsonPhase;

/* Columns that are made together: values, then states. */
typedef struct PpJsonPart
{
	uint32_t	nrows;			/* of the job */
	PpBuffer	values;
	PpBuffer	values_host;
	PpBuffer	heap;
	PpBuffer	heap_host;
	uint64_t	heap_room;
	uint64_t	heap_bytes;		/* in use, or wanted */
} PpJsonPart;

/* What comes back to the host in the middle of the work. */
typedef struct PpJsonReports
{
	PpJsonResult result;
	PpFusedResult selection;	/* nselected, unknown */
	uint32_t	last_end;		/* where the last record of the batch ends */
	PpPartial	partial[1];		/* [naggregates + 1] */
} PpJsonReports;

struct PpJsonSlot : PpSlotFrame
{
	PpJsonPhase phase;
	bool		adopted;		/* job is a job; else it is a guess, which begins at 0 */
	PpJob		job;			/* of a guess: last only */
	PpJsonPlace place;			/* documents: of its beginning */
	uint32_t	first;			/* begin, behind a mark */
	uint32_t	n;				/* bytes from there on that are parsed */
	bool		truncated;		/* there are more */

	/* text */
	PpBuffer	input;
	int64_t		there_from;		/* what the input holds of the next job: from its
								 * begin on, all up to ... */
	uint32_t	there_to;		/* ... here; 0: nothing */
	uint32_t	offset;			/* PP_JSON_TEXT: of what was announced, in the input ... */
	uint32_t	announced;		/* ... its bytes */
	const uint8_t *announced_text;
	bool		coming;			/* text is on its way, if nothing else is done: the batch
								 * has to wait until it is there */

	/* what came of it so far */
	PpJsonJob	records;		/* counts from blanks in front of first, which make
								 * it a multiple of 16 */
	uint32_t	blanks;
	uint32_t	moved;			/* what positions of a guess lack */
	uint32_t	nrecords;		/* of the batch */
	bool		refused;		/* it ends in front of a record that is not accepted */
	uint32_t	part;			/* that is being made */
	bool		filtered;
	uint32_t	nselected;
	uint32_t	ndeferred;
	bool		listed;

	PpBuffer	structure;		/* tiles, ends, places, the result */
	PpBuffer	selection;		/* the result, partials, the filters, flags, scratch
								 * memory */
	const uint8_t *flag;		/* of each record, in there */
	PpBuffer	selection_host;	/* the result as it is at first, the filters */
	PpBuffer	selected;
	PpBuffer	selected_host;
	PpBuffer	deferred;		/* [ncolumns] values handed over */
	PpBuffer	deferred_host;
	PpBuffer	dense;			/* values of selected rows */
	PpBuffer	end_host;		/* of the host, like those that follow */
	PpBuffer	range_host;
	PpBuffer	spread_host;	/* columns with selected rows at their records' places */
	PpBuffer	reports;
	PpJsonPart	part_of[PP_JSON_PARTS];

	PpColumnData *data;			/* [ncolumns] */
	const PpJsonRange **range;	/* [ncolumns] */
	PpJsonBatch batch;
};

struct PpJsonScan : PpBackendScan
{
	const PpJsonScanSpec *spec;
	bool		documents;
	uint32_t	tile_bytes;

	/* constant */
	PpJsonPaths paths;
	uint32_t   *order;			/* [ncolumns] projected columns, those of filters first */
	uint32_t	first_of[PP_JSON_PARTS + 1];	/* parts in it; where it ends */
	bool		heaps[PP_JSON_PARTS];	/* a part has columns by reference */
	PpBuffer	tables;			/* what the device has of all that follows */
	PpBuffer	tables_host;
	const PpJsonDeviceNode *node;
	const uint8_t *keys;
	uint32_t	nplaces;		/* of nodes that columns want */
	uint32_t	table_bytes;	/* of nodes and keys */
	const PpJsonDeviceColumn *column_host;	/* in tables_host */
	const PpEnv *env;
	const PpJsonDeviceColumn *column;	/* [ncolumns] as order[] has them */
	PpPaperFilter *filter;		/* [nfilters], of the host: bytes are set */
	const PpAggregate *aggregate;	/* [naggregates + 1], the last counts records */
	bool		selecting;		/* there are filters, or aggregates of columns */

	/* the CPU's share */
	PpJsonScanSpec host_spec;
	PpBackendScan *host;
	PpJob		host_job;
	bool		host_first;		/* the record that comes next was refused */
	bool		host_resumes;	/* documents: it has a part of that record */
	uint32_t	stretch;		/* bytes the CPU takes beside a record refused */
	uint32_t	left;			/* of them, those it was not given yet */

	/* what the next job begins with */
	PpJsonPlace place;			/* documents */
	bool		bom;			/* nothing was read yet: a mark may come */
	uint32_t	no_line;		/* bytes without a line end */
	bool		carry;			/* the rest of this one */
	bool		entered;		/* it is elsewhere: nothing that was announced */

	PpJsonSlot	slot[2];
	uint32_t	current;		/* the slot of the job that was submitted last */
	bool		no_ahead;		/* memory does not suffice to work ahead: the other
								 * slot has none */
	bool		dense;			/* records are many for their bytes: only one slot has
								 * room for their places, but for more of them */

	PpBuffer	rest;			/* of a record that goes on in the same slot */
	uint64_t	heap_guess[PP_JSON_PARTS];	/* bytes of a heap a kilobyte of text */
};

/*
 * What answers a bool has told pp_fail() when it is false.
 */

static inline PpJsonReports *
pp_json_reports(PpJsonSlot *t)
{
	return reinterpret_cast<PpJsonReports *>(t->reports.p);
}

static inline uint32_t
pp_json_part_columns(const PpJsonScan *s, uint32_t part)
{
	return s->first_of[part + 1] - s->first_of[part];
}

/* json_plan.cu */
extern bool pp_json_plan(PpJsonScan *s);

/* json_driver.cu */

/* Makes room in a slot's buffer, whose content is lost if it has to grow; rather
 * than that the current slot has none, the scan does without the other one. */
extern bool pp_json_reserve(PpJsonScan *s, const PpJsonSlot *t, PpBuffer *b, size_t size);

/* Memory does not suffice to work ahead: the other slot gives back what it has. */
extern void pp_json_stop_ahead(PpJsonScan *s);

/* Copies by stream `work`, for a slot's clock. */
extern bool pp_json_copy(PpJsonScan *s, PpJsonSlot *t, void *dst, const void *src, size_t n,
						 cudaMemcpyKind kind);

/*
 * json_text.cu.
 */

/* The text of the current slot's job, from first on, n bytes: what of it is on the
 * device already stays, or is moved there; the other slot may hold what was
 * announced, or the job before with the rest of a record. */
extern bool pp_json_upload(PpJsonScan *s);

/* The same of a guess: the rest of the current slot's text, then what was announced
 * in the other slot. */
extern bool pp_json_carry_over(PpJsonScan *s, uint32_t rest);

/* Lets text come in that may stand behind the job's; false: it does not. */
extern bool pp_json_announce(PpJsonScan *s, const uint8_t *text, uint32_t len, bool last);

/* Does the other slot have the end of a job that is submitted, announced or guessed?
 * Then the second lets it have what is in front of that, if it is announced only. */
extern bool pp_json_is_announced(const PpJsonScan *s, const PpJob *job);
extern bool pp_json_take_announced(PpJsonScan *s, const PpJob *job);

/*
 * json_steps.cu.
 */

/* Begins with a slot whose text is in its place, or on its way there. */
extern bool pp_json_start(PpJsonScan *s, PpJsonSlot *t);

/* Goes on with a slot if what it waits for is done. */
extern bool pp_json_advance(PpJsonScan *s, PpJsonSlot *t);

/*
 * A batch is going to be made of the slot: keys of the ntaken records that were
 * taken into aggregates are left where they are to stay (PpKeySink), all columns
 * being in the first part then.
 */
extern bool pp_json_sink_keys(PpJsonScan *s, PpJsonSlot *t, uint64_t ntaken);

/* Records there are, in front of the limit. */
extern uint32_t pp_json_all_records(const PpJsonResult *r);

/* Documents: is what comes next an outermost scalar, or nothing that is JSON?  The
 * CPU says so before it knows what follows. */
extern bool pp_json_scalar_next(const PpJsonSlot *t, uint32_t at);

/*
 * json_batch.cu.
 */

/* Will the batch of a slot that has found its records take up all of its text but a
 * record that goes on?  *next is where that one begins, from the job's first byte
 * on. */
extern bool pp_json_takes_all(const PpJsonScan *s, PpJsonSlot *t, uint32_t *next);

/* The batch of the current slot, whose columns are there, or of a job that is but
 * a part of a record. */
extern bool pp_json_make_batch(PpJsonScan *s);
extern void pp_json_give_nothing(PpJsonScan *s);

/* Notes what the next job has to know. */
extern void pp_json_note_read(PpJsonScan *s, const PpBatch *b);

/* Documents: where a job begins behind that byte. */
extern PpJsonPlace pp_json_place_behind(uint8_t c);

/*
 * json_host.cu.  Of the current slot's job.
 */

/* Behind the line that position at is in, or the job's end. */
extern uint32_t pp_json_behind_line(const PpJob *job, uint32_t at);

/* The CPU's backend takes the job from there, for that many bytes at least; the
 * second: a piece of a document, the third all of it. */
extern bool pp_json_start_host(PpJsonScan *s, uint32_t from, uint32_t bytes);
extern bool pp_json_start_piece(PpJsonScan *s, uint32_t from, uint32_t bytes);
extern bool pp_json_start_whole(PpJsonScan *s);

/* A record was refused behind that many bytes that were not. */
extern void pp_json_note_refused(PpJsonScan *s, uint32_t bytes);

extern PpPoll pp_json_poll_host(PpJsonScan *s, const PpBatch **batch, const char **message);

#endif							/* PP_JSON_DEVICE_SCAN_H */
