/*
 * test/cuda/device_check.h
 *	  What tests of device code share: device memory that gives itself back,
 *	  schedules of threads, and what has to be left when all is done.
 *
 * Included once a program.
 */
#ifndef DEVICE_CHECK_H
#define DEVICE_CHECK_H

#include <cstring>
#include <string>
#include <vector>

#include "../../cuda/device.h"
#include "../../cuda/library.h"
#include "../unit/unit.h"
#include "control.h"

namespace
{

typedef std::vector<uint8_t> Bytes;

inline Bytes
bytes_of(const std::string &s)
{
	return Bytes(s.begin(), s.end());
}

/*
 * Of cases that are counted up, not drawn: is number i done?  With -n, only
 * about that part of them is, but not less than one in twenty.
 */
inline bool
is_done(uint64_t i)
{
	uint64_t	percent = unit_iterations(100);
	uint64_t	step = percent >= 100 ? 1 : percent <= 5 ? 20 : 100 / percent;

	return i % step == 0;
}

/* Threads run in an order that depends on the seed. */
inline void
schedule(uint32_t seed)
{
	SimtConfig	config = {};

	config.seed = seed;
	config.resident = 1 + seed % 7;
	simt_configure(&config);
}

/* Starts the device. */
inline void
start_library(const PpCudaLibrary *library)
{
	PpCudaConfig config = {sizeof(config), 0, UINT64_MAX};
	PpCudaDevice device;
	const char *message = nullptr;

	EXPECT(library->start(&config, &device, &message), "%s", message);
}

/* After a failure: stops the device, of which nothing may be held then, and starts it again. */
inline void
restart_library(const PpCudaLibrary *library)
{
	SimtMemory	memory;

	library->stop();
	memory = simt_memory();
	EXPECT(memory.device_bytes == 0 && memory.pinned_bytes == 0 && memory.events == 0 &&
		   memory.streams == 0, "%llu bytes, %llu pinned, %llu events are left",
		   (unsigned long long) memory.device_bytes, (unsigned long long) memory.pinned_bytes,
		   (unsigned long long) memory.events);
	simt_clear_reports();
	simt_report_to_stderr(true);
	start_library(library);
}

void
check_cuda(cudaError_t error, int line)
{
	if (error != cudaSuccess)
	{
		EXPECT(false, "line %d: CUDA says %s", line, cudaGetErrorString(error));
		(void) cudaGetLastError();
	}
}
#define CUDA(call) check_cuda((call), __LINE__)

/* Device memory of exactly so many bytes; contents are garbage at first. */
template <class T>
struct Device
{
	T		   *p = nullptr;
	size_t		n;

	explicit Device(size_t count) : n(count)
	{
		void	   *q = nullptr;

		if (n > 0)
			CUDA(cudaMalloc(&q, n * sizeof(T)));
		p = static_cast<T *>(q);
	}
	Device(const Device &) = delete;
	Device	   &operator=(const Device &) = delete;
	~Device()
	{
		if (p)
			CUDA(cudaFree(p));
	}
	void
	put(const T *from, size_t count, cudaStream_t stream)
	{
		if (count > 0)
			CUDA(cudaMemcpyAsync(p, from, count * sizeof(T), cudaMemcpyHostToDevice, stream));
	}
};

template <class T>
std::vector<T>
get(const T *p, size_t n, cudaStream_t stream)
{
	std::vector<T> v(n);

	if (n > 0)
		CUDA(cudaMemcpyAsync(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost, stream));
	CUDA(cudaStreamSynchronize(stream));
	return v;
}

struct Stream
{
	cudaStream_t s = nullptr;

	Stream()
	{
		CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	}
	~Stream()
	{
		CUDA(cudaStreamDestroy(s));
	}
};

/* Ends the last case: nothing may be left behind, and nothing was found wrong. */
void
check_leftovers(void)
{
	SimtMemory	m = simt_memory();

	unit_case("nothing is left behind");
	EXPECT(m.device_bytes == 0 && m.streams == 0, "%llu bytes, %llu streams",
		   (unsigned long long) m.device_bytes, (unsigned long long) m.streams);
	CUDA(cudaDeviceReset());
	EXPECT(simt_reports() == 0, "the SIMT layer says: %s", simt_last_report());
}

}								/* namespace */

#endif							/* DEVICE_CHECK_H */
