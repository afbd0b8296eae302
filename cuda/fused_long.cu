/*
 * cuda/fused_long.cu
 *	  Values of the fused pipeline that are too long for a thread or a warp of
 *	  the pass: texts, copied into their places in the heap.
 *
 * A warp takes a value, and all warps take their pieces of a huge one; so a
 * single value of hundreds of megabytes is copied by the whole device.  Where
 * quotes or escapes have to be removed, the pieces are the tiles of the pass,
 * which has left at each what is needed to start there (pp_tile_start()).
 *
 *	  look		huge values: what has to be known before they are written
 *	  write		all values
 *	  finish	values that were handed over are counted
 *
 * Owns no memory; never waits for the device.
 */
#include "fused_convert.h"

namespace
{

constexpr uint32_t THREADS = 128;
constexpr uint32_t WARPS = THREADS / 32;
constexpr uint32_t BLOCKS_PER_SM = 8;	/* at least; without it some compilers spill */
constexpr uint32_t MOST_BLOCKS = 512;
constexpr uint32_t BLOCK_BYTES = 32768;	/* of text, for each block there is */
constexpr uint32_t PIECE = 8192;	/* of a huge value without quotes */

constexpr uint32_t ALL = PP_ALL_LANES;

__device__ __forceinline__ uint32_t
warp_number(void)
{
	return blockIdx.x * WARPS + threadIdx.x / 32;
}

/* What there is to copy: entries [first, end) of the queue; are some huge? */
__device__ __forceinline__ bool
queue_bounds(const PpFusedJob &job, uint32_t *first, uint32_t *end)
{
	uint32_t	fact = 0;

	if (threadIdx.x % 32 == 0)
		fact = job.result->longs_done;
	if (threadIdx.x % 32 == 1)
		fact = job.result->nlongs;
	if (threadIdx.x % 32 == 2)
		fact = job.result->nhuge;
	*first = __shfl_sync(ALL, fact, 0);
	*end = min(__shfl_sync(ALL, fact, 1), job.longs_room);
	return __shfl_sync(ALL, fact, 2) != 0;
}

/*
 * A queued value and its column, read once a warp; all lanes come by.  What the
 * last call's answer was is no more.  Without what was seen in the value, while
 * other warps are still looking.
 */
struct Entry
{
	PpFusedLong value;
	PpFusedColumn column;
	PpCharset	charset;
};

struct EntryShared
{
	Entry		entry[WARPS];
};

__device__ __forceinline__ const Entry &
read_entry(const PpFusedJob &job, uint32_t q, bool seen, EntryShared &sh)
{
	Entry	   &e = sh.entry[threadIdx.x / 32];

	__syncwarp();
	if (threadIdx.x % 32 == 0)
	{
		const PpFusedLong *from = &job.longs[q];

		e.value.heap = from->heap;
		e.value.ref = from->ref;
		e.value.column = from->column;
		e.value.record = from->record;
		if (seen)
		{
			e.value.look = from->look;
			e.value.content = from->content;
		}
		if (e.value.column != PP_FUSED_NOTHING)
			e.column = job.column[e.value.column];
		e.charset = job.scan->env.charset;
	}
	__syncwarp();
	return e;
}

/* A queued value's text. */
struct Text
{
	uint32_t	start;			/* in the partition's */
	uint32_t	n;
	bool		control;
};

__device__ __forceinline__ Text
text_of(const PpFieldRef &ref)
{
	Text		t;

	t.start = ref.start;
	t.n = ref.length & ~PP_FIELD_CONTROL;
	t.control = (ref.length & PP_FIELD_CONTROL) != 0;
	return t;
}

/* What all lanes have seen together. */
__device__ __forceinline__ PpLongField
add_lanes(PpLongField look)
{
	for (uint32_t d = 16; d > 0; d /= 2)
	{
		look.continued += __shfl_xor_sync(ALL, look.continued, d);
		look.seen |= __shfl_xor_sync(ALL, look.seen, d);
	}
	return look;
}

/* Number of pieces of a huge value, and where piece p of it is in the text. */
__device__ __forceinline__ uint32_t
pieces_of(const PpFusedJob &job, const Text &t)
{
	if (!t.control)
		return (t.n - 1) / PIECE + 1;
	return pp_tile_of(job, t.start + t.n - 1) - pp_tile_of(job, t.start) + 1;
}

/* With quotes: the tile of piece p, what is in front of it, and its bytes. */
__device__ __forceinline__ PpTileStart
find_piece(const PpFusedJob &job, const Text &t, uint32_t p, uint32_t *from, uint32_t *to)
{
	const uint32_t tile = pp_tile_of(job, t.start) + p;
	PpTileStart s = {};

	*from = t.start;
	if (p > 0)
	{
		s = pp_tile_start(job, tile);
		*from = pp_tile_base(job, tile);
	}
	*to = min(t.start + t.n, pp_tile_base(job, tile + 1));
	return s;
}

/*
 * The next huge value in the queue from *q on, as all lanes see it; entries are
 * looked at 32 at a time, *left has those of the last look.
 */
__device__ __forceinline__ bool
next_huge(const PpFusedJob &job, uint32_t *q, uint32_t *left, uint32_t end)
{
	const uint32_t lane = threadIdx.x % 32;

	while (*left == 0)
	{
		if (*q >= end)
			return false;
		*left = __ballot_sync(ALL, lane < end - *q &&
							  text_of(job.longs[*q + lane].ref).n > PP_FUSED_HUGE_BYTES);
		*q += 32;
	}
	return true;
}

/* Takes the first of *left; q is behind the 32 entries that they are of. */
__device__ __forceinline__ uint32_t
take_huge(uint32_t q, uint32_t *left)
{
	const uint32_t bit = (uint32_t) __ffs((int) *left) - 1;

	*left &= *left - 1;
	return q - 32 + bit;
}

/* The first piece of entry q that is this warp's; neighbours start elsewhere. */
__device__ __forceinline__ uint32_t
first_piece(uint32_t q)
{
	const uint32_t warps = gridDim.x * WARPS;

	return (warp_number() + warps - q % warps) % warps;
}

__global__ void
__launch_bounds__(THREADS)
fused_look_kernel(PpFusedJob job)
{
	const uint32_t lane = threadIdx.x % 32;
	PP_SHARED(EntryShared, sh);
	uint32_t	left = 0;
	uint32_t	next;
	uint32_t	end;

	if (!queue_bounds(job, &next, &end))
		return;
	while (next_huge(job, &next, &left, end))
	{
		const uint32_t q = take_huge(next, &left);
		PpFusedLong *entry = &job.longs[q];
		const Entry &e = read_entry(job, q, false, sh);
		const Text	t = text_of(e.value.ref);
		const PpColumn col = pp_column_of(e.column);
		const bool	needs_look = pp_needs_look(col, t.n);
		const uint32_t npieces = pieces_of(job, t);
		const uint8_t *s = job.text + t.start;
		const bool	hex = !t.control && pp_is_hex(col, s, t.n);
		const uint32_t skip = hex ? 2 : 0;
		PpLongField look = {0, 0};

		for (uint32_t p = first_piece(q); p < npieces; p += gridDim.x * WARPS)
		{
			if (t.control && (needs_look || p == npieces - 1))
			{
				uint32_t	from,
							to,
							content;
				const PpTileStart before = find_piece(job, t, p, &from, &to);

				content = pp_warp_walk<false>(job, job.text + from, to - from, to < job.n, before.quoting,
										  before.content, nullptr, &look);
				if (p == npieces - 1 && lane == 0)
					entry->content = content;
			}
			else if (!t.control && needs_look)
			{
				const PpLongField own = pp_look_at(s + skip, t.n - skip, hex, min(p * PIECE, t.n - skip),
												   min((p + 1) * PIECE, t.n - skip), lane, 32);

				look.continued += own.continued;
				look.seen |= own.seen;
			}
		}
		look = add_lanes(look);
		if (lane == 0 && look.continued != 0)
			atomicAdd(&entry->look.continued, look.continued);
		if (lane == 0 && look.seen != 0)
			atomicOr(&entry->look.seen, look.seen);
	}
}

/* Blanks [from, to) behind the text, by all lanes. */
__device__ __forceinline__ void
write_blanks(uint8_t *dst, uint32_t from, uint32_t to)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t words = min((from + 3) / 4 * 4, to);

