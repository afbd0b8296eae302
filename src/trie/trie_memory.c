/*
 * src/trie/trie_memory.c
 *	  Memory of the join engine: what the caller's allocator gives, within a
 *	  budget.
 */
#include <string.h>

#include "trie.h"

#define ALIGNMENT	64u

/* Bytes that are cleared between two questions whether to go on. */
#define CLEARED		((size_t) 1 << 20)

/* In front of each piece. */
typedef struct Piece
{
	void	   *given;			/* by the allocator */
	size_t		size;			/* as it counts */
} Piece;

void
pp_budget_init(PpBudget *budget, const PpAlloc *alloc, size_t limit,
			   const PpCancel *cancel)
{
	budget->cancel = *cancel;
	budget->alloc = *alloc;
	budget->limit = limit;
	budget->used = 0;
	budget->peak = 0;
	budget->failure = PP_JOIN_OK;
}

void *
pp_budget_alloc(PpBudget *budget, uint64_t n, size_t size)
{
	const size_t extra = sizeof(Piece) + ALIGNMENT;
	size_t		bytes;
	uintptr_t	at;
	Piece	   *piece;
	void	   *given;

	if (n > (SIZE_MAX - extra) / size ||
		(size_t) n * size + extra > budget->limit - budget->used)
	{
		budget->failure = PP_JOIN_NO_FIT;
		return NULL;
	}
	bytes = (size_t) n * size + extra;
	given = budget->alloc.alloc(budget->alloc.ctx, bytes);
	if (given == NULL)
	{
		budget->failure = PP_JOIN_NO_MEMORY;
		return NULL;
	}
	at = ((uintptr_t) given + extra) & ~(uintptr_t) (ALIGNMENT - 1);
	piece = (Piece *) at - 1;
	piece->given = given;
	piece->size = bytes;
	budget->used += bytes;
	if (budget->used > budget->peak)
		budget->peak = budget->used;
	return (void *) at;
}

void *
pp_budget_zeros(PpBudget *budget, uint64_t n, size_t size)
{
	uint8_t    *ptr = pp_budget_alloc(budget, n, size);
	size_t		left = (size_t) n * size;

	for (size_t at = 0; ptr && at < left; at += CLEARED)
	{
		if (at > 0 && pp_cancelled(&budget->cancel))
		{
			pp_budget_release(budget, ptr);
			budget->failure = PP_JOIN_CANCELLED;
			return NULL;
		}
		memset(ptr + at, 0, left - at < CLEARED ? left - at : CLEARED);
	}
	return ptr;
}

void
pp_budget_release(PpBudget *budget, void *ptr)
{
	if (ptr)
	{
		Piece	   *piece = (Piece *) ptr - 1;

		budget->used -= piece->size;
		budget->alloc.release(budget->alloc.ctx, piece->given);
	}
}
