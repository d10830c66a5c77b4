// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Virtual threads and virtual time, see sched.h.
 */
#include "uapi/dxk.h"

#include "choice.h"
#include "fiber.h"
#include "sched.h"

struct task_struct *sim_self;
u64 sim_now;
long sim_left;
bool sim_holding;
u64 sim_steps;

static struct task_struct task[SIM_TASKS];
static u32 nr_tasks, begun;

static struct task_struct *runnable[SIM_TASKS];
static u32 nr_runnable, nr_spinning, nr_lagging;

/* The process itself, while an episode runs. */
static struct sim_fiber *home;
/* Most points in a row; what of it was drawn for the running thread. */
static u32 slice;
static long share;
/* The earliest deadline, or earlier. */
static u64 next_deadline;
/* When the first thread has run last: it never waits for long. */
static u64 main_ran;

#define LONG	(5000ULL * NSEC_PER_MSEC)

u32 sim_tasks(void)
{
	return nr_tasks;
}

/** sim_laggards - how many threads could run, and do not */
u32 sim_laggards(void)
{
	return nr_lagging;
}

struct task_struct *sim_task(u32 nr)
{
	return &task[nr];
}

/* --- who runs --------------------------------------------------------------- */

static void can_run(struct task_struct *t)
{
	t->state = SIM_RUNNABLE;
	t->runnable = nr_runnable;
	runnable[nr_runnable++] = t;
}

/* Those who can run stay in the order in which they came. */
static void cannot_run(struct task_struct *t, enum sim_state state)
{
	u32 i;

	nr_runnable--;
	for (i = t->runnable; i < nr_runnable; i++) {
		runnable[i] = runnable[i + 1];
		runnable[i]->runnable = i;
	}
	t->state = state;
}

/* Who has waited until its deadline. */
static void expire(void)
{
	u32 i;

	next_deadline = DXK_FOREVER;
	for (i = 0; i < nr_tasks; i++) {
		struct task_struct *t = &task[i];

		if (t->state != SIM_ASLEEP && t->state != SIM_LAGGING)
			continue;
		if (t->deadline <= sim_now) {
			nr_lagging -= t->state == SIM_LAGGING;
			t->timed_out = true;
			can_run(t);
		} else if (t->deadline < next_deadline) {
			next_deadline = t->deadline;
		}
	}
}

/* Nobody can run: it is time for the next deadline. */
static void jump(void)
{
	if (!nr_lagging)
		check_idle();
	while (!nr_runnable) {
		if (next_deadline == DXK_FOREVER)
			sim_fail("hang: all threads sleep for ever");
		if (sim_now > main_ran + LONG)
			sim_fail("hang: what main waits for does not come");
		if (next_deadline > sim_now)
			sim_now = next_deadline;
		expire();
	}
}

static void switch_to(struct task_struct *next)
{
	struct task_struct *self = sim_self;

	sim_steps += share - max(sim_left, 0L);
	share = sim_left = slice - choose_in(CHOICE_STREAM_RUN, slice);
	if (next == self)
		return;
	sim_now += 1000;
	sim_self = next;
	sim_holding = false;
	if (next == task)
		main_ran = sim_now;
	fiber_switch(self->fiber, next->fiber);
}

/* 0 means that the running one goes on if it can, else who could the longest. */
static void schedule(void)
{
	struct task_struct *next;
	u32 first;
	bool holding = sim_holding;

	if (unlikely(sim_now >= next_deadline))
		expire();
	if (unlikely(!nr_runnable))
		jump();
	first = sim_self->state == SIM_RUNNABLE ? sim_self->runnable : 0;
	next = runnable[(first + choose_in(CHOICE_STREAM_RUN, nr_runnable)) %
			nr_runnable];
	switch_to(next);
	sim_holding = holding;
}

/* The running thread is not run again before some time has passed. */
static void lag(void)
{
	struct task_struct *self = sim_self;

	self->deadline = sim_now + 1000 * choose_in(CHOICE_STREAM_RUN, 1U << 15);
	if (self->deadline < next_deadline)
		next_deadline = self->deadline;
	nr_lagging++;
	cannot_run(self, SIM_LAGGING);
}

/** sim_preempt - the running thread has passed as many points as it may in a row */
void sim_preempt(void)
{
	if (unlikely(choose_in(CHOICE_STREAM_RUN, 512) == 511) && next_deadline != DXK_FOREVER &&
	    next_deadline > sim_now)
		sim_now = next_deadline;
	if (unlikely(sim_self->lags) && !sim_holding &&
	    choose_in(CHOICE_STREAM_RUN, 16) == 15)
		lag();
	schedule();
}

/* --- the lock --------------------------------------------------------------- */

void sim_lock(spinlock_t *lock)
{
	os_point();
	while (unlikely(lock->holder)) {
		if (lock->holder == sim_self)
			sim_fail("%s takes the lock twice", sim_self->name);
		cannot_run(sim_self, SIM_SPINNING);
		nr_spinning++;
		schedule();
	}
	lock->holder = sim_self;
	sim_holding = true;
	order_acquire(lock);
	check_hold_begin(lock);
}

void sim_unlock(spinlock_t *lock)
{
	u32 i;

	if (lock->holder != sim_self)
		sim_fail("%s gives up a lock that it does not hold", sim_self->name);
	check_hold_end(lock);
	order_release(lock);
	lock->holder = NULL;
	sim_holding = false;
	for (i = 0; unlikely(nr_spinning) && i < nr_tasks; i++)
		if (task[i].state == SIM_SPINNING) {
			can_run(&task[i]);
			nr_spinning--;
		}
}

/* --- sleeping and waking ---------------------------------------------------- */

