"""Does the planner choose the faster way?  Times small and medium cyclic joins
with this extension's node and without, and tells which choices were wrong.

Connects with the usual PG* variables to a server of its own.  Writes a report
in Markdown.  It informs: a machine's times are not a test.
"""

import argparse
import io
import random
import statistics

import psycopg2

import join_queries

SIZES = (10, 100, 1000, 10000, 100000, 1000000)
# shape -> (vertices of a graph of n edges, power of the ends' distribution)
SHAPES = {
    "sparse": (lambda n: n, 1),
    "dense": (lambda n: max(int(2 * n ** 0.6), 6), 1),
    "skewed": (lambda n: max(n // 4, 12), 3),
}
SQUARE = ("e a, e b, e c, e d",
          "b.src = a.dst AND d.src = a.src AND c.src = d.dst AND c.dst = b.dst")
TRIANGLE = join_queries.PATTERNS["triangles"]
CLIQUE = join_queries.PATTERNS["4-cliques"]
# name -> (what is selected, pattern, what follows)
QUERIES = {
    "triangles": ("count(*)", TRIANGLE, ""),
    "4-cliques": ("count(*)", CLIQUE, ""),
    "squares": ("count(*)", SQUARE, ""),
    "triangles, 10 % of one alias": ("count(*)", TRIANGLE, "AND a.src < {tenth}"),
    "triangles, 1 % of one alias": ("count(*)", TRIANGLE, "AND a.src < {hundredth}"),
    "4-cliques at one key": ("count(*)", CLIQUE, "AND ab.src = {middle}"),
    "ten triangles": ("a.src, a.dst, b.dst", TRIANGLE, "LIMIT 10"),
    "ten 4-cliques": ("ab.src, ab.dst", CLIQUE, "LIMIT 10"),
    "is there a triangle": ("count(*) FROM (SELECT 1", TRIANGLE, "LIMIT 1) t"),
    "sum over triangles": ("sum(a.src + b.dst)", TRIANGLE, ""),
    "triangles by vertex": ("a.src, count(*)", TRIANGLE, "GROUP BY a.src"),
}


def edges(shape, n):
    vertices, power = SHAPES[shape]
    r = random.Random(n)
    found = set()
    for _ in range(5 * n):
        a, b = (int(vertices(n) * r.random() ** power) for _ in range(2))
        if a != b and len(found) < n:
            found.add((min(a, b), max(a, b)))
    return sorted(found)


def load(cursor, rows):
    """Keys lie apart, as ids often do."""
    cursor.execute("DROP TABLE IF EXISTS e; CREATE TABLE e (src bigint, dst bigint)")
    cursor.copy_expert("COPY e FROM STDIN (FORMAT csv)", io.StringIO(
        "".join("%d,%d\n" % (7919 * a, 7919 * b) for a, b in rows)))
    cursor.execute("CREATE INDEX ON e (src, dst); CREATE INDEX ON e (dst, src)")
    cursor.execute("VACUUM ANALYZE e")


def node_of(plan):
    if plan.get("Custom Plan Provider") == "ParparawJoin":
        return plan
    return next(filter(None, map(node_of, plan.get("Plans", ()))), None)


def explain(cursor, sql, options=""):
    cursor.execute("EXPLAIN (%sFORMAT JSON) %s" % (options, sql))
    return cursor.fetchone()[0][0]


def milliseconds(cursor, sql, limit):
    """The shortest of several, at most the limit."""
    times = []
    cursor.execute("SET statement_timeout = %d" % limit)
    while len(times) < 3 or (len(times) < 15 and sum(times) < 150):
        try:
            times.append(explain(cursor, sql, "ANALYZE, TIMING OFF, ")["Execution Time"])
        except psycopg2.errors.QueryCanceled:
            times.append(limit)
            break
    cursor.execute("SET statement_timeout = 0")
    return min(times)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--output", required=True)
    p.add_argument("--most", type=int, default=100000, help="edges of the largest graphs")
    p.add_argument("--seconds", type=int, default=2)
    a = p.parse_args()
    connection = psycopg2.connect()
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("LOAD 'parparaw_fdw'; SET jit = off; SET work_mem = '64MB';"
                   "SET max_parallel_workers_per_gather = 0")
    lost = []
    units = {"node": [], "other plans": []}
    measured = 0
    for shape in SHAPES:
        for n in (n for n in SIZES if n <= a.most):
            rows = edges(shape, n)
            load(cursor, rows)
            sources = sorted(src for src, _ in rows)
            keys = {"tenth": 7919 * sources[n // 10] + 1, "hundredth": 7919 * sources[n // 100] + 1,
                    "middle": 7919 * sources[len(sources) // 2]}
            for name, (what, pattern, end) in QUERIES.items():
                sql = "SELECT %s FROM %s WHERE %s %s" % ((what,) + pattern + (end.format(**keys),))
                cursor.execute("SET parparaw.enable_join = off")
                other = milliseconds(cursor, sql, 1000 * a.seconds)
                units["other plans"].append(other / explain(cursor, sql)["Plan"]["Total Cost"])
                cursor.execute("SET parparaw.enable_join = on; SET parparaw.join_cost_factor = 1")
                plan = explain(cursor, sql)["Plan"]
                chosen = node_of(plan) is not None
                cursor.execute("SET parparaw.join_cost_factor = 0")
                if not node_of(explain(cursor, sql)["Plan"]):
                    continue
                own = milliseconds(cursor, sql, 1000 * a.seconds)
                if chosen:
                    units["node"].append(own / plan["Total Cost"])
                measured += 1
                times = (own, other)
                factor = times[0 if chosen else 1] / min(times)
                if factor > 1.5:
                    lost.append((factor, "%s, %s, %d edges" % (name, shape, n), own, other, chosen))
            print("%s, %d edges: done" % (shape, n), flush=True)
    lines = ["# Choices of the planner", "",
             "%d of %d choices lose more than half as much again. Microseconds a unit of cost: %s."
             % (len(lost), measured, ", ".join("%s %.2f" % (k, 1000 * statistics.median(v))
                                               for k, v in units.items())), "",
             "| query | node, ms | other plan, ms | chosen | times as long |", "|---|---|---|---|---|"]
    lines += ["| %s | %.3f | %.3f | %s | %.1f |" % (
        query, own, other, "node" if chosen else "other", factor)
        for factor, query, own, other, chosen in sorted(lost, reverse=True)]
    with open(a.output, "w") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
