/*
 * src/parse/cpu/kernel_sse2.c
 *	  The kernels, with SSE2.
 */
#if defined(__x86_64__)

#include "kernel.h"
#include "simd_sse2.h"

#include "kernel_impl.h"
#include "simd_values.h"

const PpKernels pp_kernels_sse2 = {
	PP_SIMD_SSE2,
	"sse2",
	structure,
#ifdef HAVE_VECTOR
	utf8_valid_prefix,
#else
	pp_utf8_valid_prefix,
#endif
	unquote,
	unescape,
	numbers,
	timestamps,
	count_byte,
	survey
};

#else
typedef int pp_no_kernels_sse2;	/* an empty file is no C */
#endif
