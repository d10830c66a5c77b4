// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Requests that wait: how that begins, what ends it, and what becomes of those that wait when
 * others end.
 */
#include "engine/alarm.h"
#include "engine/cancel.h"
#include "engine/enforce.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/space.h"
#include "engine/share.h"
#include "engine/stop.h"
#include "engine/tests/keyed.h"
#include "engine/wake.h"

#define OWNER		1
#define OTHER		2
#define NAME		77
#define SECOND		((u64)NSEC_PER_SEC)
#define LATE		(os_now() + 3600 * SECOND)

static struct puppets *waits(struct kunit *test, u32 workers)
{
	struct dxk_policy policy = puppet_policy(8);
	struct puppets *ps;

	policy.max_waiting = 16;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	while (workers--)
		puppet_worker(ps);
	return ps;
}

/* The workers are the members behind the main one. */
static struct dxk_member *worker(struct puppets *ps, u32 i)
{
	return ps->member[1 + i];
}

/* --- calls --------------------------------------------------------------------- */

/* One more request for a post: its wait, its name, if not 0, its time to expire. */
static struct dxk_rqe *add(struct puppets *ps, struct dxk_post_op *p, u64 owner, u32 attrs,
			   const struct dxk_wait *wait, u64 name, u64 expire)
{
	struct dxk_more *more;
	struct dxk_rqe *rqe;

	puppet_add(ps, p, owner, 0, attrs | (wait ? PXR_WAIT : 0) | (name ? PXR_NAMED : 0) |
				    (expire ? PXR_EXPIRE : 0));
	rqe = list_last_entry(&p->rqes, struct dxk_rqe, link);
	more = dxk_more_of(ps->main, rqe);
	KUNIT_ASSERT_NOT_NULL(ps->test, more);
	if (wait) {
		EXPECT_IS(dxk_wait_check(wait, name), 0);
		more->wait = *wait;
		more->state = wait->state;
	}
	more->name = name;
	more->named = name;
	more->expire = expire ?: DXK_FOREVER;
	return rqe;
}

static struct dxk_post_op *post(struct puppets *ps, u64 owner, u32 attrs,
				const struct dxk_wait *wait, u64 name, u64 expire)
{
	struct dxk_post_op *p = puppet_poster(ps, ps->main);

	add(ps, p, owner, attrs, wait, name, expire);
	puppet_posts(ps, p);
	return p;
}

/* A worker ends its turn with a wait, and asks for @max. */
static struct dxk_next_op *park(struct puppets *ps, struct dxk_member *m,
				const struct dxk_wait *wait, u32 max)
{
	struct dxk_rqe *rqe = list_last_entry(&m->busy, struct dxk_rqe, link);
	struct dxk_more *more = dxk_more_of(ps->main, rqe);

	KUNIT_ASSERT_NOT_NULL(ps->test, more);
	EXPECT_IS(dxk_wait_check(wait, more->named), 0);
	more->wait = *wait;
	more->parks = true;
	rqe->data_len = 0;
	return puppet_end(ps, m, 0, max);
}

static u32 names(struct puppets *ps, u64 name, dxk_op_fn *run, u32 *state)
{
	struct dxk_names_op n = { .m = ps->main, .names = &name, .nr = 1, .states = state };

	INIT_LIST_HEAD(&n.ended);
	puppet_do(ps, &n.op, run);
	dxk_rqe_drop_all(NULL, &n.ended);
	return n.found;
}

static u32 wake(struct puppets *ps, u64 name)
{
	return names(ps, name, dxk_wake_names_run, NULL);
}

static u32 cancel(struct puppets *ps, u64 name)
{
	u32 state = 99;

	EXPECT_IS(names(ps, name, dxk_cancel_names_run, &state), state != DXK_CANCEL_NONE);
	return state;
}

/* What a result says. */
static s32 result(struct puppets *ps, u64 owner)
{
	struct dxk_rejoin_op *r = puppet_rejoin(ps, ps->main, owner, 1, 0);

	EXPECT_IS(r->answer, RJR_RETURNED);
	return r->nr ? puppet_result(r)->status : 1;
}

static struct dxk_rqe *named(struct puppets *ps, u64 name)
{
	struct dxk_rqe *rqe;

	spin_lock(&ps->e->lock);
	rqe = dxk_name_find(ps->e, ps->main->space, name);
	spin_unlock(&ps->e->lock);
	return rqe;
}

/* The time it waits for has come. */
static void ring(struct puppets *ps, struct dxk_rqe *rqe)
{
	struct dxk_wakes wakes = { };

	rqe->more->wait.deadline = 0;
	spin_lock(&ps->e->lock);
	dxk_alarm_set(ps->e, rqe->more, 0, &wakes);
	spin_unlock(&ps->e->lock);
	dxk_sweep(ps->e, true);
}

/* The worker is given its request, for that reason. */
static void comes(struct puppets *ps, struct dxk_member *m, const struct dxk_rqe *rqe,
		  u32 reason)
{
	struct dxk_rqe *got = puppet_work(ps, m);

	EXPECT(got == rqe);
	EXPECT_IS(got->more->wake, reason);
}

static void is_waiting(struct puppets *ps, const struct dxk_rqe *rqe)
{
	EXPECT_IS(rqe->state, DXK_WAITING);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 1);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 0);
	EXPECT_IS(puppet_poll(ps, rqe->cookie), RJR_NONE_READY);
}

/* --- what is refused ------------------------------------------------------------- */

static void wait_check(struct kunit *test)
{
	static const struct {
		struct dxk_wait wait;
		bool named;
		int err;
	} row[] = {
		{ { .wait = DXK_WAIT_TIME }, false, 0 },
		{ { .wait = DXK_WAIT_TIME, .deadline = 5 }, false, 0 },
		{ { .wait = DXK_WAIT_CALL }, true, 0 },
		{ { .wait = DXK_WAIT_CALL | DXK_WAIT_TIME }, false, 0 },
		{ { .wait = DXK_WAIT_JOIN, .owner = 5 }, false, 0 },
		{ { .wait = DXK_WAIT_RESULT, .owner = 5 }, false, 0 },
		{ { .wait = DXK_WAIT_AGAIN, .state = 5 }, false, 0 },
		{ { .wait = DXK_WAIT_AGAIN | DXK_WAIT_PRIO, .prio = -5 }, false, 0 },
		{ { .wait = DXK_WAIT_TIME | DXK_WAIT_MASKED }, false, 0 },
		{ { .wait = DXK_WAIT_CALL | DXK_WAIT_TIME, .deadline = DXK_FOREVER }, true, 0 },
		{ { .wait = DXK_WAIT_TIME, .deadline = DXK_FOREVER }, false, -EINVAL },
		{ { .wait = DXK_WAIT_TIME | DXK_WAIT_CALL | DXK_WAIT_MASKED,
		    .deadline = DXK_FOREVER }, true, -EINVAL },
		{ { .wait = 0 }, true, -EINVAL },
		{ { .wait = DXK_WAIT_PRIO }, true, -EINVAL },
		{ { .wait = DXK_WAIT_CALL }, false, -EINVAL },
		{ { .wait = DXK_WAIT_AGAIN | DXK_WAIT_TIME }, true, -EINVAL },
		{ { .wait = DXK_WAIT_AGAIN | DXK_WAIT_MASKED }, true, -EINVAL },
		{ { .wait = DXK_WAIT_JOIN | DXK_WAIT_RESULT }, true, -EINVAL },
		{ { .wait = DXK_WAIT_CALL | DXK_WAIT_MASKED }, true, -EINVAL },
		{ { .wait = DXK_WAIT_CALL, .deadline = 5 }, true, -EINVAL },
		{ { .wait = DXK_WAIT_CALL, .owner = 5 }, true, -EINVAL },
		{ { .wait = DXK_WAIT_CALL, .prio = 5 }, true, -EINVAL },
		{ { .wait = DXK_WAIT_FILE, .fd = 5, .events = 1 }, false, 0 },
		{ { .wait = DXK_WAIT_FILE | DXK_WAIT_CALL, .events = DXK_WAIT_EVENTS }, false, 0 },
		{ { .wait = DXK_WAIT_FILE | DXK_WAIT_TIME, .events = 1,
		    .deadline = DXK_FOREVER }, false, 0 },
		{ { .wait = DXK_WAIT_FILE, .fd = 5 }, false, 0 },
		{ { .wait = DXK_WAIT_FILE, .events = 0x20 }, true, -EINVAL },
		{ { .wait = DXK_WAIT_FILE, .events = 1U << 31 }, true, -EINVAL },
		{ { .wait = DXK_WAIT_FILE | DXK_WAIT_MASKED, .events = 1 }, true, -EINVAL },
		{ { .wait = DXK_WAIT_CALL, .fd = 5 }, true, -EINVAL },
		{ { .wait = DXK_WAIT_CALL, .events = 1 }, true, -EINVAL },
		{ { .wait = DXK_WAIT_CALL | DXK_WAIT_MOVE, .key = 5 }, true, 0 },
		{ { .wait = DXK_WAIT_AGAIN | DXK_WAIT_ALONE }, false, 0 },
		{ { .wait = DXK_WAIT_CALL | DXK_WAIT_MOVE | DXK_WAIT_ALONE }, true, -EINVAL },
		{ { .wait = DXK_WAIT_CALL, .key = 5 }, true, -EINVAL },
		{ { .wait = DXK_WAIT_CALL | 0x8000 }, true, -EOPNOTSUPP },
		{ { .wait = DXK_WAIT_JOIN | DXK_WAIT_EAGER, .owner = 5 }, false, 0 },
		{ { .wait = DXK_WAIT_RESULT | DXK_WAIT_EAGER, .owner = 5 }, false, -EINVAL },
		{ { .wait = DXK_WAIT_CALL | DXK_WAIT_EAGER }, true, -EINVAL },
		{ { .wait = DXK_WAIT_AGAIN | DXK_WAIT_EAGER }, true, -EINVAL },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(row); i++)
		KUNIT_EXPECT_EQ_MSG(test, dxk_wait_check(&row[i].wait, row[i].named),
				    row[i].err, "row %u", i);
}

