"""What may be said about foreign tables: columns that come and go, system
columns, whole rows, inheritance, privileges, row security, statistics,
special values, line ends.

Must not: test changing files or resources.
"""

from harness import test

PEOPLE = "1,Ann,2001-02-03,t\n2,Bob,,f\n3,\"C, D\",1999-12-31,\n"


def people(c):
    c.s.execute("SET parparaw.partition_size = '7B'")
    c.tables("id int, name text, born date, ok bool", PEOPLE)


@test("H03")
def dropped_columns_and_whole_rows(c):
    people(c)
    for t in ("t", "r"):
        c.s.execute("ALTER FOREIGN TABLE %s DROP COLUMN born" % t)
    path = c.file("three.csv", "1,Ann,t\n2,Bob,f\n3,\"C, D\",\n")
    for t in ("t", "r"):
        c.s.execute("ALTER FOREIGN TABLE %s OPTIONS (SET filename '%s')" % (t, path))
    for q in ("SELECT count({t}.*), count({t}) FROM {t}", "SELECT {t}.* FROM {t}",
              "SELECT ({t})::text FROM {t}", "SELECT row({t}.*)::text FROM {t}",
              "SELECT count(*) FROM {t} WHERE {t} = row(1, 'Ann'::text, true)",
              "SELECT count(*) FROM {t} x JOIN {t} y ON x.ok = y.ok",
              "SELECT x FROM {t} x ORDER BY x DESC", "SELECT to_json(x)::text FROM {t} x",
              "SELECT (x).name FROM (SELECT {t} AS x FROM {t} OFFSET 0) s",
              "SELECT array_agg(x ORDER BY id)::text FROM {t} x", "SELECT ok FROM {t}"):
        c.same(q)
    c.query_is("SELECT count(t), count(t.*) FROM t", [(3, 3)])


@test("H03")
def columns_added_and_dropped_and_retyped(c):
    people(c)
    for t in ("t", "r"):
        c.s.execute("ALTER FOREIGN TABLE %s ADD COLUMN extra text;"
                    "ALTER FOREIGN TABLE %s DROP COLUMN name, DROP COLUMN born" % (t, t))
    path = c.file("three.csv", "1,t,x\n2,f,\"y\nz\"\n")
    for t in ("t", "r"):
        c.s.execute("ALTER FOREIGN TABLE %s OPTIONS (SET filename '%s');"
                    "ALTER FOREIGN TABLE %s ALTER COLUMN id TYPE text" % (t, path, t))
    for q in ("SELECT * FROM {t}", "SELECT extra, id FROM {t}", "SELECT {t} FROM {t}",
              "SELECT count(*) FROM {t} WHERE extra LIKE 'y%'"):
        c.same(q)
    for t in ("t", "r"):
        c.s.execute("ALTER FOREIGN TABLE %s DROP COLUMN id, DROP COLUMN ok, DROP COLUMN extra" % t)
    c.fails("SELECT * FROM t", "22P04", "extra data after last expected column")
    path = c.file("none.csv", "\n\n\n")
    for t in ("t", "r"):
        c.s.execute("ALTER FOREIGN TABLE %s OPTIONS (SET filename '%s')" % (t, path))
    c.query_is("SELECT count(*), count(t) FROM t", [(3, 3)])
    c.same("SELECT count(*) FROM {t}")


@test("H04")
def system_columns(c):
    people(c)
    c.query_is("SELECT DISTINCT tableoid::regclass::text FROM t", ["t"])
    c.query_is("SELECT tableoid = 't'::regclass, id FROM t WHERE tableoid = 't'::regclass"
               " AND id > 1", [(True, 2), (True, 3)])
    for column in ("ctid", "xmin", "xmax", "cmin", "cmax"):
        c.fails("SELECT %s FROM t" % column, "0A000")
    c.fails("SELECT id FROM t WHERE ctid = '(0,1)'", "0A000")
    c.fails("SELECT id FROM t WHERE xmin::text = '1'", "0A000")
    c.fails("SELECT count(*) FROM t x JOIN t y ON x.ctid = y.ctid", "0A000")
    c.query_is("SELECT count(*) FROM t", [3])


