/*
 * test/simt/signals.cpp
 *	  Signals while kernels run: those of the process wait, and crashes of a
 *	  thread (an address that is not mapped, a full stack) end its grid with
 *	  the error that a device would give.
 *
 * With a sanitizer crashes are left to it, for it says more.
 */
#include "grid.h"

#include <csignal>
#include <pthread.h>

#include "report.h"

namespace simt
{

#if !defined(SIMT_ASAN) && !defined(SIMT_TSAN)
#define SIMT_CATCH 1
#endif

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static const int NCRASHES = 4;

static sigset_t mask_before;

#ifdef SIMT_CATCH

static struct sigaction actions_before[NCRASHES];
static stack_t stack_before;
alignas(16) static unsigned char handler_stack[65536];

static void
on_crash(int signal, siginfo_t *info, void *)
{
	if (active != nullptr && active->running != nullptr)
		thread_crashed(signal, info->si_addr);
	/* not of a thread: as if there were no handler */
	for (int i = 0; i < NCRASHES; i++)
		if (crashes[i] == signal)
			(void) sigaction(signal, &actions_before[i], nullptr);
}

#endif

void
thread_crashed(int signal, const void *address)
{
	if (signal == SIGSEGV && in_stack_guard(address))
		fail(cudaErrorLaunchFailure, "the stack of a thread is full");
	if (signal == SIGFPE)
		fail(cudaErrorLaunchFailure, "integer division by zero or overflow");
	if (signal == SIGILL)
		fail(cudaErrorIllegalInstruction, "illegal instruction");
	fail(cudaErrorIllegalAddress, "access to address %p, which is not mapped", address);
}

SignalGuard::SignalGuard()
{
	sigset_t	all;

	sigfillset(&all);
	for (int i = 0; i < NCRASHES; i++)
		sigdelset(&all, crashes[i]);
	sigdelset(&all, SIGABRT);
	sigdelset(&all, SIGTRAP);
	(void) pthread_sigmask(SIG_SETMASK, &all, &mask_before);
#ifdef SIMT_CATCH
	stack_t		stack = {};
	struct sigaction action = {};

	stack.ss_sp = handler_stack;
	stack.ss_size = sizeof(handler_stack);
	(void) sigaltstack(&stack, &stack_before);
	/* the handler is left by a switch of contexts, not by returning */
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	action.sa_sigaction = on_crash;
	sigfillset(&action.sa_mask);
	for (int i = 0; i < NCRASHES; i++)
		sigdelset(&action.sa_mask, crashes[i]);
	for (int i = 0; i < NCRASHES; i++)
		(void) sigaction(crashes[i], &action, &actions_before[i]);
#endif
}

SignalGuard::~SignalGuard()
{
#ifdef SIMT_CATCH
	for (int i = 0; i < NCRASHES; i++)
		(void) sigaction(crashes[i], &actions_before[i], nullptr);
	(void) sigaltstack(&stack_before, nullptr);
#endif
	(void) pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
}

}								/* namespace simt */
