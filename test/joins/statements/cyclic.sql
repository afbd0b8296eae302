-- Statements that contain a cyclic join, of every shape.
--
-- A comment line "-- node" says that the next statement's plan has to show the
-- join's node, "-- none" that it must not, "-- list" that the order of its rows
-- counts.  Anything else may go either way; answers always have to be alike.

CREATE TABLE e (src bigint, dst bigint, w int, s text);
INSERT INTO e SELECT g % 17, (g * 7 + g / 5) % 19, g % 10, 's' || g % 4 FROM generate_series(1, 150) g;
INSERT INTO e VALUES (NULL, 3, 1, 'n'), (3, NULL, 2, 'n'), (5, 5, 3, 'loop'), (1, 2, 4, 'twice'), (1, 2, 4, 'twice');
CREATE INDEX ON e (src, dst);
CREATE INDEX ON e (dst, src);
ANALYZE e;
CREATE TABLE v (id bigint PRIMARY KEY, name text, kind int);
INSERT INTO v SELECT g, 'v' || g, g % 3 FROM generate_series(0, 20) g;
ANALYZE v;
CREATE VIEW tri AS SELECT a.src AS x, a.dst AS y, b.dst AS z, a.w AS w FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;

-- counts and rows
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(*) FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = b.dst AND c.dst = a.src;
-- node
SELECT a.src, a.dst, b.dst FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst;
-- node
SELECT * FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst;
-- node
SELECT a, b.s, c.w + 1 FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(*) FROM e AS a (x, y, w1, s1) JOIN e AS b (y, z, w2, s2) USING (y) JOIN e AS c (x, z, w3, s3) USING (x, z);
-- node
SELECT count(*) FROM e AS a (x, y, w1, s1) NATURAL JOIN e AS b (y, z, w2, s2) NATURAL JOIN e AS c (x, z, w3, s3);
-- node
SELECT x, y, z, w1, s2 FROM e AS a (x, y, w1, s1) NATURAL JOIN e AS b (y, z, w2, s2) NATURAL JOIN e AS c (x, z, w3, s3);
-- node
SELECT count(*) FROM e a, e b, e c, e d WHERE a.dst = b.src AND b.dst = c.src AND c.dst = d.src AND d.dst = a.src;
-- node
SELECT count(*) FROM e ab, e ac, e ad, e bc, e bd, e cd WHERE ac.src = ab.src AND ad.src = ab.src AND bc.src = ab.dst AND bc.dst = ac.dst AND bd.src = ab.dst AND bd.dst = ad.dst AND cd.src = ac.dst AND cd.dst = ad.dst;
-- node
SELECT count(*) FROM e ab JOIN e ac ON ac.src = ab.src JOIN e ad ON ad.src = ab.src JOIN e bc ON bc.src = ab.dst AND bc.dst = ac.dst JOIN e bd ON bd.src = ab.dst AND bd.dst = ad.dst JOIN e cd ON cd.src = ac.dst AND cd.dst = ad.dst;
-- node
SELECT count(*) FROM e ab JOIN e ac ON ac.src = ab.src JOIN e ad ON ad.src = ab.src JOIN e ae ON ae.src = ab.src JOIN e bc ON bc.src = ab.dst AND bc.dst = ac.dst JOIN e bd ON bd.src = ab.dst AND bd.dst = ad.dst JOIN e be ON be.src = ab.dst AND be.dst = ae.dst JOIN e cd ON cd.src = ac.dst AND cd.dst = ad.dst JOIN e ce ON ce.src = ac.dst AND ce.dst = ae.dst JOIN e de ON de.src = ad.dst AND de.dst = ae.dst;
-- node
SELECT count(*) FROM e ab, e bc, e ac, e bd, e dc WHERE bc.src = ab.dst AND ac.src = ab.src AND ac.dst = bc.dst AND bd.src = ab.dst AND dc.src = bd.dst AND dc.dst = bc.dst;
-- node
SELECT count(*) FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst JOIN e d ON d.src = a.src JOIN e f ON f.src = d.dst JOIN e g ON g.src = a.src AND g.dst = f.dst;
-- node
SELECT count(*) FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst JOIN e d ON d.src = a.dst;
-- none
SELECT count(*) FROM e a, e b WHERE a.dst = b.src AND b.dst = a.src;
-- none
SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src;
-- none
SELECT count(*) FROM e a JOIN e b ON b.src = a.dst AND b.dst = a.src JOIN e c ON c.src = a.src AND c.dst = a.dst;

