// SPDX-License-Identifier: GPL-2.0-only
/* What the calls of the generator (generator.c) have in them, now and then wrong. */
#define DXT_NO_HARNESS
#include "lib/puppet.h"
#include "generator.h"

/* Ids of kernel executors count up from 1, so none has this one. */
#define NO_EXECUTOR	0x7fffffff

uint32_t gen_below(struct gen *g, uint32_t n)
{
	return rnd(&g->seed) % n;
}

static bool seldom(struct gen *g)
{
	return !gen_below(g, 40);
}

/* --- choosing ------------------------------------------------------------ */

/* A descriptor of the process: of a context, of a member; any if @which is 0. */
struct desc *gen_desc(struct gen *g, struct proc *p, char which)
{
	struct desc *found[DESCS];
	unsigned int nr = 0;
	int i;

	for (i = 0; i < DESCS; i++) {
		struct desc *d = &p->desc[i];

		if (d->fd && (!which || (which == 'c' && d->session) ||
			      (which == 'm' && d->member) ||
			      (which == 'w' && d->member && !d->member->client)))
			found[nr++] = d;
	}
	return nr ? found[gen_below(g, nr)] : NULL;
}

/* May one more process sleep? Somebody has to be left who can wake it. */
static uint64_t some_deadline(struct gen *g)
{
	unsigned int i, awake = 0;

	for (i = 0; i < PROCS; i++)
		awake += g->r.m.proc[i].done;
	return awake > 1 && gen_below(g, 3) ? DXK_FOREVER : gen_below(g, 2);
}

int gen_ctxs(const struct gen *g)
{
	int i, nr = 0;

	for (i = 0; i < CTXS; i++)
		nr += g->r.m.ctx[i].used;
	return nr;
}

static const char *some_name(struct gen *g)
{
	static const char *const name[] = { "gen-a", "gen-b", "gen-c", "gen-a", "" };

	return seldom(g) ? "a/b" : name[gen_below(g, ARRAY_SIZE(name))];
}

/* --- calls --------------------------------------------------------------- */

static void blank(struct call *c, int fd, uint32_t cmd)
{
	memset(&c->a, 0, sizeof(c->a));
	c->op = OP_IOCTL;
	c->fd = fd;
	c->cmd = cmd;
	c->rc = 0;
	dxt_poison(c->result, sizeof(c->result));
	dxt_poison(c->work, sizeof(c->work));
	dxt_poison(c->state, sizeof(c->state));
	dxt_poison(c->out, sizeof(c->out));
	/* what only some answers set */
	if (cmd == DXK_IOC_POST)
		c->a.post.index = c->a.post.reason = DXT_POISON32;
	else if (cmd == DXK_IOC_REJOIN)
		c->a.rejoin.answer = DXT_POISON32;
	else if (cmd == DXK_IOC_NEXT)
		c->a.next.nr_taken = DXT_POISON32;
	else if (cmd == DXK_IOC_CTX_STOP)
		c->a.ctx_stop.nr_running = DXT_POISON32;
}

static void gen_create(struct gen *g, struct proc *p)
{
	static const uint32_t mode[] = { 0777, 0755, 0700, 0770, 0711, 0, 01000 };
	struct dxk_ctx_create *a = &p->call->a.ctx_create;

	blank(p->call, CTL_FD, DXK_IOC_CTX_CREATE);
	a->size = sizeof(*a);
	a->mode = g->waits ? 0777 : mode[gen_below(g, gen_below(g, 4) ? 2 : ARRAY_SIZE(mode))];
	strcpy(a->name, some_name(g));
	a->reserved = seldom(g);
	a->uid = seldom(g);
}

