// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * What is told of requests that wait: who is due, once in each time, in bounded holds.
 */
#include "engine/age.h"
#include "engine/calls.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/tests/puppet.h"
#include "engine/wake.h"

#define OWNER	1
#define OTHER	2
#define MANY	(2 * DXK_WAITING_MAX)
/* Of os_clock(): longer than any test takes, and ten of them are no overflow. */
#define AGE	1000000UL

static struct puppets *room(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(8);
	struct puppets *ps;

	policy.max_waiting = policy.max_requests = 2 * MANY;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	return ps;
}

/* One that waits for a call, as if it had for so long. */
static struct dxk_rqe *waits(struct puppets *ps, u64 name, u32 attrs, unsigned long age)
{
	struct dxk_post_op *p = puppet_poster(ps, ps->main);
	struct dxk_more *more;
	struct dxk_rqe *rqe;

	puppet_add(ps, p, OWNER, 0, attrs | PXR_WAIT | PXR_NAMED);
	rqe = list_last_entry(&p->rqes, struct dxk_rqe, link);
	more = dxk_more_of(ps->main, rqe);
	KUNIT_ASSERT_NOT_NULL(ps->test, more);
	more->wait = (struct dxk_wait) {
		.wait = DXK_WAIT_CALL | DXK_WAIT_JOIN, .owner = OTHER,
	};
	more->name = name;
	more->named = true;
	puppet_posts(ps, p);
	EXPECT_IS(rqe->state, DXK_WAITING);
	more->since = more->heard = os_clock() - age;
	return rqe;
}

/* What they wait for exists, and has not begun. */
static void other(struct puppets *ps)
{
	struct dxk_post_op *p = puppet_poster(ps, ps->main);

	puppet_add(ps, p, OTHER, 0, 0);
	puppet_posts(ps, p);
}

static void leave(struct puppets *ps, u64 name)
{
	struct dxk_names_op n = { .m = ps->main, .names = &name, .nr = 1 };

	INIT_LIST_HEAD(&n.ended);
	puppet_do(ps, &n.op, dxk_cancel_names_run);
	dxk_rqe_drop_all(NULL, &n.ended);
	EXPECT_IS(n.found, 1);
}

/* It is told of once in each such time, with what it is; nobody else is. */
static void age_once_in_its_time(struct kunit *test)
{
	struct puppets *ps = room(test);
	struct dxk_waiting due[4];
	struct dxk_rqe *old;
	bool more;

	other(ps);
	old = waits(ps, 7, PXR_LANE1, 3 * AGE);
	waits(ps, 8, PXR_QUIET, 3 * AGE);
	waits(ps, 9, 0, AGE / 2);
	ASSERT_IS(dxk_waiting_due(ps->e, AGE, due, 4, &more), 1);
	EXPECT_IS(more, false);
	EXPECT_IS(due[0].name, 7);
	EXPECT(due[0].named && !due[0].ripe);
	EXPECT_IS(due[0].owner, OWNER);
	EXPECT_IS(due[0].attrs & (PXR_LANE0 | PXR_LANE1 | PXR_LANE2), PXR_LANE1);
	EXPECT_IS(due[0].wait, DXK_WAIT_CALL | DXK_WAIT_JOIN);
	EXPECT_IS(due[0].awaits, OTHER);
	EXPECT_IS(due[0].kind, DXK_USER);
	EXPECT(os_clock() - due[0].since >= 3 * AGE);
	EXPECT_IS(ps->e->stats.overdue, 1);

	EXPECT_IS(dxk_waiting_due(ps->e, AGE, due, 4, &more), 0);
	EXPECT_IS(ps->e->stats.overdue, 1);
	/* the next such time is over; it waits since it began, not since it was told of */
	leave(ps, 8);
	leave(ps, 9);
	old->more->heard -= 2 * AGE;
	ASSERT_IS(dxk_waiting_due(ps->e, AGE, due, 4, &more), 1);
	EXPECT_IS(due[0].name, 7);
	EXPECT(os_clock() - due[0].since >= 3 * AGE);
	EXPECT_IS(dxk_waiting_due(ps->e, AGE, due, 4, &more), 0);
	leave(ps, 7);
}

