// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls at random, right and wrong ones, by processes that share contexts, die and are
 * replaced, each of them compared with a picture of the module (model.h): the value
 * returned, all that is stored, who falls asleep, who wakes, and after some steps what
 * sysfs shows (DX-7, DX-25, DX-37..DX-55, DX-57, DX-67..DX-73, DX-77..DX-96,
 * DX-107..DX-113, D-26, R-19).
 *
 * One process makes a call, and when all has come to rest the next one does. So there is
 * one right answer to each, and a run can be repeated: DXK_SEED and DXK_STEPS, which a
 * failure prints. DXK_SECONDS is how long to go on.
 */
#include "engine_test.h"
#include "generator.h"

#include <sched.h>
#include <stdarg.h>

#define STEPS	400	/* of one run, which begins with nothing */

struct gen {
	struct run r;
	uint64_t seed;
	uint32_t param;
	unsigned int line;
};

static uint32_t r_(struct gen *g, uint32_t n)
{
	return rnd(&g->seed) % n;
}

static bool seldom(struct gen *g)
{
	return !r_(g, 40);
}

/* --- choosing ---------------------------------------------------------------------------- */

/* A descriptor of the process: of a context, of a member; any if @which is 0. */
static struct desc *some_desc(struct gen *g, struct proc *p, char which)
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
	return nr ? found[r_(g, nr)] : NULL;
}

static unsigned int descs(const struct proc *p)
{
	unsigned int nr = 0, i;

	for (i = 0; i < DESCS; i++)
		nr += p->desc[i].fd != 0;
	return nr;
}

static bool asleep(const struct proc *p)
{
	return !p->done;
}

/* May one more process sleep? Somebody has to be left who can wake it. */
static uint64_t some_deadline(struct gen *g)
{
	unsigned int i, awake = 0;

	for (i = 0; i < PROCS; i++)
		awake += !asleep(&g->r.m.proc[i]);
	return awake > 1 && r_(g, 3) ? DXK_FOREVER : r_(g, 2);
}

static int used_ctxs(const struct gen *g)
{
	int i, nr = 0;

	for (i = 0; i < CTXS; i++)
		nr += g->r.m.ctx[i].used;
	return nr;
}

static const char *some_name(struct gen *g)
{
	static const char *const name[] = { "gen-a", "gen-b", "gen-c", "gen-a", "" };

	return seldom(g) ? "a/b" : name[r_(g, ARRAY_SIZE(name))];
}

/* --- calls --------------------------------------------------------------------------------- */

static void blank(struct call *c, int fd, uint32_t cmd)
{
	memset(&c->a, 0, sizeof(c->a));
	c->op = OP_IOCTL;
	c->fd = fd;
	c->cmd = cmd;
	c->rc = 0;
	dxt_poison(c->result, sizeof(c->result));
	dxt_poison(c->work, sizeof(c->work));
	dxt_poison(c->out, sizeof(c->out));
	/* what only some answers set */
	if (cmd == DXK_IOC_POST)
		c->a.post.index = c->a.post.reason = DXT_POISON32;
	else if (cmd == DXK_IOC_REJOIN)
		c->a.rejoin.answer = DXT_POISON32;
	else if (cmd == DXK_IOC_NEXT)
		c->a.next.nr_taken = DXT_POISON32;
	else if (cmd == DXK_IOC_CTX_STOP)
		c->a.stop.nr_running = DXT_POISON32;
}

static void gen_create(struct gen *g, struct proc *p)
{
	static const uint32_t mode[] = { 0777, 0755, 0700, 0770, 0711, 0, 01000 };
	struct dxk_ctx_create *a = &p->call->a.create;

	blank(p->call, CTL_FD, DXK_IOC_CTX_CREATE);
	a->size = sizeof(*a);
	a->mode = mode[r_(g, r_(g, 4) ? 2 : ARRAY_SIZE(mode))];
	strcpy(a->name, some_name(g));
	a->reserved = seldom(g);
	a->uid = seldom(g);
}

