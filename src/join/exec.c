/*-------------------------------------------------------------------------
 *
 * exec.c
 *		Execution of a cyclic join: the executor's callbacks around the engine,
 *		or a device in its place.
 *
 * Children are read into relations once, at the first row that is asked for;
 * the engine builds what it needs of them, and answers are fetched from it in
 * small batches.  What was built is kept over rescans as long as no child
 * changes.  Quals and projections of the node are the executor's.
 *
 * All memory comes from contexts of this node, so that nothing is left behind
 * by an error, and stays within what a hash table may take; but for what any
 * join of that many variables and atoms needs, if that is more.
 *
 * IDENTIFICATION
 *		src/join/exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <pthread.h>

#include "access/xlog.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/procsignal.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "../parse/mutation.h"
#include "../scan/scan.h"
#include "joinexec.h"

/* Rows, or groups, that are fetched at a time, at most; and the part of the
 * memory that they may take, but for few of them. */
#define BATCH			512
#define LEAST_BATCH		16
#define BATCH_PART		32

/*
 * Memory that the engine takes for structures and buffers whose size does not
 * depend on the data, and gets even if that is more than there is: of any
 * query, and of each variable and atom.
 */
#define FIXED_BYTES		((Size) 12 * 1024)
#define VARIABLE_BYTES	((Size) 7 * 1024)
#define ATOM_BYTES		((Size) 2560)

/* What reading a child takes: a page's tuples, above all. */
#define CHILD_BYTES		((Size) 8 * 1024)

static void begin_join(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_join(CustomScanState *node);
static void end_join(CustomScanState *node);
static void rescan_join(CustomScanState *node);

const CustomScanMethods parparaw_join_scan_methods = {
	PARPARAW_JOIN_NAME,
	parparaw_join_create_state
};

static const CustomExecMethods exec_methods = {
	.CustomName = PARPARAW_JOIN_NAME,
	.BeginCustomScan = begin_join,
	.ExecCustomScan = exec_join,
	.EndCustomScan = end_join,
	.ReScanCustomScan = rescan_join,
	.ExplainCustomScan = parparaw_join_explain,
};

Node *
parparaw_join_create_state(CustomScan *scan)
{
	PpJoinState *state = palloc0(sizeof(PpJoinState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

/*
 * Memory and interrupts of the engine.
 */

static void *
engine_alloc(void *ctx, size_t size)
{
	PpJoinState *state = ctx;
	void	   *ptr = MemoryContextAllocExtended(state->engine_context, size,
												 MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);

	if (ptr)
		parparaw_join_advise(ptr, size);
	return ptr;
}

static void
engine_release(void *ctx, void *ptr)
{
	if (ptr)
		pfree(ptr);
}

/*
 * Asked by the engine whether to stop, by any of its threads.  Interrupts are
 * served by the backend's own; one that raises an error stops all of them, and
 * the error is raised again once the engine has returned.  While there are
 * other threads, nothing may end the process, so that only asks them to stop.
 */
bool
parparaw_join_cancelled(void *ctx)
{
	PpJoinCancel *cancel = ctx;

	if (cancel->stop)
		return true;
	if (likely(!InterruptPending) || !pthread_equal(pthread_self(), cancel->backend))
		return false;
	if (!cancel->alone)
	{
		if (cancel->anything || QueryCancelPending || ProcDiePending || pp_other_end_pending())
			cancel->stop = true;
		if (cancel->stop || !ProcSignalBarrierPending)
			return cancel->stop;
	}

	{
		MemoryContext old = CurrentMemoryContext;

		PG_TRY();
		{
			if (cancel->alone)
				CHECK_FOR_INTERRUPTS();
			else
				ProcessProcSignalBarrier();
		}
		PG_CATCH();
		{
			MemoryContextSwitchTo(cancel->context);
			cancel->error = CopyErrorData();
			FlushErrorState();
			cancel->stop = true;
		}
		PG_END_TRY();
		MemoryContextSwitchTo(old);
	}
	return cancel->stop;
}

/* Threads for a call of the engine; other processes must not be needed. */
static void
engine_enter(PpJoinState *state, bool threads)
{
	state->cancel.stop = false;
	state->cancel.error = NULL;
	state->cancel.alone = !threads || state->threads <= 1;
	state->cancel.anything = false;
	state->cancel.backend = pthread_self();
}

/*
 * Raises what a status stands for.  While building, or opening a run, it
 * answers whether there was room.
 */
static bool
engine_check(PpJoinState *state, PpJoinStatus status, bool building)
{
	switch (status)
	{
		case PP_JOIN_OK:
			return true;
		case PP_JOIN_NO_FIT:
			if (building)
				return false;
			break;
		case PP_JOIN_CANCELLED:
			if (state->cancel.error)
				ReThrowError(state->cancel.error);
			CHECK_FOR_INTERRUPTS();
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 errmsg("canceling statement due to user request")));
			break;
		case PP_JOIN_NO_MEMORY:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory"),
					 errdetail("Failed while joining.")));
			break;
		case PP_JOIN_TOO_MANY:
			if (building)
				return false;
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("bigint out of range")));
			break;
		case PP_JOIN_INVALID:
		case PP_JOIN_HANDED_OVER:
		case PP_JOIN_DEVICE_FAILED:
			break;
	}
	elog(ERROR, "join engine refused a query (status %d)", (int) status);
	return false;
}

