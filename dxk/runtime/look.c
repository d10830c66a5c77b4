// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports of a context's requests: for the ioctls and, exported, for other modules.
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
 * Report the requests that wait without a worker, after @nr others and up to @max in total: as
 * many as one lock hold sees. Return: how many, 0 if there is no memory to report them; or the
 * error of @sink.
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
 * dxk_running_tell - report what executes, by worker, and then what waits (DX-114)
 * @ctx: the context
 * @sink: the destination of the report
 * @nr: how many at most; the others are only counted
 *
 * Return: how many there are, or the error of @sink.
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

/* The destination of a report that an in-kernel client requests. */
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
 * dxk_ctx_read_running - report what a Stop still waits for (DX-114)
 * @ctx: the context, stopping or not
 * @out: the first @nr of them: workers by id with what they execute, then requests that wait,
 *	whose thread is 0
 * @nr: how many at most; 0: @out may be %NULL
 *
 * After dxk_ctx_stop() has returned -ETIMEDOUT or -ERESTARTSYS, this is the report of
 * DXK_IOC_CTX_STOP.
 *
 * Context: process, may sleep.
 * Return: how many workers execute plus how many requests wait. No more than 64 waiting requests
 * are reported and counted, and none if there is no memory for that.
 */
u32 dxk_ctx_read_running(struct dxk_ctx *ctx, struct dxk_running *out, u32 nr)
{
	struct dxk_running_array array = { .sink.put = dxk_running_put_array, .out = out };

	return dxk_running_tell(ctx, &array.sink, nr);
}
EXPORT_SYMBOL_GPL(dxk_ctx_read_running);

/* --- the live requests ------------------------------------------------------ */

/* Upper half of a cursor: the part that comes next; the lower half is the place within it. */
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
 * dxk_ctx_read_requests - report some of the requests that execute, wait or are Ready (DX-34)
 * @ctx: the context
 * @cursor: initially 0; out: where to continue, %DXK_REQUESTS_END at the end
 * @seen: out: room for %DXK_BATCH_MAX of them
 *
 * One call reports what one lock hold sees. Requests that move between calls may be reported
 * twice or not at all, see struct dxk_requests_read.
 *
 * Context: process, may sleep.
 * Return: how many there are in @seen, which may be none before the end; -EINVAL: invalid
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
 * dxk_ctx_read_samples - copy samples of the instrumentation package (DX-20)
 * @ctx: the context, running or not
 * @after_ns: on CLOCK_MONOTONIC: only samples later than this
 * @out: copies, oldest first
 * @nr: how many at most
 *
 * Samples are taken while the policy's sample_interval_ms is not 0, and kept until the next
 * Start.
 *
 * Context: any but interrupt.
 * Return: how many; after @nr samples, call again with @after_ns set to the last one's time_ns.
 */
u32 dxk_ctx_read_samples(struct dxk_ctx *ctx, u64 after_ns, struct dxk_sample *out, u32 nr)
{
	return dxk_samples_get(&ctx->samples, &ctx->engine, after_ns, out, nr);
}
EXPORT_SYMBOL_GPL(dxk_ctx_read_samples);

/**
 * dxk_ctx_read_latencies - report how long requests of a lane waited, or ran (DX-115)
 * @ctx: the context, running or not
 * @latency: which of the two
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
