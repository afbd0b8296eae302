/*-------------------------------------------------------------------------
 *
 * number.c
 *		Small numbers for the keys of a box.
 *
 * The engine numbers keys itself, but for the many small joins of boxes its
 * tables are larger than their rows.  Here each variable's keys get numbers of
 * their own, as they come in the smallest of its inputs: rows of others whose
 * key has none join with nothing.  Variables have their numbers in common only
 * if they are compared, or read the same rows.
 *
 * Owns the tables while numbers are given, and keys by number after that.
 *
 * IDENTIFICATION
 *		src/join/number.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "joinexec.h"

#define LEAST_SLOTS		64

/* Rows between two looks at interrupts. */
#define ROWS_CHECKED	16384

/* Keys that are numbered together. */
typedef struct Table
{
	uint32		n;
	uint32		room;			/* of keys */
	int64	   *keys;			/* by number */
	uint32		shift;			/* 64 less the slots' number as a power of 2 */
	uint32	   *slots;			/* number plus one; 0: empty */
} Table;

/* What numbering a box works on. */
typedef struct Numbering
{
	PpJoinState *state;
	MemoryContext context;
	Size		left;			/* bytes that tables may still take */
	bool		full;
	Table		tables[PP_JOIN_MAX_VARIABLES];
	uint8		table[PP_JOIN_MAX_VARIABLES];	/* of each variable */
	bool		several[PP_JOIN_MAX_VARIABLES]; /* [table] has several variables */
} Numbering;

static inline uint32
first_slot(const Table *table, uint64 seed, int64 key)
{
	return (uint32) ((((uint64) key ^ seed) * UINT64CONST(0x9e3779b97f4a7c15)) >> table->shift);
}

/* The slot of a key: where its number is, or is to be. */
static inline uint32 *
find_slot(const Table *table, uint64 seed, int64 key)
{
	const uint32 mask = UINT32_MAX >> (table->shift - 32);
	uint32		at = first_slot(table, seed, key);

	while (table->slots[at] && table->keys[table->slots[at] - 1] != key)
		at = (at + 1) & mask;
	return &table->slots[at];
}

static uint32
slot_count(const Table *table)
{
	return (UINT32_MAX >> (table->shift - 32)) + 1;
}

