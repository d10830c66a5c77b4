// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The calls of the engine, as the ioctls and libdxk make them: what was refused or cannot be
 * copied out goes back, a helper fetches what it was called for, or forgets to.
 */
#include "engine/block.h"
#include "engine/dispatch.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/room.h"
#include "engine/wake.h"
#include "engine/turn.h"

#include "actor.h"
#include "choice.h"
#include "device.h"
#include "house.h"
#include "item.h"
#include "model.h"

/* --- calls ------------------------------------------------------------------ */

/* How long a call may sleep: not at all, a while, for ever. */
u64 draw_deadline(void)
{
	switch (choose(4)) {
	case 0:
		return 0;
	case 1:
		return sim_now + 1000 * choose(100);
	case 2:
		return sim_now + NSEC_PER_MSEC * choose(300);
	default:
		return DXK_FOREVER;
	}
}

/* A signal that does not kill is over when its call has ended. */
bool interrupted(struct actor *a)
{
	if (!a->task->killed)
		a->task->signalled = false;
	return a->task->killed;
}

static u32 draw_attrs(void)
{
	static const u32 lane[] = { 0, PXR_LANE0, PXR_LANE1, PXR_LANE2, PXR_LANE_CHILD };

	return lane[choose(5)] | (choose(4) ? PXR_REJOIN : 0) | (choose(2) ? PXR_BOOST : 0) |
	       (choose(2) ? PXR_WAITIF_BUSY : 0) | (choose(2) ? PXR_REDO : 0) |
	       (choose(2) ? PXR_KERNEL : 0);
}

u64 draw_cookie(void)
{
	return choose(3);
}

s32 draw_prio(void)
{
	static const s32 edge[] = { S32_MIN, S32_MAX, S32_MAX - 1, -1 };

	/* where there are rounds these are to count, too */
	return chance(16) ? edge[choose(4)] : (s32)choose(house.e.policy.space_weight ? 2 : 6);
}

/* What fails takes the others of its owner along, if they are of that kind. */
static s32 draw_status(void)
{
	return chance(16) ? -EIO : (s32)choose(1000);
}

#define NAMES	6

/* A wait of any kind, mostly one that ends. */
static struct dxk_wait draw_wait(bool named)
{
	struct dxk_wait wait = { .wait = choose(4) ? DXK_WAIT_TIME : 0 };

	if (named && choose(2))
		wait.wait |= DXK_WAIT_CALL;
	if (!choose(3)) {
		wait.wait |= choose(2) ? DXK_WAIT_JOIN : DXK_WAIT_RESULT;
		if (wait.wait & DXK_WAIT_JOIN && choose(2))
			wait.wait |= DXK_WAIT_EAGER;
		wait.owner = choose(2) ? draw_cookie() : 1000 + choose(40);
	}
	if (wait.wait & DXK_WAIT_TIME) {
		wait.deadline = sim_now + 1000 * choose(chance(8) ? 300000 : 3000);
		wait.wait |= chance(8) ? DXK_WAIT_MASKED : 0;
	}
	if (chance(3)) {
		wait.wait |= DXK_WAIT_FILE;
		wait.events = 1;
	}
	if (!wait.wait)
		wait.wait = DXK_WAIT_AGAIN;
	if (chance(8)) {
		wait.wait |= DXK_WAIT_PRIO;
		wait.prio = draw_prio();
	}
	return wait;
}

#define KEYS	3
#define NO_KEY	KEYS

/* From now on of another key, or of none. */
static void draw_move(struct dxk_wait *wait)
{
	if (chance(8)) {
		wait->wait |= DXK_WAIT_MOVE;
		wait->key = choose(KEYS);
	} else if (chance(16)) {
		wait->wait |= DXK_WAIT_ALONE;
	}
}