/* What a post says without the attribute that makes it count is an error, not ignored. */
static void wait_fields_need_attributes(struct kunit *test)
{
	static const struct { struct dxk_post_more p; u32 attrs; } row[] = {
		{ { .name = NAME }, PXR_NAMED },
		{ { .expire = 5 }, PXR_EXPIRE },
		{ { .wait = { .wait = DXK_WAIT_TIME } }, PXR_WAIT },
		{ { .wait = { .state = 5 } }, 0 },
		{ { .key = 5 }, PXR_KEY },
		{ { .home = 5 }, PXR_HOME },
	};
	struct puppets *ps = waits(test, 1);
	u32 i, with;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		for (with = 0; with <= !!row[i].attrs; with++) {
			struct dxk_post_op *p = puppet_poster(ps, ps->main);
			u32 attrs = with ? row[i].attrs : PXR_EXPIRE ^ (row[i].attrs & PXR_EXPIRE);
			struct dxk_rqe *rqe;

			puppet_add(ps, p, OWNER, 0, PXR_REJOIN | attrs);
			rqe = list_first_entry(&p->rqes, struct dxk_rqe, link);
			KUNIT_EXPECT_EQ_MSG(test, dxk_more_make(ps->main, rqe, &row[i].p),
					    with ? 0 : -EINVAL, "row %u", i);
			EXPECT_IS(!rqe->more, !with);
			p->w.done = true;
		}
	}
}

static void wait_posts_are_refused(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_wait own = { .wait = DXK_WAIT_JOIN, .owner = OWNER };
	struct dxk_post_op *p;
	u32 i;

	/* for its own owner */
	p = post(ps, OWNER, 0, &own, 0, 0);
	EXPECT_IS(p->err, -EDEADLK);
	/* the name is taken, by whatever has it */
	EXPECT_IS(post(ps, OWNER, 0, NULL, NAME, 0)->err, 0);
	EXPECT_IS(post(ps, OWNER, 0, NULL, NAME, 0)->err, -EEXIST);
	puppet_work(ps, worker(ps, 0));
	EXPECT_IS(post(ps, OWNER, 0, &call, NAME, 0)->err, -EEXIST);
	puppet_end(ps, worker(ps, 0), 0, 0);
	/* and is free at its end */
	EXPECT_IS(post(ps, OWNER, 0, &call, NAME, 0)->err, 0);
	/* so many may wait, and no more */
	for (i = 1; i < 16; i++)
		EXPECT_IS(post(ps, OWNER, 0, &call, NAME + i, 0)->err, 0);
	p = post(ps, OWNER, 0, &call, NAME + i, 0);
	EXPECT_IS(p->err, -ENOSPC);
	EXPECT_IS(p->reason, PXR_NO_SPACE);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 16);
	/* one that does not wait has room */
	EXPECT_IS(post(ps, OWNER, 0, NULL, NAME + i, 0)->err, 0);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(ps->e->stats.cancelled, 17);
}

/* A post is made, and before it is a Stop, and a Start with a policy without. */
static void wait_of_another_run(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	u32 i;

	dxk_names_unstart(ps->e);
	EXPECT(!ps->e->waits.on);
	EXPECT_IS(wake(ps, NAME), 0);
	for (i = 0; i < 3; i++)
		EXPECT_IS(post(ps, OWNER, 0, i ? NULL : &call, i == 1 ? 0 : NAME,
			       i == 1 ? LATE : 0)->err, -EOPNOTSUPP);
	EXPECT_IS(dxk_live(ps->e), 0);
}

/* A user has its share of those that may wait. */
static void wait_shares(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_post_op *p;
	bool changed;
	u32 i;

	ps->main->share = dxk_share_open(ps->e, 5, &changed);
	/* 75 percent of 16 */
	for (i = 0; i < 12; i++)
		EXPECT_IS(post(ps, OWNER, 0, &call, 1 + i, 0)->err, 0);
	p = post(ps, OWNER, 0, &call, 1 + i, 0);
	EXPECT_IS(p->err, -EDQUOT);
	EXPECT_IS(p->reason, PXR_NO_SPACE);
	EXPECT_IS(wake(ps, 1), 1);
	EXPECT_IS(post(ps, OWNER, 0, &call, 1 + i, 0)->err, 0);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(ps->e->shares.of[ps->main->share].waiting, 0);
	EXPECT_IS(ps->e->shares.of[ps->main->share].live, 0);
	dxk_share_close(ps->e, ps->main->share);
	ps->main->share = 0;
}

/* --- what ends a wait -------------------------------------------------------------- */

/* a call ends it, or is kept, once; whatever state it is in. */
static void wait_call(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL, .state = 5 };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe;

	EXPECT_IS(wake(ps, NAME), 0);
	EXPECT_IS(post(ps, OWNER, PXR_REJOIN, NULL, NAME, 0)->err, 0);
	rqe = puppet_work(ps, m);
	EXPECT_IS(rqe->more->wake, DXK_WAKE_NONE);
	park(ps, m, &call, 0);
	is_waiting(ps, rqe);
	EXPECT_IS(m->held, 0);
	EXPECT_IS(m->executed, 1);
	EXPECT_IS(ps->e->crew.lanes[DXK_USER].used[3], 0);
	EXPECT_IS(ps->e->stats.waits, 1);
	EXPECT_IS(ps->e->stats.completions, 0);
	EXPECT_IS(wake(ps, NAME), 1);
	EXPECT_IS(rqe->state, DXK_READY);
	/* two more before the next wait are one */
	EXPECT_IS(wake(ps, NAME), 1);
	comes(ps, m, rqe, DXK_WAKE_CALL);
	EXPECT_IS(rqe->more->turn, 1);
	EXPECT_IS(rqe->more->wait.state, 5);
	EXPECT_IS(rqe->attempts, 1);
	EXPECT_IS(wake(ps, NAME), 1);
	park(ps, m, &call, 0);
	EXPECT_IS(rqe->state, DXK_READY);
	comes(ps, m, rqe, DXK_WAKE_CALL);
	park(ps, m, &call, 0);
	is_waiting(ps, rqe);
	/* an idle worker is given it */
	puppet_turn(ps, m, 1);
	EXPECT_IS(wake(ps, NAME), 1);
	EXPECT_IS(rqe->state, DXK_DISPATCHED);
	EXPECT_IS(ps->woken, 1);
	puppet_fetch(container_of(ps->calls->w, struct dxk_next_op, w));
	puppet_end(ps, m, 7, 0);
	EXPECT_IS(wake(ps, NAME), 0);
	EXPECT_IS(result(ps, OWNER), 7);
}

/* Not before its time; the clock is told if it would look too late. */
static void wait_time(struct kunit *test)
{
	struct puppets *ps = waits(test, 1);
	struct dxk_wait past = { .wait = DXK_WAIT_TIME, .deadline = 1 };
	struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = LATE };
	struct dxk_wait soon = { .wait = DXK_WAIT_TIME };
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe;

	ps->e->swept = true;
	/* over as it is posted: an ordinary post */
	EXPECT_IS(post(ps, OWNER, PXR_REJOIN, &past, 0, 0)->err, 0);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	rqe = dxk_ready_first(&ps->e->ready);
	comes(ps, m, rqe, DXK_WAKE_TIME);
	park(ps, m, &past, 0);
	comes(ps, m, rqe, DXK_WAKE_TIME);
	park(ps, m, &late, 0);
	EXPECT(ps->kick & BIT(DXK_DISPATCHER));
	is_waiting(ps, rqe);
	EXPECT_IS(dxk_sweep(ps->e, true), late.deadline);
	is_waiting(ps, rqe);
	/* one that is earlier is told, one that is later not; not too early for a busy host */
	soon.deadline = os_now() + SECOND;
	EXPECT_IS(post(ps, OTHER, 0, &soon, 0, 0)->err, 0);
	EXPECT(ps->kick & BIT(DXK_DISPATCHER));
	late.deadline++;
	EXPECT_IS(post(ps, OTHER, 0, &late, 0, 0)->err, 0);
	EXPECT(!(ps->kick & BIT(DXK_DISPATCHER)));
	EXPECT_IS(dxk_sweep(ps->e, true), soon.deadline);
	while (os_now() < soon.deadline)
		os_yield();
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 0);
	EXPECT_IS(dxk_sweep(ps->e, false), late.deadline - 1);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	EXPECT_IS(ps->e->stats.missed_wakeups, 0);
	EXPECT_IS(puppet_work(ps, m)->more->wake, DXK_WAKE_TIME);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(ps->e->stats.timeouts, 2);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	comes(ps, m, rqe, DXK_WAKE_CANCEL);
	puppet_end(ps, m, 0, 0);
	EXPECT(RB_EMPTY_ROOT(&ps->e->waits.alarms.rb_root));
}

