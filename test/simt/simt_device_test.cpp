/*
 * test/simt/simt_device_test.cpp
 *	  What kernels can rely on in the host SIMT layer: indices, barriers, warp
 *	  operations, shared memory, atomic functions, integer functions, and the
 *	  schedule.
 *
 * Expected values are computed from the definitions, lane by lane.
 */
#include "../../cuda/device.h"

#include <cstring>
#include <vector>

#include "control.h"
#include "unit.h"

#define FULL 0xffffffffu

static cudaStream_t stream;

/* Device memory with a copy on the host. */
template <class T>
struct Buffer
{
	std::vector<T> host;
	T		   *device;

	explicit Buffer(size_t n) : host(n), device(nullptr)
	{
		EXPECT(cudaMalloc(&device, n * sizeof(T)) == cudaSuccess, "allocation");
		EXPECT(cudaMemsetAsync(device, 0, n * sizeof(T), stream) == cudaSuccess, "fill");
	}
	~Buffer()
	{
		(void) cudaFree(device);
	}
	Buffer(const Buffer &) = delete;
	Buffer &operator=(const Buffer &) = delete;

	void put()
	{
		EXPECT(cudaMemcpyAsync(device, host.data(), host.size() * sizeof(T),
							   cudaMemcpyHostToDevice, stream) == cudaSuccess, "copy");
	}
	void get()
	{
		EXPECT(cudaMemcpyAsync(host.data(), device, host.size() * sizeof(T),
							   cudaMemcpyDeviceToHost, stream) == cudaSuccess, "copy");
		EXPECT(cudaStreamSynchronize(stream) == cudaSuccess, "%s", simt_last_report());
	}
};

static void
use_seed(uint32_t seed, uint32_t resident = 4)
{
	SimtConfig	config = {};

	config.seed = seed;
	config.resident = resident;
	config.preempt = seed == 0 ? 0 : 16384;
	simt_configure(&config);
}

/*
 * Indices
 */
__global__ void
write_indices(uint32_t *out)
{
	uint32_t	block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	uint32_t	thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;

	out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block << 16 | thread;
}

static void
test_indices()
{
	unit_case("indices of threads and blocks in three dimensions");
	const uint32_t threads = 5 * 3 * 4;
	const uint32_t blocks = 3 * 2 * 7;
	Buffer<uint32_t> out(threads * blocks);

	PP_LAUNCH(write_indices, dim3(3, 2, 7), dim3(5, 3, 4), 0, stream, out.device);
	EXPECT(pp_launch_error() == cudaSuccess, "launch");
	out.get();
	for (uint32_t i = 0; i < threads * blocks; i++)
		EXPECT(out.host[i] == ((i / threads) << 16 | i % threads), "element %u is %08x", i,
			   out.host[i]);
}

/*
 * Warp operations.  Every lane does one of each and writes what it got.
 */
enum
{
	OP_IDX, OP_UP, OP_DOWN, OP_XOR, OP_BALLOT, OP_ANY, OP_ALL, OP_MATCH, OP_WIDE, OPS
};

__global__ void
warp_operations(const uint32_t *in, const uint32_t *masks, int by, int width, uint64_t *out)
{
	uint32_t	t = threadIdx.x;
	uint32_t	v = in[t];
	uint32_t	mask = masks[t];
	uint64_t   *o = out + t * OPS;

	if (mask == 0)
		return;
	o[OP_IDX] = __shfl_sync(mask, v, by, width);
	o[OP_UP] = __shfl_up_sync(mask, v, (unsigned) by, width);
	o[OP_DOWN] = __shfl_down_sync(mask, v, (unsigned) by, width);
	o[OP_XOR] = __shfl_xor_sync(mask, v, by, width);
	o[OP_BALLOT] = __ballot_sync(mask, v & 1);
	o[OP_ANY] = (uint64_t) __any_sync(mask, v % 3 == 0);
	o[OP_ALL] = (uint64_t) __all_sync(mask, v % 3 == 0);
	o[OP_MATCH] = __match_any_sync(mask, v % 4);
	o[OP_WIDE] = __shfl_sync(mask, (unsigned long long) v << 32 | ~v, by, width);
}

