// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Rejoin: what a poll answers, who gets which result, what waits for whom, and what is
 * still to come while a result is being copied out.
 */
#include "engine/rejoin.h"
#include "engine/tests/puppet.h"

/* A request of the owner is completed by the worker. */
static void complete_one(struct puppets *ps, struct dxk_member *worker, u64 owner)
{
	puppet_post(ps, owner, 0, PXR_REJOIN);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
}

static void answered(struct puppets *ps, const struct dxk_rejoin_op *r, u32 answer, u32 nr)
{
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->err, 0);
	EXPECT_IS(r->answer, answer);
	EXPECT_IS(r->nr, nr);
}

/* DX-49, DX-53..DX-55, DX-87..DX-90: cases 2a, 2b, 1 and 3, for owner 0 like any other */
static void rejoin_answers(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_stats *stats = &ps->e->stats;
	u32 round;

	for (round = 0; round < 2; round++) {
		EXPECT_IS(puppet_poll(ps, 0), RJR_NONE_EXIST);
		puppet_post(ps, 99, 0, 0);
		puppet_post(ps, 0, 0, PXR_REJOIN);
		EXPECT_IS(puppet_poll(ps, 0), RJR_NONE_READY);
		/* that of owner 99 counts as well, but never comes back */
		EXPECT_IS(puppet_poll(ps, 99), RJR_NONE_READY);
		puppet_work(ps, worker);
		EXPECT_IS(puppet_poll(ps, 99), RJR_NONE_READY);
		puppet_fetch(puppet_end(ps, worker, 0, 1));
		EXPECT_IS(puppet_poll(ps, 99), RJR_NONE_EXIST);
		EXPECT_IS(puppet_poll(ps, 0), RJR_NONE_READY);
		puppet_end(ps, worker, 0, 0);
		EXPECT_IS(puppet_poll(ps, 0), RJR_RETURNED);
		EXPECT_IS(puppet_poll(ps, 0), RJR_NONE_EXIST);
		EXPECT_IS(ps->e->owners.nr, 0);
	}
	EXPECT_IS(stats->rejoin_returned, 2);
	EXPECT_IS(stats->rejoin_none_ready, 8);
	EXPECT_IS(stats->rejoin_none_exist, 6);
	EXPECT_IS(stats->collected, 2);
	EXPECT_IS(stats->rejoin_blocks, 0);
}

/* DX-51, DX-104..DX-106: a parent, its children, and main */
static void rejoin_hierarchy(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *parent = puppet_worker(ps);
	struct dxk_member *sub[3] = {
		puppet_worker(ps), puppet_worker(ps), puppet_worker(ps),
	};
	struct dxk_rejoin_op *main, *r;
	u32 i;

	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_work(ps, parent);
	main = puppet_rejoin(ps, ps->main, 8, 1, 1);
	EXPECT_IS(puppet_post_nr(ps, parent, 3, 9, PXR_REJOIN)->taken, 3);
	for (i = 0; i < 3; i++)
		puppet_work(ps, sub[i]);
	EXPECT_IS(ps->e->nr[DXK_AT_WORK], 4);
	r = puppet_rejoin(ps, parent, 9, 3, 3);
	EXPECT_IS(dxk_member_state(parent), DXK_M_REJOINING);
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 1);
	EXPECT_IS(ps->e->crew.clients_asleep, 1);
	for (i = 0; i < 3; i++) {
		EXPECT(ASLEEP(r));
		puppet_end(ps, sub[i], 0, 0);
	}
	answered(ps, r, RJR_RETURNED, 3);
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 0);
	EXPECT_IS(ps->e->stats.rejoin_blocks, 2);
	/* nothing is left for the parent, though it runs itself: it is main's */
	answered(ps, puppet_rejoin(ps, parent, 9, 1, 1), RJR_NONE_EXIST, 0);
	EXPECT(ASLEEP(main));
	puppet_end(ps, parent, 42, 0);
	answered(ps, main, RJR_RETURNED, 1);
	EXPECT_IS(puppet_result(main)->status, 42);
	EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_EXIST);
}

