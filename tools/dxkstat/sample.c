// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples of the contexts. A context that disappears while it is read is left out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "stat.h"

const char * const pool_name[P_NR] = { "thread", "ready", "rejoin", "log", "handle" };
const char * const resource_name[R_NR] = { "ready", "user", "kernel" };
const char * const rate_name[RATE_NR] = {
	"posts", "dispatches", "completions", "rejoins", "blocks"
};

/* The counters that a rate is the sum of. */
static const char * const source[RATE_NR][3] = {
	[RATE_POSTS] = { "posts" },
	[RATE_DISPATCHES] = { "dispatches" },
	[RATE_COMPLETIONS] = { "completions" },
	[RATE_REJOINS] = { "collected" },
	[RATE_BLOCKS] = { "post_blocks", "rejoin_blocks", "complete_blocks" },
};

static void __attribute__((format(printf, 3, 4)))
number(int dir, uint64_t *value, const char *format, ...)
{
	char path[64];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	*value = sysfs_number(dir, path);
}

static const char *member(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ?
	       json_object_get_string(value) : "";
}

static void take_threads(int dir, struct sample *s)
{
	struct json_object *threads = sysfs_dir(dir, "threads");

	if (!threads)
		return;
	s->thread = calloc((size_t)json_object_object_length(threads) + 1,
			   sizeof(*s->thread));
	json_object_object_foreach(threads, id, t) {
		struct thread *thread = &s->thread[s->nr_threads];

		if (!s->thread || !strcmp(member(t, "state"), "vacant"))
			continue;
		thread->id = (unsigned int)strtoul(id, NULL, 10);
		snprintf(thread->role, sizeof(thread->role), "%s", member(t, "role"));
		snprintf(thread->state, sizeof(thread->state), "%s", member(t, "state"));
		thread->age_ms = strtoull(member(t, "age_ms"), NULL, 10);
		thread->executed = strtoull(member(t, "executed"), NULL, 10);
		s->nr_threads++;
	}
	json_object_put(threads);
}

/* "pages 42", a line each */
static struct json_object *take_own(int dir)
{
	char text[4097], *rest = text, *line;
	struct json_object *own;

	if (sysfs_read(dir, "instruments", text, sizeof(text)) < 0)
		return NULL;
	own = json_object_new_object();
	while ((line = strsep(&rest, "\n"))) {
		char *value = strchr(line, ' ');

		if (!value)
			continue;
		*value++ = '\0';
		json_object_object_add(own, line, json_object_new_int64(strtoll(value, NULL, 10)));
	}
	return own;
}

static void free_sample(struct sample *s)
{
	json_object_put(s->own);
	free(s->thread);
}

static int take(const struct ctx *ctx, struct sample *s, bool threads)
{
	int i, j, dir = ctx->dir;
	struct stat st;

	*s = (struct sample){ .id = ctx->id, .time = now_ns() };
	strcpy(s->name, ctx->name);
	if (fstat(dir, &st))
		return -errno;
	s->inode = st.st_ino;
	for (i = 0; i < P_NR; i++) {
		number(dir, &s->pool[i].size, "pools/%s_size", pool_name[i]);
		number(dir, &s->pool[i].use, "pools/%s_use", pool_name[i]);
		number(dir, &s->pool[i].high, "pools/%s_high_water", pool_name[i]);
	}
	number(dir, &s->busy, "pools/thread_busy");
	number(dir, &s->tune.target, "pools/thread_target");
	number(dir, &s->tune.rate, "pools/thread_rate");
	number(dir, &s->tune.intervals, "stats/tune_intervals");
	number(dir, &s->tune.steps, "stats/tune_steps");
	for (i = 0; i < R_NR * DXK_LANES; i++) {
		struct lane_use *lane = &s->lane[i / DXK_LANES][i % DXK_LANES];
		const char *name = resource_name[i / DXK_LANES];

		number(dir, &lane->in_use, "lanes/%s_lane%d_in_use", name, i % DXK_LANES);
		number(dir, &lane->limit, "lanes/%s_lane%d_limit", name, i % DXK_LANES);
		number(dir, &lane->waiters, "lanes/%s_lane%d_waiters", name, i % DXK_LANES);
	}
	for (i = 0; i < RATE_NR; i++) {
		for (j = 0; j < 3 && source[i][j]; j++) {
			uint64_t value;

			number(dir, &value, "stats/%s", source[i][j]);
			s->counter[i] += value;
		}
	}
	s->own = take_own(dir);
	if (threads)
		take_threads(dir, s);
	/* Last, because it shows whether the context was there all the time. */
	return sysfs_read(dir, "state", s->state, sizeof(s->state));
}

/* --- rates ----------------------------------------------------------------- */

static double per_second(uint64_t now, uint64_t before, double seconds)
{
	return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

static void rates(struct sample *s, const struct samples *before)
{
	const struct sample *b = before->sample, *end = b + before->nr;
	double seconds;
	unsigned int i, j;

	for (; b < end && (b->id != s->id || b->inode != s->inode); b++)
		;
	if (b == end)
		return;
	seconds = (double)(s->time - b->time) / 1e9;
	for (i = 0; i < RATE_NR; i++)
		s->rate[i] = per_second(s->counter[i], b->counter[i], seconds);
	for (i = 0, j = 0; i < s->nr_threads; i++) {
		struct thread *t = &s->thread[i];

		while (j < b->nr_threads && b->thread[j].id < t->id)
			j++;
		if (j < b->nr_threads && b->thread[j].id == t->id)
			t->per_second = per_second(t->executed, b->thread[j].executed,
						   seconds);
	}
}

int samples_take(const struct options *o, const struct samples *before,
		 struct samples *now, bool threads)
{
	unsigned int *ids = NULL;
	int i, nr = 1;

	*now = (struct samples){ };
	if (!o->one)
		nr = ctx_all(&ids);
	if (nr < 0)
		return -ENOENT;
	gettimeofday(&now->time, NULL);
	now->sample = calloc((size_t)nr + 1, sizeof(*now->sample));
	for (i = 0; i < nr && now->sample; i++) {
		struct sample *s = &now->sample[now->nr];
		struct ctx ctx = o->only;

		if (!o->one && ctx_open(ids[i], &ctx))
			continue;
		if (take(&ctx, s, threads) < 0) {
			free_sample(s);
		} else {
			rates(s, before);
			now->nr++;
		}
		if (!o->one)
			ctx_close(&ctx);
	}
	free(ids);
	return o->one && !now->nr ? -ENOENT : 0;
}

void samples_free(struct samples *samples)
{
	unsigned int i;

	for (i = 0; i < samples->nr; i++)
		free_sample(&samples->sample[i]);
	free(samples->sample);
	*samples = (struct samples){ };
}
