// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Block marks: who takes the place, what is refused, and what they count for.
 */
#include "engine/block.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/onblock.h"
#include "engine/tests/puppet.h"

#define OWNER		1
#define KEY		77

/* @workers: so many join, and two spares may */
static struct puppets *start(struct kunit *test, u32 workers, u32 min_spares)
{
	struct dxk_policy p = puppet_policy(workers);
	struct puppets *ps;

	p.on_block = DXK_ON_BLOCK_SPARE;
	p.max_spares = 2;
	p.min_spares = min_spares;
	p.max_waiting = 64;
	ps = puppets_start(test, &p);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	while (workers--)
		puppet_worker(ps);
	return ps;
}

static void end(struct puppets *ps)
{
	EXPECT_IS(ps->e->crew.marked + ps->e->crew.dozing, 0);
	dxk_names_unstart(ps->e);
}

static struct dxk_member *worker(struct puppets *ps, u32 i)
{
	return ps->member[1 + i];
}

static struct dxk_member *spare(struct puppets *ps)
{
	return puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, true);
}

/* It is given a request, a new one. */
static struct dxk_rqe *works(struct puppets *ps, struct dxk_member *m)
{
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	return puppet_work(ps, m);
}

static struct dxk_rqe *post_key(struct puppets *ps, s32 prio)
{
	const struct dxk_post_more p = { .key = KEY };
	struct dxk_post_op *post = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe;

	puppet_add(ps, post, OWNER, prio, PXR_REJOIN | PXR_KEY);
	rqe = list_last_entry(&post->rqes, struct dxk_rqe, link);
	ASSERT_IS(dxk_more_make(ps->main, rqe, &p), 0);
	puppet_posts(ps, post);
	EXPECT_IS(post->err, 0);
	return rqe;
}

static int block(struct puppets *ps, struct dxk_member *m)
{
	struct dxk_key_op *k = puppet_block(ps, m, false, false);

	EXPECT(!ASLEEP(k));
	return k->ret;
}

static int unblock(struct puppets *ps, struct dxk_member *m)
{
	struct dxk_key_op *k = puppet_key(ps, m, DXK_KEY_UNBLOCK);

	EXPECT(!ASLEEP(k));
	return k->ret;
}

static void awake(struct puppets *ps, struct dxk_key_op *k, int why)
{
	k->why = why;
	puppet_do(ps, &k->op, dxk_mark_awake_run);
}

static struct dxk_crew *crew(struct puppets *ps)
{
	return &ps->e->crew;
}

/* FO-35, FO-37, FO-40: its place is another one's, and it stays what it is */
static void block_place(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 0);
	struct dxk_next_op *n = puppet_turn(ps, spare(ps), 1);
	struct dxk_rqe *rqe = works(ps, worker(ps, 0));

	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	EXPECT(ASLEEP(n));
	EXPECT_IS(block(ps, worker(ps, 0)), 0);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(rqe->state, DXK_BUSY);
	EXPECT_IS(dxk_member_home_state(worker(ps, 0)), DXK_M_BLOCKED);
	EXPECT_IS(crew(ps)->asleep[DXK_USER], 1);
	EXPECT_IS(crew(ps)->extra[DXK_USER], 1);
	EXPECT_IS(ps->e->stats.blocked, 1);
	puppet_fetch(n);
	/* as many run as there are workers, no more */
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	EXPECT_IS(unblock(ps, worker(ps, 0)), 0);
	EXPECT_IS(crew(ps)->asleep[DXK_USER], 0);
	EXPECT_IS(dxk_member_home_state(worker(ps, 0)), DXK_M_BUSY);
	EXPECT(ASLEEP(puppet_end(ps, ps->member[2], 0, 1)));
	end(ps);
}

