// SPDX-License-Identifier: GPL-2.0-only
/* The calls of the picture (model.h) on a context. */
#define DXT_NO_HARNESS
#include "model_calls.h"

#include <stdio.h>
#include <stdlib.h>

static const struct { uint32_t offset, min, max; char kind; bool dynamic; } fields[] = {
#define F(f, min, max, kind, dynamic) \
	{ offsetof(struct dxk_policy, f), min, max, kind, dynamic }
	F(sched_mode, 0, 1, 'm', false), F(prio_policy, 0, 3, 'm', true),
	F(max_threads, 1, 499, 'n', true), F(kernel_threads, 0, 499, 'n', true),
	F(ready_entries, 1, 1 << 20, 'n', false), F(rejoin_entries, 1, 1 << 20, 'n', false),
	F(log_entries, 2, 1 << 20, 'n', false), F(handle_entries, 0, 1 << 16, 'n', false),
	F(max_requests, 1, 1 << 21, 'n', false), F(data_size, 0, 4096, 'n', false),
	F(lane_pct[0], 0, 100, 'n', true), F(lane_pct[1], 0, 100, 'n', true),
	F(lane_pct[2], 0, 100, 'n', true), F(boost_value, 0, 1 << 16, 'n', true),
	F(sched_interval_ms, 1, 3600000, 'n', true), F(dispatch, 0, 1, 'c', false),
	F(log_full, 0, 2, 'c', true), F(rejoin_full, 0, 2, 'c', false),
	F(shutdown, 1, 2, 'c', true), F(on_block, 0, 2, 'c', false),
	F(redo_max, 1, 1000, 'n', true), F(help_depth, 1, 64, 'n', true),
	F(max_spares, 0, 499, 'n', false), F(user_share, 1, 100, 'n', true),
	F(prealloc_requests, 0, 1 << 21, 'n', false), F(max_waiting, 0, 1 << 21, 'n', false),
};

static uint32_t field(const struct dxk_policy *p, unsigned int i)
{
	return *(const uint32_t *)((const char *)p + fields[i].offset);
}

static uint32_t quota_sum(uint32_t n, const uint32_t *pct)
{
	uint32_t sum = 0, l;

	for (l = 0; l < 3; l++)
		if (pct[l])
			sum += n * pct[l] / 100 ? n * pct[l] / 100 : 1;
	return sum;
}

static long policy_check(const struct dxk_policy *p, uint32_t *bad)
{
	uint32_t user = p->max_threads - p->kernel_threads;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		uint32_t value = field(p, i);

		*bad = fields[i].offset;
		if (fields[i].kind == 'm' ? value & ~fields[i].max :
		    fields[i].kind == 'c' && value > fields[i].max)
			return -EOPNOTSUPP;
		if (value < fields[i].min || value > fields[i].max)
			return -EINVAL;
	}
#define BAD(f)	(*bad = offsetof(struct dxk_policy, f), -EINVAL)
	if (p->kernel_threads > p->max_threads)
		return BAD(kernel_threads);
	if (p->log_entries & (p->log_entries - 1))
		return BAD(log_entries);
	if (p->max_requests < p->ready_entries)
		return BAD(max_requests);
	if (p->lane_pct[0] + p->lane_pct[1] + p->lane_pct[2] > 100)
		return BAD(lane_pct);
	if (p->sched_mode & TPOOL_MODE_CMLS) {
		if (quota_sum(p->ready_entries, p->lane_pct) >= p->ready_entries)
			return BAD(ready_entries);
		if (user && quota_sum(user, p->lane_pct) >= user)
			return BAD(max_threads);
		if (p->kernel_threads &&
		    quota_sum(p->kernel_threads, p->lane_pct) >= p->kernel_threads)
			return BAD(kernel_threads);
	}
	*bad = 0;
	return 0;
}

static long policy_set(struct proc *p, struct ctx *c)
{
	const struct dxk_policy *a = &p->call->a.policy;
	long error = policy_check(a, &p->answer.bad_field);
	unsigned int i;

	if (error)
		return model_answer(p, error);
	if (c->state == NEW || c->state == STOPPED) {
		c->policy = *a;
		return model_answer(p, 0);
	}
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (!fields[i].dynamic && field(a, i) != field(&c->policy, i)) {
			p->answer.bad_field = fields[i].offset;
			return model_answer(p, -EBUSY);
		}
	c->next_policy = *a;
	c->changed = true;
	return model_answer(p, 0);
}

void model_stopped(struct ctx *c)
{
	engine_stop(c, true, true);
	c->ending = false;
	c->over = true;
	if (c->changed) {
		c->policy = c->next_policy;
		c->changed = false;
	}
}

/* The last request has ended for which a Stop did not wait any more. */
void model_ended(struct ctx *c)
{
	if (c->ending && c->state == STOPPING && engine_out_of_work(c))
		model_stopped(c);
}

static long ctx_stop(struct model *m, struct proc *p, struct ctx *c)
{
	const struct dxk_ctx_stop *a = &p->call->a.ctx_stop;
	uint32_t mode = a->mode == DXK_STOP_POLICY ? c->policy.shutdown : a->mode;
	int i;

	if (a->mode > DXK_STOP_CANCEL)
		return model_answer(p, -EOPNOTSUPP);
	if (a->reserved || a->nr > 499)
		return model_answer(p, -EINVAL);
	if (c->state != RUNNING && c->state != STOPPING)
		return model_answer(p, 0);
	engine_stop(c, mode == DXK_STOP_CANCEL, false);
	if (!engine_out_of_work(c)) {
		for (i = 0; i < MEMBERS; i++)
			p->answer.nr_running += m->member[i].used &&
				m->member[i].ctx == c && m->member[i].nr_busy;
		/* and what waits, of which there are not too many */
		p->answer.nr_running += (uint32_t)model_count(c, WAITING, -1, -1);
		c->ending = true;
		return model_answer(p, -ETIMEDOUT);
	}
	model_stopped(c);
	return model_answer(p, 0);
}

