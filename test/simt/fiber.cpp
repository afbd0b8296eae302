/*
 * test/simt/fiber.cpp
 *	  Switching of contexts: by hand on x86-64, by ucontext elsewhere; guarded
 *	  stacks; annotations for AddressSanitizer and ThreadSanitizer.
 *
 * Must not be compiled for ThreadSanitizer: a switch would leave its shadow
 * call stack in disorder.
 */
#include "fiber.h"

#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

#ifdef SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt
{

/*
 * Stacks are carved from chunks, so that there are not too many mappings of
 * the kernel's; they are taken from the top of a list, so that the ones in the
 * cache are used first.  The descriptors lie in the chunk as well: this runs
 * in the name of CUDA threads, and allocators would tell ThreadSanitizer so.
 */
static const size_t CHUNK_STACKS = 64;

struct Chunk
{
	unsigned char *stacks;		/* the first one's guard */
	size_t		bytes;			/* of the whole mapping, which starts here */
	size_t		each;			/* bytes a stack, guard included */
	Chunk	   *next;
	Stack		stack[CHUNK_STACKS];
};

static Stack *free_stacks;
static Chunk *chunks;
static size_t stacks_out;

static size_t
page_size()
{
	static const size_t size = (size_t) sysconf(_SC_PAGESIZE);

	return size;
}

static bool
add_chunk(size_t size)
{
	size_t		page = page_size();
	size_t		head = (sizeof(Chunk) + page - 1) / page * page;
	size_t		each = (size + page - 1) / page * page + page;
	size_t		bytes = head + each * CHUNK_STACKS;
	void	   *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
							MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	Chunk	   *chunk = static_cast<Chunk *>(base);

	if (base == MAP_FAILED)
		return false;
	chunk->stacks = static_cast<unsigned char *>(base) + head;
	chunk->bytes = bytes;
	chunk->each = each;
	chunk->next = chunks;
	chunks = chunk;
	for (size_t i = CHUNK_STACKS; i-- > 0;)
	{
		unsigned char *guard = chunk->stacks + i * each;

		(void) mprotect(guard, page, PROT_NONE);
		chunk->stack[i] = {guard + page, each - page, free_stacks};
		free_stacks = &chunk->stack[i];
	}
	return true;
}

Stack *
stack_take(size_t size)
{
	Stack	   *stack;

	if (free_stacks != nullptr && free_stacks->size < size && stacks_out == 0)
		stacks_release();
	if (free_stacks == nullptr && !add_chunk(size))
		return nullptr;
	stack = free_stacks;
	free_stacks = stack->next;
	stacks_out++;
	/* who had it before left without unwinding, and has nothing to do with us */
	unpoison(stack->base, stack->size);
	forget_accesses(stack->base, stack->size);
	return stack;
}

void
stack_give(Stack *stack)
{
	stack->next = free_stacks;
	free_stacks = stack;
	stacks_out--;
}

void
stacks_release()
{
	if (stacks_out != 0)
		return;
	free_stacks = nullptr;
	while (chunks != nullptr)
	{
		Chunk	   *chunk = chunks;

		chunks = chunk->next;
		for (const Stack &stack : chunk->stack)
			unpoison(stack.base, stack.size);
		(void) munmap(chunk, chunk->bytes);
	}
}

bool
in_stack_guard(const void *p)
{
	const unsigned char *at = static_cast<const unsigned char *>(p);

	for (const Chunk *chunk = chunks; chunk != nullptr; chunk = chunk->next)
		if (at >= chunk->stacks && at < chunk->stacks + CHUNK_STACKS * chunk->each)
			return (size_t) (at - chunk->stacks) % chunk->each < page_size();
	return false;
}

#ifndef SIMT_UCONTEXT

extern "C" void simt_switch(void **save, void *to);

/* System V ABI: these six registers and the stack pointer survive calls. */
asm(
	".text\n"
	".globl simt_switch\n"
	".hidden simt_switch\n"
	".type simt_switch, @function\n"
	"simt_switch:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size simt_switch, . - simt_switch\n"
);

#endif

void
context_start(Context *context, Stack *stack, void (*entry) ())
{
	context->stack_base = stack->base;
	context->stack_size = stack->size;
	context->asan_fake = nullptr;
#ifdef SIMT_UCONTEXT
	getcontext(&context->machine);
	context->machine.uc_stack.ss_sp = stack->base;
	context->machine.uc_stack.ss_size = stack->size;
	context->machine.uc_link = nullptr;
	makecontext(&context->machine, entry, 0);
#else
	void	  **sp = reinterpret_cast<void **>(stack->base + stack->size);

	*--sp = nullptr;			/* entry has no caller */
	*--sp = reinterpret_cast<void *>(entry);
	for (int i = 0; i < 6; i++)
		*--sp = nullptr;
	context->sp = sp;
#endif
}

void
context_switch(Context *from, Context *to, bool ends)
{
#ifdef SIMT_ASAN
	__sanitizer_start_switch_fiber(ends ? nullptr : &from->asan_fake, to->stack_base,
								   to->stack_size);
#endif
#ifdef SIMT_TSAN
	__tsan_switch_to_fiber(to->tsan, 1);	/* 1: no happens-before */
#endif
	(void) ends;
#ifdef SIMT_UCONTEXT
	(void) swapcontext(&from->machine, &to->machine);
#else
	simt_switch(&from->sp, to->sp);
#endif
#ifdef SIMT_ASAN
	__sanitizer_finish_switch_fiber(from->asan_fake, nullptr, nullptr);
#endif
}

void
context_entered(Context *main)
{
#ifdef SIMT_ASAN
	const void *base;
	size_t		size;

	__sanitizer_finish_switch_fiber(nullptr, &base, &size);
	if (main->stack_base == nullptr)
	{
		main->stack_base = base;
		main->stack_size = size;
	}
#else
	(void) main;
#endif
}

bool
lines_reserve(Lines *lines, size_t n, size_t stack_bytes)
{
#ifdef SIMT_TSAN
	if (n > lines->n)
	{
		Line	   *line = static_cast<Line *>(realloc(lines->line, n * sizeof(Line)));

		if (line == nullptr)
			return false;
		lines->line = line;
		for (; lines->n < n; lines->n++)
		{
			Stack	   *stack = stack_take(stack_bytes);

			if (stack == nullptr)
				return false;
			line[lines->n] = {line_create(), stack};
		}
	}
#else
	(void) lines;
	(void) n;
	(void) stack_bytes;
#endif
	return true;
}

void
forget_accesses(void *p, size_t n)
{
#ifdef SIMT_TSAN
	(void) mmap(p, n, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
#else
	(void) p;
	(void) n;
#endif
}

void
poison(const void *p, size_t n)
{
#ifdef SIMT_ASAN
	__asan_poison_memory_region(p, n);
#else
	(void) p;
	(void) n;
#endif
}

void
unpoison(const void *p, size_t n)
{
#ifdef SIMT_ASAN
	__asan_unpoison_memory_region(p, n);
#else
	(void) p;
	(void) n;
#endif
}

}								/* namespace simt */
