/*
 * test/simt/simt.h
 *	  The dialect of cuda/device.h for a C++ compiler of the host: the names of
 *	  CUDA that kernels may use, on top of the SIMT runtime.
 *
 * Overloads are those of CUDA, no more, so that what compiles here compiles
 * under nvcc.  Kernels stay unchanged; macros take the place of functions
 * where the line of the call must be known.  Included by cuda/device.h only.
 */
#ifndef SIMT_H
#define SIMT_H

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <cstring>
#include <tuple>
#include <type_traits>

#include "runtime.h"

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#undef __noinline__
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict

#define threadIdx	(simt::current->thread)
#define blockIdx	(simt::current->block)
#define blockDim	(simt::dims.block)
#define gridDim		(simt::dims.grid)
static constexpr int warpSize = 32;

#define SIMT_TEXT1(x)	#x
#define SIMT_TEXT(x)	SIMT_TEXT1(x)
#define SIMT_HERE		(__FILE__ ":" SIMT_TEXT(__LINE__))

#define PP_SHARED(T, name) \
	static_assert(std::is_trivial<T>::value, "shared memory has trivial members only"); \
	T &name = *reinterpret_cast<T *>(simt::static_shared(sizeof(T), SIMT_HERE))
#define PP_DYNAMIC_SHARED(name) \
	unsigned char *const name = simt::dynamic_shared()
