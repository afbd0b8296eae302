/*
 * src/parse/dialect.h
 *	  A CSV dialect as COPY understands it, its compilation to an automaton,
 *	  and the reference reader of a single record.
 *
 * The rules are those of COPY ... (FORMAT csv): a quote toggles quoting
 * anywhere in a field and is dropped; ESCAPE acts only inside quotes and only
 * before a quote or an escape; the file's first line end outside quotes fixes
 * the kind, another kind outside quotes is an error; where the server has an
 * end-of-data marker (PostgreSQL 17 and before), a line holding only "\."
 * ends the data.
 */
#ifndef PP_DIALECT_H
#define PP_DIALECT_H

#include "dfa.h"
#include "mutation.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef enum PpEol
{
	PP_EOL_UNKNOWN,				/* the file has no line end outside quotes */
	PP_EOL_NL,
	PP_EOL_CR,
	PP_EOL_CRNL
} PpEol;

typedef struct PpDialect
{
	uint8_t		delimiter;
	uint8_t		quote;
	uint8_t		escape;			/* equal to quote unless the user says other */
	bool		end_marker;		/* "\." ends the data */
} PpDialect;

/* Compiles the dialect for one kind of line end (UNKNOWN acts as NL). */
extern void pp_dialect_compile(const PpDialect *dialect, PpEol eol, PpDfa *dfa);

/*
 * For those who go over many bytes at a time, not by the automaton.
 *
 * Parity dialect: where no escape (other than the quote) is met, a byte is
 * inside quotes if the number of quotes before it is odd.  Plain state: one
 * that these three facts describe.
 */
extern bool pp_dialect_is_parity(const PpDialect *dialect);
extern PpEol pp_dialect_eol(const PpDfa *dfa);
extern bool pp_dialect_plain_state(const PpDfa *dfa, uint32_t state);
extern bool pp_dialect_in_quote(uint32_t state);
extern bool pp_dialect_behind_cr(uint32_t state);	/* unquoted, of a CRNL file */
/* Would a '\r' that is only looked at end all, and in which state? */
extern bool pp_dialect_peek_cr(const PpDfa *dfa, uint32_t state, uint32_t *end);
extern uint32_t pp_dialect_state(const PpDfa *dfa, bool in_quote, bool at_start,
								 bool behind_cr);

/*
 * Search for the first line end outside quotes, from byte 0.  State is kept
 * between calls so that the file may arrive in pieces.
 */
typedef struct PpEolSearch
{
	uint64_t	scanned;		/* bytes looked at */
	bool		in_quote;
	bool		escaped;
	bool		found;
	bool		at_marker;		/* the file starts with an end-of-data marker */
	PpEol		eol;
	uint64_t	record_end;		/* end of the first record, line end excluded */
	uint64_t	next_record;	/* start of the second record */
	uint64_t	quoted_cr;		/* carriage returns inside quotes so far */
	uint64_t	quoted_nl;
} PpEolSearch;

/*
 * Looks at bytes text[search->scanned .. len); last says that no byte follows.
 * Answers true when the search is over: found, or the input is exhausted.
 */
extern bool pp_eol_search(const PpDialect *dialect, PpEolSearch *search,
						  const uint8_t *text, uint64_t len, bool last);

/* One field as the reference reader sees it. */
typedef struct PpField
{
	uint32_t	start;			/* raw bytes [start, end) of the record's text */
	uint32_t	end;
	bool		quoted;			/* a quote was seen */
	bool		more;			/* a delimiter follows, so another field does */
	bool		unterminated;	/* the record ended inside quotes */
} PpField;

/*
 * Reads the field that starts at pos of a record of len bytes (line end
 * excluded).  The next field, if more, starts at field->end + 1.
 */
extern void pp_read_field(const PpDialect *dialect, const uint8_t *record,
						  uint32_t pos, uint32_t len, PpField *field);

/*
 * Writes a field's value, quotes and escapes removed, to dst (n bytes of room
 * are enough; not terminated) and answers its length.  The field may come in
 * pieces, none of which but the last ends with a quote or an escape;
 * *in_quote is the state between them, false at first.
 */
PP_INLINE uint32_t
pp_unquote_piece(const PpDialect *dialect, const uint8_t *src, uint32_t n,
				 bool *in_quote, uint8_t *dst)
{
	uint8_t		quote = dialect->quote;
	uint8_t		escape = dialect->escape;
	uint8_t    *out = dst;
	bool		inside = *in_quote;

	for (uint32_t i = 0; i < n; i++)
	{
		uint8_t		c = src[i];

		if (inside && c == escape && i + 1 < n &&
			(src[i + 1] == escape || src[i + 1] == quote))
			*out++ = src[++i];
		else if (c == quote && !(PP_MUTATED(drop_quote_toggle) && i > 0))
			inside = !inside;
		else
			*out++ = c;
	}
	*in_quote = inside;
	return (uint32_t) (out - dst);
}

/* The same, of a whole field. */
PP_INLINE uint32_t
pp_unquote(const PpDialect *dialect, const uint8_t *src, uint32_t n, uint8_t *dst)
{
	bool		in_quote = false;

	return pp_unquote_piece(dialect, src, n, &in_quote, dst);
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_DIALECT_H */
