"""Generated tables and files of JSON lines.

Owns: columns with their types and options, records with values that mostly
suit them, and the ways in which lines are bad.  A case is made from the seed
and its number alone.

Must not: talk to a server, or say what anything is expected to give.
"""

import json
import random

# More than server.py has: a composite's domain, an array's, and a nested one.
TYPES = """
CREATE DOMAIN pd_pair_checked AS pd_pair CHECK ((VALUE).a > 0);
CREATE DOMAIN pd_pair_required AS pd_pair NOT NULL;
CREATE DOMAIN pd_ints AS int[] CHECK (cardinality(VALUE) < 4);
CREATE TYPE pd_nested AS (p pd_pair, list pd_pair[], note jsonb, d pd_positive);
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

    def __init__(self, r):
        self.r = r

    def space(self):
        return self.r.choice(["", "", "", "", " ", "  ", "\t", " \r "])

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
            items = [self.of(base) if r.random() < 0.9 else "null" for _ in range(r.randint(0, 3))]
            if base == "int" and r.random() < 0.15:
                return "[[1,2],[3,4]]"
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
                                         self.object([("b", self.any(2)), ("a", "5")])]),
            "pd_pair_checked": lambda: r.choice(['{"a":1,"b":"x"}', '{"a":"7"}', '"(1,two)"']),
            "pd_pair_required": lambda: r.choice(['{"a":1}', "{}"]),
            "pd_nested": lambda: self.object([("p", self.of("pd_pair")), ("list", self.of("pd_pair[]")),
                                              ("note", self.any(2).replace("1e400", "2")),
                                              ("d", self.of("pd_positive"))]),
        }[name]()


NULLABLE = [
    "smallint", "int", "int", "bigint", "float4", "float8", "float8", "numeric", "numeric(8,2)", "bool",
    "date", "time", "timestamp", "timestamptz", "uuid", "text", "text", "varchar(5)", "char(3)", "name",
    "bytea", "json", "json", "jsonb", "jsonb", "interval", "inet", "int4range", "pd_mood", "pd_positive",
    "pd_short", "pd_ints", "pd_pair", "pd_pair_checked", "pd_nested", "int[]", "text[]", "jsonb[]",
    "pd_pair[]", "pd_positive[]", "float8[]"]
STRICT = ["pd_required", "pd_pair_required"]


class Column:
    def __init__(self, name, type, options, steps):
        self.name = name
        self.type = type
        self.options = options      # SQL, or ""
        self.steps = steps          # of keys and numbers; None: raw


class Case:
    def __init__(self, seed, number, levels):
        r = self.random = random.Random("%s json %d" % (seed, number))
        self.number = number
        self.value = Value(r)
        self.faulty = r.random() < 0.4      # lines or values may be bad
        self.ignore = r.random() < 0.25
        self.simd = r.choice(levels)
        self.partition = r.choice([1, 2, 3, 5, 7, 16, 33, 64, 100, 1000, 262144])
        self.pushdown = r.choice(["on", "off"])
        self.columns = []
        self.make_columns()
        self.lines = [self.line() for _ in range(r.choice([0, 1, 2, 3, 5, 8, 13, 30]))]
        self.data = self.join()

    def make_columns(self):
        r = self.random
        if r.random() < 0.06:
            self.any_value = True
            self.columns = [Column("r", r.choice(["json", "jsonb"]), "raw 'true'", None)]
            return
        self.any_value = False
        names = r.sample([k for k in KEYS if 0 < len(k) and '\\' not in k], r.randint(1, 6))
        with_options = r.random() < 0.5
        for name in names:
            type = r.choice(NULLABLE if r.random() < 0.93 else STRICT)
            kind = r.random() if with_options else 1
            if kind < 0.2:
                key = r.choice(KEYS)
                self.columns.append(Column(name, type, "key " + quote(key), [key]))
            elif kind < 0.5:
                steps = [r.choice(KEYS)]
                for _ in range(r.randint(0, 2)):
                    steps.append(r.randint(0, 2) if r.random() < 0.4 else r.choice(KEYS))
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
        text = self.value.any() if self.any_value else self.record()
        if self.any_value and not self.faulty:
            text = text.replace("1e400", "3").replace("1e-400", "3")
        line = (self.value.space() + text + self.value.space()).encode()
        if self.faulty and r.random() < 0.12:
            line = self.spoil(line)
        return line

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
