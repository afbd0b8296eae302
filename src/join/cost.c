/*-------------------------------------------------------------------------
 *
 * cost.c
 *		What joining a cyclic core costs.
 *
 * Reading and building come first: the children's costs, and for each of their
 * rows and keys the numbering and a place in the tries.  Joining follows
 * leapfrog's order: one variable after another, each bound by intersecting the
 * lists of the atoms that connect it to those already bound.  Cliques of one
 * relation are joined in the order of degrees, and squares counted by wedges.
 *
 * Lengths of lists are where skew matters: the list of a vertex that a row
 * leads to is longer than the average one, by as much as rows prefer vertices
 * with long lists.  Its expectation is the number of rows times the sum of
 * squares of the values' frequencies, which the lists of most common values
 * tell; so do they the expectation of the shorter of a row's two lists.  How
 * many partial answers there are is bounded as Atserias, Grohe and Marx do, with
 * equal weights for all atoms.
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
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "core.h"

/*
 * In units of cpu_operator_cost, of which PostgreSQL's own plans for cyclic
 * joins take one in about 4 nanoseconds where all is in memory.
 *
 * Building: of a row, of its keys if they are not numbers, of a row in the
 * order of degrees or in a trie, of a different key, and of one in a trie.
 */
#define COST_OF_ROW			0.7
#define COST_OF_VALUES		20.0
#define COST_OF_EDGE		1.0
#define COST_OF_TRIE		3.0
#define COST_OF_KEY			7.0
#define COST_OF_TRIE_KEY	5.0

/*
 * Joining: of a partial answer that leads to lists, and of a key in the
 * shortest of them, in general; of an edge, of a common neighbour of its ends
 * that is met for triangles and for larger cliques, and of each larger clique;
 * of a key and of a wedge; and of an answer that is added to its group.
 */
#define COST_OF_LISTS		8.0
#define COST_OF_MEMBER		0.3
#define COST_OF_CLIQUE_EDGE	1.5
#define COST_OF_NEIGHBOUR	0.03
#define COST_OF_BIT			0.15
#define COST_OF_CLIQUE		1.0
#define COST_OF_CORNER		8.0
#define COST_OF_WEDGE		0.2
#define COST_OF_GROUPED		5.0

/*
 * What a join needs however small it is, more if there are rows, or for larger
 * cliques tables of the ways in which edges may run.
 */
#define COST_OF_JOIN		2000.0
#define COST_OF_OUTPUT		1200.0
#define COST_OF_TABLES		12000.0

/* What a table's row costs if pages are read as such, in units of cpu_tuple_cost. */
#define COST_OF_PAGE_ROW	0.3

/* What a unit of cpu_operator_cost stands for above. */
#define MICROSECONDS_OF_UNIT	0.004

/* Work that is worth another thread, in cost units. */
#define COST_OF_THREAD		800.0

/* Bytes that a row, and a different key, take in memory, all in all. */
#define BYTES_PER_ROW		48.0
#define BYTES_PER_KEY		52.0

/*
 * If they do not fit, the join is made box by box: bytes that a row takes while
 * a box is built, and those that do not depend on rows, in all and for each
 * variable; and the cost of reading a row for a box, and of a box, in units as
 * above.
 */
#define BYTES_PER_BOX_ROW	32.0
#define BYTES_OF_BOXES		(48.0 * 1024)
#define BYTES_PER_VARIABLE	(4.0 * 1024)
#define LEAST_BOX_BYTES		(16.0 * 1024)
#define COST_OF_BOX_ROW		7.0
#define COST_OF_BOX			3000.0

/* Values of a column that have about as many rows. */
typedef struct PpFrequency
{
	double		rows;			/* of a value */
	double		part;			/* of all rows */
} PpFrequency;

/* What is known about a column of an atom. */
typedef struct PpColumnStats
{
	double		distinct;
	double		average;		/* rows of a value */
	double		biased;			/* rows of a value that a row leads to */
	PpFrequency *frequency;		/* most frequent first */
	int			nfrequencies;
} PpColumnStats;

