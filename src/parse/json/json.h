/*
 * src/parse/json/json.h
 *	  What scanning newline-delimited JSON adds to the engine's contract: which
 *	  values of a record are columns, where they stand, and what is wrong with
 *	  a record.
 *
 * A record is the text of one line; lines of nothing but white space are none.
 * Each record is checked as a whole, whatever is wanted of it: UTF-8 without
 * zero bytes, then the grammar of RFC 8259, then what escapes stand for.  The
 * text is in the server encoding: UTF-8, or what a PpJsonCharset tells of.
 *
 * Columns are paths into the record.  A path is followed step by step: of
 * equal keys the last one counts at each step, an index counts from 0, and a
 * step that leads nowhere makes the column NULL.
 *
 * A column's text is what json_populate_record() hands to the input function
 * of a scalar type: a string's characters, and of any other value its text as
 * it stands.  JSON's null is NULL.  Whatever else a type does with a value
 * (composites, arrays, jsonb) is for the caller: PP_DEFERRED, with the range.
 */
#ifndef PP_JSON_H
#define PP_JSON_H

#include "../../backend.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct PpJsonStep
{
	const uint8_t *key;			/* unescaped; NULL: an array's element */
	uint32_t	key_len;
	uint32_t	index;			/* of the element, from 0 */
} PpJsonStep;

/* The path of the projected column of the same number. */
typedef struct PpJsonColumn
{
	uint32_t	nsteps;			/* 0: the record itself */
	const PpJsonStep *step;

	/*
	 * The value's text is wanted as json, quotes and all, with column type
	 * PP_TEXT.  Handed over are strings with escapes, which core writes anew,
	 * unless the record itself is the column.
	 */
	bool		as_json;
} PpJsonColumn;

/*
 * A server encoding other than UTF-8.  As in all of these, no byte below 0x80
 * is part of a longer character.  The functions only compute.
 */
typedef struct PpJsonCharset
{
	void	   *ctx;
	bool		utf8;			/* the text is UTF-8 all the same, and checked as
								 * such: the server encoding is SQL_ASCII */

	/*
	 * Unless utf8: length of the longest prefix that is valid and without zero
	 * bytes; NULL: text is known to be.
	 */
	size_t		(*valid_prefix) (void *ctx, const uint8_t *s, size_t n);

	/*
	 * The character of a code point of 0x80 or more, in up to
	 * PP_JSON_ENCODED bytes; 0: there is none.
	 */
	uint32_t	(*encode) (void *ctx, uint32_t code, uint8_t *dst);
} PpJsonCharset;

#define PP_JSON_ENCODED		16

/* Where in documents a job begins: in each case right behind a separator. */
typedef enum PpJsonPlace
{
	PP_JSON_AT_TOP,				/* between outermost values */
	PP_JSON_AT_FIRST,			/* in an outermost array, behind its '[' */
	PP_JSON_AT_NEXT				/* the same, behind a comma */
} PpJsonPlace;

/*
 * What pp_backend_ndjson is opened with; scan comes first and its struct_size
 * is that of the whole.  Of scan, dialect, dfa, nfields, markers, defaults and
 * chunk_size are not looked at, nor is a column's field; filters are as ever.
 * With simd PP_SIMD_SCALAR the reference does all the work.
 */
typedef struct PpJsonScanSpec
{
	PpScanSpec	scan;
	const PpJsonColumn *column; /* [scan.ncolumns] */
	uint32_t	max_depth;		/* containers within each other, at least 1 */
	bool		any_value;		/* records need not be objects */
	bool		bom;			/* the first job starts at byte 0 of the input,
								 * which is UTF-8: a byte order mark there is
								 * skipped */
	const PpJsonCharset *charset;	/* NULL: text is in UTF-8 */
	const PpBackend *host;		/* of a backend on a device only: the CPU's, which
								 * gets the records that the device does not
								 * accept, and says what is wrong with them */
	void		(*host_enter) (PpBackendScan *scan, PpJsonPlace place);	/* of
								 * documents: pp_json_enter() */
} PpJsonScanSpec;

/* Bytes [start, end) of the text; both 0: there is no such value. */
typedef struct PpJsonRange
{
	uint32_t	start;
	uint32_t	end;
} PpJsonRange;

