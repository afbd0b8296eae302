/*
 * test/cuda/fused_tile_test.cpp
 *	  The fused pass without conversions: the result, the list of field ends,
 *	  which bytes make up each field, and what tiles leave behind, against the
 *	  sequential reader; in all its ways, tile sizes and schedules.
 */
#include "reader_check.h"

#include "../../cuda/fused_tile.h"

namespace
{

enum
{
	T_DIALECTS = 1,
	T_EDGES,
	T_TINY,
	T_LONG,
	T_SHAPES,
	T_EMPTY,
	T_MARKERS,
	T_ROOM,
	T_TILES,
	T_MAPS
};

const PpFusedStates ways[] = {PP_FUSED_PARITY, PP_FUSED_STATES_8, PP_FUSED_STATES_16};
const char *const way_name[] = {"parity", "8 states", "16 states"};

/* What is asked of the pass. */
struct Asked
{
	PpDialect	d = {',', '"', '"', false};
	PpEol		eol = PP_EOL_NL;
	uint32_t	nfields = 1;
	PpFusedStates least = PP_FUSED_PARITY;
	uint32_t	tile_bytes = PP_FUSED_MIN_TILE;
	uint32_t	alignment = 0;
	uint32_t	room = 0;		/* 0: enough */
	bool		last = true;
	bool		columns = false;	/* every field as a late column, too */
};

/* pp_tile_start() of every tile. */
__global__ void
starts_kernel(PpFusedJob job, uint32_t ntiles, PpTileStart *out)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < ntiles)
		out[i] = pp_tile_start(job, i);
}

uint32_t
quoting_of(const PpDfa &dfa, const PpDialect &d, const Bytes &text, uint32_t pos, const Reader &reader)
{
	/* by the reader's rules, from the start of the record */
	uint32_t	start = 0;
	PpQuoting	q = PP_OUTSIDE;

	for (const Record &r : reader.record)
		if (r.next <= pos && !r.open)
			start = r.next;
	(void) dfa;
	for (uint32_t p = start; p < pos; p++)
		(void) pp_byte_is_control(d.quote, d.escape, text[p],
								  p + 1 < text.size() ? text[p + 1] : 256, &q);
	return q;
}

/* What is in front of each tile, up to the first byte that ends all. */
void
check_starts(const PpFusedJob &job, const PpDfa &dfa, const PpDialect &d, const Bytes &text,
			 const Reader &reader, cudaStream_t stream)
{
	uint32_t	ntiles = pp_fused_tiles(job);
	Device<PpTileStart> memory(ntiles);
	std::vector<PpTileStart> starts;

	PP_LAUNCH(starts_kernel, (ntiles + 31) / 32, 32, 0, stream, job, ntiles, memory.p);
	starts = get(memory.p, ntiles, stream);
	for (uint32_t i = 1; i < ntiles; i++)
	{
		uint32_t	pos = pp_tile_base(job, i);
		uint32_t	open = 0;
		uint32_t	content = 0;
		PpQuoting	q = PP_OUTSIDE;

		if (pos > reader.stop || pos > text.size())
			break;
		EXPECT(starts[i].quoting == quoting_of(dfa, d, text, pos, reader),
			   "tile %u: quoting %u, not %u", i, starts[i].quoting,
			   quoting_of(dfa, d, text, pos, reader));
		for (uint32_t p = 0; p < pos; p++)
			if (reader.emit[p] & (PP_EMIT_FIELD | PP_EMIT_RECORD))
				open = p + 1;
		for (uint32_t p = open; p < pos; p++)
			content += !pp_byte_is_control(d.quote, d.escape, text[p],
										   p + 1 < text.size() ? text[p + 1] : 256, &q);
		EXPECT(starts[i].open == open && starts[i].content == content,
			   "tile %u: field from %u, %u bytes, not %u and %u", i, starts[i].open,
			   starts[i].content, open, content);
	}
}

