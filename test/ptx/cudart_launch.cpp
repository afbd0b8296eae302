/*
 * test/ptx/cudart_launch.cpp
 *	  The CUDA runtime's functions that nvcc's host code calls to register and
 *	  to launch kernels, for kernels translated from PTX.
 *
 * Takes the place of test/simt/cudart_kernel.cpp; all else of the runtime
 * (memory, streams, events, errors) is that of test/simt, unchanged.  Kernels
 * are found by the name under which the host object registers them, in the
 * tables of the translations (kernel_table.h).
 *
 * Tests and reports know a kernel by its name in the source, without a
 * template's arguments.  PTX_KERNELS=FILE in the environment appends a line a
 * kernel to the file when the program ends: its module, its mangled name, and how
 * many threads executed it (launched.py).
 */
#include <cxxabi.h>

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

struct Known
{
	const ptx::Kernel *kernel;
	std::string name;			/* in the source */
	uint64_t	threads;		/* that executed it */
};

std::map<std::string, Known> &
translated()
{
	static std::map<std::string, Known> all;

	return all;
}

/* By the host's function that stands for the kernel. */
std::map<const void *, Known *> &
registered()
{
	static std::map<const void *, Known *> all;

	return all;
}

/* Without return type, parameters, template's arguments and namespaces that have no name. */
std::string
source_name(const char *mangled)
{
	static const std::string unnamed = "(anonymous namespace)::";
	int			status;
	char	   *text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
	std::string name = text == nullptr ? mangled : text;
	size_t		at;

	free(text);
	if (name.compare(0, 5, "void ") == 0)
		name.erase(0, 5);
	while ((at = name.find(unnamed)) != std::string::npos)
		name.erase(at, unnamed.size());
	/* as nvcc calls it */
	while ((at = name.find("_GLOBAL__N__")) != std::string::npos)
		name.erase(at, name.find("::", at) + 2 - at);
	return name.substr(0, name.find_first_of("<("));
}

void
list_kernels()
{
	const char *path = getenv("PTX_KERNELS");
	FILE	   *file = path == nullptr ? nullptr : fopen(path, "a");

	if (path != nullptr && file == nullptr)
		fprintf(stderr, "cannot write %s\n", path);
	if (file == nullptr)
		return;
	for (const auto &each : translated())
		fprintf(file, "%s\t%s\t%llu\n", each.second.kernel->module, each.first.c_str(),
				(unsigned long long) each.second.threads);
	fclose(file);
}

std::map<const void *, size_t> &
dynamic_limits()
{
	static std::map<const void *, size_t> all;

	return all;
}

std::vector<Configuration> configurations;

Known *
known(const void *function)
{
	auto		i = registered().find(function);

	return i == registered().end() ? nullptr : i->second;
}

const ptx::Kernel *
find(const void *function)
{
	const Known *k = known(function);

	return k == nullptr ? nullptr : k->kernel;
}

struct Arguments
{
	Known	   *known;
	uint8_t    *bytes;
};

/* One thread's part. */
void
run(void *p)
{
	const Arguments *arguments = static_cast<const Arguments *>(p);

	arguments->known->threads++;
	arguments->known->kernel->run(arguments->bytes);
}

void
release(void *p)
{
	Arguments  *arguments = static_cast<Arguments *>(p);

	free(arguments->bytes);
	delete arguments;
}

cudaError_t
launch(const void *function, dim3 grid, dim3 block, void **values, size_t dynamic_bytes,
	   cudaStream_t stream)
{
	Known	   *k = known(function);
	const ptx::Kernel *kernel = find(function);

	if (kernel == nullptr)
		return answer(cudaErrorInvalidDeviceFunction);
	if ((uint64_t) block.x * block.y * block.z > kernel->max_threads ||
		dynamic_bytes > dynamic_limit(function))
		return answer(cudaErrorInvalidValue);

	Arguments  *arguments = new Arguments{k, nullptr};
	size_t		room = (kernel->parameter_bytes + 31) / 16 * 16;
	Launch		l = {};

	arguments->bytes = static_cast<uint8_t *>(aligned_alloc(16, room));
	for (uint32_t i = 0; i < kernel->nparameters; i++)
		memcpy(arguments->bytes + kernel->parameters[i].offset, values[i], kernel->parameters[i].bytes);
	l.kernel = k->name.c_str();
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
	/* the tables go after the list is written */
	if (translated().empty())
		atexit(list_kernels);
	for (size_t i = 0; i < n; i++)
		translated().emplace(kernels[i].name, Known{&kernels[i], source_name(kernels[i].name), 0});
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
	registered()[host] = &i->second;
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
	return launch(kernel, grid, block, values, dynamic_bytes, stream);
}

cudaError_t
cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **values, size_t dynamic_bytes,
				 cudaStream_t stream)
{
	return launch(function, grid, block, values, dynamic_bytes, stream);
}

cudaError_t
cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **values)
{
	return launch(function, config->gridDim, config->blockDim, values,
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
