// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stalls, as the engine knows them: work exists, and nobody can run it.
 */
#include "engine/stall.h"
#include "runtime/context.h"

/** dxk_nobody_can_run - is there work, and nobody who could run it? O(1) */
bool dxk_nobody_can_run(const struct dxk_ctx *ctx)
{
	const struct dxk_crew *crew = &ctx->crew;

	lockdep_assert_held(&ctx->lock);

	if (dxk_crew_awake(crew) || ctx->state != DXK_CTX_RUNNING)
		return false;
	if (dxk_crew_asleep(crew))
		return true;
	/* No request has begun. As long as a client is awake it may be the cure. */
	return crew->clients_asleep && crew->clients_asleep == crew->clients &&
	       (!dxk_ready_empty(&ctx->ready) || dxk_ready_has_posters(&ctx->ready));
}

/**
 * dxk_stall_suspect - a member has gone to sleep: was it the last one awake?
 * @ctx: the context, locked
 * @wakes: gets the Monitor's wake-up
 *
 * What this lock hold still gives to idle workers comes after: it may be a false
 * alarm, which costs one look of the Monitor.
 */
void dxk_stall_suspect(struct dxk_ctx *ctx, struct dxk_wakes *wakes)
{
	if (ctx->stall.watched || likely(!dxk_nobody_can_run(ctx)))
		return;
	ctx->stall.watched = true;
	wakes->monitor = true;
}
