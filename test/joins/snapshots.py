"""A cyclic join's answer belongs to its query's snapshot, whatever other
sessions, or the same transaction, do to the tables.  Uses the harness of
test/faults.

Must not: test anything but visibility.
"""

import threading
import time

from faults import COUNT, NODE, TRIANGLE, edges, off, shows     # noqa: F401
from harness import Background, test

ROWS = "SELECT a.src, a.dst, b.dst FROM " + TRIANGLE


def both(c, sessions, sql=COUNT):
    """Each session's count, with the node and without it."""
    out = []
    for s in sessions:
        answers = []
        for setting in ("on", "off"):
            s.execute("SET parparaw.enable_join = " + setting)
            answers.append(s.value(sql))
        s.execute("SET parparaw.enable_join = on")
        c.equal(answers[0], answers[1], "with the node and without it")
        out.append(answers[0])
    return out


def reader(c, begin=""):
    s = c.connect()
    s.execute("LOAD 'parparaw_fdw'; SET parparaw.join_cost_factor = 0")
    if begin:
        s.execute(begin)
    return s


@test()
def isolation_levels(c):
    edges(c, 0)
    c.s.execute("INSERT INTO e VALUES (1, 2), (2, 3), (1, 3)")
    committed = reader(c, "BEGIN ISOLATION LEVEL READ COMMITTED;")
    repeatable = reader(c, "BEGIN ISOLATION LEVEL REPEATABLE READ;")
    serial = reader(c, "BEGIN ISOLATION LEVEL SERIALIZABLE;")
    three = (committed, repeatable, serial)
    shows(c, COUNT, session=committed)
    c.equal(both(c, three), [1, 1, 1], "at first")
    writer = reader(c, "BEGIN;")
    writer.execute("INSERT INTO e VALUES (3, 4), (2, 4)")
    c.equal(both(c, (writer,)), [2], "a transaction's own rows")
    c.equal(both(c, three), [1, 1, 1], "before the commit")
    writer.execute("COMMIT")
    c.equal(both(c, three), [2, 1, 1], "after it")
    writer.execute("BEGIN; DELETE FROM e WHERE src = 1")
    c.equal(both(c, (writer,)), [1], "rows that it has deleted")
    c.equal(both(c, three), [2, 1, 1], "deleted, but not for the others")
    writer.execute("ROLLBACK")
    c.equal(both(c, three), [2, 1, 1], "rolled back")
    writer.execute("UPDATE e SET dst = 30 WHERE dst = 3 AND src = 1")
    c.equal(both(c, three), [1, 1, 1], "an edge moved")
    writer.execute("VACUUM e")
    c.equal(both(c, three), [1, 1, 1], "after a vacuum")
    for s in three:
        s.execute("COMMIT")
    c.equal(both(c, three), [1, 1, 1], "new transactions")
    writer.execute("DELETE FROM e")
    writer.execute("VACUUM (FREEZE) e")
    c.equal(both(c, three), [0, 0, 0], "nothing is left")


@test()
def subtransactions_and_commands(c):
    edges(c, 0)
    c.s.execute("BEGIN; INSERT INTO e VALUES (1, 2), (2, 3), (1, 3); SAVEPOINT one;"
                "INSERT INTO e VALUES (3, 4), (2, 4)")
    c.equal(both(c, (c.s,)), [2], "in the savepoint")
    c.s.execute("ROLLBACK TO one")
    c.equal(both(c, (c.s,)), [1], "rolled back to it")
    # a cursor keeps the snapshot, and the command, it was opened under
    c.s.execute("DECLARE k CURSOR FOR %s; DECLARE n CURSOR FOR %s" % (ROWS, COUNT))
    c.s.execute("INSERT INTO e VALUES (3, 4), (2, 4); DELETE FROM e WHERE src = 1 AND dst = 2;"
                "UPDATE e SET w = 1")
    c.equal(c.s.query("FETCH ALL FROM k"), [(1, 2, 3)], "rows of the cursor")
    c.equal(c.s.query("FETCH ALL FROM n"), [(1,)], "count of the cursor")
    c.equal(both(c, (c.s,)), [1], "after all")
    # a statement does not see what it writes itself
    c.query_is("WITH w AS (INSERT INTO e VALUES (7, 8), (8, 9), (7, 9) RETURNING 1) " + COUNT, [1])
    c.equal(both(c, (c.s,)), [2], "the next one does")
    # functions see what came before them, or the query's own snapshot if stable
    c.s.execute("CREATE FUNCTION counted() RETURNS bigint LANGUAGE sql VOLATILE AS '%s';"
                "CREATE FUNCTION added(n int) RETURNS bigint LANGUAGE plpgsql AS $f$ BEGIN"
                " INSERT INTO e VALUES (n, n + 1), (n + 1, n + 2), (n, n + 2);"
                " RETURN counted(); END $f$" % COUNT)
    c.query_is("SELECT added(n * 10) FROM generate_series(1, 3) n", [3, 4, 5])
    c.s.execute("ROLLBACK")
    c.query_is(COUNT, [0])


