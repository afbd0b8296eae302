--
-- Aggregates and groups that a scan computes itself: the same results as if
-- the executor did, to the last bit, and the same errors.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;
SET timezone TO 'UTC';
SET datestyle TO 'ISO';
SET extra_float_digits TO 3;

\set file :abs_srcdir '/data/filter.csv'
CREATE FOREIGN TABLE agg (
  i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, b bool, d date,
  ts timestamp, tz timestamptz, t time, u uuid, x text COLLATE "C", c bpchar COLLATE "C",
  y bytea)
  SERVER gpu_csv OPTIONS (filename :'file', header 'true', encoding 'utf8');

CREATE FOREIGN TABLE nothing (a int, f float8, n numeric, x text COLLATE "C")
  SERVER gpu_csv OPTIONS (filename '/dev/null');
EXPLAIN (COSTS OFF) SELECT count(*), sum(a), avg(f) + 1 FROM nothing WHERE a > 0;
EXPLAIN (COSTS OFF, VERBOSE)
  SELECT a, max(n) FROM nothing GROUP BY a, x HAVING count(*) > 1;

-- which aggregates are computed in the scan, and which are not
CREATE FUNCTION in_scan(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Scan (Aggregate|Group Key): ' THEN RETURN true; END IF;
  END LOOP;
  RETURN false;
END
$$;
SELECT q, in_scan('SELECT ' || q) FROM (VALUES
  ('count(*) FROM agg'),
  ('count(y) FROM agg'),
  ('sum(i2), sum(i4), sum(i8), sum(n), sum(f4), sum(f8) FROM agg'),
  ('avg(i2), avg(i4), avg(i8), avg(n), avg(f4), avg(f8) FROM agg'),
  ('min(i2), min(i8), min(f4), min(n), min(d), min(t), min(ts), min(tz) FROM agg'),
  ('max(x), max(c) FROM agg'),
  ('max(x COLLATE "C") FROM agg'),
  ('sum(i4 + 1) FROM agg'),
  ('sum(i4) + 1 FROM agg'),
  ('sum(i4) FILTER (WHERE b) FROM agg'),
  ('count(DISTINCT i4) FROM agg'),
  ('sum(f8 ORDER BY i4) FROM agg'),
  ('stddev(f8) FROM agg'),
  ('sum(f8), stddev(f8) FROM agg'),
  ('bool_and(b) FROM agg'),
  ('string_agg(x, '''') FROM agg'),
  ('count(agg) FROM agg'),
  ('count(tableoid) FROM agg'),
  ('count(*) FROM agg WHERE i4 > 0'),
  ('count(*) FROM agg WHERE i4 + 0 > 0'),
  ('count(*) FROM agg WHERE random() < 2'),
  ('count(*) FROM agg WHERE 1 < (SELECT 2)'),
  ('count(*) FROM agg HAVING count(*) > 1'),
  ('count(*) FROM agg HAVING stddev(f8) > 1'),
  ('i4, count(*) FROM agg GROUP BY i4'),
  ('i4 FROM agg GROUP BY i4'),
  ('DISTINCT i4 FROM agg'),
  ('b, x, count(*) FROM agg GROUP BY b, x'),
  ('count(*) FROM agg GROUP BY y, u'),
  ('count(*) FROM agg GROUP BY b, x, d'),
  ('i4 + 1, count(*) FROM agg GROUP BY i4'),
  ('i4 + 1, count(*) FROM agg GROUP BY i4 + 1'),
  ('n, count(*) FROM agg GROUP BY n'),
  ('f8, count(*) FROM agg GROUP BY f8'),
  ('c, count(*) FROM agg GROUP BY c'),
  ('b, count(*) FROM agg GROUP BY ROLLUP (b)'),
  ('generate_series(1, count(*)) FROM agg'),
  ('i4, count(*), sum(count(*)) OVER () FROM agg GROUP BY i4'),
  ('count(*) FROM agg p JOIN agg q ON p.i4 = q.i4'),
  ('count(*) FROM (SELECT i4 FROM agg LIMIT 3) s'),
  ('count(*) FROM (SELECT i4 FROM agg WHERE b) s')) v (q);

-- characters are not compared by any other rules than bytes
SELECT CASE WHEN EXISTS (SELECT FROM pg_collation WHERE collname = 'en-x-icu')
  THEN in_scan('SELECT max(x COLLATE "en-x-icu") FROM agg') ELSE false END AS in_scan;

-- every aggregate over every type, with every kind of restriction and key: on
-- and off agree
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE 'SELECT string_agg(s::text, ''|'' ORDER BY s::text COLLATE "C") FROM (' || query || ') s'
    INTO result;
  RETURN result;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
CREATE FUNCTION differences(OUT compared int, OUT in_scan int, OUT errors int,
                            OUT differing text[]) LANGUAGE plpgsql AS $$
DECLARE
  outputs text;
  tail text;
  query text;
  on_result text;
  off_result text;
BEGIN
  -- sorting changes the order in which a group's rows come
  SET LOCAL enable_sort = off;
  compared := 0;
  in_scan := 0;
  errors := 0;
  FOR outputs, tail IN
    SELECT o, w || coalesce(' GROUP BY ' || k, '') FROM (VALUES
      ('count(*), count(i2), count(f4), count(n), count(b), count(d), count(x), count(u), count(y), '
       'sum(i2), avg(i2), min(i2), max(i2), sum(i4), avg(i4), min(i4), max(i4), '
       'sum(i8), avg(i8), min(i8), max(i8), sum(n), avg(n), min(n), max(n), '
       'avg(f4), min(f4), max(f4), min(f8), max(f8), min(d), max(d), min(t), max(t), '
       'min(ts), max(ts), min(tz), max(tz), min(x), max(x), '
       'min(c), max(c), octet_length(min(c)), octet_length(max(c))'),
      ('sum(f4)'), ('sum(f8), count(*), max(n)'), ('avg(f8), sum(f4), min(i4)')) o (o),
     (VALUES
      (''), ('WHERE i4 IS NULL'), ('WHERE i4 > 0'), ('WHERE n < 1'), ('WHERE n = ''NaN'''),
      ('WHERE f8 = 1e308'), ('WHERE f8 > 0'), ('WHERE f8 < 1e300'), ('WHERE f4 <> 1.5'),
      ('WHERE NOT b'), ('WHERE x > ''a'''), ('WHERE ts = ''2000-01-01 00:00:00.000001'''),
      ('WHERE c = ''a'' AND b'), ('WHERE i4 = 1 AND i2 < 2 AND i8 = 1 AND f4 = 7')) w (w),
     (VALUES (NULL), ('b'), ('i2'), ('x'), ('u, d'), ('tz, y')) k (k)
  LOOP
    query := format('SELECT %s FROM agg %s', outputs, tail);
    SET parparaw.enable_aggregate_pushdown = on;
    IF in_scan(query) THEN in_scan := in_scan + 1; END IF;
    on_result := outcome(query);
    SET parparaw.enable_aggregate_pushdown = off;
    off_result := outcome(query);
    compared := compared + 1;
    IF off_result ~ '^22003 ' THEN errors := errors + 1; END IF;
    IF on_result IS DISTINCT FROM off_result THEN
      differing := differing || format('%s: %s, not %s', query, on_result, off_result);
    END IF;
  END LOOP;
  RESET parparaw.enable_aggregate_pushdown;
END
$$;
SELECT * FROM differences();
SET parparaw.partition_size = '1B';
SELECT * FROM differences();
SET parparaw.partition_size = '300B';
SELECT * FROM differences();
RESET parparaw.partition_size;

-- nothing at all, and nothing but NULL
SELECT count(*), count(a), sum(a), avg(a), sum(f), avg(f), sum(n), avg(n), max(n), min(x)
  FROM nothing;
SELECT a, count(*) FROM nothing GROUP BY a;
CREATE FOREIGN TABLE nulls (a int, f float8, n numeric, x text COLLATE "C")
  SERVER gpu_csv OPTIONS (program $$printf ',,,\n,,,\n'$$);
SELECT count(*), count(a), sum(a), avg(a), sum(f), avg(f), sum(n), avg(n), max(n), min(x)
  FROM nulls;
SELECT a, x, count(*), sum(a), max(x) FROM nulls GROUP BY a, x;

-- of equal values the one that the server keeps; zeros keep their sign
CREATE FOREIGN TABLE ties (n numeric, f float8, r float4, c bpchar COLLATE "C")
  SERVER gpu_csv OPTIONS (program $$printf '1.0,-0,-0,"a "\n1.00,0,0,a\n1,-0,-0,"a  "\n'$$);
SELECT min(n), max(n), min(f), max(f), min(r), max(r), octet_length(min(c)), octet_length(max(c))
  FROM ties;
SELECT sum(f), sum(r) FROM ties WHERE n > 2;
SELECT sum(f), sum(r), avg(f) FROM ties;
CREATE FOREIGN TABLE zeros (f float8, r float4) SERVER gpu_csv
  OPTIONS (program $$printf '%s0,-0\n' - -$$);
SELECT sum(f), sum(r), avg(f), avg(r) FROM zeros;

-- numbers of any size, summed exactly
CREATE FOREIGN TABLE sizes (n numeric, i int8) SERVER gpu_csv OPTIONS (program
  $$printf '%s\n' 1e-30,9223372036854775807 1e30,9223372036854775807 -1e30,-9223372036854775808 99999999999999999999.99,9223372036854775807 -0.010,-1 1e-1000,0$$);
SELECT round(sum(n), 40), scale(sum(n)), sum(i), avg(i) FROM sizes;
SELECT sum(n), sum(i) FROM sizes WHERE n < 0;
SELECT sum(n) FROM sizes WHERE n < -2;
CREATE FOREIGN TABLE large (n numeric) SERVER gpu_csv OPTIONS (program
  $$printf '9e131071\n9e131071\n'$$);
\set VERBOSITY terse
SELECT sum(n) FROM large;       -- ERROR

-- floating point overflows where the server says so, which for an average is
-- not where its sum does
CREATE FOREIGN TABLE overflow (f float8, r float4) SERVER gpu_csv OPTIONS (program
  $$printf '1e308,1e38\n1e308,3e38\n-1e308,1e38\n'$$);
SELECT sum(f) FROM overflow;    -- ERROR
SELECT sum(r) FROM overflow;    -- ERROR
SELECT avg(f) FROM overflow;    -- ERROR
SELECT avg(r) FROM overflow;
SELECT sum(f) FROM overflow WHERE r = 1e38::float4;
SELECT avg(f) FROM overflow WHERE r = 1e38::float4;     -- ERROR
CREATE FOREIGN TABLE infinite (f float8) SERVER gpu_csv OPTIONS (program
  $$printf '1e308\nInfinity\n1e308\n1e308\n'$$);
SELECT sum(f), avg(f) FROM infinite;

-- the first error in the file is the one that is raised, whichever it is
CREATE FOREIGN TABLE errors (a int, f float8, b int) SERVER gpu_csv OPTIONS (program
  $$printf '1,1e308,1\n2,1e308,2\n3,1,x\n4,y,4\n'$$);
\set VERBOSITY default
SELECT count(*) FROM errors;
SELECT sum(a) FROM errors;
SELECT sum(b) FROM errors;              -- ERROR
SELECT count(b), max(f) FROM errors;    -- ERROR
SELECT sum(f), sum(b) FROM errors;      -- ERROR, the sum's
SELECT sum(f) FROM errors WHERE a > 1;  -- ERROR
SELECT a, sum(b) FROM errors GROUP BY a; -- ERROR
CREATE FOREIGN TABLE shape (a int, b int) SERVER gpu_csv OPTIONS (program
  $$printf '1,1\n2\n'$$);
SELECT count(*) FROM shape;             -- ERROR
\set VERBOSITY terse

-- where rows may be skipped, they are the executor's to count
CREATE FOREIGN TABLE skipping (a int, b int) SERVER gpu_csv
  OPTIONS (program $$printf '1,1\nx,2\n'$$, on_error 'ignore');
EXPLAIN (COSTS OFF) SELECT count(*) FROM skipping;
SELECT count(*) FROM skipping;

-- columns of types that only an input function can read
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE FOREIGN TABLE other (j json, p positive, v varchar(3) COLLATE "C") SERVER gpu_csv
  OPTIONS (program $$printf '{},1,abc\n,,\n[],2,abc\n'$$);
SELECT count(j), count(p), min(v), max(v) FROM other;
SELECT v, count(j) FROM other GROUP BY v ORDER BY v;
EXPLAIN (COSTS OFF) SELECT sum(p) FROM other;
SELECT sum(p) FROM other;

-- generated columns are not in the file
ALTER FOREIGN TABLE nulls ADD COLUMN g int GENERATED ALWAYS AS (1) STORED;
EXPLAIN (COSTS OFF) SELECT count(g) FROM nulls;
EXPLAIN (COSTS OFF) SELECT count(*) FROM nulls WHERE g IS NULL;
SELECT count(*), count(g) FROM nulls;
SELECT count(*) FROM nulls WHERE g IS NULL;
SELECT count(*) FROM nulls WHERE a IS NULL AND g = 1;

-- more groups than memory may hold: some records are put aside
CREATE FOREIGN TABLE many (a int, x text) SERVER gpu_csv OPTIONS (program
  $$seq 20000 | sed 's/.*/&,value &\n&,again &/'$$);
CREATE FUNCTION put_aside(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    IF line ~ 'Records' THEN RETURN NEXT regexp_replace(line, 'Aside: [1-9].*', 'Aside: many'); END IF;
  END LOOP;
END
$$;
SELECT put_aside('SELECT a, count(*) FROM many GROUP BY a');
SET work_mem = '64kB';
SELECT put_aside('SELECT a, count(*) FROM many GROUP BY a');
SELECT count(*), sum(a), min(n), max(n), min(lo), max(hi)
  FROM (SELECT a, count(*) n, min(x COLLATE "C") lo, max(x COLLATE "C") hi
          FROM many GROUP BY a) s;
SELECT count(*), min(n), max(n), sum(s) FROM (SELECT x, count(*) n, sum(a) s FROM many GROUP BY x) s;
SELECT count(*) FROM (SELECT a, x, count(*) FROM many GROUP BY a, x LIMIT 30000) s;
BEGIN;
DECLARE c CURSOR FOR SELECT a, count(*) FROM many GROUP BY a;
MOVE FORWARD 100 IN c;
CLOSE c;
COMMIT;
RESET work_mem;

-- rescans, parameters, cached plans
SELECT v, (SELECT count(*) FROM agg WHERE i4 = v) FROM (VALUES (0), (1), (42), (NULL)) v (v);
SELECT * FROM (VALUES (0), (1), (42)) v (v),
  LATERAL (SELECT i2, count(*) FROM agg WHERE i4 = v GROUP BY i2) s ORDER BY v, i2 LIMIT 3;
PREPARE p (int) AS SELECT count(*), sum(i8) FROM agg WHERE i4 = $1;
EXECUTE p (42);
SET plan_cache_mode = force_generic_plan;
EXECUTE p (42);
EXECUTE p (NULL);
RESET plan_cache_mode;
ALTER FOREIGN TABLE agg OPTIONS (ADD on_error 'ignore');
EXECUTE p (42);
ALTER FOREIGN TABLE agg OPTIONS (DROP on_error);
DEALLOCATE p;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT b, count(*) FROM agg GROUP BY b ORDER BY b;
FETCH ALL IN c;
FETCH BACKWARD 2 IN c;
FETCH FIRST IN c;
COMMIT;

-- results may be checked, sorted, joined and combined further
SELECT b, count(*) FROM agg GROUP BY b HAVING sum(i4) > 0 ORDER BY count(*) DESC;
SELECT a.b, a.n = b.n FROM (SELECT b, count(*) n FROM agg GROUP BY b) a
  JOIN (SELECT b, count(*) n FROM agg GROUP BY b) b ON a.b = b.b ORDER BY 1;
SELECT count(*) + 1, sum(i4)::text || 'x', b IS NULL FROM agg GROUP BY b ORDER BY 3, 1;

-- EXPLAIN in all formats
DO $$
DECLARE
  query text = 'SELECT b, count(*), max(x) FROM agg WHERE i4 > 0 GROUP BY b';
  j json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO j;
  RAISE NOTICE '% % %', j->0->'Plan'->'Scan Aggregate', j->0->'Plan'->'Scan Group Key',
    j->0->'Plan'->'Records';
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT XML) ' || query;
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT YAML) ' || query;
END
$$;

