// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands: from whoever has the context to the handler, and back when the
 * handler does not know them.
 *
 * A command that no handler takes is the context's own. Its sender runs it, with
 * its own patience; when nobody waits for it a work item does. So the handler
 * costs the context nothing: neither the Monitor nor a sender ever waits in it
 * for longer than it wants to (DX-32).
 *
 * The Monitor's part is to say when an interval is over: that is a tick for the
 * handler and the time to look for commands that are due.
 */
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "context.h"
#include "dxk_api.h"

/* Calls of kernel handlers, which may take as long as they like. */
static struct workqueue_struct *dxk_command_wq;

/* --- one command ----------------------------------------------------------- */

/**
 * dxk_command_new - a command, of which the caller has the only reference
 * @text: @len bytes, or NULL: the caller fills them in
 * @len: how many
 */
struct dxk_command *dxk_command_new(const char *text, u32 len)
{
	struct dxk_command *cmd = kzalloc(struct_size(cmd, text, len + 1),
					  GFP_KERNEL_ACCOUNT);

	if (!cmd)
		return ERR_PTR(-ENOMEM);
	refcount_set(&cmd->ref, 1);
	INIT_LIST_HEAD(&cmd->link);
	INIT_LIST_HEAD(&cmd->timed);
	dxk_waiter_init(&cmd->w);
	cmd->len = len;
	if (text)
		memcpy(cmd->text, text, len);
	return cmd;
}

void dxk_command_put(struct dxk_command *cmd)
{
	if (!refcount_dec_and_test(&cmd->ref))
		return;
	kfree(cmd->reply);
	kfree(cmd);
}

/* It leaves the queue, the handler or the list of own commands. */
static void dxk_command_drop(struct dxk_commands *c, struct dxk_command *cmd)
{
	cmd->pending = false;
	c->nr--;
	dxk_command_put(cmd);
}

static void dxk_command_wake(struct dxk_command *cmd, struct dxk_wakes *wakes)
{
	cmd->waiting = false;
	dxk_waiter_finish(&cmd->w, wakes);
}

/* The answer; takes over @reply. */
static void dxk_command_end(struct dxk_commands *c, struct dxk_command *cmd,
			    s32 status, char *reply, u32 len, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&c->lock);

	if (cmd->waiting) {
		cmd->status = status;
		cmd->reply = reply;
		cmd->reply_len = len;
		dxk_command_wake(cmd, wakes);
	} else {
		kfree(reply);
	}
	dxk_command_drop(c, cmd);
}

/* No handler takes it: it is the context's own. */
static void dxk_command_back(struct dxk_commands *c, struct dxk_command *cmd,
			     struct dxk_wakes *wakes)
{
	lockdep_assert_held(&c->lock);

	if (cmd->waiting) {
		cmd->back = true;
		dxk_command_wake(cmd, wakes);
		dxk_command_drop(c, cmd);
	} else {
		list_add_tail(&cmd->link, &c->own);
		queue_work(dxk_command_wq, &c->own_work);
	}
}

/* --- the handler ------------------------------------------------------------ */

/*
 * What the handler is to do next. Neither can keep the other away: after a tick
 * comes a command, and after a command the tick if there is one.
 */
static void dxk_command_take(struct dxk_commands *c, struct dxk_command_op *op)
{
	lockdep_assert_held(&c->lock);

	op->cmd = NULL;
	op->kind = 0;
	if (c->tick && !(c->ticked && !list_empty(&c->queue))) {
		c->tick = false;
		c->ticked = true;
		op->kind = DXK_COMMAND_TICK;
		return;
	}
	if (list_empty(&c->queue))
		return;
	c->ticked = false;
	op->kind = DXK_COMMAND_TEXT;
	op->cmd = list_first_entry(&c->queue, struct dxk_command, link);
	list_del_init(&op->cmd->link);
	/* Stop may answer it while the handler has it. */
	refcount_inc(&op->cmd->ref);
	c->held = op->cmd;
}

