--
-- The cuda backend, as far as it shows without a device and without the
-- device library: settings, plans, errors.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;

\set file :abs_srcdir '/data/parallel.csv'
CREATE FOREIGN TABLE cuda_t (id int, word text, note text, code text) SERVER gpu_csv
  OPTIONS (filename :'file', header 'match');

-- paths differ from machine to machine
CREATE FUNCTION cuda_explain(query text, options text DEFAULT 'COSTS OFF, VERBOSE')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
    CONTINUE WHEN line ~ '^ *Foreign File';
    RETURN NEXT line;
  END LOOP;
END
$$;

-- settings, their defaults and who may change them
SELECT name, setting, unit, context, vartype, enumvals, min_val, max_val
  FROM pg_settings WHERE name LIKE 'parparaw.cuda%' OR name = 'parparaw.backend'
  ORDER BY name;
SET parparaw.backend = 'gpu';
SET parparaw.cuda_pipeline = 'other';
SET parparaw.cuda_library = '';
SET parparaw.cuda_library = 'folder/parparaw_cuda';
SET parparaw.cuda_max_backends = 1;
SET parparaw.cuda_max_memory = '1GB';
CREATE ROLE regress_parparaw_cuda;
SET ROLE regress_parparaw_cuda;
SET parparaw.backend = 'cpu';
SET parparaw.cuda_partition_size = '1MB';
SET parparaw.cuda_library = '/nonexistent/other.so';
SET parparaw.cuda_device = 1;
SET parparaw.cuda_probe = '';
RESET ROLE;
DROP ROLE regress_parparaw_cuda;
RESET parparaw.cuda_partition_size;
RESET parparaw.backend;

-- from here on there is no library; planning does not mind
SET parparaw.cuda_library = '/nonexistent/parparaw_cuda.so';
SELECT cuda_explain('SELECT count(*) FROM cuda_t');
SET parparaw.backend = 'cuda';
SELECT cuda_explain('SELECT count(*) FROM cuda_t');
SELECT cuda_explain('SELECT id FROM cuda_t WHERE id < 10', 'VERBOSE, FORMAT json')::json #>> '{0,Plan,Backend}' AS backend;
SELECT cuda_explain('SELECT id FROM cuda_t', 'COSTS OFF');
SET parparaw.cuda_pipeline = 'paper';
SELECT cuda_explain('SELECT count(*) FROM cuda_t');
RESET parparaw.cuda_pipeline;

-- running does: there is no way back to the CPU
SELECT count(*) FROM cuda_t;
SELECT * FROM cuda_t WHERE id = 1;
SELECT cuda_explain('SELECT count(*) FROM cuda_t', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM cuda_t;
FETCH c;
ROLLBACK;
SET parparaw.cuda_library = '/nonexistent/parparaw_cuda';
SELECT count(*) FROM cuda_t;

-- a file that is not a library, and a library that is another
\set VERBOSITY sqlstate
SELECT set_config('parparaw.cuda_library', :'abs_srcdir' || '/data/parallel.csv', false) <> '' AS set;
SELECT count(*) FROM cuda_t;
SET parparaw.cuda_library = '$libdir/plpgsql';
SELECT count(*) FROM cuda_t;
\set VERBOSITY default
SET parparaw.cuda_library = '/nonexistent/parparaw_cuda.so';

-- a device serves one process, so nothing is shared
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT cuda_explain('SELECT count(*) FROM cuda_t');
SELECT cuda_explain('SELECT * FROM cuda_t ORDER BY id');
SET parparaw.backend = 'cpu';
SELECT cuda_explain('SELECT count(*) FROM cuda_t');

-- plans that are kept follow the setting
SET plan_cache_mode = 'force_generic_plan';
PREPARE q AS SELECT count(*) FROM cuda_t;
EXECUTE q;
SELECT cuda_explain('EXECUTE q');
SET parparaw.backend = 'cuda';
SELECT cuda_explain('EXECUTE q');
EXECUTE q;
SET parparaw.backend = 'auto';
SELECT cuda_explain('EXECUTE q', 'COSTS OFF');
EXECUTE q;
DEALLOCATE q;
RESET plan_cache_mode;
SET max_parallel_workers_per_gather = 0;

-- "auto" does without a library, whatever the size of the file, and with one
-- that cannot be used
SET parparaw.cuda_min_file_size = 0;
SET parparaw.cuda_probe = '';
SELECT cuda_explain('SELECT id FROM cuda_t');
SELECT count(*), sum(id) FROM cuda_t;
SELECT set_config('parparaw.cuda_library', :'abs_srcdir' || '/data/parallel.csv', false) <> '' AS set;
SELECT cuda_explain('SELECT id FROM cuda_t');
SELECT count(*), sum(id) FROM cuda_t;
SELECT cuda_explain('SELECT id FROM cuda_t');

-- ANALYZE reads on the CPU
SET parparaw.backend = 'cuda';
ANALYZE cuda_t;
SELECT reltuples FROM pg_class WHERE oid = 'cuda_t'::regclass;

RESET ALL;
DROP FUNCTION cuda_explain;
DROP FOREIGN TABLE cuda_t;
