// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reactor: dispatcher, channels, acceptors (NI-1 .. NI-25, R-7, R-8, D-21).
 */
#define _GNU_SOURCE
#include "lib/tcp.h"
#include "library/libwait.h"

#include <arpa/inet.h>
#include <dx_reactor.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define WORKERS		2

/* A handler of lines that answers each with itself, and notes what it was told. */
struct echo {
	InputHandler base;
	ChannelFacade *facade;
	char lives[8];			/* s: starting, S: started, e: stopping, E: stopped */
	_Atomic unsigned int told, messages, inside, wrong;
	_Atomic bool gate;		/* closed: handleInput waits */
	bool silent;
	int result;
	pid_t thread;
	void (*then)(struct echo *e);
	struct echo *other;
	unsigned int number;
	Dispatcher *dispatcher;
};

static void note(InputHandler *self, ChannelFacade *facade, char what)
{
	struct echo *e = (struct echo *)self;

	e->facade = facade;
	if (e->told < sizeof(e->lives) - 1)
		e->lives[e->told] = what;
	e->told++;
}

static void starting(InputHandler *self, ChannelFacade *facade) { note(self, facade, 's'); }
static void started(InputHandler *self, ChannelFacade *facade) { note(self, facade, 'S'); }
static void stopping(InputHandler *self, ChannelFacade *facade) { note(self, facade, 'e'); }
static void stopped(InputHandler *self, ChannelFacade *facade) { note(self, facade, 'E'); }

/* A line; one that is empty is none. */
static Message *next_line(InputHandler *self, ChannelFacade *facade)
{
	InputQueue *q = ChannelFacade_inputQueue(facade);
	ssize_t n = InputQueue_indexOf(q, '\n');

	(void)self;
	if (n < 0)
		return NULL;
	if (!n) {
		InputQueue_discardBytes(q, 1);
		return MESSAGE_EMPTY;
	}
	return InputQueue_dequeueBytes(q, (size_t)n + 1);
}

static int answer(InputHandler *self, Message *m, ChannelFacade *facade)
{
	struct echo *e = (struct echo *)self;

	e->wrong += e->inside++ != 0 || !CurrentRequest();
	e->thread = gettid();
	while (e->gate)
		usleep(100);
	if (!e->silent && !OutputQueue_enqueue(ChannelFacade_outputQueue(facade), m->Data, m->Len))
		e->wrong++;
	e->messages++;
	if (e->then)
		e->then(e);
	e->inside--;
	return e->result;
}

static struct echo echo_of(void)
{
	return (struct echo){
		.base = { next_line, answer, starting, started, stopping, stopped },
	};
}

static bool is_over(const struct echo *e)
{
	return e->told && e->lives[e->told - 1] == 'E';
}

FIXTURE(reactor) {
	struct dxt t;
	MTExecutive *mte;
	Dispatcher *d;
	pthread_t thread;
	int status;
};

static void *dispatch(void *arg)
{
	Dispatcher *d = arg;

	return (void *)(intptr_t)Dispatcher_dispatch(d);
}

static int up(struct dxt *t, MTExecutive **mte, unsigned int channels)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, WORKERS);

	policy.TPMaxWaiting = channels;
	policy.TPMaxRequests = channels < 2048 ? 2048 : channels;
	*mte = executive(&policy, t);
	return *mte ? 0 : -1;
}

static int begin(struct dxt *t, MTExecutive **mte, Dispatcher **d, pthread_t *thread,
		 const DispatcherOptions *options)
{
	if (up(t, mte, 3000))
		return -1;
	*d = Dispatcher_create(*mte, options);
	if (!*d)
		return -1;
	return pthread_create(thread, NULL, dispatch, *d) ? -1 : 0;
}

static uint64_t turns(Dispatcher *d)
{
	DispatcherStatus s;

	Dispatcher_status(d, &s);
	return s.Turns;
}

static uint64_t live(Dispatcher *d)
{
	DispatcherStatus s;

	Dispatcher_status(d, &s);
	return s.Channels;
}

static uint64_t bytes_in(Dispatcher *d)
{
	DispatcherStatus s;

	Dispatcher_status(d, &s);
	return s.BytesIn;
}

static uint64_t refused_by(Dispatcher *d)
{
	DispatcherStatus s;

	Dispatcher_status(d, &s);
	return s.Refused;
}

static uint64_t pauses(Dispatcher *d)
{
	DispatcherStatus s;

	Dispatcher_status(d, &s);
	return s.Pauses;
}

FIXTURE_SETUP(reactor)
{
	ASSERT_EQ(0, begin(&self->t, &self->mte, &self->d, &self->thread, NULL));
}

static int end(struct dxt *t, MTExecutive *mte, Dispatcher *d, pthread_t thread)
{
	void *status;
	int bad;

	Dispatcher_shutdown(d);
	pthread_join(thread, &status);
	/* which of them tells the number */
	bad = (status ? 1 : 0) | (live(d) ? 2 : 0);
	Dispatcher_destroy(d);
	/* The worker of the last turn may be about to give its buffer back. */
	bad |= DXT_SOON(!BufferFactory_inUse()) ? 0 : 4;
	bad |= DXT_SOON(!dxt_num(t, "pools/wait_use")) ? 0 : 8;
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	return bad;
}

FIXTURE_TEARDOWN(reactor)
{
	EXPECT_EQ(0, end(&self->t, self->mte, self->d, self->thread));
}

static int pair(int fd[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd);
}

/* Does @fd give these bytes, and soon? */
static bool gives(int fd, const void *text, size_t len)
{
	char got[4096];
	size_t n = 0;
	ssize_t r;

	while (n < len) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, dxt_late_ms()) != 1)
			return false;
		r = read(fd, got, len - n < sizeof(got) ? len - n : sizeof(got));
		if (r <= 0 || memcmp(got, (const char *)text + n, (size_t)r))
			return false;
		n += (size_t)r;
	}
	return true;
}

static bool says(int fd, const char *text)
{
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool answers(int fd, const char *text)
{
	return says(fd, text) && gives(fd, text, strlen(text));
}

/* Is it at its end, and soon? */
static bool ends(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c;

	return poll(&p, 1, dxt_late_ms()) == 1 && read(fd, &c, 1) == 0;
}

struct factory {
	InputHandlerFactory base;
	_Atomic unsigned int made, deleted;
	_Atomic int refuse;
};

static InputHandler *make(InputHandlerFactory *self, int fd)
{
	struct factory *f = (struct factory *)self;
	struct echo *e;

	if (f->refuse || fd < 0)
		return NULL;
	e = malloc(sizeof(*e));
	*e = echo_of();
	f->made++;
	return &e->base;
}

static void unmake(InputHandlerFactory *self, InputHandler *handler)
{
	((struct factory *)self)->deleted++;
	free(handler);
}

/* --- one channel ------------------------------------------------------------------ */

/* NI-1, NI-2: one handler a channel, which runs in a worker */
TEST_F(reactor, registers_once)
{
	struct echo e = echo_of(), second = echo_of();
	ChannelFacade *f = NULL;
	int fd[2];

	ASSERT_EQ(0, pair(fd));
	EXPECT_EQ(-EBADF, Dispatcher_registerChannel(self->d, 4711, &e.base, &f));
	EXPECT_EQ(-EINVAL, Dispatcher_registerChannel(self->d, fd[0], NULL, &f));
	EXPECT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &f));
	EXPECT_EQ(-EEXIST, Dispatcher_registerChannel(self->d, fd[0], &second.base, NULL));
	EXPECT_TRUE(answers(fd[1], "one\n"));
	EXPECT_EQ(0, second.told);
	EXPECT_NE(0, e.thread);
	EXPECT_NE(gettid(), e.thread);
	EXPECT_EQ(0, e.wrong);
	/* The answer is there before the turn is over. */
	EXPECT_TRUE(DXT_SOON(ChannelFacade_getInterestOps(f) == OP_READ));
	EXPECT_EQ(-EINVAL, ChannelFacade_modifyInterestOps(f, OP_ACCEPT, 0));
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_STREQ("sSeE", e.lives);
	EXPECT_FALSE(OutputQueue_enqueue(ChannelFacade_outputQueue(f), "x", 1));
	ChannelFacade_close(f);
	Dispatcher_unregisterChannel(f);
	ChannelFacade_release(f);
}

