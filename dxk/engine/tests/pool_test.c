// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The free requests of a context: who takes and gives them, and what stays.
 */
#include <kunit/test.h>

#include "engine/more.h"
#include "engine/pool.h"
#include "engine/request.h"
#include "engine/tests/puppet.h"

/* Enough for more than one bulk. */
#define MANY	200

/* Long enough ago. */
static void pool_was_idle(struct dxk_free_pool *pool)
{
	pool->since = os_now() - 60 * NSEC_PER_SEC;
}

/* DX-10: what was made is there for posts, half a stash of it at a time at least. */
static void pool_serves_stashes(struct kunit *test)
{
	static const struct dxk_post_entry entry = { .owner = 1 };
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_free_pool *pool = &ps->e->pool;
	struct dxk_stash *stash = &ps->main->rqes;
	u32 had;

	EXPECT_IS(dxk_pool_fill(pool, MANY), 0);
	had = pool->nr;
	EXPECT(had >= MANY);
	EXPECT_IS(dxk_pool_fill(pool, had), 0);
	EXPECT_IS(pool->nr, had);
	EXPECT_IS(dxk_rqe_stash_fill(ps->main, 1), 0);
	EXPECT_IS(stash->nr, DXK_STASH_MAX / 2);
	EXPECT_IS(pool->nr, had - DXK_STASH_MAX / 2);
	/* enough: it stays as it is, if there is less than half as well */
	dxk_rqe_drop(NULL, dxk_rqe_make(stash, &entry, NULL));
	EXPECT_IS(dxk_rqe_stash_fill(ps->main, DXK_STASH_MAX / 2 - 1), 0);
	EXPECT_IS(stash->nr, DXK_STASH_MAX / 2 - 1);
	EXPECT_IS(pool->nr, had - DXK_STASH_MAX / 2);
	had--;
	EXPECT_IS(dxk_rqe_stash_fill(ps->main, DXK_STASH_MAX / 2), 0);
	EXPECT_IS(stash->nr, DXK_STASH_MAX / 2);
	EXPECT_IS(dxk_rqe_stash_fill(ps->main, DXK_STASH_MAX / 2), 0);
	EXPECT_IS(pool->nr, had - DXK_STASH_MAX / 2);
	EXPECT_IS(dxk_rqe_stash_fill(ps->main, DXK_STASH_MAX), 0);
	EXPECT_IS(stash->nr, DXK_STASH_MAX);
	EXPECT_IS(pool->nr, had - DXK_STASH_MAX);
	/* fewer than are wanted: the others are allocated */
	dxk_rqe_stash_free(stash);
	dxk_pool_trim(pool, 3);
	EXPECT_IS(pool->nr, 3);
	EXPECT_IS(dxk_rqe_stash_fill(ps->main, 5), 0);
	EXPECT_IS(stash->nr, 5);
	EXPECT_IS(pool->nr, 0);
	EXPECT(!pool->free);
}

/* A stash that is full gives half of it to the pool, which takes no more than it may. */
static void pool_takes_back(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_free_pool *pool = &ps->e->pool;
	struct dxk_stash *stash = &ps->main->rqes;
	struct dxk_rqe *rqe;
	u32 i, half = DXK_STASH_MAX / 2;

	for (i = 0; i < 4; i++) {
		EXPECT_IS(dxk_rqe_stash_fill(ps->main, DXK_STASH_MAX), 0);
		EXPECT_IS(pool->nr, 0);
		rqe = dxk_stash_pop(stash);
		rqe->exec = NULL;
		rqe->embedded = DXK_POOLED;
		rqe->more = NULL;
		rqe->data = NULL;
		dxk_rqe_drop(ps->main, rqe);
		EXPECT_IS(stash->nr, DXK_STASH_MAX);
		EXPECT_IS(pool->nr, 0);
		rqe = dxk_stash_pop(stash);
		EXPECT_IS(dxk_rqe_stash_fill(ps->main, DXK_STASH_MAX), 0);
		dxk_rqe_drop(ps->main, rqe);
		EXPECT_IS(stash->nr, half + 1);
		EXPECT_IS(pool->nr, half);
		dxk_pool_give(pool, stash, half + 1);
		EXPECT_IS(stash->nr, 0);
		EXPECT_IS(pool->nr, OS_DEBUG ? DXK_BATCH_MAX : DXK_STASH_MAX + 1);
		dxk_pool_trim(pool, 0);
	}
}

