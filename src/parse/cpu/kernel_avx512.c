/*
 * src/parse/cpu/kernel_avx512.c
 *	  The kernels, with AVX-512.
 */
#if defined(__x86_64__)

#include "kernel.h"
#include "simd_avx512.h"

#include "kernel_impl.h"

/*
 * Each number stands in a 64-bit lane, right-aligned: its last character in
 * the lane's highest byte, zeros in front.  The digits before the decimal
 * point move up by a byte over it; three multiply-add steps make an integer
 * of eight digits, exact, and a division by a power of ten that is exact as
 * well makes the nearest double.
 */
static PP_TARGET uint32_t
numbers(const uint8_t *text, const uint32_t *end, size_t width, uint32_t lead,
		const uint32_t *row, bool real, uint64_t *value)
{
	const __m512i zero = _mm512_setzero_si512();
	const __m512i one = _mm512_set1_epi64(1);
	uint64_t	lane[8];
	uint32_t	good = 0;
	__m512i		x,
				digit,
				point,
				before;
	uint64_t	is_digit,
				is_point,
				is_minus,
				is_pad;
	__mmask8	bad;

	for (int i = 0; i < 8; i++)
	{
		size_t		at = row[i] * width;
		uint32_t	start = end[(ptrdiff_t) at - 1] + lead;
		uint32_t	n = end[at] - start;
		uint64_t	bytes;

		memcpy(&bytes, text + start, 8);
		/* of a length that does not fit, something is shifted that does not
		 * count */
		lane[i] = bytes << ((64 - 8 * n) & 63);
		good |= (uint32_t) (n - 1 < 8) << i;
	}
	x = _mm512_loadu_si512(lane);
	digit = _mm512_sub_epi8(x, _mm512_set1_epi8('0'));
	is_digit = _mm512_cmple_epu8_mask(digit, _mm512_set1_epi8(9));
	is_point = _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('.'));
	is_minus = _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('-'));
	is_pad = _mm512_cmpeq_epi8_mask(x, zero);
	if (!real)
		is_point = 0;

	/* other characters, a minus that is not in front, no digit, two points */
	bad = _mm512_cmpneq_epi64_mask(_mm512_maskz_set1_epi8(~(is_digit | is_point | is_minus | is_pad) |
														  (is_minus & ~((is_pad << 1) | UINT64_C(0x0101010101010101))),
														  1), zero);
	bad |= _mm512_cmpeq_epi64_mask(_mm512_maskz_set1_epi8(is_digit, 1), zero);
	point = _mm512_maskz_set1_epi8(is_point, 1);
	before = _mm512_sub_epi64(point, one);
	bad |= _mm512_test_epi64_mask(point, before);

	digit = _mm512_maskz_mov_epi8(is_digit, digit);
	before = _mm512_maskz_mov_epi64(_mm512_test_epi64_mask(point, point), before);
	digit = _mm512_or_si512(_mm512_slli_epi64(_mm512_and_si512(digit, before), 8),
							_mm512_andnot_si512(before, digit));
	digit = _mm512_maddubs_epi16(digit, _mm512_set1_epi16(0x010a));
	digit = _mm512_madd_epi16(digit, _mm512_set1_epi32(0x00010064));
	digit = _mm512_add_epi64(_mm512_mul_epu32(digit, _mm512_set1_epi64(10000)),
							 _mm512_srli_epi64(digit, 32));
	if (real)
	{
		const __m512d power = _mm512_setr_pd(1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7);
		/* digits behind the point; 8 if there is none, which counts as 0 */
		__m512i		scale = _mm512_srli_epi64(_mm512_lzcnt_epi64(point), 3);
		__m512d		real8 = _mm512_div_pd(_mm512_cvtepi64_pd(digit),
										  _mm512_permutexvar_pd(scale, power));
		__m512i		sign = _mm512_maskz_set1_epi64(_mm512_cmpneq_epi64_mask(_mm512_maskz_set1_epi8(is_minus, 1), zero),
												   (long long) (UINT64_C(1) << 63));

		x = _mm512_or_si512(_mm512_castpd_si512(real8), sign);
	}
	else
	{
		__mmask8	negative = _mm512_cmpneq_epi64_mask(_mm512_maskz_set1_epi8(is_minus, 1), zero);

		x = _mm512_mask_sub_epi64(digit, negative, zero, digit);
	}
	_mm512_storeu_si512(value, x);
	return good & (uint32_t) (uint8_t) ~bad;
}

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
	numbers,
	count_byte
};

#else
typedef int pp_no_kernels_avx512;	/* an empty file is no C */
#endif
