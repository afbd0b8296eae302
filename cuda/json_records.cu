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
#include "json_tile.h"

namespace
{

constexpr uint32_t THREADS = PP_JSON_THREADS;
constexpr uint32_t FULL = 0xffffffffu;
constexpr uint32_t LINE_END = '\n' * 0x01010101u;

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

/* The tile's text, and its line ends. */
__device__ __forceinline__ void
load_tile(const PpJsonJob &job, Shared &shared, unsigned char *text, uint32_t base)
{
	for (uint32_t i = 16 * threadIdx.x; i < job.tile_bytes; i += 16 * THREADS)
	{
		const uint4 v = pp_json_load_16(job, base + i, job.last ? '\n' : ' ');

		*reinterpret_cast<uint4 *>(text + i) = v;
		shared.mask[i / 16] = (uint16_t) pp_json_equal_16(v, LINE_END);
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
		ends = pp_json_equal_bytes(pp_load4(job.text + at + 4 * lane), LINE_END);
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

		r = pp_json_note_ends(job, shared.mask[i], base + 16 * i, r);
	}
	__syncthreads();

	for (uint32_t k = threadIdx.x; k < count && first + k < job.room; k += THREADS)
	{
		const uint32_t r = first + k;
		const uint32_t start = k == 0 ? shared.start : job.end[r - 1] + 1 - job.begin;
		const uint32_t n = job.end[r] - job.begin - start;

		if (start == PP_JSON_NOWHERE || !pp_json_accepts(job, nodes, text, base, start, n, r))
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
	uint32_t	ntiles;
	cudaError_t e;

	if (!pp_json_is_tile(job->tile_bytes))
		return cudaErrorInvalidValue;
	ntiles = pp_json_tiles(job->n, job->tile_bytes);
	e = pp_json_begin_pass(job, job->tiles, ntiles * sizeof(uint32_t), clock, stream);
	if (e != cudaSuccess)
		return e;
	if (job->table_bytes <= PP_JSON_TABLE)
		PP_LAUNCH(records_kernel<true>, dim3(ntiles), dim3(THREADS), job->tile_bytes + job->table_bytes, stream, *job);
	else
		PP_LAUNCH(records_kernel<false>, dim3(ntiles), dim3(THREADS), job->tile_bytes, stream, *job);
	return pp_launch_error();
}
