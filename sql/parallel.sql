--
-- One file scanned by several processes: the same rows, errors and notices,
-- wherever the file is cut and however many there are.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;

-- quoted line ends, quotes and commas everywhere; two pages and a half
\set file :abs_srcdir '/data/parallel.csv'
CREATE FOREIGN TABLE shared (id int, word text, note text, code text) SERVER gpu_csv
  OPTIONS (filename :'file', header 'match');

-- paths and times differ from machine to machine, and who does how much from
-- run to run: show what does not
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

-- rows first, aggregates below
SET parparaw.enable_aggregate_pushdown = off;

-- plans for files as small as this take some persuasion
SELECT explain('SELECT count(*) FROM shared');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT explain('SELECT count(*) FROM shared');
SELECT explain('SELECT * FROM shared WHERE id > 590 ORDER BY id');
SELECT count(*), sum(id), sum(length(note)), count(note) FROM shared;

-- what a query answers, or the error it fails with and where: SQLSTATE and line
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
  context text;
BEGIN
  EXECUTE format('SELECT md5(string_agg(t::text, '';'' ORDER BY t::text)) FROM (%s) t', query) INTO answer;
  RETURN answer;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
  RETURN SQLSTATE || ' ' || SQLERRM || coalesce(', ' || substring(context FROM 'line \d+'), '');
END
$$;

-- All partition sizes from a byte up, with all sorts of helpers: where is the
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
    workers := size % 4;
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
SELECT * FROM differences('SELECT * FROM shared', '{1,13,100,1000,4096,10000,1000000}');
SELECT * FROM differences('SELECT count(*) FROM shared', '{7,100,257,4096}');
SELECT * FROM differences('SELECT id, note FROM shared WHERE word >= ''eta'' AND id % 2 = 0', '{63,257,4096}');

-- what the participants count adds up
SET parparaw.partition_size = '1000B';
SELECT explain('SELECT id FROM shared WHERE id <= 100', 'ANALYZE, COSTS OFF',
  'Parallel Foreign Scan|Partitions|Bytes|Records|Deferred|Removed');

-- rescans start anew, in all processes
SET enable_material = off;
SELECT x, n, s FROM (VALUES (1), (2), (3)) v (x) LEFT JOIN (SELECT count(*) AS n, sum(id) AS s FROM shared) a ON true;
SELECT x, id FROM (VALUES (1), (2)) v (x) LEFT JOIN (SELECT id FROM shared WHERE word = 'eta' AND id > 560) a ON true ORDER BY x, id;
SELECT explain('SELECT x, n FROM (VALUES (1), (2)) v (x) LEFT JOIN (SELECT count(*) AS n FROM shared) s ON true',
  'ANALYZE, COSTS OFF', 'Partitions|Records');
RESET enable_material;

-- sorted rows are merged, and a scan may stop early
SELECT id, word FROM shared ORDER BY id DESC LIMIT 3;
SELECT count(*) FROM (SELECT id FROM shared LIMIT 7) s;
SELECT EXISTS (SELECT 1 FROM shared WHERE note LIKE '%stop%');
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM shared ORDER BY id;
FETCH 2 FROM c;
CLOSE c;
COMMIT;

