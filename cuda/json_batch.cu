/*
 * cuda/json_batch.cu
 *	  What came of a job of JSON on the device, as a batch: columns, positions,
 *	  how the batch ends, and what the next job has to know of it.
 *
 * Must not touch the device, but to free memory put aside; what keys are left there
 * is json_steps.cu's.
 */
#include "json_scan.h"

#include <cstring>

namespace
{

/* Columns as the batch has them: by records. */
bool
place_columns(PpJsonScan *s, PpJsonSlot *t)
{
	const uint32_t n = t->nrecords;
	const uint32_t nrows = t->filtered ? t->nselected : n;
	const uint32_t *selected = reinterpret_cast<const uint32_t *>(t->selected_host.p);
	const size_t all = (size_t) s->spec->scan.ncolumns * n;
	const bool	spread = nrows > 0 && nrows < n;

	if (spread && !pp_json_reserve(s, t, &t->spread_host, all * 9))
		return false;
	for (uint32_t p = 0; p < PP_JSON_PARTS && nrows > 0; p++)
	{
		const PpJsonPart *part = &t->part_of[p];
		const uint32_t ncolumns = pp_json_part_columns(s, p);

		for (uint32_t i = 0; i < ncolumns; i++)
		{
			PpColumnData *d = &t->data[s->order[s->first_of[p] + i]];
			uint64_t   *value = reinterpret_cast<uint64_t *>(part->values_host.p) + (size_t) i * nrows;
			uint8_t    *state = part->values_host.p + (size_t) ncolumns * nrows * 8 + (size_t) i * nrows;

			d->value = value;
			d->state = state;
			if (!spread)
				continue;
			d->value = reinterpret_cast<uint64_t *>(t->spread_host.p) + (size_t) (s->first_of[p] + i) * n;
			d->state = t->spread_host.p + all * 8 + (size_t) (s->first_of[p] + i) * n;
			for (uint32_t k = 0; k < nrows; k++)
			{
				d->value[selected[k]] = value[k];
				d->state[selected[k]] = state[k];
			}
		}
	}
	return true;
}

/* Where records end, as the batch has it: of documents, two places of each. */
void
place_ends(const PpJsonScan *s, PpJsonSlot *t, PpBatch *b)
{
	const uint32_t n = t->nrecords;
	uint32_t   *end = reinterpret_cast<uint32_t *>(t->end_host.p);

	end[0] = t->first - 1;
	b->end = end + 1;
	for (uint32_t i = 0; !s->documents && t->moved != 0 && i < n; i++)
		end[1 + (size_t) i] += t->moved;
	for (uint32_t i = 0; s->documents && i < n; i++)
	{
		const uint32_t separator = end[1 + (size_t) n + i] + t->moved;

		end[1 + 2 * (size_t) i] = separator + (t->records.level == 0);
		if (i + 1 < n)
			end[2 + 2 * (size_t) i] = separator;
	}
}

/* Where values stand, of columns some values of which were handed over. */
void
place_ranges(const PpJsonScan *s, PpJsonSlot *t)
{
	for (uint32_t c = 0; c < s->spec->scan.ncolumns; c++)
		if (t->range[c] != nullptr)
		{
			PpJsonRange *range = const_cast<PpJsonRange *>(t->range[c]);

			for (uint32_t i = 0; i < t->nrecords; i++)
			{
				const uint32_t end = range[i].end & ~PP_JSON_ESCAPES;

				range[i].end = end == 0 ? 0 : end + t->moved;
				range[i].start += end == 0 ? 0 : t->moved;
			}
		}
}

}								/* namespace */

PpJsonPlace
pp_json_place_behind(uint8_t c)
{
	return c == ',' ? PP_JSON_AT_NEXT : c == '[' ? PP_JSON_AT_FIRST : PP_JSON_AT_TOP;
}

/*
 * As for pp_backend_ndjson, a mark may come until something was read.
 */
void
pp_json_note_read(PpJsonScan *s, const PpBatch *b)
{
	PpJsonSlot *t = &s->slot[s->current];

	s->no_line = b->stop == PP_STOP_MORE ? t->job.len - b->next : 0;
	/* behind a bad record, lines go on with the next one */
	t->there_from += (int64_t) (b->stop == PP_STOP_SYNTAX ? b->bad_next : b->next) - t->job.begin;
	if (b->stop == PP_STOP_SYNTAX && s->documents)
		t->there_to = 0;
	s->carry = b->stop == PP_STOP_MORE;
	if (s->documents && b->next > t->first)
		s->place = pp_json_place_behind(t->job.text[b->next - 1]);
	if (b->nrecords > 0 || b->next != t->job.begin || b->stop == PP_STOP_SYNTAX)
		s->bom = false;
}

