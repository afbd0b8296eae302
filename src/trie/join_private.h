/*
 * src/trie/join_private.h
 *	  What the files of the join engine share: a query as it is planned, and a
 *	  pass over it.  Inside the engine; join.h is its contract.
 */
#ifndef PP_JOIN_PRIVATE_H
#define PP_JOIN_PRIVATE_H

#include "join_stage.h"
#include "join_ways.h"
#include "trie.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Values that a level takes at a time. */
#define PP_JOIN_BLOCK	512u

/* How much longer a list is than another if seeking in it beats merging. */
#define PP_JOIN_UNEQUAL	32u

/* Steps of work between two questions whether to go on. */
#define PP_JOIN_WORK	UINT64_C(65536)

/* A list that bounds a variable: an atom's second level. */
typedef struct PpLevelList
{
	uint32_t	atom;
	uint32_t	trie;
	uint32_t	from;			/* level of the atom's first level; unused if LOOPS */
	bool		place;			/* are places of entries wanted, for weights or rows? */
} PpLevelList;

typedef struct PpLevelResidual
{
	PpJoinCompare op;			/* this variable OP that of the level */
	uint32_t	level;			/* before this one */
} PpLevelResidual;

/* A variable, and everything that bounds it once those before it are bound. */
typedef struct PpLevelPlan
{
	uint32_t	variable;
	uint32_t	nlists;
	uint32_t	nheads;
	uint32_t	nresiduals;
	bool		unequal;		/* one of them is NE */
	bool		places;			/* some list's are wanted */
	PpLevelList lists[PP_JOIN_MAX_ATOMS];
	uint32_t	heads[PP_JOIN_MAX_ATOMS];	/* tries whose first level it is */
	PpLevelResidual residuals[PP_JOIN_MAX_RESIDUALS];

	/* levels to bind next that do not depend on each other (counting only) */
	uint32_t	nchildren;
	uint32_t	children[PP_JOIN_MAX_VARIABLES];

	/*
	 * What is counted from a child on may depend on one level only, or on none:
	 * then it is kept for each of its values.
	 */
	bool		kept;
	bool		constant;
	uint32_t	key;			/* the level, unless constant */
	uint32_t	part;			/* sets of levels: what is counted from here on ... */
	uint32_t	needs;			/* ... and what that depends on */

	/* cliques of one relation at that level's value: counted while building, by
	 * number (join_parts.c) */
	uint64_t   *counted;
	bool		within;			/* part of what was counted so */

	/* of each child, the place of one before it that counts the same, plus one; 0:
	 * there is none */
	uint32_t	twin[PP_JOIN_MAX_VARIABLES];
} PpLevelPlan;

/*
 * ORIENTED (join_oriented.c builds, join_clique.c, join_blocks.c and join_local.c go through it).
 *
 * In a list's entry, while there are directions: the vertex below these bits.
 */
#define PP_DOWN			UINT32_C(0x40000000)	/* a row leads to the entry */
#define PP_UP			UINT32_C(0x80000000)	/* a row leads from it */
#define PP_HEAVY		UINT32_C(0x20000000)	/* several lead in one direction */
#define PP_VERTEX		UINT32_C(0x1fffffff)

/* In a code: some edge, or loop, is of several rows. */
#define PP_HEAVY_CODE	UINT32_C(0x8000)

/* Cliques whose assignments are looked up have at most so many vertices. */
#define PP_TABLE_CLIQUE		4u

/* Vertices that may have a row of bits, the highest degrees first. */
#define PP_HUBS			8192u
#define PP_HUB_BITS		512u	/* rows come in as many */

/*
 * How a query's variables can be put on m vertices, each of which gets one:
 * for each code of the vertices' edges and loops, the maps first[code] to
 * first[code + 1] - 1.  A code has two bits for each pair of vertices, PP_DOWN
 * and PP_UP of the earlier one's list, and one for each vertex with a loop:
 * pp_pair_shift(), pp_loop_shift().  A map has two bits for each variable.
 */
