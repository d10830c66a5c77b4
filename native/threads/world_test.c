// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What the engine asks of its world, and what the world does to it: memory that runs out,
 * signals, kicks, lock holds, and moves in the last moment. In a kernel no test can do all
 * that at will.
 */
#include <pthread.h>

#include "engine/more.h"
#include "engine/owner.h"
#include "engine/pool.h"
#include "engine/stop.h"
#include "engine/tests/keyed.h"

/* The caches, without which nothing begins. */
static void world_no_memory_for_caches(struct kunit *test)
{
	u32 nr;

	dxk_owner_exit();
	dxk_rqe_exit();
	for (nr = 1; nr <= 3; nr++) {
		os_failing = nr;
		KUNIT_EXPECT_EQ(test, dxk_rqe_init(), -ENOMEM);
		os_failing = 0;
	}
	KUNIT_ASSERT_EQ(test, dxk_rqe_init(), 0);
	os_failing = 1;
	KUNIT_EXPECT_EQ(test, dxk_owner_init(), -ENOMEM);
	KUNIT_ASSERT_EQ(test, dxk_owner_init(), 0);
}

/* A Start that has no memory for the owners' table leaves the one that is there. */
static void world_no_memory_for_start(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	const struct hlist_head *bucket = ps->e->owners.bucket;

	os_failing = 1;
	EXPECT_IS(dxk_owners_start(ps->e), -ENOMEM);
	EXPECT(ps->e->owners.bucket == bucket);
	EXPECT_IS(dxk_owners_start(ps->e), 0);
}

static void world_no_memory_for_space(struct kunit *test)
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
static void world_no_memory_for_posts(struct kunit *test)
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
	rqe = dxk_rqe_make(&ps->main->rqes, &req, NULL);
	os_failing = 1;
	EXPECT_IS(dxk_rqe_reserve_data(rqe), -ENOMEM);
	EXPECT_IS(dxk_rqe_reserve_data(rqe), 0);
	dxk_rqe_drop(ps->main, rqe);
}

/* A Start that wants free requests, and there is no memory for them. */
static void world_no_memory_for_pool(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);

	os_failing = 2;
	EXPECT_IS(dxk_pool_fill(&ps->e->pool, 50), -ENOMEM);
	EXPECT_IS(os_failing, 0);
	/* one bulk of them is there */
	EXPECT(ps->e->pool.nr > 0 && ps->e->pool.nr < 50);
	EXPECT_IS(dxk_pool_fill(&ps->e->pool, ps->e->pool.nr), 0);
}

/* The end of a request gives up what it has of the world, and of nothing else. */
static void world_releases(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_post_entry req = { };
	u32 i;

	for (i = 0; i < 4; i++) {
		u32 before = os_released;
		struct dxk_rqe *rqe;

		ASSERT_IS(dxk_client_prepare(ps->main, 1), 0);
		rqe = dxk_rqe_make(&ps->main->rqes, &req, NULL);
		rqe->exec = i & 1 ? (void *)ps : NULL;
		if (i & 2)
			dxk_more_of(ps->main, rqe)->file = (void *)ps;
		dxk_rqe_drop(ps->main, rqe);
		EXPECT_IS(os_released - before, !!i);
	}
}

/* Who is kicked is who has something to do. */
static void world_kicks(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	u32 i;

	for (i = 0; i < DXK_CONTROLS; i++) {
		memset(ps->e->dormant, 0, sizeof(ps->e->dormant));
		ps->e->dormant[i] = true;
		os_kicked = 0;
		if (i == DXK_MONITOR)
			puppet_worker(ps);
		else
			puppet_post(ps, 0, 0, 0);
		EXPECT_IS(os_kicked, BIT(i));
	}
}