/* a connection may be idle for long, and nobody is told of its wait. */
TEST_F(reactor, idle_is_quiet)
{
	struct echo e = echo_of();
	int fd[2];

	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, NULL));
	EXPECT_TRUE(answers(fd[1], "one\n"));
	EXPECT_EQ(0, dxt_store(&self->t, "policy/monitor_interval_ms", "10"));
	EXPECT_EQ(0, dxt_store(&self->t, "policy/wait_report_ms", "20"));
	EXPECT_TRUE(DXT_SOON(dxt_num(&self->t, "policy/wait_report_ms") == 20));
	/* no event shows that nothing is told */
	dxt_sleep_ms(300);
	EXPECT_LT(0, dxt_num(&self->t, "pools/wait_use"));
	EXPECT_EQ(0, dxt_num(&self->t, "stats/overdue"));
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
}

/*
 * NI-3, NI-4, NI-7: what comes while the handler executes starts no second one, and is not
 * forgotten
 */
TEST_F(reactor, one_handler)
{
	struct echo e = echo_of();
	uint64_t before;
	char line[16];
	int fd[2], i;

	ASSERT_EQ(0, pair(fd));
	e.gate = true;
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, NULL));
	EXPECT_TRUE(says(fd[1], "first\n"));
	EXPECT_TRUE(DXT_SOON(e.inside));
	before = turns(self->d);
	for (i = 0; i < 100; i++)
		EXPECT_TRUE(says(fd[1], "more\n"));
	EXPECT_EQ(before, turns(self->d));
	EXPECT_EQ(0, e.messages);
	e.gate = false;
	EXPECT_TRUE(DXT_SOON(e.messages == 101));
	EXPECT_TRUE(gives(fd[1], "first\n", 6));
	for (i = 0; i < 100; i++)
		EXPECT_TRUE(gives(fd[1], "more\n", 5));
	for (i = 0; i < 2000; i++) {
		sprintf(line, "%d\n", i);
		ASSERT_TRUE(answers(fd[1], line));
	}
	EXPECT_EQ(0, e.wrong);
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
}

/* NI-12, NI-13: whole messages only, all of them, in one turn if they come at once */
TEST_F(reactor, messages)
{
	struct echo e = echo_of();
	const char *text = "a line\n";
	uint64_t before;
	int fd[2];

	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, NULL));
	for (const char *c = text; *c; c++) {
		EXPECT_EQ(0, e.messages);
		EXPECT_EQ(1, write(fd[1], c, 1));
		EXPECT_TRUE(DXT_SOON(bytes_in(self->d) == (size_t)(c - text) + 1));
	}
	EXPECT_TRUE(gives(fd[1], text, strlen(text)));
	before = turns(self->d);
	EXPECT_TRUE(says(fd[1], "\n\none\n\n\ntwo\n\nthree\n\nfo"));
	EXPECT_TRUE(gives(fd[1], "one\ntwo\nthree\n", 14));
	EXPECT_EQ(before + 1, turns(self->d));
	EXPECT_EQ(4, e.messages);
	EXPECT_TRUE(says(fd[1], "ur\n"));
	EXPECT_TRUE(gives(fd[1], "four\n", 5));
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
}

/* NI-14: a peer that does not read: no turn until it does, and then the rest */
TEST_F(reactor, writes_when_it_can)
{
	static char text[1 << 20], got[4096];
	struct echo e = echo_of();
	ChannelFacade *f;
	uint64_t before;
	size_t n = 0;
	ssize_t r;
	int fd[2];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 7 + i / 4096);
	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &f));
	ASSERT_TRUE(OutputQueue_enqueue(ChannelFacade_outputQueue(f), text, sizeof(text)));
	EXPECT_EQ(OP_READ | OP_WRITE, ChannelFacade_getInterestOps(f));
	EXPECT_TRUE(DXT_SOON(poll(&(struct pollfd){ .fd = fd[0], .events = POLLOUT }, 1, 0) == 0));
	dxt_sleep_ms(20);
	before = turns(self->d);
	dxt_sleep_ms(50);
	EXPECT_EQ(before, turns(self->d));
	while (n < sizeof(text)) {
		r = read(fd[1], got, sizeof(got));
		ASSERT_LT(0, r);
		ASSERT_EQ(0, memcmp(got, text + n, (size_t)r));
		n += (size_t)r;
	}
	EXPECT_TRUE(DXT_SOON(ChannelFacade_getInterestOps(f) == OP_READ));
	ChannelFacade_release(f);
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
}

static void say_goodbye(InputHandler *self, ChannelFacade *facade)
{
	note(self, facade, 'e');
	OutputQueue_enqueue(ChannelFacade_outputQueue(facade), "bye\n", 4);
}

/* NI-16: after the end of the input the output is written, then each end is told once */
TEST_F(reactor, half_close)
{
	static char text[512 << 10], got[4096];
	struct echo e = echo_of();
	ChannelFacade *f;
	size_t n = 0;
	ssize_t r;
	int fd[2];

	memset(text, 'x', sizeof(text));
	e.base.stopping = say_goodbye;
	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &f));
	ASSERT_TRUE(OutputQueue_enqueue(ChannelFacade_outputQueue(f), text, sizeof(text)));
	ASSERT_TRUE(says(fd[1], "last\nin part"));
	ASSERT_EQ(0, shutdown(fd[1], SHUT_WR));
	EXPECT_TRUE(DXT_SOON(e.told == 3));
	while ((r = read(fd[1], got, sizeof(got))) > 0)
		n += (size_t)r;
	EXPECT_EQ(0, r);
	EXPECT_EQ(sizeof(text) + 5 + 4, n);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_STREQ("sSeE", e.lives);
	EXPECT_EQ(1, e.messages);
	ChannelFacade_release(f);
	close(fd[1]);
}

/* ... and ChannelFacade_close() is the same end from this side */
TEST_F(reactor, closes)
{
	struct echo e = echo_of();
	ChannelFacade *f;
	int fd[2];

	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &f));
	EXPECT_TRUE(answers(fd[1], "yes\n"));
	ASSERT_TRUE(OutputQueue_enqueue(ChannelFacade_outputQueue(f), "end\n", 4));
	ChannelFacade_close(f);
	EXPECT_TRUE(gives(fd[1], "end\n", 4));
	EXPECT_TRUE(ends(fd[1]));
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_STREQ("sSeE", e.lives);
	ChannelFacade_release(f);
	close(fd[1]);
}

