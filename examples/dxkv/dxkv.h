/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dxkv: a server of keys and values in a SQLite file, with the Redis protocol.
 *
 * A connection has an observer that waits for bytes. Its task takes requests out of what has come
 * and executes them, in their order, with the SQLite connection of the worker that it is run by.
 * A request may need more:
 *
 *	what writes	is for the writer, a task with a key, so that there is one at a time. It
 *			commits what has come from all connections by then as one transaction,
 *			and they are answered afterwards
 *	MGET		defers one task for each key, and is answered by the continuation of their
 *			join point
 *
 * Meanwhile the connection has no observer, so it is not read, and keeps its order.
 */
#ifndef _DXKV_H
#define _DXKV_H

#include <stdatomic.h>

#include <dx_server.h>

#include "resp.h"
#include "store.h"

struct server {
	TaskQueue *tasks;
	ConnectionPool *pool;
	size_t value_max;
	int64_t write_ns;	/* how long a client may leave a reply in the socket */
	atomic_uint commits;	/* odd: there is one */
};

extern struct server server;

/* What executing a request says */
enum verdict { ANSWERED, QUITS, NEEDS_WRITER, NEEDS_FORKS, FAILED };

/* command.c: @writes: the caller is the writer. FAILED: the transaction is to be rolled back */
enum verdict command(const struct request *request, struct db *db, bool writes,
		     struct bytes *reply);
bool command_reads(const struct request *request);

/* session.c */
extern const ConnectionOps session_ops;
void sessions_init(void);

#endif /* _DXKV_H */
