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
	result[7 * SHUFFLE_THREADS + t] = (uint32_t) __all_sync(0xffffffffu, (int) (v < 38));
	/* lanes of two masks come here together */
	result[8 * SHUFFLE_THREADS + t] = (uint32_t) __all_sync(0x55555555u << (t & 1), (int) (v < 38));
}

struct MemoryShared
{
	unsigned long long sum;
	unsigned long long generic[MEMORY_THREADS];
	uint32_t	slot[MEMORY_SLOTS];
	uint32_t	generic32[MEMORY_THREADS];
	uint8_t		bytes[MEMORY_THREADS][2];
};

__global__ void
memory_kernel(const uint64_t *value, int8_t number, MemoryResults *results)
{
	PP_SHARED(MemoryShared, s);
	const uint32_t t = threadIdx.x;
	const uint64_t v = value[t];
	const uint32_t at = (uint32_t) __cvta_generic_to_shared(&s.slot[(uint32_t) v % MEMORY_SLOTS]);
	const uint32_t sum_at = (uint32_t) __cvta_generic_to_shared(&s.sum);
	const uint32_t bytes_at = (uint32_t) __cvta_generic_to_shared(s.bytes[t]);
	/* not known to be shared or global before it is stored to */
	unsigned long long *to = t % 2 ? &s.generic[t] : (unsigned long long *) &results->generic[t];
	uint32_t   *to32 = t % 3 ? &s.generic32[t] : &results->generic32[t];
	uint64_t	before;
	uint32_t	found;

	for (uint32_t i = t; i < MEMORY_SLOTS; i += MEMORY_THREADS)
		s.slot[i] = 0;
	if (t == 0)
		s.sum = 0;
	__syncthreads();
	asm volatile("atom.shared.add.u64 %0, [%1], %2;" : "=l"(before) : "r"(sum_at), "l"(v) : "memory");
	asm volatile("atom.shared.cas.b32 %0, [%1], 0, %2;" : "=r"(found) : "r"(at), "r"((uint32_t) v)
				 : "memory");
	asm volatile("{ .reg .u16 a, b; mov.b32 {a, b}, %1; shr.u16 b, a, 8; st.shared.v2.u8 [%0], {a, b}; }"
				 :: "r"(bytes_at), "r"((uint32_t) v) : "memory");
	asm volatile("st.global.v2.u64 [%0], {%1, %2};" :: "l"(results->pair[t]), "l"(v), "l"(~v + 1)
				 : "memory");
	asm volatile("st.u64 [%0], %1;" :: "l"(to), "l"(v + (uint64_t) (int64_t) number) : "memory");
	asm volatile("st.u32 [%0], %1;" :: "l"(to32), "r"((uint32_t) v + (uint32_t) number) : "memory");
	__syncthreads();
	if (t % 2)
		results->generic[t] = s.generic[t];
	if (t % 3)
		results->generic32[t] = s.generic32[t];
	results->before[t] = before;
	results->found[t] = found;
	results->bytes[t] = s.bytes[t][0] | (uint32_t) s.bytes[t][1] << 8;
	for (uint32_t i = t; i < MEMORY_SLOTS; i += MEMORY_THREADS)
		results->slot[i] = s.slot[i];
	if (t == 0)
		results->sum = s.sum;
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

cudaError_t
memory_run(const uint64_t *value, int8_t number, MemoryResults *results, cudaStream_t stream)
{
	PP_LAUNCH(memory_kernel, 1, MEMORY_THREADS, 0, stream, value, number, results);
	return pp_launch_error();
}