static void gen_join(struct gen *g, struct proc *p)
{
	static const uint32_t access[] = { 7, 3, 2, 15, 1, 4 };
	struct dxk_ctx_join *a = &p->call->a.ctx_join;
	const struct ctx *c = &g->r.m.ctx[gen_below(g, CTXS)];

	blank(p->call, CTL_FD, DXK_IOC_CTX_JOIN);
	a->size = sizeof(*a);
	a->access = seldom(g) ? 16 * gen_below(g, 2) :
				access[g->waits ? 0 : gen_below(g, gen_below(g, 4) ? 2 : 6)];
	a->abi = DXK_ABI_VERSION + seldom(g);
	a->flags = gen_below(g, 2) ? DXK_JOIN_SHARED : 0;
	if (!c->used)
		c = &g->r.m.ctx[0];
	if (gen_below(g, 3) || !c->known || !c->used) {
		strcpy(a->name, c->used && gen_below(g, 8) ? c->name : some_name(g));
	} else {
		a->flags |= DXK_JOIN_BY_ID;
		a->id = c->id + seldom(g);
	}
}

static void random_policy(struct gen *g, struct dxk_policy *p)
{
	bool lanes = gen_below(g, 2);

	p->sched_mode = lanes ? TPOOL_MODE_CMLS : 0;
	p->prio_policy = gen_below(g, 4);
	p->kernel_threads = g->r.m.nop && !lanes ? gen_below(g, 2) : 0;
	p->max_threads = p->kernel_threads + 1 + gen_below(g, 4) + (lanes ? 2 : 0);
	p->lane_pct[0] = 0;
	p->lane_pct[1] = 20 + gen_below(g, 3) * 5;
	p->lane_pct[2] = gen_below(g, 4) ? 20 + gen_below(g, 3) * 5 : 0;
	p->ready_entries = 2 + gen_below(g, 6);
	p->rejoin_entries = 1 + gen_below(g, 8);
	p->max_requests = p->ready_entries + gen_below(g, 16) + (g->waits ? 24 : 0);
	/* the model knows no users: what they may have is share.c's */
	p->user_share = 100;
	p->data_size = 16;
	p->dispatch = dxt_mode();
	p->rejoin_full = gen_below(g, p->kernel_threads ? 2 : 3);
	if (p->kernel_threads && p->rejoin_full)
		p->rejoin_full = DXK_REJOIN_RESERVE;
	p->shutdown = DXK_STOP_DRAIN + gen_below(g, 2);
	p->redo_max = 1 + gen_below(g, 3);
	p->max_waiting = g->waits || gen_below(g, 2) ? 1 + gen_below(g, 6) : 0;
	/* nothing moves by itself */
	p->sched_interval_ms = 3600000;
	p->dispatch_interval_ms = 3600000;
}

/* Of a field that is wrong, or not to be changed now. */
static void spoil(struct gen *g, struct dxk_policy *p)
{
	switch (gen_below(g, 8)) {
	case 0: p->sched_mode = 2; break;
	case 1: p->lane_pct[1] = 101; break;
	case 2: p->lane_pct[1] = p->lane_pct[2] = 60; break;
	case 3: p->log_entries = 1000; break;
	case 4: p->rejoin_full = 3; break;
	case 5: p->shutdown = 0; break;
	case 6: p->ready_entries = p->max_requests + 1; break;
	case 7: p->redo_max = 0; break;
	}
}

static void gen_policy(struct gen *g, struct proc *p, const struct desc *d)
{
	struct dxk_policy *a = &p->call->a.policy;
	const struct ctx *c = d->session->ctx;

	blank(p->call, d->fd, DXK_IOC_POLICY_SET);
	*a = c->changed ? c->next_policy : c->policy;
	a->size = sizeof(*a);
	if (c->state == NEW) {
		random_policy(g, a);
	} else {
		a->redo_max = 1 + gen_below(g, 3);
		a->shutdown = DXK_STOP_DRAIN + gen_below(g, 2);
		a->lane_pct[1] = 20 + gen_below(g, 3) * 5;
		if (seldom(g))
			a->rejoin_entries++;
	}
	if (!gen_below(g, 8))
		spoil(g, a);
	a->bad_field = DXT_POISON32;
}

