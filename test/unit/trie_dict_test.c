/*
 * test/unit/trie_dict_test.c
 *	  The dictionary on keys that collide, or cluster, under a poor hash: how
 *	  many slots are looked at, not how long that takes; and a team of threads
 *	  whose first member waits for the others.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trie/trie.h"
#include "unit.h"

enum
{
	T_DICT = 1,
	T_TEAM
};

/* Sets of keys; i is different for each. */
typedef enum Keys
{
	RANDOM,
	CONSECUTIVE_FAR,			/* two runs of them, with nothing between */
	MULTIPLES_32,				/* of 2^32 */
	MULTIPLES_40,
	SAME_LOW_BITS,				/* the lower 20 are all set */
	HIGH_BITS,					/* the upper 18 count */
	REVERSED,					/* the bits of a number the other way round */
	EXTREMES,					/* next to the least and the greatest key */
	AGAINST_SEED_0,				/* hash to numbers in a row if the seed is 0 */
	FEW,						/* the least, the greatest, and three between */
	KEYS
} Keys;

static const char *const name[] = {
	"random", "consecutive, far apart", "multiples of 2^32", "multiples of 2^40", "same low bits",
	"consecutive high bits", "reversed", "extremes", "against seed 0", "few"
};

/* x with x * a = 1 (mod 2^64); a is odd. */
static uint64_t
inverse(uint64_t a)
{
	uint64_t	x = a;

	for (uint32_t i = 0; i < 6; i++)
		x *= 2 - a * x;
	return x;
}

static int64_t
make_key(Keys set, uint64_t i)
{
	uint64_t	reversed = 0;

	switch (set)
	{
		case RANDOM:
			i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
			return (int64_t) (i ^ (i >> 29));
		case CONSECUTIVE_FAR:
			return (int64_t) (i & 1 ? UINT64_C(1) << 60 | i : i);
		case MULTIPLES_32:
			return (int64_t) (i << 32);
		case MULTIPLES_40:
			return (int64_t) (i << 40);
		case SAME_LOW_BITS:
			return (int64_t) (i << 20 | 0xfffff | (i & 1) << 62);
		case HIGH_BITS:
			return (int64_t) (i << 46);
		case REVERSED:
			for (uint32_t b = 0; b < 64; b++)
				reversed |= (i >> b & 1) << (63 - b);
			return (int64_t) reversed;
		case EXTREMES:
			return (int64_t) (i & 1 ? (uint64_t) INT64_MAX - i : (uint64_t) INT64_MIN + i);
		case AGAINST_SEED_0:
			/* the factor then is this constant, which is odd */
			return (int64_t) (i * inverse(UINT64_C(0x9e3779b97f4a7c15)));
		default:
			return i % 5 == 0 ? INT64_MIN : i % 5 == 1 ? INT64_MAX : (int64_t) (i % 5 * 1000) - 3000;
	}
}

/* Slots looked at for each key in n rows of different keys, the first one apart. */
static double
steps_per_key(Keys set, uint32_t n, uint64_t seed, uint32_t threads)
{
	int64_t    *pairs = unit_malloc(2 * (size_t) n * sizeof(int64_t));
	const PpJoinRelation relation = {pairs, n};
	const bool	used = true;
	const PpCancel none = {NULL, NULL};
	UnitHeap	heap = {0};
	const PpAlloc alloc = unit_heap_alloc(&heap);
	PpJoinQuery q;
	PpBudget	budget;
	PpTeam		team;
	PpCodes		codes;
	PpDict		dict;
	double		steps;
	bool		right = true;

	memset(&q, 0, sizeof(q));
	memset(&codes, 0, sizeof(codes));
	q.nrelations = 1;
	q.relations = &relation;
	q.seed = seed;
	for (uint32_t i = 0; i < n; i++)
	{
		pairs[2 * i] = make_key(set, i);
		pairs[2 * i + 1] = make_key(set, (i + n / 2) % n);
	}
	pp_budget_init(&budget, &alloc, (size_t) 1 << 32, &none);
	pp_team_begin(&team, threads, NULL, NULL);
	EXPECT(pp_dict_build(&dict, &budget, &none, &team, &q, &used, false, true, &codes) == PP_JOIN_OK,
		   "failed");
	pp_team_end(&team);
	EXPECT(dict.kind == PP_DICT_HASH, "%s: no hash", name[set]);
	EXPECT(set == FEW ? dict.n <= 5 + 64 * 256 : dict.n >= n, "%s: %u numbers", name[set], dict.n);
	for (uint32_t i = 0; i < 2 * n && right; i++)
		right = pp_dict_key(&dict, codes.pairs[i]) == pairs[i];
	EXPECT(right, "%s: a key is another one", name[set]);
	steps = (double) dict.steps / (2.0 * n);
	pp_budget_release(&budget, codes.pairs);
	pp_dict_release(&dict, &budget);
	EXPECT(heap.live_blocks == 0, "memory is left");
	free(pairs);
	return steps;
}

