/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file system that hangs where a test wants it to: one directory, one file "file", by
 * the protocol of /dev/fuse, without a library. The server is a process of its own.
 */
#ifndef DXT_FUSE_H
#define DXT_FUSE_H

#include "lib/dxt.h"

#include <linux/fuse.h>

#define FUSE_DIR	"/tmp/dxk-fuse"
#define FUSE_FILE	FUSE_DIR "/file"

/* Of a server; in memory that it shares with the test. */
struct fusefs {
	pid_t pid;
	_Atomic unsigned int ready;
	_Atomic unsigned int hang;	/* enum fuse_opcode that is not answered, or 0 */
	_Atomic unsigned int hung;	/* how many were not */
	bool writeback;			/* what is written is cached, until its release at most */
	bool direct;			/* nothing is cached: a read that was begun hears no signal */
	_Atomic unsigned long long size;	/* of the file: as far as it was written */
};

/* Mounts it; NULL where there is no FUSE. */
struct fusefs *fuse_up(bool writeback);
/* The server dies, and what hangs with it ends; all is removed. */
void fuse_down(struct fusefs *fs);

#endif /* DXT_FUSE_H */
