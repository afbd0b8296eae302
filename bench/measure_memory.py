"""Measures the memory that scans of one file take on a running server.

Connects with the usual PG* variables, as a superuser.  Each query runs in a
session of its own, which has scanned a small file before: what it holds then
is called idle.  Two figures are taken of each process of the query:

  RssAnon  the most found by looking every few milliseconds, less what the
           idle session has: memory of the process alone, without files mapped
           into it and without shared memory, but peaks may be missed;
  VmHWM    the kernel's own peak of everything resident, less the same of the
           idle session, less the shared buffers touched meanwhile (RssShmem,
           which the server has anyway): no peak is missed, but program code
           that ran for the first time counts as well.

A worker has no idle time of its own, so the leader's is taken.

Owns: the queries, and the figures.  Must not: make files, or start anything.

Exit status: 0, or 1 if a process took more than the limit by either figure.
"""

import argparse
import os
import sys
import threading
import time

import psycopg2

import queries

INTERVAL = 0.003

SUMS = ", ".join("sum(%s)" % c for c in queries.EIGHT_SUMS)
QUERIES = {
    "taxi": (
        ("count(*)", "SELECT count(*) FROM t", True),
        ("sum of one column", "SELECT sum(total_amount) FROM t", True),
        ("sums of 8 columns", "SELECT %s FROM t" % SUMS, True),
        ("the same, as rows", "SELECT %s FROM t" % SUMS, False),
        ("all 17 columns, as rows", "SELECT count(t) FROM t", False),
    ),
    "reviews": (
        ("count(*)", "SELECT count(*) FROM t", True),
        ("sum(octet_length(text))", "SELECT sum(octet_length(text)) FROM t", True),
        ("max(text)", 'SELECT max(octet_length(x)) FROM (SELECT max(text COLLATE "C") AS x FROM t) s',
         True),
        ("all 9 columns, as rows", "SELECT count(t) FROM t", False),
    ),
}


def memory(pid):
    """Kilobytes by the names of /proc/PID/status, or None once it has ended."""
    try:
        with open("/proc/%d/status" % pid) as f:
            return {line.split(":")[0]: int(line.split()[1]) for line in f
                    if line.startswith(("VmHWM:", "RssAnon:", "RssShmem:"))}
    except (OSError, IndexError):
        return None


def workers_of(leader, postmaster):
    """Processes of the postmaster that call themselves parallel workers for the leader."""
    out = set()
    try:
        with open("/proc/%d/task/%d/children" % (postmaster, postmaster)) as f:
            pids = [int(p) for p in f.read().split()]
    except OSError:
        return out
    for pid in pids:
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                if b"parallel worker for PID %d" % leader in f.read():
                    out.add(pid)
        except OSError:
            pass
    return out


class Watch(threading.Thread):
    """Peaks of the session and of its parallel workers."""

    def __init__(self, leader, postmaster):
        threading.Thread.__init__(self, daemon=True)
        self.leader = leader
        self.postmaster = postmaster
        self.peaks = {}
        self.done = False
        self.start()

    def run(self):
        while not self.done:
            for pid in {self.leader} | workers_of(self.leader, self.postmaster):
                now = memory(pid)
                if now:
                    peak = self.peaks.setdefault(pid, dict(now))
                    for name, value in now.items():
                        peak[name] = max(peak[name], value)
            time.sleep(INTERVAL)


def measure(connect, sql, settings):
    """(seconds, [(RssAnon, VmHWM) above idle of each process, the leader first]) in kilobytes."""
    connection = connect()
    cursor = connection.cursor()
    for name, value in settings.items():
        cursor.execute("SELECT set_config(%s, %s, false)", (name, str(value)))
    cursor.execute("SELECT count(*), min(a), max(b) FROM small WHERE a > 0")
    cursor.execute("SELECT count(s) FROM small s")
    cursor.fetchall()
    leader = connection.get_backend_pid()
    idle = memory(leader)
    with open("/proc/%d/stat" % leader) as f:
        postmaster = int(f.read().rpartition(")")[2].split()[1])
    watch = Watch(leader, postmaster)
    started = time.time()
    cursor.execute(sql)
    cursor.fetchall()
    seconds = time.time() - started
    after = memory(leader)
    watch.done = True
    watch.join()
    watch.peaks[leader]["VmHWM"] = after["VmHWM"]
    connection.close()
    out = [(peak["RssAnon"] - idle["RssAnon"],
            peak["VmHWM"] - idle["VmHWM"] - max(0, peak["RssShmem"] - idle["RssShmem"]))
           for pid, peak in sorted(watch.peaks.items(), key=lambda p: p[0] != leader)]
    return seconds, out


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--table", choices=sorted(QUERIES), required=True)
    p.add_argument("--file", required=True)
    p.add_argument("--limit", type=float, required=True, help="megabytes")
    p.add_argument("--workers", type=int, required=True)
    a = p.parse_args()

    def connect():
        connection = psycopg2.connect("")
        connection.autocommit = True
        return connection

    admin = connect()
    cursor = admin.cursor()
    small = os.path.join(os.path.dirname(a.file), "small.%d.csv" % os.getpid())
    with open(small, "w") as f:
        f.write("1,x\n2,y\n")
    over = False
    try:
        cursor.execute("DROP FOREIGN TABLE IF EXISTS t, small;"
                       "CREATE FOREIGN TABLE t (%s) SERVER gpu_csv"
                       " OPTIONS (filename '%s', header 'true', encoding 'UTF8');"
                       "CREATE FOREIGN TABLE small (a int, b text) SERVER gpu_csv"
                       " OPTIONS (filename '%s')" % (
                           queries.postgres_columns(a.table), a.file, small))
        print("%s, %d MB; megabytes above idle: RssAnon, VmHWM less shared buffers" % (
            a.table, os.stat(a.file).st_size >> 20))
        for name, sql, pushed in QUERIES[a.table]:
            for workers in (0, a.workers):
                settings = {"jit": "off", "max_parallel_workers_per_gather": workers,
                            "parparaw.enable_aggregate_pushdown": "on" if pushed else "off"}
                if workers:
                    settings.update(parallel_setup_cost=0, parallel_tuple_cost=0,
                                    min_parallel_table_scan_size=0)
                seconds, processes = measure(connect, sql, settings)
                if workers and len(processes) == 1:
                    continue            # there is no parallel plan
                most = max(max(p) for p in processes) / 1024.0
                over = over or most > a.limit
                print("%-26s %-9s %7.2f s   %s%s" % (
                    name, "%d workers" % workers if workers else "serial", seconds,
                    "   ".join("%5.1f %5.1f" % (anon / 1024.0, peak / 1024.0)
                               for anon, peak in processes),
                    "  OVER THE LIMIT" if most > a.limit else ""))
                sys.stdout.flush()
    finally:
        cursor.execute("DROP FOREIGN TABLE IF EXISTS t, small")
        os.unlink(small)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