/* Fields of the records that count, as their positions and as late columns. */
void
check_listed(const PpFusedJob &job, const PpStructureResult &result, const Bytes &text,
			 const Reader &reader, cudaStream_t stream)
{
	uint32_t	width = job.nfields > 0 ? job.nfields : 1;
	std::vector<uint32_t> end = get(job.end, (size_t) result.nrecords * width, stream);
	std::vector<uint64_t> value;
	std::vector<uint8_t> state;

	if (job.ncolumns > 0)
	{
		value = get(job.value, (size_t) job.ncolumns * job.room, stream);
		state = get(job.state, (size_t) job.ncolumns * job.room, stream);
	}
	for (uint32_t r = 0; r < result.nrecords && r < reader.record.size(); r++)
	{
		const Record &record = reader.record[r];
		uint32_t	start = record.start;

		for (uint32_t k = 0; k < width; k++)
		{
			const Field &f = record.field[k];
			bool		raw = f.value.size() == f.end - start &&
				(f.value.empty() || memcmp(f.value.data(), &text[start], f.value.size()) == 0);

			EXPECT(end[(size_t) r * width + k] == f.end, "record %u, field %u ends at %u, not %u",
				   r, k, end[(size_t) r * width + k], f.end);
			if (k < job.ncolumns)
			{
				uint64_t	v = value[(size_t) k * job.room + r];
				uint32_t	length = (uint32_t) (v >> 32);

				EXPECT(state[(size_t) k * job.room + r] == PP_VALUE && (uint32_t) v == start &&
					   (length & ~PP_FIELD_CONTROL) == f.end - start &&
					   ((length & PP_FIELD_CONTROL) != 0) == !raw,
					   "record %u, field %u: %u + %x, not %u + %u%s", r, k, (uint32_t) v, length,
					   start, f.end - start, raw ? "" : " with quotes");
			}
			start = f.end + 1;
		}
	}
}

void
check_text(const Asked &a, const Bytes &text)
{
	Stream		stream;
	PpDfa		dfa;
	PpFusedJob	job;
	PpStageClock clock = {};
	PpStructureJob reference = {};
	uint32_t	width = a.nfields > 0 ? a.nfields : 1;

	pp_dialect_compile(&a.d, a.eol, &dfa);

	Reader		reader = read_text(dfa, a.d, text, a.last);
	DeviceText	device(text, a.alignment, &a.d, stream.s);
	uint32_t	room = a.room > 0 ? a.room : (uint32_t) text.size() + 1;
	uint32_t	ncolumns = a.columns ? a.nfields : 0;
	Device<uint32_t> end((size_t) room * width);
	Device<uint64_t> tiles(pp_fused_tiles_bytes((uint32_t) text.size(), a.tile_bytes) / 8);
	Device<PpFusedResult> memory(1);
	Device<PpFusedColumn> column(ncolumns);
	Device<uint64_t> value((size_t) ncolumns * room);
	Device<uint8_t> state((size_t) ncolumns * room);
	std::vector<PpFusedColumn> columns(ncolumns);

	memset(static_cast<void *>(&job), 0x5a, sizeof(job));
	EXPECT(pp_fused_states(&job, &a.d, &dfa, a.least), "too many symbols");
	EXPECT(job.states >= a.least, "the way is %s", way_name[job.states]);
	job.tile_bytes = a.tile_bytes;
	job.text = device.p;
	job.n = (uint32_t) text.size();
	job.last = a.last;
	job.nfields = a.nfields;
	job.scan = nullptr;
	job.ncolumns = ncolumns;
	for (uint32_t k = 0; k < ncolumns; k++)
	{
		const PpColumn col = {PP_TEXT, k, 0, -1};

		columns[k] = pp_fused_column(&col, true);
	}
	column.put(columns.data(), ncolumns, stream.s);
	job.column = column.p;
	job.room = room;
	job.value = value.p;
	job.state = state.p;
	job.heap = nullptr;
	job.heap_room = 0;
	job.end = end.p;
	job.longs = nullptr;
	job.longs_room = 0;
	job.tiles = tiles.p;
	job.result = memory.p;
	CUDA(pp_fused_parse(&job, &clock, stream.s));
	EXPECT(clock.launches[PP_STAGE_PARSE] == 3, "launches");

	PpStructureResult result = get(memory.p, 1, stream.s)[0].structure;
	PpStructureResult want;

	reference.nfields = a.nfields;
	reference.max_records = room;
	reference.chunk = 1;
	want = judge(reader, reference);
	want.chunk_of_next = 0;
	if (reader.record.empty())
		want.min_fields = 0xffffffffu;
	check_result(result, want);
	if (result.nrecords != want.nrecords)
		return;
	check_listed(job, result, text, reader, stream.s);
	check_starts(job, dfa, a.d, text, reader, stream.s);
}

