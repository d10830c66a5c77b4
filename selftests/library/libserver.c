// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server's connections: observers, receivers, acceptors, messages (CO-5 .. CO-10, CO-12 ..
 * CO-14).
 */
#define _GNU_SOURCE
#include "lib/tcp.h"
#include "library/libwait.h"

#include <arpa/inet.h>
#include <dx_server.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define WORKERS		2

FIXTURE(server) {
	struct dxt t;
	MTExecutive *mte;
	TaskQueue *queue;
	ConnectionPool *pool;
	pthread_t thread;
};

static void *serve(void *arg)
{
	return (void *)(intptr_t)ConnectionPool_serve(arg);
}

static int begin(struct dxt *t, MTExecutive **mte, TaskQueue **queue, ConnectionPool **pool,
		 pthread_t *thread, const ConnectionPoolOptions *options)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, WORKERS);

	policy.TPMaxWaiting = 64;
	*mte = executive(&policy, t);
	*queue = *mte ? TaskQueue_create(*mte, NULL) : NULL;
	*pool = *queue ? ConnectionPool_create(*queue, options) : NULL;
	return *pool ? pthread_create(thread, NULL, serve, *pool) : -1;
}

static ConnectionPoolStatus status(ConnectionPool *p)
{
	ConnectionPoolStatus s;

	ConnectionPool_status(p, &s);
	return s;
}

/* Return: 0, or a number that tells what is left behind. */
static int end(struct dxt *t, MTExecutive *mte, TaskQueue *queue, ConnectionPool *pool,
	       pthread_t thread)
{
	void *rc;
	int bad;

	ConnectionPool_shutdown(pool, 0);
	pthread_join(thread, &rc);
	bad = (rc ? 1 : 0) | (status(pool).Connections ? 2 : 0);
	ConnectionPool_destroy(pool);
	TaskQueue_destroy(queue);
	bad |= DXT_SOON(!BufferFactory_inUse()) ? 0 : 4;
	bad |= DXT_SOON(!dxt_num(t, "pools/wait_use")) ? 0 : 8;
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	return bad;
}

FIXTURE_SETUP(server)
{
	ASSERT_EQ(0, begin(&self->t, &self->mte, &self->queue, &self->pool, &self->thread, NULL));
}

FIXTURE_TEARDOWN(server)
{
	EXPECT_EQ(0, end(&self->t, self->mte, self->queue, self->pool, self->thread));
}

static int pair(int fd[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd);
}

static bool says(int fd, const char *text)
{
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Does @fd give these bytes, and soon? */
static bool gives(int fd, const char *text)
{
	size_t n = 0, len = strlen(text);
	char got[4096];
	ssize_t r;

	while (n < len) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, dxt_late_ms()) != 1)
			return false;
		r = read(fd, got, len - n < sizeof(got) ? len - n : sizeof(got));
		if (r <= 0 || memcmp(got, text + n, (size_t)r))
			return false;
		n += (size_t)r;
	}
	return true;
}

static bool reads(int fd, void *to, size_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char *at = to;
	ssize_t n;

	for (; len; at += n, len -= (size_t)n) {
		if (poll(&p, 1, dxt_late_ms()) != 1)
			return false;
		n = read(fd, at, len);
		if (n <= 0)
			return false;
	}
	return true;
}

static bool drains(int fd, size_t len)
{
	char text[4096];

	while (len) {
		size_t n = len < sizeof(text) ? len : sizeof(text);

		if (!reads(fd, text, n))
			return false;
		len -= n;
	}
	return true;
}

/* Is it at its end, and soon? */
static bool ends(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c;

	return poll(&p, 1, dxt_late_ms()) == 1 && read(fd, &c, 1) <= 0;
}

/* --- observers ----------------------------------------------------------------------- */

/* What the tasks of one connection are run with, and its end. */
static struct notes {
	_Atomic unsigned int nr, late, inside, wrong, ends;
	char text[256];
	uint64_t at[16];
	_Atomic int status;
	_Atomic bool closed;
	int result;
} notes;

static int note(Task *self, Message *data, void *context)
{
	size_t len = strlen(notes.text);

	(void)self;
	notes.wrong += notes.inside++ != 0 || !CurrentRequest() || context != &notes || !data;
	while (notes.closed)
		usleep(100);
	snprintf(notes.text + len, sizeof(notes.text) - len, "%s|", data ? data->Data : "");
	notes.at[notes.nr % 16] = dxt_now();
	notes.inside--;
	notes.nr++;
	Task_answered();
	return notes.result;
}

static int note_late(Task *self, Message *data, void *context)
{
	(void)self;
	notes.wrong += notes.inside != 0 || context != &notes || data;
	notes.at[15] = dxt_now();
	notes.late++;
	Task_answered();
	return 0;
}

static void note_end(Connection *c, void *arg, int status)
{
	(void)c;
	notes.wrong += arg != &notes;
	notes.status = status;
	notes.ends++;
}

static const ConnectionOps noted = { .ended = note_end };
static Task noting, too_late;

static Connection *connection(ConnectionPool *p, int fd[2])
{
	Connection *c = NULL;

	memset(&notes, 0, sizeof(notes));
	Task_init(&noting, note);
	Task_init(&too_late, note_late);
	if (pair(fd) || ConnectionPool_register(p, fd[0], &noted, &notes, &c))
		return NULL;
	return c;
}

static int observe(Connection *c, size_t length, int64_t timeout)
{
	const DataObserver o = {
		.Length = length, .Run = &noting, .Context = &notes, .TimeoutNs = timeout,
		.Expired = timeout ? &too_late : NULL,
	};

	return Connection_observe(c, &o);
}

/* So many bytes lie in the socket. */
static int unread(int fd)
{
	int n = -1;

	return ioctl(fd, FIONREAD, &n) ? -1 : n;
}

/*
 * CO-9, CO-10: three observers of 10, 20 and 5 bytes are served in this order, each with its bytes
 * and not before they have come, and what nobody waits for is not read.
 */
