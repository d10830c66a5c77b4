/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Job servers of a measurement, and what they say.
 */
#ifndef BENCH_SERVERS_H
#define BENCH_SERVERS_H

#include <stddef.h>

#define BEANSTALKD	"/usr/bin/beanstalkd"
#define REDIS		"/usr/bin/redis-server"
#define SOCKET		"/tmp/dxk_bench.sock"

/* Answers that came and were not looked at are buf[from..to). */
struct stream {
	int fd;
	size_t from, to;
	char buf[16384];
};

void stream_open(struct stream *s, const char *path);
const char *stream_line(struct stream *s);
const char *stream_bytes(struct stream *s, size_t len);

/* Both give the pid of the server. */
int beanstalkd_start(const char *path);
int redis_start(const char *path);

/* @nr is at most BATCH. */
void beanstalkd_put(struct stream *s, long nr, long prio);
void beanstalkd_reserve(struct stream *s, long nr, long *ids);
void beanstalkd_delete(struct stream *s, long nr, const long *ids);

#endif /* BENCH_SERVERS_H */
