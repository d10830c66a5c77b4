// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a context tells of its requests: to the ioctls and, exported, to other modules.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat.h"
#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/look.h"
#include "runtime/context.h"
#include "runtime/crew.h"
#include "runtime/look.h"
#include "runtime/waiting.h"

/* --- what Stop waits for ---------------------------------------------------- */

/*
 * Those that wait without a worker, behind @nr others of at most @max: one hold's. Return: how
 * many, none if there is no memory to tell of them; or what @sink said.
 */
static int dxk_running_tell_waiting(struct dxk_ctx *ctx, struct dxk_running_sink *sink, u32 nr,
				    u32 max)
{
	struct dxk_waiting *seen __free(kfree) = NULL;
	struct dxk_running r;
	u32 i, all, waiting;
	int err;

	seen = kcalloc(DXK_WAITING_MAX, sizeof(*seen), GFP_KERNEL_ACCOUNT);
	if (!seen)
		return 0;
	waiting = dxk_waiting_look(&ctx->engine, seen, DXK_WAITING_MAX, &all);
	for (i = 0; i < waiting && nr + i < max; i++) {
		dxk_waiting_running(&seen[i], &r);
		err = sink->put(sink, &r, nr + i);
		if (err)
			return err;
	}
	return waiting;
}

/**
 * dxk_running_tell - what executes, by worker, and then what waits (DX-114)
 * @ctx: the context
 * @sink: where it goes
 * @nr: how many at most; the others are counted only
 *
 * Return: how many there are, or what @sink said.
 */
int dxk_running_tell(struct dxk_ctx *ctx, struct dxk_running_sink *sink, u32 nr)
{
	struct dxk_running r;
	u32 after = 0, i;
	int waiting, err;

	for (i = 0; dxk_running_next(ctx, after, &r); i++) {
		after = r.thread;
		err = i < nr ? sink->put(sink, &r, i) : 0;
		if (err)
			return err;
	}
	waiting = dxk_running_tell_waiting(ctx, sink, i, nr);
	return waiting < 0 ? waiting : (int)i + waiting;
}

/* Where the report goes that an in-kernel client asks for. */
struct dxk_running_array {
	struct dxk_running_sink sink;
	struct dxk_running *out;
};

static int dxk_running_put_array(struct dxk_running_sink *sink, const struct dxk_running *r,
				 u32 i)
{
	container_of(sink, struct dxk_running_array, sink)->out[i] = *r;
	return 0;
}

/**
 * dxk_ctx_read_running - what a Stop still waits for (DX-114)
 * @ctx: the context, stopping or not
 * @out: the first @nr of them: workers by id with what they execute, then requests that wait,
 *	whose thread is 0
 * @nr: how many at most; 0: @out may be %NULL
 *
 * Asked after dxk_ctx_stop() returned -ETIMEDOUT or -ERESTARTSYS it is the report of
 * DXK_IOC_CTX_STOP.
 *
 * Context: process, may sleep.
 * Return: how many workers execute, and how many requests wait, of which no more than 64 are
 * told of and counted, and none if there is no memory for that.
 */
u32 dxk_ctx_read_running(struct dxk_ctx *ctx, struct dxk_running *out, u32 nr)
{
	struct dxk_running_array array = { .sink.put = dxk_running_put_array, .out = out };

	return dxk_running_tell(ctx, &array.sink, nr);
}
EXPORT_SYMBOL_GPL(dxk_ctx_read_running);

/* --- the live requests ------------------------------------------------------ */

/* In a cursor: what comes next, above where to go on there. */
enum dxk_requests_part {
	DXK_REQUESTS_WORKERS,
	DXK_REQUESTS_WAITING,
	DXK_REQUESTS_POOL,
	DXK_REQUESTS_PARTS,
};

static u32 dxk_requests_workers(struct dxk_ctx *ctx, u32 *place, struct dxk_request_info *seen)
{
	struct dxk_running r;
	u32 nr;

	for (nr = 0; nr < DXK_BATCH_MAX; nr++) {
		if (!dxk_running_next(ctx, *place, &r)) {
			*place = 0;
			break;
		}
		*place = r.thread;
		seen[nr] = (struct dxk_request_info) {
			.owner = r.owner,
			.executor = r.executor,
			.param = r.param,
			.age_ns = r.age_ns,
			.state = DXK_REQUEST_WORK,
			.attrs = r.attrs,
			.lane = dxk_lane_of(r.attrs),
			.worker = r.thread,
		};
	}
	return nr;
}

