"""Column types of generated tables and the values that go into them.

Owns: for every type a generator of values that its input function accepts,
values on and beyond the edges, and the SQL expressions that show a value in
full (bit patterns included).

Must not: know how values are written into a file.
"""

import struct
from decimal import Decimal, localcontext

ISO_ZONES = ("", "", "", "Z", "+00", "-05", "+05:30", "-3:30", "+0530", " UTC", " EST",
             " PST", " CET", " America/New_York", " Asia/Kathmandu", "+13", "-12:59",
             "+02:00:30", " EST5EDT")
DAYS = ("2019-03-10", "2019-03-31", "2019-10-27", "2019-11-03", "2006-04-02", "1986-01-01",
        "1945-05-24", "1945-07-15", "2000-01-01", "1999-12-31", "1970-01-01", "2020-02-29",
        "1900-03-01", "2038-01-19", "2050-07-01", "1883-11-18", "1800-01-01", "0001-01-01",
        "9999-12-31", "2500-08-15", "1600-02-29", "1582-10-15")
CLOCKS = ("00:00:00", "24:00:00", "23:59:59.999999", "23:59:60", "12:34:56.7", "02:30:00",
          "01:30", "00:00:59.9999994", "00:00:59.9999995", "12:34:56.123456789",
          "04:05:06 AM", "04:05 PM", "12:00 AM", "12:00 PM", "00:14:59", "0:00:00.1",
          "23:59:59.9999999", "11:59:60")


def pick_day(rng):
    if rng.random() < 0.4:
        return rng.choice(DAYS)
    return "%04d-%02d-%02d" % (rng.choice((rng.randint(1, 9999), rng.randint(1900, 2040))),
                               rng.randint(1, 12), rng.randint(1, 28))


def pick_clock(rng):
    if rng.random() < 0.3:
        return rng.choice(CLOCKS)
    t = "%02d:%02d:%02d" % (rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 59))
    if rng.random() < 0.5:
        n = rng.randint(1, 6)
        t += "." + "".join(rng.choice("0123456789") for _ in range(n))
    return t


def digits(rng, n):
    return "".join(rng.choice("0123456789") for _ in range(n))


def pad(rng, text):
    r = rng.random()
    if r < 0.85:
        return text
    if r < 0.9:
        return " " + text
    if r < 0.95:
        return text + "  "
    return rng.choice((" \t", "  ", "\f", "\v")) + text + rng.choice((" ", "\t", "\f"))


# Integers ------------------------------------------------------------------

