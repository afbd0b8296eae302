/*
 * src/trie/box.c
 *	  Plans boxes, goes through them, cuts those that do not fit.
 */
#include <string.h>

#include "box.h"

/* Plans with equally many boxes that are looked at further. */
#define PLANS			32u

typedef struct Plan
{
	uint8_t		bits[PP_JOIN_MAX_VARIABLES];
	double		bytes;			/* of a box */
} Plan;

/*
 * Do two atoms read the same rows in every box?  They do in some boxes more,
 * which does not help the others.
 */
static bool
always_same(const PpJoinQuery *query, const uint8_t *bits, uint32_t a, uint32_t b)
{
	const PpJoinAtom *one = &query->atoms[a];
	const PpJoinAtom *two = &query->atoms[b];

	if (one->relation != two->relation)
		return false;
	for (uint32_t s = 0; s < 2; s++)
		if (one->variable[s] != two->variable[s] &&
			(bits[one->variable[s]] > 0 || bits[two->variable[s]] > 0))
			return false;
	return true;
}

static double
box_bytes(const PpJoinQuery *query, const uint8_t *bits, size_t row_bytes)
{
	double		bytes = 0;

	for (uint32_t a = 0; a < query->natoms; a++)
	{
		const PpJoinAtom *atom = &query->atoms[a];
		uint32_t	cuts = bits[atom->variable[0]];
		bool		counted = false;

		if (atom->variable[1] != atom->variable[0])
			cuts += bits[atom->variable[1]];
		for (uint32_t b = 0; b < a; b++)
			counted |= always_same(query, bits, a, b);
		if (!counted)
			bytes += (double) query->relations[atom->relation].nrows * (double) row_bytes /
				(double) (UINT64_C(1) << cuts);
	}
	/* cut where groups fall apart if that is as good */
	if (query->mode == PP_JOIN_GROUPS)
		bytes *= 1 - 1e-6 * bits[query->group];
	return bytes;
}

/* Keeps a plan if it is among the best so far, and new. */
static void
keep_plan(Plan *plans, uint32_t *n, const Plan *plan)
{
	uint32_t	i = *n;

	for (uint32_t j = 0; j < *n; j++)
		if (memcmp(plans[j].bits, plan->bits, sizeof(plan->bits)) == 0)
			return;
	if (*n == PLANS && plans[*n - 1].bytes <= plan->bytes)
		return;
	if (*n < PLANS)
		++*n;
	else
		i--;
	for (; i > 0 && plans[i - 1].bytes > plan->bytes; i--)
		plans[i] = plans[i - 1];
	plans[i] = *plan;
}

bool
pp_boxes_begin(PpBoxes *boxes, const PpJoinQuery *query, size_t budget, size_t row_bytes,
			   uint64_t seed)
{
	Plan		plans[PLANS];
	uint32_t	n = 1;
	uint32_t	cuts = 0;

	memset(boxes, 0, sizeof(*boxes));
	boxes->query = query;
	boxes->seed = seed;
	memset(plans, 0, sizeof(plans));
	plans[0].bytes = box_bytes(query, plans[0].bits, row_bytes);
	while (plans[0].bytes > (double) budget && cuts < PP_BOX_PLAN_BITS)
	{
		Plan		more[PLANS];
		uint32_t	nmore = 0;

		for (uint32_t i = 0; i < n; i++)
			for (uint32_t v = 0; v < query->nvariables; v++)
			{
				Plan		plan = plans[i];

				plan.bits[v]++;
				plan.bytes = box_bytes(query, plan.bits, row_bytes);
				keep_plan(more, &nmore, &plan);
			}
		memcpy(plans, more, nmore * sizeof(Plan));
		n = nmore;
		cuts++;
	}
	memcpy(boxes->bits, plans[0].bits, sizeof(boxes->bits));
	boxes->nboxes = UINT64_C(1) << cuts;
	return plans[0].bytes <= (double) budget;
}

/* Box number i of the first cut: the group variable's part changes last. */
static void
nth_box(const PpBoxes *boxes, uint64_t i, PpBox *box)
{
	const PpJoinQuery *query = boxes->query;
	const bool	groups = query->mode == PP_JOIN_GROUPS;

	memset(box, 0, sizeof(*box));
	for (uint32_t v = query->nvariables; v-- > 0;)
	{
		box->bits[v] = boxes->bits[v];
		if (groups && v == query->group)
			continue;
		box->part[v] = (uint32_t) (i & ((UINT64_C(1) << boxes->bits[v]) - 1));
		i >>= boxes->bits[v];
	}
	if (groups)
		box->part[query->group] = (uint32_t) i;
}

bool
pp_boxes_next(PpBoxes *boxes, PpBox *box)
{
	if (boxes->nwaiting > 0)
		*box = boxes->waiting[--boxes->nwaiting];
	else if (boxes->next < boxes->nboxes)
		nth_box(boxes, boxes->next++, box);
	else
		return false;
	boxes->group_ends = boxes->nwaiting == 0 && boxes->next == boxes->nboxes;
	if (boxes->nwaiting == 0 && boxes->next < boxes->nboxes &&
		boxes->query->mode == PP_JOIN_GROUPS && boxes->bits[boxes->query->group] > 0)
	{
		const uint32_t mask = (UINT32_C(1) << boxes->bits[boxes->query->group]) - 1;
		PpBox		after;

		nth_box(boxes, boxes->next, &after);
		boxes->group_ends = after.part[boxes->query->group] !=
			(box->part[boxes->query->group] & mask);
	}
	return true;
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

PpJoinStatus
pp_boxes_refine(PpBoxes *boxes, const PpBox *box, const PpBoxTally *tally)
{
	const PpJoinQuery *query = boxes->query;
	uint32_t	best = query->nvariables;
	uint64_t	least = 0;
	PpBox		half = *box;

	if (boxes->nwaiting + 2 > PP_BOX_WAITING)
		return PP_JOIN_NO_FIT;
	for (uint32_t v = 0; v < query->nvariables; v++)
	{
		uint64_t	lower = 0;
		uint64_t	upper = 0;
		bool		differ = false;

		if (box->bits[v] >= PP_BOX_MOST_BITS)
			continue;
		for (uint32_t a = 0; a < query->natoms; a++)
		{
			const PpJoinAtom *atom = &query->atoms[a];

			if (atom->variable[0] != v && atom->variable[1] != v)
			{
				lower += tally->rows[a];
				upper += tally->rows[a];
			}
			else
			{
				const uint32_t s = atom->variable[0] == v ? 0 : 1;

				lower += tally->rows[a] - tally->upper[a][s];
				upper += tally->upper[a][s];
				differ |= tally->differ[a][s] ||
					(atom->variable[1] == v && tally->differ[a][1]);
			}
		}
		/* a half as large as the whole is only of use if halves of it are not */
		if (differ && (best == query->nvariables || (lower > upper ? lower : upper) < least))
		{
			best = v;
			least = lower > upper ? lower : upper;
		}
	}
	if (best == query->nvariables)
		return PP_JOIN_NO_FIT;
	half.bits[best]++;
	half.part[best] |= UINT32_C(1) << box->bits[best];
	boxes->waiting[boxes->nwaiting++] = half;
	half.part[best] = box->part[best];
	boxes->waiting[boxes->nwaiting++] = half;
	return PP_JOIN_OK;
}