/** sim_sleep - sleep, if nobody has woken the running thread since it said so */
bool sim_sleep(u64 deadline)
{
	struct task_struct *self = sim_self;

	if (sim_holding)
		sim_fail("%s sleeps under the lock", self->name);
	if (!self->dozing)
		return true;
	self->deadline = deadline;
	self->timed_out = false;
	if (deadline < next_deadline)
		next_deadline = deadline;
	cannot_run(self, SIM_ASLEEP);
	schedule();
	self->dozing = false;
	return !self->timed_out;
}

void sim_task_get(struct task_struct *t)
{
	if (t->state == SIM_ENDED)
		sim_fail("a reference to %s, which has ended", t->name);
	t->refs++;
}

void sim_task_put(struct task_struct *t)
{
	t->refs--;
}

void sim_task_wake(struct task_struct *t)
{
	if (t->state == SIM_ENDED) {
		if (!t->refs)
			sim_fail("a wake-up of %s, which has ended", t->name);
		return;
	}
	t->dozing = false;
	if (t->state == SIM_ASLEEP)
		can_run(t);
}

int os_doze(const bool *done, const struct llist_head *events, u64 deadline)
{
	struct task_struct *self = sim_self;
	int err = 0;

	os_point();
	self->done = done;
	for (;;) {
		sim_doze_begin();
		os_point();
		if (__atomic_load_n(done, __ATOMIC_ACQUIRE) || err)
			break;
		if (self->signalled) {
			err = sim_now < deadline ? -ERESTARTSYS : -ETIMEDOUT;
			break;
		}
		if (events && !llist_empty(events)) {
			err = sim_now < deadline ? 0 : -ETIMEDOUT;
			break;
		}
		if (!sim_sleep(deadline))
			err = -ETIMEDOUT;
	}
	sim_doze_end();
	os_point();
	self->done = NULL;
	if (!__atomic_load_n(done, __ATOMIC_ACQUIRE))
		return err;
	order_acquire(done);
	return 0;
}

bool os_await(const bool *done)
{
	struct task_struct *self = sim_self;
	bool late = sim_hasty && chance(4);

	self->done = done;
	for (;;) {
		sim_doze_begin();
		os_point();
		if (late || __atomic_load_n(done, __ATOMIC_ACQUIRE))
			break;
		sim_sleep(DXK_FOREVER);
	}
	sim_doze_end();
	self->done = NULL;
	if (!__atomic_load_n(done, __ATOMIC_ACQUIRE))
		return false;
	order_acquire(done);
	return true;
}

/** sim_signal - a signal comes, which ends sleeps; @kill: and after them the thread */
void sim_signal(struct task_struct *t, bool kill)
{
	if (!t || t->state == SIM_ENDED)
		return;
	note("%s to %s", kill ? "SIGKILL" : "a signal", t->name);
	t->signalled = true;
	t->killed |= kill;
	sim_task_wake(t);
}

/** sim_nap - time passes for the running thread; a signal ends it */
void sim_nap(u64 ns)
{
	u64 until = sim_now + ns;

	do {
		sim_doze_begin();
	} while (!sim_self->signalled && sim_sleep(until));
	sim_doze_end();
}

/** sim_join - sleep until a thread has ended */
void sim_join(struct task_struct *t)
{
	while (t->state != SIM_ENDED) {
		sim_doze_begin();
		sim_sleep(sim_now + NSEC_PER_MSEC);
	}
	sim_doze_end();
	order_acquire(t);
}

/* --- begin and end ---------------------------------------------------------- */

static void task_main(void)
{
	for (;;) {
		struct task_struct *self = sim_self;

		order_acquire(self);
		self->run(self->arg);
		if (sim_holding)
			sim_fail("%s ends with the lock", self->name);
		order_release(task);
		order_release(self);
		cannot_run(self, SIM_ENDED);
		if (self == &task[0]) {
			sim_steps += share - max(sim_left, 0L);
			fiber_switch(self->fiber, home);
		} else {
			schedule();
		}
	}
}

static void task_init(struct task_struct *t, const char *name, void (*run)(void *arg),
		      void *arg)
{
	struct sim_fiber *fiber = t->fiber ?: fiber_new(task_main);

	*t = (struct task_struct) {
		.nr = t - task, .stream = 1 + begun++ % (CHOICE_STREAMS - 1),
		.name = name, .run = run, .arg = arg, .fiber = fiber,
		.deadline = DXK_FOREVER,
	};
	order_release(t);
	can_run(t);
}

/** sim_spawn - a new thread; NULL when there are too many */
struct task_struct *sim_spawn(const char *name, void (*run)(void *arg), void *arg)
{
	u32 i;

	for (i = 0; i < nr_tasks; i++)
		if (task[i].state == SIM_ENDED && !task[i].refs)
			break;
	if (i == SIM_TASKS)
		return NULL;
	if (i == nr_tasks)
		nr_tasks++;
	note("%s begins", name);
	task_init(&task[i], name, run, arg);
	return &task[i];
}

/**
 * sim_episode - run a first thread, and all that it starts, until the first one ends
 * @points: most points that a thread passes in a row
 */
void sim_episode(void (*run)(void *arg), void *arg, u32 points)
{
	u32 i;

	if (!home)
		home = fiber_of_process();
	nr_tasks = 1;
	begun = 0;
	nr_runnable = nr_spinning = nr_lagging = 0;
	next_deadline = DXK_FOREVER;
	sim_now = main_ran = NSEC_PER_MSEC;
	sim_holding = false;
	slice = points;
	share = sim_left = slice;
	order_acquire(task);
	task_init(&task[0], "main", run, arg);
	sim_self = &task[0];
	fiber_switch(home, task[0].fiber);
	for (i = 0; i < nr_tasks; i++)
		if (task[i].state != SIM_ENDED)
			sim_fail("%s has not ended", task[i].name);
}