/* A name, a wait, a time to expire. */
static void draw_more(struct dxk_post_more *p)
{
	u32 *attrs = &p->post.attrs;

	if (choose(2)) {
		*attrs |= PXR_NAMED;
		p->name = choose(NAMES);
	}
	if (choose(2)) {
		*attrs = (*attrs | PXR_WAIT) & ~PXR_WAITIF_BUSY;
		p->wait = draw_wait(*attrs & PXR_NAMED);
		if (p->wait.wait & DXK_WAIT_AGAIN)
			p->wait = (struct dxk_wait) { .wait = DXK_WAIT_TIME };
	}
	if (choose(2)) {
		*attrs |= PXR_KEY;
		p->key = choose(KEYS);
		p->reentry = choose(3);
	}
	if (chance(3)) {
		*attrs &= ~(PXR_LANES | PXR_LANE_CHILD | PXR_BOOST);
		*attrs |= PXR_HOME;
		p->home = 1 + choose(5);
	}
	if (chance(4))
		*attrs |= PXR_FAIL_FAST;
	if (chance(4))
		*attrs |= PXR_QUIET;
	if (chance(4)) {
		*attrs |= PXR_EXPIRE;
		p->expire = sim_now + 1000 * choose(5000);
	}
}

/** actor_names - somebody calls requests by their names, or cancels them */
void actor_names(struct actor *a)
{
	u64 names[DXK_BATCH_MAX];
	u32 states[DXK_BATCH_MAX];
	u32 nr = chance(8) ? DXK_BATCH_MAX : 1 + choose(3), i, found = 0;
	int ret;

	for (i = 0; i < nr; i++)
		names[i] = choose(NAMES + 1);
	if (choose(3)) {
		ret = dxk_wake_names(&a->m, names, nr);
		note("%u wakes %llu and others: %d", a->m.id, names[0], ret);
		return;
	}
	ret = dxk_cancel_names(&a->m, names, nr, states);
	note("%u cancels %llu and others: %d", a->m.id, names[0], ret);
	for (i = 0; i < nr && ret > 0; i++)
		found += states[i] != DXK_CANCEL_NONE;
	if (ret > 0 && found != (u32)ret)
		sim_fail("%u: %u requests are cancelled, told are %d", a->m.id, found, ret);
}

/** actor_purge - somebody cancels all of an owner */
void actor_purge(struct actor *a)
{
	u64 cookie = a->cookie && choose(2) ? a->cookie : draw_cookie();
	u32 nr[DXK_PLACES];

	dxk_purge_owner(&a->m, cookie, nr);
	note("%u cancels owner %llu: %u are Ready, %u execute, %u wait", a->m.id, cookie,
	     nr[DXK_AT_READY], nr[DXK_AT_WORK], nr[DXK_AT_WAIT]);
}

/** actor_key - somebody holds a key back, lets it go, or cancels what waits for it */
void actor_key(struct actor *a)
{
	static const char * const what[] = { "holds back", "cancels", "releases" };
	u64 key = choose(KEYS);
	u32 draw = choose(4);
	int ret;

	switch (draw) {
	case 0:
		ret = dxk_key_hold_back(&a->m, key, choose(2));
		break;
	case 1:
		ret = dxk_key_cancel(&a->m, key);
		break;
	default:
		draw = 2;
		ret = dxk_key_release(&a->m, key);
	}
	note("%u %s key %llu: %d", a->m.id, what[draw], key, ret);
}

/* What it was told of its block marks. */
static void check_mark(struct actor *a, const struct dxk_key_op *k, u8 had, bool blocked, int ret)
{
	const struct dxk_more *more = k->rqe->more;
	u8 has = more ? more->at_key : 0;

	if (!ret && k->what == DXK_KEY_BLOCK && (a->m.blocks != k->rqe || has == DXK_KEY_HAS))
		sim_fail("%u is told that it may block", a->m.id);
	if (!ret && k->what == DXK_KEY_UNBLOCK &&
	    (a->m.blocks || (a->m.left_key && has != DXK_KEY_HAS && blocked)))
		sim_fail("%u is told that it is back", a->m.id);
	if (ret == -EAGAIN && (k->force || a->m.blocks || (had == DXK_KEY_HAS && has != had)))
		sim_fail("%u may not block, and something has changed", a->m.id);
	if (ret == -EPERM && blocked)
		sim_fail("%u blocks, and is told that it does not", a->m.id);
	if (ret != 0 && ret != -EAGAIN && ret != -EPERM && ret != -EBUSY &&
	    ret != -ERESTARTSYS && ret != -ECANCELED && ret != -EDEADLK && ret != -EALREADY)
		sim_fail("%u blocks, and is told %d", a->m.id, ret);
}