TEST_F(server, observers_in_order)
{
	int fd[2];
	Connection *c = connection(self->pool, fd);

	ASSERT_NE(NULL, c);
	EXPECT_EQ(0, observe(c, 10, 0));
	EXPECT_EQ(0, observe(c, 20, 0));
	EXPECT_EQ(0, observe(c, 5, 0));
	ASSERT_TRUE(says(fd[1], "012345678"));
	EXPECT_TRUE(DXT_SOON(status(self->pool).BytesIn == 9));
	EXPECT_TRUE(DXT_SOON(!Connection_owner(c)));
	EXPECT_EQ(0, notes.nr);
	ASSERT_TRUE(says(fd[1], "9abcdefghijklmnopqrs"));
	EXPECT_TRUE(DXT_SOON(status(self->pool).BytesIn == 29 && notes.nr == 1));
	EXPECT_STREQ("0123456789|", notes.text);
	ASSERT_TRUE(says(fd[1], "tuvwxyzABC"));
	EXPECT_TRUE(DXT_SOON(notes.nr == 3));
	EXPECT_STREQ("0123456789|abcdefghijklmnopqrst|uvwxy|", notes.text);
	EXPECT_TRUE(DXT_SOON(!Connection_owner(c)));
	EXPECT_EQ(35, status(self->pool).BytesIn);
	EXPECT_EQ(4, unread(fd[0]));
	EXPECT_EQ(0, notes.wrong);
	EXPECT_EQ(0, TaskQueue_leaks(self->queue));
	close(fd[1]);
	Connection_close(c);
	EXPECT_TRUE(DXT_SOON(notes.ends == 1));
	EXPECT_EQ(0, notes.status);
	EXPECT_EQ(-EPIPE, observe(c, 1, 0));
	EXPECT_EQ(-EPIPE, Connection_send(c, "x", 1));
	EXPECT_FALSE(Connection_active(c));
	Connection_release(c);
}

/* CO-9: the time-out of the second one, with its own call-back, and of nobody else. */
TEST_F(server, observer_times_out)
{
	int fd[2];
	Connection *c = connection(self->pool, fd);

	ASSERT_NE(NULL, c);
	EXPECT_EQ(0, observe(c, 10, 0));
	EXPECT_EQ(0, observe(c, 20, 50 * DXT_MS));
	EXPECT_EQ(0, observe(c, 5, 0));
	/* Its time has not begun: the first one is not served. */
	dxt_sleep_ms(100);
	EXPECT_EQ(0, notes.late);
	ASSERT_TRUE(says(fd[1], "0123456789abcdefg"));
	EXPECT_TRUE(DXT_SOON(notes.nr == 2));
	EXPECT_EQ(1, notes.late);
	EXPECT_LE(notes.at[0] + 50 * DXT_MS, notes.at[15]);
	EXPECT_STREQ("0123456789|abcde|", notes.text);
	EXPECT_EQ(0, notes.wrong);
	/* In time it is served, and does not expire. */
	EXPECT_EQ(0, observe(c, 4, dxt_late_ns()));
	ASSERT_TRUE(says(fd[1], "hi"));
	EXPECT_TRUE(DXT_SOON(notes.nr == 3));
	EXPECT_EQ(1, notes.late);

	/* Without a call-back it is the end of the connection. */
	const DataObserver o = { .Length = 1, .Run = &noting, .Context = &notes, .TimeoutNs = 1 };

	EXPECT_EQ(0, Connection_observe(c, &o));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(-ETIME, notes.status);
	EXPECT_TRUE(ends(fd[1]));
	close(fd[1]);
	Connection_release(c);
}

/* As much as the socket takes. */
static size_t fill(int fd)
{
	char text[4096] = { 0 };
	size_t all = 0;
	ssize_t n;

	while ((n = send(fd, text, sizeof(text), MSG_DONTWAIT)) > 0)
		all += (size_t)n;
	return all;
}

/*
 * CO-8: without an observer no byte is read, the peer's buffer fills, and the connection is not
 * active; nor is it with one and without data.
 */
TEST_F(server, reads_for_observers_only)
{
	int fd[2];
	Connection *c = connection(self->pool, fd);
	size_t all;

	ASSERT_NE(NULL, c);
	all = fill(fd[1]);
	EXPECT_LT(4096, all);
	EXPECT_TRUE(DXT_SOON(status(self->pool).Turns && !Connection_owner(c)));
	EXPECT_EQ(all, unread(fd[0]));
	EXPECT_EQ(0, status(self->pool).Reads);
	EXPECT_FALSE(Connection_active(c));
	EXPECT_EQ(1, status(self->pool).Turns);
	/* One byte is wanted, one is read. */
	EXPECT_EQ(0, observe(c, 1, 0));
	EXPECT_TRUE(DXT_SOON(notes.nr == 1));
	EXPECT_EQ(all - 1, unread(fd[0]));
	EXPECT_TRUE(DXT_SOON(!Connection_owner(c)));
	EXPECT_FALSE(Connection_active(c));
	/* As many as there are, in the task both are there. */
	notes.closed = true;
	EXPECT_EQ(0, observe(c, all - 1, 0));
	EXPECT_TRUE(DXT_SOON(notes.inside));
	EXPECT_EQ(self->pool, Connection_owner(c));
	EXPECT_EQ(0, unread(fd[0]));
	notes.closed = false;
	EXPECT_TRUE(DXT_SOON(notes.nr == 2 && !Connection_owner(c)));
	EXPECT_EQ(0, observe(c, 2, 0));
	EXPECT_FALSE(Connection_active(c));
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(0, notes.status);
	EXPECT_EQ(0, notes.wrong);
	Connection_release(c);
}

static ssize_t a_line(const DataObserver *self, InputQueue *input)
{
	if (self->Context != &notes || InputQueue_isEmpty(input))
		return -EDOM;
	if (!InputQueue_indexOf(input, '!'))
		return -EBADMSG;
	return InputQueue_indexOf(input, '\n') + 1;
}

/* CO-9: what is enough may depend on what has come. */
TEST_F(server, enough_is_what_it_says)
{
	const DataObserver o = { .enough = a_line, .Run = &noting, .Context = &notes };
	int fd[2];
	Connection *c = connection(self->pool, fd);

	ASSERT_NE(NULL, c);
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, Connection_observe(c, &o));
	ASSERT_TRUE(says(fd[1], "one\ntwo\nthr"));
	EXPECT_TRUE(DXT_SOON(notes.nr == 2));
	ASSERT_TRUE(says(fd[1], "ee\n"));
	EXPECT_TRUE(DXT_SOON(notes.nr == 3));
	EXPECT_STREQ("one\n|two\n|three\n|", notes.text);
	ASSERT_TRUE(says(fd[1], "!"));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(-EBADMSG, notes.status);
	EXPECT_EQ(0, notes.wrong);
	close(fd[1]);
	Connection_release(c);
}

