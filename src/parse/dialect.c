/*
 * src/parse/dialect.c
 *	  CSV dialects: compilation to an automaton, search for the file's kind of
 *	  line end, and the reference reader of one record's fields.
 *
 * The three follow the rules of COPY's CSV mode, which works in two layers:
 * one finds the end of the line while it toggles quoting, the other splits
 * the line into fields.  Both layers agree on the quoting state at every
 * byte that matters, so one automaton serves for both.
 */
#include "dialect.h"

#include <string.h>

#ifdef PP_TEST_MUTATION
int			pp_mutation = PP_MUTATION_none;
#endif

enum
{
	S_START,					/* first byte of a record */
	S_PLAIN,					/* outside quotes */
	S_QUOTED,					/* inside quotes */
	S_ESCAPE,					/* inside quotes, behind an escape */
	S_CR,						/* CRNL files: behind an unquoted '\r' */
	S_QUOTE_CR,					/* the same, but that '\r' is the quote, and
								 * closes */
	S_MARK1,					/* behind '\' at the start of a record */
	S_MARK2,					/* behind "\." there */
	S_MARK3,					/* CRNL files: behind "\.\r" there */
	S_DATA_END,					/* end-of-data marker complete */
	S_BAD_CR,
	S_BAD_NL,
	S_BAD_MARKER,
	S_UNTERMINATED,				/* the record ended inside quotes; happens
								 * before the end only if the quote is itself
								 * a line end character */
	S_COUNT
};

/* A move to a state that is never left says so. */
static uint8_t
to(uint32_t state, uint32_t emit)
{
	if (state >= S_DATA_END)
		emit |= PP_EMIT_STOP;
	return (uint8_t) (state | emit);
}

/*
 * One step of the automaton without the end-of-data marker.  The quote is
 * looked at first, as in COPY: a quote that is a line end character toggles
 * before it can end a line.
 */
static uint8_t
plain_step(const PpDialect *d, PpEol eol, uint32_t state, uint8_t c)
{
	switch (state)
	{
		case S_START:
		case S_PLAIN:
			if (c == d->quote)
				return to(S_QUOTED, PP_EMIT_QUOTE);
			if (PP_MUTATED(escape_outside_quotes) && d->escape != d->quote && c == d->escape)
				return to(S_ESCAPE, 0);
			if (c == '\r')
				return eol == PP_EOL_CR ? to(S_START, PP_EMIT_RECORD) :
					eol == PP_EOL_CRNL ? to(S_CR, 0) : to(S_BAD_CR, 0);
			if (c == '\n')
				return eol == PP_EOL_NL ? to(S_START, PP_EMIT_RECORD) : to(S_BAD_NL, 0);
			if (c == d->delimiter)
				return to(S_PLAIN, PP_EMIT_FIELD);
			return to(S_PLAIN, 0);

		case S_QUOTED:
			if (d->escape != d->quote && c == d->escape)
				return to(S_ESCAPE, 0);
			if (c != d->quote)
				return to(S_QUOTED, 0);
			if (c == '\r')
				return eol == PP_EOL_NL ? to(S_BAD_CR, 0) :
					eol == PP_EOL_CRNL ? to(S_QUOTE_CR, 0) : to(S_UNTERMINATED, 0);
			if (c == '\n')
				return eol == PP_EOL_NL ? to(S_UNTERMINATED, 0) : to(S_BAD_NL, 0);
			return to(S_PLAIN, 0);

		case S_ESCAPE:
			/* quote and escape are taken literally, all else is data anyway */
			return to(S_QUOTED, 0);

		case S_QUOTE_CR:
			return c == '\n' ? to(S_UNTERMINATED, 0) : to(S_BAD_CR, 0);

		case S_CR:
			return c == '\n' ? to(S_START, PP_EMIT_RECORD) : to(S_BAD_CR, 0);

		default:
			return to(state, 0);
	}
}