static void
expect_lane(const std::vector<uint32_t> &in, const std::vector<uint64_t> &out, uint32_t t,
			uint32_t mask, int by, int width)
{
	const uint32_t first_of_warp = t & ~31u;
	const int	lane = (int) (t & 31);
	const int	first = lane / width * width;
	const int	source[4] = {first + (by & (width - 1)), lane - by, lane + by, lane ^ by};
	const bool	inside[4] = {true, source[1] >= first, source[2] < first + width,
		source[3] < first + width};
	uint32_t	ballot = 0;
	uint32_t	match = 0;
	bool		any = false;
	bool		all = true;

	for (int i = 0; i < 32; i++)
	{
		uint32_t	v;

		if ((mask >> i & 1) == 0)
			continue;
		v = in[first_of_warp + (uint32_t) i];
		ballot |= (v & 1) << i;
		any = any || v % 3 == 0;
		all = all && v % 3 == 0;
		match |= (uint32_t) (v % 4 == in[t] % 4) << i;
	}
	for (int k = 0; k < 4; k++)
	{
		int			from = inside[k] ? source[k] : lane;

		/* of lanes outside the mask nothing is defined */
		if ((mask >> from & 1) == 0)
			continue;
		EXPECT(out[t * OPS + (uint32_t) k] == in[first_of_warp + (uint32_t) from],
			   "thread %u mask %08x by %d width %d: shuffle %d gives %llx", t, mask, by, width, k,
			   (unsigned long long) out[t * OPS + (uint32_t) k]);
		if (k == 0)
		{
			uint32_t	v = in[first_of_warp + (uint32_t) from];

			EXPECT(out[t * OPS + OP_WIDE] == ((uint64_t) v << 32 | ~v), "8 byte shuffle");
		}
	}
	EXPECT(out[t * OPS + OP_BALLOT] == ballot, "thread %u: ballot", t);
	EXPECT(out[t * OPS + OP_ANY] == (uint64_t) any, "thread %u: any", t);
	EXPECT(out[t * OPS + OP_ALL] == (uint64_t) all, "thread %u: all", t);
	EXPECT(out[t * OPS + OP_MATCH] == match, "thread %u: match", t);
}

static void
test_warp_operations()
{
	const uint64_t n = unit_iterations(60);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(1, i);
		const uint32_t threads = unit_once_in(&r, 3) ? 40 : 96;
		const int	width = 1 << unit_below(&r, 6);
		const int	by = (int) unit_below(&r, 33);
		const uint32_t kind = unit_below(&r, 3);

		unit_case("warp operations %u: %u threads, by %d, width %d, masks of kind %u",
				  (unsigned) i, threads, by, width, kind);
		use_seed((uint32_t) i);
		Buffer<uint32_t> in(threads);
		Buffer<uint32_t> masks(threads);
		Buffer<uint64_t> out(threads * OPS);

		for (uint32_t t = 0; t < threads; t++)
		{
			uint32_t	lanes = threads - (t & ~31u) < 32 ? (1u << (threads - (t & ~31u))) - 1 : FULL;

			in.host[t] = (uint32_t) unit_next(&r) % 50;
			/* all; two interleaved halves; some lanes exit, the rest is the mask */
			masks.host[t] = kind == 0 ? FULL : kind == 1 ? (t & 1 ? 0xaaaaaaaau : 0x55555555u) & lanes
				: t % 7 == 3 ? 0 : FULL;
		}
		in.put();
		masks.put();
		PP_LAUNCH(warp_operations, 1, threads, 0, stream, in.device, masks.device, by, width,
				  out.device);
		out.get();
		for (uint32_t t = 0; t < threads; t++)
		{
			uint32_t	lanes = threads - (t & ~31u) < 32 ? (1u << (threads - (t & ~31u))) - 1 : FULL;
			uint32_t	mask = masks.host[t] & lanes;

			if (kind == 2)
				for (uint32_t k = 0; k < 32; k++)
					if ((t & ~31u) + k < threads && masks.host[(t & ~31u) + k] == 0)
						mask &= ~(1u << k);
			if (masks.host[t] != 0)
				expect_lane(in.host, out.host, t, mask, by, width);
		}
	}
	use_seed(0);
}