/* The Monitor frees what nobody has needed for a while, and no more than that. */
static void pool_is_trimmed(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_free_pool *pool = &ps->e->pool;
	u32 had;

	EXPECT(!dxk_pool_review(pool, 0));
	EXPECT_IS(dxk_pool_fill(pool, MANY), 0);
	had = pool->nr;
	/* no more than is kept: nothing to come back for */
	EXPECT(!dxk_pool_review(pool, had));
	/* all were needed: none of them was there before */
	pool_was_idle(pool);
	EXPECT(dxk_pool_review(pool, 10));
	EXPECT_IS(pool->nr, had);
	/* not yet */
	EXPECT(dxk_pool_review(pool, 10));
	EXPECT_IS(pool->nr, had);
	/* half a stash is taken, and given back: the others are idle */
	EXPECT_IS(dxk_rqe_stash_fill(ps->main, 1), 0);
	EXPECT_IS(pool->least, had - DXK_STASH_MAX / 2);
	dxk_pool_trim(pool, had - DXK_STASH_MAX);
	EXPECT_IS(pool->least, had - DXK_STASH_MAX);
	EXPECT_IS(dxk_pool_fill(pool, had - DXK_STASH_MAX + 1), 0);
	EXPECT(pool->nr > had - DXK_STASH_MAX);
	pool_was_idle(pool);
	EXPECT(dxk_pool_review(pool, 10));
	EXPECT_IS(pool->nr, DXK_STASH_MAX / 2);
	/* some stay however long */
	pool_was_idle(pool);
	EXPECT(!dxk_pool_review(pool, 10));
	EXPECT_IS(pool->nr, 10);
	pool_was_idle(pool);
	EXPECT(!dxk_pool_review(pool, 10));
	EXPECT_IS(pool->nr, 10);
	EXPECT(!dxk_pool_review(pool, 11));
}

/* A Monitor that has nothing to review is told of what comes then, once. */
static void pool_tells_the_monitor(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_free_pool *pool = &ps->e->pool;
	struct dxk_stash *stash = &ps->main->rqes;
	u32 round;

	for (round = 0; round < 3; round++) {
		EXPECT_IS(dxk_rqe_stash_fill(ps->main, 20), 0);
		/* it looks */
		EXPECT(!dxk_pool_give(pool, stash, 2));
		EXPECT(!dxk_pool_review(pool, 10));
		/* these stay in any case */
		EXPECT(!dxk_pool_give(pool, stash, 8));
		EXPECT_IS(pool->nr, 10);
		EXPECT(dxk_pool_give(pool, stash, 1));
		EXPECT(!dxk_pool_give(pool, stash, 1));
		EXPECT(dxk_pool_review(pool, 10));
		EXPECT(!dxk_pool_give(pool, stash, 1));
		/* it looks until there is nothing more to free */
		pool_was_idle(pool);
		EXPECT(dxk_pool_review(pool, 0));
		pool_was_idle(pool);
		EXPECT(!dxk_pool_review(pool, 0));
		EXPECT_IS(pool->nr, 0);
		EXPECT(dxk_pool_give(pool, stash, 1));
		dxk_pool_close(pool);
		dxk_pool_open(pool);
	}
}

/* Where no Monitor runs, nothing is kept. */
static void pool_is_closed(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_free_pool *pool = &ps->e->pool;
	struct dxk_stash *stash = &ps->main->rqes;

	EXPECT_IS(dxk_rqe_stash_fill(ps->main, 20), 0);
	EXPECT(!dxk_pool_give(pool, stash, 5));
	EXPECT(!dxk_pool_review(pool, 5));
	dxk_pool_close(pool);
	EXPECT_IS(pool->nr, 0);
	EXPECT(!dxk_pool_give(pool, stash, 10));
	EXPECT_IS(pool->nr, 0);
	EXPECT_IS(stash->nr, 20 - 15);
	dxk_pool_open(pool);
	EXPECT(!dxk_pool_give(pool, stash, 5));
	EXPECT_IS(pool->nr, 5);
}

