/*
 * src/trie/join_ways.c
 *	  Says which query is a clique of one relation, and how often an undirected
 *	  clique counts: where that is the same for all of them, or of triangles by
 *	  directions and loops.
 *
 * Plain functions of a query: no memory, no rows.
 */
#include <string.h>

#include "join_ways.h"

bool
pp_clique_match(const PpJoinQuery *query)
{
	const uint32_t k = query->nvariables;
	uint32_t	adjacent[PP_JOIN_MAX_VARIABLES] = {0};

	if (k < PP_LEAST_CLIQUE || k > PP_GREATEST_CLIQUE || query->natoms != k * (k - 1) / 2)
		return false;
	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const PpJoinAtom *atom = &query->atoms[a];

		if (atom->relation != query->atoms[0].relation)
			return false;
		adjacent[atom->variable[0]] |= 1u << atom->variable[1];
		adjacent[atom->variable[1]] |= 1u << atom->variable[0];
	}
	/* as many atoms as pairs, and each pair has one: exactly one each */
	for (uint32_t v = 0; v < k; v++)
		if (adjacent[v] != (((1u << k) - 1) & ~(1u << v)))
			return false;
	return true;
}

bool
pp_compare_holds(PpJoinCompare op, uint32_t left, uint32_t right)
{
	switch (op)
	{
		case PP_JOIN_LT:
			return left < right;
		case PP_JOIN_LE:
			return left <= right;
		case PP_JOIN_GT:
			return left > right;
		case PP_JOIN_GE:
			return left >= right;
		default:
			return left != right;
	}
}

bool
pp_clique_distinct(const PpJoinQuery *query)
{
	const uint32_t k = query->nvariables;
	uint32_t	less[PP_JOIN_MAX_VARIABLES] = {0};	/* sets of variables: greater keys, ... */
	uint32_t	most[PP_JOIN_MAX_VARIABLES] = {0};	/* ... not lesser ones, ... */
	uint32_t	differ[PP_JOIN_MAX_VARIABLES] = {0};	/* ... and others */

	for (uint32_t r = 0; r < query->nresiduals; r++)
	{
		const PpJoinResidual *residual = &query->residuals[r];
		const bool	up = residual->op == PP_JOIN_LT || residual->op == PP_JOIN_LE;
		const uint32_t a = up ? residual->left : residual->right;
		const uint32_t b = up ? residual->right : residual->left;

		if (residual->op == PP_JOIN_NE)
		{
			differ[a] |= UINT32_C(1) << b;
			differ[b] |= UINT32_C(1) << a;
		}
		else if (residual->op == PP_JOIN_LT || residual->op == PP_JOIN_GT)
			less[a] |= UINT32_C(1) << b;
		else
			most[a] |= UINT32_C(1) << b;
	}
	/* what is greater than the greater */
	for (uint32_t turn = 0; turn < k; turn++)
		for (uint32_t a = 0; a < k; a++)
		{
			/* not lesser, and another one */
			less[a] |= most[a] & differ[a];
			for (uint32_t b = 0; b < k; b++)
			{
				if ((less[a] | most[a]) >> b & 1)
					less[a] |= less[b];
				if (less[a] >> b & 1)
					less[a] |= most[b];
				if (most[a] >> b & 1)
					most[a] |= most[b];
			}
		}
	for (uint32_t a = 0; a < k; a++)
		for (uint32_t b = 0; b < a; b++)
			if (!((less[a] | differ[a]) >> b & 1) && !(less[b] >> a & 1))
				return false;
	return true;
}

/* The next permutation in lexical order; false: there is none. */
static bool
permute(uint32_t *p, uint32_t n)
{
	uint32_t	i = n - 1;
	uint32_t	j = n - 1;
	uint32_t	swap;

	while (i > 0 && p[i - 1] > p[i])
		i--;
	if (i == 0)
		return false;
	while (p[j] < p[i - 1])
		j--;
	swap = p[i - 1];
	p[i - 1] = p[j];
	p[j] = swap;
	for (j = n - 1; i < j; i++, j--)
	{
		swap = p[i];
		p[i] = p[j];
		p[j] = swap;
	}
	return true;
}

uint64_t
pp_clique_ways(const PpJoinQuery *query, PpEdgeKind kind, uint64_t *by_place)
{
	uint32_t	p[PP_GREATEST_CLIQUE];
	uint64_t	n = 0;

	for (uint32_t i = 0; i < query->nvariables; i++)
		p[i] = i;
	if (by_place)
		memset(by_place, 0, query->nvariables * sizeof(uint64_t));
	do
	{
		bool		fits = true;

		for (uint32_t a = 0; a < query->natoms && kind != PP_EDGES_SYMMETRIC; a++)
		{
			bool		up = p[query->atoms[a].variable[0]] < p[query->atoms[a].variable[1]];

			fits &= up == (kind == PP_EDGES_INCREASING);
		}
		for (uint32_t r = 0; r < query->nresiduals; r++)
			fits &= pp_compare_holds(query->residuals[r].op, p[query->residuals[r].left],
									 p[query->residuals[r].right]);
		n += fits;
		if (by_place)
			by_place[p[query->group]] += fits;
	} while (permute(p, query->nvariables));
	return n;
}

/* A map of the three variables to vertices, in an order of these. */
static void
add_triangle_way(const PpJoinQuery *query, const uint32_t *vertex, uint32_t used, uint32_t order,
				 PpTriangleWays *ways)
{
	static const uint32_t edge[3][3] = {{0, 0, 1}, {0, 0, 2}, {1, 2, 0}};
	const uint32_t less[3] = {order & 1, order >> 1 & 1, order >> 2};
	const uint32_t key[3] = {2 - less[0] - less[1], 1 + less[0] - less[2], less[1] + less[2]};
	const uint32_t whom = vertex[query->group];
	uint32_t	directions = 0;
	uint32_t	back = 0;

	/* keys in a circle are in no order */
	if (used == 7 && key[0] == key[1])
		return;
	for (uint32_t r = 0; r < query->nresiduals; r++)
		if (!pp_compare_holds(query->residuals[r].op, key[vertex[query->residuals[r].left]],
							  key[vertex[query->residuals[r].right]]))
			return;
	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const uint32_t from = vertex[query->atoms[a].variable[0]];
		const uint32_t to = vertex[query->atoms[a].variable[1]];

		if (from > to)
		{
			directions |= UINT32_C(1) << edge[from][to];
			back++;
		}
	}
	if (used == 7)
	{
		ways->three[order][whom] += UINT64_C(1) << 8 * directions;
		ways->three[order][PP_WAYS_ALL] += UINT64_C(1) << 8 * directions;
	}
	else if (used == 3)
	{
		const uint32_t which = vertex[0] + vertex[1] + vertex[2] > 1;

		ways->two[order][which][whom] += UINT32_C(1) << 8 * back;
		ways->two[order][which][PP_WAYS_ALL] += UINT32_C(1) << 8 * back;
	}
	else
		ways->one++;
}

void
pp_triangle_ways(const PpJoinQuery *query, PpTriangleWays *ways)
{
	memset(ways, 0, sizeof(*ways));
	for (uint32_t map = 0; map < 27; map++)
	{
		const uint32_t vertex[3] = {map % 3, map / 3 % 3, map / 9};
		const uint32_t used = UINT32_C(1) << vertex[0] | UINT32_C(1) << vertex[1] |
			UINT32_C(1) << vertex[2];
		const uint32_t norders = used == 7 ? 8 : used == 3 ? 2 : used == 1;

		for (uint32_t order = 0; order < norders; order++)
			add_triangle_way(query, vertex, used, order, ways);
	}
}
