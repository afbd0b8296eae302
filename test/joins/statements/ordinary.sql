-- Ordinary statements over partitions, policies, rules, views, types and every
-- kind of join, most of them without a cycle.  See cyclic.sql.

CREATE TABLE a (id int PRIMARY KEY, x int, y text, d date);
INSERT INTO a SELECT g, g % 7, 'a' || g % 5, date '2024-01-01' + g % 9 FROM generate_series(1, 60) g;
CREATE TABLE b (id int PRIMARY KEY, a_id int REFERENCES a, z numeric, y text);
INSERT INTO b SELECT g, 1 + g % 50, g % 8 + 0.5, 'a' || g % 6 FROM generate_series(1, 90) g;
CREATE TABLE c (a_id int, b_id int, w float8);
INSERT INTO c SELECT 1 + g % 40, 1 + g * 3 % 80, g / 2.0 FROM generate_series(1, 120) g;
INSERT INTO c VALUES (NULL, 1, 1), (1, NULL, 2);
ANALYZE a, b, c;

-- joins of all kinds
SELECT count(*) FROM a JOIN b ON b.a_id = a.id;
SELECT a.y, count(*) FROM a JOIN b USING (y) GROUP BY a.y;
SELECT count(*), count(b.id) FROM a LEFT JOIN b ON b.a_id = a.id AND b.z > 3;
SELECT count(*), count(a.id) FROM a RIGHT JOIN b ON b.a_id = a.id AND a.x = 2;
SELECT count(*), count(a.id), count(b.id) FROM a FULL JOIN b ON b.a_id = a.id;
SELECT count(*) FROM a CROSS JOIN b WHERE a.x < b.z;
SELECT count(*) FROM a NATURAL JOIN b;
-- none
SELECT count(*) FROM a JOIN b ON b.a_id = a.id JOIN c ON c.a_id = a.id AND c.b_id = b.id;
SELECT count(*) FROM a JOIN b ON b.a_id = a.id LEFT JOIN c ON c.a_id = a.id AND c.b_id = b.id;
SELECT count(*), sum(w) FROM c JOIN a ON a.id = c.a_id JOIN b ON b.id = c.b_id WHERE a.x = 3;
SELECT count(*), sum(w) FROM c LEFT JOIN a ON a.id = c.a_id LEFT JOIN b ON b.id = c.b_id WHERE a.x IS NULL OR b.z > 2;
SELECT a.id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id AND b.z > 7);
SELECT a.id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id);
SELECT a.id FROM a WHERE a.id IN (SELECT a_id FROM b WHERE z > 6) AND a.id NOT IN (SELECT a_id FROM c WHERE a_id IS NOT NULL);
SELECT a.id, (SELECT max(z) FROM b WHERE b.a_id = a.id) FROM a;
SELECT a.id, l.* FROM a LEFT JOIN LATERAL (SELECT b.id AS b, b.z FROM b WHERE b.a_id = a.id ORDER BY b.z, b.id LIMIT 1) l ON true;
SELECT count(*) FROM a a1 JOIN a a2 ON a1.x = a2.x JOIN a a3 ON a2.x = a3.x;
-- node
SELECT count(*) FROM a a1 JOIN a a2 ON a1.x = a2.x JOIN a a3 ON a2.y = a3.y AND a3.d = a1.d;
-- node
SELECT a1.id, a2.id, a3.id FROM a a1 JOIN a a2 ON a1.x = a2.x JOIN a a3 ON a2.y = a3.y AND a3.d = a1.d WHERE a1.id < 20;
SELECT count(*) FROM a a1, a a2 WHERE a1.id = a2.x AND a2.id = a1.x;
SELECT count(*) FROM c c1 JOIN c c2 ON c1.b_id = c2.a_id JOIN c c3 ON c2.b_id = c3.a_id AND c3.b_id = c1.a_id;
SELECT a.id FROM a JOIN b ON b.a_id = a.id JOIN c ON c.b_id = b.id WHERE a.y = b.y AND c.a_id < 30;
SELECT count(*) FROM a, b, c WHERE a.id = b.a_id AND b.id = c.b_id AND c.a_id = a.id AND a.y = b.y AND c.w > 3;
SELECT count(*) FROM (SELECT a.id, b.id AS b FROM a LEFT JOIN b ON b.a_id = a.id) q JOIN c ON c.a_id = q.id AND c.b_id = q.b;
SELECT count(*) FROM ((a JOIN b ON b.a_id = a.id) LEFT JOIN c ON c.b_id = b.id) JOIN a a2 ON a2.id = c.a_id;
SELECT a.x, b.z, count(*) FROM a JOIN b ON b.a_id = a.id JOIN c ON c.a_id = a.id AND c.b_id = b.id GROUP BY a.x, b.z;
-- list
SELECT a.id, b.id, c.w FROM a JOIN b ON b.a_id = a.id JOIN c ON c.a_id = a.id AND c.b_id = b.id ORDER BY c.w, a.id, b.id;

