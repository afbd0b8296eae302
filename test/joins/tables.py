"""Small generated relations for tests of cyclic joins.

Owns: key types and their values, what kinds of relation there are (heaps,
partitioned tables, views, files ...), and the schema that holds the tables of
one world.

Must not: know anything about queries or about joins.
"""

import json
import random

# name -> (types that its columns may have, whether equal values may look
# different).  Values are made by value().
FAMILIES = {
    "int": (("int2", "int4", "int8", "pj_small"), False),
    "int8": (("int8",), False),
    "oid": (("oid",), False),
    "uuid": (("uuid",), False),
    "date": (("date",), False),
    "timestamp": (("timestamp",), False),
    "timestamptz": (("timestamptz",), False),
    "time": (("time",), False),
    "money": (("money",), False),
    "text": (("text", "varchar(40)"), False),
    "text_c": (('text COLLATE "C"', 'varchar COLLATE "C"'), False),
    "text_domain": (("pj_word", "text"), False),
    "name": (("name",), False),
    "bytea": (("bytea",), False),
    "bool": (("bool",), False),
    "char": (('"char"',), False),
    "enum": (("pj_colour",), False),
    "inet": (("inet",), False),
    "macaddr": (("macaddr",), False),
    # of any number of keys, for worlds that do not fit the least work_mem
    "wide_int": (("int4", "int8"), False),
    "wide_text": (("text",), False),
    # equal values of these may have different images
    "numeric": (("numeric", "numeric"), True),
    "float": (("float4", "float8"), True),
    "float8": (("float8",), True),
    "bpchar": (("char(6)", "char(9)"), True),
    "interval": (("interval",), True),
    "jsonb": (("jsonb",), True),
    "text_ci": (('text COLLATE pj_ci',), True),
    "array": (("int4[]",), True),
    # members of one class have different types
    "when": (("date", "timestamp", "timestamptz"), True),
    "number": (("int4", "numeric", "int8"), True),
}
WIDE = ("wide_int", "wide_int", "wide_int", "wide_text")
WEIGHTED = ("int",) * 10 + ("int8",) * 5 + ("text",) * 3 + tuple(
    f for f in FAMILIES if f not in WIDE)

# What a table of the catalog can be.
KINDS = ("heap", "heap", "heap", "indexed", "indexed", "hash", "range", "attached", "inherited",
         "view", "barrier", "materialized", "file", "file", "unlogged", "dropped")
FORMATS = ("csv", "ndjson", "json")
NUMBERS = ("int2", "int4", "int8", "oid")       # types whose values may stand unquoted in JSON

SETUP = """
CREATE DOMAIN pj_small AS int4 CHECK (VALUE > -2000000000);
CREATE DOMAIN pj_word AS text;
CREATE TYPE pj_colour AS ENUM ('red', 'green', 'blue', 'white', 'black', 'pink', 'grey', 'brown',
    'lime', 'teal', 'navy', 'gold', 'rose', 'plum', 'sand', 'rust');
ALTER TYPE pj_colour ADD VALUE 'amber' BEFORE 'green';
"""
SETUP_ICU = """
CREATE COLLATION pj_ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
"""

COLOURS = ("red", "green", "blue", "white", "black", "pink", "grey", "brown", "lime", "teal",
           "navy", "gold", "rose", "plum", "sand", "amber")