-- filters and further conditions
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w > 3;
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w > 3 AND b.w > 3 AND c.w > 3;
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src < a.dst AND b.src < b.dst;
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src < b.dst;
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = b.dst AND c.dst = a.src AND a.src < b.src AND b.src < c.src;
-- node
SELECT count(*) FROM e a, e b, e c, e d WHERE b.src = a.dst AND c.src = b.dst AND d.src = c.dst AND d.dst = a.src AND a.src <> c.src AND b.src <> d.src;
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w < b.w AND b.w <= c.w;
-- node
SELECT a.src, b.w FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.s || b.s <> c.s || 's1';
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND (a.w > 5 OR b.w > 5);
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.s IN ('s1', 's2') AND b.s LIKE 's%';
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src IS NOT NULL AND NOT (b.w = 4);
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w = b.w;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w = b.w AND b.w = c.w;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src = 1;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src = 1 AND a.dst = 2;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src IN (1, 2, 3);
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src BETWEEN 2 AND 9;
SELECT count(*) FROM e a, e b, e c WHERE (b.src, c.src) = (a.dst, a.src) AND c.dst = b.dst;
SELECT count(*) FROM e a, e b, e c WHERE (b.src, c.src, c.dst) = (a.dst, a.src, b.dst);
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src = a.dst;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND false;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND now() < '2000-01-01';
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND now() > '2000-01-01';
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND (SELECT false);
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND (SELECT count(*) > 5 FROM v);
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w < (SELECT max(kind) FROM v);
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w < (SELECT max(kind) FROM v WHERE v.id = a.src);
SELECT count(*) FROM e a, e b, e c WHERE b.src + 0 = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*) FROM e a, e b, e c WHERE b.src::int = a.dst::int AND c.src::int = a.src::int AND c.dst::int = b.dst::int;
SELECT count(*) FROM e a, e b, e c WHERE b.src IS NOT DISTINCT FROM a.dst AND c.src IS NOT DISTINCT FROM a.src AND c.dst = b.dst;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst <> b.dst;
SELECT count(*) FROM e a, e b, e c WHERE (b.src = a.dst OR b.src = a.src) AND c.src = a.src AND c.dst = b.dst;

-- aggregates, groups, order, limit
-- node
SELECT a.src, count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY a.src;
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY a.dst;
-- node
-- list
SELECT b.dst, count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY b.dst ORDER BY 2 DESC, 1;
-- node
-- list
SELECT b.dst, count(*) AS n FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY b.dst ORDER BY 1 LIMIT 3;
-- node
SELECT a.src, count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY a.src HAVING count(*) > 20;
-- node
SELECT a.src, a.dst, count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY a.src, a.dst;
-- node
SELECT a.src % 3 AS m, count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY 1;
-- node
SELECT a.s, count(*), sum(b.w) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY a.s;
-- node
SELECT sum(a.w), avg(b.w), min(c.s), max(a.src) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(a.src), count(b.s), count(DISTINCT c.w), count(*) FILTER (WHERE a.w > 4) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT a.src, a.dst, count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY GROUPING SETS ((a.src), (a.dst), ());
-- node
SELECT a.src, b.s, count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY ROLLUP (a.src, b.s);
-- node
SELECT a.w, count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY CUBE (a.w);
-- node
SELECT DISTINCT a.src, b.dst FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
-- list
SELECT DISTINCT ON (a.src) a.src, a.dst, b.dst FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst ORDER BY a.src, a.dst, b.dst;
-- node
-- list
SELECT a.src, a.dst, b.dst FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst ORDER BY 1, 2, 3;
-- list
SELECT a.src, a.dst, b.dst FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst ORDER BY 3 DESC, 2, 1 LIMIT 10 OFFSET 5;
-- node
SELECT count(*) FROM (SELECT 1 FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst LIMIT 7) q;
-- node
SELECT count(*) FROM (SELECT 1 FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst OFFSET 0) q;
-- node
SELECT array_agg(a.src ORDER BY a.src, b.w) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w > 6;
-- node
SELECT string_agg(DISTINCT b.s, ',' ORDER BY b.s) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY a.w) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT a.src, b.w, row_number() OVER (PARTITION BY a.src ORDER BY a.dst, b.dst, b.w, c.w, a.w) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.s <> 'twice';
-- node
SELECT a.src, count(*) OVER (PARTITION BY a.src), sum(b.w) OVER () FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT a.src, sum(count(*)) OVER () FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY a.src;
-- node
SELECT count(*) + 1, count(*) * 2, 'x' FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT CASE WHEN count(*) > 10 THEN 'many' ELSE 'few' END FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT a.src, generate_series(1, 2) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst HAVING count(*) > 1000000;
SELECT 1 FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst HAVING count(*) > 1;
SELECT FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY ();
SELECT a.src FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY a.src;

