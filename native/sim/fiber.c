// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Stacks, and how to get from one to another. ucontext makes them; between them
 * longjmp() is faster, for it does not ask the kernel for the signal mask. The sanitizers
 * want to be told, and understand swapcontext() only. To the thread sanitizer each stack
 * is a thread, and a switch orders nothing.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "fiber.h"
#include "sched.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SIM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#define STACK_SIZE	(64 << 10)

struct sim_fiber {
	ucontext_t context;
	jmp_buf place;
	bool begun;
	void *stack;
	void (*entry)(void);
	void *sanitizer;
};

static struct sim_fiber *current;

/* @from: where it was before; of the process's own stack nobody else knows the bounds */
static void fiber_arrived(struct sim_fiber *from)
{
#ifdef __SANITIZE_ADDRESS__
	const void *stack;
	size_t size;

	__sanitizer_finish_switch_fiber(current->sanitizer, &stack, &size);
	from->context.uc_stack.ss_sp = (void *)stack;
	from->context.uc_stack.ss_size = size;
#endif
}

static struct sim_fiber *previous;

static void fiber_begin(void)
{
	fiber_arrived(previous);
	current->entry();
	abort();
}

struct sim_fiber *fiber_new(void (*entry)(void))
{
	struct sim_fiber *fiber = calloc(1, sizeof(*fiber));

	fiber->entry = entry;
	fiber->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fiber->stack == MAP_FAILED)
		abort();
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK_SIZE;
	makecontext(&fiber->context, fiber_begin, 0);
#ifdef SIM_TSAN
	fiber->sanitizer = __tsan_create_fiber(0);
#endif
	return fiber;
}

/** fiber_of_process - the stack that the process began with */
struct sim_fiber *fiber_of_process(void)
{
	struct sim_fiber *fiber = calloc(1, sizeof(*fiber));

	fiber->begun = true;
#ifdef SIM_TSAN
	fiber->sanitizer = __tsan_get_current_fiber();
#endif
	return fiber;
}

#if defined(__SANITIZE_ADDRESS__) || defined(SIM_TSAN)
void fiber_switch(struct sim_fiber *from, struct sim_fiber *to)
{
	previous = from;
	current = to;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(&from->sanitizer, to->context.uc_stack.ss_sp,
				       to->context.uc_stack.ss_size);
#else
	__tsan_switch_to_fiber(to->sanitizer, __tsan_switch_to_fiber_no_sync);
#endif
	swapcontext(&from->context, &to->context);
	fiber_arrived(previous);
}
#else
void fiber_switch(struct sim_fiber *from, struct sim_fiber *to)
{
	current = to;
	if (_setjmp(from->place))
		return;
	if (to->begun)
		_longjmp(to->place, 1);
	to->begun = true;
	setcontext(&to->context);
}
#endif
