"""What every fault test uses: tables over files it writes, checks, /proc.

Owns: the registry of tests, the database of a run, the fixtures.

Must not: contain a test.
"""

import os
import sys
import threading
import time
import traceback

import psycopg2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                                "differential"))

from server import Server, WorkDir, ident, literal, outcome_from_error     # noqa: E402,F401

TESTS = []          # (rows of the fault list, name, function)
SENTENCES = {}      # row -> why there is no test


def test(*rows):
    """Registers a test, and the rows of the fault list that it answers."""
    def register(function):
        TESTS.append((rows, function.__name__, function))
        return function
    return register


def cannot_happen(row, why):
    SENTENCES[row] = why


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


class Environment:
    """The database of a run and its connections."""

    def __init__(self, tmp):
        self.workdir = WorkDir(tmp)
        self.admin = Server()
        self.version = self.admin.version
        self.name = "pd_faults_%d" % os.getpid()
        self.admin.execute("DROP DATABASE IF EXISTS " + self.name)
        self.admin.execute("CREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8'"
                           " LC_COLLATE 'C' LC_CTYPE 'C'" % self.name)
        self.session = self.connect()
        self.session.execute("SET synchronous_commit = on")     # to be there after a crash
        self.session.execute("CREATE EXTENSION file_fdw; CREATE EXTENSION parparaw_fdw;"
                             "CREATE SERVER pd_reference FOREIGN DATA WRAPPER file_fdw")

    def connect(self):
        s = Server(self.name)
        s.execute("SET log_min_messages = panic; SET log_min_error_statement = panic;"
                  "SET statement_timeout = '120s'")
        return s

    def close(self):
        self.workdir.close()
        self.session.close()
        try:
            self.admin.execute("DROP DATABASE IF EXISTS " + self.name)
        except psycopg2.Error:
            self.admin.connect()        # it was lost with another session's crash
            self.admin.execute("DROP DATABASE IF EXISTS " + self.name)
        self.admin.close()


class Case:
    """Handed to every test: a schema of its own, files, checks."""

    def __init__(self, environment, name):
        self.environment = environment
        self.name = name
        self.version = environment.version
        self.s = environment.session
        self.extra = []
        self.files = []
        self.s.execute("RESET ALL; SET log_min_messages = panic;"
                       "SET log_min_error_statement = panic; SET statement_timeout = '120s';"
                       "DROP SCHEMA IF EXISTS pd CASCADE; CREATE SCHEMA pd;"
                       "SET search_path = pd, public; SET client_min_messages = warning")
        self.s.take_notices()

    def finish(self):
        for s in self.extra:
            s.close()
        if not self.s.connection.closed:
            self.s.connection.rollback()
            self.s.execute("RESET ROLE; DROP SCHEMA IF EXISTS pd CASCADE")
            self.s.take_notices()
        for path in self.files:
            if os.path.exists(path):
                os.unlink(path)

    # -- fixtures -----------------------------------------------------------

    def connect(self):
        """One more session, ended with the test."""
        s = self.environment.connect()
        s.execute("SET search_path = pd, public")
        self.extra.append(s)
        return s

    def path(self, name):
        p = os.path.join(self.environment.workdir.path, name)
        self.files.append(p)
        return p

    def file(self, name, data):
        if isinstance(data, str):
            data = data.encode()
        self.files.append(self.environment.workdir.file(name, data))
        return self.files[-1]

    def table(self, name, columns, data=None, server="gpu_csv", **options):
        """A foreign table over a new file (or over the given filename or program)."""
        if data is not None:
            options["filename"] = self.file(name + ".csv", data)
        options.setdefault("format", "csv")
        self.s.execute(("CREATE FOREIGN TABLE %s (%s) SERVER %s OPTIONS (%s)" % (
            name, columns, server,
            ", ".join("%s %s" % (k, literal(v)) for k, v in options.items()))
        ).encode().decode("latin-1"))
        return options.get("filename")

    def tables(self, columns, data, **options):
        """t on the server under test and r on file_fdw, over the same file."""
        path = self.table("t", columns, data, **options)
        self.table("r", columns, None, "pd_reference", filename=path, **options)
        return path

    # -- checks ---------------------------------------------------------------

    def check(self, truth, what):
        if not truth:
            raise Failed(what)

    def equal(self, actual, expected, what="result"):
        if actual != expected:
            raise Failed("%s: %s instead of %s" % (what, repr(actual)[:600],
                                                   repr(expected)[:600]))

    def query_is(self, sql, expected, parameters=None):
        rows = self.s.query(sql, parameters)
        if len(expected) > 0 and not isinstance(expected[0], tuple):
            expected = [(e,) for e in expected]
        self.equal(rows, expected, sql)

    def same(self, sql):
        """The query (with {t}) gives the same on both servers."""
        self.equal(self.s.query(sql.replace("{t}", "t")),
                   self.s.query(sql.replace("{t}", "r")), sql)

    def fails(self, sql, state, message=None, parameters=None, session=None):
        """The statement fails with the SQLSTATE; answers the error."""
        e = (session or self.s).error(sql, parameters)
        if e is None:
            raise Failed("no error: %s" % sql)
        if e.state != state or (message is not None and message not in e.message):
            raise Failed("%s: %s %r instead of %s %r" % (sql, e.state, e.message, state,
                                                         message or ""))
        return e

    def plan(self, sql):
        return "\n".join(r[0] for r in self.s.query("EXPLAIN (COSTS OFF) " + sql))

    def warnings(self):
        return self.s.take_notices()


