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

/* One side of a relation. */
typedef struct Side
{
	double		nkeys;			/* different ones */
	double		length;			/* of the list met over an edge */
} Side;

typedef struct Costs
{
	const PpJoinQuery *query;
	Side		side[PP_JOIN_MAX_RELATIONS][2];
	double		nloops[PP_JOIN_MAX_RELATIONS];
} Costs;

static PpJoinStatus
measure(Side *side, PpBudget *budget, const PpCancel *cancel, const PpCodes *codes,
		uint32_t column, uint32_t nkeys)
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
		n += count[k] > 0;
		sum += count[k];
		squares += (double) count[k] * count[k];
	}
	pp_budget_release(budget, count);
	side->nkeys = all ? n : n * SAMPLE;
	side->length = sum > 0 ? squares / sum : 0;
	if (side->nkeys < 1)
		side->nkeys = 1;
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
		const Side *side = costs->side[atom->relation];

		for (uint32_t i = 0; i < 2; i++)
			if (atom->variable[i] == v && side[i].nkeys > universe)
				universe = side[i].nkeys;
	}
	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const PpJoinAtom *atom = &query->atoms[a];
		const Side *side = costs->side[atom->relation];
		double		length;

		if (atom->variable[0] == v && atom->variable[1] == v)
			length = costs->nloops[atom->relation];
		else if (atom->variable[0] == v && bound >> atom->variable[1] & 1)
			length = side[1].length;
		else if (atom->variable[1] == v && bound >> atom->variable[0] & 1)
			length = side[0].length;
		else
		{
			/* no list yet, but v has to be one of its keys */
			for (uint32_t i = 0; i < 2; i++)
				if (atom->variable[i] == v)
					share *= side[i].nkeys / universe;
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
pp_join_order(const PpJoinQuery *query, PpBudget *budget, const PpCancel *cancel,
			  const PpCodes *codes, uint32_t nkeys, uint32_t first, uint32_t *order)
{
	Costs	   *costs = pp_budget_alloc(budget, 1, sizeof(Costs));
	PpJoinStatus status = PP_JOIN_OK;

	if (costs == NULL)
		return budget->failure;
	costs->query = query;
	for (uint32_t r = 0; r < query->nrelations && status == PP_JOIN_OK; r++)
	{
		costs->nloops[r] = codes[r].nequal;
		for (uint32_t i = 0; i < 2 && codes[r].pairs && status == PP_JOIN_OK; i++)
			status = measure(&costs->side[r][i], budget, cancel, &codes[r], i, nkeys);
	}
	if (status == PP_JOIN_OK)
	{
		if (query->nvariables <= EXACT_VARIABLES)
			status = order_exactly(costs, budget, first, order);
		else
			order_greedily(costs, first, order);
	}
	pp_budget_release(budget, costs);
	return status;
}