/* What the policy wants to stay, but not more than there may be. */
static void pool_keeps_what_is_wanted(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_policy policy = puppet_policy(1);

	policy.prealloc_requests = 7;
	policy.max_requests = 9;
	EXPECT_IS(dxk_pool_keep(&policy), 7);
	policy.max_requests = 5;
	EXPECT_IS(dxk_pool_keep(&policy), 5);
}

/* The Monitor comes back if either pool has what it may free later. */
static void pool_of_either(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_engine *e = ps->e;

	e->policy.prealloc_requests = 0;
	EXPECT(!dxk_pools_review(e));
	EXPECT_IS(dxk_pool_fill(&e->mores, 1), 0);
	EXPECT(dxk_pools_review(e));
	dxk_pool_trim(&e->mores, 0);
	EXPECT(!dxk_pools_review(e));
	EXPECT_IS(dxk_pool_fill(&e->pool, 1), 0);
	EXPECT(dxk_pools_review(e));
}

/* What requests have more goes the same way: it is made once, and of what an earlier one left. */
static void pool_of_mores(struct kunit *test)
{
	static const struct dxk_post_entry entry = { .owner = 1 };
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *m = ps->main, *other = puppet_client(ps);
	struct dxk_more *more = NULL;
	struct dxk_rqe *rqe;
	u32 i, nr;

	for (i = 0; i < 3; i++) {
		ASSERT_IS(dxk_rqe_stash_fill(m, 1), 0);
		rqe = dxk_rqe_make(&m->rqes, &entry, NULL);
		EXPECT(dxk_more_of(m, rqe));
		EXPECT(dxk_more_of(m, rqe) == rqe->more);
		EXPECT(!more || rqe->more == more);
		more = rqe->more;
		EXPECT_IS(more->expire, DXK_FOREVER);
		EXPECT(!more->named);
		more->expire = 1;
		more->named = true;
		nr = m->mores->nr;
		dxk_rqe_drop(m, rqe);
		EXPECT_IS(m->mores->nr, nr + 1);
	}
	/* half of a stash that is full is for other members */
	while (m->mores->nr < DXK_STASH_MAX) {
		ASSERT_IS(dxk_rqe_stash_fill(m, 1), 0);
		rqe = dxk_rqe_make(&m->rqes, &entry, NULL);
		EXPECT(dxk_more_of(other, rqe));
		dxk_rqe_drop(m, rqe);
	}
	EXPECT_IS(ps->e->mores.nr, 0);
	rqe = dxk_rqe_make(&m->rqes, &entry, NULL);
	EXPECT(dxk_more_of(other, rqe));
	dxk_rqe_drop(m, rqe);
	EXPECT_IS(m->mores->nr, DXK_STASH_MAX / 2 + 1);
	EXPECT_IS(ps->e->mores.nr, DXK_STASH_MAX / 2);
	dxk_more_stash_free(other);
	rqe = dxk_rqe_make(&m->rqes, &entry, NULL);
	EXPECT(dxk_more_of(other, rqe));
	EXPECT_IS(ps->e->mores.nr, 0);
	dxk_rqe_drop(m, rqe);
	/* the policy keeps none of them */
	EXPECT_IS(dxk_pool_fill(&ps->e->mores, 1), 0);
	ps->e->mores.since = os_now() - 60 * NSEC_PER_SEC;
	ps->e->mores.least = ps->e->mores.nr;
	EXPECT(!dxk_pools_review(ps->e));
	EXPECT_IS(ps->e->mores.nr, 0);
}

static struct kunit_case pool_cases[] = {
	KUNIT_CASE(pool_serves_stashes),
	KUNIT_CASE(pool_takes_back),
	KUNIT_CASE(pool_is_trimmed),
	KUNIT_CASE(pool_tells_the_monitor),
	KUNIT_CASE(pool_is_closed),
	KUNIT_CASE(pool_keeps_what_is_wanted),
	KUNIT_CASE(pool_of_either),
	KUNIT_CASE(pool_of_mores),
	{ }
};

static struct kunit_suite pool_suite = {
	.name = "dxk_pool",
	.exit = puppets_end,
	.test_cases = pool_cases,
};

kunit_test_suite(pool_suite);
