/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of contexts of many processes share. */
#ifndef JOIN_H
#define JOIN_H

#include "lib/puppet.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UID	4001
#define GID	4002
#define OTHER	4003
#define NAME	"dxk-test"

/* A context with a name, an owner and a mode; not started. */
static inline int open_named(struct dxt *t, const char *name, unsigned int mode)
{
	struct dxk_ctx_create create = {
		.flags = DXK_CTX_CHOWN,
		.uid = UID,
		.gid = GID,
		.mode = mode,
	};

	*t = (struct dxt){ .ctl = dxk_open(), .ctx = -1, .member = -1 };
	if (t->ctl < 0)
		return t->ctl;
	strncpy(create.name, name, sizeof(create.name) - 1);
	t->ctx = dxk_ctx_create_as(t->ctl, &create);
	if (t->ctx < 0) {
		int rc = t->ctx;

		close(t->ctl);
		return rc;
	}
	t->id = create.id;
	dxk_policy_get(t->ctx, &t->policy);
	t->policy.dispatch = dxt_mode();
	t->policy.max_threads = 4;
	t->policy.kernel_threads = 0;
	return 0;
}

static inline int join(const struct dxt *t, unsigned int access)
{
	return dxk_ctx_join(t->ctl, NAME, access, 0, NULL);
}

/* Another user, with one more group or none. */
static inline void become(uid_t uid, gid_t gid, gid_t more)
{
	if (setgroups(!!more, &more) || setresgid(gid, gid, gid) ||
	    setresuid(uid, uid, uid))
		_exit(99);
}

/*
 * A user namespace cannot be made in a chroot, which a guest's programs are in: makes this
 * root the one of a mount namespace of the caller's own. For a child that ends soon.
 */
static inline int leave_chroot(void)
{
	int root, i;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -errno;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	/* Out of here, upwards, to the namespace's root; then this one goes on top of it. */
	mkdir("/tmp/dxk-no-root", 0700);
	if (chroot("/tmp/dxk-no-root"))
		return -errno;
	for (i = 0; i < 64; i++)
		if (chdir(".."))
			return -errno;
	if (syscall(SYS_move_mount, root, "", AT_FDCWD, ".", 4 /* F_EMPTY_PATH */) ||
	    fchdir(root) || chroot("."))
		return -errno;
	close(root);
	return 0;
}

/* A user namespace, in a chroot as well. */
static inline int unshare_user(void)
{
	if (!unshare(CLONE_NEWUSER))
		return 0;
	return leave_chroot() || unshare(CLONE_NEWUSER) ? -errno : 0;
}

/* Runs @fn in a child: 0 when it returned 0. */
static inline int as(uid_t uid, gid_t gid, gid_t more, int (*fn)(struct dxt *t), struct dxt *t)
{
	pid_t pid = dxt_fork();
	int status;

	if (!pid) {
		if (uid)
			become(uid, gid, more);
		_exit(fn(t));
	}
	status = dxt_reap(pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

#endif /* JOIN_H */
