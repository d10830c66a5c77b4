// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The Handle Table: native handles of the executive, and for each worker its own
 * ones, opened by the worker at the first use and closed by it.
 *
 * A worker's own handles are a list that only the worker itself touches. Closing
 * a native handle marks it removed and counts the removal; a worker sees the new count
 * at the end of its request, or when it wakes from its sleep for work, and closes the marked
 * handles. So a call-back never runs in a thread other than the handle's, nor under a lock.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "internal.h"

/* A native handle. It lives as long as it is in the table or is opened. */
struct dx_native {
	void *key;			/* C */
	HandleClass *kind;		/* C */
	atomic_bool removed;		/* set H */
	unsigned int owns;		/* H: own handles, or to be opened */
};

/* A worker's own handle. */
struct dx_own {
	struct dx_own *next;
	struct dx_native *native;
	void *own;
	bool released;
	const struct dx_frame *user;	/* the lowest frame that got it ... */
	uint64_t ticket;		/* ... and its request then */
};

static int compare(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct dx_native *)a)->key;
	uintptr_t y = (uintptr_t)((const struct dx_native *)b)->key;

	return (x > y) - (x < y);
}

void dx_handles_init(MTExecutive *mte)
{
	pthread_mutex_init(&mte->handles.lock, NULL);
}

/* The workers and their own handles are gone. */
void dx_handles_exit(MTExecutive *mte)
{
	tdestroy(mte->handles.tree, free);
	pthread_mutex_destroy(&mte->handles.lock);
}

/* --- native handles -------------------------------------------------------- */

static struct dx_native *native_find(MTExecutive *mte, void *key)
{
	struct dx_native wanted = { .key = key };
	void *node = tfind(&wanted, &mte->handles.tree, compare);

	return node ? *(struct dx_native **)node : NULL;
}

static int native_insert(MTExecutive *mte, struct dx_native *native)
{
	if (native_find(mte, native->key))
		return -EEXIST;
	if (mte->handles.use >= mte->handles.size)
		return -ENOSPC;
	if (!tsearch(native, &mte->handles.tree, compare))
		return -ENOMEM;
	mte->handles.use++;
	return 0;
}

int HandleTableAdd(HandleClass *kind, void *native)
{
	return HandleTableAddOf(NULL, kind, native);
}

int HandleTableAddOf(MTExecutive *mte, HandleClass *kind, void *native)
{
	struct dx_native *new;
	int rc;

	mte = dx_executive(mte);
	if (!mte)
		return -ENXIO;
	if (atomic_load(&mte->foreign))
		return -EPERM;
	if (!kind || !kind->OpenHandle || !kind->CloseHandle || !native)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->key = native;
	new->kind = kind;
	pthread_mutex_lock(&mte->handles.lock);
	rc = native_insert(mte, new);
	pthread_mutex_unlock(&mte->handles.lock);
	if (rc)
		free(new);
	return rc;
}

int HandleTableRemove(void *native)
{
	return HandleTableRemoveOf(NULL, native);
}

int HandleTableRemoveOf(MTExecutive *mte, void *native)
{
	struct dx_native *old;
	unsigned int owns = 0;

	mte = dx_executive(mte);
	if (!mte)
		return -ENXIO;
	if (atomic_load(&mte->foreign))
		return -EPERM;
	pthread_mutex_lock(&mte->handles.lock);
	old = native_find(mte, native);
	if (old) {
		tdelete(old, &mte->handles.tree, compare);
		mte->handles.use--;
		owns = old->owns;
		/* In this order: a worker that sees the count also sees the mark. */
		atomic_store(&old->removed, true);
		atomic_fetch_add(&mte->handles.removals, 1);
	}
	pthread_mutex_unlock(&mte->handles.lock);
	if (!old)
		return -ENOENT;
	if (!owns)
		free(old);
	return (int)owns;
}

/* --- a worker's own handles ------------------------------------------------ */

/* An own handle of @native was closed; the last one frees a removed native handle. */
static void native_put(MTExecutive *mte, struct dx_native *native)
{
	bool last;

	pthread_mutex_lock(&mte->handles.lock);
	mte->handles.use--;
	last = !--native->owns && atomic_load(&native->removed);
	pthread_mutex_unlock(&mte->handles.lock);
	if (last)
		free(native);
}

