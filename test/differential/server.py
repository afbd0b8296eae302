"""Connections, databases and outcomes shared by the SQL-level tests.

Owns: how a test talks to the server (bytes pass through unchanged whatever
the database encoding), the helper functions it creates there, and what is
kept of a query's end: rows, SQLSTATE, messages, context.

Must not: know anything about generated cases or about what is expected.
"""

import collections
import os
import re
import shutil
import tempfile
import time

import psycopg2
import psycopg2.extensions

# With client_encoding SQL_ASCII the server converts nothing in either
# direction; reading those bytes as Latin-1 makes every byte one character.
for _name in ("SQL_ASCII", "SQLASCII"):
    psycopg2.extensions.encodings[_name] = "latin-1"

DATABASES = ("UTF8", "LATIN1", "SQL_ASCII", "EUC_JP")

# Rows arrive one at a time, so those before an error are kept.
HELPERS = r"""
CREATE TYPE pd_outcome AS (lines text[], state text, message text,
                           detail text, hint text, context text);

-- An error's context without the lines that these functions add to it.
CREATE FUNCTION pd_context(context text) RETURNS text LANGUAGE sql AS $f$
    SELECT regexp_replace(context, E'\\n?(SQL statement "|PL/pgSQL function pd_).*$', '');
$f$;

CREATE FUNCTION pd_collect(query text, client_encoding text DEFAULT NULL)
RETURNS pd_outcome LANGUAGE plpgsql AS $f$
DECLARE
    o pd_outcome;
    collected text[] := '{}';
    line text;
    c refcursor;
    previous text := current_setting('client_encoding');
BEGIN
    IF client_encoding IS NOT NULL THEN
        PERFORM set_config('client_encoding', client_encoding, false);
    END IF;
    BEGIN
        OPEN c NO SCROLL FOR EXECUTE query;
        LOOP
            FETCH c INTO line;
            EXIT WHEN NOT FOUND;
            collected := array_append(collected, line);
        END LOOP;
        CLOSE c;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS o.state = RETURNED_SQLSTATE,
            o.message = MESSAGE_TEXT, o.detail = PG_EXCEPTION_DETAIL,
            o.hint = PG_EXCEPTION_HINT, o.context = PG_EXCEPTION_CONTEXT;
        o.context := pd_context(o.context);
    END;
    IF client_encoding IS NOT NULL THEN
        PERFORM set_config('client_encoding', previous, false);
    END IF;
    o.lines := collected;
    RETURN o;
END $f$;

-- Runs the query under every pair of partition and chunk size and answers
-- the pairs whose outcome is not the given one.
CREATE FUNCTION pd_sweep(query text, partitions text[], chunks text[],
                         expected pd_outcome)
RETURNS TABLE (partition_size text, chunk_size text, outcome pd_outcome)
LANGUAGE plpgsql AS $f$
BEGIN
    FOREACH partition_size IN ARRAY partitions LOOP
        PERFORM set_config('parparaw.partition_size', partition_size, false);
        PERFORM set_config('parparaw.cuda_partition_size', partition_size, false);
        FOREACH chunk_size IN ARRAY chunks LOOP
            PERFORM set_config('parparaw.chunk_size', chunk_size, false);
            outcome := pd_collect(query);
            IF outcome IS DISTINCT FROM expected THEN
                RETURN NEXT;
            END IF;
        END LOOP;
    END LOOP;
END $f$;

-- What on_error 'ignore' must give, by the server's own input functions: the
-- text twin's rows, each needed column read by its type's input function, a
-- row left out if that fails.  "columns" are name, type pairs, left to right;
-- "shown" is the expression to return.
CREATE FUNCTION pd_oracle(twin text, names text[], types text[], shown text,
                          reject_limit bigint, client_encoding text,
                          OUT result pd_outcome, OUT skipped text[])
LANGUAGE plpgsql AS $f$
DECLARE
    collected text[] := '{}';
    r record;
    document json;
    line text;
    c refcursor;
    i int;
    converted text;
    good boolean;
    previous text := current_setting('client_encoding');
BEGIN
    IF client_encoding IS NOT NULL THEN
        PERFORM set_config('client_encoding', client_encoding, false);
    END IF;
    skipped := '{}';
    converted := '';
    FOR i IN 1 .. coalesce(array_length(names, 1), 0) LOOP
        converted := converted || CASE WHEN i > 1 THEN ', ' ELSE '' END
            || quote_ident(names[i]) || ' ' || CASE
            WHEN types[i] IN ('json', 'jsonb') THEN 'text' ELSE types[i] END;
    END LOOP;
    BEGIN
        OPEN c NO SCROLL FOR EXECUTE twin;
        LOOP
            FETCH c INTO r;
            EXIT WHEN NOT FOUND;
            document := row_to_json(r);
            good := true;
            FOR i IN 1 .. coalesce(array_length(names, 1), 0) LOOP
                BEGIN
                    IF types[i] IN ('json', 'jsonb') THEN
                        EXECUTE format('SELECT ($1->>%L)::%s', names[i], types[i])
                            USING document;
                    ELSE
                        EXECUTE format('SELECT * FROM json_to_record($1) AS p(%I %s)',
                                       names[i], types[i]) USING document;
                    END IF;
                EXCEPTION WHEN OTHERS THEN
                    good := false;
                    skipped := skipped || (names[i] || ':'
                        || coalesce('"' || (document->>names[i]) || '"', 'null input'));
                    IF reject_limit > 0 AND array_length(skipped, 1) > reject_limit THEN
                        result.state := '22P02';
                        result.message := format('skipped more than REJECT_LIMIT (%s) '
                            || 'rows due to data type incompatibility', reject_limit);
                    END IF;
                END;
                EXIT WHEN NOT good;
            END LOOP;
            EXIT WHEN result.state IS NOT NULL;
            IF good THEN
                IF names = '{}' THEN
                    EXECUTE format('SELECT %s', shown) INTO line;
                ELSE
                    EXECUTE format('SELECT %s FROM json_to_record($1) AS p(%s)',
                                   shown, converted) INTO line USING document;
                END IF;
                collected := array_append(collected, line);
            END IF;
        END LOOP;
        CLOSE c;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS result.state = RETURNED_SQLSTATE,
            result.message = MESSAGE_TEXT, result.detail = PG_EXCEPTION_DETAIL,
            result.hint = PG_EXCEPTION_HINT, result.context = PG_EXCEPTION_CONTEXT;
        result.context := pd_context(result.context);
    END;
    IF client_encoding IS NOT NULL THEN
        PERFORM set_config('client_encoding', previous, false);
    END IF;
    result.lines := collected;
END $f$;

-- The text twin's rows one by one: the first of the needed columns that its
-- type's input function refuses ("state", "message"), whether one of the
-- conjuncts can be evaluated and is not true ("removable"), and what to show.
-- Conjunct i looks at the column uses[i] only; "sources" are FROM items that
-- make typed columns of the record $1, one for each column, and one for all.
CREATE FUNCTION pd_rows(twin text, names text[], sources text[], whole text,
                        conjuncts text[], uses text[], shown text, client_encoding text,
                        OUT states text[], OUT messages text[], OUT removable boolean[],
                        OUT lines text[], OUT result pd_outcome)
LANGUAGE plpgsql AS $f$
DECLARE
    r record;
    document json;
    c refcursor;
    i int;
    state text;
    message text;
    failed text[];
    removed boolean;
    truth boolean;
    line text;
    previous text := current_setting('client_encoding');
BEGIN
    IF client_encoding IS NOT NULL THEN
        PERFORM set_config('client_encoding', client_encoding, false);
    END IF;
    BEGIN
        OPEN c NO SCROLL FOR EXECUTE twin;
        LOOP
            FETCH c INTO r;
            EXIT WHEN NOT FOUND;
            document := row_to_json(r);
            state := NULL; message := NULL; failed := '{}'; removed := false; line := NULL;
            FOR i IN 1 .. array_length(names, 1) LOOP
                BEGIN
                    EXECUTE 'SELECT * FROM ' || sources[i] USING document;
                EXCEPTION WHEN OTHERS THEN
                    IF state IS NULL THEN
                        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
                            message = MESSAGE_TEXT;
                    END IF;
                    failed := failed || names[i];
                END;
            END LOOP;
            FOR i IN 1 .. array_length(conjuncts, 1) LOOP
                IF uses[i] = ANY (failed) THEN
                    CONTINUE;
                END IF;
                BEGIN           -- a cast of the comparison may fail, too
                    EXECUTE format('SELECT (%s) IS TRUE FROM %s', conjuncts[i],
                                   sources[array_position(names, uses[i])])
                        INTO truth USING document;
                    removed := removed OR NOT truth;
                EXCEPTION WHEN OTHERS THEN
                    IF state IS NULL THEN
                        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
                            message = MESSAGE_TEXT;
                    END IF;
                END;
            END LOOP;
            IF state IS NULL AND NOT removed THEN
                EXECUTE format('SELECT %s FROM %s', shown, whole) INTO line USING document;
            END IF;
            states := array_append(states, state);
            messages := array_append(messages, message);
            removable := array_append(removable, removed);
            lines := array_append(lines, line);
        END LOOP;
        CLOSE c;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS result.state = RETURNED_SQLSTATE,
            result.message = MESSAGE_TEXT, result.detail = PG_EXCEPTION_DETAIL,
            result.hint = PG_EXCEPTION_HINT, result.context = PG_EXCEPTION_CONTEXT;
        result.context := pd_context(result.context);
    END;
    IF client_encoding IS NOT NULL THEN
        PERFORM set_config('client_encoding', previous, false);
    END IF;
END $f$;

CREATE TYPE pd_mood AS ENUM ('sad', 'ok', 'happy', 'a "quoted", one');
CREATE TYPE pd_pair AS (a int, b text);
CREATE DOMAIN pd_positive AS int CHECK (VALUE > 0);
CREATE DOMAIN pd_required AS text NOT NULL;
CREATE DOMAIN pd_short AS varchar(5) CHECK (VALUE <> 'bad');
"""


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def ident(name):
    return '"' + name.replace('"', '""') + '"'


