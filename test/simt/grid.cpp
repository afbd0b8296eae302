/*
 * test/simt/grid.cpp
 *	  Life of a grid: its blocks become resident, run and make room for the
 *	  next ones; barriers; and the end by an error of a thread.
 */
#include "grid.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "report.h"

namespace simt
{

const Index *current;
Dims		dims;
Grid	   *active;

Grid *
grid_create(const Launch &launch, Lines *lines)
{
	Grid	   *grid = static_cast<Grid *>(calloc(1, sizeof(Grid)));
	bool		good = grid != nullptr;

	configure_once();
	if (!good)
	{
		launch.release(launch.args);
		return nullptr;
	}
	grid->launch = launch;
	grid->dims = {launch.grid, launch.block};
	grid->threads = launch.block.x * launch.block.y * launch.block.z;
	grid->nblocks = (uint64_t) launch.grid.x * launch.grid.y * launch.grid.z;
	grid->resident = config.resident;
#ifdef SIMT_TSAN
	/* there cannot be more than some 8000 threads to ThreadSanitizer */
	if (grid->resident * grid->threads > 4096)
		grid->resident = 4096 / grid->threads;
#endif
	if (grid->resident > grid->nblocks)
		grid->resident = (unsigned) grid->nblocks;

	grid->ready = static_cast<Fiber **>(calloc((size_t) grid->resident * grid->threads,
											   sizeof(Fiber *)));
	grid->blocks = static_cast<Block *>(calloc(grid->resident, sizeof(Block)));
	good = grid->ready != nullptr && grid->blocks != nullptr &&
		lines_reserve(lines, (size_t) grid->resident * grid->threads, config.stack_bytes);
	for (unsigned i = 0; good && i < grid->resident; i++)
	{
		Block	   *block = &grid->blocks[i];

		block->grid = grid;
		block->threads = grid->threads;
		block->fibers = static_cast<Fiber *>(calloc(grid->threads, sizeof(Fiber)));
		block->warps = static_cast<WarpState *>(calloc((grid->threads + 31) / 32,
													   sizeof(WarpState)));
		block->shared = shared_take();
		good = block->fibers != nullptr && block->warps != nullptr && block->shared != nullptr;
		for (unsigned t = 0; good && lines->n != 0 && t < grid->threads; t++)
		{
			block->fibers[t].line = &lines->line[i * grid->threads + t];
			block->fibers[t].context.tsan = block->fibers[t].line->tsan;
		}
	}
	if (!good)
	{
		grid_destroy(grid);
		return nullptr;
	}
	return grid;
}

/* What threads did that have not ended comes before what follows. */
static void
order_behind_threads(Grid *grid)
{
#ifdef SIMT_TSAN
	for (unsigned i = 0; grid->blocks != nullptr && i < grid->resident; i++)
		for (unsigned t = 0; grid->blocks[i].open && t < grid->threads; t++)
		{
			Fiber	   *fiber = &grid->blocks[i].fibers[t];

			if (fiber->state != State::done)
			{
				void	   *caller = line_enter(fiber->context.tsan);

				hb_release(&grid->end_order);
				(void) line_enter(caller);
			}
		}
	hb_acquire(&grid->end_order);
#else
	(void) grid;
#endif
}

void
grid_destroy(Grid *grid)
{
	order_behind_threads(grid);
	for (unsigned i = 0; grid->blocks != nullptr && i < grid->resident; i++)
	{
		Block	   *block = &grid->blocks[i];

		for (unsigned t = 0; block->fibers != nullptr && t < block->threads; t++)
			if (block->fibers[t].stack != nullptr && block->fibers[t].line == nullptr)
				stack_give(block->fibers[t].stack);
		free(block->fibers);
		free(block->warps);
		if (block->shared != nullptr)
			shared_give(block->shared);
	}
	free(grid->blocks);
	free(grid->ready);
	grid->launch.release(grid->launch.args);
	free(grid);
}

static void
start_block(Grid *grid, Block *block)
{
	uint64_t	number = grid->next_block++;
	const dim3 &b = grid->launch.block;
	const dim3 &g = grid->launch.grid;

	block->alive = block->threads;
	block->arrived = 0;
	block->arrived_true = 0;
	block->shared_where = nullptr;
	block->open = true;
	grid->open_blocks++;
	shared_start(block);
	hb_release(&block->start_order);
	for (unsigned w = 0; w * 32 < block->threads; w++)
	{
		WarpState  *warp = &block->warps[w];

		warp->lanes = block->threads - w * 32 < 32 ? block->threads - w * 32 : 32;
		warp->waiting = 0;
		warp->exited = 0;
	}
	for (unsigned t = block->threads; t-- > 0;)
	{
		Fiber	   *fiber = &block->fibers[t];

		fiber->thread = uint3{t % b.x, t / b.x % b.y, t / (b.x * b.y)};
		fiber->Index::block = uint3{(unsigned) (number % g.x), (unsigned) (number / g.x % g.y),
									(unsigned) (number / ((uint64_t) g.x * g.y))};
		fiber->block = block;
		fiber->warp = &block->warps[t / 32];
		fiber->lane = t % 32;
		fiber->warp->lane[fiber->lane] = fiber;
		fiber->where = nullptr;
		fiber->loaded = 0;
		make_ready(fiber);
	}
}

/* Says which threads wait, and for what. */
static void
report_waiting(const Grid *grid)
{
	unsigned	shown = 0;
	unsigned	more = 0;

	for (unsigned i = 0; i < grid->resident; i++)
	{
		const Block *block = &grid->blocks[i];

		for (unsigned t = 0; block->open && t < block->threads; t++)
		{
			const Fiber *f = &block->fibers[t];

			if (f->state != State::at_barrier && f->state != State::in_warp)
				continue;
			if (shown == 12)
			{
				more++;
				continue;
			}
			shown++;
			report_add("\n  block %u,%u thread %u,%u,%u waits in ", f->Index::block.x,
					   f->Index::block.y, f->thread.x, f->thread.y, f->thread.z);
			if (f->state == State::at_barrier)
				report_add("__syncthreads at %s", f->where);
			else
				report_add("a warp operation at %s, mask %08x", f->where, f->mask);
		}
	}
	if (more != 0)
		report_add("\n  and %u more threads", more);
}

static void
report_start(const Grid *grid)
{
	report_begin();
	report_add("kernel %s, grid %ux%ux%u, block %ux%ux%u: ", grid->launch.kernel,
			   grid->dims.grid.x, grid->dims.grid.y, grid->dims.grid.z,
			   grid->dims.block.x, grid->dims.block.y, grid->dims.block.z);
}

void
fail(cudaError_t error, const char *fmt,...)
{
	Grid	   *grid = active;
	char		text[1024];
	va_list		args;

	va_start(args, fmt);
	(void) vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (grid == nullptr)
	{
		report("outside of any kernel: %s", text);
		abort();
	}
	report_start(grid);
	report_add("%s", text);
	if (grid->running != nullptr)
	{
		const Fiber *f = grid->running;

		report_add("\n  met by block %u,%u thread %u,%u,%u", f->Index::block.x, f->Index::block.y,
				   f->thread.x, f->thread.y, f->thread.z);
	}
	report_waiting(grid);
	report_end();
	set_sticky_error(error);
	grid->failed = true;
	leave_fiber(false);
	abort();
}

void
misaligned(const void *p, unsigned bytes)
{
	fail(cudaErrorMisalignedAddress, "access of %u bytes at %p is not aligned", bytes, p);
}

Step
grid_run(Grid *grid, const Budget &budget)
{
	active = grid;
	dims = grid->dims;
	grid->main = Context();
#ifdef SIMT_TSAN
	grid->main.tsan = __tsan_get_current_fiber();
#endif
	grid->deadline = budget.deadline;
	grid->switches_left = budget.switches;
	grid->clock_in = 1;
	grid->leave = false;

	for (;;)
	{
		Fiber	   *next;

		for (unsigned i = 0; i < grid->resident; i++)
		{
			Block	   *block = &grid->blocks[i];

			if (block->open && block->alive == 0)
			{
				block->open = false;
				grid->open_blocks--;
			}
			if (!block->open && grid->next_block < grid->nblocks)
				start_block(grid, block);
		}
		if (grid->failed || grid->leave || grid->open_blocks == 0)
			break;
		next = pick(grid);
		if (next == nullptr)
		{
			report_start(grid);
			report_add("deadlock: no thread can run");
			report_waiting(grid);
			report_end();
			set_sticky_error(cudaErrorLaunchTimeout);
			grid->failed = true;
			break;
		}
		if (!enter_fiber(grid, next))
		{
			report_start(grid);
			report_add("no memory for the stack of a thread");
			report_end();
			set_sticky_error(cudaErrorLaunchOutOfResources);
			grid->failed = true;
			break;
		}
	}
	active = nullptr;
	if (grid->failed)
		return Step::failed;
	if (grid->open_blocks != 0)
		return Step::more;
	hb_acquire(&grid->end_order);
	return Step::done;
}

/* All threads that have not exited are there. */
static void
release_barrier(Block *block)
{
	block->barrier_result = (int) block->arrived_true;
	block->arrived = 0;
	block->arrived_true = 0;
	block->generation++;
	block->grid->progress++;
	for (unsigned i = block->threads; i-- > 0;)
	{
		Fiber	   *fiber = &block->fibers[i];

		if (fiber->state == State::at_barrier && fiber != block->grid->running)
			make_ready(fiber);
	}
}

int
barrier(Reduce kind, int predicate, const char *where)
{
	Grid	   *grid = active;
	Fiber	   *me = grid->running;
	Block	   *block = me->block;
	unsigned	threads = block->alive;
	void	   *order = &block->order[block->generation & 1];

	me->where = where;
	if (block->arrived == 0)
		block->barrier_where = where;
	else if (block->barrier_where != where && strcmp(block->barrier_where, where) != 0)
		fail(cudaErrorLaunchFailure,
			 "threads of one block wait at different barriers: __syncthreads at %s and at %s",
			 block->barrier_where, where);
	hb_release(order);
	block->arrived_true += predicate != 0;
	me->state = State::at_barrier;
	if (++block->arrived == block->alive)
	{
		release_barrier(block);
		me->state = State::ready;
		maybe_yield();
	}
	else
		wait();
	hb_acquire(order);
	switch (kind)
	{
		case Reduce::count:
			return block->barrier_result;
		case Reduce::all:
			return block->barrier_result == (int) threads;
		case Reduce::any:
			return block->barrier_result != 0;
		case Reduce::none:
			break;
	}
	return 0;
}

void
barrier_exit(Block *block)
{
	if (block->alive != 0 && block->arrived == block->alive)
		release_barrier(block);
}

}								/* namespace simt */
