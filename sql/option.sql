--
-- Options of foreign tables and columns: what is valid, what is not, who may
-- set which, and what the catalogs hold.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
\set filename :abs_srcdir '/data/option.csv'

-- clean up in case a prior run failed
SET client_min_messages TO 'warning';
DROP ROLE IF EXISTS regress_parparaw_user, regress_parparaw_noinherit;
RESET client_min_messages;

-- the extension brings the wrapper and one server, on which nobody has
-- privileges but its owner
CREATE EXTENSION parparaw_fdw;
SELECT fdwname, fdwhandler::regproc, fdwvalidator::regproc, fdwacl, fdwoptions
  FROM pg_foreign_data_wrapper WHERE fdwname = 'parparaw_fdw';
SELECT srvname, fdwname, srvtype, srvversion, srvacl, srvoptions
  FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = srvfdw
  WHERE srvname = 'gpu_csv';
SELECT pg_describe_object(classid, objid, 0) AS member
  FROM pg_depend
  WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
    AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'parparaw_fdw')
  ORDER BY 1;

-- settings: sizes take units, the prefix is reserved
SET parparaw.partition_size = '64B';
SHOW parparaw.partition_size;
SET parparaw.partition_size = 1;
SHOW parparaw.partition_size;
SET parparaw.partition_size = '1GB';
SHOW parparaw.partition_size;
SHOW parparaw.chunk_size;
SET parparaw.chunk_size = '4kB';
SHOW parparaw.chunk_size;
SET parparaw.no_such_setting = 1;      -- ERROR
\set VERBOSITY sqlstate
SET parparaw.partition_size = 0;       -- ERROR
SET parparaw.partition_size = '2GB';   -- ERROR
SET parparaw.chunk_size = -1;          -- ERROR
\set VERBOSITY default
RESET parparaw.partition_size;
RESET parparaw.chunk_size;

--
-- Names
--

-- unknown names are refused, with the closest valid name for a hint
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv OPTIONS (filenam 'x');         -- ERROR
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv OPTIONS (delimeter ';');       -- ERROR
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv OPTIONS (reject_limits '1');   -- ERROR
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv OPTIONS ("FileName" 'x');      -- ERROR
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv OPTIONS (url 'x');             -- ERROR
CREATE FOREIGN TABLE t (a int OPTIONS (forcenull 'true')) SERVER gpu_csv
  OPTIONS (filename 'x');                                                    -- ERROR

-- options of tables are not valid for columns, and the other way round
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv
  OPTIONS (filename 'x', force_null 'true');                                 -- ERROR
CREATE FOREIGN TABLE t (a int OPTIONS (delimiter ',')) SERVER gpu_csv
  OPTIONS (filename 'x');                                                    -- ERROR

-- COPY's options that make no sense for reading are unknown
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv
  OPTIONS (filename 'x', force_quote 'a');                                   -- ERROR
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv
  OPTIONS (filename 'x', freeze 'true');                                     -- ERROR

-- wrappers, servers and user mappings take no options
ALTER FOREIGN DATA WRAPPER parparaw_fdw OPTIONS (ADD filename 'x');          -- ERROR
ALTER SERVER gpu_csv OPTIONS (ADD format 'csv');                             -- ERROR
CREATE SERVER other FOREIGN DATA WRAPPER parparaw_fdw
  OPTIONS (filename 'x');                                                    -- ERROR
CREATE USER MAPPING FOR public SERVER gpu_csv OPTIONS (force_null 'true');   -- ERROR

--
-- Values
--

-- either a file or a program, and only one of them
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv;                               -- ERROR
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv OPTIONS (header 'true');       -- ERROR
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv
  OPTIONS (filename 'x', program 'y');                                       -- ERROR
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv
  OPTIONS (program 'y', filename 'x');                                       -- ERROR
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv
  OPTIONS (filename 'x', filename 'y');                                      -- ERROR

-- only one format, and it is the default
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv
  OPTIONS (filename 'x', format 'text');                                     -- ERROR
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv
  OPTIONS (filename 'x', format 'binary');                                   -- ERROR
CREATE FOREIGN TABLE t (a int) SERVER gpu_csv
  OPTIONS (filename 'x', format 'xml');                                      -- ERROR

