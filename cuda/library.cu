/*
 * cuda/library.cu
 *	  The library's table: start and stop of the process's context, options,
 *	  failures, pinned memory.
 *
 * Nothing here runs before start() is called; loading the library touches no
 * device.
 */
#include "join.h"
#include "fused.h"
#include "json_device.h"

#include <chrono>
#include <cstdio>
#include <cstring>

#ifdef PP_SIMT
#define PP_LIBRARY_NAME "simt"
#else
#define PP_LIBRARY_NAME "cuda"
#endif

namespace
{

enum State
{
	NOT_STARTED,
	STARTED,
	BROKEN
};

State		state = NOT_STARTED;
PpCudaDevice device_started;
PpCudaFailure last_failure = PP_CUDA_NO_DEVICE;
char		last_error[512] = "the device was not started";
PpCudaOptions options = {sizeof(PpCudaOptions), PP_TAG_AUTO, PP_PAPER_THREAD_BYTES,
	PP_PAPER_BLOCK_BYTES, 0, PP_FUSED_PARITY};	/* tiles: as the device has it best */
uint32_t	best_tile = PP_FUSED_TILE;

const char *
start_failed(const char *what, cudaError_t e)
{
	pp_fail(PP_CUDA_NO_DEVICE, what);
	if (e != cudaSuccess)
		snprintf(last_error, sizeof(last_error), "%s: %s", what, cudaGetErrorString(e));
	(void) cudaGetLastError();
	return last_error;
}

bool
start(const PpCudaConfig *config, PpCudaDevice *device, const char **message)
{
	cudaDeviceProp properties;
	int			n = 0;
	cudaError_t e;
	const auto	before = std::chrono::steady_clock::now();

	*message = nullptr;
	if (state == BROKEN)
	{
		*message = last_error;
		return false;
	}
	if (state == STARTED)
	{
		pp_memory_limit(config->max_bytes);
		*device = device_started;
		return true;
	}

	e = cudaGetDeviceCount(&n);
	if (e == cudaErrorInsufficientDriver)
		*message = start_failed("there is no driver for CUDA devices, or it is too old", cudaSuccess);
	else if (e != cudaSuccess || n == 0)
		*message = start_failed("there is no CUDA device", e);
	else if (config->device < 0 || config->device >= n)
		*message = start_failed("there is no CUDA device of the number that is set", cudaSuccess);
	else if ((e = cudaSetDevice(config->device)) != cudaSuccess ||
			 (e = cudaFree(nullptr)) != cudaSuccess ||
			 (e = cudaGetDeviceProperties(&properties, config->device)) != cudaSuccess)
		*message = start_failed("could not make a CUDA context", e);
	if (*message != nullptr)
		return false;

	memset(&device_started, 0, sizeof(device_started));
	snprintf(device_started.name, sizeof(device_started.name), "%s", properties.name);
	device_started.major = properties.major;
	device_started.minor = properties.minor;
	device_started.total_bytes = properties.totalGlobalMem;
	device_started.start_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
	best_tile = pp_fused_best_tile(properties.sharedMemPerMultiprocessor,
								   properties.sharedMemPerBlockOptin,
								   properties.reservedSharedMemPerBlock);
	pp_memory_limit(config->max_bytes);
	state = STARTED;
	*device = device_started;
	return true;
}

/* A tile's size as the fused pipeline wants it, near the one that is wanted. */
uint32_t
tile_bytes(uint32_t wanted)
{
	if (wanted > PP_FUSED_MAX_TILE)
		return PP_FUSED_MAX_TILE;
	return (wanted + PP_FUSED_MIN_TILE - 1) / PP_FUSED_MIN_TILE * PP_FUSED_MIN_TILE;
}

void
set_options(const PpCudaOptions *wanted)
{
	options.tagging = wanted->tagging;
	options.thread_bytes = wanted->thread_bytes != 0 ? wanted->thread_bytes : PP_PAPER_THREAD_BYTES;
	options.block_bytes = wanted->block_bytes != 0 ? wanted->block_bytes : PP_PAPER_BLOCK_BYTES;
	options.tile_bytes = tile_bytes(wanted->tile_bytes);
	options.states = wanted->states;
}

const char *
error(void)
{
	return last_error;
}

PpCudaFailure
failure(void)
{
	return last_failure;
}

void
stats(const PpBackendScan *scan, PpCudaStats *out)
{
	PpMemoryCounts m = pp_memory_counts();

	memset(out, 0, sizeof(*out));
	if (scan != nullptr)
		pp_frame_stats(scan, out);
	out->device_bytes = m.held;
	out->peak_device_bytes = m.peak;
}

void *
pinned_alloc(size_t size)
{
	void	   *p;

	if (state != STARTED)
		return nullptr;
	if (cudaMallocHost(&p, size == 0 ? 1 : size) == cudaSuccess)
		return p;
	(void) cudaGetLastError();
	return nullptr;
}

void
pinned_free(void *p)
{
	if (p != nullptr && state != NOT_STARTED)
	{
		(void) cudaFreeHost(p);
		(void) cudaGetLastError();
	}
}

void
stop(void)
{
	if (state == NOT_STARTED)
		return;
	pp_frame_stop();
	pp_joins_stop();
	pp_relations_stop();
	pp_memory_trim();
	(void) cudaDeviceReset();
	(void) cudaGetLastError();
	pp_memory_forget();
	state = NOT_STARTED;
	pp_fail(PP_CUDA_NO_DEVICE, "the device was not started");
}

const PpCudaLibrary table = {
	sizeof(PpCudaLibrary),
	PP_CUDA_VERSION,
	PP_LIBRARY_NAME,
	&pp_backend_paper,
	&pp_backend_fused,
	&pp_backend_device_ndjson,
	&pp_backend_device_json,
	pp_device_json_enter,
	&pp_cuda_join_table,
	start,
	set_options,
	error,
	failure,
	stats,
	pinned_alloc,
	pinned_free,
	stop
};

}								/* namespace */

const char *
pp_fail(PpCudaFailure kind, const char *what)
{
	last_failure = kind;
	snprintf(last_error, sizeof(last_error), "%s", what);
	return last_error;
}

const char *
pp_fail_call(const char *what, cudaError_t e)
{
	(void) cudaGetLastError();
	if (e == cudaErrorMemoryAllocation)
		return pp_fail(PP_CUDA_NO_MEMORY, "out of device memory");
	last_failure = PP_CUDA_BROKEN;
	snprintf(last_error, sizeof(last_error), "%s: %s", what, cudaGetErrorString(e));
	if (state == STARTED)
		state = BROKEN;
	return last_error;
}

const char *
pp_fail_buffer(const PpBuffer *buffer)
{
	if (pp_buffer_error() != cudaErrorMemoryAllocation)
		return pp_fail_call("an allocation failed", pp_buffer_error());
	return pp_fail(PP_CUDA_NO_MEMORY, buffer->kind == PP_MEMORY_DEVICE ? "out of device memory" :
				   "out of pinned memory");
}

bool
pp_process_ready(void)
{
	if (state == NOT_STARTED)
		pp_fail(PP_CUDA_NO_DEVICE, "the device was not started");
	return state == STARTED;
}

PpCudaOptions
pp_process_options(void)
{
	PpCudaOptions o = options;

	if (o.tile_bytes == 0)
		o.tile_bytes = best_tile;
	return o;
}

extern "C" __attribute__((visibility("default"))) const PpCudaLibrary *
pp_cuda_library(uint32_t version)
{
	return version == PP_CUDA_VERSION ? &table : nullptr;
}
