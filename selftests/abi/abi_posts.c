// SPDX-License-Identifier: GPL-2.0-only
/*
 * Abuse of posts, in the context of abi.c: what an entry can say wrongly, which files
 * it may hand over, and whose members may post.
 */
#include "lib/calls/abi_test.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

/* What an entry can say wrongly refuses the whole post, the good ones included. */
TEST_F(abi, entries)
{
	static const struct {
		const char *what;
		struct dxk_post_entry e;
		int err;
	} bad[] = {
		{ "two lanes", { .attrs = PXR_LANE0 | PXR_LANE1 }, EINVAL },
		{ "two lanes", { .attrs = PXR_LANE1 | PXR_LANE2 }, EINVAL },
		{ "two lanes", { .attrs = PXR_LANE0 | PXR_LANE2 }, EINVAL },
		{ "three lanes", { .attrs = PXR_LANE0 | PXR_LANE1 | PXR_LANE2 }, EINVAL },
		{ "two lanes", { .attrs = PXR_LANE_CHILD | PXR_LANE0 }, EINVAL },
		{ "two lanes", { .attrs = PXR_LANE_CHILD | PXR_LANE2 }, EINVAL },
		{ "attrs", { .attrs = 0x20000 }, EOPNOTSUPP },
		{ "attrs", { .attrs = PXR_HOME }, EINVAL },
		{ "attrs", { .attrs = PXR_QUIET }, EINVAL },
		{ "attrs", { .attrs = PXR_KEY }, EINVAL },
		{ "attrs", { .attrs = PXR_NAMED }, EINVAL },
		{ "attrs", { .attrs = PXR_WAIT }, EINVAL },
		{ "attrs", { .attrs = PXR_EXPIRE }, EINVAL },
		{ "attrs", { .attrs = 1U << 31 }, EOPNOTSUPP },
		{ "reserved", { .reserved = 1 }, EINVAL },
		{ "reserved", { .reserved = 1U << 31 }, EINVAL },
		{ "a file that is not handed over", { .fd = 1 }, EINVAL },
		{ "a file that is not handed over", { .fd = -1 }, EINVAL },
		{ "data", { .data = 4096, .data_len = DATA_SIZE + 1 }, EMSGSIZE },
		{ "data", { .data = 4096, .data_len = UINT_MAX }, EMSGSIZE },
		{ "result", { .result_len = DATA_SIZE + 1 }, EMSGSIZE },
		{ "result", { .result_len = UINT_MAX }, EMSGSIZE },
		{ "file", { .attrs = PXR_FD, .fd = -1 }, EBADF },
		{ "file", { .attrs = PXR_FD, .fd = INT_MAX }, EBADF },
		{ "file", { .attrs = PXR_FD, .fd = INT_MIN }, EBADF },
	};
	struct dxk_post post;
	unsigned int i, at;
	uint64_t nop;

	POPULATE();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (at = 0; at < 3; at++) {
			self->entry[0] = self->entry[1] = self->entry[2] =
				dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN);
			self->entry[at] = bad[i].e;
			EXPECT_EQ(-bad[i].err,
				  dxt_post(self->me, self->entry, 3, 0, &post))
				TH_LOG("%s %u", bad[i].what, i);
			EXPECT_EQ(at, post.index);
			EXPECT_EQ(0, post.reason);
			EXPECT_UNCHANGED(bad[i].what);
		}
	}
	/* An executor there is, but no kernel worker */
	ASSERT_EQ(0, dxk_executor_find(self->t.ctl, "nop", &nop));
	EXPECT_EQ(-ENODEV, dxt_post1(self->me, OWNER, nop, 0, PXR_KERNEL, 0, NULL));
	EXPECT_UNCHANGED("a post for a kernel worker");
}

/* ENOENT: an id that no executor has, not even one whose neighbour has. */
TEST(unknown_executor)
{
	static const char *const names[] = { "nop", "echo", "sleep" };
	struct dxt_snapshot before, now;
	uint64_t bad[] = { 0, 4711, ~0ULL, 1ULL << 32, 1ULL << 63 };
	unsigned int i;
	uint64_t id;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	t.policy.kernel_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	dxt_snapshot(&t, &before);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-ENOENT, dxt_post1(t.member, 1, bad[i], 0, PXR_KERNEL, 0, NULL));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_EQ(0, dxk_executor_find(t.ctl, names[i], &id));
		EXPECT_EQ(-ENOENT, dxt_post1(t.member, 1, id | 1ULL << 32, 0, PXR_KERNEL,
					     0, NULL));
	}
	dxt_snapshot(&t, &now);
	EXPECT_EQ(NULL, dxt_differs(&before, &now))
		TH_LOG("%s", dxt_differs(&before, &now));
	dxt_down(&t);
}

