/*-------------------------------------------------------------------------
 *
 * heap.c
 *		Reads a sequential scan page by page, without making rows of it.
 *
 * Stands in for a child that is a plain scan of a heap table: no restriction,
 * no expression, not shared with other processes.  Which rows there are is
 * decided as the heap's own scan in page mode does it: pages are pruned on
 * the way, looked at under a share lock, read under a pin alone; a page known
 * to be all-visible is taken as it is unless its snapshot was taken during
 * recovery; predicate locks and conflicts of serializable transactions are
 * told of.  Statistics, EXPLAIN ANALYZE's included, count what they would.
 *
 * IDENTIFICATION
 *		src/join/heap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "joinexec.h"

typedef struct PpHeapReader
{
	Relation	rel;
	Snapshot	snapshot;
	AttrNumber *attnum;			/* [resno - 1], of the table; 0: not needed */
	int		   *offset;			/* [resno - 1] in a tuple without NULLs; -1: not
								 * fixed */

	/* the page in hand */
	BufferAccessStrategy strategy;
	Buffer		buffer;
	Buffer		vmbuffer;		/* of the visibility map, for pruning */
	int			ntuples;
	HeapTupleData tuples[MaxHeapTuplesPerPage];
} PpHeapReader;

/* Where a column is in every tuple without NULLs; -1: not in one place. */
static int
fixed_offset(TupleDesc desc, AttrNumber attnum)
{
	int			offset = 0;

	for (int i = 0; i < attnum; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		offset = att_align_nominal(offset, att->attalign);
		if (i == attnum - 1)
			return offset;
		if (att->attlen <= 0)
			return -1;
		offset += att->attlen;
	}
	return -1;
}

static bool
map_column(PpHeapReader *reader, PpChild *child, AttrNumber resno)
{
	AttrNumber	attnum = parparaw_child_column(child, resno);

	if (attnum <= 0)
		return false;
	reader->attnum[resno - 1] = attnum;
	reader->offset[resno - 1] = fixed_offset(RelationGetDescr(reader->rel), attnum);
	return true;
}

PpHeapReader *
parparaw_heap_reader(PpJoinState *state, PpChild *child)
{
	SeqScanState *scan = (SeqScanState *) child->ps;
	EState	   *estate = child->ps->state;
	int			n = list_length(child->ps->plan->targetlist);
	PpHeapReader *reader;

	if (!IsA(child->ps, SeqScanState) || child->ps->qual != NULL ||
		child->ps->plan->parallel_aware || estate->es_epq_active != NULL ||
		!IsMVCCSnapshot(estate->es_snapshot) ||
		scan->ss.ss_currentRelation->rd_tableam != GetHeapamTableAmRoutine())
		return NULL;
	reader = palloc0(sizeof(PpHeapReader));
	reader->rel = scan->ss.ss_currentRelation;
	reader->snapshot = estate->es_snapshot;
	for (int i = 0; i < MaxHeapTuplesPerPage; i++)
		reader->tuples[i].t_tableOid = RelationGetRelid(reader->rel);
	reader->attnum = palloc0(n * sizeof(AttrNumber));
	reader->offset = palloc0(n * sizeof(int));
	for (int r = 0; r < child->nrelations; r++)
	{
		PpRelation *relation = child->relations[r];

		for (int i = 0; i < 2; i++)
			if (!map_column(reader, child, relation->side[i].resno))
				return NULL;
		for (int i = 0; relation->store && i < relation->store->ncolumns; i++)
			if (!map_column(reader, child, relation->store->resno[i]))
				return NULL;
	}
	return reader;
}

/*
 * Is the tuple certainly visible, as its hint bits tell?  Inserted by a
 * transaction that had committed before the oldest that the snapshot saw
 * running, and not deleted.
 */
static inline bool
hinted_visible(HeapTupleHeader tuple, Snapshot snapshot)
{
	return (tuple->t_infomask & HEAP_XMIN_COMMITTED) != 0 &&
		(tuple->t_infomask & HEAP_XMAX_INVALID) != 0 &&
		(HeapTupleHeaderXminFrozen(tuple) ||
		 TransactionIdPrecedes(HeapTupleHeaderGetRawXmin(tuple), snapshot->xmin));
}

/* Pins a page and finds its visible tuples. */
static void
read_page(PpHeapReader *reader, BlockNumber block)
{
	Snapshot	snapshot = reader->snapshot;
	Relation	rel = reader->rel;
	Buffer		buffer;
	Page		page;
	OffsetNumber last;
	bool		all_visible;
	bool		serializable;
	int			n = 0;

	buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, reader->strategy);
	reader->buffer = buffer;
	pp_heap_page_prune_opt(rel, buffer, &reader->vmbuffer);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	pp_test_for_old_snapshot(snapshot, rel, page);
	last = PageGetMaxOffsetNumber(page);
	all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
	serializable = CheckForSerializableConflictOutNeeded(rel, snapshot);
	for (OffsetNumber line = FirstOffsetNumber; line <= last; line++)
	{
		ItemId		item = PageGetItemId(page, line);
		HeapTuple	tuple = &reader->tuples[n];
		bool		visible;

		if (!ItemIdIsNormal(item))
			continue;
		tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple->t_len = ItemIdGetLength(item);
		if (likely(all_visible && !serializable))
		{
			n++;
			continue;
		}
		ItemPointerSet(&tuple->t_self, block, line);
		visible = all_visible || hinted_visible(tuple->t_data, snapshot) ||
			HeapTupleSatisfiesVisibility(tuple, snapshot, buffer);
		if (serializable)
			HeapCheckForSerializableConflictOut(visible, rel, tuple, buffer, snapshot);
		n += visible;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	reader->ntuples = n;
}