/* DX-52: who asks for the owner that it belongs to would wait for itself */
static void rejoin_own_owner(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r, call = { .m = worker, .cookie = 8, .max = 1, .min = 1 };
	u64 polls;
	u32 i;

	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_work(ps, worker);
	answered(ps, puppet_rejoin(ps, worker, 8, 1, 0), RJR_NONE_READY, 0);
	r = puppet_rejoin(ps, worker, 8, 1, 1);
	EXPECT_IS(r->err, -EDEADLK);
	EXPECT_IS(r->answer, 0);
	EXPECT_IS(ps->e->stats.self_poll, 2);
	EXPECT_IS(puppet_rejoin(ps, worker, 7, 1, 1)->answer, RJR_NONE_EXIST);
	EXPECT_IS(ps->e->stats.self_poll, 2);
	/* the same as threads do it; who has not slept is in the state that it was in */
	call.wait = true;
	dxk_member_set_state(worker, DXK_M_LOGGING);
	for (i = 0; i < 2; i++) {
		EXPECT_IS(dxk_client_rejoin(&call, 0), -EDEADLK);
		EXPECT_IS(call.self_held, 1);
		EXPECT_IS(dxk_member_state(worker), DXK_M_LOGGING);
	}
	dxk_member_set_state(worker, DXK_M_BUSY);
	/* as long as there is another one it is worth it */
	puppet_post(ps, 8, 0, PXR_REJOIN);
	r = puppet_rejoin(ps, worker, 8, 2, 2);
	EXPECT(ASLEEP(r));
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	/* one that waits, and asks again at its deadline, is one call */
	polls = ps->e->stats.self_poll;
	call.min = 2;
	EXPECT_IS(dxk_client_rejoin(&call, 0), 0);
	EXPECT_IS(call.answer, RJR_NONE_READY);
	EXPECT_IS(ps->e->stats.self_poll, polls + 1);
	complete_one(ps, puppet_worker(ps), 8);
	answered(ps, puppet_rejoin(ps, ps->main, 8, 1, 1), RJR_RETURNED, 1);
}