/* FO-41, D-18: nobody could take the place: nothing has changed, unless it is forced */
static void block_refused(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 0);
	struct dxk_rqe *rqe = post_key(ps, 0);
	struct dxk_key_op *k;

	EXPECT(puppet_work(ps, worker(ps, 0)) == rqe);
	EXPECT_IS(block(ps, worker(ps, 0)), -EAGAIN);
	EXPECT_IS(ps->e->stats.block_refused, 1);
	EXPECT_IS(crew(ps)->marked + crew(ps)->asleep[DXK_USER], 0);
	EXPECT_IS(rqe->more->at_key, DXK_KEY_HAS);
	EXPECT_IS(unblock(ps, worker(ps, 0)), -EPERM);
	/* nobody makes one: it is not waited for */
	k = puppet_block(ps, worker(ps, 0), false, true);
	EXPECT(!ASLEEP(k));
	EXPECT_IS(k->ret, -EAGAIN);
	k = puppet_block(ps, worker(ps, 0), true, false);
	EXPECT_IS(k->ret, 0);
	EXPECT_IS(crew(ps)->marked, 1);
	EXPECT_IS(rqe->more->at_key, DXK_KEY_OUT);
	EXPECT_IS(unblock(ps, worker(ps, 0)), 0);
	EXPECT_IS(rqe->more->at_key, DXK_KEY_HAS);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* FO-36: who manages has asked once, and is about to sleep until there is use: it is waited for */
static void block_before_manager(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 0);
	struct dxk_rqe *rqe = works(ps, worker(ps, 0));
	struct dxk_key_op *k;

	puppet_manager(ps, false);
	k = puppet_block(ps, worker(ps, 0), false, true);
	EXPECT(ASLEEP(k));
	EXPECT_IS(puppet_manager(ps, true)->spares, 1);
	EXPECT(ASLEEP(puppet_turn(ps, spare(ps), 1)));
	EXPECT(!ASLEEP(k));
	EXPECT_IS(k->ret, 0);
	EXPECT_IS(rqe->state, DXK_BUSY);
	EXPECT_IS(unblock(ps, worker(ps, 0)), 0);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* FO-36: the kernel makes its own: without a manager it is waited for as well */
static void block_kernel(struct kunit *test)
{
	struct dxk_policy p = puppet_policy(1);
	struct puppets *ps;
	struct dxk_member *m;
	struct dxk_key_op *k;

	p.kernel_threads = 1;
	p.on_block = DXK_ON_BLOCK_SPARE;
	p.max_spares = 1;
	ps = puppets_start(test, &p);
	m = puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, false);
	puppet_post(ps, OWNER, 0, PXR_REJOIN | PXR_KERNEL);
	puppet_work(ps, m);
	k = puppet_block(ps, m, false, true);
	EXPECT(ASLEEP(k));
	EXPECT_IS(ps->kick & BIT(DXK_MONITOR), BIT(DXK_MONITOR));
	puppet_turn(ps, puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, true), 1);
	EXPECT(!ASLEEP(k));
	EXPECT_IS(k->ret, 0);
	EXPECT_IS(unblock(ps, m), 0);
	puppet_end(ps, m, 0, 0);
}

/* FO-39: twice, and without; what else it may not do in between; the turn's end ends it */
static void block_marks(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 0);
	struct dxk_rqe *rqe = post_key(ps, 0);
	struct dxk_next_op *n;

	EXPECT(puppet_work(ps, worker(ps, 0)) == rqe);
	n = puppet_turn(ps, worker(ps, 1), 1);
	EXPECT(ASLEEP(n));
	EXPECT_IS(unblock(ps, worker(ps, 0)), -EPERM);
	EXPECT_IS(block(ps, worker(ps, 0)), 0);
	EXPECT_IS(block(ps, worker(ps, 0)), -EBUSY);
	EXPECT_IS(puppet_key(ps, worker(ps, 0), DXK_KEY_ENTER)->ret, -EBUSY);
	EXPECT_IS(puppet_key(ps, worker(ps, 0), DXK_KEY_WAIT)->ret, -EBUSY);
	EXPECT_IS(unblock(ps, worker(ps, 0)), 0);
	EXPECT_IS(unblock(ps, worker(ps, 0)), -EPERM);
	/* it ends without coming back */
	EXPECT_IS(block(ps, worker(ps, 0)), 0);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT_IS(crew(ps)->marked + crew(ps)->asleep[DXK_USER], 0);
	/* it dies */
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	puppet_fetch(n);
	EXPECT_IS(puppet_block(ps, worker(ps, 1), true, false)->ret, 0);
	puppet_dies(ps, worker(ps, 1));
	EXPECT_IS(crew(ps)->marked + crew(ps)->asleep[DXK_USER], 0);
	EXPECT_IS(crew(ps)->present, 1);
	end(ps);
}

