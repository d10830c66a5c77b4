// SPDX-License-Identifier: GPL-2.0-only
/* The calls of the picture (model.h) on a member. */
#define DXT_NO_HARNESS
#include "model_calls.h"
#include "model_engine.h"

#include <stdlib.h>

#define MORE	(PXR_NAMED | PXR_KEY | PXR_WAIT | PXR_EXPIRE | PXR_QUIET | PXR_FAIL_FAST)

/* Can a wait be refused by looking at it alone? */
static long wait_check(const struct dxk_wait *w, bool named)
{
	uint32_t owner = w->wait & (DXK_WAIT_RESULT | DXK_WAIT_JOIN);
	uint32_t time = w->wait & DXK_WAIT_TIME;
	uint32_t sources = owner | time | (w->wait & DXK_WAIT_CALL);

	if (w->wait & ~(sources | DXK_WAIT_AGAIN | DXK_WAIT_EAGER | DXK_WAIT_PRIO |
			DXK_WAIT_MASKED))
		return -EOPNOTSUPP;
	if (!sources == !(w->wait & DXK_WAIT_AGAIN) ||
	    owner == (DXK_WAIT_RESULT | DXK_WAIT_JOIN) ||
	    (sources == DXK_WAIT_CALL && !named) || (w->deadline && !time) ||
	    (w->owner && !owner) || (w->wait & DXK_WAIT_EAGER && !(owner & DXK_WAIT_JOIN)) || (w->prio && !(w->wait & DXK_WAIT_PRIO)) || w->fd ||
	    w->events)
		return -EINVAL;
	if (w->wait & DXK_WAIT_MASKED && !time)
		return -EINVAL;
	/* nothing could end it */
	if (w->deadline == DXK_FOREVER &&
	    (w->wait & DXK_WAIT_MASKED || sources == DXK_WAIT_TIME))
		return -EINVAL;
	return 0;
}

static bool wait_is_none(const struct dxk_wait *w)
{
	static const struct dxk_wait none;

	return !memcmp(w, &none, sizeof(none));
}

static long post_more(const struct ctx *c, const struct dxk_post_more *e)
{
	uint32_t attrs = e->post.attrs;
	long error;

	if ((e->name && !(attrs & PXR_NAMED)) || (e->expire && !(attrs & PXR_EXPIRE)) ||
	    (!wait_is_none(&e->wait) && !(attrs & PXR_WAIT)))
		return -EINVAL;
	if (!(attrs & MORE))
		return 0;
	if (!c->waits)
		return -EOPNOTSUPP;
	if (!(attrs & PXR_WAIT))
		return 0;
	error = wait_check(&e->wait, attrs & PXR_NAMED);
	return error ? error : e->wait.wait & DXK_WAIT_AGAIN ? -EINVAL : 0;
}

static long post_entry(const struct model *m, const struct ctx *c, struct call *call,
		       unsigned int i)
{
	const struct dxk_post_more *more = call_entry(call, i);
	const struct dxk_post_entry *e = &more->post;
	uint32_t lanes = e->attrs & (PXR_LANE0 | PXR_LANE1 | PXR_LANE2);

	if (e->reserved || (e->fd && !(e->attrs & PXR_FD)))
		return -EINVAL;
	if (e->attrs & PXR_FD && e->fd != FILE_FD)
		return e->fd == CTL_FD ? -ELOOP : -EBADF;
	if (e->attrs & ~0xffffU)
		return -EOPNOTSUPP;
	if (lanes & (lanes - 1) || (lanes && e->attrs & PXR_LANE_CHILD))
		return -EINVAL;
	if (e->data_len > c->policy.data_size || e->result_len > c->policy.data_size)
		return -EMSGSIZE;
	if (e->attrs & PXR_KERNEL) {
		if (!c->policy.kernel_threads)
			return -ENODEV;
		if (e->executor != m->nop)
			return -ENOENT;
	} else if (c->policy.kernel_threads == c->policy.max_threads) {
		return -ENODEV;
	}
	if (call->a.post.entry_size > sizeof(*e))
		return post_more(c, more);
	/* they need the longer element */
	return e->attrs & MORE ? -EINVAL : 0;
}

