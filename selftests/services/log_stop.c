// SPDX-License-Identifier: GPL-2.0-only
/* As log.c: what becomes of messages when the context starts and stops. */
#include "log_pool_test.h"

#include <sched.h>

/* --- Start and Stop ---------------------------------------------------------- */

/* DX-103: what was accepted before a Stop can be read, also after a new Start. */
TEST_F(log, stop_keeps_messages)
{
	static const unsigned int size[] = { 64, 16, 256 };
	unsigned int i, k;
	struct content c;
	int fd;

	UP(64, DXK_LOG_BLOCK);
	for (k = 0; k < 3; k++) {
		for (i = 1; i <= 40; i++)
			EXPECT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
		EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
		EXPECT_EQ(-ENODEV, say(self->t.member, DXK_LOG_WAIT, DXK_FOREVER, "no"));
		EXPECT_TRUE(readable(&self->t));
		if (k < 2) {
			ASSERT_EQ(41, read_log(&self->t, self->r, 64, 0));
			EXPECT_STREQ("message 1", self->r[0].text);
			EXPECT_STREQ("message 40", self->r[39].text);
			EXPECT_STREQ("stopped", self->r[40].text);
			EXPECT_EQ(-ESHUTDOWN, read_log(&self->t, self->r, 8, 0));
			EXPECT_FALSE(readable(&self->t));
		}
		/* another size, nothing unread */
		self->t.policy.log_entries = 64 << k;
		ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
		ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
		if (k < 2)
			EXPECT_EQ(1, read_log(&self->t, self->r, 8, 0));
	}
	/* 40 messages and two of the module's, carried over twice */
	for (k = 1; k < 3; k++) {
		EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
		self->t.policy.log_entries = size[k];
		ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
		ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
	}
	/* 42 and "stopped": 16 of them stay, the next two of the module find no room */
	EXPECT_EQ(43 - 16 + 2, dxt_num(&self->t, "pools/log_lost"));
	fd = open_log(LOG);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	c = content_of(LOG);
	EXPECT_EQ(0, c.malformed);
	EXPECT_EQ(29, c.lost);
	EXPECT_EQ(40, c.last);
	EXPECT_EQ(13, c.messages);
}

struct window {
	int ctx;
	_Atomic bool ready;
	_Atomic int rc[3];
};

