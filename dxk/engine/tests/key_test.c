// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Keys: one turn at a time, who is next, and all ways out.
 */
#include "engine/cancel.h"
#include "engine/key.h"
#include "engine/key_call.h"
#include "engine/more.h"
#include "engine/tests/keyed.h"

#define OWNER		1
#define KEY		77
#define OTHER		78

static struct puppets *start(struct kunit *test, u32 workers, u32 entries)
{
	struct dxk_policy policy = puppet_policy(8);

	policy.ready_entries = entries;
	policy.prio_policy = PRIO_POLICY_AGERQS;
	return keyed_start(test, &policy, workers);
}

static struct dxk_rqe *post_by(struct puppets *ps, struct dxk_member *m, u64 key, s32 prio,
			       u32 attrs, int err)
{
	const struct dxk_post_more p = { .key = key };
	struct dxk_post_op *post = puppet_poster(ps, m);
	struct dxk_rqe *rqe = keyed_add(ps, post, OWNER, prio, attrs | PXR_KEY, &p);

	puppet_posts(ps, post);
	EXPECT_IS(post->err, err);
	return rqe;
}

static struct dxk_rqe *post(struct puppets *ps, u64 key, s32 prio)
{
	return post_by(ps, ps->main, key, prio, PXR_REJOIN, 0);
}

/* Is anything known of a key? */
static bool is_known(struct puppets *ps, u64 key)
{
	bool known;

	spin_lock(&ps->e->lock);
	known = dxk_key_find(ps->e, ps->main->space, key);
	spin_unlock(&ps->e->lock);
	return known;
}

static struct dxk_key *key_of(const struct dxk_rqe *rqe)
{
	return rqe->more->key;
}

static int answer(struct puppets *ps, struct dxk_member *m, u32 what)
{
	struct dxk_key_op *k = puppet_key(ps, m, what);

	EXPECT(k->w.done);
	return k->ret;
}

/* A sleep for a key ends early. */
static void awake(struct puppets *ps, struct dxk_key_op *k, int why)
{
	k->why = why;
	puppet_do(ps, &k->op, dxk_key_awake_run);
}

/*
 * A request of the first worker has left its key, which another one has, begun by the second or
 * not, and sleeps until it has it again.
 */
static struct dxk_key_op *comes_back(struct puppets *ps, bool begun, struct dxk_rqe **other)
{
	struct dxk_rqe *a = post(ps, KEY, 0);
	struct dxk_key_op *k;

	*other = post(ps, KEY, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE), 0);
	EXPECT_IS((*other)->state, DXK_READY);
	if (begun)
		EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == *other);
	k = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_ENTER);
	EXPECT_IS(ASLEEP(k), begun);
	return k;
}

/* AG-2, AG-3: one at a time, by priority, then in their order; other keys run beside */
static void key_order(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 4);
	struct dxk_rqe *a = post(ps, KEY, 5), *b = post(ps, KEY, 5), *c = post(ps, KEY, 5);
	struct dxk_rqe *o = post(ps, OTHER, 1), *d = post(ps, KEY, 7), *e = post(ps, KEY, 6);

	/* the more urgent one stands for the key until somebody has it */
	keyed_is_held(ps, a);
	keyed_is_held(ps, b);
	EXPECT_IS(d->state, DXK_READY);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 2);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == d);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == o);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 0);
	keyed_then(ps, keyed_worker(ps, 0), e);
	keyed_then(ps, keyed_worker(ps, 0), a);
	keyed_then(ps, keyed_worker(ps, 0), b);
	keyed_then(ps, keyed_worker(ps, 0), c);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(!is_known(ps, KEY));
	keyed_end(ps);
}

/* S-2 behind a key: who is less urgent has aged when a later one comes */
static void key_ages(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	struct dxk_rqe *a = post(ps, KEY, 0), *low = post(ps, KEY, 5), *high;
	u32 i;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == low);
	low = post(ps, KEY, 1);
	for (i = 0; i < 3; i++)
		dxk_tick(ps->e);
	high = post(ps, KEY, 3);
	EXPECT_IS(a->state, DXK_WAITING);
	keyed_then(ps, keyed_worker(ps, 0), low);
	EXPECT_IS(low->prio, 4);
	EXPECT_IS(low->inspect, 3);
	keyed_then(ps, keyed_worker(ps, 0), a);
	keyed_then(ps, keyed_worker(ps, 0), high);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* Nobody ages while it executes: who is begun anew may have been overtaken meanwhile. */
