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

/* Whom ways count for: one of up to three vertices, or all of them together. */
#define PP_WAYS_ALL		3u

/* What is known of all edges of a relation. */
typedef enum PpEdgeKind
{
	PP_EDGES_INCREASING,		/* first key less than the second */
	PP_EDGES_DECREASING,
	PP_EDGES_SYMMETRIC,			/* every row has its reverse */
	PP_EDGES_MIXED
} PpEdgeKind;

/*
 * In how many ways a triangle's variables get the keys of some vertices, where
 * edges have any number of rows in each direction.
 *
 * Of three vertices, edge 0 joins vertices 0 and 1, edge 1 joins 0 and 2, edge 2
 * joins 1 and 2.  Bit e of an order is set if edge e's first vertex has the lesser
 * key, bit e of directions if the row leads from the second vertex to the first.
 * Whom: the vertex that variable query->group is, or PP_WAYS_ALL.
 */
typedef struct PpTriangleWays
{
	uint64_t	three[8][PP_WAYS_ALL + 1];	/* [order][whom]: of directions d, byte d */

	/* two variables are one vertex, which has a loop: [order][which][whom], order
	 * and vertices as of edge 0; byte n is where n of the other two rows lead from
	 * vertex 1 to vertex 0 */
	uint32_t	two[2][2][PP_WAYS_ALL + 1];
	uint32_t	one;			/* all are the same vertex */
} PpTriangleWays;

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

/* Of a query that is a clique of three variables. */
extern void pp_triangle_ways(const PpJoinQuery *query, PpTriangleWays *ways);

#ifdef __cplusplus
}
#endif

#endif							/* PP_JOIN_WAYS_H */