class Outcome:
    """How a query ended; compared field by field by the callers."""

    def __init__(self, lines, state, message, detail, hint, context):
        self.lines = lines
        self.state = state
        self.message = message
        self.detail = detail or ""
        self.hint = hint or ""
        self.context = context or ""

    def __repr__(self):
        shown = self.lines if len(self.lines) <= 60 else (
            self.lines[:30] + ["... %d lines ..." % len(self.lines)] + self.lines[-5:])
        text = "rows (%d): %s" % (len(self.lines), ascii(shown))
        if self.state:
            text += "\n      error %s: %s" % (self.state, ascii(self.message))
            if self.detail:
                text += "\n      detail: %s" % ascii(self.detail)
            if self.hint:
                text += "\n      hint: %s" % ascii(self.hint)
            text += "\n      context: %s" % ascii(self.context)
        return text


def outcome_from_error(error):
    d = error.diag
    return Outcome([], error.pgcode or "08000", d.message_primary or str(error),
                   d.message_detail, d.message_hint, d.context or "")


COPY_PLACE = re.compile(r"^COPY [^,]+, line (\d+)(, column .*)?", re.S | re.M)


def copy_place(context):
    """(line number, ", column NAME: VALUE" or "") of COPY's context, or None."""
    m = COPY_PLACE.search(context)
    if m is None:
        return None
    return int(m.group(1)), m.group(2) or ""


