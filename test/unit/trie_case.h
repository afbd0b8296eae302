/*
 * test/unit/trie_case.h
 *	  What tests of the join engine on random queries share: the generator, the
 *	  answer by nested loops, and a run that is compared with it.
 */
#ifndef TRIE_CASE_H
#define TRIE_CASE_H

#include "trie/join.h"
#include "unit.h"

#define MAX_RELATIONS	3

/* A query, its relations and its answer; drop_case() releases them. */
typedef struct Case
{
	PpJoinQuery query;
	PpJoinAtom	atoms[16];
	PpJoinResidual residuals[6];
	PpJoinRelation relations[MAX_RELATIONS];
	int64_t    *pairs[MAX_RELATIONS];

	/* the answer: variables' keys, then atoms' rows */
	uint32_t	width;
	uint64_t	n;
	uint64_t	room;
	int64_t    *tuples;
} Case;

/* The key of number d; styles 0 to 2 make a direct dictionary, one by rank, and a hash. */
extern int64_t make_key(uint32_t style, uint32_t d);

/* A random query over random relations, with its answer. */
extern void make_case(Case *c, UnitRandom *r);
extern void drop_case(Case *c);

/* Sets mode number m of those there are; false: there are no more. */
extern bool set_mode(Case *c, uint32_t m);

/*
 * Runs the query in its mode, within a budget of bytes, in nparts parts (or, if
 * 1, by its threads), taking capacity rows at a time, and compares with the
 * answer; any status but PP_JOIN_OK is handed on.
 */
extern PpJoinStatus run_case(const Case *c, UnitHeap *heap, size_t budget, uint32_t nparts,
							 size_t capacity, PpJoinStrategy *strategy);

#endif							/* TRIE_CASE_H */
