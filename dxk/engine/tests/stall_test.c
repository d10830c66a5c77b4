// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Stalls: work exists and nobody can run it. When they are suspected, how long they must
 * last, and that each is told once.
 */
#include "engine/tests/puppet.h"

static struct puppets *start(struct kunit *test, u32 on_block)
{
	struct dxk_policy p = puppet_policy(2);

	p.on_block = on_block;
	return puppets_start(test, &p);
}

static bool nobody(struct puppets *ps)
{
	bool stuck;

	spin_lock(&ps->e->lock);
	stuck = dxk_nobody_can_run(ps->e);
	spin_unlock(&ps->e->lock);
	return stuck;
}

/* As if the first look had been so long ago. */
static bool look_after(struct puppets *ps, struct dxk_stall *s, u32 ms)
{
	EXPECT(s->since);
	s->since = os_now() - ms * NSEC_PER_MSEC;
	return dxk_stall_look(ps->e, s);
}

/* A parent that waits for its child, and no worker for that. */
static void stall_of_workers(struct kunit *test)
{
	struct puppets *ps = start(test, DXK_ON_BLOCK_STRICT);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_stats *stats = &ps->e->stats;
	u64 *moves[] = {
		&stats->posts, &stats->dispatches, &stats->completions, &stats->collected,
	};
	struct dxk_stall s = { };
	struct dxk_rejoin_op *r;
	struct dxk_next_op *n;
	u32 i;

	/* an idle crew without work, and a busy one, are none */
	n = puppet_turn(ps, m, 1);
	EXPECT(!nobody(ps));
	EXPECT_IS(ps->kick, 0);
	puppet_post(ps, 1, 0, PXR_REJOIN);
	puppet_fetch(n);
	puppet_post_nr(ps, m, 1, 10, PXR_REJOIN);
	EXPECT(!nobody(ps));
	EXPECT(!dxk_stall_look(ps->e, &s));
	EXPECT_IS(s.since, 0);
	/* the last one that is awake falls asleep: the Monitor is called, once */
	r = puppet_rejoin(ps, m, 10, 1, 1);
	EXPECT(nobody(ps));
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	EXPECT(ps->e->stalled);
	puppet_rejoin(ps, ps->main, 1, 1, 1);
	EXPECT_IS(ps->kick, 0);
	/* told after a tenth of a second, once */
	EXPECT(!dxk_stall_look(ps->e, &s));
	EXPECT(ps->e->stalled);
	EXPECT(!look_after(ps, &s, DXK_STALL_MS - 50));
	EXPECT(ps->e->stalled);
	EXPECT(look_after(ps, &s, 100));
	EXPECT_IS(s.nr, 1);
	EXPECT_IS(s.ready[3], 1);
	EXPECT_IS(s.ready[0] + s.ready[1] + s.ready[2], 0);
	EXPECT_IS(ps->e->stats.stalls, 1);
	EXPECT(!ps->e->stalled);
	EXPECT(!look_after(ps, &s, 1000 * DXK_STALL_MS));
	EXPECT_IS(ps->e->stats.stalls, 1);
	/* something moves in between: the time begins anew */
	puppet_post(ps, 10, 0, 0);
	EXPECT(!look_after(ps, &s, 1000 * DXK_STALL_MS));
	EXPECT(look_after(ps, &s, DXK_STALL_MS));
	EXPECT_IS(s.nr, 2);
	/* moves of different sorts do not make up for each other */
	for (i = 1; i < ARRAY_SIZE(moves); i++) {
		(*moves[0])++;
		(*moves[i])++;
		EXPECT(!look_after(ps, &s, 1000 * DXK_STALL_MS));
		EXPECT(!s.reported);
		(*moves[0])--;
		(*moves[i])--;
		EXPECT(!look_after(ps, &s, 1000 * DXK_STALL_MS));
	}
	/* a second worker: it is over, and the next one is another */
	puppet_work(ps, puppet_worker(ps));
	EXPECT(!nobody(ps));
	EXPECT(!dxk_stall_look(ps->e, &s));
	EXPECT_IS(s.since, 0);
	EXPECT(!ps->e->stalled);
	EXPECT(ASLEEP(r));
}

