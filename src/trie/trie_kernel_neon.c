/*
 * src/trie/trie_kernel_neon.c
 *	  The kernels, with NEON.
 */
#if defined(__aarch64__)

#include <arm_neon.h>

#include "trie_kernel.h"

#define PP_TARGET
#define VEC_LANES	4

typedef uint32x4_t Vec;

static inline Vec
vec_load(const uint32_t *p)
{
	return vld1q_u32(p);
}

static inline Vec
vec_broadcast(uint32_t v)
{
	return vdupq_n_u32(v);
}

static inline uint32_t
lanes(uint32x4_t v)
{
	static const uint32_t bit[4] = {1, 2, 4, 8};

	return vaddvq_u32(vandq_u32(v, vld1q_u32(bit)));
}

static inline uint32_t
vec_equal(Vec x, Vec y)
{
	return lanes(vceqq_u32(x, y));
}

static inline uint32_t
vec_match(Vec x, Vec y)
{
	return lanes(vorrq_u32(vorrq_u32(vceqq_u32(x, y), vceqq_u32(x, vextq_u32(y, y, 1))),
						   vorrq_u32(vceqq_u32(x, vextq_u32(y, y, 2)),
									 vceqq_u32(x, vextq_u32(y, y, 3)))));
}

static inline void
vec_keep(uint32_t *p, Vec x, uint32_t m)
{
	uint32_t	entry[4];

	if (m == 0)
		return;
	vst1q_u32(entry, x);
	for (; m; m &= m - 1)
		*p++ = entry[__builtin_ctz(m)];
}

static inline int
popcount(uint32_t m)
{
	return __builtin_popcount(m);
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

	for (size_t i = 0; i < words; i += 2)
		n += vaddlvq_u8(vcntq_u8(vreinterpretq_u8_u64(vandq_u64(vld1q_u64(a + i),
																vld1q_u64(b + i)))));
	return n;
}

static PP_TARGET bool
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
	const int64x2_t from = vdupq_n_s64((int64_t) base);
	uint64x2_t	any = vdupq_n_u64(0);
	size_t		i = 0;

	for (; i + 4 <= n; i += 4)
	{
		uint64x2_t	x = vreinterpretq_u64_s64(vsubq_s64(vld1q_s64(keys + i), from));
		uint64x2_t	y = vreinterpretq_u64_s64(vsubq_s64(vld1q_s64(keys + i + 2), from));

		any = vorrq_u64(any, vorrq_u64(x, y));
		vst1q_u32(to + i, vuzp1q_u32(vreinterpretq_u32_u64(x), vreinterpretq_u32_u64(y)));
	}
	*beyond |= vgetq_lane_u64(any, 0) | vgetq_lane_u64(any, 1);
	return i;
}

#include "trie_kernel_impl.h"

const PpTrieKernels pp_trie_kernels_neon = {
	PP_SIMD_NEON,
	"neon",
	intersect,
	intersect_count,
	short_triangles,
	and_count,
	and_list,
	edges_between,
	doubled_between,
	narrow
};

#else
typedef int pp_no_trie_kernels_neon;	/* an empty file is no C */
#endif
