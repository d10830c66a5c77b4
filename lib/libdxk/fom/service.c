// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Services take foms, and wait until they have ended. The kernel knows which requests of a service
 * exist; foms on their way to the kernel are counted here.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "internal.h"

/*
 * struct fom_service:
 *
 *	name, ops, domain	C
 *	state		A, written S
 *	posting		S: foms whose posts may begin, or have not returned
 *
 * A thread that stops a service changes its state, then waits until no fom is being posted: foms
 * queued later have seen the new state, and the kernel knows of those queued before.
 */

void fom_service_init(struct fom_service *service, struct fom_domain *domain, const char *name,
		      const struct fom_service_ops *ops)
{
	*service = (struct fom_service){ .name = name, .ops = ops, .domain = domain };
	pthread_mutex_init(&service->lock, NULL);
	pthread_cond_init(&service->changed, NULL);
}

void fom_service_fini(struct fom_service *service)
{
	if (dxf_load(&service->state) != FOM_SERVICE_STOPPED)
		dxf_trap(NULL, "fom_service_fini() of one that is not stopped");
	pthread_mutex_destroy(&service->lock);
	pthread_cond_destroy(&service->changed);
}

int fom_service_state(const struct fom_service *service)
{
	return (int)dxf_load(&service->state);
}

/* --- foms come ----------------------------------------------------------------------------- */

/**
 * dxf_service_enter - whether a fom may be queued; if so, dxf_service_leave() follows its post
 *
 * Return: 0, -EAGAIN, -ESHUTDOWN.
 */
int dxf_service_enter(struct fom_service *s, struct fom *f)
{
	uint32_t state;

	pthread_mutex_lock(&s->lock);
	state = s->state;
	s->posting++;
	pthread_mutex_unlock(&s->lock);
	if (state == FOM_SERVICE_STARTED ||
	    (state == FOM_SERVICE_STOPPING && s->ops && s->ops->accepts && s->ops->accepts(s, f)))
		return 0;
	dxf_service_leave(s);
	return state == FOM_SERVICE_STARTING ? -EAGAIN : -ESHUTDOWN;
}

void dxf_service_leave(struct fom_service *s)
{
	pthread_mutex_lock(&s->lock);
	if (!--s->posting)
		pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* --- states ---------------------------------------------------------------------------------- */

/* Return: whether it was in @from. */
static bool change(struct fom_service *s, uint32_t from, uint32_t to)
{
	bool was;

	pthread_mutex_lock(&s->lock);
	was = s->state == from;
	if (was)
		dxf_store(&s->state, to);
	pthread_mutex_unlock(&s->lock);
	return was;
}

int fom_service_start(struct fom_service *service)
{
	struct fom_service *s = service;
	int rc;

	if (!change(s, FOM_SERVICE_STOPPED, FOM_SERVICE_STARTING))
		return -EINVAL;
	__atomic_add_fetch(&s->domain->services, 1, __ATOMIC_SEQ_CST);
	rc = s->ops && s->ops->start ? s->ops->start(s) : 0;
	change(s, FOM_SERVICE_STARTING, rc ? FOM_SERVICE_STOPPED : FOM_SERVICE_STARTED);
	if (rc)
		__atomic_sub_fetch(&s->domain->services, 1, __ATOMIC_SEQ_CST);
	return rc;
}

int fom_service_prepare_to_stop(struct fom_service *service)
{
	return change(service, FOM_SERVICE_STARTED, FOM_SERVICE_STOPPING) ? 0 : -EINVAL;
}

/* Waits until no post is on its way. Return: 0 or -ETIMEDOUT. */
static int posts_end(struct fom_service *s, uint64_t deadline)
{
	struct timespec ts = dxf_timespec(deadline);
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	while (s->posting && !rc)
		rc = pthread_cond_clockwait(&s->changed, &s->lock, CLOCK_MONOTONIC, &ts);
	pthread_mutex_unlock(&s->lock);
	return -rc;
}

static bool posts(struct fom_service *s)
{
	return posts_end(s, 0);
}

int fom_service_idle_wait(struct fom_service *service, uint64_t deadline)
{
	struct fom_service *s = service;
	int rc;

	if (CurrentRequest())
		return -EDEADLK;
	do {
		rc = posts_end(s, deadline);
		if (!rc)
			rc = RejoinWaitOf(s->domain->mte, s, NULL, dxk_remaining(deadline));
	} while (rc == -ESHUTDOWN || (rc == RJR_NONE_EXIST && posts(s)));
	if (rc == RJR_NONE_READY)
		return -ETIMEDOUT;
	return rc == RJR_NONE_EXIST ? 0 : rc;
}

/* Ends the foms whose requests have ended without a turn. */
static void reap(struct fom_service *s)
{
	struct fom_link *l, *next, ended;

	dxf_list_init(&ended);
	for (unsigned int i = 0; i < DXF_BUCKETS; i++) {
		struct dxf_bucket *b = &s->domain->buckets[i];

		pthread_mutex_lock(&b->lock);
		for (l = b->foms.next; l != &b->foms; l = next) {
			next = l->next;
			if (dxf_entry(l, struct fom, live)->service != s)
				continue;
			dxf_list_del(l);
			dxf_list_add(&ended, l);
		}
		pthread_mutex_unlock(&b->lock);
	}
	while (!dxf_list_empty(&ended))
		dxf_die(dxf_entry(ended.next, struct fom, live), -ECANCELED);
}

int fom_service_stop(struct fom_service *service)
{
	struct fom_service *s = service;
	int rc;

	fom_service_prepare_to_stop(s);
	if (fom_service_state(s) == FOM_SERVICE_STOPPED)
		return 0;
	rc = fom_service_idle_wait(s, FOM_FOREVER);
	if (rc)
		return rc;
	if (!change(s, FOM_SERVICE_STOPPING, FOM_SERVICE_STOPPED))
		return fom_service_state(s) == FOM_SERVICE_STOPPED ? 0 : -EINVAL;
	/* A fom may have been accepted meanwhile. */
	while (fom_service_idle_wait(s, FOM_FOREVER) == -EINTR)
		;
	reap(s);
	if (s->ops && s->ops->stop)
		s->ops->stop(s);
	__atomic_sub_fetch(&s->domain->services, 1, __ATOMIC_SEQ_CST);
	return 0;
}
