// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The existing foms, by their addresses. A caller that has the number of a fom, or waits for its
 * phases, finds the fom here, and so does the thread that looks for hung foms.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "internal.h"

void dxf_table_init(struct fom_domain *d)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	for (unsigned int i = 0; i < DXF_BUCKETS; i++) {
		struct dxf_bucket *b = &d->buckets[i];

		pthread_mutex_init(&b->lock, NULL);
		pthread_cond_init(&b->told, &attr);
		dxf_list_init(&b->foms);
		dxf_list_init(&b->waiters);
	}
	pthread_condattr_destroy(&attr);
}

void dxf_table_exit(struct fom_domain *d)
{
	for (unsigned int i = 0; i < DXF_BUCKETS; i++) {
		pthread_mutex_destroy(&d->buckets[i].lock);
		pthread_cond_destroy(&d->buckets[i].told);
	}
}

struct dxf_bucket *dxf_bucket(struct fom_domain *d, const struct fom *f)
{
	return &d->buckets[(uintptr_t)f * 0x9e3779b97f4a7c15ULL >> 56];
}

/** dxf_table_add - a fom is being queued: from now on it can be found */
void dxf_table_add(struct fom *f)
{
	struct fom_domain *d = dxf_domain(f);
	struct dxf_bucket *b = dxf_bucket(d, f);

	__atomic_add_fetch(&d->live, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&b->lock);
	dxf_list_add(&b->foms, &f->live);
	pthread_mutex_unlock(&b->lock);
}

/** dxf_table_remove - nobody finds a fom here any more, or still uses it after finding it */
void dxf_table_remove(struct fom *f)
{
	struct dxf_bucket *b = dxf_bucket(dxf_domain(f), f);

	pthread_mutex_lock(&b->lock);
	dxf_list_del(&f->live);
	pthread_mutex_unlock(&b->lock);
}

int fom_wakeup_id(struct fom_domain *domain, uint64_t id)
{
	const struct fom *at = (const void *)(uintptr_t)(id << 16 >> 16);
	struct dxf_bucket *b = dxf_bucket(domain, at);
	struct fom_link *l;
	int rc = -ESRCH;

	pthread_mutex_lock(&b->lock);
	for (l = b->foms.next; l != &b->foms; l = l->next) {
		struct fom *f = dxf_entry(l, struct fom, live);

		if (f->name == id) {
			rc = fom_wakeup(f);
			break;
		}
	}
	pthread_mutex_unlock(&b->lock);
	return rc;
}

/* --- waiters for a phase -------------------------------------------------------------- */

/** dxf_tell - a watched fom has entered a phase, perhaps its last: notify the waiters */
void dxf_tell(struct fom *f, uint32_t phase)
{
	struct dxf_bucket *b = dxf_bucket(dxf_domain(f), f);
	bool told = false, left = false;
	struct fom_link *l;

	pthread_mutex_lock(&b->lock);
	for (l = b->waiters.next; l != &b->waiters; l = l->next) {
		struct dxf_waiter *w = dxf_entry(l, struct dxf_waiter, link);

		if (w->fom != f || w->answer != -EINPROGRESS)
			continue;
		if (w->phases & FOM_PHASE(phase))
			w->answer = 0;
		else if (phase == FOM_PHASE_FINISH)
			w->answer = -ESRCH;
		told |= w->answer != -EINPROGRESS;
		left |= w->answer == -EINPROGRESS;
	}
	dxf_store(&f->watched, left);
	if (told)
		pthread_cond_broadcast(&b->told);
	pthread_mutex_unlock(&b->lock);
}

int fom_timedwait(struct fom *fom, uint64_t phases, uint64_t deadline)
{
	struct dxf_bucket *b = dxf_bucket(dxf_domain(fom), fom);
	struct dxf_waiter w = { .fom = fom, .phases = phases, .answer = -EINPROGRESS };
	struct timespec ts = dxf_timespec(deadline);
	uint64_t phase;
	int rc = 0;

	if (fom_current() == fom)
		return -EDEADLK;
	pthread_mutex_lock(&b->lock);
	/* The thread that changes the phase looks at that afterwards. */
	dxf_store(&fom->watched, true);
	phase = FOM_PHASE(dxf_load(&fom->phase));
	if (phase & phases)
		w.answer = 0;
	else if (phase & FOM_PHASE(FOM_PHASE_FINISH))
		w.answer = -ESRCH;
	/* From here on the fom may be gone. */
	dxf_list_add(&b->waiters, &w.link);
	while (w.answer == -EINPROGRESS && !rc)
		rc = pthread_cond_timedwait(&b->told, &b->lock, &ts);
	dxf_list_del(&w.link);
	pthread_mutex_unlock(&b->lock);
	return w.answer == -EINPROGRESS ? -rc : w.answer;
}

/* --- waiters for the end of a bottom half --------------------------------------------- */

/** dxf_tell_bottom - a bottom half has ended: notify the threads that wait for that */
void dxf_tell_bottom(struct fom *f)
{
	struct dxf_bucket *b = dxf_bucket(dxf_domain(f), f);

	pthread_mutex_lock(&b->lock);
	dxf_store(&f->awaited, false);
	pthread_cond_broadcast(&b->told);
	pthread_mutex_unlock(&b->lock);
}

/** dxf_await_bottom - wait until the bottom half of @cb no longer executes */
void dxf_await_bottom(struct fom *f, const struct fom_callback *cb)
{
	struct dxf_bucket *b = dxf_bucket(dxf_domain(f), f);

	pthread_mutex_lock(&b->lock);
	for (;;) {
		/* The thread that ends it looks at that afterwards. */
		dxf_store(&f->awaited, true);
		if (dxf_load(&f->bottom) != cb)
			break;
		pthread_cond_wait(&b->told, &b->lock);
	}
	pthread_mutex_unlock(&b->lock);
}
