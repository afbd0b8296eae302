/*-------------------------------------------------------------------------
 *
 * recognize.c
 *		Finds the cyclic cores of a query.
 *
 * Relations and the equivalence classes that join them are the edges and
 * vertices of a hypergraph.  Ear removal after Graham, and Yu and Ozsoyoglu,
 * leaves nothing of it if it is acyclic; what it leaves else is cut into
 * connected parts, each of which is a core.  Relations that only repeat an
 * edge of a core are given back to it.
 *
 * That decides which joins are worth a path of ours, not whether the path is
 * right: any set of relations of two keys each that no outer join tears apart
 * could have one.
 *
 * What was found is kept for the rest of the planning of that query level.
 * Subqueries, functions that are planned for estimates, and errors come in
 * between, so that it is kept by the level's PlannerInfo, and forgotten with
 * the memory that holds that.
 *
 * IDENTIFICATION
 *		src/join/recognize.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "port/pg_bitutils.h"
#include "rewrite/rewriteManip.h"

#include "../parse/mutation.h"
#include "core.h"

#define MAX_EDGES		64		/* bits of a uint64 */
#define MAX_VERTICES	64

/* Relations that joins connect, and classes that connect them. */
typedef struct PpHypergraph
{
	int			nedges;
	int			nvertices;
	Index		rti[MAX_EDGES];
	uint64		edges[MAX_EDGES];	/* bits: vertices */
	EquivalenceClass *classes[MAX_VERTICES];
} PpHypergraph;

/* What is known, newest first. */
typedef struct PpKnownCores
{
	PpCores		cores;
	MemoryContextCallback callback;
	struct PpKnownCores *next;
} PpKnownCores;

static PpKnownCores *known = NULL;

/*
 * The hypergraph.
 */

/* Does a query's result depend on when, or how often, it is evaluated? */
static bool
is_unsteady_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		if (query->rowMarks != NIL || query->hasModifyingCTE)
			return true;
		return query_tree_walker(query, is_unsteady_walker, context,
								 QTW_EXAMINE_RTES_BEFORE);
	}
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->tablesample != NULL;
	return expression_tree_walker(node, is_unsteady_walker, context);
}

/* Can a relation be an atom at all?  Cheap. */
static bool
is_edge(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte = root->simple_rte_array[rel->relid];

	if (rel->reloptkind != RELOPT_BASEREL || rel->lateral_relids != NULL ||
		rel->lateral_vars != NIL || rel->cheapest_total_path == NULL ||
		rel->cheapest_total_path->param_info != NULL)
		return false;
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			return rte->tablesample == NULL;
		case RTE_SUBQUERY:
		case RTE_VALUES:
		case RTE_FUNCTION:
		case RTE_TABLEFUNC:
		case RTE_NAMEDTUPLESTORE:
			return true;
		case RTE_CTE:
			return !rte->self_reference;
		default:
			return false;
	}
}

/* As above; looks into it. */
static bool
is_steady(PlannerInfo *root, Index rti)
{
	RangeTblEntry *rte = root->simple_rte_array[rti];

	switch (rte->rtekind)
	{
		case RTE_SUBQUERY:
			return !contain_volatile_functions((Node *) rte->subquery) &&
				!is_unsteady_walker((Node *) rte->subquery, NULL);
		case RTE_VALUES:
			return !contain_volatile_functions((Node *) rte->values_lists);
		case RTE_FUNCTION:
			return !contain_volatile_functions((Node *) rte->functions);
		case RTE_TABLEFUNC:
			return !contain_volatile_functions((Node *) rte->tablefunc);
		default:
			return true;
	}
}

/* Can a class connect relations? */
static bool
is_vertex(const EquivalenceClass *ec)
{
	return !ec->ec_has_const && !ec->ec_has_volatile && !ec->ec_broken &&
		bms_membership(ec->ec_relids) == BMS_MULTIPLE;
}

/*
 * Ear removal.  edges is changed: vertices that only one edge has go, and so do
 * edges that another contains, until nothing changes.  Returns the edges left,
 * as bits.
 */
