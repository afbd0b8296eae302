"""Cyclic joins on a device, with the host SIMT layer in a device's place: what is
shown, full, cancelled or failing, and what is left then.  Uses the helpers of
test/faults/device.py.

Must not: compare answers of queries at large; differential, corpus and graphs do.
"""

import json
import os
import time
import xml.etree.ElementTree

import device
from device import ALLOC, KINDS, LAUNCH, configured, control, inject, memory, nothing_wrong
from faults import COUNT, NODE, TRIANGLE
from harness import Background, Failed, eventually, test

ALGORITHMS = ("lftj", "optimized", "degree")
GROUPS = "SELECT a.src, count(*) FROM %s GROUP BY a.src" % TRIANGLE
ROWS = "SELECT a.src, a.dst, b.dst FROM " + TRIANGLE
COLUMNS = "SELECT a.s, b.w, c.s FROM " + TRIANGLE
EVERY = (COUNT, GROUPS, ROWS, COLUMNS)


def session(c, backend="cuda", algorithm="auto"):
    """A session of its own, which has used no device yet; the node wins."""
    s = c.connect()
    s.execute("LOAD 'parparaw_fdw'; SET parparaw.join_cost_factor = 0;"
              "SET parparaw.cuda_library = '%s'; SET parparaw.backend = %s;"
              "SET parparaw.cuda_probe = ''; SET parparaw.cuda_min_file_size = 0;"
              "SET parparaw.cuda_join_algorithm = %s; SET work_mem = '64MB'" % (
                  device.SIMT, backend, algorithm))
    return s


def edges(c, rows=300, modulus=(23, 29)):
    """Edges with loops, duplicates and NULLs, as a heap table with columns to go along."""
    c.s.execute("LOAD 'parparaw_fdw';"
                "CREATE TABLE e (src bigint, dst bigint, w int, s text);"
                "INSERT INTO e SELECT g %% %d, (g * 7 + g / 5) %% %d, g %% 10, 's' || g"
                " FROM generate_series(1, %d) g;"
                "INSERT INTO e VALUES (NULL, 3, 1, 'n'), (4, NULL, 2, 'n'), (5, 5, 3, 'l');"
                "ANALYZE e" % (modulus + (rows,)))


def answers(s, sql):
    return sorted(s.query(sql), key=repr)


def plain(c, sql):
    """What core's joins give."""
    c.s.execute("SET parparaw.enable_join = off")
    rows = answers(c.s, sql)
    c.s.execute("RESET parparaw.enable_join")
    return rows