/* Every way to fall asleep, or to leave sleepers behind, is a reason to look. */
static void stall_suspects(struct kunit *test)
{
	struct puppets *ps = start(test, DXK_ON_BLOCK_STRICT);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_next_op *n;
	struct dxk_post_op *p;

	/* a post */
	ps->e->policy.ready_entries = 1;
	puppet_post(ps, 1, 0, PXR_REJOIN);
	puppet_work(ps, m[0]);
	puppet_post(ps, 2, 0, PXR_KERNEL);
	p = puppet_post_nr(ps, m[0], 1, 2, PXR_WAITIF_BUSY);
	EXPECT_IS(ps->kick, 0);
	/* one that falls idle */
	n = puppet_turn(ps, m[1], 1);
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	EXPECT(nobody(ps));
	puppet_time_up(ps, &n->w);
	ps->e->stalled = false;
	/* one that dies */
	EXPECT(!nobody(ps));
	puppet_dies(ps, m[1]);
	EXPECT(ps->e->stalled);
	/* the last one, in a post */
	puppet_time_up(ps, &p->w);
	ps->e->stalled = false;
	p = puppet_post_nr(ps, m[0], 1, 2, PXR_WAITIF_BUSY);
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	puppet_time_up(ps, &p->w);
	ps->e->stalled = false;
	/* a completion */
	EXPECT(!nobody(ps));
	ps->e->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	ps->e->owners.entries = 0;
	n = puppet_end(ps, m[0], 0, 1);
	EXPECT(ASLEEP(n));
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	/* a context that stops is none */
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT(!nobody(ps));
}

/* Clients alone: only if all of them sleep, and something is Ready or being posted. */
static void stall_of_clients(struct kunit *test)
{
	struct puppets *ps = start(test, DXK_ON_BLOCK_STRICT);
	struct dxk_member *other = puppet_client(ps);
	struct dxk_rejoin_op *r[2];
	struct dxk_post_op *p;

	puppet_post(ps, 1, 0, PXR_REJOIN);
	puppet_rejoin(ps, other, 1, 1, 0);
	EXPECT(!nobody(ps));
	r[0] = puppet_rejoin(ps, ps->main, 1, 1, 1);
	EXPECT(!nobody(ps));
	EXPECT_IS(ps->kick, 0);
	r[1] = puppet_rejoin(ps, other, 1, 1, 1);
	EXPECT(nobody(ps));
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	puppet_time_up(ps, &r[1]->w);
	EXPECT(!nobody(ps));
	ps->e->policy.ready_entries = 1;
	p = puppet_post_nr(ps, other, 1, 1, PXR_WAITIF_BUSY);
	EXPECT(nobody(ps));
	/* a worker that is on its way to the next request is awake */
	puppet_worker(ps);
	EXPECT(!nobody(ps));
	EXPECT(ASLEEP(p));
	EXPECT(ASLEEP(r[0]));
}

/*
 * A service that sleeps until Stop, a worker that listens, a client that has no part in the
 * work: none of them is the cure, and each alone is no stall.
 */
