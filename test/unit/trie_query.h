/*
 * test/unit/trie_query.h
 *	  What tests of the join engine share: a count from beginning to end.
 */
#ifndef TRIE_QUERY_H
#define TRIE_QUERY_H

#include "trie/join.h"
#include "unit.h"

__extension__ typedef unsigned __int128 Uint128;

/* By PpJoinStrategy. */
extern const char *const strategy_name[];

/* Does the comparison hold? */
extern bool query_compares(PpJoinCompare op, int64_t a, int64_t b);

/* How a count was done; zeros where it failed. */
typedef struct Counted
{
	Uint128		count;
	PpJoinStrategy strategy;
	const char *dictionary;
	size_t		peak_bytes;		/* of build and runs */
} Counted;

/*
 * Builds and counts in nparts parts, or, if 0, by query->threads threads; the
 * query's mode becomes COUNT.
 */
extern PpJoinStatus count_query(PpJoinQuery *query, uint32_t nparts, Counted *counted);

/*
 * Sums up groups, by each variable, and counts rows: facts of the case that
 * there are so many.  With one thread and with two.
 */
extern void check_modes(PpJoinQuery *query, Uint128 want);

#endif							/* TRIE_QUERY_H */