static int dxk_requests_waiting(struct dxk_ctx *ctx, struct dxk_request_info *seen)
{
	struct dxk_waiting *waiting __free(kfree) = NULL;
	u32 i, nr, all;

	waiting = kcalloc(DXK_WAITING_MAX, sizeof(*waiting), GFP_KERNEL_ACCOUNT);
	if (!waiting)
		return -ENOMEM;
	nr = dxk_waiting_look(&ctx->engine, waiting, DXK_WAITING_MAX, &all);
	for (i = 0; i < nr; i++) {
		struct dxk_running r;

		dxk_waiting_running(&waiting[i], &r);
		seen[i] = (struct dxk_request_info) {
			.owner = r.owner,
			.executor = r.executor,
			.param = r.param,
			.age_ns = r.age_ns,
			.space = waiting[i].space,
			.state = DXK_REQUEST_WAIT,
			.attrs = r.attrs,
			.lane = dxk_lane_of(r.attrs),
			.flags = i == nr - 1 && nr < all ? DXK_REQUEST_MORE : 0,
		};
	}
	return nr;
}

/**
 * dxk_ctx_read_requests - some of the requests that execute, wait or are Ready (DX-34)
 * @ctx: the context
 * @cursor: 0 at first; out: where to go on, %DXK_REQUESTS_END at the end
 * @seen: out: room for %DXK_BATCH_MAX of them
 *
 * One lock hold's at a time: what moves meanwhile may be met twice or not at all, see struct
 * dxk_requests_read.
 *
 * Context: process, may sleep.
 * Return: how many there are in @seen, which may be none before the end; -EINVAL: no such
 * cursor; -ENOMEM.
 */
int dxk_ctx_read_requests(struct dxk_ctx *ctx, u64 *cursor, struct dxk_request_info *seen)
{
	u32 part = *cursor >> 32, place = *cursor;
	int nr;

	static_assert(DXK_WAITING_MAX <= DXK_BATCH_MAX && DXK_LOOK_MAX <= DXK_BATCH_MAX);
	switch (part) {
	case DXK_REQUESTS_WORKERS:
		if (place > DXK_ID_WORKER_MAX)
			return -EINVAL;
		nr = dxk_requests_workers(ctx, &place, seen);
		break;
	case DXK_REQUESTS_WAITING:
		if (place)
			return -EINVAL;
		nr = dxk_requests_waiting(ctx, seen);
		break;
	case DXK_REQUESTS_POOL:
		nr = dxk_ready_look(&ctx->engine, &place, seen);
		break;
	default:
		return -EINVAL;
	}
	if (nr < 0)
		return nr;
	part += !place;
	*cursor = part < DXK_REQUESTS_PARTS ? (u64)part << 32 | place : DXK_REQUESTS_END;
	return nr;
}
EXPORT_SYMBOL_GPL(dxk_ctx_read_requests);

/* --- instrumentation -------------------------------------------------------- */

/**
 * dxk_ctx_read_samples - samples of the instrumentation package (DX-20)
 * @ctx: the context, running or not
 * @after_ns: of CLOCK_MONOTONIC: only younger ones
 * @out: copies, oldest first
 * @nr: how many at most
 *
 * There are some while the policy's sample_interval_ms is not 0, until the next Start.
 *
 * Context: any but interrupt.
 * Return: how many; whoever gets @nr asks again, after the last one's time_ns.
 */
u32 dxk_ctx_read_samples(struct dxk_ctx *ctx, u64 after_ns, struct dxk_sample *out, u32 nr)
{
	return dxk_samples_get(&ctx->samples, &ctx->engine, after_ns, out, nr);
}
EXPORT_SYMBOL_GPL(dxk_ctx_read_samples);

/**
 * dxk_ctx_read_latencies - how long requests of a lane waited, or ran (DX-115)
 * @ctx: the context, running or not
 * @latency: which of both
 * @lane: 0..3
 * @counts: out: %DXK_LATENCY_BUCKETS counts, see struct dxk_latencies_read
 *
 * Context: any but interrupt.
 * Return: 0; -EINVAL: there is no such lane, or latency.
 */
int dxk_ctx_read_latencies(struct dxk_ctx *ctx, enum dxk_latency latency, u32 lane, u64 *counts)
{
	if (latency >= DXK_LATENCIES || lane >= DXK_LANES)
		return -EINVAL;
	spin_lock(&ctx->engine.lock);
	memcpy(counts, ctx->engine.latencies.ns[latency][lane],
	       DXK_LATENCY_BUCKETS * sizeof(*counts));
	spin_unlock(&ctx->engine.lock);
	return 0;
}
EXPORT_SYMBOL_GPL(dxk_ctx_read_latencies);