/* DX-91: a deadline ends the wait as a poll; what there is by then is returned */
static void rejoin_deadline(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op r = { .m = ps->main, .cookie = 8, .max = 2, .min = 2, .free = true };
	u32 i;

	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_post(ps, 8, 0, PXR_REJOIN);
	for (i = 0; i < 2; i++) {
		r.wait = true;
		EXPECT_IS(dxk_client_rejoin(&r, 0), 0);
		EXPECT_IS(r.answer, i ? RJR_RETURNED : RJR_NONE_READY);
		EXPECT_IS(r.nr, i);
		EXPECT_IS(dxk_member_state(ps->main), DXK_M_RUNNING);
		EXPECT_IS(ps->e->crew.clients_asleep, 0);
		dxk_rqe_drop_all(r.m, &r.rqes);
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
}

/* DX-87, DX-94: one result, one poller, in order of arrival; the last one is told */
static void rejoin_pollers(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r[3];
	u32 i;

	puppet_post_nr(ps, ps->main, 2, 8, PXR_REJOIN);
	for (i = 0; i < 3; i++) {
		r[i] = puppet_rejoin(ps, puppet_client(ps), 8, 1, 1);
		EXPECT(ASLEEP(r[i]));
	}
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	answered(ps, r[0], RJR_RETURNED, 1);
	EXPECT_IS(puppet_result(r[0])->param, 1);
	EXPECT(ASLEEP(r[1]));
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	answered(ps, r[1], RJR_RETURNED, 1);
	answered(ps, r[2], RJR_NONE_EXIST, 0);
}

/* A poller that waits for more than the first one: each gets what it can have. */
static void rejoin_minimum(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *three, *one;
	u32 i;

	puppet_post_nr(ps, ps->main, 4, 8, PXR_REJOIN);
	three = puppet_rejoin(ps, ps->main, 8, 3, 3);
	one = puppet_rejoin(ps, puppet_client(ps), 8, 1, 1);
	for (i = 0; i < 3; i++) {
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
		EXPECT(ASLEEP(three));
	}
	answered(ps, one, RJR_RETURNED, 1);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	answered(ps, three, RJR_RETURNED, 3);
	/* with nothing more to come it takes what there is */
	complete_one(ps, worker, 8);
	answered(ps, puppet_rejoin(ps, ps->main, 8, 3, 3), RJR_RETURNED, 1);
	/* at once, as many as it has room for, and no more */
	for (i = 0; i < 3; i++)
		complete_one(ps, worker, 8);
	answered(ps, puppet_rejoin(ps, ps->main, 8, 2, 0), RJR_RETURNED, 2);
	answered(ps, puppet_rejoin(ps, ps->main, 8, 2, 0), RJR_RETURNED, 1);
}

/* DX-92, DX-93: what is being copied out exists; a copy that failed is there again */
static void rejoin_copies_out(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps), *other = puppet_client(ps);
	struct dxk_rejoin_op *r, *waits;
	struct dxk_rqe *rqe;
	u32 i;

	for (i = 0; i < 3; i++)
		complete_one(ps, worker, 8);
	r = puppet_poller(ps, ps->main, 8, 3, 0);
	r->free = false;
	puppet_do(ps, &r->op, dxk_rejoin_run);
	answered(ps, r, RJR_RETURNED, 3);
	EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_READY);
	waits = puppet_rejoin(ps, other, 8, 1, 1);
	EXPECT(ASLEEP(waits));
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 3);
	EXPECT_IS(ps->e->stats.collected, 0);
	/* one has arrived, two have not: who waits gets the older one */
	puppet_settle(ps, r, 1);
	EXPECT_IS(ps->e->stats.collected, 2);
	answered(ps, waits, RJR_RETURNED, 1);
	EXPECT_IS(puppet_result(waits)->param, 2);
	r = puppet_rejoin(ps, ps->main, 8, 3, 0);
	answered(ps, r, RJR_RETURNED, 1);
	EXPECT_IS(puppet_result(r)->param, 3);
	EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_EXIST);

	/* both go back, in front of what came meanwhile */
	for (i = 0; i < 2; i++)
		complete_one(ps, worker, 8);
	r = puppet_poller(ps, ps->main, 8, 2, 0);
	r->free = false;
	puppet_do(ps, &r->op, dxk_rejoin_run);
	complete_one(ps, worker, 8);
	puppet_settle(ps, r, 0);
	r = puppet_rejoin(ps, ps->main, 8, 3, 0);
	answered(ps, r, RJR_RETURNED, 3);
	i = 4;
	list_for_each_entry(rqe, &r->rqes, link)
		EXPECT_IS(rqe->param, i++);

	/* who waits for what then arrives is told that nothing exists */
	complete_one(ps, worker, 8);
	r = puppet_poller(ps, ps->main, 8, 1, 0);
	r->free = false;
	puppet_do(ps, &r->op, dxk_rejoin_run);
	waits = puppet_rejoin(ps, other, 8, 1, 1);
	puppet_settle(ps, r, 1);
	answered(ps, waits, RJR_NONE_EXIST, 0);
	EXPECT_IS(ps->e->owners.nr, 0);
	/* and a settle of nothing does nothing */
	puppet_settle(ps, r, 0);

	/* nobody begins to wait for it in a context that has stopped */
	complete_one(ps, worker, 8);
	r = puppet_poller(ps, ps->main, 8, 1, 0);
	r->free = false;
	puppet_do(ps, &r->op, dxk_rejoin_run);
	dxk_stop_begin(ps->e, 0, false, true);
	i = ps->e->stats.rejoin_returned;
	waits = puppet_rejoin(ps, other, 8, 1, 1);
	EXPECT(!ASLEEP(waits));
	EXPECT_IS(waits->err, -ESHUTDOWN);
	EXPECT_IS(ps->e->stats.rejoin_returned, i);
	puppet_settle(ps, r, 1);
}

