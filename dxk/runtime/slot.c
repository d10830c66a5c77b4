// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots in the Thread Pool: made, shown, occupied, vacated, removed. See slot.h.
 */
#include <linux/jiffies.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat.h"
#include "engine/life.h"
#include "runtime/context.h"
#include "runtime/queue.h"
#include "runtime/slot.h"
#include "runtime/thread.h"

static void dxk_slot_release(struct kobject *kobj)
{
	struct dxk_slot *slot = container_of(kobj, struct dxk_slot, kobj);
	struct dxk_ctx *ctx = slot->ctx;

	kfree(slot);
	kobject_put(&ctx->kobj);
}

static void dxk_slot_ownership(dxk_owned_kobject *kobj, kuid_t *uid, kgid_t *gid)
{
	const struct dxk_slot *slot = container_of(kobj, struct dxk_slot, kobj);

	*uid = slot->ctx->who.uid;
	*gid = slot->ctx->who.gid;
}

static struct kobj_type dxk_slot_ktype = {
	.release = dxk_slot_release,
	.get_ownership = dxk_slot_ownership,
};

/** dxk_slot_init - set the contents of the directories of slots, at module load */
void dxk_slot_init(const struct sysfs_ops *ops, const struct attribute_group **groups)
{
	dxk_slot_ktype.sysfs_ops = ops;
	dxk_slot_ktype.default_groups = groups;
}

/* --- looking ---------------------------------------------------------------- */

/** dxk_slot_at - get the slot with an id, or NULL; the engine is locked */
struct dxk_slot *dxk_slot_at(struct dxk_ctx *ctx, u32 id)
{
	lockdep_assert_held(&ctx->engine.lock);

	return xa_load(&ctx->slots, id);
}

/**
 * dxk_slot_next - find the first slot from an id on
 * @ctx: the context; its engine is locked
 * @id: the id; receives that of the slot
 * @max: the highest id
 *
 * Return: the slot, to be used as long as the engine is locked, or NULL.
 */
struct dxk_slot *dxk_slot_next(struct dxk_ctx *ctx, unsigned long *id, u32 max)
{
	lockdep_assert_held(&ctx->engine.lock);

	return xa_find(&ctx->slots, id, max, XA_PRESENT);
}

static bool dxk_slot_is_control(const struct dxk_slot *slot)
{
	return slot->id == DXK_ID_MONITOR || slot->id == DXK_ID_SCHEDULER ||
	       slot->id == DXK_ID_DISPATCHER;
}

static const char *dxk_slot_role(const struct dxk_slot *slot)
{
	switch (slot->id) {
	case DXK_ID_MONITOR:
		return "monitor";
	case DXK_ID_SCHEDULER:
		return "scheduler";
	case DXK_ID_DISPATCHER:
		return "dispatcher";
	case 1 ... DXK_ID_WORKER_MAX:
		break;
	default:
		return "client";
	}
	if (!slot->thread)
		return "worker";
	if (slot->thread->m.spare)
		return slot->thread->m.kind == DXK_KERNEL ? "kernel-spare" : "user-spare";
	return slot->thread->m.kind == DXK_KERNEL ? "kernel-worker" : "user-worker";
}

/** dxk_slot_look - get the visible state of a slot; the engine is locked */
void dxk_slot_look(const struct dxk_slot *slot, struct dxk_slot_seen *seen)
{
	const struct dxk_thread *t = slot->thread;
	unsigned long since = t ? READ_ONCE(t->m.since) : slot->since;
	u8 state = t ? dxk_member_state(&t->m) :
		   dxk_slot_is_control(slot) ? DXK_M_RUNNING : DXK_M_VACANT;

	lockdep_assert_held(&slot->ctx->engine.lock);

	*seen = (struct dxk_slot_seen) {
		.id = slot->id,
		.role = dxk_slot_role(slot),
		.state = dxk_member_state_name(state),
		.age_ms = jiffies_to_msecs(jiffies - since),
		.executed = t ? t->m.executed : 0,
		.pid = t && t->user ? task_pid_vnr(t->user) : 0,
	};
	if (t)
		dxk_look_at(&t->m, &seen->does);
}

/* --- who has it --------------------------------------------------------------- */

/** dxk_slot_occupy - have a thread take a slot that nobody has; the engine is locked */
void dxk_slot_occupy(struct dxk_slot *slot, struct dxk_thread *t)
{
	struct dxk_ctx *ctx = slot->ctx;

	lockdep_assert_held(&ctx->engine.lock);
	WARN_ON_ONCE(slot->thread);

	if (slot->id <= DXK_ID_WORKER_MAX)
		__clear_bit(slot->id, ctx->vacant);
	slot->thread = t;
	t->slot = slot;
	t->m.id = slot->id;
}

static void dxk_slot_fall_vacant(struct dxk_slot *slot)
{
	slot->since = jiffies;
	__set_bit(slot->id, slot->ctx->vacant);
}

