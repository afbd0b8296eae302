"""What bench/run measures: the files, the jobs, and how each engine is asked.

Owns: the names and the columns of the generated files with every engine's types, the jobs
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
    # in files of JSON only
    "int8": ("BIGINT", "Int64", "Int64"),
    "bool": ("BOOLEAN", "Bool", "Boolean"),
    "timestamptz": ("TIMESTAMP", "DateTime", "String"),
    "text[]": ("VARCHAR[]", "Array(String)", "Strings"),
    "jsonb": ("STRUCT(lat DOUBLE, lon DOUBLE)", "Tuple(lat Float64, lon Float64)", "Place"),
}

# Names as the files' header lines or records have them.
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
    "events": (
        ("id", "int8"),
        ("ts", "timestamptz"),
        ("user", "text"),
        ("kind", "text"),
        ("value", "float8"),
        ("ok", "bool"),
        ("geo", "jsonb"),
        ("tags", "text[]"),
    ),
}
TABLES["array"] = TABLES["events"]
TABLES["lines"] = TABLES["reviews"]

# Columns that PostgreSQL has besides, with their place in the record.
PATHS = {
    "events": (("lat", "float8", "geo.lat"),),
    "array": (("lat", "float8", "geo.lat"),),
}

# A table's file: name, format, and its share of the size that is asked for.
# "array" has the records of "events", "lines" those of "reviews".
FILES = {
    "taxi": ("taxi", "csv", 1),
    "reviews": ("reviews", "csv", 1),
    "events": ("events", "ndjson", 0.5),
    "array": ("events", "json", 0.5),
    "lines": ("reviews", "ndjson", 1),
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
# Of a job on JSON, core says how PostgreSQL does it without this extension, by
# system: {t} is a table of one text column, doc, a line of the file each, and
# {path} the file.
#
Job = collections.namedtuple("Job", "name title table sql duckdb clickhouse core")


def _job(name, title, table, sql=None, duckdb=None, clickhouse=None):
    return Job(name, title, table, sql, duckdb or sql, clickhouse or sql, None)


def _lines_job(name, title, table, sql, core, duckdb=None, clickhouse=None):
    """core with {json} for the type that doc is cast to."""
    return Job(name, title, table, sql, duckdb or sql, clickhouse or sql,
               {"file_fdw_" + type: core.replace("{json}", type) for type in ("json", "jsonb")})


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
    _lines_job("events_sum", "events, JSON lines: sum of one float", "events",
               "SELECT sum(value) FROM {t}",
               "SELECT sum((doc::{json}->>'value')::float8) FROM {t}"),
    _lines_job("events_lat", "events, JSON lines: average of a nested float where a bool is true",
               "events",
               "SELECT avg(lat) FROM {t} WHERE ok",
               "SELECT avg((doc::{json}->'geo'->>'lat')::float8) FROM {t}"
               " WHERE (doc::{json}->>'ok')::bool",
               *["SELECT avg(geo.lat) FROM {t} WHERE ok"] * 2),
    Job("array_sum", "events, one JSON array: sum of one float", "array",
        *["SELECT sum(value) FROM {t}"] * 3,
        {"pg_read_file": "SELECT sum((record->>'value')::float8) FROM"
                         " json_array_elements(pg_read_file('{path}')::json) record"}),
    _lines_job("lines_stars", "reviews, JSON lines: sum of one integer", "lines",
               "SELECT sum(stars) FROM {t}",
               "SELECT sum((doc::{json}->>'stars')::int2) FROM {t}"),
    _lines_job("lines_octets", "reviews, JSON lines: bytes of text", "lines",
               "SELECT sum(octet_length(text)) FROM {t}",
               "SELECT sum(octet_length(doc::{json}->>'text')) FROM {t}",
               "SELECT sum(strlen(text)) FROM {t}",
               "SELECT sum(length(text)) FROM {t}"),
)
JOB = {job.name: job for job in JOBS}

# What is measured over file sizes and over numbers of workers.
SIZE_JOBS = ("taxi_sum", "reviews_octets")
SCALING_JOBS = ("taxi_sum", "reviews_octets", "events_sum", "array_sum", "lines_octets")
EXTRA = ("sizes", "scaling")

# Engines that are measured beside ours; three come from PyPI, simdjson, which
# answers the jobs on JSON only, from the distribution.
PEERS = ("file_fdw", "heap", "duckdb", "polars", "clickhouse", "simdjson")
ENGINES = ("duckdb", "polars", "clickhouse", "simdjson")


def file_name(table, megabytes):
    """The name of a table's file where that size is asked for."""
    stem, format, share = FILES[table]
    return "%s-%d.%s" % (stem, max(1, int(megabytes * share)), format)


def is_csv(table):
    return FILES[table][1] == "csv"


def postgres_columns(table):
    return ", ".join(['"%s" %s' % c if c[0] == "user" else "%s %s" % c for c in TABLES[table]] +
                     ["%s %s OPTIONS (path '%s')" % c for c in PATHS.get(table, ())])