/* poll(2): a poll without an answer watches the owner until it has changed */
static void rejoin_watches(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps), *m[12];
	u32 i, swept;

	for (i = 0; i < 12; i++)
		m[i] = puppet_client(ps);
	puppet_post_nr(ps, ps->main, 2, 8, PXR_REJOIN);
	puppet_post(ps, 9, 0, 0);
	answered(ps, puppet_rejoin(ps, m[0], 8, 1, 0), RJR_NONE_READY, 0);
	answered(ps, puppet_rejoin(ps, m[1], 9, 1, 0), RJR_NONE_READY, 0);
	/* one at a time: the newest */
	answered(ps, puppet_rejoin(ps, m[1], 8, 1, 0), RJR_NONE_READY, 0);
	EXPECT(m[1]->watching && m[1]->watching == m[0]->watching);
	puppet_dies(ps, m[0]);
	KUNIT_EXPECT_NULL(test, m[0]->watching);
	puppet_work(ps, worker);
	EXPECT(!m[1]->readable);
	puppet_end(ps, worker, 0, 0);
	EXPECT(m[1]->readable);
	EXPECT(!m[0]->readable);
	EXPECT_IS(ps->polls, 1);
	KUNIT_EXPECT_NULL(test, m[1]->watching);
	/* the poll that takes it leaves nothing to watch; that which does not begins anew */
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
	answered(ps, puppet_rejoin(ps, m[1], 8, 1, 0), RJR_NONE_READY, 0);
	EXPECT(!m[1]->readable);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	EXPECT(m[1]->readable);
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);

	/* of "none exists", too; and more than a lock hold may wake */
	for (swept = 0; swept < 2; swept++) {
		if (swept)
			puppet_post(ps, 9, 0, 0);
		for (i = 1; i < 12; i++)
			answered(ps, puppet_rejoin(ps, m[i], 9, 1, 0), RJR_NONE_READY, 0);
		puppet_work(ps, worker);
		ps->e->swept = swept;
		puppet_end(ps, worker, 0, 0);
		EXPECT_IS(ps->polls, 8);
		EXPECT_IS(puppet_poll(ps, 9), RJR_NONE_EXIST);
		EXPECT_IS(list_empty(&ps->e->owners.owed), !swept);
		dxk_sweep(ps->e, true);
		EXPECT(list_empty(&ps->e->owners.owed));
		for (i = 1; i < 12; i++) {
			EXPECT(m[i]->readable);
			m[i]->readable = false;
		}
		dxk_sweep_end(ps->e);
	}
}

#define WATCHERS	20

static u32 told(struct dxk_member *const *m, u32 nr)
{
	u32 readable = 0;

	while (nr--)
		readable += m[nr]->readable;
	return readable;
}

/* More that watch two owners than lock holds may wake: the owner that was owed first is first. */
static void rejoin_owed(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps), *m[2][WATCHERS];
	u32 i, o;

	for (o = 0; o < 2; o++) {
		puppet_post(ps, 8 + o, 0, PXR_REJOIN);
		for (i = 0; i < WATCHERS; i++) {
			m[o][i] = puppet_client(ps);
			answered(ps, puppet_rejoin(ps, m[o][i], 8 + o, 1, 0), RJR_NONE_READY, 0);
		}
	}
	ps->e->swept = true;
	for (o = 0; o < 2; o++) {
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
		EXPECT_IS(told(m[o], WATCHERS), 8);
	}
	dxk_sweep(ps->e, true);
	EXPECT_IS(told(m[0], WATCHERS), 16);
	EXPECT_IS(told(m[1], WATCHERS), 8);
	while (ps->e->owing)
		dxk_sweep(ps->e, true);
	EXPECT_IS(told(m[0], WATCHERS) + told(m[1], WATCHERS), 2 * WATCHERS);
	dxk_sweep_end(ps->e);
}

static struct dxk_rejoin_op *any_of(struct puppets *ps, struct dxk_member *m, u32 max, bool wait)
{
	struct dxk_rejoin_op *r = puppet_poller(ps, m, 0, max, wait);

	r->any = true;
	r->free = false;
	r->help = false;
	puppet_do(ps, &r->op, dxk_rejoin_run);
	return r;
}

static void end_next(struct puppets *ps, struct dxk_member *worker)
{
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
}

