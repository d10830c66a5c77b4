// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Domains: localities of an executive, and how foms are queued there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "../dx/call.h"
#include "internal.h"

/* Maximum number of localities; more than there are workers are of no use */
#define MOST		4096

/* --- domains ------------------------------------------------------------------------------ */

static uint32_t cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (uint32_t)CPU_COUNT(&set);
}

void fom_policy(ThreadManagerPolicy *policy, uint32_t localities, uint32_t foms)
{
	if (!localities)
		localities = cpus();
	policy->TPMaxThreads = localities;
	policy->TPOnBlock = DXK_ON_BLOCK_SPARE;
	policy->TPMinSpares = localities < policy->TPMaxSpares ? localities : policy->TPMaxSpares;
	policy->TPKeyBatch = 64;
	policy->TPMaxWaiting = foms;
	if (policy->TPMaxRequests < foms + policy->TPReadyEntries)
		policy->TPMaxRequests = foms + policy->TPReadyEntries;
}

static int configure(struct fom_domain *d, const struct fom_domain_options *options)
{
	struct fom_domain_options *o = &d->options;
	ThreadManagerPolicy policy;
	int rc;

	if (options)
		*o = *options;
	if (o->stats > 1 || o->localities > MOST || o->hung_period_ns < 0)
		return -EINVAL;
	rc = MTExecutiveGetPolicy(d->mte, &policy);
	if (rc)
		return rc;
	if (!policy.TPMaxWaiting)
		return -EOPNOTSUPP;
	if (!o->localities)
		o->localities = cpus();
	if (!o->handlers)
		o->handlers = 1;
	if (!o->again_budget)
		o->again_budget = 16;
	if (!o->hung_age_ns)
		o->hung_age_ns = 120LL * 1000000000;
	if (!o->hung_period_ns)
		o->hung_period_ns = 5LL * 1000000000;
	return 0;
}

/* A locality's key is an address with a number on top, to differ from the program's keys. */
static int localities_init(struct fom_domain *d)
{
	d->localities = calloc(d->options.localities, sizeof(*d->localities));
	if (!d->localities)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->options.localities; i++) {
		struct dxf_locality *l = &d->localities[i];

		l->domain = d;
		if (d->options.handlers == 1)
			l->key = (uintptr_t)l ^ 0xf03dULL << 48;
	}
	return dxf_stats_init(d);
}

int fom_domain_init(struct fom_domain **domain, MTExecutive *executive,
		    const struct fom_domain_options *options)
{
	struct fom_domain *d = calloc(1, sizeof(*d));
	int rc;

	*domain = NULL;
	if (!d)
		return -ENOMEM;
	d->mte = executive;
	d->turns.ExecuteThisRequest = dxf_turn;
	d->calls.ExecuteThisRequest = dxf_call_turn;
	rc = configure(d, options);
	if (!rc)
		rc = localities_init(d);
	if (rc)
		goto err_free;
	dxf_table_init(d);
	rc = dxf_watch_start(d);
	if (rc)
		goto err_table;
	pthread_mutex_init(&d->tree, NULL);
	dxf_simple_init(d);
	*domain = d;
	return 0;

err_table:
	dxf_table_exit(d);
err_free:
	free(d->localities);
	free(d);
	return rc;
}

int fom_domain_fini(struct fom_domain *domain)
{
	struct fom_domain *d = domain;

	if (!d)
		return 0;
	if (CurrentRequest())
		return -EDEADLK;
	/* One of them is the service of simple foms. */
	if (dxf_load(&d->live) || dxf_load(&d->services) > 1)
		return -EBUSY;
	dxf_simple_exit(d);
	dxf_watch_stop(d);
	dxf_table_exit(d);
	dxf_stats_exit(d);
	pthread_mutex_destroy(&d->tree);
	free(d->localities);
	free(d);
	return 0;
}

uint32_t fom_domain_localities(const struct fom_domain *domain)
{
	return domain->options.localities;
}

/* --- foms ------------------------------------------------------------------------------------ */

static uint32_t home(const struct fom *f)
{
	struct fom_domain *d = dxf_domain(f);
	size_t number;

	if (f->type->ops->home_locality)
		number = f->type->ops->home_locality(f);
	else
		number = __atomic_fetch_add(&d->next_home, 1, __ATOMIC_RELAXED);
	return (uint32_t)(number % d->options.localities);
}

enum admission { REFUSED, WAITS, ALWAYS };

/* Return: 0 or a negative errno. */
static int post(struct fom *f, enum admission admission, int64_t timeout_ns)
{
	struct fom_domain *d = dxf_domain(f);
	RQPost request = {
		.pOObject = f->service, .pXObject = &d->turns, .pPObject = f,
		.RQEAttrs = f->type->flags & FOM_QUIET ? PXR_QUIET : 0,
	};
	RQOptions options = {
		.pName = (void *)(uintptr_t)f->name,
		.Key = dxf_locality(f)->key, .Home = f->locality + 1,
	};
	int rc;

	if (admission == ALWAYS)
		return dx_post_beside(d->mte, &request, &options);
	if (admission == WAITS)
		request.RQEAttrs |= PXR_WAITIF_BUSY;
	rc = PostRequestsWithOf(d->mte, &request, &options, 1, timeout_ns, NULL);
	return rc > 0 ? 0 : rc;
}

/* The fom was refused with -ESHUTDOWN: it ends. */
static void refused(struct fom *f)
{
	struct fom *outer = dxf_here.fom;

	/* A fom ends in a turn. It had none: this counts as one. */
	dxf_here.fom = f;
	dxf_disarm(f);
	dxf_store(&f->rc, -ESHUTDOWN);
	dxf_phase(f, FOM_PHASE_FINISH);
	dxf_serf_ends(f);
	dxf_store(&f->word, FOM_FINISHED);
	f->type->ops->fini(f);
	dxf_here.fom = outer;
}

static int queue(struct fom *f, enum admission admission, int64_t timeout_ns)
{
	struct fom_domain *d = dxf_domain(f);
	struct fom_service *s = f->service;
	struct dxf_locality *l;
	int rc;

	if (dxf_state(f) != FOM_INIT || f->phase != FOM_PHASE_INIT)
		dxf_trap(f, "it is queued twice, or has begun");
	rc = dxf_service_enter(s, f);
	if (!rc) {
		f->locality = home(f);
		l = dxf_locality(f);
		dxf_since(f);
		dxf_table_add(f);
		dxf_moved(l, FOM_INIT, FOM_READY, 0);
		__atomic_or_fetch(&f->word, FOM_READY, __ATOMIC_SEQ_CST);
		rc = post(f, admission, timeout_ns);
		if (rc) {
			__atomic_and_fetch(&f->word, ~DXF_STATE, __ATOMIC_SEQ_CST);
			dxf_moved(l, FOM_READY, FOM_INIT, 0);
			dxf_table_remove(f);
			__atomic_sub_fetch(&d->live, 1, __ATOMIC_SEQ_CST);
		}
		dxf_service_leave(s);
	}
	if (rc == -ESHUTDOWN)
		refused(f);
	return rc;
}

int fom_queue(struct fom *fom)
{
	return queue(fom, REFUSED, 0);
}

int fom_queue_wait(struct fom *fom, int64_t timeout_ns)
{
	return queue(fom, WAITS, timeout_ns);
}

/** dxf_queue - as fom_queue(), but the Ready Pool is never full */
int dxf_queue(struct fom *f)
{
	return queue(f, ALWAYS, 0);
}
