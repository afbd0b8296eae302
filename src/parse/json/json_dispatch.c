/*
 * src/parse/json/json_dispatch.c
 *	  The choice of kernels, and the classes of tokens.
 */
#include "json_kernel.h"

const uint8_t pp_json_class[256] = {
	['"'] = PP_TOKEN_STRING,
	['-'] = PP_TOKEN_NUMBER,['0'] = PP_TOKEN_NUMBER,['1'] = PP_TOKEN_NUMBER,
	['2'] = PP_TOKEN_NUMBER,['3'] = PP_TOKEN_NUMBER,['4'] = PP_TOKEN_NUMBER,
	['5'] = PP_TOKEN_NUMBER,['6'] = PP_TOKEN_NUMBER,['7'] = PP_TOKEN_NUMBER,
	['8'] = PP_TOKEN_NUMBER,['9'] = PP_TOKEN_NUMBER,
	['t'] = PP_TOKEN_WORD,['f'] = PP_TOKEN_WORD,['n'] = PP_TOKEN_WORD,
	[':'] = PP_TOKEN_COLON,[','] = PP_TOKEN_COMMA,
	['{'] = PP_TOKEN_OBJECT,['['] = PP_TOKEN_ARRAY,
	['}'] = PP_TOKEN_OBJECT_END,[']'] = PP_TOKEN_ARRAY_END,
	['\n'] = PP_TOKEN_LINE
};

const PpJsonKernels *
pp_json_kernels(PpSimd level)
{
	/* whether this processor has the level is known there */
	if (!pp_kernels(level))
		return NULL;
	switch (level)
	{
#if defined(__x86_64__)
		case PP_SIMD_SSE2:
			return &pp_json_kernels_sse2;
		case PP_SIMD_AVX2:
			return &pp_json_kernels_avx2;
		case PP_SIMD_AVX512:
			return &pp_json_kernels_avx512;
#elif defined(__aarch64__)
		case PP_SIMD_NEON:
			return &pp_json_kernels_neon;
#endif
		default:
			return NULL;
	}
}
