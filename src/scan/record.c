/*-------------------------------------------------------------------------
 *
 * record.c
 *		Records to Datums: rows of a batch, values that only an input function
 *		can tell, records that no batch can hold, and all their errors.
 *
 * The order of checks within a record is COPY's: its fields are split from
 * left to right (a DEFAULT marker where there is no default, an unterminated
 * quote), then it may have too many of them, then its columns are converted
 * from left to right, a missing one being noticed in its turn.  Wording and
 * SQLSTATE are COPY's as well; the context adds the file.
 *
 * Values handed over by the parse engine are converted in a memory context
 * that is reset before the next row that has such values, so rows that are
 * skipped one after the other do not add up.
 *
 * IDENTIFICATION
 *		src/scan/record.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "scan_private.h"

/* As much of a value or record as a message shows, in bytes; as COPY. */
#define DISPLAY_LIMIT	100

/*
 * Error context.
 */

static char *
clip(const char *s, Size len)
{
	StringInfoData buf;

	if (len > DISPLAY_LIMIT)
	{
		/* the server encoding's characters are not cut */
		len = pg_mbcliplen(s, Min(len, 4 * DISPLAY_LIMIT), DISPLAY_LIMIT);
		initStringInfo(&buf);
		appendBinaryStringInfo(&buf, s, len);
		appendStringInfoString(&buf, "...");
		return buf.data;
	}
	return pnstrdup(s, len);
}

/* The line that a message shows, 0 if it is not known. */
static uint64
place_line(const PpScan *scan)
{
	if (scan->place.row >= 0)
		return pp_stream_line(scan->stream, (uint32) scan->place.row);
	return scan->place.line;
}

/* The column's value, for a message; NULL: null. */
static const char *
place_value(const PpScan *scan, const PpErrorPlace *p)
{
	const char *value = p->value;

	if (!value && p->json)
		value = parparaw_json_shown(scan, p->json, p->json_len);
	return value ? clip(value, strlen(value)) : NULL;
}

static void
error_callback(void *arg)
{
	PpScan	   *scan = arg;
	PpErrorPlace *p = &scan->place;
	const char *table = RelationGetRelationName(scan->rel);
	const char *kind = scan->options->is_program ? "program" : "file";
	uint64		line = place_line(scan);
	const char *value = place_value(scan, p);

	if (line == 0)
		errcontext("foreign table \"%s\", %s \"%s\"",
				   table, kind, scan->options->filename);
	else if (p->column && value)
		errcontext("foreign table \"%s\", %s \"%s\", line " UINT64_FORMAT ", column %s: \"%s\"",
				   table, kind, scan->options->filename, line, p->column, value);
	else if (p->column)
		errcontext("foreign table \"%s\", %s \"%s\", line " UINT64_FORMAT ", column %s: null input",
				   table, kind, scan->options->filename, line, p->column);
	else if (p->byte > 0)
		errcontext("foreign table \"%s\", %s \"%s\", line " UINT64_FORMAT ", byte " UINT64_FORMAT "%s%s%s%s",
				   table, kind, scan->options->filename, line, p->byte,
				   p->key ? ", behind key " : "",
				   p->key ? clip(p->key, strlen(p->key)) : "",
				   p->record ? ": " : "",
				   p->record ? psprintf("\"%s\"", clip(p->record, p->record_len)) : "");
	else if (p->record)
		errcontext("foreign table \"%s\", %s \"%s\", line " UINT64_FORMAT ": \"%s\"",
				   table, kind, scan->options->filename, line,
				   clip(p->record, p->record_len));
	else
		errcontext("foreign table \"%s\", %s \"%s\", line " UINT64_FORMAT,
				   table, kind, scan->options->filename, line);
}

/*
 * Between these two, errors carry scan->place: a known line, or a row of the
 * batch (line 0, row >= 0).
 */
