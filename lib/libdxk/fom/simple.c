// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Simple foms: a function and its data. They belong to a service of the domain itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

struct dxf_simple {
	struct fom fom;
	uint32_t locality;		/* C */
	sfom_tick tick;			/* C */
	sfom_free free;			/* C */
	void *data;			/* C */
};

static struct dxf_simple *simple_of(const struct fom *f)
{
	return dxf_entry(f, struct dxf_simple, fom);
}

/* A failure ends it: the type has no failure phase. */
static int tick(struct fom *f)
{
	return simple_of(f)->tick(f, simple_of(f)->data);
}

static void fini(struct fom *f)
{
	struct dxf_simple *s = simple_of(f);

	fom_fini(f);
	if (s->free)
		s->free(s->data);
	free(s);
}

static size_t home(const struct fom *f)
{
	return simple_of(f)->locality;
}

static const struct fom_ops ops = { .tick = tick, .fini = fini, .home_locality = home };
static struct fom_type type = { .name = "simple", .ops = &ops };

void dxf_simple_init(struct fom_domain *d)
{
	fom_service_init(&d->simple, d, "simple", NULL);
	fom_service_start(&d->simple);
}

void dxf_simple_exit(struct fom_domain *d)
{
	while (fom_service_stop(&d->simple) == -EINTR)
		;
	fom_service_fini(&d->simple);
}

int sfom_post(struct fom_domain *domain, uint32_t locality, sfom_tick tick, void *data,
	      sfom_free free_data)
{
	struct dxf_simple *s;
	int rc;

	if (locality == SFOM_HERE) {
		if (dxf_here.domain != domain)
			return -EPERM;
		locality = dxf_here.locality;
	}
	if (locality >= domain->options.localities || !tick)
		return -EINVAL;
	s = malloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct dxf_simple){
		.locality = locality, .tick = tick, .free = free_data, .data = data,
	};
	fom_init(&s->fom, &type, &domain->simple);
	rc = dxf_queue(&s->fom);
	if (rc && rc != -ESHUTDOWN) {
		fom_fini(&s->fom);
		free(s);
	}
	return rc;
}

int sfom_hoard(struct fom_domain *domain, sfom_tick tick, void *data, sfom_free free)
{
	uint32_t i;
	int rc;

	for (i = 0; i < domain->options.localities; i++) {
		rc = sfom_post(domain, i, tick, data, free);
		if (rc)
			return i ? (int)i : rc;
	}
	return (int)i;
}

int sfom_idle_wait(struct fom_domain *domain, uint64_t deadline)
{
	return fom_service_idle_wait(&domain->simple, deadline);
}
