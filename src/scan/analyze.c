/*-------------------------------------------------------------------------
 *
 * analyze.c
 *		Sampling a foreign table for ANALYZE.
 *
 * The sample is drawn over the whole file, by the reservoir method that
 * PostgreSQL uses for tables; rows outside the sample are stepped over and
 * not converted.  So a value that does not convert fails ANALYZE only if it
 * is drawn, while the structure of every record is checked.
 *
 * IDENTIFICATION
 *		src/scan/analyze.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/htup_details.h"
#include "commands/vacuum.h"
#include "utils/memutils.h"
#include "utils/sampling.h"

#include "scan.h"

/* Rows stepped over between two looks for interrupts and cost delays. */
#define SKIP_ROWS	1024

static int	acquire_sample_rows(Relation relation, int elevel,
								HeapTuple *rows, int targrows,
								double *totalrows, double *totaldeadrows);
static bool next_row(PpScan *scan, MemoryContext context,
					 Datum *values, bool *nulls);
static bool skip_rows(PpScan *scan, double n, double *totalrows);

/*
 * Can the table be analyzed?  Programs and pipes are not asked, as in
 * file_fdw: running or draining them may have effects, and what they say may
 * be different the next time.
 */
bool
parparawAnalyzeForeignTable(Relation relation, AcquireSampleRowsFunc *func,
							BlockNumber *totalpages)
{
	PpOptions  *options = parparaw_get_options(RelationGetRelid(relation));
	struct stat st;
	uint64		pages;

	if (options->is_program)
		return false;

	if (stat(options->filename, &st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", options->filename)));
	if (!S_ISREG(st.st_mode))
		return false;

	/* zero would mean "never analyzed" in pg_class */
	pages = ((uint64) st.st_size + BLCKSZ - 1) / BLCKSZ;
	*totalpages = (BlockNumber) Min(Max(pages, 1), (uint64) MaxBlockNumber);
	*func = acquire_sample_rows;
	return true;
}

/*
 * Draws up to targrows rows at random, as tuples in the current memory
 * context, and counts all rows.  Their order in the result is not that of the
 * file once rows have been replaced.
 *
 * Where rows that fail to convert are left out, every row is converted, since
 * only that tells which rows there are.
 */
static int
acquire_sample_rows(Relation relation, int elevel, HeapTuple *rows,
					int targrows, double *totalrows, double *totaldeadrows)
{
	PpOptions  *options = parparaw_get_options(RelationGetRelid(relation));
	TupleDesc	tupdesc = RelationGetDescr(relation);
	Datum	   *values = (Datum *) palloc(tupdesc->natts * sizeof(Datum));
	bool	   *nulls = (bool *) palloc(tupdesc->natts * sizeof(bool));
	Bitmapset  *columns = bms_add_range(NULL, 1, tupdesc->natts);
	bool		convert_all = options->on_error_ignore;
	ReservoirStateData reservoir;
	MemoryContext row_context;
	PpScan	   *scan;
	int			nrows = 0;

	Assert(targrows > 0);

	*totalrows = 0;
	*totaldeadrows = 0;

	row_context = AllocSetContextCreate(CurrentMemoryContext,
										"parparaw_fdw sample row",
										ALLOCSET_DEFAULT_SIZES);
	reservoir_init_selection_state(&reservoir, targrows);
	scan = parparaw_scan_begin(relation, options, columns, !convert_all);

	/* the first rows fill the reservoir ... */
	while (nrows < targrows && next_row(scan, row_context, values, nulls))
	{
		rows[nrows++] = heap_form_tuple(tupdesc, values, nulls);
		*totalrows += 1;
	}

	/* ... and any later row may take the place of one of them */
	while (nrows == targrows)
	{
		double		skip = reservoir_get_next_S(&reservoir, *totalrows, targrows);
		bool		found = true;
		int			k;

		if (convert_all)
		{
			for (; skip > 0 && found; skip -= 1)
			{
				found = next_row(scan, row_context, values, nulls);
				if (found)
					*totalrows += 1;
			}
		}
		else
			found = skip_rows(scan, skip, totalrows);

		if (!found || !next_row(scan, row_context, values, nulls))
			break;

		k = (int) (targrows * pp_reservoir_random_fract(&reservoir));
		Assert(k >= 0 && k < targrows);
		heap_freetuple(rows[k]);
		rows[k] = heap_form_tuple(tupdesc, values, nulls);
		*totalrows += 1;
	}

	parparaw_scan_end(scan);
	MemoryContextDelete(row_context);
	bms_free(columns);
	pfree(values);
	pfree(nulls);

	ereport(elevel,
			(errmsg("\"%s\": file contains %.0f rows; %d rows in sample",
					RelationGetRelationName(relation), *totalrows, nrows)));

	return nrows;
}

/*
 * The next row, with what it needs in the given context, which loses the row
 * before.  Answers false at the end.
 */
static bool
next_row(PpScan *scan, MemoryContext context, Datum *values, bool *nulls)
{
	MemoryContext old;
	bool		found;

	pp_analyze_delay_point();

	MemoryContextReset(context);
	old = MemoryContextSwitchTo(context);
	found = parparaw_scan_next(scan, values, nulls);
	MemoryContextSwitchTo(old);

	return found;
}

/*
 * Steps over n rows and counts them.  Answers false if the end came first.
 */
static bool
skip_rows(PpScan *scan, double n, double *totalrows)
{
	while (n > 0)
	{
		uint64		want = (uint64) Min(n, (double) SKIP_ROWS);
		uint64		got;

		pp_analyze_delay_point();

		got = parparaw_scan_skip(scan, want);
		if (got == 0)
			return false;
		n -= (double) got;
		*totalrows += (double) got;
	}
	return true;
}
