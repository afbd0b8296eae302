--
-- One file of JSON scanned by several processes: the same rows, errors and
-- notices, wherever the file is cut and however many there are.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;

-- a byte order mark, blank lines, both kinds of line end, brackets and quotes
-- in strings, no line end behind the last line
\set file :abs_srcdir '/data/parallel.ndjson'
CREATE FOREIGN TABLE shared (id int, word text, note text, code text, lat float8 OPTIONS (path 'geo.lat'),
  second int OPTIONS (path 'geo.tags[1]'), list text[]) SERVER gpu_csv
  OPTIONS (filename :'file', format 'ndjson');

-- show what does not differ from machine to machine, or run to run
CREATE FUNCTION explain(query text, options text DEFAULT 'COSTS OFF', lines text DEFAULT '.')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
    CONTINUE WHEN line !~ lines OR line ~ 'Foreign File';
    RETURN NEXT regexp_replace(line, ' \(actual.*', '');
  END LOOP;
END
$$;

-- what a query answers, or the error it fails with and where: SQLSTATE, line, byte
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
  context text;
BEGIN
  EXECUTE format('SELECT md5(string_agg(t::text, '';'' ORDER BY t::text)) FROM (%s) t', query) INTO answer;
  RETURN answer;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
  RETURN SQLSTATE || ' ' || SQLERRM || coalesce(', ' || substring(context FROM 'line \d+(?:, byte \d+)?'), '');
END
$$;

-- All partition sizes from a byte up, with none to four helpers: where is the
-- outcome not that of a serial scan?
CREATE FUNCTION differences(query text, sizes int[])
RETURNS TABLE (size int, workers int, leader text, got text) LANGUAGE plpgsql AS $$
DECLARE
  want text;
BEGIN
  PERFORM set_config('max_parallel_workers_per_gather', '0', true);
  want := outcome(query);
  PERFORM set_config('max_parallel_workers_per_gather', '4', true);
  FOREACH size IN ARRAY sizes LOOP
    workers := (ARRAY[0, 1, 2, 4])[size % 4 + 1];
    leader := CASE WHEN size % 3 = 0 THEN 'off' ELSE 'on' END;
    PERFORM set_config('parparaw.partition_size', size || 'B', true),
      set_config('max_parallel_workers', workers::text, true),
      set_config('parallel_leader_participation', leader, true);
    got := outcome(query);
    IF got IS DISTINCT FROM want THEN
      RETURN NEXT;
    END IF;
  END LOOP;
  PERFORM set_config('parparaw.partition_size', '256kB', true),
    set_config('max_parallel_workers', '8', true),
    set_config('parallel_leader_participation', 'on', true),
    set_config('max_parallel_workers_per_gather', '2', true);
END
$$;

-- rows first, aggregates below; plans for small files take some persuasion
SET parparaw.enable_aggregate_pushdown = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT explain('SELECT count(*) FROM shared');
SELECT explain('SELECT * FROM shared WHERE id > 590 ORDER BY id');
SET parparaw.partition_size = '1000B';
SET max_parallel_workers_per_gather = 0;
SELECT count(*), sum(id), sum(length(note)), count(code), sum(lat)::numeric(9, 3) AS lat, sum(second), sum(cardinality(list)) FROM shared;
SET max_parallel_workers_per_gather = 1;
SELECT count(*), sum(id), sum(length(note)), count(code), sum(lat)::numeric(9, 3) AS lat, sum(second), sum(cardinality(list)) FROM shared;
SET max_parallel_workers_per_gather = 2;
SELECT count(*), sum(id), sum(length(note)), count(code), sum(lat)::numeric(9, 3) AS lat, sum(second), sum(cardinality(list)) FROM shared;
SET max_parallel_workers_per_gather = 4;
SELECT count(*), sum(id), sum(length(note)), count(code), sum(lat)::numeric(9, 3) AS lat, sum(second), sum(cardinality(list)) FROM shared;
SET max_parallel_workers_per_gather = 2;
RESET parparaw.partition_size;
SELECT * FROM differences('SELECT * FROM shared', '{13,100,1001,4096,10003,1000000}');
SELECT * FROM differences('SELECT count(*) FROM shared', '{1,2,3,7,100,257,4095}');
SELECT * FROM differences('SELECT id, note FROM shared WHERE word >= ''eta'' AND id % 2 = 0', '{63,258,4097}');

-- what the participants count adds up
SET parparaw.partition_size = '1000B';
SELECT explain('SELECT id FROM shared WHERE id <= 100', 'ANALYZE, COSTS OFF',
  'Parallel Foreign Scan|Partitions|Bytes|Records|Deferred|Removed');

