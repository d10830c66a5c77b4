// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The usual turn of a worker: what it does, and what it leaves to all others.
 */
#include "engine/key.h"
#include "engine/key_call.h"
#include "engine/more.h"
#include "engine/tests/keyed.h"
#include "engine/turn.h"

/* More idle workers than a lock hold wakes */
#define MANY		64

/* What a usual turn has brought is begun. */
static void begin(struct dxk_rqe *rqe)
{
	WRITE_ONCE(rqe->state, DXK_BUSY);
}

/* A post that is usual goes to the idle worker whose cache is the warmest, like any other. */
static void turn_usual_post(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_next_op *n[2] = { puppet_turn(ps, m[0], 1), puppet_turn(ps, m[1], 1) };
	struct dxk_post_op *p = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe;

	/* a member's first call is not usual */
	EXPECT_IS(puppet_poll(ps, 2), RJR_NONE_EXIST);
	puppet_add(ps, p, 2, 0, 0);
	rqe = list_first_entry(&p->rqes, struct dxk_rqe, link);
	EXPECT(dxk_post_usual(ps->main, rqe));
	INIT_LIST_HEAD(&p->rqes);
	p->w.done = true;
	EXPECT(ASLEEP(n[0]) && !ASLEEP(n[1]));
	EXPECT(puppet_fetch(n[1]) == rqe);
	puppet_end(ps, m[1], 0, 0);
}

/*
 * DX-55: a hold that could not wake all idle workers has left some requests to the next one. A
 * usual post does not give its own to an idle worker before them.
 */
static void turn_usual_post_behind(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, MANY);
	struct dxk_next_op **n = puppet_array(ps, MANY);
	struct dxk_post_op *p;
	struct dxk_rqe *rqe;
	u32 i;

	EXPECT_IS(puppet_poll(ps, 2), RJR_NONE_EXIST);
	for (i = 0; i < MANY; i++)
		n[i] = puppet_turn(ps, puppet_worker(ps), 1);
	ps->e->swept = true;
	puppet_post_nr(ps, ps->main, MANY, 2, 0);
	EXPECT(ps->e->nr[DXK_AT_READY] && ps->e->owing);
	p = puppet_poster(ps, ps->main);
	puppet_add(ps, p, 2, -1, 0);
	rqe = list_first_entry(&p->rqes, struct dxk_rqe, link);
	EXPECT(dxk_post_usual(ps->main, rqe));
	INIT_LIST_HEAD(&p->rqes);
	p->w.done = true;
	EXPECT_IS(rqe->state, DXK_READY);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	dxk_sweep_end(ps->e);
	for (i = 0; i < MANY; i++) {
		EXPECT(!ASLEEP(n[i]));
		puppet_fetch(n[i]);
		puppet_end(ps, n[i]->m, 0, 0);
	}
}

/* DX-77, DX-81, DX-82: one is completed and vanishes, or comes to its owner; one is taken */
static void turn_usual(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_stats *stats = &ps->e->stats;
	struct dxk_rqe *done, *rqe;
	struct dxk_rejoin_op *r;
	u32 kept;

	puppet_post(ps, 2, 1, 0);
	puppet_post(ps, 2, 0, PXR_REJOIN);
	puppet_post(ps, 2, -1, 0);
	r = puppet_rejoin(ps, ps->main, 2, 1, 1);
	EXPECT(ASLEEP(r));

	done = puppet_work(ps, worker);
	kept = worker->rqes.nr;
	rqe = dxk_turn(worker, &done);
	EXPECT(!done);
	/* it is free for the next post */
	EXPECT_IS(worker->rqes.nr, kept + 1);
	EXPECT_IS(stats->vanished, 1);
	EXPECT_IS(stats->completions, 1);
	EXPECT_IS(stats->dispatches, 2);
	EXPECT_IS(worker->executed, 1);
	EXPECT_IS(worker->held, 1);
	EXPECT_IS(worker->began, 1);
	KUNIT_ASSERT_NOT_NULL(test, rqe);
	EXPECT_IS(rqe->param, 2);
	EXPECT_IS(rqe->state, DXK_DISPATCHED);
	EXPECT(worker->busy.next == &rqe->link);
	EXPECT(worker->busy.prev == &rqe->link);

	begin(rqe);
	done = rqe;
	done->status = -77;
	rqe = dxk_turn(worker, &done);
	EXPECT(!done);
	EXPECT_IS(worker->rqes.nr, kept + 1);
	EXPECT_IS(stats->vanished, 1);
	EXPECT_IS(worker->executed, 2);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(puppet_result(r)->status, -77);
	KUNIT_ASSERT_NOT_NULL(test, rqe);
	EXPECT_IS(rqe->param, 3);
	begin(rqe);
	puppet_end(ps, worker, 0, 0);
	EXPECT_IS(stats->vanished, 2);
}

