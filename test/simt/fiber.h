/*
 * test/simt/fiber.h
 *	  Contexts that can be switched between, the guarded stacks that they run
 *	  on, and what the sanitizers have to be told of both.
 *
 * Knows nothing of CUDA.  SIMT_ASAN and SIMT_TSAN name the sanitizer that the
 * kernels are compiled for.
 */
#ifndef SIMT_FIBER_H
#define SIMT_FIBER_H

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif

#if !defined(__x86_64__) && !defined(SIMT_UCONTEXT)
#define SIMT_UCONTEXT 1
#endif

#ifdef SIMT_UCONTEXT
#include <ucontext.h>
#endif

#ifdef SIMT_TSAN
extern "C"
{
	void	   *__tsan_get_current_fiber(void);
	void	   *__tsan_create_fiber(unsigned flags);
	void		__tsan_destroy_fiber(void *fiber);
	void		__tsan_switch_to_fiber(void *fiber, unsigned flags);
	void		__tsan_acquire(void *p);
	void		__tsan_release(void *p);
}
#endif

namespace simt
{

/* Memory of a fiber; the page below it cannot be accessed. */
struct Stack
{
	unsigned char *base;
	size_t		size;
	Stack	   *next;
};

/* Null: no memory. */
extern Stack *stack_take(size_t size);
extern void stack_give(Stack *stack);

/* Unmaps all stacks that were given back. */
extern void stacks_release();

/* True if p is in the guard page of a stack. */
extern bool in_stack_guard(const void *p);

struct Context
{
	void	   *sp = nullptr;
#ifdef SIMT_UCONTEXT
	ucontext_t	machine;
#endif
	const void *stack_base = nullptr;
	size_t		stack_size = 0;
	void	   *asan_fake = nullptr;
	void	   *tsan = nullptr;
};

/* The next switch to it calls entry, which must not return. */
extern void context_start(Context *context, Stack *stack, void (*entry) ());

/* Goes on in another context; ends: this one is never returned to. */
extern void context_switch(Context *from, Context *to, bool ends);

/* The first thing in entry(): main is where this family of fibers came from. */
extern void context_entered(Context *main);

/*
 * Happens-before for ThreadSanitizer: what was done before hb_release(p) is
 * seen behind hb_acquire(p).  Any address of memory that is not freed.
 */
static inline void
hb_release(void *p)
{
#ifdef SIMT_TSAN
	__tsan_release(p);
#else
	(void) p;
#endif
}

static inline void
hb_acquire(void *p)
{
#ifdef SIMT_TSAN
	__tsan_acquire(p);
#else
	(void) p;
#endif
}

/* A line of execution of its own to ThreadSanitizer, ordered behind the caller's. */
static inline void *
line_create()
{
#ifdef SIMT_TSAN
	return __tsan_create_fiber(0);
#else
	return nullptr;
#endif
}

static inline void
line_destroy(void *line)
{
#ifdef SIMT_TSAN
	if (line != nullptr)
		__tsan_destroy_fiber(line);
#else
	(void) line;
#endif
}

/* Answers the line left.  Being scheduled behind another is no happens-before. */
static inline void *
line_enter(void *line)
{
#ifdef SIMT_TSAN
	void	   *before = __tsan_get_current_fiber();

	__tsan_switch_to_fiber(line, 1);
	return before;
#else
	return line;
#endif
}

/*
 * Lines of execution for the threads of kernels, with their stacks: they are
 * used again by what is ordered behind (kernels of one stream), for
 * ThreadSanitizer knows only so many, and making one takes long.  Empty
 * without it: threads take any stack then.
 */
struct Line
{
	void	   *tsan;
	Stack	   *stack;
};

struct Lines
{
	Line	   *line;
	size_t		n;
};

/* At least n of them, made by the current one; false: no memory. */
extern bool lines_reserve(Lines *lines, size_t n, size_t stack_bytes);

/* Memory that no one accessed before, to ThreadSanitizer: contents are lost. */
extern void forget_accesses(void *p, size_t n);

/* Forbids and allows access, to AddressSanitizer. */
extern void poison(const void *p, size_t n);
extern void unpoison(const void *p, size_t n);

}								/* namespace simt */

#endif							/* SIMT_FIBER_H */
