// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that wait for files (NI-1..NI-4, NI-22, R-7, R-9, W-4..W-6, W-9, W-10): each kind of
 * file, what is refused, events that come at any moment, and whose file or process goes.
 */
#define _GNU_SOURCE
#include "lib/dxt.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#define OWNER	1
#define NAME	77

/* A started context whose requests may wait; this thread is its worker, too. */
FIXTURE(file) {
	struct dxt t;
	int me;
};

FIXTURE_SETUP(file)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.max_waiting = 1024;
	ASSERT_EQ(0, dxt_start(&self->t));
	self->me = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, self->me);
}

FIXTURE_TEARDOWN(file)
{
	EXPECT_EQ(0, dxt_num(&self->t, "pools/wait_use"));
	EXPECT_EQ(0, dxt_num(&self->t, "stats/missed_wakeups"));
	close(self->me);
	dxt_down(&self->t);
}

static int posts(const struct dxt *t, int fd, uint32_t events)
{
	struct dxk_post_more e = {
		.post = dxt_entry(OWNER, 9, 0, PXR_REJOIN | PXR_NAMED | PXR_WAIT),
		.name = NAME,
		.wait = { .wait = DXK_WAIT_FILE, .fd = fd, .events = events },
	};

	return dxk_post_more(t->member, &e, 1, 0, NULL);
}

static int fetch(int me, struct dxk_work_more *w, int64_t timeout)
{
	return dxk_next_more(me, NULL, 0, NULL, w, 1, NULL, 0, timeout);
}

static int parks(int me, const struct dxk_work_more *w, int fd, uint32_t events)
{
	struct dxk_done_more done = {
		.done.ticket = w->work.ticket,
		.wait = { .wait = DXK_WAIT_FILE, .fd = fd, .events = events },
	};

	return dxk_next_more(me, &done, 1, NULL, NULL, 0, NULL, 0, 0);
}

static int ends(int me, const struct dxk_work_more *w, int status)
{
	struct dxk_done done = { .ticket = w->work.ticket, .status = status };

	return dxk_next(me, &done, 1, NULL, NULL, 0, NULL, 0, 0);
}

static int status_of(const struct dxt *t)
{
	struct dxk_result r;

	return dxk_rejoin(t->member, OWNER, &r, 1, 1, NULL, 0, dxt_late_ns(), NULL) == 1 ?
	       r.status : 4711;
}

static int cancel(const struct dxt *t)
{
	uint64_t name = NAME;

	return dxk_cancel(t->member, &name, 1, NULL);
}

/* --- kinds of files ---------------------------------------------------------------- */

/* One file of a kind, and what makes it readable, once. */
struct kind {
	const char *name;
	int fd[2];		/* what is waited for, and what is written to */
	void (*make)(struct kind *k);
	void (*happen)(struct kind *k);
	void (*take)(struct kind *k);
};

static void put_byte(struct kind *k)
{
	if (write(k->fd[1], "x\n", 2) != 2)
		perror(k->name);
}

static void get_bytes(struct kind *k)
{
	char buf[512];

	if (read(k->fd[0], buf, sizeof(buf)) <= 0)
		perror(k->name);
}

static void make_pipe(struct kind *k)
{
	if (pipe(k->fd))
		perror(k->name);
}

static void make_fifo(struct kind *k)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp/fifo.%d", getpid());
	if (mkfifo(name, 0600))
		perror(k->name);
	k->fd[0] = open(name, O_RDWR);
	k->fd[1] = open(name, O_WRONLY);
	unlink(name);
}

static void make_unix(struct kind *k)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, k->fd))
		perror(k->name);
}

static void make_inet(struct kind *k, int type)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, type, 0);

	k->fd[0] = s;
	if (s < 0 && errno == EAFNOSUPPORT)
		return;
	k->fd[1] = socket(AF_INET, type, 0);
	if (bind(s, (void *)&a, len) || getsockname(s, (void *)&a, &len) ||
	    (type == SOCK_STREAM && listen(s, 1)) || connect(k->fd[1], (void *)&a, len))
		perror(k->name);
	if (type != SOCK_STREAM)
		return;
	k->fd[0] = accept(s, NULL, NULL);
	close(s);
}