class Server:
    """One connection, and what tests need to know of its server."""

    def __init__(self, dbname=None, **parameters):
        if dbname is not None:
            parameters["dbname"] = dbname
        parameters.setdefault("application_name", "parparaw tests")
        self.parameters = parameters
        self.connection = None
        self.connect()

    def connect(self):
        self.connection = psycopg2.connect("", client_encoding="SQL_ASCII",
                                           **self.parameters)
        self.connection.autocommit = True
        self.connection.notices = collections.deque()   # a list would keep the last 50 only
        self.cursor = self.connection.cursor()
        self.version = self.connection.server_version // 10000

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def execute(self, sql, parameters=None):
        self.cursor.execute(sql, parameters)

    def query(self, sql, parameters=None):
        self.cursor.execute(sql, parameters)
        return self.cursor.fetchall()

    def value(self, sql, parameters=None):
        return self.query(sql, parameters)[0][0]

    def error(self, sql, parameters=None):
        """Runs SQL that should fail; answers the Outcome, or None if it did not."""
        try:
            self.cursor.execute(sql, parameters)
        except psycopg2.Error as e:
            if self.connection.closed:
                raise
            return outcome_from_error(e)
        return None

    def collect(self, queries, client_encoding=None):
        """Outcomes of the queries, each of which returns one text column."""
        self.cursor.execute(
            "SELECT o.* FROM unnest(%s::text[]) WITH ORDINALITY AS q(q, n),"
            " LATERAL pd_collect(q.q, %s) AS o ORDER BY n", (queries, client_encoding))
        return [Outcome(*row) for row in self.cursor.fetchall()]

    def take_notices(self):
        notices = [n.split("\n", 1)[0] for n in self.connection.notices]
        self.connection.notices.clear()
        return notices

    @property
    def pid(self):
        return self.connection.get_backend_pid()


