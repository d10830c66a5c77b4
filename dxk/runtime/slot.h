/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slots: the representation of a context's Thread Pool in sysfs. A slot has a thread id and
 * a directory; the thread that has it at the moment is its occupant. Ids 1..max_threads are
 * slots for workers, which stay when they are vacant, so that the pool shows its capacity.
 *
 * Locking. A slot is in dxk_ctx.slots, which the XArray's own lock guards. It is stored
 * once its directory exists, and erased, under the engine's lock too, once the directory is
 * gone, so that no name is used twice. A lookup requires the engine's lock; the slot may be
 * used as long as that lock is held. The occupant changes under that lock, together with
 * the engine's knowledge of it. Directories are made and removed with no lock held, because
 * removing one waits for its readers.
 */
#ifndef _DXK_RUNTIME_SLOT_H
#define _DXK_RUNTIME_SLOT_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/types.h>

#include "engine/stall.h"

struct dxk_ctx;
struct dxk_thread;
struct work_struct;

/**
 * struct dxk_slot - a slot in the Thread Pool
 */
struct dxk_slot {
	/** @kobj: /sys/kernel/dxk/<ctx>/threads/<id>; holds the object */
	struct kobject kobj;
	/** @ctx: (C) referenced */
	struct dxk_ctx *ctx;
	/** @id: (C) thread id */
	u32 id;
	/** @thread: (L) its occupant, or NULL */
	struct dxk_thread *thread;
	/** @since: (L) when it fell vacant, in jiffies */
	unsigned long since;
	/** @unused: (L) in dxk_ctx.unused: to be removed */
	struct list_head unused;
};

/**
 * struct dxk_slot_seen - the visible state of a slot
 */
struct dxk_slot_seen {
	/** @id: thread id */
	u32 id;
	/** @role: of the thread */
	const char *role;
	/** @state: of the thread */
	const char *state;
	/** @age_ms: how long it has been available, or busy with what it took last */
	u32 age_ms;
	/** @executed: number of requests executed */
	u64 executed;
	/** @pid: pid of a user thread in the reader's namespace; else 0 */
	pid_t pid;
	/** @does: the request it executes and what it waits for */
	struct dxk_sleeper does;
};

struct dxk_slot *dxk_slot_at(struct dxk_ctx *ctx, u32 id);
struct dxk_slot *dxk_slot_next(struct dxk_ctx *ctx, unsigned long *id, u32 max);
void dxk_slot_look(const struct dxk_slot *slot, struct dxk_slot_seen *seen);

struct dxk_slot *dxk_slot_add(struct dxk_ctx *ctx, u32 id);
struct dxk_slot *dxk_slot_add_client(struct dxk_ctx *ctx);
struct dxk_slot *dxk_slot_add_spare(struct dxk_ctx *ctx);
void dxk_slot_remove(struct dxk_slot *slot);
bool dxk_slot_give_back(struct dxk_slot *slot);
void dxk_slot_occupy(struct dxk_slot *slot, struct dxk_thread *t);
void dxk_slot_vacate(struct dxk_thread *t);

int dxk_slots_open(struct dxk_ctx *ctx, u32 max);
void dxk_slots_close(struct dxk_ctx *ctx);
void dxk_slots_remove_all(struct dxk_ctx *ctx);
void dxk_slots_tidy(struct dxk_ctx *ctx);
int dxk_slots_settle(struct dxk_ctx *ctx);
void dxk_slots_tidy_work(struct work_struct *work);
void dxk_slot_init(const struct sysfs_ops *ops, const struct attribute_group **groups);

#endif /* _DXK_RUNTIME_SLOT_H */
