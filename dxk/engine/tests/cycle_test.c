// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Waits that wait for themselves.
 */
#include "engine/cycle.h"
#include "engine/dispatch.h"
#include "engine/doom.h"
#include "engine/more.h"
#include "engine/purge.h"
#include "engine/rejoin.h"
#include "engine/stop.h"
#include "engine/tests/keyed.h"

#define MANY		40

static struct puppets *start(struct kunit *test, u32 workers)
{
	struct dxk_policy policy = puppet_policy(workers);

	return keyed_start(test, &policy, workers);
}

static void post(struct puppets *ps, struct dxk_member *m, u64 owner)
{
	struct dxk_post_op *p = puppet_poster(ps, m);

	puppet_add(ps, p, owner, 0, PXR_REJOIN);
	puppet_posts(ps, p);
	EXPECT_IS(p->err, 0);
}

/* D-14 without keys: of two that wait for each other the second is told */
static void cycle_crossed(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *a, *b;

	post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_work(ps, keyed_worker(ps, 1));
	a = keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false);
	EXPECT(ASLEEP(a));
	b = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
	EXPECT_IS(b->err, -EDEADLK);
	EXPECT_IS(ps->e->stats.deadlocks, 1);
	/* it ends by itself if it has a time */
	b = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, true);
	EXPECT(ASLEEP(b));
	EXPECT_IS(puppet_time_up(ps, &b->w), -ETIMEDOUT);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(a->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/*
 * D-14: the second of two that wait for each other is told at once, although somebody is still to be
 * notified of another result of the first owner: that does not end it.
 */
static void cycle_crossed_owed(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_owner *owner;

	post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	owner = puppet_work(ps, keyed_worker(ps, 0))->owner;
	puppet_work(ps, keyed_worker(ps, 1));
	EXPECT(ASLEEP(keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false)));
	list_add(&owner->owed, &ps->e->owners.owed);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false)->err, -EDEADLK);
	EXPECT(!ps->e->waits.unsure);
	list_del_init(&owner->owed);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

/* Y-1: a ring, as long as a search goes; the next longer one is not told */
static void cycle_ring(struct kunit *test)
{
	struct puppets *ps = start(test, MANY);
	struct dxk_rejoin_op *r;
	u32 nr, i;

	for (nr = 3; nr <= MANY; nr += nr == 3 ? 5 : DXK_CYCLE_DEPTH) {
		for (i = 0; i < nr; i++) {
			post(ps, ps->main, 1 + i);
			puppet_work(ps, keyed_worker(ps, i));
		}
		for (i = 0; i < nr - 1; i++)
			EXPECT(ASLEEP(keyed_call(ps, keyed_worker(ps, i), 2 + i, 1, false, false)));
		r = keyed_call(ps, keyed_worker(ps, nr - 1), 1, 1, false, false);
		if (nr <= DXK_CYCLE_DEPTH)
			EXPECT_IS(r->err, -EDEADLK);
		else
			EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
		for (i = nr; i--;)
			puppet_end(ps, keyed_worker(ps, i), 0, 0);
		EXPECT_IS(puppet_rejoin(ps, ps->main, 1, 1, 1)->answer, RJR_RETURNED);
	}
	keyed_end(ps);
}

