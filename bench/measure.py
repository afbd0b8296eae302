"""Measures the jobs of queries.py on a running server and in other engines.

Connects with the usual PG* variables, as a superuser, to a server of its own:
it creates schemas and tables and expects the extensions to be there.  All
systems answer a job in alternation, round by round; answers are compared
while measuring goes on.  Everything is written to a JSON file that report.py
reads.

Owns: what a system is (a session with settings, or an engine in a process of
its own), timing, pinning to processors, comparison of answers.

Must not: install or build anything, or decide how figures are shown.

Exit status: 0, or 1 if answers differ or this extension failed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import psycopg2

import queries

HERE = os.path.dirname(os.path.abspath(__file__))
PREAD_BUFFER = 1 << 20
SMALL_FILE = 64                         # MB; smaller ones get more rounds
SETTINGS = "-c jit=off -c max_parallel_workers_per_gather=0 -c client_min_messages=warning"

# A plan may have as many workers as allowed, however cheap it looks.
PARALLEL = {
    "parallel_setup_cost": "0",
    "parallel_tuple_cost": "0",
    "min_parallel_table_scan_size": "0",
}


class Failure(Exception):
    """A system could not answer."""


class Unusable(Exception):
    """A system cannot take part; why."""


class Processors:
    """Which processors measured work may run on.  One that is to use n of
    them gets the last n; this process stays off the last where there are
    others."""

    def __init__(self, notes):
        self.notes = notes
        self.all = sorted(os.sched_getaffinity(0))
        self.own = self.all[:-1] or self.all
        os.sched_setaffinity(0, self.own)

    def some(self, n):
        return self.all[-n:]

    def pin(self, pid, n):
        try:
            os.sched_setaffinity(pid, self.some(n))
        except PermissionError:
            self.notes.add("sessions could not be pinned to a processor")


class Notes:
    """Remarks for the report, each once, also printed."""

    def __init__(self, first):
        self.list = list(first)

    def add(self, text):
        if text not in self.list:
            self.list.append(text)
            print("note: " + text, flush=True)


class Series:
    """What one system did in one job."""

    def __init__(self):
        self.seconds = []
        self.cpu = []                   # None where it is not known
        self.answers = []
        self.error = None

    def as_dict(self):
        return {"seconds": self.seconds, "cpu": self.cpu, "error": self.error,
                "answer": self.answers[0] if self.answers else None}


def backend_cpu(pid):
    """Seconds that a process has run, to the nanosecond, or None."""
    try:
        with open("/proc/%d/schedstat" % pid) as f:
            return int(f.read().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


class Session:
    """A system that is a session with settings of the server.

    key: name in the results; schema: whose tables its queries read; workers:
    how many a plan may have beside the leader; settings: name to value.
    Raises Unusable if the server refuses a setting.
    """

    def __init__(self, key, title, schema, processors, settings=None, workers=0):
        self.key = key
        self.title = title
        self.schema = schema
        self.workers = workers
        self.connection = psycopg2.connect(options=SETTINGS)
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()
        self.pid = self.connection.get_backend_pid()
        processors.pin(self.pid, workers + 1)
        try:
            self.cursor.execute("LOAD 'parparaw_fdw'")
            self.cursor.execute("SET max_parallel_workers_per_gather = %s", (workers,))
            for name, value in dict(settings or {}, **(PARALLEL if workers else {})).items():
                self.cursor.execute("SET %s = %%s" % name, (value,))
        except psycopg2.Error as error:
            self.close()
            raise Unusable(str(error).splitlines()[0])

    def close(self):
        self.connection.close()

    def table(self, name):
        return "%s.%s" % (self.schema, name)

    def loaded(self):
        return "loaded." + self.key

    def statement(self, job, table, path):
        if job.sql is None:
            return "CREATE UNLOGGED TABLE %s AS SELECT * FROM %s" % (
                self.loaded(), self.table(table))
        return job.sql.replace("{t}", self.table(table))

    def plan(self, job, table, path):
        try:
            self.cursor.execute("EXPLAIN (FORMAT JSON, COSTS OFF) " +
                                self.statement(job, table, path))
        except psycopg2.Error as error:
            raise Failure(str(error).splitlines()[0])
        return self.cursor.fetchone()[0][0]["Plan"]

    def prepare(self, job):
        """Before a round; not measured."""
        if job.sql is None:
            self.cursor.execute("DROP TABLE IF EXISTS " + self.loaded())

    def warm(self, job, table, path):
        """Before the first round; not measured.  What takes long and has
        nothing to warm is only planned."""
        if job.sql is None or self.schema == "file_fdw":
            self.prepare(job)
            self.plan(job, table, path)
        else:
            self.run(job, table, path)

    def execute(self, statement):
        """Wall and processor time, then what came out of it: a row of
        numbers, or the number of rows that were loaded."""
        try:
            cpu = backend_cpu(self.pid)
            wall = time.perf_counter()
            self.cursor.execute(statement)
            row = self.cursor.fetchone() if self.cursor.description else None
            wall = time.perf_counter() - wall
            after = backend_cpu(self.pid)
        except psycopg2.Error as error:
            raise Failure(str(error).splitlines()[0])
        known = cpu is not None and after is not None and self.workers == 0
        answer = list(row) if row is not None else [self.cursor.rowcount]
        return wall, after - cpu if known else None, answer

    def run(self, job, table, path):
        self.prepare(job)
        return self.execute(self.statement(job, table, path))

    def finish(self, job):
        """A checksum over what the last round has loaded, or None."""
        if job.sql is not None:
            return None
        answer = checksum(self.cursor, self.loaded())
        self.cursor.execute("DROP TABLE " + self.loaded())
        return answer


class Core(Session):
    """What PostgreSQL itself does with files of JSON: a job says how, by key."""

    def statement(self, job, table, path):
        return job.core[self.key].replace("{t}", self.table(table)).replace("{path}", path)


class Copy(Session):
    """COPY into a new unlogged table, which stays for the system "heap"."""

    def loaded(self):
        return self.table(self.current)

    def prepare(self, job):
        self.current = job.table
        self.cursor.execute("DROP TABLE IF EXISTS " + self.loaded())
        self.cursor.execute("CREATE UNLOGGED TABLE %s (%s)" % (
            self.loaded(), queries.postgres_columns(job.table)))

    def warm(self, job, table, path):
        pass

    def run(self, job, table, path):
        self.prepare(job)
        return self.execute("COPY %s FROM '%s' WITH (FORMAT csv, HEADER)" % (
            self.loaded(), path))

    def finish(self, job):
        self.cursor.execute("VACUUM ANALYZE " + self.loaded())
        os.sync()                       # lest it be written out later, beside a job
        return checksum(self.cursor, self.loaded())


class Engine:
    """A system that is another engine, in a process of its own (peers.py, and
    peer_simdjson.cpp).  Raises Unusable if it does not start."""

    workers = 0

    def __init__(self, key, title, command, processors, threads=1):
        self.key = key
        self.title = title
        self.process = subprocess.Popen(
            command + [str(threads), ",".join(map(str, processors.some(threads)))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.version = self.read()["version"]
        except Failure as failure:
            self.close()
            raise Unusable(str(failure))

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:         # it has ended before
            pass
        self.process.stdout.close()
        self.process.wait()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failure("its process has ended with status %s" % self.process.wait())
        answer = json.loads(line)
        if "error" in answer:
            raise Failure(answer["error"])
        return answer

    def warm(self, job, table, path):
        self.run(job, table, path)

    def run(self, job, table, path):
        try:
            self.process.stdin.write(json.dumps({"job": job.name, "path": path}) + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise Failure("its process has ended")
        answer = self.read()
        return answer["seconds"], answer["cpu"], answer["answer"]

    def finish(self, job):
        return None


def checksum(cursor, table):
    """Rows, and a sum over hashes of whole rows: their order is free."""
    cursor.execute("SELECT count(*), sum(hash_record_extended(t, 0)) FROM %s t" % table)
    return [int(value) for value in cursor.fetchone()]


def pread_seconds(path, processors):
    """Seconds to read a file into a buffer that is used again and again."""
    buffer = memoryview(bytearray(PREAD_BUFFER))
    os.sched_setaffinity(0, processors.some(1))
    try:
        fd = os.open(path, os.O_RDONLY)
        try:
            start = time.perf_counter()
            offset = 0
            while True:
                n = os.preadv(fd, [buffer], offset)
                if n == 0:
                    break
                offset += n
            return time.perf_counter() - start
        finally:
            os.close(fd)
    finally:
        os.sched_setaffinity(0, processors.own)


def same(a, b):
    """Are two answers the same, floating point numbers up to rounding?"""
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if x is None or y is None:
            if x is not y:
                return False
        elif isinstance(x, float) or isinstance(y, float):
            if not abs(x - y) <= 1e-9 * max(abs(x), abs(y)):
                return False
        elif x != y:
            return False
    return True


def divides_the_file(plan):
    """Is there a scan in the plan that its participants share?"""
    if plan["Node Type"] in ("Foreign Scan", "Custom Scan") and plan.get("Parallel Aware"):
        return True
    return any(divides_the_file(child) for child in plan.get("Plans", ()))


def planned_workers(plan):
    return max([plan.get("Workers Planned", 0)] +
               [planned_workers(child) for child in plan.get("Plans", ())])


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.deadline = time.monotonic() + arguments.budget if arguments.budget else None
        self.notes = Notes(arguments.note)
        self.processors = Processors(self.notes)
        self.failed = False
        self.systems = {}               # key to description
        self.results = []
        self.versions = {}
        self.load_seconds = {}          # table to seconds of COPY
        self.admin = psycopg2.connect()
        self.admin.autocommit = True
        self.cursor = self.admin.cursor()
        self.cursor.execute("LOAD 'parparaw_fdw'")

    # -- set-up ---------------------------------------------------------------

    def path(self, table, size):
        return os.path.join(self.arguments.folder, queries.file_name(table, size))

    def table(self, name, size):
        return name if size == self.arguments.size else "%s_%d" % (name, size)

    def create_tables(self):
        for schema in ("parparaw", "file_fdw", "heap", "loaded"):
            self.cursor.execute("CREATE SCHEMA " + schema)
        sizes = {self.arguments.size}
        if "sizes" in self.arguments.jobs:
            sizes.update(self.arguments.sizes)
        for name in queries.TABLES:
            for size in sizes:
                if not os.path.exists(self.path(name, size)):
                    continue
                columns = queries.postgres_columns(name)
                format = "format '%s'" % queries.FILES[name][1]
                if queries.is_csv(name):
                    format += ", header 'true'"
                    core = columns, format
                else:
                    core = "doc text", "format 'csv', quote E'\\x01', delimiter E'\\x02'"
                for schema, server, what in (("parparaw", "gpu_csv", (columns, format)),
                                             ("file_fdw", "file_server", core)):
                    self.create_table(
                        "CREATE FOREIGN TABLE %s.%s (%s) SERVER %s OPTIONS (%s, filename '%s')"
                        % (schema, self.table(name, size), what[0], server, what[1],
                           self.path(name, size)))

    def create_table(self, sql):
        """If it fails, so will the jobs on it."""
        try:
            self.cursor.execute(sql)
        except psycopg2.Error as error:
            self.failed = True
            self.notes.add("%s: %s" % (str(error).splitlines()[0], sql))

    def has_setting(self, name):
        self.cursor.execute("SELECT 1 FROM pg_settings WHERE name = %s", (name,))
        return self.cursor.fetchone() is not None

    def describe(self, system, kind):
        self.systems[system.key] = {"title": system.title, "kind": kind}
        if hasattr(system, "version"):
            self.versions[system.key] = system.version
        return system

    def attempt(self, kind, make, *arguments, **keywords):
        """The system as a list of one, or none with a note why."""
        try:
            return [self.describe(make(*arguments, **keywords), kind)]
        except Unusable as why:
            self.notes.add("%s is left out: %s" % (arguments[1], why))
            return []

    def simd_levels(self):
        if self.arguments.simd != ["all"]:
            return self.arguments.simd
        self.cursor.execute("SELECT unnest(enumvals) FROM pg_settings"
                            " WHERE name = 'parparaw.simd'")
        return [level for level, in self.cursor.fetchall() if level != "auto"]

    def ours(self, workers=0, rows=False):
        key, title, settings = "parparaw", "parparaw_fdw", {}
        if rows:
            key += "_rows"
            title += ", rows"
            settings["parparaw.enable_aggregate_pushdown"] = "off"
        if workers:
            key += "_%d" % workers
            title += ", %d worker%s" % (workers, "" if workers == 1 else "s")
        return self.attempt("ours", Session, key, title, "parparaw", self.processors,
                            settings, workers)

    def make_systems(self):
        """All for the jobs, in the order they answer in."""
        peers = self.arguments.peers
        systems = self.ours()
        if not systems:
            sys.exit("measure: the extension cannot be loaded")
        if self.has_setting("parparaw.enable_aggregate_pushdown"):
            systems += self.ours(rows=True)
        systems += self.ours(workers=1)
        for level in self.simd_levels():
            systems += self.attempt("ours", Session, "parparaw_" + level,
                                    "parparaw_fdw, " + level, "parparaw", self.processors,
                                    {"parparaw.simd": level})
        if "file_fdw" in peers:
            systems += self.attempt("reader", Session, "file_fdw", "file_fdw", "file_fdw",
                                    self.processors)
            for key, title in (("file_fdw_json", "file_fdw, text::json"),
                               ("file_fdw_jsonb", "file_fdw, text::jsonb"),
                               ("pg_read_file", "pg_read_file()::json")):
                systems += self.attempt("reader", Core, key, title, "file_fdw", self.processors)
        if "heap" in peers:
            systems += self.attempt("load", Copy, "copy", "COPY", "heap", self.processors)
            systems += self.attempt("heap", Session, "heap", "heap", "heap", self.processors)
        for engine in self.wanted_engines():
            systems += self.engine(engine, self.arguments.threads)
        return systems

    def wanted_engines(self, library=True):
        return [peer for peer in self.arguments.peers if peer in queries.ENGINES and
                (library or peer != "simdjson")]

    def engine(self, key, threads):
        titles = {"duckdb": "DuckDB", "polars": "Polars", "clickhouse": "ClickHouse",
                  "simdjson": "simdjson, no SQL"}
        command = [self.arguments.simdjson] if key == "simdjson" else [
            self.arguments.python, os.path.join(HERE, "peers.py"), key]
        if key == "simdjson":
            return self.attempt("library", Engine, key, titles[key], command, self.processors)
        return self.attempt("reader", Engine, key, titles[key], command, self.processors, threads)

    # -- measuring ------------------------------------------------------------

    def out_of_time(self):
        return self.deadline is not None and time.monotonic() > self.deadline

    def applies(self, system, job, table, path, plans):
        """Does a system take part in this job, and differently from others?"""
        if system.key == "copy":
            return job.sql is None
        if system.key == "heap":
            return job.sql is not None and job.table in self.load_seconds
        if isinstance(system, Engine):
            return job.sql is not None and (system.key != "simdjson" or job.core is not None)
        if system.schema == "file_fdw":
            return system.key in (job.core or ["file_fdw"])
        if system.schema == "parparaw":
            plan = system.plan(job, table, path)
            if system.workers and not divides_the_file(plan):
                return False
            if system.workers and planned_workers(plan) < system.workers:
                self.notes.add("%s: %d of %d workers planned" % (
                    job.title, planned_workers(plan), system.workers))
            if system.key.startswith("parparaw_rows") and plan == plans.get(system.workers):
                return False
            plans.setdefault(system.workers, plan)
        return True

    def measure(self, job, size, systems, rounds):
        """One job in all systems that take part; answers a dictionary, or
        None if the time is up."""
        table = self.table(job.table, size)
        path = self.path(job.table, size)
        if self.out_of_time():
            self.notes.add("left out, as the time is up: %s" % job.title)
            return None
        plans = {}
        series = {s.key: Series() for s in systems}
        preads = []

        def call(system, function, *arguments):
            """None if the system fails; it is then out of this job."""
            try:
                return function(*arguments)
            except Failure as failure:
                series[system.key].error = str(failure)
                self.notes.add("%s: %s failed: %s" % (job.title, system.title, failure))
                if system.key.startswith("parparaw"):
                    self.failed = True
                return None

        systems = [s for s in systems if call(s, self.applies, s, job, table, path, plans)]
        pread_seconds(path, self.processors)
        for system in systems:
            call(system, system.warm, job, table, path)
        for done in range(rounds):
            if done and self.out_of_time():
                self.notes.add("fewer rounds, as the time is up: %s" % job.title)
                break
            preads.append(pread_seconds(path, self.processors))
            for system in systems:
                s = series[system.key]
                if s.error:
                    continue
                measured = call(system, system.run, job, table, path)
                if measured:
                    s.seconds.append(measured[0])
                    s.cpu.append(measured[1])
                    s.answers.append(measured[2])
        for system in systems:
            s = series[system.key]
            if s.answers and not s.error:
                extra = system.finish(job)
                if extra:
                    s.answers = [answer + extra for answer in s.answers]
        return {"job": job.name, "title": job.title, "table": job.table, "load": job.sql is None,
                "file": os.path.basename(path),
                "size": size, "bytes": os.path.getsize(path), "pread": preads,
                "different": self.differences(job, size, systems, series),
                "systems": {key: s.as_dict() for key, s in series.items()
                            if s.seconds or s.error}}

    def differences(self, job, size, systems, series):
        """Keys of systems whose answers are not PostgreSQL's own (without it,
        those of the first system), and whether there are any."""
        answering = [s.key for s in systems if series[s.key].answers]
        if not answering:
            return []
        reference = next((s.key for s in systems if s.key in answering and
                          getattr(s, "schema", None) == "file_fdw"), answering[0])
        right = series[reference].answers[0]
        different = [key for key in answering
                     if not all(same(right, answer) for answer in series[key].answers)]
        for key in different:
            self.failed = True
            wrong = [a for a in series[key].answers if not same(right, a)][0]
            self.notes.add("DIFFERENT ANSWERS: %s, %d MB: %s says %s, %s says %s" % (
                job.title, size, reference, right, key, wrong))
        return different

    def say(self, what):
        print("%-40s %4d MB: %s" % (what["title"], what["size"], ", ".join(
            "%s %.3f s" % (key, statistics.median(s["seconds"]))
            for key, s in what["systems"].items() if s["seconds"])), flush=True)

    def load_for_heap(self, systems, table):
        """The heap needs its table even where the loads are not measured."""
        job = queries.JOB[table + "_load"]
        for copy in [s for s in systems if s.key == "copy"]:
            if table in self.load_seconds or self.out_of_time():
                continue
            try:
                self.load_seconds[table] = copy.run(job, table, self.path(
                    table, self.arguments.size))[0]
                copy.finish(job)
            except Failure as failure:
                self.notes.add("%s: COPY failed: %s" % (job.title, failure))

    def run_jobs(self):
        wanted = [job for job in queries.JOBS if job.name in self.arguments.jobs]
        if not wanted:
            return
        systems = self.make_systems()
        for job in wanted:
            if job.sql is not None and job.core is None:
                self.load_for_heap(systems, job.table)
            result = self.measure(job, self.arguments.size, systems, self.arguments.rounds)
            if result is None:
                continue
            copied = result["systems"].get("copy")
            if copied and copied["seconds"]:
                self.load_seconds[job.table] = statistics.median(copied["seconds"])
            self.say(result)
            self.results.append(result)
        for system in systems:
            system.close()

    def run_sizes(self):
        """Throughput over file size."""
        if "sizes" not in self.arguments.jobs:
            return []
        systems = self.ours()
        if "file_fdw" in self.arguments.peers:
            systems += self.attempt("reader", Session, "file_fdw", "file_fdw", "file_fdw",
                                    self.processors)
        for engine in self.wanted_engines(library=False):
            systems += self.engine(engine, self.arguments.threads)
        results = []
        for name in self.arguments.size_jobs:
            for size in sorted(self.arguments.sizes):
                rounds = self.arguments.rounds * (4 if size < SMALL_FILE else 1)
                result = self.measure(queries.JOB[name], size, systems, rounds)
                if result:
                    self.say(result)
                    results.append(result)
        for system in systems:
            system.close()
        return results

    def run_scaling(self):
        """Time over the number of participants: workers and the leader, or
        threads of an engine."""
        if "scaling" not in self.arguments.jobs:
            return []
        processors = len(self.processors.all)
        participants = [1 << i for i in range(processors.bit_length()) if 1 << i < processors]
        participants.append(processors)
        systems = []
        for n in participants:
            some = self.ours(workers=n - 1)
            if self.has_setting("parparaw.enable_aggregate_pushdown"):
                some += self.ours(workers=n - 1, rows=True)
            for system in some:
                system.key = "parparaw_rows" if "rows" in system.key else "parparaw"
            for engine in self.wanted_engines(library=False):
                some += self.engine(engine, n)
            for system in some:
                system.key += "@%d" % n
            systems += some
        results = []
        for name in queries.SCALING_JOBS:
            result = self.measure(queries.JOB[name], self.arguments.size, systems,
                                  self.arguments.rounds)
            if result is None:
                continue
            self.say(result)
            for n in participants:
                results.append(self.share(result, "@%d" % n, participants=n))
            if processors > 1 and not any(
                    "parparaw" in r["systems"] for r in results if r["participants"] > 1):
                self.notes.add("%s: this build does not divide the file among workers"
                               % result["title"])
        for system in systems:
            system.close()
        return results

    @staticmethod
    def share(result, suffix, **besides):
        """That part of a result whose systems' keys end so."""
        def ours(keys):
            return [key for key in keys if key.endswith(suffix)]

        part = dict(result, **besides)
        part["systems"] = {key[:-len(suffix)]: result["systems"][key]
                           for key in ours(result["systems"])}
        part["different"] = [key[:-len(suffix)] for key in ours(result["different"])]
        return part

    def run(self):
        self.create_tables()
        started = time.monotonic()
        self.run_jobs()
        scaling = self.run_scaling()
        sizes = self.run_sizes()
        self.cursor.execute("SHOW server_version")
        self.versions["postgres"] = "PostgreSQL " + self.cursor.fetchone()[0]
        self.cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'parparaw_fdw'")
        self.versions["parparaw"] = "parparaw_fdw " + self.cursor.fetchone()[0]
        return {
            "settings": {
                "processor": processor_name(), "processors": len(self.processors.all),
                "rounds": self.arguments.rounds, "size": self.arguments.size,
                "threads": self.arguments.threads, "versions": self.versions,
                "load_average": os.getloadavg()[0],
                "minutes": (time.monotonic() - started) / 60,
            },
            "systems": self.systems, "copy_seconds": self.load_seconds,
            "jobs": self.results, "scaling": scaling, "sizes": sizes,
            "notes": self.notes.list, "failed": self.failed,
        }


