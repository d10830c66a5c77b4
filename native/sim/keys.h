/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keys and circles of waits, told a second time: who may have a turn, who is next, and who
 * waits for himself.
 */
#ifndef _DXK_SIM_KEYS_H
#define _DXK_SIM_KEYS_H

#include "model.h"

struct dxk_link;

bool model_key_is_free(const struct dxk_rqe *rqe);
bool model_key_is_next(const struct model_request *rq);
bool model_is_deferred(const struct model_request *rq);
u32 model_holds(void);
u32 model_holds_of(u32 share);
void check_nested(const struct model_request *rq, const struct dxk_rqe *rqe);
void check_keys(const struct dxk_engine *e, bool excused);
bool model_is_dead(const struct dxk_rejoin_op *r);
void check_circle(const struct dxk_link *links, u32 nr);
void check_circles(const struct dxk_engine *e);

#endif /* _DXK_SIM_KEYS_H */
