--
-- What queries do with a scan: rescans, cursors, cached plans, columns that come and go, inheritance, partitions, views.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;

\set file :abs_srcdir '/data/scan.csv'
CREATE FOREIGN TABLE scan (id int, tag text, val numeric) SERVER gpu_csv
  OPTIONS (filename :'file');
SELECT count(*), sum(id), count(DISTINCT tag), sum(val) FROM scan;

-- rescans: before the first row, after some rows, after the last
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET parparaw.partition_size = '100B';
SELECT count(*), sum(a.id * b.id) FROM scan a JOIN scan b ON a.id = b.id;
SELECT x, (SELECT max(id) FROM scan WHERE id < x) FROM generate_series(0, 101, 25) x;
SELECT x, s.id FROM generate_series(1, 3) x, LATERAL (SELECT id FROM scan WHERE id > x * 10 LIMIT 2) s;
SELECT x FROM generate_series(98, 103) x WHERE EXISTS (SELECT 1 FROM scan WHERE id = x);
RESET parparaw.partition_size;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;

-- cursors, backwards too
BEGIN;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT id FROM scan;
FETCH 2 FROM c;
FETCH PRIOR FROM c;
FETCH LAST FROM c;
FETCH ABSOLUTE 50 FROM c;
COMMIT;
FETCH PRIOR FROM c;
CLOSE c;

-- prepared statements with generic and custom plans
PREPARE p (int) AS SELECT tag FROM scan WHERE id = $1;
EXECUTE p (3);
SET plan_cache_mode = force_generic_plan;
EXECUTE p (13);
EXECUTE p (NULL);
ALTER FOREIGN TABLE scan OPTIONS (ADD null 'jjj');
EXECUTE p (59);
ALTER FOREIGN TABLE scan OPTIONS (DROP null);
EXECUTE p (59);
RESET plan_cache_mode;
DEALLOCATE p;

-- whole rows, the table's identity, and system columns it does not have
SELECT s, s.tableoid::regclass FROM scan s WHERE id = 10;
SELECT count(s) FROM scan s;
SELECT ctid FROM scan;                  -- ERROR
SELECT count(*) FROM scan WHERE xmin = '1';     -- ERROR

-- the file's columns are the table's, in their order: less the dropped ones,
-- less generated ones, plus the added ones
ALTER FOREIGN TABLE scan ADD COLUMN twice int GENERATED ALWAYS AS (id * 2) STORED;
SELECT id, tag, val, twice FROM scan WHERE id = 10;
ALTER FOREIGN TABLE scan DROP COLUMN tag;
\set SHOW_CONTEXT never
SELECT * FROM scan LIMIT 1;             -- ERROR
ALTER FOREIGN TABLE scan ADD COLUMN last numeric;
SELECT val FROM scan WHERE id = 1;      -- ERROR, the second field is text
\set SHOW_CONTEXT errors
SELECT id, last FROM scan WHERE id = 10;
DROP FOREIGN TABLE scan;

-- a partition of a partitioned table, and a child that inherits
CREATE TABLE parent (tag text, id int, dropped int, val numeric) PARTITION BY RANGE (id);
ALTER TABLE parent DROP COLUMN dropped;
CREATE TABLE part0 PARTITION OF parent FOR VALUES FROM (MINVALUE) TO (1);
INSERT INTO part0 VALUES ('zero', 0, 0);
CREATE FOREIGN TABLE part1 (id int, tag text, val numeric) SERVER gpu_csv
  OPTIONS (filename :'file');
ALTER TABLE parent ATTACH PARTITION part1 FOR VALUES FROM (1) TO (101);
SELECT tableoid::regclass, count(*), sum(val) FROM parent GROUP BY 1 ORDER BY 1;
SELECT * FROM parent WHERE id < 3 ORDER BY id;
EXPLAIN (COSTS OFF) SELECT * FROM parent WHERE id < 1;
DROP TABLE parent;

CREATE TABLE base (id int);
INSERT INTO base VALUES (-1);
CREATE FOREIGN TABLE child (tag text, val numeric) INHERITS (base) SERVER gpu_csv
  OPTIONS (filename :'file');
SELECT count(*), min(id), max(id) FROM base;
SELECT count(*) FROM ONLY base;
DROP FOREIGN TABLE child;
DROP TABLE base;

-- a view grants what the table does not
CREATE FOREIGN TABLE scan (id int, tag text, val numeric) SERVER gpu_csv
  OPTIONS (filename :'file');
CREATE VIEW few WITH (security_barrier) AS SELECT id, tag FROM scan WHERE id < 4;
SET client_min_messages TO 'warning';
DROP ROLE IF EXISTS regress_parparaw_reader;
RESET client_min_messages;
CREATE ROLE regress_parparaw_reader;
GRANT SELECT ON few TO regress_parparaw_reader;
SET ROLE regress_parparaw_reader;
SELECT * FROM few;
SELECT * FROM scan;                     -- ERROR
RESET ROLE;
GRANT SELECT ON scan TO regress_parparaw_reader;
SET ROLE regress_parparaw_reader;
SELECT count(*) FROM scan;
RESET ROLE;

-- sorts and aggregates keep values beyond the batch they came in
SELECT count(*), md5(string_agg(tag || val, ',' ORDER BY id DESC)) FROM scan;
SET parparaw.partition_size = '16B';
SELECT count(*), md5(string_agg(tag || val, ',' ORDER BY id DESC)) FROM scan;
RESET parparaw.partition_size;

DROP VIEW few;
DROP FOREIGN TABLE scan;
DROP ROLE regress_parparaw_reader;
