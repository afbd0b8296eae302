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
number_fields(PpPaperRun *s, const bool *in_filter)
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
list_part(PpPaperRun *s, const bool *in_filter, uint32_t group, bool filter, PpPart *part)
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
list_parts(PpPaperRun *s, const bool *in_filter)
{
	PpPlan	   *p = &s->plan;
	uint32_t	first = 0;
	PpPart	   *last_filter = nullptr;

	p->part = static_cast<PpPart *>(pp_driver_host(s, (2 * (size_t) p->ngroups + 1) * sizeof(PpPart)));
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

bool
make_tables(PpPaperRun *s)
{
	const PpScanSpec *spec = s->spec;
	PpPlan	   *p = &s->plan;
	PpTables   *t = &p->tables;
	PpPaperColumn *column;
	uint16_t   *of_field;
	size_t		column_at,
				field_at;

	pp_tables_layout(s, t);
	column_at = pp_table_place(&t->bytes, spec->ncolumns * sizeof(PpPaperColumn));
	field_at = pp_table_place(&t->bytes, (size_t) p->ngroups * spec->nfields * sizeof(uint16_t));
	if (!pp_tables_make(s, t))
		return false;

	column = reinterpret_cast<PpPaperColumn *>(t->host.p + column_at);
	of_field = reinterpret_cast<uint16_t *>(t->host.p + field_at);
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
		p->filter = static_cast<PpPaperFilter *>(pp_driver_host(s, spec->nfilters * sizeof(PpPaperFilter)));
		if (p->filter == nullptr)
			return false;
		pp_tables_filters(s, t, p->filter);
	}

	p->scan = reinterpret_cast<const PpPaperScan *>(t->device.p + t->scan_at);
	p->column = reinterpret_cast<const PpPaperColumn *>(t->device.p + column_at);
	p->column_of_field = reinterpret_cast<const uint16_t *>(t->device.p + field_at);
	return pp_tables_copy(s, t);
}

}								/* namespace */

bool
pp_paper_plan(PpPaperRun *s)
{
	const PpScanSpec *spec = s->spec;
	PpPlan	   *p = &s->plan;
	size_t		n = spec->ncolumns;
	bool	   *in_filter;

	p->order = static_cast<uint32_t *>(pp_driver_host(s, (2 * n + 1) * sizeof(uint32_t) + n));
	if (p->order == nullptr)
		return false;
	p->css = p->order + n;
	in_filter = reinterpret_cast<bool *>(p->css + n);
	for (uint32_t i = 0; i < spec->nfilters; i++)
		in_filter[spec->filter[i].column] = true;
	number_fields(s, in_filter);
	return list_parts(s, in_filter) && make_tables(s);
}