-- a restriction does not see rows that a security barrier hides
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM agg WHERE i2 = 1;
SELECT count(*), sum(i4) FROM barrier WHERE n = 0;

-- privileges: on columns, and on aggregates
CREATE ROLE regress_parparaw_agg;
GRANT SELECT (i4) ON agg TO regress_parparaw_agg;
SET ROLE regress_parparaw_agg;
SELECT count(*), max(i4) FROM agg;
SELECT max(i8) FROM agg;                -- ERROR
SELECT count(*) FROM agg WHERE i8 = 1;  -- ERROR
RESET ROLE;
BEGIN;
REVOKE EXECUTE ON FUNCTION max(int4) FROM PUBLIC;
SET LOCAL ROLE regress_parparaw_agg;
SELECT max(i4) FROM agg;                -- ERROR
ROLLBACK;
REVOKE SELECT (i4) ON agg FROM regress_parparaw_agg;
DROP ROLE regress_parparaw_agg;

-- partitions
CREATE TABLE parts (k int, i int, f float8, x text COLLATE "C") PARTITION BY LIST (k);
CREATE FOREIGN TABLE parts_1 PARTITION OF parts FOR VALUES IN (1) SERVER gpu_csv
  OPTIONS (program $$printf '1,10,1.5,a\n1,20,,b\n'$$);
