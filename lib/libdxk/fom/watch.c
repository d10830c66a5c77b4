// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Foms that do nothing for long, and a thread that looks for them. It is a thread of its own
 * because the workers may be what is hung.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "internal.h"

static const char *const states[] = {
	[FOM_INIT] = "init", [FOM_READY] = "ready", [FOM_RUNNING] = "running",
	[FOM_WAITING] = "waiting", [FOM_FINISHED] = "finished",
};

/* The fom does not end meanwhile: its bucket is locked. */
static void report(struct fom *f, uint64_t age)
{
	struct fom_domain *d = dxf_domain(f);
	uint32_t phase = dxf_load(&f->phase);
	const struct fom_type *type = f->type;
	char text[256];

	snprintf(text, sizeof(text),
		 "fom %#llx of %s, service %s, phase %u %s, locality %u: %s for %llu ms",
		 (unsigned long long)f->name, type->name, f->service->name, phase,
		 type->phases && phase < type->nr_phases ? type->phases[phase].name : "",
		 f->locality, dxf_load(&f->blocked) ? "blocked" : states[dxf_state(f)],
		 (unsigned long long)(age / 1000000));
	if (d->options.hung)
		d->options.hung(f, text);
	else
		LogMessageOf(d->mte, "%s", text);
	if (type->ops->hung_notify)
		type->ops->hung_notify(f);
}

static void look(struct fom_domain *d)
{
	uint64_t now = dxf_clock(d), since;
	struct fom_link *l;

	for (unsigned int i = 0; i < DXF_BUCKETS; i++) {
		struct dxf_bucket *b = &d->buckets[i];

		pthread_mutex_lock(&b->lock);
		for (l = b->foms.next; l != &b->foms; l = l->next) {
			struct fom *f = dxf_entry(l, struct fom, live);

			since = dxf_peek(&f->steady);
			if (!(f->type->flags & FOM_QUIET) &&
			    now > since && now - since >= (uint64_t)d->options.hung_age_ns)
				report(f, now - since);
		}
		pthread_mutex_unlock(&b->lock);
	}
}

static void *watch(void *domain)
{
	struct fom_domain *d = domain;
	struct timespec ts;
	bool quit = false;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){ 0 });
	while (!quit) {
		int rc = 0;

		ts = dxf_timespec(dxf_now() + (uint64_t)d->options.hung_period_ns);
		pthread_mutex_lock(&d->lock);
		while (!d->quit && !rc)
			rc = pthread_cond_clockwait(&d->changed, &d->lock, CLOCK_MONOTONIC, &ts);
		quit = d->quit;
		pthread_mutex_unlock(&d->lock);
		if (!quit)
			look(d);
	}
	return NULL;
}

int dxf_watch_start(struct fom_domain *d)
{
	sigset_t all, old;
	int rc;

	if (d->options.hung_age_ns < 0)
		return 0;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&d->watcher, NULL, watch, d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	d->watches = !rc;
	return -rc;
}

void dxf_watch_stop(struct fom_domain *d)
{
	if (!d->watches)
		return;
	pthread_mutex_lock(&d->lock);
	d->quit = true;
	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->watcher, NULL);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->changed);
}
