// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A session: a client's requests, one after the other.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../common.h"
#include "dxkv.h"

/* The key of the writer */
#define WRITER		1
/* Bytes of replies after which a session waits until the client has taken them */
#define REPLY_MAX	(64 << 10)
/* Bytes of a request */
#define REQUEST_MAX	(64 << 20)

/*
 * It belongs to whoever goes on with it, one at a time: the task with its data, the writer, the
 * continuation of its MGET.
 */
struct session {
	Connection *c;
	atomic_uint holds;
	struct bytes in;	/* what has come ... */
	size_t at;		/* ... and was executed */
	struct bytes out;
	struct request request;
	size_t len;		/* bytes of that, in @in */
	bool quits;
	JoinPoint join;		/* of nothing: its continuation has a place in the queue */
	struct session *next;	/* for the writer */
	unsigned int nr;	/* requests in the writer's transaction ... */
	size_t begin;		/* ... and where their replies begin */
	enum verdict stop;
};

struct part {
	struct mget *all;
	struct slice key;
	struct bytes value;
	int rc;
};

struct mget {
	struct session *s;
	JoinPoint join;
	unsigned int commits;	/* server.commits at its begin */
	unsigned int nr;
	struct part parts[];
};

static struct {
	pthread_mutex_t lock;
	struct session *first, **last;
	bool pushed;		/* the task is, or is run */
	JoinPoint join;
} writer = { .lock = PTHREAD_MUTEX_INITIALIZER, .last = &writer.first };

static Task on_data, on_taken, on_write, on_get, on_got;

static void go_on(struct session *s);

/* --- lives ---------------------------------------------------------------------------------- */

static struct session *hold(struct session *s)
{
	atomic_fetch_add(&s->holds, 1);
	return s;
}

static void release(struct session *s)
{
	if (atomic_fetch_sub(&s->holds, 1) != 1)
		return;
	Connection_release(s->c);
	free(s->in.p);
	free(s->out.p);
	free(s->request.args);
	free(s);
}

static ssize_t what_there_is(const DataObserver *self, InputQueue *input)
{
	(void)self;
	return (ssize_t)InputQueue_length(input);
}

static int await_data(struct session *s)
{
	const DataObserver o = { .enough = what_there_is, .Run = &on_data, .Context = s };

	return Connection_observe(s->c, &o);
}

static int opened(Connection *c, void *arg)
{
	struct session *s = calloc(1, sizeof(*s));

	(void)arg;
	if (!s)
		return -ENOMEM;
	atomic_init(&s->holds, 1);
	s->c = Connection_hold(c);
	Connection_setContext(c, s);
	if (!await_data(s))
		return 0;
	release(s);
	return -ENOMEM;
}

static void ended(Connection *c, void *arg, int status)
{
	(void)arg;
	(void)status;
	release(Connection_context(c));
}

const ConnectionOps session_ops = { opened, ended };

/* --- replies --------------------------------------------------------------------------------- */

/* What follows would be taken for the reply that was dropped. */
static void reply_ends(void *arg, Connection *c, int status)
{
	(void)arg;
	if (status)
		Connection_close(c);
}

/* The client has taken a large one: it may have the next. */
static void large_ends(void *arg, Connection *c, int status)
{
	struct session *s = arg;

	if (status) {
		Connection_close(c);
		return;
	}
	JoinPoint_init(&s->join, server.tasks, &on_taken, hold(s), JOIN_LAZY);
	if (JoinPoint_set(&s->join))
		release(s);
}

static int run_taken(Task *self, Message *data, void *context)
{
	(void)self;
	(void)data;
	go_on(context);
	release(context);
	return 0;
}

/*
 * Sends what is to be sent. Return: may the session go on? If a large one is on its way somebody else
 * does, perhaps at once.
 */
static bool reply(struct session *s)
{
	bool large = s->out.len >= REPLY_MAX && !s->quits, quits = s->quits;
	size_t len = s->out.len;
	int rc = s->out.broken ? -ENOMEM : 0;

	Task_answered();
	s->out.len = 0;
	if (!rc && len)
		rc = Connection_sendWithin(s->c, s->out.p, len, server.write_ns,
					   large ? large_ends : reply_ends, s);
	if (!rc && large)
		return false;
	if (rc || quits)
		Connection_close(s->c);
	return !rc && !quits;
}

