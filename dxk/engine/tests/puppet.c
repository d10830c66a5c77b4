// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The calls of puppets, see puppet.h.
 */
#include "engine/block.h"
#include "engine/next.h"
#include "engine/tests/puppet.h"

/* --- moves ------------------------------------------------------------------ */

static u32 done(const struct puppets *ps)
{
	const struct puppet_call *c;
	u32 nr = 0;

	for (c = ps->calls; c; c = c->before)
		nr += c->w->done;
	return nr;
}

/** puppet_do - one operation in the dispatcher role, and what it leaves over */
void puppet_do(struct puppets *ps, struct dxk_op *op, dxk_op_fn *run)
{
	struct dxk_engine *e = ps->e;
	u32 before = done(ps);
	struct dxk_wakes wakes;

	dxk_hold(e, op, run, &wakes);
	ps->woken = wakes.nr;
	ps->polls = wakes.nr_members;
	ps->kick = wakes.kick;
	ps->work = wakes.work;
	/* whose move is made is woken */
	EXPECT_IS(done(ps) - before, wakes.nr);
	dxk_wakes_flush(e, &wakes);
	puppets_count(ps);
}

/** puppet_publish - an operation is handed to thread 700 (dispatch=thread) */
void puppet_publish(struct puppets *ps, struct dxk_op *op, dxk_op_fn *run)
{
	op->run = run;
	op->ran = false;
	op->caller = ps->task;
	llist_add(&op->inbox, &ps->e->inbox);
}

/** puppet_time_up - a sleep reaches its deadline */
int puppet_time_up(struct puppets *ps, struct dxk_waiter *w)
{
	int err = dxk_waiter_sleep(ps->e, w, 0);

	/* it is over, be its move made or not */
	w->done = true;
	puppets_count(ps);
	return err;
}

static struct dxk_waiter *puppet_waiter(struct puppet_call *c)
{
	switch (c->sort) {
	case PUPPET_POST:
		return &c->post.w;
	case PUPPET_REJOIN:
		return &c->rejoin.w;
	case PUPPET_NEXT:
		return &c->next.w;
	case PUPPET_CREW:
		return &c->crew.w;
	case PUPPET_SHOULD:
		return &c->should.w;
	case PUPPET_KEY:
		return &c->key.w;
	default:
		return &c->stop.w;
	}
}

static struct puppet_call *call(struct puppets *ps, enum puppet_sort sort)
{
	struct puppet_call *c = kunit_kzalloc(ps->test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(ps->test, c);
	c->before = ps->calls;
	c->sort = sort;
	c->w = puppet_waiter(c);
	dxk_waiter_init(c->w);
	c->w->task = ps->task;
	ps->calls = c;
	return c;
}

/* --- posts ------------------------------------------------------------------ */

/** puppet_poster - a post that is still to be filled and made */
struct dxk_post_op *puppet_poster(struct puppets *ps, struct dxk_member *m)
{
	struct dxk_post_op *p = &call(ps, PUPPET_POST)->post;

	p->m = m;
	p->help = true;
	INIT_LIST_HEAD(&p->rqes);
	return p;
}

void puppet_add(struct puppets *ps, struct dxk_post_op *p, u64 owner, s32 prio, u32 attrs)
{
	struct dxk_post_entry entry = {
		.owner = owner, .param = ++ps->params, .prio = prio, .attrs = attrs,
	};
	struct dxk_rqe *rqe;

	ASSERT_IS(dxk_client_prepare(p->m, DXK_BATCH_MAX), 0);
	rqe = dxk_rqe_make(&p->m->rqes, &entry, NULL);
	dxk_post_lane(p->m, rqe);
	list_add_tail(&rqe->link, &p->rqes);
}

void puppet_posts(struct puppets *ps, struct dxk_post_op *p)
{
	puppet_do(ps, &p->op, dxk_post_run);
}

struct dxk_post_op *puppet_post_nr(struct puppets *ps, struct dxk_member *m, u32 nr,
				   u64 owner, u32 attrs)
{
	struct dxk_post_op *p = puppet_poster(ps, m);

	while (nr--)
		puppet_add(ps, p, owner, 0, attrs);
	puppet_posts(ps, p);
	return p;
}

/** puppet_post - the main thread posts one request */
struct dxk_post_op *puppet_post(struct puppets *ps, u64 owner, s32 prio, u32 attrs)
{
	struct dxk_post_op *p = puppet_poster(ps, ps->main);

