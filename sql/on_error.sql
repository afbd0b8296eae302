--
-- on_error 'ignore': records whose values cannot be converted are skipped.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;

\set file :abs_srcdir '/data/skip.csv'
CREATE FOREIGN TABLE skip (a int, b date, c int) SERVER gpu_csv
  OPTIONS (filename :'file', on_error 'ignore');
\set SHOW_CONTEXT never
SELECT * FROM skip;
-- only needed columns are converted
SELECT a FROM skip;
SELECT b FROM skip WHERE b > '2024-01-01';
-- ... but a query that needs none converts all
SELECT count(*) FROM skip;

-- the notice counts the last scan
SELECT sum(a) FROM (VALUES (1), (2)) v (x), LATERAL (SELECT a + x AS a FROM skip OFFSET 0) s;

-- how much is said
ALTER FOREIGN TABLE skip OPTIONS (ADD log_verbosity 'verbose');
SELECT * FROM skip;
ALTER FOREIGN TABLE skip OPTIONS (SET log_verbosity 'silent');
SELECT * FROM skip;
ALTER FOREIGN TABLE skip OPTIONS (SET log_verbosity 'default');

-- how many may be skipped
ALTER FOREIGN TABLE skip OPTIONS (ADD reject_limit '3');
SELECT * FROM skip;
ALTER FOREIGN TABLE skip OPTIONS (SET reject_limit '2');
SELECT * FROM skip;                     -- ERROR
SELECT * FROM skip LIMIT 1;
ALTER FOREIGN TABLE skip OPTIONS (DROP reject_limit);

-- types without native conversion are treated alike
CREATE DOMAIN small AS int CHECK (VALUE < 4);
CREATE FOREIGN TABLE domains (a small, b text, c int[]) SERVER gpu_csv
  OPTIONS (filename :'file', on_error 'ignore');
SELECT a FROM domains;
SELECT b FROM domains;
SELECT * FROM domains;

-- other errors still end the scan
\set file :abs_srcdir '/data/fields_short.csv'
ALTER FOREIGN TABLE skip OPTIONS (SET filename :'file');
SELECT a FROM skip;                     -- ERROR
-- unless the record is skipped before they are seen
ALTER FOREIGN TABLE domains ALTER a TYPE inet;
ALTER FOREIGN TABLE domains OPTIONS (SET filename :'file');
SELECT a FROM domains;

DROP FOREIGN TABLE skip, domains;
DROP DOMAIN small;