/* The entry that becomes free goes to who sleeps for it. */
static void turn_lets_a_poster_in(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rqe *done, *rqe;
	struct dxk_post_op *p;

	puppet_post(ps, 2, 0, 0);
	done = puppet_work(ps, worker);
	puppet_post(ps, 2, 0, 0);
	p = puppet_post(ps, 2, 0, PXR_WAITIF_BUSY);
	EXPECT(ASLEEP(p));
	rqe = dxk_turn(worker, &done);
	EXPECT(!ASLEEP(p));
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	KUNIT_ASSERT_NOT_NULL(test, rqe);
	begin(rqe);
}

/* DX-67: what is Ready may be of a lane that has all it may have */
static void turn_completes_only(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 10);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_rqe *done;

	puppet_post(ps, 2, 1, PXR_LANE1);
	puppet_post(ps, 2, 0, 0);
	puppet_post(ps, 2, 0, PXR_LANE1);
	EXPECT_IS(puppet_work(ps, m[0])->param, 1);
	done = puppet_work(ps, m[1]);
	EXPECT_IS(done->param, 2);
	EXPECT(!dxk_turn(m[1], &done));
	EXPECT(!done);
	EXPECT_IS(m[1]->executed, 1);
	EXPECT_IS(m[1]->held, 0);
	EXPECT(list_empty(&m[1]->busy));
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	EXPECT(ASLEEP(puppet_turn(ps, m[1], 1)));
}

/* Does a turn leave all as it is? */
static bool leaves_it(struct dxk_member *m, struct dxk_rqe *rqe)
{
	struct dxk_rqe *done = rqe;

	return !dxk_turn(m, &done) && done == rqe && m->held == 1 && !m->executed &&
	       rqe->state == DXK_BUSY && !m->engine->stats.completions;
}

/* What anybody has to look at is not for a usual turn. */
static void turn_unusual(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_more more = { };
	struct dxk_engine *e = ps->e;
	struct dxk_rqe *rqe, *done;
	LIST_HEAD(called);

	puppet_post(ps, 2, 0, PXR_REJOIN);
	rqe = done = puppet_work(ps, m);
	/* it falls idle */
	EXPECT(leaves_it(m, rqe));
	puppet_post(ps, 2, 0, PXR_KERNEL);
	EXPECT(leaves_it(m, rqe));
	puppet_post(ps, 2, 0, PXR_REJOIN);

	/* the context */
	e->state = DXK_CTX_STOPPING;
	EXPECT(leaves_it(m, rqe));
	e->state = DXK_CTX_RUNNING;
	e->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	EXPECT(leaves_it(m, rqe));
	e->policy.rejoin_full = DXK_REJOIN_RESERVE;
	WRITE_ONCE(e->direct, false);
	EXPECT(leaves_it(m, rqe));
	WRITE_ONCE(e->direct, true);

	/* the worker */
	m->attached = false;
	EXPECT(leaves_it(m, rqe));
	m->attached = true;
	m->leaving = true;
	EXPECT(leaves_it(m, rqe));
	m->leaving = false;
	m->spare = true;
	EXPECT(leaves_it(m, rqe));
	m->spare = false;
	m->has_closed_handles = true;
	EXPECT(leaves_it(m, rqe));
	m->has_closed_handles = false;
	list_add(&called, &m->called);
	EXPECT(leaves_it(m, rqe));
	list_del(&called);

	/* the request */
	rqe->posted = 1ULL << 32;
	EXPECT(leaves_it(m, rqe));
	rqe->posted = 0;
	rqe->extra = true;
	EXPECT(leaves_it(m, rqe));
	rqe->extra = false;
	rqe->more = &more;
	EXPECT(leaves_it(m, rqe));
	rqe->more = NULL;

	rqe = dxk_turn(m, &done);
	EXPECT(!done);
	KUNIT_ASSERT_NOT_NULL(test, rqe);
	begin(rqe);
}

