"""Random cases: a table definition, its options, session settings and a file.

Owns: what a case is and how it is made from a seed and a number alone, so
that any case can be made again.

Must not: talk to a server or know what the answers should be.
"""

import random

import datatypes
from server import ident, literal

CODECS = {
    "UTF8": "utf-8", "LATIN1": "latin-1", "WIN1252": "cp1252", "EUC_JP": "euc_jp",
    "SJIS": "cp932", "BIG5": "big5", "GBK": "gbk", "GB18030": "gb18030", "UHC": "cp949",
    "JOHAB": "johab", "KOI8R": "koi8-r", "EUC_KR": "euc_kr", "LATIN9": "iso8859-15",
    "EUC_CN": "gb2312", "SHIFT_JIS_2004": "shift_jis_2004", "WIN1251": "cp1251",
}

FILE_ENCODINGS = {
    "UTF8": ("UTF8",) * 12 + (None,) * 3 + (
        "LATIN1", "WIN1252", "EUC_JP", "SJIS", "SJIS", "BIG5", "BIG5", "GBK", "GBK", "GB18030",
        "GB18030", "UHC", "JOHAB", "JOHAB", "SQL_ASCII", "KOI8R", "EUC_KR", "LATIN9", "EUC_CN",
        "SHIFT_JIS_2004"),
    "LATIN1": ("LATIN1",) * 4 + (None, "UTF8", "UTF8") * 3 + ("SQL_ASCII", "WIN1252"),
    "SQL_ASCII": ("SQL_ASCII",) * 3 + (None, "UTF8", "LATIN1", "SJIS", "EUC_JP", "GB18030"),
    "EUC_JP": ("EUC_JP",) * 4 + (None, "SJIS", "SJIS", "UTF8", "UTF8", "SQL_ASCII", "BIG5"),
}

# Characters, among them those whose last byte is an ASCII letter, a backslash
# or a bar in SJIS, BIG5, GBK, GB18030, UHC or JOHAB.
WIDE = ("äöüßéñÇøÅ¿¡§°£¥µ×÷" "ĄłŐžŠš€œ" "абвГДЯё" "αβΩ" "あいうアソタポミ表能予申"
        "中文一丁七功許蓋餐么之程" "하글한국똠방각하갂" "ㄱㅏ" "、。「」" "\u3000\u00a0"
        "昞昡暠滏狼" "亂亞伋佋" "\u20ac\u2014\u2026" "\U0001f600\U00020000")
PLAIN = "abcxyzABCXYZ0189 ,;|.'\"\\\t-_/:%(){}[]<>!?=+*&^$#@~`"

SPECIALS = (",", ";", "\t", "|", "\\", ".", "0", "5", " ", "\x01", "\x1f", "\x7f", ":", "e", "-",
            "'", '"', "a", "/", "+", "T", "~", "\x0b", "\x0c", "^", "N", "#")

ZONES = ("UTC", "UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "<+0530>-05:30",
         "America/New_York", "Australia/Lord_Howe", "Africa/Monrovia", "Pacific/Apia")
STYLES = ("ISO, MDY", "ISO, MDY", "ISO, DMY", "ISO, YMD", "SQL, MDY", "SQL, DMY", "German, DMY",
          "Postgres, MDY", "Postgres, DMY")


PARALLEL_SHARE = 0.25                   # of the cases


