/*-------------------------------------------------------------------------
 *
 * aggexec.c
 *		Execution of a scan that aggregates: a loop over batches instead of
 *		rows.
 *
 * Values that the engine knows are taken column by column, in stretches of
 * records between those of which it does not know everything.  The latter are
 * converted one by one, in their turn, so the first error in file order is
 * the one that is raised; if the engine could not decide whether they pass
 * the restrictions, the executor's expressions do.
 *
 * With grouping columns, records of groups for which the table has no room
 * are put aside, in one of several temporary files by the hash of their key,
 * and taken file by file when all other groups have been returned.
 *
 * IDENTIFICATION
 *		src/scan/aggexec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "aggregate.h"

/*
 * Records put aside: 2^SPILL_BITS files, each again if it does not fit either,
 * up to SPILL_LEVELS times, by which all bits of the hash are used up.
 */
#define SPILL_BITS		4
#define SPILL_FILES		(1 << SPILL_BITS)
#define SPILL_LEVELS	(64 / SPILL_BITS)
#define SPILL_BUFFER	64		/* kilobytes in memory of each */
#define SPILL_MEMORY	(SPILL_FILES * SPILL_BUFFER * (Size) 1024)

/* A column that an aggregate or a key looks at. */
typedef struct PpInput
{
	AttrNumber	attnum;
	int			column;			/* of the batch */
	int			saved;			/* of records put aside */
	Oid			type;
} PpInput;

typedef struct PpSpillFile
{
	Tuplestorestate *store;
	int			level;			/* bits of the hash that its records share, in
								 * units of SPILL_BITS */
} PpSpillFile;

struct PpAggregation
{
	ForeignScanState *node;
	PpScan	   *scan;
	MemoryContext context;		/* lives as long as the scan */
	MemoryContext run_context;	/* accumulators of one run */
	MemoryContext result_context;	/* one result row */

	/* what is asked for */
	int			naggs;
	PpAggSpec  *agg;
	PpAggKind  *kind;			/* [naggs] of agg */
	int		   *agg_resno;
	PpInput    *agg_input;
	int			nkeys;
	PpKeyKind	key_kind[PP_MAX_GROUP_KEYS];
	int			key_resno[PP_MAX_GROUP_KEYS];
	PpInput		key_input[PP_MAX_GROUP_KEYS];

	/* restrictions, for records that the engine cannot decide */
	ExprState  *filters;
	int			nfilter_columns;
	int		   *filter_resno;
	AttrNumber *filter_attnum;

	/* state of the run */
	bool		done;			/* with the file */
	uint32		emitted;		/* result rows */
	PpAccum    *accum;			/* [naggs] without keys */
	PpGroups   *groups;			/* with keys */
	int			level;			/* of the table of groups, see PpSpillFile */
	PpSpillFile *spill;			/* [SPILL_FILES] being written, or NULL */
	List	   *pending;		/* PpSpillFile to be read */

	/* one record */
	Datum	   *value;			/* [natts] */
	bool	   *isnull;

	/* one batch */
	uint32		room;
	uint32	   *positions;		/* [room] rows of a segment that have a group ... */
	uint32	   *group;			/* [room] ... and their groups */
	uint8	   *mixed;			/* [room] records that are taken one by one */

	/* records put aside */
	TupleDesc	saved_desc;
	TupleTableSlot *saved_slot;
	AttrNumber *saved_attnum;
	Datum	   *saved_value;
	bool	   *saved_isnull;
};

/*
 * As the executor does for an Agg node.
 */
void
parparaw_aggregate_check(ForeignScan *plan)
{
	ListCell   *lc;

	foreach(lc, plan->fdw_scan_tlist)
	{
		Aggref	   *aggref = (Aggref *) lfirst_node(TargetEntry, lc)->expr;
		AclResult	result;

		if (!IsA(aggref, Aggref))
			continue;
		result = pp_function_aclcheck(aggref->aggfnoid);
		if (result != ACLCHECK_OK)
			aclcheck_error(result, OBJECT_AGGREGATE, get_func_name(aggref->aggfnoid));
		InvokeFunctionExecuteHook(aggref->aggfnoid);
	}
}