/* The first that happens wins, and disarms the others. */
static void wait_first_wins(struct kunit *test)
{
	struct puppets *ps = waits(test, 2);
	struct dxk_wait any = {
		.wait = DXK_WAIT_CALL | DXK_WAIT_TIME | DXK_WAIT_JOIN,
		.deadline = LATE, .owner = OTHER,
	};
	struct dxk_member *m = worker(ps, 0), *other = worker(ps, 1);
	struct dxk_rqe *rqe;

	puppet_post(ps, OTHER, 0, 0);
	puppet_work(ps, other);
	EXPECT_IS(post(ps, OWNER, 0, &any, NAME, 0)->err, 0);
	rqe = named(ps, NAME);
	is_waiting(ps, rqe);
	EXPECT_IS(wake(ps, NAME), 1);
	comes(ps, m, rqe, DXK_WAKE_CALL);
	EXPECT(RB_EMPTY_ROOT(&ps->e->waits.alarms.rb_root));
	/* the owner ends: nobody waits for it any more */
	puppet_end(ps, other, 0, 0);
	EXPECT_IS(rqe->state, DXK_BUSY);
	/* and now there is nothing to wait for */
	park(ps, m, &any, 0);
	comes(ps, m, rqe, DXK_WAKE_JOIN);
	puppet_end(ps, m, 0, 0);
}

/* A result, or the end of all that is to come. */
static void wait_owner(struct kunit *test)
{
	struct puppets *ps = waits(test, 2);
	struct dxk_wait join = { .wait = DXK_WAIT_JOIN, .owner = OTHER };
	struct dxk_wait some = { .wait = DXK_WAIT_RESULT, .owner = OTHER };
	struct dxk_member *m = worker(ps, 0), *other = worker(ps, 1);
	struct dxk_rqe *joiner, *taker;

	puppet_post_nr(ps, ps->main, 2, OTHER, PXR_REJOIN);
	puppet_work(ps, other);
	EXPECT_IS(post(ps, OWNER, 0, &join, NAME, 0)->err, 0);
	EXPECT_IS(post(ps, OWNER, 0, &some, NAME + 1, 0)->err, 0);
	joiner = named(ps, NAME);
	taker = named(ps, NAME + 1);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 2);
	/* the first result */
	puppet_end(ps, other, 0, 0);
	EXPECT_IS(joiner->state, DXK_WAITING);
	EXPECT_IS(taker->state, DXK_READY);
	/* it is still there: no wait for it */
	puppet_work(ps, other);
	comes(ps, m, taker, DXK_WAKE_RESULT);
	park(ps, m, &some, 0);
	EXPECT_IS(taker->state, DXK_READY);
	comes(ps, m, taker, DXK_WAKE_RESULT);
	EXPECT_IS(result(ps, OTHER), 0);
	park(ps, m, &some, 0);
	EXPECT_IS(taker->state, DXK_WAITING);
	/* the second one is the last: both, in the order of their waits */
	puppet_end(ps, other, 0, 0);
	comes(ps, m, taker, DXK_WAKE_RESULT);
	comes(ps, other, joiner, DXK_WAKE_JOIN);
	EXPECT_IS(result(ps, OTHER), 0);
	/* nothing lives: both are over at once */
	park(ps, m, &some, 0);
	park(ps, other, &join, 0);
	comes(ps, m, taker, DXK_WAKE_RESULT);
	comes(ps, other, joiner, DXK_WAKE_JOIN);
	/* for its own owner it would wait for ever */
	join.owner = OWNER;
	park(ps, other, &join, 0);
	comes(ps, other, joiner, DXK_WAKE_DEADLOCK);
	puppet_end(ps, m, 0, 0);
	puppet_end(ps, other, 0, 0);
}

/* Chains of joins of any length, and many who wait for one: bounded holds, all are woken. */
static void wait_chain(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(8);
	struct dxk_member *m;
	struct puppets *ps;
	u64 i, nr = 300;

	policy.max_waiting = 2 * nr;
	policy.ready_entries = 4 * nr;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	m = puppet_worker(ps);
	puppet_post(ps, OTHER, 0, 0);
	puppet_work(ps, m);
	for (i = 0; i < nr; i++) {
		struct dxk_wait wide = { .wait = DXK_WAIT_JOIN, .owner = OTHER };
		struct dxk_wait deep = { .wait = DXK_WAIT_JOIN, .owner = i ? 999 + i : OTHER };

		EXPECT_IS(post(ps, 10 + i, 0, &wide, 0, 0)->err, 0);
		EXPECT_IS(post(ps, 1000 + i, 0, &deep, 0, 0)->err, 0);
	}
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 2 * nr);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], nr - 1);
	for (i = 0; i < 2 * nr; i++) {
		puppet_work(ps, m);
		puppet_end(ps, m, 0, 0);
	}
	EXPECT_IS(dxk_live(ps->e), 0);
}

/* AGAIN: at once, behind its equals; the priority is its own, or another one. */
static void wait_again(struct kunit *test)
{
	struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe, *other;

	puppet_post_nr(ps, ps->main, 2, OWNER, 0);
	rqe = puppet_work(ps, m);
	park(ps, m, &again, 0);
	other = puppet_work(ps, m);
	EXPECT(other != rqe);
	puppet_end(ps, m, 0, 0);
	puppet_post(ps, OWNER, 1, 0);
	other = puppet_work(ps, m);
	EXPECT(other != rqe);
	EXPECT_IS(other->prio, 1);
	puppet_end(ps, m, 0, 0);
	comes(ps, m, rqe, DXK_WAKE_AGAIN);
	again.wait |= DXK_WAIT_PRIO;
	again.prio = 9;
	park(ps, m, &again, 0);
	puppet_post(ps, OWNER, 1, 0);
	comes(ps, m, rqe, DXK_WAKE_AGAIN);
	EXPECT_IS(rqe->prio, 9);
	EXPECT_IS(rqe->more->turn, 2);
	puppet_end(ps, m, 0, 1);
}

/* --- room ---------------------------------------------------------------------------- */

/*
 * Who was posted waiting finds room or waits for it, before all who sleep; who was begun
 * enters at once.
 */
static void wait_room(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct dxk_policy policy = puppet_policy(8);
	struct dxk_post_op *sleeper;
	struct dxk_rqe *begun, *first, *second;
	struct dxk_member *m, *client;
	struct puppets *ps;

	policy.max_waiting = 16;
	policy.ready_entries = 1;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	m = puppet_worker(ps);
	client = puppet_client(ps);
	EXPECT_IS(post(ps, OWNER, 0, NULL, 1, 0)->err, 0);
	begun = puppet_work(ps, m);
	park(ps, m, &call, 0);
	EXPECT_IS(post(ps, OWNER, 0, &call, 2, 0)->err, 0);
	EXPECT_IS(post(ps, OWNER, 0, &call, 3, 0)->err, 0);
	first = named(ps, 2);
	second = named(ps, 3);
	puppet_post(ps, OTHER, 0, 0);
	sleeper = puppet_post_nr(ps, client, 1, OTHER, PXR_WAITIF_BUSY);
	EXPECT(ASLEEP(sleeper));
	/* the pool is full */
	EXPECT_IS(wake(ps, 2), 1);
	EXPECT_IS(wake(ps, 3), 1);
	EXPECT(first->state == DXK_WAITING && second->state == DXK_WAITING);
	EXPECT_IS(wake(ps, 1), 1);
	EXPECT_IS(begun->state, DXK_READY);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 2);
	/* who comes now is behind them */
	puppet_refused(ps, 0, -EAGAIN, PXR_POOL_FULL);
	puppet_work(ps, m);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(first->state, DXK_WAITING);
	puppet_work(ps, m);
	EXPECT_IS(first->state, DXK_READY);
	EXPECT_IS(second->state, DXK_WAITING);
	EXPECT(ASLEEP(sleeper));
	puppet_end(ps, m, 0, 0);
	comes(ps, m, first, DXK_WAKE_CALL);
	EXPECT_IS(second->state, DXK_READY);
	EXPECT(ASLEEP(sleeper));
	puppet_end(ps, m, 0, 0);
	/* a call while it was waiting for room is kept */
	comes(ps, m, second, DXK_WAKE_CALL);
	EXPECT(!ASLEEP(sleeper));
	puppet_end(ps, m, 0, 0);
	/* one that is ripe can be cancelled */
	EXPECT_IS(post(ps, OWNER, 0, &call, 2, 0)->err, 0);
	EXPECT_IS(wake(ps, 2), 1);
	EXPECT_IS(wake(ps, 2), 1);
	EXPECT_IS(named(ps, 2)->state, DXK_WAITING);
	EXPECT_IS(cancel(ps, 2), DXK_CANCEL_ENDED);
	EXPECT_IS(ps->e->ready.asleep[3], 0);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 0);
	puppet_work(ps, m);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(dxk_live(ps->e), 0);
}

enum lack { OF_THE_POOL, OF_A_LANE, OF_A_TENANT };

/*
 * Whose wait was over and who stands for room does so also when it is not over any more: others
 * have collected the result. With the room it waits for the next one.
 */
static void stands(struct kunit *test, enum lack lack)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	static const struct dxk_wait result_of = { .wait = DXK_WAIT_RESULT, .owner = OTHER };
	u32 lane = lack == OF_A_LANE ? PXR_LANE1 : 0;
	struct dxk_policy policy = puppet_policy(8);
	struct dxk_member *m, *before, *client;
	struct dxk_post_op *sleeper;
	struct dxk_rqe *rqe;
	struct puppets *ps;

	policy.max_waiting = 16;
	policy.ready_entries = lack == OF_THE_POOL ? 1 : 4;
	if (lack == OF_A_LANE) {
		policy.sched_mode |= TPOOL_MODE_CMLS;
		policy.lane_pct[1] = 25;
	}
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	ps->e->swept = true;
	m = puppet_worker(ps);
	before = puppet_client(ps);
	client = puppet_client(ps);
	if (lack == OF_A_TENANT)
		before->share = client->share = dxk_share_open_space(ps->e, 0, 1);
	post(ps, OTHER, PXR_REJOIN, NULL, 0, 0);
	puppet_work(ps, m);
	puppet_end(ps, m, 0, 0);
	post(ps, OTHER, PXR_REJOIN, &call, NAME, 0);
	puppet_taken(ps, puppet_post_nr(ps, before, 1, OWNER, lane), 1);
	sleeper = puppet_poster(ps, client);
	rqe = add(ps, sleeper, OWNER, PXR_WAITIF_BUSY | lane, &result_of, 0, 0);
	puppet_posts(ps, sleeper);
	EXPECT(ASLEEP(sleeper));
	EXPECT_IS(result(ps, OTHER), 0);
	dxk_sweep(ps->e, true);
	EXPECT(ASLEEP(sleeper));
	puppet_work(ps, m);
	puppet_taken(ps, sleeper, 1);
	EXPECT_IS(rqe->state, DXK_WAITING);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_ENDED);
	comes(ps, m, rqe, DXK_WAKE_RESULT);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(result(ps, OTHER), -ECANCELED);
	EXPECT_IS(dxk_live(ps->e), 0);
	before->share = client->share = 0;
	dxk_sweep_end(ps->e);
}

