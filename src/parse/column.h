/*
 * src/parse/column.h
 *	  The vocabulary of a scan's output: column types, value states, and the
 *	  facts of the session that conversions depend on.
 *
 * Values are finished Datums of a 64-bit little-endian PostgreSQL: integers
 * sign-extended to 64 bits, float4 as its sign-extended bit pattern, float8
 * as its bit pattern, bool as 0 or 1, date as sign-extended days since
 * 2000-01-01, time and timestamps as microseconds, everything else as the
 * address of bytes in the batch's arena.
 */
#ifndef PP_COLUMN_H
#define PP_COLUMN_H

#include "common.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* How a column's text becomes a Datum. */
typedef enum PpType
{
	PP_DEFER = 0,				/* every value goes to the input function */
	PP_BOOL,
	PP_INT2,
	PP_INT4,
	PP_INT8,
	PP_FLOAT4,
	PP_FLOAT8,
	PP_NUMERIC,
	PP_DATE,
	PP_TIME,
	PP_TIMESTAMP,
	PP_TIMESTAMPTZ,
	PP_UUID,
	PP_TEXT,
	PP_VARCHAR,
	PP_BPCHAR,
	PP_NAME,
	PP_BYTEA
} PpType;

/* State of one value in a batch. */
typedef enum PpState
{
	PP_VALUE = 0,				/* value[] holds the Datum */
	PP_NULL = 1,
	PP_DEFERRED = 2,			/* only the input function can tell */
	PP_DEFAULT = 3				/* the DEFAULT marker stood there */
} PpState;

#define PP_COL_FORCE_NOT_NULL	1u	/* unquoted NULL marker is a string */
#define PP_COL_FORCE_NULL		2u	/* quoted NULL marker is NULL too */
#define PP_COL_NULL_DEFERS		4u	/* NULL itself goes to the input function
									 * (domains may refuse it) */

/* One projected column. */
typedef struct PpColumn
{
	PpType		type;
	uint32_t	field;			/* position in the record, from 0 */
	uint32_t	flags;			/* PP_COL_* */

	/*
	 * The type's modifier in engine terms, -1 for none: the greatest number
	 * of characters (varchar, bpchar), the number of fractional second digits
	 * (time, timestamp, timestamptz), or precision and scale (numeric, see
	 * PP_NUMERIC_MOD).
	 */
	int32_t		mod;
} PpColumn;

/* numeric(p, s): p in 1..1000, s in -1000..1000. */
#define PP_NUMERIC_MOD(p, s)	((int32_t) (((uint32_t) (p) << 16) | ((uint32_t) (s) & 0xffffu)))
#define PP_NUMERIC_PRECISION(m)	((int32_t) ((uint32_t) (m) >> 16))
#define PP_NUMERIC_SCALE(m)		((int32_t) (int16_t) ((uint32_t) (m) & 0xffffu))

/*
 * A stretch of local time over which the session's time zone has one known
 * offset: local microseconds since 2000-01-01 in [from, to) lie offset
 * seconds east of UTC.  Local times that occur twice or never, and times
 * outside every stretch, are handed over.
 */
typedef struct PpZoneSpan
{
	int64_t		from;
	int64_t		to;
	int32_t		offset;			/* seconds east of UTC */
} PpZoneSpan;

/* How many bytes a character takes in the server encoding. */
typedef enum PpCharset
{
	PP_CHARSET_SINGLE,			/* one byte a character */
	PP_CHARSET_UTF8,
	PP_CHARSET_OTHER			/* counting characters is handed over */
} PpCharset;

/* What conversions must know of the session; lives as long as the scan. */
typedef struct PpEnv
{
	PpCharset	charset;
	uint32_t	nzone;			/* spans, ascending and disjoint */
	const PpZoneSpan *zone;
} PpEnv;

#ifdef __cplusplus
}
#endif

#endif							/* PP_COLUMN_H */
