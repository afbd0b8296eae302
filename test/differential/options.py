"""Table and column options: accepted and refused as file_fdw does.

Owns: a list of option sets, good and bad, and their comparison.

Must not: look at what a scan returns, beyond its first error.
"""

from server import ident, literal

# (version since, options of the table, options of the column)
TABLE = [
    (0, "delimiter ';'"), (0, "delimiter ''"), (0, "delimiter 'ab'"), (0, "delimiter E'\\n'"),
    (0, "delimiter E'\\r'"), (0, "delimiter '\"'"), (0, "delimiter 'é'"), (0, "delimiter '\\'"),
    (0, "delimiter 'a'"), (0, "delimiter '.'"), (0, "delimiter ' '"),
    (0, "quote ''''"), (0, "quote ''"), (0, "quote 'ab'"), (0, "quote ','"), (0, "quote E'\\n'"),
    (0, "quote 'é'"), (0, "quote '.'"), (0, "quote E'\\r'"),
    (0, "escape '\\'"), (0, "escape ''"), (0, "escape 'ab'"), (0, "escape ','"),
    (0, "escape E'\\n'"), (0, "escape 'é'"), (0, "escape '\"'"),
    (0, "null 'NULL'"), (0, "null ''"), (0, "null E'a\\nb'"), (0, "null E'a\\rb'"), (0, "null 'a,b'"),
    (0, "null 'a\"b'"), (0, "null '\\N'"), (0, "null 'é'"), (0, "null ' '"),
    (0, "delimiter 'x', null 'axb'"), (0, "quote 'x', null 'axb'"), (0, "quote ';', delimiter ';'"),
    (0, "header 'true'"), (0, "header 'false'"), (0, "header 'on'"), (0, "header 'off'"),
    (0, "header '1'"), (0, "header '0'"), (0, "header '2'"), (0, "header 'yes'"), (0, "header ''"),
    (0, "header 'TRUE'"), (15, "header 'match'"), (15, "header 'MATCH'"), (15, "header 'Match'"),
    (0, "header 'matches'"), (0, "header 'tru'"), (0, "header '-1'"),
    (0, "encoding 'UTF8'"), (0, "encoding 'utf-8'"), (0, "encoding 'latin1'"),
    (0, "encoding 'no such'"), (0, "encoding ''"), (0, "encoding 'SJIS'"),
    (0, "encoding 'SQL_ASCII'"), (0, "encoding 'sql_ascii'"), (0, "encoding 'MULE_INTERNAL'"),
    (0, "format 'csv', delimiter ','"), (0, "program 'true'"),
    (0, "force_null 'true'"), (0, "force_not_null 'true'"), (0, "nul 'x'"), (0, "delim ';'"),
    (0, "\"Delimiter\" ';'"), (0, "oids 'true'"), (0, "freeze 'true'"), (0, "user 'x'"),
    (0, "convert_selectively 'true'"), (0, "force_quote 'true'"),
    (16, "default 'd'"), (16, "default ''"), (16, "default 'a,b'"), (16, "default 'a\"b'"),
    (16, "default E'a\\nb'"), (16, "default E'\\r'"), (16, "default 'x', null 'x'"),
    (16, "default '\\D', null ''"),
    (18, "on_error 'ignore'"), (18, "on_error 'stop'"), (18, "on_error 'x'"), (18, "on_error ''"),
    (18, "on_error 'IGNORE'"), (18, "on_error 'ignore', reject_limit '3'"),
    (18, "reject_limit '3'"), (18, "on_error 'stop', reject_limit '3'"),
    (18, "on_error 'ignore', reject_limit '0'"), (18, "on_error 'ignore', reject_limit '-1'"),
    (18, "on_error 'ignore', reject_limit 'x'"), (18, "on_error 'ignore', reject_limit ''"),
    (18, "on_error 'ignore', reject_limit '9223372036854775807'"),
    (18, "on_error 'ignore', reject_limit '9223372036854775808'"),
    (18, "log_verbosity 'default'"), (18, "log_verbosity 'verbose'"), (18, "log_verbosity 'silent'"),
    (18, "log_verbosity 'x'"), (18, "log_verbosity 'SILENT'"), (18, "log_verbosity ''"),
]
COLUMN = [
    "force_null 'true'", "force_null 'false'", "force_null 'x'", "force_null ''", "force_null '1'",
    "force_null 'ON'", "force_not_null 'true'", "force_not_null 'yes'", "force_not_null 'off'",
    "force_null 'true', force_not_null 'true'", "delimiter ';'", "filename 'x'", "force_nul 'true'",
    "default 'x'", "on_error 'ignore'",
]


def end(s, table, server, column, options):
    """How the table's creation and a first scan end: (stage, SQLSTATE, message)."""
    e = s.error("CREATE FOREIGN TABLE %s (a text%s, b text) SERVER %s OPTIONS (%s)" % (
        table, " OPTIONS (%s)" % column if column else "", ident(server), options))
    if e is not None:
        return "create", e.state, e.message
    e = s.error("SELECT * FROM " + table)
    s.execute("DROP FOREIGN TABLE " + table)
    return ("scan", e.state, e.message) if e is not None else ("good", None, None)


def run(databases, workdir, foreign_server, verbose=False):
    """Answers the numbers of option sets passed and failed."""
    passed = failed = 0
    path = workdir.file("options.csv", b"a,b\n\"c\",d\n,\n")
    for database in ("UTF8", "LATIN1", "SQL_ASCII"):
        s = databases.servers[database]
        codec = "latin-1" if database == "LATIN1" else "utf-8"
        sets = [(o, None) for since, o in TABLE if s.version >= since]
        sets += [("", o) for o in COLUMN]
        for options, column in sets:
            text = (options + ", ") if options else ""
            if "program" not in options:
                text += "filename %s, " % literal(path)
            if "format" not in options:
                text += "format 'csv', "
            text = text.rstrip(", ").encode(codec).decode("latin-1")
            wanted = end(s, "t_ref", "pd_reference", column, text)
            given = end(s, "t_new", foreign_server, column, text)
            same = wanted[:2] == given[:2]
            # messages that name the wrapper differ, and hints are each wrapper's own
            if same and wanted[2] is not None and "file_fdw" not in wanted[2]:
                same = wanted[2] == given[2]
            if same:
                passed += 1
            else:
                failed += 1
                print("options (%s) column (%s) in %s: %s instead of %s" % (
                    options, column, database, given, wanted))
    print("options: %d sets" % (passed + failed))
    return passed, failed
