// SPDX-License-Identifier: GPL-2.0-only
/*
 * The executor aread, and with it wakers that are fired from an interrupt: a disk whose
 * I/O takes a while, which many requests wait for with one worker.
 */
#define _GNU_SOURCE
#include "lib/dxt.h"
#include "services/disk.h"

#define SECTOR	512
#define NR	64
#define OWNER	3

FIXTURE(aread) {
	struct dxt t;
	uint64_t exec;
};

FIXTURE_SETUP(aread)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.kernel_threads = 1;
	self->t.policy.max_threads = 1;
	self->t.policy.max_waiting = 1000;
	self->t.policy.data_size = 4096;
	ASSERT_EQ(0, dxt_start(&self->t));
	ASSERT_EQ(0, dxk_executor_find(self->t.ctl, "aread", &self->exec));
}

FIXTURE_TEARDOWN(aread)
{
	struct stat st;

	EXPECT_EQ(0, dxt_num(&self->t, "pools/wait_use"));
	dxt_down(&self->t);
	/* What an I/O still uses is let go when that ends. */
	if (!stat(PARAMS, &st))
		EXPECT_TRUE(DXT_SOON(!system("rmmod null_blk 2>/dev/null")));
}

static int post_read(const struct dxt *t, uint64_t exec, int fd, uint64_t at, unsigned int len,
		     uint64_t name)
{
	struct dxk_post_more e = {
		.post = dxt_entry(OWNER, exec, at, PXR_REJOIN | PXR_KERNEL |
				  (fd >= 0 ? PXR_FD : 0) | (name ? PXR_NAMED : 0)),
		.name = name,
	};

	e.post.fd = fd >= 0 ? fd : 0;
	e.post.result_len = len;
	return dxk_post_more(t->member, &e, 1, dxt_late_ns(), NULL);
}

static int collect(const struct dxt *t, unsigned char *data, uint64_t *param, uint32_t *len)
{
	struct dxk_result r;
	unsigned int answer;

	if (dxk_rejoin(t->member, OWNER, &r, 1, 1, data, 4096, dxt_late_ns(), &answer) != 1)
		return 4711;
	if (param)
		*param = r.param;
	if (len)
		*len = r.data_len;
	return r.status;
}

/* one worker, and as many I/Os under way as there are requests */
TEST_F(aread, from_interrupt)
{
	static unsigned char text[NR][4096] __attribute__((aligned(4096)));
	static unsigned char got[4096];
	uint32_t len;
	uint64_t at;
	int fd, i;

	fd = disk(100000000);
	if (fd < 0)
		SKIP(return, "no null_blk");
	for (i = 0; i < NR; i++) {
		memset(text[i], 'a' + i % 26, sizeof(text[i]));
		snprintf((char *)text[i], sizeof(text[i]), "block %d", i);
	}
	ASSERT_EQ(sizeof(text), pwrite(fd, text, sizeof(text), 0));
	for (i = 0; i < NR; i++)
		ASSERT_EQ(1, post_read(&self->t, self->exec, fd, (uint64_t)i * 4096,
				       i % 2 ? 4096 : SECTOR, 0));
	EXPECT_TRUE(DXT_SOON(dxt_num(&self->t, "pools/wait_use") > NR / 2));
	for (i = 0; i < NR; i++) {
		ASSERT_EQ(0, collect(&self->t, got, &at, &len));
		EXPECT_EQ(at / 4096 % 2 ? 4096 : SECTOR, len);
		EXPECT_EQ(0, memcmp(text[at / 4096 % NR], got, len));
	}
	close(fd);
}