/* Real-time on a CPU of its own, so that no thread of the kernel comes between. */
static int hold_cpu(int cpu)
{
	struct sched_param param = { .sched_priority = 1 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return -errno;
	return sched_setscheduler(0, SCHED_FIFO, &param) ? -errno : 0;
}

/* Three messages from the moment at which the context takes any. */
static void *window_log(void *arg)
{
	struct window *w = arg;
	int member = dxk_member_create(w->ctx, DXK_MEMBER_CLIENT, NULL);
	unsigned int i;
	int rc;

	hold_cpu(1);
	w->ready = true;
	do
		rc = say(member, DXK_LOG_WAIT, DXK_FOREVER, "message 0");
	while (rc == -ENODEV);
	w->rc[0] = rc;
	for (i = 1; i < ARRAY_SIZE(w->rc); i++)
		w->rc[i] = say(member, DXK_LOG_WAIT, DXK_FOREVER, "message %u", i);
	close(member);
	return NULL;
}

/*
 * D-11, DX-17: what is logged between the switch to asynchronous logging and the start
 * of the Monitor returns at once, and is in the log in order, in front of "started".
 * Until that has been met: the Monitor cannot run on the CPU of the thread that logs, nor
 * on that of Start before it waits for the Monitor.
 */
TEST_F(log, start_window)
{
	struct window w = { .ctx = -1 };
	struct dxk_log_record *r = self->r;
	unsigned int i, met = 0, turns = 0;
	pthread_t thread;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	UP(64, DXK_LOG_BLOCK);
	w.ctx = self->t.ctx;
	ASSERT_EQ(0, hold_cpu(0));
	for (; !met && turns < 300; turns++) {
		ASSERT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
		discard(&self->t);
		for (i = 0; i < ARRAY_SIZE(w.rc); i++)
			w.rc[i] = 1;
		w.ready = false;
		ASSERT_EQ(0, pthread_create(&thread, NULL, window_log, &w));
		while (!w.ready)
			dxt_sleep_ms(1);
		ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
		ASSERT_EQ(0, pthread_join(thread, NULL));
		for (i = 0; i < ARRAY_SIZE(w.rc); i++)
			ASSERT_EQ(0, w.rc[i]);
		ASSERT_EQ(4, read_log(&self->t, r, 64, 0));
		for (i = 0, met = 1; i < ARRAY_SIZE(w.rc); i++) {
			char text[32];

			snprintf(text, sizeof(text), "message %u", i);
			if (!strcmp(r[i].text, "started"))
				met = 0;
			EXPECT_STREQ(text, r[i + !met].text);
		}
	}
	TH_LOG("met in turn %u", turns);
	EXPECT_TRUE(met);
}

/* DX-3, DX-97: without a running context a message is in the file on return. */
TEST_F(log, synchronous)
{
	unsigned int i, k = 0, n = 0;
	struct content c;
	char text[32];
	int member, fd;

	ASSERT_EQ(0, dxt_open(&self->t));
	ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
	member = dxk_member_create(self->t.ctx, DXK_MEMBER_CLIENT, NULL);
	ASSERT_LE(0, member);
	EXPECT_EQ(-ENODEV, say(member, 0, 0, "no"));
	EXPECT_EQ(-ESHUTDOWN, read_log(&self->t, self->r, 1, DXK_FOREVER));
	fd = open_log(LOG);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	for (k = 0; k < 3; k++) {
		for (i = 0; i < 10; i++) {
			snprintf(text, sizeof(text), "message %u", ++n);
			ASSERT_EQ(0, say(member, 0, 0, "message %u", n));
			EXPECT_TRUE(in_file(LOG, text));
		}
		ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
		for (i = 0; i < 10; i++)
			ASSERT_EQ(0, say(member, 0, 0, "message %u", ++n));
		EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	}
	c = content_of(LOG);
	EXPECT_EQ(60, c.messages);
	EXPECT_EQ(0, c.disorder);
	EXPECT_EQ(0, c.malformed);
	EXPECT_EQ(0, c.lost);
	EXPECT_EQ(66, c.seq);	/* "started" and "stopped" three times */
	close(member);
}

/*
 * DX-17, DX-103: a thread logs all the time while the context is started and
 * stopped again: every message that was accepted is in the file, once, in order.
 */
TEST_F(log, modes_change_under_load)
{
	struct talker k = { .t = &self->t };
	int i, fd, rounds = times_of(20);
	struct content c;
	pthread_t thread;

	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.log_entries = 4;
	ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
	fd = open_log(LOG);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	pthread_create(&thread, NULL, talk, &k);
	for (i = 0; i < rounds; i++) {
		unsigned int n;

		ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
		n = k.accepted;
		EXPECT_TRUE(DXT_UNTIL(&self->t, k.accepted > n + 5));
		ASSERT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
		n = k.accepted;
		EXPECT_TRUE(DXT_UNTIL(&self->t, k.accepted > n + 5));
	}
	k.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, k.rc);
	c = content_of(LOG);
	EXPECT_EQ(0, c.malformed);
	/* the module's own messages do not wait: they may move one out */
	EXPECT_EQ(k.accepted, c.last);
	EXPECT_EQ(0, c.disorder);
	EXPECT_EQ(dxt_num(&self->t, "pools/log_lost"), c.lost);
	EXPECT_GE(2 * rounds, c.lost);
	EXPECT_EQ(k.accepted + 2 * rounds, c.seq);
}
