// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many files dxk holds for a user, in requests and in Handle Tables: as many as
 * RLIMIT_NOFILE says, besides those that the user's processes have open themselves.
 */
#include "runtime/join.h"
#include "services/disk.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define FILES	20

static void limit(unsigned int nr)
{
	struct rlimit l = { nr, nr };

	if (setrlimit(RLIMIT_NOFILE, &l))
		_exit(96);
}

/* Posts the file until it is refused: how often it was taken, or a negative errno. */
static int posts(const struct dxt *t, int fd)
{
	struct dxk_post_entry e = dxt_entry(1, DXT_NOP, 0, PXR_FD | PXR_REJOIN);
	int nr = 0, rc;

	e.fd = fd;
	while ((rc = dxk_post(t->member, &e, 1, 0, NULL)) == 1)
		if (++nr > 10 * FILES)
			return -ENOENT;
	return rc == -ETOOMANYREFS ? nr : rc;
}

/* Files of handles, and of contexts that are closed, are let go some time after that. */
static bool soon_posts(const struct dxt *t, int fd, int nr)
{
	int n = 0;

	return DXT_SOON((n += posts(t, fd)) >= nr) && n == nr;
}

/* Each end of a request gives its file back: cancel, collect, close. */
static int requests(struct dxt *unused)
{
	struct dxk_post_entry e[3];
	struct dxt t;
	int fd, i;

	(void)unused;
	if (dxt_open(&t) || dxt_start(&t))
		return 1;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	limit(FILES);
	if (!soon_posts(&t, fd, FILES))
		return 2;
	/* of a post of three the first is refused, and so are all */
	for (i = 0; i < 3; i++) {
		e[i] = dxt_entry(1, DXT_NOP, 0, i ? 0 : PXR_FD);
		e[i].fd = i ? 0 : fd;
	}
	if (dxk_post(t.member, e, 3, 0, NULL) != -ETOOMANYREFS ||
	    dxt_num(&t, "pools/ready_use") != FILES)
		return 3;
	if (dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, -1) ||
	    dxt_drain(&t, t.member, 1) != FILES || dxk_ctx_start(t.ctx))
		return 4;
	/* what is refused for another reason counts for nothing */
	e[1].attrs = PXR_LANE0 | PXR_LANE1;
	for (i = 0; i < 3 * FILES; i++)
		if (dxk_post(t.member, e, 3, 0, NULL) != -EINVAL)
			return 5;
	if (posts(&t, fd) != FILES)
		return 6;
	dxt_close(&t);
	if (dxt_open(&t) || dxt_start(&t))
		return 7;
	return soon_posts(&t, fd, FILES) ? 0 : 8;
}

/* Natives and workers' own files count together, and with those of requests. */
static int handles(struct dxt *unused)
{
	struct dxk_sha256_range range = { .length = ~0ULL };
	uint64_t sha256, handle[FILES];
	struct dxk_post_entry e;
	struct dxk_result r;
	struct dxt t;
	int fd, i;

	(void)unused;
	if (dxt_open(&t))
		return 1;
	t.policy.kernel_threads = 1;
	if (dxk_executor_find(t.ctl, "sha256", &sha256) || dxt_start(&t))
		return 2;
	fd = memfd_create("dxk-test", MFD_CLOEXEC);
	limit(FILES);
	for (i = 0; i < FILES - 1; i++)
		if (dxk_handle_open(t.ctx, fd, &handle[i]))
			return 3;
	e = dxt_entry(2, sha256, 0, PXR_REJOIN | PXR_KERNEL);
	e.data = DXT_PTR(&range);
	e.data_len = sizeof(range);
	e.result_len = 32;
	for (i = 0; i < 3; i++) {	/* the second one has no place, the first has its own */
		range.handle = handle[i % 2];
		if (dxk_post(t.member, &e, 1, 0, NULL) != 1 ||
		    dxk_rejoin(t.member, 2, &r, 1, 1, NULL, 0, dxt_late_ns(), NULL) != 1)
			return 4;
		if (r.status != (i % 2 ? -ETOOMANYREFS : 0))
			return 5;
	}
	if (dxk_handle_open(t.ctx, fd, &handle[i]) != -ETOOMANYREFS || posts(&t, fd) != 0)
		return 6;
	if (dxk_handle_close(t.ctx, handle[0]) || !soon_posts(&t, fd, 2))
		return 7;
	/* Stop closes handles, and what it cancels gives its file back */
	if (dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, -1) || dxk_ctx_start(t.ctx) ||
	    !soon_posts(&t, fd, FILES))
		return 8;
	return 0;
}

