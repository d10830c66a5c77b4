/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the log share: its calls, the content of log files, a thread
 * that logs all the time, a disk that is nearly full.
 */
#ifndef DXT_LOG_H
#define DXT_LOG_H

#include "lib/puppet.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define DIR_	"/tmp/dxk-log-test"
#define LOG	DIR_ "/log"
#define SMALL	DIR_ "/small"		/* a file system of few pages */

/* --- calls ------------------------------------------------------------------- */

int say(int member, uint32_t flags, uint64_t deadline, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int read_log(const struct dxt *t, struct dxk_log_record *r,
	     unsigned int nr, uint64_t deadline);
/* Reads until there is nothing; how many were messages. */
int discard(const struct dxt *t);
bool readable(const struct dxt *t);
int open_log(const char *path);
int write_raw(int member, const void *text, uint32_t len);
/* A context with a Log Pool of @entries, started, its own messages read. */
int up(struct dxt *t, unsigned int entries, unsigned int full);

#define UP(_entries, _full)	ASSERT_EQ(0, up(&self->t, _entries, _full))

/* --- log files --------------------------------------------------------------- */

struct line {
	unsigned long long seq;
	unsigned int thread;
	bool gap;
	char text[512];
};

/* The next line; false at the end. A malformed one has sequence number 0. */
bool get_line(FILE *f, struct line *l);

/* What a file holds. */
struct content {
	unsigned int messages;		/* "message N" */
	unsigned int first, last;	/* N */
	unsigned int lost;
	unsigned int disorder;		/* messages out of order, jumps in the numbers */
	unsigned int malformed;
	unsigned long long seq;		/* of the last line */
	/* the first that does not follow: its number, that before, and what it says */
	unsigned long long odd, before;
	char odd_text[64];
};

/* Adds a file; the next one goes on where it ends. */
void content_add(struct content *c, const char *path);
struct content content_of(const char *path);
/* Is that the text of one of its messages? */
bool in_file(const char *path, const char *text);

/* --- a thread that logs ------------------------------------------------------ */

struct talker {
	struct dxt *t;
	_Atomic bool stop;
	_Atomic unsigned int accepted;
	int member;
	int rc;
};

/* The thread: "message 1", "message 2", until it is told to stop. */
void *talk(void *arg);

/* --- disks ------------------------------------------------------------------- */

/* -1: there is none. */
off_t size_of(const char *path);
/* A file system of 4 pages, all but one of them filled with SMALL/ballast. */
int small_mount(void);
void small_umount(void);

#endif /* DXT_LOG_H */
