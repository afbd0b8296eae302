/*
 * test/simt/planted.cpp
 *	  A small pipeline with one fault compiled into it, or none: what the layer
 *	  must find, and must not.
 *
 * Two streams; the first scans tiles of numbers (single pass, look-back with
 * value and flag in two words, a warp scan through shared memory), the second
 * takes the sums on behind an event.  planted.sh names the faults, builds a
 * program for each (-DFAULT=FAULT_...) and knows in which builds it must be
 * found.  The program runs under one seed and prints what came out: "ok",
 * "wrong", or "reported" with the report's text.
 */
#include "../../cuda/device_wide.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "control.h"

#define FAULT_NONE			0
#define FAULT_BARRIER		1	/* no __syncthreads between write and read */
#define FAULT_SYNCWARP		2	/* no __syncwarp between write and read */
#define FAULT_RELEASE		3	/* flag stored relaxed */
#define FAULT_SHARED_BOUNDS	4	/* element behind the shared struct */
#define FAULT_DEVICE_BOUNDS	5	/* element behind device memory */
#define FAULT_STREAM_ORDER	6	/* second stream does not wait */
#define FAULT_HOST_ORDER	7	/* host does not wait */
#define FAULT_DIVERGENT		8	/* barrier in a branch, another one beside it */
#define FAULT_LEFT_OUT		9	/* a warp waits for a lane that waits elsewhere */
#define FAULT_MASK			10	/* caller not in its mask */
#define FAULT_WARP_OPS		11	/* lanes of a mask at two operations */
#define FAULT_COPY_BOUNDS	12	/* copy longer than the allocation */
#define FAULT_LEAK			13	/* device memory is not freed */
#define FAULT_GARBAGE		14	/* shared memory is taken to be 0 */
#define FAULT_DEVICE_GARBAGE 15	/* device memory is taken to be 0 */
#define FAULT_MISALIGNED	16	/* vector load from an odd address */
#define FAULT_FLAG			17	/* a flag that nobody sets is waited for */
#define FAULT_USE_AFTER_FREE 18	/* kernel behind cudaFree */
#define FAULT_SCRATCH		19	/* scratch memory that is too small */
#define FAULT_DYNAMIC_BOUNDS 20	/* element behind dynamic shared memory */
#define FAULT_PLAIN_COUNTER	21	/* += where an atomic function is needed */

#ifndef FAULT
#define FAULT FAULT_NONE
#endif

#define THREADS	128
#define TILES	16
#define N		(THREADS * TILES)

struct ScanShared
{
	uint32_t	lane[THREADS];
	uint32_t	warp[THREADS / 32];
	uint32_t	tile;
	uint32_t	before;
	uint32_t	end[1];
};

struct Control
{
	uint32_t	tile;
	uint32_t	odd;
	uint32_t	flag[TILES];
	uint32_t	total[TILES];
	uint32_t	inclusive[TILES];
};

__global__ void __launch_bounds__(THREADS)
scan_tiles(const uint32_t *in, uint32_t *out, Control *control)
{
	PP_SHARED(ScanShared, s);
	PP_DYNAMIC_SHARED(dynamic);
	const uint32_t t = threadIdx.x;
	const uint32_t lane = t & 31;
	uint32_t	x;

	if (t == 0)
		s.tile = atomicAdd(&control->tile, 1u);
#if FAULT != FAULT_BARRIER
	__syncthreads();
#endif
	const uint32_t tile = s.tile % TILES;	/* garbage if there was no barrier */
	const uint32_t i = tile * THREADS + t;

#if FAULT == FAULT_DIVERGENT
	if (t % 2 == 0)
		__syncthreads();
	else
		__syncthreads();
#endif
#if FAULT == FAULT_LEFT_OUT
	if (t == 5)
		__syncthreads();
	else
		__syncwarp();
	__syncthreads();
#endif
#if FAULT == FAULT_MASK
	(void) __ballot_sync(0x7fffffffu, 1);
#endif
#if FAULT == FAULT_WARP_OPS
	if (lane < 16)
		(void) __ballot_sync(0xffffffffu, 1);
	else
		(void) __any_sync(0xffffffffu, 1);
#endif
#if FAULT == FAULT_MISALIGNED
	if (t == 7)
		out[i] = pp_load4(reinterpret_cast<const uint8_t *>(in) + 1);
#endif
	x = in[i];
	for (uint32_t d = 1; d < 32; d <<= 1)
	{
		uint32_t	other;

		s.lane[t] = x;
#if FAULT != FAULT_SYNCWARP
		__syncwarp();
#endif
		other = lane >= d ? s.lane[t - d] : 0;
		__syncwarp();
		x += other;
	}
	if (lane == 31)
#if FAULT == FAULT_GARBAGE
		s.warp[t / 32] += x;
#else
		s.warp[t / 32] = x;
#endif
	dynamic[t] = (unsigned char) x;
#if FAULT == FAULT_SHARED_BOUNDS
	s.end[t / 64] = 0;
#endif
#if FAULT == FAULT_DYNAMIC_BOUNDS
	dynamic[t + 1] = 0;
#endif
	__syncthreads();
	if (t == 0)
	{
		uint32_t	sum = 0;
		uint32_t	before = 0;

		for (uint32_t w = 0; w < THREADS / 32; w++)
		{
			uint32_t	own = s.warp[w];

			s.warp[w] = sum;
			sum += own;
		}
		if (tile > 0)
		{
			control->total[tile] = sum;
#if FAULT == FAULT_RELEASE
			pp_store_relaxed(&control->flag[tile], 1u);
#elif FAULT != FAULT_FLAG
			pp_store_release(&control->flag[tile], 1u);
#endif
			for (uint32_t p = tile; p-- > 0;)
			{
				uint32_t	flag;

				while ((flag = pp_load_acquire(&control->flag[p])) == 0)
					pp_pause();
				if (flag == 2)
				{
					before += control->inclusive[p];
					break;
				}
				before += control->total[p];
			}
		}
		control->inclusive[tile] = before + sum;
#if FAULT != FAULT_FLAG
		pp_store_release(&control->flag[tile], 2u);
#endif
		s.before = before;
	}
	__syncthreads();
	out[i] = s.before + s.warp[t / 32] + x;
#if FAULT == FAULT_DEVICE_BOUNDS
	if (i == N - 1)
		*reinterpret_cast<uint32_t *>(control + 1) = 0;
#endif
#if FAULT == FAULT_PLAIN_COUNTER
	uint32_t	seen = control->odd;

	__syncwarp();
	control->odd = seen + (out[i] & 1);
#else
	atomicAdd(&control->odd, out[i] & 1);
#endif
}