@test()
def readers_beside_a_writer(c):
    """Each change keeps the number of triangles; no reader may see half of one."""
    edges(c, 0)
    c.s.execute("INSERT INTO e SELECT 10 * t + x, 10 * t + y, 0 FROM generate_series(1, 200) t,"
                " (VALUES (1, 2), (2, 3), (1, 3)) v (x, y); ANALYZE e;"
                "ALTER TABLE e SET (autovacuum_enabled = off)")
    stop = threading.Event()
    problems = []

    def write():
        s = reader(c)
        n = 0
        try:
            while not stop.is_set():
                n += 1
                t = 10 * (1 + n % 200)
                s.execute("BEGIN; DELETE FROM e WHERE src BETWEEN %d AND %d;"
                          "INSERT INTO e VALUES (%d, %d, %d), (%d, %d, %d), (%d, %d, %d);"
                          "UPDATE e SET w = w + 1 WHERE src BETWEEN %d AND %d;"
                          "%s" % (t, t + 9, t + 1, t + 2, n, t + 2, t + 3, n, t + 1, t + 3, n,
                                  t + 20, t + 29, "ROLLBACK" if n % 5 == 0 else "COMMIT"))
                if n % 40 == 0:
                    s.execute("VACUUM e")
        except Exception as e:              # shown by the test
            problems.append(repr(e))

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        shows(c, COUNT)
        ended = time.time() + 3
        asked = 0
        while time.time() < ended:
            for memory in ("4MB", "64kB"):
                c.s.execute("SET work_mem = '%s'" % memory)
                c.query_is(COUNT, [200])
                rows = c.s.query(ROWS)
                c.equal((len(rows), len(set(rows))), (200, 200), "rows")
                asked += 2
    finally:
        stop.set()
        writer.join(20)
    c.equal(problems, [], "the writer")
    c.check(asked > 20, "only %d queries" % asked)


@test()
def a_long_query_keeps_its_snapshot(c):
    edges(c, 0)
    c.s.execute("INSERT INTO e SELECT x, y FROM generate_series(1, 40) x, generate_series(1, 40) y"
                " WHERE x < y; ANALYZE e")
    s = reader(c)
    # an alias is read after its sleeping subquery has ended
    sql = ("SELECT count(*) FROM e a, e b, e c, (SELECT pg_sleep(0.6) OFFSET 0) z"
           " WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst")
    expected = c.s.value(COUNT)
    for change in ("DELETE FROM e WHERE src < 20", "INSERT INTO e SELECT 50 + src, 50 + dst FROM e",
                   "TRUNCATE f"):
        c.s.execute("CREATE TABLE IF NOT EXISTS f (i int)")
        running = Background(s, sql)
        time.sleep(0.2)
        c.s.execute(change)
        running.join(20)
        c.equal(running.error, None, "error")
        c.equal(running.rows, [(expected,)], "beside " + change)
        expected = c.s.value(COUNT)
        c.equal(expected, off(c, COUNT)[0][0], "afterwards")