/**
 * dxk_slot_vacate - have a thread give up its slot
 * @t: the thread; the engine is locked. Nothing happens if it has none
 *
 * A slot that does not stay is removed by dxk_slots_tidy(), which the caller calls when
 * the engine is unlocked.
 */
void dxk_slot_vacate(struct dxk_thread *t)
{
	struct dxk_slot *slot = t->slot;
	struct dxk_ctx *ctx = dxk_member_ctx(&t->m);

	lockdep_assert_held(&ctx->engine.lock);

	if (!slot)
		return;
	t->slot = NULL;
	slot->thread = NULL;
	if (slot->id < ctx->nr_slots) {
		dxk_slot_fall_vacant(slot);
		return;
	}
	/* The burial finds it by its id. */
	if (ctx->engine.run.buried)
		return;
	list_add_tail(&slot->unused, &ctx->unused);
	if (ctx->tidying)
		return;
	ctx->tidying = true;
	ctx->engine.run.pins++;
}

/* --- making and removing ------------------------------------------------------- */

/*
 * Free an id that nobody has taken. Return: is a slot with it to stay by now? The Monitor makes it
 * at its next turn.
 */
static bool dxk_slot_free_id(struct dxk_ctx *ctx, u32 id)
{
	bool stays;

	spin_lock(&ctx->engine.lock);
	xa_erase(&ctx->slots, id);
	stays = id < ctx->nr_slots;
	if (stays)
		WRITE_ONCE(ctx->nr_slots, id);
	spin_unlock(&ctx->engine.lock);
	return stays;
}

/* @id: reserved in dxk_ctx.slots */
static struct dxk_slot *dxk_slot_make(struct dxk_ctx *ctx, u32 id)
{
	struct dxk_slot *slot = kzalloc(sizeof(*slot), GFP_KERNEL_ACCOUNT);
	int err;

	if (!slot) {
		dxk_slot_free_id(ctx, id);
		return ERR_PTR(-ENOMEM);
	}
	slot->ctx = ctx;
	slot->id = id;
	slot->since = jiffies;
	kobject_get(&ctx->kobj);
	kobject_init(&slot->kobj, &dxk_slot_ktype);
	err = kobject_add(&slot->kobj, ctx->dir, "%u", id);
	if (!err) {
		/* The entry is reserved, so the store needs no memory. */
		err = xa_err(xa_store(&ctx->slots, id, slot, GFP_KERNEL));
		if (!err)
			return slot;
		kobject_del(&slot->kobj);
	}
	dxk_slot_free_id(ctx, id);
	kobject_put(&slot->kobj);
	return ERR_PTR(err);
}

/** dxk_slot_add - make a slot; -EBUSY when there is one with that id */
struct dxk_slot *dxk_slot_add(struct dxk_ctx *ctx, u32 id)
{
	int err = xa_insert(&ctx->slots, id, NULL, GFP_KERNEL);

	return err ? ERR_PTR(err) : dxk_slot_make(ctx, id);
}

/** dxk_slot_add_client - make a slot with the lowest free id of a client */
struct dxk_slot *dxk_slot_add_client(struct dxk_ctx *ctx)
{
	u32 id;
	int err;

	err = xa_alloc(&ctx->slots, &id, NULL, XA_LIMIT(DXK_ID_CLIENT, DXK_ID_MAX),
		       GFP_KERNEL);
	if (err)
		return ERR_PTR(err == -EBUSY ? -ENOSPC : err);
	return dxk_slot_make(ctx, id);
}

/** dxk_slot_add_spare - make a slot for one more spare */
struct dxk_slot *dxk_slot_add_spare(struct dxk_ctx *ctx)
{
	u32 nr = READ_ONCE(ctx->engine.policy.max_spares);
	struct dxk_slot *slot;
	u32 i;

	for (i = 0; i < nr; i++) {
		slot = dxk_slot_add(ctx, DXK_ID_WORKER_MAX - i);
		if (slot != ERR_PTR(-EBUSY))
			return slot;
	}
	return ERR_PTR(-ENOSPC);
}

/** dxk_slot_remove - remove a slot that nobody has or will take */
void dxk_slot_remove(struct dxk_slot *slot)
{
	struct dxk_ctx *ctx = slot->ctx;

	kobject_del(&slot->kobj);
	spin_lock(&ctx->engine.lock);
	xa_erase(&ctx->slots, slot->id);
	spin_unlock(&ctx->engine.lock);
	kobject_put(&slot->kobj);
}

/**
 * dxk_slot_give_back - remove a slot that was made for a thread which did not join
 * @slot: the slot
 *
 * Return: is the Monitor to make one that stays?
 */
bool dxk_slot_give_back(struct dxk_slot *slot)
{
	bool stays;

	kobject_del(&slot->kobj);
	stays = dxk_slot_free_id(slot->ctx, slot->id);
	kobject_put(&slot->kobj);
	return stays;
}