#define PP_LAUNCH(kernel, grid, block, bytes, stream, ...) \
	simt::prepare(#kernel, kernel, dim3(grid), dim3(block), (bytes), (stream))(__VA_ARGS__)

/*
 * Barriers and warp functions
 */
#define __syncthreads()			((void) simt::barrier(simt::Reduce::none, 0, SIMT_HERE))
#define __syncthreads_count(p)	simt::barrier(simt::Reduce::count, (p) != 0, SIMT_HERE)
#define __syncthreads_and(p)	simt::barrier(simt::Reduce::all, (p) != 0, SIMT_HERE)
#define __syncthreads_or(p)		simt::barrier(simt::Reduce::any, (p) != 0, SIMT_HERE)

#define __syncwarp(...) \
	((void) simt::warp(simt::Warp::sync, simt::mask_or_full(__VA_ARGS__), 0, 0, SIMT_HERE))
#define __ballot_sync(mask, p) \
	((unsigned) simt::warp(simt::Warp::ballot, (mask), (p) != 0, 0, SIMT_HERE))
#define __any_sync(mask, p) \
	((int) (simt::warp(simt::Warp::ballot, (mask), (p) != 0, 0, SIMT_HERE) != 0))
#define __all_sync(mask, p) \
	((int) simt::warp(simt::Warp::all, (mask), (p) != 0, 0, SIMT_HERE))
#define __match_any_sync(mask, v) \
	((unsigned) simt::warp(simt::Warp::match, (mask), simt::to_bits(v), 0, SIMT_HERE))

#define __shfl_sync(mask, v, ...) \
	simt::shuffle(SIMT_HERE, simt::Shuffle::index, (mask), (v), __VA_ARGS__)
#define __shfl_up_sync(mask, v, ...) \
	simt::shuffle(SIMT_HERE, simt::Shuffle::up, (mask), (v), __VA_ARGS__)
#define __shfl_down_sync(mask, v, ...) \
	simt::shuffle(SIMT_HERE, simt::Shuffle::down, (mask), (v), __VA_ARGS__)
#define __shfl_xor_sync(mask, v, ...) \
	simt::shuffle(SIMT_HERE, simt::Shuffle::bfly, (mask), (v), __VA_ARGS__)

namespace simt
{

static inline unsigned
mask_or_full(unsigned mask = 0xffffffffu)
{
	return mask;
}

template <class T>
static inline uint64_t
to_bits(T v)
{
	static_assert(std::is_arithmetic<T>::value, "warp functions take numbers");
	uint64_t	bits = 0;

	memcpy(&bits, &v, sizeof(v));
	return bits;
}

template <class T>
static inline T
shuffle(const char *where, Shuffle kind, unsigned mask, T v, int lane, int width = 32)
{
	uint64_t	bits = warp(Warp::shuffle, mask, to_bits(v), shuffle_arg(kind, lane, width), where);
	T			r;

	memcpy(&r, &bits, sizeof(r));
	return r;
}

/* A kernel that waits for its arguments, which convert as in any call. */
template <class... P>
struct Prepared
{
	typedef void (*Kernel) (P...);
	typedef std::tuple<Kernel, P...> Call;

	Launch		launch;
	Kernel		kernel;
	cudaStream_t stream;

	void operator() (P... args)
	{
		launch.args = new Call(kernel, args...);
		(void) enqueue(launch, stream);
	}
	static void run(void *args)
	{
		std::apply([](Kernel k, P... p) { k(p...); }, *static_cast<Call *>(args));
	}
	static void release(void *args)
	{
		delete static_cast<Call *>(args);
	}
};

template <class... P>
static inline Prepared<P...>
prepare(const char *name, void (*kernel) (P...), dim3 grid, dim3 block, size_t bytes,
		cudaStream_t stream)
{
	return {{name, reinterpret_cast<const void *>(kernel), grid, block, bytes, 0,
			 Prepared<P...>::run, Prepared<P...>::release, nullptr},
			kernel, stream};
}

}								/* namespace simt */

/*
 * Memory between blocks
 */
template <class T>
static inline T
pp_load_acquire(T *p)
{
	simt::before_load();
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

template <class T>
static inline void
pp_store_release(T *p, T v)
{
	simt::before_store();
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

template <class T>
static inline void
pp_store_relaxed(T *p, T v)
{
	simt::before_store();
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

template <class T>
static inline T
pp_add_acq_rel(T *p, T v)
{
	simt::before_store();
	return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);
}

static inline void
pp_pause(void)
{
	simt::pause();
}

/*
 * Atomic functions, of the types that CUDA has them for on every device
 */
#define SIMT_ATOMIC(name, T, builtin) \
	static inline T name(T *p, T v) \
	{ \
		simt::before_store(); \
		return builtin(p, v, __ATOMIC_RELAXED); \
	}
#define SIMT_ATOMIC_CHOOSE(name, T, better) \
	static inline T name(T *p, T v) \
	{ \
		simt::before_store(); \
		T	old = __atomic_load_n(p, __ATOMIC_RELAXED); \
		while (v better old && \
			   !__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) \
			continue; \
		return old; \
	}
#define SIMT_ATOMIC_CAS(T) \
	static inline T atomicCAS(T *p, T expected, T v) \
	{ \
		simt::before_load(); \
		__atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
		return expected; \
	}
#define SIMT_ATOMICS(T) \
	SIMT_ATOMIC(atomicAdd, T, __atomic_fetch_add) \
	SIMT_ATOMIC(atomicAnd, T, __atomic_fetch_and) \
	SIMT_ATOMIC(atomicOr, T, __atomic_fetch_or) \
	SIMT_ATOMIC(atomicXor, T, __atomic_fetch_xor) \
	SIMT_ATOMIC(atomicExch, T, __atomic_exchange_n) \
	SIMT_ATOMIC_CHOOSE(atomicMin, T, <) \
	SIMT_ATOMIC_CHOOSE(atomicMax, T, >) \
	SIMT_ATOMIC_CAS(T)

SIMT_ATOMICS(int)
SIMT_ATOMICS(unsigned int)
SIMT_ATOMICS(unsigned long long)
SIMT_ATOMIC_CHOOSE(atomicMin, long long, <)
SIMT_ATOMIC_CHOOSE(atomicMax, long long, >)
SIMT_ATOMIC(atomicSub, int, __atomic_fetch_sub)
SIMT_ATOMIC(atomicSub, unsigned int, __atomic_fetch_sub)

/*
 * Loads of several bytes from aligned addresses
 */
namespace simt
{

template <class T>
static inline T
load_aligned(const void *p)
{
	T			v;

	if (reinterpret_cast<uintptr_t>(p) % sizeof(T) != 0)
		misaligned(p, sizeof(T));
	memcpy(&v, p, sizeof(T));
	return v;
}

}								/* namespace simt */

static inline uint32_t
pp_load4(const void *p)
{
	return simt::load_aligned<uint32_t>(p);
}

static inline uint2
pp_load8(const void *p)
{
	return simt::load_aligned<uint2>(p);
}

static inline uint4
pp_load16(const void *p)
{
	return simt::load_aligned<uint4>(p);
}

template <class T>
static inline T
__ldg(const T *p)
{
	return *p;
}

/*
 * Integer functions
 */
static inline int
__popc(unsigned int x)
{
	return __builtin_popcount(x);
}

static inline int
__popcll(unsigned long long x)
{
	return __builtin_popcountll(x);
}

static inline int
__ffs(int x)
{
	return __builtin_ffs(x);
}

static inline int
__ffsll(long long x)
{
	return __builtin_ffsll(x);
}

static inline int
__clz(int x)
{
	return x == 0 ? 32 : __builtin_clz((unsigned int) x);
}

static inline int
__clzll(long long x)
{
	return x == 0 ? 64 : __builtin_clzll((unsigned long long) x);
}

static inline unsigned long long
__brevll(unsigned long long x)
{
	unsigned long long r = 0;

	for (int i = 0; i < 64; i++)
		r |= ((x >> i) & 1) << (63 - i);
	return r;
}

static inline unsigned int
__brev(unsigned int x)
{
	return (unsigned int) (__brevll(x) >> 32);
}

static inline unsigned int
__funnelshift_r(unsigned int lo, unsigned int hi, unsigned int shift)
{
	return (unsigned int) (((uint64_t) hi << 32 | lo) >> (shift & 31));
}

static inline unsigned int
__funnelshift_l(unsigned int lo, unsigned int hi, unsigned int shift)
{
	return (unsigned int) ((((uint64_t) hi << 32 | lo) << (shift & 31)) >> 32);
}

static inline unsigned int
__funnelshift_rc(unsigned int lo, unsigned int hi, unsigned int shift)
{
	return (unsigned int) (((uint64_t) hi << 32 | lo) >> (shift < 32 ? shift : 32));
}

static inline unsigned int
__funnelshift_lc(unsigned int lo, unsigned int hi, unsigned int shift)
{
	return (unsigned int) ((((uint64_t) hi << 32 | lo) << (shift < 32 ? shift : 32)) >> 32);
}

/* As CUDA's, which takes no notice of bit 3 of selector nibbles (prmt would
 * replicate the byte's sign). */
static inline unsigned int
__byte_perm(unsigned int a, unsigned int b, unsigned int selector)
{
	uint64_t	bytes = (uint64_t) b << 32 | a;
	unsigned int r = 0;

	for (int i = 0; i < 4; i++)
	{
		unsigned int s = selector >> (4 * i) & 7;

		r |= ((unsigned int) (bytes >> (8 * s)) & 255) << (8 * i);
	}
	return r;
}

static inline unsigned int
__umulhi(unsigned int a, unsigned int b)
{
	return (unsigned int) ((uint64_t) a * b >> 32);
}

static inline unsigned long long
__umul64hi(unsigned long long a, unsigned long long b)
{
	return (unsigned long long) ((unsigned __int128) a * b >> 64);
}

/* For each byte of two words: 0xff where the relation holds, else 0. */
#define SIMT_BYTES(name, expr) \
	static inline unsigned int name(unsigned int x, unsigned int y) \
	{ \
		unsigned int r = 0; \
		for (int i = 0; i < 32; i += 8) \
		{ \
			unsigned int a = x >> i & 255, b = y >> i & 255; \
			r |= ((unsigned int) (expr) & 255) << i; \
		} \
		return r; \
	}

SIMT_BYTES(__vcmpeq4, a == b ? 255 : 0)
SIMT_BYTES(__vcmpne4, a != b ? 255 : 0)
SIMT_BYTES(__vcmpltu4, a < b ? 255 : 0)
SIMT_BYTES(__vcmpleu4, a <= b ? 255 : 0)
SIMT_BYTES(__vcmpgtu4, a > b ? 255 : 0)
SIMT_BYTES(__vcmpgeu4, a >= b ? 255 : 0)
SIMT_BYTES(__vadd4, a + b)
SIMT_BYTES(__vsub4, a - b)

/* min() and max() of CUDA: a mixed pair is unsigned. */
#define SIMT_MINMAX(R, A, B) \
	static inline R min(A a, B b) { return (R) a < (R) b ? (R) a : (R) b; } \
	static inline R max(A a, B b) { return (R) a > (R) b ? (R) a : (R) b; }

SIMT_MINMAX(int, int, int)
SIMT_MINMAX(unsigned int, unsigned int, unsigned int)
SIMT_MINMAX(unsigned int, int, unsigned int)
SIMT_MINMAX(unsigned int, unsigned int, int)
SIMT_MINMAX(long, long, long)
SIMT_MINMAX(unsigned long, unsigned long, unsigned long)
SIMT_MINMAX(long long, long long, long long)
SIMT_MINMAX(unsigned long long, unsigned long long, unsigned long long)

#define SIMT_CAST(name, R, A) \
	static inline R name(A a) \
	{ \
		R	r; \
		static_assert(sizeof(r) == sizeof(a), "same bits"); \
		memcpy(&r, &a, sizeof(r)); \
		return r; \
	}

SIMT_CAST(__float_as_int, int, float)
SIMT_CAST(__int_as_float, float, int)
SIMT_CAST(__float_as_uint, unsigned int, float)
SIMT_CAST(__uint_as_float, float, unsigned int)
SIMT_CAST(__double_as_longlong, long long, double)
SIMT_CAST(__longlong_as_double, double, long long)

/* Work that has not begun may be dropped; nothing of the stream runs afterwards. */
static inline cudaError_t
pp_stream_abandon(cudaStream_t stream)
{
	simt::abandon(stream);
	return cudaSuccess;
}

/*
 * Typed forms of the runtime's functions, as nvcc's headers have them
 */
template <class T>
static inline cudaError_t
cudaMalloc(T **p, size_t n)
{
	return cudaMalloc(reinterpret_cast<void **>(p), n);
}

template <class T>
static inline cudaError_t
cudaMallocAsync(T **p, size_t n, cudaStream_t stream)
{
	return cudaMallocAsync(reinterpret_cast<void **>(p), n, stream);
}

template <class T>
static inline cudaError_t
cudaMallocHost(T **p, size_t n, unsigned int flags = 0)
{
	return cudaHostAlloc(reinterpret_cast<void **>(p), n, flags);
}

template <class T>
static inline cudaError_t
cudaHostAlloc(T **p, size_t n, unsigned int flags)
{
	return cudaHostAlloc(reinterpret_cast<void **>(p), n, flags);
}

template <class... P>
static inline cudaError_t
cudaFuncSetAttribute(void (*kernel) (P...), cudaFuncAttribute attribute, int value)
{
	return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}

template <class... P>
static inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*kernel) (P...), int block_size,
											  size_t dynamic_bytes)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks,
														 reinterpret_cast<const void *>(kernel),
														 block_size, dynamic_bytes);
}

#endif							/* SIMT_H */