/*
 * Starting.
 */

static void
begin_join(CustomScanState *node, EState *estate, int eflags)
{
	PpJoinState *state = (PpJoinState *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	ListCell   *lc;

	state->plan = parparaw_join_plan_read(scan->custom_private);
	state->children = palloc0(Max(list_length(scan->custom_plans), 1) * sizeof(PpChild));
	eflags &= ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
	foreach(lc, scan->custom_plans)
	{
		PlanState  *ps = ExecInitNode((Plan *) lfirst(lc), estate, eflags);

		node->custom_ps = lappend(node->custom_ps, ps);
		state->children[state->nchildren++].ps = ps;
	}
	state->gate = ExecInitQual(scan->custom_exprs, &node->ss.ps);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	state->context = AllocSetContextCreate(CurrentMemoryContext, "ParparawJoin",
										   ALLOCSET_DEFAULT_SIZES);
	state->data_context = AllocSetContextCreate(state->context, "ParparawJoin data",
												ALLOCSET_DEFAULT_SIZES);
	state->row_context = AllocSetContextCreate(state->context, "ParparawJoin row",
											   ALLOCSET_DEFAULT_SIZES);
	/* nearly everything that the engine asks for is then a block of its own, of
	 * that size, and given back when it is released */
	state->engine_context = AllocSetContextCreate(state->context, "ParparawJoin engine",
												  0, 1024, ALLOCSET_SMALL_MAXSIZE);
	state->limit = pp_hash_memory_limit();
	state->weight.low = 1;
	state->alloc.alloc = engine_alloc;
	state->alloc.release = engine_release;
	state->alloc.ctx = state;
	state->cancel.context = state->context;

	/*
	 * Interrupts that end the process wait until threads have ended, which is
	 * not to hold up the recovery of a standby.
	 */
	state->threads = RecoveryInProgress() ? 1 : Max(state->plan->threads, 1);

	/* who chose the keys is not to know where they hash to */
	if (!pg_strong_random(&state->seed, sizeof(state->seed)))
		state->seed = (uint64) MyProcPid;

	parparaw_join_setup(state);
	state->inputs = palloc0(state->plan->natoms * sizeof(PpInput));
	state->atom_input = palloc0(state->plan->natoms * sizeof(uint32));
	{
		Size		row = state->plan->nvariables * sizeof(int64) +
			state->plan->natoms * sizeof(uint32) + sizeof(PpCount);

		state->batch = (uint32) Min(Max(state->limit / BATCH_PART / row, LEAST_BATCH), BATCH);
		state->fixed_bytes = state->batch * row + state->nchildren * CHILD_BYTES;
	}
	state->keys = palloc(state->plan->nvariables * state->batch * sizeof(int64));
	if (state->plan->mode == PP_JOIN_GROUPS)
		state->counts = palloc(state->batch * sizeof(PpCount));
	for (int r = 0; r < state->nrelations; r++)
		if (state->relations[r].store)
			state->rows = palloc(state->plan->natoms * state->batch * sizeof(uint32));
}

/*
 * Building and running joins.
 */

/* Ends the run, counting what it did. */
static void
close_run(PpJoinState *state)
{
	parparaw_join_device_close(state);
	if (state->run)
	{
		state->stats.seeks += pp_join_seeks(state->run);
		pp_join_close(state->run);
	}
	state->run = NULL;
}

void
parparaw_join_release(PpJoinState *state)
{
	close_run(state);
	parparaw_join_device_release(state);
	pp_join_free(state->join);
	state->join = NULL;
}

/* Is there a run, the engine's or a device's? */
static bool
has_run(const PpJoinState *state)
{
	return state->run || parparaw_join_device_is_open(state);
}

Size
parparaw_join_floor(const PpJoinPlan *plan)
{
	return FIXED_BYTES + plan->nvariables * VARIABLE_BYTES + plan->natoms * ATOM_BYTES;
}

/* What the engine may take while so many bytes are in use. */
static Size
engine_budget(const PpJoinState *state, Size used)
{
	Size		floor = parparaw_join_floor(state->plan) + LEAST_MEMORY;

	used += state->fixed_bytes;
	return Max(state->limit, used + floor) - used;
}

/* Opens a run of the join within the memory that is left. */
static bool
open_run(PpJoinState *state, Size held)
{
	if (parparaw_join_on_device(state))
		parparaw_join_device_open(state);
	else
	{
		PpJoinStatus status = PP_JOIN_NO_FIT;
		Size		budget = engine_budget(state, held + pp_join_info(state->join)->bytes);
		bool		threads = state->plan->mode != PP_JOIN_ROWS;

		engine_enter(state, threads);
		if (threads && state->threads > 1)
			status = pp_join_open_threads(state->join, &state->alloc, budget, state->threads,
										  &state->run);
		if (status == PP_JOIN_NO_FIT)
			status = pp_join_open(state->join, &state->alloc, budget, 0, 1, &state->run);
		if (!engine_check(state, status, true))
			return false;
	}
	state->capacity = 0;
	state->nbatch = state->next = 0;
	for (int a = 0; a < state->plan->natoms; a++)
		state->payload_at[a] = PP_NOWHERE;
	return true;
}

/* A query as engines read it. */
typedef struct PpAsked
{
	PpJoinQuery query;
	PpJoinRelation relations[PP_JOIN_MAX_RELATIONS];
	const uint32 *codes[PP_JOIN_MAX_RELATIONS];
	PpJoinAtom	atoms[PP_JOIN_MAX_ATOMS];
} PpAsked;

/* The query over the first ninputs inputs, see parparaw_join_build(). */
static void
ask(PpJoinState *state, int ninputs, uint32 nkeys, PpAsked *asked)
{
	const PpJoinPlan *plan = state->plan;
	PpJoinQuery *query = &asked->query;

	for (int i = 0; i < ninputs; i++)
	{
		asked->relations[i].pairs = state->inputs[i].pairs;
		asked->codes[i] = state->inputs[i].codes;
		asked->relations[i].nrows = state->inputs[i].nrows;
	}
	for (int a = 0; a < plan->natoms; a++)
	{
		asked->atoms[a] = state->atoms[a];
		asked->atoms[a].relation = state->atom_input[a];
	}
	memset(query, 0, sizeof(PpJoinQuery));
	query->nvariables = plan->nvariables;
	query->natoms = plan->natoms;
	query->nresiduals = PP_MUTATED(join_residual_lost) ? 0 : plan->nresiduals;
	query->nrelations = ninputs;
	query->atoms = asked->atoms;
	query->residuals = plan->residuals;
	query->relations = asked->relations;
	query->mode = plan->mode;
	query->group = plan->mode == PP_JOIN_GROUPS ? plan->group : 0;
	query->row_numbers = state->rows != NULL;
	query->strategy = PP_JOIN_AUTO;
	query->simd = (PpSimd) parparaw_simd;
	query->threads = state->threads;
	query->nkeys = nkeys;
	query->codes = asked->codes;
	query->cancelled = parparaw_join_cancelled;
	query->cancel_ctx = &state->cancel;
}

bool
parparaw_join_build(PpJoinState *state, int ninputs, uint32 nkeys, Size held)
{
	PpAsked		asked;
	PpJoinStatus status;
	instr_time	start;
	instr_time	end;

	ask(state, ninputs, nkeys, &asked);
	INSTR_TIME_SET_CURRENT(start);
	engine_enter(state, true);
	status = pp_join_build(&asked.query, &state->alloc, engine_budget(state, held), &state->join);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(state->stats.build_time, end, start);
	if (!engine_check(state, status, true))
		return false;
	state->stats.info = *pp_join_info(state->join);
	state->stats.built = true;
	state->stats.bytes = Max(state->stats.bytes, held + state->stats.info.peak_bytes);
	if (!open_run(state, held))
	{
		parparaw_join_release(state);
		return false;
	}
	return true;
}

/* Forgets everything that was made of the children's rows. */
static void
forget(PpJoinState *state)
{
	parparaw_join_release(state);
	for (int d = 0; d < state->ndomains; d++)
		parparaw_domain_reset(state->domains[d]);
	if (state->codes)
		tuplesort_end(state->codes);
	state->codes = NULL;
	if (state->boxes)
		parparaw_boxes_end(state);
	state->boxes = NULL;
	for (int r = 0; r < state->nrelations; r++)
	{
		PpRelation *relation = &state->relations[r];

		if (relation->file)
			BufFileClose(relation->file);
		relation->file = NULL;
		if (relation->store)
			parparaw_store_reset(relation->store);
		relation->pairs = NULL;
		relation->at = NULL;
		relation->resident = NULL;
		relation->keeper = NULL;
		relation->nresident = 0;
		relation->nrows = relation->nspilled = relation->room = relation->limit = 0;
	}
	for (int c = 0; c < state->nchildren; c++)
		state->children[c].complete = false;
	MemoryContextReset(state->data_context);
	state->loaded = state->empty = state->spilled = state->counted = false;
	state->other_bytes = 0;
}

/*
 * Has a device join all rows, if one is chosen that can; keys stay in memory,
 * for the engine may have to.
 */
static bool
build_on_device(PpJoinState *state)
{
	Size		held = parparaw_join_bytes(state);
	PpAsked		asked;
	PpJoinStatus status;
	instr_time	start;
	instr_time	end;

	ask(state, state->nrelations, 0, &asked);
	INSTR_TIME_SET_CURRENT(start);
	status = parparaw_join_device_build(state, &asked.query,
										engine_budget(state, held +
													  parparaw_join_device_memory(state)));
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(state->stats.build_time, end, start);
	if (status == PP_JOIN_HANDED_OVER)
		return false;
	(void) engine_check(state, status, false);
	state->stats.device.held = Max(state->stats.device.held, held);
	(void) open_run(state, held);
	return true;
}

/* Has the engine join all rows in memory, if they fit. */
static bool
build_in_memory(PpJoinState *state)
{
	bool		moved = false;

	for (;;)
	{
		if (parparaw_join_build(state, state->nrelations, 0, parparaw_join_bytes(state)))
			break;
		if (moved)
			return false;

		/* columns that go along may make room */
		for (int r = 0; r < state->nrelations; r++)
		{
			PpStore    *store = state->relations[r].store;

			if (store && store->file == NULL && store->used > 0)
			{
				parparaw_store_spill(store);
				moved = true;
			}
		}
		if (!moved)
			return false;
	}
	for (int r = 0; r < state->nrelations; r++)
	{
		PpRelation *relation = &state->relations[r];

		pfree(relation->pairs);
		relation->pairs = NULL;
		relation->room = relation->limit = 0;
		state->inputs[r].pairs = NULL;
	}
	return true;
}

/* Has the engine join the rows that were read, in memory or in boxes. */
static void
build(PpJoinState *state)
{
	if (!state->spilled && build_in_memory(state))
		return;

	/* what a device has returned can be told from the rest only in memory */
	if (parparaw_join_device_returned(state))
		parparaw_join_device_lost("the rows exceed work_mem");
	if (!state->spilled)
	{
		for (int r = 0; r < state->nrelations; r++)
			if (state->relations[r].store)
				parparaw_store_spill(state->relations[r].store);
		parparaw_spill_start(state);
	}
	parparaw_join_device_spilled(state);
	parparaw_spill_finish(state);
	parparaw_boxes_begin(state);
}

/* Reads the children that are not complete.  False: a device has lost some of their rows. */
static bool
read_children(PpJoinState *state)
{
	for (int c = 0; c < state->nchildren && !state->empty; c++)
	{
		PpChild    *child = &state->children[c];

		if (!child->complete &&
			(!parparaw_child_read(state, child) || !parparaw_resident_complete(state, child)))
			return false;
		child->complete = true;
		for (int r = 0; r < child->nrelations; r++)
			state->empty |= pp_relation_rows(child->relations[r]) == 0;
	}
	return !state->spilled || state->empty || parparaw_resident_fetch(state);
}

/*
 * Has children read anew of whose rows a device has lost some, now without rows of
 * theirs on it.  What others have given stays: a program may not print the same
 * twice.
 */
static void
read_again(PpJoinState *state)
{
	parparaw_join_release(state);
	for (int c = 0; c < state->nchildren; c++)
	{
		PpChild    *child = &state->children[c];

		if (!parparaw_resident_lost(child))
			continue;
		parparaw_resident_drop(child);
		child->complete = false;
		if (child->touched && child->ps->chgParam == NULL)
			ExecReScan(child->ps);

		/* of rows that were returned, each is to come again */
		if (child->touched && parparaw_join_device_returned(state))
			parparaw_column_require_same(child);
		child->touched = false;
	}
	state->empty = false;
	state->unkept = true;
	(void) read_children(state);
}

/* Relations are what inputs read. */
static void
set_inputs(PpJoinState *state)
{
	for (int r = 0; r < state->nrelations; r++)
	{
		PpRelation *relation = &state->relations[r];

		state->inputs[r].pairs = relation->pairs;
		state->inputs[r].at = relation->at;
		state->inputs[r].nrows = relation->resident ? relation->nresident : relation->nrows;
	}
	for (int a = 0; a < state->plan->natoms; a++)
		state->atom_input[a] = state->atoms[a].relation;
}

/* The engine is to join what a device was to join, or has begun to. */
static void
build_instead(PpJoinState *state)
{
	if (!parparaw_resident_fetch(state))
		read_again(state);
	state->loaded = true;
	if (state->empty)
		return;
	if (!state->spilled)
		set_inputs(state);
	build(state);
}

/* Reads the children, and builds the join of their rows. */
static void
load(PpJoinState *state)
{
	instr_time	start;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(start);
	parparaw_resident_begin(state);
	if (!read_children(state))
		read_again(state);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(state->stats.read_time, end, start);
	state->loaded = true;
	if (state->empty)
		return;
	if (!state->spilled)
	{
		set_inputs(state);
		if (build_on_device(state))
			return;
	}
	build_instead(state);
}

/* Has a run at hand, of the only join or of the next box; false: no more. */
static bool
next_run(PpJoinState *state)
{
	if (state->empty)
		return false;
	if (state->boxes)
	{
		parparaw_join_release(state);
		return parparaw_boxes_next(state, state->boxes);
	}
	if (has_run(state))
	{
		close_run(state);
		return false;
	}

	/* again, for what was built before */
	if (!open_run(state, parparaw_join_bytes(state)))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Failed while joining.")));
	return true;
}

/* Begins to answer, from the first row on. */
static bool
first_run(PpJoinState *state)
{
	if (!state->loaded)
		load(state);
	if (state->boxes == NULL && has_run(state))
		return !state->empty;
	return next_run(state);
}

/*
 * Answers.
 */

static bool
add_count(PpCount *sum, PpCount add)
{
	uint64		low = sum->low + add.low;
	uint64		high = sum->high + add.high;
	bool		fits = high >= add.high;

	if (low < add.low)
		fits &= ++high != 0;
	sum->low = low;
	sum->high = high;
	return fits;
}

static bool
multiply_count(PpCount *count, PpCount by)
{
	uint128		product = (uint128) count->high << 64 | count->low;
	uint128		factor = (uint128) by.high << 64 | by.low;

	if (product != 0 && factor > ~(uint128) 0 / product)
		return false;
	product *= factor;
	count->low = (uint64) product;
	count->high = (uint64) (product >> 64);
	return true;
}

/* A count as count(*) would return it. */
static Datum
count_datum(PpCount count)
{
	if (count.high != 0 || count.low > (uint64) PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint out of range")));
	return Int64GetDatum((int64) count.low);
}

/* A key as a value of the output's type. */
static Datum
key_datum(PpJoinState *state, int v, int64 code)
{
	PpDomain   *domain = state->variable_domain[v];

	if (domain == NULL)
		return pp_key_datum(state->variable_read[v], code);
	return state->spilled ?
		parparaw_spill_get(domain, code,
						   state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory) :
		parparaw_domain_value(domain, code);
}

static TupleTableSlot *
store_answer(PpJoinState *state, int64 key, PpCount count)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	for (int o = 0; o < state->plan->noutputs; o++)
	{
		const PpOutputPlan *output = &state->plan->outputs[o];

		slot->tts_values[o] = output->kind == PP_OUTPUT_COUNT ? count_datum(count) :
			key_datum(state, output->number, key);
		slot->tts_isnull[o] = false;
	}
	return ExecStoreVirtualTuple(slot);
}

/* Counts all there is; a single answer. */
static TupleTableSlot *
next_count(PpJoinState *state)
{
	if (!state->counted)
	{
		bool		more = first_run(state);

		state->count.low = state->count.high = 0;
		while (more)
		{
			PpCount		count;
			PpJoinStatus status;
			instr_time	start;
			instr_time	end;

			INSTR_TIME_SET_CURRENT(start);
			if (parparaw_join_on_device(state))
				status = parparaw_join_device_count(state, &count);
			else
			{
				engine_enter(state, true);
				status = pp_join_count(state->run, &count);
			}
			INSTR_TIME_SET_CURRENT(end);
			INSTR_TIME_ACCUM_DIFF(state->stats.join_time, end, start);
			if (status == PP_JOIN_HANDED_OVER)
			{
				build_instead(state);
				more = first_run(state);
				continue;
			}
			(void) engine_check(state, status, false);
			if (!multiply_count(&count, state->weight) || !add_count(&state->count, count))
				(void) engine_check(state, PP_JOIN_TOO_MANY, false);
			more = next_run(state);
		}
		state->counted = true;
	}
	state->done = true;
	return store_answer(state, 0, state->count);
}

/* Has the engine, or the device, answer the next batch. */
static PpJoinStatus
fetch_batch(PpJoinState *state, size_t *n)
{
	bool		groups = state->plan->mode == PP_JOIN_GROUPS;

	if (parparaw_join_on_device(state))
		return parparaw_join_device_fetch(state, n);
	engine_enter(state, groups);
	return groups ?
		pp_join_groups(state->run, state->keys, state->counts, state->capacity, n) :
		pp_join_rows(state->run, state->keys, state->rows, state->capacity, n);
}

/*
 * The next batch of rows or groups; false: there is none.  One of groups is
 * empty where it is found that boxes are needed, whose groups are to be sorted.
 */
static bool
next_batch(PpJoinState *state)
{
	bool		groups = state->plan->mode == PP_JOIN_GROUPS;
	bool		more = has_run(state) ? true : first_run(state);

	while (more)
	{
		PpJoinStatus status;
		instr_time	start;
		instr_time	end;
		size_t		n;
		bool		last;

		/* few at first, as few may be wanted */
		state->capacity = state->capacity == 0 ? (groups ? state->batch : 1) :
			Min(8 * state->capacity, state->batch);
		INSTR_TIME_SET_CURRENT(start);
		status = fetch_batch(state, &n);
		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_ACCUM_DIFF(state->stats.join_time, end, start);
		if (status == PP_JOIN_HANDED_OVER)
		{
			build_instead(state);
			if (groups && state->boxes)
			{
				state->nbatch = state->next = 0;
				return true;
			}
			more = first_run(state);
			continue;
		}
		(void) engine_check(state, status, false);
		last = n == 0;
		n = parparaw_join_device_rest(state, (uint32) n);
		if (groups && (state->weight.low != 1 || state->weight.high != 0))
			for (size_t i = 0; i < n; i++)
				if (!multiply_count(&state->counts[i], state->weight))
					(void) engine_check(state, PP_JOIN_TOO_MANY, false);
		if (state->boxes)
		{
			const PpJoinPlan *plan = state->plan;

			for (int v = 0; v < (groups ? 1 : plan->nvariables); v++)
				parparaw_boxes_keys(state->boxes, groups ? (int) plan->group : v,
									state->keys + (Size) v * state->capacity, (uint32) n);
		}
		state->nbatch = (uint32) n;
		state->next = 0;
		if (n > 0)
			return true;
		if (last)
			more = next_run(state);
	}
	state->nbatch = state->next = 0;
	return false;
}

/*
 * Groups of several boxes may have the same key: they are sorted by it.
 */
static void
sort_groups(PpJoinState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->context);
	Size		kilobytes = PP_GROUPS_BYTES(state) / 2 / 1024;	/* and its buffers */
	TupleTableSlot *put;

	state->groups = parparaw_sort_numbers(3, (int) Min(kilobytes, MAX_KILOBYTES),
										  &state->group_slot);
	put = MakeSingleTupleTableSlot(state->group_slot->tts_tupleDescriptor, &TTSOpsVirtual);
	while (next_batch(state))
		for (uint32 i = 0; i < state->nbatch; i++)
		{
			ExecClearTuple(put);
			put->tts_values[0] = Int64GetDatum(state->keys[i]);
			put->tts_values[1] = UInt64GetDatum(state->counts[i].low);
			put->tts_values[2] = UInt64GetDatum(state->counts[i].high);
			put->tts_isnull[0] = put->tts_isnull[1] = put->tts_isnull[2] = false;
			ExecStoreVirtualTuple(put);
			tuplesort_puttupleslot(state->groups, put);
		}
	ExecDropSingleTupleTableSlot(put);
	tuplesort_performsort(state->groups);
	state->group_ahead = tuplesort_gettupleslot(state->groups, true, false,
												state->group_slot, NULL);
	MemoryContextSwitchTo(old);
}

