// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which open files dxk holds: of requests, of the Handle Table, of the log.
 */
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/mm.h>

#include "services/file.h"

/*
 * Do the names of the file system stand for something on a disk, in memory or elsewhere,
 * and not for functions of the kernel (proc, sysfs, cgroup, mqueue) or for objects of the
 * kernel that have no name at all (anonymous files, sockets, pipes, namespaces, dma-buf)?
 * Those of memfd_create(2) are in a tmpfs without names.
 */
static bool dxk_file_system_stores(const struct super_block *sb)
{
	return !(sb->s_iflags & SB_I_NOEXEC) &&
	       (!(sb->s_flags & SB_NOUSER) || sb->s_magic == TMPFS_MAGIC);
}

/**
 * dxk_file_kind - may dxk hold a file, and what for?
 * @file: open
 *
 * A file that dxk holds must not lead back to a context, else neither is ever freed, and
 * what a kernel thread does with it must not be answered by dxk itself. Only kinds that are
 * known to be so are taken:
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