/* One of the sizes that a tile may have. */
uint32_t
random_tile(UnitRandom *r)
{
	return PP_FUSED_MIN_TILE * (1 + (unit_once_in(r, 2) ? 0 : unit_below(r, PP_FUSED_MAX_TILE / PP_FUSED_MIN_TILE)));
}

Bytes
random_text(UnitRandom *r, const Asked &a, size_t most)
{
	uint32_t	nfields = a.nfields > 0 ? a.nfields : 1;
	Bytes		text(most);

	switch (unit_below(r, 4))
	{
		case 0:
			text.resize(texts_soup(r, &a.d, text.data(), 1 + unit_below(r, (uint32_t) most)));
			break;
		case 1:
			text.resize(texts_records(r, &a.d, a.eol, nfields, 0, text.data(), most));
			break;
		default:
			text.resize(texts_records(r, &a.d, a.eol, nfields, 1 + unit_below(r, 2000), text.data(), most));
			break;
	}
	return text;
}

void
name_case(const char *what, uint64_t i, const Asked &a, size_t n)
{
	unit_case("%s %llu: %s, %s, %s, %u fields, tiles of %u, %zu bytes, room %u%s", what,
			  (unsigned long long) i, texts_dialect_name(&a.d), texts_eol_name(a.eol),
			  way_name[a.least], a.nfields, a.tile_bytes, n, a.room, a.last ? ", the last" : "");
}

void
test_dialects(void)
{
	uint64_t	n = unit_iterations(1500);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_DIALECTS, i);
		Asked		a;
		Bytes		text;

		a.d = texts_dialect[i % texts_ndialects];
		a.d.end_marker = unit_once_in(&r, 2);
		a.eol = (PpEol) (PP_EOL_NL + unit_below(&r, 3));
		a.nfields = unit_once_in(&r, 12) ? 0 : 1 + unit_below(&r, 6);
		a.least = ways[unit_below(&r, 3)];
		a.tile_bytes = random_tile(&r);
		a.alignment = unit_below(&r, 16);
		a.room = unit_once_in(&r, 3) ? 1 + unit_below(&r, 50) : 0;
		a.last = !unit_once_in(&r, 3);
		a.columns = unit_once_in(&r, 2);
		text = random_text(&r, a, unit_once_in(&r, 3) ? 200 : 2000 + unit_below(&r, 6000));
		name_case("text", i, a, text.size());
		schedule((uint32_t) i);
		check_text(a, text);
	}
}

/* Lines of one kind up to a position, the last of which begins a record. */
Bytes
lines_up_to(size_t n, const Asked &a)
{
	Bytes		text;

	while (text.size() < n)
	{
		Bytes		line;

		for (uint32_t k = 1; k < a.nfields; k++)
			line.push_back(a.d.delimiter);
		if (a.eol != PP_EOL_NL)
			line.push_back('\r');
		if (a.eol != PP_EOL_CR)
			line.push_back('\n');
		/* as long as it has to be, for the last one to end there */
		if (n - text.size() < 2 * line.size() + 20)
			line.insert(line.begin(), n - text.size() - line.size(), 'a');
		else
			line.insert(line.begin(), 10, 'b');
		text.insert(text.end(), line.begin(), line.end());
	}
	return text;
}