static TupleTableSlot *
next_sorted_group(PpJoinState *state)
{
	PpCount		sum = {0, 0};
	int64		key = 0;
	bool		first = true;

	while (state->group_ahead)
	{
		TupleTableSlot *slot = state->group_slot;
		PpCount		count;

		slot_getallattrs(slot);
		if (first)
			key = DatumGetInt64(slot->tts_values[0]);
		else if (key != DatumGetInt64(slot->tts_values[0]))
			break;
		first = false;
		count.low = DatumGetUInt64(slot->tts_values[1]);
		count.high = DatumGetUInt64(slot->tts_values[2]);
		if (!add_count(&sum, count))
			(void) engine_check(state, PP_JOIN_TOO_MANY, false);
		state->group_ahead = tuplesort_gettupleslot(state->groups, true, false, slot, NULL);
	}
	return first ? ExecClearTuple(state->css.ss.ss_ScanTupleSlot) :
		store_answer(state, key, sum);
}

static TupleTableSlot *
next_group(PpJoinState *state)
{
	if (state->groups)
		return next_sorted_group(state);
	while (state->next >= state->nbatch)
	{
		if (!state->loaded)
			load(state);
		if (state->boxes)
		{
			sort_groups(state);
			return next_sorted_group(state);
		}
		if (!next_batch(state))
		{
			state->done = true;
			return ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
		}
	}
	state->next++;
	return store_answer(state, state->keys[state->next - 1], state->counts[state->next - 1]);
}