/*
 * Barriers
 */
struct BarrierShared
{
	uint32_t	value[256];
	uint32_t	rounds;
};

__global__ void
rotate(uint32_t rounds, uint32_t *out, uint32_t *counts)
{
	PP_SHARED(BarrierShared, s);
	uint32_t	t = threadIdx.x;
	uint32_t	v = t;

	for (uint32_t i = 0; i < rounds; i++)
	{
		s.value[t] = v;
		__syncthreads();
		v = s.value[(t + 1) % blockDim.x];
		__syncthreads();
	}
	out[blockIdx.x * blockDim.x + t] = v;
	uint32_t	count = (uint32_t) __syncthreads_count(t % 3 == 0);
	bool		all = __syncthreads_and(t < blockDim.x) != 0;
	bool		not_all = __syncthreads_and(t != 7) == 0;
	bool		any = __syncthreads_or(t == 9) != 0;
	bool		none = __syncthreads_or(0) == 0;

	if (all && not_all && any && none)
		atomicAdd(&counts[blockIdx.x], count);
}

static void
test_barriers()
{
	for (uint32_t seed = 0; seed < 6; seed++)
	{
		unit_case("barriers, seed %u", seed);
		use_seed(seed);
		Buffer<uint32_t> out(9 * 100);
		Buffer<uint32_t> counts(9);

		PP_LAUNCH(rotate, 9, 100, 0, stream, 13, out.device, counts.device);
		out.get();
		counts.get();
		for (uint32_t i = 0; i < 900; i++)
			EXPECT(out.host[i] == (i % 100 + 13) % 100, "element %u is %u", i, out.host[i]);
		for (uint32_t i = 0; i < 9; i++)
			EXPECT(counts.host[i] == 34 * 100, "block %u: %u", i, counts.host[i]);
	}
	use_seed(0);
}

__global__ void
leave_early(uint32_t *out)
{
	PP_SHARED(BarrierShared, s);
	uint32_t	t = threadIdx.x;

	if (t >= 50)
		return;
	s.value[t] = t;
	__syncthreads();
	out[t] = s.value[49 - t];
}

static void
test_early_exit()
{
	unit_case("threads that exited are not waited for");
	Buffer<uint32_t> out(50);

	PP_LAUNCH(leave_early, 1, 64, 0, stream, out.device);
	out.get();
	for (uint32_t i = 0; i < 50; i++)
		EXPECT(out.host[i] == 49 - i, "element %u is %u", i, out.host[i]);
}

/*
 * Shared memory
 */
struct Garbage
{
	uint8_t		bytes[333];
};

__global__ void
show_garbage(uint8_t *statics, uint8_t *dynamics, uint32_t dynamic_bytes)
{
	PP_SHARED(Garbage, s);
	PP_DYNAMIC_SHARED(d);

	if (threadIdx.x == 0)
	{
		for (uint32_t i = 0; i < sizeof(s.bytes); i++)
			statics[blockIdx.x * sizeof(s.bytes) + i] = s.bytes[i];
		for (uint32_t i = 0; i < dynamic_bytes; i++)
			dynamics[blockIdx.x * dynamic_bytes + i] = d[i];
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < sizeof(s.bytes); i += blockDim.x)
		s.bytes[i] = (uint8_t) threadIdx.x;
	for (uint32_t i = threadIdx.x; i < dynamic_bytes; i += blockDim.x)
		d[i] = (uint8_t) threadIdx.x;
}

