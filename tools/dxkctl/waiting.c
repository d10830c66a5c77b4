// SPDX-License-Identifier: GPL-2.0-only
/*
 * show CTX waiting: requests that wait without a worker, as the context's file has them: a
 * line each, of pairs of a word and a value.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ctl.h"

static struct json_object *request_of(char *line)
{
	struct json_object *request = json_object_new_object();
	char *save, *key = strtok_r(line, " ", &save), *value;

	while (key && (value = strtok_r(NULL, " ", &save))) {
		bool number = !strcmp(key, "age_ms") || !strcmp(key, "lane") ||
			      !strcmp(key, "turn");

		json_object_object_add(request, key, number ?
				       json_object_new_int64(strtoll(value, NULL, 10)) :
				       json_object_new_string(value));
		key = strtok_r(NULL, " ", &save);
	}
	return request;
}

struct json_object *waiting(const struct ctx *ctx)
{
	char text[4097], *save, *line;
	struct json_object *all;

	if (sysfs_read(ctx->dir, "waiting", text, sizeof(text)) < 0)
		return NULL;
	all = json_object_new_array();
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		json_object_array_add(all, request_of(line));
	return all;
}

static const char *text_of(struct json_object *request, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(request, key, &value) ?
	       json_object_get_string(value) : "-";
}

void waiting_show(struct json_object *all)
{
	size_t i;

	printf("  %10s  %4s  %-6s  %5s  %-20s  %-18s  %-18s  %s\n", "age ms", "lane", "kind",
	       "turn", "owner", "executor", "name", "for");
	for (i = 0; i < json_object_array_length(all); i++) {
		struct json_object *r = json_object_array_get_idx(all, i), *of;

		printf("  %10s  %4s  %-6s  %5s  %-20s  %-18s  %-18s  %s", text_of(r, "age_ms"),
		       text_of(r, "lane"), text_of(r, "kind"), text_of(r, "turn"),
		       text_of(r, "owner"), text_of(r, "executor"), text_of(r, "name"),
		       text_of(r, "for"));
		if (json_object_object_get_ex(r, "of", &of))
			printf(" of %s", json_object_get_string(of));
		putchar('\n');
	}
}
