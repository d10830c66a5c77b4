/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A case for every call of uapi/dxk.h, for tests that make each of them fail in each
 * way: the n-th allocation or copy (failnth.c), memory that is not there
 * (usercopy.c).
 *
 * A case prepares the state that its call needs, says which memory the call reads and
 * writes, and afterwards makes sure that the call was made once and takes back what
 * it made. Between two cases the context is as it was when it was made: level().
 */
#ifndef DXK_CALLS_H
#define DXK_CALLS_H

#include "lib/arg.h"
#include "lib/dxt.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OWNER		3
#define DATA		32		/* bytes of data of each request */
#define NAME		"dxk-calls"
#define FILE_		"/tmp/dxk-calls"
#define HOUR_MS		3600000
#define UID		1234
#define BUFS		4

enum { ON_CONTROL = 1, ON_CONTEXT = 2, ON_CLIENT = 4, ON_WORKER = 8 };

/* What of the memory at fault decides the answer. */
enum { WHOLE, ELEMENTS, IGNORED };

/* Memory that a call reads or writes, its argument being one. */
struct buf {
	void *mem;
	__u64 *where;	/* the field that holds its address */
	uint32_t len;
	uint32_t unit;		/* ELEMENTS: bytes of one; those before the fault count */
	int kind;
	bool out;
};

#define LEVELS 14

struct env {
	struct dxt t;			/* running */
	struct dxt other;		/* to be started and stopped */
	int me;				/* a worker of this thread, and command handler */
	unsigned int id;
	int file;			/* a regular file */
	uint64_t nop, echo;		/* kernel executors */
	uint64_t handle;
	int second;			/* a worker of other */
	union arg arg;
	struct buf buf[BUFS];
	unsigned int bufs;
	/* memory of the calls */
	struct dxk_post_entry entry[2];
	struct dxk_result result[2];
	struct dxk_work work[2];
	struct dxk_done done[2];
	struct dxk_running running[2];
	struct dxk_post_more more;
	struct dxk_done_more done_more;
	uint64_t name;
	uint32_t state;
	int pipe[2];
	struct dxk_log_record record[2];
	uint64_t counts[DXK_LATENCY_BUCKETS];
	struct dxk_sample sample[2];
	struct dxk_request_info request[DXK_BATCH_MAX];
	unsigned char data[2][DATA], echoed[2][DATA];
	char text[DXK_COMMAND_MAX];
	char reply[DXK_COMMAND_MAX];
	/* what there was at first */
	int level_fd[LEVELS];
	long long level[LEVELS];
	int dir;
	unsigned int contexts;
	int free_fd;			/* the lowest descriptor that is not in use */
};

struct row {
	const char *name;
	unsigned long cmd;
	unsigned int on;
	uint32_t size;
	/* Prepares the state, fills in arg and buf. 0 or why not. */
	const char *(*set)(struct env *e);
	/* After the call, which gave @rc: checks, takes back. 0 or what is wrong. */
	const char *(*end)(struct env *e, int rc);
	int want;		/* the answer when nothing fails */
	int read_only;		/* the answer with an argument that cannot be written */
	uint32_t written;	/* so many bytes of it have to be writable; 0: all */
	bool heavy;		/* takes long */
	bool fewer;		/* may answer less than wanted when something fails */
};

extern const struct row context_rows[], log_rows[], command_rows[], work_rows[];
/* All of them. */
extern struct row rows[];
extern unsigned int nr_rows;
#define ROWS	nr_rows

#define ROW(_name, _cmd, _on, _type, _set, _end, _want, _ro, ...)		\
	{ .name = _name, .cmd = DXK_IOC_##_cmd, .on = _on,			\
	  .size = sizeof(struct _type), .set = _set, .end = _end,		\
	  .want = _want, .read_only = _ro, ##__VA_ARGS__ }
#define MEMBER	(ON_CLIENT | ON_WORKER)

/* Says that the call reads or writes (@out) @mem, whose address is in *@where. */
void use_buf(struct env *e, __u64 *where, void *mem, uint32_t len, bool out, int kind,
	     uint32_t unit);
const char *set_nothing(struct env *e);
const char *end_nothing(struct env *e, int rc);

const char *env_up(struct env *e);
void env_down(struct env *e);
int row_fd(struct env *e, const struct row *r);
/* All set for the call; or why not. */
const char *prepare(struct env *e, const struct row *r);
/* The module's calls, asked from itself: one without a case is none that is tested. */
const char *complete(struct env *e);
/* What there is now is how it shall be after each call. */
void set_level(struct env *e);
/* Is all as at first, and has every request ended once? Else what is not. */
const char *level(struct env *e);

#endif /* DXK_CALLS_H */