static int says_nothing(Task *self, Message *data, void *context)
{
	(void)self;
	(void)data;
	(void)context;
	return notes.result;
}

/* A task that fails is the end of the connection whose data it has, and that is no leak (CO-14). */
TEST_F(server, failing_task_ends_it)
{
	int fd[2];
	Connection *c = connection(self->pool, fd);

	ASSERT_NE(NULL, c);
	Task_init(&noting, says_nothing);
	notes.result = -EPROTO;
	EXPECT_EQ(0, observe(c, 1, 0));
	ASSERT_TRUE(says(fd[1], "x"));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(-EPROTO, notes.status);
	EXPECT_EQ(0, TaskQueue_leaks(self->queue));
	close(fd[1]);
	Connection_release(c);
	c = connection(self->pool, fd);
	ASSERT_NE(NULL, c);
	notes.result = -EPROTO;
	EXPECT_EQ(0, observe(c, 1, 0));
	EXPECT_EQ(0, observe(c, 1, 0));
	ASSERT_TRUE(says(fd[1], "xy"));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(-EPROTO, notes.status);
	EXPECT_EQ(1, notes.nr);
	EXPECT_TRUE(ends(fd[1]));
	close(fd[1]);
	Connection_release(c);
}

static ssize_t has_no_file(const DataObserver *self, InputQueue *input)
{
	(void)self;
	(void)input;
	return -EBADF;
}

/* ... and its file is closed, whatever that has returned. */
TEST_F(server, failing_with_ebadf)
{
	const DataObserver o = { .enough = has_no_file, .Run = &noting, .Context = &notes };
	Connection *c;
	int fd[2];

	for (int i = 0; i < 2; i++) {
		c = connection(self->pool, fd);
		ASSERT_NE(NULL, c);
		notes.result = -EBADF;
		EXPECT_EQ(0, i ? Connection_observe(c, &o) : observe(c, 1, 0));
		ASSERT_TRUE(says(fd[1], "x"));
		EXPECT_TRUE(DXT_SOON(notes.ends));
		EXPECT_EQ(-EBADF, notes.status);
		EXPECT_TRUE(ends(fd[1]));
		close(fd[1]);
		Connection_release(c);
	}
}

/* A task with a key is pushed; the next observer waits until it has ended (CO-9). */
TEST_F(server, tasks_with_keys)
{
	int fd[2];
	Connection *c = connection(self->pool, fd);

	ASSERT_NE(NULL, c);
	noting.Key = 4711;
	notes.closed = true;
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, observe(c, 2, 0));
	ASSERT_TRUE(says(fd[1], "aabbcc"));
	EXPECT_TRUE(DXT_SOON(notes.inside == 1));
	EXPECT_TRUE(DXT_SOON(!Connection_owner(c)));
	EXPECT_EQ(4, unread(fd[0]));
	notes.closed = false;
	EXPECT_TRUE(DXT_SOON(notes.nr == 3));
	EXPECT_STREQ("aa|bb|cc|", notes.text);
	EXPECT_EQ(0, notes.wrong);
	close(fd[1]);
	Connection_close(c);
	EXPECT_TRUE(DXT_SOON(notes.ends));
	Connection_release(c);
}

static int dies(Task *self, Message *data, void *context)
{
	(void)self;
	(void)data;
	(void)context;
	pthread_exit(NULL);
}

/* CO-14: a task that was run with data and says nothing is told; one that died ends its connection */
TEST_F(server, leaking_and_dying_tasks)
{
	int fd[2];
	Connection *c = connection(self->pool, fd);

	ASSERT_NE(NULL, c);
	Task_init(&noting, says_nothing);
	EXPECT_EQ(0, observe(c, 1, 0));
	ASSERT_TRUE(says(fd[1], "x"));
	EXPECT_TRUE(DXT_SOON(TaskQueue_leaks(self->queue) == 1));
	Task_init(&noting, dies);
	EXPECT_EQ(0, observe(c, 1, 0));
	ASSERT_TRUE(says(fd[1], "x"));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(-EOWNERDEAD, notes.status);
	EXPECT_TRUE(ends(fd[1]));
	close(fd[1]);
	Connection_release(c);
	/* One that was pushed, too. */
	c = connection(self->pool, fd);
	ASSERT_NE(NULL, c);
	Task_init(&noting, dies);
	noting.Key = 4711;
	EXPECT_EQ(0, observe(c, 1, 0));
	ASSERT_TRUE(says(fd[1], "x"));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(-EOWNERDEAD, notes.status);
	EXPECT_TRUE(ends(fd[1]));
	close(fd[1]);
	Connection_release(c);
}

/* --- an echo, accepted or pulled by receivers ------------------------------------------------ */

#define SIZE	8	/* of its messages */

static struct echoes {
	_Atomic unsigned int opened, ended, echoed, early, overlaps, strangers;
	_Atomic unsigned int refuse;
	int refusal;
} echoes;

/* Of a connection: who is in a pull of it, and how many of its tasks are run. */
struct echo {
	_Atomic unsigned int pulls, inside;
};

static Task echoing;

static int await(Connection *c)
{
	const DataObserver o = { .Length = SIZE, .Run = &echoing, .Context = c };

	return Connection_observe(c, &o);
}

static int echo(Task *self, Message *data, void *context)
{
	struct echo *e = Connection_context(context);

	(void)self;
	echoes.overlaps += e->inside++ != 0;
	Connection_send(context, data->Data, data->Len);
	e->inside--;
	echoes.echoed++;
	await(context);
	return 0;
}

static int opened(Connection *c, void *arg)
{
	(void)arg;
	if (echoes.refuse) {
		echoes.refuse--;
		return echoes.refusal;
	}
	Connection_setContext(c, calloc(1, sizeof(struct echo)));
	/* Nobody has pulled it. */
	echoes.early += Connection_owner(c) != NULL;
	echoes.opened++;
	return await(c);
}

static void ended(Connection *c, void *arg, int status)
{
	(void)arg;
	(void)status;
	free(Connection_context(c));
	echoes.ended++;
}

static const ConnectionOps echo_ops = { opened, ended };

static bool refuses(const struct sockaddr_in *a)
{
	int s = tcp_connect(a);

	if (s >= 0)
		close(s);
	return s < 0;
}

