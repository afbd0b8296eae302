/*
 * test/unit/join_stage_test.c
 *	  Joins planned as passes over levels: what a plan says, gone through
 *	  literally, is the answer of nested loops; in every mode, whatever order of
 *	  variables the relations' sizes make it choose.  And shapes whose stages are
 *	  known.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trie/join_stage.h"
#include "trie_case.h"
#include "trie_query.h"

enum
{
	T_PLAN = 3,
	T_FAIL
};

/* Different keys of all relations are fewer than this. */
#define KEYS	64

/* Of a level that is counted only, which nobody may ask for. */
#define UNKNOWN	UINT32_MAX

/* A plan, its query's relations by number of key, and what stages came to. */
typedef struct Passes
{
	const Case *c;
	const PpStagePlan *plan;
	const PpStage *stage;
	uint32_t	nkeys;
	int64_t		key[KEYS];
	uint32_t	rows[MAX_RELATIONS][KEYS][KEYS];
	Uint128		counted[PP_JOIN_MAX_VARIABLES][KEYS];	/* of each stage; [0] if not by value */
	uint32_t	value[PP_JOIN_MAX_VARIABLES];	/* of levels */
	uint32_t	used;			/* tries */
	uint64_t	met;			/* ROWS: assignments, atoms' rows told apart */
} Passes;

static int
compare_keys(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

static uint32_t
number_of(const Passes *p, int64_t key)
{
	uint32_t	i = 0;

	while (p->key[i] != key)
		i++;
	return i;
}

static void
number_keys(Passes *p, const Case *c)
{
	int64_t		all[KEYS * 8];
	uint32_t	n = 0;

	for (uint32_t r = 0; r < c->query.nrelations; r++)
		for (uint64_t i = 0; i < 2 * c->relations[r].nrows; i++)
			all[n++] = c->relations[r].pairs[i];
	qsort(all, n, sizeof(int64_t), compare_keys);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || all[i] != all[i - 1])
			p->key[p->nkeys++] = all[i];
	for (uint32_t r = 0; r < c->query.nrelations; r++)
		for (uint64_t i = 0; i < c->relations[r].nrows; i++)
			p->rows[r][number_of(p, c->relations[r].pairs[2 * i])]
				[number_of(p, c->relations[r].pairs[2 * i + 1])]++;
}

/* Rows of a trie with these keys. */
static uint32_t
entry(Passes *p, uint32_t trie, uint32_t x, uint32_t y)
{
	const PpStageTrie *t = &p->plan->trie[trie];

	EXPECT(trie < p->plan->ntries, "trie %u", trie);
	p->used |= UINT32_C(1) << trie;
	return t->order == PP_STAGE_BACKWARD ? p->rows[t->relation][y][x] : p->rows[t->relation][x][y];
}

static uint32_t
value_of(const Passes *p, uint32_t level, uint32_t reader)
{
	EXPECT(level < reader && p->value[level] < p->nkeys, "level %u reads %u", reader, level);
	return level < reader && p->value[level] < p->nkeys ? p->value[level] : 0;
}

/* How often a value counts at a level, levels below left out. */
static Uint128
weigh(Passes *p, uint32_t level, uint32_t x)
{
	const PpStageLevel *l = &p->stage->level[level];
	Uint128		weight = 1;

	for (uint32_t h = 0; h < l->nheads; h++)
	{
		bool		there = false;

		for (uint32_t y = 0; y < p->nkeys; y++)
			there |= entry(p, p->stage->head[l->first_head + h], x, y) > 0;
		if (!there)
			return 0;
	}
	for (uint32_t i = 0; i < l->nresiduals; i++)
	{
		const PpStageResidual *r = &p->stage->residual[l->first_residual + i];

		if (!query_compares((PpJoinCompare) r->op, x, value_of(p, r->level, level)))
			return 0;
	}
	for (uint32_t k = 0; k < l->nlists; k++)
	{
		const PpStageList *list = &p->stage->list[l->first_list + k];

		EXPECT((p->plan->trie[list->trie].order == PP_STAGE_LOOPS) == (list->loops != 0), "loops");
		weight *= entry(p, list->trie, list->loops ? x : value_of(p, list->from, level), x);
	}
	for (uint32_t f = 0; f < l->nfactors; f++)
	{
		EXPECT(p->plan->stage[l->factor[f]].by_value &&
			   &p->plan->stage[l->factor[f]] < p->stage, "factor %u", l->factor[f]);
		weight *= p->counted[l->factor[f]][x];
	}
	return weight;
}

