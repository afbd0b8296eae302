"""Cancelling, leaks, memory: what a session holds during and after a scan.

Must not: test what rows are right.
"""

import json
import os
import time

import psycopg2

from harness import (Background, Skipped, children, eventually, process_files,
                     process_status, temporary_files, test)

MEGABYTE = 1024 * 1024


def held(s):
    """What a session's memory contexts take, in kilobytes, and its whole memory."""
    return (int(s.value("SELECT sum(total_bytes) / 1024 FROM pg_backend_memory_contexts")),
            process_status(s.pid, "RssAnon"))


def not_grown(c, s, before, what):
    """Neither leaks in memory contexts nor outside of them; the allocator may keep some."""
    after = held(s)
    c.check(after[0] - before[0] < 512, "%s: memory contexts grew from %d to %d kB" % (
        what, before[0], after[0]))
    c.check(after[1] - before[1] < 8192, "%s: memory grew from %d to %d kB" % (
        what, before[1], after[1]))


def timed(s, sql, timeout_ms):
    """(SQLSTATE or None, seconds) of a statement under a timeout."""
    s.execute("SET statement_timeout = %d" % timeout_ms)
    started = time.time()
    e = s.error(sql)
    seconds = time.time() - started
    s.execute("SET statement_timeout = '120s'")
    return (e.state if e is not None else None), seconds


def cancels_quickly(c, sql, what):
    """Cancelled within half a second of its timeout.  The machine may be busy, so the best
    of three is taken."""
    state, whole = timed(c.s, sql, 0)
    c.check(state in (None, "22P04", "54000"), "%s: %s" % (what, state))
    late = []
    for share in (0.25, 0.5, 0.4):
        timeout = min(200, max(5, int(whole * 1000 * share)))
        state, seconds = timed(c.s, sql, timeout)
        if state == "57014":
            late.append(seconds - timeout / 1000.0)
            if late[-1] < 0.1:
                break
    c.check(late, "%s: ends in %.3f s without noticing a timeout" % (what, whole))
    c.check(min(late) < 0.5, "%s: cancelled %.2f s late" % (what, min(late)))
    c.query_is("SELECT 1", [1])