/* Is it the file that it was? The library's threads open and close others. */
static bool is_open(int fd, const struct stat *file)
{
	struct stat now;

	return !fstat(fd, &now) && now.st_dev == file->st_dev && now.st_ino == file->st_ino;
}

/* NI-14: a file that is open for writing only lives while somebody reads it, and is closed */
TEST_F(reactor, writes_only)
{
	static char text[256 << 10];
	struct echo e = echo_of();
	ChannelFacade *f;
	struct stat file;
	int fd[2];

	ASSERT_EQ(0, pipe2(fd, O_CLOEXEC));
	ASSERT_EQ(0, fstat(fd[1], &file));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[1], &e.base, &f));
	EXPECT_EQ(0, ChannelFacade_getInterestOps(f));
	EXPECT_EQ(-EINVAL, ChannelFacade_modifyInterestOps(f, OP_READ, 0));
	EXPECT_TRUE(OutputQueue_enqueue(ChannelFacade_outputQueue(f), text, sizeof(text)));
	EXPECT_TRUE(gives(fd[0], text, sizeof(text)));
	EXPECT_STREQ("sS", e.lives);
	close(fd[0]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_STREQ("sSeE", e.lives);
	EXPECT_FALSE(is_open(fd[1], &file));
	ChannelFacade_release(f);

	/* ... and to its end, if that comes from this side */
	e = echo_of();
	ASSERT_EQ(0, pipe2(fd, O_CLOEXEC));
	ASSERT_EQ(0, fstat(fd[1], &file));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[1], &e.base, &f));
	EXPECT_TRUE(OutputQueue_enqueue(ChannelFacade_outputQueue(f), text, sizeof(text)));
	ChannelFacade_close(f);
	EXPECT_TRUE(gives(fd[0], text, sizeof(text)));
	EXPECT_TRUE(ends(fd[0]));
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_FALSE(is_open(fd[1], &file));
	ChannelFacade_release(f);
	close(fd[0]);
}

/* ... and one that is open for reading only takes no output */
TEST_F(reactor, reads_only)
{
	struct echo e = echo_of();
	ChannelFacade *f;
	struct stat file;
	int fd[2];

	e.silent = true;
	ASSERT_EQ(0, pipe2(fd, O_CLOEXEC));
	ASSERT_EQ(0, fstat(fd[0], &file));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &f));
	EXPECT_FALSE(OutputQueue_enqueue(ChannelFacade_outputQueue(f), "x", 1));
	EXPECT_EQ(OP_READ, ChannelFacade_getInterestOps(f));
	EXPECT_TRUE(says(fd[1], "one\ntwo\n"));
	EXPECT_TRUE(DXT_SOON(e.messages == 2));
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_STREQ("sSeE", e.lives);
	EXPECT_FALSE(is_open(fd[0], &file));
	ChannelFacade_release(f);
}

/* --- failures --------------------------------------------------------------------- */

/* NI-9, R-8: a handler that fails is not called again; others go on */
TEST_F(reactor, handler_fails)
{
	struct echo e = echo_of(), other = echo_of();
	int fd[2], good[2];

	e.result = -EBADF;
	e.silent = true;
	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, pair(good));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, good[0], &other.base, NULL));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, NULL));
	EXPECT_TRUE(says(fd[1], "one\ntwo\nthree\n"));
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_EQ(1, e.messages);
	EXPECT_STREQ("sSeE", e.lives);
	/* What it had not read makes it a reset, and it comes when the file is let go. */
	EXPECT_TRUE(DXT_SOON(poll(&(struct pollfd){ .fd = fd[1] }, 1, 0) == 1));
	EXPECT_TRUE(answers(good[1], "well\n"));
	close(good[1]);
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&other)));
}

static void exits(struct echo *e)
{
	(void)e;
	pthread_exit(NULL);
}

/* NI-9: ... nor is one that ends its thread */
TEST_F(reactor, worker_dies)
{
	struct echo e = echo_of(), other = echo_of();
	int fd[2], good[2];

	e.then = exits;
	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, pair(good));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, good[0], &other.base, NULL));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, NULL));
	EXPECT_TRUE(says(fd[1], "one\ntwo\n"));
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_EQ(1, e.messages);
	EXPECT_STREQ("sSeE", e.lives);
	EXPECT_TRUE(answers(good[1], "well\n"));
	close(good[1]);
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&other)));
}

/* NI-11: with all workers asleep an event waits; nobody else executes handlers */
TEST_F(reactor, no_caller_runs)
{
	struct echo e[WORKERS + 1];
	int fd[WORKERS + 1][2], i;

	for (i = 0; i <= WORKERS; i++) {
		e[i] = echo_of();
		e[i].gate = i < WORKERS;
		ASSERT_EQ(0, pair(fd[i]));
		ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[i][0], &e[i].base, NULL));
		EXPECT_TRUE(DXT_SOON(e[i].told == 2));
	}
	for (i = 0; i < WORKERS; i++) {
		EXPECT_TRUE(says(fd[i][1], "sleep\n"));
		EXPECT_TRUE(DXT_SOON(e[i].inside));
	}
	EXPECT_TRUE(says(fd[WORKERS][1], "now\n"));
	dxt_sleep_ms(50);
	EXPECT_EQ(0, e[WORKERS].messages);
	e[0].gate = false;
	EXPECT_TRUE(gives(fd[WORKERS][1], "now\n", 4));
	EXPECT_TRUE(e[WORKERS].thread == e[0].thread);
	e[1].gate = false;
	for (i = 0; i <= WORKERS; i++) {
		close(fd[i][1]);
		EXPECT_TRUE(DXT_SOON(is_over(&e[i])));
	}
}

/* NI-22: who closes the file behind the library's back has one end of the channel, no spin */
TEST_F(reactor, closed_elsewhere)
{
	struct echo e = echo_of();
	ChannelFacade *f;
	uint64_t before;
	int fd[2];

	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &f));
	EXPECT_TRUE(answers(fd[1], "here\n"));
	/* A turn that executes would mean what others open meanwhile, by the same number. */
	EXPECT_TRUE(DXT_SOON(RequestStateOf(self->mte, self->d, f, NULL) == RQE_WAITING));
	close(fd[0]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_STREQ("sSeE", e.lives);
	EXPECT_TRUE(ends(fd[1]));
	before = turns(self->d);
	dxt_sleep_ms(30);
	EXPECT_EQ(before, turns(self->d));
	ChannelFacade_release(f);
	close(fd[1]);
}

/* --- changes by others -------------------------------------------------------------- */

/* NI-19: with all asleep a channel comes and goes without waiting for traffic */
TEST_F(reactor, comes_and_goes)
{
	uint64_t begin = dxt_now(), best = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		struct echo e = echo_of();
		ChannelFacade *f;
		int fd[2];

		begin = dxt_now();
		ASSERT_EQ(0, pair(fd));
		ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &f));
		Dispatcher_unregisterChannel(f);
		ASSERT_TRUE(ends(fd[1]));
		if (dxt_now() - begin < best)
			best = dxt_now() - begin;
		EXPECT_TRUE(DXT_SOON(is_over(&e)));
		ChannelFacade_release(f);
		close(fd[1]);
	}
	if (!dxt_debug_kernel())
		EXPECT_GT(10 * DXT_MS, best);
}

