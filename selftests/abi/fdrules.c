// SPDX-License-Identifier: GPL-2.0-only
/*
 * What all that Linux lets a program do with a descriptor means for those of dxk:
 * the table "Descriptors" of dxk(4), a test for each line of it (DX-23, DX-25,
 * DX-113). In short: a context is whoever's has a copy, a member is one thread's.
 */
#include "fdrules_test.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* --- exec(2) ----------------------------------------------------------------- */

#define TOLD	"DXK_FDRULES"

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
	execl("/proc/self/exe", "fdrules", NULL);
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
	/* no access mode counts: the device asks who may open it at all */
	file = open(DXK_DEVICE, O_RDONLY | O_CLOEXEC);
	n = dxk_ctx_create(file, NULL);
	EXPECT_LE(0, n);
	close(n);
	close(file);
	dxt_down(&t);
}

TEST_HARNESS_MAIN
