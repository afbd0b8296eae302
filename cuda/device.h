/*
 * cuda/device.h
 *	  The dialect of CUDA C++ that device code of this project is written in:
 *	  what kernels and their drivers may use beside plain C++17.
 *
 * Every .cu file includes this and no other CUDA header (device_wide.cu, which
 * calls CUB, excepted).  nvcc sees thin aliases of CUDA.  Any other C++
 * compiler takes the same names from "simt.h", the host SIMT layer of the
 * tests, which executes kernels on the CPU; the sources are the same.
 *
 * What a kernel must keep to, so that it means the same in both worlds and
 * that races can be found:
 *
 *  - launched by PP_LAUNCH(kernel, grid, block, dynamic bytes, stream, ...)
 *    only; pp_launch_error() is looked at behind it;
 *  - static shared memory: one struct of trivial members a kernel, declared by
 *    PP_SHARED(Struct, name) and handed to helpers by reference; dynamic
 *    shared memory by PP_DYNAMIC_SHARED(name);
 *  - between blocks: pp_load_acquire, pp_store_release, pp_store_relaxed,
 *    pp_add_acq_rel and the (relaxed) atomicXxx functions; no volatile, no
 *    bare __threadfence(), no inline PTX; loops that wait call pp_pause() and
 *    tiles that look back take their number from an atomic counter;
 *  - warp functions with an explicit mask, from the same source line in all
 *    lanes of the mask, of values of at most 8 bytes; data that lanes pass
 *    through memory needs __syncwarp();
 *  - __syncthreads() where all threads of a block come by, one a source line;
 *  - no lambdas, textures, cooperative groups, dynamic parallelism,
 *    __constant__ or __device__ variables, printf or asm; a struct parameter
 *    that is indexed dynamically is copied to shared memory first;
 *  - vector loads by pp_load4, pp_load8 and pp_load16 from aligned addresses.
 */
#ifndef PP_DEVICE_H
#define PP_DEVICE_H

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__

#include <cuda/atomic>

#define PP_SHARED(T, name) \
	__shared__ __align__(16) unsigned char name##_bytes[sizeof(T)]; \
	T &name = *reinterpret_cast<T *>(name##_bytes)
#define PP_DYNAMIC_SHARED(name)	extern __shared__ __align__(16) unsigned char name[]
#define PP_LAUNCH(kernel, grid, block, bytes, stream, ...) \
	kernel<<<(grid), (block), (bytes), (stream)>>>(__VA_ARGS__)

template <class T>
__device__ __forceinline__ T
pp_load_acquire(T *p)
{
	return cuda::atomic_ref<T, cuda::thread_scope_device>(*p).load(cuda::memory_order_acquire);
}

template <class T>
__device__ __forceinline__ void
pp_store_release(T *p, T v)
{
	cuda::atomic_ref<T, cuda::thread_scope_device>(*p).store(v, cuda::memory_order_release);
}

template <class T>
__device__ __forceinline__ void
pp_store_relaxed(T *p, T v)
{
	cuda::atomic_ref<T, cuda::thread_scope_device>(*p).store(v, cuda::memory_order_relaxed);
}

template <class T>
__device__ __forceinline__ T
pp_add_acq_rel(T *p, T v)
{
	return cuda::atomic_ref<T, cuda::thread_scope_device>(*p).fetch_add(v, cuda::memory_order_acq_rel);
}

__device__ __forceinline__ void
pp_pause(void)
{
	__nanosleep(20);
}

__device__ __forceinline__ uint32_t
pp_load4(const void *p)
{
	return *static_cast<const uint32_t *>(p);
}

__device__ __forceinline__ uint2
pp_load8(const void *p)
{
	return *static_cast<const uint2 *>(p);
}

__device__ __forceinline__ uint4
pp_load16(const void *p)
{
	return *static_cast<const uint4 *>(p);
}

/* Work that has not begun may be dropped; nothing of the stream runs afterwards. */
static inline cudaError_t
pp_stream_abandon(cudaStream_t stream)
{
	return cudaStreamSynchronize(stream);
}

#else
#include "simt.h"
#endif

/* Bits [at, at + n) of v, and v with them replaced; 0 < n, at + n <= 32. */
__device__ __forceinline__ uint32_t
pp_bfe(uint32_t v, uint32_t at, uint32_t n)
{
	return (v >> at) & (0xffffffffu >> (32 - n));
}

__device__ __forceinline__ uint32_t
pp_bfi(uint32_t v, uint32_t bits, uint32_t at, uint32_t n)
{
	uint32_t	mask = (0xffffffffu >> (32 - n)) << at;

	return (v & ~mask) | ((bits << at) & mask);
}

/* What the last launch came to. */
static inline cudaError_t
pp_launch_error(void)
{
	return cudaGetLastError();
}

#endif							/* PP_DEVICE_H */
