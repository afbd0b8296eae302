/*-------------------------------------------------------------------------
 *
 * plan.c
 *		Planning a foreign scan: which columns it needs, how large the table
 *		is, what reading it costs, and whether workers may do it.
 *
 * Owns RelOptInfo.fdw_private and the plan's fdw_private (see scan.h).  A
 * file may be absent, unreadable or something else than a file while a query
 * is planned; that is no error here, only a worse estimate, and nothing that
 * could wait (such as opening a FIFO) may happen.
 *
 * IDENTIFICATION
 *		src/scan/plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/heap.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "rewrite/rewriteHandler.h"
#include "storage/fd.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "../cuda_loader.h"
#include "../parse/json/json_range.h"
#include "plan_private.h"

/* How much of a file is looked at for an estimate of its rows. */
#define SAMPLE_BYTES	65536
#define SAMPLE_RECORDS	4096	/* of a batch */

/*
 * Costs, in units of cpu_operator_cost, of what a scan does itself.
 *
 * The planner compares scans with what the core's nodes do, so the scale is
 * theirs: for tables in memory, scans, sums and filters that the core
 * estimates at one unit (seq_page_cost) take about 2 microseconds, so an
 * operator (0.0025) takes 5 nanoseconds and a tuple (cpu_tuple_cost) 20.
 * Measured on that scale, with the vector instructions of recent processors:
 *
 * - finding the records takes 0.8 microseconds a page;
 * - converting a value takes 3 to 5 nanoseconds, and 2 more to hand it to the
 *   executor; an input function takes 25 to 70;
 * - a filter takes 1 nanosecond a record.
 *
 * A row returned to the executor takes 15 to 20 nanoseconds, which is what
 * cpu_tuple_cost says.
 *
 * In JSON all is looked at and checked, whatever is wanted: that takes 1.5
 * microseconds a page and 13 nanoseconds a record; converting a value takes 9
 * to 13, since it has to be found and its record's shape may be any.  Values
 * that contain others take 100 nanoseconds and more, jsonb 150 to 340.
 */
#define COST_OF_PAGE		150.0
#define COST_OF_VALUE		0.8
#define COST_OF_DEFERRED	10.0
#define COST_OF_FILTER		0.2
#define COST_OF_DATUM		0.4

#define COST_OF_JSON_PAGE	300.0
#define COST_OF_JSON_RECORD 2.6
#define COST_OF_JSON_VALUE	2.4
#define COST_OF_CONTAINER	20.0
#define COST_OF_JSONB		50.0

static void find_filters(PlannerInfo *root, RelOptInfo *baserel);
static double cost_of_type(PpFormat format, Oid type);
static double cost_of_values(const PpPlanState *state, Bitmapset *columns);
static Bitmapset *needed_columns(PlannerInfo *root, RelOptInfo *baserel, Relation rel,
								 const PpOptions *options);
static bool is_file_column(Form_pg_attribute attr);
static int	count_file_columns(TupleDesc tupdesc);
static double estimate_tuples(RelOptInfo *baserel, TupleDesc tupdesc,
							  const PpOptions *options, double bytes,
							  double pages);
static bool sample_tuples(const PpOptions *options, int nfields, double bytes,
						  double *tuples);
static char *read_prefix(const char *filename, size_t *len);
static bool count_records(const PpOptions *options, int nfields,
						  const char *text, size_t len, bool whole,
						  double bytes, double *tuples);
static bool count_lines(const char *text, size_t len, bool whole, double bytes,
						double *tuples);
static bool count_separators(const char *text, size_t len, bool whole, double bytes,
							 double *tuples);
static bool is_parallel_safe_type(Oid type);
static bool has_safe_attributes(Oid type);
static bool is_safe_expression(Node *expr);
static bool has_safe_checks(Oid domain);
static void *sample_alloc(void *ctx, size_t size);
static void sample_release(void *ctx, void *ptr);

/*
 * Estimates the number of rows in the table and of those that pass the
 * restrictions.
 */
