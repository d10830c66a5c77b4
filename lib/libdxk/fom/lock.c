// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Long locks: a release hands the lock to the next foms in line and wakes them. So a lock with
 * waiters is never free, and a fom that is woken has it.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "internal.h"

/* Of a link */
enum { NONE, WAITS, OWNS };

/* --- locks and links ------------------------------------------------------------------------ */

void long_lock_init(struct long_lock *lock)
{
	*lock = (struct long_lock){ .writer = false };
	pthread_mutex_init(&lock->lock, NULL);
	dxf_list_init(&lock->owners);
	dxf_list_init(&lock->waiters);
}

void long_lock_fini(struct long_lock *lock)
{
	bool used;

	/* The thread that has released it may still have the mutex. */
	pthread_mutex_lock(&lock->lock);
	used = lock->stats.owners;
	pthread_mutex_unlock(&lock->lock);
	if (used)
		dxf_trap(NULL, "long_lock_fini() of one that somebody has");
	pthread_mutex_destroy(&lock->lock);
}

void long_lock_link_init(struct long_lock_link *link, struct fom *fom)
{
	*link = (struct long_lock_link){ .fom = fom, .state = NONE };
}

void long_lock_link_fini(struct long_lock_link *link)
{
	if (link->lock)
		dxf_trap(link->fom, "long_lock_link_fini() of one that is in use");
}

/* --- owners --------------------------------------------------------------------------------- */

/* The fom has the lock from now on. Under G. */
static void owns(struct long_lock *lock, struct long_lock_link *link)
{
	dxf_list_add(&lock->owners, &link->link);
	link->state = OWNS;
	link->since = dxf_now();
	lock->writer = link->write;
	lock->stats.owners++;
	if (link->write)
		lock->stats.writes++;
	else
		lock->stats.reads++;
}

/* Under G. */
static bool may_own(const struct long_lock *lock, const struct long_lock_link *link)
{
	return dxf_list_empty(&lock->owners) || (!link->write && !lock->writer);
}

/* Hands it to the next: a writer, or the readers up to the next writer. Under G. */
static void grant(struct long_lock *lock)
{
	while (!dxf_list_empty(&lock->waiters)) {
		struct long_lock_link *link = dxf_entry(lock->waiters.next, struct long_lock_link,
							link);
		uint64_t waited;

		if (!may_own(lock, link))
			break;
		waited = dxf_now() - link->since;
		lock->stats.waits++;
		lock->stats.wait_ns += waited;
		if (waited > lock->stats.wait_max_ns)
			lock->stats.wait_max_ns = waited;
		lock->stats.waiters--;
		dxf_list_del(&link->link);
		owns(lock, link);
		/* It does not end meanwhile: it would have to release the lock first. */
		dxf_woken(fom_wakeup(link->fom));
	}
}

static struct long_lock_link *link_of(struct fom *f, const struct long_lock *lock)
{
	for (struct fom_link *l = f->locks.next; l != &f->locks; l = l->next) {
		struct long_lock_link *link = dxf_entry(l, struct long_lock_link, own);

		if (link->lock == lock)
			return link;
	}
	return NULL;
}

/* --- lock ----------------------------------------------------------------------------------- */

static int lock_as(struct long_lock *lock, struct long_lock_link *link, bool write, int next_phase)
{
	struct fom *f = link->fom;
	bool owned;

	dxf_own(f, "its locks are its own");
	if (link_of(f, lock))
		return -EDEADLK;
	if (link->lock)
		dxf_trap(f, "a link is for one lock at a time");
	link->lock = lock;
	link->write = write;
	dxf_list_add(&f->locks, &link->own);
	fom_phase_set(f, next_phase);

	pthread_mutex_lock(&lock->lock);
	owned = dxf_list_empty(&lock->waiters) && may_own(lock, link);
	if (owned) {
		owns(lock, link);
	} else {
		dxf_list_add(&lock->waiters, &link->link);
		link->state = WAITS;
		link->since = dxf_now();
		lock->stats.waiters++;
	}
	pthread_mutex_unlock(&lock->lock);
	return owned ? FSO_AGAIN : FSO_WAIT;
}

int long_read_lock(struct long_lock *lock, struct long_lock_link *link, int next_phase)
{
	return lock_as(lock, link, false, next_phase);
}

int long_write_lock(struct long_lock *lock, struct long_lock_link *link, int next_phase)
{
	return lock_as(lock, link, true, next_phase);
}

/* --- unlock --------------------------------------------------------------------------------- */

static void given_back(struct long_lock *lock, const struct long_lock_link *link)
{
	uint64_t had = dxf_now() - link->since;

	lock->writer = false;
	lock->stats.owners--;
	lock->stats.hold_ns += had;
	if (had > lock->stats.hold_max_ns)
		lock->stats.hold_max_ns = had;
}

bool long_unlock(struct long_lock *lock, struct long_lock_link *link)
{
	bool owned;

	if (link->lock != lock)
		return false;
	dxf_own(link->fom, "its locks are its own");
	pthread_mutex_lock(&lock->lock);
	dxf_list_del(&link->link);
	owned = link->state == OWNS;
	if (owned)
		given_back(lock, link);
	else
		lock->stats.waiters--;
	link->state = NONE;
	/* Also if a writer no longer waits: the readers behind it may now have the lock. */
	grant(lock);
	pthread_mutex_unlock(&lock->lock);
	link->lock = NULL;
	dxf_list_del(&link->own);
	return owned;
}

/* Traps unless @link has @lock in this way. */
static void check(struct long_lock *lock, struct long_lock_link *link, bool write)
{
	bool has;

	pthread_mutex_lock(&lock->lock);
	has = link->lock == lock && link->state == OWNS && link->write == write;
	pthread_mutex_unlock(&lock->lock);
	if (!has)
		dxf_trap(link->fom, "it gives a lock back that it does not have so");
}

void long_read_unlock(struct long_lock *lock, struct long_lock_link *link)
{
	check(lock, link, false);
	long_unlock(lock, link);
}

void long_write_unlock(struct long_lock *lock, struct long_lock_link *link)
{
	check(lock, link, true);
	long_unlock(lock, link);
}

/** dxf_locks_drop - release all locks of a fom that ends */
void dxf_locks_drop(struct fom *f)
{
	while (!dxf_list_empty(&f->locks)) {
		struct long_lock_link *link = dxf_entry(f->locks.next, struct long_lock_link, own);

		long_unlock(link->lock, link);
	}
}

/* --- queries -------------------------------------------------------------------------------- */

static bool is_locked(struct long_lock *lock, const struct fom *fom, bool write)
{
	bool is = false;

	pthread_mutex_lock(&lock->lock);
	for (struct fom_link *l = lock->owners.next; l != &lock->owners; l = l->next)
		if (!fom || dxf_entry(l, struct long_lock_link, link)->fom == fom)
			is = lock->writer == write;
	pthread_mutex_unlock(&lock->lock);
	return is;
}

bool long_is_read_locked(struct long_lock *lock, const struct fom *fom)
{
	return is_locked(lock, fom, false);
}

bool long_is_write_locked(struct long_lock *lock, const struct fom *fom)
{
	return is_locked(lock, fom, true);
}

void long_lock_get_stats(struct long_lock *lock, struct long_lock_stats *stats)
{
	pthread_mutex_lock(&lock->lock);
	*stats = lock->stats;
	pthread_mutex_unlock(&lock->lock);
}
