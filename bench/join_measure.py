"""Measures cyclic joins: this extension, PostgreSQL itself, other engines.

Connects with the usual PG* variables to a server of its own, on this machine.
Writes a report in Markdown and the figures as JSON beside it, and a plot where
there is matplotlib.  Every answer has to be that of the others, and the known
one where there is one.

Exit status: 0, or 1 if answers differ or this extension failed.
"""

import argparse
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import threading
import time

try:
    import psycopg2
except ImportError:                     # the Python that plots may lack it
    psycopg2 = None

import join_queries

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {"parparaw": "parparaw_fdw", "postgresql": "PostgreSQL", "duckdb": "DuckDB",
         "kuzu": "Kuzu", "graphblas": "GraphBLAS", "igraph": "igraph"}
# An engine gets this many times the time of a query to load a file.
LOAD_TIMES = 3


def prefer(pid, on):
    """Real-time priority for a process, or no longer."""
    if on:
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(5))
    else:
        os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))


def status(pid, field):
    """Bytes that a process's status tells; 0 if it is gone."""
    try:
        with open("/proc/%d/status" % pid) as f:
            for line in f:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class Server:
    """A session, and the processes of its server."""

    def __init__(self, threads, realtime):
        connection = psycopg2.connect()
        connection.autocommit = True
        self.cursor = connection.cursor()
        self.cursor.execute("LOAD 'parparaw_fdw'; SET work_mem = '1GB'; SET jit = off;"
                            "SET max_parallel_workers_per_gather = %d;"
                            "SELECT current_setting('server_version'), pg_backend_pid()"
                            % (threads - 1))
        self.version, self.backend = self.cursor.fetchone()
        with open("/proc/%d/stat" % self.backend) as f:
            self.postmaster = int(f.read().rsplit(")", 1)[1].split()[1])
        self.realtime = realtime
        self.loaded = None

    def load(self, path):
        """Answers the number of edges."""
        if self.loaded != path:
            self.cursor.execute("DROP TABLE IF EXISTS e; CREATE TABLE e (src bigint, dst bigint)")
            with open(path) as f:
                self.cursor.copy_expert("COPY e FROM STDIN (FORMAT csv, HEADER)", f)
            self.cursor.execute("CREATE INDEX ON e (src, dst); CREATE INDEX ON e (dst, src)")
            self.cursor.execute("VACUUM ANALYZE e")
            self.loaded = path
        self.cursor.execute("SELECT count(*) FROM e")
        return self.cursor.fetchone()[0]

    def private_memory(self):
        """Of all processes of the server together, without shared buffers."""
        try:
            with open("/proc/%d/task/%d/children" % (self.postmaster, self.postmaster)) as f:
                return sum(status(int(pid), "RssAnon") for pid in f.read().split())
        except OSError:
            return status(self.backend, "RssAnon")

    def timed(self, sql, watch):
        """Seconds, answer, and if asked the most memory above that before."""
        before = most = self.private_memory()
        done = threading.Event()

        def look():
            nonlocal most
            while not done.wait(0.02):
                most = max(most, self.private_memory())

        watcher = threading.Thread(target=look) if watch else None
        # parallel workers are the postmaster's children
        processes = (self.backend, self.postmaster) if self.realtime else ()
        for pid in processes:
            prefer(pid, True)
        if watcher:
            watcher.start()
        try:
            start = time.perf_counter()
            self.cursor.execute(sql)
            answer = self.cursor.fetchone()[0]
            return time.perf_counter() - start, answer, most - before
        finally:
            done.set()
            for pid in processes:
                prefer(pid, False)
            if watcher:
                watcher.join()

    def ask(self, pattern, on, seconds, rounds):
        """Seconds (the middle of the rounds), answer and bytes, or an error."""
        sql = join_queries.sql(pattern)
        self.cursor.execute("SET parparaw.enable_join = %s; SET statement_timeout = %d" % (
            "on" if on else "off", seconds * 1000))
        times = []
        try:
            for _ in range(rounds):
                one, answer, memory = self.timed(sql, not on)
                times.append(one)
            if on:
                self.cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + sql)
                node = self.cursor.fetchone()[0][0]["Plan"]
                while node.get("Custom Plan Provider") is None and node.get("Plans"):
                    node = node["Plans"][0]
                if "Peak Memory Usage" not in node:
                    return {"error": "the node was not chosen"}
                memory = node["Peak Memory Usage"] * 1024
        except psycopg2.errors.QueryCanceled:
            return {"error": "more than %d s" % seconds}
        except psycopg2.Error as error:
            return {"error": str(error).split("\n")[0]}
        return {"version": self.version, "seconds": statistics.median(times), "answer": answer,
                "memory": memory}