static void make_tcp(struct kind *k)
{
	make_inet(k, SOCK_STREAM);
}

static void make_udp(struct kind *k)
{
	make_inet(k, SOCK_DGRAM);
}

static void make_eventfd(struct kind *k)
{
	k->fd[0] = eventfd(0, 0);
	k->fd[1] = dup(k->fd[0]);
}

static void count_event(struct kind *k)
{
	uint64_t one = 1;

	if (write(k->fd[1], &one, 8) != 8)
		perror(k->name);
}

static void make_timerfd(struct kind *k)
{
	k->fd[0] = timerfd_create(CLOCK_MONOTONIC, 0);
	k->fd[1] = dup(k->fd[0]);
}

static void set_timer(struct kind *k)
{
	struct itimerspec in = { .it_value.tv_nsec = 1000000 };

	timerfd_settime(k->fd[0], 0, &in, NULL);
}

static void make_signalfd(struct kind *k)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	k->fd[0] = signalfd(-1, &set, 0);
	k->fd[1] = dup(k->fd[0]);
}

static void raise_it(struct kind *k)
{
	(void)k;
	kill(getpid(), SIGUSR1);
}

static void make_inotify(struct kind *k)
{
	k->fd[0] = inotify_init();
	k->fd[1] = dup(k->fd[0]);
	inotify_add_watch(k->fd[0], "/tmp", IN_CREATE);
}

static void make_a_file(struct kind *k)
{
	char name[64];

	(void)k;
	snprintf(name, sizeof(name), "/tmp/noticed.%d", getpid());
	close(open(name, O_CREAT | O_WRONLY, 0600));
	unlink(name);
}

static void make_pty(struct kind *k)
{
	if (openpty(&k->fd[1], &k->fd[0], NULL, NULL, NULL))
		perror(k->name);
}

static int inner[2];

static void make_epoll(struct kind *k)
{
	struct epoll_event e = { .events = EPOLLIN };

	k->fd[0] = epoll_create1(0);
	k->fd[1] = dup(k->fd[0]);
	if (pipe(inner) || epoll_ctl(k->fd[0], EPOLL_CTL_ADD, inner[0], &e))
		perror(k->name);
}

static void put_inner(struct kind *k)
{
	(void)k;
	if (write(inner[1], "x", 1) != 1)
		perror("inner");
}

static void get_inner(struct kind *k)
{
	char c;

	(void)k;
	if (read(inner[0], &c, 1) != 1)
		perror("inner");
}

static struct kind kinds[] = {
	{ "pipe", { }, make_pipe, put_byte, get_bytes },
	{ "FIFO", { }, make_fifo, put_byte, get_bytes },
	{ "unix", { }, make_unix, put_byte, get_bytes },
	{ "TCP", { }, make_tcp, put_byte, get_bytes },
	{ "UDP", { }, make_udp, put_byte, get_bytes },
	{ "eventfd", { }, make_eventfd, count_event, get_bytes },
	{ "timerfd", { }, make_timerfd, set_timer, get_bytes },
	{ "signalfd", { }, make_signalfd, raise_it, get_bytes },
	{ "inotify", { }, make_inotify, make_a_file, get_bytes },
	{ "pty", { }, make_pty, put_byte, get_bytes },
	{ "epoll", { }, make_epoll, put_inner, get_inner },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* NI-2, NI-3, NI-4: what happens before the wait, during it, and while a worker is about it. */
TEST_F(file, kinds)
{
	struct dxk_work_more w;
	struct kind *k;

	for (k = kinds; k < kinds + KINDS; k++) {
		dxt_tell("%s", k->name);
		k->make(k);
		/* a kernel may have no network */
		if (k->fd[0] < 0 && (k->make == make_tcp || k->make == make_udp))
			continue;
		ASSERT_EQ(1, posts(&self->t, k->fd[0], EPOLLIN)) TH_LOG("%s", k->name);
		ASSERT_EQ(-ETIMEDOUT, fetch(self->me, &w, DXT_MS)) TH_LOG("%s", k->name);
		k->happen(k);
		ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns())) TH_LOG("%s", k->name);
		EXPECT_EQ(DXK_WAKE_FILE, w.wake);
		/* some do not say what has happened */
		EXPECT_TRUE(!w.events || w.events & EPOLLIN);
		EXPECT_EQ(0, w.turn);
		/* it is still so */
		ASSERT_EQ(0, parks(self->me, &w, k->fd[0], EPOLLIN));
		ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns())) TH_LOG("%s", k->name);
		EXPECT_EQ(DXK_WAKE_FILE, w.wake);
		EXPECT_EQ(EPOLLIN, w.events & EPOLLIN);
		k->take(k);
		/* more comes while it executes: one turn more, not two */
		k->happen(k);
		k->happen(k);
		ASSERT_EQ(0, parks(self->me, &w, k->fd[0], EPOLLIN));
		ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns())) TH_LOG("%s", k->name);
		EXPECT_EQ(3 - 1, w.turn);
		EXPECT_EQ(0, ends(self->me, &w, 5));
		EXPECT_EQ(5, status_of(&self->t));
		close(k->fd[0]);
		close(k->fd[1]);
	}
	close(inner[0]);
	close(inner[1]);
}

