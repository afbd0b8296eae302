/*
 * test/unit/trie_case.c
 *	  Random relations and patterns for the join engine, and their answers by
 *	  nested loops.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trie_case.h"
#include "trie_query.h"

/* Queries with larger answers get smaller relations. */
#define MAX_ANSWER		20000

int64_t
make_key(uint32_t style, uint32_t d)
{
	switch (style)
	{
		case 0:
			return (int64_t) d - 2;
		case 1:
			return (int64_t) d * 29 + 1000;
		default:
			if (d == 0)
				return INT64_MAX;
			if (d == 1)
				return INT64_MIN;
			return (int64_t) (d * UINT64_C(0x9e3779b97f4a7c15));
	}
}

static void
make_relation(Case *c, UnitRandom *r, uint32_t which, uint32_t style, uint32_t domain,
			  uint32_t nrows, uint32_t shape)
{
	int64_t    *pair = c->pairs[which] = unit_malloc((4 * (size_t) nrows + 2) * sizeof(int64_t));
	uint32_t	n = 0;

	for (uint32_t i = 0; i < nrows; i++)
	{
		uint32_t	a = unit_below(r, domain);
		uint32_t	b = unit_below(r, domain);
		bool		there = false;

		if (shape & 1)			/* skew */
			a = unit_below(r, a + 1);
		if (shape & 32)
			b = unit_below(r, b + 1);
		if ((shape & 2) && a == b)	/* no loops */
			continue;
		if ((shape & 4) && (make_key(style, a) > make_key(style, b)) == !(shape & 64))
		{
			uint32_t	swap = a;	/* increasing, or decreasing */

			a = b;
			b = swap;
		}
		for (uint32_t j = 0; j < n && (shape & 8); j++)	/* no duplicates */
			there |= pair[2 * j] == make_key(style, a) && pair[2 * j + 1] == make_key(style, b);
		if (there)
			continue;
		pair[2 * n] = make_key(style, a);
		pair[2 * n++ + 1] = make_key(style, b);
		if ((shape & 16) && a != b)	/* symmetric */
		{
			pair[2 * n] = make_key(style, b);
			pair[2 * n++ + 1] = make_key(style, a);
		}
	}
	c->relations[which].pairs = pair;
	c->relations[which].nrows = n;
}

/* Nested loops over the rows of the atoms, from atom number a on. */
static void
nested_loops(Case *c, uint32_t a, const int64_t *value, uint32_t known, uint32_t *rows)
{
	const PpJoinQuery *q = &c->query;

	if (c->n > MAX_ANSWER)
		return;
	if (a == q->natoms)
	{
		int64_t    *out;

		for (uint32_t i = 0; i < q->nresiduals; i++)
			if (!query_compares(q->residuals[i].op, value[q->residuals[i].left],
								value[q->residuals[i].right]))
				return;
		if (c->n == c->room)
		{
			c->room = 2 * c->room + 64;
			c->tuples = realloc(c->tuples, c->room * c->width * sizeof(int64_t));
			if (c->tuples == NULL)
				abort();
		}
		out = c->tuples + c->n++ * c->width;
		for (uint32_t v = 0; v < q->nvariables; v++)
			*out++ = value[v];
		for (uint32_t i = 0; i < q->natoms; i++)
			*out++ = rows[i];
		return;
	}
	for (uint64_t i = 0; i < q->relations[q->atoms[a].relation].nrows; i++)
	{
		const int64_t *pair = &q->relations[q->atoms[a].relation].pairs[2 * i];
		int64_t		bound[PP_JOIN_MAX_VARIABLES];
		uint32_t	now = known;
		bool		fits = true;

		memcpy(bound, value, sizeof(bound));
		for (uint32_t s = 0; s < 2; s++)
		{
			uint32_t	v = q->atoms[a].variable[s];

			fits &= !(now >> v & 1) || bound[v] == pair[s];
			bound[v] = pair[s];
			now |= 1u << v;
		}
		rows[a] = (uint32_t) i;
		if (fits)
			nested_loops(c, a + 1, bound, now, rows);
	}
}

static uint32_t tuple_width;