/* DX-87..DX-90 for all owners of a space: results in turn, and the answers without one */
static void rejoin_any(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps), *other = puppet_client(ps);
	struct dxk_rejoin_op *r, *s;
	u32 i;

	answered(ps, any_of(ps, ps->main, 4, false), RJR_NONE_EXIST, 0);
	answered(ps, any_of(ps, ps->main, 4, true), RJR_NONE_EXIST, 0);
	puppet_post_nr(ps, ps->main, 2, 8, PXR_REJOIN);
	puppet_post_nr(ps, ps->main, 2, 9, PXR_REJOIN);
	answered(ps, any_of(ps, ps->main, 4, false), RJR_NONE_READY, 0);
	EXPECT(!ps->main->readable);
	for (i = 0; i < 4; i++)
		end_next(ps, worker);
	/* poll(2) told of the first; then owners take turns */
	EXPECT(ps->main->readable);
	for (i = 0; i < 4; i++) {
		r = any_of(ps, ps->main, 1, false);
		answered(ps, r, RJR_RETURNED, 1);
		EXPECT_IS(r->cookie, i % 2 ? 9 : 8);
		puppet_settle(ps, r, 1);
	}
	answered(ps, any_of(ps, ps->main, 1, false), RJR_NONE_EXIST, 0);
	EXPECT_IS(ps->e->home.nr_owners, 0);
	/* watched from "none exists" on, too */
	EXPECT(!ps->main->readable);

	/* two sleep, and each is given what comes, in their order; who waits for the owner first */
	puppet_post_nr(ps, ps->main, 3, 8, PXR_REJOIN);
	r = any_of(ps, ps->main, 4, true);
	s = any_of(ps, other, 4, true);
	EXPECT(ASLEEP(r) && ASLEEP(s));
	end_next(ps, worker);
	answered(ps, r, RJR_RETURNED, 1);
	EXPECT(ASLEEP(s));
	/* what cannot be copied out goes to who sleeps */
	puppet_settle(ps, r, 0);
	answered(ps, s, RJR_RETURNED, 1);
	puppet_settle(ps, s, 1);
	r = puppet_rejoin(ps, ps->main, 8, 1, 1);
	s = any_of(ps, other, 4, true);
	end_next(ps, worker);
	answered(ps, r, RJR_RETURNED, 1);
	EXPECT(ASLEEP(s));
	/* the last one vanishes: nothing is left */
	ps->e->home.closed = true;
	end_next(ps, worker);
	ps->e->home.closed = false;
	answered(ps, s, RJR_NONE_EXIST, 0);
}

/* Who executes a request would wait for that; Stop wakes who sleeps, and a death leaves nothing */
static void rejoin_any_ends(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps), *other = puppet_client(ps);
	struct dxk_rejoin_op *r;

	puppet_post_nr(ps, ps->main, 1, 8, PXR_REJOIN);
	puppet_work(ps, worker);
	r = any_of(ps, worker, 1, true);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->err, -EDEADLK);
	answered(ps, any_of(ps, worker, 1, false), RJR_NONE_READY, 0);
	answered(ps, any_of(ps, other, 1, false), RJR_NONE_READY, 0);
	EXPECT_IS(ps->e->owners.nr_any, 2);
	puppet_dies(ps, other);
	EXPECT_IS(ps->e->owners.nr_any, 1);
	r = any_of(ps, ps->main, 1, true);
	EXPECT(ASLEEP(r));
	EXPECT_IS(ps->e->owners.nr_waited, 1);
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->err, -ESHUTDOWN);
	EXPECT_IS(ps->e->owners.nr_waited, 0);
	puppet_end(ps, worker, 0, 0);
	EXPECT_IS(ps->e->owners.nr_any, 0);
}

/* More that watch than a lock hold may wake: what is left over goes on in the order of spaces. */
static void rejoin_any_owed(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps), *m[2][WATCHERS];
	struct dxk_space *space[2];
	u32 i, s;

	for (s = 0; s < 2; s++) {
		space[s] = dxk_space_new(ps->e);
		KUNIT_ASSERT_FALSE(test, IS_ERR(space[s]));
		for (i = 0; i < WATCHERS; i++) {
			m[s][i] = puppet_client(ps);
			m[s][i]->space = space[s];
			dxk_space_join(ps->e, space[s]);
			answered(ps, any_of(ps, m[s][i], 1, false), RJR_NONE_EXIST, 0);
		}
	}
	ps->e->swept = true;
	for (s = 0; s < 2; s++) {
		puppet_post_nr(ps, m[s][0], 1, 8, PXR_REJOIN);
		end_next(ps, worker);
		EXPECT_IS(told(m[s], WATCHERS), 8);
	}
	dxk_sweep(ps->e, true);
	EXPECT_IS(told(m[0], WATCHERS), 16);
	EXPECT_IS(told(m[1], WATCHERS), 8);
	while (ps->e->owing)
		dxk_sweep(ps->e, true);
	EXPECT_IS(told(m[0], WATCHERS) + told(m[1], WATCHERS), 2 * WATCHERS);
	EXPECT(list_empty(&ps->e->owners.owed_spaces));
	dxk_sweep_end(ps->e);
	for (s = 0; s < 2; s++) {
		answered(ps, puppet_rejoin(ps, m[s][0], 8, 1, 0), RJR_RETURNED, 1);
		for (i = 0; i < WATCHERS; i++) {
			dxk_member_do(m[s][i], dxk_died_run);
			m[s][i]->space = &ps->e->home;
			dxk_space_leave(ps->e, space[s]);
		}
		dxk_space_leave(ps->e, space[s]);
	}
}

