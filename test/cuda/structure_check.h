/*
 * test/cuda/structure_check.h
 *	  What the tests of the paper pipeline's structure half share: the comparison
 *	  of all that a structure job and its fields answer with a sequential reader.
 *
 * Included once a program.
 */
#ifndef STRUCTURE_CHECK_H
#define STRUCTURE_CHECK_H

#include "reader_check.h"

namespace
{

/*
 * What a structure job answers, on the host.
 */
struct Structure
{
	PpPaperStructure s = {};
	std::vector<PpVector> vector;
	std::vector<PpChunkOffset> offset;
	std::vector<uint32_t> record_bits;
	std::vector<uint32_t> field_bits;
	std::vector<uint32_t> control_bits;
	PpStructureResult result = {};

	bool
	bit(const std::vector<uint32_t> &bits, uint32_t chunk, uint32_t pos) const
	{
		uint32_t	i = pos / chunk;
		uint32_t	b = pos % chunk;

		return bits[(size_t) (b / 32) * s.nchunks + i] >> (b % 32) & 1u;
	}
};

/* Bitmaps, offsets and start states byte by byte. */
void
check_bitmaps(const Structure &g, const PpStructureJob &job, const Reader &reader,
			  const Bytes &text)
{
	uint32_t	n = (uint32_t) text.size();
	uint32_t	records = 0;
	uint32_t	fields = 0;
	uint32_t	wrong = 0;
	size_t		k = 0;
	Bytes		value;
	uint32_t	nfield = 0;
	bool		terminator = false;

	for (uint32_t i = 0; i < g.s.nchunks; i++)
		EXPECT(pp_vec_apply(g.vector[i], job.dfa.start) == reader.state[i * job.chunk],
			   "chunk %u starts in state %u, not %u", i,
			   pp_vec_apply(g.vector[i], job.dfa.start), reader.state[i * job.chunk]);
	for (uint32_t pos = 0; pos < n; pos++)
	{
		bool		is_record = g.bit(g.record_bits, job.chunk, pos);
		bool		is_field = g.bit(g.field_bits, job.chunk, pos);
		bool		is_control = g.bit(g.control_bits, job.chunk, pos);

		if (pos % job.chunk == 0)
		{
			PpChunkOffset o = g.offset[pos / job.chunk];

			EXPECT(o.records == records && o.column == (fields | PP_COLUMN_ABSOLUTE),
				   "chunk %u: record %u, column %x, but %u and %u", pos / job.chunk, o.records,
				   o.column, records, fields);
		}
		wrong += is_record != ((reader.emit[pos] & PP_EMIT_RECORD) != 0);
		wrong += is_field != ((reader.emit[pos] & PP_EMIT_FIELD) != 0);
		if (is_record)
			records++, fields = 0;
		else if (is_field)
			fields++;
		wrong += (is_record || is_field) && !is_control;

		/* what is not control is the value */
		if (!is_control)
			value.push_back(text[pos]);
		if (k < reader.record.size())
		{
			const Record &r = reader.record[k];
			uint32_t	ends = is_field || is_record;

			/* a last record without line end ends behind its last byte */
			is_record |= r.open && pos + 1 == r.next;
			for (ends += r.open && pos + 1 == r.next; ends > 0; ends--)
			{
				EXPECT(nfield < r.field.size() && value == r.field[nfield].value,
					   "record %zu, field %u: the bytes that are not control are no value", k, nfield);
				for (uint8_t c : value)
					terminator |= c == PP_TERMINATOR;
				value.clear();
				nfield++;
			}
			if (is_record)
			{
				EXPECT(nfield == r.field.size(), "record %zu: %u fields", k, nfield);
				nfield = 0;
				k++;
			}
		}
	}
	EXPECT(wrong == 0, "%u bits are wrong", wrong);
	EXPECT(!terminator || g.result.terminator, "the terminator occurs");
	if (std::find(text.begin(), text.end(), PP_TERMINATOR) == text.end())
		EXPECT(!g.result.terminator, "the terminator does not occur");
}

/* Projects columns and compares all fields in one way of tagging. */
void
check_fields(const PpStructureJob &job, const Structure &g, const Reader &reader,
			 PpTagging tagging, const std::vector<uint16_t> &column_of_field, uint32_t ncolumns,
			 uint64_t *launches, cudaStream_t stream)
{
	Device<uint16_t> map(column_of_field.size());
	PpFieldsJob fj = {};
	PpFields	f = {};
	PpStageClock clock = {};
	size_t		bytes = 0;
	uint32_t	skip;

	map.put(column_of_field.data(), column_of_field.size(), stream);
	fj.job = &job;
	fj.structure = &g.s;
	fj.nrecords = g.result.nrecords;
	fj.next = g.result.next;
	fj.ncolumns = ncolumns;
	fj.column_of_field = map.p;
	fj.tagging = tagging;
	CUDA(pp_fields_layout(&fj, NULL, &bytes, NULL));

	Device<uint8_t> memory(bytes);

	CUDA(pp_fields_layout(&fj, memory.p, &bytes, &f));
	CUDA(pp_fields_run(&fj, memory.p, bytes, &f, stream, &clock));
	skip = job.skip_first < fj.nrecords ? (uint32_t) job.skip_first : fj.nrecords;
	EXPECT(f.nrecords == fj.nrecords - skip && f.nfields == f.nrecords * ncolumns,
		   "%u records, %u fields", f.nrecords, f.nfields);
	CUDA(cudaStreamSynchronize(stream));
	for (uint32_t i = 0; launches && i < PP_STAGES; i++)
		launches[i] = clock.launches[i];
	if (f.nfields == 0)
		return;

	size_t		symbols = fj.next + 1;
	Bytes		css = get(f.css, symbols + PP_PAD, stream);
	std::vector<uint32_t> quoted = get(f.quoted, (f.nfields + 31) / 32, stream);
	std::vector<uint32_t> first,
				second;
	PpFields	host = f;

	if (tagging == PP_TAG_RECORD)
	{
		std::vector<uint32_t> counts = get(f.record_fields, f.nrecords, stream);

		first = get(f.offset, f.nfields, stream);
		second = get(f.length, f.nfields, stream);
		host.offset = first.data();
		host.length = second.data();
		for (uint32_t r = 0; r < f.nrecords; r++)
			EXPECT(counts[r] == reader.record[r + skip].field.size(), "record %u has %u fields, not %zu",
				   r, counts[r], reader.record[r + skip].field.size());
	}
	else
	{
		first = get(f.mark, f.nfields, stream);
		host.mark = first.data();
	}
	for (uint32_t k = 0; k < column_of_field.size(); k++)
		for (uint32_t r = 0; column_of_field[k] != 0xffff && r < f.nrecords; r++)
		{
			const Record &record = reader.record[r + skip];
			static const Field empty = {0, false, {}};
			const Field &want = k < record.field.size() ? record.field[k] : empty;
			uint32_t	j = column_of_field[k] * f.nrecords + r;
			uint32_t	offset,
						length;

			pp_css_field(&host, j, &offset, &length);
			EXPECT((size_t) offset + length <= symbols && length == want.value.size() &&
				   (length == 0 || memcmp(css.data() + offset, want.value.data(), length) == 0),
				   "record %u, field %u: %u bytes at %u, not %s", r, k, length, offset,
				   unit_show(want.value.data(), want.value.size()));
			EXPECT((quoted[j / 32] >> (j % 32) & 1u) == want.quoted, "record %u, field %u: quoted", r, k);
		}
}

void
check_field_ends(const PpStructureJob &job, const Structure &g, const Reader &reader,
				 cudaStream_t stream)
{
	uint32_t	width = job.nfields > 0 ? job.nfields : 1;
	Device<uint32_t> memory((size_t) g.result.nrecords * width + 1);
	PpStageClock clock = {};
	std::vector<uint32_t> end;

	CUDA(pp_field_ends_run(&job, &g.s, g.result.nrecords, memory.p, stream, &clock));
	end = get(memory.p, (size_t) g.result.nrecords * width, stream);
	for (uint32_t r = 0; r < g.result.nrecords; r++)
		for (uint32_t k = 0; k < width && k < reader.record[r].field.size(); k++)
			EXPECT(end[(size_t) r * width + k] == reader.record[r].field[k].end,
				   "record %u, field %u ends at %u, not %u", r, k, end[(size_t) r * width + k],
				   reader.record[r].field[k].end);
}

PpStructureJob
make_job(const PpDfa &dfa, const PpDialect *d, uint32_t nfields, uint32_t chunk)
{
	PpStructureJob job = {};

	EXPECT(pp_device_dfa(&dfa, d, &job.dfa), "too many symbols");
	job.last = true;
	job.chunk = chunk;
	job.nfields = nfields;
	job.max_records = PP_MAX_RECORD;
	return job;
}

/* All of it: structure, fields in every way of tagging, field ends. */
void
check_all(PpStructureJob job, const PpDfa &dfa, const PpDialect &d, const Bytes &text,
		  uint32_t alignment, UnitRandom *r)
{
	Stream		stream;
	DeviceText	device(text, alignment, &d, stream.s);
	Reader		reader = read_text(dfa, d, text, job.last);
	Structure	g;
	PpStageClock clock = {};
	size_t		bytes = 0;

	job.text = device.p;
	job.n = (uint32_t) text.size();
	CUDA(pp_structure_layout(&job, NULL, &bytes, NULL));

	Device<uint8_t> memory(bytes);

	CUDA(pp_structure_layout(&job, memory.p, &bytes, &g.s));
	CUDA(pp_structure_run(&job, &g.s, stream.s, &clock));
	EXPECT(clock.launches[PP_STAGE_VECTORS] == 1 && clock.launches[PP_STAGE_SCAN] == 2 &&
		   clock.launches[PP_STAGE_BITMAPS] == 3, "launches");

	size_t		bitmap = (size_t) g.s.words * g.s.nchunks;

	g.vector = get(g.s.vector, g.s.nchunks, stream.s);
	g.offset = get(g.s.offset, g.s.nchunks, stream.s);
	g.record_bits = get(g.s.record_bits, bitmap, stream.s);
	g.field_bits = get(g.s.field_bits, bitmap, stream.s);
	g.control_bits = get(g.s.control_bits, bitmap, stream.s);
	g.result = get(g.s.result, 1, stream.s)[0];

	check_bitmaps(g, job, reader, text);
	check_result(g.result, judge(reader, job));
	if (g.result.nrecords > reader.record.size())
		return;					/* said already */
	check_field_ends(job, g, reader, stream.s);

	if (job.nfields > 0 && g.result.nrecords > 0)
	{
		std::vector<uint16_t> map(job.nfields, 0xffff);
		std::vector<uint16_t> order;
		uint32_t	ncolumns;

		/* some of the fields, in some order */
		for (uint32_t k = 0; k < job.nfields; k++)
			order.insert(order.begin() + unit_below(r, k + 1), (uint16_t) k);
		ncolumns = 1 + unit_below(r, job.nfields < PP_PAPER_COLUMNS ? job.nfields : PP_PAPER_COLUMNS);
		for (uint32_t c = 0; c < ncolumns; c++)
			map[order[c]] = (uint16_t) c;
		if (!job.ragged && !g.result.terminator)
			check_fields(job, g, reader, PP_TAG_INLINE, map, ncolumns, NULL, stream.s);
		if (!job.ragged)
			check_fields(job, g, reader, PP_TAG_VECTOR, map, ncolumns, NULL, stream.s);
		check_fields(job, g, reader, PP_TAG_RECORD, map, ncolumns, NULL, stream.s);
	}
}

std::vector<PpVector>
run_vectors(PpStructureJob job, const Bytes &text, uint32_t alignment, PpSymbolEncoding encoding)
{
	Stream		stream;
	DeviceText	device(text, alignment, NULL, stream.s);
	PpPaperStructure s = {};
	PpStageClock clock = {};
	size_t		bytes = 0;

	job.text = device.p;
	job.n = (uint32_t) text.size();
	CUDA(pp_structure_layout(&job, NULL, &bytes, NULL));

	Device<uint8_t> memory(bytes);

	CUDA(pp_structure_layout(&job, memory.p, &bytes, &s));
	CUDA(pp_structure_vectors(&job, &s, encoding, stream.s, &clock));
	return get(s.vector, s.nchunks, stream.s);
}

}								/* namespace */

#endif							/* STRUCTURE_CHECK_H */