static void *
take(Numbering *numbering, Size bytes)
{
	if (bytes > numbering->left)
	{
		numbering->full = true;
		return NULL;
	}
	numbering->left -= bytes;
	return MemoryContextAllocExtended(numbering->context, bytes,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static void
give(Numbering *numbering, void *ptr, Size bytes)
{
	if (ptr)
	{
		pfree(ptr);
		numbering->left += bytes;
	}
}

static void
fill_slots(Numbering *numbering, Table *table)
{
	for (uint32 i = 0; i < table->n; i++)
		*find_slot(table, numbering->state->seed, table->keys[i]) = i + 1;
}

/* Makes room for as many keys again; false: there is no memory. */
static bool
grow_table(Numbering *numbering, Table *table)
{
	uint32		room = table->room * 2;
	int64	   *keys = take(numbering, (Size) room * sizeof(int64));

	if (keys == NULL)
		return false;
	memcpy(keys, table->keys, (Size) table->n * sizeof(int64));
	give(numbering, table->keys, (Size) table->room * sizeof(int64));
	table->keys = keys;
	table->room = room;
	give(numbering, table->slots, (Size) slot_count(table) * sizeof(uint32));
	table->slots = NULL;
	table->shift--;
	table->slots = take(numbering, (Size) slot_count(table) * sizeof(uint32));
	if (table->slots == NULL)
		return false;
	fill_slots(numbering, table);
	return true;
}

/* Gives numbers to a column's keys; false: there is no memory. */
static bool
number_keys(Numbering *numbering, Table *table, const PpInput *input, int side)
{
	const uint64 seed = numbering->state->seed;

	if (table->keys == NULL)
	{
		/* slots for twice as many keys as there is room for */
		uint32		bits = Max(pg_leftmost_one_pos64(Max(input->nrows, 1)), 5);

		table->room = UINT32_C(1) << bits;
		table->shift = 63 - bits;
		table->keys = take(numbering, (Size) table->room * sizeof(int64));
		table->slots = take(numbering, (Size) slot_count(table) * sizeof(uint32));
		if (table->keys == NULL || table->slots == NULL)
			return false;
	}
	for (uint64 i = 0; i < input->nrows; i++)
	{
		int64		key = input->pairs[2 * i + side];
		uint32	   *slot = find_slot(table, seed, key);

		if (i % ROWS_CHECKED == 0)
			CHECK_FOR_INTERRUPTS();
		if (*slot)
			continue;
		if (table->n == table->room)
		{
			if (!grow_table(numbering, table))
				return false;
			slot = find_slot(table, seed, key);
		}
		table->keys[table->n] = key;
		*slot = ++table->n;
	}
	return true;
}

static int
compare_keys(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/* Puts variables into one table that have to have their numbers in common. */
static void
join_tables(Numbering *numbering, uint32 v, uint32 w)
{
	uint8		from = numbering->table[w];
	uint8		to = numbering->table[v];

	if (from == to)
		return;
	for (int i = 0; i < numbering->state->plan->nvariables; i++)
		if (numbering->table[i] == from)
			numbering->table[i] = to;
	numbering->several[to] = true;
}

/* Which tables there are to be; answers whether numbers have to be in order. */
static bool
plan_tables(Numbering *numbering)
{
	PpJoinState *state = numbering->state;
	const PpJoinPlan *plan = state->plan;
	bool		ordered = false;

	for (int v = 0; v < plan->nvariables; v++)
		numbering->table[v] = (uint8) v;
	for (int r = 0; r < plan->nresiduals; r++)
	{
		join_tables(numbering, plan->residuals[r].left, plan->residuals[r].right);
		ordered |= plan->residuals[r].op != PP_JOIN_NE;
	}
	for (int a = 1; a < plan->natoms; a++)
		for (int b = 0; b < a; b++)
			if (state->atom_input[a] == state->atom_input[b])
				for (int i = 0; i < 2; i++)
					join_tables(numbering, state->atoms[a].variable[i],
								state->atoms[b].variable[i]);
	return ordered;
}

/* Fills a table; false: there is no memory. */
static bool
fill_table(Numbering *numbering, int t)
{
	PpJoinState *state = numbering->state;
	int			best = -1;
	int			best_side = 0;

	for (int a = 0; a < state->plan->natoms; a++)
		for (int i = 0; i < 2; i++)
		{
			const PpInput *input = &state->inputs[state->atom_input[a]];

			if (numbering->table[state->atoms[a].variable[i]] != t)
				continue;
			if (numbering->several[t])
			{
				if (!number_keys(numbering, &numbering->tables[t], input, i))
					return false;
			}
			else if (best < 0 || input->nrows < state->inputs[best].nrows)
			{
				best = (int) state->atom_input[a];
				best_side = i;
			}
		}
	return best < 0 || number_keys(numbering, &numbering->tables[t], &state->inputs[best],
								   best_side);
}

/* Puts numbers in place of an input's keys, leaving out rows that have none. */
static void
number_input(Numbering *numbering, int input_number, int a)
{
	PpJoinState *state = numbering->state;
	PpInput    *input = &state->inputs[input_number];
	const Table *one = &numbering->tables[numbering->table[state->atoms[a].variable[0]]];
	const Table *two = &numbering->tables[numbering->table[state->atoms[a].variable[1]]];
	uint32	   *codes = (uint32 *) input->pairs;
	uint64		kept = 0;

	/* two numbers take half the place of two keys, and so never overtake them */
	for (uint64 i = 0; i < input->nrows; i++)
	{
		uint32		n0 = *find_slot(one, state->seed, input->pairs[2 * i]);
		uint32		n1 = *find_slot(two, state->seed, input->pairs[2 * i + 1]);

		if (i % ROWS_CHECKED == 0)
			CHECK_FOR_INTERRUPTS();
		if (n0 == 0 || n1 == 0)
			continue;
		codes[2 * kept] = n0 - 1;
		codes[2 * kept + 1] = n1 - 1;
		if (input->at)
			input->at[kept] = input->at[i];
		kept++;
	}
	input->nrows = kept;
	input->codes = codes;
	input->pairs = NULL;
}

bool
parparaw_number_box(PpJoinState *state, int ninputs, Size memory, MemoryContext context,
					PpBoxNumbers *numbers)
{
	const PpJoinPlan *plan = state->plan;
	Numbering	numbering = {0};
	bool		ordered;
	bool		done[PP_JOIN_MAX_ATOMS] = {false};

	numbering.state = state;
	numbering.context = context;
	numbering.left = memory;
	ordered = plan_tables(&numbering);
	memset(numbers, 0, sizeof(*numbers));
	for (int v = 0; v < plan->nvariables && !numbering.full; v++)
	{
		Table	   *table = &numbering.tables[v];

		if (numbering.table[v] != v || !fill_table(&numbering, v))
			continue;
		if (ordered && numbering.several[v])
		{
			memset(table->slots, 0, (Size) slot_count(table) * sizeof(uint32));
			qsort(table->keys, table->n, sizeof(int64), compare_keys);
			fill_slots(&numbering, table);
		}
		numbers->n = Max(numbers->n, table->n);
	}
	for (int a = 0; a < plan->natoms && !numbering.full; a++)
		if (!done[state->atom_input[a]])
		{
			done[state->atom_input[a]] = true;
			number_input(&numbering, (int) state->atom_input[a], a);
		}
	for (int v = 0; v < plan->nvariables; v++)
	{
		Table	   *table = &numbering.tables[v];

		if (numbering.table[v] != v)
			continue;
		if (table->slots)
			pfree(table->slots);
		if (table->keys && (numbering.full || plan->mode == PP_JOIN_COUNT))
			pfree(table->keys);
		else if (table->keys)
		{
			numbers->bytes += (Size) table->room * sizeof(int64);
			for (int w = 0; w < plan->nvariables; w++)
				if (numbering.table[w] == v)
					numbers->keys[w] = table->keys;
		}
	}
	return !numbering.full;
}

void
parparaw_number_forget(PpBoxNumbers *numbers)
{
	for (int v = 0; v < PP_JOIN_MAX_VARIABLES; v++)
	{
		int64	   *keys = numbers->keys[v];

		if (keys == NULL)
			continue;
		for (int w = v; w < PP_JOIN_MAX_VARIABLES; w++)
			if (numbers->keys[w] == keys)
				numbers->keys[w] = NULL;
		pfree(keys);
	}
	numbers->bytes = 0;
}
