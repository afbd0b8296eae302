--
-- Restrictions that a scan evaluates itself: the same rows as if the executor
-- did, whatever the type, the operator and the constant.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;
SET timezone TO 'UTC';
SET datestyle TO 'ISO';

\set file :abs_srcdir '/data/filter.csv'
CREATE FOREIGN TABLE filter (
  i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, b bool, d date,
  ts timestamp, tz timestamptz, t time, u uuid, x text COLLATE "C", c char(3) COLLATE "C",
  y bytea)
  SERVER gpu_csv OPTIONS (filename :'file', header 'true', encoding 'utf8');

-- which restrictions are evaluated in the scan, and which are not
CREATE FUNCTION in_scan(condition text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT * FROM filter WHERE ' || condition LOOP
    IF line ~ 'Scan Filter: ' THEN RETURN true; END IF;
  END LOOP;
  RETURN false;
END
$$;
SELECT condition, in_scan(condition) FROM (VALUES
  ('i4 = 1'), ('1 < i4'), ('i4 <> 1'), ('i4 = 1::bigint'), ('i4 IS NULL'),
  ('b'), ('NOT b'), ('b IS TRUE'), ('b IS NOT TRUE'),
  ('d < ''2024-01-01''::timestamp'), ('d < now()'), ('ts > now()::timestamp'),
  ('tz > now()'), ('x = ''a'''), ('x < ''a'''), ('x LIKE ''a%'''), ('x LIKE ''%a'''),
  ('x COLLATE "default" LIKE ''a_%'''), ('x COLLATE "C" = ''a'''), ('c = ''a'''),
  ('n > 1.5'), ('n > 1.5::float8'), ('i4 + 1 = 2'), ('i4 = i8'), ('i4 = 1 OR i4 = 2'),
  ('i4 = (random() * 0)::int'), ('x ~ ''a''')) v (condition);

-- every operator, every type, every constant: on and off agree
CREATE FUNCTION differences(OUT compared int, OUT in_scan int, OUT differing text[])
LANGUAGE plpgsql AS $$
DECLARE
  col record;
  op text;
  val text;
  condition text;
  on_rows text;
  off_rows text;
BEGIN
  compared := 0;
  in_scan := 0;
  FOR col IN
    SELECT * FROM (VALUES
      ('i2', '{int2,int4,int8}', '{0,1,-1,32767,-32768}'),
      ('i4', '{int4,int2,int8}', '{0,1,-1,42,32767}'),
      ('i4', '{int8}', '{2147483648,-2147483649}'),
      ('i8', '{int8,int4}', '{0,1,-1,42,2147483647}'),
      ('i8', '{int8}', '{9223372036854775807,-9223372036854775808}'),
      ('f4', '{float4,float8}', '{0,-0,1.5,0.1,NaN,Infinity,-Infinity,1e-30}'),
      ('f8', '{float4,float8}', '{0,-0,1.5,0.1,NaN,Infinity,-Infinity}'),
      ('f8', '{float8}', '{1e-300,1e308}'),
      ('n', '{numeric}', '{0,1.5,1.500,-1.5,-0.0001,10000,9999.9999,123456789012345678901234567890,NaN}'),
      ('b', '{bool}', '{t,f}'),
      ('d', '{date,timestamp}', '{2024-02-29,1999-12-31,2000-01-01,infinity,-infinity}'),
      ('ts', '{timestamp,date}', '{2024-02-29,2000-01-01,infinity,-infinity}'),
      ('ts', '{timestamp}', '{2024-02-29 12:00:00,2000-01-01 00:00:00.000001}'),
      ('ts', '{date}', '{5874897-12-31,4714-11-24 BC}'),
      ('tz', '{timestamptz}', '{2024-02-29 12:00:00+00,1999-12-31 23:59:59+00,infinity}'),
      ('t', '{time}', '{00:00:00,12:34:56.789,24:00:00}'),
      ('u', '{uuid}', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,00000000-0000-0000-0000-000000000000}'),
      ('x', '{text}', '{"",a,ab,B,"a ","a,b","é"}'),
      ('c', '{bpchar}', '{"",a,"a  ",ab,B}'),
      ('y', '{bytea}', '{"\\x","\\x00","\\x00ff","\\x616263"}')) v (name, types, vals)
  LOOP
    FOR condition IN
      SELECT format('%s %s %L::%s', col.name, o, v, t)
        FROM unnest(col.types::text[]) t, unnest(col.vals::text[]) v,
             unnest('{=,<>,<,<=,>,>=}'::text[]) o
      UNION ALL SELECT format('%L::%s %s %s', v, t, o, col.name)
        FROM unnest(col.types::text[]) t, unnest(col.vals::text[]) v,
             unnest('{=,<}'::text[]) o
      UNION ALL SELECT col.name || ' IS NULL'
      UNION ALL SELECT col.name || ' IS NOT NULL'
      UNION ALL SELECT col.name || ' = NULL::' || (col.types::text[])[1]
    LOOP
      SET parparaw.enable_filter_pushdown = on;
      EXECUTE 'SELECT count(*) || md5(coalesce(string_agg(f::text, ''|''), '''')) FROM filter f WHERE '
        || condition INTO on_rows;
      IF in_scan(condition) THEN in_scan := in_scan + 1; END IF;
      SET parparaw.enable_filter_pushdown = off;
      EXECUTE 'SELECT count(*) || md5(coalesce(string_agg(f::text, ''|''), '''')) FROM filter f WHERE '
        || condition INTO off_rows;
      compared := compared + 1;
      IF on_rows <> off_rows THEN differing := differing || condition; END IF;
    END LOOP;
  END LOOP;
  RESET parparaw.enable_filter_pushdown;
END
$$;
SELECT * FROM differences();
SET parparaw.partition_size = '100B';
SELECT * FROM differences();
RESET parparaw.partition_size;

-- a prefix is compared by bytes
SELECT count(*) FROM filter WHERE x LIKE 'a%';
SELECT count(*) FROM filter WHERE x LIKE '%' AND x LIKE 'é%';

-- constants may come with the execution, and change between rescans
PREPARE p (int, text) AS SELECT count(*) FROM filter WHERE i4 = $1 AND x >= $2;
EXECUTE p (42, 'a');
SET plan_cache_mode = force_generic_plan;
EXECUTE p (42, 'a');
EXECUTE p (NULL, 'a');
RESET plan_cache_mode;
DEALLOCATE p;
SELECT v, (SELECT count(*) FROM filter WHERE i4 = v) FROM (VALUES (0), (1), (42), (NULL)) v (v);

-- a record that a filter removes is not converted any further, so what is
-- wrong with its other values goes unnoticed; not so with the switch off
CREATE FOREIGN TABLE wrong (a int, b int) SERVER gpu_csv
  OPTIONS (program $$printf '1,one\n2,2\n'$$);
SELECT * FROM wrong WHERE a = 2;
\set SHOW_CONTEXT never
SET parparaw.enable_filter_pushdown = off;
SELECT * FROM wrong WHERE a = 2;        -- ERROR
RESET parparaw.enable_filter_pushdown;
SELECT * FROM wrong WHERE a = 1;        -- ERROR
-- where rows may be skipped, all that is needed is converted first
ALTER FOREIGN TABLE wrong OPTIONS (ADD on_error 'ignore');
SELECT * FROM wrong WHERE a = 2;
EXPLAIN (COSTS OFF) SELECT * FROM wrong WHERE a = 2;
\set SHOW_CONTEXT errors

-- how many rows the scan removed
CREATE FUNCTION removed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    IF line ~ '(Filter|Removed)' THEN RETURN NEXT line; END IF;
  END LOOP;
END
$$;
SELECT removed('SELECT * FROM filter WHERE i2 = 1 AND x ~ ''a''');
SELECT removed('SELECT * FROM filter f WHERE f.i2 = 1');
-- among them those whose values only the input function could read
CREATE FOREIGN TABLE spaces (a int) SERVER gpu_csv
  OPTIONS (program $$printf '1\n 1\n 2\n2\n'$$);
SELECT removed('SELECT count(*) FROM spaces WHERE a = 2');
SELECT removed('SELECT * FROM spaces WHERE a = 2');
DROP FOREIGN TABLE spaces;
-- with a constant that another node of the plan provides
SELECT count(*) > 0 AS shown
  FROM removed('SELECT * FROM filter a, LATERAL (SELECT * FROM filter b WHERE b.i4 = a.i4 LIMIT 1) c');

-- a restriction does not see rows that a security barrier hides, unless it
-- cannot tell of them
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM filter WHERE i2 = 1;
SELECT removed('SELECT i4 FROM barrier WHERE i4 = 1');
SELECT removed('SELECT i4 FROM barrier WHERE n = 1');

DROP VIEW barrier;
DROP FUNCTION in_scan, differences, removed;
DROP FOREIGN TABLE filter, wrong;
