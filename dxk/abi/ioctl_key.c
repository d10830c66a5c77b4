// SPDX-License-Identifier: GPL-2.0-only
/*
 * The call on keys: see struct dxk_key_call.
 */
#include "abi/args.h"
#include "engine/calls.h"

/* The calls for a request that the caller executes. */
static long dxk_key_of_request(struct dxk_member *m, const struct dxk_key_call *a)
{
	struct dxk_key_op k __uninitialized;

	if (a->key || (a->flags && a->what != DXK_KEY_BLOCK) || a->flags & ~DXK_KEY_FORCE ||
	    (a->deadline && a->what != DXK_KEY_WAIT && a->what != DXK_KEY_BLOCK))
		return -EINVAL;
	k.rqe = dxk_busy_find(m, a->ticket);
	if (!k.rqe)
		return -ESTALE;
	k.m = m;
	k.what = a->what;
	k.force = a->flags & DXK_KEY_FORCE;
	k.patient = a->deadline;
	return dxk_key_ask(&k, a->deadline);
}

/* @obj: the member */
long dxk_key_ioctl(void *obj, struct dxk_ucall *c)
{
	const struct dxk_key_call *a = &c->args.key_call;

	if (a->what > DXK_KEY_UNBLOCK || a->flags & ~(DXK_KEY_REFUSE | DXK_KEY_FORCE))
		return -EOPNOTSUPP;
	if (a->reserved)
		return -EINVAL;
	if (a->what <= DXK_KEY_NOTIFY_ALL || dxk_key_is_mark(a->what))
		return dxk_key_of_request(obj, a);
	if (a->ticket || a->deadline || a->flags & DXK_KEY_FORCE ||
	    (a->flags && a->what != DXK_KEY_HOLD))
		return -EINVAL;
	switch (a->what) {
	case DXK_KEY_HOLD:
		return dxk_key_hold_back(obj, a->key, a->flags & DXK_KEY_REFUSE);
	case DXK_KEY_RELEASE:
		return dxk_key_release(obj, a->key);
	default:
		return dxk_key_cancel(obj, a->key);
	}
}
