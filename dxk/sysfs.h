/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SYSFS_H
#define _DXK_SYSFS_H

#include <linux/kobject.h>

struct dxk_ctx;
struct dxk_member;

enum dxk_pool {
	DXK_POOL_THREAD,
	DXK_POOL_READY,
	DXK_POOL_REJOIN,
	DXK_POOL_LOG,
	DXK_POOL_HANDLE,
	DXK_POOLS,
};

enum dxk_resource {
	DXK_RES_READY,
	DXK_RES_USER,
	DXK_RES_KERNEL,
	DXK_RESOURCES,
};

/* Names a lane of a resource. */
#define DXK_LANE_KEY(_res, _lane)	((_res) * DXK_LANES + (_lane))

/* What is shown, for others that show it. */
u32 dxk_pool_size(const struct dxk_ctx *ctx, enum dxk_pool pool);
u32 dxk_pool_use(struct dxk_ctx *ctx, enum dxk_pool pool);
u32 dxk_pool_high(const struct dxk_ctx *ctx, enum dxk_pool pool);
u32 dxk_lane_use(const struct dxk_ctx *ctx, u32 key);
u32 dxk_lane_limit(struct dxk_ctx *ctx, u32 key);
u32 dxk_lane_waiters(struct dxk_ctx *ctx, u32 key);
const char *dxk_member_role_name(const struct dxk_member *m);

void dxk_sysfs_init(void);
int dxk_sysfs_permit(const struct dxk_ctx *ctx);
umode_t dxk_sysfs_mode(const struct dxk_ctx *ctx, const struct attribute *attr);

extern const struct kobj_type dxk_ctx_ktype;
extern const struct kobj_type dxk_member_ktype;

void dxk_ctx_free(struct dxk_ctx *ctx);		/* context.c */
void dxk_member_free(struct dxk_member *m);	/* crew.c */

#endif /* _DXK_SYSFS_H */