/* Y-2: as long as one can come that is no part of the circle nothing is told */
static void cycle_or(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_rejoin_op *a, *b;

	post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	post(ps, ps->main, 1);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_work(ps, keyed_worker(ps, 1));
	a = keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false);
	/* one of owner 1 is Ready, then executes */
	b = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
	EXPECT(ASLEEP(b));
	EXPECT_IS(puppet_time_up(ps, &b->w), -ETIMEDOUT);
	puppet_work(ps, keyed_worker(ps, 2));
	b = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
	EXPECT(ASLEEP(b));
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	EXPECT_IS(b->answer, RJR_RETURNED);
	/* for two results there is one too few, and no result is lost */
	b = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
	EXPECT_IS(b->err, -EDEADLK);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(a->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* Y-2, D-23: it waits for two of three, and two cannot come */
static void cycle_min(struct kunit *test)
{
	struct puppets *ps = start(test, 4);
	struct dxk_rejoin_op *r;
	u32 i;

	for (i = 0; i < 3; i++)
		post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	for (i = 0; i < 4; i++)
		puppet_work(ps, keyed_worker(ps, i));
	EXPECT(ASLEEP(keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false)));
	r = keyed_call(ps, keyed_worker(ps, 3), 1, 2, false, false);
	EXPECT(ASLEEP(r));
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 3), 1, 3, false, false)->err, -EDEADLK);
	EXPECT(ASLEEP(keyed_call(ps, keyed_worker(ps, 1), 2, 1, false, false)));
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 3), 1, 2, false, false)->err, -EDEADLK);
	for (i = 4; i--;)
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	keyed_end(ps);
}

