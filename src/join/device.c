/*-------------------------------------------------------------------------
 *
 * device.c
 *		Joins on a device: choosing it, calling it, giving way to the CPU.
 *
 * The device's join engine is a part of the device library.  It is called
 * with signals blocked, as all of that library is, but for the moments in
 * which it asks whether to go on.  What a join holds of the device goes with
 * the node's memory context for engines, whatever happens.
 *
 * The CPU's engine takes over where the device hands a join over, or does not
 * have the memory for it, and under parparaw.backend = auto where it fails.
 * It begins anew, and what was returned already is left out of its answers.
 * Answers that were returned are remembered while they are few; when they are
 * more, it is enough to remember the last one if they came in ascending order.
 * If they did not, an error takes the place of the CPU.
 *
 * Must not be used for boxes of relations in files, which are the CPU's.
 *
 * IDENTIFICATION
 *		src/join/device.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <pthread.h>

#include "access/parallel.h"
#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "joinexec.h"

/*
 * What "auto" weighs, in seconds, bytes a second, and as how many threads of
 * the CPU a device works.  All are assumptions, as no join has been measured on
 * a device yet: the time to make a context, to set up a join, the rate at which
 * keys get to the device and through the sorts there.
 */
#define DEVICE_START	0.4
#define DEVICE_SETUP	0.005
#define DEVICE_RATE		8.0e9
#define DEVICE_THREADS	50.0

/* Bytes of a row's keys. */
#define ROW_BYTES		(2 * sizeof(int64))

/* The part of the memory for answers that are remembered, and how many at most. */
#define LOG_PART		16
#define LEAST_LOG		64
#define MOST_LOG		65536

/* What the device has answered since the answers were begun. */
typedef struct PpReturned
{
	bool		any;
	bool		lost;			/* more than is remembered */
	bool		ascending;		/* so far */
	bool		only_last;		/* of others than the last, that they are not greater
								 * is all that is known */
	int			nkeys;			/* of an answer */
	int			nrows;			/* numbers of rows of one; 0: not wanted */
	uint32		order[PP_JOIN_MAX_VARIABLES];	/* of keys, as answers ascend */
	int64		last[PP_JOIN_MAX_VARIABLES];	/* keys of the last one, in that order */
	uint64		equal;			/* answers with these keys */

	/* answers, or of those with the last one's keys the numbers of rows, too */
	Size		size;			/* of an entry: keys, then numbers of rows */
	char	   *log;
	uint32		n;
	uint32		room;
	uint32		most;
	uint32	   *slots;			/* entries by hash, plus one; 0: free */
	uint32		mask;
} PpReturned;

struct PpJoinDevice
{
	const PpCudaLibrary *library;
	const PpCudaJoinTable *table;
	PpCudaJoin *join;			/* NULL: none */
	bool		lenient;		/* the CPU may take the place of what fails */
	bool		fresh;			/* nothing was asked of it since it was built */
	bool		open;			/* answers are being fetched */
	bool		fallen;			/* the CPU answers what is left */
	sigset_t	saved;			/* signals blocked outside the library */
	PpReturned	returned;
	MemoryContextCallback callback;
};

static const char *const algorithms[] = {
	[PP_CUDA_JOIN_AUTO] = "cuda (auto)",
	[PP_CUDA_JOIN_LFTJ] = "cuda (lftj)",
	[PP_CUDA_JOIN_OPTIMIZED] = "cuda (optimized)",
	[PP_CUDA_JOIN_DEGREE] = "cuda (degree)",
	[PP_CUDA_JOIN_PAIRWISE] = "cuda (pairwise)"
};

StaticAssertDecl(lengthof(algorithms) == PP_CUDA_JOIN_ALGORITHMS, "an algorithm has no name");

/*
 * Choosing.
 */

/* Is the device likely to be faster, for so many bytes of keys? */
static bool
worthwhile(const PpJoinPlan *plan, double bytes)
{
	double		work = plan->work * 1e-6;
	double		device;

	if (parparaw_cuda_min_file_size >= 0)
		return bytes >= parparaw_cuda_min_file_size * 1024.0;
	device = DEVICE_SETUP + (parparaw_cuda_started() ? 0 : DEVICE_START) +
		bytes / DEVICE_RATE + work / DEVICE_THREADS;
	return device < work / Max(plan->threads, 1);
}

