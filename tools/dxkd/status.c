// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>
#include <systemd/sd-daemon.h>

#include "../common/common.h"
#include "link.h"
#include "status.h"
#include "task.h"

static void add(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_int64((int64_t)value));
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

static void add_lanes(struct json_object *object, const char *key, const uint64_t lanes[LANES])
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < LANES; i++)
		json_object_array_add(array, json_object_new_int64((int64_t)lanes[i]));
	json_object_object_add(object, key, array);
}

static void add_link(struct json_object *object, const char *key, const struct link *link)
{
	struct json_object *one = json_object_new_object();
	const struct node *node = &link->broker->nodes[link->node];
	const char *state = "down";
	char at[HOST_LEN + 16];

	if (link->up)
		state = link->blocked ? "blocked" : "up";
	else if (link_is_refused(link))
		state = "refused";
	add_text(one, "state", state);
	add(one, "since", link->changed);
	if (link->up) {
		snprintf(at, sizeof(at), "%s:%u", node->host, node->port);
		add_text(one, "node", at);
	} else if (*link->why) {
		add_text(one, "error", link->why);
	}
	json_object_object_add(object, key, one);
}

static struct json_object *service(const struct status *s)
{
	struct json_object *object = json_object_new_object();
	const struct service *cfg = s->service;
	bool export = cfg->role == EXPORT;
	const struct counts *c = s->counts;
	unsigned int i, places = cfg->window;

	for (i = 0; export && i < LANES; i++)
		places = i ? places + cfg->lane[i] : cfg->lane[i];
	add_text(object, "name", cfg->name);
	add_text(object, "role", export ? "export" : "import");
	add_text(object, "broker", cfg->broker->name);
	add_text(object, "context", cfg->context);
	if (s->context)
		add_text(object, "context_error", strerror(-s->context));
	if (!export)
		json_object_object_add(object, "served", json_object_new_boolean(s->served));
	add_link(object, "request_connection", s->requests);
	add_link(object, "answer_connection", s->answers);
	add(object, "places", places);
	add(object, "in_flight", s->in_flight);
	add(object, "waiting", s->waiting);
	add(object, "unconfirmed", s->unconfirmed);
	add_lanes(object, "requests", c->requests);
	add_lanes(object, "answered", c->answered);
	if (export)
		add(object, "redelivered", c->redelivered);
	add(object, "republished", c->republished);
	add(object, "refused", c->refused);
	add(object, "dead", c->dead);
	if (!export)
		add(object, "dropped", c->dropped);
	add(object, "rejected", c->rejected);
	return object;
}

/* One line for "systemctl status" */
static void tell(struct status_file *file, unsigned int nr, unsigned int up)
{
	char line[sizeof(file->told)];

	snprintf(line, sizeof(line), "STATUS=%u of %u connections of %u services up", up, 2 * nr,
		 nr);
	if (!strcmp(line, file->told))
		return;
	strcpy(file->told, line);
	sd_notify(0, line);
}

/* To a temporary file, which then replaces it: a reader sees the old or the new one. */
static int replace(const char *path, const char *text)
{
	size_t len = strlen(text);
	int fd, rc = 0;
	char *to;

	if (asprintf(&to, "%s.new", path) < 0)
		abort();
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		rc = -errno;
	} else {
		ssize_t n = write(fd, text, len);

		if (n != (ssize_t)len)
			rc = n < 0 ? -errno : -ENOSPC;
		if (close(fd) && !rc)
			rc = -errno;
		if (!rc && rename(to, path))
			rc = -errno;
		if (rc)
			unlink(to);
	}
	free(to);
	return rc;
}

static void look(struct status_file *file, struct task **tasks, unsigned int nr)
{
	struct json_object *all = json_object_new_object();
	struct json_object *services = json_object_new_array();
	unsigned int i, up = 0;
	const char *text;
	int rc;

	add_text(all, "version", VERSION);
	add(all, "pid", (uint64_t)getpid());
	add(all, "started", file->started);
	for (i = 0; i < nr; i++) {
		struct status s = { 0 };

		tasks[i]->status(tasks[i], &s);
		up += s.requests->up + s.answers->up;
		json_object_array_add(services, service(&s));
	}
	json_object_object_add(all, "services", services);
	tell(file, nr, up);
	text = json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN |
					      JSON_C_TO_STRING_NOSLASHESCAPE);
	if (file->path && (!file->text || strcmp(file->text, text))) {
		rc = replace(file->path, text);
		if (rc && rc != file->said)
			note("%s: %s", file->path, strerror(-rc));
		file->said = rc;
		free(file->text);
		file->text = rc ? NULL : strdup(text);
	}
	json_object_put(all);
}

void status_open(struct status_file *file, const char *path)
{
	const char *dirs = getenv("RUNTIME_DIRECTORY");
	int rc = 0;

	*file = (struct status_file){ .started = (uint64_t)time(NULL) };
	/* a list, of which the unit has one */
	if (path)
		rc = asprintf(&file->path, "%s", path);
	else if (dirs && *dirs)
		rc = asprintf(&file->path, "%.*s/status.json", (int)strcspn(dirs, ":"), dirs);
	if (rc < 0)
		abort();
}

static uint64_t mix(uint64_t sum, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		sum = (sum ^ *p++) * 0x100000001b3ULL;
	return sum;
}

static uint64_t mix_link(uint64_t sum, const struct link *link)
{
	const unsigned int now[] = { link->up, link->blocked, link->node, link->code };

	sum = mix(sum, now, sizeof(now));
	sum = mix(sum, &link->changed, sizeof(link->changed));
	return mix(sum, link->why, strlen(link->why));
}

/* Of all that the file tells of. */
static uint64_t sum_of(struct task **tasks, unsigned int nr)
{
	uint64_t sum = 0xcbf29ce484222325ULL;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct status s = { 0 };

		tasks[i]->status(tasks[i], &s);
		const unsigned int now[] = { (unsigned int)s.context, s.served, s.in_flight,
					     s.waiting, s.unconfirmed };

		sum = mix(sum, now, sizeof(now));
		sum = mix(sum, s.counts, sizeof(*s.counts));
		sum = mix_link(mix_link(sum, s.requests), s.answers);
	}
	return sum;
}

uint64_t status_run(struct status_file *file, struct task **tasks, unsigned int nr, uint64_t now)
{
	/* If a call before the due time follows a change, it is written at that time. */
	if (now < file->due) {
		file->differs = file->differs || sum_of(tasks, nr) != file->sum;
		return file->differs ? file->due : NEVER;
	}
	file->sum = sum_of(tasks, nr);
	file->differs = false;
	look(file, tasks, nr);
	file->due = now + NSEC_PER_SEC;
	return NEVER;
}

void status_close(struct status_file *file)
{
	if (file->path && file->text)
		unlink(file->path);
	free(file->path);
	free(file->text);
}
