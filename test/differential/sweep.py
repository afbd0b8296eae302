"""Small hostile files read under every partition size and many chunk sizes.

Owns: the files, and the sweep that shows that cuts never change an answer:
each file is read once by file_fdw and then by the server under test with
every partition size from one byte to one more than its length, under several
chunk sizes; all outcomes must be the same.

Must not: be random.
"""

import compare
from server import ident, literal

CHUNKS = ("0", "1", "2", "3", "7", "16")

TWO = "a text, b text"
THREE = "a text, b text, c text"
ONE = "a text"


def hostile_files():
    """(name, database, columns, options, bytes)."""
    q = b'"'
    files = []

    def add(name, data, columns=TWO, database="UTF8", **options):
        assert len(data) < 300, name
        files.append((name, database, columns, options, data))

    # Quotes
    add("plain", b"a,b\nc,d\n")
    add("quoted newlines", b'"a\nb",1\n"c\r\nd\n\n",2\n"\n",3\n')
    add("doubled quotes", b'"a""b","""c"""\n"""","d""""e"\n""""""," "" "\n')
    add("quotes in mid-field", b'a"b,c"d,e\nf"\n"g,h""i\n"j,"k"l"\n')
    add("toggles", b'"a"b"c","d"e\nx""y,""""\n""z"",w\n')
    add("unterminated at the end", b'a,b\n"c,d\ne,f\n')
    add("unterminated last byte", b'a,b\nc,"')
    add("quote before the end", b'a,b\nc,"d"')
    add("only quotes", b'"""""""""\n""",""\n', ONE)
    add("empty quoted", b'"",""\n,""\n"",\n,\n')
    add("long quoted", b'"' + b"x,\n" * 60 + b'",end\n' + b'1,2\n')
    add("delimiters in quotes", b'",,,,",","\n",\n,",""\n')
    add("quote runs", b"".join(b'"' + q * (2 * i) + b'",' + b"%d\n" % i for i in range(8)))
    # Escapes
    add("backslash escape", b'"a\\"b","c\\\\"\n"\\\\\\"",x\n\\,"y\\z"\n', escape="\\")
    add("escape outside quotes", b'a\\,b\n"c\\d",\\"e\n\\"\n"f,g\\\\\n', escape="\\")
    add("escape before the end", b'a,"b\\"\n', escape="\\")
    add("escape is last", b'a,b\\', escape="\\")
    add("escape equal to delimiter", b'"a,"b",c\n",,",d\n"e,",f"\n', escape=",")
    add("escape run", b'"' + b"\\" * 20 + b'",1\n"' + b"\\" * 21 + b'"",2\n"x",3\n', escape="\\")
    add("apostrophes", b"'a''b',c\n'd\n',''''\n", quote="'")
    add("quote is a backslash", b'\\a,b\\,c\n\\.\\,d\n\\\\\\\\,e\n', quote="\\")
    add("delimiter is a backslash", b'a\\b\n"c\\d"\\e\n\\.\n', delimiter="\\")
    add("delimiter is a full stop", b'a.b\n\\.b\n\\.\n', delimiter=".")
    add("delimiter is a blank", b'a b\n"c d" e\n f\n', delimiter=" ")
    # Line ends
    add("crlf", b'a,b\r\n"c\r\nd",e\r\nf,g\r\n')
    add("cr", b'a,b\r"c\rd\n",e\rf,g')
    add("crlf without the last", b'a,b\r\nc,d')
    add("half of the last crlf", b'a,b\r\nc,d\r')
    add("crlf then lf", b'a,b\r\nc,d\ne,f\r\n')
    add("crlf then cr", b'a,b\r\nc,d\re,f\r\n')
    add("lf then crlf", b'a,b\nc,d\r\ne,f\n')
    add("lf then cr", b'a,b\nc,"\r"\nd\r,e\n')
    add("cr then crlf", b'a,b\rc,d\r\ne,f\r')
    add("cr then lf", b'a,b\rc,d\ne,f\r')
    add("first line end in quotes", b'"a\r\n\n\r",b\n"c\r\n",d\ne\n')
    add("lines counted by cr", b'"a\n\r",b\r\n"c\r\r\n",d\r\n"x\n\n\r",y\r\nbad\r\n')
    add("blank lines", b'\n\na\n\n"b"\n\n', ONE)
    add("blank lines, two columns", b'a,b\n\nc,d\n')
    add("only line ends", b'\r\n\r\n\r\n', ONE)
    add("only cr", b'\r', ONE)
    add("cr at the end", b'a\r', ONE)
    add("empty file", b'')
    add("one byte", b'x', ONE)
    # Fields
    add("extra field", b'a,b\nc,d\ne,f,g\nh,i\n')
    add("extra field at the end", b'a,b\nc,d,')
    add("missing field", b'a,b\nc,d\ne\nf,g\n')
    add("extra quoted field", b'a,b\n"c\n","d",","\n')
    add("extra field in broken line", b'a,b\nc,d,e,"f\ng')
    add("no column", b'\n\n\n', "")
    add("no column, but data", b'\n\nx\n', "")
    add("null markers", b'NULL,"NULL"\n"NU"LL,NULL\nNULLX,xNULL\n NULL,NULL ', null="NULL")
    add("number, then a bad one", b'1,x\n22,"y\nz"\n-333,\n4x4,w\n5,v\n', "a int, b text")
    add("bad number after quoted lines", b'1,"\n\n"\n2,"\n"\n"\n3x",\n', "a int, b text")
    add("floats", b"0.1,1e23\n9007199254740993,4.9e-324\n-0,1.7976931348623157e308\n"
        b"123456789012345678901234567890,0.30000000000000004\n", "a float8, b float8")
    add("numerics and dates", b"1.50,2019-03-10\n-0.000,0044-03-15 BC\n1e10,infinity\n"
        b"NaN,2019-02-30\n", "a numeric, b date")
    # End-of-data marker
    add("marker", b'a,b\n\\.\nc,d\n')
    add("marker first", b'\\.\na,b\n')
    add("marker last, no line end", b'a,b\n\\.')
    add("marker with more on its line", b'a,b\n\\.x,c\n\\.,d\n\\. ,e\n')
    add("marker quoted", b'"\\.",a\n"\n\\.\n",b\n')
    add("marker, crlf", b'a,b\r\n\\.\r\nc,d\r\n')
    add("marker, wrong line end", b'a,b\r\n\\.\nc,d\r\n')
    add("marker, cr in an lf file", b'a,b\n\\.\rc,d\n')
    add("marker, half of crlf", b'a,b\r\n\\.\r')
    add("marker, crlf in an lf file", b'a,b\n\\.\r\nc,d\n')
    add("marker in mid-line", b'a\\.\nb\n', ONE)
    add("backslashes", b'\\\n\\\\\n\\n\n\\..\n', ONE)
    add("backslash at the end", b'a\n\\', ONE)
    add("marker after quoted part", b'""\\.\na\n', ONE)
    # Header
    add("header", b'"x\ny",z,w\na,b\nc\n', header="true")
    add("header matches", b'a,"b"\n1,2\n3\n', header="match")
    add("header does not match", b'a,x\n1,2\n', header="match")
    add("header is short", b'a\n1,2\n', header="match")
    add("header only", b'a,b', header="match")
    add("header unterminated", b'a,"b\n1,2\n', header="true")
    add("header marker", b'\\.\n1,2\n', header="true")
    # Encodings
    add("utf8", "é,漢\n\"字\nあ\",😀\n\u3000,ü\n".encode())
    add("utf8 marker", b"\xef\xbb\xbfa,b\nc,d\n")
    add("invalid byte", b'a,b\nc,\xff\nd,e\n')
    add("invalid byte in quotes", b'a,b\n"c\n\xe3\x28",e\n')
    add("cut character at the end", b'a,b\nc,\xe3\x81')
    add("cut character, then a line", b'a,b\nc,\xe3\x81\nd,e\n')
    add("overlong", b'a,\xc0\xaf\n')
    add("surrogate", b'a,b\nc,\xed\xa0\x80\n')
    add("cr, cr, invalid byte", b"a\r\r\xffa\r", ONE)
    add("cr, cr, cr, invalid byte", b"a\rb\r\r\r\xffa\r", ONE)
    add("crlf, cr, invalid byte", b"a\r\nb\r\n\r\xff\n", ONE)
    add("crlf in quotes, invalid byte", b"a\r\n\"b\r\r\xff\"\r\n", ONE)
    add("marker, invalid byte", b"a\n\\.\n\xff", ONE)
    add("marker, invalid byte next", b"a\n\\.\xff\n", ONE)
    add("backslash, invalid byte", b"a\n\\\xff\n", ONE)
    add("marker, cr, invalid byte", b"a\r\n\\.\r\xff\n", ONE)
    add("marker in a cr file, invalid byte", b"a\r\\.\r\xff\r", ONE)
    add("zero byte", b'a,b\nc,d\0\ne,f\n')
    add("zero byte first", b'\0a,b\n')
    add("error order: field, then encoding", b'a,b\nc\nd,\xff\n')
    add("error order: encoding, then field", b'a,b\nc\xff\nd,e\n')
    add("error order: extra field and encoding", b'a,b\nc,d,e\xff\n')
    add("latin1 file", "é,ÿ\n\"ä\nö\",ß\n".encode("latin-1"), encoding="LATIN1")
    add("sjis file", "ソ,表|\n\"能\n予\",ポ\n".encode("cp932"), encoding="SJIS")
    add("sjis, trail byte is the delimiter", "ポ|ソ\n\"ポ|\"|表\n".encode("cp932"),
        delimiter="|", encoding="SJIS")
    add("sjis, cut at the end", "表,a\nb,".encode("cp932") + b"\x83", encoding="SJIS")
    add("big5 file", "功,許\n\"蓋\",a\\b\n".encode("big5"), encoding="BIG5", escape="\\")
    add("gb18030 file", "ä,漢\n\"昞\n\",中\n".encode("gb18030"), encoding="GB18030")
    add("gbk, untranslatable", b'a,b\nc,\x80\nd,e\n', encoding="GBK")
    add("johab file", "하,글\n\"ㄱ\",한\n".encode("johab"), encoding="JOHAB")
    add("euc_jp database", "あ,い\n\"う\nえ\",お\n".encode("euc_jp"), database="EUC_JP",
        encoding="EUC_JP")
    add("euc_jp database, invalid", b'a,b\nc,\xa4\nd,e\n', database="EUC_JP", encoding="EUC_JP")
    add("sjis into euc_jp", "ソ,表\nｱ,\"能\n\"\n".encode("cp932"), database="EUC_JP",
        encoding="SJIS")
    add("sql_ascii database", b'\xff,\x80\n"\xfe\n",\xa7\n', database="SQL_ASCII",
        encoding="SQL_ASCII")
    add("latin1 database", b'\xe9\xa7\xff\n"\xa7"\xa7"\n"\n', database="LATIN1",
        encoding="LATIN1", delimiter="\xa7")
    return files