/* The handler is done with what it took, unless Stop or a new handler was. */
static void dxk_command_done(struct dxk_commands *c, struct dxk_command *cmd,
			     s32 status, char *reply, u32 len, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&c->lock);

	if (!cmd || c->held != cmd) {
		kfree(reply);
		return;
	}
	c->held = NULL;
	if (status == -ENOENT) {
		kfree(reply);
		dxk_command_back(c, cmd, wakes);
	} else {
		dxk_command_end(c, cmd, status, reply, len, wakes);
	}
}

/* There is something for the handler. */
static void dxk_command_nudge(struct dxk_commands *c, struct dxk_wakes *wakes)
{
	struct dxk_command_op *op = c->sleeper;

	lockdep_assert_held(&c->lock);

	if (c->kernel) {
		queue_work(dxk_command_wq, &c->call_work);
		return;
	}
	if (op) {
		dxk_command_take(c, op);
		if (op->kind) {
			c->sleeper = NULL;
			dxk_waiter_finish(&op->w, wakes);
		}
	}
	if (c->user)
		dxk_wake_member(wakes, c->user);
}

static void dxk_command_queue(struct dxk_commands *c, struct dxk_command *cmd,
			      struct dxk_wakes *wakes)
{
	lockdep_assert_held(&c->lock);

	refcount_inc(&cmd->ref);
	cmd->pending = true;
	c->nr++;
	if (!c->user && !c->kernel) {
		dxk_command_back(c, cmd, wakes);
		return;
	}
	list_add_tail(&cmd->link, &c->queue);
	dxk_command_nudge(c, wakes);
}

/* The user handler is one no longer; what it has not answered is not lost. */
static void dxk_command_dismiss(struct dxk_commands *c, enum dxk_handling now,
				struct dxk_wakes *wakes)
{
	struct dxk_command_op *op = c->sleeper;

	lockdep_assert_held(&c->lock);

	if (!c->user)
		return;
	dxk_wake_member(wakes, c->user);
	c->user->handling = now;
	c->user = NULL;
	if (op) {
		op->err = -ESTALE;
		c->sleeper = NULL;
		dxk_waiter_finish(&op->w, wakes);
	}
	if (c->held)
		dxk_command_done(c, c->held, -ENOENT, NULL, 0, wakes);
}

/* No handler is there to take what is queued. */
static void dxk_command_unhand(struct dxk_commands *c, struct dxk_wakes *wakes)
{
	struct dxk_command *cmd, *next;

	lockdep_assert_held(&c->lock);

	c->tick = false;
	list_for_each_entry_safe(cmd, next, &c->queue, link) {
		list_del_init(&cmd->link);
		dxk_command_back(c, cmd, wakes);
	}
}

/* Ticks begin: the first comes when an interval is over. */
static void dxk_command_wind(struct dxk_ctx *ctx)
{
	u64 interval = READ_ONCE(ctx->policy.monitor_interval_ms) * NSEC_PER_MSEC;
	struct dxk_commands *c = &ctx->commands;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&c->lock);

	/*
	 * Not when it is overdue: who attaches often must not keep ticks away. At
	 * first there is none, however short ago the machine was booted.
	 */
	if (!c->next_tick || c->next_tick + interval <= now)
		c->next_tick = now + interval;
}

/* --- ticks ------------------------------------------------------------------ */

/* In the order of their time, equal ones in that of their making. */
static void dxk_command_sort_in(struct dxk_commands *c, struct dxk_command *cmd)
{
	struct dxk_command *pos;

	list_for_each_entry_reverse(pos, &c->timed, timed)
		if (pos->at <= cmd->at)
			break;
	list_add(&cmd->timed, &pos->timed);
}

static void dxk_command_untime(struct dxk_commands *c, struct dxk_command *cmd)
{
	list_del_init(&cmd->timed);
	c->nr_timed--;
	dxk_command_put(cmd);
}

/* When it is due again: what was missed meanwhile is left out. False: never. */
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
		/* An earlier run that still waits is this one, too. */
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

