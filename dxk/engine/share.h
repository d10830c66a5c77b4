/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * What one user can have of a context.
 *
 * Who may post into the context of another user must not be able to keep the others out of
 * it. So there is a share, by policy user_share: of what a user has and what is free
 * together it may have so many percent. Nothing is set aside, and it need not be known how
 * many will come: whatever the others have taken, who comes anew still finds something. One
 * greedy user leaves 100 - p percent, n of them leave 1 of 1 + n * p / (100 - p) parts.
 *
 * It holds for live requests, for those that were posted waiting and do, for keys that are held
 * back, which count as such, for entries of the Ready Pool and of the Rejoin Pool, and for ids.
 * The owner of the context and the kernel have none: their number is 0, and all that they pay
 * for this is to find it so.
 *
 * The owner can let others in as tenants: a space, that is who has a descriptor or was given it,
 * has a share of its own then, with a weight and a number of entries of the Ready Pool, and is
 * no user's. Nobody can make himself one, or more of them.
 *
 * Invariants, under the lock:
 *   a share that somebody uses is the only one of its user, save the last one: should more
 *   users meet than there are shares, the further ones have that in common
 *   live, ready, waiting, reserved count the requests with its number, in the one move that makes
 *   them so
 *   a share with live requests, descriptors or members keeps its user, and another one
 *   until somebody else needs it, so that who comes back finds what it has left
 */
#ifndef _DXK_ENGINE_SHARE_H
#define _DXK_ENGINE_SHARE_H

#include "engine/os.h"

struct dxk_engine;
struct dxk_member;

/* Shares of a context; 0 stands for none. */
#define DXK_SHARES	32

/**
 * struct dxk_share - one user's share of a context; all (L)
 */
struct dxk_share {
	/** @uid: whose, in the kernel's numbers; %U32_MAX: nobody's so far, or a space's */
	u32 uid;
	/** @is_space: it is a tenant's who was let in, not one of a user */
	bool is_space;
	/** @weight: of such a tenant, or 0: as the policy says; see fair.h */
	u32 weight;
	/** @most_ready: entries of the Ready Pool that such a tenant may have, or 0: all */
	u32 most_ready;
	/** @users: descriptors and members by which it is used */
	u32 users;
	/** @clients: ids of clients */
	u32 clients;
	/** @live: requests that exist */
	u32 live;
	/** @ready: of these, those that are Ready */
	u32 ready;
	/** @waiting: of these, those that wait and were never begun; and keys it holds back */
	u32 waiting;
	/** @reserved: of these, those that need an entry of the Rejoin Pool */
	u32 reserved;
};

/**
 * struct dxk_shares - the shares of a context
 */
struct dxk_shares {
	/** @of: (L) by number; 0 is not used */
	struct dxk_share of[DXK_SHARES];
	/** @clients: (L) ids of clients, of all users and of the owner */
	u32 clients;
};

/**
 * dxk_share_allows - may the user of a share have one more?
 * @pct: policy user_share
 * @has: how many it has
 * @room: how many are free, for whomever
 *
 * With 100 there are no shares: then only the limits of all count.
 */
static inline bool dxk_share_allows(u32 pct, u32 has, u32 room)
{
	return pct == 100 || (u64)has * 100 < ((u64)has + room) * pct;
}

/* Percent of it and of what is free that a user may have. Of a space its own limit counts. */
static inline u32 dxk_share_pct(const struct dxk_share *s, u32 user_share)
{
	return unlikely(s->is_space) ? 100 : user_share;
}

void dxk_shares_init(struct dxk_shares *shares);
u32 dxk_share_open(struct dxk_engine *e, u32 uid, bool *changed);
u32 dxk_share_open_space(struct dxk_engine *e, u32 weight, u32 most_ready);
void dxk_share_close(struct dxk_engine *e, u32 share);
int dxk_share_enter(struct dxk_engine *e, struct dxk_member *m, u32 ids);
int dxk_share_may_wait(const struct dxk_engine *e, const struct dxk_member *m);
void dxk_share_leave(struct dxk_engine *e, const struct dxk_member *m);

#endif /* _DXK_ENGINE_SHARE_H */
