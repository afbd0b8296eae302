/*
 * test/cuda/json_check.h
 *	  What tests of JSON on the device share: backends whose counters are kept, and schedules.
 *
 * For one test each: what is defined here is its own.
 */
#ifndef JSON_CHECK_H
#define JSON_CHECK_H

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C"
{
#include "../unit/json_run.h"
#include "../unit/json_text.h"
}
#include "../../cuda/json_device.h"
#include "../../cuda/memory.h"
#include "../../src/parse/convert.h"
#include "control.h"

namespace
{

enum
{
	T_CHOSEN = 41,
	T_RANDOM,
	T_LARGE,
	T_LONG,
	T_ALIKE,
	T_FAILURES,
	T_DOCUMENTS,
	T_AGGREGATES,
	T_EARLY,
	T_MEMORY
};

const PpCudaLibrary *library;
PpCudaStats total;				/* of all scans that were closed */

void
counted_close(PpBackendScan *scan)
{
	PpCudaStats stats;

	if (scan != nullptr)
	{
		library->stats(scan, &stats);
		for (int i = 0; i < PP_STAGES; i++)
			total.launches[i] += stats.launches[i];
		total.h2d_bytes += stats.h2d_bytes;
		total.d2h_bytes += stats.d2h_bytes;
		total.peak_device_bytes = stats.peak_device_bytes;
	}
	pp_backend_device_ndjson.close(scan);
}

/* The backends, with their scans' counters taken when they are closed. */
PpBackend	counted;
PpBackend	counted_documents;

void
start(uint64_t memory = UINT64_MAX)
{
	PpCudaConfig config = {sizeof(PpCudaConfig), 0, memory};
	PpCudaDevice device;
	const char *message;

	EXPECT(library->start(&config, &device, &message), "not started: %s", message);
}

void
schedule(uint32_t seed)
{
	SimtConfig	config = {};

	config.seed = seed;
	config.resident = 1 + seed % 7;
	simt_configure(&config);
	pp_json_stretch = 1 + seed % 90;
	pp_json_tile_bytes = PP_JSON_MIN_TILE * (seed % 3 == 0 ? 1 : 1 + seed % 8);
}

/* What every test begins with. */
void
begin(int argc, char **argv, const char *name)
{
	unit_begin(argc, argv, name);
	library = pp_cuda_library(PP_CUDA_VERSION);
	counted = pp_backend_device_ndjson;
	counted.close = counted_close;
	counted_documents = pp_backend_device_json;
	counted_documents.close = counted_close;
	unit_case("start");
	start();
}

}								/* namespace */

#endif							/* JSON_CHECK_H */
