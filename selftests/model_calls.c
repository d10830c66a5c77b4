// SPDX-License-Identifier: GPL-2.0-only
/* The calls of the picture (model.h): who may make which, what is wrong with them. */
#define DXT_NO_HARNESS
#include "model.h"

#include <ctype.h>
#include <stdlib.h>
#include <stdio.h>

#define RWX	(DXK_ACCESS_READ | DXK_ACCESS_WRITE | DXK_ACCESS_EXECUTE)

struct desc *model_desc(struct proc *p, int fd)
{
	int i;

	for (i = 0; i < DESCS; i++)
		if (fd && p->desc[i].fd == fd)
			return &p->desc[i];
	return NULL;
}

static long answer(struct proc *p, long rc)
{
	p->answer.rc = rc;
	p->done = p->told = true;
	return rc;
}

/* The descriptor that the call will have made; its number is news. */
static struct desc *new_desc(struct proc *p)
{
	int i;

	for (i = 0; i < DESCS; i++)
		if (!p->desc[i].fd)
			break;
	if (i == DESCS)
		abort();
	p->desc[i] = (struct desc){ .fd = -1 };
	return &p->desc[i];
}

static void *unused(void *array, size_t size, int nr)
{
	char *at = array;

	/* each begins with its bool "used" */
	while (nr-- && *(bool *)at)
		at += size;
	if (nr < 0)
		abort();
	memset(at, 0, size);
	*(bool *)at = true;
	return at;
}

static struct space *new_space(struct model *m)
{
	struct space *s = &m->space[m->nr_spaces++];

	if (m->nr_spaces > (int)ARRAY_SIZE(m->space))
		abort();
	*s = (struct space){ .private = true, .users = 1 };
	return s;
}

/* --- /dev/dxk ----------------------------------------------------------------------- */

static bool name_valid(const char *name)
{
	size_t i, n = strnlen(name, DXK_NAME_LEN);

	for (i = 0; i < n; i++)
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '/')
			return false;
	return n && n < DXK_NAME_LEN && strcmp(name, ".") && strcmp(name, "..");
}

static struct ctx *find_name(struct model *m, const char *name)
{
	int i;

	for (i = 0; i < CTXS; i++)
		if (m->ctx[i].used && !m->ctx[i].closed && !strcmp(m->ctx[i].name, name))
			return &m->ctx[i];
	return NULL;
}

static void add_session(struct model *m, struct proc *p, struct ctx *c,
			struct space *space, uint32_t access, bool creator)
{
	struct session *s = unused(m->session, sizeof(*s), SESSIONS);

	s->ctx = c;
	s->space = space;
	s->access = access;
	s->creator = creator;
	s->refs = 1;
	c->descriptors++;
	new_desc(p)->session = s;
}

static long ctx_create(struct model *m, struct proc *p)
{
	const struct dxk_ctx_create *a = &p->call->a.create;
	struct ctx *c;

	if (a->flags)		/* DXK_CTX_CHOWN is not in the picture */
		return answer(p, -EOPNOTSUPP);
	if (a->reserved || a->mode & ~0777U || a->uid || a->gid ||
	    (a->name[0] && !name_valid(a->name)))
		return answer(p, -EINVAL);
	if (a->name[0] && find_name(m, a->name))
		return answer(p, -EEXIST);
	c = unused(m->ctx, sizeof(*c), CTXS);
	strcpy(c->name, a->name);
	c->uid = p->uid;
	c->mode = a->mode;
	c->policy = m->initial;
	p->answer.any_id = true;
	add_session(m, p, c, new_space(m), 0xf, true);
	return answer(p, 0);
}

