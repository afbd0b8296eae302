/*
 * src/trie/trie_threads.c
 *	  The team of threads of trie_threads.h.
 */
#define _POSIX_C_SOURCE 200809L /* pthread_sigmask */

#include "trie_threads.h"

#include <signal.h>
#include <time.h>

/* How long the calling thread waits before it polls, in nanoseconds. */
#define POLL_EVERY		5000000

/* A thread's stack: recursion is as deep as a query has variables. */
#define STACK_BYTES		((size_t) 1 << 20)

void
pp_team_begin(PpTeam *team, uint32_t most, bool (*poll) (void *ctx), void *poll_ctx)
{
	team->most = most < 1 ? 1 : most > PP_TEAM_MOST ? PP_TEAM_MOST : most;
	team->size = 1;
	team->started = false;
	team->round = 0;
	team->members = team->joined = team->busy = 0;
	team->over = false;
	team->task = NULL;
	team->ctx = NULL;
	team->poll = poll;
	team->poll_ctx = poll_ctx;
}

static void *
member_main(void *arg)
{
	PpTeam	   *team = arg;
	uint64_t	done = 0;
	uint32_t	member;

	pthread_mutex_lock(&team->lock);
	member = ++team->joined;
	for (;;)
	{
		PpTeamTask	task;
		void	   *ctx;

		while (team->round == done && !team->over)
			pthread_cond_wait(&team->begin, &team->lock);
		if (team->over)
			break;
		done = team->round;
		if (member >= team->members)
			continue;
		task = team->task;
		ctx = team->ctx;
		pthread_mutex_unlock(&team->lock);
		task(ctx, member);
		pthread_mutex_lock(&team->lock);
		if (--team->busy == 0)
			pthread_cond_signal(&team->end);
	}
	pthread_mutex_unlock(&team->lock);
	return NULL;
}

uint32_t
pp_team_start(PpTeam *team, uint32_t wanted)
{
	if (!team->started && team->most > 1 && wanted > 1)
	{
		sigset_t	all;
		sigset_t	old;
		pthread_attr_t attr;
		pthread_condattr_t clock;
		bool		sized;

		pthread_mutex_init(&team->lock, NULL);
		pthread_cond_init(&team->begin, NULL);
		pthread_condattr_init(&clock);
		pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
		pthread_cond_init(&team->end, &clock);
		pthread_condattr_destroy(&clock);
		team->started = true;
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		sized = pthread_attr_init(&attr) == 0;
		if (sized)
			pthread_attr_setstacksize(&attr, STACK_BYTES);
		while (team->size < team->most &&
			   pthread_create(&team->thread[team->size], sized ? &attr : NULL,
							  member_main, team) == 0)
			team->size++;
		if (sized)
			pthread_attr_destroy(&attr);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	return team->size < wanted ? team->size : wanted < 1 ? 1 : wanted;
}

/* Waits for a while, or until all are done; under the lock. */
static void
wait_for_others(PpTeam *team)
{
	struct timespec until;

	if (team->poll == NULL)
	{
		pthread_cond_wait(&team->end, &team->lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += POLL_EVERY;
	if (until.tv_nsec >= 1000000000)
	{
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	if (pthread_cond_timedwait(&team->end, &team->lock, &until) == 0)
		return;
	pthread_mutex_unlock(&team->lock);
	(void) team->poll(team->poll_ctx);
	pthread_mutex_lock(&team->lock);
}

void
pp_team_run(PpTeam *team, uint32_t members, PpTeamTask task, void *ctx)
{
	if (members > 1)
	{
		pthread_mutex_lock(&team->lock);
		team->task = task;
		team->ctx = ctx;
		team->members = members;
		team->busy = members - 1;
		team->round++;
		pthread_cond_broadcast(&team->begin);
		pthread_mutex_unlock(&team->lock);
	}
	task(ctx, 0);
	if (members > 1)
	{
		pthread_mutex_lock(&team->lock);
		while (team->busy > 0)
			wait_for_others(team);
		pthread_mutex_unlock(&team->lock);
	}
}

void
pp_team_end(PpTeam *team)
{
	if (!team->started)
		return;
	pthread_mutex_lock(&team->lock);
	team->over = true;
	pthread_cond_broadcast(&team->begin);
	pthread_mutex_unlock(&team->lock);
	for (uint32_t i = 1; i < team->size; i++)
		pthread_join(team->thread[i], NULL);
	pthread_cond_destroy(&team->end);
	pthread_cond_destroy(&team->begin);
	pthread_mutex_destroy(&team->lock);
	team->started = false;
	team->size = 1;
}
