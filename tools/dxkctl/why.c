// SPDX-License-Identifier: GPL-2.0-only
/*
 * why CTX: what waits for what, made from the context's files: threads that sleep for others,
 * requests that wait without a thread, keys. A circle among those is a deadlock unless a time, a
 * call or a file also ends one of the waits. At the end of a path without a circle is a thread that
 * executes: its stack shows what it does.
 *
 * The files are read one after the other, so a wait that has ended meanwhile may still appear.
 * A lasting wait appears in a second run, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ctl.h"

/* Lines of a stack. */
#define FRAMES		8

/**
 * struct node - one that waits, or that others wait for
 * @name: "thread 3", or "request 0": its line in the file of those that wait
 * @about: its data: of a thread its directory, of a request its line
 * @awaits: "owner 2:0x1" or "key 2:0x5", or NULL: it waits for nobody
 * @on: nodes that it waits for
 * @nr: of those
 * @index: of the search for circles: order in which it was found, from 1 on
 * @low: the first one that it leads back to
 * @open: the search may come back to it
 * @circle: the number of its circle, or 0
 * @seen: the last search that has found it
 * @others: how many wait for it, directly or indirectly
 */
struct node {
	char name[24];
	struct json_object *about;
	char *awaits;
	size_t *on;
	size_t nr;
	size_t index, low;
	bool open;
	size_t circle, seen, others;
};

/**
 * struct graph - all nodes
 * @node: an array of them
 * @nr: their number
 * @index: of the search for circles: that of the last node found
 * @stack: the nodes whose circle it does not know yet
 * @depth: their number
 * @circles: the number of circles found
 * @ready: the Ready requests, per lane and kind of worker, as objects
 */
struct graph {
	struct node *node;
	size_t nr;
	size_t index;
	size_t *stack;
	size_t depth;
	size_t circles;
	struct json_object *ready;
};

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? json_object_get_string(value) : "";
}

static void *must(void *memory)
{
	if (memory)
		return memory;
	fail(NULL, "out of memory");
	exit(FAILED);
}

/* --- nodes --------------------------------------------------------------------- */

static bool is_thread(const struct node *n)
{
	return n->name[0] == 't';
}

static struct node *add(struct graph *g, const char *what, const char *id,
			struct json_object *about)
{
	struct node *n;

	g->node = must(realloc(g->node, (g->nr + 1) * sizeof(*g->node)));
	n = &g->node[g->nr++];
	*n = (struct node){ .about = about };
	snprintf(n->name, sizeof(n->name), "%s %s", what, id);
	return n;
}

static void add_threads(struct graph *g, struct json_object *threads)
{
	json_object_object_foreach(threads, id, thread) {
		const char *awaits = text_of(thread, "awaits");
		struct node *n;

		if (!*awaits && !*text_of(thread, "executes"))
			continue;
		n = add(g, "thread", id, thread);
		if (*awaits)
			n->awaits = must(strdup(awaits));
	}
}

static int workers_of(struct json_object *threads, const char *kind)
{
	char role[32];
	int nr = 0;

	snprintf(role, sizeof(role), "%s-worker", kind);
	json_object_object_foreach(threads, id, thread) {
		(void)id;
		nr += !strcmp(text_of(thread, "role"), role);
	}
	return nr;
}

/* Lanes with Ready requests: what keeps these from a worker. */
static void add_ready(struct graph *g, struct json_object *lanes, struct json_object *threads)
{
	static const char *const kinds[] = { "user", "kernel" };
	static const char *const fields[] = { "waiters", "in_use", "limit" };
	char name[40];
	size_t i;
	int k;

	g->ready = json_object_new_array();
	for (k = 0; k < 2 * DXK_LANES; k++) {
		struct json_object *one = json_object_new_object();

		json_object_object_add(one, "kind", json_object_new_string(kinds[k / DXK_LANES]));
		json_object_object_add(one, "lane", json_object_new_int(k % DXK_LANES));
		json_object_object_add(one, "workers",
				       json_object_new_int(workers_of(threads, kinds[k / DXK_LANES])));
		for (i = 0; i < 3; i++) {
			snprintf(name, sizeof(name), "%s_lane%d_%s", kinds[k / DXK_LANES],
				 k % DXK_LANES, fields[i]);
			json_object_object_add(one, fields[i],
					       json_object_new_int(atoi(text_of(lanes, name))));
		}
		if (json_object_get_int(json_object_object_get(one, "waiters")))
			json_object_array_add(g->ready, one);
		else
			json_object_put(one);
	}
}

