/*-------------------------------------------------------------------------
 *
 * foreign.c
 *		Reads a scan of one of our own foreign tables by columns, without making
 *		rows of it.
 *
 * Stands in for a child that is such a scan, alone: no restriction left to the
 * executor, no expression, not shared with other processes, and of columns
 * that go along with keys none.  Batches go into relations as they come out
 * of the parse engine.  Records with a value that is not known there are read
 * as rows, so that input functions, on_error and restrictions on such values
 * do what they do in the scan's own execution.
 *
 * IDENTIFICATION
 *		src/join/foreign.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "../scan/scan.h"
#include "joinexec.h"

/* Records between two looks for interrupts. */
#define RECORDS_CHECKED		1024

typedef struct PpColumnReader
{
	ForeignScanState *node;
	PpScan	   *scan;
	AttrNumber *attnum;			/* [resno - 1], of the table; 0: not needed */
	int		   *column;			/* [resno - 1] its number in batches */
	double		ntuples;
} PpColumnReader;

PpColumnReader *
parparaw_column_reader(PpJoinState *state, PpChild *child)
{
	ForeignScanState *node = (ForeignScanState *) child->ps;
	PpExecState *exec;
	PpColumnReader *reader;
	int			n = list_length(child->ps->plan->targetlist);

	if (!IsA(child->ps, ForeignScanState) ||
		node->fdwroutine->IterateForeignScan != parparawIterateForeignScan ||
		child->ps->qual != NULL || child->ps->plan->parallel_aware ||
		child->ps->state->es_epq_active != NULL)
		return NULL;
	exec = node->fdw_state;
	if (exec == NULL || exec->aggregate != NULL || node->ss.ss_currentRelation == NULL)
		return NULL;
	reader = palloc0(sizeof(PpColumnReader));
	reader->node = node;
	reader->scan = exec->scan;
	reader->attnum = palloc0(n * sizeof(AttrNumber));
	reader->column = palloc0(n * sizeof(int));
	for (int r = 0; r < child->nrelations; r++)
	{
		PpRelation *relation = child->relations[r];

		if (relation->store)
			return NULL;
		for (int i = 0; i < 2; i++)
		{
			AttrNumber	resno = relation->side[i].resno;

			reader->attnum[resno - 1] = parparaw_child_column(child, resno);
			if (reader->attnum[resno - 1] <= 0)
				return NULL;
			reader->column[resno - 1] = parparaw_scan_column(reader->scan,
															 reader->attnum[resno - 1]);
			if (reader->column[resno - 1] < 0)
				return NULL;
		}
	}
	return reader;
}

/* A selected record with values that the engine does not know. */
static void
add_record(PpJoinState *state, PpChild *child, uint32 i)
{
	PpColumnReader *reader = child->columns;
	ForeignScanState *node = reader->node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	CHECK_FOR_INTERRUPTS();
	ExecClearTuple(slot);
	if (!parparaw_scan_row(reader->scan, i, slot->tts_values, slot->tts_isnull))
		return;
	ExecStoreVirtualTuple(slot);
	if (parparaw_scan_unknown(reader->scan))
	{
		bool		passes;

		ResetExprContext(econtext);
		econtext->ecxt_scantuple = slot;
		passes = ExecQual(node->fdw_recheck_quals, econtext);
		if (!passes)
		{
			InstrCountFiltered2(node, 1);
			return;
		}
	}
	for (int r = 0; r < child->nrelations; r++)
	{
		PpRelation *relation = child->relations[r];
		int			one = reader->attnum[relation->side[0].resno - 1] - 1;
		int			two = reader->attnum[relation->side[1].resno - 1] - 1;
		Datum		keys[2];

		if (slot->tts_isnull[one] || slot->tts_isnull[two])
			continue;
		pp_relation_room(state, relation);
		keys[0] = slot->tts_values[one];
		keys[1] = slot->tts_values[two];
		parparaw_relation_add(state, relation, keys);
	}
	reader->ntuples++;
}

