// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The simulator: episodes until so many steps are made. One that fails is shrunk, told step
 * by step, and can be replayed by its seed or from its file of choices.
 */
#include <getopt.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "choice.h"
#include "episode.h"
#include "model.h"
#include "sched.h"

/* The seeds of episodes: of a run's seed and a number. */
static void search(u64 seed, u64 steps, u64 seconds)
{
	struct timespec begin, now;
	u64 nr = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		outcome->seed = seed + nr++;
		choices_seed(outcome->seed);
		episode_run();
		outcome->steps = sim_steps;
		outcome->hash += choices->hash;
		outcome->holds += model.holds;
		outcome->episodes = nr;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (sim_steps < steps && now.tv_sec - begin.tv_sec < seconds);
}

static void tell(const char *file)
{
	u32 before = choices->nr;

	printf("seed %llu: %s\n", outcome->seed, outcome->text);
	outcome->quiet = true;
	shrink();
	outcome->quiet = false;
	printf("%u choices of %u are enough; the steps:\n", choices->nr, before);
	sim_verbose = true;
	outcome->what = NULL;
	episode_apart(episode_replay, NULL);
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

	episode_init();
	if (a.replay) {
		if (!read_choices(a.replay))
			return usage(argv[0]);
		sim_verbose = true;
		return !episode_apart(episode_replay, NULL);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	sim_verbose = a.once;
	outcome->quiet = true;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (!episode_apart(search_apart, &a)) {
		sim_verbose = false;
		if (a.brief)
			printf("seed %llu, %llu steps: %s\n", outcome->seed, outcome->steps,
			       outcome->text);
		else
			tell(a.out);
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	seconds = end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9;
	printf("%llu steps, %llu of them lock holds, in %llu episodes from seed %llu on, ",
	       outcome->steps, outcome->holds, outcome->episodes, a.seed);
	printf("hash %016llx: %.0f a second\n", outcome->hash, outcome->steps / seconds);
	return 0;
}