	puppet_add(ps, p, owner, prio, attrs);
	puppet_posts(ps, p);
	return p;
}

/** puppet_taken - a post of @nr requests is over, and all are in the pool */
void puppet_taken(struct puppets *ps, const struct dxk_post_op *p, u32 nr)
{
	EXPECT(!ASLEEP(p));
	EXPECT_IS(p->err, 0);
	EXPECT_IS(p->reason, 0);
	EXPECT_IS(p->taken, nr);
	EXPECT(list_empty(&p->rqes));
}

/** puppet_refused - DX-40: nothing but the count of refusals changes */
void puppet_refused(struct puppets *ps, u32 attrs, int err, u32 reason)
{
	struct dxk_engine *e = ps->e;
	u64 posts = e->stats.posts, busy = e->stats.post_busy;
	struct dxk_post_op *p = puppet_post(ps, 0, 0, attrs);

	EXPECT(!ASLEEP(p));
	EXPECT_IS(p->err, err);
	EXPECT_IS(p->reason, reason);
	EXPECT_IS(p->taken, 0);
	EXPECT(!list_empty(&p->rqes));
	EXPECT_IS(e->stats.posts, posts);
	EXPECT_IS(e->stats.post_busy, busy + (err == -EAGAIN));
}

/* --- rejoin ----------------------------------------------------------------- */

/** puppet_poller - a rejoin that is still to be made; @min: 0 does not wait */
struct dxk_rejoin_op *puppet_poller(struct puppets *ps, struct dxk_member *m, u64 owner,
				    u32 max, u32 min)
{
	struct dxk_rejoin_op *r = &call(ps, PUPPET_REJOIN)->rejoin;
	struct dxk_rqe *rqe;

	r->m = m;
	r->help = true;
	r->cookie = owner;
	r->max = max;
	r->min = min ?: 1;
	r->wait = min;
	r->free = true;
	INIT_LIST_HEAD(&r->rqes);
	list_for_each_entry(rqe, &m->busy, link)
		r->self_held += rqe->cookie == owner;
	return r;
}

struct dxk_rejoin_op *puppet_rejoin(struct puppets *ps, struct dxk_member *m, u64 owner,
				    u32 max, u32 min)
{
	struct dxk_rejoin_op *r = puppet_poller(ps, m, owner, max, min);

	puppet_do(ps, &r->op, dxk_rejoin_run);
	return r;
}

/** puppet_poll - the answer to the main thread, which takes one at most */
u32 puppet_poll(struct puppets *ps, u64 owner)
{
	struct dxk_rejoin_op *r = puppet_rejoin(ps, ps->main, owner, 1, 0);

	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->err, 0);
	EXPECT_IS(r->nr, r->answer == RJR_RETURNED);
	return r->answer;
}

/** puppet_result - the first request that a rejoin has returned */
struct dxk_rqe *puppet_result(const struct dxk_rejoin_op *r)
{
	return list_first_entry(&r->rqes, struct dxk_rqe, link);
}

/** puppet_settle - of what a rejoin copies out the first @copied arrive */
void puppet_settle(struct puppets *ps, struct dxk_rejoin_op *r, u32 copied)
{
	struct dxk_settle_op s = { .m = r->m };
	struct dxk_rqe *rqe, *next;

	INIT_LIST_HEAD(&s.copied);
	INIT_LIST_HEAD(&s.failed);
	list_for_each_entry_safe(rqe, next, &r->rqes, link)
		list_move_tail(&rqe->link, copied ? &s.copied : &s.failed),
		copied -= !!copied;
	puppet_do(ps, &s.op, dxk_settle_run);
	dxk_rqe_drop_all(r->m, &s.copied);
}

/* --- work ------------------------------------------------------------------- */

static struct dxk_next_op *turn(struct puppets *ps, struct dxk_member *m, u32 max)
{
	struct dxk_next_op *n = &call(ps, PUPPET_NEXT)->next;

	n->m = m;
	n->max = max;
	INIT_LIST_HEAD(&n->done);
	INIT_LIST_HEAD(&n->ended);
	INIT_LIST_HEAD(&n->work);
	return n;
}

/** puppet_turn - a worker asks for work */
struct dxk_next_op *puppet_turn(struct puppets *ps, struct dxk_member *m, u32 max)
{
	struct dxk_next_op *n = turn(ps, m, max);

	puppet_do(ps, &n->op, dxk_next_run);
	return n;
}

/** puppet_fetch - a worker begins all that its turn has given to it; the first one */
struct dxk_rqe *puppet_fetch(struct dxk_next_op *n)
{
	struct dxk_rqe *first = list_first_entry_or_null(&n->work, struct dxk_rqe, link);
	struct dxk_rqe *rqe, *next;

	list_for_each_entry_safe(rqe, next, &n->work, link) {
		WRITE_ONCE(rqe->state, DXK_BUSY);
		rqe->started = rqe->posted;
		list_move_tail(&rqe->link, &n->m->busy);
	}
	dxk_member_set_state(n->m, DXK_M_BUSY);
	return first;
}

/** puppet_work - a worker takes and begins one request, which must be there */
struct dxk_rqe *puppet_work(struct puppets *ps, struct dxk_member *m)
{
	struct dxk_next_op *n = puppet_turn(ps, m, 1);

	KUNIT_ASSERT_TRUE(ps->test, n->w.done);
	ASSERT_IS(n->err, 0);
	ASSERT_IS(n->nr, 1);
	return puppet_fetch(n);
}

/** puppet_help - a worker takes what it was called for */
struct dxk_rqe *puppet_help(struct puppets *ps, struct dxk_member *m)
{
	struct dxk_next_op *n = puppet_turn(ps, m, 1);

	EXPECT(!ASLEEP(n));
	EXPECT_IS(n->err, 0);
	EXPECT_IS(n->nr, 1);
	EXPECT(list_empty(&m->called));
	return puppet_fetch(n);
}

