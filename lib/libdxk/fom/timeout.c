// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Time-outs of a fom: a list in the order of their deadlines. The first deadline also
 * limits the fom's wait. All of it is T, see internal.h.
 */
#define _GNU_SOURCE
#include "internal.h"

/*
 * struct fom_timeout: all T
 *
 *	state		NEW, ARMED; USED until it is initialised again
 *	bottom		NULL: wakes the fom
 */
enum { NEW, ARMED, USED };

void fom_timeout_init(struct fom_timeout *timeout)
{
	*timeout = (struct fom_timeout){ .state = NEW };
}

void fom_timeout_fini(struct fom_timeout *timeout)
{
	if (timeout->state == ARMED)
		dxf_trap(timeout->fom, "fom_timeout_fini() of one that is armed");
}

void fom_timeout_arm(struct fom_timeout *timeout, struct fom *fom, fom_timeout_half bottom,
		     uint64_t deadline)
{
	struct fom_timeout **at = &fom->timeouts;

	dxf_own(fom, "its time-outs are its own");
	if (timeout->state != NEW)
		dxf_trap(fom, "a time-out is armed that was used, and not initialised again");
	timeout->state = ARMED;
	timeout->fom = fom;
	timeout->bottom = bottom;
	timeout->deadline = deadline;
	while (*at && (*at)->deadline <= deadline)
		at = &(*at)->next;
	timeout->next = *at;
	*at = timeout;
}

void fom_timeout_wait_on(struct fom_timeout *timeout, struct fom *fom, uint64_t deadline)
{
	fom_timeout_arm(timeout, fom, NULL, deadline);
}

bool fom_timeout_cancel(struct fom_timeout *timeout)
{
	struct fom *f = timeout->fom;
	struct fom_timeout **at;

	if (timeout->state != ARMED)
		return false;
	dxf_own(f, "its time-outs are its own");
	for (at = &f->timeouts; *at != timeout; at = &(*at)->next)
		;
	*at = timeout->next;
	timeout->state = USED;
	return true;
}

/**
 * dxf_timeouts_due - call the time-outs that are due
 *
 * Return: whether one of them wakes the fom.
 */
bool dxf_timeouts_due(struct fom *f)
{
	uint64_t now = f->timeouts ? dxf_now() : 0;
	struct fom_timeout *t;
	bool wakes = false;

	while ((t = f->timeouts) && t->deadline <= now) {
		f->timeouts = t->next;
		t->state = USED;
		if (t->bottom)
			t->bottom(t);
		else
			wakes = true;
	}
	return wakes;
}

void dxf_timeouts_drop(struct fom *f)
{
	while (f->timeouts)
		fom_timeout_cancel(f->timeouts);
}
