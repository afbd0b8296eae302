/*
 * src/parse/cpu/arena.h
 *	  The memory that a batch's by-reference values lie in.
 *
 * A bump allocator over blocks that never move, so that Datums may point into
 * them.  Reset keeps blocks of ordinary size for the next batch and gives
 * back those that a huge value needed, so that memory stays bounded by the
 * partition once the value is gone.
 */
#ifndef PP_ARENA_H
#define PP_ARENA_H

#include "../common.h"

#define PP_ARENA_BLOCK	(256u * 1024)

typedef struct PpArenaBlock
{
	struct PpArenaBlock *next;
	size_t		size;			/* bytes behind this header */
} PpArenaBlock;

typedef struct PpArena
{
	const PpAlloc *alloc;
	PpArenaBlock *full;			/* used, the latest first */
	PpArenaBlock *spare;		/* empty, of PP_ARENA_BLOCK bytes */
	uint8_t    *at;				/* next byte, 8-byte aligned */
	uint8_t    *limit;
} PpArena;

static inline void
pp_arena_init(PpArena *arena, const PpAlloc *alloc)
{
	arena->alloc = alloc;
	arena->full = arena->spare = NULL;
	arena->at = arena->limit = NULL;
}

/* A block that has room for size bytes; NULL when out of memory. */
static inline uint8_t *
pp_arena_grow(PpArena *arena, uint64_t size)
{
	const PpAlloc *a = arena->alloc;
	PpArenaBlock *block = arena->spare;

	if (block && size <= block->size)
		arena->spare = block->next;
	else
	{
		size_t		room = size < PP_ARENA_BLOCK ? PP_ARENA_BLOCK : size;

		block = a->alloc(a->ctx, sizeof(PpArenaBlock) + room + 16);
		if (!block)
			return NULL;
		block->size = room;
	}
	block->next = arena->full;
	arena->full = block;
	arena->at = (uint8_t *) (((uintptr_t) (block + 1) + 15) & ~(uintptr_t) 15);
	arena->limit = arena->at + block->size;
	return arena->at;
}

/*
 * Where the next size bytes may be written, 8-byte aligned; NULL when out of
 * memory.  They are kept only by pp_arena_take().
 */
static inline uint8_t *
pp_arena_room(PpArena *arena, uint64_t size)
{
	if (PP_LIKELY(size <= (uint64_t) (arena->limit - arena->at)))
		return arena->at;
	return pp_arena_grow(arena, size);
}

/* Keeps the first used bytes of the room; a value of 0 bytes keeps none. */
static inline void
pp_arena_take(PpArena *arena, uint64_t used)
{
	uint8_t    *at = arena->at + ((used + 7) & ~UINT64_C(7));

	arena->at = at < arena->limit ? at : arena->limit;
}

/* Forgets all values. */
static inline void
pp_arena_reset(PpArena *arena)
{
	const PpAlloc *a = arena->alloc;

	while (arena->full)
	{
		PpArenaBlock *block = arena->full;

		arena->full = block->next;
		if (block->size == PP_ARENA_BLOCK)
		{
			block->next = arena->spare;
			arena->spare = block;
		}
		else
			a->release(a->ctx, block);
	}
	arena->at = arena->limit = NULL;
}

static inline void
pp_arena_destroy(PpArena *arena)
{
	if (!arena->alloc)
		return;
	pp_arena_reset(arena);
	while (arena->spare)
	{
		PpArenaBlock *block = arena->spare;

		arena->spare = block->next;
		arena->alloc->release(arena->alloc->ctx, block);
	}
}

#endif							/* PP_ARENA_H */
