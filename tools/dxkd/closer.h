/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Closes files of others. A close asks the file system, and one that runs in a program of somebody
 * (FUSE) may never answer, not even to SIGKILL: so a thread does it, and who has many such files
 * open waits for nobody.
 */
#ifndef _DXKD_CLOSER_H
#define _DXKD_CLOSER_H

#include <stdbool.h>

/* It takes no more than so many at a time. */
#define CLOSER_MAX	16

struct closer;

/** closer_new - start its thread. Return: never NULL */
struct closer *closer_new(void);

/** closer_is_full - whether nothing can be given to it now */
bool closer_is_full(struct closer *c);

/**
 * closer_close - close a file, some time
 * @c: not full
 * @fd: the file, the closer's from now on
 */
void closer_close(struct closer *c, int fd);

/** closer_free - nothing more comes. Does not wait: what is left is still closed, or by exit */
void closer_free(struct closer *c);

#endif /* _DXKD_CLOSER_H */