static uint32_t some_attrs(struct gen *g, bool wait)
{
	static const uint32_t lane[] = {
		0, PXR_LANE_CHILD, PXR_LANE1, PXR_LANE2, 0, 0, PXR_LANE1, PXR_LANE0,
	};
	uint32_t attrs = lane[gen_below(g, 8)], r = gen_below(g, 256);

	attrs |= wait ? PXR_WAITIF_BUSY : 0;
	attrs |= r & 3 ? PXR_REJOIN : 0;
	attrs |= r & 0xc ? 0 : PXR_BOOST;
	attrs |= r & 0x10 ? PXR_REDO : 0;
	attrs |= r & 0xe0 ? 0 : PXR_FD;
	if (seldom(g))
		attrs |= r & 1 ? PXR_LANE0 : r & 2 ? PXR_NAMED : 0x20000;
	/* what the kernel worker does meanwhile must make no difference to the caller */
	if (!wait && !gen_below(g, 5))
		attrs |= PXR_KERNEL;
	return attrs;
}

/* --- waits ---------------------------------------------------------------- */

static uint64_t some_time(struct gen *g)
{
	uint32_t r = gen_below(g, 16);

	return r < 5 ? PAST : r < 7 ? SOON : r < 8 ? 0 : r < 14 ? LATE : DXK_FOREVER;
}

/* What a request waits for; now and then it contradicts itself. */
static struct dxk_wait some_wait(struct gen *g, bool posted)
{
	static const uint32_t sources[] = {
		DXK_WAIT_TIME, DXK_WAIT_CALL, DXK_WAIT_CALL | DXK_WAIT_TIME, DXK_WAIT_RESULT,
		DXK_WAIT_JOIN, DXK_WAIT_JOIN | DXK_WAIT_CALL, DXK_WAIT_JOIN | DXK_WAIT_TIME,
		DXK_WAIT_RESULT | DXK_WAIT_CALL | DXK_WAIT_TIME, DXK_WAIT_AGAIN,
	};
	struct dxk_wait w = {
		.wait = sources[gen_below(g, ARRAY_SIZE(sources) - (posted && !seldom(g)))],
		.state = ++g->param,
	};

	if (w.wait & DXK_WAIT_TIME)
		w.deadline = some_time(g);
	if (w.wait & DXK_WAIT_TIME && !gen_below(g, 6))
		w.wait |= DXK_WAIT_MASKED;
	if (w.wait & (DXK_WAIT_RESULT | DXK_WAIT_JOIN))
		w.owner = gen_below(g, OWNERS);
	if (w.wait & DXK_WAIT_JOIN && gen_below(g, 2))
		w.wait |= DXK_WAIT_EAGER;
	if (!gen_below(g, 4)) {
		w.wait |= DXK_WAIT_PRIO;
		w.prio = (int)gen_below(g, 5) - 2;
	}
	if (seldom(g))
		switch (gen_below(g, 7)) {
		case 0: w.wait ^= DXK_WAIT_TIME; break;
		case 1: w.wait ^= DXK_WAIT_JOIN; break;
		case 2: w.wait ^= DXK_WAIT_MASKED; break;
		case 3: w.wait |= 0x4000; break;
		case 4: w.fd = 1; break;
		case 5: w.prio = 7; break;
		case 6: w.wait ^= DXK_WAIT_EAGER; break;
		}
	return w;
}

/*
 * What comes with a time may end by itself, or after the call: a kernel worker would race
 * with that, and so would who is let in by a later call.
 */
static uint64_t some_end(struct gen *g, uint32_t attrs, unsigned int nr)
{
	uint32_t r = gen_below(g, 4);

	if (attrs & (PXR_KERNEL | PXR_WAITIF_BUSY))
		return r ? LATE : DXK_FOREVER;
	return r < 2 ? LATE : r < 3 || nr > 1 ? SOON : PAST;
}