void
parparawGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel,
						  Oid foreigntableid)
{
	PpPlanState *state = (PpPlanState *) palloc0(sizeof(PpPlanState));
	PpOptions  *options = parparaw_get_options(foreigntableid);
	Relation	rel;
	TupleDesc	tupdesc;
	struct stat st;
	double		bytes;
	int			attnum = -1;

	/* no size is known of a program or a pipe: take that of a small file */
	if (!options->is_program &&
		stat(options->filename, &st) == 0 && S_ISREG(st.st_mode))
		bytes = (double) st.st_size;
	else
		bytes = 10.0 * BLCKSZ;

	/* the planner holds a lock on the table */
	rel = table_open(foreigntableid, NoLock);
	tupdesc = RelationGetDescr(rel);

	state->options = options;
	state->pages = Max(ceil(bytes / BLCKSZ), 1.0);
	state->tuples = clamp_row_est(estimate_tuples(baserel, tupdesc, options,
												  bytes, state->pages));
	state->needed = needed_columns(root, baserel, rel, options);
	state->value_cost = (double *) palloc0((tupdesc->natts + 1) * sizeof(double));
	while ((attnum = bms_next_member(state->needed, attnum)) >= 0)
		state->value_cost[attnum] = cost_of_type(options->format,
												 TupleDescAttr(tupdesc, attnum - 1)->atttypid);

	table_close(rel, NoLock);

	baserel->fdw_private = state;

	/* estimates of distinct values scale with these */
	baserel->pages = (BlockNumber) Min(state->pages, (double) MaxBlockNumber);
	baserel->tuples = state->tuples;
	baserel->rows = clamp_row_est(state->tuples *
								  clauselist_selectivity(root,
														 baserel->baserestrictinfo,
														 0,
														 JOIN_INNER,
														 NULL));
	find_filters(root, baserel);
}

/*
 * Which restrictions does the scan evaluate, and how many rows pass them?
 */
static void
find_filters(PlannerInfo *root, RelOptInfo *baserel)
{
	PpPlanState *state = (PpPlanState *) baserel->fdw_private;
	List	   *filters = NIL;
	List	   *others = NIL;
	Bitmapset  *used = NULL;
	int			member = -1;
	ListCell   *lc;

	foreach(lc, baserel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (parparaw_is_filter(baserel, rinfo))
		{
			filters = lappend(filters, rinfo);
			pull_varattnos((Node *) rinfo->clause, baserel->relid, &used);
		}
		else
			others = lappend(others, rinfo);
	}
	while ((member = bms_next_member(used, member)) >= 0)
		state->filtered = bms_add_member(state->filtered,
										 member + FirstLowInvalidHeapAttributeNumber);
	state->nfilters = list_length(filters);
	state->passing = clamp_row_est(state->tuples *
								   clauselist_selectivity(root, filters, 0,
														  JOIN_INNER, NULL));
	cost_qual_eval(&state->others, others, root);
}

/* Of a value of a type, in units of cpu_operator_cost. */
static double
cost_of_type(PpFormat format, Oid type)
{
	if (format == PP_FORMAT_CSV)
		return parparaw_native_type(type) != PP_DEFER ? COST_OF_VALUE : COST_OF_DEFERRED;

	if (parparaw_json_type(type) != PP_DEFER)
		return COST_OF_JSON_VALUE;
	type = getBaseType(type);
	if (type == JSONBOID)
		return COST_OF_JSONB;
	if (OidIsValid(get_element_type(type)) || get_typtype(type) == TYPTYPE_COMPOSITE)
		return COST_OF_CONTAINER;
	return COST_OF_DEFERRED;
}

/* Of a record's values in these columns. */
static double
cost_of_values(const PpPlanState *state, Bitmapset *columns)
{
	double		cost = 0;
	int			attnum = -1;

	while ((attnum = bms_next_member(columns, attnum)) >= 0)
		cost += state->value_cost[attnum];
	return cost * cpu_operator_cost;
}

