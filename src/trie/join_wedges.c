/*
 * src/trie/join_wedges.c
 *	  Counting cycles of four variables x, y, z, w: for each x, how many ways
 *	  lead over y to each z, and over w to the same z.  Going through all
 *	  pairs of ways instead would take as long as the answer is large.
 */
#include "join_private.h"

/* So many rows of a relation tell how many wedges there are. */
#define SAMPLE_ROWS		65536u

/*
 * Four variables, four atoms, a cycle, nothing else?  variables: x, y, z, w
 * in the order of the cycle.
 */
bool
pp_wedges_match(const PpJoinQuery *query, uint32_t *variables)
{
	uint32_t	adjacent[4] = {0};

	if (query->nvariables != 4 || query->natoms != 4 || query->nresiduals != 0)
		return false;
	for (uint32_t a = 0; a < 4; a++)
	{
		const uint32_t *v = query->atoms[a].variable;

		adjacent[v[0]] |= 1u << v[1];
		adjacent[v[1]] |= 1u << v[0];
	}
	for (uint32_t v = 0; v < 4; v++)
		if (__builtin_popcount(adjacent[v]) != 2 || adjacent[v] >> v & 1)
			return false;
	variables[0] = 0;
	variables[1] = (uint32_t) __builtin_ctz(adjacent[0]);
	variables[3] = (uint32_t) __builtin_ctz(adjacent[0] & (adjacent[0] - 1));
	variables[2] = 6 - variables[1] - variables[3];
	/* two variables with two neighbours each may have both in common */
	return adjacent[variables[2]] == adjacent[0];
}

/* The atoms of a variable of the cycle, as numbers of 2 * relation + column. */
static void
sides_of(const PpJoinQuery *query, uint32_t variable, uint32_t *sides)
{
	uint32_t	n = 0;

	for (uint32_t a = 0; a < 4; a++)
		for (uint32_t s = 0; s < 2; s++)
			if (query->atoms[a].variable[s] == variable && n < 2)
				sides[n++] = 2 * query->atoms[a].relation + s;
	if (sides[0] > sides[1])
	{
		uint32_t	swap = sides[0];

		sides[0] = sides[1];
		sides[1] = swap;
	}
}

/* About how many pairs of rows have the same key on these sides. */
static double
estimate_wedges(const PpCodes *codes, const uint32_t *sides, uint32_t *count)
{
	double		pairs = 0;
	uint64_t	step[2];

	for (uint32_t s = 0; s < 2; s++)
	{
		const PpCodes *c = &codes[sides[s] / 2];

		step[s] = 1 + c->nrows / SAMPLE_ROWS;
		for (uint64_t i = 0; i < c->nrows; i += step[s])
		{
			const uint32_t key = c->pairs[2 * i + sides[s] % 2];

			if (s == 0)
				count[key]++;
			else
				pairs += count[key];
		}
	}
	return pairs * (double) step[0] * (double) step[1];
}

/*
 * Turns the cycle by one if fewer wedges have x and z in their middle than y
 * and w.  In skewed graphs that are stored in one direction, there may be a
 * hundred times fewer.
 */
PpJoinStatus
pp_wedges_turn(const PpJoinQuery *query, PpBudget *budget, const PpCodes *codes, uint32_t nkeys,
			   uint32_t *variables)
{
	uint32_t	sides[4][2];
	double		wedges[4];

	for (uint32_t v = 0; v < 4; v++)
	{
		uint32_t	same = 0;

		sides_of(query, variables[v], sides[v]);
		while (same < v && (sides[same][0] != sides[v][0] || sides[same][1] != sides[v][1]))
			same++;
		if (same < v)
			wedges[v] = wedges[same];
		else
		{
			uint32_t   *count = pp_budget_zeros(budget, nkeys, sizeof(uint32_t));

			if (count == NULL)
				return budget->failure;
			wedges[v] = estimate_wedges(codes, sides[v], count);
			pp_budget_release(budget, count);
		}
	}
	if (wedges[0] + wedges[2] < wedges[1] + wedges[3])
	{
		uint32_t	first = variables[0];

		for (uint32_t v = 0; v < 3; v++)
			variables[v] = variables[v + 1];
		variables[3] = first;
	}
	return PP_JOIN_OK;
}

PpJoinStatus
pp_wedges_open(PpJoinRun *run)
{
	const uint32_t n = run->join->dict.n;

	/* ways to each z, and the z that any leads to, with room for one too many */
	run->scratch[0] = pp_budget_zeros(&run->budget, n, sizeof(uint64_t));
	run->scratch[1] = pp_budget_alloc(&run->budget, (uint64_t) n + 1, sizeof(uint32_t));
	return run->scratch[0] && run->scratch[1] ? PP_JOIN_OK : run->budget.failure;
}

bool
pp_wedges_count(PpJoinRun *run, PpUint128 *count)
{
	const PpJoin *join = run->join;
	const PpTrie *xy = &join->tries[join->wedge[0]];
	const PpTrie *yz = &join->tries[join->wedge[1]];
	const PpTrie *xw = &join->tries[join->wedge[2]];
	const PpTrie *wz = &join->tries[join->wedge[3]];
	uint64_t   *ways = run->scratch[0];
	uint32_t   *met = run->scratch[1];

	*count = 0;
	for (uint32_t x = run->from; x < run->to; x++)
	{
		uint32_t	nmet = 0;

		if (!pp_run_work(run, 2))
			return false;
		if (xw->start[x] == xw->start[x + 1])
			continue;
		for (uint32_t i = xy->start[x]; i < xy->start[x + 1]; i++)
		{
			uint32_t	y = xy->list[i];
			uint64_t	weight = pp_trie_weight(xy, i);

			for (uint32_t j = yz->start[y]; j < yz->start[y + 1]; j++)
			{
				uint32_t	z = yz->list[j];

				/* fewer than 2^31 times 2^31 in all */
				met[nmet] = z;
				nmet += ways[z] == 0;
				ways[z] += weight * pp_trie_weight(yz, j);
			}
			if (!pp_run_work(run, yz->start[y + 1] - yz->start[y]))
				return false;
			run->seeks++;
		}
		for (uint32_t i = xw->start[x]; i < xw->start[x + 1] && nmet > 0; i++)
		{
			uint32_t	w = xw->list[i];
			uint64_t	weight = pp_trie_weight(xw, i);
			PpUint128	sum = 0;

			/* pairs of ways are fewer than 2^124 in all */
			for (uint32_t j = wz->start[w]; j < wz->start[w + 1]; j++)
				sum += (PpUint128) ways[wz->list[j]] * pp_trie_weight(wz, j);
			*count += sum * weight;
			if (!pp_run_work(run, wz->start[w + 1] - wz->start[w]))
				return false;
			run->seeks++;
		}
		for (uint32_t i = 0; i < nmet; i++)
			ways[met[i]] = 0;
	}
	return true;
}