typedef struct PpWays
{
	uint32_t   *first;
	uint8_t    *map;
	uint32_t   *groups;			/* GROUPS: of each code, a byte for each vertex: maps
								 * that put the group's variable there */
} PpWays;

/* An edge of several rows, or a vertex's loop, among those of the greater vertex. */
typedef struct PpHeavy
{
	uint32_t	v;				/* the other one */
	uint32_t	down;			/* rows to it, and back */
	uint32_t	up;
} PpHeavy;

/* How a clique's variables are to lie to each other. */
typedef struct PpPattern
{
	bool		leads[PP_GREATEST_CLIQUE][PP_GREATEST_CLIQUE];	/* x, y: the atom is
																 * from x to y */
	uint8_t		allowed[PP_GREATEST_CLIQUE][PP_GREATEST_CLIQUE];	/* where y's key may
																	 * be to x's */
	bool		never;			/* a variable is compared with itself */
} PpPattern;

#define PP_BELOW	1
#define PP_SAME		2
#define PP_ABOVE	4
#define PP_ANY		7

/* How cliques are gone through. */
typedef enum PpCliqueWay
{
	PP_CLIQUES_ALIKE,			/* each counts factor times, times its edges' rows */
	PP_CLIQUES_TABLE,			/* triangles, by their edges' directions */
	PP_CLIQUES_BLOCKS,			/* by codes */
	PP_CLIQUES_EACH				/* each assignment by itself */
} PpCliqueWay;

#define PP_NO_ROW		UINT32_MAX

/* In loop[]: the vertex, or one of its list, has one. */
#define PP_NEAR_LOOP	4

typedef struct PpOriented
{
	uint32_t	k;
	uint32_t	n;				/* vertices, 0 having the highest degree */
	uint32_t	longest;		/* list */
	PpCliqueWay way;			/* unless ALIKE, entries have directions */
	bool		sorted;			/* keys are compared: codes are of vertices in order of
								 * their keys, and so are lists if each assignment is
								 * counted */
	bool		alike;			/* BLOCKS: triangles in order of their keys have one code,
								 * entries have no directions */
	uint32_t	code;			/* that */
	bool		loops_only;		/* while building: where variables have the same vertex */
	uint32_t	group;			/* GROUPS: the variable */
	uint32_t   *start;			/* list of v: start[v] .. start[v + 1), of lesser
								 * vertices in no order */
	uint32_t   *list;
	uint8_t    *loop;			/* has vertex v one: 1, or 3 if heavy; NULL: none has */
	uint32_t   *heavy_start;	/* as start, of v's heavy edges, by their other ends;
								 * NULL: no row comes twice */
	PpHeavy    *heavy;
	PpPattern	pattern;

	/* numbers of rows: of entry i, at 2 * i the first that leads to it, then the
	 * first that leads from it; PP_NO_ROW: none.  NULL: not wanted. */
	uint32_t   *row;
	uint32_t   *loop_row;		/* of each vertex's loop; NULL: there are none */
	uint32_t   *next_row;		/* of each row, the next one of its keys; NULL: none has */
	uint8_t		atom[PP_TABLE_CLIQUE * (PP_TABLE_CLIQUE - 1) / 2][2];
	int64_t    *name;			/* keys of vertices; NULL: not needed */
	uint32_t	nhubs;			/* 0: no rows */
	uint32_t   *hub;			/* vectors of bits before the row of each, nhubs + 1 */
	uint64_t   *bits;
	uint64_t	factor;
	PpWays		ways[PP_TABLE_CLIQUE + 1];
	PpUint128	collapsed;		/* ALIKE, TABLE: where variables have the same vertex */
} PpOriented;

/* Where a code has the two bits of a pair of m vertices, a before b. */
PP_INLINE uint32_t
pp_pair_shift(uint32_t a, uint32_t b)
{
	return b * (b - 1) + 2 * a;
}

