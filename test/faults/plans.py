"""Foreign scans inside plans: rescans, cursors, joins, prepared statements,
parallel queries, values that outlive their batch.

Must not: test files, programs or definitions for their own sake.
"""

import json
import os
import xml.etree.ElementTree

from harness import Background, Failed, cannot_happen, eventually, test

for _row in ("H17", "H19", "H22", "H23"):
    cannot_happen(_row, "it is about replacing joins, in which foreign scans take no part; "
                  "test/joins has the test.")
cannot_happen("H28", "these tests run on the CPU; those of the device (run --simt) have it.")

NUMBERS = "".join("%d,row %d,%d.25\n" % (i, i, i) for i in range(1, 1001))


def numbers(c, partition="1kB"):
    c.s.execute("SET parparaw.partition_size = '%s'" % partition)
    c.table("t", "a int, b text, c float8", NUMBERS)


@test("H01")
def rescan_in_a_nested_loop(c):
    numbers(c)
    c.s.execute("SET enable_hashjoin = off; SET enable_mergejoin = off;"
                "SET enable_material = off; SET enable_memoize = off")
    sql = ("SELECT g, count(*), sum(a), min(b), max(c) FROM generate_series(1, 4) g"
           " LEFT JOIN t ON t.a %% 4 >= g %% 4 %s GROUP BY g ORDER BY g")
    rows = c.s.query(sql % "")
    c.equal([r[1] for r in rows], [750, 500, 250, 1000], "rows of each outer row")
    plan = c.plan("SELECT count(*) FROM generate_series(1, 4) g LEFT JOIN t ON t.a % 4 >= g % 4")
    c.check("Nested Loop" in plan and "Materialize" not in plan, "no bare nested loop:\n" + plan)
    c.s.execute("SET parparaw.partition_size = '1MB'")
    c.equal(c.s.query(sql % ""), rows, "one large partition")


@test("H01")
def lateral_rescan_at_any_point(c):
    numbers(c)
    # stopped early, before the first row, and at the end, many times over
    c.query_is("SELECT g, (SELECT count(*) FROM (SELECT 1 FROM t WHERE g > 0 LIMIT g) s)"
               " FROM generate_series(0, 2000, 500) g",
               [(0, 0), (500, 500), (1000, 1000), (1500, 1000), (2000, 1000)])
    c.query_is("SELECT g, s.a, s.b FROM generate_series(1, 3) g,"
               " LATERAL (SELECT a, b FROM t WHERE a = g * 333 OFFSET 0) s",
               [(1, 333, "row 333"), (2, 666, "row 666"), (3, 999, "row 999")])
    c.query_is("SELECT count(*), sum(s.a) FROM generate_series(1, 5) g,"
               " LATERAL (SELECT a FROM t WHERE a > g - 1 AND false OFFSET 0) s", [(0, None)])


@test()
def correlated_subqueries(c):
    numbers(c)
    c.s.execute("CREATE TABLE h AS SELECT g FROM generate_series(1, 20) g")
    c.query_is("SELECT sum((SELECT count(*) FROM t WHERE t.a <= h.g)),"
               " count(*) FILTER (WHERE EXISTS (SELECT 1 FROM t WHERE t.a = h.g * 100))"
               " FROM h", [(210, 10)])
    c.query_is("SELECT count(*) FROM h WHERE g IN (SELECT a FROM t WHERE b LIKE 'row 1%')", [11])
    c.query_is("SELECT count(*) FROM t x WHERE NOT EXISTS (SELECT 1 FROM t y WHERE y.a = x.a + 1)",
               [1])


