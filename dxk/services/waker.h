/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wakers: what a kernel executor's request waits for, and any context fires.
 *
 * To the engine a waker is a watch, of no file: the same event, armed at all times. It is shared
 * by the request, which lets go of it as of a watch when it has ended, and by those who will fire
 * it, as an I/O that is under way. Who lets go last has @release called, by a work of dxk: the
 * executor's own data, which both sides use, ends there.
 *
 * Invariants:
 *   @engine is not NULL exactly while the request has the waker. Who fires looks at it, and
 *   fires, under @lock; who lets go for the request takes it away under @lock, and waits then
 *   until the event is in no list of the engine
 *   a waker has a reference of its executor's module until @release has returned
 *
 * Locking: @lock nests in the locks of who fires, which may be of an interrupt; what the firing
 * takes, of the scheduler only, nests in it.
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
