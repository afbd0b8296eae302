"""Generated queries around cyclic joins.

Owns: patterns of three to seven relations over two to six variables, the ways
to write them down, what is asked of them, and what may stand beside and
around them.

Must not: talk to a server, or know what the extension does with a query.
"""

from tables import literal

# Directed patterns by pairs of variables; others are made at random.
PATTERNS = (
    ((0, 1), (1, 2), (2, 0)),
    ((0, 1), (1, 2), (0, 2)),
    ((0, 1), (1, 2), (0, 2)),
    ((0, 1), (1, 2), (2, 3), (3, 0)),
    ((0, 1), (2, 1), (2, 3), (0, 3)),
    ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)),
    ((0, 1), (1, 2), (0, 2), (1, 3), (3, 2)),                   # diamond
    ((0, 1), (1, 2), (0, 2), (0, 3), (3, 4), (0, 4)),           # bow-tie
    ((0, 1), (1, 2), (0, 2), (2, 3)),                           # lollipop
    ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0)),
    ((0, 1), (1, 0), (0, 1)),                                   # acyclic
    ((0, 1), (1, 2), (2, 3)),                                   # acyclic
)


def random_pattern(rng):
    if rng.random() < 0.6:
        edges = list(rng.choice(PATTERNS))
    else:
        n = rng.choice((3, 3, 4, 4, 5, 6))
        edges = [(i, (i + 1) % n) for i in range(n)]
        for _ in range(rng.randrange(0, 3)):
            v = rng.randrange(n + 1)
            other = rng.randrange(n)
            if v != other:
                edges.append((v, other))
        if rng.random() < 0.1:
            v = rng.randrange(n)
            edges.append((v, v))            # a self-loop
        edges = edges[:7]
    if rng.random() < 0.3:
        edges = [e if rng.random() < 0.5 else e[::-1] for e in edges]
    if rng.random() < 0.3:
        rng.shuffle(edges)
    return edges


def is_cyclic(edges):
    """By ear removal over the sets of variables."""
    sets = [set(e) for e in edges]
    changed = True
    while changed and sets:
        changed = False
        for i, s in enumerate(sets):
            for v in list(s):
                if not any(v in t for j, t in enumerate(sets) if j != i):
                    s.discard(v)
                    changed = True
            if not s or any(s <= t for j, t in enumerate(sets) if j != i):
                del sets[i]
                changed = True
                break
    return bool(sets)