def node(s, sql, options="ANALYZE, VERBOSE"):
    """The join's node of EXPLAIN."""
    plan = s.value("EXPLAIN (%s, FORMAT json) %s" % (options, sql))
    found = (plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"]
    while found.get("Custom Plan Provider") != NODE:
        if "Plans" not in found:
            raise Failed("no node in the plan of " + sql)
        found = found["Plans"][0]
    return found


def held_as_before(c, s, before, what):
    """The library keeps blocks for the next join, within what it had at first."""
    left = memory(s)
    c.check(left["device"] <= 2 * before["device"] and left["pinned"] <= 2 * before["pinned"] and
            left["streams"] <= before["streams"] and left["events"] <= before["events"] and
            left["leaked"] == 0, "%s: %s held at first, %s afterwards" % (what, before, left))
    nothing_wrong(c, s, what)


@test()
def explained_in_every_format(c):
    edges(c)
    for algorithm in ALGORITHMS:
        s = session(c, algorithm=algorithm)
        for sql in EVERY:
            n = node(s, sql)
            c.check(n["Backend"].startswith("cuda (") and "Handed over to CPU" not in n, "%s" % n)
            if algorithm == "degree" and sql in (COUNT, GROUPS):
                c.equal(n["Backend"], "cuda (degree)", sql)
            if algorithm != "degree":
                c.check("Degree Declined" not in n, "%s" % n)
                c.equal(n["Backend"], "cuda (%s)" % algorithm, sql)
                c.equal(node(s, sql, "VERBOSE")["Backend"], n["Backend"], "planned and run")
                c.check(len(n["Variable Order"]) == 3 and
                        (n["Seeks"] > 0 or algorithm != "lftj"), "%s" % n)
            c.check(n["Device Launches"] > 0 and n["Device Boxes"] == 1, "%s" % n)
            c.check(n["Device Bytes"]["H2D"] > 0 and n["Device Bytes"]["D2H"] > 0 and
                    n["Device Bytes"]["Peak Memory"] > 0, "%s" % n["Device Bytes"])
            c.check(n["Keys"] >= 29 and n["Peak Memory Usage"] > 0, "%s" % n)
            text = "\n".join(r[0] for r in s.query("EXPLAIN (ANALYZE) " + sql))
            for what in ("Backend: cuda (", "Device Timing: start-up=", "Device Bytes: h2d=",
                         "Device Launches: ", "Device Boxes: 1"):
                c.check(what in text, "no %s in %s" % (what, text))
            xml.etree.ElementTree.fromstring(s.value("EXPLAIN (ANALYZE, FORMAT XML) " + sql))
            c.check("Device Timing" not in "\n".join(
                r[0] for r in s.query("EXPLAIN (ANALYZE, TIMING OFF) " + sql)), "without times")
        s.close()
    # a clique of a symmetric relation is what degree is for
    c.s.execute("CREATE TABLE f AS SELECT src, dst FROM e WHERE src <> dst UNION"
                " SELECT dst, src FROM e WHERE src <> dst; ANALYZE f")
    s = session(c, algorithm="degree")
    triangle = "SELECT count(*) FROM " + TRIANGLE.replace("e a, e b, e c", "f a, f b, f c")
    c.equal(node(s, triangle)["Backend"], "cuda (degree)", "symmetric")
    c.equal(answers(s, triangle), plain(c, triangle), "symmetric")


def counted(table, atoms, group=None, compared=()):
    """Counts the answers of atoms of that table, each a pair of variables: ("xy", "yz", "xz"),
    with comparisons such as "x < y", of columns of two atoms."""
    places = {}
    for i, pair in enumerate(atoms):
        for variable, column in zip(pair, ("src", "dst")):
            places.setdefault(variable, []).append((i, "t%d.%s" % (i, column)))
    where = ["%s = %s" % (p[0][1], other) for p in places.values() for _, other in p[1:]]
    for text in compared:
        left, op, right = text.split()
        where.append(next("%s %s %s" % (a, op, b) for i, a in places[left]
                          for j, b in places[right] if i != j))
    key = places[group][0][1] if group else None
    return "SELECT %scount(*) FROM %s WHERE %s%s" % (
        key + ", " if key else "", ", ".join("%s t%d" % (table, i) for i in range(len(atoms))),
        " AND ".join(where), " GROUP BY " + key if key else "")


@test()
def triangles_of_any_rows_by_degree(c):
    """Duplicates, loops and any directions, in all patterns of a triangle."""
    edges(c, 200)
    control(c)
    c.s.execute(
        "CREATE TABLE once AS SELECT DISTINCT src, dst FROM e WHERE src < dst;"
        "CREATE TABLE mixed AS SELECT DISTINCT src, dst FROM e WHERE src <> dst;"
        "CREATE TABLE twice AS SELECT src, dst FROM once UNION ALL SELECT src, dst FROM once"
        " WHERE src % 3 = 0;"
        "CREATE TABLE loops AS SELECT src, dst FROM once UNION ALL SELECT g % 9, g % 9"
        " FROM generate_series(1, 12) g;"
        "CREATE TABLE only_loops AS SELECT src, dst FROM loops WHERE src = dst; ANALYZE")
    for algorithm, tables in (("degree", ("e", "once", "mixed", "twice", "loops", "only_loops")),
                              ("auto", ("e", "mixed"))):
        s = session(c, algorithm=algorithm)
        for table in tables:
            for pattern in range(8):
                atoms = [pair[::-1] if pattern >> i & 1 else pair
                         for i, pair in enumerate(("xy", "yz", "xz"))]
                compared = ((), ("x <= y", "y < z"), ("x <> y", "y <> z", "x <> z"))[pattern % 3]
                for group in (None, "xyz"[pattern % 3]):
                    sql = counted(table, atoms, group, compared)
                    c.equal(answers(s, sql), plain(c, sql), sql)
                    n = node(s, sql)
                    c.check(n["Backend"] == "cuda (degree)" and "Degree Declined" not in n,
                            "%s: %s" % (sql, n))
        nothing_wrong(c, s, algorithm)
        s.close()


@test()
def why_not_by_degree(c):
    """EXPLAIN (ANALYZE, VERBOSE) says so where that was asked for."""
    edges(c, 200)
    c.s.execute(
        "CREATE TABLE sym AS SELECT src, dst FROM e WHERE src <> dst UNION"
        " SELECT dst, src FROM e WHERE src <> dst;"
        "CREATE TABLE mixed AS SELECT src, dst FROM sym WHERE (src + dst) % 7 > 0 OR src < dst;"
        "CREATE TABLE twice AS SELECT * FROM sym UNION ALL SELECT * FROM sym WHERE src + dst < 30;"
        "CREATE TABLE loops AS SELECT * FROM sym UNION ALL VALUES (3, 3); ANALYZE")
    four = ("ab", "ac", "ad", "bc", "bd", "cd")
    s = session(c, algorithm="degree")
    for sql, why in ((counted("sym", four), None), (counted("mixed", four), None),
                     (counted("twice", four, "b"), None), (counted("loops", four), None),
                     (counted("loops", four, None, ("a < b", "b < c", "c < d")), None),
                     (counted("sym", ("ab", "bc", "cd", "da")), "not a clique"),
                     (COUNT + " AND a.w > 3", "several relations"), (ROWS, "rows are wanted")):
        n = node(s, sql)
        c.equal(n.get("Degree Declined"), why, sql)
        c.equal(n["Backend"], "cuda (degree)" if why is None else "cuda (optimized)", sql)
        c.equal(answers(s, sql), plain(c, sql), sql)
        c.check("Degree Declined" not in node(s, sql, "ANALYZE"), "it is not asked")
    s.execute("SET parparaw.cuda_join_algorithm = auto")
    c.check("Degree Declined" not in node(s, ROWS), "degree is not asked for")
    s.close()
    c.s.execute("CREATE TABLE b AS SELECT g % 801 AS src, (g * 7 + g / 5) % 797 AS dst"
                " FROM generate_series(1, 8000) g; ANALYZE b")
    sql = counted("b", ("xy", "yz", "xz"))
    with configured(c, cuda_max_backends=1, cuda_max_memory=200):
        s = session(c, algorithm="degree")
        c.check(eventually(lambda: s.error(sql) is None), "the last session's slot is not free")
        c.equal(answers(s, sql), plain(c, sql), sql)
        n = node(s, sql)
        c.check(n["Device Boxes"] > 1 and n["Degree Declined"] == "not enough memory", "%s" % n)
        s.close()


@test()
def auto_weighs(c):
    edges(c)
    s = session(c, "auto")
    c.equal(node(s, COUNT)["Backend"][:6], "cuda (", "from size 0 on")
    # a few rows are not worth a device, nor is what is smaller than the setting says
    for size in ("-1", "'1MB'"):
        s.execute("SET parparaw.cuda_min_file_size = " + size)
        c.equal(node(s, COUNT, "VERBOSE")["Backend"], "cpu", size)
        n = node(s, COUNT)
        c.check(n["Backend"] == "cpu" and "Handed over to CPU" not in n, "%s" % n)
    s.execute("SET parparaw.cuda_min_file_size = 0; SET parparaw.backend = cpu")
    c.equal(node(s, COUNT)["Backend"], "cpu", "cpu")


@test()
def rescans(c):
    edges(c)
    c.s.execute("CREATE TABLE o AS SELECT g AS n FROM generate_series(1, 5) g; ANALYZE o")
    control(c)
    for algorithm in ALGORITHMS:
        s = session(c, algorithm=algorithm)
        s.execute("SET enable_hashjoin = off; SET enable_mergejoin = off;"
                  "SET enable_material = off; SET enable_memoize = off")
        # the same rows again, all of them and some; others each time
        for sql in ("SELECT o.n, q.* FROM o LEFT JOIN (SELECT a.src AS n FROM %s AND a.w > 7"
                    " OFFSET 0) q ON q.n > o.n" % TRIANGLE,
                    "SELECT o.n, (%s AND b.w <= o.n) FROM o" % COUNT,
                    "SELECT o.n, q.* FROM o, LATERAL (SELECT a.s, count(*) FROM %s AND b.w <= o.n"
                    " GROUP BY a.s) q" % TRIANGLE,
                    "SELECT o.n, q.* FROM o, LATERAL (SELECT b.src, count(*) FROM %s AND a.w <= o.n"
                    " GROUP BY b.src) q" % TRIANGLE):
            c.equal(answers(s, sql), plain(c, sql), sql)
        for _ in range(2):
            n = node(s, "SELECT o.n, EXISTS (SELECT 1 FROM %s AND a.src > o.n) FROM o" % TRIANGLE)
            c.equal(n["Backend"][:6], "cuda (", "backend")
        nothing_wrong(c, s, algorithm)
        s.close()


@test()
def every_call_may_fail(c):
    """Each call of a kind fails once, then all from that one on: an error with "cuda", or the
    CPU's answer for want of memory; the CPU's answer with "auto", of which no row is lost or
    doubled."""
    edges(c, 250)
    control(c)
    expected = {sql: plain(c, sql) for sql in EVERY}
    failures = 0
    for kind, what in KINDS.items():
        for backend, algorithm in (("cuda", "lftj"), ("auto", "lftj"), ("auto", "optimized"),
                                   ("cuda", "degree")):
            s = session(c, backend, algorithm)
            for sql in EVERY:
                c.equal(answers(s, sql), expected[sql], sql)
            held = memory(s)
            for nth in (1, 2, 3, 5, 8, 13, 21, 34, 55):
                for sql in EVERY if nth < 6 else EVERY[:3]:
                    inject(s, kind, nth, nth % 2 == 0)
                    label = "%s %d, %s, %s: %s" % (what, nth, backend, algorithm, sql)
                    e = s.error(sql) if backend == "cuda" else None
                    if e:
                        failures += 1
                        c.check(e.state in ("53200", "58000") and e.hint,
                                "%s: %s %s" % (label, e.state, e.message))
                    elif backend == "auto":
                        c.equal(answers(s, sql), expected[sql], label)
                    inject(s, kind, 0)
            for sql in EVERY:
                c.equal(answers(s, sql), expected[sql], "afterwards: " + sql)
            c.equal(node(s, COUNT)["Backend"][:6], "cuda (", "afterwards")
            s.value("SELECT pd_simt_report('%s')" % device.SIMT)    # of what was injected
            c.equal(answers(s, COUNT), expected[COUNT], "afterwards")
            held_as_before(c, s, held, what)
            s.close()
    c.check(failures > 20, "only %d failures" % failures)


@test()
def rows_that_were_returned_stay(c):
    """A device that fails behind its first rows: the CPU gives the others."""
    edges(c, 400)
    c.s.execute("CREATE TABLE f AS SELECT src / 12 AS src, dst / 12 AS dst, w, s FROM e LIMIT 60;"
                "ANALYZE f")
    control(c)
    few = "e a, e b, e c", "f a, f b, f c"
    queries = (ROWS, COLUMNS, GROUPS, ROWS.replace(*few), COLUMNS.replace(*few))
    failures = 0
    for algorithm in ("lftj", "optimized"):
        for backend in ("auto", "cuda"):
            s = session(c, backend, algorithm)
            for sql in queries:
                expected = plain(c, sql)
                for fetched in (1, 5, 60, 1100):
                    s.execute("BEGIN; DECLARE k CURSOR FOR " + sql)
                    rows = s.query("FETCH %d FROM k" % fetched)
                    inject(s, LAUNCH, 1, True)
                    if backend == "cuda":
                        e = s.error("FETCH ALL FROM k")
                        failures += e is not None
                        s.execute("ROLLBACK")
                        inject(s, LAUNCH, 0)
                        continue
                    rows += s.query("FETCH ALL FROM k")
                    inject(s, LAUNCH, 0)
                    s.execute("ROLLBACK")
                    c.equal(sorted(rows, key=repr), expected, "%s, %d first" % (sql, fetched))
                # answers that begin anew are whole ones
                c.equal(answers(s, sql), expected, sql)
            s.close()
    c.check(failures > 8, "only %d failures" % failures)


@test()
def cancelled_soon(c):
    """Counting for minutes, and rows without end; both end within 100 ms."""
    edges(c, 40000, (1999, 2003))
    control(c)
    walks = ("SELECT count(*) FROM e a, e b, e c, e d, e f WHERE b.src = a.dst AND c.src = b.dst"
             " AND d.src = c.dst AND f.src = d.dst AND f.dst = a.src")
    rows = "SELECT max(a.s || c.s) FROM e a, e b, e c, e d WHERE b.src = a.dst AND" \
        " c.src = b.dst AND d.src = c.dst AND d.dst = a.src"
    for algorithm in ("lftj", "optimized"):
        s = session(c, algorithm=algorithm)
        c.equal(node(s, COUNT + " AND a.src < 5 AND b.src < 5")["Backend"][:6], "cuda (", "backend")
        held = memory(s)
        for sql in (walks, rows):
            late = []
            for timeout in (30, 100, 250, 60, 150):
                s.execute("SET statement_timeout = %d" % timeout)
                started = time.time()
                e = s.error(sql)
                late.append(time.time() - started - timeout / 1000.0)
                s.execute("SET statement_timeout = '120s'")
                c.check(e is not None and e.state == "57014", "%s: %s" % (sql, e))
            # a busy machine may be late, but not each time
            c.check(sorted(late)[2] < 0.1, "%s: %s of %s" % (
                algorithm, ", ".join("%.3f" % x for x in late), sql))
            b = Background(s, sql)
            time.sleep(0.15)
            started = time.time()
            c.query_is("SELECT pg_cancel_backend(%d)" % s.pid, [True])
            b.join(10)
            c.check(not b.is_alive() and b.error is not None and b.error.state == "57014",
                    "%s" % b.error)
            c.check(time.time() - started < 3, "cancel took %.2f s" % (time.time() - started))
        nothing_wrong(c, s, "after cancels")
        left = memory(s)
        c.check(left["streams"] <= held["streams"] and left["events"] <= held["events"] and
                left["leaked"] == 0, "%s held at first, %s afterwards" % (held, left))
        # a session that is ended in the middle
        pid = s.pid
        b = Background(s, walks)
        time.sleep(0.15)
        c.query_is("SELECT pg_terminate_backend(%d)" % pid, [True])
        b.join(10)
        c.check(not b.is_alive(), "not terminated")
        c.check(eventually(lambda: not c.s.query(
            "SELECT 1 FROM pg_stat_activity WHERE pid = %d" % pid)), "the process is there")
    c.query_is("SELECT count(*) > 0 FROM e", [True])


@test()
def nothing_is_left_of_joins_that_do_not_end(c):
    edges(c)
    control(c)
    bad = "SELECT 10 / (a.w - b.w), a.s FROM " + TRIANGLE
    for algorithm in ("lftj", "optimized"):
        s = session(c, algorithm=algorithm)

        def all_of_it():
            c.fails(bad, "22012", session=s)
            for sql in (ROWS, COLUMNS, GROUPS):
                s.execute("BEGIN; DECLARE k CURSOR FOR %s; FETCH 10 FROM k; CLOSE k; COMMIT" % sql)
                s.execute("BEGIN; DECLARE k CURSOR FOR %s; FETCH 10 FROM k; ROLLBACK" % sql)
            s.execute("BEGIN; DECLARE k CURSOR FOR %s; FETCH 3 FROM k; SAVEPOINT x" % COLUMNS)
            s.error(bad)
            s.execute("ROLLBACK TO x")
            s.query("FETCH ALL FROM k")
            s.execute("ROLLBACK")
            s.query(ROWS + " LIMIT 3")
            s.query("SELECT EXISTS (SELECT 1 FROM %s)" % TRIANGLE)
            s.query("SELECT n, (SELECT a.s FROM %s AND a.src > n LIMIT 1)"
                    " FROM generate_series(1, 3) n" % TRIANGLE)
            s.execute("DO $$ BEGIN PERFORM 1 / (a.w - a.w) FROM %s; EXCEPTION WHEN OTHERS THEN"
                      " END $$" % TRIANGLE)

        all_of_it()
        held = memory(s)
        for _ in range(5):
            all_of_it()
        held_as_before(c, s, held, algorithm)
        c.equal(s.query("SELECT name FROM pg_backend_memory_contexts"
                        " WHERE name ILIKE '%parparaw%join%'"), [], "memory contexts")
        # two joins at a time, one closed before the other ends
        s.execute("BEGIN; DECLARE k CURSOR FOR %s; DECLARE l CURSOR FOR %s" % (ROWS, GROUPS))
        first = s.query("FETCH 20 FROM k") + s.query("FETCH 2 FROM l")
        s.execute("CLOSE l")
        rest = s.query("FETCH ALL FROM k")
        s.execute("COMMIT")
        c.equal(sorted(first[:20] + rest, key=repr), plain(c, ROWS), "rows of two")
        s.close()


@test()
def sessions_and_memory_are_limited(c):
    edges(c)
    expected = plain(c, COUNT)
    with configured(c, cuda_max_backends=1):
        a = session(c)
        c.equal(answers(a, COUNT), expected, "first session")
        c.fails(COUNT, "53400", "too many sessions use a device", session=session(c))
        auto = session(c, "auto")
        c.equal(answers(auto, COUNT), expected, "auto without a slot")
        c.equal(node(auto, COUNT)["Backend"], "cpu", "auto without a slot")
        a.close()
        b = session(c)
        c.check(eventually(lambda: b.error(COUNT) is None), "the slot is not free")


@test()
def boxes(c):
    """Joins that do not fit a session's share of device memory."""
    edges(c, 8000, (801, 797))
    queries = (COUNT, GROUPS, ROWS + " AND a.w < 3", COLUMNS + " AND a.w < 2")
    expected = {sql: plain(c, sql) for sql in queries}
    most = 0
    for kilobytes in (512, 160, 64):
        with configured(c, cuda_max_backends=1, cuda_max_memory=kilobytes):
            for algorithm in ("lftj", "optimized"):
                s = session(c, algorithm=algorithm)
                c.check(eventually(lambda: s.error(COUNT + " AND a.src < 5") is None),
                        "the last session's slot is not free")
                for sql in queries if kilobytes > 64 else (ROWS + " AND a.src < 400",):
                    label = "%d kB, %s: %s" % (kilobytes, algorithm, sql)
                    c.equal(answers(s, sql), expected.get(sql) or plain(c, sql), label)
                    n = node(s, sql)
                    c.check(n["Device Bytes"]["Peak Memory"] <= kilobytes * 1024, "%s: %s" % (
                        label, n["Device Bytes"]))
                    if n["Backend"] == "cpu":
                        c.equal(n["Handed over to CPU"], "not enough memory", label)
                    else:
                        most = max(most, n["Device Boxes"])
                s.close()
    c.check(most > 1, "nothing was cut into boxes")


@test()
def scans_that_have_ended_hold_nothing(c):
    """What scans take on the device while they read is there for the next one and the join."""
    control(c)
    lines = "".join("%d,%d\n" % (g * 31 % 2003, g * 17 % 1999) for g in range(20000))
    for name in ("p1", "p2", "p3"):
        c.table(name, "src bigint, dst bigint", lines)
    tables = TRIANGLE.replace("e a, e b, e c", "p1 a, p2 b, p3 c")
    queries = ("SELECT count(*) FROM " + tables,
               "SELECT count(*) FROM %s AND a.src < 900 AND b.src > 5" % tables)
    expected = {sql: plain(c, sql) for sql in queries}
    with configured(c, cuda_max_backends=1, cuda_max_memory=2500):
        s = session(c, algorithm="lftj")
        s.execute("SET parparaw.cuda_partition_size = '1MB'")
        c.check(eventually(lambda: s.error("SELECT count(src) FROM p1") is None),
                "the last session's slot is not free")
        for sql in queries:
            c.equal(answers(s, sql), expected[sql], sql)
            n = node(s, sql)
            c.check(n["Backend"] == "cuda (lftj)" and n["Device Boxes"] == 1, "%s" % n)
        nothing_wrong(c, s, "scans that have ended")
        s.close()


@test()
def files_that_stay_on_the_device(c):
    """Keys that a device has parsed are joined where they are; what it does not know comes
    from the host, and everything does where the device stops."""
    edges(c, 500)
    control(c)
    pairs = c.s.query("SELECT src, dst FROM e WHERE src IS NOT NULL AND dst IS NOT NULL")
    odd = {3: "+%d", 70: " %d", 200: "0%d"}     # as the input function reads them
    for form in ("csv", "ndjson", "json"):
        lines = []
        for i, (a, b) in enumerate(pairs):
            text = odd.get(i, "%d") % a
            lines.append("%s,%d\n" % (text, b) if form == "csv" else
                         '{"src": %s, "dst": %d}\n' % (
                             '"%s"' % text if i in odd else text, b))
        name = "f_" + form
        c.table(name, "src bigint, dst int", "".join(lines), format=form)
        both = TRIANGLE.replace("e a, e b, e c", "{0} a, {0} b, {0} c".format(name))
        mixed = TRIANGLE.replace("e a, e b, e c", "{0} a, e b, {0} c".format(name))
        for tables in (both, mixed):
            queries = ("SELECT count(*) FROM " + tables,
                       "SELECT a.src, count(*) FROM %s GROUP BY 1" % tables,
                       "SELECT a.src, c.dst FROM " + tables,
                       "SELECT count(*) FROM %s AND a.src < 9" % tables,
                       "SELECT n, (SELECT count(*) FROM %s AND a.src > n)"
                       " FROM generate_series(1, 3) n" % tables)
            expected = {sql: plain(c, sql) for sql in queries}
            for algorithm in ("lftj", "degree"):
                s = session(c, algorithm=algorithm)
                s.execute("SET parparaw.cuda_partition_size = '1kB';"
                          " SET parparaw.cuda_pipeline = 'fused'")
                for sql in queries:
                    c.equal(answers(s, sql), expected[sql], sql)
                n = node(s, queries[0])
                c.equal(n["Backend"][:6], "cuda (", "%s" % n)
                c.check(n["Rows Kept on Device"] > 400, "they have not stayed there: %s" % n)
                nothing_wrong(c, s, algorithm)
                # relations in files are the CPU's
                s.execute("SET work_mem = '64kB'; SET hash_mem_multiplier = 1")
                c.equal(answers(s, queries[2]), expected[queries[2]], "little memory")
                s.close()
            s = session(c, "auto")
            s.execute("SET parparaw.cuda_partition_size = '1kB';"
                      " SET parparaw.cuda_pipeline = 'fused'")
            for kind, what in KINDS.items():
                for nth in (1, 2, 4, 7, 12, 20, 33, 50, 75, 110):
                    sql = queries[nth % 3]
                    inject(s, kind, nth, nth % 2 == 0)
                    c.equal(answers(s, sql), expected[sql], "%s %d: %s" % (what, nth, sql))
                    inject(s, kind, 0)
            s.close()


@test()
def what_is_read_once(c):
    """Nothing but regular files stays on the device, and what the host has of other children
    is not read anew where the device fails: a program runs once, a pipe is opened once."""
    edges(c, 500)
    control(c)
    lines = "".join("%d,%d\n" % row for row in c.s.query(
        "SELECT src, dst FROM e WHERE src IS NOT NULL AND dst IS NOT NULL"))
    path = c.table("f", "src int, dst int", lines)
    log = c.file("log", "")
    os.chmod(log, 0o666)
    c.table("p", "src int, dst int", program="echo run >>'%s'; cat '%s'" % (log, path))
    both = "SELECT count(*) FROM " + TRIANGLE.replace("e a, e b, e c", "f a, f b, p c")
    alone = "SELECT count(*) FROM " + TRIANGLE.replace("e a, e b, e c", "p a, p b, p c")
    expected = plain(c, both)
    again = 0
    for sql in (both, alone):
        s = session(c, "auto", "lftj")
        s.execute("SET parparaw.cuda_pipeline = 'fused'")
        for kind in KINDS:
            for nth in (0, 1, 2, 4, 7, 9, 12, 20):
                open(log, "w").close()
                inject(s, kind, nth, nth % 2 == 0)
                n = node(s, sql)
                inject(s, kind, 0)
                again += "Handed over to CPU" in n
                with open(log) as f:
                    c.equal(len(f.readlines()), 1, "runs, %s %d: %s" % (kind, nth, n))
                inject(s, kind, nth, nth % 2 == 0)
                c.equal(answers(s, sql), expected, "%s %d" % (kind, nth))
                inject(s, kind, 0)
        s.close()
    c.check(again > 10, "the device has failed %d times" % again)
    s = session(c, algorithm="lftj")
    s.execute("SET parparaw.cuda_pipeline = 'fused'")
    n = node(s, both)
    c.check(n["Backend"] == "cuda (lftj)" and n["Rows Kept on Device"] > 400, "%s" % n)
    n = node(s, alone)
    c.check(n["Backend"] == "cuda (lftj)" and "Rows Kept on Device" not in n, "%s" % n)
    s.close()


@test()
def files_that_change_behind_returned_rows(c):
    """Answers are those of one state of a file, though it be read twice; else it is an error."""
    control(c)
    old = "".join("%d,%d\n" % (g * 31 % 60, g * 17 % 59) for g in range(800))
    new = "".join("%d,%d\n" % (g * 13 % 59, g * 29 % 60) for g in range(801))
    path = c.table("f", "src int, dst int", old)
    tables = TRIANGLE.replace("e a, e b, e c", "f a, f b, f c")
    sql = "SELECT a.src, a.dst, b.dst FROM " + tables
    expected = plain(c, sql)
    failures = 0
    for change in (old, old + "7,7\n", new, "", None):
        for kind, what in KINDS.items():
            s = session(c, "auto", "lftj")
            s.execute("SET parparaw.cuda_pipeline = 'fused'")
            s.execute("BEGIN; DECLARE k CURSOR FOR " + sql)
            rows = s.query("FETCH 5 FROM k")
            if change is None:
                os.unlink(path)
            elif change != old:
                with open(path, "w") as f:
                    f.write(change)
            inject(s, kind, 1, True)
            e = s.error("FETCH ALL FROM k")
            label = "%r, %s" % (change and change[-9:], what)
            if e:
                failures += 1
                c.check(change != old and e.state == "55000" and
                        "was changed while it was being read" in e.message, "%s: %s" % (label, e))
            else:
                c.equal(sorted(rows + s.cursor.fetchall(), key=repr), expected, label)
            s.execute("ROLLBACK")
            inject(s, kind, 0)
            c.file(os.path.basename(path), old)
            c.equal(answers(s, sql), expected, "afterwards")
            s.close()
    c.check(failures >= 3, "only %d failures" % failures)


@test()
def rows_of_the_host_behind_a_full_piece(c):
    """They begin new memory while the device may still fill what was there before."""
    lines = []
    for i in range(1100):
        src = '" 9"' if i == 700 else str(i % 37)
        lines.append('{"src": %s, "dst": %d}\n' % (src, (7 * i + i // 37) % 41))
    for form in ("ndjson", "json"):
        name = "p_" + form
        c.table(name, "src int, dst int", "".join(lines), format=form)
        sql = "SELECT count(*) FROM " + TRIANGLE.replace("e a, e b, e c",
                                                         "{0} a, {0} b, {0} c".format(name))
        expected = plain(c, sql)
        s = session(c, algorithm="lftj")
        for _ in range(15):
            c.equal(answers(s, sql), expected, sql)
        c.check(node(s, sql)["Rows Kept on Device"] == 1099, "they have not stayed there")
        s.close()


@test()
def counts_beyond_what_a_device_counts(c):
    """2^64 and more on the way: the CPU's engine has the last word."""
    c.s.execute("CREATE TABLE e (src int, dst int);"
                "INSERT INTO e SELECT 1, 1 FROM generate_series(1, 3000); ANALYZE e")
    six = ("SELECT count(*) FROM e ab, e ac, e ad, e bc, e bd, e cd WHERE ac.src = ab.src AND"
           " ad.src = ab.src AND bc.src = ab.dst AND bc.dst = ac.dst AND bd.src = ab.dst AND"
           " bd.dst = ad.dst AND cd.src = ac.dst AND cd.dst = ad.dst")
    for algorithm in ALGORITHMS:
        s = session(c, algorithm=algorithm)
        c.equal(s.query(COUNT), [(27000000000,)], algorithm)
        c.fails(six, "22003", "bigint out of range", session=s)
        c.fails(six.replace("count(*)", "ab.src, count(*)") + " GROUP BY 1", "22003", session=s)
        c.equal(s.query(COUNT), [(27000000000,)], algorithm)


@test()
def the_cpu_joins_what_is_spilled(c):
    """What exceeds work_mem goes to files, whose boxes are the CPU's."""
    edges(c, 20000, (2003, 1999))
    s = session(c)
    s.execute("SET work_mem = '64kB'; SET hash_mem_multiplier = 1")
    n = node(s, COUNT)
    c.check(n["Backend"] == "cpu" and n["Boxes"] > 1 and "work_mem" in n["Handed over to CPU"],
            "%s" % n)
    c.equal(answers(s, COUNT), plain(c, COUNT), "count")
