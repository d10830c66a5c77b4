// SPDX-License-Identifier: GPL-2.0-only
/* The engine of the picture (model.h): requests that wait, and the clock. */
#define DXT_NO_HARNESS
#include "model_engine.h"

#define WAIT_OWNER	(DXK_WAIT_RESULT | DXK_WAIT_JOIN)

/* Has a worker been given the request before? Only one that has more can tell. */
bool engine_begun(const struct req *r)
{
	return r->more && (r->attempts || r->begun);
}

/* Would somebody take a last turn? */
bool engine_has_crew(const struct ctx *c)
{
	return c->workers && c->state != STOPPED;
}

/* --- is it over? ----------------------------------------------------------- */

static uint32_t wait_told(const struct ctx *c, const struct req *r)
{
	if (r->wait.wait & DXK_WAIT_MASKED)
		return DXK_WAKE_NONE;
	if (r->cancelled || c->cancelling)
		return DXK_WAKE_CANCEL;
	if (r->expired)
		return DXK_WAKE_EXPIRE;
	return !r->lane && c->state >= STOPPING ? DXK_WAKE_STOP : DXK_WAKE_NONE;
}

/* Why it need not wait, or DXK_WAKE_NONE: the first that is true. */
uint32_t engine_wait_over(struct ctx *c, const struct req *r, bool posted)
{
	const struct dxk_wait *w = &r->wait;
	bool coming = engine_owner_coming(c, r->space, w->owner);
	uint32_t told = wait_told(c, r);

	if (told)
		return told;
	if (w->wait & DXK_WAIT_AGAIN)
		return DXK_WAKE_AGAIN;
	if (w->wait & DXK_WAIT_CALL && r->latched)
		return DXK_WAKE_CALL;
	if (w->wait & WAIT_OWNER && w->owner == r->owner)
		return DXK_WAKE_DEADLOCK;
	if (w->wait & DXK_WAIT_RESULT &&
	    (!coming || engine_owner_count(c, r->space, w->owner, DONE)))
		return DXK_WAKE_RESULT;
	if (w->wait & DXK_WAIT_JOIN && !coming)
		return DXK_WAKE_JOIN;
	if (w->wait & WAIT_OWNER && !(w->wait & (DXK_WAIT_TIME | DXK_WAIT_CALL)) &&
	    r->expire == DXK_FOREVER && engine_wait_is_dead(c, r, posted))
		return DXK_WAKE_DEADLOCK;
	return w->wait & DXK_WAIT_TIME && w->deadline <= c->now ? DXK_WAKE_TIME :
								 DXK_WAKE_NONE;
}

/* --- begin and end --------------------------------------------------------- */

void engine_alarm_set(struct ctx *c, struct req *r, uint64_t at)
{
	if (r->at == at)
		return;
	r->at = at;
	r->at_seq = ++c->order;
}

/* What a Stop has found, and was not begun, has no last turn to take. */
static enum line line_of(const struct ctx *c, const struct req *r)
{
	bool told = c->cancelling || (!r->lane && c->state >= STOPPING);

	if (told && engine_begun(r))
		return LINE_KEPT;
	return r->lane || told ? LINE_WORK : LINE_SERVICE;
}

void engine_wait_enter(struct ctx *c, struct req *r)
{
	uint64_t deadline = r->wait.wait & DXK_WAIT_TIME ? r->wait.deadline : DXK_FOREVER;

	r->state = WAITING;
	r->line = line_of(c, r);
	r->line_seq = r->wait_seq = ++c->order;
	r->joins = r->wait.wait & WAIT_OWNER;
	engine_alarm_set(c, r, deadline < r->expire ? deadline : r->expire);
	c->stat[ST_WAITS]++;
}

static void wait_leave(struct ctx *c, struct req *r, uint64_t at)
{
	r->ripe = r->joins = r->eager = false;
	r->joined_seq = 0;
	engine_alarm_set(c, r, at);
}

