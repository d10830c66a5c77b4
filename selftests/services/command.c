// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands (DX-20, DX-30): what is sent, and the context's own ones. Their handlers
 * are in handler.c.
 */
#include "lib/command.h"

#include <stdio.h>

/* --- the context's own commands ---------------------------------------------- */

/* DX-20, DX-30: without a handler a command is the context's own */
TEST(own_show)
{
	char reply[DXK_COMMAND_MAX + 1];
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 2));
	EXPECT_EQ(0, ask(&t, "show threads", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "   id  role           state "));
	EXPECT_NE(NULL, strstr(reply, "\n  500  monitor        running "));
	EXPECT_NE(NULL, strstr(reply, "\n    1  user-worker    "));
	EXPECT_NE(NULL, strstr(reply, "\n    0  client         running "));
	EXPECT_EQ(0, ask(&t, " show\tpools\n", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "\nready       1024         0 "));
	EXPECT_EQ(0, ask(&t, "show lanes", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "\nkernel       3 "));
	EXPECT_EQ(0, ask(&t, "show commands", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "handler: none\nwaiting: 0\n"));
	dxt_down(&t);
}

/* Owners: which, how many where; more than fit are cut at a line's end */
TEST(own_show_owners)
{
	char reply[DXK_COMMAND_MAX + 1];
	unsigned int i, lines = 0;
	size_t len;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 0));
	EXPECT_EQ(0, ask(&t, "show owners", reply, sizeof(reply)));
	EXPECT_EQ(reply + strlen(reply) - 1, strchr(reply, '\n'));
	for (i = 0; i < 300; i++)
		ASSERT_EQ(1, dxt_post1(t.member, 0xabc000 + i, DXT_NOP, 0, PXR_REJOIN,
				       0, NULL));
	EXPECT_EQ(0, dxk_label(t.member, 0xabc000, "first"));
	EXPECT_EQ(0, ask(&t, "show owners", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "\n0xabc"));
	EXPECT_NE(NULL, strstr(reply, " 1         0         0         0\n"));
	len = strlen(reply);
	for (i = 0; i < len; i++)
		lines += reply[i] == '\n';
	EXPECT_LT(60, lines);
	EXPECT_STREQ("\n... of 300\n", reply + len - 12);
	dxt_down(&t);
}

/* Threads: a reply longer than the contract allows says that it was cut */
TEST(own_show_cut)
{
	char reply[DXK_COMMAND_MAX + 1];
	int status = 7, rc;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 200;
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(0, ask(&t, "show threads", reply, sizeof(reply)));
	EXPECT_LT(DXK_COMMAND_MAX - 100, strlen(reply));
	EXPECT_STREQ("\n... cut\n", reply + strlen(reply) - 9);

	/* a buffer that is too small gets its part and learns how much there is */
	dxt_poison(reply, sizeof(reply));
	rc = dxk_command_send(t.ctx, "show threads", 12, reply, 10, &status, dxt_late_ns());
	EXPECT_LT(DXK_COMMAND_MAX - 100, rc);
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, memcmp(reply, "   id  rol", 10));
	EXPECT_TRUE(dxt_poisoned(reply + 10, sizeof(reply) - 10));
	dxt_down(&t);
}

/* DX-30: unknown to both: -ENOENT, and nothing changes */
TEST(own_unknown)
{
	static const char * const text[] = {
		"no", " ", "\n", "show", "show me", "show threads now", "set", "set x",
		"drain now", "quit 1", "log", "log file", "cancel", "SHOW pools",
		"show threads pools lanes owners", "showthreads",
	};
	char reply[DXK_COMMAND_MAX + 1];
	struct dxt_snapshot before, after;
	unsigned int i;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 1));
	dxt_snapshot(&t, &before);
	for (i = 0; i < sizeof(text) / sizeof(*text); i++) {
		EXPECT_EQ(-ENOENT, ask(&t, text[i], reply, sizeof(reply))) {
			TH_LOG("%s", text[i]);
		}
	}
	EXPECT_EQ(-EOPNOTSUPP, ask(&t, "log rotate", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "log file"));
	dxt_snapshot(&t, &after);
	EXPECT_EQ(NULL, dxt_differs(&before, &after));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	dxt_down(&t);
}

