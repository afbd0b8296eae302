-- Cyclic joins: triangles, cliques, longer cycles.
--
-- Written as a plain join, a cycle of relations with two keys each is planned
-- as one node, which answers as PostgreSQL's own joins do.  The library has to
-- be loaded: by session_preload_libraries, by LOAD, or by the first use of one
-- of the extension's tables in the session.
\getenv abs_srcdir PG_ABS_SRCDIR
SET client_min_messages TO 'warning';
CREATE EXTENSION IF NOT EXISTS parparaw_fdw;
RESET client_min_messages;
LOAD 'parparaw_fdw';
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE e (src bigint, dst bigint, w int);
INSERT INTO e SELECT g % 20, (g * 7 + g / 5) % 23, g % 10 FROM generate_series(1, 200) g;
INSERT INTO e VALUES (3, 3, 0), (1, 2, 1), (1, 2, 1), (NULL, 2, 1), (2, NULL, 1);
ANALYZE e;

-- The planner weighs the node against its own joins.  Zero as the factor of its
-- cost makes it win wherever it is possible, as for so small a table here.
SET parparaw.join_cost_factor = 0;
EXPLAIN (COSTS OFF)
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SET parparaw.enable_join = off;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
RESET parparaw.enable_join;

-- Duplicates, self-loops and NULLs count as in any join: below, with the node
-- and without it, per vertex.
CREATE VIEW per_vertex AS
	SELECT a.src, count(*) AS n
	FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst
	GROUP BY a.src;
EXPLAIN (COSTS OFF) SELECT * FROM per_vertex;
CREATE TEMP TABLE found AS SELECT * FROM per_vertex;
SET parparaw.enable_join = off;
(TABLE found EXCEPT ALL TABLE per_vertex) UNION ALL (TABLE per_vertex EXCEPT ALL TABLE found);
RESET parparaw.enable_join;
SELECT * FROM found ORDER BY n DESC, src LIMIT 3;

-- Comparisons of keys are made in the node; other conditions above it, each
-- alias's own ones below.
EXPLAIN (COSTS OFF)
SELECT a.src, b.src, c.src, a.w + b.w
FROM e a, e b, e c
WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src
	AND a.src < b.src AND a.w <> c.w AND b.w > 2;
SELECT a.src, b.src, c.src, a.w + b.w
FROM e a, e b, e c
WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src
	AND a.src < b.src AND a.w <> c.w AND b.w > 2
ORDER BY 1, 2, 3, 4 LIMIT 5;

-- Any cycle will do, of any relations, and of keys of several types.
CREATE TABLE person (id int, city text);
CREATE TABLE shop (number smallint, city text, owner int8);
INSERT INTO person SELECT g, 'c' || g % 4 FROM generate_series(1, 30) g;
INSERT INTO shop SELECT g, 'c' || g % 5, g * 3 % 31 FROM generate_series(1, 40) g;
CREATE TABLE bought (who int, what smallint);
INSERT INTO bought SELECT g % 30, g * 3 % 40 FROM generate_series(1, 100) g;
ANALYZE person, shop, bought;
EXPLAIN (COSTS OFF)
SELECT count(*) FROM person p JOIN shop s ON s.city = p.city
	JOIN bought b ON b.who = p.id AND b.what = s.number;
SELECT count(*) FROM person p JOIN shop s ON s.city = p.city
	JOIN bought b ON b.who = p.id AND b.what = s.number;
EXPLAIN (COSTS OFF)
SELECT count(*) FROM e a, e b, e c, e d
WHERE b.src = a.dst AND c.src = b.dst AND d.src = c.dst AND d.dst = a.src;
SELECT count(*) FROM e a, e b, e c, e d
WHERE b.src = a.dst AND c.src = b.dst AND d.src = c.dst AND d.dst = a.src;

-- The cycle may be part of a larger query.
EXPLAIN (COSTS OFF)
SELECT p.city, count(*)
FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst
	LEFT JOIN person p ON p.id = a.w
GROUP BY p.city;
SELECT p.city, count(*)
FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst
	LEFT JOIN person p ON p.id = a.w
GROUP BY p.city ORDER BY p.city;
SELECT EXISTS (SELECT 1 FROM e a, e b, e c
	WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w = 9);

-- Files are joined like tables.
\set file :abs_srcdir '/data/edges.csv'
CREATE FOREIGN TABLE f (src bigint, dst bigint) SERVER gpu_csv
	OPTIONS (format 'csv', header 'true', filename :'file');
SELECT count(*) FROM f a, f b, f c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*) FROM f a, f b, f c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;

-- A condition that depends on no row is checked once, before anything is read.
EXPLAIN (COSTS OFF)
SELECT a.w FROM e a, e b, e c
	WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND current_user = '';
SELECT a.w FROM e a, e b, e c
	WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND current_user = '';
SELECT count(*) FROM e a, e b, e c
	WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND current_user = '';

-- No more memory than work_mem allows is used: what does not fit is joined in
-- boxes of keys, and the answer is the same.
CREATE TABLE wide (src bigint, dst bigint);
INSERT INTO wide SELECT hashint8(g) % 3000, hashint8(g + 100000) % 3000
	FROM generate_series(1, 20000) g;
ANALYZE wide;
SET work_mem = '64kB';
CREATE TEMP TABLE boxed AS
	SELECT count(*) AS n FROM wide a, wide b, wide c
	WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
RESET work_mem;
SELECT (SELECT count(*) FROM wide a, wide b, wide c
	WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst) = n AS same FROM boxed;

-- What the node does not do is left to PostgreSQL's joins: joins without a
-- cycle, outer joins in the cycle, and locking, for instance.
CREATE FUNCTION has_node(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		found := found OR line LIKE '%Custom Scan (ParparawJoin)%';
	END LOOP;
	RETURN found;
END $$;
SELECT has_node('SELECT 1 FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst');
SELECT has_node('SELECT 1 FROM person p, shop s WHERE s.owner = p.id AND s.city = p.city');
SELECT has_node('SELECT 1 FROM e a JOIN e b ON b.src = a.dst LEFT JOIN e c ON c.src = a.src AND c.dst = b.dst');
SELECT has_node('SELECT 1 FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst FOR UPDATE');

DROP FUNCTION has_node;
DROP FOREIGN TABLE f;
DROP VIEW per_vertex;
DROP TABLE e, person, shop, bought, wide, found, boxed;