static void wait_stands(struct kunit *test)
{
	stands(test, OF_THE_POOL);
}

static void wait_stands_in_a_lane(struct kunit *test)
{
	stands(test, OF_A_LANE);
}

static void wait_stands_of_a_tenant(struct kunit *test)
{
	stands(test, OF_A_TENANT);
}

/* --- before their time ------------------------------------------------------------------ */

/* never begun it ends, begun it is told, and stays so; masked waits hold. */
static void wait_cancel(struct kunit *test)
{
	struct dxk_wait masked = { .wait = DXK_WAIT_TIME | DXK_WAIT_MASKED, .deadline = LATE };
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_should_op *asks;
	struct dxk_rqe *rqe;

	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_NONE);
	/* Ready, waiting: it has never begun */
	post(ps, OWNER, PXR_REJOIN, NULL, NAME, 0);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_ENDED);
	EXPECT_IS(result(ps, OWNER), -ECANCELED);
	post(ps, OWNER, PXR_REJOIN, &call, NAME, 0);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_ENDED);
	EXPECT_IS(result(ps, OWNER), -ECANCELED);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_NONE);
	/* it executes: its worker is told, at once */
	post(ps, OWNER, PXR_REJOIN, NULL, NAME, 0);
	rqe = puppet_work(ps, m);
	EXPECT(!puppet_asks(ps, m, false)->answer);
	asks = puppet_asks(ps, m, true);
	EXPECT(ASLEEP(asks));
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_TOLD);
	EXPECT(!ASLEEP(asks) && asks->answer);
	EXPECT(puppet_asks(ps, m, false)->answer);
	/* a wait is over at once, each; unless it is masked */
	park(ps, m, &call, 0);
	comes(ps, m, rqe, DXK_WAKE_CANCEL);
	EXPECT(puppet_asks(ps, m, false)->answer);
	park(ps, m, &masked, 0);
	is_waiting(ps, rqe);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_TOLD);
	is_waiting(ps, rqe);
	masked.wait |= DXK_WAIT_CALL;
	EXPECT_IS(wake(ps, NAME), 1);
	is_waiting(ps, rqe);
	/* the next one is not told of it */
	post(ps, OTHER, 0, NULL, 0, 0);
	puppet_work(ps, m);
	EXPECT(!puppet_asks(ps, m, false)->answer);
	puppet_end(ps, m, 0, 0);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	is_waiting(ps, rqe);
	/* nobody is left for its last turn */
	puppet_dies(ps, m);
	EXPECT_IS(result(ps, OWNER), -ECANCELED);
}

/* It waits, or is Ready for a further turn: that one is for the cancel. */
static void wait_cancel_begun(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe;

	post(ps, OWNER, PXR_REJOIN, NULL, NAME, 0);
	rqe = puppet_work(ps, m);
	park(ps, m, &call, 0);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_TOLD);
	EXPECT_IS(rqe->state, DXK_READY);
	comes(ps, m, rqe, DXK_WAKE_CANCEL);
	puppet_end(ps, m, 3, 0);
	EXPECT_IS(result(ps, OWNER), 3);

	post(ps, OWNER, PXR_REJOIN, NULL, NAME, 0);
	rqe = puppet_work(ps, m);
	park(ps, m, &call, 0);
	wake(ps, NAME);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_TOLD);
	comes(ps, m, rqe, DXK_WAKE_CANCEL);
	puppet_end(ps, m, 4, 0);
	EXPECT_IS(result(ps, OWNER), 4);
}

/* Expired in the pool, in a wait, begun */
static void wait_expire(struct kunit *test)
{
	struct dxk_wait masked = { .wait = DXK_WAIT_TIME | DXK_WAIT_MASKED, .deadline = LATE };
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe;

	ps->e->swept = true;
	post(ps, OWNER, PXR_REJOIN, NULL, 0, 1);
	EXPECT(ps->kick & BIT(DXK_DISPATCHER));
	dxk_sweep(ps->e, true);
	EXPECT_IS(result(ps, OWNER), -ETIME);
	post(ps, OWNER, PXR_REJOIN, &call, NAME, 1);
	dxk_sweep(ps->e, true);
	EXPECT_IS(result(ps, OWNER), -ETIME);
	EXPECT_IS(ps->e->stats.expired, 2);

	post(ps, OWNER, PXR_REJOIN, NULL, NAME, 1);
	rqe = puppet_work(ps, m);
	EXPECT(!puppet_asks(ps, m, false)->answer);
	dxk_sweep(ps->e, true);
	EXPECT(puppet_asks(ps, m, false)->answer);
	/* it is told once */
	park(ps, m, &masked, 0);
	is_waiting(ps, rqe);
	EXPECT_IS(rqe->more->at, masked.deadline);
	ring(ps, rqe);
	comes(ps, m, rqe, DXK_WAKE_TIME);
	park(ps, m, &call, 0);
	comes(ps, m, rqe, DXK_WAKE_EXPIRE);
	park(ps, m, &call, 0);
	is_waiting(ps, rqe);
	EXPECT_IS(ps->e->stats.expired, 3);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_TOLD);
	comes(ps, m, rqe, DXK_WAKE_CANCEL);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(result(ps, OWNER), 0);
	EXPECT(RB_EMPTY_ROOT(&ps->e->waits.alarms.rb_root));
}

/* What expires in a masked wait is told in the next one. */
static void wait_expire_masked(struct kunit *test)
{
	struct dxk_wait masked = { .wait = DXK_WAIT_TIME | DXK_WAIT_MASKED, .deadline = LATE };
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe;

	ps->e->swept = true;
	post(ps, OWNER, PXR_REJOIN, NULL, NAME, 1);
	rqe = puppet_work(ps, m);
	park(ps, m, &masked, 0);
	dxk_sweep(ps->e, true);
	is_waiting(ps, rqe);
	ring(ps, rqe);
	comes(ps, m, rqe, DXK_WAKE_TIME);
	park(ps, m, &call, 0);
	comes(ps, m, rqe, DXK_WAKE_EXPIRE);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(result(ps, OWNER), 0);
}

/* A worker dies: the same turn again, with the same reason, or the end. */
static void wait_death(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL, .state = 8 };
	struct puppets *ps = waits(test, 2);
	struct dxk_member *m = worker(ps, 0), *other = worker(ps, 1);
	struct dxk_rqe *rqe;

	post(ps, OWNER, PXR_REJOIN | PXR_REDO, NULL, NAME, 0);
	rqe = puppet_work(ps, m);
	park(ps, m, &call, 0);
	wake(ps, NAME);
	comes(ps, m, rqe, DXK_WAKE_CALL);
	puppet_dies(ps, m);
	comes(ps, other, rqe, DXK_WAKE_CALL);
	EXPECT_IS(rqe->attempts, 2);
	EXPECT_IS(rqe->more->turn, 1);
	EXPECT_IS(rqe->more->wait.state, 8);
	/* one that waits is nobody's */
	park(ps, other, &call, 0);
	puppet_dies(ps, other);
	is_waiting(ps, rqe);
	wake(ps, NAME);
	m = puppet_worker(ps);
	comes(ps, m, rqe, DXK_WAKE_CALL);
	EXPECT_IS(rqe->attempts, 1);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(result(ps, OWNER), 0);
}

/* ... but one that was told to end knows it when it begins again, with its key or Held for it. */
static void wait_death_of_told(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	u32 held;

	for (held = 0; held < 2; held++) {
		static const struct dxk_post_more key = { .name = NAME, .key = 5 };
		struct puppets *ps = waits(test, 3);
		struct dxk_post_op *p = puppet_poster(ps, ps->main);
		struct dxk_member *m = worker(ps, 0), *other = worker(ps, 1);
		struct dxk_rqe *rqe;

		rqe = keyed_add(ps, p, OWNER, 0, PXR_REJOIN | PXR_REDO | PXR_NAMED | PXR_KEY, &key);
		puppet_posts(ps, p);
		EXPECT(puppet_work(ps, m) == rqe);
		park(ps, m, &call, 0);
		wake(ps, NAME);
		comes(ps, m, rqe, DXK_WAKE_CALL);
		if (held) {
			puppet_key(ps, m, DXK_KEY_LEAVE);
			keyed_send(ps, ps->main, 5, OWNER + 1, DXK_REENTRY_NONE);
			puppet_work(ps, other);
		}
		EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_TOLD);
		puppet_dies(ps, m);
		EXPECT_IS(rqe->state, held ? DXK_WAITING : DXK_READY);
		EXPECT_IS(rqe->more->wake, DXK_WAKE_CANCEL);
		EXPECT(!rqe->more->worker);
		/* the call is not lost */
		EXPECT(rqe->more->latched);
		if (held)
			puppet_end(ps, other, 0, 0);
		comes(ps, other, rqe, DXK_WAKE_CANCEL);
		EXPECT(other->told);
		puppet_end(ps, other, 0, 0);
		EXPECT_IS(result(ps, OWNER), 0);
		if (!held)
			puppets_end(test);
	}
}