PP_INLINE uint32_t
pp_loop_shift(uint32_t m, uint32_t a)
{
	return m * (m - 1) + a;
}

/* An edge's rows, if they are several; u is at least v.  NULL: they are not. */
PP_INLINE const PpHeavy *
pp_heavy_find(const PpOriented *o, uint32_t u, uint32_t v)
{
	uint32_t	low = o->heavy_start[u];
	uint32_t	high = o->heavy_start[u + 1];
	const uint32_t end = high;

	while (low < high)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (o->heavy[middle].v < v)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && o->heavy[low].v == v ? &o->heavy[low] : NULL;
}

/* Fetches what is needed a few entries from here; entries are in one array,
 * so that this goes on from one root to the next. */
PP_INLINE void
pp_oriented_fetch(const PpOriented *o, uint32_t i, uint32_t nentries)
{
	if (i + PP_TRIE_AHEAD < nentries)
	{
		__builtin_prefetch(&o->start[o->list[i + PP_TRIE_AHEAD] & PP_VERTEX]);
		__builtin_prefetch(&o->list[o->start[o->list[i + PP_TRIE_AHEAD / 2] & PP_VERTEX]]);
	}
}

/* A state of going through cliques, one block at a time. */
typedef struct PpCliques PpCliques;

/* A vertex's neighbourhood, and what is counted in it. */
typedef struct PpLocal PpLocal;

struct PpJoin
{
	PpBudget	budget;
	PpCancel	cancel;
	const PpTrieKernels *kernels;
	PpJoinMode	mode;
	bool		row_numbers;
	bool		numbered;		/* keys are the caller's numbers */
	bool		copies;			/* some trie has an entry of several rows */
	bool		empty;			/* by a comparison of a variable with itself */
	uint64_t	seeks;			/* while building */
	bool		unordered;		/* ORIENTED: names do not compare as keys do */
	uint32_t	nvariables;
	uint32_t	natoms;
	PpDict		dict;
	uint32_t	ntries;
	PpTrie		tries[PP_JOIN_MAX_ATOMS];
	uint32_t	wedge[4];		/* WEDGES: tries of x-y, y-z, x-w, w-z */
	PpOriented *oriented;
	PpJoinInfo	info;
	PpLevelPlan levels[PP_JOIN_MAX_VARIABLES];	/* only nvariables are allocated */
};

/* A level while it is iterated over. */
typedef struct PpLevel
{
	uint32_t	low;			/* of its values */
	uint32_t	high;			/* not one of them */
	uint32_t	next;			/* without lists: the number to go on from */
	uint32_t	n;				/* values in hand */
	uint32_t	i;				/* those used */
	const uint32_t *value;
	uint32_t   *buffer[2];
	uint32_t   *place;			/* of list l's entry for value i: [l * BLOCK + i] */
	PpTrieIter *lists;
	uint64_t   *known;			/* counts that are kept, by value of the level's key;
								 * UNKNOWN if not known; NULL: there was no room */
} PpLevel;

#define PP_UNKNOWN	UINT64_MAX

struct PpJoinRun
{
	const PpJoin *join;
	PpBudget	budget;
	PpJoinStatus status;		/* why it stopped, once it has */
	uint64_t	work;			/* since the last question */
	uint64_t	seeks;
	uint32_t	from;			/* of the first level, or of the roots if ORIENTED */
	uint32_t	to;
	bool		first;			/* part 0: has all groups if ORIENTED */
	uint32_t	nothers;		/* runs of other threads, over the same */
	PpJoinRun **others;
	PpCliques  *cliques;		/* ORIENTED: while going through them */
	PpLocal    *local;
	uint64_t   *groups;			/* and counts of vertices */
	PpLevel		level[PP_JOIN_MAX_VARIABLES];
	uint32_t	bound[PP_JOIN_MAX_VARIABLES];	/* value of each level */
	uint32_t	place[PP_JOIN_MAX_ATOMS];	/* entry of each atom */