static void gen_join(struct gen *g, struct proc *p)
{
	static const uint32_t access[] = { 7, 3, 2, 15, 1, 4 };
	struct dxk_ctx_join *a = &p->call->a.join;
	const struct ctx *c = &g->r.m.ctx[r_(g, CTXS)];

	blank(p->call, CTL_FD, DXK_IOC_CTX_JOIN);
	a->size = sizeof(*a);
	a->access = seldom(g) ? 16 * r_(g, 2) : access[r_(g, r_(g, 4) ? 2 : 6)];
	a->abi = DXK_ABI_VERSION + seldom(g);
	a->flags = r_(g, 2) ? DXK_JOIN_SHARED : 0;
	if (!c->used)
		c = &g->r.m.ctx[0];
	if (r_(g, 3) || !c->known || !c->used) {
		strcpy(a->name, c->used && r_(g, 8) ? c->name : some_name(g));
	} else {
		a->flags |= DXK_JOIN_BY_ID;
		a->id = c->id + seldom(g);
	}
}

static void random_policy(struct gen *g, struct dxk_policy *p)
{
	bool lanes = r_(g, 2);

	p->sched_mode = lanes ? TPOOL_MODE_CMLS : 0;
	p->prio_policy = r_(g, 4);
	p->kernel_threads = g->r.m.nop && !lanes ? r_(g, 2) : 0;
	p->max_threads = p->kernel_threads + 1 + r_(g, 4) + (lanes ? 2 : 0);
	p->lane_pct[0] = 0;
	p->lane_pct[1] = 20 + r_(g, 3) * 5;
	p->lane_pct[2] = r_(g, 4) ? 20 + r_(g, 3) * 5 : 0;
	p->ready_entries = 2 + r_(g, 6);
	p->rejoin_entries = 1 + r_(g, 8);
	p->max_requests = p->ready_entries + r_(g, 16);
	p->data_size = 16;
	p->dispatch = dxt_mode();
	p->rejoin_full = r_(g, p->kernel_threads ? 2 : 3);
	if (p->kernel_threads && p->rejoin_full)
		p->rejoin_full = DXK_REJOIN_RESERVE;
	p->shutdown = DXK_STOP_DRAIN + r_(g, 2);
	p->redo_max = 1 + r_(g, 3);
	/* nothing moves by itself */
	p->sched_interval_ms = 3600000;
	p->dispatch_interval_ms = 3600000;
}

/* Of a field that is wrong, or not to be changed now. */
static void spoil(struct gen *g, struct dxk_policy *p)
{
	switch (r_(g, 8)) {
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
		a->redo_max = 1 + r_(g, 3);
		a->shutdown = DXK_STOP_DRAIN + r_(g, 2);
		a->lane_pct[1] = 20 + r_(g, 3) * 5;
		if (seldom(g))
			a->rejoin_entries++;
	}
	if (!r_(g, 8))
		spoil(g, a);
	a->bad_field = DXT_POISON32;
}

static uint32_t some_attrs(struct gen *g, bool wait)
{
	static const uint32_t lane[] = { 0, 0, PXR_LANE1, PXR_LANE2 };
	uint32_t attrs = lane[r_(g, 4)], r = r_(g, 256);

	attrs |= wait ? PXR_WAITIF_BUSY : 0;
	attrs |= r & 3 ? PXR_REJOIN : 0;
	attrs |= r & 0xc ? 0 : PXR_BOOST;
	attrs |= r & 0x10 ? PXR_REDO : 0;
	attrs |= r & 0xe0 ? 0 : PXR_FD;
	if (seldom(g))
		attrs |= r & 1 ? PXR_LANE0 : 0x400;
	/* what the kernel worker does meanwhile must make no difference to the caller */
	if (!wait && !r_(g, 5))
		attrs |= PXR_KERNEL;
	return attrs;
}