def many_rows(c, megabytes):
    path = c.path("many.csv")
    block = b"".join(b"%07d,some text %d,%d.5,2020-01-%02d\n" % (i, i % 97, i, i % 28 + 1)
                     for i in range(27000))
    with open(path, "wb") as f:
        for _ in range(megabytes * MEGABYTE // len(block) + 1):
            f.write(block)
    os.chmod(path, 0o644)
    return path


@test("H09")
def cancel_a_long_scan(c):
    path = many_rows(c, 100)
    c.table("t", "a int, b text, c float8, d date", filename=path)
    for size in ("4kB", "1MB", "1GB"):
        c.s.execute("SET parparaw.partition_size = '%s'" % size)
        for sql in ("SELECT count(*) FROM t", "SELECT sum(c), max(d) FROM t WHERE b LIKE '%x'",
                    "ANALYZE t"):
            cancels_quickly(c, sql, "%s, partition %s" % (sql, size))
    c.s.execute("ALTER FOREIGN TABLE t OPTIONS (ADD encoding 'LATIN1')")
    cancels_quickly(c, "SELECT count(*) FROM t", "transcoding")
    c.s.execute("ALTER FOREIGN TABLE t OPTIONS (DROP encoding)")
    c.s.execute("ALTER FOREIGN TABLE t ALTER COLUMN a TYPE bool, ALTER COLUMN b TYPE bool;"
                "ALTER FOREIGN TABLE t OPTIONS (ADD on_error 'ignore', ADD log_verbosity 'silent')")
    cancels_quickly(c, "SELECT count(*) FROM t", "rows that are all left out")


@test("H09")
def cancel_a_huge_field(c):
    path = c.path("huge.csv")
    with open(path, "wb") as f:
        f.write(b'1,"')
        for _ in range(250):
            f.write(b'abc""def\n' * (MEGABYTE // 9))
    os.chmod(path, 0o644)
    c.table("t", "a int, b text", filename=path)
    for size in ("64kB", "8MB", "1GB"):
        c.s.execute("SET parparaw.partition_size = '%s'" % size)
        cancels_quickly(c, "SELECT count(*) FROM t", "unclosed quote, partition %s" % size)


@test("H09")
def cancel_a_huge_line_of_json(c):
    path = c.path("huge.ndjson")
    with open(path, "wb") as f:
        f.write(b'{"a": "')
        for _ in range(250):
            f.write(b"abc\\n\xc3\xa9 def " * (MEGABYTE // 13))
        f.write(b'"}\n')
    os.chmod(path, 0o644)
    c.table("t", "a text", filename=path, format="ndjson")
    for size in ("64kB", "8MB"):
        c.s.execute("SET parparaw.partition_size = '%s'" % size)
        for sql in ("SELECT count(*) FROM t", "SELECT count(a) FROM t"):
            cancels_quickly(c, sql, "%s, partition %s" % (sql, size))


@test("H09")
def cancel_between_sessions(c):
    """pg_cancel_backend and pg_terminate_backend."""
    c.table("t", "a text", program="yes x")
    s = c.connect()
    b = Background(s, "SELECT count(*) FROM t")
    time.sleep(0.3)
    started = time.time()
    c.query_is("SELECT pg_cancel_backend(%d)" % s.pid, [True])
    b.join(5)
    c.check(not b.is_alive() and b.error.state == "57014", "cancel: %s" % b.error)
    c.check(time.time() - started < 0.5, "cancel took %.2f s" % (time.time() - started))
    b = Background(s, "SELECT count(*) FROM t")
    time.sleep(0.3)
    started = time.time()
    c.query_is("SELECT pg_terminate_backend(%d)" % s.pid, [True])
    b.join(5)
    c.check(not b.is_alive() and b.error is not None, "terminate: %s" % b.error)
    c.check(time.time() - started < 0.5, "terminate took %.2f s" % (time.time() - started))


@test("H10")
def no_threads_and_frequent_signals(c):
    """No thread can take a signal that belongs to the backend: there is none.  Timers that go
    off all the time do not disturb a scan."""
    path = many_rows(c, 20)
    c.table("t", "a int, b text, c float8, d date", filename=path)
    s = c.connect()
    expected = s.query("SELECT count(*), sum(a) FROM t")
    if c.version >= 14:
        s.execute("SET client_connection_check_interval = '1ms'")
    s.execute("SET idle_in_transaction_session_timeout = '60s'; SET lock_timeout = '50s';"
              "SET statement_timeout = '60s'; SET deadlock_timeout = '1ms'")
    pid = s.pid
    b = Background(s, "SELECT count(*), sum(a) FROM t x, generate_series(1, 3) g")
    threads = 0
    while b.is_alive():
        try:
            threads = max(threads, len(os.listdir("/proc/%d/task" % pid)))
        except OSError:
            raise Skipped("/proc/PID/task of the server is not readable")
        time.sleep(0.01)
    c.check(b.error is None, "%s" % b.error)
    c.equal(b.rows, [(expected[0][0] * 3, expected[0][1] * 3)], "under timers")
    c.equal(threads, 1, "threads of the backend")


@test("H30")
def nothing_is_left_after_many_cancels(c):
    path = many_rows(c, 30)
    c.table("t", "a int, b text, c float8, d date", filename=path)
    c.table("p", "a text", program="yes x")
    s = c.connect()
    pid = s.pid
    s.query("SELECT count(*) FROM t WHERE c > 0")
    process_files(pid)

    def cancelled(n):
        done = 0
        for i in range(n):
            try:
                # a busy machine may need longer for this than the timeout before
                s.execute("SET statement_timeout = %d" % (2 + i % 30))
                s.query(("SELECT count(*) FROM t WHERE c > 0", "SELECT count(*) FROM p",
                         "SELECT sum(x.a) FROM t x JOIN t y USING (a)")[i % 3])
            except psycopg2.extensions.QueryCanceledError:
                done += 1
        while s.error("SET statement_timeout = 0") is not None:
            pass
        return done

    cancelled(100)
    files = len(process_files(pid))
    pipes = sum(f.startswith("pipe:") for f in process_files(pid))
    memory = held(s)
    done = cancelled(160)
    c.check(done > 100, "only %d of 160 statements were cancelled" % done)
    c.check(eventually(lambda: not children(pid)), "children left: %s" % children(pid))
    c.check(len(process_files(pid)) <= files + 2, "descriptors %d, before %d" % (
        len(process_files(pid)), files))
    not_grown(c, s, memory, "cancels")
    c.equal([f for f in process_files(pid) if "many.csv" in f], [], "descriptors of files")
    c.equal(sum(f.startswith("pipe:") for f in process_files(pid)), pipes, "pipes")
    c.equal(temporary_files(s), 0, "temporary files")
    c.equal(len(os.listdir("/proc/%d/task" % pid)), 1, "threads")
    c.equal(s.value("SELECT count(*) FROM t WHERE a < 0"), 0, "the next query")


@test("H08")
def many_failing_scans(c):
    c.table("cast_error", "a int, b int", "".join("%d,%d\n" % (i, i) for i in range(50)) + "x,1\n")
    c.table("short_line", "a int, b text", "1,a\n2\n")
    c.table("encoding_error", "a text", b"a\n\xff\n")
    c.table("unterminated", "a text", 'a\n"b\n')
    c.table("missing", "a text", filename="/nonexistent/file")
    c.table("line_end", "a text", "a\nb\r\n")
    c.table("text_error", "a text, b jsonb", 'x,"{}"\ny,{\n')
    c.table("program_error", "a text", program="exit 1")
    s = c.connect()
    pid = s.pid
    tables = ("cast_error", "short_line", "encoding_error", "unterminated", "missing", "line_end",
              "text_error")

    def failing(n):
        states = {}
        for i in range(n):
            e = s.error("SELECT * FROM " + (tables[i % len(tables)] if i % 500 != 499
                                            else "program_error"))
            states[e.state if e else None] = states.get(e.state if e else None, 0) + 1
        return states

    def failing_in_subtransactions(n):
        s.execute("""
            DO $$ DECLARE r record; n int := 0; BEGIN
                FOR i IN 1 .. %d LOOP
                    BEGIN
                        FOR r IN EXECUTE 'SELECT * FROM ' || (ARRAY['cast_error', 'short_line',
                                'encoding_error', 'text_error'])[i %% 4 + 1] LOOP
                        END LOOP;
                    EXCEPTION WHEN data_exception OR bad_copy_file_format THEN
                        n := n + 1;
                    END;
                END LOOP;
                IF n <> %d THEN RAISE 'only %% errors', n; END IF;
            END $$""" % (n, n))

    failing(2000)
    failing_in_subtransactions(1000)
    files = len(process_files(pid))
    memory = held(s)
    states = failing(12000)
    c.check(None not in states, "scans that did not fail: %s" % states)
    for _ in range(8):
        failing_in_subtransactions(1000)
    not_grown(c, s, memory, "20000 failing scans")
    c.check(len(process_files(pid)) <= files + 2, "descriptors %d, before %d" % (
        len(process_files(pid)), files))
    c.equal(children(pid), [], "children left")
    c.equal(temporary_files(s), 0, "temporary files")


@test()
def many_scans_that_succeed(c):
    """The same without errors: nothing piles up in a session or a transaction."""
    c.table("t", "a int, b text, c jsonb", "".join('%d,text,"{}"\n' % i for i in range(100)))
    s = c.connect()
    pid = s.pid

    def scans(n):
        s.execute("DO $$ BEGIN FOR i IN 1 .. %d LOOP PERFORM count(b), max(c::text) FROM t;"
                  " PERFORM a FROM t LIMIT 1; END LOOP; END $$" % n)

    rescans = ("SELECT count(*) FROM generate_series(1, 3000) g,"
               " LATERAL (SELECT c FROM t WHERE a = g % 100 OFFSET 0) x")
    scans(500)
    s.query(rescans)
    process_files(pid)
    memory = held(s)
    scans(3000)
    not_grown(c, s, memory, "6000 scans")
    # and over the rescans of one query
    for _ in range(2):
        s.query(rescans)
    not_grown(c, s, memory, "6000 rescans")


def peak(c, sql, settings):
    """How far a fresh session's peak memory rises over the query, in bytes."""
    s = c.connect()
    s.execute("SET max_parallel_workers_per_gather = 0; SET work_mem = '4MB'")
    for name, value in settings.items():
        s.execute("SELECT set_config(%s, %s, false)", (name, value))
    s.query("SELECT count(*) FROM small")       # loads the library
    process_files(s.pid)
    before = process_status(s.pid, "VmHWM")
    rows = s.query(sql)
    after = process_status(s.pid, "VmHWM")
    s.close()
    return (after - before) * 1024, rows


@test()
def memory_follows_the_partition_not_the_file(c):
    c.table("small", "a int", "1\n")
    path = many_rows(c, 64)
    c.table("t", "a int, b text, c float8, d date", filename=path)
    for size, allowed in ((MEGABYTE, 8 * MEGABYTE), (64 * 1024, 3 * MEGABYTE),
                          (4 * MEGABYTE, 16 * MEGABYTE)):
        for sql in ("SELECT count(*) FROM t", "SELECT count(a), sum(c), max(b), min(d) FROM t"):
            used, rows = peak(c, sql, {"parparaw.partition_size": "%dB" % size})
            c.check(rows[0][0] > 1000000, "rows: %s" % rows)
            c.check(used < allowed, "%s with partitions of %d kB: %.1f MB" % (
                sql, size // 1024, used / MEGABYTE))


@test()
def memory_follows_the_longest_record(c):
    c.table("small", "a int", "1\n")
    length = 40 * MEGABYTE
    path = c.path("long.csv")
    with open(path, "wb") as f:
        f.write(b'1,x\n2,"')
        f.write(b"abcdefgh" * (length // 8))
        f.write(b'"\n3,y\n')
    os.chmod(path, 0o644)
    c.table("t", "a int, b text", filename=path)
    for size in ("64kB", "1MB"):
        used, rows = peak(c, "SELECT count(*), max(octet_length(b)) FROM t",
                          {"parparaw.partition_size": size})
        c.equal(rows, [(3, length)], "a record of 40 MB")
        c.check(used < 5 * length, "partitions of %s, a record of 40 MB: %.1f MB" % (
            size, used / MEGABYTE))
        used, rows = peak(c, "SELECT count(*) FROM t", {"parparaw.partition_size": size})
        c.equal(rows, [(3,)], "a record of 40 MB")
        c.check(used < 4 * length, "count(*), partitions of %s, a record of 40 MB: %.1f MB" % (
            size, used / MEGABYTE))


def bytes_read(pid):
    """What a process has read so far, by any system call."""
    try:
        with open("/proc/%d/io" % pid) as f:
            for line in f:
                if line.startswith("rchar:"):
                    return int(line.split()[1])
    except OSError:
        pass
    raise Skipped("/proc/PID/io of the server is not readable: run as root or as the server's user")


@test()
def a_limit_reads_little_of_a_huge_file(c):
    """A few partitions of a file of 100 GB, all but the start of which is a hole."""
    path = many_rows(c, 4)
    try:
        os.truncate(path, 100 * 1024 * MEGABYTE)
    except OSError as e:
        raise Skipped("no file can be that large here: %s" % e)
    c.table("small", "a int", "1\n")
    c.table("t", "a int, b text, c float8, d date", filename=path)
    partition = c.s.value("SELECT current_setting('parparaw.partition_size')::text FROM small")
    c.equal(partition, "256kB", "the default")
    first = [(i, "some text %d" % i) for i in range(10)]
    for workers in (0, 2):
        s = c.connect()
        s.execute("SET max_parallel_workers_per_gather = %d; SET parallel_setup_cost = 0;"
                  "SET parallel_tuple_cost = 0" % workers)
        s.query("SELECT * FROM t LIMIT 1")              # loads the library and catalogs
        for sql, rows in (("SELECT a, b FROM t LIMIT 10", first),
                          ("SELECT a, b FROM t WHERE c >= 0 AND d IS NOT NULL LIMIT 10", first),
                          ("SELECT a, b FROM t OFFSET 5 LIMIT 5", first[5:]),
                          ("SELECT count(*) FROM (SELECT 1 FROM t LIMIT 10) s", [(10,)]),
                          ("SELECT EXISTS (SELECT 1 FROM t WHERE a = 9)", [(True,)])):
            before = bytes_read(s.pid)
            found = s.query(sql)
            used = bytes_read(s.pid) - before
            if workers == 0:
                c.equal(found, rows, sql)
            else:
                c.equal(len(found), len(rows), sql)
            c.check(used < MEGABYTE, "%s, %d workers: %d bytes read" % (sql, workers, used))
            document = s.value("EXPLAIN (ANALYZE, FORMAT json) " + sql)
            nodes = [(json.loads(document) if isinstance(document, str) else document)[0]["Plan"]]
            while nodes[-1]["Node Type"] != "Foreign Scan":
                nodes.append(nodes[-1]["Plans"][0])
            c.check(0 < nodes[-1]["Bytes"] <= (1 + workers) * 512 * 1024,
                    "%s, %d workers: %d bytes parsed" % (sql, workers, nodes[-1]["Bytes"]))
        # a cursor reads on as it is asked for more
        s.execute("BEGIN; DECLARE k CURSOR FOR SELECT a FROM t")
        before = bytes_read(s.pid)
        c.equal(len(s.query("FETCH 10 FROM k")), 10, "rows by cursor")
        c.check(bytes_read(s.pid) - before < MEGABYTE, "by cursor: %d bytes read" % (
            bytes_read(s.pid) - before))
        s.execute("COMMIT")


@test()
def memory_of_skipped_rows(c):
    """Rows left out one after the other do not add up."""
    c.table("small", "a int", "1\n")
    path = c.path("bad.csv")
    with open(path, "wb") as f:
        f.write((b"x" * 90 + b',"{}"\n') * 300000)
    os.chmod(path, 0o644)
    c.table("t", "a int, b jsonb", filename=path, on_error="ignore", log_verbosity="silent")
    used, rows = peak(c, "SELECT count(*) FROM t", {"parparaw.partition_size": "64kB"})
    c.equal(rows, [(0,)], "rows")
    c.check(used < 6 * MEGABYTE, "300000 rows left out: %.1f MB" % (used / MEGABYTE))


@test()
def records_too_long(c):
    """A record may not reach a gigabyte; a quote that is never closed makes one."""
    path = c.path("sparse.csv")
    with open(path, "wb") as f:
        f.write(b'1,x\n2,"')
        block = b"abcdefg\n" * (MEGABYTE // 8)
        for _ in range(1030):
            f.write(block)
    os.chmod(path, 0o644)
    c.table("t", "a int, b text", filename=path)
    c.s.execute("SET statement_timeout = '300s'")
    try:
        e = c.fails("SELECT count(*) FROM t", "54000")
        c.check(", line " in e.context, e.context)
        c.query_is("SELECT a FROM t LIMIT 1", [1])
    finally:
        os.unlink(path)


@test("H21")
def very_wide_rows(c):
    """More columns than a batch has room for at once, up to the server's limit."""
    n = 1600
    columns = ", ".join("c%d int" % i for i in range(n))
    row = ",".join(str(i) for i in range(n))
    c.table("t", columns, (row + "\n") * 300)
    c.query_is("SELECT count(*), sum(c0), sum(c%d), sum(c800) FROM t" % (n - 1),
               [(300, 0, 300 * (n - 1), 300 * 800)])
    c.s.execute("SET parparaw.partition_size = '100B'")
    c.query_is("SELECT count(*), sum(c1599) FROM t", [(300, 300 * 1599)])
    path = c.file("wide.csv", ",".join("1" for _ in range(200000)) + "\n")
    c.table("w", "a int", filename=path)
    c.fails("SELECT * FROM w", "22P04", "extra data after last expected column")


@test()
def settings_are_checked(c):
    for value in ("0", "-1", "'2GB'", "'x'"):
        c.fails("SET parparaw.partition_size = %s" % value, "22023")
    c.fails("SET parparaw.chunk_size = -1", "22023")
    c.s.execute("LOAD 'parparaw_fdw'")
    if c.version >= 15:
        c.fails("SET parparaw.no_such_setting = 1", "42602")
    c.s.execute("SET parparaw.partition_size = '1GB'")
    c.table("t", "a int", "1\n2\n")
    used = process_status(c.s.pid, "VmRSS")
    c.query_is("SELECT sum(a) FROM t", [3])
    c.check(process_status(c.s.pid, "VmRSS") - used < 100 * 1024,
            "a tiny file takes a gigabyte of memory")
