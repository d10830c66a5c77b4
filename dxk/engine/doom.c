// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The owners whose requests are being cancelled: see doom.h.
 */
#include "engine/doom.h"
#include "engine/engine.h"
#include "engine/os.h"

void dxk_purges_init(struct dxk_purges *purges)
{
	INIT_LIST_HEAD(&purges->owners);
	INIT_LIST_HEAD(&purges->members);
	purges->part = DXK_PURGE_MORES;
}

/** dxk_purges_first - the owner whose purge is under way, or NULL */
struct dxk_owner *dxk_purges_first(struct dxk_purges *purges)
{
	return list_first_entry_or_null(&purges->owners, struct dxk_owner, purge);
}

/** dxk_purge_reset - put the first owner's purge back to its beginning */
void dxk_purge_reset(struct dxk_engine *e, struct dxk_owner *owner)
{
	list_splice_tail_init(&e->purges.members, &e->crew.members);
	e->ready.cursor = NULL;
	e->purges.part = DXK_PURGE_MORES;
}

/**
 * dxk_purge_begin - begin to end all requests that an owner has now
 * @e: the engine, locked
 * @owner: the owner
 *
 * dxk_purge_some() does it. A purge of the owner that is under way begins anew, as the last.
 */
void dxk_purge_begin(struct dxk_engine *e, struct dxk_owner *owner)
{
	lockdep_assert_held(&e->lock);

	owner->doom = e->ready.seq + 1;
	if (dxk_purges_first(&e->purges) == owner) {
		dxk_purge_reset(e, owner);
		/* One that begins anew again and again holds up no other one. */
		list_del_init(&owner->purge);
	}
	if (list_empty(&owner->purge))
		list_add_tail(&owner->purge, &e->purges.owners);
	list_splice_tail_init(&owner->mores, &owner->doomed);
}

/** dxk_purge_leave - end the purge of an owner that has no live requests */
void dxk_purge_leave(struct dxk_engine *e, struct dxk_owner *owner)
{
	if (dxk_purges_first(&e->purges) == owner)
		dxk_purge_reset(e, owner);
	list_del_init(&owner->purge);
	owner->doom = 0;
}
