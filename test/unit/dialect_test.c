/*
 * test/unit/dialect_test.c
 *	  Dialects compiled to automata, the search for the kind of line end, and
 *	  the reader of fields, each against the sequential model of COPY: usual
 *	  and odd dialects, exhaustively on short texts and randomly on long ones.
 */
#include <stdlib.h>
#include <string.h>

#include "parse/dialect.h"
#include "reference.h"
#include "texts.h"
#include "unit.h"

enum
{
	T_SOUP = 1,
	T_RECORDS
};

static RefFile *
model(const PpDialect *d, PpEol eol, const uint8_t *text, size_t len)
{
	RefSpec		spec;

	memset(&spec, 0, sizeof(spec));
	spec.dialect = *d;
	spec.eol = eol;
	return ref_read(&spec, text, len, len);
}

/* The kind of line end that a scan compiles the dialect for. */
static PpEol
kind_of(const RefFile *file, const uint8_t *text)
{
	if (file->marker_first)
		return text[2] == '\n' ? PP_EOL_NL : PP_EOL_CR;
	return file->eol;
}

static int
expected_end(RefEnd end)
{
	switch (end)
	{
		case REF_END:
			return PP_END_ACCEPT;
		case REF_MARKER_END:
			return PP_END_DATA;
		case REF_UNTERMINATED:
			return PP_END_UNTERMINATED;
		case REF_CR:
			return PP_END_BAD_CR;
		case REF_NL:
			return PP_END_BAD_NL;
		case REF_MARKER:
			return PP_END_BAD_MARKER;
		case REF_ENCODING:
			break;
	}
	return -1;
}

/*
 * Runs the automaton byte by byte.  What it emits must be the model's fields
 * and records, and the state at the end must mean the model's end.
 */
static void
check_automaton(const PpDialect *d, const uint8_t *text, size_t len)
{
	RefFile    *file = model(d, PP_EOL_UNKNOWN, text, len);
	PpEol		eol = kind_of(file, text);
	PpDfa		dfa;
	uint32_t	state;
	size_t		record = 0;
	size_t		field = 0;
	size_t		record_start = 0;
	bool		quoted = false;
	bool		stopped = false;
	size_t		i;

	pp_dialect_compile(d, eol, &dfa);
	EXPECT(dfa.nstates >= 1 && dfa.nstates <= PP_DFA_STATES, "%u states", dfa.nstates);
	EXPECT(dfa.eol_len == (eol == PP_EOL_CRNL ? 2 : 1), "line end of %u bytes", dfa.eol_len);
	EXPECT(pp_vec_apply(pp_dfa_vector(&dfa, text, len), dfa.start) < dfa.nstates,
		   "a state that does not exist");

	state = dfa.start;
	for (i = 0; i < len && !stopped; i++)
	{
		uint8_t		e = dfa.step[state][text[i]];

		EXPECT(pp_vec_apply(dfa.row[dfa.group[text[i]]], state) == (e & 15u),
			   "%s: vector and step differ at %zu", unit_show(text, len), i);
		state = e & 15u;
		if (e & PP_EMIT_QUOTE)
			quoted = true;
		if (e & PP_EMIT_STOP)
			stopped = true;
		if (e & (PP_EMIT_FIELD | PP_EMIT_RECORD) && record < file->nrecords)
		{
			const RefRecord *rec = &file->record[record];
			const RefField *f = &file->field[rec->first_field + field];
			bool		ends = (e & PP_EMIT_RECORD) != 0;
			size_t		stop = ends ? i + 1 - dfa.eol_len : i;

			if (field >= rec->nfields || stop != f->stop || quoted != f->quoted ||
				ends != (field + 1 == rec->nfields))
			{
				EXPECT(false, "%s (%s): record %zu field %zu ends at %zu %s, but %zu expected",
					   unit_show(text, len), texts_eol_name(eol), record, field, stop,
					   quoted ? "quoted" : "unquoted", field < rec->nfields ? f->stop : 0);
				break;
			}
			quoted = false;
			field++;
			if (ends)
			{
				EXPECT(i + 1 == rec->next, "%s: next record at %zu", unit_show(text, len), i + 1);
				record++;
				record_start = i + 1;
				field = 0;
				EXPECT(state == dfa.start, "%s: state %u at the start of a record",
					   unit_show(text, len), state);
			}
		}
		else if (e & PP_EMIT_RECORD)
			EXPECT(false, "%s (%s): a record too many, ending at %zu",
				   unit_show(text, len), texts_eol_name(eol), i);
	}

	/* A last record without line end is not emitted. */
	if (record + 1 == file->nrecords && file->record[record].at_eof)
		record++;
	EXPECT(record == file->nrecords, "%s (%s): %zu records, but %zu expected",
		   unit_show(text, len), texts_eol_name(eol), record, file->nrecords);
	EXPECT((int) dfa.end[state] == expected_end(file->end), "%s (%s): ends as %u, but %d expected",
		   unit_show(text, len), texts_eol_name(eol), dfa.end[state], expected_end(file->end));
	/* Errors and markers are seen where they stand, not behind. */
	if (stopped)
	{
		EXPECT(i <= file->end_at + 4, "%s: stopped behind %zu for %zu", unit_show(text, len),
			   i, file->end_at);
		for (uint32_t b = 0; b < 256; b++)
			EXPECT((dfa.step[state][b] & 15u) == state, "a final state is left by %u", b);
		EXPECT(record_start == file->end_start, "%s: stopped in the record at %zu, but %zu expected",
			   unit_show(text, len), record_start, file->end_start);
	}
	ref_free(file);
}