/**
 * dxk_commands_tick - the Monitor's turn (DX-29)
 * @ctx: the context
 * @ms: how long the Monitor would sleep, or %DXK_PARK
 *
 * Nothing is done while there is neither a handler nor a timed command.
 * Return: how long it is to sleep.
 */
u32 dxk_commands_tick(struct dxk_ctx *ctx, u32 ms)
{
	u64 interval = READ_ONCE(ctx->policy.monitor_interval_ms) * NSEC_PER_MSEC;
	struct dxk_commands *c = &ctx->commands;
	struct dxk_wakes wakes;
	u64 now, left;

	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	/* A process that dies closes the member; this finds the single thread. */
	if (c->user && dxk_member_is_dead(c->user)) {
		dxk_command_dismiss(c, DXK_HANDLES_NOT, &wakes);
		dxk_command_unhand(c, &wakes);
	}
	if (!c->open || (!c->user && !c->kernel && list_empty(&c->timed))) {
		spin_unlock(&c->lock);
		goto out;
	}
	now = ktime_get_ns();
	if (now >= c->next_tick) {
		c->next_tick += interval;
		if (c->next_tick <= now)
			c->next_tick = now + interval;
		dxk_command_due(c, now, &wakes);
		if (c->user || c->kernel) {
			c->tick = true;
			dxk_command_nudge(c, &wakes);
		}
	}
	/* The interval may have become shorter. */
	c->next_tick = min(c->next_tick, now + interval);
	left = c->next_tick - now;
	spin_unlock(&c->lock);

	left = DIV_ROUND_UP_ULL(left, NSEC_PER_MSEC);
	ms = ms == DXK_PARK ? left : min_t(u64, ms, left);
out:
	dxk_wakes_flush(ctx, &wakes);
	return ms;
}

/* --- sending ---------------------------------------------------------------- */

/*
 * Does the sender wait for nobody else? A handler that sends, to do more than the
 * context's own command does (DX-30), would wait for itself.
 */
static bool dxk_command_alone(const struct dxk_commands *c)
{
	if (c->kernel)
		return current_work() == &c->call_work;
	return !c->user || c->user->pid == task_pid(current);
}

/**
 * dxk_command_send - have a command executed
 * @ctx: the context
 * @cmd: its answer is set when this returns 0
 * @deadline: how long to wait for the answer, 0 for not at all
 *
 * Return: 0; -ESHUTDOWN, -EAGAIN: too many wait; -ETIMEDOUT, -EINTR: no answer so
 * far.
 */
