/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dxk

#if !defined(_DXK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DXK_TRACE_H

#include <linux/tracepoint.h>

#include "engine/member.h"
#include "engine/request.h"

#define dxk_show_state(state)				\
	__print_symbolic(state,				\
		{ DXK_FREE,		"FREE" },	\
		{ DXK_POSTED,		"POSTED" },	\
		{ DXK_READY,		"READY" },	\
		{ DXK_DISPATCHED,	"DISPATCHED" },	\
		{ DXK_BUSY,		"BUSY" },	\
		{ DXK_REJOIN,		"REJOIN" },	\
		{ DXK_CANCELLED,	"CANCELLED" },	\
		{ DXK_WAITING,		"WAITING" })

/* Every transition of every request. */
TRACE_EVENT(dxk_move,
	TP_PROTO(u32 ctx, const struct dxk_rqe *rqe, u8 from, u8 to),
	TP_ARGS(ctx, rqe, from, to),

	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(const void *, rqe)
		__field(u64, owner)
		__field(u64, param)
		__field(u64, ticket)
		__field(s32, prio)
		__field(u32, attrs)
		__field(u16, worker)
		__field(u8, lane)
		__field(u8, from)
		__field(u8, to)
	),

	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->rqe = rqe;
		__entry->owner = rqe->cookie;
		__entry->param = rqe->param;
		__entry->ticket = rqe->ticket;
		__entry->prio = rqe->prio;
		__entry->attrs = rqe->attrs;
		__entry->worker = rqe->worker;
		__entry->lane = rqe->lane;
		__entry->from = from;
		__entry->to = to;
	),

	TP_printk("ctx=%u rqe=%p %s->%s owner=%#llx param=%#llx lane=%u prio=%d attrs=%#x worker=%u ticket=%llu",
		  __entry->ctx, __entry->rqe, dxk_show_state(__entry->from),
		  dxk_show_state(__entry->to), __entry->owner, __entry->param,
		  __entry->lane, __entry->prio, __entry->attrs, __entry->worker,
		  __entry->ticket)
);

/*
 * The life of a request, event by event. seq names it within its context from post
 * to rejoin. A dispatch that is undone, because it could not be fetched or its worker
 * died, is followed by another one. What Stop cancels completes by worker 0.
 */
TRACE_EVENT(dxk_post,
	TP_PROTO(const struct dxk_member *m, const struct dxk_rqe *rqe),
	TP_ARGS(m, rqe),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(u64, seq)
		__field(u64, owner)
		__field(u64, executor)
		__field(u64, param)
		__field(s32, prio)
		__field(u32, attrs)
		__field(u16, member)
		__field(u8, lane)
	),
	TP_fast_assign(
		__entry->ctx = m->engine->id;
		__entry->seq = rqe->seq;
		__entry->owner = rqe->cookie;
		__entry->executor = rqe->executor;
		__entry->param = rqe->param;
		__entry->prio = rqe->prio;
		__entry->attrs = rqe->attrs;
		__entry->member = m->id;
		__entry->lane = rqe->lane;
	),
	TP_printk("ctx=%u seq=%llu member=%u lane=%u prio=%d attrs=%#x owner=%#llx executor=%#llx param=%#llx",
		  __entry->ctx, __entry->seq, __entry->member, __entry->lane,
		  __entry->prio, __entry->attrs, __entry->owner, __entry->executor,
		  __entry->param)
);

TRACE_EVENT(dxk_dispatch,
	TP_PROTO(u32 ctx, const struct dxk_rqe *rqe),
	TP_ARGS(ctx, rqe),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(u64, seq)
		__field(u64, ticket)
		__field(s32, prio)
		__field(u32, inspect)
		__field(u16, worker)
		__field(u8, lane)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->seq = rqe->seq;
		__entry->ticket = rqe->ticket;
		__entry->prio = rqe->prio;
		__entry->inspect = rqe->inspect;
		__entry->worker = rqe->worker;
		__entry->lane = rqe->lane;
	),
	TP_printk("ctx=%u seq=%llu ticket=%llu worker=%u lane=%u prio=%d inspect=%u",
		  __entry->ctx, __entry->seq, __entry->ticket, __entry->worker,
		  __entry->lane, __entry->prio, __entry->inspect)
);