/** actor_ask - a request gives its key up, or comes back to it */
void actor_ask(struct actor *a)
{
	static const u8 asks[] = {
		DXK_KEY_LEAVE, DXK_KEY_ENTER, DXK_KEY_WAIT, DXK_KEY_NOTIFY, DXK_KEY_NOTIFY_ALL,
		DXK_KEY_BLOCK, DXK_KEY_BLOCK, DXK_KEY_UNBLOCK,
	};
	struct dxk_rqe *rqe = list_last_entry(&a->m.busy, struct dxk_rqe, link);
	struct dxk_key_op k = {
		.m = &a->m, .rqe = rqe, .what = asks[choose(ARRAY_SIZE(asks))],
		.force = chance(4), .patient = choose(2),
	};
	u8 had = rqe->more ? rqe->more->at_key : 0;
	bool blocked = a->m.blocks == rqe;
	int ret;

	a->key_op = &k;
	ret = dxk_key_ask(&k, draw_deadline());
	a->key_op = NULL;
	note("%u asks %u of its key: %d", a->m.id, k.what, ret);
	if (dxk_key_is_mark(k.what)) {
		check_mark(a, &k, had, blocked, ret);
		return;
	}
	switch (ret) {
	case 0:
	case -ETIMEDOUT:
		if (k.what != DXK_KEY_LEAVE && rqe->more->at_key != DXK_KEY_HAS)
			sim_fail("%u is told that it has its key", a->m.id);
		if (ret && k.what != DXK_KEY_WAIT)
			sim_fail("%u has waited too long without a time", a->m.id);
		break;
	case -EINVAL:
		if (rqe->more && rqe->more->key)
			sim_fail("%u has a key, and is told that it has none", a->m.id);
		break;
	case -EPERM:
		if (had == DXK_KEY_HAS && !rqe->more->away)
			sim_fail("%u has its key, and is told that it has not", a->m.id);
		break;
	case -EBUSY:
		if (had != DXK_KEY_NESTED && !blocked)
			sim_fail("%u is told that it is nested", a->m.id);
		break;
	case -EALREADY:
		if (had != DXK_KEY_HAS)
			sim_fail("%u does not have its key, and is told so", a->m.id);
		break;
	case -EINTR:
	case -ERESTARTSYS:
	case -ECANCELED:
		break;
	default:
		sim_fail("%u asks for its key and is told %d", a->m.id, ret);
	}
}

/* The lane that was named, or the first one with a share below that of what executes. */
static void check_lane(const struct dxk_member *m, const struct dxk_rqe *rqe)
{
	const struct dxk_policy *p = &m->engine->policy;
	u32 lane = list_empty(&m->busy) ? 0 : list_last_entry(&m->busy, struct dxk_rqe, link)->lane;

	if (rqe->attrs & PXR_LANE_CHILD)
		do
			lane += lane < 3;
		while (lane < 3 && p->sched_mode & TPOOL_MODE_CMLS && !p->lane_pct[lane]);
	else
		lane = rqe->attrs & PXR_LANE0 ? 0 : rqe->attrs & PXR_LANE1 ? 1 :
		       rqe->attrs & PXR_LANE2 ? 2 : 3;
	if (rqe->lane != lane || (u32)dxk_lane_of(rqe->attrs) != lane)
		sim_fail("%u posts to lane %u instead of %u", m->id, rqe->lane, lane);
}

