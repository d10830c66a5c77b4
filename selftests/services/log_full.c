// SPDX-License-Identifier: GPL-2.0-only
/* As log.c: what a full Log Pool does, and who sleeps for room in it. */
#include "log_pool_test.h"

#include <sys/wait.h>

/* --- a full pool ------------------------------------------------------------- */

/* A worker logs 100 messages within a request. */
static int exe_log_100(struct dxt_call *call)
{
	unsigned int i;
	int rc = 0;

	for (i = 1; i <= 100 && !rc; i++)
		rc = say(call->worker->member, DXK_LOG_WAIT, DXK_FOREVER, "message %u", i);
	return rc;
}

static bool some_worker_logs(const struct dxt *t)
{
	return logging(t, 1) || logging(t, 2);
}

/* D-10, DX-98, DX-101: policy block: nobody loses anything. */
TEST_F(log, full_block)
{
	unsigned int i, n = 0;
	struct dxk_result result;

	UP(8, DXK_LOG_BLOCK);
	ASSERT_EQ(0, dxt_workers_start(&self->t, 2));
	ASSERT_EQ(1, dxt_post1(self->t.member, 1, DXT_FN(exe_log_100), 0, PXR_REJOIN, 0,
			       NULL));
	EXPECT_TRUE(DXT_UNTIL(&self->t, some_worker_logs(&self->t)));
	EXPECT_EQ(8, dxt_num(&self->t, "pools/log_use"));
	/* the request is not over, and its owner is told so */
	EXPECT_EQ(RJR_NONE_READY, poll_owner(&self->t, 1));
	while (n < 100) {
		int rc = read_log(&self->t, self->r, 3, dxt_late());

		ASSERT_LT(0, rc);
		for (i = 0; i < (unsigned int)rc; i++) {
			unsigned int nr = 0;

			sscanf(self->r[i].text, "message %u", &nr);
			EXPECT_EQ(++n, nr);
			EXPECT_EQ(0, self->r[i].flags);
		}
	}
	EXPECT_EQ(1, dxt_rejoin(self->t.member, 1, &result, 1, 1,
				dxt_late(), NULL));
	EXPECT_EQ(0, result.status);
	EXPECT_EQ(0, dxt_num(&self->t, "pools/log_lost"));
	EXPECT_LT(0, dxt_num(&self->t, "pools/log_blocks"));
	EXPECT_LT(0, dxt_num(&self->t, "pools/log_block_ns"));
}

/* D-10: with policy block a caller that does not ask to wait never does. */
TEST_F(log, full_block_unasked)
{
	unsigned int i;

	UP(8, DXK_LOG_BLOCK);
	for (i = 1; i <= 100; i++)
		EXPECT_EQ(0, say(self->t.member, 0, DXK_FOREVER, "message %u", i));
	EXPECT_EQ(92, dxt_num(&self->t, "pools/log_lost"));
	EXPECT_EQ(9, read_log(&self->t, self->r, 64, 0));
	EXPECT_EQ(92, self->r[0].lost);
	EXPECT_STREQ("message 100", self->r[8].text);
}

/* D-10: drop_new keeps the first 8 of 100, drop_oldest the last; one gap. */
TEST_F(log, full_drop)
{
	unsigned int full, i, at, gap;
	uint64_t seq;
	char text[32];

	for (full = DXK_LOG_DROP_NEW; full <= DXK_LOG_DROP_OLDEST; full++) {
		struct dxk_log_record *g;

		UP(8, full);
		for (i = 1; i <= 100; i++)
			EXPECT_EQ(0, say(self->t.member, DXK_LOG_WAIT, DXK_FOREVER,
					 "message %u", i));
		EXPECT_EQ(92, dxt_num(&self->t, "pools/log_lost"));
		EXPECT_EQ(8, dxt_num(&self->t, "pools/log_use"));
		ASSERT_EQ(9, read_log(&self->t, self->r, 64, 0));
		EXPECT_EQ(0, read_log(&self->t, self->r + 32, 1, 0));
		gap = full == DXK_LOG_DROP_NEW ? 8 : 0;
		at = full == DXK_LOG_DROP_NEW ? 0 : 1;
		g = &self->r[gap];
		EXPECT_EQ(DXK_LOG_GAP, g->flags);
		EXPECT_EQ(92, g->lost);
		EXPECT_STREQ("92 lost", g->text);
		seq = full == DXK_LOG_DROP_NEW ? g->seq - 8 : g->seq + 92;
		for (i = 0; i < 8; i++) {
			snprintf(text, sizeof(text), "message %u",
				 full == DXK_LOG_DROP_NEW ? i + 1 : i + 93);
			EXPECT_STREQ(text, self->r[at + i].text);
			EXPECT_EQ(seq + i, self->r[at + i].seq);
		}
		/* the stream goes on behind the gap */
		EXPECT_EQ(0, say(self->t.member, 0, 0, "message 101"));
		ASSERT_EQ(1, read_log(&self->t, self->r, 1, 0));
		EXPECT_EQ(seq + (full == DXK_LOG_DROP_NEW ? 100 : 8), self->r[0].seq);
		dxt_down(&self->t);
		self->t.ctx = 0;
	}
}

