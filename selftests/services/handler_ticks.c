// SPDX-License-Identifier: GPL-2.0-only
/* As handler.c: when a handler is woken, by ticks (DX-29) and by timed commands. */
#include "handler_test.h"

#include <poll.h>
#include <stdio.h>

/* --- ticks ------------------------------------------------------------------- */

/*
 * The Monitor sleeps on: it is not woken for ten intervals. It may have been on its way
 * to sleep, and late, so it has some tries; one that ticks is seen in each.
 */
static bool monitor_rests(const struct dxt *t, unsigned int ms)
{
	unsigned int i;
	long sleeps;

	for (i = 0; i < 10; i++) {
		sleeps = dxt_sleeps(t, "monitor");
		dxt_sleep_ms(10 * ms);
		if (sleeps > 0 && dxt_sleeps(t, "monitor") == sleeps)
			return true;
	}
	return false;
}

/* DX-29: once per monitor interval; none without a handler, nor does it wake */
TEST(ticks)
{
	unsigned int ms = 20, ticks;
	struct handler *h;
	uint64_t start;
	struct dxt t;

	ASSERT_EQ(0, up(&t, ms));
	EXPECT_TRUE(monitor_rests(&t, ms));

	start = dxt_now();
	h = handler_start(&t);
	EXPECT_TRUE(DXT_SOON(h->ticks >= 20));
	ticks = h->ticks;
	/* never more than intervals that are over, and some jitter */
	EXPECT_LE(ticks, (dxt_now() - start) / (ms * DXT_MS) + 2);

	/* DX-9: a shorter interval is that of the next tick already */
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "3600000"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 3600000));
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "1"));
	ticks = h->ticks;
	EXPECT_TRUE(DXT_SOON(h->ticks >= ticks + 20));
	EXPECT_EQ(-EINTR, handler_end(h));

	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "20"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 20));
	EXPECT_TRUE(monitor_rests(&t, ms));
	dxt_down(&t);
}

/* A handler that is late gets one tick, not those that it missed. */
TEST(ticks_are_not_queued)
{
	char text[DXK_COMMAND_MAX];
	size_t len;
	struct dxt t;

	ASSERT_EQ(0, up(&t, 2));
	ASSERT_EQ(0, dxk_command_attach(t.member, 1));
	EXPECT_EQ(DXK_COMMAND_TICK,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, dxt_late_ns()));
	dxt_sleep_ms(100);
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "3600000"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 3600000));
	/* what it still had to do it has done */
	EXPECT_TRUE(monitor_rests(&t, 2));
	/* with a command waiting both come in turn */
	EXPECT_EQ(0, tell(&t, "a"));
	EXPECT_EQ(DXK_COMMAND_TEXT,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(DXK_COMMAND_TICK,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(-ETIMEDOUT, dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	dxt_down(&t);
}

/* poll(2): readable when a tick or a command waits */
TEST(readable)
{
	struct pollfd p = { .events = POLLIN };
	char text[DXK_COMMAND_MAX];
	size_t len;
	struct dxt t;

	ASSERT_EQ(0, up(&t, 3600000));
	p.fd = t.member;
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_EQ(0, dxk_command_attach(t.member, 1));
	/* the first tick is an interval away, which is more than the machine is up */
	EXPECT_EQ(0, poll(&p, 1, 50));
	EXPECT_EQ(0, tell(&t, "x"));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(DXK_COMMAND_TEXT,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "20"));
	EXPECT_EQ(1, poll(&p, 1, dxt_late_ms()));
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "100000"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 100000));
	EXPECT_TRUE(monitor_rests(&t, 2));
	EXPECT_EQ(DXK_COMMAND_TICK,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	while (dxk_command_next(t.member, 0, NULL, 0, text, &len, 0) == DXK_COMMAND_TICK)
		;
	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(-ESHUTDOWN, dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	dxt_down(&t);
}

/* --- timed commands ----------------------------------------------------------- */

/* Not earlier than said, once or again and again; cancelled; forgotten at Stop */
TEST(timed)
{
	char reply[DXK_COMMAND_MAX + 1], text[32];
	uint64_t due = dxt_in(60 * DXT_MS);
	struct handler *h;
	struct dxt t;
	int once, again, far;
	unsigned int nr;

	ASSERT_EQ(0, up(&t, 5));
	h = handler_start(&t);
	/* one that is far away holds up nothing */
	far = dxk_command_schedule(t.ctx, "echo far", 8, dxt_in(3600 * DXT_SEC), 0);
	EXPECT_LT(0, far);
	once = dxk_command_schedule(t.ctx, "echo once", 9, due, 0);
	EXPECT_LT(0, once);
	EXPECT_TRUE(DXT_SOON(h->texts == 1));
	EXPECT_LE(due, dxt_now());
	EXPECT_STREQ("echo once", h->text);
	EXPECT_EQ(0, dxk_command_cancel(t.ctx, far));
	snprintf(text, sizeof(text), "cancel %d", once);
	EXPECT_EQ(-ESRCH, ask(&t, text, reply, sizeof(reply)));

	again = dxk_command_schedule(t.ctx, "echo again", 10, 0, 10 * DXT_MS);
	EXPECT_LT(once, again);
	nr = h->texts;
	EXPECT_TRUE(DXT_SOON(h->texts >= nr + 5));
	EXPECT_EQ(0, ask(&t, "show commands", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "            10  echo again\n"));
	snprintf(text, sizeof(text), "cancel %d", again);
	EXPECT_EQ(0, dxk_command_cancel(t.ctx, again));
	EXPECT_EQ(-ESRCH, dxk_command_cancel(t.ctx, again));
	EXPECT_EQ(-EINVAL, dxk_command_cancel(t.ctx, 0));
	EXPECT_EQ(-ESRCH, ask(&t, text, reply, sizeof(reply)));
	dxt_sleep_ms(50);
	/* one that was on its way came before this one */
	EXPECT_EQ(0, ask(&t, "echo last", reply, sizeof(reply)));
	nr = h->texts;
	dxt_sleep_ms(100);
	EXPECT_EQ(nr, h->texts);

	/* Stop forgets what waits and what is to come */
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo slow", 9, 0, 1));
	ASSERT_EQ(0, tell(&t, "hold"));
	ASSERT_TRUE(DXT_SOON(h->gate->entered));
	dxt_sleep_ms(100);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, dxk_ctx_start(t.ctx));
	dxt_gate_open(h->gate);
	EXPECT_EQ(0, ask(&t, "show commands", reply, sizeof(reply)));
	EXPECT_EQ(NULL, strstr(reply, "echo slow"));
	EXPECT_EQ(-EINTR, handler_end(h));
	dxt_down(&t);
}

