// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Events from any context: none is lost, whenever it comes; each wakes once, in their order
 * (R-7, D-21, FO-21).
 */
#include "engine/alarm.h"
#include "engine/fire.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/tests/keyed.h"
#include "engine/turn.h"

#define OWNER	1
#define READABLE	1
/* more than a hold can afford */
#define MANY	(2 * DXK_HOLD_BUDGET)

static const struct dxk_wait for_file = { .wait = DXK_WAIT_FILE, .events = READABLE };

static struct puppets *start(struct kunit *test, u32 workers)
{
	struct dxk_policy policy = puppet_policy(8);
	struct puppets *ps;

	policy.max_waiting = 200;
	policy.max_requests = 400;
	policy.ready_entries = 200;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	while (workers--)
		puppet_worker(ps);
	return ps;
}

static struct dxk_member *worker(struct puppets *ps, u32 i)
{
	return ps->member[1 + i];
}

/* A watch that is of no file; what the world does to it the tests do. */
static struct dxk_watch *watch(struct puppets *ps)
{
	struct dxk_watch *w = kunit_kzalloc(ps->test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(ps->test, w);
	return w;
}

static struct dxk_rqe *add(struct puppets *ps, struct dxk_post_op *p, u32 attrs,
			   struct dxk_watch *w)
{
	struct dxk_rqe *rqe;

	puppet_add(ps, p, OWNER, 0, PXR_REJOIN | PXR_WAIT | attrs);
	rqe = list_last_entry(&p->rqes, struct dxk_rqe, link);
	KUNIT_ASSERT_NOT_NULL(ps->test, dxk_more_of(ps->main, rqe));
	/* of its first turn */
	EXPECT_IS(rqe->more->state, 0);
	rqe->more->wait = for_file;
	rqe->more->watch = w;
	return rqe;
}

static struct dxk_rqe *post(struct puppets *ps, struct dxk_watch *w)
{
	struct dxk_post_op *p = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe = add(ps, p, 0, w);

	puppet_posts(ps, p);
	EXPECT_IS(p->err, 0);
	return rqe;
}

static void park(struct puppets *ps, struct dxk_member *m)
{
	struct dxk_rqe *rqe = list_last_entry(&m->busy, struct dxk_rqe, link);

	EXPECT_IS(dxk_wait_set(m, rqe, &for_file), 0);
	puppet_end(ps, m, 0, 0);
}

/* The turn comes, because of that; the request is as without a file when it has ended. */
static void comes(struct puppets *ps, struct dxk_member *m, struct dxk_rqe *rqe, u32 events)
{
	EXPECT(puppet_work(ps, m) == rqe);
	EXPECT_IS(rqe->more->wake, DXK_WAKE_FILE);
	EXPECT_IS(rqe->more->events, events);
}

static void ends(struct puppets *ps, struct dxk_member *m, struct dxk_rqe *rqe)
{
	rqe->more->watch->event.more = NULL;
	rqe->more->watch = NULL;
	puppet_end(ps, m, 0, 0);
}

/* Before the post, while it waits, while it executes, as it begins to wait. */
static void fire_any_time(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_watch *w = watch(ps);
	struct dxk_rqe *rqe;

	dxk_event_fire(ps->e, &w->event, READABLE);
	rqe = post(ps, w);
	EXPECT_IS(rqe->state, DXK_READY);
	comes(ps, m, rqe, READABLE);
	WRITE_ONCE(w->event.seen, 0);
	park(ps, m);
	EXPECT_IS(rqe->state, DXK_WAITING);
	EXPECT_IS(ps->e->waits.files, 1);
	dxk_event_fire(ps->e, &w->event, READABLE | 4);
	EXPECT_IS(rqe->state, DXK_WAITING);
	dxk_sweep(ps->e, true);
	EXPECT_IS(rqe->state, DXK_READY);
	EXPECT_IS(ps->e->waits.files, 0);
	comes(ps, m, rqe, READABLE | 4);
	dxk_event_fire(ps->e, &w->event, READABLE);
	dxk_sweep(ps->e, true);
	EXPECT_IS(rqe->state, DXK_BUSY);
	park(ps, m);
	comes(ps, m, rqe, READABLE);
	park(ps, m);
	EXPECT_IS(rqe->state, DXK_WAITING);
	dxk_event_fire(ps->e, &w->event, READABLE);
	dxk_sweep(ps->e, true);
	comes(ps, m, rqe, READABLE);
	ends(ps, m, rqe);
}

/* More than a hold can afford: in their order, and what comes meanwhile behind the rest. */
static void fire_many(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_watch **w = puppet_array(ps, 150);
	struct dxk_rqe **rqe = puppet_array(ps, 150);
	u32 i;

	for (i = 0; i < 150; i++) {
		w[i] = watch(ps);
		rqe[i] = post(ps, w[i]);
	}
	for (i = 0; i < 120; i++) {
		dxk_event_fire(ps->e, &w[i]->event, READABLE);
		/* again, before anybody has looked */
		dxk_event_fire(ps->e, &w[i]->event, READABLE);
	}
	dxk_sweep(ps->e, true);
	EXPECT(ps->e->owing);
	EXPECT(ps->e->nr[DXK_AT_READY] < 120);
	for (; i < 150; i++)
		dxk_event_fire(ps->e, &w[i]->event, READABLE);
	for (i = 0; i < 150; i++) {
		while (rqe[i]->state == DXK_WAITING)
			dxk_sweep(ps->e, true);
		comes(ps, worker(ps, 0), rqe[i], READABLE);
		ends(ps, worker(ps, 0), rqe[i]);
	}
	while (ps->e->owing)
		dxk_sweep(ps->e, true);
}

static struct dxk_rqe *waits_too(struct puppets *ps, u32 attrs, const struct dxk_post_more *more)
{
	struct dxk_post_op *p = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe = keyed_add(ps, p, OWNER, 0, attrs, more);

