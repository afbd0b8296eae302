/*
 * src/parse/cpu/dispatch.c
 *	  The kernels without vector instructions, and the choice of a level.
 */
#include "../utf8.h"
#include "kernel.h"

static uint32_t
unquote(const uint8_t *src, uint32_t n, uint8_t quote, bool *in_quote, uint8_t *dst)
{
	const PpDialect dialect = {0, quote, quote, false};

	return pp_unquote_piece(&dialect, src, n, in_quote, dst);
}

static uint32_t
unescape(const uint8_t *src, uint32_t n, uint8_t quote, uint8_t escape,
		 bool *in_quote, uint8_t *dst)
{
	const PpDialect dialect = {0, quote, escape, false};

	return pp_unquote_piece(&dialect, src, n, in_quote, dst);
}

static uint64_t
count_byte(const uint8_t *s, size_t n, uint8_t c)
{
	uint64_t	total = 0;

	for (size_t i = 0; i < n; i++)
		total += s[i] == c;
	return total;
}

static bool
survey(const uint8_t *s, size_t n, uint8_t a, uint8_t b, uint8_t c,
	   uint64_t *na, uint64_t *nb)
{
	bool		found = false;

	for (size_t i = 0; i < n; i++)
	{
		*na += s[i] == a;
		*nb += s[i] == b;
		found |= s[i] == c;
	}
	return found;
}

const PpKernels pp_kernels_scalar = {
	PP_SIMD_SCALAR,
	"scalar",
	NULL,
	pp_utf8_valid_prefix,
	unquote,
	unescape,
	NULL,
	NULL,
	count_byte,
	survey
};

const PpKernels *
pp_kernels(PpSimd level)
{
	switch (level)
	{
		case PP_SIMD_SCALAR:
			return &pp_kernels_scalar;
#if defined(__x86_64__)
		case PP_SIMD_SSE2:
			return __builtin_cpu_supports("popcnt") ? &pp_kernels_sse2 : NULL;
		case PP_SIMD_AVX2:
			if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
				__builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
				__builtin_cpu_supports("pclmul"))
				return &pp_kernels_avx2;
			return NULL;
		case PP_SIMD_AVX512:
			if (pp_kernels(PP_SIMD_AVX2) &&
				__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
				__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
				__builtin_cpu_supports("avx512cd") &&
				__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2"))
				return &pp_kernels_avx512;
			return NULL;
#elif defined(__aarch64__)
		case PP_SIMD_NEON:
			return &pp_kernels_neon;
#endif
		default:
			return NULL;
	}
}

const PpKernels *
pp_best_kernels(void)
{
	static const PpSimd order[] = {
		PP_SIMD_AVX512, PP_SIMD_AVX2, PP_SIMD_SSE2, PP_SIMD_NEON
	};

	for (uint32_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
	{
		const PpKernels *kernels = pp_kernels(order[i]);

		if (kernels)
			return kernels;
	}
	return &pp_kernels_scalar;
}
