--
-- Encodings: what is not valid in the server's encoding does not get in.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;

-- the file's encoding is an option, the client's encoding the default
\set file :abs_srcdir '/data/latin1.csv'
CREATE FOREIGN TABLE latin1 (a int, b text) SERVER gpu_csv
  OPTIONS (filename :'file', encoding 'latin1');
SELECT a, encode(convert_to(b, 'UTF8'), 'hex') AS b FROM latin1;
SET parparaw.partition_size = '1B';
SELECT a, encode(convert_to(b, 'UTF8'), 'hex') AS b FROM latin1;
RESET parparaw.partition_size;
ALTER FOREIGN TABLE latin1 OPTIONS (DROP encoding);
SET client_encoding TO 'latin1';
SELECT a, encode(convert_to(b, 'UTF8'), 'hex') AS b FROM latin1;
SET client_encoding TO 'utf8';
\set SHOW_CONTEXT never
SELECT * FROM latin1;                   -- ERROR

-- characters whose last byte is ASCII, a backslash for example, are
-- transcoded before anything else looks at them
\set file :abs_srcdir '/data/sjis.csv'
CREATE FOREIGN TABLE sjis (a int, b text) SERVER gpu_csv
  OPTIONS (filename :'file', encoding 'sjis', escape E'\\');
SELECT a, encode(convert_to(b, 'UTF8'), 'hex') AS b FROM sjis;
SET parparaw.partition_size = '3B';
SELECT a, encode(convert_to(b, 'UTF8'), 'hex') AS b FROM sjis;
RESET parparaw.partition_size;

-- bytes that are invalid in the file's encoding
\set file :abs_srcdir '/data/latin1.csv'
ALTER FOREIGN TABLE sjis OPTIONS (SET filename :'file');
SELECT * FROM sjis;                     -- ERROR

-- a file of no known encoding may still not bring in invalid bytes
ALTER FOREIGN TABLE latin1 OPTIONS (ADD encoding 'sql_ascii');
SELECT * FROM latin1;                   -- ERROR

DROP FOREIGN TABLE latin1, sjis;
