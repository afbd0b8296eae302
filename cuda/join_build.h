/*
 * cuda/join_build.h
 *	  What the files that build a join share: sums over blocks, scratch memory,
 *	  device-wide functions in their two steps, sorting and finding runs.
 *
 * join_build.cu	keys become numbers, relations codes
 * join_tries.cu	codes become tries
 * join_pairwise.cu	relations are joined two at a time
 *
 * Each including file gets functions of its own.
 */
#ifndef PP_JOIN_BUILD_H
#define PP_JOIN_BUILD_H

#include "join.h"

#include "device_wide.h"
#include "mfira.h"

#include <cstring>

namespace
{

constexpr uint32_t BLOCK = 256;
constexpr uint32_t WARPS = BLOCK / 32;
constexpr uint32_t ALL_LANES = 0xffffffffu;

/* Blocks of a launch at most; threads go on to the next items.  Fewer where each
 * block adds to a sum. */
constexpr uint32_t MOST_BLOCKS = 8192;
constexpr uint32_t SUM_BLOCKS = 1024;

/* ---------- kernels ---------- */

__device__ __forceinline__ uint32_t
first_item(void)
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ uint32_t
step_items(void)
{
	return gridDim.x * blockDim.x;
}

struct BlockSums
{
	unsigned long long of[4][WARPS];
};

/*
 * The sum or the maximum over a block, in its thread 0; each call has a row of
 * BlockSums of its own.
 */
template <bool MAXIMUM>
__device__ __forceinline__ unsigned long long
block_reduce(unsigned long long (&warp)[WARPS], unsigned long long v)
{
	PP_UNROLL
	for (int d = 16; d > 0; d /= 2)
	{
		const unsigned long long other = __shfl_down_sync(ALL_LANES, v, d);

		v = MAXIMUM ? max(v, other) : v + other;
	}
	if (threadIdx.x % 32 == 0)
		warp[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x == 0)
		for (uint32_t w = 1; w < WARPS; w++)
			v = MAXIMUM ? max(v, warp[w]) : v + warp[w];
	return v;
}

/* Does a run of equal keys begin here? */
__global__ void
__launch_bounds__(BLOCK)
mark_heads(const uint64_t *keys, uint32_t n, uint8_t *flag)
{
	for (uint64_t i = first_item(); i < n; i += step_items())
		flag[i] = i == 0 || keys[i] != keys[i - 1];
}

/* ---------- what host functions share ---------- */

/* Buffers of one function's, put back when it returns. */
struct Scratch
{
	PpBuffer	key[2] = {};
	PpBuffer	value[2] = {};
	PpBuffer	flag = {};
	PpBuffer	place = {};
	PpBuffer	temp = {};
	PpBuffer	found = {};
	PpBuffer	host = {PP_MEMORY_PINNED, nullptr, 0};

	~Scratch()
	{
		PpBuffer   *all[] = {&key[0], &key[1], &value[0], &value[1], &flag, &place,
							 &temp, &found, &host};

		for (PpBuffer *each : all)
			pp_buffer_release(each);
	}
};

template <class T>
T *
as(const PpBuffer &buffer)
{
	return reinterpret_cast<T *>(buffer.p);
}

inline uint32_t
blocks(uint64_t n, uint32_t most = MOST_BLOCKS)
{
	const uint64_t wanted = (n + BLOCK - 1) / BLOCK;

	return wanted == 0 ? 1 : wanted < most ? (uint32_t) wanted : most;
}

inline PpJoinStatus
launched(PpDeviceJoin *join)
{
	return pp_join_launched(join, "launching a kernel that builds a join failed");
}

/* Waits, and brings bytes from the device. */
inline PpJoinStatus
fetch(PpDeviceJoin *join, Scratch *s, void *to, const void *from, size_t bytes)
{
	TRY(pp_join_reserve(join, &s->host, bytes));
	TRY(pp_join_copy(join, s->host.p, from, bytes, cudaMemcpyDeviceToHost));
	TRY(pp_join_wait(join));
	memcpy(to, s->host.p, bytes);
	return PP_JOIN_OK;
}

/* A device-wide function in its two steps. */
template <class F>
PpJoinStatus
wide(PpDeviceJoin *join, Scratch *s, F f)
{
	const char *what = "a device-wide function of building a join failed";
	size_t		bytes = 0;

	TRY(pp_join_call(what, f(static_cast<void *>(nullptr), &bytes)));
	TRY(pp_join_reserve(join, &s->temp, bytes));
	join->info.launches++;
	return pp_join_call(what, f(s->temp.p, &bytes));
}

/* Bits that the numbers 0 .. most have, 1 at least. */
inline uint32_t
bits_of(uint64_t most)
{
	uint32_t	bits = 1;

	while (bits < 64 && most >> bits != 0)
		bits++;
	return bits;
}

/*
 * Sorts n keys that are in s->key[0], and values of s->value[0] if there are
 * any; *at says in which of the two arrays they are then.  The other arrays have
 * the room, or get it.
 */
inline PpJoinStatus
sort(PpDeviceJoin *join, Scratch *s, uint32_t n, uint32_t bits, bool values, uint32_t *at)
{
	*at = pp_sort_passes(0, bits) % 2;
	TRY(pp_join_reserve(join, &s->key[1], n * sizeof(uint64_t)));
	if (values)
		TRY(pp_join_reserve(join, &s->value[1], n * sizeof(uint32_t)));
	return wide(join, s, [=](void *temp, size_t *bytes) {
		uint64_t   *key[2] = {as<uint64_t>(s->key[0]), as<uint64_t>(s->key[1])};

		return values ?
			pp_sort_pairs64(temp, bytes, key[0], key[1], as<uint32_t>(s->value[0]),
							as<uint32_t>(s->value[1]), n, 0, bits, join->stream) :
			pp_sort_keys64(temp, bytes, key[0], key[1], n, 0, bits, join->stream);
	});
}

/* Places of the flags that are set, and how many they are; waits. */
inline PpJoinStatus
select(PpDeviceJoin *join, Scratch *s, const uint8_t *flag, uint32_t n, uint32_t *place,
	   uint32_t *found)
{
	TRY(pp_join_reserve(join, &s->found, sizeof(uint64_t)));
	TRY(wide(join, s, [=](void *temp, size_t *bytes) {
		return pp_select_flagged(temp, bytes, flag, 1, place, as<uint32_t>(s->found), n,
								 join->stream);
	}));
	return fetch(join, s, found, s->found.p, sizeof(*found));
}

/* Places where runs of equal keys begin; room is for flags of n bytes and for
 * place[n]. */
inline PpJoinStatus
find_heads(PpDeviceJoin *join, Scratch *s, const uint64_t *keys, uint32_t n, uint8_t *flag,
		   uint32_t *place, uint32_t *found)
{
	PP_LAUNCH(mark_heads, blocks(n), BLOCK, 0, join->stream, keys, n, flag);
	TRY(launched(join));
	return select(join, s, flag, n, place, found);
}

}								/* namespace */

#endif							/* PP_JOIN_BUILD_H */
