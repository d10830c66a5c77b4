// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Room for requests: the limits of shares, and the members that watch for room; see room.h.
 */
#include "engine/dispatch.h"
#include "engine/os.h"
#include "engine/room.h"

/**
 * dxk_share_admit - is there room for the user of a share, as there is for others? See share.h
 * @e: the engine, locked
 * @need: what is needed
 * @reason: out, PXR_POOL_FULL..
 *
 * A user can leave any number of requests uncollected, so waiting does not cure a lack of
 * requests. Return: 0, -EAGAIN or -EDQUOT.
 */
int dxk_share_admit(const struct dxk_engine *e, const struct dxk_need *need, u32 *reason)
{
	const struct dxk_share *s = &e->shares.of[need->share];
	const struct dxk_policy *p = &e->policy;
	u32 pct = dxk_share_pct(s, p->user_share);
	u32 others;

	if (!dxk_share_allows(pct, s->live, p->max_requests - dxk_live(e))) {
		*reason = PXR_NO_SPACE;
		return -EDQUOT;
	}
	if (need->entry && !dxk_share_has_entry(e, need->share)) {
		*reason = PXR_POOL_FULL;
		return -EAGAIN;
	}
	if (p->rejoin_full == DXK_REJOIN_GROW || !need->rejoin || e->state != DXK_CTX_RUNNING)
		return 0;
	/* Without reservations more can be promised than there is. */
	others = p->rejoin_full == DXK_REJOIN_RESERVE ? e->owners.reserved - s->reserved : 0;
	if (!dxk_share_allows(pct, s->reserved,
			      e->owners.entries - min(e->owners.entries, others + s->reserved))) {
		*reason = PXR_REJOIN_FULL;
		return -EAGAIN;
	}
	return 0;
}

/* --- rooms by number ------------------------------------------------------------- */

/* @kind: all kinds need the same room, but the policy may have closed one */
static u32 dxk_room_of(const struct dxk_need *need, enum dxk_kind kind, bool inside)
{
	u32 what = !need->entry ? 2 * DXK_LANES : need->lane + (need->rejoin ? DXK_LANES : 0);

	return ((kind * DXK_SHARES + need->share) * 2 + inside) * DXK_NEEDS + what;
}

static struct dxk_need dxk_room_need(u32 room)
{
	u32 what = room % DXK_NEEDS;

	return (struct dxk_need) {
		.share = room / (2 * DXK_NEEDS) % DXK_SHARES,
		/* without an entry the lane is irrelevant, but no policy closes the last one */
		.lane = what < 2 * DXK_LANES ? what % DXK_LANES : DXK_LANES - 1,
		.entry = what < 2 * DXK_LANES, .rejoin = what >= DXK_LANES,
	};
}

static enum dxk_kind dxk_room_kind(u32 room)
{
	return room / (2 * DXK_NEEDS * DXK_SHARES);
}

/* Is it a room of members that execute a request? That of others is %DXK_NEEDS before it. */
static bool dxk_room_is_inside(u32 room)
{
	return room / DXK_NEEDS % 2;
}

/* Would a post that needs the room be refused with -EAGAIN? */
static bool dxk_room_is_full(struct dxk_engine *e, u32 room)
{
	struct dxk_need need = dxk_room_need(room);
	bool inside = dxk_room_is_inside(room);
	u32 reason;
	int err;

	if (e->state != DXK_CTX_RUNNING && !(inside && dxk_draining(e)))
		return false;
	if (dxk_closed(e, dxk_room_kind(room), need.lane) || dxk_live(e) >= e->policy.max_requests)
		return false;
	err = dxk_need_admit(e, &need, &reason);
	return err == -EAGAIN || (!err && dxk_need_is_awaited(e, &need));
}

/* --- who watches ----------------------------------------------------------------- */

void dxk_rooms_init(struct dxk_rooms *rooms)
{
	u32 room;

	for (room = 0; room < DXK_ROOMS; room++)
		INIT_LIST_HEAD(&rooms->watchers[room]);
}

