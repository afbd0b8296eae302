/*-------------------------------------------------------------------------
 *
 * option.c
 *		Options of foreign tables and columns: their validator, and their
 *		meaning for a scan.
 *
 * Names, meanings and privileges are file_fdw's.  What is common to COPY is
 * checked by COPY's own code, so that each major accepts what it knows and
 * says so in its own words; on_error, reject_limit and log_verbosity are read
 * here, so that every major has them as PostgreSQL 18 defines them.
 *
 * A JSON format has few of COPY's options, and columns of its own.  A validator
 * sees either a table's options or a column's, and is not told whose they are.
 * Whether they go together is checked as soon as they stand in the catalogs,
 * before the command that put them there goes on: the server's object access
 * hook tells which table was altered.  It is set once the library is loaded,
 * which calling the validator sees to.  The same is checked whenever options
 * are read, for what else may have changed (a column's type, in a session that
 * has not loaded the library).
 *
 * Owns the list of valid options.  It must not look at files: an option is
 * right or wrong whether or not the file is there.
 *
 * IDENTIFICATION
 *		src/scan/option.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "commands/copy.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"

#include "scan.h"

PG_FUNCTION_INFO_V1(parparaw_fdw_validator);

/* An option and the catalog of the kind of object that takes it. */
typedef struct ValidOption
{
	const char *name;
	Oid			catalog;
} ValidOption;

/*
 * filename and program stay options of foreign tables only: check_access()
 * is what keeps users from naming files, and it sees tables' options only.
 */
static const ValidOption valid_options[] = {
	{"filename", ForeignTableRelationId},
	{"program", ForeignTableRelationId},
	{"format", ForeignTableRelationId},
	{"header", ForeignTableRelationId},
	{"delimiter", ForeignTableRelationId},
	{"quote", ForeignTableRelationId},
	{"escape", ForeignTableRelationId},
	{"null", ForeignTableRelationId},
#ifdef PP_HAVE_COPY_DEFAULT
	{"default", ForeignTableRelationId},
#endif
	{"encoding", ForeignTableRelationId},
	{"on_error", ForeignTableRelationId},
	{"reject_limit", ForeignTableRelationId},
	{"log_verbosity", ForeignTableRelationId},
	{"force_not_null", AttributeRelationId},
	{"force_null", AttributeRelationId},
	{"key", AttributeRelationId},
	{"path", AttributeRelationId},
	{"raw", AttributeRelationId}
};

/* Those who came before us, or NULL. */
static object_access_hook_type next_hook = NULL;

/* Edits by which a name may differ from the option offered in its place. */
#define HINT_MAX_DISTANCE	4

static bool is_valid_option(const char *name, Oid catalog);
static PP_NORETURN void report_unknown_option(const char *name, Oid catalog);
static void check_access(const char *option);
static void read_table_options(List *list, PpOptions *options);
static PpFormat read_format(const char *format);
static bool read_on_error(DefElem *def);
static int64 read_reject_limit(DefElem *def);
static PpLogVerbosity read_log_verbosity(DefElem *def);
static void read_copy_options(List *list, PpOptions *options);
static void read_json_table_options(List *list, PpOptions *options);
static void check_column_options(List *list);
static bool is_json_option(const char *name);
static void read_column_options(Oid foreigntableid, PpOptions *options);
static void read_column(List *list, Form_pg_attribute att, PpOptions *options);
static void altered(ObjectAccessType access, Oid class, Oid object, int sub, void *arg);

/*
 * SQL function: raises an error unless the given options (text[], as stored
 * in the catalog named by the second argument) are valid for such an object
 * and the current user may set them.
 */
Datum
parparaw_fdw_validator(PG_FUNCTION_ARGS)
{
	List	   *list = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid			catalog = PG_GETARG_OID(1);
	ListCell   *lc;

	foreach(lc, list)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (!is_valid_option(def->defname, catalog))
			report_unknown_option(def->defname, catalog);

		if (strcmp(def->defname, "filename") == 0 ||
			strcmp(def->defname, "program") == 0)
			check_access(def->defname);

		if (catalog == AttributeRelationId &&
			strcmp(def->defname, "key") != 0 && strcmp(def->defname, "path") != 0)
			(void) defGetBoolean(def);	/* any legal boolean will do */
	}

	if (catalog == AttributeRelationId)
		check_column_options(list);

	if (catalog == ForeignTableRelationId)
	{
		PpOptions	options = {0};

		read_table_options(list, &options);
	}

	PG_RETURN_VOID();
}

