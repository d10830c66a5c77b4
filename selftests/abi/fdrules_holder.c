// SPDX-License-Identifier: GPL-2.0-only
/* As fdrules.c: epoll, sockets, io_uring, what holds descriptors itself. */
#include "fdrules_test.h"

#include <linux/io_uring.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

/* --- epoll, sockets, io_uring: what holds descriptors ---------------------------- */

static int add(int ep, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static bool wakes(int ep, int fd)
{
	struct epoll_event e = { 0 };

	return epoll_wait(ep, &e, 1, dxt_late_ms()) == 1 &&
	       e.data.fd == fd;
}

static int quiet(int ep)
{
	struct epoll_event e;

	return epoll_wait(ep, &e, 1, 0);
}

/*
 * An epoll in an epoll wakes for a client, a worker and a context alike; rings of them
 * are refused. An epoll does not keep a descriptor open.
 */
TEST(nested_epoll)
{
	int inner = epoll_create1(EPOLL_CLOEXEC), outer = epoll_create1(EPOLL_CLOEXEC);
	struct dxk_done done = { 0 };
	struct dxk_log_record rec;
	struct dxk_result r;
	struct dxk_work work;
	struct dxt t;
	int worker;

	ASSERT_EQ(0, dxt_up(&t, 0));
	worker = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, worker);
	while (dxk_log_read(t.ctx, &rec, 1, 0) > 0)
		;
	ASSERT_EQ(0, add(inner, t.member));
	ASSERT_EQ(0, add(inner, worker));
	ASSERT_EQ(0, add(inner, t.ctx));
	ASSERT_EQ(0, add(outer, inner));
	EXPECT_EQ(-ELOOP, add(inner, outer));
	/* the device has nothing to tell */
	EXPECT_EQ(-EPERM, add(inner, t.ctl));
	EXPECT_EQ(0, quiet(outer));

	ASSERT_EQ(1, post_one(&t, 0, 0));
	EXPECT_TRUE(wakes(outer, inner));
	EXPECT_TRUE(wakes(inner, worker));
	ASSERT_EQ(1, dxk_next(worker, NULL, 0, NULL, &work, 1, NULL, 0, 0));
	EXPECT_EQ(0, dxt_rejoin(t.member, OWNER, &r, 1, 1, 0, NULL));
	EXPECT_EQ(0, quiet(outer));
	done.ticket = work.ticket;
	EXPECT_EQ(0, dxk_next(worker, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	EXPECT_TRUE(wakes(outer, inner));
	EXPECT_TRUE(wakes(inner, t.member));
	EXPECT_EQ(1, dxt_rejoin(t.member, OWNER, &r, 1, 1, 0, NULL));
	/* it stays readable until it is told RJR_NONE_READY again */
	EXPECT_EQ(0, epoll_ctl(inner, EPOLL_CTL_DEL, t.member, NULL));
	EXPECT_EQ(0, quiet(outer));
	EXPECT_EQ(0, dxk_log_write(t.member, "x", 1, 0, 0));
	EXPECT_TRUE(wakes(outer, inner));
	EXPECT_TRUE(wakes(inner, t.ctx));
	EXPECT_EQ(1, dxk_log_read(t.ctx, &rec, 1, 0));
	EXPECT_EQ(0, quiet(outer));

	/* ready, and then closed */
	ASSERT_EQ(1, post_one(&t, 0, 0));
	EXPECT_TRUE(wakes(outer, inner));
	close(worker);
	close(t.member);
	close(t.ctx);
	t.member = t.ctx = -1;
	SOON(&t, !is_there(&t));
	EXPECT_EQ(0, quiet(inner));
	EXPECT_EQ(0, quiet(outer));
	close(inner);
	close(outer);
	dxt_close(&t);
}

/* The kernel looks for lost sockets when another one is closed. */
static void kernel_collects(void)
{
	close(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

/*
 * Queued in a pair of sockets that nobody has but this queue: the kernel collects the
 * sockets, and with them the context, its requests and its members.
 */
TEST(in_its_own_socket)
{
	int pair[2], fd[5], i;
	struct dxt t;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, dxt_up(&t, 0));
		ASSERT_EQ(1, post_one(&t, 0, 0));
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
		fd[0] = pair[0];
		fd[1] = pair[1];
		fd[2] = t.ctl;
		fd[3] = t.ctx;
		fd[4] = t.member;
		ASSERT_EQ(0, send_fds(pair[0], fd, 5));
		close(t.member);
		close(t.ctx);
		close(t.ctl);
		close(pair[0]);
		close(pair[1]);
		EXPECT_TRUE(is_there(&t));
		SOON(&t, (kernel_collects(), !is_there(&t)));
	}
	EXPECT_TRUE(DXT_SOON(!dxt_kthreads(NULL)));
}

/*
 * No request can hold what holds the context: not the context itself, nor by another
 * one, nor in something that carries descriptors. The log and the Handle Table take
 * none of them either.
 */
TEST(no_cycle_by_a_request)
{
	struct dxk_post_entry e = dxt_entry(OWNER, DXT_NOP, 0, PXR_FD | PXR_REJOIN);
	uint64_t handle;
	struct dxt t, u;
	int fd[9], i;

	ASSERT_EQ(0, dxt_up(&t, 0));
	ASSERT_EQ(0, dxt_up(&u, 0));
	fd[0] = t.ctx;
	fd[1] = u.ctx;
	fd[2] = t.member;
	fd[3] = u.member;
	fd[4] = t.ctl;
	fd[5] = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_EQ(0, add(fd[5], t.ctx));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fd + 6));
	ASSERT_EQ(0, send_fds(fd[6], &t.ctx, 1));
	fd[8] = dup(t.ctx);
	for (i = 0; i < 9; i++) {
		e.fd = fd[i];
		EXPECT_EQ(-ELOOP, dxk_post(t.member, &e, 1, 0, NULL));
		EXPECT_EQ(-EINVAL, dxk_handle_open(t.ctx, fd[i], &handle));
		EXPECT_GT(0, dxk_log_file(t.ctx, fd[i]));
	}
	EXPECT_EQ(0, dxt_num(&t, "stats/posts"));
	for (i = 5; i < 9; i++)
		close(fd[i]);
	dxt_close(&t);
	SOON(&t, !is_there(&t));
	EXPECT_TRUE(is_there(&u));
	dxt_close(&u);
	SOON(&u, !is_there(&u));
}