/* A tile's edge, and the text's end, behind any byte. */
void
test_edges(void)
{
	static const struct
	{
		PpDialect	d;
		PpEol		eol;
		const char *text;
	}			corpus[] = {
		{{',', '"', '"', true}, PP_EOL_NL, "a,\"b\n\"\"c\"\n,\"\"\n\"x\"y\"z\",\"\"\"\"\n1,2\n\\.\nz"},
		{{',', '"', '"', true}, PP_EOL_CRNL, "a,\"b\r\n\"\"c\"\r\n\\.,\"\"\r\n\"\r\n\",2\r\n\\.\r\nz"},
		{{',', '"', '\\', true}, PP_EOL_CRNL, "a,\"\\\"\\\\\\x\"\r\n\"\r\n\",,\r\n\\.,b\r\n\\.\r\nx"},
		{{',', '"', '\\', false}, PP_EOL_NL, "\"\\\\\\\"\\x\\\\\",\"\\\n\"\n\"a\\\"\",\"\"\"b\"\nc,d\n"},
		{{';', '\'', '\'', true}, PP_EOL_CR, "\xc3\xa4;'''\r'\r;\r'';'a'\r\\.\rlast;one"},
		{{',', '"', '"', false}, PP_EOL_CRNL, "a,b\r\n\"c\r\",d\rx,y\r\n"},
		{{',', '"', '"', true}, PP_EOL_CRNL, "a,b\r\n\\.\r\r\n"},
		{{',', '"', '"', true}, PP_EOL_CRNL, "a,b\r\n\\.,\"\r\n\\.\r\n\"\r\nc,d\ne,f"},
		{{',', '"', '"', true}, PP_EOL_NL, "a,b\n\\.\r\n"},
		{{',', '"', '"', true}, PP_EOL_CR, "a,b\r\\.\n\r"},
		{{',', '\\', '\\', true}, PP_EOL_NL, "\\a\\\\,b\\,\\,\\\n\\.\n,x\n"},
		{{',', '\\', '.', true}, PP_EOL_NL, "\\.\\\\,x\n\\a\\,\\..\\\nb,c\n"},
		{{'\\', '"', '"', true}, PP_EOL_NL, "\\.\na\\b\n\\.\n"},
		{{'.', '"', '"', true}, PP_EOL_CRNL, "x.\r\n\\.\r\n\\.a\r\n"},
		{{',', '\n', '\n', false}, PP_EOL_CRNL, "a,b\r\nx\n,\r\n"},
		{{',', '\r', '\r', false}, PP_EOL_NL, "a,b\n\rx,\n\r\r,c\r\n\n"},
	};
	uint64_t	number = 0;

	for (const auto &c : corpus)
	{
		Bytes		all = bytes_of(c.text);

		for (PpFusedStates way : ways)
			for (size_t before = 0; before <= all.size(); before++)
				for (int last = 0; last < 2; last++, number++)
				{
					UnitRandom	r = unit_random(T_EDGES, number);
					Asked		a;
					Bytes		text;
					size_t		n = all.size();

					if (!is_done(number))
						continue;
					a.d = c.d;
					a.eol = c.eol;
					a.nfields = 2;
					a.least = way;
					a.last = last;
					a.columns = unit_once_in(&r, 2);
					a.alignment = unit_below(&r, 16);
					a.tile_bytes = PP_FUSED_MIN_TILE * (1 + unit_below(&r, 8));
					if (number % 3 == 0)
						n = before;		/* cut behind the edge */
					else if (number % 3 == 1)
						n = unit_below(&r, (uint32_t) n + 1);
					if (number % 5 != 0)
						text = lines_up_to(a.tile_bytes - a.alignment - before, a);
					text.insert(text.end(), all.begin(), all.begin() + (ptrdiff_t) n);
					unit_case("%s, %zu bytes, %zu in front of an edge, %s%s",
							  unit_show(all.data(), all.size()), n, before, way_name[way],
							  last ? ", the last" : "");
					schedule((uint32_t) number);
					check_text(a, text);
				}
	}
}

/* The smallest texts, in every alignment and tile size. */
void
test_tiny(void)
{
	static const char *corpus[] = {
		"", "\n", "a", ",", "\"", "\"\"", "\r", "\\.", "\\.\n", "a\n", "a\nb", "\n\n", "\"a\nb", "a,b\n",
	};
	uint64_t	number = 0;

	for (const char *c : corpus)
		for (uint32_t tile = PP_FUSED_MIN_TILE; tile <= PP_FUSED_MAX_TILE; tile += PP_FUSED_MIN_TILE)
			for (PpFusedStates way : ways)
				for (int last = 0; last < 2; last++, number++)
				{
					Asked		a;

					if (!is_done(number))
						continue;
					a.d.end_marker = true;
					a.nfields = (uint32_t) number % 3;
					a.least = way;
					a.tile_bytes = tile;
					a.alignment = (uint32_t) number % 16;
					a.last = last;
					a.columns = number % 2;
					unit_case("%s in a tile of %u, %s, %u fields%s", c, tile, way_name[way], a.nfields,
							  last ? ", the last" : "");
					schedule((uint32_t) number);
					check_text(a, bytes_of(c));
				}
}

