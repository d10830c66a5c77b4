/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_POOL_H
#define _DXK_ENGINE_POOL_H

#include "engine/free.h"
#include "engine/os.h"
#include "engine/stash.h"
#include "uapi/dxk.h"

struct dxk_engine;
struct dxk_member;
struct dxk_rqe;

/* Number of requests that the policy keeps allocated. */
static inline u32 dxk_pool_keep(const struct dxk_policy *policy)
{
	return min(policy->prealloc_requests, policy->max_requests);
}

void dxk_pools_init(struct dxk_engine *e);
void dxk_pools_open(struct dxk_engine *e);
void dxk_pools_close(struct dxk_engine *e);
bool dxk_pools_review(struct dxk_engine *e);

int dxk_rqe_stash_fill(struct dxk_member *m, u32 nr);
void dxk_rqe_stash_free(struct dxk_stash *stash);
void dxk_rqe_drop(struct dxk_member *m, struct dxk_rqe *rqe);
void dxk_rqe_drop_all(struct dxk_member *m, struct list_head *rqes);

int dxk_rqe_init(void);
void dxk_rqe_exit(void);

#endif /* _DXK_ENGINE_POOL_H */
