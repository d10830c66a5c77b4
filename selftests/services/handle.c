// SPDX-License-Identifier: GPL-2.0-only
/*
 * DX-16, DX-26, DX-27: the Handle Table of the kernel, through the executor sha256.
 * dxk/runtime/tests/handle_test.c looks at it from inside, libhandle.c at the library's.
 */
#include "lib/dxt.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWNER	7
#define MNT	"/tmp/dxk-handle-test"

FIXTURE(kernel)
{
	struct dxt t;
	uint64_t sha256;
};

/* A file system of its own: unmounting it shows whether a file is still open. */
FIXTURE_SETUP(kernel)
{
	mkdir(MNT, 0700);
	ASSERT_EQ(0, mount("dxk-test", MNT, "tmpfs", 0, NULL));
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.kernel_threads = 4;
	if (dxk_executor_find(self->t.ctl, "sha256", &self->sha256))
		SKIP(return, "no executors loaded");
}

/* Closing a file of a kernel thread or of a dead process can take a moment. */
static bool unmounts(void)
{
	int rc;

	DXT_SOON(!(rc = umount(MNT)) || errno != EBUSY);
	return !rc;
}

FIXTURE_TEARDOWN(kernel)
{
	if (self->t.ctl >= 0)
		dxt_down(&self->t);
	EXPECT_TRUE(unmounts());
	rmdir(MNT);
}

static int file_new(const char *name, off_t size)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), MNT "/%s", name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && ftruncate(fd, size))
		abort();
	return fd;
}

static struct dxk_post_entry range_entry(uint64_t exec, uint64_t param,
					 const struct dxk_sha256_range *range)
{
	struct dxk_post_entry e = dxt_entry(OWNER, exec, param, PXR_REJOIN | PXR_KERNEL);

	e.data = DXT_PTR(range);
	e.data_len = sizeof(*range);
	e.result_len = 32;
	return e;
}

static int post_range(struct dxt *t, uint64_t exec, uint64_t handle, uint64_t offset,
		      uint64_t length)
{
	struct dxk_sha256_range range = { handle, offset, length };
	struct dxk_post_entry e = range_entry(exec, 0, &range);
	struct dxk_post post;

	return dxt_post(t->member, &e, 1, 0, &post);
}

/* One result; its status, or -EIO. */
static int collect(struct dxt *t, unsigned char digest[32])
{
	struct dxk_result r;
	unsigned int answer;

	if (dxk_rejoin(t->member, OWNER, &r, 1, 1, digest, 32,
		       dxt_late_ns(), &answer) != 1)
		return -EIO;
	return r.status;
}

static int digest_range(struct dxt *t, uint64_t exec, uint64_t handle,
			uint64_t offset, uint64_t length, unsigned char digest[32])
{
	if (post_range(t, exec, handle, offset, length) != 1)
		return -EIO;
	return collect(t, digest);
}

/*
 * The digest of a copy of a range, by the same executor with PXR_FD, which next.c
 * compares with sha256sum.
 */
static bool digest_copy(struct dxt *t, uint64_t exec, int fd, uint64_t offset,
			uint64_t length, unsigned char digest[32])
{
	struct dxk_post_entry e = dxt_entry(OWNER, exec, 0,
					    PXR_REJOIN | PXR_KERNEL | PXR_FD);
	struct dxk_post post;
	char *copy = malloc(length + 1);
	bool ok;

	e.fd = memfd_create("dxk-test", MFD_CLOEXEC);
	e.result_len = 32;
	ok = pread(fd, copy, length, (off_t)offset) == (ssize_t)length &&
	     write(e.fd, copy, length) == (ssize_t)length &&
	     dxt_post(t->member, &e, 1, 0, &post) == 1 && !collect(t, digest);
	close(e.fd);
	free(copy);
	return ok;
}

/* What is no regular file of a file system, what is no handle, what is not asked
 * for as it should be.
 */
