// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * What is told of keys.
 */
#include "engine/cancel.h"
#include "engine/key.h"
#include "engine/key_call.h"
#include "engine/keys.h"
#include "engine/tests/keyed.h"

#define OWNER		1
#define KEY		77

static struct dxk_key_seen seen(struct puppets *ps)
{
	struct dxk_key_seen key[2];

	KUNIT_ASSERT_EQ(ps->test, dxk_keys_look(ps->e, key, 2), 1);
	KUNIT_EXPECT_EQ(ps->test, key[0].key, KEY);
	KUNIT_EXPECT_EQ(ps->test, key[0].space, ps->main->space->id);
	return key[0];
}

/* The worker takes and ends all that there is. */
static void all_end(struct puppets *ps, struct dxk_member *m)
{
	while (ps->e->nr[DXK_AT_READY]) {
		puppet_work(ps, m);
		puppet_end(ps, m, 0, 0);
	}
	keyed_end(ps);
}

/* Who has it, how many wait for it; nothing of one that nobody knows any more. */
static void keys_seen(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(8);
	struct puppets *ps = keyed_start(test, &policy, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_key_seen key;

	EXPECT_IS(dxk_keys_look(ps->e, &key, 1), 0);
	keyed_send(ps, ps->main, KEY, OWNER, 0);
	keyed_send(ps, ps->main, KEY, OWNER + 1, 0);
	key = seen(ps);
	EXPECT(key.taken);
	EXPECT_IS(key.worker, 0);
	EXPECT_IS(key.owner, OWNER);
	EXPECT_IS(key.attrs, PXR_REJOIN | PXR_KEY);
	puppet_work(ps, m);
	key = seen(ps);
	EXPECT_IS(key.worker, m->id);
	EXPECT_IS(key.users, 2);
	EXPECT_IS(key.held, 1);
	EXPECT(!key.suspended);
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY, true), 0);
	key = seen(ps);
	EXPECT(key.suspended);
	EXPECT(key.refuses);
	EXPECT_IS(keyed_anybody(ps, dxk_key_release_run, KEY, false), 0);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(seen(ps).owner, OWNER + 1);
	puppet_work(ps, m);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(dxk_keys_look(ps->e, &key, 1), 0);
	all_end(ps, m);
}

/* No more than there is room for, of any number. */
static void keys_many(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(8);
	struct puppets *ps = keyed_start(test, &policy, 1);
	struct dxk_key_seen key[6];
	u32 i;

	for (i = 0; i < 6; i++)
		keyed_send(ps, ps->main, KEY + i, OWNER, 0);
	key[5].key = 0;
	EXPECT_IS(dxk_keys_look(ps->e, key, 5), 5);
	EXPECT_IS(key[5].key, 0);
	EXPECT_IS(dxk_keys_look(ps->e, key, 6), 6);
	all_end(ps, keyed_worker(ps, 0));
}

/* The hash has many buckets: so many are looked at in each of many lock holds, and all of them. */
static void keys_of_many_buckets(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(8);
	struct puppets *ps = keyed_start(test, &policy, 1);
	struct dxk_key_seen key[16];
	u32 i;

	EXPECT(1U << ps->e->waits.bits > DXK_HOLD_STEPS);
	for (i = 0; i < ARRAY_SIZE(key) - 1; i++)
		keyed_send(ps, ps->main, KEY + i, OWNER, 0);
	EXPECT_IS(dxk_keys_look(ps->e, key, ARRAY_SIZE(key)), ARRAY_SIZE(key) - 1);
	/* those of the last hold */
	EXPECT_IS(ps->e->steps, OS_DEBUG ? 128 : 0);
	all_end(ps, keyed_worker(ps, 0));
}

static struct kunit_case keys_cases[] = {
	KUNIT_CASE(keys_seen),
	KUNIT_CASE(keys_many),
	KUNIT_CASE(keys_of_many_buckets),
	{}
};

static struct kunit_suite keys_suite = {
	.name = "dxk_keys",
	.exit = puppets_end,
	.test_cases = keys_cases,
};
kunit_test_suite(keys_suite);
