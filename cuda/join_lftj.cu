/*
 * cuda/join_lftj.cu
 *	  LFTJ-GPU, the first algorithm of Wu, Zinn, Aref and Yalamanchili (ADMS
 *	  2014): how a stage is gone through, its items, and counting it.
 *
 * Work is handed out in units (join_lftj.h), so that all threads have about the
 * same.  With split 2 that takes a pass over the root's entries first, a stretch
 * at a time, which sums up how many candidates the level below each has.
 *
 * Owns the memory of a pass while it lasts.
 */
#include "join_lftj.h"

#include "device_wide.h"

#include <initializer_list>

PpLftjLimits pp_lftj_limits = {1u << 24, 4096, UINT32_MAX, UINT32_MAX, UINT64_C(1) << 26};

namespace
{

constexpr uint32_t NONE = PP_LFTJ_NONE;
constexpr uint32_t LEAST_ITEMS = 1024;	/* with fewer at a time the memory is too little */
constexpr uint32_t ITEM_BYTES = 16;
constexpr uint32_t BLOCK_BYTES = 24576;	/* of stacks, if that leaves a block two warps */
constexpr uint32_t PROCESSOR_THREADS = 1024;	/* of a multiprocessor, about */

void
release(std::initializer_list<PpBuffer *> buffers)
{
	for (PpBuffer *each : buffers)
		pp_buffer_release(each);
}

/* As pp_next_level() and pp_leaves_of(), of the host. */
uint32_t
next_level(const PpLftjShape &shape, uint32_t l)
{
	if (l == shape.tail)
		return NONE;
	for (uint32_t next = l + 1; next < shape.nlevels; next++)
		if (shape.inner >> next & 1)
			return next;
	return shape.tail;
}

bool
has_slow_leaves(const PpLftjShape &shape, uint32_t l)
{
	for (uint32_t leaf = l + 1; leaf < shape.nlevels && !(shape.inner >> leaf & 1); leaf++)
		if (shape.slow >> leaf & 1)
			return true;
	return false;
}

/* Of a level's lists that are whole, or are not, the trie's smallest; NONE. */
uint32_t
smallest_list(const PpDeviceJoin *join, const PpStage *stage, uint32_t l, bool loops)
{
	const PpStageLevel *level = &stage->level[l];
	uint32_t	best = NONE;

	for (uint32_t k = level->first_list; k < (uint32_t) level->first_list + level->nlists; k++)
		if ((stage->list[k].loops != 0) == loops &&
			(best == NONE || join->trie[stage->list[k].trie].nentries <
			 join->trie[stage->list[best].trie].nentries))
			best = k;
	return best;
}

}								/* namespace */

PpLftjShape
pp_lftj_shape(const PpDeviceJoin *join, const PpStage *stage)
{
	PpLftjShape shape = {};
	uint32_t	one;

	shape.nlevels = stage->nlevels;
	shape.inner = 1;
	shape.tail = NONE;
	for (uint32_t l = 0; l < shape.nlevels; l++)
	{
		const PpStageLevel *level = &stage->level[l];

		shape.nlists = (uint32_t) level->first_list + level->nlists > shape.nlists ?
			(uint32_t) level->first_list + level->nlists : shape.nlists;
		if (l == 0)
			continue;
		if (!level->leaf)
		{
			shape.inner |= 1u << l;
			shape.tail = NONE;
		}
		else if (level->nlists == 1 && level->nheads == 0 && level->nfactors == 0)
			shape.quick |= 1u << l;
		else
		{
			shape.slow |= 1u << l;
			shape.tail = l;
		}
	}
	if (shape.tail != NONE)
		shape.slow &= ~(1u << shape.tail);
	one = next_level(shape, 0);
	shape.root = one == NONE || has_slow_leaves(shape, 0) ? NONE :
		smallest_list(join, stage, one, false);
	if (shape.root == NONE)
	{
		shape.root = smallest_list(join, stage, 0, true);
		shape.units = shape.root == NONE ? join->nkeys :
			join->trie[stage->list[shape.root].trie].nentries;
		return shape;
	}
	shape.split = next_level(shape, one) != NONE && !has_slow_leaves(shape, one) ? 2 : 1;
	shape.units = join->trie[stage->list[shape.root].trie].nentries;
	return shape;
}

uint32_t
pp_lftj_bytes(const PpLftjShape *shape, uint32_t threads)
{
	return threads * (8 * PP_LFTJ_WIDE(shape->nlevels) +
					  4 * PP_LFTJ_WORDS(shape->nlevels, shape->nlists));
}