/* What a caller's lock hold leaves over it does itself: a hold for each part, no kick. */
static void world_goes_on(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_policy policy = ps->e->policy;
	u32 i, taken, nr = 3 * DXK_HOLD_BUDGET - 1;

	puppet_post(ps, 0, 0, 0);
	for (i = 0; i < nr; i++)
		puppet_post(ps, 0, 0, PXR_WAITIF_BUSY);
	policy.ready_entries += nr;
	os_kicked = 0;
	taken = ps->e->lock.taken;
	dxk_enforce(ps->e, &policy);
	EXPECT_IS(ps->e->lock.taken - taken, 3);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], nr + 1);
	EXPECT_IS(os_kicked, 0);
}

/* Cancelled requests count as others do for what a lock hold of thread 700 may do. */
static void world_inbox(struct kunit *test)
{
	static const struct { u32 nr, holds; } rows[] = { { 20, 1 }, { 50, 2 } };
	struct puppets *ps = puppets_workers(test, 1);
	u32 row, i, taken;

	ps->e->cancelling = true;
	for (row = 0; row < ARRAY_SIZE(rows); row++) {
		struct dxk_list_op cancel = { };
		struct dxk_rejoin_op *r[2];

		INIT_LIST_HEAD(&cancel.ended);
		puppet_post_nr(ps, ps->main, rows[row].nr, 8, 0);
		for (i = 0; i < 2; i++) {
			r[i] = puppet_poller(ps, ps->main, 8, 1, 0);
			puppet_publish(ps, &r[i]->op, dxk_rejoin_run);
			if (!i)
				puppet_publish(ps, &cancel.op, dxk_cancel_some_run);
		}
		taken = ps->e->lock.taken;
		dxk_inbox_run(ps->e);
		EXPECT_IS(ps->e->lock.taken - taken, rows[row].holds);
		EXPECT_IS(r[0]->answer, RJR_NONE_READY);
		EXPECT_IS(r[1]->answer, RJR_NONE_EXIST);
		dxk_rqe_drop_all(NULL, &cancel.ended);
	}
}

struct poll {
	struct puppets *ps;
	u32 answer;
	bool over;
};

static void *polls(void *arg)
{
	struct poll *poll = arg;
	struct dxk_rejoin_op r = { .m = poll->ps->main, .cookie = 8, .max = 1, .min = 1 };

	dxk_client_rejoin(&r, 0);
	poll->answer = r.answer;
	WRITE_ONCE(poll->over, true);
	return NULL;
}

/* Under dispatch=thread nobody but thread 700 makes moves. */
static void world_publishes(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct poll poll = { .ps = ps };
	pthread_t thread;

	WRITE_ONCE(ps->e->direct, false);
	EXPECT_IS(pthread_create(&thread, NULL, polls, &poll), 0);
	while (!READ_ONCE(ps->e->inbox.first) && !READ_ONCE(poll.over))
		os_yield();
	EXPECT_IS(ps->e->stats.rejoin_none_exist, 0);
	dxk_inbox_run(ps->e);
	pthread_join(thread, NULL);
	EXPECT_IS(poll.answer, RJR_NONE_EXIST);
	WRITE_ONCE(ps->e->direct, true);
}

static void complete(void *arg)
{
	struct puppets *ps = arg;

	puppet_end(ps, ps->member[1], 0, 0);
}

/* A move in the last moment wins over the deadline, and calls nobody to look. */
static void world_last_moment(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r;

	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_work(ps, worker);
	r = puppet_rejoin(ps, ps->main, 8, 1, 1);
	ps->e->dormant[DXK_MONITOR] = true;
	os_late_arg = ps;
	os_late = complete;
	EXPECT_IS(dxk_waiter_sleep(ps->e, &r->w, 1), 0);
	EXPECT_IS(r->answer, RJR_RETURNED);
	EXPECT(ps->e->dormant[DXK_MONITOR]);
}

static u32 resting;

static void count_resting(void *arg)
{
	struct puppets *ps = arg;

	resting = ps->e->crew.resting;
}