/* Selected records from .. to - 1, all values of which are known. */
static void
add_records(PpJoinState *state, PpChild *child, const PpBatch *batch, uint32 from, uint32 to)
{
	PpColumnReader *reader = child->columns;

	for (int r = 0; r < child->nrelations; r++)
	{
		PpRelation *relation = child->relations[r];
		const PpColumnData *one = &batch->column[reader->column[relation->side[0].resno - 1]];
		const PpColumnData *two = &batch->column[reader->column[relation->side[1].resno - 1]];
		PpKeyRead	read_one = relation->side[0].read;
		PpKeyRead	read_two = relation->side[1].read;
		bool		numbers = read_one != PP_READ_DOMAIN && read_two != PP_READ_DOMAIN;

		for (uint32 i = from; i < to;)
		{
			uint32		n;

			pp_relation_room(state, relation);
			n = numbers ? Min(to - i, relation->limit - relation->nrows) : 1;
			for (uint32 end = i + n; i < end; i++)
			{
				uint32		row = pp_batch_at(batch, i);
				Datum		keys[2];

				if ((one->state[row] | two->state[row]) != PP_VALUE)
					continue;
				keys[0] = (Datum) one->value[row];
				keys[1] = (Datum) two->value[row];
				if (numbers)
				{
					int64	   *pair = relation->pairs + 2 * relation->nrows++;

					pair[0] = pp_key_code(read_one, keys[0]);
					pair[1] = pp_key_code(read_two, keys[1]);
				}
				else
					parparaw_relation_add(state, relation, keys);
			}
			CHECK_FOR_INTERRUPTS();
			if (!numbers && i % RECORDS_CHECKED == 0)
				MemoryContextReset(state->row_context);
		}
	}
	reader->ntuples += to - from;
}

/* Has the record a value that is neither known nor NULL? */
static bool
is_mixed(const PpBatch *batch, uint32 row)
{
	uint8		mixed = 0;

	for (uint32 c = 0; c < batch->ncolumns; c++)
		mixed |= batch->column[c].state[row] & ~PP_NULL;
	return mixed != 0;
}

void
parparaw_column_let_go(PpChild *child)
{
	parparaw_scan_let_go(child->columns->scan);
}

void
parparaw_column_require_same(PpChild *child)
{
	parparaw_scan_require_same(child->columns->scan);
}

bool
parparaw_column_read(PpJoinState *state, PpChild *child)
{
	PpColumnReader *reader = child->columns;
	PP_NODE_INSTRUMENTATION *instrument = child->ps->instrument;
	MemoryContext old;
	const PpBatch *batch;
	uint64		ntaken = 0;

	if (child->ps->chgParam != NULL)
		ExecReScan(child->ps);
	if (instrument)
		InstrStartNode(instrument);
	reader->ntuples = 0;
	parparaw_resident_sink(state, child, reader->scan);
	old = MemoryContextSwitchTo(state->row_context);
	while ((batch = parparaw_scan_next_batch(reader->scan)) != NULL)
	{
		uint32		n = batch->nselected;
		uint32		from = 0;

		CHECK_FOR_INTERRUPTS();
		if (batch->partial)
			ntaken += batch->ntaken;
		for (uint32 i = 0; i < n && (batch->ndeferred > 0 || batch->unknown); i++)
		{
			if (!is_mixed(batch, pp_batch_at(batch, i)))
				continue;
			add_records(state, child, batch, from, i);
			add_record(state, child, i);
			from = i + 1;
		}
		add_records(state, child, batch, from, n);
		MemoryContextReset(state->row_context);
	}
	MemoryContextSwitchTo(old);
	ExecClearTuple(reader->node->ss.ss_ScanTupleSlot);
	parparaw_resident_unsink(state, child, reader->scan);
	if (instrument)
		InstrStopNode(instrument, reader->ntuples + ntaken);
	return parparaw_resident_read(state, child, reader->scan, ntaken);
}
