// SPDX-License-Identifier: GPL-2.0-only
/*
 * 64 jobs to a worker in another process through a server: beanstalkd, Redis; over
 * Unix sockets, many commands in one write.
 *
 * beanstalkd is spared the way back: its worker only deletes the job, which is the
 * acknowledgement, and tells through a pipe when 64 are done.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "servers.h"

static int server, worker, fd, done[2];
static char line[4096];

/* --- lines -------------------------------------------------------------------- */

void stream_open(struct stream *s, const char *path)
{
	s->fd = socket_connect(path);
	s->from = s->to = 0;
}

/* The next @len bytes. */
const char *stream_bytes(struct stream *s, size_t len)
{
	while (s->to - s->from < len) {
		ssize_t got;

		if (s->from) {
			memmove(s->buf, s->buf + s->from, s->to - s->from);
			s->to -= s->from;
			s->from = 0;
		}
		got = read(s->fd, s->buf + s->to, sizeof(s->buf) - s->to);
		if (got <= 0)
			die("the server gave %zd", got);
		s->to += got;
	}
	s->from += len;
	return s->buf + s->from - len;
}

/* The next line, which ends with a zero instead of its carriage return. */
const char *stream_line(struct stream *s)
{
	size_t len = 0;
	char *end;

	while (!(end = memchr(s->buf + s->from, '\n', s->to - s->from))) {
		size_t have = s->to - s->from;

		stream_bytes(s, have + 1);
		s->from -= have + 1;
	}
	len = end - (s->buf + s->from);
	s->from += len + 1;
	s->buf[s->from - 2] = 0;
	return s->buf + s->from - len - 1;
}

/* --- beanstalkd ------------------------------------------------------------------ */

int beanstalkd_start(const char *path)
{
	char listen[128];
	const char *argv[] = { BEANSTALKD, "-l", listen, NULL };

	unlink(path);
	snprintf(listen, sizeof(listen), "unix:%s", path);
	return server_start(argv);
}

void beanstalkd_put(struct stream *s, long nr, long prio)
{
	static char text[BATCH * 64];
	size_t len = 0;

	for (long i = 0; i < nr; i++)
		len += sprintf(text + len, "put %ld 0 600 16\r\n%016lx\r\n", prio, i);
	write_all(s->fd, text, len);
	for (long i = 0; i < nr; i++)
		if (strncmp(stream_line(s), "INSERTED ", 9))
			die("no INSERTED");
}

/* The ids of @nr jobs that now are this connection's. */
void beanstalkd_reserve(struct stream *s, long nr, long *ids)
{
	static char text[BATCH * 16];
	size_t len = 0, size;

	for (long i = 0; i < nr; i++)
		len += sprintf(text + len, "reserve\r\n");
	write_all(s->fd, text, len);
	for (long i = 0; i < nr; i++) {
		if (sscanf(stream_line(s), "RESERVED %ld %zu", &ids[i], &size) != 2)
			die("no RESERVED");
		stream_bytes(s, size + 2);
	}
}

void beanstalkd_delete(struct stream *s, long nr, const long *ids)
{
	static char text[BATCH * 32];
	size_t len = 0;

	for (long i = 0; i < nr; i++)
		len += sprintf(text + len, "delete %ld\r\n", ids[i]);
	write_all(s->fd, text, len);
	for (long i = 0; i < nr; i++)
		if (strcmp(stream_line(s), "DELETED"))
			die("no DELETED");
}

static struct stream stream;

static void beanstalkd_main(void)
{
	static struct stream mine;
	long ids[BATCH];

	stream_open(&mine, SOCKET);
	for (;;) {
		beanstalkd_reserve(&mine, BATCH, ids);
		beanstalkd_delete(&mine, BATCH, ids);
		write_all(done[1], "", 1);
	}
}

static void beanstalkd_setup(const struct variant *v)
{
	(void)v;
	server = beanstalkd_start(SOCKET);
	MUST(0, pipe(done));
	stream_open(&stream, SOCKET);
	worker = child_start(beanstalkd_main);
}

static void beanstalkd_run(long ops)
{
	char byte;

	/* whole batches: the worker waits for 64 */
	for (ops = (ops + BATCH - 1) / BATCH; ops; ops--) {
		beanstalkd_put(&stream, BATCH, 0);
		read_all(done[0], &byte, 1);
	}
}

static void servers_end(void)
{
	child_end(worker, SIGKILL);
	child_end(server, SIGKILL);
}

const struct kind beanstalkd_batch = {
	.setup = beanstalkd_setup, .run = beanstalkd_run, .teardown = servers_end,
};

/* --- Redis --------------------------------------------------------------------- */

int redis_start(const char *path)
{
	const char *argv[] = { REDIS, "--port", "0", "--unixsocket", path, "--save", "",
			       "--appendonly", "no", "--daemonize", "no", NULL };

	unlink(path);
	return server_start(argv);
}

/* Pushes 64 values with one command; the reply is the length of the list. */
static void redis_push(int to, const char *list)
{
	static char text[BATCH * 32];
	size_t len = sprintf(text, "*%d\r\n$5\r\nLPUSH\r\n$4\r\n%s\r\n", BATCH + 2, list);

	for (int i = 0; i < BATCH; i++)
		len += sprintf(text + len, "$16\r\n%016x\r\n", i);
	write_all(to, text, len);
}

/* Waits for up to 64 values of @list; the values are checked to be there. */
static int redis_pop(struct stream *s, const char *list)
{
	int nr, len;

	/* BLMPOP timeout 1 key RIGHT COUNT 64 */
	len = sprintf(line, "*7\r\n$6\r\nBLMPOP\r\n$1\r\n0\r\n$1\r\n1\r\n$4\r\n%s\r\n"
		      "$5\r\nRIGHT\r\n$5\r\nCOUNT\r\n$2\r\n%d\r\n", list, BATCH);
	write_all(s->fd, line, len);
	MUST(0, strcmp(stream_line(s), "*2"));
	stream_line(s);			/* length and name of the list */
	stream_line(s);
	if (sscanf(stream_line(s), "*%d", &nr) != 1)
		die("no values");
	for (int i = 0; i < nr; i++) {
		MUST(0, strcmp(stream_line(s), "$16"));
		stream_bytes(s, 18);
	}
	return nr;
}

static void redis_pushed(struct stream *s)
{
	if (*stream_line(s) != ':')
		die("no reply to LPUSH");
}

static void redis_main(void)
{
	static struct stream mine;

	stream_open(&mine, SOCKET);
	for (;;) {
		MUST(BATCH, redis_pop(&mine, "work"));
		redis_push(mine.fd, "done");
		redis_pushed(&mine);
	}
}

static void redis_setup(const struct variant *v)
{
	(void)v;
	server = redis_start(SOCKET);
	stream_open(&stream, SOCKET);
	fd = stream.fd;
	worker = child_start(redis_main);
}

static void redis_run(long ops)
{
	for (ops = (ops + BATCH - 1) / BATCH; ops; ops--) {
		redis_push(fd, "work");
		redis_pushed(&stream);
		MUST(BATCH, redis_pop(&stream, "done"));
	}
}

const struct kind redis_batch = {
	.setup = redis_setup, .run = redis_run, .teardown = servers_end,
};