int dxk_command_send(struct dxk_ctx *ctx, struct dxk_command *cmd, u64 deadline)
{
	struct dxk_commands *c = &ctx->commands;
	struct dxk_wakes wakes;
	int err = 0;

	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	if (!c->open) {
		err = -ESHUTDOWN;
	} else if (deadline ? dxk_command_alone(c) : !c->user && !c->kernel) {
		spin_unlock(&c->lock);
		dxk_command_own(ctx, cmd, deadline);
		return 0;
	} else if (c->nr >= DXK_COMMANDS_MAX) {
		err = -EAGAIN;
	} else {
		cmd->waiting = deadline;
		dxk_command_queue(c, cmd, &wakes);
	}
	spin_unlock(&c->lock);
	dxk_wakes_flush(ctx, &wakes);
	if (err || !deadline)
		return err;

	err = dxk_waiter_doze(&cmd->w, deadline);
	if (err) {
		/* An answer in the last moment wins. */
		spin_lock(&c->lock);
		if (!cmd->waiting)
			err = 0;
		cmd->waiting = false;
		spin_unlock(&c->lock);
	}
	if (!err && cmd->back)
		dxk_command_own(ctx, cmd, deadline);
	/* Not to be restarted: it would be sent again. */
	return err == -ERESTARTSYS ? -EINTR : err;
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
 * @ctx: the context
 * @cmd: the caller's reference goes over when this returns 0
 * @at: CLOCK_MONOTONIC in ns, 0 for now
 * @every: ns between further runs, 0 for none
 * @id: out, for dxk_command_cancel()
 */
int dxk_command_schedule(struct dxk_ctx *ctx, struct dxk_command *cmd, u64 at,
			 u64 every, u32 *id)
{
	struct dxk_commands *c = &ctx->commands;
	int err = 0;

	cmd->at = at ?: ktime_get_ns();
	cmd->every = every;
	spin_lock(&c->lock);
	if (!c->open) {
		err = -ESHUTDOWN;
	} else if (c->nr_timed >= DXK_COMMANDS_MAX) {
		err = -EAGAIN;
	} else {
		do {
			c->last_id = c->last_id == S32_MAX ? 1 : c->last_id + 1;
		} while (dxk_command_id_used(c, c->last_id));
		*id = cmd->id = c->last_id;
		c->nr_timed++;
		dxk_command_sort_in(c, cmd);
		dxk_command_wind(ctx);
	}
	spin_unlock(&c->lock);
	if (!err)
		dxk_thread_kick(&ctx->monitor);
	return err;
}

/** dxk_command_cancel - forget a timed command; a run that waits still comes */
int dxk_command_cancel(struct dxk_ctx *ctx, u32 id)
{
	struct dxk_commands *c = &ctx->commands;
	struct dxk_command *cmd;
	int err = -ESRCH;

	spin_lock(&c->lock);
	list_for_each_entry(cmd, &c->timed, timed) {
		if (cmd->id != id)
			continue;
		dxk_command_untime(c, cmd);
		err = 0;
		break;
	}
	spin_unlock(&c->lock);
	return err;
}

/* Own commands that nobody waits for. */
static void dxk_command_own_work(struct work_struct *work)
{
	struct dxk_commands *c = container_of(work, struct dxk_commands, own_work);
	struct dxk_ctx *ctx = container_of(c, struct dxk_ctx, commands);
	struct dxk_command *cmd;

	for (;;) {
		spin_lock(&c->lock);
		cmd = list_first_entry_or_null(&c->own, struct dxk_command, link);
		if (cmd) {
			list_del_init(&cmd->link);
			refcount_inc(&cmd->ref);
			dxk_command_drop(c, cmd);
		}
		spin_unlock(&c->lock);
		if (!cmd)
			return;
		dxk_command_own(ctx, cmd, 0);
		dxk_command_put(cmd);
		cond_resched();
	}
}

/* --- user handlers ---------------------------------------------------------- */

/* The kernel's handler goes. When this returns no call of it is in progress. */
static void dxk_command_end_kernel(struct dxk_ctx *ctx, bool replaced)
{
	struct dxk_commands *c = &ctx->commands;
	struct dxk_command_handler *old;
	struct dxk_wakes wakes;

	lockdep_assert_held(&c->attach);

	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	old = c->kernel;
	c->kernel = NULL;
	if (!replaced && !c->user)
		dxk_command_unhand(c, &wakes);
	spin_unlock(&c->lock);
	dxk_wakes_flush(ctx, &wakes);
	if (!old)
		return;
	cancel_work_sync(&c->call_work);
	module_put(old->owner);
}

/**
 * dxk_command_attach - a member becomes the handler, or is it no longer (DX-31)
 * @m: the calling thread's member
 * @attach: which
 */
int dxk_command_attach(struct dxk_member *m, bool attach)
{
	struct dxk_ctx *ctx = m->ctx;
	struct dxk_commands *c = &ctx->commands;
	struct dxk_wakes wakes;

	if (!attach) {
		dxk_command_detach(m);
		return 0;
	}
	if (mutex_lock_interruptible(&c->attach))
		return -ERESTARTSYS;
	dxk_command_end_kernel(ctx, true);
	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	if (c->user != m) {
		dxk_command_dismiss(c, DXK_HANDLES_NO_MORE, &wakes);
		c->user = m;
		m->handling = DXK_HANDLES;
		c->tick = false;
		dxk_command_wind(ctx);
		dxk_command_nudge(c, &wakes);
	}
	spin_unlock(&c->lock);
	dxk_wakes_flush(ctx, &wakes);
	mutex_unlock(&c->attach);
	dxk_thread_kick(&ctx->monitor);
	return 0;
}

/** dxk_command_detach - the member is the handler no longer, if it was */
void dxk_command_detach(struct dxk_member *m)
{
	struct dxk_commands *c = &m->ctx->commands;
	struct dxk_wakes wakes;

	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	m->handling = DXK_HANDLES_NOT;
	if (c->user == m) {
		dxk_command_dismiss(c, DXK_HANDLES_NOT, &wakes);
		dxk_command_unhand(c, &wakes);
	}
	spin_unlock(&c->lock);
	dxk_wakes_flush(m->ctx, &wakes);
}

static int dxk_command_may_handle(const struct dxk_member *m)
{
	switch (m->handling) {
	case DXK_HANDLES:
		return 0;
	case DXK_HANDLES_NO_MORE:
		return -ESTALE;
	default:
		return -EPERM;
	}
}

/** dxk_command_holds - 1: the member owes an answer, 0: not; or why it cannot */
int dxk_command_holds(struct dxk_member *m)
{
	struct dxk_commands *c = &m->ctx->commands;
	int ret;

	spin_lock(&c->lock);
	ret = dxk_command_may_handle(m) ?: !!c->held;
	spin_unlock(&c->lock);
	return ret;
}

/** dxk_command_answer - the answer to what the member holds; takes over @reply */
void dxk_command_answer(struct dxk_member *m, s32 status, char *reply, u32 len)
{
	struct dxk_commands *c = &m->ctx->commands;
	struct dxk_wakes wakes;

	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	dxk_command_done(c, c->user == m ? c->held : NULL, status, reply, len, &wakes);
	spin_unlock(&c->lock);
	dxk_wakes_flush(m->ctx, &wakes);
}

/**
 * dxk_command_next - sleep until there is something for the handler
 * @m: the handler; holds nothing
 * @op: out; a command in it is to be put
 * @deadline: of the sleep
 */
int dxk_command_next(struct dxk_member *m, struct dxk_command_op *op, u64 deadline)
{
	struct dxk_commands *c = &m->ctx->commands;
	int err;

	dxk_waiter_init(&op->w);
	op->err = 0;
	op->kind = 0;
	spin_lock(&c->lock);
	err = dxk_command_may_handle(m);
	if (!err)
		dxk_command_take(c, op);
	if (!err && !op->kind) {
		if (c->open)
			c->sleeper = op;
		else
			err = -ESHUTDOWN;
	}
	if (c->sleeper == op)
		dxk_member_set_state(m, DXK_M_LISTENING);
	spin_unlock(&c->lock);
	if (err || op->kind)
		return err;

	err = dxk_waiter_doze(&op->w, deadline);
	if (err) {
		spin_lock(&c->lock);
		if (c->sleeper == op)
			c->sleeper = NULL;
		else
			err = 0;
		spin_unlock(&c->lock);
	}
	dxk_member_set_state(m, dxk_member_home_state(m));
	return err ?: op->err;
}

/** dxk_command_return - the handler could not get what it was given */
void dxk_command_return(struct dxk_member *m, struct dxk_command_op *op)
{
	struct dxk_commands *c = &m->ctx->commands;

	spin_lock(&c->lock);
	/* A new handler may have it by now. */
	if (c->user != m) {
		spin_unlock(&c->lock);
		return;
	}
	if (op->kind == DXK_COMMAND_TICK) {
		c->tick = true;
		c->ticked = false;
	} else if (op->cmd && c->held == op->cmd) {
		c->held = NULL;
		list_add(&op->cmd->link, &c->queue);
	}
	spin_unlock(&c->lock);
}

/** dxk_command_readable - would dxk_command_next() not sleep? */
bool dxk_command_readable(struct dxk_member *m)
{
	struct dxk_commands *c = &m->ctx->commands;
	bool yes;

	spin_lock(&c->lock);
	yes = m->handling == DXK_HANDLES_NO_MORE ||
	      (m->handling == DXK_HANDLES &&
	       (c->tick || !list_empty(&c->queue) || !c->open));
	spin_unlock(&c->lock);
	return yes;
}

/* --- kernel handlers -------------------------------------------------------- */

/* One call of the handler for a command. */
static void dxk_command_call(struct dxk_ctx *ctx, struct dxk_command_handler *h,
			     struct dxk_command *cmd)
{
	struct dxk_commands *c = &ctx->commands;
	char *reply = kzalloc(DXK_COMMAND_MAX + 1, GFP_KERNEL);
	struct dxk_wakes wakes;
	int status = -ENOMEM;
	u32 len = 0;

	if (reply) {
		status = h->command ? h->command(h, ctx, cmd->text, reply,
						 DXK_COMMAND_MAX + 1) : -ENOENT;
		len = strnlen(reply, DXK_COMMAND_MAX);
	}
	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	dxk_command_done(c, cmd, status, reply, len, &wakes);
	spin_unlock(&c->lock);
	dxk_wakes_flush(ctx, &wakes);
	dxk_command_put(cmd);
}

static void dxk_command_call_work(struct work_struct *work)
{
	struct dxk_commands *c = container_of(work, struct dxk_commands, call_work);
	struct dxk_ctx *ctx = container_of(c, struct dxk_ctx, commands);
	struct dxk_command_handler *h;
	struct dxk_command_op op;

	for (;;) {
		op.kind = 0;
		spin_lock(&c->lock);
		h = c->kernel;
		if (h)
			dxk_command_take(c, &op);
		spin_unlock(&c->lock);
		if (!op.kind)
			return;
		if (op.kind == DXK_COMMAND_TEXT)
			dxk_command_call(ctx, h, op.cmd);
		else if (h->tick)
			h->tick(h, ctx);
		cond_resched();
	}
}

/**
 * dxk_attach_command_handler - set the handler of an in-kernel client's context
 * @ctx: the context, started or not
 * @h: replaces the handler that there is (DX-31); %NULL for none
 *
 * When this returns no call of an earlier handler is in progress and none will
 * come; it waits for one that is, however long that takes. The handler stays
 * attached over Stop and Start, but is called only while the context runs.
 *
 * Return: 0; -EDEADLK in a call of the handler; -ENODEV when its module goes.
 */
int dxk_attach_command_handler(struct dxk_ctx *ctx, struct dxk_command_handler *h)
{
	struct dxk_commands *c = &ctx->commands;
	struct dxk_wakes wakes;

	if (current_work() == &c->call_work)
		return -EDEADLK;
	if (h && !try_module_get(h->owner))
		return -ENODEV;
	mutex_lock(&c->attach);
	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	dxk_command_dismiss(c, DXK_HANDLES_NO_MORE, &wakes);
	spin_unlock(&c->lock);
	dxk_wakes_flush(ctx, &wakes);
	dxk_command_end_kernel(ctx, h);

	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	c->kernel = h;
	if (h) {
		c->tick = false;
		dxk_command_wind(ctx);
		dxk_command_nudge(c, &wakes);
	}
	spin_unlock(&c->lock);
	dxk_wakes_flush(ctx, &wakes);
	mutex_unlock(&c->attach);
	dxk_thread_kick(&ctx->monitor);
	return 0;
}
EXPORT_SYMBOL_GPL(dxk_attach_command_handler);

static struct dxk_command *dxk_command_make(const char *text)
{
	size_t len = strnlen(text, DXK_COMMAND_MAX + 1);

	if (!len)
		return ERR_PTR(-EINVAL);
	if (len > DXK_COMMAND_MAX)
		return ERR_PTR(-EMSGSIZE);
	return dxk_command_new(text, len);
}

/**
 * dxk_send_command - send a command to an in-kernel client's context
 * @ctx: the context
 * @text: the command
 * @reply: out, the reply, zero-terminated, cut if it is longer; may be %NULL
 * @room: bytes at @reply
 * @deadline: how long to wait for the reply; 0 does not wait and gets none
 *
 * Return: the status of the command, or why it was not executed: see struct
 * dxk_command_send.
 */
int dxk_send_command(struct dxk_ctx *ctx, const char *text, char *reply, size_t room,
		     u64 deadline)
{
	struct dxk_command *cmd = dxk_command_make(text);
	int err;

	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	err = dxk_command_send(ctx, cmd, deadline);
	if (!err && deadline) {
		err = cmd->status;
		if (reply && room)
			scnprintf(reply, room, "%.*s", (int)cmd->reply_len,
				  cmd->reply ?: "");
	}
	dxk_command_put(cmd);
	return err;
}
EXPORT_SYMBOL_GPL(dxk_send_command);

/**
 * dxk_send_timed_command - send a command that runs later
 * @ctx: the context
 * @text: the command
 * @at: CLOCK_MONOTONIC time in ns, 0 for now
 * @every_ns: interval of further runs, 0 for none
 * @id: out, for the command "cancel ID"
 *
 * Return: 0; -EAGAIN when there are too many, -EINVAL, -EMSGSIZE, -ESHUTDOWN,
 * -ENOMEM.
 */
int dxk_send_timed_command(struct dxk_ctx *ctx, const char *text, u64 at,
			   u64 every_ns, u32 *id)
{
	struct dxk_command *cmd = dxk_command_make(text);
	int err;

	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	err = dxk_command_schedule(ctx, cmd, at, every_ns, id);
	if (err)
		dxk_command_put(cmd);
	return err;
}
EXPORT_SYMBOL_GPL(dxk_send_timed_command);

/* --- the context ------------------------------------------------------------ */

void dxk_commands_init(struct dxk_commands *c)
{
	spin_lock_init(&c->lock);
	mutex_init(&c->attach);
	INIT_LIST_HEAD(&c->queue);
	INIT_LIST_HEAD(&c->own);
	INIT_LIST_HEAD(&c->timed);
	INIT_WORK(&c->call_work, dxk_command_call_work);
	INIT_WORK(&c->own_work, dxk_command_own_work);
}

/** dxk_commands_open - the context runs */
void dxk_commands_open(struct dxk_ctx *ctx)
{
	struct dxk_commands *c = &ctx->commands;

	spin_lock(&c->lock);
	c->open = true;
	if (c->user || c->kernel)
		dxk_command_wind(ctx);
	spin_unlock(&c->lock);
}

/** dxk_commands_close - the context ends: no sender waits any longer */
void dxk_commands_close(struct dxk_ctx *ctx)
{
	struct dxk_commands *c = &ctx->commands;
	struct dxk_command_op *op;
	struct dxk_command *cmd, *next;
	struct dxk_wakes wakes;

	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	c->open = false;
	c->tick = false;
	if (c->held)
		dxk_command_end(c, c->held, -ESHUTDOWN, NULL, 0, &wakes);
	c->held = NULL;
	list_for_each_entry_safe(cmd, next, &c->queue, link) {
		list_del_init(&cmd->link);
		dxk_command_end(c, cmd, -ESHUTDOWN, NULL, 0, &wakes);
	}
	list_for_each_entry_safe(cmd, next, &c->own, link) {
		list_del_init(&cmd->link);
		dxk_command_drop(c, cmd);
	}
	list_for_each_entry_safe(cmd, next, &c->timed, timed)
		dxk_command_untime(c, cmd);
	op = c->sleeper;
	if (op) {
		op->err = -ESHUTDOWN;
		c->sleeper = NULL;
		dxk_waiter_finish(&op->w, &wakes);
	}
	if (c->user)
		dxk_wake_member(&wakes, c->user);
	spin_unlock(&c->lock);
	dxk_wakes_flush(ctx, &wakes);
}

/** dxk_commands_exit - the context goes: nothing of this runs any more */
void dxk_commands_exit(struct dxk_ctx *ctx)
{
	dxk_attach_command_handler(ctx, NULL);
	cancel_work_sync(&ctx->commands.own_work);
}

int dxk_command_init(void)
{
	dxk_command_wq = alloc_workqueue("dxk", WQ_UNBOUND, 0);
	return dxk_command_wq ? 0 : -ENOMEM;
}

void dxk_command_exit(void)
{
	destroy_workqueue(dxk_command_wq);
}
