/*
 * src/parse/json/json_kernel_neon.c
 *	  The structure pass of JSON, with NEON.
 */
#if defined(__aarch64__)

#include <string.h>

#include "json_escape.h"
#include "json_kernel.h"
#include "../cpu/simd_neon.h"

/* Bit i: byte i is below c. */
static inline uint64_t
block_below(Block b, uint8_t c)
{
	uint8x16_t	x = vdupq_n_u8(c);

	return block_bits(vcltq_u8(b.v[0], x), vcltq_u8(b.v[1], x),
					  vcltq_u8(b.v[2], x), vcltq_u8(b.v[3], x));
}

/* Each byte with bits added. */
static inline Block
block_or(Block b, uint8_t c)
{
	for (int i = 0; i < 4; i++)
		b.v[i] = vorrq_u8(b.v[i], vdupq_n_u8(c));
	return b;
}

#include "json_masks.h"

#include "json_kernel_impl.h"
#include "json_sweep_impl.h"

const PpJsonKernels pp_json_kernels_neon = {
	json_tokens,
	json_unescape,
	json_sweep
};

#else
typedef int pp_no_json_kernel_neon;	/* an empty file is no C */
#endif