/* Does "auto" try a device, for so many bytes of keys? */
static bool
tries_device(const PpJoinPlan *plan, double bytes)
{
	return parparaw_cuda_tries() && !IsParallelWorker() && !RecoveryInProgress() &&
		worthwhile(plan, bytes) && parparaw_cuda_likely();
}

/* Is a join of the form that algorithm "degree" is for, as far as a plan tells? */
static bool
may_be_clique(const PpJoinPlan *plan)
{
	int			n = plan->nvariables;

	if (plan->mode == PP_JOIN_ROWS || plan->natoms != n * (n - 1) / 2)
		return false;
	for (int a = 1; a < plan->natoms; a++)
		if (plan->atoms[a].child != plan->atoms[0].child)
			return false;
	return true;
}

/* Bytes of keys that the children are expected to have. */
static double
expected_bytes(const PpJoinState *state)
{
	double		bytes = 0;

	for (int c = 0; c < state->nchildren; c++)
		bytes += state->children[c].ps->plan->plan_rows * ROW_BYTES;
	return bytes;
}

bool
parparaw_join_wants_device(const PpJoinState *state)
{
	return parparaw_backend == PP_USE_CUDA ? !IsParallelWorker() :
		parparaw_backend == PP_USE_AUTO && tries_device(state->plan, expected_bytes(state));
}

const char *
parparaw_join_predicted(const PpJoinState *state)
{
	const PpJoinPlan *plan = state->plan;
	PpCudaJoinAlgorithm algorithm = (PpCudaJoinAlgorithm) parparaw_cuda_join_algorithm;

	if (parparaw_backend == PP_USE_CPU ||
		(parparaw_backend == PP_USE_AUTO && !tries_device(plan, expected_bytes(state))))
		return "cpu";
	if (algorithm == PP_CUDA_JOIN_DEGREE && !may_be_clique(plan))
		algorithm = PP_CUDA_JOIN_AUTO;
	return algorithms[algorithm];
}

const char *
parparaw_join_backend(const PpJoinState *state)
{
	const PpJoinDeviceStats *stats = &state->stats.device;
	PpCudaJoinInfo info;

	if (!stats->used || stats->handed_over)
		return "cpu";
	parparaw_join_device_info(state, &info);
	return algorithms[info.algorithm];
}

/*
 * Calls of the library.
 */

/* Asked by the library, from within a call, about once a millisecond. */
static bool
device_cancelled(void *ctx)
{
	PpJoinState *state = ctx;
	sigset_t	blocked;
	bool		stop;

	/* what was sent meanwhile is delivered now */
	parparaw_cuda_unblock(&state->device->saved);
	stop = parparaw_join_cancelled(&state->cancel);
	parparaw_cuda_block(&blocked);
	return stop;
}

static void
enter(PpJoinState *state)
{
	/* no error, and no end of the process, may pass through the library */
	state->cancel.stop = false;
	state->cancel.error = NULL;
	state->cancel.alone = false;
	state->cancel.anything = RecoveryInProgress();
	state->cancel.backend = pthread_self();
	parparaw_cuda_block(&state->device->saved);
}

static void
leave(PpJoinState *state)
{
	parparaw_cuda_unblock(&state->device->saved);
}

/* What the join has done so far is added to what others did before it. */
static void
add_info(const PpCudaJoinInfo *before, PpCudaJoinInfo *info)
{
	info->peak_device_bytes = Max(info->peak_device_bytes, before->peak_device_bytes);
	info->h2d_bytes += before->h2d_bytes;
	info->d2h_bytes += before->d2h_bytes;
	info->launches += before->launches;
	info->seeks += before->seeks;
	info->h2d_seconds += before->h2d_seconds;
	info->build_seconds += before->build_seconds;
	info->join_seconds += before->join_seconds;
	info->d2h_seconds += before->d2h_seconds;
}

