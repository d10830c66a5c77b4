// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Foms that lead others, and functions that are called around ticks.
 */
#define _GNU_SOURCE
#include "internal.h"

/* --- leaders -------------------------------------------------------------------------------- */

void fom_enthrall(struct fom *leader, struct fom *serf, struct fom_thrall *thrall,
		  fom_thrall_end end)
{
	struct fom_domain *d = dxf_domain(leader);

	dxf_own(leader, "its serfs are its own");
	if (dxf_domain(serf) != d || serf->thrall || dxf_state(serf) != FOM_INIT)
		dxf_trap(serf, "it cannot be a serf: it was queued, or has a leader, or another domain");
	*thrall = (struct fom_thrall){ .leader = leader, .end = end };
	serf->thrall = thrall;
	leader->led = true;
	pthread_mutex_lock(&d->tree);
	dxf_list_add(&leader->serfs, &thrall->link);
	pthread_mutex_unlock(&d->tree);
}

/** dxf_serf_ends - notify the leader of a fom that ends, if it has one */
void dxf_serf_ends(struct fom *f)
{
	struct fom_domain *d = dxf_domain(f);
	struct fom_thrall *t = f->thrall;

	if (!t)
		return;
	/* The lock keeps a leader that is about to end by force. */
	pthread_mutex_lock(&d->tree);
	if (t->leader) {
		dxf_list_del(&t->link);
		if (t->end)
			t->end(t, f);
		dxf_woken(fom_wakeup(t->leader));
	}
	pthread_mutex_unlock(&d->tree);
}

/** dxf_serfs_drop - a leader ends by force */
void dxf_serfs_drop(struct fom *f)
{
	struct fom_domain *d = dxf_domain(f);

	pthread_mutex_lock(&d->tree);
	while (!dxf_list_empty(&f->serfs)) {
		struct fom_thrall *t = dxf_entry(f->serfs.next, struct fom_thrall, link);

		dxf_list_del(&t->link);
		t->leader = NULL;
	}
	pthread_mutex_unlock(&d->tree);
}

/** dxf_led_ends - fom_fini() of a leader; its last serf may still be about to wake it */
void dxf_led_ends(struct fom *f)
{
	struct fom_domain *d;
	bool leads;

	if (!f->led)
		return;
	d = dxf_domain(f);
	pthread_mutex_lock(&d->tree);
	leads = !dxf_list_empty(&f->serfs);
	pthread_mutex_unlock(&d->tree);
	if (leads)
		dxf_trap(f, "fom_fini() of one with serfs");
}

/* --- around ticks --------------------------------------------------------------------------- */

void fom_interpose_enter(struct fom *fom, struct fom_interpose *interpose)
{
	dxf_own(fom, "what is interposed is its own");
	interpose->next = fom->interpose;
	fom->interpose = interpose;
}

void fom_interpose_leave(struct fom *fom, struct fom_interpose *interpose)
{
	struct fom_interpose **at = &fom->interpose;

	dxf_own(fom, "what is interposed is its own");
	while (*at && *at != interpose)
		at = &(*at)->next;
	if (!*at)
		dxf_trap(fom, "what leaves is not interposed");
	*at = interpose->next;
}

/* Calls the functions of @i around those that are within it, and the tick. */
static int tick(struct fom *f, struct fom_interpose *i)
{
	struct fom_interpose *inner;
	int rc = 0;

	while (i && !(i->phases & FOM_PHASE(f->phase)))
		i = i->next;
	if (!i)
		return f->type->ops->tick(f);
	inner = i->next;
	if (i->before)
		rc = i->before(i, f);
	if (!rc)
		rc = tick(f, inner);
	return i->after ? i->after(i, f, rc) : rc;
}

/** dxf_tick - tick a fom. Return: what the tick returns. */
int dxf_tick(struct fom *f)
{
	return f->interpose ? tick(f, f->interpose) : f->type->ops->tick(f);
}
