// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wakers: see waker.h.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/engine.h"
#include "engine/fire.h"
#include "engine/more.h"
#include "services/file.h"
#include "services/files.h"
#include "services/waker.h"

/**
 * struct dxk_waker - see waker.h
 */
struct dxk_waker {
	/** @watch: the engine's part */
	struct dxk_watch watch;
	/** @lock: of @engine; raw, for hard interrupts */
	raw_spinlock_t lock;
	/** @engine: the engine to notify, or NULL: the request has ended */
	struct dxk_engine *engine;
	/** @refs: the request's, and those of callers that will fire it */
	refcount_t refs;
	/** @owner: (C) the module of @release */
	struct module *owner;
	/** @release: (C) or NULL */
	void (*release)(void *data);
	/** @data: (C) for @release */
	void *data;
	/** @paid: (C) the request's file counts for a user, in the kernel's numbers @payer */
	bool paid;
	/** @charged: set by whoever releases it for the request: it counts for that user, too */
	bool charged;
	/** @payer: (C) which */
	u32 payer;
	/** @work: releases it */
	struct work_struct work;
};

/* Its items are flushed before the module goes. */
static struct workqueue_struct *dxk_wakers_wq;

static void dxk_waker_release(struct work_struct *work)
{
	struct dxk_waker *w = container_of(work, struct dxk_waker, work);

	if (w->release)
		w->release(w->data);
	if (w->charged)
		dxk_file_uncharge(KUIDT_INIT(w->payer));
	module_put(w->owner);
	kfree(w);
}

/**
 * dxk_waker_make - make a waker for a request
 * @e: its engine
 * @files: of its context: the bin releases it
 * @more: of the request, which the caller executes
 * @owner: the module of @release
 * @release: called when nobody has the waker any more; or NULL
 * @data: for @release
 *
 * Return: the waker with two references, the request's and the caller's; -EBUSY: it has one;
 * -ENOMEM, -ESHUTDOWN.
 */
struct dxk_waker *dxk_waker_make(struct dxk_engine *e, struct dxk_files *files,
				 struct dxk_more *more, struct module *owner,
				 void (*release)(void *data), void *data)
{
	struct dxk_waker *w;
	int err;

	if (more->watch)
		return ERR_PTR(-EBUSY);
	err = dxk_files_open(files);
	if (err)
		return ERR_PTR(err);
	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return ERR_PTR(-ENOMEM);
	/* It exists: a request names its executor. */
	__module_get(owner);
	w->watch.ref.watched = true;
	w->watch.waker = true;
	raw_spin_lock_init(&w->lock);
	w->engine = e;
	refcount_set(&w->refs, 2);
	w->owner = owner;
	w->release = release;
	w->data = data;
	if (more->file) {
		w->paid = more->file->paid;
		w->payer = more->file->payer;
	}
	INIT_WORK(&w->work, dxk_waker_release);
	more->watch = &w->watch;
	return w;
}

/*
 * The request has ended, but not what it has begun, such as an I/O, or the release, which may hang
 * with the file. Both may never end. They still have the file, and memory: they count for the user
 * as the file did, otherwise there would be no limit to what a user can leave behind. This is never
 * refused, but the user's next files are.
 */
static bool dxk_waker_charge(const struct dxk_waker *w)
{
	const struct dxk_payer payer = { .uid = KUIDT_INIT(w->payer), .limit = ULONG_MAX };

	return w->paid && (w->release || refcount_read(&w->refs) > 1) &&
	       !dxk_file_charge(&payer);
}

/**
 * dxk_waker_let_go - release a waker for its request, which has ended
 * @watch: its waker's; dxk_event.more is NULL
 */
void dxk_waker_let_go(struct dxk_watch *watch)
{
	struct dxk_waker *w = container_of(watch, struct dxk_waker, watch);
	struct dxk_engine *e = w->engine;

	raw_spin_lock_irq(&w->lock);
	w->engine = NULL;
	raw_spin_unlock_irq(&w->lock);
	dxk_fired_flush(e, &w->watch.event);
	w->charged = dxk_waker_charge(w);
	dxk_waker_put(w);
}

/**
 * dxk_waker_get - get a further reference to a waker
 * @waker: the caller has a reference to it
 *
 * Context: any.
 */
void dxk_waker_get(struct dxk_waker *waker)
{
	refcount_inc(&waker->refs);
}
EXPORT_SYMBOL_GPL(dxk_waker_get);

/**
 * dxk_waker_put - drop a reference to a waker
 * @waker: the caller has a reference to it
 *
 * The last put has the waker's release function called soon, in process context.
 * Context: any but NMI.
 */
void dxk_waker_put(struct dxk_waker *waker)
{
	if (refcount_dec_and_test(&waker->refs))
		queue_work(dxk_wakers_wq, &waker->work);
}
EXPORT_SYMBOL_GPL(dxk_waker_put);

/**
 * dxk_waker_fire - end a request's wait for its waker
 * @waker: the caller has a reference to it
 * @events: bits for dxk_call.events of the turn that follows, those of %DXK_WAKER_EVENTS, not 0.
 *	Of several firings before that turn all
 *
 * A firing while the request waits for something else, or executes, ends its next wait for the
 * waker at once: no firing is lost.
 *
 * Context: any but NMI; interrupts may be off.
 * Return: false: the request has ended.
 */
bool dxk_waker_fire(struct dxk_waker *waker, u32 events)
{
	unsigned long flags;
	bool there;

	WARN_ON_ONCE(!events || events & ~DXK_WAKER_EVENTS);
	raw_spin_lock_irqsave(&waker->lock, flags);
	there = waker->engine;
	if (there)
		dxk_event_fire(waker->engine, &waker->watch.event, events & DXK_WAKER_EVENTS);
	raw_spin_unlock_irqrestore(&waker->lock, flags);
	return there;
}
EXPORT_SYMBOL_GPL(dxk_waker_fire);

/** dxk_wakers_init - the module is loaded. Return: 0 or -ENOMEM. */
int dxk_wakers_init(void)
{
	dxk_wakers_wq = alloc_workqueue("dxk_wakers", WQ_UNBOUND, 0);
	return dxk_wakers_wq ? 0 : -ENOMEM;
}

/** dxk_wakers_exit - the module is unloaded: no module of an executor is left */
void dxk_wakers_exit(void)
{
	destroy_workqueue(dxk_wakers_wq);
}