/** puppet_end - a worker ends the newest request that it executes and asks for @max */
struct dxk_next_op *puppet_end(struct puppets *ps, struct dxk_member *m, s32 status,
			       u32 max)
{
	struct dxk_next_op *n = turn(ps, m, max);
	struct dxk_rqe *rqe = list_last_entry(&m->busy, struct dxk_rqe, link);

	KUNIT_ASSERT_FALSE(ps->test, list_empty(&m->busy));
	rqe->status = status;
	list_move_tail(&rqe->link, &n->done);
	puppet_do(ps, &n->op, dxk_next_run);
	return n;
}

/** puppet_end_all - a worker ends all that it executes at once, the oldest first */
struct dxk_next_op *puppet_end_all(struct puppets *ps, struct dxk_member *m)
{
	struct dxk_next_op *n = turn(ps, m, 0);
	struct dxk_rqe *rqe;

	list_splice_tail_init(&m->busy, &n->done);
	list_for_each_entry(rqe, &n->done, link)
		rqe->status = 0;
	puppet_do(ps, &n->op, dxk_next_run);
	return n;
}

/** puppet_parent - a worker executes a request of owner 1, and waits for one of @child */
struct dxk_rejoin_op *puppet_parent(struct puppets *ps, struct dxk_member *m, u64 child)
{
	puppet_post(ps, 1, 0, PXR_REJOIN);
	puppet_work(ps, m);
	puppet_post_nr(ps, m, 1, child, PXR_REJOIN);
	return puppet_rejoin(ps, m, child, 1, 1);
}

/** puppet_return - what a turn has given to a worker cannot be fetched */
void puppet_return(struct puppets *ps, struct dxk_next_op *n)
{
	struct dxk_list_op l = { .m = n->m };

	INIT_LIST_HEAD(&l.rqes);
	INIT_LIST_HEAD(&l.ended);
	list_splice_init(&n->work, &l.rqes);
	puppet_do(ps, &l.op, dxk_return_run);
	dxk_rqe_drop_all(NULL, &l.ended);
}

/* --- others ----------------------------------------------------------------- */

/** puppet_manager - who starts workers asks how many there is use for */
struct dxk_crew_op *puppet_manager(struct puppets *ps, bool wait)
{
	struct dxk_crew_op *c = &call(ps, PUPPET_CREW)->crew;

	c->wait = wait;
	/* every answer is written, whatever was there */
	c->workers = 77;
	c->spares = 77;
	c->err = -77;
	puppet_do(ps, &c->op, dxk_crew_wait_run);
	return c;
}

/** puppet_asks - a member asks whether it is to end */
struct dxk_should_op *puppet_asks(struct puppets *ps, struct dxk_member *m, bool wait)
{
	struct dxk_should_op *s = &call(ps, PUPPET_SHOULD)->should;

	s->m = m;
	s->wait = wait;
	puppet_do(ps, &s->op, dxk_should_run);
	return s;
}

/** puppet_key - a worker asks for the key of its newest request: enum dxk_key_what */
struct dxk_key_op *puppet_key(struct puppets *ps, struct dxk_member *m, u32 what)
{
	return puppet_key_of(ps, m, list_last_entry(&m->busy, struct dxk_rqe, link), what);
}

/** puppet_key_of - the same of a request that need not be the innermost of its worker */
struct dxk_key_op *puppet_key_of(struct puppets *ps, struct dxk_member *m, struct dxk_rqe *rqe,
				 u32 what)
{
	struct dxk_key_op *k = &call(ps, PUPPET_KEY)->key;

	k->m = m;
	k->what = what;
	k->rqe = rqe;
	puppet_do(ps, &k->op, dxk_key_is_mark(what) ? dxk_mark_run : dxk_key_ask_run);
	return k;
}

/** puppet_block - a worker says that its newest request is to block */
struct dxk_key_op *puppet_block(struct puppets *ps, struct dxk_member *m, bool force,
				bool patient)
{
	struct dxk_key_op *k = &call(ps, PUPPET_KEY)->key;

	k->m = m;
	k->what = DXK_KEY_BLOCK;
	k->force = force;
	k->patient = patient;
	k->rqe = list_last_entry(&m->busy, struct dxk_rqe, link);
	puppet_do(ps, &k->op, dxk_mark_run);
	return k;
}

static void stop_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	list_add_tail(&container_of(op, struct puppet_stop, op)->w.link, &e->stoppers);
	dxk_stop_workers(e, wakes);
}

/** puppet_stopper - Stop waits until nothing is Ready and nothing executes */
struct puppet_stop *puppet_stopper(struct puppets *ps)
{
	struct puppet_stop *s = &call(ps, PUPPET_STOP)->stop;

	puppet_do(ps, &s->op, stop_run);
	return s;
}

/** puppet_stop_wait - is nothing Ready, and does nothing execute? */
int puppet_stop_wait(struct puppets *ps)
{
	struct puppet_stop *s = puppet_stopper(ps);

	return ASLEEP(s) ? puppet_time_up(ps, &s->w) : 0;
}
