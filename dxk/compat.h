/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What newer kernels offer and the oldest supported one (6.1) does not. The body
 * of the module is written against the newest; a probe chooses, never a version.
 */
#ifndef _DXK_COMPAT_H
#define _DXK_COMPAT_H

#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/kobject.h>

/* The user pointer argument went from receive_fd_user() into receive_fd(). */
static inline int dxk_receive_fd(struct file *file, unsigned int o_flags)
{
#ifdef DXK_HAVE_RECEIVE_FD_UPTR
	return receive_fd(file, NULL, o_flags);
#else
	return receive_fd(file, o_flags);
#endif
}

/* The kobject whose owner is asked for became const. */
#ifdef DXK_HAVE_CONST_OWNERSHIP
typedef const struct kobject dxk_owned_kobject;
#else
typedef struct kobject dxk_owned_kobject;
#endif

/* What puts a file at the end of its variable's scope */
#ifndef DXK_HAVE_FREE_FPUT
static inline void dxk_put_file(struct file *file)
{
	if (!IS_ERR_OR_NULL(file))
		fput(file);
}
DEFINE_FREE(fput, struct file *, dxk_put_file(_T))
#endif

#ifdef __CHECKER__
#include <linux/spinlock.h>

/*
 * Sparse does not know what __cleanup() calls: to it, the guard() of a spinlock never ends.
 * So the guard takes and releases at once, for sparse only, as the kernel's does for RCU.
 */
static inline class_spinlock_t dxk_check_spinlock(spinlock_t *lock)
{
	class_spinlock_t guard = class_spinlock_constructor(lock);

	__release(lock);
	return guard;
}
#define class_spinlock_constructor dxk_check_spinlock

static inline class_spinlock_irqsave_t dxk_check_spinlock_irqsave(spinlock_t *lock)
{
	class_spinlock_irqsave_t guard = class_spinlock_irqsave_constructor(lock);

	__release(lock);
	return guard;
}
#define class_spinlock_irqsave_constructor dxk_check_spinlock_irqsave
#endif

#endif /* _DXK_COMPAT_H */