/* DX-9: set, and what it refuses with the name of the field */
TEST(own_set)
{
	char reply[DXK_COMMAND_MAX + 1];
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.sched_mode = TPOOL_MODE_CMLS;
	t.policy.max_threads = 4;
	t.policy.lane_pct[1] = 25;
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(0, ask(&t, "set boost_value 17", reply, sizeof(reply)));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/boost_value") == 17));

	EXPECT_EQ(-EINVAL, ask(&t, "set no_field 1", reply, sizeof(reply)));
	EXPECT_STREQ("no_field: no such field\n", reply);
	EXPECT_EQ(-EINVAL, ask(&t, "set boost_value 65537", reply, sizeof(reply)));
	EXPECT_STREQ("boost_value: 65537 is not in 0..65536\n", reply);
	EXPECT_EQ(-EINVAL, ask(&t, "set boost_value -1", reply, sizeof(reply)));
	EXPECT_STREQ("boost_value: -1 is no number\n", reply);
	EXPECT_EQ(-EINVAL, ask(&t, "set boost_value 1x", reply, sizeof(reply)));
	EXPECT_EQ(-EINVAL, ask(&t, "set boost_value 99999999999999999999", reply,
			       sizeof(reply)));
	EXPECT_EQ(-EOPNOTSUPP, ask(&t, "set log_full 3", reply, sizeof(reply)));
	EXPECT_STREQ("log_full: 3 is not offered, at most 2\n", reply);
	EXPECT_EQ(-EBUSY, ask(&t, "set ready_entries 8", reply, sizeof(reply)));
	EXPECT_STREQ("ready_entries: cannot change while the context runs\n", reply);

	/* DX-76: no worker would be left for lane 3 */
	EXPECT_EQ(-EINVAL, ask(&t, "set max_threads 1", reply, sizeof(reply)));
	EXPECT_STREQ("max_threads: 1 does not go with the rule for max_threads\n", reply);
	EXPECT_EQ(-EINVAL, ask(&t, "set lane_pct2 100", reply, sizeof(reply)));
	EXPECT_STREQ("lane_pct2: 100 does not go with the rule for lane_pct0\n", reply);

	dxt_sleep_ms(50);
	EXPECT_EQ(17, dxt_num(&t, "policy/boost_value"));
	EXPECT_EQ(4, dxt_num(&t, "policy/max_threads"));
	EXPECT_EQ(0, dxt_num(&t, "policy/lane_pct2"));
	EXPECT_EQ(1024, dxt_num(&t, "policy/ready_entries"));
	dxt_down(&t);
}

/* drain: refuses posts, answers when all is done; Stop is then at once over */
TEST(own_drain)
{
	struct dxt_gate *gate = dxt_gate_new();
	char reply[DXK_COMMAND_MAX + 1];
	struct sender *s;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered));
	EXPECT_EQ(-ETIMEDOUT, ask_for(&t, "drain", reply, sizeof(reply), 20 * DXT_MS));
	EXPECT_EQ(-ESHUTDOWN, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	s = sender_start(&t, "drain");
	dxt_sleep_ms(20);
	EXPECT_EQ(0, s->done);
	/* a context that stops can still be asked */
	EXPECT_EQ(0, ask(&t, "show threads", reply, sizeof(reply)));
	dxt_gate_open(gate);
	EXPECT_EQ(0, sender_end(s));
	EXPECT_EQ(0, dxt_num(&t, "pools/ready_use"));
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_busy"));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, 0));
	EXPECT_EQ(2, dxt_drain(&t, t.member, 1));
	EXPECT_EQ(-ESHUTDOWN, ask(&t, "show threads", reply, sizeof(reply)));
	dxt_down(&t);
	dxt_gate_free(gate);
}