static long ctx_join(struct model *m, struct proc *p)
{
	const struct dxk_ctx_join *a = &p->call->a.join;
	bool by_id = a->flags & DXK_JOIN_BY_ID, owner;
	struct ctx *c = NULL;
	uint32_t granted;
	int i;

	if (a->flags & ~(DXK_JOIN_SHARED | DXK_JOIN_BY_ID) || a->access & ~0xfU)
		return answer(p, -EOPNOTSUPP);
	if (a->abi != DXK_ABI_VERSION)
		return answer(p, -EPROTONOSUPPORT);
	if (!a->access || (by_id ? a->name[0] : !name_valid(a->name)))
		return answer(p, -EINVAL);
	for (i = 0; by_id && i < CTXS; i++)
		if (m->ctx[i].used && m->ctx[i].known && !m->ctx[i].closed &&
		    m->ctx[i].id == a->id)
			c = &m->ctx[i];
	if (!by_id)
		c = find_name(m, a->name);
	if (!c)
		return answer(p, -ENOENT);
	owner = c->uid == p->uid;
	granted = (owner ? c->mode >> 6 : c->mode) & RWX;
	/* process 0 is the administrator */
	if (p->uid && (a->access & RWX & ~granted ||
		       (a->access & DXK_ACCESS_CONTROL && !owner)))
		return answer(p, -EACCES);
	p->answer.id = c->id;
	add_session(m, p, c, a->flags & DXK_JOIN_SHARED ? &c->shared : new_space(m),
		    a->access, false);
	return answer(p, 0);
}

/* --- the context ----------------------------------------------------------------------- */

static const struct { uint32_t offset, min, max; char kind; bool dynamic; } fields[] = {
#define F(f, min, max, kind, dynamic) { offsetof(struct dxk_policy, f), min, max, kind, dynamic }
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
	F(max_spares, 0, 499, 'n', false),
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
		return answer(p, error);
	if (c->state == NEW || c->state == STOPPED) {
		c->policy = *a;
		return answer(p, 0);
	}
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (!fields[i].dynamic && field(a, i) != field(&c->policy, i)) {
			p->answer.bad_field = fields[i].offset;
			return answer(p, -EBUSY);
		}
	c->next_policy = *a;
	c->changed = true;
	return answer(p, 0);
}

static void stopped(struct ctx *c)
{
	engine_stop(c, true, true);
	if (c->changed) {
		c->policy = c->next_policy;
		c->changed = false;
	}
}

static long ctx_stop(struct model *m, struct proc *p, struct ctx *c)
{
	const struct dxk_ctx_stop *a = &p->call->a.stop;
	uint32_t mode = a->mode == DXK_STOP_POLICY ? c->policy.shutdown : a->mode;
	int i;

	if (a->mode > DXK_STOP_CANCEL)
		return answer(p, -EOPNOTSUPP);
	if (a->reserved || a->nr > 499)
		return answer(p, -EINVAL);
	if (c->state != RUNNING && c->state != STOPPING)
		return answer(p, 0);
	engine_stop(c, mode == DXK_STOP_CANCEL, false);
	if (!engine_out_of_work(c)) {
		for (i = 0; i < MEMBERS; i++)
			p->answer.nr_running += m->member[i].used &&
				m->member[i].ctx == c && m->member[i].nr_busy;
		return answer(p, -ETIMEDOUT);
	}
	stopped(c);
	return answer(p, 0);
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
	uint32_t kind = p->call->a.member.kind;
	struct ctx *c = s->ctx;
	struct member *n;
	unsigned int id;

	if (kind > DXK_MEMBER_SPARE)
		return answer(p, -EOPNOTSUPP);
	if (~s->access & (kind ? DXK_ACCESS_EXECUTE : DXK_ACCESS_WRITE))
		return answer(p, -EACCES);
	if (kind && c->state != RUNNING && c->state != STOPPING)
		return answer(p, -ESHUTDOWN);
	if (kind == DXK_MEMBER_SPARE)
		return answer(p, -ENODEV);
	if (kind && c->policy.max_threads == c->policy.kernel_threads)
		return answer(p, -ENODEV);
	if (kind && (uint32_t)c->workers >= c->policy.max_threads - c->policy.kernel_threads)
		return answer(p, -ENOSPC);
	for (id = kind ? 1 : s->creator ? 0 : 1000; id_taken(m, c, id);
	     id = id || kind ? id + 1 : 1000)
		;
	n = unused(m->member, sizeof(*n), MEMBERS);
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
	new_desc(p)->member = n;
	answer(p, 0);
	/* the lanes may hold more now */
	engine_dispatch(c);
	engine_settle(c);
	return 0;
}

