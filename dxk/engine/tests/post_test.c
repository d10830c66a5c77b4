// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Posts: what a request is made of, what refuses it, and the blocking points.
 */
#include "engine/tests/puppet.h"
#include "engine/turn.h"

#define WAIT	PXR_WAITIF_BUSY

/* DX-13, DX-37, DX-41, DX-47, DX-78: point 1, with and without the flag */
static void post_pool_full(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 2);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_engine *e = ps->e;
	struct dxk_post_op *p;

	puppet_taken(ps, puppet_post_nr(ps, ps->main, 2, 0, 0), 2);
	EXPECT_IS(e->stats.posts, 2);
	puppet_refused(ps, 0, -EAGAIN, PXR_POOL_FULL);
	/* lanes mean nothing without CMLS: it is the pool that is full */
	puppet_refused(ps, PXR_LANE1, -EAGAIN, PXR_POOL_FULL);

	p = puppet_post(ps, 0, 0, WAIT);
	EXPECT(ASLEEP(p));
	EXPECT_IS(e->stats.post_blocks, 1);
	EXPECT_IS(dxk_member_state(ps->main), DXK_M_POSTING);
	EXPECT_IS(e->crew.clients_asleep, 1);
	EXPECT_IS(e->ready.asleep[3], 1);

	/* the entry is free before the request is executed */
	puppet_turn(ps, worker, 1);
	EXPECT_IS(ps->woken, 2);
	puppet_taken(ps, p, 1);
	EXPECT_IS(e->nr[DXK_AT_READY], 2);
	EXPECT_IS(e->high[DXK_AT_READY], 2);
	EXPECT_IS(e->crew.clients_asleep, 0);
	EXPECT_IS(e->ready.asleep[3], 0);
}

/* A worker executes a request that was posted by whom; and posts one. Return: as fetched. */
static struct dxk_rqe *post_child(struct puppets *ps, struct dxk_member *m)
{
	struct dxk_post_op *p = puppet_poster(ps, m);

	puppet_add(ps, p, 0, 0, PXR_LANE_CHILD);
	puppet_posts(ps, p);
	puppet_taken(ps, p, 1);
	return puppet_work(ps, puppet_worker(ps));
}

/* DX-76: each level comes to the lane below, the last one stays in lane 3 */
static void post_lane_child(struct kunit *test)
{
	static const u32 bits[] = { PXR_LANE1, PXR_LANE2, 0, 0 };
	struct puppets *ps = puppets_cmls(test, 10);
	struct dxk_member *poster = ps->main;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		struct dxk_rqe *rqe = post_child(ps, poster);

		EXPECT_IS(rqe->lane, min(i + 1, 3U));
		EXPECT_IS(rqe->attrs, PXR_LANE_CHILD | bits[i]);
		poster = ps->member[ps->nr_members - 1];
	}
	/* without a bit: lane 3, and so are its children */
	puppet_post(ps, 0, 0, PXR_LANE3);
	poster = puppet_worker(ps);
	EXPECT_IS(puppet_work(ps, poster)->lane, 3);
	EXPECT_IS(post_child(ps, poster)->lane, 3);
}

/* DX-76: of several that a worker executes the newest one posts */
static void post_lane_child_of_newest(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *poster = puppet_worker(ps);
	struct dxk_post_op *p;

	puppet_post(ps, 0, 0, PXR_LANE3);
	EXPECT_IS(puppet_work(ps, poster)->lane, 3);
	puppet_post(ps, 0, 0, PXR_LANE0);
	EXPECT_IS(puppet_work(ps, poster)->lane, 0);
	p = puppet_poster(ps, poster);
	puppet_add(ps, p, 0, 0, PXR_LANE_CHILD);
	EXPECT_IS(list_first_entry(&p->rqes, struct dxk_rqe, link)->lane, 1);
	puppet_posts(ps, p);
	puppet_taken(ps, p, 1);
}