CREATE FOREIGN TABLE parts_2 PARTITION OF parts FOR VALUES IN (2) SERVER gpu_csv
  OPTIONS (program $$printf '2,30,2.5,c\n2,,3.5,\n'$$);
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT k, count(*), sum(f) FROM parts GROUP BY k ORDER BY k;
SELECT k, count(*), sum(f) FROM parts GROUP BY k ORDER BY k;
EXPLAIN (COSTS OFF, VERBOSE) SELECT count(*), sum(i), avg(i), max(x) FROM parts;
SELECT count(*), count(f), sum(i), avg(i), min(x), max(x) FROM parts;
SELECT i > 15, count(*), avg(k) FROM parts GROUP BY 1 ORDER BY 1;
SELECT i, avg(k) FROM parts GROUP BY i ORDER BY i;
EXPLAIN (COSTS OFF) SELECT sum(f) FROM parts;
SELECT sum(f), max(f) FROM parts;
SELECT k, sum(i) FROM parts WHERE i > 10 GROUP BY k ORDER BY k;
RESET enable_partitionwise_aggregate;

-- beside a parallel plan, and below one
CREATE TABLE heap AS SELECT g % 10 AS i FROM generate_series(1, 10000) g;
ALTER TABLE heap SET (parallel_workers = 2);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT (SELECT count(*) FROM agg), count(*) FROM heap;
SELECT count(*), sum(n) FROM heap JOIN (SELECT i4, count(*) n FROM agg GROUP BY i4) s ON i = i4;
SELECT count(*), sum(n) FROM (SELECT count(*) n FROM heap UNION ALL SELECT count(*) FROM agg) s;