TEST_F(kernel, refused)
{
	struct dxt *t = &self->t;
	struct dxk_handle_open open_arg;
	struct dxk_handle_close close_arg;
	unsigned char longer[sizeof(open_arg) + 8];
	int fd, pair[2], path, proc, sys;
	void *page;
	uint64_t handle = 1;

	fd = file_new("file", 100);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ESHUTDOWN, dxk_handle_open(t->ctx, fd, &handle));
	EXPECT_EQ(-ENOENT, dxk_handle_close(t->ctx, 1));
	ASSERT_EQ(0, dxt_start(t));

	ASSERT_EQ(0, pipe2(pair, O_CLOEXEC));
	path = open(MNT "/file", O_PATH | O_CLOEXEC);
	proc = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	sys = open("/sys/kernel/dxk/executors/sha256", O_RDONLY | O_CLOEXEC);
	ASSERT_TRUE(path >= 0 && proc >= 0 && sys >= 0);
	EXPECT_EQ(-EBADF, dxk_handle_open(t->ctx, -1, &handle));
	EXPECT_EQ(-EBADF, dxk_handle_open(t->ctx, path, &handle));
	EXPECT_EQ(-EINVAL, dxk_handle_open(t->ctx, pair[0], &handle));
	EXPECT_EQ(-EINVAL, dxk_handle_open(t->ctx, t->ctx, &handle));
	EXPECT_EQ(-EINVAL, dxk_handle_open(t->ctx, t->ctl, &handle));
	EXPECT_EQ(-EINVAL, dxk_handle_open(t->ctx, t->member, &handle));
	EXPECT_EQ(-EINVAL, dxk_handle_open(t->ctx, proc, &handle));
	EXPECT_EQ(-EINVAL, dxk_handle_open(t->ctx, sys, &handle));
	EXPECT_EQ(1, handle);
	close(path);
	path = open(MNT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EXPECT_EQ(-EINVAL, dxk_handle_open(t->ctx, path, &handle));
	EXPECT_EQ(-ENOTTY, dxk_handle_open(t->ctl, fd, &handle));
	EXPECT_EQ(-ENOTTY, dxk_handle_close(t->member, 1));
	close(path);
	close(proc);
	close(sys);
	close(pair[0]);
	close(pair[1]);

	/* sizes; an answer that cannot be delivered leaves no handle */
	open_arg = (struct dxk_handle_open){ .size = sizeof(open_arg) - 1, .fd = fd };
	EXPECT_EQ(-EINVAL, dxt_ioctl(t->ctx, DXK_IOC_HANDLE_OPEN, &open_arg));
	memset(longer, 0, sizeof(longer));
	open_arg.size = sizeof(longer);
	memcpy(longer, &open_arg, sizeof(open_arg));
	longer[sizeof(longer) - 1] = 1;
	EXPECT_EQ(-E2BIG, dxt_ioctl(t->ctx, DXK_IOC_HANDLE_OPEN, longer));
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	open_arg.size = sizeof(open_arg);
	memcpy(page, &open_arg, sizeof(open_arg));
	mprotect(page, 4096, PROT_READ);
	EXPECT_EQ(-EFAULT, dxt_ioctl(t->ctx, DXK_IOC_HANDLE_OPEN, page));
	munmap(page, 4096);
	EXPECT_EQ(0, dxt_num(t, "pools/handle_use"));

	ASSERT_EQ(0, dxk_handle_open(t->ctx, fd, &handle));
	close(fd);
	EXPECT_EQ(1, dxt_num(t, "pools/handle_use"));
	close_arg = (struct dxk_handle_close){ sizeof(close_arg), 1, handle };
	EXPECT_EQ(-EOPNOTSUPP, dxt_ioctl(t->ctx, DXK_IOC_HANDLE_CLOSE, &close_arg));
	EXPECT_EQ(-ENOENT, dxk_handle_close(t->ctx, handle + 1));
	EXPECT_EQ(-ENOENT, dxk_handle_close(t->ctx, 0));
	EXPECT_EQ(-ENOENT, dxk_handle_close(t->ctx, handle | 1ULL << 40));
	EXPECT_EQ(0, dxk_handle_close(t->ctx, handle));
	EXPECT_EQ(-ENOENT, dxk_handle_close(t->ctx, handle));
	EXPECT_EQ(0, dxt_num(t, "pools/handle_use"));
}

