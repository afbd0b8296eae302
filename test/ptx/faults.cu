/*
 * test/ptx/faults.cu
 *	  The kernel of faults.h: lanes, warps and blocks pass data to one another
 *	  in every way that the library's kernels use.
 */
#include "faults.h"

struct FaultShared
{
	uint32_t	of_block[FAULT_BLOCK];
	uint32_t	of_warp[FAULT_BLOCK];
	uint32_t	tile;
	uint32_t	carry;
	uint32_t	sum;
};

template <int fault>
__global__ void
fault_kernel(const uint32_t *in, uint32_t *out, uint32_t *carried, uint32_t *state)
{
	PP_SHARED(FaultShared, s);
	uint32_t	t = threadIdx.x, lane = t & 31;

	if (t == 0)
	{
		s.tile = atomicAdd(&state[gridDim.x], 1u);
		s.sum = 0;
	}
	__syncthreads();

	uint32_t	tile = s.tile;
	const uint32_t *from = in + tile * FAULT_BLOCK + t;

	if (fault == FAULT_ALIGNMENT && t == 77)
		from = reinterpret_cast<const uint32_t *>(reinterpret_cast<const uint8_t *>(from) + 1);

	uint32_t	mine = pp_load4(from);

	s.of_block[t] = mine;
	s.of_warp[t] = mine;
	atomicAdd(&s.sum, mine);
	if (fault != FAULT_SYNCWARP)
		__syncwarp();

	uint32_t	neighbour = s.of_warp[(t - lane) + 31 - lane];

	if (fault == FAULT_DIVERGENCE && t < FAULT_BLOCK / 2)
	{
		__syncthreads();
		neighbour++;
	}
	else if (fault != FAULT_BARRIER)
		__syncthreads();

	uint32_t	other = s.of_block[FAULT_BLOCK - 1 - t];

	if (fault == FAULT_SHARED_BOUNDS && t == 5)
		other += (&s.of_block[0])[sizeof(s) / sizeof(uint32_t) + t];
	__syncthreads();
	if (t == 0)
	{
		s.carry = 0;
		if (tile != 0)
		{
			while (pp_load_acquire(&state[tile - 1]) == 0)
				pp_pause();
			s.carry = carried[tile - 1];
		}
		carried[tile] = s.carry + s.sum;
		if (fault == FAULT_RELEASE)
			pp_store_relaxed(&state[tile], 1u);
		else
			pp_store_release(&state[tile], 1u);
	}
	__syncthreads();
	if (fault == FAULT_DEVICE_BOUNDS && t == 9 && tile + 1 == gridDim.x)
		out[gridDim.x * FAULT_BLOCK] = 1;
	out[tile * FAULT_BLOCK + t] = other + 3 * neighbour + s.carry;
}

cudaError_t
fault_run(Fault fault, const uint32_t *in, uint32_t *out, uint32_t *carried, uint32_t *state,
		  uint32_t blocks, cudaStream_t stream)
{
#define FAULT_CASE(f) \
	case f: \
		PP_LAUNCH(fault_kernel<f>, blocks, FAULT_BLOCK, 0, stream, in, out, carried, state); \
		break
	switch (fault)
	{
		FAULT_CASE(FAULT_NONE);
		FAULT_CASE(FAULT_BARRIER);
		FAULT_CASE(FAULT_SYNCWARP);
		FAULT_CASE(FAULT_RELEASE);
		FAULT_CASE(FAULT_ALIGNMENT);
		FAULT_CASE(FAULT_DEVICE_BOUNDS);
		FAULT_CASE(FAULT_SHARED_BOUNDS);
		FAULT_CASE(FAULT_DIVERGENCE);
		default:
			return cudaErrorInvalidValue;
	}
	return pp_launch_error();
}
