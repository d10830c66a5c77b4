// SPDX-License-Identifier: GPL-2.0-only
/* What a process was answered, compared with what the picture says (generator.h). */
#define DXT_NO_HARNESS
#include "generator.h"

#include <stdlib.h>

#define SAME(name_, is_, want_) do {						\
	if ((long long)(is_) != (long long)(want_))				\
		run_differs(r, "process %d: %s is %lld, not %lld", p->nr, name_,	\
			    (long long)(is_), (long long)(want_));		\
} while (0)

/* The module's own messages stand between those of the members. */
static void compare_lines(struct run *r, struct proc *p)
{
	struct desc *d = model_desc(p, p->call->fd);
	struct ctx *c = d->session->ctx;
	long rc = p->call->rc;
	int i, nr = 0;

	if (p->answer.rc < 0) {
		SAME("log_read", rc, p->answer.rc);
		return;
	}
	if (rc < 0 && rc != -ESHUTDOWN) {
		SAME("log_read", rc, 0);
		return;
	}
	if (rc == -ESHUTDOWN && (c->state == RUNNING || c->state == STOPPING))
		SAME("log_read", rc, 0);
	for (i = 0; i < rc; i++) {
		if (p->call->record[i].text[0] != 'g')
			continue;
		if (nr == c->nr_lines)
			run_differs(r, "a message too many: %s", p->call->record[i].text);
		else
			SAME("message", atoi(p->call->record[i].text + 1), c->line[nr]);
		nr++;
	}
	if (rc < (long)p->call->a.log_read.nr && nr < c->nr_lines)
		run_differs(r, "message g%u is lost", c->line[nr]);
	if (nr > c->nr_lines)
		nr = c->nr_lines;
	c->nr_lines -= nr;
	memmove(c->line, c->line + nr, c->nr_lines * sizeof(c->line[0]));
}

/* Of two elements, what is and what is wanted. */
#define FIELD(of, name)	SAME(#of "." #name, is->name, want->name)

static void compare_data(struct run *r, struct proc *p, int i, uint64_t data,
			 uint32_t stride, uint32_t len)
{
	if (data && memcmp(p->call->out[0] + (size_t)i * stride, p->answer.data[i], len))
		run_differs(r, "process %d: wrong data of element %d", p->nr, i);
}

static void compare_results(struct run *r, struct proc *p)
{
	struct call *c = p->call;
	int i;

	for (i = 0; i < p->answer.rc; i++) {
		const struct dxk_result *is = &c->result[i], *want = &p->answer.result[i];

		FIELD(result, param);
		FIELD(result, executor);
		FIELD(result, status);
		FIELD(result, attrs);
		FIELD(result, prio);
		SAME("result.inspect_count", is->inspect_count, 0);
		FIELD(result, worker);
		FIELD(result, attempts);
		FIELD(result, data_len);
		compare_data(r, p, i, c->a.rejoin.data, c->a.rejoin.data_stride, want->data_len);
	}
	if (i < SLOTS && !dxt_poisoned(&c->result[i], sizeof(c->result[i])))
		run_differs(r, "process %d: a result too many", p->nr);
}

static void compare_more(struct run *r, struct proc *p, const struct dxk_work_more *is,
			 const struct dxk_work_more *want)
{
	FIELD(work, name);
	FIELD(work, state);
	FIELD(work, turn);
	FIELD(work, wake);
	FIELD(work, events);
	FIELD(work, key);
	FIELD(work, nested);
}

static void compare_names(struct run *r, struct proc *p)
{
	const struct dxk_names *a = &p->call->a.names;
	int i;

	/* nothing is known of one that has not told */
	for (i = 0; a->states && p->answer.rc > 0 && i < (int)a->nr; i++)
		SAME("state", p->call->state[i], p->answer.state[i]);
}

static void compare_owner(struct run *r, struct proc *p)
{
	const struct dxk_cancel_owner *a = &p->call->a.cancel_owner;
	const struct answer *want = &p->answer;

	SAME("cancel_owner.ready", a->ready, want->ready);
	SAME("cancel_owner.executing", a->executing, want->executing);
	SAME("cancel_owner.waiting", a->waiting, want->waiting);
	SAME("cancel_owner.done", a->done, want->ended);
}

