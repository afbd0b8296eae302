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

#ifdef SIMT_COUNT_BYTES

namespace simt
{

extern uint64_t *loaded_bytes;
extern uint64_t *stored_bytes;

static inline void
count(uint64_t *bytes, uintptr_t p, size_t n)
{
	if (bytes != nullptr && is_device_address(reinterpret_cast<const void *>(p)))
		*bytes += n;
}

}								/* namespace simt */

using namespace simt;

#define SIMT_ACCESS(n) \
	void __asan_load##n##_noabort(uintptr_t p); \
	void __asan_store##n##_noabort(uintptr_t p); \
	void __asan_load##n##_noabort(uintptr_t p) { count(loaded_bytes, p, n); } \
	void __asan_store##n##_noabort(uintptr_t p) { count(stored_bytes, p, n); }

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
	count(loaded_bytes, p, n);
}

void
__asan_storeN_noabort(uintptr_t p, size_t n)
{
	count(stored_bytes, p, n);
}

void
__asan_handle_no_return(void)
{
}

}

#endif
