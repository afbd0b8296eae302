/*
 * test/convert_oracle/oracle.c
 *	  Native conversions compared, bit by bit, with the types' input functions
 *	  of the server this runs in.
 *
 * pp_convert_oracle() generates texts and converts each.  What a conversion
 * accepts, the input function must accept too and give the same Datum, or the
 * same bytes; what it hands over is not looked at further.  Texts are valid in
 * the database's encoding.  Test code: it is never installed.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "../../src/scan/scan.h"
#include "oracle.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(pp_convert_oracle);
PG_FUNCTION_INFO_V1(pp_convert_oracle_value);

#define VALUES_PER_TRANSACTION	10000
#define REPORTED				10

/* Years whose changes of the session's time zone are known to conversions. */

typedef struct Oracle
{
	Oid			type;
	int32		typmod;
	int16		typlen;
	bool		typbyval;
	FmgrInfo	input;
	Oid			ioparam;
	PpColumn	column;
	PpEnv		env;
	OracleCharset charset;
	OracleRandom random;
	bool		spoil;			/* falsify each result: all must be noticed */
	MemoryContext values;		/* emptied after each value */

	char	   *text;			/* the value at hand */
	size_t		len;

	int64		todo;
	int64		tried;
	int64		converted;
	int64		mismatches;
	StringInfoData report;
} Oracle;

static PpType
native_type(Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return PP_BOOL;
		case INT2OID:
			return PP_INT2;
		case INT4OID:
			return PP_INT4;
		case INT8OID:
			return PP_INT8;
		case FLOAT4OID:
			return PP_FLOAT4;
		case FLOAT8OID:
			return PP_FLOAT8;
		case NUMERICOID:
			return PP_NUMERIC;
		case DATEOID:
			return PP_DATE;
		case TIMEOID:
			return PP_TIME;
		case TIMESTAMPOID:
			return PP_TIMESTAMP;
		case TIMESTAMPTZOID:
			return PP_TIMESTAMPTZ;
		case UUIDOID:
			return PP_UUID;
		case TEXTOID:
			return PP_TEXT;
		case VARCHAROID:
			return PP_VARCHAR;
		case BPCHAROID:
			return PP_BPCHAR;
		case NAMEOID:
			return PP_NAME;
		case BYTEAOID:
			return PP_BYTEA;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("type %s has no native conversion", format_type_be(type))));
	}
	return PP_DEFER;			/* keep compiler quiet */
}

static int32
native_mod(PpType type, int32 typmod)
{
	if (typmod < 0)
		return -1;
	switch (type)
	{
		case PP_VARCHAR:
		case PP_BPCHAR:
			return typmod - VARHDRSZ;
		case PP_NUMERIC:
			typmod -= VARHDRSZ;
			return PP_NUMERIC_MOD((typmod >> 16) & 0xffff,
								  ((typmod & 0x7ff) ^ 1024) - 1024);
		default:
			return typmod;
	}
}

static Oracle *
make_oracle(Oid type, int32 typmod)
{
	Oracle	   *o = palloc0(sizeof(Oracle));
	Oid			function;
	char		align;

	o->type = type;
	o->typmod = typmod;
	get_typlenbyvalalign(type, &o->typlen, &o->typbyval, &align);
	getTypeInputInfo(type, &function, &o->ioparam);
	fmgr_info(function, &o->input);
	o->column.type = native_type(type);
	o->column.mod = native_mod(o->column.type, typmod);
	if (pp_type_by_reference(o->column.type) == o->typbyval)
		elog(ERROR, "type %s is passed otherwise", format_type_be(type));
	switch (GetDatabaseEncoding())
	{
		case PG_UTF8:
			o->charset = ORACLE_UTF8;
			o->env.charset = PP_CHARSET_UTF8;
			break;
		case PG_EUC_JP:
			o->charset = ORACLE_EUC_JP;
			o->env.charset = PP_CHARSET_OTHER;
			break;
		default:
			o->env.charset = pg_database_encoding_max_length() == 1 ?
				PP_CHARSET_SINGLE : PP_CHARSET_OTHER;
			o->charset = o->env.charset == PP_CHARSET_SINGLE ? ORACLE_BYTES : ORACLE_ASCII;
			break;
	}
	o->env.zone = parparaw_zone_spans(session_timezone, &o->env.nzone);
	o->values = AllocSetContextCreate(CurrentMemoryContext, "oracle values",
									  ALLOCSET_DEFAULT_SIZES);
	o->text = palloc(ORACLE_TEXT_MAX + PP_PAD);
	initStringInfo(&o->report);
	return o;
}

static void
note_mismatch(Oracle *o, const char *what)
{
	if (o->mismatches++ < REPORTED)
		appendStringInfo(&o->report, "%s(%d) \"%.*s\": %s\n",
						 format_type_be(o->type), o->column.mod,
						 (int) o->len, o->text, what);
}

static void
append_bytes(StringInfo s, const uint8 *bytes, Size n)
{
	for (Size i = 0; i < n && i < 100; i++)
		appendStringInfo(s, " %02x", bytes[i]);
}