/* Where the columns are that go along with row i of the batch at an atom. */
static inline uint64
payload_place(const PpJoinState *state, const PpStore *store, int a, uint32 i)
{
	const uint64 *at = state->inputs[state->atom_input[a]].at;
	uint32		row = state->rows[a * state->capacity + i];

	return at ? at[row] : (uint64) row * store->stride;
}

/* Those columns. */
static TupleTableSlot *
payload(PpJoinState *state, int a, uint32 i)
{
	TupleTableSlot *slot = state->payload[a];
	PpStore    *store = state->relations[state->atoms[a].relation].store;
	uint64		at = payload_place(state, store, a, PP_MUTATED(join_payload_first) ? 0 : i);

	if (state->payload_at[a] != at)
	{
		parparaw_store_get(store, at, slot);
		state->payload_at[a] = at;
	}
	return slot;
}

/*
 * Columns lie all over memory: those of a whole batch are asked for before the
 * first is needed.
 */
static void
prefetch_payload(PpJoinState *state)
{
	for (int a = 0; a < state->plan->natoms; a++)
	{
		const PpStore *store = state->relations[state->atoms[a].relation].store;

		if (state->payload[a] == NULL || store->file)
			continue;
		for (uint32 i = 0; i < state->nbatch; i++)
			__builtin_prefetch(store->data + payload_place(state, store, a, i));
	}
}

