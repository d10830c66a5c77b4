// SPDX-License-Identifier: GPL-2.0-only
/*
 * As death.c: what comes after. Completions of requests that are somebody else's by
 * then, and a context whose owner has closed it while others use it.
 */
#include "death_test.h"

#include <sys/socket.h>

/*
 * ESTALE: a made-up ticket, a completion given twice, one of another worker's, one
 * of a dispatch that was taken back. Those before it in the array are taken, what
 * it names is not touched.
 */
TEST(stale_completions)
{
	struct dxk_done done[3] = { 0 };
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_result result[4];
	struct dxk_work work[4];
	unsigned int taken, i;
	uint32_t answer;
	struct dxt t;
	int me;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	close(t.member);
	t.member = me = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, me);

	/* another worker's */
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(1, dxt_post1(me, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(wait_busy(&t, gate, 1));
	for (i = 0; i < 10; i++) {
		done[0] = (struct dxk_done){ .ticket = i, .status = 13 };
		EXPECT_EQ(-ESTALE, dxk_next(me, done, 1, &taken, NULL, 0, NULL, 0, 0));
		EXPECT_EQ(0, taken);
	}
	done[0].ticket = ~0ULL;
	EXPECT_EQ(-ESTALE, dxk_next(me, done, 1, &taken, work, 1, NULL, 0, 0));
	EXPECT_EQ(11, dxt_num(&t, "stats/stale"));
	EXPECT_EQ(1, dxt_num(&t, "pools/thread_busy"));
	dxt_gate_open(gate);
	EXPECT_EQ(1, dxt_rejoin(me, 1, result, 4, 1, DXK_FOREVER, &answer));
	EXPECT_EQ(0, result[0].status);
	EXPECT_EQ(2, result[0].worker);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(-ESHUTDOWN, dxt_worker_ended(t.workers));
	close(me);
	t.member = -1;
	ASSERT_EQ(0, dxt_start(&t));
	close(t.member);
	t.member = me = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, me);

	/* good, stale, good: the first is taken, nothing is fetched */
	for (i = 0; i < 3; i++)
		EXPECT_EQ(1, dxt_post1(me, 1, DXT_NOP, i, PXR_REJOIN, 0, NULL));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, dxk_next(me, NULL, 0, NULL, &work[i], 1, NULL, 0, 0));
	EXPECT_NE(work[0].ticket, work[1].ticket);
	done[0] = (struct dxk_done){ .ticket = work[0].ticket, .status = 100 };
	done[1] = (struct dxk_done){ .ticket = 4711 };
	done[2] = (struct dxk_done){ .ticket = work[1].ticket, .status = 101 };
	dxt_poison(&work[2], sizeof(work[2]));
	EXPECT_EQ(0, dxk_next(me, done, 3, &taken, &work[2], 1, NULL, 0, 0));
	EXPECT_EQ(1, taken);
	EXPECT_TRUE(dxt_poisoned(&work[2], sizeof(work[2])));
	EXPECT_EQ(1, dxt_num(&t, "pools/thread_busy"));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	/* twice, within one array and after */
	done[0] = (struct dxk_done){ .ticket = work[1].ticket, .status = 101 };
	done[1] = (struct dxk_done){ .ticket = work[1].ticket, .status = 102 };
	EXPECT_EQ(0, dxk_next(me, done, 2, &taken, NULL, 0, NULL, 0, 0));
	EXPECT_EQ(1, taken);
	EXPECT_EQ(-ESTALE, dxk_next(me, done, 1, &taken, NULL, 0, NULL, 0, 0));

	/* a dispatch that went back: its address cannot be written */
	EXPECT_EQ(-EFAULT, dxk_next(me, NULL, 0, NULL, (void *)8, 1, NULL, 0, 0));
	done[0].ticket = work[1].ticket + 1;
	EXPECT_EQ(-ESTALE, dxk_next(me, done, 1, &taken, NULL, 0, NULL, 0, 0));
	ASSERT_EQ(1, dxk_next(me, NULL, 0, NULL, &work[2], 1, NULL, 0, 0));
	EXPECT_EQ(work[1].ticket + 2, work[2].ticket);
	EXPECT_EQ(-ESTALE, dxk_next(me, done, 1, &taken, NULL, 0, NULL, 0, 0));
	done[0] = (struct dxk_done){ .ticket = work[2].ticket, .status = 103 };
	EXPECT_EQ(0, dxk_next(me, done, 1, &taken, NULL, 0, NULL, 0, 0));

	EXPECT_EQ(3, dxt_rejoin(me, 1, result, 4, 3, 0, &answer));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(i, result[i].param);
		EXPECT_EQ(i < 2 ? 100 + (int)i : 103, result[i].status);
	}
	dxt_down(&t);
	dxt_gate_free(gate);
}