/*
 * Set-up.
 */

static PpKeyKind
key_kind(Oid type)
{
	switch (type)
	{
		case TEXTOID:
		case VARCHAROID:
		case BYTEAOID:
			return PP_KEY_VARLENA;
		case UUIDOID:
			return PP_KEY_UUID;
		case NAMEOID:
			return PP_KEY_NAME;
		default:
			return PP_KEY_VALUE;
	}
}

/*
 * Restrictions refer to columns of the node's tuples; the scan wants those of
 * the table.
 */
static Node *
table_columns(Node *node, void *scan_tlist)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == INDEX_VAR)
	{
		TargetEntry *tle = list_nth_node(TargetEntry, (List *) scan_tlist,
										 ((Var *) node)->varattno - 1);
		Var		   *var = (Var *) copyObject(tle->expr);

		var->varno = INDEX_VAR;
		return (Node *) var;
	}
	return expression_tree_mutator(node, table_columns, scan_tlist);
}

static void
set_input(PpAggregation *agg, PpInput *input, AttrNumber attnum, Relation rel)
{
	input->attnum = attnum;
	if (attnum <= 0)
		return;					/* count(*) */
	input->column = parparaw_scan_column(agg->scan, attnum);
	input->type = TupleDescAttr(RelationGetDescr(rel), attnum - 1)->atttypid;
}

static void
set_filters(PpAggregation *agg)
{
	ForeignScan *plan = (ForeignScan *) agg->node->ss.ps.plan;
	PlanState  *parent = &agg->node->ss.ps;
	ListCell   *lc;

	if (plan->fdw_exprs == NIL)
		return;
	agg->filters = ExecInitQual(plan->fdw_exprs, parent);
	agg->filter_resno = palloc(list_length(plan->fdw_scan_tlist) * sizeof(int));
	agg->filter_attnum = palloc(list_length(plan->fdw_scan_tlist) * sizeof(AttrNumber));
	foreach(lc, plan->fdw_scan_tlist)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!IsA(tle->expr, Var))
			continue;
		agg->filter_resno[agg->nfilter_columns] = tle->resno;
		agg->filter_attnum[agg->nfilter_columns] = ((Var *) tle->expr)->varattno;
		agg->nfilter_columns++;
	}
	parparaw_scan_set_filters(agg->scan, parent,
							  (List *) table_columns((Node *) plan->fdw_exprs,
													 plan->fdw_scan_tlist),
							  INDEX_VAR);
}

/*
 * Aggregates of which the backend may give its share, if all of them are such;
 * it then need not return what it has aggregated.
 */
static void
set_aggregates(PpAggregation *agg)
{
	PpAggregate *wanted = palloc0(agg->naggs * sizeof(PpAggregate));

	for (int i = 0; i < agg->naggs; i++)
	{
		if (!parparaw_accum_operation(agg->kind[i], &wanted[i].op))
			return;
		if (agg->agg_input[i].attnum > 0)
			wanted[i].column = (uint32) agg->agg_input[i].column;
	}
	parparaw_scan_set_aggregates(agg->scan, wanted, (uint32) agg->naggs);
}