/*
 * What the options of a foreign table and of its columns mean for a scan,
 * defaults filled in.  The result lives in the current memory context.
 *
 * Options of the wrapper, the server and user mappings are not looked at: the
 * validator allows none.
 */
PpOptions *
parparaw_get_options(Oid foreigntableid)
{
	PpOptions  *options = (PpOptions *) palloc0(sizeof(PpOptions));

	read_table_options(GetForeignTable(foreigntableid)->options, options);
	read_column_options(foreigntableid, options);

	return options;
}

static bool
is_valid_option(const char *name, Oid catalog)
{
	for (int i = 0; i < lengthof(valid_options); i++)
	{
		if (valid_options[i].catalog == catalog &&
			strcmp(valid_options[i].name, name) == 0)
			return true;
	}
	return false;
}

/*
 * Complains about an option, with the most similar valid one as a hint.
 *
 * The rule is the one by which PostgreSQL 16 and later choose their hints (at
 * most HINT_MAX_DISTANCE edits, and no more than half of the name changed);
 * it is spelled out here because earlier majors have no function for it.
 */
static void
report_unknown_option(const char *name, Oid catalog)
{
	int			len = strlen(name);
	int			limit = Min(HINT_MAX_DISTANCE, len / 2);
	const char *closest = NULL;
	bool		any = false;

	for (int i = 0; i < lengthof(valid_options); i++)
	{
		const char *candidate = valid_options[i].name;
		int			distance;

		if (valid_options[i].catalog != catalog)
			continue;
		any = true;

		/* names are identifiers, far below the function's length limit */
		distance = varstr_levenshtein_less_equal(name, len,
												 candidate, strlen(candidate),
												 1, 1, 1, limit, true);
		if (distance <= limit)
		{
			closest = candidate;
			limit = distance - 1;
			if (limit < 0)
				break;
		}
	}

	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg("invalid option \"%s\"", name),
			 !any ? errhint("There are no valid options in this context.") :
			 closest ? errhint("Perhaps you meant the option \"%s\".", closest) : 0));
}

/*
 * Which file is read, or which program is run, is for those to say who could
 * do so by COPY.  The check stands in the validator because setting the
 * option is the only moment at which the user who chose it is known; a scan
 * needs no more than the privilege on the table.
 */
static void
check_access(const char *option)
{
	bool		is_program = strcmp(option, "program") == 0;
	Oid			role = is_program ? ROLE_PG_EXECUTE_SERVER_PROGRAM :
		ROLE_PG_READ_SERVER_FILES;

	if (!has_privs_of_role(GetUserId(), role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to set the \"%s\" option of a parparaw_fdw foreign table",
						option),
				 errdetail("Only roles with privileges of the \"%s\" role may set this option.",
						   is_program ? "pg_execute_server_program" : "pg_read_server_files")));
}

/*
 * Reads a table's options (DefElems with String arguments) and checks them
 * against each other.
 */
