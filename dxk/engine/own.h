/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The Ready requests of each owner, for policy help_scope=own.
 *
 * A helper executes other requests within its own one. A stranger's request may take long, or
 * want a lock that the helper's own request holds. Under this policy a helper is given only
 * requests of the owner for which it sleeps in a rejoin; in other calls it does not help.
 *
 * Each Ready request is in the ring of its owner, kind and lane, and each helper in its owner's
 * ring. If an owner has both, its first helper is in the list of the largest of those lanes.
 * Whatever a lane admits, all larger lanes admit too: a helper of the owner can be called if and
 * only if the largest lane has room. Therefore neither a request nor a helper is ever searched
 * for. All but two pointers and eight numbers is outside the owners' records: these come and go
 * with requests, under every policy.
 *
 * Invariants whenever the lock is free, in a run with this policy:
 *   every READY request is in a ring of its owner, and no other request is in any
 *   a helper is in dxk_owns.callers iff it is the first one of its owner and kind, and these have
 *   READY requests; and by the largest lane of these
 *   a helper whose owner's record has gone is in no list; its rejoin is performed anew
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
 * struct dxk_own - the ring entry of a Ready request
 */
struct dxk_own {
	/** @link: (L) in a ring of dxk_owner.own[], or in dxk_owns.free */
	struct list_head link;
	/** @rqe: (L) the request */
	struct dxk_rqe *rqe;
};

/**
 * struct dxk_owns - the rings of an engine's Ready requests by owner
 */
struct dxk_owns {
	/** @own: (L) an entry for each possible request; NULL: not used in this run */
	struct dxk_own *own;
	/** @free: (L) entries that no request has */
	struct list_head free;
	/** @callers: (L) by kind and lane: struct dxk_helper that their owners call for */
	struct list_head callers[DXK_KINDS][DXK_LANES];
};

void dxk_owns_init(struct dxk_owns *owns);
int dxk_owns_start(struct dxk_engine *e);
void dxk_owns_destroy(struct dxk_engine *e);

void dxk_own_enter(struct dxk_engine *e, struct dxk_rqe *rqe);
void dxk_own_leave(struct dxk_engine *e, struct dxk_rqe *rqe);
void dxk_own_orphan(struct dxk_owner *owner);
struct dxk_rqe *dxk_own_first(const struct dxk_owns *owns, const struct dxk_owner *owner,
			      enum dxk_kind kind, const struct dxk_lanes *lanes);
void dxk_helper_set_back(struct dxk_engine *e, struct dxk_helper *h);
void dxk_helper_enter(struct dxk_engine *e, struct dxk_helper *h);
void dxk_helper_leave(struct dxk_engine *e, struct dxk_helper *h);

#endif /* _DXK_ENGINE_OWN_H */
