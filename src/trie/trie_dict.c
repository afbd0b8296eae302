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

#define LEAST_SLOTS		UINT64_C(1024)

typedef struct Slot
{
	int64_t		key;
	uint32_t	number;			/* plus one; 0: empty */
} Slot;

typedef struct Table
{
	Slot	   *slots;
	uint64_t	mask;
	uint32_t	n;
} Table;

static inline uint64_t
hash_key(int64_t key)
{
	uint64_t	k = (uint64_t) key * UINT64_C(0x9e3779b97f4a7c15);

	k ^= k >> 32;
	k *= UINT64_C(0xd6e8feb86659fd93);
	return k ^ (k >> 32);
}

/* What is known of the keys before they get numbers. */
typedef struct Survey
{
	uint64_t	nrows;
	int64_t		least;
	int64_t		greatest;
} Survey;

static PpJoinStatus
survey_keys(const PpCancel *cancel, const PpJoinQuery *query, const bool *used,
			PpCodes *codes, Survey *s)
{
	s->nrows = 0;
	s->least = INT64_MAX;
	s->greatest = INT64_MIN;
	for (uint32_t r = 0; r < query->nrelations; r++)
	{
		const PpJoinRelation *relation = &query->relations[r];
		const int64_t *pair = relation->pairs;
		int64_t		least = s->least;
		int64_t		greatest = s->greatest;
		uint32_t	nless = 0;
		uint32_t	nequal = 0;

		if (!used[r])
			continue;
		if (relation->nrows >= PP_JOIN_MAX_ROWS)
			return PP_JOIN_TOO_MANY;
		for (uint64_t i = 0; i < relation->nrows;)
		{
			uint64_t	to = i + PP_CANCEL_ROWS < relation->nrows ?
				i + PP_CANCEL_ROWS : relation->nrows;

			if (pp_cancelled(cancel))
				return PP_JOIN_CANCELLED;
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
		}
		s->least = least;
		s->greatest = greatest;
		s->nrows += relation->nrows;
		codes[r].nrows = (uint32_t) relation->nrows;
		codes[r].nless = nless;
		codes[r].nequal = nequal;
	}
	return PP_JOIN_OK;
}

/* ---------- direct and by rank ---------- */

static PpJoinStatus
encode_direct(const PpCancel *cancel, const PpJoinRelation *relation,
			  uint32_t *out, int64_t least)
{
	for (uint64_t i = 0; i < 2 * relation->nrows;)
	{
		uint64_t	to = i + 2 * PP_CANCEL_ROWS < 2 * relation->nrows ?
			i + 2 * PP_CANCEL_ROWS : 2 * relation->nrows;

		if (pp_cancelled(cancel))
			return PP_JOIN_CANCELLED;
		for (; i < to; i++)
			out[i] = (uint32_t) ((uint64_t) relation->pairs[i] - (uint64_t) least);
	}
	return PP_JOIN_OK;
}

/* A bit for each key that occurs, and how many are set before each word. */
static PpJoinStatus
encode_rank(PpDict *dict, PpBudget *budget, const PpCancel *cancel,
			const PpJoinQuery *query, const bool *used, bool names,
			uint64_t range, PpCodes *codes)
{
	uint64_t	nwords = range / 64 + 1;
	uint64_t   *bits = pp_budget_zeros(budget, nwords, sizeof(uint64_t));
	uint32_t   *before = pp_budget_alloc(budget, nwords, sizeof(uint32_t));
	PpJoinStatus status = PP_JOIN_OK;

	if (bits == NULL || before == NULL)
		status = budget->failure;
	for (uint32_t r = 0; r < query->nrelations && status == PP_JOIN_OK; r++)
	{
		const PpJoinRelation *relation = &query->relations[r];

		for (uint64_t i = 0; used[r] && i < 2 * relation->nrows; i++)
		{
			uint64_t	k = (uint64_t) relation->pairs[i] - (uint64_t) dict->least;

			if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
			{
				status = PP_JOIN_CANCELLED;
				break;
			}
			bits[k / 64] |= UINT64_C(1) << (k % 64);
		}
	}
	if (status == PP_JOIN_OK)
	{
		dict->n = 0;
		for (uint64_t w = 0; w < nwords; w++)
		{
			before[w] = dict->n;
			dict->n += (uint32_t) __builtin_popcountll(bits[w]);
		}
		if (names)
		{
			dict->keys = pp_budget_alloc(budget, dict->n, sizeof(int64_t));
			if (dict->keys == NULL)
				status = budget->failure;
		}
		for (uint64_t w = 0, n = 0; w < nwords && dict->keys; w++)
			for (uint64_t m = bits[w]; m; m &= m - 1)
				dict->keys[n++] = (int64_t) ((uint64_t) dict->least + w * 64 +
											 (uint64_t) __builtin_ctzll(m));
	}
	for (uint32_t r = 0; r < query->nrelations && status == PP_JOIN_OK; r++)
	{
		const PpJoinRelation *relation = &query->relations[r];

		for (uint64_t i = 0; used[r] && i < 2 * relation->nrows; i++)
		{
			uint64_t	k = (uint64_t) relation->pairs[i] - (uint64_t) dict->least;
			uint64_t	below = (UINT64_C(1) << (k % 64)) - 1;

			if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
			{
				status = PP_JOIN_CANCELLED;
				break;
			}
			codes[r].pairs[i] = before[k / 64] +
				(uint32_t) __builtin_popcountll(bits[k / 64] & below);
		}
	}
	pp_budget_release(budget, bits);
	pp_budget_release(budget, before);
	return status;
}