/* Many requests on ranges of one file: what sha256sum says, DX-16. */
TEST_F(kernel, ranges)
{
	enum { N = 40, SIZE = 1000003 };
	struct dxt *t = &self->t;
	struct dxk_sha256_range range[N];
	struct dxk_post_entry e[N];
	unsigned char digest[N][32], want[32];
	struct dxk_result r[N];
	unsigned int answer, i;
	struct dxk_post post;
	char block[997];
	uint64_t handle;
	int fd;

	ASSERT_EQ(0, dxt_start(t));
	fd = file_new("data", 0);
	for (i = 0; i < SIZE / sizeof(block) + 1; i++) {
		memset(block, 'a' + i % 26, sizeof(block));
		ASSERT_EQ(sizeof(block), write(fd, block, sizeof(block)));
	}
	ASSERT_EQ(0, ftruncate(fd, SIZE));
	/* its own position is not what they read from, and does not move */
	ASSERT_EQ(11, lseek(fd, 11, SEEK_SET));
	ASSERT_EQ(0, dxk_handle_open(t->ctx, fd, &handle));
	for (i = 0; i < N; i++) {
		range[i] = (struct dxk_sha256_range){ handle, i * 25001, 25001 + i };
		e[i] = range_entry(self->sha256, i, &range[i]);
	}
	range[N - 1].length = ~0ULL;
	ASSERT_EQ(N, dxt_post(t->member, e, N, 0, &post));
	ASSERT_EQ(N, dxk_rejoin(t->member, OWNER, r, N, N, digest, 32,
				dxt_late_ns(), &answer));
	for (i = 0; i < N; i++) {
		struct dxk_sha256_range *g = &range[r[i].param];

		EXPECT_EQ(0, r[i].status);
		EXPECT_EQ(32, r[i].data_len);
		ASSERT_TRUE(digest_copy(t, self->sha256, fd, g->offset,
					g->length < SIZE - g->offset ? g->length :
								SIZE - g->offset,
					want));
		EXPECT_EQ(0, memcmp(want, digest[i], 32)) TH_LOG("range %u", i);
	}
	EXPECT_EQ(11, lseek(fd, 0, SEEK_CUR));
	/* the native and at most one for each of the four workers */
	EXPECT_LE(2, dxt_num(t, "pools/handle_use"));
	EXPECT_GE(5, dxt_num(t, "pools/handle_use"));

	/* beyond the end, nothing, wrong */
	ASSERT_TRUE(digest_copy(t, self->sha256, fd, 0, 0, want));
	close(fd);
	EXPECT_EQ(0, digest_range(t, self->sha256, handle, SIZE, 100, digest[0]));
	EXPECT_EQ(0, memcmp(want, digest[0], 32));
	EXPECT_EQ(0, digest_range(t, self->sha256, handle, 5, 0, digest[0]));
	EXPECT_EQ(0, memcmp(want, digest[0], 32));
	EXPECT_EQ(-EINVAL, digest_range(t, self->sha256, handle, 1ULL << 63, 1, digest[0]));
	EXPECT_EQ(-ENOENT, digest_range(t, self->sha256, handle + 1, 0, 1, digest[0]));
	e[0].data_len--;
	ASSERT_EQ(1, dxt_post(t->member, e, 1, 0, &post));
	EXPECT_EQ(-EINVAL, collect(t, digest[0]));
	e[1].result_len = 31;
	ASSERT_EQ(1, dxt_post(t->member, &e[1], 1, 0, &post));
	EXPECT_EQ(-EMSGSIZE, collect(t, digest[0]));

	EXPECT_EQ(0, dxk_handle_close(t->ctx, handle));
	EXPECT_EQ(0, dxt_num(t, "pools/handle_use"));
	EXPECT_EQ(-ENOENT, digest_range(t, self->sha256, handle, 0, 1, digest[0]));
	/* all closed, though the context runs */
	EXPECT_TRUE(unmounts());
	ASSERT_EQ(0, mount("dxk-test", MNT, "tmpfs", 0, NULL));
}

