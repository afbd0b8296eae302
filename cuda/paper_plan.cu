/*
 * cuda/paper_plan.cu
 *	  What is constant in a scan of the paper pipeline: which fields are
 *	  partitioned together, which columns converted together, and the tables
 *	  that kernels look into.
 *
 * A field is partitioned once, however many columns it is projected to.
 * Fields that filters look at come first, so that the rest is converted for
 * the records only that passed.
 */
#include "paper_scan.h"

#include "../src/parse/convert.h"

#include <cstring>

namespace
{

/* Distinct fields, those of filters first. */
void
number_fields(PpBackendScan *s, const bool *in_filter)
{
	const PpScanSpec *spec = s->spec;
	PpPlan	   *p = &s->plan;

	p->most = 1;
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t c = 0; c < spec->ncolumns; c++)
		{
			bool		known = false;
			uint32_t	same = 0;

			if (in_filter[c] != (pass == 0))
				continue;
			for (uint32_t d = 0; d < spec->ncolumns; d++)
			{
				bool		numbered = in_filter[d] ? pass == 1 || d < c : pass == 1 && d < c;

				if (spec->column[d].field != spec->column[c].field)
					continue;
				same++;
				if (numbered && !known)
				{
					p->css[c] = p->css[d];
					known = true;
				}
			}
			if (!known)
				p->css[c] = p->ncss++;
			if (same > p->most)
				p->most = same;
		}
	p->ngroups = (p->ncss + PP_PAPER_COLUMNS - 1) / PP_PAPER_COLUMNS;
}

/* Columns of a part into order, those by value first. */
void
list_part(PpBackendScan *s, const bool *in_filter, uint32_t group, bool filter, PpPart *part)
{
	const PpScanSpec *spec = s->spec;
	PpPlan	   *p = &s->plan;

	part->group = group;
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t c = 0; c < spec->ncolumns; c++)
		{
			const PpColumn *col = &spec->column[c];
			bool		by_reference = pp_type_by_reference(col->type);

			if (in_filter[c] != filter || by_reference != (pass == 1) ||
				p->css[c] / PP_PAPER_COLUMNS != group)
				continue;
			p->order[part->first + part->ncolumns++] = c;
			part->nvalues += !by_reference;
			part->padded += col->type == PP_BPCHAR && col->mod > 0 &&
				(uint32_t) col->mod > s->options.thread_bytes;
		}
}

bool
list_parts(PpBackendScan *s, const bool *in_filter)
{
	PpPlan	   *p = &s->plan;
	uint32_t	first = 0;
	PpPart	   *last_filter = nullptr;

	p->part = static_cast<PpPart *>(pp_paper_host(s, (2 * (size_t) p->ngroups + 1) * sizeof(PpPart)));
	if (p->part == nullptr)
		return false;
	for (uint32_t g = 0; g < p->ngroups; g++)
	{
		bool		partition = true;

		for (uint32_t i = 0; i < 2; i++)
		{
			PpPart	   *part = &p->part[p->nparts];

			memset(part, 0, sizeof(*part));
			part->first = first;
			list_part(s, in_filter, g, i == 0, part);
			if (part->ncolumns == 0)
				continue;
			part->partition = partition;
			partition = false;
			first += part->ncolumns;
			if (i == 0)
				last_filter = part;
			p->nparts++;
		}
	}
	for (uint32_t i = 0; i < p->nparts && last_filter != nullptr; i++)
	{
		p->part[i].filter = &p->part[i] == last_filter;
		p->part[i].filtered = &p->part[i] > last_filter;
	}
	return true;
}

/* Where something goes in the tables. */
size_t
place(size_t *at, size_t bytes)
{
	size_t		here = (*at + 15) / 16 * 16;

	*at = here + bytes;
	return here;
}

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

