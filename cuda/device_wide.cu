/*
 * cuda/device_wide.cu
 *	  The algorithms of device_wide.h by CUB's device-wide functions.
 *
 * This file decides which of CUB's functions, types and tuning stand behind
 * each name, and nothing else: no kernel is written here.  It is the only
 * file that includes CUB, which takes most of the library's compile time, so
 * instantiations are few: the two selections share one, and all sorts run
 * without CUB's kernels for short arrays.  Runs of equal keys need none: they
 * are a selection of the positions where they begin.
 */
#include "device_wide.h"

#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cub/device/dispatch/dispatch_radix_sort.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

/*
 * pp_vec_compose(), four states at a time: b's nibbles of even and of odd
 * number are two tables of 8 bytes, which a byte permutation looks up.
 */
struct ComposeVectors
{
	__device__ __forceinline__ uint64_t
	operator()(uint64_t a, uint64_t b) const
	{
		uint32_t	even0 = (uint32_t) b & 0x0f0f0f0fu;
		uint32_t	even1 = (uint32_t) (b >> 32) & 0x0f0f0f0fu;
		uint32_t	odd0 = (uint32_t) (b >> 4) & 0x0f0f0f0fu;
		uint32_t	odd1 = (uint32_t) (b >> 36) & 0x0f0f0f0fu;
		uint32_t	r[4];

#pragma unroll
		for (int i = 0; i < 4; i++)
		{
			uint32_t	states = (uint32_t) (a >> (16 * i)) & 0xffffu;
			uint32_t	at = (states >> 1) & 0x7777u;
			uint32_t	even = __byte_perm(even0, even1, at);
			uint32_t	odd = __byte_perm(odd0, odd1, at);
			uint32_t	is_odd = __byte_perm(0xff00u, 0, states & 0x1111u);

			r[i] = (odd & is_odd) | (even & ~is_odd);
			r[i] |= r[i] >> 4;	/* two states in bytes 0 and 2 */
		}
		return (uint64_t) __byte_perm(r[2], r[3], 0x6420) << 32 |
			__byte_perm(r[0], r[1], 0x6420);
	}
};

/*
 * Offsets pass through the scan as one 64-bit word: tiles then publish their
 * prefixes by single vector stores instead of a value, a fence and a flag.
 */
struct CombineOffsets
{
	__device__ __forceinline__ uint64_t
	operator()(uint64_t a, uint64_t b) const
	{
		PpChunkOffset x = {(uint32_t) a, (uint32_t) (a >> 32)};
		PpChunkOffset y = {(uint32_t) b, (uint32_t) (b >> 32)};
		PpChunkOffset r = pp_chunk_offset_combine(x, y);

		return (uint64_t) r.column << 32 | r.records;
	}
};

/* Both selections: a byte's bits under a mask differ, or do not, from a value. */
struct Matches
{
	uint8_t		value;
	uint8_t		mask;
	uint8_t		differ;

	__device__ __forceinline__ uint8_t
	operator()(uint8_t byte) const
	{
		return (((byte ^ value) & mask) != 0) == differ;
	}
};

/* What pp_run_lengths() encodes, at position i. */
struct PairAt
{
	const uint8_t *key;
	const PpTaggedSymbol *tagged;

	__device__ __forceinline__ uint64_t
	operator()(uint32_t i) const
	{
		const uint8_t *r = tagged[i].record;
		uint32_t	record = r[0] | (uint32_t) r[1] << 8 |
			(uint32_t) r[2] << 16 | (uint32_t) r[3] << 24;

		return (uint64_t) key[i] << 32 | record;
	}
};

/*
 * How CUB's radix sort is built.  Left alone, it sorts 8-bit keys five bits a
 * pass before sm_90, which takes a second pass and a second copy of keys and
 * values.  Here it is "onesweep" on every architecture: histogram, scan of
 * the bins and one pass of 8 bits, which needs neither.  Arrays of any length
 * take this way, so that the other methods' kernels do not exist; the values'
 * type is not part of the policy, so that both sorts share the first two.
 */
struct OnePass
{
	struct Policy : cub::ChainedPolicy<750, Policy, Policy>
	{
		static constexpr int ONESWEEP_RADIX_BITS = 8;

