// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench: what a request costs, beside what others take for the like, in one boot.
 *
 * Meant for a guest whose clock counts instructions. This is the frame: rounds in turns,
 * A B C C B A ..., and the file that scripts/bench/bench.py makes the table of.
 *
 *   bench [-r ROUNDS] [-o FILE.json] [-p MAPS] [WORKLOAD[/VARIANT]...]
 *
 * -p: two rounds, of which the second is profiled; the process's memory map goes to
 * the file MAPS.
 */
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "mark.h"

#define ROUNDS_MAX	50
#define VARIANTS_MAX	64
#define EXTRAS		8
#define LIMIT_S		300	/* of the guest's time, for one round */

/* What the process of a round leaves behind. */
struct outcome {
	bool ok;
	double value;
	double ops;
	int nr_extras;
	struct {
		char name[32];
		double value;
	} extras[EXTRAS];
	char note[240];
};

static struct outcome *outcome;
static bool profiled;
static int rounds = 6, failures;

/* --- for the kinds ----------------------------------------------------------- */

void die(const char *fmt, ...)
{
	int err = errno, len;
	va_list args;

	va_start(args, fmt);
	len = vsnprintf(outcome->note, sizeof(outcome->note), fmt, args);
	va_end(args);
	if (len > 0 && (size_t)len < sizeof(outcome->note))
		snprintf(outcome->note + len, sizeof(outcome->note) - len, ": %s",
			 strerror(err));
	_exit(1);
}

void note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(outcome->note, sizeof(outcome->note), fmt, args);
	va_end(args);
}

void extra(const char *name, double value)
{
	int i = outcome->nr_extras;

	if (i == EXTRAS)
		die("too many numbers");
	snprintf(outcome->extras[i].name, sizeof(outcome->extras[i].name), "%s", name);
	outcome->extras[i].value = value;
	outcome->nr_extras++;
}

uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

void profile_begin(void)
{
	if (profiled)
		MARK(MARK_BEGIN);
}

void profile_end(void)
{
	if (profiled)
		MARK(MARK_END);
}

bool profiling(void)
{
	return profiled;
}

void profile_ops(double ops)
{
	outcome->ops = ops;
}

/* --- a round ----------------------------------------------------------------- */

static void timed(const struct variant *v)
{
	const struct kind *k = v->kind;
	long warm = v->ops / 10 ? v->ops / 10 : 1;
	struct rusage before, after;
	uint64_t start, end;

	if (k->setup)
		k->setup(v);
	k->run(warm);
	getrusage(RUSAGE_THREAD, &before);
	profile_begin();
	start = now();
	k->run(v->ops);
	end = now();
	profile_end();
	getrusage(RUSAGE_THREAD, &after);
	if (k->teardown)
		k->teardown();
	outcome->value = (double)(end - start) / v->ops;
	extra("client_sleeps", (double)(after.ru_nvcsw - before.ru_nvcsw) / v->ops);
	extra("client_preempted", (double)(after.ru_nivcsw - before.ru_nivcsw) / v->ops);
}

/* For who looks up the addresses. */
static void copy(const char *from, const char *to)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	int c;

	if (!in || !out)
		die("%s", to);
	while ((c = getc(in)) != EOF)
		putc(c, out);
	fclose(in);
	if (fclose(out))
		die("%s", to);
}

static void round_main(const struct variant *v)
{
	setpgid(0, 0);
	alarm(LIMIT_S);
	outcome->ops = v->ops;
	if (v->kind->measure)
		outcome->value = v->kind->measure(v);
	else
		timed(v);
	if (profiled)
		copy("/proc/self/maps", getenv("BENCH_PROFILE"));
	outcome->ok = true;
	_exit(0);
}

static void one_round(const struct variant *v)
{
	int status;
	pid_t pid;

	memset(outcome, 0, sizeof(*outcome));
	fflush(NULL);
	pid = fork();
	if (!pid)
		round_main(v);
	setpgid(pid, pid);
	waitpid(pid, &status, 0);
	/* what it left behind */
	kill(-pid, SIGKILL);
	if (!outcome->ok && WIFSIGNALED(status) && !*outcome->note)
		note("killed by signal %d", WTERMSIG(status));
}

/* --- a workload -------------------------------------------------------------- */

static struct json_object *sub(struct json_object *parent, const char *key,
			       struct json_object *child)
{
	json_object_object_add(parent, key, child);
	return child;
}

static struct json_object *text(const char *s)
{
	return json_object_new_string(s);
}

/* Adds what a round gave to the variant's object. */
static void keep(struct json_object *j)
{
	struct json_object *extras;

	json_object_array_add(json_object_object_get(j, "rounds"),
			      json_object_new_double(outcome->value));
	if (*outcome->note)
		sub(j, "note", text(outcome->note));
	if (!json_object_object_get_ex(j, "extras", &extras))
		extras = sub(j, "extras", json_object_new_object());
	for (int i = 0; i < outcome->nr_extras; i++) {
		const char *name = outcome->extras[i].name;
		struct json_object *list;

		if (!json_object_object_get_ex(extras, name, &list))
			list = sub(extras, name, json_object_new_array());
		json_object_array_add(list,
				      json_object_new_double(outcome->extras[i].value));
	}
}