static void key_redo_has_not_aged(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 8);
	struct dxk_rqe *a = post_by(ps, ps->main, KEY, 4, PXR_REJOIN | PXR_REDO, 0), *b;
	u32 i;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	b = post(ps, KEY, 1);
	for (i = 0; i < 4; i++)
		dxk_tick(ps->e);
	keyed_is_held(ps, b);
	puppet_dies(ps, keyed_worker(ps, 0));
	EXPECT_IS(a->state, DXK_WAITING);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	keyed_then(ps, keyed_worker(ps, 1), a);
	EXPECT_IS(a->attempts, 2);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

/* Who slept for the key has died: whoever executes the request next has it, and may say so. */
static void key_redo_is_back(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 8);
	struct dxk_rqe *a = post_by(ps, ps->main, KEY, 0, PXR_REJOIN | PXR_REDO, 0);
	struct dxk_rqe *b = post(ps, KEY, 0);
	struct dxk_key_op *k;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE), 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	k = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_ENTER);
	EXPECT(ASLEEP(k));
	awake(ps, k, -ERESTARTSYS);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(a->more->at_key, DXK_KEY_HAS);
	puppet_dies(ps, keyed_worker(ps, 0));
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == a);
	EXPECT_IS(answer(ps, keyed_worker(ps, 1), DXK_KEY_ENTER), -EALREADY);
	EXPECT_IS(answer(ps, keyed_worker(ps, 1), DXK_KEY_LEAVE), 0);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

/*
 * FO-38, AG-24: who comes back comes before one that is begun anew, and before all that come
 * later and are more urgent than that
 */
static void key_back_before_redo(struct kunit *test)
{
	struct puppets *ps = start(test, 3, 8);
	struct dxk_rqe *a = post(ps, KEY, 0), *c;
	struct dxk_rqe *b = post_by(ps, ps->main, KEY, 0, PXR_REJOIN | PXR_REDO, 0);
	struct dxk_key_op *k;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE), 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	k = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_ENTER);
	EXPECT(ASLEEP(k));
	puppet_dies(ps, keyed_worker(ps, 1));
	EXPECT(!ASLEEP(k));
	keyed_is_held(ps, b);
	c = post(ps, KEY, 5);
	keyed_is_held(ps, c);
	keyed_then(ps, keyed_worker(ps, 0), c);
	keyed_then(ps, keyed_worker(ps, 0), b);
	EXPECT_IS(b->attempts, 2);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* One that is cancelled waits to be notified no more, and goes on without its key at once */
static void key_wait_cancelled(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	struct dxk_rqe *a = post(ps, KEY, 0), *b = post(ps, KEY, 0);

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	a->more->cancelled = true;
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_WAIT), -ECANCELED);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE), -EPERM);
	EXPECT_IS(b->state, DXK_READY);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == b);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* AG-31: of one that sleeps until it is notified, and is cancelled itself, the call ends */
static void key_waiter_cancelled(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 8);
	struct dxk_rqe *a = post(ps, KEY, 0), *b = post(ps, KEY, 0);
	struct dxk_wakes wakes = { };
	struct dxk_key_op *w;
	LIST_HEAD(ended);

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	w = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_WAIT);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	EXPECT(ASLEEP(w));
	spin_lock(&ps->e->lock);
	EXPECT_IS(dxk_tell(ps->e, a, DXK_WAKE_CANCEL, &ended, &wakes), DXK_CANCEL_TOLD);
	spin_unlock(&ps->e->lock);
	dxk_wakes_flush(ps->e, &wakes);
	EXPECT(!ASLEEP(w));
	EXPECT_IS(w->ret, -ECANCELED);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* A key that is taken needs no room in the pool, and the next of it gets in whatever is there */
static void key_without_room(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 1);
	struct dxk_rqe *a = post(ps, KEY, 0), *b = post(ps, KEY, 0), *o;
	struct dxk_post_op *p;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	o = post(ps, OTHER, 0);
	p = puppet_poster(ps, ps->main);
	puppet_add(ps, p, OWNER, 0, PXR_REJOIN | PXR_WAITIF_BUSY);
	puppet_posts(ps, p);
	EXPECT(ASLEEP(p));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT_IS(b->state, DXK_READY);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 2);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == o);
	EXPECT(ASLEEP(p));
	keyed_then(ps, keyed_worker(ps, 0), b);
	EXPECT(!ASLEEP(p));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* All ways out of the turn: a wait, death with and without PXR_REDO, what cannot be fetched */