TRACE_EVENT(dxk_start,
	TP_PROTO(u32 ctx, const struct dxk_rqe *rqe),
	TP_ARGS(ctx, rqe),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(u64, seq)
		__field(u64, ticket)
		__field(u64, owner)
		__field(u64, executor)
		__field(u64, param)
		__field(u16, worker)
		__field(u16, attempts)
		__field(u8, lane)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->seq = rqe->seq;
		__entry->ticket = rqe->ticket;
		__entry->owner = rqe->cookie;
		__entry->executor = rqe->executor;
		__entry->param = rqe->param;
		__entry->worker = rqe->worker;
		__entry->attempts = rqe->attempts;
		__entry->lane = rqe->lane;
	),
	TP_printk("ctx=%u seq=%llu ticket=%llu worker=%u lane=%u attempts=%u owner=%#llx executor=%#llx param=%#llx",
		  __entry->ctx, __entry->seq, __entry->ticket, __entry->worker,
		  __entry->lane, __entry->attempts, __entry->owner, __entry->executor,
		  __entry->param)
);

TRACE_EVENT(dxk_complete,
	TP_PROTO(u32 ctx, const struct dxk_rqe *rqe),
	TP_ARGS(ctx, rqe),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(u64, seq)
		__field(u64, ticket)
		__field(s32, status)
		__field(u16, worker)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->seq = rqe->seq;
		__entry->ticket = rqe->ticket;
		__entry->status = rqe->status;
		__entry->worker = rqe->worker;
	),
	TP_printk("ctx=%u seq=%llu ticket=%llu worker=%u status=%d", __entry->ctx,
		  __entry->seq, __entry->ticket, __entry->worker, __entry->status)
);

TRACE_EVENT(dxk_rejoin,
	TP_PROTO(u32 ctx, const struct dxk_rqe *rqe, u32 member),
	TP_ARGS(ctx, rqe, member),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(u64, seq)
		__field(u64, owner)
		__field(s32, status)
		__field(u16, member)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->seq = rqe->seq;
		__entry->owner = rqe->cookie;
		__entry->status = rqe->status;
		__entry->member = member;
	),
	TP_printk("ctx=%u seq=%llu member=%u owner=%#llx status=%d", __entry->ctx,
		  __entry->seq, __entry->member, __entry->owner, __entry->status)
);

/* A request has to wait for its key. wake: why it has a turn then, enum dxk_wake_reason. */
TRACE_EVENT(dxk_held,
	TP_PROTO(u32 ctx, const struct dxk_rqe *rqe, u64 key, u8 wake),
	TP_ARGS(ctx, rqe, key, wake),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(u64, seq)
		__field(u64, owner)
		__field(u64, key)
		__field(u8, wake)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->seq = rqe->seq;
		__entry->owner = rqe->cookie;
		__entry->key = key;
		__entry->wake = wake;
	),
	TP_printk("ctx=%u seq=%llu owner=%#llx key=%#llx wake=%u", __entry->ctx,
		  __entry->seq, __entry->owner, __entry->key, __entry->wake)
);

/* A member falls asleep in a call (ns is 0), or has been asleep for ns. */
TRACE_EVENT(dxk_block,
	TP_PROTO(u32 ctx, u32 member, u8 what, u64 ns),
	TP_ARGS(ctx, member, what, ns),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(u64, ns)
		__field(u16, member)
		__field(u8, what)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->ns = ns;
		__entry->member = member;
		__entry->what = what;
	),
	TP_printk("ctx=%u member=%u what=%s ns=%llu", __entry->ctx, __entry->member,
		  __print_symbolic(__entry->what,
				   { DXK_M_POSTING, "posting" },
				   { DXK_M_REJOINING, "rejoining" },
				   { DXK_M_COMPLETING, "completing" }),
		  __entry->ns)
);

/* The Monitor reports a stall, the nr-th of its context. */
TRACE_EVENT(dxk_stall,
	TP_PROTO(u32 ctx, u64 nr),
	TP_ARGS(ctx, nr),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(u64, nr)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->nr = nr;
	),
	TP_printk("ctx=%u nr=%llu", __entry->ctx, __entry->nr)
);

/* Of each kind there are to be no more than to workers now; with base throughput is best so far. */
TRACE_EVENT(dxk_tune,
	TP_PROTO(u32 ctx, u32 from, u32 to, u32 base, u64 rate),
	TP_ARGS(ctx, from, to, base, rate),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(u32, from)
		__field(u32, to)
		__field(u32, base)
		__field(u64, rate)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->from = from;
		__entry->to = to;
		__entry->base = base;
		__entry->rate = rate;
	),
	TP_printk("ctx=%u from=%u to=%u base=%u rate=%llu", __entry->ctx, __entry->from,
		  __entry->to, __entry->base, __entry->rate)
);

#endif /* _DXK_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
