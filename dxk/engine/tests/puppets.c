// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Puppets come and go, see puppet.h. However a test ends, the context is closed then: all
 * sleeps must end, nothing may be left, and every request must have been somewhere.
 */
#include "engine/owner.h"
#include "engine/policy.h"
#include "engine/tests/puppet.h"

static u32 length(const struct list_head *list)
{
	const struct list_head *l;
	u32 nr = 0;

	for (l = list->next; l != list; l = l->next)
		nr++;
	return nr;
}

/** puppets_count - all that is counted, counted by hand */
void puppets_count(struct puppets *ps)
{
	struct dxk_engine *e = ps->e;
	u32 kind, i, at[DXK_PLACES] = { }, owners = 0, results = 0, idle = 0, parked = 0;
	u32 waiting = 0;
	struct dxk_next_op *n;
	struct dxk_owner *own;

	for (i = 0; i < 1U << e->owners.bits; i++)
		hlist_for_each_entry(own, &e->owners.bucket[i], hash) {
			owners++;
			results += own->nr_done;
			at[DXK_AT_READY] += own->nr[DXK_AT_READY];
			at[DXK_AT_WORK] += own->nr[DXK_AT_WORK];
			at[DXK_AT_REJOIN] += own->nr[DXK_AT_REJOIN];
			at[DXK_AT_WAIT] += own->nr[DXK_AT_WAIT];
		}
	EXPECT_IS(owners, e->owners.nr);
	EXPECT_IS(memcmp(at, e->nr, sizeof(at)), 0);
	EXPECT(results <= at[DXK_AT_REJOIN]);
	EXPECT_IS(e->stats.posts, e->stats.collected + e->stats.vanished + dxk_live(e));
	for (i = 0; i < DXK_LINES; i++)
		waiting += length(&e->waits.line[i]);
	EXPECT_IS(waiting, at[DXK_AT_WAIT]);
	for (kind = 0; kind < DXK_KINDS; kind++) {
		EXPECT_IS(!!(e->ready.filled[kind] & DXK_LAST), !list_empty(&e->ready.last[kind]));
		list_for_each_entry(n, &e->crew.idle[kind], w.link)
			idle++;
		for (i = 0; e->ready.home && i < DXK_HOMES_MAX; i++)
			idle += length(&e->ready.home[i].idle[kind]);
		list_for_each_entry(n, &e->crew.parked[kind], w.link)
			parked++;
	}
	EXPECT_IS(dxk_ready_nr(&e->ready, DXK_USER) + dxk_ready_nr(&e->ready, DXK_KERNEL),
		  at[DXK_AT_READY]);
	EXPECT_IS(idle, e->crew.nr_idle[DXK_USER] + e->crew.nr_idle[DXK_KERNEL]);
	EXPECT_IS(parked, e->crew.nr_parked[DXK_USER] + e->crew.nr_parked[DXK_KERNEL]);
}

/* --- members ---------------------------------------------------------------- */

static struct dxk_member *puppet_new(struct puppets *ps, enum dxk_role role,
				     enum dxk_kind kind, bool spare, u8 home)
{
	struct dxk_member *m = stage_member(ps->test);

	KUNIT_ASSERT_NOT_NULL(ps->test, m);
	KUNIT_ASSERT_LT(ps->test, ps->nr_members, PUPPETS);
	dxk_member_init(m, ps->e, ps->nr_members);
	m->role = role;
	m->kind = kind;
	m->spare = spare;
	m->home = home;
	ps->member[ps->nr_members++] = m;
	dxk_member_do(m, dxk_attach_run);
	return m;
}

struct dxk_member *puppet_member(struct puppets *ps, enum dxk_role role,
				 enum dxk_kind kind, bool spare)
{
	return puppet_new(ps, role, kind, spare, 0);
}

/** puppet_resident - a worker that has a home, or none */
struct dxk_member *puppet_resident(struct puppets *ps, enum dxk_kind kind, u8 home)
{
	return puppet_new(ps, DXK_ROLE_WORKER, kind, false, home);
}

struct dxk_member *puppet_client(struct puppets *ps)
{
	return puppet_member(ps, DXK_ROLE_CLIENT, DXK_USER, false);
}

struct dxk_member *puppet_worker(struct puppets *ps)
{
	return puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, false);
}

/** puppet_dies - a member is gone with all that it has */
void puppet_dies(struct puppets *ps, struct dxk_member *m)
{
	dxk_member_do(m, dxk_died_run);
	puppets_count(ps);
}