/* Whether no time, call or file also ends its wait. */
static bool is_patient(const char *sources)
{
	return !strcmp(sources, "key") || !strcmp(sources, "result") ||
	       !strcmp(sources, "join") || !strcmp(sources, "join,eager");
}

static void add_requests(struct graph *g, struct json_object *waiting)
{
	size_t i;

	for (i = 0; i < json_object_array_length(waiting); i++) {
		struct json_object *r = json_object_array_get_idx(waiting, i);
		const char *of = text_of(r, "of"), *sources = text_of(r, "for");
		char id[12];
		struct node *n;

		snprintf(id, sizeof(id), "%u", (unsigned int)i);
		n = add(g, "request", id, r);
		if (*of && asprintf(&n->awaits, "%s %s", !strncmp(sources, "key", 3) ? "key" :
				    "owner", of) < 0)
			must(NULL);
	}
}

/* --- edges --------------------------------------------------------------------- */

static void wait_on(struct node *n, size_t on)
{
	n->on = must(realloc(n->on, (n->nr + 1) * sizeof(*n->on)));
	n->on[n->nr++] = on;
}

/* Whether the node is one of the requests of "owner 2:0x1", or executes one. */
static bool is_of(const struct node *n, const char *owner)
{
	const char *executes = is_thread(n) ? strstr(text_of(n->about, "executes"), "owner ") :
					      NULL;
	size_t len = strlen(owner);

	if (!is_thread(n))
		return !strcmp(text_of(n->about, "owner"), owner + strlen("owner "));
	return executes && !strncmp(executes, owner, len) &&
	       (!executes[len] || executes[len] == ' ');
}

/* The line of the key in the file, or NULL. */
static struct json_object *key_of(struct json_object *keys, const char *awaits)
{
	size_t i;

	for (i = 0; i < json_object_array_length(keys); i++) {
		struct json_object *key = json_object_array_get_idx(keys, i);

		if (!strcmp(text_of(key, "key"), awaits + strlen("key ")))
			return key;
	}
	return NULL;
}

static bool has(const struct node *n, struct json_object *key)
{
	return is_thread(n) && !strcmp(n->name + strlen("thread "), text_of(key, "worker"));
}

static void connect_all(struct graph *g, struct json_object *keys)
{
	size_t i, j;

	for (i = 0; i < g->nr; i++) {
		struct node *n = &g->node[i];
		struct json_object *key = NULL;
		bool owner = n->awaits && !strncmp(n->awaits, "owner ", 6);

		if (n->awaits && !strncmp(n->awaits, "key ", 4))
			key = key_of(keys, n->awaits);
		for (j = 0; (owner || key) && j < g->nr; j++)
			if (j != i && (owner ? is_of(&g->node[j], n->awaits) :
					       has(&g->node[j], key)))
				wait_on(n, j);
	}
}

/* --- circles ------------------------------------------------------------------- */

/* Tarjan's search for strongly connected components. */
static void search(struct graph *g, size_t at)
{
	struct node *n = &g->node[at];
	size_t i, size = 0;

	n->index = n->low = ++g->index;
	n->open = true;
	g->stack[g->depth++] = at;
	for (i = 0; i < n->nr; i++) {
		struct node *next = &g->node[n->on[i]];

		if (!next->index)
			search(g, n->on[i]);
		if (next->open && next->low < n->low)
			n->low = next->low;
	}
	if (n->low != n->index)
		return;
	while (g->stack[g->depth - 1 - size] != at)
		size++;
	g->circles += size > 0;
	for (i = 0; i <= size; i++) {
		struct node *member = &g->node[g->stack[--g->depth]];

		member->open = false;
		member->circle = size ? g->circles : 0;
	}
}

static void count_others(struct graph *g, size_t from, size_t at)
{
	size_t i;

	for (i = 0; i < g->node[at].nr; i++) {
		struct node *next = &g->node[g->node[at].on[i]];

		if (next->seen == from + 1)
			continue;
		next->seen = from + 1;
		next->others += g->node[at].on[i] != from;
		count_others(g, from, g->node[at].on[i]);
	}
}

static void examine(struct graph *g)
{
	size_t i;

	g->stack = must(calloc(g->nr + 1, sizeof(*g->stack)));
	for (i = 0; i < g->nr; i++)
		if (!g->node[i].index)
			search(g, i);
	for (i = 0; i < g->nr; i++)
		count_others(g, i, i);
}