static void stall_beside_others(struct kunit *test)
{
	struct puppets *ps = start(test, DXK_ON_BLOCK_STRICT);
	struct dxk_member *m[3] = { puppet_worker(ps), puppet_worker(ps), puppet_worker(ps) };
	struct dxk_should_op *service;
	struct dxk_rejoin_op *r;

	puppet_client(ps);
	puppet_post(ps, 1, 0, PXR_LANE0);
	puppet_work(ps, m[0]);
	service = puppet_asks(ps, m[0], true);
	dxk_rest(m[2], true);
	puppet_post(ps, 2, 0, PXR_REJOIN);
	puppet_work(ps, m[1]);
	EXPECT(!nobody(ps));
	puppet_post_nr(ps, m[1], 1, 3, PXR_REJOIN);
	r = puppet_rejoin(ps, m[1], 3, 1, 1);
	EXPECT(nobody(ps));
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	dxk_rest(m[2], false);
	EXPECT(!nobody(ps));
	ps->e->stalled = false;
	dxk_rest(m[2], true);
	EXPECT(nobody(ps) && ps->e->stalled);
	/* the service comes back, and sleeps again: it gives the alarm as well */
	puppet_time_up(ps, &service->w);
	EXPECT(!nobody(ps));
	ps->e->stalled = false;
	service = puppet_asks(ps, m[0], true);
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	EXPECT(nobody(ps));
	/* no request has begun but the service's */
	puppet_time_up(ps, &r->w);
	puppet_dies(ps, m[1]);
	EXPECT(!nobody(ps));
	puppet_rejoin(ps, ps->main, 3, 1, 1);
	EXPECT(nobody(ps));
	dxk_rest(m[2], false);
	EXPECT(!nobody(ps));
}

/* The same of clients: one that has once collected and now rests is no cure either. */
static void stall_beside_resting_clients(struct kunit *test)
{
	struct puppets *ps = start(test, DXK_ON_BLOCK_STRICT);
	struct dxk_member *other = puppet_client(ps);
	struct dxk_should_op *s;

	puppet_post(ps, 1, 0, PXR_REJOIN);
	/* it has no part yet: to rest changes nothing */
	s = puppet_asks(ps, other, true);
	EXPECT_IS(ps->e->crew.clients_resting, 0);
	puppet_time_up(ps, &s->w);
	puppet_rejoin(ps, other, 1, 1, 0);
	EXPECT_IS(ps->e->crew.clients, 2);
	EXPECT(ASLEEP(puppet_rejoin(ps, ps->main, 1, 1, 1)));
	EXPECT(!nobody(ps));
	s = puppet_asks(ps, other, true);
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	EXPECT(nobody(ps));
	puppet_time_up(ps, &s->w);
	EXPECT(!nobody(ps));
	puppet_dies(ps, other);
	EXPECT(nobody(ps));
}

/* While a process is about to start a spare there is more time. */
static void stall_waits_for_spares(struct kunit *test)
{
	struct puppets *ps = start(test, DXK_ON_BLOCK_SPARE);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_stall s = { };

	ps->e->policy.max_threads = 2;
	puppet_post(ps, 1, 0, PXR_REJOIN);
	puppet_work(ps, m);
	puppet_post_nr(ps, m, 1, 10, PXR_REJOIN);
	EXPECT(ASLEEP(puppet_rejoin(ps, m, 10, 1, 1)));
	EXPECT_IS(puppet_manager(ps, false)->spares, 1);
	EXPECT(nobody(ps));
	EXPECT(!dxk_stall_look(ps->e, &s));
	EXPECT(!look_after(ps, &s, DXK_SPARE_MS - 500));
	EXPECT(look_after(ps, &s, 1000));
	/* it comes: a parked one is not awake, one that is on its way is */
	puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, true);
	EXPECT(!nobody(ps));
	EXPECT(!dxk_stall_look(ps->e, &s));
	/* told again when it lasts anew, at the usual time: nothing is promised */
	puppet_dies(ps, ps->member[2]);
	EXPECT(!dxk_stall_look(ps->e, &s));
	EXPECT(look_after(ps, &s, DXK_STALL_MS));
}

