// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Log Pool (DX-15): a clock buffer.
 */
#include <kunit/test.h>

#include "../log.h"

#define SIZE	4

static void log_release(void *log)
{
	dxk_log_free(log);
}

static struct dxk_log *log_make(struct kunit *test)
{
	struct dxk_log *log = kunit_kzalloc(test, sizeof(*log), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, log);
	dxk_log_init(log);
	KUNIT_ASSERT_EQ(test, dxk_log_alloc(log, SIZE), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, log_release, log), 0);
	return log;
}

static void add(struct dxk_log *log, enum dxk_log_full full, u32 first, u32 last)
{
	for (; first <= last; first++)
		dxk_log_add(log, full, 100 + first, "message %u", first);
}

/* Take one and compare all of it. */
static void take(struct kunit *test, struct dxk_log *log, u64 seq, u32 nr)
{
	struct dxk_log_entry e = { };
	char text[32];

	snprintf(text, sizeof(text), "message %u", nr);
	KUNIT_ASSERT_TRUE(test, dxk_log_take(log, &e));
	KUNIT_EXPECT_EQ(test, e.seq, seq);
	KUNIT_EXPECT_EQ(test, e.thread, 100 + nr);
	KUNIT_EXPECT_STREQ(test, e.text, text);
	KUNIT_EXPECT_LE(test, e.time, ktime_get_ns());
}

static void take_none(struct kunit *test, struct dxk_log *log)
{
	struct dxk_log_entry e;

	KUNIT_EXPECT_FALSE(test, dxk_log_take(log, &e));
	KUNIT_EXPECT_EQ(test, dxk_log_use(log), 0);
}

/* DX-15, DX-99: in at the tail, out at the head, many times around */
static void log_first_in_first_out(struct kunit *test)
{
	struct dxk_log *log = log_make(test);
	u32 in = 0, out = 0, round;

	take_none(test, log);
	for (round = 0; round < 5 * SIZE; round++) {
		u32 nr = round % SIZE + 1;

		add(log, DXK_LOG_DROP_NEW, in + 1, in + nr);
		in += nr;
		KUNIT_EXPECT_EQ(test, dxk_log_use(log), nr);
		while (out < in) {
			out++;
			take(test, log, out, out);
		}
		take_none(test, log);
	}
	KUNIT_EXPECT_EQ(test, log->lost, 0);
	KUNIT_EXPECT_EQ(test, log->high, SIZE);
	KUNIT_EXPECT_EQ(test, log->seq, in);
}

/* Head and tail only count up: their wrap must change nothing. */
static void log_counters_wrap(struct kunit *test)
{
	struct dxk_log *log = log_make(test);
	u32 i;

	log->head = log->tail = U32_MAX - 5;
	add(log, DXK_LOG_DROP_NEW, 1, 3);
	for (i = 4; i < 40; i++) {
		add(log, DXK_LOG_DROP_NEW, i, i);
		KUNIT_EXPECT_EQ(test, dxk_log_use(log), SIZE);
		take(test, log, i - 3, i - 3);
	}
	KUNIT_EXPECT_LT(test, log->tail, 40);
	KUNIT_EXPECT_EQ(test, log->lost, 0);

	/* full across the wrap */
	log->head = log->tail = U32_MAX - 1;
	add(log, DXK_LOG_DROP_OLDEST, 1, SIZE + 2);
	KUNIT_EXPECT_EQ(test, dxk_log_use(log), SIZE);
	KUNIT_EXPECT_EQ(test, log->lost, 2);
	take(test, log, 39 + 3, 3);
	KUNIT_EXPECT_EQ(test, log->high, SIZE);
}