/* Fields and records of many tiles. */
void
test_long(void)
{
	uint64_t	n = unit_iterations(40);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_LONG, i);
		Asked		a;
		Bytes		text;

		a.d = {',', '"', (uint8_t) (unit_once_in(&r, 2) ? '"' : '\\'), unit_once_in(&r, 2)};
		a.eol = (PpEol) (PP_EOL_NL + unit_below(&r, 3));
		a.least = ways[i % 3];
		a.nfields = i % 4 < 2 ? 3 : 1000 + unit_below(&r, 8000);
		a.alignment = unit_below(&r, 16);
		a.last = !unit_once_in(&r, 4);
		a.columns = a.nfields == 3;
		if (a.nfields > 3)
			a.room = 20;
		name_case("long fields", i, a, 0);
		for (int record = 0; record < 3; record++)
		{
			for (uint32_t k = 0; k < a.nfields; k++)
			{
				uint32_t	length = a.nfields == 3 ? unit_below(&r, 7000) : unit_below(&r, 3);
				bool		quoted = unit_once_in(&r, 2);

				if (k > 0)
					text.push_back(',');
				if (quoted)
					text.push_back('"');
				for (uint32_t b = 0; b < length; b++)
				{
					uint32_t	kind = unit_below(&r, 12);

					if (!quoted || kind > 4)
						text.push_back('x');
					else if (kind == 4)
						text.push_back('\n');
					else if (kind == 3)
						text.push_back('\r');
					else if (kind == 2)
						text.push_back(',');
					else
					{
						text.push_back(a.d.escape);
						text.push_back(kind == 0 ? '"' : a.d.escape);
					}
				}
				if (quoted)
					text.push_back('"');
			}
			if (record == 2 && i % 2)
				break;
			if (a.eol != PP_EOL_NL)
				text.push_back('\r');
			if (a.eol != PP_EOL_CR)
				text.push_back('\n');
		}
		schedule((uint32_t) i);
		check_text(a, text);
	}
}

/* Records of the wrong shape: the first counts, in whatever tile. */
void
test_shapes(void)
{
	uint64_t	n = unit_iterations(150);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_SHAPES, i);
		Asked		a;
		Bytes		text;
		uint32_t	seldom = 20 + unit_below(&r, 2000);

		a.eol = (PpEol) (PP_EOL_NL + unit_below(&r, 3));
		a.least = ways[i % 3];
		a.nfields = 1 + unit_below(&r, 4);
		a.alignment = unit_below(&r, 16);
		a.room = unit_once_in(&r, 3) ? 1 + unit_below(&r, 1500) : 0;
		a.last = !unit_once_in(&r, 4);
		a.columns = unit_once_in(&r, 2);
		while (text.size() < 9000)
		{
			uint32_t	fields = a.nfields;

			if (unit_once_in(&r, seldom))
				fields = unit_once_in(&r, 20) ? 5000 : 1 + unit_below(&r, 7);
			for (uint32_t k = 0; k < fields; k++)
			{
				if (k > 0)
					text.push_back(',');
				if (unit_once_in(&r, 2))
					text.push_back('a');
			}
			if (a.eol != PP_EOL_NL)
				text.push_back('\r');
			if (a.eol != PP_EOL_CR)
				text.push_back('\n');
		}
		if (unit_once_in(&r, 2))
			text.resize(text.size() - unit_below(&r, 6));
		name_case("ragged text", i, a, text.size());
		schedule((uint32_t) i);
		check_text(a, text);
	}
}

