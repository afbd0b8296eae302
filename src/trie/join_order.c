/*
 * src/trie/join_order.c
 *	  The order of variables, by cost.
 *
 * The cost of an order is how many values its levels go through.  A list that
 * is reached over an edge is longer than the average, as long lists have more
 * edges: its expected length is the sum of squares over the sum.
 */
#include "join_private.h"

/* Up to so many variables all orders are weighed, by sets of bound ones. */
#define EXACT_VARIABLES	12u

/* With more keys than this, only those are counted whose hash is 0. */
#define ALL_KEYS		65536u
#define SAMPLE			16u

typedef struct Costs
{
	const PpJoinQuery *query;
	const PpJoinSides *sides;	/* [nrelations] */
} Costs;

/* Sets what a column, number side, of a relation is like. */
static PpJoinStatus
measure(PpJoinSides *sides, uint32_t column, PpBudget *budget, const PpCancel *cancel,
		const PpCodes *codes, uint32_t nkeys)
{
	const bool	all = nkeys <= ALL_KEYS;
	uint32_t   *count = pp_budget_zeros(budget, nkeys, sizeof(uint32_t));
	double		n = 0;
	double		sum = 0;
	double		squares = 0;

	if (count == NULL)
		return budget->failure;
	for (uint64_t i = 0; i < codes->nrows; i++)
	{
		uint32_t	k = codes->pairs[2 * i + column];

		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
		{
			pp_budget_release(budget, count);
			return PP_JOIN_CANCELLED;
		}
		if (all || (k * UINT32_C(2654435761)) >> 28 == 0)
			count[k]++;
	}
	for (uint32_t k = 0; k < nkeys; k++)
	{
		if (k % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
		{
			pp_budget_release(budget, count);
			return PP_JOIN_CANCELLED;
		}
		n += count[k] > 0;
		sum += count[k];
		squares += (double) count[k] * count[k];
	}
	pp_budget_release(budget, count);
	sides->nkeys[column] = all ? n : n * SAMPLE;
	sides->length[column] = sum > 0 ? squares / sum : 0;
	return PP_JOIN_OK;
}

/*
 * Binding variable v after those of the set bound: how many values come out
 * of each assignment, and how many are gone through for that.
 */
static void
extend(const Costs *costs, uint32_t bound, uint32_t v, double *out, double *steps)
{
	const PpJoinQuery *query = costs->query;
	double		universe = 1;
	double		least = -1;
	double		share = 1;
	uint32_t	nlists = 0;

	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const PpJoinAtom *atom = &query->atoms[a];
		const PpJoinSides *side = &costs->sides[atom->relation];

		for (uint32_t i = 0; i < 2; i++)
			if (atom->variable[i] == v && side->nkeys[i] > universe)
				universe = side->nkeys[i];
	}
	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const PpJoinAtom *atom = &query->atoms[a];
		const PpJoinSides *side = &costs->sides[atom->relation];
		double		length;

		if (atom->variable[0] == v && atom->variable[1] == v)
			length = side->nloops;
		else if (atom->variable[0] == v && bound >> atom->variable[1] & 1)
			length = side->length[1];
		else if (atom->variable[1] == v && bound >> atom->variable[0] & 1)
			length = side->length[0];
		else
		{
			/* no list yet, but v has to be one of its keys */
			for (uint32_t i = 0; i < 2; i++)
				if (atom->variable[i] == v)
					share *= (side->nkeys[i] < 1 ? 1 : side->nkeys[i]) / universe;
			continue;
		}
		nlists++;
		if (least < 0 || length < least)
		{
			if (least >= 0)
				share *= least / universe < 1 ? least / universe : 1;
			least = length;
		}
		else
			share *= length / universe < 1 ? length / universe : 1;
	}
	for (uint32_t r = 0; r < query->nresiduals; r++)
	{
		const PpJoinResidual *residual = &query->residuals[r];

		if (residual->op != PP_JOIN_NE &&
			((residual->left == v && bound >> residual->right & 1) ||
			 (residual->right == v && bound >> residual->left & 1)))
			share *= 0.5;
	}
	*steps = nlists > 0 ? least * nlists + 1 : universe;
	*out = (nlists > 0 ? least : universe) * share;
}

/* ---------- counting ---------- */

/* Steps for each row that counting a clique by one of its variables takes. */
#define CLIQUE_STEPS	8.0

/* The rows of a relation that a variable is in. */
static uint64_t
rows_of(const PpJoinQuery *query, uint32_t variable)
{
	for (uint32_t a = 0; a < query->natoms; a++)
		if (query->atoms[a].variable[0] == variable || query->atoms[a].variable[1] == variable)
			return query->relations[query->atoms[a].relation].nrows;
	return 0;
}