void
parparaw_join_device_info(const PpJoinState *state, PpCudaJoinInfo *info)
{
	const PpJoinDevice *device = state->device;
	sigset_t	saved;

	if (device == NULL || device->join == NULL)
	{
		*info = state->stats.device.info;
		return;
	}
	parparaw_cuda_block(&saved);
	device->table->info(device->join, info);
	parparaw_cuda_unblock(&saved);
	add_info(&state->stats.device.info, info);
}

void
parparaw_join_device_release(PpJoinState *state)
{
	PpJoinDevice *device = state->device;
	PpCudaJoinInfo info;
	PpCudaJoin *join;
	sigset_t	saved;

	if (device == NULL || device->join == NULL)
		return;
	if (!parparaw_cuda_let_go())
	{
		device->join = NULL;	/* the library has freed it */
		return;
	}
	parparaw_join_device_info(state, &info);
	state->stats.device.info = info;
	join = device->join;
	device->join = NULL;
	device->open = false;
	parparaw_cuda_block(&saved);
	device->table->free(join);
	parparaw_cuda_unblock(&saved);
}

static void
context_goes(void *arg)
{
	parparaw_join_device_release((PpJoinState *) arg);
}

/* The device stops, and what it has returned cannot be told from the rest. */
void
parparaw_join_device_lost(const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the device has stopped in the middle of a join: %s", why),
			 errdetail("What it has returned cannot be told from what is left."),
			 errhint("Set parparaw.backend to \"cpu\".")));
}

/*
 * The CPU's engine is to answer.  Raises the error that the problem, if there
 * is one, is then, where it cannot.
 */
static PpJoinStatus
hand_over(PpJoinState *state, const char *why, const PpCudaProblem *problem)
{
	PpJoinDevice *device = state->device;

	if (device->returned.any && device->returned.lost)
	{
		if (problem)
			parparaw_cuda_raise(problem);
		parparaw_join_device_lost(why);
	}
	device->fallen = true;
	state->stats.device.handed_over = why;
	return PP_JOIN_HANDED_OVER;
}

/* The device failed, at a join or before there was any. */
static PpJoinStatus
fail(PpJoinState *state, PpCudaFailure failure, const char *text)
{
	PpCudaProblem problem;

	switch (failure)
	{
		case PP_CUDA_UNSUPPORTED:
			problem.sqlstate = ERRCODE_FEATURE_NOT_SUPPORTED;
			problem.message = psprintf("the cuda backend does not support this join: %s", text);
			problem.detail = NULL;
			problem.hint = "Set parparaw.backend to \"cpu\" or \"auto\".";
			break;
		case PP_CUDA_NO_MEMORY:
			problem.sqlstate = ERRCODE_OUT_OF_MEMORY;
			problem.message = pstrdup(text);
			problem.detail = NULL;
			problem.hint = "parparaw.cuda_max_memory, divided by parparaw.cuda_max_backends, "
				"is what a session may take.";
			break;
		default:
			parparaw_cuda_explain_failure(failure, text, &problem);
	}
	if (!state->device->lenient)
		parparaw_cuda_raise(&problem);
	parparaw_cuda_note_fallback(&problem);
	return hand_over(state, "the device failed", &problem);
}

/*
 * What a call came to: OK; HANDED_OVER: nothing is left of the join, the CPU's
 * engine is to answer; else what that engine's would mean, raised by the
 * caller.  The last call of the library was the one in question.
 */
static PpJoinStatus
settle(PpJoinState *state, PpJoinStatus status)
{
	PpJoinDevice *device = state->device;
	PpCudaFailure failure = PP_CUDA_BROKEN;
	const char *text = NULL;
	bool		anything = state->cancel.anything;
	sigset_t	saved;

	if (status == PP_JOIN_OK)
		return status;
	if (status == PP_JOIN_DEVICE_FAILED)
	{
		parparaw_cuda_block(&saved);
		failure = device->library->failure();
		text = device->library->error();
		parparaw_cuda_unblock(&saved);
		text = pstrdup(text ? text : "no reason given");
	}
	parparaw_join_device_release(state);
	switch (status)
	{
		case PP_JOIN_CANCELLED:
			if (!anything || state->cancel.error)
				return status;
			/* a standby's needs come first, and may be others than to end this */
			CHECK_FOR_INTERRUPTS();
			return hand_over(state, "recovery interrupted it", NULL);
		case PP_JOIN_DEVICE_FAILED:
			return fail(state, failure, text);
		case PP_JOIN_NO_FIT:
		case PP_JOIN_NO_MEMORY:
			return hand_over(state, "not enough memory", NULL);
		case PP_JOIN_TOO_MANY:
			return hand_over(state, "too many rows, keys or answers", NULL);
		default:
			return hand_over(state, "not for a device", NULL);
	}
}

