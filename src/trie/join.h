/*
 * src/trie/join.h
 *	  Multiway joins of two-key relations: the contract of the join engine.
 *
 * A query is a set of atoms, each a relation read over two variables, and of
 * comparisons between variables.  Its answer is the bag of all assignments of
 * keys to variables for which every atom has a row: an assignment counts as
 * often as there are combinations of such rows.  The engine follows Leapfrog
 * Triejoin (Veldhuizen, ICDT 2014): keys become dense numbers, relations
 * tries of sorted lists, and variables are bound one after another by
 * intersecting lists.  Counting takes short cuts where the structure of the
 * query and of the data allow it; the answer never depends on that.
 *
 * The engine stands below the wall: no PostgreSQL header, errors are values,
 * memory comes from the caller's allocator and stays within a budget, and
 * nothing runs for long without asking the caller whether to go on.
 *
 * Owns what pp_join_build() and pp_join_open() allocate.  It must not keep
 * pointers to the caller's keys once pp_join_build() has returned.
 */
#ifndef PP_JOIN_H
#define PP_JOIN_H

#include "../parse/common.h"
#include "../parse/cpu/kernel.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define PP_JOIN_MAX_VARIABLES	16
#define PP_JOIN_MAX_ATOMS		64
#define PP_JOIN_MAX_RESIDUALS	64
#define PP_JOIN_MAX_RELATIONS	64

/* A relation's rows, and all different keys of a query, are fewer than this. */
#define PP_JOIN_MAX_ROWS		UINT32_C(0x7ffffff0)

typedef enum PpJoinStatus
{
	PP_JOIN_OK,
	PP_JOIN_INVALID,			/* the query is not one; nothing was done */
	PP_JOIN_NO_FIT,				/* the budget is too small: join in boxes */
	PP_JOIN_NO_MEMORY,			/* the allocator had none */
	PP_JOIN_CANCELLED,			/* the caller's callback said so */
	PP_JOIN_TOO_MANY,			/* more rows or keys than numbers for them, or a
								 * count of 2^128 or more */

	/* of devices only, see cuda/library.h */
	PP_JOIN_HANDED_OVER,		/* the CPU's engine has to answer this one */
	PP_JOIN_DEVICE_FAILED		/* error() and failure() of the library say why */
} PpJoinStatus;

/*
 * Rows with two keys each.  Keys compare as signed numbers.  Rows with NULLs
 * are to be left out, duplicates to be kept.
 */
typedef struct PpJoinRelation
{
	const int64_t *pairs;		/* row i has pairs[2 * i] and pairs[2 * i + 1] */
	uint64_t	nrows;
} PpJoinRelation;

/* A relation whose first key is variable[0] and whose second variable[1].
 * They may be the same variable. */
typedef struct PpJoinAtom
{
	uint32_t	relation;
	uint32_t	variable[2];
} PpJoinAtom;

typedef enum PpJoinCompare
{
	PP_JOIN_LT,
	PP_JOIN_LE,
	PP_JOIN_GT,
	PP_JOIN_GE,
	PP_JOIN_NE
} PpJoinCompare;

/* left OP right, both variables. */
typedef struct PpJoinResidual
{
	PpJoinCompare op;
	uint32_t	left;
	uint32_t	right;
} PpJoinResidual;

typedef enum PpJoinMode
{
	PP_JOIN_COUNT,				/* pp_join_count() */
	PP_JOIN_GROUPS,				/* pp_join_groups() */
	PP_JOIN_ROWS,				/* pp_join_rows(), limits and EXISTS included */
	PP_JOIN_MODES
} PpJoinMode;

typedef enum PpJoinStrategy
{
	PP_JOIN_AUTO,				/* in a query: choose */
	PP_JOIN_GENERAL,			/* leapfrog; counts multiply over parts of the query
								 * that no atom or comparison connects */
	PP_JOIN_ORIENTED,			/* a clique of one relation: each undirected
								 * clique once, in order of degree */
	PP_JOIN_WEDGES				/* a cycle of four: pairs of wedges */
} PpJoinStrategy;

typedef struct PpJoinQuery
{
	uint32_t	nvariables;		/* each occurs in an atom */
	uint32_t	natoms;
	uint32_t	nresiduals;
	uint32_t	nrelations;
	const PpJoinAtom *atoms;
	const PpJoinResidual *residuals;
	const PpJoinRelation *relations;

	PpJoinMode	mode;
	uint32_t	group;			/* GROUPS: the variable to count by */
	bool		row_numbers;	/* ROWS: are they wanted? */
	PpJoinStrategy strategy;	/* AUTO, or GENERAL to keep from short cuts */
	PpSimd		simd;			/* a level of this processor; PP_SIMD_LEVELS: the best */
	uint32_t	threads;		/* to build with at most, the caller's included; 0
								 * is as 1 */
	uint64_t	seed;			/* of the dictionary's hash: a number that who
								 * chose the keys does not know */
	uint32_t	nkeys;			/* if not 0: keys are 0 .. nkeys - 1, of relation r
								 * in codes[r] in place of pairs, which stays the
								 * caller's, and no dictionary is made */
	const uint32_t *const *codes;

	/*
	 * Asked about once a millisecond; less often only while sums over all keys
	 * are made, which takes some nanoseconds a key.  True: stop, now and when
	 * asked again.  NULL: never stop.  Builds and runs of several threads call it
	 * from all of them, at once.
	 */
	bool		(*cancelled) (void *ctx);
	void	   *cancel_ctx;
} PpJoinQuery;

