/*
 * cuda/json_plan.cu
 *	  What is constant in a scan of JSON on the device: the tree of the columns'
 *	  paths, columns in the order in which they are made, constants of filters,
 *	  aggregates; in one piece of device memory.
 *
 * Owns nothing but the tables; the driver releases them.
 */
#include "json_scan.h"

#include "../src/parse/convert.h"

#include <cstring>

namespace
{

/* Room for size bytes behind what was placed so far; answers where. */
size_t
place(size_t *size, size_t bytes)
{
	const size_t at = *size;

	/* constants are read in words */
	*size += (bytes + PP_PAD + 15) / 16 * 16;
	return at;
}

/* Bytes of a filter's constant. */
size_t
constant_bytes(const PpFilter *f)
{
	uint32_t	n;

	if (f->bytes == nullptr)
		return 0;
	switch (f->compare)
	{
		case PP_COMPARE_NUMERIC:
			(void) pp_varlena(reinterpret_cast<uintptr_t>(f->bytes), &n);
			return (size_t) n + 4;
		case PP_COMPARE_UUID:
			return 16;
		default:
			return f->nbytes;
	}
}

/* Filters' columns first.  Records of which something is not known are not
 * aggregated, so then all are. */
void
order_columns(PpJsonScan *s)
{
	const PpScanSpec *spec = &s->spec->scan;
	uint32_t	n = 0;

	for (int late = 0; late < PP_JSON_PARTS; late++)
	{
		for (uint32_t c = 0; c < spec->ncolumns; c++)
		{
			int			is_late = spec->naggregates == 0;

			for (uint32_t i = 0; i < spec->nfilters; i++)
				if (spec->filter[i].column == c)
					is_late = 0;
			if (is_late != late)
				continue;
			s->order[n++] = c;
			s->heaps[late] |= pp_type_by_reference(spec->column[c].type);
		}
		s->first_of[late + 1] = n;
	}
}

/* Nodes that are columns' have places, in their order. */
void
number_places(PpJsonScan *s, PpJsonDeviceNode *node)
{
	const PpJsonPaths *paths = &s->paths;

	for (uint32_t i = 0; i < paths->nnodes; i++)
		node[i].place = PP_JSON_NOWHERE;
	for (uint32_t c = 0; c < s->spec->scan.ncolumns; c++)
		node[paths->column[c]].place = 0;
	s->nplaces = 0;
	for (uint32_t i = 0; i < paths->nnodes; i++)
		if (node[i].place != PP_JSON_NOWHERE)
			node[i].place = s->nplaces++;
	for (uint32_t i = 0; i < paths->nnodes; i++)
		for (uint32_t k = i + 1; k < i + paths->node[i].size; k++)
			if (node[k].place != PP_JSON_NOWHERE)
			{
				if (node[i].nbelow++ == 0)
					node[i].below = (uint16_t) node[k].place;
			}
}

}								/* namespace */