static Uint128
count_from(Passes *p, uint32_t level)
{
	const PpStageLevel *l = &p->stage->level[level];
	Uint128		count = 0;

	if (level == p->stage->nlevels)
		return 1;
	for (uint32_t x = 0; x < p->nkeys; x++)
	{
		Uint128		weight = weigh(p, level, x);

		if (weight == 0)
			continue;
		p->value[level] = x;
		count += l->leaf ? weight : weight * count_from(p, level + 1);
	}
	p->value[level] = UNKNOWN;
	return l->leaf && count > 0 ? count * count_from(p, level + 1) : count;
}

static void
count_stage(Passes *p, uint32_t s)
{
	p->stage = &p->plan->stage[s];
	EXPECT(p->stage->nlevels > 0 && !p->stage->level[0].leaf, "level 0 is a leaf");
	if (!p->stage->by_value)
	{
		p->counted[s][0] = count_from(p, 0);
		return;
	}
	for (uint32_t x = 0; x < p->nkeys; x++)
	{
		Uint128		weight = weigh(p, 0, x);

		p->value[0] = x;
		p->counted[s][x] = weight == 0 ? 0 : weight * count_from(p, 1);
	}
}

/* Is a row of the case's answer what the plan's only stage lets through? */
static bool
lets_through(Passes *p, const int64_t *tuple)
{
	const PpStage *stage = p->stage;

	for (uint32_t l = 0; l < stage->nlevels; l++)
	{
		uint32_t	x = number_of(p, tuple[stage->level[l].variable]);

		if (weigh(p, l, x) == 0)
			return false;
		p->value[l] = x;
		for (uint32_t k = 0; k < stage->level[l].nlists; k++)
		{
			const PpStageList *list = &stage->list[stage->level[l].first_list + k];
			const PpStageTrie *trie = &p->plan->trie[list->trie];
			const PpJoinRelation *relation = &p->c->relations[trie->relation];
			const int64_t *pair = &relation->pairs[2 * tuple[p->c->query.nvariables + list->atom]];
			uint32_t	back = trie->order == PP_STAGE_BACKWARD;

			if (number_of(p, pair[1 - back]) != x ||
				number_of(p, pair[back]) != (list->loops ? x : p->value[list->from]))
				return false;
		}
	}
	return true;
}

/* Assignments of a plan of mode ROWS: as many as there are, and the same. */
static void
check_rows(Passes *p)
{
	const PpJoinQuery *q = &p->c->query;
	bool		all = true;
	uint32_t	atoms = 0;

	p->stage = &p->plan->stage[0];
	EXPECT(p->plan->nstages == 1 && p->plan->nconstants == 0 && !p->stage->by_value &&
		   p->stage->nlevels == q->nvariables, "stages of rows");
	for (uint32_t l = 0; l < p->stage->nlevels; l++)
	{
		EXPECT(!p->stage->level[l].leaf && p->stage->level[l].nfactors == 0 &&
			   p->stage->level[l].variable == p->plan->order[l], "level %u", l);
		for (uint32_t k = 0; k < p->stage->level[l].nlists; k++)
			atoms += (p->stage->list[p->stage->level[l].first_list + k].atom < q->natoms);
	}
	EXPECT(atoms == q->natoms, "%u lists of %u atoms", atoms, q->natoms);
	for (uint64_t t = 0; t < p->c->n; t++)
		all &= lets_through(p, p->c->tuples + t * p->c->width);
	EXPECT(all, "a row is left out");
	count_stage(p, 0);
	EXPECT(p->counted[0][0] == p->c->n, "%" PRIu64 " rows, not %" PRIu64,
		   (uint64_t) p->counted[0][0], p->c->n);
}

