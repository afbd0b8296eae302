--
-- Format 'ndjson': a JSON object a line.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;
SET timezone TO 'UTC';
\set SHOW_CONTEXT never

-- A column is the key of its name.  Missing keys and null are NULL, of equal
-- keys the last one counts, other keys and blank lines are passed over.
\set events :abs_srcdir '/data/events.ndjson'
CREATE FOREIGN TABLE events (
    id bigint, ts timestamptz, value float8, ok bool, geo jsonb,
    lat float8 OPTIONS (path 'geo.lat'), tags text[]
) SERVER gpu_csv OPTIONS (filename :'events', format 'ndjson');
SELECT * FROM events;
SELECT count(*), sum(value), avg(lat) FILTER (WHERE ok), max(ts) FROM events;
SELECT id, tags[1] FROM events WHERE value > 0;
-- restrictions and aggregates are evaluated in the scan, as for CSV
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        RETURN NEXT regexp_replace(line, '/[^ "]*/data/', '/.../data/');
    END LOOP;
END $$;
SELECT explain('SELECT sum(value) FROM events WHERE id > 1');
ANALYZE events;
SELECT reltuples FROM pg_class WHERE relname = 'events';

-- Values are what json_populate_record() makes of them, for all types.
\set shapes :abs_srcdir '/data/shapes.ndjson'
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN small AS int CHECK (VALUE < 10);
CREATE TYPE mood AS ENUM ('ok', 'sad');
CREATE FOREIGN TABLE shapes (
    pair pair, list int[], small small, mood mood, doc json,
    docb jsonb OPTIONS (key 'doc'), doct text OPTIONS (key 'doc'), span int4range
) SERVER gpu_csv OPTIONS (filename :'shapes', format 'ndjson');
SELECT * FROM shapes;

-- A path leads to nested values.  What is not there is NULL.
\set paths :abs_srcdir '/data/paths.ndjson'
CREATE FOREIGN TABLE paths (
    first int OPTIONS (path 'a.b[0].c'), second text OPTIONS (path 'a.b[1]'),
    dotted text OPTIONS (path '"x.y"'), z int OPTIONS (path '"x.y".z'),
    quoted text OPTIONS (path '"say ""hi"""'), empty text OPTIONS (key '')
) SERVER gpu_csv OPTIONS (filename :'paths', format 'ndjson');
SELECT * FROM paths;

-- A raw column is the record itself, without white space around it.  If it is
-- the only column, records may be any value.
\set values :abs_srcdir '/data/values.ndjson'
CREATE FOREIGN TABLE raw (line json OPTIONS (raw 'true'))
  SERVER gpu_csv OPTIONS (filename :'values', format 'ndjson');
SELECT line, json_typeof(line) FROM raw;
ALTER FOREIGN TABLE raw ALTER line TYPE jsonb;
SELECT line FROM raw;
ALTER FOREIGN TABLE raw ADD a json;
SELECT * FROM raw;                      -- ERROR

-- Files that are not in UTF-8 say so.
\set latin1 :abs_srcdir '/data/latin1.ndjson'
CREATE FOREIGN TABLE names (name text)
  SERVER gpu_csv OPTIONS (filename :'latin1', format 'ndjson', encoding 'latin1');
SELECT name, octet_length(name) FROM names;
ALTER FOREIGN TABLE names OPTIONS (DROP encoding);
\set VERBOSITY terse
SELECT name FROM names;                 -- ERROR
\set VERBOSITY default

-- Every line is checked as a whole, whatever a query needs of it.
\set bad :abs_srcdir '/data/bad.ndjson'
CREATE FOREIGN TABLE bad (a int, b text)
  SERVER gpu_csv OPTIONS (filename :'bad', format 'ndjson');
SELECT count(*) FROM bad;               -- ERROR
SELECT a FROM bad LIMIT 1;
SELECT a FROM bad;                      -- ERROR
-- A bad line does not end the scan if on_error says so; nor does a value.
ALTER FOREIGN TABLE bad OPTIONS (ADD on_error 'ignore', ADD log_verbosity 'verbose');
SELECT b FROM bad;
SELECT count(*) FROM bad;
ALTER FOREIGN TABLE bad OPTIONS (ADD reject_limit '3');
SELECT b FROM bad;                      -- ERROR
SELECT a FROM bad;                      -- ERROR