/* Whether it delays others, and itself waits for nobody. */
static bool is_holder(const struct node *n)
{
	return n->others && !n->awaits;
}

/* --- as JSON -------------------------------------------------------------------- */

/* The kernel stack of a thread, if the caller may see it. */
static struct json_object *stack_of(const char *pid)
{
	struct json_object *lines = json_object_new_array();
	char path[64], line[256];
	size_t nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/stack", pid);
	f = fopen(path, "re");
	while (f && nr++ < FRAMES && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		json_object_array_add(lines, json_object_new_string(line));
	}
	if (f)
		fclose(f);
	return lines;
}

static struct json_object *json_of(const struct graph *g, const struct node *n)
{
	static const char * const keys[] = {
		"state", "executes", "pid", "age_ms", "owner", "executor", "label", "name",
		"for",
	};
	struct json_object *out = json_object_new_object(), *on, *value;
	size_t i;

	json_object_object_add(out, "who", json_object_new_string(n->name));
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_object_object_get_ex(n->about, keys[i], &value))
			json_object_object_add(out, keys[i], json_object_get(value));
	if (!n->awaits) {
		json_object_object_add(out, "others", json_object_new_int64((int64_t)n->others));
		json_object_object_add(out, "stack", stack_of(text_of(n->about, "pid")));
		return out;
	}
	json_object_object_add(out, "awaits", json_object_new_string(n->awaits));
	on = json_object_new_array();
	for (i = 0; i < n->nr; i++)
		json_object_array_add(on, json_object_new_string(g->node[n->on[i]].name));
	json_object_object_add(out, "on", on);
	return out;
}

static void print_json(const struct graph *g)
{
	struct json_object *all = json_object_new_object();
	struct json_object *waits = json_object_new_array();
	struct json_object *circles = json_object_new_array();
	struct json_object *holders = json_object_new_array();
	size_t i;

	for (i = 0; i < g->circles; i++)
		json_object_array_add(circles, json_object_new_array());
	for (i = 0; i < g->nr; i++) {
		const struct node *n = &g->node[i];

		if (n->awaits)
			json_object_array_add(waits, json_of(g, n));
		else if (is_holder(n))
			json_object_array_add(holders, json_of(g, n));
		if (n->circle)
			json_object_array_add(json_object_array_get_idx(circles, n->circle - 1),
					      json_object_new_string(n->name));
	}
	json_object_object_add(all, "waits", waits);
	json_object_object_add(all, "circles", circles);
	json_object_object_add(all, "holders", holders);
	json_object_object_add(all, "ready", json_object_get(g->ready));
	puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(all);
}

/* --- as a graph ------------------------------------------------------------------ */

/* A name may be any text without a space. */
static void print_box(const struct node *n)
{
	const char *says = text_of(n->about, is_thread(n) ? "executes" : "owner");
	char text[sizeof(n->name) + 4096];

	snprintf(text, sizeof(text), "%s\n%s", n->name, says);
	printf("\t\"%s\" [shape=%s%s, label=", n->name, is_thread(n) ? "box" : "ellipse",
	       n->circle ? ", style=filled" : "");
	put_text(stdout, text);
	puts("];");
}

/* For dot(1). Nodes in a circle are filled. */
static void print_dot(const struct graph *g)
{
	size_t i, j;

	puts("digraph why {");
	for (i = 0; i < g->nr; i++) {
		const struct node *n = &g->node[i];

		if (!n->awaits && !n->others)
			continue;
		print_box(n);
		for (j = 0; j < n->nr; j++)
			printf("\t\"%s\" -> \"%s\" [label=\"%s\"];\n", n->name,
			       g->node[n->on[j]].name, n->awaits);
	}
	puts("}");
}

/* --- as a text -------------------------------------------------------------------- */

static const char *label_before(const struct node *n)
{
	return *text_of(n->about, "label") ? " label " : "";
}

static void print_wait(const struct graph *g, const struct node *n)
{
	const char *sources = text_of(n->about, "for");
	size_t i;

	if (is_thread(n))
		printf("%s %s [%s] waits for %s:", n->name, text_of(n->about, "state"),
		       text_of(n->about, "executes"), n->awaits);
	else
		printf("%s [owner %s executor %s%s%s] waits for %s%s%s:", n->name,
		       text_of(n->about, "owner"), text_of(n->about, "executor"),
		       label_before(n), text_of(n->about, "label"),
		       is_patient(sources) ? "" : sources, is_patient(sources) ? "" : " of ",
		       n->awaits);
	for (i = 0; i < n->nr; i++)
		printf("%s %s", i ? "," : "", g->node[n->on[i]].name);
	puts(n->nr ? "" : " no thread executes any of it");
}