/* DX-38, DX-46, DX-68, DX-69, DX-72: point 2, though entries are free */
static void post_lane_full(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 10);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_post_op *p;

	puppet_refused(ps, PXR_LANE0, -EPERM, PXR_LANE_CLOSED);
	puppet_refused(ps, PXR_LANE0 | WAIT, -EPERM, PXR_LANE_CLOSED);
	puppet_post_nr(ps, ps->main, 2, 0, PXR_LANE1);
	puppet_refused(ps, PXR_LANE1, -EAGAIN, PXR_LANE_FULL);
	puppet_post_nr(ps, ps->main, 2, 0, PXR_LANE2);
	puppet_refused(ps, PXR_LANE2, -EAGAIN, PXR_LANE_FULL);

	p = puppet_post(ps, 0, 0, PXR_LANE1 | WAIT);
	EXPECT(ASLEEP(p));
	EXPECT_IS(ps->e->ready.asleep[1], 1);
	/* DX-45: it holds up nobody in a lane with room */
	puppet_taken(ps, puppet_post_nr(ps, ps->main, 6, 0, WAIT), 6);
	EXPECT(ASLEEP(p));
	puppet_refused(ps, 0, -EAGAIN, PXR_POOL_FULL);
	puppet_turn(ps, worker, 1);
	puppet_taken(ps, p, 1);
}

/* Is one of it left to dxk_post_run(), as it is? It is then posted, or refused. */
static bool leaves_it(struct puppets *ps, struct dxk_member *m, u32 attrs)
{
	struct dxk_post_op *p = puppet_poster(ps, m);
	struct dxk_rqe *rqe;
	u64 posts = ps->e->stats.posts;

	puppet_add(ps, p, 3, 0, attrs);
	rqe = list_first_entry(&p->rqes, struct dxk_rqe, link);
	if (dxk_post_usual(m, rqe)) {
		INIT_LIST_HEAD(&p->rqes);
		p->w.done = true;
		return false;
	}
	EXPECT_IS(rqe->state, DXK_POSTED);
	EXPECT_IS(ps->e->stats.posts, posts);
	puppet_posts(ps, p);
	return true;
}

/* DX-39: one that has room is posted in a straight line, and given to who waits for it. */
static void post_usual(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_next_op *n = puppet_turn(ps, worker, 1);
	struct dxk_engine *e = ps->e;
	struct dxk_rejoin_op *r;

	puppet_taken(ps, puppet_post(ps, 3, 0, PXR_REJOIN), 1);
	EXPECT(!ASLEEP(n));
	EXPECT(!leaves_it(ps, ps->main, PXR_REJOIN));
	EXPECT_IS(e->stats.posts, 2);
	EXPECT_IS(e->nr[DXK_AT_READY], 1);
	EXPECT_IS(e->owners.reserved, 2);
	puppet_fetch(n);
	n = puppet_end(ps, worker, 5, 1);
	EXPECT(!ASLEEP(n));
	puppet_fetch(n);
	n = puppet_end(ps, worker, 6, 1);
	EXPECT(ASLEEP(n));
	/* to the idle worker, at once: it passes through the pool */
	e->high[DXK_AT_READY] = 0;
	EXPECT(!leaves_it(ps, ps->main, PXR_REJOIN));
	EXPECT(!ASLEEP(n));
	EXPECT_IS(e->high[DXK_AT_READY], 1);
	EXPECT_IS(e->nr[DXK_AT_READY], 0);
	EXPECT_IS(e->nr[DXK_AT_WORK], 1);
	EXPECT_IS(e->stats.dispatches, 3);
	puppet_fetch(n);
	puppet_end(ps, worker, 7, 0);
	r = puppet_rejoin(ps, ps->main, 3, 8, 3);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->nr, 3);
	EXPECT_IS(puppet_result(r)->status, 5);
}