static bool id_taken(const struct model *m, const struct ctx *c, unsigned int id)
{
	int i;

	for (i = 0; i < MEMBERS; i++)
		if (m->member[i].used && m->member[i].ctx == c && m->member[i].id == id)
			return true;
	return id == 1 && c->policy.kernel_threads &&
	       (c->state == RUNNING || c->state == STOPPING);
}

static long member_create(struct model *m, struct proc *p, struct session *s)
{
	uint32_t kind = p->call->a.member_create.kind;
	struct ctx *c = s->ctx;
	struct member *n;
	unsigned int id;

	if (kind > DXK_MEMBER_SPARE)
		return model_answer(p, -EOPNOTSUPP);
	if (~s->access & (kind ? DXK_ACCESS_EXECUTE : DXK_ACCESS_WRITE))
		return model_answer(p, -EACCES);
	if (kind && c->state != RUNNING && c->state != STOPPING)
		return model_answer(p, -ESHUTDOWN);
	if (kind == DXK_MEMBER_SPARE)
		return model_answer(p, -ENODEV);
	if (kind && c->policy.max_threads == c->policy.kernel_threads)
		return model_answer(p, -ENODEV);
	if (kind && (uint32_t)c->workers >= c->policy.max_threads - c->policy.kernel_threads)
		return model_answer(p, -ENOSPC);
	for (id = kind ? 1 : s->creator ? 0 : 1000; id_taken(m, c, id);
	     id = id || kind ? id + 1 : 1000)
		;
	n = model_unused(m->member, sizeof(*n), MEMBERS);
	n->client = !kind;
	n->attached = true;
	n->ctx = c;
	n->space = s->space;
	n->access = s->access;
	n->refs = 1;
	n->id = p->answer.id = id;
	n->proc = p;
	if (s->space->private)
		s->space->users++;
	c->workers += !!kind;
	model_new_desc(p)->member = n;
	model_answer(p, 0);
	/* the lanes may hold more now */
	engine_dispatch(c);
	engine_settle(c);
	return 0;
}

/* A command of the context's own, which its sender runs. */
static long command_send(struct proc *p, struct ctx *c)
{
	const struct dxk_command_send *a = &p->call->a.command_send;
	const char *text = p->call->text;
	struct dxk_policy policy;
	uint32_t value;

	if (!a->text_len)
		return model_answer(p, -EINVAL);
	if (c->state != RUNNING && c->state != STOPPING)
		return model_answer(p, -ESHUTDOWN);
	p->answer.status = -ENOENT;
	if (sscanf(text, "set redo_max %u", &value) == 1) {
		policy = c->changed ? c->next_policy : c->policy;
		policy.redo_max = value;
		p->answer.status = value < 1 || value > 1000 ? -EINVAL : 0;
		if (!p->answer.status) {
			c->next_policy = policy;
			c->changed = true;
		}
	} else if (!strncmp(text, "show", 4)) {
		p->answer.status = 0;
	} else if (!strcmp(text, "set ready_entries 5")) {
		p->answer.status = c->policy.ready_entries == 5 ? 0 :
				   c->policy.max_requests < 5 ? -EINVAL : -EBUSY;
	}
	return model_answer(p, 0);
}

static long log_read(struct proc *p, struct ctx *c)
{
	const struct dxk_log_read *a = &p->call->a.log_read;

	if (a->flags)
		return model_answer(p, -EOPNOTSUPP);
	if (!a->nr || a->nr > DXK_BATCH_MAX)
		return model_answer(p, -EINVAL);
	/* messages of the module's own are among them: the driver reads on */
	memcpy(p->answer.lines, c->line, sizeof(p->answer.lines));
	return model_answer(p, 0);
}

long model_ctx_call(struct model *m, struct proc *p, struct session *s)
{
	struct ctx *c = s->ctx;
	uint32_t cmd = p->call->cmd;
	uint32_t need = cmd == DXK_IOC_POLICY_GET ? DXK_ACCESS_READ :
			cmd == DXK_IOC_MEMBER_CREATE ? 0 : DXK_ACCESS_CONTROL;

	switch (cmd) {
	case DXK_IOC_CTX_START:
	case DXK_IOC_CTX_STOP:
	case DXK_IOC_POLICY_GET:
	case DXK_IOC_POLICY_SET:
	case DXK_IOC_MEMBER_CREATE:
	case DXK_IOC_COMMAND_SEND:
	case DXK_IOC_LOG_READ:
		break;
	default:
		return model_answer(p, -ENOTTY);
	}
	if (need & ~s->access)
		return model_answer(p, -EACCES);
	if (p->call->a.size < 8)
		return model_answer(p, -EINVAL);
	switch (cmd) {
	case DXK_IOC_CTX_START:
		if (p->call->a.ctx_start.flags)
			return model_answer(p, -EOPNOTSUPP);
		if (c->state == RUNNING || c->state == STOPPING)
			return model_answer(p, -EBUSY);
		c->state = RUNNING;
		c->cancelling = false;
		c->waits = c->policy.max_waiting;
		return model_answer(p, 0);
	case DXK_IOC_CTX_STOP:
		return ctx_stop(m, p, c);
	case DXK_IOC_POLICY_SET:
		return policy_set(p, c);
	case DXK_IOC_MEMBER_CREATE:
		return member_create(m, p, s);
	case DXK_IOC_COMMAND_SEND:
		return command_send(p, c);
	case DXK_IOC_LOG_READ:
		return log_read(p, c);
	}
	return model_answer(p, 0);
}
