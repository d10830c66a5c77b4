// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command handler: a member, which fetches commands, or an in-kernel client, which
 * is called. Never both: the last one to attach is the handler (DX-31).
 */
#include <linux/export.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat.h"
#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/os.h"
#include "services/command.h"

/* Detach the user handler; a command that it has not answered is handed back. */
static void dxk_command_dismiss(struct dxk_commands *c, enum dxk_handler_state now,
				struct dxk_wakes *wakes)
{
	struct dxk_command_op *op = c->sleeper;

	lockdep_assert_held(&c->lock);

	if (!c->user)
		return;
	dxk_wake_member(wakes, c->user->m);
	c->user->state = now;
	c->user = NULL;
	if (op) {
		op->err = -ESTALE;
		c->sleeper = NULL;
		dxk_waiter_finish(&op->w, wakes);
	}
	if (c->held)
		dxk_command_done(c, c->held, -ENOENT, NULL, 0, wakes);
}

/* There is no handler to take the queued commands. */
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

/** dxk_commands_user - get the member that is the handler, with a reference; or NULL */
struct dxk_member *dxk_commands_user(struct dxk_commands *c)
{
	guard(spinlock)(&c->lock);
	if (!c->user)
		return NULL;
	os_member_get(c->user->m);
	return c->user->m;
}

void dxk_user_handler_init(struct dxk_user_handler *h, struct dxk_commands *c,
			   struct dxk_member *m)
{
	h->commands = c;
	h->m = m;
}

/* There is a new handler: its interval begins, and queued commands are for it. */
static void dxk_command_begin(struct dxk_commands *c, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&c->lock);

	c->tick = false;
	dxk_command_wind(c);
	dxk_command_nudge(c, wakes);
}

/* --- user handlers ---------------------------------------------------------- */

/* Detach the kernel handler. When this returns, no call of it is in progress. */
static void dxk_command_end_kernel(struct dxk_commands *c, bool replaced)
{
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
	dxk_wakes_flush(c->engine, &wakes);
	if (!old)
		return;
	cancel_work_sync(&c->call_work);
	module_put(old->owner);
}

/**
 * dxk_command_attach - attach or detach a member as the handler (DX-31)
 * @h: of the calling thread's member
 * @attach: which
 */
int dxk_command_attach(struct dxk_user_handler *h, bool attach)
{
	struct dxk_commands *c = h->commands;
	struct dxk_wakes wakes;

	if (!attach) {
		dxk_command_detach(h);
		return 0;
	}
	if (mutex_lock_interruptible(&c->attach))
		return -ERESTARTSYS;
	dxk_command_end_kernel(c, true);
	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	if (c->user != h) {
		dxk_command_dismiss(c, DXK_HANDLES_NO_MORE, &wakes);
		c->user = h;
		h->task = current;
		h->state = DXK_HANDLES;
		dxk_command_begin(c, &wakes);
	}
	spin_unlock(&c->lock);
	dxk_wakes_flush(c->engine, &wakes);
	mutex_unlock(&c->attach);
	os_kick(c->engine, DXK_MONITOR);
	return 0;
}

/** dxk_command_detach - detach a member, if it is the handler */
void dxk_command_detach(struct dxk_user_handler *h)
{
	struct dxk_commands *c = h->commands;
	struct dxk_wakes wakes;

	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	h->state = DXK_HANDLES_NOT;
	if (c->user == h) {
		dxk_command_dismiss(c, DXK_HANDLES_NOT, &wakes);
		dxk_command_unhand(c, &wakes);
	}
	spin_unlock(&c->lock);
	dxk_wakes_flush(c->engine, &wakes);
}

static int dxk_command_may_handle(const struct dxk_user_handler *h)
{
	switch (h->state) {
	case DXK_HANDLES:
		return 0;
	case DXK_HANDLES_NO_MORE:
		return -ESTALE;
	default:
		return -EPERM;
	}
}

/** dxk_command_holds - whether the member owes an answer: 1, 0, or an error: it is no handler */
int dxk_command_holds(struct dxk_user_handler *h)
{
	struct dxk_commands *c = h->commands;

	guard(spinlock)(&c->lock);
	return dxk_command_may_handle(h) ?: !!c->held;
}

/** dxk_command_answer - answer the command that the member holds; takes over @reply */
void dxk_command_answer(struct dxk_user_handler *h, s32 status, char *reply, u32 len)
{
	struct dxk_commands *c = h->commands;
	struct dxk_wakes wakes;

	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	dxk_command_done(c, c->user == h ? c->held : NULL, status, reply, len, &wakes);
	spin_unlock(&c->lock);
	dxk_wakes_flush(c->engine, &wakes);
}