class Context:
    """What value generators may depend on."""

    def __init__(self, file_codec, database_codec):
        self.alphabet = [c for c in WIDE if fits(c, file_codec) and fits(c, database_codec)]
        if file_codec == "johab":       # the server takes no ASCII trail bytes there
            self.alphabet = [c for c in self.alphabet if c.encode("johab")[-1] > 0xa0]
        self.newlines = 0.25
        self.long_share = 0.0
        self.long_length = 0
        self.extra = ""

    def text(self, rng, n):
        if n > 200:
            piece = self.text(rng, 97) or "x"
            return (piece * (n // len(piece) + 1))[:n]
        newlines = rng.random() < self.newlines
        wide = bool(self.alphabet) and rng.random() < 0.4
        out = []
        for _ in range(n):
            r = rng.random()
            if newlines and r < 0.15:
                out.append(rng.choice(("\n", "\r", "\r\n", "\n", "\n\\.\n")))
            elif r < 0.3 and self.extra:
                out.append(rng.choice(self.extra))
            elif wide and r < 0.6:
                out.append(rng.choice(self.alphabet))
            else:
                out.append(rng.choice(PLAIN))
        return "".join(out)[:n]


def fits(text, codec):
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


class Column:
    def __init__(self, name, kind):
        self.name = name
        self.kind = kind
        self.force_null = False
        self.force_not_null = False
        self.default = None
        self.generated = False
        self.seen = []              # some texts of good values in the file

    def definition(self, codec, as_text=False):
        """As in CREATE FOREIGN TABLE."""
        out = to_sql(ident(self.name), codec) + " " + (
            "text" if as_text and not self.generated else self.kind.sql)
        options = []
        if self.force_null:
            options.append("force_null 'true'")
        if self.force_not_null:
            options.append("force_not_null 'true'")
        if options:
            out += " OPTIONS (" + ", ".join(options) + ")"
        if self.generated:
            out += " GENERATED ALWAYS AS (%s) STORED" % self.generated
        if self.default is not None:
            out += " DEFAULT " + to_sql(literal(self.default), codec)
        return out


def to_sql(text, codec):
    """SQL text as the connection takes it: one character for each byte."""
    return text.encode(codec, "replace").decode("latin-1")


class Case:
    """Everything about one case; the file's bytes are in data."""

    def __init__(self, seed, number, version, partition_sizes=None):
        self.number = number
        self.version = version
        self.rng = random.Random("%s/%d" % (seed, number))
        self.choose(partition_sizes)

    # -- choices ------------------------------------------------------------

    def choose(self, partition_sizes):
        rng = self.rng
        self.database = rng.choice(("UTF8",) * 5 + ("LATIN1", "SQL_ASCII", "EUC_JP"))
        self.file_encoding = rng.choice(FILE_ENCODINGS[self.database])
        self.client_encoding = None
        if self.file_encoding is None:
            self.client_encoding = {"UTF8": rng.choice(("UTF8", "LATIN1", "WIN1252", "EUC_JP")),
                                    "LATIN1": rng.choice(("LATIN1", "UTF8")),
                                    "SQL_ASCII": "SQL_ASCII",
                                    "EUC_JP": rng.choice(("EUC_JP", "UTF8"))}[self.database]
        encoding = self.file_encoding or self.client_encoding
        self.database_codec = CODECS.get(self.database, "latin-1")
        self.codec = CODECS.get(encoding) or self.database_codec
        if self.database == "SQL_ASCII":
            self.database_codec = "latin-1"
        self.context = Context(self.codec, self.database_codec if
                               self.database != "SQL_ASCII" else self.codec)

        r = rng.random()
        if r < 0.62:
            self.mode = "clean"
        elif r < 0.74:
            self.mode = "values"        # sound structure, doubtful values
        elif r < 0.88:
            self.mode = "broken"        # a clean file, then damaged
        else:
            self.mode = "soup"          # random bytes of an alphabet of special ones
        self.choose_dialect()
        self.choose_columns()
        self.choose_settings()
        self.choose_errors()
        # the bytes of some files come through a program's pipe
        self.program = rng.random() < 0.04
        self.size = rng.choice(("tiny",) * 3 + ("small",) * 6 + ("medium",) * 2 +
                               (("large",) if rng.random() < 0.3 else ("small",)))
        if self.mode == "soup":
            self.data = self.soup()
        else:
            self.data = self.structured()
            if self.mode == "broken":
                self.data = self.damage(self.data)
        self.choose_partition(partition_sizes)

    def special(self, avoid=""):
        rng = self.rng
        while True:
            c = rng.choice(SPECIALS)
            if (self.database in ("LATIN1", "SQL_ASCII") and self.codec == "latin-1"
                    and rng.random() < 0.15):
                c = rng.choice(("\xa7", "\xff", "\x80", "\xe9"))
            if c not in avoid:
                return c

    def choose_dialect(self):
        rng = self.rng
        self.delimiter = "," if rng.random() < 0.55 else self.special()
        self.quote = '"' if rng.random() < 0.7 and self.delimiter != '"' else \
            self.special(self.delimiter)
        r = rng.random()
        if r < 0.6:
            self.escape = self.quote
        elif r < 0.75 and self.mode != "clean":
            self.escape = self.delimiter
        elif r < 0.9:
            self.escape = "\\"
        else:
            self.escape = self.special()
        while True:
            self.null = rng.choice(("", "", "", "", "NULL", "\\N", "NA", " ", "0", "-", "\\.", "x",
                                    "null", self.context.text(rng, 3)))
            if not any(c in self.null for c in (self.delimiter, self.quote, "\r", "\n")) \
                    and fits(self.null, self.database_codec):
                break
        self.marker = None              # the DEFAULT marker, 16 and later
        if self.version >= 16 and rng.random() < 0.15:
            marker = rng.choice(("\\D", "DEFAULT", "d"))
            if marker != self.null and not any(c in marker for c in (self.delimiter, self.quote)):
                self.marker = marker
        r = rng.random()
        self.header = "false" if r < 0.6 else "true" if r < 0.85 or self.version < 15 else "match"
        self.eol = rng.choice(("\n",) * 6 + ("\r\n",) * 3 + ("\r",) * 2)
        self.context.extra = (self.delimiter + self.quote + self.escape) if \
            all(ord(c) < 128 for c in self.delimiter + self.quote + self.escape) else ""

    def column_name(self, i):
        if self.rng.random() < 0.9:
            return "c%d" % i
        return self.rng.choice(("a b%d", 'q"%d', "d,%d", "UPPER%d", "it's%d", "new\nline%d")) % i

    def choose_columns(self):
        rng = self.rng
        if self.mode == "soup":
            count = rng.choice((1, 1, 2, 2, 3))
        else:
            count = rng.choice((0,) + (1, 2, 3, 4, 5, 6, 7, 8) * 4)
        kinds = [t for t in datatypes.TYPES if self.version >= t.since]
        weights = [t.weight for t in kinds]
        self.columns = []
        for i in range(count):
            if self.mode == "soup":
                kind = datatypes.TEXT if rng.random() < 0.9 else rng.choice(kinds)
            elif rng.random() < 0.2:
                kind = datatypes.TEXT
            else:
                kind = rng.choices(kinds, weights)[0]
            self.columns.append(Column(self.column_name(i + 1), kind))
        for c in self.columns:
            if rng.random() < 0.12:
                c.force_null = True
            if rng.random() < 0.12 and (self.mode != "clean" or c.kind is datatypes.TEXT):
                c.force_not_null = True
            if self.marker is not None and rng.random() < (0.6 if self.mode != "clean" else 1):
                c.default = c.kind.valid(rng, self.context)
                c.force_null = c.force_not_null = False
        # Some tables have a past: columns dropped, columns added later.
        self.dropped = [rng.randint(0, count) for _ in range(rng.choice((0,) * 8 + (1, 2)))]
        self.added = rng.random() < 0.08 and count > 0
        if rng.random() < 0.08:
            g = Column("gen", next(t for t in datatypes.TYPES if t.sql == "int4"))
            g.generated = "1"
            self.columns.insert(rng.randint(0, count), g)
            self.added = False

    @property
    def file_columns(self):
        return [c for c in self.columns if not c.generated]

    def choose_settings(self):
        rng = self.rng
        self.settings = [
            ("DateStyle", rng.choice(STYLES)), ("TimeZone", rng.choice(ZONES)),
            ("IntervalStyle", rng.choice(("postgres", "sql_standard", "iso_8601"))),
            ("extra_float_digits", rng.choice(("1", "1", "0", "-2", "3"))),
            ("bytea_output", rng.choice(("hex", "escape")))]

    def choose_errors(self):
        rng = self.rng
        self.on_error = None
        self.reject_limit = 0
        self.log_verbosity = None
        if rng.random() < (0.15 if self.mode in ("values", "broken") else 0.04):
            self.on_error = rng.choice(("ignore", "ignore", "ignore", "stop"))
            if self.on_error == "ignore":
                if rng.random() < 0.25:
                    self.reject_limit = rng.choice((1, 2, 3, 10))
                if rng.random() < 0.5:
                    self.log_verbosity = rng.choice(("default", "verbose", "silent"))
                if self.log_verbosity == "verbose" and self.client_encoding is not None:
                    self.log_verbosity = None       # values would be sent transcoded

    def choose_partition(self, sizes):
        rng = self.rng
        n = len(self.data)
        if sizes:
            self.partition_size = rng.choice(sizes)
        elif n > 20000:
            self.partition_size = rng.choice(("4kB", "1000B", "64kB", "65537B", None))
        else:
            r = rng.random()
            if r < 0.5:
                self.partition_size = "%dB" % rng.randint(1, 64)
            elif r < 0.7:
                self.partition_size = "%dB" % rng.randint(65, 900)
            elif r < 0.8 and n:
                self.partition_size = "%dB" % max(1, n + rng.randint(-2, 2))
            elif r < 0.9:
                self.partition_size = "4kB"
            else:
                self.partition_size = None
        self.chunk_size = rng.choice((None, "0", "0", "1", "2", "3", "7", "16", "64"))
        self.simd = rng.random()        # a place in the list of the machine's levels
        self.filter_pushdown = rng.random() < 0.75
        self.aggregate_pushdown = rng.random() < 0.75
        self.parallel = rng.random() < PARALLEL_SHARE   # asked in parallel, too

    # -- file contents ------------------------------------------------------

    def value(self, column, mode):
        """Text of a value, or None for the NULL marker."""
        rng = self.rng
        kind = column.kind
        required = kind.sql == "pd_required"
        if rng.random() < 0.1 and not required and not (
                mode == "clean" and column.force_not_null and self.null_is_bad(kind)):
            return None
        doubtful = 0.0 if mode == "clean" else 0.3 if self.on_error == "ignore" else 0.06
        if rng.random() < doubtful:
            text = kind.dubious(rng, self.context)
        else:
            text = kind.valid(rng, self.context)
            if len(column.seen) < 20:
                column.seen.append(text)
        if mode == "clean" and required and text == self.null:
            text += "x"
        return text

    def null_is_bad(self, kind):
        return kind is not datatypes.TEXT

    def field(self, text, first):
        """One field as it stands in the file."""
        rng = self.rng
        if text is None:
            return self.null
        risky = text in (self.null, self.marker) or any(
            c in text for c in (self.delimiter, self.quote, "\r", "\n")) or (
                first and text.startswith("\\."))
        r = rng.random()
        if not risky and r < 0.6:
            return text
        if r < 0.92 or len(text) < 2 or text in (self.null, self.marker):
            return self.quoted(text)
        out = []
        at = 0
        while at < len(text):           # quotes that open and close in mid-field
            n = rng.randint(1, 4)
            piece = text[at:at + n]
            at += n
            plain = not any(c in piece for c in (self.delimiter, self.quote, "\r", "\n"))
            out.append(piece if plain and rng.random() < 0.5 and not (first and at == n)
                       else self.quoted(piece))
        # Two quoted pieces side by side would read as one escaped quote.
        joined = out[0]
        for piece in out[1:]:
            if joined.endswith((self.quote, self.escape)) and piece.startswith(self.quote):
                return self.quoted(text)
            joined += piece
        if joined in (self.null, self.marker):
            return self.quoted(text)
        return joined

    def quoted(self, text):
        out = []
        for c in text:
            if c in (self.quote, self.escape):
                out.append(self.escape)
            out.append(c)
        return self.quote + "".join(out) + self.quote

    def row_count(self):
        rng = self.rng
        return {"tiny": rng.randint(0, 3), "small": rng.randint(1, 14),
                "medium": rng.randint(10, 60), "large": rng.randint(300, 900)}[self.size]

    def structured(self):
        rng = self.rng
        columns = self.file_columns
        mode = self.mode if self.mode == "values" else "clean"
        rows = self.row_count()
        if self.size == "large" and rng.random() < 0.5:
            rows = rng.randint(2, 8)
            self.context.long_share = 0.2
            self.context.long_length = rng.choice((3000, 20000, 65530, 70000))
        lines = []
        if self.header == "match":
            lines.append(self.delimiter.join(self.field(c.name, i == 0)
                                             for i, c in enumerate(columns)))
        elif self.header == "true":
            lines.append(self.delimiter.join(
                self.field(self.context.text(rng, rng.randint(0, 8)), i == 0)
                for i in range(rng.randint(1, 4))))
        for _ in range(rows):
            fields = []
            for i, c in enumerate(columns):
                if c.default is not None and rng.random() < 0.2:
                    fields.append(self.marker)
                else:
                    fields.append(self.field(self.value(c, mode), i == 0))
            line = self.delimiter.join(fields)
            if line == "\\." and self.version < 18:
                line = self.quoted("\\.")
            lines.append(line)
        text = self.eol.join(lines)
        if lines and rng.random() < 0.75:
            text += self.eol
        if rng.random() < 0.02:
            text += "\\." + self.eol + "after the marker, whatever"
        return self.encode(text)

    def encode(self, text):
        return text.encode(self.codec, "replace")

    def damage(self, data):
        """A few changes that make the file hostile."""
        rng = self.rng
        data = bytearray(data)
        e = self.encode
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            at = rng.randint(0, len(data))
            if rng.random() < 0.3:      # rather at the start of a line
                starts = [i + 1 for i, b in enumerate(data) if b in (10, 13)] + [0]
                at = rng.choice(starts)
            r = rng.randint(0, 15)
            if r == 0:
                data[at:at] = e(rng.choice((self.quote, self.escape, self.delimiter)))
            elif r == 1:
                data[at:at] = rng.choice((b"\n", b"\r", b"\r\n", b"\n\n", b"\n\r", b"\r\r\n"))
            elif r == 2:
                del data[at:at + 1]
            elif r == 3:
                del data[at:]
            elif r == 4:
                data[at:at] = rng.choice((b"\\.", b"\\.\n", b"\\.\r\n", b"\\.\r", b"\n\\.\n",
                                          b"\\.x", b"\\..", b"\\", b"\n\\.\r"))
            elif r == 5:
                data[at:at] = rng.choice((b"\0", b"\xff", b"\x80", b"\xc0\x80", b"\xed\xa0\x80",
                                          b"\xf4\x90\x80\x80", b"\xe3\x81", b"\xc3", b"\xfe\xff",
                                          b"\x81\x30", b"\xa1", b"\x8f\xa1", b"\x8e", b"\xf0\x9f\x98"))
            elif r == 6:
                data.extend(rng.choice((b"\xe3\x81", b"\xc3", b"\xf0\x9f", b"\x83", b"\x8f\xb0",
                                        b"\\", b"\\.", e(self.quote), b"\r", b"\n\n")))
            elif r == 7:
                data[0:0] = b"\xef\xbb\xbf"
            elif r == 8:
                lines = bytes(data).split(e(self.eol))
                i = rng.randrange(len(lines))
                if rng.random() < 0.5:
                    lines[i] += e(self.delimiter) + rng.choice((b"", b"x"))
                else:
                    lines[i] = lines[i].rpartition(e(self.delimiter))[0]
                data = bytearray(e(self.eol).join(lines))
            elif r == 9:
                data[at:at] = e(rng.choice((self.null, self.marker or "x", self.quote + self.null
                                            + self.quote)))
            elif r == 10 and data:
                i = rng.randrange(len(data))
                data[i] = rng.randrange(256)
            elif r == 11:
                other = rng.choice(("\n", "\r\n", "\r"))
                data = bytearray(bytes(data).replace(e(self.eol), e(other), rng.randint(1, 3)))
            elif r == 12:
                data[at:at] = e(self.eol)
            elif r == 13:
                data[at:at] = data[at:at + rng.randint(1, 20)]
            elif r == 14:
                data[at:at] = e(self.eol + "\\." + rng.choice(
                    (self.eol, "", " " + self.eol, self.delimiter, "\n", "\r")))
            else:
                data[at:at] = e(self.quote + rng.choice(("", self.eol, self.delimiter, "\\.")) +
                                self.quote)
        return bytes(data)

    def soup(self):
        rng = self.rng
        few = len(self.file_columns) == 1
        alphabet = [self.quote, self.quote, self.escape, "a", "b", self.eol, self.eol]
        alphabet += [self.delimiter] if few and rng.random() < 0.3 else \
            [self.delimiter] * (0 if few else 2)
        for extra, share in (("\n", 0.2), ("\r", 0.2), ("\\.", 0.4), ("\\", 0.3), (".", 0.3),
                             (self.null, 0.4), (self.marker or "", 0.4), ("é", 0.3), (" ", 0.2),
                             (self.eol + "\\." + self.eol, 0.1)):
            if rng.random() < share:
                alphabet.append(extra)
        data = self.encode("".join(rng.choice(alphabet) for _ in range(rng.randint(0, 120))))
        if rng.random() < 0.1:
            at = rng.randint(0, len(data))
            data = data[:at] + bytes([rng.randrange(256)]) + data[at:]
        return data

    # -- SQL ----------------------------------------------------------------

    def options(self, path, extra=None):
        o = {"program": "cat '%s'" % path} if self.program else {"filename": path}
        o["format"] = "csv"
        if self.header != "false" or self.number % 3 == 0:
            o["header"] = self.header
        if self.delimiter != "," or self.number % 3 == 1:
            o["delimiter"] = self.delimiter
        if self.quote != '"' or self.number % 5 == 1:
            o["quote"] = self.quote
        if self.escape != self.quote or self.number % 5 == 2:
            o["escape"] = self.escape
        if self.null != "" or self.number % 5 == 3:
            o["null"] = self.null
        if self.file_encoding is not None:
            o["encoding"] = self.file_encoding
        if self.marker is not None:
            o["default"] = self.marker
        for key, value in (extra or {}).items():
            o[key] = value
        return o

    def error_options(self):
        o = {}
        if self.on_error:
            o["on_error"] = self.on_error
            if self.reject_limit:
                o["reject_limit"] = str(self.reject_limit)
            if self.log_verbosity:
                o["log_verbosity"] = self.log_verbosity
        return o

    def create(self, table, server, options, as_text=False):
        """DDL for the table on a server; its history included."""
        codec = self.database_codec
        definitions = [c.definition(codec, as_text) for c in self.columns]
        later = []
        if self.added:
            later.append("ALTER FOREIGN TABLE %s ADD COLUMN %s" % (table, definitions.pop()))
        for i, at in enumerate(self.dropped):
            definitions.insert(min(at, len(definitions)), "gone%d int" % i)
            later.insert(0, "ALTER FOREIGN TABLE %s DROP COLUMN gone%d" % (table, i))
        texts = ", ".join("%s %s" % (k, to_sql(literal(v), codec)) for k, v in options.items())
        return ";\n".join(["CREATE FOREIGN TABLE %s (%s) SERVER %s OPTIONS (%s)" % (
            table, ", ".join(definitions), ident(server), texts)] + later)
