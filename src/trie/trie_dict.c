/*
 * src/trie/trie_dict.c
 *	  The dictionary: dense numbers for the keys of a query.
 *
 * Where keys lie close together a number is the distance from the least key,
 * or the rank among those that occur; else keys go into a hash table with
 * linear probing.  Probes are made in batches whose slots are fetched ahead:
 * with many keys, waiting for memory is all that takes time.
 */
#include <string.h>

#include "trie.h"

/* Keys whose slots are fetched before the first is looked at. */
#define BATCH			64u

/* Registers of the estimate of how many keys there are, as a power of two. */
#define SKETCH_BITS		12u
#define SKETCH			(1u << SKETCH_BITS)

#define LEAST_SLOTS		UINT64_C(64)

typedef struct Slot
{
	int64_t		key;
	uint32_t	number;			/* plus one; 0: empty; BUSY: about to be filled */
} Slot;

#define BUSY			UINT32_MAX

/*
 * A secret of the query: who chooses keys must not know which of them collide.
 */
typedef struct Hash
{
	uint64_t	mask;
	uint64_t	factor;
} Hash;

typedef struct Table
{
	Hash		hash;
	Slot	   *slots;
	uint64_t	mask;
	uint32_t	n;				/* numbers given, shared; some are not used */
	uint64_t	steps;			/* shared, as in PpDict */
} Table;

/* Keys that are numbered together before the table may grow, alone or by a
 * member of a team. */
#define STRETCH			UINT64_C(1024)
#define TEAM_STRETCH	UINT64_C(8192)

/* Numbers that a member of a team takes at a time. */
#define NUMBERS			256u

static inline uint64_t
hash_key(const Hash *hash, int64_t key)
{
	PpUint128	product = (PpUint128) ((uint64_t) key ^ hash->mask) * hash->factor;
	uint64_t	folded = (uint64_t) product ^ (uint64_t) (product >> 64);

	/* what lies in even steps still does, which makes long runs in the table */
	folded *= UINT64_C(0xd6e8feb86659fd93);
	return folded ^ (folded >> 32);
}

/* ---------- surveying ---------- */

/* What is known of the keys before they get numbers. */
typedef struct Survey
{
	int64_t		least;
	int64_t		greatest;
	uint64_t	nless;
	uint64_t	nequal;
} Survey;

typedef struct Surveying
{
	PpTurns		turns;
	const int64_t *pair;
	Survey		found[PP_TEAM_MOST];
} Surveying;

static void
survey_rows(void *ctx, uint32_t member)
{
	Surveying  *work = ctx;
	const int64_t *pair = work->pair;
	int64_t		least = INT64_MAX;
	int64_t		greatest = INT64_MIN;
	uint64_t	nless = 0;
	uint64_t	nequal = 0;
	uint64_t	i;
	uint64_t	to;

	while (pp_turns_next(&work->turns, &i, &to))
		for (; i < to; i++)
		{
			int64_t		a = pair[2 * i];
			int64_t		b = pair[2 * i + 1];
			int64_t		low = a < b ? a : b;
			int64_t		high = a < b ? b : a;

			nless += a < b;
			nequal += a == b;
			least = low < least ? low : least;
			greatest = high > greatest ? high : greatest;
		}
	work->found[member].least = least;
	work->found[member].greatest = greatest;
	work->found[member].nless = nless;
	work->found[member].nequal = nequal;
}

/* *all: of all relations; codes: of each. */
static PpJoinStatus
survey_keys(const PpCancel *cancel, PpTeam *team, const PpJoinQuery *query,
			const bool *used, PpCodes *codes, Survey *all, uint64_t *nrows)
{
	*nrows = 0;
	all->least = INT64_MAX;
	all->greatest = INT64_MIN;
	for (uint32_t r = 0; r < query->nrelations; r++)
	{
		const PpJoinRelation *relation = &query->relations[r];
		Surveying	work;
		uint32_t	members;

		if (!used[r])
			continue;
		if (relation->nrows >= PP_JOIN_MAX_ROWS)
			return PP_JOIN_TOO_MANY;
		pp_turns_begin(&work.turns, cancel, relation->nrows, PP_CANCEL_ROWS);
		work.pair = relation->pairs;
		members = pp_team_for(team, relation->nrows);
		pp_team_run(team, members, survey_rows, &work);
		if (work.turns.cancelled)
			return PP_JOIN_CANCELLED;
		codes[r].nrows = (uint32_t) relation->nrows;
		for (uint32_t m = 0; m < members; m++)
		{
			const Survey *found = &work.found[m];

			codes[r].nless += (uint32_t) found->nless;
			codes[r].nequal += (uint32_t) found->nequal;
			all->least = found->least < all->least ? found->least : all->least;
			all->greatest = found->greatest > all->greatest ? found->greatest : all->greatest;
		}
		*nrows += relation->nrows;
	}
	return PP_JOIN_OK;
}