static int exe_drain(struct dxt_call *call)
{
	char reply[16];

	return ask_for(call->worker->t, "drain", reply, sizeof(reply), -1);
}

/* A worker that asked would wait for its own request. */
TEST(own_drain_by_worker)
{
	struct dxk_result result;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_FN(exe_drain), 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &result, 1, 1, dxt_late(), NULL));
	EXPECT_EQ(-EDEADLK, result.status);
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	dxt_down(&t);
}

/* quit: begins the Stop that the policy says, and answers at once */
TEST(own_quit)
{
	struct dxt_gate *gate = dxt_gate_new();
	char reply[DXK_COMMAND_MAX + 1];
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.shutdown = DXK_STOP_CANCEL;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), 0, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	EXPECT_EQ(0, ask(&t, "quit", reply, sizeof(reply)));
	EXPECT_EQ(-ESHUTDOWN, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	EXPECT_EQ(1, dxt_num(&t, "stats/cancelled"));
	EXPECT_EQ(0, ask(&t, "quit", reply, sizeof(reply)));
	dxt_gate_open(gate);
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* --- abuse ------------------------------------------------------------------- */

/* Lengths, addresses, zero bytes: refused before anything is done */
TEST(abuse_send)
{
	char *text = malloc(DXK_COMMAND_MAX + 1);
	struct dxk_command_send send;
	char reply[16];
	struct dxt t;

	memset(text, 'x', DXK_COMMAND_MAX + 1);
	ASSERT_EQ(0, dxt_open(&t));
	EXPECT_EQ(-ESHUTDOWN, tell(&t, "show pools"));
	EXPECT_EQ(-ESHUTDOWN, dxk_command_schedule(t.ctx, "show pools", 10, 0, 1));
	ASSERT_EQ(0, dxt_start(&t));
#define SEND(...) ({							\
	send = (struct dxk_command_send){ .size = sizeof(send),		\
		.deadline = dxt_late(), .text = DXT_PTR(text),	\
		.text_len = 4, .reply = DXT_PTR(reply),			\
		.reply_room = sizeof(reply) };				\
	__VA_ARGS__;							\
	dxt_ioctl(t.ctx, DXK_IOC_COMMAND_SEND, &send);			\
})
	EXPECT_EQ(0, SEND());
	EXPECT_EQ(-ENOENT, send.status);
	EXPECT_EQ(-EINVAL, SEND(send.text_len = 0));
	EXPECT_EQ(0, SEND(send.text_len = DXK_COMMAND_MAX));
	EXPECT_EQ(-ENOENT, send.status);
	EXPECT_EQ(-EMSGSIZE, SEND(send.text_len = DXK_COMMAND_MAX + 1));
	EXPECT_EQ(-EMSGSIZE, SEND(send.text_len = ~0U));
	EXPECT_EQ(-EFAULT, SEND(send.text = 0));
	EXPECT_EQ(-EFAULT, SEND(send.text = ~0ULL - 1));
	text[2] = '\0';
	EXPECT_EQ(-EINVAL, SEND());
	strcpy(text, "show pools");
	EXPECT_EQ(-EFAULT, SEND(send.text_len = 10, send.reply = 8));
	EXPECT_EQ(0, SEND(send.text_len = 10, send.reply = 8, send.reply_room = 0));
	EXPECT_LT(100, send.reply_len);
	/* no waiting, no reply */
	EXPECT_EQ(0, SEND(send.text_len = 10, send.deadline = 0, send.reply = 8));
	EXPECT_EQ(0, send.reply_len);
	EXPECT_EQ(-EINVAL, SEND(send.size = 8));
	EXPECT_EQ(-ENOTTY, dxt_ioctl(t.member, DXK_IOC_COMMAND_SEND, &send));
	EXPECT_EQ(-ENOTTY, dxt_ioctl(t.ctl, DXK_IOC_COMMAND_SEND, &send));
	free(text);
	dxt_down(&t);
}

TEST_HARNESS_MAIN
