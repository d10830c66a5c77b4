// SPDX-License-Identifier: GPL-2.0-only
/*
 * show CTX waits: which threads sleep for which. It is made from the threads' files, so it is
 * available at any time, not only when a stall is reported.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ctl.h"

static const char *text_of(struct json_object *thread, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(thread, key, &value) ?
	       json_object_get_string(value) : "";
}

/* "owner 2:0x1" in "lane 3 owner 2:0x1 executor 0x55d0" */
static bool works_for(const char *executes, const char *owner)
{
	const char *at = strstr(executes, "owner ");
	size_t len = strlen(owner);

	return at && !strncmp(at, owner, len) && (!at[len] || at[len] == ' ');
}

/* The ids of the threads that execute what a thread sleeps for. */
static struct json_object *edges(struct json_object *threads, const char *awaits)
{
	struct json_object *on = json_object_new_array();

	if (strncmp(awaits, "owner ", 6))
		return on;
	json_object_object_foreach(threads, id, thread)
		if (works_for(text_of(thread, "executes"), awaits))
			json_object_array_add(on, json_object_new_int(atoi(id)));
	return on;
}

struct json_object *waits(const struct ctx *ctx)
{
	static const char * const keys[] = { "state", "executes", "awaits" };
	struct json_object *threads = sysfs_dir(ctx->dir, "threads");
	struct json_object *all;
	size_t i;

	if (!threads)
		return NULL;
	all = json_object_new_object();
	json_object_object_foreach(threads, id, thread) {
		const char *awaits = text_of(thread, "awaits");
		struct json_object *sleeper;

		if (!*awaits)
			continue;
		sleeper = json_object_new_object();
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			json_object_object_add(sleeper, keys[i],
					       json_object_new_string(text_of(thread, keys[i])));
		json_object_object_add(sleeper, "on", edges(threads, awaits));
		json_object_object_add(all, id, sleeper);
	}
	json_object_put(threads);
	return all;
}