static void
push_context(PpScan *scan, ErrorContextCallback *callback, uint64 line, int64 row)
{
	memset(&scan->place, 0, sizeof(scan->place));
	scan->place.line = line;
	scan->place.row = row;
	callback->callback = error_callback;
	callback->arg = scan;
	callback->previous = error_context_stack;
	error_context_stack = callback;
}

static void
pop_context(ErrorContextCallback *callback)
{
	error_context_stack = callback->previous;
}

/*
 * One value.
 */

char *
parparaw_record_string(PpScan *scan, uint32 len)
{
	Size		need = (Size) len + 1;

	if (need > scan->string_room)
	{
		Size		room = Max(need, (Size) 1024);

		if (scan->string)
			pfree(scan->string);
		scan->string_room = 0;
		scan->string = NULL;
		scan->string = MemoryContextAllocHuge(scan->context, room);
		scan->string_room = room;
	}
	return scan->string;
}

/*
 * A field's value as a C string: quotes and escapes removed.  Valid until the
 * next call.
 */
static char *
field_string(PpScan *scan, const uint8 *raw, uint32 len)
{
	(void) parparaw_record_string(scan, len);
	len = pp_unquote(&scan->dialect, raw, len, (uint8 *) scan->string);
	scan->string[len] = '\0';
	return scan->string;
}

static bool
matches(const uint8 *raw, uint32 len, const char *marker)
{
	return marker && strlen(marker) == len && memcmp(raw, marker, len) == 0;
}

/*
 * Is this the value's fault, not the server's?  From 16 on the input
 * functions themselves tell; what they report softly there is of many
 * classes, so all is forgiven here but lack of resources, interrupts and
 * internal errors.
 */
static bool
is_value_error(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
		case ERRCODE_INTERNAL_ERROR:
			return false;
		default:
			return sqlerrcode != ERRCODE_STATEMENT_TOO_COMPLEX;
	}
}

/*
 * Calls what reports errors only by raising them.  Where it does nothing but
 * compute, an error leaves nothing to clean up but memory; anything else is
 * given a subtransaction, which a parallel query does not allow.
 */
bool
parparaw_record_caught(PpFileColumn *col, bool subtransaction,
					   Datum (*function) (void *arg), void *arg, Datum *value)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool ok = false;

	if (subtransaction && IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("on_error \"ignore\" cannot convert column \"%s\" in a parallel query",
						col->name),
				 errhint("Set max_parallel_workers_per_gather to 0.")));
	if (subtransaction)
	{
		BeginInternalSubTransaction(NULL);
		MemoryContextSwitchTo(context);
	}
	PG_TRY();
	{
		*value = function(arg);
		ok = true;
		if (subtransaction)
		{
			ReleaseCurrentSubTransaction();
			MemoryContextSwitchTo(context);
			CurrentResourceOwner = owner;
		}
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(context);
		edata = CopyErrorData();
		FlushErrorState();
		if (subtransaction)
		{
			RollbackAndReleaseCurrentSubTransaction();
			MemoryContextSwitchTo(context);
			CurrentResourceOwner = owner;
		}
		if (!is_value_error(edata->sqlerrcode))
			ReThrowError(edata);
		FreeErrorData(edata);
	}
	PG_END_TRY();
	return ok;
}

#ifndef PP_HAVE_SOFT_ERRORS
typedef struct InputCall
{
	PpFileColumn *col;
	char	   *string;
} InputCall;

static Datum
input(void *arg)
{
	InputCall  *call = arg;
	PpFileColumn *col = call->col;

	return InputFunctionCall(&col->in_function, call->string, col->in_param, col->typmod);
}
#endif

/*
 * Calls the input function; false: a value error that on_error forgives, or,
 * if the scan is probing, one that is not to be reported yet.
 */