/** dxk_slots_tidy - have unused slots removed, if there are any */
void dxk_slots_tidy(struct dxk_ctx *ctx)
{
	if (READ_ONCE(ctx->tidying))
		dxk_queue_tidy(ctx);
}

/*
 * This may wait for readers of the directories. So only tasks that need ids wait for it, and not
 * for slots that become unused meanwhile.
 */
void dxk_slots_tidy_work(struct work_struct *work)
{
	struct dxk_ctx *ctx = container_of(work, struct dxk_ctx, tidy);
	struct dxk_slot *slot, *next;
	LIST_HEAD(unused);
	bool tidied;

	os_turn_begin(OS_TIDY);
	spin_lock(&ctx->engine.lock);
	list_splice_init(&ctx->unused, &unused);
	spin_unlock(&ctx->engine.lock);
	list_for_each_entry_safe(slot, next, &unused, unused)
		dxk_slot_remove(slot);

	spin_lock(&ctx->engine.lock);
	WRITE_ONCE(ctx->tidied, ctx->tidied + 1);
	tidied = ctx->tidying && list_empty(&ctx->unused);
	if (tidied)
		ctx->tidying = false;
	spin_unlock(&ctx->engine.lock);
	if (tidied)
		dxk_unpin(&ctx->engine);
	else
		dxk_slots_tidy(ctx);
	wake_up_all(&ctx->tidy_wait);
	os_turn_end(OS_TIDY);
	kobject_put(&ctx->kobj);
}

/**
 * dxk_slots_settle - wait until the ids given up so far are free
 * @ctx: the context
 *
 * There may be many thousands of ids that others gave up. Return: 0, or -ERESTARTSYS when the
 * caller is killed.
 */
int dxk_slots_settle(struct dxk_ctx *ctx)
{
	u32 since = READ_ONCE(ctx->tidied);

	os_may_wait(OS_TIDY);
	/* The first turn to end may have begun too early to include them. */
	return wait_event_killable(ctx->tidy_wait, !READ_ONCE(ctx->tidying) ||
				   READ_ONCE(ctx->tidied) - since > 1);
}

/* --- those that stay ------------------------------------------------------------ */

/* Withdraw a vacant slot with an id of @from or more, so that nobody can take it. */
static struct dxk_slot *dxk_slot_withdraw(struct dxk_ctx *ctx, u32 from)
{
	struct dxk_slot *slot = NULL;
	u32 id;

	spin_lock(&ctx->engine.lock);
	id = find_next_bit(ctx->vacant, DXK_ID_WORKER_MAX + 1, from);
	if (id <= DXK_ID_WORKER_MAX) {
		__clear_bit(id, ctx->vacant);
		slot = dxk_slot_at(ctx, id);
	}
	spin_unlock(&ctx->engine.lock);
	return slot;
}

static void dxk_slots_trim(struct dxk_ctx *ctx, u32 nr)
{
	struct dxk_slot *slot;

	spin_lock(&ctx->engine.lock);
	WRITE_ONCE(ctx->nr_slots, nr);
	spin_unlock(&ctx->engine.lock);
	while ((slot = dxk_slot_withdraw(ctx, nr)))
		dxk_slot_remove(slot);
}

/**
 * dxk_slots_open - have slots 0..@max, vacant or not, and no vacant one beyond
 * @ctx: the context; for Start, and for the Monitor while it runs
 * @max: policy max_threads
 */
int dxk_slots_open(struct dxk_ctx *ctx, u32 max)
{
	struct dxk_slot *slot;
	int err;
	u32 id;

	dxk_slots_trim(ctx, max + 1);
	/* The ids of removed slots are free for new ones. */
	err = dxk_slots_settle(ctx);
	if (err)
		return err;
	for (id = 0; id <= max; id++) {
		slot = dxk_slot_add(ctx, id);
		if (slot == ERR_PTR(-EBUSY))
			continue;
		if (IS_ERR(slot)) {
			/* reached so far: to be retried */
			dxk_slots_trim(ctx, id);
			return PTR_ERR(slot);
		}
		spin_lock(&ctx->engine.lock);
		dxk_slot_fall_vacant(slot);
		spin_unlock(&ctx->engine.lock);
	}
	return 0;
}

/** dxk_slots_close - remove vacant slots now, and others when they fall vacant */
void dxk_slots_close(struct dxk_ctx *ctx)
{
	dxk_slots_trim(ctx, 0);
}

/** dxk_slots_remove_all - remove all slots of a buried context, occupied or not */
void dxk_slots_remove_all(struct dxk_ctx *ctx)
{
	struct dxk_slot *slot;
	unsigned long id = 0;

	for (;;) {
		spin_lock(&ctx->engine.lock);
		slot = dxk_slot_next(ctx, &id, DXK_ID_MAX);
		if (slot && slot->thread) {
			slot->thread->slot = NULL;
			slot->thread = NULL;
		}
		spin_unlock(&ctx->engine.lock);
		if (!slot)
			break;
		dxk_slot_remove(slot);
	}
}