class Query:
    """What to run; see differential for what becomes of it.

    setup, teardown: statements around it; sql: the query; compare: "bag",
    "list", or "limit" (then whole is the query without its limit and limit,
    offset its numbers); explain: what to show the plan of; core: whether the
    join itself should be found.
    """

    def __init__(self, world, rng):
        self.world = world
        self.rng = rng
        self.setup = []
        self.parameter = None
        self.compare = "bag"
        self.whole = None
        self.limit = self.offset = 0
        self.fetches = None
        self.core = True
        for _ in range(20):
            self.edges = random_pattern(rng)
            if self.expected_rows() < 5000:
                break
        self.build()

    def expected_rows(self):
        """Of the pattern, if keys were even."""
        size = max(len(t.rows) for t in self.world.tables)
        variables = {v for e in self.edges for v in e}
        return size ** len(self.edges) / self.world.domain ** (
            2 * len(self.edges) - len(variables))

    # -- the join -------------------------------------------------------------

    def build(self):
        rng = self.rng
        world = self.world
        self.ctes = []
        same = rng.random() < 0.55              # all atoms over one relation
        one = self.relation()
        self.atoms = []
        variables = {}
        mixed = world.families[0] != world.families[1]
        second = {v for v in range(8) if rng.random() < (0.3 if mixed else 0.15)}
        for i, (u, v) in enumerate(self.edges):
            columns = []
            for x in (u, v):
                if x in second:
                    columns.append(3 if 2 in columns else 2)
                elif columns == [0]:
                    columns.append(1)
                else:
                    columns.append(0)
            alias = "abcdefg"[i]
            if columns == [0, 2] or columns == [2, 0] or rng.random() < 0.1:
                if rng.random() < 0.5:          # other columns of the same families
                    columns = [c ^ 1 for c in columns]
            relation = one if same and rng.random() < 0.93 else self.relation()
            self.atoms.append((alias, relation, columns))
            for x, c in zip((u, v), columns):
                variables.setdefault(x, []).append((alias, c))
        self.variables = variables
        self.classes = {}                       # expression to its variable
        self.ambiguous = any(world.ambiguous(c) for members in variables.values()
                             for _, c in members if len(members) > 1)
        if not is_cyclic(self.edges) or self.ambiguous:
            self.core = False
        quals = []                              # (text, aliases it needs)
        for members in variables.values():
            order = members[:]
            rng.shuffle(order)
            for j in range(1, len(order)):
                quals.append(self.equality(order[j], order[rng.randrange(j)]))
            if len(order) > 2 and rng.random() < 0.2:
                quals.append(self.equality(order[0], order[-1]))
        self.extra_quals(quals)
        self.place(quals)
        self.besides()
        self.select()
        self.wrap()

    def relation(self):
        """A name, or something in parentheses, with k1 .. k4, w and s."""
        rng = self.rng
        world = self.world
        name = rng.choice(world.tables).name
        other = rng.choice(world.tables).name
        r = rng.random()
        unclear = any(world.ambiguous(c) for c in (0, 2))
        columns = "k1, k2, k3, k4, w, s"
        if r < 0.72:
            return name
        if r < 0.76:
            return "(SELECT * FROM %s)" % name
        if r < 0.80:
            return "(SELECT %s FROM %s WHERE w %% 3 <> 0)" % (columns, name)
        if r < 0.83:
            return "(SELECT %s FROM %s OFFSET 0)" % (columns, name)
        if r < 0.86:
            return "(SELECT %s FROM %s UNION ALL SELECT %s FROM %s)" % (
                columns, name, columns, other)
        if r < 0.88 and not unclear:
            return "(SELECT DISTINCT %s FROM %s)" % (columns, name)
        if r < 0.90 and not unclear:
            return ("(SELECT k1, k2, k3, k4, max(w) AS w, min(s) AS s FROM %s"
                    " GROUP BY k1, k2, k3, k4)" % name)
        if r < 0.95:
            cte = "c%d" % len(self.ctes)
            self.ctes.append("%s AS %s(SELECT %s FROM %s)" % (
                cte, rng.choice(("", "MATERIALIZED ", "NOT MATERIALIZED ")), columns, name))
            return cte
        table = next(t for t in world.tables if t.name == name)
        rows = table.rows[:6]
        if not rows:
            return name
        types = [t.split(" COLLATE")[0] for t in table.types] + ["int4", "text"]
        plain = ", ".join(
            "(%s)" % ", ".join("%s::%s" % (literal(v).strip(), t) for v, t in zip(row, types))
            for row in rows)
        if any("COLLATE" in t for t in table.types):
            return name
        return "(SELECT * FROM (VALUES %s) AS v(%s))" % (plain, columns)

    @staticmethod
    def column(member):
        return "%s.k%d" % (member[0], member[1] + 1)

    def equality(self, a, b):
        if self.rng.random() < 0.5:
            a, b = b, a
        return "%s = %s" % (self.column(a), self.column(b)), {a[0], b[0]}

    def any_key(self, usable=lambda members: True):
        candidates = [m for m in self.variables.values() if usable(m)]
        if not candidates:
            return None
        return self.rng.choice(self.rng.choice(candidates))

    def constant(self, member):
        table = self.rng.choice(self.world.tables)
        values = [row[member[1]] for row in table.rows if row[member[1]] is not None]
        return literal(self.rng.choice(values)).strip() if values else None

    def extra_quals(self, quals):
        rng = self.rng
        aliases = [a for a, _, _ in self.atoms]
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 3))):
            a, b = rng.choice(aliases), rng.choice(aliases)
            n = rng.randrange(10)
            r = rng.random()
            if r < 0.3:                         # filters
                if self.parameter is None and rng.random() < 0.3:
                    self.parameter = n
                    quals.append(("%s.w >= {p}" % a, {a}))
                else:
                    quals.append((rng.choice((
                        "%s.w > %d", "%s.w <> %d", "%s.w %% 4 <> %d", "%s.s < 's%d'",
                        "%s.w IS NOT NULL AND %d >= 0", "coalesce(%s.w, 3) < %d",
                        "%s.k1 IS NOT NULL AND %d < 11")) % (a, n), {a}))
                continue
            x, y = self.any_key(), self.any_key()
            if r < 0.6 and x[1] // 2 == y[1] // 2 and self.column(x) != self.column(y):
                operator = rng.choice(("<", "<", "<=", "<>", "<>", ">", ">=", "IS DISTINCT FROM"))
                quals.append(("%s %s %s" % (self.column(x), operator, self.column(y)),
                              {x[0], y[0]}))
            elif r < 0.8 and a != b:
                quals.append((rng.choice((
                    "%s.w < %s.w", "%s.w <> %s.w", "%s.w + 1 >= %s.w", "%s.s <= %s.s",
                    "(%s.w > 4 OR %s.w > 4)", "%s.w * %s.w < 30",
                    "%s.s || 'x' <> %s.s")) % (a, b), {a, b}))
            elif r < 0.83 and a != b:
                quals.append(("%s.w = %s.w" % (a, b), {a, b}))
                self.core = False
            elif r < 0.87:
                c = self.constant(x)
                if c is not None:
                    quals.append(("%s = %s" % (self.column(x), c), {x[0]}))
                    self.core = False
            elif r < 0.9 and x[1] // 2 == y[1] // 2 and x[0] != y[0]:
                quals.append(("(%s < %s OR %s.w = %s.w)" % (
                    self.column(x), self.column(y), x[0], y[0]), {x[0], y[0]}))
            elif r < 0.93:
                quals.append((rng.choice((
                    "EXISTS (SELECT 1 FROM {t} z WHERE z.w = %s.w)",
                    "%s.w IN (SELECT z.w FROM {t} z)",
                    "NOT EXISTS (SELECT 1 FROM {t} z WHERE z.w = %s.w AND z.s = 's1')",
                    "%s.w < (SELECT max(z.w) FROM {t} z)",
                    "%s.w <> ALL (SELECT z.w FROM {t} z WHERE z.w IS NOT NULL AND z.w > 6)"
                )).replace("{t}", rng.choice(self.world.tables).name) % a, {a}))
                self.core = False
            elif r < 0.96:
                quals.append((rng.choice(("now() > '2000-01-01'", "1 = 1",
                                          "current_setting('server_version_num')::int > 0",
                                          "(SELECT true)", "now() < '2000-01-01'")), set()))
                self.core = False

    # -- writing it down --------------------------------------------------------

    def place(self, quals):
        rng = self.rng
        atoms = [("%s %s" % (r, a) if not r.startswith("(") else "%s AS %s" % (r, a), a)
                 for a, r, _ in self.atoms]
        style = rng.random()
        if style < 0.4:
            rng.shuffle(quals)
            self.source = ", ".join(t for t, _ in atoms)
            self.where = [q for q, _ in quals]
            return
        where = []
        left = quals[:]

        def conditions(known):
            on = []
            for q in left[:]:
                if q[1] <= known and q[1]:
                    left.remove(q)
                    (on if rng.random() < 0.85 else where).append(q[0])
            return on

        def join(first, second):
            (a, known), (b, more) = first, second
            known = known | more
            on = conditions(known)
            if not on:
                return "%s CROSS JOIN %s" % (a, b), known
            return "%s JOIN %s ON %s" % (a, b, " AND ".join(on)), known

        parts = [(t, {a}) for t, a in atoms]
        if style < 0.8:
            tree = parts[0]
            for part in parts[1:]:
                tree = join(tree, part)
        else:                                   # a bushy tree
            while len(parts) > 1:
                i = rng.randrange(len(parts) - 1)
                text, known = join(parts[i], parts[i + 1])
                parts[i:i + 2] = [("(%s)" % text, known)]
            tree = parts[0]
        self.source = tree[0]
        self.where = where + [q for q, _ in left]

    def besides(self):
        """Further relations, whose w can be shown."""
        rng = self.rng
        self.more = []
        if rng.random() > 0.22:
            return
        x = self.any_key()
        a = self.atoms[rng.randrange(len(self.atoms))][0]
        table = rng.choice(self.world.tables).name
        key = "z.k%d = %s" % (x[1] + 1, self.column(x))
        r = rng.random()
        bracket = "(%s)" % self.source if self.source.find(",") < 0 else None
        if r < 0.35 and "," not in self.source:
            self.source += " LEFT JOIN %s z ON %s%s" % (
                table, rng.choice((key, "z.w = %s.w" % a)),
                " AND z.s = 's2'" if rng.random() < 0.5 else "")
        elif r < 0.45 and bracket and not self.where:
            self.source = "%s z RIGHT JOIN %s ON z.w = %s.w" % (table, bracket, a)
        elif r < 0.6 and "," not in self.source:
            self.source += " JOIN %s z ON z.w = %s.w AND z.s = 's1'" % (table, a)
        elif r < 0.75:
            self.source += " CROSS JOIN (VALUES (1), (2)) AS z(w)"
        elif r < 0.85 and "," not in self.source:
            self.source += (" CROSS JOIN LATERAL (SELECT count(*) AS w FROM %s y WHERE y.w = %s.w"
                            " AND y.s = 's1') z" % (table, a))
        else:
            return
        self.core = False
        self.more = ["z.w"]

    def text(self, shown, tail=""):
        where = " WHERE " + " AND ".join(self.where) if self.where else ""
        return "SELECT %s FROM %s%s%s" % (shown, self.source, where, tail)

    # -- what is asked ------------------------------------------------------------

    def select(self):
        rng = self.rng
        keys = [self.column(rng.choice(m)) for m in self.variables.values()]
        clear = [self.column(m[0]) for m in self.variables.values()
                 if not self.world.ambiguous(m[0][1])]
        aliases = [a for a, _, _ in self.atoms]
        payload = ["%s.%s" % (rng.choice(aliases), rng.choice("ws")) for _ in range(2)] + self.more
        numbers = ["%s.w" % rng.choice(aliases) for _ in range(2)] + self.more
        r = rng.random()
        if r < 0.26:
            self.columns = 1
            return self.set(rng.choice(("count(*)", "count(*)", "count(*)", "count(1)",
                                        "count(*) + 1 AS n", "count(%s)" % rng.choice(keys),
                                        "count(*), 'x' AS x, count(*)")))
        if r < 0.38 and clear:
            g = rng.choice(clear)
            return self.set("%s, count(*)" % g, " GROUP BY %s%s" % (g, rng.choice((
                "", "", "", " HAVING count(*) > 1", " ORDER BY 2, 1"))))
        if r < 0.43:
            return self.set("count(*)", " GROUP BY %s" % rng.choice(keys))
        if r < 0.52:
            return self.set(", ".join(keys), alike=True)
        if r < 0.66:
            return self.set(", ".join(rng.sample(keys, min(2, len(keys))) + payload), alike=True)
        if r < 0.72:
            return self.set("%s, %s + 10 AS p, coalesce(%s, -1) AS r, (%s)::text || '!' AS t" % (
                rng.choice(keys), numbers[0], numbers[-1], rng.choice(keys)), alike=True)
        if r < 0.80:
            return self.set("count(*), sum(%s), min(%s), max(%s), count(DISTINCT %s)" % (
                numbers[0], numbers[-1], payload[0], payload[-1]))
        if r < 0.84 and clear:
            g = rng.choice(clear)
            return self.set("%s, sum(%s), count(*) FILTER (WHERE %s > 4)" % (
                g, numbers[0], numbers[-1]), " GROUP BY %s" % rng.choice((
                    g, g, "GROUPING SETS ((%s), ())" % g, "ROLLUP (%s)" % g)))
        if r < 0.88:
            n = rng.choice(("%s" % payload[0], "%s, %s" % tuple((clear + payload)[:2])))
            return self.set("DISTINCT " + n)
        if r < 0.91 and clear:
            return self.set("%s, count(*) OVER (PARTITION BY %s) AS n" % (payload[0], clear[0]))
        if r < 0.94:
            return self.set("%s, %s" % (rng.choice(keys), rng.choice(aliases)), alike=True)
        if r < 0.97:
            return self.set("%s.*" % rng.choice(aliases), alike=True)
        return self.set("1 AS one", alike=True)

    def set(self, shown, tail="", alike=False):
        self.sql = self.text(shown, tail)
        self.plain = alike                      # rows of the join, one for one
        self.simple = not tail and "DISTINCT" not in shown

    # -- what stands around it -----------------------------------------------------

    def wrap(self):
        rng = self.rng
        if self.ctes:
            used = "WITH " + ", ".join(self.ctes) + " "
        else:
            used = ""
        s = self.sql
        self.sql = used + s
        r = rng.random()
        if r < 0.08 and self.plain:
            self.compare = "list"
            self.sql = used + "SELECT q.* FROM (%s) q ORDER BY q::text%s" % (s, rng.choice((
                "", " LIMIT 7", " LIMIT 3 OFFSET 2", " DESC")))
            return
        if r < 0.2 and self.plain:
            self.compare = "limit"
            self.whole = self.sql
            self.limit = rng.choice((0, 1, 1, 5, 20))
            self.offset = rng.choice((0, 0, 0, 2))
            self.sql += " LIMIT %d" % self.limit + (
                " OFFSET %d" % self.offset if self.offset else "")
        elif r < 0.26:
            self.sql = used + "SELECT %sEXISTS (%s)" % (rng.choice(("", "NOT ")), s)
        elif r < 0.31:
            self.sql = used + "SELECT count(*), md5(string_agg(q::text, '|' ORDER BY q::text)) FROM (%s OFFSET 0) q" % s
        elif r < 0.35:
            self.sql = "WITH %s SELECT * FROM core" % ", ".join(
                self.ctes + ["core AS %s(%s)" % (rng.choice(("", "MATERIALIZED ")), s)])
        elif r < 0.40:
            self.sql = used + "(%s) UNION ALL (%s)" % (s, s)
        elif r < 0.43 and not self.ambiguous:
            self.sql = used + "SELECT q::text FROM (%s) q %s SELECT w::text FROM %s" % (
                s, rng.choice(("UNION", "EXCEPT", "INTERSECT")),
                rng.choice(self.world.tables).name)
        elif r < 0.47:
            self.setup.append("CREATE TEMP VIEW pj_view AS SELECT q::text AS q FROM (%s) q" %
                              self.sql.replace("{p}", str(self.parameter)))
            self.parameter = None
            self.sql = "SELECT * FROM pj_view"
        elif r < 0.51 and self.simple:
            self.setup.append("CREATE TEMP TABLE pj_made AS SELECT q::text AS q FROM (%s) q" %
                              self.sql.replace("{p}", str(self.parameter)))
            self.parameter = None
            self.sql = "SELECT * FROM pj_made"
        elif r < 0.56 and self.simple and not self.world.wide:  # rescanned for each outer row
            alias = self.atoms[0][0]
            t = rng.choice(self.world.tables).name
            more = " %s %s.w %s o.w" % ("AND" if self.where else "WHERE", alias,
                                        rng.choice(("<=", "=", ">", "<>")))
            self.core = False                   # no parallel plans, either
            inner = self.text("count(*)").rstrip() + more
            self.sql = used + rng.choice((
                "SELECT o.w, ({inner}) AS n FROM {t} o",
                "SELECT o.w, o.s FROM {t} o WHERE ({inner}) > 2",
                "SELECT o.w, l.* FROM {t} o CROSS JOIN LATERAL ({inner}) l"
            )).replace("{t}", t).replace("{inner}", inner)
        elif r < 0.62 and self.compare == "bag":
            self.fetches = rng.choice(("SCROLL", "NO SCROLL", "plain"))
