// SPDX-License-Identifier: GPL-2.0-only
/*
 * Descriptors that other threads and processes have: by fork(2), clone(2), a socket,
 * /proc (DX-23, DX-25, DX-113). The rest of the table is in fd.c.
 */
#include "fd.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* --- fork(2), clone(2), threads ------------------------------------------------ */

struct family {
	_Atomic int fetched;
	_Atomic int refused;
	_Atomic int checked;
	_Atomic int leave;
	_Atomic int left;
};

/* The child of a worker holds a copy of its member, and lives on. */
static void grandchild(const struct dxt *t, int member, struct family *f)
{
	struct dxk_policy policy;
	int i;

	f->refused = all_refused(member, true);
	f->checked = dxk_policy_get(t->ctx, &policy) ? -1 : 1;
	for (i = 0; i < 60000 && !f->leave; i++)
		dxt_sleep_ms(1);
	close(member);
	f->left = 1;
	_exit(0);
}

/*
 * The child of a worker: no call of the copied member is its own. Nor does its copy
 * hide the worker's death; and the close of the copy, later, is not the end of whoever
 * has that id by then.
 */
TEST(fork_of_a_worker)
{
	struct family *f = dxt_shared(sizeof(*f));
	struct dxt_worker *w;
	struct dxt t;
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.monitor_interval_ms = 20;
	ASSERT_EQ(0, dxt_start(&t));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int member = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
		struct dxk_work work;

		f->fetched = dxk_next(member, NULL, 0, NULL, &work, 1, NULL, 0, -1);
		if (!fork())
			grandchild(&t, member, f);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, post_one(&t, 0, 0));
	SOON(&t, f->checked);
	EXPECT_EQ(1, f->fetched);
	EXPECT_EQ(1, f->checked);
	EXPECT_EQ(-EPERM, f->refused);
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_TRUE(collect_status(&t, -EOWNERDEAD));
	SOON(&t, dxt_num(&t, "pools/thread_use") == 0);

	w = dxt_worker_start(&t);
	EXPECT_EQ(1, w->id);
	f->leave = 1;
	SOON(&t, f->left);
	EXPECT_EQ(1, post_one(&t, DXT_PARAM, 5));
	EXPECT_TRUE(collect_status(&t, 5));
	EXPECT_LT(0, wait(NULL));
	dxt_down(&t);
}

/* The last copy counts, be it in another process. */
TEST(fork_and_close)
{
	struct family *f = dxt_shared(sizeof(*f));
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, dxt_up(&t, 0));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(t.ctl);
		while (!f->leave)
			dxt_sleep_ms(1);
		close(t.member);
		while (f->leave < 2)
			dxt_sleep_ms(1);
		_exit(0);
	}
	close(t.member);
	EXPECT_TRUE(has_member(&t, t.member_id));
	f->leave = 1;
	SOON(&t, dxt_member_is(&t, t.member_id, "vacant") ||
	     !has_member(&t, t.member_id));
	/* and anew, by the same thread */
	t.member = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, NULL);
	EXPECT_LE(0, t.member);
	close(t.member);
	close(t.ctx);
	EXPECT_TRUE(is_there(&t));
	f->leave = 2;
	EXPECT_EQ(0, dxt_reap(pid));
	SOON(&t, !is_there(&t));
	close(t.ctl);
}

/* vfork(2): it shares all but is another thread. */
TEST(vfork_child)
{
	static volatile int seen;
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, dxt_up(&t, 0));
	EXPECT_EQ(0, dxk_should_stop(t.member, 0));
	pid = vfork();
	if (!pid) {
		seen = dxk_should_stop(t.member, 0);
		_exit(0);
	}
	ASSERT_LT(0, pid);
	dxt_reap(pid);
	EXPECT_EQ(-EPERM, seen);
	EXPECT_EQ(0, dxk_should_stop(t.member, 0));
	dxt_down(&t);
}

static void *use_anothers(void *arg)
{
	struct other *o = arg;
	struct pollfd p = { .fd = o->fd, .events = POLLIN };

	o->rc = all_refused(o->fd, false);
	if (poll(&p, 1, 0) != 0)
		o->rc = -EIO;
	o->done = 1;
	while (o->done < 2) {
		o->rc = o->rc == -EPERM ? dxk_should_stop(o->fd, 0) : o->rc;
		sched_yield();
	}
	return NULL;
}

/*
 * A second thread that uses a member while the first one sleeps in it, and while it
 * works: it is refused, and the first one does not notice. It may poll(2).
 */
TEST(two_threads)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct other o = { 0 };
	pthread_t thread;
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_up(&t, 1));
	o.fd = t.member;
	ASSERT_EQ(1, post_one(&t, DXT_GATE, DXT_PTR(gate)));
	ASSERT_EQ(0, pthread_create(&thread, NULL, use_anothers, &o));
	SOON(&t, o.done);
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(1, post_one(&t, DXT_NOP, 0));
		if (!i)
			dxt_gate_open(gate);
		ASSERT_TRUE(collect_status(&t, 0));
	}
	EXPECT_TRUE(collect_status(&t, 0));
	o.done = 2;
	pthread_join(thread, NULL);
	EXPECT_EQ(-EPERM, o.rc);
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* --- to other processes ---------------------------------------------------------- */

