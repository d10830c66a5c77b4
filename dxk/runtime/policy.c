// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy of a context: taken at once while it does not run, else at the Monitor's
 * next review.
 */
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/minmax.h>

#include "dxk_api.h"
#include "runtime/context.h"
#include "runtime/policy.h"

/**
 * dxk_policy_init - the default policy
 * @policy: out
 */
void dxk_policy_init(struct dxk_policy *policy)
{
	dxk_policy_default(policy, min_t(u32, num_online_cpus(), DXK_ID_WORKER_MAX));
}
EXPORT_SYMBOL_GPL(dxk_policy_init);

/* What a running context has or will have after the Monitor's next review. */
static const struct dxk_policy *dxk_policy_latest(const struct dxk_ctx *ctx)
{
	return ctx->policy_changed ? &ctx->next_policy : &ctx->engine.policy;
}

static int dxk_policy_set_locked(struct dxk_ctx *ctx, struct dxk_policy *policy)
{
	const struct dxk_field *f;
	int err;

	lockdep_assert_held(&ctx->mutex);

	err = dxk_policy_check(policy);
	if (err)
		return err;
	if (ctx->engine.state == DXK_CTX_NEW || ctx->engine.state == DXK_CTX_STOPPED) {
		spin_lock(&ctx->engine.lock);
		ctx->engine.policy = *policy;
		spin_unlock(&ctx->engine.lock);
		return 0;
	}
	for (f = dxk_fields; f < dxk_fields + dxk_fields_nr; f++) {
		if (f->dynamic || *dxk_field_of(policy, f) ==
				  *dxk_field_of(&ctx->engine.policy, f))
			continue;
		policy->bad_field = f->offset;
		return -EBUSY;
	}
	ctx->next_policy = *policy;
	ctx->policy_changed = true;
	dxk_control_kick(&ctx->control[DXK_MONITOR]);
	return 0;
}

/**
 * dxk_policy_set - take a policy
 * @ctx: the context
 * @policy: all fields; bad_field is set on error
 *
 * A running context takes it at the Monitor's next review, which this asks for.
 * Return: 0, -EINVAL, -EOPNOTSUPP, or -EBUSY for a field that is not dynamic.
 */
int dxk_policy_set(struct dxk_ctx *ctx, struct dxk_policy *policy)
{
	guard(mutex)(&ctx->mutex);
	return dxk_policy_set_locked(ctx, policy);
}

/**
 * dxk_policy_set_field - as dxk_policy_set(), for one field
 * @ctx: the context
 * @f: the field
 * @value: for it
 * @bad_field: out, as in struct dxk_policy; may be NULL
 */
int dxk_policy_set_field(struct dxk_ctx *ctx, const struct dxk_field *f, u32 value,
			 u32 *bad_field)
{
	struct dxk_policy policy;
	int err;

	mutex_lock(&ctx->mutex);
	policy = *dxk_policy_latest(ctx);
	*dxk_field_of(&policy, f) = value;
	err = dxk_policy_set_locked(ctx, &policy);
	mutex_unlock(&ctx->mutex);
	if (bad_field)
		*bad_field = policy.bad_field;
	return err;
}

/** dxk_policy_get - the policy in force */
void dxk_policy_get(struct dxk_ctx *ctx, struct dxk_policy *policy)
{
	spin_lock(&ctx->engine.lock);
	*policy = ctx->engine.policy;
	spin_unlock(&ctx->engine.lock);
	policy->size = sizeof(*policy);
	policy->bad_field = 0;
}
