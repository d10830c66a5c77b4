// SPDX-License-Identifier: GPL-2.0-only
/* The engine of the picture (model.h): requests that others cancel, by name or by owner. */
#define DXT_NO_HARNESS
#include "model_engine.h"

#include <stdlib.h>

/* The request of the name that has not ended, or NULL. */
struct req *engine_named(struct ctx *c, const struct space *s, uint64_t name)
{
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];

		if (r->named && r->space == s && r->name == name && r->state != DONE &&
		    r->state != LEAVING)
			return r;
	}
	return NULL;
}

/* The worker's call that asks whether to end has its answer, if that is what it has newest. */
static void tell_worker(const struct ctx *c, const struct req *r)
{
	struct member *m;

	for (m = engine_members; m < engine_members + MEMBERS; m++)
		if (m->used && m->ctx == c && m->last_ticket == r->ticket)
			m->told = true;
}

/* It is cancelled, or has expired: what has become of it. */
uint32_t engine_tell(struct ctx *c, struct req *r, uint32_t reason)
{
	if (!engine_begun(r)) {
		engine_end_early(c, r, reason == DXK_WAKE_EXPIRE ? -ETIME : -ECANCELED);
		return DXK_CANCEL_ENDED;
	}
	if (reason == DXK_WAKE_CANCEL)
		r->cancelled = true;
	else
		r->expired = true;
	if (r->state == READY)
		engine_put_told_back(r);
	else if (r->state == WORK)
		tell_worker(c, r);
	else if (!(r->wait.wait & DXK_WAIT_MASKED))
		engine_resume(c, r, reason);
	return DXK_CANCEL_TOLD;
}

/* --- owners ---------------------------------------------------------------- */

struct doom *engine_doom(struct ctx *c, const struct space *s, uint64_t owner)
{
	int i;

	for (i = 0; i < c->nr_doom; i++)
		if (c->doom[i].space == s && c->doom[i].owner == owner)
			return &c->doom[i];
	return NULL;
}

/* Is it cancelled with all of its owner? */
bool engine_doomed(struct ctx *c, const struct req *r)
{
	const struct doom *d = engine_doom(c, r->space, r->owner);

	return d && r->seq <= d->seq;
}

/* Nothing of it lives any more. */
void engine_owner_gone(struct ctx *c, const struct space *s, uint64_t owner)
{
	struct doom *d = engine_doom(c, s, owner);

	if (d)
		*d = c->doom[--c->nr_doom];
}

/* All that it has is to end: engine_purge() does it. */
void engine_purge_begin(struct ctx *c, const struct space *s, uint64_t owner)
{
	struct doom *d = engine_doom(c, s, owner);

	if (!d) {
		if (c->nr_doom == LIVE)
			abort();
		d = &c->doom[c->nr_doom++];
		*d = (struct doom){ .space = s, .owner = owner };
	}
	d->seq = c->seq;
	if (!d->purge)
		d->purge = ++c->order;
}

static struct doom *first_purge(struct ctx *c)
{
	struct doom *first = NULL;
	int i;

	for (i = 0; i < c->nr_doom; i++)
		if (c->doom[i].purge && (!first || c->doom[i].purge < first->purge))
			first = &c->doom[i];
	return first;
}

bool engine_purge_due(struct ctx *c)
{
	return first_purge(c);
}

/* The next one behind @after of those that have more than others. */
static struct req *next_sibling(struct ctx *c, const struct doom *d, uint64_t after,
				uint64_t upto)
{
	struct req *first = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];

		if (engine_of_owner(r, d->space, d->owner) && r->state != DONE &&
		    r->state != LEAVING && r->sibling_seq > after && r->sibling_seq <= upto &&
		    (!first || r->sibling_seq < first->sibling_seq))
			first = r;
	}
	return first;
}

/*
 * The order in which the pool is looked through is the module's own: by kind and lane,
 * boosted ones last, then by rows of the priority, and what has no place in its row last.
 */
static bool scanned_before(const struct req *x, const struct req *y)
{
	int slot_x = x->kernel * 16 + (int)x->lane * 2 + !!(x->attrs & PXR_BOOST);
	int slot_y = y->kernel * 16 + (int)y->lane * 2 + !!(y->attrs & PXR_BOOST);
	uint32_t row_x = (uint32_t)x->prio % 64, row_y = (uint32_t)y->prio % 64;

	if (slot_x != slot_y)
		return slot_x < slot_y;
	if (x->treed != y->treed)
		return y->treed;
	if (x->prio != y->prio)
		return x->treed ? x->prio > y->prio : row_x < row_y;
	return x->seq < y->seq;
}

static struct req *next_ready(struct ctx *c, const struct doom *d)
{
	struct req *first = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];

		if (r->state == READY && !r->last && !engine_begun(r) && r->seq <= d->seq &&
		    engine_of_owner(r, d->space, d->owner) &&
		    (!first || scanned_before(r, first)))
			first = r;
	}
	return first;
}

static void purge_one(struct ctx *c, struct doom d)
{
	uint64_t at = 0, upto = c->order;
	struct member *m;
	struct req *r;

	while ((r = next_sibling(c, &d, at, upto))) {
		at = r->sibling_seq;
		engine_tell(c, r, DXK_WAKE_CANCEL);
	}
	while ((r = next_ready(c, &d)))
		engine_end_early(c, r, -ECANCELED);
	/* with the last of its requests the owner goes, and who executed one is not looked for */
	if (!engine_doom(c, d.space, d.owner))
		return;
	for (m = engine_members; m < engine_members + MEMBERS; m++)
		if (m->used && m->ctx == c && m->attached && !m->client && m->nr_busy &&
		    m->last_space == d.space && m->last_owner == d.owner)
			m->told = true;
}

/* Those that are to be cancelled, in their order. */
void engine_purge(struct ctx *c)
{
	struct doom *d = first_purge(c);

	if (!d)
		return;
	for (; d; d = first_purge(c)) {
		struct doom one = *d;

		purge_one(c, one);
		d = engine_doom(c, one.space, one.owner);
		if (d)
			d->purge = 0;
	}
	engine_serve_posters(c);
	engine_stop_workers(c);
}
