/*
 * test/unit/trie_box_test.c
 *	  Joins box by box: together the boxes have the whole answer, however they
 *	  are cut; how many rows of a box are expected; keys numbered by the caller.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trie/box.h"
#include "trie_case.h"

enum
{
	T_BOX = 9,
	T_NUMBERS = 10
};

/* A box's answer; groups are of the box, and add to those of tuples with the key. */
static uint64_t
run_box(const Case *c, const PpBox *box, uint64_t seed, int64_t *keys, PpCount *counts,
		uint64_t *met)
{
	const PpJoinQuery *whole = &c->query;
	PpJoinQuery q = *whole;
	PpJoinAtom	atoms[16];
	PpJoinRelation relations[16];
	uint32_t	of_atom[PP_JOIN_MAX_ATOMS];
	uint32_t	atom_of[PP_JOIN_MAX_ATOMS];
	UnitHeap	heap = {0};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	PpJoin	   *join;
	PpJoinRun  *run;
	uint64_t	total = 0;
	size_t		m;

	q.nrelations = pp_box_relations(whole, box, of_atom, atom_of);
	q.relations = relations;
	q.atoms = atoms;
	for (uint32_t i = 0; i < q.nrelations; i++)
	{
		const PpJoinAtom *atom = &whole->atoms[atom_of[i]];
		const PpJoinRelation *from = &whole->relations[atom->relation];
		int64_t    *pairs = unit_malloc((2 * from->nrows + 1) * sizeof(int64_t));

		relations[i].nrows = 0;
		relations[i].pairs = pairs;
		for (uint64_t r = 0; r < from->nrows; r++)
			if (pp_box_has_row(box, seed, atom, from->pairs[2 * r], from->pairs[2 * r + 1]))
			{
				pairs[2 * relations[i].nrows] = from->pairs[2 * r];
				pairs[2 * relations[i].nrows++ + 1] = from->pairs[2 * r + 1];
			}
	}
	for (uint32_t a = 0; a < q.natoms; a++)
	{
		atoms[a] = whole->atoms[a];
		atoms[a].relation = of_atom[a];
		/* those that share rows have the same ones */
		for (uint64_t r = 0; r < whole->relations[whole->atoms[a].relation].nrows; r++)
		{
			const int64_t *pair = &whole->relations[whole->atoms[a].relation].pairs[2 * r];

			EXPECT(pp_box_has_row(box, seed, &whole->atoms[a], pair[0], pair[1]) ==
				   pp_box_has_row(box, seed, &whole->atoms[atom_of[of_atom[a]]], pair[0], pair[1]),
				   "atom %u has other rows", a);
		}
	}
	EXPECT(pp_join_build(&q, &alloc, (size_t) 1 << 30, &join) == PP_JOIN_OK &&
		   pp_join_open(join, &alloc, (size_t) 1 << 30, 0, 1, &run) == PP_JOIN_OK, "failed");
	if (q.mode == PP_JOIN_COUNT)
	{
		PpCount		count;

		EXPECT(pp_join_count(run, &count) == PP_JOIN_OK, "not counted");
		total = count.low;
	}
	else if (q.mode == PP_JOIN_GROUPS)
		while (pp_join_groups(run, keys, counts, 50, &m) == PP_JOIN_OK && m > 0)
			for (size_t i = 0; i < m; i++)
			{
				EXPECT(pp_box_has_key(box, seed, q.group, keys[i]), "a group of another box");
				for (uint64_t t = 0; t < c->n; t++)
					if (c->tuples[t * c->width + q.group] == keys[i])
					{
						met[t] += counts[i].low;
						break;
					}
				total += counts[i].low;
			}
	else
		while (pp_join_rows(run, keys, NULL, 50, &m) == PP_JOIN_OK && m > 0)
			total += m;
	pp_join_close(run);
	pp_join_free(join);
	for (uint32_t i = 0; i < q.nrelations; i++)
		free((void *) (uintptr_t) relations[i].pairs);
	return total;
}

static void
tally_box(const Case *c, const PpBox *box, uint64_t seed, PpBoxTally *tally)
{
	memset(tally, 0, sizeof(*tally));
	for (uint32_t a = 0; a < c->query.natoms; a++)
	{
		const PpJoinRelation *e = &c->query.relations[c->query.atoms[a].relation];

		for (uint64_t k = 0; k < e->nrows; k++)
			if (pp_box_has_row(box, seed, &c->query.atoms[a], e->pairs[2 * k],
							   e->pairs[2 * k + 1]))
				pp_box_tally(tally, &c->query, box, seed, a, e->pairs[2 * k],
							 e->pairs[2 * k + 1]);
	}
}