/* FO-38, S-14, D-19: its key is another one's, and its own again before all that are Held */
static void block_key(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 0);
	struct dxk_rqe *a = post_key(ps, 0), *b = post_key(ps, 0), *c;
	struct dxk_next_op *n;
	struct dxk_key_op *k;

	EXPECT(puppet_work(ps, worker(ps, 0)) == a);
	n = puppet_turn(ps, worker(ps, 1), 1);
	EXPECT(ASLEEP(n));
	EXPECT_IS(block(ps, worker(ps, 0)), 0);
	EXPECT(!ASLEEP(n));
	EXPECT(puppet_fetch(n) == b);
	c = post_key(ps, 100);
	k = puppet_key(ps, worker(ps, 0), DXK_KEY_UNBLOCK);
	EXPECT(ASLEEP(k));
	EXPECT_IS(crew(ps)->marked, 0);
	EXPECT_IS(crew(ps)->asleep[DXK_USER], 1);
	/* a signal ends the call, and not the way back */
	awake(ps, k, -ERESTARTSYS);
	EXPECT_IS(k->ret, -ERESTARTSYS);
	EXPECT_IS(block(ps, worker(ps, 0)), -EPERM);
	k = puppet_key(ps, worker(ps, 0), DXK_KEY_UNBLOCK);
	EXPECT(ASLEEP(k));
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT(!ASLEEP(k));
	EXPECT_IS(k->ret, 0);
	EXPECT_IS(a->more->at_key, DXK_KEY_HAS);
	EXPECT_IS(c->more->at_key, DXK_KEY_HELD);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, worker(ps, 0)) == c);
	/* what is cancelled meanwhile goes on without its key */
	n = puppet_turn(ps, worker(ps, 1), 1);
	EXPECT_IS(block(ps, worker(ps, 0)), 0);
	b = post_key(ps, 0);
	EXPECT(puppet_fetch(n) == b);
	c->more->cancelled = true;
	EXPECT_IS(unblock(ps, worker(ps, 0)), -ECANCELED);
	EXPECT_IS(crew(ps)->marked, 0);
	puppet_end(ps, worker(ps, 1), 0, 0);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/*
 * FO-38, FO-39: cancelled after a signal has ended its way back, it says once more that it goes on,
 * and does so without its key. Who has left the key otherwise, and is not to end, may not say so.
 */