/* The flags and rights of the native file are those of the own ones. */
TEST_F(kernel, rights)
{
	struct dxt *t = &self->t;
	unsigned char digest[32];
	uint64_t handle;
	int fd;

	ASSERT_EQ(0, dxt_start(t));
	close(file_new("data", 1000));
	fd = open(MNT "/data", O_WRONLY | O_CLOEXEC);
	ASSERT_EQ(0, dxk_handle_open(t->ctx, fd, &handle));
	close(fd);
	EXPECT_EQ(-EBADF, digest_range(t, self->sha256, handle, 0, 1, digest));
	/* still open for writing, the own one too */
	EXPECT_EQ(2, dxt_num(t, "pools/handle_use"));
	EXPECT_EQ(-1, mount(NULL, MNT, NULL, MS_REMOUNT | MS_RDONLY, NULL));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_EQ(0, dxk_handle_close(t->ctx, handle));

	/* neither created nor truncated nor exclusive when it is opened again */
	fd = open(MNT "/new", O_RDWR | O_CREAT | O_EXCL | O_TRUNC | O_CLOEXEC, 0600);
	ASSERT_EQ(4, write(fd, "data", 4));
	ASSERT_EQ(0, unlink(MNT "/new"));
	ASSERT_EQ(0, dxk_handle_open(t->ctx, fd, &handle));
	EXPECT_EQ(0, digest_range(t, self->sha256, handle, 0, ~0ULL, digest));
	EXPECT_EQ(4, lseek(fd, 0, SEEK_END));
	close(fd);
}

/*
 * Somebody has a lease on the file: the worker does not wait until it is given back, which
 * takes as long as lease-break-time says, but says so.
 */
TEST_F(kernel, leased)
{
	struct dxt *t = &self->t;
	unsigned char digest[32];
	uint64_t handle;
	int fd;

	ASSERT_EQ(0, dxt_start(t));
	fd = file_new("data", 1000);
	ASSERT_EQ(0, dxk_handle_open(t->ctx, fd, &handle));
	signal(SIGIO, SIG_IGN);
	ASSERT_EQ(0, fcntl(fd, F_SETLEASE, F_WRLCK));
	EXPECT_EQ(-EWOULDBLOCK, digest_range(t, self->sha256, handle, 0, ~0ULL, digest));
	EXPECT_EQ(1, dxt_num(t, "pools/handle_use"));
	ASSERT_EQ(0, fcntl(fd, F_SETLEASE, F_UNLCK));
	EXPECT_EQ(0, digest_range(t, self->sha256, handle, 0, ~0ULL, digest));
	close(fd);
}

/* Who reads the file next is told to the descriptor that this returns. */
static int reads_of(int fd)
{
	int reads = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return inotify_add_watch(reads, path, IN_ACCESS) < 0 ? -errno : reads;
}

/*
 * DX-27: closed while a request reads from it. The file is so large that the
 * request goes on until the file is made small.
 */
TEST_F(kernel, closed_in_use)
{
	struct dxt *t = &self->t;
	unsigned char digest[32];
	struct pollfd reads = { .events = POLLIN };
	uint64_t handle;
	unsigned int i;
	int fd;

	t->policy.kernel_threads = 1;
	ASSERT_EQ(0, dxt_start(t));
	for (i = 0; i < 5; i++) {
		fd = file_new("large", 1LL << 40);
		ASSERT_EQ(0, dxk_handle_open(t->ctx, fd, &handle));
		reads.fd = reads_of(fd);
		ASSERT_LE(0, reads.fd);
		ASSERT_EQ(1, post_range(t, self->sha256, handle, 0, ~0ULL));
		ASSERT_TRUE(DXT_UNTIL(t, poll(&reads, 1, 0) == 1));
		close(reads.fd);
		EXPECT_EQ(2, dxt_num(t, "pools/handle_use"));
		EXPECT_EQ(0, dxk_handle_close(t->ctx, handle));
		/* the worker's own one is what is left */
		EXPECT_EQ(1, dxt_num(t, "pools/handle_use"));
		EXPECT_EQ(1, dxt_num(t, "pools/thread_busy"));
		ASSERT_EQ(0, ftruncate(fd, 0));
		close(fd);
		EXPECT_EQ(0, collect(t, digest));
		EXPECT_TRUE(DXT_UNTIL(t, !dxt_num(t, "pools/handle_use")));
		EXPECT_EQ(-ENOENT, digest_range(t, self->sha256, handle, 0, 1, digest));
	}
	EXPECT_TRUE(unmounts());
	ASSERT_EQ(0, mount("dxk-test", MNT, "tmpfs", 0, NULL));
}