/* The search must answer alike in whatever pieces the file arrives. */
static void
check_eol_search(const PpDialect *d, const uint8_t *text, size_t len, UnitRandom *r)
{
	RefFile    *file = model(d, PP_EOL_UNKNOWN, text, len);
	RefFile    *as_nl = model(d, PP_EOL_NL, text, len);
	PpEolSearch search;
	size_t		upto = unit_below(r, (uint32_t) len + 1);
	uint32_t	step = 1 + unit_below(r, 4);
	const RefRecord *first = file->nrecords > 0 ? &file->record[0] : NULL;
	bool		over;

	memset(&search, 0, sizeof(search));
	for (;;)
	{
		/* a buffer that ends here, so that looking further shows */
		uint8_t    *copy = unit_malloc(upto);
		bool		last = upto == len && unit_once_in(r, 2);

		if (upto > 0)
			memcpy(copy, text, upto);
		over = pp_eol_search(d, &search, copy, upto, last);
		free(copy);
		EXPECT(search.scanned <= upto, "scanned %llu of %zu",
			   (unsigned long long) search.scanned, upto);
		if (over || last)
			break;
		upto = len - upto < step ? len : upto + step;
	}
	EXPECT(over, "%s: never ends", unit_show(text, len));

	EXPECT(search.at_marker == file->marker_first, "%s: marker", unit_show(text, len));
	if (file->marker_first)
		EXPECT(search.eol == kind_of(file, text), "%s: %s", unit_show(text, len),
			   texts_eol_name(search.eol));
	else
	{
		if (first == NULL && file->end == REF_UNTERMINATED)
			first = &file->broken;
		EXPECT(search.eol == file->eol, "%s: %s, but %s expected", unit_show(text, len),
			   texts_eol_name(search.eol), texts_eol_name(file->eol));
		EXPECT(search.found == (file->eol != PP_EOL_UNKNOWN), "%s: found", unit_show(text, len));
		EXPECT(search.record_end == (first ? first->stop : 0) &&
			   search.next_record == (first ? first->next : 0),
			   "%s: first record ends at %llu, next %llu", unit_show(text, len),
			   (unsigned long long) search.record_end,
			   (unsigned long long) search.next_record);
		/* COPY's line number behind the record counts these, of each kind */
		if (first)
			EXPECT(search.quoted_cr == first->line - 1, "%s: %llu quoted carriage returns",
				   unit_show(text, len), (unsigned long long) search.quoted_cr);
		if (first && file->eol == PP_EOL_NL)
			EXPECT(search.quoted_nl == (as_nl->nrecords > 0 ? as_nl->record[0].line :
										as_nl->broken.line) - 1,
				   "%s: %llu quoted newlines", unit_show(text, len),
				   (unsigned long long) search.quoted_nl);
	}
	ref_free(file);
	ref_free(as_nl);
}

