// SPDX-License-Identifier: GPL-2.0-only
/*
 * The asynchronous log: its messages, its readers. What a full Log Pool does is in
 * log_full.c, Start and Stop in log_stop.c, the file that the kernel writes in
 * logfile.c, the log of libdxk in liblog.c.
 */
#include "log_pool_test.h"

#include <sys/epoll.h>

/* --- messages ---------------------------------------------------------------- */

/* DX-15, DX-97, DX-99: what was written is read, in order, with who and when. */
TEST_F(log, write_and_read)
{
	uint64_t before, seq;
	unsigned int i;

	UP(1024, DXK_LOG_BLOCK);
	EXPECT_EQ(0, read_log(&self->t, self->r, 8, 0));
	EXPECT_FALSE(readable(&self->t));
	before = dxt_now();
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	EXPECT_TRUE(readable(&self->t));
	EXPECT_EQ(100, dxt_num(&self->t, "pools/log_use"));
	ASSERT_EQ(64, read_log(&self->t, self->r, 64, 0));
	seq = self->r[0].seq;
	for (i = 0; i < 100; i++) {
		struct dxk_log_record *r = &self->r[i % 64];
		char text[32];

		if (i == 64)
			ASSERT_EQ(36, read_log(&self->t, self->r, 64, 0));
		EXPECT_EQ(seq + i, r->seq);
		EXPECT_LE(before, r->time_ns);
		before = r->time_ns;
		EXPECT_EQ(self->t.member_id, r->thread);
		EXPECT_EQ(0, r->flags);
		EXPECT_EQ(0, r->lost);
		snprintf(text, sizeof(text), "message %u", i);
		EXPECT_STREQ(text, r->text);
		EXPECT_EQ(strlen(text), r->len);
	}
	EXPECT_GE(dxt_now(), before);
	EXPECT_FALSE(readable(&self->t));
	EXPECT_EQ(0, read_log(&self->t, self->r, 1, 0));
	EXPECT_EQ(0, dxt_num(&self->t, "pools/log_lost"));
	EXPECT_EQ(100, dxt_num(&self->t, "pools/log_high_water"));
}

/* DX-102: too long is cut and marked; whatever bytes, it is one line. */
TEST_F(log, bad_messages)
{
	struct dxk_log_write w;
	static char big[1 << 20];
	struct dxk_log_record *r = self->r;
	unsigned int i;

	UP(1024, DXK_LOG_BLOCK);
	memset(big, 'x', sizeof(big));
	EXPECT_EQ(0, write_raw(self->t.member, big, sizeof(big)));
	EXPECT_EQ(0, write_raw(self->t.member, big, UINT32_MAX));
	EXPECT_EQ(0, write_raw(self->t.member, big, DXK_LOG_TEXT));
	EXPECT_EQ(0, write_raw(self->t.member, big, DXK_LOG_TEXT - 1));
	EXPECT_EQ(0, write_raw(self->t.member, NULL, 0));
	for (i = 0; i < 40; i++)
		big[i] = (char)i;
	big[40] = '\177';
	big[41] = '\377';
	EXPECT_EQ(0, write_raw(self->t.member, big, 42));
	ASSERT_EQ(6, read_log(&self->t, r, 64, 0));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(i < 3 ? DXK_LOG_CUT : 0, r[i].flags);
		EXPECT_EQ(DXK_LOG_TEXT - 1, r[i].len);
		EXPECT_EQ(DXK_LOG_TEXT - 1, strlen(r[i].text));
	}
	EXPECT_EQ(0, r[4].len);
	EXPECT_STREQ("", r[4].text);
	EXPECT_EQ(42, r[5].len);
	EXPECT_STREQ("                                 !\"#$%&' \377", r[5].text);

	EXPECT_EQ(-EFAULT, write_raw(self->t.member, (void *)8, 4));
	EXPECT_EQ(-EFAULT, write_raw(self->t.member, (void *)-4096L, 4));
	w = (struct dxk_log_write){ .size = sizeof(w), .flags = 2 };
	EXPECT_EQ(-EOPNOTSUPP, dxt_ioctl(self->t.member, DXK_IOC_LOG_WRITE, &w));
	w = (struct dxk_log_write){ .size = sizeof(w), .reserved = 1 };
	EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.member, DXK_IOC_LOG_WRITE, &w));
	EXPECT_EQ(-ENOTTY, write_raw(self->t.ctx, big, 1));
	/* nothing of it is in the log */
	EXPECT_EQ(0, read_log(&self->t, r, 64, 0));
	EXPECT_EQ(0, dxt_num(&self->t, "pools/log_lost"));
}