def integer(bits):
    top = (1 << (bits - 1)) - 1

    def valid(rng, ctx):
        r = rng.random()
        if r < 0.25:
            text = str(rng.choice((0, 1, -1, top, -top - 1, top - 1, 9, 10, 99, 100, -10)))
        elif r < 0.35:
            text = rng.choice(("+", "", "-")) + "0" * rng.randint(1, 25) + str(
                rng.randint(0, 99))
        else:
            n = rng.randint(0, top) >> rng.randint(0, bits - 2)
            text = rng.choice(("-", "", "", "+")) + str(n)
        return pad(rng, text)

    def dubious(rng, ctx):
        return rng.choice((
            "", " ", "-", "+", "--1", "+-1", "1 2", "1.0", "1e3", "0x1F", "0b101", "0o17",
            "1_000", "1__0", "_1", "1_", "12a", "a", str(top + 1), str(-top - 2),
            "0" * 30 + str(top + 1), "18446744073709551616", "99999999999999999999",
            "1\u00a0", "0x", "-0x80", "- 1", "1 -", "0x" + "f" * (bits // 4), "NaN"))

    return valid, dubious


# Floats --------------------------------------------------------------------

def random_double(rng):
    while True:
        d = struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0]
        if d == d and abs(d) < 1.7e308 and abs(d) > 1e-300:
            return d


def halfway(rng, width, low, high):
    """The decimal text between two neighbouring floats, where rounding is hardest."""
    while True:
        bits = rng.getrandbits(width - 1)
        a, = struct.unpack("<d" if width == 64 else "<f",
                           struct.pack("<Q" if width == 64 else "<I", bits))
        if a == a and low < abs(a) < high:
            break
    b, = struct.unpack("<d" if width == 64 else "<f",
                       struct.pack("<Q" if width == 64 else "<I", bits + 1))
    with localcontext() as c:
        c.prec = 1200
        text = "{:E}".format((Decimal(a) + Decimal(b)) / 2)
    mantissa, exponent = text.split("E")
    r = rng.random()
    if r < 0.3:
        mantissa += ("." if "." not in mantissa else "") + "0" * rng.randint(0, 20) + "1"
    elif r < 0.5:
        mantissa = mantissa[:-1]
        if mantissa.endswith(".") or not mantissa:
            mantissa += "0"
    return mantissa + "e" + exponent


def floating(width):
    double = width == 64

    def valid(rng, ctx):
        r = rng.random()
        if r < 0.2:
            text = rng.choice((
                "0", "-0", "0.0", "-0e5", "1", "-1.5", ".5", "5.", "1e5", "1E-5", "+3.25",
                "NaN", "nan", "-nan", "Infinity", "-infinity", "inf", "-Inf", "+Infinity",
                "1e+10", "0e999999999", "123456789012345678901234567890", "0." + "0" * 20
                + "1", "16777217", "9007199254740993", "0.1", "0.3", "1e22", "1e23",
                "3.4028234e38" if not double else "1.7976931348623157e308",
                "1.17549435e-38" if not double else "2.2250738585072014e-308",
                "1.4e-45" if not double else "4.9406564584124654e-324",
                "0x1p3", "0x1.8p1", "0xA"))
        elif r < 0.35:
            text = halfway(rng, width, 1e-30 if not double else 1e-290,
                           1e37 if not double else 1e307)
        elif r < 0.6:
            text = "%s%d.%s" % (rng.choice(("", "-")), rng.randint(0, 100000),
                                digits(rng, rng.randint(1, 6)))
        elif r < 0.8:
            if double:
                text = rng.choice(("%r", "%.17g", "%.15g", "%.25g")) % random_double(rng)
            else:
                text = "%.9g" % struct.unpack("<f", struct.pack(
                    "<I", rng.randint(0x00800000, 0x7f7fffff)))[0]
        else:
            text = "%s%d.%se%d" % (rng.choice(("", "-", "+")), rng.randint(0, 9),
                                   digits(rng, rng.randint(1, 40)),
                                   rng.randint(-30, 30))
        return pad(rng, text)

    def dubious(rng, ctx):
        return rng.choice((
            "", " ", ".", "-", "e5", "1e", "1e+", "1e5.5", "1.2.3", "1,5", "1e309", "1e39",
            "-1e400", "1" + "0" * 400, "0." + "0" * 400 + "1", "1e-400", "1e-46", "1e-324",
            "1.7976931348623159e308", "3.4028236e38", "7e-46", "2.4703282292062327e-324",
            "infinit", "infinityx", "nanx", "nan(1)", "1 e5", "1f", "0x", "0x1p", "1_000.5",
            "--1", "+-1", "\u0663"))

    return valid, dubious


# numeric -------------------------------------------------------------------

def numeric(precision=None, scale=None):
    def free(rng):
        r = rng.random()
        if r < 0.2:
            return rng.choice((
                "0", "-0", "0.000", "1", "-1.50", "NaN", "nan", "Infinity", "-Infinity",
                "inf", "+inf", "1e10", "1e-10", "1.5E+3", "1e131071", "1e-16383", ".5", "5.",
                "+7", "00012.3400", "9999", "10000", "0.0001", "0.00001", "1e4", "1e-4",
                "-.0001", "0e5", "0e-5", "9" * 300, "0." + "0" * 200 + "1"))
        if r < 0.6:
            return "%s%s.%s" % (rng.choice(("", "-")), digits(rng, rng.randint(1, 30)),
                                digits(rng, rng.randint(1, 30)))
        if r < 0.8:
            return "%s%d.%02d" % (rng.choice(("", "-")), rng.randint(0, 1000),
                                  rng.randint(0, 99))
        return "%s%s.%se%d" % (rng.choice(("", "-", "+")), digits(rng, rng.randint(1, 5)),
                               digits(rng, rng.randint(0, 12)), rng.randint(-40, 40))

    def fitting(rng):
        top = 10 ** precision - 2
        n = rng.choice((0, 1, top, rng.randint(0, max(top, 1)),
                        rng.randint(0, max(top, 1)) // 10 ** rng.randint(0, precision)))
        sign = rng.choice(("", "-"))
        if rng.random() < 0.25:
            return "%s%de%d" % (sign, n, -scale)
        if scale > 0:
            t = str(n).rjust(scale + 1, "0")
            text = t[:-scale] + "." + t[-scale:]
            if rng.random() < 0.3:
                text += digits(rng, rng.randint(1, 5))
            if rng.random() < 0.2:
                text += "e0"
        else:
            text = str(n) + "0" * -scale
            if rng.random() < 0.2:
                text += "." + rng.choice(("0", "4", "49", "000"))
        return sign + text

    def valid(rng, ctx):
        return pad(rng, free(rng) if precision is None else fitting(rng))

    def dubious(rng, ctx):
        if precision is not None and rng.random() < 0.5:
            return rng.choice((
                "1e%d" % (precision - scale), "9" * max(precision - scale, 1) + ".5",
                "9" * max(precision - scale, 1) + "." + "9" * (max(scale, 0) + 2),
                "Infinity", "NaN", "-1e%d" % (precision - scale),
                "9" * max(precision - scale, 1) + "." + "9" * max(scale, 0) + "4"))
        return rng.choice((
            "", " ", ".", "-", "1e", "1e+", "1.2.3", "1e5.5", "1e131073", "1e1000000000",
            "1e-20000", "1e99999999999", "--1", "+", "nanx", "infinit", "infinityx", "0x1F",
            "1_000.5", "1_", "1 2", "1e5 x", "- 1", "e1", ".e1", "1e 5", "1.e5", "-NaN",
            "0x", "1" * 140000 if rng.random() < 0.05 else "12x"))

    return valid, dubious


# bool ----------------------------------------------------------------------

def boolean():
    words = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1", "f", "fa", "fal", "fals",
             "false", "n", "no", "of", "off", "0", "TRUE", "False", "Yes", "OFF", "T", "oN")

    def valid(rng, ctx):
        return pad(rng, rng.choice(words))

    def dubious(rng, ctx):
        return rng.choice(("", " ", "o", "maybe", "truex", "2", "00", "yess", "10", "f f",
                           "-1", "onn"))

    return valid, dubious


# Dates and times -----------------------------------------------------------

def date():
    def valid(rng, ctx):
        r = rng.random()
        if r < 0.2:
            text = rng.choice(("infinity", "-infinity", "epoch", "4713-01-01 BC",
                               "5874897-12-31", "10000-01-01", "294277-01-01", "20190310",
                               "2019-3-1", "2019-Mar-10", "10 March 2019", "March 10, 2019",
                               "J2451187", "2019.069", "0044-03-15 BC", "2019-03-10 12:34:56",
                               "Sun Mar 10 2019", "2019-03-10T01:02:03Z", "INFINITY", "Epoch",
                               "0001-01-01 BC", "today", "99999-12-31"))
        else:
            text = pick_day(rng)
            if rng.random() < 0.05:
                if text < "4713" and "-02-29" not in text:
                    text += " BC"
        return pad(rng, text)

    def dubious(rng, ctx):
        return rng.choice((
            "", " ", "1/2/2019", "31/12/2019", "12/31/2019", "99-01-08", "1-2-3", "08.01.1999",
            "2019-02-29", "2019-13-01", "2019-00-10", "2019-01-00", "2019-01-32", "0000-01-01",
            "5874898-01-01", "4714-11-23 BC", "2019", "201903", "2019-03-10x", "2019-03",
            "yesterday", "tomorrow", "Febuary 3", "2019-1-1-1", "-2019-01-01", "12-25-1999",
            "1999-25-12", "01-02-99", "infinit", "+infinity", "2019-03-10 25:00:00",
            "99990101", "1990101", "1900-02-29", "J0", "190310", "2019/03/10", "2019 03 10"))

    return valid, dubious


def time_of_day(p=None):
    def valid(rng, ctx):
        r = rng.random()
        if r < 0.08:
            text = rng.choice(("allballs", "040506", "040506.789", "0405", "04:05 PM",
                               "2019-03-10 04:05:06", "04:05:06 UTC", "T04:05:06"))
        else:
            text = pick_clock(rng)
        return pad(rng, text)

    def dubious(rng, ctx):
        return rng.choice((
            "", " ", "25:00:00", "24:00:01", "24:00:00.000001", "12:60:00", "12:00:61",
            "12:00:60.5", "12", "1:2:3:4", "12:00:00 XM", "13:00 PM", "-01:00:00", "12:0",
            "1:2:3", "12:34:56.", "12:34:.5", "12:34:56.7.8", "04:05:06-08:00", "infinity",
            "12:34 America/New_York", "040560", "99:99", "12 AM", "12:34:56x",
            "23:59:59.9999999", "23:59:60.000001"))

    return valid, dubious


def timestamp(zoned, p=None):
    def valid(rng, ctx):
        r = rng.random()
        if r < 0.15:
            text = rng.choice((
                "infinity", "-infinity", "epoch", "4713-11-25 00:00:00 BC", "2019-03-10",
                "294276-12-30 23:59:59.5", "20190310T123456", "2019-03-10T12:34:56",
                "Mar 10 12:34:56 2019", "2019-03-10 12:34:56.5 BC", "20190310 123456.789",
                "today", "J2451187 04:05:06", "2019-069 12:00:00", "0099-01-01 00:00:00 BC",
                "10000-01-01 00:00:00", "Infinity", "2019-03-10 24:00:00"))
        else:
            text = pick_day(rng) + rng.choice((" ", " ", " ", "T", "  ")) + pick_clock(rng)
            if zoned or rng.random() < 0.1:
                text += rng.choice(ISO_ZONES)
        return pad(rng, text)

    def dubious(rng, ctx):
        return rng.choice((
            "", " ", "2019-02-29 00:00:00", "2019-03-10 25:00:00", "2019-03-10 12:60:00",
            "2019-03-10 12:34:56+25", "294277-01-01 00:00:00", "4714-01-01 00:00:00 BC",
            "2019-03-10 12:34:56 XYZ", "2019-03-10 12:34:56 Mars/Base", "1/2/2019 12:00",
            "31/12/2019 12:00", "99-01-08 12:00", "2019-03-10 12", "2019-03-10T", "infinit",
            "2019-03-10 12:34:56.7.8", "2019-03-10 12:34:56 +05 +06", "2019-03-10 12:34:56 -",
            "12:34:56", "2019-03-10 12:34:56 BCE", "Sat Mar 10 12:34:56 2019 PST",
            "08.01.1999 12:00", "2019-03-10 12:34:56+5:30:99", "2019-03-10 12:34:56-24:00",
            "2019-03-10 12:34:56+15:59", "2019-03-10 12:34:56+16", "0000-01-01 00:00:00",
            "294276-12-31 23:59:59.9999999", "2019-03-10 12:34:56 UTC+3",
            "2019-03-10 12:34:60.5", "2019-03-10 24:00:00.5"))

    return valid, dubious


# Text and bytes ------------------------------------------------------------

def plain_text(limit=None, trailing=False):
    def valid(rng, ctx):
        n = rng.choice((0, 1, 2, 3, rng.randint(0, 12), rng.randint(0, 40)))
        if rng.random() < ctx.long_share:
            n = ctx.long_length
        if limit is not None:
            n = min(n, limit)
        text = ctx.text(rng, n)
        if limit is not None and rng.random() < 0.1:
            text = text.ljust(limit + rng.randint(0, 3))
        return text

    def dubious(rng, ctx):
        text = ctx.text(rng, rng.randint(0, 20))
        if limit is not None:
            text += ctx.text(rng, limit + 1)
        return text

    return valid, dubious


def name():
    def valid(rng, ctx):
        n = rng.choice((0, 1, rng.randint(0, 30), rng.randint(58, 70)))
        return ctx.text(rng, n)

    return valid, valid


def bytea():
    def hex_text(rng):
        out = "\\x"
        for _ in range(rng.randint(0, 20)):
            out += rng.choice(("", "", "", " ", "\t", "\n"))
            out += rng.choice("0123456789abcdefABCDEF") + rng.choice("0123456789abcdefABCDEF")
        return out

    def valid(rng, ctx):
        if rng.random() < 0.6:
            return hex_text(rng)
        out = ""
        for _ in range(rng.randint(0, 15)):
            out += rng.choice(("a", "Z", " ", "\\\\", "\\000", "\\377", "\\101", ctx.text(rng, 1)
                               .replace("\\", "\\\\")))
        return out

    def dubious(rng, ctx):
        return rng.choice(("\\x1", "\\xzz", "\\x 1", "\\x1 2", "\\", "a\\", "\\1", "\\12",
                           "\\400", "\\08", "\\x", "\\X41", "x41", "\\x4g", "a\\b", " \\x41",
                           "\\x41 ", "\\\\x41"))

    return valid, dubious


def uuid():
    def valid(rng, ctx):
        h = "%032x" % rng.getrandbits(128)
        if rng.random() < 0.3:
            h = h.upper()
        r = rng.random()
        if r < 0.5:
            return "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))
        if r < 0.65:
            return h
        if r < 0.8:
            return "{" + "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:])) + "}"
        return "-".join(h[i:i + 4] for i in range(0, 32, 4))

    def dubious(rng, ctx):
        h = "%032x" % rng.getrandbits(128)
        return rng.choice((h[:31], h + "0", h[:-1] + "g", "{" + h, h + "}", "", " " + h,
                           h + " ", h[:2] + "-" + h[2:], h[:4] + "--" + h[4:], h + "-",
                           "-" + h, "{}", h[:30] + "-" + h[30:]))

    return valid, dubious


# Types that always go through their input function ---------------------------

def listed(good, bad):
    def valid(rng, ctx):
        return rng.choice(good)

    def dubious(rng, ctx):
        return rng.choice(bad)

    return valid, dubious


JSON_GOOD = ('{"a": 1}', '[]', '"x"', 'null', ' {"a": [1, 2.50, true], "b": {"c": "\\u00e9"}} ',
             '12', '-0.5e3', '"q\\"uo\\\\te"', '{"a":1,"a":2}', '[1,\n2]', '"\\ud83d\\ude00"')
JSON_BAD = ('', '{', '{"a" 1}', "{'a': 1}", '[1,]', 'nul', '01', '"\t"', '"\\x"', '1 2',
            '"\\ud83d"', '"\\u0000"', '{"a":1}}', '.5')


SIZE = "pg_column_size($)::text"
LENGTH = "octet_length($)::text"


class ColumnType:
    def __init__(self, sql, generators, show=(), native=True, sortable=True, since=0,
                 weight=3):
        self.sql = sql
        self.valid, self.dubious = generators
        self.show = tuple(show)     # more expressions, beside the text
        self.native = native
        self.sortable = sortable
        self.since = since
        self.weight = weight

    def expressions(self, column, sizes=True):
        """SQL text expressions that together show the value in full."""
        return ["(%s)::text" % column] + [s.replace("$", column) for s in self.show
                                          if sizes or s is not SIZE]

    def is_size(self):
        """For each of the expressions: is it a size?"""
        return [False] + [s is SIZE for s in self.show]


TYPES = (
    ColumnType("int2", integer(16), ()),
    ColumnType("int4", integer(32), (), weight=6),
    ColumnType("int8", integer(64), ()),
    ColumnType("float4", floating(32), ("encode(float4send($), 'hex')",)),
    ColumnType("float8", floating(64), ("encode(float8send($), 'hex')",), weight=5),
    ColumnType("numeric", numeric(), ("encode(numeric_send($), 'hex')", SIZE), weight=4),
    ColumnType("numeric(5,2)", numeric(5, 2), ("encode(numeric_send($), 'hex')", SIZE)),
    ColumnType("numeric(10,0)", numeric(10, 0), ("encode(numeric_send($), 'hex')", SIZE),
               weight=1),
    ColumnType("numeric(38,10)", numeric(38, 10), ("encode(numeric_send($), 'hex')", SIZE),
               weight=1),
    ColumnType("numeric(3,-2)", numeric(3, -2), ("encode(numeric_send($), 'hex')", SIZE),
               since=15, weight=1),
    ColumnType("numeric(2,5)", numeric(2, 5), ("encode(numeric_send($), 'hex')", SIZE),
               since=15, weight=1),
    ColumnType("numeric(1000,500)", numeric(1000, 500),
               ("encode(numeric_send($), 'hex')", SIZE), weight=1),
    ColumnType("bool", boolean(), ()),
    ColumnType("date", date(), ("encode(date_send($), 'hex')",), weight=4),
    ColumnType("time", time_of_day(), ("encode(time_send($), 'hex')",)),
    ColumnType("time(0)", time_of_day(0), ("encode(time_send($), 'hex')",), weight=1),
    ColumnType("time(3)", time_of_day(3), ("encode(time_send($), 'hex')",), weight=1),
    ColumnType("timestamp", timestamp(False), ("encode(timestamp_send($), 'hex')",), weight=4),
    ColumnType("timestamp(0)", timestamp(False, 0), ("encode(timestamp_send($), 'hex')",),
               weight=1),
    ColumnType("timestamp(4)", timestamp(False, 4), ("encode(timestamp_send($), 'hex')",),
               weight=1),
    ColumnType("timestamptz", timestamp(True), ("encode(timestamptz_send($), 'hex')",),
               weight=4),
    ColumnType("timestamptz(2)", timestamp(True, 2), ("encode(timestamptz_send($), 'hex')",),
               weight=1),
    ColumnType("uuid", uuid(), ("encode(uuid_send($), 'hex')",)),
    ColumnType("text", plain_text(), (SIZE,), weight=9),
    ColumnType("varchar", plain_text(), (SIZE,), weight=1),
    ColumnType("varchar(5)", plain_text(5), (SIZE,), weight=2),
    ColumnType("varchar(30)", plain_text(30), (SIZE,), weight=1),
    ColumnType("char(4)", plain_text(4), (LENGTH, SIZE), weight=2),
    ColumnType("char(1)", plain_text(1), (LENGTH, SIZE), weight=1),
    ColumnType("bpchar", plain_text(), (LENGTH, SIZE), weight=1),
    ColumnType("name", name(), ("hashname($)::text",), weight=2),
    ColumnType("bytea", bytea(), ("encode($, 'hex')", SIZE), weight=3),
    # by input function
    ColumnType("json", listed(JSON_GOOD, JSON_BAD), (), False, False, weight=1),
    ColumnType("jsonb", listed(JSON_GOOD, JSON_BAD), (), False, weight=1),
    ColumnType("inet", listed(("10.0.0.1", "::1", "192.168.0.0/16", "fe80::1/64"),
                              ("", "10.0.0.256", "1.2.3", "::g", "10.0.0.1/33")), (), False,
               weight=1),
    ColumnType("int[]", listed(("{}", "{1,2,NULL}", "{{1,2},{3,4}}", " { 1 , 2 } ", "[0:1]={1,2}"),
                               ("", "{", "{1,}", "{a}", "1,2", "{1}x", "{{1},{2,3}}")), (),
               False, weight=1),
    ColumnType("text[]", listed(('{}', '{a,"b c",NULL}', '{"a\\"b","\\\\"}', "{'x'}"),
                                ("{a", '{"a}', "a", "{a}}")), (), False, weight=1),
    ColumnType("pd_mood", listed(("sad", "ok", "happy", 'a "quoted", one'),
                                 ("", "SAD", "sad ", "unknown")), (), False, weight=1),
    ColumnType("pd_positive", listed(("1", "2147483647", " 7 "), ("0", "-1", "x", "")), (),
               False, weight=1),
    ColumnType("pd_required", listed(("x", "", "NULL", "a,b", '"'), ("x",)), (), False,
               weight=1),
    ColumnType("pd_short", listed(("a", "", "12345", "abc  "), ("123456", "bad")), (), False,
               weight=1),
    ColumnType("pd_pair", listed(('(1,x)', '(,)', '(2,"a ""b"", c")', ' (3,) '),
                                 ("", "(1)", "(x,y)", "(1,2,3)", "(1,2", "1,2")), (), False,
               False, weight=1),
    ColumnType("interval", listed(("1 day", "P1Y2M3DT4H5M6S", "-1 mon 2:03:04.5", "@ 3 hours ago",
                                   "1-2", "00:00:01.000001"),
                                  ("", "1 foo", "P", "1 day 2 day x")), (), False, weight=1),
    ColumnType("interval(2)", listed(("1.239 sec", "3 days"), ("x",)), (), False, weight=1),
    ColumnType("money", listed(("$1.23", "-4", "1,234.50", "($5)"), ("", "x", "1.2.3", "$")), (),
               False, weight=1),
    ColumnType("oid", listed(("0", "4294967295", "-1", " 12 "), ("4294967296", "x", "-2147483649")),
               (), False, weight=1),
    ColumnType('"char"', listed(("a", "", "abc", "\\101"), ("\\1", "\\400")), (), False, weight=1),
    ColumnType("bit(3)", listed(("101", "000", "B101"),
                                ("10", "1010", "102", "", "x")), (), False, weight=1),
    ColumnType("varbit", listed(("", "1", "X1F", "1010101010101"), ("2", "XG")), (), False,
               weight=1),
    ColumnType("int4range", listed(("[1,5)", "empty", "(,)", "[1,1]"), ("[5,1]", "1,2", "[a,b]")),
               (), False, weight=1),
    ColumnType("timetz", listed(("04:05:06+02", "24:00:00-08", "allballs"), ("25:00", "x")), (),
               False, weight=1),
    ColumnType("point", listed(("(1,2)", "1,2", "( -1.5 , 2 )"),
                               ("", "(1)", "(1,2")), (), False, False, weight=1),
    ColumnType("macaddr", listed(("08:00:2b:01:02:03", "08002b010203"), ("08:00", "g")), (), False,
               weight=1),
    ColumnType("xid", listed(("0", "123"), ("123",)), (), False, False, weight=1),
)

TEXT = next(t for t in TYPES if t.sql == "text")