@test("H02")
def parallel_queries(c):
    c.s.execute("SET parparaw.partition_size = '1kB'")
    c.tables("a int, b text, c float8", NUMBERS * 20)
    c.s.execute("CREATE TABLE h AS SELECT g AS a FROM generate_series(1, 5000) g;"
                "ANALYZE h; ANALYZE t; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;"
                "SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0")
    force = "debug_parallel_query" if c.version >= 16 else "force_parallel_mode"
    expected = c.s.query("SELECT count(*), sum(a), sum(octet_length(b)) FROM r")
    joined = c.s.query("SELECT count(*), sum(r.a) FROM r JOIN h USING (a)")
    for workers in (0, 1, 2, 4):
        for leader in ("on", "off"):
            for forced in ("off", "on"):
                c.s.execute("SET max_parallel_workers_per_gather = %d;"
                            "SET parallel_leader_participation = %s; SET %s = %s" % (
                                workers, leader, force, forced))
                what = "workers %d, leader %s, forced %s" % (workers, leader, forced)
                c.equal(c.s.query("SELECT count(*), sum(a), sum(octet_length(b)) FROM t"),
                        expected, what)
                c.equal(c.s.query("SELECT count(*), sum(t.a) FROM t JOIN h USING (a)"),
                        joined, what + ", join")


@test("H06")
def cached_plans(c):
    numbers(c)
    c.s.execute("""
        CREATE FUNCTION by_loop() RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE r record; n bigint := 0;
        BEGIN
            FOR i IN 1 .. 8 LOOP
                FOR r IN SELECT a, b FROM t WHERE a <= i LOOP
                    n := n + r.a;
                END LOOP;
            END LOOP;
            RETURN n;
        END $$""")
    c.query_is("SELECT by_loop(), by_loop()", [(120, 120)])
    for mode in ("auto", "force_generic_plan", "force_custom_plan"):
        c.s.execute("SET plan_cache_mode = %s; PREPARE p(int) AS"
                    " SELECT count(*), min(b) FROM t WHERE a > $1" % mode)
        for i in range(7):
            c.query_is("EXECUTE p(%d)" % (990 + i), [(10 - i, "row 1000")])
        c.s.execute("DEALLOCATE p")
    c.s.execute("SET debug_print_parse = on; SET debug_print_rewritten = on;"
                "SET debug_print_plan = on; SET client_min_messages = error")
    c.query_is("SELECT count(*) FROM t WHERE a < 5 AND b LIKE 'row%'", [4])
    c.s.execute("RESET debug_print_parse; RESET debug_print_rewritten; RESET debug_print_plan")


@test("H20")
def null_parameters(c):
    numbers(c)
    for mode in ("auto", "force_generic_plan", "force_custom_plan"):
        c.s.execute("SET plan_cache_mode = %s; PREPARE p(int) AS"
                    " SELECT a FROM t WHERE a = $1" % mode)
        for _ in range(7):
            c.query_is("EXECUTE p(NULL)", [])
        c.query_is("EXECUTE p(17)", [17])
        c.s.execute("DEALLOCATE p")


@test()
def plans_follow_changed_definitions(c):
    numbers(c)
    c.s.execute("PREPARE p AS SELECT count(*) FROM t")
    c.query_is("EXECUTE p", [1000])
    path = c.file("other.csv", "1,x,1\n")
    c.s.execute("ALTER FOREIGN TABLE t OPTIONS (SET filename '%s')" % path)
    c.query_is("EXECUTE p", [1])
    c.s.execute("ALTER FOREIGN TABLE t OPTIONS (ADD header 'true')")
    c.query_is("EXECUTE p", [0])
    c.s.execute("ALTER FOREIGN TABLE t DROP COLUMN c")
    c.s.execute("ALTER FOREIGN TABLE t OPTIONS (SET header 'false')")
    c.fails("EXECUTE p", "22P04", "extra data after last expected column")
    c.s.execute("DEALLOCATE p")


@test("H11")
def limit_above_a_join(c):
    numbers(c)
    c.s.execute("CREATE TABLE h AS SELECT a FROM generate_series(950, 1100) a; ANALYZE h")
    for method in ("hash", "merge", "nestloop"):
        for other in ("hash", "merge", "nestloop"):
            name = "enable_" + (other if other == "nestloop" else other + "join")
            c.s.execute("SET %s = %s" % (name, "on" if other == method else "off"))
        c.query_is("SELECT t.a FROM t JOIN h USING (a) ORDER BY t.a LIMIT 1", [950])
        c.query_is("SELECT count(*) FROM (SELECT t.a FROM t JOIN h USING (a) LIMIT 1) s", [1])
        c.query_is("SELECT count(*) FROM (SELECT t.a FROM t LEFT JOIN h USING (a)"
                   " WHERE h.a IS NOT NULL LIMIT 60) s", [51])


