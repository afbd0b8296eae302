/*
 * test/cuda/features_test.cpp
 *	  What the publication's pipeline can do beside its main path, under the host
 *	  SIMT layer: limits, memory and launches; symbols of several bytes; skipping
 *	  records and rows; type inference.
 */
#include "../../src/parse/convert.h"
#include "structure_check.h"

namespace
{

enum
{
	T_LIMITS = 21,
	T_UNICODE,
	T_SKIP,
	T_ROWS,
	T_INFER
};

/* More columns than a key has room for are refused, as many as that are not. */
void
test_limits(void)
{
	Stream		stream;
	PpDialect	d = {',', '"', '"', false};
	PpDfa		dfa;

	pp_dialect_compile(&d, PP_EOL_NL, &dfa);
	for (uint32_t nfields : {1u, 2u, 3u, 4u, 7u, 8u, 31u, 126u, 300u})
	{
		UnitRandom	r = unit_random(T_LIMITS, nfields);
		Bytes		text;

		unit_case("%u fields", nfields);
		schedule(nfields);
		for (uint32_t k = 0; k < 3; k++)
			for (uint32_t f = 0; f < nfields; f++)
			{
				std::string v = f % 5 == 0 ? "" : f % 7 == 0 ? "\"\"" : std::to_string(k * 1000 + f);

				text.insert(text.end(), v.begin(), v.end());
				text.push_back(f + 1 < nfields ? ',' : '\n');
			}
		check_all(make_job(dfa, &d, nfields, PP_PAPER_CHUNK), dfa, d, text, 3, &r);
	}

	unit_case("what is refused");
	{
		PpStructureJob job = make_job(dfa, &d, 2, PP_PAPER_CHUNK);
		PpPaperStructure s = {};
		PpFieldsJob fj = {};
		PpStageClock clock = {};
		size_t		bytes;

		job.n = 1000;
		EXPECT(pp_structure_layout(&job, NULL, &bytes, NULL) == cudaSuccess, "this is not");
		job.chunk = 0;
		EXPECT(pp_structure_layout(&job, NULL, &bytes, NULL) == cudaErrorInvalidValue, "chunks of 0");
		job.chunk = PP_PAPER_MAX_CHUNK + 1;
		EXPECT(pp_structure_layout(&job, NULL, &bytes, NULL) == cudaErrorInvalidValue, "large chunks");
		job.chunk = PP_PAPER_CHUNK;
		job.n = PP_PAPER_MAX_BYTES;
		EXPECT(pp_structure_layout(&job, NULL, &bytes, NULL) == cudaErrorInvalidValue, "much text");
		job.n = 1001;
		EXPECT(pp_structure_vectors(&job, &s, PP_SYMBOL_UTF16, stream.s, &clock) == cudaErrorInvalidValue,
			   "half a unit");
		fj.job = &job;
		fj.structure = &s;
		fj.nrecords = 10;
		fj.next = 100;
		fj.ncolumns = 2;
		fj.tagging = PP_TAG_VECTOR;
		EXPECT(pp_fields_layout(&fj, NULL, &bytes, NULL) == cudaSuccess, "this is not, either");
		fj.tagging = PP_TAG_AUTO;
		EXPECT(pp_fields_layout(&fj, NULL, &bytes, NULL) == cudaErrorInvalidValue, "no tagging");
		fj.tagging = PP_TAG_INLINE;
		job.ragged = true;
		EXPECT(pp_fields_layout(&fj, NULL, &bytes, NULL) == cudaErrorInvalidValue, "ragged");
		fj.tagging = PP_TAG_RECORD;
		EXPECT(pp_fields_layout(&fj, NULL, &bytes, NULL) == cudaSuccess, "ragged with tags");
		fj.ncolumns = PP_PAPER_COLUMNS + 1;
		EXPECT(pp_fields_layout(&fj, NULL, &bytes, NULL) == cudaErrorInvalidValue, "columns");
		fj.ncolumns = PP_PAPER_COLUMNS;
		fj.nrecords = 20000000;
		EXPECT(pp_fields_layout(&fj, NULL, &bytes, NULL) == cudaErrorInvalidValue, "2^31 fields");
	}

	/*
	 * Device memory: text twice, structure and fields, of a partition whose
	 * values have 5.2 bytes on average (the publication's narrow data set).
	 */
	for (PpTagging tagging : {PP_TAG_RECORD, PP_TAG_INLINE, PP_TAG_VECTOR})
	{
		PpStructureJob job = make_job(dfa, &d, 17, PP_PAPER_CHUNK);
		PpFieldsJob fj = {};
		size_t		structure;
		size_t		fields;
		double		factor;

		unit_case("device memory, tagging %d", (int) tagging);
		job.n = 64u << 20;
		fj.job = &job;
		fj.next = job.n;
		fj.nrecords = (uint32_t) (job.n / (17 * 6.2));
		fj.ncolumns = 17;
		fj.tagging = tagging;
		CUDA(pp_structure_layout(&job, NULL, &structure, NULL));
		CUDA(pp_fields_layout(&fj, NULL, &fields, NULL));
		factor = 2 + (double) (structure + fields) / job.n;
		EXPECT(factor <= (tagging == PP_TAG_RECORD ? 16.0 : 8.0), "%.2f times the partition", factor);
		printf("features_test: tagging %d takes %.2f times the partition\n", (int) tagging, factor);
	}

	/* the number of launches does not depend on the number of columns */
	for (PpTagging tagging : {PP_TAG_RECORD, PP_TAG_INLINE, PP_TAG_VECTOR})
	{
		uint64_t	before[PP_STAGES] = {0};

		unit_case("launches, tagging %d", (int) tagging);
		for (uint32_t nfields : {1u, 5u, 100u})
		{
			Bytes		text(2 * nfields, ',');
			uint64_t	launches[PP_STAGES];
			std::vector<uint16_t> map;
			Structure	g;
			PpStageClock clock = {};
			size_t		bytes;

			text[nfields - 1] = text[2 * nfields - 1] = '\n';
			for (uint32_t k = 0; k < nfields; k++)
				map.push_back((uint16_t) k);

			PpStructureJob job = make_job(dfa, &d, nfields, PP_PAPER_CHUNK);
			DeviceText	device(text, 0, &d, stream.s);

			job.text = device.p;
			job.n = (uint32_t) text.size();
			CUDA(pp_structure_layout(&job, NULL, &bytes, NULL));

			Device<uint8_t> memory(bytes);

			CUDA(pp_structure_layout(&job, memory.p, &bytes, &g.s));
			CUDA(pp_structure_run(&job, &g.s, stream.s, &clock));
			g.result = get(g.s.result, 1, stream.s)[0];
			check_fields(job, g, read_text(dfa, d, text, true), tagging, map, nfields, launches, stream.s);
			EXPECT(launches[PP_STAGE_TAG] == 2 && launches[PP_STAGE_PARTITION] == 1 &&
				   launches[PP_STAGE_INDEX] == (tagging == PP_TAG_RECORD ? 7 : 1), "launches");
			EXPECT(before[PP_STAGE_TAG] == 0 || memcmp(before, launches, sizeof(before)) == 0,
				   "%u columns take other launches", nfields);
			memcpy(before, launches, sizeof(before));
		}
	}
}

/*
 * Symbols of several bytes.  The sequential reader knows where each symbol
 * starts and what byte stands for it; a chunk gets those that start in it.
 */
struct Symbol
{
	uint32_t	at;
	uint32_t	value;			/* 256: none of those told apart */
};

void
check_unicode(const PpDfa &dfa, const Bytes &text, const std::vector<Symbol> &symbols,
			  uint32_t chunk, PpSymbolEncoding encoding, uint32_t alignment)
{
	PpStructureJob job = make_job(dfa, NULL, 1, chunk);
	std::vector<PpVector> vector = run_vectors(job, text, alignment, encoding);
	PpVector	whole = PP_VEC_IDENTITY;
	PpVector	composed = PP_VEC_IDENTITY;

	for (size_t k = 0; k < vector.size(); k++)
	{
		PpVector	want = PP_VEC_IDENTITY;

		for (const Symbol &s : symbols)
			if (s.at / chunk == k)
				want = pp_vec_compose(want, s.value < 256 ? dfa.row[dfa.group[s.value]] :
									  job.dfa.row[job.dfa.nsymbols]);
		EXPECT(vector[k] == want, "chunk %zu of %u bytes", k, chunk);
		composed = pp_vec_compose(composed, vector[k]);
	}
	for (const Symbol &s : symbols)
		whole = pp_vec_compose(whole, s.value < 256 ? dfa.row[dfa.group[s.value]] :
							   job.dfa.row[job.dfa.nsymbols]);
	EXPECT(composed == whole, "composed");
}

void
put_utf8(Bytes *text, uint32_t c)
{
	if (c < 0x80)
		text->push_back((uint8_t) c);
	else
	{
		int			trailing = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

		text->push_back((uint8_t) ((0xff00 >> (trailing + 1)) | c >> (6 * trailing)));
		while (trailing-- > 0)
			text->push_back((uint8_t) (0x80 | (c >> (6 * trailing) & 0x3f)));
	}
}

void
put_utf16(Bytes *text, uint32_t c)
{
	uint32_t	unit[2] = {c, 0};
	int			n = 1;

	if (c >= 0x10000)
	{
		unit[0] = 0xd800 | (c - 0x10000) >> 10;
		unit[1] = 0xdc00 | ((c - 0x10000) & 0x3ff);
		n = 2;
	}
	for (int i = 0; i < n; i++)
	{
		text->push_back((uint8_t) unit[i]);
		text->push_back((uint8_t) (unit[i] >> 8));
	}
}

void
test_unicode(void)
{
	/* of every length, at the ends of their ranges, with the bytes of '"' and ',' */
	static const uint32_t points[] = {
		'a', '"', ',', '\n', 0x7f, 0x80, 0xff, 0x100, 0x2c22, 0x222c, 0x0a22, 0x7ff, 0x800,
		0xd7ff, 0xe000, 0xfffd, 0xffff, 0x10000, 0x10ffff, 0x1f600, 0x1222c, 0x2200,
	};
	uint64_t	n = unit_iterations(60);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_UNICODE, i);
		uint32_t	count = 1 + unit_below(&r, 60);
		uint32_t	chunk = 1 + unit_below(&r, 24);
		Bytes		utf8,
					utf16;
		std::vector<Symbol> symbols8,
					symbols16;
		PpDfa		dfa;