static void block_key_signal_then_cancel(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 0);
	struct dxk_rqe *a = post_key(ps, 0), *b = post_key(ps, 0);
	struct dxk_next_op *n;
	struct dxk_key_op *k;
	u32 nr[DXK_PLACES];

	EXPECT(puppet_work(ps, worker(ps, 0)) == a);
	n = puppet_turn(ps, worker(ps, 1), 1);
	EXPECT_IS(block(ps, worker(ps, 0)), 0);
	EXPECT(puppet_fetch(n) == b);
	k = puppet_key(ps, worker(ps, 0), DXK_KEY_UNBLOCK);
	EXPECT(ASLEEP(k));
	awake(ps, k, -ERESTARTSYS);
	EXPECT_IS(k->ret, -ERESTARTSYS);
	EXPECT_IS(puppet_key(ps, worker(ps, 1), DXK_KEY_LEAVE)->ret, 0);
	EXPECT_IS(a->more->at_key, DXK_KEY_HAS);
	EXPECT_IS(unblock(ps, worker(ps, 1)), -EPERM);
	EXPECT_IS(b->more->at_key, DXK_KEY_OUT);
	EXPECT_IS(unblock(ps, worker(ps, 0)), 0);
	/* the same again, and it is cancelled before it comes back */
	EXPECT_IS(puppet_block(ps, worker(ps, 0), true, false)->ret, 0);
	EXPECT_IS(puppet_key(ps, worker(ps, 1), DXK_KEY_ENTER)->ret, 0);
	k = puppet_key(ps, worker(ps, 0), DXK_KEY_UNBLOCK);
	EXPECT(ASLEEP(k));
	awake(ps, k, -ERESTARTSYS);
	dxk_purge_owner(ps->main, OWNER, nr);
	EXPECT_IS(a->more->at_key, DXK_KEY_OUT);
	EXPECT_IS(unblock(ps, worker(ps, 0)), -ECANCELED);
	EXPECT_IS(crew(ps)->marked, 0);
	EXPECT_IS(b->more->at_key, DXK_KEY_HAS);
	puppet_end(ps, worker(ps, 1), 0, 0);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* Nobody else is there: what has its key, and has not begun, gives it back. */
static void block_key_of_ready(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 0);
	struct dxk_rqe *a = post_key(ps, 0), *b = post_key(ps, 9);

	EXPECT(puppet_work(ps, worker(ps, 0)) == b);
	EXPECT_IS(puppet_block(ps, worker(ps, 0), true, false)->ret, 0);
	EXPECT_IS(a->state, DXK_READY);
	EXPECT_IS(unblock(ps, worker(ps, 0)), 0);
	EXPECT_IS(b->more->at_key, DXK_KEY_HAS);
	EXPECT_IS(a->state, DXK_WAITING);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, worker(ps, 0)) == a);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* One that sleeps in a call between its marks counts once, and is no stall unless it does. */
static void block_counts_once(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 0);
	struct dxk_rejoin_op *r;

	works(ps, worker(ps, 0));
	puppet_block(ps, worker(ps, 0), true, false);
	EXPECT_IS(dxk_crew_awake(crew(ps)), 1);
	spin_lock(&ps->e->lock);
	EXPECT(!dxk_nobody_can_run(ps->e));
	spin_unlock(&ps->e->lock);
	puppet_post_nr(ps, worker(ps, 0), 1, 2, PXR_REJOIN);
	r = puppet_rejoin(ps, worker(ps, 0), 2, 1, 1);
	EXPECT(ASLEEP(r));
	EXPECT_IS(crew(ps)->asleep[DXK_USER], 1);
	EXPECT_IS(crew(ps)->dozing, 1);
	EXPECT_IS(dxk_crew_awake(crew(ps)), 0);
	spin_lock(&ps->e->lock);
	EXPECT(dxk_nobody_can_run(ps->e));
	spin_unlock(&ps->e->lock);
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	EXPECT_IS(crew(ps)->asleep[DXK_USER], 1);
	EXPECT_IS(crew(ps)->dozing, 0);
	dxk_member_set_state(worker(ps, 0), DXK_M_BLOCKED);
	EXPECT_IS(unblock(ps, worker(ps, 0)), 0);
	EXPECT_IS(crew(ps)->asleep[DXK_USER], 0);
	end(ps);
}