uint32_t
pp_lftj_threads(const PpLftjShape *shape)
{
	uint32_t	threads = PP_LFTJ_THREADS;

	while (threads > 32 && (pp_lftj_bytes(shape, threads) > BLOCK_BYTES ||
							threads / 2 >= shape->units))
		threads /= 2;
	return threads;
}

PpJoinStatus
pp_lftj_blocks(uint32_t threads, uint64_t units, uint32_t *blocks)
{
	const uint64_t wanted = (units + threads - 1) / threads;
	int			device = 0;
	int			processors = 1;
	cudaError_t e = cudaGetDevice(&device);

	if (e == cudaSuccess)
		e = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	*blocks = (uint32_t) processors * (PROCESSOR_THREADS / threads);
	if (*blocks > pp_lftj_limits.blocks)
		*blocks = pp_lftj_limits.blocks;
	if (*blocks > wanted)
		*blocks = wanted > 0 ? (uint32_t) wanted : 1;
	return pp_join_call("asking the device failed", e);
}

PpJoinStatus
pp_lftj_reserve(PpDeviceJoin *join, const PpLftjShape *shape, bool walkers, bool places,
				uint32_t threads, uint32_t *blocks, PpLftjMemory *memory)
{
	PpJoinStatus status;

	memory->report.kind = PP_MEMORY_PINNED;
	status = pp_join_reserve(join, &memory->control, sizeof(PpLftjControl));
	if (status == PP_JOIN_OK)
		status = pp_join_reserve(join, &memory->report, sizeof(PpLftjControl));
	for (; walkers && status == PP_JOIN_OK; *blocks /= 2)
	{
		const uint64_t n = (uint64_t) threads * *blocks;

		status = pp_join_reserve(join, &memory->wide, 8 * n * PP_LFTJ_WIDE(shape->nlevels));
		if (status == PP_JOIN_OK)
			status = pp_join_reserve(join, &memory->word,
									 4 * n * PP_LFTJ_WORDS(shape->nlevels, shape->nlists));
		if (status == PP_JOIN_OK)
			status = pp_join_reserve(join, &memory->tile, n / 32 * PP_LFTJ_TILE * sizeof(uint64_t));
		if (status != PP_JOIN_NO_FIT || *blocks == 1)
			break;
		release({&memory->wide, &memory->word, &memory->tile});
		status = PP_JOIN_OK;
	}
	memory->nitems = shape->units < pp_lftj_limits.items ? (uint32_t) shape->units :
		pp_lftj_limits.items;
	while (memory->nitems > LEAST_ITEMS &&
		   (uint64_t) ITEM_BYTES * memory->nitems > pp_memory_left() / 4)
		memory->nitems /= 2;
	for (; shape->split == 2 && status == PP_JOIN_OK; memory->nitems /= 2)
	{
		const uint64_t n = memory->nitems;
		size_t		temp = 0;

		status = pp_join_reserve(join, &memory->before, (n + 1) * sizeof(uint64_t));
		if (status == PP_JOIN_OK)
			status = pp_join_reserve(join, &memory->key, n * sizeof(uint32_t));
		if (status == PP_JOIN_OK && places)
			status = pp_join_reserve(join, &memory->place, n * sizeof(uint32_t));
		if (status == PP_JOIN_OK)
			status = pp_join_call("sizing a scan failed",
								  pp_scan_sum64(nullptr, &temp, nullptr, nullptr,
												memory->nitems + 1, join->stream));
		if (status == PP_JOIN_OK)
			status = pp_join_reserve(join, &memory->temp, temp);
		if (status != PP_JOIN_NO_FIT || memory->nitems <= LEAST_ITEMS)
			break;
		release({&memory->before, &memory->key, &memory->place, &memory->temp});
		status = PP_JOIN_OK;
	}
	return status;
}

void
pp_lftj_release(PpLftjMemory *memory)
{
	release({&memory->control, &memory->report, &memory->wide, &memory->word, &memory->tile,
			 &memory->before, &memory->key, &memory->place, &memory->temp});
}