static void print_holder(const struct node *n)
{
	struct json_object *stack;
	size_t i;

	if (!is_thread(n)) {
		printf("%s [owner %s executor %s%s%s] holds up %zu: it waits for %s\n", n->name,
		       text_of(n->about, "owner"), text_of(n->about, "executor"),
		       label_before(n), text_of(n->about, "label"), n->others,
		       text_of(n->about, "for"));
		return;
	}
	printf("%s [%s] holds up %zu: %s for %s ms, tid %s\n", n->name,
	       text_of(n->about, "executes"), n->others, text_of(n->about, "state"),
	       text_of(n->about, "age_ms"), text_of(n->about, "pid"));
	stack = stack_of(text_of(n->about, "pid"));
	for (i = 0; i < json_object_array_length(stack); i++)
		printf("    %s\n", json_object_get_string(json_object_array_get_idx(stack, i)));
	json_object_put(stack);
}

static void print_circle(const struct graph *g, size_t circle)
{
	const char *comma = "";
	size_t i;

	printf("circle %zu:", circle);
	for (i = 0; i < g->nr; i++)
		if (g->node[i].circle == circle) {
			printf("%s %s", comma, g->node[i].name);
			comma = ",";
		}
	putchar('\n');
}

static void print_ready(struct json_object *r)
{
	int workers = atoi(text_of(r, "workers")), in_use = atoi(text_of(r, "in_use"));

	printf("%s Ready in lane %s: ", text_of(r, "waiters"), text_of(r, "lane"));
	if (!workers)
		printf("the context has no %s worker\n", text_of(r, "kind"));
	else if (in_use >= atoi(text_of(r, "limit")))
		printf("the lane has %d of %d %s workers, and can have no more at the moment\n",
		       in_use, workers, text_of(r, "kind"));
	else
		printf("a %s worker is about to take one\n", text_of(r, "kind"));
}

static void print_text(const struct graph *g)
{
	size_t i, waits = 0;

	for (i = 0; i < g->nr; i++)
		if (g->node[i].awaits) {
			print_wait(g, &g->node[i]);
			waits++;
		}
	for (i = 1; i <= g->circles; i++)
		print_circle(g, i);
	for (i = 0; i < g->nr; i++)
		if (is_holder(&g->node[i]))
			print_holder(&g->node[i]);
	for (i = 0; i < json_object_array_length(g->ready); i++)
		print_ready(json_object_array_get_idx(g->ready, i));
	if (!waits && !json_object_array_length(g->ready))
		puts("nobody waits for another one");
}

/* --- the subcommand ---------------------------------------------------------------- */

static void free_graph(struct graph *g)
{
	size_t i;

	for (i = 0; i < g->nr; i++) {
		free(g->node[i].awaits);
		free(g->node[i].on);
	}
	free(g->node);
	free(g->stack);
	json_object_put(g->ready);
}

int ctl_why(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "dot", no_argument, NULL, 'd' },
		{ }
	};
	struct json_object *threads, *requests, *keys, *lanes;
	void (*print)(const struct graph *g) = print_text;
	struct graph g = { };
	struct ctx ctx;
	int opt, status = FAILED;

	while ((opt = options(argc, argv, ":", longs)) != -1) {
		if (opt == '?')
			return MISUSED;
		print = opt == 'j' ? print_json : print_dot;
	}
	if (optind + 1 != argc)
		return misuse(optind == argc ? "why: which context?" : "why: one context");
	if (ctx_find(argv[optind], &ctx))
		return FAILED;
	threads = sysfs_dir(ctx.dir, "threads");
	requests = listing(&ctx, "waiting");
	keys = listing(&ctx, "keys");
	/* none before it is started */
	lanes = sysfs_dir(ctx.dir, "lanes");
	if (threads && requests && keys) {
		add_threads(&g, threads);
		add_requests(&g, requests);
		connect_all(&g, keys);
		add_ready(&g, lanes, threads);
		examine(&g);
		print(&g);
		free_graph(&g);
		status = DONE;
	} else {
		fail(NULL, "%s: cannot be read any more", argv[optind]);
	}
	json_object_put(threads);
	json_object_put(requests);
	json_object_put(keys);
	json_object_put(lanes);
	ctx_close(&ctx);
	return status;
}