static void gen_post(struct gen *g, struct proc *p, const struct desc *d)
{
	struct dxk_post *a = &p->call->a.post;
	bool wait = r_(g, 2);
	unsigned int i, k;

	blank(p->call, d->fd, DXK_IOC_POST);
	a->size = sizeof(*a);
	/* nobody is called to help under this policy */
	a->flags = seldom(g) ? 2 : r_(g, 2) * DXK_CALL_HELP;
	a->deadline = some_deadline(g);
	a->entries = DXT_PTR(p->call->entry);
	a->nr = seldom(g) ? r_(g, 2) * 65 : 1 + r_(g, r_(g, 3) ? 3 : SLOTS);
	a->entry_size = sizeof(p->call->entry[0]) - 8 * seldom(g);
	for (i = 0; i < SLOTS; i++) {
		struct dxk_post_entry *e = &p->call->entry[i];

		memset(e, 0, sizeof(*e));
		e->attrs = some_attrs(g, wait);
		if (e->attrs & PXR_KERNEL && d->member &&
		    !d->member->ctx->policy.kernel_threads && r_(g, 8))
			e->attrs &= ~PXR_KERNEL;
		e->owner = r_(g, 3);
		e->executor = e->attrs & PXR_KERNEL && !seldom(g) ? g->r.m.nop : 77;
		e->param = ++g->param;
		e->data = DXT_PTR(p->call->in[i]);
		e->data_len = seldom(g) ? 17 : r_(g, 17);
		e->result_len = r_(g, 17);
		e->prio = (int)r_(g, 5) - 2;
		e->fd = e->attrs & PXR_FD ? seldom(g) ? 999 : seldom(g) ? CTL_FD : FILE_FD : 0;
		e->reserved = !r_(g, 300);
		for (k = 0; k < DATA; k++)
			p->call->in[i][k] = (unsigned char)(e->param * 7 + k);
	}
}

static void gen_rejoin(struct gen *g, struct proc *p, const struct desc *d)
{
	static const uint32_t stride[] = { DATA, DATA, DATA, 4 };
	struct dxk_rejoin *a = &p->call->a.rejoin;

	blank(p->call, d->fd, DXK_IOC_REJOIN);
	a->size = sizeof(*a);
	a->flags = seldom(g) ? 2 : r_(g, 2) * DXK_CALL_HELP;
	a->owner = r_(g, 3);
	a->deadline = some_deadline(g);
	a->results = DXT_PTR(p->call->result);
	a->nr = 1 + r_(g, 4);
	a->min = r_(g, a->nr + 1) + seldom(g) * 4;
	a->result_size = sizeof(p->call->result[0]);
	if (r_(g, 3)) {
		a->data = DXT_PTR(p->call->out);
		a->data_stride = stride[r_(g, 4)];
	}
	a->reserved = seldom(g);
}

static void gen_next(struct gen *g, struct proc *p, const struct desc *d)
{
	struct dxk_next *a = &p->call->a.next;
	const struct member *m = d->member;
	unsigned int i, k;

	blank(p->call, d->fd, DXK_IOC_NEXT);
	a->size = sizeof(*a);
	a->deadline = some_deadline(g);
	a->done = DXT_PTR(p->call->done);
	a->nr_done = m && m->nr_busy ? r_(g, 4) : 0;
	a->done_size = sizeof(p->call->done[0]);
	a->work = seldom(g) ? 8 : DXT_PTR(p->call->work);
	a->nr_work = r_(g, m && m->nr_busy > 3 ? 1 : 4);
	a->work_size = sizeof(p->call->work[0]);
	if (r_(g, 3)) {
		a->data = DXT_PTR(p->call->out);
		a->data_stride = seldom(g) ? 8 : DATA;
	}
	for (i = 0; i < SLOTS; i++) {
		struct dxk_done *e = &p->call->done[i];

		memset(e, 0, sizeof(*e));
		e->ticket = 1 + r_(g, 40);
		if (m && m->nr_busy && r_(g, 12)) {
			const struct req *q = m->busy[r_(g, (uint32_t)m->nr_busy)];

			e->ticket = q->ticket;
			e->data_len = r_(g, 20) ? r_(g, q->result_room + 1) :
						  q->result_room + 1;
		}
		e->data = DXT_PTR(p->call->in[i]);
		e->status = (int)r_(g, 2000) - 1000;
		for (k = 0; k < DATA; k++)
			p->call->in[i][k] = (unsigned char)(e->ticket * 11 + k);
	}
}