/* FO-36: nobody is there yet: it waits until a spare is parked, or its time is over */
static void block_waits(struct kunit *test)
{
	struct puppets *ps = start(test, 2, 0);
	struct dxk_crew_op *c = puppet_manager(ps, true);
	struct dxk_key_op *k, *other;

	works(ps, worker(ps, 0));
	works(ps, worker(ps, 1));
	EXPECT(ASLEEP(c));
	k = puppet_block(ps, worker(ps, 0), false, true);
	EXPECT(ASLEEP(k));
	EXPECT(!ASLEEP(c));
	EXPECT_IS(c->spares, 1);
	EXPECT_IS(crew(ps)->marked + crew(ps)->asleep[DXK_USER], 0);
	EXPECT_IS(ps->e->stats.place_blocks, 1);
	EXPECT_IS(ps->e->stats.key_blocks, 0);
	other = puppet_block(ps, worker(ps, 1), false, true);
	EXPECT(ASLEEP(other));
	awake(ps, other, -ETIMEDOUT);
	EXPECT_IS(other->ret, -EAGAIN);
	EXPECT_IS(crew(ps)->nr_askers[DXK_USER], 1);
	other = puppet_block(ps, worker(ps, 1), false, true);
	awake(ps, other, -ERESTARTSYS);
	EXPECT_IS(other->ret, -ERESTARTSYS);
	other = puppet_block(ps, worker(ps, 1), false, true);
	/* the manager is on its way back */
	EXPECT(list_empty(&crew(ps)->managers));
	EXPECT(ASLEEP(puppet_turn(ps, spare(ps), 1)));
	/* one is enough for both: it calls for more when there is work for them */
	EXPECT(!ASLEEP(k));
	EXPECT_IS(k->ret, 0);
	EXPECT(!ASLEEP(other));
	EXPECT_IS(crew(ps)->marked, 2);
	EXPECT_IS(crew(ps)->nr_askers[DXK_USER], 0);
	unblock(ps, worker(ps, 0));
	unblock(ps, worker(ps, 1));
	end(ps);
}

/* FO-36: of many that wait for a spare a lock hold lets no more go on than it can afford */
static void block_waits_of_many(struct kunit *test)
{
	struct dxk_key_op *k[DXK_HOLD_BUDGET / 2 + 5];
	struct puppets *ps = start(test, ARRAY_SIZE(k), 0);
	struct dxk_wakes wakes;
	u32 i, asleep = 0;

	puppet_manager(ps, true);
	for (i = 0; i < ARRAY_SIZE(k); i++) {
		works(ps, worker(ps, i));
		k[i] = puppet_block(ps, worker(ps, i), false, true);
		EXPECT(ASLEEP(k[i]));
	}
	/* what a hold leaves over is left to thread 700 */
	ps->e->swept = true;
	EXPECT(ASLEEP(puppet_turn(ps, spare(ps), 1)));
	EXPECT_IS(crew(ps)->nr_askers[DXK_USER], ARRAY_SIZE(k));
	dxk_wakes_init(&wakes);
	spin_lock(&ps->e->lock);
	dxk_mark_grant(ps->e, DXK_USER, &wakes);
	spin_unlock(&ps->e->lock);
	dxk_wakes_flush(ps->e, &wakes);
	for (i = 0; i < ARRAY_SIZE(k); i++)
		asleep += ASLEEP(k[i]);
	EXPECT_IS(asleep, 5);
	dxk_sweep(ps->e, true);
	EXPECT_IS(crew(ps)->nr_askers[DXK_USER], 0);
	for (i = 0; i < ARRAY_SIZE(k); i++)
		unblock(ps, worker(ps, i));
	end(ps);
}

/* FO-41: Stop(cancel) does not wait until there is a spare, nor does anybody in it */
static void block_waits_amid_stop(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 0);
	struct dxk_rqe *rqe = works(ps, worker(ps, 0));
	struct dxk_key_op *k;

	puppet_manager(ps, true);
	k = puppet_block(ps, worker(ps, 0), false, true);
	EXPECT(ASLEEP(k));
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT(!ASLEEP(k));
	EXPECT_IS(k->ret, -EAGAIN);
	EXPECT_IS(crew(ps)->nr_askers[DXK_USER], 0);
	EXPECT_IS(ps->e->stats.block_refused, 1);
	k = puppet_block(ps, worker(ps, 0), false, true);
	EXPECT(!ASLEEP(k));
	EXPECT_IS(k->ret, -EAGAIN);
	EXPECT_IS(rqe->state, DXK_BUSY);
	end(ps);
}