static uint8_t
plain_end(uint32_t state)
{
	switch (state)
	{
		case S_START:
		case S_PLAIN:
			return PP_END_ACCEPT;
		case S_CR:
		case S_QUOTE_CR:
		case S_BAD_CR:
			return PP_END_BAD_CR;
		case S_BAD_NL:
			return PP_END_BAD_NL;
		case S_BAD_MARKER:
			return PP_END_BAD_MARKER;
		case S_DATA_END:
			return PP_END_DATA;
		default:
			return PP_END_UNTERMINATED;
	}
}

void
pp_dialect_compile(const PpDialect *d, PpEol eol, PpDfa *dfa)
{
	uint32_t	mark1,
				mark2,
				mark3;

	if (eol == PP_EOL_UNKNOWN)
		eol = PP_EOL_NL;

	memset(dfa, 0, sizeof(*dfa));
	dfa->nstates = S_COUNT;
	dfa->start = S_START;
	dfa->eol_len = eol == PP_EOL_CRNL && !PP_MUTATED(crlf_split) ? 2 : 1;

	for (uint32_t s = 0; s < S_COUNT; s++)
	{
		dfa->end[s] = plain_end(s);
		for (uint32_t c = 0; c < 256; c++)
			dfa->step[s][c] = plain_step(d, eol, s, (uint8_t) c);
	}

	if (d->end_marker && !PP_MUTATED(marker_ignored))
	{
		/*
		 * The marker is recognised beside the ordinary rules, whatever '\'
		 * and '.' mean in this dialect: S_MARK1..3 stand for the ordinary
		 * states mark1..3 as well, and act like these on any byte that does
		 * not complete the marker.  A marker whose line end is of another
		 * kind than the file's is an error; followed by anything else it is
		 * data.
		 */
		mark1 = dfa->step[S_START]['\\'] & 15u;
		mark2 = dfa->step[mark1]['.'] & 15u;
		mark3 = dfa->step[mark2]['\r'] & 15u;
		memcpy(dfa->step[S_MARK1], dfa->step[mark1], 256);
		memcpy(dfa->step[S_MARK2], dfa->step[mark2], 256);
		memcpy(dfa->step[S_MARK3], dfa->step[mark3], 256);
		dfa->end[S_MARK1] = dfa->end[mark1];
		dfa->end[S_MARK2] = dfa->end[mark2];
		dfa->end[S_MARK3] = dfa->end[mark3];

		dfa->step[S_START]['\\'] = to(S_MARK1, dfa->step[S_START]['\\'] & PP_EMIT_ANY);
		dfa->step[S_MARK1]['.'] = to(S_MARK2, dfa->step[mark1]['.'] & PP_EMIT_ANY);
		switch (eol)
		{
			case PP_EOL_CR:
				dfa->step[S_MARK2]['\r'] = to(S_DATA_END, 0);
				dfa->step[S_MARK2]['\n'] = to(S_BAD_MARKER, 0);
				break;
			case PP_EOL_CRNL:
				dfa->step[S_MARK2]['\r'] = to(S_MARK3, dfa->step[mark2]['\r'] & PP_EMIT_ANY);
				dfa->step[S_MARK3]['\n'] = to(S_DATA_END, 0);
				dfa->step[S_MARK3]['\r'] = to(S_BAD_MARKER, 0);
				break;
			default:
				dfa->step[S_MARK2]['\n'] = to(S_DATA_END, 0);
				dfa->step[S_MARK2]['\r'] = to(S_BAD_MARKER, 0);
				break;
		}
	}

	pp_dfa_group(dfa);
}

bool
pp_dialect_is_parity(const PpDialect *d)
{
	/* What is a line end or a delimiter must not be a quote as well. */
	return d->quote != '\r' && d->quote != '\n' && d->quote != d->delimiter &&
		d->escape != '\r' && d->escape != '\n';
}

PpEol
pp_dialect_eol(const PpDfa *dfa)
{
	if (dfa->eol_len == 2)
		return PP_EOL_CRNL;
	return dfa->step[S_PLAIN]['\r'] & PP_EMIT_RECORD ? PP_EOL_CR : PP_EOL_NL;
}