bool
make_tables(PpBackendScan *s)
{
	const PpScanSpec *spec = s->spec;
	PpPlan	   *p = &s->plan;
	size_t		size = 0;
	const size_t scan_at = place(&size, sizeof(PpPaperScan));
	const size_t zone_at = place(&size, spec->env.nzone * sizeof(PpZoneSpan));
	const size_t null_at = place(&size, spec->null_len);
	const size_t default_at = place(&size, spec->has_default ? spec->default_len : 0);
	const size_t column_at = place(&size, spec->ncolumns * sizeof(PpPaperColumn));
	const size_t field_at = place(&size, (size_t) p->ngroups * spec->nfields * sizeof(uint16_t));
	size_t		filter_at = size;
	PpPaperScan scan;
	PpPaperColumn *column;
	uint16_t   *of_field;
	uint8_t    *host,
			   *device;
	cudaError_t e;

	for (uint32_t i = 0; i < spec->nfilters; i++)
		(void) place(&size, constant_bytes(&spec->filter[i]));
	p->tables.kind = PP_MEMORY_DEVICE;
	p->tables_host.kind = PP_MEMORY_PINNED;
	if (!pp_buffer_reserve(&p->tables, size) || !pp_buffer_reserve(&p->tables_host, size))
	{
		pp_fail_buffer(p->tables.p == nullptr ? &p->tables : &p->tables_host);
		return false;
	}
	host = p->tables_host.p;
	device = p->tables.p;
	memset(host, 0, size);

	memset(&scan, 0, sizeof(scan));
	scan.env = spec->env;
	scan.env.zone = reinterpret_cast<const PpZoneSpan *>(device + zone_at);
	scan.null_text = device + null_at;
	scan.null_len = spec->null_len;
	scan.default_text = device + default_at;
	scan.default_len = spec->default_len;
	scan.has_default = spec->has_default;
	scan.thread_bytes = s->options.thread_bytes;
	scan.block_bytes = s->options.block_bytes;
	memcpy(host + scan_at, &scan, sizeof(scan));
	if (spec->env.nzone > 0)
		memcpy(host + zone_at, spec->env.zone, spec->env.nzone * sizeof(PpZoneSpan));
	if (spec->null_len > 0)
		memcpy(host + null_at, spec->null_text, spec->null_len);
	if (spec->has_default && spec->default_len > 0)
		memcpy(host + default_at, spec->default_text, spec->default_len);

	column = reinterpret_cast<PpPaperColumn *>(host + column_at);
	of_field = reinterpret_cast<uint16_t *>(host + field_at);
	memset(of_field, 0xff, (size_t) p->ngroups * spec->nfields * sizeof(uint16_t));
	for (uint32_t i = 0; i < spec->ncolumns; i++)
	{
		uint32_t	c = p->order[i];

		column[i].col = spec->column[c];
		column[i].css = p->css[c] % PP_PAPER_COLUMNS;
		of_field[(size_t) (p->css[c] / PP_PAPER_COLUMNS) * spec->nfields + spec->column[c].field] =
			(uint16_t) column[i].css;
	}

	if (spec->nfilters > 0)
	{
		p->filter = static_cast<PpPaperFilter *>(pp_paper_host(s, spec->nfilters * sizeof(PpPaperFilter)));
		if (p->filter == nullptr)
			return false;
	}
	for (uint32_t i = 0; i < spec->nfilters; i++)
	{
		const PpFilter *f = &spec->filter[i];
		const size_t bytes = constant_bytes(f);
		const size_t at = place(&filter_at, bytes);

		p->filter[i].filter = *f;
		if (bytes > 0)
			memcpy(host + at, f->bytes, bytes);
		p->filter[i].filter.bytes = device + at;
		p->filter[i].by_reference = pp_type_by_reference(spec->column[f->column].type);
	}

	p->tables_bytes = size;
	p->scan = reinterpret_cast<const PpPaperScan *>(device + scan_at);
	p->column = reinterpret_cast<const PpPaperColumn *>(device + column_at);
	p->column_of_field = reinterpret_cast<const uint16_t *>(device + field_at);
	e = cudaMemcpyAsync(device, host, size, cudaMemcpyHostToDevice, s->work);
	if (e != cudaSuccess)
	{
		pp_fail_call("copying a scan's tables to the device failed", e);
		return false;
	}
	s->stats.launches[PP_STAGE_H2D]++;
	s->stats.h2d_bytes += size;
	return true;
}

}								/* namespace */

bool
pp_paper_plan(PpBackendScan *s)
{
	const PpScanSpec *spec = s->spec;
	PpPlan	   *p = &s->plan;
	size_t		n = spec->ncolumns;
	bool	   *in_filter;

	p->order = static_cast<uint32_t *>(pp_paper_host(s, (2 * n + 1) * sizeof(uint32_t) + n));
	if (p->order == nullptr)
		return false;
	p->css = p->order + n;
	in_filter = reinterpret_cast<bool *>(p->css + n);
	for (uint32_t i = 0; i < spec->nfilters; i++)
		in_filter[spec->filter[i].column] = true;
	number_fields(s, in_filter);
	return list_parts(s, in_filter) && make_tables(s);
}