/* Forgets what was returned. */
static void
forget_answers(PpReturned *returned)
{
	if (returned->slots)
		pfree(returned->slots);
	returned->slots = NULL;
	returned->n = 0;
	returned->equal = 0;
	returned->any = returned->lost = returned->only_last = false;
	returned->ascending = true;
}

Size
parparaw_join_device_memory(const PpJoinState *state)
{
	return state->plan->mode == PP_JOIN_COUNT ? 0 : state->limit / LOG_PART;
}

PpJoinStatus
parparaw_join_device_build(PpJoinState *state, const PpJoinQuery *query, Size budget)
{
	bool		lenient = parparaw_backend == PP_USE_AUTO;
	PpJoinDevice *device = state->device;
	PpJoinQuery asked = *query;
	PpCudaRelation *resident[PP_JOIN_MAX_RELATIONS];
	const PpCudaLibrary *library;
	PpCudaProblem problem;
	PpJoinStatus status;
	double		bytes = 0;
	instr_time	start;
	instr_time	end;

	state->stats.device.handed_over = NULL;
	for (uint32 r = 0; r < query->nrelations; r++)
		bytes += query->relations[r].nrows * (double) ROW_BYTES;
	if (parparaw_backend == PP_USE_CPU || (lenient && !tries_device(state->plan, bytes)))
		return PP_JOIN_HANDED_OVER;
	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("parallel workers cannot join on a device"),
				 errdetail("The query was planned with another parparaw.backend."),
				 errhint("Run the query again.")));

	INSTR_TIME_SET_CURRENT(start);
	library = parparaw_cuda_start(&problem);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(state->stats.device.start_time, end, start);
	if (library == NULL)
	{
		if (!lenient)
			parparaw_cuda_raise(&problem);
		parparaw_cuda_note_failed_start(&problem);
		return PP_JOIN_HANDED_OVER;
	}
	if (library->join == NULL)
	{
		if (lenient)
			return PP_JOIN_HANDED_OVER;
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the device library does not offer joins"),
				 errhint("Set parparaw.backend to \"cpu\" or \"auto\", "
						 "or parparaw.enable_join to \"off\".")));
	}

	if (device == NULL)
	{
		device = MemoryContextAllocZero(state->engine_context, sizeof(PpJoinDevice));
		device->callback.func = context_goes;
		device->callback.arg = state;
		MemoryContextRegisterResetCallback(state->engine_context, &device->callback);
		state->device = device;
	}
	device->library = library;
	device->table = library->join;
	device->lenient = lenient;
	device->fallen = device->open = false;
	forget_answers(&device->returned);

	for (int r = 0; r < state->nrelations; r++)
		resident[r] = state->relations[r].resident;
	asked.cancelled = device_cancelled;
	asked.cancel_ctx = state;
	enter(state);
	status = device->table->build(&asked, resident,
								  (PpCudaJoinAlgorithm) parparaw_cuda_join_algorithm,
								  &state->alloc, budget, &device->join);
	leave(state);
	if (status == PP_JOIN_OK)
	{
		parparaw_cuda_hold();
		state->stats.device.used = true;
		device->fresh = true;
	}
	else
		device->join = NULL;	/* nothing to free */
	return settle(state, status);
}

void
parparaw_join_device_spilled(PpJoinState *state)
{
	PpJoinDeviceStats *stats = &state->stats.device;

	if (parparaw_backend == PP_USE_CUDA && stats->handed_over == NULL)
		stats->handed_over = "the rows exceed work_mem";
}

/*
 * Answers.
 */

bool
parparaw_join_on_device(const PpJoinState *state)
{
	return state->device && state->device->join;
}