void
pp_lftj_job(PpDeviceJoin *join, uint32_t stage, const PpLftjShape *shape,
			const PpLftjMemory *memory, PpLftjJob *job)
{
	job->stage = reinterpret_cast<const PpDeviceStage *>(join->stages.p) + stage;
	job->signals = reinterpret_cast<PpJoinSignals *>(join->signals.p);
	job->control = reinterpret_cast<PpLftjControl *>(memory->control.p);
	job->shape = *shape;
	job->items.before = reinterpret_cast<uint64_t *>(memory->before.p);
	job->items.key = reinterpret_cast<uint32_t *>(memory->key.p);
	job->items.place = reinterpret_cast<uint32_t *>(memory->place.p);
	job->wide = reinterpret_cast<uint64_t *>(memory->wide.p);
	job->word = reinterpret_cast<uint32_t *>(memory->word.p);
	job->tile = reinterpret_cast<uint64_t *>(memory->tile.p);
	job->steps = pp_lftj_limits.steps;
}

PpJoinStatus
pp_lftj_items(PpDeviceJoin *join, PpLftjJob *job, const PpLftjMemory *memory, uint64_t first,
			  PpLftjFixed fixed, uint32_t threads)
{
	const uint64_t left = job->shape.units - first;
	size_t		temp = memory->temp.size;
	PpJoinStatus status;

	job->items.first = (uint32_t) first;
	job->items.n = left < memory->nitems ? (uint32_t) left : memory->nitems;
	status = fixed == PP_LFTJ_ANY ? pp_lftj_cost(join, job, threads) :
		pp_lftj_fixed_cost(join, job, fixed);
	if (status != PP_JOIN_OK)
		return status;
	return pp_join_call("summing up items failed",
						pp_scan_sum64(memory->temp.p, &temp, job->items.before, job->items.before,
									  job->items.n + 1, join->stream));
}

PpJoinStatus
pp_lftj_report(PpDeviceJoin *join, const PpLftjJob *job, const PpLftjMemory *memory,
			   PpLftjControl *control)
{
	PpJoinStatus status = pp_join_copy(join, memory->report.p, job->control, sizeof(*control),
									   cudaMemcpyDeviceToHost);

	if (status == PP_JOIN_OK)
		status = pp_join_wait(join);
	if (status == PP_JOIN_OK)
		*control = *reinterpret_cast<const PpLftjControl *>(memory->report.p);
	return status;
}

namespace
{

/* Launches walkers until all units are done. */
PpJoinStatus
walk(PpDeviceJoin *join, PpLftjJob *job, const PpLftjMemory *memory, uint32_t threads,
	 uint32_t blocks)
{
	PpJoinStatus status = pp_join_clear(join, job->control, sizeof(PpLftjControl));
	PpLftjControl control = {};

	job->resume = false;
	do
	{
		if (status == PP_JOIN_OK)
			status = pp_lftj_walk(join, job, threads, blocks);
		if (status == PP_JOIN_OK)
			status = pp_lftj_report(join, job, memory, &control);
		if (status == PP_JOIN_OK && control.running > 0)
			status = pp_join_clear(join, &job->control->running, sizeof(uint32_t));
		job->resume = true;
	} while (status == PP_JOIN_OK && control.running > 0);
	return status;
}

}								/* namespace */

PpJoinStatus
pp_lftj_count(PpDeviceJoin *join, uint32_t stage, uint64_t *out)
{
	const PpStage *plan = &join->plan.stage[stage];
	const PpLftjShape shape = pp_lftj_shape(join, plan);
	const PpLftjFixed fixed = pp_lftj_fixed(join, plan, &shape);
	const uint32_t threads = pp_lftj_threads(&shape);
	PpLftjMemory memory = {};
	PpLftjJob	job = {};
	uint32_t	blocks;
	PpJoinStatus status;

	if (shape.units == 0)
		return PP_JOIN_OK;
	status = pp_lftj_blocks(threads, shape.units, &blocks);
	if (status == PP_JOIN_OK)
		status = pp_lftj_reserve(join, &shape, fixed == PP_LFTJ_ANY, fixed != PP_LFTJ_ANY, threads,
								 &blocks, &memory);
	pp_lftj_job(join, stage, &shape, &memory, &job);
	job.out = out;
	if (status == PP_JOIN_OK && shape.split < 2)
		status = walk(join, &job, &memory, threads, blocks);
	for (uint64_t first = 0; first < shape.units && shape.split == 2 && status == PP_JOIN_OK;
		 first += memory.nitems)
	{
		status = pp_lftj_items(join, &job, &memory, first, fixed, threads);
		if (status == PP_JOIN_OK && fixed != PP_LFTJ_ANY)
			status = pp_lftj_fixed_count(join, &job, &memory, fixed);
		else if (status == PP_JOIN_OK)
			status = walk(join, &job, &memory, threads, blocks);
	}
	if (status != PP_JOIN_OK)
		(void) cudaStreamSynchronize(join->stream);
	pp_lftj_release(&memory);
	return status;
}