@test("H05")
def analyze_small_tables_exactly(c):
    c.s.execute("SET parparaw.partition_size = '1kB'")
    c.s.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    rows = 500
    c.table("t", "a int, b text, c bool, d mood, e numeric, f timestamptz, g int[], h jsonb,"
            " i uuid, j date, k float8, l text",
            "".join('%d,text %d,%s,%s,%d.5,2020-01-%02d 00:00:00+00,"{%d,2}","{""k"": %d}",'
                    "%032x,2020-01-%02d,%d.25,\n" % (
                        i, i % 10, "tf"[i % 2], ("sad", "ok")[i % 2], i % 7, i % 28 + 1, i % 3,
                        i % 4, i, i % 28 + 1, i % 5) for i in range(rows)))
    c.s.execute("ANALYZE t")
    c.equal(c.warnings(), [], "warnings")
    c.query_is("SELECT reltuples::int FROM pg_class WHERE oid = 't'::regclass", [rows])
    c.query_is("SELECT string_agg(attname, '' ORDER BY attname) FROM pg_stats"
               " WHERE tablename = 't' AND schemaname = 'pd'", ["abcdefghijkl"])
    c.query_is("SELECT attname, null_frac, n_distinct FROM pg_stats WHERE tablename = 't'"
               " AND attname IN ('a', 'b', 'c', 'd', 'e', 'l') ORDER BY attname",
               [("a", 0, -1), ("b", 0, 10), ("c", 0, 2), ("d", 0, 2), ("e", 0, 7), ("l", 1, 0)])
    c.s.execute("ALTER FOREIGN TABLE t ALTER COLUMN a SET STATISTICS 0; ANALYZE t (b)")
    # rows estimated from the statistics
    plan = "\n".join(r[0] for r in c.s.query("EXPLAIN SELECT * FROM t"))
    c.check("rows=500 " in plan, plan)
    c.s.execute("ALTER FOREIGN TABLE t OPTIONS (SET filename '%s')" % c.file("none.csv", ""))
    c.s.execute("ANALYZE t")
    c.query_is("SELECT reltuples::int FROM pg_class WHERE oid = 't'::regclass", [0])


@test("H05")
def analyze_large_tables_by_sampling(c):
    rows = 200000
    c.table("t", "a int, b text, c float8", "".join(
        "%d,%s,%d.5\n" % (i, "abcdefghij"[i % 10] * (i % 30), i % 1000) for i in range(rows)))
    for target in (1, 10, 100):
        c.s.execute("SET default_statistics_target = %d; ANALYZE t" % target)
        n = c.s.value("SELECT reltuples::int FROM pg_class WHERE oid = 't'::regclass")
        c.check(abs(n - rows) <= rows * 0.05, "reltuples %d with target %d" % (n, target))
        c.query_is("SELECT count(*) FROM pg_stats WHERE tablename = 't'", [3])
        # the sample must not favour a part of the file
        low, high = c.s.query("SELECT (histogram_bounds::text::int[])[1], (histogram_bounds::text::"
                              "int[])[array_length(histogram_bounds::text::int[], 1)]"
                              " FROM pg_stats WHERE tablename = 't' AND attname = 'a'")[0]
        c.check(low < rows * 0.1 and high > rows * 0.9, "histogram from %s to %s" % (low, high))
    c.s.execute("SET default_statistics_target = 100; ANALYZE t (b)")


