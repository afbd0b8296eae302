/*-------------------------------------------------------------------------
 *
 * populate.c
 *		JSON values to Datums of any type, as json_populate_record() makes
 *		them.
 *
 * The server's function parses its argument anew for every container and
 * keeps the keys in a hash table.  Here the text has been checked already, so
 * arrays and objects are walked through once a level, and elements and fields
 * are converted where they stand.  Natively read types are, if the engine can
 * tell; all else goes to the type's input function, in the order in which the
 * server's function would call it.
 *
 * What the server's function refuses by itself (an object for an array, a
 * scalar for a composite, arrays that do not match) is given to it, so that it
 * raises the error.
 *
 * Text is valid JSON in the server encoding.  Nothing here knows of files,
 * records or on_error.
 *
 * IDENTIFICATION
 *		src/scan/populate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "../parse/convert.h"
#include "../parse/json/json_escape.h"
#include "scan_private.h"

/* Strings up to this length need no memory of their own. */
#define SHORT_STRING	256

/* Elements of an array, and bytes, between two looks for interrupts. */
#define INTERRUPT_ELEMENTS	4096
#define INTERRUPT_BYTES		(1 << 20)

typedef enum PpKind
{
	PP_KIND_SCALAR,
	PP_KIND_JSON,
	PP_KIND_JSONB,
	PP_KIND_ARRAY,
	PP_KIND_COMPOSITE,			/* or a domain over one */
	PP_KIND_DOMAIN				/* over anything else */
} PpKind;

/* How values of a type are made. */
struct PpMaker
{
	PpKind		kind;
	Oid			type;
	PpColumn	native;			/* scalars; PP_DEFER: the engine does not know it */
	FmgrInfo	in_function;
	Oid			in_param;
	int32		typmod;

	struct PpMaker *base;		/* a domain's base type, an array's element type */
	bool		is_domain;
	void	   *domain_info;

	/* arrays: of elements */
	int16		len;
	bool		byval;
	char		align;

	/* composites */
	TupleDesc	desc;
	struct PpMaker **field;		/* [desc->natts], made when they are first needed */
};

/* A value; text NULL: null. */
typedef struct PpText
{
	const uint8 *text;
	uint32		len;
} PpText;

typedef enum PpMade
{
	PP_MADE,
	PP_REFUSED,					/* a soft error was reported */
	PP_UNFIT					/* the server's function has to tell */
} PpMade;

typedef struct PpArray
{
	PpMaker    *element;
	int16		len;			/* of elements */
	bool		byval;
	MemoryContext scratch;		/* what input functions leave behind, of large
								 * arrays; or NULL */
	int			ndims;			/* 0: not known yet */
	int			dims[MAXDIM];	/* -1: not known yet */
	int			sizes[MAXDIM];	/* of those that are being read */
	Datum	   *value;
	bool	   *isnull;
	int			nvalues;
	int			room;
} PpArray;

/* What all of a value's parts need. */
typedef struct PpMaking
{
	PpScan	   *scan;
	Node	   *soft;			/* ErrorSaveContext, or NULL: errors are raised */
} PpMaking;

static PpMade make_value(PpMaking *m, PpMaker *maker, PpText text, Datum *value,
						 bool *isnull);

/*
 * Types.
 */

PpMaker *
parparaw_populate_maker(Oid type, int32 typmod)
{
	PpMaker    *maker = palloc0(sizeof(PpMaker));
	Oid			in_function;
	Oid			base = type;
	int32		base_typmod = typmod;

	maker->type = type;
	maker->typmod = typmod;
	getTypeInputInfo(type, &in_function, &maker->in_param);
	fmgr_info(in_function, &maker->in_function);

	maker->is_domain = get_typtype(type) == TYPTYPE_DOMAIN;
	if (maker->is_domain)
		base = getBaseTypeAndTypmod(type, &base_typmod);
	if (get_typtype(base) == TYPTYPE_COMPOSITE)
	{
		maker->kind = PP_KIND_COMPOSITE;
		maker->desc = lookup_rowtype_tupdesc_copy(base, base_typmod);
		maker->field = palloc0(Max(maker->desc->natts, 1) * sizeof(PpMaker *));
	}
	else if (maker->is_domain)
	{
		maker->kind = PP_KIND_DOMAIN;
		maker->base = parparaw_populate_maker(base, base_typmod);
	}
	else if (OidIsValid(get_element_type(type)))
	{
		Oid			element = get_element_type(type);

		maker->kind = PP_KIND_ARRAY;
		maker->base = parparaw_populate_maker(element, typmod);
		get_typlenbyvalalign(element, &maker->len, &maker->byval, &maker->align);
	}
	else
	{
		maker->kind = type == JSONOID ? PP_KIND_JSON : type == JSONBOID ? PP_KIND_JSONB :
			PP_KIND_SCALAR;
		maker->native.type = parparaw_native_type(type);
		maker->native.mod = parparaw_engine_typmod(maker->native.type, typmod);
		/* how these are read may change from row to row */
		if (maker->native.type == PP_TIMESTAMP || maker->native.type == PP_TIMESTAMPTZ)
			maker->native.type = PP_DEFER;
	}
	return maker;
}

