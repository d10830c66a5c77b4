/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_ABI_SYSFS_H
#define _DXK_ABI_SYSFS_H

#include <linux/kobject.h>

struct dxk_ctx;
struct dxk_member;

void dxk_sysfs_init(void);
int dxk_sysfs_permit(const struct dxk_ctx *ctx);
umode_t dxk_sysfs_mode(const struct dxk_ctx *ctx, const struct attribute *attr);

/* For the directories of contexts and of their threads. */
extern const struct sysfs_ops dxk_ctx_sysfs_ops;
extern const struct attribute_group *dxk_ctx_groups[];
extern const struct attribute_group *dxk_run_groups[];
extern const struct sysfs_ops dxk_slot_sysfs_ops;
extern const struct attribute_group *dxk_slot_groups[];

#endif /* _DXK_ABI_SYSFS_H */
