// SPDX-License-Identifier: GPL-2.0-only
/*
 * The section "instrumentation" of show: the newest sample, and how long requests of each
 * lane waited and ran. There is no file for that: a caller that may read the context joins
 * it and queries.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "ctl.h"

static void add(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_int64((int64_t)value));
}

/* No member at all without a sample. */
static struct json_object *newest_sample(int fd)
{
	struct json_object *object = json_object_new_object();
	struct dxk_sample batch[DXK_BATCH_MAX], s = { };
	int nr;

	do {
		nr = dxk_samples_read(fd, s.time_ns, batch, DXK_BATCH_MAX);
		if (nr > 0)
			s = batch[nr - 1];
	} while (nr == DXK_BATCH_MAX);
	if (!s.time_ns)
		return object;
	add(object, "time_ns", s.time_ns);
	add(object, "posts", s.posts);
	add(object, "dispatches", s.dispatches);
	add(object, "completions", s.completions);
	add(object, "ready", s.ready);
	add(object, "busy", s.busy);
	add(object, "rejoin", s.rejoin);
	add(object, "log", s.log);
	add(object, "handles", s.handles);
	add(object, "workers", s.workers);
	return object;
}

/* A member for each power of two that occurred: its name is the least time in ns. */
static struct json_object *histogram(int fd, unsigned int latency, unsigned int lane)
{
	struct json_object *object = json_object_new_object();
	uint64_t counts[DXK_LATENCY_BUCKETS];
	int i, nr = dxk_latencies_read(fd, latency, lane, counts, DXK_LATENCY_BUCKETS);
	char least[24];

	for (i = 0; i < nr; i++) {
		if (!counts[i])
			continue;
		snprintf(least, sizeof(least), "%llu", i ? 1ULL << i : 0);
		add(object, least, counts[i]);
	}
	return object;
}

/* A time in at most four digits and a unit. */
static const char *time_text(uint64_t ns, char *text, size_t size)
{
	static const char *const unit[] = { "ns", "us", "ms", "s" };
	double value = (double)ns;
	unsigned int i;

	for (i = 0; i < 3 && value >= 1000; i++)
		value /= 1000;
	snprintf(text, size, "%.*f %s", value < 10 && i ? 2 : value < 100 && i ? 1 : 0, value,
		 unit[i]);
	return text;
}

static void show_times(struct json_object *histogram)
{
	char from[16], to[16];

	json_object_object_foreach(histogram, least, count) {
		uint64_t ns = strtoull(least, NULL, 10);

		printf("    %8s to %8s  %s\n", time_text(ns, from, sizeof(from)),
		       time_text(ns ? 2 * ns : 2, to, sizeof(to)),
		       json_object_get_string(count));
	}
}

void instrumentation_show(struct json_object *object)
{
	json_object_object_foreach(object, key, value) {
		printf("  %s\n", key);
		if (strcmp(key, "sample")) {
			show_times(value);
			continue;
		}
		json_object_object_foreach(value, what, number)
			printf("    %-20s  %s\n", what, json_object_get_string(number));
	}
}

struct json_object *instrumentation(const struct ctx *ctx)
{
	struct json_object *object;
	unsigned int lane;
	char key[16];
	int fd = ctx_join_read(ctx);

	if (fd < 0)
		return NULL;
	object = json_object_new_object();
	json_object_object_add(object, "sample", newest_sample(fd));
	for (lane = 0; lane < DXK_LANES; lane++) {
		snprintf(key, sizeof(key), "lane%u_wait", lane);
		json_object_object_add(object, key, histogram(fd, DXK_LATENCY_WAIT, lane));
		snprintf(key, sizeof(key), "lane%u_run", lane);
		json_object_object_add(object, key, histogram(fd, DXK_LATENCY_RUN, lane));
	}
	close(fd);
	return object;
}
