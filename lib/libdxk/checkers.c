// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The memory that calls write, and the order that the kernel gives to threads.
 *
 * A release and an acquire of one address report the order to the ThreadSanitizer.
 * Owners and parameters are any numbers, which need not be addresses, so each stands for
 * a place in a table here. Two that share a place may hide a race, but never
 * produce a false one.
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "checkers.h"

/* They exist only in a program with the sanitizer. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

/* Is there any? To ask Valgrind costs as much as all else here. */
static bool checked;

/* before any constructor of the program, whose priorities begin behind this one */
__attribute__((constructor(101))) static void find_checkers(void)
{
	checked = __tsan_acquire || dxk_on_valgrind();
}

#define BITS	12

static uint64_t params[1 << BITS];	/* posts; one for each parameter ... */
static uint64_t owners[1 << BITS];	/* executions; ... for each owner ... */
static uint64_t keys[1 << BITS];	/* turns; ... for each key ... */
static uint64_t names[1 << BITS];	/* calls; ... for each name ... */
static uint64_t commands;		/* ... and for all commands */

/*
 * A completion has a ticket and no owner. The owner is recorded at the fetch; a dispatch
 * that another one has displaced here counts for every owner.
 */
static struct dispatch {
	_Atomic uint64_t name;
	_Atomic uint64_t owner;
	_Atomic uint64_t key;
} dispatches[1 << BITS];
static uint64_t everybody;

static unsigned int place(uint64_t number)
{
	return (unsigned int)(number * 0x9e3779b97f4a7c15ULL >> (64 - BITS));
}

/* Each context has tickets of its own. */
static uint64_t name_of(int member, uint64_t ticket)
{
	return ticket ^ (uint64_t)member << 48;
}

static const void *pointer(uint64_t value)
{
	return (const void *)(uintptr_t)value;
}

/* --- requests ---------------------------------------------------------------- */

/* The next element; its size may be more than that of the struct it begins with. */
static const void *behind(const void *element, size_t size)
{
	return (const char *)element + size;
}

void dxk_posting(const struct dxk_post_entry *entries, unsigned int nr, size_t size)
{
	if (!__tsan_release)
		return;
	for (; nr--; entries = behind(entries, size))
		__tsan_release(&params[place(entries->param)]);
}

static void fetched_one(int member, const struct dxk_work *work)
{
	uint64_t name = name_of(member, work->ticket);
	struct dispatch *d = &dispatches[place(name)];

	__tsan_acquire(&params[place(work->param)]);
	atomic_store(&d->name, 0);
	atomic_store(&d->owner, work->owner);
	atomic_store(&d->key, 0);
	atomic_store(&d->name, name);
}

/* The key of a request that executes; 0: it has none, or another one has displaced it here. */
static uint64_t key_of(int member, uint64_t ticket)
{
	uint64_t name = name_of(member, ticket);
	struct dispatch *d = &dispatches[place(name)];

	return atomic_load(&d->name) == name ? atomic_load(&d->key) : 0;
}

/* It comes after the request that had the key before. */
static void keyed_one(int member, const struct dxk_work_more *more)
{
	uint64_t name = name_of(member, more->work.ticket);

	if (!more->key)
		return;
	atomic_store(&dispatches[place(name)].key, more->key);
	__tsan_acquire(&keys[place(more->key)]);
}

void dxk_calling(const uint64_t *called, unsigned int nr)
{
	if (!__tsan_release)
		return;
	while (nr--)
		__tsan_release(&names[place(*called++)]);
}

/* It comes after its previous turns, and after the threads that have called it. */
static void turned_one(const struct dxk_work_more *more)
{
	if (more->name)
		__tsan_acquire(&names[place(more->name)]);
	if (!more->turn)
		return;
	__tsan_acquire(&owners[place(more->work.owner)]);
	__tsan_acquire(&everybody);
}

void dxk_fetched(int member, const struct dxk_next *next, int rc)
{
	const struct dxk_work *work = pointer(next->work);
	const char *data = pointer(next->data);

	if (rc <= 0 || !checked)
		return;
	/* all at once: each call costs as much as all else here for a request */
	dxk_written(work, (size_t)rc * next->work_size);
	if (!data && !__tsan_acquire)
		return;
	for (; rc; rc--, work = behind(work, next->work_size)) {
		if (data && work->data_len)
			dxk_written(data, work->data_len);
		data = data ? data + next->data_stride : NULL;
		if (__tsan_acquire)
			fetched_one(member, work);
		if (__tsan_acquire && next->work_size > sizeof(*work)) {
			turned_one((const void *)work);
			keyed_one(member, (const void *)work);
		}
	}
}

static void completing_one(int member, const struct dxk_done *done)
{
	uint64_t name = name_of(member, done->ticket);
	struct dispatch *d = &dispatches[place(name)];
	uint64_t owner = atomic_load(&d->owner);

	dxk_key_left(member, done->ticket);
	__tsan_release(atomic_load(&d->name) == name ? &owners[place(owner)] : &everybody);
}

void dxk_key_left(int member, uint64_t ticket)
{
	uint64_t key = __tsan_release ? key_of(member, ticket) : 0;

	if (key)
		__tsan_release(&keys[place(key)]);
}

void dxk_key_entered(int member, uint64_t ticket)
{
	uint64_t key = __tsan_acquire ? key_of(member, ticket) : 0;

	if (key)
		__tsan_acquire(&keys[place(key)]);
}

void dxk_completing(int member, const struct dxk_done *dones, unsigned int nr, size_t size)
{
	if (!__tsan_release)
		return;
	for (; nr--; dones = behind(dones, size))
		completing_one(member, dones);
}

void dxk_collected(const struct dxk_rejoin *rejoin, int rc)
{
	const struct dxk_result *result = pointer(rejoin->results);
	const char *data = pointer(rejoin->data);

	if (rc >= 0 && __tsan_acquire) {
		__tsan_acquire(&owners[place(rejoin->owner)]);
		__tsan_acquire(&everybody);
	}
	if (rc <= 0 || !checked)
		return;
	dxk_written(result, (size_t)rc * sizeof(*result));
	if (!data && !__tsan_acquire)
		return;
	for (; rc; rc--, result++) {
		if (data && result->data_len)
			dxk_written(data, result->data_len);
		data = data ? data + rejoin->data_stride : NULL;
		/* a request that was not executed is as it was posted */
		if (__tsan_acquire)
			__tsan_acquire(&params[place(result->param)]);
	}
}

/* --- references -------------------------------------------------------------- */

void dxk_giving_back(void *object)
{
	if (__tsan_release)
		__tsan_release(object);
}

void dxk_gave_last(void *object)
{
	if (__tsan_acquire)
		__tsan_acquire(object);
}

/* --- commands ---------------------------------------------------------------- */

void dxk_commanding(void)
{
	if (__tsan_release)
		__tsan_release(&commands);
}

void dxk_commanded(void)
{
	if (__tsan_acquire)
		__tsan_acquire(&commands);
}
