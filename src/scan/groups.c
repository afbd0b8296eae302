/*-------------------------------------------------------------------------
 *
 * groups.c
 *		The table of groups of an aggregating scan: from the values of
 *		grouping columns to accumulators.
 *
 * Keys are equal if their bytes are; the planner has seen to it that this is
 * what the server calls equal.  NULL is a value like any other.  Groups have
 * numbers, in the order of their first appearance, and lie in arrays that
 * grow; a hash table of numbers with open addressing finds them.
 *
 * The table never takes more memory than it may, a small minimum aside.  When
 * it is full it knows the groups it has and no others; what to do with the
 * rest is its user's business.
 *
 * IDENTIFICATION
 *		src/scan/groups.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/uuid.h"

#include "aggregate.h"

#define FIRST_ROOM		64		/* groups; a power of two */
#define SLOTS_PER_ROOM	2

#define always_inline	inline __attribute__((always_inline))

typedef struct PpGroup
{
	uint64		key[PP_MAX_GROUP_KEYS]; /* Datums; of NULL, 0 */
	uint64		hash;
	uint32		nulls;			/* bit k: key k is NULL */
} PpGroup;

struct PpGroups
{
	MemoryContext context;
	Size		limit;
	int			nkeys;
	PpKeyKind	key[PP_MAX_GROUP_KEYS];
	int			naggs;
	PpAggKind  *agg;
	bool		full;

	uint32		ngroups;
	uint32		room;
	PpGroup    *group;			/* [room] */
	PpAccum    *accum;			/* [room * naggs] */
	uint32		nslots;			/* a power of two */
	uint32	   *slot;			/* [nslots] group number + 1, or 0 */
};

/*
 * Hashing.  Every bit of the result depends on every bit of the key: the
 * table uses the lowest bits, its user the highest.
 */

