/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Virtual threads and virtual time.
 *
 * One thread runs at a time, until it sleeps or has passed so many points as were drawn
 * for it. Points are: before each lock hold, before each access of shared data outside of
 * one, around what a hold stores for those without the lock, and around each wake-up. A
 * lock hold is one step but for these. A sleep is the kernel's: the thread says that it
 * will sleep, looks once more whether it has to, and sleeps unless it was woken in
 * between. Time passes a little with each change of threads; when none can run it jumps
 * to the next deadline. Some threads lag: for a while of that time they are not run.
 */
#ifndef _DXK_SIM_SCHED_H
#define _DXK_SIM_SCHED_H

#include "engine/os.h"

#define SIM_TASKS	400

enum sim_state {
	SIM_ENDED,
	SIM_RUNNABLE,
	SIM_ASLEEP,
	SIM_SPINNING,		/* for the lock */
	SIM_LAGGING,		/* it could run, and does not for a while */
};

struct task_struct {
	u32 nr;
	const char *name;
	/* Its choices. */
	u8 stream;
	enum sim_state state;
	/* Index among those that can run. */
	u32 runnable;
	/* When it gave up the lock last there was work for user workers. */
	bool backlog;
	/* It tells sleepers that Stop has begun, and then sleeps with a deadline. */
	bool halting;
	/* It may be held up anywhere but under the lock. */
	bool lags;
	/* It will sleep, unless somebody wakes it before. */
	bool dozing;
	/* A signal has come; the last one, which ends it. */
	bool signalled, killed;
	bool timed_out;
	u64 deadline;
	/* What it sleeps for, or NULL. */
	const bool *done;
	/* References of those who are going to wake it. */
	u32 refs;
	void (*run)(void *arg);
	void *arg;
	struct sim_fiber *fiber;
};

/* So far, in all episodes of this process. */
extern u64 sim_steps;
extern bool sim_verbose;

struct task_struct *sim_spawn(const char *name, void (*run)(void *arg), void *arg);
void sim_signal(struct task_struct *task, bool kill);
bool sim_sleep(u64 deadline);
void sim_nap(u64 ns);
void sim_join(struct task_struct *task);
void sim_episode(void (*run)(void *arg), void *arg, u32 slice);
u32 sim_tasks(void);
u32 sim_laggards(void);
struct task_struct *sim_task(u32 nr);

/** sim_doze_begin - the running thread will sleep, unless it is woken */
static inline void sim_doze_begin(void)
{
	sim_self->dozing = true;
}

static inline void sim_doze_end(void)
{
	sim_self->dozing = false;
}

void sim_fail(const char *fmt, ...) __printf(1, 2) __attribute__((noreturn));
void sim_note(const char *fmt, ...) __printf(1, 2);

/* A step that is worth a line in the list of an episode. */
#define note(...) do {			\
	if (unlikely(sim_verbose))	\
		sim_note(__VA_ARGS__);	\
} while (0)

/* Of check.c: */
void check_hold_begin(const spinlock_t *lock);
void check_hold_end(const spinlock_t *lock);
void check_idle(void);
void check_told(void);

#endif /* _DXK_SIM_SCHED_H */
