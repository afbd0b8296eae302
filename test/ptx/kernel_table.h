/*
 * test/ptx/kernel_table.h
 *	  How translated kernels become known to the launch functions
 *	  (cudart_launch.cpp): a table a module, registered before main().
 *
 * Nothing here executes anything.
 */
#ifndef PTX_KERNEL_TABLE_H
#define PTX_KERNEL_TABLE_H

#include <cstddef>
#include <cstdint>

namespace ptx
{

/* One parameter's place in the block that a kernel gets. */
struct Parameter
{
	uint32_t	offset;
	uint32_t	bytes;
};

struct Kernel
{
	const char *name;			/* mangled, as the host registers it */
	const char *module;			/* "join_build" of join_build.cu */
	void		(*run) (const uint8_t *parameters);
	const Parameter *parameters;
	uint32_t	nparameters;
	uint32_t	parameter_bytes;
	uint32_t	shared_bytes;	/* static; dynamic starts at the next multiple of 16 */
	uint32_t	max_threads;	/* of a block */
	uint32_t	arch;			/* 90 for sm_90 */
};

/* Kernels of equal name have to be equal: the first is kept. */
struct Table
{
	Table(const Kernel *kernels, size_t n);
};

}								/* namespace ptx */

#endif							/* PTX_KERNEL_TABLE_H */
