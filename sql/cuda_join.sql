--
-- Cyclic joins with the cuda backend, as far as it shows without a device and
-- without the device library: settings, plans, errors, the CPU in its place.
--
LOAD 'parparaw_fdw';
SET parparaw.join_cost_factor = 0;
SET parparaw.cuda_library = '/nonexistent/parparaw_cuda.so';
CREATE TEMP TABLE cuda_e (src bigint, dst bigint, w int);
INSERT INTO cuda_e SELECT g % 23, (g * 7 + g / 5) % 29, g % 10 FROM generate_series(1, 400) g;
ANALYZE cuda_e;
CREATE TEMP VIEW cuda_triangles AS
  SELECT a.src, a.dst, b.dst AS last, a.w FROM cuda_e a, cuda_e b, cuda_e c
  WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
CREATE TEMP VIEW cuda_squares AS
  SELECT a.src FROM cuda_e a, cuda_e b, cuda_e c, cuda_e d
  WHERE b.src = a.dst AND c.src = b.dst AND d.src = c.dst AND d.dst = a.src;
CREATE FUNCTION cuda_backend(query text, options text DEFAULT 'COSTS OFF, VERBOSE')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
    CONTINUE WHEN line !~ '(Custom Scan|Backend|Device|Degree|Handed)';
    RETURN NEXT line;
  END LOOP;
END
$$;

-- the setting
SELECT setting, context, enumvals FROM pg_settings WHERE name = 'parparaw.cuda_join_algorithm';
SET parparaw.cuda_join_algorithm = 'pairwise';
SET parparaw.cuda_join_algorithm = '';

-- "auto" does without a library
SELECT cuda_backend('SELECT count(*) FROM cuda_triangles');
SET parparaw.cuda_min_file_size = 0;
SET parparaw.cuda_probe = '';
SELECT cuda_backend('SELECT count(*) FROM cuda_triangles');
SELECT count(*) FROM cuda_triangles;
RESET parparaw.cuda_min_file_size;
RESET parparaw.cuda_probe;

-- plans say what is asked for; which algorithm suits is known when rows are
SET parparaw.backend = 'cuda';
SELECT cuda_backend('SELECT count(*) FROM cuda_triangles');
SELECT cuda_backend('SELECT count(*) FROM cuda_triangles', 'COSTS OFF');
SELECT cuda_backend('SELECT src, count(*) FROM cuda_triangles GROUP BY src');
SET parparaw.cuda_join_algorithm = 'lftj';
SELECT cuda_backend('SELECT * FROM cuda_triangles');
SET parparaw.cuda_join_algorithm = 'optimized';
SELECT cuda_backend('SELECT * FROM cuda_triangles');
-- rows, and what is no clique, are not for this one
SET parparaw.cuda_join_algorithm = 'degree';
SELECT cuda_backend('SELECT count(*) FROM cuda_triangles');
SELECT cuda_backend('SELECT * FROM cuda_triangles');
SELECT cuda_backend('SELECT count(*) FROM cuda_squares');
-- why degree was not what joined is said of a device that has joined
SET parparaw.backend = 'cpu';
SELECT line FROM cuda_backend('SELECT * FROM cuda_triangles', 'ANALYZE, VERBOSE, COSTS OFF') line
  WHERE line ~ '(Backend|Degree)';
SET parparaw.backend = 'cuda';
RESET parparaw.cuda_join_algorithm;

-- running is an error, however much is read or returned
SELECT count(*) FROM cuda_triangles;
SELECT cuda_backend('SELECT count(*) FROM cuda_triangles', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
SELECT src, count(*) FROM cuda_triangles GROUP BY src;
SELECT * FROM cuda_triangles LIMIT 1;
-- but where there is nothing to join
SELECT count(*) FROM cuda_triangles WHERE w > 10;

-- relations that do not fit memory are joined by the CPU
SET work_mem = '64kB';
INSERT INTO cuda_e SELECT g, g + 1, 0 FROM generate_series(1000, 20000) g;
ANALYZE cuda_e;
SELECT count(*) FROM cuda_triangles;
RESET work_mem;

-- a plan that is kept follows the setting
SET plan_cache_mode = 'force_generic_plan';
PREPARE q AS SELECT count(*) FROM cuda_triangles;
EXECUTE q;
SET parparaw.backend = 'cpu';
EXECUTE q;
SELECT cuda_backend('EXECUTE q');
SET parparaw.backend = 'cuda';
SELECT cuda_backend('EXECUTE q');
DEALLOCATE q;

-- within a transaction, savepoints help as after any error
BEGIN;
SAVEPOINT s;
SELECT count(*) FROM cuda_triangles;
ROLLBACK TO s;
SET LOCAL parparaw.backend = 'auto';
SELECT count(*) FROM cuda_triangles;
COMMIT;

DROP FUNCTION cuda_backend;
