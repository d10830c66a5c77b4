// SPDX-License-Identifier: GPL-2.0-only
/*
 * A member of the Thread Pool as the kernel sees it: one thread and its state.
 */
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "compat.h"
#include "engine/calls.h"
#include "runtime/context.h"
#include "runtime/slot.h"
#include "runtime/thread.h"

/** dxk_thread_new - make a member that has not joined yet; the caller has the reference */
struct dxk_thread *dxk_thread_new(struct dxk_ctx *ctx, enum dxk_role role,
				  enum dxk_kind kind)
{
	struct dxk_thread *t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);

	if (!t)
		return ERR_PTR(-ENOMEM);
	dxk_member_init(&t->m, &ctx->engine, 0);
	t->m.role = role;
	t->m.kind = kind;
	dxk_member_set_state(&t->m, dxk_member_home_state(&t->m));
	kref_init(&t->ref);
	INIT_LIST_HEAD(&t->gone);
	dxk_private_files_init(&t->files, &t->m);
	dxk_user_handler_init(&t->handler, &ctx->commands, &t->m);
	init_waitqueue_head(&t->wait);
	INIT_LIST_HEAD(&t->outer);
	kobject_get(&ctx->kobj);
	return t;
}

static void dxk_thread_release(struct kref *ref)
{
	struct dxk_thread *t = container_of(ref, struct dxk_thread, ref);
	struct dxk_ctx *ctx = dxk_member_ctx(&t->m);

	WARN_ON_ONCE(t->slot || t->m.attached);
	dxk_member_free(&t->m);
	if (t->user)
		put_task_struct(t->user);
	dxk_bound_free(&t->bound);
	kfree(t);
	kobject_put(&ctx->kobj);
}

void dxk_thread_get(struct dxk_thread *t)
{
	kref_get(&t->ref);
}

void dxk_thread_put(struct dxk_thread *t)
{
	kref_put(&t->ref, dxk_thread_release);
}

/**
 * dxk_thread_next - find the first thread that has a slot from an id on
 * @ctx: the context
 * @id: the id; receives that of the slot
 * @max: the highest id
 *
 * Return: the thread with a reference, or NULL.
 */
struct dxk_thread *dxk_thread_next(struct dxk_ctx *ctx, unsigned long *id, u32 max)
{
	struct dxk_thread *t = NULL;
	struct dxk_slot *slot;

	spin_lock(&ctx->engine.lock);
	for (; !t; ++*id) {
		slot = dxk_slot_next(ctx, id, max);
		if (!slot)
			break;
		t = slot->thread;
		if (t) {
			dxk_thread_get(t);
			break;
		}
	}
	spin_unlock(&ctx->engine.lock);
	return t;
}

/* A thread goes, and what happens to the requests that it executed. */
struct dxk_part_op {
	struct dxk_list_op l;
	u64 redone;
	u64 dead;
};

/*
 * End its requests and give up its slot in one lock hold: a task that is notified may join at
 * once.
 */
static void dxk_part_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_part_op *p = container_of(op, struct dxk_part_op, l.op);
	struct dxk_thread *t = dxk_thread_of(p->l.m);

	p->redone -= e->stats.redone;
	p->dead -= e->stats.owner_dead;
	dxk_died_run(e, op, wakes);
	p->redone += e->stats.redone;
	p->dead += e->stats.owner_dead;
	if (p->l.more || !t->slot)
		return;
	dxk_share_leave(e, &t->m);
	dxk_slot_vacate(t);
}

/** dxk_thread_part - the thread has gone: answer its owners, free its id. May be repeated */
void dxk_thread_part(struct dxk_thread *t)
{
	struct dxk_part_op p = { .l.m = &t->m };
	struct dxk_ctx *ctx = dxk_member_ctx(&t->m);

	dxk_list_do(&p.l, dxk_part_run);
	dxk_slots_tidy(ctx);
	/* Without the engine's lock: a message wakes readers, of which users can have many. */
	if (p.redone | p.dead)
		dxk_log_of(&ctx->log, &t->m,
			   "worker %u is gone: executed again: %llu, ended with EOWNERDEAD: %llu",
			   t->m.id, p.redone, p.dead);
}

/**
 * dxk_thread_is_dead - has the member's user thread ended without closing?
 * @t: the member
 *
 * A process that dies closes its descriptors. This is for the single thread that
 * ended while its process lives on. A dead thread is in no call, and makes no further one.
 */
bool dxk_thread_is_dead(const struct dxk_thread *t)
{
	return t->user && READ_ONCE(t->user->exit_state);
}