@test("H27")
def constant_conditions(c):
    numbers(c)
    c.query_is("SELECT count(*) FROM t WHERE now() > '2100-01-01'", [0])
    c.query_is("SELECT count(*) FROM t WHERE (SELECT false)", [0])
    c.query_is("SELECT count(*) FROM t WHERE (SELECT true)", [1000])
    c.query_is("SELECT count(*) FROM t x JOIN t y USING (a) WHERE (SELECT false)", [0])
    c.s.execute("SET plan_cache_mode = force_generic_plan;"
                "PREPARE p(int) AS SELECT count(*) FROM t WHERE $1 = 1")
    c.query_is("EXECUTE p(1)", [1000])
    c.query_is("EXECUTE p(2)", [0])
    c.s.execute("DEALLOCATE p")


@test("H18")
def scroll_cursors(c):
    numbers(c)
    c.s.execute("BEGIN; DECLARE k SCROLL CURSOR FOR SELECT a, b FROM t")
    c.query_is("FETCH 3 FROM k", [(1, "row 1"), (2, "row 2"), (3, "row 3")])
    c.query_is("FETCH PRIOR FROM k", [(2, "row 2")])
    c.query_is("FETCH LAST FROM k", [(1000, "row 1000")])
    c.query_is("FETCH RELATIVE -500 FROM k", [(500, "row 500")])
    c.query_is("FETCH ABSOLUTE 999 FROM k", [(999, "row 999")])
    c.query_is("FETCH FIRST FROM k", [(1, "row 1")])
    c.query_is("FETCH BACKWARD 5 FROM k", [])
    c.query_is("FETCH ABSOLUTE -1 FROM k", [(1000, "row 1000")])
    c.equal(len(c.s.query("FETCH BACKWARD ALL FROM k")), 999, "backwards")
    c.s.execute("MOVE ABSOLUTE 0 FROM k")
    c.equal(len(c.s.query("FETCH ALL FROM k")), 1000, "after a rewind")
    c.s.execute("COMMIT")


@test("H18")
def cursors_with_hold(c):
    numbers(c)
    c.s.execute("BEGIN; DECLARE k SCROLL CURSOR WITH HOLD FOR SELECT a, b FROM t;"
                "DECLARE n NO SCROLL CURSOR WITH HOLD FOR SELECT a FROM t")
    c.query_is("FETCH 2 FROM n", [1, 2])
    c.s.execute("COMMIT")
    c.query_is("FETCH ABSOLUTE 700 FROM k", [(700, "row 700")])
    c.query_is("FETCH PRIOR FROM k", [(699, "row 699")])
    c.equal(sum(r[0] for r in c.s.query("FETCH ALL FROM n")), 500500 - 3, "held cursor")
    c.s.execute("CLOSE k; CLOSE n")
    # a cursor left open at the end of a transaction, and at an error
    c.s.execute("BEGIN; DECLARE k CURSOR FOR SELECT a FROM t")
    c.query_is("FETCH 1 FROM k", [1])
    c.s.execute("COMMIT")
    c.s.execute("BEGIN; DECLARE k CURSOR FOR SELECT a FROM t")
    c.query_is("FETCH 1 FROM k", [1])
    c.fails("SELECT 1/0", "22012")
    c.s.execute("ROLLBACK")
    c.query_is("SELECT count(*) FROM t", [1000])