static uint64
remove_ears(uint64 *edges, int nedges, uint64 alive)
{
	for (;;)
	{
		uint64		once = 0;
		uint64		more = 0;
		bool		changed = false;

		for (int i = 0; i < nedges; i++)
		{
			if (alive & (UINT64CONST(1) << i))
			{
				more |= once & edges[i];
				once |= edges[i];
			}
		}
		for (int i = 0; i < nedges; i++)
		{
			if (!(alive & (UINT64CONST(1) << i)))
				continue;
			if (edges[i] & ~more)
			{
				edges[i] &= more;
				changed = true;
			}
			if (edges[i] == 0)
			{
				alive &= ~(UINT64CONST(1) << i);
				changed = true;
				continue;
			}
			for (int j = 0; j < nedges; j++)
			{
				if (j != i && (alive & (UINT64CONST(1) << j)) &&
					(edges[i] & ~edges[j]) == 0)
				{
					alive &= ~(UINT64CONST(1) << i);
					changed = true;
					break;
				}
			}
		}
		if (!changed)
			return alive;
	}
}

/* The set that an element is in, of disjoint ones. */
static uint8
set_of(uint8 *sets, uint8 element)
{
	while (sets[element] != element)
		element = sets[element] = sets[sets[element]];
	return element;
}

/*
 * Reads the query.  False if it is certainly acyclic: if the graph that has a
 * link between an edge and each of its vertices is a forest.  Nearly all
 * queries are like that, and are not to pay for more.
 */
static bool
make_hypergraph(PlannerInfo *root, PpHypergraph *graph)
{
	uint8	   *edge_of;		/* [rti] number plus one; 0: none */
	uint8		sets[MAX_EDGES + MAX_VERTICES];
	bool		forest = true;
	ListCell   *lc;
	int			member = -1;

	graph->nedges = 0;
	graph->nvertices = 0;
	while ((member = bms_next_member(root->all_baserels, member)) >= 0 &&
		   graph->nedges < MAX_EDGES)
	{
		RelOptInfo *rel = root->simple_rel_array[member];

		if (rel && is_edge(root, rel))
		{
			sets[graph->nedges] = graph->nedges;
			graph->rti[graph->nedges] = (Index) member;
			graph->edges[graph->nedges++] = 0;
		}
	}
	if (graph->nedges < 3)
		return false;
	edge_of = palloc0(root->simple_rel_array_size * sizeof(uint8));
	for (int i = 0; i < graph->nedges; i++)
		edge_of[graph->rti[i]] = i + 1;

	foreach(lc, root->eq_classes)
	{
		EquivalenceClass *ec = lfirst(lc);
		uint8		vertex = MAX_EDGES + graph->nvertices;
		uint64		having = 0; /* edges that have it */
		ListCell   *lc2;

		if (!is_vertex(ec))
			continue;
		foreach(lc2, ec->ec_members)
		{
			Var		   *var = parparaw_key_column(lfirst(lc2));

			if (var && edge_of[var->varno] > 0)
				having |= UINT64CONST(1) << (edge_of[var->varno] - 1);
		}
		if ((having & (having - 1)) == 0)
			continue;			/* one, or none */
		sets[vertex] = vertex;
		for (; having; having &= having - 1)
		{
			int			i = pg_rightmost_one_pos64(having);

			graph->edges[i] |= UINT64CONST(1) << graph->nvertices;
			forest &= set_of(sets, i) != set_of(sets, vertex);
			sets[set_of(sets, i)] = set_of(sets, vertex);
		}
		graph->classes[graph->nvertices++] = ec;
		if (graph->nvertices == MAX_VERTICES)
			break;
	}
	pfree(edge_of);
	return !forest && graph->nvertices >= 3;
}

/* The edges of a graph's cyclic part, and what is left of them. */
static uint64
cyclic_part(const PpHypergraph *graph, uint64 *edges, uint64 alive)
{
	memcpy(edges, graph->edges, graph->nedges * sizeof(uint64));
	return remove_ears(edges, graph->nedges, alive);
}