-- subqueries, set operations, windows, aggregates
SELECT x, array_agg(id ORDER BY id) FROM a GROUP BY x HAVING count(*) > 8;
SELECT y, count(*) FILTER (WHERE x > 2), sum(x) FROM a GROUP BY ROLLUP (y);
-- list
SELECT id, sum(x) OVER (ORDER BY id ROWS 3 PRECEDING) FROM a ORDER BY id;
SELECT id, rank() OVER (PARTITION BY y ORDER BY x) FROM a;
SELECT x FROM a UNION SELECT a_id FROM b UNION ALL SELECT a_id FROM c WHERE w > 50;
SELECT y FROM a INTERSECT SELECT y FROM b;
SELECT y FROM b EXCEPT ALL SELECT y FROM a;
-- list
SELECT DISTINCT ON (x) x, id FROM a ORDER BY x, id DESC;
-- list
SELECT id FROM a ORDER BY y DESC, id LIMIT 5 OFFSET 3;
-- list
SELECT x FROM a ORDER BY x FETCH FIRST 3 ROWS WITH TIES;
SELECT * FROM (VALUES (1, 'one'), (2, 'two')) AS v (n, t) JOIN a ON a.id = v.n;
WITH q AS (SELECT a_id, sum(z) AS z FROM b GROUP BY a_id) SELECT a.id, q.z FROM a JOIN q ON q.a_id = a.id WHERE q.z > (SELECT avg(z) FROM q);
WITH RECURSIVE t (n, id) AS (SELECT 1, 1 UNION ALL SELECT n + 1, b.a_id FROM t JOIN b ON b.id = t.id WHERE n < 8) SELECT * FROM t;
WITH RECURSIVE p (src, dst) AS (SELECT a_id, b_id FROM c WHERE w < 5 UNION SELECT p.src, c.b_id FROM p JOIN c ON c.a_id = p.dst) SELECT count(*), sum(src), sum(dst) FROM p;
SELECT count(*) FROM a WHERE (x, y) IN (SELECT x, y FROM a WHERE id > 40);
SELECT a.id, CASE WHEN EXISTS (SELECT 1 FROM c WHERE c.a_id = a.id) THEN 'in' END FROM a;
SELECT count(*) FROM a TABLESAMPLE SYSTEM (100) JOIN b ON b.a_id = a.id;
SELECT json_agg(q ORDER BY id) FROM (SELECT id, y FROM a WHERE id < 4) q;
SELECT a.id, g FROM a, generate_series(1, a.x) g WHERE a.id < 9;
SELECT t.id, u.y FROM a t JOIN LATERAL (SELECT y FROM b WHERE b.a_id = t.id) u ON u.y <> t.y;