bool
pp_json_plan(PpJsonScan *s)
{
	const PpJsonScanSpec *spec = s->spec;
	const PpScanSpec *scan = &spec->scan;
	const PpJsonPaths *paths = &s->paths;
	size_t		key_bytes = 0;
	size_t		size = 0;
	size_t		node_at,
				keys_at,
				env_at,
				zone_at,
				column_at,
				aggregate_at,
				filter_at;
	PpAggregate *aggregate;
	PpJsonDeviceNode *node;
	PpJsonDeviceColumn *column;
	PpEnv		env;
	uint8_t    *host,
			   *device;

	order_columns(s);
	for (uint32_t i = 0; i < paths->nnodes; i++)
		key_bytes += paths->node[i].step.key ? paths->node[i].step.key_len : 0;
	/* keys are directly behind nodes */
	s->table_bytes = (uint32_t) ((paths->nnodes * sizeof(PpJsonDeviceNode) + key_bytes + 3) / 4 * 4);
	node_at = place(&size, s->table_bytes);
	keys_at = node_at + paths->nnodes * sizeof(PpJsonDeviceNode);
	env_at = place(&size, sizeof(PpEnv));
	zone_at = place(&size, scan->env.nzone * sizeof(PpZoneSpan));
	column_at = place(&size, scan->ncolumns * sizeof(PpJsonDeviceColumn));
	aggregate_at = place(&size, (scan->naggregates + 1) * sizeof(PpAggregate));
	filter_at = size;
	for (uint32_t i = 0; i < scan->nfilters; i++)
		(void) place(&size, constant_bytes(&scan->filter[i]));

	if (!pp_buffer_reserve(&s->tables, size) || !pp_buffer_reserve(&s->tables_host, size))
	{
		pp_fail_buffer(s->tables.p == nullptr ? &s->tables : &s->tables_host);
		return false;
	}
	host = s->tables_host.p;
	device = s->tables.p;
	memset(host, 0, size);

	node = reinterpret_cast<PpJsonDeviceNode *>(host + node_at);
	key_bytes = 0;
	for (uint32_t i = 0; i < paths->nnodes; i++)
	{
		const PpJsonNode *from = &paths->node[i];

		node[i].key_len = PP_JSON_NOWHERE;
		node[i].index = from->step.index;
		node[i].size = from->size;
		node[i].keys = from->keys;
		node[i].elements = from->elements;
		if (i == 0)
			node[i].parent = PP_JSON_NOWHERE;
		for (uint32_t child = i + 1; child < i + from->size; child += paths->node[child].size)
			node[child].parent = i;
		if (i > 0 && from->step.key)
		{
			const uint32_t len = from->step.key_len;

			node[i].key = (uint32_t) key_bytes;
			node[i].key_len = len;
			memcpy(&node[i].head, from->step.key, len < 8 ? len : 8);
			memcpy(host + keys_at + key_bytes, from->step.key, len);
			key_bytes += len;
		}
	}
	number_places(s, node);

	env = scan->env;
	env.zone = reinterpret_cast<const PpZoneSpan *>(device + zone_at);
	memcpy(host + env_at, &env, sizeof(env));
	if (scan->env.nzone > 0)
		memcpy(host + zone_at, scan->env.zone, scan->env.nzone * sizeof(PpZoneSpan));

	column = reinterpret_cast<PpJsonDeviceColumn *>(host + column_at);
	for (uint32_t i = 0; i < scan->ncolumns; i++)
	{
		const uint32_t c = s->order[i];

		column[i].col = scan->column[c];
		column[i].place = node[paths->column[c]].place;
		column[i].as_json = spec->column[c].as_json;
		column[i].whole = spec->column[c].nsteps == 0;
	}

	aggregate = reinterpret_cast<PpAggregate *>(host + aggregate_at);
	for (uint32_t i = 0; i < scan->naggregates; i++)
		aggregate[i] = scan->aggregate[i];
	aggregate[scan->naggregates].op = PP_AGGREGATE_COUNT_ALL;

	for (uint32_t i = 0; i < scan->nfilters; i++)
	{
		const PpFilter *f = &scan->filter[i];
		const size_t bytes = constant_bytes(f);
		const size_t at = place(&filter_at, bytes);

		s->filter[i].filter = *f;
		if (bytes > 0)
			memcpy(host + at, f->bytes, bytes);
		s->filter[i].filter.bytes = device + at;
		s->filter[i].by_reference = pp_type_by_reference(scan->column[f->column].type);
	}

	s->column_host = column;
	s->node = reinterpret_cast<const PpJsonDeviceNode *>(device + node_at);
	s->keys = device + keys_at;
	s->env = reinterpret_cast<const PpEnv *>(device + env_at);
	s->column = reinterpret_cast<const PpJsonDeviceColumn *>(device + column_at);
	s->aggregate = reinterpret_cast<const PpAggregate *>(device + aggregate_at);
	s->selecting = scan->nfilters > 0 || (scan->naggregates > 0 && scan->ncolumns > 0);
	for (PpJsonSlot &t : s->slot)
		if (!pp_json_reserve(s, &t, &t.reports, sizeof(PpJsonReports) + scan->naggregates * sizeof(PpPartial)) ||
			!pp_json_reserve(s, &t, &t.deferred, (scan->ncolumns + 1) * sizeof(uint32_t)) ||
			!pp_json_reserve(s, &t, &t.deferred_host, (scan->ncolumns + 1) * sizeof(uint32_t)))
			return false;
	return pp_frame_copy(s, device, host, size, cudaMemcpyHostToDevice, s->work);
}
