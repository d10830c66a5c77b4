/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Help for what one waits for, and nothing else (policy help_scope=own): what is Ready, by
 * owner.
 *
 * A worker that helps executes within its own request whatever it is given. With requests of
 * strangers that may be what holds a lock of its own, or what takes long: then its stack and
 * its locks are not its own affair any more. So it can be had that it is given only requests of
 * the owner for which it sleeps in a rejoin, and in other calls none.
 *
 * Each Ready request is in the list of its owner and kind. A helper is in dxk_crew.helpers while
 * its owner has something there, or nobody has looked since, and else in the owner's own list:
 * what becomes Ready brings those back. So nobody ever looks for a request, or for a helper.
 *
 * Invariants whenever the lock is free, in a run with this policy:
 *   what is READY is in one of these lists, nothing else is
 *   a helper that is in its owner's list has nothing of its kind in that owner's
 *   a helper of which the owner has gone is in no list; it is about to be told
 */
#ifndef _DXK_ENGINE_OWN_H
#define _DXK_ENGINE_OWN_H

#include "engine/lanes.h"
#include "engine/os.h"
#include "engine/request.h"

struct dxk_engine;
struct dxk_helper;
struct dxk_owner;
struct dxk_rqe;

/**
 * struct dxk_own - that a request is Ready
 */
struct dxk_own {
	/** @link: (L) in dxk_owner.own, or dxk_owns.free */
	struct list_head link;
	/** @rqe: (L) the request */
	struct dxk_rqe *rqe;
};

/**
 * struct dxk_owns - of an engine
 */
struct dxk_owns {
	/** @own: (L) as many as there may be requests; NULL: not in this run */
	struct dxk_own *own;
	/** @free: (L) those that no request has */
	struct list_head free;
};

int dxk_owns_start(struct dxk_engine *e);
void dxk_owns_destroy(struct dxk_engine *e);

void dxk_own_enter(struct dxk_engine *e, struct dxk_rqe *rqe);
void dxk_own_leave(struct dxk_engine *e, struct dxk_rqe *rqe);
void dxk_own_orphan(struct dxk_owner *owner);
struct dxk_rqe *dxk_own_first(const struct dxk_owner *owner, enum dxk_kind kind,
			      const struct dxk_lanes *lanes);
void dxk_helper_enter(struct dxk_engine *e, struct dxk_helper *h);

#endif /* _DXK_ENGINE_OWN_H */
