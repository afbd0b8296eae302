/*
 * test/unit/kernel_test.c
 *	  The loops that are written for each instruction set, at every level that
 *	  this processor has, against plain loops: counting a byte, dropping quotes
 *	  and escapes, verifying UTF-8, the structure of blocks, short numbers and
 *	  timestamps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_check.h"
#include "parse/convert.h"
#include "parse/cpu/kernel.h"
#include "parse/utf8.h"
#include "reference.h"
#include "texts.h"
#include "unit.h"

enum
{
	T_COUNT = 1,
	T_UNQUOTE,
	T_UTF8,
	T_STRUCTURE,
	T_NUMBERS,
	T_TIMESTAMPS,
	T_ESCAPES
};

static void
test_count(const PpKernels *k)
{
	uint64_t	iterations = unit_iterations(3000);

	for (uint64_t i = 0; i < iterations; i++)
	{
		UnitRandom	r = unit_random(T_COUNT, i);
		size_t		n = unit_below(&r, unit_once_in(&r, 20) ? 5000 : 300);
		uint8_t    *s = unit_malloc(n);
		uint32_t	kinds = 1 + unit_below(&r, unit_once_in(&r, 2) ? 2 : 256);
		uint8_t		c = (uint8_t) unit_below(&r, kinds);
		uint8_t		other = (uint8_t) unit_below(&r, kinds);
		uint8_t		third = (uint8_t) unit_below(&r, 256);
		uint64_t	count = 0;
		uint64_t	others = 0;
		uint64_t	na = 5,
					nb = 7;
		bool		occurs = false;

		unit_case("%s: count %llu", k->name, (unsigned long long) i);
		for (size_t j = 0; j < n; j++)
		{
			s[j] = (uint8_t) unit_below(&r, kinds);
			count += s[j] == c;
			others += s[j] == other;
			occurs |= s[j] == third;
		}
		EXPECT(k->survey(s, n, c, other, third, &na, &nb) == occurs &&
			   na == 5 + count && nb == 7 + others,
			   "survey: %llu and %llu, but %llu and %llu",
			   (unsigned long long) na - 5, (unsigned long long) nb - 7,
			   (unsigned long long) count, (unsigned long long) others);
		EXPECT(k->count_byte(s, n, c) == count, "%llu of %zu bytes, but %llu",
			   (unsigned long long) k->count_byte(s, n, c), n, (unsigned long long) count);
		free(s);
	}
}

/* Both kinds of escape; whole, and in two pieces. */
static void
test_unquote(const PpKernels *k)
{
	static const uint8_t special[] = "\"'\\";
	uint64_t	iterations = unit_iterations(40000);

	for (uint64_t i = 0; i < iterations; i++)
	{
		UnitRandom	r = unit_random(T_UNQUOTE, i);
		PpDialect	d = texts_dialect[0];
		uint32_t	n = unit_below(&r, unit_once_in(&r, 2) ? 20 : 400);
		uint8_t    *src = unit_malloc((size_t) n + PP_PAD);
		uint8_t    *dst = unit_malloc((size_t) n + PP_UNQUOTE_SLACK);
		uint8_t    *want = unit_malloc(n);
		uint32_t	rare = 1 + unit_below(&r, 30);
		uint32_t	quotes = 1 + unit_below(&r, 4);
		RefSpec		spec;
		RefFile    *file;

		d.quote = special[unit_below(&r, 2)];
		d.escape = unit_once_in(&r, 2) ? d.quote : special[unit_below(&r, 3)];
		unit_case("%s: unquote %llu, %s", k->name, (unsigned long long) i, texts_dialect_name(&d));
		for (uint32_t j = 0; j < n + PP_PAD; j++)
			src[j] = !unit_once_in(&r, rare) ? (uint8_t) ('a' + unit_below(&r, 26)) :
				unit_once_in(&r, quotes) ? d.quote : d.escape;
		memset(&spec, 0, sizeof(spec));
		spec.dialect = d;
		file = ref_read(&spec, src, n, n);
		for (uint32_t pieces = 1; pieces <= 2; pieces++)
		{
			uint32_t	cut = pieces == 1 ? 0 : unit_below(&r, n + 1);
			bool		in_quote = false;
			uint32_t	got;

			/* the first of two does not end with a quote or an escape */
			while (cut > 0 && cut < n && (src[cut - 1] == d.quote || src[cut - 1] == d.escape))
				cut++;
			if (d.escape == d.quote)
			{
				got = k->unquote(src, cut, d.quote, &in_quote, dst);
				got += k->unquote(src + cut, n - cut, d.quote, &in_quote, dst + got);
			}
			else
			{
				got = k->unescape(src, cut, d.quote, d.escape, &in_quote, dst);
				got += k->unescape(src + cut, n - cut, d.quote, d.escape, &in_quote, dst + got);
			}
			EXPECT(got == pp_unquote(&d, src, n, want) && memcmp(dst, want, got) == 0,
				   "%s, cut at %u, becomes %s", unit_show(src, n), cut, unit_show(dst, got));
			if (file->nallfields > 0)
				EXPECT(got == file->field[0].len && memcmp(dst, file->field[0].value, got) == 0,
					   "%s becomes %s, but %s expected", unit_show(src, n), unit_show(dst, got),
					   unit_show(file->field[0].value, file->field[0].len));
			else
				EXPECT(got == 0 && n == 0, "%u bytes of %u", got, n);
		}
		ref_free(file);
		free(src);
		free(dst);
		free(want);
	}
}

