/*
 * test/simt/cudart_device.cpp
 *	  The device as the runtime describes it, its reset, and names of
 *	  errors.
 *
 * There is one device; it claims what the smallest supported one has
 * (compute capability 7.5), but for shared memory, which is a setting.
 */
#include "cudart.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "grid.h"
#include "settings.h"

namespace simt
{

static const int MULTIPROCESSORS = 2;

struct ErrorName
{
	cudaError_t error;
	const char *name;
	const char *text;
};

static const ErrorName names[] = {
	{cudaSuccess, "cudaSuccess", "no error"},
	{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
	{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
	{cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
	{cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
	{cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
	 "invalid copy direction for memcpy"},
	{cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
	 "driver version is insufficient for runtime version"},
	{cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
	{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
	{cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
	{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
	{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
	{cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
	{cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
	 "too many resources requested for launch"},
	{cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
	{cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction",
	 "an illegal instruction was encountered"},
	{cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
	{cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
	{cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

static const ErrorName *
name_of(cudaError_t error)
{
	for (const ErrorName &each : names)
		if (each.error == error)
			return &each;
	return nullptr;
}

}								/* namespace simt */

using namespace simt;

extern "C" {

/* The first call of every start of a driver, and so a new look at the settings. */
cudaError_t
cudaGetDeviceCount(int *count)
{
	settings_reload();
	*count = 1;
	return answer(sticky_error());
}

cudaError_t
cudaGetDevice(int *device)
{
	*device = 0;
	return answer(sticky_error());
}

cudaError_t
cudaSetDevice(int device)
{
	return answer(device == 0 ? sticky_error() : cudaErrorInvalidDevice);
}

cudaError_t
cudaSetDeviceFlags(unsigned int)
{
	return answer(sticky_error());
}

cudaError_t
cudaDriverGetVersion(int *version)
{
	*version = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t
cudaRuntimeGetVersion(int *version)
{
	*version = CUDART_VERSION;
	return cudaSuccess;
}

/* Ends all work, frees everything and forgets errors; says what had leaked. */
cudaError_t
cudaDeviceReset(void)
{
	streams_reset();
	memory_reset();
	stacks_release();
	shared_release();
	kernels_reset();
	clear_errors();
	return cudaSuccess;
}

cudaError_t
cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
	if (device != 0)
		return answer(cudaErrorInvalidDevice);
	switch (attribute)
	{
		case cudaDevAttrMaxThreadsPerBlock:
		case cudaDevAttrMaxBlockDimX:
		case cudaDevAttrMaxBlockDimY:
			*value = 1024;
			break;
		case cudaDevAttrMaxBlockDimZ:
			*value = 64;
			break;
		case cudaDevAttrMaxGridDimX:
			*value = 0x7fffffff;
			break;
		case cudaDevAttrMaxGridDimY:
		case cudaDevAttrMaxGridDimZ:
			*value = 65535;
			break;
		case cudaDevAttrMaxSharedMemoryPerBlock:
			*value = (int) SHARED_STATIC;
			break;
		case cudaDevAttrMaxSharedMemoryPerBlockOptin:
			*value = (int) shared_block();
			break;
		case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
			*value = (int) shared_multiprocessor();
			break;
		case cudaDevAttrWarpSize:
			*value = 32;
			break;
		case cudaDevAttrMultiProcessorCount:
			*value = MULTIPROCESSORS;
			break;
		case cudaDevAttrMaxThreadsPerMultiProcessor:
			*value = 1024;
			break;
		case cudaDevAttrComputeCapabilityMajor:
			*value = 7;
			break;
		case cudaDevAttrComputeCapabilityMinor:
			*value = 5;
			break;
		case cudaDevAttrMemoryPoolsSupported:
			*value = 1;
			break;
		default:
			*value = 0;
			break;
	}
	return answer(sticky_error());
}

cudaError_t
cudaGetDeviceProperties(cudaDeviceProp *prop, int device)
{
	size_t		available;
	size_t		total;

	if (device != 0)
		return answer(cudaErrorInvalidDevice);
	memset(prop, 0, sizeof(*prop));
	(void) snprintf(prop->name, sizeof(prop->name), "host SIMT layer");
	(void) cudaMemGetInfo(&available, &total);
	prop->totalGlobalMem = total;
	prop->sharedMemPerBlock = SHARED_STATIC;
	prop->sharedMemPerBlockOptin = shared_block();
	prop->sharedMemPerMultiprocessor = shared_multiprocessor();
	prop->reservedSharedMemPerBlock = shared_multiprocessor() - shared_block();
	prop->regsPerBlock = 65536;
	prop->warpSize = 32;
	prop->maxThreadsPerBlock = 1024;
	prop->maxThreadsDim[0] = 1024;
	prop->maxThreadsDim[1] = 1024;
	prop->maxThreadsDim[2] = 64;
	prop->maxGridSize[0] = 0x7fffffff;
	prop->maxGridSize[1] = 65535;
	prop->maxGridSize[2] = 65535;
	prop->major = 7;
	prop->minor = 5;
	prop->multiProcessorCount = MULTIPROCESSORS;
	prop->maxThreadsPerMultiProcessor = 1024;
	return answer(sticky_error());
}

const char *
cudaGetErrorName(cudaError_t error)
{
	const ErrorName *name = name_of(error);

	return name == nullptr ? "unrecognized error code" : name->name;
}

const char *
cudaGetErrorString(cudaError_t error)
{
	const ErrorName *name = name_of(error);

	return name == nullptr ? "unrecognized error code" : name->text;
}

}