bool
parparaw_join_device_is_open(const PpJoinState *state)
{
	return parparaw_join_on_device(state) && state->device->open;
}

static void
begin_answers(PpJoinState *state)
{
	PpReturned *returned = &state->device->returned;
	PpCudaJoinInfo info;

	forget_answers(returned);
	parparaw_join_device_info(state, &info);
	if (state->plan->mode == PP_JOIN_ROWS)
	{
		returned->nkeys = state->plan->nvariables;
		memcpy(returned->order, info.order, returned->nkeys * sizeof(uint32));
	}
	else
		returned->nkeys = 1;
	returned->nrows = state->rows ? state->plan->natoms : 0;
	returned->size = MAXALIGN(returned->nkeys * sizeof(int64) +
							  returned->nrows * sizeof(uint32));
	returned->most = (uint32) Min(Max(state->limit / LOG_PART / returned->size, LEAST_LOG),
								  MOST_LOG);
}

void
parparaw_join_device_open(PpJoinState *state)
{
	PpJoinDevice *device = state->device;

	if (!device->fresh)
	{
		sigset_t	saved;

		parparaw_cuda_block(&saved);
		device->table->rewind(device->join);
		parparaw_cuda_unblock(&saved);
	}
	device->fresh = false;
	device->open = true;
	begin_answers(state);
}

void
parparaw_join_device_close(PpJoinState *state)
{
	if (state->device)
		state->device->open = false;
}

void
parparaw_join_device_rewind(PpJoinState *state)
{
	if (state->device)
	{
		forget_answers(&state->device->returned);
		state->device->open = state->device->fallen = false;
	}
}

PpJoinStatus
parparaw_join_device_count(PpJoinState *state, PpCount *count)
{
	PpJoinStatus status;

	enter(state);
	status = state->device->table->count(state->device->join, count);
	leave(state);
	return settle(state, status);
}

/* How answer i of the batch compares to the last one. */
static int
compare_to_last(const PpJoinState *state, const PpReturned *returned, uint32 i)
{
	for (int k = 0; k < returned->nkeys; k++)
	{
		int64		key = state->keys[(Size) returned->order[k] * state->capacity + i];

		if (key != returned->last[k])
			return key < returned->last[k] ? -1 : 1;
	}
	return 0;
}

/* Answer i of the batch as an entry. */
static void
write_entry(const PpJoinState *state, const PpReturned *returned, uint32 i, char *entry)
{
	int64	   *keys = (int64 *) entry;
	uint32	   *rows = (uint32 *) (keys + returned->nkeys);

	memset(entry, 0, returned->size);
	for (int k = 0; k < returned->nkeys; k++)
		keys[k] = state->keys[(Size) k * state->capacity + i];
	for (int a = 0; a < returned->nrows; a++)
		rows[a] = state->rows[(Size) a * state->capacity + i];
}

static void
add_entry(PpJoinState *state, PpReturned *returned, uint32 i)
{
	if (returned->n == returned->room)
	{
		uint32		room = Min(Max(2 * returned->room, LEAST_LOG), returned->most);

		returned->log = returned->log ? repalloc(returned->log, room * returned->size) :
			MemoryContextAlloc(state->context, room * returned->size);
		returned->room = room;
	}
	write_entry(state, returned, i, returned->log + returned->n++ * returned->size);
}

/* Remembers the batch's answers. */
static void
note_batch(PpJoinState *state, uint32 n)
{
	PpReturned *returned = &state->device->returned;

	for (uint32 i = 0; i < n && !returned->lost; i++)
	{
		int			order = returned->any && returned->ascending ?
			compare_to_last(state, returned, i) : 1;

		returned->ascending &= order >= 0;
		returned->any = true;
		if (!returned->only_last && returned->n == returned->most)
		{
			/* the last entries are those with the last one's keys */
			returned->only_last = true;
			if (returned->equal < returned->n)
				memmove(returned->log,
						returned->log + (returned->n - returned->equal) * returned->size,
						returned->equal * returned->size);
			returned->n = (uint32) returned->equal;
		}
		if (returned->ascending && order > 0)
		{
			for (int k = 0; k < returned->nkeys; k++)
				returned->last[k] =
					state->keys[(Size) returned->order[k] * state->capacity + i];
			returned->equal = 0;
			if (returned->only_last)
				returned->n = 0;
		}
		returned->equal++;
		if (!returned->only_last || returned->nrows > 0)
		{
			returned->lost = returned->n == returned->most;
			if (!returned->lost)
				add_entry(state, returned, i);
		}
		returned->lost |= returned->only_last && !returned->ascending;
	}
}