/* --- what is refused ---------------------------------------------------------------- */

TEST_F(file, refused)
{
	int regular = open("/proc/self/exe", O_RDONLY), null = open("/dev/null", O_RDWR);
	int dir = open(".", O_RDONLY), path = open(".", O_PATH);
	struct dxk_work_more w;
	int p[2];

	ASSERT_EQ(0, pipe(p));
	EXPECT_EQ(-EBADF, posts(&self->t, -1, EPOLLIN));
	EXPECT_EQ(-EBADF, posts(&self->t, 9999, EPOLLIN));
	EXPECT_EQ(-EBADF, posts(&self->t, path, EPOLLIN));
	EXPECT_EQ(-EPERM, posts(&self->t, regular, EPOLLIN));
	EXPECT_EQ(-EPERM, posts(&self->t, dir, EPOLLIN));
	EXPECT_EQ(-EPERM, posts(&self->t, null, EPOLLIN));
	EXPECT_EQ(-ELOOP, posts(&self->t, self->t.ctx, EPOLLIN));
	EXPECT_EQ(-ELOOP, posts(&self->t, self->t.member, EPOLLIN));
	EXPECT_EQ(-EINVAL, posts(&self->t, p[0], EPOLLIN | EPOLLET));
	EXPECT_EQ(-EINVAL, posts(&self->t, p[0], EPOLLIN | 0x20));
	/* a turn that is refused its wait goes on */
	ASSERT_EQ(1, posts(&self->t, p[1], EPOLLOUT));
	ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
	EXPECT_EQ(EPOLLOUT, w.events);
	EXPECT_EQ(-EPERM, parks(self->me, &w, regular, EPOLLIN));
	EXPECT_EQ(-EBADF, parks(self->me, &w, -1, EPOLLIN));
	EXPECT_EQ(-ELOOP, parks(self->me, &w, self->me, EPOLLIN));
	EXPECT_EQ(0, parks(self->me, &w, p[0], EPOLLIN));
	EXPECT_EQ(-ETIMEDOUT, fetch(self->me, &w, DXT_MS));
	EXPECT_EQ(1, cancel(&self->t));
	ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
	EXPECT_EQ(DXK_WAKE_CANCEL, w.wake);
	EXPECT_EQ(0, ends(self->me, &w, 0));
	EXPECT_EQ(0, status_of(&self->t));
	close(p[0]);
	close(p[1]);
	close(regular);
	close(null);
	close(dir);
	close(path);
}

/* Names, times and results end the same wait; the file is let go when the request has ended. */
TEST_F(file, others_end_it)
{
	uint64_t name = NAME;
	struct dxk_work_more w;
	char c;
	int p[2];

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(1, posts(&self->t, p[0], EPOLLIN));
	EXPECT_EQ(-EEXIST, posts(&self->t, p[0], EPOLLIN));
	EXPECT_EQ(1, cancel(&self->t));
	EXPECT_EQ(-ECANCELED, status_of(&self->t));
	ASSERT_EQ(1, posts(&self->t, p[0], EPOLLIN));
	/* latched: it does not wait for this */
	EXPECT_EQ(1, dxk_wake(self->t.member, &name, 1));
	EXPECT_EQ(-ETIMEDOUT, fetch(self->me, &w, DXT_MS));
	EXPECT_EQ(1, write(p[1], "x", 1));
	ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
	EXPECT_EQ(DXK_WAKE_FILE, w.wake);
	close(p[1]);
	EXPECT_EQ(1, read(p[0], &c, 1));
	ASSERT_EQ(0, parks(self->me, &w, p[0], EPOLLIN));
	ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
	EXPECT_EQ(EPOLLHUP, w.events);
	EXPECT_EQ(0, ends(self->me, &w, 0));
	EXPECT_EQ(0, status_of(&self->t));
	close(p[0]);
}