bool
parparaw_record_input(PpScan *scan, PpFileColumn *col, char *string, Datum *value)
{
	bool		forgiving = scan->options->on_error_ignore;

	scan->harmless = col->native_type != PP_DEFER;
#ifdef PP_HAVE_SOFT_ERRORS
	if (forgiving || scan->probing)
	{
		ErrorSaveContext escontext = {T_ErrorSaveContext};
		bool		ok = InputFunctionCallSafe(&col->in_function, string, col->in_param,
											   col->typmod, (Node *) &escontext, value);

		scan->refused |= !ok && !forgiving;
		return ok;
	}
#else
	if (forgiving)
	{
		InputCall	call = {col, string};

		/* functions of natively read types only compute */
		return parparaw_record_caught(col, col->native_type == PP_DEFER, input, &call, value);
	}
#endif
	*value = InputFunctionCall(&col->in_function, string, col->in_param, col->typmod);
	return true;
}

/* A row is skipped because of the value, or the fault, that scan->place shows. */
void
parparaw_record_skipped(PpScan *scan)
{
	PpErrorPlace place = scan->place;
	uint64		line;
	bool		too_many;

	if (scan->shared)
		parparaw_parallel_skip(scan, place.fault != NULL);
	else
	{
		scan->skipped++;
		scan->malformed += place.fault != NULL;
	}
	too_many = scan->options->reject_limit > 0 &&
		scan->skipped > (uint64) scan->options->reject_limit;
	if (scan->options->log_verbosity == PP_LOG_VERBOSE)
	{
		const char *value = place_value(scan, &place);

		/* the message says it all, so the context names the table only */
		line = place_line(scan);
		memset(&scan->place, 0, sizeof(scan->place));
		scan->place.row = -1;
		if (place.fault)
			ereport(NOTICE,
					(errmsg("skipping row at line " UINT64_FORMAT ", byte " UINT64_FORMAT ": %s",
							line, place.byte, place.fault)));
		else if (value)
			ereport(NOTICE,
					(errmsg("skipping row due to data type incompatibility at line " UINT64_FORMAT " for column \"%s\": \"%s\"",
							line, place.column, value)));
		else
			ereport(NOTICE,
					(errmsg("skipping row due to data type incompatibility at line " UINT64_FORMAT " for column \"%s\": null input",
							line, place.column)));
		scan->place = place;
	}

	if (too_many && scan->ranged)
	{
		ErrorContextCallback *context = error_context_stack;

		error_context_stack = context->previous;
		parparaw_parallel_replay(scan);
		error_context_stack = context;
	}
	if (too_many)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 scan->malformed == 0 ?
				 errmsg("skipped more than REJECT_LIMIT (" INT64_FORMAT ") rows due to data type incompatibility",
						scan->options->reject_limit) :
				 scan->malformed == scan->skipped ?
				 errmsg("skipped more than REJECT_LIMIT (" INT64_FORMAT ") rows due to invalid JSON",
						scan->options->reject_limit) :
				 errmsg("skipped more than REJECT_LIMIT (" INT64_FORMAT ") rows due to invalid JSON or data type incompatibility",
						scan->options->reject_limit)));
}

/*
 * Converts one raw field by its column's input function, NULL and DEFAULT
 * markers and the FORCE options included.  False: the row is to be skipped.
 * The error context must be pushed.
 */
static bool
convert_field(PpScan *scan, PpFileColumn *col, const uint8 *raw, uint32 len,
			  Datum *value, bool *isnull)
{
	char	   *string;
	bool		ok;

	if (matches(raw, len, scan->options->null_print))
		string = col->force_not_null ? scan->options->null_print : NULL;
	else if (matches(raw, len, scan->options->default_print))
	{
		scan->harmless = false;
		*value = ExecEvalExprSwitchContext(col->default_expr, scan->default_context,
										   isnull);
		return true;
	}
	else
	{
		string = field_string(scan, raw, len);
		if (col->force_null && strcmp(string, scan->options->null_print) == 0)
			string = NULL;
	}

	scan->place.column = col->name;
	scan->place.value = string;
	*isnull = string == NULL;
	ok = parparaw_record_input(scan, col, string, value);
	if (!ok && !scan->refused)
		parparaw_record_skipped(scan);
	scan->place.column = NULL;
	scan->place.value = NULL;
	return ok;
}