/* How the engine joins. */
typedef enum PpWay
{
	WAY_GENERAL,
	WAY_CLIQUES,
	WAY_WEDGES
} PpWay;

static void
column_stats(PlannerInfo *root, Var *var, PpColumnStats *stats)
{
	RelOptInfo *rel = find_base_rel(root, var->varno);
	double		rows = Max(rel->rows, 1);
	VariableStatData vardata;
	AttStatsSlot slot;
	bool		there = false;
	bool		isdefault;
	double		rest = 1;
	double		n;

	examine_variable(root, (Node *) var, 0, &vardata);
	n = get_variable_numdistinct(&vardata, &isdefault);
	stats->distinct = n = Max(Min(n, rows), 1);
	stats->average = rows / n;

	if (HeapTupleIsValid(vardata.statsTuple))
	{
		rest -= ((Form_pg_statistic) GETSTRUCT(vardata.statsTuple))->stanullfrac;
		there = get_attstatsslot(&slot, vardata.statsTuple, STATISTIC_KIND_MCV, InvalidOid,
								 ATTSTATSSLOT_NUMBERS);
	}
	stats->nfrequencies = there ? slot.nnumbers : 0;
	stats->frequency = palloc((stats->nfrequencies + 1) * sizeof(PpFrequency));
	stats->biased = 0;
	for (int i = 0; i < stats->nfrequencies; i++)
	{
		stats->frequency[i].rows = rows * slot.numbers[i];
		stats->frequency[i].part = slot.numbers[i];
		stats->biased += rows * slot.numbers[i] * slot.numbers[i];
		rest -= slot.numbers[i];
	}
	if (there)
		free_attstatsslot(&slot);
	ReleaseVariableStats(vardata);

	/* all others alike */
	rest = Max(rest, 0);
	n = Max(n - stats->nfrequencies, 1);
	stats->biased = Max(stats->biased + rows * rest * rest / n, 1);
	stats->frequency[stats->nfrequencies].rows = rows * rest / n;
	stats->frequency[stats->nfrequencies++].part = rest;
}

/*
 * The expected number of rows of the rarer of a row's two values, if these do
 * not depend on each other: the sum over all numbers of the probability that
 * both have more.
 */
static double
rarer_end(const PpColumnStats *stats)
{
	int			next[2] = {stats[0].nfrequencies - 1, stats[1].nfrequencies - 1};
	double		part[2] = {1, 1};	/* of rows whose value has more than "rows" */
	double		rows = 0;
	double		sum = 0;

	while (next[0] >= 0 && next[1] >= 0)
	{
		const PpFrequency *frequency[2] = {&stats[0].frequency[next[0]],
		&stats[1].frequency[next[1]]};
		int			k = frequency[0]->rows <= frequency[1]->rows ? 0 : 1;

		sum += Max(frequency[k]->rows - rows, 0) * part[0] * part[1];
		rows = Max(rows, frequency[k]->rows);
		part[k] = Max(part[k] - frequency[k]->part, 0);
		next[k]--;
	}
	return Max(sum, 1);
}

/*
 * The engine's choice (pp_join_build()): cliques of one relation, squares whose
 * answers are counted, and all else.  Of a square, around[] has the variables in
 * their order.
 */
