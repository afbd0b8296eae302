/*-------------------------------------------------------------------------
 *
 * json.c
 *		Scans of JSON: where columns are, values that the engine hands over, and
 *		records that are no JSON.
 *
 * A value is what json_populate_record() makes of it.  For scalar types that
 * is the input function's result: of a string's characters, or of any other
 * value's text; for json and jsonb, strings are quoted again.  Arrays,
 * composites and domains are left to json_populate_record() itself, which is
 * given an object of one key, the column's name, so that its messages name
 * the column.
 *
 * The engine has checked each record as a whole before any value is looked at.
 *
 * IDENTIFICATION
 *		src/scan/json.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "tcop/tcopprot.h"		/* max_stack_depth, before 18 */
#include "utils/fmgroids.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

#include "scan_private.h"

/*
 * Containers within each other that a record may have, for each kilobyte of
 * max_stack_depth.  The server's own parser takes about 300 bytes of stack for
 * one; the engine takes none, so this only bounds what is given to the server.
 */
#define DEPTH_PER_KILOBYTE	3

/* Bytes of a token that a message shows. */
#define TOKEN_LIMIT		32

/* What becomes of a needed column's values that are handed over. */
struct PpJsonMaker
{
	bool		raw;			/* the record itself */
	bool		quoted;			/* json or jsonb: strings stay JSON */

	/* of types that are more than their input function */
	bool		populates;
	FmgrInfo	function;		/* json_populate_record() */
	TupleDesc	desc;			/* of its result, which is of one column */
	Datum		base;			/* a row of that type, of NULL */
	char	   *head;			/* what stands in front of the value */
	int			head_len;
};

/*
 * Where columns are.
 */

PP_NORETURN static void
invalid_path(const char *path, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
			 errmsg("invalid path \"%s\"", path),
			 errdetail("%s", detail),
			 errhint("A path is like a.b[0].c; a key that holds a period, a bracket or a quote is written in double quotes, quotes in it twice.")));
}

/* The key at p, which is advanced, unquoted. */
static void
read_key(const char *path, const char **p, PpJsonStep *step)
{
	const char *s = *p;
	char	   *key = palloc(strlen(s) + 1);
	uint32		n = 0;

	if (*s == '"')
	{
		for (s++; *s != '"' || s[1] == '"'; s++)
		{
			if (*s == '\0')
				invalid_path(path, "A quote is not closed.");
			s += *s == '"';
			key[n++] = *s;
		}
		s++;
	}
	else
	{
		for (; *s != '\0' && *s != '.' && *s != '['; s++)
		{
			if (*s == '"' || *s == ']')
				invalid_path(path, "A quote or a closing bracket is out of place.");
			key[n++] = *s;
		}
		if (n == 0)
			invalid_path(path, "A key is missing.");
	}
	step->key = (const uint8 *) key;
	step->key_len = n;
	*p = s;
}

static void
read_index(const char *path, const char **p, PpJsonStep *step)
{
	const char *s = *p + 1;
	uint64		index = 0;

	if (*s < '0' || *s > '9')
		invalid_path(path, "An index is a number from 0 on.");
	for (; *s >= '0' && *s <= '9'; s++)
	{
		index = index * 10 + (*s - '0');
		if (index > PG_INT32_MAX)
			invalid_path(path, "An index is too large.");
	}
	if (*s != ']')
		invalid_path(path, "A bracket is not closed.");
	step->key = NULL;
	step->index = (uint32) index;
	*p = s + 1;
}

uint32
parparaw_json_path(const char *path, PpJsonStep **steps)
{
	const char *p = path;
	uint32		n = 0;

	/* each step takes a byte at least, a quoted empty key two */
	*steps = palloc0((strlen(path) + 1) * sizeof(PpJsonStep));
	if (*p == '[')
		read_index(path, &p, &(*steps)[n++]);
	else
		read_key(path, &p, &(*steps)[n++]);
	while (*p != '\0')
	{
		if (*p == '[')
			read_index(path, &p, &(*steps)[n++]);
		else if (*p == '.')
		{
			p++;
			read_key(path, &p, &(*steps)[n++]);
		}
		else
			invalid_path(path, "A step begins with a period or a bracket.");
	}
	return n;
}