-- inside and beside other things
-- node
SELECT EXISTS (SELECT 1 FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst);
SELECT NOT EXISTS (SELECT 1 FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w > 100);
-- node
WITH t AS MATERIALIZED (SELECT a.src AS x, b.dst AS z FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst) SELECT count(*) FROM t x JOIN t y ON x.x = y.z;
-- node
WITH t AS (SELECT a.src AS x, b.dst AS z FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst) SELECT count(*), min(x), max(z) FROM t;
-- node
WITH u AS (SELECT least(src, dst) AS src, greatest(src, dst) AS dst FROM e WHERE src <> dst GROUP BY 1, 2) SELECT count(*) FROM u a JOIN u b ON b.src = a.dst JOIN u c ON c.src = a.src AND c.dst = b.dst;
-- node
WITH u AS MATERIALIZED (SELECT src, dst FROM e WHERE src < dst) SELECT a.src, b.dst FROM u a, u b, u c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(*) FROM tri;
-- node
SELECT x, count(*) FROM tri GROUP BY x;
-- node
SELECT * FROM tri WHERE w > 3 AND x < 9;
-- node
SELECT count(*) FROM tri JOIN v ON v.id = tri.x WHERE v.kind = 1;
-- node
SELECT count(*) FROM tri t1 JOIN tri t2 ON t1.x = t2.z WHERE t1.w = 1 AND t2.w = 2;
-- node
(SELECT count(*) FROM tri) UNION ALL (SELECT count(*) FROM tri WHERE w > 2);
-- node
SELECT x FROM tri UNION SELECT id FROM v;
-- node
SELECT x, y FROM tri INTERSECT ALL SELECT src, dst FROM e;
-- node
SELECT x, y FROM tri EXCEPT SELECT dst, src FROM e;
-- node
SELECT v.name, (SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w > 0) FROM v;
SELECT v.name, (SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src = v.id) FROM v;
SELECT v.name, (SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w > v.kind) FROM v;
SELECT v.name, l.n FROM v CROSS JOIN LATERAL (SELECT count(*) AS n FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND b.w = v.kind) l;
SELECT v.name FROM v WHERE EXISTS (SELECT 1 FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src = v.id);
SELECT v.name FROM v WHERE NOT EXISTS (SELECT 1 FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src = v.id);
SELECT v.name FROM v WHERE id IN (SELECT a.src FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst);
SELECT v.name FROM v WHERE id NOT IN (SELECT a.src FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst);
SELECT v.name FROM v WHERE id = ANY (ARRAY(SELECT a.src FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst));
-- node
SELECT count(*) FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst JOIN v ON v.id = a.src WHERE v.kind = 2;
-- node
SELECT v.name, count(*) FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst JOIN v ON v.id = a.src GROUP BY v.name;
-- node
SELECT x.name, y.name, z.name FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst JOIN v x ON x.id = a.src JOIN v y ON y.id = a.dst JOIN v z ON z.id = b.dst;
-- node
SELECT a.src, v.name FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst LEFT JOIN v ON v.id = a.w;
-- node
SELECT count(*), count(v.name) FROM e a JOIN e b ON b.src = a.dst JOIN e c ON c.src = a.src AND c.dst = b.dst LEFT JOIN v ON v.id = a.src AND v.kind = 1 LEFT JOIN v v2 ON v2.id = v.kind;
-- node
SELECT v.name, q.x FROM v LEFT JOIN (SELECT a.src AS x FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w = 7) q ON q.x = v.id;
-- node
SELECT v.name, q.x FROM v FULL JOIN (SELECT DISTINCT a.src AS x FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w = 7) q ON q.x = v.id;
SELECT v.name, q.one FROM v LEFT JOIN (SELECT a.src AS x, 1 AS one FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w = 7) q ON q.x = v.id;
SELECT v.name, coalesce(q.y, -1) FROM v LEFT JOIN (SELECT a.src AS x, coalesce(b.w, 0) AS y FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w = 7) q ON q.x = v.id;
-- node
SELECT count(*) FROM (e a JOIN e b ON b.src = a.dst) JOIN (e c CROSS JOIN (VALUES (1), (2)) AS two(n)) ON c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(*) FROM (VALUES (1::bigint, 2::bigint), (2, 3), (1, 3)) AS a (s, d), (VALUES (1::bigint, 2::bigint), (2, 3), (1, 3)) AS b (s, d), (VALUES (1::bigint, 2::bigint), (2, 3), (1, 3)) AS c (s, d) WHERE b.s = a.d AND c.s = a.s AND c.d = b.d;
-- node
SELECT count(*) FROM (SELECT src, dst FROM e UNION ALL SELECT dst, src FROM e) a, (SELECT src, dst FROM e UNION ALL SELECT dst, src FROM e) b, (SELECT src, dst FROM e UNION ALL SELECT dst, src FROM e) c WHERE b.src = a.dst AND c.src = b.dst AND c.dst = a.src;
-- node
SELECT count(*) FROM (SELECT DISTINCT src, dst FROM e) a, e b, (SELECT src, dst, max(w) AS w FROM e GROUP BY src, dst) c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND c.w > 2;
SELECT count(*) FROM (SELECT g AS src, g % 5 AS dst FROM generate_series(1, 20) g) a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*) FROM generate_series(1, 5) WITH ORDINALITY AS a (src, dst), e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- node
SELECT count(*) FROM e ab, e bc, e ca, v x WHERE ab.dst = bc.src AND bc.dst = ca.src AND ca.dst = ab.src AND x.id = ab.src AND x.kind = 0;
SELECT count(*) FROM v x, v y, v z, e ab, e bc, e ca WHERE ab.src = x.id AND ab.dst = y.id AND bc.src = y.id AND bc.dst = z.id AND ca.src = z.id AND ca.dst = x.id AND x.kind <> 1;
SELECT count(*) FROM e a1, e b1, e c1, e a2, e b2, e c2 WHERE a1.dst = b1.src AND c1.src = a1.src AND c1.dst = b1.dst AND a2.dst = b2.src AND c2.src = a2.src AND c2.dst = b2.dst AND a1.w = 1 AND a2.w = 2;
SELECT count(*) FROM e a1, e b1, e c1, e a2, e b2, e c2 WHERE a1.dst = b1.src AND c1.src = a1.src AND c1.dst = b1.dst AND a2.dst = b2.src AND c2.src = a2.src AND c2.dst = b2.dst AND a1.w = a2.w AND b1.w = 3 AND b2.w = 4;

