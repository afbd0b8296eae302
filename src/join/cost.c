/*-------------------------------------------------------------------------
 *
 * cost.c
 *		What joining a cyclic core costs.
 *
 * Reading and building come first: the children's costs, and for each of their
 * rows the numbering of its keys and its place in the tries.  Joining follows
 * leapfrog's order: one variable after another, each bound by intersecting the
 * lists of the atoms that connect it to those already bound.
 *
 * Lengths of lists are where skew matters: the list of a vertex that a row
 * leads to is longer than the average one, by as much as rows prefer vertices
 * with long lists.  Its expectation is the number of rows times the sum of
 * squares of the values' frequencies, which the lists of most common values
 * tell.  How many partial answers there are is bounded as Atserias, Grohe and
 * Marx do, with equal weights for all atoms.
 *
 * The number of rows that come out is the server's own estimate, as all paths
 * of a relation have to agree on it.
 *
 * IDENTIFICATION
 *		src/join/cost.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "core.h"

/*
 * In units of cpu_operator_cost, which by a sequential scan's time and cost is
 * about 8 nanoseconds: of a row's keys that are numbers, of those that are
 * not, of a row in a trie, of a step in a list when counting or making rows,
 * and of what a join needs however small it is.
 */
#define COST_OF_NUMBERS		2.5
#define COST_OF_VALUES		20.0
#define COST_OF_TRIE		1.5
#define COST_OF_COUNTING	0.4
#define COST_OF_STEP		1.0
#define COST_OF_JOIN		5000.0

/* Work that is worth another thread, in cost units. */
#define COST_OF_THREAD		8000.0

/* Bytes that a row, and a different key, take in memory, all in all. */
#define BYTES_PER_ROW		48.0
#define BYTES_PER_KEY		52.0

/*
 * If they do not fit, the join is made box by box: bytes that a row takes while
 * a box is built, and the cost of reading it for a box, in units as above.
 */
#define BYTES_PER_BOX_ROW	80.0
#define COST_OF_BOX_ROW		8.0

/* What is known about a column of an atom. */
typedef struct PpColumnStats
{
	double		distinct;
	double		average;		/* rows of a value */
	double		biased;			/* rows of a value that a row leads to */
} PpColumnStats;

static void
column_stats(PlannerInfo *root, Var *var, PpColumnStats *stats)
{
	RelOptInfo *rel = find_base_rel(root, var->varno);
	double		rows = Max(rel->rows, 1);
	VariableStatData vardata;
	AttStatsSlot slot;
	bool		isdefault;
	double		squares = 0;
	double		rest = 1;
	double		n;

	examine_variable(root, (Node *) var, 0, &vardata);
	n = get_variable_numdistinct(&vardata, &isdefault);
	stats->distinct = n = Max(Min(n, rows), 1);
	stats->average = rows / n;

	if (HeapTupleIsValid(vardata.statsTuple))
	{
		rest -= ((Form_pg_statistic) GETSTRUCT(vardata.statsTuple))->stanullfrac;
		if (get_attstatsslot(&slot, vardata.statsTuple, STATISTIC_KIND_MCV, InvalidOid,
							 ATTSTATSSLOT_NUMBERS))
		{
			for (int i = 0; i < slot.nnumbers; i++)
			{
				squares += (double) slot.numbers[i] * slot.numbers[i];
				rest -= slot.numbers[i];
			}
			n -= slot.nnumbers;
			free_attstatsslot(&slot);
		}
	}
	ReleaseVariableStats(vardata);
	rest = Max(rest, 0);
	stats->biased = Max(rows * (squares + rest * rest / Max(n, 1)), 1);
}

/* Partial answers over the bound variables are not more than this. */
static double
size_bound(PlannerInfo *root, const PpCore *core, const bool *bound)
{
	int			atoms_of[PP_JOIN_MAX_VARIABLES] = {0};
	int			least = INT_MAX;
	double		product = 1;

	for (int i = 0; i < core->natoms; i++)
	{
		const PpCoreAtom *atom = &core->atoms[i];

		if (!bound[atom->variable[0]] || !bound[atom->variable[1]])
			continue;
		atoms_of[atom->variable[0]]++;
		if (atom->variable[0] != atom->variable[1])
			atoms_of[atom->variable[1]]++;
	}
	for (int v = 0; v < core->nvariables; v++)
	{
		if (bound[v])
			least = Min(least, atoms_of[v]);
	}
	if (least == 0 || least == INT_MAX)
		return HUGE_VAL;
	for (int i = 0; i < core->natoms; i++)
	{
		const PpCoreAtom *atom = &core->atoms[i];

		if (bound[atom->variable[0]] && bound[atom->variable[1]])
			product *= pow(Max(core->children[atom->child].rows, 1), 1.0 / least);
	}
	return product;
}

