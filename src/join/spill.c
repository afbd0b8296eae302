/*-------------------------------------------------------------------------
 *
 * spill.c
 *		Relations in files, for joins that memory is too small for.
 *
 * Each relation goes to a file of its own, as blocks of PP_SPILL_ROWS rows:
 * their pairs of codes, then, if there is a store, their places in it.  The
 * numbering of values by a hash table in memory is given up.  Instead all
 * values of a domain are sorted, together with where they occur; equal ones
 * follow each other and get one code, which is the place in a file where the
 * value is kept; and codes, sorted by where they belong, are put into the
 * rows when those are read back.
 *
 * Owns these files and sorts.
 *
 * IDENTIFICATION
 *		src/join/spill.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "joinexec.h"

/* The least that a sort can do with. */
#define LEAST_SORT_KB	64

/* Where a value occurs: relation, row and side. */
#define PLACE(relation, row, side) \
	((int64) (((uint64) (relation) << 48) | ((row) << 1) | (side)))

void
parparaw_file_seek(BufFile *file, uint64 offset)
{
	if (BufFileSeek(file, 0, (off_t) offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file of a join")));
}

void
parparaw_file_read(BufFile *file, void *data, Size size)
{
	if (BufFileRead(file, data, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file of a join")));
}

Tuplesortstate *
parparaw_sort_numbers(int ncolumns, int kilobytes, TupleTableSlot **slot)
{
	TupleDesc	desc = CreateTemplateTupleDesc(ncolumns);
	AttrNumber	attnum = 1;
	Oid			operator = Int8LessOperator;
	Oid			collation = InvalidOid;
	bool		nulls_first = false;

	for (int i = 0; i < ncolumns; i++)
		TupleDescInitEntry(desc, i + 1, NULL, INT8OID, -1, 0);
	*slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	return tuplesort_begin_heap(desc, 1, &attnum, &operator, &collation, &nulls_first,
								Max(kilobytes, LEAST_SORT_KB), NULL, 0);
}

/*
 * Kilobytes for each of the sorts that are at work at the same time, beside
 * rows that are still in memory.
 */
static int
sort_memory(const PpJoinState *state)
{
	Size		kb = state->limit / 1024 / 4 / (state->ndomains + 1);

	return (int) Min(Max(kb, LEAST_SORT_KB), MAX_KILOBYTES);
}

Size
parparaw_spill_bytes(const PpJoinState *state)
{
	return (Size) state->nrelations * (BLCKSZ + PP_SPILL_ROWS * 3 * sizeof(int64)) +
		(Size) state->ndomains * sort_memory(state) * 1024;
}

/* The sort of a domain's values, by the type's order. */
static void
begin_values(PpJoinState *state, PpDomain *domain)
{
	TypeCacheEntry *entry = lookup_type_cache(domain->type, TYPECACHE_LT_OPR);
	TupleDesc	desc = CreateTemplateTupleDesc(2);
	AttrNumber	attnum = 1;
	Oid			collation = domain->collation;
	bool		nulls_first = false;

	if (!OidIsValid(entry->lt_opr))
		elog(ERROR, "join key of type %u cannot be sorted", domain->type);

	/* values that are equal if their bytes are may be sorted by them */
	if (domain->kind == PP_KEY_IMAGE && OidIsValid(collation))
		collation = C_COLLATION_OID;
	TupleDescInitEntry(desc, 1, NULL, domain->type, -1, 0);
	TupleDescInitEntryCollation(desc, 1, collation);
	TupleDescInitEntry(desc, 2, NULL, INT8OID, -1, 0);
	domain->sort_slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	domain->put_slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	domain->sort = tuplesort_begin_heap(desc, 1, &attnum, &entry->lt_opr, &collation,
										&nulls_first, sort_memory(state), NULL, 0);
	state->other_bytes += (Size) sort_memory(state) * 1024;
}

static void
put_value(PpDomain *domain, Datum value, int64 place)
{
	TupleTableSlot *slot = domain->put_slot;

	ExecClearTuple(slot);
	slot->tts_values[0] = value;
	slot->tts_isnull[0] = false;
	slot->tts_values[1] = Int64GetDatum(place);
	slot->tts_isnull[1] = false;
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(domain->sort, slot);
}

void
parparaw_spill_value(PpJoinState *state, PpRelation *relation, int side, Datum value)
{
	PpDomain   *domain = relation->side[side].domain;

	if (domain->typlen == -1)
		value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
	put_value(domain, value, PLACE(relation->number, pp_relation_rows(relation), side));
}

static void
write_block(PpRelation *relation, const int64 *pairs, const uint64 *at, int n)
{
	BufFileWrite(relation->file, (void *) pairs, n * 2 * sizeof(int64));
	if (at)
		BufFileWrite(relation->file, (void *) at, n * sizeof(uint64));
	relation->nspilled += n;
}

/* Places in the store of rows in memory, from number first on. */
static void
find_places(const PpRelation *relation, const uint64 *at, uint64 first, int n, uint64 *places)
{
	for (int i = 0; i < n; i++)
		places[i] = at ? at[first + i] : (first + i) * relation->store->stride;
}

void
parparaw_spill_rows(PpJoinState *state, PpRelation *relation)
{
	write_block(relation, relation->pairs, relation->at, (int) relation->nrows);
	relation->nrows = 0;
}

/*
 * Writes what there is and leaves each relation with room for one block.
 */
void
parparaw_spill_start(PpJoinState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->data_context);
	MemoryContext row_context = AllocSetContextCreate(state->data_context,
													  "ParparawJoin spilled values",
													  ALLOCSET_DEFAULT_SIZES);

	for (int d = 0; d < state->ndomains; d++)
		begin_values(state, state->domains[d]);
	for (int r = 0; r < state->nrelations; r++)
	{
		PpRelation *relation = &state->relations[r];
		int64	   *pairs = relation->pairs;
		uint64	   *at = relation->at;
		uint64		nrows = relation->nrows;

		/* values are told of row by row, as parparaw_spill_value() does */
		for (int side = 0; side < 2; side++)
		{
			PpDomain   *domain = relation->side[side].domain;

			if (domain == NULL)
				continue;
			for (uint64 i = 0; i < nrows; i++)
			{
				MemoryContextSwitchTo(row_context);
				put_value(domain, parparaw_domain_value(domain, pairs[2 * i + side]),
						  PLACE(r, i, side));
				MemoryContextSwitchTo(state->data_context);
				if (i % PP_SPILL_ROWS == 0)
				{
					CHECK_FOR_INTERRUPTS();
					MemoryContextReset(row_context);
				}
			}
		}
		relation->file = BufFileCreateTemp(false);
		relation->nrows = 0;
		for (uint64 i = 0; i + PP_SPILL_ROWS <= nrows; i += PP_SPILL_ROWS)
		{
			uint64		places[PP_SPILL_ROWS];

			CHECK_FOR_INTERRUPTS();
			if (relation->store)
				find_places(relation, at, i, PP_SPILL_ROWS, places);
			write_block(relation, pairs + 2 * i, relation->store ? places : NULL,
						PP_SPILL_ROWS);
		}

		/* the last block is not full yet */
		relation->pairs = palloc(PP_SPILL_ROWS * 2 * sizeof(int64));
		relation->at = relation->store ? palloc(PP_SPILL_ROWS * sizeof(uint64)) : NULL;
		relation->nrows = nrows % PP_SPILL_ROWS;
		if (relation->nrows > 0)
		{
			uint64		done = nrows - relation->nrows;

			memcpy(relation->pairs, pairs + 2 * done, relation->nrows * 2 * sizeof(int64));
			if (relation->store)
				find_places(relation, at, done, (int) relation->nrows, relation->at);
		}
		relation->room = relation->limit = PP_SPILL_ROWS;
		if (pairs)
			pfree(pairs);
		if (at)
			pfree(at);
	}
	for (int d = 0; d < state->ndomains; d++)
		parparaw_domain_forget(state->domains[d]);
	MemoryContextDelete(row_context);
	MemoryContextSwitchTo(old);
	state->spilled = true;
}

/* Is this the same value as the last one? */
static bool
same_value(PpDomain *domain, Datum a, Datum b)
{
	if (domain->kind == PP_KEY_IMAGE)
		return datum_image_eq(a, b, domain->typbyval, domain->typlen);
	return DatumGetBool(FunctionCall2Coll(&domain->equal, domain->collation, a, b));
}

/*
 * Gives codes to a domain's values, in sorted order, and tells the other sort
 * where they belong.
 */
static void
number_values(PpJoinState *state, PpDomain *domain)
{
	MemoryContext previous_context = AllocSetContextCreate(state->data_context,
														   "ParparawJoin value",
														   ALLOCSET_SMALL_SIZES);
	TupleTableSlot *slot = domain->sort_slot;
	Datum		previous = (Datum) 0;
	int64		code = -1;
	uint64		end = 0;

	tuplesort_performsort(domain->sort);
	if (domain->named)
		domain->file = BufFileCreateTemp(false);
	while (tuplesort_gettupleslot(domain->sort, true, false, slot, NULL))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, 1, &isnull);
		Datum		place = slot_getattr(slot, 2, &isnull);
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		if (code < 0 || !same_value(domain, previous, value))
		{
			MemoryContextReset(previous_context);
			old = MemoryContextSwitchTo(previous_context);
			previous = domain->typlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) :
				datumCopy(value, domain->typbyval, domain->typlen);
			MemoryContextSwitchTo(old);
			code = (int64) end;
			if (domain->named)
			{
				uint32		len = domain->typlen == -1 ?
					VARSIZE(DatumGetPointer(previous)) : (uint32) domain->typlen;

				BufFileWrite(domain->file, &len, sizeof(len));
				BufFileWrite(domain->file, DatumGetPointer(previous), len);
				end += sizeof(len) + len;
			}
			else
				end++;
		}
		ExecClearTuple(state->code_put);
		state->code_put->tts_values[0] = place;
		state->code_put->tts_values[1] = Int64GetDatum(code);
		state->code_put->tts_isnull[0] = state->code_put->tts_isnull[1] = false;
		ExecStoreVirtualTuple(state->code_put);
		tuplesort_puttupleslot(state->codes, state->code_put);
	}
	ExecClearTuple(slot);
	tuplesort_end(domain->sort);
	domain->sort = NULL;
	MemoryContextDelete(previous_context);
}

