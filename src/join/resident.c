/*-------------------------------------------------------------------------
 *
 * resident.c
 *		Relations whose rows stay on the device that parses them.
 *
 * Where a join is going to run on a device, and a child is a scan of one of our
 * own foreign tables, the device that parses the file keeps the keys, and the
 * join takes them from there: nothing but records with a value that the device
 * does not know comes to the host.  Whether the scan does run on a device is its
 * own affair; if it does not, all rows are the host's, as ever.
 *
 * Rows are taken to the host where the engine has to join after all.  If a
 * device stops in the middle of a scan, or loses its memory, the children whose
 * rows it had are read anew, without any of this; so only of what can be read
 * twice, which regular files are, are rows left there.
 *
 * What is on the device goes with the context of the children's rows.
 *
 * IDENTIFICATION
 *		src/join/resident.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "joinexec.h"

/* Rows that are taken to the host at a time. */
#define ROWS_FETCHED	4096

/* A relation of the device's, which the context closes, if nobody has before. */
typedef struct PpResident
{
	const PpCudaJoinTable *table;
	PpCudaRelation *relation;
	MemoryContextCallback callback;
} PpResident;

StaticAssertDecl((int) PP_READ_UINT8 == (int) PP_SINK_UINT8 &&
				 (int) PP_READ_INT16 == (int) PP_SINK_INT16 &&
				 (int) PP_READ_INT32 == (int) PP_SINK_INT32 &&
				 (int) PP_READ_UINT32 == (int) PP_SINK_UINT32 &&
				 (int) PP_READ_INT64 == (int) PP_SINK_INT64 &&
				 (int) PP_READ_UINT64 == (int) PP_SINK_UINT64,
				 "keys of relations and of sinks differ");

/* Frees it while a session lives; also a callback. */
static void
close_relation(void *arg)
{
	PpResident *resident = arg;
	PpCudaRelation *relation = resident->relation;
	sigset_t	saved;

	resident->relation = NULL;

	/* at the end of the session the library has freed it */
	if (relation == NULL || !parparaw_cuda_let_go())
		return;
	parparaw_cuda_block(&saved);
	resident->table->relation_close(relation);
	parparaw_cuda_unblock(&saved);
}

/* Is every relation of the child's made of numbers only? */
static bool
is_eligible(const PpJoinState *state, const PpChild *child)
{
	if (child->columns == NULL || state->rows)
		return false;
	for (int r = 0; r < child->nrelations; r++)
		for (int i = 0; i < 2; i++)
			if (child->relations[r]->side[i].read == PP_READ_DOMAIN)
				return false;
	return true;
}

/* False: the device has no room for it, or no wish. */
static bool
open_relation(PpJoinState *state, const PpCudaJoinTable *table, PpRelation *relation)
{
	PpResident *resident = MemoryContextAllocZero(state->data_context, sizeof(PpResident));
	sigset_t	saved;

	parparaw_cuda_block(&saved);
	relation->resident = table->relation_open();
	parparaw_cuda_unblock(&saved);
	if (relation->resident == NULL)
		return false;
	parparaw_cuda_hold();
	resident->table = table;
	resident->relation = relation->resident;
	resident->callback.func = close_relation;
	resident->callback.arg = resident;
	MemoryContextRegisterResetCallback(state->data_context, &resident->callback);
	relation->keeper = resident;
	return true;
}

void
parparaw_resident_begin(PpJoinState *state)
{
	const PpCudaLibrary *library = NULL;
	PpCudaProblem problem;

	if (state->unkept || !parparaw_join_wants_device(state))
		return;
	for (int c = 0; c < state->nchildren; c++)
	{
		const PpChild *child = &state->children[c];

		if (!is_eligible(state, child))
			continue;
		if (library == NULL)
			library = parparaw_cuda_start(&problem);

		/* that it does not start is told where the join itself is to run there */
		if (library == NULL || library->join == NULL)
			return;
		for (int r = 0; r < child->nrelations; r++)
			if (!open_relation(state, library->join, child->relations[r]))
			{
				/* one of a child's alone is none */
				while (r-- > 0)
					child->relations[r]->resident = NULL;
				return;
			}
	}
}

void
parparaw_resident_sink(PpJoinState *state, PpChild *child, PpScan *scan)
{
	PpKeySink  *sink;

	if (child->relations[0]->resident == NULL)
		return;
	sink = MemoryContextAlloc(state->data_context, child->nrelations * sizeof(PpKeySink));
	for (int r = 0; r < child->nrelations; r++)
	{
		const PpRelation *relation = child->relations[r];

		sink[r].relation = relation->resident;
		for (int i = 0; i < 2; i++)
		{
			sink[r].column[i] = (uint32)
				parparaw_scan_column(scan, parparaw_child_column(child, relation->side[i].resno));
			sink[r].kind[i] = (uint8) relation->side[i].read;
		}
	}
	if (!parparaw_scan_set_sinks(scan, sink, child->nrelations))
		for (int r = 0; r < child->nrelations; r++)
			child->relations[r]->resident = NULL;
}