/* The other way round: kernel workers only. */
TEST(no_user_worker)
{
	struct dxt_snapshot before, now;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = t.policy.kernel_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	dxt_snapshot(&t, &before);
	EXPECT_EQ(-ENODEV, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	EXPECT_EQ(-ENODEV, dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL));
	dxt_snapshot(&t, &now);
	EXPECT_EQ(NULL, dxt_differs(&before, &now))
		TH_LOG("%s", dxt_differs(&before, &now));
	dxt_down(&t);
}

/* EBADF and ELOOP: files that a request may not hold. */
TEST_F(abi, files)
{
	int fds[32], pair[2], pipes[2], closed, ring, path_fd, wrong = 0, right = 0;
	struct io_uring_params params = { 0 };
	unsigned int i, nr = 0;
	char path[64];
	sigset_t none;

	POPULATE();
	sigemptyset(&none);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	fds[nr++] = pair[0];
	fds[nr++] = pair[1];
	fds[nr++] = socket(AF_UNIX, SOCK_DGRAM, 0);
	fds[nr++] = epoll_create1(0);
	fds[nr++] = eventfd(0, 0);
	fds[nr++] = timerfd_create(CLOCK_MONOTONIC, 0);
	fds[nr++] = signalfd(-1, &none, 0);
	fds[nr++] = inotify_init1(0);
	fds[nr++] = self->t.ctl;
	fds[nr++] = self->t.ctx;
	fds[nr++] = self->me;
	fds[nr++] = open(DXK_DEVICE, O_RDONLY);
	/* what the kernel answers: dxk itself, for its own files */
	fds[nr++] = open("/sys/kernel/dxk/executors", O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/name", self->t.id);
	fds[nr++] = open(path, O_RDONLY);
	fds[nr++] = open("/proc/self/status", O_RDONLY);
	fds[nr++] = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	fds[nr++] = open("/proc/self/ns/ipc", O_RDONLY);
	/* a device, as that of binder is one */
	fds[nr++] = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	for (i = 0; i < nr; i++)
		ASSERT_LE(0, fds[i]);
	ring = (int)syscall(SYS_io_uring_setup, 1, &params);
	if (ring >= 0)
		fds[nr++] = ring;
	else
		TH_LOG("io_uring is not to be had: %s", strerror(errno));
	for (i = 0; i < nr; i++) {
		self->entry[0] = dxt_entry(OWNER, DXT_NOP, 0, PXR_FD);
		self->entry[0].fd = fds[i];
		EXPECT_EQ(-ELOOP, dxk_post(self->me, self->entry, 1, 0, NULL))
			TH_LOG("file %u", i);
		EXPECT_UNCHANGED("a file");
		wrong++;
	}
	EXPECT_LE(18, wrong);

	path_fd = open("/", O_PATH);
	ASSERT_LE(0, path_fd);
	self->entry[0].fd = path_fd;
	EXPECT_EQ(-EBADF, dxk_post(self->me, self->entry, 1, 0, NULL));
	closed = dup(0);
	close(closed);
	self->entry[0].fd = closed;
	EXPECT_EQ(-EBADF, dxk_post(self->me, self->entry, 1, 0, NULL));
	EXPECT_UNCHANGED("a file that is not open");

	/* What holds nothing else goes; a cancel lets go of it. */
	ASSERT_EQ(0, pipe(pipes));
	fds[0] = open("/dev/null", O_RDWR);
	fds[1] = pipes[1];
	fds[2] = (int)syscall(SYS_memfd_create, "x", 0);
	fds[3] = open("/proc/self/exe", O_RDONLY);
	for (i = 0; i < 4; i++) {
		ASSERT_LE(0, fds[i]);
		self->entry[0].fd = fds[i];
		right += dxk_post(self->me, self->entry, 1, 0, NULL);
		close(fds[i]);
	}
	EXPECT_EQ(4, right);
	EXPECT_EQ(5, dxt_num(&self->t, "pools/ready_use"));
	/* the pipe's other end sees whether somebody still holds it */
	{
		struct pollfd p = { .fd = pipes[0], .events = POLLIN };

		EXPECT_EQ(0, poll(&p, 1, 0));
		EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, dxt_late_ns()));
		/* file references are dropped by delayed work */
		EXPECT_TRUE(DXT_UNTIL(&self->t, poll(&p, 1, 0) == 1 &&
						(p.revents & POLLHUP)));
	}
}

struct stranger {
	int fd;
	int rc[4];
	struct dxk_post post;
	struct dxk_rejoin rejoin;
	struct dxk_next next;
};

