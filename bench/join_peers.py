"""Counts a pattern in a file of edges by another engine.

usage: join_peers.py ENGINE PATTERN FILE THREADS BYTES

Prints a line of JSON when the file is loaded, {"version", "load"}, waits for a
line on standard input, and then prints {"seconds", "answer", "memory"}; instead
of either, {"error"}.  Load is reading the file and building what the engine
keeps; seconds is the query alone; memory is the process's peak in bytes.  An
engine that can be told to keep to BYTES is.  Files are made in TMPDIR and left
there.
"""

import json
import os
import resource
import sys
import tempfile
import time

import join_queries

# Edges of which GraphBLAS looks at common neighbours at a time.
EDGES_AT_A_TIME = 1 << 18


class NoQuery(Exception):
    pass


class DuckDB:
    def load(self, path, threads, memory):
        import duckdb
        self.version = duckdb.__version__
        self.connection = duckdb.connect(":memory:", config={
            "threads": threads, "memory_limit": "%dB" % memory,
            "temp_directory": tempfile.gettempdir(), "max_temp_directory_size": "%dB" % memory})
        self.connection.execute("CREATE TABLE e AS SELECT * FROM read_csv('%s', header = true,"
                                " columns = {'src': 'BIGINT', 'dst': 'BIGINT'})" % path)

    def count(self, pattern):
        return self.connection.execute(join_queries.sql(pattern)).fetchone()[0]


class Kuzu:
    def load(self, path, threads, memory):
        import kuzu
        import numpy
        self.version = kuzu.__version__
        database = kuzu.Database(os.path.join(tempfile.gettempdir(), "graph"), buffer_pool_size=memory)
        self.connection = kuzu.Connection(database, num_threads=threads)
        vertices = os.path.join(tempfile.gettempdir(), "v.csv")
        edges = numpy.loadtxt(path, delimiter=",", skiprows=1, dtype=numpy.int64)
        numpy.savetxt(vertices, numpy.unique(edges), fmt="%d")
        for statement in ("CREATE NODE TABLE V(id INT64, PRIMARY KEY(id))",
                          "CREATE REL TABLE E(FROM V TO V)", "COPY V FROM '%s'" % vertices,
                          "COPY E FROM '%s' (HEADER = true)" % path):
            self.connection.execute(statement)

    def count(self, pattern):
        result = self.connection.execute(join_queries.CYPHER[pattern])
        if pattern == "triangles as rows":
            return result.get_num_tuples()
        return result.get_next()[0]


def dense(path):
    """Numbers of vertices from 0, and both columns of edges in them."""
    import numpy
    edges = numpy.loadtxt(path, delimiter=",", skiprows=1, dtype=numpy.int64)
    ids, ends = numpy.unique(edges, return_inverse=True)
    return len(ids), ends.reshape(edges.shape)