/* Is it the box with one more cut, whose half that is? */
static bool
is_half(const PpBox *whole, const PpBox *half, uint32_t upper)
{
	uint32_t	cuts = 0;

	for (uint32_t v = 0; v < PP_JOIN_MAX_VARIABLES; v++)
	{
		if (whole->bits[v] == half->bits[v] && whole->part[v] == half->part[v])
			continue;
		if (half->bits[v] != whole->bits[v] + 1 || half->part[v] != whole->part[v] * 2 + upper)
			return false;
		cuts++;
	}
	return cuts == 1;
}

static void
test_boxes(void)
{
	uint64_t	cut = 0;
	uint64_t	whole = 0;

	for (uint64_t i = 0; i < unit_iterations(300); i++)
	{
		UnitRandom	r = unit_random(T_BOX, i);
		Case		c;
		int64_t    *keys = unit_malloc(50 * 16 * sizeof(int64_t));
		PpCount    *counts = unit_malloc(50 * sizeof(PpCount));
		PpBoxTally *tally = unit_malloc(sizeof(PpBoxTally));
		PpBoxKeys	known;
		uint64_t   *met;

		unit_case("boxes of query %" PRIu64, i);
		make_case(&c, &r);
		met = unit_malloc((c.n + 1) * sizeof(uint64_t));
		for (uint32_t a = 0; a < c.query.natoms; a++)
			known.n[a][0] = known.n[a][1] = 1 + (double) unit_below(&r, 50);
		for (uint32_t m = 0; set_mode(&c, m); m++)
		{
			const uint64_t seed = unit_next(&r);
			const uint32_t often = 1 + unit_below(&r, 4);
			uint64_t	total = 0;
			uint32_t	nboxes = 0;
			PpBoxes		boxes;

			c.query.row_numbers = false;
			memset(met, 0, (c.n + 1) * sizeof(uint64_t));
			pp_boxes_begin(&boxes, &c.query, seed);
			while (pp_boxes_next(&boxes) && nboxes < 1000)
			{
				const PpBox box = boxes.box;
				double		kept[PP_JOIN_MAX_ATOMS];
				bool		shared;
				bool		none = false;
				double		size;

				tally_box(&c, &box, seed, tally);
				for (uint32_t a = 0; a < c.query.natoms; a++)
					none |= tally->rows[a] == 0;
				size = pp_box_estimate(&c.query, &box, tally->rows, &known, &shared, kept);
				EXPECT((size == 0) == none, "a box of %g rows", size);
				if (unit_once_in(&r, often) && boxes.depth < 6)
				{
					bool		differ = false;

					for (uint32_t a = 0; a < c.query.natoms; a++)
						differ |= tally->differ[a][0] || tally->differ[a][1];
					if (pp_boxes_cut(&boxes, tally, &known) == PP_JOIN_OK)
					{
						PpBox		lower;

						EXPECT(differ, "what is alike is cut");
						EXPECT(pp_boxes_next(&boxes), "no lower half");
						lower = boxes.box;
						EXPECT(is_half(&box, &lower, 0), "not the lower half");
						/* that is the box in hand from now on */
						total += run_box(&c, &lower, seed, keys, counts, met);
						EXPECT(pp_boxes_next(&boxes) && is_half(&box, &boxes.box, 1),
							   "not the upper half");
						total += run_box(&c, &boxes.box, seed, keys, counts, met);
						nboxes += 2;
						cut++;
						continue;
					}
					EXPECT(!differ, "could be cut");
					whole++;
				}
				else if (boxes.depth < 5 && pp_boxes_cut(&boxes, tally, &known) == PP_JOIN_OK)
					continue;
				nboxes++;
				total += run_box(&c, &box, seed, keys, counts, met);
			}
			EXPECT(nboxes < 1000 && total == c.n, "mode %u, %u boxes: %" PRIu64 ", not %" PRIu64,
				   m, nboxes, total, c.n);
			for (uint64_t t = 0; t < c.n && c.query.mode == PP_JOIN_GROUPS; t++)
			{
				uint64_t	want = 0;

				for (uint64_t s = 0; s < c.n && met[t] > 0; s++)
					want += c.tuples[s * c.width + c.query.group] == c.tuples[t * c.width + c.query.group];
				EXPECT(met[t] == want, "a group of %" PRIu64 ", not %" PRIu64, met[t], want);
			}
		}
		free(keys);
		free(counts);
		free(tally);
		free(met);
		drop_case(&c);
	}
	unit_case("boxes");
	EXPECT(cut > 0 && whole > 0, "nothing was cut");
}