-- partitions
CREATE TABLE p (src int, dst int, day date, w int) PARTITION BY RANGE (day);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE p2 (w int, gone text, dst int, src int, day date);
ALTER TABLE p2 DROP COLUMN gone;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
CREATE TABLE p3 PARTITION OF p DEFAULT PARTITION BY HASH (src);
CREATE TABLE p3a PARTITION OF p3 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE p3b PARTITION OF p3 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO p SELECT g % 12, g * 5 % 13, date '2024-01-10' + g % 80, g FROM generate_series(1, 160) g;
ANALYZE p;
-- node
SELECT count(*) FROM p a, p b, p c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT a.src, a.dst, b.dst, c.w FROM p a, p b, p c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(*) FROM p a, p b, p c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.day < '2024-02-01' AND b.day >= '2024-02-01';
-- node
SELECT count(*) FROM p1 a, p2 b, p c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(*) FROM p2 a, p2 b, p2 c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT count(*) FROM p a, p b, p c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*) FROM p a, p b, p c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.day = b.day AND b.day = c.day;
SELECT count(*) FROM p3 a, p3 b, p3 c WHERE b.src = a.src AND c.src = a.src AND c.dst = b.dst AND a.dst = b.dst;
SELECT a.day, count(*) FROM p a JOIN p b ON a.day = b.day AND a.src = b.src GROUP BY a.day;
SELECT day, count(*) FROM p GROUP BY day;
RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;
CREATE TABLE parent (src int, dst int);
CREATE TABLE child (extra text) INHERITS (parent);
INSERT INTO parent SELECT g % 9, g * 4 % 11 FROM generate_series(1, 40) g;
INSERT INTO child SELECT g % 10, g * 3 % 11, 'x' FROM generate_series(1, 40) g;
-- node
SELECT count(*) FROM parent a, parent b, parent c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(*) FROM ONLY parent a, parent b, child c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT a.tableoid::regclass, count(*) FROM parent a, parent b, parent c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY 1;
UPDATE parent SET dst = dst + 1 WHERE src = 3;
SELECT count(*) FROM parent a, parent b, parent c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;

-- views, rules, triggers, policies
CREATE VIEW vw AS SELECT src, dst FROM parent WHERE src <> 4;
CREATE VIEW vb WITH (security_barrier) AS SELECT src, dst FROM parent WHERE dst <> 5;
-- node
SELECT count(*) FROM vw a, vw b, vw c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(*) FROM vb a, vb b, vb c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(*) FROM vb a, vw b, parent c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src::text <> '3';
CREATE TABLE log (what text, n bigint);
CREATE RULE watch AS ON INSERT TO parent DO ALSO INSERT INTO log SELECT 'rule', count(*) FROM parent a, parent b, parent c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
INSERT INTO parent VALUES (1, 1);
SELECT * FROM log;
DROP RULE watch ON parent;
CREATE RULE instead AS ON UPDATE TO vw DO INSTEAD UPDATE parent SET dst = NEW.dst FROM parent x, parent y WHERE parent.src = OLD.src AND parent.dst = OLD.dst AND x.src = parent.dst AND y.src = parent.src AND y.dst = x.dst;
UPDATE vw SET dst = dst WHERE src = 2;
SELECT count(*) FROM parent;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log SELECT TG_OP, count(*) FROM parent a, parent b, parent c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst; RETURN NULL; END $$;
CREATE TRIGGER after_all AFTER INSERT OR DELETE ON parent FOR EACH STATEMENT EXECUTE FUNCTION note();
INSERT INTO parent VALUES (2, 1), (1, 2);
DELETE FROM parent WHERE src = 1;
SELECT * FROM log;
CREATE FUNCTION pairs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log SELECT 'new', count(*) FROM added a, added b, added c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst; RETURN NULL; END $$;
CREATE TRIGGER transition AFTER INSERT ON parent REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION pairs();
INSERT INTO parent SELECT x, y FROM generate_series(20, 24) x, generate_series(20, 24) y WHERE x < y;
SELECT * FROM log;
CREATE TABLE secret (src int, dst int, owner text);
INSERT INTO secret SELECT g % 9, g * 4 % 11, CASE WHEN g % 3 = 0 THEN 'pj_reader' ELSE 'other' END FROM generate_series(1, 90) g;
ANALYZE secret;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON secret USING (owner = current_user);
CREATE ROLE pj_reader;
GRANT USAGE ON SCHEMA pj TO pj_reader;
GRANT SELECT ON secret, vw TO pj_reader;
SELECT count(*) FROM secret a, secret b, secret c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SET ROLE pj_reader;
-- node
SELECT count(*) FROM secret a, secret b, secret c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*) FROM secret a, secret b, secret c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.owner LIKE '%o%';
SELECT count(*) FROM vw a, vw b, vw c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*) FROM parent a, parent b, parent c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*) FROM vw a, parent b, vw c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
RESET ROLE;
GRANT SELECT (src) ON parent TO pj_reader;
SET ROLE pj_reader;
SELECT count(*) FROM parent a, vw b, vw c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
RESET ROLE;
REVOKE ALL ON parent FROM pj_reader;
PREPARE owned AS SELECT count(*) FROM secret a, secret b, secret c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SET plan_cache_mode = force_generic_plan;
EXECUTE owned;
SET ROLE pj_reader;
EXECUTE owned;
RESET ROLE;
EXECUTE owned;
RESET plan_cache_mode;
REVOKE ALL ON SCHEMA pj FROM pj_reader;
REVOKE ALL ON secret, vw FROM pj_reader;
DROP ROLE pj_reader;