Datum
parparaw_spill_get(PpDomain *domain, int64 code, MemoryContext context)
{
	uint32		len;
	char	   *value;

	parparaw_file_seek(domain->file, (uint64) code);
	parparaw_file_read(domain->file, &len, sizeof(len));
	value = MemoryContextAllocExtended(context, len, MCXT_ALLOC_HUGE);
	parparaw_file_read(domain->file, value, len);
	return PointerGetDatum(value);
}

/*
 * All rows have come: what is left in memory is written, and codes are found.
 */
void
parparaw_spill_finish(PpJoinState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->data_context);

	for (int r = 0; r < state->nrelations; r++)
		if (state->relations[r].nrows > 0)
			parparaw_spill_rows(state, &state->relations[r]);
	if (state->ndomains > 0)
	{
		state->codes = parparaw_sort_numbers(2, sort_memory(state), &state->code_slot);
		state->code_put = MakeSingleTupleTableSlot(state->code_slot->tts_tupleDescriptor,
												   &TTSOpsVirtual);
		for (int d = 0; d < state->ndomains; d++)
			number_values(state, state->domains[d]);
		tuplesort_performsort(state->codes);
	}
	state->other_bytes = 0;
	MemoryContextSwitchTo(old);
}

/*
 * Relations have to be read in the order of their numbers, each once.  Its
 * file is closed.
 */
