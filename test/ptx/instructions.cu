/*
 * test/ptx/instructions.cu
 *	  Kernels of instructions.h.  Only tests of the executor may write PTX.
 */
#include "instructions.h"

#define ASM_32(text) \
	do { \
		uint32_t	r = 0; \
		asm volatile(text : "=r"(r) : "r"((uint32_t) o.v[0]), "r"((uint32_t) o.v[1]), \
					 "r"((uint32_t) o.v[2]), "r"((uint32_t) o.v[3])); \
		result[i] = r; \
	} while (0)
#define ASM_64(text) \
	do { \
		uint64_t	r = 0; \
		asm volatile(text : "=l"(r) : "l"(o.v[0]), "l"(o.v[1]), "l"(o.v[2]), "l"(o.v[3])); \
		result[i] = r; \
	} while (0)

__global__ void
instruction_kernel(Instruction instruction, const Operands *operands, uint64_t *result, uint32_t n)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;
	Operands	o;

	if (i >= n)
		return;
	o = operands[i];
	switch (instruction)
	{
#define X(name, width, text) \
		case I_##name: \
			ASM_##width(text); \
			break;
			INSTRUCTIONS(X)
#undef X
		default:
			break;
	}
}

__global__ void
shuffle_kernel(const uint32_t *value, const uint32_t *lane, uint32_t width, uint32_t *result)
{
	uint32_t	t = threadIdx.x, v = value[t];

	/* the lane differs between threads for indexes only */
	result[t] = __shfl_sync(0xffffffffu, v, (int) lane[t], (int) width);
	result[SHUFFLE_THREADS + t] = __shfl_up_sync(0xffffffffu, v, lane[0], (int) width);
	result[2 * SHUFFLE_THREADS + t] = __shfl_down_sync(0xffffffffu, v, lane[0], (int) width);
	result[3 * SHUFFLE_THREADS + t] = __shfl_xor_sync(0xffffffffu, v, (int) lane[0], (int) width);
	result[4 * SHUFFLE_THREADS + t] = (uint32_t) __popc(__match_any_sync(0xffffffffu, v));
	result[5 * SHUFFLE_THREADS + t] = (uint32_t) __popc(__ballot_sync(0xffffffffu, (int) (v & 1)));
	result[6 * SHUFFLE_THREADS + t] = (uint32_t) __syncthreads_count((int) (v & 1));
}

cudaError_t
instruction_run(Instruction instruction, const Operands *operands, uint64_t *result, uint32_t n,
				cudaStream_t stream)
{
	PP_LAUNCH(instruction_kernel, (n + 127) / 128, 128, 0, stream, instruction, operands, result, n);
	return pp_launch_error();
}

cudaError_t
shuffle_run(const uint32_t *value, const uint32_t *lane, uint32_t width, uint32_t *result,
			cudaStream_t stream)
{
	PP_LAUNCH(shuffle_kernel, 1, SHUFFLE_THREADS, 0, stream, value, lane, width, result);
	return pp_launch_error();
}
