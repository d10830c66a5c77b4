/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of bench share: a workload is measured for several variants, dxk and
 * its rivals, in turns. Documentation/bench.rst says what each workload is.
 *
 * Each round is a process of its own, so that a variant may leave threads, children and
 * descriptors behind, and one that stands still can be given up.
 */
#ifndef BENCH_H
#define BENCH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATCH	64	/* DXK_BATCH_MAX */

struct variant;

/**
 * struct kind - a way to measure
 * @setup: before the round; may be NULL
 * @run: do @ops of it; the only part that is timed
 * @teardown: after the round; may be NULL
 * @measure: instead of the three: the value itself
 */
struct kind {
	void (*setup)(const struct variant *v);
	void (*run)(long ops);
	void (*teardown)(void);
	double (*measure)(const struct variant *v);
};

/**
 * struct variant - dxk or a rival in a workload
 * @name: unique in the workload; "NAME@X" is the point X of the curve NAME
 * @kind: how it is measured
 * @ops: how many requests a round
 * @arg: the kind's
 * @text: the kind's
 * @program: it needs this program, or NULL
 * @rounds: of what takes long: at most so many rounds, none is dropped; 0: as many as
 *	are asked for, after one that is dropped
 */
struct variant {
	const char *name;
	const struct kind *kind;
	long ops;
	long arg;
	const char *text;
	const char *program;
	int rounds;
};

/**
 * struct workload - what is measured for all its variants in turns
 * @row: number in the table
 * @name: for the command line and the results
 * @what: for the table
 * @unit: of the values
 * @variants: up to one without a name
 */
struct workload {
	int row;
	const char *name;
	const char *what;
	const char *unit;
	const struct variant *variants;
};

extern const struct workload workloads[];	/* up to one without a name */

/* --- for the kinds ----------------------------------------------------------- */

/* All of these are for the process of a round. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A further number of this round, beside the value. */
void extra(const char *name, double value);
uint64_t now(void);
/* What lies between is profiled; once a round. */
void profile_begin(void);
void profile_end(void);
bool profiling(void);
/* How many requests of this round were timed, when that is not @ops. */
void profile_ops(double ops);

/* A call that has to give @want; the counted path is one comparison longer. */
#define MUST(want, call)					\
	do {							\
		long got_ = (long)(call);			\
								\
		if (got_ != (long)(want))			\
			die("%s gave %ld", #call, got_);	\
	} while (0)

/* All slab caches of the kernel */
double slab_bytes(void);

/* The second thread of a measurement, and the process. */
void partner_start(void *(*fn)(void *), void *arg);
void partner_join(void);
/* Runs @fn in a child, which must not return, and gives its pid. */
int child_start(void (*fn)(void));
void child_end(int pid, int signal);
int server_start(const char *const argv[]);	/* pid */
int socket_connect(const char *path);		/* waits until it is there */
void read_all(int fd, void *buf, size_t len);
void write_all(int fd, const void *buf, size_t len);

/* --- the kinds ---------------------------------------------------------------- */

/* kernel_side.c: @text is the file of dxk_bench.ko, @arg what it says there */
extern const struct kind kernel_side;
extern const struct kind driver_ioctl;

/* dxk_calls.c: @arg is enum dxk_dispatch, of dxk_post_alone the batch */
extern const struct kind dxk_kernel_trip, dxk_user_trip, dxk_user_call, dxk_post_alone,
			 dxk_process;

/* uring.c: @arg is the batch */
extern const struct kind uring_nop;

/* pingpong.c */
extern const struct kind futex_trip, eventfd_trip, pipe_trip, socketpair_trip, mq_trip;

/* batches.c: to a worker in another process, 64 at a time */
extern const struct kind socketpair_each, socketpair_mmsg, socketpair_stream, mq_batch;

/* servers.c */
extern const struct kind beanstalkd_batch, redis_batch;

/* pools.c, tbb.cpp, library.c: CHUNK at a time; @arg see there */
extern const struct kind list_pool, glib_pool, tbb_tasks, library, library_each;

/* mailbox.c, strand.cpp: @arg mailboxes */
extern const struct kind aglet_trip, request_trip, glib_mail_trip;
extern const struct kind aglet_mails, glib_mails, asio_mails;
/* foms.c: @arg are called at a time */
extern const struct kind fom_turns, request_turns, fom_memory;
/* joins.c: @arg are the sources of the wait for the last one, 0: none waits */
extern const struct kind joins;

/* events.c: @arg connections at a time; @text: of epoll with a pool, of requests 64 a fetch */
extern const struct kind reactor_events, request_events, epoll_events;

/* urgent.c: lower ones that start first; more urgent ones that do */
extern const struct kind mq_urgent, glib_urgent;
extern const struct kind mq_stream, glib_stream, beanstalkd_stream;

/* levels.c, tbb.cpp: how many of 2420 requests were executed */
extern const struct kind library_levels, glib_levels, tbb_levels;

/* idle.c: wake-ups */
extern const struct kind dxk_idle, dxk_waiting, kworker_idle;

/* crowd.c: wake-ups per request */
extern const struct kind dxk_crowd, eventfd_crowd, epoll_crowd;

/* death.c */
extern const struct kind dxk_death, beanstalkd_death;

/* memory.c: bytes */
extern const struct kind dxk_memory, held_memory, mq_memory, redis_memory;

#ifdef __cplusplus
}
#endif
#endif /* BENCH_H */