/** puppet_array - room for @nr pointers, of which a stack has none */
void *puppet_array(struct puppets *ps, u32 nr)
{
	void *array = kunit_kcalloc(ps->test, nr, sizeof(void *), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(ps->test, array);
	return array;
}

/* --- begin and end ---------------------------------------------------------- */

/** puppet_policy - for so many user workers, and a kernel worker that never comes */
struct dxk_policy puppet_policy(u32 workers)
{
	struct dxk_policy p;

	dxk_policy_default(&p, workers + 1);
	p.kernel_threads = 1;
	return p;
}

/* What a call still has. All sleeps are over. */
static void puppet_call_end(struct puppets *ps, struct puppet_call *c)
{
	EXPECT(c->w->done);
	switch (c->sort) {
	case PUPPET_POST:
		dxk_rqe_drop_all(NULL, &c->post.rqes);
		break;
	case PUPPET_REJOIN:
		if (c->rejoin.free)
			dxk_rqe_drop_all(NULL, &c->rejoin.rqes);
		else
			puppet_settle(ps, &c->rejoin, 0);
		break;
	case PUPPET_NEXT:
		dxk_rqe_drop_all(NULL, &c->next.ended);
		puppet_return(ps, &c->next);
		EXPECT(list_empty(&c->next.done));
		break;
	default:
		break;
	}
}

/** puppets_end - the end of a test */
void puppets_end(struct kunit *test)
{
	struct puppets *ps = test->priv;
	struct puppet_call *c;
	struct dxk_engine *e;
	u32 i, kind;

	if (!ps)
		return;
	e = ps->e;
	dxk_stop_begin(e, e->run.gen, true, true);
	for (c = ps->calls; c; c = c->before)
		puppet_call_end(ps, c);
	for (i = 0; i < ps->nr_members; i++) {
		puppet_dies(ps, ps->member[i]);
		EXPECT_IS(ps->member[i]->extra + ps->member[i]->held, 0);
		dxk_member_free(ps->member[i]);
	}
	EXPECT_IS(e->nr[DXK_AT_READY] + e->nr[DXK_AT_WORK], 0);
	EXPECT_IS(e->owners.reserved, e->nr[DXK_AT_REJOIN]);
	EXPECT_IS(e->crew.present + e->crew.clients + e->crew.clients_asleep, 0);
	EXPECT_IS(e->crew.resting + e->crew.clients_resting, 0);
	for (kind = 0; kind < DXK_KINDS; kind++) {
		EXPECT_IS(e->crew.asleep[kind] + e->crew.workers[kind] +
			  e->crew.spares[kind] + e->crew.extra[kind], 0);
		EXPECT(list_empty(&e->crew.helpers[kind]));
	}
	for (i = 0; i <= DXK_LANES; i++)
		EXPECT_IS(e->ready.asleep[i], 0);
	EXPECT_IS(e->ready.rooms.nr, 0);
	EXPECT_IS(e->shares.of[0].live + e->shares.of[0].reserved, 0);
	for (i = 0; i < DXK_SHARES; i++) {
		EXPECT_IS(e->shares.of[i].ready, 0);
		EXPECT_IS(e->shares.of[i].reserved, e->shares.of[i].live);
	}
	EXPECT(!e->owing);
	dxk_engine_destroy(e);
}

/** puppets_start - a running engine with a client */
struct puppets *puppets_start(struct kunit *test, const struct dxk_policy *policy)
{
	struct puppets *ps = kunit_kzalloc(test, sizeof(*ps), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ps);
	ps->test = test;
	ps->task = stage_task(test);
	ps->e = stage_engine(test);
	KUNIT_ASSERT_NOT_NULL(test, ps->e);
	dxk_engine_init(ps->e);
	ps->e->policy = *policy;
	ASSERT_IS(dxk_owners_start(ps->e), 0);
	test->priv = ps;
	dxk_pools_open(ps->e);
	spin_lock(&ps->e->lock);
	dxk_crew_set_lanes(ps->e);
	ps->e->state = DXK_CTX_RUNNING;
	spin_unlock(&ps->e->lock);
	ps->main = puppet_client(ps);
	return ps;
}

/** puppets_workers - the same with the default policy for @workers */
struct puppets *puppets_workers(struct kunit *test, u32 workers)
{
	struct dxk_policy p = puppet_policy(workers);

	return puppets_start(test, &p);
}

/** puppets_entries - the same with a Ready Pool of @entries */
struct puppets *puppets_entries(struct kunit *test, u32 entries)
{
	struct dxk_policy p = puppet_policy(4);

	p.ready_entries = entries;
	return puppets_start(test, &p);
}

static void lanes_0_20_20(struct dxk_policy *p)
{
	p->sched_mode = TPOOL_MODE_CMLS;
	p->lane_pct[1] = 20;
	p->lane_pct[2] = 20;
}

/*
 * The same with lanes 0/20/20 of @entries and of ten workers.
 *
 * A fifth of the entries are for lane 1, two fifths for lanes 1 and 2, none for lane 0.
 */
struct puppets *puppets_cmls(struct kunit *test, u32 entries)
{
	struct dxk_policy p = puppet_policy(10);

	p.ready_entries = entries;
	lanes_0_20_20(&p);
	return puppets_start(test, &p);
}

/** puppets_on_block - the same with two helpers nested, or two spares; lanes as above */
struct puppets *puppets_on_block(struct kunit *test, u32 on_block, u32 workers, bool cmls)
{
	struct dxk_policy p = puppet_policy(workers);

	p.on_block = on_block;
	p.help_depth = 2;
	p.max_spares = 2;
	if (cmls)
		lanes_0_20_20(&p);
	return puppets_start(test, &p);
}