@test("H05")
def analyze_reports_errors_of_its_rows(c):
    c.tables("a int, b text", "1,x\n2,y\nz,z\n")
    e = c.fails("ANALYZE t", "22P02", 'invalid input syntax for type integer: "z"')
    c.check("line 3, column a" in e.context, e.context)
    c.s.execute("ALTER FOREIGN TABLE t OPTIONS (ADD on_error 'ignore'); ANALYZE t")
    c.query_is("SELECT reltuples::int FROM pg_class WHERE oid = 't'::regclass", [2])


@test("H07")
def partitions(c):
    # another order of columns, columns dropped on either side
    c.s.execute("SET parparaw.partition_size = '16B'")
    c.s.execute("CREATE TABLE p (gone int, k int, name text, x numeric) PARTITION BY RANGE (k);"
                "ALTER TABLE p DROP COLUMN gone")
    c.table("p1", "x numeric, k int, name text", "1.5,1,a\n2.5,2,b\n", header="false")
    c.table("p2", "name text, old int, k int, x numeric", None,
            filename=c.file("p2.csv", "c,11,3.5\n\"d\ne\",12,\n"))
    c.s.execute("ALTER FOREIGN TABLE p2 DROP COLUMN old;"
                "ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (10);"
                "ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);"
                "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (30);"
                "INSERT INTO p VALUES (21, 'f', 9)")
    c.query_is("SELECT k, name, x::text FROM p ORDER BY k",
               [(1, "a", "1.5"), (2, "b", "2.5"), (11, "c", "3.5"), (12, "d\ne", None),
                (21, "f", "9")])
    c.query_is("SELECT tableoid::regclass::text, count(*) FROM p GROUP BY 1 ORDER BY 1",
               [("p1", 2), ("p2", 2), ("p3", 1)])
    plan = c.plan("SELECT * FROM p WHERE k = 11")
    c.check("p2" in plan and "p1" not in plan and "p3" not in plan, "no pruning:\n" + plan)
    c.query_is("SELECT p FROM p WHERE k = 11", ["(11,c,3.5)"])
    c.s.execute("PREPARE q(int) AS SELECT name FROM p WHERE k = $1;"
                "SET plan_cache_mode = force_generic_plan")
    c.query_is("EXECUTE q(2)", ["b"])
    c.query_is("EXECUTE q(12)", ["d\ne"])
    c.s.execute("DEALLOCATE q; SET enable_partitionwise_join = on")
    c.query_is("SELECT count(*) FROM p a JOIN p b USING (k)", [5])
    c.query_is("SELECT k FROM p ORDER BY k LIMIT 3", [1, 2, 11])
    c.fails("INSERT INTO p VALUES (3, 'x', 0)", "0A000")
    c.fails("UPDATE p SET name = 'x' WHERE k = 1", "0A000")
    c.s.execute("ANALYZE p; ALTER TABLE p DETACH PARTITION p1")
    c.query_is("SELECT count(*) FROM p", [3])


@test("H07")
def inheritance(c):
    c.s.execute("CREATE TABLE parent (a int, b text); INSERT INTO parent VALUES (0, 'heap')")
    c.table("child", "a int, b text, z date", "1,x,2020-01-01\n2,y,\n")
    c.s.execute("ALTER FOREIGN TABLE child INHERIT parent")
    c.query_is("SELECT a, b FROM parent ORDER BY a", [(0, "heap"), (1, "x"), (2, "y")])
    c.query_is("SELECT count(*) FROM ONLY parent", [1])
    c.query_is("SELECT tableoid::regclass::text, parent::text FROM parent WHERE a = 2",
               [("child", "(2,y)")])
    c.s.execute("ALTER TABLE parent ADD COLUMN late int")
    c.fails("SELECT * FROM parent", "22P04", 'missing data for column "late"')
    c.s.execute("ALTER TABLE parent DROP COLUMN late; ALTER FOREIGN TABLE child"
                " ADD CONSTRAINT known CHECK (a >= 0); SET constraint_exclusion = on")
    c.check("Foreign Scan" not in c.plan("SELECT * FROM parent WHERE a < 0"),
            "constraint exclusion")
    # row marks ask heap children for a ctid, which a foreign child does not have
    c.query_is("SELECT x.a FROM parent x WHERE x.a > 0 ORDER BY 1 FOR UPDATE", [1, 2])
    c.s.execute("CREATE TABLE heap AS VALUES (1), (2), (3)")
    c.s.execute("UPDATE heap h SET column1 = 10 FROM parent p WHERE p.a = h.column1 AND p.a = 2;"
                "DELETE FROM heap USING parent p WHERE p.a = column1 AND p.a = 1")
    c.query_is("SELECT column1 FROM heap ORDER BY 1", [3, 10])
    c.fails("SELECT ctid FROM parent", "0A000")