def table(name, server, columns, options):
    return "CREATE FOREIGN TABLE %s (%s) SERVER %s OPTIONS (%s)" % (
        name, columns, ident(server),
        ", ".join("%s %s" % (k, literal(v)) for k, v in options.items()))


def run(databases, workdir, foreign_server, verbose=False):
    """Answers the numbers of files passed and failed."""
    passed = failed = scans = 0
    for name, database, columns, options, data in hostile_files():
        s = databases.servers[database]
        if options.get("header") == "match" and s.version < 15:
            continue
        s.execute("SET DateStyle = 'ISO, MDY'; SET bytea_output = 'hex';"
                  "SET extra_float_digits = 1")
        path = workdir.file("sweep.csv", data)
        o = dict(options, filename=path, format="csv", null=options.get("null", ""))
        o.setdefault("encoding", database)
        s.execute(table("t_ref", "pd_reference", columns, o))
        s.execute(table("t_new", foreign_server, columns, o))
        names = [c.split(" ")[0] for c in columns.split(", ")] if columns else []
        query = "SELECT ARRAY[%s]::text[]::text FROM %%s" % ", ".join(n + "::text" for n in names)
        expected = s.collect([query % "t_ref"])[0]
        s.execute("RESET parparaw.partition_size; RESET parparaw.chunk_size")
        actual = s.collect([query % "t_new"])[0]
        problem = compare.differs(expected, actual)
        if problem:
            problem = "default sizes: %s\n    expected: %s\n    actual:   %s" % (
                problem, expected, actual)
        else:
            cuts = []
            sizes = ["%dB" % n for n in range(1, len(data) + 2)]
            # every partition size with some chunk sizes, and chunks of one large partition
            more = [str(n) for n in range(1, min(len(data), 64) + 2)]
            for level in databases.simd_levels:
                if databases.simd_levels != ["auto"]:
                    s.execute("SET parparaw.simd = " + level)
                    problem = problem or compare.differs(expected, s.collect([query % "t_new"])[0])
                for partitions, chunks in ((sizes, CHUNKS if level == "auto" else ("0", "7")),
                                           (["4kB"], more)):
                    found = s.query(
                        "SELECT w.partition_size, w.chunk_size, (w.outcome).lines,"
                        " (w.outcome).state, (w.outcome).message, (w.outcome).detail,"
                        " (w.outcome).hint, (w.outcome).context FROM pd_collect(%s) AS e,"
                        " LATERAL pd_sweep(%s, %s::text[], %s::text[], e) w",
                        (query % "t_new", query % "t_new", partitions, list(chunks)))
                    cuts += [(level,) + row for row in found]
                    scans += len(partitions) * len(chunks)
                    s.execute("RESET parparaw.partition_size; RESET parparaw.chunk_size")
            if cuts and not problem:
                problem = "%d sizes differ, the first: simd %s, partition %s, chunk %s\n" \
                    "    expected: %s\n    actual:   %s" % (
                        (len(cuts),) + cuts[0][:3] + (expected, compare.Outcome(*cuts[0][3:])))
        s.execute("DROP FOREIGN TABLE t_ref, t_new")
        if databases.simd_levels != ["auto"]:
            s.execute("RESET parparaw.simd")
        if problem:
            failed += 1
            print("sweep over \"%s\" %r, %s: %s" % (name, data, options, problem))
        else:
            passed += 1
            if verbose:
                print("sweep over \"%s\": ok" % name)
    print("sweep: %d files, %d scans" % (passed + failed, scans))
    return passed, failed