/* D-14: two that call each other: nothing is nested, exactly one is told, the other goes on */
static void cycle_crossed_keys(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rqe *a = keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
	struct dxk_rqe *b = keyed_send(ps, ps->main, 8, 1, DXK_REENTRY_CHAIN), *to_a, *to_b;
	struct dxk_rejoin_op *first;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	to_b = keyed_send(ps, keyed_worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
	to_a = keyed_send(ps, keyed_worker(ps, 1), 7, 3, DXK_REENTRY_CHAIN);
	first = keyed_call(ps, keyed_worker(ps, 0), 2, 1, true, false);
	EXPECT(ASLEEP(first));
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, false)->err, -EDEADLK);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == to_b);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(first->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == to_a);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* Y-1: one that comes back to its key closes the circle; the other one, which sleeps, is told */
static void cycle_enter(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *r;
	struct dxk_key_op *k;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	keyed_send(ps, ps->main, 7, 2, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 0));
	EXPECT_IS(puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE)->ret, 0);
	puppet_work(ps, keyed_worker(ps, 1));
	r = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
	EXPECT(ASLEEP(r));
	k = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_ENTER);
	EXPECT(ASLEEP(k));
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->err, -EDEADLK);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(!ASLEEP(k));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* Y-2: one that has its key again waits no more: who waits for its result is told nothing */
static void cycle_entered(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *r;
	struct dxk_key_op *k;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	keyed_send(ps, ps->main, 7, 2, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 0));
	EXPECT_IS(puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE)->ret, 0);
	puppet_work(ps, keyed_worker(ps, 1));
	k = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_ENTER);
	EXPECT(ASLEEP(k));
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(!ASLEEP(k));
	post(ps, ps->main, 3);
	puppet_work(ps, keyed_worker(ps, 1));
	r = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
	EXPECT(ASLEEP(r));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT_IS(r->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

/* Y-1 through joins: a request that would wait for itself, posted or at the end of a turn */
static void cycle_joins(struct kunit *test)
{
	static const struct dxk_wait for_2 = { .wait = DXK_WAIT_JOIN, .owner = 2 };
	static const struct dxk_wait for_1 = { .wait = DXK_WAIT_JOIN, .owner = 1 };
	struct puppets *ps = start(test, 2);
	struct dxk_rqe *a, *b;

	post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	a = puppet_work(ps, keyed_worker(ps, 0));
	b = puppet_work(ps, keyed_worker(ps, 1));
	EXPECT_IS(dxk_wait_set(keyed_worker(ps, 0), a, &for_2), 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT_IS(a->state, DXK_WAITING);
	EXPECT_IS(dxk_wait_set(keyed_worker(ps, 1), b, &for_1), 0);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	EXPECT_IS(b->more->wake, DXK_WAKE_DEADLOCK);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == a);
	EXPECT_IS(a->more->wake, DXK_WAKE_JOIN);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

/* Y-1: the search ends with the first one that is enough: all waits of a hold share its looks */
static void cycle_enough(struct kunit *test)
{
	static const struct dxk_wait for_2 = { .wait = DXK_WAIT_JOIN, .owner = 2 };
	static const struct dxk_wait for_1 = { .wait = DXK_WAIT_JOIN, .owner = 1 };
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_rqe *last;
	u32 i;

	post(ps, ps->main, 2);
	last = puppet_work(ps, m);
	for (i = 0; i < 3; i++) {
		post(ps, ps->main, 1);
		EXPECT_IS(dxk_wait_set(m, puppet_work(ps, m), &for_2), 0);
		puppet_end(ps, m, 0, 0);
	}
	EXPECT_IS(dxk_wait_set(m, last, &for_1), 0);
	puppet_end(ps, m, 0, 0);
	/* one of owner 1, and what that waits for */
	EXPECT_IS(ps->e->waits.searches, DXK_WAIT_SEARCHES - 2);
	EXPECT(puppet_work(ps, m) == last);
	EXPECT_IS(last->more->wake, DXK_WAKE_DEADLOCK);
	puppet_end(ps, m, 0, 0);
	for (i = 0; i < 3; i++) {
		puppet_work(ps, m);
		puppet_end(ps, m, 0, 0);
	}
	keyed_end(ps);
}

static int post_joining(struct puppets *ps, u64 owner, u64 joined)
{
	const struct dxk_post_more p = { .wait = { .wait = DXK_WAIT_JOIN, .owner = joined } };
	struct dxk_post_op *post = puppet_poster(ps, ps->main);

	keyed_add(ps, post, owner, 0, PXR_WAIT, &p);
	puppet_posts(ps, post);
	return post->err;
}

/* Y-1: what only waits for room waits for no owner any more, be that used again */
static void cycle_ripe(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	u32 i;

	ps->e->policy.ready_entries = 1;
	post(ps, ps->main, 2);
	puppet_work(ps, keyed_worker(ps, 0));
	EXPECT_IS(post_joining(ps, 1, 2), 0);
	post(ps, ps->main, 9);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT_IS(post_joining(ps, 2, 9), 0);
	EXPECT_IS(post_joining(ps, 2, 1), 0);
	EXPECT_IS(ps->e->stats.deadlocks, 0);
	for (i = 0; i < 4; i++) {
		EXPECT(puppet_work(ps, keyed_worker(ps, 0)));
		puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	}
	keyed_end(ps);
}

/* Y-2: who is Held, was never begun and expires ends by itself; one that was begun does not */
static void cycle_expire(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	const struct dxk_post_more p = { .key = 7, .expire = os_now() + 3600ULL * NSEC_PER_SEC };
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_post_op *posts = puppet_poster(ps, ps->main);
	struct dxk_rqe *begun, *rqe;
	struct dxk_rejoin_op *r;

	begun = keyed_add(ps, posts, 3, 0, PXR_REJOIN | PXR_KEY | PXR_EXPIRE, &p);
	rqe = keyed_add(ps, posts, 4, 0, PXR_REJOIN | PXR_KEY | PXR_EXPIRE, &p);
	puppet_posts(ps, posts);
	EXPECT(puppet_work(ps, m) == begun);
	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	EXPECT_IS(dxk_wait_set(m, begun, &again), 0);
	keyed_then(ps, m, rqe);
	EXPECT_IS(keyed_call(ps, m, 3, 1, false, false)->err, -EDEADLK);
	puppet_end(ps, m, 0, 0);
	puppet_work(ps, m);
	posts = puppet_poster(ps, ps->main);
	rqe = keyed_add(ps, posts, 5, 0, PXR_REJOIN | PXR_KEY | PXR_EXPIRE, &p);
	puppet_posts(ps, posts);
	r = keyed_call(ps, m, 5, 1, false, false);
	EXPECT(ASLEEP(r));
	keyed_expires(ps, rqe);
	EXPECT_IS(r->answer, RJR_RETURNED);
	EXPECT_IS(puppet_result(r)->status, -ETIME);
	keyed_then(ps, m, begun);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* One that is Held is behind the worker's own, but a Stop(cancel) is about to end it */
static void cycle_stop(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_stop_op stop = { .gen = ps->e->run.gen, .cancel = true };
	struct dxk_list_op l = { };
	struct dxk_rejoin_op *r;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 0));
	keyed_send(ps, ps->main, 7, 3, DXK_REENTRY_NONE);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 3, 1, false, false)->err, -EDEADLK);
	puppet_do(ps, &stop.op, dxk_stop_begin_run);
	r = keyed_call(ps, keyed_worker(ps, 0), 3, 1, false, false);
	EXPECT(ASLEEP(r));
	INIT_LIST_HEAD(&l.ended);
	do {
		puppet_do(ps, &l.op, dxk_cancel_some_run);
	} while (l.more);
	dxk_rqe_drop_all(NULL, &l.ended);
	EXPECT_IS(r->answer, RJR_RETURNED);
	EXPECT_IS(puppet_result(r)->status, -ECANCELED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/*
 * Y-1: one that is Held, and was begun, has its last turn with its key, also in a Stop(cancel): who
 * has the key, and would sleep for its result, is told.
 */
static void cycle_stop_begun(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_rqe *begun, *has;

	begun = keyed_send(ps, ps->main, 7, 3, DXK_REENTRY_NONE);
	EXPECT(puppet_work(ps, m) == begun);
	has = keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	EXPECT_IS(dxk_wait_set(m, begun, &again), 0);
	keyed_then(ps, m, has);
	keyed_is_held(ps, begun);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(keyed_call(ps, m, 3, 1, false, false)->err, -EDEADLK);
	keyed_is_held(ps, begun);
	keyed_then(ps, m, begun);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* The same of a cancel of all of its owner */
static void cycle_purge(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_rejoin_op *r;
	u32 nr[DXK_PLACES];

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 0));
	keyed_send(ps, ps->main, 7, 3, DXK_REENTRY_NONE);
	spin_lock(&ps->e->lock);
	dxk_purge_begin(ps->e, dxk_owner_find(&ps->e->owners, ps->main->space, 3));
	spin_unlock(&ps->e->lock);
	r = keyed_call(ps, keyed_worker(ps, 0), 3, 1, false, false);
	EXPECT(ASLEEP(r));
	EXPECT(ps->e->waits.unsure);
	dxk_purge_owner(ps->main, 3, nr);
	EXPECT_IS(r->answer, RJR_RETURNED);
	EXPECT_IS(puppet_result(r)->status, -ECANCELED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* And of a lane that is closed from now on */
static void cycle_closed(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_policy policy = ps->e->policy;
	const struct dxk_post_more p = { .key = 7 };
	struct dxk_post_op *posts;
	struct dxk_rejoin_op *r;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 0));
	posts = puppet_poster(ps, ps->main);
	keyed_add(ps, posts, 3, 0, PXR_REJOIN | PXR_KEY | PXR_LANE1, &p);
	puppet_posts(ps, posts);
	policy.sched_mode |= TPOOL_MODE_CMLS;
	memset(policy.lane_pct, 0, sizeof(policy.lane_pct));
	spin_lock(&ps->e->lock);
	dxk_crew_set_policy(ps->e, &policy);
	spin_unlock(&ps->e->lock);
	r = keyed_call(ps, keyed_worker(ps, 0), 3, 1, false, false);
	EXPECT(ASLEEP(r));
	dxk_enforce(ps->e, &policy);
	EXPECT_IS(r->answer, RJR_RETURNED);
	EXPECT_IS(puppet_result(r)->status, -EPERM);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* Y-1: who only stands behind a circle, of which one is still to be told, is not */
static void cycle_behind(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_rejoin_op *in, *behind;
	struct dxk_rqe *left, *has;
	struct dxk_key_op *k;

	ps->e->swept = true;
	left = keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == left);
	EXPECT_IS(puppet_key_of(ps, keyed_worker(ps, 0), left, DXK_KEY_LEAVE)->ret, 0);
	has = keyed_send(ps, ps->main, 7, 2, DXK_REENTRY_NONE);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == has);
	post(ps, ps->main, 3);
	puppet_work(ps, keyed_worker(ps, 2));
	in = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
	k = puppet_key_of(ps, keyed_worker(ps, 0), left, DXK_KEY_ENTER);
	EXPECT(ASLEEP(in) && ASLEEP(k));
	EXPECT(!ps->e->waits.unsure);
	behind = keyed_call(ps, keyed_worker(ps, 2), 2, 1, false, false);
	EXPECT(ASLEEP(behind));
	/* the Monitor looks whether it was right to wait for that */
	EXPECT(ps->e->waits.unsure);
	dxk_sweep(ps->e, true);
	EXPECT_IS(in->err, -EDEADLK);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(k->ret, 0);
	EXPECT_IS(behind->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	dxk_sweep_end(ps->e);
	keyed_end(ps);
}

