/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The share of a context that one user can have.
 *
 * A user that may post into the context of another user must not be able to keep the others out
 * of it. Therefore each user has a share, set by policy user_share: the percentage that a user
 * may have of the sum of what it has and what is free. Nothing is set aside, and the number of
 * users need not be known: whatever the others have taken, a newcomer still finds something. One
 * greedy user leaves 100 - p percent, n of them leave 1 of 1 + n * p / (100 - p) parts.
 *
 * The limit applies to live requests; to requests that were posted waiting and still wait; to
 * keys that are held back, which count as such requests; to entries of the Ready Pool and of the
 * Rejoin Pool; and to ids. The owner of the context and the kernel have no share: their number is
 * 0, and the test for that is all that this costs them.
 *
 * The owner can let others in as tenants. A space, i.e. the holders of a descriptor and of its
 * copies, then has a share of its own, with a weight and a number of entries of the Ready Pool,
 * and this share belongs to no user. Nobody can make himself a tenant, or more than one.
 *
 * Invariants, under the lock:
 *   a share in use is the only one of its user, except for the last one: if there are more
 *   users than shares, the additional users have the last share in common
 *   live, ready, waiting, reserved count the requests with its number, in the one move that makes
 *   them so
 *   a share with live requests, descriptors or members keeps its user. Any other share keeps its
 *   user until somebody else needs it, so that a returning user finds what it has left
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
	/** @uid: its user, in the kernel's numbers; %U32_MAX: none so far, or it is a space's */
	u32 uid;
	/** @is_space: it belongs to a tenant that was let in, not to a user */
	bool is_space;
	/** @weight: of such a tenant, or 0: as set by the policy; see fair.h */
	u32 weight;
	/** @most_ready: entries of the Ready Pool that such a tenant may have, or 0: all */
	u32 most_ready;
	/** @users: descriptors and members that use it */
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
 * @room: how many are free, for all users
 *
 * With 100 there are no shares: then only the common limits apply.
 */
static inline bool dxk_share_allows(u32 pct, u32 has, u32 room)
{
	return pct == 100 || (u64)has * 100 < ((u64)has + room) * pct;
}

/* The percentage that a user may have, see above. For a space its own limit applies instead. */
static inline u32 dxk_share_pct(const struct dxk_share *s, u32 user_share)
{
	return unlikely(s->is_space) ? 100 : user_share;
}

void dxk_shares_init(struct dxk_shares *shares);
u32 dxk_share_open(struct dxk_engine *e, u32 uid, bool *changed);
u32 dxk_share_open_space(struct dxk_engine *e, u32 weight, u32 most_ready);
void dxk_share_close(struct dxk_engine *e, u32 share);
int dxk_share_enter(struct dxk_engine *e, struct dxk_member *m, u32 ids);
bool dxk_share_has_entry(const struct dxk_engine *e, u32 share);
int dxk_share_may_wait(const struct dxk_engine *e, const struct dxk_member *m);
void dxk_share_leave(struct dxk_engine *e, const struct dxk_member *m);

#endif /* _DXK_ENGINE_SHARE_H */