static void
read_table_options(List *list, PpOptions *options)
{
	DefElem    *format = NULL;
	DefElem    *on_error = NULL;
	DefElem    *reject_limit = NULL;
	DefElem    *log_verbosity = NULL;
	List	   *copy_options = NIL;
	ListCell   *lc;

	foreach(lc, list)
	{
		DefElem    *def = lfirst_node(DefElem, lc);
		DefElem   **mine = NULL;

		if (strcmp(def->defname, "filename") == 0 ||
			strcmp(def->defname, "program") == 0)
		{
			if (options->filename)
				ereport(ERROR,
						(errcode(ERRCODE_SYNTAX_ERROR),
						 errmsg("conflicting or redundant options"),
						 errhint("Specify either \"filename\" or \"program\", once.")));
			options->filename = defGetString(def);
			options->is_program = strcmp(def->defname, "program") == 0;
			continue;
		}

		if (strcmp(def->defname, "format") == 0)
			mine = &format;
		else if (strcmp(def->defname, "on_error") == 0)
			mine = &on_error;
		else if (strcmp(def->defname, "reject_limit") == 0)
			mine = &reject_limit;
		else if (strcmp(def->defname, "log_verbosity") == 0)
			mine = &log_verbosity;

		if (mine == NULL)
			copy_options = lappend(copy_options, def);
		else if (*mine == NULL)
			*mine = def;
		else
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("conflicting or redundant options"),
					 errhint("Option \"%s\" is given more than once.", def->defname)));
	}

	if (format)
		options->format = read_format(defGetString(format));
	if (on_error)
		options->on_error_ignore = read_on_error(on_error);
	if (reject_limit)
		options->reject_limit = read_reject_limit(reject_limit);
	if (log_verbosity)
		options->log_verbosity = read_log_verbosity(log_verbosity);

	if (options->format == PP_FORMAT_CSV)
		read_copy_options(copy_options, options);
	else
		read_json_table_options(copy_options, options);

	if (options->reject_limit > 0 && !options->on_error_ignore)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("COPY %s requires %s to be set to %s",
						"REJECT_LIMIT", "ON_ERROR", "IGNORE")));

	if (options->filename == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_DYNAMIC_PARAMETER_VALUE_NEEDED),
				 errmsg("either filename or program is required for parparaw_fdw foreign tables")));
}

/* COPY's other formats are file_fdw's. */
static PpFormat
read_format(const char *format)
{
	if (strcmp(format, "csv") == 0)
		return PP_FORMAT_CSV;
	if (strcmp(format, "ndjson") == 0)
		return PP_FORMAT_NDJSON;
	if (strcmp(format, "json") == 0)
		return PP_FORMAT_JSON;

	if (strcmp(format, "text") == 0 || strcmp(format, "binary") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("format \"%s\" is not supported by parparaw_fdw", format),
				 errdetail("The supported formats are \"csv\", \"ndjson\" and \"json\"."),
				 errhint("Use file_fdw for files in the formats \"text\" and \"binary\".")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("COPY format \"%s\" not recognized", format)));
	return PP_FORMAT_CSV;		/* keep compiler quiet */
}

/* Are rows with values that cannot be converted left out? */
static bool
read_on_error(DefElem *def)
{
	char	   *value = defGetString(def);

	if (pg_strcasecmp(value, "ignore") == 0)
		return true;
	if (pg_strcasecmp(value, "stop") == 0)
		return false;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("COPY %s \"%s\" not recognized", "ON_ERROR", value)));
	return false;				/* keep compiler quiet */
}

/* The number of rows that may be left out, at least 1. */
static int64
read_reject_limit(DefElem *def)
{
	int64		limit = pg_strtoint64(defGetString(def));

	if (limit <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("REJECT_LIMIT (%lld) must be greater than zero",
						(long long) limit)));
	return limit;
}

static PpLogVerbosity
read_log_verbosity(DefElem *def)
{
	char	   *value = defGetString(def);

	if (pg_strcasecmp(value, "silent") == 0)
		return PP_LOG_SILENT;
	if (pg_strcasecmp(value, "default") == 0)
		return PP_LOG_DEFAULT;
	if (pg_strcasecmp(value, "verbose") == 0)
		return PP_LOG_VERBOSE;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("COPY %s \"%s\" not recognized", "LOG_VERBOSITY", value)));
	return PP_LOG_DEFAULT;		/* keep compiler quiet */
}

/*
 * The options that are COPY's own, through COPY's own checks.  The columns'
 * options are not among them, see read_column_options().
 */