/* Y-1: ... but who stands behind one that nobody of is about to be told of anything is told */
static void cycle_behind_parked(struct kunit *test)
{
	struct puppets *ps = start(test, 4);
	struct dxk_rejoin_op *a, *b, *behind;

	ps->e->swept = true;
	post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_work(ps, keyed_worker(ps, 1));
	puppet_post(ps, 1, 0, 0);
	puppet_work(ps, keyed_worker(ps, 2));
	a = keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false);
	b = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	EXPECT(ASLEEP(a) && ASLEEP(b));
	post(ps, ps->main, 3);
	puppet_work(ps, keyed_worker(ps, 3));
	post(ps, ps->main, 9);
	spin_lock(&ps->e->lock);
	dxk_owner_owe(ps->e, dxk_owner_find(&ps->e->owners, ps->main->space, 9));
	spin_unlock(&ps->e->lock);
	behind = keyed_call(ps, keyed_worker(ps, 3), 2, 1, false, false);
	EXPECT_IS(behind->err, -EDEADLK);
	EXPECT_IS(puppet_time_up(ps, &b->w), -ETIMEDOUT);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(a->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	puppet_end(ps, keyed_worker(ps, 3), 0, 0);
	dxk_sweep(ps->e, true);
	dxk_sweep_end(ps->e);
	keyed_end(ps);
}