		using HistogramPolicy = cub::AgentRadixSortHistogramPolicy<128, 16, 1, uint8_t, 8>;
		using ExclusiveSumPolicy = cub::AgentRadixSortExclusiveSumPolicy<256, 8>;
		using OnesweepPolicy = cub::AgentRadixSortOnesweepPolicy<
			512, 15, uint32_t, 1, cub::RADIX_RANK_MATCH_EARLY_COUNTS_ANY,
			cub::BLOCK_SCAN_RAKING_MEMOIZE, cub::RADIX_SORT_STORE_DIRECT, 8>;
	};
	using MaxPolicy = Policy;
};

/*
 * The same of 64-bit keys.  Tiles are those that CUB takes for keys of this size;
 * one policy for all architectures, keys alone and pairs.
 */
struct Passes64
{
	struct Policy : cub::ChainedPolicy<750, Policy, Policy>
	{
		static constexpr int ONESWEEP_RADIX_BITS = 8;

		using HistogramPolicy = cub::AgentRadixSortHistogramPolicy<128, 16, 1, uint64_t, 8>;
		using ExclusiveSumPolicy = cub::AgentRadixSortExclusiveSumPolicy<256, 8>;
		using OnesweepPolicy = cub::AgentRadixSortOnesweepPolicy<
			384, 21, uint64_t, 1, cub::RADIX_RANK_MATCH_EARLY_COUNTS_ANY,
			cub::BLOCK_SCAN_RAKING_MEMOIZE, cub::RADIX_SORT_STORE_DIRECT, 8>;
	};
	using MaxPolicy = Policy;
};

template <class Value>
cudaError_t
sort64(void *temp, size_t *bytes, uint64_t *key, uint64_t *other, Value *value,
	   Value *other_value, uint32_t n, uint32_t first_bit, uint32_t end_bit,
	   cudaStream_t stream)
{
	using Dispatch = cub::DispatchRadixSort<cub::SortOrder::Ascending, uint64_t, Value,
											uint32_t, cub::detail::identity_decomposer_t,
											Passes64>;
	cub::DoubleBuffer<uint64_t> keys(key, other);
	cub::DoubleBuffer<Value> values(value, other_value);

	if (first_bit >= end_bit || end_bit > 64)
		return cudaErrorInvalidValue;
	if (n == 0)
	{
		if (temp == nullptr)
			*bytes = 1;
		return cudaSuccess;
	}

	Dispatch	dispatch(temp, *bytes, keys, values, n, (int) first_bit, (int) end_bit,
						 true, stream, 0);

	return dispatch.template InvokeOnesweep<Passes64::Policy>();
}

template <class Value>
cudaError_t
sort(void *temp, size_t *bytes, const uint8_t *key_in, uint8_t *key_out,
	 const Value *in, Value *out, uint32_t n, uint32_t first_bit, uint32_t end_bit,
	 cudaStream_t stream)
{
	using Dispatch = cub::DispatchRadixSort<cub::SortOrder::Ascending, uint8_t, Value,
											uint32_t, cub::detail::identity_decomposer_t,
											OnePass>;
	cub::DoubleBuffer<uint8_t> keys(const_cast<uint8_t *>(key_in), key_out);
	cub::DoubleBuffer<Value> values(const_cast<Value *>(in), out);

	if (first_bit >= end_bit || end_bit > 8)
		return cudaErrorInvalidValue;
	if (n == 0)
	{
		if (temp == nullptr)
			*bytes = 1;
		return cudaSuccess;
	}

	Dispatch	dispatch(temp, *bytes, keys, values, n, (int) first_bit, (int) end_bit,
						 false, stream, 0);

	return dispatch.template InvokeOnesweep<OnePass::Policy>();
}

cudaError_t
select(void *temp, size_t *bytes, const uint8_t *byte, Matches matches,
	   uint32_t *position, uint32_t *count, uint32_t n, cudaStream_t stream)
{
	return cub::DeviceSelect::Flagged(temp, *bytes, thrust::counting_iterator<uint32_t>(0),
									  thrust::transform_iterator<Matches, const uint8_t *>(byte, matches),
									  position, count, (int) n, stream);
}

}								/* namespace */