PpType
parparaw_json_type(Oid type)
{
	return type == JSONOID ? PP_TEXT : parparaw_native_type(type);
}

/* Is a type's value more than what its input function reads? */
static bool
is_populated(Oid type)
{
	switch (get_typtype(type))
	{
		case TYPTYPE_DOMAIN:
		case TYPTYPE_COMPOSITE:
			return true;
		default:
			return type == RECORDOID || OidIsValid(get_element_type(type));
	}
}

static void
init_populate(PpScan *scan, struct PpJsonMaker *maker, PpFileColumn *col,
			  Form_pg_attribute att)
{
	List	   *args = list_make2(makeNullConst(RECORDOID, -1, InvalidOid),
								  makeNullConst(JSONOID, -1, InvalidOid));
	StringInfoData head;
	Datum		value = (Datum) 0;
	bool		isnull = true;

	maker->populates = true;
	maker->desc = CreateTemplateTupleDesc(1);
	TupleDescInitEntry(maker->desc, 1, col->name, att->atttypid, att->atttypmod, 0);
	maker->desc = BlessTupleDesc(maker->desc);
	maker->base = HeapTupleGetDatum(heap_form_tuple(maker->desc, &value, &isnull));
	fmgr_info_cxt(F_JSON_POPULATE_RECORD, &maker->function, scan->context);
	fmgr_info_set_expr((Node *) makeFuncExpr(F_JSON_POPULATE_RECORD, RECORDOID, args,
											 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL),
					   &maker->function);

	initStringInfo(&head);
	appendStringInfoChar(&head, '{');
	escape_json(&head, col->name);
	appendStringInfoChar(&head, ':');
	maker->head = head.data;
	maker->head_len = head.len;
}

void
parparaw_json_init(PpScan *scan)
{
	TupleDesc	desc = RelationGetDescr(scan->rel);
	PpJsonColumn *columns = palloc0(Max(scan->nneeded, 1) * sizeof(PpJsonColumn));

	scan->maker = palloc0(Max(scan->nneeded, 1) * sizeof(struct PpJsonMaker));
	for (int i = 0; i < scan->nneeded; i++)
	{
		PpFileColumn *col = &scan->file[scan->needed[i]];
		Form_pg_attribute att = TupleDescAttr(desc, col->attnum - 1);
		const PpJsonOption *option = &scan->options->json[col->attnum - 1];
		struct PpJsonMaker *maker = &scan->maker[i];
		PpJsonStep *step = NULL;

		if (option->path)
			columns[i].nsteps = parparaw_json_path(option->path, &step);
		else if (!option->raw)
		{
			const char *key = option->key ? option->key : col->name;

			step = palloc0(sizeof(PpJsonStep));
			step->key = (const uint8 *) key;
			step->key_len = strlen(key);
			columns[i].nsteps = 1;
		}
		columns[i].step = step;
		columns[i].as_json = att->atttypid == JSONOID;

		maker->raw = option->raw;
		maker->quoted = att->atttypid == JSONOID || att->atttypid == JSONBOID;
		if (is_populated(att->atttypid))
			init_populate(scan, maker, col, att);
	}
	scan->spec.json.column = columns;
	scan->spec.json.any_value = scan->nfile == 1 &&
		scan->options->json[scan->file[0].attnum - 1].raw;
	scan->spec.lines = true;
}

uint32
parparaw_json_max_depth(void)
{
	return Max(max_stack_depth, 1) * DEPTH_PER_KILOBYTE;
}

/*
 * Values.
 */

/* A value's text for json_populate_record(). */
typedef struct PopulateCall
{
	struct PpJsonMaker *maker;
	const uint8 *text;			/* NULL: null */
	uint32		len;
	bool		isnull;
} PopulateCall;