	puppet_posts(ps, p);
	EXPECT_IS(rqe->state, DXK_WAITING);
	return rqe;
}

/* However many have fired, a hold has budget left for what it is for, and a sweep for the time. */
static void fire_leaves_budget(struct kunit *test)
{
	static const struct dxk_post_more call = { .name = 7, .wait = { .wait = DXK_WAIT_CALL } };
	static const struct dxk_post_more time = {
		.wait = { .wait = DXK_WAIT_TIME, .deadline = DXK_FOREVER - 1 },
	};
	struct puppets *ps = start(test, 1);
	struct dxk_names_op n = { .m = ps->main, .names = &call.name, .nr = 1 };
	struct dxk_rqe *called, *timed, **rqe = puppet_array(ps, MANY);
	struct dxk_wakes wakes = { };
	struct dxk_watch **w = puppet_array(ps, MANY);
	u32 i;

	called = waits_too(ps, PXR_WAIT | PXR_NAMED, &call);
	timed = waits_too(ps, PXR_WAIT, &time);
	for (i = 0; i < MANY; i++) {
		w[i] = watch(ps);
		rqe[i] = post(ps, w[i]);
	}
	for (i = 0; i < MANY; i++)
		dxk_event_fire(ps->e, &w[i]->event, READABLE);
	INIT_LIST_HEAD(&n.ended);
	dxk_hold(ps->e, &n.op, dxk_wake_names_run, &wakes);
	EXPECT(!n.more);
	EXPECT_IS(called->state, DXK_READY);
	EXPECT_IS(rqe[MANY - 1]->state, DXK_WAITING);
	EXPECT(ps->e->owing);
	spin_lock(&ps->e->lock);
	dxk_alarm_set(ps->e, timed->more, 0, &wakes);
	spin_unlock(&ps->e->lock);
	dxk_sweep(ps->e, true);
	EXPECT_IS(timed->state, DXK_READY);
	EXPECT_IS(rqe[MANY - 1]->state, DXK_WAITING);
	EXPECT(ps->e->owing);
	while (ps->e->owing)
		dxk_sweep(ps->e, true);
	for (i = 0; i < MANY; i++)
		EXPECT_IS(rqe[i]->state, DXK_READY);
	for (i = 0; i < MANY + 2; i++) {
		struct dxk_rqe *next = puppet_work(ps, worker(ps, 0));

		if (next == called || next == timed)
			puppet_end(ps, worker(ps, 0), 0, 0);
		else
			ends(ps, worker(ps, 0), next);
	}
}

/* What it was of is no more: who waits is told, who executes is left alone. */
static void fire_detach(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_watch *w = watch(ps);
	struct dxk_rqe *rqe = post(ps, w);

	EXPECT(dxk_detach(ps->e, w, DXK_EVENT_GONE));
	comes(ps, m, rqe, DXK_EVENT_GONE);
	EXPECT(!rqe->more->watch);
	EXPECT(!w->event.more);
	EXPECT(!dxk_detach(ps->e, w, DXK_EVENT_GONE));
	rqe->more->watch = w;
	park(ps, m);
	dxk_event_fire(ps->e, &w->event, READABLE);
	dxk_sweep(ps->e, true);
	comes(ps, m, rqe, READABLE);
	EXPECT(!dxk_detach(ps->e, w, DXK_EVENT_GONE));
	/* who was woken by it, and has not begun, no longer has it either */
	park(ps, m);
	dxk_event_fire(ps->e, &w->event, READABLE);
	dxk_sweep(ps->e, true);
	EXPECT_IS(rqe->state, DXK_READY);
	EXPECT(dxk_detach(ps->e, w, DXK_EVENT_GONE));
	EXPECT(!rqe->more->watch);
	EXPECT(!w->event.more);
	comes(ps, m, rqe, READABLE);
	puppet_end(ps, m, 0, 0);
}

/* Whoever waits until it is in no list makes the moves that it is for. */
static void fire_flush(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_watch *w = watch(ps);
	struct dxk_rqe *rqe = post(ps, w);

	dxk_fired_flush(ps->e, &w->event);
	EXPECT_IS(rqe->state, DXK_WAITING);
	dxk_event_fire(ps->e, &w->event, READABLE);
	EXPECT(READ_ONCE(w->event.pending));
	dxk_fired_flush(ps->e, &w->event);
	EXPECT(!READ_ONCE(w->event.pending));
	EXPECT_IS(rqe->state, DXK_READY);
	comes(ps, worker(ps, 0), rqe, READABLE);
	ends(ps, worker(ps, 0), rqe);
}

/* One who waits for a file, and an idle worker, are no stall. */
static void fire_is_hope(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_watch *w = watch(ps);
	struct dxk_rqe *rqe = post(ps, w);

	puppet_turn(ps, worker(ps, 0), 1);
	puppet_rejoin(ps, ps->main, OWNER, 1, 1);
	spin_lock(&ps->e->lock);
	EXPECT(!dxk_nobody_can_run(ps->e));
	spin_unlock(&ps->e->lock);
	dxk_event_fire(ps->e, &w->event, READABLE);
	dxk_sweep(ps->e, true);
	EXPECT_IS(rqe->state, DXK_DISPATCHED);
	rqe->more->watch->event.more = NULL;
	rqe->more->watch = NULL;
	dxk_stop_begin(ps->e, ps->e->run.gen, true, true);
	while (ps->e->owing)
		dxk_sweep(ps->e, true);
}

/* While all workers run nobody is kicked: who comes next looks first, and who ceases to run. */
static void fire_wanted(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_watch *w = watch(ps);
	struct dxk_next_op *idle;
	struct dxk_rqe *rqe;

	EXPECT(ps->e->waits.call);
	rqe = post(ps, w);
	EXPECT(!ps->e->waits.call);
	dxk_event_fire(ps->e, &w->event, READABLE);
	comes(ps, m, rqe, READABLE);
	park(ps, m);
	EXPECT(!ps->e->waits.call);
	idle = puppet_turn(ps, worker(ps, 1), 1);
	EXPECT(ps->e->waits.catcher == &idle->w);
	EXPECT(ps->e->waits.call == idle->w.task);
	dxk_event_fire(ps->e, &w->event, READABLE);
	EXPECT_IS(rqe->state, DXK_WAITING);
	dxk_sweep(ps->e, true);
	EXPECT(puppet_fetch(idle) == rqe);
	EXPECT(!ps->e->waits.catcher);
	park(ps, worker(ps, 1));
	EXPECT(!ps->e->waits.call);

	/* One who asks by poll(2) does not come by itself. */
	dxk_event_fire(ps->e, &w->event, READABLE);
	spin_lock(&ps->e->lock);
	dxk_events_poll(ps->e);
	spin_unlock(&ps->e->lock);
	EXPECT(ps->e->waits.call);
	comes(ps, m, rqe, READABLE);
	EXPECT(ps->e->waits.call);
	ends(ps, m, rqe);
}

/*
 * One that sleeps for work sees to what happens: it is not told to when it is given something else,
 * or goes, and with policy dispatch=thread it is thread 700 that does.
 */
static void fire_caught(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_watch *w = watch(ps);
	struct dxk_rqe *rqe = post(ps, w);
	struct dxk_next_op *idle[2];

	idle[0] = puppet_turn(ps, worker(ps, 0), 1);
	idle[1] = puppet_turn(ps, worker(ps, 1), 1);
	/* the one that is given what is Ready */
	EXPECT(ps->e->waits.catcher == &idle[1]->w);
	puppet_post(ps, OWNER, 0, 0);
	EXPECT(!ASLEEP(idle[1]));
	EXPECT(ps->e->waits.catcher == &idle[0]->w);
	EXPECT_IS(puppet_time_up(ps, &idle[0]->w), -ETIMEDOUT);
	EXPECT(!ps->e->waits.catcher);
	EXPECT(ps->e->waits.call == NULL || ps->e->waits.call == DXK_CALL_DISPATCHER);
	puppet_fetch(idle[1]);
	puppet_end(ps, worker(ps, 1), 0, 0);

	WRITE_ONCE(ps->e->direct, false);
	idle[0] = puppet_turn(ps, worker(ps, 0), 1);
	EXPECT(ps->e->waits.call == DXK_CALL_DISPATCHER);
	WRITE_ONCE(ps->e->direct, true);
	dxk_event_fire(ps->e, &w->event, READABLE);
	dxk_sweep(ps->e, false);
	/* that is no move that was missed */
	EXPECT_IS(ps->e->stats.missed_wakeups, 0);
	EXPECT(puppet_fetch(idle[0]) == rqe);
	ends(ps, worker(ps, 0), rqe);
}

/* So does a kernel worker, if no user worker sleeps for work. */
static void fire_caught_by_kernel(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_watch *w = watch(ps);
	struct dxk_rqe *rqe = post(ps, w);
	struct dxk_member *kernel = puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, false);
	struct dxk_next_op *idle = puppet_turn(ps, kernel, 1);

