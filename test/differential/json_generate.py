"""Generated tables and files of JSON lines.

Owns: columns with their types and options, records with values that mostly
suit them, and the ways in which lines are bad.  A case is made from the seed
and its number alone.

Must not: talk to a server, or say what anything is expected to give.
"""

import json
import random
import re

# More than server.py has: a composite's domain, an array's, and a nested one.
TYPES = """
CREATE DOMAIN pd_pair_checked AS pd_pair CHECK ((VALUE).a > 0);
CREATE DOMAIN pd_pair_required AS pd_pair NOT NULL;
CREATE DOMAIN pd_ints AS int[] CHECK (cardinality(VALUE) < 4);
CREATE TYPE pd_nested AS (p pd_pair, list pd_pair[], note jsonb, d pd_positive);
CREATE TYPE pd_deep AS (n pd_nested, "a.b" json, "B" pd_mood, days date[], c pd_pair_checked, x int4range);
CREATE TYPE pd_nothing AS ("no such key" int);
"""

CHARACTERS = ["a", "b", "Z", "0", " ", ",", ":", "{", "}", "[", "]", "'", "/", "\\", '"', "\n",
              "\t", "\r", "\b", "\f", "\x01", "\x7f", "\xe9", "\u20ac", "\u65e5", "\U0001f600",
              "\u2028", "\ufeff"]
KEYS = ["a", "b", "id", "key", "value", "geo", "a.b", "x[0]", 'say "hi"', "\xe9", "\u65e5",
        "back\\slash", "", "A", "null", "a_rather_long_key_of_more_than_sixteen_bytes",
        "a_rather_long_key_of_more_than_sixteen_bytez"]


