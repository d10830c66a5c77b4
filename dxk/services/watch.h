/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that requests wait for.
 *
 * At the first wait for a file, a watch hooks an entry into the wait queues that the file gives
 * to poll(2). It stays there until the request ends or waits for another file. A further wait
 * arms the watch again. A wake-up of the file finds it armed, disarms it, and fires: nothing else
 * happens in another task's context.
 *
 * Invariants:
 *   a watch belongs to whoever has the request: the poster, the worker that executes it; while
 *   it is READY or WAITING to whoever detaches it under the engine's lock; then to the bin
 *   @armed is set, then the file is polled; the file changes, then it calls the hooked entries:
 *   so one of the two sees the event. Only the task that clears @armed reports what was seen
 *   a wait queue that ends before its file announces it (POLLFREE). The watch then unhooks the
 *   entry itself, and clears @head last; any other task that unhooks meanwhile is in an RCU
 *   section, in which no such queue is freed
 *   no hooked watch outlives its origin: the Monitor looks once a second for watches whose file
 *   nobody else has any more, or whose process has gone, and ends them. So a descriptor of dxk
 *   in a watched socket is closed, at the latest, when its process ends
 *
 * Locking: dxk_watches.lock protects the list, and @file and @mm of the watches in it; it nests
 * in nothing. The file is polled, hooked, unhooked and released without any lock, because these
 * operations may sleep.
 */
#ifndef _DXK_SERVICES_WATCH_H
#define _DXK_SERVICES_WATCH_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dxk_engine;
struct dxk_files;
struct dxk_more;
struct dxk_wait;
struct dxk_watch;

/**
 * struct dxk_watches - the watches of a context
 */
struct dxk_watches {
	/** @engine: (C) */
	struct dxk_engine *engine;
	/** @files: (C) its bin takes the watches of requests that have ended */
	struct dxk_files *files;
	/** @lock: protects the list */
	spinlock_t lock;
	/** @list: the hooked watches */
	struct list_head list;
	/** @nr: number of watches in @list */
	u32 nr;
	/** @next: jiffies of the next look at them; private to the Monitor */
	unsigned long next;
};

void dxk_watches_init(struct dxk_watches *ws, struct dxk_engine *e, struct dxk_files *files);
int dxk_watch_set(struct dxk_watches *ws, struct dxk_more *more, const struct dxk_wait *wait);
void dxk_watch_let_go(struct dxk_watch *watch);
bool dxk_watches_review(struct dxk_watches *ws);
void dxk_watches_exit(void);

#endif /* _DXK_SERVICES_WATCH_H */
