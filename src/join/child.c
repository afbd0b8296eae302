/*-------------------------------------------------------------------------
 *
 * child.c
 *		Reads the children of a join into relations: rows of two codes.
 *
 * A child is read once however many relations are made of it.  Rows with a
 * NULL key join with nothing and are left out.  Owns the growth of relations,
 * and with it the decision that memory is short; what happens then is
 * spill.c's.
 *
 * IDENTIFICATION
 *		src/join/child.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "joinexec.h"

#define HUGE_PAGE		((Size) 2 * 1024 * 1024)

Size
parparaw_join_bytes(const PpJoinState *state)
{
	Size		bytes = state->other_bytes + state->fixed_bytes;

	for (int r = 0; r < state->nrelations; r++)
	{
		const PpRelation *relation = &state->relations[r];

		bytes += relation->room * ((relation->pairs ? 2 * sizeof(int64) : 0) +
								   (relation->at ? sizeof(uint64) : 0));
		if (relation->store)
			bytes += parparaw_store_bytes(relation->store);
	}
	for (int d = 0; d < state->ndomains; d++)
		bytes += parparaw_domain_bytes(state->domains[d]);
	return bytes;
}

/*
 * Large pieces are walked through at once or all over: in huge pages, where
 * the system leaves that to programs, they take fewer faults and misses.
 */
void
parparaw_join_advise(void *ptr, Size size)
{
#ifdef MADV_HUGEPAGE
	uintptr_t	from = TYPEALIGN(HUGE_PAGE, (uintptr_t) ptr);
	uintptr_t	to = TYPEALIGN_DOWN(HUGE_PAGE, (uintptr_t) ptr + size);

	/* advice only: no matter if it is not taken */
	if (size >= 2 * HUGE_PAGE && to > from)
		(void) madvise((void *) from, to - from, MADV_HUGEPAGE);
#endif
}

/*
 * What rows in memory may take, so that moving them to files still has the
 * buffers and sorts that it needs.
 */
static Size
rows_limit(const PpJoinState *state)
{
	Size		spill = parparaw_spill_bytes(state);

	return state->limit - Min(spill, state->limit / 2);
}

/* Bytes that the next rows may take while their keys' tables and stores grow. */
static Size
next_growth(const PpJoinState *state)
{
	Size		bytes = 0;

	for (int r = 0; r < state->nrelations; r++)
	{
		const PpStore *store = state->relations[r].store;

		if (store)
			bytes += parparaw_store_growth(store, PP_ROWS_CHECKED * Max(store->stride, 1));
	}
	for (int d = 0; d < state->ndomains; d++)
		bytes += parparaw_domain_growth(state->domains[d], 2 * PP_ROWS_CHECKED);
	return bytes;
}

/*
 * Memory is short: columns that go along are the first to leave, then the
 * relations themselves.
 */
static void
make_way(PpJoinState *state)
{
	bool		moved = false;

	for (int r = 0; r < state->nrelations; r++)
	{
		PpStore    *store = state->relations[r].store;

		if (store && store->file == NULL)
		{
			moved |= store->used > 0;
			parparaw_store_spill(store);
		}
	}
	if (!moved || parparaw_join_bytes(state) + next_growth(state) > rows_limit(state))
		parparaw_spill_start(state);
}

void
parparaw_relation_grow(PpJoinState *state, PpRelation *relation)
{
	Size		row = 2 * sizeof(int64) + (pp_relation_places(relation) ? sizeof(uint64) : 0);
	uint64		room = Max(2 * relation->room, 4 * PP_ROWS_CHECKED);
	Size		bytes = parparaw_join_bytes(state) + next_growth(state);

	/* an array that grows is there twice for a while */
	if (relation->nrows + PP_ROWS_CHECKED > relation->room && !state->spilled)
	{
		Size		left = rows_limit(state) - Min(bytes, rows_limit(state));

		room = Min(room, left / row);
		if (room < relation->room + relation->room / 8 + PP_ROWS_CHECKED)
			bytes = state->limit + 1;
	}
	if (!state->spilled && bytes > rows_limit(state))
	{
		make_way(state);
		if (!state->spilled)
		{
			/* columns have made room */
			parparaw_relation_grow(state, relation);
			return;
		}
	}
	if (state->spilled)
	{
		/* a store that is still in memory may have grown */
		if (relation->store && relation->store->file == NULL)
			parparaw_store_spill(relation->store);
		if (relation->nrows == PP_SPILL_ROWS)
			parparaw_spill_rows(state, relation);
		relation->limit = PP_SPILL_ROWS;
	}
	else if (relation->nrows + PP_ROWS_CHECKED > relation->room)
	{
		relation->pairs = relation->pairs ?
			repalloc_huge(relation->pairs, room * 2 * sizeof(int64)) :
			MemoryContextAllocExtended(state->data_context, room * 2 * sizeof(int64),
									   MCXT_ALLOC_HUGE);
		if (pp_relation_places(relation))
			relation->at = relation->at ?
				repalloc_huge(relation->at, room * sizeof(uint64)) :
				MemoryContextAllocExtended(state->data_context, room * sizeof(uint64),
										   MCXT_ALLOC_HUGE);
		relation->room = room;
	}
	if (!state->spilled)
		relation->limit = Min(relation->nrows + PP_ROWS_CHECKED, relation->room);
}