/* What limits it, and what it cannot do, is for others. */
static void post_unusual(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 10);
	struct dxk_member *client = puppet_client(ps);
	struct dxk_engine *e = ps->e;
	struct dxk_policy *policy = &e->policy;

	/* it posts for the first time: it counts from now on */
	EXPECT(leaves_it(ps, client, 0));
	EXPECT(!leaves_it(ps, client, 0));
	/* lanes: one is closed, one has two entries */
	EXPECT(leaves_it(ps, client, PXR_LANE0));
	EXPECT(!leaves_it(ps, client, PXR_LANE1));
	EXPECT(!leaves_it(ps, client, PXR_LANE1));
	EXPECT(leaves_it(ps, client, PXR_LANE1));
	/* somebody of the lane sleeps */
	e->ready.asleep[3]++;
	EXPECT(leaves_it(ps, client, 0));
	e->ready.asleep[3]--;
	/* the Rejoin Pool has no entry to promise */
	policy->rejoin_full = DXK_REJOIN_RESERVE;
	e->owners.entries = e->owners.reserved;
	EXPECT(leaves_it(ps, client, PXR_REJOIN));
	EXPECT(!leaves_it(ps, client, 0));
	policy->rejoin_full = DXK_REJOIN_GROW;
	EXPECT(!leaves_it(ps, client, PXR_REJOIN));
	/* the context */
	policy->max_requests = dxk_live(e);
	EXPECT(leaves_it(ps, client, 0));
	policy->max_requests++;
	policy->ready_entries = e->nr[DXK_AT_READY];
	EXPECT(leaves_it(ps, client, 0));
	policy->ready_entries++;
	WRITE_ONCE(e->direct, false);
	EXPECT(!dxk_post_usual(client, NULL));
	WRITE_ONCE(e->direct, true);
	e->state = DXK_CTX_STOPPING;
	EXPECT(leaves_it(ps, client, 0));
	e->state = DXK_CTX_RUNNING;
	EXPECT(!leaves_it(ps, client, 0));
}

/* DX-39: a post is complete when it returns, so the next never waits for it */
static void post_back_to_back(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 48);
	u32 i;

	for (i = 0; i < 48; i++)
		puppet_taken(ps, puppet_post(ps, i, 0, 0), 1);
	EXPECT_IS(ps->e->stats.post_busy + ps->e->stats.post_blocks, 0);
	EXPECT_IS(ps->e->owners.nr, 48);
}

/* DX-44: the deadline ends the sleep, and nothing was taken */
static void post_deadline(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_post_op *p[2], c = { .m = ps->main, .reason = 9 };
	struct dxk_post_entry req = { .attrs = WAIT };
	u32 i;

	puppet_post(ps, 0, 0, 0);
	p[0] = puppet_post(ps, 0, 0, WAIT);
	p[1] = puppet_post(ps, 0, 0, WAIT);
	EXPECT_IS(puppet_time_up(ps, &p[0]->w), -ETIMEDOUT);
	EXPECT_IS(p[0]->taken, 0);
	EXPECT_IS(ps->e->ready.asleep[3], 1);
	EXPECT_IS(ps->e->stats.posts, 1);
	/* it left its queue: the next one gets the entry, and in the last moment wins */
	puppet_turn(ps, worker, 1);
	puppet_taken(ps, p[1], 1);
	EXPECT_IS(puppet_time_up(ps, &p[1]->w), 0);

	/* the same as threads do it: what was not taken is still with the caller */
	EXPECT_IS(dxk_client_begin(&c, 2), 0);
	for (i = 0; i < 2; i++)
		list_add_tail(&dxk_rqe_make(&c.m->rqes, &req, NULL)->link, &c.rqes);
	for (i = 0; i < 2; i++) {
		EXPECT_IS(dxk_client_post(&c, 0), i ? 1 : -ETIMEDOUT);
		EXPECT_IS(c.reason, 0);
		EXPECT_IS(dxk_member_state(c.m), DXK_M_RUNNING);
		puppet_turn(ps, worker, 1);
	}
	EXPECT_IS(dxk_client_post(&c, 0), 1);
	EXPECT_IS(c.reason, 0);
	EXPECT(list_empty(&c.rqes));
	EXPECT_IS(ps->e->crew.clients_asleep, 0);
}

/* As many as there is room for are taken, in order. */
static void post_batch(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 3);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_post_op *p = puppet_post_nr(ps, ps->main, 5, 2, 0);
	struct dxk_rqe *rqe;
	u32 i;

	EXPECT(!ASLEEP(p));
	EXPECT_IS(p->taken, 3);
	EXPECT_IS(p->err, -EAGAIN);
	EXPECT_IS(p->reason, PXR_POOL_FULL);
	EXPECT_IS(ps->e->stats.post_busy, 1);
	i = 4;
	list_for_each_entry(rqe, &p->rqes, link)
		EXPECT_IS(rqe->param, i++);
	EXPECT_IS(i, 6);
	/* the rest sleeps once, and gets in one by one */
	p = puppet_post_nr(ps, ps->main, 3, 2, WAIT);
	for (i = 0; i < 3; i++) {
		EXPECT(ASLEEP(p));
		EXPECT_IS(p->taken, i);
		EXPECT_IS(puppet_work(ps, worker)->param, i + 1);
		puppet_end(ps, worker, 0, 0);
	}
	puppet_taken(ps, p, 3);
	EXPECT_IS(ps->e->stats.post_blocks, 1);
	/* a sleeper whose next request is not to wait */
	p = puppet_poster(ps, ps->main);
	puppet_add(ps, p, 0, 0, WAIT);
	puppet_add(ps, p, 0, 0, 0);
	puppet_posts(ps, p);
	EXPECT(ASLEEP(p));
	puppet_work(ps, worker);
	EXPECT(!ASLEEP(p));
	EXPECT_IS(p->taken, 1);
	EXPECT_IS(p->err, -EAGAIN);
	EXPECT_IS(ps->e->stats.post_busy, 2);
}

