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
	int			ndeferred;		/* needed columns without a native conversion */
} PpPlanState;

/*
 * Costs, in units of cpu_operator_cost.  Finding the structure of a file
 * costs by the byte, whatever the columns; what it finds costs little per
 * record, and per value as much as a cheap function for the built-in types,
 * several times that for types whose input function is called.
 */
#define COST_OF_PAGE		400.0
#define COST_OF_VALUE		2.0
#define COST_OF_DEFERRED	8.0

/*
 * Does the scan evaluate a restriction of the table itself?  Not if that
 * could show values to a function before a security barrier has let them
 * pass, nor where rows must be counted that cannot be converted, or searched
 * for DEFAULT markers.
 */
extern bool parparaw_is_filter(RelOptInfo *baserel, RestrictInfo *rinfo);

/*
 * How many processes a scan is shared by, the leader counting for what is
 * left to it by the workers, as for the core's own scans.
 */
extern double parparaw_parallel_divisor(int workers);

/* The plan of an aggregating scan's path. */
extern ForeignScan *parparaw_aggregate_plan(ForeignPath *best_path, List *tlist,
											Plan *outer_plan);

#endif							/* PARPARAW_PLAN_PRIVATE_H */