/* 1 = a round, 0 = the variant is done with */
static int turn(const struct workload *w, const struct variant *v, struct json_object *j,
		int round)
{
	struct json_object *why;

	if (json_object_object_get_ex(j, "failed", &why) ||
	    json_object_object_get_ex(j, "skipped", &why) ||
	    (v->rounds && (round < 0 || round >= v->rounds)))
		return 0;
	/* The first fills caches and stashes: it is dropped. */
	profiled = round == 0 && getenv("BENCH_PROFILE");
	one_round(v);
	if (!outcome->ok) {
		sub(j, "failed", text(*outcome->note ? outcome->note : "no reason given"));
		fprintf(stderr, "bench: %s/%s: %s\n", w->name, v->name, outcome->note);
		failures++;
		return 0;
	}
	if (round < 0)
		return 1;
	sub(j, "ops", json_object_new_double(outcome->ops));
	keep(j);
	return 1;
}

static struct json_object *measure(const struct workload *w, const char *only)
{
	struct json_object *all = json_object_new_object(), *j[VARIANTS_MAX];
	struct json_object *variants;
	uint64_t start = now();
	int nr = 0, round;

	sub(all, "row", json_object_new_int(w->row));
	sub(all, "name", text(w->name));
	sub(all, "what", text(w->what));
	sub(all, "unit", text(w->unit));
	variants = sub(all, "variants", json_object_new_object());
	for (; w->variants[nr].name; nr++) {
		const struct variant *v = &w->variants[nr];
		char why[200];

		if (nr == VARIANTS_MAX) {
			fprintf(stderr, "bench: %s has more than %d variants\n", w->name,
				VARIANTS_MAX);
			exit(2);
		}
		j[nr] = json_object_new_object();
		if (only && strcmp(only, v->name)) {
			sub(j[nr], "skipped", text("not asked for"));
			continue;
		}
		sub(variants, v->name, j[nr]);
		sub(j[nr], "rounds", json_object_new_array());
		if (v->program && access(v->program, X_OK)) {
			snprintf(why, sizeof(why), "no %s", v->program);
			sub(j[nr], "skipped", text(why));
		}
	}
	if (!json_object_object_length(variants)) {
		fprintf(stderr, "bench: %s has no variant %s\n", w->name, only);
		exit(2);
	}
	for (round = -1; round < rounds; round++)
		for (int i = 0; i < nr; i++) {
			int at = round % 2 ? nr - 1 - i : i;

			turn(w, &w->variants[at], j[at], round);
		}
	fprintf(stderr, "bench: %s, %.1f s of the guest\n", w->name, (now() - start) / 1e9);
	return all;
}

/* @wanted is "WORKLOAD" or "WORKLOAD/VARIANT"; NULL: all. */
static void measure_named(struct json_object *list, const char *wanted)
{
	const char *only = wanted ? strchr(wanted, '/') : NULL;
	size_t len = only ? (size_t)(only - wanted) : wanted ? strlen(wanted) : 0;
	bool found = false;

	for (const struct workload *w = workloads; w->name; w++) {
		if (wanted && (strlen(w->name) != len || strncmp(w->name, wanted, len)))
			continue;
		json_object_array_add(list, measure(w, only ? only + 1 : NULL));
		found = true;
	}
	if (!found) {
		fprintf(stderr, "bench: no workload %s\n", wanted);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct json_object *all = json_object_new_object(), *list;
	const char *file = NULL;
	int opt;

	while ((opt = getopt(argc, argv, "r:o:p:")) != -1) {
		switch (opt) {
		case 'r':
			rounds = atoi(optarg);
			break;
		case 'o':
			file = optarg;
			break;
		case 'p':
			setenv("BENCH_PROFILE", optarg, 1);
			rounds = 1;
			break;
		default:
			return 2;
		}
	}
	if (rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "bench: 1 to %d rounds\n", ROUNDS_MAX);
		return 2;
	}
	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcome == MAP_FAILED) {
		perror("bench: mmap");
		return 1;
	}
	sub(all, "cpus", json_object_new_int(sysconf(_SC_NPROCESSORS_ONLN)));
	sub(all, "rounds", json_object_new_int(rounds));
	list = sub(all, "workloads", json_object_new_array());
	if (optind == argc)
		measure_named(list, NULL);
	while (optind < argc)
		measure_named(list, argv[optind++]);
	if (file && json_object_to_file_ext(file, all, JSON_C_TO_STRING_PRETTY)) {
		fprintf(stderr, "bench: %s: %s\n", file, json_util_get_last_err());
		return 1;
	}
	return failures ? 1 : 0;
}