static always_inline uint64
mix(uint64 x)
{
	x ^= x >> 32;
	x *= UINT64CONST(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64CONST(0xd6e8feb86659fd93);
	x ^= x >> 32;
	return x;
}

static uint64
hash_key_bytes(const uint8 *p, Size n)
{
	uint64		h = n;
	uint64		w;

	for (; n >= sizeof(w); p += sizeof(w), n -= sizeof(w))
	{
		memcpy(&w, p, sizeof(w));
		h = mix(h ^ w) + UINT64CONST(0x9e3779b97f4a7c15);
	}
	w = 0;
	memcpy(&w, p, n);
	return mix(h ^ w);
}

/* The bytes that a by-reference key is compared by. */
static always_inline const uint8 *
key_bytes(PpKeyKind kind, uint64 datum, Size *n)
{
	const uint8 *p = (const uint8 *) (uintptr_t) datum;

	switch (kind)
	{
		case PP_KEY_UUID:
			*n = UUID_LEN;
			return p;
		case PP_KEY_NAME:
			/* what follows its end means nothing */
			*n = strlen((const char *) p);
			return p;
		default:
			*n = VARSIZE(p) - VARHDRSZ;
			return (const uint8 *) VARDATA(p);
	}
}

static always_inline uint64
hash_key(PpKeyKind kind, uint64 datum)
{
	const uint8 *p;
	Size		n;

	if (kind == PP_KEY_VALUE)
		return mix(datum + UINT64CONST(0x9e3779b97f4a7c15));
	p = key_bytes(kind, datum, &n);
	return hash_key_bytes(p, n);
}

static always_inline bool
same_key(PpKeyKind kind, uint64 x, uint64 y)
{
	const uint8 *p,
			   *q;
	Size		m,
				n;

	if (kind == PP_KEY_VALUE)
		return x == y;
	p = key_bytes(kind, x, &m);
	q = key_bytes(kind, y, &n);
	return m == n && memcmp(p, q, n) == 0;
}

/*
 * The table.
 */

static void
allocate(PpGroups *g, uint32 room)
{
	Size		accums = (Size) room * g->naggs * sizeof(PpAccum);

	if (g->room == 0)
	{
		g->group = MemoryContextAllocHuge(g->context, room * sizeof(PpGroup));
		g->accum = MemoryContextAllocHuge(g->context, Max(accums, 1));
	}
	else
	{
		g->group = repalloc_huge(g->group, room * sizeof(PpGroup));
		g->accum = repalloc_huge(g->accum, Max(accums, 1));
		pfree(g->slot);
	}
	g->room = room;
	g->nslots = room * SLOTS_PER_ROOM;
	g->slot = MemoryContextAllocHuge(g->context, g->nslots * sizeof(uint32));
	memset(g->slot, 0, g->nslots * sizeof(uint32));
	for (uint32 i = 0; i < g->ngroups; i++)
	{
		uint32		s = (uint32) g->group[i].hash & (g->nslots - 1);

		while (g->slot[s] != 0)
			s = (s + 1) & (g->nslots - 1);
		g->slot[s] = i + 1;
	}
}

/* Makes room for one group whose key takes size bytes; false: there is none. */
static bool
reserve(PpGroups *g, Size size)
{
	Size		used = MemoryContextMemAllocated(g->context, true);

	if (g->full)
		return false;
	if (g->ngroups == g->room)
	{
		Size		more = (Size) g->room *
			(sizeof(PpGroup) + g->naggs * sizeof(PpAccum) + SLOTS_PER_ROOM * sizeof(uint32));

		if (g->room > PG_UINT32_MAX / (2 * SLOTS_PER_ROOM) || used + more + size > g->limit)
			g->full = true;
		else
			allocate(g, 2 * g->room);
	}
	else if (used + size > g->limit && g->ngroups >= FIRST_ROOM)
		g->full = true;
	return !g->full;
}

/* A key that outlives the batch. */
static uint64
copy_key(PpGroups *g, PpKeyKind kind, uint64 datum)
{
	const uint8 *p = (const uint8 *) (uintptr_t) datum;
	Size		size;
	uint8	   *copy;

	if (kind == PP_KEY_VALUE)
		return datum;
	size = kind == PP_KEY_UUID ? UUID_LEN : kind == PP_KEY_NAME ? NAMEDATALEN : VARSIZE(p);
	copy = MemoryContextAlloc(g->context, size);
	memcpy(copy, p, size);
	return (uint64) (uintptr_t) copy;
}

static pg_noinline uint32
add_group(PpGroups *g, const uint64 *key, uint32 nulls, uint64 hash)
{
	PpGroup    *group;
	Size		size = 0;
	uint32		s;

	for (int k = 0; k < g->nkeys; k++)
	{
		Size		n = 0;

		if (g->key[k] != PP_KEY_VALUE && !(nulls & (1u << k)))
			(void) key_bytes(g->key[k], key[k], &n);
		size += n;
	}
	if (!reserve(g, size))
		return PP_NO_GROUP;

	group = &g->group[g->ngroups];
	memset(group, 0, sizeof(*group));
	for (int k = 0; k < g->nkeys; k++)
		if (!(nulls & (1u << k)))
			group->key[k] = copy_key(g, g->key[k], key[k]);
	group->hash = hash;
	group->nulls = nulls;
	for (int i = 0; i < g->naggs; i++)
		parparaw_accum_init(&g->accum[(Size) g->ngroups * g->naggs + i], g->agg[i]);

	s = (uint32) hash & (g->nslots - 1);
	while (g->slot[s] != 0)
		s = (s + 1) & (g->nslots - 1);
	g->slot[s] = ++g->ngroups;
	return g->ngroups - 1;
}

/* nkeys and, of the first key, kind are the table's, as constants. */
static always_inline uint64
read_key(const PpGroups *g, int nkeys, PpKeyKind kind, const PpSegment *segment,
		 uint32 row, uint64 *key, uint32 *nulls)
{
	uint64		hash = 0;

	*nulls = 0;
	for (int k = 0; k < nkeys; k++)
	{
		PpKeyKind	kk = k == 0 ? kind : g->key[k];

		if (segment[k].state[row] == PP_VALUE)
		{
			key[k] = segment[k].value[row];
			hash = mix(hash + k) ^ hash_key(kk, key[k]);
		}
		else
		{
			key[k] = 0;
			*nulls |= 1u << k;
			hash = mix(hash + k + 7);
		}
	}
	return hash;
}

static always_inline bool
is_group(const PpGroups *g, int nkeys, PpKeyKind kind, const PpGroup *group,
		 const uint64 *key, uint32 nulls)
{
	if (group->nulls != nulls)
		return false;
	for (int k = 0; k < nkeys; k++)
	{
		PpKeyKind	kk = k == 0 ? kind : g->key[k];

		/* of NULL both are 0 */
		if (kk == PP_KEY_VALUE || nulls & (1u << k))
		{
			if (group->key[k] != key[k])
				return false;
		}
		else if (!same_key(kk, group->key[k], key[k]))
			return false;
	}
	return true;
}

static always_inline void
find(PpGroups *g, int nkeys, PpKeyKind kind, const PpSegment *segment, uint32 *group)
{
	uint32		last = PP_NO_GROUP;

	for (uint32 i = segment->from; i < segment->to; i++)
	{
		uint32		row = segment->rows ? segment->rows[i] : i;
		uint64		key[PP_MAX_GROUP_KEYS];
		uint32		nulls;
		uint64		hash = read_key(g, nkeys, kind, segment, row, key, &nulls);
		uint32		mask = g->nslots - 1;
		uint32		s = (uint32) hash & mask;

		/* neighbours are often alike */
		if (last != PP_NO_GROUP && g->group[last].hash == hash &&
			is_group(g, nkeys, kind, &g->group[last], key, nulls))
		{
			group[i] = last;
			continue;
		}
		for (;;)
		{
			uint32		n = g->slot[s];

			if (n == 0)
			{
				last = add_group(g, key, nulls, hash);
				break;
			}
			if (g->group[n - 1].hash == hash &&
				is_group(g, nkeys, kind, &g->group[n - 1], key, nulls))
			{
				last = n - 1;
				break;
			}
			s = (s + 1) & mask;
		}
		group[i] = last;
	}
}

void
parparaw_groups_find(PpGroups *g, const PpSegment *segment, uint32 *group)
{
	if (g->nkeys == 1 && g->key[0] == PP_KEY_VALUE)
		find(g, 1, PP_KEY_VALUE, segment, group);
	else if (g->nkeys == 1 && g->key[0] == PP_KEY_VARLENA)
		find(g, 1, PP_KEY_VARLENA, segment, group);
	else
		find(g, g->nkeys, g->key[0], segment, group);
}

uint64
parparaw_groups_hash(PpGroups *g, const PpSegment *segment)
{
	uint64		key[PP_MAX_GROUP_KEYS];
	uint32		nulls;

	return read_key(g, g->nkeys, g->key[0], segment,
					segment->rows ? segment->rows[segment->from] : segment->from,
					key, &nulls);
}

PpGroups *
parparaw_groups_create(int nkeys, const PpKeyKind *keys, int naggs,
					   const PpAggKind *aggs, Size limit)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "parparaw groups",
												  ALLOCSET_DEFAULT_SIZES);
	PpGroups   *g = MemoryContextAllocZero(context, sizeof(PpGroups));

	g->context = context;
	g->limit = limit;
	g->nkeys = nkeys;
	memcpy(g->key, keys, nkeys * sizeof(PpKeyKind));
	g->naggs = naggs;
	g->agg = MemoryContextAlloc(context, Max(naggs, 1) * sizeof(PpAggKind));
	memcpy(g->agg, aggs, naggs * sizeof(PpAggKind));
	allocate(g, FIRST_ROOM);
	return g;
}

void
parparaw_groups_free(PpGroups *g)
{
	MemoryContextDelete(g->context);
}

uint32
parparaw_groups_count(const PpGroups *g)
{
	return g->ngroups;
}

MemoryContext
parparaw_groups_context(const PpGroups *g)
{
	return g->context;
}

PpAccum *
parparaw_groups_accums(PpGroups *g)
{
	return g->accum;
}

Datum
parparaw_groups_key(const PpGroups *g, uint32 group, int k, bool *isnull)
{
	*isnull = (g->group[group].nulls & (1u << k)) != 0;
	return (Datum) g->group[group].key[k];
}