/* One request more for a post, unless its looks refuse it. @key: a message to that, or NO_KEY. */
static void post_add(struct dxk_post_op *p, u64 cookie, u32 attrs, u32 key)
{
	struct dxk_post_more more = {
		.post.owner = cookie == SIM_MIXED ? draw_cookie() : cookie,
		.post.attrs = attrs ?: draw_attrs(), .post.prio = draw_prio(),
	};
	struct dxk_post_entry *entry = &more.post;
	struct model_request *rq;
	struct dxk_rqe *rqe;

	if (key != NO_KEY) {
		entry->attrs |= PXR_KEY;
		more.key = key;
	} else if (!attrs && chance(3) && READ_ONCE(p->m->engine->waits.on)) {
		draw_more(&more);
	}
	if (dxk_rqe_check(&p->m->engine->policy, entry))
		return;
	rq = model_new();
	if (!rq)
		return;
	entry->param = rq - model.rq;
	/* Something to release, so that the end of each request is seen. */
	rqe = dxk_rqe_make(&p->m->rqes, entry, (struct dxk_executor *)p->m);
	dxk_post_lane(p->m, rqe);
	check_lane(p->m, rqe);
	if (dxk_more_make(p->m, rqe, &more)) {
		dxk_rqe_drop(p->m, rqe);
		return;
	}
	if (more.wait.wait & DXK_WAIT_FILE)
		device_arm(rqe);
	list_add_tail(&rqe->link, &p->rqes);
}

static void actor_fetch(struct actor *a, u32 max);

void actor_post(struct actor *a, u32 nr, u64 cookie, u32 attrs, u64 deadline)
{
	struct dxk_post_op p = { .m = &a->m, .help = a->depth };
	u32 key = READ_ONCE(a->m.engine->waits.on) && chance(4) ? choose(KEYS) : NO_KEY, i;
	int ret;

	if (dxk_client_begin(&p, nr))
		return;
	for (i = 0; i < nr; i++)
		post_add(&p, cookie, attrs, key);
	while (!list_empty(&p.rqes)) {
		note("%u posts for %llu", a->m.id, cookie);
		a->answered = false;
		p.err = 0;
		a->post = &p;
		ret = dxk_client_post(&p, deadline);
		a->post = NULL;
		note("%u: post returns %d", a->m.id, ret);
		house.refused += p.err == -ESHUTDOWN;
		if (!p.helper.called)
			break;
		/* A program may forget why it was called. */
		if (a->m.kind == DXK_KERNEL || !chance(4))
			actor_fetch(a, 1);
		if (dxk_client_prepare(&a->m, nr))
			break;
	}
	dxk_rqe_drop_all(&a->m, &p.rqes);
}

/* What was returned is of the owner, oldest completion first. */
static void check_returned(struct actor *a, const struct dxk_rejoin_op *r)
{
	const struct model_request *rq;
	struct dxk_rqe *rqe;
	u64 last = 0;
	u32 nr = 0;

	list_for_each_entry(rqe, &r->rqes, link) {
		rq = model_of(rqe);
		if (rq->rqe != rqe || rqe->cookie != r->cookie || !rq->rejoin)
			sim_fail("%u is returned what is not of %llu", a->m.id, r->cookie);
		if (rq->done < last && !rq->returned)
			sim_fail("%u is returned a later completion first", a->m.id);
		if (!rq->returned)
			last = rq->done;
		nr++;
	}
	if (nr != r->nr || nr > r->max)
		sim_fail("%u is returned %u, told %u of at most %u", a->m.id, nr, r->nr,
			 r->max);
}