-- rescans start anew, in all processes
SET enable_material = off;
SELECT x, n, s FROM (VALUES (1), (2), (3)) v (x) LEFT JOIN (SELECT count(*) AS n, sum(id) AS s FROM shared) a ON true;
SELECT x, id FROM (VALUES (1), (2)) v (x) LEFT JOIN (SELECT id FROM shared WHERE word = 'eta' AND id > 560) a ON true ORDER BY x, id;
RESET enable_material;

-- a plan may stop early
SELECT id, word FROM shared ORDER BY id DESC LIMIT 3;
SELECT count(*) FROM (SELECT id FROM shared LIMIT 7) s;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM shared ORDER BY id;
FETCH 2 FROM c;
CLOSE c;
COMMIT;
RESET parparaw.partition_size;

-- aggregates that the scan computes itself are shared as well
SET parparaw.enable_aggregate_pushdown = on;
SELECT explain('SELECT count(*) FROM shared');
SELECT * FROM differences('SELECT count(*), count(note), sum(id), min(id), max(id) FROM shared', '{7,100,1001,4098}');
SELECT * FROM differences('SELECT word, count(*), sum(id) FROM shared WHERE id > 99 GROUP BY word', '{7,100,1001,4098}');
SET parparaw.enable_aggregate_pushdown = off;

-- the record itself
CREATE FOREIGN TABLE raw (line json OPTIONS (raw 'true')) SERVER gpu_csv
  OPTIONS (filename :'file', format 'ndjson');
SELECT * FROM differences('SELECT line::text FROM raw', '{7,100,1001,4098}');
DROP FOREIGN TABLE raw;

-- an error is raised by the first record, in file order, that has one: its
-- value or, as in every query, its text
\set file :abs_srcdir '/data/parallel_errors.ndjson'
CREATE FOREIGN TABLE errors (a int, b text, c text) SERVER gpu_csv
  OPTIONS (filename :'file', format 'ndjson');
SELECT outcome('SELECT * FROM errors');
SELECT * FROM differences('SELECT * FROM errors', '{1,2,7,33,64,100,255,1000}');
SELECT outcome('SELECT b FROM errors');
SELECT * FROM differences('SELECT b FROM errors', '{1,2,7,33,64,100,255,1000}');
SELECT * FROM differences('SELECT count(*) FROM errors', '{1,2,7,33,64,100,255,1000}');
SELECT * FROM differences('SELECT * FROM errors WHERE b > ''epsilon''', '{1,2,7,33,64,100,255,1000}');
-- ... by types of any kind
CREATE TYPE small AS ENUM ('alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta');
ALTER FOREIGN TABLE errors ALTER b TYPE small;
SELECT outcome('SELECT b FROM errors');
SELECT * FROM differences('SELECT b FROM errors', '{2,33,100,257}');
CREATE DOMAIN other AS text CHECK (VALUE <> 'theta');
ALTER FOREIGN TABLE errors ALTER b TYPE other;
SELECT outcome('SELECT b FROM errors');
SELECT * FROM differences('SELECT b FROM errors', '{2,33,100,257}');
ALTER FOREIGN TABLE errors ALTER b TYPE text;
-- ... and by aggregates
SET parparaw.enable_aggregate_pushdown = on;
SELECT * FROM differences('SELECT sum(a) FROM errors', '{1,2,7,33,64,100,255,1000}');
SELECT * FROM differences('SELECT count(*) FROM errors', '{1,2,7,33,64,100,255,1000}');
SET parparaw.enable_aggregate_pushdown = off;

-- Documents: cuts fall into strings, arrays and objects, and between them
\set file :abs_srcdir '/data/parallel.json'
CREATE FOREIGN TABLE documents (id int, word text, note text, code text, lat float8 OPTIONS (path 'geo.lat'),
  second int OPTIONS (path 'geo.tags[1]'), list text[]) SERVER gpu_csv
  OPTIONS (filename :'file', format 'json');
SELECT explain('SELECT * FROM documents WHERE id > 590 ORDER BY id');
SELECT outcome('SELECT * FROM documents') = outcome('SELECT * FROM shared') AS same;
SET parparaw.partition_size = '1000B';
SELECT count(*), sum(id), sum(length(note)), count(code), sum(lat)::numeric(9, 3) AS lat, sum(second), sum(cardinality(list)) FROM documents;
SELECT explain('SELECT id FROM documents WHERE id <= 100', 'ANALYZE, COSTS OFF',
  'Parallel Foreign Scan|Partitions|Bytes|Records|Deferred|Removed');