@test("H12")
def privileges(c):
    s = c.s
    role = "pd_plain_role"
    s.execute("DROP ROLE IF EXISTS pd_plain_role; DROP ROLE IF EXISTS pd_reader_role")
    path = c.file("t.csv", "1\n2\n")
    s.execute("CREATE ROLE pd_plain_role; CREATE ROLE pd_reader_role;"
              "GRANT pg_read_server_files TO pd_reader_role;"
              "GRANT USAGE, CREATE ON SCHEMA pd TO pd_plain_role, pd_reader_role")
    c.table("granted", "a int", filename=path)
    s.execute("GRANT SELECT ON granted TO " + role)
    table = "CREATE FOREIGN TABLE %s (a int) SERVER gpu_csv OPTIONS (%s)"
    try:
        # nothing is granted on the server by default
        s.execute("SET ROLE pd_reader_role")
        c.fails(table % ("x", "filename '%s'" % path), "42501")
        s.execute("RESET ROLE; GRANT USAGE ON FOREIGN SERVER gpu_csv TO pd_plain_role,"
                  " pd_reader_role; SET ROLE pd_plain_role")
        c.fails(table % ("x", "filename '%s'" % path), "42501")
        c.fails(table % ("x", "program 'cat /etc/passwd'"), "42501")
        c.fails("ALTER FOREIGN TABLE granted OPTIONS (SET filename '/etc/passwd')", "42501")
        c.query_is("SELECT sum(a) FROM granted", [3])
        e = s.error("IMPORT FOREIGN SCHEMA x FROM SERVER gpu_csv INTO pd")
        c.check(e is not None, "a plain role imports a schema")
        # a view of the owner lends the owner's right
        s.execute("RESET ROLE; CREATE VIEW v AS SELECT * FROM granted;"
                  "REVOKE SELECT ON granted FROM pd_plain_role;"
                  "GRANT SELECT ON v TO pd_plain_role; SET ROLE pd_plain_role")
        c.fails("SELECT * FROM granted", "42501")
        c.query_is("SELECT count(*) FROM v", [2])
        s.execute("SET ROLE pd_reader_role")
        s.execute(table % ("mine", "filename '%s'" % path))
        c.query_is("SELECT count(*) FROM mine", [2])
        c.fails(table % ("y", "program 'true'"), "42501")
        c.fails("ALTER FOREIGN TABLE mine OPTIONS (ADD program 'id')", "42501")
        # the right is asked for when the option is set, not when it is used
        s.execute("RESET ROLE; REVOKE pg_read_server_files FROM pd_reader_role;"
                  "SET ROLE pd_reader_role")
        c.query_is("SELECT count(*) FROM mine", [2])
        c.fails("ALTER FOREIGN TABLE mine OPTIONS (SET filename '/etc/passwd')", "42501")
    finally:
        s.execute("RESET ROLE; DROP OWNED BY pd_plain_role, pd_reader_role;"
                  "DROP ROLE pd_plain_role, pd_reader_role")