	for (uint32_t k = from + lane; k < words; k += 32)
		dst[k] = ' ';
	for (uint32_t k = words + 4 * lane; k < to; k += 4 * 32)
	{
		if (k + 4 <= to)
			*reinterpret_cast<uint32_t *>(dst + k) = 0x20202020u;
		else
			for (uint32_t i = k; i < to; i++)
				dst[i] = ' ';
	}
}

/* The value's header; or it is handed over. */
__device__ __forceinline__ void
finish_value(const PpFusedJob &job, const PpFusedLong *entry, uint32_t size, bool late)
{
	const size_t i = (size_t) entry->column * job.room + entry->record;

	if (threadIdx.x % 32 != 0)
		return;
	if (size != 0)
	{
		*reinterpret_cast<uint32_t *>(job.heap + entry->heap) = size << 2;
		return;
	}
	job.value[i] = 0;
	job.state[i] = PP_DEFERRED;
	if (late)
		atomicAdd(reinterpret_cast<unsigned long long *>(&job.result->ndeferred), 1ull);
	else
		atomicOr(&job.result->handed, 1u);
}

/* All of a value that is not huge, by one warp. */
__device__ __forceinline__ void
write_whole(const PpFusedJob &job, const Entry &e, bool late)
{
	const uint32_t lane = threadIdx.x % 32;
	const PpFusedLong *entry = &e.value;
	const PpColumn col = pp_column_of(e.column);
	const uint8_t quote = job.dfa.quote;
	Text		t = text_of(entry->ref);
	const uint8_t *s = job.text + t.start;
	uint8_t    *dst = job.heap + entry->heap + 4;
	PpLongField look = {0, 0};
	uint32_t	content = t.n;
	uint32_t	skip = 0;
	uint32_t	pad;
	uint32_t	size;
	bool		hex = false;

	if (t.control)
	{
		content = pp_warp_walk<false>(job, s, t.n, false, PP_OUTSIDE, 0, nullptr, &look);
		if (content + 2 == t.n && s[0] == quote && s[t.n - 1] == quote)
		{
			/* there is nothing to be removed in between */
			s++;
			t.n = content;
			t.control = false;
		}
	}
	else
	{
		hex = pp_is_hex(col, s, t.n);
		skip = hex ? 2 : 0;
		if (pp_needs_look(col, t.n))
			look = pp_look_at(s + skip, t.n - skip, hex, 0, t.n - skip, lane, 32);
	}
	size = pp_text_size(col, e.charset, content, hex, add_lanes(look), &pad);
	if (size != 0)
	{
		if (t.control)
			(void) pp_warp_walk<true>(job, s, t.n, false, PP_OUTSIDE, 0, dst, nullptr);
		else
			pp_write_text(s + skip, t.n - skip, hex, 0, t.n - skip, lane, 32, dst);
		write_blanks(dst, content, content + pad);
	}
	finish_value(job, entry, size, late);
}