/* Tries the text at hand; answers if it was converted. */
static bool
try_value(Oracle *o)
{
	MemoryContext old = MemoryContextSwitchTo(o->values);
	const uint8 *text = (const uint8 *) o->text;
	uint64		value = 0;
	uint64		size;
	uint8	   *bytes;
	const uint8 *want;
	Size		want_size;
	Datum		datum;
	char	   *copy;

	o->tried++;

	/* What is behind the text may be read but must not matter. */
	for (int i = 0; i < PP_PAD; i++)
		o->text[o->len + i] = (char) ("0123456789-:. +Zeabcdef\\"[oracle_below(&o->random, 24)]);

	if (o->typbyval)
	{
		bytes = (uint8 *) &value;
		size = pp_convert_value(&o->column, &o->env, text, (uint32) o->len, &value) ? 8 : 0;
	}
	else
	{
		bytes = palloc(pp_convert_room(&o->column, (uint32) o->len));
		size = pp_convert_reference(&o->column, &o->env, text, (uint32) o->len, bytes);
	}
	if (size > 0)
	{
		if (o->spoil)
			bytes[oracle_below(&o->random, (uint32) size)] ^= 1;
		copy = pnstrdup(o->text, o->len);
		datum = InputFunctionCall(&o->input, copy, o->ioparam, o->typmod);
		o->converted++;
		if (o->typbyval)
		{
			want = (const uint8 *) &datum;
			want_size = 8;
		}
		else
		{
			want = (const uint8 *) DatumGetPointer(datum);
			want_size = o->typlen > 0 ? (Size) o->typlen : VARSIZE(DatumGetPointer(datum));
		}
		if (size != want_size || memcmp(bytes, want, want_size) != 0)
		{
			StringInfoData what;

			initStringInfo(&what);
			appendStringInfoString(&what, "got");
			append_bytes(&what, bytes, size);
			appendStringInfoString(&what, ", want");
			append_bytes(&what, want, want_size);
			MemoryContextSwitchTo(old);
			note_mismatch(o, what.data);
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(o->values);
	return size > 0;
}

/* The next text, valid in the database's encoding. */
static void
next_text(Oracle *o)
{
	o->len = oracle_generate(&o->random, o->column.type, o->column.mod,
							 o->charset, &o->env, o->text);
	if (!pg_verify_mbstr(GetDatabaseEncoding(), o->text, (int) o->len, true))
		for (size_t i = 0; i < o->len; i++)
			o->text[i] &= 0x7f;
	for (size_t i = 0; i < o->len; i++)
		if (o->text[i] == '\0')
			o->text[i] = '0';
}

/*
 * Tries values until enough are done or an input function fails; that is a
 * mismatch, for it was given only what had been converted.
 */
static void
try_values(Oracle *o, const char *given)
{
	MemoryContext old = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(old);
	PG_TRY();
	{
		for (int i = 0; i < VALUES_PER_TRANSACTION && o->todo > 0; i++)
		{
			o->todo--;
			if (given == NULL)
				next_text(o);
			try_value(o);
		}
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(old);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(old);
		CurrentResourceOwner = owner;
		note_mismatch(o, error->message);
		FreeErrorData(error);
		MemoryContextReset(o->values);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
	CurrentResourceOwner = owner;
}

/*
 * pp_convert_oracle(type regtype, typmod int, seed bigint, n int, spoil bool,
 *		OUT tried bigint, OUT converted bigint, OUT mismatches bigint,
 *		OUT report text)
 */
Datum
pp_convert_oracle(PG_FUNCTION_ARGS)
{
	Oracle	   *o = make_oracle(PG_GETARG_OID(0), PG_GETARG_INT32(1));
	TupleDesc	desc;
	Datum		values[4];
	bool		nulls[4] = {false, false, false, false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	o->random.state = (uint64) PG_GETARG_INT64(2);
	o->todo = PG_GETARG_INT32(3);
	o->spoil = PG_GETARG_BOOL(4);
	while (o->todo > 0)
	{
		CHECK_FOR_INTERRUPTS();
		try_values(o, NULL);
	}
	values[0] = Int64GetDatum(o->tried);
	values[1] = Int64GetDatum(o->converted);
	values[2] = Int64GetDatum(o->mismatches);

	/* Texts may be cut in mid-character. */
	for (int i = 0; i < o->report.len; i++)
		if (IS_HIGHBIT_SET(o->report.data[i]) ||
			(o->report.data[i] < ' ' && o->report.data[i] != '\n'))
			o->report.data[i] = '?';
	values[3] = CStringGetTextDatum(o->report.data);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/*
 * pp_convert_oracle_value(type regtype, typmod int, value text) returns text:
 * 'handed over', 'same', or what is different.
 */
Datum
pp_convert_oracle_value(PG_FUNCTION_ARGS)
{
	Oracle	   *o = make_oracle(PG_GETARG_OID(0), PG_GETARG_INT32(1));
	text	   *value = PG_GETARG_TEXT_PP(2);

	o->len = VARSIZE_ANY_EXHDR(value);
	o->text = palloc(o->len + PP_PAD);
	memcpy(o->text, VARDATA_ANY(value), o->len);
	o->todo = 1;
	try_values(o, o->text);
	PG_RETURN_TEXT_P(cstring_to_text(o->mismatches > 0 ? o->report.data :
									 o->converted > 0 ? "same" : "handed over"));
}