/* Variables up to which all orders are weighed when counting. */
#define ALL_ORDERS		6u

typedef struct TreeCost
{
	const Costs *costs;
	const uint32_t *order;
	uint32_t	adjacent[PP_JOIN_MAX_VARIABLES];	/* by variable */
} TreeCost;

/*
 * Counting the variables in set below those of path, of which there are so
 * many assignments: as in join.c's plan_tree(), parts that nothing connects are
 * counted apart, and what depends on one variable once for each of its keys.
 */
static double
cost_below(const TreeCost *tree, uint32_t set, uint32_t path, double assignments)
{
	const PpJoinQuery *query = tree->costs->query;
	double		cost = 0;

	for (uint32_t i = 0; set; i++)
	{
		const uint32_t root = tree->order[i];
		uint32_t	part = UINT32_C(1) << root;
		uint32_t	needs = 0;
		uint32_t	nlists = 0;
		double		times = assignments;
		double		out;
		double		steps;

		if (!(set & part))
			continue;
		for (uint32_t before = 0; before != part;)
		{
			before = part;
			for (uint32_t m = before; m; m &= m - 1)
				part |= tree->adjacent[__builtin_ctz(m)] & set;
		}
		set &= ~part;
		for (uint32_t m = part; m; m &= m - 1)
			needs |= tree->adjacent[__builtin_ctz(m)] & ~part;
		if (needs == 0)
			times = 1;
		else if ((needs & (needs - 1)) == 0 && needs != path)
		{
			extend(tree->costs, 0, (uint32_t) __builtin_ctz(needs), &out, &steps);
			times = times < out ? times : out;
		}
		extend(tree->costs, path, root, &out, &steps);
		for (uint32_t a = 0; a < query->natoms; a++)
			nlists += query->atoms[a].variable[0] == root || query->atoms[a].variable[1] == root;
		/* counted beforehand */
		if (needs && (needs & (needs - 1)) == 0 && query->strategy == PP_JOIN_AUTO &&
			query->nkeys == 0 && pp_plan_clique(query, part | needs, (uint32_t) __builtin_ctz(needs)))
		{
			cost += CLIQUE_STEPS * (double) rows_of(query, root);
			continue;
		}
		/* the length of a list is known */
		if (part == UINT32_C(1) << root && nlists == 1)
			steps = 1;
		cost += times * steps + cost_below(tree, part & ~(UINT32_C(1) << root),
										   path | UINT32_C(1) << root, times * out);
	}
	return cost;
}

static double
cost_of_order(TreeCost *tree, const uint32_t *order)
{
	double		out;
	double		steps;

	tree->order = order;
	extend(tree->costs, 0, order[0], &out, &steps);
	return steps + cost_below(tree, ((UINT32_C(1) << tree->costs->query->nvariables) - 1) &
							  ~(UINT32_C(1) << order[0]), UINT32_C(1) << order[0], out);
}

/* All orders of what is behind place at, best first found. */
static void
try_orders(TreeCost *tree, uint32_t *order, uint32_t at, uint32_t *best, double *least)
{
	const uint32_t n = tree->costs->query->nvariables;

	if (at == n)
	{
		double		cost = cost_of_order(tree, order);

		if (cost < *least)
		{
			*least = cost;
			for (uint32_t i = 0; i < n; i++)
				best[i] = order[i];
		}
		return;
	}
	for (uint32_t i = at; i < n; i++)
	{
		uint32_t	swap = order[at];

		order[at] = order[i];
		order[i] = swap;
		try_orders(tree, order, at + 1, best, least);
		order[i] = order[at];
		order[at] = swap;
	}
}

/* Betters an order for counting; fixed: its first variable has to stay. */
static void
order_for_counting(const Costs *costs, bool fixed, uint32_t *order)
{
	const PpJoinQuery *query = costs->query;
	const uint32_t n = query->nvariables;
	TreeCost	tree;
	uint32_t	other[PP_JOIN_MAX_VARIABLES];
	double		least;

	tree.costs = costs;
	for (uint32_t v = 0; v < n; v++)
		tree.adjacent[v] = 0;
	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const uint32_t *v = query->atoms[a].variable;

		tree.adjacent[v[0]] |= UINT32_C(1) << v[1];
		tree.adjacent[v[1]] |= UINT32_C(1) << v[0];
	}
	for (uint32_t r = 0; r < query->nresiduals; r++)
	{
		const PpJoinResidual *residual = &query->residuals[r];

		tree.adjacent[residual->left] |= UINT32_C(1) << residual->right;
		tree.adjacent[residual->right] |= UINT32_C(1) << residual->left;
	}
	least = cost_of_order(&tree, order);
	for (uint32_t i = 0; i < n; i++)
		other[i] = order[i];
	if (n <= ALL_ORDERS)
	{
		try_orders(&tree, other, fixed, order, &least);
		return;
	}
	/* one variable to another place, as long as that is better */
	for (bool better = true; better;)
	{
		better = false;
		for (uint32_t from = fixed; from < n; from++)
			for (uint32_t to = fixed; to < n; to++)
			{
				double		cost;
				uint32_t	moved = order[from];

				for (uint32_t i = 0, j = 0; i < n; i++)
				{
					j += j == from;
					other[i] = i == to ? moved : order[j++];
				}
				cost = cost_of_order(&tree, other);
				if (cost < least * 0.999)
				{
					least = cost;
					better = true;
					for (uint32_t i = 0; i < n; i++)
						order[i] = other[i];
				}
			}
	}
}