/* The columns of records that are put aside: all that keys and aggregates need. */
static void
set_saved(PpAggregation *agg, Relation rel)
{
	int			n = 0;
	int			ninputs = agg->nkeys + agg->naggs;

	agg->saved_attnum = palloc(ninputs * sizeof(AttrNumber));
	for (int i = 0; i < ninputs; i++)
	{
		PpInput    *input = i < agg->nkeys ? &agg->key_input[i] :
			&agg->agg_input[i - agg->nkeys];

		if (input->attnum <= 0)
			continue;
		for (input->saved = 0; input->saved < n; input->saved++)
			if (agg->saved_attnum[input->saved] == input->attnum)
				break;
		if (input->saved == n)
			agg->saved_attnum[n++] = input->attnum;
	}
	agg->saved_desc = CreateTemplateTupleDesc(n);
	for (int i = 0; i < n; i++)
		TupleDescCopyEntry(agg->saved_desc, i + 1, RelationGetDescr(rel),
						   agg->saved_attnum[i]);
	agg->saved_value = palloc(n * sizeof(Datum));
	agg->saved_isnull = palloc(n * sizeof(bool));
	agg->saved_slot = MakeSingleTupleTableSlot(agg->saved_desc, &TTSOpsMinimalTuple);
}

/* Memory of the table of groups: what the files' buffers leave of it. */
static Size
group_memory(void)
{
	Size		limit = pp_hash_memory_limit();

	return limit > 4 * SPILL_MEMORY ? limit - SPILL_MEMORY : limit;
}

static void
start_run(PpAggregation *agg)
{
	MemoryContext old = MemoryContextSwitchTo(agg->run_context);

	agg->done = false;
	agg->emitted = 0;
	agg->level = 0;
	if (agg->nkeys > 0)
		agg->groups = parparaw_groups_create(agg->nkeys, agg->key_kind, agg->naggs,
											 agg->kind, group_memory());
	else
	{
		agg->accum = palloc(agg->naggs * sizeof(PpAccum));
		for (int i = 0; i < agg->naggs; i++)
			parparaw_accum_init(&agg->accum[i], agg->kind[i]);
	}
	MemoryContextSwitchTo(old);
}

PpAggregation *
parparaw_aggregate_begin(ForeignScanState *node, PpScan *scan)
{
	PpAggregation *agg = palloc0(sizeof(PpAggregation));
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Relation	rel = parparaw_scan_relation(scan);
	List	   *keys = list_nth(plan->fdw_private, PP_PLAN_KEYS);
	int			n = list_length(plan->fdw_scan_tlist);
	ListCell   *lc;

	agg->node = node;
	agg->scan = scan;
	agg->context = CurrentMemoryContext;
	agg->run_context = AllocSetContextCreate(agg->context, "parparaw aggregates",
											 ALLOCSET_DEFAULT_SIZES);
	agg->result_context = AllocSetContextCreate(agg->context, "parparaw aggregate results",
												ALLOCSET_SMALL_SIZES);
	agg->agg = palloc0(n * sizeof(PpAggSpec));
	agg->kind = palloc(n * sizeof(PpAggKind));
	agg->agg_resno = palloc(n * sizeof(int));
	agg->agg_input = palloc0(n * sizeof(PpInput));
	agg->value = palloc(RelationGetNumberOfAttributes(rel) * sizeof(Datum));
	agg->isnull = palloc(RelationGetNumberOfAttributes(rel) * sizeof(bool));

	foreach(lc, plan->fdw_scan_tlist)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (IsA(tle->expr, Aggref))
		{
			int			i = agg->naggs++;

			if (!parparaw_can_aggregate((Aggref *) tle->expr, 0, &agg->agg[i]))
				elog(ERROR, "unexpected aggregate");
			agg->kind[i] = agg->agg[i].kind;
			agg->agg_resno[i] = tle->resno;
			set_input(agg, &agg->agg_input[i], agg->agg[i].attnum, rel);
		}
		else if (list_member_int(keys, tle->resno))
		{
			int			k = agg->nkeys++;

			agg->key_resno[k] = tle->resno;
			set_input(agg, &agg->key_input[k], ((Var *) tle->expr)->varattno, rel);
			agg->key_kind[k] = key_kind(agg->key_input[k].type);
		}
	}
	set_filters(agg);
	if (agg->nkeys > 0)
		set_saved(agg, rel);
	else
		set_aggregates(agg);
	start_run(agg);
	return agg;
}