/* Every connection answers, @rounds times. */
static unsigned int silent(const int *fd, unsigned int nr, unsigned int rounds)
{
	char text[SIZE + 1];
	unsigned int bad = 0;

	for (unsigned int k = 0; k < rounds; k++) {
		for (unsigned int i = 0; i < nr; i++) {
			snprintf(text, sizeof(text), "%08u", i + 1000 * k);
			bad += !says(fd[i], text);
		}
		for (unsigned int i = 0; i < nr; i++) {
			snprintf(text, sizeof(text), "%08u", i + 1000 * k);
			bad += !gives(fd[i], text);
		}
	}
	return bad;
}

/*
 * CO-7: an acceptor is a connection: its pull accepts, and registers connections before they are
 * pulled; no more of them than may be.
 */
TEST(acceptor)
{
	ConnectionPoolOptions o = { .MaxConnections = 5 };
	struct sockaddr_in a;
	ConnectionPool *pool;
	TaskQueue *queue;
	Connection *acceptor;
	MTExecutive *mte;
	pthread_t thread;
	int fd[8], s;
	struct dxt t;

	TCP_LISTEN(s, &a);
	memset(&echoes, 0, sizeof(echoes));
	Task_init(&echoing, echo);
	ASSERT_EQ(0, begin(&t, &mte, &queue, &pool, &thread, &o));
	EXPECT_EQ(-EINVAL, Acceptor_create(pool, s, NULL, NULL, NULL));
	EXPECT_EQ(0, Acceptor_create(pool, s, &echo_ops, NULL, &acceptor));
	EXPECT_EQ(-EINVAL, Connection_observe(acceptor, &(DataObserver){ .Length = 1, .Run = &echoing }));
	for (int i = 0; i < 5; i++)
		ASSERT_LE(0, fd[i] = tcp_connect(&a));
	/* Only then: a busy machine may bring them to the socket in another order. */
	EXPECT_TRUE(DXT_SOON(echoes.opened == 5));
	ASSERT_LE(0, fd[5] = tcp_connect(&a));
	EXPECT_EQ(0, silent(fd, 5, 3));
	EXPECT_EQ(5, echoes.opened);
	EXPECT_EQ(6, status(pool).Connections);
	/* The next one waits in the socket until one ends. */
	ASSERT_TRUE(says(fd[5], "12345678"));
	close(fd[0]);
	EXPECT_TRUE(gives(fd[5], "12345678"));
	EXPECT_TRUE(DXT_SOON(echoes.ended == 1));
	EXPECT_EQ(6, echoes.opened);
	for (int i = 6; i < 8; i++)
		ASSERT_LE(0, fd[i] = tcp_connect(&a));
	for (int i = 1; i < 6; i++)
		close(fd[i]);
	EXPECT_EQ(0, silent(&fd[6], 2, 1));
	close(fd[6]);
	close(fd[7]);
	EXPECT_TRUE(DXT_SOON(echoes.ended == 8));
	/* One that is refused is closed, and has no end of its own; for any reason it is no shortage. */
	for (unsigned int i = 0; i < 3; i++) {
		echoes.refusal = i == 0 ? -EACCES : i == 1 ? -ENOSPC : -ENOMEM;
		echoes.refuse = 1;
		ASSERT_LE(0, fd[0] = tcp_connect(&a));
		EXPECT_TRUE(ends(fd[0]));
		EXPECT_TRUE(DXT_SOON(status(pool).Refused == 1 + i));
		close(fd[0]);
	}
	EXPECT_EQ(0, status(pool).Pauses);
	EXPECT_EQ(8, echoes.ended);
	EXPECT_EQ(8, status(pool).Accepted);
	EXPECT_EQ(0, echoes.early);
	EXPECT_EQ(0, echoes.overlaps);
	Connection_close(acceptor);
	EXPECT_TRUE(DXT_SOON(!status(pool).Connections));
	EXPECT_TRUE(DXT_SOON(refuses(&a)));
	Connection_release(acceptor);
	EXPECT_EQ(0, end(&t, mte, queue, pool, thread));
}

struct receiver {
	ConnectionPool *pool;
	pthread_t thread;
	_Atomic unsigned int pulled;
	int rc;
};

/* The seed's loop. */
static void *receives(void *arg)
{
	struct receiver *self = arg;
	Connection *mine[4];
	struct echo *e;
	int n;

	while ((n = ConnectionPool_takeMyConnections(self->pool, self, mine, 4, -1)) > 0) {
		for (int i = 0; i < n; i++) {
			e = Connection_context(mine[i]);
			echoes.strangers += Connection_owner(mine[i]) != self;
			echoes.overlaps += e && e->pulls++ != 0;
			self->pulled++;
			if (e)
				e->pulls--;
			self->rc |= Connection_pull(mine[i], &self->rc) != -EPERM;
			self->rc |= Connection_pull(mine[i], self);
		}
	}
	self->rc |= n != -ESHUTDOWN;
	return NULL;
}

#define CLIENTS	100

/*
 * CO-5, CO-6: eight receivers run the literal loop for a hundred connections and an acceptor: each is
 * pulled by one of them at a time, which has it then, and by nobody when it is free.
 */
TEST(receivers)
{
	const ConnectionPoolOptions o = { .Receivers = 1 };
	struct receiver r[8];
	struct sockaddr_in a;
	ConnectionPool *pool;
	unsigned int pulled = 0;
	TaskQueue *queue;
	MTExecutive *mte;
	pthread_t thread;
	int fd[CLIENTS], s;
	struct dxt t;

	TCP_LISTEN(s, &a);
	memset(&echoes, 0, sizeof(echoes));
	Task_init(&echoing, echo);
	ASSERT_EQ(0, begin(&t, &mte, &queue, &pool, &thread, &o));
	EXPECT_EQ(-EINVAL, ConnectionPool_takeMyConnections(pool, NULL, NULL, 1, 0));
	EXPECT_EQ(-EAGAIN, ConnectionPool_takeMyConnections(pool, r, (Connection *[1]){ 0 }, 1, 0));
	EXPECT_EQ(-ETIMEDOUT, ConnectionPool_takeMyConnections(pool, r, (Connection *[1]){ 0 }, 1,
							       10 * DXT_MS));
	for (int i = 0; i < 8; i++) {
		r[i] = (struct receiver){ .pool = pool };
		ASSERT_EQ(0, pthread_create(&r[i].thread, NULL, receives, &r[i]));
	}
	ASSERT_EQ(0, Acceptor_create(pool, s, &echo_ops, NULL, NULL));
	for (int i = 0; i < CLIENTS; i++)
		ASSERT_LE(0, fd[i] = tcp_connect(&a));
	EXPECT_EQ(0, silent(fd, CLIENTS, 10));
	EXPECT_EQ(CLIENTS, echoes.opened);
	EXPECT_TRUE(DXT_SOON(echoes.echoed == 10 * CLIENTS));
	for (int i = 0; i < CLIENTS; i++)
		close(fd[i]);
	EXPECT_TRUE(DXT_SOON(echoes.ended == CLIENTS));
	EXPECT_EQ(0, end(&t, mte, queue, pool, thread));
	for (int i = 0; i < 8; i++) {
		pthread_join(r[i].thread, NULL);
		EXPECT_EQ(0, r[i].rc);
		pulled += r[i].pulled;
	}
	EXPECT_LE(10 * CLIENTS, pulled);
	EXPECT_EQ(0, echoes.overlaps);
	EXPECT_EQ(0, echoes.strangers);
}

