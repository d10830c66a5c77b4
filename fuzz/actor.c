// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that make calls, and one that wakes those whose call has no end of its own.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "actor.h"

static struct actor *actors[ACTORS_MAX];
static bool nudging;
/* of actors[]; held while one of them is looked at */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/** actor_init - the calling thread is actor @nr from now on */
void actor_init(struct actor *a, unsigned int nr)
{
	uint8_t *at = (uint8_t *)(ARENA_BASE + nr * ARENA_STRIDE);
	const int prot = PROT_READ | PROT_WRITE;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	const int page = memfd_create("fuzz", MFD_CLOEXEC);

	memset(a, 0, sizeof(*a));
	a->nr = nr;
	a->arena = at;
	a->tid = syscall(SYS_gettid);
	if (mmap(at, ARENA_END, prot, flags, -1, 0) != at ||
	    mprotect(at + ARENA_ARG + 0x1000, 0x1000, PROT_NONE) ||
	    ftruncate(page, 0x1000) ||
	    mmap(at + ARENA_RO, 0x1000, PROT_READ, MAP_SHARED | MAP_FIXED, page, 0) ==
		    MAP_FAILED ||
	    mmap(at + ARENA_RW, 0x1000, prot, MAP_SHARED | MAP_FIXED, page, 0) ==
		    MAP_FAILED)
		guard_fail("no memory for an actor");
	close(page);
	pthread_mutex_lock(&lock);
	actors[nr] = a;
	pthread_mutex_unlock(&lock);
}

/** actor_exit - the thread ends, and nobody nudges it any more */
void actor_exit(struct actor *a)
{
	pthread_mutex_lock(&lock);
	actors[a->nr] = NULL;
	pthread_mutex_unlock(&lock);
}

/** actor_begin - until actor_end() signals may end the call that it makes */
void actor_begin(struct actor *a)
{
	__atomic_add_fetch(&a->call, 1, __ATOMIC_SEQ_CST);
}

void actor_end(struct actor *a)
{
	__atomic_add_fetch(&a->call, 1, __ATOMIC_SEQ_CST);
}

static void on_signal(int sig)
{
	(void)sig;	/* to end a sleep is all that it is for */
}

/*
 * Whoever is found in the same call twice, 4 ms apart, gets a signal. A signal may
 * come just before the sleep; the next one is 4 ms later.
 */
static void *nudger(void *arg)
{
	const struct timespec pause = { .tv_nsec = 4000000 };
	unsigned int seen[ACTORS_MAX] = { }, now, i;
	struct actor *a;

	(void)arg;
	for (;;) {
		nanosleep(&pause, NULL);
		if (!__atomic_load_n(&nudging, __ATOMIC_ACQUIRE))
			continue;
		pthread_mutex_lock(&lock);
		for (i = 0; i < ACTORS_MAX; i++) {
			a = actors[i];
			if (!a)
				continue;
			now = __atomic_load_n(&a->call, __ATOMIC_SEQ_CST);
			if (now & 1 && now == seen[i])
				syscall(SYS_tgkill, getpid(), a->tid, SIGUSR1);
			seen[i] = now;
		}
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void lock_it(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_it(void)
{
	pthread_mutex_unlock(&lock);
}

void actors_init(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t t;

	pthread_atfork(lock_it, unlock_it, unlock_it);
	/* no SA_RESTART: EINTR is what they are for */
	sigaction(SIGUSR1, &sa, NULL);
	if (pthread_create(&t, NULL, nudger, NULL))
		guard_fail("no thread");
}

void actors_nudge(bool on)
{
	__atomic_store_n(&nudging, on, __ATOMIC_RELEASE);
}