/* Gives up the records that were put aside and not taken. */
static void
drop_spilled(PpAggregation *agg)
{
	ListCell   *lc;

	if (agg->spill)
	{
		for (int i = 0; i < SPILL_FILES; i++)
			if (agg->spill[i].store)
				tuplestore_end(agg->spill[i].store);
		agg->spill = NULL;
	}
	foreach(lc, agg->pending)
		tuplestore_end(((PpSpillFile *) lfirst(lc))->store);
	agg->pending = NIL;
}

void
parparaw_aggregate_restart(PpAggregation *agg)
{
	drop_spilled(agg);
	agg->groups = NULL;
	MemoryContextReset(agg->run_context);
	start_run(agg);
}

void
parparaw_aggregate_end(PpAggregation *agg)
{
	drop_spilled(agg);
	if (agg->saved_slot)
		ExecDropSingleTupleTableSlot(agg->saved_slot);
}

/*
 * Records put aside.
 */

/* The record's needed values are in agg->value and agg->isnull. */
static void
spill_record(PpAggregation *agg, uint64 hash)
{
	PpSpillFile *file;
	MemoryContext old = MemoryContextSwitchTo(agg->run_context);

	if (agg->spill == NULL)
	{
		agg->spill = palloc0(SPILL_FILES * sizeof(PpSpillFile));
		for (int i = 0; i < SPILL_FILES; i++)
			agg->spill[i].level = agg->level + 1;
	}
	file = &agg->spill[(hash >> (64 - SPILL_BITS * (agg->level + 1))) & (SPILL_FILES - 1)];
	if (file->store == NULL)
		file->store = tuplestore_begin_heap(false, false, SPILL_BUFFER);
	for (int i = 0; i < agg->saved_desc->natts; i++)
	{
		agg->saved_value[i] = agg->value[agg->saved_attnum[i] - 1];
		agg->saved_isnull[i] = agg->isnull[agg->saved_attnum[i] - 1];
	}
	tuplestore_putvalues(file->store, agg->saved_desc, agg->saved_value, agg->saved_isnull);
	parparaw_scan_put_aside(agg->scan);
	MemoryContextSwitchTo(old);
}

/* What was put aside waits, before all that was put aside earlier. */
static void
finish_spill(PpAggregation *agg)
{
	MemoryContext old = MemoryContextSwitchTo(agg->run_context);

	for (int i = 0; agg->spill && i < SPILL_FILES; i++)
		if (agg->spill[i].store)
			agg->pending = lcons(&agg->spill[i], agg->pending);
	agg->spill = NULL;
	MemoryContextSwitchTo(old);
}

/*
 * Records.
 */

/* A value as batches hold it. */
static uint64
batch_value(Oid type, Datum value)
{
	switch (type)
	{
		case BOOLOID:
			return DatumGetBool(value);
		case INT2OID:
			return (uint64) (int64) DatumGetInt16(value);
		case INT4OID:
		case DATEOID:
		case FLOAT4OID:
			return (uint64) (int64) DatumGetInt32(value);
		case NUMERICOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case BYTEAOID:
			/* out of a stored tuple it may have a short header */
			return (uint64) (uintptr_t) PG_DETOAST_DATUM(value);
		default:
			return (uint64) value;
	}
}

/* A segment of one value. */
typedef struct PpSingle
{
	PpSegment	segment;
	uint64		value;
	uint8		state;
} PpSingle;

static void
set_single(PpSingle *single, const PpInput *input, Datum value, bool isnull)
{
	single->value = isnull || input->attnum <= 0 ? 0 : batch_value(input->type, value);
	single->state = isnull ? PP_NULL : PP_VALUE;
	single->segment.value = &single->value;
	single->segment.state = &single->state;
	single->segment.rows = NULL;
	single->segment.from = 0;
	single->segment.to = 1;
}

/*
 * Takes one record.  values[] is indexed by attribute number less 1, or, if
 * saved, as records are that were put aside.
 */