def has_setting(server, name):
    """Is it a setting that the loaded extension defines (not a placeholder)?"""
    return bool(server.query("SELECT 1 FROM pg_settings WHERE name = %s", (name,)))


class Databases:
    """The databases of a run, created at the start and dropped at the end."""

    def __init__(self, foreign_server, encodings=DATABASES, settings=()):
        self.foreign_server = foreign_server
        self.settings = tuple(settings)
        self.admin = Server()
        self.version = self.admin.version
        self.names = {}
        self.servers = {}
        self.simd_levels = ["auto"]     # those that this machine has
        for encoding in encodings:
            name = "pd_%d_%s" % (os.getpid(), encoding.lower())
            self.admin.execute("DROP DATABASE IF EXISTS " + name)
            self.admin.execute(
                "CREATE DATABASE %s TEMPLATE template0 ENCODING '%s'"
                " LC_COLLATE 'C' LC_CTYPE 'C'%s" %
                (name, encoding,
                 " LOCALE_PROVIDER libc" if self.version >= 15 else ""))
            self.names[encoding] = name
            self.prepare(encoding)
        self.find_simd_levels(self.servers[encodings[0]])

    def find_simd_levels(self, s):
        row = s.query("SELECT enumvals FROM pg_settings WHERE name = 'parparaw.simd'")
        for level in (row[0][0] if row else ()):
            if level != "auto" and s.error("SET parparaw.simd = " + level) is None:
                self.simd_levels.append(level)
        if row:
            s.execute("RESET parparaw.simd")

    def prepare(self, encoding):
        s = Server(self.names[encoding])
        self.servers[encoding] = s
        s.execute("SET synchronous_commit = on")    # to be there after a crash
        s.execute("CREATE EXTENSION file_fdw;"
                  "CREATE SERVER pd_reference FOREIGN DATA WRAPPER file_fdw;")
        if self.foreign_server == "gpu_csv":
            s.execute("CREATE EXTENSION parparaw_fdw")
        else:
            s.execute("CREATE SERVER %s FOREIGN DATA WRAPPER file_fdw" %
                      ident(self.foreign_server))
        s.execute(HELPERS)
        self.set_up_session(s)

    def set_up_session(self, s):
        if self.foreign_server == "gpu_csv":
            s.execute("LOAD 'parparaw_fdw'")
            for name in ("parparaw.partition_size", "parparaw.chunk_size"):
                if not has_setting(s, name):
                    raise RuntimeError("the server has no setting " + name)
        s.execute("SET statement_timeout = '60s'")
        for name, value in self.settings:
            s.execute("SELECT set_config(%s, %s, false)", (name, value))

    def reconnect(self):
        """After a lost connection: waits for the server and starts afresh, everywhere."""
        for encoding, s in self.servers.items():
            for _ in range(60):
                try:
                    s.close()
                    s.connect()
                    self.set_up_session(s)
                    break
                except psycopg2.OperationalError:
                    time.sleep(1)
            else:
                raise RuntimeError("the server does not come back")

    def close(self):
        for s in self.servers.values():
            s.close()
        try:
            self.admin.query("SELECT 1")
        except psycopg2.Error:
            self.admin.close()
            self.admin.connect()
        for name in self.names.values():
            self.admin.execute("DROP DATABASE IF EXISTS " + name)
        self.admin.close()


class WorkDir:
    """A directory that the server can read; what is made there goes at the end."""

    def __init__(self, path=None):
        self.remove = path is None
        self.path = tempfile.mkdtemp(prefix="parparaw_") if path is None else path
        self.made = set()
        if self.remove:
            os.chmod(self.path, 0o755)

    def file(self, name, data):
        path = os.path.join(self.path, name)
        self.made.add(path)
        with open(path, "wb") as f:
            f.write(data)
        os.chmod(path, 0o644)
        return path

    def close(self):
        if self.remove:
            shutil.rmtree(self.path, ignore_errors=True)
        for path in self.made:
            if os.path.exists(path):
                os.unlink(path)