/* What has ended its wait has been taken note of. */
static void wait_ready(struct ctx *c, struct req *r, uint32_t reason)
{
	r->wake = reason;
	if (reason == DXK_WAKE_CALL)
		r->latched = false;
	else if (reason == DXK_WAKE_EXPIRE)
		r->expired = false;
	r->prio = r->own_prio;
	if (c->cancelling)
		engine_enter_last(c, r);
	else
		engine_enter_ready(c, r);
}

/* --- room ------------------------------------------------------------------ */

static struct req *first_ripe(const struct ctx *c, unsigned int lane)
{
	struct req *first = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];

		if (r->state == WAITING && r->ripe && r->lane == lane &&
		    (!first || r->ripe_seq < first->ripe_seq))
			first = r;
	}
	return first;
}

bool engine_has_ripe(const struct ctx *c, unsigned int lane)
{
	return first_ripe(c, lane);
}

/* What it waits for has happened. One that was never begun needs room. */
void engine_resume(struct ctx *c, struct req *r, uint32_t reason)
{
	if (r->ripe)
		return;
	if (!engine_begun(r) && c->cancelling) {
		r->joins = false;
		r->joined_seq = 0;
		engine_alarm_set(c, r, DXK_FOREVER);
		return;
	}
	if (!engine_begun(r) && (engine_has_ripe(c, r->lane) ||
				 !engine_lane_has_room(c, r->lane))) {
		r->wake = reason;
		r->ripe = true;
		r->ripe_seq = ++c->order;
		r->joins = false;
		r->joined_seq = 0;
		engine_alarm_set(c, r, r->expire);
		return;
	}
	wait_leave(c, r, r->expire);
	wait_ready(c, r, reason);
}

/* They come before all who sleep for room. */
void engine_admit_ripe(struct ctx *c)
{
	struct req *r;
	unsigned int lane;

	for (lane = 0; lane < DXK_LANES; lane++)
		while (!c->cancelling && (r = first_ripe(c, lane)) &&
		       engine_lane_has_room(c, lane)) {
			wait_leave(c, r, r->expire);
			wait_ready(c, r, r->wake);
		}
}

/* --- owners ---------------------------------------------------------------- */

static bool is_eager(const struct req *r)
{
	return r->wait.wait & DXK_WAIT_EAGER;
}

/* The order in which they are told; those that are to follow at once come first, the last one first. */
static bool joins_before(const struct req *x, const struct req *y)
{
	if (is_eager(x) != is_eager(y))
		return is_eager(x);
	return is_eager(x) ? x->wait_seq > y->wait_seq : x->wait_seq < y->wait_seq;
}

static struct req *first_joiner(const struct ctx *c, const struct space *s, uint64_t owner,
				uint32_t source)
{
	struct req *first = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];

		if (r->state == WAITING && r->joins && r->space == s &&
		    r->wait.owner == owner && r->wait.wait & source &&
		    (!first || joins_before(r, first)))
			first = r;
	}
	return first;
}

/* Something about the owner has changed: for whom has it happened? */
void engine_owner_join(struct ctx *c, const struct space *s, uint64_t owner)
{
	bool over = !engine_owner_coming(c, s, owner);
	struct req *r;

	while ((over || engine_owner_count(c, s, owner, DONE)) &&
	       (r = first_joiner(c, s, owner, DXK_WAIT_RESULT))) {
		r->joins = false;
		r->joined_seq = ++c->order;
	}
	r = over ? first_joiner(c, s, owner, DXK_WAIT_JOIN) : NULL;
	if (r)
		r->eager = is_eager(r);
	while (over && (r = first_joiner(c, s, owner, DXK_WAIT_JOIN))) {
		r->joins = false;
		r->joined_seq = ++c->order;
	}
}

static struct req *first_joined(const struct ctx *c)
{
	struct req *first = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];

		if (r->state == WAITING && r->joined_seq &&
		    (!first || r->eager > first->eager ||
		     (r->eager == first->eager && r->joined_seq < first->joined_seq)))
			first = r;
	}
	return first;
}

