// SPDX-License-Identifier: GPL-2.0-only
/* See leak.h. */
#define DXT_NO_HARNESS
#include "leak.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long long read_number(const char *path)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = 0;
	if (fd >= 0)
		close(fd);
	return text[0] ? atoll(text) : -1;
}

/*
 * Objects of the module's slab caches. They may share a cache with others, whose
 * objects come and go: then there are some before, and only what grows with the
 * rounds is a leak.
 */
static long long slab_objects(void)
{
	static const char *const cache[] = { "dxk_rqe", "dxk_owner" };
	long long sum = 0, n;
	char path[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cache); i++) {
		/* else what lies free on some CPU counts as in use */
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", cache[i]);
		dxt_write(path, "1");
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/objects", cache[i]);
		n = read_number(path);
		if (n < 0)
			return -1;
		sum += n;
	}
	return sum;
}

/* How many entries of a directory have a number from @least up as their name */
static int count(const char *path, int least)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int nr = 0;

	while (dir && (e = readdir(dir)))
		nr += e->d_name[0] >= '0' && e->d_name[0] <= '9' &&
		      atoi(e->d_name) >= least;
	if (dir)
		closedir(dir);
	return nr;
}

int leak_contexts(void)
{
	return count("/sys/kernel/dxk", 0);
}

int leak_clients(const struct dxt *t)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/threads", t->id);
	return count(path, 1000);
}

bool leak_pipe_is_closed(int fd)
{
	struct pollfd pfd = { .fd = fd };

	return poll(&pfd, 1, 0) == 1 && pfd.revents & POLLHUP;
}

static long long module_refs(void)
{
	return read_number("/sys/module/dxk/refcnt");
}

void leak_begin(struct leak *l)
{
	l->slabs = slab_objects();
	l->refs = module_refs();
	l->files = count("/proc/self/fd", 0);
}

const char *leak_found(const struct leak *l, unsigned int rounds)
{
	long long slabs = l->slabs + (l->slabs ? rounds / 4 : 0);
	static char text[100];

	if (!DXT_SOON(!leak_contexts()))
		return "a context";
	if (!DXT_SOON(!dxt_kthreads(NULL)))
		return "a kernel thread";
	if (!DXT_SOON(module_refs() == l->refs))
		return "a reference of the module";
	if (count("/proc/self/fd", 0) != l->files)
		return "a descriptor";
	if (l->slabs < 0 || DXT_SOON(slab_objects() <= slabs))
		return NULL;
	snprintf(text, sizeof(text), "%lld objects in slabs, %lld before", slab_objects(),
		 l->slabs);
	return text;
}
