// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ticks for the command handler, and commands that are due: the Monitor calls this code
 * when an interval is over.
 */
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/overflow.h>

#include "compat.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/os.h"
#include "services/command.h"

/* Begin to tick: the first tick comes when an interval is over. */
void dxk_command_wind(struct dxk_commands *c)
{
	u64 interval = READ_ONCE(c->engine->policy.monitor_interval_ms) * NSEC_PER_MSEC;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&c->lock);

	/*
	 * Not while a tick is due: frequent attaching must not delay ticks. Zero means that
	 * no time is set yet, however recently the machine was booted.
	 */
	if (!c->next_tick || c->next_tick + interval <= now)
		c->next_tick = now + interval;
}

/* Sorted by time; commands with equal times are in the order in which they were made. */
static void dxk_command_sort_in(struct dxk_commands *c, struct dxk_command *cmd)
{
	struct dxk_command *pos;

	list_for_each_entry_reverse(pos, &c->timed, timed)
		if (pos->at <= cmd->at)
			break;
	list_add(&cmd->timed, &pos->timed);
}

void dxk_command_untime(struct dxk_commands *c, struct dxk_command *cmd)
{
	list_del_init(&cmd->timed);
	c->nr_timed--;
	dxk_command_put(cmd);
}

/* Set when it is due again, skipping runs missed meanwhile. Return: false: never. */
static bool dxk_command_rearm(struct dxk_command *cmd, u64 now)
{
	u64 steps;

	if (!cmd->every)
		return false;
	steps = div64_u64(now - cmd->at, cmd->every) + 1;
	return !check_mul_overflow(steps, cmd->every, &steps) &&
	       !check_add_overflow(cmd->at, steps, &cmd->at);
}

/* Commands that are due enter the queue as if they were sent now. */
static void dxk_command_due(struct dxk_commands *c, u64 now, struct dxk_wakes *wakes)
{
	struct dxk_command *cmd;

	lockdep_assert_held(&c->lock);

	while ((cmd = list_first_entry_or_null(&c->timed, struct dxk_command, timed))) {
		/* Without room it waits for the next tick. */
		if (cmd->at > now || c->nr >= DXK_COMMANDS_MAX)
			break;
		/* An earlier run that still waits counts as this one, too. */
		if (!cmd->pending)
			dxk_command_queue(c, cmd, wakes);
		if (dxk_command_rearm(cmd, now)) {
			list_del(&cmd->timed);
			dxk_command_sort_in(c, cmd);
		} else {
			dxk_command_untime(c, cmd);
		}
	}
}

/* If the interval is over, it is a tick. Return: ns to the next one, 0 for none. */
static u64 dxk_commands_interval(struct dxk_commands *c, struct dxk_wakes *wakes)
{
	u64 interval = READ_ONCE(c->engine->policy.monitor_interval_ms) * NSEC_PER_MSEC;
	u64 now;

	guard(spinlock)(&c->lock);
	if (!c->open || (!c->user && !c->kernel && list_empty(&c->timed)))
		return 0;
	now = ktime_get_ns();
	if (now >= c->next_tick) {
		c->next_tick += interval;
		if (c->next_tick <= now)
			c->next_tick = now + interval;
		dxk_command_due(c, now, wakes);
		if (c->user || c->kernel) {
			c->tick = true;
			dxk_command_nudge(c, wakes);
		}
	}
	/* The interval may have become shorter. */
	c->next_tick = min(c->next_tick, now + interval);
	return c->next_tick - now;
}

/**
 * dxk_commands_tick - the Monitor's turn (DX-29)
 * @c: the commands of the context
 * @ms: how long the Monitor would sleep, 0 for no limit
 *
 * This does nothing while there is neither a handler nor a timed command.
 * Return: how long the Monitor must sleep, in ms.
 */
u32 dxk_commands_tick(struct dxk_commands *c, u32 ms)
{
	struct dxk_wakes wakes;
	u64 left;

	dxk_wakes_init(&wakes);
	left = DIV_ROUND_UP_ULL(dxk_commands_interval(c, &wakes), NSEC_PER_MSEC);
	dxk_wakes_flush(c->engine, &wakes);
	if (!left)
		return ms;
	return ms ? min_t(u64, ms, left) : left;
}

static bool dxk_command_id_used(const struct dxk_commands *c, u32 id)
{
	const struct dxk_command *cmd;

	list_for_each_entry(cmd, &c->timed, timed)
		if (cmd->id == id)
			return true;
	return false;
}

/**
 * dxk_command_schedule - have a command executed later
 * @c: the commands of the context
 * @cmd: the caller's reference is taken over when this returns 0
 * @at: CLOCK_MONOTONIC in ns, 0 for now
 * @every: ns between further runs, 0 for none
 * @id: out, for dxk_command_cancel()
 */
int dxk_command_schedule(struct dxk_commands *c, struct dxk_command *cmd, u64 at,
			 u64 every, u32 *id)
{
	cmd->at = at ?: ktime_get_ns();
	cmd->every = every;
	scoped_guard(spinlock, &c->lock) {
		if (!c->open)
			return -ESHUTDOWN;
		if (c->nr_timed >= DXK_COMMANDS_MAX)
			return -EAGAIN;
		do {
			c->last_id = c->last_id == S32_MAX ? 1 : c->last_id + 1;
		} while (dxk_command_id_used(c, c->last_id));
		*id = cmd->id = c->last_id;
		c->nr_timed++;
		dxk_command_sort_in(c, cmd);
		dxk_command_wind(c);
	}
	os_kick(c->engine, DXK_MONITOR);
	return 0;
}

/** dxk_command_cancel - remove a timed command; a run that is queued still happens */
int dxk_command_cancel(struct dxk_commands *c, u32 id)
{
	struct dxk_command *cmd;

	guard(spinlock)(&c->lock);
	list_for_each_entry(cmd, &c->timed, timed) {
		if (cmd->id != id)
			continue;
		dxk_command_untime(c, cmd);
		return 0;
	}
	return -ESRCH;
}
