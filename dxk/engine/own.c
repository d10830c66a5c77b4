// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Ready requests by owner: see own.h.
 */
#include "engine/engine.h"
#include "engine/os.h"
#include "engine/own.h"
#include "engine/rejoin.h"

void dxk_owns_init(struct dxk_owns *owns)
{
	u32 kind, lane;

	for (kind = 0; kind < DXK_KINDS; kind++)
		for (lane = 0; lane < DXK_LANES; lane++)
			INIT_LIST_HEAD(&owns->callers[kind][lane]);
}

/* Nothing is Ready. Return: what there was before. */
static struct dxk_own *dxk_owns_exchange(struct dxk_engine *e, struct dxk_own *own, u32 nr)
{
	struct dxk_own *old;
	u32 i;

	spin_lock(&e->lock);
	old = e->owns.own;
	e->owns.own = own;
	INIT_LIST_HEAD(&e->owns.free);
	spin_unlock(&e->lock);
	/* Nobody posts before the run has begun. */
	for (i = 0; i < nr; i++)
		list_add_tail(&own[i].link, &e->owns.free);
	return old;
}

/**
 * dxk_owns_start - begin a run: there are lists if its policy requires them
 * @e: the engine
 *
 * Return: 0 or -ENOMEM.
 */
int dxk_owns_start(struct dxk_engine *e)
{
	const struct dxk_policy *p = &e->policy;
	struct dxk_own *own = NULL;

	if (p->on_block == DXK_ON_BLOCK_HELP && p->help_scope == DXK_HELP_OWN) {
		own = kvcalloc(p->max_requests, sizeof(*own), GFP_KERNEL_ACCOUNT);
		if (!own)
			return -ENOMEM;
	}
	kvfree(dxk_owns_exchange(e, own, own ? p->max_requests : 0));
	return 0;
}

/** dxk_owns_destroy - free the lists of an engine that is no longer used */
void dxk_owns_destroy(struct dxk_engine *e)
{
	kvfree(e->owns.own);
}

/* The Ready requests or the helpers of an owner have changed: list it by its largest lane. */
static void dxk_own_call(struct dxk_engine *e, struct dxk_owner *owner, u32 kind)
{
	struct dxk_helper *h = owner->helper[kind];
	u32 lane = DXK_LANES;

	if (!h)
		return;
	list_del_init(&h->caller);
	while (lane--)
		if (owner->own[kind][lane]) {
			list_add_tail(&h->caller, &e->owns.callers[kind][lane]);
			return;
		}
}

/* Call @h, of the owner's ring, before the other ones there; NULL: the ring is empty. */
static void dxk_own_prefer(struct dxk_engine *e, struct dxk_owner *owner, u32 kind,
			   struct dxk_helper *h)
{
	if (owner->helper[kind])
		list_del_init(&owner->helper[kind]->caller);
	owner->helper[kind] = h;
	dxk_own_call(e, owner, kind);
}

/**
 * dxk_own_enter - a request becomes READY
 * @e: the engine, locked, with lists
 * @rqe: the request, which has its owner
 */
void dxk_own_enter(struct dxk_engine *e, struct dxk_rqe *rqe)
{
	struct dxk_owner *owner = rqe->owner;
	struct dxk_own *own = list_first_entry(&e->owns.free, struct dxk_own, link);
	u32 *first;

	lockdep_assert_held(&e->lock);

	if (WARN_ON_ONCE(list_empty(&e->owns.free))) {
		rqe->own = U32_MAX;
		return;
	}
	rqe->own = own - e->owns.own;
	own->rqe = rqe;
	first = &owner->own[rqe->kind][rqe->lane];
	list_del_init(&own->link);
	if (*first)
		list_add_tail(&own->link, &e->owns.own[*first - 1].link);
	else
		*first = rqe->own + 1;
	if (unlikely(owner->helper[rqe->kind]))
		dxk_own_call(e, owner, rqe->kind);
}