/* ---------- any mode ---------- */

static PpJoinStatus
order_exactly(const Costs *costs, PpBudget *budget, uint32_t first, uint32_t *order)
{
	const uint32_t n = costs->query->nvariables;
	const uint32_t nsets = UINT32_C(1) << n;
	double	   *cost = pp_budget_alloc(budget, nsets, sizeof(double));
	double	   *rows = pp_budget_alloc(budget, nsets, sizeof(double));
	uint8_t    *last = pp_budget_alloc(budget, nsets, sizeof(uint8_t));

	if (cost == NULL || rows == NULL || last == NULL)
	{
		pp_budget_release(budget, cost);
		pp_budget_release(budget, rows);
		pp_budget_release(budget, last);
		return budget->failure;
	}
	for (uint32_t s = 1; s < nsets; s++)
		cost[s] = -1;
	cost[0] = 0;
	rows[0] = 1;
	for (uint32_t s = 0; s < nsets; s++)
	{
		if (cost[s] < 0)
			continue;
		for (uint32_t v = 0; v < n; v++)
		{
			uint32_t	t = s | UINT32_C(1) << v;
			double		out;
			double		steps;

			if (t == s || (s == 0 && first < n && v != first))
				continue;
			extend(costs, s, v, &out, &steps);
			steps = cost[s] + rows[s] * steps;
			if (cost[t] < 0 || steps < cost[t])
			{
				cost[t] = steps;
				rows[t] = rows[s] * out;
				last[t] = (uint8_t) v;
			}
		}
	}
	for (uint32_t s = nsets - 1, i = n; i-- > 0; s &= ~(UINT32_C(1) << last[s]))
		order[i] = last[s];
	pp_budget_release(budget, cost);
	pp_budget_release(budget, rows);
	pp_budget_release(budget, last);
	return PP_JOIN_OK;
}

/* One after another, each the cheapest one to go on with. */
static void
order_greedily(const Costs *costs, uint32_t first, uint32_t *order)
{
	const uint32_t n = costs->query->nvariables;
	uint32_t	bound = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		double		best = -1;

		for (uint32_t v = 0; v < n; v++)
		{
			double		out;
			double		steps;

			if (bound >> v & 1 || (i == 0 && first < n && v != first))
				continue;
			extend(costs, bound, v, &out, &steps);
			if (best < 0 || steps + out < best)
			{
				best = steps + out;
				order[i] = v;
			}
		}
		bound |= UINT32_C(1) << order[i];
	}
}

PpJoinStatus
pp_join_order_by(const PpJoinQuery *query, PpBudget *budget, const PpJoinSides *sides,
				 uint32_t first, uint32_t *order)
{
	const Costs costs = {query, sides};
	PpJoinStatus status = PP_JOIN_OK;

	if (query->nvariables <= EXACT_VARIABLES)
		status = order_exactly(&costs, budget, first, order);
	else
		order_greedily(&costs, first, order);
	if (query->mode != PP_JOIN_ROWS && status == PP_JOIN_OK)
		order_for_counting(&costs, first < query->nvariables, order);
	return status;
}

PpJoinStatus
pp_join_order(const PpJoinQuery *query, PpBudget *budget, const PpCancel *cancel,
			  const PpCodes *codes, uint32_t nkeys, uint32_t first, uint32_t *order)
{
	PpJoinSides *sides = pp_budget_zeros(budget, query->nrelations, sizeof(PpJoinSides));
	PpJoinStatus status = PP_JOIN_OK;

	if (sides == NULL)
		return budget->failure;
	for (uint32_t r = 0; r < query->nrelations && status == PP_JOIN_OK; r++)
	{
		sides[r].nloops = codes[r].nequal;
		for (uint32_t i = 0; i < 2 && codes[r].pairs && status == PP_JOIN_OK; i++)
			status = measure(&sides[r], i, budget, cancel, &codes[r], nkeys);
	}
	if (status == PP_JOIN_OK)
		status = pp_join_order_by(query, budget, sides, first, order);
	pp_budget_release(budget, sides);
	return status;
}