/* NI-20: the handler ends first, and nothing is told after stopped */
TEST_F(reactor, unregistered_while_it_executes)
{
	struct echo e = echo_of();
	ChannelFacade *f;
	int fd[2];

	ASSERT_EQ(0, pair(fd));
	e.gate = true;
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &f));
	EXPECT_TRUE(says(fd[1], "one\ntwo\n"));
	EXPECT_TRUE(DXT_SOON(e.inside));
	Dispatcher_unregisterChannel(f);
	Dispatcher_unregisterChannel(f);
	EXPECT_TRUE(says(fd[1], "three\n"));
	EXPECT_EQ(2, e.told);
	e.gate = false;
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_STREQ("sSeE", e.lives);
	EXPECT_EQ(1, e.messages);
	ChannelFacade_release(f);
	close(fd[1]);
}

static void swaps(struct echo *e)
{
	ChannelFacade_setHandler(e->facade, &e->other->base);
}

/* NI-21: the next message of the same segment is the other handler's */
TEST_F(reactor, swaps_handler)
{
	struct echo e = echo_of(), other = echo_of();
	int fd[2];

	e.then = swaps;
	e.other = &other;
	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, NULL));
	EXPECT_TRUE(answers(fd[1], "one\ntwo\nthree\n"));
	EXPECT_EQ(1, e.messages);
	EXPECT_EQ(2, other.messages);
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&other)));
	EXPECT_STREQ("sS", e.lives);
	EXPECT_STREQ("eE", other.lives);
}

/* NI-21: what is no handler does not become one */
TEST_F(reactor, keeps_its_handler)
{
	struct factory factory = { .base = { make, unmake } };
	struct echo e = echo_of(), none = echo_of();
	struct sockaddr_in a;
	ChannelFacade *f;
	int fd[2], s;

	none.base.handleInput = NULL;
	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &f));
	EXPECT_EQ(-EINVAL, ChannelFacade_setHandler(f, NULL));
	EXPECT_EQ(-EINVAL, ChannelFacade_setHandler(f, &none.base));
	EXPECT_TRUE(answers(fd[1], "still here\n"));
	EXPECT_EQ(0, ChannelFacade_setHandler(f, &e.base));
	ChannelFacade_release(f);
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));

	TCP_LISTEN(s, &a);
	ASSERT_EQ(0, StandardAcceptor_create(self->d, s, &factory.base, &f));
	EXPECT_EQ(-EINVAL, ChannelFacade_setHandler(f, &none.base));
	ChannelFacade_release(f);
}

struct changer {
	ChannelFacade *facade;
	struct echo *e;
	_Atomic bool stop;
	unsigned int writes;
};

static void *changes(void *arg)
{
	struct changer *c = arg;

	while (!c->stop) {
		ChannelFacade_modifyInterestOps(c->facade, 0, OP_READ | OP_WRITE);
		ChannelFacade_modifyInterestOps(c->facade, OP_READ, 0);
		ChannelFacade_setHandler(c->facade, &c->e->base);
	}
	return NULL;
}

static void *writes(void *arg)
{
	struct changer *c = arg;
	char line[100];

	memset(line, 'w', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	for (unsigned int i = 0; i < c->writes; i++)
		while (!OutputQueue_enqueue(ChannelFacade_outputQueue(c->facade), line,
					    sizeof(line)))
			usleep(1000);
	return NULL;
}

/*
 * NI-5, NI-6, R-7: interest changed by four threads and output queued by two others at random,
 * while a million bytes are echoed: no output stalls, no input is forgotten
 */
TEST_F(reactor, changes_at_random)
{
	static char line[100], got[65536];
	const unsigned int lines = dxt_debug_kernel() ? 500 : 5000;
	struct echo e = echo_of();
	struct changer c = { .e = &e, .writes = lines };
	size_t n = 0, all = 3 * lines * sizeof(line);
	unsigned int sent = 0;
	pthread_t t[6];
	int fd[2], i;

	memset(line, 'e', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &c.facade));
	for (i = 0; i < 6; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, i < 4 ? changes : writes, &c));
	fcntl(fd[1], F_SETFL, O_NONBLOCK);
	while (n < all) {
		struct pollfd p = { .fd = fd[1], .events = POLLIN | (sent < lines ? POLLOUT : 0) };
		ssize_t r;

		ASSERT_EQ(1, poll(&p, 1, dxt_late_ms()));
		if (p.revents & POLLOUT && sent < lines &&
		    write(fd[1], line, sizeof(line)) == sizeof(line))
			sent++;
		r = read(fd[1], got, sizeof(got));
		if (r > 0)
			n += (size_t)r;
		dxt_tell("%zu of %zu bytes", n, all);
	}
	EXPECT_EQ(all, n);
	c.stop = true;
	for (i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	/* and off is off, on is on */
	ChannelFacade_modifyInterestOps(c.facade, 0, OP_READ);
	EXPECT_TRUE(says(fd[1], "late\n"));
	dxt_sleep_ms(20);
	EXPECT_EQ(lines, e.messages);
	ChannelFacade_modifyInterestOps(c.facade, OP_READ, 0);
	EXPECT_TRUE(gives(fd[1], "late\n", 5));
	EXPECT_EQ(0, e.wrong);
	ChannelFacade_release(c.facade);
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
}

static void *writes_own(void *arg)
{
	static _Atomic int next;
	ChannelFacade *f = arg;
	char text[1024];

	memset(text, 'a' + next++ % 8, sizeof(text));
	for (int i = 0; i < 100; i++)
		while (!OutputQueue_enqueue(ChannelFacade_outputQueue(f), text, sizeof(text)))
			usleep(1000);
	return NULL;
}

/* NI-15: what one call queues stays contiguous */
TEST_F(reactor, contiguous)
{
	char text[1024], same[1024];
	unsigned int of[8] = { 0 };
	struct echo e = echo_of();
	ChannelFacade *f;
	pthread_t t[8];
	int fd[2], i;

	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &f));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, writes_own, f));
	for (i = 0; i < 800; i++) {
		ASSERT_EQ(sizeof(text), recv(fd[1], text, sizeof(text), MSG_WAITALL));
		memset(same, text[0], sizeof(same));
		ASSERT_EQ(0, memcmp(same, text, sizeof(text)));
		of[(text[0] - 'a') & 7]++;
	}
	for (i = 0; i < 8; i++) {
		pthread_join(t[i], NULL);
		EXPECT_EQ(100, of[i]);
	}
	ChannelFacade_release(f);
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
}

/* --- many channels ------------------------------------------------------------------- */

static int another[2];
static _Atomic int registered;

static void registers(struct echo *e)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&registered, &none, 1))
		registered = Dispatcher_registerChannel(e->dispatcher, another[0],
							&e->other->base, NULL) ? -1 : 2;
}