		unit_case("code points %llu, chunks of %u", (unsigned long long) i, chunk);
		schedule((uint32_t) i);
		if (unit_once_in(&r, 2))
		{
			static const PpDialect d = {',', '"', '\\', false};

			pp_dialect_compile(&d, PP_EOL_NL, &dfa);
		}
		else
		{
			/* counts symbols, so that one taken twice or never shows */
			memset(&dfa, 0, sizeof(dfa));
			dfa.nstates = 13;
			for (uint32_t s = 0; s < 13; s++)
				for (uint32_t b = 0; b < 256; b++)
					dfa.step[s][b] = (uint8_t) ((s + (b == '"' ? 2 : b == ',' ? 5 : b == '\n' ? 7 : 1)) % 13);
			pp_dfa_group(&dfa);
		}
		for (uint32_t k = 0; k < count; k++)
		{
			uint32_t	c = points[unit_below(&r, sizeof(points) / sizeof(points[0]))];

			symbols8.push_back({(uint32_t) utf8.size(), c < 0x80 ? c : 256});
			put_utf8(&utf8, c);
			symbols16.push_back({(uint32_t) utf16.size(), c < 0x100 ? c : 256});
			put_utf16(&utf16, c);
		}
		check_unicode(dfa, utf8, symbols8, chunk, PP_SYMBOL_UTF8, unit_below(&r, 16));
		check_unicode(dfa, utf16, symbols16, (chunk + 1) & ~1u, PP_SYMBOL_UTF16, unit_below(&r, 16));
	}

	unit_case("every cut of every code point");
	for (uint32_t c : points)
	{
		if (!is_done((uint64_t) (std::find(points, points + sizeof(points) / sizeof(points[0]), c) - points)))
			continue;
		Bytes		utf8,
					utf16;
		std::vector<Symbol> symbols8,
					symbols16;
		PpDfa		dfa;

		memset(&dfa, 0, sizeof(dfa));
		dfa.nstates = 16;
		for (uint32_t s = 0; s < 16; s++)
			for (uint32_t b = 0; b < 256; b++)
				dfa.step[s][b] = (uint8_t) ((s + (b == '"' ? 3 : 1)) % 16);
		pp_dfa_group(&dfa);
		for (uint32_t p : {(uint32_t) 'x', c, c, (uint32_t) '"'})
		{
			symbols8.push_back({(uint32_t) utf8.size(), p < 0x80 ? p : 256});
			put_utf8(&utf8, p);
			symbols16.push_back({(uint32_t) utf16.size(), p < 0x100 ? p : 256});
			put_utf16(&utf16, p);
		}
		for (uint32_t chunk = 1; chunk <= utf8.size(); chunk++)
			check_unicode(dfa, utf8, symbols8, chunk, PP_SYMBOL_UTF8, 0);
		for (uint32_t chunk = 2; chunk <= utf16.size(); chunk += 2)
			check_unicode(dfa, utf16, symbols16, chunk, PP_SYMBOL_UTF16, 0);
	}
}