/** dxk_own_leave - a request is no longer READY; the engine is locked, and has lists */
void dxk_own_leave(struct dxk_engine *e, struct dxk_rqe *rqe)
{
	struct dxk_owner *owner = rqe->owner;
	u32 *first = &owner->own[rqe->kind][rqe->lane];
	struct dxk_own *own;

	lockdep_assert_held(&e->lock);

	if (rqe->own == U32_MAX)
		return;
	own = &e->owns.own[rqe->own];
	if (*first == rqe->own + 1)
		*first = list_empty(&own->link) ? 0 :
			 list_next_entry(own, link) - e->owns.own + 1;
	list_move(&own->link, &e->owns.free);
	if (unlikely(owner->helper[rqe->kind]))
		dxk_own_call(e, owner, rqe->kind);
}

/**
 * dxk_own_orphan - an owner ends while somebody still sleeps for it, see nest.h
 * @owner: its record, which another owner may get next; its engine is locked
 */
void dxk_own_orphan(struct dxk_owner *owner)
{
	struct dxk_rejoin_op *r;

	list_for_each_entry(r, &owner->pollers, w.link)
		if (r->w.helper && r->helper.owner) {
			list_del_init(&r->helper.link);
			list_del_init(&r->helper.caller);
			r->helper.owner = NULL;
		}
	owner->helper[DXK_USER] = NULL;
	owner->helper[DXK_KERNEL] = NULL;
}

/**
 * dxk_own_first - the oldest Ready request of an owner that its lane admits
 * @owns: of the engine, which is locked
 * @owner: the owner
 * @kind: for workers of that
 * @lanes: of the workers
 *
 * Return: the oldest of the first ones of those lanes; or NULL.
 */
struct dxk_rqe *dxk_own_first(const struct dxk_owns *owns, const struct dxk_owner *owner,
			      enum dxk_kind kind, const struct dxk_lanes *lanes)
{
	struct dxk_rqe *first = NULL;
	u32 lane;

	/* All lanes larger than one that admits a request admit it too. */
	for (lane = dxk_lanes_full(lanes); lane < DXK_LANES; lane++) {
		u32 at = owner->own[kind][lane];

		if (at && (!first || owns->own[at - 1].rqe->seq < first->seq))
			first = owns->own[at - 1].rqe;
	}
	return first;
}

/** dxk_helper_enter - list a helper to be called, for requests of its owner or for any request */
void dxk_helper_enter(struct dxk_engine *e, struct dxk_helper *h)
{
	struct dxk_owner *owner = h->owner;
	u32 kind = h->m->kind;

	lockdep_assert_held(&e->lock);

	if (!owner) {
		list_add(&h->link, &e->crew.helpers[kind]);
		return;
	}
	INIT_LIST_HEAD(&h->link);
	INIT_LIST_HEAD(&h->caller);
	if (owner->helper[kind])
		list_add_tail(&h->link, &owner->helper[kind]->link);
	dxk_own_prefer(e, owner, kind, h);
}

static struct dxk_helper *dxk_helper_next(struct dxk_helper *h)
{
	return list_empty(&h->link) ? NULL : list_next_entry(h, link);
}

/** dxk_helper_set_back - another helper of the owner comes first now, and other owners do */
void dxk_helper_set_back(struct dxk_engine *e, struct dxk_helper *h)
{
	dxk_own_prefer(e, h->owner, h->m->kind, dxk_helper_next(h) ?: h);
}

/** dxk_helper_leave - its sleep is over; the engine is locked */
void dxk_helper_leave(struct dxk_engine *e, struct dxk_helper *h)
{
	struct dxk_owner *owner = h->owner;
	u32 kind = h->m->kind;

	lockdep_assert_held(&e->lock);

	if (owner && owner->helper[kind] == h)
		dxk_own_prefer(e, owner, kind, dxk_helper_next(h));
	list_del_init(&h->link);
}
