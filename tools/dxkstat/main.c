// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxkstat: shows periodically what the contexts of dxk do.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "stat.h"

#define HEADING_EVERY	20	/* lines */
#define INTERVAL_MIN	10000000	/* ns: the figures cost something to read */

static const char usage[] =
"Usage: dxkstat [-i S] [-n COUNT] [-j | --top] [CTX]\n"
"       dxkstat --openmetrics | --prometheus [CTX]\n"
"\n"
"  -i, --interval S   seconds between two samples (1)\n"
"  -n, --count COUNT  samples, then end\n"
"  -j, --json         one JSON object a line for each sample\n"
"      --top          full screen; q quits\n"
"      --openmetrics  the figures of now, once, in the format of OpenMetrics\n"
"      --prometheus   the same in the older text format of Prometheus\n"
"  -h, --help         print this\n"
"      --version      print the version\n"
"\n"
"CTX is the id of a context or its name; all that you may read without one.\n"
"Exit status: 0; 1 when it did not work; 2 for wrong arguments.\n";

/* --- the table ------------------------------------------------------------- */

/* At most five places. */
static const char *human(double value, char *text)
{
	if (value < 99999.5)
		sprintf(text, "%.0f", value);
	else if (value < 9999500)
		sprintf(text, "%.0fk", value / 1e3);
	else
		sprintf(text, "%.0fM", value / 1e6);
	return text;
}

/* Prints a heading above the next line, if it is due. */
static void heading(void)
{
	static unsigned int lines;

	if (lines++ % HEADING_EVERY)
		return;
	printf("%-10s %6s %9s %6s %15s %29s\n", "", "", "- workers", "", "-- busy in lane",
	       "---------- per second -------");
	printf("%-10s %6s %4s %4s %6s %3s %3s %3s %3s %5s %5s %5s %5s %5s\n", "context",
	       "ready", "all", "busy", "rejoin", "0", "1", "2", "3", "post", "disp", "done",
	       "coll", "block");
}

void table_print(const struct samples *samples)
{
	unsigned int i, j;

	if (!samples->nr) {
		heading();
		puts("(none)");
	}

	for (i = 0; i < samples->nr; i++) {
		const struct sample *s = &samples->sample[i];
		char text[64];

		heading();
		snprintf(text, sizeof(text), "%u", s->id);
		printf("%-10.10s %6llu %4llu %4llu %6llu", *s->name ? s->name : text,
		       (unsigned long long)s->pool[P_READY].use,
		       (unsigned long long)s->pool[P_THREAD].use,
		       (unsigned long long)s->busy,
		       (unsigned long long)s->pool[P_REJOIN].use);
		for (j = 0; j < DXK_LANES; j++)
			printf(" %3llu", (unsigned long long)(s->lane[R_USER][j].in_use +
							      s->lane[R_KERNEL][j].in_use));
		for (j = 0; j < RATE_NR; j++)
			printf(" %5s", human(s->rate[j], text));
		putchar('\n');
	}
}

/* --- JSON ------------------------------------------------------------------ */

static void add(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_int64((int64_t)value));
}

static struct json_object *json_of(const struct sample *s)
{
	struct json_object *object = json_object_new_object();
	struct json_object *pools = json_object_new_object();
	struct json_object *lanes = json_object_new_object();
	struct json_object *rates = json_object_new_object();
	struct json_object *totals = json_object_new_object();
	struct json_object *tune = json_object_new_object();
	int i, j;

	add(object, "id", s->id);
	json_object_object_add(object, "name", json_object_new_string(s->name));
	json_object_object_add(object, "state", json_object_new_string(s->state));
	add(object, "busy", s->busy);
	for (i = 0; i < P_NR; i++) {
		struct json_object *pool = json_object_new_object();

		add(pool, "size", s->pool[i].size);
		add(pool, "use", s->pool[i].use);
		add(pool, "high_water", s->pool[i].high);
		json_object_object_add(pools, pool_name[i], pool);
	}
	for (i = 0; i < R_NR; i++) {
		struct json_object *array = json_object_new_array();

		for (j = 0; j < DXK_LANES; j++) {
			struct json_object *lane = json_object_new_object();

			add(lane, "in_use", s->lane[i][j].in_use);
			add(lane, "limit", s->lane[i][j].limit);
			add(lane, "waiters", s->lane[i][j].waiters);
			json_object_array_add(array, lane);
		}
		json_object_object_add(lanes, resource_name[i], array);
	}
	for (i = 0; i < RATE_NR; i++) {
		json_object_object_add(rates, rate_name[i],
				       json_object_new_double(s->rate[i]));
		add(totals, rate_name[i], s->counter[i]);
	}
	add(tune, "target", s->tune.target);
	add(tune, "rate", s->tune.rate);
	add(tune, "intervals", s->tune.intervals);
	add(tune, "steps", s->tune.steps);
	json_object_object_add(object, "pools", pools);
	json_object_object_add(object, "lanes", lanes);
	json_object_object_add(object, "per_second", rates);
	json_object_object_add(object, "total", totals);
	json_object_object_add(object, "autotune", tune);
	json_object_object_add(object, "instruments", json_object_get(s->own));
	return object;
}

