/*
 * test/cuda/control_device.cpp
 *	  What tests ask of the host SIMT layer, where a real device executes the
 *	  kernels: nothing is scheduled, injected or counted there.
 *
 * Must not: pretend.  What cannot be known is said to be nothing, and a test
 * that is about it asks simt_present() first.
 */
#include "control.h"

bool
simt_present(void)
{
	return false;
}

void
simt_configure(const SimtConfig *)
{
}

const char *
simt_last_report(void)
{
	return "";
}

uint64_t
simt_reports(void)
{
	return 0;
}

void
simt_clear_reports(void)
{
}

void
simt_report_to_stderr(bool)
{
}

void
simt_inject(SimtCall, uint64_t, bool)
{
}

uint64_t
simt_calls(SimtCall)
{
	return 0;
}

void
simt_set_device_bytes(uint64_t)
{
}

void
simt_set_shared(uint64_t)
{
}

SimtMemory
simt_memory(void)
{
	return {};
}

uint64_t
simt_launches(const char *)
{
	return 0;
}

bool
simt_kernel(size_t, SimtKernelCount *)
{
	return false;
}

SimtCopies
simt_copies(void)
{
	return {};
}

bool
simt_counts_bytes(void)
{
	return false;
}

void
simt_reset_counters(void)
{
}

void
simt_watch(void (*) (const SimtOp *, void *), void *)
{
}