-- What happens to a table with these options (and a file name)?
CREATE FUNCTION outcome(options text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
  state text;
  message text;
BEGIN
  EXECUTE format('CREATE FOREIGN TABLE try (a int) SERVER gpu_csv
                  OPTIONS (filename ''x'', %s)', options);
  DROP FOREIGN TABLE try;
  RETURN 'valid';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
  RETURN state || ': ' || message;
END
$$;

SELECT options, outcome(options) FROM unnest(ARRAY[
    $$format 'csv'$$,
    $$header 'true'$$, $$header 'FALSE'$$, $$header 'on'$$, $$header 'match'$$,
    $$delimiter ';'$$, $$delimiter '|'$$, $$delimiter E'\t'$$,
    $$delimiter ''$$, $$delimiter '::'$$, $$delimiter E'\n'$$,
    $$delimiter '"'$$, $$delimiter 'a', quote 'a'$$,
    $$quote ''''$$, $$quote ''$$, $$quote '""'$$,
    $$escape '\'$$, $$escape ''$$, $$escape '\\'$$,
    $$null 'NULL'$$, $$null ''$$, $$null E'a\nb'$$, $$null E'\r'$$,
    $$encoding 'latin1'$$, $$encoding 'UTF8'$$, $$encoding 'no such'$$
  ]) AS options;

-- accepted or not; the words and codes are the server's and vary
SELECT options, outcome(options) = 'valid' AS valid FROM unnest(ARRAY[
    $$header 'maybe'$$, $$header '-1'$$,
    $$null 'a,b'$$, $$null 'a"b'$$, $$null '|', delimiter '|'$$, $$null '''', quote ''''$$
  ]) AS options;

-- DEFAULT came to COPY with PostgreSQL 16
SELECT (outcome($$default '\D'$$) = 'valid') =
       (current_setting('server_version_num')::int >= 160000) AS as_in_copy;

-- bad input of single values may be left out, on every major
SELECT options, outcome(options) FROM unnest(ARRAY[
    $$on_error 'stop'$$, $$on_error 'ignore'$$, $$on_error 'IGNORE'$$,
    $$on_error 'set_null'$$, $$on_error ''$$,
    $$on_error 'ignore', reject_limit '1'$$,
    $$on_error 'ignore', reject_limit '9223372036854775807'$$,
    $$on_error 'ignore', reject_limit '9223372036854775808'$$,
    $$on_error 'ignore', reject_limit '0'$$,
    $$on_error 'ignore', reject_limit '-3'$$,
    $$on_error 'ignore', reject_limit 'ten'$$,
    $$on_error 'stop', reject_limit '1'$$, $$reject_limit '1'$$,
    $$log_verbosity 'silent'$$, $$log_verbosity 'default'$$,
    $$log_verbosity 'VERBOSE'$$, $$log_verbosity 'loud'$$
  ]) AS options;

--
-- Columns
--
CREATE FOREIGN TABLE t (
  a text OPTIONS (force_not_null 'true'),
  b text OPTIONS (force_null 'on'),
  c text OPTIONS (force_not_null 'TRUE', force_null 'off')
) SERVER gpu_csv OPTIONS (filename 'x');
SELECT attname, attfdwoptions FROM pg_attribute
  WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum;
ALTER FOREIGN TABLE t ALTER COLUMN a OPTIONS (SET force_not_null 'maybe');   -- ERROR
ALTER FOREIGN TABLE t ALTER COLUMN a OPTIONS (ADD force_null '2');           -- ERROR
ALTER FOREIGN TABLE t ALTER COLUMN a OPTIONS (ADD force_nul 'true');         -- ERROR
ALTER FOREIGN TABLE t ALTER COLUMN a OPTIONS (DROP force_not_null, ADD force_null 'off');
ALTER FOREIGN TABLE t ALTER COLUMN b OPTIONS (SET force_null 'false');
SELECT attname, attfdwoptions FROM pg_attribute
  WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum;

--
-- Changing options: the whole set is checked again
--
ALTER FOREIGN TABLE t OPTIONS (ADD delimiter ';', ADD header 'true', ADD on_error 'ignore');
ALTER FOREIGN TABLE t OPTIONS (ADD reject_limit '5');
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 't'::regclass;
ALTER FOREIGN TABLE t OPTIONS (DROP on_error);                               -- ERROR
ALTER FOREIGN TABLE t OPTIONS (ADD quote ';');                               -- ERROR
ALTER FOREIGN TABLE t OPTIONS (SET format 'csv');                            -- ERROR
ALTER FOREIGN TABLE t OPTIONS (ADD format 'text');                           -- ERROR
ALTER FOREIGN TABLE t OPTIONS (DROP filename);                               -- ERROR
ALTER FOREIGN TABLE t OPTIONS (ADD program 'y');                             -- ERROR
ALTER FOREIGN TABLE t OPTIONS (DROP filename, ADD program 'y');
ALTER FOREIGN TABLE t OPTIONS (DROP on_error, DROP reject_limit);
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 't'::regclass;
DROP FOREIGN TABLE t;

-- a wrapper of one's own without the validator: a scan checks the same
CREATE FOREIGN DATA WRAPPER unchecked HANDLER parparaw_fdw_handler NO VALIDATOR;
CREATE SERVER unchecked FOREIGN DATA WRAPPER unchecked;
CREATE FOREIGN TABLE t (a int) SERVER unchecked;
SELECT * FROM t;                                                             -- ERROR
ALTER FOREIGN TABLE t OPTIONS (ADD filename 'x', ADD delimiter '::');
SELECT * FROM t;                                                             -- ERROR
ALTER FOREIGN TABLE t OPTIONS (SET delimiter ':', ADD format 'text');
SELECT * FROM t;                                                             -- ERROR
DROP FOREIGN DATA WRAPPER unchecked CASCADE;

--
-- Privileges
--
CREATE ROLE regress_parparaw_user;
CREATE ROLE regress_parparaw_noinherit NOINHERIT;
CREATE SCHEMA files;
GRANT ALL ON SCHEMA files TO regress_parparaw_user, regress_parparaw_noinherit;
SET search_path = files, public;

-- without USAGE on the server there are no foreign tables
SET ROLE regress_parparaw_user;
CREATE FOREIGN TABLE mine (id int, name text) SERVER gpu_csv
  OPTIONS (filename :'filename', header 'true');                             -- ERROR
RESET ROLE;
GRANT USAGE ON FOREIGN SERVER gpu_csv TO regress_parparaw_user, regress_parparaw_noinherit;

-- naming files and programs takes the privileges that COPY asks for
SET ROLE regress_parparaw_user;
CREATE FOREIGN TABLE mine (id int, name text) SERVER gpu_csv
  OPTIONS (filename :'filename', header 'true');                             -- ERROR
CREATE FOREIGN TABLE mine (id int, name text) SERVER gpu_csv
  OPTIONS (program 'echo 1,one');                                            -- ERROR
RESET ROLE;
GRANT pg_read_server_files TO regress_parparaw_user, regress_parparaw_noinherit;
SET ROLE regress_parparaw_user;
CREATE FOREIGN TABLE mine (id int, name text) SERVER gpu_csv
  OPTIONS (filename :'filename', header 'true');
ALTER FOREIGN TABLE mine OPTIONS (DROP filename, ADD program 'echo 1,one');  -- ERROR
CREATE FOREIGN TABLE mine2 (id int, name text) SERVER gpu_csv
  OPTIONS (program 'echo 1,one');                                            -- ERROR
RESET ROLE;
GRANT pg_execute_server_program TO regress_parparaw_user;
SET ROLE regress_parparaw_user;
CREATE FOREIGN TABLE mine2 (id int, name text) SERVER gpu_csv
  OPTIONS (program 'echo 1,one');

-- a role that has to be assumed first gives nothing by itself
SET ROLE regress_parparaw_noinherit;
CREATE FOREIGN TABLE theirs (id int, name text) SERVER gpu_csv
  OPTIONS (filename :'filename');                                            -- ERROR
RESET ROLE;

-- an owner without the role reads the table, but cannot point it elsewhere
REVOKE pg_read_server_files, pg_execute_server_program FROM regress_parparaw_user;
SET ROLE regress_parparaw_user;
SELECT * FROM mine ORDER BY id;
ALTER FOREIGN TABLE mine OPTIONS (SET filename '/etc/passwd');               -- ERROR
ALTER FOREIGN TABLE mine OPTIONS (ADD delimiter ';');                        -- ERROR
ALTER FOREIGN TABLE mine ALTER COLUMN name OPTIONS (ADD force_null 'true');

-- anybody else needs the privilege on the table, and no more
SET ROLE regress_parparaw_noinherit;
SELECT * FROM mine;                                                          -- ERROR
SET ROLE regress_parparaw_user;
GRANT SELECT ON mine, mine2 TO regress_parparaw_noinherit;
SET ROLE regress_parparaw_noinherit;
SELECT * FROM mine ORDER BY id;
SELECT * FROM mine2;
INSERT INTO mine VALUES (3, 'three');                                        -- ERROR
RESET ROLE;

-- foreign tables are for reading, even for superusers
INSERT INTO mine VALUES (3, 'three');                                        -- ERROR
UPDATE mine SET name = 'x';                                                  -- ERROR
DELETE FROM mine;                                                            -- ERROR
TRUNCATE mine;                                                               -- ERROR
COPY mine FROM STDIN;                                                        -- ERROR
3	three
\.

-- clean up
RESET search_path;
SET client_min_messages TO 'warning';
DROP SCHEMA files CASCADE;
DROP FUNCTION outcome(text);
DROP EXTENSION parparaw_fdw CASCADE;
DROP ROLE regress_parparaw_user, regress_parparaw_noinherit;