/* What follows at once upon what a worker has ended in this step, Ready for it; or NULL. */
struct req *engine_eager(struct ctx *c, bool kernel)
{
	struct req *r = first_joined(c);

	if (!r || !r->eager || r->kernel != kernel || c->cancelling ||
	    (!kernel && !engine_worker_admits(c, r->lane)))
		return NULL;
	wait_leave(c, r, r->expire);
	wait_ready(c, r, DXK_WAKE_JOIN);
	return r;
}

void engine_serve_joined(struct ctx *c)
{
	struct req *r;

	while ((r = first_joined(c)))
		engine_resume(c, r, r->wait.wait & DXK_WAIT_RESULT ? DXK_WAKE_RESULT :
								     DXK_WAKE_JOIN);
}

/* --- a turn ends with a wait ------------------------------------------------ */

/* 0, or why it ends instead. */
int engine_park(struct ctx *c, struct req *r)
{
	uint32_t reason;

	r->parks = false;
	if (r->space->closed || (c->cancelling && !engine_has_crew(c)))
		return -ECANCELED;
	if (!r->sibling_seq) {
		r->sibling_seq = ++c->order;
		r->cancelled = engine_doomed(c, r);
	}
	r->turn++;
	r->begun = true;
	r->told_state = r->wait.state;
	r->attempts = r->worker = 0;
	r->posted_len = r->data_len;
	memcpy(r->posted, r->data, DATA);
	if (r->wait.wait & DXK_WAIT_PRIO)
		r->own_prio = r->wait.prio;
	reason = engine_wait_over(c, r, false);
	if (!reason) {
		engine_wait_enter(c, r);
		return 0;
	}
	c->stat[ST_WAITS]++;
	c->stat[ST_TIMEOUTS] += reason == DXK_WAKE_TIME;
	c->stat[ST_DEADLOCKS] += reason == DXK_WAKE_DEADLOCK && r->wait.owner != r->owner;
	wait_ready(c, r, reason);
	return 0;
}

/* --- before its time --------------------------------------------------------- */

/* One that no worker has ends. */
void engine_end_early(struct ctx *c, struct req *r, int status)
{
	if (r->state == WAITING)
		wait_leave(c, r, DXK_FOREVER);
	r->status = status;
	r->data_len = 0;
	c->stat[ST_CANCELLED]++;
	engine_end_request(c, r);
}

/* It has its turn for another reason; a call that was not taken note of counts on. */
void engine_more_tell(struct req *r, uint32_t reason)
{
	r->latched |= r->wake == DXK_WAKE_CALL;
	r->wake = reason;
}

/* It is Ready, and was begun. */
void engine_put_told_back(struct req *r)
{
	if (r->cancelled)
		engine_more_tell(r, DXK_WAKE_CANCEL);
	else if (r->expired)
		engine_more_tell(r, DXK_WAKE_EXPIRE);
	r->expired = false;
}

/* --- Stop -------------------------------------------------------------------- */

struct req *engine_first_waiting(const struct ctx *c, enum line line)
{
	struct req *first = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];

		if (r->state == WAITING && r->line == line &&
		    (!first || r->line_seq < first->line_seq))
			first = r;
	}
	return first;
}

static void change_line(struct ctx *c, struct req *r, enum line line)
{
	r->line = line;
	r->line_seq = ++c->order;
}

/* What is of lane 0 is told that a Stop has begun. */
void engine_stop_waits(struct ctx *c)
{
	struct req *r;

	while (!c->cancelling && (r = engine_first_waiting(c, LINE_SERVICE))) {
		if (!(r->wait.wait & DXK_WAIT_MASKED))
			engine_resume(c, r, DXK_WAKE_STOP);
		if (r->state == WAITING)
			change_line(c, r, engine_begun(r) ? LINE_KEPT : LINE_WORK);
	}
}

