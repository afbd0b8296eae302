"""Files that are missing, unreadable, changed while being read; pipes and
programs.

Must not: test plans or memory.
"""

import os
import socket
import threading
import time

import psycopg2

from harness import (Background, Skipped, children, eventually, process_files, processes_with,
                     test)

LINE = "%07d,abcdefghijklmnopqrstuvwxyz\n"


def big_file(c, name="big.csv", rows=120000):
    """About 4 MB, so that most of it is unread when a cursor has given a row."""
    return c.file(name, "".join(LINE % i for i in range(rows)))


def open_cursor(c, path):
    c.s.execute("SET parparaw.partition_size = '4kB'")
    c.table("t", "a int, b text", filename=path)
    c.s.execute("BEGIN; DECLARE k CURSOR FOR SELECT a FROM t")
    c.query_is("FETCH 2 FROM k", [0, 1])


def changed(c, path, detail):
    e = c.fails("FETCH ALL FROM k", "55000", "was changed while it was being read")
    c.check(path in e.message and detail in e.detail, "%s / %s" % (e.message, e.detail))
    c.s.execute("ROLLBACK")
    fds = [f for f in process_files(c.s.pid) if path in f]
    c.equal(fds, [], "descriptors left open")


@test("H29")
def file_truncated(c):
    for size in (0, 5000, 2000000):
        path = big_file(c)
        open_cursor(c, path)
        os.truncate(path, size)
        changed(c, path, "truncated")
        c.s.execute("DROP FOREIGN TABLE t")
    c.query_is("SELECT 1", [1])


@test("H29")
def file_appended(c):
    path = big_file(c)
    open_cursor(c, path)
    with open(path, "a") as f:
        f.write("1\n")
    rows = c.s.query("FETCH ALL FROM k")
    c.equal((len(rows), rows[-1][0]), (119998, 119999), "rows as the file was")
    c.s.execute("COMMIT")
    c.fails("SELECT count(a) FROM t", "22P04")      # a new scan sees the new file


@test("H29")
def file_replaced(c):
    path = big_file(c)
    open_cursor(c, path)
    other = big_file(c, "other.csv")
    os.rename(other, path)
    changed(c, path, "replaced")


@test("H29")
def file_removed(c):
    path = big_file(c)
    open_cursor(c, path)
    os.unlink(path)
    changed(c, path, "removed")
    c.fails("SELECT * FROM t", "58P01")


@test("H29")
def file_rewritten_in_place(c):
    path = big_file(c)
    open_cursor(c, path)
    time.sleep(0.02)
    with open(path, "r+b") as f:
        f.seek(3000000)
        f.write(b"9")
    changed(c, path, "written")
    # the same for a scan that is restarted: it sees the new contents
    c.s.execute("SELECT count(*) FROM t")


@test("H29")
def file_that_changes_again_and_again(c):
    """A writer truncates and rewrites the file all the time: errors or whole
    results, never a mixture, and the server stays up."""
    path = big_file(c, rows=60000)
    c.table("t", "a int, b text", filename=path)
    c.s.execute("SET parparaw.partition_size = '16kB'")
    stop = threading.Event()
    contents = ("".join(LINE % 1 for _ in range(60000)), "".join(LINE % 2 for _ in range(50000)))

    def writer():
        n = 0
        while not stop.is_set():
            temporary = path + ".new"
            with open(temporary, "w") as f:
                f.write(contents[n % 2])
            os.chmod(temporary, 0o644)
            os.rename(temporary, path)
            n += 1
            time.sleep(0.005)

    thread = threading.Thread(target=writer)
    thread.start()
    seen = {}
    try:
        end = time.time() + 4
        while time.time() < end:
            try:
                row = c.s.query("SELECT count(*), min(a), max(a) FROM t")[0]
            except psycopg2.Error as e:
                row = e.pgcode
            seen[row] = seen.get(row, 0) + 1
    finally:
        stop.set()
        thread.join()
    allowed = {(60000, 0, 59999), (60000, 1, 1), (50000, 2, 2), "55000", "58P01"}
    c.check(set(seen) <= allowed, "results: %s" % seen)


