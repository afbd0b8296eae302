/*
 * bench/device_copy.cpp
 *	  What copies between host and device come to: pinned and pageable memory,
 *	  each way and both at a time, and within the device.
 *
 * usage: device_copy MEGABYTES
 *
 * Prints a table in Markdown; medians of ten.  Must not: use anything but the
 * CUDA runtime, so that it builds for the host SIMT layer too.
 */
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{

constexpr int ROUNDS = 10;

void
check(cudaError_t e, const char *what)
{
	if (e == cudaSuccess)
		return;
	fprintf(stderr, "device_copy: %s: %s\n", what, cudaGetErrorString(e));
	exit(1);
}

double
now(void)
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Copy
{
	const char *name;
	const char *from;
	void	   *dst;
	const void *src;
	cudaMemcpyKind kind;
	void	   *back_dst;		/* at the same time, or null */
	const void *back_src;
};

}								/* namespace */

int
main(int argc, char **argv)
{
	const size_t megabytes = argc == 2 ? strtoul(argv[1], nullptr, 10) : 0;
	const size_t n = megabytes << 20;
	void	   *device[2],
			   *pinned[2],
			   *pageable;
	cudaStream_t stream[2];

	if (megabytes == 0)
	{
		fprintf(stderr, "usage: device_copy MEGABYTES\n");
		return 2;
	}
	for (int i = 0; i < 2; i++)
	{
		check(cudaMalloc(&device[i], n), "device memory");
		check(cudaMallocHost(&pinned[i], n), "pinned memory");
		check(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking), "a stream");
		memset(pinned[i], i + 1, n);
	}
	pageable = malloc(n);
	if (pageable == nullptr)
		return 1;
	memset(pageable, 3, n);

	const Copy	copies[] = {
		{"host to device", "pinned", device[0], pinned[0], cudaMemcpyHostToDevice, nullptr, nullptr},
		{"device to host", "pinned", pinned[0], device[0], cudaMemcpyDeviceToHost, nullptr, nullptr},
		{"both at a time, each", "pinned", device[0], pinned[0], cudaMemcpyHostToDevice, pinned[1], device[1]},
		{"host to device", "pageable", device[0], pageable, cudaMemcpyHostToDevice, nullptr, nullptr},
		{"device to host", "pageable", pageable, device[0], cudaMemcpyDeviceToHost, nullptr, nullptr},
		{"within the device", "device", device[1], device[0], cudaMemcpyDeviceToDevice, nullptr, nullptr},
	};

	printf("| copy of %zu MB | memory | GB/s |\n|---|---|---:|\n", megabytes);
	for (const Copy &c : copies)
	{
		double		seconds[ROUNDS];

		for (double &s : seconds)
		{
			const double before = now();

			check(cudaMemcpyAsync(c.dst, c.src, n, c.kind, stream[0]), "a copy");
			if (c.back_dst != nullptr)
				check(cudaMemcpyAsync(c.back_dst, c.back_src, n, cudaMemcpyDeviceToHost, stream[1]), "a copy");
			check(cudaStreamSynchronize(stream[0]), "waiting");
			check(cudaStreamSynchronize(stream[1]), "waiting");
			s = now() - before;
		}
		std::sort(seconds, seconds + ROUNDS);
		printf("| %s | %s | %.1f |\n", c.name, c.from, (double) n / seconds[ROUNDS / 2] / 1e9);
	}
	for (int i = 0; i < 2; i++)
	{
		check(cudaStreamDestroy(stream[i]), "a stream");
		check(cudaFree(device[i]), "device memory");
		check(cudaFreeHost(pinned[i]), "pinned memory");
	}
	free(pageable);
	return 0;
}