/* Records without fields hold nothing. */
void
test_empty(void)
{
	static const char *corpus[] = {"", "\n", "\n\n\n", "x", "\nx", "\n\nx\n\n", "\n,\n", "\n\"\"", ",", "\nxx", "\n\nxxx"};
	uint64_t	number = 0;

	for (PpEol eol : {PP_EOL_NL, PP_EOL_CR, PP_EOL_CRNL})
		for (const char *c : corpus)
			for (PpFusedStates way : ways)
				for (uint32_t before : {0u, 1u, 2u, 3u, 4u, 2048u})
				{
					Asked		a;
					Bytes		text;

					if (!is_done(number++))
						continue;
					a.eol = eol;
					a.nfields = 0;
					a.least = way;
					a.last = number % 4 != 0;
					a.alignment = (uint32_t) number % 16;
					if (before < 2048)
					{
						/* up to so many bytes in front of an edge */
						text = lines_up_to(0, a);
						while (text.size() + a.alignment + before + 2 < PP_FUSED_MIN_TILE)
						{
							if (eol != PP_EOL_NL)
								text.push_back('\r');
							if (eol != PP_EOL_CR)
								text.push_back('\n');
						}
					}
					for (const char *p = c; *p; p++)
					{
						if (*p != '\n' || eol != PP_EOL_NL)
							text.push_back((uint8_t) (*p == '\n' ? '\r' : *p));
						if (*p == '\n' && eol != PP_EOL_CR)
							text.push_back('\n');
					}
					unit_case("no fields, %s, %s, %s, %u", unit_show((const uint8_t *) c, strlen(c)),
							  texts_eol_name(eol), way_name[way], before);
					schedule((uint32_t) number);
					check_text(a, text);
				}
}

/* As many records as there is room for, and one more, and one less. */
void
test_room(void)
{
	uint64_t	number = 0;

	for (PpFusedStates way : ways)
		for (int tail = 0; tail < 3; tail++)
			for (uint32_t room = 1; room <= 900; room += room < 4 || (room > 300 && room < 310) ? 1 : 73, number++)
			{
				Asked		a;
				Bytes		text;

				if (!is_done(number))
					continue;
				a.least = way;
				a.nfields = 2;
				a.room = room;
				a.alignment = (uint32_t) number % 16;
				a.columns = number % 2;
				for (int k = 0; k < 305; k++)
				{
					Bytes		line = bytes_of(k % 2 ? "aaaaaa,b\n" : ",\"c\"\n");

					text.insert(text.end(), line.begin(), line.end());
				}
				if (tail == 1)
					text.insert(text.end(), {'x', ',', 'y'});
				if (tail == 2)
					text.insert(text.end(), {'x', '\n', '"'});
				unit_case("room for %u of 305, %s, tail %d", room, way_name[way], tail);
				schedule((uint32_t) number);
				check_text(a, text);
			}
}

/*
 * Many tiles at once, in any order: they have to wait for each other, and look
 * back over more than a warp's window.
 */
void
test_tiles(void)
{
	uint64_t	n = unit_iterations(24);

	for (uint64_t i = 0; i < n || i < 3; i++)
	{
		UnitRandom	r = unit_random(T_TILES, i);
		SimtConfig	config = {};
		Asked		a;
		Bytes		text;
		size_t		ntiles = i % 4 == 3 ? 45 : 12 + unit_below(&r, 6);

		a.d = {',', '"', (uint8_t) (i % 2 ? '"' : '\\'), i % 5 == 0};
		a.eol = (PpEol) (PP_EOL_NL + unit_below(&r, 3));
		a.least = ways[i % 3];
		a.nfields = 1 + unit_below(&r, 3);
		a.alignment = unit_below(&r, 16);
		a.last = !unit_once_in(&r, 4);
		text.resize(ntiles * PP_FUSED_MIN_TILE);
		text.resize(texts_records(&r, &a.d, a.eol, a.nfields, 0, text.data(), text.size()));
		name_case("tiles", i, a, text.size());
		config.seed = 1 + (uint32_t) i;
		config.resident = i % 4 == 3 ? 48 : 8 + (uint32_t) i % 5;
		config.preempt = i % 2 ? 20000 : 2000;
		simt_configure(&config);
		check_text(a, text);
	}
}

/*
 * Maps
 */
template <int STATES>
__global__ void
maps_kernel(const PpVector *a, const PpVector *b, PpVector *composed, uint64_t *packed, uint32_t n)
{
	typedef PpMap<STATES> Map;
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
	{
		typename Map::Word v = Map::compose((typename Map::Word) a[i], (typename Map::Word) b[i]);
		uint64_t	whole = v;

		composed[i] = v;
		packed[i] = Map::unpack(Map::pack(v), &whole);
	}
}

