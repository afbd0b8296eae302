/*
 * cuda/join_pairwise.cu
 *	  The baseline of joins: relations are joined two at a time by sorting and
 *	  merging, and intermediate results are written out, as a database of binary
 *	  joins does on a device (the comparison of Wu et al., ADMS 2014).
 *
 * Atoms are taken one after another.  One that has one new variable joins: what
 * there is so far is sorted by the other variable, the relation is sorted by it,
 * too, and a row comes out for each pair that agrees.  One without a new variable
 * filters: what there is is sorted by both, looked up, and what is found goes on.
 * Smaller relations come first, filters as soon as they can, products of what
 * nothing connects last.
 *
 * An intermediate result never has more rows than there is room for: it is made
 * a piece at a time, and a piece goes through all atoms behind it before the next
 * one is made.  No rows are dropped from a piece by comparisons; they count zero
 * times from there on, and go no further than the next atom.
 *
 * For measurements, and for counts only.  Owns pieces while it counts; tries are
 * the join's, and stay for the next time.
 */
#include "join_build.h"
#include "join_device.h"

#include <initializer_list>

namespace
{

/* Rows of a piece, at most and at least. */
constexpr uint64_t MOST_ROWS = 4 << 20;
constexpr uint64_t LEAST_ROWS = 256;

enum StepKind
{
	JOIN,						/* of one old variable and a new one */
	PRODUCT,					/* of no old variable */
	FILTER						/* of old variables only */
};

struct Comparison
{
	uint32_t	op;				/* PpJoinCompare */
	uint32_t	left;
	uint32_t	right;
};

/* What an atom does, in device memory. */
struct Step
{
	PpDeviceTrie trie;			/* by old, then by new, or by both */
	uint32_t	kind;
	uint32_t	old;			/* variables; of a relation's loops the same */
	uint32_t	new_one;
	uint32_t	before;			/* set of variables that pieces have before it */
	uint32_t	ncomparisons;
	Comparison	comparison[PP_JOIN_MAX_RESIDUALS];
};

/* Rows of an intermediate result: variable v of row i is value[v * room + i]. */
struct Piece
{
	uint32_t   *value;
	uint64_t   *count;			/* how often each row is there */
	uint32_t	n;
};

/* ---------- kernels ---------- */

/* What a piece is sorted by, and rows as they are; for a product these only. */
__global__ void
__launch_bounds__(BLOCK)
sort_keys(const Step *step, Piece in, uint64_t room, uint32_t bits, uint64_t *key, uint32_t *row)
{
	const uint32_t *a = in.value + step->old * room;
	const uint32_t *b = in.value + step->new_one * room;
	const bool	both = step->kind == FILTER && step->trie.start != nullptr;

	for (uint64_t i = first_item(); i < in.n; i += step_items())
	{
		if (step->kind != PRODUCT)
			key[i] = both ? (uint64_t) a[i] << bits | b[i] : a[i];
		row[i] = (uint32_t) i;
	}
}

/* How many rows come of each row, in the order of the sort; and 0 behind them. */
__global__ void
__launch_bounds__(BLOCK)
count_partners(const Step *step, Piece in, uint64_t room, const uint32_t *row, uint64_t *partners)
{
	const uint32_t *start = step->trie.start;

	for (uint64_t i = first_item(); i <= in.n; i += step_items())
	{
		uint64_t	n = 0;

		if (i < in.n)
		{
			const uint32_t r = row[i];

			if (in.count[r] != 0 && step->kind == PRODUCT)
				n = step->trie.nentries;
			else if (in.count[r] != 0)
			{
				const uint32_t x = in.value[step->old * room + r];

				n = start[x + 1] - start[x];
			}
		}
		partners[i] = n;
	}
}

__device__ __forceinline__ bool
compare(uint32_t op, uint32_t a, uint32_t b)
{
	switch (op)
	{
		case PP_JOIN_LT:
			return a < b;
		case PP_JOIN_LE:
			return a <= b;
		case PP_JOIN_GT:
			return a > b;
		case PP_JOIN_GE:
			return a >= b;
		default:
			return a != b;
	}
}

/*
 * Rows [from, from + out.n) of those that come of a piece; at[i] is the first of
 * row[i].
 */
__global__ void
__launch_bounds__(BLOCK)
join_rows(const Step *step, Piece in, Piece out, uint64_t room, const uint32_t *row,
		  const uint64_t *at, uint64_t from, uint32_t nkeys, PpJoinSignals *signals)
{
	const PpDeviceTrie *trie = &step->trie;
	bool		overflow = false;

	for (uint64_t o = first_item(); o < out.n; o += step_items())
	{
		const uint64_t place = from + o;
		uint32_t	low = 0;
		uint32_t	high = in.n;
		uint32_t	r;
		uint32_t	entry;
		uint64_t	count;

		/* the last row whose first partner is not behind place */
		while (high - low > 1)
		{
			const uint32_t middle = low + (high - low) / 2;

			if (at[middle] <= place)
				low = middle;
			else
				high = middle;
		}
		r = row[low];
		entry = (uint32_t) (place - at[low]);
		for (uint32_t left = step->before; left != 0; left &= left - 1)
		{
			const uint32_t v = (uint32_t) __ffs((int) left) - 1;

			out.value[v * room + o] = in.value[v * room + r];
		}
		if (step->kind == PRODUCT && trie->start != nullptr)
			out.value[step->old * room + o] = pp_key_of(trie->start, 0, nkeys, entry);
		else if (step->kind == JOIN)
			entry += trie->start[in.value[step->old * room + r]];
		out.value[step->new_one * room + o] = trie->list[entry];
		count = in.count[r];
		pp_count_multiply(&count, pp_entry_rows(*trie, entry, entry + 1), &overflow);
		for (uint32_t c = 0; c < step->ncomparisons; c++)
			if (!compare(step->comparison[c].op, out.value[step->comparison[c].left * room + o],
						 out.value[step->comparison[c].right * room + o]))
				count = 0;
		out.count[o] = count;
	}
	if (overflow)
		atomicOr(&signals->overflow, 1u);
}

/* Which rows have a partner, in the order of the sort; they count that often more. */
__global__ void
__launch_bounds__(BLOCK)
find_partners(const Step *step, Piece in, uint64_t room, const uint32_t *row, uint8_t *flag,
			  PpJoinSignals *signals)
{
	const PpDeviceTrie *trie = &step->trie;
	bool		overflow = false;

	for (uint64_t i = first_item(); i < in.n; i += step_items())
	{
		const uint32_t r = row[i];
		const uint32_t key = in.value[step->new_one * room + r];
		uint64_t	count = in.count[r];
		uint32_t	from;
		uint32_t	to;
		uint32_t	entry;

		pp_list_range(*trie, trie->start == nullptr, in.value[step->old * room + r], &from, &to);
		entry = pp_lower_bound(trie->list, from, to, key);
		if (count == 0 || entry == to || trie->list[entry] != key)
			count = 0;
		else
			pp_count_multiply(&count, pp_entry_rows(*trie, entry, entry + 1), &overflow);
		in.count[r] = count;
		flag[i] = count != 0;
	}
	if (overflow)
		atomicOr(&signals->overflow, 1u);
}

/* Rows that go on: those at places of the sort. */
__global__ void
__launch_bounds__(BLOCK)
keep_rows(const Step *step, Piece in, Piece out, uint64_t room, const uint32_t *row,
		  const uint32_t *place)
{
	for (uint64_t o = first_item(); o < out.n; o += step_items())
	{
		const uint32_t r = row[place[o]];

		for (uint32_t left = step->before; left != 0; left &= left - 1)
		{
			const uint32_t v = (uint32_t) __ffs((int) left) - 1;

			out.value[v * room + o] = in.value[v * room + r];
		}
		out.count[o] = in.count[r];
	}
}

__global__ void
__launch_bounds__(BLOCK)
sum_rows(Piece in, PpJoinSignals *signals)
{
	PpWideSum	sum = {0, 0};

	PP_SHARED(PpSumShared, shared);

	for (uint64_t i = first_item(); i < in.n; i += step_items())
		pp_wide_add(&sum, in.count[i], 0);
	pp_signal_sums(signals, shared, sum, 0, false);
}

/* ---------- planning ---------- */

struct Plan
{
	uint32_t	nsteps;
	bool		empty;			/* a comparison of a variable with itself */
	uint32_t	trie[PP_JOIN_MAX_ATOMS];	/* of each step, in join->plan */
	Step		step[PP_JOIN_MAX_ATOMS];
};

uint32_t
plan_trie(PpDeviceJoin *join, uint32_t relation, PpStageOrder order)
{
	PpStagePlan *plan = &join->plan;

	for (uint32_t t = 0; t < plan->ntries; t++)
		if (plan->trie[t].relation == relation && plan->trie[t].order == order)
			return t;
	plan->trie[plan->ntries] = {(uint8_t) relation, (uint8_t) order};
	return plan->ntries++;
}

uint32_t
nvariables(const PpJoinAtom *atom, uint32_t bound)
{
	return (bound >> atom->variable[0] & 1) + (bound >> atom->variable[1] & 1);
}

/* Adds an atom. */
void
plan_step(PpDeviceJoin *join, const PpJoinQuery *query, const PpJoinAtom *atom, uint32_t bound,
		  Plan *plan)
{
	const uint32_t *v = atom->variable;
	const bool	loops = v[0] == v[1];
	const bool	backward = !loops && (bound >> v[1] & 1) && !(bound >> v[0] & 1);
	const uint32_t after = bound | 1u << v[0] | 1u << v[1];
	Step	   *step = &plan->step[plan->nsteps];

	plan->trie[plan->nsteps++] = plan_trie(join, atom->relation, loops ? PP_STAGE_LOOPS :
										   backward ? PP_STAGE_BACKWARD : PP_STAGE_FORWARD);
	step->old = backward ? v[1] : v[0];
	step->new_one = backward ? v[0] : v[1];
	step->before = bound;
	step->kind = after == bound ? FILTER : nvariables(atom, bound) == 0 ? PRODUCT : JOIN;
	for (uint32_t r = 0; r < query->nresiduals; r++)
	{
		const PpJoinResidual *residual = &query->residuals[r];
		const uint32_t both = 1u << residual->left | 1u << residual->right;

		if ((both & after) == both && (both & bound) != both && residual->left != residual->right)
			step->comparison[step->ncomparisons++] = {(uint32_t) residual->op, residual->left,
													  residual->right};
	}
}

void
plan_steps(PpDeviceJoin *join, const PpJoinQuery *query, Plan *plan)
{
	bool		done[PP_JOIN_MAX_ATOMS] = {};
	uint32_t	bound = 0;

	memset(plan, 0, sizeof(*plan));
	for (uint32_t r = 0; r < query->nresiduals; r++)
		plan->empty |= query->residuals[r].left == query->residuals[r].right &&
			query->residuals[r].op != PP_JOIN_LE && query->residuals[r].op != PP_JOIN_GE;
	for (uint32_t n = 0; n < query->natoms; n++)
	{
		uint32_t	best = query->natoms;

		for (uint32_t a = 0; a < query->natoms; a++)
		{
			const PpJoinAtom *atom = &query->atoms[a];
			const PpJoinAtom *than = &query->atoms[best < query->natoms ? best : a];
			const uint32_t have = nvariables(atom, bound);
			const uint32_t has = nvariables(than, bound);

			if (!done[a] && (best == query->natoms || have > has ||
							 (have == has && join->relation[atom->relation].nrows <
							  join->relation[than->relation].nrows)))
				best = a;
		}
		done[best] = true;
		plan_step(join, query, &query->atoms[best], bound, plan);
		bound |= 1u << query->atoms[best].variable[0] | 1u << query->atoms[best].variable[1];
	}
}

/* ---------- running ---------- */

/* What a step's input is sorted by, and what comes out. */
struct Level
{
	PpBuffer	row = {};		/* in the order of the sort */
	PpBuffer	at = {};		/* first of the rows that come of each */
	PpBuffer	value = {};
	PpBuffer	count = {};
};

struct Pairwise : Scratch
{
	PpDeviceJoin *join;
	Plan		plan;
	uint64_t	room;			/* rows of a piece */
	PpBuffer	steps = {};
	Level		level[PP_JOIN_MAX_ATOMS + 1];	/* level 0 only has a row of nothing */