static void *use_member(void *arg)
{
	struct stranger *s = arg;

	s->rc[0] = dxt_ioctl(s->fd, DXK_IOC_POST, &s->post);
	s->rc[1] = dxt_ioctl(s->fd, DXK_IOC_REJOIN, &s->rejoin);
	s->rc[2] = dxt_ioctl(s->fd, DXK_IOC_NEXT, &s->next);
	s->rc[3] = dxt_ioctl(s->fd, DXK_IOC_VERSION, &s->next);
	return NULL;
}

/* DX-23: a member is for the thread that made it, no other, no child. */
TEST_F(abi, member_of_another_thread)
{
	struct dxk_post_entry entry = dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN);
	struct stranger was, *s = dxt_shared(sizeof(*s));
	pthread_t thread;
	pid_t pid;

	POPULATE();
	dxt_poison(self->result, sizeof(self->result));
	dxt_poison(self->work, sizeof(self->work));
	*s = (struct stranger){
		.fd = self->me,
		.post = { .size = sizeof(s->post), .entries = DXT_PTR(&entry), .nr = 1,
			  .entry_size = sizeof(entry) },
		.rejoin = { .size = sizeof(s->rejoin), .owner = OWNER, .nr = 1,
			    .results = DXT_PTR(self->result),
			    .result_size = sizeof(self->result[0]) },
		.next = { .size = sizeof(s->next), .work = DXT_PTR(self->work),
			  .nr_work = 1, .work_size = sizeof(self->work[0]) },
	};
	was = *s;
	ASSERT_EQ(0, pthread_create(&thread, NULL, use_member, s));
	pthread_join(thread, NULL);
	EXPECT_EQ(-EPERM, s->rc[0]);
	EXPECT_EQ(-EPERM, s->rc[1]);
	EXPECT_EQ(self->is == ON_WORKER ? -EPERM : -ENOTTY, s->rc[2]);
	EXPECT_EQ(-ENOTTY, s->rc[3]);
	EXPECT_UNCHANGED("another thread");

	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		memset(s->rc, 0, sizeof(s->rc));
		use_member(s);
		/* its close is not the last one: the member lives on */
		close(s->fd);
		_exit(0);
	}
	EXPECT_EQ(0, dxt_reap(pid));
	EXPECT_EQ(-EPERM, s->rc[0]);
	EXPECT_EQ(-EPERM, s->rc[1]);
	EXPECT_EQ(self->is == ON_WORKER ? -EPERM : -ENOTTY, s->rc[2]);
	EXPECT_UNCHANGED("a child");
	EXPECT_EQ(0, memcmp(&s->post, &was.post, sizeof(was.post)));
	EXPECT_EQ(0, memcmp(&s->rejoin, &was.rejoin, sizeof(was.rejoin)));
	EXPECT_EQ(0, memcmp(&s->next, &was.next, sizeof(was.next)));
	EXPECT_TRUE(dxt_poisoned(self->result, sizeof(self->result)));
	EXPECT_TRUE(dxt_poisoned(self->work, sizeof(self->work)));
	/* and its own thread can use it as before */
	EXPECT_EQ(1, dxt_post1(self->me, OWNER, DXT_NOP, 0, 0, 0, NULL));
}

/* Without room for a descriptor nothing is made. */
TEST_F(abi, no_descriptor)
{
	struct rlimit_pair { unsigned long cur, max; } old, none = { 0, 0 };
	struct dxk_ctx_create create = { .size = sizeof(create), .fd = -7, .id = 77 };
	struct dxk_member_create member = { .size = sizeof(member), .fd = -7, .id = 77 };

	POPULATE();
	ASSERT_EQ(0, syscall(SYS_prlimit64, 0, 7 /* NOFILE */, NULL, &old));
	none.max = old.max;
	ASSERT_EQ(0, syscall(SYS_prlimit64, 0, 7, &none, NULL));
	EXPECT_EQ(-EMFILE, dxt_ioctl(self->t.ctl, DXK_IOC_CTX_CREATE, &create));
	EXPECT_EQ(-EMFILE, dxt_ioctl(self->t.ctx, DXK_IOC_MEMBER_CREATE, &member));
	member.kind = DXK_MEMBER_WORKER;
	EXPECT_EQ(-EMFILE, dxt_ioctl(self->t.ctx, DXK_IOC_MEMBER_CREATE, &member));
	ASSERT_EQ(0, syscall(SYS_prlimit64, 0, 7, &old, NULL));
	EXPECT_EQ(-7, create.fd);
	EXPECT_EQ(77, create.id);
	EXPECT_EQ(-7, member.fd);
	EXPECT_EQ(77, member.id);
	EXPECT_UNCHANGED("a call without room for a descriptor");
	EXPECT_FALSE(dxt_exists(&self->t, "threads/1000"));
}

TEST_HARNESS_MAIN