static int
compare_tuples(const void *a, const void *b)
{
	const int64_t *x = a;
	const int64_t *y = b;

	for (uint32_t i = 0; i < tuple_width; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* Patterns that have a strategy of their own, and any other. */
static void
make_pattern(Case *c, UnitRandom *r)
{
	PpJoinQuery *q = &c->query;
	uint32_t	n = 0;

	switch (unit_below(r, 6))
	{
		case 5:					/* a triangle with a tail, or with another apart */
			q->nvariables = unit_once_in(r, 2) ? 5 : 6;
			for (uint32_t e = 0; e < (q->nvariables == 5 ? 5u : 6u); e++)
			{
				static const uint8_t tail[5][2] = {{0, 1}, {1, 2}, {0, 2}, {2, 3}, {3, 4}};
				static const uint8_t apart[6][2] = {{0, 1}, {1, 2}, {0, 2}, {3, 4}, {4, 5}, {3, 5}};
				const uint8_t *edge = q->nvariables == 5 ? tail[e] : apart[e];

				c->atoms[n].relation = unit_below(r, q->nrelations);
				c->atoms[n].variable[0] = edge[0];
				c->atoms[n++].variable[1] = edge[1];
			}
			break;
		case 0:					/* a clique, of one relation as a rule */
			q->nvariables = 3 + unit_below(r, 4) % 3;
			for (uint32_t x = 0; x < q->nvariables; x++)
				for (uint32_t y = x + 1; y < q->nvariables; y++)
				{
					bool		back = unit_once_in(r, 4);

					c->atoms[n].relation = unit_once_in(r, 20) ? unit_below(r, q->nrelations) : 0;
					c->atoms[n].variable[0] = back ? y : x;
					c->atoms[n++].variable[1] = back ? x : y;
				}
			break;
		case 1:					/* a cycle */
			q->nvariables = 3 + unit_below(r, 3);
			for (uint32_t x = 0; x < q->nvariables; x++)
			{
				bool		back = unit_once_in(r, 3);
				uint32_t	y = (x + 1) % q->nvariables;

				c->atoms[n].relation = unit_below(r, q->nrelations);
				c->atoms[n].variable[0] = back ? y : x;
				c->atoms[n++].variable[1] = back ? x : y;
			}
			break;
		case 2:					/* two triangles at an edge, or at a vertex */
			q->nvariables = unit_once_in(r, 2) ? 4 : 5;
			for (uint32_t t = 0; t < 2; t++)
			{
				uint32_t	other = q->nvariables == 4 ? 1 : 1 + 2 * t;
				uint32_t	tip = q->nvariables == 4 ? 2 + t : 2 + 2 * t;

				for (uint32_t e = 0; e < 3; e++)
				{
					if (q->nvariables == 4 && t == 1 && e == 0)
						continue;
					c->atoms[n].relation = unit_below(r, q->nrelations);
					c->atoms[n].variable[0] = e == 2 ? other : 0;
					c->atoms[n++].variable[1] = e == 0 ? other : tip;
				}
			}
			break;
		default:				/* anything, loops and parallel atoms included */
			q->nvariables = 2 + unit_below(r, 4);
			n = 3 + unit_below(r, 5);
			for (uint32_t a = 0; a < n; a++)
			{
				c->atoms[a].relation = unit_below(r, q->nrelations);
				for (uint32_t s = 0; s < 2; s++)
					c->atoms[a].variable[s] = unit_below(r, q->nvariables);
				if (a < q->nvariables)	/* each is there, and most are connected */
					c->atoms[a].variable[0] = a;
			}
			if (n < q->nvariables)
				q->nvariables = n;
			for (uint32_t a = 0; a < n; a++)
				for (uint32_t s = 0; s < 2; s++)
					c->atoms[a].variable[s] %= q->nvariables;
			break;
	}
	q->natoms = n;
	q->nresiduals = unit_once_in(r, 2) ? 0 : unit_below(r, 4);
	for (uint32_t i = 0; i < q->nresiduals; i++)
	{
		c->residuals[i].op = (PpJoinCompare) unit_below(r, 5);
		c->residuals[i].left = unit_below(r, q->nvariables);
		c->residuals[i].right = unit_below(r, q->nvariables);
		if (c->residuals[i].left == c->residuals[i].right && !unit_once_in(r, 8))
			c->residuals[i].right = (c->residuals[i].left + 1) % q->nvariables;
	}
}

/* Atoms in an order in which each but the first shares a variable, if any. */
static void
connect_atoms(Case *c)
{
	uint32_t	known = 0;

	for (uint32_t a = 0; a < c->query.natoms; a++)
	{
		uint32_t	best = a;
		uint32_t	most = 0;

		for (uint32_t b = a; b < c->query.natoms; b++)
		{
			uint32_t	n = (known >> c->atoms[b].variable[0] & 1) + (known >> c->atoms[b].variable[1] & 1);

			if (n > most)
			{
				most = n;
				best = b;
			}
		}
		if (best != a)
		{
			PpJoinAtom	swap = c->atoms[a];

			c->atoms[a] = c->atoms[best];
			c->atoms[best] = swap;
		}
		known |= 1u << c->atoms[a].variable[0] | 1u << c->atoms[a].variable[1];
	}
}

void
make_case(Case *c, UnitRandom *r)
{
	const uint32_t style = unit_below(r, 3);
	uint32_t	shape = unit_below(r, 256);
	const int64_t none[PP_JOIN_MAX_VARIABLES] = {0};
	uint32_t	rows[16];

	memset(c, 0, sizeof(*c));
	c->query.nrelations = 1 + unit_below(r, MAX_RELATIONS);
	make_pattern(c, r);
	/* cliques of one relation without duplicates have ways of their own */
	if (c->query.natoms == c->query.nvariables * (c->query.nvariables - 1) / 2 &&
		unit_once_in(r, 2))
	{
		shape |= 8;
		if (unit_once_in(r, 2))
			shape = (shape | 4) & ~16u;
	}
	connect_atoms(c);
	for (uint32_t i = 0; i < c->query.nrelations; i++)
	{
		uint32_t	domain = 2 + unit_below(r, 9);
		uint32_t	nrows = unit_below(r, c->query.nvariables > 4 || c->query.natoms > 6 ? 16 : 26);

		make_relation(c, r, i, style, domain, nrows, i == 0 ? shape : unit_below(r, 128));
		/* the last row of a loop twice, where nothing else need be there twice */
		for (uint64_t k = c->relations[i].nrows; i == 0 && (shape & 136) == 136 && k-- > 0;)
			if (c->pairs[i][2 * k] == c->pairs[i][2 * k + 1])
			{
				c->pairs[i][2 * c->relations[i].nrows] = c->pairs[i][2 * k];
				c->pairs[i][2 * c->relations[i].nrows++ + 1] = c->pairs[i][2 * k];
				break;
			}
	}
	c->query.atoms = c->atoms;
	c->query.residuals = c->residuals;
	c->query.relations = c->relations;
	c->query.simd = PP_SIMD_LEVELS;
	c->width = c->query.nvariables + c->query.natoms;
	for (;;)
	{
		c->n = 0;
		nested_loops(c, 0, none, 0, rows);
		if (c->n <= MAX_ANSWER)
			break;
		for (uint32_t i = 0; i < c->query.nrelations; i++)
			c->relations[i].nrows -= c->relations[i].nrows / 4 + (c->relations[i].nrows > 1);
	}
	tuple_width = c->width;
	if (c->n > 1)
		qsort(c->tuples, c->n, c->width * sizeof(int64_t), compare_tuples);
}

void
drop_case(Case *c)
{
	for (uint32_t i = 0; i < MAX_RELATIONS; i++)
		free(c->pairs[i]);
	free(c->tuples);
}

PpJoinStatus
run_case(const Case *c, UnitHeap *heap, size_t budget, uint32_t nparts, size_t capacity,
		 PpJoinStrategy *strategy)
{
	const PpJoinQuery *q = &c->query;
	const PpAlloc alloc = unit_heap_alloc(heap);
	PpJoin	   *join;
	PpJoinStatus status = pp_join_build(q, &alloc, budget, &join);
	Uint128		total = 0;
	uint64_t	n = 0;
	int64_t    *got = NULL;
	int64_t    *keys = unit_malloc((capacity * 16 + 1) * sizeof(int64_t));
	uint32_t   *rows = unit_malloc((capacity * 16 + 1) * sizeof(uint32_t));
	PpCount    *counts = unit_malloc(capacity * sizeof(PpCount));

	EXPECT((status == PP_JOIN_OK) == (join != NULL), "status %d", (int) status);
	EXPECT(heap->peak_bytes <= budget, "%zu bytes of %zu", heap->peak_bytes, budget);
	if (join)
	{
		EXPECT(pp_join_info(join)->peak_bytes <= budget &&
			   pp_join_info(join)->bytes == heap->live_bytes,
			   "says %zu, has %zu bytes", pp_join_info(join)->bytes, heap->live_bytes);
		*strategy = pp_join_info(join)->strategy;
		got = unit_malloc((c->n * c->width + 1) * sizeof(int64_t));
	}
	for (uint32_t part = 0; part < nparts && status == PP_JOIN_OK; part++)
	{
		PpJoinRun  *run;
		UnitHeap	own = {0};
		const PpAlloc own_alloc = unit_heap_alloc(&own);
		size_t		m;

		own.fail_at = heap->fail_at > heap->calls ? heap->fail_at - heap->calls : 0;
		status = nparts == 1 ?
			pp_join_open_threads(join, &own_alloc, budget, q->threads, &run) :
			pp_join_open(join, &own_alloc, budget, part, nparts, &run);
		heap->failed |= own.failed;
		EXPECT((status == PP_JOIN_OK) == (run != NULL), "status %d", (int) status);
		if (status != PP_JOIN_OK)
		{
			EXPECT(own.live_blocks == 0, "a failed run holds memory");
			break;
		}
		if (q->mode == PP_JOIN_COUNT)
		{
			PpCount		count;

			status = pp_join_count(run, &count);
			total += (Uint128) count.high << 64 | count.low;
			EXPECT(status != PP_JOIN_OK || pp_join_count(run, &count) == PP_JOIN_INVALID,
				   "counted twice");
		}
		else if (q->mode == PP_JOIN_GROUPS)
			do
			{
				status = pp_join_groups(run, keys, counts, capacity, &m);
				for (size_t i = 0; i < m && status == PP_JOIN_OK; i++)
				{
					uint64_t	want = 0;

					for (uint64_t t = 0; t < c->n; t++)
						want += c->tuples[t * c->width + q->group] == keys[i];
					EXPECT(want > 0 && counts[i].low == want && counts[i].high == 0,
						   "key %" PRId64 ": %" PRIu64 ", not %" PRIu64, keys[i],
						   counts[i].low, want);
					total += want;
				}
			} while (m > 0 && status == PP_JOIN_OK);
		else
			do
			{
				status = pp_join_rows(run, keys, q->row_numbers ? rows : NULL, capacity, &m);
				EXPECT(m <= capacity && n + m <= c->n, "more than %" PRIu64 " rows", c->n);
				for (size_t i = 0; i < m && n < c->n; i++, n++)
				{
					int64_t    *out = got + n * c->width;

					for (uint32_t v = 0; v < q->nvariables; v++)
						*out++ = keys[v * capacity + i];
					for (uint32_t a = 0; a < q->natoms; a++)
						*out++ = q->row_numbers ? rows[a * capacity + i] : 0;
				}
			} while (m > 0 && status == PP_JOIN_OK);
		pp_join_close(run);
		EXPECT(own.live_blocks == 0, "a closed run holds memory");
		EXPECT(own.peak_bytes <= budget, "run: %zu bytes of %zu", own.peak_bytes, budget);
	}
	if (status == PP_JOIN_OK && q->mode == PP_JOIN_ROWS)
	{
		bool		same = n == c->n;

		tuple_width = c->width;
		if (n > 1)
			qsort(got, n, c->width * sizeof(int64_t), compare_tuples);
		for (uint64_t t = 0; t < n && same; t++)
			same = memcmp(got + t * c->width, c->tuples + t * c->width,
						  (q->row_numbers ? c->width : q->nvariables) * sizeof(int64_t)) == 0;
		EXPECT(same, "%" PRIu64 " rows, or others, instead of %" PRIu64, n, c->n);
	}
	else if (status == PP_JOIN_OK)
		EXPECT(total == c->n, "%" PRIu64 " counted, not %" PRIu64 " (%s)", (uint64_t) total, c->n,
			   strategy_name[*strategy]);
	pp_join_free(join);
	EXPECT(heap->live_blocks == 0, "%zu blocks are left", heap->live_blocks);
	free(got);
	free(keys);
	free(rows);
	free(counts);
	return status;
}

bool
set_mode(Case *c, uint32_t m)
{
	c->query.strategy = m == 1 ? PP_JOIN_GENERAL : PP_JOIN_AUTO;
	c->query.mode = m < 2 ? PP_JOIN_COUNT : m < 4 ? PP_JOIN_ROWS : PP_JOIN_GROUPS;
	c->query.row_numbers = m == 3;
	c->query.group = m < 4 ? 0 : m - 4;
	c->query.threads = m % 4;
	return m < 4 + c->query.nvariables;
}