static void
test_steps(void)
{
	for (uint64_t i = 0; i < unit_iterations(8); i++)
	{
		UnitRandom	r = unit_random(T_DICT, i);
		const uint32_t n = 50000 + unit_below(&r, 150000);
		const uint64_t seed = unit_next(&r);
		for (uint32_t set = 0; set < KEYS; set++)
			for (uint32_t threads = 1; threads < 3; threads++)
			{
				double		steps;

				unit_case("%s keys, %u threads, %" PRIu64, name[set], threads, i);
				steps = steps_per_key((Keys) set, n, seed, threads);
				/* what linear probing takes for random keys at a load of 3/4, at most */
				EXPECT(steps < 1.6 && (set == FEW || steps > 0.01), "%.3f steps a key", steps);
			}
	}
}

/* All keys the same: no table at all. */
static void
test_equal(void)
{
	static const int64_t key[] = {0, INT64_MIN, INT64_MAX, INT64_C(1) << 32};

	for (uint32_t k = 0; k < 4; k++)
	{
		int64_t		pairs[2 * 1000];
		const PpJoinRelation relation = {pairs, 1000};
		const bool	used = true;
		const PpCancel none = {NULL, NULL};
		UnitHeap	heap = {0};
		const PpAlloc alloc = unit_heap_alloc(&heap);
		PpJoinQuery q;
		PpBudget	budget;
		PpTeam		team;
		PpCodes		codes;
		PpDict		dict;

		unit_case("2000 keys of %" PRId64, key[k]);
		memset(&q, 0, sizeof(q));
		memset(&codes, 0, sizeof(codes));
		q.nrelations = 1;
		q.relations = &relation;
		for (uint32_t i = 0; i < 2000; i++)
			pairs[i] = key[k];
		pp_budget_init(&budget, &alloc, (size_t) 1 << 20, &none);
		pp_team_begin(&team, 1, NULL, NULL);
		EXPECT(pp_dict_build(&dict, &budget, &none, &team, &q, &used, true, true, &codes) == PP_JOIN_OK &&
			   dict.kind == PP_DICT_DIRECT && dict.n == 1 && codes.pairs[1999] == 0 &&
			   pp_dict_key(&dict, 0) == key[k] && codes.nequal == 1000, "not one number");
		pp_team_end(&team);
		pp_budget_release(&budget, codes.pairs);
		pp_dict_release(&dict, &budget);
	}
}

/* ---------- threads ---------- */

typedef struct Waiting
{
	uint32_t	polls;			/* shared */
	uint32_t	asked;
} Waiting;

static bool
poll(void *ctx)
{
	Waiting    *w = ctx;

	__atomic_fetch_add(&w->polls, 1, __ATOMIC_RELAXED);
	return false;
}

/* The first member has nothing to do; the others are busy until it has polled. */
static void
wait_for_poll(void *ctx, uint32_t member)
{
	Waiting    *w = ctx;

	if (member == 0)
		return;
	while (__atomic_load_n(&w->polls, __ATOMIC_RELAXED) < 3)
		if (__atomic_fetch_add(&w->asked, 1, __ATOMIC_RELAXED) > 2000000000)
			return;
}

static void
test_poll(void)
{
	Waiting		w = {0, 0};
	PpTeam		team;

	unit_case("a team's first member polls while it waits");
	pp_team_begin(&team, 3, poll, &w);
	if (pp_team_start(&team, 3) > 1)
	{
		pp_team_run(&team, team.size, wait_for_poll, &w);
		EXPECT(w.polls >= 3, "polled %u times", w.polls);
	}
	pp_team_end(&team);
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "trie_dict_test");
	test_steps();
	test_equal();
	test_poll();
	return unit_end();
}