/* NI-8, D-21: two hundred end at once, and one comes from a handler amid that */
TEST_F(reactor, all_at_once)
{
	enum { NR = 200 };
	static struct echo e[NR];
	struct echo extra = echo_of();
	int fd[NR][2], i;

	ASSERT_EQ(0, pair(another));
	registered = 0;
	for (i = 0; i < NR; i++) {
		e[i] = echo_of();
		e[i].then = registers;
		e[i].other = &extra;
		e[i].dispatcher = self->d;
		ASSERT_EQ(0, pair(fd[i]));
		ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[i][0], &e[i].base, NULL));
	}
	for (i = 0; i < NR; i++)
		EXPECT_TRUE(says(fd[i][1], "one\n"));
	for (i = 0; i < NR; i++)
		close(fd[i][1]);
	for (i = 0; i < NR; i++) {
		EXPECT_TRUE(DXT_SOON(is_over(&e[i])));
		EXPECT_STREQ("sSeE", e[i].lives);
		EXPECT_EQ(1, e[i].messages);
	}
	EXPECT_EQ(2, registered);
	EXPECT_TRUE(answers(another[1], "still here\n"));
	close(another[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&extra)));
	EXPECT_TRUE(DXT_SOON(!live(self->d)));
}

/* NI-24: starting, started, stopping, stopped, whenever it is unregistered or closed */
TEST_F(reactor, lives)
{
	unsigned int seed = 7, begun = 0;

	for (int i = 0; i < 1000; i++) {
		struct echo e = echo_of();
		ChannelFacade *f;
		int fd[2];

		ASSERT_EQ(0, pair(fd));
		ASSERT_EQ(0, Dispatcher_registerChannel(self->d, fd[0], &e.base, &f));
		if (rand_r(&seed) % 2)
			ASSERT_TRUE(says(fd[1], "one\ntwo\n"));
		for (int k = rand_r(&seed) % 4; k; k--)
			sched_yield();
		switch (rand_r(&seed) % 4) {
		case 0:
			Dispatcher_unregisterChannel(f);
			/* fall through */
		case 1:
			shutdown(fd[1], SHUT_WR);
			break;
		case 2:
			ChannelFacade_close(f);
			/* fall through */
		case 3:
			close(fd[1]);
			fd[1] = -1;
		}
		ASSERT_TRUE(DXT_SOON(is_over(&e)));
		ChannelFacade_release(f);
		if (strcmp(e.lives, "E"))
			ASSERT_STREQ("sSeE", e.lives);
		begun += e.told > 1;
		if (fd[1] >= 0)
			close(fd[1]);
	}
	EXPECT_LT(500, begun);
	EXPECT_TRUE(DXT_SOON(!live(self->d)));
}

/* --- limits ---------------------------------------------------------------------------- */

static Message *next_none(InputHandler *self, ChannelFacade *facade)
{
	struct echo *e = (struct echo *)self;

	(void)facade;
	return e->number ? next_line(self, facade) : NULL;
}

