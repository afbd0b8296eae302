/*
 * cuda/join_lftj_rows.cu
 *	  Rows of LFTJ-GPU, in rounds: every walker goes on until it has its quota of
 *	  answers or has made its steps; how many rows they are is counted and summed
 *	  up; and batches are filled from where they were left.  An assignment that
 *	  comes many times is an answer that all threads of these batches make rows
 *	  of; of more copies than one takes, it is as many answers, in further rounds
 *	  if need be.
 *
 * Walkers take their units in turns and share work within a warp only, in step,
 * so that rows come in the same order every time.
 *
 * Owns a PpDeviceRows, which is a Rows.
 */
#include "join_lftj.h"

#include "device_wide.h"

namespace
{

constexpr uint32_t MOST_ANSWERS = 8;	/* of a walker in a round, where there are many */
constexpr uint32_t ROUND_ANSWERS = 65536;	/* of a round, where there are few walkers */
constexpr uint32_t ROUND_PART = 4;	/* of what memory is left, which these may have */
constexpr uint32_t MOST_ROUNDS = 8;	/* once a batch has rows */

struct Rows
{
	PpLftjShape shape;
	PpLftjMemory memory;
	PpLftjJob	job;
	PpBuffer	round;			/* of each answer: PpLftjRound */
	PpBuffer	answers;		/* of each walker */
	PpBuffer	count;
	PpBuffer	before;			/* sums of counts */
	PpBuffer	temp;
	uint32_t	threads;
	uint32_t	blocks;
	uint32_t	most;			/* answers of a walker that there is room for */
	bool		copies;			/* assignments may have several */
	uint64_t	first;			/* item behind those in hand */
	bool		begun;			/* there are units in hand */
	bool		done;
	uint64_t	nrows;			/* of the last round */
	uint64_t	taken;
};

void
release(const PpAlloc *alloc, Rows *r)
{
	PpBuffer   *const all[] = {&r->round, &r->answers, &r->count, &r->before, &r->temp};

	for (PpBuffer *each : all)
		pp_buffer_release(each);
	pp_lftj_release(&r->memory);
	alloc->release(alloc->ctx, r);
}

/* Bytes of an answer. */
uint64_t
answer_bytes(const PpDeviceJoin *join, const Rows *r)
{
	return sizeof(uint32_t) * (join->nvariables + (join->row_numbers ? join->natoms : 0)) +
		(r->copies ? sizeof(uint64_t) + sizeof(uint32_t) : 0);
}

/* Memory of rounds, of fewer answers if it is short. */
PpJoinStatus
reserve_rounds(PpDeviceJoin *join, Rows *r)
{
	const uint32_t walkers = r->threads * r->blocks;
	const uint64_t bytes = answer_bytes(join, r) * walkers;
	size_t		temp = 0;
	PpJoinStatus status = pp_join_reserve(join, &r->count, walkers * sizeof(uint64_t));

	if (status == PP_JOIN_OK)
		status = pp_join_reserve(join, &r->before, walkers * sizeof(uint64_t));
	if (status == PP_JOIN_OK && r->copies)
		status = pp_join_reserve(join, &r->answers, walkers * sizeof(uint32_t));
	if (status == PP_JOIN_OK)
		status = pp_join_call("sizing a scan failed",
							  pp_scan_sum64(nullptr, &temp, nullptr, nullptr, walkers, join->stream));
	if (status == PP_JOIN_OK)
		status = pp_join_reserve(join, &r->temp, temp);
	r->most = ROUND_ANSWERS / walkers;
	while (r->most > MOST_ANSWERS && r->most * bytes > pp_memory_left() / ROUND_PART)
		r->most /= 2;
	if (r->most < MOST_ANSWERS)
		r->most = MOST_ANSWERS;
	for (; status == PP_JOIN_OK; r->most /= 2)
	{
		status = pp_join_reserve(join, &r->round, r->most * bytes);
		if (status != PP_JOIN_NO_FIT || r->most == 1)
			break;
		status = PP_JOIN_OK;
	}
	r->job.round.count = reinterpret_cast<uint64_t *>(r->count.p);
	r->job.round.answers = reinterpret_cast<uint32_t *>(r->answers.p);
	return status;
}

/* Where a round of so many answers of a walker has what. */
void
set_quota(const PpDeviceJoin *join, Rows *r, uint32_t quota)
{
	PpLftjRound *round = &r->job.round;
	const size_t room = (size_t) quota * r->threads * r->blocks;
	uint32_t   *at = reinterpret_cast<uint32_t *>(r->round.p);

	round->quota = quota;
	round->part = UINT32_MAX / quota < pp_lftj_limits.copies ? UINT32_MAX / quota :
		pp_lftj_limits.copies;
	if (r->copies)
	{
		round->left = reinterpret_cast<uint64_t *>(r->round.p);
		round->before = at + 2 * room;
		at += 3 * room;
	}
	round->values = at;
	round->places = join->row_numbers ? at + join->nvariables * room : nullptr;
}

PpJoinStatus
open_rows(PpDeviceJoin *join, Rows **rows)
{
	const uint32_t stage = join->plan.nstages - 1;
	Rows	   *r = static_cast<Rows *>(join->alloc->alloc(join->alloc->ctx, sizeof(Rows)));
	PpJoinStatus status;

	if (r == nullptr)
		return PP_JOIN_NO_MEMORY;
	*r = {};
	r->shape = pp_lftj_shape(join, &join->plan.stage[stage]);
	r->threads = pp_lftj_threads(&r->shape);
	r->done = r->shape.units == 0;
	for (uint32_t k = 0; k < r->shape.nlists; k++)
		r->copies |= join->trie[join->plan.stage[stage].list[k].trie].first != nullptr;
	status = pp_lftj_blocks(r->threads, r->shape.units, &r->blocks);
	if (status == PP_JOIN_OK)
		status = pp_lftj_reserve(join, &r->shape, true, false, r->threads, &r->blocks, &r->memory);
	pp_lftj_job(join, stage, &r->shape, &r->memory, &r->job);
	/* with fewer walkers there is less of everything */
	while (status == PP_JOIN_OK && (status = reserve_rounds(join, r)) == PP_JOIN_NO_FIT &&
		   r->blocks > 1)
	{
		r->blocks /= 2;
		status = PP_JOIN_OK;
	}
	if (status != PP_JOIN_OK)
		release(join->alloc, r);
	else
		*rows = r;
	return status;
}

/* The next rows, if there are any: walkers go on. */
PpJoinStatus
next_round(PpDeviceJoin *join, Rows *r, uint32_t capacity)
{
	const uint32_t walkers = r->threads * r->blocks;
	const uint32_t quota = capacity / walkers;
	size_t		temp = r->temp.size;
	PpLftjControl control = {};
	PpJoinStatus status = PP_JOIN_OK;

	set_quota(join, r, quota < 1 ? 1 : quota < r->most ? quota : r->most);
	if (!r->begun && r->shape.split == 2)
		status = pp_lftj_items(join, &r->job, &r->memory, r->first, PP_LFTJ_ANY, r->threads);
	r->job.resume = r->begun;
	if (status == PP_JOIN_OK)
		status = pp_join_clear(join, r->job.control, sizeof(PpLftjControl));
	if (status == PP_JOIN_OK)
		status = pp_lftj_walk(join, &r->job, r->threads, r->blocks);
	if (status == PP_JOIN_OK)
		status = pp_join_call("summing up rows failed",
							  pp_scan_sum64(r->temp.p, &temp, r->job.round.count,
											reinterpret_cast<uint64_t *>(r->before.p), walkers,
											join->stream));
	if (status == PP_JOIN_OK)
		status = pp_lftj_report(join, &r->job, &r->memory, &control);
	if (status != PP_JOIN_OK)
		return status;
	r->nrows = control.nrows;
	r->taken = 0;
	r->begun = control.running > 0;
	if (!r->begun)
	{
		r->first += r->memory.nitems;
		r->done = r->shape.split < 2 || r->first >= r->shape.units;
	}
	return PP_JOIN_OK;
}

}								/* namespace */