/* Takes a vertex out. */
static void
drop_vertex(PpHypergraph *graph, int vertex)
{
	for (int i = 0; i < graph->nedges; i++)
		graph->edges[i] &= ~(UINT64CONST(1) << vertex);
	graph->classes[vertex] = NULL;
}

/*
 * A vertex to give up because edges of the cyclic part have more than two, or
 * -1.  Its equalities are checked on rows then.
 */
static int
surplus_vertex(const PpHypergraph *graph, const uint64 *edges, uint64 alive)
{
	int			best = -1;
	int			best_count = 0;

	for (int v = 0; v < graph->nvertices; v++)
	{
		int			count = 0;

		for (int i = 0; i < graph->nedges; i++)
		{
			if ((alive & (UINT64CONST(1) << i)) &&
				(edges[i] & (UINT64CONST(1) << v)) &&
				pg_popcount64(edges[i]) > 2)
				count++;
		}
		if (count > best_count)
		{
			best = v;
			best_count = count;
		}
	}
	return best;
}

/*
 * Cores.
 */

/* Is the relation set torn apart by an outer or semi join? */
static bool
is_straddled(PlannerInfo *root, Relids relids)
{
	ListCell   *lc;

	foreach(lc, root->join_info_list)
	{
		SpecialJoinInfo *sjinfo = lfirst(lc);

		if (bms_overlap(sjinfo->syn_righthand, relids) &&
			!bms_is_subset(relids, sjinfo->syn_righthand))
			return true;
		if (sjinfo->jointype == JOIN_FULL &&
			bms_overlap(sjinfo->syn_lefthand, relids) &&
			!bms_is_subset(relids, sjinfo->syn_lefthand))
			return true;
	}
	return false;
}

/* Why the query as a whole, or what there is around the relations, does not
 * let us join them; or NULL. */
static const char *
refuse_query(PlannerInfo *root, Relids relids)
{
	ListCell   *lc;
	int			member = -1;

	if (root->parse->commandType != CMD_SELECT && root->parse->commandType != CMD_INSERT)
		return "it is not a SELECT";
	if (root->rowMarks != NIL)
		return "rows are to be locked";
	if (is_straddled(root, relids))
		return "an outer or semi join is in between";
	foreach(lc, root->placeholder_list)
	{
		if (bms_overlap(lfirst_node(PlaceHolderInfo, lc)->ph_eval_at, relids))
			return "an expression of an outer join";
	}
	while ((member = bms_next_member(relids, member)) >= 0)
	{
		foreach(lc, root->simple_rel_array[member]->reltarget->exprs)
		{
			if (!IsA(lfirst(lc), Var))
				return "an expression of an outer join";
		}
	}
	return NULL;
}

/* The column of a relation that is in a class, or NULL. */
static EquivalenceMember *
class_column(const EquivalenceClass *ec, Index rti)
{
	ListCell   *lc;

	foreach(lc, ec->ec_members)
	{
		EquivalenceMember *em = lfirst(lc);
		Var		   *var = parparaw_key_column(em);

		if (var && var->varno == rti)
			return em;
	}
	return NULL;
}

/* The variable that a column is, or -1. */
int
parparaw_core_variable(const PpCore *core, const Var *var)
{
	for (int i = 0; i < core->nvariables; i++)
	{
		ListCell   *lc;

		foreach(lc, core->variables[i].ec->ec_members)
		{
			Var		   *member = parparaw_key_column(lfirst(lc));

			if (member && member->varno == var->varno &&
				member->varattno == var->varattno)
				return i;
		}
	}
	return -1;
}

/*
 * Finds a core's variables and atoms.  unary: a relation may have a single
 * variable.
 */
