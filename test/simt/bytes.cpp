/*
 * test/simt/bytes.cpp
 *	  Counts the bytes that kernels load from and store to device memory, in
 *	  builds whose kernels call these functions for every access
 *	  (-fsanitize=kernel-address without its shadow memory).
 *
 * An access counts with the bytes it asks for; caches, sectors and what lanes
 * of a warp ask for together are not modelled.  The functions of device_wide.h
 * are counted as their twins do their work, which is about what one pass over
 * the arrays takes.
 */
#include "cudart.h"
#include "grid.h"

#ifdef SIMT_COUNT_BYTES

namespace simt
{

extern uint64_t *loaded_bytes;
extern uint64_t *stored_bytes;
extern uint64_t *most_loaded;

static inline void
count_load(uintptr_t p, size_t n)
{
	Fiber	   *fiber;

	if (loaded_bytes == nullptr || !is_device_address(reinterpret_cast<const void *>(p)))
		return;
	*loaded_bytes += n;
	if (current == nullptr)
		return;
	fiber = static_cast<Fiber *>(const_cast<Index *>(current));
	fiber->loaded += n;
	if (fiber->loaded > *most_loaded)
		*most_loaded = fiber->loaded;
}

static inline void
count_store(uintptr_t p, size_t n)
{
	if (stored_bytes != nullptr && is_device_address(reinterpret_cast<const void *>(p)))
		*stored_bytes += n;
}

}								/* namespace simt */

using namespace simt;

#define SIMT_ACCESS(n) \
	void __asan_load##n##_noabort(uintptr_t p); \
	void __asan_store##n##_noabort(uintptr_t p); \
	void __asan_load##n##_noabort(uintptr_t p) { count_load(p, n); } \
	void __asan_store##n##_noabort(uintptr_t p) { count_store(p, n); }

extern "C" {

SIMT_ACCESS(1)
SIMT_ACCESS(2)
SIMT_ACCESS(4)
SIMT_ACCESS(8)
SIMT_ACCESS(16)

void		__asan_loadN_noabort(uintptr_t p, size_t n);
void		__asan_storeN_noabort(uintptr_t p, size_t n);
void		__asan_handle_no_return(void);

void
__asan_loadN_noabort(uintptr_t p, size_t n)
{
	count_load(p, n);
}

void
__asan_storeN_noabort(uintptr_t p, size_t n)
{
	count_store(p, n);
}

void
__asan_handle_no_return(void)
{
}

}

#endif