/* Below that of what is executed, or of services, the first one that has a share. */
static void descend(const struct member *m, struct req *r)
{
	const struct dxk_policy *p = &m->ctx->policy;
	unsigned int lane = m->nr_busy ? m->busy[m->nr_busy - 1]->lane : 0;

	r->lane = 3;
	for (lane++; lane < 3 && r->lane == 3; lane++)
		if (!(p->sched_mode & TPOOL_MODE_CMLS) || p->lane_pct[lane])
			r->lane = lane;
	r->attrs |= r->lane == 1 ? PXR_LANE1 : r->lane == 2 ? PXR_LANE2 : 0;
}

static struct req *make(const struct member *m, struct call *call, unsigned int i)
{
	const struct dxk_post_more *more = call_entry(call, i);
	bool is_long = call->a.post.entry_size > sizeof(more->post);
	const struct dxk_post_entry *e = &more->post;
	struct req *r = calloc(1, sizeof(*r));

	*r = (struct req){
		.kernel = e->attrs & PXR_KERNEL,
		.lane = e->attrs & PXR_LANE0 ? 0 : e->attrs & PXR_LANE1 ? 1 :
			e->attrs & PXR_LANE2 ? 2 : 3,
		.owner = e->owner, .executor = e->executor, .param = e->param,
		.space = m->space, .prio = e->prio, .attrs = e->attrs,
		.data_len = e->data_len, .posted_len = e->data_len,
		.result_room = e->result_len,
		.more = e->attrs & (MORE | PXR_FD), .named = e->attrs & PXR_NAMED,
		.expire = DXK_FOREVER, .at = DXK_FOREVER,
	};
	memcpy(r->data, call->in[i], e->data_len);
	memcpy(r->posted, r->data, DATA);
	if (is_long && e->attrs & MORE) {
		r->name = more->name;
		r->wait = more->wait;
		r->told_state = more->wait.state;
		if (e->attrs & PXR_EXPIRE)
			r->expire = more->expire;
		if (more->wait.wait & DXK_WAIT_PRIO)
			r->prio = more->wait.prio;
	}
	r->own_prio = r->prio;
	if (r->attrs & PXR_LANE_CHILD)
		descend(m, r);
	return r;
}

static void post(struct model *model, struct proc *p, struct member *m)
{
	const struct dxk_post *a = &p->call->a.post;
	unsigned int i;
	long error;

	if (a->flags & ~DXK_CALL_HELP) {
		model_answer(p, -EOPNOTSUPP);
		return;
	}
	if (!a->nr || a->nr > DXK_BATCH_MAX || a->entry_size < sizeof(struct dxk_post_entry)) {
		model_answer(p, -EINVAL);
		return;
	}
	for (i = 0; i < a->nr; i++) {
		error = post_entry(model, m->ctx, p->call, i);
		p->answer.index = i;
		p->answer.reason = 0;
		if (error) {
			model_answer(p, error);
			return;
		}
	}
	m->taken = 0;
	for (m->nr = 0; m->nr < (int)a->nr; m->nr++)
		m->reqs[m->nr] = make(m, p->call, (unsigned int)m->nr);
	p->in = m;
	engine_post(m->ctx, m);
	if (!p->done && a->deadline != DXK_FOREVER)
		engine_timeout(m->ctx, m, -ETIMEDOUT);
}

static void rejoin(struct proc *p, struct member *m)
{
	const struct dxk_rejoin *a = &p->call->a.rejoin;

	if (a->flags & ~(DXK_CALL_HELP | DXK_CALL_NEST)) {
		model_answer(p, -EOPNOTSUPP);
		return;
	}
	if (a->reserved || a->min > a->nr || !a->nr || a->nr > DXK_BATCH_MAX ||
	    a->result_size < sizeof(p->call->result[0])) {
		model_answer(p, -EINVAL);
		return;
	}
	m->owner = a->owner;
	m->max = (int)a->nr;
	m->min = a->min ? (int)a->min : 1;
	m->wait = a->deadline;
	m->timed = a->deadline != DXK_FOREVER;
	m->nr = 0;
	p->in = m;
	engine_rejoin(m->ctx, m);
	if (!p->done && a->deadline != DXK_FOREVER)
		engine_timeout(m->ctx, m, -ETIMEDOUT);
}

