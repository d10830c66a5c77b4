// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Numbers and names that others rely on.
 */
#include <kunit/test.h>

#include "engine/calls.h"
#include "engine/engine.h"
#include "engine/stall.h"
#include "engine/waiter.h"

/* DX-22, DX-23: as the documents give them */
static void numbers_of_threads(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, DXK_ID_MAIN, 0);
	KUNIT_EXPECT_EQ(test, DXK_ID_WORKER_MAX, 499);
	KUNIT_EXPECT_EQ(test, DXK_ID_MONITOR, 500);
	KUNIT_EXPECT_EQ(test, DXK_ID_SCHEDULER, 600);
	KUNIT_EXPECT_EQ(test, DXK_ID_DISPATCHER, 700);
	KUNIT_EXPECT_EQ(test, DXK_ID_CLIENT, 1000);
	KUNIT_EXPECT_EQ(test, DXK_ID_MAX, 65535);
}

/* What a call is not given it sets itself. */
static void numbers_of_results(struct kunit *test)
{
	struct dxk_engine *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	struct dxk_member *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct dxk_rejoin_op r;
	struct dxk_next_op n;

	KUNIT_ASSERT_NOT_NULL(test, e);
	KUNIT_ASSERT_NOT_NULL(test, m);
	dxk_engine_init(e);
	dxk_member_init(m, e, DXK_ID_CLIENT);
	memset(&r, 0xa5, sizeof(r));
	r.m = m;
	r.cookie = 1;
	r.max = r.min = 1;
	r.wait = r.help = r.nest = r.any = r.free = false;
	KUNIT_EXPECT_EQ(test, dxk_client_rejoin(&r, 0), 0);
	KUNIT_EXPECT_EQ(test, r.answer, RJR_NONE_EXIST);
	KUNIT_EXPECT_EQ(test, r.nr, 0);
	KUNIT_EXPECT_EQ(test, r.self_held, 0);
	KUNIT_EXPECT_FALSE(test, r.helper.called);
	memset(&n, 0xa5, sizeof(n));
	n.m = m;
	n.max = 1;
	INIT_LIST_HEAD(&n.done);
	KUNIT_EXPECT_EQ(test, dxk_next(&n, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, n.nr, 0);
	KUNIT_EXPECT_EQ(test, n.taken, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&n.work) && list_empty(&n.ended));
}

/* How long nobody must have run until it is told, in ms */
static void numbers_of_stalls(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, DXK_STALL_MS, 100);
	KUNIT_EXPECT_EQ(test, DXK_SPARE_MS, 1000);
}

/* DX-115: each state has the name that sysfs shows */
static void numbers_of_states(struct kunit *test)
{
	static const struct {
		u8 state;
		const char *name;
	} states[] = {
		{ DXK_M_VACANT, "vacant" }, { DXK_M_RUNNING, "running" },
		{ DXK_M_AWAY, "away" }, { DXK_M_AVAILABLE, "available" },
		{ DXK_M_BUSY, "busy" }, { DXK_M_POSTING, "posting" },
		{ DXK_M_REJOINING, "rejoining" }, { DXK_M_COMPLETING, "completing" },
		{ DXK_M_LOGGING, "logging" }, { DXK_M_LISTENING, "listening" },
		{ DXK_M_ENTERING, "entering" }, { DXK_M_CONDITION, "condition" },
		{ DXK_M_BLOCKED, "blocked" },
	};
	u32 i;

	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(states), DXK_M_STATES);
	for (i = 0; i < ARRAY_SIZE(states); i++)
		KUNIT_EXPECT_STREQ(test, dxk_member_state_name(states[i].state),
				   states[i].name);
}

/* Owners of spaces with different numbers are told apart by the hash already. */
static void numbers_of_spaces(struct kunit *test)
{
	struct dxk_engine *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	struct dxk_space *space[2];

	KUNIT_ASSERT_NOT_NULL(test, e);
	dxk_engine_init(e);
	space[0] = dxk_space_new(e);
	space[1] = dxk_space_new(e);
	KUNIT_ASSERT_FALSE(test, IS_ERR(space[0]) || IS_ERR(space[1]));
	KUNIT_EXPECT_EQ(test, e->home.id, 0);
	KUNIT_EXPECT_EQ(test, e->shared.id, 1);
	KUNIT_EXPECT_EQ(test, space[0]->id, 2);
	KUNIT_EXPECT_EQ(test, space[1]->id, 3);
	KUNIT_EXPECT_TRUE(test, space[0]->is_private && !e->home.is_private);
	dxk_space_put(e, space[0]);
	dxk_space_put(e, space[1]);
}

/* A lock hold may begin all that it must, and no more than it may. */
static void numbers_of_a_hold(struct kunit *test)
{
	struct dxk_wakes wakes;
	u32 i;

	memset(&wakes, 0xff, sizeof(wakes));
	dxk_wakes_init(&wakes);
	KUNIT_EXPECT_EQ(test, wakes.spent | wakes.nr | wakes.nr_members | wakes.kick, 0);
	KUNIT_EXPECT_FALSE(test, wakes.work);
	KUNIT_EXPECT_FALSE(test, dxk_afford(&wakes, DXK_HOLD_BUDGET + 1));
	for (i = 0; i < DXK_HOLD_BUDGET; i++)
		KUNIT_EXPECT_TRUE(test, dxk_afford(&wakes, 1));
	KUNIT_EXPECT_FALSE(test, dxk_afford(&wakes, 1));
	KUNIT_EXPECT_EQ(test, wakes.spent, DXK_HOLD_BUDGET);
	/* Completing a batch is affordable, and all of it stays below the bound. */
	KUNIT_EXPECT_LE(test, DXK_BATCH_MAX / 2 + 1, DXK_HOLD_BUDGET);
	KUNIT_EXPECT_LE(test, 2 * DXK_HOLD_BUDGET + 2 * DXK_BATCH_MAX, DXK_HOLD_STEPS);
	KUNIT_EXPECT_TRUE(test, dxk_wakes_room(&wakes));
	wakes.nr = ARRAY_SIZE(wakes.task) - 1;
	KUNIT_EXPECT_TRUE(test, dxk_wakes_room(&wakes));
	wakes.nr++;
	KUNIT_EXPECT_FALSE(test, dxk_wakes_room(&wakes));
}

static struct kunit_case numbers_cases[] = {
	KUNIT_CASE(numbers_of_threads),
	KUNIT_CASE(numbers_of_results),
	KUNIT_CASE(numbers_of_stalls),
	KUNIT_CASE(numbers_of_states),
	KUNIT_CASE(numbers_of_spaces),
	KUNIT_CASE(numbers_of_a_hold),
	{ }
};

static struct kunit_suite numbers_suite = {
	.name = "dxk_numbers",
	.test_cases = numbers_cases,
};

kunit_test_suite(numbers_suite);