static void gen_stop(struct gen *g, struct proc *p, const struct desc *d)
{
	struct dxk_ctx_stop *a = &p->call->a.stop;

	blank(p->call, d->fd, DXK_IOC_CTX_STOP);
	a->size = sizeof(*a);
	a->mode = seldom(g) ? 3 : r_(g, 3);
	a->reserved = seldom(g);
}

static void gen_command(struct gen *g, struct proc *p, const struct desc *d)
{
	static const char *const text[] = {
		"set redo_max 2", "set redo_max 3", "set redo_max 0", "set ready_entries 5",
		"show pools", "show owners", "bogus", "quit now",
	};
	struct dxk_command_send *a = &p->call->a.command;

	blank(p->call, d->fd, DXK_IOC_COMMAND_SEND);
	a->size = sizeof(*a);
	strcpy(p->call->text, text[r_(g, ARRAY_SIZE(text))]);
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
	a->flags = seldom(g) ? 2 : r_(g, 2);
	a->reserved = seldom(g);
}

/* Calls with little in them. */
static void gen_small(struct gen *g, struct proc *p, int fd, uint32_t cmd, uint32_t size)
{
	blank(p->call, fd, cmd);
	p->call->a.size = seldom(g) ? 4 : size;
	if (cmd == DXK_IOC_MEMBER_CREATE)
		p->call->a.member.kind = seldom(g) ? 2 + r_(g, 2) : r_(g, 3) > 0;
	else if (seldom(g))
		p->call->a.start.flags = 1;	/* the second field of each */
	if (cmd == DXK_IOC_LOG_READ) {
		p->call->a.log_read.records = DXT_PTR(p->call->record);
		p->call->a.log_read.nr = SLOTS;
		p->call->a.log_read.record_size = sizeof(p->call->record[0]);
	}
}

/* --- a step --------------------------------------------------------------------------------- */