bool
parparaw_populate_checks_null(const PpMaker *maker)
{
	return maker->is_domain;
}

bool
parparaw_populate_only_computes(Oid type)
{
	Oid			element = get_element_type(type);

	if (OidIsValid(element))
		return parparaw_populate_only_computes(element);
	return type == JSONOID || type == JSONBOID || parparaw_native_type(type) != PP_DEFER;
}

bool
parparaw_populate_is_soft(Oid type)
{
#ifdef PP_HAVE_SOFT_DOMAIN_CHECKS
	return true;
#else
	Oid			element = get_element_type(type);

	if (OidIsValid(element))
		return parparaw_populate_is_soft(element);
	switch (get_typtype(type))
	{
		case TYPTYPE_DOMAIN:
		case TYPTYPE_COMPOSITE: /* may hold domains */
			return false;
		default:
			return PP_SOFT_ERRORS;
	}
#endif
}

/* The maker of a composite's field. */
static PpMaker *
field_maker(PpMaking *m, PpMaker *maker, int i)
{
	if (!maker->field[i])
	{
		Form_pg_attribute att = TupleDescAttr(maker->desc, i);
		MemoryContext old = MemoryContextSwitchTo(m->scan->context);

		maker->field[i] = parparaw_populate_maker(att->atttypid, att->atttypmod);
		MemoryContextSwitchTo(old);
	}
	return maker->field[i];
}

/*
 * The text.
 */

static inline const uint8 *
skip_space(const uint8 *p)
{
	while (pp_json_space(*p))
		p++;
	return p;
}

/* Behind the string that starts at p. */
static const uint8 *
string_end(const uint8 *p)
{
	for (p++; *p != '"'; p++)
		p += *p == '\\';
	return p + 1;
}

/* Behind the value that starts at p; of a scalar, end is where text ends. */
static const uint8 *
value_end(const uint8 *p, const uint8 *end)
{
	uint32		depth = 0;

	do
	{
		switch (*p)
		{
			case '"':
				p = string_end(p);
				break;
			case '{':
			case '[':
				depth++;
				p++;
				break;
			case '}':
			case ']':
				depth--;
				p++;
				break;
			default:
				if (depth > 0)
					p++;
				else
					while (p < end && *p != ',' && *p != ']' && *p != '}' && !pp_json_space(*p))
						p++;
				break;
		}
	} while (depth > 0);
	return p;
}

static inline bool
is_string(PpText text)
{
	return text.text[0] == '"';
}

/*
 * A string's characters, or any other value's text: with a zero byte behind
 * it, and PP_PAD bytes that may be read.  Small has room for SHORT_STRING and
 * these.  *len is their number.
 */
static char *
characters(PpMaking *m, PpText text, char *small, uint32 *len)
{
	const uint8 *p = text.text;
	uint32		n = text.len;
	uint32		room;
	char	   *string = small;

	if (is_string(text))
	{
		p++;
		n -= 2;
	}
	room = pp_json_unescape_room(m->scan->spec.json.charset, n);
	if (room > SHORT_STRING)
		string = MemoryContextAllocHuge(CurrentMemoryContext, (Size) room + 1 + PP_PAD);
	if (is_string(text))
		n = pp_json_unescape_as(m->scan->spec.json.charset, p, n, (uint8 *) string);
	else
		memcpy(string, p, n);
	string[n] = '\0';
	*len = n;
	return string;
}