-- what has to fall back
SELECT count(*) FROM e a LEFT JOIN e b ON b.src = a.dst LEFT JOIN e c ON c.src = a.src AND c.dst = b.dst;
-- none
SELECT count(*) FROM e a JOIN e b ON b.src = a.dst LEFT JOIN e c ON c.src = a.src AND c.dst = b.dst;
-- none
SELECT count(*) FROM e a JOIN e b ON b.src = a.dst FULL JOIN e c ON c.src = a.src AND c.dst = b.dst;
-- none
SELECT count(*) FROM e a JOIN e b ON b.src = a.dst RIGHT JOIN e c ON c.src = a.src AND c.dst = b.dst;
-- none
SELECT count(*) FROM e a JOIN e b ON b.src = a.dst WHERE EXISTS (SELECT 1 FROM e c WHERE c.src = a.src AND c.dst = b.dst);
-- none
SELECT count(*) FROM e a JOIN e b ON b.src = a.dst WHERE NOT EXISTS (SELECT 1 FROM e c WHERE c.src = a.src AND c.dst = b.dst);
-- none
SELECT count(*) FROM e a JOIN e b ON b.src = a.dst WHERE (a.src, b.dst) IN (SELECT c.src, c.dst FROM e c);
-- none
SELECT count(*) >= 0 FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w + b.w + c.w > random();
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND random() >= 0;
-- none
SELECT count(*) FROM e a, e b, LATERAL (SELECT * FROM e c WHERE c.src = a.src AND c.dst = b.dst OFFSET 0) c WHERE b.src = a.dst;
-- none
SELECT count(*) >= 0 FROM e a TABLESAMPLE BERNOULLI (50), e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- none
SELECT count(*) FROM e a TABLESAMPLE SYSTEM (100), e b TABLESAMPLE SYSTEM (100), e c TABLESAMPLE SYSTEM (100) WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
-- none
SELECT a.src FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst FOR UPDATE;
-- none
SELECT a.src FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst FOR SHARE OF b;
-- none
SELECT a.src FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst FOR NO KEY UPDATE OF c SKIP LOCKED;
-- none
SELECT count(*) FROM e a, e b, e c WHERE b.src::numeric = a.dst::numeric AND c.src::numeric = a.src::numeric AND c.dst::numeric = b.dst::numeric;
-- none
SELECT count(*) FROM e a, e b, e c WHERE b.src > a.dst AND c.src > a.src AND c.dst > b.dst AND a.w = 9 AND b.w = 9 AND c.w = 9;
SELECT a.src, a.ctid = a.ctid, b.tableoid = 'e'::regclass FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.ctid < b.ctid;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.xmin = b.xmin;

