/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The owners all of whose requests are being cancelled, and the progress of that. See purge.h.
 */
#ifndef _DXK_ENGINE_DOOM_H
#define _DXK_ENGINE_DOOM_H

#include "engine/os.h"

struct dxk_engine;
struct dxk_owner;

/* What a purge looks at. */
enum dxk_purge_part {
	DXK_PURGE_MORES,
	DXK_PURGE_READY,
	DXK_PURGE_MEMBERS,
};

/**
 * struct dxk_purges - the owners whose requests are being cancelled; all (L)
 */
struct dxk_purges {
	/** @owners: struct dxk_owner by purge, in their order */
	struct list_head owners;
	/** @part: of the first one, enum dxk_purge_part */
	u8 part;
	/** @members: workers still to be looked at; they are back when the purge is over */
	struct list_head members;
};

void dxk_purges_init(struct dxk_purges *purges);
struct dxk_owner *dxk_purges_first(struct dxk_purges *purges);
void dxk_purge_reset(struct dxk_engine *e, struct dxk_owner *owner);
void dxk_purge_begin(struct dxk_engine *e, struct dxk_owner *owner);
void dxk_purge_leave(struct dxk_engine *e, struct dxk_owner *owner);

#endif /* _DXK_ENGINE_DOOM_H */
