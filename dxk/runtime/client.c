// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posting and collecting, as a member does it: for the ioctls and, exported, for
 * other modules.
 */
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/post.h"
#include "engine/rejoin.h"
#include "runtime/client.h"
#include "runtime/context.h"
#include "runtime/crew.h"
#include "runtime/thread.h"
#include "runtime/worker.h"
#include "trace.h"

/**
 * dxk_client_add - make one more request of a post, with room for its data
 * @p: its m set; gets the request at the end of rqes
 * @req: what to do
 *
 * Return: the request, or an error pointer.
 */
struct dxk_rqe *dxk_client_add(struct dxk_post_op *p, const struct dxk_request *req)
{
	struct dxk_executor *held = NULL;
	struct dxk_rqe *rqe;
	int err;

	/* Requests of one post often name one executor. */
	if (!list_empty(&p->rqes))
		held = list_last_entry(&p->rqes, struct dxk_rqe, link)->exec;
	rqe = dxk_rqe_make(p->m, req, held);
	if (IS_ERR(rqe))
		return rqe;
	list_add_tail(&rqe->link, &p->rqes);
	err = dxk_rqe_reserve_data(rqe);
	return err ? ERR_PTR(err) : rqe;
}

/* --- other modules --------------------------------------------------------- */

/**
 * dxk_client_create - join a context's Thread Pool as a client
 * @ctx: the context
 *
 * Return: a member for one thread at a time, or an error pointer.
 */
struct dxk_member *dxk_client_create(struct dxk_ctx *ctx)
{
	struct dxk_member *m;

	mutex_lock(&ctx->mutex);
	m = dxk_member_claim(ctx, NULL, DXK_MEMBER_CLIENT, NULL);
	mutex_unlock(&ctx->mutex);
	return m;
}
EXPORT_SYMBOL_GPL(dxk_client_create);

/**
 * dxk_client_destroy - leave the Thread Pool
 * @member: from dxk_client_create(); no call of it is running
 */
void dxk_client_destroy(struct dxk_member *member)
{
	dxk_member_release(member);
}
EXPORT_SYMBOL_GPL(dxk_client_destroy);

static int dxk_post_make(struct dxk_post_op *p, const struct dxk_request *req)
{
	struct dxk_rqe *rqe;

	if (req->attrs & PXR_FD && !req->file)
		return -EBADF;
	rqe = dxk_client_add(p, req);
	if (IS_ERR(rqe))
		return PTR_ERR(rqe);
	if (req->data_len)
		memcpy(rqe->data, req->data, req->data_len);
	return 0;
}

/**
 * dxk_post - post requests (DX-37..DX-48)
 * @member: a client, or dxk_call.self of the request that runs
 * @reqs: the requests; copied
 * @nr: how many, 1..%DXK_BATCH_MAX
 * @deadline: of CLOCK_MONOTONIC in ns, ends the sleep of %PXR_WAITIF_BUSY
 * @reason: out, PXR_POOL_FULL.. of the first request not taken; may be %NULL
 *
 * Return: how many were taken, or the error of the first one: see the contract in
 * the uapi header. A malformed request refuses all.
 */
int dxk_post(struct dxk_member *member, const struct dxk_request *reqs, u32 nr,
	     u64 deadline, u32 *reason)
{
	struct dxk_post_op p = { .m = member };
	int ret = -EINVAL;
	u32 taken = 0;
	u32 i;

	if (!nr || nr > DXK_BATCH_MAX)
		return -EINVAL;
	ret = dxk_client_begin(&p, nr);
	if (ret)
		goto out_drop;
	for (i = 0; i < nr; i++) {
		ret = dxk_post_make(&p, &reqs[i]);
		if (ret)
			goto out_drop;
	}
	for (;;) {
		p.help = dxk_worker_can_help(member);
		ret = dxk_client_post(&p, nr - taken, deadline);
		taken += p.taken;
		if (!p.helper.called)
			break;
		dxk_worker_help(member);
	}
	if (taken)
		ret = taken;
out_drop:
	dxk_rqe_drop_all(member, &p.rqes);
	if (reason)
		*reason = p.reason;
	return ret;
}
EXPORT_SYMBOL_GPL(dxk_post);

static void dxk_answer_fill(struct dxk_answer *a, const struct dxk_rqe *rqe)
{
	a->executor = rqe->executor;
	a->param = rqe->param;
	a->status = rqe->status;
	a->attrs = rqe->attrs;
	a->prio = rqe->prio;
	a->inspect_count = rqe->inspect;
	a->worker = rqe->worker;
	a->attempts = rqe->attempts;
	a->data_len = rqe->data_len;
	if (a->data)
		memcpy(a->data, dxk_rqe_result(rqe), min(rqe->data_len, a->data_room));
}

/**
 * dxk_rejoin - collect completed requests of an owner (DX-87..DX-95)
 * @member: a client, or dxk_call.self of the request that runs
 * @owner: whose
 * @answers: room for the requests; data and data_room are set by the caller
 * @nr: how many at most, 1..%DXK_BATCH_MAX
 * @min: sleep until so many can be returned or no more can come; 0 is 1
 * @deadline: of CLOCK_MONOTONIC in ns; 0 polls
 * @answer: out, RJR_*
 *
 * Return: how many were returned, oldest completion first, or -EDEADLK when only
 * requests that the caller executes are left, -ESHUTDOWN, -ERESTARTSYS.
 */
int dxk_rejoin(struct dxk_member *member, u64 owner, struct dxk_answer *answers,
	       u32 nr, u32 min, u64 deadline, u32 *answer)
{
	struct dxk_rejoin_op r = {
		.m = member,
		.owner = owner,
		.max = nr,
		.min = min ?: 1,
		.wait = deadline,
		.free = true,
	};
	struct dxk_rqe *rqe;
	u32 i = 0;
	int err;

	if (!nr || nr > DXK_BATCH_MAX || min > nr)
		return -EINVAL;
	for (;;) {
		r.help = dxk_worker_can_help(member);
		err = dxk_client_rejoin(&r, deadline);
		if (err)
			return err;
		if (!r.helper.called)
			break;
		dxk_worker_help(member);
	}
	list_for_each_entry(rqe, &r.rqes, link)
		dxk_answer_fill(&answers[i++], rqe);
	dxk_rqe_drop_all(member, &r.rqes);
	*answer = r.answer;
	return r.nr;
}
EXPORT_SYMBOL_GPL(dxk_rejoin);
