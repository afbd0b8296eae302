/*
 * test/simt/counters.cpp
 *	  Calls that are counted and made to fail, launches by kernel, and, in
 *	  builds for it, bytes that kernels move to and from device memory.
 */
#include "cudart.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "settings.h"

namespace simt
{

struct Injection
{
	uint64_t	calls;
	uint64_t	nth;			/* counted down; 0: none */
	bool		lasting;
	bool		failing;		/* and so do all */
};

static Injection injections[SIMT_CALLS];
static bool settings_read;

static std::vector<SimtKernelCount> counts;

void
injections_from_settings()
{
	static const char *const names[SIMT_CALLS] = {
		"SIMT_FAIL_ALLOC", "SIMT_FAIL_COPY", "SIMT_FAIL_LAUNCH", "SIMT_FAIL_EXECUTION"
	};

	settings_read = true;
	for (int i = 0; i < SIMT_CALLS; i++)
	{
		const char *value = setting(names[i]);

		injections[i].nth = strtoull(value, nullptr, 10);
		injections[i].lasting = *value != '\0' && value[strlen(value) - 1] == '+';
		injections[i].failing = false;
	}
}

bool
injected(SimtCall kind)
{
	Injection  &i = injections[kind];

	if (!settings_read)
		injections_from_settings();
	i.calls++;
	if (i.failing)
		return true;
	if (i.nth == 0 || --i.nth != 0)
		return false;
	i.failing = i.lasting;
	return true;
}

static SimtKernelCount *
count_of(const char *kernel)
{
	for (SimtKernelCount &each : counts)
		if (each.name == kernel || strcmp(each.name, kernel) == 0)
			return &each;
	return nullptr;
}

/*
 * Is it the kernel that is asked for?  Kernels made from PTX are counted without
 * the arguments of their template, which their source has in other words.
 */
static bool
is_named(const char *counted, const char *asked)
{
	size_t		n;

	if (strcmp(counted, asked) == 0)
		return true;
	asked += *asked == '(';
	n = strcspn(asked, "<)");
	return strncmp(counted, asked, n) == 0 && counted[n] == '\0';
}

void
count_launch(const Launch &launch)
{
	SimtKernelCount *count = count_of(launch.kernel);

	if (count == nullptr)
	{
		counts.push_back({launch.kernel, 0, 0, 0, 0, 0});
		count = &counts.back();
	}
	count->launches++;
	count->threads += (uint64_t) launch.grid.x * launch.grid.y * launch.grid.z *
		launch.block.x * launch.block.y * launch.block.z;
}

/* Where bytes are added (bytes.cpp); null: nowhere. */
uint64_t   *loaded_bytes;
uint64_t   *stored_bytes;
uint64_t   *most_loaded;

void
count_bytes_of(const Launch *launch)
{
	SimtKernelCount *count = launch == nullptr ? nullptr : count_of(launch->kernel);

	loaded_bytes = count == nullptr ? nullptr : &count->bytes_loaded;
	stored_bytes = count == nullptr ? nullptr : &count->bytes_stored;
	most_loaded = count == nullptr ? nullptr : &count->most_loaded;
}

}								/* namespace simt */

using namespace simt;

extern "C" {

void
simt_inject(SimtCall kind, uint64_t nth, bool lasting)
{
	if (!settings_read)
		injections_from_settings();
	injections[kind].nth = nth;
	injections[kind].lasting = lasting;
	injections[kind].failing = false;
}

uint64_t
simt_calls(SimtCall kind)
{
	return injections[kind].calls;
}

uint64_t
simt_launches(const char *kernel)
{
	uint64_t	n = 0;

	for (const SimtKernelCount &each : counts)
		if (kernel == nullptr || is_named(each.name, kernel))
			n += each.launches;
	return n;
}

bool
simt_kernel(size_t i, SimtKernelCount *count)
{
	if (i >= counts.size())
		return false;
	*count = counts[i];
	return true;
}

bool
simt_present(void)
{
	return true;
}

bool
simt_counts_bytes(void)
{
#ifdef SIMT_COUNT_BYTES
	return true;
#else
	return false;
#endif
}

void
simt_reset_counters(void)
{
	counts.clear();
	for (Injection &each : injections)
		each.calls = 0;
	memory_reset_counters();
}

}