/* Without a handler they are the context's own, and the Monitor ticks for them. */
TEST(timed_own)
{
	uint64_t due = dxt_in(50 * DXT_MS);
	struct dxt t;

	ASSERT_EQ(0, up(&t, 5));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "set boost_value 77", 18, due, 0));
	EXPECT_TRUE(DXT_SOON(dxt_num(&t, "policy/boost_value") == 77));
	EXPECT_LE(due, dxt_now());
	/* nothing is left to tick for */
	EXPECT_TRUE(monitor_rests(&t, 5));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "quit", 4, 1, 0));
	EXPECT_TRUE(DXT_SOON(dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL) == -ESHUTDOWN));
	dxt_down(&t);
}

/* A run is one run, however many intervals it waits for. */
TEST(timed_not_twice)
{
	struct pollfd p = { .events = POLLIN };
	char text[DXK_COMMAND_MAX];
	size_t len;
	struct dxt t;
	int id;

	ASSERT_EQ(0, up(&t, 2));
	ASSERT_EQ(0, dxk_command_attach(t.member, 1));
	id = dxk_command_schedule(t.ctx, "again", 5, 0, 1);
	EXPECT_LT(0, id);
	while (dxk_command_next(t.member, 0, NULL, 0, text, &len, -1) != DXK_COMMAND_TEXT)
		;
	dxt_sleep_ms(100);
	p.fd = t.member;
	EXPECT_EQ(1, poll(&p, 1, dxt_late_ms()));
	/* that one is in my hands, so no other waits */
	EXPECT_EQ(DXK_COMMAND_TICK,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, -1));
	dxt_down(&t);
}

/* Absurd times: far, past, overflowing; and no more than 64 of them */
TEST(timed_abuse)
{
	char reply[DXK_COMMAND_MAX + 1], text[32];
	struct handler *h;
	struct dxt t;
	int i, id = 0;

	ASSERT_EQ(0, up(&t, 2));
	h = handler_start(&t);
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 1", 6, 1, 0));
	EXPECT_TRUE(DXT_SOON(h->texts == 1));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 2", 6, 1, ~0ULL));
	EXPECT_TRUE(DXT_SOON(h->texts == 2));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 3", 6, 0, ~0ULL));
	EXPECT_TRUE(DXT_SOON(h->texts == 3));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 4", 6, 1, 1ULL << 63));
	EXPECT_TRUE(DXT_SOON(h->texts == 4));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 5", 6, ~0ULL, 1));
	EXPECT_EQ(0, ask(&t, "show commands", reply, sizeof(reply)));
	dxt_sleep_ms(20);
	EXPECT_EQ(4 + 1, h->texts);
	/* those that cannot come again are gone: that of 2^63 ns and the last are not */
	EXPECT_EQ(NULL, strstr(reply, "echo 3"));
	EXPECT_NE(NULL, strstr(reply, "echo 4"));
	EXPECT_NE(NULL, strstr(reply, "echo 5"));
	for (i = 2; i < PENDING; i++) {
		id = dxk_command_schedule(t.ctx, "echo far", 8, ~0ULL - 1, 0);
		ASSERT_LT(0, id);
	}
	EXPECT_EQ(-EAGAIN, dxk_command_schedule(t.ctx, "echo far", 8, ~0ULL - 1, 0));
	snprintf(text, sizeof(text), "cancel %d", id);
	EXPECT_EQ(0, ask(&t, text, reply, sizeof(reply)));
	EXPECT_LT(id, dxk_command_schedule(t.ctx, "echo far", 8, ~0ULL - 1, 0));
	EXPECT_EQ(-EINVAL, ask(&t, "cancel x", reply, sizeof(reply)));
	EXPECT_EQ(-EINVAL, ask(&t, "cancel -1", reply, sizeof(reply)));
	EXPECT_EQ(-ESRCH, ask(&t, "cancel 0", reply, sizeof(reply)));
	EXPECT_EQ(-EINTR, handler_end(h));
	dxt_down(&t);
}
