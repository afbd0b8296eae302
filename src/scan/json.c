/*-------------------------------------------------------------------------
 *
 * json.c
 *		Scans of JSON: where columns are, values that the engine hands over, and
 *		records that are no JSON.
 *
 * A value is what json_populate_record() makes of it.  For scalar types that
 * is the input function's result: of a string's characters, or of any other
 * value's text; for everything else see populate.c.
 *
 * The engine has checked each record as a whole before any value is looked at.
 *
 * IDENTIFICATION
 *		src/scan/json.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "tcop/tcopprot.h"		/* max_stack_depth, before 18 */
#include "utils/lsyscache.h"

#include "../parse/json/json_escape.h"
#include "scan_private.h"

/*
 * Containers within each other that a record may have, for each kilobyte of
 * max_stack_depth.  The server's own parser takes about 300 bytes of stack for
 * one; the engine takes none, so this only bounds what is given to the server.
 */
#define DEPTH_PER_KILOBYTE	3

/* Bytes of a token that a message shows. */
#define TOKEN_LIMIT		32

/* Bytes of JSON in which a message finds all that it shows of a value. */
#define SHOWN_BYTES		2000

/* What becomes of a needed column's values that are handed over. */
struct PpJsonMaker
{
	bool		raw;			/* the record itself */
	PpMaker    *populate;		/* NULL: the input function makes them */
	bool		only_computes;	/* errors leave nothing to clean up but memory */
	bool		soft;			/* errors can be reported softly */
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
			return type == JSONOID || type == JSONBOID || OidIsValid(get_element_type(type));
	}
}

bool
parparaw_json_catchable(Oid type)
{
	if (!is_populated(type))
		return PP_SOFT_ERRORS || parparaw_json_type(type) != PP_DEFER;
	return parparaw_populate_is_soft(type) || parparaw_populate_only_computes(type);
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
		if (is_populated(att->atttypid))
		{
			maker->populate = parparaw_populate_maker(att->atttypid, att->atttypmod);
			maker->only_computes = parparaw_populate_only_computes(att->atttypid);
			maker->soft = parparaw_populate_is_soft(att->atttypid);
		}
	}
	scan->spec.json.column = columns;
	scan->spec.json.any_value = scan->nfile == 1 &&
		scan->options->json[scan->file[0].attnum - 1].raw;
	scan->spec.documents = scan->options->format == PP_FORMAT_JSON;
	scan->spec.lines = !scan->spec.documents;
	scan->spec.enter = pp_json_enter;
}

uint32
parparaw_json_max_depth(void)
{
	return Max(max_stack_depth, 1) * DEPTH_PER_KILOBYTE;
}

/*
 * Server encodings other than UTF-8.
 */

typedef struct Charset
{
	PpJsonCharset charset;		/* its ctx is this */
	int			encoding;		/* of the text */
	int			server;
	Oid			conversion;		/* from UTF-8; InvalidOid: there is none */
} Charset;

static size_t
valid_prefix(void *ctx, const uint8 *s, size_t n)
{
	const Charset *c = ctx;
	size_t		valid = 0;

	if (PG_VALID_BE_ENCODING(c->encoding))
		return pg_encoding_verifymbstr(c->encoding, (const char *) s, (int) n);

	/* as the server does if it cannot tell where characters end */
	while (valid < n && s[valid] != 0 && !IS_HIGHBIT_SET(s[valid]))
		valid++;
	return valid;
}

static uint32
encode(void *ctx, uint32 code, uint8 *dst)
{
	const Charset *c = ctx;
	unsigned char utf8[MAX_MULTIBYTE_CHAR_LEN + 1];
	unsigned char encoded[MAX_MULTIBYTE_CHAR_LEN * MAX_CONVERSION_GROWTH * 4 + 1];
	int			len;
	Size		n;

	if (!OidIsValid(c->conversion))
		return 0;
	unicode_to_utf8(code, utf8);
	len = pg_utf_mblen(utf8);
	utf8[len] = '\0';
	if (pg_do_encoding_conversion_buf(c->conversion, PG_UTF8, c->server, utf8, len,
									  encoded, sizeof(encoded), true) < len)
		return 0;
	n = strlen((char *) encoded);
	if (n > PP_JSON_ENCODED)
		return 0;
	memcpy(dst, encoded, n);
	return n;
}

const PpJsonCharset *
parparaw_json_charset(PpScan *scan)
{
	int			server = GetDatabaseEncoding();
	Charset    *c;

	if (server == PG_UTF8)
		return NULL;
	c = palloc0(sizeof(Charset));
	c->server = server;
	c->encoding = scan->encoding;
	if (server != PG_SQL_ASCII)
		c->conversion = FindDefaultConversionProc(PG_UTF8, server);
	c->charset.ctx = c;
	c->charset.utf8 = !OidIsValid(scan->conversion) && scan->encoding == PG_UTF8;
	c->charset.valid_prefix = OidIsValid(scan->conversion) ? NULL : valid_prefix;
	c->charset.encode = encode;
	return &c->charset;
}

/*
 * Values.
 */

typedef struct MakeCall
{
	PpScan	   *scan;
	struct PpJsonMaker *maker;
	const char *name;
	const uint8 *text;			/* NULL: null */
	uint32		len;
	Node	   *soft;
	bool		isnull;
	bool		ok;
} MakeCall;