static Datum
populate(void *arg)
{
	PopulateCall *call = arg;
	struct PpJsonMaker *maker = call->maker;
	const char *text = call->text ? (const char *) call->text : "null";
	Size		len = call->text ? call->len : 4;
	Size		size = VARHDRSZ + maker->head_len + len + 1;
	char	   *json = palloc(size);
	HeapTupleData tuple;
	LOCAL_FCINFO(fcinfo, 2);
	Datum		row;

	SET_VARSIZE(json, size);
	memcpy(json + VARHDRSZ, maker->head, maker->head_len);
	memcpy(json + VARHDRSZ + maker->head_len, text, len);
	json[size - 1] = '}';

	InitFunctionCallInfoData(*fcinfo, &maker->function, 2, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = maker->base;
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = PointerGetDatum(json);
	fcinfo->args[1].isnull = false;
	row = FunctionCallInvoke(fcinfo);
	pfree(json);

	memset(&tuple, 0, sizeof(tuple));
	tuple.t_data = DatumGetHeapTupleHeader(row);
	tuple.t_len = HeapTupleHeaderGetDatumLength(tuple.t_data);
	return heap_getattr(&tuple, 1, maker->desc, &call->isnull);
}

/*
 * What a value's text is for an input function: a string's characters, or the
 * text itself; NUL-terminated, valid until the next call.
 */
static char *
value_string(PpScan *scan, const uint8 *text, uint32 len)
{
	char	   *string = parparaw_record_string(scan, len);
	bool		is_string = len >= 2 && text[0] == '"';

	if (is_string)
		len = pp_json_unescape(text + 1, len - 2, (uint8 *) string);
	else
		memcpy(string, text, len);
	string[len] = '\0';
	return string;
}

bool
parparaw_json_value(PpScan *scan, int i, uint32 r, Datum *value, bool *isnull)
{
	PpFileColumn *col = &scan->file[scan->needed[i]];
	struct PpJsonMaker *maker = &scan->maker[i];
	PpJsonRange range = pp_json_batch(scan->batch)->range[i][r];
	const uint8 *text = scan->batch->text + range.start;
	uint32		len = range.end - range.start;
	bool		is_null = len == 0 || (text[0] == 'n' && !maker->raw);
	char	   *string = NULL;
	bool		ok = true;

	if (is_null && (!maker->populates || PP_MUTATED(json_null_domain)))
		return true;			/* isnull is set */
	if (maker->raw)
	{
		string = parparaw_record_string(scan, len);
		memcpy(string, text, len);
		string[len] = '\0';
	}
	else if (!is_null)
		string = value_string(scan, text, len);

	scan->place.column = col->name;
	scan->place.value = string;
	if (maker->populates)
	{
		PopulateCall call = {maker, is_null ? NULL : text, len, true};

		if (scan->options->on_error_ignore)
			ok = parparaw_record_caught(col, true, populate, &call, value);
		else
			*value = populate(&call);
		*isnull = call.isnull;
	}
	else
	{
		if (maker->quoted && !maker->raw && text[0] == '"' && !PP_MUTATED(json_quotes_lost))
		{
			StringInfoData buf;

			initStringInfo(&buf);
			escape_json(&buf, string);
			string = buf.data;
		}
		*isnull = false;
		ok = parparaw_record_input(scan, col, string, value);
	}
	if (!ok)
		parparaw_record_skipped(scan);
	scan->place.column = NULL;
	scan->place.value = NULL;
	return ok;
}

/*
 * Records that are no JSON.
 */

/* The token at the fault, for a message, in quotes; or that there is none. */
static char *
found_token(const PpRecord *record)
{
	const char *text = (const char *) record->text + record->fault.offset;
	int			left = (int) (record->len - record->fault.offset);
	int			n = 0;

	while (left > 0 && pp_json_space((uint8) text[left - 1]))
		left--;
	if (left == 0)
		return pstrdup("the record ends");
	while (n < left && n < 4 * TOKEN_LIMIT && !pp_json_space((uint8) text[n]) &&
		   (n == 0 || (strchr(",:[]{}\"", text[n]) == NULL && strchr(",:[]{}", text[0]) == NULL)))
		n++;
	n = pg_mbcliplen(text, n, TOKEN_LIMIT);
	return psprintf("found \"%.*s\"", n, text);
}

static char *
describe_syntax(const PpRecord *record)
{
	const uint8 *at = record->text + record->fault.offset;
	const char *wanted = NULL;

	switch (record->fault.reason)
	{
		case PP_JSON_WANT_VALUE:
			wanted = "a value";
			break;
		case PP_JSON_WANT_VALUE_OR_CLOSE:
			wanted = "a value or \"]\"";
			break;
		case PP_JSON_WANT_KEY:
			wanted = "a key";
			break;
		case PP_JSON_WANT_KEY_OR_CLOSE:
			wanted = "a key or \"}\"";
			break;
		case PP_JSON_WANT_COLON:
			wanted = "\":\"";
			break;
		case PP_JSON_WANT_COMMA_OR_BRACKET:
			wanted = "\",\" or \"]\"";
			break;
		case PP_JSON_WANT_COMMA_OR_BRACE:
			wanted = "\",\" or \"}\"";
			break;
		case PP_JSON_WANT_END:
			wanted = "the end of the line";
			break;
		case PP_JSON_BAD_TOKEN:
			wanted = "a number, true, false or null";
			break;
		case PP_JSON_BAD_ESCAPE:
			return pstrdup("A backslash does not begin a valid escape sequence.");
		case PP_JSON_BAD_CONTROL:
			return psprintf("Character with value 0x%02x must be escaped.", *at);
		case PP_JSON_UNTERMINATED:
			return pstrdup("A string is not closed.");
		case PP_JSON_NO_REASON:
			return pstrdup("The record is not JSON.");
	}
	return psprintf("Expected %s, but %s.", wanted, found_token(record));
}

/* Raises the error that the fault is. */
static void
raise_fault(PpScan *scan, const PpRecord *record)
{
	switch (record->fault.code)
	{
		case PP_JSON_SURROGATE:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					 errmsg("invalid input syntax for type %s", "json"),
					 errdetail("An escaped half of a surrogate pair stands alone.")));
			break;
		case PP_JSON_NUL:
			ereport(ERROR,
					(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
					 errmsg("unsupported Unicode escape sequence"),
					 errdetail("\\u0000 cannot be converted to text.")));
			break;
		case PP_JSON_ENCODING:
			report_invalid_encoding(PG_UTF8, (const char *) record->text + record->fault.offset,
									(int) (record->len - record->fault.offset));
			break;
		case PP_JSON_DEPTH:
			ereport(ERROR,
					(errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
					 errmsg("record has more than %u arrays and objects within each other",
							scan->spec.json.max_depth),
					 errhint("Increase the configuration parameter \"max_stack_depth\" (currently %dkB).",
							 max_stack_depth)));
			break;
		case PP_JSON_NOT_OBJECT:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("record is not a JSON object"),
					 errhint("A table whose only column has the option \"raw\" takes any JSON value.")));
			break;
		case PP_JSON_SYNTAX:
		case PP_JSON_OK:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					 errmsg("invalid input syntax for type %s", "json"),
					 errdetail("%s", describe_syntax(record))));
			break;
	}
}

