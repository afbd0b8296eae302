"""Runs the jobs of bench/run in DuckDB, Polars or ClickHouse.

usage: peers.py ENGINE THREADS CPU,CPU...

Reads requests from standard input, one a line, as JSON: {"job", "path"}.
Answers each with a line {"seconds", "cpu", "answer"} or {"error"}; the first
line, before any request, is {"version"} or {"error"}.  Seconds are wall time
of the query alone, "cpu" that of all threads.

Owns: how these engines read the files.  Each is asked in the fastest way that
was found for it, differences of a few percent aside.

Must not: know about PostgreSQL or decide what is measured.
"""

import json
import os
import sys
import time

import queries


class DuckDB:
    """Columns are given, so nothing is sniffed.

    The default reader cuts a file at line feeds without regard to quotes and
    stops at reviews.csv with an error: only parallel=false reads it.
    """

    def __init__(self, threads):
        import duckdb
        self.version = "DuckDB " + duckdb.__version__
        self.connection = duckdb.connect(":memory:", config={"threads": threads})

    def run(self, job, path):
        columns = ", ".join("'%s': '%s'" % (name, queries.TYPES[type][0])
                            for name, type in queries.TABLES[job.table])
        if not queries.is_csv(job.table):
            source = "read_json('%s', columns = {%s}, auto_detect = false, format = '%s')" % (
                path, columns, "array" if path.endswith(".json") else "newline_delimited")
            return self.connection.execute(job.duckdb.replace("{t}", source)).fetchone()
        source = ("read_csv('%s', columns = {%s}, auto_detect = false, header = true,"
                  " delim = ',', quote = '\"', escape = '\"'%s)"
                  % (path, columns, ", parallel = false" if job.table == "reviews" else ""))
        return self.connection.execute(job.duckdb.replace("{t}", source)).fetchone()


class Polars:
    """Timestamps stay text, which compares alike: converting them costs it
    several times more than all the rest.  Of JSON it reads no integers that
    are shorter than 64 bits, and it reads arrays as a whole only."""

    def __init__(self, threads):
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars
        self.polars = polars
        self.version = "Polars " + polars.__version__
        if polars.thread_pool_size() != threads:
            raise RuntimeError("Polars does not keep to %d threads" % threads)

    def frame(self, table, path):
        pl = self.polars
        nested = {
            "Strings": pl.List(pl.String),
            "Place": pl.Struct({"lat": pl.Float64, "lon": pl.Float64}),
        }

        def polars_type(type):
            name = queries.TYPES[type][2]
            if type == "timestamp":
                return pl.String
            if name in ("Int16", "Int32") and not queries.is_csv(table):
                return pl.Int64
            return nested.get(name) or getattr(pl, name)

        schema = {name: polars_type(type)
                  for name, type in queries.TABLES[table]}
        if queries.is_csv(table):
            return pl.scan_csv(path, schema=schema)
        if path.endswith(".json"):
            return pl.read_json(path, schema=schema).lazy()
        return pl.scan_ndjson(path, schema=schema)

    def run(self, job, path):
        pl = self.polars
        frame = self.frame(job.table, path)
        pickup = pl.col("tpep_pickup_datetime")
        text = pl.col("text").str
        query = {
            "taxi_count": lambda: frame.select(pl.len()),
            "taxi_sum": lambda: frame.select(pl.col("total_amount").sum()),
            "taxi_filter": lambda: frame.filter(
                (pickup >= queries.FIRST_PICKUP) & (pickup < queries.LAST_PICKUP)
            ).select(pl.col("trip_distance").mean()),
            "taxi_sums": lambda: frame.select([pl.col(c).sum() for c in queries.EIGHT_SUMS]),
            "reviews_count": lambda: frame.select(pl.len()),
            "reviews_octets": lambda: frame.select(text.len_bytes().cast(pl.Int64).sum()),
            "reviews_length": lambda: frame.select(text.len_chars().cast(pl.Int64).sum()),
            "events_sum": lambda: frame.select(pl.col("value").sum()),
            "events_lat": lambda: frame.filter(pl.col("ok")).select(
                pl.col("geo").struct.field("lat").mean()),
            "array_sum": lambda: frame.select(pl.col("value").sum()),
            "lines_stars": lambda: frame.select(pl.col("stars").sum()),
            "lines_octets": lambda: frame.select(text.len_bytes().cast(pl.Int64).sum()),
        }[job.name]
        return query().collect().row(0)


class ClickHouse:
    """The numbers of rows that it remembers of files are not used.  Its
    parallel parsing is off where there is one thread: it only costs there."""

    def __init__(self, threads):
        import chdb
        self.connection = chdb.connect(":memory:")
        self.version = "ClickHouse %s (chdb %s)" % (
            self.rows("SELECT version()")[0], chdb.__version__)
        self.settings = {
            "max_threads": threads,
            "input_format_parallel_parsing": int(threads > 1),
            "use_cache_for_count_from_files": 0,
            "output_format_json_quote_64bit_integers": 0,
        }

    def rows(self, sql):
        result = self.connection.query(sql, "JSONCompactEachRow")
        return json.loads(result if isinstance(result, str) else result.data())

    def run(self, job, path):
        columns = ", ".join("%s %s" % (name, queries.TYPES[type][1])
                            for name, type in queries.TABLES[job.table])
        source = "file('%s', '%s', '%s')" % (
            path, "CSVWithNames" if queries.is_csv(job.table) else "JSONEachRow", columns)
        settings = ", ".join("%s = %d" % s for s in self.settings.items())
        return self.rows(job.clickhouse.replace("{t}", source) + " SETTINGS " + settings)


ENGINES = {"duckdb": DuckDB, "polars": Polars, "clickhouse": ClickHouse}


def one_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "%s: %s" % (type(error).__name__, " ".join(lines[:2])[:300])


def main():
    engine, threads, cpus = sys.argv[1:]
    os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})

    # Engines may print; the answers go where only we write.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**what):
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    try:
        peer = ENGINES[engine](int(threads))
    except Exception as error:
        answer(error=one_line(error))
        return
    answer(version=peer.version)
    for line in sys.stdin:
        request = json.loads(line)
        job = queries.JOB[request["job"]]
        try:
            wall = time.perf_counter()
            cpu = time.process_time()
            values = peer.run(job, request["path"])
            cpu = time.process_time() - cpu
            wall = time.perf_counter() - wall
        except Exception as error:
            answer(error=one_line(error))
        else:
            answer(seconds=wall, cpu=cpu, answer=list(values))


if __name__ == "__main__":
    main()
