// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Memory that runs out: whatever asks for some says so, has changed nothing, and can be
 * done again. And what requests hold besides memory.
 */
#include "engine/owner.h"
#include "engine/tests/puppet.h"

/* The caches, without which nothing begins. */
static void memory_caches(struct kunit *test)
{
	dxk_owner_exit();
	dxk_rqe_exit();
	os_failing = 1;
	KUNIT_EXPECT_EQ(test, dxk_rqe_init(), -ENOMEM);
	KUNIT_ASSERT_EQ(test, dxk_rqe_init(), 0);
	os_failing = 1;
	KUNIT_EXPECT_EQ(test, dxk_owner_init(), -ENOMEM);
	KUNIT_ASSERT_EQ(test, dxk_owner_init(), 0);
}

/* A Start that has no memory for the owners' table leaves the one that is there. */
static void memory_start(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	const struct hlist_head *bucket = ps->e->owners.bucket;

	os_failing = 1;
	EXPECT_IS(dxk_owners_start(ps->e), -ENOMEM);
	EXPECT(ps->e->owners.bucket == bucket);
	EXPECT_IS(dxk_owners_start(ps->e), 0);
}

static void memory_space(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_space *space;

	os_failing = 1;
	space = dxk_space_new(ps->e);
	EXPECT_IS(PTR_ERR(space), -ENOMEM);
	space = dxk_space_new(ps->e);
	KUNIT_ASSERT_TRUE(test, !IS_ERR(space));
	dxk_space_leave(ps->e, space);
}

/* A post has what it may take before it takes the first thing. */
static void memory_posts(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_post_op p = { .m = ps->main };
	struct dxk_post_entry req = { .data_len = 5 };
	struct dxk_rqe *rqe;
	u32 nr;

	for (nr = 1; nr <= 2; nr++) {
		os_failing = nr;
		EXPECT_IS(dxk_client_begin(&p, nr), -ENOMEM);
		EXPECT_IS(os_failing, 0);
		EXPECT_IS(ps->main->rqes.nr, nr == 1 ? 0 : nr);
		EXPECT_IS(ps->main->owners.nr, 0);
	}
	ASSERT_IS(dxk_client_begin(&p, 2), 0);
	rqe = dxk_rqe_make(&ps->main->rqes, &req, NULL, NULL);
	os_failing = 1;
	EXPECT_IS(dxk_rqe_reserve_data(rqe), -ENOMEM);
	EXPECT_IS(dxk_rqe_reserve_data(rqe), 0);
	dxk_rqe_drop(ps->main, rqe);
}

/* The end of a request gives up what it has of the world, and of nothing else. */
static void memory_holds(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_post_entry req = { };
	u32 i;

	for (i = 0; i < 4; i++) {
		u32 before = os_released;
		struct dxk_rqe *rqe;

		ASSERT_IS(dxk_client_prepare(ps->main, 1), 0);
		rqe = dxk_rqe_make(&ps->main->rqes, &req, NULL, NULL);
		rqe->exec = i & 1 ? (void *)ps : NULL;
		rqe->file = i & 2 ? (void *)ps : NULL;
		dxk_rqe_drop(ps->main, rqe);
		EXPECT_IS(os_released - before, !!i);
	}
}

static struct kunit_case memory_cases[] = {
	KUNIT_CASE(memory_caches),
	KUNIT_CASE(memory_start),
	KUNIT_CASE(memory_space),
	KUNIT_CASE(memory_posts),
	KUNIT_CASE(memory_holds),
	{ }
};

static struct kunit_suite memory_suite = {
	.name = "native_memory",
	.exit = puppets_end,
	.test_cases = memory_cases,
};

kunit_test_suite(memory_suite);