-- statements that write
UPDATE e SET w = e.w + 100 FROM e b, e c WHERE b.src = e.dst AND c.src = e.src AND c.dst = b.dst AND e.w = 3 AND e.s <> 'twice';
SELECT w, count(*) FROM e GROUP BY w;
UPDATE v SET kind = q.n FROM (SELECT a.src, count(*)::int AS n FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY a.src) q WHERE q.src = v.id;
SELECT * FROM v;
DELETE FROM e USING e b, e c WHERE b.src = e.dst AND c.src = e.src AND c.dst = b.dst AND e.w > 105;
SELECT count(*), sum(src), sum(dst) FROM e;
INSERT INTO e SELECT a.src, b.dst, 77, 'made' FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w = 2 GROUP BY 1, 2;
SELECT count(*), sum(src), sum(dst) FROM e WHERE w = 77;
WITH d AS (DELETE FROM e WHERE w = 77 RETURNING src, dst) SELECT count(*) FROM d a, d b, d c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
WITH d AS (INSERT INTO e VALUES (1, 2, 88, 'x'), (2, 3, 88, 'x'), (1, 3, 88, 'x') RETURNING src, dst) SELECT (SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w = 88), (SELECT count(*) FROM d a, d b, d c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst);
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w = 88;
CREATE TABLE made AS SELECT a.src AS x, a.dst AS y, b.dst AS z FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*), sum(x), sum(y * z) FROM made;
CREATE MATERIALIZED VIEW mat AS SELECT a.src AS x, count(*) AS n FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY a.src;
SELECT * FROM mat;
DELETE FROM e WHERE src = 1;
REFRESH MATERIALIZED VIEW mat;
SELECT * FROM mat;
INSERT INTO v SELECT a.src, 'again', 0 FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst ON CONFLICT (id) DO UPDATE SET name = v.name || '!' WHERE false;
MERGE INTO v USING (SELECT a.src AS id, count(*) AS n FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst GROUP BY a.src) q ON q.id = v.id WHEN MATCHED AND q.n > 5 THEN UPDATE SET kind = q.n WHEN NOT MATCHED THEN INSERT VALUES (q.id, 'new', q.n);
SELECT * FROM v;
MERGE INTO e t USING e b JOIN e c ON c.dst = b.dst ON b.src = t.dst AND c.src = t.src AND t.w = 5 AND b.w = 4 AND c.w = 3 WHEN MATCHED THEN UPDATE SET w = 500;
SELECT w, count(*) FROM e GROUP BY w;