static void
read_copy_options(List *list, PpOptions *options)
{
	CopyFormatOptions copy = {0};
	int			lines;

	/* the format goes first: COPY's default is another */
	list = lcons(makeDefElem("format", (Node *) makeString("csv"), -1), list);
	ProcessCopyOptions(NULL, &copy, true, list);

	lines = pp_copy_header_lines(&copy);
	if (lines > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("a header of %d lines is not supported by parparaw_fdw", lines),
				 errhint("Use \"true\", \"false\" or \"match\".")));
	options->header = lines == PP_COPY_HEADER_MATCH ? PP_HEADER_MATCH :
		lines == 1 ? PP_HEADER_TRUE : PP_HEADER_FALSE;

	options->delimiter = copy.delim[0];
	options->quote = copy.quote[0];
	options->escape = copy.escape[0];
	options->null_print = copy.null_print;
#ifdef PP_HAVE_COPY_DEFAULT
	options->default_print = copy.default_print;
#endif

	/* not by pg_get_client_encoding(): a worker's client is its leader */
	options->encoding = copy.file_encoding >= 0 ? copy.file_encoding :
		pg_char_to_encoding(GetConfigOption("client_encoding", false, false));
}

/*
 * What is left of a table's options in a JSON format.  JSON is UTF-8 unless
 * said otherwise: RFC 8259 knows nothing else, whatever the client uses.
 */
static void
read_json_table_options(List *list, PpOptions *options)
{
	ListCell   *lc;

	options->null_print = "";
	options->encoding = PG_UTF8;
	foreach(lc, list)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, "encoding") != 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("option \"%s\" cannot be used with format \"%s\"",
							def->defname, parparaw_format_name(options->format))));
		options->encoding = pg_char_to_encoding(defGetString(def));
		if (options->encoding < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("argument to option \"%s\" must be a valid encoding name",
							def->defname)));
	}
}

/* Is it an option that a column has in JSON formats only? */
static bool
is_json_option(const char *name)
{
	return strcmp(name, "key") == 0 || strcmp(name, "path") == 0 ||
		strcmp(name, "raw") == 0;
}

/* What can be said of a column's options without those of the table. */
static void
check_column_options(List *list)
{
	const char *json = NULL;
	const char *csv = NULL;
	ListCell   *lc;

	foreach(lc, list)
	{
		DefElem    *def = lfirst_node(DefElem, lc);
		PpJsonStep *steps;

		if (!is_json_option(def->defname))
		{
			csv = def->defname;
			continue;
		}
		if (json)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("options \"%s\" and \"%s\" cannot be used together",
							json, def->defname),
					 errhint("A column may have one of \"key\", \"path\" and \"raw\".")));
		json = def->defname;
		if (strcmp(json, "path") == 0)
			(void) parparaw_json_path(defGetString(def), &steps);
	}
	if (json && csv)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("options \"%s\" and \"%s\" cannot be used together", csv, json),
				 errdetail("One is for CSV, the other for JSON.")));
}

/* An option of a column that the table's format does not have. */
PP_NORETURN static void
report_wrong_format(DefElem *def, Form_pg_attribute att, PpFormat format)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg("option \"%s\" of column \"%s\" cannot be used with format \"%s\"",
					def->defname, NameStr(att->attname), parparaw_format_name(format))));
}

const char *
parparaw_format_name(PpFormat format)
{
	switch (format)
	{
		case PP_FORMAT_CSV:
			return "csv";
		case PP_FORMAT_NDJSON:
			return "ndjson";
		case PP_FORMAT_JSON:
			return "json";
	}
	return "unknown";			/* keep compiler quiet */
}

/* The options of the columns: which have force_not_null or force_null, or where they are. */
static void
read_column_options(Oid foreigntableid, PpOptions *options)
{
	Relation	rel = table_open(foreigntableid, AccessShareLock);
	TupleDesc	tupdesc = RelationGetDescr(rel);

	if (options->format != PP_FORMAT_CSV)
		options->json = (PpJsonOption *) palloc0(Max(tupdesc->natts, 1) * sizeof(PpJsonOption));
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (!att->attisdropped)
			read_column(GetForeignColumnOptions(foreigntableid, att->attnum), att, options);
	}

	table_close(rel, AccessShareLock);
}