/* NI-17: a full input queue is not read, and the channel has no turn for it */
TEST(input_limit)
{
	DispatcherOptions o = { .InputLimit = 4096, .OutputLimit = 10000 };
	struct echo e = echo_of();
	char line[128];
	ChannelFacade *f;
	Dispatcher *d;
	MTExecutive *mte;
	pthread_t thread;
	uint64_t before;
	int fd[2], n = 0, k;
	struct dxt t;

	ASSERT_EQ(0, begin(&t, &mte, &d, &thread, &o));
	memset(line, 'l', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	e.base.nextMessage = next_none;
	ASSERT_EQ(0, pair(fd));
	fcntl(fd[1], F_SETFL, O_NONBLOCK);
	ASSERT_EQ(0, Dispatcher_registerChannel(d, fd[0], &e.base, &f));
	while (DXT_WITHIN(100 * DXT_MS, write(fd[1], line, sizeof(line)) == sizeof(line)))
		n++;
	EXPECT_LT(4096 / 128, n);
	before = turns(d);
	dxt_sleep_ms(30);
	EXPECT_EQ(before, turns(d));
	/* It handles them now, and output beyond its limit is not taken. */
	e.number = 1;
	e.silent = true;
	ChannelFacade_setHandler(f, &e.base);
	EXPECT_TRUE(DXT_SOON(e.messages == (unsigned int)n));
	for (k = 0; k < 1000000 && OutputQueue_enqueue(ChannelFacade_outputQueue(f), line,
						       sizeof(line)); k++)
		;
	EXPECT_LE(10000 / 128, k);
	EXPECT_GT(1000000, k);
	EXPECT_GE(10000 + 128, OutputQueue_length(ChannelFacade_outputQueue(f)));
	ChannelFacade_release(f);
	close(fd[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_EQ(0, end(&t, mte, d, thread));
}

static void feeds(struct echo *e)
{
	OutputQueue *out = ChannelFacade_outputQueue(e->other->facade);
	char text[1000];

	memset(text, '0' + e->messages % 10, sizeof(text));
	while (!OutputQueue_enqueue(out, text, sizeof(text)))
		e->wrong++;
	if (OutputQueue_length(out) >= 8000)
		e->wrong += ChannelFacade_awaitDrain(e->facade, e->other->facade) != 0;
}

/* NI-17: who feeds a slow channel is not read until that is half empty, and waits in no handler */
TEST(awaits_drain)
{
	DispatcherOptions o = { .OutputLimit = 10000 };
	struct echo e = echo_of(), slow = echo_of();
	enum { LINES = 3000 };
	char text[1000], got[1000], all[2 * LINES];
	int in[2], out[2], i, lines = LINES;
	MTExecutive *mte;
	pthread_t thread;
	Dispatcher *d;
	struct dxt t;

	ASSERT_EQ(0, begin(&t, &mte, &d, &thread, &o));
	ASSERT_EQ(0, pair(in));
	ASSERT_EQ(0, pair(out));
	e.then = feeds;
	e.silent = true;
	e.other = &slow;
	ASSERT_EQ(0, Dispatcher_registerChannel(d, out[0], &slow.base, NULL));
	EXPECT_TRUE(DXT_SOON(slow.told == 2));
	ASSERT_EQ(0, Dispatcher_registerChannel(d, in[0], &e.base, NULL));
	for (i = 0; i < lines; i++)
		memcpy(all + 2 * i, "l\n", 2);
	ASSERT_EQ(sizeof(all), write(in[1], all, sizeof(all)));
	shutdown(in[1], SHUT_WR);
	dxt_sleep_ms(20);
	EXPECT_GT(lines, e.messages);
	for (i = 1; i <= lines; i++) {
		memset(text, '0' + i % 10, sizeof(text));
		ASSERT_EQ(sizeof(got), recv(out[1], got, sizeof(got), MSG_WAITALL));
		ASSERT_EQ(0, memcmp(text, got, sizeof(got)));
	}
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_EQ(lines, e.messages);
	EXPECT_EQ(0, e.wrong);
	close(in[1]);
	close(out[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&slow)));
	EXPECT_EQ(0, end(&t, mte, d, thread));
}

/* NI-18: idle channels have no buffer */
TEST(many_idle)
{
	const unsigned int nr = dxt_debug_kernel() ? 500 : 10000;
	struct rlimit limit = { 2 * nr + 100, 2 * nr + 100 };
	int (*fd)[2] = calloc(nr, sizeof(*fd));
	struct echo *e = calloc(nr, sizeof(*e));
	unsigned int i;
	MTExecutive *mte;
	pthread_t thread;
	Dispatcher *d;
	struct dxt t;
	uint64_t before;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	ASSERT_EQ(0, up(&t, &mte, nr + 100));
	d = Dispatcher_create(mte, NULL);
	ASSERT_NE(NULL, d);
	ASSERT_EQ(0, pthread_create(&thread, NULL, dispatch, d));
	for (i = 0; i < nr; i++) {
		e[i] = echo_of();
		ASSERT_EQ(0, pair(fd[i]));
		ASSERT_EQ(0, Dispatcher_registerChannel(d, fd[i][0], &e[i].base, NULL));
		dxt_tell("%u of %u channels", i, nr);
	}
	for (i = 0; i < nr; i += nr / 100)
		EXPECT_TRUE(answers(fd[i][1], "here\n"));
	EXPECT_EQ(nr, live(d));
	EXPECT_TRUE(DXT_SOON(!BufferFactory_inUse()));
	EXPECT_EQ(WORKERS, dxt_num(&t, "pools/thread_use"));
	before = turns(d);
	dxt_sleep_ms(50);
	EXPECT_EQ(before, turns(d));
	for (i = 0; i < nr; i++)
		close(fd[i][1]);
	for (i = 0; i < nr; i++)
		ASSERT_TRUE(DXT_SOON(is_over(&e[i])));
	EXPECT_EQ(0, end(&t, mte, d, thread));
	free(fd);
	free(e);
}

/* A channel that moves no byte ends, one that does stays. */
TEST(idle_ends)
{
	DispatcherOptions o = { .IdleNs = 100 * DXT_MS };
	struct echo e = echo_of(), busy = echo_of();
	uint64_t begun = dxt_now();
	int fd[2], used[2];
	MTExecutive *mte;
	pthread_t thread;
	Dispatcher *d;
	struct dxt t;

	ASSERT_EQ(0, begin(&t, &mte, &d, &thread, &o));
	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, pair(used));
	ASSERT_EQ(0, Dispatcher_registerChannel(d, fd[0], &e.base, NULL));
	ASSERT_EQ(0, Dispatcher_registerChannel(d, used[0], &busy.base, NULL));
	while (!is_over(&e) && !is_over(&busy)) {
		EXPECT_TRUE(answers(used[1], "tick\n"));
		ASSERT_GT(dxt_late_ns(), (int64_t)(dxt_now() - begun));
	}
	EXPECT_LE(100 * DXT_MS, dxt_now() - begun);
	EXPECT_TRUE(is_over(&e));
	EXPECT_TRUE(ends(fd[1]));
	close(fd[1]);
	close(used[1]);
	EXPECT_TRUE(DXT_SOON(is_over(&busy)));
	EXPECT_EQ(0, end(&t, mte, d, thread));
}

static void answers_last(struct echo *e)
{
	ChannelFacade_close(e->facade);
}

/*
 * NI-16: who still sends when the answer comes reads all of it, and its end; who never ends is
 * waited for no longer than LingerNs
 */
TEST(lingers)
{
	static char sent[4 << 20];

	for (int ends_itself = 1; ends_itself >= 0; ends_itself--) {
		DispatcherOptions o = { .LingerNs = ends_itself ? dxt_late_ns() : 200 * DXT_MS };
		struct echo e = echo_of();
		struct sockaddr_in a;
		MTExecutive *mte;
		pthread_t thread;
		struct stat file;
		ChannelFacade *f;
		Dispatcher *d;
		uint64_t begun;
		struct dxt t;
		int s, c, fd;

		ASSERT_EQ(0, begin(&t, &mte, &d, &thread, &o));
		TCP_LISTEN(s, &a);
		c = tcp_connect(&a);
		ASSERT_LE(0, c);
		fd = accept4(s, NULL, NULL, SOCK_CLOEXEC);
		close(s);
		ASSERT_EQ(0, fstat(fd, &file));
		e.then = answers_last;
		ASSERT_EQ(0, Dispatcher_registerChannel(d, fd, &e.base, &f));
		/* before the answer, from which on it lingers */
		begun = dxt_now();
		EXPECT_TRUE(says(c, "one\ntwo\n"));
		if (ends_itself) {
			EXPECT_EQ(sizeof(sent), send(c, sent, sizeof(sent), MSG_NOSIGNAL));
			EXPECT_FALSE(is_over(&e));
		}
		EXPECT_TRUE(gives(c, "one\n", 4));
		EXPECT_TRUE(ends(c));
		/* It takes nothing behind what it has said to be its end. */
		EXPECT_FALSE(OutputQueue_enqueue(ChannelFacade_outputQueue(f), "x", 1));
		if (ends_itself)
			close(c);
		EXPECT_TRUE(DXT_SOON(is_over(&e)));
		if (!ends_itself) {
			EXPECT_LE(200 * DXT_MS, dxt_now() - begun);
			close(c);
		}
		EXPECT_STREQ("sSeE", e.lives);
		EXPECT_EQ(1, e.messages);
		EXPECT_FALSE(is_open(fd, &file));
		ChannelFacade_release(f);
		EXPECT_EQ(0, end(&t, mte, d, thread));
	}
}

/* A file that goes out in small parts moves bytes, too. */
TEST(slow_download)
{
	enum { SIZE = 2 << 20, PART = 128 << 10 };
	DispatcherOptions o = { .IdleNs = 200 * DXT_MS };
	int fd[2], file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	struct echo e = echo_of();
	static char part[PART];
	MTExecutive *mte;
	ChannelFacade *f;
	pthread_t thread;
	Dispatcher *d;
	struct dxt t;
	size_t n = 0;
	ssize_t r;

	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, SIZE));
	ASSERT_EQ(0, begin(&t, &mte, &d, &thread, &o));
	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(d, fd[0], &e.base, &f));
	ASSERT_TRUE(OutputQueue_enqueueFile(ChannelFacade_outputQueue(f), "", 0, file, 0, SIZE));
	ChannelFacade_close(f);
	while (n < SIZE) {
		r = recv(fd[1], part, sizeof(part), MSG_WAITALL);
		if (r <= 0)
			break;
		n += (size_t)r;
		dxt_sleep_ms(40);
	}
	EXPECT_EQ(SIZE, n);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	ChannelFacade_release(f);
	close(fd[1]);
	EXPECT_EQ(0, end(&t, mte, d, thread));
}

/* --- accepting ---------------------------------------------------------------------- */