static PpWay
find_way(const PpCore *core, PpJoinMode mode, int around[4])
{
	const int	n = core->nvariables;
	uint32		adjacent[PP_JOIN_MAX_VARIABLES] = {0};
	bool		clique = core->nchildren == 1 && n >= 3 && core->natoms == n * (n - 1) / 2;
	bool		square = mode == PP_JOIN_COUNT && core->nresiduals == 0 && n == 4 &&
		core->natoms == 4;
	int			nothers = 0;

	for (int i = 0; i < core->natoms; i++)
	{
		const int  *v = core->atoms[i].variable;

		adjacent[v[0]] |= UINT32_C(1) << v[1];
		adjacent[v[1]] |= UINT32_C(1) << v[0];
	}
	for (int v = 0; v < n; v++)
	{
		clique &= adjacent[v] == (((UINT32_C(1) << n) - 1) & ~(UINT32_C(1) << v));
		square &= (adjacent[v] & UINT32_C(1) << v) == 0 && pg_popcount32(adjacent[v]) == 2;
	}
	if (clique)
		return WAY_CLIQUES;
	if (!square)
		return WAY_GENERAL;

	/* the first, its neighbours, and the one that is left between these */
	around[0] = 0;
	for (int v = 1; v < n; v++)
	{
		if (adjacent[0] & UINT32_C(1) << v)
			around[nothers++ == 0 ? 1 : 3] = v;
		else
			around[2] = v;
	}
	return WAY_WEDGES;
}

/* What reading a child costs; heap.c reads tables faster than a plan does. */
static Cost
child_cost(const PpCoreChild *child)
{
	const Path *path = child->path;

	if (path->pathtype != T_SeqScan || path->parent->baserestrictinfo != NIL)
		return path->total_cost;
	return path->total_cost - path->parent->tuples * cpu_tuple_cost * (1 - COST_OF_PAGE_ROW);
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

/* Wedges around the square's corners 1 and 3, or 0 and 2, and keys they begin at. */
static double
wedge_work(const PpCore *core, PpColumnStats (*stats)[2], const int around[4])
{
	double		least = HUGE_VAL;

	for (int first = 0; first < 2; first++)
	{
		double		work = 0;

		for (int corner = 1 - first; corner < 4; corner += 2)
		{
			double		rows[2] = {0};
			double		lists[2] = {0};
			int			n = 0;

			for (int i = 0; i < core->natoms; i++)
			{
				const PpCoreAtom *atom = &core->atoms[i];

				for (int k = 0; k < 2 && n < 2; k++)
				{
					if (atom->variable[k] != around[corner])
						continue;
					rows[n] = core->children[atom->child].rows;
					lists[n++] = stats[i][k].biased;
				}
			}
			work += Min(rows[0] * lists[1], rows[1] * lists[0]) * COST_OF_WEDGE +
				Min(rows[0], rows[1]) * COST_OF_CORNER;
		}
		least = Min(least, work);
	}
	return least;
}

/* The work of joining variable by variable, in units of cpu_operator_cost. */
static double
join_work(PlannerInfo *root, const PpCore *core, PpColumnStats (*stats)[2], PpWay way,
		  PpJoinMode mode)
{
	bool		bound[PP_JOIN_MAX_VARIABLES] = {false};
	double		answers = 1;
	double		work = 0;

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

		if (way == WAY_GENERAL)
			work += answers * (COST_OF_LISTS + best_shortest * COST_OF_MEMBER);
		else if (level == 2)
			work += core->children[0].rows *
				(COST_OF_CLIQUE_EDGE +
				 Min(rarer_end(stats[0]), sqrt(2 * core->children[0].rows)) *
				 (core->nvariables == 3 ? COST_OF_NEIGHBOUR : COST_OF_BIT));
		else if (level > 2)
			work += answers * COST_OF_CLIQUE;
		bound[best] = true;
		answers = Min(answers * best_growth, size_bound(root, core, bound));
	}
	if (mode == PP_JOIN_GROUPS)
		work += answers * COST_OF_GROUPED;
	return work;
}

/*
 * The cost of boxes, in units as above; 0 if everything fits memory.
 *
 * If keys have many rows, each variable is cut into so many parts that the rows
 * of all atoms that belong to one part of both of their variables fit.  Aliases
 * share nothing then, and a row is read for all parts of the variables that it
 * does not have.  If they have few, one variable's parts are enough: an atom
 * that is h atoms away needs as many more rows as keys have, h times; but all
 * rows are looked through for each part, there, back and again.
 */
