/*
 * test/simt/shared.cpp
 *	  Shared memory of blocks: where it lies, what it holds at first, and what
 *	  may not be touched.
 *
 * A window is [static 48 KiB][gap][dynamic 227 KiB][gap], or one flat space
 * that starts where the static part does.  It is garbage when a block starts.
 */
#include "grid.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

#include "settings.h"

namespace simt
{

static const size_t GAP = 4096;
static const size_t DYNAMIC_AT = SHARED_STATIC + GAP;
static const size_t WINDOW = DYNAMIC_AT + SHARED_MOST + GAP;
static const uint64_t GARBAGE_WORD = UINT64_C(0xa5a5a5a5a5a5a5a5);

/* What the device claims: 228 KiB, as of compute capability 9.0; or as set. */
static const size_t MULTIPROCESSOR = 228 * 1024;
static size_t multiprocessor;

void
shared_from_settings()
{
	const char *value = setting("SIMT_SHARED");

	multiprocessor = *value == '\0' ? MULTIPROCESSOR : (size_t) strtoull(value, nullptr, 10);
}

size_t
shared_multiprocessor()
{
	if (multiprocessor == 0)
		shared_from_settings();
	return multiprocessor;
}

size_t
shared_block()
{
	/* the smallest devices reserve none of it */
	const size_t most = shared_multiprocessor() - (shared_multiprocessor() > 65536 ? SHARED_RESERVED : 0);

	return most < SHARED_MOST ? most : SHARED_MOST;
}

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
	forget_accesses(shared, sizeof(windows));
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
	/* those of the block before, to what this one may touch */
	forget_accesses(shared, launch.flat_bytes != 0 ? launch.flat_bytes : DYNAMIC_AT + launch.dynamic_bytes);
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
		if (bytes > SHARED_STATIC || bytes + active->launch.dynamic_bytes > shared_block())
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

void
simt_set_shared(uint64_t bytes)
{
	simt::multiprocessor = (size_t) bytes;
}