/* NI-1, NI-10: an acceptor, without descriptors for a while, with a factory that refuses */
TEST_F(reactor, accepts)
{
	struct factory factory = { .base = { make, unmake } };
	struct rlimit limit, few;
	struct sockaddr_in a;
	ChannelFacade *f;
	int c[100], i, s;

	TCP_LISTEN(s, &a);
	EXPECT_EQ(-EINVAL, StandardAcceptor_create(self->d, s, NULL, &f));
	ASSERT_EQ(0, StandardAcceptor_create(self->d, s, &factory.base, &f));
	EXPECT_EQ(OP_ACCEPT, ChannelFacade_getInterestOps(f));
	for (i = 0; i < 100; i++) {
		c[i] = tcp_connect(&a);
		ASSERT_LE(0, c[i]);
	}
	for (i = 0; i < 100; i++) {
		EXPECT_TRUE(answers(c[i], "hello\n"));
		close(c[i]);
	}
	EXPECT_TRUE(DXT_SOON(factory.deleted == 100));

	/* Not now */
	ChannelFacade_modifyInterestOps(f, 0, OP_ACCEPT);
	c[0] = tcp_connect(&a);
	EXPECT_TRUE(says(c[0], "hello\n"));
	dxt_sleep_ms(30);
	EXPECT_EQ(100, factory.made);
	ChannelFacade_modifyInterestOps(f, OP_ACCEPT, 0);
	EXPECT_TRUE(gives(c[0], "hello\n", 6));
	close(c[0]);

	/* No descriptors */
	c[0] = socket(AF_INET, SOCK_STREAM, 0);
	getrlimit(RLIMIT_NOFILE, &limit);
	few = limit;
	few.rlim_cur = (rlim_t)c[0] + 1;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	EXPECT_EQ(0, connect(c[0], (void *)&a, sizeof(a)));
	EXPECT_TRUE(says(c[0], "hello\n"));
	dxt_sleep_ms(30);
	EXPECT_EQ(101, factory.made);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	EXPECT_TRUE(gives(c[0], "hello\n", 6));
	close(c[0]);

	factory.refuse = 1;
	c[0] = tcp_connect(&a);
	EXPECT_TRUE(ends(c[0]));
	close(c[0]);
	factory.refuse = 0;

	Dispatcher_unregisterChannel(f);
	EXPECT_TRUE(DXT_SOON(!live(self->d)));
	ChannelFacade_release(f);
	EXPECT_EQ(factory.made, factory.deleted);
	EXPECT_LT(0, pauses(self->d));
}

static int does_nothing(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	return 0;
}

/* NI-19: a channel needs no room in the Ready Pool */
TEST(no_room_in_the_ready_pool)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, 1);
	struct echo busy = echo_of(), late = echo_of();
	Runnable nothing = { .ExecuteThisRequest = does_nothing };
	MTExecutive *mte;
	pthread_t thread;
	int a[2], b[2];
	Dispatcher *d;
	struct dxt t;
	RQPost post = { .pOObject = &t, .pXObject = &nothing, .RQEAttrs = PXR_LANE0 };
	RQOptions none = { .Key = 0 };

	policy.TPMaxWaiting = 100;
	policy.TPReadyEntries = 4;
	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	d = Dispatcher_create(mte, NULL);
	ASSERT_NE(NULL, d);
	ASSERT_EQ(0, pthread_create(&thread, NULL, dispatch, d));
	ASSERT_EQ(0, pair(a));
	ASSERT_EQ(0, pair(b));
	busy.gate = true;
	ASSERT_EQ(0, Dispatcher_registerChannel(d, a[0], &busy.base, NULL));
	ASSERT_TRUE(says(a[1], "one\n"));
	ASSERT_TRUE(DXT_SOON(busy.inside));
	while (PostRequestsWithOf(mte, &post, &none, 1, 0, NULL) == 1)
		;
	EXPECT_EQ(-EAGAIN, PostRequestsWithOf(mte, &post, &none, 1, 0, NULL));
	EXPECT_EQ(0, Dispatcher_registerChannel(d, b[0], &late.base, NULL));
	EXPECT_EQ(0, late.told);
	busy.gate = false;
	EXPECT_TRUE(gives(a[1], "one\n", 4));
	EXPECT_TRUE(answers(b[1], "two\n"));
	close(a[1]);
	close(b[1]);
	EXPECT_EQ(0, end(&t, mte, d, thread));
}

/* NI-10: with all requests in use a connection waits, and is not dropped; and nothing spins */
TEST(no_request_is_left)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, WORKERS);
	struct factory factory = { .base = { make, unmake } };
	struct sockaddr_in a;
	MTExecutive *mte;
	pthread_t thread;
	uint64_t before;
	struct echo e = echo_of();
	int c[4], fd[2], i, s;
	Dispatcher *d;
	struct dxt t;

	/* The dispatcher's, the acceptor's, and those of two connections */
	policy.TPMaxWaiting = 4;
	policy.TPMaxRequests = policy.TPReadyEntries = 4;
	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	d = Dispatcher_create(mte, NULL);
	ASSERT_NE(NULL, d);
	ASSERT_EQ(0, pthread_create(&thread, NULL, dispatch, d));
	TCP_LISTEN(s, &a);
	ASSERT_EQ(0, StandardAcceptor_create(d, s, &factory.base, NULL));
	/* One by one: a busy machine may bring them to the socket in another order. */
	for (i = 0; i < 2; i++) {
		c[i] = tcp_connect(&a);
		ASSERT_LE(0, c[i]);
		EXPECT_TRUE(answers(c[i], "one\n"));
	}
	c[2] = tcp_connect(&a);
	EXPECT_TRUE(says(c[2], "three\n"));
	EXPECT_TRUE(DXT_SOON(pauses(d)));
	c[3] = tcp_connect(&a);
	ASSERT_LE(0, c[3]);
	ASSERT_EQ(0, pair(fd));
	EXPECT_EQ(-ENOSPC, Dispatcher_registerChannel(d, fd[0], &e.base, NULL));
	close(fd[0]);
	close(fd[1]);
	before = turns(d);
	dxt_sleep_ms(30);
	EXPECT_GE(before + 1, turns(d));
	close(c[0]);
	EXPECT_TRUE(gives(c[2], "three\n", 6));
	close(c[1]);
	EXPECT_TRUE(answers(c[3], "four\n"));
	EXPECT_EQ(0, refused_by(d));
	/* ... and what is kept goes with the acceptor. */
	c[0] = tcp_connect(&a);
	before = pauses(d);
	EXPECT_TRUE(DXT_SOON(pauses(d) > before));
	EXPECT_EQ(0, end(&t, mte, d, thread));
	EXPECT_EQ(factory.made, factory.deleted);
	EXPECT_TRUE(ends(c[0]));
	for (i = 0; i < 4; i++)
		close(c[i]);
}

static _Atomic unsigned int redirected;

static void redirects(void *arg, int fd)
{
	redirected += arg == &redirected;
	send(fd, "elsewhere\n", 10, MSG_NOSIGNAL);
	close(fd);
}

/* NI-23: each policy, at the threshold and one beyond it */
TEST(quality_of_service)
{
	enum { NR = 100 };

	for (unsigned int policy = OVERLOAD_NOTHING; policy <= OVERLOAD_REDIRECT; policy++) {
		DispatcherOptions o = {
			.Overload = policy, .MaxChannels = NR, .LowPriority = -5,
			.RejectText = "full\n", .RejectLen = 5, .redirect = redirects,
			.RedirectArg = &redirected,
		};
		struct factory factory = { .base = { make, unmake } };
		struct sockaddr_in a;
		MTExecutive *mte;
		pthread_t thread;
		Dispatcher *d;
		int c[NR + 1], i, s;
		struct dxt t;

		ASSERT_EQ(0, begin(&t, &mte, &d, &thread, &o));
		TCP_LISTEN(s, &a);
		ASSERT_EQ(0, StandardAcceptor_create(d, s, &factory.base, NULL));
		for (i = 0; i < NR; i++) {
			c[i] = tcp_connect(&a);
			ASSERT_TRUE(answers(c[i], "in\n"));
		}
		c[NR] = tcp_connect(&a);
		switch (policy) {
		case OVERLOAD_NOTHING:
		case OVERLOAD_PRIORITIZE:
			EXPECT_TRUE(answers(c[NR], "in\n"));
			break;
		case OVERLOAD_QUEUE:
			EXPECT_TRUE(says(c[NR], "in\n"));
			dxt_sleep_ms(30);
			EXPECT_EQ(NR, factory.made);
			close(c[0]);
			c[0] = -1;
			EXPECT_TRUE(gives(c[NR], "in\n", 3));
			break;
		case OVERLOAD_REJECT:
			EXPECT_TRUE(gives(c[NR], "full\n", 5));
			EXPECT_TRUE(ends(c[NR]));
			break;
		case OVERLOAD_REDIRECT:
			EXPECT_TRUE(gives(c[NR], "elsewhere\n", 10));
			EXPECT_TRUE(ends(c[NR]));
			EXPECT_EQ(1, redirected);
			break;
		}
		EXPECT_TRUE(DXT_SOON(refused_by(d) == (policy >= OVERLOAD_REJECT)));
		for (i = 0; i <= NR; i++)
			close(c[i]);
		EXPECT_EQ(0, end(&t, mte, d, thread));
		EXPECT_EQ(factory.made, factory.deleted);
	}
}