Cost
parparaw_cost_of_scan(const PpPlanState *state, Bitmapset *needed)
{
	Bitmapset  *late = bms_difference(needed, state->filtered);
	bool		json = state->options->format != PP_FORMAT_CSV;
	Cost		cost;

	/* values that no filter looks at are converted if all filters are passed */
	cost = (state->pages * (json ? COST_OF_JSON_PAGE : COST_OF_PAGE) +
			state->tuples * (json ? COST_OF_JSON_RECORD : 0.0)) * cpu_operator_cost +
		state->tuples * (cost_of_values(state, state->filtered) +
						 state->nfilters * COST_OF_FILTER * cpu_operator_cost) +
		state->passing * cost_of_values(state, late);
	bms_free(late);
	return cost;
}

/*
 * Two ways to read the table: from the start to the end, and as one of several
 * processes that share the file.  No join clause is pushed down, but a LATERAL
 * reference in the target list parameterizes the path all the same.
 */
void
parparawGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel,
						Oid foreigntableid)
{
	PpPlanState *state = (PpPlanState *) baserel->fdw_private;
	List	   *columns = NIL;
	int			attnum = -1;
	Cost		startup_cost;
	Cost		read_cost;
	Cost		run_cost;
	ForeignPath *path;
	int			workers;

	while ((attnum = bms_next_member(state->needed, attnum)) >= 0)
		columns = lappend_int(columns, attnum);

	/*
	 * Pages are read in sequence, like a table's.  Records that pass the
	 * filters are paid for like tuples, and the other restrictions are
	 * evaluated on them.
	 */
	startup_cost = baserel->baserestrictcost.startup +
		baserel->reltarget->cost.startup;
	read_cost = state->pages * seq_page_cost;
	run_cost = parparaw_cost_of_scan(state, state->needed) +
		state->passing * (cpu_tuple_cost +
						  bms_num_members(state->needed) * COST_OF_DATUM * cpu_operator_cost +
						  state->others.per_tuple) +
		baserel->rows * baserel->reltarget->cost.per_tuple;

	path = pp_create_foreignscan_path(root, baserel,
									  baserel->rows,
									  startup_cost,
									  startup_cost + read_cost + run_cost,
									  NIL,	/* a file has no known order */
									  baserel->lateral_relids,
									  list_make1(columns));

	/* several scans of all of it would each tell of the rows they skip */
	if (state->options->on_error_ignore)
		path->path.parallel_safe = false;
	add_path(baserel, (Path *) path);

	if (!baserel->consider_parallel || !bms_is_empty(baserel->lateral_relids) ||
		!parparaw_can_share(state->options))
		return;
	workers = compute_parallel_worker(baserel, state->pages, -1,
									  max_parallel_workers_per_gather);
	if (workers > 0)
	{
		double		divisor = parparaw_parallel_divisor(workers);

		path = pp_create_foreignscan_path(root, baserel,
										  clamp_row_est(baserel->rows / divisor),
										  startup_cost,
										  startup_cost + read_cost + run_cost / divisor,
										  NIL, NULL, list_make1(columns));
		path->path.parallel_aware = true;
		path->path.parallel_workers = workers;
		add_partial_path(baserel, (Path *) path);
	}
}

double
parparaw_parallel_divisor(int workers)
{
	double		leader = 1.0 - 0.3 * workers;

	return workers + (parallel_leader_participation && leader > 0 ? leader : 0);
}

bool
parparaw_is_filter(RelOptInfo *baserel, RestrictInfo *rinfo)
{
	PpPlanState *state = (PpPlanState *) baserel->fdw_private;

	return parparaw_enable_filter_pushdown &&
		!state->options->on_error_ignore && !state->options->default_print &&
		(rinfo->security_level <= baserel->baserestrict_min_security ||
		 rinfo->leakproof) &&
		parparaw_can_filter(rinfo->clause, baserel->relid, state->needed);
}

/*
 * The plan node.  Restrictions that the engine can evaluate exactly are given
 * to it, as the node's recheck quals.  All others are the executor's to check;
 * those without a variable become a gating Result above, by the core.
 */
