/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The context: one runtime with its engine, its services, its control threads and crew.
 *
 * Locking. Beside those of engine/engine.h there are these letters:
 *
 *   W  changed only by the task that walks the run: the caller of Start while it is
 *      STARTING, then the walker; see engine/life.h. It needs no lock, as the claim is
 *      exclusive
 *   N  dxk_names: which contexts there are and how many descriptors each has, see names.c
 *   H  dxk_handles.lock: the Handle Table
 *
 * Order: dxk_handles.lock, dxk_engine.lock. The lock of the log nests inside whatever its
 * caller holds. dxk_names is taken with no other lock. There is no mutex that could be held
 * over anything.
 *
 * No release() of a descriptor waits for anything but these locks: not for a thread, a
 * file, a page or a reader of sysfs. It makes a move of the engine and queues work. Two
 * work items in the module's own queue do the rest: dxk_ctx.walk ends the run and buries
 * the context, dxk_ctx.tidy removes directories. Neither waits for anything that a user
 * can hold up.
 *
 * References. An open context descriptor pins dxk_ctx.descriptors; the last one ends the
 * run. dxk_ctx.kobj holds the object: each member, slot, queued item and kicking task has
 * a reference, and the burial drops the initial one. The object pins the module, so that
 * it cannot be unloaded before the last thread of the last context has ended.
 */
#ifndef _DXK_RUNTIME_CONTEXT_H
#define _DXK_RUNTIME_CONTEXT_H

#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kobject.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "engine/engine.h"
#include "runtime/control.h"
#include "runtime/identity.h"
#include "runtime/report.h"
#include "services/command.h"
#include "services/files.h"
#include "services/watch.h"
#include "services/handle.h"
#include "services/instrument.h"
#include "services/label.h"
#include "services/log.h"
#include "services/sample.h"

/**
 * struct dxk_ctx - a context
 */
struct dxk_ctx {
	/** @engine: what requests are, and every move that they make */
	struct dxk_engine engine;

	/** @policy: (L) the policy set last; in force from the next Start or review on */
	struct dxk_policy policy;
	/** @walk: the walker */
	struct work_struct walk;
	/** @at: (W) how many steps of Start are up */
	u32 at;
	/** @crew_wanted: (A) set by Start to request the workers, cleared by the Monitor */
	bool crew_wanted;
	/** @crew_err: result of the Monitor's start of the workers, once @crew_up */
	int crew_err;
	/** @crew_up: the Monitor has started the workers, or failed */
	struct completion crew_up;
	/** @control: threads 500, 600 and 700, by enum dxk_control_id */
	struct dxk_control control[DXK_CONTROLS];
	/** @slots: struct dxk_slot by thread id, see runtime/slot.h */
	struct xarray slots;
	/** @vacant: (L) ids of unoccupied slots: those for workers, and the main thread's */
	DECLARE_BITMAP(vacant, DXK_ID_WORKER_MAX + 1);
	/** @nr_slots: (L) slots below this id stay when they are vacant */
	u32 nr_slots;
	/** @tidying: (L) slots are in @unused, or were: @tidy is a pin */
	bool tidying;
	/** @tidied: (L) turns of @tidy so far */
	u32 tidied;
	/** @tidy_wait: tasks that need ids sleep here until a turn of @tidy has ended */
	wait_queue_head_t tidy_wait;
	/** @unused: (L) list of struct dxk_slot to be removed */
	struct list_head unused;
	/** @tidy: removes the slots in @unused */
	struct work_struct tidy;
	/** @gone: (L) list of struct dxk_thread of kernel workers to be reaped */
	struct list_head gone;
	/** @shown: (W) the files that come with the first Start exist */
	bool shown;
	/** @dir: (C) directory of the slots in sysfs */
	struct kobject *dir;
	/** @threads: (N) kernel threads that exist or are about to be created */
	u32 threads;
	/** @nproc: (W) limit of @threads over all contexts of its maker; RLIM_INFINITY: none */
	unsigned long nproc;
	/** @cpus: (L) policy/cpus: where the kernel threads may run */
	cpumask_var_t cpus;
	/** @cpus_changed: (A) the Monitor must rebind workers; cleared by the Monitor */
	bool cpus_changed;
	/** @bound: in the list of contexts notified of CPU changes, see runtime/cpus.c */
	struct list_head bound;
	/** @work_wait: user workers in poll(2) sleep here */
	wait_queue_head_t work_wait;

	/** @item_wait: tasks that wait for the end of an item sleep here */
	wait_queue_head_t item_wait;
	/** @item_cancels: (L) struct dxk_item_run of items whose @cancelled is being called */
	struct list_head item_cancels;

	/** @report: the Monitor's watch for stalls */
	struct dxk_report report;
	/** @samples: samples of the instrumentation package */
	struct dxk_samples samples;
	/** @instruments: the application's own counters */
	struct dxk_instruments instruments;
	/** @labels: names that the application gave to executors and owners */
	struct dxk_labels labels;
	/** @files: operations that may hang in file systems of users */
	struct dxk_files files;
	/** @watches: files that requests wait for */
	struct dxk_watches watches;
	/** @log: the Log Pool */
	struct dxk_log log;
	/** @handles: the Handle Table */
	struct dxk_handles handles;
	/** @commands: the command handler and the commands that wait for it */
	struct dxk_commands commands;

	/** @who: (C) name, owner and permissions */
	struct dxk_identity who;
	/** @all: (N) in the list of contexts that users have made, until it is buried */
	struct list_head all;
	/** @descriptors: (N) open context descriptors; read without the lock as well */
	u32 descriptors;
	/** @id: (C) name below /sys/kernel/dxk */
	u32 id;
	/** @buried: the destroyer of an in-kernel client's context waits for this, or NULL */
	struct completion *buried;
	/** @kobj: holds the object */
	struct kobject kobj;
	/** @free: frees it: too much work, possibly, for the task dropping the last reference */
	struct work_struct free;
};

static inline struct dxk_ctx *dxk_ctx_of(struct dxk_engine *e)
{
	return container_of(e, struct dxk_ctx, engine);
}

static inline struct dxk_ctx *dxk_member_ctx(const struct dxk_member *m)
{
	return dxk_ctx_of(m->engine);
}

struct dxk_ctx *dxk_ctx_make(const struct dxk_ctx_create *a);

void dxk_ctx_end(struct dxk_ctx *ctx);

void dxk_ctx_init(struct kobject *parent, const struct sysfs_ops *ops,
		  const struct attribute_group **groups);
void dxk_ctx_exit(void);

#endif /* _DXK_RUNTIME_CONTEXT_H */
