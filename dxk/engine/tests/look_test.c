// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * What is told of the requests that are Ready: each once, in holds of a bounded size.
 */
#include "engine/look.h"
#include "engine/tests/puppet.h"

#define OWNER	1
#define MOST	512

/* All that there is. Return: how many; @more: how many of them say that there are more. */
static u32 look(struct puppets *ps, struct dxk_request_info *all, u32 *more)
{
	u32 place = 0, nr = 0, got, i;

	*more = 0;
	do {
		KUNIT_ASSERT_LT(ps->test, nr + DXK_LOOK_MAX, MOST + 1U);
		got = dxk_ready_look(ps->e, &place, all + nr);
		KUNIT_ASSERT_LT(ps->test, got, DXK_LOOK_MAX + 1U);
		for (i = nr; i < nr + got; i++)
			*more += all[i].flags == DXK_REQUEST_MORE;
		nr += got;
	} while (place);
	return nr;
}

static struct dxk_request_info *room(struct kunit *test)
{
	struct dxk_request_info *all = kunit_kzalloc(test, MOST * sizeof(*all), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, all);
	return all;
}

/* Each once, be it in a row or in a tree, with what it is. */
static void look_all(struct kunit *test)
{
	static const u32 attrs[] = { 0, PXR_BOOST, PXR_LANE0, PXR_LANE1 | PXR_REJOIN };
	struct puppets *ps = puppets_entries(test, 200);
	struct dxk_request_info *all = room(test);
	u32 i, j, nr, more;

	EXPECT_IS(look(ps, all, &more), 0);
	for (i = 0; i < 160; i++)
		puppet_post(ps, OWNER + i, (i % 5) * 1000 + i % 3, attrs[i % 4]);
	dxk_ready_tick(&ps->e->ready, true, true, 10);
	nr = look(ps, all, &more);
	EXPECT_IS(nr, 160);
	EXPECT_IS(more, 0);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 160);
	for (i = 0; i < nr; i++) {
		const struct dxk_request_info *r = &all[i];

		j = r->owner - OWNER;
		KUNIT_ASSERT_LT(test, j, 160U);
		EXPECT_IS(r->state, (u32)DXK_REQUEST_READY);
		EXPECT_IS(r->attrs, attrs[j % 4]);
		EXPECT_IS(r->prio, (s32)((j % 5) * 1000 + j % 3) + (j % 4 == 1 ? 11 : 1));
		EXPECT_IS(r->inspect_count, 1U);
		EXPECT_IS(r->posted_ns, 0ULL);
		for (j = 0; j < i; j++)
			EXPECT(all[j].number != r->number);
	}
}

/* Of many that are equal the first ones, and that there are more. */
static void look_equal(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 200);
	struct dxk_request_info *all = room(test);
	u32 i, more, begun = 0;

	for (i = 0; i < DXK_LOOK_MAX; i++)
		puppet_post(ps, OWNER, 0, 0);
	EXPECT_IS(look(ps, all, &more), DXK_LOOK_MAX);
	EXPECT_IS(more, 0);
	puppet_post(ps, OWNER, 0, 0);
	puppet_post(ps, OWNER, -1000, 0);
	EXPECT_IS(look(ps, all, &more), DXK_LOOK_MAX + 1);
	EXPECT_IS(more, 1);
	EXPECT_IS(all[DXK_LOOK_MAX - 1].flags, DXK_REQUEST_MORE);
	for (i = 1; i < DXK_LOOK_MAX; i++)
		EXPECT(all[i].number == all[i - 1].number + 1);
	/* a place that is full begins a hold of its own */
	for (i = 0; i < 10; i++)
		puppet_post(ps, OWNER, 0, PXR_LANE0);
	EXPECT_IS(dxk_ready_look(ps->e, &begun, all), 10);
	EXPECT_IS(dxk_ready_look(ps->e, &begun, all), DXK_LOOK_MAX);
	EXPECT_IS(dxk_ready_look(ps->e, &begun, all), 1);
	EXPECT_IS(begun, 0);
}

/* Any number is a place. */
static void look_anywhere(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 8);
	struct dxk_request_info *all = room(test);
	u32 place, begun;

	puppet_post(ps, OWNER, 0, 0);
	for (place = 0; place < 10000; place++) {
		begun = place;
		EXPECT(dxk_ready_look(ps->e, &begun, all) <= 1);
		EXPECT_IS(begun, 0);
	}
	begun = U32_MAX;
	EXPECT_IS(dxk_ready_look(ps->e, &begun, all), 0);
	EXPECT_IS(begun, 0);
}

static struct kunit_case look_cases[] = {
	KUNIT_CASE(look_all),
	KUNIT_CASE(look_equal),
	KUNIT_CASE(look_anywhere),
	{ }
};

static struct kunit_suite look_suite = {
	.name = "dxk_look",
	.exit = puppets_end,
	.test_cases = look_cases,
};

kunit_test_suite(look_suite);