static void
check_counts(Passes *p)
{
	const PpJoinQuery *q = &p->c->query;
	const uint32_t last = p->plan->nstages - 1;
	Uint128		factor = 1;

	for (uint32_t s = 0; s < last; s++)
		count_stage(p, s);
	for (uint32_t i = 0; i < p->plan->nconstants; i++)
	{
		EXPECT(p->plan->constant[i] < last && !p->plan->stage[p->plan->constant[i]].by_value,
			   "constant %u", i);
		factor *= p->counted[p->plan->constant[i]][0];
	}
	count_stage(p, last);
	EXPECT(p->stage->by_value == (q->mode == PP_JOIN_GROUPS), "the last stage");
	if (q->mode == PP_JOIN_COUNT)
		EXPECT(p->counted[last][0] * factor == p->c->n, "%" PRIu64 ", not %" PRIu64,
			   (uint64_t) (p->counted[last][0] * factor), p->c->n);
	else
	{
		EXPECT(p->stage->level[0].variable == q->group, "the group's variable");
		for (uint32_t x = 0; x < p->nkeys; x++)
		{
			uint64_t	want = 0;

			for (uint64_t t = 0; t < p->c->n; t++)
				want += p->c->tuples[t * p->c->width + q->group] == p->key[x];
			EXPECT(p->counted[last][x] * factor == want, "key %u: %" PRIu64 ", not %" PRIu64, x,
				   (uint64_t) (p->counted[last][x] * factor), want);
		}
	}
}

static void
check_plan(const Case *c, const PpStagePlan *plan)
{
	Passes	   *p = calloc(1, sizeof(Passes));

	if (p == NULL)
		abort();
	p->c = c;
	p->plan = plan;
	number_keys(p, c);
	for (uint32_t l = 0; l < PP_JOIN_MAX_VARIABLES; l++)
		p->value[l] = UNKNOWN;
	if (plan->empty)
		EXPECT(c->n == 0, "said to be empty");
	else if (c->query.mode == PP_JOIN_ROWS)
		check_rows(p);
	else
		check_counts(p);
	EXPECT(plan->nshared + plan->ntries == c->query.natoms, "%u and %u tries", plan->ntries,
		   plan->nshared);
	free(p);
}

static void
random_sides(PpJoinSides *sides, UnitRandom *r)
{
	for (uint32_t i = 0; i < MAX_RELATIONS; i++)
	{
		for (uint32_t s = 0; s < 2; s++)
		{
			sides[i].nkeys[s] = 1 + unit_below(r, 1000);
			sides[i].length[s] = 1 + unit_below(r, 100);
		}
		sides[i].nloops = unit_below(r, 10);
	}
}

static void
test_plans(void)
{
	const uint64_t n = unit_iterations(1500);
	uint64_t	factors = 0;
	uint64_t	constants = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_PLAN, i);
		Case		c;

		unit_case("query %" PRIu64, i);
		make_case(&c, &r);
		for (uint32_t m = 0; set_mode(&c, m); m++)
		{
			UnitHeap	heap = {0};
			const PpAlloc alloc = unit_heap_alloc(&heap);
			PpJoinSides sides[MAX_RELATIONS];
			PpStagePlan plan;
			PpJoinStatus status;

			random_sides(sides, &r);
			status = pp_stages_plan(&c.query, sides, &alloc, &plan);
			EXPECT(status == PP_JOIN_OK, "mode %u: status %d", m, (int) status);
			EXPECT(heap.live_blocks == 0, "memory is left");
			if (status != PP_JOIN_OK)
				continue;
			check_plan(&c, &plan);
			constants += plan.nconstants > 0;
			for (uint32_t s = 0; s < plan.nstages; s++)
				for (uint32_t l = 0; l < plan.stage[s].nlevels; l++)
					factors += plan.stage[s].level[l].nfactors > 0;
		}
		drop_case(&c);
	}
	unit_case("what the plans were");
	EXPECT(n < 100 || (factors > n / 4 && constants > 10), "%" PRIu64 " factors, %" PRIu64 " constants",
		   factors, constants);
}

/* ---------- shapes ---------- */

/* Plans atoms of one relation of so many keys, given as pairs of variables. */
static void
plan_shape(PpStagePlan *plan, uint32_t nvariables, const uint8_t (*edge)[2], uint32_t natoms,
		   uint32_t nkeys)
{
	static const int64_t pair[2] = {1, 2};
	const PpJoinRelation relation = {pair, 1};
	UnitHeap	heap = {0};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	PpJoinSides sides = {{nkeys, nkeys}, {20, 20}, 0};
	PpJoinAtom	atoms[16];
	PpJoinQuery q;

	memset(&q, 0, sizeof(q));
	for (uint32_t a = 0; a < natoms; a++)
	{
		atoms[a].relation = 0;
		atoms[a].variable[0] = edge[a][0];
		atoms[a].variable[1] = edge[a][1];
	}
	q.nvariables = nvariables;
	q.natoms = natoms;
	q.nrelations = 1;
	q.atoms = atoms;
	q.relations = &relation;
	q.simd = PP_SIMD_LEVELS;
	EXPECT(pp_stages_plan(&q, &sides, &alloc, plan) == PP_JOIN_OK && heap.live_blocks == 0, "no plan");
}

