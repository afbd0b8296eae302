/*
 * cuda/tables.cu
 *	  A scan's constant tables in device memory, as far as all pipelines have
 *	  them: the environment, markers, constants of filters.
 *
 * Owns the two buffers of a PpTables.
 */
#include "driver.h"

#include "../src/parse/convert.h"

#include <cstring>

namespace
{

/* Bytes that a filter's constant has. */
size_t
constant_bytes(const PpFilter *f)
{
	uint32_t	header;

	if (f->bytes == nullptr)
		return 0;
	if (f->compare != PP_COMPARE_NUMERIC)
		return f->compare == PP_COMPARE_UUID ? 16 : f->nbytes;
	memcpy(&header, f->bytes, sizeof(header));
	return header >> 2;
}

}								/* namespace */

size_t
pp_table_place(size_t *at, size_t bytes)
{
	size_t		here = pp_align16(*at);

	*at = here + bytes;
	return here;
}

void
pp_tables_layout(PpDriverScan *s, PpTables *t)
{
	const PpScanSpec *spec = s->spec;

	t->device.kind = PP_MEMORY_DEVICE;
	t->host.kind = PP_MEMORY_PINNED;
	t->bytes = 0;
	t->scan_at = pp_table_place(&t->bytes, sizeof(PpPaperScan));
	t->zone_at = pp_table_place(&t->bytes, spec->env.nzone * sizeof(PpZoneSpan));
	t->null_at = pp_table_place(&t->bytes, spec->null_len);
	t->default_at = pp_table_place(&t->bytes, spec->has_default ? spec->default_len : 0);
	t->filter_at = t->bytes;
	for (uint32_t i = 0; i < spec->nfilters; i++)
		(void) pp_table_place(&t->bytes, constant_bytes(&spec->filter[i]));
}

bool
pp_tables_make(PpDriverScan *s, PpTables *t)
{
	const PpScanSpec *spec = s->spec;
	PpPaperScan scan;
	size_t		filter_at = t->filter_at;
	uint8_t    *host;

	if (!pp_driver_reserve(s, &t->device, t->bytes) || !pp_driver_reserve(s, &t->host, t->bytes))
		return false;
	host = t->host.p;
	memset(host, 0, t->bytes);

	memset(&scan, 0, sizeof(scan));
	scan.env = spec->env;
	scan.env.zone = reinterpret_cast<const PpZoneSpan *>(t->device.p + t->zone_at);
	scan.null_text = t->device.p + t->null_at;
	scan.null_len = spec->null_len;
	scan.default_text = t->device.p + t->default_at;
	scan.default_len = spec->default_len;
	scan.has_default = spec->has_default;
	scan.thread_bytes = s->options.thread_bytes;
	scan.block_bytes = s->options.block_bytes;
	memcpy(host + t->scan_at, &scan, sizeof(scan));
	if (spec->env.nzone > 0)
		memcpy(host + t->zone_at, spec->env.zone, spec->env.nzone * sizeof(PpZoneSpan));
	if (spec->null_len > 0)
		memcpy(host + t->null_at, spec->null_text, spec->null_len);
	if (spec->has_default && spec->default_len > 0)
		memcpy(host + t->default_at, spec->default_text, spec->default_len);
	for (uint32_t i = 0; i < spec->nfilters; i++)
	{
		const size_t bytes = constant_bytes(&spec->filter[i]);
		const size_t at = pp_table_place(&filter_at, bytes);

		if (bytes > 0)
			memcpy(host + at, spec->filter[i].bytes, bytes);
	}
	return true;
}

bool
pp_tables_copy(PpDriverScan *s, PpTables *t)
{
	return pp_frame_copy(s, t->device.p, t->host.p, t->bytes, cudaMemcpyHostToDevice, s->work);
}

void
pp_tables_filters(const PpDriverScan *s, const PpTables *t, PpPaperFilter *filter)
{
	const PpScanSpec *spec = s->spec;
	size_t		filter_at = t->filter_at;

	for (uint32_t i = 0; i < spec->nfilters; i++)
	{
		const PpFilter *f = &spec->filter[i];

		memset(&filter[i], 0, sizeof(filter[i]));
		filter[i].filter = *f;
		filter[i].filter.bytes = t->device.p + pp_table_place(&filter_at, constant_bytes(f));
		filter[i].by_reference = pp_type_by_reference(spec->column[f->column].type);
	}
}

void
pp_tables_release(PpTables *t)
{
	pp_buffer_release(&t->device);
	pp_buffer_release(&t->host);
}