@test()
def interleaved_cursors_and_savepoints(c):
    numbers(c)
    c.s.execute("BEGIN; DECLARE k CURSOR FOR SELECT a FROM t; DECLARE m CURSOR FOR SELECT b FROM t")
    for i in range(1, 200, 50):
        c.query_is("FETCH 1 FROM k", [(i + 49) // 50])
        c.query_is("FETCH 1 FROM m", ["row %d" % ((i + 49) // 50)])
    c.s.execute("SAVEPOINT a; DECLARE n CURSOR FOR SELECT a FROM t")
    c.query_is("FETCH 1 FROM n", [1])
    c.s.execute("ROLLBACK TO a")
    c.query_is("FETCH 1 FROM k", [5])
    c.s.execute("SAVEPOINT b")
    c.query_is("FETCH 1 FROM m", ["row 5"])
    c.s.execute("ROLLBACK TO b")
    c.equal(len(c.s.query("FETCH ALL FROM k")), 995, "rest of the cursor")
    c.s.execute("COMMIT")


@test("H21")
def counts_do_not_depend_on_sizes(c):
    c.table("t", "a int, b text, c float8", NUMBERS)
    expected = c.s.query("SELECT count(*), sum(a), md5(string_agg(b, ',')) FROM t")
    c.equal(expected[0][0], 1000, "rows")
    for size in ("1B", "2B", "17B", "333B", "4kB", "1MB"):
        for chunk in ("0", "1B", "64B"):
            c.s.execute("SET parparaw.partition_size = '%s'; SET parparaw.chunk_size = '%s'" % (
                size, chunk))
            c.equal(c.s.query("SELECT count(*), sum(a), md5(string_agg(b, ',')) FROM t"), expected,
                    "partition %s, chunk %s" % (size, chunk))
            c.query_is("SELECT count(*) FROM t", [1000])


@test("H25")
def values_outlive_their_batch(c):
    rows = 60000            # several batches, and partitions in the middle of rows
    data = "".join('%d,"text %d, ""quoted""\n%s",%d.%06d,%s\n' % (
        i, i, "x" * (i % 50), i, i, "abc%d" % (i % 7)) for i in range(rows))
    c.s.execute("SET parparaw.partition_size = '64kB'")
    c.tables("a int, b text, c numeric, d name", data)
    checksum = "md5(string_agg(a || b || c || d, '|'))"
    expected = c.s.value("SELECT %s FROM (SELECT * FROM r ORDER BY a OFFSET 0) s" % checksum)
    for what, source in (
            ("sort", "SELECT * FROM t ORDER BY a DESC, b OFFSET 0"),
            ("hash", "SELECT t.* FROM t JOIN (SELECT a AS x, b AS y FROM t OFFSET 0) u"
                     " ON a = x AND b = y OFFSET 0"),
            ("distinct", "SELECT DISTINCT * FROM t OFFSET 0"),
            ("materialised", "SELECT * FROM m"),
            ("window", "SELECT a, b, c, max(d) OVER (PARTITION BY a) AS d FROM t OFFSET 0")):
        with_clause = "WITH m AS MATERIALIZED (SELECT * FROM t) " if what == "materialised" else ""
        actual = c.s.value("%sSELECT %s FROM (SELECT * FROM (%s) v ORDER BY a) s" % (
            with_clause, checksum, source))
        c.equal(actual, expected, what)
    c.s.execute("SET work_mem = '64kB'")
    c.equal(c.s.value("SELECT %s FROM (SELECT * FROM t ORDER BY a) s" % checksum), expected,
            "sort on disk")
    c.s.execute("CREATE TABLE copied AS SELECT * FROM t")
    c.equal(c.s.value("SELECT %s FROM (SELECT * FROM copied ORDER BY a) s" % checksum), expected,
            "copied into a table")
    c.s.execute("BEGIN; DECLARE k CURSOR FOR SELECT a, b FROM t")
    seen = 0
    while True:
        part = c.s.query("FETCH 9999 FROM k")
        for a, b in part:
            if b != 'text %d, "quoted"\n%s' % (a, "x" * (a % 50)) or a != seen:
                raise Failed("row %d by cursor is %r" % (seen, (a, b)))
            seen += 1
        if not part:
            break
    c.s.execute("COMMIT")
    c.equal(seen, rows, "rows by cursor")
    c.equal(c.s.value("SELECT max(array_length(x, 1)) FROM (SELECT array_agg(b) AS x FROM t"
                      " GROUP BY a % 3) s"), rows // 3, "array_agg")


@test("H24")
def explain_in_all_formats(c):
    numbers(c)
    queries = ("SELECT * FROM t", "SELECT count(*) FROM t WHERE a > 5 AND b LIKE 'row%'",
               "SELECT x.a FROM t x JOIN t y USING (a) WHERE y.b > 'row 5' ORDER BY 1 LIMIT 3",
               "SELECT * FROM generate_series(1,2) g, LATERAL (SELECT * FROM t WHERE a = g) s",
               "SELECT t, (SELECT max(a) FROM t) FROM t UNION ALL SELECT t, 1 FROM t",
               # restrictions with parameters of outer nodes and of initplans
               "SELECT * FROM t x, LATERAL (SELECT * FROM t WHERE t.a = x.a LIMIT 1) y"
               " WHERE x.a < 3", "SELECT a FROM t WHERE a > (SELECT 5) AND b = (SELECT 'x')",
               "SELECT (SELECT count(*) FROM t WHERE t.a < g) FROM generate_series(1, 2) g")
    for q in queries:
        for options in ("", "VERBOSE, ", "ANALYZE, ", "ANALYZE, VERBOSE, ", "COSTS OFF, "):
            text = "\n".join(r[0] for r in c.s.query("EXPLAIN (%sFORMAT text) %s" % (options, q)))
            c.check("Foreign Scan" in text and "Foreign File: " in text, "text:\n" + text)
            shown = "VERBOSE" in options or "ANALYZE" in options
            c.check(("Backend: cpu" in text) == shown, "Backend in:\n" + text)
            for name in ("Partitions", "Bytes", "Records", "Deferred Values"):
                c.check((name + ": " in text) == ("ANALYZE" in options), name + " in:\n" + text)
            c.check(("Foreign File Size: " in text) == ("COSTS OFF" not in options),
                    "size in:\n" + text)
            value = c.s.value("EXPLAIN (%sFORMAT json) %s" % (options, q))
            document = json.loads(value) if isinstance(value, str) else value
            c.check("Foreign File" in json.dumps(document), "json")
            tree = xml.etree.ElementTree.fromstring(
                c.s.value("EXPLAIN (%sFORMAT xml) %s" % (options, q)))
            c.check(any(e.tag.endswith("Foreign-File") for e in tree.iter()), "xml")
            yaml = c.s.value("EXPLAIN (%sFORMAT yaml) %s" % (options, q))
            c.check("Foreign File: " in yaml, "yaml:\n" + yaml)
    # EXPLAIN alone does not touch the file
    c.s.execute("ALTER FOREIGN TABLE t OPTIONS (SET filename '/nonexistent/file')")
    c.plan("SELECT * FROM t")


@test("H24")
def explain_counts_are_right(c):
    numbers(c, "1MB")
    size = len(NUMBERS)
    document = c.s.value("EXPLAIN (ANALYZE, FORMAT json) SELECT a FROM t")
    if isinstance(document, str):
        document = json.loads(document)
    node = document[0]["Plan"]
    while node["Node Type"] != "Foreign Scan":
        node = node["Plans"][0]
    c.check(1 <= node["Partitions"] <= 3, "partitions: %s" % node["Partitions"])
    c.equal((node["Bytes"], node["Records"], node["Deferred Values"],
             node["Actual Rows"]), (size, 1000, 0, 1000), "counters")
    c.equal(node["Foreign File Size"], size, "size")


@test("H24")
def auto_explain(c):
    numbers(c)
    if c.s.error("LOAD 'auto_explain'") is not None:
        return              # not installed here
    c.s.execute("SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on;"
                "SET auto_explain.log_nested_statements = on; SET auto_explain.log_verbose = on")
    c.s.execute("SET client_min_messages = notice; SET auto_explain.log_level = notice")
    for form in ("text", "json", "xml", "yaml"):
        c.s.execute("SET auto_explain.log_format = %s" % form)
        c.s.take_notices()
        c.s.query("SELECT count(*) FROM t x, LATERAL (SELECT * FROM t WHERE t.a = x.a LIMIT 1) y"
                  " WHERE x.a < 4")
        c.check(len(c.s.take_notices()) >= 1, "no plan logged as " + form)
    c.s.execute("SET auto_explain.log_min_duration = -1")


@test()
def subplans_and_set_operations(c):
    numbers(c)
    c.query_is("SELECT count(*) FROM (SELECT a FROM t UNION ALL SELECT a + 1 FROM t) s", [2000])
    c.query_is("SELECT count(*) FROM (SELECT a FROM t EXCEPT SELECT a FROM t WHERE a > 10) s", [10])
    c.query_is("WITH RECURSIVE w(n) AS (SELECT 1 UNION ALL SELECT t.a FROM w JOIN t"
               " ON t.a = w.n + 100 WHERE w.n < 900) SELECT count(*), max(n) FROM w", [(10, 901)])
    c.query_is("SELECT (SELECT b FROM t WHERE a = 7), (SELECT count(*) FROM t)", [("row 7", 1000)])
    c.query_is("SELECT count(*) FROM t x FULL JOIN t y ON x.a = y.a + 10", [1010])
    c.query_is("SELECT a, rank() OVER (ORDER BY a DESC) FROM t ORDER BY a DESC LIMIT 2",
               [(1000, 1), (999, 2)])
    c.query_is("SELECT count(*) FROM t WHERE random() >= 0", [1000])
    c.query_is("SELECT a FROM t WHERE a = 3 FOR UPDATE", [3])


@test()
def plans_that_are_chosen(c):
    """By costs alone, for a file of half a gigabyte; those that are chosen are the faster ones
    where processes have a processor each.  Planning reads no more than the start of the file,
    so the rest is a hole."""
    path = c.file("large.csv", "".join(
        "%d,%d,2019-03-10 12:34:56,%s\n" % (i, i % 7, ",".join("%d.25" % (i % 1000 + k)
                                                            for k in range(8)))
        for i in range(2000)))
    os.truncate(path, 512 * 1024 * 1024)
    c.table("t", "a int, k int, ts timestamp, " + ", ".join("f%d float8" % i for i in range(8)),
            filename=path)
    sums = ", ".join("sum(f%d)" % i for i in range(8))
    pushed, shared, both, neither = (True, False), (False, True), (True, True), (False, False)
    for sql, plans in (
            ("SELECT count(*) FROM t", (pushed, both, both)),
            ("SELECT sum(a) FROM t", (pushed, both, both)),
            ("SELECT max(ts) FROM t", (pushed, both, both)),
            ("SELECT k, count(*), sum(a) FROM t GROUP BY k", (pushed, both, both)),
            # sums of floats are not shared, and faster alone than rows are by two
            ("SELECT sum(f0) FROM t", (pushed, pushed, pushed)),
            ("SELECT %s FROM t" % sums, (pushed, pushed)),
            ("SELECT k, count(*), sum(f0) FROM t GROUP BY k", (pushed, pushed, pushed)),
            # unless there are few rows, or they are wanted anyway
            ("SELECT avg(f0) FROM t WHERE ts >= '2019-03-01' AND ts < '2019-03-02'",
             (pushed, shared, shared)),
            ("SELECT sum(f0 + 1) FROM t", (neither, shared, shared))):
        for workers, wanted in enumerate(plans):
            c.s.execute("SET max_parallel_workers_per_gather = %d" % workers)
            plan = c.plan(sql)
            c.equal(("Scan Aggregate" in plan, "Parallel Foreign Scan" in plan), wanted,
                    "%s, %d workers: aggregated in the scan, shared" % (sql, workers))


@test()
def aggregates_of_rows_that_changed_meanwhile(c):
    numbers(c)
    c.s.execute("CREATE TABLE h (id int, k int)")
    sql = ("UPDATE h SET id = id + 10 WHERE (SELECT count(*) FROM t WHERE t.a <= h.k) >= 7"
           " RETURNING id, k, (SELECT sum(a) FROM t WHERE t.a <= h.k)")
    c.check("Scan Aggregate" in c.plan(sql), "no aggregate in the scan:\n" + c.plan(sql))
    for k, rows in ((7, [(11, 7, 28), (12, 7, 28)]), (6, [])):
        c.s.execute("TRUNCATE h; INSERT INTO h VALUES (1, 10), (2, 20)")
        other = c.connect()
        c.s.execute("BEGIN; UPDATE h SET k = %d" % k)
        waiting = Background(other, sql)
        c.check(eventually(lambda: c.s.value("SELECT cardinality(pg_blocking_pids(%d))"
                                             % other.pid) > 0), "nobody waits")
        c.s.execute("COMMIT")
        waiting.join()
        c.equal((waiting.error, waiting.rows), (None, rows), "rows")
        other.execute("ROLLBACK")