/* ---------- by hash ---------- */

/*
 * About how many different keys there are: HyperLogLog (Flajolet and others,
 * 2007) without its corrections, as small answers only mean a small table.
 */
static PpJoinStatus
estimate_keys(const PpCancel *cancel, const PpJoinQuery *query, const bool *used,
			  uint64_t *estimate)
{
	uint8_t		sketch[SKETCH];
	double		sum = 0;

	memset(sketch, 0, sizeof(sketch));
	for (uint32_t r = 0; r < query->nrelations; r++)
	{
		const PpJoinRelation *relation = &query->relations[r];

		for (uint64_t i = 0; used[r] && i < 2 * relation->nrows;)
		{
			uint64_t	to = i + PP_CANCEL_ROWS < 2 * relation->nrows ?
				i + PP_CANCEL_ROWS : 2 * relation->nrows;

			if (pp_cancelled(cancel))
				return PP_JOIN_CANCELLED;
			for (; i < to; i++)
			{
				uint64_t	h = hash_key(relation->pairs[i]);
				uint8_t		zeros = (uint8_t) (__builtin_clzll(h << SKETCH_BITS | 1) + 1);
				uint8_t    *at = &sketch[h >> (64 - SKETCH_BITS)];

				if (zeros > *at)
					*at = zeros;
			}
		}
	}
	for (uint32_t i = 0; i < SKETCH; i++)
		sum += 1.0 / (double) (UINT64_C(1) << (sketch[i] < 63 ? sketch[i] : 63));
	*estimate = (uint64_t) (0.7213 / (1 + 1.079 / SKETCH) * SKETCH * SKETCH / sum);
	return PP_JOIN_OK;
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
		uint64_t	at = hash_key(slot->key) & mask;

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

static PpJoinStatus
encode_hash(Table *table, PpBudget *budget, const PpCancel *cancel,
			const PpJoinRelation *relation, uint32_t *out)
{
	uint64_t	n = 2 * relation->nrows;
	uint64_t	place[BATCH];

	for (uint64_t i = 0; i < n; i += BATCH)
	{
		const int64_t *key = relation->pairs + i;
		uint32_t	m = n - i < BATCH ? (uint32_t) (n - i) : BATCH;
		Slot	   *slots;
		uint64_t	mask;

		if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
			return PP_JOIN_CANCELLED;
		if ((table->n + (uint64_t) BATCH) * 4 > (table->mask + 1) * 3)
		{
			PpJoinStatus status = table_grow(table, budget, cancel);

			if (status != PP_JOIN_OK)
				return status;
		}
		if (table->n >= PP_JOIN_MAX_ROWS - BATCH)
			return PP_JOIN_TOO_MANY;
		slots = table->slots;
		mask = table->mask;
		for (uint32_t j = 0; j < m; j++)
		{
			place[j] = hash_key(key[j]) & mask;
			__builtin_prefetch(&slots[place[j]], 1);
		}
		for (uint32_t j = 0; j < m; j++)
		{
			uint64_t	at = place[j];

			while (slots[at].number && slots[at].key != key[j])
				at = (at + 1) & mask;
			if (slots[at].number == 0)
			{
				slots[at].key = key[j];
				slots[at].number = ++table->n;
			}
			out[i + j] = slots[at].number - 1;
		}
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

/* Gives numbers in order of keys to what was numbered as it came. */
static PpJoinStatus
reorder(PpDict *dict, Table *table, PpBudget *budget, const PpCancel *cancel,
		const PpJoinQuery *query, const bool *used, PpCodes *codes)
{
	uint32_t	n = table->n;
	Slot	   *spare = pp_budget_alloc(budget, n, sizeof(Slot));
	uint32_t   *rank = pp_budget_alloc(budget, n, sizeof(uint32_t));
	PpJoinStatus status = PP_JOIN_OK;
	uint32_t	k = 0;
	Slot	   *sorted;

	if (spare == NULL || rank == NULL)
	{
		status = budget->failure;
		goto done;
	}
	for (uint64_t i = 0; i <= table->mask; i++)
		if (table->slots[i].number)
			table->slots[k++] = table->slots[i];
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
		for (uint64_t i = 0; used[r] && i < 2 * (uint64_t) codes[r].nrows; i++)
		{
			if (i % PP_CANCEL_ROWS == 0 && pp_cancelled(cancel))
			{
				status = PP_JOIN_CANCELLED;
				goto done;
			}
			codes[r].pairs[i] = rank[codes[r].pairs[i]];
		}
done:
	pp_budget_release(budget, spare);
	pp_budget_release(budget, rank);
	return status;
}

static PpJoinStatus
build_hash(PpDict *dict, PpBudget *budget, const PpCancel *cancel,
		   const PpJoinQuery *query, const bool *used, bool ordered, bool names,
		   PpCodes *codes)
{
	uint64_t	nslots = LEAST_SLOTS;
	uint64_t	estimate;
	Table		table = {NULL, 0, 0};
	PpJoinStatus status = estimate_keys(cancel, query, used, &estimate);

	if (status != PP_JOIN_OK)
		return status;
	while (nslots < estimate + estimate / 2)
		nslots *= 2;
	table.slots = pp_budget_zeros(budget, nslots, sizeof(Slot));
	table.mask = nslots - 1;
	if (table.slots == NULL)
		return budget->failure;
	for (uint32_t r = 0; r < query->nrelations && status == PP_JOIN_OK; r++)
		if (used[r])
			status = encode_hash(&table, budget, cancel, &query->relations[r],
								 codes[r].pairs);
	dict->n = table.n;
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
		status = reorder(dict, &table, budget, cancel, query, used, codes);
	pp_budget_release(budget, table.slots);
	return status;
}

PpJoinStatus
pp_dict_build(PpDict *dict, PpBudget *budget, const PpCancel *cancel,
			  const PpJoinQuery *query, const bool *used,
			  bool ordered, bool names, PpCodes *codes)
{
	Survey		survey;
	uint64_t	range;
	PpJoinStatus status;

	memset(dict, 0, sizeof(*dict));
	status = survey_keys(cancel, query, used, codes, &survey);
	for (uint32_t r = 0; r < query->nrelations && status == PP_JOIN_OK; r++)
		if (used[r])
		{
			codes[r].pairs = pp_budget_alloc(budget, 2 * (uint64_t) codes[r].nrows,
											 sizeof(uint32_t));
			if (codes[r].pairs == NULL)
				status = budget->failure;
		}
	if (status != PP_JOIN_OK || survey.nrows == 0)
		return status;

	/* one less than how many keys there could be */
	range = (uint64_t) survey.greatest - (uint64_t) survey.least;
	dict->least = survey.least;
	if (range < 2 * survey.nrows && range < PP_JOIN_MAX_ROWS)
	{
		dict->kind = PP_DICT_DIRECT;
		dict->n = (uint32_t) range + 1;
		for (uint32_t r = 0; r < query->nrelations && status == PP_JOIN_OK; r++)
			if (used[r])
				status = encode_direct(cancel, &query->relations[r], codes[r].pairs,
									   dict->least);
		return status;
	}
	if (range / 64 < survey.nrows && survey.nrows < PP_JOIN_MAX_ROWS / 2)
	{
		dict->kind = PP_DICT_RANK;
		return encode_rank(dict, budget, cancel, query, used, names, range, codes);
	}
	dict->kind = PP_DICT_HASH;
	return build_hash(dict, budget, cancel, query, used, ordered, names, codes);
}

void
pp_dict_release(PpDict *dict, PpBudget *budget)
{
	pp_budget_release(budget, dict->keys);
	dict->keys = NULL;
}
