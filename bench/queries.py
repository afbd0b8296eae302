"""What bench/run measures: the files, the jobs, and how each engine is asked.

Owns: the columns of the generated files with every engine's types, the jobs
and their SQL.

Must not: import anything outside the standard library; it is read by
PostgreSQL's side and by the other engines' side, which are different Pythons.
"""

import collections

# PostgreSQL's type -> DuckDB's, ClickHouse's, Polars'
TYPES = {
    "int2": ("SMALLINT", "Int16", "Int16"),
    "int4": ("INTEGER", "Int32", "Int32"),
    "float8": ("DOUBLE", "Float64", "Float64"),
    "timestamp": ("TIMESTAMP", "DateTime", "Datetime"),
    "date": ("DATE", "Date", "Date"),
    "text": ("VARCHAR", "String", "String"),
}

# Names as the files' header lines have them.
TABLES = {
    "taxi": (
        ("VendorID", "int2"),
        ("tpep_pickup_datetime", "timestamp"),
        ("tpep_dropoff_datetime", "timestamp"),
        ("passenger_count", "int2"),
        ("trip_distance", "float8"),
        ("RatecodeID", "int2"),
        ("store_and_fwd_flag", "text"),
        ("PULocationID", "int4"),
        ("DOLocationID", "int4"),
        ("payment_type", "int2"),
        ("fare_amount", "float8"),
        ("extra", "float8"),
        ("mta_tax", "float8"),
        ("tip_amount", "float8"),
        ("tolls_amount", "float8"),
        ("improvement_surcharge", "float8"),
        ("total_amount", "float8"),
    ),
    "reviews": (
        ("review_id", "text"),
        ("user_id", "text"),
        ("business_id", "text"),
        ("stars", "int2"),
        ("date", "date"),
        ("text", "text"),
        ("useful", "int4"),
        ("funny", "int4"),
        ("cool", "int4"),
    ),
}

EIGHT_SUMS = ("trip_distance", "fare_amount", "extra", "mta_tax", "tip_amount",
              "tolls_amount", "improvement_surcharge", "total_amount")
FIRST_PICKUP = "2018-03-01"
LAST_PICKUP = "2018-06-01"              # exclusive

#
# A job.  In the SQL {t} is what to read from; duckdb and clickhouse are None
# where they take PostgreSQL's.  A job that loads has no SQL: it makes an
# unlogged table of the whole file, which the other engines do not do.
#
Job = collections.namedtuple("Job", "name title table sql duckdb clickhouse")


def _job(name, title, table, sql=None, duckdb=None, clickhouse=None):
    return Job(name, title, table, sql, duckdb or sql, clickhouse or sql)


# Loads come first: others read what COPY has loaded.
JOBS = (
    _job("taxi_load", "taxi: unlogged table of all 17 columns", "taxi"),
    _job("taxi_count", "taxi: count(*)", "taxi",
         "SELECT count(*) FROM {t}"),
    _job("taxi_sum", "taxi: sum of one float", "taxi",
         "SELECT sum(total_amount) FROM {t}"),
    _job("taxi_filter", "taxi: average over three months", "taxi",
         "SELECT avg(trip_distance) FROM {t} WHERE"
         " tpep_pickup_datetime >= '%s' AND tpep_pickup_datetime < '%s'"
         % (FIRST_PICKUP, LAST_PICKUP)),
    _job("taxi_sums", "taxi: sums of 8 floats", "taxi",
         "SELECT %s FROM {t}" % ", ".join("sum(%s)" % c for c in EIGHT_SUMS)),
    _job("reviews_load", "reviews: unlogged table of all 9 columns", "reviews"),
    _job("reviews_count", "reviews: count(*)", "reviews",
         "SELECT count(*) FROM {t}"),
    _job("reviews_octets", "reviews: bytes of text", "reviews",
         "SELECT sum(octet_length(text)) FROM {t}",
         "SELECT sum(strlen(text)) FROM {t}",
         "SELECT sum(length(text)) FROM {t}"),
    _job("reviews_length", "reviews: characters of text", "reviews",
         "SELECT sum(length(text)) FROM {t}",
         None,
         "SELECT sum(lengthUTF8(text)) FROM {t}"),
)
JOB = {job.name: job for job in JOBS}

# What is measured over file sizes and over numbers of workers.
SIZE_JOBS = ("taxi_sum", "reviews_octets")
SCALING_JOBS = ("taxi_sum", "reviews_octets")
EXTRA = ("sizes", "scaling")

# Engines that are measured beside ours; the latter three come from PyPI.
PEERS = ("file_fdw", "heap", "duckdb", "polars", "clickhouse")
ENGINES = ("duckdb", "polars", "clickhouse")


def postgres_columns(table):
    return ", ".join("%s %s" % c for c in TABLES[table])