static void
test_shared()
{
	unit_case("shared memory is garbage for every block");
	use_seed(0, 2);
	Buffer<uint8_t> statics(20 * sizeof(Garbage));
	Buffer<uint8_t> dynamics(20 * 100);

	PP_LAUNCH(show_garbage, 20, 32, 100, stream, statics.device, dynamics.device, 100);
	statics.get();
	dynamics.get();
	for (size_t i = 0; i < statics.host.size(); i++)
		EXPECT(statics.host[i] == 0xa5, "static byte %zu is %02x", i, statics.host[i]);
	for (size_t i = 0; i < dynamics.host.size(); i++)
		EXPECT(dynamics.host[i] == 0xa5, "dynamic byte %zu is %02x", i, dynamics.host[i]);

	unit_case("dynamic shared memory: what a kernel may have");
	simt_report_to_stderr(false);
	PP_LAUNCH(show_garbage, 1, 32, 60000, stream, statics.device, dynamics.device, 0);
	EXPECT(pp_launch_error() == cudaErrorInvalidValue, "more than 48 KiB without leave");
	EXPECT(strstr(simt_last_report(), "show_garbage") != nullptr, "%s", simt_last_report());
	simt_report_to_stderr(true);
	EXPECT(cudaFuncSetAttribute(show_garbage, cudaFuncAttributeMaxDynamicSharedMemorySize,
								60000) == cudaSuccess, "attribute");
	PP_LAUNCH(show_garbage, 1, 32, 60000, stream, statics.device, dynamics.device, 0);
	EXPECT(pp_launch_error() == cudaSuccess, "with leave");
	EXPECT(cudaStreamSynchronize(stream) == cudaSuccess, "%s", simt_last_report());
	use_seed(0);

	unit_case("dynamic shared memory: what a device has");
	for (uint32_t k = 0; k < 2; k++)
	{
		const int	most = k == 0 ? 65536 : 227 * 1024;
		cudaDeviceProp p;

		simt_set_shared(k == 0 ? 65536 : 0);
		EXPECT(cudaGetDeviceProperties(&p, 0) == cudaSuccess && p.sharedMemPerBlockOptin == (size_t) most &&
			   p.sharedMemPerMultiprocessor == (k == 0 ? 65536 : 228 * 1024), "%zu bytes of a block",
			   p.sharedMemPerBlockOptin);
		EXPECT(cudaFuncSetAttribute(show_garbage, cudaFuncAttributeMaxDynamicSharedMemorySize,
									most) == cudaSuccess, "all there is");
		EXPECT(cudaFuncSetAttribute(show_garbage, cudaFuncAttributeMaxDynamicSharedMemorySize,
									most + 1) != cudaSuccess, "more than there is");
		(void) cudaGetLastError();
	}
}

/*
 * Atomic functions
 */
template <class T>
__global__ void
atomics(T *a)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd(&a[0], (T) i);
	atomicMax(&a[1], (T) i);
	atomicMin(&a[2], (T) i);
	atomicOr(&a[3], (T) 1 << i % 20);
	atomicAnd(&a[4], ~((T) 1 << i % 20));
	atomicXor(&a[5], (T) i);
	if (atomicExch(&a[6], (T) 1) == 0)
		atomicAdd(&a[7], (T) 1);
	for (;;)
	{
		T			old = atomicCAS(&a[8], (T) 0, (T) 0);

		if (atomicCAS(&a[8], old, old + 2) == old)
			break;
		pp_pause();
	}
	pp_add_acq_rel(&a[9], (T) 3);
}

template <class T>
static void
test_atomics(const char *name, uint32_t seed)
{
	const T		n = 6 * 64;
	T			x = 0;

	unit_case("atomic functions of %s, seed %u", name, seed);
	use_seed(seed);
	Buffer<T>	a(10);

	a.host[2] = 1000000;
	a.host[4] = (T) 0xfffffff;
	a.put();
	PP_LAUNCH(atomics<T>, 6, 64, 0, stream, a.device);
	a.get();
	for (T i = 0; i < n; i++)
		x ^= i;
	EXPECT(a.host[0] == n * (n - 1) / 2, "add");
	EXPECT(a.host[1] == n - 1, "max");
	EXPECT(a.host[2] == 0, "min");
	EXPECT(a.host[3] == 0xfffff, "or");
	EXPECT(a.host[4] == (T) 0xff00000, "and");
	EXPECT(a.host[5] == x, "xor");
	EXPECT(a.host[7] == 1, "exchange");
	EXPECT(a.host[8] == 2 * n, "compare and swap");
	EXPECT(a.host[9] == 3 * n, "add, acquire and release");
	use_seed(0);
}