/* --- reading ----------------------------------------------------------------- */

TEST_F(log, bad_reads)
{
	struct dxk_log_read a = { .size = sizeof(a) };
	struct {
		struct dxk_log_record r;
		char more[64];
	} longer;
	unsigned int i;

	UP(16, DXK_LOG_BLOCK);
	EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	a.nr = 1;
	a.record_size = sizeof(struct dxk_log_record) - 1;
	EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	a.record_size++;
	a.nr = DXK_BATCH_MAX + 1;
	EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	a.nr = 1;
	a.flags = 1;
	EXPECT_EQ(-EOPNOTSUPP, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	a.flags = 0;
	EXPECT_EQ(0, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));

	/* what cannot be copied out stays, and stays the first */
	for (i = 1; i <= 4; i++)
		ASSERT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	a.records = 8;
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-EFAULT, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	EXPECT_TRUE(readable(&self->t));
	a.records = DXT_PTR(&longer);
	a.record_size = sizeof(longer);
	memset(&longer, 0xa5, sizeof(longer));
	EXPECT_EQ(1, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	EXPECT_STREQ("message 1", longer.r.text);
	EXPECT_EQ(0, longer.more[0] | longer.more[63]);
	EXPECT_EQ(3, read_log(&self->t, self->r, 8, 0));
	EXPECT_STREQ("message 2", self->r[0].text);
	EXPECT_STREQ("message 4", self->r[2].text);
}

struct reader {
	struct dxt *t;
	pthread_t thread;
	uint64_t deadline;
	_Atomic int tid;
	_Atomic int rc;
	_Atomic bool over;
	struct dxk_log_record r;
};

static void *reader_main(void *arg)
{
	struct reader *r = arg;

	r->tid = gettid();
	r->rc = read_log(r->t, &r->r, 1, r->deadline);
	r->over = true;
	return NULL;
}

static bool thread_sleeps(int tid)
{
	char path[64], text[256] = "", *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	p = fgets(text, sizeof(text), f);
	fclose(f);
	p = p ? strrchr(text, ')') : NULL;
	return p && p[1] && p[2] == 'S';
}

static void reader_start(struct reader *r, struct dxt *t, uint64_t deadline)
{
	memset(r, 0, sizeof(*r));
	r->t = t;
	r->deadline = deadline;
	pthread_create(&r->thread, NULL, reader_main, r);
	DXT_UNTIL(t, r->over || (r->tid && thread_sleeps(r->tid)));
}

static int reader_end(struct reader *r)
{
	pthread_join(r->thread, NULL);
	return r->rc;
}

/* A read sleeps until there is a message, a signal, a deadline, a Stop, a file. */
TEST_F(log, read_sleeps)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct reader r;
	int fd, ep;

	UP(16, DXK_LOG_BLOCK);
	reader_start(&r, &self->t, DXK_FOREVER);
	EXPECT_FALSE(r.over);
	EXPECT_EQ(0, say(self->t.member, 0, 0, "message 1"));
	EXPECT_EQ(1, reader_end(&r));
	EXPECT_STREQ("message 1", r.r.text);

	EXPECT_EQ(0, read_log(&self->t, self->r, 1, dxt_in(5 * DXT_MS)));

	puppet_signals(false);
	reader_start(&r, &self->t, DXK_FOREVER);
	while (!r.over) {
		pthread_kill(r.thread, DXT_NUDGE);
		dxt_sleep_ms(1);
	}
	EXPECT_EQ(-EINTR, reader_end(&r));

	/* poll(2) is woken as well */
	ep = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->t.ctx, &e));
	EXPECT_EQ(0, epoll_wait(ep, &e, 1, 0));
	EXPECT_EQ(0, say(self->t.member, 0, 0, "message 2"));
	EXPECT_EQ(1, epoll_wait(ep, &e, 1, dxt_late_ms()));
	close(ep);
	EXPECT_EQ(1, discard(&self->t));

	reader_start(&r, &self->t, DXK_FOREVER);
	fd = open_log(LOG);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
	EXPECT_EQ(-EBUSY, reader_end(&r));
	EXPECT_EQ(-EBUSY, read_log(&self->t, self->r, 1, 0));
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, -1));
	close(fd);

	reader_start(&r, &self->t, DXK_FOREVER);
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(1, reader_end(&r));
	EXPECT_STREQ("stopped", r.r.text);
	reader_start(&r, &self->t, DXK_FOREVER);
	EXPECT_EQ(-ESHUTDOWN, reader_end(&r));
}

TEST_HARNESS_MAIN
