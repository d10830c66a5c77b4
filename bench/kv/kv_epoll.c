// SPDX-License-Identifier: GPL-2.0-only
/*
 * What scripts/bench/kv.sh measures examples/dxkv beside: one process, one thread, a loop of
 * epoll_wait(2), with the same parser, commands and SQLite statements. What all connections that
 * are ready ask for is one transaction, and is answered after its commit.
 *
 *	kv_epoll PORT FILE	which exists
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* For open_db(), and the SQL */
#define bind bind_sql
#include "../../examples/dxkv/store.c"
#undef bind

#include "../../examples/dxkv/dxkv.h"

#define EVENTS	64
#define INPUT	(1 << 20)

struct program program = { .name = "kv_epoll" };
struct server server = { .value_max = 1 << 19 };

struct client {
	int fd;
	bool quits;
	size_t len;
	struct bytes reply;
	char in[INPUT];
};

static struct db *db;
static struct request request;
static enum { NONE, READS, WRITES } transaction;

static void commits(void)
{
	if (transaction && db_commit(db))
		die(NOT_RUN, "database");
	transaction = NONE;
}

static void begins(bool writes)
{
	if (transaction == WRITES || (transaction && !writes))
		return;
	commits();
	if (db_begin(db, writes))
		die(NOT_RUN, "database");
	transaction = writes ? WRITES : READS;
}

static void mget(struct client *c)
{
	put_array(&c->reply, request.nr - 1);
	for (unsigned int i = 1; i < request.nr; i++)
		if (db_get(db, &request.args[i], &c->reply))
			die(NOT_RUN, "database");
}

static void executes(struct client *c)
{
	const char *wrong;
	size_t at = 0;
	ssize_t n = 0;

	while (!c->quits && (n = resp_parse(&request, c->in + at, c->len - at, server.value_max,
					    &wrong)) > 0) {
		begins(false);
		switch (command(&request, db, false, &c->reply)) {
		case NEEDS_WRITER:
			begins(true);
			command(&request, db, true, &c->reply);
			break;
		case NEEDS_FORKS:
			mget(c);
			break;
		case ANSWERED:
			break;
		default:
			c->quits = true;
		}
		at += (size_t)n;
	}
	c->quits |= n < 0;
	c->len -= at;
	memmove(c->in, c->in + at, c->len);
}

static void ends(struct client *c)
{
	close(c->fd);
	free(c->reply.p);
	free(c);
}

/* Replies are short, and clients read them. Return: does it go on? */
static bool answers(struct client *c)
{
	size_t at = 0;

	while (at < c->reply.len) {
		ssize_t n = write(c->fd, c->reply.p + at, c->reply.len - at);

		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	c->reply.len = 0;
	return !c->quits;
}

static void accepts(int epoll, int listens)
{
	struct client *c = calloc(1, sizeof(*c));
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };

	c->fd = accept(listens, NULL, NULL);
	if (c->fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &e))
		die(NOT_RUN, "accept: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	unsigned int port = argc == 3 ? (unsigned int)atoi(argv[1]) : 0;
	struct epoll_event events[EVENTS], e = { .events = EPOLLIN };
	int epoll = epoll_create1(0), listens, nr;

	if (argc != 3)
		die(NOT_RUN, "PORT FILE");
	path = argv[2];
	settings = "PRAGMA synchronous = NORMAL";
	if (open_db(NULL, NULL, (void **)&db))
		return NOT_RUN;
	listens = listen_at("127.0.0.1", &port, 0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listens, &e);
	for (;;) {
		nr = epoll_wait(epoll, events, EVENTS, -1);
		for (int i = 0; i < nr; i++) {
			struct client *c = events[i].data.ptr;
			ssize_t n;

			if (!c) {
				accepts(epoll, listens);
				continue;
			}
			n = read(c->fd, c->in + c->len, INPUT - c->len);
			c->len += n > 0 ? (size_t)n : 0;
			c->quits |= n <= 0;
			executes(c);
		}
		commits();
		for (int i = 0; i < nr; i++)
			if (events[i].data.ptr && !answers(events[i].data.ptr))
				ends(events[i].data.ptr);
	}
}
