"""Scans that several processes share: files that change under them, workers
and leaders that are ended, errors and rows that wait for each other.

Must not: test what a scan by one process does (see files.py).
"""

import os
import shutil

from harness import Background, eventually, process_files, test

ROWS = 20000


def shared(c):
    """A table whose scan is shared, and is slow once a 1000 rows."""
    path = c.table("t", "a int, b text",
                   "".join('%d,"row\n%d"\n' % (i, i) for i in range(1, ROWS + 1)))
    c.s.execute("CREATE FUNCTION slow(a int) RETURNS boolean LANGUAGE plpgsql PARALLEL SAFE AS $$"
                " BEGIN IF a % 1000 = 0 THEN PERFORM pg_sleep(0.1); END IF; RETURN true; END $$")
    force(c.s)
    c.check("Parallel Foreign Scan" in c.plan(SLOW), "the scan is not shared")
    return path


def force(s):
    s.execute("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;"
              "SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;"
              "SET parparaw.partition_size = '4kB'")


SLOW = "SELECT count(*), sum(a), count(b) FROM t WHERE slow(a)"
WORKERS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND leader_pid = %d"


def start(c):
    """The slow query in a session of its own, once its workers run."""
    s = c.connect()
    force(s)
    b = Background(s, SLOW)
    if not eventually(lambda: len(c.s.query(WORKERS % s.pid)) > 0):
        c.check(False, "no workers: %s %s" % (b.rows, b.error))
    return s, b


def ends(c, s, b, state, message=""):
    b.join(30)
    c.check(not b.is_alive(), "the query does not end")
    c.check(b.error is not None and b.error.state == state and message in b.error.message,
            "%s instead of %s" % (b.error or b.rows, state))
    c.check(eventually(lambda: c.s.query(WORKERS % s.pid) == []), "workers are left")
    if not s.connection.closed:
        path = os.path.basename(c.files[-1])
        c.equal([f for f in process_files(s.pid) if path in f], [], "descriptors left open")


def answers(c):
    c.query_is(SLOW.replace(" WHERE slow(a)", ""), [(ROWS, ROWS * (ROWS + 1) // 2, ROWS)])


@test("H29")
def shared_file_changed(c):
    path = shared(c)
    copy = c.path("copy.csv")
    for change, detail in ((lambda: os.truncate(path, 5000), "truncated"),
                           (lambda: os.rename(shutil.copy(copy, path + ".new"), path), "replaced"),
                           (lambda: os.unlink(path), "removed")):
        shutil.copy(path, copy)
        os.chmod(copy, 0o644)
        s, b = start(c)
        change()
        ends(c, s, b, "55000", "was changed while it was being read")
        c.check(detail in b.error.detail, b.error.detail)
        shutil.copy(copy, path)
        os.chmod(path, 0o644)
        answers(c)


@test("H29")
def shared_file_appended(c):
    path = shared(c)
    _, b = start(c)
    with open(path, "a") as f:
        f.write("0,not seen\n")
    b.join(30)
    c.equal(b.rows, [(ROWS, ROWS * (ROWS + 1) // 2, ROWS)], "rows as the file was")


@test()
def shared_scan_ended(c):
    """Whoever is cancelled or terminated, all end, and nothing is left."""
    shared(c)
    s, b = start(c)
    c.s.query("SELECT pg_cancel_backend(%d)" % s.pid)
    ends(c, s, b, "57014")
    s, b = start(c)
    c.s.query("SELECT pg_terminate_backend(pid) FROM (%s) w" % WORKERS % s.pid)
    ends(c, s, b, "57P01")
    s, b = start(c)
    pid = s.pid
    c.s.query("SELECT pg_terminate_backend(%d)" % pid)
    b.join(30)
    c.check(eventually(lambda: c.s.query(WORKERS % pid) == []), "workers are left")
    answers(c)


@test()
def first_error_wins(c):
    """An error behind rows that nobody takes yet: the leader meets it while a
    worker in front waits for its rows to be taken."""
    filler = "x" * 200
    half = ROWS // 2
    for bad, state in (('%d,%s"\n', "22P04"), ("z%d,%s\n", "22P02")):
        rows = ["%d,%s\n" % (i, filler) for i in range(1, ROWS + 1)]
        rows[half - 1] = bad % (half, filler)
        rows[half + 100] = "1,2,3\n"
        c.table("t", "a int, b text", "".join(rows))
        c.table("late", "a int, b text", "".join(rows[:half - 1] + rows[half:]))
        force(c.s)
        for size in ("300B", "4kB", "64kB"):
            c.s.execute("SET parparaw.partition_size = '%s'" % size)
            for _ in range(3):
                e = c.fails("SELECT * FROM t", state)
                if state == "22P02":
                    c.check("line %d" % half in e.context, e.context)
                e = c.fails("SELECT * FROM late", "22P04", "extra data")
                c.check("line %d" % (half + 100) in e.context, e.context)
        c.s.execute("DROP FOREIGN TABLE t, late")
