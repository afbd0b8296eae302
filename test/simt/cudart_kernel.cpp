/*
 * test/simt/cudart_kernel.cpp
 *	  Attributes of kernels that are compiled for the host.
 *
 * Other executors of kernels know more of them and have a file of their own
 * in the place of this one.
 */
#include "cudart.h"

#include <cstring>
#include <map>

namespace simt
{

static const int BLOCKS_A_MULTIPROCESSOR = 2;

static std::map<const void *, int> &
dynamic_limits()
{
	static std::map<const void *, int> &all = *new std::map<const void *, int>();

	return all;
}

size_t
dynamic_limit(const void *function)
{
	auto		i = dynamic_limits().find(function);

	return i == dynamic_limits().end() ? SHARED_STATIC : (size_t) i->second;
}

void
kernels_reset()
{
	dynamic_limits().clear();
}

}								/* namespace simt */

using namespace simt;

extern "C" {

cudaError_t
cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value)
{
	if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
	{
		if (value < 0 || (size_t) value > shared_block())
			return answer(cudaErrorInvalidValue);
		dynamic_limits()[function] = value;
	}
	return answer(sticky_error());
}

cudaError_t
cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *function)
{
	memset(attributes, 0, sizeof(*attributes));
	attributes->binaryVersion = 75;
	attributes->ptxVersion = 75;
	attributes->maxThreadsPerBlock = 1024;
	attributes->maxDynamicSharedSizeBytes = (int) dynamic_limit(function);
	return answer(sticky_error());
}

cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, size_t)
{
	*blocks = BLOCKS_A_MULTIPROCESSOR;
	return answer(sticky_error());
}

}