def processor_name():
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return os.uname().machine


def parse_arguments():
    def names(text):
        return [name for name in text.split(",") if name]

    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--folder", required=True, help="where the files are")
    p.add_argument("--size", type=int, required=True, help="of the jobs' files, in MB")
    p.add_argument("--sizes", type=lambda t: [int(n) for n in names(t)], default=[],
                   help="of the files for throughput over size")
    p.add_argument("--size-jobs", type=names, default=list(queries.SIZE_JOBS))
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--jobs", type=names, required=True)
    p.add_argument("--peers", type=names, required=True)
    p.add_argument("--simd", type=names, default=[], help="levels to measure besides, or all")
    p.add_argument("--threads", type=int, default=1, help="of the other engines")
    p.add_argument("--python", default=sys.executable, help="the one that has those engines")
    p.add_argument("--simdjson", default="", help="the program peer_simdjson")
    p.add_argument("--budget", type=float, default=0, help="seconds after which to stop; 0: none")
    p.add_argument("--note", action="append", default=[], help="for the report")
    p.add_argument("--output", required=True)
    arguments = p.parse_args()
    for given, known in ((arguments.jobs, list(queries.JOB) + list(queries.EXTRA)),
                         (arguments.peers, queries.PEERS),
                         (arguments.size_jobs, queries.JOB)):
        unknown = set(given) - set(known)
        if unknown:
            p.error("unknown: " + ", ".join(sorted(unknown)))
    return arguments


def main():
    arguments = parse_arguments()
    bench = Bench(arguments)
    results = bench.run()
    with open(arguments.output, "w") as f:
        json.dump(results, f, indent=1)
    sys.exit(1 if bench.failed else 0)


if __name__ == "__main__":
    main()