@test()
def files_that_cannot_be_read(c):
    c.table("missing", "a text", filename="/nonexistent/dir/file.csv")
    e = c.fails("SELECT * FROM missing", "58P01", "could not open file")
    c.fails("SELECT count(*) FROM missing", "58P01")
    c.fails("ANALYZE missing", "58P01", "could not stat file")
    directory = c.environment.workdir.path
    c.table("directory", "a text", filename=directory)
    e = c.fails("SELECT * FROM directory", "42809", '"%s" is a directory' % directory)
    path = c.file("secret.csv", "x\n")
    c.table("unreadable", "a text", filename=path)
    c.query_is("SELECT * FROM unreadable", ["x"])
    os.chmod(path, 0)
    e = c.fails("SELECT * FROM unreadable", "42501", "could not open file")
    c.check(path in e.message, e.message)
    os.chmod(path, 0o644)
    c.query_is("SELECT * FROM unreadable", ["x"])
    # a missing file does not keep a plan from being made
    c.plan("SELECT * FROM missing WHERE a = 'x'")
    c.table("device", "a text", filename="/dev/null")
    c.query_is("SELECT count(*) FROM device", [0])
    c.table("socket", "a text", filename=c.path("socket"))
    s = socket.socket(socket.AF_UNIX)
    s.bind(c.path("socket"))
    e = c.s.error("SELECT * FROM socket")
    s.close()
    c.check(e is not None and e.state in ("58030", "42501", "XX000", "58000"),
            "a socket: %s" % e)
    for t in ("missing", "directory", "unreadable", "socket"):
        c.s.execute("DROP FOREIGN TABLE " + t)


@test()
def relative_and_odd_names(c):
    for name in ("with blank.csv", "q'uote.csv", 'double"quote.csv', "ümlaut.csv", "back\\slash",
                 "%s%d.csv", "$HOME;true"):
        path = c.file(name, "1\n")
        c.table("t", "a int", filename=path)
        c.query_is("SELECT * FROM t", [1])
        c.check(any("Foreign File: " in r[0] for r in c.s.query("EXPLAIN SELECT * FROM t")),
                "explain")
        c.s.execute("DROP FOREIGN TABLE t")


@test()
def one_file_in_many_scans(c):
    path = c.file("t.csv", "".join("%d\n" % i for i in range(5000)))
    c.s.execute("SET parparaw.partition_size = '512B'")
    c.table("t", "a int", filename=path)
    c.s.execute("BEGIN")
    for i in range(60):
        c.s.execute("DECLARE k%d CURSOR FOR SELECT a FROM t" % i)
        c.query_is("FETCH 1 FROM k%d" % i, [0])
    for i in range(60):
        c.equal(len(c.s.query("FETCH ALL FROM k%d" % i)), 4999, "rows of cursor %d" % i)
    c.s.execute("COMMIT")
    c.equal([f for f in process_files(c.s.pid) if "t.csv" in f], [], "descriptors left open")


@test()
def named_pipes(c):
    path = c.path("pipe")
    os.mkfifo(path)
    os.chmod(path, 0o644)
    c.table("t", "a int, b text", filename=path)

    def write(data, pause=0.0):
        def work():
            fd = os.open(path, os.O_WRONLY)
            try:
                for piece in data:
                    os.write(fd, piece.encode())
                    time.sleep(pause)
            except BrokenPipeError:
                pass
            finally:
                os.close(fd)
        t = threading.Thread(target=work)
        t.start()
        return t

    w = write(["1,a\n2,b\n3", ",c\n", '4,"d\n', 'e"\n'], 0.05)
    c.query_is("SELECT * FROM t", [(1, "a"), (2, "b"), (3, "c"), (4, "d\ne")])
    w.join()
    w = write(["1,a\n", "x,b\n"])
    c.fails("SELECT * FROM t", "22P02")
    w.join()
    w = write(["%d,x\n" % i for i in range(100000)])
    c.query_is("SELECT a FROM t LIMIT 2", [0, 1])
    w.join()                # the writer got SIGPIPE, the scan no error
    c.s.execute("SET client_min_messages = warning")
    c.s.take_notices()
    c.s.execute("ANALYZE t")
    c.check(len(c.s.take_notices()) == 1, "no warning about ANALYZE of a pipe")