static const char *
make_atoms(PpCores *cores, PpCore *core, bool unary)
{
	int			member;
	ListCell   *lc;

	core->variables = palloc0(PP_JOIN_MAX_VARIABLES * sizeof(PpCoreVariable));
	core->atoms = palloc0(bms_num_members(core->relids) * sizeof(PpCoreAtom));
	if (bms_num_members(core->relids) > PP_JOIN_MAX_ATOMS)
		return "there are too many relations";

	foreach(lc, cores->classes)
	{
		EquivalenceClass *ec = lfirst(lc);
		PpCoreVariable *variable = &core->variables[core->nvariables];
		int			n = 0;

		member = -1;
		while ((member = bms_next_member(core->relids, member)) >= 0)
			n += class_column(ec, (Index) member) != NULL;
		if (n < 2)
			continue;
		if (core->nvariables == PP_JOIN_MAX_VARIABLES)
			return "there are too many variables";
		if (!parparaw_key_type(ec, core->relids, &variable->key))
			return "keys are of different types, or of one that cannot be a key";
		variable->ec = ec;
		core->nvariables++;
	}

	member = -1;
	while ((member = bms_next_member(core->relids, member)) >= 0)
	{
		PpCoreAtom *atom = &core->atoms[core->natoms++];
		int			n = 0;

		atom->rti = (Index) member;
		for (int i = 0; i < core->nvariables; i++)
		{
			EquivalenceMember *em = class_column(core->variables[i].ec, atom->rti);

			if (em == NULL)
				continue;
			if (n == 2)
				return "a relation has more than two keys";
			atom->variable[n] = i;
			atom->var[n] = parparaw_key_column(em);
			atom->type[n] = parparaw_key_column_type(em);
			n++;
		}
		if (n == 1 && unary)
		{
			atom->variable[1] = atom->variable[0];
			atom->var[1] = atom->var[0];
			atom->type[1] = atom->type[0];
			n++;
		}
		if (n != 2)
			return "a relation has less than two keys";

		/* in the order of the columns: edges read better that way */
		if (atom->var[0]->varattno > atom->var[1]->varattno)
		{
			PpCoreAtom	swapped = *atom;

			for (int k = 0; k < 2; k++)
			{
				atom->variable[k] = swapped.variable[1 - k];
				atom->var[k] = swapped.var[1 - k];
				atom->type[k] = swapped.type[1 - k];
			}
		}
	}
	return NULL;
}

/* Are the restrictions of two relations the same, but for who has them? */
static bool
same_restrictions(RelOptInfo *a, RelOptInfo *b)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	if (list_length(a->baserestrictinfo) != list_length(b->baserestrictinfo))
		return false;
	foreach(lc, a->baserestrictinfo)
		clauses = lappend(clauses, lfirst_node(RestrictInfo, lc)->clause);
	foreach(lc, b->baserestrictinfo)
	{
		Node	   *clause = (Node *) copyObject(lfirst_node(RestrictInfo, lc)->clause);

		ChangeVarNodes(clause, b->relid, a->relid, 0);
		if (!list_member(clauses, clause))
			return false;
	}
	return true;
}

/* Does the target list of a's scan have the columns that b needs? */
static bool
has_columns(RelOptInfo *a, RelOptInfo *b)
{
	ListCell   *lc;

	foreach(lc, b->reltarget->exprs)
	{
		Var		   *var = (Var *) copyObject(lfirst(lc));

		ChangeVarNodes((Node *) var, b->relid, a->relid, 0);
		if (!list_member(a->reltarget->exprs, var))
			return false;
	}
	return true;
}

/*
 * Would scans of the two return the same rows?
 *
 * Restrictions of a subquery may have been pushed down into the copy of it that
 * was planned, so that this is compared as well.
 */