/* However many are due, a look is bounded, and those that follow meet all, each once. */
static void age_looks_are_bounded(struct kunit *test)
{
	struct puppets *ps = room(test);
	struct dxk_waiting due[4];
	u32 told = 0, looks = 0, nr;
	u64 name;
	bool more;

	other(ps);
	for (name = 1; name <= MANY; name++)
		waits(ps, name, name <= DXK_WAITING_MAX + 2 ? PXR_QUIET : 0, 2 * AGE);
	/* no step is left for another one */
	EXPECT_IS(dxk_waiting_due(ps->e, AGE, due, 4, &more), 0);
	EXPECT(more);
	do {
		nr = dxk_waiting_due(ps->e, AGE, due, 4, &more);
		while (nr--)
			EXPECT_IS(due[nr].name, DXK_WAITING_MAX + 3 + told + nr);
		told = ps->e->stats.overdue;
	} while (more && looks++ < MANY);
	EXPECT_IS(told, DXK_WAITING_MAX - 2);
	EXPECT_IS(dxk_waiting_due(ps->e, AGE, due, 4, &more), 0);
	EXPECT(!more);
	for (name = 1; name <= MANY; name++)
		leave(ps, name);
}

/* Who asks sees as many as one hold may copy, oldest first, and how many there are. */
static void age_seen(struct kunit *test)
{
	struct puppets *ps = room(test);
	struct dxk_waiting *seen;
	u64 name;
	u32 all;

	seen = kunit_kzalloc(test, DXK_WAITING_MAX * sizeof(*seen), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	EXPECT_IS(dxk_waiting_look(ps->e, seen, DXK_WAITING_MAX, &all), 0);
	EXPECT_IS(all, 0);
	other(ps);
	for (name = 1; name <= MANY; name++)
		waits(ps, name, 0, 0);
	EXPECT_IS(dxk_waiting_look(ps->e, NULL, 0, &all), 0);
	EXPECT_IS(all, MANY);
	ASSERT_IS(dxk_waiting_look(ps->e, seen, DXK_WAITING_MAX, &all), DXK_WAITING_MAX);
	for (name = 1; name <= DXK_WAITING_MAX; name++)
		EXPECT_IS(seen[name - 1].name, name);
	for (name = 1; name <= MANY; name++)
		leave(ps, name);
	EXPECT_IS(dxk_waiting_look(ps->e, seen, DXK_WAITING_MAX, &all), 0);
	EXPECT_IS(all, 0);
}

/* The Monitor does not rest while it has to look, and is called by the first that waits. */
static void age_monitor_looks(struct kunit *test)
{
	struct puppets *ps = room(test);
	struct dxk_engine *e = ps->e;

	other(ps);
	EXPECT(dxk_monitor_rest(e, false));
	waits(ps, 7, 0, 0);
	EXPECT(e->dormant[DXK_MONITOR]);
	e->policy.wait_report_ms = 1;
	EXPECT(!dxk_monitor_rest(e, false));
	leave(ps, 7);
	EXPECT(dxk_monitor_rest(e, false));
	EXPECT(e->dormant[DXK_MONITOR]);
	waits(ps, 8, 0, 0);
	EXPECT(!e->dormant[DXK_MONITOR]);
	leave(ps, 8);
}

/* A policy that closes a lane looks at all that wait; those that stay are told of in their order. */
static void age_after_a_policy(struct kunit *test)
{
	struct puppets *ps = room(test);
	struct dxk_policy p = ps->e->policy;
	struct dxk_waiting due[4];
	bool more;
	u64 name;

	other(ps);
	for (name = 1; name <= 3; name++)
		waits(ps, name, PXR_LANE0, name == 1 ? 2 * AGE : 0);
	for (; name <= 7; name++)
		waits(ps, name, 0, name == 4 ? 2 * AGE : 0);
	p.kernel_threads = 0;
	dxk_enforce(ps->e, &p);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 7);
	EXPECT_IS(dxk_waiting_due(ps->e, AGE, due, 4, &more), 2);
	for (name = 1; name <= 7; name++)
		leave(ps, name);
}

static struct kunit_case age_cases[] = {
	KUNIT_CASE(age_once_in_its_time),
	KUNIT_CASE(age_looks_are_bounded),
	KUNIT_CASE(age_seen),
	KUNIT_CASE(age_monitor_looks),
	KUNIT_CASE(age_after_a_policy),
	{ }
};

static struct kunit_suite age_suite = {
	.name = "dxk_age",
	.exit = puppets_end,
	.test_cases = age_cases,
};

kunit_test_suite(age_suite);
