/*
 * test/ptx/faults.h
 *	  A kernel with mistakes that can be put in, for tests of the PTX executor:
 *	  faults.cu has the kernel, faults_test.cpp looks whether they are found.
 */
#ifndef PTX_FAULTS_H
#define PTX_FAULTS_H

#include "../../cuda/device.h"

enum Fault
{
	FAULT_NONE,
	FAULT_BARRIER,				/* no __syncthreads() between writers and readers */
	FAULT_SYNCWARP,				/* no __syncwarp() between lanes */
	FAULT_RELEASE,				/* a flag that does not release what it stands for */
	FAULT_ALIGNMENT,			/* 4 bytes from an odd address */
	FAULT_DEVICE_BOUNDS,		/* a store behind the output */
	FAULT_SHARED_BOUNDS,		/* a load behind shared memory */
	FAULT_DIVERGENCE,			/* half of a block takes another barrier */
	FAULTS
};

#define FAULT_BLOCK	128			/* threads */

/*
 * out[i] for i < blocks * FAULT_BLOCK, of as many words in; state has a word a
 * block and one more, zeros.
 */
extern cudaError_t fault_run(Fault fault, const uint32_t *in, uint32_t *out, uint32_t *carried,
							 uint32_t *state, uint32_t blocks, cudaStream_t stream);

/* The same by a loop. */
static inline void
fault_expected(const uint32_t *in, uint32_t *out, uint32_t blocks)
{
	uint32_t	carry = 0;

	for (uint32_t b = 0; b < blocks; b++)
	{
		const uint32_t *block = in + b * FAULT_BLOCK;
		uint32_t	sum = 0;

		for (uint32_t t = 0; t < FAULT_BLOCK; t++)
		{
			uint32_t	neighbour = (t & ~31u) | (31 - (t & 31));

			out[b * FAULT_BLOCK + t] = block[FAULT_BLOCK - 1 - t] + 3 * block[neighbour] + carry;
			sum += block[t];
		}
		carry += sum;
	}
}

#endif							/* PTX_FAULTS_H */