/* The size counts handles and workers' own files; 0 is no table at all. */
TEST_F(kernel, full)
{
	struct dxt *t = &self->t;
	uint64_t handle[3], more;
	unsigned char digest[32];
	int fd;

	t->policy.handle_entries = 3;
	ASSERT_EQ(0, dxt_start(t));
	fd = file_new("data", 1000);
	EXPECT_EQ(0, dxk_handle_open(t->ctx, fd, &handle[0]));
	EXPECT_EQ(0, dxk_handle_open(t->ctx, fd, &handle[1]));
	EXPECT_EQ(0, digest_range(t, self->sha256, handle[0], 0, 1, digest));
	EXPECT_EQ(-ENOSPC, dxk_handle_open(t->ctx, fd, &more));
	EXPECT_EQ(-ENOSPC, digest_range(t, self->sha256, handle[1], 0, 1, digest));
	EXPECT_EQ(3, dxt_num(t, "pools/handle_use"));
	EXPECT_EQ(3, dxt_num(t, "pools/handle_high_water"));
	EXPECT_EQ(0, dxk_handle_close(t->ctx, handle[0]));
	EXPECT_EQ(0, digest_range(t, self->sha256, handle[1], 0, 1, digest));
	EXPECT_EQ(2, dxt_num(t, "pools/handle_use"));
	EXPECT_EQ(0, dxk_handle_open(t->ctx, fd, &handle[2]));

	ASSERT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, -1));
	t->policy.handle_entries = 0;
	ASSERT_EQ(0, dxk_policy_set(t->ctx, &t->policy, NULL));
	ASSERT_EQ(0, dxk_ctx_start(t->ctx));
	EXPECT_EQ(-ENOSPC, dxk_handle_open(t->ctx, fd, &more));
	EXPECT_EQ(-ENOENT, dxk_handle_close(t->ctx, handle[2]));
	close(fd);
}

/* A thousand of them, and no name twice, not even after a restart. */
TEST_F(kernel, thousand)
{
	struct dxt *t = &self->t;
	uint64_t handle, last = 0;
	unsigned char digest[32];
	int fd, i;

	t->policy.kernel_threads = 1;
	ASSERT_EQ(0, dxt_start(t));
	fd = file_new("data", 1000);
	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, dxk_handle_open(t->ctx, fd, &handle));
		ASSERT_LT(last, handle);
		last = handle;
		if (i % 20 == 0)
			ASSERT_EQ(0, digest_range(t, self->sha256, handle, 0, 9, digest));
		ASSERT_EQ(0, dxk_handle_close(t->ctx, handle));
	}
	EXPECT_EQ(0, dxt_num(t, "pools/handle_use"));
	EXPECT_EQ(2, dxt_num(t, "pools/handle_high_water"));
	ASSERT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, -1));
	ASSERT_EQ(0, dxk_ctx_start(t->ctx));
	ASSERT_EQ(0, dxk_handle_open(t->ctx, fd, &handle));
	EXPECT_LT(last, handle);
	close(fd);
}