@test("H12")
def options_stand_on_tables_only(c):
    c.fails("ALTER SERVER gpu_csv OPTIONS (ADD filename '/etc/passwd')", "HV00D")
    c.fails("ALTER FOREIGN DATA WRAPPER parparaw_fdw OPTIONS (ADD filename '/etc/passwd')", "HV00D")
    c.fails("CREATE USER MAPPING FOR current_user SERVER gpu_csv OPTIONS (filename 'x')", "HV00D")
    c.fails("CREATE FOREIGN TABLE x (a int) SERVER gpu_csv", "HV002")
    c.fails("CREATE FOREIGN TABLE x (a int) SERVER gpu_csv OPTIONS (filename 'a', program 'b')",
            "42601")


@test()
def row_security_and_barriers(c):
    s = c.s
    s.execute("DROP ROLE IF EXISTS pd_plain_role")
    c.table("t", "owner text, secret text", "alice,s1\nbob,s2\nbob,s3\n")
    s.execute("CREATE TABLE p (owner text, secret text) PARTITION BY LIST (owner)")
    c.table("p_all", "secret text, owner text", "s1,alice\ns2,bob\ns3,bob\n")
    s.execute("ALTER TABLE p ATTACH PARTITION p_all DEFAULT;"
              "CREATE ROLE pd_plain_role; GRANT USAGE ON SCHEMA pd TO pd_plain_role;"
              "ALTER TABLE p ENABLE ROW LEVEL SECURITY;"
              "CREATE POLICY own ON p USING (owner = 'bob'); GRANT SELECT ON p TO pd_plain_role;"
              "CREATE VIEW v WITH (security_barrier) AS SELECT * FROM t WHERE owner = 'bob';"
              "GRANT SELECT ON v TO pd_plain_role")
    s.execute("CREATE FUNCTION leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS"
              " $$ BEGIN RAISE NOTICE 'seen %', $1; RETURN true; END $$;"
              "GRANT EXECUTE ON FUNCTION leak(text) TO pd_plain_role;"
              "SET client_min_messages = notice; SET ROLE pd_plain_role")
    try:
        for relation in ("p", "v"):
            s.take_notices()
            c.query_is("SELECT secret FROM %s WHERE leak(secret) ORDER BY 1" % relation,
                       ["s2", "s3"])
            c.equal(sorted(s.take_notices()), ["NOTICE:  seen s2", "NOTICE:  seen s3"],
                    "rows shown to a function")
    finally:
        s.execute("RESET ROLE; DROP OWNED BY pd_plain_role; DROP ROLE pd_plain_role")


@test("H13")
def nondeterministic_collations(c):
    if c.s.error("CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2',"
                 " deterministic = false)") is not None:
        return              # a server without ICU
    c.tables("a text COLLATE ci, b text", "Apple,Apple\napple,apple\nPEAR,PEAR\npear ,pear \n")
    for q in 2 * ("SELECT count(*) FROM {t} WHERE a = 'APPLE'",
              "SELECT count(*) FROM {t} WHERE a IN ('pear', 'apple')",
              "SELECT count(*) FROM {t} WHERE a <> 'aPPle'",
              "SELECT count(*) FROM {t} WHERE a = ANY (ARRAY['APPLE', 'x'])",
              "SELECT count(DISTINCT a) FROM {t}",
              "SELECT count(*) FROM {t} WHERE b = 'apple' COLLATE ci",
              "SELECT count(*) FROM {t} WHERE 'applE' >= a", "SELECT count(*) FROM {t} x JOIN"
              " {t} y ON x.a = y.a", "SET parparaw.enable_filter_pushdown = off"):
        if q.startswith("SET"):
            c.s.execute(q)
        else:
            c.same(q)
    c.query_is("SELECT count(*) FROM t WHERE a = 'APPLE'", [2])


