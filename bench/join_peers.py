"""Counts a pattern in a file of edges by another engine.

usage: join_peers.py ENGINE PATTERN FILE

Prints one line of JSON: {"version", "load", "seconds", "answer", "memory"}, or
{"error"}.  Load is reading the file and building what the engine keeps; seconds
is the query alone; memory is the process's peak in bytes.
"""

import json
import os
import resource
import sys
import tempfile
import time

import join_queries


class DuckDB:
    def load(self, path):
        import duckdb
        self.version = duckdb.__version__
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute("CREATE TABLE e AS SELECT * FROM read_csv('%s', header = true,"
                                " columns = {'src': 'BIGINT', 'dst': 'BIGINT'})" % path)

    def count(self, pattern):
        return self.connection.execute(join_queries.sql(pattern)).fetchone()[0]


class Kuzu:
    def load(self, path):
        import kuzu
        self.version = kuzu.__version__
        self.folder = tempfile.TemporaryDirectory(prefix="kuzu.")
        database = kuzu.Database(os.path.join(self.folder.name, "graph"))
        self.connection = kuzu.Connection(database, num_threads=1)
        vertices = os.path.join(self.folder.name, "v.csv")
        seen = set()
        with open(path) as f:
            next(f)
            for line in f:
                seen.update(line.strip().split(","))
        with open(vertices, "w") as f:
            f.writelines(v + "\n" for v in seen)
        for statement in ("CREATE NODE TABLE V(id INT64, PRIMARY KEY(id))",
                          "CREATE REL TABLE E(FROM V TO V)", "COPY V FROM '%s'" % vertices,
                          "COPY E FROM '%s' (HEADER = true)" % path):
            self.connection.execute(statement)

    def count(self, pattern):
        return self.connection.execute(join_queries.CYPHER[pattern]).get_next()[0]


def dense(path):
    """Numbers of vertices from 0, and both columns of edges in them."""
    import numpy
    edges = numpy.loadtxt(path, delimiter=",", skiprows=1, dtype=numpy.int64)
    ids, ends = numpy.unique(edges, return_inverse=True)
    return len(ids), ends.reshape(edges.shape)


class GraphBLAS:
    """Triangles only: C<L> = L * L' over (+, pair), of vertices by degree."""

    def load(self, path):
        import graphblas
        import numpy
        self.graphblas = graphblas
        self.version = graphblas.__version__
        graphblas.ss.config["nthreads"] = 1
        n, ends = dense(path)
        degree = numpy.bincount(ends.ravel(), minlength=n)
        rank = numpy.empty(n, dtype=numpy.int64)
        rank[numpy.argsort(degree, kind="stable")] = numpy.arange(n)
        ends = rank[ends]
        self.lower = graphblas.Matrix.from_coo(ends.max(axis=1), ends.min(axis=1), 1,
                                               dtype=int, nrows=n, ncols=n)
        self.lower.wait()

    def count(self, pattern):
        if pattern != "triangles":
            raise RuntimeError("has no query for " + pattern)
        gb = self.graphblas
        c = gb.Matrix(int, self.lower.nrows, self.lower.ncols)
        c(self.lower.S) << gb.semiring.plus_pair(self.lower @ self.lower.T)
        return int(c.reduce_scalar(gb.monoid.plus).value)


class IGraph:
    def load(self, path):
        import igraph
        self.version = igraph.__version__
        n, ends = dense(path)
        self.graph = igraph.Graph(n=n, edges=ends)

    def count(self, pattern):
        size = 3 if pattern == "triangles" else 4
        if size == 3:
            return len(self.graph.list_triangles())
        return len(self.graph.cliques(min=size, max=size))


ENGINES = {"duckdb": DuckDB, "kuzu": Kuzu, "graphblas": GraphBLAS, "igraph": IGraph}


def main():
    engine, pattern, path = sys.argv[1:]
    try:
        peer = ENGINES[engine]()
        start = time.perf_counter()
        peer.load(path)
        loaded = time.perf_counter()
        answer = peer.count(pattern)
        ended = time.perf_counter()
    except Exception as error:
        print(json.dumps({"error": str(error).split("\n")[0][:200]}))
        return
    print(json.dumps({
        "version": peer.version, "load": loaded - start, "seconds": ended - loaded,
        "answer": answer,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