/* An escape as escape_json() writes what it stands for; answers the place behind it. */
static const uint8 *
quote_escape(const PpJsonCharset *charset, const uint8 *p, uint8 **out)
{
	static const char letters[] = "btnvfr"; /* from 0x08 on; there is no \v */
	const uint8 *behind = p + 2;
	uint8	   *o = *out;
	uint32		code;

	if (p[1] != 'u')
	{
		if (p[1] != '/')
			*o++ = '\\';
		*o++ = p[1];
		*out = o;
		return behind;
	}
	behind = pp_json_escaped_code(p, &code);
	if (code >= ' ')
	{
		if (code == '"' || code == '\\')
			*o++ = '\\';
		o += pp_json_unescape_as(charset, p, behind - p, o);
	}
	else if (code >= '\b' && code <= '\r' && code != '\v')
	{
		*o++ = '\\';
		*o++ = letters[code - '\b'];
	}
	else
	{
		memcpy(o, "\\u00", 4);
		o[4] = '0' + (code >> 4);
		o[5] = "0123456789abcdef"[code & 15];
		o += 6;
	}
	*out = o;
	return behind;
}

/*
 * A string with escapes, in the way in which the server's function writes it:
 * its characters, escaped by escape_json().  In a varlena with a zero byte
 * behind it.
 */
static text *
quote_again(PpMaking *m, PpText of)
{
	const PpJsonCharset *charset = m->scan->spec.json.charset;
	const uint8 *p = of.text;
	const uint8 *end = p + of.len;
	struct varlena *result = palloc(VARHDRSZ + (Size) pp_json_unescape_room(charset, of.len) + 1);
	uint8	   *out = (uint8 *) VARDATA(result);

	/* the quotes are characters like others here: they are not escaped */
	while (p < end)
	{
		Size		piece = Min((Size) (end - p), INTERRUPT_BYTES);
		const uint8 *escape = memchr(p, '\\', piece);

		if (escape)
			piece = escape - p;
		memcpy(out, p, piece);
		out += piece;
		p += piece;
		if (escape)
			p = quote_escape(charset, p, &out);
		else
			CHECK_FOR_INTERRUPTS();
	}
	*out = '\0';
	SET_VARSIZE(result, out - (uint8 *) result);
	return result;
}

/*
 * Values.
 */

static PpMade
call_input(PpMaking *m, PpMaker *maker, char *string, Datum *value)
{
#ifdef PP_HAVE_SOFT_ERRORS
	return InputFunctionCallSafe(&maker->in_function, string, maker->in_param,
								 maker->typmod, m->soft, value) ? PP_MADE : PP_REFUSED;
#else
	*value = InputFunctionCall(&maker->in_function, string, maker->in_param, maker->typmod);
	return PP_MADE;
#endif
}

/* A value's characters, or text, through the input function. */
static PpMade
make_input(PpMaking *m, PpMaker *maker, PpText text, Datum *value)
{
	char		small[SHORT_STRING + 1 + PP_PAD];
	uint32		len;
	char	   *string = characters(m, text, small, &len);
	PpMade		made = call_input(m, maker, string, value);

	if (string != small)
		pfree(string);
	return made;
}

static bool
make_native(PpMaking *m, PpMaker *maker, PpText text, Datum *value)
{
	const PpColumn *col = &maker->native;
	char		small[SHORT_STRING + 1 + PP_PAD];
	char	   *string = small;
	const uint8 *p = text.text;
	uint32		n = text.len;
	bool		done;

	if (is_string(text))
	{
		p++;
		n -= 2;
		if (memchr(p, '\\', n))
		{
			string = characters(m, text, small, &n);
			p = (uint8 *) string;
		}
	}
	if (pp_type_by_reference(col->type))
	{
		uint8	   *dst = MemoryContextAllocHuge(CurrentMemoryContext, pp_convert_room(col, n));

		done = pp_convert_reference(col, &m->scan->spec.scan.env, p, n, dst) > 0;
		if (done)
			*value = PointerGetDatum(dst);
		else
			pfree(dst);
	}
	else
	{
		uint64		word = 0;

		done = pp_convert_value(col, &m->scan->spec.scan.env, p, n, &word);
		*value = (Datum) word;
	}
	if (string != small)
		pfree(string);
	return done;
}