/* Stop with handles open closes all; so does the death of the process. */
TEST_F(kernel, stop_and_death)
{
	struct dxt *t = &self->t;
	struct dxt *child = dxt_shared(sizeof(*child));
	_Atomic int *ready = dxt_shared(sizeof(*ready));
	unsigned char digest[32];
	uint64_t handle;
	pid_t pid;
	int fd, i;

	ASSERT_EQ(0, dxt_start(t));
	fd = file_new("data", 1000);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, dxk_handle_open(t->ctx, fd, &handle));
		ASSERT_EQ(0, digest_range(t, self->sha256, handle, 0, 9, digest));
	}
	close(fd);
	EXPECT_EQ(40, dxt_num(t, "pools/handle_use"));
	EXPECT_EQ(-1, umount(MNT));
	ASSERT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, dxt_num(t, "pools/handle_use"));
	EXPECT_TRUE(unmounts());
	ASSERT_EQ(0, mount("dxk-test", MNT, "tmpfs", 0, NULL));

	pid = dxt_fork();
	if (!pid) {
		bool ok = !dxt_open(child);

		child->policy.kernel_threads = 2;
		ok = ok && !dxt_start(child);
		fd = file_new("data", 1000);
		for (i = 0; i < 10 && ok; i++)
			ok = !dxk_handle_open(child->ctx, fd, &handle) &&
			     !digest_range(child, self->sha256, handle, 0, 9, digest);
		/* and one that executes */
		ok = ok && !ftruncate(fd, 1LL << 40) &&
		     post_range(child, self->sha256, handle, 0, ~0ULL) == 1 &&
		     DXT_UNTIL(child, dxt_num(child, "pools/thread_busy") == 1);
		*ready = ok ? 1 : -1;
		for (;;)
			pause();
	}
	ASSERT_TRUE(DXT_UNTIL(t, *ready));
	ASSERT_EQ(1, *ready);
	EXPECT_EQ(-1, umount(MNT));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_TRUE(unmounts());
	ASSERT_EQ(0, mount("dxk-test", MNT, "tmpfs", 0, NULL));
	munmap(child, sizeof(*child));
}

/* Handles are opened, used and closed by everybody at a time. */
struct racer {
	struct dxt *t;
	uint64_t exec;
	int fd;
	int err;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	int i, member = dxk_member_create(r->t->ctx, DXK_MEMBER_CLIENT, NULL);

	for (i = 0; i < (dxt_debug_kernel() ? 40 : 200) && !r->err; i++) {
		struct dxk_sha256_range range = { .length = 100 };
		struct dxk_post_entry e[4];
		struct dxk_post post;
		uint64_t handle;
		int k;

		r->err = dxk_handle_open(r->t->ctx, r->fd, &handle);
		if (r->err)
			break;
		range.handle = handle;
		for (k = 0; k < 4; k++) {
			e[k] = range_entry(r->exec, 0, &range);
			e[k].owner = DXT_PTR(r);
		}
		if (dxt_post(member, e, 4, 0, &post) != 4)
			r->err = -EIO;
		if (dxk_handle_close(r->t->ctx, handle))
			r->err = -ENOENT;
		/* done, or too late */
		while (!r->err) {
			struct dxk_result res[4];
			uint32_t answer;
			int n = dxt_rejoin(member, DXT_PTR(r), res, 4, 1,
					   dxt_late(), &answer);

			if (n == 0 && answer == RJR_NONE_EXIST)
				break;
			if (n <= 0)
				r->err = -ETIME;
			while (n-- > 0)
				if (res[n].status && res[n].status != -ENOENT)
					r->err = res[n].status;
		}
	}
	close(member);
	return NULL;
}

TEST_F(kernel, race)
{
	struct dxt *t = &self->t;
	pthread_t thread[3];
	struct racer r[3];
	int fd, i;

	ASSERT_EQ(0, dxt_start(t));
	fd = file_new("data", 1000);
	for (i = 0; i < 3; i++) {
		r[i] = (struct racer){ t, self->sha256, fd, 0 };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, race, &r[i]));
	}
	for (i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, r[i].err);
	}
	close(fd);
	EXPECT_TRUE(DXT_UNTIL(t, !dxt_num(t, "pools/handle_use")));
	EXPECT_EQ(0, dxt_num(t, "stats/missed_wakeups"));
	EXPECT_TRUE(unmounts());
	ASSERT_EQ(0, mount("dxk-test", MNT, "tmpfs", 0, NULL));
}

TEST_HARNESS_MAIN