/* ---------- direct and by rank ---------- */

/* Numbering the keys of a relation. */
typedef struct Encoding
{
	PpTurns		turns;
	const int64_t *key;
	uint32_t   *out;
	int64_t		least;
	uint64_t   *bits;
	uint32_t   *before;
} Encoding;

static void
encode_direct(void *ctx, uint32_t member)
{
	Encoding   *work = ctx;
	uint64_t	i;
	uint64_t	to;

	(void) member;
	while (pp_turns_next(&work->turns, &i, &to))
		for (; i < to; i++)
			work->out[i] = (uint32_t) ((uint64_t) work->key[i] - (uint64_t) work->least);
}

static void
set_bits(void *ctx, uint32_t member)
{
	Encoding   *work = ctx;
	uint64_t	i;
	uint64_t	to;

	(void) member;
	while (pp_turns_next(&work->turns, &i, &to))
		for (; i < to; i++)
		{
			uint64_t	k = (uint64_t) work->key[i] - (uint64_t) work->least;
			uint64_t	bit = UINT64_C(1) << (k % 64);

			/* most keys come more than once */
			if (!(__atomic_load_n(&work->bits[k / 64], __ATOMIC_RELAXED) & bit))
				__atomic_fetch_or(&work->bits[k / 64], bit, __ATOMIC_RELAXED);
		}
}

static void
encode_rank(void *ctx, uint32_t member)
{
	Encoding   *work = ctx;
	uint64_t	i;
	uint64_t	to;

	(void) member;
	while (pp_turns_next(&work->turns, &i, &to))
		for (; i < to; i++)
		{
			uint64_t	k = (uint64_t) work->key[i] - (uint64_t) work->least;
			uint64_t	below = (UINT64_C(1) << (k % 64)) - 1;

			work->out[i] = work->before[k / 64] +
				(uint32_t) __builtin_popcountll(work->bits[k / 64] & below);
		}
}

/* Has a task done on the keys of all relations. */
static PpJoinStatus
for_all_keys(Encoding *work, PpTeamTask task, const PpCancel *cancel, PpTeam *team,
			 const PpJoinQuery *query, const bool *used, PpCodes *codes)
{
	for (uint32_t r = 0; r < query->nrelations; r++)
	{
		if (!used[r])
			continue;
		pp_turns_begin(&work->turns, cancel, 2 * query->relations[r].nrows, PP_CANCEL_ROWS);
		work->key = query->relations[r].pairs;
		work->out = codes[r].pairs;
		pp_team_run(team, pp_team_for(team, query->relations[r].nrows), task, work);
		if (work->turns.cancelled)
			return PP_JOIN_CANCELLED;
	}
	return PP_JOIN_OK;
}

