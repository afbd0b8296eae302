--
-- Values of JSON: arrays, composites, domains, json and jsonb, and their errors.
--
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;
\set VERBOSITY default
\set SHOW_CONTEXT never

CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN small AS int CHECK (VALUE < 10);
CREATE DOMAIN given AS text NOT NULL;
CREATE DOMAIN low_pair AS pair CHECK ((VALUE).a < 10);
CREATE DOMAIN few AS int[] CHECK (cardinality(VALUE) < 4);
CREATE TYPE mood AS ENUM ('ok', 'sad');
CREATE TYPE nested AS (p pair, list pair[], small small, doc json, docb jsonb);
CREATE TYPE holder AS (v text);

-- The table's value, or its error, and whether json_populate_record() has the same.
CREATE FUNCTION outcome(query text, OUT value text, OUT error text) LANGUAGE plpgsql AS $$
DECLARE
    detail text;
    hint text;
BEGIN
    EXECUTE query INTO value;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    error := concat_ws('; ', SQLSTATE, SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;
CREATE FUNCTION compare(type text, doc text, OUT value text, OUT error text, OUT same bool)
LANGUAGE plpgsql AS $$
DECLARE
    core record;
BEGIN
    EXECUTE format('ALTER TYPE holder ALTER ATTRIBUTE v TYPE %s', type);
    EXECUTE format('CREATE FOREIGN TABLE one (v %s) SERVER gpu_csv OPTIONS (program %L, format ''ndjson'')',
                   type, 'printf %s ''{"v": ' || replace(doc, '''', '''\''''') || '}''');
    SELECT * INTO value, error FROM outcome('SELECT v::text FROM one');
    SELECT * INTO core FROM outcome(format('SELECT (json_populate_record(NULL::holder, %L)).v::text',
                                           '{"v": ' || doc || '}'));
    same := (value, error) IS NOT DISTINCT FROM (core.value, core.error);
    DROP FOREIGN TABLE one;
END $$;

\pset format unaligned
SELECT type, json, c.value, left(c.error, 5) AS state, c.same FROM (VALUES
    -- arrays
    ('int[]', '[]'), ('int[]', '[1, null, "3"]'), ('int[]', '[[1, 2], [3, 4]]'), ('int[]', '"{1,2}"'),
    ('int[]', '[[], []]'), ('int[]', '[[1], [2, 3]]'), ('int[]', '[1, [2]]'), ('int[]', '[[1], 2]'),
    ('int[]', '{"a": 1}'), ('int[]', '7'), ('int[]', '[[[[[[[1]]]]]]]'), ('int[]', '[1, "x"]'),
    ('text[]', '["a", "b\n\u0042", {"c": [1]}, true]'), ('numeric(4,1)[]', '[1.25, "2", 1e2]'),
    ('date[]', '["2024-02-29"]'), ('timestamptz[]', '["epoch", "2024-01-01T00:00:00Z"]'), ('mood[]', '["ok", "sad"]'),
    ('mood[]', '["glad"]'), ('json[]', '[1, [2, 3], {"a": "\u0041"}, "\u0041", null]'), ('small[]', '[1, 20]'),
    ('pair[]', '[{"a": 1}, "(2,x)", null]'), ('pair[]', '[[{"b": "x"}], [{}]]'), ('pair[]', '[1]'),
    -- composites
    ('pair', '{"b": {"c": 1}, "a": "7", "d": 1}'), ('pair', '{"a": 1, "a": 2, "\u0061": 3}'), ('pair', '"(1,two)"'),
    ('pair', '[]'), ('pair', '1'), ('pair', '{"a": "x"}'), ('pair', 'null'),
    ('nested', '{"p": {"a": 1}, "list": [{"b": "x"}], "small": 3, "doc": "\/\"", "docb": {"b": 1, "a": [true]}}'),
    ('nested', '{"small": 30}'), ('nested', '{"list": {"a": 1}}'),
    -- domains
    ('small', '9'), ('small', '"10"'), ('small', 'null'), ('given', '"x"'), ('given', 'null'),
    ('low_pair', '{"a": 9}'), ('low_pair', '{"a": 10}'), ('low_pair', '"(10,)"'), ('few', '[1, 2, 3]'),
    ('few', '[1, 2, 3, 4]'), ('few', '"{1,2}"'),
    -- json and jsonb
    ('json', '"a\tb\u0001\u001f\u0022\u005c\/\u007e\b\f\n\r"'), ('json', '{"a" : "\u0041"}'), ('json', 'null'),
    ('jsonb', '"a\tb\u0022\u005c\/"'), ('jsonb', '{"b": 1.50, "a": [1, "x", null]}'), ('jsonb', '1e400000')
    ) v (type, json), compare(type, json) c;
\pset format aligned

-- what is skipped says why
CREATE FOREIGN TABLE skipped (list int[], pair pair, small small) SERVER gpu_csv OPTIONS (program
    $$printf '{"list": [1, "x"]}\n{"pair": {"a": 1}}\n{"pair": [1]}\n{"small": 20}\n{"list": [2]}\n'$$,
    format 'ndjson', on_error 'ignore', log_verbosity 'verbose');
SELECT * FROM skipped;

DROP FOREIGN TABLE skipped;
DROP FUNCTION compare(text, text), outcome(text);
DROP TYPE holder, nested, low_pair, pair, few, given, small, mood;