/* DX-107: Stop wakes who slept when it began, and who came later may sleep on. */
static void rejoin_stop_wakes(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(4);
	struct dxk_rejoin_op *r;
	struct dxk_wakes wakes;
	struct puppets *ps;
	u64 returned;
	struct dxk_stop_pollers stop;
	u32 i;

	/* few enough for one lock hold */
	policy.ready_entries = 64;
	policy.max_requests = 64;
	ps = puppets_start(test, &policy);
	puppet_post(ps, 8, 0, PXR_REJOIN);
	r = puppet_rejoin(ps, ps->main, 8, 1, 1);
	returned = ps->e->stats.rejoin_returned;
	for (i = 0; i < 2; i++) {
		stop = (struct dxk_stop_pollers){ };
		dxk_wakes_init(&wakes);
		spin_lock(&ps->e->lock);
		ps->e->state = DXK_CTX_STOPPING;
		ps->e->stopped = r->w.since - !i;
		EXPECT(dxk_stop_pollers(ps->e, &stop, &wakes));
		spin_unlock(&ps->e->lock);
		dxk_wakes_flush(ps->e, &wakes);
		EXPECT_IS(ASLEEP(r), !i);
	}
	EXPECT_IS(r->err, -ESHUTDOWN);
	EXPECT_IS(r->answer, 0);
	EXPECT_IS(ps->e->stats.rejoin_returned, returned);
}

/* A Stop wakes all @nr sleepers, in more than one hold. */
static void stop_wakes(struct puppets *ps, struct dxk_rejoin_op *const *r, u32 nr)
{
	struct dxk_stop_op stop = { .gen = ps->e->run.gen };
	u32 i, holds;

	for (holds = 0; !holds || stop.more; holds++)
		puppet_do(ps, &stop.op, dxk_stop_begin_run);
	EXPECT(holds > 1);
	for (i = 0; i < nr; i++) {
		EXPECT(!ASLEEP(r[i]));
		EXPECT_IS(r[i]->err, -ESHUTDOWN);
	}
}

/* DX-107: more owners than a hold goes through: it is over when all of them were. */
static void rejoin_stop_wakes_many(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_rejoin_op *r[32];
	u32 i;

	EXPECT(1U << ps->e->owners.bits > DXK_HOLD_BUDGET);
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		puppet_post(ps, 100 + i, 0, PXR_REJOIN);
		r[i] = puppet_rejoin(ps, puppet_client(ps), 100 + i, 1, 1);
		EXPECT(ASLEEP(r[i]));
	}
	stop_wakes(ps, r, ARRAY_SIZE(r));
}

/* DX-107: the same of sleepers for any owner. */
static void rejoin_stop_wakes_many_any(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_rejoin_op *r[DXK_HOLD_BUDGET + 10];
	u32 i;

	puppet_post(ps, 8, 0, PXR_REJOIN);
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		r[i] = any_of(ps, puppet_client(ps), 1, true);
		EXPECT(ASLEEP(r[i]));
	}
	stop_wakes(ps, r, ARRAY_SIZE(r));
}

/*
 * DX-107: no owner is left, and not all sleepers for any have been told so yet: the Stop wakes the
 * others, in as many holds as it takes, before it is over.
 */