/* Who waits for whom: a report names each sleeper, what it waits for, and who has that. */
static void stall_edges(struct kunit *test)
{
	struct puppets *ps = start(test, DXK_ON_BLOCK_STRICT);
	struct dxk_member *m[3] = { puppet_worker(ps), puppet_worker(ps), puppet_worker(ps) };
	struct dxk_member *stranger = puppet_worker(ps);
	struct dxk_space *other = dxk_space_new(ps->e);
	struct dxk_sleeper s = { };
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	for (i = 0; i < 3; i++) {
		puppet_post(ps, 1 + i / 2, 0, PXR_REJOIN | PXR_LANE2);
		puppet_work(ps, m[i]);
		EXPECT(!dxk_sleeps(m[i], &s));
	}
	EXPECT(dxk_works_for(m[0], m[0]->space->id, 1) && dxk_works_for(m[1], m[0]->space->id, 1));
	EXPECT(!dxk_works_for(m[2], m[0]->space->id, 1));
	/* an equal cookie of others is another owner */
	EXPECT(!dxk_works_for(m[0], other->id, 1));
	ps->main->space = other;
	puppet_post(ps, 1, 0, 0);
	ps->main->space = &ps->e->home;
	puppet_work(ps, stranger);
	EXPECT(dxk_works_for(stranger, other->id, 1));
	EXPECT(!dxk_works_for(stranger, ps->e->home.id, 1));
	dxk_member_set_state(stranger, DXK_M_LOGGING);
	EXPECT(dxk_sleeps(stranger, &s));
	EXPECT_IS(s.work_space, other->id);
	dxk_member_set_state(stranger, DXK_M_LISTENING);
	EXPECT(!dxk_sleeps(stranger, &s));
	puppet_post(ps, 1, 0, PXR_REJOIN);
	EXPECT(ASLEEP(puppet_rejoin(ps, m[2], 1, 1, 1)));
	EXPECT(dxk_sleeps(m[2], &s));
	EXPECT_IS(s.state, DXK_M_REJOINING);
	EXPECT_IS(s.held, 1);
	EXPECT_IS(s.work.owner, 2);
	EXPECT_IS(s.work_space, ps->e->home.id);
	EXPECT_IS(s.space, m[2]->space->id);
	EXPECT_IS(s.work.attrs, PXR_REJOIN | PXR_LANE2);
	EXPECT_IS(s.awaits, 1);
	EXPECT_IS(s.ready, 1);
	EXPECT_IS(s.at_work, 2);
	/* one that has nothing, and one that posts */
	EXPECT(ASLEEP(puppet_rejoin(ps, ps->main, 2, 1, 1)));
	EXPECT(dxk_sleeps(ps->main, &s));
	EXPECT_IS(s.held, 0);
	EXPECT_IS(s.awaits, 2);
	EXPECT_IS(s.ready, 0);
	EXPECT_IS(s.at_work, 1);
	ps->e->policy.ready_entries = 1;
	EXPECT(ASLEEP(puppet_post_nr(ps, m[0], 1, 9, PXR_WAITIF_BUSY | PXR_LANE1)));
	EXPECT(dxk_sleeps(m[0], &s));
	EXPECT_IS(s.state, DXK_M_POSTING);
	EXPECT_IS(s.awaits, 1);
	EXPECT_IS(s.ready + s.at_work, 0);
	ps->e->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	ps->e->owners.entries = 0;
	EXPECT(ASLEEP(puppet_end(ps, m[1], 0, 0)));
	EXPECT(dxk_sleeps(m[1], &s));
	EXPECT_IS(s.state, DXK_M_COMPLETING);
	EXPECT_IS(s.held, 1);
	dxk_stop_begin(ps->e, 0, false, false);
	/* a request that has ended is nobody's */
	EXPECT(!dxk_works_for(m[1], m[1]->space->id, 1));
	dxk_space_leave(ps->e, other);
}

static struct kunit_case stall_cases[] = {
	KUNIT_CASE(stall_of_workers),
	KUNIT_CASE(stall_suspects),
	KUNIT_CASE(stall_of_clients),
	KUNIT_CASE(stall_beside_others),
	KUNIT_CASE(stall_beside_resting_clients),
	KUNIT_CASE(stall_waits_for_spares),
	KUNIT_CASE(stall_edges),
	{ }
};

static struct kunit_suite stall_suite = {
	.name = "dxk_stall",
	.exit = puppets_end,
	.test_cases = stall_cases,
};

kunit_test_suite(stall_suite);
