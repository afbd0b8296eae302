/*
 * src/trie/trie.h
 *	  What the join engine is made of: memory within a budget, the dictionary,
 *	  tries and their iterators.  Inside the engine; join.h is its contract.
 */
#ifndef PP_TRIE_H
#define PP_TRIE_H

#include "join.h"
#include "trie_kernel.h"
#include "trie_threads.h"

#ifdef __cplusplus
extern "C"
{
#endif

__extension__ typedef unsigned __int128 PpUint128;

/* ---------- cancelling ---------- */

typedef struct PpCancel
{
	bool		(*cancelled) (void *ctx);
	void	   *ctx;
} PpCancel;

/* Rows that a loop handles between two questions. */
#define PP_CANCEL_ROWS	UINT64_C(16384)

PP_INLINE bool
pp_cancelled(const PpCancel *cancel)
{
	return cancel->cancelled && cancel->cancelled(cancel->ctx);
}

/* ---------- sharing work ---------- */

/* Rows for each member of a team, below which starting threads costs more. */
#ifndef PP_TEAM_ROWS
#define PP_TEAM_ROWS	65536u
#endif

/* How many members are to share the work on so many rows, or keys. */
PP_INLINE uint32_t
pp_team_for(PpTeam *team, uint64_t rows)
{
	uint64_t	wanted = rows / PP_TEAM_ROWS;

	return pp_team_start(team, wanted < team->most ? (uint32_t) wanted : team->most);
}

/* What members of a team do in turns, a stretch of 0 .. n - 1 at a time. */
typedef struct PpTurns
{
	const PpCancel *cancel;
	uint64_t	n;
	uint64_t	step;
	uint64_t	next;			/* shared from here on */
	bool		cancelled;
} PpTurns;

PP_INLINE void
pp_turns_begin(PpTurns *turns, const PpCancel *cancel, uint64_t n, uint64_t step)
{
	turns->cancel = cancel;
	turns->n = n;
	turns->step = step;
	turns->next = 0;
	turns->cancelled = false;
}

/* Asks whether to go on, on behalf of all. */
PP_INLINE bool
pp_turns_go(PpTurns *turns)
{
	if (__atomic_load_n(&turns->cancelled, __ATOMIC_RELAXED))
		return false;
	if (!pp_cancelled(turns->cancel))
		return true;
	__atomic_store_n(&turns->cancelled, true, __ATOMIC_RELAXED);
	return false;
}

/* The next stretch; false: there is none, or the work is cancelled. */
PP_INLINE bool
pp_turns_next(PpTurns *turns, uint64_t *from, uint64_t *to)
{
	if (!pp_turns_go(turns))
		return false;
	*from = __atomic_fetch_add(&turns->next, turns->step, __ATOMIC_RELAXED);
	if (*from >= turns->n)
		return false;
	*to = turns->n - *from < turns->step ? turns->n : *from + turns->step;
	return true;
}

/* ---------- memory (trie_memory.c) ---------- */

/* An allocator that keeps to a budget, and why it last failed. */
typedef struct PpBudget
{
	PpAlloc		alloc;
	PpCancel	cancel;			/* asked while large pieces are cleared */
	size_t		limit;
	size_t		used;
	size_t		peak;
	PpJoinStatus failure;
} PpBudget;

extern void pp_budget_init(PpBudget *budget, const PpAlloc *alloc, size_t limit,
						   const PpCancel *cancel);

/* n entries of the given size, aligned to 64 bytes; NULL: see failure. */
extern void *pp_budget_alloc(PpBudget *budget, uint64_t n, size_t size);
extern void *pp_budget_zeros(PpBudget *budget, uint64_t n, size_t size);

/* Takes what pp_budget_alloc() gave, or NULL. */
extern void pp_budget_release(PpBudget *budget, void *ptr);

/* ---------- dictionary (trie_dict.c) ---------- */

typedef enum PpDictKind
{
	PP_DICT_DIRECT,				/* key - least key */
	PP_DICT_RANK,				/* bits set below the key's */
	PP_DICT_HASH
} PpDictKind;

/* Numbers for keys: 0 .. n - 1, some of which may be unused. */
typedef struct PpDict
{
	PpDictKind	kind;
	uint32_t	n;
	int64_t		least;
	int64_t    *keys;			/* of each number; NULL if DIRECT or not wanted */
	uint64_t	steps;			/* HASH: slots looked at for keys, but for each one's first */
} PpDict;

/* Rows with numbers in place of keys, and what was seen on the way. */
typedef struct PpCodes
{
	uint32_t   *pairs;			/* as in PpJoinRelation; NULL: not read */
	uint32_t	nrows;
	uint32_t	nless;			/* rows whose first key is less than the second */
	uint32_t	nequal;
} PpCodes;

/*
 * Numbers the keys of the relations that used[] says, and writes codes[].
 * ordered: numbers compare as the keys do.  names: the way back is wanted.
 */
extern PpJoinStatus pp_dict_build(PpDict *dict, PpBudget *budget, const PpCancel *cancel,
								  PpTeam *team, const PpJoinQuery *query, const bool *used,
								  bool ordered, bool names, PpCodes *codes);
extern void pp_dict_release(PpDict *dict, PpBudget *budget);

PP_INLINE int64_t
pp_dict_key(const PpDict *dict, uint32_t number)
{
	return dict->keys ? dict->keys[number] :
		(int64_t) ((uint64_t) dict->least + number);
}

/* ---------- tries (trie_build.c) ---------- */

typedef enum PpTrieOrder
{
	PP_TRIE_FORWARD,			/* first key, then second */
	PP_TRIE_BACKWARD,			/* second key, then first */
	PP_TRIE_LOOPS				/* one level: keys of rows with both the same */
} PpTrieOrder;

/*
 * The different pairs of a relation, by one key, then by the other.  The
 * second level of x is list[start[x] .. start[x + 1]), ascending.  A trie of
 * LOOPS has list[0 .. nentries) and no start.
 */
typedef struct PpTrie
{
	uint32_t	relation;
	PpTrieOrder order;
	uint32_t	nkeys;			/* entries of start, less one */
	uint32_t	nentries;
	uint32_t   *start;
	uint32_t   *list;
	uint32_t   *first;			/* rows of entry i: first[i] .. first[i + 1), as
								 * places in row; NULL: entry i is row[i] only */
	uint32_t   *row;			/* NULL: not wanted */
} PpTrie;

/* The trie's relation and order are set, everything else is zero. */
extern PpJoinStatus pp_trie_build(PpTrie *trie, PpBudget *budget, const PpCancel *cancel,
								  PpTeam *team, const PpCodes *codes, uint32_t nkeys, bool rows);
extern void pp_trie_release(PpTrie *trie, PpBudget *budget);

/* How many rows entry i stands for. */
PP_INLINE uint32_t
pp_trie_weight(const PpTrie *trie, uint32_t i)
{
	return trie->first ? trie->first[i + 1] - trie->first[i] : 1;
}

/*
 * An iterator over one list of a trie, as in the paper: key and next, seek
 * for the least key not below one, at its end when there is none.  Opened at
 * a key of the first level, or at the list of a trie of LOOPS.  The first
 * level itself needs no iterator: it is dense, whether x is there is whether
 * its list is empty.
 */
typedef struct PpTrieIter
{
	const uint32_t *list;
	uint32_t	pos;
	uint32_t	end;
} PpTrieIter;

PP_INLINE void
pp_trie_open(PpTrieIter *it, const PpTrie *trie, uint32_t x)
{
	it->list = trie->list;
	it->pos = trie->start ? trie->start[x] : 0;
	it->end = trie->start ? trie->start[x + 1] : trie->nentries;
}

PP_INLINE bool
pp_trie_at_end(const PpTrieIter *it)
{
	return it->pos >= it->end;
}

PP_INLINE uint32_t
pp_trie_key(const PpTrieIter *it)
{
	return it->list[it->pos];
}

/* The place of the least entry from pos to end that is not below key: steps
 * that double, then halves. */
PP_INLINE uint32_t
pp_trie_gallop(const uint32_t *list, uint32_t pos, uint32_t end, uint32_t key)
{
	uint32_t	low = pos;
	uint32_t	high;
	uint32_t	step = 1;

	if (pos >= end || list[pos] >= key)
		return pos;
	/* list[low] < key */
	while (step < end - low && list[low + step] < key)
	{
		low += step;
		step += step;
	}
	high = step < end - low ? low + step : end;
	low++;
	while (low < high)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (list[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

PP_INLINE void
pp_trie_seek(PpTrieIter *it, uint32_t key)
{
	it->pos = pp_trie_gallop(it->list, it->pos, it->end, key);
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_TRIE_H */
