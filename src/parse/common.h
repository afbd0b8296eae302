/*
 * src/parse/common.h
 *	  What every file of the parse engine shares: host/device markers,
 *	  allocation, alignment and byte-order assumptions.
 *
 * The parse engine stands below the wall: it includes no PostgreSQL header,
 * never calls palloc, never jumps out of a function by longjmp and calls no
 * libc function from conversion code.  Headers in this folder are C11 that
 * also compiles as C++17 and, with PP_HD set to "__host__ __device__", as
 * CUDA C++; one source serves every backend.
 *
 * Errors are values.  Memory comes from the allocator that the caller hands
 * in (PpAlloc), which answers NULL when it has none.
 */
#ifndef PP_COMMON_H
#define PP_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define PP_HD __host__ __device__
#else
#define PP_HD
#endif
#define PP_INLINE static inline PP_HD

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the parse engine writes Datums in place and supports little-endian machines only"
#endif

#ifdef __cplusplus
extern "C"
{
#endif

#define PP_LIKELY(x)	__builtin_expect(!!(x), 1)
#define PP_UNLIKELY(x)	__builtin_expect(!!(x), 0)

/* Bytes that may be read (not interpreted) behind the end of any input. */
#define PP_PAD			64

/* No record may reach this many bytes, line end included; as in COPY. */
#define PP_MAX_RECORD	0x3fffffffu

/*
 * The caller's allocator.  alloc answers memory aligned for any C type, or
 * NULL; release takes what alloc gave, or NULL.  Neither may throw.
 */
typedef struct PpAlloc
{
	void	   *(*alloc) (void *ctx, size_t size);
	void		(*release) (void *ctx, void *ptr);
	void	   *ctx;
} PpAlloc;

/* Byte-wise comparison usable on every backend; conversions call no libc. */
PP_INLINE bool
pp_same_bytes(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_COMMON_H */
