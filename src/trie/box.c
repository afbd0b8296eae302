/*
 * src/trie/box.c
 *	  Goes through boxes, estimates their sizes, cuts them.
 */
#include <string.h>

#include "box.h"

/* How far restrictions are followed from atom to atom. */
#define ROUNDS		3u

void
pp_boxes_begin(PpBoxes *boxes, const PpJoinQuery *query, uint64_t seed)
{
	memset(boxes, 0, sizeof(*boxes));
	boxes->query = query;
	boxes->seed = seed;
}

bool
pp_boxes_next(PpBoxes *boxes)
{
	PpBox	   *box = &boxes->box;

	if (!boxes->started)
	{
		boxes->started = true;
		return true;
	}
	if (boxes->cut)
	{
		boxes->cut = false;
		return true;
	}

	/* behind an upper half, what was cut is done with */
	while (boxes->depth > 0)
	{
		const uint32_t v = boxes->path[boxes->depth - 1];

		if ((box->part[v] & 1) == 0)
		{
			box->part[v]++;
			return true;
		}
		box->part[v] >>= 1;
		box->bits[v]--;
		boxes->depth--;
	}
	return false;
}

uint32_t
pp_box_relations(const PpJoinQuery *query, const PpBox *box, uint32_t *of_atom,
				 uint32_t *atom_of)
{
	uint32_t	n = 0;

	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const PpJoinAtom *atom = &query->atoms[a];
		uint32_t	i;

		for (i = 0; i < n; i++)
		{
			const PpJoinAtom *other = &query->atoms[atom_of[i]];
			bool		same = other->relation == atom->relation;

			for (uint32_t s = 0; s < 2; s++)
				same &= box->bits[atom->variable[s]] == box->bits[other->variable[s]] &&
					box->part[atom->variable[s]] == box->part[other->variable[s]];
			if (same)
				break;
		}
		of_atom[a] = i;
		if (i == n)
			atom_of[n++] = a;
	}
	return n;
}

/* Different keys among so many rows, each with one of n keys: n (1 - e^(-rows/n)), about. */
static double
different(double rows, double n)
{
	double		x = 1 + rows / n / 4;

	x *= x;
	return n * (1 - 1 / (x * x));
}

/* Rows of each atom that have partners; answers their sum. */
static double
estimate_kept(const PpJoinQuery *query, const PpBox *box, const uint64_t *rows,
			  const PpBoxKeys *keys, double *kept)
{
	double		own[PP_JOIN_MAX_ATOMS][2];	/* keys that the column may have here */
	double		all[PP_JOIN_MAX_VARIABLES] = {0};	/* the most of a column */
	double		sum = 0;

	for (uint32_t a = 0; a < query->natoms; a++)
	{
		kept[a] = (double) rows[a];
		for (uint32_t s = 0; s < 2; s++)
		{
			const uint32_t v = query->atoms[a].variable[s];

			own[a][s] = keys->n[a][s] / (double) (UINT64_C(1) << box->bits[v]);
			if (own[a][s] < 1)
				own[a][s] = 1;
			if (all[v] < own[a][s])
				all[v] = own[a][s];
		}
	}
	for (uint32_t round = 0; round < ROUNDS; round++)
	{
		double		has[PP_JOIN_MAX_ATOMS][2];	/* the chance that a key is there */
		double		chance[PP_JOIN_MAX_VARIABLES];	/* ... in all atoms */

		for (uint32_t v = 0; v < query->nvariables; v++)
			chance[v] = 1;
		for (uint32_t a = 0; a < query->natoms; a++)
			for (uint32_t s = 0; s < 2; s++)
			{
				const uint32_t v = query->atoms[a].variable[s];

				/* not nothing, by which to divide */
				has[a][s] = different(kept[a], own[a][s]) / all[v] + 1e-9;
				if (has[a][s] > 1)
					has[a][s] = 1;
				chance[v] *= has[a][s];
			}
		sum = 0;
		for (uint32_t a = 0; a < query->natoms; a++)
		{
			kept[a] = (double) rows[a];
			for (uint32_t s = 0; s < 2; s++)
				kept[a] *= chance[query->atoms[a].variable[s]] / has[a][s];
			sum += kept[a];
		}
	}
	return sum;
}

double
pp_box_estimate(const PpJoinQuery *query, const PpBox *box, const uint64_t *rows,
				const PpBoxKeys *keys, bool *shared, double *kept)
{
	uint32_t	of_atom[PP_JOIN_MAX_ATOMS];
	uint32_t	atom_of[PP_JOIN_MAX_ATOMS];
	uint32_t	ninputs = pp_box_relations(query, box, of_atom, atom_of);
	double		all = 0;
	double		sum;

	*shared = true;
	for (uint32_t a = 0; a < query->natoms; a++)
		if (rows[a] == 0)
			return 0;
	for (uint32_t i = 0; i < ninputs; i++)
		all += (double) rows[atom_of[i]];
	sum = estimate_kept(query, box, rows, keys, kept);

	/* looking for partners takes time, too */
	*shared = all <= sum * 1.25;
	if (*shared)
		sum = all;
	return sum < 1 ? 1 : sum;
}

PpJoinStatus
pp_boxes_cut(PpBoxes *boxes, const PpBoxTally *tally, const PpBoxKeys *keys)
{
	const PpJoinQuery *query = boxes->query;
	PpBox	   *box = &boxes->box;
	uint32_t	best = query->nvariables;
	double		least = 0;

	for (uint32_t v = 0; v < query->nvariables; v++)
	{
		uint64_t	rows[2][PP_JOIN_MAX_ATOMS];
		double		kept[PP_JOIN_MAX_ATOMS];
		double		size = 0;
		uint64_t	sum = 0;
		bool		differ = false;
		bool		shared;
		PpBox		half = *box;

		if (box->bits[v] >= PP_BOX_MOST_BITS)
			continue;
		for (uint32_t a = 0; a < query->natoms; a++)
		{
			const PpJoinAtom *atom = &query->atoms[a];

			rows[0][a] = rows[1][a] = tally->rows[a];
			for (uint32_t s = 0; s < 2; s++)
				if (atom->variable[s] == v)
				{
					rows[0][a] = tally->rows[a] - tally->upper[a][s];
					rows[1][a] = tally->upper[a][s];
					differ |= tally->differ[a][s];
				}
			sum += rows[0][a] + rows[1][a];
		}
		if (!differ)
			continue;
		half.bits[v]++;
		half.part[v] <<= 1;
		for (uint32_t h = 0; h < 2; h++)
		{
			double		here;

			half.part[v] |= h;
			here = pp_box_estimate(query, &half, rows[h], keys, &shared, kept);
			if (size < here)
				size = here;
		}
		/* what is read for both halves counts as well, if for less */
		size *= size * (double) sum;
		if (best == query->nvariables || size < least)
		{
			best = v;
			least = size;
		}
	}
	if (best == query->nvariables)
		return PP_JOIN_NO_FIT;
	pp_boxes_cut_at(boxes, best);
	return PP_JOIN_OK;
}

void
pp_boxes_cut_at(PpBoxes *boxes, uint32_t variable)
{
	boxes->box.bits[variable]++;
	boxes->box.part[variable] <<= 1;
	boxes->path[boxes->depth++] = (uint8_t) variable;
	boxes->cut = true;
}
