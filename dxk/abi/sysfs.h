/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_ABI_SYSFS_H
#define _DXK_ABI_SYSFS_H

#include <linux/kobject.h>

struct dxk_ctx;
struct dxk_member;

void dxk_sysfs_init(void);
int dxk_sysfs_permit(const struct dxk_ctx *ctx);
umode_t dxk_sysfs_mode(const struct dxk_ctx *ctx, const struct attribute *attr);

extern const struct kobj_type dxk_ctx_ktype;
extern const struct kobj_type dxk_member_ktype;

void dxk_ctx_free(struct dxk_ctx *ctx);		/* context.c */
void dxk_member_free(struct dxk_member *m);	/* crew.c */

#endif /* _DXK_ABI_SYSFS_H */
