/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Events from any context, as of files that requests wait for.
 *
 * The firing context may be an interrupt, and takes no lock. The event records what has happened
 * (@seen), and enters a list. The next lock hold empties this list before all else, in the order
 * of the events, as far as a part of its budget goes. A rest is older than new events, and stays
 * before them.
 * If it is not enough to wait for the next hold, somebody is woken for it: the worker that would
 * be given the request, if one sleeps for work, because that worker continues; else thread 700.
 * While all workers run, none of them can have the request before it comes to the lock.
 *
 * Invariants:
 *   the truth is @seen; an event in the list only means that somebody must look. The firing
 *   context stores first and then enters the list, which is emptied under the lock; the hold that
 *   begins a wait looks at @seen, and stores @more. An event that this hold does not see enters
 *   the list too late for any hold but a later one, which finds @more
 *   @pending is set exactly while the event is in a list, or is about to enter it: it enters
 *   once. It is cleared, with a full barrier, before @seen is looked at
 *   dxk_waits.call says whom to wake, unless all workers run and no others are called for, at the
 *   end of each hold after which a request waits for a file. Who sets it looks at the list
 *   afterwards, and who fires looks at it after the entry into the list: one of them wakes. A
 *   worker that ceases to run does so in a hold
 *   if it is a worker this sleeps in dxk_crew.idle: when its sleep ends it is thread 700, which is
 *   kicked, should the list not be empty. So it cannot have exited, and that it was given other
 *   work, and looks at no event, loses none. It looks at the list before it sleeps, as a sleeper
 *   looks at what it sleeps for
 *   an event is freed when nobody can fire it any more, @more is NULL, and it is not @pending
 */
#ifndef _DXK_ENGINE_FIRE_H
#define _DXK_ENGINE_FIRE_H

#include "engine/os.h"
#include "engine/request.h"
#include "engine/waiter.h"

struct dxk_engine;
struct dxk_more;

/* In dxk_event.seen: something has happened; it is not known what. */
#define DXK_SEEN_SOMETHING	(1U << 31)

/**
 * struct dxk_event - what may end the wait of a request
 */
struct dxk_event {
	/** @node: in dxk_waits.fired, then in dxk_waits.firing */
	struct llist_node node;
	/** @more: (L) of the request that is woken, from its post or wait to its end; or NULL */
	struct dxk_more *more;
	/**
	 * @seen: (A) what has happened since it was armed, EPOLL*, or since the request was
	 * notified
	 */
	u32 seen;
	/** @pending: (A) see above */
	u32 pending;
};

/**
 * struct dxk_watch - a file that a request waits for, as the engine knows it
 *
 * The world has more of it, see services/watch.h.
 */
struct dxk_watch {
	/** @ref: in the bin, when the request has ended; its file is not used here */
	struct dxk_file_ref ref;
	/** @waker: (C) it is one of services/waker.h, and of no file */
	bool waker;
	/** @event: what happens to it */
	struct dxk_event event;
};

void dxk_event_fire(struct dxk_engine *e, struct dxk_event *event, u32 seen);
void dxk_event_forget(struct dxk_engine *e, struct dxk_event *event);
bool dxk_events_look(struct dxk_engine *e);
void dxk_catcher_leave(struct dxk_waiter *w);
void dxk_events_poll(struct dxk_engine *e);

#endif /* _DXK_ENGINE_FIRE_H */