-- key types
CREATE TABLE k (i2 int2, i4 int4, i8 int8, o oid, u uuid, t text, tc text COLLATE "C", vc varchar(9), bp char(5), by bytea, n numeric, f4 float4, f8 float8, d date, ts timestamp, tz timestamptz, tm time, iv interval, b bool, m money, j jsonb, ar int[], r int4range, nm name, ip inet);
INSERT INTO k SELECT g % 7, g * 3 % 8, g * 5 % 9, g % 6, lpad((g % 5)::text, 32, '0')::uuid, 't' || g % 6, 't' || g * 2 % 7, 't' || g * 3 % 5, 'b' || g % 4, ('\x0' || g % 5)::bytea, (g % 5 || CASE WHEN g % 2 = 0 THEN '.0' ELSE '' END)::numeric, g % 4, g * 3 % 5, date '2024-01-01' + g % 6, timestamp '2024-01-01' + (g * 2 % 7) * interval '1 day', timestamptz '2024-01-01' + (g * 3 % 7) * interval '1 day', time '01:00' + g % 5 * interval '1 hour', CASE WHEN g % 2 = 0 THEN interval '1 day' ELSE interval '24 hours' END * (g % 3), g % 2 = 0, (g % 5)::numeric::money, to_jsonb(g % 5), ARRAY[g % 4], int4range(g % 4, 9), ('n' || g % 4)::name, ('10.0.0.' || g % 5)::inet FROM generate_series(1, 50) g;
ANALYZE k;
-- node
SELECT count(*) FROM k a, k b, k c WHERE a.i2 = b.i4 AND b.i8 = c.i2 AND c.i4 = a.i8;
-- node
SELECT a.i2, b.i4, b.i8, c.i2, pg_typeof(a.i2), pg_typeof(b.i8) FROM k a, k b, k c WHERE a.i2 = b.i4 AND b.i8 = c.i2 AND c.i4 = a.i8;
-- node
SELECT count(*) FROM k a, k b, k c WHERE a.o = b.o AND b.u = c.u AND c.i4 = a.i8;
-- node
SELECT a.o, b.u, a.t, c.vc FROM k a, k b, k c WHERE a.o = b.o AND b.u = c.u AND c.vc = a.t;
-- node
SELECT a.d, b.by, c.t FROM k a, k b, k c WHERE a.d = b.d AND b.by = c.by AND c.t = a.t AND a.i2 < 3;
-- node
SELECT count(*) FROM k a, k b, k c WHERE a.ts = b.ts AND b.tz = c.tz AND c.tm = a.tm;
-- node
SELECT a.b, b.m, c.nm FROM k a, k b, k c WHERE a.b = b.b AND b.m = c.m AND c.nm = a.nm AND a.i2 = 2;
SELECT count(*) FROM k a, k b, k c WHERE a.n = b.n AND b.f8 = c.f8 AND c.bp = a.bp;
SELECT a.n, b.f8, c.bp FROM k a, k b, k c WHERE a.n = b.n AND b.f8 = c.f8 AND c.bp = a.bp;
SELECT a.n, count(*) FROM k a, k b, k c WHERE a.i2 = b.i2 AND b.i4 = c.i4 AND c.n = a.n GROUP BY a.n, a.n::text HAVING count(*) > 1;
SELECT count(*) FROM k a, k b, k c WHERE a.iv = b.iv AND b.j = c.j AND c.ar = a.ar;
SELECT a.iv, b.j, c.ar FROM k a, k b, k c WHERE a.iv = b.iv AND b.j = c.j AND c.ar = a.ar;
SELECT count(*) FROM k a, k b, k c WHERE a.r = b.r AND b.ip = c.ip AND c.f4 = a.f4;
SELECT count(*) FROM k a, k b, k c WHERE a.d = b.ts AND b.ts = c.tz AND c.d = a.ts;
SELECT count(*) FROM k a, k b, k c WHERE a.i4 = b.n AND b.n = c.i8 AND c.i4 = a.i8;
SELECT count(*) FROM k a, k b, k c WHERE a.f4 = b.f8 AND b.i4 = c.f8 AND c.n = a.n;
SELECT count(*) FROM k a, k b, k c WHERE a.t = b.nm AND b.vc = c.t AND c.i2 = a.i2;
SELECT count(*) FROM k a, k b, k c WHERE a.tc = b.tc AND b.vc = c.t AND c.i2 = a.i2;
SELECT count(*) FROM k a, k b, k c WHERE a.t = b.tc AND b.vc = c.t AND c.i2 = a.i2;
SELECT count(*) FROM k a, k b, k c WHERE a.t = b.tc COLLATE "C" AND b.vc = c.t AND c.i2 = a.i2;
SELECT count(*) FROM k a, k b, k c WHERE lower(a.t) = lower(b.t) AND b.i4 = c.i4 AND c.i2 = a.i2;
SELECT count(*) FROM k a, k b, k c WHERE (a.*) = (b.*) AND b.i4 = c.i4 AND c.i2 = a.i2;

