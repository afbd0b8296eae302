/*
 * test/unit/reference.h
 *	  An independent model of how COPY ... (FORMAT csv) reads a file: plain,
 *	  sequential, one byte at a time, all in memory.
 *
 * The model is what the engine is compared with, so it shares no code with
 * it; from the engine it takes only the names of dialects, kinds of line end
 * and columns.  It follows the observable behaviour of the two layers of
 * COPY (find the end of the line; split the line) for servers that have an
 * end-of-data marker in CSV files and for those that do not.
 *
 * One thing is left out on purpose: where a look-ahead of COPY falls on the
 * edge of its own input buffer while the quote character is a backslash, it
 * looks at the quoting state twice.  The model looks once.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "parse/column.h"
#include "parse/dialect.h"

typedef struct RefSpec
{
	PpDialect	dialect;
	PpEol		eol;			/* kind known from the start, or UNKNOWN */
	bool		header;			/* the first record is a header */
	bool		whole;			/* nfields is checked */
	uint32_t	nfields;
	const uint8_t *null_text;
	uint32_t	null_len;
} RefSpec;

typedef struct RefField
{
	size_t		start;			/* raw bytes [start, stop) of the file */
	size_t		stop;
	const uint8_t *value;		/* quotes and escapes removed */
	size_t		len;
	bool		quoted;
	bool		is_null;		/* the unquoted NULL marker */
} RefField;

typedef struct RefRecord
{
	size_t		start;			/* bytes [start, stop) of the file, */
	size_t		stop;			/* line end excluded */
	size_t		next;			/* first byte behind its line end */
	uint64_t	line;			/* COPY's line number once it has been read */
	bool		at_eof;			/* ended by the end of the data */
	bool		bad_fields;		/* not nfields of them */
	bool		unterminated;
	size_t		first_field;	/* in RefFile.field */
	size_t		nfields;
} RefRecord;

/* Why nothing follows the last record. */
typedef enum RefEnd
{
	REF_END,					/* end of the data */
	REF_MARKER_END,				/* end-of-data marker */
	REF_UNTERMINATED,			/* the rest are errors */
	REF_CR,
	REF_NL,
	REF_MARKER,
	REF_ENCODING
} RefEnd;

typedef struct RefFile
{
	RefRecord  *record;			/* the header excluded */
	size_t		nrecords;
	RefField   *field;
	size_t		nallfields;
	bool		has_header;
	RefRecord	header;
	RefRecord	broken;			/* of UNTERMINATED; not among the records */
	RefEnd		end;
	size_t		end_start;		/* start of the record that is in error, or of
								 * the marker, or the end of the data */
	size_t		end_at;			/* the offending byte: '\r', '\n', the marker's
								 * '\', the first invalid byte; UNTERMINATED:
								 * end of the record's text */
	size_t		end_next;		/* UNTERMINATED: behind the line end */
	uint64_t	end_line;		/* COPY's line number at the error */
	PpEol		eol;			/* as found */
	bool		marker_first;	/* the marker stands at byte 0 */
	size_t		room_fields;
	size_t		room_records;
	uint8_t    *bytes;			/* values */
} RefFile;

/*
 * Reads len bytes of which the first valid ones are valid text (the byte at
 * valid, if valid < len, is not).  To be freed by ref_free().
 */
extern RefFile *ref_read(const RefSpec *spec, const uint8_t *text, size_t len,
						 size_t valid);
extern void ref_free(RefFile *file);

/* Leading bytes that are valid UTF-8 without NUL, by code points. */
extern size_t ref_utf8_prefix(const uint8_t *s, size_t n);

/* Leading bytes that are not zero. */
extern size_t ref_nul_prefix(const uint8_t *s, size_t n);

/*
 * What must come of one field in one column.  Only the types that have a
 * naive conversion here: PP_DEFER, the integers, PP_FLOAT8, PP_TEXT.
 */
typedef enum RefVerdict
{
	REF_NULL,					/* state PP_NULL */
	REF_DEFERRED,				/* state PP_DEFERRED, nothing else */
	REF_DEFAULT,				/* state PP_DEFAULT */
	REF_VALUE,					/* state PP_VALUE and this value */
	REF_VALUE_OR_DEFERRED		/* either, but no other value */
} RefVerdict;

typedef struct RefDatum
{
	RefVerdict	verdict;
	int64_t		integer;		/* integers; bits of a PP_FLOAT8 */
	const uint8_t *bytes;		/* PP_TEXT */
	size_t		len;
} RefDatum;

typedef struct RefMarkers
{
	const uint8_t *null_text;
	uint32_t	null_len;
	bool		has_default;
	const uint8_t *default_text;
	uint32_t	default_len;
} RefMarkers;

extern RefDatum ref_datum(const PpColumn *column, const RefMarkers *markers,
						  const uint8_t *text, const RefField *field);

#endif							/* REFERENCE_H */
