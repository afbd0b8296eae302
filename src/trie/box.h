/*
 * src/trie/box.h
 *	  Cutting a join into boxes, each of which fits a budget.
 *
 * Each variable's keys fall into a power of two of parts, by the highest bits
 * of a hash with a seed; a box is a part of each variable.  An assignment has
 * one key for each variable and so belongs to exactly one box: the boxes'
 * counts and rows together are those of the whole join.  Of an atom's rows, a
 * box needs those with both keys in the parts of the atom's variables, and of
 * these only the ones whose keys the atoms beside it have as well.  (HyperCube,
 * Afrati and Ullman, EDBT 2010; the boxes of Khamis and others, PODS 2015, are
 * cut in ranges where these are cut by hash.)
 *
 * Boxes come from cutting in halves: first there is one, of everything; the
 * caller tells how many rows it has, and takes it or has it cut.
 *
 * Nothing is allocated.  The query's atoms are read as long as boxes are; its
 * relations are not.
 */
#ifndef PP_BOX_H
#define PP_BOX_H

#include "join.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Cuts of a variable at most. */
#define PP_BOX_MOST_BITS	31u

/* Variable v: the keys whose hash has part[v] in its highest bits[v] bits. */
typedef struct PpBox
{
	uint8_t		bits[PP_JOIN_MAX_VARIABLES];
	uint32_t	part[PP_JOIN_MAX_VARIABLES];
} PpBox;

typedef struct PpBoxes
{
	const PpJoinQuery *query;
	uint64_t	seed;
	PpBox		box;			/* the one in hand */
	bool		started;
	bool		cut;			/* its lower half is next */
	uint32_t	depth;			/* cuts that made it */
	uint8_t		path[PP_BOX_MOST_BITS * PP_JOIN_MAX_VARIABLES];	/* of which variables */
} PpBoxes;

/* Different keys in an atom's columns, roughly, whatever the box. */
typedef struct PpBoxKeys
{
	double		n[PP_JOIN_MAX_ATOMS][2];
} PpBoxKeys;

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

/* Which of 2^bits parts a hash belongs to. */
PP_INLINE uint32_t
pp_box_part(uint32_t hash, uint32_t bits)
{
	return (uint32_t) ((uint64_t) hash >> (32 - bits));
}

PP_INLINE bool
pp_box_has_key(const PpBox *box, uint64_t seed, uint32_t variable, int64_t key)
{
	return box->bits[variable] == 0 ||
		pp_box_part(pp_box_hash(key, seed), box->bits[variable]) == box->part[variable];
}

PP_INLINE bool
pp_box_has_row(const PpBox *box, uint64_t seed, const PpJoinAtom *atom,
			   int64_t key0, int64_t key1)
{
	return pp_box_has_key(box, seed, atom->variable[0], key0) &&
		pp_box_has_key(box, seed, atom->variable[1], key1);
}

/* Begins; seed: kept. */
extern void pp_boxes_begin(PpBoxes *boxes, const PpJoinQuery *query, uint64_t seed);

/* Puts the next box in hand; false: there are no more. */
extern bool pp_boxes_next(PpBoxes *boxes);

/*
 * Which atoms read the same rows in a box: of_atom[a] is the number, from 0,
 * of atom a's, atom_of[i] one of the atoms that read number i.  Answers how
 * many there are.
 */
extern uint32_t pp_box_relations(const PpJoinQuery *query, const PpBox *box,
								 uint32_t *of_atom, uint32_t *atom_of);

/*
 * About how many rows have to be in memory for a box in which the atoms have
 * so many, keys being spread evenly; 0 only if an atom has none.
 * *shared: it takes fewer if those of atoms that read the same rows are there
 * once; otherwise each atom has its own, without those that can join with none
 * of another atom: kept[a] of atom a.
 */
extern double pp_box_estimate(const PpJoinQuery *query, const PpBox *box,
							  const uint64_t *rows, const PpBoxKeys *keys,
							  bool *shared, double *kept);

/* Counts a row of atom number a that is in the box; upper0, upper1: 1 for keys in
 * the upper one of a half, else 0. */
PP_INLINE void
pp_box_tally_halves(PpBoxTally *tally, uint32_t a, int64_t key0, int64_t key1, uint32_t upper0,
					uint32_t upper1)
{
	const int64_t key[2] = {key0, key1};

	tally->upper[a][0] += upper0;
	tally->upper[a][1] += upper1;
	for (uint32_t s = 0; s < 2; s++)
		if (tally->rows[a] == 0)
			tally->key[a][s] = key[s];
		else
			tally->differ[a][s] |= key[s] != tally->key[a][s];
	tally->rows[a]++;
}

/* The same where the halves are of this box, by hash. */
PP_INLINE void
pp_box_tally(PpBoxTally *tally, const PpJoinQuery *query, const PpBox *box, uint64_t seed,
			 uint32_t a, int64_t key0, int64_t key1)
{
	const uint32_t *variable = query->atoms[a].variable;

	pp_box_tally_halves(tally, a, key0, key1, pp_box_hash(key0, seed) >> (31 - box->bits[variable[0]]) & 1,
						pp_box_hash(key1, seed) >> (31 - box->bits[variable[1]]) & 1);
}

/*
 * Cuts the box in hand where its halves are estimated to be smallest; they
 * are given next.  Of an atom that has been counted without looking at the
 * rows, differ has to be set.  NO_FIT: it cannot be cut, as all rows of an atom
 * are alike.
 */
extern PpJoinStatus pp_boxes_cut(PpBoxes *boxes, const PpBoxTally *tally,
								 const PpBoxKeys *keys);

/* Cuts it at a variable that has fewer than PP_BOX_MOST_BITS bits. */
extern void pp_boxes_cut_at(PpBoxes *boxes, uint32_t variable);

#ifdef __cplusplus
}
#endif

#endif							/* PP_BOX_H */
