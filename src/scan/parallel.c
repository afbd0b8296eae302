/*-------------------------------------------------------------------------
 *
 * parallel.c
 *		One file scanned by several processes: the executor's callbacks for
 *		shared memory, and the protocol between the participants.
 *
 * The file is cut into ranges of equal size, in disregard of records, which
 * the participants claim in order.  Who has claimed a range reads it, makes
 * its effect known (see range.h), and is told the state at its start once the
 * effects of all ranges before are known; only then it returns a row.  Since
 * nothing but reading and counting happens in between, no participant waits
 * long for another, and never for one that waits for its rows to be taken.
 * Instead of looking back themselves, the participants move one frontier
 * ahead: the first range whose effect is not accounted for.  So what is kept
 * does not grow with the file.
 *
 * A range that may hold an end-of-data marker stops the frontier until its
 * participant, which knows the state at its start first, has looked.  So no
 * one returns a row or raises an error of what lies behind the marker.
 *
 * The kind of line end, the header and the file's identity are found by the
 * first participant that comes, while the others wait.  If the file cannot be
 * scanned in ranges after all (it is not a regular file any more, or the
 * client encoding has changed since the query was planned) that participant
 * scans all of it and the others nothing.
 *
 * Errors.  The first one in file order is to be raised, as by a serial scan.
 * A participant that meets a record which it cannot return while a range
 * before is unfinished does not raise the error, but leaves the rest of its
 * range behind and ends its scan.  No new range is claimed then; whoever
 * finishes the last of the ranges before goes on with what was left, and
 * raises the error.  So nobody waits for anybody, who might be waiting for
 * his rows to be taken in turn.  Only an input function that cannot report
 * errors softly has to raise them there and then: its error is held back
 * until it is its turn, but not for longer than nobody makes progress.
 *
 * The rows that on_error skips are counted by all together.  If they exceed
 * the reject limit the scan must fail, and whoever notices scans the file once
 * more, alone, for the error that comes first.
 *
 * What a participant holds in shared memory is protected by the spinlock
 * `mutex`; the critical sections are a few loops over the participants.
 *
 * IDENTIFICATION
 *		src/scan/parallel.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/parallel.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/shm_toc.h"
#include "storage/spin.h"
#include "utils/wait_event.h"

#include "scan_private.h"

/* How often a start state that is not there yet is looked at before sleeping. */
#define SPINS				1000

/* An error that cannot be left to another waits for its turn: so often ... */
#define TURN_WAIT_MS		10

/* ... and so often in vain before it is raised, though nothing has moved. */
#define TURN_WAITS			50

typedef enum Setup
{
	SETUP_NONE,
	SETUP_BUSY,					/* one is at it */
	SETUP_RANGES,
	SETUP_WHOLE					/* one scans all of the file */
} Setup;

typedef enum Work
{
	WORK_NONE,
	WORK_RANGE,					/* on a range */
	WORK_LEFT					/* left a range behind */
} Work;

typedef struct Participant
{
	Work		work;
	uint64		range;
	bool		published;		/* the range's effect is known */
	bool		entered;		/* ... and the state at its start */
	bool		resolved;		/* ... and whether the data end in it */
	PpEffect	effect;
	PpRangeState state;			/* at the range's start, if entered */
	uint64		offset;			/* WORK_LEFT: of the record to go on with; state
								 * is that in front of it */
	PpScanStats stats;			/* of a worker, so far */
} Participant;

struct PpShared
{
	slock_t		mutex;
	ConditionVariable changed;
	int			nparticipants;
	pg_atomic_uint64 skipped;	/* rows, by on_error ... */
	pg_atomic_uint64 malformed; /* ... those that are not JSON */

	/* found by one participant, then constant */
	Setup		setup;
	struct stat file;
	PpEolSearch layout;
	uint64		range_size;
	uint64		nranges;

	uint64		next;			/* first range that was not claimed */
	uint64		end;			/* no data from this one on */
	uint64		claims;			/* made so far */

	/* the frontier */
	uint64		known;
	PpRangeState state;			/* at its start */

	Participant participant[FLEXIBLE_ARRAY_MEMBER];
};

static void replay_if_over_limit(PpScan *scan);

static void
reset(PpShared *shared)
{
	const PpRangeState start = PP_RANGE_START;

	pg_atomic_write_u64(&shared->skipped, 0);
	pg_atomic_write_u64(&shared->malformed, 0);
	shared->setup = SETUP_NONE;
	shared->next = shared->claims = 0;
	shared->end = PG_UINT64_MAX;
	shared->known = 0;
	shared->state = start;
	for (int i = 0; i < shared->nparticipants; i++)
		shared->participant[i].work = WORK_NONE;
}

