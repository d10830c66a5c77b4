// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a worker is told of who posted a request: user, group, process, and whether that is
 * the worker's own process, so that cookies can be addresses.
 */
#include "join.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/sched.h>
#include <unistd.h>

FIXTURE(poster)
{
	struct dxt t;
	int worker;
};

FIXTURE_SETUP(poster)
{
	ASSERT_EQ(0, open_named(&self->t, NAME, 0777));
	ASSERT_EQ(0, dxt_start(&self->t));
	self->worker = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, self->worker);
}

FIXTURE_TEARDOWN(poster)
{
	close(self->worker);
	dxt_down(&self->t);
}

/* One request is fetched and completed: what was told. */
static struct dxk_work fetch(int worker)
{
	struct dxk_done done = { 0 };
	struct dxk_work work;

	dxt_poison(&work, sizeof(work));
	if (dxk_next(worker, NULL, 0, NULL, &work, 1, NULL, 0, 0) != 1)
		return (struct dxk_work){ .origin = ~0U };
	done.ticket = work.ticket;
	dxk_next(worker, &done, 1, NULL, NULL, 0, NULL, 0, 0);
	return work;
}

/* Posts by a descriptor of its own. */
static int post_one(struct dxt *t)
{
	int fd = join(t, DXK_ACCESS_WRITE), m, rc;

	if (fd < 0)
		return 1;
	m = dxk_member_create(fd, DXK_MEMBER_CLIENT, NULL);
	rc = m < 0 ? m : dxt_post1(m, 1, DXT_NOP, 0, 0, 0, NULL);
	return rc == 1 ? 0 : 2;
}

