// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Call-backs of foms: a clink that fires once, and is then in the fom's list of pending ones.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "internal.h"

/* --- it fires ------------------------------------------------------------------------------- */

/*
 * The event has come: calls the top half, and the bottom half is to follow. Under X. Once the fom
 * knows of it, the call-back that has fired may end at any time.
 */
static bool fires(struct clink *clink)
{
	struct fom_callback *cb = dxf_entry(clink, struct fom_callback, clink);
	struct fom *f = cb->fom;
	MTExecutive *mte = dxf_domain(f)->mte;
	const uint64_t name = f->name;
	bool done = cb->top && cb->top(cb), calls = false;

	pthread_mutex_lock(&f->lock);
	dxf_list_del(&cb->link);
	dxf_store(&cb->state, done ? DXF_IDLE : DXF_PENDING);
	if (!done) {
		dxf_list_add(&f->pending, &cb->link);
		calls = dxf_set(f, DXF_BOTTOMS);
	}
	pthread_mutex_unlock(&f->lock);
	if (calls)
		dxf_woken(dxf_call(mte, name));
	return true;
}

void fom_callback_init(struct fom_callback *cb, fom_top_half top, fom_bottom_half bottom)
{
	*cb = (struct fom_callback){ .top = top, .bottom = bottom, .state = DXF_IDLE };
	cb->clink.cb = fires;
	cb->clink.oneshot = true;
}

void fom_callback_fini(struct fom_callback *cb)
{
	if (dxf_load(&cb->state) != DXF_IDLE)
		dxf_trap(cb->fom, "fom_callback_fini() of one that is armed");
}

void fom_callback_arm(struct fom_callback *cb, struct fom *fom, struct chan *chan)
{
	dxf_own(fom, "its call-backs are its own to arm");
	if (dxf_load(&cb->state) != DXF_IDLE)
		dxf_trap(fom, "a call-back is armed that is armed");
	pthread_mutex_lock(&chan->lock);
	cb->fom = fom;
	pthread_mutex_lock(&fom->lock);
	dxf_list_add(&fom->armed, &cb->link);
	pthread_mutex_unlock(&fom->lock);
	dxf_store(&cb->state, DXF_ARMED);
	dxf_clink_add(chan, &cb->clink);
	pthread_mutex_unlock(&chan->lock);
}

void fom_wait_on(struct fom *fom, struct chan *chan, struct fom_callback *cb)
{
	if (cb->bottom)
		dxf_trap(fom, "fom_wait_on() with a bottom half");
	fom_callback_arm(cb, fom, chan);
}

/* --- its turn ------------------------------------------------------------------------------- */

/* It is not pending any more. Under L. */
static void taken(struct fom *f, struct fom_callback *cb)
{
	dxf_list_del(&cb->link);
	dxf_store(&cb->state, DXF_IDLE);
	if (dxf_list_empty(&f->pending))
		__atomic_and_fetch(&f->word, ~DXF_BOTTOMS, __ATOMIC_SEQ_CST);
}

/**
 * dxf_bottoms - a fom waits: call the bottom halves of what has fired, until one wakes it
 * @f: the fom
 * @budget: of its turn: maximum number to call; the unused part remains
 */
void dxf_bottoms(struct fom *f, uint32_t *budget)
{
	struct fom_callback *cb;

	while (*budget && !(dxf_load(&f->word) & DXF_WOKEN)) {
		pthread_mutex_lock(&f->lock);
		cb = dxf_list_empty(&f->pending) ? NULL :
		     dxf_entry(f->pending.next, struct fom_callback, link);
		if (cb) {
			dxf_store(&f->bottom, cb);
			taken(f, cb);
		}
		pthread_mutex_unlock(&f->lock);
		if (!cb)
			break;
		if (*budget != FOM_AGAIN_INLINE)
			--*budget;
		/* It may be armed again, or end, in its bottom half. */
		if (cb->bottom)
			cb->bottom(cb);
		else
			dxf_set(f, DXF_WOKEN);
		dxf_store(&f->bottom, NULL);
		if (dxf_load(&f->awaited))
			dxf_tell_bottom(f);
	}
}

/* --- cancel --------------------------------------------------------------------------------- */

static bool leaves_channel(struct fom_callback *cb)
{
	struct chan *c = cb->clink.chan;
	struct fom *f = cb->fom;
	bool armed;

	pthread_mutex_lock(&c->lock);
	armed = dxf_load(&cb->state) == DXF_ARMED;
	if (armed) {
		dxf_clink_del(&cb->clink);
		pthread_mutex_lock(&f->lock);
		dxf_list_del(&cb->link);
		dxf_store(&cb->state, DXF_IDLE);
		pthread_mutex_unlock(&f->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return armed;
}

static bool leaves_pending(struct fom_callback *cb)
{
	struct fom *f = cb->fom;
	bool pending;

	pthread_mutex_lock(&f->lock);
	pending = dxf_load(&cb->state) == DXF_PENDING;
	if (pending)
		taken(f, cb);
	pthread_mutex_unlock(&f->lock);
	return pending;
}

bool fom_callback_cancel(struct fom_callback *cb)
{
	struct fom *f = cb->fom;

	do {
		if (dxf_load(&cb->state) == DXF_ARMED && leaves_channel(cb))
			return true;
		if (dxf_load(&cb->state) == DXF_PENDING && leaves_pending(cb))
			return true;
		/* Its bottom half has begun, perhaps only just, and may arm it again. */
		if (f && fom_current() != f && dxf_load(&f->bottom) == cb)
			dxf_await_bottom(f, cb);
	} while (dxf_load(&cb->state) != DXF_IDLE);
	return false;
}

/** dxf_callbacks_drop - cancel all call-backs of a fom that ends */
void dxf_callbacks_drop(struct fom *f)
{
	struct fom_link *l;

	do {
		pthread_mutex_lock(&f->lock);
		l = dxf_list_empty(&f->armed) ? f->pending.next : f->armed.next;
		pthread_mutex_unlock(&f->lock);
		if (l != &f->pending)
			fom_callback_cancel(dxf_entry(l, struct fom_callback, link));
	} while (l != &f->pending);
}
