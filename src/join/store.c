/*-------------------------------------------------------------------------
 *
 * store.c
 *		Columns that go along with a relation's rows: kept one row behind the
 *		other, in memory or in a file, and found by place.
 *
 * The join itself carries nothing but row numbers.  Columns passed by value
 * are kept as records: a bit for each that is NULL, then the bytes of their
 * values; with other columns, rows are minimal tuples.  Owns these and the
 * file; the caller keeps the places.
 *
 * IDENTIFICATION
 *		src/join/store.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "joinexec.h"

#define LEAST_BYTES		8192

/* Records are no longer than this. */
#define MOST_STRIDE		256

/* Bytes a file is written at a time when a store moves there. */
#define SLICE			(1024 * 1024)

/*
 * A store of the columns resno[] of a child's rows.
 */
PpStore *
parparaw_store_make(TupleDesc child, int ncolumns, const AttrNumber *resno,
					MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	PpStore    *store = palloc0(sizeof(PpStore));
	bool		fixed = true;
	int			stride = (ncolumns + 7) / 8;

	store->context = context;
	store->ncolumns = ncolumns;
	store->resno = palloc(ncolumns * sizeof(AttrNumber));
	store->desc = CreateTemplateTupleDesc(ncolumns);
	for (int i = 0; i < ncolumns; i++)
	{
		store->resno[i] = resno[i];
		TupleDescCopyEntry(store->desc, i + 1, child, resno[i]);
		fixed &= TupleDescAttr(store->desc, i)->attbyval;
		stride += TupleDescAttr(store->desc, i)->attlen;
	}
	if (fixed && stride <= MOST_STRIDE)
		store->stride = stride;
	store->put = MakeSingleTupleTableSlot(store->desc, &TTSOpsVirtual);
	MemoryContextSwitchTo(old);
	return store;
}

void
parparaw_store_reset(PpStore *store)
{
	if (store->data)
		pfree(store->data);
	if (store->file)
		BufFileClose(store->file);
	store->data = NULL;
	store->file = NULL;
	store->used = store->size = 0;
}

/* Room for so many bytes in memory, behind those used. */
static char *
more_room(PpStore *store, Size need)
{
	if (store->used + need > store->size)
	{
		uint64		size = Max(store->used + need, 2 * store->size);

		size = Max(size, LEAST_BYTES);
		store->data = store->data ? repalloc_huge(store->data, size) :
			MemoryContextAllocExtended(store->context, size, MCXT_ALLOC_HUGE);
		store->size = size;
	}
	return store->data + store->used;
}

/* Makes a record of the row to be stored. */
static void
write_record(const PpStore *store, char *record)
{
	char	   *at = record + (store->ncolumns + 7) / 8;

	memset(record, 0, store->stride);
	for (int i = 0; i < store->ncolumns; i++)
	{
		Datum		value = store->put->tts_values[i];
		int			len = TupleDescAttr(store->desc, i)->attlen;

		/* the least significant bytes come first */
		if (store->put->tts_isnull[i])
			record[i / 8] |= 1 << i % 8;
		else
			memcpy(at, &value, len);
		at += len;
	}
}

/* The other way round.  Values look as if read from a tuple. */
static void
read_record(const PpStore *store, const char *record, TupleTableSlot *slot)
{
	const char *at = record + (store->ncolumns + 7) / 8;

	for (int i = 0; i < store->ncolumns; i++)
	{
		int			len = TupleDescAttr(store->desc, i)->attlen;

		slot->tts_isnull[i] = (record[i / 8] >> i % 8 & 1) != 0;
		switch (len)
		{
			case 1:
				slot->tts_values[i] = CharGetDatum(*at);
				break;
			case 2:
				{
					int16		value;

					memcpy(&value, at, sizeof(value));
					slot->tts_values[i] = Int16GetDatum(value);
				}
				break;
			case 4:
				{
					int32		value;

					memcpy(&value, at, sizeof(value));
					slot->tts_values[i] = Int32GetDatum(value);
				}
				break;
			default:
				memcpy(&slot->tts_values[i], at, sizeof(Datum));
		}
		at += len;
	}
}

