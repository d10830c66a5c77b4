// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Feeders (lane 1): each lists one directory, makes a transaction of every file
 * in it and waits for all of them.
 *
 * A feeder does not post feeders for the directories that it finds: it would wait
 * for its own lane, which the lanes do not keep free of deadlock. It hands them to
 * the main thread instead, as part of what it returns.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dxsum.h"

/* --- directories and their entries ----------------------------------------- */

char *path_join(const char *dir, const char *name)
{
	size_t len = strlen(dir);
	const char *slash = len && dir[len - 1] != '/' ? "/" : "";
	char *path;

	if (asprintf(&path, "%s%s%s", dir, slash, name) < 0)
		die(NOT_RUN, "memory exhausted");
	return path;
}

struct dir *dir_new(struct dir *parent, const char *path)
{
	struct dir *dir = xrealloc(NULL, 1, sizeof(*dir));

	*dir = (struct dir){
		.parent = parent,
		.path = parent ? path_join(parent->path, path) : strdup(path),
		.fd = AT_FDCWD,
	};
	if (!dir->path)
		die(NOT_RUN, "memory exhausted");
	return dir;
}

struct entry *dir_add(struct dir *dir, const char *name)
{
	struct entry *e;

	if (dir->nr == dir->room) {
		dir->room = dir->room ? 2 * dir->room : 16;
		dir->entries = xrealloc(dir->entries, dir->room, sizeof(*e));
	}
	e = &dir->entries[dir->nr++];
	*e = (struct entry){ .name = strdup(name), .status = NOT_READ };
	if (!e->name)
		die(NOT_RUN, "memory exhausted");
	return e;
}

void dir_free(struct dir *dir)
{
	size_t i;

	for (i = 0; i < dir->nr; i++)
		free(dir->entries[i].name);
	free(dir->entries);
	free(dir->path);
	free(dir);
}

/* What a name is, without following a symbolic link: DT_*, or a negative errno. */
static int type_of(int fd, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type;
	if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return IFTODT(st.st_mode);
}

static void add_found(struct dir *dir, const struct dirent *d)
{
	int type = type_of(dir->fd, d);
	struct entry *e;

	if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
		return;
	if (type >= 0 && type != DT_REG && type != DT_DIR)
		return;
	e = dir_add(dir, d->d_name);
	if (type < 0)
		e->status = type;
	else if (type == DT_DIR)
		e->sub = dir_new(dir, d->d_name);
	/* Files are opened relative to @fd, but named by the whole path. */
	else if (strlen(dir->path) + 1 + strlen(d->d_name) >= PATH_MAX)
		e->status = -ENAMETOOLONG;
}

/*
 * The order of the output is that of the bytes of the paths. What is below a
 * directory has its name and a slash in front, so that is what to compare.
 */
static int key_at(const struct entry *e, size_t i)
{
	size_t len = strlen(e->name);

	if (i < len)
		return (unsigned char)e->name[i];
	return e->sub && i == len && (!len || e->name[len - 1] != '/') ? '/' : -1;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	size_t i = 0;

	while (x->name[i] && x->name[i] == y->name[i])
		i++;
	if (key_at(x, i) == key_at(y, i))
		i++;
	return key_at(x, i) - key_at(y, i);
}

/*
 * The directory stays open: the transactions open their files relative to it, so
 * that nobody can put another one in its place.
 * Return: 0 or a negative errno; what was found up to then counts.
 */
static int list_dir(struct dir *dir)
{
	struct dirent *d;

	dir->fd = file_open(AT_FDCWD, dir->path, true);
	if (dir->fd < 0)
		return dir->fd;
	dir->stream = fdopendir(dir->fd);
	if (!dir->stream)
		die(NOT_RUN, "memory exhausted");
	while (errno = 0, d = readdir(dir->stream))
		add_found(dir, d);
	return -errno;
}

static void close_dir(struct dir *dir)
{
	if (!dir->stream)
		return;
	closedir(dir->stream);
	file_closed(true);
}

/* --- the transactions of a feeder ------------------------------------------ */

/* The next file at or behind @i that waits for its transaction. */
static size_t next_file(const struct dir *dir, size_t i)
{
	while (i < dir->nr && (dir->entries[i].sub || dir->entries[i].status != NOT_READ))
		i++;
	return i;
}

/*
 * Posts transactions for the files from *@at on, as many as may be @out at a time.
 * Return: how many were taken, 0 when the room is used up, or a negative errno.
 */
static int post_transactions(struct dir *dir, size_t *at, unsigned int out)
{
	RQPost posts[DXK_BATCH_MAX];
	unsigned int nr = 0;
	size_t i = *at;
	int taken;

	for (; i < dir->nr && nr < app.window - out; i = next_file(dir, i + 1))
		posts[nr++] = (RQPost){
			.pOObject = dir,
			.pXObject = &app.transaction,
			.pPObject = &dir->entries[i],
			.RQEPriority = PRIO_TRANSACTION,
			.RQEAttrs = PXR_LANE2 | PXR_REJOIN | PXR_WAITIF_BUSY,
		};
	if (!nr)
		return 0;
	taken = post(posts, nr);
	if (taken == (int)nr)
		*at = i;
	else if (taken > 0)
		*at = (struct entry *)posts[taken].pPObject - dir->entries;
	return taken;
}

/* Return: how many were collected, 0 when there are none. */
static unsigned int collect_transactions(struct dir *dir, bool wait)
{
	RQElement done[DXK_BATCH_MAX];
	struct entry *file;
	int nr, i;

	do
		nr = GetRejoinRequests(dir, done, DXK_BATCH_MAX, 1, NULL, 0,
				       wait ? -1 : 0, NULL);
	while (nr == -EINTR || nr == -ESHUTDOWN);
	if (nr < 0)
		die(NOT_RUN, "transactions cannot be collected: %s", strerror(-nr));
	for (i = 0; i < nr; i++) {
		file = done[i].pPObject;
		file->status = done[i].RQEStatus;
		note_status(&done[i]);
	}
	return (unsigned int)nr;
}

/*
 * A window bounds how many transactions of this feeder are alive, and thereby how
 * many entries of the pools a directory with a million files can take.
 */
static void sum_files(struct dir *dir)
{
	unsigned int out = 0;
	size_t i = next_file(dir, 0);
	int rc;

	while (i < dir->nr || out) {
		if (program.stopped)
			i = dir->nr;	/* only the posted ones are left */
		rc = i < dir->nr ? post_transactions(dir, &i, out) : 0;
		if (rc > 0) {
			out += (unsigned int)rc;
		} else if (rc < 0 && rc != -ESHUTDOWN && !out) {
			/* no own request whose end could give room */
			dir->entries[i].status = rc;
			i = next_file(dir, i + 1);
		}
		if (out)
			out -= collect_transactions(dir, i == dir->nr || rc <= 0);
	}
}

/* The Runnable of a feeder. */
int ExecuteFeeder(Runnable *self, void *request)
{
	struct dir *dir = request;

	(void)self;
	/* The names on the command line are there already. */
	if (dir->parent)
		dir->error = list_dir(dir);
	qsort(dir->entries, dir->nr, sizeof(*dir->entries), compare_entries);
	sum_files(dir);
	close_dir(dir);
	return 0;
}