def peer(a, engine, pattern, path):
    """Has a process of its own load the file and answer."""
    with tempfile.TemporaryDirectory(prefix="joins.") as folder:
        child = subprocess.Popen(
            [a.python, os.path.join(HERE, "join_peers.py"), engine, pattern, path,
             str(a.threads), str(a.memory)], env=dict(os.environ, TMPDIR=folder),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

        def line(seconds, doing):
            """What it says next; it is watched meanwhile."""
            end = time.perf_counter() + seconds
            while not select.select([child.stdout], [], [], 0.1)[0]:
                if time.perf_counter() > end:
                    return {"error": "more than %d s%s" % (seconds, doing)}
                if status(child.pid, "VmRSS") > a.memory * 1.2:
                    return {"error": "out of memory" + doing}
            text = child.stdout.readline()
            return json.loads(text) if text else {"error": "died" + doing}

        try:
            result = line(a.seconds * LOAD_TIMES, " to load")
            if "error" not in result:
                if a.realtime:
                    for thread in os.listdir("/proc/%d/task" % child.pid):
                        prefer(int(thread), True)
                child.stdin.write(b"\n")
                child.stdin.flush()
                result.update(line(a.seconds, ""))
            return result
        finally:
            child.kill()
            child.communicate()


def cell(result):
    if "error" in result:
        return result["error"]
    text = ("%.4f s" if result["seconds"] < 0.01 else "%.3f s") % result["seconds"]
    if "load" in result:
        text += " + load %.2f s" % result["load"]
    return text + ", %.0f MB" % (result["memory"] / 1e6)


def plot(results, file):
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return False
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for ax, kind, title in zip(axes, ("tri", "k4_"), ("triangles", "4-cliques")):
        rows = [r for r in results if join_queries.kind(r["graph"]) == kind]
        for i, (key, name) in enumerate(NAMES.items()):
            points = [(r["edges"], r["edges"] / r["systems"][key]["seconds"]) for r in rows
                      if "seconds" in r["systems"].get(key, {})]
            if points:
                ax.plot(*zip(*sorted(points)), marker="o", label=name, color="C%d" % i)
        ax.set(xscale="log", yscale="log", xlabel="edges",
               ylabel="edges/s (others: after their load)", title=title)
        ax.grid(True, which="major", alpha=0.3)
        ax.legend(fontsize=8)
    figure.savefig(file, dpi=120)
    return True


def report(results, keys, a, notes):
    """The report's lines."""
    versions = {}
    for r in results:
        for key, system in r["systems"].items():
            if "version" in system:
                versions[key] = system["version"]
    lines = ["# Cyclic joins", "",
             "Seconds of the query; of parparaw_fdw and PostgreSQL reading the heap table and all "
             "else included, of the others after their load. Memory is the node's own; of "
             "PostgreSQL what its processes took privately while the query ran, of the others "
             "the whole process. %d thread%s each (igraph: 1), at most %d s for a query, %.1f GB "
             "of memory for other engines." % (a.threads, "s" if a.threads > 1 else "", a.seconds,
                                               a.memory / 1e9), "",
             ", ".join("%s %s" % (NAMES[k], versions[k]) for k in keys[1:] if k in versions) + ".", "",
             "| query | edges | answer | %s |" % " | ".join(NAMES[k] for k in keys),
             "|---" * (3 + len(keys)) + "|"]
    for r in results:
        lines.append("| %s of %s | %d | %s | %s |" % (
            r["pattern"], r["graph"], r["edges"], r["systems"]["parparaw"].get("answer", ""),
            " | ".join(cell(r["systems"][k]) for k in keys)))
    return lines + [""] + ["* " + n for n in notes]


def main():
    if sys.argv[1:2] == ["--plot"]:
        with open(sys.argv[2]) as f:
            return 0 if plot(json.load(f), sys.argv[3]) else 1
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--folder", required=True)
    p.add_argument("--python", required=True, help="the one that has the other engines")
    p.add_argument("--output", required=True)
    p.add_argument("--peers", default="postgresql,duckdb,kuzu,graphblas,igraph")
    p.add_argument("--seconds", type=int, default=60, help="no system gets more for a query")
    p.add_argument("--memory", type=int, required=True, help="bytes for other engines")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("-n", type=int, default=5, dest="rounds")
    p.add_argument("--realtime", action="store_true")
    p.add_argument("--note", action="append", default=[])
    p.add_argument("jobs", nargs="+", help="GRAPH:PATTERN")
    a = p.parse_args()
    server = Server(a.threads, a.realtime)
    peers = [x for x in a.peers.split(",") if x and x != "none"]
    stem = os.path.splitext(a.output)[0]
    results = []
    gave_up = {}                        # (peer, kind of graph, pattern) -> the graph
    bad = False
    for graph, pattern in (job.split(":") for job in a.jobs):
        path = os.path.join(a.folder, graph + ".csv")
        edges = server.load(path)
        systems = {"parparaw": server.ask(pattern, True, a.seconds, a.rounds)}
        for key in peers:
            what = (key, join_queries.kind(graph), pattern)
            if what in gave_up:
                systems[key] = {"error": "not tried (%s)" % gave_up[what]}
                continue
            systems[key] = (server.ask(pattern, False, a.seconds, 1) if key == "postgresql"
                            else peer(a, key, pattern, path))
            if systems[key].get("error", "no query") != "no query":
                gave_up[what] = "%s: %s" % (graph, systems[key]["error"])
        answers = {s["answer"] for s in systems.values() if "answer" in s}
        if (graph, pattern) in join_queries.KNOWN:
            answers.add(join_queries.KNOWN[graph, pattern])
        if len(answers) > 1 or "error" in systems["parparaw"]:
            bad = True
            print("FAILED: %s of %s: %s" % (pattern, graph, {
                k: s.get("answer", s.get("error")) for k, s in systems.items()}))
        results.append({"graph": graph, "pattern": pattern, "edges": edges, "systems": systems})
        print("%s of %s (%d edges): %s" % (pattern, graph, edges, "; ".join(
            "%s %s" % (NAMES[k], cell(s)) for k, s in systems.items())), flush=True)
        with open(stem + ".json", "w") as f:
            json.dump(results, f, indent=1)
    lines = report(results, ["parparaw"] + peers, a, a.note)
    if subprocess.run([a.python, os.path.abspath(__file__), "--plot", stem + ".json",
                       stem + ".png"]).returncode == 0:
        lines += ["", "![Edges a second over the size of the graph](%s.png)" %
                  os.path.basename(stem)]
    else:
        print("note: no plot, as there is no matplotlib")
    with open(a.output, "w") as f:
        f.write("\n".join(lines) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