	explicit Pairwise(PpDeviceJoin *of) : join(of), room(0)
	{
	}
	~Pairwise()
	{
		for (Level &l : level)
		{
			pp_buffer_release(&l.row);
			pp_buffer_release(&l.at);
			pp_buffer_release(&l.value);
			pp_buffer_release(&l.count);
		}
		pp_buffer_release(&steps);
	}

	Piece
	piece(uint32_t i, uint32_t n) const
	{
		return {as<uint32_t>(level[i].value), as<uint64_t>(level[i].count), n};
	}
	const Step *
	step(uint32_t i) const
	{
		return as<Step>(steps) + i;
	}
	PpJoinSignals *
	signals(void) const
	{
		return as<PpJoinSignals>(join->signals);
	}
};

/* The tries; those of another time stay. */
PpJoinStatus
make_tries(Pairwise *p)
{
	for (uint32_t t = 0; t < p->join->plan.ntries; t++)
		if (p->join->trie[t].list == nullptr)
			TRY(pp_device_trie(p->join, t, false));
	for (uint32_t i = 0; i < p->plan.nsteps; i++)
		p->plan.step[i].trie = p->join->trie[p->plan.trie[i]];
	return PP_JOIN_OK;
}

/* Room for pieces, and a row of nothing to begin with. */
PpJoinStatus
make_room(Pairwise *p)
{
	PpDeviceJoin *join = p->join;
	const uint32_t nsteps = p->plan.nsteps;
	const size_t steps_bytes = nsteps * sizeof(Step);
	const uint64_t once = 1;
	/* of a row: sorting, flags and places, then each level */
	const uint64_t row_bytes = 2 * 8 + 2 * 4 + 1 + 4 + 1 +
		nsteps * (4 + 8 + 8 + 4 * (uint64_t) join->nvariables);
	const uint64_t left = pp_memory_left() / 2 / row_bytes;

	p->room = left < LEAST_ROWS ? LEAST_ROWS : left > MOST_ROWS ? MOST_ROWS : left;
	TRY(pp_join_reserve(join, &p->host, steps_bytes));
	TRY(pp_join_reserve(join, &p->steps, steps_bytes));
	TRY(pp_join_reserve(join, &p->level[0].count, sizeof(once)));
	memcpy(p->host.p, p->plan.step, steps_bytes);
	TRY(pp_join_copy(join, p->steps.p, p->host.p, steps_bytes, cudaMemcpyHostToDevice));
	TRY(pp_join_wait(join));
	memcpy(p->host.p, &once, sizeof(once));
	TRY(pp_join_copy(join, p->level[0].count.p, p->host.p, sizeof(once), cudaMemcpyHostToDevice));
	TRY(pp_join_wait(join));
	for (uint32_t i = 0; i < 2; i++)
	{
		/* arrays of rows change places with those of levels */
		TRY(pp_join_reserve(join, &p->key[i], p->room * sizeof(uint64_t)));
		TRY(pp_join_reserve(join, &p->value[i], p->room * sizeof(uint32_t)));
	}
	TRY(pp_join_reserve(join, &p->flag, p->room));
	TRY(pp_join_reserve(join, &p->place, p->room * sizeof(uint32_t)));
	for (uint32_t i = 0; i < nsteps; i++)
	{
		Level	   *out = &p->level[i + 1];

		TRY(pp_join_reserve(join, &p->level[i].row, p->room * sizeof(uint32_t)));
		TRY(pp_join_reserve(join, &p->level[i].at, (p->room + 1) * sizeof(uint64_t)));
		TRY(pp_join_reserve(join, &out->value, p->room * join->nvariables * sizeof(uint32_t)));
		TRY(pp_join_reserve(join, &out->count, p->room * sizeof(uint64_t)));
	}
	return PP_JOIN_OK;
}

/* Sorts the input of a step, of n rows, by what it shares with the relation. */
PpJoinStatus
sort_piece(Pairwise *p, uint32_t i, uint32_t n)
{
	PpDeviceJoin *join = p->join;
	const uint32_t bits = bits_of(join->nkeys - 1);
	const bool	both = p->plan.step[i].kind == FILTER && p->plan.step[i].trie.start != nullptr;
	PpBuffer	swap;
	uint32_t	at = 0;

	PP_LAUNCH(sort_keys, blocks(n), BLOCK, 0, join->stream, p->step(i), p->piece(i, n), p->room,
			  bits, as<uint64_t>(p->key[0]), as<uint32_t>(p->value[0]));
	TRY(launched(join));
	TRY(sort(join, p, n, both ? 2 * bits : bits, true, &at));
	swap = p->level[i].row;
	p->level[i].row = p->value[at];
	p->value[at] = swap;
	return PP_JOIN_OK;
}

PpJoinStatus run_step(Pairwise *p, uint32_t i, uint32_t n);

PpJoinStatus
run_filter(Pairwise *p, uint32_t i, uint32_t n)
{
	PpDeviceJoin *join = p->join;
	uint32_t	found;

	PP_LAUNCH(find_partners, blocks(n), BLOCK, 0, join->stream, p->step(i), p->piece(i, n),
			  p->room, as<uint32_t>(p->level[i].row), p->flag.p, p->signals());
	TRY(launched(join));
	TRY(select(join, p, p->flag.p, n, as<uint32_t>(p->place), &found));
	if (found == 0)
		return PP_JOIN_OK;
	PP_LAUNCH(keep_rows, blocks(found), BLOCK, 0, join->stream, p->step(i), p->piece(i, n),
			  p->piece(i + 1, found), p->room, as<uint32_t>(p->level[i].row),
			  as<uint32_t>(p->place));
	TRY(launched(join));
	return run_step(p, i + 1, found);
}

PpJoinStatus
run_join(Pairwise *p, uint32_t i, uint32_t n)
{
	PpDeviceJoin *join = p->join;
	uint64_t   *at = as<uint64_t>(p->level[i].at);
	uint64_t	all;

	PP_LAUNCH(count_partners, blocks(n + 1), BLOCK, 0, join->stream, p->step(i), p->piece(i, n),
			  p->room, as<uint32_t>(p->level[i].row), at);
	TRY(launched(join));
	TRY(wide(join, p, [=](void *temp, size_t *bytes) {
		return pp_scan_sum64(temp, bytes, at, at, n + 1, join->stream);
	}));
	TRY(fetch(join, p, &all, at + n, sizeof(all)));
	for (uint64_t from = 0; from < all; from += p->room)
	{
		const uint32_t m = (uint32_t) (all - from < p->room ? all - from : p->room);

		PP_LAUNCH(join_rows, blocks(m), BLOCK, 0, join->stream, p->step(i), p->piece(i, n),
				  p->piece(i + 1, m), p->room, as<uint32_t>(p->level[i].row), at, from,
				  join->nkeys, p->signals());
		TRY(launched(join));
		TRY(run_step(p, i + 1, m));
	}
	return PP_JOIN_OK;
}

/* What n rows before step number i come to. */
PpJoinStatus
run_step(Pairwise *p, uint32_t i, uint32_t n)
{
	PpDeviceJoin *join = p->join;

	if (i == p->plan.nsteps)
	{
		PP_LAUNCH(sum_rows, blocks(n, SUM_BLOCKS), BLOCK, 0, join->stream, p->piece(i, n),
				  p->signals());
		TRY(launched(join));
		return pp_join_wait(join);
	}
	if (p->plan.step[i].kind != PRODUCT)
		TRY(sort_piece(p, i, n));
	else
	{
		PP_LAUNCH(sort_keys, blocks(n), BLOCK, 0, join->stream, p->step(i), p->piece(i, n),
				  p->room, 0, as<uint64_t>(p->key[0]), as<uint32_t>(p->level[i].row));
		TRY(launched(join));
	}
	return p->plan.step[i].kind == FILTER ? run_filter(p, i, n) : run_join(p, i, n);
}

}								/* namespace */

PpJoinStatus
pp_pairwise_count(PpDeviceJoin *join, const PpJoinQuery *query)
{
	Pairwise	p(join);

	plan_steps(join, query, &p.plan);
	if (join->nkeys == 0 || p.plan.empty)
		return PP_JOIN_OK;
	TRY(pp_join_phase(join, PP_JOIN_PHASE_BUILD));
	TRY(make_tries(&p));
	TRY(pp_join_phase(join, PP_JOIN_PHASE_JOIN));
	TRY(make_room(&p));
	return run_step(&p, 0, 1);
}
