// SPDX-License-Identifier: GPL-2.0-only
/* The calls of the picture (model.h): who may make which, what is wrong with them. */
#define DXT_NO_HARNESS
#include "model_calls.h"

#include <stdlib.h>

#define RWX	(DXK_ACCESS_READ | DXK_ACCESS_WRITE | DXK_ACCESS_EXECUTE)

struct desc *model_desc(struct proc *p, int fd)
{
	int i;

	for (i = 0; i < DESCS; i++)
		if (fd && p->desc[i].fd == fd)
			return &p->desc[i];
	return NULL;
}

long model_answer(struct proc *p, long rc)
{
	p->answer.rc = rc;
	p->done = p->told = true;
	return rc;
}

/* The descriptor that the call will have made; its number is news. */
struct desc *model_new_desc(struct proc *p)
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

void *model_unused(void *array, size_t size, int nr)
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

/* --- /dev/dxk ------------------------------------------------------------ */

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
	struct session *s = model_unused(m->session, sizeof(*s), SESSIONS);

	s->ctx = c;
	s->space = space;
	s->access = access;
	s->creator = creator;
	s->refs = 1;
	c->descriptors++;
	model_new_desc(p)->session = s;
}

static long ctx_create(struct model *m, struct proc *p)
{
	const struct dxk_ctx_create *a = &p->call->a.ctx_create;
	struct ctx *c;

	if (a->flags)		/* DXK_CTX_CHOWN is not in the picture */
		return model_answer(p, -EOPNOTSUPP);
	if (a->reserved || a->mode & ~0777U || a->uid || a->gid ||
	    (a->name[0] && !name_valid(a->name)))
		return model_answer(p, -EINVAL);
	if (a->name[0] && find_name(m, a->name))
		return model_answer(p, -EEXIST);
	c = model_unused(m->ctx, sizeof(*c), CTXS);
	strcpy(c->name, a->name);
	c->uid = p->uid;
	c->mode = a->mode;
	c->policy = m->initial;
	c->now = PAST;
	p->answer.any_id = true;
	add_session(m, p, c, new_space(m), 0xf, true);
	return model_answer(p, 0);
}

static long ctx_join(struct model *m, struct proc *p)
{
	const struct dxk_ctx_join *a = &p->call->a.ctx_join;
	bool by_id = a->flags & DXK_JOIN_BY_ID, owner;
	struct ctx *c = NULL;
	uint32_t granted;
	int i;

	if (a->flags & ~(DXK_JOIN_SHARED | DXK_JOIN_BY_ID) || a->access & ~0xfU)
		return model_answer(p, -EOPNOTSUPP);
	if (a->abi != DXK_ABI_VERSION)
		return model_answer(p, -EPROTONOSUPPORT);
	if (!a->access || (by_id ? a->name[0] : !name_valid(a->name)))
		return model_answer(p, -EINVAL);
	for (i = 0; by_id && i < CTXS; i++)
		if (m->ctx[i].used && m->ctx[i].known && !m->ctx[i].closed &&
		    m->ctx[i].id == a->id)
			c = &m->ctx[i];
	if (!by_id)
		c = find_name(m, a->name);
	if (!c)
		return model_answer(p, -ENOENT);
	owner = c->uid == p->uid;
	granted = (owner ? c->mode >> 6 : c->mode) & RWX;
	/* process 0 is the administrator */
	if (p->uid && (a->access & RWX & ~granted ||
		       (a->access & DXK_ACCESS_CONTROL && !owner)))
		return model_answer(p, -EACCES);
	p->answer.id = c->id;
	add_session(m, p, c, a->flags & DXK_JOIN_SHARED ? &c->shared : new_space(m),
		    a->access, false);
	return model_answer(p, 0);
}