/* A command of the context's own, which its sender runs. */
static long command_send(struct proc *p, struct ctx *c)
{
	const struct dxk_command_send *a = &p->call->a.command;
	const char *text = p->call->text;
	struct dxk_policy policy;
	uint32_t value;

	if (!a->text_len)
		return answer(p, -EINVAL);
	if (c->state != RUNNING && c->state != STOPPING)
		return answer(p, -ESHUTDOWN);
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
	return answer(p, 0);
}

static long log_read(struct proc *p, struct ctx *c)
{
	const struct dxk_log_read *a = &p->call->a.log_read;

	if (a->flags)
		return answer(p, -EOPNOTSUPP);
	if (!a->nr || a->nr > DXK_BATCH_MAX)
		return answer(p, -EINVAL);
	/* messages of the module's own are among them: the driver reads on */
	memcpy(p->answer.lines, c->line, sizeof(p->answer.lines));
	return answer(p, 0);
}

static long ctx_call(struct model *m, struct proc *p, struct session *s)
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
		return answer(p, -ENOTTY);
	}
	if (need & ~s->access)
		return answer(p, -EACCES);
	if (p->call->a.size < 8)
		return answer(p, -EINVAL);
	switch (cmd) {
	case DXK_IOC_CTX_START:
		if (p->call->a.start.flags)
			return answer(p, -EOPNOTSUPP);
		if (c->state == RUNNING || c->state == STOPPING)
			return answer(p, -EBUSY);
		c->state = RUNNING;
		c->cancelling = false;
		return answer(p, 0);
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
	return answer(p, 0);
}

/* --- members ------------------------------------------------------------------------------ */

static long post_entry(const struct model *m, const struct ctx *c,
		       const struct dxk_post_entry *e)
{
	uint32_t lanes = e->attrs & (PXR_LANE0 | PXR_LANE1 | PXR_LANE2);

	if (e->reserved || (e->fd && !(e->attrs & PXR_FD)))
		return -EINVAL;
	if (e->attrs & PXR_FD && e->fd != FILE_FD)
		return e->fd == CTL_FD ? -ELOOP : -EBADF;
	if (e->attrs & ~0x37fU)
		return -EOPNOTSUPP;
	if (lanes & (lanes - 1))
		return -EINVAL;
	if (e->data_len > c->policy.data_size || e->result_len > c->policy.data_size)
		return -EMSGSIZE;
	if (e->attrs & PXR_KERNEL) {
		if (!c->policy.kernel_threads)
			return -ENODEV;
		return e->executor == m->nop ? 0 : -ENOENT;
	}
	return c->policy.kernel_threads == c->policy.max_threads ? -ENODEV : 0;
}