/* --- Stop -------------------------------------------------------------------------------- */

/* DX-107, DX-109: a drain waits for who waits; services are told; late ones as well. */
static void wait_drain(struct kunit *test)
{
	struct dxk_wait masked = {
		.wait = DXK_WAIT_TIME | DXK_WAIT_CALL | DXK_WAIT_MASKED, .deadline = LATE,
	};
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct dxk_policy policy = puppet_policy(8);
	struct puppet_stop *stop;
	struct dxk_rqe *rqe, *service, *kept, *late;
	struct dxk_post_op *p;
	struct dxk_member *m;
	struct puppets *ps;

	policy.max_waiting = 16;
	policy.sched_mode = TPOOL_MODE_CMLS;
	policy.lane_pct[0] = 50;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	m = puppet_worker(ps);
	puppet_worker(ps);
	post(ps, OWNER, 0, NULL, 1, 0);
	rqe = puppet_work(ps, m);
	park(ps, m, &call, 0);
	post(ps, OWNER, PXR_LANE0, NULL, 2, 0);
	service = puppet_work(ps, m);
	park(ps, m, &call, 0);
	post(ps, OWNER, PXR_LANE0, NULL, 3, 0);
	kept = puppet_work(ps, m);
	park(ps, m, &masked, 0);
	dxk_stop_begin(ps->e, ps->e->run.gen, false, false);
	stop = puppet_stopper(ps);
	EXPECT_IS(rqe->state, DXK_WAITING);
	EXPECT_IS(service->state, DXK_READY);
	EXPECT_IS(kept->state, DXK_WAITING);
	comes(ps, m, service, DXK_WAKE_STOP);
	park(ps, m, &call, 0);
	comes(ps, m, service, DXK_WAKE_STOP);
	puppet_end(ps, m, 0, 0);
	wake(ps, 3);
	comes(ps, m, kept, DXK_WAKE_CALL);
	/* what it posts has not waited for anything, of which a Stop would be the end */
	p = puppet_poster(ps, m);
	late = add(ps, p, OWNER, PXR_LANE0, NULL, 4, 0);
	puppet_posts(ps, p);
	puppet_end(ps, m, 0, 0);
	comes(ps, m, late, DXK_WAKE_NONE);
	puppet_end(ps, m, 0, 0);
	EXPECT(ASLEEP(stop));
	wake(ps, 1);
	comes(ps, m, rqe, DXK_WAKE_CALL);
	park(ps, m, &call, 0);
	EXPECT(ASLEEP(stop));
	EXPECT_IS(cancel(ps, 1), DXK_CANCEL_TOLD);
	comes(ps, m, rqe, DXK_WAKE_CANCEL);
	puppet_end(ps, m, 0, 0);
	EXPECT(!ASLEEP(stop));
}

/* Never begun: they end. Begun: last turns, also of those that were Ready. */
static void wait_stop_cancel(struct kunit *test)
{
	struct dxk_wait masked = { .wait = DXK_WAIT_TIME | DXK_WAIT_MASKED, .deadline = LATE };
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 2);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_next_op *idle;
	struct puppet_stop *stop;
	struct dxk_rqe *rqe[4];
	u32 i;

	for (i = 0; i < 4; i++) {
		post(ps, 10 + i, PXR_REJOIN, NULL, 1 + i, 0);
		rqe[i] = puppet_work(ps, m);
		park(ps, m, i == 2 ? &masked : &call, 0);
	}
	wake(ps, 2);
	post(ps, OWNER, PXR_REJOIN, &call, NAME, 0);
	post(ps, OTHER, PXR_REJOIN, NULL, 0, 0);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	stop = puppet_stopper(ps);
	EXPECT_IS(result(ps, OWNER), -ECANCELED);
	EXPECT_IS(result(ps, OTHER), -ECANCELED);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 3);
	EXPECT_IS(rqe[2]->state, DXK_WAITING);
	/* one cannot be fetched: it comes again, behind the others */
	puppet_return(ps, puppet_turn(ps, m, 1));
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 3);
	for (i = 0; i < 3; i++) {
		struct dxk_rqe *last = puppet_work(ps, m);

		EXPECT_IS(last->more->wake, DXK_WAKE_CANCEL);
		if (i == 2) {
			park(ps, m, &masked, 0);
			EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 2);
			break;
		}
		puppet_end(ps, m, 5, 0);
	}
	/* an idle worker is given one as well */
	idle = puppet_turn(ps, worker(ps, 1), 1);
	EXPECT(ASLEEP(idle));
	ring(ps, rqe[2]);
	EXPECT(!ASLEEP(idle));
	EXPECT(puppet_fetch(idle) == rqe[2]);
	EXPECT_IS(rqe[2]->more->wake, DXK_WAKE_TIME);
	puppet_end(ps, worker(ps, 1), 6, 0);
	EXPECT_IS(result(ps, 12), 6);
	EXPECT(ASLEEP(stop));
	/* the last worker goes: nobody could take the turn of who still waits */
	puppet_dies(ps, m);
	EXPECT(ASLEEP(stop));
	dxk_member_do(worker(ps, 1), dxk_leave_run);
	EXPECT(!ASLEEP(stop));
	EXPECT_IS(dxk_live(ps->e), 3);
}

/* Stop(cancel) meets one that was called, and is Ready: its turn is for the Stop. */
static void wait_stop_ready(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe;

	post(ps, OWNER, PXR_REJOIN, NULL, NAME, 0);
	rqe = puppet_work(ps, m);
	park(ps, m, &call, 0);
	EXPECT_IS(wake(ps, NAME), 1);
	EXPECT_IS(rqe->state, DXK_READY);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	comes(ps, m, rqe, DXK_WAKE_CANCEL);
	/* the call is kept */
	EXPECT(rqe->more->latched);
	puppet_end(ps, m, 0, 0);
}

/* There is room for many that wait for it: a hold lets in as many as it can afford. */
static void wait_ripe_many(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct dxk_policy policy = puppet_policy(8);
	u32 i, nr = 2 * DXK_HOLD_BUDGET;
	struct puppets *ps;

	policy.max_waiting = nr;
	policy.ready_entries = 1;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	puppet_post(ps, OTHER, 0, 0);
	for (i = 0; i < nr; i++) {
		EXPECT_IS(post(ps, OWNER, 0, &call, 1 + i, 0)->err, 0);
		EXPECT_IS(wake(ps, 1 + i), 1);
	}
	EXPECT_IS(ps->e->ready.asleep[3], nr);
	ps->e->swept = true;
	policy.ready_entries += nr;
	dxk_enforce(ps->e, &policy);
	EXPECT(ps->e->nr[DXK_AT_READY] > 1);
	EXPECT(ps->e->nr[DXK_AT_READY] <= 1 + DXK_HOLD_BUDGET);
	while (ps->e->owing)
		dxk_sweep(ps->e, true);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1 + nr);
	dxk_sweep_end(ps->e);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
}

/* The owner has so many results, in the order of their posts. */
static void are_in_order(struct puppets *ps, u64 owner, u64 first, u32 nr)
{
	struct dxk_rejoin_op *r = puppet_rejoin(ps, ps->main, owner, DXK_BATCH_MAX, 0);
	struct dxk_rqe *rqe;

	EXPECT_IS(r->nr, nr);
	list_for_each_entry(rqe, &r->rqes, link) {
		EXPECT_IS(rqe->param, first++);
		EXPECT_IS(rqe->status, -ECANCELED);
	}
}

/* Stop(cancel), then the last worker goes: what waits ends in the order in which it began to. */
static void wait_stop_in_order(struct kunit *test)
{
	struct dxk_wait masked = { .wait = DXK_WAIT_TIME | DXK_WAIT_MASKED, .deadline = LATE };
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	u32 i;

	for (i = 0; i < 3; i++)
		post(ps, OWNER, PXR_REJOIN, &call, 1 + i, 0);
	for (i = 0; i < 4; i++) {
		post(ps, i < 2 ? OTHER : OTHER + 1, PXR_REJOIN, NULL, 11 + i, 0);
		puppet_work(ps, m);
		park(ps, m, i < 2 ? &masked : &call, 0);
	}
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	are_in_order(ps, OWNER, 1, 3);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 2);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 2);
	puppet_dies(ps, m);
	are_in_order(ps, OTHER, 4, 2);
	are_in_order(ps, OTHER + 1, 6, 2);
}

/* DX-109: those of lane 0 that a drain tells come in that order, too. */
static void wait_drain_in_order(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_rqe *rqe[3];
	u32 i;

	for (i = 0; i < 3; i++) {
		post(ps, OWNER, PXR_LANE0, &call, 1 + i, 0);
		rqe[i] = named(ps, 1 + i);
	}
	dxk_stop_begin(ps->e, ps->e->run.gen, false, false);
	for (i = 0; i < 3; i++) {
		comes(ps, worker(ps, 0), rqe[i], DXK_WAKE_STOP);
		puppet_end(ps, worker(ps, 0), 0, 0);
	}
}

/* Those that wait for room only are let in in the order in which their waits have ended. */
static void wait_ripe_in_order(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe[3];
	u32 i;

	ps->e->policy.ready_entries = 1;
	for (i = 0; i < 3; i++) {
		post(ps, OWNER, 0, &call, 1 + i, 0);
		rqe[i] = named(ps, 1 + i);
	}
	puppet_post(ps, OTHER, 0, 0);
	for (i = 0; i < 3; i++)
		EXPECT_IS(wake(ps, 3 - i), 1);
	puppet_work(ps, m);
	puppet_end(ps, m, 0, 0);
	for (i = 3; i--;) {
		comes(ps, m, rqe[i], DXK_WAKE_CALL);
		puppet_end(ps, m, 0, 0);
	}
}

