/*-------------------------------------------------------------------------
 *
 * plan_private.h
 *		What planning knows of a table, shared by plan.c (scans) and
 *		aggregate.c (aggregates inside scans), and by nothing else.
 *
 * IDENTIFICATION
 *		src/scan/plan_private.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARPARAW_PLAN_PRIVATE_H
#define PARPARAW_PLAN_PRIVATE_H

#include "nodes/pathnodes.h"

#include "scan.h"

/* RelOptInfo.fdw_private of a foreign table */
typedef struct PpPlanState
{
	PpOptions  *options;
	double		pages;			/* size of the file in BLCKSZ units, at least 1 */
	double		tuples;			/* rows of the table */
	Bitmapset  *needed;			/* attribute numbers */
	double	   *value_cost;		/* of a value of each of them, by attribute number,
								 * in units of cpu_operator_cost */
	Bitmapset  *filtered;		/* those of them that filters look at */
	int			nfilters;		/* restrictions that the scan evaluates */
	double		passing;		/* rows that pass these */
	QualCost	others;			/* of the restrictions that it does not */
} PpPlanState;

/*
 * Does the scan evaluate a restriction of the table itself?  Not if that
 * could show values to a function before a security barrier has let them
 * pass, nor where rows must be counted that cannot be converted, or searched
 * for DEFAULT markers.
 */
extern bool parparaw_is_filter(RelOptInfo *baserel, RestrictInfo *rinfo);

/*
 * What it costs a scan, besides reading the file, to find all records, to
 * evaluate its filters, and to convert the given columns of the records that
 * pass them; in the planner's units, for one process.
 */
extern Cost parparaw_cost_of_scan(const PpPlanState *state, Bitmapset *needed);

/*
 * How many processes a scan is shared by, the leader counting for what is
 * left to it by the workers, as for the core's own scans.
 */
extern double parparaw_parallel_divisor(int workers);

/* The plan of an aggregating scan's path. */
extern ForeignScan *parparaw_aggregate_plan(ForeignPath *best_path, List *tlist,
											Plan *outer_plan);

#endif							/* PARPARAW_PLAN_PRIVATE_H */