/* Y-1: the one that was no part of it goes, and leaves no result: the Monitor looks */
static void cycle_vanished(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_rejoin_op *a, *b;

	post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_work(ps, keyed_worker(ps, 1));
	puppet_post(ps, 1, 0, 0);
	puppet_work(ps, keyed_worker(ps, 2));
	a = keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false);
	b = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
	EXPECT(ASLEEP(a) && ASLEEP(b));
	EXPECT(!ps->e->waits.unsure);
	ps->e->dormant[DXK_MONITOR] = true;
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	EXPECT(ASLEEP(a) && ASLEEP(b));
	EXPECT(ps->e->waits.unsure);
	EXPECT(ps->kick & BIT(DXK_MONITOR));
	EXPECT_IS(puppet_time_up(ps, &b->w), -ETIMEDOUT);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(a->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* The same where another one, who waits for a time only, came before the worker */
static void cycle_vanished_of_two(struct kunit *test)
{
	struct puppets *ps = start(test, 4);
	struct dxk_rejoin_op *a, *b, *timed;

	post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_work(ps, keyed_worker(ps, 1));
	puppet_post(ps, 1, 0, 0);
	puppet_work(ps, keyed_worker(ps, 2));
	a = keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false);
	timed = keyed_call(ps, keyed_worker(ps, 3), 1, 1, false, true);
	b = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
	EXPECT(ASLEEP(a) && ASLEEP(timed) && ASLEEP(b));
	EXPECT(!ps->e->waits.unsure);
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	EXPECT(ps->e->waits.unsure);
	EXPECT_IS(puppet_time_up(ps, &timed->w), -ETIMEDOUT);
	EXPECT_IS(puppet_time_up(ps, &b->w), -ETIMEDOUT);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(a->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* ... and where nobody sleeps for the owner, but a request waits for a result of it */
static void cycle_vanished_of_a_wait(struct kunit *test)
{
	static const struct dxk_wait result_of_1 = { .wait = DXK_WAIT_RESULT, .owner = 1 };
	struct puppets *ps = start(test, 3);
	struct dxk_rejoin_op *r;
	struct dxk_rqe *waits;

	post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	puppet_work(ps, keyed_worker(ps, 0));
	waits = puppet_work(ps, keyed_worker(ps, 1));
	puppet_post(ps, 1, 0, 0);
	puppet_work(ps, keyed_worker(ps, 2));
	EXPECT_IS(dxk_wait_set(keyed_worker(ps, 1), waits, &result_of_1), 0);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(waits->state, DXK_WAITING);
	r = keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false);
	EXPECT(ASLEEP(r));
	EXPECT(!ps->e->waits.unsure);
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	EXPECT_IS(waits->state, DXK_WAITING);
	EXPECT(ps->e->waits.unsure);
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == waits);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

static u32 awake(struct dxk_rejoin_op *const *r, u32 nr)
{
	u32 told = 0;

	while (nr--)
		told += !ASLEEP(r[nr]);
	return told;
}

/*
 * Y-1: a circle too long to be found stands still until a Stop. Each look at one of it costs two
 * searches, for what could be nested, and for the circle: a lock hold has no more than one.
 */
static void cycle_ring_stopped(struct kunit *test)
{
	struct puppets *ps = start(test, MANY);
	struct dxk_stop_op stop = { .gen = ps->e->run.gen, .cancel = true };
	struct dxk_rejoin_op *r[MANY];
	u32 i, told = 0;

	ps->e->swept = true;
	for (i = 0; i < MANY; i++) {
		post(ps, ps->main, 1 + i);
		puppet_work(ps, keyed_worker(ps, i));
	}
	for (i = 0; i < MANY; i++) {
		r[i] = keyed_call(ps, keyed_worker(ps, i), 1 + (i + 1) % MANY, 1, true, false);
		EXPECT(ASLEEP(r[i]));
	}
	for (i = 0; told < MANY && i < 9999; i++) {
		u32 before = told;

		if (!i || stop.more)
			puppet_do(ps, &stop.op, dxk_stop_begin_run);
		else
			dxk_sweep(ps->e, true);
		told = awake(r, MANY);
		EXPECT(told <= before + 1);
	}
	EXPECT_IS(told, MANY);
	for (i = 0; i < MANY; i++) {
		EXPECT_IS(r[i]->err, -ESHUTDOWN);
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	}
	dxk_sweep_end(ps->e);
	keyed_end(ps);
}

/*
 * Y-1: of an owner whose purge is under way nothing is met that it has still to go through; one
 * that it does not end may be a link of a circle: the Monitor looks.
 */
static void cycle_purged_link(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_wakes wakes = { .spent = DXK_HOLD_BUDGET };
	struct dxk_rejoin_op *a, *b;
	LIST_HEAD(ended);

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 0));
	keyed_send(ps, ps->main, 8, 2, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 1));
	b = keyed_call(ps, keyed_worker(ps, 1), 1, 1, false, false);
	EXPECT(ASLEEP(b));
	ps->e->swept = true;
	spin_lock(&ps->e->lock);
	dxk_purge_begin(ps->e, dxk_owner_find(&ps->e->owners, ps->main->space, 2));
	/* the budget of the hold is spent */
	dxk_purge_some(ps->e, &ended, &wakes);
	spin_unlock(&ps->e->lock);
	a = keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false);
	while (!list_empty(&ps->e->purges.owners))
		dxk_sweep(ps->e, true);
	EXPECT(ASLEEP(a) && ps->e->waits.unsure);
	EXPECT_IS(puppet_time_up(ps, &a->w), -ETIMEDOUT);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT_IS(b->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	dxk_sweep_end(ps->e);
	keyed_end(ps);
}

