/*
 * cuda/join_optimized.h
 *	  What GPU-Optimized's walk over frontiers (join_optimized.cu) and its kernels
 *	  (join_frontier.cu) know of each other.
 */
#ifndef PP_JOIN_OPTIMIZED_H
#define PP_JOIN_OPTIMIZED_H

#include "join.h"
#include "join_expand.h"

/*
 * Entries of a frontier, and items of a tile, at most; 0: as memory allows, and
 * as a block takes.  For tests, so that little data makes many slices and tiles.
 */
extern uint32_t pp_optimized_room;
extern uint32_t pp_optimized_tile;

/* ---------- in device memory ---------- */

/* A list that bounds a level, and its trie; start NULL: the whole of it. */
struct PpFrontList
{
	const uint32_t *start;
	const uint32_t *list;
	const uint32_t *first;
	uint32_t	nentries;
	uint32_t	from;			/* level whose value opens it */
};

/* A level, its frontier and the next one.  Kernels copy to shared memory what
 * is used of it. */
struct PpFrontLevel
{
	uint32_t	nkeys;
	uint32_t	level;
	uint32_t	nlists;
	uint32_t	nheads;
	uint32_t	nresiduals;
	uint32_t	nfactors;
	uint32_t	unequal;		/* some residual is NE */
	uint32_t	nout;			/* columns of the next frontier */
	const uint32_t *in[PP_JOIN_MAX_VARIABLES];	/* by level */
	uint32_t   *out[PP_JOIN_MAX_VARIABLES];
	uint8_t		out_level[PP_JOIN_MAX_VARIABLES];	/* of each in out[] */
	uint64_t   *weight;			/* NULL: each entry counts once */
	uint64_t   *out_weight;
	const uint64_t *factor[PP_JOIN_MAX_VARIABLES];
	PpStageResidual residual[PP_JOIN_MAX_RESIDUALS];
	const uint32_t *head[PP_JOIN_MAX_ATOMS];
	PpFrontList		list[PP_JOIN_MAX_ATOMS];
};

/* What open makes of a frontier. */
struct PpExpansion
{
	uint64_t   *left;			/* [n + 1] left items in front of each entry */
	uint64_t   *right;			/* [n + 1]; NULL: no entry has a right list */
	uint32_t   *left_at;		/* [n] where lists begin */
	uint32_t   *right_at;
	uint32_t   *pick;			/* [n] which they are: left | right << 8 */
	uint32_t	n;
};

/* What tiles report that make a frontier. */
struct PpSlice
{
	uint32_t	next;			/* tile to begin */
	uint32_t	stop;			/* the first one that there was no room for */
	uint32_t	n;				/* entries made */
	uint32_t	unused;
};

/* Where rows of an atom are, once all is bound. */
struct PpFrontAtom
{
	const uint32_t *start;		/* NULL: of LOOPS */
	const uint32_t *list;
	const uint32_t *first;
	const uint32_t *row;
	uint32_t	nentries;
	uint32_t	from;			/* levels */
	uint32_t	to;
	uint32_t	atom;
};

struct PpAnswer
{
	const uint32_t *in[PP_JOIN_MAX_VARIABLES];	/* by level */
	uint8_t		variable[PP_JOIN_MAX_VARIABLES];
	uint32_t	nlevels;
	uint32_t	natoms;
	PpFrontAtom		atom[PP_JOIN_MAX_ATOMS];
};

/* What a tile's candidates become. */
enum PpTileMode
{
	PP_TO_FRONTIER,
	PP_TO_TOTAL,					/* added up in signals->total */
	PP_TO_KEYS						/* added up in out[] */
};

enum PpTileKey
{
	PP_KEY_ENTRY,
	PP_KEY_FIRST,					/* the value of level 0 */
	PP_KEY_VALUE					/* of this level, which is level 0 */
};

/* What becomes of a frontier's leaf that counts the length of its list. */
enum PpLeafTo
{
	PP_LEAF_WEIGHT,				/* the entry's weight is multiplied */
	PP_LEAF_TOTAL,
	PP_LEAF_FIRST					/* by the value of level 0 */
};

struct PpTileJob
{
	const PpFrontLevel *level;
	PpExpansion	x;
	const PpExpandPoint *point;
	PpJoinSignals *signals;
	PpSlice	   *slice;
	uint32_t   *chain;
	uint64_t   *out;			/* PP_TO_KEYS */
	PpTileKey	key;
	uint32_t	room;			/* PP_TO_FRONTIER */
};

/* ---------- join_frontier.cu: launches ---------- */

/* Opens the lists of a level: of x, all but the sums, which are lengths yet. */
extern void pp_front_open(const PpFrontLevel *level, const PpExpansion &x, PpJoinSignals *signals,
						  cudaStream_t stream);

/* Makes the points of tiles from .. from + n, n + 1 of them, and job's slice and chain anew. */
extern void pp_front_points(const PpTileJob &job, PpExpandPoint *point, uint64_t items,
							uint32_t tile, uint64_t from, uint32_t n, cudaStream_t stream);

/* n tiles. */
extern void pp_front_tiles(const PpTileJob &job, PpTileMode mode, uint32_t n, cudaStream_t stream);

/*
 * A leaf of n entries: counts is what it counts for each, or NULL, then it is
 * the length of a list.  out: by value of level 0, for PP_LEAF_FIRST.
 */
extern void pp_front_leaf(const PpFrontLevel *level, uint32_t n, const uint64_t *counts,
						  PpLeafTo leaf_to, uint64_t *out, PpJoinSignals *signals,
						  cudaStream_t stream);

/* How often each of n assignments comes: copies[0 .. n], the last one none. */
extern void pp_front_copies(const PpAnswer *answer, uint32_t n, uint64_t *copies,
							PpJoinSignals *signals, cudaStream_t stream);

/* m rows of the answer's n assignments, from row number from on, as PpRowsNext;
 * copies: sums of them, or NULL. */
extern void pp_front_rows(const PpAnswer *answer, const uint64_t *copies, uint32_t n,
						  uint64_t from, uint32_t m, uint32_t *values, uint32_t *rows,
						  uint32_t capacity, cudaStream_t stream);

/* No list. */
#define PP_FRONT_NONE	0xffu

/* In front of a tile that is behind the last one that there is room for. */
#define PP_FRONT_NO_ROOM	(1u << 28)

#endif							/* PP_JOIN_OPTIMIZED_H */