/* Fields of one record, each value written to a buffer of exactly its size. */
static void
check_fields(const PpDialect *d, const uint8_t *text, const RefFile *file,
			 const RefRecord *rec)
{
	size_t		len = rec->stop - rec->start;
	uint8_t    *record = unit_malloc(len);
	uint32_t	pos = 0;

	if (len > 0)
		memcpy(record, text + rec->start, len);
	for (size_t k = 0; k < rec->nfields; k++)
	{
		const RefField *want = &file->field[rec->first_field + k];
		bool		last = k + 1 == rec->nfields;
		PpField		got;
		uint8_t    *value;
		uint32_t	n;

		memset(&got, 0xa5, sizeof(got));
		pp_read_field(d, record, pos, (uint32_t) len, &got);
		EXPECT(got.start == want->start - rec->start && got.end == want->stop - rec->start &&
			   got.quoted == want->quoted && got.more == !last &&
			   got.unterminated == (last && rec->unterminated),
			   "%s: field %zu is [%u, %u)%s%s%s", unit_show(record, len), k, got.start, got.end,
			   got.quoted ? " quoted" : "", got.more ? " more" : "",
			   got.unterminated ? " unterminated" : "");
		if (got.end > len || got.start > got.end)
			break;

		value = unit_malloc(got.end - got.start);
		n = pp_unquote(d, record + got.start, got.end - got.start, value);
		EXPECT(n == want->len && (n == 0 || memcmp(value, want->value, n) == 0),
			   "%s: value of field %zu is %s, but %s expected", unit_show(record, len), k,
			   unit_show(value, n), unit_show(want->value, want->len));
		free(value);
		pos = got.end + 1;
	}
	free(record);
}

static void
check_text(const PpDialect *d, const uint8_t *text, size_t len, UnitRandom *r)
{
	RefFile    *file = model(d, PP_EOL_UNKNOWN, text, len);

	check_automaton(d, text, len);
	check_eol_search(d, text, len, r);
	for (size_t i = 0; i < file->nrecords; i++)
		check_fields(d, text, file, &file->record[i]);
	if (file->end == REF_UNTERMINATED)
		check_fields(d, text, file, &file->broken);
	ref_free(file);
}

/*
 * All texts of up to max bytes over the bytes that mean something, preceded
 * by each of a few beginnings that fix the kind of line end.
 */
static void
test_exhaustive(const PpDialect *d, uint32_t max)
{
	static const char *const beginning[] = {"", "a\n", "a\r", "a\r\n"};
	uint8_t		alphabet[8];
	uint32_t	letters = 0;
	uint8_t		candidate[] = {d->quote, d->delimiter, d->escape, '\n', '\r', 'x', '\\', '.'};
	UnitRandom	r = unit_random(0, d->quote);

	for (uint32_t i = 0; i < (d->end_marker ? 8 : 6); i++)
		if (memchr(alphabet, candidate[i], letters) == NULL)
			alphabet[letters++] = candidate[i];

	for (uint32_t b = 0; b < 4; b++)
		for (uint32_t len = 0; len <= max; len++)
		{
			uint64_t	count = 1;
			size_t		before = strlen(beginning[b]);

			for (uint32_t k = 0; k < len; k++)
				count *= letters;
			unit_case("%s: all texts of %u bytes behind %s", texts_dialect_name(d), len,
					  unit_show((const uint8_t *) beginning[b], before));
			for (uint64_t v = 0; v < count; v++)
			{
				uint8_t		text[16];
				uint64_t	rest = v;

				memcpy(text, beginning[b], before);
				for (uint32_t k = 0; k < len; k++)
				{
					text[before + k] = alphabet[rest % letters];
					rest /= letters;
				}
				check_text(d, text, before + len, &r);
			}
		}
}

static void
test_random(const PpDialect *d, uint32_t number, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_SOUP, number * UINT64_C(1000000) + i);
		uint8_t		text[300];
		size_t		len = texts_soup(&r, d, text, unit_once_in(&r, 2) ? 30 : sizeof(text));

		unit_case("%s: soup %llu", texts_dialect_name(d), (unsigned long long) i);
		check_text(d, text, len, &r);
	}
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_RECORDS, number * UINT64_C(1000000) + i);
		uint8_t		text[600];
		size_t		len = texts_records(&r, d, (PpEol) (1 + unit_below(&r, 3)),
										1 + unit_below(&r, 5), unit_below(&r, 40),
										text, sizeof(text));

		unit_case("%s: records %llu", texts_dialect_name(d), (unsigned long long) i);
		check_text(d, text, len, &r);
	}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "dialect");
	for (uint32_t i = 0; i < texts_ndialects; i++)
		for (uint32_t marker = 0; marker < 2; marker++)
		{
			PpDialect	d = texts_dialect[i];

			d.end_marker = marker != 0;
			test_exhaustive(&d, unit_iterations(100) >= 100 ? 4 : 3);
			test_random(&d, 2 * i + marker, unit_iterations(600));
		}
	return unit_end();
}