static void
take_record(PpAggregation *agg, const Datum *value, const bool *isnull, bool saved)
{
	PpSingle	single;
	PpAccum    *accum = agg->accum;
	MemoryContext old = CurrentMemoryContext;

	if (agg->nkeys > 0)
	{
		PpSingle	key[PP_MAX_GROUP_KEYS];
		PpSegment	segment[PP_MAX_GROUP_KEYS];
		uint32		group;

		for (int k = 0; k < agg->nkeys; k++)
		{
			const PpInput *input = &agg->key_input[k];
			int			a = saved ? input->saved : input->attnum - 1;

			set_single(&key[k], input, value[a], isnull[a]);
			segment[k] = key[k].segment;
		}
		parparaw_groups_find(agg->groups, segment, &group);
		if (group == PP_NO_GROUP)
		{
			if (saved)
				for (int i = 0; i < agg->saved_desc->natts; i++)
				{
					agg->value[agg->saved_attnum[i] - 1] = value[i];
					agg->isnull[agg->saved_attnum[i] - 1] = isnull[i];
				}
			spill_record(agg, parparaw_groups_hash(agg->groups, segment));
			return;
		}
		accum = parparaw_groups_accums(agg->groups) + (Size) group * agg->naggs;
	}

	for (int i = 0; i < agg->naggs; i++)
	{
		const PpInput *input = &agg->agg_input[i];
		int			a = saved ? input->saved : input->attnum - 1;

		if (input->attnum <= 0)
			set_single(&single, input, (Datum) 0, false);
		else
			set_single(&single, input, value[a], isnull[a]);
		MemoryContextSwitchTo(agg->groups ? parparaw_groups_context(agg->groups) :
							  agg->run_context);
		parparaw_accumulate(&accum[i], agg->kind[i], &single.segment);
		MemoryContextSwitchTo(old);
	}
}

/*
 * Does the record in agg->value pass the restrictions?  The node's slot is
 * free until there is a result.
 */
static bool
passes(PpAggregation *agg)
{
	ExprContext *econtext = agg->node->ss.ps.ps_ExprContext;
	TupleTableSlot *slot = agg->node->ss.ss_ScanTupleSlot;
	bool		result;

	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (int i = 0; i < agg->nfilter_columns; i++)
	{
		slot->tts_values[agg->filter_resno[i] - 1] = agg->value[agg->filter_attnum[i] - 1];
		slot->tts_isnull[agg->filter_resno[i] - 1] = agg->isnull[agg->filter_attnum[i] - 1];
	}
	ExecStoreVirtualTuple(slot);
	econtext->ecxt_scantuple = slot;
	result = ExecQual(agg->filters, econtext);
	if (!result)
		InstrCountFiltered2(agg->node, 1);	/* see explain.c */
	ExecClearTuple(slot);
	ResetExprContext(econtext);
	return result;
}

/* One selected record of a batch, value by value. */
static void
take_row(PpAggregation *agg, uint32 i)
{
	if (parparaw_scan_row(agg->scan, i, agg->value, agg->isnull) &&
		(!parparaw_scan_unknown(agg->scan) || passes(agg)))
	{
		MemoryContext old = MemoryContextSwitchTo(agg->result_context);

		take_record(agg, agg->value, agg->isnull, false);
		MemoryContextSwitchTo(old);
		MemoryContextReset(agg->result_context);
	}
	CHECK_FOR_INTERRUPTS();
}

/*
 * Batches.
 */

static void
set_segment(PpSegment *segment, const PpInput *input, const PpBatch *batch,
			const uint32 *rows, uint32 from, uint32 to)
{
	segment->value = input->attnum > 0 ? batch->column[input->column].value : NULL;
	segment->state = input->attnum > 0 ? batch->column[input->column].state : NULL;
	segment->rows = rows;
	segment->from = from;
	segment->to = to;
}

