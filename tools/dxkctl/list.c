// SPDX-License-Identifier: GPL-2.0-only
/*
 * list and show: the contents of sysfs, and the instrumentation. Both make a JSON object of them
 * and print that, or a table of it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "ctl.h"

static const struct option json_option[] = {
	{ "json", no_argument, NULL, 'j' },
	{ }
};

/* The text of a member; "-" for one that is not there, or empty. */
static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;
	const char *text;

	if (!json_object_object_get_ex(object, key, &value))
		return "-";
	text = json_object_get_string(value);
	return text && *text ? text : "-";
}

/* As above, for a key that is made of several. */
static const char *text_at(struct json_object *object, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static const char *text_at(struct json_object *object, const char *format, ...)
{
	char key[64];
	va_list args;

	va_start(args, format);
	vsnprintf(key, sizeof(key), format, args);
	va_end(args);
	return text_of(object, key);
}

static int print_json(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
	return DONE;
}

static void add_number(struct json_object *object, const char *key, int dir,
		       const char *path)
{
	uint64_t value;

	if (!sysfs_u64(dir, path, &value))
		json_object_object_add(object, key,
				       json_object_new_int64((int64_t)value));
}

/* Pools are there from the first Start on: before that nothing is in them. */
static void add_use(struct json_object *object, const char *key, int dir,
		    const char *path)
{
	json_object_object_add(object, key,
			       json_object_new_int64((int64_t)sysfs_number(dir, path)));
}

static void add_text(struct json_object *object, const char *key, int dir,
		     const char *path)
{
	char text[64];

	if (sysfs_read(dir, path, text, sizeof(text)) >= 0)
		json_object_object_add(object, key, json_object_new_string(text));
}

/* The name of a user id; a user without a name here keeps the number. */
static void add_owner(struct json_object *object, const char *key, int dir,
		      const char *path)
{
	const char *name = NULL;
	struct passwd *pw;
	struct group *gr;
	char number[24];
	uint64_t id;

	if (sysfs_u64(dir, path, &id))
		return;
	if (!strcmp(path, "uid")) {
		pw = getpwuid((uid_t)id);
		name = pw ? pw->pw_name : NULL;
	} else {
		gr = getgrgid((gid_t)id);
		name = gr ? gr->gr_name : NULL;
	}
	snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
	json_object_object_add(object, key, json_object_new_string(name ?: number));
	json_object_object_add(object, path, json_object_new_int64((int64_t)id));
}

/* The data that list prints of a context, and show prints first. */
static struct json_object *head_of(const struct ctx *ctx)
{
	struct json_object *head = json_object_new_object();

	json_object_object_add(head, "id", json_object_new_int64(ctx->id));
	json_object_object_add(head, "name", json_object_new_string(ctx->name));
	add_text(head, "state", ctx->dir, "state");
	add_owner(head, "owner", ctx->dir, "uid");
	add_owner(head, "group", ctx->dir, "gid");
	add_text(head, "mode", ctx->dir, "mode");
	add_number(head, "descriptors", ctx->dir, "descriptors");
	add_number(head, "owners", ctx->dir, "owners");
	add_use(head, "workers", ctx->dir, "pools/thread_use");
	add_use(head, "ready", ctx->dir, "pools/ready_use");
	add_use(head, "busy", ctx->dir, "pools/thread_busy");
	return head;
}

/* --- list ------------------------------------------------------------------ */

static void list_table(struct json_object *all)
{
	size_t i;

	printf("%5s  %-16s  %-8s  %-10s  %-4s  %7s  %7s  %7s\n", "ID", "NAME", "STATE",
	       "OWNER", "MODE", "WORKERS", "READY", "BUSY");
	for (i = 0; i < json_object_array_length(all); i++) {
		struct json_object *c = json_object_array_get_idx(all, i);

		printf("%5s  %-16s  %-8s  %-10s  %-4s  %7s  %7s  %7s\n",
		       text_of(c, "id"), text_of(c, "name"), text_of(c, "state"),
		       text_of(c, "owner"), text_of(c, "mode"), text_of(c, "workers"),
		       text_of(c, "ready"), text_of(c, "busy"));
	}
}

int ctl_list(int argc, char **argv)
{
	struct json_object *all;
	unsigned int *ids;
	int i, nr, opt, hidden = 0;
	bool json = false;

	while ((opt = options(argc, argv, ":", json_option)) != -1) {
		if (opt == '?')
			return MISUSED;
		json = true;
	}
	if (optind < argc)
		return misuse("list takes no argument: %s", argv[optind]);

	nr = ctx_all(&ids);
	if (nr < 0)
		return no_module();
	all = json_object_new_array();
	for (i = 0; i < nr; i++) {
		struct ctx ctx;
		int err = ctx_open(ids[i], &ctx);

		hidden += err == -EACCES;
		if (err)
			continue;
		json_object_array_add(all, head_of(&ctx));
		ctx_close(&ctx);
	}
	free(ids);
	if (json)
		return print_json(all);
	list_table(all);
	json_object_put(all);
	if (hidden)
		fprintf(stderr, "%s: %d more may not be read by you\n", tool, hidden);
	return DONE;
}

/* --- show ------------------------------------------------------------------ */

static void show_policy(struct json_object *policy)
{
	json_object_object_foreach(policy, key, value) {
		uint32_t number = (uint32_t)json_object_get_int64(value);
		const char *word = field_word(field_of(key), number);

		if (json_object_is_type(value, json_type_string)) {
			printf("  %-22s  %s\n", key, json_object_get_string(value));
			continue;
		}
		printf("  %-22s  %u%s%s%s\n", key, number, word ? " (" : "", word ?: "",
		       word ? ")" : "");
	}
}

static void show_pools(struct json_object *pools)
{
	static const char * const pool[] = { "thread", "ready", "rejoin", "log",
					     "handle" };
	size_t i;

	printf("  %-8s  %10s  %10s  %10s\n", "pool", "size", "use", "high water");
	for (i = 0; i < sizeof(pool) / sizeof(pool[0]); i++)
		printf("  %-8s  %10s  %10s  %10s\n", pool[i],
		       text_at(pools, "%s_size", pool[i]),
		       text_at(pools, "%s_use", pool[i]),
		       text_at(pools, "%s_high_water", pool[i]));
	printf("  busy workers %s, log messages lost %s\n", text_of(pools, "thread_busy"),
	       text_of(pools, "log_lost"));
}

static const char * const resource[] = { "ready", "user", "kernel" };

#define RESOURCES	(sizeof(resource) / sizeof(resource[0]))

static void show_lanes(struct json_object *lanes)
{
	size_t i;

	printf("  %-8s  %4s  %8s  %8s  %8s\n", "resource", "lane", "in use", "limit",
	       "waiters");
	for (i = 0; i < DXK_LANES * RESOURCES; i++) {
		const char *name = resource[i / DXK_LANES];
		unsigned int lane = i % DXK_LANES;

		printf("  %-8s  %4u  %8s  %8s  %8s\n", name, lane,
		       text_at(lanes, "%s_lane%u_in_use", name, lane),
		       text_at(lanes, "%s_lane%u_limit", name, lane),
		       text_at(lanes, "%s_lane%u_waiters", name, lane));
	}
}

static void show_threads(struct json_object *threads)
{
	printf("  %5s  %-13s  %-10s  %10s  %10s  %7s\n", "id", "role", "state", "age ms",
	       "executed", "tid");
	json_object_object_foreach(threads, id, t)
		printf("  %5s  %-13s  %-10s  %10s  %10s  %7s\n", id, text_of(t, "role"),
		       text_of(t, "state"), text_of(t, "age_ms"),
		       text_of(t, "executed"), text_of(t, "pid"));
}

static void show_waits(struct json_object *waits)
{
	printf("  %5s  %-10s  %-20s  %-10s  %s\n", "id", "state", "awaits", "on", "executes");
	json_object_object_foreach(waits, id, w) {
		struct json_object *on = json_object_object_get(w, "on");
		char ids[64] = "";
		size_t i, len = 0;

		for (i = 0; i < json_object_array_length(on) && len < sizeof(ids) - 8; i++)
			len += (size_t)snprintf(ids + len, sizeof(ids) - len, "%s%d", i ? "," : "",
					json_object_get_int(json_object_array_get_idx(on, i)));
		printf("  %5s  %-10s  %-20s  %-10s  %s\n", id, text_of(w, "state"),
		       text_of(w, "awaits"), *ids ? ids : "-", text_of(w, "executes"));
	}
}

static void show_plain(struct json_object *object)
{
	json_object_object_foreach(object, key, value)
		printf("  %-22s  %s\n", key, json_object_get_string(value));
}

#define NOT_YET		"none before the first Start"
#define NO_RIGHT	"for those who may join the context"

/**
 * struct section - a part of what show prints
 * @name: its directory, if it has one
 * @print: prints a table of it
 * @missing: why it may not be there; NULL if it always is
 */
static const struct section {
	const char *name;
	void (*print)(struct json_object *object);
	const char *missing;
} sections[] = {
	{ "policy", show_policy, NULL },
	{ "pools", show_pools, NOT_YET },
	{ "lanes", show_lanes, NOT_YET },
	{ "threads", show_threads, NULL },
	{ "waits", show_waits, NULL },
	{ "waiting", waiting_show, NULL },
	{ "keys", keys_show, NULL },
	{ "stats", show_plain, NOT_YET },
	{ "instrumentation", instrumentation_show, NO_RIGHT },
};

#define SECTIONS	(sizeof(sections) / sizeof(sections[0]))

/* The files of the lanes as dxkstat --json has them: {"user": [{"in_use": ...}, ...], ...} */
static struct json_object *lanes_nested(struct json_object *flat)
{
	static const char * const file[] = { "in_use", "limit", "waiters" };
	struct json_object *lanes = json_object_new_object();
	size_t i, j;

	for (i = 0; i < DXK_LANES * RESOURCES; i++) {
		const char *name = resource[i / DXK_LANES];
		struct json_object *lane = json_object_new_object(), *all;

		for (j = 0; j < 3; j++)
			json_object_object_add(lane, file[j], json_object_new_int64(
				strtoll(text_at(flat, "%s_lane%zu_%s", name, i % DXK_LANES,
						file[j]), NULL, 10)));
		if (!(i % DXK_LANES))
			json_object_object_add(lanes, name, json_object_new_array());
		json_object_object_get_ex(lanes, name, &all);
		json_object_array_add(all, lane);
	}
	json_object_put(flat);
	return lanes;
}

/* Requested sections, as bits: all when none is named. */
static bool wanted_sections(char **names, unsigned int *wanted)
{
	size_t i;

	*wanted = *names ? 0 : ~0U;
	for (; *names; names++) {
		for (i = 0; i < SECTIONS && strcmp(sections[i].name, *names); i++)
			;
		if (i == SECTIONS) {
			misuse("show: '%s' is none of policy, pools, lanes, threads, "
			       "waits, waiting, keys, stats, instrumentation", *names);
			return false;
		}
		*wanted |= 1U << i;
	}
	return true;
}

static struct json_object *read_section(const struct ctx *ctx, const struct section *s)
{
	if (!strcmp(s->name, "instrumentation"))
		return instrumentation(ctx);
	if (!strcmp(s->name, "waits"))
		return waits(ctx);
	if (!strcmp(s->name, "waiting") || !strcmp(s->name, "keys"))
		return listing(ctx, s->name);
	return sysfs_dir(ctx->dir, s->name);
}

static void print_section(const struct ctx *ctx, const struct section *s)
{
	struct json_object *object = read_section(ctx, s);
	char state[16];

	if (object) {
		printf("%s\n", s->name);
		s->print(object);
		json_object_put(object);
	} else if (s->missing && sysfs_read(ctx->dir, "state", state, sizeof(state)) >= 0) {
		printf("%s\n  %s\n", s->name, s->missing);
	}
	/* Else it has just gone: the data read so far is still valid. */
}

int ctl_show(int argc, char **argv)
{
	struct json_object *head;
	unsigned int wanted;
	bool json = false;
	struct ctx ctx;
	size_t i;
	int opt;

	while ((opt = options(argc, argv, ":", json_option)) != -1) {
		if (opt == '?')
			return MISUSED;
		json = true;
	}
	if (optind == argc)
		return misuse("show: which context?");
	if (!wanted_sections(argv + optind + 1, &wanted))
		return MISUSED;
	if (ctx_find(argv[optind], &ctx))
		return FAILED;

	head = head_of(&ctx);
	if (!json && !argv[optind + 1])
		show_plain(head);
	for (i = 0; i < SECTIONS; i++) {
		struct json_object *section;

		if (!(wanted & 1U << i))
			continue;
		if (!json) {
			print_section(&ctx, &sections[i]);
			continue;
		}
		section = read_section(&ctx, &sections[i]);
		if (section && sections[i].print == show_lanes)
			section = lanes_nested(section);
		if (section)
			json_object_object_add(head, sections[i].name, section);
	}
	ctx_close(&ctx);
	if (json)
		return print_json(head);
	json_object_put(head);
	return DONE;
}
