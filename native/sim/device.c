// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Files that requests wait for: see device.h.
 */
#include "engine/bin.h"
#include "engine/calls.h"
#include "engine/life.h"
#include "engine/more.h"

#include "choice.h"
#include "device.h"
#include "house.h"
#include "model.h"

/* Those of requests that live, and those in the bin. */
#define DEVICES		4096

static struct device device[DEVICES];
static u32 nr_devices;

/* The world; the item that empties the bin. */
static struct control world, bin;

const struct device *device_of(const struct dxk_watch *w)
{
	return container_of(w, struct device, w);
}

/* --- who waits ---------------------------------------------------------------- */

static struct device *device_new(void)
{
	u32 i;

	for (i = 0; i < nr_devices; i++)
		if (!device[i].used)
			break;
	if (i == DEVICES)
		sim_fail("too many files are watched");
	if (i == nr_devices)
		nr_devices++;
	device[i] = (struct device) { .used = true };
	device[i].w.ref.watched = true;
	return &device[i];
}

/** device_arm - a request of the caller's is about to wait for a file */
void device_arm(struct dxk_rqe *rqe)
{
	struct device *d;

	if (!rqe->more->watch)
		rqe->more->watch = &device_new()->w;
	d = container_of(rqe->more->watch, struct device, w);
	WRITE_ONCE(d->w.event.seen, 0);
	WRITE_ONCE(d->armed, 1);
	smp_mb();
	if (READ_ONCE(d->level) && xchg(&d->armed, 0))
		WRITE_ONCE(d->w.event.seen, 1);
}

/** device_read - the caller executes a request, and reads what there is */
void device_read(struct dxk_rqe *rqe)
{
	if (rqe->more && rqe->more->watch && choose(4))
		WRITE_ONCE(container_of(rqe->more->watch, struct device, w)->level, false);
}

/* Nobody else knows of it but the world, and the list of events. */
static void device_let_go(struct device *d)
{
	if (d->w.event.more)
		sim_fail("a watch is let go that wakes a request");
	WRITE_ONCE(d->armed, 0);
	while (READ_ONCE(d->firing))
		sim_nap(1000);
	dxk_fired_flush(&house.e, &d->w.event);
	d->used = false;
}

/** device_release - the request goes, and was never taken, or after the burial */
void device_release(struct dxk_rqe *rqe)
{
	if (!rqe->more || !rqe->more->watch)
		return;
	device_let_go(container_of(rqe->more->watch, struct device, w));
	rqe->more->watch = NULL;
}

/* --- the world ------------------------------------------------------------------ */

static void happens(struct device *d)
{
	if (!d->used)
		return;
	WRITE_ONCE(d->firing, true);
	WRITE_ONCE(d->level, true);
	smp_mb();
	if (READ_ONCE(d->armed) && xchg(&d->armed, 0))
		dxk_event_fire(&house.e, &d->w.event, 1);
	WRITE_ONCE(d->firing, false);
}

/** devices_firing - is the world about one of them? */
bool devices_firing(void)
{
	u32 i;

	for (i = 0; i < nr_devices; i++)
		if (device[i].firing)
			return true;
	return false;
}

static void world_main(void *arg)
{
	struct control *c = arg;

	while (!READ_ONCE(c->stop)) {
		if (nr_devices)
			happens(&device[choose(nr_devices)]);
		control_wait(c, sim_now + 1000 * (1 + choose(house.ending ? 5000 : 300)));
		control_take_kick(c);
	}
}

static void bin_main(void *arg)
{
	struct dxk_file_ref *ref, *next;
	struct control *c = arg;

	for (;;) {
		control_wait(c, DXK_FOREVER);
		if (!control_take_kick(c)) {
			if (READ_ONCE(c->stop))
				return;
			continue;
		}
		while ((ref = dxk_bin_take(&house.e)))
			for (; ref; ref = next) {
				next = ref->next;
				device_let_go(container_of(ref, struct device, w.ref));
			}
		dxk_unpin(&house.e);
	}
}

void os_empty_bin(struct dxk_engine *e)
{
	control_kick(&bin);
}

void devices_start(void)
{
	nr_devices = 0;
	control_start(&world, "world", world_main);
	control_start(&bin, "bin", bin_main);
}

/* After the burial a request ends with its watch, and a result that nobody collects keeps it. */
static bool is_kept(const struct device *d)
{
	u32 i;

	for (i = 0; i < model.top_request; i++)
		if (model.rq[i].state == DXK_REJOIN && model.rq[i].rqe->more &&
		    model.rq[i].rqe->more->watch == &d->w)
			return true;
	return false;
}

void devices_stop(void)
{
	u32 i;

	control_stop(&world);
	control_stop(&bin);
	for (i = 0; i < nr_devices; i++)
		if (device[i].used && !is_kept(&device[i]))
			sim_fail("a file is watched when nobody is left");
}
