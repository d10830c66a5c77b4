// SPDX-License-Identifier: GPL-2.0-only
/* The calls of the picture (model.h) on a member. */
#define DXT_NO_HARNESS
#include "model_calls.h"

#include <stdlib.h>

static long post_entry(const struct model *m, const struct ctx *c,
		       const struct dxk_post_entry *e)
{
	uint32_t lanes = e->attrs & (PXR_LANE0 | PXR_LANE1 | PXR_LANE2);

	if (e->reserved || (e->fd && !(e->attrs & PXR_FD)))
		return -EINVAL;
	if (e->attrs & PXR_FD && e->fd != FILE_FD)
		return e->fd == CTL_FD ? -ELOOP : -EBADF;
	if (e->attrs & ~0xf77fU)
		return -EOPNOTSUPP;
	if (lanes & (lanes - 1))
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
	/* they need a longer element */
	return e->attrs & (PXR_NAMED | PXR_WAIT | PXR_EXPIRE | PXR_QUIET | PXR_FAIL_FAST) ?
	       -EINVAL : 0;
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
	if (!a->nr || a->nr > DXK_BATCH_MAX || a->entry_size < sizeof(p->call->entry[0])) {
		model_answer(p, -EINVAL);
		return;
	}
	for (i = 0; i < a->nr; i++) {
		error = post_entry(model, m->ctx, &p->call->entry[i]);
		p->answer.index = i;
		p->answer.reason = 0;
		if (error) {
			model_answer(p, error);
			return;
		}
	}
	for (m->taken = 0, m->nr = 0, i = 0; i < a->nr; i++) {
		const struct dxk_post_entry *e = &p->call->entry[i];
		struct req *r = calloc(1, sizeof(*r));

		*r = (struct req){
			.kernel = e->attrs & PXR_KERNEL,
			.lane = e->attrs & PXR_LANE0 ? 0 : e->attrs & PXR_LANE1 ? 1 :
				e->attrs & PXR_LANE2 ? 2 : 3,
			.owner = e->owner, .executor = e->executor, .param = e->param,
			.space = m->space, .prio = e->prio, .attrs = e->attrs,
			.data_len = e->data_len, .posted_len = e->data_len,
			.result_room = e->result_len,
		};
		memcpy(r->data, p->call->in[i], e->data_len);
		memcpy(r->posted, r->data, DATA);
		m->reqs[m->nr++] = r;
	}
	p->in = m;
	engine_post(m->ctx, m);
	if (!p->done && a->deadline != DXK_FOREVER)
		engine_timeout(m->ctx, m, -ETIMEDOUT);
}

static void rejoin(struct proc *p, struct member *m)
{
	const struct dxk_rejoin *a = &p->call->a.rejoin;

	if (a->flags & ~DXK_CALL_HELP) {
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
	m->nr = 0;
	p->in = m;
	engine_rejoin(m->ctx, m);
	if (!p->done && a->deadline != DXK_FOREVER)
		engine_timeout(m->ctx, m, -ETIMEDOUT);
}

/* Takes one completion out of what the member holds. */
static long take_done(struct proc *p, struct member *m, unsigned int i)
{
	const struct dxk_done *d = &p->call->done[i];
	struct req *r = NULL;
	int k;

	for (k = 0; k < m->nr_busy; k++)
		if (m->busy[k]->ticket == d->ticket)
			break;
	if (k == m->nr_busy)
		return -ESTALE;
	r = m->busy[k];
	if (d->data_len > r->result_room)
		return -EMSGSIZE;
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
	long error = 0;
	unsigned int i;

	if (a->flags)
		error = -EOPNOTSUPP;
	else if ((!a->nr_done && !a->nr_work) || a->nr_done > DXK_BATCH_MAX ||
		 a->nr_work > DXK_BATCH_MAX ||
		 (a->nr_done && a->done_size < sizeof(p->call->done[0])) ||
		 (a->nr_work && a->work_size < sizeof(p->call->work[0])))
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
		error = take_done(p, m, i);
	m->ctx->stat[ST_STALE] += error == -ESTALE;
	if (error == -ESTALE && m->nr) {
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

static long should_stop(struct proc *p, const struct member *m)
{
	const struct ctx *c = m->ctx;
	uint32_t attrs = m->nr_busy ? m->last_attrs : PXR_LANE0;

	if (p->call->a.should_stop.flags)
		return model_answer(p, -EOPNOTSUPP);
	return model_answer(p, c->state == STOPPED ||
			 (c->state == STOPPING && (attrs & PXR_LANE0 || c->cancelling)));
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
	case DXK_IOC_LOG_WRITE:
		log_write(p, m->ctx);
		break;
	}
	engine_settle(m->ctx);
}