static double
box_cost(const PpCore *core, PpColumnStats (*stats)[2])
{
	double		limit = (double) pp_hash_memory_limit();
	double		budget = Max(limit - BYTES_OF_BOXES - core->nvariables * BYTES_PER_VARIABLE,
							 LEAST_BOX_BYTES);
	double		bytes = 0;
	double		keys = 0;
	double		rows = 0;
	double		biased = 0;
	double		parts;
	double		dense;
	double		sparse;

	for (int i = 0; i < core->nchildren; i++)
		bytes += core->children[i].rows * BYTES_PER_ROW;
	for (int i = 0; i < core->natoms; i++)
	{
		rows += core->children[core->atoms[i].child].rows;
		keys = Max(keys, Max(stats[i][0].distinct, stats[i][1].distinct));
		biased += (stats[i][0].biased + stats[i][1].biased) / (2 * core->natoms);
	}
	if (bytes + keys * BYTES_PER_KEY <= limit)
		return 0;
	parts = Max(sqrt(rows * BYTES_PER_BOX_ROW / budget), 1);
	dense = rows * pow(parts, Max(core->nvariables - 2, 0)) * COST_OF_BOX_ROW +
		pow(parts, core->nvariables) * COST_OF_BOX;

	/* until its rows fit, or it is no better */
	for (parts = 1;; parts *= 2)
	{
		double		kept = 0;

		sparse = parts * (3 * rows * COST_OF_BOX_ROW + COST_OF_BOX);
		for (int i = 0; i < core->natoms; i++)
			kept += rows / core->natoms * Min(pow(Max(biased, 1), i / 2) / parts, 1);
		if (kept * BYTES_PER_BOX_ROW <= budget || sparse >= dense)
			break;
	}
	return Min(sparse, dense);
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
	double		keys = 0;
	double		work;
	double		boxed;
	PpWay		way;
	int			around[4];
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

	stats = palloc(core->natoms * sizeof(*stats));
	for (int i = 0; i < core->natoms; i++)
	{
		double		distinct[2];

		for (int k = 0; k < 2; k++)
		{
			column_stats(root, core->atoms[i].var[k], &stats[i][k]);
			distinct[k] = stats[i][k].distinct;
		}
		/* half of the one column's values are thought to be the other's, too */
		keys = Max(keys, Max(distinct[0], distinct[1]) + Min(distinct[0], distinct[1]) / 2);
	}

	way = find_way(core, mode, around);
	build += keys * COST_OF_KEY;
	if (mode != PP_JOIN_COUNT)
		build += COST_OF_OUTPUT;
	if (mode != PP_JOIN_COUNT && way == WAY_CLIQUES && core->nvariables == 4)
		build += COST_OF_TABLES;
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
		children += child_cost(child);
		cost->disabled_nodes += pp_path_disabled_nodes(child->path);
		build += child->rows * (COST_OF_ROW + values * COST_OF_VALUES);
		if (way == WAY_CLIQUES)
			build += child->rows * COST_OF_EDGE;
		else
			build += (forward + backward) *
				(child->rows * COST_OF_TRIE + Min(keys, child->rows) * COST_OF_TRIE_KEY);
		child_rows += child->rows;
	}

	work = way == WAY_WEDGES ? wedge_work(core, stats, around) :
		join_work(root, core, stats, way, mode);
	cost->work = (int) Min((build + work) * MICROSECONDS_OF_UNIT, INT_MAX);
	run = work * cpu_operator_cost;

	/* rows that do not fit are written, sorted, and read for boxes */
	boxed = box_cost(core, stats);
	if (boxed > 0)
		run += boxed * cpu_operator_cost +
			4 * seq_page_cost * ceil(child_rows * 2 * sizeof(int64) / BLCKSZ);
	for (int i = 0; i < core->natoms; i++)
	{
		pfree(stats[i][0].frequency);
		pfree(stats[i][1].frequency);
	}
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
