// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs an input: who makes which step. Main makes most of them; a helper thread, which
 * lives as long as the fuzzer, those that may run beside others; and a step "spawn"
 * gives the steps behind it to a thread or a process of their own, which ends after
 * them or is killed.
 */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "actor.h"

#define SPAWNS_MAX	2

static struct actor main_actor, helper_actor;
static struct cover *main_cover, *helper_cover;

static sem_t helper_go, helper_idle;
static struct step helper_step;

struct spawn {
	const struct step *steps;
	unsigned int nr;
	unsigned int actor;
	bool process;
	bool kill;
	pthread_t thread;
	pid_t pid;
};
static struct spawn spawns[SPAWNS_MAX];
static unsigned int nr_spawns;

static void *helper(void *arg)
{
	(void)arg;
	actor_init(&helper_actor, 1);
	cover_enable(helper_cover);
	sem_post(&helper_idle);
	for (;;) {
		while (sem_wait(&helper_go))
			;
		actor_step(&helper_actor, &helper_step);
		sem_post(&helper_idle);
	}
	return NULL;
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

void steps_init(void)
{
	pthread_t t;

	main_cover = cover_new();
	helper_cover = cover_new();
	sem_init(&helper_go, 0, 0);
	sem_init(&helper_idle, 0, 0);
	actor_init(&main_actor, 0);
	actors_init();
	if (pthread_create(&t, NULL, helper, NULL))
		guard_fail("no thread");
	wait_for(&helper_idle);
	sem_post(&helper_idle);
	table_init();
	cover_enable(main_cover);
}

/* --- spawn ------------------------------------------------------------------ */

static void spawn_steps(const struct spawn *sp)
{
	struct actor a;
	unsigned int i;

	actor_init(&a, sp->actor);
	for (i = 0; i < sp->nr; i++)
		actor_step(&a, &sp->steps[i]);
	/* The nudger must not find what was on this stack. */
	actor_exit(&a);
}

static void *spawn_thread(void *arg)
{
	spawn_steps(arg);
	return NULL;
}

/* @s: b[0] how many steps, b[1] bit 0: as a process, bit 1: that is killed */
static unsigned int spawn(const struct step *s, unsigned int left)
{
	struct spawn *sp = &spawns[nr_spawns];
	unsigned int nr = 1 + s->b[0] % 8;

	if (nr > left)
		nr = left;
	if (!nr || nr_spawns == SPAWNS_MAX)
		return 0;
	*sp = (struct spawn) {
		.steps = s + 1, .nr = nr, .actor = 2 + nr_spawns, .process = s->b[1] & 1,
		.kill = s->b[1] & 2,
	};
	if (sp->process) {
		sp->pid = fork();
		if (!sp->pid) {
			spawn_steps(sp);
			if (sp->kill)
				pause();
			_exit(0);
		}
	} else if (pthread_create(&sp->thread, NULL, spawn_thread, sp)) {
		guard_fail("no thread");
	}
	nr_spawns++;
	return nr;
}

/* Most processes end on their own; those in a call without an end do not. */
static void grace(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	siginfo_t info;
	int i;

	for (i = 0; i < 20; i++) {
		info.si_pid = 0;
		waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT);
		if (info.si_pid)
			return;
		nanosleep(&pause, NULL);
	}
}

static void reap(void)
{
	unsigned int i;

	for (i = 0; i < nr_spawns; i++) {
		if (spawns[i].process) {
			if (!spawns[i].kill)
				grace(spawns[i].pid);
			kill(spawns[i].pid, SIGKILL);
			while (waitpid(spawns[i].pid, NULL, 0) < 0 && errno == EINTR)
				;
		} else {
			pthread_join(spawns[i].thread, NULL);
		}
	}
	nr_spawns = 0;
}

/* --- an input --------------------------------------------------------------- */

static void run(const struct step *s)
{
	if (!(s->how & 2)) {
		actor_step(&main_actor, s);
		return;
	}
	wait_for(&helper_idle);
	helper_step = *s;
	sem_post(&helper_go);
	if (s->how & 1) {
		wait_for(&helper_idle);
		sem_post(&helper_idle);
	}
}

void steps_run(const uint8_t *data, size_t size)
{
	static struct step steps[STEPS_MAX];
	unsigned int nr = size / sizeof(steps[0]), i;

	if (nr > STEPS_MAX)
		nr = STEPS_MAX;
	memcpy(steps, data, nr * sizeof(steps[0]));
	table_begin();
	cover_begin(main_cover);
	cover_begin(helper_cover);
	actors_nudge(true);
	for (i = 0; i < nr; i++) {
		switch (actor_special(&steps[i])) {
		case SPECIAL_SPAWN:
			i += spawn(&steps[i], nr - i - 1);
			break;
		case SPECIAL_REAP:
			reap();
			break;
		default:
			run(&steps[i]);
		}
	}
	reap();
	wait_for(&helper_idle);
	sem_post(&helper_idle);
	main_actor.nr_tickets = 0;
	helper_actor.nr_tickets = 0;
	table_reset();
	actors_nudge(false);
	cover_take(main_cover);
	cover_take(helper_cover);
}
