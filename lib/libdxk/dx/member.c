// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The executives of this process, and the members that its threads are.
 *
 * A thread becomes a member at its first call and leaves when it ends. Its
 * members are listed twice: for the thread itself, which finds them without a
 * lock, and for the executive, which closes the remaining ones when it ends. The
 * struct belongs to the thread; an executive that ends only marks it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

_Thread_local struct dx_worker *dx_current;
_Thread_local MTExecutive *dx_commanding;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* L */
static int forking;				/* L: of the caller of fork() */
static MTExecutive *executives;			/* L */
static _Atomic(MTExecutive *) first;		/* written under L */
static _Atomic(MTExecutive *) environment;	/* written under L */
static _Thread_local struct dx_member *own;	/* T */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static int init_error;

/**
 * dx_lock - take the library's lock
 *
 * A thread that was cancelled with it would leave it taken, and fork() waiting.
 *
 * Return: the argument for dx_unlock().
 */
int dx_lock(void)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&lock);
	return cancel;
}

void dx_unlock(int cancel)
{
	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(cancel, NULL);
}

/**
 * dx_fd - a descriptor that the library keeps
 * @fd: new, or a negative errno
 *
 * It does not take the number of a closed standard stream: output of the application to
 * standard error would become a line of the log, or worse.
 *
 * Return: @fd or another one in its place, or a negative errno.
 */
int dx_fd(int fd)
{
	int higher;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (higher < 0)
		higher = -errno;
	close(fd);
	return higher;
}

/* Takes the member out of its executive. The caller holds the lock. */
static void member_close(struct dx_member *member)
{
	MTExecutive *mte = atomic_load(&member->mte);
	struct dx_member **p;

	if (!mte)
		return;
	for (p = &mte->members; *p != member; p = &(*p)->next)
		;
	*p = member->next;
	close(member->fd);
	member->fd = -1;
	atomic_store(&member->mte, NULL);
}

static void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Closes the descriptors that @mte has of the module. The caller holds the lock. */
static void context_close(MTExecutive *mte)
{
	while (mte->members)
		member_close(mte->members);
	fd_close(&mte->ctx);
	fd_close(&mte->commander.wake);
	fd_close(&mte->env.ctl);
}

/* Closes all descriptors of @mte. The caller holds the lock. */
static void executive_close(MTExecutive *mte)
{
	struct dx_addin *a = &mte->env.addin;

	context_close(mte);
	while (a->nr)
		close(a->senders[--a->nr]);
	fd_close(&mte->env.log.fd);
	fd_close(&a->fd);
}

/* Frees the members that ended executives have left in this thread. */
static void forget_gone(void)
{
	struct dx_member **p = &own, *member;

	while ((member = *p)) {
		if (atomic_load(&member->mte)) {
			p = &member->next_own;
			continue;
		}
		*p = member->next_own;
		free(member);
	}
}

static void leave_all(void *arg)
{
	struct dx_member *member;
	int cancel;

	(void)arg;
	while ((member = own)) {
		own = member->next_own;
		cancel = dx_lock();
		member_close(member);
		dx_unlock(cancel);
		free(member);
	}
}

/* The thread that made @member is gone, and could not report it. */
void dx_member_abandoned(struct dx_member *member)
{
	int cancel = dx_lock();

	member_close(member);
	dx_unlock(cancel);
	free(member);
}

static void fork_prepare(void)
{
	int cancel = dx_lock();

	forking = cancel;
}

static void fork_parent(void)
{
	dx_unlock(forking);
}

/*
 * The child has neither the workers nor the right to use a member. It closes its
 * copies of the descriptors: while one is open, the module could not see that
 * the parent or a thread of it is gone.
 */
static void fork_child(void)
{
	MTExecutive *mte;

	for (mte = executives; mte; mte = mte->next) {
		atomic_store(&mte->foreign, true);
		executive_close(mte);
	}
	executives = NULL;
	atomic_store(&first, NULL);
	atomic_store(&environment, NULL);
	dx_current = NULL;
	dx_commanding = NULL;
	dx_log_sink_child();
	dx_unlock(forking);
}

static void init_once(void)
{
	init_error = pthread_key_create(&thread_end, leave_all);
	if (!init_error)
		init_error = pthread_atfork(fork_prepare, fork_parent, fork_child);
}

int dx_library_init(void)
{
	pthread_once(&once, init_once);
	return -init_error;
}

/* From here on fork() knows the descriptors of @mte. */
void dx_executive_add(MTExecutive *mte)
{
	int cancel = dx_lock();

	mte->next = executives;
	executives = mte;
	dx_unlock(cancel);
}

