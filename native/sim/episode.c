// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Episodes: one is run, and what fails in it ends the process.
 */
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choice.h"
#include "episode.h"
#include "house.h"
#include "sched.h"

/*
 * Of the processor's time; an episode takes some milliseconds, but one with hundreds of sleepers
 * and requests seconds, and more with a sanitizer.
 */
#define HANG_SECONDS	20

struct outcome *outcome;
bool sim_verbose;

static void fail(const char *what, const char *fmt, va_list args)
{
	outcome->what = what;
	vsnprintf(outcome->text, sizeof(outcome->text), fmt, args);
	if (!outcome->quiet)
		printf("%s\n", outcome->text);
	fflush(stdout);
	if (outcome->crash)
		abort();
	_exit(1);
}

void sim_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail(fmt, fmt, args);
	va_end(args);
	abort();
}

void os_warn(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail(file + line, fmt, args);
	va_end(args);
}

void sim_note(const char *fmt, ...)
{
	va_list args;

	printf("%10llu %-14s ", sim_now / 1000, sim_self ? sim_self->name : "");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

/* --- to run one -------------------------------------------------------------- */

static void *shared(size_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (ptr == MAP_FAILED)
		abort();
	return ptr;
}

void episode_init(void)
{
	outcome = shared(sizeof(*outcome));
	choices = shared(sizeof(*choices));
	if (dxk_rqe_init() || dxk_owner_init())
		abort();
}

/** episode_run - with the choices as they were set up */
void episode_run(void)
{
	static const u32 slices[] = { 64, 1, 2, 4, 16, 256 };
	const struct itimerval limit = { .it_value.tv_sec = HANG_SECONDS };

	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	sim_episode(house_main, NULL, slices[choose_in(CHOICE_STREAM_RUN,
						       ARRAY_SIZE(slices))]);
}

/** episode_replay - with the choices that are there */
void episode_replay(void *arg)
{
	choices_replay();
	episode_run();
}

/** episode_apart - run a function in a process of its own. Return: did it end well? */
bool episode_apart(void (*fn)(void *arg), void *arg)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		fn(arg);
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFSIGNALED(status)) {
		outcome->what = strsignal(WTERMSIG(status));
		snprintf(outcome->text, sizeof(outcome->text), "%s", outcome->what);
	} else if (WEXITSTATUS(status) && !outcome->what) {
		outcome->what = "a sanitizer";
		snprintf(outcome->text, sizeof(outcome->text), "a sanitizer has reported");
	}
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

