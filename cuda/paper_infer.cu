/*
 * cuda/paper_infer.cu
 *	  Type inference over concatenated symbol strings, as published (ParPaRaw,
 *	  section 4.3), extended to dates and times.
 *
 * A thread a field finds the narrowest kind of value that the field is; the
 * kinds of a column are reduced to a set.  The host takes from the set the
 * type that has a place for all of them.  Only plain spellings count: what is
 * not written as a number, an ISO date or time has the type text.
 */
#include "paper_bitmap.h"

#define INFER_THREADS	128

/* No number or time that is longer is looked at. */
#define INFER_BYTES		64

/* A field, and how far it was read. */
struct Cursor
{
	const uint8_t *s;
	uint32_t	n;
	uint32_t	at;
};

static __device__ __forceinline__ uint32_t
peek(const Cursor &c)
{
	return c.at < c.n ? c.s[c.at] : 0;
}

static __device__ __forceinline__ bool
take_byte(Cursor &c, uint32_t byte)
{
	bool		is = c.at < c.n && c.s[c.at] == byte;

	c.at += is;
	return is;
}

/* Exactly count digits, in [least, most]. */
static __device__ __forceinline__ bool
take_number(Cursor &c, uint32_t count, uint32_t least, uint32_t most, uint32_t *value)
{
	uint32_t	v = 0;

	for (uint32_t i = 0; i < count; i++, c.at++)
	{
		uint32_t	digit = peek(c) - '0';

		if (digit > 9)
			return false;
		v = v * 10 + digit;
	}
	*value = v;
	return v >= least && v <= most;
}

/* Digits, any number of them. */
static __device__ __forceinline__ uint32_t
skip_digits(Cursor &c)
{
	uint32_t	from = c.at;

	while (peek(c) - '0' <= 9)
		c.at++;
	return c.at - from;
}

/* The rest of the field, in either case; word in lower case. */
static __device__ __forceinline__ bool
rest_is(const Cursor &c, uint64_t word, uint32_t len)
{
	if (c.n - c.at != len)
		return false;
	for (uint32_t i = 0; i < len; i++)
		if ((c.s[c.at + i] | 0x20u) != (word >> (8 * i) & 0xffu))
			return false;
	return true;
}

#define WORD_NAN		UINT64_C(0x6e616e)
#define WORD_INF		UINT64_C(0x666e69)
#define WORD_INFINITY	UINT64_C(0x7974696e69666e69)

static __device__ __forceinline__ uint32_t
kind_of_number(Cursor c)
{
	bool		negative = take_byte(c, '-');
	bool		is_signed = negative || take_byte(c, '+');
	uint64_t	value = 0;
	bool		huge = false;
	uint32_t	from = c.at;
	uint32_t	digits;

	if (rest_is(c, WORD_INF, 3) || rest_is(c, WORD_INFINITY, 8) ||
		(!is_signed && rest_is(c, WORD_NAN, 3)))
		return PP_KIND_FLOAT8;

	for (; peek(c) - '0' <= 9; c.at++)
	{
		uint32_t	digit = peek(c) - '0';

		/* 2^63 is enough, for a negative one is */
		if (value > (UINT64_C(0x8000000000000000) - digit) / 10)
			huge = true;
		else
			value = value * 10 + digit;
	}
	digits = c.at - from;
	if (digits > 0 && c.at == c.n)
	{
		uint64_t	more = negative;

		if (huge || value > UINT64_C(0x7fffffffffffffff) + more)
			return PP_KIND_NUMERIC;
		return value <= 0x7fff + more ? PP_KIND_INT2 :
			value <= 0x7fffffff + more ? PP_KIND_INT4 : PP_KIND_INT8;
	}

	if (take_byte(c, '.'))
		digits += skip_digits(c);
	if (digits == 0)
		return PP_KIND_TEXT;
	if (c.at == c.n)
		return PP_KIND_NUMERIC;
	if (take_byte(c, 'e') || take_byte(c, 'E'))
	{
		uint32_t	exponent = 0;
		uint32_t	count;

		if (!take_byte(c, '-'))
			(void) take_byte(c, '+');
		for (count = 0; peek(c) - '0' <= 9; count++, c.at++)
			exponent = exponent * 10 + (peek(c) - '0');
		/* with the digits in front, within the range of a double */
		if (count >= 1 && count <= 3 && exponent <= 240 && c.at == c.n)
			return PP_KIND_FLOAT8;
	}
	return PP_KIND_TEXT;
}

static __device__ __forceinline__ bool
take_date(Cursor &c)
{
	uint32_t	year,
				month,
				day,
				last;

	if (!take_number(c, 4, 1, 9999, &year) || !take_byte(c, '-') ||
		!take_number(c, 2, 1, 12, &month) || !take_byte(c, '-') ||
		!take_number(c, 2, 1, 31, &day))
		return false;
	last = month == 2 ?
		28 + ((year % 4 == 0 && year % 100 != 0) || year % 400 == 0) :
		30 + ((month + (month > 7)) & 1);
	return day <= last;
}