/* What a notice says of it. */
static const char *
fault_text(const PpRecord *record)
{
	switch (record->fault.code)
	{
		case PP_JSON_SURROGATE:
			return "an escaped half of a surrogate pair stands alone";
		case PP_JSON_NUL:
			return "\\u0000 cannot be converted to text";
		case PP_JSON_ENCODING:
			return "invalid byte sequence for encoding \"UTF8\"";
		case PP_JSON_DEPTH:
			return "too many arrays and objects within each other";
		case PP_JSON_NOT_OBJECT:
			return "record is not a JSON object";
		case PP_JSON_SYNTAX:
		case PP_JSON_OK:
			break;
	}
	return "invalid input syntax for type json";
}

void
parparaw_json_bad(PpScan *scan, const PpRecord *record)
{
	const PpJsonFault *fault = &record->fault;

	scan->place.byte = (uint64) fault->offset + 1;
	/* where bytes are no characters, no message may show them */
	if (fault->code != PP_JSON_ENCODING)
	{
		scan->place.record = (const char *) record->text;
		scan->place.record_len = record->len;
		if (fault->key.end > fault->key.start)
			scan->place.key = pnstrdup((const char *) record->text + fault->key.start,
									   fault->key.end - fault->key.start);
	}
	if (!scan->options->on_error_ignore)
		raise_fault(scan, record);
	scan->place.fault = fault_text(record);
	parparaw_record_skipped(scan);
	scan->place.fault = NULL;
}