TEST_F(poster, own_process)
{
	struct dxk_work w;

	ASSERT_EQ(1, dxt_post1(self->t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	w = fetch(self->worker);
	EXPECT_EQ(DXK_POSTED_HERE, w.origin);
	EXPECT_EQ(getpid(), w.pid);
	EXPECT_EQ(0, w.uid);
	EXPECT_EQ(0, w.gid);

	/* the user is that of the post, not that of the member */
	ASSERT_EQ(0, setresgid(-1, GID, -1));
	ASSERT_EQ(0, setresuid(-1, UID, -1));
	EXPECT_EQ(1, dxt_post1(self->t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	ASSERT_EQ(0, setresuid(-1, 0, -1));
	ASSERT_EQ(0, setresgid(-1, 0, -1));
	w = fetch(self->worker);
	EXPECT_EQ(DXK_POSTED_HERE, w.origin);
	EXPECT_EQ(UID, w.uid);
	EXPECT_EQ(GID, w.gid);
}

/* A child has the parent's addresses, and is another process even so. */
TEST_F(poster, other_process)
{
	struct dxk_work w;
	pid_t pid;

	EXPECT_EQ(0, as(OTHER, GID, 0, post_one, &self->t));
	w = fetch(self->worker);
	EXPECT_EQ(0, w.origin);
	EXPECT_EQ(OTHER, w.uid);
	EXPECT_EQ(GID, w.gid);
	EXPECT_NE(0, w.pid);
	EXPECT_NE(getpid(), w.pid);

	pid = dxt_fork();
	if (!pid)
		_exit(post_one(&self->t));
	EXPECT_EQ(0, dxt_reap(pid));
	w = fetch(self->worker);
	EXPECT_EQ(0, w.origin);
	EXPECT_EQ(pid, w.pid);
	EXPECT_EQ(0, w.uid);
}

static const struct { uid_t uid; gid_t gid; } users[] = {
	{ UID, GID }, { OTHER, GID + 10 }, { OTHER + 10, OTHER },
};

/* Posts as that user; says by the parameter which one it is. */
static int post_as(struct dxt *t, uint64_t which)
{
	int fd, m;

	become(users[which].uid, users[which].gid, 0);
	fd = join(t, DXK_ACCESS_WRITE);
	m = dxk_member_create(fd, DXK_MEMBER_CLIENT, NULL);
	return dxt_post1(m, 1, DXT_NOP, which, 0, 0, NULL) == 1 ? 0 : 1;
}

/* Requests of three users wait together: each is told with its own poster. */
TEST_F(poster, three_users)
{
	struct dxk_work w;
	unsigned int seen = 0, i;
	pid_t pid[3];

	for (i = 0; i < 3; i++) {
		pid[i] = dxt_fork();
		if (!pid[i])
			_exit(post_as(&self->t, i));
	}
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, dxt_reap(pid[i]));
	EXPECT_EQ(3, dxt_num(&self->t, "pools/ready_use"));
	for (i = 0; i < 3; i++) {
		w = fetch(self->worker);
		ASSERT_GT(3, w.param);
		seen |= 1U << w.param;
		EXPECT_EQ(0, w.origin);
		EXPECT_EQ(users[w.param].uid, w.uid);
		EXPECT_EQ(users[w.param].gid, w.gid);
		EXPECT_EQ(pid[w.param], w.pid);
	}
	EXPECT_EQ(7, seen);
}

/* A program of before this was told, and one that does not want to know. */
TEST_F(poster, shorter_element)
{
	struct dxk_work w;
	struct dxk_next next = {
		.size = sizeof(next), .nr_work = 1, .work = DXT_PTR(&w),
		.work_size = offsetof(struct dxk_work, uid),
	};

	dxt_poison(&w, sizeof(w));
	ASSERT_EQ(1, dxt_post1(self->t.member, 1, DXT_NOP, 77, 0, 0, NULL));
	ASSERT_EQ(1, dxt_ioctl(self->worker, DXK_IOC_NEXT, &next));
	EXPECT_EQ(77, w.param);
	EXPECT_EQ(0, w.reserved);
	EXPECT_TRUE(dxt_poisoned(&w.uid, sizeof(w) - offsetof(struct dxk_work, uid)));
	EXPECT_EQ(0, dxk_next(self->worker, &(struct dxk_done){ .ticket = w.ticket }, 1, NULL,
			      NULL, 0, NULL, 0, 0));
}

/*
 * A process that has the poster's pid later: the addresses are not its own. clone3() gives
 * it that very pid.
 */
TEST_F(poster, reused_pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid_size = 1 };
	struct dxk_work w;
	pid_t pid, again;
	int m;

	pid = dxt_fork();
	if (!pid)
		_exit(post_one(&self->t));
	ASSERT_EQ(0, dxt_reap(pid));
	args.set_tid = DXT_PTR(&pid);
	again = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	ASSERT_LE(0, again);
	if (!again) {
		m = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, NULL);
		w = fetch(m);
		_exit(w.pid != (uint32_t)pid || (pid_t)syscall(SYS_getpid) != pid ? 1 :
		      w.origin ? 2 : 0);
	}
	ASSERT_EQ(pid, again);
	EXPECT_EQ(0, dxt_reap(pid));
}

/* The new image of a process, begun with the context as a descriptor: see below. */
__attribute__((constructor)) static void after_exec(void)
{
	const char *ctx = getenv("DXK_TEST_AFTER_EXEC");
	struct dxk_work before, after;
	int m, c;

	if (!ctx)
		return;
	c = dxk_member_create(atoi(ctx), DXK_MEMBER_CLIENT, NULL);
	m = dxk_member_create(atoi(ctx), DXK_MEMBER_WORKER, NULL);
	before = fetch(m);
	if (dxt_post1(c, 1, 0, 0, 0, 0, NULL) != 1)
		_exit(1);
	after = fetch(m);
	if (before.pid != (uint32_t)getpid() || before.pid != after.pid)
		_exit(2);
	if (after.origin != DXK_POSTED_HERE)
		_exit(3);
	_exit(before.origin ? 4 : 0);
}

/* What a program posted before exec(2) are no addresses of the one after it. */
TEST_F(poster, exec)
{
	char name[32];
	pid_t pid = dxt_fork();

	if (!pid) {
		snprintf(name, sizeof(name), "%d", self->t.ctx);
		if (post_one(&self->t) || setenv("DXK_TEST_AFTER_EXEC", name, 1) ||
		    fcntl(self->t.ctx, F_SETFD, 0))
			_exit(97);
		execl("/proc/self/exe", "poster", (char *)NULL);
		_exit(98);
	}
	EXPECT_EQ(0, dxt_reap(pid));
}

/* In other namespaces users and processes have other numbers, or none. */
static int elsewhere(struct dxt *t)
{
	int err = unshare_user();
	struct dxk_work w;
	int status, m;
	pid_t pid;

	if (err || unshare(CLONE_NEWPID)) {
		fprintf(stderr, "# namespaces: %s\n", strerror(err ? -err : errno));
		return 1;
	}
	pid = fork();
	if (!pid) {
		m = dxk_member_create(t->ctx, DXK_MEMBER_WORKER, NULL);
		w = fetch(m);
		if (w.origin || w.uid != ~0U || w.gid != ~0U || w.pid)
			_exit(2);
		m = post_one(t) ? -1 : m;
		w = fetch(m);
		_exit(w.origin != DXK_POSTED_HERE || w.pid != 1 || w.uid != ~0U ? 3 : 0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 4;
	return WEXITSTATUS(status);
}

TEST_F(poster, namespaces)
{
	ASSERT_EQ(1, dxt_post1(self->t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	EXPECT_EQ(0, as(0, 0, 0, elsewhere, &self->t));
}

TEST_HARNESS_MAIN