/* --- of keys ------------------------------------------------------------------ */

#define KEY	7

static struct dxk_rqe *message(struct puppets *ps, u32 attrs, s32 prio)
{
	const struct dxk_post_more p = { .key = KEY };
	struct dxk_post_op *post = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe = keyed_add(ps, post, 1, prio, attrs | PXR_KEY, &p);

	puppet_posts(ps, post);
	EXPECT_IS(post->err, 0);
	return rqe;
}

/* The worker completes what it has, and is given that one. */
static void turns_to(struct puppets *ps, struct dxk_member *m, const struct dxk_rqe *rqe)
{
	struct dxk_rqe *done = list_first_entry(&m->busy, struct dxk_rqe, link), *next;
	u64 executed = m->executed;

	next = dxk_turn(m, &done);
	puppets_count(ps);
	EXPECT(!done);
	EXPECT(next == rqe);
	EXPECT_IS(m->executed, executed + 1);
	if (!next)
		return;
	EXPECT_IS(next->state, DXK_DISPATCHED);
	EXPECT_IS(m->held, 1);
	begin(next);
}

static struct puppets *start(struct kunit *test, u32 batch)
{
	struct dxk_policy policy = puppet_policy(8);
	struct puppets *ps;

	policy.key_batch = batch;
	policy.sched_mode = TPOOL_MODE_CMLS;
	policy.lane_pct[1] = 25;
	ps = keyed_start(test, &policy, 1);
	return ps;
}

