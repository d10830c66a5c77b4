/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Puppets with keys: messages to whoever has one, and calls that wait for the answer.
 */
#ifndef _DXK_ENGINE_TESTS_KEYED_H
#define _DXK_ENGINE_TESTS_KEYED_H

#include "engine/tests/puppet.h"

struct puppets *keyed_start(struct kunit *test, struct dxk_policy *policy, u32 workers);
void keyed_end(struct puppets *ps);
struct dxk_member *keyed_worker(struct puppets *ps, u32 i);

struct dxk_rqe *keyed_add(struct puppets *ps, struct dxk_post_op *post, u64 owner, s32 prio,
			  u32 attrs, const struct dxk_post_more *p);
struct dxk_rqe *keyed_send(struct puppets *ps, struct dxk_member *m, u64 key, u64 owner,
			   u32 reentry);
struct dxk_rejoin_op *keyed_call(struct puppets *ps, struct dxk_member *m, u64 owner, u32 min,
				 bool nest, bool timed);

void keyed_then(struct puppets *ps, struct dxk_member *m, const struct dxk_rqe *rqe);
void keyed_drain(struct puppets *ps, struct dxk_member *m);
void keyed_is_held(struct puppets *ps, const struct dxk_rqe *rqe);
void keyed_expires(struct puppets *ps, struct dxk_rqe *rqe);
int keyed_anybody(struct puppets *ps, dxk_op_fn *run, u64 key, bool refuse);

#endif /* _DXK_ENGINE_TESTS_KEYED_H */
