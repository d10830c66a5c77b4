/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_EXECUTOR_H
#define _DXK_SERVICES_EXECUTOR_H

#include <linux/types.h>

struct dxk_executor;
struct kobject;

struct dxk_executor *dxk_executor_get(u64 id, struct dxk_executor *held);
void dxk_executor_put(struct dxk_executor *exec);
void dxk_executor_name(u64 id, char *name);

int dxk_executors_init(struct kobject *parent);
void dxk_executors_exit(void);

#endif /* _DXK_SERVICES_EXECUTOR_H */