-- extremes
CREATE TABLE x (a int8, b int8);
INSERT INTO x SELECT s * 9223372036854775807, t * 9223372036854775807 FROM generate_series(-1, 1) s, generate_series(-1, 1) t;
INSERT INTO x VALUES (-9223372036854775808, 9223372036854775807), (9223372036854775807, -9223372036854775808), (-9223372036854775808, -9223372036854775808);
-- node
SELECT x1.a, x1.b, x2.b FROM x x1, x x2, x x3 WHERE x1.b = x2.a AND x2.b = x3.b AND x3.a = x1.a;
CREATE TABLE empty (a int8, b int8);
-- node
SELECT count(*) FROM empty x1, empty x2, empty x3 WHERE x1.b = x2.a AND x2.b = x3.b AND x3.a = x1.a;
SELECT count(*), sum(x1.a) FROM x x1, empty x2, x x3 WHERE x1.b = x2.a AND x2.b = x3.b AND x3.a = x1.a;
SELECT x1.a, count(*) FROM empty x1, empty x2, empty x3 WHERE x1.b = x2.a AND x2.b = x3.b AND x3.a = x1.a GROUP BY x1.a;
CREATE TABLE many (a int4, b int4);
INSERT INTO many SELECT 1, 1 FROM generate_series(1, 100);
-- node
SELECT count(*) FROM many x1, many x2, many x3 WHERE x1.b = x2.a AND x2.b = x3.b AND x3.a = x1.a;
-- node
SELECT count(*) FROM (SELECT 1 FROM many x1, many x2, many x3 WHERE x1.b = x2.a AND x2.b = x3.b AND x3.a = x1.a LIMIT 999) q;
INSERT INTO many SELECT 1, 1 FROM generate_series(1, 1900);
INSERT INTO many SELECT 1, 1 FROM generate_series(1, 1000000) WHERE false;