PpJoinStatus
parparaw_join_device_fetch(PpJoinState *state, size_t *n)
{
	PpJoinDevice *device = state->device;
	PpJoinStatus status;

	enter(state);
	if (state->plan->mode == PP_JOIN_GROUPS)
		status = device->table->groups(device->join, state->keys, state->counts,
									   state->capacity, n);
	else
		status = device->table->rows(device->join, state->keys, state->rows,
									 state->capacity, n);
	leave(state);
	if (status == PP_JOIN_OK)
		note_batch(state, (uint32) *n);
	return settle(state, status);
}

/* Makes the entries findable. */
static void
hash_entries(PpJoinState *state, PpReturned *returned)
{
	uint32		nslots = 16;

	while (nslots < 2 * returned->n)
		nslots *= 2;
	returned->slots = MemoryContextAllocZero(state->context, nslots * sizeof(uint32));
	returned->mask = nslots - 1;
	for (uint32 e = 0; e < returned->n; e++)
	{
		uint32		slot = hash_bytes((unsigned char *) returned->log + e * returned->size,
									  (int) returned->size) & returned->mask;

		while (returned->slots[slot] != 0)
			slot = (slot + 1) & returned->mask;
		returned->slots[slot] = e + 1;
	}
}

/* Is answer i of the batch an entry?  Each is found once. */
static bool
take_entry(PpJoinState *state, PpReturned *returned, uint32 i)
{
	union
	{
		char		bytes[PP_JOIN_MAX_VARIABLES * sizeof(int64) +
						  PP_JOIN_MAX_ATOMS * sizeof(uint32)];
		int64		align;
	}			entry;
	uint32		slot;

	write_entry(state, returned, i, entry.bytes);
	slot = hash_bytes((unsigned char *) entry.bytes, (int) returned->size) & returned->mask;
	for (; returned->slots[slot] != 0; slot = (slot + 1) & returned->mask)
	{
		uint32		e = returned->slots[slot];

		if (e == PG_UINT32_MAX ||
			memcmp(returned->log + (e - 1) * returned->size, entry.bytes, returned->size) != 0)
			continue;
		returned->slots[slot] = PG_UINT32_MAX;
		return true;
	}
	return false;
}

/* Is answer i of the batch one that the device has returned? */
static bool
was_returned(PpJoinState *state, PpReturned *returned, uint32 i)
{
	if (returned->only_last)
	{
		int			order = compare_to_last(state, returned, i);

		if (order != 0)
			return order < 0;
		if (returned->nrows == 0)
		{
			if (returned->equal == 0)
				return false;
			returned->equal--;
			return true;
		}
	}
	return take_entry(state, returned, i);
}

uint32
parparaw_join_device_rest(PpJoinState *state, uint32 n)
{
	PpReturned *returned;
	uint32		kept = 0;

	if (!parparaw_join_device_returned(state))
		return n;
	returned = &state->device->returned;
	if (returned->slots == NULL)
		hash_entries(state, returned);
	for (uint32 i = 0; i < n; i++)
	{
		if (was_returned(state, returned, i))
			continue;
		if (kept < i)
		{
			for (int k = 0; k < returned->nkeys; k++)
				state->keys[(Size) k * state->capacity + kept] =
					state->keys[(Size) k * state->capacity + i];
			for (int a = 0; a < returned->nrows; a++)
				state->rows[(Size) a * state->capacity + kept] =
					state->rows[(Size) a * state->capacity + i];
			if (state->plan->mode == PP_JOIN_GROUPS)
				state->counts[kept] = state->counts[i];
		}
		kept++;
	}
	return kept;
}

bool
parparaw_join_device_returned(const PpJoinState *state)
{
	return state->device && state->device->fallen && state->device->returned.any;
}
