/*
 * src/trie/trie_threads.h
 *	  Threads of the join engine: a team that is there while a build or a count
 *	  lasts.  The calling thread is its first member and works as well.
 *
 * The others have all signals blocked and touch nothing but memory that was
 * allocated for them before: no allocator, no library that keeps state.  A
 * thread that cannot be started is done without.
 *
 * Owns the threads it starts, all of which have ended when pp_team_end()
 * returns.  It must not be used by two threads at once.
 */
#ifndef PP_TRIE_THREADS_H
#define PP_TRIE_THREADS_H

#include <pthread.h>

#include "../parse/common.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Members of a team at most. */
#define PP_TEAM_MOST	64u

/* What a member does; member is its number, 0 the calling thread's. */
typedef void (*PpTeamTask) (void *ctx, uint32_t member);

typedef struct PpTeam
{
	uint32_t	most;			/* members to have, the calling thread included */
	uint32_t	size;			/* members there are, 1 before the first task */
	bool		started;
	pthread_t	thread[PP_TEAM_MOST];

	/* under the lock */
	pthread_mutex_t lock;
	pthread_cond_t begin;
	pthread_cond_t end;
	uint64_t	round;			/* tasks begun */
	uint32_t	members;		/* of the team that the task is for */
	uint32_t	joined;			/* threads that know their number */
	uint32_t	busy;			/* threads that are not done with the task */
	bool		over;
	PpTeamTask	task;
	void	   *ctx;

	/* what the calling thread is to do every few milliseconds while it waits for
	 * the others; NULL: nothing */
	bool		(*poll) (void *ctx);
	void	   *poll_ctx;
} PpTeam;

/*
 * A team of up to so many members; none is started yet.  0 is as 1.  poll may
 * have the others stop, by something that they look at; its answer is not used.
 */
extern void pp_team_begin(PpTeam *team, uint32_t most, bool (*poll) (void *ctx), void *poll_ctx);

/* Starts the other members; answers how many there are, at most wanted. */
extern uint32_t pp_team_start(PpTeam *team, uint32_t wanted);

/* Members 0 to members - 1 do the task; returns when all have. */
extern void pp_team_run(PpTeam *team, uint32_t members, PpTeamTask task, void *ctx);

/* Ends all threads. */
extern void pp_team_end(PpTeam *team);

#ifdef __cplusplus
}
#endif

#endif							/* PP_TRIE_THREADS_H */
