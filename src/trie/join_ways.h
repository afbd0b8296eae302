/*
 * src/trie/join_ways.h
 *	  Cliques of one relation as queries: which query is one, and how often an
 *	  undirected clique counts.
 *
 * What the CPU's engine (join_oriented.c) and the device's (cuda/join_degree*)
 * have in common; owns nothing.
 */
#ifndef PP_JOIN_WAYS_H
#define PP_JOIN_WAYS_H

#include "join.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define PP_LEAST_CLIQUE		3u
#define PP_GREATEST_CLIQUE	8u

/* What is known of all edges of a relation. */
typedef enum PpEdgeKind
{
	PP_EDGES_INCREASING,		/* first key less than the second */
	PP_EDGES_DECREASING,
	PP_EDGES_SYMMETRIC,			/* every row has its reverse */
	PP_EDGES_MIXED
} PpEdgeKind;

/* Does left OP right hold, of numbers that compare as keys do? */
extern bool pp_compare_holds(PpJoinCompare op, uint32_t left, uint32_t right);

/* Are its atoms a clique of one relation, one for each pair of variables? */
extern bool pp_clique_match(const PpJoinQuery *query);

/* Do comparisons keep all variables from having the same key as another one?
 * Then rows with both keys the same are in no answer. */
extern bool pp_clique_distinct(const PpJoinQuery *query);

/*
 * In how many ways a clique's variables get the keys of an undirected clique
 * without loops whose edges are of one kind, not MIXED, and of one row in each
 * direction.  by_place, unless NULL, has room for a number for each variable:
 * how many of these ways give variable query->group the least key, the one next
 * to it, and so on.
 */
extern uint64_t pp_clique_ways(const PpJoinQuery *query, PpEdgeKind kind, uint64_t *by_place);

#ifdef __cplusplus
}
#endif

#endif							/* PP_JOIN_WAYS_H */