	EXPECT(ps->e->waits.catcher == &idle->w);
	dxk_event_fire(ps->e, &w->event, READABLE);
	comes(ps, worker(ps, 0), rqe, READABLE);
	ends(ps, worker(ps, 0), rqe);
}

/* ... but where the crew can grow, what has happened is a reason to. */
static void fire_grows(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_watch *w = watch(ps);
	struct dxk_rqe *rqe;

	spin_lock(&ps->e->lock);
	ps->e->policy.min_threads = 1;
	spin_unlock(&ps->e->lock);
	rqe = post(ps, w);
	EXPECT(ps->e->waits.call);
	dxk_event_fire(ps->e, &w->event, READABLE);
	comes(ps, worker(ps, 0), rqe, READABLE);
	EXPECT(ps->e->waits.call);
	ends(ps, worker(ps, 0), rqe);
}

/* What lets in who waits for a file says whom to wake: a sweep, or who goes on without one. */
static void swept(struct kunit *test, bool last)
{
	struct dxk_policy policy = puppet_policy(8);
	struct dxk_post_op *sleeper;
	struct dxk_rqe *first, *second;
	struct dxk_watch *w[2];
	struct dxk_next_op *idle;
	struct dxk_member *m;
	struct puppets *ps;

	policy.max_waiting = 4;
	policy.rejoin_full = DXK_REJOIN_RESERVE;
	policy.rejoin_entries = 1;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	ps->e->swept = true;
	m = puppet_worker(ps);
	w[0] = watch(ps);
	w[1] = watch(ps);
	first = post(ps, w[0]);
	EXPECT(!ps->e->waits.call);
	sleeper = puppet_poster(ps, puppet_client(ps));
	second = add(ps, sleeper, PXR_WAITIF_BUSY, w[1]);
	puppet_posts(ps, sleeper);
	EXPECT(ASLEEP(sleeper));
	dxk_event_fire(ps->e, &w[0]->event, READABLE);
	dxk_sweep(ps->e, true);
	comes(ps, m, first, READABLE);
	ends(ps, m, first);
	/* nobody waits for a file */
	idle = puppet_turn(ps, m, 1);
	ps->e->owners.entries++;
	if (last)
		dxk_sweep_end(ps->e);
	else
		dxk_sweep(ps->e, false);
	puppet_taken(ps, sleeper, 1);
	EXPECT(ps->e->waits.call == idle->w.task);
	dxk_event_fire(ps->e, &w[1]->event, READABLE);
	dxk_sweep(ps->e, true);
	EXPECT(puppet_fetch(idle) == second);
	ends(ps, m, second);
	dxk_sweep_end(ps->e);
}