static bool
same_rows(PlannerInfo *root, RelOptInfo *a, RelOptInfo *b)
{
	RangeTblEntry *left = root->simple_rte_array[a->relid];
	RangeTblEntry *right = root->simple_rte_array[b->relid];

	if (left->rtekind != right->rtekind || left->inh != right->inh ||
		a->userid != b->userid)
		return false;
	switch (left->rtekind)
	{
		case RTE_RELATION:
			if (left->relid != right->relid)
				return false;
			break;
		case RTE_CTE:
			if (strcmp(left->ctename, right->ctename) != 0 ||
				left->ctelevelsup != right->ctelevelsup)
				return false;
			break;
		case RTE_SUBQUERY:
			if ((a->subroot == NULL) != (b->subroot == NULL) ||
				!equal(left->subquery, right->subquery) ||
				(a->subroot && !equal(a->subroot->parse, b->subroot->parse)))
				return false;
			break;
		default:
			return false;
	}
	return same_restrictions(a, b) || PP_MUTATED(join_filter_shared);
}

/*
 * A scan of a plain table that returns the columns which any of the atoms
 * needs, in terms of rel.
 */
static Path *
make_wide_scan(PlannerInfo *root, RelOptInfo *rel, List *others)
{
	Path	   *path = create_seqscan_path(root, rel, NULL, 0);
	PathTarget *target = copy_pathtarget(rel->reltarget);
	ListCell   *lc;

	foreach(lc, others)
	{
		RelOptInfo *other = lfirst(lc);
		ListCell   *lc2;

		foreach(lc2, other->reltarget->exprs)
		{
			Node	   *expr = (Node *) copyObject(lfirst(lc2));

			ChangeVarNodes(expr, other->relid, rel->relid, 0);
			add_new_column_to_pathtarget(target, (Expr *) expr);
		}
	}
	path->pathtarget = target;
	return path;
}

/* Is rel a table or materialised view without inheritance children? */
static bool
is_plain(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

	return rte->rtekind == RTE_RELATION && !rte->inh &&
		(rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW);
}

/*
 * Which scans read the atoms.  Aliases of one relation with the same
 * restrictions share one: that of the alias that needs most columns, or, if
 * none needs all of them, a sequential scan that returns them all, unless that
 * costs more than a scan for each.
 */
static void
make_children(PlannerInfo *root, PpCore *core)
{
	core->children = palloc0(core->natoms * sizeof(PpCoreChild));
	for (int i = 0; i < core->natoms; i++)
		core->atoms[i].child = -1;

	for (int i = 0; i < core->natoms; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[core->atoms[i].rti];
		RelOptInfo *widest = rel;
		PpCoreChild *child = &core->children[core->nchildren];
		Path	   *path;
		List	   *alike = NIL;
		Cost		separate = 0;
		bool		all = true;
		ListCell   *lc;

		if (core->atoms[i].child >= 0)
			continue;
		for (int j = i; j < core->natoms; j++)
		{
			RelOptInfo *other = root->simple_rel_array[core->atoms[j].rti];

			if (core->atoms[j].child >= 0 || (j > i && !same_rows(root, rel, other)))
				continue;
			alike = lappend(alike, other);
			separate += other->cheapest_total_path->total_cost;
			if (list_length(other->reltarget->exprs) >
				list_length(widest->reltarget->exprs))
				widest = other;
		}
		foreach(lc, alike)
			all &= has_columns(widest, lfirst(lc));

		path = widest->cheapest_total_path;
		if (!all)
		{
			Path	   *wide = is_plain(root, rel) ? make_wide_scan(root, rel, alike) : NULL;

			widest = rel;
			if (wide && wide->total_cost <= separate)
			{
				path = wide;
				all = true;
			}
			else
				path = rel->cheapest_total_path;
		}

		for (int j = i; j < core->natoms; j++)
		{
			RelOptInfo *other = root->simple_rel_array[core->atoms[j].rti];

			if (list_member_ptr(alike, other) && (all || has_columns(widest, other)))
				core->atoms[j].child = core->nchildren;
		}
		child->rti = widest->relid;
		child->path = path;
		child->rows = widest->rows;
		core->nchildren++;
	}
}

/*
 * A core of these relations.  unary: they may also have a single variable.
 * Never NULL, but the core may be refused.
 */