/* The options of one column; those of the table are known. */
static void
read_column(List *list, Form_pg_attribute att, PpOptions *options)
{
	bool		is_json = options->format != PP_FORMAT_CSV;
	ListCell   *lc;

	foreach(lc, list)
	{
		DefElem    *def = lfirst_node(DefElem, lc);
		PpJsonOption *json;

		if (is_json_option(def->defname) != is_json)
			report_wrong_format(def, att, options->format);
		json = is_json ? &options->json[att->attnum - 1] : NULL;
		if (strcmp(def->defname, "key") == 0)
			json->key = defGetString(def);
		else if (strcmp(def->defname, "path") == 0)
			json->path = defGetString(def);
		else if (!defGetBoolean(def))
			continue;
		else if (strcmp(def->defname, "raw") == 0)
		{
			if (att->atttypid != JSONOID && att->atttypid != JSONBOID)
				ereport(ERROR,
						(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
						 errmsg("column \"%s\" with option \"raw\" must be of type json or jsonb",
								NameStr(att->attname))));
			json->raw = true;
		}
		else if (strcmp(def->defname, "force_not_null") == 0)
			options->force_not_null = bms_add_member(options->force_not_null, att->attnum);
		else if (strcmp(def->defname, "force_null") == 0)
			options->force_null = bms_add_member(options->force_null, att->attnum);
	}
}

/*
 * Do a table's options and those of its columns go together?
 */

void
parparaw_option_init(void)
{
	next_hook = object_access_hook;
	object_access_hook = altered;
}

/* Is it a server of a wrapper that has our validator? */
static bool
is_our_server(Oid serverid)
{
	Oid			validator;
	FmgrInfo	function;

	validator = GetForeignDataWrapper(GetForeignServer(serverid)->fdwid)->fdwvalidator;
	if (!OidIsValid(validator))
		return false;
	fmgr_info(validator, &function);
	return function.fn_addr == parparaw_fdw_validator;
}

/*
 * A foreign table's options as the current command has left them in the
 * catalog, where no cache sees them yet.  False: it is no table of ours.
 */
static bool
read_altered_table(Oid relid, PpOptions *options)
{
	Relation	catalog = table_open(ForeignTableRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_foreign_table_ftrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, ForeignTableRelidIndexId, true, SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple) &&
		is_our_server(((Form_pg_foreign_table) GETSTRUCT(tuple))->ftserver))
	{
		bool		isnull;
		Datum		list = heap_getattr(tuple, Anum_pg_foreign_table_ftoptions,
										RelationGetDescr(catalog), &isnull);

		read_table_options(isnull ? NIL : untransformRelOptions(list), options);
		found = true;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}

/* Checks the columns' options, or those of one. */
static void
check_altered_columns(Oid relid, AttrNumber only, PpOptions *options)
{
	Relation	catalog = table_open(AttributeRelationId, AccessShareLock);
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	if (options->format != PP_FORMAT_CSV)
		options->json = (PpJsonOption *) palloc0(MaxHeapAttributeNumber * sizeof(PpJsonOption));
	ScanKeyInit(&key[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	ScanKeyInit(&key[1], Anum_pg_attribute_attnum,
				only > 0 ? BTEqualStrategyNumber : BTGreaterStrategyNumber,
				only > 0 ? F_INT2EQ : F_INT2GT, Int16GetDatum(only));
	scan = systable_beginscan(catalog, AttributeRelidNumIndexId, true, SnapshotSelf, 2, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_attribute att = (Form_pg_attribute) GETSTRUCT(tuple);
		bool		isnull;
		Datum		list = heap_getattr(tuple, Anum_pg_attribute_attfdwoptions,
										RelationGetDescr(catalog), &isnull);

		if (!isnull && !att->attisdropped)
			read_column(untransformRelOptions(list), att, options);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

/* Called for each object that is altered, among others. */
static void
altered(ObjectAccessType access, Oid class, Oid object, int sub, void *arg)
{
	if (next_hook)
		next_hook(access, class, object, sub, arg);
	if (access != OAT_POST_ALTER)
		return;
	if (class == ForeignTableRelationId ||
		(class == RelationRelationId && sub > 0 &&
		 get_rel_relkind(object) == RELKIND_FOREIGN_TABLE))
	{
		PpOptions	options = {0};

		if (read_altered_table(object, &options))
			check_altered_columns(object, sub, &options);
	}
}