/* --- closing ------------------------------------------------------------- */

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
			if (c->state == RUNNING || c->state == STOPPING) {
				/* who sleeps for work still gets a last turn */
				engine_stop(c, true, false);
				model_stopped(c);
			}
			c->state = STOPPED;
			c->closed = true;
			c->over = true;
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
	struct desc *n = model_new_desc(p);

	n->session = d->session;
	n->member = d->member;
	if (n->session)
		n->session->refs++;
	else
		n->member->refs++;
	model_answer(p, 0);
}

static long poll_desc(struct proc *p, const struct desc *d)
{
	const struct member *m = d->member;

	return model_answer(p, m && (m->ready || (!m->client && model_has_work(m->ctx))));
}

/* --- all ----------------------------------------------------------------- */

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
			model_answer(p, -ENOTTY);
	} else if (!d) {
		model_answer(p, -EBADF);
	} else if (call->op == OP_CLOSE) {
		close_desc(m, d);
		model_answer(p, 0);
	} else if (call->op == OP_DUP) {
		dup_desc(p, d);
	} else if (call->op == OP_POLL) {
		poll_desc(p, d);
	} else if (d->session) {
		model_ctx_call(m, p, d->session);
	} else {
		model_member_call(m, p, d->member);
	}
}

void model_interrupt(struct model *m, struct proc *p)
{
	(void)m;
	engine_timeout(p->in->ctx, p->in, -EINTR);
	engine_settle(p->in->ctx);
}

/* A process that ends closes its descriptors, the highest first. */
/* Has nobody but @p a session of the context? */
static bool last_of(const struct model *m, const struct proc *p, const struct ctx *c)
{
	bool its[SESSIONS] = { false };
	int i, nr = 0;

	for (i = 0; i < DESCS; i++) {
		const struct session *s = p->desc[i].fd ? p->desc[i].session : NULL;

		if (!s || s->ctx != c || its[s - m->session])
			continue;
		its[s - m->session] = true;
		nr++;
	}
	return nr && nr == c->descriptors;
}

bool model_may_fail(const struct model *m, const struct ctx *c)
{
	const struct member *n;

	/* who waits for an entry may have one that fails */
	if (c->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER)
		return false;
	for (n = m->member; n < m->member + MEMBERS; n++)
		if (n->used && n->ctx == c &&
		    (n->sleep == S_REJOIN ||
		     (n->sleep == S_IDLE && n->proc->call->a.next.work == 8)))
			return false;
	return true;
}

static bool takes_others(const struct member *n)
{
	int i;

	for (i = 0; i < n->nr_busy; i++)
		if (n->busy[i]->attrs & PXR_FAIL_FAST)
			return true;
	return false;
}

bool model_close_races(const struct model *m, const struct desc *d)
{
	const struct member *n = d->member;

	return n && n->refs == 1 && takes_others(n) &&
	       ((n->space->private && n->space->users == 1) || !model_may_fail(m, n->ctx));
}

bool model_death_races(const struct model *m, const struct proc *p)
{
	int i, k;

	for (i = 0; i < DESCS; i++) {
		const struct member *n = p->desc[i].fd ? p->desc[i].member : NULL;

		if (n && takes_others(n))
			return true;
		if (!n || !n->nr_busy || !last_of(m, p, n->ctx))
			continue;
		for (k = 0; k < MEMBERS; k++)
			if (m->member[k].used && m->member[k].ctx == n->ctx &&
			    m->member[k].proc != p)
				return true;
	}
	return false;
}

/*
 * The kernel closes the descriptors from the first to the last one, and releases files from
 * the last to the first that it has put: one with more descriptors goes by the highest.
 */
void model_death(struct model *m, struct proc *p)
{
	struct desc last;
	int i;

	if (!p->done)
		model_interrupt(m, p);
	do {
		for (last.fd = 0, i = 0; i < DESCS; i++)
			if (p->desc[i].fd > last.fd)
				last = p->desc[i];
		for (i = 0; last.fd && i < DESCS; i++)
			if (p->desc[i].fd && p->desc[i].session == last.session &&
			    p->desc[i].member == last.member)
				close_desc(m, &p->desc[i]);
	} while (last.fd);
}