/*
 * Integer functions, against their definitions
 */
static void
test_integers()
{
	const uint64_t n = unit_iterations(2000);

	unit_case("integer functions");
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(2, i);
		uint32_t	a = (uint32_t) unit_next(&r) >> unit_below(&r, 32);
		uint32_t	b = (uint32_t) unit_next(&r);
		uint32_t	s = unit_below(&r, 70);
		uint32_t	ones = 0;
		uint32_t	reversed = 0;
		uint32_t	perm = 0;
		uint32_t	equal = 0;
		uint8_t		bytes[8];
		int			leading = 32;
		int			first = 0;

		memcpy(bytes, &a, 4);
		memcpy(bytes + 4, &b, 4);
		for (int k = 31; k >= 0; k--)
		{
			uint32_t	bit = a >> k & 1;

			ones += bit;
			reversed |= bit << (31 - k);
			if (bit != 0)
			{
				first = k + 1;
				if (leading == 32)
					leading = 31 - k;
			}
		}
		for (uint32_t k = 0; k < 4; k++)
		{
			/* the highest bit of a selector's nibble means nothing */
			uint8_t		v = bytes[s * 0x1357u >> (4 * k) & 7];

			perm |= (uint32_t) v << (8 * k);
			equal |= bytes[k] == bytes[4 + k] ? 255u << (8 * k) : 0;
		}
		EXPECT(__popc(a) == (int) ones, "popc %x", a);
		EXPECT(__brev(a) == reversed, "brev %x", a);
		EXPECT(__clz((int) a) == leading, "clz %x", a);
		EXPECT(__ffs((int) a) == first, "ffs %x", a);
		EXPECT(__byte_perm(a, b, s * 0x1357u) == perm, "byte_perm");
		EXPECT(__vcmpeq4(a, b) == equal, "vcmpeq4");
		EXPECT(__funnelshift_r(a, b, s) == (s % 32 == 0 ? a : a >> s % 32 | b << (32 - s % 32)),
			   "funnelshift_r");
		EXPECT(__funnelshift_l(a, b, s) == (s % 32 == 0 ? b : b << s % 32 | a >> (32 - s % 32)),
			   "funnelshift_l");
		EXPECT(__funnelshift_rc(a, b, s) == (s >= 32 ? b : __funnelshift_r(a, b, s)),
			   "funnelshift_rc");
		EXPECT(__funnelshift_lc(a, b, s) == (s >= 32 ? a : __funnelshift_l(a, b, s)),
			   "funnelshift_lc");
		EXPECT(__umulhi(a, b) == (uint32_t) ((uint64_t) a * b >> 32), "umulhi");
		EXPECT(pp_bfi(a, pp_bfe(a, s % 20, 12), s % 20, 12) == a, "bfe and bfi");
		EXPECT(min(-1, 2) == -1 && max(-1, 2u) == 0xffffffffu, "min and max");
	}
}

/*
 * The schedule
 */
__global__ void
note_order(uint32_t *counter, uint32_t *order)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	__syncthreads();
	order[i] = atomicAdd(counter, 1u);
}

static std::vector<uint32_t>
order_under(uint32_t seed)
{
	use_seed(seed);
	Buffer<uint32_t> counter(1);
	Buffer<uint32_t> order(8 * 64);

	PP_LAUNCH(note_order, 8, 64, 0, stream, counter.device, order.device);
	order.get();
	use_seed(0);
	return order.host;
}

static void
test_schedule()
{
	unit_case("a seed gives an order that can be repeated, and another one another");
	EXPECT(order_under(0) == order_under(0), "orderly");
	EXPECT(order_under(7) == order_under(7), "seed 7");
	EXPECT(order_under(7) != order_under(8), "seeds 7 and 8");
	EXPECT(order_under(7) != order_under(0), "seed 7 and orderly");
}

