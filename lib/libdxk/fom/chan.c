// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Channels and their clinks.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "internal.h"

void chan_init(struct chan *chan)
{
	pthread_mutex_init(&chan->lock, NULL);
	dxf_list_init(&chan->clinks);
	chan->nr = 0;
}

void chan_fini(struct chan *chan)
{
	bool used;

	/* The thread that has signalled may still have the lock. */
	pthread_mutex_lock(&chan->lock);
	used = chan->nr;
	pthread_mutex_unlock(&chan->lock);
	if (used)
		dxf_trap(NULL, "chan_fini() with clinks or armed call-backs");
	pthread_mutex_destroy(&chan->lock);
}

/** dxf_clink_add - add a clink to a channel; under X */
void dxf_clink_add(struct chan *c, struct clink *clink)
{
	if (clink->link.next)
		dxf_trap(NULL, "a clink is added that is in a channel");
	clink->chan = c;
	dxf_list_add(&c->clinks, &clink->link);
	c->nr++;
}

/** dxf_clink_del - remove a clink, which is in a channel; under X */
void dxf_clink_del(struct clink *clink)
{
	dxf_list_del(&clink->link);
	clink->link.next = NULL;
	clink->chan->nr--;
}

/* --- events --------------------------------------------------------------------------------- */

/* Passes an event to the next clink; a clink with a filter may end with that. Under X. */
static void deliver(struct chan *c)
{
	struct clink *clink = dxf_entry(c->clinks.next, struct clink, link);

	dxf_clink_del(clink);
	if (!clink->oneshot)
		dxf_clink_add(c, clink);
	if (!clink->cb || !clink->cb(clink))
		sem_post(&clink->group->events);
}

void chan_signal(struct chan *chan)
{
	pthread_mutex_lock(&chan->lock);
	if (chan->nr)
		deliver(chan);
	pthread_mutex_unlock(&chan->lock);
}

void chan_broadcast(struct chan *chan)
{
	pthread_mutex_lock(&chan->lock);
	for (uint32_t nr = chan->nr; nr; nr--)
		deliver(chan);
	pthread_mutex_unlock(&chan->lock);
}

/* --- clinks --------------------------------------------------------------------------------- */

void clink_init(struct clink *clink, clink_filter cb)
{
	clink_attach(clink, clink, cb);
	sem_init(&clink->events, 0, 0);
}

void clink_attach(struct clink *clink, struct clink *group, clink_filter cb)
{
	*clink = (struct clink){ .cb = cb, .group = group->group ? group->group : group };
}

void clink_fini(struct clink *clink)
{
	clink_del(clink);
	if (clink->group == clink)
		sem_destroy(&clink->events);
}

void clink_add(struct chan *chan, struct clink *clink)
{
	pthread_mutex_lock(&chan->lock);
	dxf_clink_add(chan, clink);
	pthread_mutex_unlock(&chan->lock);
}

bool clink_del(struct clink *clink)
{
	struct chan *c = clink->chan;
	bool was;

	if (!c)
		return false;
	/* Also if it has left: its filter may execute. */
	pthread_mutex_lock(&c->lock);
	was = clink->link.next;
	if (was)
		dxf_clink_del(clink);
	pthread_mutex_unlock(&c->lock);
	return was;
}

/* --- threads that wait ---------------------------------------------------------------------- */

bool chan_timedwait(struct clink *clink, uint64_t deadline)
{
	struct timespec ts = dxf_timespec(deadline);
	int rc;

	do
		rc = sem_clockwait(&clink->group->events, CLOCK_MONOTONIC, &ts);
	while (rc && errno == EINTR);
	return !rc;
}

void chan_wait(struct clink *clink)
{
	chan_timedwait(clink, FOM_FOREVER);
}

bool chan_trywait(struct clink *clink)
{
	return !sem_trywait(&clink->group->events);
}