static void
test_shapes(void)
{
	static const uint8_t triangle[][2] = {{0, 1}, {1, 2}, {0, 2}};
	static const uint8_t clique[][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
	static const uint8_t bow[][2] = {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {3, 4}, {0, 4}};
	static const uint8_t kite[][2] = {{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}};
	static const uint8_t apart[][2] = {{0, 1}, {1, 2}, {0, 2}, {3, 4}, {4, 5}, {3, 5}};
	PpStagePlan plan;
	const PpStage *last;

	unit_case("a triangle: two levels and a leaf");
	plan_shape(&plan, 3, triangle, 3, 1000);
	last = &plan.stage[plan.nstages - 1];
	EXPECT(plan.nstages == 1 && last->nlevels == 3 && !last->level[1].leaf &&
		   last->level[2].leaf && last->level[2].nlists == 2, "%u stages", plan.nstages);

	unit_case("a clique of four: three levels and a leaf");
	plan_shape(&plan, 4, clique, 6, 1000);
	last = &plan.stage[plan.nstages - 1];
	EXPECT(plan.nstages == 1 && last->nlevels == 4 && !last->level[2].leaf &&
		   last->level[3].leaf && last->level[3].nlists == 3, "%u stages", plan.nstages);

	unit_case("two triangles at a vertex: a stage by value, of which a level is the product");
	plan_shape(&plan, 5, bow, 6, 1000);
	last = &plan.stage[plan.nstages - 1];
	EXPECT(plan.order[0] == 0 && plan.nstages == 2 && last->nlevels == 1 &&
		   last->level[0].nfactors == 2 && last->level[0].factor[0] == 0 &&
		   last->level[0].factor[1] == 0 && plan.stage[0].by_value &&
		   plan.stage[0].nlevels == 3 && plan.stage[0].level[2].leaf, "%u stages", plan.nstages);

	unit_case("two triangles at an edge: two leaves");
	plan_shape(&plan, 4, kite, 5, 40);
	last = &plan.stage[plan.nstages - 1];
	EXPECT(plan.nstages == 1 && last->nlevels == 4 && last->level[2].leaf && last->level[3].leaf,
		   "%u stages", plan.nstages);

	unit_case("two triangles apart: a constant");
	plan_shape(&plan, 6, apart, 6, 1000);
	EXPECT(plan.nstages == 2 && plan.nconstants == 1 && plan.constant[0] == 0 &&
		   !plan.stage[0].by_value && plan.stage[0].nlevels == 3 && plan.stage[1].nlevels == 3,
		   "%u stages", plan.nstages);
}

static void
test_failures(void)
{
	UnitRandom	r = unit_random(T_FAIL, 0);
	PpJoinSides sides[MAX_RELATIONS];
	PpStagePlan plan;
	Case		c;

	make_case(&c, &r);
	(void) set_mode(&c, 0);
	random_sides(sides, &r);
	for (uint64_t at = 1;; at++)
	{
		UnitHeap	heap = {0};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		PpJoinStatus status;

		unit_case("allocation %" PRIu64 " fails", at);
		heap.fail_at = at;
		status = pp_stages_plan(&c.query, sides, &alloc, &plan);
		EXPECT(status == (heap.failed ? PP_JOIN_NO_MEMORY : PP_JOIN_OK), "status %d", (int) status);
		EXPECT(heap.live_blocks == 0, "memory is left");
		if (!heap.failed)
			break;
	}
	unit_case("a query that is none");
	c.query.nvariables = 0;
	EXPECT(pp_stages_plan(&c.query, sides, NULL, &plan) == PP_JOIN_INVALID, "planned");
	drop_case(&c);
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "join_stage_test");
	test_plans();
	test_shapes();
	test_failures();
	return unit_end();
}
