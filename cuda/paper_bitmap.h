/*
 * cuda/paper_bitmap.h
 *	  What the kernels of the pipeline's structure half share: how many threads
 *	  work on how much text, text staged through shared memory, and access to
 *	  the bitmap indexes.
 *
 * For paper_*.cu only.  Owns nothing and launches nothing.
 */
#ifndef PP_PAPER_BITMAP_H
#define PP_PAPER_BITMAP_H

#include "paper.h"

/* A launch bound; fewer where chunks are large, so that a tile fits. */
#define PP_PAPER_THREADS	128

/* Chunks of a block: a tile has at most 8 kB of text. */
static inline uint32_t
pp_paper_threads(uint32_t chunk)
{
	return chunk <= 64 ? 128 : chunk <= 128 ? 64 : 32;
}

/* Chunks, and blocks that they take; text that is empty has one chunk. */
static inline uint32_t
pp_paper_chunks(uint32_t n, uint32_t chunk)
{
	return n == 0 ? 1 : (n - 1) / chunk + 1;
}

static inline uint32_t
pp_paper_blocks(uint32_t nchunks, uint32_t chunk)
{
	return (nchunks - 1) / pp_paper_threads(chunk) + 1;
}

/* Bytes of shared memory for a tile's text, one byte behind it and the skew. */
static inline uint32_t
pp_paper_tile_bytes(uint32_t chunk)
{
	return (pp_paper_threads(chunk) * chunk + 1 + 15 + 15) & ~15u;
}

/* Arrays that are laid out one behind the other in one allocation. */
static inline size_t
pp_paper_place(size_t *at, size_t bytes)
{
	size_t		start = *at;

	*at += (bytes + 255) & ~(size_t) 255;
	return start;
}

/* What stands at bytes start of it; base is NULL while sizes are summed up. */
template <class T>
static inline T *
pp_paper_address(void *base, size_t start)
{
	return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(base) + start);
}

/* The next array of n elements. */
template <class T>
static inline T *
pp_paper_array(void *base, size_t *at, size_t n)
{
	return pp_paper_address<T>(base, pp_paper_place(at, n * sizeof(T)));
}

/*
 * Loads the block's tile, bytes [base, base + bytes) of the text as far as
 * they are below n, by neighbouring threads from neighbouring addresses.
 * Answers where byte base stands in the tile.  To be followed by a barrier.
 */
static __device__ __forceinline__ uint32_t
pp_stage_text(uint8_t *tile, const uint8_t *text, uint32_t n, uint32_t base, uint32_t bytes)
{
	uint32_t	skew = (uint32_t) ((uintptr_t) (text + base) & 15u);
	const uint8_t *from = text + base - skew;
	uint32_t	end = n - base < bytes ? n - base : bytes;

	for (uint32_t i = threadIdx.x * 16; i < skew + end; i += blockDim.x * 16)
		*reinterpret_cast<uint4 *>(tile + i) = pp_load16(from + i);
	return skew;
}

/* Bits behind the last one set of a record bitmap's word; all if none is. */
static __device__ __forceinline__ uint32_t
pp_behind_last(uint32_t record_bits)
{
	/*
	 * The publication has ~BLSMSK(record), which is meant for a bitmap that
	 * starts at the most significant bit and would keep the other side of it.
	 * Here the first byte is the least significant bit: reversed, the last
	 * record end is the lowest bit, and BLSMSK keeps it and what follows it.
	 * Of no bit at all BLSMSK keeps everything, which is the relative case.
	 */
	uint32_t	reversed = __brev(record_bits);

	return __brev(reversed ^ (reversed - 1)) & ~record_bits;
}

/* Bits [0, n) of a word, n at most 32. */
static __device__ __forceinline__ uint32_t
pp_low_bits(uint32_t n)
{
	return n >= 32 ? 0xffffffffu : (1u << n) - 1;
}

/* Is byte pos the end of a record? */
static __device__ __forceinline__ bool
pp_is_record_end(const PpPaperStructure *s, uint32_t chunk, uint32_t pos)
{
	uint32_t	i = pos / chunk;
	uint32_t	b = pos - i * chunk;

	return s->record_bits[(size_t) (b >> 5) * s->nchunks + i] >> (b & 31) & 1u;
}

/* Record ends in chunk i. */
static __device__ __forceinline__ uint32_t
pp_records_of_chunk(const PpPaperStructure *s, uint32_t i)
{
	uint32_t	count = 0;

	for (uint32_t w = 0; w < s->words; w++)
		count += (uint32_t) __popc(s->record_bits[(size_t) w * s->nchunks + i]);
	return count;
}

/* Position of record end number r, which exists; offsets are exclusive. */
static __device__ __forceinline__ uint32_t
pp_record_end(const PpPaperStructure *s, uint32_t chunk, uint32_t r)
{
	uint32_t	low = 0;		/* the last chunk with no more than r in front */
	uint32_t	high = s->nchunks;
	uint32_t	left;

	while (high - low > 1)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (s->offset[middle].records <= r)
			low = middle;
		else
			high = middle;
	}
	left = r - s->offset[low].records;
	for (uint32_t w = 0;; w++)
	{
		uint32_t	bits = s->record_bits[(size_t) w * s->nchunks + low];
		uint32_t	count = (uint32_t) __popc(bits);

		if (left < count)
		{
			for (; left > 0; left--)
				bits &= bits - 1;
			return low * chunk + 32 * w + (uint32_t) (__ffs((int) bits) - 1);
		}
		left -= count;
	}
}

#endif							/* PP_PAPER_BITMAP_H */