/* Cuts a box until it is expected to have few rows; answers how often. */
static uint32_t
cuts_needed(const PpJoinQuery *q, const PpBoxKeys *keys, double nrows, double most,
			PpBoxes *boxes)
{
	uint32_t	cuts = 0;

	pp_boxes_begin(boxes, q, 1);
	while (pp_boxes_next(boxes))
	{
		PpBoxTally	tally;
		double		kept[PP_JOIN_MAX_ATOMS];
		bool		shared;

		memset(&tally, 0, sizeof(tally));
		for (uint32_t a = 0; a < q->natoms; a++)
		{
			tally.rows[a] = (uint64_t) (nrows / (double)
										(UINT64_C(1) << (boxes->box.bits[q->atoms[a].variable[0]] +
														 boxes->box.bits[q->atoms[a].variable[1]])));
			tally.upper[a][0] = tally.upper[a][1] = tally.rows[a] / 2;
			tally.differ[a][0] = tally.differ[a][1] = true;
		}
		if (pp_box_estimate(q, &boxes->box, tally.rows, keys, &shared, kept) <= most)
			break;
		cuts++;
		EXPECT(pp_boxes_cut(boxes, &tally, keys) == PP_JOIN_OK, "not cut");
	}
	return cuts;
}

/* What is expected of boxes, and where they are cut for it. */
static void
test_box_estimates(void)
{
	static const PpJoinAtom triangle[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}};
	static const PpJoinAtom cycle[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {2, 3}}, {0, {3, 4}},
	{0, {4, 5}}, {0, {5, 0}}};
	const uint64_t rows[6] = {1000000, 1000000, 1000000, 1000000, 1000000, 1000000};
	double		kept[PP_JOIN_MAX_ATOMS];
	PpBoxKeys	keys;
	PpJoinQuery q;
	PpBoxes		boxes;
	bool		shared;
	double		size;
	uint32_t	cuts;

	memset(&q, 0, sizeof(q));
	q.nvariables = q.natoms = 3;
	q.nrelations = 1;
	q.atoms = triangle;
	for (uint32_t a = 0; a < 6; a++)
		keys.n[a][0] = keys.n[a][1] = 1000;

	/* many rows a key: all are needed, once for the three atoms */
	unit_case("estimates of boxes");
	pp_boxes_begin(&boxes, &q, 1);
	EXPECT(pp_boxes_next(&boxes), "no box");
	size = pp_box_estimate(&q, &boxes.box, rows, &keys, &shared, kept);
	EXPECT(shared && size == 1000000, "%g rows", size);
	cuts = cuts_needed(&q, &keys, 1000000, 700000, &boxes);
	EXPECT(cuts == 3 && boxes.box.bits[0] == 1 && boxes.box.bits[1] == 1 &&
		   boxes.box.bits[2] == 1, "%u cuts of a dense triangle: %u, %u, %u", cuts,
		   boxes.box.bits[0], boxes.box.bits[1], boxes.box.bits[2]);

	/* one row a key: what has no partner goes, and one variable's cuts are enough */
	q.nvariables = q.natoms = 6;
	q.atoms = cycle;
	for (uint32_t a = 0; a < 6; a++)
		keys.n[a][0] = keys.n[a][1] = 1000000;
	EXPECT(cuts_needed(&q, &keys, 1000000, 300000, &boxes) <= 4, "many cuts of a sparse cycle");
	(void) cuts_needed(&q, &keys, 1000000, 20000, &boxes);
	size = pp_box_estimate(&q, &boxes.box, rows, &keys, &shared, kept);
	EXPECT(!shared, "a sparse cycle is not filtered");
	for (uint32_t a = 0; a < 6; a++)
		EXPECT(kept[a] > 0 && kept[a] <= 1000000, "%g rows of atom %u", kept[a], a);
}

