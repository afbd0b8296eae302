"""Runs a case through file_fdw and through the server under test.

Owns: the queries asked of every case, where the expected answers come from,
and the list of deliberate differences from file_fdw.

Must not: make cases, or forgive any difference that DIFFERENCES does not name.
"""

import re

import psycopg2

import server as srv
from aggregates import Aggregates
from generate import to_sql
from restrictions import Restriction
from server import Outcome, ident, literal

# Where the server under test answers otherwise on purpose, and what its answer
# is compared with instead.  Nothing else is forgiven.
DIFFERENCES = {
    "unneeded columns":
        "A query that needs no column of the file (count(*), constants) converts nothing, "
        "while file_fdw then converts every column.  Expected: file_fdw over a twin of the "
        "table with all columns text.  Not so with on_error, where every column is converted.",
    "filtered records":
        "Where the scan evaluates a restriction itself, other columns of records that it removes "
        "need not be converted, so their errors may not show.  If file_fdw fails, expected is: "
        "any outcome that stops at the first error of a record that no conjunct removes, or at "
        "the error of a record before it that one does remove; with "
        "parparaw.enable_filter_pushdown off, file_fdw's.",
    "sql_ascii file":
        "A file said to be SQL_ASCII is still checked to be valid in the server encoding.  "
        "Expected: file_fdw with the server encoding as the file's.",
    "context wording":
        "The error context may say more than COPY's (the file's name).  Expected: the same "
        "line number and, for a column's error, the same column name and value.",
    "stale column":
        "With on_error, the context of 18's COPY goes on naming the column and value that caused "
        "the last record to be left out when a later record is broken (encoding, line end, "
        "fields).  Expected: the line number only.",
    "on_error before 18":
        "file_fdw of PostgreSQL 17 and before has no on_error.  Expected: the text twin's rows, "
        "each needed column read by its type's input function, rows that fail left out.  The "
        "twin knows no line numbers for the messages, and it stops at a record that is too "
        "short, though 18 leaves that out if a column before the missing one fails to convert; "
        "there only the rows before it are compared.",
    "table options":
        "The text of an error about table options may differ.  Expected: the same SQLSTATE.",
}


# What makes the planner share the scan of a file of any size.
PARALLEL = {"parallel_setup_cost": 0, "parallel_tuple_cost": 0, "min_parallel_table_scan_size": 0,
            "max_parallel_workers_per_gather": 4}

UNKNOWN_PLACE = "unknown"               # context of an error that the oracle made


class Failure:
    def __init__(self, label, reason, query=None, expected=None, actual=None):
        self.label = label
        self.reason = reason
        self.query = query
        self.expected = expected
        self.actual = actual

    def __str__(self):
        out = "  %s: %s" % (self.label, self.reason)
        if self.query is not None:
            out += "\n    query: %s" % ascii(self.query)
        if self.expected is not None:
            out += "\n    expected: %s\n    actual:   %s" % (self.expected, self.actual)
        return out


def fragment(place):
    """What a context must hold to name the same place as COPY's does."""
    return "line %d%s" % place


def differs(expected, actual):
    """Why two outcomes are not the same, or None."""
    if expected.state != actual.state:
        return "SQLSTATE %s instead of %s" % (actual.state, expected.state)
    if expected.lines != actual.lines:
        if len(expected.lines) != len(actual.lines):
            return "%d rows instead of %d" % (len(actual.lines), len(expected.lines))
        for i, (e, a) in enumerate(zip(expected.lines, actual.lines)):
            if e != a:
                return "row %d is %s instead of %s" % (i + 1, ascii(a)[:300], ascii(e)[:300])
    if expected.state is None:
        return None
    for what in ("message", "detail", "hint"):
        if getattr(expected, what) != getattr(actual, what):
            return "another " + what
    return context_differs(expected, actual)


def context_differs(expected, actual):
    if expected.context == UNKNOWN_PLACE:
        return None
    place = srv.copy_place(expected.context)
    if place is None:                   # an error that names no line
        return "a line number where none is due" if re.search(
            r"\bline \d+", actual.context) and not expected.context else None
    if not re.search(r"\bline %d\b" % place[0], actual.context):
        return "another line number (COPY's is %d)" % place[0]
    if place[1] and fragment(place) not in actual.context:
        return "another column or value in the context"
    # Other context lines (of json, say) come first and must be there too.
    before = expected.context[:expected.context.find("COPY ")]
    if before and before.strip() not in actual.context:
        return "a context line is missing"
    return None