__global__ void
double_all(const uint32_t *in, uint32_t *out)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = 2 * in[i];
}

/* Any error ends the program with what was reported. */
static void
check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	printf("reported %s: %s\n", cudaGetErrorName(error), simt_last_report());
	exit(0);
}

int
main(int argc, char **argv)
{
	SimtConfig	config = {};
	std::vector<uint32_t> in(N);
	std::vector<uint32_t> sums(N);
	std::vector<uint32_t> doubled(N);
	Control		result;
	uint32_t   *d_in;
	uint32_t   *d_sums;
	uint32_t   *d_doubled;
	Control    *control;
	void	   *temp;
	size_t		temp_bytes;
	cudaStream_t first;
	cudaStream_t second;
	cudaEvent_t event;
	uint32_t	sum = 0;
	uint32_t	odd = 0;
	bool		right = true;

	(void) setvbuf(stdout, nullptr, _IOLBF, 0);
	config.seed = argc > 1 ? (uint32_t) atoi(argv[1]) : 0;
	config.resident = 8;
	config.preempt = config.seed == 0 ? 0 : 16384;
	simt_configure(&config);
	simt_report_to_stderr(false);
	for (uint32_t i = 0; i < N; i++)
		in[i] = i % 37;

	check(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	check(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	check(cudaMalloc(&d_in, N * 4));
	check(cudaMalloc(&d_sums, N * 4));
	check(cudaMalloc(&d_doubled, N * 4));
	check(cudaMalloc(&control, sizeof(*control)));
	check(pp_scan_sum32(nullptr, &temp_bytes, d_sums, d_sums, N, second));
	check(cudaMalloc(&temp, temp_bytes));

	check(cudaMemcpyAsync(d_in, in.data(), N * 4 + (FAULT == FAULT_COPY_BOUNDS ? 4 : 0),
						  cudaMemcpyHostToDevice, first));
#if FAULT != FAULT_DEVICE_GARBAGE
	check(cudaMemsetAsync(control, 0, sizeof(*control), first));
#else
	check(cudaMemsetAsync(control, 0, offsetof(Control, flag), first));
#endif
	PP_LAUNCH(scan_tiles, TILES, THREADS, THREADS, first, d_in, d_sums, control);
	check(pp_launch_error());
	check(cudaMemcpyAsync(&result, control, sizeof(result), cudaMemcpyDeviceToHost, first));
	check(cudaEventRecord(event, first));
	if (FAULT != FAULT_STREAM_ORDER)
		check(cudaStreamWaitEvent(second, event, 0));
#if FAULT == FAULT_USE_AFTER_FREE
	check(cudaFree(d_doubled));
#endif
	PP_LAUNCH(double_all, TILES, THREADS, 0, second, d_sums, d_doubled);
	check(pp_launch_error());
	temp_bytes -= FAULT == FAULT_SCRATCH;
	check(pp_scan_sum32(temp, &temp_bytes, d_sums, d_sums, N, second));
#if FAULT != FAULT_USE_AFTER_FREE
	check(cudaMemcpyAsync(doubled.data(), d_doubled, N * 4, cudaMemcpyDeviceToHost, second));
#endif
	check(cudaMemcpyAsync(sums.data(), d_sums, N * 4, cudaMemcpyDeviceToHost, second));
	if (FAULT != FAULT_HOST_ORDER)
		check(cudaStreamSynchronize(second));

	for (uint32_t i = 0, running = 0; i < N; i++)
	{
		right = right && sums[i] == sum;
		running += in[i];
		/* sums are scanned a second time, exclusively */
		right = right && (FAULT == FAULT_USE_AFTER_FREE || doubled[i] == 2 * running);
		odd += running & 1;
		sum += running;
	}
	right = right && result.odd == odd;

#if FAULT != FAULT_USE_AFTER_FREE
	check(cudaFree(d_doubled));
#endif
	check(cudaFree(d_in));
	check(cudaFree(d_sums));
	check(cudaFree(control));
	if (FAULT != FAULT_LEAK)
		check(cudaFree(temp));
	check(cudaStreamDestroy(first));
	check(cudaStreamDestroy(second));
	check(cudaEventDestroy(event));
	check(cudaDeviceReset());
	if (simt_reports() != 0)
		printf("reported: %s\n", simt_last_report());
	else
		puts(right ? "ok" : "wrong");
	return 0;
}