/* A worker that sleeps in SHOULD_STOP rests, but for one of the kernel that has a deadline. */
static void world_rests(struct kunit *test)
{
	static const struct { u32 kind; u64 deadline; bool rests; } rows[] = {
		{ DXK_USER, 1, true }, { DXK_USER, DXK_FOREVER, true },
		{ DXK_KERNEL, 1, false }, { DXK_KERNEL, DXK_FOREVER, true },
	};
	struct puppets *ps = puppets_workers(test, 1);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dxk_member *m = puppet_member(ps, DXK_ROLE_WORKER, rows[i].kind, false);

		puppet_post_nr(ps, ps->main, 1, 8, rows[i].kind == DXK_KERNEL ? PXR_KERNEL : 0);
		puppet_work(ps, m);
		resting = 7;
		os_late_arg = ps;
		os_late = count_resting;
		if (rows[i].deadline == DXK_FOREVER)
			os_interrupt(os_self());
		EXPECT_IS(dxk_should_wait(m, rows[i].deadline),
			  rows[i].deadline == DXK_FOREVER ? -ERESTARTSYS : 0);
		EXPECT_IS(resting, rows[i].rests);
		EXPECT(!m->should);
		EXPECT_IS(ps->e->crew.resting, 0);
		puppet_dies(ps, m);
	}
}

/* The last one that rests has the Monitor look. */
static void world_rest_is_told(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };

	puppet_post(ps, 8, 0, 0);
	puppet_work(ps, m[0]);
	puppet_parent(ps, m[1], 10);
	os_kicked = 0;
	dxk_rest(m[0], true);
	EXPECT_IS(os_kicked, BIT(DXK_MONITOR));
	dxk_rest(m[0], false);
	EXPECT_IS(ps->e->crew.resting, 0);
}

/* A signal ends each sleep, and its call says so. */
static void world_signals(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_post_entry req = { .owner = 8, .attrs = PXR_WAITIF_BUSY };
	struct dxk_rejoin_op r = { .m = ps->main, .cookie = 8, .max = 1, .min = 1, .wait = true };
	struct dxk_post_op p = { .m = ps->main };
	struct dxk_next_op n = { .m = worker, .max = 1 };
	u32 workers = 7, spares = 7;

	INIT_LIST_HEAD(&n.done);
	os_interrupt(os_self());
	EXPECT_IS(dxk_next(&n, DXK_FOREVER), -ERESTARTSYS);
	puppet_post(ps, 8, 0, PXR_REJOIN);
	os_interrupt(os_self());
	EXPECT_IS(dxk_client_rejoin(&r, DXK_FOREVER), -ERESTARTSYS);
	ASSERT_IS(dxk_client_begin(&p, 1), 0);
	list_add_tail(&dxk_rqe_make(&ps->main->rqes, &req, NULL)->link, &p.rqes);
	os_interrupt(os_self());
	EXPECT_IS(dxk_client_post(&p, DXK_FOREVER), -ERESTARTSYS);
	dxk_rqe_drop_all(ps->main, &p.rqes);
	ps->e->policy.max_threads = 1;
	os_interrupt(os_self());
	EXPECT_IS(dxk_crew_wait(ps->e, DXK_FOREVER, &workers, &spares), -ERESTARTSYS);
	EXPECT(workers == 7 && spares == 7);
	puppet_work(ps, worker);
	os_interrupt(os_self());
	EXPECT_IS(dxk_should_wait(worker, DXK_FOREVER), -ERESTARTSYS);
	ps->e->run.gen++;
	os_interrupt(os_self());
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, false, DXK_FOREVER), -ERESTARTSYS);
}

/* The reason of a post that was taken is none, whatever was there. */
static void world_reason(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 2);
	struct dxk_post_entry req = { .owner = 8 };
	struct dxk_post_op p = { .m = ps->main };

	/* from its second post on a client's are usual */
	puppet_post(ps, 8, 0, 0);
	ASSERT_IS(dxk_client_begin(&p, 1), 0);
	/* of an earlier post with the same */
	p.reason = 7;
	list_add_tail(&dxk_rqe_make(&ps->main->rqes, &req, NULL)->link, &p.rqes);
	EXPECT_IS(dxk_client_post(&p, 0), 1);
	EXPECT_IS(p.reason, 0);
}