/* Who waits for a result of an owner comes first, then who waits for its end, in their order. */
static void wait_join_in_order(struct kunit *test)
{
	static const struct dxk_wait join = { .wait = DXK_WAIT_JOIN, .owner = OTHER };
	static const struct dxk_wait result_of = { .wait = DXK_WAIT_RESULT, .owner = OTHER };
	struct puppets *ps = waits(test, 2);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe[4];
	u32 i;

	puppet_post(ps, OTHER, 0, PXR_REJOIN);
	puppet_work(ps, m);
	for (i = 0; i < 4; i++) {
		post(ps, OWNER, 0, i < 2 ? &join : &result_of, 1 + i, 0);
		rqe[i] = named(ps, 1 + i);
		EXPECT_IS(rqe[i]->state, DXK_WAITING);
	}
	puppet_end(ps, m, 0, 0);
	for (i = 0; i < 4; i++) {
		comes(ps, m, rqe[(i + 2) % 4], i < 2 ? DXK_WAKE_RESULT : DXK_WAKE_JOIN);
		puppet_end(ps, m, 0, 0);
	}
}

/* Its time comes while Stop(cancel) is about to end it: once, and it stays where it was. */
static void wait_stop_then_time(struct kunit *test)
{
	struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = LATE };
	struct puppets *ps = waits(test, 0);
	struct dxk_stop_op stop = { .gen = ps->e->run.gen, .cancel = true };
	struct dxk_rqe *rqe;

	post(ps, OWNER, PXR_REJOIN, &late, NAME, 0);
	rqe = named(ps, NAME);
	puppet_do(ps, &stop.op, dxk_stop_begin_run);
	ring(ps, rqe);
	EXPECT_IS(rqe->state, DXK_WAITING);
	EXPECT_IS(ps->e->stats.timeouts, 1);
	EXPECT(!ps->e->owing);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(result(ps, OWNER), -ECANCELED);
}

/* DX-109: of lane 0 a hold tells as many as it can afford, the next ones the others. */
static void wait_stop_many(struct kunit *test)
{
	struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = LATE };
	struct dxk_policy policy = puppet_policy(8);
	struct dxk_stop_op stop = { };
	struct puppets *ps;
	u32 i, left = 0;
	struct dxk_rqe *rqe;

	policy.max_requests = policy.max_waiting = 2 * DXK_HOLD_BUDGET;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	for (i = 0; i < 2 * DXK_HOLD_BUDGET; i++)
		EXPECT_IS(post(ps, OWNER, PXR_LANE0, &late, 0, 0)->err, 0);
	stop.gen = ps->e->run.gen;
	puppet_do(ps, &stop.op, dxk_stop_begin_run);
	EXPECT(stop.more);
	list_for_each_entry(rqe, &ps->e->waits.line[DXK_LINE_SERVICE], link)
		left++;
	EXPECT_IS(left, DXK_HOLD_BUDGET);
	puppet_do(ps, &stop.op, dxk_stop_begin_run);
	EXPECT(list_empty(&ps->e->waits.line[DXK_LINE_SERVICE]));
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
}

/* All that waits ends at once, with what was woken. */
static void all_end(struct kunit *test, bool close)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	u32 i;

	for (i = 1; i < 3; i++) {
		post(ps, OWNER, 0, NULL, i, 0);
		puppet_work(ps, m);
		park(ps, m, &call, 0);
	}
	wake(ps, 2);
	if (!close)
		puppet_dies(ps, m);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, close);
	EXPECT_IS(dxk_live(ps->e), 0);
}

static void wait_stop_without_workers(struct kunit *test)
{
	all_end(test, false);
}

static void wait_stop_close(struct kunit *test)
{
	all_end(test, true);
}

/* A private space ends: so do its requests that wait, and those that begin to. */
static void wait_space(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_space *space = dxk_space_new(ps->e);

	ps->main->space = space;
	post(ps, OWNER, 0, &call, 1, 0);
	post(ps, OWNER, 0, NULL, 2, 0);
	puppet_work(ps, m);
	park(ps, m, &call, 0);
	post(ps, OWNER, PXR_REJOIN, NULL, 3, 0);
	puppet_work(ps, m);
	ps->main->space = &ps->e->home;
	/* names are a space's own */
	EXPECT_IS(wake(ps, 1), 0);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 2);
	dxk_space_leave(ps->e, space);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 0);
	EXPECT_IS(ps->e->stats.cancelled, 2);
	park(ps, m, &call, 0);
	EXPECT_IS(dxk_live(ps->e), 0);
}

/* DX-113: a hold ends no more of them than it can afford. */
static void wait_space_many(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	u32 i, nr = 2 * DXK_HOLD_BUDGET;
	struct dxk_policy policy = puppet_policy(8);
	struct dxk_close_op c = { };
	struct puppets *ps;

	policy.max_requests = policy.max_waiting = nr;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	c.space = dxk_space_new(ps->e);
	KUNIT_ASSERT_FALSE(test, IS_ERR(c.space));
	ps->main->space = c.space;
	for (i = 0; i < nr; i++)
		EXPECT_IS(post(ps, OWNER, 0, &call, 1 + i, 0)->err, 0);
	ps->main->space = &ps->e->home;
	INIT_LIST_HEAD(&c.ended);
	puppet_do(ps, &c.op, dxk_space_close_run);
	EXPECT(c.more);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], nr - DXK_HOLD_BUDGET);
	dxk_rqe_drop_all(NULL, &c.ended);
	dxk_space_leave(ps->e, c.space);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 0);
}

/* DX-113: with the last request of a drain, which was of the space, its workers go. */
static void wait_space_drains(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_space *space = dxk_space_new(ps->e);
	struct dxk_next_op *idle;
	struct puppet_stop *stop;

	KUNIT_ASSERT_FALSE(test, IS_ERR(space));
	ps->main->space = space;
	post(ps, OWNER, 0, &call, NAME, 0);
	ps->main->space = &ps->e->home;
	idle = puppet_turn(ps, worker(ps, 0), 1);
	dxk_stop_begin(ps->e, ps->e->run.gen, false, false);
	stop = puppet_stopper(ps);
	EXPECT(ASLEEP(idle) && ASLEEP(stop));
	dxk_space_leave(ps->e, space);
	EXPECT(!ASLEEP(idle) && !ASLEEP(stop));
	EXPECT_IS(idle->err, -ESHUTDOWN);
}

/* A policy closes the lane, or leaves no worker: what waits there ends, and what would. */
static void wait_enforce(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct dxk_policy policy = puppet_policy(8);
	struct dxk_member *m;
	struct puppets *ps;
	u32 i;

	policy.max_waiting = 300;
	policy.sched_mode = TPOOL_MODE_CMLS;
	policy.lane_pct[0] = 50;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	m = puppet_worker(ps);
	puppet_worker(ps);
	for (i = 0; i < 200; i++)
		EXPECT_IS(post(ps, OWNER, i & 1 ? PXR_LANE0 : 0, &call, 1 + i, 0)->err, 0);
	post(ps, OTHER, PXR_REJOIN | PXR_LANE0, NULL, 999, 0);
	puppet_work(ps, m);
	policy.lane_pct[0] = 0;
	dxk_enforce(ps->e, &policy);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 100);
	EXPECT_IS(wake(ps, 1), 1);
	EXPECT_IS(wake(ps, 2), 0);
	park(ps, m, &call, 0);
	EXPECT_IS(result(ps, OTHER), -EPERM);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
}

/* Of those beside each other all are looked at, whichever of them stays. */
static void wait_enforce_one(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct dxk_policy policy = puppet_policy(8);
	struct puppets *ps;
	u32 i;

	policy.max_waiting = 16;
	policy.sched_mode = TPOOL_MODE_CMLS;
	policy.lane_pct[1] = 50;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	for (i = 0; i < 2; i++)
		puppet_worker(ps);
	for (i = 0; i < 4; i++)
		EXPECT_IS(post(ps, OWNER, i & 1 ? 0 : PXR_LANE1, &call, 1 + i, 0)->err, 0);
	policy.lane_pct[1] = 0;
	dxk_enforce(ps->e, &policy);
	for (i = 0; i < 4; i++)
		EXPECT_IS(!!named(ps, 1 + i), i & 1);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
}

static bool stuck(struct puppets *ps)
{
	bool is;

	spin_lock(&ps->e->lock);
	is = dxk_nobody_can_run(ps->e);
	spin_unlock(&ps->e->lock);
	return is;
}

/* Somebody who is idle and a clock that runs: no stall. Nobody who could call: one. */
static void wait_stall(struct kunit *test)
{
	struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = LATE };
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);

	post(ps, OWNER, PXR_REJOIN, NULL, NAME, 0);
	puppet_work(ps, m);
	park(ps, m, &late, 0);
	puppet_turn(ps, m, 1);
	EXPECT(ASLEEP(puppet_rejoin(ps, ps->main, OWNER, 1, 1)));
	EXPECT(!stuck(ps));
	cancel(ps, NAME);
	puppet_fetch(container_of(ps->calls->before->w, struct dxk_next_op, w));
	puppet_dies(ps, m);
	m = puppet_worker(ps);
	post(ps, OWNER, PXR_REJOIN, &call, NAME, 0);
	puppet_turn(ps, m, 1);
	EXPECT(!stuck(ps));
	EXPECT(ASLEEP(puppet_rejoin(ps, ps->main, OWNER, 2, 2)));
	EXPECT(stuck(ps));
	EXPECT_IS(wake(ps, NAME), 1);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
}

