// SPDX-License-Identifier: GPL-2.0-only
/* As log.c: what becomes of messages when the context starts and stops. */
#include "log_pool_test.h"

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