/*
 * Whole records.
 */

PP_NORETURN static void
unexpected_default(PpFileColumn *col)
{
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("unexpected default marker in COPY data"),
			 errdetail("Column \"%s\" has no default value.", col->name)));
}

/*
 * Splits a record into scan->field, which has room for the file's columns,
 * and answers how many fields there are, with the errors that COPY raises
 * while it does so.
 */
static int
split_record(PpScan *scan, const uint8 *text, uint32 len)
{
	int			n = 0;
	uint32		pos = 0;

	for (;;)
	{
		PpField		surplus;
		PpField    *f = n < scan->nfile ? &scan->field[n] : &surplus;

		pp_read_field(&scan->dialect, text, pos, len, f);
		if (f->unterminated)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("unterminated CSV quoted field")));
		if (scan->may_miss_default && n < scan->nfile &&
			!scan->file[n].default_expr &&
			!matches(text + f->start, f->end - f->start, scan->options->null_print) &&
			matches(text + f->start, f->end - f->start, scan->options->default_print))
			unexpected_default(&scan->file[n]);
		n++;
		if (!f->more)
			return n;
		pos = f->end + 1;
		if ((n & 0xffff) == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

void
parparaw_record_header(PpScan *scan, const PpRecord *record)
{
	ErrorContextCallback callback;
	int			n;

	if (scan->options->header != PP_HEADER_MATCH)
		return;

	push_context(scan, &callback, record->line, -1);
	scan->place.record = (const char *) record->text;
	scan->place.record_len = record->len;

	/* Of a table without columns COPY reads no fields at all. */
	if (scan->nfile == 0)
	{
		if (record->len > 0)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("extra data after last expected column")));
		pop_context(&callback);
		return;
	}

	n = split_record(scan, record->text, record->len);
	if (n != scan->nfile)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("wrong number of fields in header line: got %d, expected %d",
						n, scan->nfile)));
	for (int i = 0; i < n; i++)
	{
		PpField    *f = &scan->field[i];
		const uint8 *raw = record->text + f->start;
		uint32		len = f->end - f->start;
		char	   *name;

		if (matches(raw, len, scan->options->null_print))
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("column name mismatch in header line field %d: got null value (\"%s\"), expected \"%s\"",
							i + 1, scan->options->null_print, scan->file[i].name)));
		name = field_string(scan, raw, len);
		if (strncmp(name, scan->file[i].name, NAMEDATALEN) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("column name mismatch in header line field %d: got \"%s\", expected \"%s\"",
							i + 1, name, scan->file[i].name)));
	}
	pop_context(&callback);
}

/* The record that row r of the batch is, line end excluded. */
static void
batch_record(const PpBatch *batch, uint32 r, uint32 *start, uint32 *end)
{
	uint32		unused;

	pp_batch_field(batch, r, 0, start, &unused);
	pp_batch_field(batch, r, batch->width - 1, &unused, end);
}

/*
 * The slow part of parparaw_record_row() of selected record k: from needed column
 * i on, at which a value is handed over.
 */
static bool
finish_row(PpScan *scan, uint32 k, int i, Datum *values, bool *nulls)
{
	const PpBatch *batch = scan->batch;
	uint32		r = pp_batch_record(batch, k);
	uint32		at = pp_batch_at(batch, k);
	ErrorContextCallback callback;
	MemoryContext old;
	bool		ok = true;

	MemoryContextReset(scan->value_context);
	old = MemoryContextSwitchTo(scan->value_context);
	push_context(scan, &callback, 0, r);
	for (; ok && i < scan->nneeded; i++)
	{
		PpFileColumn *col = &scan->file[scan->needed[i]];
		int			a = col->attnum - 1;
		PpState		state = PP_DEFERRED;
		uint32		start,
					end;

		if (col->projected >= 0)
			state = (PpState) batch->column[col->projected].state[at];
		if (state == PP_VALUE)
		{
			values[a] = (Datum) batch->column[col->projected].value[at];
			nulls[a] = false;
			continue;
		}
		if (state == PP_NULL)
			continue;

		if (scan->maker)
		{
			ok = parparaw_json_value(scan, i, r, &values[a], &nulls[a]);
			continue;
		}
		pp_batch_field(batch, r, scan->needed[i], &start, &end);
		ok = convert_field(scan, col, batch->text + start, end - start,
						   &values[a], &nulls[a]);
	}
	pop_context(&callback);
	MemoryContextSwitchTo(old);
	return ok;
}