/* A call that names as many as it can, each of whom has sleepers: no hold does it all. */
static void wait_cancel_many(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(70);
	u64 *names = kunit_kcalloc(test, DXK_BATCH_MAX, sizeof(*names), GFP_KERNEL);
	struct dxk_names_op n = { .names = names, .nr = DXK_BATCH_MAX };
	struct puppets *ps;
	u32 i, holds = 0;

	policy.max_waiting = 16;
	policy.ready_entries = 8;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	KUNIT_ASSERT_NOT_NULL(test, names);
	for (i = 0; i < DXK_BATCH_MAX; i++) {
		struct dxk_member *m = i < 60 ? puppet_worker(ps) : NULL;

		names[i] = 1 + i;
		EXPECT_IS(post(ps, OWNER + !m * i, m ? 0 : PXR_REJOIN, NULL, 1 + i, 0)->err, 0);
		if (m) {
			puppet_work(ps, m);
			EXPECT(ASLEEP(puppet_asks(ps, m, true)));
		} else {
			EXPECT(ASLEEP(puppet_rejoin(ps, puppet_client(ps), OWNER + i, 1, 1)));
		}
	}
	for (i = 0; i < 4; i++)
		puppet_post(ps, 500, 0, 0);
	for (i = 0; i < 4; i++) {
		struct dxk_post_op *p = puppet_poster(ps, puppet_client(ps));

		puppet_add(ps, p, 600 + i, 0, PXR_WAITIF_BUSY);
		puppet_posts(ps, p);
		EXPECT(ASLEEP(p));
	}
	n.m = ps->main;
	INIT_LIST_HEAD(&n.ended);
	do {
		puppet_do(ps, &n.op, dxk_cancel_names_run);
		dxk_rqe_drop_all(NULL, &n.ended);
		holds++;
	} while (n.more);
	EXPECT_IS(n.found, DXK_BATCH_MAX);
	EXPECT(holds > 1);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	for (i = 0; i < 60; i++)
		puppet_end(ps, worker(ps, i), 0, 0);
}

/* a call that made it Ready is not forgotten when it then expires. */
static void wait_call_then_expire(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_wakes wakes = { };
	struct dxk_rqe *rqe;

	post(ps, OWNER, PXR_REJOIN, NULL, NAME, LATE);
	rqe = puppet_work(ps, m);
	park(ps, m, &call, 0);
	EXPECT_IS(wake(ps, NAME), 1);
	spin_lock(&ps->e->lock);
	rqe->more->expire = 1;
	dxk_alarm_set(ps->e, rqe->more, 1, &wakes);
	spin_unlock(&ps->e->lock);
	dxk_sweep(ps->e, true);
	comes(ps, m, rqe, DXK_WAKE_EXPIRE);
	park(ps, m, &call, 0);
	comes(ps, m, rqe, DXK_WAKE_CALL);
	puppet_end(ps, m, 0, 0);
}

/* Its time to end has come. */
static void expire(struct puppets *ps, struct dxk_rqe *rqe)
{
	struct dxk_wakes wakes = { };

	spin_lock(&ps->e->lock);
	rqe->more->expire = 1;
	dxk_alarm_set(ps->e, rqe->more, 1, &wakes);
	spin_unlock(&ps->e->lock);
	dxk_sweep(ps->e, true);
}

/* Workers who wait for room complete what ends with a wait, too: a hold knows what that costs. */
static void wait_blocked(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(70);
	struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = LATE };
	struct dxk_rejoin_op r = { .cookie = 3, .max = 8, .min = 1, .free = true };
	struct dxk_next_op **n;
	struct puppets *ps;
	u32 i, k;

	policy.max_waiting = 16;
	policy.ready_entries = 1000;
	policy.rejoin_entries = 8;
	policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	n = puppet_array(ps, 8);
	r.m = ps->main;
	for (i = 0; i <= 8; i++)
		puppet_worker(ps);
	for (i = 0; i < 8; i++) {
		puppet_post(ps, OWNER, 0, PXR_REJOIN);
		puppet_work(ps, worker(ps, i));
		for (k = 0; k < DXK_BATCH_MAX - 1; k++) {
			puppet_post(ps, OTHER, 0, 0);
			ASSERT_IS(dxk_wait_set(worker(ps, i), puppet_work(ps, worker(ps, i)),
					       &late), 0);
		}
	}
	for (i = 0; i < 8; i++) {
		puppet_post(ps, 3, 0, PXR_REJOIN);
		puppet_work(ps, worker(ps, 8));
		puppet_end(ps, worker(ps, 8), 0, 0);
	}
	for (i = 0; i < 8; i++) {
		struct dxk_member *m = worker(ps, i);

		n[i] = kunit_kzalloc(test, sizeof(**n), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, n[i]);
		n[i]->m = m;
		dxk_waiter_init(&n[i]->w);
		n[i]->w.task = ps->task;
		INIT_LIST_HEAD(&n[i]->done);
		INIT_LIST_HEAD(&n[i]->ended);
		INIT_LIST_HEAD(&n[i]->work);
		list_splice_init(&m->busy, &n[i]->done);
		puppet_do(ps, &n[i]->op, dxk_next_run);
		EXPECT(ASLEEP(n[i]));
	}
	/* the holds assert that they keep to their bound */
	ps->e->swept = true;
	INIT_LIST_HEAD(&r.rqes);
	dxk_waiter_init(&r.w);
	dxk_perform(ps->e, &r.op, dxk_rejoin_run);
	EXPECT_IS(r.nr, 8);
	dxk_rqe_drop_all(NULL, &r.rqes);
	for (i = 0; i < 20 && ps->e->nr[DXK_AT_WAIT] < 8 * (DXK_BATCH_MAX - 1); i++)
		dxk_sweep(ps->e, false);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 8 * (DXK_BATCH_MAX - 1));
	dxk_stop_begin(ps->e, ps->e->run.gen, true, true);
}

/* What a lookup costs under the lock does not depend on how many have names. */
static void wait_names(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(1);
	u32 i, bucket, nr, most = 0, all = 0;
	struct puppets *ps;

	policy.max_waiting = 1;
	policy.max_requests = policy.ready_entries = 2048;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	for (i = 0; i < 2000; i++)
		ASSERT_IS(post(ps, OWNER, 0, NULL, 1 + i, 0)->err, 0);
	for (bucket = 0; bucket < 1U << ps->e->waits.bits; bucket++) {
		struct dxk_more *more;

		nr = 0;
		hlist_for_each_entry(more, &ps->e->waits.bucket[bucket], by_name)
			nr++;
		all += nr;
		most = max(most, nr);
	}
	EXPECT_IS(all, 2000);
	EXPECT(most <= 40);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
}

/* Of a wait that is refused nothing is left: a turn that is run again has the state it had. */
static void wait_is_refused(struct kunit *test)
{
	struct dxk_wait a = { .wait = DXK_WAIT_AGAIN, .state = 1 }, b = a;
	struct puppets *ps = waits(test, 2);
	struct dxk_rqe *rqe;

	b.state = 2;
	post(ps, OWNER, PXR_REJOIN | PXR_REDO, NULL, 0, 0);
	rqe = puppet_work(ps, worker(ps, 0));
	EXPECT_IS(dxk_wait_set(worker(ps, 0), rqe, &a), 0);
	puppet_end(ps, worker(ps, 0), 0, 0);
	comes(ps, worker(ps, 0), rqe, DXK_WAKE_AGAIN);
	EXPECT_IS(rqe->more->state, 1);
	/* the rest of its call is no good, and it dies */
	EXPECT_IS(dxk_wait_set(worker(ps, 0), rqe, &b), 0);
	puppet_dies(ps, worker(ps, 0));
	comes(ps, worker(ps, 1), rqe, DXK_WAKE_AGAIN);
	EXPECT_IS(rqe->more->state, 1);
	EXPECT_IS(rqe->more->turn, 1);
	EXPECT(!rqe->more->parks);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT_IS(result(ps, OWNER), 0);
}

/* What a turn leaves to the next one is beside what it was given until its wait has begun. */
static void wait_leaves_data(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = waits(test, 2);
	struct dxk_post_op *p = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe = add(ps, p, OWNER, PXR_REDO, NULL, 0, 0);
	void *data;
	u32 i;

	rqe->data_len = rqe->posted_len = rqe->result_at = 4;
	rqe->result_room = 8;
	ASSERT_IS(dxk_rqe_alloc_data(rqe), 0);
	memcpy(rqe->data, "post", 4);
	puppet_posts(ps, p);
	puppet_work(ps, worker(ps, 0));
	EXPECT_IS(dxk_wait_set(worker(ps, 0), rqe, &again), 0);
	/* a call is refused after that, and comes once more */
	for (i = 0; i < 2; i++) {
		data = dxk_more_data(rqe, 8);
		KUNIT_ASSERT_NOT_NULL(test, data);
		EXPECT(data != rqe->data);
		memcpy(data, "whatever", 8);
		rqe->more->swaps = true;
	}
	puppet_dies(ps, worker(ps, 0));
	comes(ps, worker(ps, 1), rqe, DXK_WAKE_NONE);
	EXPECT_IS(rqe->more->events, 0);
	EXPECT_IS(rqe->data_len, 4);
	EXPECT_IS(memcmp(rqe->data, "post", 4), 0);
	EXPECT_IS(dxk_wait_set(worker(ps, 1), rqe, &again), 0);
	data = dxk_more_data(rqe, 5);
	KUNIT_ASSERT_NOT_NULL(test, data);
	memcpy(data, "again", 5);
	rqe->more->swaps = true;
	rqe->data_len = 5;
	puppet_end(ps, worker(ps, 1), 0, 0);
	comes(ps, worker(ps, 1), rqe, DXK_WAKE_AGAIN);
	EXPECT(rqe->data == data);
	EXPECT_IS(rqe->data_len, 5);
	EXPECT_IS(rqe->posted_len, 5);
	EXPECT(dxk_rqe_result(rqe) == data + 5);
	memset(dxk_rqe_result(rqe), 0, 8);
	/* without another turn there is nothing to swap */
	EXPECT_IS(dxk_wait_set(worker(ps, 1), rqe, &again), 0);
	puppet_end(ps, worker(ps, 1), 0, 0);
	comes(ps, worker(ps, 1), rqe, DXK_WAKE_AGAIN);
	EXPECT(rqe->data == data);
	puppet_end(ps, worker(ps, 1), 0, 0);
	/* what is not run again needs its old data no more */
	p = puppet_poster(ps, ps->main);
	rqe = add(ps, p, OWNER, 0, NULL, 0, 0);
	rqe->result_room = 8;
	ASSERT_IS(dxk_rqe_alloc_data(rqe), 0);
	puppet_posts(ps, p);
	puppet_work(ps, worker(ps, 1));
	EXPECT(dxk_more_data(rqe, 8) == rqe->data);
	puppet_end(ps, worker(ps, 1), 0, 0);
}

