// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CPUs of a context: policy/cpus, and notification of CPUs that come online.
 */
#include <linux/cpuhotplug.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "dxk_api.h"
#include "runtime/context.h"
#include "runtime/control.h"
#include "runtime/cpus.h"

/* --- the policy -------------------------------------------------------------------- */

/** dxk_cpus_init - let the threads of a new context run where its creator may run */
int dxk_cpus_init(struct dxk_ctx *ctx)
{
	INIT_LIST_HEAD(&ctx->bound);
	if (!zalloc_cpumask_var(&ctx->cpus, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	cpumask_copy(ctx->cpus, &current->cpus_mask);
	return 0;
}

void dxk_cpus_free(struct dxk_ctx *ctx)
{
	free_cpumask_var(ctx->cpus);
}

/**
 * dxk_ctx_set_cpus - set the CPUs on which the kernel threads of a context may run
 * @ctx: the context
 * @cpus: the CPUs, all of them online
 *
 * Workers move at the Monitor's next turn, which this call requests. Control threads are bound
 * by Start. A CPU that goes offline later is not used until it is back online; when none of
 * @cpus is left, the threads run elsewhere.
 *
 * Return: 0, -EINVAL when @cpus is empty, -ENODEV when one of them is not online; then
 * nothing has changed.
 */
int dxk_ctx_set_cpus(struct dxk_ctx *ctx, const struct cpumask *cpus)
{
	if (cpumask_empty(cpus))
		return -EINVAL;
	if (!cpumask_subset(cpus, cpu_online_mask))
		return -ENODEV;
	spin_lock(&ctx->engine.lock);
	cpumask_copy(ctx->cpus, cpus);
	spin_unlock(&ctx->engine.lock);
	WRITE_ONCE(ctx->cpus_changed, true);
	dxk_control_kick(&ctx->control[DXK_MONITOR]);
	return 0;
}
EXPORT_SYMBOL_GPL(dxk_ctx_set_cpus);

/**
 * dxk_cpus_get - get the CPUs on which the kernel threads of a context may run
 * @ctx: the context
 * @cpus: out: those of policy/cpus that are online; all of policy/cpus if none is
 */
void dxk_cpus_get(struct dxk_ctx *ctx, struct cpumask *cpus)
{
	spin_lock(&ctx->engine.lock);
	if (!cpumask_and(cpus, ctx->cpus, cpu_online_mask))
		cpumask_copy(cpus, ctx->cpus);
	spin_unlock(&ctx->engine.lock);
}

/* --- CPUs that come -------------------------------------------------------------------- */

/* Contexts that run: dxk_ctx.bound. The lock nests with nothing. */
static DEFINE_SPINLOCK(dxk_bound_lock);
static LIST_HEAD(dxk_bound_ctxs);

/** dxk_cpus_start - begin to notify the Monitor of a run of CPUs that come online */
int dxk_cpus_start(struct dxk_ctx *ctx)
{
	spin_lock(&dxk_bound_lock);
	list_add_tail(&ctx->bound, &dxk_bound_ctxs);
	spin_unlock(&dxk_bound_lock);
	return 0;
}

/** dxk_cpus_stop - end what dxk_cpus_start() began */
void dxk_cpus_stop(struct dxk_ctx *ctx)
{
	spin_lock(&dxk_bound_lock);
	list_del_init(&ctx->bound);
	spin_unlock(&dxk_bound_lock);
}

static int dxk_cpu_online(unsigned int cpu)
{
	struct dxk_ctx *ctx;

	spin_lock(&dxk_bound_lock);
	list_for_each_entry(ctx, &dxk_bound_ctxs, bound) {
		WRITE_ONCE(ctx->cpus_changed, true);
		dxk_control_kick(&ctx->control[DXK_MONITOR]);
	}
	spin_unlock(&dxk_bound_lock);
	return 0;
}

static int dxk_cpus_state;

/** dxk_cpus_setup - set up at module load */
int dxk_cpus_setup(void)
{
	int state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "dxk:online", dxk_cpu_online,
					      NULL);

	dxk_cpus_state = state;
	return min(state, 0);
}

void dxk_cpus_exit(void)
{
	cpuhp_remove_state_nocalls(dxk_cpus_state);
}