/*
 * A row of a scan that others take part in, which may raise an error though
 * rows in front of it have not been looked at: it is left to another then, or
 * at least held back.  Errors that leave nothing to clean up are told apart
 * from others by scan->harmless, and dropped.
 */
static bool
probe_row(PpScan *scan, uint32 k, Datum *values, bool *nulls)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData  *volatile failure = NULL;
	volatile bool ok = false;

	scan->probing = true;
	scan->refused = false;
	scan->harmless = true;
	PG_TRY();
	{
		ok = parparaw_record_row(scan, k, values, nulls);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(scan->context);
		failure = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	scan->probing = false;

	if (failure)
	{
		if (scan->in_turn || !is_value_error(failure->sqlerrcode))
			ReThrowError(failure);
		if (!scan->harmless)
		{
			parparaw_parallel_wait_turn(scan);
			ReThrowError(failure);
		}
		FreeErrorData(failure);
		scan->refused = true;
	}
	if (!scan->refused)
		return ok;
	scan->refused = false;
	if (parparaw_parallel_leave(scan, pp_batch_record(scan->batch, k)))
		return false;
	return parparaw_record_row(scan, k, values, nulls);
}

bool
parparaw_record_row(PpScan *scan, uint32 k, Datum *values, bool *nulls)
{
	const PpBatch *batch = scan->batch;
	uint32		at = pp_batch_at(batch, k);
	bool		probe = scan->ranged && !scan->in_turn && !scan->probing;

	if (unlikely(probe && scan->may_miss_default))
		return probe_row(scan, k, values, nulls);
	memset(nulls, true, scan->natts);

	if (unlikely(scan->may_miss_default))
	{
		ErrorContextCallback callback;
		uint32		r = pp_batch_record(batch, k);
		uint32		start,
					end;

		batch_record(batch, r, &start, &end);
		push_context(scan, &callback, 0, r);
		scan->place.record = (const char *) batch->text + start;
		scan->place.record_len = end - start;
		(void) split_record(scan, batch->text + start, end - start);
		pop_context(&callback);
	}
	if (scan->default_context)
		ResetExprContext(scan->default_context);

	if (scan->nneeded > 0 && unlikely(scan->lazy))
		return probe ? probe_row(scan, k, values, nulls) :
			finish_row(scan, k, 0, values, nulls);

	/*
	 * One row of many columns takes from many places, more than processors
	 * foresee: ask for what the rows to come will need.
	 */
	if ((at & 7) == 0)
		for (int i = 0; i < scan->nneeded; i++)
			__builtin_prefetch(&batch->column[i].value[at + 16]);
	if ((at & 63) == 0)
		for (int i = 0; i < scan->nneeded; i++)
			__builtin_prefetch(&batch->column[i].state[at + 64]);

	for (int i = 0; i < scan->nneeded; i++)
	{
		/* unless lazy, needed columns are the batch's */
		const PpColumnData *data = &batch->column[i];
		int			a = scan->attribute[i];

		if (likely(data->state[at] == PP_VALUE))
		{
			values[a] = (Datum) data->value[at];
			nulls[a] = false;
		}
		else if (data->state[at] != PP_NULL)
			return probe ? probe_row(scan, k, values, nulls) :
				finish_row(scan, k, i, values, nulls);
	}
	return true;
}

