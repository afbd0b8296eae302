/*
 * src/parse/json/json_kernel_sse2.c
 *	  The structure pass of JSON, with SSE2.
 */
#if defined(__x86_64__)

#include <string.h>

#include "json_escape.h"
#include "json_kernel.h"
#include "../cpu/simd_sse2.h"

/* Bit i: byte i is below c, which is below 0x80. */
static inline PP_TARGET uint64_t
block_below(Block b, uint8_t c)
{
	const __m128i limit = _mm_set1_epi8((char) (c - 1));
	uint64_t	m = 0;

	for (int i = 3; i >= 0; i--)
		m = (m << 16) | (uint32_t) _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(b.v[i], limit), b.v[i]));
	return m;
}

/* Each byte with bits added. */
static inline PP_TARGET Block
block_or(Block b, uint8_t c)
{
	for (int i = 0; i < 4; i++)
		b.v[i] = _mm_or_si128(b.v[i], _mm_set1_epi8((char) c));
	return b;
}

#include "json_masks.h"

#include "json_kernel_impl.h"
#include "json_sweep_impl.h"

const PpJsonKernels pp_json_kernels_sse2 = {
	json_tokens,
	json_unescape,
	json_sweep
};

#else
typedef int pp_no_json_kernel_sse2;	/* an empty file is no C */
#endif