/* CO-5, CO-7: an acceptor that has as many connections as may be goes on when one has ended. */
TEST(receivers_and_most_connections)
{
	const ConnectionPoolOptions o = { .Receivers = 1, .MaxConnections = 1 };
	struct receiver r;
	struct sockaddr_in a;
	ConnectionPool *pool;
	TaskQueue *queue;
	MTExecutive *mte;
	pthread_t thread;
	struct dxt t;
	int fd, s;

	TCP_LISTEN(s, &a);
	memset(&echoes, 0, sizeof(echoes));
	Task_init(&echoing, echo);
	ASSERT_EQ(0, begin(&t, &mte, &queue, &pool, &thread, &o));
	r = (struct receiver){ .pool = pool };
	ASSERT_EQ(0, pthread_create(&r.thread, NULL, receives, &r));
	ASSERT_EQ(0, Acceptor_create(pool, s, &echo_ops, NULL, NULL));
	for (unsigned int i = 1; i <= 3; i++) {
		ASSERT_LE(0, fd = tcp_connect(&a));
		EXPECT_EQ(0, silent(&fd, 1, 1));
		/* The next one comes while this is there. */
		s = tcp_connect(&a);
		ASSERT_LE(0, s);
		ASSERT_TRUE(says(s, "12345678"));
		close(fd);
		EXPECT_TRUE(gives(s, "12345678"));
		close(s);
		EXPECT_TRUE(DXT_SOON(echoes.ended == 2 * i));
	}
	EXPECT_EQ(0, end(&t, mte, queue, pool, thread));
	pthread_join(r.thread, NULL);
	EXPECT_EQ(0, r.rc);
}

/* CO-6: while a receiver has a connection nobody pulls it, and its end waits until it is back. */
TEST(receiver_keeps_it)
{
	const ConnectionPoolOptions o = { .Receivers = 1 };
	Connection *c, *mine[2];
	ConnectionPool *pool;
	TaskQueue *queue;
	MTExecutive *mte;
	pthread_t thread;
	struct dxt t;
	int fd[2];

	ASSERT_EQ(0, begin(&t, &mte, &queue, &pool, &thread, &o));
	c = connection(pool, fd);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(0, observe(c, 2, 0));
	EXPECT_EQ(-EPERM, Connection_pull(c, &t));
	ASSERT_TRUE(says(fd[1], "abc"));
	ASSERT_EQ(1, ConnectionPool_takeMyConnections(pool, &t, mine, 2, dxt_late_ns()));
	EXPECT_EQ(c, mine[0]);
	EXPECT_EQ(&t, Connection_owner(c));
	EXPECT_TRUE(Connection_active(c));
	/* An answer from elsewhere is no reason to take it again. */
	EXPECT_EQ(0, Connection_send(c, "x", 1));
	EXPECT_TRUE(gives(fd[1], "x"));
	EXPECT_EQ(-EAGAIN, ConnectionPool_takeMyConnections(pool, &t, mine, 2, 0));
	EXPECT_EQ(0, Connection_pull(c, &t));
	EXPECT_TRUE(DXT_SOON(notes.nr == 1));
	EXPECT_TRUE(DXT_SOON(!Connection_owner(c)));
	EXPECT_EQ(-EPERM, Connection_pull(c, &t));

	/* The third byte is there: it is active as soon as somebody waits for it. */
	EXPECT_FALSE(Connection_active(c));
	EXPECT_EQ(0, observe(c, 1, 0));
	ASSERT_EQ(1, ConnectionPool_takeMyConnections(pool, &t, mine, 2, dxt_late_ns()));
	ConnectionPool_shutdown(pool, 0);
	EXPECT_EQ(-ESHUTDOWN, ConnectionPool_takeMyConnections(pool, &t, mine, 2, -1));
	dxt_sleep_ms(150);
	EXPECT_EQ(0, notes.ends);
	Connection_pull(c, &t);
	EXPECT_TRUE(DXT_SOON(notes.ends == 1));
	EXPECT_EQ(-ECANCELED, notes.status);
	EXPECT_EQ(0, notes.wrong);
	Connection_release(c);
	close(fd[1]);
	EXPECT_EQ(0, end(&t, mte, queue, pool, thread));
}

static _Atomic unsigned int signals;

static void on_signal(int signo)
{
	(void)signo;
	signals++;
}

static int occupies(Task *self, Message *data, void *context)
{
	(void)self;
	(void)data;
	(void)context;
	while (notes.closed)
		usleep(100);
	Task_answered();
	return 0;
}

static void *pulls(void *arg)
{
	struct receiver *self = arg;
	Connection *c = NULL;

	self->rc = ConnectionPool_takeMyConnections(self->pool, self, &c, 1, -1) != 1;
	self->pulled = 1;
	while (notes.late)
		usleep(100);
	if (c)
		self->rc |= Connection_pull(c, self);
	return NULL;
}