static struct req *held(struct member *m, uint64_t ticket, int *k)
{
	for (*k = 0; *k < m->nr_busy; ++*k)
		if (m->busy[*k]->ticket == ticket)
			return m->busy[*k];
	return NULL;
}

/* What a turn leaves to the next one, or its result. */
static long take_one(struct proc *p, struct member *m, unsigned int i, bool *cuts)
{
	const struct dxk_done_more *more = call_done(p->call, i);
	bool is_long = p->call->a.next.done_size > sizeof(more->done);
	const struct dxk_done *d = &more->done;
	struct req *r;
	long error;
	int k;

	*cuts = is_long && more->wait.wait;
	if (is_long && !*cuts && !wait_is_none(&more->wait))
		return -EINVAL;
	r = held(m, d->ticket, &k);
	if (!r) {
		m->ctx->stat[ST_STALE]++;
		*cuts = true;
		return -ESTALE;
	}
	if (*cuts && d->status)
		return -EINVAL;
	if (d->data_len > r->result_room)
		return -EMSGSIZE;
	if (*cuts) {
		error = m->ctx->waits ? wait_check(&more->wait, r->named) : -EOPNOTSUPP;
		if (error)
			return error;
		r->more = true;
		r->wait = more->wait;
	}
	r->parks = *cuts;
	r->data_len = d->data_len;
	r->status = d->status;
	memcpy(r->data, p->call->in[i], d->data_len);
	m->nr_busy--;
	memmove(&m->busy[k], &m->busy[k + 1], (m->nr_busy - k) * sizeof(r));
	m->reqs[m->nr++] = r;
	return 0;
}

static void next(struct proc *p, struct member *m)
{
	const struct dxk_next *a = &p->call->a.next;
	bool cuts = false;
	long error = 0;
	unsigned int i;

	if (a->flags)
		error = -EOPNOTSUPP;
	else if ((!a->nr_done && !a->nr_work) || a->nr_done > DXK_BATCH_MAX ||
		 a->nr_work > DXK_BATCH_MAX ||
		 (a->nr_done && a->done_size < sizeof(struct dxk_done)) ||
		 (a->nr_work && a->work_size < sizeof(struct dxk_work)))
		error = -EINVAL;
	else if (a->nr_work && a->data && a->data_stride < m->ctx->policy.data_size)
		error = -EMSGSIZE;
	if (error) {
		model_answer(p, error);
		return;
	}
	m->max = (int)a->nr_work;
	m->nr = m->taken = m->work = 0;
	for (i = 0; i < a->nr_done && !error; i++)
		error = take_one(p, m, i, &cuts);
	/* up to what is stale, or a wait that cannot be */
	if (error && cuts && m->nr) {
		m->max = 0;
		error = 0;
	}
	if (error) {
		/* all stay its own, those first that the call named */
		memmove(&m->busy[m->nr], &m->busy[0], m->nr_busy * sizeof(m->busy[0]));
		memcpy(m->busy, m->reqs, m->nr * sizeof(m->busy[0]));
		m->nr_busy += m->nr;
		m->nr = 0;
		model_answer(p, error);
		return;
	}
	p->in = m;
	engine_next(m->ctx, m);
	engine_dispatch(m->ctx);
	if (!p->done && a->deadline != DXK_FOREVER)
		engine_timeout(m->ctx, m, -ETIMEDOUT);
}

/* --- names ---------------------------------------------------------------- */

static long names_check(const struct proc *p, const struct ctx *c)
{
	const struct dxk_names *a = &p->call->a.names;

	if (p->call->cmd == DXK_IOC_WAKE && a->states)
		return -EINVAL;
	if (a->flags)
		return -EOPNOTSUPP;
	if (a->reserved || !a->nr || a->nr > DXK_BATCH_MAX)
		return -EINVAL;
	return c->waits ? 0 : -EOPNOTSUPP;
}