static void key_ways_out(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = start(test, 3, 8);
	struct dxk_rqe *a, *b, *urgent;
	struct dxk_next_op *n;

	a = post_by(ps, ps->main, KEY, 0, PXR_REJOIN | PXR_REDO, 0);
	b = post(ps, KEY, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	/* once more: behind the other */
	EXPECT_IS(dxk_wait_set(keyed_worker(ps, 0), a, &again), 0);
	keyed_then(ps, keyed_worker(ps, 0), b);
	keyed_is_held(ps, a);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	/* what could not be fetched keeps its key, unless a more urgent one has come */
	n = puppet_turn(ps, keyed_worker(ps, 0), 1);
	b = post(ps, KEY, 0);
	puppet_return(ps, n);
	EXPECT_IS(a->state, DXK_READY);
	n = puppet_turn(ps, keyed_worker(ps, 0), 1);
	urgent = post(ps, KEY, 5);
	keyed_is_held(ps, urgent);
	puppet_return(ps, n);
	keyed_is_held(ps, a);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == urgent);
	keyed_then(ps, keyed_worker(ps, 0), a);
	/* it is run again with its key */
	puppet_dies(ps, keyed_worker(ps, 0));
	EXPECT_IS(a->state, DXK_READY);
	keyed_is_held(ps, b);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == a);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	a = post(ps, KEY, 0);
	puppet_dies(ps, keyed_worker(ps, 1));
	EXPECT(puppet_work(ps, keyed_worker(ps, 2)) == a);
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	keyed_end(ps);
}

/* AG-16: a request moves on to another key, or to none */
static void key_moves(struct kunit *test)
{
	static const struct dxk_wait move = {
		.wait = DXK_WAIT_AGAIN | DXK_WAIT_MOVE, .key = OTHER,
	}, alone = { .wait = DXK_WAIT_AGAIN | DXK_WAIT_ALONE };
	struct puppets *ps = start(test, 2, 8);
	struct dxk_rqe *a = post(ps, KEY, 0), *b = post(ps, OTHER, 0);

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	EXPECT_IS(dxk_wait_set(keyed_worker(ps, 0), a, &move), 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(!is_known(ps, KEY));
	keyed_is_held(ps, a);
	keyed_then(ps, keyed_worker(ps, 1), a);
	b = post(ps, OTHER, 0);
	EXPECT_IS(dxk_wait_set(keyed_worker(ps, 1), a, &alone), 0);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(!key_of(a));
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == b);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == a);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

/* AG-21, AG-26: who has left its key goes on beside the next, and is no part of it */
static void key_leave(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 8);
	struct dxk_rqe *a = post(ps, KEY, 0), *b = post(ps, KEY, 0);
	struct dxk_key_op *k;

	puppet_post(ps, OWNER, 5, PXR_REJOIN);
	puppet_work(ps, keyed_worker(ps, 0));
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE), -EINVAL);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_ENTER), -EALREADY);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE), 0);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE), -EPERM);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_WAIT), -EPERM);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_NOTIFY), -EPERM);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	post(ps, KEY, 9);
	k = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_ENTER);
	EXPECT(ASLEEP(k));
	EXPECT_IS(dxk_crew_asleep(&ps->e->crew), 1);
	/* a signal ends the call, not the way back */
	awake(ps, k, -ERESTARTSYS);
	EXPECT_IS(k->ret, -ERESTARTSYS);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(key_of(a)->turn->rqe->param, a->param);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_ENTER), 0);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_ENTER), -EALREADY);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* AG-21: of two that come back the first one has it first */