def value(family, i, rng, style):
    """The text of the i-th key of a family (0 to 15, of WIDE any); style is the world's."""
    if family in ("int", "int8"):
        if style == 1:
            return str(i * 1999 - 15000)
        if style == 2 and family == "int8":
            return str((i - 7) * 1152921504606846975)
        return str(i)
    if family == "oid":
        return str(i * 286331153 if style else i)
    if family == "uuid":
        return "%08x-0000-4000-8000-%012x" % (i * 7 if style else 0, i)
    if family == "date":
        return ("infinity", "-infinity", "4713-01-01 BC")[i] if style == 1 and i < 3 else \
            "2024-02-%02d" % (i + 1)
    if family in ("timestamp", "timestamptz"):
        return ("infinity", "-infinity")[i] if style == 1 and i < 2 else \
            "2024-03-10 %02d:00:00.%06d" % (i, i)
    if family == "time":
        return "24:00:00" if i == 0 else "%02d:30:00" % i
    if family == "money":
        return "%d.25" % (i - 4)
    if family in ("text", "text_c", "text_domain"):
        return ("", "a", "A", "a ", "\u00e9", "ab", "b", "B", "long " * 7, "z", "zz", "1", "10",
                "2", " ", "\u6f22")[i]
    if family == "name":
        return "n%d" % i
    if family == "bytea":
        return ("\\x", "\\x00", "\\x0000", "\\xff", "\\xff00")[i] if i < 5 else "\\x%02x" % i
    if family == "bool":
        return "ft"[i % 2]
    if family == "char":
        return "abcdefghijklmnop"[i]
    if family == "enum":
        return COLOURS[i]
    if family == "inet":
        return "10.0.%d.0/%d" % (i // 2, 24 + i % 2)
    if family == "macaddr":
        return "08:00:2b:01:02:%02x" % i
    if family == "numeric":
        return "%d%s" % (i - 3, rng.choice(("", ".0", ".00", ".000")))
    if family in ("float", "float8"):
        return rng.choice(("0", "-0")) if i == 0 else "NaN" if i == 1 and style else str(i * 0.5)
    if family == "bpchar":
        return "abcdefghijklmnop"[i] + " " * rng.randrange(4)
    if family == "interval":
        return rng.choice(("%d days" % i, "%d hours" % (24 * i)))
    if family == "jsonb":
        return rng.choice(("%d", "%d.0", "%d.00")) % i
    if family == "text_ci":
        return rng.choice(("k%d", "K%d")) % i
    if family == "array":
        return "{%d,%d}" % (i, i)
    if family == "when":
        return "2024-02-%02d" % (i + 1)
    if family == "number":
        return str(i)
    if family == "wide_int":
        return str(i * 7 - 1000)
    if family == "wide_text":
        return "key %d" % i
    raise AssertionError(family)


def literal(text):
    if text is None:
        return "NULL"
    if "\\" in text:
        return " E'%s'" % text.replace("\\", "\\\\").replace("'", "''")
    return "'%s'" % text.replace("'", "''")


class Table:
    """Columns k1 and k2 are keys of the world's first family, k3 and k4 of its
    second; w and s are payload, x is dropped from some."""

    def __init__(self, world, number, rng):
        self.name = "t%d" % number
        self.kind = rng.choice(KINDS)
        if self.kind == "file" and not world.folder:
            self.kind = "heap"
        self.types = [rng.choice(FAMILIES[world.families[i // 2]][0]) for i in range(4)]
        self.rows = []
        self.size = rng.choice((0, 1, 5, 12, 20, 30, 30, 40, 60))
        self.size = min(self.size, world.domain * world.domain)
        if world.wide:
            self.size = rng.randrange(2500, 6000)
        skew = 0 if world.wide else rng.choice((0, 0, 1, 2))
        nulls = rng.choice((0, 0, 0.1, 0.4))
        loops = rng.choice((0, 0, 0.2))
        ordered = rng.random() < 0.2        # k1 < k2, as of edges stored once
        both = rng.random() < 0.15          # each edge both ways
        distinct = rng.random() < 0.3

        def key():
            x = rng.random()
            return int(world.domain * (x if skew == 0 else x ** (1 + skew)))

        seen = set()
        while len(self.rows) < self.size:
            pair = [key(), key()]
            if rng.random() < loops:
                pair[1] = pair[0]
            if ordered:
                pair.sort()
                if pair[0] == pair[1]:
                    pair[1] = pair[0] + 1
            keys = pair + [key(), key()]
            if tuple(pair) in seen and distinct and len(seen) < world.domain:
                continue
            seen.add(tuple(pair))
            for flip in range(2 if both else 1):
                if flip:
                    keys = [keys[1], keys[0], keys[3], keys[2]]
                row = []
                for column, k in enumerate(keys):
                    if rng.random() < nulls:
                        row.append(None)
                    else:
                        row.append(value(world.families[column // 2],
                                         k if world.wide else min(k, 15), rng,
                                         world.style))
                row.append(None if rng.random() < 0.05 else str(rng.randrange(10)))
                row.append(None if rng.random() < 0.05 else "s%d" % rng.randrange(6))
                self.rows.append(row)
        if self.rows and rng.random() < 0.3:        # duplicates of whole rows
            self.rows += [rng.choice(self.rows) for _ in range(rng.randrange(1, 6))]
        self.index_both = rng.random() < 0.5
        self.analyzed = rng.random() < 0.7
        self.format = rng.choice(FORMATS)
        self.quoted = rng.random() < 0.3    # in JSON, numbers are strings, too

    def columns(self):
        return ", ".join("k%d %s" % (i + 1, t) for i, t in enumerate(self.types)) + \
            ", w int4, s text"

    def ddl(self, folder):
        """Statements that make it; those of a file write the file, too."""
        out = []
        name = self.name
        base = name
        columns = self.columns()
        if self.kind in ("view", "barrier", "materialized"):
            base = name + "_base"
        if self.kind == "dropped":
            columns = "k1 %s, x text, k2 %s, k3 %s, y int8, k4 %s, w int4, s text" % tuple(self.types)
        if self.kind == "file":
            path = "%s/%s.%s" % (folder, name, self.format)
            with open(path, "w", encoding="utf-8") as f:
                f.write(self.text())
            return ["CREATE FOREIGN TABLE %s (%s) SERVER gpu_csv OPTIONS (format '%s',"
                    " filename '%s')" % (name, columns, self.format, path)]
        if self.kind == "hash":
            out.append("CREATE TABLE %s (%s) PARTITION BY HASH (w)" % (base, columns))
            out += ["CREATE TABLE %s_p%d PARTITION OF %s FOR VALUES WITH (MODULUS 3, REMAINDER %d)"
                    % (base, i, base, i) for i in range(3)]
        elif self.kind == "attached":
            # a partition whose columns stand in another order, alone if others are pruned
            out.append("CREATE TABLE %s (%s) PARTITION BY LIST ((w IS NULL))" % (base, columns))
            out.append("CREATE TABLE %s_p1 (s text, x int8, k4 %s, k3 %s, w int4, k2 %s, k1 %s)"
                       % ((base,) + tuple(reversed(self.types))))
            out.append("ALTER TABLE %s_p1 DROP COLUMN x" % base)
            out.append("ALTER TABLE %s ATTACH PARTITION %s_p1 FOR VALUES IN (false, true)"
                       % (base, base))
        elif self.kind == "range":
            out.append("CREATE TABLE %s (%s) PARTITION BY RANGE (w)" % (base, columns))
            out.append("CREATE TABLE %s_p1 PARTITION OF %s FOR VALUES FROM (0) TO (5)"
                       % (base, base))
            out.append("CREATE TABLE %s_p2 PARTITION OF %s DEFAULT" % (base, base))
        else:
            out.append("CREATE %sTABLE %s (%s)" % (
                "UNLOGGED " if self.kind == "unlogged" else "", base, columns))
        if self.kind == "dropped":
            out.append("ALTER TABLE %s DROP COLUMN x" % base)
            out.append("ALTER TABLE %s DROP COLUMN y" % base)
        rows = self.rows
        if self.kind == "inherited":
            out.append("CREATE TABLE %s_child (extra int) INHERITS (%s)" % (base, base))
            half = len(rows) // 2
            if rows[half:]:
                out.append("INSERT INTO %s_child (k1, k2, k3, k4, w, s) VALUES %s" % (
                    base, self.values(rows[half:])))
            rows = rows[:half]
        if rows:
            out.append("INSERT INTO %s VALUES %s" % (base, self.values(rows)))
        if self.kind == "indexed":
            out.append("CREATE INDEX ON %s (k1, k2)" % base)
            if self.index_both:
                out.append("CREATE INDEX ON %s (k2, k1)" % base)
        if self.kind in ("view", "barrier"):
            out.append("CREATE VIEW %s%s AS SELECT * FROM %s WHERE w IS DISTINCT FROM 3" % (
                name, " WITH (security_barrier)" if self.kind == "barrier" else "", base))
        elif self.kind == "materialized":
            out.append("CREATE MATERIALIZED VIEW %s AS SELECT * FROM %s" % (name, base))
        if self.analyzed and self.kind not in ("view", "barrier"):
            out.append("ANALYZE %s" % name)
        return out

    def text(self):
        """The rows as a file of the table's format has them."""
        if self.format == "csv":
            return "".join(",".join("" if v is None else '"%s"' % v.replace('"', '""')
                                    for v in row) + "\n" for row in self.rows)
        names = ("k1", "k2", "k3", "k4", "w", "s")
        types = self.types + ["int4", "text"]
        records = [json.dumps({
            n: v if v is None or self.quoted or t not in NUMBERS else int(v)
            for n, t, v in zip(names, types, row)}) for row in self.rows]
        if self.format == "json":
            return "[" + ",\n".join(records) + "]\n"
        return "".join(r + "\n" for r in records)

    @staticmethod
    def values(rows):
        return ", ".join("(%s)" % ", ".join(map(literal, row)) for row in rows)


class World:
    """Tables that a number of cases ask; made from seed and number alone."""

    def __init__(self, seed, number, folder, icu):
        rng = random.Random("%s world %d" % (seed, number))
        self.number = number
        self.folder = folder
        self.style = rng.randrange(3)
        choice = [f for f in WEIGHTED if icu or f != "text_ci"]
        first = rng.choice(choice)
        self.families = (first, rng.choice(choice) if rng.random() < 0.5 else first)
        self.domain = rng.choice((2, 3, 4, 6, 8, 8, 12, 16))
        self.wide = rng.random() < 0.12
        if self.wide:
            self.families = (rng.choice(WIDE), rng.choice(WIDE))
            self.domain = rng.randrange(900, 2000)
        self.tables = [Table(self, i, rng) for i in range(rng.choice((1, 2, 3, 4)))]

    def ambiguous(self, column):
        return FAMILIES[self.families[column // 2]][1]

    def ddl(self):
        out = []
        for table in self.tables:
            out += table.ddl(self.folder)
        return out