class Value:
    """Makes JSON texts; r is the case's random.Random."""

    def __init__(self, r, faulty):
        self.r = r
        self.faulty = faulty
        self.breaks = []            # white space that lines cannot hold

    def space(self):
        return self.r.choice(["", "", "", "", " ", "  ", "\t", " \r "] + self.breaks)

    def string(self, s):
        """s as JSON, each character written in one of its ways."""
        out = []
        for c in s:
            ways = []
            if c >= " " and c not in '"\\':
                ways += [c] * 6
            if c in '"\\/':
                ways += ["\\" + c] * 3
            if c in "\n\t\r\b\f":
                ways += ["\\" + {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f"}[c]] * 3
            units = c.encode("utf-16-be")
            code = "".join("\\u%02x%02x" % (units[i], units[i + 1]) for i in range(0, len(units), 2))
            ways.append(code if self.r.random() < 0.5 else code.upper().replace("\\U", "\\u"))
            out.append(self.r.choice(ways))
        return '"' + "".join(out) + '"'

    def text(self, longest=12):
        r = self.r
        if r.random() < 0.03:
            longest = r.choice([40, 200, 5000])
        if r.random() < 0.5:
            return "".join(r.choice("abcdefgh xyz") for _ in range(r.randint(0, longest)))
        return "".join(r.choice(CHARACTERS) for _ in range(r.randint(0, longest)))

    def number(self):
        r = self.r
        return r.choice([
            "0", "-0", "1", "-1", "42", "1.5", "-2.25", "1e3", "1E-2", "1.0e+5", "0.1", "32768",
            "2147483648", "9223372036854775807", "9223372036854775808", "1e400", "1e-400",
            "123456789012345678901234567890", str(r.randint(-10**6, 10**6)),
            "%d.%02d" % (r.randint(-9999, 9999), r.randint(0, 99)), repr(r.random())])

    def array(self, items):
        return "[" + self.space() + ("," + self.space()).join(
            i + self.space() for i in items) + "]"

    def object(self, pairs):
        """pairs: key and text."""
        return "{" + self.space() + ("," + self.space()).join(
            self.string(k) + self.space() + ":" + self.space() + v + self.space()
            for k, v in pairs) + "}"

    def any(self, depth=0):
        r = self.r
        kind = r.randint(0, 8 if depth < 4 else 5)
        if kind <= 1:
            return self.string(self.text())
        if kind <= 3:
            return self.number()
        if kind <= 5:
            return r.choice(["true", "false", "null"])
        if kind <= 7:
            return self.object([(r.choice(KEYS), self.any(depth + 1))
                                for _ in range(r.randint(0, 3))])
        return self.array([self.any(depth + 1) for _ in range(r.randint(0, 3))])

    def either(self, s):
        """A number or word, as such or as a string."""
        return s if self.r.random() < 0.7 else self.string(s)

    def of(self, name):
        """A text that the type takes, or mostly does."""
        r = self.r
        if name.endswith("[]"):
            base = name[:-2]
            if r.random() < 0.1:
                return '"{}"'
            items = [self.of(base) if r.random() < 0.9 or base in STRICT else "null" for _ in range(r.randint(0, 3))]
            if r.random() < 0.15 and not base.startswith("json"):
                rows = [self.array(items)] * r.randint(1, 3)
                if self.faulty and r.random() < 0.4:    # of another size
                    rows.append(self.array(items + [self.of(base)]))
                return self.array(rows)
            return self.array(items)
        return {
            "smallint": lambda: self.either(str(r.randint(-32768, 32767))),
            "int": lambda: self.either(str(r.choice([0, 7, -2147483648, r.randint(-10**9, 10**9)]))),
            "bigint": lambda: self.either(str(r.randint(-2**63, 2**63 - 1))),
            "float4": lambda: self.either(r.choice(["1.5", "0", "-3.25e7", "1e-5"])),
            "float8": lambda: self.either(r.choice(["1.5", "-0", "1e300", repr(r.random()),
                                                     "%d.%03d" % (r.randint(-999, 999), r.randint(0, 999))]))
            if r.random() < 0.9 else '"NaN"',
            "numeric": lambda: self.either(self.number()),
            "numeric(8,2)": lambda: self.either("%d.%03d" % (r.randint(-9999, 9999), r.randint(0, 999))),
            "bool": lambda: r.choice(["true", "false", '"t"', '"no"', "1", "0", '" on "']),
            "date": lambda: '"%04d-%02d-%02d"' % (r.randint(1900, 2100), r.randint(1, 12), r.randint(1, 28)),
            "time": lambda: '"%02d:%02d:%02d.5"' % (r.randint(0, 23), r.randint(0, 59), r.randint(0, 59)),
            "timestamp": lambda: r.choice(['"2024-02-29 12:34:56.789"', '"2024-02-29T12:34:56"', '"infinity"',
                                           '"May 1 2020"']),
            "timestamptz": lambda: r.choice(['"2024-02-29T12:34:56Z"', '"2024-07-01 12:34:56+02"',
                                             '"2024-07-01 12:34:56"', '"epoch"']),
            "uuid": lambda: '"%032x"' % r.getrandbits(128) if r.random() < 0.3 else
            '"12345678-1234-1234-1234-%012x"' % r.getrandbits(48),
            "text": lambda: self.string(self.text()) if r.random() < 0.8 else self.any(2),
            "varchar(5)": lambda: self.string(self.text(5)[:5]),
            "char(3)": lambda: self.string(self.text(3)[:3]),
            "name": lambda: self.string(self.text()),
            "bytea": lambda: r.choice(['"\\\\x0aFF"', '"abc"', '"a\\\\\\\\b"', '""']),
            "json": self.any,
            "jsonb": lambda: self.any().replace("1e400", "1").replace("1e-400", "1"),
            "interval": lambda: '"%d days"' % r.randint(0, 99),
            "inet": lambda: '"10.0.0.%d"' % r.randint(0, 255),
            "int4range": lambda: '"[%d,%d)"' % (r.randint(0, 9), r.randint(10, 99)),
            "pd_mood": lambda: r.choice(['"sad"', '"ok"', '"a \\"quoted\\", one"']),
            "pd_positive": lambda: self.either(str(r.randint(1, 99))),
            "pd_required": lambda: self.string(self.text()),
            "pd_short": lambda: self.string(self.text(5)[:5]),
            "pd_ints": lambda: self.of("int[]") if r.random() < 0.5 else "[1,2]",
            "pd_pair": lambda: r.choice(['{"a":1,"b":"x"}', '{"b":2}', "{}", '"(1,two)"', '{"a":null,"c":[]}',
                                         '{"a":1,"b":{"a":[]},"\\u0061":2}', '{"a":"3","a":null}',
                                         self.object([("b", self.any(2)), ("a", "5")])]),
            "pd_pair_checked": lambda: r.choice(['{"a":1,"b":"x"}', '{"a":"7"}', '"(1,two)"']),
            "pd_pair_required": lambda: r.choice(['{"a":1}', "{}"]),
            "pd_nested": lambda: self.object([("p", self.of("pd_pair")), ("list", self.of("pd_pair[]")),
                                              ("note", self.any(2).replace("1e400", "2")),
                                              ("d", self.of("pd_positive"))]),
            "pd_deep": lambda: self.object(r.sample([
                ("n", self.of("pd_nested")), ("a.b", self.any(2)), ("B", self.of("pd_mood")),
                ("days", self.of("date[]")), ("c", self.of("pd_pair_checked")), ("b", self.any(3)),
                ("x", self.of("int4range"))], r.randint(0, 7))),
        }[name]()


NULLABLE = [
    "smallint", "int", "int", "bigint", "float4", "float8", "float8", "numeric", "numeric(8,2)", "bool",
    "date", "time", "timestamp", "timestamptz", "uuid", "text", "text", "varchar(5)", "char(3)", "name",
    "bytea", "json", "json", "jsonb", "jsonb", "interval", "inet", "int4range", "pd_mood", "pd_positive",
    "pd_short", "pd_ints", "pd_pair", "pd_pair_checked", "pd_nested", "int[]", "text[]", "jsonb[]",
    "pd_pair[]", "pd_positive[]", "float8[]", "json[]", "date[]", "numeric(8,2)[]", "pd_mood[]",
    "int4range[]", "uuid[]", "varchar(5)[]", "pd_nested[]", "pd_pair_checked[]", "pd_required[]", "pd_deep"]
STRICT = ["pd_required", "pd_pair_required"]


class Column:
    def __init__(self, name, type, options, steps):
        self.name = name
        self.type = type
        self.options = options      # SQL, or ""
        self.steps = steps          # of keys and numbers; None: raw


# The file encodings that a database's cases have, None being no option at all:
# then the file is in UTF-8; of SQL_ASCII in the server encoding, if that is one.
ENCODINGS = {
    "UTF8": [None, None, None, None, "SQL_ASCII", "LATIN1", "EUC_JP", "SJIS"],
    "LATIN1": [None, None, "LATIN1", "SQL_ASCII"],
    "EUC_JP": [None, None, "EUC_JP", "SQL_ASCII", "SJIS"],
    "SQL_ASCII": [None, "SQL_ASCII", "LATIN1", "EUC_JP"],
}
CODECS = {"UTF8": "utf-8", "LATIN1": "latin-1", "EUC_JP": "euc_jp", "SJIS": "shift_jis", "SQL_ASCII": "ascii"}


def encodable(text, codec):
    try:
        text.encode(codec)
        return True
    except UnicodeEncodeError:
        return False


def fit(text, codec):
    """JSON without characters that the codec lacks, escaped or not."""
    def escape(m):
        code = int(m.group(1), 16) if m.group(1) else 0
        return m.group(0) if code < 0x80 or (
            not 0xd800 <= code < 0xe000 and encodable(chr(code), codec)) else "x"

    text = re.sub(r"\\(?:u([0-9a-fA-F]{4})|[^u])", escape, text, flags=re.S)
    return "".join(c if encodable(c, codec) else "x" for c in text)


class Case:
    def __init__(self, seed, number, levels, database=None):
        r = self.random = random.Random("%s json %d" % (seed, number))
        self.number = number
        self.faulty = r.random() < 0.35     # lines or values may be bad
        self.value = Value(r, self.faulty)
        self.database = database or r.choice(["UTF8"] * 7 + ["LATIN1", "EUC_JP", "SQL_ASCII"])
        self.encoding = r.choice(ENCODINGS[self.database])
        server = "UTF8" if self.database == "SQL_ASCII" else self.database
        self.source = server if self.encoding == "SQL_ASCII" else self.encoding or "UTF8"
        self.transcoded = self.source != self.database and self.database != "SQL_ASCII"
        self.fitting = r.random() < 0.85    # lines hold what the server encoding has
        self.parallel = r.random() < 0.3
        self.ignore = r.random() < 0.2
        self.simd = r.choice(levels)
        self.partition = r.choice([1, 2, 3, 5, 7, 16, 33, 64, 100, 1000, 262144])
        self.pushdown = r.choice(["on", "off"])
        self.columns = []
        self.make_columns()
        self.documents = r.random() < 0.3   # not lines, but arrays and values
        # a fault is where it stands, which is told of records of one line only
        if self.documents and not self.faulty and self.database == self.source == "UTF8":
            self.value.breaks = ["\n", "\r\n  "]
        number = r.choice([0, 1, 2, 3, 5, 8, 13, 30])
        if self.documents:
            self.lines = []
            self.data = self.write_documents([self.document_record() for _ in range(number)])
        else:
            self.lines = [self.line() for _ in range(number)]
            self.data = self.join()
            self.numbers = range(1, len(self.lines) + 1)    # of the records' lines

    def make_columns(self):
        r = self.random
        if r.random() < 0.06:
            self.any_value = True
            self.columns = [Column("r", r.choice(["json", "jsonb"]), "raw 'true'", None)]
            return
        self.any_value = False
        self.keys = [k for k in KEYS if encodable(k, CODECS[self.database])]
        names = r.sample([k for k in self.keys if 0 < len(k) and '\\' not in k], r.randint(1, 6))
        with_options = r.random() < 0.5
        for name in names:
            type = r.choice(NULLABLE if r.random() < 0.93 else STRICT)
            kind = r.random() if with_options else 1
            if kind < 0.2:
                key = r.choice(self.keys)
                self.columns.append(Column(name, type, "key " + quote(key), [key]))
            elif kind < 0.5:
                steps = [r.choice(self.keys)]
                for _ in range(r.randint(0, 2)):
                    steps.append(r.randint(0, 2) if r.random() < 0.4 else r.choice(self.keys))
                self.columns.append(Column(name, type, "path " + quote(path(r, steps)), steps))
            elif kind < 0.55:
                self.columns.append(Column(name, r.choice(["json", "jsonb"]), "raw 'on'", None))
            else:
                self.columns.append(Column(name, type, "", [name]))

    def place(self, steps, text):
        """The text where the steps behind the first lead to."""
        for step in reversed(steps[1:]):
            if isinstance(step, int):
                text = self.value.array([self.value.any(3) for _ in range(step)] + [text])
            else:
                text = self.value.object([(step, text)])
        return text

    def record(self):
        r = self.random
        pairs = []
        for c in self.columns:
            if c.steps is None:
                continue
            strict = c.type in STRICT
            if r.random() < 0.85 or strict:
                if self.faulty and r.random() < 0.06:
                    text = self.value.any()
                elif r.random() < 0.1 and not (strict and not self.faulty):
                    text = "null"
                else:
                    text = self.value.of(c.type)
                pairs.append((c.steps[0], self.place(c.steps, text)))
                if r.random() < 0.06 and not strict:
                    pairs.insert(r.randint(0, len(pairs)), (c.steps[0], self.value.any(2) if self.faulty else
                                                           r.choice(["null", text])))
        taken = {p[0] for p in pairs} | {c.steps[0] for c in self.columns if c.steps}
        for _ in range(r.choice([0, 0, 1, 2])):
            key = r.choice(KEYS)
            if key not in taken:
                pairs.insert(r.randint(0, len(pairs)), (key, self.value.any(1)))
        if r.random() < 0.3:
            r.shuffle(pairs)
        return self.value.object(pairs)

    def line(self):
        r = self.random
        if r.random() < 0.05:
            return r.choice([b"", b" ", b"\t\r", b" \r \t"])
        line = self.good_line()
        if self.faulty and r.random() < 0.12:
            line = self.spoil(line)
        return line

    def document_record(self):
        """One that may be bad, but never takes those around it along."""
        r = self.random
        line = self.good_line()
        if not self.faulty or r.random() > 0.06:
            return line
        at = r.randint(0, len(line))
        return r.choice([
            line[:at] + r.choice([b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xff"]) + line[at:],
            b'{"k":"' + r.choice([b"\\ud800", b"\\udc00", b"\\uD83D\\u0041", b"\\u0000", b"\\x", b"\\u12g4"]) + b'"}',
            r.choice([b"1", b'"x"', b"null", b"true", b"nul", b"01", b"+1", b".5", b"1.", b"1e", b"--1", b"'x'",
                      b'{"a" 1}', b"{,}", b'{"a":1,}', b"{1:2}", b'"\\ud800"', b"{]}", b'{"a":[1 2]}'])])

    def write_documents(self, records):
        """Arrays of records, and records by themselves; notes what they are, and where."""
        r = self.random
        data = b"\xef\xbb\xbf" if self.source == "UTF8" and r.random() < 0.05 else b""
        breaks = [b"\n", b" ", b"\r\n", b"\n\n\t"] + [b""] * 4
        self.numbers = []
        at = 0
        while at < len(records):
            n = r.randint(1, len(records) - at)
            alone = r.random() < 0.4 and not records[at].strip().startswith(b"[")
            if alone:
                n = 1
            # scalars have to be apart
            data += r.choice(breaks if not alone else [b"\n", b" "]) + (b"" if alone else b"[")
            for i in range(n):
                data += r.choice(breaks)
                self.numbers.append(1 + data.count(b"\n") + self.lines_before(records[at + i]))
                data += records[at + i] + r.choice(breaks) + (b"," if i < n - 1 else b"" if alone else b"]")
            self.lines += records[at:at + n]
            at += n
            data += r.choice(breaks if not alone else [b"\n", b" "])
        if r.random() < 0.1:
            data += b" [ ] "
        return data

    @staticmethod
    def lines_before(record):
        return record[:len(record) - len(record.lstrip())].count(b"\n")

    def good_line(self):
        text = self.value.any() if self.any_value else self.record()
        if self.any_value and not self.faulty:
            text = text.replace("1e400", "3").replace("1e-400", "3")
        if self.fitting and self.database != "UTF8":
            text = fit(text, CODECS[self.database])
        codec = CODECS[self.source]
        return (self.value.space() + "".join(c if encodable(c, codec) else "y" for c in text) +
                self.value.space()).encode(codec)

    def spoil(self, line):
        r = self.random
        kind = r.randint(0, 9)
        at = r.randint(0, len(line))
        if kind == 0:
            return line[:at]
        if kind == 1:
            return line[:at] + line[at + 1:]
        if kind == 2:
            return line[:at] + bytes([r.choice(b'{}[],:"\\ x0-.e\x00\x01\x7f')]) + line[at:]
        if kind == 3:
            return line[:at] + r.choice([b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82",
                                         b"\xff", b"\xf4\x90\x80\x80"]) + line[at:]
        if kind == 4:
            return b'{"k":"' + r.choice([b"\\ud800", b"\\udc00", b"\\uD83D\\u0041", b"\\u0000", b"\\ud800\\ud800",
                                         b"\\x", b"\\u12g4", b"\\u12"]) + b'"}'
        if kind == 5:
            return r.choice([b"[]", b"[1]", b"1", b'"x"', b"null", b"true", b"[", b"{", b"}", b"nul", b"01", b"+1",
                             b".5", b"1.", b"1e", b"--1", b"'x'", b"{\"a\":1}}", b"{\"a\" 1}", b"{,}", b"{\"a\":1,}",
                             b"[1,]", b"{1:2}", b"\"\\ud800\"", b"[\"\\ud800\"]", b"\xef\xbb\xbf{}", b"{}\x0c"])
        if kind == 6 and len(line) > 0:
            return line[:at] + line
        if kind == 7 and at < len(line):
            return line[:at] + bytes([r.randint(0, 255)]) + line[at + 1:]
        if kind == 8:
            return b"[" * r.randint(1, 60) + line
        return line + line

    def join(self):
        r = self.random
        self.lines = [p for line in self.lines for p in line.split(b"\n")]
        data = b"\n".join(self.lines)
        if self.lines and r.random() < 0.7:
            data += b"\n"
        if self.source != "UTF8":
            return data
        if r.random() < 0.05:
            data = b"\xef\xbb\xbf" + data
        elif data.startswith(b"\xef\xbb\xbf"):
            # a spoiled first line: what stands at byte 0 is a mark
            self.lines[0] = self.lines[0][3:]
        return data


def quote(s):
    return "'" + s.replace("'", "''") + "'"


def path(r, steps):
    out = ""
    for step in steps:
        if isinstance(step, int):
            out += "[%d]" % step
            continue
        plain = step != "" and not any(c in step for c in '."[]')
        if out:
            out += "."
        out += step if plain and r.random() < 0.8 else '"' + step.replace('"', '""') + '"'
    return out


def strings(case):
    """What a reader of a failure wants to see."""
    return json.dumps([line.decode("utf-8", "backslashreplace") for line in case.lines], indent=2)