/* Where the selected records are in columns; NULL: one after the other. */
static const uint32 *
batch_rows(const PpBatch *batch)
{
	return batch->compact ? NULL : batch->selected;
}

/* Records that are known throughout: from .. to - 1 of the selected ones. */
static void
take_segment(PpAggregation *agg, const PpBatch *batch, uint32 from, uint32 to)
{
	PpSegment	segment[4];
	PpAccum    *accum[4];
	int			n = 0;

	for (int i = 0; i < agg->naggs; i++)
	{
		set_segment(&segment[n], &agg->agg_input[i], batch, batch_rows(batch), from, to);
		accum[n] = &agg->accum[i];
		if (agg->kind[i] != PP_AGG_SUM_FLOAT8)
			parparaw_accumulate(accum[n], agg->kind[i], &segment[n]);
		else if (++n == lengthof(segment))
		{
			parparaw_accumulate_float8(accum, segment, n);
			n = 0;
		}
	}
	parparaw_accumulate_float8(accum, segment, n);
}

/* The same, by groups. */
static void
take_segment_groups(PpAggregation *agg, const PpBatch *batch, uint32 from, uint32 to)
{
	PpSegment	segment[PP_MAX_GROUP_KEYS];
	uint32		n = 0;

	for (int k = 0; k < agg->nkeys; k++)
		set_segment(&segment[k], &agg->key_input[k], batch, batch_rows(batch), from, to);
	parparaw_groups_find(agg->groups, segment, agg->group);

	for (uint32 i = from; i < to; i++)
	{
		if (unlikely(agg->group[i] == PP_NO_GROUP))
		{
			PpSegment	one[PP_MAX_GROUP_KEYS];

			for (int k = 0; k < agg->nkeys; k++)
				set_segment(&one[k], &agg->key_input[k], batch, batch_rows(batch), i, i + 1);
			(void) parparaw_scan_row(agg->scan, i, agg->value, agg->isnull);
			spill_record(agg, parparaw_groups_hash(agg->groups, one));
			continue;
		}
		agg->positions[n] = pp_batch_at(batch, i);
		agg->group[n] = agg->group[i];
		n++;
	}

	for (int i = 0; i < agg->naggs; i++)
	{
		PpSegment	s;
		MemoryContext old = MemoryContextSwitchTo(parparaw_groups_context(agg->groups));

		set_segment(&s, &agg->agg_input[i], batch, agg->positions, 0, n);
		parparaw_accumulate_groups(parparaw_groups_accums(agg->groups) + i, agg->naggs,
								   agg->kind[i], &s, agg->group);
		MemoryContextSwitchTo(old);
	}
}

static void
take_known(PpAggregation *agg, const PpBatch *batch, uint32 from, uint32 to)
{
	if (from == to)
		return;
	if (agg->nkeys > 0)
		take_segment_groups(agg, batch, from, to);
	else
		take_segment(agg, batch, from, to);
}

static void
reserve(PpAggregation *agg, uint32 n)
{
	if (n <= agg->room)
		return;
	if (agg->room > 0)
	{
		pfree(agg->positions);
		pfree(agg->group);
		pfree(agg->mixed);
	}
	agg->room = n;
	agg->positions = MemoryContextAlloc(agg->context, n * sizeof(uint32));
	agg->group = MemoryContextAlloc(agg->context, n * sizeof(uint32));
	agg->mixed = MemoryContextAlloc(agg->context, n * sizeof(uint8));
}

