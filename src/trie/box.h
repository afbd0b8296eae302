/*
 * src/trie/box.h
 *	  Cutting a join into boxes, each of which fits a budget.
 *
 * Each variable's keys fall into a power of two of parts, by a hash with a
 * seed; a box is a part of each variable.  An assignment has one key for each
 * variable and so belongs to exactly one box: the boxes' counts and rows
 * together are those of the whole join.  Of an atom's rows, a box needs those
 * with both keys in the parts of the atom's variables.  (HyperCube, Afrati and
 * Ullman, EDBT 2010; the boxes of Khamis and others, PODS 2015, are cut in
 * ranges where these are cut by hash.)
 *
 * Nothing is allocated.  The query's atoms are read as long as boxes are;
 * of its relations only the numbers of rows matter, and only in the beginning.
 */
#ifndef PP_BOX_H
#define PP_BOX_H

#include "join.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Cuts of a variable at most, and of all together when boxes are planned. */
#define PP_BOX_MOST_BITS	31u
#define PP_BOX_PLAN_BITS	30u

/* Halves that wait while others are gone through. */
#define PP_BOX_WAITING		128u

/* Variable v: the keys whose hash has part[v] in its lowest bits[v] bits. */
typedef struct PpBox
{
	uint8_t		bits[PP_JOIN_MAX_VARIABLES];
	uint32_t	part[PP_JOIN_MAX_VARIABLES];
} PpBox;

typedef struct PpBoxes
{
	const PpJoinQuery *query;
	uint64_t	seed;
	uint8_t		bits[PP_JOIN_MAX_VARIABLES];	/* of the first cut */
	uint64_t	nboxes;			/* of the first cut */
	uint64_t	next;			/* one of them */
	bool		group_ends;		/* GROUPS: keys of later boxes are none of those so
								 * far; of the box that pp_boxes_next() gave last */
	uint32_t	nwaiting;
	PpBox		waiting[PP_BOX_WAITING];
} PpBoxes;

/* What rows a box has; all zero to begin with. */
typedef struct PpBoxTally
{
	uint64_t	rows[PP_JOIN_MAX_ATOMS];
	uint64_t	upper[PP_JOIN_MAX_ATOMS][2];	/* whose keys are in a half's upper one */
	int64_t		key[PP_JOIN_MAX_ATOMS][2];	/* of the first row */
	bool		differ[PP_JOIN_MAX_ATOMS][2];	/* not all keys are that one */
} PpBoxTally;

PP_INLINE uint32_t
pp_box_hash(int64_t key, uint64_t seed)
{
	uint64_t	k = ((uint64_t) key ^ seed) * UINT64_C(0x9e3779b97f4a7c15);

	k ^= k >> 32;
	k = (k ^ seed >> 7) * UINT64_C(0xd6e8feb86659fd93);
	k ^= k >> 32;
	k *= UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t) (k >> 32);
}

PP_INLINE bool
pp_box_has_key(const PpBox *box, uint64_t seed, uint32_t variable, int64_t key)
{
	return box->bits[variable] == 0 ||
		(pp_box_hash(key, seed) & ((UINT32_C(1) << box->bits[variable]) - 1)) == box->part[variable];
}

PP_INLINE bool
pp_box_has_row(const PpBox *box, uint64_t seed, const PpJoinAtom *atom,
			   int64_t key0, int64_t key1)
{
	return pp_box_has_key(box, seed, atom->variable[0], key0) &&
		pp_box_has_key(box, seed, atom->variable[1], key1);
}

/*
 * Plans the first cut: as few boxes as will do if a box may take budget bytes
 * and a row, in a box, takes row_bytes, keys being spread evenly.  False: even
 * 2^PP_BOX_PLAN_BITS boxes would not do; then they are the plan.  seed: kept.
 */
extern bool pp_boxes_begin(PpBoxes *boxes, const PpJoinQuery *query, size_t budget,
						   size_t row_bytes, uint64_t seed);

/* The next box; false: there are no more. */
extern bool pp_boxes_next(PpBoxes *boxes, PpBox *box);

/*
 * Which atoms read the same rows in a box: of_atom[a] is the number, from 0,
 * of atom a's, atom_of[i] one of the atoms that read number i.  Answers how
 * many there are.
 */
extern uint32_t pp_box_relations(const PpJoinQuery *query, const PpBox *box,
								 uint32_t *of_atom, uint32_t *atom_of);

/* Counts a row of atom number a that is in the box. */
PP_INLINE void
pp_box_tally(PpBoxTally *tally, const PpJoinQuery *query, const PpBox *box, uint64_t seed,
			 uint32_t a, int64_t key0, int64_t key1)
{
	for (uint32_t s = 0; s < 2; s++)
	{
		int64_t		key = s == 0 ? key0 : key1;

		tally->upper[a][s] += pp_box_hash(key, seed) >> box->bits[query->atoms[a].variable[s]] & 1;
		if (tally->rows[a] == 0)
			tally->key[a][s] = key;
		else
			tally->differ[a][s] |= key != tally->key[a][s];
	}
	tally->rows[a]++;
}

/*
 * Puts the halves of a box that does not fit in its place, to be given next.
 * NO_FIT: it cannot be cut, as all rows of an atom are alike.
 */
extern PpJoinStatus pp_boxes_refine(PpBoxes *boxes, const PpBox *box, const PpBoxTally *tally);

#ifdef __cplusplus
}
#endif

#endif							/* PP_BOX_H */
