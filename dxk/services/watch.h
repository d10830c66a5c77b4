/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that requests wait for.
 *
 * A watch hooks an entry into the wait queues that the file names to poll(2), at the first wait
 * for that file, and stays there until the request ends or waits for another one. To wait again
 * is to arm it again. Who wakes the file up finds it armed, disarms it, and fires: that is all
 * that happens in somebody else's context.
 *
 * Invariants:
 *   a watch belongs to whoever has the request: the poster, the worker that executes it; while
 *   it is READY or WAITING to whoever detaches it under the engine's lock; then to the bin
 *   @armed is set, then the file is asked; the file changes, then it calls those who are hooked:
 *   so one of the two sees the event. Who takes @armed away, and only he, says what was seen
 *   a wait queue that ends before its file says so (POLLFREE). Then it unhooks the entry itself,
 *   and lets go of @head last; who unhooks meanwhile is in an RCU section, in which no such queue
 *   is freed
 *   nothing that is hooked outlives what it was given by: the Monitor looks once a second for
 *   watches whose file nobody else has any more, or whose process has gone, and ends them. So a
 *   descriptor of dxk that lies in a socket that is watched is closed, at the latest, when its
 *   process ends
 *
 * Locking: dxk_watches.lock protects the list, and with it @file and @mm of what is in it; it
 * nests in nothing. The file is polled, hooked, unhooked and let go of without any lock, for
 * that may sleep.
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
	/** @list: those that are hooked */
	struct list_head list;
	/** @nr: how many there are in @list */
	u32 nr;
	/** @next: jiffies when they are looked at again; the Monitor's */
	unsigned long next;
};

void dxk_watches_init(struct dxk_watches *ws, struct dxk_engine *e, struct dxk_files *files);
int dxk_watch_set(struct dxk_watches *ws, struct dxk_more *more, const struct dxk_wait *wait);
void dxk_watch_let_go(struct dxk_watch *watch);
bool dxk_watches_review(struct dxk_watches *ws);
void dxk_watches_exit(void);

#endif /* _DXK_SERVICES_WATCH_H */