/* --- races ---------------------------------------------------------------------------- */

struct flood {
	int fd;
	unsigned int nr;
};

static void *flood(void *arg)
{
	struct flood *f = arg;
	unsigned int i;

	for (i = 0; i < f->nr; i++) {
		if (write(f->fd, "x", 1) != 1)
			return NULL;
		if (i % 7 == 0)
			sched_yield();
	}
	close(f->fd);
	return f;
}

/* R-7, NI-4, W-4: a writer that does not care what the reader is at; each byte is read. */
TEST_F(file, no_event_is_lost)
{
	struct flood f = { .nr = 20000 };
	unsigned int got = 0, turns = 0;
	struct dxk_work_more w;
	pthread_t thread;
	void *ret;
	char buf[3];
	ssize_t n;
	int s[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	ASSERT_EQ(0, fcntl(s[0], F_SETFL, O_NONBLOCK));
	f.fd = s[1];
	ASSERT_EQ(1, posts(&self->t, s[0], EPOLLIN));
	ASSERT_EQ(0, pthread_create(&thread, NULL, flood, &f));
	for (;;) {
		ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
		ASSERT_EQ(DXK_WAKE_FILE, w.wake);
		turns++;
		n = read(s[0], buf, sizeof(buf));
		if (!n)
			break;
		if (n > 0)
			got += (unsigned int)n;
		ASSERT_EQ(0, parks(self->me, &w, s[0], EPOLLIN));
	}
	EXPECT_EQ(f.nr, got);
	EXPECT_LE(turns, 2 * f.nr + 2);
	EXPECT_EQ(0, pthread_join(thread, &ret));
	EXPECT_NE(NULL, ret);
	EXPECT_EQ(0, ends(self->me, &w, 0));
	EXPECT_EQ(0, status_of(&self->t));
	close(s[0]);
}

/* --- what goes -------------------------------------------------------------------------- */

/* NI-22: the descriptor is closed elsewhere: one event, within two seconds, and no more. */
TEST_F(file, closed)
{
	struct dxk_work_more w;
	uint64_t begin;
	char c;
	int s[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	ASSERT_EQ(1, posts(&self->t, s[0], EPOLLIN));
	begin = dxt_now();
	close(s[0]);
	ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
	EXPECT_GE(begin + 5000 * DXT_MS, dxt_now());
	EXPECT_EQ(DXK_WAKE_FILE, w.wake);
	EXPECT_EQ(DXK_EVENT_GONE, w.events);
	/* and it is closed: the other end knows */
	EXPECT_EQ(0, read(s[1], &c, 1));
	EXPECT_EQ(-EBADF, parks(self->me, &w, s[0], EPOLLIN));
	EXPECT_EQ(0, ends(self->me, &w, 0));
	EXPECT_EQ(0, status_of(&self->t));
	close(s[1]);
}

/*
 * W-6: a descriptor of the context lies in a socket that is watched. It is closed when the
 * process has gone.
 */
static void leaves_a_ring(void)
{
	struct dxt t;
	struct iovec io = { .iov_base = "x", .iov_len = 1 };
	union {
		struct cmsghdr h;
		char buf[CMSG_SPACE(2 * sizeof(int))];
	} c = { .h = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
		       .cmsg_len = CMSG_LEN(2 * sizeof(int)) } };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = &c,
			    .msg_controllen = sizeof(c) };
	int s[2];

	if (dxt_open(&t))
		_exit(1);
	t.policy.max_waiting = 16;
	if (dxt_start(&t) || socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		_exit(2);
	if (posts(&t, s[1], EPOLLPRI) != 1)
		_exit(3);
	memcpy(CMSG_DATA(&c.h), (int[]){ t.ctx, t.member }, 2 * sizeof(int));
	if (sendmsg(s[0], &m, 0) != 1)
		_exit(4);
	kill(getpid(), SIGKILL);
}

TEST(ring)
{
	unsigned int before = dxt_contexts();
	int status;
	uint64_t until;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		leaves_a_ring();
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	until = dxt_now() + 10000 * DXT_MS;
	while (dxt_contexts() != before && dxt_now() < until)
		usleep(10000);
	EXPECT_EQ(before, dxt_contexts());
}

/* R-9, W-5: the queue of a signalfd ends with the thread that waits, before the file does. */
static void *watches_signals(void *arg)
{
	const struct dxt *t = arg;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return (void *)(intptr_t)(posts(t, fd, EPOLLIN) == 1 ? fd : -1);
}

static void signals_in_child(const struct dxt *t)
{
	_exit((int)(intptr_t)watches_signals((void *)t) < 0);
}

TEST(queue_ends)
{
	unsigned int i;
	int status;

	for (i = 0; i < 20; i++) {
		struct dxk_work_more w;
		struct dxt t;
		int me;
		pid_t pid;

		ASSERT_EQ(0, dxt_open(&t));
		t.policy.max_waiting = 16;
		ASSERT_EQ(0, dxt_start(&t));
		me = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
		ASSERT_LE(0, me);
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			/* a member of its own: those of others are not for it */
			t.member = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, NULL);
			signals_in_child(&t);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		ASSERT_EQ(1, fetch(me, &w, dxt_late_ns()));
		EXPECT_EQ(DXK_WAKE_FILE, w.wake);
		EXPECT_NE(0, w.events & (EPOLLHUP | DXK_EVENT_GONE));
		EXPECT_EQ(0, ends(me, &w, 0));
		close(me);
		dxt_down(&t);
	}
}