/* An entry for an own handle of the native handle that @key names. */
static int native_get(MTExecutive *mte, void *key, struct dx_native **out)
{
	int rc = 0;

	pthread_mutex_lock(&mte->handles.lock);
	*out = native_find(mte, key);
	if (!*out) {
		rc = -ENOENT;
	} else if (mte->handles.use >= mte->handles.size) {
		rc = -ENOSPC;
	} else {
		mte->handles.use++;
		(*out)->owns++;
	}
	pthread_mutex_unlock(&mte->handles.lock);
	return rc;
}

static struct dx_own *own_find(struct dx_worker *w, void *key)
{
	struct dx_own *own;

	for (own = w->owns; own; own = own->next)
		if (own->native->key == key && !atomic_load(&own->native->removed))
			return own;
	return NULL;
}

static struct dx_worker *executing_worker(void)
{
	return CurrentRequest() ? dx_current : NULL;
}

/* Whether a request that has not ended uses it; it may be one that waits in a lower frame. */
static bool in_use(const struct dx_own *own)
{
	const struct dx_frame *f = own->user;

	return f && f->done && f->done->ticket == own->ticket;
}

static int own_open(struct dx_worker *w, void *key, struct dx_own **out)
{
	struct dx_own *own = calloc(1, sizeof(*own));
	int rc;

	if (!own)
		return -ENOMEM;
	rc = native_get(w->mte, key, &own->native);
	if (rc)
		goto err_free;
	rc = own->native->kind->OpenHandle(own->native->kind, key, &own->own);
	if (rc)
		goto err_put;
	own->next = w->owns;
	w->owns = own;
	*out = own;
	return 0;

err_put:
	native_put(w->mte, own->native);
err_free:
	free(own);
	return rc;
}

int GetThreadHandle(void *native, void **own)
{
	struct dx_worker *w = executing_worker();
	struct dx_own *found;
	int rc;

	if (!w)
		return -EPERM;
	found = own_find(w, native);
	if (!found) {
		rc = own_open(w, native, &found);
		if (rc)
			return rc;
	}
	if (!in_use(found)) {
		found->user = w->frame;
		found->ticket = w->frame->done->ticket;
	}
	found->released = false;
	*own = found->own;
	return 0;
}

int ReleaseThreadHandle(void *native)
{
	struct dx_worker *w = executing_worker();
	struct dx_own *own;

	if (!w)
		return -EPERM;
	own = own_find(w, native);
	if (!own)
		return -ENOENT;
	own->released = true;
	w->stale = true;
	return 0;
}

static void own_close(struct dx_worker *w, struct dx_own *own)
{
	HandleClass *kind = own->native->kind;

	kind->CloseHandle(kind, own->own);
	native_put(w->mte, own->native);
	free(own);
}

/* Whether the worker, between two requests of its frame, has own handles to close. */
bool dx_handles_stale(struct dx_worker *w)
{
	struct dx_own *own;
	unsigned int removals;

	if (!w->owns)
		return false;
	removals = atomic_load(&w->mte->handles.removals);
	if (removals != w->removals) {
		w->removals = removals;
		for (own = w->owns; own; own = own->next)
			w->stale |= atomic_load(&own->native->removed);
	}
	return w->stale;
}

/* Closes own handles that were released or removed and that nobody uses. */
void dx_handles_release(struct dx_worker *w)
{
	struct dx_own **p = &w->owns, *own;

	w->stale = false;
	while ((own = *p)) {
		if (!own->released && !atomic_load(&own->native->removed)) {
			p = &own->next;
			continue;
		}
		if (in_use(own)) {
			w->stale = true;
			p = &own->next;
			continue;
		}
		*p = own->next;
		own_close(w, own);
	}
}

/* Closes all own handles of a worker that ends. */
void dx_handles_close(struct dx_worker *w)
{
	struct dx_own *own;

	while ((own = w->owns)) {
		w->owns = own->next;
		own_close(w, own);
	}
}