/* One that sleeps for room, and would wait for itself by then, is refused once, and counted once. */
static void cycle_of_a_sleeper(struct kunit *test)
{
	static const struct dxk_post_more for_1 = { .wait = { .wait = DXK_WAIT_JOIN, .owner = 1 } };
	static const struct dxk_post_more for_2 = { .wait = { .wait = DXK_WAIT_JOIN, .owner = 2 } };
	struct dxk_policy policy = puppet_policy(1);
	struct dxk_post_op *sleeper, *p;
	struct puppets *ps;

	policy.ready_entries = 1;
	ps = keyed_start(test, &policy, 1);
	puppet_post(ps, 1, 0, 0);
	/* nothing of 2 is to come, so it needs room only */
	sleeper = puppet_poster(ps, puppet_client(ps));
	keyed_add(ps, sleeper, 1, 0, PXR_WAIT | PXR_WAITIF_BUSY, &for_2);
	puppet_posts(ps, sleeper);
	EXPECT(ASLEEP(sleeper));
	p = puppet_poster(ps, ps->main);
	keyed_add(ps, p, 2, 0, PXR_WAIT, &for_1);
	puppet_posts(ps, p);
	EXPECT_IS(p->err, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	EXPECT(!ASLEEP(sleeper));
	EXPECT_IS(sleeper->err, -EDEADLK);
	EXPECT_IS(ps->e->stats.deadlocks, 1);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/*
 * D-14, AG-25: of those that are notified together the first has the key, and the others sleep until
 * it is theirs: the first may not wait for one of them.
 */
static void cycle_notified(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_key_op *k[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		keyed_send(ps, ps->main, 7, 1 + i, DXK_REENTRY_NONE);
		puppet_work(ps, keyed_worker(ps, i));
		k[i] = puppet_key(ps, keyed_worker(ps, i), DXK_KEY_WAIT);
		EXPECT(ASLEEP(k[i]));
	}
	keyed_send(ps, ps->main, 7, 3, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 2));
	/* somebody may yet notify the first one */
	EXPECT(ASLEEP(keyed_call(ps, keyed_worker(ps, 2), 1, 1, false, true)));
	EXPECT_IS(puppet_time_up(ps, ps->calls->w), -ETIMEDOUT);
	puppet_key(ps, keyed_worker(ps, 2), DXK_KEY_NOTIFY_ALL);
	EXPECT(!ASLEEP(k[0]));
	EXPECT(ASLEEP(k[1]));
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false)->err, -EDEADLK);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(!ASLEEP(k[1]));
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	keyed_end(ps);
}