static void rejoin_stop_wakes_many_owed(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	const u32 nr = 2 * DXK_HOLD_BUDGET + 10;
	struct dxk_rejoin_op **r = puppet_array(ps, nr);
	struct dxk_member *worker = puppet_worker(ps);
	u32 i, told = 0;

	ps->e->swept = true;
	puppet_post(ps, 8, 0, 0);
	puppet_work(ps, worker);
	for (i = 0; i < nr; i++) {
		r[i] = any_of(ps, puppet_client(ps), 1, true);
		EXPECT(ASLEEP(r[i]));
	}
	puppet_end(ps, worker, 0, 0);
	EXPECT_IS(ps->e->owners.nr, 0);
	while (told < nr && !ASLEEP(r[told]))
		answered(ps, r[told++], RJR_NONE_EXIST, 0);
	/* a hold of the Stop cannot wake all others */
	EXPECT(told && nr - told > DXK_HOLD_BUDGET);
	stop_wakes(ps, r + told, nr - told);
	dxk_sweep(ps->e, true);
	dxk_sweep_end(ps->e);
}

/* DX-107 of sleepers for any owner: every space is looked at, and wakes who slept when it began */
static void rejoin_stop_wakes_any(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(4);
	struct dxk_stop_pollers stop = { };
	struct dxk_member *m[3][2];
	struct dxk_rejoin_op *r[3][2];
	struct dxk_space *space[3];
	struct dxk_wakes wakes;
	struct puppets *ps;
	u32 s, i;

	policy.ready_entries = 64;
	policy.max_requests = 64;
	ps = puppets_start(test, &policy);
	for (s = 0; s < 3; s++) {
		space[s] = dxk_space_new(ps->e);
		KUNIT_ASSERT_FALSE(test, IS_ERR(space[s]));
		for (i = 0; i < 2; i++) {
			m[s][i] = puppet_client(ps);
			m[s][i]->space = space[s];
			dxk_space_join(ps->e, space[s]);
			puppet_post_nr(ps, m[s][i], 1, 8, PXR_REJOIN);
			r[s][i] = any_of(ps, m[s][i], 1, true);
			EXPECT(ASLEEP(r[s][i]));
			/* the first one of the second space, and nobody else, slept before the Stop */
			r[s][i]->w.since = s == 1 && !i ? 1 : 3;
		}
	}
	dxk_wakes_init(&wakes);
	spin_lock(&ps->e->lock);
	ps->e->state = DXK_CTX_STOPPING;
	ps->e->stopped = 2;
	EXPECT(dxk_stop_pollers(ps->e, &stop, &wakes));
	spin_unlock(&ps->e->lock);
	dxk_wakes_flush(ps->e, &wakes);
	for (s = 0; s < 3; s++)
		for (i = 0; i < 2; i++)
			EXPECT_IS(ASLEEP(r[s][i]), s != 1 || i);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, true);
	for (s = 0; s < 3; s++) {
		for (i = 0; i < 2; i++) {
			EXPECT(!ASLEEP(r[s][i]));
			puppet_dies(ps, m[s][i]);
			m[s][i]->space = &ps->e->home;
			dxk_space_leave(ps->e, space[s]);
		}
		dxk_space_leave(ps->e, space[s]);
	}
}

static struct kunit_case rejoin_cases[] = {
	KUNIT_CASE(rejoin_answers),
	KUNIT_CASE(rejoin_hierarchy),
	KUNIT_CASE(rejoin_own_owner),
	KUNIT_CASE(rejoin_deadline),
	KUNIT_CASE(rejoin_pollers),
	KUNIT_CASE(rejoin_minimum),
	KUNIT_CASE(rejoin_copies_out),
	KUNIT_CASE(rejoin_watches),
	KUNIT_CASE(rejoin_owed),
	KUNIT_CASE(rejoin_any),
	KUNIT_CASE(rejoin_any_ends),
	KUNIT_CASE(rejoin_any_owed),
	KUNIT_CASE(rejoin_stop_wakes),
	KUNIT_CASE(rejoin_stop_wakes_many),
	KUNIT_CASE(rejoin_stop_wakes_many_any),
	KUNIT_CASE(rejoin_stop_wakes_many_owed),
	KUNIT_CASE(rejoin_stop_wakes_any),
	{ }
};

static struct kunit_suite rejoin_suite = {
	.name = "dxk_rejoin",
	.exit = puppets_end,
	.test_cases = rejoin_cases,
};

kunit_test_suite(rejoin_suite);