static PpMade
make_scalar(PpMaking *m, PpMaker *maker, PpText of, Datum *value)
{
	bool		requote;
	PpMade		made;
	char	   *string;
	text	   *quoted;

	switch (maker->kind)
	{
		case PP_KIND_JSON:
		case PP_KIND_JSONB:
			requote = is_string(of) && memchr(of.text, '\\', of.len);
			if (requote && PP_MUTATED(json_quotes_lost))
				return make_input(m, maker, of, value);
			if (!requote && maker->kind == PP_KIND_JSON)
			{
				/* json_in() would only check it again */
				*value = PointerGetDatum(cstring_to_text_with_len((const char *) of.text, of.len));
				return PP_MADE;
			}
			if (!requote)
			{
				string = pnstrdup((const char *) of.text, of.len);
				made = call_input(m, maker, string, value);
				pfree(string);
				return made;
			}
			quoted = quote_again(m, of);
			if (maker->kind == PP_KIND_JSON)
			{
				*value = PointerGetDatum(quoted);
				return PP_MADE;
			}
			made = call_input(m, maker, VARDATA(quoted), value);
			pfree(quoted);
			return made;

		default:
			if (maker->native.type != PP_DEFER && make_native(m, maker, of, value))
				return PP_MADE;
			return make_input(m, maker, of, value);
	}
}

/*
 * Arrays.  Each level of brackets is a dimension, up to the one in which the
 * first element is found that is no array.
 */

