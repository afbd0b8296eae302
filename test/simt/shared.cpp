/*
 * test/simt/shared.cpp
 *	  Shared memory of blocks: where it lies, what it holds at first, and what
 *	  may not be touched.
 *
 * A window is [static 48 KiB][gap][dynamic 64 KiB][gap], or one flat space
 * that starts where the static part does.  It is garbage when a block starts.
 */
#include "grid.h"

#include <cstring>
#include <sys/mman.h>

namespace simt
{

static const size_t GAP = 4096;
static const size_t DYNAMIC_AT = SHARED_STATIC + GAP;
static const size_t WINDOW = DYNAMIC_AT + SHARED_TOTAL + GAP;
static const uint64_t GARBAGE_WORD = UINT64_C(0xa5a5a5a5a5a5a5a5);

/* Windows that are free; their first bytes point to the next. */
static unsigned char *windows;

unsigned char *
shared_take()
{
	void	   *p;

	if (windows != nullptr)
	{
		unsigned char *window = windows;

		memcpy(&windows, window, sizeof(windows));
		return window;
	}
	p = mmap(nullptr, WINDOW, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? nullptr : static_cast<unsigned char *>(p);
}

void
shared_give(unsigned char *shared)
{
	unpoison(shared, WINDOW);
	forget_accesses(shared, WINDOW);
	memcpy(shared, &windows, sizeof(windows));
	windows = shared;
}

void
shared_release()
{
	while (windows != nullptr)
	{
		unsigned char *window = windows;

		memcpy(&windows, window, sizeof(windows));
		(void) munmap(window, WINDOW);
	}
}

/*
 * Not memset(), which ThreadSanitizer would take for an access that races with
 * those of the threads.  n is rounded up to 8 bytes.
 */
static void
fill_garbage(unsigned char *p, size_t n)
{
	volatile uint64_t *word = reinterpret_cast<volatile uint64_t *>(p);

	for (size_t i = 0; i < (n + 7) / 8; i++)
		word[i] = GARBAGE_WORD;
}

void
shared_start(Block *block)
{
	const Launch &launch = block->grid->launch;
	unsigned char *shared = block->shared;

	unpoison(shared, WINDOW);
	forget_accesses(shared, WINDOW);	/* those of the block before */
	if (launch.flat_bytes != 0)
	{
		fill_garbage(shared, launch.flat_bytes);
		poison(shared + launch.flat_bytes, WINDOW - launch.flat_bytes);
		return;
	}
#ifdef SIMT_TSAN
	/* how much there is shows only when a thread has written to it */
	fill_garbage(shared, SHARED_STATIC);
#endif
	fill_garbage(shared + DYNAMIC_AT, launch.dynamic_bytes);
	poison(shared, DYNAMIC_AT);
	poison(shared + DYNAMIC_AT + launch.dynamic_bytes, WINDOW - DYNAMIC_AT - launch.dynamic_bytes);
}

unsigned char *
static_shared(size_t bytes, const char *where)
{
	Block	   *block = active->running->block;

	if (block->shared_where == nullptr)
	{
		if (bytes > SHARED_STATIC || bytes + active->launch.dynamic_bytes > SHARED_TOTAL)
			fail(cudaErrorInvalidConfiguration,
				 "%zu bytes of static and %zu of dynamic shared memory are too many", bytes,
				 active->launch.dynamic_bytes);
		unpoison(block->shared, DYNAMIC_AT);
#ifndef SIMT_TSAN
		fill_garbage(block->shared, bytes);
#endif
		poison(block->shared + bytes, DYNAMIC_AT - bytes);
		block->shared_where = where;
	}
	else if (block->shared_where != where && strcmp(block->shared_where, where) != 0)
		fail(cudaErrorLaunchFailure, "second PP_SHARED in one kernel: at %s and at %s",
			 block->shared_where, where);
	return block->shared;
}

unsigned char *
dynamic_shared()
{
	return active->running->block->shared + DYNAMIC_AT;
}

unsigned char *
flat_shared()
{
	return active->running->block->shared;
}

}								/* namespace simt */
