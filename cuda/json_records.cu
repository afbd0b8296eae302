/*
 * cuda/json_records.cu
 *	  NDJSON, text to records: one pass over tiles of text, in which line ends
 *	  are found and numbered and each record is walked.
 *
 * A tile is brought on chip by loads of 16 bytes, of which each leaves a mask of
 * its line ends.  A line end belongs to a record unless the line is blank, which
 * is found out by looking back from it, mostly at one byte.  How many records
 * the tiles in front have is told by a chained scan with decoupled look-back
 * (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled
 * Look-back"): a tile publishes its own count at once, and the sum when it knows
 * it.  Then each thread walks records from the text on chip; only the tile's
 * first record may begin in front of it.
 */
#include "json_walk.h"

namespace
{

constexpr uint32_t THREADS = PP_JSON_THREADS;
constexpr uint32_t FULL = 0xffffffffu;

/* Blocks that a multiprocessor is to have room for: as few registers as the
 * kernel does with, short of spilling some. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ >= 1000)
constexpr uint32_t BLOCKS = __CUDA_ARCH__ < 800 ? 8 : 10;
#else
constexpr uint32_t BLOCKS = 12;
#endif

/* What a tile tells in one word: nothing yet, its own count, or the sum of all
 * up to it. */
constexpr uint32_t COUNTED = 0x40000000u;
constexpr uint32_t SUMMED = 0x80000000u;
constexpr uint32_t COUNT_BITS = 0x3fffffffu;

struct Shared
{
	uint16_t	mask[PP_JSON_MAX_TILE / 16];	/* line ends of 16 bytes */
	uint32_t	count[PP_JSON_WARPS];
	uint32_t	tile;
	uint32_t	first;			/* number of the tile's first record */
	uint32_t	start;			/* where that one's line begins */
	uint32_t	lines_end;
};

/* The bytes of x that are zero have their high bits set, no others. */
__device__ __forceinline__ uint32_t
zero_bytes(uint32_t x)
{
	return ~(((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x | 0x7f7f7f7fu);
}

/* Which of the four bytes are line ends. */
__device__ __forceinline__ uint32_t
line_ends(uint32_t x)
{
	/* bits 7, 15, 23 and 31 to bits 28 to 31 */
	return zero_bytes(x ^ 0x0a0a0a0au) * 0x00204081u >> 28;
}

/* Four bytes of text at position at; behind its end, spaces, or a line end first. */
__device__ __forceinline__ uint32_t
cut_word(const PpJsonJob &job, uint32_t x, uint32_t at)
{
	if (at + 4 <= job.n)
		return x;
	for (uint32_t k = 0; k < 4; k++)
		if (at + k >= job.n)
			x = pp_bfi(x, at + k == job.n && job.last ? '\n' : ' ', 8 * k, 8);
	return x;
}

/* The tile's text, and its line ends. */
__device__ __forceinline__ void
load_tile(const PpJsonJob &job, Shared &shared, unsigned char *text, uint32_t base)
{
	for (uint32_t i = 16 * threadIdx.x; i < job.tile_bytes; i += 16 * THREADS)
	{
		uint4		v = make_uint4(0x20202020u, 0x20202020u, 0x20202020u, 0x20202020u);
		const uint32_t at = base + i;

		if (at < job.n)
			v = pp_load16(job.text + at);
		if (at + 16 > job.n)
		{
			v.x = cut_word(job, v.x, at);
			v.y = cut_word(job, v.y, at + 4);
			v.z = cut_word(job, v.z, at + 8);
			v.w = cut_word(job, v.w, at + 12);
		}
		*reinterpret_cast<uint4 *>(text + i) = v;
		shared.mask[i / 16] = (uint16_t) (line_ends(v.x) | line_ends(v.y) << 4 |
										  line_ends(v.z) << 8 | line_ends(v.w) << 12);
	}
}

/* A byte at a position in or in front of the tile. */
__device__ __forceinline__ uint32_t
byte_at(const PpJsonJob &job, const unsigned char *text, uint32_t base, uint32_t at)
{
	return at >= base ? text[at - base] : job.text[at];
}

/* Is the line that ends at that position blank?  Of a long one nobody knows. */
__device__ __forceinline__ bool
is_blank(const PpJsonJob &job, const unsigned char *text, uint32_t base, uint32_t at)
{
	const uint32_t least = at > PP_JSON_LONG ? at - PP_JSON_LONG : 0;

	while (at > least)
	{
		const uint32_t c = byte_at(job, text, base, --at);

		if (c == '\n')
			return true;
		if (!pp_json_is_space(c))
			return false;
	}
	return least == 0;
}

/* Records in front of the tile; by its first warp. */
__device__ __forceinline__ uint32_t
look_back(uint32_t *tiles, uint32_t tile, uint32_t own)
{
	const uint32_t lane = threadIdx.x % 32;
	uint32_t	before = 0;

	if (lane == 0 && tile > 0)
		pp_store_relaxed(&tiles[tile], COUNTED | own);
	for (uint32_t next = tile; next > 0;)
	{
		uint32_t	word = SUMMED;	/* in front of the first tile are none */
		uint32_t	summed,
					v;

		if (lane < next)
			while ((word = pp_load_acquire(&tiles[next - 1 - lane])) == 0)
				pp_pause();
		summed = __ballot_sync(FULL, (word & SUMMED) != 0);
		/* up to the nearest tile that knows the sum */
		v = summed != 0 && lane > (uint32_t) __ffs((int) summed) - 1 ? 0 : word & COUNT_BITS;
		for (uint32_t d = 16; d > 0; d /= 2)
			v += __shfl_xor_sync(FULL, v, d);
		before += v;
		next = summed != 0 || next < 32 ? 0 : next - 32;
	}
	if (lane == 0)
		pp_store_relaxed(&tiles[tile], SUMMED | (before + own));
	return before;
}

/*
 * Where the line starts that the tile begins in, by a warp; PP_JSON_NOWHERE: too
 * far in front.
 */
__device__ __forceinline__ uint32_t
line_start(const PpJsonJob &job, uint32_t base)
{
	const uint32_t lane = threadIdx.x % 32;
	uint32_t	at = base;		/* a multiple of 128 */

	while (at > 0 && base - at < PP_JSON_LONG)
	{
		uint32_t	ends,
					lanes,
					last;

		at -= 128;
		ends = line_ends(pp_load4(job.text + at + 4 * lane));
		lanes = __ballot_sync(FULL, ends != 0);
		if (lanes == 0)
			continue;
		last = 31 - (uint32_t) __clz((int) lanes);
		ends = __shfl_sync(FULL, ends, (int) last);
		return at + 4 * last + 32 - (uint32_t) __clz((int) ends);
	}
	return at == 0 ? 0 : PP_JSON_NOWHERE;
}

template <bool ON_CHIP>
__global__ void
__launch_bounds__(THREADS, BLOCKS)
records_kernel(PpJsonJob job)
{
	PP_SHARED(Shared, shared);
	PP_DYNAMIC_SHARED(text);
	const PpJsonNodes nodes = pp_json_nodes<ON_CHIP>(job, text);
	const uint32_t masks = job.tile_bytes / (16 * THREADS);	/* of a thread */
	const uint32_t ntiles = job.n / job.tile_bytes + 1;
	uint32_t	base,
				own = 0,
				before,
				count,
				first,
				lines_end = 0;

	if (threadIdx.x == 0)
	{
		shared.tile = atomicAdd(&job.result->ticket, 1u);
		shared.lines_end = 0;
	}
	__syncthreads();
	base = shared.tile * job.tile_bytes;
	load_tile(job, shared, text, base);
	__syncthreads();

	/* line ends of the thread's own part, those of blank lines are struck out */
	for (uint32_t k = 0; k < masks; k++)
	{
		const uint32_t i = threadIdx.x * masks + k;
		const uint32_t all = shared.mask[i];
		uint32_t	kept = all;

		for (uint32_t left = all; left != 0; left &= left - 1)
		{
			const uint32_t at = base + 16 * i + (uint32_t) __ffs((int) left) - 1;

			if (is_blank(job, text, base, at))
				kept &= ~(left & (0u - left));
			lines_end = at + 1;
		}
		shared.mask[i] = (uint16_t) kept;
		own += (uint32_t) __popc(kept);
	}
	if (lines_end > 0)
		atomicMax(&shared.lines_end, lines_end);
	before = pp_json_sum_block(shared.count, own, &count);

	if (threadIdx.x < 32)
	{
		first = look_back(job.tiles, shared.tile, count);
		if (threadIdx.x == 0)
		{
			shared.first = first;
			if (shared.tile == ntiles - 1)
				job.result->nrecords = first + count;
			if (shared.lines_end > 0)
				atomicMax(&job.result->lines_end, shared.lines_end);
		}
	}
	else if (threadIdx.x < 64)
	{
		const uint32_t start = count > 0 ? line_start(job, base) : 0;

		if (threadIdx.x == 32)
			shared.start = start;
	}
	__syncthreads();
	first = shared.first;

	/* where records end */
	for (uint32_t k = 0, r = first + before; k < masks; k++)
	{
		const uint32_t i = threadIdx.x * masks + k;

		for (uint32_t left = shared.mask[i]; left != 0; left &= left - 1, r++)
			if (r < job.room)
				job.end[r] = job.begin + base + 16 * i + (uint32_t) __ffs((int) left) - 1;
	}
	__syncthreads();

	for (uint32_t k = threadIdx.x; k < count && first + k < job.room; k += THREADS)
	{
		const uint32_t r = first + k;
		const uint32_t start = k == 0 ? shared.start : job.end[r - 1] + 1 - job.begin;
		const uint32_t n = job.end[r] - job.begin - start;

		if (start == PP_JSON_NOWHERE || n >= PP_JSON_LONG ||
			!pp_json_walk(job, nodes, start >= base ? text + (start - base) : job.text + start, n,
						  job.begin + start, r))
			atomicMax(&job.result->refused, ~r);
	}
}

}								/* namespace */

uint32_t
pp_json_tiles(uint32_t n, uint32_t tile_bytes)
{
	/* of the byte behind the text, too, where a line end is imagined */
	return n / tile_bytes + 1;
}

cudaError_t
pp_json_records_run(const PpJsonJob *job, PpStageClock *clock, cudaStream_t stream)
{
	const uint32_t ntiles = pp_json_tiles(job->n, job->tile_bytes);
	cudaError_t e;

	if (job->tile_bytes == 0 || job->tile_bytes % PP_JSON_MIN_TILE != 0 ||
		job->tile_bytes > PP_JSON_MAX_TILE)
		return cudaErrorInvalidValue;
	pp_stage(clock, PP_STAGE_PARSE, stream);
	e = cudaMemsetAsync(job->tiles, 0, ntiles * sizeof(uint32_t), stream);
	if (e != cudaSuccess)
		return e;
	pp_stage(clock, PP_STAGE_PARSE, stream);
	e = cudaMemsetAsync(job->result, 0, sizeof(PpJsonResult), stream);
	if (e != cudaSuccess)
		return e;
	pp_stage(clock, PP_STAGE_PARSE, stream);
	if (job->table_bytes <= PP_JSON_TABLE)
		PP_LAUNCH(records_kernel<true>, dim3(ntiles), dim3(THREADS), job->tile_bytes + job->table_bytes, stream, *job);
	else
		PP_LAUNCH(records_kernel<false>, dim3(ntiles), dim3(THREADS), job->tile_bytes, stream, *job);
	return pp_launch_error();
}
