/*
 * cuda/device_wide.h
 *	  The algorithms over whole arrays in device memory that the pipelines use
 *	  as they are: scans, a stable radix sort, selection, run lengths.
 *
 * device_wide.cu calls CUB.  The host SIMT layer has twins of the same
 * contract (test/simt/device_wide_host.cpp), and the PTX executor runs the
 * calls of CUB themselves.
 *
 * Every function works in two steps, as in CUB: with temp NULL it stores the
 * bytes of scratch memory that it needs to *bytes and does nothing else; with
 * temp of that size it enqueues the work on the stream.  All arrays are in
 * device memory, n counts elements (n < 2^31), input and output do not overlap
 * unless said.  Answers are CUDA's; nothing is thrown.
 */
#ifndef PP_DEVICE_WIDE_H
#define PP_DEVICE_WIDE_H

#include "device.h"

#include "../src/parse/dfa.h"

/*
 * A chunk's records and field ends (ParPaRaw, section 3.2), in one word so
 * that one scan serves both: how many records end in it, and PpColumnOffset.
 * Aligned, so that the scan may move it as one word.
 */
typedef struct alignas(8) PpChunkOffset
{
	uint32_t	records;
	uint32_t	column;			/* bit 31: absolute; below: field ends */
} PpChunkOffset;

#define PP_COLUMN_ABSOLUTE	0x80000000u

PP_INLINE PpChunkOffset
pp_chunk_offset_combine(PpChunkOffset a, PpChunkOffset b)
{
	PpChunkOffset r;

	r.records = a.records + b.records;
	r.column = b.column & PP_COLUMN_ABSOLUTE ? b.column : a.column + b.column;
	return r;
}

/* A symbol that moves together with the record it belongs to (record tags). */
typedef struct PpTaggedSymbol
{
	uint8_t		symbol;
	uint8_t		record[4];		/* little-endian; 5 bytes, unaligned */
} PpTaggedSymbol;

/* out[i] = in[0] o .. o in[i - 1], out[0] = identity; in may be out. */
extern cudaError_t pp_scan_vectors(void *temp, size_t *bytes, const PpVector *in,
								   PpVector *out, uint32_t n, cudaStream_t stream);

/* The same of offsets, starting from first; in may be out. */
extern cudaError_t pp_scan_offsets(void *temp, size_t *bytes, const PpChunkOffset *in,
								   PpChunkOffset *out, PpChunkOffset first,
								   uint32_t n, cudaStream_t stream);

/* Exclusive sums, from 0; in may be out. */
extern cudaError_t pp_scan_sum32(void *temp, size_t *bytes, const uint32_t *in,
								 uint32_t *out, uint32_t n, cudaStream_t stream);
extern cudaError_t pp_scan_sum64(void *temp, size_t *bytes, const uint64_t *in,
								 uint64_t *out, uint32_t n, cudaStream_t stream);

/*
 * Stable partition by the key's bits [first_bit, end_bit), 1 to 8 of them: one
 * pass of a radix sort, without a second copy of keys or values (the scratch
 * memory is below n / 4 bytes + 8 kB).  Other bit ranges:
 * cudaErrorInvalidValue.
 */
extern cudaError_t pp_sort_symbols(void *temp, size_t *bytes,
								   const uint8_t *key_in, uint8_t *key_out,
								   const uint8_t *symbol_in, uint8_t *symbol_out,
								   uint32_t n, uint32_t first_bit, uint32_t end_bit,
								   cudaStream_t stream);
extern cudaError_t pp_sort_tagged(void *temp, size_t *bytes,
								  const uint8_t *key_in, uint8_t *key_out,
								  const PpTaggedSymbol *in, PpTaggedSymbol *out,
								  uint32_t n, uint32_t first_bit, uint32_t end_bit,
								  cudaStream_t stream);

/* Passes over all keys that the following sorts make: 8 bits each. */
static inline uint32_t
pp_sort_passes(uint32_t first_bit, uint32_t end_bit)
{
	return (end_bit - first_bit + 7) / 8;
}

/*
 * Stable sort of keys, unsigned, by their bits [first_bit, end_bit), 1 to 64 of
 * them; and of pairs of a key and a value.  Nothing but the two arrays of each
 * holds elements (the scratch memory is below n / 4 bytes + 64 kB): passes go to
 * and fro between them, so that the result is in key if pp_sort_passes() is even,
 * else in other; the other array is garbage then.
 */
extern cudaError_t pp_sort_keys64(void *temp, size_t *bytes, uint64_t *key, uint64_t *other,
								  uint32_t n, uint32_t first_bit, uint32_t end_bit,
								  cudaStream_t stream);
extern cudaError_t pp_sort_pairs64(void *temp, size_t *bytes, uint64_t *key, uint64_t *other,
								   uint32_t *value, uint32_t *other_value, uint32_t n,
								   uint32_t first_bit, uint32_t end_bit, cudaStream_t stream);

/* Positions i < n with flag[i] & mask, ascending, and how many they are. */
extern cudaError_t pp_select_flagged(void *temp, size_t *bytes, const uint8_t *flag,
									 uint8_t mask, uint32_t *position, uint32_t *count,
									 uint32_t n, cudaStream_t stream);

/* Positions i < n with byte[i] == value. */
extern cudaError_t pp_select_equal(void *temp, size_t *bytes, const uint8_t *byte,
								   uint8_t value, uint32_t *position, uint32_t *count,
								   uint32_t n, cudaStream_t stream);

/*
 * Run-length encoding of the pairs (key[i], tagged[i].record): runs of equal
 * pairs, their pair as key << 32 | record, their lengths, and how many they are.
 */
extern cudaError_t pp_run_lengths(void *temp, size_t *bytes, const uint8_t *key,
								  const PpTaggedSymbol *tagged, uint64_t *pair,
								  uint32_t *length, uint32_t *count, uint32_t n,
								  cudaStream_t stream);

#endif							/* PP_DEVICE_WIDE_H */