-- Each kind of error has its SQLSTATE, file, line, byte and key.
ALTER FOREIGN TABLE bad OPTIONS (DROP on_error, DROP reject_limit, SET log_verbosity 'silent');
CREATE FUNCTION failure(line text, OUT state text, OUT message text, OUT detail text, OUT place text)
LANGUAGE plpgsql AS $$
BEGIN
    -- a program that prints the line
    EXECUTE format('CREATE FOREIGN TABLE one (a int, b text) SERVER gpu_csv '
                   'OPTIONS (program %L, format ''ndjson'')',
                   'printf %s ''' || replace(line, '''', '''\''''') || '''');
    PERFORM count(*) FROM one;
    DROP FOREIGN TABLE one;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, place = PG_EXCEPTION_CONTEXT;
    place := substring(place from 'line \d+, byte \d+(?:, behind key "[^"]*")?');
END $$;
SET max_stack_depth TO '2MB';
SELECT left(line, 20) AS line, (failure(line)).* FROM (VALUES
    ('{"a": 1'), ('{"a" 1}'), ('{"a": 1,}'), ('{"a": 1} {}'), ('{"a": [1 2]}'), ('{"a": tru}'),
    ('{"a": 01}'), ('{"a": +1}'), ('{a: 1}'), ('{"a": ''x''}'), ('{"a": "\x"}'), ('{"a": "x'),
    (E'{"a": "tab\there"}'), ('{"a": "\ud800"}'), ('{"a": "\uDC00"}'), ('{"a": "\u0000"}'),
    ('[{"a": 1}]'), ('null'), (repeat('{"a":', 10000))) v (line);
RESET max_stack_depth;

-- Options of CSV and of JSON do not mix, whichever comes last.  The options of
-- the table, and of each column, are validated by themselves; whether they go
-- together is checked once they are in the catalogs, by the same command.
\set VERBOSITY sqlstate
CREATE FOREIGN TABLE wrong (a int) SERVER gpu_csv
  OPTIONS (filename 'x', format 'ndjson', header 'true');               -- ERROR
CREATE FOREIGN TABLE wrong (a int) SERVER gpu_csv
  OPTIONS (filename 'x', format 'ndjson', delimiter ';');               -- ERROR
CREATE FOREIGN TABLE wrong (a int) SERVER gpu_csv
  OPTIONS (filename 'x', format 'ndjson', quote '"');                   -- ERROR
CREATE FOREIGN TABLE wrong (a int) SERVER gpu_csv
  OPTIONS (filename 'x', format 'ndjson', escape '"');                  -- ERROR
CREATE FOREIGN TABLE wrong (a int OPTIONS (key 'k')) SERVER gpu_csv
  OPTIONS (filename 'x');                                               -- ERROR
CREATE FOREIGN TABLE wrong (a int OPTIONS (path 'k')) SERVER gpu_csv
  OPTIONS (filename 'x', format 'csv');                                 -- ERROR
CREATE FOREIGN TABLE wrong (a json OPTIONS (raw 'false')) SERVER gpu_csv
  OPTIONS (filename 'x');                                               -- ERROR
CREATE FOREIGN TABLE wrong (a int OPTIONS (force_not_null 'true')) SERVER gpu_csv
  OPTIONS (filename 'x', format 'ndjson');                              -- ERROR
CREATE FOREIGN TABLE wrong (a int OPTIONS (force_null 'false')) SERVER gpu_csv
  OPTIONS (filename 'x', format 'ndjson');                              -- ERROR
\set VERBOSITY default
CREATE FOREIGN TABLE wrong (a int OPTIONS (key 'k', path 'p')) SERVER gpu_csv
  OPTIONS (filename 'x', format 'ndjson');                              -- ERROR
CREATE FOREIGN TABLE wrong (a int OPTIONS (key 'k', force_null 'true')) SERVER gpu_csv
  OPTIONS (filename 'x');                                               -- ERROR
CREATE FOREIGN TABLE wrong (a int OPTIONS (path 'a..b')) SERVER gpu_csv
  OPTIONS (filename 'x', format 'ndjson');                              -- ERROR
CREATE FOREIGN TABLE wrong (a int OPTIONS (path 'a[-1]')) SERVER gpu_csv
  OPTIONS (filename 'x', format 'ndjson');                              -- ERROR
CREATE FOREIGN TABLE wrong (a text OPTIONS (raw 'true')) SERVER gpu_csv
  OPTIONS (filename 'x', format 'ndjson');                              -- ERROR
ALTER FOREIGN TABLE events OPTIONS (ADD null '');                       -- ERROR
ALTER FOREIGN TABLE events OPTIONS (DROP format);                       -- ERROR
ALTER FOREIGN TABLE events OPTIONS (SET format 'csv');                  -- ERROR
ALTER FOREIGN TABLE events ALTER id OPTIONS (ADD force_null 'true');    -- ERROR
ALTER FOREIGN TABLE events ALTER id OPTIONS (ADD raw 'true');           -- ERROR
ALTER FOREIGN TABLE events ADD x int OPTIONS (force_not_null 'true');   -- ERROR
ALTER FOREIGN TABLE events ALTER geo OPTIONS (ADD raw 'true'), ALTER geo TYPE text; -- ERROR
SELECT id, lat FROM events WHERE id = 1;
-- who changes the format drops first what the other one does not have
ALTER FOREIGN TABLE events ALTER lat OPTIONS (DROP path), OPTIONS (SET format 'csv', ADD header 'true'),
  ALTER lat OPTIONS (ADD force_null 'true');
ALTER FOREIGN TABLE events ALTER lat OPTIONS (ADD key 'k');             -- ERROR
ALTER FOREIGN TABLE events OPTIONS (DROP header, SET format 'ndjson');  -- ERROR
ALTER FOREIGN TABLE events ALTER lat OPTIONS (DROP force_null), OPTIONS (DROP header, SET format 'ndjson'),
  ALTER lat OPTIONS (ADD path 'geo.lat');
SELECT id, lat FROM events WHERE id = 1;
-- tables of other wrappers are their own affair
CREATE FOREIGN DATA WRAPPER other;
CREATE SERVER other FOREIGN DATA WRAPPER other;
CREATE FOREIGN TABLE elsewhere (a int OPTIONS (key 'k')) SERVER other OPTIONS (force_null 'x');
ALTER FOREIGN TABLE elsewhere ALTER a OPTIONS (ADD force_null 'x'), OPTIONS (ADD format 'none');
DROP FOREIGN DATA WRAPPER other CASCADE;

DROP FUNCTION failure(text), explain(text);
DROP FOREIGN TABLE events, shapes, paths, raw, names, bad;
DROP TYPE pair, mood;
DROP DOMAIN small;
