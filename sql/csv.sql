--
-- CSV as COPY understands it: quotes, escapes, NULL markers, line ends.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;

-- a header, quoted delimiters, quotes and line ends; quotes in mid-field
-- toggle quoting and are dropped; "" is an empty string where nothing is NULL
\set file :abs_srcdir '/data/csv.csv'
CREATE FOREIGN TABLE csv (id int, name text, note text)
  SERVER gpu_csv OPTIONS (filename :'file', header 'true');
SELECT * FROM csv;
SELECT id, note IS NULL AS "null", note = '' AS empty FROM csv WHERE id > 5;
SELECT count(*) FROM csv;

-- where partitions and chunks are cut never matters
SET parparaw.partition_size = '1B';
SELECT * FROM csv;
SET parparaw.partition_size = '7B';
SET parparaw.chunk_size = '3B';
SELECT md5(string_agg(csv::text, '|')) FROM csv;
RESET parparaw.partition_size;
RESET parparaw.chunk_size;
SELECT md5(string_agg(csv::text, '|')) FROM csv;

-- the header can be checked
ALTER FOREIGN TABLE csv OPTIONS (SET header 'match');
SELECT count(*) FROM csv;
ALTER FOREIGN TABLE csv RENAME COLUMN note TO remark;
\set SHOW_CONTEXT never
SELECT count(*) FROM csv;               -- ERROR
\set SHOW_CONTEXT errors

-- another dialect: the escape acts inside quotes only, and the NULL marker
-- only unquoted
\set file :abs_srcdir '/data/dialect.txt'
CREATE FOREIGN TABLE dialect (a int, b text, c text) SERVER gpu_csv
  OPTIONS (filename :'file', delimiter ';', quote '''', escape E'\\', null '-');
SELECT a, b, c IS NULL AS "c is null" FROM dialect;

-- force_null makes a quoted marker NULL too, force_not_null makes an unquoted
-- one a string
ALTER FOREIGN TABLE dialect ALTER b OPTIONS (force_null 'true');
ALTER FOREIGN TABLE dialect ALTER c OPTIONS (force_not_null 'true');
SELECT a, b, b IS NULL AS "b is null", c FROM dialect WHERE a IN (1, 4);

-- the first line end decides what a line end is: LF, CRLF or CR
\set file :abs_srcdir '/data/crlf.csv'
CREATE FOREIGN TABLE eol (a text, b text) SERVER gpu_csv OPTIONS (filename :'file');
SELECT a, replace(replace(b, E'\r', '<CR>'), E'\n', '<LF>') AS b FROM eol;
\set file :abs_srcdir '/data/cr.csv'
ALTER FOREIGN TABLE eol OPTIONS (SET filename :'file');
SELECT a, replace(b, E'\r', '<CR>') AS b FROM eol;

-- the last line may lack one
\set file :abs_srcdir '/data/no_final_newline.csv'
ALTER FOREIGN TABLE eol OPTIONS (SET filename :'file');
SELECT * FROM eol;

-- a byte order mark is data, as in COPY
\set file :abs_srcdir '/data/bom.csv'
ALTER FOREIGN TABLE eol OPTIONS (SET filename :'file');
SELECT length(a), ascii(a) FROM eol;

-- an empty line is a record with one empty field
\set file :abs_srcdir '/data/one_column.csv'
CREATE FOREIGN TABLE one_column (a int) SERVER gpu_csv OPTIONS (filename :'file');
SELECT * FROM one_column;

-- an empty file has no records
CREATE FOREIGN TABLE empty (a int, b text) SERVER gpu_csv OPTIONS (filename '/dev/null');
SELECT * FROM empty;
ALTER FOREIGN TABLE empty OPTIONS (ADD header 'true');
SELECT count(*) FROM empty;

-- "\." on a line of its own ends the data where it does so in COPY: up to
-- PostgreSQL 17
CREATE FOREIGN TABLE marker (a text) SERVER gpu_csv
  OPTIONS (program $$printf '1\n\\.\n2\n'$$);
SELECT count(*) = CASE WHEN current_setting('server_version_num')::int < 180000
                       THEN 1 ELSE 3 END AS as_in_copy FROM marker;

DROP FOREIGN TABLE csv, dialect, eol, one_column, empty, marker;