# -- processes ------------------------------------------------------------------

def process_files(pid):
    """Targets of a process's open descriptors."""
    try:
        names = os.listdir("/proc/%d/fd" % pid)
    except OSError:
        raise Skipped("/proc/PID/fd of the server is not readable: "
                      "run as root or as the server's user")
    out = []
    for n in names:
        try:
            out.append(os.readlink("/proc/%d/fd/%s" % (pid, n)))
        except OSError:
            pass
    return out


def process_status(pid, field):
    """A field of /proc/PID/status; kilobytes where it has a unit."""
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    raise Skipped("/proc/PID/status has no %s" % field)


def processes_with(argument):
    """Processes whose command line holds the text."""
    out = []
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    if argument.encode() in f.read():
                        out.append(int(pid))
            except OSError:
                pass
    return out


def children(pid):
    out = []
    for other in os.listdir("/proc"):
        if other.isdigit():
            try:
                with open("/proc/%s/stat" % other) as f:
                    fields = f.read().rpartition(")")[2].split()
                if int(fields[1]) == pid:
                    out.append(int(other))
            except OSError:
                pass
    return out


def eventually(condition, seconds=3.0):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def temporary_files(s):
    return s.value("SELECT count(*) FROM pg_ls_tmpdir()")


class Background(threading.Thread):
    """A statement run in another session while the test goes on."""

    def __init__(self, session, sql):
        threading.Thread.__init__(self, daemon=True)
        self.session = session
        self.sql = sql
        self.error = None
        self.rows = None
        self.started = time.time()
        self.seconds = None
        self.start()

    def run(self):
        try:
            self.session.cursor.execute(self.sql)
            if self.session.cursor.description is not None:
                self.rows = self.session.cursor.fetchall()
        except psycopg2.Error as e:
            self.error = outcome_from_error(e)
        self.seconds = time.time() - self.started


def run_all(environment, only=None, verbose=False):
    """Answers (passed, failed)."""
    passed = failed = 0
    for rows, name, function in TESTS:
        if only and only not in (name,) + rows:
            continue
        label = "%s%s" % (name, " (%s)" % ", ".join(rows) if rows else "")
        started = time.time()
        problem = None
        case = None
        try:
            case = Case(environment, name)
            function(case)
        except Skipped as e:
            print("skipped %s: %s" % (label, e))
            continue
        except Failed as e:
            problem = str(e)
        except psycopg2.Error as e:
            problem = "%s %s" % (e.pgcode, str(e).strip())
            if verbose:
                problem += "\n" + traceback.format_exc()
        except Exception:
            problem = traceback.format_exc()
        finally:
            try:
                if case is not None:
                    case.finish()
            except psycopg2.Error as e:
                problem = (problem or "") + " [afterwards: %s]" % str(e).strip()
            if environment.session.connection.closed:
                problem = (problem or "") + " [the connection was lost]"
                reconnect(environment)
        if problem is None:
            passed += 1
            if verbose:
                print("ok      %s (%.1f s)" % (label, time.time() - started))
        else:
            failed += 1
            print("FAILED  %s: %s" % (label, problem))
        sys.stdout.flush()
    return passed, failed


def reconnect(environment):
    for _ in range(60):
        try:
            environment.session.close()
            environment.session = environment.connect()
            return
        except psycopg2.OperationalError:
            time.sleep(1)
    raise RuntimeError("the server does not come back")