/* AG-2, AG-7, S-10: the next of the key, so many in a row, and nobody is passed over for that */
static void turn_of_a_key(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_rqe *rqe[8], *other;
	u32 i, kept;

	for (i = 0; i < 8; i++)
		rqe[i] = message(ps, 0, 0);
	EXPECT(puppet_work(ps, m) == rqe[0]);
	/* there is nothing else: it goes on, and begins to count anew */
	for (i = 1; i < 4; i++) {
		kept = m->mores ? m->mores->nr : 0;
		turns_to(ps, m, rqe[i]);
		EXPECT_IS(m->mores->nr, kept + 1);
		EXPECT_IS(rqe[i]->more->at_key, DXK_KEY_HAS);
		EXPECT_IS(rqe[i]->more->key->run, i % 3);
		EXPECT_IS(ps->e->ready.filled[DXK_USER], 0);
	}
	EXPECT_IS(rqe[3]->more->key->run, 0);
	/* another one as urgent comes behind those that the key has in a row */
	puppet_post(ps, 2, 0, 0);
	other = dxk_ready_first(&ps->e->ready);
	turns_to(ps, m, rqe[4]);
	turns_to(ps, m, rqe[5]);
	turns_to(ps, m, other);
	EXPECT_IS(rqe[6]->state, DXK_READY);
	turns_to(ps, m, rqe[6]);
	EXPECT_IS(rqe[6]->more->key->run, 0);
	/* and one that is more urgent before them */
	puppet_post(ps, 2, 1, 0);
	other = dxk_ready_first(&ps->e->ready);
	turns_to(ps, m, other);
	turns_to(ps, m, rqe[7]);
	EXPECT_IS(rqe[7]->more->key->users, 1);
	/* it was the last: what is Ready comes then */
	puppet_post(ps, 2, 0, 0);
	turns_to(ps, m, dxk_ready_first(&ps->e->ready));
	spin_lock(&ps->e->lock);
	EXPECT(!dxk_key_find(ps->e, ps->main->space, KEY));
	spin_unlock(&ps->e->lock);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* DX-67: the next of the key may be none for this worker: it is Ready then */
static void turn_of_another_kind(struct kunit *test)
{
	struct puppets *ps = start(test, 8);
	struct dxk_member *m = keyed_worker(ps, 0), *kernel;
	struct dxk_rqe *rqe[4];

	rqe[0] = message(ps, 0, 0);
	EXPECT(puppet_work(ps, m) == rqe[0]);
	rqe[1] = message(ps, PXR_KERNEL, 0);
	rqe[2] = message(ps, 0, 0);
	turns_to(ps, m, NULL);
	EXPECT_IS(rqe[1]->state, DXK_READY);
	kernel = puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, false);
	EXPECT(puppet_work(ps, kernel) == rqe[1]);
	puppet_end(ps, kernel, 0, 0);
	/* of a lane that has all workers it may have */
	EXPECT(puppet_work(ps, m) == rqe[2]);
	rqe[3] = message(ps, PXR_LANE1, 0);
	ps->e->crew.lanes[DXK_USER].used[1] = 1;
	turns_to(ps, m, NULL);
	ps->e->crew.lanes[DXK_USER].used[1] = 0;
	EXPECT_IS(rqe[3]->state, DXK_READY);
	EXPECT(puppet_work(ps, m) == rqe[3]);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* AG-31: who was told to end, and comes after all others, has its turn at its own priority */
static void turn_of_a_deferred(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = start(test, 8);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_rqe *a = message(ps, 0, 5), *b;

	EXPECT(puppet_work(ps, m) == a);
	b = message(ps, 0, 7);
	EXPECT_IS(dxk_wait_set(m, a, &again), 0);
	keyed_then(ps, m, b);
	EXPECT_IS(keyed_anybody(ps, dxk_key_cancel_run, KEY, false), 1);
	turns_to(ps, m, a);
	EXPECT_IS(a->prio, 5);
	EXPECT_IS(a->more->wake, DXK_WAKE_CANCEL);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* What others wait for beside the next of the key is not for a usual turn. */
static void turn_unusual_key(struct kunit *test)
{
	struct puppets *ps = start(test, 8);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_rqe *rqe = message(ps, 0, 0), *next;
	struct dxk_more *more = rqe->more;
	struct dxk_policy *p = &ps->e->policy;
	u32 kernel = p->kernel_threads;
	LIST_HEAD(way);

	EXPECT(puppet_work(ps, m) == rqe);
	/* nobody is Held, and nothing Ready */
	EXPECT(leaves_it(m, rqe));
	next = message(ps, 0, 0);
	more->parks = true;
	EXPECT(leaves_it(m, rqe));
	more->parks = false;
	more->file = (void *)ps;
	EXPECT(leaves_it(m, rqe));
	more->file = NULL;
	more->watch = (void *)ps;
	EXPECT(leaves_it(m, rqe));
	more->watch = NULL;
	rqe->posted = 1;
	EXPECT(leaves_it(m, rqe));
	rqe->posted = 0;
	rqe->extra = true;
	EXPECT(leaves_it(m, rqe));
	rqe->extra = false;
	more->at_key = DXK_KEY_NESTED;
	EXPECT(leaves_it(m, rqe));
	more->at_key = DXK_KEY_HAS;
	more->key->suspended = true;
	EXPECT(leaves_it(m, rqe));
	more->key->suspended = false;
	list_add(&way, &more->key->nested);
	EXPECT(leaves_it(m, rqe));
	list_del(&way);
	list_add(&way, &more->key->back);
	EXPECT(leaves_it(m, rqe));
	list_del(&way);
	/* the policy ends it */
	p->kernel_threads = p->max_threads;
	EXPECT(leaves_it(m, rqe));
	p->kernel_threads = kernel;
	turns_to(ps, m, next);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

static struct kunit_case turn_cases[] = {
	KUNIT_CASE(turn_usual),
	KUNIT_CASE(turn_usual_post),
	KUNIT_CASE(turn_usual_post_behind),
	KUNIT_CASE(turn_lets_a_poster_in),
	KUNIT_CASE(turn_completes_only),
	KUNIT_CASE(turn_unusual),
	KUNIT_CASE(turn_of_a_key),
	KUNIT_CASE(turn_of_another_kind),
	KUNIT_CASE(turn_of_a_deferred),
	KUNIT_CASE(turn_unusual_key),
	{ }
};

static struct kunit_suite turn_suite = {
	.name = "dxk_turn",
	.exit = puppets_end,
	.test_cases = turn_cases,
};

kunit_test_suite(turn_suite);