static void compare_work(struct run *r, struct proc *p)
{
	struct call *c = p->call;
	int i;

	for (i = 0; i < p->answer.rc; i++) {
		const struct dxk_work_more *more = call_work(c, (unsigned int)i);
		const struct dxk_work *is = &more->work, *want = &p->answer.work[i].work;

		FIELD(work, param);
		FIELD(work, ticket);
		FIELD(work, owner);
		FIELD(work, executor);
		FIELD(work, attrs);
		FIELD(work, prio);
		SAME("work.inspect_count", is->inspect_count, 0);
		FIELD(work, fd);
		FIELD(work, attempt);
		FIELD(work, result_len);
		FIELD(work, data_len);
		if (c->a.next.work_size > sizeof(*is))
			compare_more(r, p, more, &p->answer.work[i]);
		compare_data(r, p, i, c->a.next.data, c->a.next.data_stride, want->data_len);
	}
	if (i < SLOTS && !dxt_poisoned(call_work(c, (unsigned int)i), sizeof(struct dxk_work)))
		run_differs(r, "process %d: a request too many", p->nr);
}

static void new_fd(struct proc *p, int fd)
{
	int i;

	for (i = 0; i < DESCS; i++)
		if (p->desc[i].fd == -1)
			p->desc[i].fd = fd;
}

/* The call has returned: is that the answer? */
void run_compare(struct run *r, struct proc *p)
{
	struct answer *a = &p->answer;
	struct call *c = p->call;
	bool all;

	r->child[p->nr].out = false;
	if (c->op == OP_IOCTL && c->cmd == DXK_IOC_LOG_READ && model_desc(p, c->fd) &&
	    model_desc(p, c->fd)->session && a->rc != -EACCES) {
		compare_lines(r, p);
		return;
	}
	if (c->op == OP_DUP && !a->rc && c->rc > 0) {
		new_fd(p, (int)c->rc);
		return;
	}
	SAME("return value", c->rc, a->rc);
	if (c->op != OP_IOCTL || r->why[0])
		return;
	switch (c->cmd) {
	case DXK_IOC_CTX_CREATE:
		if (!a->rc) {
			struct ctx *new;

			new_fd(p, c->a.ctx_create.fd);
			new = model_desc(p, c->a.ctx_create.fd)->session->ctx;
			new->id = c->a.ctx_create.id;
			new->known = true;
		}
		break;
	case DXK_IOC_CTX_JOIN:
		if (!a->rc) {
			new_fd(p, c->a.ctx_join.fd);
			SAME("join.id", c->a.ctx_join.id, a->id);
		}
		break;
	case DXK_IOC_MEMBER_CREATE:
		if (!a->rc) {
			new_fd(p, c->a.member_create.fd);
			SAME("member.id", c->a.member_create.id, a->id);
		}
		break;
	case DXK_IOC_POLICY_SET:
		if (a->rc != -EACCES)
			SAME("bad_field", c->a.policy.bad_field, a->bad_field);
		break;
	case DXK_IOC_CTX_STOP:
		SAME("nr_running", c->a.ctx_stop.nr_running,
		     a->rc == -ETIMEDOUT ? a->nr_running : DXT_POISON32);
		break;
	case DXK_IOC_COMMAND_SEND:
		if (!a->rc)
			SAME("status", c->a.command_send.status, a->status);
		break;
	case DXK_IOC_POST:
		all = a->rc == (long)c->a.post.nr;
		SAME("post.index", c->a.post.index, all ? DXT_POISON32 : a->index);
		SAME("post.reason", c->a.post.reason, all ? DXT_POISON32 : a->reason);
		break;
	case DXK_IOC_REJOIN:
		SAME("rejoin.answer", c->a.rejoin.answer, a->rc > 0 ? RJR_RETURNED :
		     a->rc < 0 ? DXT_POISON32 : a->answer);
		compare_results(r, p);
		break;
	case DXK_IOC_NEXT:
		SAME("next.nr_taken", c->a.next.nr_taken, a->nr_taken);
		compare_work(r, p);
		break;
	case DXK_IOC_CANCEL:
		compare_names(r, p);
		break;
	case DXK_IOC_CANCEL_OWNER:
		if (!a->rc || a->rc == -ENOENT)
			compare_owner(r, p);
		break;
	}
}