/* Keys that are numbered by the caller. */
static void
test_numbers(void)
{
	for (uint64_t i = 0; i < unit_iterations(300); i++)
	{
		UnitRandom	r = unit_random(T_NUMBERS, i);
		Case		c;
		int64_t    *names;
		uint32_t	n = 0;
		uint64_t	most = 0;
		PpJoinRelation relations[MAX_RELATIONS];
		const uint32_t *all_codes[MAX_RELATIONS];

		unit_case("numbered keys of query %" PRIu64, i);
		make_case(&c, &r);
		for (uint32_t k = 0; k < c.query.nrelations; k++)
			most += 2 * c.relations[k].nrows;
		names = unit_malloc((most + 1) * sizeof(int64_t));

		/* in the order of keys, which conditions may compare */
		for (uint32_t k = 0; k < c.query.nrelations; k++)
			for (uint64_t j = 0; j < 2 * c.relations[k].nrows; j++)
			{
				const int64_t key = c.relations[k].pairs[j];
				uint32_t	at = 0;

				while (at < n && names[at] < key)
					at++;
				if (at < n && names[at] == key)
					continue;
				memmove(names + at + 1, names + at, (n - at) * sizeof(int64_t));
				names[at] = key;
				n++;
			}
		for (uint32_t k = 0; k < c.query.nrelations; k++)
		{
			uint32_t   *codes = unit_malloc((2 * c.relations[k].nrows + 1) * sizeof(uint32_t));

			for (uint64_t j = 0; j < 2 * c.relations[k].nrows; j++)
			{
				codes[j] = 0;
				while (names[codes[j]] != c.relations[k].pairs[j])
					codes[j]++;
			}
			relations[k].pairs = NULL;
			all_codes[k] = codes;
			relations[k].nrows = c.relations[k].nrows;
		}
		c.query.relations = relations;
		c.query.nkeys = n;
		c.query.codes = all_codes;
		EXPECT(n > 0 || c.n == 0, "an answer without keys");
		for (uint32_t m = 0; set_mode(&c, m) && n > 0; m++)
		{
			UnitHeap	heap = {0};
			const PpAlloc alloc = unit_heap_alloc(&heap);
			PpJoin	   *join;
			PpJoinRun  *run;
			uint64_t	total = 0;
			size_t		got;
			int64_t		keys[20 * PP_JOIN_MAX_VARIABLES];
			PpCount		counts[20];

			EXPECT(pp_join_build(&c.query, &alloc, (size_t) 1 << 30, &join) == PP_JOIN_OK &&
				   pp_join_open(join, &alloc, (size_t) 1 << 30, 0, 1, &run) == PP_JOIN_OK, "failed");
			EXPECT(pp_join_info(join)->nkeys == n &&
				   strcmp(pp_join_info(join)->dictionary, "none") == 0, "a dictionary");
			if (c.query.mode == PP_JOIN_COUNT)
			{
				EXPECT(pp_join_count(run, counts) == PP_JOIN_OK, "not counted");
				total = counts[0].low;
			}
			else if (c.query.mode == PP_JOIN_GROUPS)
				while (pp_join_groups(run, keys, counts, 20, &got) == PP_JOIN_OK && got > 0)
					for (size_t g = 0; g < got; g++)
					{
						uint64_t	want = 0;

						for (uint64_t t = 0; t < c.n; t++)
							want += c.tuples[t * c.width + c.query.group] == names[keys[g]];
						EXPECT(want == counts[g].low, "%" PRIu64 " of a key, not %" PRIu64,
							   counts[g].low, want);
						total += counts[g].low;
					}
			else
				while (pp_join_rows(run, keys, NULL, 20, &got) == PP_JOIN_OK && got > 0)
					for (size_t g = 0; g < got; g++)
					{
						bool		found = false;

						for (uint64_t t = 0; t < c.n && !found; t++)
						{
							found = true;
							for (uint32_t v = 0; v < c.query.nvariables; v++)
								found &= c.tuples[t * c.width + v] == names[keys[v * 20 + g]];
						}
						EXPECT(found, "a row that is none");
						total++;
					}
			EXPECT(total == c.n, "mode %u: %" PRIu64 ", not %" PRIu64, m, total, c.n);
			pp_join_close(run);
			pp_join_free(join);
			EXPECT(heap.live_bytes == 0, "not released");
		}
		for (uint32_t k = 0; k < c.query.nrelations; k++)
			free((void *) (uintptr_t) all_codes[k]);
		free(names);
		drop_case(&c);
	}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "trie_box_test");
	test_boxes();
	test_box_estimates();
	test_numbers();
	return unit_end();
}