static void note(struct gen *g, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void note(struct gen *g, const char *fmt, ...)
{
	char *to = g->r.last[g->r.steps % ARRAY_SIZE(g->r.last)];
	va_list ap;
	int n = snprintf(to, sizeof(g->r.last[0]), "step %u: ", g->r.steps);

	va_start(ap, fmt);
	vsnprintf(to + n, sizeof(g->r.last[0]) - (size_t)n, fmt, ap);
	va_end(ap);
}

static void note_call(struct gen *g, const struct proc *p, const char *name)
{
	const struct call *c = p->call;
	char more[100] = "";

	if (c->cmd == DXK_IOC_POST)
		snprintf(more, sizeof(more), " %u from %u, attrs %#x.., owner %u, deadline %d",
			 c->a.post.nr, (unsigned int)c->entry[0].param, c->entry[0].attrs,
			 (unsigned int)c->entry[0].owner, (int)c->a.post.deadline);
	else if (c->cmd == DXK_IOC_REJOIN)
		snprintf(more, sizeof(more), " owner %u, nr %u, min %u, deadline %d",
			 (unsigned int)c->a.rejoin.owner, c->a.rejoin.nr, c->a.rejoin.min,
			 (int)c->a.rejoin.deadline);
	else if (c->cmd == DXK_IOC_NEXT)
		snprintf(more, sizeof(more), " done %u (ticket %u..), work %u, deadline %d",
			 c->a.next.nr_done, (unsigned int)c->done[0].ticket,
			 c->a.next.nr_work, (int)c->a.next.deadline);
	note(g, "process %d: %s%s on %d: %s %ld", p->nr, name, more, c->fd,
	     p->done ? "returns" : "sleeps; last", p->answer.rc);
}

static const struct { const char *name; char on; unsigned int weight; } ops[] = {
	{ "create", 0, 3 }, { "join", 0, 5 }, { "start", 'c', 3 }, { "policy", 'c', 3 },
	{ "stop", 'c', 1 }, { "member", 'c', 9 }, { "post", 'm', 26 }, { "rejoin", 'm', 20 },
	{ "next", 'w', 36 }, { "should_stop", 'm', 2 }, { "log", 'm', 3 },
	{ "log_read", 'c', 2 }, { "command", 'c', 2 }, { "close", '*', 4 },
	{ "dup", '*', 1 }, { "poll", 'm', 4 }, { "wrong", '*', 1 },
	{ "interrupt", 's', 4 }, { "kill", 's', 2 },
};

static unsigned int some_op(struct gen *g)
{
	unsigned int i, sum = 0, at;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		sum += ops[i].weight;
	at = r_(g, sum);
	for (i = 0; at >= ops[i].weight; i++)
		at -= ops[i].weight;
	return i;
}

/* A context that is there but not made ready yet comes first. */
static bool make_ready(struct gen *g, struct proc *p)
{
	int i;

	for (i = 0; i < DESCS; i++) {
		struct desc *d = &p->desc[i];

		if (!d->fd || !d->session || !d->session->creator ||
		    d->session->ctx->state != NEW)
			continue;
		if (d->session->ctx->policy.ready_entries == g->r.m.initial.ready_entries)
			gen_policy(g, p, d);
		else if (r_(g, 2))
			gen_small(g, p, d->fd, DXK_IOC_CTX_START,
				  sizeof(struct dxk_ctx_start));
		else
			return false;
		return true;
	}
	return false;
}

static void fill(struct gen *g, struct proc *p, const char *name, struct desc *d)
{
	static const uint32_t wrong[] = {
		DXK_IOC_POST, DXK_IOC_NEXT, DXK_IOC_CTX_START, DXK_IOC_MEMBER_CREATE,
		DXK_IOC_CTX_CREATE, DXK_IOC_REJOIN,
	};

	if (!strcmp(name, "create"))
		gen_create(g, p);
	else if (!strcmp(name, "join"))
		gen_join(g, p);
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
	else if (!strcmp(name, "should_stop"))
		gen_small(g, p, d->fd, DXK_IOC_SHOULD_STOP, sizeof(struct dxk_should_stop));
	else if (!strcmp(name, "log"))
		gen_log(g, p, d);
	else if (!strcmp(name, "log_read"))
		gen_small(g, p, d->fd, DXK_IOC_LOG_READ, sizeof(struct dxk_log_read));
	else if (!strcmp(name, "command"))
		gen_command(g, p, d);
	else
		blank(p->call, d->fd, wrong[r_(g, ARRAY_SIZE(wrong))]);
	p->call->op = !strcmp(name, "close") ? OP_CLOSE : !strcmp(name, "dup") ? OP_DUP :
		      !strcmp(name, "poll") ? OP_POLL : OP_IOCTL;
}

static void step(struct gen *g)
{
	struct proc *p = &g->r.m.proc[r_(g, PROCS)];
	unsigned int op = some_op(g);
	const char *name = ops[op].name;
	struct desc *d = NULL;

	if (!strcmp(name, "kill")) {
		note(g, "process %d is killed", p->nr);
		run_kill(&g->r, p);
		return;
	}
	if (asleep(p)) {
		/* a signal now and then, else somebody else has the turn */
		if (r_(g, 8))
			return;
		note(g, "process %d is interrupted", p->nr);
		run_interrupt(&g->r, p);
		return;
	}
	if (make_ready(g, p)) {
		run_call(&g->r, p);
		note_call(g, p, "policy or start");
		return;
	}
	if (ops[op].on == 's')
		return;
	if (ops[op].on)
		d = some_desc(g, p, ops[op].on == '*' ? 0 : ops[op].on);
	if (ops[op].on && !d) {
		/* first get what it takes */
		d = some_desc(g, p, 'c');
		name = !d ? used_ctxs(g) && r_(g, 4) ? "join" : "create" : "member";
	}
	if (!strcmp(name, "create") && used_ctxs(g) == CTXS)
		name = "join";
	if (descs(p) > 8)
		name = "close", d = some_desc(g, p, 0);
	if (!strcmp(name, "log") && d->member->ctx->nr_lines > 200)
		return;
	fill(g, p, name, d);
	run_call(&g->r, p);
	note_call(g, p, name);
}

/* One run; true when nothing differs. Each step has random numbers of its own. */
static bool run(struct gen *g, uint64_t seed, unsigned int steps, const bool *skip)
{
	unsigned int i;

	g->param = g->line = 0;
	run_begin(&g->r);
	for (i = 0; i < steps && !g->r.why[0]; i++) {
		g->r.steps = i;
		if (skip && skip[i])
			continue;
		g->seed = (seed + 1) * 0x9e3779b97f4a7c15ULL + i * 0xd1342543de82ef95ULL;
		rnd(&g->seed);
		step(g);
		if (!g->r.why[0] && (i % 16 == 15 || i == steps - 1)) {
			int k;

			for (k = 0; k < CTXS; k++)
				if (g->r.m.ctx[k].known && g->r.m.ctx[k].used &&
				    !g->r.m.ctx[k].closed)
					run_look(&g->r, &g->r.m.ctx[k]);
		}
	}
	run_end(&g->r);
	return !g->r.why[0];
}

/* --- a difference ---------------------------------------------------------------------------- */

/* Leaves out steps as long as something still differs, for a while. */
static unsigned int shrink(struct gen *g, uint64_t seed, bool *skip, unsigned int steps)
{
	uint64_t end = dxt_in(20 * DXT_SEC);
	unsigned int size, at, i, left = 0;

	for (size = steps / 2; size; size /= 2) {
		for (at = 0; at < steps; at += size) {
			bool before[STEPS];

			if (dxt_now() > end)
				goto out;
			memcpy(before, skip, sizeof(before));
			for (i = at; i < at + size && i < steps; i++)
				skip[i] = true;
			if (run(g, seed, steps, skip))
				memcpy(skip, before, sizeof(before));
		}
	}
out:
	for (i = 0; i < steps; i++)
		left += !skip[i];
	return left;
}

static void show(struct gen *g)
{
	unsigned int i;

	for (i = 1; i <= ARRAY_SIZE(g->r.last); i++) {
		const char *line = g->r.last[(g->r.steps + i) % ARRAY_SIZE(g->r.last)];

		if (*line)
			printf("# %s\n", line);
	}
	printf("# %s\n", g->r.why);
}

FIXTURE(generator) {
	struct gen *g;
	uint64_t seed;
};

FIXTURE_SETUP(generator)
{
	cpu_set_t one;
	struct dxt t;

	/* One runs at a time: a wake-up need not go to another CPU. */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	self->g = calloc(1, sizeof(*self->g));
	self->seed = the_seed();
	ASSERT_EQ(0, dxt_open(&t));
	ASSERT_EQ(0, dxk_policy_get(t.ctx, &self->g->r.m.initial));
	dxk_executor_find(t.ctl, "nop", &self->g->r.m.nop);
	dxt_down(&t);
	TH_LOG("DXK_SEED=%llu", (unsigned long long)self->seed);
}

FIXTURE_TEARDOWN(generator)
{
	free(self->g);
}

TEST_F_TIMEOUT(generator, as_the_model_says, 36000)
{
	const char *seconds = getenv("DXK_SECONDS"), *steps = getenv("DXK_STEPS");
	uint64_t end = dxt_in((seconds ? atoi(seconds) : dxt_debug_kernel() ? 45 : 15) *
			      DXT_SEC);
	unsigned int most = steps ? (unsigned int)atoi(steps) : STEPS;
	unsigned int runs = 0, calls = 0, slept = 0, left;
	bool skip[STEPS] = { false };
	bool good;

	if (most > STEPS)
		most = STEPS;
	do {
		good = run(self->g, self->seed + runs, most, NULL);
		runs++;
		calls += self->g->r.calls;
		slept += self->g->r.slept;
	} while (good && !steps && dxt_now() < end);
	TH_LOG("%u calls in %u runs, %u of them slept", calls, runs, slept);
	EXPECT_TRUE(good) {
		unsigned int last = self->g->r.steps + 1;

		show(self->g);
		printf("# again: DXK_SEED=%llu DXK_STEPS=%u\n",
		       (unsigned long long)self->seed + runs - 1, last);
		left = shrink(self->g, self->seed + runs - 1, skip, last);
		run(self->g, self->seed + runs - 1, last, skip);
		printf("# %u of these steps are enough:\n", left);
		show(self->g);
	}
}

TEST_HARNESS_MAIN