/* By name: woken, or cancelled. */
static void names(struct proc *p, struct member *m)
{
	const struct dxk_names *a = &p->call->a.names;
	long rc = names_check(p, m->ctx), found = 0;
	struct ctx *c = m->ctx;
	unsigned int i;

	for (i = 0; !rc && i < a->nr; i++) {
		struct req *r = engine_named(c, m->space, p->call->name[i]);

		found += !!r;
		if (r && p->call->cmd == DXK_IOC_CANCEL)
			p->answer.state[i] = engine_tell(c, r, DXK_WAKE_CANCEL);
		else if (r && r->state == WAITING && !r->ripe && r->wait.wait & DXK_WAIT_CALL)
			engine_resume(c, r, DXK_WAKE_CALL);
		else if (r)
			r->latched = true;
	}
	model_answer(p, rc ? rc : found ? found : -ENOENT);
	if (!rc && p->call->cmd == DXK_IOC_CANCEL) {
		engine_serve_posters(c);
		if (c->state == STOPPING)
			engine_stop_workers(c);
	}
	engine_dispatch(c);
}

static void cancel_owner(struct proc *p, struct member *m)
{
	const struct dxk_cancel_owner *a = &p->call->a.cancel_owner;
	struct answer *answer = &p->answer;
	struct ctx *c = m->ctx;

	if (a->flags) {
		model_answer(p, -EOPNOTSUPP);
		return;
	}
	answer->ready = (uint32_t)engine_owner_count(c, m->space, a->owner, READY);
	answer->executing = (uint32_t)engine_owner_count(c, m->space, a->owner, WORK);
	answer->waiting = (uint32_t)engine_owner_count(c, m->space, a->owner, WAITING);
	answer->ended = (uint32_t)engine_owner_count(c, m->space, a->owner, DONE) +
			(uint32_t)engine_owner_count(c, m->space, a->owner, LEAVING);
	if (!(answer->ready | answer->executing | answer->waiting | answer->ended)) {
		model_answer(p, -ENOENT);
		return;
	}
	model_answer(p, 0);
	engine_purge_begin(c, m->space, a->owner);
	engine_purge(c);
	engine_dispatch(c);
}

static long should_stop(struct proc *p, const struct member *m)
{
	const struct ctx *c = m->ctx;
	uint32_t attrs = m->nr_busy ? m->last_attrs : PXR_LANE0;

	if (p->call->a.should_stop.flags)
		return model_answer(p, -EOPNOTSUPP);
	return model_answer(p, c->state == STOPPED ||
			 (c->state == STOPPING && (attrs & PXR_LANE0 || c->cancelling)) ||
			 (m->nr_busy && m->told));
}

static long log_write(struct proc *p, struct ctx *c)
{
	const struct dxk_log_write *a = &p->call->a.log_write;

	if (a->flags & ~DXK_LOG_WAIT)
		return model_answer(p, -EOPNOTSUPP);
	if (a->reserved)
		return model_answer(p, -EINVAL);
	if (c->state != RUNNING && c->state != STOPPING)
		return model_answer(p, c->closed ? -ESHUTDOWN : -ENODEV);
	if (c->nr_lines == (int)ARRAY_SIZE(c->line))
		abort();
	c->line[c->nr_lines++] = (unsigned int)atoi(p->call->text + 1);
	return model_answer(p, 0);
}

void model_member_call(struct model *model, struct proc *p, struct member *m)
{
	uint32_t cmd = p->call->cmd;

	switch (cmd) {
	case DXK_IOC_POST:
	case DXK_IOC_REJOIN:
	case DXK_IOC_SHOULD_STOP:
	case DXK_IOC_WAKE:
	case DXK_IOC_CANCEL:
	case DXK_IOC_CANCEL_OWNER:
	case DXK_IOC_LOG_WRITE:
		break;
	case DXK_IOC_NEXT:
		if (!m->client)
			break;
		/* fall through */
	default:
		model_answer(p, -ENOTTY);
		return;
	}
	if (p->call->a.size < 8) {
		model_answer(p, -EINVAL);
		return;
	}
	switch (cmd) {
	case DXK_IOC_POST:
		post(model, p, m);
		break;
	case DXK_IOC_REJOIN:
		rejoin(p, m);
		break;
	case DXK_IOC_NEXT:
		next(p, m);
		break;
	case DXK_IOC_SHOULD_STOP:
		should_stop(p, m);
		break;
	case DXK_IOC_WAKE:
	case DXK_IOC_CANCEL:
		names(p, m);
		break;
	case DXK_IOC_CANCEL_OWNER:
		cancel_owner(p, m);
		break;
	case DXK_IOC_LOG_WRITE:
		log_write(p, m->ctx);
		break;
	}
	engine_settle(m->ctx);
}