/* Copied out, as far as that can be. */
static void actor_settle(struct actor *a, struct dxk_rejoin_op *r)
{
	struct dxk_settle_op s = { .m = &a->m };
	struct dxk_rqe *rqe;
	u32 copied = chance(4) ? choose(r->nr + 1) : r->nr;

	INIT_LIST_HEAD(&s.copied);
	INIT_LIST_HEAD(&s.failed);
	while (copied--)
		list_move_tail(r->rqes.next, &s.copied);
	list_splice_init(&r->rqes, &s.failed);
	list_for_each_entry(rqe, &s.failed, link) {
		note("%u: %llu cannot be copied", a->m.id, rqe->param);
		model_of(rqe)->returned = true;
	}
	dxk_perform(&house.e, &s.op, dxk_settle_run);
	dxk_rqe_drop_all(&a->m, &s.copied);
}

u32 actor_rejoin(struct actor *a, u64 cookie, u32 max, u64 deadline)
{
	struct dxk_rejoin_op r = {
		.m = &a->m, .cookie = cookie, .max = max, .min = 1 + choose(max),
		.wait = deadline, .help = a->depth, .nest = a->depth && choose(4),
		.free = a->m.kind == DXK_KERNEL || choose(2),
	};
	int err;

	if (!a->depth && !r.free && chance(4)) {
		r.any = true;
		r.min = 1;
	}
	for (;;) {
		note("%u rejoins %llu, %u to %u, %s", a->m.id, cookie, r.min, r.max,
		     !deadline ? "polls" : deadline == DXK_FOREVER ? "for ever" : "for a time");
		a->answered = false;
		/* A hold that has begun may still take it out of the inbox. */
		a->called = model.holds - !!house.e.lock.holder;
		a->rejoin = &r;
		err = dxk_client_rejoin(&r, deadline);
		a->rejoin = NULL;
		note("%u: rejoin returns %d, answer %u, %u", a->m.id, err, r.answer, r.nr);
		if (err || r.answer != RJR_HELP)
			break;
		if (a->m.kind == DXK_KERNEL || !chance(4))
			actor_fetch(a, 1);
	}
	if (err)
		return 0;
	check_returned(a, &r);
	if (r.free)
		dxk_rqe_drop_all(&a->m, &r.rqes);
	else if (r.nr)
		actor_settle(a, &r);
	return r.answer;
}

/* Sleep in poll(2) until the owner that was asked for last has changed. */
void actor_poll(struct actor *a)
{
	u64 deadline = draw_deadline();

	note("%u polls", a->m.id);
	do {
		a->polls = true;
		sim_doze_begin();
	} while (!READ_ONCE(a->m.readable) && !a->task->signalled && sim_sleep(deadline));
	sim_doze_end();
	a->polls = false;
}

/** actor_poll_work - sleep in poll(2) until there is work for user workers */
void actor_poll_work(struct actor *a)
{
	u64 deadline = draw_deadline();
	bool work;

	note("%u polls for work", a->m.id);
	do {
		a->polls_work = true;
		sim_doze_begin();
		spin_lock(&house.e.lock);
		work = dxk_ready_nr(&house.e.ready, DXK_USER) || house.e.state != DXK_CTX_RUNNING;
		spin_unlock(&house.e.lock);
	} while (!work && !a->task->signalled && sim_sleep(deadline));
	sim_doze_end();
	a->polls_work = false;
}

/** actor_poll_room - sleep in poll(2) until there is room for what was refused */
void actor_poll_room(struct actor *a)
{
	u64 deadline = draw_deadline();
	bool room;

	note("%u polls for room", a->m.id);
	do {
		a->polls_room = true;
		sim_doze_begin();
		spin_lock(&house.e.lock);
		room = dxk_room_poll(&house.e, &a->m);
		spin_unlock(&house.e.lock);
	} while (!room && !a->task->signalled && sim_sleep(deadline));
	sim_doze_end();
	a->polls_room = false;
}

