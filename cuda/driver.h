/*
 * cuda/driver.h
 *	  What the backends of all pipelines have in common: taking jobs, moving
 *	  text in and results out, working ahead in two slots; and what they leave
 *	  to the pipeline.
 *
 *	  scan_frame.cu			streams, events, as all scans have them
 *	  driver.cu				the interface of a backend, slots
 *	  tables.cu				a scan's constant tables in device memory
 *	  paper_driver.cu		pipeline "paper"
 *	  fused_driver.cu		pipeline "fused"
 *
 * A partition passes through phases; what is enqueued last in each is an event,
 * and when that is done the pipeline says what comes next.  poll() looks
 * whether it is, and no call waits, but for memory when there is none left.
 *
 * Streaming (ParPaRaw, 4.4) takes two slots, each with buffers of its own.
 * While one is worked on, the text announced by ahead() comes in to the other,
 * by a stream of its own, behind free room; when the first slot's results are
 * on their way out, its last, incomplete record is copied into that room, and
 * the other slot is started.  That job is a guess until submit() asks for it.
 * The copy is ordered in front of what overwrites its source by an event.
 * What was not announced is worked on in the slot of the job before it, so that
 * without ahead() one slot holds memory only.  What a batch had no room for
 * (PP_STOP_FULL) is there already.
 */
#ifndef PP_DRIVER_H
#define PP_DRIVER_H

#include "scan_frame.h"

/* Blocks of the caller's memory that a scan asks for, at most. */
#define PP_HOST_BLOCKS	12

typedef enum PpSlotPhase
{
	PP_SLOT_EMPTY,
	PP_SLOT_TEXT,				/* text comes in that was announced */
	PP_SLOT_WORK,				/* the pipeline's, slot->step says which */
	PP_SLOT_HELD,				/* results are there, who wants them is not known */
	PP_SLOT_RETURN,				/* results come out */
	PP_SLOT_DONE
} PpSlotPhase;

/*
 * One of the two buffers (4.4) with all that belongs to a partition: text with
 * room for a carry-over in front, its structure, results.  A pipeline's slots
 * have more behind this.
 */
struct PpSlot : PpSlotFrame
{
	PpSlotPhase phase;
	uint32_t	step;			/* of PP_SLOT_WORK, as the pipeline numbers it */
	bool		adopted;		/* job is a job; else it is guessed */
	PpJob		job;
	uint32_t	n;				/* bytes of text that are parsed */
	bool		last;
	bool		truncated;		/* the job has more */
	PpBuffer	input;
	size_t		offset;			/* of the text in it */
	uint32_t	announced;		/* PP_SLOT_TEXT: bytes, room for what is in front */

	PpStructureResult result;	/* of the text, once it is known */
	PpBuffer	end;
	PpBuffer	end_host;		/* one more in front */
	bool		listed;			/* end_host was filled */
	bool		filtered;		/* not all records are selected */
	const uint32_t *selected;	/* of the host, if filtered */
	uint32_t	nselected;
	bool		unknown;
	uint64_t	ndeferred;
	PpBuffer	reports;		/* what comes back in between, of the host */

	PpColumnData *data;			/* [ncolumns] */
	PpBatch		batch;
};

struct PpDriverScan;

/* What a pipeline does for the driver; false: failed, pp_fail() was told. */
typedef struct PpPipeline
{
	size_t		scan_size;		/* of what begins with a PpDriverScan */
	size_t		slot_size;		/* of what begins with a PpSlot */
	PpCudaStage list_stage;		/* of work on end[] */

	/* Behind streams and slots, which are zeroed beyond what is the driver's. */
	bool		(*open) (PpDriverScan *s);

	/* Text is in its place, or on its way there: the first phase. */
	bool		(*start) (PpDriverScan *s, PpSlot *t);

	/* What slot->step stood for is done, its clock has been read. */
	bool		(*next) (PpDriverScan *s, PpSlot *t);

	/*
	 * Results are there: enqueues what else is needed, now that it is known that
	 * somebody wants them if pp_driver_hold() has asked for that, up to the
	 * copies out, between pp_driver_return_begin() and ..._end().
	 */
	bool		(*give_back) (PpDriverScan *s, PpSlot *t);

	/*
	 * Results have come out: fills in slot->data, selected and what else a
	 * batch has; the batch is set but for these.
	 */
	bool		(*finish) (PpDriverScan *s, PpSlot *t, PpBatch *b);

	/* Releases buffers of a slot, of the scan. */
	void		(*release_slot) (PpDriverScan *s, PpSlot *t);
	void		(*release) (PpDriverScan *s);
} PpPipeline;

