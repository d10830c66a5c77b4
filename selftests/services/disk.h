/* SPDX-License-Identifier: GPL-2.0-only */
/* A disk whose I/O takes a while. */
#ifndef DISK_H
#define DISK_H

#include "lib/dxt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DISK	"/dev/nullb0"
#define PARAMS	"/sys/module/null_blk"

/* A disk in memory; each I/O completes after @ns, in the interrupt of a timer. */
static inline int disk(unsigned long ns)
{
	char command[256];
	struct stat st;
	int fd;

	if (!stat(PARAMS, &st) && system("rmmod null_blk"))
		return -1;
	snprintf(command, sizeof(command), "modprobe null_blk nr_devices=1 gb=1 memory_backed=1 "
		 "queue_mode=2 irqmode=2 completion_nsec=%lu 2>/dev/null", ns);
	if (system(command))
		return -1;
	if (!DXT_SOON((fd = open(DISK, O_RDWR | O_DIRECT | O_CLOEXEC)) >= 0))
		return -1;
	return fd;
}

#endif /* DISK_H */
