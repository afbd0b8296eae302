--
-- Format 'json': whole documents.  Every top-level array is unpacked into
-- records, every other top-level value is one.
--

-- directory paths are passed in environment variables
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;
\set SHOW_CONTEXT never

\set documents :abs_srcdir '/data/documents.json'
CREATE FOREIGN TABLE documents (id int, name text, x float8 OPTIONS (path 'pos.x'),
  y int OPTIONS (path 'pos.y[1]'), tags text[], pos jsonb)
  SERVER gpu_csv OPTIONS (filename :'documents', format 'json');
SELECT * FROM documents;
SELECT count(*), sum(id), max(x) FROM documents;
SELECT id FROM documents WHERE id > 3;
ANALYZE documents;
SELECT reltuples FROM pg_class WHERE relname = 'documents';

-- A raw column is the record; if it is the only one, records are any values.
CREATE FOREIGN TABLE raw (doc json OPTIONS (raw 'true'))
  SERVER gpu_csv OPTIONS (filename :'documents', format 'json');
SELECT row_number() OVER (), json_typeof(doc), length(doc::text) FROM raw;
CREATE FUNCTION records(text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE FOREIGN TABLE one (doc json OPTIONS (raw ''true'')) SERVER gpu_csv '
                   'OPTIONS (program %L, format ''json'')',
                   'printf %s ''' || replace($1, '''', '''\''''') || '''');
    RETURN QUERY SELECT doc::text FROM one;
    DROP FOREIGN TABLE one;
END $$;
SELECT records('1 "two" [3, [4], "5"] true{"six":6}[[]]null[]7');
SELECT records('');
SELECT records(E' \n');

-- Errors name line and byte, wherever the records begin.
CREATE FUNCTION failure(document text, OUT state text, OUT message text, OUT detail text, OUT place text)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM records(document);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, place = PG_EXCEPTION_CONTEXT;
    place := substring(place from 'line \d+, byte \d+(?:, behind key "[^"]*")?');
END $$;
SELECT document, (failure(document)).* FROM (VALUES
    ('[1,'), ('[1'), ('['), ('[,1]'), ('[1,]'), ('[1 2]'), ('[1}'), (']'), ('{}}'), ('{},{}'), ('[1],'),
    (E'[1,\n 2\n 3]'), (E'[{"a": 1},\n\n  {"a": tru}]'), (E'{"a":\n 1'), ('"x'), ('nul'), ('["\ud800"]'),
    ('[1]x'), ('1:2')) v (document);

-- A document ends with what is wrong in it, whatever on_error says; rows whose
-- values cannot be converted are skipped as ever.
\set bad :abs_srcdir '/data/documents_bad.json'
CREATE FOREIGN TABLE bad (a int, b text) SERVER gpu_csv OPTIONS (filename :'bad', format 'json');
\set SHOW_CONTEXT errors
\set VERBOSITY terse
SELECT b FROM bad LIMIT 2;
SELECT count(*) FROM bad;               -- ERROR
SELECT a FROM bad;                      -- ERROR
ALTER FOREIGN TABLE bad OPTIONS (ADD on_error 'ignore', ADD log_verbosity 'verbose');
SELECT a FROM bad LIMIT 1;
SELECT a FROM bad;                      -- ERROR
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Options are those of format ndjson.
CREATE FOREIGN TABLE wrong (a int) SERVER gpu_csv OPTIONS (filename 'x', format 'json', header 'true'); -- ERROR
CREATE FOREIGN TABLE wrong (a int OPTIONS (force_null 'true')) SERVER gpu_csv
  OPTIONS (filename 'x', format 'json'); -- ERROR
ALTER FOREIGN TABLE documents OPTIONS (SET format 'ndjson');
SELECT count(*) FROM documents;         -- ERROR
ALTER FOREIGN TABLE documents OPTIONS (SET format 'json');

DROP FUNCTION failure(text), records(text);
DROP FOREIGN TABLE documents, raw, bad;