PpCore *
parparaw_make_core(PpCores *cores, Relids relids, bool unary)
{
	PlannerInfo *root = cores->root;
	MemoryContext old = MemoryContextSwitchTo(root->planner_cxt);
	PpCore	   *core = palloc0(sizeof(PpCore));
	int			member = -1;

	core->relids = bms_copy(relids);
	core->number = list_length(cores->cores);
	core->refused = refuse_query(root, core->relids);
	while (core->refused == NULL && (member = bms_next_member(relids, member)) >= 0)
	{
		if (!is_edge(root, root->simple_rel_array[member]) ||
			!is_steady(root, (Index) member))
			core->refused = "a relation that has to be read in another way";
	}
	if (core->refused == NULL)
		core->refused = make_atoms(cores, core, unary);
	if (core->refused == NULL)
		core->refused = parparaw_core_clauses(root, core);
	if (core->refused == NULL)
		make_children(root, core);
	cores->cores = lappend(cores->cores, core);
	MemoryContextSwitchTo(old);
	return core;
}

/* A core of some of the edges left by ear removal, and of those that only repeat
 * one of them. */
static void
make_part(PpCores *cores, const PpHypergraph *graph, const uint64 *edges, uint64 part)
{
	Relids		relids = NULL;

	for (int i = 0; i < graph->nedges; i++)
	{
		bool		repeats = false;

		for (int j = 0; j < graph->nedges; j++)
		{
			if ((part & (UINT64CONST(1) << j)) && graph->edges[i] == edges[j])
				repeats = true;
		}
		if (repeats || (part & (UINT64CONST(1) << i)))
			relids = bms_add_member(relids, (int) graph->rti[i]);
	}
	(void) parparaw_make_core(cores, relids, false);
}

/* A search, depth first, for parts that a single vertex holds together. */
typedef struct PpBlockSearch
{
	PpCores    *cores;
	const PpHypergraph *graph;
	const uint64 *edges;		/* of two vertices each */
	uint64		left;			/* edges not gone along so far */
	int			time;
	int			seen[MAX_VERTICES]; /* when; 0: not yet */
	int			nstack;
	int			stack[MAX_EDGES];	/* edges not in a block so far */
} PpBlockSearch;

/*
 * Visits a vertex and what hangs on it, making a core of every block that has a
 * cycle.  Answers the earliest vertex that is reached from there.
 */
static int
visit_vertex(PpBlockSearch *search, int vertex)
{
	int			low = search->seen[vertex] = ++search->time;

	for (int i = 0; i < search->graph->nedges; i++)
	{
		uint64		bit = UINT64CONST(1) << i;
		uint64		here = UINT64CONST(1) << vertex;
		uint64		block = 0;
		int			other;
		int			reached;

		if (!(search->left & bit) || !(search->edges[i] & here))
			continue;
		search->left &= ~bit;
		search->stack[search->nstack++] = i;
		other = pg_rightmost_one_pos64(search->edges[i] & ~here);
		if (search->seen[other])
		{
			low = Min(low, search->seen[other]);
			continue;
		}
		reached = visit_vertex(search, other);
		low = Min(low, reached);
		if (reached < search->seen[vertex])
			continue;
		while (!(block & bit))
			block |= UINT64CONST(1) << search->stack[--search->nstack];
		if (block != bit)
			make_part(search->cores, search->graph, search->edges, block);
	}
	return low;
}

/*
 * A core for each connected part of the edges left by ear removal.  One that is
 * too large is taken apart where a single vertex holds it together.
 */
static void
split_cores(PpCores *cores, const PpHypergraph *graph, const uint64 *edges, uint64 alive)
{
	while (alive)
	{
		int			first = pg_rightmost_one_pos64(alive);
		uint64		part = UINT64CONST(1) << first;
		uint64		vertices = edges[first];
		bool		grown = true;

		while (grown)
		{
			grown = false;
			for (int i = 0; i < graph->nedges; i++)
			{
				uint64		bit = UINT64CONST(1) << i;

				if ((alive & bit) && !(part & bit) && (edges[i] & vertices))
				{
					part |= bit;
					vertices |= edges[i];
					grown = true;
				}
			}
		}
		alive &= ~part;

		if (pg_popcount64(part) <= PP_JOIN_MAX_ATOMS &&
			pg_popcount64(vertices) <= PP_JOIN_MAX_VARIABLES)
			make_part(cores, graph, edges, part);
		else
		{
			PpBlockSearch search = {0};

			search.cores = cores;
			search.graph = graph;
			search.edges = edges;
			search.left = part;
			(void) visit_vertex(&search, pg_rightmost_one_pos64(vertices));
		}
	}
}

