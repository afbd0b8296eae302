/*
 * src/parse/cpu/kernel_avx512.c
 *	  The kernels, with AVX-512.
 */
#if defined(__x86_64__)

#include "kernel.h"
#include "simd_avx512.h"

/* Dropping bytes costs nothing here, a branch that is foreseen wrongly does. */
#define UNQUOTE_BRANCHES	0

#include "kernel_impl.h"

/*
 * What a character means in a number: a digit and its value, a minus sign, a
 * decimal point; 0 stands for the zeros in front of a number.
 */
#define N_DIGIT		0x40
#define N_MINUS		0x20
#define N_POINT		0x10
#define N_OTHER		0x80

/* of the characters below 64 */
#define X			N_OTHER
#define CHARACTERS(point) \
	0, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, \
	X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, \
	X, X, X, X, X, X, X, X, X, X, X, X, X, N_MINUS, point, X, \
	N_DIGIT, N_DIGIT | 1, N_DIGIT | 2, N_DIGIT | 3, N_DIGIT | 4, N_DIGIT | 5, N_DIGIT | 6, \
	N_DIGIT | 7, N_DIGIT | 8, N_DIGIT | 9, X, X, X, X, X, X

static const uint8_t real_characters[64] = {CHARACTERS(N_POINT)};
static const uint8_t integer_characters[64] = {CHARACTERS(N_OTHER)};
#undef CHARACTERS
#undef X

/* Eight words from eight places. */
static inline PP_TARGET __m512i
load_words(const void *p0, const void *p1, const void *p2, const void *p3,
		   const void *p4, const void *p5, const void *p6, const void *p7)
{
#define PAIR(p, q) \
	_mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64((const __m128i *) (p))), \
								  (const double *) (q)))
	__m256i		low = _mm256_inserti128_si256(_mm256_castsi128_si256(PAIR(p0, p1)), PAIR(p2, p3), 1);
	__m256i		high = _mm256_inserti128_si256(_mm256_castsi128_si256(PAIR(p4, p5)), PAIR(p6, p7), 1);

	return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#undef PAIR
}

/* Where the ends of fields stand: that before the field, then its own. */
static inline PP_TARGET void
locate(const uint32_t *end, size_t width, const uint32_t *row, const uint32_t **e)
{
	e[0] = end + (size_t) row[0] * width - 1;
	if (row[7] - row[0] == 7)
		for (int i = 1; i < 8; i++)
			e[i] = e[i - 1] + width;
	else
		for (int i = 1; i < 8; i++)
			e[i] = end + (size_t) row[i] * width - 1;
}

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
	const __m512i high_bits = _mm512_set1_epi8((char) 0x80);
	const __m512i one = _mm512_set1_epi64(1);
	const uint32_t *e[8];
	__m512i		x,
				c,
				count,
				digit,
				point,
				before,
				minus,
				odd;
	__mmask8	negative,
				bad;

	locate(end, width, row, e);
#define START(i) (text + (uint32_t) (*e[i] + lead))
	x = load_words(START(0), START(1), START(2), START(3),
				   START(4), START(5), START(6), START(7));