bool
pp_dialect_plain_state(const PpDfa *dfa, uint32_t state)
{
	return state == dfa->start || state == S_PLAIN || state == S_QUOTED || state == S_CR;
}

bool
pp_dialect_in_quote(uint32_t state)
{
	return state == S_QUOTED;
}

bool
pp_dialect_behind_cr(uint32_t state)
{
	return state == S_CR;
}

bool
pp_dialect_peek_cr(const PpDfa *dfa, uint32_t state, uint32_t *end)
{
	/*
	 * COPY looks behind a '\r' before it acts on it, but not if it looks at
	 * it while it acts on what stands before.
	 */
	if (state != S_CR && state != S_MARK2 && state != S_MARK3)
		return false;
	*end = dfa->step[state]['\r'] & 15u;
	return (dfa->step[state]['\r'] & PP_EMIT_STOP) != 0;
}

uint32_t
pp_dialect_state(const PpDfa *dfa, bool in_quote, bool at_start, bool behind_cr)
{
	return in_quote ? S_QUOTED : behind_cr ? S_CR : at_start ? dfa->start : S_PLAIN;
}

bool
pp_eol_search(const PpDialect *d, PpEolSearch *search,
			  const uint8_t *text, uint64_t len, bool last)
{
	uint64_t	i = search->scanned;
	bool		in_quote = search->in_quote;
	bool		escaped = search->escaped;

	if (i == 0 && d->end_marker && !last && len < 3 &&
		(len < 1 || text[0] == '\\') && (len < 2 || text[1] == '.'))
		return false;			/* may yet become a marker */
	if (i == 0 && d->end_marker && len >= 3 && text[0] == '\\' &&
		text[1] == '.' && (text[2] == '\r' || text[2] == '\n'))
	{
		/* While the kind is unknown either character completes the marker. */
		search->at_marker = true;
		search->found = true;
		search->eol = text[2] == '\n' ? PP_EOL_NL : PP_EOL_CR;
		return true;
	}

	for (; i < len; i++)
	{
		uint8_t		c = text[i];

		/* COPY looks behind a '\r' before it acts on it. */
		if (c == '\r' && i + 1 == len && !last)
			break;

		if (in_quote && d->escape != d->quote && c == d->escape)
			escaped = !escaped;
		if (c == d->quote && !escaped)
			in_quote = !in_quote;
		if (c != d->escape || d->escape == d->quote)
			escaped = false;

		if (c != '\r' && c != '\n')
			continue;
		if (in_quote)
		{
			if (c == '\r')
				search->quoted_cr++;
			else
				search->quoted_nl++;
			continue;
		}

		search->found = true;
		search->record_end = i;
		search->next_record = i + 1;
		search->eol = c == '\n' ? PP_EOL_NL : PP_EOL_CR;
		if (c == '\r' && i + 1 < len && text[i + 1] == '\n')
		{
			search->eol = PP_EOL_CRNL;
			search->next_record = i + 2;
		}
		search->scanned = search->next_record;
		return true;
	}

	search->scanned = i;
	search->in_quote = in_quote;
	search->escaped = escaped;
	if (last)
	{
		search->record_end = search->next_record = len;
		return true;
	}
	return false;
}

void
pp_read_field(const PpDialect *d, const uint8_t *record,
			  uint32_t pos, uint32_t len, PpField *field)
{
	bool		in_quote = false;

	field->start = pos;
	field->quoted = false;
	field->more = false;
	field->unterminated = false;

	for (; pos < len; pos++)
	{
		uint8_t		c = record[pos];

		if (!in_quote)
		{
			if (c == d->delimiter)
			{
				field->more = true;
				break;
			}
			if (c == d->quote)
			{
				field->quoted = true;
				in_quote = true;
			}
		}
		else if (c == d->escape && pos + 1 < len &&
				 (record[pos + 1] == d->escape || record[pos + 1] == d->quote))
			pos++;
		else if (c == d->quote)
			in_quote = false;
	}

	field->end = pos;
	field->unterminated = in_quote;
}
