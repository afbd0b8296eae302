/*
 * src/trie/join_ways.c
 *	  Says which query is a clique of one relation, and how often an undirected
 *	  clique counts where that is the same for all of them.
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
			for (uint32_t b = 0; b < k; b++)
			{
				if ((less[a] | most[a]) >> b & 1)
					less[a] |= less[b];
				if (less[a] >> b & 1)
					less[a] |= most[b];
				if (most[a] >> b & 1)
					most[a] |= most[b];
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
