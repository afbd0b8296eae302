"""Restrictions (WHERE conditions) of generated queries.

Owns: conjuncts over one column each, of the kinds that a scan may evaluate
itself (comparisons with constants of the same and of related types, on either
side, LIKE prefixes, boolean and NULL tests) and of kinds that it may not.

Must not: know which of them a scan takes.
"""

from generate import to_sql
from server import ident, literal

OPERATORS = ("=", "<>", "<", "<=", ">", ">=")

# Types whose constants a column is compared with, beside its own.
RELATED = {
    "int2": ("int4", "int8", "numeric", "float8"), "int4": ("int2", "int8", "numeric", "float8"),
    "int8": ("int2", "int4", "numeric", "float4"), "float4": ("float8", "int4", "numeric"),
    "float8": ("float4", "int8", "numeric"), "numeric": ("int4", "float8"),
    "date": ("timestamp", "timestamptz"), "timestamp": ("date", "timestamptz"),
    "timestamptz": ("date", "timestamp"), "text": ("varchar", "name", "bpchar"),
    "varchar": ("text", "name"), "bpchar": ("text", "varchar"), "name": ("text", "bpchar"),
}
NUMBERS = {"int2": ("0", "-1", "7", "32767"), "int4": ("0", "100", "-5", "2147483647"),
           "int8": ("0", "1", "9223372036854775807"), "numeric": ("0", "0.5", "NaN", "1e10", "-1"),
           "float4": ("0", "0.1", "NaN", "-Infinity"), "float8": ("0", "0.1", "NaN", "Infinity"),
           "date": ("2000-01-01", "infinity", "-infinity", "5874897-12-31", "4713-01-01 BC"),
           "timestamp": ("2000-01-01 00:00:00", "infinity", "4713-11-25 00:00:00 BC"),
           "timestamptz": ("2000-01-01 00:00:00+00", "-infinity", "2019-03-10 02:30:00"),
           "text": ("", "a", "B"), "varchar": ("", "b"), "name": ("x", ""), "bpchar": ("", "a ")}


class Restriction:
    """One or two conjuncts; sql is the whole condition."""

    def __init__(self, case):
        self.rng = case.rng
        self.case = case
        self.conjuncts = []         # (column, text)
        for _ in range(self.rng.choice((1, 1, 1, 2))):
            column = self.rng.choice(case.columns)
            self.conjuncts.append((column, self.conjunct(column)))
        if all(c.generated for c, _ in self.conjuncts):
            column = self.rng.choice(case.file_columns)
            self.conjuncts.append((column, self.conjunct(column)))
        self.columns = [c for c, _ in self.conjuncts]
        self.sql = " AND ".join("(%s)" % text for _, text in self.conjuncts)

    def constant(self, column, sql_type=None):
        """A good constant as SQL, of the column's type or another one."""
        rng = self.rng
        if sql_type is not None:
            return "%s::%s" % (literal(rng.choice(NUMBERS[sql_type])), sql_type)
        for _ in range(5):
            text = rng.choice(column.seen) if column.seen and rng.random() < 0.6 else \
                column.kind.valid(rng, self.case.context)
            if text.isascii():
                break
        else:
            text = column.kind.valid(rng, self.case.context)
            text = "".join(c for c in text if c < "\x80")
        # without a length, so that the constant is not cut
        return "%s::%s" % (literal(text), column.kind.sql.split("(")[0] if
                           column.kind.sql != "bit(3)" else column.kind.sql)

    def conjunct(self, column):
        rng = self.rng
        kind = column.kind
        name = to_sql(ident(column.name), self.case.database_codec)
        base = kind.sql.split("(")[0].replace("char", "bpchar") if kind.sql.startswith("char(") \
            else kind.sql.split("(")[0]
        r = rng.random()
        if r < 0.1 or column.generated:
            return rng.choice(("%s IS NULL", "%s IS NOT NULL", "%s IS NOT NULL")) % name
        if base == "bool" and r < 0.6:
            return rng.choice(("%s", "NOT %s", "%s IS TRUE", "%s IS FALSE", "%s IS NOT TRUE",
                               "%s IS UNKNOWN", "%s = true", "%s <> false", "%s < true")) % name
        if base in ("text", "varchar", "bpchar", "name") and r < 0.35:
            return "%s %s" % (name, rng.choice((
                "LIKE 'a%'", "LIKE 'x'", "LIKE ''", "LIKE '%'", "LIKE ' %'", "LIKE '_a%'",
                "NOT LIKE 'b%'", "LIKE '%z'", "LIKE 'a\\%%'", "ILIKE 'A%'", "LIKE '''%'",
                "LIKE E'\\n%'", "= '' COLLATE \"C\"", "> 'a' COLLATE \"POSIX\"", "~ '^a'")))
        if kind.native and r < 0.75:
            constant = self.constant(column) if r < 0.6 or base not in RELATED else \
                self.constant(column, rng.choice(RELATED[base]))
            op = rng.choice(OPERATORS)
            q = rng.random()
            if q < 0.15:
                return "%s %s %s" % (constant, op, name)
            if q < 0.2:
                return "%s IS %sDISTINCT FROM %s" % (name, rng.choice(("", "NOT ")), constant)
            if q < 0.27:
                return "%s IN (%s, %s)" % (name, self.constant(column), self.constant(column))
            if q < 0.32:
                return "%s NOT IN (%s, NULL)" % (name, self.constant(column))
            if q < 0.37:
                return "%s = NULL::%s" % (name, base)
            if q < 0.42:
                return "%s %s (SELECT %s)" % (name, op, constant)
            return "%s %s %s" % (name, op, constant)
        if base in ("date", "timestamptz", "timestamp") and r < 0.85:
            return "%s %s %s" % (name, rng.choice(OPERATORS), rng.choice((
                "current_date", "now() - interval '100 years'", "localtimestamp")))
        if not kind.native and kind.sortable and r < 0.5:
            return "%s %s %s" % (name, rng.choice(OPERATORS), self.constant(column))
        return "(%s)::text %s" % (name, rng.choice(
            ("LIKE '%1%'", "> 'a'", "= ''", "<> 'x'", "LIKE E'%\\n%'", "~ '^.{0,3}$'")))