/* FO-38, AG-18: what a worker executes within a call between the marks is not the end of them */
static void block_calls(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 0);
	struct dxk_rqe *a = post_key(ps, 0), *b;

	EXPECT(puppet_work(ps, worker(ps, 0)) == a);
	EXPECT_IS(puppet_block(ps, worker(ps, 0), true, false)->ret, 0);
	EXPECT_IS(a->more->at_key, DXK_KEY_OUT);
	b = works(ps, worker(ps, 0));
	EXPECT_IS(crew(ps)->marked, 1);
	EXPECT_IS(puppet_block(ps, worker(ps, 0), true, false)->ret, -EBUSY);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT_IS(b->state, DXK_REJOIN);
	EXPECT_IS(crew(ps)->marked, 1);
	EXPECT_IS(unblock(ps, worker(ps, 0)), 0);
	EXPECT_IS(a->more->at_key, DXK_KEY_HAS);
	EXPECT_IS(crew(ps)->marked + crew(ps)->asleep[DXK_USER], 0);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* So does one that waits for room for the result of what it executes between its marks. */
static void block_completes_once(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 0);
	struct dxk_next_op *n;

	ps->e->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	ps->e->owners.entries = 1;
	works(ps, worker(ps, 0));
	puppet_end(ps, worker(ps, 0), 0, 0);
	works(ps, worker(ps, 0));
	EXPECT_IS(puppet_block(ps, worker(ps, 0), true, false)->ret, 0);
	works(ps, worker(ps, 0));
	n = puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT(ASLEEP(n));
	EXPECT_IS(crew(ps)->asleep[DXK_USER], 1);
	EXPECT_IS(crew(ps)->dozing, 1);
	EXPECT_IS(puppet_poll(ps, OWNER), RJR_RETURNED);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(crew(ps)->dozing, 0);
	EXPECT_IS(puppet_poll(ps, OWNER), RJR_RETURNED);
	dxk_member_set_state(worker(ps, 0), DXK_M_BLOCKED);
	EXPECT_IS(unblock(ps, worker(ps, 0)), 0);
	EXPECT_IS(crew(ps)->asleep[DXK_USER], 0);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* One that is on its way is waited for, though it is the last that may be */
static void block_waits_for_the_last(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 0);
	struct dxk_member *first = spare(ps), *last;
	struct dxk_next_op *n = puppet_turn(ps, first, 1);
	struct dxk_key_op *k;

	works(ps, worker(ps, 0));
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	EXPECT_IS(block(ps, worker(ps, 0)), 0);
	last = spare(ps);
	EXPECT_IS(dxk_spares_room(ps->e), 0);
	puppet_fetch(n);
	k = puppet_block(ps, first, false, true);
	EXPECT(ASLEEP(k));
	EXPECT(ASLEEP(puppet_turn(ps, last, 1)));
	EXPECT(!ASLEEP(k));
	unblock(ps, first);
	unblock(ps, worker(ps, 0));
	end(ps);
}