-- prepared statements, cursors, functions
PREPARE t1(int) AS SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w > $1;
EXECUTE t1(3);
EXECUTE t1(NULL);
EXECUTE t1(0);
EXECUTE t1(9);
EXECUTE t1(5);
EXECUTE t1(4);
EXECUTE t1(3);
EXECUTE t1(NULL);
PREPARE t2(bigint) AS SELECT a.dst, b.dst FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src = $1;
EXECUTE t2(3);
EXECUTE t2(4);
EXECUTE t2(5);
EXECUTE t2(6);
EXECUTE t2(7);
EXECUTE t2(8);
EXECUTE t2(3);
PREPARE t3(int) AS SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND $1 = 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE t3(1);
EXECUTE t3(2);
EXECUTE t3(NULL);
EXECUTE t1(6);
EXECUTE t2(9);
PREPARE t4(int) AS SELECT count(*) FROM (SELECT 1 FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst LIMIT $1) q;
EXECUTE t4(0);
EXECUTE t4(5);
EXECUTE t4(NULL);
RESET plan_cache_mode;
DECLARE c1 CURSOR FOR SELECT a.src, a.dst, b.dst FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst ORDER BY 1, 2, 3;
FETCH 3 FROM c1;
MOVE 5 FROM c1;
FETCH 3 FROM c1;
CLOSE c1;
DECLARE c2 SCROLL CURSOR FOR SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
FETCH ALL FROM c2;
FETCH PRIOR FROM c2;
FETCH NEXT FROM c2;
FETCH FIRST FROM c2;
CLOSE c2;
CREATE FUNCTION triangles(n int) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w >= n';
SELECT n, triangles(n) FROM generate_series(0, 9) n;
CREATE FUNCTION triangles_of(id bigint) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint := 0; r record; BEGIN FOR r IN SELECT a.dst FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.src = id LOOP n := n + r.dst; END LOOP; RETURN n; END $$;
SELECT id, triangles_of(id) FROM v;
DO $$ BEGIN PERFORM count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst; IF NOT FOUND THEN RAISE 'nothing'; END IF; END $$;
SELECT 10 / (a.w - a.w) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND 10 / (a.w - a.w) > 1;
SELECT count(*) FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.nothing = 1;

-- recursion
WITH RECURSIVE r (x, n) AS (SELECT a.src, 1 FROM e a, e b, e c WHERE b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND a.w = 1 UNION SELECT e.dst, 1 FROM r JOIN e ON e.src = r.x) SELECT * FROM r;
WITH RECURSIVE r (x, n) AS (SELECT 5::bigint, 0 UNION SELECT b.dst, r.n + 1 FROM r, e a, e b, e c WHERE a.src = r.x AND b.src = a.dst AND c.src = a.src AND c.dst = b.dst AND r.n < 3) SELECT * FROM r;
WITH RECURSIVE r (src, dst, n) AS (SELECT src, dst, 0 FROM e WHERE w = 2 UNION SELECT a.src, b.dst, r.n + 1 FROM r, e a, e b WHERE r.src = a.src AND a.dst = b.src AND b.dst = r.dst AND r.n < 2) SELECT * FROM r;
