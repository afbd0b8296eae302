/*
 * src/trie/trie_kernel_scalar.c
 *	  The kernels without vector instructions, and the choice of a level.
 */
#include "trie_kernel.h"

#define PP_TARGET
#define VEC_LANES	1

typedef uint32_t Vec;

static inline Vec
vec_load(const uint32_t *p)
{
	return *p;
}

static inline uint32_t
vec_match(Vec x, Vec y)
{
	return x == y;
}

static inline void
vec_keep(uint32_t *p, Vec x, uint32_t m)
{
	(void) m;
	*p = x;
}

static inline uint32_t
popcount(uint32_t m)
{
	return m;
}

static inline uint64_t
popcount64(uint64_t m)
{
	return (uint64_t) __builtin_popcountll(m);
}

static uint64_t
and_count(const uint64_t *a, const uint64_t *b, size_t words)
{
	uint64_t	n = 0;

	for (size_t i = 0; i < words; i++)
		n += popcount64(a[i] & b[i]);
	return n;
}

static bool
and_any(const uint64_t *a, const uint64_t *b)
{
	uint64_t	any = 0;

	for (uint32_t i = 0; i < PP_TRIE_WORDS; i++)
		any |= a[i] & b[i];
	return any != 0;
}

static inline size_t
narrow_blocks(const int64_t *keys, size_t n, uint64_t base, uint32_t *to, uint64_t *beyond)
{
	(void) keys;
	(void) n;
	(void) base;
	(void) to;
	(void) beyond;
	return 0;
}

#include "trie_kernel_impl.h"

const PpTrieKernels pp_trie_kernels_scalar = {
	PP_SIMD_SCALAR,
	"scalar",
	intersect,
	intersect_count,
	NULL,
	and_count,
	and_list,
	edges_between,
	doubled_between,
	narrow
};

const PpTrieKernels *
pp_trie_kernels(PpSimd level)
{
	switch (level)
	{
		case PP_SIMD_SCALAR:
			return &pp_trie_kernels_scalar;
#if defined(__x86_64__)
		case PP_SIMD_SSE2:
			return __builtin_cpu_supports("popcnt") ? &pp_trie_kernels_sse2 : NULL;
		case PP_SIMD_AVX2:
			if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
				__builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
				return &pp_trie_kernels_avx2;
			return NULL;
		case PP_SIMD_AVX512:
			if (pp_trie_kernels(PP_SIMD_AVX2) &&
				__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
				__builtin_cpu_supports("avx512vpopcntdq"))
				return &pp_trie_kernels_avx512;
			return NULL;
#elif defined(__aarch64__)
		case PP_SIMD_NEON:
			return &pp_trie_kernels_neon;
#endif
		default:
			return NULL;
	}
}

const PpTrieKernels *
pp_trie_best_kernels(void)
{
	static const PpSimd order[] = {
		PP_SIMD_AVX512, PP_SIMD_AVX2, PP_SIMD_SSE2, PP_SIMD_NEON
	};

	for (uint32_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
	{
		const PpTrieKernels *kernels = pp_trie_kernels(order[i]);

		if (kernels)
			return kernels;
	}
	return &pp_trie_kernels_scalar;
}
