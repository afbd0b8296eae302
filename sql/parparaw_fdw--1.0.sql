/* sql/parparaw_fdw--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION parparaw_fdw" to load this file. \quit

CREATE FUNCTION parparaw_fdw_handler()
RETURNS fdw_handler
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

COMMENT ON FUNCTION parparaw_fdw_handler()
IS 'callbacks of the foreign-data wrapper parparaw_fdw';

CREATE FUNCTION parparaw_fdw_validator(text[], oid)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

COMMENT ON FUNCTION parparaw_fdw_validator(text[], oid)
IS 'checks the options of objects that use the foreign-data wrapper parparaw_fdw';

CREATE FOREIGN DATA WRAPPER parparaw_fdw
  HANDLER parparaw_fdw_handler
  VALIDATOR parparaw_fdw_validator;

COMMENT ON FOREIGN DATA WRAPPER parparaw_fdw
IS 'scans CSV files and the output of programs';

-- A server has no options of its own, so one is enough.  Nothing is granted
-- on it: who may create foreign tables is the administrator's choice.
CREATE SERVER gpu_csv FOREIGN DATA WRAPPER parparaw_fdw;

COMMENT ON SERVER gpu_csv
IS 'CSV files readable by the database server';
