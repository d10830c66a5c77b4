// SPDX-License-Identifier: GPL-2.0-only
/*
 * What all that Linux lets a program do with a descriptor means for those of dxk:
 * the table "Descriptors" of dxk(4), a test for each line of it (DX-23, DX-25,
 * DX-113). In short: a context is whoever's has a copy, a member is one thread's.
 * Descriptors of other threads and processes are in fd_process.c.
 */
#include "fd.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* --- exec(2) ----------------------------------------------------------------- */

#define TOLD	"DXK_FD"

/* In the program that exec(2) starts: which of the descriptors still do? */
static void __attribute__((constructor)) after_exec(void)
{
	const char *told = getenv(TOLD);
	struct dxk_done done = { 0 };
	struct dxk_version version;
	struct dxk_policy policy;
	unsigned long long ticket;
	int ctl, ctx, member;

	if (!told || sscanf(told, "%d %d %d %llu", &ctl, &ctx, &member, &ticket) != 4)
		return;
	done.ticket = ticket;
	_exit((dxk_version(ctl, &version) ? 0 : 1) |
	      (dxk_policy_get(ctx, &policy) ? 0 : 2) |
	      (dxk_next(member, &done, 1, NULL, NULL, 0, NULL, 0, 0) ? 0 : 4));
}

/* A worker that executes a request and then another program. */
static void fetch_and_exec(const struct dxt *t, bool keep)
{
	int member = dxk_member_create(t->ctx, DXK_MEMBER_WORKER, NULL), fd[3], i;
	struct dxk_work work;
	char told[100];

	if (dxk_next(member, NULL, 0, NULL, &work, 1, NULL, 0, -1) != 1)
		_exit(100);
	fd[0] = t->ctl;
	fd[1] = t->ctx;
	fd[2] = member;
	for (i = 0; i < 3; i++)
		if (fcntl(fd[i], F_GETFD) != FD_CLOEXEC ||
		    (keep && fcntl(fd[i], F_SETFD, 0)))
			_exit(101);
	snprintf(told, sizeof(told), "%d %d %d %llu", fd[0], fd[1], fd[2],
		 (unsigned long long)work.ticket);
	setenv(TOLD, told, 1);
	execl("/proc/self/exe", "fd", NULL);
	_exit(102);
}

/*
 * exec(2) closes them, so what the thread executed ends with -EOWNERDEAD. Told to
 * keep them, the new program goes on: it is the same thread.
 */
TEST(exec)
{
	struct dxt t;
	int keep;

	for (keep = 0; keep < 2; keep++) {
		pid_t pid;

		ASSERT_EQ(0, dxt_up(&t, 0));
		pid = dxt_fork();
		ASSERT_LE(0, pid);
		if (!pid)
			fetch_and_exec(&t, keep);
		ASSERT_EQ(1, post_one(&t, 0, 0));
		EXPECT_TRUE(collect_status(&t, keep ? 0 : -EOWNERDEAD));
		EXPECT_EQ((keep ? 7 : 0) << 8, dxt_reap(pid));
		SOON(&t, dxt_num(&t, "pools/thread_use") == 0);
		dxt_down(&t);
	}
}

/* --- close(2) while a call sleeps ---------------------------------------------- */

static void *sleep_in_next(void *arg)
{
	struct other *o = arg;
	int fd = dxk_member_create(o->t->ctx, DXK_MEMBER_WORKER, NULL);

	o->fd = fd;
	o->rc = dxk_next(fd, NULL, 0, NULL, &o->work, 1, NULL, 0, -1);
	o->done = 1;
	return NULL;
}

static void *sleep_in_log_read(void *arg)
{
	struct other *o = arg;
	struct dxk_log_record r;

	o->tid = (int)syscall(SYS_gettid);
	do
		o->rc = dxk_log_read(o->fd, &r, 1, -1);
	while (o->rc > 0);
	o->done = 1;
	return NULL;
}

/* Sleeps in the kernel, as far as can be seen from outside. */
static bool is_asleep(int tid)
{
	char path[64], text[256] = "", *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	close(fd);
	end = strrchr(text, ')');
	return end && end[2] == 'S';
}

static void woken(int sig)
{
	(void)sig;
}

/*
 * close(2) in another thread ends no call: it takes effect when the call returns. The
 * worker is still given a request; it cannot complete it any more, so its owner is told.
 */