PpJoinStatus
pp_lftj_rows(PpDeviceJoin *join, PpDeviceRows **state, uint32_t *values, uint32_t *rows,
			 uint32_t capacity, uint32_t *n)
{
	Rows	   *r = reinterpret_cast<Rows *>(*state);
	PpJoinStatus status = PP_JOIN_OK;

	*n = 0;
	if (r == nullptr)
	{
		status = open_rows(join, &r);
		if (status != PP_JOIN_OK)
			return status;
		*state = reinterpret_cast<PpDeviceRows *>(r);
	}
	for (uint32_t rounds = 0; *n < capacity && status == PP_JOIN_OK;)
	{
		const uint64_t left = r->nrows - r->taken;
		const uint32_t m = left < capacity - *n ? (uint32_t) left : capacity - *n;

		if (m > 0)
		{
			status = pp_lftj_gather(join, &r->job, reinterpret_cast<uint64_t *>(r->before.p),
									r->threads * r->blocks, r->taken, m, values + *n,
									rows ? rows + *n : nullptr, capacity);
			r->taken += m;
			*n += m;
		}
		else if (r->done || (*n > 0 && rounds >= MOST_ROUNDS))
			break;
		else
		{
			status = next_round(join, r, capacity);
			rounds++;
		}
	}
	if (status == PP_JOIN_OK)
		status = pp_join_signals(join, nullptr);
	else
		(void) cudaStreamSynchronize(join->stream);
	return status;
}

void
pp_lftj_rows_close(PpDeviceJoin *join, PpDeviceRows *state)
{
	if (state)
		release(join->alloc, reinterpret_cast<Rows *>(state));
}