/* MemoryContextCallback: the PlannerInfo goes. */
static void
forget_cores(void *arg)
{
	PpKnownCores **link;

	for (link = &known; *link; link = &(*link)->next)
	{
		if (*link == arg)
		{
			*link = (*link)->next;
			return;
		}
	}
}

/* What is known about a query level, or NULL. */
PpCores *
parparaw_known_cores(PlannerInfo *root)
{
	for (PpKnownCores *entry = known; entry; entry = entry->next)
	{
		if (entry->cores.root == root)
			return &entry->cores;
	}
	return NULL;
}

/* The core that a path of ours joins. */
PpCore *
parparaw_core_of_path(PlannerInfo *root, CustomPath *path)
{
	PpCores    *cores = parparaw_known_cores(root);

	if (cores == NULL)
		elog(ERROR, "planning state of a cyclic join is gone");
	return list_nth(cores->cores, list_nth_int(path->custom_private, PP_CORE_NUMBER));
}

/*
 * The cores of a query level whose base relations have been planned.  NULL if
 * it has none, which is what nearly all queries have, and found out first.
 */
PpCores *
parparaw_find_cores(PlannerInfo *root)
{
	PpHypergraph graph;
	uint64		edges[MAX_EDGES];
	uint64		alive;
	uint64		steady;
	int			surplus;
	Relids		relids = NULL;
	PpCores    *cores = parparaw_known_cores(root);
	PpKnownCores *entry;
	MemoryContext old;

	if (cores)
		return cores;
	if (list_length(root->eq_classes) < 3 || !make_hypergraph(root, &graph))
		return NULL;
	steady = graph.nedges == MAX_EDGES ? PG_UINT64_MAX :
		(UINT64CONST(1) << graph.nedges) - 1;
	alive = cyclic_part(&graph, edges, steady);
	if (alive == 0)
		return NULL;

	/* leave out what cannot be joined by us, and see whether that was it */
	for (int i = 0; i < graph.nedges; i++)
	{
		if (!(alive & (UINT64CONST(1) << i)))
			continue;
		relids = bms_add_member(relids, (int) graph.rti[i]);
		if (!is_steady(root, graph.rti[i]))
			steady &= ~(UINT64CONST(1) << i);
	}
	for (int v = 0; v < graph.nvertices; v++)
	{
		PpKeyType	key;

		if (!parparaw_key_type(graph.classes[v], relids, &key))
			drop_vertex(&graph, v);
	}
	alive = cyclic_part(&graph, edges, steady);
	while ((surplus = surplus_vertex(&graph, edges, alive)) >= 0)
	{
		drop_vertex(&graph, surplus);
		alive = cyclic_part(&graph, edges, steady);
	}
	if (alive == 0)
	{
		ereport(DEBUG1,
				(errmsg_internal("cyclic join not offered: too few relations have two keys, or keys are of types that cannot be joined")));
		return NULL;
	}

	old = MemoryContextSwitchTo(root->planner_cxt);
	entry = palloc0(sizeof(PpKnownCores));
	cores = &entry->cores;
	cores->root = root;
	for (int v = 0; v < graph.nvertices; v++)
	{
		if (graph.classes[v])
			cores->classes = lappend(cores->classes, graph.classes[v]);
	}
	split_cores(cores, &graph, edges, alive);

	entry->callback.func = forget_cores;
	entry->callback.arg = entry;
	MemoryContextRegisterResetCallback(root->planner_cxt, &entry->callback);
	entry->next = known;
	known = entry;
	MemoryContextSwitchTo(old);
	return cores;
}