#undef START
	/* 64 - 8 * length; a length that does not fit leaves nothing */
	count = load_words(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]);
	count = _mm512_maskz_sub_epi32(0x5555, _mm512_srli_epi64(count, 32), count);
	count = _mm512_sub_epi64(_mm512_set1_epi64(64 + 8 * (long long) lead),
							 _mm512_slli_epi64(count, 3));
	x = _mm512_sllv_epi64(x, count);

	/* bit 6 of x tells a character above '?' */
	c = _mm512_permutexvar_epi8(x, _mm512_loadu_si512(real ? real_characters : integer_characters));
	point = _mm512_and_si512(_mm512_srli_epi64(c, 4), _mm512_set1_epi8(1));
	minus = _mm512_and_si512(c, _mm512_set1_epi8(N_MINUS));
	digit = _mm512_and_si512(c, _mm512_set1_epi8(0x0f));

	/* other characters, two points, a minus that is not in front, no digit */
	odd = _mm512_or_si512(x, _mm512_or_si512(c, _mm512_slli_epi64(x, 1)));
	odd = _mm512_or_si512(_mm512_and_si512(odd, high_bits),
						  _mm512_and_si512(point, _mm512_sub_epi64(point, one)));
	negative = _mm512_test_epi64_mask(minus, minus);
	bad = _mm512_test_epi64_mask(odd, odd);
	bad |= _mm512_mask_test_epi64_mask(negative, c, _mm512_sub_epi64(minus, one));
	bad |= _mm512_testn_epi64_mask(c, _mm512_set1_epi8(N_DIGIT));

	before = _mm512_maskz_sub_epi64(_mm512_test_epi64_mask(point, point), point, one);
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

		x = _mm512_castpd_si512(real8);
		x = _mm512_mask_or_epi64(x, negative, x, _mm512_set1_epi64((long long) (UINT64_C(1) << 63)));
	}
	else
		x = _mm512_mask_sub_epi64(digit, negative, _mm512_setzero_si512(), digit);
	_mm512_storeu_si512(value, x);
	return (uint32_t) (uint8_t) ~bad;
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
	const uint32_t *e[8];
	const uint8_t *t[8];
	__m512i		length,
				head,
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

	locate(end, width, row, e);
	for (int i = 0; i < 8; i++)
		t[i] = text + (uint32_t) (*e[i] + lead);
#define WORDS(at) \
	load_words(t[0] + (at), t[1] + (at), t[2] + (at), t[3] + (at), \
			   t[4] + (at), t[5] + (at), t[6] + (at), t[7] + (at))
	head = _mm512_xor_si512(WORDS(0),	/* "YYYY-MM-" */
							_mm512_set1_epi64((long long) UINT64_C(0x2d30302d30303030)));
	tail = _mm512_xor_si512(WORDS(3),	/* "Y-MM-DD " */
							_mm512_set1_epi64((long long) UINT64_C(0x2030302d30302d30)));
	time = _mm512_xor_si512(WORDS(11),	/* "HH:MM:SS" */
							_mm512_set1_epi64((long long) UINT64_C(0x30303a30303a3030)));
#undef WORDS
	length = load_words(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]);
	length = _mm512_maskz_sub_epi32(0x5555, _mm512_srli_epi64(length, 32), length);

	/* a byte above its limit, 9 or 0, reaches the high bit */
	bad = _mm512_cmpneq_epi64_mask(length, _mm512_set1_epi64(19 + lead));
	bad |= _mm512_test_epi64_mask(high_bits,
								  _mm512_or_si512(head, _mm512_add_epi64(head, _mm512_set1_epi64((long long) UINT64_C(0x7f76767f76767676)))));
	bad |= _mm512_test_epi64_mask(high_bits,
								  _mm512_or_si512(tail, _mm512_add_epi64(tail, _mm512_set1_epi64((long long) UINT64_C(0x7f76767f76767f76)))));
	bad |= _mm512_test_epi64_mask(high_bits,
								  _mm512_or_si512(time, _mm512_add_epi64(time, _mm512_set1_epi64((long long) UINT64_C(0x76767f76767f7676)))));

	pairs = digit_pairs(head);
	year = _mm512_add_epi64(_mm512_mul_epu32(lane_byte(pairs, 0), _mm512_set1_epi64(100)),
							lane_byte(pairs, 2));
	month = lane_byte(pairs, 5);
	day = lane_byte(digit_pairs(tail), 5);
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
	return (uint32_t) (uint8_t) ~bad;
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
	unescape,
	numbers,
	timestamps,
	count_byte,
	survey
};

#else
typedef int pp_no_kernels_avx512;	/* an empty file is no C */
#endif