static Participant *
myself(PpScan *scan)
{
	return &scan->shared->participant[scan->participant];
}

bool
parparaw_can_share(const PpOptions *options)
{
	const PpDialect dialect = {options->delimiter, options->quote, options->escape,
	PP_COPY_HAS_END_MARKER};
	int			server = GetDatabaseEncoding();
	int			encoding = options->encoding == PG_SQL_ASCII ? server : options->encoding;

	if (options->is_program)
		return false;

	/* as long as nothing is transcoded */
	if (options->format != PP_FORMAT_CSV)
		return encoding == server || server == PG_SQL_ASCII;
	if (!pp_range_possible(&dialect))
		return false;

	/* nothing is transcoded, and characters can be told apart anywhere */
	return (encoding == server || server == PG_SQL_ASCII) &&
		(encoding == PG_UTF8 || pg_encoding_max_length(encoding) == 1);
}

/*
 * Set-up.
 */

/* Is it for us to look at the file first?  Waits if another is at it. */
static bool
begin_setup(PpShared *shared)
{
	Setup		setup;

	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		setup = shared->setup;
		if (setup == SETUP_NONE)
			shared->setup = SETUP_BUSY;
		SpinLockRelease(&shared->mutex);
		if (setup != SETUP_BUSY)
			break;
		ConditionVariableSleep(&shared->changed, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	return setup == SETUP_NONE;
}

static void
end_setup(PpShared *shared, Setup setup)
{
	SpinLockAcquire(&shared->mutex);
	shared->setup = setup;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
}

PpSource *
parparaw_parallel_open(PpScan *scan)
{
	PpShared   *shared = scan->shared;
	PpSource   *source;

	scan->ranged = true;
	scan->in_turn = false;
	scan->finder = begin_setup(shared);
	if (!scan->finder)
	{
		if (shared->setup == SETUP_WHOLE)
			return NULL;
		return parparaw_source_open_same(scan->options->filename, &shared->file, false);
	}

	source = parparaw_source_open(scan->options->filename, scan->options->is_program);
	if (parparaw_source_size(source) < 0 || !parparaw_can_share(scan->options))
	{
		scan->ranged = false;
		end_setup(shared, SETUP_WHOLE);
		return source;
	}
	shared->file = *parparaw_source_state(source);
	shared->range_size = Min((uint64) parparaw_partition_size,
							 Max((uint64) shared->file.st_size, 1));
	shared->nranges = ((uint64) shared->file.st_size + shared->range_size - 1) / shared->range_size;
	return source;
}

bool
parparaw_parallel_prepare(PpScan *scan)
{
	return scan->finder || pp_stream_set_layout(scan->stream, &scan->shared->layout);
}

uint64
parparaw_parallel_range_size(const PpScan *scan)
{
	return scan->shared->range_size;
}

void
parparaw_parallel_found(PpScan *scan)
{
	PpShared   *shared = scan->shared;

	if (!scan->finder)
		return;
	shared->layout = *pp_stream_layout(scan->stream);
	if (!pp_stream_has_records(scan->stream))
		shared->nranges = 0;
	scan->finder = false;
	end_setup(shared, SETUP_RANGES);
}

/*
 * Ranges.
 */

/* Is a range in front of this one unfinished?  Under the mutex. */
static bool
unfinished_before(const PpShared *shared, uint64 range)
{
	for (int i = 0; i < shared->nparticipants; i++)
		if (shared->participant[i].work != WORK_NONE && shared->participant[i].range < range)
			return true;
	return false;
}

/* The first range that was left behind, or NULL.  Under the mutex. */
static Participant *
first_left(PpShared *shared)
{
	Participant *first = NULL;

	for (int i = 0; i < shared->nparticipants; i++)
	{
		Participant *p = &shared->participant[i];

		if (p->work == WORK_LEFT && (!first || p->range < first->range))
			first = p;
	}
	return first;
}

/*
 * Moves the frontier over all effects that are known, and tells those who have
 * these ranges their start states.  Under the mutex.
 */
static void
advance(PpShared *shared)
{
	for (int i = 0; i < shared->nparticipants; i++)
	{
		Participant *p = &shared->participant[i];

		if (p->work != WORK_RANGE || !p->published || p->range != shared->known)
			continue;
		if (!p->entered)
		{
			p->state = shared->state;
			pg_write_barrier();
			p->entered = true;
		}
		if (!p->resolved)
			return;
		shared->state = pp_range_apply(&p->effect, shared->state);
		shared->known++;
		i = -1;					/* its successor may stand anywhere */
	}
}

bool
parparaw_parallel_claim(PpScan *scan)
{
	PpShared   *shared = scan->shared;
	Participant *me = myself(scan);
	PpScanStats stats = parparaw_scan_stats(scan);
	Participant *left;
	bool		found = false;
	bool		go_on = false;
	uint64		range = 0;
	uint64		start = 0;

	SpinLockAcquire(&shared->mutex);
	me->work = WORK_NONE;
	if (scan->participant > 0)
		me->stats = stats;
	left = first_left(shared);
	if (left)
	{
		/* Whoever has one of those before will go on with it. */
		found = go_on = !unfinished_before(shared, left->range);
		if (found)
		{
			range = left->range;
			start = left->offset;
			left->work = WORK_NONE;
			me->state = left->state;
			me->published = me->entered = me->resolved = true;
		}
	}
	else if (shared->next < Min(shared->end, shared->nranges))
	{
		found = true;
		range = shared->next++;
		start = range * shared->range_size;
		me->published = me->entered = me->resolved = false;
	}
	if (found)
	{
		me->work = WORK_RANGE;
		me->range = range;
	}
	shared->claims++;
	SpinLockRelease(&shared->mutex);

	if (!found)
	{
		parparaw_source_check(scan->source);
		return false;
	}
	scan->in_turn = go_on || range == 0;
	parparaw_source_seek(scan->source, start);
	if (!pp_stream_range(scan->stream, start,
						 Min((range + 1) * shared->range_size, (uint64) shared->file.st_size),
						 go_on || (range == 0 && !scan->spec.header)))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	return true;
}

/*
 * Waits for the state at our range's start; false if the data end before.  The
 * participants in front of us need a fraction of a millisecond unless they
 * are not running, so it is worth to look a little longer before sleeping.
 */
static bool
wait_for_start(PpShared *shared, Participant *me)
{
	bool		entered;
	bool		over;

	for (int i = 0; i < SPINS && !*(volatile bool *) &me->entered; i++)
		SPIN_DELAY();
	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		entered = me->entered;
		over = me->range >= shared->end;
		SpinLockRelease(&shared->mutex);
		if (entered || over)
			break;
		ConditionVariableSleep(&shared->changed, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	return !over;
}

bool
parparaw_parallel_enter(PpScan *scan)
{
	PpShared   *shared = scan->shared;
	Participant *me = myself(scan);
	const PpEffect *effect = pp_stream_effect(scan->stream);

	if (!me->published)
	{
		SpinLockAcquire(&shared->mutex);
		me->effect = *effect;
		me->resolved = !effect->marker;
		me->published = true;
		advance(shared);
		SpinLockRelease(&shared->mutex);
		ConditionVariableBroadcast(&shared->changed);

		if (!wait_for_start(shared, me))
			return false;
	}
	if (!me->resolved)
	{
		bool		ends = pp_stream_data_ends(scan->stream, me->state.quoting);

		SpinLockAcquire(&shared->mutex);
		if (ends)
			shared->end = me->range + 1;
		me->resolved = true;
		if (!ends)
			advance(shared);
		SpinLockRelease(&shared->mutex);
		ConditionVariableBroadcast(&shared->changed);
	}
	pp_stream_enter(scan->stream, &me->state);
	return true;
}

/*
 * Errors.
 */

bool
parparaw_parallel_leave(PpScan *scan, int64 row)
{
	PpShared   *shared = scan->shared;
	Participant *me;
	uint64		offset;
	PpRangeState state;
	bool		leave;

	if (!scan->ranged)
		return false;
	me = myself(scan);
	if (!scan->in_turn)
	{
		pp_stream_place(scan->stream, row, &offset, &state);
		SpinLockAcquire(&shared->mutex);
		leave = unfinished_before(shared, me->range);
		if (leave)
		{
			me->work = WORK_LEFT;
			me->offset = offset;
			me->state = state;
		}
		SpinLockRelease(&shared->mutex);
		if (leave)
		{
			parparaw_scan_stop(scan);
			return true;
		}
		/* so it stays, as ranges in front are not claimed any more */
		scan->in_turn = true;
	}
	replay_if_over_limit(scan);
	return false;
}

void
parparaw_parallel_wait_turn(PpScan *scan)
{
	PpShared   *shared = scan->shared;
	uint64		seen = 0;
	int			waits = 0;

	ConditionVariablePrepareToSleep(&shared->changed);
	for (;;)
	{
		bool		turn;
		uint64		claims;

		SpinLockAcquire(&shared->mutex);
		turn = !unfinished_before(shared, myself(scan)->range);
		claims = shared->claims;
		SpinLockRelease(&shared->mutex);
		if (claims != seen)
			waits = 0;
		seen = claims;
		if (turn || waits++ > TURN_WAITS)
			break;
		(void) ConditionVariableTimedSleep(&shared->changed, TURN_WAIT_MS, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	replay_if_over_limit(scan);
}

void
parparaw_parallel_skip(PpScan *scan, bool malformed)
{
	/* in this order, so that there are never more of the one than of all */
	scan->skipped = pg_atomic_add_fetch_u64(&scan->shared->skipped, 1);
	scan->malformed = pg_atomic_add_fetch_u64(&scan->shared->malformed, malformed ? 1 : 0);
}

/*
 * Which row exceeds the reject limit, and whether another error stands in
 * front of it, shows only if rows are counted in file order; so one scan of
 * our own does that.
 */
void
parparaw_parallel_replay(PpScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->context);
	PpOptions  *options = palloc(sizeof(PpOptions));
	Datum	   *values = palloc(Max(scan->natts, 1) * sizeof(Datum));
	bool	   *nulls = palloc(Max(scan->natts, 1) * sizeof(bool));
	Bitmapset  *needed = NULL;
	PpScan	   *serial;

	scan->in_turn = true;		/* no other error is to be looked for */
	*options = *scan->options;
	options->log_verbosity = PP_LOG_SILENT;
	for (int i = 0; i < scan->nneeded; i++)
		needed = bms_add_member(needed, scan->file[scan->needed[i]].attnum);
	serial = parparaw_scan_begin(scan->rel, options, needed, false);
	while (parparaw_scan_next(serial, values, nulls))
		CHECK_FOR_INTERRUPTS();
	parparaw_scan_end(serial);
	MemoryContextSwitchTo(old);
}

/* It is certain now that the scan fails. */
static void
replay_if_over_limit(PpScan *scan)
{
	if (scan->options->reject_limit > 0 &&
		pg_atomic_read_u64(&scan->shared->skipped) > (uint64) scan->options->reject_limit)
		parparaw_parallel_replay(scan);
}

/*
 * The executor's callbacks.
 */

Size
parparawEstimateDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt)
{
	return offsetof(PpShared, participant) + (pcxt->nworkers + 1) * sizeof(Participant);
}

void
parparawInitializeDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt,
								 void *coordinate)
{
	PpExecState *state = node->fdw_state;
	PpShared   *shared = coordinate;

	shared->nparticipants = pcxt->nworkers + 1;
	memset(shared->participant, 0, shared->nparticipants * sizeof(Participant));
	SpinLockInit(&shared->mutex);
	ConditionVariableInit(&shared->changed);
	pg_atomic_init_u64(&shared->skipped, 0);
	pg_atomic_init_u64(&shared->malformed, 0);
	reset(shared);
	state->scan->shared = shared;
	state->scan->participant = 0;
}

/* What the workers have counted. */
static void
collect(PpScan *scan)
{
	PpShared   *shared = scan->shared;

	for (int i = 1; i < shared->nparticipants; i++)
	{
		PpScanStats stats;

		SpinLockAcquire(&shared->mutex);
		stats = shared->participant[i].stats;
		memset(&shared->participant[i].stats, 0, sizeof(PpScanStats));
		SpinLockRelease(&shared->mutex);
		scan->stats.partitions += stats.partitions;
		scan->stats.bytes += stats.bytes;
		scan->stats.records += stats.records;
		scan->stats.removed += stats.removed;
		scan->stats.deferred += stats.deferred;
		scan->stats.put_aside += stats.put_aside;
	}
	scan->skipped = pg_atomic_read_u64(&shared->skipped);
	scan->malformed = pg_atomic_read_u64(&shared->malformed);
}

/* Called by the leader while there are no workers. */
void
parparawReInitializeDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt,
								   void *coordinate)
{
	PpExecState *state = node->fdw_state;

	collect(state->scan);
	reset(state->scan->shared);
}

void
parparawInitializeWorkerForeignScan(ForeignScanState *node, shm_toc *toc,
									void *coordinate)
{
	PpExecState *state = node->fdw_state;

	state->scan->shared = coordinate;
	state->scan->participant = ParallelWorkerNumber + 1;
}

void
parparaw_parallel_detach(PpScan *scan)
{
	if (scan->shared == NULL)
		return;
	if (scan->participant == 0)
		collect(scan);
	else
	{
		PpScanStats stats = parparaw_scan_stats(scan);

		SpinLockAcquire(&scan->shared->mutex);
		myself(scan)->stats = stats;
		SpinLockRelease(&scan->shared->mutex);
	}
	scan->shared = NULL;
}

/* The shared memory may go away now, and the scan is not asked for more. */
void
parparawShutdownForeignScan(ForeignScanState *node)
{
	PpExecState *state = node->fdw_state;

	if (state && state->scan->shared)
	{
		parparaw_parallel_detach(state->scan);
		parparaw_scan_stop(state->scan);
	}
}
