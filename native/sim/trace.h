/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The engine's events, as the simulator watches them: see model.h.
 */
#ifndef _DXK_SIM_TRACE_H
#define _DXK_SIM_TRACE_H

#include "world.h"

struct dxk_member;
struct dxk_rqe;

void model_move(struct dxk_rqe *rqe, u8 from, u8 to);
void model_post(const struct dxk_rqe *rqe, u32 member);
void model_collect(const struct dxk_rqe *rqe, u32 member);
void model_held(const struct dxk_rqe *rqe);
void model_block(u32 member, u8 state);

#define trace_dxk_move(ctx, rqe, from, to)	model_move(rqe, from, to)
#define trace_dxk_post(m, rqe)			model_post(rqe, (m)->id)
#define trace_dxk_dispatch(ctx, rqe)		do { } while (0)
#define trace_dxk_complete(ctx, rqe)		do { } while (0)
#define trace_dxk_rejoin(ctx, rqe, member)	model_collect(rqe, member)
#define trace_dxk_held(ctx, rqe, key, wake)	model_held(rqe)
#define trace_dxk_block(ctx, member, state, ns)	model_block(member, state)
#define trace_dxk_block_enabled()		false

#endif /* _DXK_SIM_TRACE_H */
