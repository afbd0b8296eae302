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

/* Bytes i and i + 1, both digits, as a number in byte i. */
static inline PP_TARGET __m512i
digit_pairs(__m512i x)
{
	return _mm512_add_epi64(_mm512_add_epi64(_mm512_slli_epi64(x, 3), _mm512_slli_epi64(x, 1)),
							_mm512_srli_epi64(x, 8));
}

/* Byte i of each lane. */
static inline PP_TARGET __m512i
lane_byte(__m512i x, unsigned int i)
{
	return _mm512_and_si512(_mm512_srli_epi64(x, 8 * i), _mm512_set1_epi64(0xff));
}

/*
 * pp_parse_date() and pp_parse_time() in eight 64-bit lanes: each word is
 * XORed with what it should look like, so that digits are 0 to 9 and
 * separators 0.
 */
static PP_TARGET uint32_t
timestamps(const uint8_t *text, const uint32_t *end, size_t width, uint32_t lead,
		   const uint32_t *row, uint64_t *value)
{
	const __m512i high_bits = _mm512_set1_epi64((long long) UINT64_C(0x8080808080808080));
	const __m512i zero = _mm512_setzero_si512();
	/* by month: its last day, but in February; days before it since March */
	const __m512i last_low = _mm512_setr_epi64(0, 31, 28, 31, 30, 31, 30, 31);
	const __m512i last_high = _mm512_setr_epi64(31, 30, 31, 30, 31, 0, 0, 0);
	const __m512i before_low = _mm512_setr_epi64(0, 306, 337, 0, 31, 61, 92, 122);
	const __m512i before_high = _mm512_setr_epi64(153, 184, 214, 245, 275, 0, 0, 0);
	uint64_t	lane[3][8];
	uint32_t	good = 0;
	__m512i		head,
				tail,
				time,
				pairs,
				year,
				month,
				day,
				hour,
				minute,
				second,
				century,
				seconds;
	__mmask8	bad;

	for (int i = 0; i < 8; i++)
	{
		size_t		at = row[i] * width;
		uint32_t	start = end[(ptrdiff_t) at - 1] + lead;
		const uint8_t *s = text + start;

		memcpy(&lane[0][i], s, 8);
		memcpy(&lane[1][i], s + 2, 8);
		memcpy(&lane[2][i], s + 11, 8);
		good |= (uint32_t) (end[at] - start == 19 && s[10] == ' ') << i;
	}
	head = _mm512_xor_si512(_mm512_loadu_si512(lane[0]),
							_mm512_set1_epi64((long long) UINT64_C(0x2d30302d30303030)));
	tail = _mm512_xor_si512(_mm512_loadu_si512(lane[1]),
							_mm512_set1_epi64((long long) UINT64_C(0x30302d30302d3030)));
	time = _mm512_xor_si512(_mm512_loadu_si512(lane[2]),
							_mm512_set1_epi64((long long) UINT64_C(0x30303a30303a3030)));

	/* a byte above its limit, 9 or 0, reaches the high bit */
	bad = _mm512_test_epi64_mask(high_bits,
								 _mm512_or_si512(head, _mm512_add_epi64(head, _mm512_set1_epi64((long long) UINT64_C(0x7f76767f76767676)))));
	bad |= _mm512_test_epi64_mask(high_bits,
								  _mm512_or_si512(tail, _mm512_add_epi64(tail, _mm512_set1_epi64((long long) UINT64_C(0x76767f76767f7676)))));
	bad |= _mm512_test_epi64_mask(high_bits,
								  _mm512_or_si512(time, _mm512_add_epi64(time, _mm512_set1_epi64((long long) UINT64_C(0x76767f76767f7676)))));

	pairs = digit_pairs(head);
	year = _mm512_add_epi64(_mm512_mul_epu32(lane_byte(pairs, 0), _mm512_set1_epi64(100)),
							lane_byte(pairs, 2));
	month = lane_byte(pairs, 5);
	day = lane_byte(digit_pairs(tail), 6);
	pairs = digit_pairs(time);
	hour = lane_byte(pairs, 0);
	minute = lane_byte(pairs, 3);
	second = lane_byte(pairs, 6);

	bad |= _mm512_cmpeq_epi64_mask(year, zero);
	bad |= _mm512_cmpgt_epu64_mask(_mm512_sub_epi64(month, _mm512_set1_epi64(1)), _mm512_set1_epi64(11));
	bad |= _mm512_cmpge_epu64_mask(_mm512_sub_epi64(day, _mm512_set1_epi64(1)),
								   _mm512_permutex2var_epi64(last_low, month, last_high));
	bad |= _mm512_cmpgt_epu64_mask(hour, _mm512_set1_epi64(23));
	bad |= _mm512_cmpgt_epu64_mask(minute, _mm512_set1_epi64(59));
	bad |= _mm512_cmpgt_epu64_mask(second, _mm512_set1_epi64(59));

	/* as pp_days_from_date(): years begin in March; 5243 / 2^19 divides by 100 */
	year = _mm512_mask_sub_epi64(year, _mm512_cmplt_epu64_mask(month, _mm512_set1_epi64(3)),
								 year, _mm512_set1_epi64(1));
	century = _mm512_srli_epi64(_mm512_mul_epu32(year, _mm512_set1_epi64(5243)), 19);
	day = _mm512_add_epi64(day, _mm512_permutex2var_epi64(before_low, month, before_high));
	day = _mm512_add_epi64(day, _mm512_mul_epu32(year, _mm512_set1_epi64(365)));
	day = _mm512_add_epi64(day, _mm512_srli_epi64(year, 2));
	day = _mm512_sub_epi64(day, century);
	day = _mm512_add_epi64(day, _mm512_srli_epi64(century, 2));
	day = _mm512_sub_epi64(day, _mm512_set1_epi64(730425 + 1));

	seconds = _mm512_add_epi64(_mm512_mul_epu32(hour, _mm512_set1_epi64(3600)),
							   _mm512_add_epi64(_mm512_mul_epu32(minute, _mm512_set1_epi64(60)), second));
	seconds = _mm512_add_epi64(seconds, _mm512_mul_epi32(day, _mm512_set1_epi64(86400)));
	_mm512_storeu_si512(value, _mm512_mullo_epi64(seconds, _mm512_set1_epi64(1000000)));
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
	timestamps,
	count_byte,
	survey
};

#else
typedef int pp_no_kernels_avx512;	/* an empty file is no C */
#endif