/* What a longer element says beside the usual. */
static void gen_more(struct gen *g, struct dxk_post_more *e, unsigned int nr,
		     const struct ctx *c)
{
	uint32_t r = gen_below(g, 64), *attrs = &e->post.attrs;

	*attrs |= r & 1 ? PXR_NAMED : 0;
	*attrs |= r & 6 ? 0 : PXR_EXPIRE;
	*attrs |= r & 8 ? PXR_WAIT : 0;
	*attrs |= seldom(g) ? PXR_QUIET : 0;
	/* see model_may_fail() */
	*attrs |= r & 0x30 || (c && c->policy.kernel_threads) ? 0 : PXR_FAIL_FAST;
	if (*attrs & PXR_NAMED || seldom(g))
		e->name = 1 + gen_below(g, NAMES);
	if (*attrs & PXR_EXPIRE || seldom(g))
		e->expire = some_end(g, *attrs, nr);
	if (*attrs & PXR_WAIT || seldom(g))
		e->wait = some_wait(g, true);
}

static void gen_post(struct gen *g, struct proc *p, const struct desc *d)
{
	const struct ctx *c = d->member ? d->member->ctx : NULL;
	struct dxk_post *a = &p->call->a.post;
	bool wait = gen_below(g, 2), more = gen_below(g, 20) < (c && c->waits ? 14 : 1);
	unsigned int i, k;

	blank(p->call, d->fd, DXK_IOC_POST);
	a->size = sizeof(*a);
	/* nobody is called to help under this policy */
	a->flags = seldom(g) ? 2 : gen_below(g, 2) * DXK_CALL_HELP;
	a->deadline = some_deadline(g);
	a->entries = DXT_PTR(p->call->entry);
	a->nr = seldom(g) ? gen_below(g, 2) * 65 : 1 + gen_below(g, gen_below(g, 3) ? 3 : SLOTS);
	a->entry_size = more ? sizeof(struct dxk_post_more) : sizeof(struct dxk_post_entry);
	memset(p->call->entry, 0, sizeof(p->call->entry));
	for (i = 0; i < SLOTS; i++) {
		struct dxk_post_more *long_e = call_entry(p->call, i);
		struct dxk_post_entry *e = &long_e->post;

		e->attrs = some_attrs(g, wait);
		if (e->attrs & PXR_KERNEL && c && !c->policy.kernel_threads && gen_below(g, 8))
			e->attrs &= ~PXR_KERNEL;
		e->owner = gen_below(g, OWNERS);
		e->executor = !(e->attrs & PXR_KERNEL) ? 77 : seldom(g) ? NO_EXECUTOR : g->r.m.nop;
		e->param = ++g->param;
		e->data = DXT_PTR(p->call->in[i]);
		e->data_len = seldom(g) ? 17 : gen_below(g, 17);
		e->result_len = gen_below(g, 17);
		e->prio = (int)gen_below(g, 5) - 2;
		e->fd = e->attrs & PXR_FD ? seldom(g) ? 999 : seldom(g) ? CTL_FD : FILE_FD : 0;
		e->reserved = !gen_below(g, 300);
		for (k = 0; k < DATA; k++)
			p->call->in[i][k] = (unsigned char)(e->param * 7 + k);
		if (more && gen_below(g, 4))
			gen_more(g, long_e, a->nr, c);
	}
	if (seldom(g))
		a->entry_size = sizeof(struct dxk_post_entry) - 8;
}

static void gen_rejoin(struct gen *g, struct proc *p, const struct desc *d)
{
	static const uint32_t stride[] = { DATA, DATA, DATA, 4 };
	struct dxk_rejoin *a = &p->call->a.rejoin;

	blank(p->call, d->fd, DXK_IOC_REJOIN);
	a->size = sizeof(*a);
	/* without keys there is nothing to nest */
	a->flags = seldom(g) ? 8 : gen_below(g, 4) & (DXK_CALL_HELP | DXK_CALL_NEST);
	a->owner = gen_below(g, OWNERS);
	a->deadline = some_deadline(g);
	a->results = DXT_PTR(p->call->result);
	a->nr = 1 + gen_below(g, g->waits ? SLOTS : 4);
	a->min = gen_below(g, a->nr + 1) + seldom(g) * 4;
	a->result_size = sizeof(p->call->result[0]);
	if (gen_below(g, 3)) {
		a->data = DXT_PTR(p->call->out);
		a->data_stride = stride[gen_below(g, 4)];
	}
	a->reserved = seldom(g);
}

