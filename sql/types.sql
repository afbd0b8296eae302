--
-- Types: those read natively, and all others through their input functions.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;

SET datestyle TO 'ISO, MDY';
SET timezone TO 'Europe/Berlin';
SET extra_float_digits TO 1;

\set file :abs_srcdir '/data/types.csv'
CREATE FOREIGN TABLE types (
  b bool, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, d date,
  t time, ts timestamp, tz timestamptz, u uuid, x text, v varchar(4),
  c char(3), nm name, y bytea)
  SERVER gpu_csv OPTIONS (filename :'file');
\x on
SELECT * FROM types;
\x off
SELECT count(*), count(b), count(n), count(y) FROM types;

-- type modifiers act as in the input functions
CREATE FOREIGN TABLE modified (
  b text, i2 numeric(7, 2), i4 text, i8 text, f4 numeric(4, 1), f8 text,
  n numeric, d text, t time(0), ts timestamp(3), tz text, u text, x varchar,
  v char(6), c varchar(2), nm char, y text)
  SERVER gpu_csv OPTIONS (filename :'file');
SELECT i2, x, '[' || v::text || ']' AS v, c, t FROM modified;
\set SHOW_CONTEXT never
SELECT f4 FROM modified;                -- ERROR, 3.4e38
SELECT nm FROM modified;                -- ERROR, longer than one character
\set SHOW_CONTEXT errors

-- the session's settings decide what text means, as ever
SET timezone TO 'America/New_York';
SELECT tz AT TIME ZONE 'UTC' AS utc FROM types;
SET timezone TO 'UTC';
SELECT tz AT TIME ZONE 'UTC' AS utc FROM types;
RESET timezone;

-- everything else is read by its input function: json, network addresses,
-- arrays, enums, domains, composites, intervals ...
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN positive AS int NOT NULL CHECK (VALUE > 0);
CREATE TYPE pair AS (a int, b text);
\set file :abs_srcdir '/data/other_types.csv'
CREATE FOREIGN TABLE other_types (j jsonb, i inet, a int[], m mood, p positive,
  c pair, v interval)
  SERVER gpu_csv OPTIONS (filename :'file');
SELECT * FROM other_types;
SELECT m, (c).b FROM other_types ORDER BY m;

-- a domain's constraints hold, for NULL as well
ALTER DOMAIN positive ADD CONSTRAINT small CHECK (VALUE < 6) NOT VALID;
SELECT count(*) FROM other_types;
\set SHOW_CONTEXT never
SELECT p FROM other_types;              -- ERROR
ALTER FOREIGN TABLE other_types OPTIONS (ADD null '5');
SELECT p FROM other_types;              -- ERROR
\set SHOW_CONTEXT errors

DROP FOREIGN TABLE types, modified, other_types;
DROP TYPE mood, pair;
DROP DOMAIN positive;