/* A bit for each key that occurs, and how many are set before each word. */
static PpJoinStatus
build_rank(PpDict *dict, PpBudget *budget, const PpCancel *cancel, PpTeam *team,
		   const PpJoinQuery *query, const bool *used, bool names,
		   uint64_t range, PpCodes *codes)
{
	uint64_t	nwords = range / 64 + 1;
	uint64_t   *bits = pp_budget_zeros(budget, nwords, sizeof(uint64_t));
	uint32_t   *before = pp_budget_alloc(budget, nwords, sizeof(uint32_t));
	PpJoinStatus status = PP_JOIN_OK;
	Encoding	work;

	if (bits == NULL || before == NULL)
	{
		status = budget->failure;
		goto done;
	}
	work.least = dict->least;
	work.bits = bits;
	work.before = before;
	status = for_all_keys(&work, set_bits, cancel, team, query, used, codes);
	if (status != PP_JOIN_OK)
		goto done;
	dict->n = 0;
	for (uint64_t w = 0; w < nwords; w++)
	{
		if (w % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		before[w] = dict->n;
		dict->n += (uint32_t) __builtin_popcountll(bits[w]);
	}
	if (names)
	{
		dict->keys = pp_budget_alloc(budget, dict->n, sizeof(int64_t));
		if (dict->keys == NULL)
		{
			status = budget->failure;
			goto done;
		}
		for (uint64_t w = 0, n = 0; w < nwords; w++)
		{
			if (w % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
			{
				status = PP_JOIN_CANCELLED;
				goto done;
			}
			for (uint64_t m = bits[w]; m; m &= m - 1)
				dict->keys[n++] = (int64_t) ((uint64_t) dict->least + w * 64 +
											 (uint64_t) __builtin_ctzll(m));
		}
	}
	status = for_all_keys(&work, encode_rank, cancel, team, query, used, codes);
done:
	pp_budget_release(budget, bits);
	pp_budget_release(budget, before);
	return status;
}

/* ---------- by hash ---------- */

typedef struct Sketching
{
	PpTurns		turns;
	const Hash *hash;
	const int64_t *key;
	uint8_t    *sketch;			/* SKETCH registers for each member */
} Sketching;

static void
sketch_keys(void *ctx, uint32_t member)
{
	Sketching  *work = ctx;
	const Hash	hash = *work->hash;
	uint8_t    *sketch = work->sketch + (size_t) member * SKETCH;
	uint64_t	i;
	uint64_t	to;

	while (pp_turns_next(&work->turns, &i, &to))
		for (; i < to; i++)
		{
			uint64_t	h = hash_key(&hash, work->key[i]);
			uint8_t		zeros = (uint8_t) (__builtin_clzll(h << SKETCH_BITS | 1) + 1);
			uint8_t    *at = &sketch[h >> (64 - SKETCH_BITS)];

			if (zeros > *at)
				*at = zeros;
		}
}

/*
 * About how many different keys there are: HyperLogLog (Flajolet and others,
 * 2007) without its corrections, as small answers only mean a small table.
 */
static PpJoinStatus
estimate_keys(PpBudget *budget, const PpCancel *cancel, PpTeam *team, const Hash *hash,
			  const PpJoinQuery *query, const bool *used, uint64_t nrows, uint64_t *estimate)
{
	const uint32_t members = pp_team_for(team, nrows);
	Sketching	work;
	double		sum = 0;
	PpJoinStatus status = PP_JOIN_OK;

	work.hash = hash;
	work.sketch = pp_budget_zeros(budget, members, SKETCH);
	if (work.sketch == NULL)
		return budget->failure;
	for (uint32_t r = 0; r < query->nrelations && status == PP_JOIN_OK; r++)
	{
		if (!used[r])
			continue;
		pp_turns_begin(&work.turns, cancel, 2 * query->relations[r].nrows, PP_CANCEL_ROWS);
		work.key = query->relations[r].pairs;
		pp_team_run(team, members, sketch_keys, &work);
		if (work.turns.cancelled)
			status = PP_JOIN_CANCELLED;
	}
	for (uint32_t i = 0; i < SKETCH; i++)
	{
		uint8_t		most = 0;

		for (uint32_t m = 0; m < members; m++)
			if (work.sketch[m * SKETCH + i] > most)
				most = work.sketch[m * SKETCH + i];
		sum += 1.0 / (double) (UINT64_C(1) << (most < 63 ? most : 63));
	}
	pp_budget_release(budget, work.sketch);
	*estimate = (uint64_t) (0.7213 / (1 + 1.079 / SKETCH) * SKETCH * SKETCH / sum);
	return status;
}

static PpJoinStatus
table_grow(Table *table, PpBudget *budget, const PpCancel *cancel)
{
	uint64_t	mask = 2 * table->mask + 1;
	Slot	   *slots = pp_budget_zeros(budget, mask + 1, sizeof(Slot));

	if (slots == NULL)
		return budget->failure;
	for (uint64_t i = 0; i <= table->mask; i++)
	{
		const Slot *slot = &table->slots[i];
		uint64_t	at = hash_key(&table->hash, slot->key) & mask;

		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
		{
			pp_budget_release(budget, slots);
			return PP_JOIN_CANCELLED;
		}
		if (slot->number == 0)
			continue;
		while (slots[at].number)
			at = (at + 1) & mask;
		slots[at] = *slot;
	}
	pp_budget_release(budget, table->slots);
	table->slots = slots;
	table->mask = mask;
	return PP_JOIN_OK;
}

typedef struct Hashing
{
	PpTurns		turns;
	Table	   *table;
	const int64_t *key;
	uint32_t   *out;
	uint32_t	members;
	uint32_t	allowed;		/* numbers that the table has room for */
} Hashing;

/*
 * Takes an empty slot for a key, unless another member is faster: then it is
 * to be looked at again.
 */
static inline bool
take_slot(Slot *slot, int64_t key, uint32_t number)
{
	uint32_t	empty = 0;

	if (!__atomic_compare_exchange_n(&slot->number, &empty, BUSY, false,
									 __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		return false;
	slot->key = key;
	__atomic_store_n(&slot->number, number, __ATOMIC_RELEASE);
	return true;
}

/* Numbers keys in stretches, until there are none or the table is full. */
static void
number_keys(void *ctx, uint32_t member)
{
	Hashing    *work = ctx;
	Table	   *table = work->table;
	Slot	   *slots = table->slots;
	const uint64_t mask = table->mask;
	const Hash	hash = table->hash;
	const bool	alone = work->members == 1;
	uint32_t	next = 0;		/* number to give, and the end of those taken */
	uint32_t	behind = 0;
	uint64_t	steps = 0;
	uint64_t	from;
	uint64_t	to;

	(void) member;
	while (__atomic_load_n(&table->n, __ATOMIC_RELAXED) <= work->allowed &&
		   pp_turns_next(&work->turns, &from, &to))
		for (uint64_t i = from; i < to; i += BATCH)
		{
			const int64_t *key = work->key + i;
			uint32_t	m = to - i < BATCH ? (uint32_t) (to - i) : BATCH;
			uint64_t	place[BATCH];

			for (uint32_t j = 0; j < m; j++)
			{
				place[j] = hash_key(&hash, key[j]) & mask;
				__builtin_prefetch(&slots[place[j]], 1);
			}
			for (uint32_t j = 0; j < m; j++)
			{
				uint64_t	at = place[j];

				for (;;)
				{
					uint32_t	number = __atomic_load_n(&slots[at].number, __ATOMIC_ACQUIRE);

					if (PP_LIKELY(number != 0 && number != BUSY))
					{
						if (slots[at].key == key[j])
						{
							work->out[i + j] = number - 1;
							break;
						}
						at = (at + 1) & mask;
						steps++;
					}
					else if (number == 0)
					{
						if (alone)
						{
							slots[at].key = key[j];
							slots[at].number = ++table->n;
							continue;
						}
						if (next == behind)
						{
							next = __atomic_fetch_add(&table->n, NUMBERS, __ATOMIC_RELAXED);
							behind = next + NUMBERS;
						}
						next += take_slot(&slots[at], key[j], next + 1);
					}
				}
			}
		}
	__atomic_fetch_add(&table->steps, steps, __ATOMIC_RELAXED);
}

/* Numbers that may be given after a look at how many there are. */
static uint64_t
room_needed(uint32_t members, uint64_t nkeys)
{
	uint64_t	most = members > 1 ? members * TEAM_STRETCH : STRETCH;

	return (nkeys < most ? nkeys : most) + (members > 1 ? members * NUMBERS : 0);
}

/* The keys of one relation, with the table growing as it has to. */
static PpJoinStatus
encode_hash(Table *table, PpBudget *budget, const PpCancel *cancel, PpTeam *team,
			const PpJoinRelation *relation, uint32_t *out)
{
	const uint64_t n = 2 * relation->nrows;
	Hashing		work;

	work.table = table;
	work.key = relation->pairs;
	work.out = out;
	work.members = pp_team_for(team, relation->nrows);
	pp_turns_begin(&work.turns, cancel, n, work.members > 1 ? TEAM_STRETCH : STRETCH);
	while (work.turns.next < n)
	{
		const uint64_t room = room_needed(work.members, n - work.turns.next);
		uint64_t	most = (table->mask + 1) / 4 * 3;

		if (table->n >= PP_JOIN_MAX_ROWS - room)
			return PP_JOIN_TOO_MANY;
		if (table->n + room > most)
		{
			PpJoinStatus status = table_grow(table, budget, cancel);

			if (status != PP_JOIN_OK)
				return status;
			continue;
		}
		most -= room;
		work.allowed = most < PP_JOIN_MAX_ROWS - room ? (uint32_t) most :
			(uint32_t) (PP_JOIN_MAX_ROWS - room);
		pp_team_run(team, work.members, number_keys, &work);
		if (work.turns.cancelled)
			return PP_JOIN_CANCELLED;
	}
	return PP_JOIN_OK;
}

/*
 * Sorts slots by key, by bytes from the last on, with as much room at spare;
 * answers which of the two holds the result.  NULL: cancelled.
 */
static Slot *
sort_slots(const PpCancel *cancel, Slot *slots, Slot *spare, uint32_t n)
{
	for (uint32_t shift = 0; shift < 64; shift += 8)
	{
		uint32_t	place[256] = {0};
		uint32_t	sum = 0;
		Slot	   *swap;

		for (uint32_t i = 0; i < n; i++)
		{
			if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
				return NULL;
			place[((uint64_t) slots[i].key ^ (UINT64_C(1) << 63)) >> shift & 255]++;
		}
		if (n == 0 ||
			place[((uint64_t) slots[0].key ^ (UINT64_C(1) << 63)) >> shift & 255] == n)
			continue;			/* all the same */
		for (uint32_t i = 0; i < 256; i++)
		{
			uint32_t	here = place[i];

			place[i] = sum;
			sum += here;
		}
		for (uint32_t i = 0; i < n; i++)
		{
			if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
				return NULL;
			spare[place[((uint64_t) slots[i].key ^ (UINT64_C(1) << 63)) >> shift & 255]++] = slots[i];
		}
		swap = slots;
		slots = spare;
		spare = swap;
	}
	return slots;
}

typedef struct Renaming
{
	PpTurns		turns;
	uint32_t   *pair;
	const uint32_t *rank;
} Renaming;

static void
rename_keys(void *ctx, uint32_t member)
{
	Renaming   *work = ctx;
	uint64_t	i;
	uint64_t	to;

	(void) member;
	while (pp_turns_next(&work->turns, &i, &to))
		for (; i < to; i++)
			work->pair[i] = work->rank[work->pair[i]];
}

/* Gives numbers in order of keys to what was numbered as it came. */
static PpJoinStatus
reorder(PpDict *dict, Table *table, PpBudget *budget, const PpCancel *cancel, PpTeam *team,
		const PpJoinQuery *query, const bool *used, PpCodes *codes)
{
	Slot	   *spare = NULL;
	uint32_t   *rank = pp_budget_alloc(budget, table->n, sizeof(uint32_t));
	PpJoinStatus status = PP_JOIN_OK;
	uint32_t	n = 0;
	Slot	   *sorted;

	for (uint64_t i = 0; i <= table->mask; i++)
	{
		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		if (table->slots[i].number)
			table->slots[n++] = table->slots[i];
	}
	/* fewer than were given */
	dict->n = n;
	spare = pp_budget_alloc(budget, n, sizeof(Slot));
	if (spare == NULL || rank == NULL)
	{
		status = budget->failure;
		goto done;
	}
	sorted = sort_slots(cancel, table->slots, spare, n);
	if (sorted == NULL)
	{
		status = PP_JOIN_CANCELLED;
		goto done;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
		{
			status = PP_JOIN_CANCELLED;
			goto done;
		}
		rank[sorted[i].number - 1] = i;
		if (dict->keys)
			dict->keys[i] = sorted[i].key;
	}
	for (uint32_t r = 0; r < query->nrelations; r++)
	{
		Renaming	work;

		if (!used[r])
			continue;
		pp_turns_begin(&work.turns, cancel, 2 * (uint64_t) codes[r].nrows, PP_CANCEL_ROWS);
		work.pair = codes[r].pairs;
		work.rank = rank;
		pp_team_run(team, pp_team_for(team, codes[r].nrows), rename_keys, &work);
		if (work.turns.cancelled)
		{
			status = PP_JOIN_CANCELLED;
			break;
		}
	}
done:
	pp_budget_release(budget, spare);
	pp_budget_release(budget, rank);
	return status;
}

static PpJoinStatus
build_hash(PpDict *dict, PpBudget *budget, const PpCancel *cancel, PpTeam *team,
		   const PpJoinQuery *query, const bool *used, uint64_t nrows,
		   bool ordered, bool names, PpCodes *codes)
{
	uint64_t	nslots = LEAST_SLOTS;
	uint64_t	estimate = 0;
	uint64_t	room;
	Table		table;
	PpJoinStatus status;

	table.hash.mask = query->seed;
	table.hash.factor = (query->seed * UINT64_C(0xd6e8feb86659fd93) ^ UINT64_C(0x9e3779b97f4a7c15)) | 1;
	table.n = 0;
	table.steps = 0;
	status = estimate_keys(budget, cancel, team, &table.hash, query, used, nrows, &estimate);
	if (status != PP_JOIN_OK)
		return status;
	/* some more than the estimate, so as not to grow */
	room = estimate + room_needed(pp_team_for(team, nrows), 2 * nrows) + estimate / 16;
	/* there are no more keys than places for them, whatever few ones are
	 * estimated to be */
	if (team->most <= 1 || pp_team_for(team, nrows) <= 1)
	{
		estimate = estimate < 2 * nrows ? estimate : 2 * nrows;
		room = room < 2 * nrows ? room : 2 * nrows;
	}
	while (nslots < estimate + estimate / 2 || nslots / 4 * 3 < room)
		nslots *= 2;
	table.slots = pp_budget_zeros(budget, nslots, sizeof(Slot));
	table.mask = nslots - 1;
	if (table.slots == NULL)
		return budget->failure;
	for (uint32_t r = 0; r < query->nrelations && status == PP_JOIN_OK; r++)
		if (used[r])
			status = encode_hash(&table, budget, cancel, team, &query->relations[r],
								 codes[r].pairs);
	dict->n = table.n;
	dict->steps = table.steps;
	if (status == PP_JOIN_OK && names)
	{
		dict->keys = pp_budget_alloc(budget, table.n, sizeof(int64_t));
		if (dict->keys == NULL)
			status = budget->failure;
		for (uint64_t i = 0; i <= table.mask && status == PP_JOIN_OK && !ordered; i++)
		{
			if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
				status = PP_JOIN_CANCELLED;
			if (table.slots[i].number)
				dict->keys[table.slots[i].number - 1] = table.slots[i].key;
		}
	}
	if (status == PP_JOIN_OK && ordered)
		status = reorder(dict, &table, budget, cancel, team, query, used, codes);
	pp_budget_release(budget, table.slots);
	return status;
}

PpJoinStatus
pp_dict_build(PpDict *dict, PpBudget *budget, const PpCancel *cancel, PpTeam *team,
			  const PpJoinQuery *query, const bool *used,
			  bool ordered, bool names, PpCodes *codes)
{
	Survey		survey;
	uint64_t	nrows;
	uint64_t	range;
	PpJoinStatus status;

	memset(dict, 0, sizeof(*dict));
	status = survey_keys(cancel, team, query, used, codes, &survey, &nrows);
	for (uint32_t r = 0; r < query->nrelations && status == PP_JOIN_OK; r++)
		if (used[r])
		{
			codes[r].pairs = pp_budget_alloc(budget, 2 * (uint64_t) codes[r].nrows,
											 sizeof(uint32_t));
			if (codes[r].pairs == NULL)
				status = budget->failure;
		}
	if (status != PP_JOIN_OK || nrows == 0)
		return status;

	/* one less than how many keys there could be */
	range = (uint64_t) survey.greatest - (uint64_t) survey.least;
	dict->least = survey.least;
	if (range < 2 * nrows && range < PP_JOIN_MAX_ROWS)
	{
		Encoding	work;

		dict->kind = PP_DICT_DIRECT;
		dict->n = (uint32_t) range + 1;
		work.least = dict->least;
		return for_all_keys(&work, encode_direct, cancel, team, query, used, codes);
	}
	if (range / 128 < nrows && nrows < PP_JOIN_MAX_ROWS / 2)
	{
		dict->kind = PP_DICT_RANK;
		return build_rank(dict, budget, cancel, team, query, used, names, range, codes);
	}
	dict->kind = PP_DICT_HASH;
	return build_hash(dict, budget, cancel, team, query, used, nrows, ordered, names, codes);
}

void
pp_dict_release(PpDict *dict, PpBudget *budget)
{
	pp_budget_release(budget, dict->keys);
	dict->keys = NULL;
}