@test("H14")
def special_dates_and_times(c):
    for zone in ("UTC", "America/St_Johns"):
        c.s.execute("SET TimeZone = '%s'; SET parparaw.partition_size = '9B';"
                    "DROP FOREIGN TABLE IF EXISTS t, r" % zone)
        c.tables("a date, b timestamp, c timestamptz, d time, e interval",
                 "infinity,infinity,infinity,24:00:00,1 mon\n"
                 "-infinity,-infinity,-infinity,00:00:00,-1 day\n"
                 "epoch,epoch,epoch,23:59:60,00:00:01\n"
                 "0044-03-15 BC,0044-03-15 12:00:00 BC,0044-03-15 12:00:00+00 BC,allballs,0\n"
                 "4713-01-01 BC,4713-11-25 00:00:00 BC,4713-11-25 00:00:00+00 BC,12:00 PM,1 year\n"
                 "5874897-12-31,294276-12-30 23:59:59.999999,294276-12-30 23:59:59.999999+00,"
                 "23:59:59.999999,P1Y\n"
                 "2000-02-29,1999-12-31 24:00:00,2019-03-10 02:30:00,12:00 AM,@ 1 hour ago\n")
        for q in ("SELECT * FROM {t}", "SELECT a::text, b::text, c::text, d::text FROM {t}",
                  "SELECT count(*) FROM {t} WHERE a = 'infinity' OR c = '-infinity'",
                  "SELECT isfinite(a), isfinite(b), isfinite(c) FROM {t}",
                  "SELECT max(a)::text, min(b)::text, max(c)::text FROM {t}",
                  "SELECT extract(epoch FROM b)::text FROM {t} WHERE isfinite(b)"):
            c.equal(c.s.query("SELECT md5(string_agg(s::text, '|')) FROM (%s) s" %
                              q.replace("{t}", "t")),
                    c.s.query("SELECT md5(string_agg(s::text, '|')) FROM (%s) s" %
                              q.replace("{t}", "r")), q)


@test("H15")
def every_partition_size(c):
    data = b'"a\n""b",1\n"",2\n"""\n""",3\n"c,\n\n",4\nx"y\nz"w,5\n"' + b"\n" * 30 + b'",6\n'
    c.table("t", "a text, n int", data)
    expected = c.s.query("SELECT a, n FROM t")
    c.equal([r[1] for r in expected], [1, 2, 3, 4, 5, 6], "rows")
    for size in range(1, len(data) + 2):
        for chunk in (0, 1, 5):
            c.s.execute("SET parparaw.partition_size = '%dB'; SET parparaw.chunk_size = %d" % (
                size, chunk))
            c.equal(c.s.query("SELECT a, n FROM t"), expected, "partition %d, chunk %d" % (
                size, chunk))


@test("H16")
def line_ends(c):
    for i, data in enumerate((b"1,a\n2,b\n", b"1,a\r\n2,b\r\n", b"1,a\r2,b\r", b"1,a\n2,b",
                              b"1,a\r\n2,b", b"1,a\r2,b", b"1,a\n2,b\r\n", b"1,a\r\n2,b\n",
                              b"1,a\r2,b\n", b"1,a\n2,b\r3,c\n", b'1,"a\r\n"\n2,b\n', b"1,a\r\n",
                              b"1,a\r\n\r\n", b"\n1,a\n")):
        for size in ("1B", "3B", "64kB"):
            c.s.execute("SET parparaw.partition_size = '%s';"
                        "DROP FOREIGN TABLE IF EXISTS t, r" % size)
            c.tables("n int, a text", data)
            ends = []
            for t in ("t", "r"):
                e = c.s.error("SELECT * FROM %s" % t)
                ends.append((e.state, e.message, e.hint) if e is not None else
                            c.s.query("SELECT * FROM %s" % t))
            c.equal(ends[0], ends[1], "line ends of %r" % data)