static void key_enter_order(struct kunit *test)
{
	struct puppets *ps = start(test, 3, 8);
	struct dxk_key_op *k[2];
	u32 i;

	for (i = 0; i < 3; i++)
		post(ps, KEY, 0);
	for (i = 0; i < 2; i++) {
		puppet_work(ps, keyed_worker(ps, i));
		EXPECT_IS(answer(ps, keyed_worker(ps, i), DXK_KEY_LEAVE), 0);
	}
	puppet_work(ps, keyed_worker(ps, 2));
	for (i = 0; i < 2; i++) {
		k[i] = puppet_key(ps, keyed_worker(ps, i), DXK_KEY_ENTER);
		EXPECT(ASLEEP(k[i]));
	}
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	EXPECT(!ASLEEP(k[0]) && ASLEEP(k[1]));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(!ASLEEP(k[1]));
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

/* Y-1: who comes back to a key that another request of the same worker has would wait for itself */
static void key_enter_own(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_rqe *a = post(ps, KEY, 0), *b = post(ps, KEY, 0);

	EXPECT(puppet_work(ps, m) == a);
	EXPECT_IS(answer(ps, m, DXK_KEY_LEAVE), 0);
	EXPECT(puppet_work(ps, m) == b);
	EXPECT_IS(puppet_key_of(ps, m, a, DXK_KEY_ENTER)->ret, -EDEADLK);
	EXPECT_IS(a->more->at_key, DXK_KEY_OUT);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(answer(ps, m, DXK_KEY_ENTER), 0);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* AG-22, AG-31: its time to end is told to a worker, and takes no place at the key away */
static void key_wait_expires(struct kunit *test)
{
	const struct dxk_post_more p = { .key = KEY, .expire = os_now() + 3600ULL * NSEC_PER_SEC };
	struct puppets *ps = start(test, 2, 8);
	struct dxk_post_op *posts = puppet_poster(ps, ps->main);
	struct dxk_rqe *a = keyed_add(ps, posts, OWNER, 0, PXR_KEY | PXR_EXPIRE, &p), *b;
	struct dxk_key_op *w, *n;

	puppet_posts(ps, posts);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	w = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_WAIT);
	keyed_expires(ps, a);
	EXPECT(a->more->expired);
	EXPECT(ASLEEP(w));
	b = post(ps, KEY, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	n = puppet_key(ps, keyed_worker(ps, 1), DXK_KEY_NOTIFY);
	EXPECT_IS(w->ret, 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(!ASLEEP(n));
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

/* AG-23: it is the next when its time is over, also if another one is Ready, and has not begun */
static void key_wait_times_out(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	struct dxk_rqe *a = post(ps, KEY, 0), *b = post(ps, KEY, 0);
	struct dxk_key_op *w;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	w = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_WAIT);
	EXPECT_IS(b->state, DXK_READY);
	awake(ps, w, -ETIMEDOUT);
	EXPECT(!ASLEEP(w));
	EXPECT_IS(w->ret, -ETIMEDOUT);
	keyed_is_held(ps, b);
	keyed_then(ps, keyed_worker(ps, 0), b);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* AG-22 to AG-25: the waiters, the notifier, those that are Held */
static void key_notify(struct kunit *test)
{
	struct puppets *ps = start(test, 4, 8);
	struct dxk_rqe *rqe[4];
	struct dxk_key_op *w[3], *n;
	u32 i;

	for (i = 0; i < 4; i++)
		rqe[i] = post(ps, KEY, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == rqe[0]);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_NOTIFY), 0);
	for (i = 0; i < 3; i++) {
		w[i] = puppet_key(ps, keyed_worker(ps, i), DXK_KEY_WAIT);
		EXPECT(ASLEEP(w[i]));
		EXPECT(puppet_work(ps, keyed_worker(ps, i + 1)) == rqe[i + 1]);
	}
	rqe[3] = post(ps, KEY, 9);
	n = puppet_key(ps, keyed_worker(ps, 3), DXK_KEY_NOTIFY);
	EXPECT(ASLEEP(n));
	EXPECT(!ASLEEP(w[0]));
	EXPECT_IS(w[0]->ret, 0);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE), 0);
	EXPECT(!ASLEEP(n));
	/* the first has left: of those that still wait, in their order, then who notifies */
	n = puppet_key(ps, keyed_worker(ps, 3), DXK_KEY_NOTIFY_ALL);
	EXPECT(!ASLEEP(w[1]) && ASLEEP(w[2]) && ASLEEP(n));
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(!ASLEEP(w[2]) && ASLEEP(n));
	keyed_is_held(ps, rqe[3]);
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	EXPECT(!ASLEEP(n));
	puppet_end(ps, keyed_worker(ps, 3), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 3)) == rqe[3]);
	puppet_end(ps, keyed_worker(ps, 3), 0, 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* AG-25: who was told, and who told, come before one that came back earlier */
static void key_notify_first(struct kunit *test)
{
	struct puppets *ps = start(test, 3, 8);
	struct dxk_key_op *back, *told, *teller;
	u32 i;

	for (i = 0; i < 3; i++)
		post(ps, KEY, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE), 0);
	puppet_work(ps, keyed_worker(ps, 1));
	told = puppet_key(ps, keyed_worker(ps, 1), DXK_KEY_WAIT);
	puppet_work(ps, keyed_worker(ps, 2));
	back = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_ENTER);
	EXPECT(ASLEEP(told) && ASLEEP(back));
	teller = puppet_key(ps, keyed_worker(ps, 2), DXK_KEY_NOTIFY);
	EXPECT(!ASLEEP(told) && ASLEEP(teller) && ASLEEP(back));
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(!ASLEEP(teller) && ASLEEP(back));
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	EXPECT(!ASLEEP(back));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* AG-23: its time over, it comes back before all others; a signal does so without the call */
static void key_wait_ends(struct kunit *test)
{
	struct puppets *ps = start(test, 3, 8);
	struct dxk_key_op *w, *late;

	post(ps, KEY, 0);
	post(ps, KEY, 0);
	post(ps, KEY, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	w = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_WAIT);
	puppet_work(ps, keyed_worker(ps, 1));
	late = puppet_key(ps, keyed_worker(ps, 1), DXK_KEY_WAIT);
	puppet_work(ps, keyed_worker(ps, 2));
	awake(ps, w, -ETIMEDOUT);
	EXPECT(ASLEEP(w));
	awake(ps, late, -ERESTARTSYS);
	EXPECT_IS(late->ret, -EINTR);
	/* the later one is first, and has it when it asks */
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	EXPECT(ASLEEP(w));
	EXPECT_IS(answer(ps, keyed_worker(ps, 1), DXK_KEY_NOTIFY), -EPERM);
	EXPECT_IS(answer(ps, keyed_worker(ps, 1), DXK_KEY_ENTER), 0);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(!ASLEEP(w));
	EXPECT_IS(w->ret, -ETIMEDOUT);
	/* nobody is there: at once */
	w = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_WAIT);
	awake(ps, w, -ETIMEDOUT);
	EXPECT_IS(w->ret, -ETIMEDOUT);
	w = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_WAIT);
	awake(ps, w, -ERESTARTSYS);
	EXPECT_IS(w->ret, 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* AG-23: who begins to wait after all were told waits: its time over, it has its key at once */
static void key_wait_after_all(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 8);
	struct dxk_key_op *w;

	post(ps, KEY, 0);
	post(ps, KEY, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_WAIT);
	puppet_work(ps, keyed_worker(ps, 1));
	EXPECT(ASLEEP(puppet_key(ps, keyed_worker(ps, 1), DXK_KEY_NOTIFY_ALL)));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	w = puppet_key(ps, keyed_worker(ps, 1), DXK_KEY_WAIT);
	EXPECT(ASLEEP(w));
	awake(ps, w, -ETIMEDOUT);
	EXPECT(!ASLEEP(w));
	EXPECT_IS(w->ret, -ETIMEDOUT);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

/* AG-23: told with the others, then a signal, then Stop(cancel): its key it does not get again */
static void key_told_then_stop(struct kunit *test)
{
	struct puppets *ps = start(test, 3, 8);
	struct dxk_key_op *w[2], *n;
	u32 i;

	for (i = 0; i < 3; i++)
		post(ps, KEY, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	for (i = 0; i < 2; i++) {
		w[i] = puppet_key(ps, keyed_worker(ps, i), DXK_KEY_WAIT);
		puppet_work(ps, keyed_worker(ps, i + 1));
	}
	n = puppet_key(ps, keyed_worker(ps, 2), DXK_KEY_NOTIFY_ALL);
	EXPECT(!ASLEEP(w[0]) && ASLEEP(w[1]) && ASLEEP(n));
	awake(ps, w[1], -ERESTARTSYS);
	EXPECT_IS(w[1]->ret, -EINTR);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(n->ret, -ECANCELED);
	EXPECT_IS(answer(ps, keyed_worker(ps, 1), DXK_KEY_ENTER), -ECANCELED);
	for (i = 0; i < 3; i++)
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	keyed_end(ps);
}

/* A user has its share of the keys that may be held back, of those that may wait. */
static void key_hold_shares(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	const struct dxk_share *s;
	bool changed;
	u32 max = ps->e->policy.max_waiting, nr, i;

	ps->main->share = dxk_share_open(ps->e, 5, &changed);
	s = &ps->e->shares.of[ps->main->share];
	for (nr = 0; nr < max && !keyed_anybody(ps, dxk_key_hold_run, KEY + nr, false); nr++)
		EXPECT_IS(s->waiting, nr + 1);
	EXPECT_IS(nr, DIV_ROUND_UP(max * ps->e->policy.user_share, 100));
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY + nr, false), -EDQUOT);
	/* that one is its own already */
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY, true), 0);
	/* the owner of the context finds room */
	i = ps->main->share;
	ps->main->share = 0;
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY + nr, false), 0);
	EXPECT_IS(s->waiting, nr);
	while (nr + 1)
		EXPECT_IS(keyed_anybody(ps, dxk_key_release_run, KEY + nr--, false), 0);
	EXPECT_IS(s->waiting, 0);
	dxk_share_close(ps->e, i);
	keyed_end(ps);
}

