/*
 * test/cuda/json_device_test.cpp
 *	  JSON on the device under the host SIMT layer, against the CPU's backend of
 *	  the reference level: chosen and random records, good and broken, in jobs
 *	  cut anywhere, tiles of several sizes and schedules; the JSONTestSuite if it
 *	  is there.
 *
 * Launches are counted: records that the device accepts must have been read by
 * its kernels.
 *
 * PP_JSON_SUITE: the folder of the JSONTestSuite with test_parsing in it, by
 * default shared/json_test_suite beside the source tree.
 */
#include <dirent.h>

#include "json_check.h"

namespace
{

/* Runs a text on the device and compares with what the CPU says. */
void
compare(JsonTable t, const JsonCuts *cuts, const char *text, uint32_t len, const JsonLog *want)
{
	JsonLog		got = {NULL, 0, 0};
	UnitHeap	heap;
	bool		ran;

	memset(&heap, 0, sizeof(heap));
	t.backend = t.documents ? &counted_documents : &counted;
	t.lean = true;
	t.ahead = cuts->step % 2 != 0;
	ran = json_run(&t, cuts, unit_heap_alloc(&heap), reinterpret_cast<const uint8_t *>(text), len, &got);
	EXPECT(ran, "failed: %s", library->error());
	if (ran)
	{
		size_t		at = 0;

		while (at < got.len && at < want->len && got.text[at] == want->text[at])
			at++;
		at = at > 300 ? at - 300 : 0;
		EXPECT(got.len == want->len && (want->len == 0 || memcmp(got.text, want->text, got.len) == 0),
			   "jobs of %u and %u, %u records, %s:\ngot:\n%.900s\nwanted:\n%.900s", cuts->first, cuts->step,
			   cuts->max_records, unit_show(reinterpret_cast<const uint8_t *>(text), len),
			   got.len ? got.text + at : "nothing\n", want->len ? want->text + at : "nothing\n");
	}
	EXPECT(heap.live_blocks == 0, "%zu blocks not released", heap.live_blocks);
	json_log_free(&got);
}

void
expected(JsonTable t, const char *text, uint32_t len, bool unlisted, JsonLog *log)
{
	const JsonCuts reference = {PP_SIMD_SCALAR, 0, 0, 1000000, unlisted};
	UnitHeap	heap;

	memset(&heap, 0, sizeof(heap));
	t.lean = true;
	EXPECT(json_run(&t, &reference, unit_heap_alloc(&heap), reinterpret_cast<const uint8_t *>(text), len, log),
		   "the CPU failed");
}

/* Whole and cut. */
void
everywhere(const JsonTable *t, const char *text, uint32_t len, UnitRandom *r)
{
	JsonLog		want = {NULL, 0, 0};
	JsonCuts	cuts = {PP_SIMD_SCALAR, 0, 0, 1000000, false};

	expected(*t, text, len, false, &want);
	schedule(unit_below(r, 1000));
	compare(*t, &cuts, text, len, &want);
	cuts.first = 1 + unit_below(r, len + 1);
	cuts.step = 1 + unit_below(r, len + 1);
	cuts.max_records = 1 + unit_below(r, 4);
	compare(*t, &cuts, text, len, &want);
	json_log_free(&want);
}

void
test_chosen(void)
{
	UnitRandom	r = unit_random(T_CHOSEN, 0);

	for (uint32_t i = 0; i < JSON_CHOSEN; i++)
		for (uint32_t n = 0; n < JSON_TABLES; n++)
		{
			JsonTable	t;

			if (unit_iterations(JSON_CHOSEN) < JSON_CHOSEN && unit_below(&r, JSON_CHOSEN) >= unit_iterations(JSON_CHOSEN))
				continue;
			json_table(&t, n);
			unit_case("chosen text %u, table %u", i, n);
			everywhere(&t, json_chosen[i], (uint32_t) strlen(json_chosen[i]), &r);
		}
	for (uint32_t n = 0; n < JSON_TABLES; n++)
	{
		JsonTable	t;

		json_table(&t, n);
		unit_case("zero bytes, table %u", n);
		everywhere(&t, "{\"a\":\0}", 7, &r);
		everywhere(&t, "{\"a\":\"\0\"}\n{}", 12, &r);
		everywhere(&t, "\0", 1, &r);
	}
}

/* Containers within each other, on both sides of the limits. */
void
test_depth(void)
{
	UnitRandom	r = unit_random(T_CHOSEN, 1);

	for (uint32_t depth = 62; depth <= 72; depth++)
		for (uint32_t kind = 0; kind < 3; kind++)
		{
			std::string text;
			JsonTable	t;

			json_table(&t, 1);
			if (kind == 1)
				t.max_depth = 64;
			for (uint32_t i = 0; i < depth; i++)
				text += kind == 0 || (kind == 2 && i % 3) ? "[" : "{\"a\":";
			text += "1";
			for (uint32_t i = depth; i-- > 0;)
				text += kind == 0 || (kind == 2 && i % 3) ? ']' : '}';
			unit_case("depth %u, kind %u", depth, kind);
			everywhere(&t, text.data(), (uint32_t) text.size(), &r);
			text[text.size() - 1 - depth / 2] ^= 0x20;
			everywhere(&t, text.data(), (uint32_t) text.size(), &r);
		}
}

void
test_random(void)
{
	JsonText	text = {NULL, 0, 0};

	for (uint64_t i = 0; i < unit_iterations(1500); i++)
	{
		UnitRandom	r = unit_random(T_RANDOM, i);
		uint32_t	table = unit_below(&r, JSON_TABLES);
		JsonTable	t;

		json_table(&t, table);
		json_random_text(&text, &r, 1 + unit_below(&r, 12), unit_once_in(&r, 2));
		unit_case("random records %llu, table %u", (unsigned long long) i, table);
		everywhere(&t, text.s, text.n, &r);
	}
	free(text.s);
}

/* Many tiles, records that span some, blank lines that do; records unlisted. */
void
test_large(void)
{
	JsonText	text = {NULL, 0, 0};

	for (uint64_t i = 0; i < unit_iterations(60); i++)
	{
		UnitRandom	r = unit_random(T_LARGE, i);
		uint32_t	table = unit_below(&r, JSON_TABLES);
		JsonTable	t;
		JsonLog		want = {NULL, 0, 0};
		JsonCuts	cuts = {PP_SIMD_SCALAR, 0, 0, 1000000, true};

		json_table(&t, table);
		json_random_text(&text, &r, 20 + unit_below(&r, 300), unit_once_in(&r, 2));
		for (uint32_t k = unit_below(&r, 3); k > 0; k--)
		{
			uint32_t	n = unit_below(&r, 6000);

			switch (unit_below(&r, 3))
			{
				case 0:
					json_text_add(&text, "\n{\"b\":\"");
					while (n-- > 0)
						json_text_add(&text, n % 97 ? "long " : "\\u00e9");
					json_text_add(&text, "\",\"a\":[1,2");
					for (n = unit_below(&r, 300); n > 0; n--)
						json_text_add(&text, ",{\"c\":[1.5]}");
					json_text_add(&text, "]}\n");
					break;
				case 1:
					json_text_add(&text, "\n");
					while (n-- > 0)
						json_text_add(&text, n % 7 ? " " : "\r");
					json_text_add(&text, "\n");
					break;
				default:
					json_text_add(&text, "\n{\"a\":1}");
					while (n-- > 0)
						json_text_add(&text, n % 997 ? " " : "\t");
					json_text_add(&text, "\n{\"a\":2}\n");
					break;
			}
		}
		unit_case("large text %llu, table %u", (unsigned long long) i, table);
		schedule((uint32_t) i);
		expected(t, text.s, text.n, true, &want);
		compare(t, &cuts, text.s, text.n, &want);
		cuts.first = 1 + unit_below(&r, text.n);
		cuts.step = 1 + unit_below(&r, 30000) + 5000;
		cuts.max_records = 1 + unit_below(&r, 500);
		compare(t, &cuts, text.s, text.n, &want);
		json_log_free(&want);
	}
	free(text.s);
}

/* What is longer than the device takes: strings, white space, blank lines. */
void
test_long(void)
{
	static const char fill[] = {'x', ' ', '\t', '1'};
	UnitRandom	r = unit_random(T_LONG, 0);

	for (uint32_t kind = 0; kind < 4; kind++)
		for (uint32_t n : {(uint32_t) PP_JSON_LONG - 20, (uint32_t) PP_JSON_LONG - 8, (uint32_t) PP_JSON_LONG, 3u * PP_JSON_LONG})
		{
			const std::string filling(n, fill[kind]);
			const std::string record = kind == 0 ? "{\"b\":\"" + filling + "\",\"a\":7}\n" :
				kind == 1 ? "{\"a\":7}" + filling + "\n" : kind == 2 ? filling + "\n" : "{\"b\":" + filling + "}\n";
			const std::string text = "{\"a\":5,\"b\":\"y\"}\n" + record + "{\"a\":6}\n\n" + filling + "\n" + record;
			JsonTable	t;

			json_table(&t, kind == 1 ? 4 : 0);
			unit_case("%u bytes, kind %u", n, kind);
			everywhere(&t, text.data(), (uint32_t) text.size(), &r);
		}
}

/*
 * Records of one kind, of which all that the device has a conversion for has to
 * be done by it: its launches are counted, and what it hands over.
 */
void
test_alike(void)
{
	static const PpJsonStep a = {reinterpret_cast<const uint8_t *>("a"), 1, 0};
	static const PpJsonStep b = {reinterpret_cast<const uint8_t *>("b"), 1, 0};
	UnitRandom	r = unit_random(T_ALIKE, 0);

	for (uint32_t type = PP_DEFER; type <= PP_BYTEA; type++)
	{
		std::string text;
		JsonTable	t;
		JsonLog		want = {NULL, 0, 0};
		JsonCuts	cuts = {PP_SIMD_SCALAR, 0, 0, 1000000, false};
		PpCudaStats before = total;

		memset(&t, 0, sizeof(t));
		t.ncolumns = 2;
		t.column[0].type = (PpType) type;
		t.column[0].mod = -1;
		if (type == PP_VARCHAR || type == PP_BPCHAR)
			t.column[0].mod = 12;
		t.column[1].type = PP_INT4;
		t.column[1].mod = -1;
		t.json[0].nsteps = t.json[1].nsteps = 1;
		t.json[0].step = &a;
		t.json[1].step = &b;
		t.max_depth = 10;
		for (uint32_t i = 0; i < 400; i++)
		{
			static const char *const value[] = {
				"true", "\"f\"", "12", "-3", "12.25", "1e3", "\"2024-02-29\"", "\"12:34:56\"", "null",
				"\"2024-02-29 12:34:56.5\"", "\"2024-02-29 12:34:56+02\"", "\"some text\"", "\"\\u00e9\\n\"",
				"\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"", "\"\\\\xdeadbeef\"", "\"\"", "[1, 2]", "{\"x\":null}",
				"\"a text of more than forty-eight bytes, which a warp copies together\"", "\"\xe2\x82\xac\xe2\x82\xac\""
			};

			text += "{\"b\": " + std::to_string(i % 10) + ", \"a\": " + value[unit_below(&r, 20)] + "}\r\n";
		}
		unit_case("type %u", type);
		schedule(type);
		expected(t, text.data(), (uint32_t) text.size(), false, &want);
		compare(t, &cuts, text.data(), (uint32_t) text.size(), &want);
		EXPECT(total.launches[PP_STAGE_PARSE] - before.launches[PP_STAGE_PARSE] == 3, "%llu launches of the pass",
			   (unsigned long long) (total.launches[PP_STAGE_PARSE] - before.launches[PP_STAGE_PARSE]));
		EXPECT(total.launches[PP_STAGE_COLUMNS] > before.launches[PP_STAGE_COLUMNS], "no conversion");
		json_log_free(&want);

		/* as elements of an array: another pass over what is behind it, if that */
		unit_case("type %u, a document", type);
		{
			std::string document = "[" + text + "]\n";
			JsonTable	d = t;

			for (size_t i = 0; i + 1 < document.size(); i++)
				if (document[i] == '\n' && document[i + 1] == '{')
					document[i] = ',';
			d.documents = true;
			before = total;
			expected(d, document.data(), (uint32_t) document.size(), false, &want);
			compare(d, &cuts, document.data(), (uint32_t) document.size(), &want);
			EXPECT(total.launches[PP_STAGE_PARSE] - before.launches[PP_STAGE_PARSE] <= 6, "%llu launches of the pass",
				   (unsigned long long) (total.launches[PP_STAGE_PARSE] - before.launches[PP_STAGE_PARSE]));
			EXPECT(total.launches[PP_STAGE_COLUMNS] - before.launches[PP_STAGE_COLUMNS] >= 3, "no conversion");
			json_log_free(&want);
		}

		/* the same with filters, on each of the columns and on both */
		for (uint32_t f = 1; f < 4; f++)
		{
			unit_case("type %u, filters %u", type, f);
			t.nfilters = 0;
			if (f & 1)
			{
				PpFilter   *filter = &t.filter[t.nfilters++];

				filter->column = 1;
				filter->op = PP_OP_LT;
				filter->compare = PP_COMPARE_INT64;
				filter->constant = f == 1 ? 3 : 7;
			}
			if (f & 2)
			{
				PpFilter   *filter = &t.filter[t.nfilters++];

				filter->column = 0;
				filter->op = type % 2 ? PP_OP_NOT_NULL : PP_OP_EQ;
				filter->compare = type == PP_TEXT || type == PP_VARCHAR ? PP_COMPARE_BYTES : PP_COMPARE_INT64;
				filter->constant = 12;
				if (filter->compare == PP_COMPARE_BYTES)
				{
					filter->bytes = reinterpret_cast<const uint8_t *>("some text");
					filter->nbytes = 9;
				}
				else if (pp_type_by_reference((PpType) type))
					filter->op = PP_OP_IS_NULL;
			}
			expected(t, text.data(), (uint32_t) text.size(), false, &want);
			compare(t, &cuts, text.data(), (uint32_t) text.size(), &want);
			cuts.max_records = 77;
			compare(t, &cuts, text.data(), (uint32_t) text.size(), &want);
			cuts.max_records = 1000000;
			json_log_free(&want);
		}
	}
}

/*
 * Whatever is right, the device accepts: strings full of brackets, quotes and
 * escapes across every 16th byte, containers, numbers, blank lines, and
 * records that span tiles; as lines and as documents, whatever begins a tile.
 */
void
test_accepted(void)
{
	static const char *const value[] = {
		"\"}],{[\\\"\"", "\"\\\\\"", "\"\\\\\\\"[{\"", "-0.5e+10", "[[[{\"a\": [1, {}, []]}]]]", "{\"b\": {\"a\": [\"}\", \"]\"]}}",
		"\"\\ud83d\\ude00 \\u00e9\\/\"", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "true", "null", "\",\"", "0", "[\"\\\\\", \"a\", 1e5]"
	};
	UnitRandom	r = unit_random(T_ALIKE, 1);

	for (uint32_t k = 0; k < 12; k++)
	{
		const bool	documents = k % 3 != 0;
		std::string text;
		JsonTable	t;
		JsonLog		want = {NULL, 0, 0};
		const JsonCuts cuts = {PP_SIMD_SCALAR, 0, 0, 1000000, false};
		PpCudaStats before;
		uint64_t	passes;

		json_table(&t, k % 2 ? 3 : 0);
		t.documents = documents;
		for (uint32_t i = 0; i < 250; i++)
		{
			if (!documents && unit_once_in(&r, 8))
				text += std::string(unit_below(&r, 3000) / (1 + unit_below(&r, 100)), ' ') + "\r\n\n";
			if (k % 3 == 1 && i > 0)
				text += ",";
			text += std::string(unit_below(&r, 17), ' ') + "{\"a\":" + value[unit_below(&r, 13)];
			if (unit_once_in(&r, 50))
				text += ", \"long\": \"" + std::string(unit_below(&r, 5000), '\\') + "\\\\\"";
			text += std::string(", \"b\" :") + value[unit_below(&r, 13)] + ",\"c\":[" + value[unit_below(&r, 13)] + "]}\n";
		}
		/* an even number of them */
		for (size_t at = 0; (at = text.find("\"long\": \"", at)) != std::string::npos; at++)
		{
			const size_t first = at + 9;
			size_t		stop = first;

			while (text[stop] == '\\')
				stop++;
			if ((stop - first) % 2 != 0)
				text[first] = 'x';
		}
		if (k % 3 == 1)
			text = "[" + text + "]";
		unit_case("accepted %u", k);
		schedule(1 + k);
		expected(t, text.data(), (uint32_t) text.size(), false, &want);
		before = total;
		compare(t, &cuts, text.data(), (uint32_t) text.size(), &want);
		passes = total.launches[PP_STAGE_PARSE] - before.launches[PP_STAGE_PARSE];
		/* the CPU has what ends an array */
		EXPECT(passes == 3, "%llu launches of the pass", (unsigned long long) passes);
		EXPECT(want.len > 250 * 6, "%zu bytes came of it", want.len);
		json_log_free(&want);
	}
}

/* One thing wrong each, in a record among others. */
void
test_refused(void)
{
	static const char *const value[] = {
		"01", "-01", "-", "1.", ".5", "1e", "1e+", "+1", "0x1", "1 2", "tru", "nulL", "falsey", "\"\\u0000\"", "\"\\ud800\"",
		"\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\\x\"", "\"\\u12g4\"", "\"\t\"", "\"\x01\"", "\"\x1f\"", "\"\xc3\"", "\"\x80\"",
		"\"\xe2\x82\"", "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"", "[1}", "{\"a\":1]", "[1,]", "{\"a\":1,}", "{\"a\"}", "{1:2}", "[1 2]",
		"{\"a\":1 \"b\":2}", "{\"a\"::1}", "{,}", "[,1]", "\"", "\"\\\"", "", "]", "}", "{", "[[]", "'a'", "1,2"
	};
	UnitRandom	r = unit_random(T_ALIKE, 3);

	for (uint32_t i = 0; i < sizeof(value) / sizeof(value[0]); i++)
		for (uint32_t documents = 0; documents < 2; documents++)
		{
			const std::string between = documents ? "," : "\n";
			const std::string text = (documents ? "[" : "") + std::string("{\"a\":1}") + between + "{\"a\":" + value[i] + "}" +
				between + "{\"b\":\"x\",\"a\":3}" + (documents ? "]" : "");
			JsonTable	t;

			json_table(&t, i % 2 ? 0 : 3);
			t.documents = documents != 0;
			unit_case("%s is refused, %u", value[i], documents);
			everywhere(&t, text.data(), (uint32_t) text.size(), &r);
		}
}

/*
 * More columns than a word has bits, and keys that have no room on chip; the same
 * keys again, with others below them.
 */
void
test_wide(void)
{
	UnitRandom	r = unit_random(T_ALIKE, 2);
	static std::string key[JSON_MAX_COLUMNS];
	static PpJsonStep step[JSON_MAX_COLUMNS][2];

	for (uint32_t k = 0; k < 12; k++)
	{
		const uint32_t ncolumns = k % 3 == 0 ? 32 : k % 3 == 1 ? 33 : JSON_MAX_COLUMNS;
		const uint32_t length = k % 2 ? 200 : 0;
		std::string text;
		JsonTable	t;

		memset(&t, 0, sizeof(t));
		t.max_depth = 10;
		t.documents = k >= 6;
		t.ncolumns = ncolumns;
		for (uint32_t c = 0; c < ncolumns; c++)
		{
			/* every other one is below that in front of it */
			key[c] = (c % 2 ? "below" : "k" + std::to_string(c)) + std::string(length, 'y');
			step[c][0] = {reinterpret_cast<const uint8_t *>(key[c - c % 2].data()), (uint32_t) key[c - c % 2].size(), 0};
			step[c][1] = {reinterpret_cast<const uint8_t *>(key[c].data()), (uint32_t) key[c].size(), 0};
			t.column[c].type = PP_TEXT;
			t.column[c].mod = -1;
			t.json[c].nsteps = 1 + c % 2;
			t.json[c].step = step[c];
			t.json[c].as_json = true;
		}
		for (uint32_t i = 0; i < 40; i++)
		{
			text += "{";
			for (uint32_t n = unit_below(&r, 60); n > 0; n--)
			{
				const std::string name = key[2 * unit_below(&r, ncolumns / 2)];
				/* or what it begins with */
				const std::string quoted = "\"" + name.substr(0, unit_once_in(&r, 4) ? 8 : name.size()) + "\":";

				text += quoted + (unit_once_in(&r, 2) ? "1" : "{\"" + key[1] + "\":" + std::to_string(n) + "}") + ",";
			}
			text += "\"z\":0}\n";
		}
		unit_case("%u columns, keys of %u bytes and more", ncolumns, length);
		everywhere(&t, text.data(), (uint32_t) text.size(), &r);
	}
}

/* Lines as documents: elements of arrays, outermost values, and what is neither. */
void
test_documents(void)
{
	JsonText	lines = {NULL, 0, 0};
	const uint64_t before = total.launches[PP_STAGE_COLUMNS];

	for (uint64_t i = 0; i < unit_iterations(1500); i++)
	{
		static const char *const separator[] = {",", ", ", ",\n", "\n,\r\n  "};
		static const char *const between[] = {"\n", "", " ", "\r\n\r\n"};
		static const char *const odd[] = {"[]", "1", "\"a\"", "null ", "]", ",", "[1,2]", "{", "\\", "[[]]", "[{}}"};
		UnitRandom	r = unit_random(T_DOCUMENTS, i);
		std::string text;
		uint32_t	table = unit_below(&r, JSON_TABLES);
		const bool	large = unit_once_in(&r, 20);
		bool		in_array = false;
		uint32_t	start = 0;
		JsonTable	t;

		json_table(&t, table);
		t.documents = true;
		json_random_text(&lines, &r, large ? 40 + unit_below(&r, 200) : 1 + unit_below(&r, 12), unit_once_in(&r, 3));
		if (unit_once_in(&r, 20))
			text += "\xef\xbb\xbf";
		for (uint32_t at = 0; at <= lines.n; at++)
		{
			if (at < lines.n && lines.s[at] != '\n')
				continue;
			if (at > start)
			{
				if (in_array)
					text += separator[unit_below(&r, 4)];
				else if (unit_below(&r, 3) != 0)
				{
					text += unit_once_in(&r, 2) ? "[" : " [\n";
					in_array = true;
				}
				text.append(lines.s + start, at - start);
				if (!in_array)
					text += between[unit_below(&r, 4)];
				else if (unit_once_in(&r, 15))
				{
					text += "\n]\n";
					in_array = false;
				}
				if (unit_once_in(&r, 60))
					text += odd[unit_below(&r, 11)];
			}
			start = at + 1;
		}
		if (in_array && !unit_once_in(&r, 10))
			text += unit_once_in(&r, 2) ? "]" : " ]\n";
		unit_case("documents %llu, table %u", (unsigned long long) i, table);
		everywhere(&t, text.data(), (uint32_t) text.size(), &r);
		if (large)
			everywhere(&t, text.data(), (uint32_t) text.size(), &r);
	}
	free(lines.s);
	unit_case("documents on the device");
	EXPECT(total.launches[PP_STAGE_COLUMNS] > before, "there were none");

	for (uint32_t i = 0; i < JSON_CHOSEN; i++)
	{
		UnitRandom	r = unit_random(T_DOCUMENTS, 1000000 + i);
		JsonTable	t;

		if (unit_iterations(JSON_CHOSEN) < JSON_CHOSEN && unit_below(&r, JSON_CHOSEN) >= unit_iterations(JSON_CHOSEN))
			continue;
		json_table(&t, i % JSON_TABLES);
		t.documents = true;
		unit_case("chosen document %u", i);
		everywhere(&t, json_chosen[i], (uint32_t) strlen(json_chosen[i]), &r);
		everywhere(&t, (std::string("[{\"a\":1},") + json_chosen[i] + ",{\"a\":2}]").c_str(),
				   (uint32_t) strlen(json_chosen[i]) + 19, &r);
	}
}

/* The JSONTestSuite, as lines. */
void
test_suite(void)
{
	const char *folder = getenv("PP_JSON_SUITE");
	const std::string path = std::string(folder ? folder : PP_JSON_SUITE_DEFAULT) + "/test_parsing";
	DIR		   *dir = opendir(path.c_str());
	UnitRandom	r = unit_random(T_RANDOM, 999999);
	uint32_t	files = 0;

	if (dir == nullptr)
	{
		printf("json_device_test: no JSONTestSuite at %s, skipped\n", path.c_str());
		return;
	}
	while (const dirent *entry = readdir(dir))
	{
		std::string text(1 << 20, '\0');
		FILE	   *f = strstr(entry->d_name, ".json") ? fopen((path + "/" + entry->d_name).c_str(), "rb") : nullptr;
		JsonTable	t;

		if (f == nullptr)
			continue;
		text.resize(fread(&text[0], 1, text.size(), f));
		fclose(f);
		if (text.size() >= 10000 && unit_iterations(100) < 100)
			continue;
		files++;
		json_table(&t, 1);
		t.max_depth = 6000;
		unit_case("JSONTestSuite %s", entry->d_name);
		everywhere(&t, text.data(), (uint32_t) text.size(), &r);
		t.documents = true;
		everywhere(&t, text.data(), (uint32_t) text.size(), &r);
	}
	closedir(dir);
	printf("json_device_test: JSONTestSuite: %u files\n", files);
}

}								/* namespace */

int
main(int argc, char **argv)
{
	begin(argc, argv, "json_device_test");
	test_chosen();
	test_depth();
	test_random();
	test_large();
	test_long();
	test_alike();
	test_accepted();
	test_refused();
	test_wide();
	test_documents();
	test_suite();
	library->stop();
	return unit_end();
}