/** actor_should - is it asked to end? */
int actor_should(struct actor *a, u64 deadline)
{
	struct dxk_should_op s = { .m = &a->m, .wait = deadline };
	int err;

	dxk_waiter_init(&s.w);
	a->should = &s;
	dxk_perform(&house.e, &s.op, dxk_should_run);
	err = dxk_waiter_sleep_on(&house.e, &s.w, false, deadline);
	dxk_should_forget(&a->m);
	a->should = NULL;
	return err && err != -ETIMEDOUT ? err : s.answer;
}

/* --- a worker's turns -------------------------------------------------------- */

u32 list_length(const struct list_head *head)
{
	const struct list_head *l;
	u32 nr = 0;

	for (l = head->next; l != head; l = l->next)
		nr++;
	return nr;
}

static void begin(struct actor *a, struct dxk_rqe *rqe)
{
	struct model_request *rq = model_of(rqe);

	if (rq->state != DXK_DISPATCHED || rqe->worker != a->m.id)
		sim_fail("%u fetches a request in state %u of worker %u", a->m.id,
			 rq->state, rqe->worker);
	rq->state = DXK_BUSY;
	list_move_tail(&rqe->link, &a->m.busy);
	WRITE_ONCE(rqe->state, DXK_BUSY);
	dxk_member_set_state(&a->m, DXK_M_BUSY);
	if (rqe->embedded)
		item_begin(a, rqe);
}

/* What was dispatched is begun, or cannot be copied out and goes back. */
static void works_put(struct actor *a, struct dxk_next_op *n)
{
	struct dxk_list_op back = { .m = &a->m };
	struct dxk_rqe *rqe, *next;
	bool fault = a->task->killed;

	if (list_length(&n->work) != n->nr || n->nr > n->max)
		sim_fail("%u is given %u, told %u of at most %u", a->m.id,
			 list_length(&n->work), n->nr, n->max);
	INIT_LIST_HEAD(&back.rqes);
	INIT_LIST_HEAD(&back.ended);
	list_for_each_entry_safe(rqe, next, &n->work, link) {
		fault |= a->m.kind == DXK_USER && chance(16);
		if (fault)
			list_move_tail(&rqe->link, &back.rqes);
		else
			begin(a, rqe);
	}
	if (list_empty(&back.rqes))
		return;
	note("%u puts back", a->m.id);
	dxk_perform(&house.e, &back.op, dxk_return_run);
	dxk_rqe_drop_all(&a->m, &back.ended);
}

/* A request has been executed: it has ended, or is to wait. */
static void end_turn(struct actor *a, struct dxk_rqe *rqe)
{
	struct model_request *rq = model_of(rqe);
	struct dxk_wait wait;

	rqe->status = 0;
	if (rqe->more)
		rqe->more->parks = false;
	if (!rqe->embedded && chance(rq->turn ? 2 : 5)) {
		wait = draw_wait(rqe->more && rqe->more->named);
		draw_move(&wait);
		if (!dxk_wait_set(&a->m, rqe, &wait)) {
			model_masks(rqe, wait.wait & DXK_WAIT_MASKED);
			note("%u: %llu waits for %x", a->m.id, rqe->param, wait.wait);
			if (wait.wait & DXK_WAIT_FILE)
				device_arm(rqe);
			rq->parks = true;
			return;
		}
	}
	if (!rqe->embedded)
		rqe->status = draw_status();
	rq->completed = true;
}

/* What was not completed after all goes on. */
static void done_back(struct actor *a, struct dxk_next_op *n)
{
	struct dxk_rqe *rqe;

	list_for_each_entry(rqe, &n->done, link)
		model_of(rqe)->completed = model_of(rqe)->parks = false;
	list_splice_init(&n->done, &a->m.busy);
}