/*
 * The slot's values may go afterwards.  CurrentMemoryContext may get a copy of
 * the row, which the caller is to reset.
 */
uint64
parparaw_store_put(PpStore *store)
{
	uint64		at = store->used;

	if (store->stride > 0)
	{
		char		record[MOST_STRIDE];

		if (store->file)
		{
			write_record(store, record);
			BufFileWrite(store->file, record, store->stride);
		}
		else
			write_record(store, more_room(store, store->stride));
		store->used = at + store->stride;
	}
	else
	{
		MinimalTuple tuple = ExecCopySlotMinimalTuple(store->put);
		Size		need = MAXALIGN(tuple->t_len);

		if (store->file)
		{
			char		pad[MAXIMUM_ALIGNOF] = {0};

			BufFileWrite(store->file, tuple, tuple->t_len);
			if (need > tuple->t_len)
				BufFileWrite(store->file, pad, need - tuple->t_len);
		}
		else
			memcpy(more_room(store, need), tuple, tuple->t_len);
		store->used = at + need;
	}
	return at;
}

/* Reads a tuple from the file; valid until the next call. */
static MinimalTuple
read_tuple(PpStore *store, uint64 at)
{
	uint32		len;

	parparaw_file_seek(store->file, at);
	parparaw_file_read(store->file, &len, sizeof(len));
	if (len > store->tuple_size)
	{
		if (store->tuple)
			pfree(store->tuple);
		store->tuple = NULL;
		store->tuple_size = 0;
		store->tuple = MemoryContextAllocExtended(store->context, len, MCXT_ALLOC_HUGE);
		store->tuple_size = len;
	}
	memcpy(store->tuple, &len, sizeof(len));
	parparaw_file_read(store->file, store->tuple + sizeof(len), len - sizeof(len));
	return (MinimalTuple) store->tuple;
}

TupleTableSlot *
parparaw_store_slot(PpStore *store)
{
	return MakeSingleTupleTableSlot(store->desc,
									store->stride > 0 ? &TTSOpsVirtual : &TTSOpsMinimalTuple);
}

void
parparaw_store_get(PpStore *store, uint64 at, TupleTableSlot *slot)
{
	if (store->stride > 0)
	{
		char		record[MOST_STRIDE];

		if (store->file == NULL)
			read_record(store, store->data + at, slot);
		else
		{
			parparaw_file_seek(store->file, at);
			parparaw_file_read(store->file, record, store->stride);
			read_record(store, record, slot);
		}
	}
	else if (store->file == NULL)
	{
		ExecStoreMinimalTuple((MinimalTuple) (store->data + at), slot, false);
		slot_getallattrs(slot);
	}
	else
	{
		/* the next tuple that is read overwrites this one */
		MinimalTuple tuple = read_tuple(store, at);
		MinimalTuple copy = MemoryContextAllocExtended(store->context, tuple->t_len,
													   MCXT_ALLOC_HUGE);

		memcpy(copy, tuple, tuple->t_len);
		ExecStoreMinimalTuple(copy, slot, true);
		slot_getallattrs(slot);
	}
}

void
parparaw_store_spill(PpStore *store)
{
	MemoryContext old = MemoryContextSwitchTo(store->context);

	if (store->file == NULL)
	{
		store->file = BufFileCreateTemp(false);
		for (uint64 at = 0; at < store->used; at += SLICE)
		{
			CHECK_FOR_INTERRUPTS();
			BufFileWrite(store->file, store->data + at, Min(SLICE, store->used - at));
		}
		if (store->data)
			pfree(store->data);
		store->data = NULL;
		store->size = 0;
	}
	MemoryContextSwitchTo(old);
}