/* AG-29, AG-30: held back, and posts refused; released by the last one who could */
static void key_hold(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 8);
	struct dxk_rqe *a, *b;

	EXPECT_IS(keyed_anybody(ps, dxk_key_release_run, KEY, false), -ENOENT);
	EXPECT_IS(keyed_anybody(ps, dxk_key_cancel_run, KEY, false), -ENOENT);
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY, false), 0);
	EXPECT_IS(ps->e->waits.unbegun, 1);
	a = post(ps, KEY, 0);
	b = post(ps, KEY, 0);
	keyed_is_held(ps, a);
	EXPECT_IS(keyed_anybody(ps, dxk_key_release_run, KEY, false), 0);
	EXPECT_IS(a->state, DXK_READY);
	/* who is Ready has not begun */
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY, true), 0);
	keyed_is_held(ps, a);
	post_by(ps, ps->main, KEY, 0, PXR_REJOIN, -ECANCELED);
	EXPECT_IS(keyed_anybody(ps, dxk_key_cancel_run, KEY, false), 2);
	EXPECT_IS(b->status, -ECANCELED);
	EXPECT_IS(a->status, -ECANCELED);
	EXPECT_IS(keyed_anybody(ps, dxk_key_release_run, KEY, false), 0);
	EXPECT(!is_known(ps, KEY));
	/* who executes goes on */
	a = post(ps, KEY, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY, false), 0);
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY, false), 0);
	b = post(ps, KEY, 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_is_held(ps, b);
	/* Stop releases what is held back */
	dxk_stop_begin(ps->e, ps->e->run.gen, false, false);
	EXPECT_IS(b->state, DXK_READY);
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY, false), -ESHUTDOWN);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == b);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* AG-30: of two keys that a Stop releases the one that was held back first is first */
static void key_hold_order(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	struct dxk_rqe *first, *second;

	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY, false), 0);
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, OTHER, false), 0);
	second = post(ps, OTHER, 0);
	first = post(ps, KEY, 0);
	keyed_is_held(ps, first);
	dxk_stop_begin(ps->e, ps->e->run.gen, false, false);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == first);
	keyed_then(ps, keyed_worker(ps, 0), second);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* The same of the keys of a space that ends */