/* A batch that begins with one that is to wait ends with one that ends. */
static void wait_in_batch(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *waiting, *ending;

	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	puppet_post(ps, OTHER, 0, PXR_REJOIN);
	waiting = puppet_work(ps, m);
	ending = puppet_work(ps, m);
	EXPECT_IS(dxk_wait_set(m, waiting, &again), 0);
	EXPECT_IS(puppet_end_all(ps, m)->taken, 2);
	EXPECT_IS(ending->state, DXK_REJOIN);
	comes(ps, m, waiting, DXK_WAKE_AGAIN);
	puppet_end(ps, m, 0, 0);
}

/* A turn more than can be counted is one of a request that was begun. */
static void wait_turns_overflow(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	struct dxk_rqe *rqe;

	post(ps, OWNER, PXR_REJOIN, NULL, NAME, 0);
	rqe = puppet_work(ps, worker(ps, 0));
	rqe->more->turn = U32_MAX;
	park(ps, worker(ps, 0), &call, 0);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_TOLD);
	comes(ps, worker(ps, 0), rqe, DXK_WAKE_CANCEL);
	puppet_end(ps, worker(ps, 0), 0, 0);
}

/* Cancelled, or late, while a worker had it that could not fetch it: it ends as if Ready. */
static void wait_put_back(struct kunit *test)
{
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_next_op *n;

	post(ps, OWNER, PXR_REJOIN, NULL, NAME, 0);
	n = puppet_turn(ps, m, 1);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_TOLD);
	puppet_return(ps, n);
	EXPECT_IS(result(ps, OWNER), -ECANCELED);

	post(ps, OWNER, PXR_REJOIN, NULL, NAME, LATE);
	n = puppet_turn(ps, m, 1);
	expire(ps, named(ps, NAME));
	puppet_return(ps, n);
	EXPECT_IS(result(ps, OWNER), -ETIME);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 0);
}

/* The same of one that was begun: that is the reason of the turn that comes. */
static void wait_put_back_begun(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_next_op *n;
	struct dxk_rqe *rqe;

	post(ps, OWNER, PXR_REJOIN, NULL, NAME, LATE);
	rqe = puppet_work(ps, m);
	n = park(ps, m, &again, 1);
	expire(ps, rqe);
	puppet_return(ps, n);
	n = puppet_turn(ps, m, 1);
	EXPECT_IS(rqe->more->wake, DXK_WAKE_EXPIRE);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_TOLD);
	puppet_return(ps, n);
	comes(ps, m, rqe, DXK_WAKE_CANCEL);
	puppet_end(ps, m, 0, 0);
}

/* One that is cancelled and then late is cancelled. */
static void wait_cancel_then_expire(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = waits(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe;

	post(ps, OWNER, PXR_REJOIN, NULL, NAME, LATE);
	rqe = puppet_work(ps, m);
	park(ps, m, &again, 0);
	EXPECT_IS(cancel(ps, NAME), DXK_CANCEL_TOLD);
	expire(ps, rqe);
	comes(ps, m, rqe, DXK_WAKE_CANCEL);
	puppet_end(ps, m, 0, 0);
}

/* What was begun has been admitted: it takes no place of those that are posted waiting. */
static void wait_places(struct kunit *test)
{
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	struct puppets *ps = waits(test, 1);
	u32 i;

	for (i = 0; i < 16; i++) {
		post(ps, OTHER, 0, NULL, NAME + i, 0);
		puppet_work(ps, worker(ps, 0));
		park(ps, worker(ps, 0), &call, 0);
	}
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 16);
	for (; i < 32; i++)
		EXPECT_IS(post(ps, OWNER, 0, &call, NAME + i, 0)->err, 0);
	EXPECT_IS(post(ps, OWNER, 0, &call, NAME + i, 0)->err, -ENOSPC);
	EXPECT_IS(ps->e->waits.unbegun, 16);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, true);
	EXPECT_IS(ps->e->waits.unbegun, 0);
}

/* In a Stop(cancel) the last worker leaves, ends its turn with a wait, and stays: it ends. */
static void wait_without_crew(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = waits(test, 1);
	struct puppet_stop *s;

	post(ps, OWNER, 0, NULL, 0, 0);
	puppet_work(ps, worker(ps, 0));
	dxk_member_do(worker(ps, 0), dxk_leave_run);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	s = puppet_stopper(ps);
	EXPECT(ASLEEP(s));
	park(ps, worker(ps, 0), &again, 0);
	EXPECT(!ASLEEP(s));
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 0);
}

/* A lane is closed while a Stop goes through what waits: each is looked at, wherever it went. */
static void wait_enforce_and_stop(struct kunit *test)
{
	struct dxk_wait w = { .wait = DXK_WAIT_TIME, .deadline = LATE };
	struct dxk_policy policy = puppet_policy(8);
	struct dxk_enforce_op p = { .policy = &policy };
	struct puppets *ps;
	u32 i;

	policy.max_requests = policy.max_waiting = 2 * DXK_HOLD_BUDGET;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	INIT_LIST_HEAD(&p.ended);
	for (i = 0; i < 2 * DXK_HOLD_BUDGET; i++)
		EXPECT_IS(post(ps, OWNER, PXR_LANE0, &w, 0, 0)->err, 0);
	policy.sched_mode |= TPOOL_MODE_CMLS;
	policy.lane_pct[0] = 0;
	/* What one hold can afford, then Stop has its turn. */
	puppet_do(ps, &p.op, dxk_enforce_run);
	EXPECT(p.more);
	dxk_stop_begin(ps->e, ps->e->run.gen, false, false);
	while (p.more)
		puppet_do(ps, &p.op, dxk_enforce_run);
	dxk_rqe_drop_all(NULL, &p.ended);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 0);
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE(wait_names),
	KUNIT_CASE(wait_cancel_many),
	KUNIT_CASE(wait_call_then_expire),
	KUNIT_CASE(wait_blocked),
	KUNIT_CASE(wait_is_refused),
	KUNIT_CASE(wait_in_batch),
	KUNIT_CASE(wait_leaves_data),
	KUNIT_CASE(wait_turns_overflow),
	KUNIT_CASE(wait_put_back),
	KUNIT_CASE(wait_put_back_begun),
	KUNIT_CASE(wait_cancel_then_expire),
	KUNIT_CASE(wait_places),
	KUNIT_CASE(wait_without_crew),
	KUNIT_CASE(wait_enforce_and_stop),
	KUNIT_CASE(wait_check),
	KUNIT_CASE(wait_fields_need_attributes),
	KUNIT_CASE(wait_posts_are_refused),
	KUNIT_CASE(wait_of_another_run),
	KUNIT_CASE(wait_shares),
	KUNIT_CASE(wait_call),
	KUNIT_CASE(wait_time),
	KUNIT_CASE(wait_first_wins),
	KUNIT_CASE(wait_owner),
	KUNIT_CASE(wait_chain),
	KUNIT_CASE(wait_again),
	KUNIT_CASE(wait_room),
	KUNIT_CASE(wait_stands),
	KUNIT_CASE(wait_stands_in_a_lane),
	KUNIT_CASE(wait_stands_of_a_tenant),
	KUNIT_CASE(wait_cancel),
	KUNIT_CASE(wait_cancel_begun),
	KUNIT_CASE(wait_expire),
	KUNIT_CASE(wait_expire_masked),
	KUNIT_CASE(wait_death),
	KUNIT_CASE(wait_death_of_told),
	KUNIT_CASE(wait_drain),
	KUNIT_CASE(wait_stop_cancel),
	KUNIT_CASE(wait_stop_ready),
	KUNIT_CASE(wait_ripe_many),
	KUNIT_CASE(wait_ripe_in_order),
	KUNIT_CASE(wait_join_in_order),
	KUNIT_CASE(wait_stop_in_order),
	KUNIT_CASE(wait_drain_in_order),
	KUNIT_CASE(wait_stop_then_time),
	KUNIT_CASE(wait_stop_many),
	KUNIT_CASE(wait_stop_without_workers),
	KUNIT_CASE(wait_stop_close),
	KUNIT_CASE(wait_space),
	KUNIT_CASE(wait_space_many),
	KUNIT_CASE(wait_space_drains),
	KUNIT_CASE(wait_enforce),
	KUNIT_CASE(wait_enforce_one),
	KUNIT_CASE(wait_stall),
	{ }
};

static struct kunit_suite wait_suite = {
	.name = "dxk_wait",
	.exit = puppets_end,
	.test_cases = wait_cases,
};

kunit_test_suite(wait_suite);
