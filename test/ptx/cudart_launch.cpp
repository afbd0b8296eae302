/*
 * test/ptx/cudart_launch.cpp
 *	  The CUDA runtime's functions that nvcc's host code calls to register and
 *	  to launch kernels, for kernels translated from PTX.
 *
 * Takes the place of test/simt/cudart_kernel.cpp; all else of the runtime
 * (memory, streams, events, errors) is that of test/simt, unchanged.  Kernels
 * are found by the name under which the host object registers them, in the
 * tables of the translations (kernel_table.h).
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cudart.h"
#include "kernel_table.h"

namespace
{

using namespace simt;

const int	BLOCKS_A_MULTIPROCESSOR = 2;

struct Configuration
{
	dim3		grid;
	dim3		block;
	size_t		dynamic_bytes;
	cudaStream_t stream;
};

std::map<std::string, const ptx::Kernel *> &
translated()
{
	static std::map<std::string, const ptx::Kernel *> all;

	return all;
}

/* By the host's function that stands for the kernel. */
std::map<const void *, const ptx::Kernel *> &
registered()
{
	static std::map<const void *, const ptx::Kernel *> all;

	return all;
}

std::map<const void *, size_t> &
dynamic_limits()
{
	static std::map<const void *, size_t> all;

	return all;
}

std::vector<Configuration> configurations;

const ptx::Kernel *
find(const void *function)
{
	auto		i = registered().find(function);

	return i == registered().end() ? nullptr : i->second;
}

struct Arguments
{
	const ptx::Kernel *kernel;
	uint8_t    *bytes;
};

void
run(void *p)
{
	const Arguments *arguments = static_cast<const Arguments *>(p);

	arguments->kernel->run(arguments->bytes);
}

void
release(void *p)
{
	Arguments  *arguments = static_cast<Arguments *>(p);

	free(arguments->bytes);
	delete arguments;
}

cudaError_t
launch(const void *function, const ptx::Kernel *kernel, dim3 grid, dim3 block, void **values,
	   size_t dynamic_bytes, cudaStream_t stream)
{
	if (kernel == nullptr)
		return answer(cudaErrorInvalidDeviceFunction);
	if ((uint64_t) block.x * block.y * block.z > kernel->max_threads ||
		dynamic_bytes > dynamic_limit(function))
		return answer(cudaErrorInvalidValue);

	Arguments  *arguments = new Arguments{kernel, nullptr};
	size_t		room = (kernel->parameter_bytes + 31) / 16 * 16;
	Launch		l = {};

	arguments->bytes = static_cast<uint8_t *>(aligned_alloc(16, room));
	for (uint32_t i = 0; i < kernel->nparameters; i++)
		memcpy(arguments->bytes + kernel->parameters[i].offset, values[i], kernel->parameters[i].bytes);
	l.kernel = kernel->name;
	l.function = function;
	l.grid = grid;
	l.block = block;
	/* a window of no bytes at all is not one */
	l.flat_bytes = (kernel->shared_bytes + 15) / 16 * 16 + dynamic_bytes;
	if (l.flat_bytes == 0)
		l.flat_bytes = 16;
	l.run = run;
	l.release = release;
	l.args = arguments;
	return enqueue(l, stream);
}

}								/* namespace */

namespace ptx
{

Table::Table(const Kernel *kernels, size_t n)
{
	for (size_t i = 0; i < n; i++)
		translated().emplace(kernels[i].name, &kernels[i]);
}

}								/* namespace ptx */

namespace simt
{

size_t
dynamic_limit(const void *function)
{
	auto		i = dynamic_limits().find(function);
	const ptx::Kernel *kernel = find(function);
	size_t		used = kernel == nullptr ? 0 : (kernel->shared_bytes + 15) / 16 * 16;

	if (i != dynamic_limits().end())
		return i->second;
	return used > SHARED_STATIC ? 0 : SHARED_STATIC - used;
}

void
kernels_reset()
{
	dynamic_limits().clear();
}

}								/* namespace simt */

extern "C" {

void **
__cudaRegisterFatBinary(void *)
{
	static void *handle;

	return &handle;
}

void
__cudaRegisterFatBinaryEnd(void **)
{
}

void
__cudaUnregisterFatBinary(void **)
{
}

/*
 * A host object whose kernels were not translated cannot be tested: that is a
 * mistake of the build.  The tables of the translations have a higher priority
 * among the constructors, so all are known by now.
 */
void
__cudaRegisterFunction(void **, const char *host, char *, const char *name, int, uint3 *, uint3 *,
					   dim3 *, dim3 *, int *)
{
	auto		i = translated().find(name);

	if (i == translated().end())
	{
		fprintf(stderr, "no translation of kernel %s\n", name);
		exit(1);
	}
	registered()[host] = i->second;
}

void
__cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int)
{
}

unsigned
__cudaPushCallConfiguration(dim3 grid, dim3 block, size_t dynamic_bytes, cudaStream_t stream)
{
	configurations.push_back({grid, block, dynamic_bytes, stream});
	return 0;
}

cudaError_t
__cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *dynamic_bytes, void *stream)
{
	Configuration c = configurations.back();

	configurations.pop_back();
	*grid = c.grid;
	*block = c.block;
	*dynamic_bytes = c.dynamic_bytes;
	*static_cast<cudaStream_t *>(stream) = c.stream;
	return cudaSuccess;
}

/* A kernel's handle is its host function. */
cudaError_t
__cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	if (find(function) == nullptr)
		return answer(cudaErrorInvalidDeviceFunction);
	*kernel = static_cast<cudaKernel_t>(const_cast<void *>(function));
	return cudaSuccess;
}

cudaError_t
__cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **values, size_t dynamic_bytes,
				   cudaStream_t stream)
{
	return launch(kernel, find(kernel), grid, block, values, dynamic_bytes, stream);
}

cudaError_t
cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **values, size_t dynamic_bytes,
				 cudaStream_t stream)
{
	return launch(function, find(function), grid, block, values, dynamic_bytes, stream);
}

cudaError_t
cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **values)
{
	return launch(function, find(function), config->gridDim, config->blockDim, values,
				  config->dynamicSmemBytes, config->stream);
}

cudaError_t
cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value)
{
	const ptx::Kernel *kernel = find(function);

	if (kernel == nullptr)
		return answer(cudaErrorInvalidDeviceFunction);
	if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
	{
		if (value < 0 || (size_t) value + kernel->shared_bytes > shared_block())
			return answer(cudaErrorInvalidValue);
		dynamic_limits()[function] = (size_t) value;
	}
	return answer(sticky_error());
}

cudaError_t
cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *function)
{
	const ptx::Kernel *kernel = find(function);

	if (kernel == nullptr)
		return answer(cudaErrorInvalidDeviceFunction);
	memset(attributes, 0, sizeof(*attributes));
	attributes->binaryVersion = (int) kernel->arch;
	attributes->ptxVersion = (int) kernel->arch;
	attributes->maxThreadsPerBlock = (int) kernel->max_threads;
	attributes->sharedSizeBytes = kernel->shared_bytes;
	attributes->maxDynamicSharedSizeBytes = (int) dynamic_limit(function);
	return answer(sticky_error());
}

cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, size_t)
{
	*blocks = BLOCKS_A_MULTIPROCESSOR;
	return answer(sticky_error());
}

cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *, int, size_t, unsigned)
{
	*blocks = BLOCKS_A_MULTIPROCESSOR;
	return answer(sticky_error());
}

}