SELECT id, word FROM documents ORDER BY id DESC LIMIT 3;
RESET parparaw.partition_size;
SELECT * FROM differences('SELECT * FROM documents', '{13,100,1001,4096,10003,1000000}');
SELECT * FROM differences('SELECT count(*) FROM documents', '{1,2,3,7,100,257,4095}');
SELECT * FROM differences('SELECT id, note FROM documents WHERE word >= ''eta'' AND id % 2 = 0', '{63,258,4097}');
SET parparaw.enable_aggregate_pushdown = on;
SELECT * FROM differences('SELECT word, count(*), sum(id) FROM documents WHERE id > 99 GROUP BY word', '{7,100,1001,4098}');
SET parparaw.enable_aggregate_pushdown = off;
CREATE FOREIGN TABLE raw (doc json OPTIONS (raw 'true')) SERVER gpu_csv
  OPTIONS (filename :'file', format 'json');
SELECT * FROM differences('SELECT doc::text FROM raw', '{7,100,1001,4098}');
\set file :abs_srcdir '/data/parallel_errors.json'
ALTER FOREIGN TABLE raw OPTIONS (SET filename :'file');
SELECT outcome('SELECT doc::text FROM raw');
SELECT * FROM differences('SELECT doc::text FROM raw', '{1,2,7,33,64,100,255,1000}');
SELECT * FROM differences('SELECT count(*) FROM raw', '{1,2,7,33,64,100,255,1000}');
ALTER FOREIGN TABLE errors OPTIONS (SET filename :'file', SET format 'json');
SELECT outcome('SELECT * FROM errors');
SELECT * FROM differences('SELECT * FROM errors', '{1,2,7,33,64,100,255,1000}');
SELECT outcome('SELECT c FROM errors');
SELECT * FROM differences('SELECT c FROM errors', '{1,2,7,33,64,100,255,1000}');
ALTER FOREIGN TABLE errors OPTIONS (ADD on_error 'ignore', ADD log_verbosity 'silent');
SELECT outcome('SELECT * FROM errors');
SELECT * FROM differences('SELECT * FROM errors', '{1,2,7,33,64,100,255,1000}');
\set file :abs_srcdir '/data/parallel_errors.ndjson'
ALTER FOREIGN TABLE errors OPTIONS (DROP on_error, DROP log_verbosity, SET filename :'file', SET format 'ndjson');
DROP FOREIGN TABLE documents, raw;

-- rows that are skipped, for values and lines that are bad, are counted
-- together, and the leader tells
ALTER FOREIGN TABLE errors OPTIONS (ADD on_error 'ignore');
SELECT explain('SELECT a FROM errors');
SET parparaw.partition_size = '10B';
SELECT count(a), sum(a) FROM errors;
SELECT count(*) FROM errors;
SELECT * FROM differences('SELECT * FROM errors', '{1,2,7,33,64,100,255,1000}');
ALTER FOREIGN TABLE errors OPTIONS (ADD reject_limit '6');
SELECT count(a), sum(a) FROM errors;
\set SHOW_CONTEXT never
ALTER FOREIGN TABLE errors OPTIONS (SET reject_limit '5');
SELECT count(a), sum(a) FROM errors;      -- ERROR
\set SHOW_CONTEXT errors
RESET parparaw.partition_size;
ALTER FOREIGN TABLE errors OPTIONS (DROP reject_limit, DROP on_error);

-- Values are read in workers only if their input functions may run there: of
-- composite types and arrays, those of what they are made of; a domain's checks
-- are looked at one by one
CREATE FUNCTION is_short(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN length($1) < 10; END';
CREATE DOMAIN short AS text CHECK (is_short(VALUE));
CREATE TYPE tagged AS (lat float8, tags short[]);
ALTER FOREIGN TABLE shared ADD geo tagged;
SELECT explain('SELECT geo FROM shared');
SELECT * FROM differences('SELECT geo FROM shared', '{100,4095}');
ALTER FUNCTION is_short PARALLEL RESTRICTED;
SELECT explain('SELECT geo FROM shared');
-- nobody minds if nobody looks
SELECT explain('SELECT id FROM shared');

-- what is transcoded is read by one process, and so is a program's output
ALTER FOREIGN TABLE shared OPTIONS (ADD encoding 'latin1');
SELECT explain('SELECT id FROM shared');
ALTER FOREIGN TABLE shared OPTIONS (DROP encoding);
\set command 'cat ' :abs_srcdir '/data/parallel.ndjson'
ALTER FOREIGN TABLE shared OPTIONS (DROP filename, ADD program :'command');
SELECT explain('SELECT id FROM shared', 'COSTS OFF', 'Scan');

DROP FOREIGN TABLE shared, errors;
RESET parparaw.enable_aggregate_pushdown;
DROP TYPE tagged, small;
DROP DOMAIN short, other;
DROP FUNCTION is_short(text);
DROP FUNCTION outcome(text), differences(text, int[]), explain(text, text, text);