/* A header that is nothing like the records behind it, and more to be skipped. */
void
test_skip(void)
{
	PpDialect	d = {',', '"', '"', false};
	PpDfa		dfa;
	Bytes		text = bytes_of("only \"one\nfield\"\n1,2,3,4\na,b\nc,\"d\"\n,\ne,f");

	pp_dialect_compile(&d, PP_EOL_NL, &dfa);
	for (uint32_t skip = 0; skip <= 8; skip++)
		for (uint32_t chunk = 1; chunk <= 37; chunk += 4)
		{
			UnitRandom	r = unit_random(T_SKIP, skip * 100 + chunk);
			PpStructureJob job;

			if (!is_done(skip * 10 + chunk / 4))
				continue;
			unit_case("%u records skipped, chunks of %u", skip, chunk);
			schedule(skip + chunk);
			job = make_job(dfa, &d, 2, chunk);
			job.skip_first = skip;
			if (chunk % 8 == 1)
				job.max_records = 1 + skip;
			check_all(job, dfa, d, text, 0, &r);
		}
}

void
test_rows(void)
{
	uint64_t	n = unit_iterations(150);

	for (uint64_t i = 0; i < n; i++)
	{
		Stream		stream;
		UnitRandom	r = unit_random(T_ROWS, i);
		static const uint8_t alphabet[] = "ab\n\r\"\xc3,";
		Bytes		text(unit_below(&r, 600));
		Bytes		want;
		std::vector<uint32_t> rows;
		uint32_t	number = 0;
		uint32_t	most = 1 + unit_below(&r, 30);

		for (uint8_t &c : text)
			c = alphabet[unit_below(&r, 7)];
		for (uint32_t k = 0; k < 200; k++)
			if (i % 3 == 0 ? k < most : unit_once_in(&r, most))
				rows.push_back(k);
		for (size_t k = 0; k < text.size(); k++)
		{
			bool		ignored = false;

			for (uint32_t row : rows)
				ignored |= row == number;
			if (!ignored)
				want.push_back(text[k]);
			if (text[k] == '\n' || (text[k] == '\r' && (k + 1 == text.size() || text[k + 1] != '\n')))
				number++;
		}

		DeviceText	device(text, unit_below(&r, 16), NULL, stream.s);
		Device<uint32_t> row(rows.size());
		Device<uint32_t> out_n(1);
		Device<uint8_t> out(text.size() + 1);
		PpRowsJob	job = {};
		PpStageClock clock = {};
		size_t		bytes;
		uint32_t	got;

		unit_case("rows %llu: %zu of %u out of %zu bytes", (unsigned long long) i, rows.size(),
				  number, text.size());
		schedule((uint32_t) i);
		row.put(rows.data(), rows.size(), stream.s);
		job.text = device.p;
		job.n = (uint32_t) text.size();
		job.chunk = 1 + unit_below(&r, 70);
		job.row = row.p;
		job.nrows = (uint32_t) rows.size();
		CUDA(pp_rows_layout(&job, &bytes));

		Device<uint8_t> memory(bytes);

		CUDA(pp_rows_run(&job, memory.p, bytes, out.p, out_n.p, stream.s, &clock));
		got = get(out_n.p, 1, stream.s)[0];
		EXPECT(got == want.size(), "%u bytes are left, not %zu", got, want.size());
		if (got == want.size())
			EXPECT(get(out.p, got, stream.s) == want, "other bytes are left");
	}
}