def clipped(value, case, limit=100):
    """A value as messages show it: no more than the limit's bytes, whole characters."""
    data = value.encode("latin-1")
    if len(data) <= limit:
        return value
    data = data[:limit].decode(case.database_codec, "ignore").encode(case.database_codec)
    return data.decode("latin-1") + "..."


def typed_source(columns, codec):
    """A FROM item that reads the columns of the json $1 by their types' input functions."""
    def name(c):
        return to_sql(ident(c.name), codec)

    return "(SELECT %s FROM json_to_record($1) AS p(%s)) AS q" % (
        ", ".join("%s::%s AS %s" % (name(c), c.kind.sql, name(c)) if c.kind.sql in (
            "json", "jsonb") else name(c) for c in columns),
        ", ".join("%s %s" % (name(c), "text" if c.kind.sql in ("json", "jsonb") else c.kind.sql)
                  for c in columns))


class Runner:
    """Runs cases over the databases of a run."""

    def __init__(self, databases, workdir, foreign_server, parallel=False):
        self.parallel = parallel        # all cases in parallel, too
        self.databases = databases
        self.workdir = workdir
        self.foreign_server = foreign_server
        self.self_test = foreign_server != "gpu_csv"    # file_fdw on both sides
        self.version = databases.version
        self.since_vacuum = {}
        self.clean = 0                  # cases without any error
        self.unclean = {}               # the same of cases that were meant to be clean
        self.errors = {}                # SQLSTATE of "all columns" -> number of cases

    # -- one case -----------------------------------------------------------

    def run(self, case):
        """Answers the case's failures."""
        try:
            return self.run_case(case)
        except psycopg2.Error as e:
            s = self.databases.servers[case.database]
            label = "timeout" if isinstance(e, psycopg2.extensions.QueryCanceledError) \
                else "unexpected error"
            try:
                self.clean_up(s)
            except psycopg2.Error:
                label = "lost connection"
                self.databases.reconnect()
                self.clean_up(s)
            return [Failure(label, ascii(str(e)))]

    @staticmethod
    def clean_up(s):
        s.execute("DROP FOREIGN TABLE IF EXISTS t_ref, t_new, t_twin")

    def run_case(self, case):
        s = self.databases.servers[case.database]
        path = self.workdir.file("case.csv", case.data)
        s.take_notices()
        s.execute(self.session_sql(case))
        ref_options, new_options = self.table_options(case, path)
        ref_ddl = case.create("t_ref", "pd_reference", ref_options)
        new_ddl = case.create("t_new", self.foreign_server, new_options)
        case.ddl = [ref_ddl, new_ddl]
        ref_error = s.error(ref_ddl)
        new_error = s.error(new_ddl)
        try:
            if ref_error is not None or new_error is not None:
                return self.compare_ddl(ref_error, new_error)
            return self.compare_queries(case, s, path)
        finally:
            if not s.connection.closed:
                self.clean_up(s)
                self.vacuum(case.database, s)

    def session_sql(self, case):
        levels = self.databases.simd_levels
        case.simd_level = levels[int(case.simd * len(levels))]
        out = ["SET parparaw.simd = " + case.simd_level] if levels != ["auto"] else []
        tagging = ("auto", "record", "inline", "vector")[case.number % 4]
        for name, value in case.settings + [("parparaw.partition_size", case.partition_size),
                                            ("parparaw.cuda_partition_size", case.partition_size),
                                            ("parparaw.cuda_tagging", tagging),
                                            ("parparaw.chunk_size", case.chunk_size),
                                            ("parparaw.enable_filter_pushdown",
                                             "on" if case.filter_pushdown else "off"),
                                            ("parparaw.enable_aggregate_pushdown",
                                             "on" if case.aggregate_pushdown else "off")]:
            if value is None:
                out.append("RESET %s" % name)
            else:
                out.append("SET %s TO %s" % (name, literal(value) if "Style" not in name
                                             else value))
        return ";".join(out)

    def vacuum(self, database, s):
        """Keeps the catalogs short: thousands of tables come and go."""
        n = self.since_vacuum.get(database, 0) + 1
        if n >= 300:
            s.execute("VACUUM pg_class"), s.execute("VACUUM pg_attribute")
            for catalog in ("pg_type", "pg_depend", "pg_foreign_table", "pg_attrdef", "pg_shdepend"):
                s.execute("VACUUM " + catalog)
            n = 0
        self.since_vacuum[database] = n

    def table_options(self, case, path):
        override = {}
        if case.file_encoding == "SQL_ASCII" and case.database != "SQL_ASCII":
            override["encoding"] = case.database        # "sql_ascii file"
        ref_extra = dict(override)
        if self.version >= 18:
            ref_extra.update(case.error_options())
        new_extra = dict(case.error_options())
        if self.self_test:
            new_extra = ref_extra
        return case.options(path, ref_extra), case.options(path, new_extra)

    @staticmethod
    def compare_ddl(ref_error, new_error):
        if ref_error is None:
            return [Failure("create", "refused: %s %s" % (new_error.state, new_error.message))]
        if new_error is None:
            return [Failure("create", "accepted, though file_fdw says: %s %s" % (
                ref_error.state, ref_error.message))]
        if ref_error.state != new_error.state:
            return [Failure("create", "SQLSTATE", None, ref_error, new_error)]
        return []

    # -- queries --------------------------------------------------------------

    @staticmethod
    def show(columns, codec, rename=None, sizes=True):
        expressions = []
        for c in columns:
            name = to_sql(ident(c.name), codec)
            expressions += c.kind.expressions(rename(c, name) if rename else name,
                                              sizes=sizes)
        return "ARRAY[" + ", ".join(expressions) + "]::text[]::text"

    def queries(self, case):
        """Of a case: the query for everything, and (label, query with {t} for the table,
        its restriction or None, the columns it shows) of some others."""
        rng = case.rng
        codec = case.database_codec
        everything = self.show(case.columns, codec)
        out = []
        if case.file_columns:
            some = [c for c in case.columns if rng.random() < 0.4]
            if not any(not c.generated for c in some):
                some = [rng.choice(case.file_columns)]
            if rng.random() < 0.5:
                some.reverse()
            out.append(("projection", "SELECT %s FROM {t}" % self.show(some, codec), None, some))
            for _ in range(2):
                r = Restriction(case)
                out.append(("where", "SELECT %s FROM {t} WHERE %s" % (
                    self.show(some, codec), r.sql), r, some))
            r = rng.random()
            if r < 0.1:
                out.append(("whole row", "SELECT (t.*)::text FROM {t} t", None, None))
            elif r < 0.2:
                out.append(("rescan", "SELECT ARRAY[g::text, s.x]::text FROM "
                            "generate_series(1, 2) g, LATERAL (SELECT %s AS x FROM {t} "
                            "WHERE g > 0 OFFSET 0) s" % everything, None, None))
            elif r < 0.3:
                r = Restriction(case)
                out.append(("filtered count", "SELECT count(*)::text FROM {t} WHERE " + r.sql,
                            r, []))
            elif r < 0.4:
                c = rng.choice(case.file_columns)
                out.append(("aggregate", "SELECT (sum(octet_length((%s)::text)))::text || '/' ||"
                            " count(*)::text FROM {t}" % to_sql(ident(c.name), codec), None, [c]))
            if rng.random() < 0.5:
                a = Aggregates(case)
                r = Restriction(case) if rng.random() < 0.4 else None
                out.append(("aggregates" + (" in file order" if a.ordered else ""),
                            a.sql.replace("{w}", " WHERE " + r.sql if r else ""), r, a.columns))
        return "SELECT %s FROM {t}" % everything, out

    def compare_queries(self, case, s, path):
        if case.on_error == "ignore" and (self.version >= 18 or not self.self_test):
            return self.compare_ignoring(case, s, path)
        failures = []
        everything, others = self.queries(case)
        refs = [everything] + [q for _, q, _, _ in others]
        structural = ["SELECT count(*)::text FROM {t}", "SELECT '1' FROM {t}"]
        expected = s.collect([q.replace("{t}", "t_ref") for q in refs], case.client_encoding)
        first = expected[0]
        has_twin = False
        self.count(case, first)
        if self.self_test:
            expected += s.collect([q.replace("{t}", "t_ref") for q in structural],
                                  case.client_encoding)
        elif first.state is None:
            expected.append(Outcome([str(len(first.lines))], None, None, None, None, None))
            expected.append(Outcome(["1"] * len(first.lines), None, None, None, None, None))
        else:                           # "unneeded columns"
            twin, _ = self.table_options(case, path)
            for key in case.error_options():
                twin.pop(key, None)
            s.execute(case.create("t_twin", "pd_reference", twin, as_text=True))
            has_twin = True
            expected += s.collect([q.replace("{t}", "t_twin") for q in structural],
                                  case.client_encoding)
        good = len(first.lines)
        asked = [("all columns", everything)] + [(label, q) for label, q, _, _ in others]
        filtered = [i for i, o in enumerate(others, 1) if o[2] is not None]
        asked += [("count", structural[0]), ("constant", structural[1])]
        limits = []
        if case.file_columns and (srv.copy_place(first.context) if first.state is not None
                                  else case.rng.random() < 0.3):
            limits.append(good)
            if first.state is None and good > 0:
                limits.append(case.rng.randint(0, good))
        for k in limits:
            asked.append(("limit %d" % k, everything + " LIMIT %d" % k))
            expected.append(Outcome(first.lines[:k], None, None, None, None, None))
        actual = s.collect([q.replace("{t}", "t_new") for _, q in asked], case.client_encoding)
        actual_outcomes = actual
        for i, ((label, q), e, a) in enumerate(zip(asked, expected, actual)):
            if label.startswith("aggregates") and i in filtered and e.state is not None and \
                    case.filter_pushdown:
                continue                # "filtered records", and no rows to see
            reason = differs(e, a)
            if reason and i in filtered and case.filter_pushdown and e.state is not None and \
                    has_twin:
                reason = self.filtered_differs(case, s, *others[i - 1], actual=a)
            if reason:
                failures.append(Failure(label, reason, q, e, a))
        if not self.self_test and filtered and case.filter_pushdown and not failures:
            s.execute("SET parparaw.enable_filter_pushdown = off")
            actual = s.collect([asked[i][1].replace("{t}", "t_new") for i in filtered],
                               case.client_encoding)
            s.execute("SET parparaw.enable_filter_pushdown = on")
            for i, a in zip(filtered, actual):
                reason = differs(expected[i], a)
                if reason:
                    failures.append(Failure(asked[i][0] + " (no pushdown)", reason, asked[i][1],
                                            expected[i], a))
        # The same once more without a cursor: the whole result, or its error.
        if not failures and case.client_encoding is None and case.rng.random() < 0.4:
            failures += self.compare_direct(s, everything, expected[0])
        if not failures and not case.program and case.rng.random() < 0.05:
            failures += self.compare_analyze(case, s)
        if not failures and self.in_parallel(case):
            failures += self.compare_parallel(s, asked, actual_outcomes)
        notices = s.take_notices()
        if notices and not failures:
            failures.append(Failure("notices", "unexpected: " + ascii(notices)))
        return failures

    def filtered_differs(self, case, s, label, query, restriction, shown, actual):
        """The "filtered records" difference: None if the outcome is one of those allowed."""
        codec = case.database_codec
        needed = [c for c in case.columns if c in restriction.columns or c in shown]
        names = [to_sql(c.name, codec) for c in needed]
        row = s.query(
            "SELECT o.states, o.messages, o.removable, o.lines, (o.result).state,"
            " (o.result).message FROM pd_rows(%s, %s::text[], %s::text[], %s, %s::text[],"
            " %s::text[], %s, %s) o",
            ("SELECT %s FROM t_twin" % ", ".join(
                to_sql(ident(c.name), codec) for c in needed),
             names, [typed_source([c], codec) for c in needed], typed_source(needed, codec),
             [text for _, text in restriction.conjuncts],
             [to_sql(c.name, codec) for c, _ in restriction.conjuncts],
             self.show(shown, codec, sizes=False) if shown else "'1'::text",
             case.client_encoding))[0]
        states, messages, removable, lines, end_state, end_message = row
        # sizes differ in records that have been packed, so they are not looked at here
        actual_lines = actual.lines
        sizes = [i for i, is_size in enumerate(
            is_size for c in shown for is_size in c.kind.is_size()) if is_size]
        if sizes and actual_lines:
            actual_lines = [row[0] for row in s.query(
                "SELECT ARRAY(SELECT e FROM unnest(l::text[]) WITH ORDINALITY AS u(e, n)"
                " WHERE n - 1 <> ALL (%s) ORDER BY n)::text FROM unnest(%s::text[])"
                " WITH ORDINALITY AS v(l, m) ORDER BY m", (sizes, actual_lines))]
        got = []
        allowed = []
        for state, message, removed, line in zip(states or (), messages or (), removable or (),
                                                 lines or ()):
            if state is not None:
                allowed.append((list(got), state, message))
                if not removed:
                    break
            elif line is not None:
                got.append(line)
        else:
            allowed.append((list(got), end_state, end_message))
        if label == "filtered count":
            allowed = [([str(len(g))] if state is None else [], state, message)
                       for g, state, message in allowed]
        for g, state, message in allowed:
            # of a record that is too short the twin cannot read the fields before the end,
            # one of which may be the error
            if g == actual_lines and ((state, message) == (actual.state, actual.message) or
                                      (message or "").startswith("missing data for column")
                                      and actual.state is not None):
                return None
        return "none of the %d outcomes allowed for filtered records, such as %s" % (
            len(allowed), ascii(allowed[-1])[:300])

    @staticmethod
    def compare_analyze(case, s):
        """ANALYZE sees the same rows, or the same error (all rows are drawn here)."""
        if case.client_encoding is not None or not case.columns or case.marker is not None:
            return []           # file_fdw cannot ANALYZE a table with DEFAULT markers
        ends = []
        for table in ("t_ref", "t_new"):
            error = s.error("ANALYZE " + table)
            if error is not None:
                ends.append(error)
                continue
            rows = s.query("SELECT reltuples::text FROM pg_class WHERE oid = '%s'::regclass"
                           % table)
            stats = s.query("SELECT concat_ws('/', attname, null_frac, avg_width, n_distinct,"
                            " most_common_vals, histogram_bounds) FROM pg_stats"
                            " WHERE tablename = '%s' ORDER BY 1" % table)
            ends.append(Outcome([r[0] for r in rows + stats], None, None, None, None, None))
        reason = differs(ends[0], ends[1])
        return [Failure("analyze", reason, "ANALYZE", ends[0], ends[1])] if reason else []

    def compare_direct(self, s, query, expected):
        try:
            lines = [row[0] for row in s.query(query.replace("{t}", "t_new"))]
            actual = Outcome(lines, None, None, None, None, None)
        except (psycopg2.OperationalError, psycopg2.InterfaceError):
            raise
        except psycopg2.Error as e:
            actual = srv.outcome_from_error(e)
            expected = Outcome([], expected.state, expected.message, expected.detail,
                               expected.hint, expected.context)
        reason = differs(expected, actual)
        return [Failure("without a cursor", reason, query, expected, actual)] if reason else []

    def in_parallel(self, case):
        return case.client_encoding is None and not case.program and not self.self_test and \
            (self.parallel or case.parallel)

    @staticmethod
    def compare_parallel(s, asked, serial):
        """Several processes that share a scan answer what one alone does, in any order."""
        failures = []
        s.execute(";".join("SET %s = %s" % p for p in PARALLEL.items()))
        for (label, query), expected in zip(asked, serial):
            if label.startswith("limit") or label == "aggregates in file order":
                continue
            try:
                lines = sorted(row[0] for row in s.query(query.replace("{t}", "t_new")))
                actual = Outcome(lines, None, None, None, None, None)
                same = expected.state is None and sorted(expected.lines) == lines
            except (psycopg2.OperationalError, psycopg2.InterfaceError):
                raise
            except psycopg2.Error as e:
                actual = srv.outcome_from_error(e)
                same = all(getattr(expected, what) == getattr(actual, what)
                           for what in ("state", "message", "detail", "hint")) and \
                    re.findall(r"\bline \d+", expected.context) == \
                    re.findall(r"\bline \d+", actual.context)
            if not same:
                failures.append(Failure(label + " (parallel)", "not as serially", query,
                                        expected, actual))
        s.execute(";".join("RESET %s" % name for name in PARALLEL))
        return failures

    def count(self, case, outcome):
        if outcome.state is None:
            self.clean += 1
        else:
            if case.mode == "clean":
                self.unclean.setdefault(outcome.state, []).append(case.number)
            self.errors[outcome.state] = self.errors.get(outcome.state, 0) + 1

    # -- on_error -------------------------------------------------------------

    def compare_ignoring(self, case, s, path):
        failures = []
        columns = case.file_columns
        codec = case.database_codec
        sizes = self.version >= 18      # the oracle's rows have been packed
        asked = [("all columns", "SELECT %s FROM {t}" % self.show(
            case.columns, codec, sizes=sizes), columns)]
        if columns:
            some = [c for c in columns if case.rng.random() < 0.5] or [columns[0]]
            asked.append(("projection", "SELECT %s FROM {t}" % self.show(
                some, codec, sizes=sizes), some))
        asked.append(("count", "SELECT count(*)::text FROM {t}", columns))
        asked.append(("constant", "SELECT '1' FROM {t}", columns))
        if self.version < 18:           # "on_error before 18"
            twin, _ = self.table_options(case, path)
            for key in case.error_options():
                twin.pop(key, None)
            s.execute(case.create("t_twin", "pd_reference", twin, as_text=True))
        for label, query, needed in asked:
            s.take_notices()
            if self.version >= 18:
                expected = s.collect([query.replace("{t}", "t_ref")], case.client_encoding)[0]
                wanted = s.take_notices()
            else:
                expected, wanted = self.oracle(case, s, label, needed)
                s.take_notices()
            if label == "all columns":
                self.count(case, expected)
            actual = s.collect([query.replace("{t}", "t_new")], case.client_encoding)[0]
            given = s.take_notices()
            if self.version < 18 and expected.message and \
                    expected.message.startswith("missing data for column"):
                reason = None if label == "count" or \
                    actual.lines[:len(expected.lines)] == expected.lines else "other rows"
            else:
                if expected.state in ("22021", "22P04", "22P05"):       # "stale column"
                    expected.context = re.sub(r"(?s)^(COPY [^,]+, line \d+), column .*", r"\1",
                                              expected.context)
                reason = differs(expected, actual) or self.notices_differ(wanted, given)
            if reason:
                failures.append(Failure(label + " (on_error)", reason, query, expected, actual))
            elif self.in_parallel(case):
                failures += self.compare_parallel(s, [(label, query)], [actual])
        return failures

    def notices_differ(self, wanted, given):
        if self.version < 18:           # the oracle knows no line numbers
            given = [re.sub(r"at line \d+ ", "", n) for n in given]
        if wanted != given:
            return "notices %s instead of %s" % (ascii(given), ascii(wanted))
        return None

    def oracle(self, case, s, label, needed):
        codec = case.database_codec

        def as_typed(column, name):
            return "%s::%s" % (name, column.kind.sql) if column.kind.sql in ("json", "jsonb") \
                else name

        shown = case.columns if label == "all columns" else needed
        text = self.show([c for c in shown if not c.generated], codec, as_typed,
                         sizes=False)
        if label == "all columns" and any(c.generated for c in case.columns):
            parts = []
            for c in case.columns:
                name = to_sql(ident(c.name), codec)
                parts += ["NULL::text"] if c.generated else \
                    c.kind.expressions(as_typed(c, name), sizes=False)
            text = "ARRAY[" + ", ".join(parts) + "]::text[]::text"
        elif label in ("count", "constant"):
            text = "'1'::text"
        names = [to_sql(c.name, codec) for c in needed]
        row = s.query(
            "SELECT (o.result).lines, (o.result).state, (o.result).message, (o.result).detail,"
            " (o.result).hint, (o.result).context, o.skipped FROM pd_oracle(%s, %s::text[],"
            " %s::text[], %s, %s, %s) o",
            ("SELECT %s FROM t_twin" % (", ".join(to_sql(ident(c.name), codec) for c in needed)
                                        or "1 AS one"),
             names, [c.kind.sql for c in needed], text, case.reject_limit,
             case.client_encoding))[0]
        expected = Outcome(*row[:6])
        skipped = row[6]
        if expected.state is not None and not expected.context:
            expected.context = UNKNOWN_PLACE
        if label == "count" and expected.state is None:
            expected.lines = [str(len(expected.lines))]
        elif label == "count":
            expected.lines = []
        return expected, self.expected_notices(case, skipped, expected, names)

    @staticmethod
    def expected_notices(case, skipped, expected, names):
        out = []
        if case.log_verbosity == "verbose":
            for entry in skipped:
                name = next(n for n in sorted(names, key=len, reverse=True)
                            if entry.startswith(n + ":"))
                value = entry[len(name) + 1:]
                if value.startswith('"'):
                    value = '"' + clipped(value[1:-1], case) + '"'
                out.append("NOTICE:  skipping row due to data type incompatibility for column "
                           "\"%s\": %s" % (name, value))
        if expected.state is None and skipped and case.log_verbosity != "silent":
            n = len(skipped)
            out.append("NOTICE:  %d row%s skipped due to data type incompatibility" % (
                n, " was" if n == 1 else "s were"))
        return [n.split("\n", 1)[0] for n in out]