void
parparaw_record_bad(PpScan *scan, const PpRecord *record)
{
	ErrorContextCallback callback;
	MemoryContext old;
	int			n;

	push_context(scan, &callback, record->line, -1);
	switch (record->bad)
	{
		case PP_BAD_ENCODING:
			if (!OidIsValid(scan->conversion))
				report_invalid_encoding(scan->encoding, (const char *) record->invalid,
										(int) Min(record->invalid_len, 64));
			else
			{
				/* The conversion knows best what is wrong, so let it say so. */
				unsigned char dst[64 * MAX_CONVERSION_GROWTH + 1];

				(void) pg_do_encoding_conversion_buf(scan->conversion, scan->encoding,
													 GetDatabaseEncoding(),
													 (unsigned char *) unconstify(uint8 *, record->invalid),
													 (int) Min(record->invalid_len, 64),
													 dst, sizeof(dst), false);
				elog(ERROR, "encoding conversion failed without error");
			}
			break;

		case PP_BAD_CR:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("unquoted carriage return found in data"),
					 errhint("Use quoted CSV field to represent carriage return.")));
			break;

		case PP_BAD_NL:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("unquoted newline found in data"),
					 errhint("Use quoted CSV field to represent newline.")));
			break;

		case PP_BAD_MARKER:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("end-of-copy marker does not match previous newline style")));
			break;

		case PP_BAD_LENGTH:
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("record exceeds the maximum length of %u bytes", PP_MAX_RECORD - 1),
					 scan->maker ? 0 :
					 errhint("A quote that is never closed makes the rest of a file one record.")));
			break;

		case PP_BAD_JSON:
			MemoryContextReset(scan->value_context);
			old = MemoryContextSwitchTo(scan->value_context);
			parparaw_json_bad(scan, record);
			MemoryContextSwitchTo(old);
			pop_context(&callback);
			return;

		case PP_BAD_UNTERMINATED:
		case PP_BAD_FIELDS:
			break;
	}

	scan->place.record = (const char *) record->text;
	scan->place.record_len = record->len;
	if (scan->nfile == 0)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("extra data after last expected column")));
	n = split_record(scan, record->text, record->len);
	if (PP_MUTATED(short_record_first) && n < scan->nfile)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("missing data for column \"%s\"", scan->file[n].name)));
	if (n > scan->nfile)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("extra data after last expected column")));
	if (scan->default_context)
		ResetExprContext(scan->default_context);
	MemoryContextReset(scan->value_context);
	old = MemoryContextSwitchTo(scan->value_context);
	for (int i = 0; i < scan->nfile; i++)
	{
		PpFileColumn *col = &scan->file[i];
		Datum		value;
		bool		isnull;

		if (i >= n)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("missing data for column \"%s\"", col->name)));
		if (col->needed &&
			!convert_field(scan, col, record->text + scan->field[i].start,
						   scan->field[i].end - scan->field[i].start,
						   &value, &isnull))
			break;
	}
	MemoryContextSwitchTo(old);
	pop_context(&callback);
}

void
parparaw_record_init(PpScan *scan)
{
	TupleDesc	desc = RelationGetDescr(scan->rel);

	for (int i = 0; i < scan->nfile; i++)
	{
		PpFileColumn *col = &scan->file[i];
		Form_pg_attribute att = TupleDescAttr(desc, col->attnum - 1);

		if (col->needed)
		{
			Oid			in_function;

			getTypeInputInfo(att->atttypid, &in_function, &col->in_param);
			fmgr_info(in_function, &col->in_function);
			col->typmod = att->atttypmod;
		}

		if (scan->options->default_print)
		{
			Expr	   *expr = (Expr *) build_column_default(scan->rel, col->attnum);

			if (expr)
				col->default_expr = ExecInitExpr(expression_planner(expr), NULL);
			else
				scan->may_miss_default = true;
		}
	}
	if (scan->options->default_print)
		scan->default_context = CreateStandaloneExprContext();
}
