// SPDX-License-Identifier: GPL-2.0-only
/*
 * show CTX waiting, keys: requests that wait without a worker, and keys, as the context's files
 * have them: a line each, of pairs of a word and a value.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ctl.h"

static bool is_number(const char *key)
{
	static const char * const numbers[] = {
		"age_ms", "lane", "turn", "users", "held", "worker",
	};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(key, numbers[i]))
			return true;
	return false;
}

static struct json_object *line_of(char *line)
{
	struct json_object *request = json_object_new_object();
	char *save, *key = strtok_r(line, " ", &save), *value;

	while (key && (value = strtok_r(NULL, " ", &save))) {
		json_object_object_add(request, key, is_number(key) ?
				       json_object_new_int64(strtoll(value, NULL, 10)) :
				       json_object_new_string(value));
		key = strtok_r(NULL, " ", &save);
	}
	return request;
}

struct json_object *listing(const struct ctx *ctx, const char *file)
{
	char text[4097], *save, *line;
	struct json_object *all;

	if (sysfs_read(ctx->dir, file, text, sizeof(text)) < 0)
		return NULL;
	all = json_object_new_array();
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		json_object_array_add(all, line_of(line));
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

	printf("  %10s  %4s  %-6s  %5s  %-20s  %-18s  %-12s  %-18s  %s\n", "age ms", "lane",
	       "kind", "turn", "owner", "executor", "label", "name", "for");
	for (i = 0; i < json_object_array_length(all); i++) {
		struct json_object *r = json_object_array_get_idx(all, i), *of;

		printf("  %10s  %4s  %-6s  %5s  %-20s  %-18s  %-12s  %-18s  %s", text_of(r, "age_ms"),
		       text_of(r, "lane"), text_of(r, "kind"), text_of(r, "turn"),
		       text_of(r, "owner"), text_of(r, "executor"), text_of(r, "label"),
		       text_of(r, "name"), text_of(r, "for"));
		if (json_object_object_get_ex(r, "of", &of))
			printf(" of %s", json_object_get_string(of));
		putchar('\n');
	}
}

void keys_show(struct json_object *all)
{
	size_t i;

	printf("  %-20s  %5s  %5s  %-9s  %6s  %-20s  %-18s  %s\n", "key", "users", "held", "is",
	       "worker", "owner", "executor", "label");
	for (i = 0; i < json_object_array_length(all); i++) {
		struct json_object *k = json_object_array_get_idx(all, i);

		printf("  %-20s  %5s  %5s  %-9s  %6s  %-20s  %-18s  %s\n", text_of(k, "key"),
		       text_of(k, "users"), text_of(k, "held"), text_of(k, "is"),
		       text_of(k, "worker"), text_of(k, "owner"), text_of(k, "executor"),
		       text_of(k, "label"));
	}
}