/* This warp's pieces of a huge value. */
__device__ __forceinline__ void
write_pieces(const PpFusedJob &job, uint32_t q, const Entry &e, bool late)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t warps = gridDim.x * WARPS;
	const PpFusedLong *entry = &e.value;
	const PpColumn col = pp_column_of(e.column);
	const Text	t = text_of(entry->ref);
	const uint8_t *s = job.text + t.start;
	const bool	hex = !t.control && pp_is_hex(col, s, t.n);
	const uint32_t skip = hex ? 2 : 0;
	const uint32_t content = t.control ? entry->content : t.n;
	const uint32_t npieces = pieces_of(job, t);
	uint8_t    *dst = job.heap + entry->heap + 4;
	uint32_t	pad;
	const uint32_t size = pp_text_size(col, e.charset, content, hex, entry->look, &pad);
	const uint32_t first = first_piece(q);

	for (uint32_t p = first; p < npieces && size != 0; p += warps)
	{
		if (t.control)
		{
			uint32_t	from,
						to;
			const PpTileStart before = find_piece(job, t, p, &from, &to);

			(void) pp_warp_walk<true>(job, job.text + from, to - from, to < job.n, before.quoting,
									  before.content, dst, nullptr);
		}
		else
			pp_write_text(s + skip, t.n - skip, hex, min(p * PIECE, t.n - skip),
						  min((p + 1) * PIECE, t.n - skip), lane, 32, dst);
	}
	for (uint32_t from = first * PIECE; from < pad && size != 0; from += warps * PIECE)
		write_blanks(dst, content + from, content + min(from + PIECE, pad));
	if (first == 0)
		finish_value(job, entry, size, late);
}