static void
take_batch(PpAggregation *agg, const PpBatch *batch)
{
	uint32		n = batch->nselected;
	uint32		from = 0;

	/* of aggregates the order of records does not show in */
	for (int i = 0; batch->partial && i < agg->naggs; i++)
		parparaw_accum_add(&agg->accum[i], agg->kind[i], &batch->partial[i]);

	reserve(agg, n);
	if (batch->ndeferred == 0)
	{
		take_known(agg, batch, 0, n);
		return;
	}

	/* of the bits of states, those but PP_NULL mean that one is not known */
	memset(agg->mixed, 0, n);
	for (uint32 c = 0; c < batch->ncolumns; c++)
	{
		const uint8 *state = batch->column[c].state;

		for (uint32 i = 0; i < n; i++)
			agg->mixed[i] |= state[pp_batch_at(batch, i)] & ~PP_NULL;
	}
	for (uint32 i = 0; i < n; i++)
	{
		if (!agg->mixed[i])
			continue;
		take_known(agg, batch, from, i);
		take_row(agg, i);
		if (parparaw_scan_stopped(agg->scan))
			return;
		from = i + 1;
	}
	take_known(agg, batch, from, n);
}

static void
take_file(PpAggregation *agg)
{
	MemoryContext old = MemoryContextSwitchTo(agg->run_context);
	const PpBatch *batch;

	while ((batch = parparaw_scan_next_batch(agg->scan)) != NULL)
		take_batch(agg, batch);
	finish_spill(agg);
	agg->done = true;
	MemoryContextSwitchTo(old);
}

/*
 * Groups of the next file of records that were put aside, instead of those
 * that have been returned.  False: there is none.
 */
static bool
take_spilled(PpAggregation *agg)
{
	PpSpillFile *file;
	MemoryContext old;

	if (agg->pending == NIL)
		return false;
	file = linitial(agg->pending);
	old = MemoryContextSwitchTo(agg->run_context);
	agg->pending = list_delete_first(agg->pending);
	agg->level = file->level;
	agg->emitted = 0;
	parparaw_groups_free(agg->groups);
	agg->groups = NULL;

	/* with no bits left to tell groups apart, they have to fit */
	agg->groups = parparaw_groups_create(agg->nkeys, agg->key_kind, agg->naggs, agg->kind,
										 agg->level < SPILL_LEVELS ?
										 group_memory() : SIZE_MAX / 2);
	while (tuplestore_gettupleslot(file->store, true, false, agg->saved_slot))
	{
		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(agg->saved_slot);
		MemoryContextSwitchTo(agg->result_context);
		take_record(agg, agg->saved_slot->tts_values, agg->saved_slot->tts_isnull, true);
		MemoryContextSwitchTo(agg->run_context);
		MemoryContextReset(agg->result_context);
	}
	ExecClearTuple(agg->saved_slot);
	tuplestore_end(file->store);
	file->store = NULL;
	finish_spill(agg);
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * Next result row into the node's slot, which is empty at the end.  The
 * slot's Datums stay valid until the next call.
 */
TupleTableSlot *
parparaw_aggregate_next(PpAggregation *agg)
{
	TupleTableSlot *slot = agg->node->ss.ss_ScanTupleSlot;
	PpAccum    *accum = agg->accum;
	MemoryContext old;

	ExecClearTuple(slot);
	if (!agg->done)
		take_file(agg);
	if (agg->nkeys > 0)
	{
		while (agg->emitted == parparaw_groups_count(agg->groups))
			if (!take_spilled(agg))
				return slot;
		accum = parparaw_groups_accums(agg->groups) + (Size) agg->emitted * agg->naggs;
	}
	else if (agg->emitted > 0)
		return slot;

	MemoryContextReset(agg->result_context);
	old = MemoryContextSwitchTo(agg->result_context);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (int k = 0; k < agg->nkeys; k++)
		slot->tts_values[agg->key_resno[k] - 1] =
			parparaw_groups_key(agg->groups, agg->emitted, k,
								&slot->tts_isnull[agg->key_resno[k] - 1]);
	for (int i = 0; i < agg->naggs; i++)
		slot->tts_values[agg->agg_resno[i] - 1] =
			parparaw_accum_result(&accum[i], &agg->agg[i],
								  &slot->tts_isnull[agg->agg_resno[i] - 1]);
	MemoryContextSwitchTo(old);
	agg->emitted++;
	return ExecStoreVirtualTuple(slot);
}
