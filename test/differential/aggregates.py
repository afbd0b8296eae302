"""Aggregates of generated queries.

Owns: queries over a case's columns, of the kinds that a scan may compute
itself (count, sum, avg, min, max; with up to two plain grouping columns).

Must not: know which of them a scan takes.
"""

from generate import to_sql
from server import ident

INTEGERS = ("int2", "int4", "int8")
FLOATS = ("float4", "float8")
TIMES = ("date", "time", "timestamp", "timestamptz")
TEXTS = ("text", "varchar", "bpchar")
KEYS = INTEGERS + TIMES + ("bool", "uuid", "text", "varchar", "name", "bytea")


class Aggregates:
    """One query; sql has {t} for the table and {w} for " WHERE ..." or nothing."""

    def __init__(self, case):
        rng = case.rng
        # whether the answer depends on the order of rows: float sums, and the
        # last of values that are equal but do not look so
        self.ordered = False
        self.columns = []           # that it looks at
        self.codec = case.database_codec
        shown = ["count(*)"] if rng.random() < 0.6 else []
        for _ in range(rng.choice((1, 1, 2, 3, 5))):
            shown.append(self.aggregate(rng, rng.choice(case.file_columns)))
        keys = []
        if rng.random() < 0.4:
            columns = [c for c in case.file_columns if self.base(c) in KEYS]
            rng.shuffle(columns)
            keys = columns[:rng.choice((1, 1, 2))]
            self.columns += keys
        keys = [self.name(c) for c in keys]
        if not keys and case.mode != "clean" and not any(
                e.startswith(("count", "sum", "avg")) for e in shown):
            # core stops at the first row where min(x) or max(x) is all that is asked for
            # and a restriction says what x is, so that it meets no error behind that
            shown.append("count(*)")
        row = "ARRAY[%s]::text" % ", ".join("(%s)::text" % e for e in keys + shown)
        if keys:                    # groups come in any order
            self.sql = ("SELECT coalesce(string_agg(x, '|' ORDER BY x COLLATE \"C\"), '')"
                        " FROM (SELECT %s AS x FROM {t}{w} GROUP BY %s) AS s" % (
                            row, ", ".join(keys)))
        else:
            self.sql = "SELECT %s FROM {t}{w}" % row

    def name(self, column):
        return to_sql(ident(column.name), self.codec)

    @staticmethod
    def base(column):
        base = column.kind.sql.split("(")[0]
        return "bpchar" if base == "char" else base

    def aggregate(self, rng, column):
        base = self.base(column)
        name = self.name(column)
        self.columns.append(column)
        functions = ["count"]
        if base in INTEGERS + FLOATS + ("numeric",):
            functions += ["sum", "avg", "min", "max"] * 2
        elif base in TIMES + TEXTS:
            functions += ["min", "max"] * 2
        function = rng.choice(functions)
        if function != "count" and (base in FLOATS or function in ("min", "max") and
                                    base in ("numeric", "bpchar")):
            self.ordered = True
        return "%s(%s)" % (function, name)