/* The Monitor, which rests, is kicked once for free requests that it has to look after. */
static void world_kicks_for_the_pool(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_rqe *rqe[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		EXPECT_IS(dxk_rqe_stash_fill(ps->main, DXK_STASH_MAX), 0);
		rqe[i] = dxk_stash_pop(&ps->main->rqes);
		rqe[i]->exec = NULL;
		rqe[i]->embedded = DXK_POOLED;
		rqe[i]->more = NULL;
		rqe[i]->data = NULL;
	}
	EXPECT(!dxk_pool_review(&ps->e->pool, 0));
	os_kicked = 0;
	/* there is room for it */
	dxk_rqe_drop(ps->main, rqe[0]);
	EXPECT_IS(ps->main->rqes.nr, DXK_STASH_MAX);
	EXPECT_IS(os_kicked, 0);
	dxk_rqe_drop(ps->main, rqe[1]);
	EXPECT_IS(os_kicked, BIT(DXK_MONITOR));
	os_kicked = 0;
	EXPECT_IS(dxk_rqe_stash_fill(ps->main, DXK_STASH_MAX), 0);
	dxk_pool_give(&ps->e->pool, &ps->main->rqes, 1);
	EXPECT_IS(os_kicked, 0);
}

/* Y-2: a search for a circle that has too little stack gives up, and the Monitor is to look. */
static void world_stack_is_low(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(2);
	struct puppets *ps = keyed_start(test, &policy, 2);
	struct dxk_rejoin_op *r;
	u64 key;
	u32 i;

	/* by way of an owner, and of a key */
	for (key = 0; key < 2; key++) {
		keyed_send(ps, ps->main, 1, 2 * key + 1, 0);
		puppet_work(ps, keyed_worker(ps, 0));
		keyed_send(ps, ps->main, 2 - key, 2 * key + 2, 0);
		if (!key) {
			puppet_work(ps, keyed_worker(ps, 1));
			r = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
			EXPECT(ASLEEP(r));
		}
		for (i = 0; i < 2; i++) {
			os_deep = i;
			r = keyed_call(ps, keyed_worker(ps, 0), 2 * key + 2, 1, false, false);
			os_deep = false;
			EXPECT_IS(ps->e->waits.unsure, i);
			if (!i)
				EXPECT_IS(r->err, -EDEADLK);
		}
		EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
		ps->e->waits.unsure = false;
		puppet_end(ps, keyed_worker(ps, 0), 0, 0);
		if (key)
			puppet_work(ps, keyed_worker(ps, 1));
		puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	}
	keyed_end(ps);
}

static struct kunit_case world_cases[] = {
	KUNIT_CASE(world_no_memory_for_caches),
	KUNIT_CASE(world_no_memory_for_start),
	KUNIT_CASE(world_no_memory_for_space),
	KUNIT_CASE(world_no_memory_for_posts),
	KUNIT_CASE(world_no_memory_for_pool),
	KUNIT_CASE(world_releases),
	KUNIT_CASE(world_kicks),
	KUNIT_CASE(world_goes_on),
	KUNIT_CASE(world_inbox),
	KUNIT_CASE(world_publishes),
	KUNIT_CASE(world_last_moment),
	KUNIT_CASE(world_rests),
	KUNIT_CASE(world_rest_is_told),
	KUNIT_CASE(world_signals),
	KUNIT_CASE(world_reason),
	KUNIT_CASE(world_kicks_for_the_pool),
	KUNIT_CASE(world_stack_is_low),
	{ }
};

static struct kunit_suite world_suite = {
	.name = "native_world",
	.exit = puppets_end,
	.test_cases = world_cases,
};

kunit_test_suite(world_suite);