/* A signal while a receiver waits for room in the queue is no end of the connection (CO-5). */
TEST(receiver_and_signal)
{
	const ConnectionPoolOptions o = { .Receivers = 1 };
	struct sigaction action = { .sa_handler = on_signal }, before;
	Task occupying;
	struct receiver r;
	ConnectionPool *pool;
	TaskQueue *queue;
	MTExecutive *mte;
	pthread_t thread;
	Connection *c;
	struct dxt t;
	int fd[2], rc;

	ASSERT_EQ(0, begin(&t, &mte, &queue, &pool, &thread, &o));
	c = connection(pool, fd);
	ASSERT_NE(NULL, c);
	signals = 0;
	r = (struct receiver){ .pool = pool };
	notes.late = 1;
	ASSERT_EQ(0, pthread_create(&r.thread, NULL, pulls, &r));
	EXPECT_EQ(0, observe(c, 1, 0));
	ASSERT_TRUE(says(fd[1], "x"));
	EXPECT_TRUE(DXT_SOON(Connection_owner(c) == &r && r.pulled));
	notes.closed = true;
	Task_init(&occupying, occupies);
	while (!(rc = TaskQueue_tryPush(queue, &occupying, NULL)))
		;
	/* Workers take what they run out of it. */
	EXPECT_TRUE(DXT_SOON(dxt_num(&t, "pools/thread_busy") == WORKERS));
	while (!(rc = TaskQueue_tryPush(queue, &occupying, NULL)))
		;
	EXPECT_EQ(-EAGAIN, rc);
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, &before));
	notes.late = 0;
	EXPECT_TRUE(DXT_SOON(status(pool).BytesIn == 1));
	for (unsigned int i = 1; i <= 20; i++) {
		ASSERT_EQ(0, pthread_kill(r.thread, SIGUSR1));
		EXPECT_TRUE(DXT_SOON(signals == i));
		dxt_sleep_ms(2);
	}
	notes.closed = false;
	EXPECT_TRUE(DXT_SOON(notes.nr == 1));
	EXPECT_STREQ("x|", notes.text);
	EXPECT_EQ(0, notes.ends);
	pthread_join(r.thread, NULL);
	EXPECT_EQ(0, r.rc);
	Connection_release(c);
	close(fd[1]);
	EXPECT_EQ(0, end(&t, mte, queue, pool, thread));
	ASSERT_EQ(0, sigaction(SIGUSR1, &before, NULL));
}

/*
 * Shut down while the peer does not read, a connection whose receivers have gone waits for that
 * only, whatever comes in.
 */
TEST(receivers_have_gone)
{
	const ConnectionPoolOptions o = { .Receivers = 1 };
	char *large = calloc(1, 1 << 20);
	ConnectionPool *pool;
	TaskQueue *queue;
	MTExecutive *mte;
	pthread_t thread;
	uint64_t turns;
	Connection *c;
	struct dxt t;
	int fd[2];

	ASSERT_EQ(0, begin(&t, &mte, &queue, &pool, &thread, &o));
	c = connection(pool, fd);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(0, observe(c, 1, 0));
	EXPECT_EQ(0, Connection_send(c, large, 1 << 20));
	ConnectionPool_shutdown(pool, dxt_late_ns());
	ASSERT_TRUE(says(fd[1], "x"));
	turns = status(pool).Turns;
	dxt_sleep_ms(100);
	EXPECT_GE(turns + 10, status(pool).Turns);
	EXPECT_EQ(0, notes.ends);
	EXPECT_TRUE(drains(fd[1], 1 << 20));
	EXPECT_TRUE(ends(fd[1]));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(-ECANCELED, notes.status);
	EXPECT_EQ(0, notes.nr);
	close(fd[1]);
	free(large);
	Connection_release(c);
	EXPECT_EQ(0, end(&t, mte, queue, pool, thread));
}

/* --- messages ---------------------------------------------------------------------------------- */

#define SENDERS	8
#define EACH	1250

struct sender {
	Connection *c;
	pthread_t thread;
	unsigned char number;
	unsigned int refused;
};

static void *sends(void *arg)
{
	struct sender *self = arg;
	unsigned char text[7] = { self->number };

	for (unsigned int i = 0; i < EACH; i++) {
		memcpy(text + 1, &i, sizeof(i));
		text[5] = text[6] = (unsigned char)(self->number ^ i);
		while (Connection_send(self->c, text, sizeof(text)) == -EAGAIN) {
			self->refused++;
			usleep(100);
		}
	}
	return NULL;
}

/* CO-12: ten thousand messages of eight threads: each once, whole, and in order for each sender. */
TEST_F(server, messages_in_order)
{
	unsigned int next[SENDERS] = { 0 }, wrong = 0, number;
	int fd[2], small = 4096;
	Connection *c = connection(self->pool, fd);
	struct sender s[SENDERS];
	unsigned char text[7];

	ASSERT_NE(NULL, c);
	setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	for (unsigned int i = 0; i < SENDERS; i++) {
		s[i] = (struct sender){ .c = c, .number = (unsigned char)i };
		ASSERT_EQ(0, pthread_create(&s[i].thread, NULL, sends, &s[i]));
	}
	for (unsigned int i = 0; i < SENDERS * EACH; i++) {
		ASSERT_TRUE(reads(fd[1], text, sizeof(text)));
		ASSERT_GT(SENDERS, text[0]);
		memcpy(&number, text + 1, sizeof(number));
		wrong += number != next[text[0]]++ || text[5] != (unsigned char)(text[0] ^ number) ||
			 text[6] != text[5];
	}
	EXPECT_EQ(0, wrong);
	for (unsigned int i = 0; i < SENDERS; i++)
		pthread_join(s[i].thread, NULL);
	EXPECT_TRUE(DXT_SOON(status(self->pool).BytesOut == SENDERS * EACH * sizeof(text)));
	EXPECT_EQ(0, unread(fd[1]));
	Connection_close(c);
	EXPECT_TRUE(ends(fd[1]));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	close(fd[1]);
	Connection_release(c);
}

static _Atomic int told[4];

static void tell(void *arg, Connection *c, int status)
{
	(void)c;
	*(_Atomic int *)arg = status;
}

/*
 * CO-13: a message that the peer does not take in time is dropped and told; those before and behind
 * it are not.
 */