/* NI-23: ... and bytes that wait to be written count as load */
TEST(queued_bytes_are_load)
{
	DispatcherOptions o = { .Overload = OVERLOAD_QUEUE, .MaxQueued = 100000 };
	struct factory factory = { .base = { make, unmake } };
	struct echo e = echo_of();
	static char text[1 << 20];
	struct sockaddr_in a;
	int fd[2], c, s;
	ChannelFacade *f;
	MTExecutive *mte;
	pthread_t thread;
	Dispatcher *d;
	size_t n = 0;
	struct dxt t;
	ssize_t r;

	ASSERT_EQ(0, begin(&t, &mte, &d, &thread, &o));
	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(d, fd[0], &e.base, &f));
	ASSERT_TRUE(OutputQueue_enqueue(ChannelFacade_outputQueue(f), text, sizeof(text)));
	TCP_LISTEN(s, &a);
	ASSERT_EQ(0, StandardAcceptor_create(d, s, &factory.base, NULL));
	c = tcp_connect(&a);
	EXPECT_TRUE(says(c, "in\n"));
	dxt_sleep_ms(30);
	EXPECT_EQ(0, factory.made);
	while (n < sizeof(text)) {
		r = read(fd[1], text, sizeof(text));
		ASSERT_LT(0, r);
		n += (size_t)r;
	}
	EXPECT_TRUE(gives(c, "in\n", 3));
	close(c);
	close(fd[1]);
	ChannelFacade_release(f);
	EXPECT_TRUE(DXT_SOON(is_over(&e)));
	EXPECT_EQ(0, end(&t, mte, d, thread));
	EXPECT_EQ(factory.made, factory.deleted);
}

/* NI-25: clients that send a byte now and then, or nothing, hold no thread */
TEST_F(reactor, slow_clients)
{
	enum { NR = 1000 };
	const unsigned int nr = dxt_debug_kernel() ? 100 : NR;
	struct factory factory = { .base = { make, unmake } };
	struct rlimit limit = { 4096, 4096 };
	static int c[NR];
	struct sockaddr_in a;
	int s, good, k;
	unsigned int i;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	TCP_LISTEN(s, &a);
	ASSERT_EQ(0, StandardAcceptor_create(self->d, s, &factory.base, NULL));
	for (i = 0; i < nr; i++) {
		c[i] = tcp_connect(&a);
		ASSERT_LE(0, c[i]);
	}
	good = tcp_connect(&a);
	for (k = 0; k < 5; k++) {
		for (i = 0; i < nr; i++)
			ASSERT_EQ(1, write(c[i], "s", 1));
		EXPECT_TRUE(answers(good, "quick\n"));
	}
	EXPECT_EQ(WORKERS, dxt_num(&self->t, "pools/thread_use"));
	for (i = 0; i < nr; i++)
		close(c[i]);
	EXPECT_TRUE(answers(good, "quick\n"));
	close(good);
	EXPECT_TRUE(DXT_SOON(factory.deleted == nr + 1));
}

/* --- the ends ---------------------------------------------------------------------------- */

/* A Stop before the dispatcher's shutdown: every channel ends, and so does dispatch. */
TEST(stop_first)
{
	for (unsigned int mode = DXK_STOP_DRAIN; mode <= DXK_STOP_CANCEL; mode++) {
		struct echo e[20];
		MTExecutive *mte;
		pthread_t thread;
		int fd[20][2], i;
		Dispatcher *d;
		void *status;
		struct dxt t;

		ASSERT_EQ(0, begin(&t, &mte, &d, &thread, NULL));
		for (i = 0; i < 20; i++) {
			e[i] = echo_of();
			ASSERT_EQ(0, pair(fd[i]));
			ASSERT_EQ(0, Dispatcher_registerChannel(d, fd[i][0], &e[i].base, NULL));
		}
		EXPECT_TRUE(answers(fd[7][1], "there\n"));
		EXPECT_EQ(0, MTExecutiveStop(mte, mode, dxt_late_ns()));
		pthread_join(thread, &status);
		EXPECT_EQ(-ECANCELED, (int)(intptr_t)status);
		for (i = 0; i < 20; i++) {
			EXPECT_TRUE(is_over(&e[i]));
			EXPECT_TRUE(ends(fd[i][1]));
			close(fd[i][1]);
		}
		EXPECT_EQ(-ESHUTDOWN, Dispatcher_registerChannel(d, 0, &e[0].base, NULL));
		Dispatcher_destroy(d);
		EXPECT_EQ(0, BufferFactory_inUse());
		MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	}
}

/* What dispatchers are not made of, and what they refuse. */
TEST(refused)
{
	DispatcherOptions o = { .Overload = 5 };
	struct echo e = echo_of();
	MTExecutive *mte;
	Dispatcher *d;
	struct dxt t;
	int fd[2];

	ASSERT_EQ(0, up(&t, &mte, 0));
	EXPECT_EQ(NULL, Dispatcher_create(mte, NULL));
	EXPECT_EQ(EOPNOTSUPP, errno);
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	EXPECT_EQ(NULL, Dispatcher_create(NULL, NULL));
	EXPECT_EQ(ENXIO, errno);

	ASSERT_EQ(0, up(&t, &mte, 2));
	EXPECT_EQ(NULL, Dispatcher_create(mte, &o));
	EXPECT_EQ(EINVAL, errno);
	o = (DispatcherOptions){ .Overload = OVERLOAD_REDIRECT };
	EXPECT_EQ(NULL, Dispatcher_create(mte, &o));
	o = (DispatcherOptions){ .LingerNs = -1 };
	EXPECT_EQ(NULL, Dispatcher_create(mte, &o));
	d = Dispatcher_create(mte, NULL);
	ASSERT_NE(NULL, d);
	ASSERT_EQ(0, pair(fd));
	ASSERT_EQ(0, Dispatcher_registerChannel(d, fd[0], &e.base, NULL));
	EXPECT_TRUE(answers(fd[1], "yes\n"));
	/* with nobody in dispatch: destroy is enough */
	Dispatcher_destroy(d);
	EXPECT_STREQ("sSeE", e.lives);
	EXPECT_TRUE(ends(fd[1]));
	close(fd[1]);
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
}

TEST_HARNESS_MAIN