TEST(close_under_a_sleeper)
{
	static const struct sigaction act = { .sa_handler = woken };
	struct other o = { 0 };
	pthread_t thread;
	struct dxt t;

	sigaction(SIGUSR2, &act, NULL);
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	o.t = &t;
	ASSERT_EQ(0, pthread_create(&thread, NULL, sleep_in_next, &o));
	SOON(&t, dxt_member_is(&t, 1, "available"));
	close(o.fd);
	EXPECT_EQ(-EBADF, dxk_should_stop(o.fd, 0));
	EXPECT_TRUE(dxt_member_is(&t, 1, "available"));
	EXPECT_EQ(0, o.done);
	ASSERT_EQ(1, post_one(&t, 0, 0));
	EXPECT_TRUE(collect_status(&t, -EOWNERDEAD));
	pthread_join(thread, NULL);
	EXPECT_EQ(1, o.rc);
	SOON(&t, dxt_member_is(&t, 1, "vacant"));

	/* of a context, the last one: it goes when the call has returned */
	o = (struct other){ .fd = t.ctx };
	close(t.member);
	t.member = -1;
	ASSERT_EQ(0, pthread_create(&thread, NULL, sleep_in_log_read, &o));
	SOON(&t, o.tid && is_asleep(o.tid));
	close(t.ctx);
	t.ctx = -1;
	EXPECT_TRUE(is_there(&t));
	EXPECT_EQ(1, dxt_num(&t, "descriptors"));
	/* again and again: it may have slept elsewhere */
	while (!o.done) {
		pthread_kill(thread, SIGUSR2);
		dxt_sleep_ms(1);
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(-EINTR, o.rc);
	SOON(&t, !is_there(&t));
	dxt_close(&t);
}

/* --- dup(2) -------------------------------------------------------------------- */

/* Copies are one object; the last close counts, dup2(2) onto it is one. */
TEST(copies)
{
	struct dxt t, u;
	int copy, ctx;

	ASSERT_EQ(0, dxt_up(&t, 1));
	copy = dup(t.member);
	EXPECT_EQ(0, fcntl(copy, F_GETFD));
	close(t.member);
	t.member = copy;
	EXPECT_EQ(1, post_one(&t, DXT_PARAM, 3));
	EXPECT_TRUE(collect_status(&t, 3));
	ctx = fcntl(t.ctx, F_DUPFD_CLOEXEC, 0);
	EXPECT_EQ(1, dxt_num(&t, "descriptors"));
	ASSERT_EQ(0, dxt_open(&u));
	EXPECT_EQ(t.ctx, dup2(u.ctx, t.ctx));
	EXPECT_TRUE(is_there(&t));
	EXPECT_EQ(ctx, dup2(u.ctx, ctx));
	SOON(&t, !is_there(&t));
	EXPECT_TRUE(is_there(&u));
	close(ctx);
	dxt_close(&t);
	EXPECT_TRUE(is_there(&u));
	dxt_close(&u);
}

/* --- all other calls -------------------------------------------------------------- */

static int err(long rc)
{
	return rc < 0 ? -errno : (int)rc;
}

/* What is no call of dxk is refused and changes nothing. */
TEST(other_calls)
{
	int fd[3], i, pipes[2], file, n;
	struct dxt_snapshot before, after;
	loff_t off;
	struct dxt t;
	char c = 'c';

	ASSERT_EQ(0, dxt_up(&t, 0));
	ASSERT_EQ(0, pipe2(pipes, O_CLOEXEC));
	ASSERT_EQ(1, write(pipes[1], "x", 1));
	file = memfd_create("dxk-test", MFD_CLOEXEC);
	fd[0] = t.ctl;
	fd[1] = t.ctx;
	fd[2] = t.member;
	dxt_snapshot(&t, &before);
	for (i = 0; i < 3; i++) {
		struct iovec iov = { &c, 1 };

		EXPECT_EQ(-EINVAL, err(read(fd[i], &c, 1)));
		EXPECT_EQ(-EINVAL, err(write(fd[i], &c, 1)));
		EXPECT_EQ(-EINVAL, err(readv(fd[i], &iov, 1)));
		n = err(pwrite(fd[i], &c, 1, 0));
		EXPECT_TRUE(n == -EINVAL || n == -ESPIPE);
		EXPECT_EQ(0, err(lseek(fd[i], 100, SEEK_SET)));
		EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd[i], 0));
		EXPECT_EQ(ENODEV, errno);
		EXPECT_EQ(-ENODEV, err(fallocate(fd[i], 0, 0, 4096)));
		EXPECT_EQ(-EINVAL, err(ftruncate(fd[i], 0)));
		EXPECT_EQ(-EINVAL, err(fsync(fd[i])));
		EXPECT_EQ(-EINVAL, err(splice(fd[i], NULL, pipes[1], NULL, 1, 0)));
		EXPECT_EQ(-EINVAL, err(splice(pipes[0], NULL, fd[i], NULL, 1, 0)));
		EXPECT_EQ(-EINVAL, err(sendfile(file, fd[i], NULL, 1)));
		off = 0;
		EXPECT_EQ(-EINVAL, err(copy_file_range(fd[i], NULL, file, &off, 1, 0)));
		EXPECT_EQ(-ENOTTY, err(ioctl(fd[i], FIONREAD, &n)));
		EXPECT_EQ(-ENOTDIR, err(openat(fd[i], "x", O_RDONLY)));
		EXPECT_EQ(-ENOTSOCK, err(send(fd[i], &c, 1, 0)));
		EXPECT_EQ(-ENOTDIR, err(fchdir(fd[i])));
		/* a call sleeps as long as its deadline says */
		EXPECT_EQ(0, fcntl(fd[i], F_SETFL, O_NONBLOCK));
	}
	EXPECT_EQ(0, dxk_should_stop(t.member, DXT_MS));
	dxt_snapshot(&t, &after);
	EXPECT_EQ(NULL, dxt_differs(&before, &after));
	close(pipes[0]);
	close(pipes[1]);
	close(file);
	/* what was opened only as a name is no descriptor of the device */
	file = open(DXK_DEVICE, O_PATH | O_CLOEXEC);
	ASSERT_LE(0, file);
	EXPECT_EQ(-EBADF, dxk_ctx_create(file, NULL));
	close(file);
	/* nor makes one anything that was opened for reading */
	file = open(DXK_DEVICE, O_RDONLY | O_CLOEXEC);
	EXPECT_EQ(-EACCES, dxk_ctx_create(file, NULL));
	close(file);
	dxt_down(&t);
}

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

TEST_HARNESS_MAIN
