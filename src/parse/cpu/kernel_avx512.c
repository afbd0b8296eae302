/*
 * src/parse/cpu/kernel_avx512.c
 *	  The kernels, with AVX-512.
 */
#if defined(__x86_64__)

#include "kernel.h"
#include "simd_avx512.h"

#include "kernel_impl.h"

const PpKernels pp_kernels_avx512 = {
	PP_SIMD_AVX512,
	"avx512",
	structure,
#ifdef HAVE_VECTOR
	utf8_valid_prefix,
#else
	pp_utf8_valid_prefix,
#endif
	unquote,
	count_byte
};

#else
typedef int pp_no_kernels_avx512;	/* an empty file is no C */
#endif