bool
pp_json_takes_all(const PpJsonScan *s, PpJsonSlot *t, uint32_t *next)
{
	const PpJsonResult *r = &pp_json_reports(t)->result;

	*next = r->lines_end > 0 ? r->lines_end - t->blanks : 0;
	return t->nrecords == r->nrecords && !t->refused && !t->truncated && !t->job.last &&
		(!s->documents || r->limit == 0);
}

bool
pp_json_make_batch(PpJsonScan *s)
{
	PpJsonSlot *t = &s->slot[s->current];
	const PpScanSpec *spec = &s->spec->scan;
	const PpJsonReports *reports = pp_json_reports(t);
	const PpJsonResult *r = &reports->result;
	const uint32_t n = t->nrecords;
	const uint32_t last_end = n > 0 ? reports->last_end + t->moved : 0;
	PpBatch    *b = &t->batch.batch;

	memset(&t->batch, 0, sizeof(t->batch));
	if (!place_columns(s, t))
		return false;
	b->text = t->job.text;
	b->nrecords = n;
	b->width = s->documents ? 2 : 1;
	b->eol_len = 1;
	if (t->listed)
		place_ends(s, t, b);
	b->ncolumns = spec->ncolumns;
	b->column = t->data;
	b->nselected = t->filtered ? t->nselected : n;
	if (t->filtered && t->nselected < n)
		b->selected = reinterpret_cast<const uint32_t *>(t->selected_host.p);
	b->unknown = t->filtered && reports->selection.unknown != 0;
	if (t->filtered && spec->naggregates > 0)
	{
		b->partial = reports->partial;
		b->ntaken = (uint32_t) b->partial[spec->naggregates].count;
		if (!pp_json_sink_keys(s, t, b->ntaken))
			return false;
	}
	b->ndeferred = t->ndeferred;
	if (n < pp_json_all_records(r))
	{
		b->stop = PP_STOP_FULL;
		b->next = last_end + 1;
		s->host_first = t->refused;
		if (t->refused)
			pp_json_note_refused(s, b->next - t->first);
		else if (n < spec->max_records && !s->dense)
		{
			/* room for more places, in one slot */
			s->dense = true;
			if (s->slot[1 - s->current].structure.p != nullptr)
			{
				pp_buffer_retire(&s->slot[1 - s->current].structure);
				pp_memory_settle();
			}
		}
	}
	else if (s->documents)
	{
		/* behind the limit, and at the end, the CPU sees what there is */
		b->next = n > 0 ? last_end + 1 : t->first;
		s->host_first = r->limit == 0 && (t->job.last || pp_json_scalar_next(t, b->next));
		b->stop = s->host_first || r->limit != 0 || t->truncated ? PP_STOP_FULL : PP_STOP_MORE;
		s->stretch = 0;
	}
	else if (t->job.last && !t->truncated)
	{
		b->stop = PP_STOP_END;
		b->next = t->job.len;
	}
	else
	{
		uint32_t	next;

		b->stop = pp_json_takes_all(s, t, &next) ? PP_STOP_MORE : PP_STOP_FULL;
		b->next = t->first + next;
		s->stretch = 0;
	}
	place_ranges(s, t);
	t->batch.range = t->range;
	pp_json_note_read(s, b);
	return true;
}

void
pp_json_give_nothing(PpJsonScan *s)
{
	PpJsonSlot *t = &s->slot[s->current];
	PpBatch    *b = &t->batch.batch;

	memset(&t->batch, 0, sizeof(t->batch));
	b->text = t->job.text;
	b->width = s->documents ? 2 : 1;
	b->eol_len = 1;
	b->ncolumns = s->spec->scan.ncolumns;
	b->column = t->data;
	b->stop = PP_STOP_MORE;
	b->next = t->first;
	memset(t->range, 0, b->ncolumns * sizeof(*t->range));
	t->batch.range = t->range;
	s->host_first = false;
	t->phase = PP_JSON_GIVEN;
	pp_json_note_read(s, b);
}
