/*
 * cuda/json_tile.h
 *	  What the passes over tiles of JSON have in common: text on its way on chip,
 *	  where records end, the walk of each, and what a launch begins with.
 *
 * For json_records.cu and json_documents.cu only.  Knows nothing of what ends a
 * record, nor of what tiles tell each other.
 */
#ifndef PP_JSON_TILE_H
#define PP_JSON_TILE_H

#include "json_walk.h"

/* Which of the four bytes of x equal that of c, four times. */
static __device__ __forceinline__ uint32_t
pp_json_equal_bytes(uint32_t x, uint32_t c)
{
	/* the bytes that are zero have their high bits set then, no others ... */
	x ^= c;
	x = ~(((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x | 0x7f7f7f7fu);
	/* ... and bits 7, 15, 23 and 31 come to bits 28 to 31 */
	return x * 0x00204081u >> 28;
}

static __device__ __forceinline__ uint32_t
pp_json_equal_16(uint4 v, uint32_t c)
{
	return pp_json_equal_bytes(v.x, c) | pp_json_equal_bytes(v.y, c) << 4 |
		pp_json_equal_bytes(v.z, c) << 8 | pp_json_equal_bytes(v.w, c) << 12;
}

/* Four bytes of text at a position; behind its end, that byte, and spaces. */
static __device__ __forceinline__ uint32_t
pp_json_cut_word(uint32_t x, uint32_t at, uint32_t n, uint32_t behind)
{
	if (at + 4 <= n)
		return x;
	for (uint32_t k = 0; k < 4; k++)
		if (at + k >= n)
			x = pp_bfi(x, at + k == n ? behind : ' ', 8 * k, 8);
	return x;
}

/* The same of 16 bytes at a multiple of 16. */
static __device__ __forceinline__ uint4
pp_json_load_16(const PpJsonJob &job, uint32_t at, uint32_t behind)
{
	uint4		v = make_uint4(0x20202020u, 0x20202020u, 0x20202020u, 0x20202020u);

	if (at < job.n)
		v = pp_load16(job.text + at);
	if (at + 16 > job.n)
	{
		v.x = pp_json_cut_word(v.x, at, job.n, behind);
		v.y = pp_json_cut_word(v.y, at + 4, job.n, behind);
		v.z = pp_json_cut_word(v.z, at + 8, job.n, behind);
		v.w = pp_json_cut_word(v.w, at + 12, job.n, behind);
	}
	return v;
}

/*
 * Notes where records end, the first of which has number r: bits of 16 bytes of
 * the text from a position on.  Answers the number behind them.
 */
static __device__ __forceinline__ uint32_t
pp_json_note_ends(const PpJsonJob &job, uint32_t bits, uint32_t at, uint32_t r)
{
	for (; bits != 0; bits &= bits - 1, r++)
		if (r < job.room)
			job.end[r] = job.begin + at + (uint32_t) __ffs((int) bits) - 1;
	return r;
}

/* Is record r accepted, n bytes from a position in or in front of the tile on? */
static __device__ __forceinline__ bool
pp_json_accepts(const PpJsonJob &job, const PpJsonNodes &nodes, const unsigned char *text,
				uint32_t base, uint32_t start, uint32_t n, uint32_t r)
{
	return n < PP_JSON_LONG &&
		pp_json_walk(job, nodes, start >= base ? text + (start - base) : job.text + start, n,
					 job.begin + start, r);
}

static inline bool
pp_json_is_tile(uint32_t bytes)
{
	return bytes > 0 && bytes % PP_JSON_MIN_TILE == 0 && bytes <= PP_JSON_MAX_TILE;
}

/* Zeroes what tiles tell each other, and the result; a kernel is to come next. */
static inline cudaError_t
pp_json_begin_pass(const PpJsonJob *job, void *tiles, size_t bytes, PpStageClock *clock,
				   cudaStream_t stream)
{
	cudaError_t e;

	pp_stage(clock, PP_STAGE_PARSE, stream);
	e = cudaMemsetAsync(tiles, 0, bytes, stream);
	if (e != cudaSuccess)
		return e;
	pp_stage(clock, PP_STAGE_PARSE, stream);
	e = cudaMemsetAsync(job->result, 0, sizeof(PpJsonResult), stream);
	if (e == cudaSuccess)
		pp_stage(clock, PP_STAGE_PARSE, stream);
	return e;
}

#endif							/* PP_JSON_TILE_H */
