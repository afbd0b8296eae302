--
-- EXPLAIN, ANALYZE, and programs.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;

\set file :abs_srcdir '/data/scan.csv'
CREATE FOREIGN TABLE scan (id int, tag text, val numeric) SERVER gpu_csv
  OPTIONS (filename :'file');

-- paths, times and memory differ from machine to machine: show what does not
CREATE FUNCTION explain(query text, options text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
    line := regexp_replace(line, '/[^ "]*/data/', '/.../data/');
    line := regexp_replace(line, 'SIMD: .*', 'SIMD: ...');
    line := regexp_replace(line, 'actual rows=(\d+)\.00', 'actual rows=\1');
    CONTINUE WHEN options !~ 'FORMAT' AND line ~ '(Buffers|Memory|Planning|shared)';
    RETURN NEXT line;
  END LOOP;
END
$$;

-- the file, and under VERBOSE or ANALYZE who parses it; plain EXPLAIN opens
-- nothing
SELECT explain('SELECT id FROM scan WHERE id > 5', 'COSTS OFF');
SELECT explain('SELECT id FROM scan WHERE id > 5', 'COSTS OFF, VERBOSE');
SET parparaw.partition_size = '512B';
SELECT explain('SELECT id FROM scan WHERE id > 5', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
RESET parparaw.partition_size;

-- other formats are well-formed
SELECT json_typeof(string_agg(l, E'\n')::json)
  FROM explain('SELECT id FROM scan', 'FORMAT json, ANALYZE, TIMING OFF') l;
SELECT xmlparse(DOCUMENT string_agg(l, E'\n')) IS NOT NULL AS xml
  FROM explain('SELECT id FROM scan', 'FORMAT xml, ANALYZE, VERBOSE, TIMING OFF') l;

-- a LIMIT reads no more than it needs
SET parparaw.partition_size = '64B';
SELECT explain('SELECT id FROM scan LIMIT 1', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
RESET parparaw.partition_size;

-- the number of rows is known from the file itself, exactly if it is small
CREATE FUNCTION estimate(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  RETURN plan->0->'Plan'->>'Plan Rows';
END
$$;
SELECT estimate('SELECT * FROM scan'), estimate('SELECT id FROM scan');
ALTER FOREIGN TABLE scan OPTIONS (ADD header 'true');
SELECT estimate('SELECT * FROM scan');
ALTER FOREIGN TABLE scan OPTIONS (DROP header);

-- ANALYZE samples the file
ANALYZE scan;
SELECT reltuples, relpages > 0 AS pages FROM pg_class WHERE relname = 'scan';
SELECT attname, null_frac, n_distinct FROM pg_stats WHERE tablename = 'scan' ORDER BY attname;
SELECT estimate('SELECT * FROM scan WHERE id <= 50');

-- a program has no size, and is not run to find one
CREATE FOREIGN TABLE prog (id int) SERVER gpu_csv OPTIONS (program 'seq 3');
SELECT explain('SELECT * FROM prog', 'COSTS OFF');
SELECT l AS explain
  FROM explain('SELECT * FROM prog', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') l
  WHERE l !~ 'Partitions';
ANALYZE prog;

-- ... and is run as often as a query needs it
SELECT x, id FROM generate_series(1, 2) x, LATERAL (SELECT id FROM prog WHERE id >= x OFFSET 0) s;

-- a program that fails is an error, but not if it is stopped before its end
ALTER FOREIGN TABLE prog OPTIONS (SET program 'seq 3; exit 7');
SELECT * FROM prog;                     -- ERROR
SELECT * FROM prog LIMIT 2;
ALTER FOREIGN TABLE prog OPTIONS (SET program 'seq 1000000');
SELECT * FROM prog LIMIT 1;
ALTER FOREIGN TABLE prog OPTIONS (SET program 'kill -9 $$');
SELECT * FROM prog;                     -- ERROR

DROP FUNCTION explain, estimate;
DROP FOREIGN TABLE scan, prog;