/* In which way a record is wrong, and the SQLSTATE it is about. */
typedef enum PpJsonCode
{
	PP_JSON_OK,
	PP_JSON_SYNTAX,				/* 22P02 */
	PP_JSON_SURROGATE,			/* 22P02: half of a surrogate pair, escaped */
	PP_JSON_NUL,				/* 22P05: \u0000 */
	PP_JSON_UNTRANSLATABLE,		/* 22P05: an escape whose character the server
								 * encoding lacks */
	PP_JSON_ENCODING,			/* 22021 */
	PP_JSON_DEPTH,				/* 54001 */
	PP_JSON_NOT_OBJECT			/* 22023 */
} PpJsonCode;

/* What was expected, or is wrong, at the offset; of a syntax error. */
typedef enum PpJsonReason
{
	PP_JSON_NO_REASON,
	PP_JSON_WANT_VALUE,
	PP_JSON_WANT_VALUE_OR_CLOSE,	/* behind '[' */
	PP_JSON_WANT_KEY,			/* behind a comma */
	PP_JSON_WANT_KEY_OR_CLOSE,	/* behind '{' */
	PP_JSON_WANT_COLON,
	PP_JSON_WANT_COMMA_OR_BRACKET,	/* in an array */
	PP_JSON_WANT_COMMA_OR_BRACE,	/* in an object */
	PP_JSON_WANT_END,			/* behind the record's value */
	PP_JSON_BAD_TOKEN,			/* no number, nor true, false, null */
	PP_JSON_BAD_ESCAPE,			/* offset: the backslash */
	PP_JSON_BAD_CONTROL,		/* a control character in a string */
	PP_JSON_UNTERMINATED		/* offset: the opening quote */
} PpJsonReason;

/*
 * The fault that core reports first, as far as their order is core's: wrong
 * encoding anywhere in the record, grammar and depth from left to right, and
 * only then escapes and the kind of value.
 */
typedef struct PpJsonFault
{
	PpJsonCode	code;
	PpJsonReason reason;
	uint32_t	offset;			/* of the text: the offending byte, token or
								 * escape; the record's end if more is missing */
	PpJsonRange key;			/* the last whole key in front of it, as it stands,
								 * quotes included */
} PpJsonFault;

/*
 * The batch of pp_backend_ndjson; a PpBatch with width 1 and eol_len 1, whose
 * field 0 of a record is its line, blank lines in front of it included.  See
 * pp_json_record().
 *
 * PP_STOP_SYNTAX: fault tells what is wrong with the record of the line at
 * next; bad_end is its offset, bad_next the start of the line behind it, or
 * the end of the data.  The line is always complete, so the next job may
 * begin at bad_next.
 */
typedef struct PpJsonBatch
{
	PpBatch		batch;
	const PpJsonRange *const *range;	/* [ncolumns][nrecords]: the columns'
										 * values, selected or not; of a device
										 * NULL for columns without a value that
										 * was handed over */
	PpJsonFault fault;
} PpJsonBatch;

PP_INLINE const PpJsonBatch *
pp_json_batch(const PpBatch *batch)
{
	return (const PpJsonBatch *) batch;
}

PP_INLINE bool
pp_json_space(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The text of record r without white space around it; not of unlisted scans. */
PP_INLINE PpJsonRange
pp_json_record(const PpBatch *b, uint32_t r)
{
	PpJsonRange range;

	pp_batch_field(b, r, 0, &range.start, &range.end);
	while (range.start < range.end && pp_json_space(b->text[range.start]))
		range.start++;
	while (range.end > range.start && pp_json_space(b->text[range.end - 1]))
		range.end--;
	return range;
}

/*
 * The characters of a valid string, given what stands between its quotes; dst
 * has room for n bytes.  Answers their number.
 */
extern uint32_t pp_json_unescape(const uint8_t *src, uint32_t n, uint8_t *dst);

/* The same in another encoding (or UTF-8, if NULL), and the room it takes. */
extern uint32_t pp_json_unescape_as(const PpJsonCharset *charset, const uint8_t *src,
									uint32_t n, uint8_t *dst);

PP_INLINE uint32_t
pp_json_unescape_room(const PpJsonCharset *charset, uint32_t n)
{
	/* an escape has six bytes, or twelve */
	return charset ? n / 6 * PP_JSON_ENCODED + 6 : n;
}

/* The backends.  Their batches are PpJsonBatch, their spec PpJsonScanSpec. */
extern const PpBackend pp_backend_ndjson;
extern const PpBackend pp_backend_json;	/* documents */

/* Documents: where the next job begins.  Forgets what an earlier one has left. */
extern void pp_json_enter(PpBackendScan *scan, PpJsonPlace place);

#ifdef __cplusplus
}
#endif

#endif							/* PP_JSON_H */