/*
 * Would completions race with a collector? One whom they wake makes room, for the next ones
 * and for posters, and may do so before a short sleep of the worker is over, or after.
 */
static bool done_races(const struct gen *g, const struct member *m)
{
	int i;

	for (i = 0; i < MEMBERS; i++)
		if (g->r.m.member[i].used && g->r.m.member[i].ctx == m->ctx &&
		    g->r.m.member[i].sleep == S_REJOIN)
			return true;
	return false;
}

/* Does the completion take others along? */
static bool gen_fails(const struct member *m, const struct dxk_done *e)
{
	int i;

	for (i = 0; i < m->nr_busy; i++)
		if (m->busy[i]->ticket == e->ticket && m->busy[i]->attrs & PXR_FAIL_FAST)
			return e->status < 0;
	return false;
}

static void gen_done(struct gen *g, struct call *call, unsigned int i, const struct member *m)
{
	struct dxk_done_more *more = call_done(call, i);
	struct dxk_done *e = &more->done;
	const struct req *q = NULL;
	unsigned int k;

	e->ticket = 1 + gen_below(g, 40);
	e->status = (int)gen_below(g, 2000) - 1000;
	if (m && m->nr_busy && gen_below(g, 12)) {
		q = m->busy[gen_below(g, (uint32_t)m->nr_busy)];
		e->ticket = q->ticket;
		e->data_len = gen_below(g, 20) ? gen_below(g, q->result_room + 1) :
						 q->result_room + 1;
	}
	e->data = DXT_PTR(call->in[i]);
	for (k = 0; k < DATA; k++)
		call->in[i][k] = (unsigned char)(e->ticket * 11 + k);
	if (call->a.next.done_size == sizeof(*more) && gen_below(g, 3)) {
		more->wait = some_wait(g, false);
		e->status = seldom(g) ? 1 : 0;
	}
	if (!m || !gen_fails(m, e))
		return;
	if (call->a.next.work == 8 || !model_may_fail(&g->r.m, m->ctx))
		e->status = 0;
	else	/* if there is nothing to fetch the call falls idle, and that is its end */
		call->a.next.deadline = DXK_FOREVER;
}

static void gen_next(struct gen *g, struct proc *p, const struct desc *d)
{
	struct dxk_next *a = &p->call->a.next;
	const struct member *m = d->member;
	bool waits = m && m->ctx->waits;
	unsigned int i;

	blank(p->call, d->fd, DXK_IOC_NEXT);
	a->size = sizeof(*a);
	a->deadline = some_deadline(g);
	a->done = DXT_PTR(p->call->done);
	a->nr_done = m && m->nr_busy ? gen_below(g, 4) : 0;
	if (g->waits && m && m->nr_busy && !a->nr_done && gen_below(g, 2))
		a->nr_done = 1;
	if (a->nr_done && done_races(g, m))
		a->deadline = DXK_FOREVER;
	a->done_size = gen_below(g, 20) < (waits ? 16 : 1) ? sizeof(struct dxk_done_more) :
							      sizeof(struct dxk_done);
	a->work = seldom(g) ? 8 : DXT_PTR(p->call->work);
	a->nr_work = gen_below(g, m && m->nr_busy > 3 ? 1 : 4);
	if (!a->nr_done && !a->nr_work && !seldom(g))
		a->nr_work = 1;
	a->work_size = gen_below(g, waits ? 4 : 2) ? sizeof(struct dxk_work_more) :
						     sizeof(struct dxk_work);
	if (gen_below(g, 3)) {
		a->data = DXT_PTR(p->call->out);
		a->data_stride = seldom(g) ? 8 : DATA;
	}
	memset(p->call->done, 0, sizeof(p->call->done));
	for (i = 0; i < SLOTS; i++)
		gen_done(g, p->call, i, m);
}