	/* rows */
	uint32_t	depth;
	bool		started;
	bool		pending;		/* the assignment in hand comes again ... */
	uint32_t	copy[PP_JOIN_MAX_ATOMS];	/* ... with these of the entries' rows */

	void	   *scratch[4];		/* of a strategy */
};

/* ---------- planning (join_plan.c) ---------- */

/* Is it a query, as far as all backends agree? */
extern bool pp_plan_valid(const PpJoinQuery *query);

/* The trie of a relation in an order, added to those to build if it is new. */
extern uint32_t pp_plan_trie(PpJoin *join, uint32_t relation, PpTrieOrder order);

/* Gives each level what bounds it, in the order that join->info has. */
extern void pp_plan_levels(PpJoin *join, const PpJoinQuery *query);

/* Makes a tree of the levels: what is counted from each on, and what that needs. */
extern void pp_plan_products(PpJoin *join);

/* Says which children of a level count the same. */
extern void pp_plan_twins(PpJoin *join);

/* Is a trie looked at where levels are not counted beforehand? */
extern bool pp_plan_wanted(const PpJoin *join, uint32_t trie);

/* Heads that only lead to what is counted beforehand are none. */
extern void pp_plan_drop_heads(PpJoin *join);

/* Are a query's variables in a set a clique of one relation, but for loops of
 * the key, which is one of them? */
extern bool pp_plan_clique(const PpJoinQuery *query, uint32_t set, uint32_t key);

/* ---------- the order of variables (join_order.c) ---------- */

/* Chooses the order of variables by what is known of each relation; first <
 * nvariables: which has to be first. */
extern PpJoinStatus pp_join_order_by(const PpJoinQuery *query, PpBudget *budget,
									 const PpJoinSides *sides, uint32_t first, uint32_t *order);

/* The same, looking at the rows. */
extern PpJoinStatus pp_join_order(const PpJoinQuery *query, PpBudget *budget,
								  const PpCancel *cancel, const PpCodes *codes,
								  uint32_t nkeys, uint32_t first, uint32_t *order);

/* ---------- parts of queries (join_parts.c) ---------- */

/*
 * Counts cliques that hang on one variable, for each of its values, and tells
 * levels what they count; codes' pairs are left as they are.
 */
extern PpJoinStatus pp_parts_count(PpJoin *join, const PpJoinQuery *query, PpTeam *team,
								   const PpCodes *codes);

extern void pp_parts_release(PpJoin *join);

/* ---------- levels (join_level.c) ---------- */

extern PpJoinStatus pp_levels_alloc(PpJoinRun *run);
extern void pp_levels_release(PpJoinRun *run);

/* Counts work; false: stop, status says why. */
PP_INLINE bool
pp_run_work(PpJoinRun *run, uint64_t steps)
{
	run->work += steps;
	if (PP_LIKELY(run->work < PP_JOIN_WORK))
		return true;
	run->work = 0;
	if (!pp_cancelled(&run->join->cancel))
		return true;
	run->status = PP_JOIN_CANCELLED;
	return false;
}

/* Begins a level whose predecessors are bound. */
extern void pp_level_open(PpJoinRun *run, uint32_t level);

/* Takes the next values; false: there are none, or status says what is wrong. */
extern bool pp_level_fill(PpJoinRun *run, uint32_t level);

/* Binds the next value in hand. */
PP_INLINE void
pp_level_bind(PpJoinRun *run, uint32_t level)
{
	const PpLevelPlan *plan = &run->join->levels[level];
	PpLevel    *l = &run->level[level];

	run->bound[level] = l->value[l->i];
	if (plan->places)
		for (uint32_t k = 0; k < plan->nlists; k++)
			if (plan->lists[k].place)
				run->place[plan->lists[k].atom] = l->place[k * PP_JOIN_BLOCK + l->i];
	l->i++;
}