static __device__ __forceinline__ bool
take_time(Cursor &c)
{
	uint32_t	part;

	if (!take_number(c, 2, 0, 23, &part) || !take_byte(c, ':') ||
		!take_number(c, 2, 0, 59, &part))
		return false;
	if (take_byte(c, ':'))
	{
		if (!take_number(c, 2, 0, 59, &part))
			return false;
		if (take_byte(c, '.'))
		{
			uint32_t	digits = skip_digits(c);

			return digits >= 1 && digits <= 6;
		}
	}
	return true;
}

static __device__ __forceinline__ bool
take_zone(Cursor &c)
{
	uint32_t	part;

	if (take_byte(c, 'Z'))
		return true;
	if (!take_byte(c, '+') && !take_byte(c, '-'))
		return false;
	if (!take_number(c, 2, 0, 14, &part))
		return false;
	return c.at == c.n || (take_byte(c, ':') && take_number(c, 2, 0, 59, &part));
}

static __device__ __forceinline__ uint32_t
kind_of_time(Cursor c)
{
	if (c.n >= 3 && c.s[2] == ':')
		return take_time(c) && c.at == c.n ? PP_KIND_TIME : PP_KIND_TEXT;
	if (!take_date(c))
		return PP_KIND_TEXT;
	if (c.at == c.n)
		return PP_KIND_DATE;
	if ((!take_byte(c, ' ') && !take_byte(c, 'T')) || !take_time(c))
		return PP_KIND_TEXT;
	if (c.at == c.n)
		return PP_KIND_TIMESTAMP;
	return take_zone(c) && c.at == c.n ? PP_KIND_TIMESTAMPTZ : PP_KIND_TEXT;
}

struct InferShared
{
	uint32_t	kinds;
};

/* A row of blocks a column, a thread a field. */
__global__ void __launch_bounds__(INFER_THREADS)
pp_paper_infer(PpFields f, const uint8_t *null_text, uint32_t null_len, uint32_t *kinds)
{
	PP_SHARED(InferShared, sh);
	uint32_t	record = blockIdx.x * blockDim.x + threadIdx.x;

	if (threadIdx.x == 0)
		sh.kinds = 0;
	__syncthreads();
	if (record < f.nrecords)
	{
		uint32_t	j = blockIdx.y * f.nrecords + record;
		uint32_t	offset;
		uint32_t	length;
		bool		quoted = f.quoted[j >> 5] >> (j & 31) & 1u;
		uint32_t	kind = 0;

		pp_css_field(&f, j, &offset, &length);
		if (length > INFER_BYTES)
			kind = PP_KIND_TEXT;
		else if (length > 0 && (quoted || length != null_len ||
								!pp_same_bytes(f.css + offset, null_text, length)))
		{
			Cursor		c = {f.css + offset, length, 0};

			kind = kind_of_number(c);
			if (kind == PP_KIND_TEXT)
				kind = kind_of_time(c);
		}
		if (kind != 0)
			atomicOr(&sh.kinds, kind);
	}
	__syncthreads();
	if (threadIdx.x == 0 && sh.kinds != 0)
		atomicOr(&kinds[blockIdx.y], sh.kinds);
}

cudaError_t
pp_infer_run(const PpFields *fields, uint32_t ncolumns, const uint8_t *null_text,
			 uint32_t null_len, uint32_t *kinds, cudaStream_t stream, PpStageClock *clock)
{
	cudaError_t error;

	if (ncolumns == 0 || ncolumns > PP_PAPER_COLUMNS)
		return cudaErrorInvalidValue;
	pp_stage(clock, PP_STAGE_CONVERT_THREAD, stream);
	error = cudaMemsetAsync(kinds, 0, ncolumns * sizeof(uint32_t), stream);
	if (error != cudaSuccess || fields->nrecords == 0)
		return error;
	pp_stage(clock, PP_STAGE_CONVERT_THREAD, stream);
	PP_LAUNCH(pp_paper_infer, dim3((fields->nrecords - 1) / INFER_THREADS + 1, ncolumns),
			  INFER_THREADS, 0, stream, *fields, null_text, null_len, kinds);
	return pp_launch_error();
}

PpType
pp_infer_type(uint32_t kinds)
{
	const uint32_t numbers = PP_KIND_INT2 | PP_KIND_INT4 | PP_KIND_INT8 |
		PP_KIND_NUMERIC | PP_KIND_FLOAT8;
	const uint32_t days = PP_KIND_DATE | PP_KIND_TIMESTAMP | PP_KIND_TIMESTAMPTZ;

	if (kinds == 0)
		return PP_TEXT;
	if ((kinds & ~numbers) == 0)
		return kinds & PP_KIND_FLOAT8 ? PP_FLOAT8 :
			kinds & PP_KIND_NUMERIC ? PP_NUMERIC :
			kinds & PP_KIND_INT8 ? PP_INT8 :
			kinds & PP_KIND_INT4 ? PP_INT4 : PP_INT2;
	/* a date is a time as well, and a time without a zone has the session's */
	if ((kinds & ~days) == 0)
		return kinds & PP_KIND_TIMESTAMPTZ ? PP_TIMESTAMPTZ :
			kinds & PP_KIND_TIMESTAMP ? PP_TIMESTAMP : PP_DATE;
	return kinds == PP_KIND_TIME ? PP_TIME : PP_TEXT;
}