struct PpDriverScan : PpBackendScan
{
	const PpPipeline *pipeline;
	const PpScanSpec *spec;
	PpCudaOptions options;
	PpDeviceDfa dfa;
	void	   *block[PP_HOST_BLOCKS];	/* of the caller's memory */
	uint32_t	nblocks;

	PpSlot	   *slot[2];
	uint32_t	current;		/* the slot of the job that was submitted last */
	uint32_t	largest;		/* job so far, in bytes */
	bool		carry;			/* its last record goes on in the next job */
	bool		full;			/* the next job is the rest of it */
	bool		no_ahead;		/* memory does not suffice to work ahead: the other
								 * slot has none */
	PpBuffer	rest;			/* of a record that goes on in the same slot */
};

/*
 * The functions of a backend (PpBackend), which a pipeline's open() hands
 * itself to.
 */
extern PpBackendScan *pp_driver_open(const PpScanSpec *spec, const PpPipeline *pipeline);
extern bool pp_driver_submit(PpBackendScan *s, const PpJob *job);
extern bool pp_driver_ahead(PpBackendScan *s, const uint8_t *text, uint32_t len, bool last);
extern PpPoll pp_driver_poll(PpBackendScan *s, const PpBatch **batch, const char **message);
extern void pp_driver_release(PpBackendScan *s);
extern void pp_driver_close(PpBackendScan *s);

/* A backend of that pipeline's. */
constexpr PpBackend
pp_driver_backend(const char *name, PpBackendScan *(*open) (const PpScanSpec *spec))
{
	return {sizeof(PpBackend), PP_BACKEND_VERSION, name, open, pp_driver_submit, pp_driver_poll,
		pp_driver_release, pp_driver_close, pp_driver_ahead};
}

/*
 * For pipelines.  What answers a bool has told pp_fail() when it is false.
 */

/* Host memory of the scan's, zeroed, freed by close; NULL: there is none. */
extern void *pp_driver_host(PpDriverScan *s, size_t size);

/* Makes room in a buffer, whose content is lost if it has to grow. */
extern bool pp_driver_reserve(PpDriverScan *s, PpBuffer *b, size_t size);

/* The same of what comes back in between, zeroed. */
extern bool pp_driver_reserve_reports(PpDriverScan *s, PpSlot *t, size_t size);

/* What is enqueued so far, in stream `work`, is what this step waits for. */
extern bool pp_driver_end_step(PpDriverScan *s, PpSlot *t, uint32_t step);

/*
 * Does the host have to look at fields itself, given ndeferred?  Then end[] has
 * to come out, which takes an adopted job: as long as the job is a guess,
 * pp_driver_hold() puts the slot off and answers true.
 */
extern bool pp_driver_needs_list(const PpDriverScan *s, const PpSlot *t);
extern bool pp_driver_hold(PpSlot *t);

/* Room for end[] of that many records, on the device and, with one in front, here. */
extern bool pp_driver_reserve_end(PpDriverScan *s, PpSlot *t, uint64_t nrecords);

/*
 * Copies between these two go by stream `out`, behind all of `work`.  With
 * slot->listed, end[] of the result's records, which counts from the text's
 * start until then, is made to count from the job's and goes along.
 */
extern bool pp_driver_return_begin(PpDriverScan *s, PpSlot *t);
extern bool pp_driver_return_end(PpDriverScan *s, PpSlot *t);

/*
 * tables.cu: where something goes in a scan's tables, which are laid out by
 * adding up sizes first.
 */
extern size_t pp_table_place(size_t *at, size_t bytes);

typedef struct PpTables
{
	PpBuffer	device;
	PpBuffer	host;			/* what is copied there */
	size_t		bytes;

	size_t		scan_at;		/* PpPaperScan ... */
	size_t		zone_at;		/* ... and what it points to */
	size_t		null_at;
	size_t		default_at;
	size_t		filter_at;		/* constants of filters */
} PpTables;

/*
 * Lays out what all pipelines have; what a pipeline has besides is placed
 * behind it in bytes.  Then pp_tables_make() makes room and fills in what was
 * laid out here, and pp_tables_copy() brings everything to the device.
 */
extern void pp_tables_layout(PpDriverScan *s, PpTables *t);
extern bool pp_tables_make(PpDriverScan *s, PpTables *t);
extern bool pp_tables_copy(PpDriverScan *s, PpTables *t);

/* The filters with their constants in the tables; neither value nor state. */
extern void pp_tables_filters(const PpDriverScan *s, const PpTables *t, PpPaperFilter *filter);

extern void pp_tables_release(PpTables *t);

#endif							/* PP_DRIVER_H */