/* --- names ---------------------------------------------------------------- */

/* Mostly of a request that there is. */
static uint64_t some_request(struct gen *g, const struct member *m)
{
	const struct ctx *c = m ? m->ctx : NULL;
	const struct req *r = c && c->nr_live ?
			      c->live[gen_below(g, (uint32_t)c->nr_live)] : NULL;

	return r && r->named && r->space == m->space ? r->name : 1 + gen_below(g, NAMES);
}

static void gen_names(struct gen *g, struct proc *p, const struct desc *d, uint32_t cmd)
{
	struct dxk_names *a = &p->call->a.names;
	unsigned int i;

	blank(p->call, d->fd, cmd);
	a->size = sizeof(*a);
	a->nr = seldom(g) ? gen_below(g, 2) * 65 : 1 + gen_below(g, 3);
	a->flags = seldom(g);
	a->reserved = seldom(g);
	a->names = DXT_PTR(p->call->name);
	if (cmd == DXK_IOC_CANCEL ? gen_below(g, 2) : seldom(g))
		a->states = DXT_PTR(p->call->state);
	for (i = 0; i < SLOTS; i++)
		p->call->name[i] = some_request(g, d->member);
}

static void gen_cancel_owner(struct gen *g, struct proc *p, const struct desc *d)
{
	struct dxk_cancel_owner *a = &p->call->a.cancel_owner;

	blank(p->call, d->fd, DXK_IOC_CANCEL_OWNER);
	a->size = sizeof(*a);
	a->flags = seldom(g);
	a->owner = gen_below(g, OWNERS);
}

static void gen_stop(struct gen *g, struct proc *p, const struct desc *d)
{
	struct dxk_ctx_stop *a = &p->call->a.ctx_stop;

	blank(p->call, d->fd, DXK_IOC_CTX_STOP);
	a->size = sizeof(*a);
	a->mode = seldom(g) ? 3 : gen_below(g, 3);
	a->reserved = seldom(g);
}

static void gen_command(struct gen *g, struct proc *p, const struct desc *d)
{
	static const char *const text[] = {
		"set redo_max 2", "set redo_max 3", "set redo_max 0", "set ready_entries 5",
		"show pools", "show owners", "bogus", "quit now",
	};
	struct dxk_command_send *a = &p->call->a.command_send;

	blank(p->call, d->fd, DXK_IOC_COMMAND_SEND);
	a->size = sizeof(*a);
	strcpy(p->call->text, text[gen_below(g, ARRAY_SIZE(text))]);
	a->text = DXT_PTR(p->call->text);
	a->text_len = seldom(g) ? 0 : (uint32_t)strlen(p->call->text);
	a->deadline = DXK_FOREVER;
	a->reply = DXT_PTR(p->call->reply);
	a->reply_room = sizeof(p->call->reply);
}

static void gen_log(struct gen *g, struct proc *p, const struct desc *d)
{
	struct dxk_log_write *a = &p->call->a.log_write;

	blank(p->call, d->fd, DXK_IOC_LOG_WRITE);
	a->size = sizeof(*a);
	sprintf(p->call->text, "g%u", ++g->line);
	a->text = DXT_PTR(p->call->text);
	a->len = (uint32_t)strlen(p->call->text);
	a->flags = seldom(g) ? 2 : gen_below(g, 2);
	a->reserved = seldom(g);
}