/* The process that waits goes, and others have the file: the wait is over. */
TEST_F(file, process_gone)
{
	struct dxk_work_more w;
	int p[2], status;
	pid_t pid;

	ASSERT_EQ(0, pipe(p));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		self->t.member = dxk_member_create(self->t.ctx, DXK_MEMBER_CLIENT, NULL);
		_exit(posts(&self->t, p[0], EPOLLIN) != 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
	EXPECT_EQ(DXK_EVENT_GONE, w.events);
	EXPECT_EQ(0, ends(self->me, &w, 0));
	EXPECT_EQ(1, write(p[1], "x", 1));
	close(p[0]);
	close(p[1]);
}

/* A worker of another process waits on, for the same file: then it is that one's wait. */
TEST_F(file, another_process)
{
	struct dxk_work_more w;
	int p[2], status;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(p));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		self->t.member = dxk_member_create(self->t.ctx, DXK_MEMBER_CLIENT, NULL);
		if (posts(&self->t, p[0], EPOLLIN) != 1 || write(p[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
	EXPECT_EQ(EPOLLIN, w.events);
	EXPECT_EQ(1, read(p[0], &c, 1));
	ASSERT_EQ(0, parks(self->me, &w, p[0], EPOLLIN));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(-ETIMEDOUT, fetch(self->me, &w, 2500 * DXT_MS));
	EXPECT_EQ(1, write(p[1], "x", 1));
	ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
	EXPECT_EQ(EPOLLIN, w.events);
	EXPECT_EQ(0, ends(self->me, &w, 0));
	close(p[0]);
	close(p[1]);
}

/* W-10: what a child does with its copies does not matter. */
TEST_F(file, child)
{
	struct dxk_work_more w;
	int p[2], status;
	pid_t pid;

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(1, posts(&self->t, p[0], EPOLLIN));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(p[0]);
		close(self->t.ctx);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(-ETIMEDOUT, fetch(self->me, &w, 2500 * DXT_MS));
	EXPECT_EQ(1, write(p[1], "x", 1));
	ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
	EXPECT_EQ(EPOLLIN, w.events);
	EXPECT_EQ(0, ends(self->me, &w, 0));
	EXPECT_EQ(0, status_of(&self->t));
	close(p[0]);
	close(p[1]);
}

/*
 * The queue ends, and the process goes on with the file: it waits for it in another queue. The
 * child has the memory of its parent, and signals of its own.
 */
TEST_F(file, another_queue)
{
	volatile int posted = -1;
	struct dxk_work_more w;
	int fd, status;
	sigset_t set;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, 0);
	ASSERT_LE(0, fd);
	pid = vfork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct dxt t = self->t;

		t.member = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, NULL);
		posted = posts(&t, fd, EPOLLIN);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(1, posted);
	ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
	EXPECT_EQ(DXK_WAKE_FILE, w.wake);
	EXPECT_EQ(0, parks(self->me, &w, fd, EPOLLIN));
	EXPECT_EQ(-ETIMEDOUT, fetch(self->me, &w, DXT_MS));
	kill(getpid(), SIGUSR2);
	ASSERT_EQ(1, fetch(self->me, &w, dxt_late_ns()));
	EXPECT_EQ(DXK_WAKE_FILE, w.wake);
	EXPECT_EQ(0, ends(self->me, &w, 0));
	close(fd);
}

/* W-9: a Stop of either kind, and a close, with one that waits for a file. */
TEST(stops)
{
	unsigned int how;

	for (how = 0; how < 3; how++) {
		struct dxt t;
		uint64_t begin;
		int p[2];

		ASSERT_EQ(0, pipe(p));
		ASSERT_EQ(0, dxt_open(&t));
		t.policy.max_waiting = 16;
		ASSERT_EQ(0, dxt_start(&t));
		ASSERT_EQ(1, posts(&t, p[0], EPOLLIN));
		begin = dxt_now();
		if (how == 0)
			EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, -1));
		if (how == 1)
			EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, 50 * DXT_MS));
		if (how == 0)
			EXPECT_EQ(-ECANCELED, status_of(&t));
		dxt_down(&t);
		EXPECT_GE(begin + 4000 * DXT_MS, dxt_now());
		/* nothing of it is left */
		close(p[0]);
		signal(SIGPIPE, SIG_IGN);
		begin = dxt_now();
		while (write(p[1], "x", 1) == 1 && dxt_now() < begin + 4000 * DXT_MS)
			usleep(1000);
		EXPECT_EQ(-1, write(p[1], "x", 1));
		close(p[1]);
	}
}