/* DX-50: each request of a batch goes to its owner, whatever those before it were of. */
static void post_owners(struct kunit *test)
{
	static const u64 owner[] = { 8, 8, 9, 8, 10, 10 };
	struct puppets *ps = puppets_entries(test, 10);
	struct dxk_post_op *p = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(owner); i++)
		puppet_add(ps, p, owner[i], 0, PXR_REJOIN);
	puppet_posts(ps, p);
	puppet_taken(ps, p, ARRAY_SIZE(owner));
	while ((rqe = dxk_ready_first(&ps->e->ready))) {
		EXPECT_IS(rqe->owner->cookie, rqe->cookie);
		puppet_work(ps, puppet_worker(ps));
	}
	EXPECT_IS(dxk_owner_find(&ps->e->owners, ps->main->space, 8)->nr[DXK_AT_WORK], 3);
	EXPECT_IS(dxk_owner_find(&ps->e->owners, ps->main->space, 9)->nr[DXK_AT_WORK], 1);
	EXPECT_IS(dxk_owner_find(&ps->e->owners, ps->main->space, 10)->nr[DXK_AT_WORK], 2);
}

/* max_requests: results that nobody collected count, Ready Pool or not */
static void post_no_space(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 10);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_post_op *p;
	u32 i;

	ps->e->policy.max_requests = 10;
	for (i = 0; i < 7; i++) {
		puppet_post(ps, 7, 0, PXR_REJOIN);
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	puppet_post_nr(ps, ps->main, 2, 0, PXR_LANE1);
	p = puppet_post(ps, 0, 0, PXR_LANE1 | WAIT);
	EXPECT(ASLEEP(p));
	puppet_post(ps, 0, 5, 0);
	/* a limit, not a queue: it does not wait either */
	puppet_refused(ps, 0, -ENOSPC, PXR_NO_SPACE);
	puppet_refused(ps, WAIT, -ENOSPC, PXR_NO_SPACE);
	/* a look that is to help refuses nobody, the sleeper's turn does */
	dxk_sweep(ps->e, false);
	EXPECT(ASLEEP(p));
	puppet_work(ps, worker);
	EXPECT(!ASLEEP(p));
	EXPECT_IS(p->err, -ENOSPC);
	EXPECT_IS(p->reason, PXR_NO_SPACE);
	EXPECT_IS(puppet_poll(ps, 7), RJR_RETURNED);
	puppet_taken(ps, puppet_post(ps, 0, 0, 0), 1);
}

/* What is refused by looking at the request alone. */
static void post_checked(struct kunit *test)
{
	static const struct { u32 attrs, data, result; int err; } rows[] = {
		{ 0, 512, 512, 0 }, { PXR_MASK & ~PXR_LANES, 0, 0, 0 },
		{ PXR_LANE0 }, { PXR_LANE1 }, { PXR_LANE2 }, { PXR_LANE_CHILD },
		{ PXR_LANE_CHILD | PXR_LANE1, 0, 0, -EINVAL },
		{ PXR_LANE0 | PXR_LANE1, 0, 0, -EINVAL },
		{ PXR_LANE0 | PXR_LANE2, 0, 0, -EINVAL },
		{ PXR_LANE1 | PXR_LANE2, 0, 0, -EINVAL },
		{ PXR_MASK, 0, 0, -EINVAL }, { 1U << 31, 0, 0, -EOPNOTSUPP },
		{ 0, 513, 0, -EMSGSIZE }, { 0, 0, 513, -EMSGSIZE },
	};
	struct dxk_policy p = puppet_policy(2);
	struct dxk_post_entry req = { };
	u32 i;

	p.kernel_threads = 1;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		req.attrs = rows[i].attrs;
		req.data_len = rows[i].data;
		req.result_len = rows[i].result;
		KUNIT_EXPECT_EQ_MSG(test, dxk_rqe_check(&p, &req), rows[i].err, "%u", i);
	}
	req = (struct dxk_post_entry) { };
	p.kernel_threads = p.max_threads;
	KUNIT_EXPECT_EQ(test, dxk_rqe_check(&p, &req), -ENODEV);
	req.attrs = PXR_KERNEL;
	KUNIT_EXPECT_EQ(test, dxk_rqe_check(&p, &req), 0);
	p.kernel_threads = 0;
	KUNIT_EXPECT_EQ(test, dxk_rqe_check(&p, &req), -ENODEV);
}

