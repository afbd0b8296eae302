/*
 * test/simt/schedule.cpp
 *	  Which thread is next.
 *
 * Orderly (seed 0): the thread that became ready last, for its stack is in the
 * cache, and now and then any, so that threads that wait in loops cannot
 * starve those that they wait for.  Shuffled: any.
 */
#include "grid.h"

#include <cstdlib>
#include <ctime>

#include "settings.h"

namespace simt
{

SimtConfig	config = {0, 4, 0, 65536, 20, false};

static bool configured;
static uint64_t random_state = 1;

static uint32_t
number_setting(const char *name, uint32_t otherwise)
{
	const char *value = setting(name);

	return *value == '\0' ? otherwise : (uint32_t) strtoul(value, nullptr, 10);
}

static void
configure(const SimtConfig *wanted)
{
	SimtConfig	c = {};

	if (wanted != nullptr)
		c = *wanted;
	else
	{
		c.seed = number_setting("SIMT_SEED", 0);
		c.resident = number_setting("SIMT_RESIDENT", 0);
		c.preempt = number_setting("SIMT_PREEMPT", c.seed != 0 ? 16384 : 0);
		c.stack_bytes = number_setting("SIMT_STACK", 0);
		c.slice_ms = number_setting("SIMT_SLICE_MS", 0);
	}
	if (c.resident == 0)
		c.resident = 4;
	if (c.stack_bytes == 0)
#if defined(SIMT_ASAN) || defined(SIMT_TSAN)
		c.stack_bytes = 131072;
#else
		c.stack_bytes = 65536;
#endif
	if (c.slice_ms == 0)
		c.slice_ms = 20;
	config = c;
	configured = true;
	random_state = (UINT64_C(0x9e3779b97f4a7c15) * ((uint64_t) c.seed + 1)) | 1;
	stacks_release();
}

void
configure_once()
{
	if (!configured)
		configure(nullptr);
}

uint32_t
random32()
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t) (random_state >> 16);
}

size_t
random_below(size_t n)
{
	return (size_t) ((uint64_t) random32() * n >> 32);
}

uint64_t
clock_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

void
make_ready(Fiber *fiber)
{
	Grid	   *grid = fiber->block->grid;

	fiber->state = State::ready;
	grid->ready[grid->nready++] = fiber;
}

Fiber *
pick(Grid *grid)
{
	size_t		i;
	Fiber	   *fiber;

	if (grid->nready == 0)
		return nullptr;
	if (config.seed != 0 || (grid->picks++ & 15) == 15)
		i = random_below(grid->nready);
	else
		i = grid->nready - 1;
	fiber = grid->ready[i];
	grid->ready[i] = grid->ready[--grid->nready];
	return fiber;
}

/* Looks at the clock every so many switches. */
static const unsigned CLOCK_EVERY = 128;

static bool
slice_over(Grid *grid)
{
	if (grid->switches_left != 0 && --grid->switches_left == 0)
		grid->leave = true;
	if (grid->deadline != 0 && --grid->clock_in == 0)
	{
		grid->clock_in = CLOCK_EVERY;
		if (clock_ns() >= grid->deadline)
			grid->leave = true;
	}
	return grid->leave;
}

/* The stack of the thread that ended last, if nothing runs on it any more. */
static void
give_dying(Grid *grid)
{
	if (grid->dying != nullptr)
		stack_give(grid->dying);
	grid->dying = nullptr;
}

static void
thread_main()
{
	Grid	   *grid = active;
	Fiber	   *me = grid->running;
	Block	   *block = me->block;

	context_entered(&grid->main);
	hb_acquire(&block->start_order);
	grid->launch.run(grid->launch.args);
	hb_release(&grid->end_order);

	me->state = State::done;
	grid->progress++;
	block->alive--;
	warp_exit(me);
	give_dying(grid);
	if (me->line == nullptr)
		grid->dying = me->stack;
	me->stack = nullptr;
	leave_fiber(true);
	abort();
}

/* False: no memory for its stack. */
static bool
begin_thread(Fiber *fiber)
{
	Stack	   *stack = fiber->line != nullptr ? fiber->line->stack
		: stack_take(config.stack_bytes);

	if (stack == nullptr)
		return false;
	fiber->stack = stack;
	context_start(&fiber->context, stack, thread_main);
	return true;
}

/* Goes to the next thread, or to grid_run() if it has something to do. */
void
leave_fiber(bool ends)
{
	Grid	   *grid = active;
	Fiber	   *me = grid->running;
	Fiber	   *next = nullptr;

	if (!ends)
		give_dying(grid);
	if (!slice_over(grid) && !grid->failed && (me->block->alive != 0 || !ends))
		next = pick(grid);
	if (next == me)
		return;
	if (next != nullptr && next->stack == nullptr && !begin_thread(next))
	{
		make_ready(next);
		next = nullptr;
	}
	grid->running = next;
	current = next;
	context_switch(&me->context, next != nullptr ? &next->context : &grid->main, ends);
}

/* From grid_run(); false: no memory for a stack. */
bool
enter_fiber(Grid *grid, Fiber *next)
{
	if (next->stack == nullptr && !begin_thread(next))
		return false;
	grid->running = next;
	current = next;
	context_switch(&grid->main, &next->context, false);
	current = nullptr;
	grid->running = nullptr;
	give_dying(grid);
	return true;
}

void
wait()
{
	leave_fiber(false);
}

void
yield()
{
	Grid	   *grid = active;
	Fiber	   *me = grid->running;

	make_ready(me);
	if (config.seed == 0)
	{
		/* others first: to the other end of the list */
		grid->ready[grid->nready - 1] = grid->ready[0];
		grid->ready[0] = me;
	}
	leave_fiber(false);
}

static void
preempt()
{
	if (config.preempt != 0 && (random32() & 0xffff) < config.preempt)
		yield();
}

void
before_load()
{
	if (active != nullptr)
		preempt();
}

void
before_store()
{
	if (active != nullptr)
	{
		active->progress++;
		preempt();
	}
}

void
spin()
{
	static unsigned n;

	if (active == nullptr)
		return;
	if ((++n & 15) == 0)
		yield();
	else
		preempt();
}

/*
 * If nothing but waiting happens for so long that every thread that could do
 * something else would have been picked many times, nothing else will.
 */
void
pause()
{
	Grid	   *grid = active;

	if (grid == nullptr)
		return;
	if (grid->progress != grid->spin_progress)
	{
		grid->spin_progress = grid->progress;
		grid->spins = 0;
	}
	else if (++grid->spins > 100000 + 1024 * (uint64_t) grid->nready)
		fail(cudaErrorLaunchTimeout, "deadlock: all threads that can run wait in loops");
	yield();
}

void
checkpoint()
{
	if (active != nullptr)
		yield();
}

}								/* namespace simt */

extern "C" void
simt_configure(const SimtConfig *wanted)
{
	simt::configure(wanted);
}