static void post(struct model *model, struct proc *p, struct member *m)
{
	const struct dxk_post *a = &p->call->a.post;
	unsigned int i;
	long error;

	if (a->flags & ~DXK_CALL_HELP) {
		answer(p, -EOPNOTSUPP);
		return;
	}
	if (!a->nr || a->nr > DXK_BATCH_MAX || a->entry_size < sizeof(p->call->entry[0])) {
		answer(p, -EINVAL);
		return;
	}
	for (i = 0; i < a->nr; i++) {
		error = post_entry(model, m->ctx, &p->call->entry[i]);
		p->answer.index = i;
		p->answer.reason = 0;
		if (error) {
			answer(p, error);
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
		answer(p, -EOPNOTSUPP);
		return;
	}
	if (a->reserved || a->min > a->nr || !a->nr || a->nr > DXK_BATCH_MAX ||
	    a->result_size < sizeof(p->call->result[0])) {
		answer(p, -EINVAL);
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
		answer(p, error);
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
		answer(p, error);
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

	if (p->call->a.should.flags)
		return answer(p, -EOPNOTSUPP);
	return answer(p, c->state == STOPPED ||
			 (c->state == STOPPING && (attrs & PXR_LANE0 || c->cancelling)));
}

static long log_write(struct proc *p, struct ctx *c)
{
	const struct dxk_log_write *a = &p->call->a.log_write;

	if (a->flags & ~DXK_LOG_WAIT)
		return answer(p, -EOPNOTSUPP);
	if (a->reserved)
		return answer(p, -EINVAL);
	if (c->state != RUNNING && c->state != STOPPING)
		return answer(p, c->closed ? -ESHUTDOWN : -ENODEV);
	if (c->nr_lines == (int)ARRAY_SIZE(c->line))
		abort();
	c->line[c->nr_lines++] = (unsigned int)atoi(p->call->text + 1);
	return answer(p, 0);
}

static void member_call(struct model *model, struct proc *p, struct member *m)
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
		answer(p, -ENOTTY);
		return;
	}
	if (p->call->a.size < 8) {
		answer(p, -EINVAL);
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

/* --- closing ------------------------------------------------------------------------------- */

static void free_ctx(struct model *m, struct ctx *c)
{
	int i;

	if (c->descriptors)
		return;
	for (i = 0; i < MEMBERS; i++)
		if (m->member[i].used && m->member[i].ctx == c)
			return;
	while (c->nr_live)
		free(c->live[--c->nr_live]);
	c->used = false;
}

static void close_desc(struct model *m, struct desc *d)
{
	struct session *s = d->session;
	struct member *n = d->member;
	struct ctx *c = s ? s->ctx : n->ctx;

	*d = (struct desc){ 0 };
	if (s && !--s->refs) {
		engine_leave_space(c, s->space);
		s->used = false;
		if (!--c->descriptors) {
			if (c->state == RUNNING || c->state == STOPPING)
				stopped(c);
			c->closed = true;
		}
	}
	if (n && !--n->refs) {
		engine_died(c, n);
		engine_leave_space(c, n->space);
		n->used = false;
	}
	free_ctx(m, c);
}

static void dup_desc(struct proc *p, const struct desc *d)
{
	struct desc *n = new_desc(p);

	n->session = d->session;
	n->member = d->member;
	if (n->session)
		n->session->refs++;
	else
		n->member->refs++;
	answer(p, 0);
}

static long poll_desc(struct proc *p, const struct desc *d)
{
	const struct member *m = d->member;

	return answer(p, m && (m->ready || (!m->client && !m->ctx->cancelling &&
					    model_best(m->ctx, false))));
}

/* --- all ------------------------------------------------------------------------------------ */

void model_call(struct model *m, struct proc *p)
{
	struct call *call = p->call;
	struct desc *d = model_desc(p, call->fd);

	p->done = p->told = false;
	p->in = NULL;
	memset(&p->answer, 0, sizeof(p->answer));
	p->answer.nr_taken = DXT_POISON32;
	p->answer.index = p->answer.reason = DXT_POISON32;
	if (call->fd == CTL_FD) {
		if (call->cmd == DXK_IOC_CTX_CREATE)
			ctx_create(m, p);
		else if (call->cmd == DXK_IOC_CTX_JOIN)
			ctx_join(m, p);
		else
			answer(p, -ENOTTY);
	} else if (!d) {
		answer(p, -EBADF);
	} else if (call->op == OP_CLOSE) {
		close_desc(m, d);
		answer(p, 0);
	} else if (call->op == OP_DUP) {
		dup_desc(p, d);
	} else if (call->op == OP_POLL) {
		poll_desc(p, d);
	} else if (d->session) {
		ctx_call(m, p, d->session);
	} else {
		member_call(m, p, d->member);
	}
}

void model_interrupt(struct model *m, struct proc *p)
{
	(void)m;
	engine_timeout(p->in->ctx, p->in, -EINTR);
	engine_settle(p->in->ctx);
}

/* A process that ends closes its descriptors, the highest first. */
void model_death(struct model *m, struct proc *p)
{
	struct desc *last;
	int i;

	if (!p->done)
		model_interrupt(m, p);
	do {
		for (last = NULL, i = 0; i < DESCS; i++)
			if (p->desc[i].fd && (!last || p->desc[i].fd > last->fd))
				last = &p->desc[i];
		if (last)
			close_desc(m, last);
	} while (last);
}