static void dxk_room_enter(struct dxk_rooms *rooms, struct dxk_member *m)
{
	u32 room = m->refused - 1;

	list_add_tail(&m->room, &rooms->watchers[room]);
	rooms->some[room / 64] |= BIT_ULL(room % 64);
	rooms->nr++;
}

/** dxk_room_leave - a member no longer watches for room, if it did; it is writable */
void dxk_room_leave(struct dxk_rooms *rooms, struct dxk_member *m)
{
	u32 room = m->refused - 1;

	m->refused = 0;
	if (list_empty(&m->room))
		return;
	list_del_init(&m->room);
	if (list_empty(&rooms->watchers[room]))
		rooms->some[room / 64] &= ~BIT_ULL(room % 64);
	rooms->nr--;
}

/**
 * dxk_room_refused - a post is refused with -EAGAIN: its member is not writable
 * @e: the engine, locked
 * @m: the member
 * @rqe: its request
 *
 * A member that polls for that need not poll again.
 */
void dxk_room_refused(struct dxk_engine *e, struct dxk_member *m, const struct dxk_rqe *rqe)
{
	struct dxk_need need = dxk_need_of(m, rqe);

	dxk_room_leave(&e->ready.rooms, m);
	m->refused = dxk_room_of(&need, rqe->kind, dxk_is_inside(m)) + 1;
	if (m->asks_room)
		dxk_room_enter(&e->ready.rooms, m);
}

/**
 * dxk_room_outside - a member that was refused no longer executes a request
 * @e: the engine, locked
 * @m: the member
 * @wakes: gets what is owed
 *
 * Stop(drain) shuts it out like others outside.
 */
void dxk_room_outside(struct dxk_engine *e, struct dxk_member *m, struct dxk_wakes *wakes)
{
	struct dxk_rooms *rooms = &e->ready.rooms;
	bool watches = !list_empty(&m->room);
	u32 room = m->refused - 1;

	if (!dxk_room_is_inside(room))
		return;
	dxk_room_leave(rooms, m);
	m->refused = room - DXK_NEEDS + 1;
	if (!watches)
		return;
	dxk_room_enter(rooms, m);
	if (e->state != DXK_CTX_RUNNING)
		dxk_owe(e, wakes);
}

/**
 * dxk_room_poll - is a member writable? If not, poll(2) is notified when it becomes so
 * @e: the engine
 * @m: the member
 */
bool dxk_room_poll(struct dxk_engine *e, struct dxk_member *m)
{
	lockdep_assert_held(&e->lock);

	m->asks_room = true;
	if (m->refused && list_empty(&m->room)) {
		if (dxk_room_is_full(e, m->refused - 1))
			dxk_room_enter(&e->ready.rooms, m);
		else
			m->refused = 0;
	}
	return !m->refused;
}

/* Notify the members that watch a room, if it is not full. Return: was that all? */
static bool dxk_room_open(struct dxk_engine *e, u32 room, struct dxk_wakes *wakes)
{
	struct dxk_rooms *rooms = &e->ready.rooms;
	struct dxk_member *m, *next;

	list_for_each_entry_safe(m, next, &rooms->watchers[room], room) {
		if (wakes->nr_members == ARRAY_SIZE(wakes->member)) {
			dxk_owe(e, wakes);
			return false;
		}
		if (!dxk_afford_or_owe(e, wakes, 1))
			return false;
		dxk_room_leave(rooms, m);
		dxk_wake_member(wakes, m);
	}
	return true;
}

/**
 * dxk_room_tell - notify the members that watch for room where there is some
 * @e: the engine, locked
 * @wakes: gets the wake-ups; what it cannot afford is owed
 */
void dxk_room_tell(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	const struct dxk_rooms *rooms = &e->ready.rooms;
	u32 i;

	lockdep_assert_held(&e->lock);

	for (i = 0; i < ARRAY_SIZE(rooms->some); i++) {
		u64 some;

		for (some = rooms->some[i]; some; some &= some - 1) {
			u32 room = i * 64 + __ffs64(some);

			if (!dxk_room_is_full(e, room) && !dxk_room_open(e, room, wakes))
				return;
		}
	}
}
