// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contexts in /sys/kernel/dxk. Each can disappear at any time, so only what can be read at
 * this moment is known of it.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "common.h"

#define TEXT_MAX	4096	/* the maximum size of a file of sysfs */

int sysfs_read(int dir, const char *path, char *text, size_t size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	err = errno;
	close(fd);
	if (n < 0)
		return -err;
	while (n && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return (int)n;
}

int sysfs_u64(int dir, const char *path, uint64_t *value)
{
	char text[32], *end;
	int n = sysfs_read(dir, path, text, sizeof(text));

	if (n < 0)
		return n;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return end == text || *end || errno ? -EINVAL : 0;
}

uint64_t sysfs_number(int dir, const char *path)
{
	uint64_t value;

	return sysfs_u64(dir, path, &value) ? 0 : value;
}

/* --- directories ----------------------------------------------------------- */

/* A mode in octal, an empty line and all with a letter are texts. */
static struct json_object *value_of(const char *text)
{
	long long number;
	char *end;

	if (text[0] == '0' && text[1])
		return json_object_new_string(text);
	errno = 0;
	number = strtoll(text, &end, 10);
	if (end != text && !*end && !errno)
		return json_object_new_int64(number);
	return json_object_new_string(text);
}

static bool digits(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if (!isdigit((unsigned char)*text))
			return false;
	return true;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	if (digits((*a)->d_name) && digits((*b)->d_name)) {
		unsigned long x = strtoul((*a)->d_name, NULL, 10);
		unsigned long y = strtoul((*b)->d_name, NULL, 10);

		return (x > y) - (x < y);
	}
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

struct json_object *sysfs_dir(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct json_object *object = NULL;
	struct dirent **entry;
	int i, nr;

	if (fd < 0)
		return NULL;
	nr = scandirat(fd, ".", &entry, not_hidden, by_name);
	if (nr < 0)
		goto err_close;
	object = json_object_new_object();
	for (i = 0; i < nr; i++) {
		const char *name = entry[i]->d_name;
		struct json_object *value = NULL;
		char text[TEXT_MAX];

		if (entry[i]->d_type == DT_DIR)
			value = sysfs_dir(fd, name);
		else if (sysfs_read(fd, name, text, sizeof(text)) >= 0)
			value = value_of(text);
		if (value)
			json_object_object_add(object, name, value);
		free(entry[i]);
	}
	free(entry);
err_close:
	close(fd);
	return object;
}

/* --- contexts -------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

int ctx_all(unsigned int **ids)
{
	DIR *dir = opendir(SYSFS);
	unsigned int *all = NULL;
	struct dirent *entry;
	int nr = 0, err;

	*ids = NULL;
	if (!dir)
		return -errno;
	errno = 0;
	while ((entry = readdir(dir))) {
		void *more;

		/* The executors are there, too. */
		if (!digits(entry->d_name))
			continue;
		more = reallocarray(all, (size_t)nr + 1, sizeof(*all));
		if (!more) {
			errno = ENOMEM;
			break;
		}
		all = more;
		all[nr++] = (unsigned int)strtoul(entry->d_name, NULL, 10);
	}
	err = errno;
	closedir(dir);
	if (err) {
		free(all);
		return -err;
	}
	if (nr)
		qsort(all, (size_t)nr, sizeof(*all), by_number);
	*ids = all;
	return nr;
}

int ctx_open(unsigned int id, struct ctx *ctx)
{
	char path[sizeof(SYSFS) + 16], text[DXK_NAME_LEN];
	int err;

	snprintf(path, sizeof(path), SYSFS "/%u", id);
	ctx->id = id;
	ctx->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ctx->dir < 0)
		return -errno;
	err = sysfs_read(ctx->dir, "state", text, sizeof(text));
	if (err < 0)
		goto err_close;
	if (sysfs_read(ctx->dir, "name", ctx->name, sizeof(ctx->name)) < 0)
		ctx->name[0] = '\0';
	return 0;

err_close:
	ctx_close(ctx);
	return err == -ENODEV ? -ENOENT : err;
}

void ctx_close(struct ctx *ctx)
{
	close(ctx->dir);
	ctx->dir = -1;
}

bool ctx_is_id(const char *word)
{
	return digits(word);
}

int no_module(void)
{
	return fail("dxkctl doctor", "there is no " SYSFS);
}

bool parse_id(const char *word, unsigned int *id)
{
	/* in octal it would be another one */
	return (word[0] != '0' || !word[1]) && parse_u32(word, id);
}

static int find_id(const char *word, struct ctx *ctx)
{
	unsigned int id;
	int err = parse_id(word, &id) ? ctx_open(id, ctx) : -ENOENT;

	if (err == -EACCES)
		return fail("ask its owner for read permission, or become root",
			    "context %s may not be read by you", word);
	if (err)
		return fail("dxkctl list", "there is no context %s", word);
	return DONE;
}

int ctx_find(const char *word, struct ctx *ctx)
{
	struct ctx candidate;
	unsigned int *ids;
	int i, nr, found = 0;

	nr = ctx_all(&ids);
	if (nr < 0)
		return no_module();
	if (digits(word)) {
		free(ids);
		return find_id(word, ctx);
	}
	for (i = 0; i < nr; i++) {
		if (ctx_open(ids[i], &candidate))
			continue;
		/* An empty name is no context's name. */
		if (!*word || strcmp(candidate.name, word)) {
			ctx_close(&candidate);
			continue;
		}
		if (found++)
			ctx_close(ctx);
		*ctx = candidate;
	}
	free(ids);
	if (!found)
		return fail("dxkctl list", "there is no context '%s' that you may read",
			    word);
	/* Each IPC namespace has its own names, the administrator sees them all. */
	if (found > 1) {
		ctx_close(ctx);
		return fail("dxkctl list, and give the id",
			    "%d contexts have the name '%s'", found, word);
	}
	return DONE;
}

int ctx_join_read(const struct ctx *ctx)
{
	int ctl = dxk_open(), fd;
	char state[16];

	if (ctl < 0)
		return ctl;
	fd = dxk_ctx_join_id(ctl, ctx->id, DXK_ACCESS_READ, 0);
	close(ctl);
	/* While its directory exists no other context has its id. */
	if (fd >= 0 && sysfs_read(ctx->dir, "state", state, sizeof(state)) < 0) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}