/* Steps in lists that joining takes. */
static double
join_steps(PlannerInfo *root, const PpCore *core, PpColumnStats (*stats)[2])
{
	bool		bound[PP_JOIN_MAX_VARIABLES] = {false};
	double		answers = 1;
	double		steps = 0;

	for (int level = 0; level < core->nvariables; level++)
	{
		int			best = -1;
		int			best_lists = -1;
		double		best_shortest = 0;
		double		best_growth = 0;

		for (int v = 0; v < core->nvariables; v++)
		{
			int			lists = 0;
			double		shortest = HUGE_VAL;
			double		distinct = HUGE_VAL;
			double		growth = 1;

			if (bound[v])
				continue;
			for (int i = 0; i < core->natoms; i++)
			{
				const PpCoreAtom *atom = &core->atoms[i];
				int			k;
				double		length;

				if (atom->variable[0] != v && atom->variable[1] != v)
					continue;
				k = atom->variable[0] == v ? 0 : 1;
				distinct = Min(distinct, stats[i][k].distinct);
				if (!bound[atom->variable[1 - k]])
					continue;
				length = level == 1 ? stats[i][1 - k].average : stats[i][1 - k].biased;
				/* a row's list is no longer than there are values */
				length = Min(length, stats[i][k].distinct);
				growth *= lists == 0 ? length : Min(length / stats[i][k].distinct, 1);
				shortest = Min(shortest, length);
				lists++;
			}
			if (lists == 0)
				growth = shortest = distinct;
			if (best < 0 || lists > best_lists ||
				(lists == best_lists && shortest < best_shortest))
			{
				best = v;
				best_lists = lists;
				best_shortest = shortest;
				best_growth = growth;
			}
		}

		/* cliques of one relation are counted in the order of degrees */
		if (core->nchildren == 1)
			best_shortest = Min(best_shortest, sqrt(2 * core->children[0].rows));
		steps += answers * (best_shortest + 1);
		bound[best] = true;
		answers = Min(answers * best_growth, size_bound(root, core, bound));
	}
	return steps;
}

/*
 * Rows to be read for boxes, over all of them; 0 if everything fits memory.
 *
 * Each variable is cut into so many parts that the rows of all atoms that
 * belong to one part of both of their variables fit.  Aliases share nothing
 * then, and a row is read for all parts of the variables that it does not have.
 */
static double
box_rows(const PpCore *core, PpColumnStats (*stats)[2])
{
	double		budget = (double) pp_hash_memory_limit();
	double		bytes = 0;
	double		keys = 0;
	double		rows = 0;

	for (int i = 0; i < core->nchildren; i++)
		bytes += core->children[i].rows * BYTES_PER_ROW;
	for (int i = 0; i < core->natoms; i++)
	{
		rows += core->children[core->atoms[i].child].rows;
		keys = Max(keys, Max(stats[i][0].distinct, stats[i][1].distinct));
	}
	if (bytes + keys * BYTES_PER_KEY <= budget)
		return 0;
	return rows * pow(Max(sqrt(rows * BYTES_PER_BOX_ROW / budget), 1),
					  Max(core->nvariables - 2, 0));
}

/*
 * Costs of a core, whose rows number rows by the server's estimate (modes
 * COUNT and GROUPS: answers).  Scaled by parparaw.join_cost_factor.
 */
void
parparaw_core_cost(PlannerInfo *root, PpCore *core, PpJoinMode mode, double rows,
				   PpCoreCost *cost)
{
	PpColumnStats (*stats)[2];
	double		child_rows = 0;
	double		build = COST_OF_JOIN;
	double		values = 0;
	double		boxed;
	Cost		children = 0;
	Cost		run;
	int			threads = Min(max_parallel_workers, max_parallel_workers_per_gather) + 1;

	cost->disabled_nodes = 0;
	for (int v = 0; v < core->nvariables; v++)
	{
		PpKeyKind	kind = core->variables[v].key.kind;

		values += kind == PP_KEY_IMAGE || kind == PP_KEY_EQUAL;
	}
	values /= core->nvariables;

	for (int i = 0; i < core->nchildren; i++)
	{
		const PpCoreChild *child = &core->children[i];
		bool		forward = false;
		bool		backward = false;

		for (int a = 0; a < core->natoms; a++)
		{
			if (core->atoms[a].child != i)
				continue;
			if (core->atoms[a].variable[0] < core->atoms[a].variable[1])
				forward = true;
			else
				backward = true;
		}
		children += child->path->total_cost;
		cost->disabled_nodes += pp_path_disabled_nodes(child->path);
		build += child->rows * (COST_OF_NUMBERS + values * COST_OF_VALUES +
								(forward + backward) * COST_OF_TRIE);
		child_rows += child->rows;
	}

	stats = palloc(core->natoms * sizeof(*stats));
	for (int i = 0; i < core->natoms; i++)
	{
		for (int k = 0; k < 2; k++)
			column_stats(root, core->atoms[i].var[k], &stats[i][k]);
	}
	run = join_steps(root, core, stats) * cpu_operator_cost *
		(mode == PP_JOIN_COUNT && core->nresiduals == 0 ? COST_OF_COUNTING : COST_OF_STEP);

	/* rows that do not fit are written, and read once for each box they are in */
	boxed = box_rows(core, stats);
	if (boxed > 0)
		run += boxed * COST_OF_BOX_ROW * cpu_operator_cost +
			2 * seq_page_cost * ceil(child_rows * 2 * sizeof(int64) / BLCKSZ);
	pfree(stats);

	cost->threads = (int) Min(threads, 1 + (build * cpu_operator_cost + run) / COST_OF_THREAD);
	run /= cost->threads;

	if (mode == PP_JOIN_ROWS)
	{
		QualCost	qual_cost;

		cost_qual_eval(&qual_cost, core->quals, root);
		children += qual_cost.startup;
		run += rows * (cpu_tuple_cost + qual_cost.per_tuple);
	}
	else
		run += rows * cpu_tuple_cost;

	cost->startup = (children + build * cpu_operator_cost) * parparaw_join_cost_factor;
	if (mode != PP_JOIN_ROWS)
		cost->startup += run * parparaw_join_cost_factor;
	cost->total = (children + build * cpu_operator_cost + run) * parparaw_join_cost_factor;
	if (parparaw_join_cost_factor == 0)
		cost->disabled_nodes = 0;
}