ForeignScan *
parparawGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel,
					   Oid foreigntableid, ForeignPath *best_path,
					   List *tlist, List *scan_clauses, Plan *outer_plan)
{
	List	   *filters = NIL;
	List	   *others = NIL;
	ListCell   *lc;

	if (IS_UPPER_REL(baserel))
		return parparaw_aggregate_plan(best_path, tlist, outer_plan);

	foreach(lc, scan_clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (rinfo->pseudoconstant)
			continue;
		if (parparaw_is_filter(baserel, rinfo))
			filters = lappend(filters, rinfo->clause);
		else
			others = lappend(others, rinfo->clause);
	}

	return make_foreignscan(tlist,
							others,
							baserel->relid,
							NIL,	/* no expressions to evaluate */
							best_path->fdw_private,
							NIL,	/* rows are the table's */
							filters,
							outer_plan);
}

/*
 * May a worker run the scan, or a part of it?
 *
 * A file reads the same in every process.  A program or a pipe does not.
 * Values of types without a native conversion are given to input functions,
 * which must be safe then; so must the defaults that a DEFAULT marker calls
 * for.
 *
 * Where rows that fail to convert are left out, a worker may only share the
 * scan, as else each would tell of the same rows; and where no soft errors
 * are, values that are handed over take a subtransaction, which no parallel
 * query may start.
 */
bool
parparawIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel,
								  RangeTblEntry *rte)
{
	PpOptions  *options = parparaw_get_options(rte->relid);
	Relation	relation;
	Bitmapset  *needed;
	int			attnum = -1;
	bool		safe = true;

	/* a device is the leader's; "auto" has workers use the CPU */
	if (parparaw_backend == PP_USE_CUDA)
		return false;
	if (options->is_program || !parparaw_is_regular_file(options->filename) ||
		(options->on_error_ignore && !parparaw_can_share(options)))
		return false;

	relation = table_open(rte->relid, NoLock);
	needed = needed_columns(root, rel, relation, options);
	while (safe && (attnum = bms_next_member(needed, attnum)) >= 0)
	{
		Form_pg_attribute attr = TupleDescAttr(RelationGetDescr(relation), attnum - 1);

		safe = is_parallel_safe_type(attr->atttypid) &&
			(!options->on_error_ignore ||
			 (options->format != PP_FORMAT_CSV ? parparaw_json_catchable(attr->atttypid) :
			  PP_SOFT_ERRORS || parparaw_native_type(attr->atttypid) != PP_DEFER));
		if (safe && options->default_print && attr->atthasdef)
			safe = is_safe_expression(build_column_default(relation, attnum));
	}
	table_close(relation, NoLock);

	return safe;
}

/*
 * The attribute numbers of the file's columns that the query looks at, in its
 * output or in restrictions, as file_fdw finds them.  A whole-row reference
 * looks at all of them.
 *
 * If rows that fail to convert are to be left out, a query that looks at no
 * column converts all of them, so that it counts the rows that others see.
 */
static Bitmapset *
needed_columns(PlannerInfo *root, RelOptInfo *baserel, Relation rel,
			   const PpOptions *options)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	Bitmapset  *used = NULL;
	Bitmapset  *all = NULL;
	Bitmapset  *needed = NULL;
	ListCell   *lc;

	pull_varattnos((Node *) baserel->reltarget->exprs, baserel->relid, &used);
	foreach(lc, baserel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause,
					   baserel->relid, &used);

	/*
	 * Of the system columns, records of a file have their table's identity
	 * only.  A row mark may ask for others on behalf of a parent, though, and
	 * then looks at the whole row instead.
	 */
	for (AttrNumber attnum = FirstLowInvalidHeapAttributeNumber + 1; attnum < 0; attnum++)
	{
		if (attnum != TableOidAttributeNumber && root->rowMarks == NIL &&
			bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, used))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("foreign table \"%s\" has no system column \"%s\"",
							RelationGetRelationName(rel),
							NameStr(SystemAttributeDefinition(attnum)->attname)),
					 errdetail("Of the system columns, it has \"tableoid\" only.")));
	}

	for (AttrNumber attnum = 1; attnum <= tupdesc->natts; attnum++)
	{
		if (!is_file_column(TupleDescAttr(tupdesc, attnum - 1)))
			continue;
		all = bms_add_member(all, attnum);
		if (bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, used))
			needed = bms_add_member(needed, attnum);
	}

	if (bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, used))
		return all;
	if (needed == NULL && options->on_error_ignore)
		return all;
	return needed;
}

