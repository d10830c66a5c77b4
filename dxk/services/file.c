// SPDX-License-Identifier: GPL-2.0-only
/*
 * The open files that dxk holds: those of requests, of the Handle Table and of the log.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/xarray.h>

#include "services/file.h"

/*
 * Whether the names of the file system stand for data on a disk, in memory or elsewhere, and
 * not for functions of the kernel (proc, sysfs, cgroup, mqueue) or for objects of the kernel
 * that have no name at all (anonymous files, sockets, pipes, namespaces, dma-buf). Files of
 * memfd_create(2) are in a tmpfs without names.
 */
static bool dxk_file_system_stores(const struct super_block *sb)
{
	return !(sb->s_iflags & SB_I_NOEXEC) &&
	       (!(sb->s_flags & SB_NOUSER) || sb->s_magic == TMPFS_MAGIC);
}

/**
 * dxk_file_kind - whether dxk may hold a file, and for which use
 * @file: open
 *
 * A file that dxk holds must not lead back to a context, otherwise neither is ever freed. An
 * operation of a kernel thread on the file must not be answered by dxk itself. Only kinds of
 * files that are known to comply are accepted:
 *
 * - a regular file with contents of its own, on a disk, in memory, of another machine or of
 *   a FUSE server: it holds its mount, and what that holds was given to mount(2). What FUSE
 *   or overlayfs put behind it can be read and written; a descriptor of dxk cannot. Files
 *   whose contents a function makes (debugfs, tracefs) have no page cache;
 * - a directory of such a file system: it holds its mount;
 * - a pipe and a FIFO: they hold pages, never files;
 * - a block device: it holds what the administrator gave to its driver;
 * - the character devices of memory (null, zero, full, random): they hold nothing.
 *
 * Not so: sockets carry descriptors; epoll, io_uring, eventfds of KVM and other anonymous
 * files hold files, and so do transactions of binder, the devices of FUSE and autofs, and
 * buffers of dma-buf.
 *
 * Return: its kind.
 */
enum dxk_file_kind dxk_file_kind(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	switch (inode->i_mode & S_IFMT) {
	case S_IFREG:
		if (!dxk_file_system_stores(inode->i_sb) ||
		    inode->i_mapping->a_ops == &empty_aops)
			return DXK_FILE_REFUSED;
		return DXK_FILE_STORED;
	case S_IFDIR:
		return dxk_file_system_stores(inode->i_sb) ? DXK_FILE_PASSED :
							     DXK_FILE_REFUSED;
	case S_IFCHR:
		return imajor(inode) == MEM_MAJOR ? DXK_FILE_PASSED : DXK_FILE_REFUSED;
	case S_IFIFO:
	case S_IFBLK:
		return DXK_FILE_PASSED;
	default:
		return DXK_FILE_REFUSED;
	}
}

/* --- how many ---------------------------------------------------------------- */

/*
 * A file without a descriptor counts towards no limit of a process. So files that dxk holds are
 * charged to a user, like those carried by unix(7) sockets: how many, by uid.
 */
static DEFINE_XARRAY(dxk_files_held);

/** dxk_payer_self - get the payer for files that the caller gives to dxk: its user */
struct dxk_payer dxk_payer_self(void)
{
	struct dxk_payer payer = { .uid = current_uid(), .limit = rlimit(RLIMIT_NOFILE) };

	if (ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE) ||
	    ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN))
		payer.limit = ULONG_MAX;
	return payer;
}

static int dxk_file_charge_now(const struct dxk_payer *payer)
{
	unsigned long nr, index = __kuid_val(payer->uid);
	int err = -ETOOMANYREFS;
	void *entry;

	xa_lock(&dxk_files_held);
	entry = xa_load(&dxk_files_held, index);
	nr = entry ? xa_to_value(entry) : 0;
	if (nr < payer->limit)
		err = xa_err(__xa_store(&dxk_files_held, index, xa_mk_value(nr + 1), GFP_NOWAIT));
	xa_unlock(&dxk_files_held);
	return err;
}

/**
 * dxk_file_charge - charge a file that dxk will hold
 * @payer: the payer, until dxk_file_uncharge()
 *
 * Return: 0, -ETOOMANYREFS when the user's limit is reached, or -ENOMEM.
 */
int dxk_file_charge(const struct dxk_payer *payer)
{
	int err;

	/* Only a user's first file takes memory, which the last one gives back. */
	while ((err = dxk_file_charge_now(payer)) == -ENOMEM) {
		err = xa_reserve(&dxk_files_held, __kuid_val(payer->uid), GFP_KERNEL);
		if (err)
			break;
	}
	return err;
}

/** dxk_file_uncharge - uncharge a file that dxk no longer holds; never fails */
void dxk_file_uncharge(kuid_t uid)
{
	unsigned long nr, index = __kuid_val(uid);

	xa_lock(&dxk_files_held);
	nr = xa_to_value(xa_load(&dxk_files_held, index)) - 1;
	if (nr)
		__xa_store(&dxk_files_held, index, xa_mk_value(nr), GFP_NOWAIT);
	else
		__xa_erase(&dxk_files_held, index);
	xa_unlock(&dxk_files_held);
}

void dxk_file_exit(void)
{
	xa_destroy(&dxk_files_held);
}
