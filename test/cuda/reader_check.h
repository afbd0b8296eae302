/*
 * test/cuda/reader_check.h
 *	  What the tests of the pipelines' structure share: text in hostile
 *	  surroundings, a sequential reader, and what it says of a partition.
 *
 * The reader is made of the parse engine's own automaton, byte by byte, and
 * its reference reader of fields.  Included once a program.
 */
#ifndef READER_CHECK_H
#define READER_CHECK_H

#include <algorithm>
#include <cstdio>

#include "device_check.h"

#include "../../cuda/paper.h"
extern "C"
{
#include "../unit/texts.h"
}

namespace
{

/*
 * Text in device memory at some alignment.  What may be read around it, but
 * must not be believed, is hostile.
 */
struct DeviceText
{
	Device<uint8_t> memory;
	const uint8_t *p;

	DeviceText(const Bytes &text, uint32_t alignment, const PpDialect *d, cudaStream_t stream)
		: memory(16 + alignment + text.size() + PP_PAD), p(memory.p + 16 + alignment)
	{
		Bytes		all(memory.n);
		uint8_t		hostile[] = {'"', '\n', ',', '\r', PP_TERMINATOR, '\\', '.'};

		if (d)
		{
			hostile[0] = d->quote;
			hostile[2] = d->delimiter;
			hostile[5] = d->escape;
		}
		for (size_t i = 0; i < all.size(); i++)
			all[i] = hostile[(i * 7 + text.size()) % sizeof(hostile)];
		if (!text.empty())
			memcpy(all.data() + 16 + alignment, text.data(), text.size());
		memory.put(all.data(), all.size(), stream);
		CUDA(cudaStreamSynchronize(stream));
	}
};

/*
 * The sequential reader
 */
struct Field
{
	uint32_t	end;			/* in the text, line end excluded */
	bool		quoted;
	Bytes		value;
};

struct Record
{
	uint32_t	start;
	uint32_t	end;			/* line end excluded */
	uint32_t	next;
	bool		open;			/* no line end */
	std::vector<Field> field;
};

struct Reader
{
	std::vector<Record> record;
	std::vector<uint8_t> state; /* [n + 1] in front of each byte */
	std::vector<uint8_t> emit;	/* [n] */
	uint32_t	stop;
	uint32_t	end_state;
	bool		quotes = false;
};

Reader
read_text(const PpDfa &dfa, const PpDialect &d, const Bytes &text, bool last)
{
	Reader		out;
	uint32_t	n = (uint32_t) text.size();
	uint32_t	state = dfa.start;
	uint32_t	start = 0;
	uint32_t	pos;

	out.stop = n;
	out.state.push_back((uint8_t) state);
	for (pos = 0; pos < n; pos++)
	{
		uint8_t		e = dfa.step[state][text[pos]];

		state = e & 15u;
		out.emit.push_back(e & PP_EMIT_ANY);
		out.state.push_back((uint8_t) state);
		if (e & PP_EMIT_STOP)
		{
			if (out.stop == n)
				out.stop = pos;
			continue;
		}
		if (e & PP_EMIT_QUOTE)
			out.quotes = true;
		if (e & PP_EMIT_RECORD)
		{
			out.record.push_back({start, pos + 1 - dfa.eol_len, pos + 1, false, {}});
			start = pos + 1;
		}
	}
	out.end_state = state;
	if (last && dfa.end[state] == PP_END_ACCEPT && start < n)
		out.record.push_back({start, n, n, true, {}});
	for (Record &r : out.record)
	{
		PpField		f;
		uint32_t	at = 0;

		do
		{
			Field		field;

			pp_read_field(&d, text.data() + r.start, at, r.end - r.start, &f);
			field.end = r.start + f.end;
			field.quoted = f.quoted;
			field.value.resize(f.end - f.start + 1);
			field.value.resize(pp_unquote(&d, text.data() + r.start + f.start, f.end - f.start,
										  field.value.data()));
			r.field.push_back(field);
			at = f.end + 1;
		} while (f.more);
	}
	return out;
}

/* One record after the other, as a scan would take them. */
PpStructureResult
judge(const Reader &reader, const PpStructureJob &job)
{
	PpStructureResult w = {};
	uint32_t	width = job.nfields > 0 ? job.nfields : 1;

	w.min_fields = 0xffffffffu;
	w.stop = reader.stop;
	w.state = reader.end_state;
	w.quotes = reader.quotes;
	for (size_t k = 0; k < reader.record.size(); k++)
		if (k >= job.skip_first)
		{
			uint32_t	n = (uint32_t) reader.record[k].field.size();

			w.min_fields = n < w.min_fields ? n : w.min_fields;
			w.max_fields = n > w.max_fields ? n : w.max_fields;
		}
	for (size_t k = 0; k < reader.record.size(); k++)
	{
		const Record &r = reader.record[k];

		if (k >= job.skip_first && !job.ragged &&
			(r.field.size() != width || (job.nfields == 0 && r.end > r.start)))
		{
			w.bad = 1;
			w.bad_end = r.end;
			w.bad_next = r.next;
			break;
		}
		w.nrecords++;
		w.next = r.next;
		if (w.nrecords == job.max_records && !r.open)
		{
			w.full = 1;
			break;
		}
	}
	w.chunk_of_next = w.next == 0 ? 0 : (w.next - 1) / job.chunk;
	return w;
}

void
check_result(const PpStructureResult &g, const PpStructureResult &w)
{
#define SAME(member) EXPECT(g.member == w.member, #member ": %u, not %u", g.member, w.member)
	SAME(nrecords);
	SAME(next);
	SAME(full);
	SAME(bad);
	SAME(bad_end);
	SAME(bad_next);
	SAME(stop);
	SAME(state);
	SAME(min_fields);
	SAME(max_fields);
	SAME(quotes);
	SAME(chunk_of_next);
#undef SAME
}

}								/* namespace */

#endif							/* READER_CHECK_H */