/*
 * An I/O goes on when its request has been cancelled, and has the file: that counts until the I/O
 * ends.
 */
#define DISK_NS	(2 * DXT_SEC)

static int slow_disk;

static int reads(struct dxt *unused)
{
	struct dxk_post_more e = {
		.post = dxt_entry(2, 0, 0, PXR_REJOIN | PXR_KERNEL | PXR_FD | PXR_NAMED),
	};
	uint64_t name[FILES / 2], exec, begin;
	unsigned int state[FILES / 2], i;
	struct dxt t;
	int fd, nr;

	(void)unused;
	if (dxt_open(&t))
		return 1;
	t.policy.kernel_threads = 1;
	t.policy.max_waiting = FILES;
	if (dxk_executor_find(t.ctl, "aread", &exec) || dxt_start(&t))
		return 2;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	limit(FILES);
	e.post.executor = exec;
	e.post.fd = slow_disk;
	e.post.result_len = 512;
	begin = dxt_now();
	for (i = 0; i < FILES / 2; i++) {
		e.name = name[i] = 1 + i;
		if (dxk_post_more(t.member, &e, 1, 0, NULL) != 1)
			return 3;
	}
	if (!DXT_SOON(dxt_num(&t, "pools/wait_use") == FILES / 2))
		return 4;
	if (dxk_cancel(t.member, name, FILES / 2, state) != FILES / 2 ||
	    dxt_drain(&t, t.member, 2) != FILES / 2)
		return 5;
	/* the requests' own files are let go meanwhile */
	dxt_sleep_ms(300);
	nr = posts(&t, fd);
	if (nr != FILES / 2 && dxt_now() - begin < DISK_NS)
		return 6;
	return soon_posts(&t, fd, FILES - nr) ? 0 : 7;
}

static int root_posts(struct dxt *t)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	limit(FILES);
	return posts(t, fd) == -ENOENT ? 0 : 1;
}

static int root(struct dxt *unused)
{
	struct dxt t;

	(void)unused;
	return dxt_open(&t) || dxt_start(&t) ? 1 : root_posts(&t);
}

static int device(unsigned int mode)
{
	return chmod("/dev/dxk", mode);
}

TEST(by_requests)
{
	struct stat st;

	ASSERT_EQ(0, stat("/dev/dxk", &st));
	ASSERT_EQ(0, device(0666));
	EXPECT_EQ(0, as(UID, GID, 0, requests, NULL));
	/* that process is gone; another user has its own */
	EXPECT_EQ(0, as(UID, GID, 0, requests, NULL));
	EXPECT_EQ(0, as(OTHER, GID, 0, requests, NULL));
	EXPECT_EQ(0, as(0, 0, 0, root, NULL));
	device(st.st_mode & 0777);
}

TEST(by_reads)
{
	struct stat st;

	slow_disk = disk(DISK_NS);
	if (slow_disk < 0)
		SKIP(return, "no null_blk");
	ASSERT_EQ(0, stat("/dev/dxk", &st));
	ASSERT_EQ(0, device(0666));
	EXPECT_EQ(0, as(UID, GID, 0, reads, NULL));
	device(st.st_mode & 0777);
	close(slow_disk);
	EXPECT_TRUE(DXT_SOON(!system("rmmod null_blk 2>/dev/null")));
}

TEST(by_handles)
{
	struct stat st;

	ASSERT_EQ(0, stat("/dev/dxk", &st));
	ASSERT_EQ(0, device(0666));
	EXPECT_EQ(0, as(UID, GID, 0, handles, NULL));
	device(st.st_mode & 0777);
}

TEST_HARNESS_MAIN
