/*
 * test/simt/warp.cpp
 *	  Warp operations: the rendezvous of the lanes of a mask, and what each of
 *	  them gets.
 *
 * All lanes of the mask that have not exited must come to the same operation,
 * at the same place, with the same mask.  Only __syncwarp orders memory.
 */
#include "grid.h"

#include <cstring>

namespace simt
{

/* The lane a shuffle takes its value from; a lane out of its segment keeps its own. */
static unsigned
shuffle_source(unsigned lane, unsigned arg)
{
	Shuffle		kind = static_cast<Shuffle>(arg >> 16);
	int			width = (int) (arg >> 8 & 0xff);
	int			by = (int) (int8_t) (arg & 0xff);
	int			first = (int) lane & ~(width - 1);
	int			source = (int) lane;
	bool		inside = true;

	switch (kind)
	{
		case Shuffle::index:
			source = first + (by & (width - 1));
			break;
		case Shuffle::up:
			source = (int) lane - by;
			inside = source >= first;
			break;
		case Shuffle::down:
			source = (int) lane + by;
			inside = source < first + width;
			break;
		case Shuffle::bfly:
			source = (int) lane ^ by;
			inside = source < first + width;
			break;
	}
	return inside && source >= 0 && source < 32 ? (unsigned) source : lane;
}

static uint32_t
combine(Warp op, uint32_t a, uint32_t b)
{
	switch (op)
	{
		case Warp::add:
			return a + b;
		case Warp::smin:
			return (int32_t) a < (int32_t) b ? a : b;
		case Warp::smax:
			return (int32_t) a > (int32_t) b ? a : b;
		case Warp::umin:
			return a < b ? a : b;
		case Warp::umax:
			return a > b ? a : b;
		case Warp::bit_and:
			return a & b;
		case Warp::bit_or:
			return a | b;
		case Warp::bit_xor:
			return a ^ b;
		default:
			return a;
	}
}

/* Gives the lanes in live their results. */
static void
compute(WarpState *warp, Warp op, unsigned live)
{
	unsigned	ballot = 0;
	uint32_t	reduced = 0;
	bool		first = true;

	for (unsigned rest = live; rest != 0; rest &= rest - 1)
	{
		unsigned	lane = (unsigned) __builtin_ctz(rest);
		uint32_t	value = (uint32_t) warp->lane[lane]->value;

		if (warp->lane[lane]->value != 0)
			ballot |= 1u << lane;
		reduced = first ? value : combine(op, reduced, value);
		first = false;
	}
	for (unsigned rest = live; rest != 0; rest &= rest - 1)
	{
		unsigned	lane = (unsigned) __builtin_ctz(rest);
		Fiber	   *fiber = warp->lane[lane];

		switch (op)
		{
			case Warp::sync:
				fiber->result = 0;
				break;
			case Warp::ballot:
				fiber->result = ballot;
				break;
			case Warp::all:
				fiber->result = ballot == live;
				break;
			case Warp::active:
				fiber->result = live;
				break;
			case Warp::match:
				fiber->result = 0;
				for (unsigned other = live; other != 0; other &= other - 1)
				{
					unsigned	o = (unsigned) __builtin_ctz(other);

					if (warp->lane[o]->value == fiber->value)
						fiber->result |= 1u << o;
				}
				break;
			case Warp::shuffle:
				{
					unsigned	source = shuffle_source(lane, fiber->arg);

					/* of a lane that does not take part: undefined */
					fiber->result = live >> source & 1 ? warp->lane[source]->value
						: UINT64_C(0xdeaddeaddeaddead);
					break;
				}
			default:
				fiber->result = reduced;
				break;
		}
	}
}

/*
 * Completes the operation of the mask if all its lanes are there.  In doubt
 * about the mask, nothing is done: a lane may wait with another mask whose
 * operation comes first.
 */
static bool
try_complete(WarpState *warp, unsigned mask)
{
	unsigned	live = mask & warp->waiting;
	Fiber	   *running = active->running;
	Fiber	   *some = nullptr;

	if ((mask & ~(warp->waiting | warp->exited)) != 0 || live == 0)
		return false;
	for (unsigned rest = live; rest != 0; rest &= rest - 1)
	{
		Fiber	   *fiber = warp->lane[__builtin_ctz(rest)];

		if (fiber->mask != mask)
			return false;
		if (some == nullptr)
			some = fiber;
		else if (some->op != fiber->op ||
				 (some->where != fiber->where && strcmp(some->where, fiber->where) != 0))
			fail(cudaErrorLaunchFailure,
				 "lanes of mask %08x meet at different warp operations: %s and %s", mask,
				 some->where, fiber->where);
	}
	compute(warp, some->op, live);
	warp->waiting &= ~live;
	active->progress++;
	for (int lane = 31; lane >= 0; lane--)
		if ((live >> lane & 1) != 0 && warp->lane[lane] != running)
			make_ready(warp->lane[lane]);
	return true;
}

/*
 * What the lanes of a mask have released is acquired by all of them.  The
 * address is theirs until the last of them has left, so that no lane acquires
 * what another releases for a later meeting.
 */
static Meeting *
join(WarpState *warp, Fiber *me, unsigned mask)
{
#ifdef SIMT_TSAN
	Meeting    *meeting = nullptr;

	for (unsigned rest = warp->waiting; rest != 0 && meeting == nullptr; rest &= rest - 1)
	{
		Fiber	   *other = warp->lane[__builtin_ctz(rest)];

		if (other->mask == mask && other->op == Warp::sync)
			meeting = other->meeting;
	}
	for (unsigned i = 0; meeting == nullptr; i++)
		if (warp->meetings[i].users == 0)
			meeting = &warp->meetings[i];
	meeting->users++;
	hb_release(&meeting->order);
	me->meeting = meeting;
	return meeting;
#else
	(void) warp;
	(void) me;
	(void) mask;
	return nullptr;
#endif
}

uint64_t
warp(Warp op, unsigned mask, uint64_t value, unsigned arg, const char *where)
{
	Fiber	   *me = active->running;
	WarpState  *warp = me->warp;
	Meeting    *meeting;

	me->where = where;
	me->mask = mask;
	if (warp->lanes < 32)
		mask &= (1u << warp->lanes) - 1;
	if ((mask >> me->lane & 1) == 0)
		fail(cudaErrorLaunchFailure, "lane %u is not in the mask %08x of its warp operation at %s",
			 me->lane, me->mask, where);
	meeting = op == Warp::sync ? join(warp, me, mask) : nullptr;
	me->mask = mask;
	me->op = op;
	me->value = value;
	me->arg = arg;
	me->state = State::in_warp;
	warp->waiting |= 1u << me->lane;
	if (try_complete(warp, mask))
	{
		me->state = State::ready;
		maybe_yield();
	}
	else
		wait();
	if (meeting != nullptr)
	{
		hb_acquire(&meeting->order);
		meeting->users--;
	}
	return me->result;
}

void
warp_exit(Fiber *fiber)
{
	WarpState  *warp = fiber->warp;

	warp->exited |= 1u << fiber->lane;
	for (unsigned lane = 0; lane < warp->lanes; lane++)
		if (warp->waiting >> lane & 1)
			(void) try_complete(warp, warp->lane[lane]->mask);
	barrier_exit(fiber->block);
}

}								/* namespace simt */
