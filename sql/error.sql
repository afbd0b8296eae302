--
-- Errors: what is wrong with which record, in COPY's words.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;

-- the context names the table, the file, the line, the column and the value
CREATE FOREIGN TABLE context (a int, b text, c text) SERVER gpu_csv
  OPTIONS (program $$printf '1,a,x\n2,"b\nb",y\nthree,c,z\n'$$);
SELECT * FROM context;                  -- ERROR
-- rows before the error are there for those who need no more
SELECT * FROM context LIMIT 2;
-- columns that a query does not need are not converted
SELECT b, c FROM context;
SELECT count(*) FROM context;
ALTER FOREIGN TABLE context OPTIONS (SET program $$printf '1,a,x\n2,b\n'$$);
SELECT * FROM context;                  -- ERROR
-- ... but every record's fields are counted
SELECT count(*) FROM context;           -- ERROR

-- where the other files stand is not for a test to show
\set SHOW_CONTEXT never
\set file :abs_srcdir '/data/fields_short.csv'
CREATE FOREIGN TABLE bad (a int, b text, c text) SERVER gpu_csv OPTIONS (filename :'file');
SELECT * FROM bad;                      -- ERROR
SELECT * FROM bad LIMIT 1;

\set file :abs_srcdir '/data/fields_long.csv'
ALTER FOREIGN TABLE bad OPTIONS (SET filename :'file');
SELECT * FROM bad;                      -- ERROR

\set file :abs_srcdir '/data/unterminated.csv'
ALTER FOREIGN TABLE bad OPTIONS (SET filename :'file');
SELECT * FROM bad;                      -- ERROR
SELECT a FROM bad LIMIT 1;

\set file :abs_srcdir '/data/bad_cr.csv'
ALTER FOREIGN TABLE bad OPTIONS (SET filename :'file');
SELECT * FROM bad;                      -- ERROR

\set file :abs_srcdir '/data/bad_nl.csv'
ALTER FOREIGN TABLE bad OPTIONS (SET filename :'file');
SELECT * FROM bad;                      -- ERROR

\set file :abs_srcdir '/data/bad_value.csv'
ALTER FOREIGN TABLE bad OPTIONS (SET filename :'file');
SELECT * FROM bad;                      -- ERROR
SELECT a FROM bad LIMIT 2;

\set file :abs_srcdir '/data/bad_utf8.csv'
ALTER FOREIGN TABLE bad OPTIONS (SET filename :'file');
SELECT * FROM bad;                      -- ERROR
SELECT count(*) FROM bad;               -- ERROR
SELECT count(*) FROM (SELECT 1 FROM bad LIMIT 2) s;

\set file :abs_srcdir '/data/bad_nul.csv'
ALTER FOREIGN TABLE bad OPTIONS (SET filename :'file');
SELECT * FROM bad;                      -- ERROR

-- files that cannot be read; a plan can be had nevertheless
ALTER FOREIGN TABLE bad OPTIONS (SET filename '/nonexistent/file.csv');
SELECT * FROM bad;                      -- ERROR
EXPLAIN (COSTS OFF) SELECT * FROM bad;
ALTER FOREIGN TABLE bad OPTIONS (SET filename '/tmp');
SELECT * FROM bad;                      -- ERROR

-- a table without columns has empty records only
CREATE FOREIGN TABLE nothing () SERVER gpu_csv OPTIONS (program $$printf '\n\n'$$);
SELECT count(*) FROM nothing;
ALTER FOREIGN TABLE nothing OPTIONS (SET program $$printf '\n1\n'$$);
SELECT count(*) FROM nothing;           -- ERROR

-- nothing can be written
INSERT INTO bad VALUES (1, 'a', 'b');   -- ERROR
UPDATE bad SET a = 1;                   -- ERROR
DELETE FROM bad;                        -- ERROR

DROP FOREIGN TABLE context, bad, nothing;
