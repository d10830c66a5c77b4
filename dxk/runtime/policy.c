// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy of a context. The policy set last, dxk_ctx.policy, is the only source of truth.
 * The policy in force, dxk_engine.policy, is a copy of it while there is no run. From Start
 * on, the Monitor copies its dynamic fields only. There is no flag for a pending change: one is
 * pending exactly while the two differ.
 */
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/minmax.h>

#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/life.h"
#include "runtime/context.h"
#include "runtime/policy.h"
#include "runtime/slot.h"

/**
 * dxk_policy_init - get the default policy
 * @policy: out; it has as many workers as there are CPUs on which the caller may run
 */
void dxk_policy_init(struct dxk_policy *policy)
{
	u32 cpu, nr = 0;

	for_each_cpu_and(cpu, current->cpus_ptr, cpu_online_mask)
		nr++;
	dxk_policy_default(policy, clamp_t(u32, nr, 1, DXK_ID_WORKER_MAX));
}
EXPORT_SYMBOL_GPL(dxk_policy_init);

/* Can only a run's Monitor change the policy in force, and only in dynamic fields? */
static bool dxk_policy_is_fixed(const struct dxk_ctx *ctx)
{
	return !dxk_run_is_over(&ctx->engine);
}

/* Find the first field that differs but cannot change while the context runs; or NULL. */
static const struct dxk_field *dxk_policy_refused(struct dxk_ctx *ctx,
						  struct dxk_policy *policy)
{
	const struct dxk_field *f;

	if (!dxk_policy_is_fixed(ctx))
		return NULL;
	for (f = dxk_fields; f < dxk_fields + dxk_fields_nr; f++)
		if (!f->dynamic && *dxk_field_of(policy, f) !=
				   *dxk_field_of(&ctx->engine.policy, f))
			return f;
	return NULL;
}

static int dxk_policy_set_locked(struct dxk_ctx *ctx, struct dxk_policy *policy)
{
	const struct dxk_field *f;
	int err;

	lockdep_assert_held(&ctx->engine.lock);

	err = dxk_policy_check(policy);
	if (err)
		return err;
	f = dxk_policy_refused(ctx, policy);
	if (f) {
		policy->bad_field = f->offset;
		return -EBUSY;
	}
	ctx->policy = *policy;
	if (!dxk_policy_is_fixed(ctx))
		dxk_crew_set_policy(&ctx->engine, policy);
	return 0;
}

/**
 * dxk_policy_set - set the policy
 * @ctx: the context
 * @policy: all fields; bad_field is set on error
 *
 * The next Start puts it into force. While the context runs, it may differ from the policy in
 * force in dynamic fields only. The Monitor's next review, which this requests, puts it into
 * force.
 * Return: 0, -EINVAL, -EOPNOTSUPP, or -EBUSY for a field that is not dynamic.
 */
int dxk_policy_set(struct dxk_ctx *ctx, struct dxk_policy *policy)
{
	int err;

	spin_lock(&ctx->engine.lock);
	err = dxk_policy_set_locked(ctx, policy);
	spin_unlock(&ctx->engine.lock);
	if (!err)
		dxk_control_kick(&ctx->control[DXK_MONITOR]);
	return err;
}

/**
 * dxk_policy_set_field - like dxk_policy_set(), for one field
 * @ctx: the context
 * @f: the field
 * @value: its new value
 * @bad_field: out, as in struct dxk_policy; may be NULL
 */
int dxk_policy_set_field(struct dxk_ctx *ctx, const struct dxk_field *f, u32 value,
			 u32 *bad_field)
{
	struct dxk_policy policy;
	int err;

	spin_lock(&ctx->engine.lock);
	policy = ctx->policy;
	*dxk_field_of(&policy, f) = value;
	err = dxk_policy_set_locked(ctx, &policy);
	spin_unlock(&ctx->engine.lock);
	if (!err)
		dxk_control_kick(&ctx->control[DXK_MONITOR]);
	if (bad_field)
		*bad_field = policy.bad_field;
	return err;
}

/**
 * dxk_policy_review - put a policy into force that was set while the context runs
 * @ctx: the context; for its Monitor
 *
 * Return: was there a change?
 */
bool dxk_policy_review(struct dxk_ctx *ctx)
{
	struct dxk_policy policy;
	const struct dxk_field *f;
	bool changed = false;

	spin_lock(&ctx->engine.lock);
	policy = ctx->engine.policy;
	for (f = dxk_fields; f < dxk_fields + dxk_fields_nr; f++) {
		u32 value = *dxk_field_of(&ctx->policy, f);

		/* A field that only Start changes was set for the next run, after this run. */
		if (!f->dynamic || *dxk_field_of(&policy, f) == value)
			continue;
		*dxk_field_of(&policy, f) = value;
		changed = true;
	}
	spin_unlock(&ctx->engine.lock);
	if (!changed)
		return false;
	/* Whoever sees that there are more places finds slots for them; see dxk_crew_review(). */
	if (policy.max_threads >= READ_ONCE(ctx->nr_slots))
		dxk_slots_open(ctx, policy.max_threads);
	dxk_enforce(&ctx->engine, &policy);
	return true;
}

/** dxk_policy_get - get the policy in force, or that of the next Start if there is no run */
void dxk_policy_get(struct dxk_ctx *ctx, struct dxk_policy *policy)
{
	spin_lock(&ctx->engine.lock);
	*policy = dxk_policy_is_fixed(ctx) ? ctx->engine.policy : ctx->policy;
	spin_unlock(&ctx->engine.lock);
	policy->size = sizeof(*policy);
	policy->bad_field = 0;
}