/* Take the next tick or command, or stand by for it. Return: 0, an error, or 1: sleep. */
static int dxk_command_stand_by(struct dxk_user_handler *h, struct dxk_command_op *op)
{
	struct dxk_commands *c = h->commands;
	int err;

	guard(spinlock)(&c->lock);
	err = dxk_command_may_handle(h);
	if (err)
		return err;
	dxk_command_take(c, op);
	if (op->kind)
		return 0;
	if (!c->open)
		return -ESHUTDOWN;
	c->sleeper = op;
	dxk_member_set_state(h->m, DXK_M_LISTENING);
	return 1;
}

/**
 * dxk_command_next - sleep until there is a tick or command for the handler
 * @h: the handler; holds nothing
 * @op: out; a command in it is to be put
 * @deadline: of the sleep
 */
int dxk_command_next(struct dxk_user_handler *h, struct dxk_command_op *op, u64 deadline)
{
	struct dxk_commands *c = h->commands;
	int err;

	dxk_waiter_init(&op->w);
	op->err = 0;
	op->kind = 0;
	err = dxk_command_stand_by(h, op);
	/* From here on another task may fill in @op, so it must not be read. */
	if (err <= 0)
		return err;

	dxk_rest(h->m, true);
	err = os_doze(&op->w.done, NULL, deadline);
	dxk_rest(h->m, false);
	if (err) {
		spin_lock(&c->lock);
		if (c->sleeper == op)
			c->sleeper = NULL;
		else
			err = 0;
		spin_unlock(&c->lock);
	}
	dxk_member_set_state(h->m, dxk_member_home_state(h->m));
	return err ?: op->err;
}

/** dxk_command_return - take back a tick or command that could not be copied out */
void dxk_command_return(struct dxk_user_handler *h, struct dxk_command_op *op)
{
	struct dxk_commands *c = h->commands;

	guard(spinlock)(&c->lock);
	/* A new handler may have it by now. */
	if (c->user != h)
		return;
	if (op->kind == DXK_COMMAND_TICK) {
		c->tick = true;
		c->ticked = false;
	} else if (op->cmd && c->held == op->cmd) {
		c->held = NULL;
		list_add(&op->cmd->link, &c->queue);
	}
}

/** dxk_command_readable - whether dxk_command_next() would not sleep */
bool dxk_command_readable(struct dxk_user_handler *h)
{
	struct dxk_commands *c = h->commands;

	guard(spinlock)(&c->lock);
	return h->state == DXK_HANDLES_NO_MORE ||
	       (h->state == DXK_HANDLES &&
		(c->tick || !list_empty(&c->queue) || !c->open));
}

/* --- kernel handlers -------------------------------------------------------- */

/* One call of the handler for a command. */
static void dxk_command_call(struct dxk_commands *c, struct dxk_command_handler *h,
			     struct dxk_command *cmd)
{
	char *reply = kzalloc(DXK_COMMAND_MAX + 1, GFP_KERNEL);
	struct dxk_wakes wakes;
	int status = -ENOMEM;
	u32 len = 0;

	if (reply) {
		status = h->command ? h->command(h, c->ctx, cmd->text, reply,
						 DXK_COMMAND_MAX + 1) : -ENOENT;
		len = strnlen(reply, DXK_COMMAND_MAX);
	}
	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	dxk_command_done(c, cmd, status, reply, len, &wakes);
	spin_unlock(&c->lock);
	dxk_wakes_flush(c->engine, &wakes);
	dxk_command_put(cmd);
}

void dxk_command_call_work(struct work_struct *work)
{
	struct dxk_commands *c = container_of(work, struct dxk_commands, call_work);
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
			dxk_command_call(c, h, op.cmd);
		else if (h->tick)
			h->tick(h, c->ctx);
		cond_resched();
	}
}

/** dxk_command_attach_kernel - see dxk_attach_command_handler() */
int dxk_command_attach_kernel(struct dxk_commands *c, struct dxk_command_handler *h)
{
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
	dxk_wakes_flush(c->engine, &wakes);
	dxk_command_end_kernel(c, h);

	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	c->kernel = h;
	if (h)
		dxk_command_begin(c, &wakes);
	spin_unlock(&c->lock);
	dxk_wakes_flush(c->engine, &wakes);
	mutex_unlock(&c->attach);
	os_kick(c->engine, DXK_MONITOR);
	return 0;
}
