/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dxk

#if !defined(_DXK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DXK_TRACE_H

#include <linux/tracepoint.h>

#include "request.h"

#define dxk_show_state(state)				\
	__print_symbolic(state,				\
		{ DXK_FREE,		"FREE" },	\
		{ DXK_POSTED,		"POSTED" },	\
		{ DXK_READY,		"READY" },	\
		{ DXK_DISPATCHED,	"DISPATCHED" },	\
		{ DXK_BUSY,		"BUSY" },	\
		{ DXK_REJOIN,		"REJOIN" },	\
		{ DXK_CANCELLED,	"CANCELLED" })

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
		__entry->owner = rqe->owner;
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

#endif /* _DXK_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