static void key_hold_order_of_space(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	struct dxk_space *space = dxk_space_new(ps->e);
	struct dxk_rqe *first, *second;

	KUNIT_ASSERT_FALSE(test, IS_ERR(space));
	ps->main->space = space;
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY, false), 0);
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, OTHER, false), 0);
	second = post(ps, OTHER, 0);
	first = post(ps, KEY, 0);
	keyed_is_held(ps, first);
	ps->main->space = &ps->e->home;
	dxk_space_leave(ps->e, space);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == first);
	keyed_then(ps, keyed_worker(ps, 0), second);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* Who comes back executes: a key that is held back does not keep it from its key */
static void key_hold_and_enter(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	struct dxk_rqe *b;
	struct dxk_key_op *k = comes_back(ps, false, &b);

	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, KEY, false), 0);
	keyed_is_held(ps, b);
	EXPECT(!ASLEEP(k));
	EXPECT_IS(k->ret, 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_is_held(ps, b);
	EXPECT_IS(keyed_anybody(ps, dxk_key_release_run, KEY, false), 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == b);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* A request waits since it is Held: reports of long waits do not tell of it at once */
static void key_held_since(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	struct dxk_rqe *b;

	post(ps, KEY, 0);
	b = post(ps, KEY, 0);
	EXPECT(os_clock() - b->more->since < 1000000);
	EXPECT(os_clock() - b->more->heard < 1000000);
	puppet_work(ps, keyed_worker(ps, 0));
	keyed_then(ps, keyed_worker(ps, 0), b);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* DX-107: if a cancel ends all that there is, a Stop(drain) goes on */
static void key_cancel_amid_drain(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	struct puppet_stop *stop;

	post(ps, KEY, 0);
	post(ps, KEY, 0);
	dxk_stop_begin(ps->e, ps->e->run.gen, false, false);
	stop = puppet_stopper(ps);
	EXPECT(ASLEEP(stop));
	EXPECT_IS(keyed_anybody(ps, dxk_key_cancel_run, KEY, false), 2);
	EXPECT(!ASLEEP(stop));
	keyed_end(ps);
}

/* AG-31: all that waits is cancelled, who was begun is told, who waits to be notified, too */
static void key_cancel(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = start(test, 3, 8);
	struct dxk_rqe *a = post(ps, KEY, 9), *b = post(ps, KEY, 0), *c;
	struct dxk_key_op *w;
	u32 i;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	w = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_WAIT);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	c = post(ps, KEY, 3);
	EXPECT_IS(dxk_wait_set(keyed_worker(ps, 1), b, &again), 0);
	keyed_then(ps, keyed_worker(ps, 1), c);
	for (i = 0; i < 300; i++)
		post(ps, KEY, i % 3);
	/* one of them begun, and the waiter */
	EXPECT_IS(keyed_anybody(ps, dxk_key_cancel_run, KEY, false), 302);
	EXPECT(!ASLEEP(w));
	EXPECT_IS(w->ret, -ECANCELED);
	keyed_is_held(ps, b);
	EXPECT_IS(b->more->wake, DXK_WAKE_CANCEL);
	/* who has been told is not counted again */
	EXPECT_IS(keyed_anybody(ps, dxk_key_cancel_run, KEY, false), 0);
	keyed_then(ps, keyed_worker(ps, 1), b);
	w = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_ENTER);
	EXPECT(ASLEEP(w));
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(w->ret, 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* AG-31: what comes in the middle of that, and is more urgent, is cancelled instead of nobody */
static void key_cancel_amid_posts(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	struct dxk_rqe *a = post(ps, KEY, 9), *late, *last = NULL;
	struct dxk_key_op k = { .m = ps->main, .cookie = KEY };
	u32 i;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	for (i = 0; i < 300; i++)
		last = post(ps, KEY, 0);
	INIT_LIST_HEAD(&k.ended);
	puppet_do(ps, &k.op, dxk_key_cancel_run);
	EXPECT(k.more);
	keyed_is_held(ps, last);
	for (i = 0; i < 20; i++)
		post(ps, KEY, 1);
	late = post(ps, KEY, 0);
	do
		puppet_do(ps, &k.op, dxk_key_cancel_run);
	while (k.more);
	EXPECT_IS(k.ret, 320);
	EXPECT_IS(last->status, -ECANCELED);
	keyed_then(ps, keyed_worker(ps, 0), late);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/*
 * AG-31: who has the key and gives it up to a more urgent one in the middle of that is Held then,
 * and is none of those that were Held at its begin: all of these are cancelled.
 */
static void key_cancel_amid_yield(struct kunit *test)
{
	struct dxk_key_op k = { .cookie = KEY };
	struct puppets *ps = start(test, 1, 8);
	struct dxk_rqe *first, *last = NULL;
	u32 i;

	k.m = ps->main;
	first = post(ps, KEY, 5);
	for (i = 0; i < 80; i++)
		last = post(ps, KEY, 0);
	INIT_LIST_HEAD(&k.ended);
	puppet_do(ps, &k.op, dxk_key_cancel_run);
	EXPECT(k.more);
	EXPECT_IS(first->state, DXK_READY);
	keyed_is_held(ps, last);
	post(ps, KEY, 9);
	keyed_is_held(ps, first);
	while (k.more)
		puppet_do(ps, &k.op, dxk_key_cancel_run);
	EXPECT_IS(last->state, DXK_REJOIN);
	EXPECT_IS(k.ret, 82);
	EXPECT(!is_known(ps, KEY));
	keyed_end(ps);
}

/* The waiters of a key are told that were there when the cancel began, and no later ones. */
static void key_cancel_of_waiters(struct kunit *test)
{
	struct puppets *ps = start(test, 80, 8);
	struct dxk_key_op k = { .m = ps->main, .cookie = KEY }, *w[81];
	struct dxk_rqe *rqe;
	u32 i;

	for (i = 0; i < 80; i++) {
		rqe = post(ps, KEY, 0);
		EXPECT(puppet_work(ps, keyed_worker(ps, i)) == rqe);
		w[i] = puppet_key(ps, keyed_worker(ps, i), DXK_KEY_WAIT);
		EXPECT(ASLEEP(w[i]));
	}
	INIT_LIST_HEAD(&k.ended);
	puppet_do(ps, &k.op, dxk_key_cancel_run);
	EXPECT(k.more);
	EXPECT_IS(w[0]->ret, -ECANCELED);
	EXPECT(ASLEEP(w[79]));
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_ENTER), 0);
	w[80] = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_WAIT);
	EXPECT(ASLEEP(w[80]));
	while (k.more)
		puppet_do(ps, &k.op, dxk_key_cancel_run);
	EXPECT_IS(k.ret, 80);
	EXPECT_IS(w[79]->ret, -ECANCELED);
	EXPECT(ASLEEP(w[80]));
	EXPECT_IS(dxk_key_cancel(ps->main, KEY), 1);
	for (i = 0; i < 80; i++)
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	keyed_end(ps);
}