TEST_F(server, late_message_is_dropped)
{
	int fd[2];
	Connection *c = connection(self->pool, fd);
	char *large = calloc(1, 1 << 20);
	uint64_t begun;

	for (int i = 0; i < 4; i++)
		told[i] = 1;
	ASSERT_NE(NULL, c);
	EXPECT_EQ(-EINVAL, Connection_sendWithin(c, "x", 1, -1, tell, &told[0]));
	EXPECT_EQ(0, Connection_sendWithin(c, "", 0, 0, tell, &told[3]));
	EXPECT_EQ(0, told[3]);
	EXPECT_EQ(0, Connection_sendWithin(c, large, 1 << 20, 0, tell, &told[0]));
	begun = dxt_now();
	EXPECT_EQ(0, Connection_sendWithin(c, "late", 4, 50 * DXT_MS, tell, &told[1]));
	EXPECT_EQ(0, Connection_sendWithin(c, "in time", 7, dxt_late_ns(), tell, &told[2]));
	EXPECT_EQ(0, Connection_send(c, "end", 3));
	EXPECT_TRUE(DXT_SOON(told[1] == -ETIME));
	EXPECT_LE(50 * DXT_MS, dxt_now() - begun);
	EXPECT_EQ(1, told[0]);
	EXPECT_EQ(1, told[2]);
	EXPECT_EQ(1, status(self->pool).Dropped);
	EXPECT_TRUE(drains(fd[1], 1 << 20));
	EXPECT_TRUE(gives(fd[1], "in timeend"));
	EXPECT_TRUE(DXT_SOON(!told[0] && !told[2]));
	EXPECT_EQ(0, notes.ends);

	/* Of one that was begun the peer has a part: then it is over. */
	EXPECT_EQ(0, Connection_sendWithin(c, large, 1 << 20, 2000 * DXT_MS, tell, &told[0]));
	EXPECT_EQ(0, Connection_sendWithin(c, "behind", 6, 0, tell, &told[3]));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(-ETIME, notes.status);
	EXPECT_TRUE(DXT_SOON(told[3] == -EPIPE));
	EXPECT_EQ(-EPIPE, told[0]);
	EXPECT_EQ(-EPIPE, Connection_sendWithin(c, "", 0, 0, tell, &told[2]));
	EXPECT_EQ(0, told[2]);
	close(fd[1]);
	free(large);
	Connection_release(c);
}

static bool writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) == 1;
}

/* More than it takes is refused, and it goes on when the peer reads (CO-12). */
TEST(output_is_bounded)
{
	const ConnectionPoolOptions o = { .OutputLimit = 1000 };
	unsigned int sent = 0;
	ConnectionPool *pool;
	TaskQueue *queue;
	MTExecutive *mte;
	pthread_t thread;
	Connection *c;
	int fd[2], rc;
	struct dxt t;
	bool full;

	ASSERT_EQ(0, begin(&t, &mte, &queue, &pool, &thread, &o));
	c = connection(pool, fd);
	ASSERT_NE(NULL, c);
	/* A thread writes to the socket beside this, until that is full as well. */
	do {
		full = !writable(fd[0]);
		for (; !(rc = Connection_send(c, "0123456789", 10)); sent++)
			full = false;
		EXPECT_EQ(-EAGAIN, rc);
	} while (!full);
	EXPECT_LE(100, sent);
	EXPECT_TRUE(drains(fd[1], 10 * sent));
	EXPECT_TRUE(DXT_SOON(!Connection_send(c, "more", 4)));
	EXPECT_TRUE(gives(fd[1], "more"));
	/* A peer that has gone */
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(Connection_send(c, "x", 1) == -EPIPE));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(-EPIPE, notes.status);
	Connection_release(c);
	EXPECT_EQ(0, end(&t, mte, queue, pool, thread));
}

/* --- ends ----------------------------------------------------------------------------------------- */

static int answers(Task *self, Message *data, void *context)
{
	while (notes.closed)
		usleep(100);
	notes.nr++;
	Connection_send(context, data->Data, data->Len);
	return Connection_observe(context, &(DataObserver){ .Length = 1, .Run = self,
							    .Context = context });
}

/* A peer that sends no more, but reads, has its answer; then it is the end. */
TEST_F(server, half_closed)
{
	int fd[2];
	Connection *c = connection(self->pool, fd);

	ASSERT_NE(NULL, c);
	Task_init(&noting, answers);
	EXPECT_EQ(0, Connection_observe(c, &(DataObserver){ .Length = 1, .Run = &noting,
							    .Context = c }));
	notes.closed = true;
	ASSERT_TRUE(says(fd[1], "abc"));
	EXPECT_EQ(0, shutdown(fd[1], SHUT_WR));
	notes.closed = false;
	EXPECT_TRUE(gives(fd[1], "abc"));
	EXPECT_TRUE(ends(fd[1]));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(0, notes.status);
	close(fd[1]);
	Connection_release(c);
}

/* Shut down with time: who waits for a request ends, who is answered has its answer first. */
TEST_F(server, shutdown_drains)
{
	int busy[2], idle[2], fd[2];
	Connection *c[3];

	c[0] = connection(self->pool, idle);
	ASSERT_NE(NULL, c[0]);
	EXPECT_EQ(0, observe(c[0], 1, 0));
	c[1] = connection(self->pool, busy);
	ASSERT_NE(NULL, c[1]);
	Task_init(&noting, answers);
	EXPECT_EQ(0, Connection_observe(c[1], &(DataObserver){ .Length = 1, .Run = &noting,
							       .Context = c[1] }));
	notes.closed = true;
	ASSERT_TRUE(says(busy[1], "a"));
	EXPECT_TRUE(DXT_SOON(Connection_owner(c[1]) && unread(busy[0]) == 0));
	ConnectionPool_shutdown(self->pool, dxt_late_ns());
	EXPECT_TRUE(ends(idle[1]));
	EXPECT_EQ(0, unread(busy[1]));
	notes.closed = false;
	EXPECT_TRUE(gives(busy[1], "a"));
	EXPECT_TRUE(ends(busy[1]));
	EXPECT_TRUE(DXT_SOON(notes.ends == 2));
	EXPECT_EQ(-ECANCELED, notes.status);
	c[2] = c[0];
	EXPECT_EQ(-ESHUTDOWN, pair(fd) ? 0 : ConnectionPool_register(self->pool, fd[0], NULL, NULL, &c[2]));
	EXPECT_EQ(NULL, c[2]);
	for (int i = 0; i < 2; i++) {
		close(fd[i]);
		Connection_release(c[i]);
	}
	close(busy[1]);
	close(idle[1]);
}

/* ... also where the task was pushed, and further observers wait. */
TEST_F(server, shutdown_drains_pushed)
{
	int fd[2];
	Connection *c = connection(self->pool, fd);
	DataObserver o = { .Length = 1, .Run = &noting, .Context = c };

	ASSERT_NE(NULL, c);
	Task_init(&noting, answers);
	noting.Key = 4711;
	EXPECT_EQ(0, Connection_observe(c, &o));
	EXPECT_EQ(0, Connection_observe(c, &o));
	notes.closed = true;
	ASSERT_TRUE(says(fd[1], "a"));
	EXPECT_TRUE(DXT_SOON(status(self->pool).BytesIn == 1 && !Connection_owner(c)));
	ConnectionPool_shutdown(self->pool, dxt_late_ns());
	dxt_sleep_ms(50);
	EXPECT_EQ(0, notes.ends);
	notes.closed = false;
	EXPECT_TRUE(gives(fd[1], "a"));
	EXPECT_TRUE(ends(fd[1]));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(-ECANCELED, notes.status);
	close(fd[1]);
	Connection_release(c);
}

