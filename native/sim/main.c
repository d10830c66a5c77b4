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

	sim_episode(house_main, NULL, slices[choose_in(CHOICE_STREAM_RUN,
						       ARRAY_SIZE(slices))]);
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

/* The choices are fewer or plainer, and the same fails: these are it from here on. */
static struct {
	u32 nr;
	u32 *value;
	u8 *stream;
	time_t until;
	const char *what;
} best;

/* What choices->value and ->stream have now: does it fail as well? */
static bool still_fails(u32 nr)
{
	bool well;

	if (time(NULL) > best.until)
		return false;
	choices->nr = nr;
	outcome->what = NULL;
	well = apart(replay, NULL);
	if (well || outcome->what != best.what)
		return false;
	best.nr = min(nr, choices->used);
	memcpy(best.value, choices->value, best.nr * sizeof(*best.value));
	memcpy(best.stream, choices->stream, best.nr * sizeof(*best.stream));
	return true;
}

/* Without those of a stream from the @from-th on; of all streams if it is negative. */
static bool cut(int stream, u32 from, u32 len)
{
	u32 i, nr = 0, seen = 0;

	for (i = 0; i < best.nr; i++) {
		if (stream < 0 || best.stream[i] == stream) {
			if (seen >= from && seen - from < len) {
				seen++;
				continue;
			}
			seen++;
		}
		choices->value[nr] = best.value[i];
		choices->stream[nr++] = best.stream[i];
	}
	return nr < best.nr && still_fails(nr);
}

/* With those plain. */
static bool flatten(int stream, u32 from, u32 len)
{
	u32 i, seen = 0;
	bool any = false;

	memcpy(choices->value, best.value, best.nr * sizeof(*best.value));
	memcpy(choices->stream, best.stream, best.nr * sizeof(*best.stream));
	for (i = 0; i < best.nr; i++)
		if ((stream < 0 || best.stream[i] == stream) && seen++ - from < len) {
			any |= choices->value[i];
			choices->value[i] = 0;
		}
	return any && still_fails(best.nr);
}

static u32 length_of(int stream)
{
	u32 i, nr = 0;

	for (i = 0; i < best.nr; i++)
		nr += stream < 0 || best.stream[i] == stream;
	return nr;
}

static void shrink_stream(int stream)
{
	u32 len, at;

	if (!length_of(stream) || cut(stream, 0, U32_MAX) || flatten(stream, 0, U32_MAX))
		return;
	for (len = max(length_of(stream) / 2, 1U); len; len /= 2)
		for (at = 0; at < length_of(stream); )
			if (!cut(stream, at, len)) {
				flatten(stream, at, len);
				at += len;
			}
}

static void shrink(void)
{
	u32 before;
	int stream;

	best.value = malloc(CHOICES_MAX * sizeof(*best.value));
	best.stream = malloc(CHOICES_MAX);
	best.what = outcome->what;
	best.until = time(NULL) + SHRINK_SECONDS;
	best.nr = choices->nr;
	if (!still_fails(choices->nr))
		return;
	do {
		before = best.nr;
		for (stream = CHOICE_STREAMS - 1; stream >= 0; stream--)
			cut(stream, 0, U32_MAX);
		for (stream = CHOICE_STREAMS - 1; stream >= 0; stream--)
			shrink_stream(stream);
	} while (best.nr < before && time(NULL) < best.until);
	memcpy(choices->value, best.value, best.nr * sizeof(*best.value));
	memcpy(choices->stream, best.stream, best.nr);
	choices->nr = best.nr;
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
		u32 i;

		for (i = 0; f && i < choices->nr; i++)
			fprintf(f, "%u %u\n", choices->stream[i], choices->value[i]);
		if (f && !fclose(f))
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
	u32 nr;

	if (!f)
		return false;
	for (nr = 0; nr < CHOICES_MAX; nr++)
		if (fscanf(f, "%hhu %u", &choices->stream[nr], &choices->value[nr]) != 2)
			break;
	fclose(f);
	choices->nr = nr;
	return nr;
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