/* How many values the level has from here on; none of it may be in hand. */
extern uint64_t pp_level_count(PpJoinRun *run, uint32_t level);

/* ---------- strategies ---------- */

/* Multiplies, or adds; false: the result has more than 128 bits. */
PP_INLINE bool
pp_multiply(PpUint128 *a, PpUint128 b)
{
	if ((*a >> 64) == 0 && (b >> 64) == 0)
		*a *= b;
	else if (b != 0 && *a > ~(PpUint128) 0 / b)
		return false;
	else
		*a *= b;
	return true;
}

PP_INLINE bool
pp_add(PpUint128 *a, PpUint128 b)
{
	*a += b;
	return *a >= b;
}

/* General counting (join_count.c): all values of the first level. */
extern bool pp_general_count(PpJoinRun *run, PpUint128 *count);
extern PpJoinStatus pp_general_groups(PpJoinRun *run, int64_t *keys, PpCount *counts,
									  size_t capacity, size_t *n);

/* Cycles of four (join_wedges.c). */
extern bool pp_wedges_match(const PpJoinQuery *query, uint32_t *variables);

/* Turns x, y, z and w so that fewer wedges are met; codes are those built from. */
extern PpJoinStatus pp_wedges_turn(const PpJoinQuery *query, PpBudget *budget, const PpCodes *codes,
								   uint32_t nkeys, uint32_t *variables);
extern PpJoinStatus pp_wedges_open(PpJoinRun *run);
extern bool pp_wedges_count(PpJoinRun *run, PpUint128 *count);

/*
 * Cliques of one relation.  match: is the query one?  build: sets
 * join->oriented and takes the codes' pairs, or leaves it NULL: the rows are
 * none that it is for, and the codes are as they were.
 */
extern PpJoinStatus pp_oriented_build(PpJoin *join, const PpJoinQuery *query,
									  PpTeam *team, PpCodes *codes);
extern void pp_oriented_release(PpJoin *join);

/* Going through them (join_clique.c), from root run->from to run->to - 1. */
extern PpJoinStatus pp_oriented_open(PpJoinRun *run);
extern void pp_oriented_close(PpJoinRun *run);
extern bool pp_oriented_count(PpJoinRun *run, PpUint128 *count);

/* Adds to run->groups. */
extern bool pp_oriented_groups(PpJoinRun *run);

/* Cliques in blocks (join_blocks.c). */
extern PpJoinStatus pp_blocks_open(PpJoinRun *run);
extern void pp_blocks_close(PpJoinRun *run);
extern bool pp_blocks_groups(PpJoinRun *run);
extern void pp_blocks_rows(PpJoinRun *run, int64_t *keys, size_t capacity, size_t *n);
extern void pp_blocks_numbered(PpJoinRun *run, int64_t *keys, uint32_t *rows, size_t capacity,
							   size_t *n);

/*
 * Counting them in the neighbourhoods of roots (join_local.c).  Undirected
 * ones, by vertices that all differ; or assignments by themselves, to *count or
 * run->groups: all, or, collapsed, those in which two variables have the same
 * vertex.
 */
extern PpJoinStatus pp_local_open(PpJoinRun *run);
extern void pp_local_close(PpJoinRun *run);
extern bool pp_local_count(PpJoinRun *run, PpUint128 *count);
extern bool pp_local_count_each(PpJoinRun *run, bool collapsed, PpUint128 *count);

/* ---------- passes (join_run.c) ---------- */

/*
 * Has the runs of all threads go through all there is, each calling work on
 * stretches of roots; false: run->status says why not.
 */
extern bool pp_run_all(PpJoinRun *run, PpTeam *team,
					   bool (*work) (PpJoinRun *run, PpUint128 *count), PpUint128 *count);

#ifdef __cplusplus
}
#endif

#endif							/* PP_JOIN_PRIVATE_H */