cudaError_t
pp_scan_vectors(void *temp, size_t *bytes, const PpVector *in, PpVector *out,
				uint32_t n, cudaStream_t stream)
{
	return cub::DeviceScan::ExclusiveScan(temp, *bytes, in, out, ComposeVectors(),
										  (uint64_t) PP_VEC_IDENTITY, n, stream);
}

cudaError_t
pp_scan_offsets(void *temp, size_t *bytes, const PpChunkOffset *in, PpChunkOffset *out,
				PpChunkOffset first, uint32_t n, cudaStream_t stream)
{
	return cub::DeviceScan::ExclusiveScan(temp, *bytes,
										  reinterpret_cast<const uint64_t *>(in),
										  reinterpret_cast<uint64_t *>(out),
										  CombineOffsets(),
										  (uint64_t) first.column << 32 | first.records,
										  n, stream);
}

cudaError_t
pp_scan_sum32(void *temp, size_t *bytes, const uint32_t *in, uint32_t *out,
			  uint32_t n, cudaStream_t stream)
{
	return cub::DeviceScan::ExclusiveSum(temp, *bytes, in, out, n, stream);
}

cudaError_t
pp_scan_sum64(void *temp, size_t *bytes, const uint64_t *in, uint64_t *out,
			  uint32_t n, cudaStream_t stream)
{
	return cub::DeviceScan::ExclusiveSum(temp, *bytes, in, out, n, stream);
}

cudaError_t
pp_sort_symbols(void *temp, size_t *bytes, const uint8_t *key_in, uint8_t *key_out,
				const uint8_t *symbol_in, uint8_t *symbol_out, uint32_t n,
				uint32_t first_bit, uint32_t end_bit, cudaStream_t stream)
{
	return sort(temp, bytes, key_in, key_out, symbol_in, symbol_out, n,
				first_bit, end_bit, stream);
}

cudaError_t
pp_sort_tagged(void *temp, size_t *bytes, const uint8_t *key_in, uint8_t *key_out,
			   const PpTaggedSymbol *in, PpTaggedSymbol *out, uint32_t n,
			   uint32_t first_bit, uint32_t end_bit, cudaStream_t stream)
{
	return sort(temp, bytes, key_in, key_out, in, out, n, first_bit, end_bit, stream);
}

cudaError_t
pp_sort_keys64(void *temp, size_t *bytes, uint64_t *key, uint64_t *other, uint32_t n,
			   uint32_t first_bit, uint32_t end_bit, cudaStream_t stream)
{
	return sort64<cub::NullType>(temp, bytes, key, other, nullptr, nullptr, n, first_bit,
								 end_bit, stream);
}

cudaError_t
pp_sort_pairs64(void *temp, size_t *bytes, uint64_t *key, uint64_t *other, uint32_t *value,
				uint32_t *other_value, uint32_t n, uint32_t first_bit, uint32_t end_bit,
				cudaStream_t stream)
{
	return sort64(temp, bytes, key, other, value, other_value, n, first_bit, end_bit, stream);
}

cudaError_t
pp_select_flagged(void *temp, size_t *bytes, const uint8_t *flag, uint8_t mask,
				  uint32_t *position, uint32_t *count, uint32_t n, cudaStream_t stream)
{
	return select(temp, bytes, flag, Matches{0, mask, 1}, position, count, n, stream);
}

cudaError_t
pp_select_equal(void *temp, size_t *bytes, const uint8_t *byte, uint8_t value,
				uint32_t *position, uint32_t *count, uint32_t n, cudaStream_t stream)
{
	return select(temp, bytes, byte, Matches{value, 0xff, 0}, position, count, n, stream);
}

cudaError_t
pp_run_lengths(void *temp, size_t *bytes, const uint8_t *key,
			   const PpTaggedSymbol *tagged, uint64_t *pair, uint32_t *length,
			   uint32_t *count, uint32_t n, cudaStream_t stream)
{
	thrust::transform_iterator<PairAt, thrust::counting_iterator<uint32_t>>
		pairs(thrust::counting_iterator<uint32_t>(0), PairAt{key, tagged});

	return cub::DeviceRunLengthEncode::Encode(temp, *bytes, pairs, pair, length, count,
											  (int) n, stream);
}