/* A count of less than 2^128. */
typedef struct PpCount
{
	uint64_t	low;
	uint64_t	high;
} PpCount;

typedef struct PpJoinInfo
{
	PpJoinStrategy strategy;
	uint32_t	order[PP_JOIN_MAX_VARIABLES];	/* variables as they are bound;
												 * meaningless if ORIENTED */
	uint32_t	ntries;			/* built */
	uint32_t	nshared;		/* atoms that use a trie built for another */
	uint32_t	nkeys;			/* numbers given to keys, unused ones included */
	const char *dictionary;		/* how: "direct", "rank" or "hash"; "none" */
	const char *simd;
	size_t		bytes;			/* held now, this structure included */
	size_t		peak_bytes;		/* at most, while building */
} PpJoinInfo;

typedef struct PpJoin PpJoin;
typedef struct PpJoinRun PpJoinRun;

/*
 * Builds what a query needs: dictionary, tries, order of variables.  At most
 * budget bytes are allocated at any time.  On success *join is to be freed by
 * pp_join_free(); else it is NULL and nothing is left allocated.  What query
 * points to, keys included, may go afterwards; the allocator and the callback
 * must stay.
 */
extern PpJoinStatus pp_join_build(const PpJoinQuery *query, const PpAlloc *alloc,
								  size_t budget, PpJoin **join);
extern void pp_join_free(PpJoin *join);
extern const PpJoinInfo *pp_join_info(const PpJoin *join);

/*
 * Begins a pass over part number part of nparts (0 of 1: everything).  The
 * parts' answers together are the whole one; they are of about the same cost.
 * A join does not change, so that passes may run in several threads, each of
 * which needs an allocator and a budget of its own.  On success *run is to be
 * closed by pp_join_close(), else it is NULL.
 */
extern PpJoinStatus pp_join_open(const PpJoin *join, const PpAlloc *alloc,
								 size_t budget, uint32_t part, uint32_t nparts,
								 PpJoinRun **run);
extern void pp_join_close(PpJoinRun *run);

/*
 * Begins a pass over everything whose counting is done by up to so many
 * threads, the calling one included: pp_join_count(), and pp_join_groups()
 * where groups are counted before the first is known.  Memory is allocated in
 * the calling thread only, which works as well; the callback is called from
 * all of them.  The others have all signals blocked and are gone when a
 * function returns; threads that cannot be started, or that the budget is too
 * small for, are done without.
 */
extern PpJoinStatus pp_join_open_threads(const PpJoin *join, const PpAlloc *alloc,
										 size_t budget, uint32_t threads, PpJoinRun **run);

/* Opens such a pass, counts and closes it; *seeks as pp_join_seeks(). */
extern PpJoinStatus pp_join_count_threads(const PpJoin *join, const PpAlloc *alloc,
										  size_t budget, uint32_t threads,
										  PpCount *count, uint64_t *seeks);

/* Counts all there is.  Once a run. */
extern PpJoinStatus pp_join_count(PpJoinRun *run, PpCount *count);

/*
 * The next groups: keys of the variable to count by, and how many assignments
 * have them; none of no assignment.  *n is their number, at most capacity, 0
 * at the end.  No key comes twice, not even in several parts.  Of an ORIENTED
 * join part 0 has all groups, and the others none.
 */
extern PpJoinStatus pp_join_groups(PpJoinRun *run, int64_t *keys, PpCount *counts,
								   size_t capacity, size_t *n);

/*
 * The next assignments: *n of them, at most capacity, 0 at the end.  Variable
 * v of assignment i goes to keys[v * capacity + i], the row of atom a to
 * rows[a * capacity + i]: its number in the relation, from 0.  Either may be
 * NULL; rows must be unless the query asked for row numbers.  One that counts
 * several times comes as often.  EXISTS is a capacity of 1, a limit is not to
 * ask again.
 */
extern PpJoinStatus pp_join_rows(PpJoinRun *run, int64_t *keys, uint32_t *rows,
								 size_t capacity, size_t *n);

/* Seeks and intersections so far, for EXPLAIN. */
extern uint64_t pp_join_seeks(const PpJoinRun *run);

#ifdef __cplusplus
}
#endif

#endif							/* PP_JOIN_H */