template <int STATES>
void
check_maps(uint32_t nstates)
{
	Stream		stream;
	uint32_t	n = 300;
	std::vector<PpVector> a(n);
	std::vector<PpVector> b(n);
	std::vector<PpVector> composed;
	std::vector<uint64_t> packed;
	Device<PpVector> da(n),
				db(n),
				dc(n);
	Device<uint64_t> dp(n);
	uint64_t	mask = nstates == 16 ? UINT64_MAX : (UINT64_C(1) << (4 * nstates)) - 1;

	unit_case("maps of %u states", nstates);
	schedule(nstates);
	for (uint32_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_MAPS, nstates * 1000 + i);

		for (uint32_t s = 0; s < nstates; s++)
		{
			a[i] |= (PpVector) unit_below(&r, nstates) << (4 * s);
			b[i] |= (PpVector) unit_below(&r, nstates) << (4 * s);
		}
	}
	da.put(a.data(), n, stream.s);
	db.put(b.data(), n, stream.s);
	PP_LAUNCH(maps_kernel<STATES>, (n + 63) / 64, 64, 0, stream.s, da.p, db.p, dc.p, dp.p, n);
	composed = get(dc.p, n, stream.s);
	packed = get(dp.p, n, stream.s);
	for (uint32_t i = 0; i < n; i++)
	{
		PpVector	want = pp_vec_compose(a[i], b[i]) & mask;

		EXPECT(composed[i] == want && packed[i] == want, "map %u: %llx, packed %llx, not %llx", i,
			   (unsigned long long) composed[i], (unsigned long long) packed[i],
			   (unsigned long long) want);
	}
}

/* Which way serves which dialect. */
void
test_ways(void)
{
	static const struct
	{
		PpDialect	d;
		PpEol		eol;
		PpFusedStates way;
	}			cases[] = {
		{{',', '"', '"', false}, PP_EOL_NL, PP_FUSED_PARITY},
		{{',', '"', '"', true}, PP_EOL_CRNL, PP_FUSED_PARITY},
		{{',', '"', '\\', false}, PP_EOL_CRNL, PP_FUSED_STATES_8},
		{{',', '"', '\\', true}, PP_EOL_NL, PP_FUSED_STATES_8},
		{{',', '"', '\\', true}, PP_EOL_CRNL, PP_FUSED_STATES_16},
		{{',', '\\', '\\', true}, PP_EOL_NL, PP_FUSED_STATES_8},
		{{',', '\n', '\n', false}, PP_EOL_CRNL, PP_FUSED_STATES_8},
	};

	for (const auto &c : cases)
		for (PpFusedStates least : ways)
		{
			PpFusedJob	job;
			PpDfa		dfa;

			unit_case("%s, %s: not below %s", texts_dialect_name(&c.d), texts_eol_name(c.eol),
					  way_name[least]);
			pp_dialect_compile(&c.d, c.eol, &dfa);
			EXPECT(pp_fused_states(&job, &c.d, &dfa, least), "too many symbols");
			EXPECT(job.states == (c.way > least ? c.way : least), "it is %s", way_name[job.states]);
		}
}

/* What no job may ask for. */
void
test_refused(void)
{
	PpFusedJob	job = {};
	PpStageClock clock = {};
	PpDialect	d = {',', '"', '"', false};
	PpDfa		dfa;

	unit_case("jobs that are refused");
	pp_dialect_compile(&d, PP_EOL_NL, &dfa);
	EXPECT(pp_fused_states(&job, &d, &dfa, PP_FUSED_PARITY), "too many symbols");
	job.room = 1;
	for (uint32_t tile : {0u, 1024u, 2049u, 3000u, 2u * PP_FUSED_MAX_TILE})
	{
		job.tile_bytes = tile;
		EXPECT(pp_fused_parse(&job, &clock, nullptr) == cudaErrorInvalidValue, "tiles of %u", tile);
	}
	job.tile_bytes = PP_FUSED_TILE;
	job.n = PP_PAPER_MAX_BYTES;
	EXPECT(pp_fused_parse(&job, &clock, nullptr) == cudaErrorInvalidValue, "too many bytes");
	job.n = 0;
	job.room = 0;
	EXPECT(pp_fused_parse(&job, &clock, nullptr) == cudaErrorInvalidValue, "no room");
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "fused_tile_test");
	check_maps<PP_FUSED_STATES_8>(8);
	check_maps<PP_FUSED_STATES_16>(16);
	test_ways();
	test_refused();
	test_tiny();
	test_edges();
	test_dialects();
	test_long();
	test_shapes();
	test_empty();
	test_room();
	test_tiles();
	check_leftovers();
	return unit_end();
}
