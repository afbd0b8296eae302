/*
 * src/parse/cpu/kernel_neon.c
 *	  The kernels, with NEON.
 */
#if defined(__aarch64__)

#include "kernel.h"
#include "simd_neon.h"

#include "kernel_impl.h"

const PpKernels pp_kernels_neon = {
	PP_SIMD_NEON,
	"neon",
	structure,
#ifdef HAVE_VECTOR
	utf8_valid_prefix,
#else
	pp_utf8_valid_prefix,
#endif
	unquote,
	unescape,
	NULL,
	NULL,
	count_byte,
	survey
};

#else
typedef int pp_no_kernels_neon;	/* an empty file is no C */
#endif