@test("H26")
def generated_columns_defaults_and_identity(c):
    c.s.execute("SET parparaw.partition_size = '3B'")
    c.tables("a int, b text", "1,x\n2,y\n")
    for t in ("t", "r"):
        c.s.execute("ALTER FOREIGN TABLE %s ADD COLUMN g int GENERATED ALWAYS AS (a * 2) STORED"
                    % t)
    kinds = ["g"]
    if c.version >= 18:
        for t in ("t", "r"):
            c.s.execute("ALTER FOREIGN TABLE %s ADD COLUMN v int GENERATED ALWAYS AS (a * 3)"
                        " VIRTUAL" % t)
        kinds.append("v")
    for q in ["SELECT * FROM {t}", "SELECT a, g FROM {t}", "SELECT g FROM {t}",
              "SELECT {t} FROM {t}", "SELECT count(*) FROM {t} WHERE g IS NULL"] + [
                  "SELECT %s, b FROM {t}" % k for k in kinds]:
        c.same(q)
    for t in ("t", "r"):
        c.s.execute("ALTER FOREIGN TABLE %s ALTER COLUMN b SET DEFAULT 'd'" % t)
        c.s.execute("ALTER FOREIGN TABLE %s DROP COLUMN a CASCADE" % t)
    path = c.file("b.csv", "x\n\ny\n")
    for t in ("t", "r"):
        c.s.execute("ALTER FOREIGN TABLE %s OPTIONS (SET filename '%s')" % (t, path))
    c.same("SELECT * FROM {t}")
    c.s.execute("CREATE FOREIGN TABLE only_generated (g int GENERATED ALWAYS AS (1) STORED)"
                " SERVER gpu_csv OPTIONS (filename '%s')" % c.file("n.csv", "\n\n"))
    c.query_is("SELECT count(*), count(g) FROM only_generated", [(2, 0)])
    # an identity is about writing; the column stands in the file like any other
    c.s.execute("CREATE FOREIGN TABLE i (a int GENERATED ALWAYS AS IDENTITY, b int DEFAULT 5)"
                " SERVER gpu_csv OPTIONS (filename '%s')" % c.file("i.csv", "7,\n8,9\n"))
    c.query_is("SELECT * FROM i", [(7, None), (8, 9)])


@test()
def writing_is_refused(c):
    people(c)
    c.fails("INSERT INTO t VALUES (4, 'x', NULL, true)", "0A000", "cannot insert into foreign")
    c.fails("UPDATE t SET name = 'x'", "0A000", "cannot update foreign table")
    c.fails("DELETE FROM t WHERE id = 1", "0A000", "cannot delete from foreign table")
    c.fails("TRUNCATE t", "0A000")
    c.fails("COPY t FROM '%s' (FORMAT csv)" % c.file("x.csv", "1,x,,\n"), "0A000")
    c.fails("WITH w AS (DELETE FROM t RETURNING *) SELECT * FROM w", "0A000")
    if c.version >= 15:
        c.fails("MERGE INTO t USING r ON t.id = r.id WHEN MATCHED THEN DELETE", "0A000")
    c.query_is("SELECT count(*) FROM t", [3])


@test()
def views_functions_and_materialised_views(c):
    people(c)
    c.s.execute("CREATE VIEW v AS SELECT id, upper(name) AS n FROM t WHERE ok IS NOT FALSE;"
                "CREATE MATERIALIZED VIEW m AS SELECT * FROM t;"
                "CREATE FUNCTION f(int) RETURNS SETOF t LANGUAGE sql STABLE"
                " AS 'SELECT * FROM t WHERE id >= $1'")
    c.query_is("SELECT * FROM v ORDER BY id", [(1, "ANN"), (3, "C, D")])
    c.query_is("SELECT count(*) FROM m", [3])
    c.query_is("SELECT name FROM f(2)", ["Bob", "C, D"])
    c.s.execute("REFRESH MATERIALIZED VIEW m")
    c.query_is("SELECT sum(id) FROM m", [6])
    c.s.execute("CREATE TABLE copy AS TABLE t")
    c.query_is("SELECT count(*) FROM copy c JOIN t USING (id) WHERE c = t.*", [3])