/* Who sleeps for room gets it in the order of coming, and no newcomer before. */
TEST_F(log, sleepers_in_order)
{
	unsigned int i;

	UP(2, DXK_LOG_BLOCK);
	PUPPETS(4);
	EXPECT_EQ(0, say(self->t.member, DXK_LOG_WAIT, 0, "message 0"));
	EXPECT_EQ(0, say(self->t.member, DXK_LOG_WAIT, 0, "message 1"));
	EXPECT_EQ(-ETIMEDOUT, say(self->t.member, DXK_LOG_WAIT, 0, "message"));
	EXPECT_EQ(-ETIMEDOUT, say(self->t.member, DXK_LOG_WAIT, dxt_in(DXT_MS), "message"));
	for (i = 0; i < 4; i++)
		ASSERT_TRUE(writes(&self->w[i], self->p[i], 2 + i, 2 + i, DXK_FOREVER));
	for (i = 0; i < 6; i++) {
		char text[32];

		ASSERT_EQ(1, read_log(&self->t, self->r, 1, 0));
		snprintf(text, sizeof(text), "message %u", i);
		EXPECT_STREQ(text, self->r[0].text);
		if (i < 4) {
			/* its message is in already, so there is no room for others */
			EXPECT_EQ(2, dxt_num(&self->t, "pools/log_use"));
			EXPECT_EQ(0, puppet_end(self->p[i]));
			EXPECT_TRUE(dxt_member_is(&self->t, self->p[i]->id, "running"));
			EXPECT_EQ(-ETIMEDOUT, say(self->t.member, DXK_LOG_WAIT, 0, "no"));
		}
	}
	EXPECT_EQ(0, dxt_num(&self->t, "pools/log_lost"));
	EXPECT_EQ(0, read_log(&self->t, self->r, 1, 0));
}

/* What ends a sleep: a signal, a deadline, a change of policy, Stop. */
TEST_F(log, sleeps_end)
{
	unsigned int i;

	UP(2, DXK_LOG_BLOCK);
	PUPPETS(4);
	puppet_signals(false);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	ASSERT_TRUE(writes(&self->w[0], self->p[0], 8, 8, DXK_FOREVER));
	puppet_signal(self->p[0]);
	EXPECT_EQ(-EINTR, puppet_end(self->p[0]));
	writes(&self->w[0], self->p[0], 9, 9, dxt_in(30 * DXT_MS));
	EXPECT_EQ(-ETIMEDOUT, puppet_end(self->p[0]));

	/* the new policy drops the sleepers' messages, as it would have then */
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(writes(&self->w[i], self->p[i], 10 + i, 10 + i, DXK_FOREVER));
	ASSERT_EQ(0, dxt_store(&self->t, "policy/log_full", "1"));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, puppet_end(self->p[i]));
	EXPECT_EQ(3, dxt_num(&self->t, "pools/log_lost"));
	ASSERT_EQ(0, dxt_store(&self->t, "policy/log_full", "0"));
	EXPECT_TRUE(DXT_UNTIL(&self->t, say(self->t.member, DXK_LOG_WAIT, 0, "no") ==
					-ETIMEDOUT));
	ASSERT_EQ(3, read_log(&self->t, self->r, 8, 0));
	EXPECT_STREQ("message 0", self->r[0].text);
	EXPECT_STREQ("message 1", self->r[1].text);
	EXPECT_LE(3, self->r[2].lost);

	/* a Stop does not wait for them, nor do its own messages */
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(writes(&self->w[i], self->p[i], 20 + i, 20 + i, DXK_FOREVER));
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, -1));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ESHUTDOWN, puppet_end(self->p[i]));
	/* "stopped" found no room, and displaced nothing that was accepted */
	ASSERT_EQ(3, read_log(&self->t, self->r, 8, 0));
	EXPECT_STREQ("message 0", self->r[0].text);
	EXPECT_STREQ("message 1", self->r[1].text);
	EXPECT_EQ(1, self->r[2].lost);
	EXPECT_EQ(-ESHUTDOWN, read_log(&self->t, self->r, 8, DXK_FOREVER));
}

/* D-10: a worker that sleeps for room can be killed; its request is answered. */
TEST_F(log, sleeper_is_killed)
{
	struct dxk_result result;
	pid_t pid;

	UP(2, DXK_LOG_BLOCK);
	pid = dxt_worker_process(&self->t, 1);
	ASSERT_LT(0, pid);
	ASSERT_EQ(1, dxt_post1(self->t.member, 1, DXT_FN(exe_log_100), 0, PXR_REJOIN, 0,
			       NULL));
	EXPECT_TRUE(DXT_UNTIL(&self->t, some_worker_logs(&self->t)));
	kill(pid, SIGKILL);
	EXPECT_TRUE(WIFSIGNALED(dxt_reap(pid)));
	EXPECT_EQ(1, dxt_rejoin(self->t.member, 1, &result, 1, 1,
				dxt_late(), NULL));
	EXPECT_EQ(-EOWNERDEAD, result.status);
	/* the two that were accepted; what the Monitor had to say found no room */
	EXPECT_LE(2, read_log(&self->t, self->r, 64, 0));
	EXPECT_EQ(0, self->r[0].lost + self->r[1].lost);
}
