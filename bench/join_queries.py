"""What "bench/run joins" measures: graphs, queries, and how each engine is asked.

Must not: import anything outside the standard library.
"""

import csv
import gzip
import os

# name -> arguments of gen_graph
GRAPHS = {
    "rmat16": ("rmat", "16", "16", "3"),
    "rmat18": ("rmat", "18", "16", "3"),
}
# The paper's two workloads: as many vertices as edges for triangles, the
# power 3/4 for 4-cliques.
SIZES = (10000, 100000, 1000000, 10000000)
for _n in SIZES:
    GRAPHS["tri%d" % _n] = ("rand", str(_n), str(_n), "5")
    GRAPHS["k4_%d" % _n] = ("rand", str(round(_n ** 0.75)), str(_n), "6")

# name -> file of a folder of SNAP's graphs (.csv or .csv.gz), and which of its
# rows are stored: "all", "loopless" (none from a vertex to itself) or "both"
# (each of them in both directions)
REAL_GRAPHS = {
    "twitter": ("ego-twitter-undirected", "all"),
    "twitter_loopless": ("ego-twitter-undirected", "loopless"),
    "enron": ("email-Enron", "all"),
    "enron_both": ("email-Enron", "both"),
    "facebook_both": ("facebook-combined", "both"),
}

_TRIANGLES = "b.src = a.dst AND c.src = a.src AND c.dst = b.dst"
# name -> relations, conditions
PATTERNS = {
    "triangles": ("e a, e b, e c", _TRIANGLES),
    "4-cliques": ("e ab, e ac, e ad, e bc, e bd, e cd",
                  "ac.src = ab.src AND ad.src = ab.src AND bc.src = ab.dst AND bc.dst = ac.dst"
                  " AND bd.src = ab.dst AND bd.dst = ad.dst AND cd.src = ac.dst"
                  " AND cd.dst = ad.dst"),
    "cyclic triangles": ("e a, e b, e c", "b.src = a.dst AND c.src = b.dst AND c.dst = a.src"),
    "closed 4-walks": ("e a, e b, e c, e d",
                       "b.src = a.dst AND c.src = b.dst AND d.src = c.dst AND d.dst = a.src"),
    # counted outside of a subquery that makes rows
    "triangles as rows": ("(SELECT a.src AS x, a.dst AS y, b.dst AS z FROM e a, e b, e c WHERE %s"
                          " OFFSET 0) t" % _TRIANGLES, "true"),
}
_CYPHER_TRIANGLES = "MATCH (x:V)-[:E]->(y:V)-[:E]->(z:V), (x)-[:E]->(z) RETURN "
# Kuzu's rows are counted by its result
CYPHER = {
    "triangles": _CYPHER_TRIANGLES + "count(*)",
    "4-cliques": "MATCH (x:V)-[:E]->(y:V)-[:E]->(z:V), (x)-[:E]->(z), (x)-[:E]->(w:V),"
                 " (y)-[:E]->(w), (z)-[:E]->(w) RETURN count(*)",
    "cyclic triangles": "MATCH (x:V)-[:E]->(y:V)-[:E]->(z:V), (z)-[:E]->(x) RETURN count(*)",
    "closed 4-walks": "MATCH (x:V)-[:E]->(y:V)-[:E]->(z:V)-[:E]->(w:V), (w)-[:E]->(x)"
                      " RETURN count(*)",
    "triangles as rows": _CYPHER_TRIANGLES + "x.id, y.id, z.id",
}

# (graph, pattern), smaller graphs of a kind first; the first ones are those of
# a quick run
QUICK = (("tri10000", "triangles"), ("k4_10000", "4-cliques"),
         ("tri100000", "triangles"), ("k4_100000", "4-cliques"))
JOBS = QUICK + (("rmat16", "triangles"), ("rmat16", "triangles as rows"), ("rmat18", "triangles"),
                ("twitter", "triangles"), ("twitter_loopless", "4-cliques"),
                ("enron", "4-cliques"), ("enron_both", "cyclic triangles"),
                ("facebook_both", "closed 4-walks"),
                ("tri1000000", "triangles"), ("k4_1000000", "4-cliques"),
                ("tri10000000", "triangles"), ("k4_10000000", "4-cliques"))

# Answers that are known from elsewhere: of graphs as published, by programs of
# other authors.
KNOWN = {
    ("twitter", "triangles"): 13083160,
    ("twitter_loopless", "4-cliques"): 104929938,
    ("enron", "4-cliques"): 2341639,
    ("enron_both", "cyclic triangles"): 4362264,
    ("facebook_both", "closed 4-walks"): 1189620288,
}


def kind(graph):
    """The same for graphs that differ in size alone."""
    return graph.rstrip("0123456789")


def sql(pattern):
    return "SELECT count(*) FROM %s WHERE %s" % PATTERNS[pattern]


def make_real(graph, folder, path):
    """Writes a graph's file from the one in the folder; false: there is none."""
    name, rows = REAL_GRAPHS[graph]
    for suffix, opener in ((".csv", open), (".csv.gz", gzip.open)):
        source = os.path.join(folder, name + suffix)
        if os.path.exists(source):
            break
    else:
        return False
    with opener(source, "rt", newline="") as f, open(path + ".new", "w") as out:
        edges = csv.reader(f)
        out.write(",".join(next(edges)) + "\n")
        for src, dst in edges:
            if rows != "loopless" or src != dst:
                out.write("%s,%s\n" % (src, dst))
            if rows == "both":
                out.write("%s,%s\n" % (dst, src))
    os.rename(path + ".new", path)
    return True