static void fire_swept(struct kunit *test)
{
	swept(test, false);
}

static void fire_swept_last(struct kunit *test)
{
	swept(test, true);
}

/* The usual turn of a worker that has more to do is none then. */
static void fire_amid_backlog(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_watch *w = watch(ps);
	struct dxk_rqe *rqe = post(ps, w), *done;
	u32 i;

	for (i = 0; i < 3; i++)
		puppet_post(ps, OWNER, 0, 0);
	done = puppet_work(ps, m);
	done->status = 0;
	done = dxk_turn(m, &done);
	KUNIT_ASSERT_NOT_NULL(test, done);
	WRITE_ONCE(done->state, DXK_BUSY);
	dxk_event_fire(ps->e, &w->event, READABLE);
	EXPECT(!dxk_turn(m, &done));
	EXPECT(done);
	EXPECT_IS(rqe->state, DXK_WAITING);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(rqe->state, DXK_READY);
	puppet_work(ps, m);
	puppet_end(ps, m, 0, 0);
	comes(ps, m, rqe, READABLE);
	ends(ps, m, rqe);
}

/* What happens again and again does not hold up a deadline that has come. */
static void fire_at_deadline(struct kunit *test)
{
	struct puppets *ps = start(test, 0);
	struct dxk_watch *w = watch(ps);
	bool done = false;

	dxk_event_fire(ps->e, &w->event, READABLE);
	EXPECT_IS(os_doze(&done, &ps->e->waits.fired, DXK_FOREVER), 0);
	EXPECT_IS(os_doze(&done, &ps->e->waits.fired, 0), -ETIMEDOUT);
	done = true;
	EXPECT_IS(os_doze(&done, &ps->e->waits.fired, 0), 0);
	dxk_sweep(ps->e, true);
	EXPECT(!w->event.pending);
}

static struct kunit_case fire_cases[] = {
	KUNIT_CASE(fire_any_time),
	KUNIT_CASE(fire_many),
	KUNIT_CASE(fire_leaves_budget),
	KUNIT_CASE(fire_detach),
	KUNIT_CASE(fire_flush),
	KUNIT_CASE(fire_is_hope),
	KUNIT_CASE(fire_wanted),
	KUNIT_CASE(fire_caught),
	KUNIT_CASE(fire_caught_by_kernel),
	KUNIT_CASE(fire_grows),
	KUNIT_CASE(fire_swept),
	KUNIT_CASE(fire_swept_last),
	KUNIT_CASE(fire_amid_backlog),
	KUNIT_CASE(fire_at_deadline),
	{ }
};

static struct kunit_suite fire_suite = {
	.name = "dxk_fire",
	.exit = puppets_end,
	.test_cases = fire_cases,
};

kunit_test_suite(fire_suite);