/* In a Stop(cancel): nobody is left who would take a last turn. */
void engine_end_orphans(struct ctx *c)
{
	struct req *r;

	if (!c->cancelling || engine_has_crew(c))
		return;
	while ((r = engine_first_waiting(c, LINE_KEPT)))
		engine_end_early(c, r, -ECANCELED);
	while ((r = engine_last(c)))
		engine_end_early(c, r, -ECANCELED);
}

void engine_cancel_waits(struct ctx *c)
{
	enum line line;
	struct req *r;

	for (line = LINE_SERVICE; line < LINE_KEPT; line++)
		while ((r = engine_first_waiting(c, line))) {
			if (!engine_begun(r) || !engine_has_crew(c))
				engine_end_early(c, r, -ECANCELED);
			else if (r->wait.wait & DXK_WAIT_MASKED)
				change_line(c, r, LINE_KEPT);
			else
				engine_resume(c, r, DXK_WAKE_CANCEL);
		}
	engine_end_orphans(c);
}

/* --- the clock ---------------------------------------------------------------- */

static struct req *first_alarm(const struct ctx *c)
{
	struct req *first = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];

		if (r->at <= c->now && (!first || r->at < first->at ||
					(r->at == first->at && r->at_seq < first->at_seq)))
			first = r;
	}
	return first;
}

static void alarm_rings(struct ctx *c, struct req *r)
{
	bool waits = r->state == WAITING && !r->ripe && r->wait.wait & DXK_WAIT_TIME;

	if (r->expire > c->now) {
		c->stat[ST_TIMEOUTS]++;
		engine_resume(c, r, DXK_WAKE_TIME);
		return;
	}
	r->expire = DXK_FOREVER;
	c->stat[ST_EXPIRED]++;
	engine_alarm_set(c, r, waits ? r->wait.deadline : DXK_FOREVER);
	engine_tell(c, r, DXK_WAKE_EXPIRE);
}

/* A turn of thread 700. */
void model_later(struct ctx *c)
{
	/* with its run it ends, and others do what they leave over */
	struct req *r = c->state == STOPPED ? NULL : first_alarm(c);
	bool rang = r;

	if (!rang && !engine_purge_due(c))
		return;
	c->later = true;
	for (; r; r = first_alarm(c))
		alarm_rings(c, r);
	if (rang)
		engine_serve_posters(c);
	engine_serve_joined(c);
	engine_serve_posters(c);
	engine_purge(c);
	engine_stop_workers(c);
	engine_dispatch(c);
	engine_settle(c);
}

static bool is_soon(const struct req *r)
{
	return (r->attrs & PXR_EXPIRE && r->expire == SOON) || r->at == SOON ||
	       r->wait.deadline == SOON;
}

static void has_come(struct req *r)
{
	if (r->expire == SOON)
		r->expire = PAST;
	if (r->wait.deadline == SOON)
		r->wait.deadline = PAST;
}

/* Those that are not taken yet are asked, too. */
bool model_soon(const struct ctx *c)
{
	const struct member *m;
	int i;

	for (i = 0; i < c->nr_live; i++)
		if (is_soon(c->live[i]))
			return true;
	for (m = engine_members; m < engine_members + MEMBERS; m++)
		for (i = 0; m->used && m->ctx == c && m->sleep == S_POST && i < m->nr; i++)
			if (is_soon(m->reqs[i]))
				return true;
	return false;
}

void model_clock(struct ctx *c)
{
	struct member *m;
	int i;

	c->now = SOON;
	model_later(c);
	c->now = PAST;
	for (i = 0; i < c->nr_live; i++)
		has_come(c->live[i]);
	for (m = engine_members; m < engine_members + MEMBERS; m++)
		for (i = 0; m->used && m->ctx == c && m->sleep == S_POST && i < m->nr; i++)
			has_come(m->reqs[i]);
}