/*
 * The context is closed while the workers of another process, which has no
 * descriptor of it, execute: they finish, learn it, and their members are all
 * that is left. The owner of the requests learns it, too.
 */
TEST(context_closed_while_executing)
{
	struct shared { _Atomic int joined, status[2]; } *s = dxt_shared(sizeof(*s));
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_result result;
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int fd = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
		struct dxk_done done = { 0 };
		struct dxk_work work;
		unsigned int taken = 0;

		close(t.ctx);
		close(t.member);
		close(t.ctl);
		s->joined = 1;
		if (dxk_next(fd, NULL, 0, NULL, &work, 1, NULL, 0, -1) != 1)
			_exit(1);
		dxt_gate_pass(gate, 1);
		done.ticket = work.ticket;
		s->status[0] = dxk_next(fd, &done, 1, &taken, &work, 1, NULL, 0, -1);
		s->status[1] = dxk_next(fd, NULL, 0, NULL, &work, 1, NULL, 0, -1);
		_exit(taken == 1 ? 0 : 2);
	}
	ASSERT_TRUE(DXT_UNTIL(&t, s->joined));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(wait_busy(&t, gate, 1));
	close(t.ctx);
	t.ctx = -1;
	EXPECT_FALSE(dxt_exists(&t, "state"));
	/* cancelled: collectable; executing: nobody can wait for it any more */
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &result, 1, 1, 0, NULL));
	EXPECT_EQ(-ECANCELED, result.status);
	EXPECT_EQ(-ESHUTDOWN, dxt_rejoin(t.member, 1, &result, 1, 1, DXK_FOREVER, NULL));
	dxt_gate_open(gate);
	EXPECT_EQ(0, dxt_reap(pid));
	EXPECT_EQ(0, s->status[0]);
	EXPECT_EQ(-ESHUTDOWN, s->status[1]);
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &result, 1, 1, 0, NULL));
	EXPECT_EQ(0, result.status);
	dxt_down(&t);
	dxt_gate_free(gate);
}

static int send_fd(int sock, int fd)
{
	char c = 'c', room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int sock)
{
	char c, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	int fd = -1;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/*
 * A context that came over a socket: a process that never opened the device works
 * for it and posts to it, and its copy keeps the context alive (DX-113).
 */
TEST(context_over_a_socket)
{
	struct dxk_result result;
	int pair[2], status;
	uint32_t answer;
	struct dxt t;
	pid_t pid;
	char c;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct dxt_worker w = { .ctx = -1 };
		struct dxt u = { .ctl = -1, .member = -1 };

		close(pair[0]);
		u.ctx = w.ctx = receive_fd(pair[1]);
		u.member = dxk_member_create(u.ctx, DXK_MEMBER_CLIENT, NULL);
		if (u.member < 0 || dxt_post1(u.member, 8, DXT_PARAM, 88, PXR_REJOIN, 0,
					      NULL) != 1)
			_exit(1);
		close(u.member);
		if (write(pair[1], "p", 1) != 1)
			_exit(2);
		/* until the parent stops the context */
		if (dxt_worker_loop(&w) != -ESHUTDOWN || w.executed != 2)
			_exit(3);
		/* the parent has gone: this is the last one */
		if (read(pair[1], &c, 1) != 1)
			_exit(4);
		if (dxk_ctx_start(u.ctx))
			_exit(5);
		_exit(0);
	}
	close(pair[1]);
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, send_fd(pair[0], t.ctx));
	EXPECT_EQ(1, read(pair[0], &c, 1));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_PARAM, 17, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &result, 1, 1,
				dxt_late(), &answer));
	EXPECT_EQ(17, result.status);
	/* posted by a member that is no more */
	EXPECT_EQ(1, dxt_rejoin(t.member, 8, &result, 1, 1,
				dxt_late(), &answer));
	EXPECT_EQ(88, result.status);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	close(t.ctx);
	t.ctx = -1;
	EXPECT_TRUE(dxt_exists(&t, "state"));
	EXPECT_EQ(1, write(pair[0], "g", 1));
	status = dxt_reap(pid);
	EXPECT_EQ(0, status);
	EXPECT_TRUE(DXT_UNTIL(&t, !dxt_exists(&t, "state")));
	dxt_down(&t);
}