static TupleTableSlot *
next_row(PpJoinState *state)
{
	const PpJoinPlan *plan = state->plan;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	uint32		i;

	ExecClearTuple(slot);
	if (state->next >= state->nbatch && !next_batch(state))
	{
		state->done = true;
		return slot;
	}
	if (state->next == 0 && state->rows)
		prefetch_payload(state);
	i = state->next++;
	for (int o = 0; o < plan->noutputs; o++)
	{
		const PpOutputPlan *output = &plan->outputs[o];

		if (output->kind == PP_OUTPUT_KEY)
		{
			slot->tts_values[o] = key_datum(state, output->number,
											state->keys[output->number * state->capacity + i]);
			slot->tts_isnull[o] = false;
		}
		else
		{
			TupleTableSlot *from = payload(state, output->number, i);

			slot->tts_values[o] = from->tts_values[output->resno - 1];
			slot->tts_isnull[o] = from->tts_isnull[output->resno - 1];
		}
	}
	return ExecStoreVirtualTuple(slot);
}

/* The next row of the scan, an empty slot at the end; for ExecScan(). */
static TupleTableSlot *
access_next(ScanState *node)
{
	PpJoinState *state = (PpJoinState *) node;

	if (state->done)
		return ExecClearTuple(node->ss_ScanTupleSlot);
	if (!state->passed)
	{
		state->passed = ExecQual(state->gate, node->ps.ps_ExprContext);
		if (!state->passed)
		{
			state->done = true;
			return state->plan->mode == PP_JOIN_COUNT ?
				store_answer(state, 0, (PpCount) {0, 0}) :
				ExecClearTuple(node->ss_ScanTupleSlot);
		}
	}
	switch (state->plan->mode)
	{
		case PP_JOIN_COUNT:
			return next_count(state);
		case PP_JOIN_GROUPS:
			return next_group(state);
		default:
			return next_row(state);
	}
}