@test("H09")
def cancel_while_waiting_for_a_pipe(c):
    path = c.path("pipe")
    os.mkfifo(path)
    os.chmod(path, 0o644)
    c.table("t", "a int", filename=path)
    s = c.connect()
    s.execute("SET statement_timeout = '200ms'")
    b = Background(s, "SELECT * FROM t")
    b.join(5)
    if b.is_alive():        # let it go, or nothing ends
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        b.join(5)
        c.check(False, "a scan of a pipe that nobody writes to cannot be cancelled")
    c.check(b.error is not None and b.error.state == "57014", "%s" % b.error)
    c.check(b.seconds < 0.7, "cancelled after %.2f s" % b.seconds)
    # a writer that says nothing more
    s.execute("SET statement_timeout = '500ms'")
    b = Background(s, "SELECT * FROM t")
    with open(path, "w") as f:
        f.write("1\n2")
        f.flush()
        b.join(5)
    c.check(b.error is not None and b.error.state == "57014", "%s" % b.error)
    c.check(b.seconds < 1.0, "cancelled after %.2f s" % b.seconds)
    c.equal([f for f in process_files(s.pid) if path in f], [], "descriptors left open")
    s.execute("SET statement_timeout = 0; SELECT 1")


@test()
def programs(c):
    c.table("t", "a int, b text", program="printf '1,a\\n2,\"b\\nc\"\\n'")
    c.query_is("SELECT * FROM t", [(1, "a"), (2, "b\nc")])
    c.query_is("SELECT count(*) FROM t x JOIN t y USING (a)", [2])
    c.check("Foreign Program: printf" in c.plan("SELECT * FROM t"), "explain")
    c.table("nothing", "a int", program="true")
    c.query_is("SELECT * FROM nothing", [])
    c.table("slow", "a int", program="for i in 1 2 3; do echo $i; sleep 0.1; done")
    c.query_is("SELECT * FROM slow", [1, 2, 3])
    c.table("chatty", "a int", program="echo 1; echo nonsense >&2")
    c.query_is("SELECT * FROM chatty", [1])
    c.table("input", "a text", program="cat < /dev/null; echo x")
    c.query_is("SELECT * FROM input", ["x"])
    c.equal(children(c.s.pid), [], "children left")


@test()
def failing_programs(c):
    for program, detail in (("exit 3", "exited with exit code 3"),
                            ("echo 1; exit 7", "exited with exit code 7"),
                            ("echo 1; kill -9 $$", "terminated by signal 9"),
                            ("/nonexistent/program", "command not found"),
                            ("echo 1; /nonexistent/program", "command not found")):
        c.table("t", "a int", program=program)
        e = c.fails("SELECT * FROM t", "38000", 'program "%s" failed' % program)
        c.check(detail in e.detail, "%s: %s" % (program, e.detail))
        # COPY says the same
        c.table("r", "a int", None, "pd_reference", program=program)
        r = c.fails("SELECT * FROM r", "38000")
        c.equal((e.message, e.detail), (r.message, r.detail), program)
        c.fails("SELECT count(*) FROM t", "38000")
        c.s.execute("DROP FOREIGN TABLE t, r")
    # a value's error comes first, the program is ended
    c.table("t", "a int", program="echo 1; echo x; exec sleep 971")
    c.fails("SELECT * FROM t", "22P02")
    c.check(eventually(lambda: not processes_with("sleep\x00971")), "the program still runs")
    c.equal(children(c.s.pid), [], "children left")


@test()
def programs_stopped_early(c):
    c.table("t", "a text", program="yes 1234567")
    c.query_is("SELECT a FROM t LIMIT 3", ["1234567"] * 3)
    c.query_is("SELECT EXISTS (SELECT 1 FROM t)", [True])
    c.s.execute("BEGIN; DECLARE k CURSOR FOR SELECT a FROM t")
    c.equal(len(c.s.query("FETCH 100000 FROM k")), 100000, "rows")
    c.s.execute("CLOSE k; COMMIT")
    # one that would fail if it were read on, and one that ignores SIGPIPE
    c.table("u", "a text", program="echo 1; echo 2; sleep 0.2; exit 3")
    c.query_is("SELECT a FROM u LIMIT 1", ["1"])
    c.table("v", "a text", program="trap '' PIPE; while :; do echo 1 || exit 9; done")
    c.query_is("SELECT a FROM v LIMIT 2", ["1", "1"])
    c.check(eventually(lambda: not children(c.s.pid)), "children left")
    c.check(eventually(lambda: not processes_with("yes\x001234567")), "yes still runs")