-- what one process computes of a file that several share is combined by the
-- executor, if the result does not depend on the order
SET parparaw.partition_size = '1kB';
CREATE FUNCTION in_parallel_scan(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  line text;
  parallel bool = false;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Parallel Foreign Scan' THEN parallel := true; END IF;
    IF parallel AND line ~ 'Scan (Aggregate|Group Key): ' THEN RETURN true; END IF;
  END LOOP;
  RETURN false;
END
$$;
SELECT q, in_parallel_scan('SELECT ' || q), same.same
  FROM (VALUES
    ('count(*), count(f8), sum(i2), sum(i4), avg(i4), min(ts), max(i8), max(x) FROM agg'),
    ('count(*) FROM agg WHERE f8 > 0'),
    ('b, count(*), sum(i4) FROM agg GROUP BY b'),
    ('i4, count(*) FROM agg WHERE n < 1 GROUP BY i4 HAVING count(*) > 1'),
    ('sum(f8) FROM agg WHERE f8 < 1e300'), ('max(n) FROM agg WHERE n > 9999'),
    ('max(f4) FROM agg')) v (q),
  LATERAL (SELECT outcome('SELECT ' || q) = outcome(format('SELECT %s', replace(q, 'FROM agg',
    'FROM (SELECT * FROM agg OFFSET 0) agg'))) AS same) same;
RESET parparaw.partition_size;
DROP FUNCTION in_parallel_scan;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

DROP TABLE heap, parts;
DROP VIEW barrier;
DROP FUNCTION in_scan, outcome, differences, put_aside;
DROP FOREIGN TABLE agg, nothing, nulls, ties, zeros, sizes, large, overflow, infinite, errors,
  shape, skipping, other, many;
DROP DOMAIN positive;
