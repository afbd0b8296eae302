/*
 * src/parse/convert.h
 *	  Text to Datum, exact or handed over: the one entry to every conversion.
 *
 * Each function takes a field's value (n bytes at s, quotes and escapes
 * already removed, valid in the server encoding, no zero byte; PP_PAD bytes
 * behind it may be read but mean nothing) and either produces, bit for bit,
 * what the type's input function of every supported PostgreSQL major would,
 * or answers false (by value) or 0 (by reference): handed over, never an
 * error.  Text that the input function rejects is handed over too, so that it
 * raises its own error.
 *
 * Conversions are written once for host and device: no libc, no tables in
 * writable memory, 64-bit integer arithmetic (128-bit products by parts).
 *
 * By reference: dst is 8-byte aligned and has room for pp_convert_room(); the
 * answer is the number of bytes written, 4-byte varlena headers included.
 */
#ifndef PP_CONVERT_H
#define PP_CONVERT_H

#include "column.h"

#include "convert_int.h"		/* pp_to_bool, pp_to_int2, pp_to_int4, pp_to_int8 */
#include "convert_float.h"		/* pp_to_float4, pp_to_float8 */
#include "convert_numeric.h"	/* pp_to_numeric */
#include "convert_datetime.h"	/* pp_to_date, pp_to_time, pp_to_timestamp,
								 * pp_to_timestamptz */
#include "convert_text.h"		/* pp_to_uuid, pp_to_text, pp_to_varchar,
								 * pp_to_bpchar, pp_to_name, pp_to_bytea */

#ifdef __cplusplus
extern "C"
{
#endif

/* Is the type's Datum an address? */
PP_INLINE bool
pp_type_by_reference(PpType type)
{
	return type == PP_NUMERIC || type >= PP_UUID;
}

/* Bytes that converting n bytes of text may need at dst. */
PP_INLINE uint64_t
pp_convert_room(const PpColumn *col, uint32_t n)
{
	switch (col->type)
	{
		case PP_NUMERIC:
			return PP_NUMERIC_ROOM(n, col->mod);
		case PP_UUID:
			return 16;
		case PP_NAME:
			return 64;
		case PP_BPCHAR:
			return 4 + (uint64_t) n + (col->mod > 0 ? (uint64_t) col->mod : 0);
		default:
			return 4 + (uint64_t) n;
	}
}

/* By value. */
PP_INLINE bool
pp_convert_value(const PpColumn *col, const PpEnv *env,
				 const uint8_t *s, uint32_t n, uint64_t *value)
{
	switch (col->type)
	{
		case PP_BOOL:
			return pp_to_bool(s, n, value);
		case PP_INT2:
			return pp_to_int2(s, n, value);
		case PP_INT4:
			return pp_to_int4(s, n, value);
		case PP_INT8:
			return pp_to_int8(s, n, value);
		case PP_FLOAT4:
			return pp_to_float4(s, n, value);
		case PP_FLOAT8:
			return pp_to_float8(s, n, value);
		case PP_DATE:
			return pp_to_date(s, n, value);
		case PP_TIME:
			return pp_to_time(s, n, col->mod, value);
		case PP_TIMESTAMP:
			return pp_to_timestamp(s, n, col->mod, value);
		case PP_TIMESTAMPTZ:
			return pp_to_timestamptz(s, n, col->mod, env, value);
		default:
			return false;
	}
}

/* By reference. */
PP_INLINE uint64_t
pp_convert_reference(const PpColumn *col, const PpEnv *env,
					 const uint8_t *s, uint32_t n, uint8_t *dst)
{
	switch (col->type)
	{
		case PP_NUMERIC:
			return pp_to_numeric(s, n, col->mod, dst);
		case PP_UUID:
			return pp_to_uuid(s, n, dst);
		case PP_TEXT:
			return pp_to_text(s, n, dst);
		case PP_VARCHAR:
			return pp_to_varchar(s, n, col->mod, env, dst);
		case PP_BPCHAR:
			return pp_to_bpchar(s, n, col->mod, env, dst);
		case PP_NAME:
			return pp_to_name(s, n, dst);
		case PP_BYTEA:
			return pp_to_bytea(s, n, dst);
		default:
			return 0;
	}
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_CONVERT_H */