void json_print(const struct samples *samples)
{
	struct json_object *line = json_object_new_object();
	struct json_object *contexts = json_object_new_array();
	unsigned int i;

	json_object_object_add(line, "time",
			       json_object_new_double((double)samples->time.tv_sec +
						      (double)samples->time.tv_usec / 1e6));
	for (i = 0; i < samples->nr; i++)
		json_object_array_add(contexts, json_of(&samples->sample[i]));
	json_object_object_add(line, "contexts", contexts);
	puts(json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(line);
}

/* --- the loop -------------------------------------------------------------- */

static void sleep_until(uint64_t time)
{
	struct timespec ts = {
		.tv_sec = (time_t)(time / 1000000000),
		.tv_nsec = (long)(time % 1000000000),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* The first sample is the base for the rates of the second one. */
static int loop(const struct options *o)
{
	struct samples before = { }, now;
	uint64_t next = now_ns();
	int err, status = DONE;
	uint32_t done;

	err = samples_take(o, &before, &now, false);
	for (done = 0; !err && (!o->count || done < o->count); done++) {
		samples_free(&before);
		before = now;
		next += (uint64_t)o->interval;
		sleep_until(next);
		err = samples_take(o, &before, &now, false);
		if (err)
			break;
		if (o->json)
			json_print(&now);
		else
			table_print(&now);
		status = flush(DONE);
		if (status || ferror(stdout))
			break;
	}
	samples_free(&before);
	samples_free(&now);
	/* If the context, or the module, is gone, the work is done: that is no failure. */
	return status;
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option long_options[] = {
		{ "interval", required_argument, NULL, 'i' },
		{ "count", required_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' },
		{ "top", no_argument, NULL, 't' },
		{ "openmetrics", no_argument, NULL, 'o' },
		{ "prometheus", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":i:n:jh", long_options, NULL)) != -1) {
		switch (opt) {
		case 'i':
			if (parse_seconds(optarg, &o->interval) &&
			    o->interval >= INTERVAL_MIN)
				break;
			return misuse("-i: '%s' is no number of seconds from 0.01 on",
				      optarg);
		case 'n':
			if (parse_u32(optarg, &o->count) && o->count)
				break;
			return misuse("-n: '%s' is no number from 1 on", optarg);
		case 'j':
			o->json = true;
			break;
		case 't':
			o->top = true;
			break;
		case 'o':
			o->openmetrics = true;
			break;
		case 'p':
			o->prometheus = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(flush(DONE));
		case 'V':
			exit(flush(version()));
		case ':':
			return misuse("%s needs an argument", argv[optind - 1]);
		default:
			return bad_option(argv);
		}
	}
	if (o->json + o->top + o->openmetrics + o->prometheus > 1)
		return misuse("one of --json, --top, --openmetrics and --prometheus");
	if (argc - optind > 1)
		return misuse("one context, or none for all");
	return DONE;
}

int main(int argc, char **argv)
{
	struct options o = { .interval = 1000000000 };
	int status;

	tool = "dxkstat";
	signal(SIGPIPE, SIG_IGN);
	status = parse(argc, argv, &o);
	if (status)
		return status;
	if (access(SYSFS, F_OK))
		return no_module();
	if (optind < argc) {
		status = ctx_find(argv[optind], &o.only);
		if (status)
			return status;
		o.one = true;
	}
	status = o.top ? top(&o) : o.openmetrics || o.prometheus ? metrics(&o) : loop(&o);
	if (o.one)
		ctx_close(&o.only);
	return status;
}
