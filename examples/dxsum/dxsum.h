/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dxsum: checksums of directory trees, as a DX application.
 *
 * The work is a hierarchy of requests, one Runnable for each level. Every level
 * posts requests to the level below and collects them by owner:
 *
 *	level		lane	request		owner		Runnable
 *	main thread	-
 *	feeder		1	struct dir	struct tree	walk.c
 *	transaction	2	struct entry	struct dir	sum.c
 *	sub-request	3	struct sub	struct entry	sum.c, or the kernel's
 *							executor "sha256"
 *
 * The owner is the request of the level above, so "nothing of this owner exists"
 * means: that request has all it asked for.
 */
#ifndef _DXSUM_H
#define _DXSUM_H

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common.h"
#include "../names.h"

/* A deeper level is more urgent: what was begun ends before more is begun. */
enum { PRIO_FEEDER = 10, PRIO_TRANSACTION = 20, PRIO_SUB = 30 };

/* entry.status of what was a regular file when it was listed and is none now */
#define NOT_A_FILE	1

/* entry.status before the transaction ran */
#define NOT_READ	(-ECANCELED)

/**
 * struct entry - a name in a directory; the request of a transaction
 * @name: as readdir(3) gave it
 * @sub: the directory of this name, or %NULL: a file
 * @status: of a file: 0 when there is a digest, %NOT_READ, %NOT_A_FILE or a negative
 *	errno
 * @digest: of a file
 */
struct entry {
	char *name;
	struct dir *sub;
	int status;
	unsigned char digest[DIGEST_LEN];
};

/**
 * struct dir - a directory; the request of a feeder
 * @parent: its directory; %NULL for the one that stands for the arguments
 * @path: as find(1) would write it
 * @fd: open while its feeder executes
 * @stream: of @fd
 * @error: why not all of it could be listed, a negative errno
 * @nr: how many entries
 * @room: for how many there is memory
 * @entries: in the order of the output, once the feeder is done
 * @posted: its feeder was posted
 * @done: its feeder was collected
 * @shown: how many entries the output has passed
 * @prev: in the plan of the main thread, see output.c
 * @next: likewise
 *
 * A feeder owns its directory until the main thread has collected it.
 */
struct dir {
	struct dir *parent;
	char *path;
	int fd;
	DIR *stream;
	int error;
	size_t nr, room;
	struct entry *entries;
	bool posted, done;
	size_t shown;
	struct dir *prev, *next;
};

struct options {
	bool kernel, cmls, stats, thread;
	unsigned int workers, kernel_workers, ready, lanes[3];
	char **dirs;
};

/* What every level needs to know; written before the first post. */
struct app {
	struct options opt;
	Runnable feeder, transaction, reader;
	unsigned int feeders;		/* most feeders posted at a time */
	unsigned int window;		/* most transactions of one feeder */
	uint64_t sha256;		/* id of the kernel executor */

	/* told by --stats */
	atomic_ullong files, bytes, fallbacks, fd_waits;
};

extern struct app app;

/* walk.c */
struct dir *dir_new(struct dir *parent, const char *path);
struct entry *dir_add(struct dir *dir, const char *name);
void dir_free(struct dir *dir);
char *path_join(const char *dir, const char *name);
int ExecuteFeeder(Runnable *self, void *request);

/* sum.c */
int sum_init(void);
void sum_exit(void);
int ExecuteTransaction(Runnable *self, void *request);
int ExecuteReader(Runnable *self, void *request);

/* files.c */
int file_open(int at, const char *name, bool dir);
void file_closed(bool dir);

/* output.c */
struct tree;
struct tree *tree_new(char **dirs);
struct dir *tree_next(struct tree *tree);
void tree_done(struct tree *tree, struct dir *dir);
bool tree_end(struct tree *tree);

/* stats.c */
void stats_print(int context);

#endif /* _DXSUM_H */
