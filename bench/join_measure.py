"""Measures cyclic joins: this extension, PostgreSQL itself, other engines.

Connects with the usual PG* variables to a server of its own.  Writes a report
in Markdown and the figures as JSON beside it, and a plot where there is
matplotlib.  Every answer has to be that of the others.

Exit status: 0, or 1 if answers differ or this extension failed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

try:
    import psycopg2
except ImportError:                     # the Python that plots may lack it
    psycopg2 = None

import join_queries

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {"parparaw": "parparaw_fdw", "postgresql": "PostgreSQL", "duckdb": "DuckDB",
         "kuzu": "Kuzu", "graphblas": "GraphBLAS", "igraph": "igraph"}


def load(cursor, path):
    cursor.execute("DROP TABLE IF EXISTS e; CREATE TABLE e (src bigint, dst bigint)")
    with open(path) as f:
        cursor.copy_expert("COPY e FROM STDIN (FORMAT csv, HEADER)", f)
    cursor.execute("CREATE INDEX ON e (src, dst); CREATE INDEX ON e (dst, src)")
    cursor.execute("VACUUM ANALYZE e")
    cursor.execute("SELECT count(*) FROM e")
    return cursor.fetchone()[0]


def ask(cursor, pattern, on, seconds, rounds):
    """Seconds (the middle of the rounds), answer and bytes, or an error."""
    cursor.execute("SET parparaw.enable_join = %s; SET statement_timeout = %d" % (
        "on" if on else "off", seconds * 1000))
    times = []
    memory = None
    try:
        for _ in range(rounds):
            start = time.perf_counter()
            cursor.execute(join_queries.sql(pattern))
            answer = cursor.fetchone()[0]
            times.append(time.perf_counter() - start)
        if on:
            cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + join_queries.sql(pattern))
            node = cursor.fetchone()[0][0]["Plan"]
            while node.get("Custom Plan Provider") is None and node.get("Plans"):
                node = node["Plans"][0]
            if "Peak Memory Usage" not in node:
                return {"error": "the node was not chosen"}
            memory = node["Peak Memory Usage"] * 1024
    except psycopg2.Error as error:
        return {"error": str(error).split("\n")[0]}
    return {"seconds": statistics.median(times), "answer": answer, "memory": memory}


def peer(python, engine, pattern, path, seconds):
    try:
        r = subprocess.run([python, os.path.join(HERE, "join_peers.py"), engine, pattern, path],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds)
        return json.loads(r.stdout.decode().strip().split("\n")[-1])
    except subprocess.TimeoutExpired:
        return {"error": "took more than %d s" % seconds}
    except ValueError:
        return {"error": "ended without an answer (out of memory?)"}


def cell(result):
    if "error" in result:
        return result["error"]
    text = "%.3f s" % result["seconds"]
    if "load" in result:
        text += " + load %.2f s" % result["load"]
    if result.get("memory"):
        text += ", %.0f MB" % (result["memory"] / 1e6)
    return text


def plot(results, file):
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return False
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for ax, prefix, title in zip(axes, ("tri", "k4_"), ("triangles", "4-cliques")):
        rows = [r for r in results if r["graph"].startswith(prefix)]
        for key, name in NAMES.items():
            points = [(r["edges"], r["edges"] / r["systems"][key]["seconds"]) for r in rows
                      if "seconds" in r["systems"].get(key, {})]
            if points:
                ax.plot(*zip(*sorted(points)), marker="o", label=name)
        ax.set(xscale="log", yscale="log", xlabel="edges", ylabel="edges/s", title=title)
        ax.legend(fontsize=8)
    figure.savefig(file, dpi=120)
    return True


def main():
    if sys.argv[1:2] == ["--plot"]:
        with open(sys.argv[2]) as f:
            return 0 if plot(json.load(f), sys.argv[3]) else 1
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--folder", required=True)
    p.add_argument("--python", required=True, help="the one that has the other engines")
    p.add_argument("--output", required=True)
    p.add_argument("--peers", default="postgresql,duckdb,kuzu,graphblas,igraph")
    p.add_argument("--seconds", type=int, default=120, help="no system gets more for a query")
    p.add_argument("-n", type=int, default=5, dest="rounds")
    p.add_argument("--quick", action="store_true")
    a = p.parse_args()
    connection = psycopg2.connect()
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("LOAD 'parparaw_fdw'; SET work_mem = '1GB'; SET jit = off;"
                   "SET max_parallel_workers_per_gather = 1")
    peers = [x for x in a.peers.split(",") if x and x != "none"]
    results = []
    bad = False
    for graph, pattern in join_queries.QUICK if a.quick else join_queries.JOBS:
        path = os.path.join(a.folder, graph + ".csv")
        edges = load(cursor, path)
        systems = {"parparaw": ask(cursor, pattern, True, a.seconds, a.rounds)}
        for key in peers:
            systems[key] = (ask(cursor, pattern, False, a.seconds, 1) if key == "postgresql"
                            else peer(a.python, key, pattern, path, a.seconds))
        answers = {s["answer"] for s in systems.values() if "answer" in s}
        if len(answers) > 1 or "error" in systems["parparaw"]:
            bad = True
            print("FAILED: %s of %s: %s" % (pattern, graph, {
                k: s.get("answer", s.get("error")) for k, s in systems.items()}))
        results.append({"graph": graph, "pattern": pattern, "edges": edges, "systems": systems})
        print("%s of %s (%d edges): %s" % (pattern, graph, edges, "; ".join(
            "%s %s" % (NAMES[k], cell(s)) for k, s in systems.items())), flush=True)
    with open(os.path.splitext(a.output)[0] + ".json", "w") as f:
        json.dump(results, f, indent=1)
    keys = ["parparaw"] + peers
    lines = ["# Cyclic joins", "",
             "Seconds of the query; of parparaw_fdw and PostgreSQL reading the heap table and all "
             "else included, of the others after their load. Memory is the node's own, and the "
             "whole process's of other engines, each with one thread.", "",
             "| query | edges | answer | %s |" % " | ".join(NAMES[k] for k in keys),
             "|---" * (3 + len(keys)) + "|"]
    for r in results:
        lines.append("| %s of %s | %d | %s | %s |" % (
            r["pattern"], r["graph"], r["edges"], r["systems"]["parparaw"].get("answer", ""),
            " | ".join(cell(r["systems"][k]) for k in keys)))
    stem = os.path.splitext(a.output)[0]
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
