/*
 * src/parse/json/json_kernel_avx2.c
 *	  The structure pass of JSON, with AVX2.
 */
#if defined(__x86_64__)

#include <string.h>

#include "json_escape.h"
#include "json_kernel.h"
#include "../cpu/simd_avx2.h"

/* Bit i: byte i is below c, which is below 0x80. */
static inline PP_TARGET uint64_t
block_below(Block b, uint8_t c)
{
	const __m256i limit = _mm256_set1_epi8((char) (c - 1));
	uint32_t	low = (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(b.v[0], limit), b.v[0]));
	uint32_t	high = (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(b.v[1], limit), b.v[1]));

	return low | ((uint64_t) high << 32);
}

/* Each byte with bits added. */
static inline PP_TARGET Block
block_or(Block b, uint8_t c)
{
	b.v[0] = _mm256_or_si256(b.v[0], _mm256_set1_epi8((char) c));
	b.v[1] = _mm256_or_si256(b.v[1], _mm256_set1_epi8((char) c));
	return b;
}

#include "json_masks.h"

#include "json_kernel_impl.h"
#include "json_sweep_impl.h"

const PpJsonKernels pp_json_kernels_avx2 = {
	json_tokens,
	json_unescape,
	json_sweep
};

#else
typedef int pp_no_json_kernel_avx2;	/* an empty file is no C */
#endif
