/*
 * test/simt/simt_bytes_test.cpp
 *	  Bytes that kernels move to and from device memory are counted as they ask
 *	  for them; shared memory, registers and stacks are not.
 */
#include "../../cuda/device_wide.h"

#include <cstring>

#include "control.h"
#include "unit.h"

struct BytesShared
{
	uint32_t	v[64];
};

/* Loads 16 and 1 bytes and stores 4 a thread. */
__global__ void
move_bytes(const uint8_t *in, uint32_t *out)
{
	PP_SHARED(BytesShared, s);
	uint32_t	t = threadIdx.x;
	uint32_t	i = blockIdx.x * blockDim.x + t;
	uint4		v = pp_load16(in + 16 * i);

	s.v[t] = v.x + v.w;
	__syncthreads();
	out[i] = s.v[63 - t] + in[16 * i + 5];
}

/* One atomic addition of 4 bytes a thread. */
__global__ void
add_bytes(uint32_t *out)
{
	atomicAdd(out, 1u);
}

static void
expect_bytes(const char *kernel, uint64_t launches, uint64_t threads, uint64_t loaded,
			 uint64_t stored, uint64_t most)
{
	SimtKernelCount count;

	for (size_t i = 0; simt_kernel(i, &count); i++)
		if (strcmp(count.name, kernel) == 0)
		{
			EXPECT(count.launches == launches && count.threads == threads, "launches");
			EXPECT(count.bytes_loaded == loaded, "%llu bytes loaded",
				   (unsigned long long) count.bytes_loaded);
			EXPECT(count.bytes_stored == stored, "%llu bytes stored",
				   (unsigned long long) count.bytes_stored);
			EXPECT(count.most_loaded == most, "%llu bytes loaded by one thread",
				   (unsigned long long) count.most_loaded);
			return;
		}
	EXPECT(false, "%s was not launched", kernel);
}

int
main(int argc, char **argv)
{
	uint8_t    *in;
	uint32_t   *out;
	void	   *temp;
	size_t		bytes;

	unit_begin(argc, argv, "simt_bytes_test");
	unit_case("this build counts");
	EXPECT(simt_counts_bytes(), "it does not");
	EXPECT(cudaMalloc(&in, 640 * 16) == cudaSuccess, "allocation");
	EXPECT(cudaMalloc(&out, 640 * 4) == cudaSuccess, "allocation");
	EXPECT(cudaMemset(in, 1, 640 * 16) == cudaSuccess, "fill");

	unit_case("loads and stores");
	PP_LAUNCH(move_bytes, 10, 64, 0, nullptr, in, out);
	PP_LAUNCH(move_bytes, 10, 64, 0, nullptr, in, out);
	EXPECT(cudaStreamSynchronize(nullptr) == cudaSuccess, "%s", simt_last_report());
	expect_bytes("move_bytes", 2, 1280, 1280 * 17, 1280 * 4, 17);

	unit_case("atomic functions store");
	PP_LAUNCH(add_bytes, 2, 64, 0, nullptr, out);
	EXPECT(cudaStreamSynchronize(nullptr) == cudaSuccess, "%s", simt_last_report());
	expect_bytes("add_bytes", 1, 128, 0, 128 * 4, 0);

	unit_case("device-wide functions");
	EXPECT(pp_scan_sum32(nullptr, &bytes, out, out, 640, nullptr) == cudaSuccess, "bytes");
	EXPECT(cudaMalloc(&temp, bytes) == cudaSuccess, "allocation");
	EXPECT(pp_scan_sum32(temp, &bytes, out, out, 640, nullptr) == cudaSuccess, "scan");
	EXPECT(cudaStreamSynchronize(nullptr) == cudaSuccess, "%s", simt_last_report());
	expect_bytes("pp_scan_sum32", 1, 1, 640 * 4, 640 * 4, 640 * 4);

	unit_case("counters start again");
	simt_reset_counters();
	EXPECT(simt_launches(nullptr) == 0, "launches");
	(void) cudaFree(in);
	(void) cudaFree(out);
	(void) cudaFree(temp);
	return unit_end();
}