/* One request of io_uring, on a ring of its own: its result, or -ENOSYS. */
static int ring_op(int op, int fd, void *buf, bool keep, int *ring)
{
	const int prot = PROT_READ | PROT_WRITE;
	struct io_uring_params p = { 0 };
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	char *sq;
	int res;

	*ring = (int)syscall(SYS_io_uring_setup, 1, &p);
	if (*ring < 0)
		return -ENOSYS;
	sq = mmap(NULL, 4096, prot, MAP_SHARED, *ring, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, 4096, prot, MAP_SHARED, *ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || sqe == MAP_FAILED ||
	    !(p.features & IORING_FEAT_SINGLE_MMAP))
		return -ENOSYS;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = (uint8_t)op;
	sqe->fd = fd;
	sqe->addr = DXT_PTR(buf);
	sqe->len = op == IORING_OP_POLL_ADD ? 0 : 1;
	if (op == IORING_OP_POLL_ADD)
		sqe->poll32_events = POLLIN;
	else
		sqe->rw_flags = RWF_NOWAIT;
	*(unsigned int *)(sq + p.sq_off.array) = 0;
	__atomic_store_n((unsigned int *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	res = (int)syscall(SYS_io_uring_enter, *ring, 1, keep ? 0 : 1,
			   keep ? 0 : IORING_ENTER_GETEVENTS, NULL, 0);
	cqe = (struct io_uring_cqe *)(sq + p.cq_off.cqes);
	if (res == 1)
		res = keep ? 0 : cqe->res;
	munmap(sqe, 4096);
	munmap(sq, 4096);
	return res;
}

/*
 * io_uring: no read and no write; poll works and, as a registered file, keeps the
 * context as long as the ring is open.
 */
TEST(io_uring)
{
	int fd[3], ring, i, rc;
	struct dxt t;
	char c = 'c';

	ASSERT_EQ(0, dxt_up(&t, 0));
	fd[0] = t.ctl;
	fd[1] = t.ctx;
	fd[2] = t.member;
	for (i = 0; i < 3; i++) {
		rc = ring_op(IORING_OP_READ, fd[i], &c, false, &ring);
		if (rc == -ENOSYS) {
			dxt_down(&t);
			SKIP(return, "no io_uring here");
		}
		EXPECT_TRUE(rc == -EINVAL || rc == -EOPNOTSUPP);
		close(ring);
		rc = ring_op(IORING_OP_WRITE, fd[i], &c, false, &ring);
		EXPECT_TRUE(rc == -EINVAL || rc == -EOPNOTSUPP);
		close(ring);
	}
	/* there is "started" in the log */
	EXPECT_EQ(POLLIN, ring_op(IORING_OP_POLL_ADD, t.ctx, NULL, false, &ring));
	close(ring);
	/* one that nothing ends but the ring's end */
	EXPECT_EQ(0, ring_op(IORING_OP_POLL_ADD, t.member, NULL, true, &ring));
	close(t.member);
	EXPECT_TRUE(dxt_member_is(&t, t.member_id, "running"));
	ASSERT_EQ(0, syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &t.ctx,
			     1));
	close(t.ctx);
	EXPECT_TRUE(is_there(&t));
	close(ring);
	SOON(&t, !is_there(&t));
	t.ctx = t.member = -1;
	dxt_close(&t);
}
