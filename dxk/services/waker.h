/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wakers: the request of a kernel executor waits for a waker, and any context can fire it.
 *
 * To the engine a waker is a watch without a file: the same event, armed at all times. It is
 * shared by the request, which releases it like a watch when the request has ended, and by those
 * that will fire it, such as an I/O in progress. When the last of them releases it, a work item
 * of dxk calls @release: there the executor's own data, which both sides use, ends.
 *
 * Invariants:
 *   @engine is not NULL exactly while the request has the waker. The firing task looks at it, and
 *   fires, under @lock. The task that releases the waker for the request clears it under @lock,
 *   and then waits until the event is in no list of the engine
 *   a waker has a reference of its executor's module until @release has returned
 *
 * Locking: @lock nests in the locks of the firing task, which may be those of an interrupt. The
 * locks taken by the firing, only those of the scheduler, nest in it.
 */
#ifndef _DXK_SERVICES_WAKER_H
#define _DXK_SERVICES_WAKER_H

struct dxk_engine;
struct dxk_files;
struct dxk_more;
struct dxk_watch;
struct dxk_waker;
struct module;

struct dxk_waker *dxk_waker_make(struct dxk_engine *e, struct dxk_files *files,
				 struct dxk_more *more, struct module *owner,
				 void (*release)(void *data), void *data);
void dxk_waker_let_go(struct dxk_watch *watch);
int dxk_wakers_init(void);
void dxk_wakers_exit(void);

#endif /* _DXK_SERVICES_WAKER_H */