/* Stop(cancel): nobody sleeps for a key, what was begun has its last turn, one at a time */
static void key_stop_cancel(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = start(test, 2, 8);
	struct dxk_rqe *a = post(ps, KEY, 0), *b = post(ps, KEY, 0), *c;
	struct dxk_key_op *w;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	EXPECT_IS(dxk_wait_set(keyed_worker(ps, 0), a, &again), 0);
	keyed_then(ps, keyed_worker(ps, 0), b);
	w = puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_WAIT);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == a);
	c = post(ps, KEY, 5);
	EXPECT_IS(dxk_wait_set(keyed_worker(ps, 1), a, &again), 0);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(c->state, DXK_READY);
	keyed_is_held(ps, a);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(c->status, -ECANCELED);
	EXPECT_IS(w->ret, -ECANCELED);
	EXPECT_IS(a->state, DXK_READY);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_ENTER), -ECANCELED);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == a);
	EXPECT_IS(a->more->wake, DXK_WAKE_CANCEL);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_ENTER), 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* Stop(cancel): who comes back after a signal goes on without its key */
static void key_stop_after_signal(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 8);
	struct dxk_rqe *b;
	struct dxk_key_op *k = comes_back(ps, true, &b);

	awake(ps, k, -ERESTARTSYS);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(answer(ps, keyed_worker(ps, 0), DXK_KEY_ENTER), -ECANCELED);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* AG-3 against a sorted list: priorities and intervals at random, some in the midst */