static int receive_fds(int sock, int *fd, unsigned int nr)
{
	char c, room[CMSG_SPACE(8 * sizeof(int))];
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), nr * sizeof(int));
	return 0;
}

static int be_nobody(void)
{
	return setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	       setresuid(NOBODY, NOBODY, NOBODY);
}

/* What somebody who may not open the device can do with passed descriptors. */
static int stranger(const int *fd)
{
	struct pollfd p = { .fd = fd[2], .events = POLLIN };
	struct dxk_policy policy;
	unsigned int id;
	int made, mine;

	if (be_nobody() || dxk_open() != -EACCES)
		return 1;
	/* control: whoever holds it makes contexts, of his own */
	made = dxk_ctx_create(fd[0], &id);
	if (made < 0 || dxk_ctx_start(made))
		return 2;
	/* context: all that it was opened for */
	mine = dxk_member_create(fd[1], DXK_MEMBER_CLIENT, NULL);
	if (mine < 0 || dxk_policy_get(fd[1], &policy) || dxk_should_stop(mine, 0))
		return 3;
	/* member: look at, no more */
	if (all_refused(fd[2], false) != -EPERM || poll(&p, 1, 0) != 0)
		return 4;
	return 0;
}

/* SCM_RIGHTS and pidfd_getfd(2): as fork. The member lives as long as the copy. */
TEST(passed)
{
	struct family *f = dxt_shared(sizeof(*f));
	int pair[2], fd[3], pidfd;
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int status = receive_fds(pair[1], fd, 3) ? 9 : stranger(fd);

		f->checked = 1;
		while (!f->leave)
			dxt_sleep_ms(1);
		_exit(status);
	}
	ASSERT_EQ(0, dxt_up(&t, 0));
	fd[0] = t.ctl;
	fd[1] = t.ctx;
	fd[2] = t.member;
	ASSERT_EQ(0, send_fds(pair[0], fd, 3));
	SOON(&t, f->checked);
	close(t.member);
	t.member = -1;
	EXPECT_TRUE(dxt_member_is(&t, t.member_id, "running"));
	f->leave = 1;
	EXPECT_EQ(0, dxt_reap(pid));
	SOON(&t, !dxt_member_is(&t, t.member_id, "running"));

	pid = dxt_fork();
	if (!pid) {
		f->fetched = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, NULL);
		for (;;)
			pause();
	}
	SOON(&t, f->fetched);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	ASSERT_LE(0, pidfd);
	fd[0] = (int)syscall(SYS_pidfd_getfd, pidfd, f->fetched, 0);
	ASSERT_LE(0, fd[0]);
	EXPECT_EQ(-EPERM, all_refused(fd[0], false));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	/* a client of a dead thread is no more than a name; what it holds is nothing */
	EXPECT_EQ(-EPERM, all_refused(fd[0], false));
	close(fd[0]);
	close(pidfd);
	close(pair[0]);
	close(pair[1]);
	SOON(&t, !dxt_member_is(&t, t.member_id, "running"));
	dxt_down(&t);
}

/* Rights are asked for once, as by open(2); who one is later does not matter. */
TEST(another_user)
{
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, dxt_up(&t, 1));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct dxk_post_entry e = dxt_entry(OWNER, DXT_PARAM, 9, PXR_REJOIN);
		struct dxk_result r;
		int mine = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, NULL);

		if (mine < 0 || be_nobody() || dxk_open() != -EACCES)
			_exit(1);
		if (dxk_ctx_join_id(t.ctl, t.id, DXK_ACCESS_WRITE, 0) != -EACCES)
			_exit(2);
		if (dxk_post(mine, &e, 1, 0, NULL) != 1 ||
		    dxk_rejoin(mine, OWNER, &r, 1, 1, NULL, 0, -1, NULL) != 1 ||
		    r.status != 9)
			_exit(3);
		if (dxk_policy_set(t.ctx, &t.policy, NULL))
			_exit(4);
		_exit(0);
	}
	EXPECT_EQ(0, dxt_reap(pid));
	dxt_down(&t);
}

/* /proc/self/fd/N opens the device anew; contexts and members cannot be opened. */
TEST(reopen)
{
	struct dxk_version version;
	char path[64];
	struct dxt t;
	int fd, i;

	ASSERT_EQ(0, dxt_up(&t, 0));
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d",
			 i == 0 ? t.ctl : i == 1 ? t.ctx : t.member);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (i) {
			EXPECT_EQ(-1, fd);
			EXPECT_EQ(ENXIO, errno);
			continue;
		}
		ASSERT_LE(0, fd);
		close(t.ctl);
		t.ctl = fd;
		EXPECT_EQ(0, dxk_version(t.ctl, &version));
	}
	/* without the right to open the device: nothing, though one holds it */
	if (!(i = dxt_fork())) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", t.ctl);
		_exit(be_nobody() || open(path, O_RDWR) >= 0 || errno != EACCES);
	}
	EXPECT_EQ(0, dxt_reap(i));
	dxt_down(&t);
}

TEST_HARNESS_MAIN