/* Generated columns are not in the file; a scan returns them as NULL. */
static bool
is_file_column(Form_pg_attribute attr)
{
	return !attr->attisdropped && attr->attgenerated == '\0';
}

static int
count_file_columns(TupleDesc tupdesc)
{
	int			n = 0;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (is_file_column(TupleDescAttr(tupdesc, i)))
			n++;
	}
	return n;
}

/*
 * The number of rows in a table whose file has the given size.
 */
static double
estimate_tuples(RelOptInfo *baserel, TupleDesc tupdesc,
				const PpOptions *options, double bytes, double pages)
{
	double		tuples;
	int			width;

	/* ANALYZE has counted them, and the file may have grown since */
	if (baserel->tuples > 0 && baserel->pages > 0)
		return baserel->tuples / baserel->pages * pages;

	if (!options->is_program &&
		sample_tuples(options, count_file_columns(tupdesc), bytes, &tuples))
		return tuples;

	/* all that is left is the width of the columns that are looked at */
	width = MAXALIGN(baserel->reltarget->width) + MAXALIGN(SizeofHeapTupleHeader);
	return bytes / width;
}

/*
 * Estimates the number of rows by those at the start of the file.  Answers
 * false if that cannot be done; raises no error.
 */
static bool
sample_tuples(const PpOptions *options, int nfields, double bytes, double *tuples)
{
	MemoryContext context;
	MemoryContext old;
	char	   *text;
	size_t		len;
	bool		done = false;

	context = AllocSetContextCreate(CurrentMemoryContext, "parparaw_fdw sample",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);

	text = read_prefix(options->filename, &len);
	if (text && options->format == PP_FORMAT_NDJSON)
		done = count_lines(text, len, len < SAMPLE_BYTES, bytes, tuples);
	else if (text && options->format == PP_FORMAT_JSON)
		done = count_separators(text, len, len < SAMPLE_BYTES, bytes, tuples);
	else if (text)
		done = count_records(options, nfields, text, len, len < SAMPLE_BYTES,
							 bytes, tuples);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);

	return done;
}

/*
 * The first SAMPLE_BYTES of a regular file, all of it if it is shorter, or
 * NULL.  The result is palloc'd.
 */
