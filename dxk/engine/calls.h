/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_CALLS_H
#define _DXK_ENGINE_CALLS_H

#include "engine/key_call.h"
#include "engine/next.h"
#include "engine/onblock.h"
#include "engine/post.h"
#include "engine/rejoin.h"
#include "engine/should.h"
#include "engine/stop.h"

struct dxk_space;
struct dxk_event;
struct dxk_watch;

int dxk_client_prepare(struct dxk_member *m, u32 nr);
int dxk_client_begin(struct dxk_post_op *p, u32 nr);
int dxk_client_post(struct dxk_post_op *p, u64 deadline);
int dxk_client_rejoin(struct dxk_rejoin_op *r, u64 deadline);

int dxk_next(struct dxk_next_op *n, u64 deadline);

int dxk_key_ask(struct dxk_key_op *k, u64 deadline);
void dxk_worker_seen(struct dxk_member *m, bool asleep);
int dxk_key_hold_back(struct dxk_member *m, u64 key, bool refuse);
int dxk_key_release(struct dxk_member *m, u64 key);
int dxk_key_cancel(struct dxk_member *m, u64 key);

int dxk_wake_names(struct dxk_member *m, const u64 *names, u32 nr);
bool dxk_take_back(struct dxk_engine *e, struct dxk_rqe *rqe);
void dxk_fired_flush(struct dxk_engine *e, const struct dxk_event *event);
bool dxk_detach(struct dxk_engine *e, struct dxk_watch *watch, u32 seen);
void dxk_purge_owner(struct dxk_member *m, u64 owner, u32 *nr);
int dxk_cancel_names(struct dxk_member *m, const u64 *names, u32 nr, u32 *states);

void dxk_rest(struct dxk_member *m, bool rests);
void dxk_list_do(struct dxk_list_op *op, dxk_op_fn *run);
void dxk_member_do(struct dxk_member *m, dxk_op_fn *run);
int dxk_crew_wait(struct dxk_engine *e, u64 deadline, u32 *workers, u32 *spares);

void dxk_enforce(struct dxk_engine *e, const struct dxk_policy *policy);

void dxk_tick(struct dxk_engine *e);
bool dxk_scheduler_rest(struct dxk_engine *e);
bool dxk_monitor_rest(struct dxk_engine *e, bool asked);
void dxk_retire(struct dxk_engine *e, unsigned long limit);

void dxk_space_leave(struct dxk_engine *e, struct dxk_space *space);

void dxk_stop_begin(struct dxk_engine *e, u32 gen, bool cancel, bool close);
void dxk_should_forget(struct dxk_member *m);
int dxk_should_wait(struct dxk_member *m, u64 deadline);

#endif /* _DXK_ENGINE_CALLS_H */