/*
 * Type inference, through the whole pipeline
 */
uint32_t
infer(const std::vector<std::string> &values, const std::string &null_text, PpTagging tagging)
{
	Stream		stream;
	PpDialect	d = {';', '"', '"', false};
	PpDfa		dfa;
	Bytes		text;
	std::vector<uint16_t> map = {0xffff, 0};
	Device<uint16_t> device_map(2);
	Device<uint32_t> kinds(1);
	Device<uint8_t> null_bytes(null_text.size() + 1);
	Structure	g;
	PpFieldsJob fj = {};
	PpFields	f = {};
	PpStageClock clock = {};
	size_t		bytes;

	for (const std::string &v : values)
	{
		text.push_back('#');
		text.push_back(';');
		text.insert(text.end(), v.begin(), v.end());
		text.push_back('\n');
	}
	pp_dialect_compile(&d, PP_EOL_NL, &dfa);

	PpStructureJob job = make_job(dfa, &d, 2, PP_PAPER_CHUNK);
	DeviceText	device(text, 5, &d, stream.s);

	job.text = device.p;
	job.n = (uint32_t) text.size();
	CUDA(pp_structure_layout(&job, NULL, &bytes, NULL));

	Device<uint8_t> memory(bytes);

	CUDA(pp_structure_layout(&job, memory.p, &bytes, &g.s));
	CUDA(pp_structure_run(&job, &g.s, stream.s, &clock));
	g.result = get(g.s.result, 1, stream.s)[0];
	EXPECT(g.result.nrecords == values.size(), "%u records", g.result.nrecords);

	device_map.put(map.data(), 2, stream.s);
	null_bytes.put(reinterpret_cast<const uint8_t *>(null_text.data()), null_text.size(), stream.s);
	fj.job = &job;
	fj.structure = &g.s;
	fj.nrecords = g.result.nrecords;
	fj.next = g.result.next;
	fj.ncolumns = 1;
	fj.column_of_field = device_map.p;
	fj.tagging = tagging;
	CUDA(pp_fields_layout(&fj, NULL, &bytes, NULL));

	Device<uint8_t> fields(bytes);

	CUDA(pp_fields_layout(&fj, fields.p, &bytes, &f));
	CUDA(pp_fields_run(&fj, fields.p, bytes, &f, stream.s, &clock));
	CUDA(pp_infer_run(&f, 1, null_bytes.p, (uint32_t) null_text.size(), kinds.p, stream.s, &clock));
	return get(kinds.p, 1, stream.s)[0];
}

