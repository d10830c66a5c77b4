// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The simulator: episodes until so many steps are made. One that fails is shrunk, told step
 * by step, and can be replayed by its seed or from its file of choices.
 */
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "choice.h"
#include "house.h"
#include "model.h"
#include "sched.h"

#define SHRINK_SECONDS	10

/* What processes that run episodes leave behind. */
struct outcome {
	u64 seed;
	u64 steps, episodes;
	/* What has failed, without the numbers. */
	const char *what;
	char text[400];
};

static struct outcome *outcome;
bool sim_verbose;
static bool quiet;

static void fail(const char *what, const char *fmt, va_list args)
{
	outcome->what = what;
	vsnprintf(outcome->text, sizeof(outcome->text), fmt, args);
	if (!quiet)
		printf("%s\n", outcome->text);
	fflush(stdout);
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

/* --- episodes ---------------------------------------------------------------- */

static void episode(void)
{
	static const u32 slices[] = { 64, 1, 2, 4, 16, 256 };

	sim_episode(house_main, NULL, slices[choose(ARRAY_SIZE(slices))]);
}

/* The seeds of episodes: of a run's seed and a number. */
static void search(u64 seed, u64 steps, u64 seconds)
{
	struct timespec begin, now;
	u64 nr = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		outcome->seed = seed + nr++;
		choices_seed(outcome->seed);
		alarm(20);
		episode();
		outcome->steps = sim_steps;
		outcome->episodes = nr;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (sim_steps < steps && now.tv_sec - begin.tv_sec < seconds);
}

/* Run a function in a process of its own. Return: did it end well? */
static bool apart(void (*fn)(void *arg), void *arg)
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

static void replay(void *arg)
{
	choices_replay();
	alarm(2);
	episode();
}

/* --- shrinking --------------------------------------------------------------- */

/* The steps are fewer or plainer, and the same fails: that is the list from here on. */
static struct {
	u32 nr;
	time_t until;
	u32 *value;
	const char *what;
} best;

static bool still_fails(const u32 *value, u32 nr)
{
	bool well;

	if (time(NULL) > best.until)
		return false;
	memcpy(choices->value, value, nr * sizeof(*value));
	choices->nr = nr;
	outcome->what = NULL;
	well = apart(replay, NULL);
	if (well || outcome->what != best.what)
		return false;
	best.nr = min(nr, choices->used);
	memcpy(best.value, value, best.nr * sizeof(*value));
	return true;
}

/* Without some of the choices, or with some of them plain. */
static bool shrink_once(u32 *value, u32 len)
{
	bool any = false;
	u32 at = 0;

	while (at < best.nr) {
		u32 cut = min(len, best.nr - at), i;
		bool plain = true;

		memcpy(value, best.value, at * sizeof(*value));
		memcpy(value + at, best.value + at + cut,
		       (best.nr - at - cut) * sizeof(*value));
		if (still_fails(value, best.nr - cut)) {
			any = true;
			continue;
		}
		memcpy(value, best.value, best.nr * sizeof(*value));
		for (i = at; i < at + cut; i++) {
			plain &= !value[i];
			value[i] = 0;
		}
		if (!plain && still_fails(value, best.nr))
			any = true;
		at += cut;
	}
	return any;
}

static void shrink(void)
{
	u32 *value = malloc(CHOICES_MAX * sizeof(*value)), len;

	best.value = malloc(CHOICES_MAX * sizeof(*best.value));
	best.what = outcome->what;
	best.until = time(NULL) + SHRINK_SECONDS;
	best.nr = choices->nr;
	memcpy(best.value, choices->value, best.nr * sizeof(*value));
	memcpy(value, choices->value, best.nr * sizeof(*value));
	if (still_fails(value, best.nr)) {
		for (len = max(best.nr / 2, 1U); len; len /= 2)
			while (shrink_once(value, len) && len < 8)
				;
	}
	memcpy(choices->value, best.value, best.nr * sizeof(*value));
	choices->nr = best.nr;
	free(value);
}

static void tell(const char *file)
{
	u32 before = choices->nr;

	printf("seed %llu: %s\n", outcome->seed, outcome->text);
	quiet = true;
	shrink();
	quiet = false;
	printf("%u choices of %u are enough; the steps:\n", choices->nr, before);
	sim_verbose = true;
	outcome->what = NULL;
	apart(replay, NULL);
	if (file) {
		FILE *f = fopen(file, "w");

		if (f && fwrite(choices->value, 4, choices->nr, f) == choices->nr &&
		    !fclose(f))
			printf("again: --replay %s\n", file);
	}
}

/* --- arguments --------------------------------------------------------------- */

struct args {
	u64 seed, steps, seconds;
	const char *replay, *out;
	bool once, brief;
};

static void search_apart(void *arg)
{
	const struct args *a = arg;

	search(a->seed, a->once ? 1 : a->steps, a->seconds);
}

static void *shared(size_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (ptr == MAP_FAILED)
		abort();
	return ptr;
}

static int usage(const char *self)
{
	printf("%s [--steps N] [--seconds N] [--seed S] [--brief | --out FILE]\n"
	       "%s --episode SEED | --replay FILE, step by step\n", self, self);
	return 2;
}

static bool read_choices(const char *name)
{
	FILE *f = fopen(name, "r");

	if (!f)
		return false;
	choices->nr = fread(choices->value, 4, CHOICES_MAX, f);
	fclose(f);
	return choices->nr;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "steps", required_argument, NULL, 'n' },
		{ "seconds", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' },
		{ "episode", required_argument, NULL, 'e' },
		{ "replay", required_argument, NULL, 'r' },
		{ "brief", no_argument, NULL, 'b' },
		{ "out", required_argument, NULL, 'o' },
		{ }
	};
	struct args a = { .seed = 1, .steps = 20000000, .seconds = 3600 };
	struct timespec begin, end;
	double seconds;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'n':
			a.steps = strtod(optarg, NULL);
			break;
		case 't':
			a.seconds = strtoull(optarg, NULL, 0);
			break;
		case 'e':
			a.once = true;
			/* fall through */
		case 's':
			a.seed = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			a.replay = optarg;
			break;
		case 'b':
			a.brief = true;
			break;
		case 'o':
			a.out = optarg;
			break;
		default:
			return usage(argv[0]);
		}

	outcome = shared(sizeof(*outcome));
	choices = shared(sizeof(*choices));
	if (dxk_rqe_init() || dxk_owner_init())
		return 1;
	if (a.replay) {
		if (!read_choices(a.replay))
			return usage(argv[0]);
		sim_verbose = true;
		return !apart(replay, NULL);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	sim_verbose = a.once;
	quiet = true;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (!apart(search_apart, &a)) {
		sim_verbose = false;
		if (a.brief)
			printf("seed %llu: %s\n", outcome->seed, outcome->text);
		else
			tell(a.out);
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	seconds = end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9;
	printf("%llu steps in %llu episodes from seed %llu on, %.0f steps a second\n",
	       outcome->steps, outcome->episodes, a.seed, outcome->steps / seconds);
	return 0;
}