/* Return: whether @slot was @from, and is @to from now on. */
static bool replace(_Atomic(MTExecutive *) *slot, MTExecutive *from, MTExecutive *to)
{
	return atomic_compare_exchange_strong(slot, &from, to);
}

/* @mte is complete. Return: whether it is the process's own executive, or environment. */
bool dx_executive_offer(MTExecutive *mte)
{
	int cancel = dx_lock();
	bool own;

	if (mte->single) {
		own = replace(&environment, NULL, mte);
	} else {
		own = replace(&first, NULL, mte);
		replace(&environment, mte, NULL);
	}
	dx_unlock(cancel);
	return own;
}

/* Closes the descriptors that @mte has of the module: it stays an environment. */
void dx_executive_retreat(MTExecutive *mte)
{
	int cancel = dx_lock();

	context_close(mte);
	dx_unlock(cancel);
	forget_gone();
}

/* Forgets @mte and closes its descriptors, members of other threads too. */
void dx_executive_remove(MTExecutive *mte)
{
	MTExecutive **p;
	int cancel = dx_lock();

	executive_close(mte);
	for (p = &executives; *p != mte; p = &(*p)->next)
		;
	*p = mte->next;
	replace(&first, mte, NULL);
	replace(&environment, mte, NULL);
	dx_unlock(cancel);
	forget_gone();
}

MTExecutive *dx_executive(MTExecutive *mte)
{
	if (mte)
		return mte;
	if (dx_current)
		return dx_current->mte;
	if (dx_commanding)
		return dx_commanding;
	mte = atomic_load(&first);
	return mte ? mte : atomic_load(&environment);
}

/**
 * dx_context - the executive of a call that needs its context
 * @mte: as the call got it; out, the executive that it selects
 *
 * Return: 0, -ENXIO, -EPERM; -EOPNOTSUPP: it is only an environment.
 */
int dx_context(MTExecutive **mte)
{
	*mte = dx_executive(*mte);
	if (!*mte)
		return -ENXIO;
	if (atomic_load(&(*mte)->foreign))
		return -EPERM;
	return (*mte)->single ? -EOPNOTSUPP : 0;
}

struct dx_member *dx_member_find(MTExecutive *mte)
{
	struct dx_member *member;

	for (member = own; member; member = member->next_own)
		if (atomic_load_explicit(&member->mte, memory_order_relaxed) == mte)
			return member;
	return NULL;
}

/* Lets the calling thread run on the CPUs of its home, as far as it may (FO-1). */
static void stay_home(const MTExecutive *mte, unsigned int home)
{
	cpu_set_t may, ours;

	CPU_ZERO(&ours);
	if (sched_getaffinity(0, sizeof(may), &may))
		return;
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &may) && cpu % mte->homes == home - 1)
			CPU_SET(cpu, &ours);
	if (CPU_COUNT(&ours))
		sched_setaffinity(0, sizeof(ours), &ours);
}

int dx_member_join(MTExecutive *mte, unsigned int kind, struct dx_member **out)
{
	unsigned int home = kind == DXK_MEMBER_WORKER && mte->homes ? DXK_HOME_ANY : 0;
	struct dx_member *member;
	int rc, cancel;

	rc = dx_context(&mte);
	if (rc)
		return rc;
	forget_gone();
	rc = -ENOMEM;
	member = calloc(1, sizeof(*member));
	/* Any value is sufficient to make leave_all() run when the thread ends. */
	if (!member || pthread_setspecific(thread_end, &own))
		goto out;

	cancel = dx_lock();
	rc = member->fd = dx_fd(dxk_member_create_home(mte->ctx, kind, &home, &member->id));
	if (rc >= 0) {
		atomic_init(&member->mte, mte);
		member->next = mte->members;
		mte->members = member;
		member->next_own = own;
		own = member;
		*out = member;
		member = NULL;
	}
	dx_unlock(cancel);
out:
	free(member);
	if (rc >= 0 && home)
		stay_home(mte, home);
	return rc < 0 ? rc : 0;
}

/**
 * dx_self - the executive of a call and the member that the caller is in it
 * @mte: as the call got it; out, the executive that it selects
 * @out: the member, made if the thread is none yet
 *
 * Return: 0 or a negative errno.
 */
int dx_self(MTExecutive **mte, struct dx_member **out)
{
	*mte = dx_executive(*mte);
	if (!*mte)
		return -ENXIO;
	*out = dx_member_find(*mte);
	return *out ? 0 : dx_member_join(*mte, DXK_MEMBER_CLIENT, out);
}