/* DX-101: the new ones are dropped; the next that fits shows the gap */
static void log_drop_new(struct kunit *test)
{
	struct dxk_log *log = log_make(test);
	u32 i;

	add(log, DXK_LOG_DROP_NEW, 1, 10);
	KUNIT_EXPECT_EQ(test, log->lost, 6);
	for (i = 1; i <= SIZE; i++)
		take(test, log, i, i);
	add(log, DXK_LOG_DROP_NEW, 11, 11);
	take(test, log, 11, 11);
	take_none(test, log);
	KUNIT_EXPECT_EQ(test, log->lost, 6);
}

/* DX-101: the oldest are dropped; who cannot wait treats BLOCK the same way */
static void log_drop_oldest(struct kunit *test)
{
	static const enum dxk_log_full policy[] = { DXK_LOG_DROP_OLDEST, DXK_LOG_BLOCK };
	u32 p, i;

	for (p = 0; p < ARRAY_SIZE(policy); p++) {
		struct dxk_log *log = log_make(test);

		add(log, policy[p], 1, 10);
		KUNIT_EXPECT_EQ(test, log->lost, 6);
		for (i = 7; i <= 10; i++)
			take(test, log, i, i);
		take_none(test, log);
	}
}

/* Lost and taken together are all that was ever logged. */
static void log_loses_none_silently(struct kunit *test)
{
	struct dxk_log *log = log_make(test);
	struct dxk_log_entry e;
	u64 taken = 0, gaps = 0, last = 0;
	u32 i;

	for (i = 1; i <= 200; i++) {
		add(log, i & 16 ? DXK_LOG_DROP_NEW : DXK_LOG_DROP_OLDEST, i, i);
		if (i * 7 % 10 > 4)
			continue;
		KUNIT_ASSERT_TRUE(test, dxk_log_take(log, &e));
		KUNIT_EXPECT_GT(test, e.seq, last);
		gaps += e.seq - last - 1;
		last = e.seq;
		taken++;
	}
	for (; dxk_log_take(log, &e); last = e.seq, taken++)
		gaps += e.seq - last - 1;
	KUNIT_EXPECT_GT(test, log->lost, 0);
	KUNIT_EXPECT_EQ(test, taken + log->lost, 200);
	/* what was lost after the last one taken shows with the next */
	KUNIT_EXPECT_EQ(test, gaps + (log->seq - last), log->lost);
}

/* DX-102: too long is cut; without a pool nothing is taken, nor breaks */
static void log_edges(struct kunit *test)
{
	struct dxk_log *log = log_make(test);
	struct dxk_log_entry e;
	char text[2 * DXK_LOG_TEXT];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	dxk_log_add(log, DXK_LOG_BLOCK, 1, "%s", text);
	KUNIT_ASSERT_TRUE(test, dxk_log_take(log, &e));
	KUNIT_EXPECT_EQ(test, strnlen(e.text, DXK_LOG_TEXT), DXK_LOG_TEXT - 1);

	add(log, DXK_LOG_BLOCK, 1, 2);
	dxk_log_free(log);
	take_none(test, log);
	add(log, DXK_LOG_BLOCK, 1, 1);
	take_none(test, log);
	KUNIT_EXPECT_EQ(test, log->seq, 3);

	/* a pool of another size, the same stream */
	KUNIT_ASSERT_EQ(test, dxk_log_alloc(log, 2 * SIZE), 0);
	add(log, DXK_LOG_BLOCK, 1, 2 * SIZE);
	take(test, log, 4, 1);
	KUNIT_EXPECT_EQ(test, dxk_log_use(log), 2 * SIZE - 1);
}

static struct kunit_case log_cases[] = {
	KUNIT_CASE(log_first_in_first_out),
	KUNIT_CASE(log_counters_wrap),
	KUNIT_CASE(log_drop_new),
	KUNIT_CASE(log_drop_oldest),
	KUNIT_CASE(log_loses_none_silently),
	KUNIT_CASE(log_edges),
	{ }
};

static struct kunit_suite log_suite = {
	.name = "dxk_log",
	.test_cases = log_cases,
};

kunit_test_suite(log_suite);
