// SPDX-License-Identifier: GPL-2.0-only
/*
 * remote: the services that a dxkd runs, from the status file that it writes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "ctl.h"

static const char *text_in(struct json_object *object, const char *key)
{
	struct json_object *value = json_in(object, key);

	return value ? json_object_get_string(value) : "-";
}

/* of all lanes */
static int64_t sum_in(struct json_object *object, const char *key)
{
	struct json_object *lanes = json_in(object, key);
	int64_t sum = 0;
	size_t i;

	for (i = 0; json_object_is_type(lanes, json_type_array) &&
		    i < json_object_array_length(lanes); i++)
		sum += json_object_get_int64(json_object_array_get_idx(lanes, i));
	return sum;
}

const char *remote_trouble(struct json_object *service, const char *key)
{
	struct json_object *is = json_in(service, key), *error = json_in(is, "error");
	const char *state = text_in(is, "state");

	if (json_object_is_type(error, json_type_string))
		return json_object_get_string(error);
	if (json_object_is_type(is, json_type_string))
		return json_object_get_string(is);
	return !strcmp(state, "up") || !strcmp(state, "-") ? NULL : state;
}

void remote_tell(struct json_object *service, const char *key, const char *what)
{
	const char *c = remote_trouble(service, key);

	printf("%s %s: %s: ", text_in(service, "role"), text_in(service, "name"), what);
	for (; c && *c; c++)
		putchar((unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c);
	putchar('\n');
}

const struct remote_part remote_parts[] = {
	{ "request_connection", "requests" },
	{ "answer_connection", "answers" },
	{ "context_error", "context" },
	{ }
};

static void show(struct json_object *services)
{
	size_t i, nr = json_object_array_length(services);

	printf("%-20s  %-6s  %-12s  %-8s  %-8s  %9s  %7s  %10s  %10s  %6s  %7s  %8s\n", "SERVICE",
	       "ROLE", "BROKER", "REQUESTS", "ANSWERS", "IN FLIGHT", "WAITING", "REQUESTS",
	       "ANSWERED", "DEAD", "REFUSED", "REJECTED");
	for (i = 0; i < nr; i++) {
		struct json_object *s = json_object_array_get_idx(services, i);

		printf("%-20s  %-6s  %-12s  %-8s  %-8s  %9s  %7s  %10lld  %10lld  %6s  %7s  %8s\n",
		       text_in(s, "name"), text_in(s, "role"), text_in(s, "broker"),
		       text_in(json_in(s, "request_connection"), "state"),
		       text_in(json_in(s, "answer_connection"), "state"), text_in(s, "in_flight"),
		       text_in(s, "waiting"), (long long)sum_in(s, "requests"),
		       (long long)sum_in(s, "answered"), text_in(s, "dead"),
		       text_in(s, "refused"), text_in(s, "rejected"));
	}
	for (i = 0; i < nr; i++) {
		struct json_object *s = json_object_array_get_idx(services, i);
		const struct remote_part *p;

		for (p = remote_parts; p->key; p++) {
			if (!remote_trouble(s, p->key))
				continue;
			fputs("  ", stdout);
			remote_tell(s, p->key, p->name);
		}
	}
}

int ctl_remote(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ }
	};
	struct json_object *all, *services;
	const char *path = DXKD_STATUS;
	bool json = false;
	int opt;

	while ((opt = options(argc, argv, ":", longs)) != -1) {
		if (opt != 'j')
			return MISUSED;
		json = true;
	}
	if (argc - optind > 1)
		return misuse("remote takes one STATUS");
	if (argc > optind)
		path = argv[optind];
	all = remote_read(path, &services);
	if (!all && errno == ENOENT)
		return fail("systemctl status dxkd", "%s: no dxkd runs that writes it", path);
	if (!all)
		return fail("give the file of dxkd --status", "%s: %s", path,
			    errno == EINVAL ? "not a status of dxkd" : strerror(errno));
	if (json)
		puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY |
						    JSON_C_TO_STRING_NOSLASHESCAPE));
	else
		show(services);
	json_object_put(all);
	return DONE;
}
