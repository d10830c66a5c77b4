/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SPACE_H
#define _DXK_SPACE_H

#include <linux/list.h>
#include <linux/types.h>

struct dxk_ctx;

/**
 * struct dxk_space - those whose owner cookies mean the same owners
 * @id: (C) part of the hash of its owners
 * @is_private: (C) of one context descriptor, its copies, and the members made from
 *	them; else part of the context
 * @closed: (L) all those are closed: nobody can collect any more
 * @users: (L) of a private space: descriptors and members
 * @refs: (L) these and records of owners; it is freed with the last
 * @owners: (L) struct dxk_owner of a private space
 * @emptied: (L) those of a closed space that have no results
 *
 * An owner is a cookie in a space. So cookies of different processes neither collide
 * nor can they be polled by each other, unless they share a space on purpose.
 */
struct dxk_space {
	u32 id;
	bool is_private;
	bool closed;
	u32 users;
	u32 refs;
	struct list_head owners;
	struct list_head emptied;
};

void dxk_space_init(struct dxk_space *space, u32 id);
struct dxk_space *dxk_space_new(struct dxk_ctx *ctx);
void dxk_space_join(struct dxk_ctx *ctx, struct dxk_space *space);
void dxk_space_leave(struct dxk_ctx *ctx, struct dxk_space *space);

/* For the records of owners; under the lock. */
static inline void dxk_space_get(struct dxk_space *space)
{
	space->refs++;
}

void dxk_space_put(struct dxk_space *space);

#endif /* _DXK_SPACE_H */