void
parparaw_spill_read(PpJoinState *state, PpRelation *relation, PpSpillConsumer consume,
					void *arg)
{
	int64		pairs[PP_SPILL_ROWS * 2];
	uint64		at[PP_SPILL_ROWS];

	parparaw_file_seek(relation->file, 0);
	for (uint64 i = 0; i < relation->nspilled; i += PP_SPILL_ROWS)
	{
		int			n = (int) Min(PP_SPILL_ROWS, relation->nspilled - i);

		CHECK_FOR_INTERRUPTS();
		parparaw_file_read(relation->file, pairs, n * 2 * sizeof(int64));
		if (relation->store)
			parparaw_file_read(relation->file, at, n * sizeof(uint64));
		for (int j = 0; j < 2 * n; j++)
		{
			bool		isnull;

			if (relation->side[j % 2].domain == NULL)
				continue;
			if (!tuplesort_gettupleslot(state->codes, true, false, state->code_slot, NULL) ||
				DatumGetInt64(slot_getattr(state->code_slot, 1, &isnull)) !=
				PLACE(relation->number, i + j / 2, j % 2))
				elog(ERROR, "code of a join key is missing");
			pairs[j] = DatumGetInt64(slot_getattr(state->code_slot, 2, &isnull));
		}
		consume(arg, relation, pairs, relation->store ? at : NULL, n);
	}
	BufFileClose(relation->file);
	relation->file = NULL;
	if (state->codes && relation->number == state->nrelations - 1)
	{
		ExecClearTuple(state->code_slot);
		tuplesort_end(state->codes);
		state->codes = NULL;
	}
}