/* --- requests --------------------------------------------------------------------------------- */

/* The next one. Return: is there one? */
static bool next_request(struct session *s)
{
	const char *wrong;
	ssize_t n;

	do {
		n = resp_parse(&s->request, s->in.p + s->at, s->in.len - s->at, server.value_max,
			       &wrong);
		if (n > 0 && !s->request.nr)
			s->at += (size_t)n;
	} while (n > 0 && !s->request.nr);
	if (!n && s->in.len - s->at > REQUEST_MAX) {
		wrong = "Protocol error: too big request";
		n = -1;
	}
	if (n < 0) {
		put_error(&s->out, "ERR %s", wrong);
		s->quits = true;
	}
	s->len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

/*
 * Executes requests until there is none, or one that needs what the caller is not, or the replies
 * are many: ANSWERED.
 */
static enum verdict serve(struct session *s, struct db *db, bool writes)
{
	enum verdict v = ANSWERED;
	bool reads = false;

	while (v == ANSWERED && s->out.len < REPLY_MAX && !s->quits && next_request(s)) {
		/* Many that read have one view, and one lock of the file. */
		if (!writes && !reads && db && s->at + s->len < s->in.len &&
		    command_reads(&s->request))
			reads = !db_begin(db, false);
		v = command(&s->request, db, writes, &s->out);
		if (v == NEEDS_WRITER || v == NEEDS_FORKS)
			break;
		s->at += s->len;
		s->nr++;
		s->quits |= v == QUITS;
	}
	if (reads)
		db_commit(db);
	return v;
}

/* --- MGET ---------------------------------------------------------------------------------------- */

static void get_part(struct part *p)
{
	struct db *db = db_mine();

	p->rc = db ? db_get(db, &p->key, &p->value) : SQLITE_CANTOPEN;
}

static int run_get(Task *self, Message *data, void *context)
{
	(void)self;
	(void)data;
	get_part(context);
	return 0;
}

/* One task for each key; where the queue is full this one does it. */
static void fork_gets(struct session *s)
{
	unsigned int nr = s->request.nr - 1;
	struct mget *m = calloc(1, sizeof(*m) + nr * sizeof(m->parts[0]));

	if (!m) {
		s->quits = true;
		reply(s);
		return;
	}
	s->at += s->len;
	m->s = hold(s);
	m->nr = nr;
	m->commits = server.commits;
	JoinPoint_init(&m->join, server.tasks, &on_got, m, JOIN_LAZY);
	for (unsigned int i = 0; i < nr; i++) {
		m->parts[i] = (struct part){ .all = m, .key = s->request.args[1 + i] };
		if (JoinPoint_tryAdd(&m->join, &on_get, &m->parts[i]))
			get_part(&m->parts[i]);
	}
	/* Only a Stop refuses it, and then nobody waits for an answer. */
	JoinPoint_set(&m->join);
}

/* All of them once more, as of one commit. */
static int get_all(struct mget *m)
{
	struct db *db = db_mine();
	int rc = db ? db_begin(db, false) : SQLITE_CANTOPEN;

	for (unsigned int i = 0; i < m->nr && !rc; i++) {
		m->parts[i].value.len = 0;
		rc = db_get(db, &m->parts[i].key, &m->parts[i].value);
	}
	if (db)
		db_rollback(db);
	return rc;
}

static int run_got(Task *self, Message *data, void *context)
{
	struct mget *m = context;
	struct session *s = m->s;
	int rc = 0;

	(void)self;
	(void)data;
	/* Somebody has committed meanwhile: then they need not be of one moment. */
	if (m->commits % 2 || m->commits != server.commits)
		rc = get_all(m);
	else
		for (unsigned int i = 0; i < m->nr && !rc; i++)
			rc = m->parts[i].rc;
	if (rc)
		put_error(&s->out, "ERR database: %s", sqlite3_errstr(rc));
	else
		put_array(&s->out, m->nr);
	for (unsigned int i = 0; i < m->nr; i++) {
		if (!rc)
			put(&s->out, m->parts[i].value.p, m->parts[i].value.len);
		s->out.broken |= m->parts[i].value.broken;
		free(m->parts[i].value.p);
	}
	free(m);
	go_on(s);
	release(s);
	return 0;
}

/* --- the writer ------------------------------------------------------------------------------------ */

/* Under the lock: the task is in the queue, or is run after the one that is. */
static void push_writer(void)
{
	writer.pushed = true;
	JoinPoint_init(&writer.join, server.tasks, &on_write, NULL, JOIN_LAZY);
	if (JoinPoint_set(&writer.join))
		writer.pushed = false;
}

static void await_writer(struct session *s)
{
	Task_answered();
	hold(s)->next = NULL;
	pthread_mutex_lock(&writer.lock);
	*writer.last = s;
	writer.last = &s->next;
	if (!writer.pushed)
		push_writer();
	pthread_mutex_unlock(&writer.lock);
}

/* Nothing of the transaction is in the file: that is the answer to each of its requests. */
static void fail(struct session *s, int rc)
{
	/* That which needs the writer, at least, so that it does not come again */
	if (!s->nr && next_request(s)) {
		s->at += s->len;
		s->nr = 1;
	}
	s->out.len = s->begin;
	for (unsigned int i = 0; i < s->nr; i++)
		put_error(&s->out, "ERR database: %s; nothing was written", sqlite3_errstr(rc));
	s->stop = ANSWERED;
}

/* Return: 0, and all is committed; or why nothing is */
static int transaction(struct session *all, struct db *db)
{
	int rc = db ? db_begin(db, true) : SQLITE_CANTOPEN;

	for (struct session *s = all; s && !rc; s = s->next) {
		s->stop = serve(s, db, true);
		if (s->stop == FAILED)
			rc = sqlite3_errcode(db->sqlite);
	}
	if (!rc) {
		server.commits++;
		rc = db_commit(db);
		server.commits++;
	}
	if (rc && db)
		db_rollback(db);
	return rc;
}

static void then(struct session *s, enum verdict stop);

static int run_write(Task *self, Message *data, void *context)
{
	struct session *all, *s;
	int rc;

	(void)self;
	(void)data;
	(void)context;
	Task_answered();
	pthread_mutex_lock(&writer.lock);
	all = writer.first;
	writer.first = NULL;
	writer.last = &writer.first;
	pthread_mutex_unlock(&writer.lock);
	for (s = all; s; s = s->next) {
		s->nr = 0;
		s->begin = s->out.len;
	}
	rc = transaction(all, db_mine());
	while ((s = all)) {
		all = s->next;
		if (rc)
			fail(s, rc);
		then(s, s->stop);
		release(s);
	}
	pthread_mutex_lock(&writer.lock);
	writer.pushed = false;
	if (writer.first)
		push_writer();
	pthread_mutex_unlock(&writer.lock);
	return 0;
}

/* --- what comes next --------------------------------------------------------------------------------- */

static void then(struct session *s, enum verdict stop)
{
	if (stop == NEEDS_WRITER)
		await_writer(s);
	else if (stop == NEEDS_FORKS)
		fork_gets(s);
	else if (reply(s))
		await_data(s);
}

static void go_on(struct session *s)
{
	then(s, serve(s, db_mine(), false));
}

static int run_data(Task *self, Message *data, void *context)
{
	struct session *s = context;

	(void)self;
	memmove(s->in.p, s->in.p + s->at, s->in.len - s->at);
	s->in.len -= s->at;
	s->at = 0;
	put(&s->in, data->Data, data->Len);
	if (s->in.broken)
		return -ENOMEM;
	go_on(s);
	return 0;
}

void sessions_init(void)
{
	Task_init(&on_data, run_data);
	Task_init(&on_taken, run_taken);
	Task_init(&on_write, run_write);
	Task_init(&on_get, run_get);
	Task_init(&on_got, run_got);
	on_write.Key = WRITER;
	/* What is begun ends before more is begun. */
	on_write.Priority = on_get.Priority = on_got.Priority = 1;
}