/* A fixed column of a tuple without NULLs, as a code. */
static inline int64
fixed_code(HeapTupleHeader tuple, int offset, PpKeyRead read)
{
	const char *at = (const char *) tuple + tuple->t_hoff + offset;

	switch (read)
	{
		case PP_READ_UINT8:
			return *(const uint8 *) at;
		case PP_READ_INT16:
			return *(const int16 *) at;
		case PP_READ_INT32:
			return *(const int32 *) at;
		case PP_READ_UINT32:
			return *(const uint32 *) at;
		case PP_READ_UINT64:
			return (int64) (*(const uint64 *) at ^ (UINT64CONST(1) << 63));
		default:
			return *(const int64 *) at;
	}
}

/* Adds a tuple, whatever it looks like. */
static pg_noinline void
add_tuple(PpJoinState *state, PpHeapReader *reader, PpRelation *relation, HeapTuple tuple)
{
	TupleDesc	desc = RelationGetDescr(reader->rel);
	PpStore    *store = relation->store;
	Datum		keys[2];
	bool		isnull;

	for (int i = 0; i < 2; i++)
	{
		keys[i] = heap_getattr(tuple, reader->attnum[relation->side[i].resno - 1], desc,
							   &isnull);
		if (isnull)
			return;
	}
	pp_relation_room(state, relation);
	if (store)
	{
		ExecClearTuple(store->put);
		for (int i = 0; i < store->ncolumns; i++)
			store->put->tts_values[i] = heap_getattr(tuple,
													 reader->attnum[store->resno[i] - 1],
													 desc, &store->put->tts_isnull[i]);
		ExecStoreVirtualTuple(store->put);
	}
	parparaw_relation_add(state, relation, keys);
}

/*
 * Adds the page's tuples whose columns are in their places from *next on,
 * for as long as there is room; stops in front of one of another kind.
 */
static inline __attribute__((always_inline)) void
add_fixed(PpHeapReader *reader, PpRelation *relation, int *next,
		  PpKeyRead read_one, PpKeyRead read_two)
{
	const int	one = reader->offset[relation->side[0].resno - 1];
	const int	two = reader->offset[relation->side[1].resno - 1];
	const int	natts = Max(reader->attnum[relation->side[0].resno - 1],
							reader->attnum[relation->side[1].resno - 1]);
	int64	   *pair = relation->pairs + 2 * relation->nrows;
	int			n = Min(reader->ntuples - *next, relation->limit - relation->nrows);
	int			i;

	for (i = 0; i < n; i++)
	{
		HeapTupleHeader tuple = reader->tuples[*next + i].t_data;

		if (unlikely((tuple->t_infomask & HEAP_HASNULL) != 0 ||
					 HeapTupleHeaderGetNatts(tuple) < natts))
			break;
		pair[2 * i] = fixed_code(tuple, one, read_one);
		pair[2 * i + 1] = fixed_code(tuple, two, read_two);
	}
	relation->nrows += i;
	*next += i;
}

static void
add_page(PpJoinState *state, PpHeapReader *reader, PpRelation *relation)
{
	PpKeyRead	one = relation->side[0].read;
	PpKeyRead	two = relation->side[1].read;
	bool		fixed = relation->store == NULL &&
		one != PP_READ_DOMAIN && two != PP_READ_DOMAIN &&
		reader->offset[relation->side[0].resno - 1] >= 0 &&
		reader->offset[relation->side[1].resno - 1] >= 0;

	for (int next = 0; next < reader->ntuples;)
	{
		int			before = next;

		if (fixed)
		{
			pp_relation_room(state, relation);
			if (one == PP_READ_INT64 && two == PP_READ_INT64)
				add_fixed(reader, relation, &next, PP_READ_INT64, PP_READ_INT64);
			else if (one == PP_READ_INT32 && two == PP_READ_INT32)
				add_fixed(reader, relation, &next, PP_READ_INT32, PP_READ_INT32);
			else
				add_fixed(reader, relation, &next, one, two);
		}
		if (next == before)
			add_tuple(state, reader, relation, &reader->tuples[next++]);
	}
}

void
parparaw_heap_read(PpJoinState *state, PpChild *child)
{
	PpHeapReader *reader = child->heap;
	Relation	rel = reader->rel;
	PP_NODE_INSTRUMENTATION *instrument = child->ps->instrument;
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	double		ntuples = 0;
	MemoryContext old;

	if (child->ps->chgParam != NULL)
		ExecReScan(child->ps);
	if (instrument)
		InstrStartNode(instrument);
	PredicateLockRelation(rel, reader->snapshot);
	pgstat_count_heap_scan(rel);

	/* as any scan that would take much of the buffer pool */
	if (!RelationUsesLocalBuffers(rel) && nblocks > (BlockNumber) (NBuffers / 4))
		reader->strategy = GetAccessStrategy(BAS_BULKREAD);

	old = MemoryContextSwitchTo(state->row_context);
	for (BlockNumber block = 0; block < nblocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		read_page(reader, block);
		for (int r = 0; r < child->nrelations; r++)
			add_page(state, reader, child->relations[r]);
		ReleaseBuffer(reader->buffer);
		pgstat_count_index_tuples(rel, reader->ntuples);	/* returned by a scan */
		ntuples += reader->ntuples;
		MemoryContextReset(state->row_context);
	}
	MemoryContextSwitchTo(old);
	if (BufferIsValid(reader->vmbuffer))
		ReleaseBuffer(reader->vmbuffer);
	reader->vmbuffer = InvalidBuffer;
	if (reader->strategy)
		FreeAccessStrategy(reader->strategy);
	reader->strategy = NULL;
	if (instrument)
		InstrStopNode(instrument, ntuples);
}