void
parparaw_relation_add(PpJoinState *state, PpRelation *relation, const Datum *keys)
{
	int64	   *pair = relation->pairs + 2 * relation->nrows;

	for (int i = 0; i < 2; i++)
	{
		const PpSide *side = &relation->side[i];
		Datum		key = keys[i];
		NameData	name;

		if (side->read != PP_READ_DOMAIN)
		{
			pair[i] = pp_key_code(side->read, key);
			continue;
		}

		/*
		 * Index-only scans of releases before May 2024 return names as their
		 * index has them, without what follows the terminator.
		 */
		if (side->domain->type == NAMEOID)
		{
			(void) namestrcpy(&name, NameStr(*DatumGetName(key)));
			key = NameGetDatum(&name);
		}
		if (!state->spilled)
			pair[i] = parparaw_domain_code(side->domain, key);
		else
		{
			parparaw_spill_value(state, relation, i, key);
			pair[i] = 0;
		}
	}
	if (relation->store)
	{
		uint64		at = parparaw_store_put(relation->store);

		if (relation->at)
			relation->at[relation->nrows] = at;
	}
	relation->nrows++;
}

AttrNumber
parparaw_child_column(const PpChild *child, AttrNumber resno)
{
	TargetEntry *tle = list_nth_node(TargetEntry, child->ps->plan->targetlist, resno - 1);
	Expr	   *expr = tle->expr;

	/* another name for a type with the same values */
	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	return IsA(expr, Var) ? ((Var *) expr)->varattno : 0;
}

/* Adds a row of the child to its relations. */
static void
add_row(PpJoinState *state, PpChild *child, TupleTableSlot *slot)
{
	slot_getsomeattrs(slot, child->last);
	for (int r = 0; r < child->nrelations; r++)
	{
		PpRelation *relation = child->relations[r];
		int			one = relation->side[0].resno - 1;
		int			two = relation->side[1].resno - 1;
		Datum		keys[2];

		if (slot->tts_isnull[one] || slot->tts_isnull[two])
			continue;
		pp_relation_room(state, relation);
		if (relation->store)
		{
			PpStore    *store = relation->store;

			ExecClearTuple(store->put);
			for (int i = 0; i < store->ncolumns; i++)
			{
				store->put->tts_values[i] = slot->tts_values[store->resno[i] - 1];
				store->put->tts_isnull[i] = slot->tts_isnull[store->resno[i] - 1];
			}
			ExecStoreVirtualTuple(store->put);
		}
		keys[0] = slot->tts_values[one];
		keys[1] = slot->tts_values[two];
		parparaw_relation_add(state, relation, keys);
	}
}

static void
read_rows(PpJoinState *state, PpChild *child)
{
	MemoryContext old = CurrentMemoryContext;
	bool		clean = true;

	/* values of our own in the row context: copies of tuples, or detoasted */
	for (int r = 0; r < child->nrelations; r++)
		clean &= child->relations[r]->store == NULL &&
			child->relations[r]->side[0].read != PP_READ_DOMAIN &&
			child->relations[r]->side[1].read != PP_READ_DOMAIN;

	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(child->ps);

		CHECK_FOR_INTERRUPTS();
		if (TupIsNull(slot))
			break;
		if (clean)
			add_row(state, child, slot);
		else
		{
			MemoryContextSwitchTo(state->row_context);
			add_row(state, child, slot);
			MemoryContextSwitchTo(old);
			MemoryContextReset(state->row_context);
		}
	}
}

bool
parparaw_child_read(PpJoinState *state, PpChild *child)
{
	bool		ok = true;

	child->touched = true;
	if (child->heap)
		parparaw_heap_read(state, child);
	else if (child->columns)
		ok = parparaw_column_read(state, child);
	else
		read_rows(state, child);
	return ok;
}