static void key_order_at_random(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	u32 x = 12345, i, left = 0, posted = 0;
	struct dxk_rqe *rqe[64], *first = post(ps, KEY, 100), *got;
	s64 rank[64];

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == first);
	while (posted < 64 || left) {
		x = x * 1103515245 + 12345;
		if (posted < 64 && (x >> 16) % 3) {
			rqe[posted] = post(ps, KEY, (x >> 20) % 5);
			rank[posted] = (s64)rqe[posted]->prio - (s64)ps->e->ready.tick;
			posted++;
			left++;
			if ((x >> 24) % 4 == 0)
				dxk_tick(ps->e);
			continue;
		}
		if (!left)
			continue;
		puppet_end(ps, keyed_worker(ps, 0), 0, 0);
		got = puppet_work(ps, keyed_worker(ps, 0));
		for (first = NULL, i = 0; i < posted; i++) {
			static s64 best;

			if (rank[i] == S64_MIN)
				continue;
			if (!first || rank[i] > best) {
				first = rqe[i];
				best = rank[i];
			}
		}
		EXPECT(got == first);
		for (i = 0; i < posted; i++)
			if (rqe[i] == got)
				rank[i] = S64_MIN;
		left--;
	}
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* AG-7, S-10: so many of a key in a row, then one that waits as long and is as urgent */
static void key_batch(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 8);
	struct dxk_rqe *other, *rqe;
	u32 i;

	ps->e->policy.key_batch = 4;
	for (i = 0; i < 8; i++)
		post(ps, KEY, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	other = post(ps, OTHER, 0);
	for (i = 1; i < 4; i++) {
		rqe = puppet_fetch(puppet_end(ps, keyed_worker(ps, 0), 0, 1));
		EXPECT(rqe && key_of(rqe)->cookie == KEY);
	}
	EXPECT(puppet_fetch(puppet_end(ps, keyed_worker(ps, 0), 0, 1)) == other);
	/* what is more urgent does not wait for that */
	puppet_fetch(puppet_end(ps, keyed_worker(ps, 0), 0, 1));
	other = post(ps, OTHER, 1);
	EXPECT(puppet_fetch(puppet_end(ps, keyed_worker(ps, 0), 0, 1)) == other);
	for (i = 0; i < 3; i++) {
		puppet_end(ps, keyed_worker(ps, 0), 0, 0);
		puppet_work(ps, keyed_worker(ps, 0));
	}
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

static struct kunit_case key_cases[] = {
	KUNIT_CASE(key_order),
	KUNIT_CASE(key_ages),
	KUNIT_CASE(key_redo_has_not_aged),
	KUNIT_CASE(key_redo_is_back),
	KUNIT_CASE(key_back_before_redo),
	KUNIT_CASE(key_wait_cancelled),
	KUNIT_CASE(key_waiter_cancelled),
	KUNIT_CASE(key_without_room),
	KUNIT_CASE(key_ways_out),
	KUNIT_CASE(key_moves),
	KUNIT_CASE(key_leave),
	KUNIT_CASE(key_enter_order),
	KUNIT_CASE(key_enter_own),
	KUNIT_CASE(key_wait_expires),
	KUNIT_CASE(key_wait_times_out),
	KUNIT_CASE(key_notify),
	KUNIT_CASE(key_notify_first),
	KUNIT_CASE(key_wait_ends),
	KUNIT_CASE(key_wait_after_all),
	KUNIT_CASE(key_told_then_stop),
	KUNIT_CASE(key_hold),
	KUNIT_CASE(key_hold_order),
	KUNIT_CASE(key_hold_order_of_space),
	KUNIT_CASE(key_hold_shares),
	KUNIT_CASE(key_hold_and_enter),
	KUNIT_CASE(key_held_since),
	KUNIT_CASE(key_cancel),
	KUNIT_CASE(key_cancel_amid_drain),
	KUNIT_CASE(key_cancel_amid_posts),
	KUNIT_CASE(key_cancel_amid_yield),
	KUNIT_CASE(key_cancel_of_waiters),
	KUNIT_CASE(key_stop_cancel),
	KUNIT_CASE(key_stop_after_signal),
	KUNIT_CASE(key_order_at_random),
	KUNIT_CASE(key_batch),
	{}
};

static struct kunit_suite key_suite = {
	.name = "dxk_key",
	.exit = puppets_end,
	.test_cases = key_cases,
};
kunit_test_suite(key_suite);
