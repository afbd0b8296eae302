/*
 * cuda/memory.cu
 *	  Device and pinned memory, as memory.h says.
 *
 * The only file that allocates and frees either.  Owns the list of blocks.
 */
#include "memory.h"

#include <cstdlib>

namespace
{

struct Block
{
	uint8_t    *p;
	size_t		size;
	PpMemoryKind kind;
	bool		used;
	bool		retired;		/* by nobody, but not to be used again */
};

Block	   *list;
uint32_t	nblocks;
uint32_t	room;
uint64_t	limit = UINT64_MAX;
PpMemoryCounts counts;
uint64_t	retired;			/* bytes */
cudaError_t last_error = cudaSuccess;

/* Rounded up to a part, 1/32 or less, of itself, and to 256 bytes. */
size_t
step_up(size_t size)
{
	size_t		step = 256;

	while (step <= size / 64)
		step *= 2;
	return (size + step - 1) / step * step;
}

/* A block's memory is given back to the device or the host. */
void
free_block(uint32_t i)
{
	Block		b = list[i];

	list[i] = list[--nblocks];
	if (b.retired)
		retired -= b.size;
	if (b.kind == PP_MEMORY_DEVICE)
	{
		counts.held -= b.size;
		(void) cudaFree(b.p);
	}
	else
	{
		counts.pinned -= b.size;
		(void) cudaFreeHost(b.p);
	}
	(void) cudaGetLastError();
}

void
free_unused(PpMemoryKind kind)
{
	for (uint32_t i = nblocks; i-- > 0;)
		if (!list[i].used && list[i].kind == kind)
			free_block(i);
}

/* The smallest block that has the size and is not much too large. */
Block *
find_unused(PpMemoryKind kind, size_t size)
{
	Block	   *best = nullptr;

	for (uint32_t i = 0; i < nblocks; i++)
		if (!list[i].used && !list[i].retired && list[i].kind == kind && list[i].size >= size &&
			list[i].size / 2 <= size && (best == nullptr || list[i].size < best->size))
			best = &list[i];
	return best;
}

bool
allocate(PpMemoryKind kind, size_t size, void **p)
{
	if (kind == PP_MEMORY_PINNED)
		last_error = cudaMallocHost(p, size);
	else if (counts.held + size > limit)
		last_error = cudaErrorMemoryAllocation;
	else
		last_error = cudaMalloc(p, size);
	(void) cudaGetLastError();	/* a refusal breaks nothing */
	return last_error == cudaSuccess;
}

Block *
new_block(PpMemoryKind kind, size_t size)
{
	void	   *p;

	if (nblocks == room)
	{
		uint32_t	more = room == 0 ? 64 : 2 * room;
		Block	   *bigger = static_cast<Block *>(realloc(list, more * sizeof(Block)));

		if (bigger == nullptr)
		{
			last_error = cudaErrorMemoryAllocation;
			return nullptr;
		}
		list = bigger;
		room = more;
	}
	/* of the host nothing is refused, but no more than on a device is kept */
	if (kind == PP_MEMORY_PINNED && counts.pinned + size > limit)
		free_unused(kind);
	if (!allocate(kind, size, &p))
	{
		free_unused(kind);
		if (!allocate(kind, size, &p))
			return nullptr;
	}
	list[nblocks] = {static_cast<uint8_t *>(p), size, kind, false, false};
	if (kind == PP_MEMORY_DEVICE)
	{
		counts.held += size;
		if (counts.held > counts.peak)
			counts.peak = counts.held;
	}
	else
		counts.pinned += size;
	return &list[nblocks++];
}

Block *
block_of(const PpBuffer *buffer)
{
	for (uint32_t i = 0; i < nblocks; i++)
		if (list[i].p == buffer->p)
			return &list[i];
	return nullptr;
}

void
count_used(PpMemoryKind kind, int64_t size)
{
	(kind == PP_MEMORY_DEVICE ? counts.used : counts.pinned_used) += (uint64_t) size;
}

}								/* namespace */

bool
pp_buffer_reserve(PpBuffer *buffer, size_t size)
{
	Block	   *b;

	if (buffer->size >= size && buffer->p != nullptr)
		return true;
	if (buffer->p != nullptr)
	{
		b = block_of(buffer);
		pp_buffer_release(buffer);
		if (b != nullptr)
			free_block((uint32_t) (b - list));
	}
	size = step_up(size == 0 ? 1 : size);
	b = find_unused(buffer->kind, size);
	if (b == nullptr)
		b = new_block(buffer->kind, size);
	if (b == nullptr)
		return false;
	b->used = true;
	buffer->p = b->p;
	buffer->size = b->size;
	count_used(b->kind, (int64_t) b->size);
	return true;
}

cudaError_t
pp_buffer_error(void)
{
	return last_error;
}

void
pp_buffer_release(PpBuffer *buffer)
{
	Block	   *b = buffer->p == nullptr ? nullptr : block_of(buffer);

	if (b != nullptr)
	{
		b->used = false;
		count_used(b->kind, -(int64_t) b->size);
	}
	buffer->p = nullptr;
	buffer->size = 0;
}

void
pp_buffer_retire(PpBuffer *buffer)
{
	Block	   *b = buffer->p == nullptr ? nullptr : block_of(buffer);

	pp_buffer_release(buffer);
	if (b == nullptr)
		return;
	b->retired = true;
	retired += b->size;
}

void
pp_memory_settle(void)
{
	for (uint32_t i = nblocks; i-- > 0;)
		if (list[i].retired)
			free_block(i);
}

uint64_t
pp_memory_retired(void)
{
	return retired;
}

PpMemoryCounts
pp_memory_counts(void)
{
	return counts;
}

void
pp_memory_limit(uint64_t bytes)
{
	limit = bytes;
	if (counts.held > limit)
		free_unused(PP_MEMORY_DEVICE);
}

uint64_t
pp_memory_left(void)
{
	const uint64_t allowed = limit > counts.used ? limit - counts.used : 0;
	size_t		available = 0;
	size_t		total = 0;

	if (cudaMemGetInfo(&available, &total) != cudaSuccess)
	{
		(void) cudaGetLastError();
		return allowed;
	}
	available += counts.held - counts.used;
	return available < allowed ? available : allowed;
}

void
pp_memory_trim(void)
{
	free_unused(PP_MEMORY_DEVICE);
	free_unused(PP_MEMORY_PINNED);
}

void
pp_memory_forget(void)
{
	nblocks = 0;
	room = 0;
	retired = 0;
	free(list);
	list = nullptr;
	counts = PpMemoryCounts();
}