/*
 * EvalPlanQual has no row of a node without a relation, and asks for one here
 * instead: it gets the next.
 */
static bool
access_recheck(ScanState *node, TupleTableSlot *slot)
{
	return !TupIsNull(access_next(node));
}

static TupleTableSlot *
exec_join(CustomScanState *node)
{
	return ExecScan(&node->ss, access_next, access_recheck);
}

/* Forgets how far the answers have come. */
static void
rewind_answers(PpJoinState *state)
{
	if (state->groups)
	{
		tuplesort_end(state->groups);
		ExecDropSingleTupleTableSlot(state->group_slot);
	}
	parparaw_join_device_rewind(state);
	state->groups = NULL;
	state->group_ahead = false;
	state->done = state->passed = false;
	state->nbatch = state->next = 0;
}

static void
rescan_join(CustomScanState *node)
{
	PpJoinState *state = (PpJoinState *) node;
	bool		changed = false;

	/* the core tells only the children that it knows of */
	if (node->ss.ps.chgParam != NULL)
		for (int c = 0; c < state->nchildren; c++)
		{
			UpdateChangedParamSet(state->children[c].ps, node->ss.ps.chgParam);
			changed |= state->children[c].ps->chgParam != NULL;
		}
	rewind_answers(state);
	if (changed && !PP_MUTATED(join_rescan_stale))
	{
		forget(state);
		for (int c = 0; c < state->nchildren; c++)
		{
			PpChild    *child = &state->children[c];

			/* others are started anew when they are read */
			if (child->touched && child->ps->chgParam == NULL)
				ExecReScan(child->ps);
			child->touched = false;
		}
	}
	else if (state->boxes)
	{
		parparaw_join_release(state);
		parparaw_boxes_restart(state, state->boxes);
	}
	else
		close_run(state);
	ExecScanReScan(&node->ss);
}

static void
end_join(CustomScanState *node)
{
	PpJoinState *state = (PpJoinState *) node;

	if (state->context)
	{
		rewind_answers(state);
		forget(state);
	}
	for (int c = 0; c < state->nchildren; c++)
		ExecEndNode(state->children[c].ps);
}