/* W-8: the process is killed while its requests wait for its sockets: the peers know. */
TEST(killed)
{
	int s[2], ready[2], status;
	struct pollfd p;
	pid_t pid;
	char c;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct dxt t;

		close(s[1]);
		if (dxt_open(&t))
			_exit(1);
		t.policy.max_waiting = 16;
		if (dxt_start(&t) || posts(&t, s[0], EPOLLIN) != 1 ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	close(s[0]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	p = (struct pollfd){ .fd = s[1], .events = POLLIN };
	EXPECT_EQ(1, poll(&p, 1, (int)(6000 * DXT_MS / DXT_MS)));
	EXPECT_EQ(0, read(s[1], &c, 1));
	close(s[1]);
	close(ready[0]);
	close(ready[1]);
}

/* Who holds more files by waiting than it may have open is told so. */
TEST_F(file, limit)
{
	struct rlimit few = { .rlim_cur = 20, .rlim_max = 20 };
	int p[2], rc = 1, status;
	unsigned int i;
	struct stat st;
	pid_t pid;

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, stat(DXK_DEVICE, &st));
	ASSERT_EQ(0, chmod(DXK_DEVICE, 0666));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct dxt t;

		if (setresuid(12345, 12345, 12345))
			_exit(1);
		setrlimit(RLIMIT_NOFILE, &few);
		if (dxt_open(&t))
			_exit(4);
		t.policy.max_waiting = 100;
		if (dxt_start(&t))
			_exit(2);
		for (i = 0; i < 40 && rc == 1; i++) {
			struct dxk_post_more e = {
				.post = dxt_entry(OWNER, 9, 0, PXR_WAIT),
				.wait = { .wait = DXK_WAIT_FILE, .fd = p[0], .events = EPOLLIN },
			};

			rc = dxk_post_more(t.member, &e, 1, 0, NULL);
		}
		_exit(rc == -ETOOMANYREFS && i == 21 ? 0 : 3);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, chmod(DXK_DEVICE, st.st_mode & 0777));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	close(p[0]);
	close(p[1]);
}

TEST_HARNESS_MAIN
