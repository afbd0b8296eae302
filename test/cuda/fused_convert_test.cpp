/*
 * test/cuda/fused_convert_test.cpp
 *	  Columns of the fused pipeline, under the host SIMT layer: conversion in the
 *	  pass over the tiles and long values behind it, against the CPU backend.
 */
#include "fused_values.h"

namespace
{

enum
{
	T_TYPES = 1,
	T_MIXED,
	T_DIALECTS,
	T_LONG,
	T_HUGE,
	T_ROOM
};

void
check_case(const FusedCase &c, bool lenient, uint64_t *more)
{
	const uint64_t reports = simt_reports();
	FusedRun	run(c);

	if (!run.is_sound)
		return;
	{
		const PpFusedResult r = run.pass();
		const uint64_t n = check_columns(c, run.all(r), cpu_columns(c), lenient);

		if (more)
			*more = n;
	}
	EXPECT(simt_reports() == reports, "%s", simt_last_report());
}

/* Every type by itself, with its modifiers, under flags and markers. */
void
test_types(uint64_t n)
{
	static const uint32_t thread_bytes[] = {256, 256, 16, 3, 0};

	for (uint64_t i = 0; i < n; i++)
		for (uint32_t type = 0; type < NTYPES; type++)
		{
			UnitRandom	r = unit_random(T_TYPES, i * NTYPES + type);
			FusedCase	c;
			uint64_t	more = 0;

			unit_case("types %llu: type %u", (unsigned long long) i, type);
			schedule((uint32_t) unit_below(&r, 1000));
			c.dialect = texts_dialect[unit_below(&r, texts_nusual)];
			c.eol = (PpEol) (1 + unit_below(&r, 3));
			c.nfields = 1 + unit_below(&r, 2);
			c.column.push_back(random_column(&r, (PpType) type, unit_below(&r, c.nfields)));
			c.charset = (PpCharset) unit_below(&r, 3);
			c.zone = usual_zone();
			c.null_text = bytes_of(unit_once_in(&r, 2) ? "" : "\\N");
			c.has_default = unit_once_in(&r, 2);
			c.default_text = bytes_of("DEF");
			c.thread_bytes = thread_bytes[unit_below(&r, 5)];
			add_records(&r, &c, 1 + unit_below(&r, 60), 700);
			check_case(c, type == PP_BYTEA, &more);
			EXPECT(more <= c.text.size() / 8, "%llu are handed over", (unsigned long long) more);
		}
}

/* Many columns at a time, fields that several columns show, and none. */
void
test_mixed(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_MIXED, i);
		FusedCase	c;

		unit_case("mixed %llu", (unsigned long long) i);
		schedule((uint32_t) unit_below(&r, 1000));
		c.dialect = texts_dialect[unit_below(&r, texts_nusual)];
		c.eol = (PpEol) (1 + unit_below(&r, 3));
		c.nfields = 1 + unit_below(&r, 12);
		for (uint32_t k = unit_below(&r, 12); k > 0; k--)
			c.column.push_back(random_column(&r, (PpType) unit_below(&r, PP_BYTEA), unit_below(&r, c.nfields)));
		c.zone = usual_zone();
		c.tile_bytes = PP_FUSED_MIN_TILE * (1 + unit_below(&r, 3));
		c.skew = unit_below(&r, 16);
		add_records(&r, &c, 1 + unit_below(&r, 100), 400);
		if (unit_once_in(&r, 3) && !c.text.empty())
		{
			/* no line end, or half a record */
			c.text.resize(c.text.size() - 1 - unit_below(&r, c.text.size() > 20 ? 20 : 1));
			c.last = unit_once_in(&r, 2);
		}
		if (unit_once_in(&r, 3))
			c.room = 1 + unit_below(&r, 30);
		check_case(c, false, nullptr);
	}
}

/* All dialects, and texts that are out of order. */
void
test_dialects(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_DIALECTS, i);
		FusedCase	c;
		Bytes		text(3000);

		c.dialect = texts_dialect[unit_below(&r, texts_ndialects)];
		unit_case("dialects %llu: %s", (unsigned long long) i, texts_dialect_name(&c.dialect));
		schedule((uint32_t) unit_below(&r, 1000));
		c.eol = (PpEol) (1 + unit_below(&r, 3));
		c.nfields = 1 + unit_below(&r, 3);
		for (uint32_t k = 1 + unit_below(&r, 3); k > 0; k--)
			c.column.push_back(random_column(&r, unit_once_in(&r, 2) ? PP_TEXT : PP_INT4,
											 unit_below(&r, c.nfields)));
		text.resize(texts_records(&r, &c.dialect, c.eol, c.nfields, unit_once_in(&r, 2) ? 0 : 200,
								  text.data(), text.size()));
		c.text = text;
		c.thread_bytes = unit_once_in(&r, 2) ? 256 : unit_below(&r, 8);
		check_case(c, false, nullptr);
	}
}