void
test_infer(void)
{
	static const struct
	{
		const char *value;
		uint32_t	kind;
	}			single[] = {
		{"0", PP_KIND_INT2}, {"-32768", PP_KIND_INT2}, {"32767", PP_KIND_INT2}, {"+5", PP_KIND_INT2},
		{"32768", PP_KIND_INT4}, {"-32769", PP_KIND_INT4}, {"2147483647", PP_KIND_INT4},
		{"-2147483648", PP_KIND_INT4}, {"2147483648", PP_KIND_INT8}, {"-2147483649", PP_KIND_INT8},
		{"9223372036854775807", PP_KIND_INT8}, {"-9223372036854775808", PP_KIND_INT8},
		{"9223372036854775808", PP_KIND_NUMERIC}, {"-9223372036854775809", PP_KIND_NUMERIC},
		{"00000000000000000000000000000012", PP_KIND_INT2},
		{"123456789012345678901234567890", PP_KIND_NUMERIC}, {"1.5", PP_KIND_NUMERIC},
		{".5", PP_KIND_NUMERIC}, {"5.", PP_KIND_NUMERIC}, {"-0.00", PP_KIND_NUMERIC},
		{"1e5", PP_KIND_FLOAT8}, {"-1.25E-100", PP_KIND_FLOAT8}, {"NaN", PP_KIND_FLOAT8},
		{"-Infinity", PP_KIND_FLOAT8}, {"inf", PP_KIND_FLOAT8},
		{"1e", PP_KIND_TEXT}, {"1e999", PP_KIND_TEXT}, {".", PP_KIND_TEXT}, {"-", PP_KIND_TEXT},
		{"1 ", PP_KIND_TEXT}, {"0x10", PP_KIND_TEXT}, {"--1", PP_KIND_TEXT}, {"infinit", PP_KIND_TEXT},
		{"2024-02-29", PP_KIND_DATE}, {"2023-02-29", PP_KIND_TEXT}, {"1900-02-29", PP_KIND_TEXT},
		{"2000-02-29", PP_KIND_DATE}, {"2024-04-31", PP_KIND_TEXT}, {"2024-08-31", PP_KIND_DATE},
		{"2024-13-01", PP_KIND_TEXT}, {"2024-00-01", PP_KIND_TEXT}, {"0000-01-01", PP_KIND_TEXT},
		{"24-01-01", PP_KIND_TEXT}, {"2024-1-01", PP_KIND_TEXT},
		{"23:59", PP_KIND_TIME}, {"00:00:00.123456", PP_KIND_TIME}, {"24:00", PP_KIND_TEXT},
		{"12:60", PP_KIND_TEXT}, {"12:00:00.", PP_KIND_TEXT}, {"12:00:00.1234567", PP_KIND_TEXT},
		{"2024-01-02 03:04:05", PP_KIND_TIMESTAMP}, {"2024-01-02T03:04", PP_KIND_TIMESTAMP},
		{"2024-01-02 03:04:05.5+02", PP_KIND_TIMESTAMPTZ}, {"2024-01-02 03:04:05Z", PP_KIND_TIMESTAMPTZ},
		{"2024-01-02 03:04:05-03:30", PP_KIND_TIMESTAMPTZ}, {"2024-01-02 03:04:05+2", PP_KIND_TEXT},
		{"2024-01-02 ", PP_KIND_TEXT}, {"2024-01-02 03:04:05 x", PP_KIND_TEXT},
		{"", 0}, {"\"\"", 0}, {"NULL", 0}, {"\"NULL\"", PP_KIND_TEXT}, {"\"7\"", PP_KIND_INT2},
		{"abc", PP_KIND_TEXT},
		{"1234567890123456789012345678901234567890123456789012345678901234", PP_KIND_NUMERIC},
		{"12345678901234567890123456789012345678901234567890123456789012345", PP_KIND_TEXT},
	};
	static const struct
	{
		std::vector<std::string> values;
		PpType		type;
	}			columns[] = {
		{{"1", "2", "", "NULL"}, PP_INT2},
		{{"1", "100000"}, PP_INT4},
		{{"10000000000", "1"}, PP_INT8},
		{{"1", "1.5"}, PP_NUMERIC},
		{{"1e5", "1", "2.5"}, PP_FLOAT8},
		{{"", "NULL", ""}, PP_TEXT},
		{{"1", "x"}, PP_TEXT},
		{{"2024-01-01", "2024-02-02"}, PP_DATE},
		{{"2024-01-01", "2024-02-02 10:00"}, PP_TIMESTAMP},
		{{"2024-01-01", "2024-02-02 10:00", "2024-02-02 10:00Z"}, PP_TIMESTAMPTZ},
		{{"10:00", "11:00:01"}, PP_TIME},
		{{"10:00", "2024-01-01"}, PP_TEXT},
		{{"1", "2024-01-01"}, PP_TEXT},
	};
	PpEnv		env = {PP_CHARSET_UTF8, 0, NULL};

	for (const auto &s : single)
	{
		if (!is_done((uint64_t) (&s - single)))
			continue;
		unit_case("kind of %s", s.value);

		uint32_t	kind = infer({s.value}, "NULL", PP_TAG_VECTOR);
		Bytes		padded = bytes_of(s.value);
		uint32_t	n = (uint32_t) padded.size();
		PpColumn	column = {pp_infer_type(kind), 0, 0, -1};
		uint64_t	value;

		EXPECT(kind == s.kind, "%x, not %x", kind, s.kind);

		/* whatever type it has, the engine takes the value for it */
		padded.resize(n + PP_PAD);
		if (kind != 0 && s.value[0] != '"')
		{
			if (pp_type_by_reference(column.type))
			{
				Bytes		room(pp_convert_room(&column, n) + 8);

				EXPECT(pp_convert_reference(&column, &env, padded.data(), n, room.data()) > 0,
					   "not of its type");
			}
			else if (kind != PP_KIND_FLOAT8)	/* what it says of these differs */
				EXPECT(pp_convert_value(&column, &env, padded.data(), n, &value), "not of its type");
		}
		/* and would not for a narrower one */
		if (kind == PP_KIND_INT4 || kind == PP_KIND_INT8)
		{
			column.type = kind == PP_KIND_INT4 ? PP_INT2 : PP_INT4;
			EXPECT(!pp_convert_value(&column, &env, padded.data(), n, &value), "of a narrower type");
		}
	}
	for (const auto &c : columns)
		for (PpTagging tagging : {PP_TAG_RECORD, PP_TAG_INLINE, PP_TAG_VECTOR})
		{
			uint32_t	kinds;

			if (!is_done((uint64_t) (&c - columns)))
				continue;
			unit_case("column that starts with %s, tagging %d", c.values[0].c_str(), (int) tagging);
			kinds = infer(c.values, "NULL", tagging);
			EXPECT(pp_infer_type(kinds) == c.type, "type %d, not %d", (int) pp_infer_type(kinds), (int) c.type);
		}

	/* a column of many values, of which one decides */
	for (uint64_t i = 0; i < unit_iterations(6); i++)
	{
		UnitRandom	r = unit_random(T_INFER, i);
		std::vector<std::string> values(600);
		uint32_t	kinds;

		unit_case("one of many %llu", (unsigned long long) i);
		schedule((uint32_t) i);
		for (std::string &v : values)
			v = std::to_string(unit_below(&r, 30000));
		EXPECT(infer(values, "", PP_TAG_INLINE) == PP_KIND_INT2, "small integers only");
		values[unit_below(&r, 600)] = "-5000000000";
		kinds = infer(values, "", PP_TAG_INLINE);
		EXPECT(kinds == (PP_KIND_INT2 | PP_KIND_INT8), "kinds %x", kinds);
	}
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "features_test");
	test_limits();
	test_unicode();
	test_skip();
	test_rows();
	test_infer();
	check_leftovers();
	return unit_end();
}