/* DX-33, DX-42: what a request is made of; its result lies over or behind its data */
static void post_made(struct kunit *test)
{
	struct dxk_post_entry req = {
		.owner = 1, .executor = 2, .param = 3, .prio = -4, .data_len = 100,
		.result_len = 50,
	};
	struct puppets *ps = puppets_entries(test, 1);
	u32 i;

	for (i = 0; i < 4; i++) {
		bool behind = i == 1;
		struct dxk_rqe *rqe;

		req.attrs = (i & 1 ? PXR_REDO : 0) | (i & 2 ? PXR_KERNEL : PXR_LANE2);
		ASSERT_IS(dxk_client_prepare(ps->main, 1), 0);
		rqe = dxk_rqe_make(&ps->main->rqes, &req, NULL);
		EXPECT(rqe->cookie == 1 && rqe->executor == 2 && rqe->param == 3);
		EXPECT(rqe->prio == -4 && rqe->attrs == req.attrs);
		EXPECT(rqe->data_len == 100 && rqe->posted_len == 100);
		EXPECT_IS(rqe->result_room, 50);
		EXPECT_IS(rqe->result_at, behind ? 100 : 0);
		EXPECT_IS(rqe->state, DXK_POSTED);
		EXPECT_IS(rqe->lane, i & 2 ? 3 : 2);
		EXPECT_IS(rqe->kind, i & 2 ? DXK_KERNEL : DXK_USER);
		/* nothing is left of a request before, nor of nobody who posts */
		EXPECT(!rqe->attempts && !rqe->worker && !rqe->extra && !rqe->posted);
		EXPECT(!rqe->ticket && !rqe->poster.image && !rqe->poster.pid);
		EXPECT(!rqe->poster.uid && !rqe->poster.gid);
		/* the address sanitizer watches the room */
		ASSERT_IS(dxk_rqe_reserve_data(rqe), 0);
		EXPECT(!memcmp(dxk_rqe_result(rqe), "\0\0", 2));
		memset(rqe->data, 1, 100);
		memset(dxk_rqe_result(rqe), 2, 50);
		EXPECT_IS(((u8 *)rqe->data)[0], behind ? 1 : 2);
		rqe->state = DXK_FREE;
		dxk_rqe_drop(ps->main, rqe);
	}
	req.data_len = 0;
	req.result_len = 0;
	ASSERT_IS(dxk_client_prepare(ps->main, 1), 0);
	{
		struct dxk_rqe *rqe = dxk_rqe_make(&ps->main->rqes, &req, NULL);

		ASSERT_IS(dxk_rqe_reserve_data(rqe), 0);
		KUNIT_EXPECT_NULL(test, rqe->data);
		dxk_rqe_drop(NULL, rqe);
	}
}

static struct kunit_case post_cases[] = {
	KUNIT_CASE(post_pool_full),
	KUNIT_CASE(post_lane_full),
	KUNIT_CASE(post_lane_child),
	KUNIT_CASE(post_lane_child_of_newest),
	KUNIT_CASE(post_usual),
	KUNIT_CASE(post_unusual),
	KUNIT_CASE(post_back_to_back),
	KUNIT_CASE(post_deadline),
	KUNIT_CASE(post_batch),
	KUNIT_CASE(post_owners),
	KUNIT_CASE(post_no_space),
	KUNIT_CASE(post_checked),
	KUNIT_CASE(post_made),
	{ }
};

static struct kunit_suite post_suite = {
	.name = "dxk_post",
	.exit = puppets_end,
	.test_cases = post_cases,
};

kunit_test_suite(post_suite);