__global__ void
__launch_bounds__(THREADS, BLOCKS_PER_SM)
fused_write_kernel(PpFusedJob job, uint32_t late)
{
	PP_SHARED(EntryShared, sh);
	uint32_t	left = 0;
	uint32_t	next;
	uint32_t	end;
	const bool	some_huge = queue_bounds(job, &next, &end);

	for (uint32_t q = next + warp_number(); q < end; q += gridDim.x * WARPS)
	{
		const Entry &e = read_entry(job, q, true, sh);

		if (e.value.column != PP_FUSED_NOTHING && text_of(e.value.ref).n <= PP_FUSED_HUGE_BYTES)
			write_whole(job, e, late != 0);
	}
	while (some_huge && next_huge(job, &next, &left, end))
	{
		const uint32_t q = take_huge(next, &left);

		write_pieces(job, q, read_entry(job, q, true, sh), late != 0);
	}
}

/* Behind all values of early columns: which of those that count were handed over. */
__global__ void
__launch_bounds__(THREADS)
fused_finish_kernel(PpFusedJob job, uint32_t late)
{
	uint32_t	fact = 0;
	uint32_t	count = 0;
	uint32_t	n;

	if (blockIdx.x == 0 && threadIdx.x == 0)
		job.result->longs_done = job.result->nlongs;
	if (late)
		return;
	if (threadIdx.x % 32 == 0)
		fact = job.result->structure.nrecords;
	if (threadIdx.x % 32 == 1)
		fact = job.result->handed;
	n = __shfl_sync(ALL, fact, 0);
	if (__shfl_sync(ALL, fact, 1) == 0)
		return;
	for (uint32_t c = 0; c < job.ncolumns; c++)
	{
		if (job.column[c].flags & PP_FUSED_LATE)
			continue;
		for (uint32_t r = blockIdx.x * THREADS + threadIdx.x; r < n; r += gridDim.x * THREADS)
			count += job.state[(size_t) c * job.room + r] == PP_DEFERRED;
	}
	for (uint32_t d = 16; d > 0; d /= 2)
		count += __shfl_xor_sync(ALL, count, d);
	if (threadIdx.x % 32 == 0 && count != 0)
		atomicAdd(reinterpret_cast<unsigned long long *>(&job.result->ndeferred),
				  (unsigned long long) count);
}

uint32_t
blocks_for(uint64_t n, uint32_t each)
{
	const uint64_t blocks = n / each + 1;

	return blocks > MOST_BLOCKS ? MOST_BLOCKS : (uint32_t) blocks;
}

cudaError_t
copy_longs(const PpFusedJob *job, uint32_t late, PpStageClock *clock, cudaStream_t stream)
{
	const uint32_t blocks = blocks_for(job->n, BLOCK_BYTES);
	cudaError_t e;

	if (job->ncolumns == 0)
		return cudaSuccess;
	if (job->n > PP_FUSED_HUGE_BYTES)
	{
		pp_stage(clock, PP_STAGE_LONG, stream);
		PP_LAUNCH(fused_look_kernel, blocks, THREADS, 0, stream, *job);
		e = pp_launch_error();
		if (e != cudaSuccess)
			return e;
	}
	pp_stage(clock, PP_STAGE_LONG, stream);
	PP_LAUNCH(fused_write_kernel, blocks, THREADS, 0, stream, *job, late);
	e = pp_launch_error();
	if (e != cudaSuccess)
		return e;
	pp_stage(clock, PP_STAGE_LONG, stream);
	PP_LAUNCH(fused_finish_kernel, blocks_for(late ? 0 : job->room, 16 * THREADS), THREADS, 0, stream,
			  *job, late);
	return pp_launch_error();
}

}								/* namespace */

cudaError_t
pp_fused_long(const PpFusedJob *job, PpStageClock *clock, cudaStream_t stream)
{
	return copy_longs(job, 0, clock, stream);
}

cudaError_t
pp_fused_long_late(const PpFusedJob *job, PpStageClock *clock, cudaStream_t stream)
{
	return copy_longs(job, 1, clock, stream);
}