/* Markers, quoted and not, under all flags. */
void
test_markers(void)
{
	static const PpType type[] = {PP_TEXT, PP_INT4, PP_DEFER, PP_NUMERIC};

	for (uint32_t i = 0; i < 8 * 3 * 4; i++)
	{
		const uint32_t null = i / 8 % 3;
		FusedCase	c;

		if (!is_done(i))
			continue;
		unit_case("markers %u", i);
		schedule(i);
		c.nfields = 12;
		c.text = bytes_of("DEF,\"DEF\",NUL,\"NUL\",,\"\",\\N,\"\\N\",D\"E\"F,1,N\"U\"L,\"N\"UL\n"
						  "\"NU\"\"L\",\"NUL\"\"\",\"N\"U,NULL,\"1\"2,\"1\"\"2\",\"\"\"\",1\"\",DE\"\"F,\"DEF\"1,x,\"12\"\n");
		c.null_text = bytes_of(null == 0 ? "NUL" : null == 1 ? "\\N" : "");
		c.has_default = true;
		c.default_text = bytes_of("DEF");
		for (uint32_t f = 0; f < c.nfields; f++)
			c.column.push_back({type[i / 24], f, i % 8, -1});
		c.thread_bytes = i % 3 == 0 ? 1 : 256;
		check_case(c, false, nullptr);
	}
}

/* Bytes of which many are quotes or escapes, for fields of several tiles. */
Bytes
long_value(UnitRandom *r, const PpDialect &d, PpType type, size_t n)
{
	const uint32_t kind = unit_below(r, 4);
	Bytes		b;

	if (type == PP_BYTEA && kind == 0)
	{
		b = bytes_of("\\x");
		while (b.size() < n)
			b.push_back((uint8_t) "0123456789abcdefABCDEF"[unit_below(r, 22)]);
		if (b.size() % 2 == 1 && !unit_once_in(r, 4))
			b.push_back('0');
		if (unit_once_in(r, 5))
			b[2 + unit_below(r, (uint32_t) b.size() - 2)] = 'g';
		return b;
	}
	while (b.size() < n)
	{
		const uint32_t what = unit_below(r, 8);

		if (kind == 1 || (kind == 2 && what < 4))
			b.push_back(what % 2 == 0 ? d.quote : d.escape);
		else if (kind == 3 && unit_once_in(r, 500))
			b.push_back(d.quote);
		else if (what == 7)
			append(&b, bytes_of("\xc3\xa4"));
		else
			b.push_back((uint8_t) ('a' + what));
	}
	return b;
}

/* Fields that start in one tile and end in another, and are as long as many. */
void
test_long(uint64_t n)
{
	static const PpType type[] = {PP_TEXT, PP_VARCHAR, PP_BPCHAR, PP_BYTEA};

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_LONG, i);
		FusedCase	c;
		uint64_t	more = 0;

		unit_case("long %llu", (unsigned long long) i);
		schedule((uint32_t) unit_below(&r, 1000));
		c.dialect = texts_dialect[unit_below(&r, texts_nusual)];
		c.nfields = 1 + unit_below(&r, 3);
		for (uint32_t f = 0; f < c.nfields; f++)
			c.column.push_back({type[unit_below(&r, 4)], f, 0, -1});
		for (uint32_t k = 1 + unit_below(&r, 6); k > 0; k--)
			for (uint32_t f = 0; f < c.nfields; f++)
			{
				const size_t length = unit_once_in(&r, 3) ? unit_below(&r, 20) : unit_below(&r, 12000);
				const Bytes value = long_value(&r, c.dialect, c.column[f].type, length);

				append(&c.text, quoted_field(&r, c.dialect, value, unit_below(&r, 3)));
				c.text.push_back(f + 1 < c.nfields ? c.dialect.delimiter : '\n');
				if (c.column[f].type == PP_VARCHAR || c.column[f].type == PP_BPCHAR)
					if (unit_once_in(&r, 3))
						c.column[f].mod = (int32_t) (value.size() + unit_below(&r, 3)) - 1;
			}
		for (PpColumn &col : c.column)
			if (col.mod == 0)
				col.mod = 1;
		c.skew = unit_below(&r, 16);
		check_case(c, true, &more);
		/* a bytea's digits among quotes are all that is not read */
		if (std::none_of(c.column.begin(), c.column.end(), [](const PpColumn &x) { return x.type == PP_BYTEA; }))
			EXPECT(more == 0, "%llu are handed over", (unsigned long long) more);
	}
}

