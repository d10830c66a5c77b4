/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_CPUS_H
#define _DXK_RUNTIME_CPUS_H

struct cpumask;
struct dxk_ctx;

int dxk_cpus_init(struct dxk_ctx *ctx);
void dxk_cpus_free(struct dxk_ctx *ctx);
void dxk_cpus_get(struct dxk_ctx *ctx, struct cpumask *cpus);
int dxk_cpus_start(struct dxk_ctx *ctx);
void dxk_cpus_stop(struct dxk_ctx *ctx);

int dxk_cpus_setup(void);
void dxk_cpus_exit(void);

#endif /* _DXK_RUNTIME_CPUS_H */