static Datum
make(void *arg)
{
	MakeCall   *call = arg;
	Datum		value = (Datum) 0;

	if (call->maker->raw)
		call->ok = parparaw_populate_raw(call->scan, call->maker->populate, call->text,
										 call->len, call->soft, &value);
	else
		call->ok = parparaw_populate(call->scan, call->maker->populate, call->name, call->text,
									 call->len, call->soft, &value, &call->isnull);
	return value;
}

/* As parparaw_record_input(), of a type that is populated. */
static bool
make_value(PpScan *scan, PpFileColumn *col, MakeCall *call, Datum *value)
{
	bool		forgiving = scan->options->on_error_ignore;

	scan->harmless = call->maker->only_computes;
#ifdef PP_HAVE_SOFT_ERRORS
	if (call->maker->soft && (forgiving || scan->probing))
	{
		ErrorSaveContext escontext = {T_ErrorSaveContext};

		call->soft = (Node *) &escontext;
		*value = make(call);
		scan->refused |= !call->ok && !forgiving;
		return call->ok;
	}
#endif
	if (forgiving)
		return parparaw_record_caught(col, !call->maker->only_computes, make, call, value);
	*value = make(call);
	return true;
}

char *
parparaw_json_shown(const PpScan *scan, const uint8 *text, uint32 len)
{
	const PpJsonCharset *charset = scan->spec.json.charset;
	uint32		n = 0;
	uint32		code;
	char	   *shown;

	if (text[0] != '"')
		return pnstrdup((const char *) text, Min(len, SHOWN_BYTES));
	text++;
	len -= 2;
	/* escapes are not cut, nor are pairs of them */
	while (n < len && n < SHOWN_BYTES)
		n += text[n] != '\\' ? 1 : text[n + 1] != 'u' ? 2 :
			pp_json_escaped_code(text + n, &code) - (text + n);
	shown = palloc(pp_json_unescape_room(charset, n) + 1);
	shown[pp_json_unescape_as(charset, text, n, (uint8 *) shown)] = '\0';
	return shown;
}

/*
 * What a value's text is for an input function: a string's characters, or the
 * text itself; NUL-terminated, valid until the next call.
 */
static char *
value_string(PpScan *scan, const uint8 *text, uint32 len)
{
	const PpJsonCharset *charset = scan->spec.json.charset;
	char	   *string;

	if (text[0] == '"')
	{
		string = parparaw_record_string(scan, pp_json_unescape_room(charset, len - 2));
		len = pp_json_unescape_as(charset, text + 1, len - 2, (uint8 *) string);
	}
	else
	{
		string = parparaw_record_string(scan, len);
		memcpy(string, text, len);
	}
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
	bool		ok;

	if (is_null && !(maker->populate && parparaw_populate_checks_null(maker->populate)))
		return true;			/* isnull is set */

	scan->place.column = col->name;
	if (maker->populate)
	{
		MakeCall	call = {scan, maker, col->name, is_null ? NULL : text, len, NULL, false, true};

		scan->place.json = call.text;
		scan->place.json_len = len;
		ok = make_value(scan, col, &call, value);
		*isnull = call.isnull;
	}
	else
	{
		*isnull = false;
		scan->place.value = value_string(scan, text, len);
		ok = parparaw_record_input(scan, col, scan->string, value);
	}
	if (!ok && !scan->refused)
		parparaw_record_skipped(scan);
	scan->place.column = NULL;
	scan->place.value = NULL;
	scan->place.json = NULL;
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
		case PP_JSON_UNTRANSLATABLE:
			{
				unsigned char unused[MAX_UNICODE_EQUIVALENT_STRING + 1];
				uint32		code;

				pp_json_escaped_code(record->text + record->fault.offset, &code);
				if (!PP_LEXER_REPORTS_UNTRANSLATABLE)
					pg_unicode_to_server(code, unused);
				ereport(ERROR,
						(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
						 errmsg("unsupported Unicode escape sequence"),
						 errdetail("Unicode escape value could not be translated to the server's encoding %s.",
								   GetDatabaseEncodingName())));
			}
			break;
		case PP_JSON_ENCODING:
			report_invalid_encoding(scan->encoding, (const char *) record->text + record->fault.offset,
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
fault_text(const PpScan *scan, const PpRecord *record)
{
	switch (record->fault.code)
	{
		case PP_JSON_SURROGATE:
			return "an escaped half of a surrogate pair stands alone";
		case PP_JSON_NUL:
			return "\\u0000 cannot be converted to text";
		case PP_JSON_UNTRANSLATABLE:
			return "an escape stands for a character that the server encoding lacks";
		case PP_JSON_ENCODING:
			return psprintf("invalid byte sequence for encoding \"%s\"",
							pg_encoding_to_char(scan->encoding));
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

	scan->place.byte = record->byte;
	/* where bytes are no characters, no message may show them */
	if (fault->code != PP_JSON_ENCODING)
	{
		scan->place.record = (const char *) record->text;
		scan->place.record_len = record->len;
		if (fault->key.end > fault->key.start)
			scan->place.key = pnstrdup((const char *) record->text + fault->key.start,
									   fault->key.end - fault->key.start);
	}
	/* what follows in a document has no place of its own */
	if (!scan->options->on_error_ignore || scan->spec.documents)
		raise_fault(scan, record);
	scan->place.fault = fault_text(scan, record);
	parparaw_record_skipped(scan);
	scan->place.fault = NULL;
}