/* Calls with little in them. */
static void gen_small(struct gen *g, struct proc *p, int fd, uint32_t cmd, uint32_t size)
{
	blank(p->call, fd, cmd);
	p->call->a.size = seldom(g) ? 4 : size;
	if (cmd == DXK_IOC_MEMBER_CREATE)
		p->call->a.member_create.kind =
			seldom(g) ? 2 + gen_below(g, 2) : gen_below(g, 3) > 0;
	else if (seldom(g))
		p->call->a.ctx_start.flags = 1;	/* the second field of each */
	if (cmd == DXK_IOC_LOG_READ) {
		p->call->a.log_read.records = DXT_PTR(p->call->record);
		p->call->a.log_read.nr = SLOTS;
		p->call->a.log_read.record_size = sizeof(p->call->record[0]);
	}
}

/* A context with the policy that the module gave it would age its requests. */
static bool is_unset(const struct gen *g, const struct desc *d)
{
	return d->session && d->session->ctx->state == NEW &&
	       d->session->ctx->policy.ready_entries == g->r.m.initial.ready_entries;
}

void gen_call(struct gen *g, struct proc *p, const char *name, struct desc *d)
{
	static const uint32_t wrong[] = {
		DXK_IOC_POST, DXK_IOC_NEXT, DXK_IOC_CTX_START, DXK_IOC_MEMBER_CREATE,
		DXK_IOC_CTX_CREATE, DXK_IOC_REJOIN,
	};

	if (!strcmp(name, "create"))
		gen_create(g, p);
	else if (!strcmp(name, "join"))
		gen_join(g, p);
	else if (!strcmp(name, "start") && is_unset(g, d))
		gen_policy(g, p, d);
	else if (!strcmp(name, "start"))
		gen_small(g, p, d->fd, DXK_IOC_CTX_START, sizeof(struct dxk_ctx_start));
	else if (!strcmp(name, "policy"))
		gen_policy(g, p, d);
	else if (!strcmp(name, "stop"))
		gen_stop(g, p, d);
	else if (!strcmp(name, "member"))
		gen_small(g, p, d->fd, DXK_IOC_MEMBER_CREATE,
			  sizeof(struct dxk_member_create));
	else if (!strcmp(name, "post"))
		gen_post(g, p, d);
	else if (!strcmp(name, "rejoin"))
		gen_rejoin(g, p, d);
	else if (!strcmp(name, "next"))
		gen_next(g, p, d);
	else if (!strcmp(name, "wake"))
		gen_names(g, p, d, DXK_IOC_WAKE);
	else if (!strcmp(name, "cancel"))
		gen_names(g, p, d, DXK_IOC_CANCEL);
	else if (!strcmp(name, "cancel_owner"))
		gen_cancel_owner(g, p, d);
	else if (!strcmp(name, "should_stop"))
		gen_small(g, p, d->fd, DXK_IOC_SHOULD_STOP, sizeof(struct dxk_should_stop));
	else if (!strcmp(name, "log"))
		gen_log(g, p, d);
	else if (!strcmp(name, "log_read"))
		gen_small(g, p, d->fd, DXK_IOC_LOG_READ, sizeof(struct dxk_log_read));
	else if (!strcmp(name, "command"))
		gen_command(g, p, d);
	else
		blank(p->call, d->fd, wrong[gen_below(g, ARRAY_SIZE(wrong))]);
	p->call->op = !strcmp(name, "close") ? OP_CLOSE : !strcmp(name, "dup") ? OP_DUP :
		      !strcmp(name, "poll") ? OP_POLL : OP_IOCTL;
}

/* A context that is there but not made ready yet comes first. */
bool gen_make_ready(struct gen *g, struct proc *p)
{
	int i;

	for (i = 0; i < DESCS; i++) {
		struct desc *d = &p->desc[i];

		if (!d->fd || !d->session || !d->session->creator ||
		    d->session->ctx->state != NEW)
			continue;
		if (is_unset(g, d))
			gen_policy(g, p, d);
		else if (gen_below(g, 2))
			gen_small(g, p, d->fd, DXK_IOC_CTX_START,
				  sizeof(struct dxk_ctx_start));
		else
			return false;
		return true;
	}
	return false;
}