/* Fields that all warps share. */
void
test_huge(uint64_t n)
{
	static const PpType type[] = {PP_TEXT, PP_TEXT, PP_VARCHAR, PP_BPCHAR, PP_BYTEA};

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_HUGE, i);
		FusedCase	c;
		uint64_t	more = 0;
		size_t		length = 0;

		unit_case("huge %llu", (unsigned long long) i);
		schedule((uint32_t) unit_below(&r, 1000));
		c.dialect = texts_dialect[i % 2 == 0 ? 0 : unit_below(&r, texts_nusual)];
		c.nfields = 2;
		c.column.push_back({type[i % 5], 0, 0, -1});
		c.column.push_back({PP_INT4, 1, 0, -1});
		c.column.push_back({PP_TEXT, 0, 0, -1});
		for (uint32_t k = 0; k < 2; k++)
		{
			const Bytes value = long_value(&r, c.dialect, c.column[0].type,
										   k == 1 ? 500 : PP_FUSED_HUGE_BYTES - 10 + unit_below(&r, 9000));

			length = std::max(length, value.size());
			append(&c.text, quoted_field(&r, c.dialect, value, unit_below(&r, 3)));
			append(&c.text, bytes_of(std::string(1, (char) c.dialect.delimiter) + "12\n"));
		}
		if (c.column[0].type == PP_VARCHAR || c.column[0].type == PP_BPCHAR)
			c.column[0].mod = (int32_t) (length - unit_below(&r, 3) * 40);
		c.room = 4;
		c.tile_bytes = PP_FUSED_MIN_TILE * (1 + unit_below(&r, 8));
		c.skew = unit_below(&r, 16);
		check_case(c, true, &more);
		EXPECT(more == 0 || c.column[0].type == PP_BYTEA, "%llu are handed over", (unsigned long long) more);
	}
}

/* Too little room: values are handed over, and how much it takes is known. */
void
test_room(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_ROOM, i);
		FusedCase	c;
		uint64_t	wanted;
		uint32_t	longs;
		uint64_t	more = 0;
		Columns		w;

		unit_case("room %llu", (unsigned long long) i);
		schedule((uint32_t) unit_below(&r, 1000));
		c.nfields = 3;
		c.column.push_back({PP_BPCHAR, 0, 0, 200});
		c.column.push_back({PP_NUMERIC, 1, 0, -1});
		c.column.push_back({PP_INT8, 2, 0, -1});
		c.thread_bytes = 30;
		add_records(&r, &c, 80, 200);
		w = cpu_columns(c);
		{
			FusedRun	run(c);
			const PpFusedResult x = run.pass();

			wanted = x.heap_bytes;
			longs = x.nlongs;
			EXPECT(check_columns(c, run.all(x), w, false) == 0 && longs > 0 && wanted > 0, "no text");
			EXPECT(x.longs_done == longs, "%u of %u long values are done", x.longs_done, longs);
		}
		for (uint32_t k = 0; k < 5; k++)
		{
			static const uint32_t part[] = {0, 10, 50, 99, 100};

			c.heap_room = k == 4 ? wanted : wanted * part[k] / 100 / 8 * 8;
			c.longs_room = longs * part[(k * 3 + i) % 5] / 100;
			schedule((uint32_t) unit_below(&r, 1000));
			{
				FusedRun	run(c);
				const PpFusedResult x = run.pass();

				EXPECT(x.heap_bytes == wanted && x.nlongs == longs, "%llu bytes and %u longs are wanted, not %llu and %u",
					   (unsigned long long) x.heap_bytes, x.nlongs, (unsigned long long) wanted, longs);
				more = check_columns(c, run.all(x), w, true);
			}
			/* the last places may be of values that are handed over anyway */
			EXPECT(more > 0 ? c.heap_room < wanted || c.longs_room < longs :
				   c.heap_room > wanted / 2 && c.longs_room == longs,
				   "room for %llu of %llu bytes and %u of %u longs: %llu values are handed over",
				   (unsigned long long) c.heap_room, (unsigned long long) wanted, c.longs_room, longs,
				   (unsigned long long) more);
		}
	}
}

void
test_empty(void)
{
	for (uint32_t i = 0; i < 4; i++)
	{
		FusedCase	c;

		unit_case("empty %u", i);
		c.text = bytes_of(i == 0 ? "" : i == 1 ? "\n" : i == 2 ? "\"" : ",\n");
		c.nfields = i == 3 ? 2 : 1;
		c.column.push_back({PP_TEXT, 0, 0, -1});
		c.null_text = bytes_of(i == 1 ? "x" : "");
		check_case(c, false, nullptr);
	}
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "fused_convert_test");
	test_markers();
	test_empty();
	test_types(unit_iterations(40));
	test_mixed(unit_iterations(120));
	test_dialects(unit_iterations(150));
	test_long(unit_iterations(40));
	test_huge(std::max<uint64_t>(unit_iterations(20), 5));
	test_room(unit_iterations(8));
	check_leftovers();
	return unit_end();
}