/*
 * A connection's end waits for the task that was pushed with its data, which may use what @ended
 * frees; one that has not begun is not run.
 */
TEST_F(server, end_waits_for_pushed)
{
	Connection *c[2];
	int fd[2][2];

	c[0] = connection(self->pool, fd[0]);
	ASSERT_NE(NULL, c[0]);
	ASSERT_EQ(0, pair(fd[1]));
	ASSERT_EQ(0, ConnectionPool_register(self->pool, fd[1][0], &noted, &notes, &c[1]));
	noting.Key = 4711;
	notes.closed = true;
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, observe(c[i], 1, 0));
		ASSERT_TRUE(says(fd[i][1], "x"));
		EXPECT_TRUE(DXT_SOON(status(self->pool).BytesIn == 1U + i && notes.inside));
		EXPECT_TRUE(DXT_SOON(!Connection_owner(c[i])));
	}
	ConnectionPool_shutdown(self->pool, 0);
	EXPECT_TRUE(ends(fd[1][1]));
	EXPECT_TRUE(DXT_SOON(notes.ends == 1));
	dxt_sleep_ms(250);
	EXPECT_EQ(1, notes.ends);
	EXPECT_EQ(-EPIPE, Connection_send(c[0], "x", 1));
	notes.closed = false;
	EXPECT_TRUE(DXT_SOON(notes.ends == 2));
	EXPECT_TRUE(ends(fd[0][1]));
	EXPECT_EQ(1, notes.nr);
	EXPECT_EQ(0, notes.wrong);
	for (int i = 0; i < 2; i++) {
		Connection_release(c[i]);
		close(fd[i][1]);
	}
}

/* What is sent while it drains does not change what it ends with. */
TEST_F(server, shutdown_status)
{
	int fd[2];
	Connection *c = connection(self->pool, fd);

	ASSERT_NE(NULL, c);
	ConnectionPool_shutdown(self->pool, dxt_late_ns());
	EXPECT_EQ(0, Connection_send(c, "x", 1));
	EXPECT_TRUE(gives(fd[1], "x"));
	EXPECT_EQ(0, notes.ends);
	EXPECT_EQ(0, observe(c, 1, 0));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	EXPECT_EQ(-ECANCELED, notes.status);
	close(fd[1]);
	Connection_release(c);
}

/* Somebody stops the executive: connections end, and who serves them hears of it. */
TEST(stopped)
{
	ConnectionPool *pool;
	TaskQueue *queue;
	MTExecutive *mte;
	pthread_t thread;
	Connection *c;
	struct dxt t;
	void *rc;
	int fd[2];

	ASSERT_EQ(0, begin(&t, &mte, &queue, &pool, &thread, NULL));
	c = connection(pool, fd);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(0, observe(c, 1, 0));
	EXPECT_TRUE(DXT_SOON(status(pool).Reads && !Connection_owner(c)));
	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_CANCEL, -1));
	pthread_join(thread, &rc);
	EXPECT_EQ(-ECANCELED, (int)(intptr_t)rc);
	EXPECT_EQ(1, notes.ends);
	EXPECT_EQ(-ECANCELED, notes.status);
	Connection_release(c);
	ConnectionPool_destroy(pool);
	TaskQueue_destroy(queue);
	close(fd[1]);
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
}

static void *destroys(void *arg)
{
	struct receiver *self = arg;

	ConnectionPool_destroy(self->pool);
	self->pulled = 1;
	return NULL;
}

static void *shuts(void *arg)
{
	ConnectionPool_shutdown(arg, 0);
	return NULL;
}

/*
 * Who has no descriptor left, and so cannot become a member, destroys nothing that workers use; and
 * a shutdown that called nobody is made up for by the next one, which the teardown is.
 */
TEST_F(server, without_descriptors)
{
	struct receiver r = { .pool = ConnectionPool_create(self->queue, NULL) };
	struct rlimit old, none;
	pthread_t shutting;
	Connection *c;
	int fd[2];

	ASSERT_NE(NULL, r.pool);
	/* Who serves is a member: of one that dies in a turn only that thread tells. */
	c = connection(self->pool, fd);
	ASSERT_NE(NULL, c);
	Task_init(&noting, dies);
	EXPECT_EQ(0, observe(c, 1, 0));
	ASSERT_TRUE(says(fd[1], "x"));
	EXPECT_TRUE(DXT_SOON(notes.ends));
	close(fd[1]);
	Connection_release(c);
	c = connection(r.pool, fd);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(0, observe(c, 1, 0));
	EXPECT_TRUE(DXT_SOON(status(r.pool).Reads && !Connection_owner(c)));
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(0, pthread_create(&shutting, NULL, shuts, self->pool));
	EXPECT_EQ(0, pthread_create(&r.thread, NULL, destroys, &r));
	dxt_sleep_ms(50);
	EXPECT_EQ(0, r.pulled);
	EXPECT_EQ(0, notes.ends);
	EXPECT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	pthread_join(shutting, NULL);
	pthread_join(r.thread, NULL);
	EXPECT_EQ(1, notes.ends);
	EXPECT_EQ(-ECANCELED, notes.status);
	EXPECT_TRUE(ends(fd[1]));
	close(fd[1]);
	Connection_release(c);
}

/* What pools and observers are not made of. */
TEST_F(server, refused)
{
	static const DataObserver bad[] = {
		{ .Length = 1 }, { .Run = &noting }, { .Length = 1, .Run = &noting, .TimeoutNs = -1 },
		{ .Length = 1, .enough = a_line, .Run = &noting },
	};
	ConnectionPoolOptions o = { .Receivers = 2 };
	int fd[2];
	Connection *c = connection(self->pool, fd);

	for (unsigned int i = 0; i < 4; i++)
		EXPECT_EQ(-EINVAL, Connection_observe(c, &bad[i]));
	EXPECT_EQ(NULL, ConnectionPool_create(self->queue, &o));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-EBADF, ConnectionPool_register(self->pool, 4711, NULL, NULL, NULL));
	EXPECT_EQ(-EINVAL, ConnectionPool_takeMyConnections(self->pool, self, &c, 1, 0));
	Connection_release(c);
	close(fd[1]);
}

TEST_HARNESS_MAIN