static PpMade
add_element(PpMaking *m, PpArray *a, PpText text)
{
	MemoryContext old = CurrentMemoryContext;
	Datum	   *value;
	bool	   *isnull;
	PpMade		made;

	if (a->nvalues == a->room)
	{
		/* as many as an array's state in the server would have room for */
		a->room = a->room == 0 ? 64 : 2 * a->room;
		if (a->value)
		{
			a->value = repalloc(a->value, a->room * sizeof(Datum));
			a->isnull = repalloc(a->isnull, a->room * sizeof(bool));
		}
		else
		{
			a->value = palloc(a->room * sizeof(Datum));
			a->isnull = palloc(a->room * sizeof(bool));
		}
	}
	if (a->nvalues % INTERRUPT_ELEMENTS == INTERRUPT_ELEMENTS - 1)
		CHECK_FOR_INTERRUPTS();
	value = &a->value[a->nvalues];
	isnull = &a->isnull[a->nvalues];
	a->nvalues++;
	if (a->nvalues < INTERRUPT_ELEMENTS)
		return make_value(m, a->element, text, value, isnull);

	if (!a->scratch)
		a->scratch = AllocSetContextCreate(old, "parparaw array", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(a->scratch);
	made = make_value(m, a->element, text, value, isnull);
	MemoryContextSwitchTo(old);
	if (made == PP_MADE && !*isnull)
		*value = datumCopy(*value, a->byval, a->len);
	MemoryContextReset(a->scratch);
	return made;
}

/* A level's array has ended: they all are of one size. */
static bool
check_size(PpArray *a, int level)
{
	int			d = level - 1;
	int			size = a->sizes[d];

	if (a->dims[d] < 0)
		a->dims[d] = size;
	else if (a->dims[d] != size &&
			 !(PP_MUTATED(json_sizes_unchecked) && size > a->dims[d]))
		return false;
	a->sizes[d] = 0;
	if (d > 0)
		a->sizes[d - 1]++;
	return true;
}

/* What stands behind the bracket at *p, which is moved behind the closing one. */
static PpMade
read_level(PpMaking *m, PpArray *a, const uint8 **p, const uint8 *end, int level)
{
	const uint8 *s = skip_space(*p + 1);

	if (level > MAXDIM)
		return PP_UNFIT;
	while (*s != ']')
	{
		PpMade		made;

		if (*s == '[' && (a->ndims == 0 || level < a->ndims))
		{
			made = read_level(m, a, &s, end, level + 1);
			if (made != PP_MADE)
				return made;
		}
		else
		{
			PpText		text = {s, 0};

			if (a->ndims == 0)
				a->ndims = level;
			else if (level < a->ndims)
				return PP_UNFIT;
			s = value_end(s, end);
			text.len = s - text.text;
			if (text.text[0] == 'n')
				text.text = NULL;
			made = add_element(m, a, text);
			if (made != PP_MADE)
				return made;
			a->sizes[level - 1]++;
		}
		s = skip_space(s);
		if (*s == ',')
			s = skip_space(s + 1);
	}
	if (a->ndims == 0)
		a->ndims = level;
	*p = s + 1;
	return check_size(a, level) ? PP_MADE : PP_UNFIT;
}

static PpMade
make_array(PpMaking *m, PpMaker *maker, PpText text, Datum *value)
{
	PpArray		a;
	const uint8 *p = text.text;
	int			lbs[MAXDIM];
	PpMade		made;

	if (*p != '[')
		return PP_UNFIT;
	memset(&a, 0, sizeof(a));
	for (int i = 0; i < MAXDIM; i++)
	{
		a.dims[i] = -1;
		lbs[i] = 1;
	}
	a.element = maker->base;
	a.len = maker->len;
	a.byval = maker->byval;
	made = read_level(m, &a, &p, text.text + text.len, 1);
	if (made != PP_MADE)
		return made;
	*value = PointerGetDatum(construct_md_array(a.value, a.isnull, a.ndims, a.dims, lbs,
												maker->base->type, maker->len,
												maker->byval, maker->align));
	if (a.scratch)
		MemoryContextDelete(a.scratch);
	return PP_MADE;
}

/*
 * Composites.
 */

/* The field that a key names, quotes included; or -1. */
static int
find_field(PpMaking *m, PpMaker *maker, PpText key)
{
	char		small[SHORT_STRING + 1 + PP_PAD];
	char	   *decoded = small;
	const char *name = (const char *) key.text + 1;
	uint32		len = key.len - 2;
	int			found = -1;

	if (memchr(name, '\\', len))
		name = decoded = characters(m, key, small, &len);
	for (int i = 0; len < NAMEDATALEN && i < maker->desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(maker->desc, i);

		if (!att->attisdropped && strncmp(NameStr(att->attname), name, len) == 0 &&
			NameStr(att->attname)[len] == '\0')
		{
			found = i;
			break;
		}
	}
	if (decoded != small)
		pfree(decoded);
	return found;
}

static PpMade
make_composite(PpMaking *m, PpMaker *maker, PpText text, Datum *value)
{
	int			natts = maker->desc->natts;
	const uint8 *end = text.text + text.len;
	const uint8 *p;
	PpText	   *field;
	Datum	   *values;
	bool	   *nulls;
	HeapTuple	tuple;

	if (text.text[0] != '{')
		return PP_UNFIT;
	field = palloc0(natts * sizeof(PpText));
	values = palloc0(natts * sizeof(Datum));
	nulls = palloc(natts * sizeof(bool));

	for (p = skip_space(text.text + 1); *p != '}';)
	{
		PpText		key = {p, 0};
		PpText		of_key;
		int			i;

		p = string_end(p);
		key.len = p - key.text;
		of_key.text = p = skip_space(skip_space(p) + 1);
		p = value_end(p, end);
		of_key.len = p - of_key.text;
		i = find_field(m, maker, key);
		if (i >= 0 && !(PP_MUTATED(json_first_field) && field[i].text))
		{
			/* of equal keys the last one counts */
			if (of_key.text[0] == 'n')
				of_key.text = NULL;
			field[i] = of_key;
		}
		p = skip_space(p);
		if (*p == ',')
			p = skip_space(p + 1);
	}

	for (int i = 0; i < natts; i++)
	{
		PpMade		made;

		nulls[i] = true;
		if (TupleDescAttr(maker->desc, i)->attisdropped)
			continue;
		made = make_value(m, field_maker(m, maker, i), field[i], &values[i], &nulls[i]);
		if (made != PP_MADE)
			return made;
	}
	tuple = heap_form_tuple(maker->desc, values, nulls);
	*value = HeapTupleGetDatum(tuple);
	pfree(field);
	pfree(values);
	pfree(nulls);
	return PP_MADE;
}

static PpMade
check_domain(PpMaking *m, PpMaker *maker, Datum value, bool isnull)
{
#ifdef PP_HAVE_SOFT_DOMAIN_CHECKS
	return domain_check_safe(value, isnull, maker->type, &maker->domain_info,
							 m->scan->context, m->soft) ? PP_MADE : PP_REFUSED;
#else
	domain_check(value, isnull, maker->type, &maker->domain_info, m->scan->context);
	return PP_MADE;
#endif
}

static PpMade
make_value(PpMaking *m, PpMaker *maker, PpText text, Datum *value, bool *isnull)
{
	PpMade		made = PP_MADE;

	*value = (Datum) 0;
	*isnull = text.text == NULL;
	if (*isnull && (!maker->is_domain || PP_MUTATED(json_null_domain)))
		return PP_MADE;
	switch (maker->kind)
	{
		case PP_KIND_SCALAR:
		case PP_KIND_JSON:
		case PP_KIND_JSONB:
			return make_scalar(m, maker, text, value);

		case PP_KIND_ARRAY:
			check_stack_depth();
			if (is_string(text))
				return make_input(m, maker, text, value);
			return make_array(m, maker, text, value);

		case PP_KIND_COMPOSITE:
			check_stack_depth();
			if (!*isnull && is_string(text))
				return make_input(m, maker, text, value);
			if (!*isnull)
				made = make_composite(m, maker, text, value);
			break;

		case PP_KIND_DOMAIN:
			if (!*isnull)
				made = make_value(m, maker->base, text, value, isnull);
			break;
	}
	if (made == PP_MADE && maker->is_domain)
		made = check_domain(m, maker, *value, *isnull);
	return made;
}

/*
 * json_populate_record() itself, on an object of one key, the column's name,
 * so that its messages name the column.  Takes its time.
 */
static Datum
ask_server(PpMaker *maker, const char *name, PpText text, bool *isnull)
{
	List	   *args = list_make2(makeNullConst(RECORDOID, -1, InvalidOid),
								  makeNullConst(JSONOID, -1, InvalidOid));
	TupleDesc	desc = CreateTemplateTupleDesc(1);
	Datum		null = (Datum) 0;
	bool		is_null = true;
	FmgrInfo	function;
	StringInfoData json;
	HeapTupleData tuple;
	LOCAL_FCINFO(fcinfo, 2);
	Datum		row;

	TupleDescInitEntry(desc, 1, name, maker->type, maker->typmod, 0);
	desc = BlessTupleDesc(desc);
	fmgr_info(F_JSON_POPULATE_RECORD, &function);
	fmgr_info_set_expr((Node *) makeFuncExpr(F_JSON_POPULATE_RECORD, RECORDOID, args,
											 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL),
					   &function);

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	escape_json(&json, name);
	appendStringInfoChar(&json, ':');
	if (text.text)
		appendBinaryStringInfo(&json, (const char *) text.text, text.len);
	else
		appendStringInfoString(&json, "null");
	appendStringInfoChar(&json, '}');

	InitFunctionCallInfoData(*fcinfo, &function, 2, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = HeapTupleGetDatum(heap_form_tuple(desc, &null, &is_null));
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = PointerGetDatum(cstring_to_text_with_len(json.data, json.len));
	fcinfo->args[1].isnull = false;
	row = FunctionCallInvoke(fcinfo);

	memset(&tuple, 0, sizeof(tuple));
	tuple.t_data = DatumGetHeapTupleHeader(row);
	tuple.t_len = HeapTupleHeaderGetDatumLength(tuple.t_data);
	return heap_getattr(&tuple, 1, desc, isnull);
}

bool
parparaw_populate(PpScan *scan, PpMaker *maker, const char *name, const uint8 *text,
				  uint32 len, Node *soft, Datum *value, bool *isnull)
{
	PpMaking	m = {scan, soft};
	PpText		t = {text, len};

	switch (make_value(&m, maker, t, value, isnull))
	{
		case PP_MADE:
			return true;
		case PP_REFUSED:
			return false;
		case PP_UNFIT:
			break;
	}
	if (soft)
		return false;
	*value = ask_server(maker, name, t, isnull);
	return true;
}

bool
parparaw_populate_raw(PpScan *scan, PpMaker *maker, const uint8 *text, uint32 len,
					  Node *soft, Datum *value)
{
	PpMaking	m = {scan, soft};
	PpMade		made;
	char	   *string;

	if (maker->kind == PP_KIND_JSON)
	{
		*value = PointerGetDatum(cstring_to_text_with_len((const char *) text, len));
		return true;
	}
	string = pnstrdup((const char *) text, len);
	made = call_input(&m, maker, string, value);
	pfree(string);
	return made == PP_MADE;
}