-- with other tables: below an append, and joined
CREATE TABLE parent (id int, word text, note text, code text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE child1 PARTITION OF parent FOR VALUES FROM (1) TO (1000) SERVER gpu_csv
  OPTIONS (filename :'file', header 'true');
CREATE FOREIGN TABLE child2 PARTITION OF parent FOR VALUES FROM (1000) TO (2000) SERVER gpu_csv
  OPTIONS (filename :'file', header 'true');
SELECT explain('SELECT count(*) FROM parent');
SELECT count(*), sum(id) FROM parent;
SELECT * FROM differences('SELECT id, note FROM parent', '{33,257,4096}');
SELECT count(*), sum(a.id - b.id) FROM shared a JOIN shared b USING (id, word);
DROP TABLE parent;

-- aggregates that the scan computes itself are shared as well
SET parparaw.enable_aggregate_pushdown = on;
SELECT explain('SELECT count(*) FROM shared');
SELECT * FROM differences('SELECT count(*), count(note), sum(id), min(id), max(id) FROM shared', '{7,100,1000,4096}');
SELECT * FROM differences('SELECT word, count(*), sum(id) FROM shared WHERE id > 99 GROUP BY word', '{7,100,1000,4096}');
SET parparaw.enable_aggregate_pushdown = off;

-- nobody to help, or nobody but helpers
SET max_parallel_workers = 0;
SELECT count(*), sum(id) FROM shared;
RESET max_parallel_workers;
SET parallel_leader_participation = off;
SELECT count(*), sum(id) FROM shared;
RESET parallel_leader_participation;
RESET parparaw.partition_size;

-- an error is raised by the first record, in file order, that has one
\set file :abs_srcdir '/data/parallel_errors.csv'
CREATE FOREIGN TABLE errors (a int, b text, c text) SERVER gpu_csv OPTIONS (filename :'file');
SELECT outcome('SELECT * FROM errors');
SELECT * FROM differences('SELECT * FROM errors', '{1,2,7,33,64,100,255,1000}');
SELECT outcome('SELECT b FROM errors');
SELECT * FROM differences('SELECT b FROM errors', '{1,2,7,33,64,100,255,1000}');
SELECT * FROM differences('SELECT * FROM errors WHERE b > ''epsilon''', '{1,2,7,33,64,100,255,1000}');
-- ... by types of any kind
CREATE TYPE small AS ENUM ('alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota');
ALTER FOREIGN TABLE errors ALTER b TYPE small;
SELECT outcome('SELECT b FROM errors');
SELECT * FROM differences('SELECT b FROM errors', '{2,33,100,257}');
ALTER FOREIGN TABLE shared ALTER note TYPE varchar(200);
SELECT outcome('SELECT note FROM shared');
SELECT * FROM differences('SELECT note FROM shared', '{33,100,1000,4096}');
-- ... and by aggregates
SET parparaw.enable_aggregate_pushdown = on;
SELECT outcome('SELECT count(note) FROM shared');
SELECT * FROM differences('SELECT count(note) FROM shared', '{33,100,1000,4096}');
SELECT * FROM differences('SELECT count(*) FROM errors', '{1,2,7,33,64,100,255,1000}');
SET parparaw.enable_aggregate_pushdown = off;
ALTER FOREIGN TABLE shared ALTER note TYPE text;
DROP FOREIGN TABLE errors;
DROP TYPE small;

-- behind an end-of-data marker (PostgreSQL 17 and before) nothing counts
\set file :abs_srcdir '/data/parallel_marker.csv'
CREATE FOREIGN TABLE marker (a text, b text, c text) SERVER gpu_csv OPTIONS (filename :'file');
SELECT * FROM differences('SELECT * FROM marker', '{1,2,3,5,33,64,257}');
SELECT * FROM differences('SELECT count(*) FROM marker', '{1,2,3,5,33,64,257}');
DROP FOREIGN TABLE marker;

-- rows that are skipped are counted together, and the leader tells
ALTER FOREIGN TABLE shared ALTER code TYPE int;
ALTER FOREIGN TABLE shared OPTIONS (ADD on_error 'ignore');
SELECT explain('SELECT id, code FROM shared');
SET parparaw.partition_size = '100B';
SELECT count(code), sum(code) FROM shared;
SELECT count(*) FROM shared;
SET enable_material = off;
SELECT x, n FROM (VALUES (1), (2)) v (x) LEFT JOIN (SELECT count(*) AS n FROM shared) s ON true;
RESET enable_material;
ALTER FOREIGN TABLE shared OPTIONS (ADD reject_limit '54');
SELECT count(code), sum(code) FROM shared;
\set SHOW_CONTEXT never
ALTER FOREIGN TABLE shared OPTIONS (SET reject_limit '53');
SELECT count(code), sum(code) FROM shared;      -- ERROR
\set SHOW_CONTEXT errors
RESET parparaw.partition_size;
ALTER FOREIGN TABLE shared OPTIONS (DROP reject_limit, DROP on_error);

-- Values are read in workers only if their input function may run there; a
-- domain's checks are looked at one by one
ALTER FOREIGN TABLE shared ALTER code TYPE text;
CREATE FUNCTION is_short(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN length($1) < 10; END';
CREATE DOMAIN short AS text CHECK (is_short(VALUE));
ALTER FOREIGN TABLE shared ALTER code TYPE short;
SELECT explain('SELECT code FROM shared');
SELECT * FROM differences('SELECT code FROM shared', '{100,4095}');
ALTER FUNCTION is_short PARALLEL RESTRICTED;
SELECT explain('SELECT code FROM shared');
-- nobody minds if nobody looks
SELECT explain('SELECT id FROM shared');

-- characters must be told apart anywhere in a file
ALTER FOREIGN TABLE shared OPTIONS (ADD encoding 'SJIS');
SELECT explain('SELECT id FROM shared');
ALTER FOREIGN TABLE shared OPTIONS (DROP encoding);
-- and a program's output is there only once
\set command 'cat ' :abs_srcdir '/data/parallel.csv'
ALTER FOREIGN TABLE shared OPTIONS (DROP filename, ADD program :'command');
SELECT explain('SELECT id FROM shared', 'COSTS OFF', 'Scan');

DROP FOREIGN TABLE shared;
RESET parparaw.enable_aggregate_pushdown;
DROP DOMAIN short;
DROP FUNCTION is_short(text);
DROP FUNCTION outcome(text), differences(text, int[]), explain(text, text, text);