static struct kunit_case cycle_cases[] = {
	KUNIT_CASE(cycle_crossed),
	KUNIT_CASE(cycle_of_a_sleeper),
	KUNIT_CASE(cycle_crossed_owed),
	KUNIT_CASE(cycle_ring),
	KUNIT_CASE(cycle_or),
	KUNIT_CASE(cycle_min),
	KUNIT_CASE(cycle_crossed_keys),
	KUNIT_CASE(cycle_enter),
	KUNIT_CASE(cycle_entered),
	KUNIT_CASE(cycle_joins),
	KUNIT_CASE(cycle_enough),
	KUNIT_CASE(cycle_ripe),
	KUNIT_CASE(cycle_expire),
	KUNIT_CASE(cycle_stop),
	KUNIT_CASE(cycle_stop_begun),
	KUNIT_CASE(cycle_purge),
	KUNIT_CASE(cycle_closed),
	KUNIT_CASE(cycle_behind),
	KUNIT_CASE(cycle_behind_parked),
	KUNIT_CASE(cycle_vanished),
	KUNIT_CASE(cycle_vanished_of_two),
	KUNIT_CASE(cycle_vanished_of_a_wait),
	KUNIT_CASE(cycle_ring_stopped),
	KUNIT_CASE(cycle_purged_link),
	KUNIT_CASE(cycle_notified),
	{}
};

static struct kunit_suite cycle_suite = {
	.name = "dxk_cycle",
	.exit = puppets_end,
	.test_cases = cycle_cases,
};
kunit_test_suite(cycle_suite);