class GraphBLAS:
    """Products of adjacency matrices over (+, pair), where the answer may be
    that of the undirected graph with vertices in order of their degrees."""

    def load(self, path, threads, memory):
        import graphblas
        import numpy
        self.graphblas = graphblas
        self.version = "%s (SuiteSparse %s)" % (
            graphblas.__version__, ".".join(map(str, graphblas.ss.about["library_version"])))
        graphblas.ss.config["nthreads"] = threads
        n, ends = dense(path)
        # each edge once, all in one direction: cliques have one row for each edge
        self.ascending = bool((ends[:, 0] < ends[:, 1]).all())
        if self.ascending:
            degree = numpy.bincount(ends.ravel(), minlength=n)
            rank = numpy.empty(n, dtype=numpy.int64)
            rank[numpy.argsort(degree, kind="stable")] = numpy.arange(n)
            ends = rank[ends]
            ends = numpy.column_stack((ends.max(axis=1), ends.min(axis=1)))
        self.ends = ends
        self.edges = graphblas.Matrix.from_coo(ends[:, 0], ends[:, 1], 1, dtype=int,
                                               nrows=n, ncols=n)
        self.edges.wait()

    def masked(self, product, mask, semiring):
        """The sum of a product's elements where the mask has one."""
        c = self.graphblas.Matrix(int, mask.nrows, mask.ncols)
        c(mask.S) << semiring(product)
        return int(c.reduce_scalar(self.graphblas.monoid.plus).value or 0)

    def count(self, pattern):
        gb = self.graphblas
        e = self.edges
        pair = gb.semiring.plus_pair
        if pattern == "triangles" and self.ascending:
            return self.masked(e @ e.T, e, pair)
        if pattern == "triangles":
            return self.masked(e @ e, e, pair)
        if pattern == "cyclic triangles":
            return self.masked(e @ e, e.T.new(), pair)
        if pattern == "closed 4-walks":
            two = pair(e @ e).new()
            back = two.ewise_mult(two.T, gb.binary.times).new()
            return int(back.reduce_scalar(gb.monoid.plus).value)
        if pattern == "4-cliques" and self.ascending:
            # of each edge the row of common neighbours; a 4-clique is an edge
            # between two of them
            total = 0
            for i in range(0, len(self.ends), EDGES_AT_A_TIME):
                part = self.ends[i:i + EDGES_AT_A_TIME]
                common = e[part[:, 0], :].new().ewise_mult(
                    e[part[:, 1], :].new(), gb.binary.pair).new()
                total += self.masked(common @ e, common, pair)
            return total
        raise NoQuery()


class IGraph:
    """Knows simple undirected graphs, and has but one thread."""

    def load(self, path, threads, memory):
        import igraph
        import numpy
        self.version = igraph.__version__
        n, ends = dense(path)
        up = ends[ends[:, 0] < ends[:, 1]]
        down = ends[ends[:, 0] > ends[:, 1]]
        self.once = len(up) == len(ends)
        self.both = len(up) == len(down) == len(ends) // 2 and numpy.array_equal(
            up[numpy.lexsort(up.T)], down[:, ::-1][numpy.lexsort(down[:, ::-1].T)])
        self.graph = igraph.Graph(n=n, edges=up)

    def triangles(self):
        """From the part of each vertex's pairs of neighbours that are connected."""
        import numpy
        degree = numpy.array(self.graph.degree(), dtype=float)
        part = numpy.array(self.graph.transitivity_local_undirected(mode="zero"))
        return int(numpy.rint(part * degree * (degree - 1) / 2).sum()) // 3

    def count(self, pattern):
        if pattern == "triangles" and self.once:
            return self.triangles()
        if pattern == "cyclic triangles" and self.both:
            return 6 * self.triangles()
        if pattern == "triangles as rows" and self.once:
            return len(self.graph.list_triangles())
        if pattern == "4-cliques" and self.once:
            return len(self.graph.cliques(min=4, max=4))
        raise NoQuery()


ENGINES = {"duckdb": DuckDB, "kuzu": Kuzu, "graphblas": GraphBLAS, "igraph": IGraph}


def say(**what):
    print(json.dumps(what), flush=True)


def main():
    engine, pattern, path, threads, memory = sys.argv[1:]
    try:
        peer = ENGINES[engine]()
        start = time.perf_counter()
        peer.load(path, int(threads), int(memory))
        say(version=peer.version, load=time.perf_counter() - start)
        sys.stdin.readline()
        start = time.perf_counter()
        answer = peer.count(pattern)
        seconds = time.perf_counter() - start
    except NoQuery:
        say(error="no query")
    except MemoryError:
        say(error="out of memory")
    except Exception as error:
        text = str(error).split("\n")[0][:200]
        memory_error = any(s in text.lower() for s in ("out of memory", "buffer manager", "buffer pool"))
        say(error="out of memory" if memory_error else text)
    else:
        say(seconds=seconds, answer=answer,
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    os._exit(0)                         # an engine may take long to release what it holds


if __name__ == "__main__":
    main()