static void
compare_utf8(const PpKernels *k, const uint8_t *s, size_t n)
{
	uint8_t    *copy = unit_malloc(n);
	size_t		got;

	if (n > 0)
		memcpy(copy, s, n);
	got = k->utf8_valid_prefix(copy, n);
	EXPECT(got == ref_utf8_prefix(s, n), "%s: %zu of %zu valid, but %zu expected",
		   unit_show(s, n), got, n, ref_utf8_prefix(s, n));
	free(copy);
}

/* Every sequence of two bytes and the edges of longer ones, in a vector. */
static void
test_utf8(const PpKernels *k)
{
	static const uint8_t edge[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0,
	0xbf, 0xc0, 0xc2, 0xe0, 0xf4, 0xff};
	static const char *const around[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	uint64_t	iterations = unit_iterations(60000);
	uint64_t	edges = unit_iterations(sizeof(edge));

	for (uint32_t p = 0; p < 4; p++)
	{
		size_t		unit = strlen(around[p]);

		unit_case("%s: UTF-8 sequences among %zu-byte characters", k->name, unit);
		for (uint32_t first = 0; first < 256; first++)
			for (uint32_t second = 0; second < 256; second++)
				for (uint32_t i = 0; i < edges; i++)
				{
					uint8_t		s[180];
					uint32_t	e = (first + second + i) % sizeof(edge);
					size_t		at = unit * (11 + (first + second * 3 + e) % 17);
					size_t		n = 0;

					while (n + unit <= sizeof(s) - 8)
					{
						memcpy(s + n, around[p], unit);
						n += unit;
					}
					s[at] = (uint8_t) first;
					s[at + 1] = (uint8_t) second;
					s[at + 2] = edge[e];
					s[at + 3] = edge[(e * 5 + first) % sizeof(edge)];
					if (k->utf8_valid_prefix(s, n) != ref_utf8_prefix(s, n))
						EXPECT(false, "%s: %zu valid, but %zu expected", unit_show(s, n),
							   k->utf8_valid_prefix(s, n), ref_utf8_prefix(s, n));
				}
		EXPECT(k->utf8_valid_prefix((const uint8_t *) "", 0) == 0, "empty");
	}

	/* a character that breaks off in long plain text, at every place */
	for (uint32_t p = 1; p < 4; p++)
		for (size_t len = 1; len <= p; len++)
			for (size_t at = 0; at + len <= 700; at++)
			{
				uint8_t		s[1500];

				unit_case("%s: %zu bytes of a character at %zu", k->name, len, at);
				memset(s, 'a', sizeof(s));
				memcpy(s + at, around[p], len);
				EXPECT(k->utf8_valid_prefix(s, sizeof(s)) == at, "%zu valid",
					   k->utf8_valid_prefix(s, sizeof(s)));
			}

	for (uint64_t i = 0; i < iterations; i++)
	{
		UnitRandom	r = unit_random(T_UTF8, i);
		uint8_t		s[700];
		size_t		room = unit_once_in(&r, 3) ? 680 : 200;
		uint32_t	style = unit_below(&r, 4);
		uint32_t	rare = 1 + unit_below(&r, 100);
		size_t		n = 0;

		unit_case("%s: UTF-8 %llu", k->name, (unsigned long long) i);
		while (n < room)
		{
			if (style == 0 || unit_once_in(&r, 12))
				for (uint32_t j = unit_below(&r, 80); j > 0 && n < room; j--)
					s[n++] = (uint8_t) (1 + unit_below(&r, 127));
			else
			{
				const char *c = around[unit_below(&r, style + 1)];

				memcpy(s + n, c, strlen(c));
				n += strlen(c);
			}
			if (n > 0 && unit_once_in(&r, rare))
				s[unit_below(&r, (uint32_t) n)] = (uint8_t) unit_below(&r, 256);
		}
		compare_utf8(k, s, unit_below(&r, (uint32_t) n + 1));
		compare_utf8(k, s, n);
	}
}

/* It may stop one byte before a block's end, if an escape stands there. */
static bool
stopped_at_escape(const PpStructure *st, const uint8_t *text, uint32_t pos)
{
	return pos % 64 == 63 && st->in_quote && st->escape != st->quote &&
		text[pos] == st->escape;
}

/*
 * What a structure kernel goes over must be what the model finds there, and it
 * must go over plain blocks at all.
 */
static void
test_structure(const PpKernels *k)
{
	uint64_t	iterations = unit_iterations(10000);
	uint64_t	blocks = 0;

	for (uint64_t i = 0; i < iterations; i++)
	{
		UnitRandom	r = unit_random(T_STRUCTURE, i);
		PpDialect	d = texts_dialect[unit_below(&r, texts_ndialects)];
		PpEol		eol = (PpEol) (1 + unit_below(&r, 3));
		uint32_t	width = 1 + unit_below(&r, 9);
		uint8_t		text[3000];
		uint32_t	end[3000 + 2 * PP_STRUCTURE_SLACK];
		size_t		len;
		uint32_t	to;
		uint32_t	got;
		PpStructure st;
		RefSpec		spec;
		RefFile    *file;
		bool		listed = !unit_once_in(&r, 4);
		size_t		nends = 0;
		uint32_t	eol_len = eol == PP_EOL_CRNL ? 2 : 1;

		if (!pp_dialect_is_parity(&d))
			d = texts_dialect[unit_below(&r, texts_nusual)];
		d.end_marker = unit_once_in(&r, 2);
		unit_case("%s: structure %llu, %s", k->name, (unsigned long long) i, texts_dialect_name(&d));
		len = texts_records(&r, &d, eol, width, unit_once_in(&r, 3) ? 30 : 0, text, sizeof(text));
		memset(&st, 0, sizeof(st));
		st.delimiter = d.delimiter;
		st.quote = d.quote;
		st.escape = d.escape;
		st.eol = eol;
		st.end_marker = d.end_marker;
		st.width = width;
		st.max_records = 1 + unit_below(&r, 400);
		st.end = listed ? end : NULL;
		st.at_start = true;
		to = unit_below(&r, (uint32_t) len + 1);
		got = k->structure(&st, text, 0, to);

		memset(&spec, 0, sizeof(spec));
		spec.dialect = d;
		spec.eol = eol;
		file = ref_read(&spec, text, len, len);
		EXPECT(got <= to && (got % 64 == 0 || stopped_at_escape(&st, text, got)),
			   "went %u of %u", got, to);
		EXPECT(st.nrecords < st.max_records, "%u records of %u", st.nrecords, st.max_records);
		EXPECT(st.nrecords <= file->nrecords, "%u records, but %zu there are", st.nrecords,
			   file->nrecords);
		for (uint32_t q = 0; q < st.nrecords && q < file->nrecords; q++)
		{
			const RefRecord *rec = &file->record[q];

			EXPECT(rec->nfields == width && rec->next <= got, "record %u has %zu fields",
				   q, rec->nfields);
			for (size_t f = 0; f < rec->nfields && listed; f++, nends++)
			{
				/* a record's last field is listed where its line end is complete */
				size_t		want = file->field[rec->first_field + f].stop;

				if (f + 1 == rec->nfields)
					want += eol_len - 1;
				EXPECT(end[nends] == want, "record %u, field %zu: %u, but %zu expected",
					   q, f, end[nends], want);
			}
		}
		if (st.nrecords > 0 && st.nrecords <= file->nrecords)
			EXPECT(st.record == file->record[st.nrecords - 1].next, "record starts at %u", st.record);
		EXPECT(st.nends >= st.first && st.first == st.nrecords * width &&
			   st.nends - st.first < width, "%u field ends, %u of whole records",
			   st.nends, st.first);
		blocks += got / 64;
		ref_free(file);
	}
	unit_case("%s: structure goes over blocks", k->name);
	EXPECT(blocks > iterations, "%llu blocks of %llu texts", (unsigned long long) blocks,
		   (unsigned long long) iterations);
}

/*
 * Escapes that are not the quote, in all numbers and places: records of one
 * field each, made of few different bytes, so that nothing in them is out of
 * order.  The kernel starts anywhere, goes over every block, and lists and
 * ends as the automaton does.
 */
static void
test_escapes(const PpKernels *k)
{
	uint64_t	iterations = unit_iterations(30000);

	for (uint64_t i = 0; i < iterations; i++)
	{
		UnitRandom	r = unit_random(T_ESCAPES, i);
		PpDialect	d = texts_dialect[unit_below(&r, texts_ndialects)];
		PpEol		eol = (PpEol) (1 + unit_below(&r, 3));
		uint32_t	weight[4];
		uint8_t		text[1200];
		uint32_t	end[1200 + 2 * PP_STRUCTURE_SLACK];
		uint32_t	want[1200];
		uint32_t	nwant = 0;
		uint32_t	len = 0;
		uint32_t	from = unit_below(&r, 200);
		uint32_t	to;
		uint32_t	got;
		uint32_t	state;
		PpDfa	   *dfa = unit_malloc(sizeof(PpDfa));
		PpStructure st;

		if (!pp_dialect_is_parity(&d) || d.escape == d.quote || d.escape == d.delimiter)
			d = texts_dialect[unit_once_in(&r, 2) ? 1 : 4];
		unit_case("%s: escapes %llu, %s", k->name, (unsigned long long) i, texts_dialect_name(&d));

		for (uint32_t j = 0; j < 4; j++)
			weight[j] = unit_once_in(&r, 3) ? 1 + unit_below(&r, 60) : unit_below(&r, 4);
		while (len < sizeof(text) - 2)
		{
			uint32_t	x = unit_below(&r, 1 + weight[0] + weight[1] + weight[2] + weight[3]);

			if (x < weight[0])
				text[len++] = d.quote;
			else if (x < weight[0] + weight[1])
				text[len++] = d.escape;
			else if (x < weight[0] + weight[1] + weight[2])
			{
				if (eol != PP_EOL_NL)
					text[len++] = '\r';
				if (eol != PP_EOL_CR)
					text[len++] = '\n';
			}
			else
				text[len++] = 'z';
		}

		/* start where the automaton is in a state that the kernel knows */
		pp_dialect_compile(&d, eol, dfa);
		state = dfa->start;
		for (uint32_t j = 0; j < from || !pp_dialect_plain_state(dfa, state); j++)
		{
			state = dfa->step[state][text[j]] & 15u;
			from = j + 1 > from ? j + 1 : from;
		}
		memset(&st, 0, sizeof(st));
		st.delimiter = d.delimiter;
		st.quote = d.quote;
		st.escape = d.escape;
		st.eol = eol;
		st.width = 1;
		st.max_records = sizeof(text);
		st.end = end;
		st.in_quote = pp_dialect_in_quote(state);
		st.at_start = state == dfa->start;
		st.behind_cr = pp_dialect_behind_cr(state);
		to = from + unit_below(&r, len - from + 1);
		got = k->structure(&st, text, from, to);
		EXPECT(got == from + (to - from) / 64 * 64 ||
			   (got + 1 == from + (to - from) / 64 * 64 && st.in_quote && text[got] == d.escape),
			   "went from %u to %u of %u", from, got, to);

		for (uint32_t j = from; j < got; j++)
		{
			uint8_t		e = dfa->step[state][text[j]];

			state = e & 15u;
			EXPECT(!(e & PP_EMIT_STOP), "the text is broken at %u", j);
			if (e & (PP_EMIT_FIELD | PP_EMIT_RECORD))
				want[nwant++] = j;
		}
		EXPECT(state == pp_dialect_state(dfa, st.in_quote, st.at_start, st.behind_cr),
			   "from %u to %u: state %u expected", from, got, state);
		EXPECT(st.nends == nwant && st.nrecords == nwant && memcmp(end, want, nwant * 4) == 0,
			   "from %u to %u: %u records, but %u expected", from, got, st.nrecords, nwant);
		free(dfa);
	}
}

/* A short number, or something like one, of n bytes or less. */
static uint32_t
random_number(UnitRandom *r, uint8_t *dst, uint32_t n)
{
	static const uint8_t odd[] = "+- .eEx,0a\x01\xff/:";
	uint32_t	len = unit_below(r, n + 1);

	for (uint32_t i = 0; i < len; i++)
		dst[i] = (uint8_t) ('0' + unit_below(r, 10));
	if (len > 0 && unit_once_in(r, 3))
		dst[0] = '-';
	if (len > 0 && unit_once_in(r, 2))
		dst[unit_below(r, len)] = '.';
	if (len > 0 && unit_once_in(r, 6))
		dst[unit_below(r, len)] = odd[unit_below(r, sizeof(odd) - 1)];
	return len;
}

/* Eight numbers at a time, in rows that are not neighbours. */
static void
test_numbers(const PpKernels *k)
{
	uint64_t	iterations = unit_iterations(40000);
	uint64_t	done_of_valid = 0;
	uint64_t	valid = 0;

	for (uint64_t i = 0; i < iterations; i++)
	{
		UnitRandom	r = unit_random(T_NUMBERS, i);
		enum
		{
			ROWS = 20
		};
		uint32_t	width = 1 + unit_below(&r, 3);
		uint32_t	lead = 1 + unit_below(&r, 2);
		bool		real = unit_once_in(&r, 2);
		uint32_t	ends[1 + ROWS * 3];
		uint32_t   *end = ends + 1;
		uint8_t		buffer[ROWS * 3 * 14 + 8];
		uint8_t    *text;
		uint32_t	len = 0;
		uint32_t	row[8];
		uint64_t	value[8];
		uint32_t	done;

		unit_case("%s: numbers %llu, %s", k->name, (unsigned long long) i, real ? "real" : "integer");
		for (uint32_t f = 0; f < ROWS * width; f++)
		{
			/* all fields the same distance apart, which is all that lead says */
			for (uint32_t j = 0; j < lead; j++)
				buffer[len++] = f == 0 ? 'h' : ',';
			if (f == 0)
				end[-1] = 0;
			len += random_number(&r, buffer + len, unit_once_in(&r, 10) ? 12 : 8);
			end[f] = len;
		}
		/* eight bytes from a field's start on are read, no more */
		text = unit_malloc(len + 8);
		memcpy(text, buffer, len);
		for (uint32_t j = 0; j < 8; j++)
			text[len + j] = (uint8_t) ('0' + unit_below(&r, 10));
		for (uint32_t j = 0; j < 8; j++)
			row[j] = (j > 0 ? row[j - 1] + 1 : 0) + unit_below(&r, 2);

		/* the column is the first of each row */
		done = k->numbers(text, end, width, lead, row, real, value);
		EXPECT(done < 256, "%x done", done);
		for (uint32_t j = 0; j < 8; j++)
		{
			size_t		at = (size_t) row[j] * width;
			uint32_t	start = end[(ptrdiff_t) at - 1] + lead;
			uint32_t	n = end[at] - start;
			char		copy[32];
			uint32_t	digits = 0;
			uint32_t	points = 0;
			bool		is_number = n >= 1 && n <= 8;
			char	   *stop;
			uint64_t	want;

			memcpy(copy, text + start, n);
			copy[n] = '\0';
			for (uint32_t b = 0; b < n; b++)
			{
				digits += copy[b] >= '0' && copy[b] <= '9';
				points += copy[b] == '.';
				if (!(copy[b] >= '0' && copy[b] <= '9') && !(copy[b] == '.' && real) &&
					!(copy[b] == '-' && b == 0))
					is_number = false;
			}
			if (digits == 0 || points > 1)
				is_number = false;
			if (!(done >> j & 1))
			{
				valid += is_number;
				continue;
			}
			EXPECT(is_number, "%s is taken for a number", copy);
			if (real)
			{
				double		d = strtod(copy, &stop);

				memcpy(&want, &d, sizeof(want));
			}
			else
				want = (uint64_t) strtoll(copy, &stop, 10);
			EXPECT(value[j] == want, "%s becomes %llx, but %llx expected", copy,
				   (unsigned long long) value[j], (unsigned long long) want);
			valid++;
			done_of_valid++;
		}
		free(text);
	}
	/* Of a field only its start is looked at, so it may have any length. */
	for (uint32_t bits = 4; bits < 30; bits++)
	{
		static const uint8_t start[16] = ",123";
		uint32_t	ends[2] = {0, 1 + (1u << bits) + 3};
		const uint32_t row[8] = {0};
		uint64_t	value[8];

		unit_case("%s: a field of %u bytes", k->name, ends[1] - 1);
		EXPECT(k->numbers(start, ends + 1, 1, 1, row, true, value) == 0, "taken for a number");
		EXPECT(k->numbers(start, ends + 1, 1, 1, row, false, value) == 0, "taken for a number");
	}
	unit_case("%s: nearly all numbers are taken", k->name);
	EXPECT(valid > 0 && done_of_valid * 100 >= valid * 95, "%llu of %llu",
		   (unsigned long long) done_of_valid, (unsigned long long) valid);
}

/* A timestamp, or nearly one; answers its length, at most 22. */
static uint32_t
random_timestamp(UnitRandom *r, uint8_t *dst)
{
	static const char others[] = "0123456789-: .T+a\xff/;";
	char		copy[64];
	int			n;
	uint32_t	year = unit_once_in(r, 4) ? unit_below(r, 10000) : 1990 + unit_below(r, 50);
	uint32_t	month = unit_once_in(r, 50) ? unit_below(r, 100) : 1 + unit_below(r, 12);
	uint32_t	day = unit_once_in(r, 50) ? unit_below(r, 100) : 1 + unit_below(r, 31);
	uint32_t	hour = unit_once_in(r, 50) ? unit_below(r, 100) : unit_below(r, 24);
	uint32_t	minute = unit_once_in(r, 50) ? unit_below(r, 100) : unit_below(r, 60);
	uint32_t	second = unit_once_in(r, 50) ? unit_below(r, 100) : unit_below(r, 60);

	n = snprintf(copy, sizeof(copy), "%04u-%02u-%02u %02u:%02u:%02u",
				 year % 10000, month % 100, day % 100, hour % 100, minute % 100, second % 100);
	if (unit_once_in(r, 20))
		n -= (int) (1 + unit_below(r, 18));
	else if (unit_once_in(r, 20))
		n += snprintf(copy + n, 4, ".%u", unit_below(r, 10));
	if (unit_once_in(r, 6))
		copy[unit_below(r, (uint32_t) n)] = others[unit_below(r, sizeof(others) - 1)];
	memcpy(dst, copy, (size_t) n);
	return (uint32_t) n;
}

/* Eight timestamps at a time: what is done is what the conversion gives. */
static void
test_timestamps(const PpKernels *k)
{
	uint64_t	iterations = unit_iterations(40000);
	uint64_t	done_of_valid = 0;
	uint64_t	valid = 0;

	for (uint64_t i = 0; i < iterations; i++)
	{
		UnitRandom	r = unit_random(T_TIMESTAMPS, i);
		uint32_t	width = 1 + unit_below(&r, 2);
		uint32_t	lead = 1 + unit_below(&r, 2);
		uint32_t	ends[1 + 16 * 2];
		uint32_t   *end = ends + 1;
		uint8_t		buffer[16 * 2 * 26];
		uint8_t    *text;
		uint32_t	len = 0;
		uint32_t	row[8];
		uint64_t	value[8];
		uint32_t	done;

		unit_case("%s: timestamps %llu", k->name, (unsigned long long) i);
		end[-1] = 0;
		for (uint32_t f = 0; f < 16 * width; f++)
		{
			for (uint32_t j = 0; j < lead; j++)
				buffer[len++] = ',';
			len += random_timestamp(&r, buffer + len);
			end[f] = len;
		}
		/* what the conversion may read, too */
		text = unit_malloc(len + PP_PAD);
		memcpy(text, buffer, len);
		memset(text + len, '0', PP_PAD);
		for (uint32_t j = 0; j < 8; j++)
			row[j] = (j > 0 ? row[j - 1] + 1 : 0) + unit_below(&r, 2);

		done = k->timestamps(text, end, width, lead, row, value);
		EXPECT(done < 256, "%x done", done);
		for (uint32_t j = 0; j < 8; j++)
		{
			size_t		at = (size_t) row[j] * width;
			uint32_t	start = end[(ptrdiff_t) at - 1] + lead;
			uint32_t	n = end[at] - start;
			uint64_t	want = 0;
			bool		converts = pp_to_timestamp(text + start, n, -1, &want);

			if (!(done >> j & 1))
			{
				/* a leap day is left out on purpose */
				valid += converts && n == 19 && text[start + 10] == ' ' &&
					memcmp(text + start + 4, "-02-29", 6) != 0;
				continue;
			}
			EXPECT(converts && value[j] == want, "%s becomes %lld, but %lld expected",
				   unit_show(text + start, n), (long long) value[j], (long long) want);
			valid++;
			done_of_valid++;
		}
		free(text);
	}
	/* some have a zone in place of seconds */
	unit_case("%s: nearly all timestamps are taken", k->name);
	EXPECT(valid > 0 && done_of_valid * 100 >= valid * 99, "%llu of %llu",
		   (unsigned long long) done_of_valid, (unsigned long long) valid);
}

int
main(int argc, char **argv)
{
	uint32_t	level[CHECK_LEVELS];
	uint32_t	levels;

	unit_begin(argc, argv, "kernel");
	levels = check_simd_levels(level);
	unit_case("levels");
	EXPECT(levels >= 1 && level[0] == PP_SIMD_SCALAR && pp_best_kernels() != NULL,
		   "%u levels", levels);
	for (uint32_t i = 0; i < levels; i++)
	{
		const PpKernels *k = pp_kernels((PpSimd) level[i]);

		unit_case("level %u", level[i]);
		EXPECT(k->level == (PpSimd) level[i] && k->name != NULL, "is called %u", (uint32_t) k->level);
		test_count(k);
		test_unquote(k);
		test_utf8(k);
		if (k->structure != NULL)
		{
			test_structure(k);
			test_escapes(k);
		}
		if (k->numbers != NULL)
			test_numbers(k);
		if (k->timestamps != NULL)
			test_timestamps(k);
	}
	return unit_end();
}