@test()
def rescans_run_a_program_again(c):
    path = c.path("runs")
    open(path, "w").close()
    os.chmod(path, 0o666)
    c.table("t", "a int", program="echo run >> '%s'; echo 1; echo 2" % path)

    def runs():
        with open(path) as f:
            n = len(f.readlines())
        with open(path, "w"):
            pass
        return n

    c.query_is("SELECT count(*) FROM generate_series(1, 4) g, LATERAL (SELECT a FROM t"
               " WHERE g > 0 OFFSET 0) s", [8])
    c.equal(runs(), 4, "runs of a lateral rescan")
    c.query_is("SELECT count(*) FROM t", [2])
    c.equal(runs(), 1, "runs of a plain scan")
    c.plan("SELECT * FROM t")
    c.equal(runs(), 0, "runs of EXPLAIN")
    # ANALYZE is refused, with a warning
    c.s.execute("SET client_min_messages = warning")
    c.s.take_notices()
    c.s.execute("ANALYZE t")
    notices = c.s.take_notices()
    c.check(len(notices) == 1 and 'skipping "t"' in notices[0], "ANALYZE: %s" % notices)
    c.equal(runs(), 0, "runs of ANALYZE")


@test("H09")
def cancel_a_program(c):
    for n, program in enumerate(("sleep 97531", "echo 1; sleep 97532; echo 2",
                                 "sleep 97533 & sleep 97534; wait",
                                 "trap '' TERM; echo 1; sleep 97535; sleep 97536")):
        s = c.connect()
        c.s.execute("DROP FOREIGN TABLE IF EXISTS t")
        c.table("t", "a int", program=program)
        s.execute("SET statement_timeout = '200ms'")
        b = Background(s, "SELECT * FROM t")
        b.join(10)
        c.check(not b.is_alive(), "cannot be cancelled: " + program)
        c.check(b.error is not None and b.error.state == "57014", "%s: %s" % (program, b.error))
        c.check(b.seconds < 0.9, "%s: cancelled after %.2f s" % (program, b.seconds))
        for i in range(97531, 97537):
            c.check(eventually(lambda: not processes_with("sleep\x00%d" % i)),
                    "still running after a cancel: " + program)
        c.equal(children(s.pid), [], "children left")
        s.execute("SET statement_timeout = 0")
        s.query("SELECT 1")


@test("H09")
def terminated_sessions_end_their_program(c):
    c.table("t", "a int", program="echo 1; exec sleep 97540")
    for how in ("terminate", "kill"):
        s = c.connect()
        pid = s.pid
        Background(s, "SELECT * FROM t")
        c.check(eventually(lambda: processes_with("sleep\x0097540")), "the program does not start")
        if how == "terminate":
            c.s.query("SELECT pg_terminate_backend(%d)" % pid)
        else:
            s.connection.cancel()
        c.check(eventually(lambda: not processes_with("sleep\x0097540")),
                "the program survives " + how)
    if not eventually(lambda: not children(c.s.pid), 1):
        raise Skipped("other children of the session")


@test()
def program_output_larger_than_memory_of_a_pipe(c):
    c.table("t", "a int, b text", program="i=0; while [ $i -lt 3000 ]; do"
            " printf '%d,%01000d\\n' $i 0; i=$((i+1)); done")
    c.query_is("SELECT count(*), sum(a), sum(octet_length(b)) FROM t",
               [(3000, 4498500, 3000000)])
    for size in ("1kB", "64kB", "1MB", "8MB"):
        c.s.execute("SET parparaw.partition_size = '%s'" % size)
        c.query_is("SELECT count(*), sum(a) FROM t", [(3000, 4498500)])
