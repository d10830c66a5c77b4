// SPDX-License-Identifier: GPL-2.0-only
/*
 * requests CTX: the requests that have not ended. There is no file for them: a caller that may read
 * the context joins it and queries.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "ctl.h"

/**
 * struct requests - the requests that were read
 * @r: an array of them
 * @nr: how many
 * @labels: names of executors
 */
struct requests {
	struct dxk_request_info *r;
	size_t nr;
	struct json_object *labels;
};

static int read_all(int fd, struct requests *all)
{
	uint64_t cursor = 0;
	int nr;

	while (cursor != DXK_REQUESTS_END) {
		struct dxk_request_info *r = realloc(all->r, (all->nr + DXK_BATCH_MAX) * sizeof(*r));

		if (!r)
			return -ENOMEM;
		all->r = r;
		nr = dxk_requests_read(fd, &cursor, r + all->nr);
		if (nr < 0)
			return nr;
		all->nr += (size_t)nr;
	}
	return 0;
}

/* Requests with workers first, then those that wait, then those that are Ready. */
static int place_of(const struct dxk_request_info *r)
{
	return r->state == DXK_REQUEST_WORK ? 0 : r->state == DXK_REQUEST_WAIT ? 1 : 2;
}

static int compare(const void *a, const void *b)
{
	const struct dxk_request_info *x = a, *y = b;

	if (place_of(x) != place_of(y))
		return place_of(x) - place_of(y);
	if (x->state == DXK_REQUEST_WORK)
		return (x->worker > y->worker) - (x->worker < y->worker);
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->prio != y->prio)
		return x->prio > y->prio ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static const char *state_of(const struct dxk_request_info *r)
{
	static const char * const names[] = { "executes", "waits", "ready" };

	return names[place_of(r)];
}

static const char *kind_of(const struct dxk_request_info *r)
{
	return r->attrs & PXR_KERNEL ? "kernel" : "user";
}

/* False when it is not known. */
static bool age_of(const struct dxk_request_info *r, uint64_t now, uint64_t *age)
{
	*age = r->age_ns;
	if (r->state != DXK_REQUEST_READY)
		return true;
	*age = now > r->posted_ns ? now - r->posted_ns : 0;
	return r->posted_ns;
}

static void number(char *text, size_t size, bool known, long long value)
{
	if (known)
		snprintf(text, size, "%lld", value);
	else
		snprintf(text, size, "-");
}

static void print_table(const struct requests *all, uint64_t now)
{
	const struct dxk_request_info *r;

	printf("%-8s  %4s  %-6s  %11s  %10s  %6s  %10s  %7s  %-18s  %-18s  %-18s  %s\n", "STATE", "LANE",
	       "KIND", "PRIO", "AGE MS", "WORKER", "NUMBER", "PID", "OWNER", "EXECUTOR", "PARAM", "LABEL");
	for (r = all->r; r < all->r + all->nr; r++) {
		bool ready = r->state == DXK_REQUEST_READY, aged;
		const char *label = label_of(all->labels, r->executor, r->attrs);
		char prio[24], age[24], worker[24], nr[24], pid[24];
		uint64_t ns = 0;

		aged = age_of(r, now, &ns);
		number(age, sizeof(age), aged, (long long)(ns / 1000000));
		number(prio, sizeof(prio), ready, r->prio);
		number(worker, sizeof(worker), r->worker, r->worker);
		number(nr, sizeof(nr), ready, (long long)r->number);
		number(pid, sizeof(pid), r->pid, r->pid);
		printf("%-8s  %4u  %-6s  %11s  %10s  %6s  %10s  %7s  0x%-16llx  0x%-16llx  0x%-16llx  %s\n",
		       state_of(r), r->lane, kind_of(r), prio, age, worker, nr, pid,
		       (unsigned long long)r->owner, (unsigned long long)r->executor,
		       (unsigned long long)r->param, label ? label : "-");
		if (r->flags & DXK_REQUEST_MORE)
			printf("%-8s  more of these\n", "...");
	}
}

static void add(struct json_object *object, const char *key, int64_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

static void add_hex(struct json_object *object, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	json_object_object_add(object, key, json_object_new_string(text));
}

static void print_json(const struct requests *all, uint64_t now)
{
	struct json_object *array = json_object_new_array();
	const struct dxk_request_info *r;

	for (r = all->r; r < all->r + all->nr; r++) {
		const char *label = label_of(all->labels, r->executor, r->attrs);
		struct json_object *object = json_object_new_object();
		uint64_t ns = 0;

		json_object_object_add(object, "state", json_object_new_string(state_of(r)));
		json_object_object_add(object, "kind", json_object_new_string(kind_of(r)));
		add(object, "lane", r->lane);
		add_hex(object, "owner", r->owner);
		add_hex(object, "executor", r->executor);
		if (label)
			json_object_object_add(object, "label", json_object_new_string(label));
		add_hex(object, "param", r->param);
		if (age_of(r, now, &ns))
			add(object, "age_ns", (int64_t)ns);
		if (r->worker)
			add(object, "worker", r->worker);
		if (r->state == DXK_REQUEST_READY) {
			add(object, "prio", r->prio);
			add(object, "number", (int64_t)r->number);
			add(object, "intervals", r->inspect_count);
		}
		if (r->pid) {
			add(object, "pid", r->pid);
			add(object, "uid", r->uid);
		}
		if (r->flags & DXK_REQUEST_MORE)
			json_object_object_add(object, "more", json_object_new_boolean(true));
		json_object_array_add(array, object);
	}
	puts(json_object_to_json_string_ext(array, JSON_C_TO_STRING_PRETTY));
	json_object_put(array);
}

int ctl_requests(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ }
	};
	void (*print)(const struct requests *all, uint64_t now) = print_table;
	struct requests all = { };
	struct timespec now;
	int opt, fd, err;
	struct ctx ctx;

	while ((opt = options(argc, argv, ":", longs)) != -1) {
		if (opt == '?')
			return MISUSED;
		print = print_json;
	}
	if (optind + 1 != argc)
		return misuse(optind == argc ? "requests: which context?" :
					       "requests: one context");
	if (ctx_find(argv[optind], &ctx))
		return FAILED;
	fd = ctx_join_read(&ctx);
	if (fd >= 0)
		all.labels = labels(&ctx);
	ctx_close(&ctx);
	if (fd < 0)
		return fail("dxkctl doctor", "cannot join context '%s' to read: %s",
			    argv[optind], strerror(-fd));
	err = read_all(fd, &all);
	close(fd);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!err) {
		if (all.nr)
			qsort(all.r, all.nr, sizeof(*all.r), compare);
		print(&all, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	} else {
		fail(NULL, "%s: cannot be read: %s", argv[optind], strerror(-err));
	}
	free(all.r);
	json_object_put(all.labels);
	return err ? FAILED : DONE;
}