static char *
read_prefix(const char *filename, size_t *len)
{
	struct stat st;
	char	   *text = NULL;
	size_t		n = 0;
	int			fd;

	/*
	 * Opening something else than a file can wait for ever or have effects,
	 * so look first; O_NONBLOCK is for the case that it changes in between.
	 */
	if (stat(filename, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	fd = OpenTransientFile(filename, O_RDONLY | O_NONBLOCK | PG_BINARY);
	if (fd < 0)
		return NULL;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
	{
		ssize_t		got;

		text = palloc(SAMPLE_BYTES);
		do
		{
			got = read(fd, text + n, SAMPLE_BYTES - n);
			if (got > 0)
				n += got;
		} while (n < SAMPLE_BYTES && (got > 0 || (got < 0 && errno == EINTR)));

		if (got < 0)
		{
			pfree(text);
			text = NULL;
		}
	}
	CloseTransientFile(fd);

	*len = n;
	return text;
}

/*
 * Counts the records in the first len bytes of a file and scales their number
 * to its size; if those bytes are the whole of it, the number is exact.
 * Encodings are of no interest here.
 */
static bool
count_records(const PpOptions *options, int nfields, const char *text,
			  size_t len, bool whole, double bytes, double *tuples)
{
	PpStreamSpec spec = {0};
	PpStream   *stream;
	size_t		given = 0;
	double		records = 0;	/* all */
	double		measured = 0;	/* those whose length is known */
	double		measured_bytes = 0;
	bool		at_end = false; /* of the data */
	bool		cut_off = false;	/* the sample ends first */
	bool		failed = false;

	spec.backend = &pp_backend_scalar;
	spec.scan.struct_size = sizeof(PpScanSpec);
	spec.scan.dialect.delimiter = (uint8_t) options->delimiter;
	spec.scan.dialect.quote = (uint8_t) options->quote;
	spec.scan.dialect.escape = (uint8_t) options->escape;
	spec.scan.dialect.end_marker = PP_COPY_HAS_END_MARKER;
	spec.scan.nfields = nfields;
	spec.scan.null_text = (const uint8_t *) options->null_print;
	spec.scan.null_len = strlen(options->null_print);
	spec.scan.env.charset = PP_CHARSET_SINGLE;
	spec.scan.max_records = SAMPLE_RECORDS;
	spec.scan.alloc.alloc = sample_alloc;
	spec.scan.alloc.release = sample_release;
	spec.scan.alloc.ctx = CurrentMemoryContext;
	spec.header = options->header != PP_HEADER_FALSE;
	spec.partition_size = SAMPLE_BYTES;
	spec.verify = PP_VERIFY_NUL;

	stream = pp_stream_open(&spec);
	if (stream == NULL)
		return false;

	while (!at_end && !cut_off && !failed)
	{
		switch (pp_stream_step(stream))
		{
			case PP_STEP_AGAIN:
			case PP_STEP_HEADER:
				break;

			case PP_STEP_READ:
				{
					const PpRequest *request = pp_stream_request(stream);
					size_t		n = Min(request->want, len - given);

					/* the record that the sample cuts off is not counted */
					if (n == 0 && !whole)
					{
						cut_off = true;
						break;
					}
					memcpy(request->dst, text + given, n);
					given += n;
					pp_stream_fed(stream, n, whole && given == len);
					break;
				}

			case PP_STEP_BATCH:
				{
					const PpBatch *batch = pp_stream_batch(stream);

					records += batch->nrecords;
					if (batch->nrecords > 0)
					{
						size_t		nends = (size_t) batch->nrecords * batch->width;

						/* from line end to line end, modulo 2^32 as end[-1] is */
						measured += batch->nrecords;
						measured_bytes += (uint32_t) (batch->end[nends - 1] - batch->end[-1]);
					}
					break;
				}

			case PP_STEP_BAD_RECORD:
				if (pp_stream_record(stream)->bad == PP_BAD_FIELDS)
					records += 1;
				else
					failed = true;
				break;

			case PP_STEP_END:
				at_end = true;
				break;

			case PP_STEP_TRANSCODE:
			case PP_STEP_VERIFY:
			case PP_STEP_LAYOUT:
			case PP_STEP_EFFECT:
			case PP_STEP_FAILED:
				failed = true;
				break;
		}
	}
	pp_stream_close(stream);

	if (at_end)
		*tuples = records;
	else if (measured > 0)
		*tuples = bytes / (measured_bytes / measured);
	else if (cut_off)
		*tuples = bytes / ((double) len / Max(records, 1.0));
	else
		return false;
	return true;
}

/* The same of lines of JSON, of which those that are not blank are records. */
static bool
count_lines(const char *text, size_t len, bool whole, double bytes, double *tuples)
{
	double		records = 0;
	size_t		measured = 0;	/* end of the last whole line */
	bool		blank = true;

	for (size_t i = 0; i < len; i++)
	{
		blank = blank && pp_json_space((uint8) text[i]);
		if (text[i] == '\n')
		{
			records += !blank;
			blank = true;
			measured = i + 1;
		}
	}
	if (whole)
		*tuples = records + !blank;
	else
		*tuples = records > 0 ? bytes / (measured / records) : bytes / len;
	return true;
}

/*
 * The same of documents.  Behind each record stands a separator, but for
 * outermost scalars; that behind an outermost array's last element stands for
 * none if the array is empty.
 */
static bool
count_separators(const char *text, size_t len, bool whole, double bytes, double *tuples)
{
	const PpRangeState start = PP_RANGE_START;
	PpRangeState state = start;
	double		records = 0;
	size_t		measured = 0;	/* end of the last record */
	size_t		pos = 0;
	size_t		at;

	while ((at = pp_json_separator((const uint8 *) text, &pos, len, &state)) > 0)
	{
		if (state.behind != '[')
		{
			records++;
			measured = at;
		}
		pos = at;
	}
	if (whole)
		*tuples = records;
	else
		*tuples = records > 0 ? bytes / (measured / records) : bytes / len;
	return true;
}

/*
 * Can values of the type be read in a worker?  The engine's own conversions
 * can.  Input functions of containers call those of what they contain, and
 * those of domains evaluate the checks; being marked for the worst case, they
 * are not asked themselves.
 */
static bool
is_parallel_safe_type(Oid type)
{
	Oid			element;
	Oid			infunc;
	Oid			ioparam;

	check_stack_depth();

	if (parparaw_native_type(type) != PP_DEFER)
		return true;

	switch (get_typtype(type))
	{
		case TYPTYPE_BASE:
			element = get_element_type(type);
			if (OidIsValid(element) && !is_parallel_safe_type(element))
				return false;
			break;
		case TYPTYPE_ENUM:
			break;
		case TYPTYPE_RANGE:
			if (!is_parallel_safe_type(get_range_subtype(type)))
				return false;
			break;
		case TYPTYPE_MULTIRANGE:
			if (!is_parallel_safe_type(get_multirange_range(type)))
				return false;
			break;
		case TYPTYPE_DOMAIN:
			return is_parallel_safe_type(getBaseType(type)) &&
				has_safe_checks(type);
		case TYPTYPE_COMPOSITE:
			if (!has_safe_attributes(type))
				return false;
			break;
		default:
			return false;
	}

	getTypeInputInfo(type, &infunc, &ioparam);
	return func_parallel(infunc) == PROPARALLEL_SAFE;
}

/* Can values of all attributes of a composite type be read in a worker? */
static bool
has_safe_attributes(Oid type)
{
	TupleDesc	desc = lookup_rowtype_tupdesc_copy(type, -1);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (!attr->attisdropped && !is_parallel_safe_type(attr->atttypid))
			return false;
	}
	return true;
}

/*
 * Is an expression parallel safe that is not a part of the query?  Of those
 * that are, the planner may have formed an opinion already, and is_parallel_safe()
 * answers that.
 */
static bool
is_safe_expression(Node *expr)
{
	Query	   *query = makeNode(Query);

	query->commandType = CMD_SELECT;
	query->targetList = list_make1(makeTargetEntry((Expr *) expr, 1, NULL, false));
	return max_parallel_hazard(query) == PROPARALLEL_SAFE;
}

/* Are all checks of a domain, and of those it is made of, parallel safe? */
static bool
has_safe_checks(Oid domain)
{
	/* it has to live as long as the memory context */
	DomainConstraintRef *ref = palloc0(sizeof(DomainConstraintRef));
	ListCell   *lc;

	InitDomainConstraintRef(domain, ref, CurrentMemoryContext, false);
	foreach(lc, ref->constraints)
	{
		DomainConstraintState *check = (DomainConstraintState *) lfirst(lc);

		if (check->constrainttype == DOM_CONSTRAINT_CHECK &&
			!is_safe_expression((Node *) check->check_expr))
			return false;
	}
	return true;
}

/* The engine's memory: it expects NULL, not an error, when there is none. */
static void *
sample_alloc(void *ctx, size_t size)
{
	if (!AllocHugeSizeIsValid(size))
		return NULL;
	return MemoryContextAllocExtended((MemoryContext) ctx, size,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

static void
sample_release(void *ctx, void *ptr)
{
	if (ptr)
		pfree(ptr);
}