__global__ void
count_alive(uint32_t *alive, uint32_t *most)
{
	if (threadIdx.x == 0)
	{
		uint32_t	n = atomicAdd(alive, 1u) + 1;

		atomicMax(most, n);
	}
	for (int i = 0; i < 50; i++)
	{
		pp_pause();
		__syncthreads();
	}
	if (threadIdx.x == 0)
		atomicSub(alive, 1u);
}

static void
test_resident()
{
	for (uint32_t resident = 1; resident <= 6; resident += 5)
	{
		unit_case("%u resident blocks", resident);
		use_seed(5, resident);
		Buffer<uint32_t> most(2);

		PP_LAUNCH(count_alive, 30, 32, 0, stream, most.device, most.device + 1);
		most.get();
		EXPECT(most.host[1] == resident, "%u", most.host[1]);
		EXPECT(most.host[0] == 0, "all blocks ended");
	}
	use_seed(0);
}

/* Each block waits for the one before, in the order of a counter. */
__global__ void
chain(uint32_t *counter, uint32_t *value, uint32_t *flag)
{
	if (threadIdx.x == 0)
	{
		uint32_t	tile = atomicAdd(counter, 1u);
		uint32_t	before = 0;

		if (tile > 0)
		{
			while (pp_load_acquire(&flag[tile - 1]) == 0)
				pp_pause();
			before = value[tile - 1];
		}
		value[tile] = before + tile;
		pp_store_release(&flag[tile], 1u);
	}
}

static void
test_chain()
{
	for (uint32_t seed = 0; seed < 4; seed++)
	{
		unit_case("blocks that wait for blocks, seed %u", seed);
		use_seed(seed, 8);
		Buffer<uint32_t> counter(1);
		Buffer<uint32_t> value(500);
		Buffer<uint32_t> flag(500);

		PP_LAUNCH(chain, 500, 64, 0, stream, counter.device, value.device, flag.device);
		value.get();
		EXPECT(value.host[499] == 499 * 500 / 2, "%u", value.host[499]);
	}
	use_seed(0);
}

__global__ void
load_all(const uint8_t *p, uint32_t *out)
{
	uint2		two = pp_load8(p + 8);
	uint4		four = pp_load16(p + 16);

	out[0] = pp_load4(p + 4);
	out[1] = two.x;
	out[2] = two.y;
	out[3] = four.x;
	out[4] = four.w;
}

static void
test_loads()
{
	unit_case("vector loads");
	Buffer<uint32_t> in(8);
	Buffer<uint32_t> out(5);

	for (uint32_t i = 0; i < 8; i++)
		in.host[i] = i * 0x01010101u;
	in.put();
	PP_LAUNCH(load_all, 1, 1, 0, stream, reinterpret_cast<const uint8_t *>(in.device), out.device);
	out.get();
	EXPECT(out.host[0] == 0x01010101u && out.host[1] == 0x02020202u &&
		   out.host[2] == 0x03030303u && out.host[3] == 0x04040404u &&
		   out.host[4] == 0x07070707u, "wrong words");
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "simt_device_test");
	unit_case("a stream");
	EXPECT(cudaStreamCreate(&stream) == cudaSuccess, "no stream");
	test_indices();
	test_warp_operations();
	test_barriers();
	test_early_exit();
	test_shared();
	for (uint32_t seed = 0; seed < 3; seed++)
	{
		test_atomics<int>("int", seed);
		test_atomics<unsigned int>("unsigned int", seed);
		test_atomics<unsigned long long>("unsigned long long", seed);
	}
	test_integers();
	test_schedule();
	test_resident();
	test_chain();
	test_loads();
	unit_case("nothing is left");
	EXPECT(cudaStreamDestroy(stream) == cudaSuccess, "stream");
	simt_clear_reports();
	EXPECT(cudaDeviceReset() == cudaSuccess, "reset");
	EXPECT(simt_reports() == 0, "%s", simt_last_report());
	return unit_end();
}