/* A request that is cancelled ends at once, the I/O when it likes; so does a context. */
TEST_F(aread, cancelled)
{
	unsigned char got[4096];
	unsigned int state;
	uint64_t name = 7;
	uint64_t begin;
	struct dxt other;
	int fd;

	fd = disk(1000000000);
	if (fd < 0)
		SKIP(return, "no null_blk");
	begin = dxt_now();
	ASSERT_EQ(1, post_read(&self->t, self->exec, fd, 0, SECTOR, name));
	EXPECT_TRUE(DXT_SOON(dxt_num(&self->t, "pools/wait_use") == 1));
	EXPECT_EQ(1, dxk_cancel(self->t.member, &name, 1, &state));
	EXPECT_EQ(DXK_CANCEL_TOLD, state);
	EXPECT_EQ(-ECANCELED, collect(&self->t, got, NULL, NULL));
	if (!dxt_debug_kernel())
		EXPECT_GT(1000 * DXT_MS, dxt_now() - begin);

	ASSERT_EQ(0, dxt_open(&other));
	other.policy.kernel_threads = other.policy.max_threads = 1;
	other.policy.max_waiting = 10;
	other.policy.data_size = 4096;
	ASSERT_EQ(0, dxt_start(&other));
	ASSERT_EQ(1, post_read(&other, self->exec, fd, 0, SECTOR, 0));
	EXPECT_TRUE(DXT_SOON(dxt_num(&other, "pools/wait_use") == 1));
	dxt_close(&other);
	close(fd);
}

/* Files that complete at once, and ends of files */
TEST_F(aread, from_a_file)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600), wo;
	unsigned char got[4096];
	uint32_t len;

	ASSERT_LE(0, fd);
	ASSERT_EQ(5, write(fd, "hello", 5));
	ASSERT_EQ(1, post_read(&self->t, self->exec, fd, 1, 100, 0));
	EXPECT_EQ(0, collect(&self->t, got, NULL, &len));
	EXPECT_EQ(4, len);
	EXPECT_EQ(0, memcmp(got, "ello", 4));
	ASSERT_EQ(1, post_read(&self->t, self->exec, fd, 5, 100, 0));
	EXPECT_EQ(0, collect(&self->t, got, NULL, &len));
	EXPECT_EQ(0, len);

	ASSERT_EQ(1, post_read(&self->t, self->exec, fd, 0, 0, 0));
	EXPECT_EQ(-EINVAL, collect(&self->t, got, NULL, NULL));
	ASSERT_EQ(1, post_read(&self->t, self->exec, fd, 1ULL << 63, 1, 0));
	EXPECT_EQ(-EINVAL, collect(&self->t, got, NULL, NULL));
	ASSERT_EQ(1, post_read(&self->t, self->exec, -1, 0, 1, 0));
	EXPECT_EQ(-EBADF, collect(&self->t, got, NULL, NULL));
	wo = open("/dev/null", O_WRONLY);
	ASSERT_EQ(1, post_read(&self->t, self->exec, wo, 0, 1, 0));
	EXPECT_EQ(-EBADF, collect(&self->t, got, NULL, NULL));
	close(wo);
	close(fd);
}

/* A pipe would keep the worker for as long as the poster likes. */
TEST_F(aread, from_a_pipe)
{
	unsigned char got[4096];
	int end[2];

	ASSERT_EQ(0, pipe2(end, O_CLOEXEC));
	ASSERT_EQ(1, post_read(&self->t, self->exec, end[0], 0, 1, 0));
	EXPECT_EQ(-EOPNOTSUPP, collect(&self->t, got, NULL, NULL));
	close(end[0]);
	close(end[1]);
}

/* A policy without waits */
TEST(without_waits)
{
	unsigned char got[4096];
	uint64_t exec;
	struct dxt t;
	int fd;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.kernel_threads = t.policy.max_threads = 1;
	t.policy.data_size = 4096;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxk_executor_find(t.ctl, "aread", &exec));
	fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	ASSERT_EQ(1, post_read(&t, exec, fd, 0, 1, 0));
	EXPECT_EQ(-EOPNOTSUPP, collect(&t, got, NULL, NULL));
	close(fd);
	dxt_down(&t);
}

TEST_HARNESS_MAIN
