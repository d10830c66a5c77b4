// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Assignment of the shares of a context.
 */
#include "engine/engine.h"
#include "engine/member.h"
#include "engine/os.h"
#include "engine/share.h"

/* A key stays held back after the member that held it back has gone. */
static bool dxk_share_is_used(const struct dxk_share *s)
{
	return s->users || s->live || s->waiting;
}

void dxk_shares_init(struct dxk_shares *shares)
{
	u32 i;

	for (i = 0; i < DXK_SHARES; i++)
		shares->of[i].uid = U32_MAX;
}

/* The share of a user, else one that nobody has had, else an unused one, else the last. */
static u32 dxk_share_find(const struct dxk_shares *shares, u32 uid)
{
	u32 share = DXK_SHARES - 1;
	u32 i;

	for (i = DXK_SHARES - 1; i; i--) {
		const struct dxk_share *s = &shares->of[i];

		if (s->uid == uid)
			return i;
		if (!dxk_share_is_used(s) &&
		    (s->uid == U32_MAX || shares->of[share].uid != U32_MAX))
			share = i;
	}
	return share;
}

/* Give a share to another user. */
static void dxk_share_give(struct dxk_engine *e, u32 share, u32 uid)
{
	e->shares.of[share] = (struct dxk_share) { .uid = uid };
	dxk_fair_join(e, share);
}

/**
 * dxk_share_open - a user opens a descriptor of a context that is not its own
 * @e: the engine
 * @uid: the user, in the kernel's numbers
 * @changed: out, the share was another user's before
 *
 * Return: the number of its share.
 */
u32 dxk_share_open(struct dxk_engine *e, u32 uid, bool *changed)
{
	struct dxk_share *s;
	u32 share;

	spin_lock(&e->lock);
	share = dxk_share_find(&e->shares, uid);
	s = &e->shares.of[share];
	*changed = s->uid != uid && !dxk_share_is_used(s);
	if (*changed)
		dxk_share_give(e, share, uid);
	s->users++;
	spin_unlock(&e->lock);
	return share;
}

/**
 * dxk_share_open_space - the owner of a context lets a tenant in
 * @e: the engine
 * @weight: of it, or 0: as set by the policy
 * @most_ready: entries of the Ready Pool that it may have, or 0: all
 *
 * The last share is for users that find no other.
 * Return: the number of its share, 0: all are used.
 */
u32 dxk_share_open_space(struct dxk_engine *e, u32 weight, u32 most_ready)
{
	u32 i;

	spin_lock(&e->lock);
	for (i = 1; i < DXK_SHARES - 1; i++)
		if (!dxk_share_is_used(&e->shares.of[i]))
			break;
	if (i < DXK_SHARES - 1) {
		struct dxk_share *s = &e->shares.of[i];

		*s = (struct dxk_share) {
			.uid = U32_MAX, .is_space = true, .users = 1,
			.weight = weight, .most_ready = most_ready,
		};
		dxk_fair_join(e, i);
	}
	spin_unlock(&e->lock);
	return i < DXK_SHARES - 1 ? i : 0;
}

/** dxk_share_close - the descriptor is closed */
void dxk_share_close(struct dxk_engine *e, u32 share)
{
	if (!share)
		return;
	spin_lock(&e->lock);
	e->shares.of[share].users--;
	spin_unlock(&e->lock);
}

/**
 * dxk_share_enter - a member gets an id
 * @e: the engine, locked
 * @m: the member; has its share
 * @ids: how many clients there can be
 *
 * Return: 0, or -EDQUOT if its user has its share of them.
 */
int dxk_share_enter(struct dxk_engine *e, struct dxk_member *m, u32 ids)
{
	struct dxk_share *s = &e->shares.of[m->share];
	bool client = m->role == DXK_ROLE_CLIENT;

	lockdep_assert_held(&e->lock);

	if (client && m->share &&
	    !dxk_share_allows(dxk_share_pct(s, e->policy.user_share), s->clients,
			      ids - e->shares.clients))
		return -EDQUOT;
	s->users++;
	s->clients += client;
	e->shares.clients += client;
	return 0;
}

/**
 * dxk_share_may_wait - may one more request wait, or one more key be held back?
 * @e: the engine, locked
 * @m: the member that it would belong to
 *
 * Return: 0; -ENOSPC: the maximum is reached; -EDQUOT: its user has its share of them.
 */
int dxk_share_may_wait(const struct dxk_engine *e, const struct dxk_member *m)
{
	const struct dxk_share *s = &e->shares.of[m->share];
	const struct dxk_policy *p = &e->policy;
	u32 nr = e->waits.unbegun;

	lockdep_assert_held(&e->lock);

	if (nr >= p->max_waiting)
		return -ENOSPC;
	if (m->share && !dxk_share_allows(dxk_share_pct(s, p->user_share), s->waiting,
					  p->max_waiting - nr))
		return -EDQUOT;
	return 0;
}

/**
 * dxk_share_has_entry - may the user of a share have one more entry of the Ready Pool?
 * @e: the engine, locked; the pool is not full
 * @share: the share
 */
bool dxk_share_has_entry(const struct dxk_engine *e, u32 share)
{
	const struct dxk_share *s = &e->shares.of[share];
	const struct dxk_policy *p = &e->policy;

	return dxk_share_allows(dxk_share_pct(s, p->user_share), s->ready,
				p->ready_entries - e->nr[DXK_AT_READY]) &&
	       !(s->most_ready && s->ready >= s->most_ready);
}

/** dxk_share_leave - a member gives its id up; the engine is locked */
void dxk_share_leave(struct dxk_engine *e, const struct dxk_member *m)
{
	struct dxk_share *s = &e->shares.of[m->share];
	bool client = m->role == DXK_ROLE_CLIENT;

	lockdep_assert_held(&e->lock);

	s->users--;
	s->clients -= client;
	e->shares.clients -= client;
}