/* FO-36, FO-42: so many are kept parked, no more than may be, and those beyond leave */
static void block_spares_kept(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 1);
	struct dxk_member *s[2];
	struct dxk_next_op *n[2];

	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 1);
	s[0] = spare(ps);
	/* on its way */
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 0);
	n[0] = puppet_turn(ps, s[0], 1);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 0);
	works(ps, worker(ps, 0));
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	EXPECT_IS(block(ps, worker(ps, 0)), 0);
	EXPECT(!ASLEEP(n[0]));
	puppet_fetch(n[0]);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 1);
	s[1] = spare(ps);
	n[1] = puppet_turn(ps, s[1], 1);
	n[0] = puppet_end(ps, s[0], 0, 1);
	EXPECT(ASLEEP(n[0]) && ASLEEP(n[1]));
	s[1]->since -= 20;
	dxk_retire(ps->e, 10);
	EXPECT(!ASLEEP(n[1]));
	EXPECT_IS(n[1]->err, -ESHUTDOWN);
	s[0]->since -= 20;
	dxk_retire(ps->e, 10);
	EXPECT(ASLEEP(n[0]));
	EXPECT_IS(crew(ps)->spares[DXK_USER], 1);
	puppet_dies(ps, s[1]);
	EXPECT_IS(crew(ps)->spares[DXK_USER], 1);
	unblock(ps, worker(ps, 0));
	end(ps);
}

/* B-1: one that sleeps elsewhere, and did not say so, is replaced as well */
static void block_seen(struct kunit *test)
{
	struct puppets *ps = start(test, 1, 0);
	struct dxk_next_op *n = puppet_turn(ps, spare(ps), 1);
	struct dxk_rqe *rqe = post_key(ps, 0);

	dxk_worker_seen(worker(ps, 0), true);
	EXPECT_IS(crew(ps)->marked, 0);
	EXPECT(puppet_work(ps, worker(ps, 0)) == rqe);
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	dxk_member_set_state(worker(ps, 0), DXK_M_BUSY);
	dxk_worker_seen(worker(ps, 0), true);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(ps->e->stats.replaced, 1);
	/* it does not know, so it keeps its key */
	EXPECT_IS(rqe->more->at_key, DXK_KEY_HAS);
	dxk_worker_seen(worker(ps, 0), true);
	EXPECT_IS(crew(ps)->asleep[DXK_USER], 1);
	dxk_worker_seen(worker(ps, 0), false);
	EXPECT_IS(crew(ps)->marked + crew(ps)->asleep[DXK_USER], 0);
	/* in a call, or between marks of its own, it counts already */
	dxk_member_set_state(worker(ps, 0), DXK_M_POSTING);
	dxk_worker_seen(worker(ps, 0), true);
	EXPECT_IS(crew(ps)->marked, 0);
	dxk_member_set_state(worker(ps, 0), DXK_M_BUSY);
	dxk_worker_seen(worker(ps, 0), true);
	puppet_block(ps, worker(ps, 0), true, false);
	EXPECT_IS(crew(ps)->asleep[DXK_USER], 1);
	dxk_worker_seen(worker(ps, 0), false);
	EXPECT_IS(crew(ps)->marked, 1);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT_IS(crew(ps)->marked + crew(ps)->asleep[DXK_USER], 0);
	end(ps);
}

static struct kunit_case block_cases[] = {
	KUNIT_CASE(block_place),
	KUNIT_CASE(block_refused),
	KUNIT_CASE(block_before_manager),
	KUNIT_CASE(block_kernel),
	KUNIT_CASE(block_marks),
	KUNIT_CASE(block_key),
	KUNIT_CASE(block_key_signal_then_cancel),
	KUNIT_CASE(block_key_of_ready),
	KUNIT_CASE(block_counts_once),
	KUNIT_CASE(block_waits),
	KUNIT_CASE(block_waits_of_many),
	KUNIT_CASE(block_waits_amid_stop),
	KUNIT_CASE(block_calls),
	KUNIT_CASE(block_completes_once),
	KUNIT_CASE(block_waits_for_the_last),
	KUNIT_CASE(block_spares_kept),
	KUNIT_CASE(block_seen),
	{ }
};

static struct kunit_suite block_suite = {
	.name = "dxk_block",
	.exit = puppets_end,
	.test_cases = block_cases,
};

kunit_test_suite(block_suite);
