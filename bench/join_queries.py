"""What "bench/run joins" measures: graphs, queries, and how each engine is asked.

Must not: import anything outside the standard library.
"""

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

PATTERNS = {
    "triangles": ("e a, e b, e c",
                  "b.src = a.dst AND c.src = a.src AND c.dst = b.dst"),
    "4-cliques": ("e ab, e ac, e ad, e bc, e bd, e cd",
                  "ac.src = ab.src AND ad.src = ab.src AND bc.src = ab.dst AND bc.dst = ac.dst"
                  " AND bd.src = ab.dst AND bd.dst = ad.dst AND cd.src = ac.dst"
                  " AND cd.dst = ad.dst"),
}
CYPHER = {
    "triangles": "MATCH (x:V)-[:E]->(y:V)-[:E]->(z:V), (x)-[:E]->(z) RETURN count(*)",
    "4-cliques": "MATCH (x:V)-[:E]->(y:V)-[:E]->(z:V), (x)-[:E]->(z), (x)-[:E]->(w:V),"
                 " (y)-[:E]->(w), (z)-[:E]->(w) RETURN count(*)",
}

# (graph, pattern); the first ones are those of a quick run.
QUICK = (("tri10000", "triangles"), ("k4_10000", "4-cliques"),
         ("tri100000", "triangles"), ("k4_100000", "4-cliques"))
JOBS = QUICK + (("rmat16", "triangles"), ("rmat18", "triangles"),
                ("tri1000000", "triangles"), ("k4_1000000", "4-cliques"),
                ("tri10000000", "triangles"), ("k4_10000000", "4-cliques"))


def sql(pattern):
    return "SELECT count(*) FROM %s WHERE %s" % PATTERNS[pattern]