void
parparaw_resident_unsink(PpJoinState *state, PpChild *child, PpScan *scan)
{
	if (child->relations[0]->resident)
		(void) parparaw_scan_set_sinks(scan, NULL, 0);
}

bool
parparaw_resident_read(PpJoinState *state, PpChild *child, PpScan *scan, uint64 ntaken)
{
	bool		stopped = strncmp(parparaw_scan_backend(scan), "cuda", 4) != 0;

	if (child->relations[0]->resident == NULL)
		return true;
	if (stopped)
		/* records of a batch that never came may be there */
		for (int r = 0; r < child->nrelations; r++)
			child->relations[r]->resident = NULL;
	return !stopped || ntaken == 0;
}

/* Keys of the host's side go behind those that are there; then their number is known. */
static bool
complete(PpJoinState *state, PpRelation *relation, const PpCudaJoinTable *table)
{
	sigset_t	saved;
	bool		ok;

	parparaw_cuda_block(&saved);
	ok = table->relation_append(relation->resident, relation->pairs, relation->nrows) &&
		table->relation_rows(relation->resident, &relation->nresident);
	parparaw_cuda_unblock(&saved);
	if (ok)
	{
		state->stats.device.kept += relation->nresident - relation->nrows;
		state->stats.device.info.h2d_bytes += 2 * sizeof(int64) * relation->nrows;
		relation->nrows = relation->limit = 0;
	}
	return ok;
}

bool
parparaw_resident_complete(PpJoinState *state, PpChild *child)
{
	PpCudaProblem problem;
	const PpCudaLibrary *library = NULL;

	for (int r = 0; r < child->nrelations; r++)
	{
		PpRelation *relation = child->relations[r];
		sigset_t	saved;
		bool		ok;

		if (relation->resident == NULL)
			continue;
		if (library == NULL)
			library = parparaw_cuda_start(&problem);
		if (library == NULL)
			return false;
		if (!state->spilled)
		{
			if (!complete(state, relation, library->join))
				return false;
			continue;
		}

		/* rows in files are joined there */
		parparaw_cuda_block(&saved);
		ok = library->join->relation_rows(relation->resident, &relation->nresident);
		parparaw_cuda_unblock(&saved);
		if (!ok)
			return false;
	}
	if (library != NULL)
		parparaw_column_let_go(child);
	return true;
}

bool
parparaw_resident_fetch(PpJoinState *state)
{
	PpCudaProblem problem;
	const PpCudaLibrary *library = NULL;
	int64	   *pairs = NULL;

	for (int r = 0; r < state->nrelations; r++)
	{
		PpRelation *relation = &state->relations[r];
		uint64		n = relation->nresident;

		if (relation->resident == NULL)
			continue;
		if (library == NULL)
			library = parparaw_cuda_start(&problem);
		if (library == NULL)
			return false;
		if (pairs == NULL)
			pairs = MemoryContextAlloc(state->data_context, ROWS_FETCHED * 2 * sizeof(int64));
		relation->nresident = 0;
		for (uint64 first = 0; first < n; first += ROWS_FETCHED)
		{
			uint64		some = Min(ROWS_FETCHED, n - first);
			sigset_t	saved;
			bool		ok;

			CHECK_FOR_INTERRUPTS();
			parparaw_cuda_block(&saved);
			ok = library->join->relation_fetch(relation->resident, first, some, pairs);
			parparaw_cuda_unblock(&saved);
			if (!ok)
				return false;
			for (uint64 i = 0; i < some;)
			{
				uint64		room;

				pp_relation_room(state, relation);
				room = Min(relation->limit - relation->nrows, some - i);
				memcpy(relation->pairs + 2 * relation->nrows, pairs + 2 * i,
					   room * 2 * sizeof(int64));
				relation->nrows += room;
				i += room;
			}
		}

		/* its memory stays the device's until the rows go */
		relation->resident = NULL;
	}
	if (pairs)
		pfree(pairs);
	return true;
}

bool
parparaw_resident_lost(const PpChild *child)
{
	for (int r = 0; r < child->nrelations; r++)
		if (child->relations[r]->resident)
			return true;
	return !child->complete;
}

void
parparaw_resident_drop(PpChild *child)
{
	for (int r = 0; r < child->nrelations; r++)
	{
		PpRelation *relation = child->relations[r];

		if (relation->keeper)
			close_relation(relation->keeper);
		relation->keeper = NULL;
		relation->resident = NULL;
		if (relation->file)
		{
			BufFileClose(relation->file);
			relation->file = BufFileCreateTemp(false);
		}
		relation->nrows = relation->nspilled = relation->nresident = relation->limit = 0;
	}
}