/* @done: so many of those that execute are completed, the last one first. */
int actor_next(struct actor *a, u32 done, u32 max, u64 deadline)
{
	struct dxk_next_op n = { .m = &a->m, .max = max };
	struct dxk_rqe *rqe;
	int err;

	INIT_LIST_HEAD(&n.done);
	while (done-- && !list_empty(&a->m.busy)) {
		rqe = list_last_entry(&a->m.busy, struct dxk_rqe, link);
		end_turn(a, rqe);
		list_move_tail(&rqe->link, &n.done);
	}
	if (max && a->m.kind == DXK_USER && !list_empty(&n.done) && chance(16)) {
		note("%u faults as it completes %u", a->m.id, list_length(&n.done));
		done_back(a, &n);
		return -EFAULT;
	}
	note("%u completes %u and takes %u", a->m.id, list_length(&n.done), max);
	a->blocked = false;
	a->next = &n;
	err = dxk_next(&n, deadline);
	a->next = NULL;
	note("%u: next returns %d, %u taken, %u given", a->m.id, err, n.taken, n.nr);
	if (err && !list_empty(&n.work))
		sim_fail("%u is given work with error %d", a->m.id, err);
	dxk_rqe_drop_all(&a->m, &n.ended);
	done_back(a, &n);
	if (!err)
		works_put(a, &n);
	dxk_member_set_state(&a->m, dxk_member_home_state(&a->m));
	return err;
}

/* The usual turn of a worker. Return: has it completed what it had? */
bool actor_turn(struct actor *a)
{
	struct dxk_rqe *done, *rqe;

	if (list_length(&a->m.busy) != 1)
		return false;
	done = list_first_entry(&a->m.busy, struct dxk_rqe, link);
	done->status = done->embedded ? 0 : draw_status();
	model_of(done)->completed = true;
	rqe = dxk_turn(&a->m, &done);
	note("%u: turn %s, %s", a->m.id, done ? "unusual" : "usual", rqe ? "given" : "none given");
	if (done) {
		model_of(done)->completed = false;
		if (rqe)
			sim_fail("%u is given a request beside another", a->m.id);
		return false;
	}
	if (rqe)
		begin(a, rqe);
	return true;
}

/* What a helper was called for. */
static void actor_fetch(struct actor *a, u32 max)
{
	u32 before = list_length(&a->m.busy);

	if (actor_next(a, 0, max, 0))
		return;
	if (list_length(&a->m.busy) == before)
		return;
	actor_execute(a, list_last_entry(&a->m.busy, struct dxk_rqe, link));
	actor_next(a, 1, 0, DXK_FOREVER);
}

/* A kernel worker was called as a helper. */
void actor_help(struct actor *a)
{
	actor_fetch(a, 1);
}

/* What a request does: posts others, and waits for them. */
static void actor_work(struct actor *a, struct dxk_rqe *rqe)
{
	u64 mine = 1000 + rqe->param;
	u32 nr = choose(3);

	a->depth++;
	if (nr) {
		actor_post(a, nr, chance(8) ? rqe->cookie : mine, 0, draw_deadline());
		if (a->m.refused && a->m.kind == DXK_USER && choose(2)) {
			actor_poll_room(a);
			interrupted(a);
		}
		if (chance(4))
			sim_nap(1000 * choose(100));
		while (!a->task->killed && !house.ending && choose(4)) {
			u32 answer = actor_rejoin(a, chance(8) ? rqe->cookie : mine,
						  1 + choose(3), draw_deadline());

			if (interrupted(a) || answer != RJR_RETURNED)
				break;
		}
	} else if (chance(8)) {
		actor_should(a, draw_deadline());
		interrupted(a);
	} else if (rqe->more && rqe->more->key && choose(2)) {
		do {
			actor_ask(a);
		} while (!interrupted(a) && !house.ending && choose(3));
	} else if (choose(2)) {
		sim_nap(1000 * choose(100));
		interrupted(a);
	}
	if (a->m.kind == DXK_KERNEL && chance(3))
		actor_items(a);
	item_run(a);
	a->depth--;
}

void actor_execute(struct actor *a, struct dxk_rqe *rqe)
{
	device_read(rqe);
	if (a->depth < SIM_DEPTH - 1)
		actor_work(a, rqe);
	item_end(a);
}
