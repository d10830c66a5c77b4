// SPDX-License-Identifier: GPL-2.0-only
/* See modules.h. */
#define DXT_NO_HARNESS
#include "lib/modules.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int load_file(const char *name)
{
	const char *dir = getenv("DXK_MODULES");
	char path[512];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "dxk", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return rc;
}

/* The directory is that of a build of all, or of one module. */
static int load(const char *name)
{
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "dxk/%s%s.ko",
		 strcmp(name, "dxk") ? "executors/" : "", name);
	rc = load_file(path);
	return rc == -ENOENT ? load_file(path + 4) : rc;
}

bool loaded(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return !access(path, F_OK);
}

int unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

int unload_soon(const char *name)
{
	int rc;

	DXT_SOON((rc = unload(name)) != -EWOULDBLOCK);
	return rc;
}

bool says(const char *path, const char *word)
{
	FILE *f = fopen(path, "re");
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, word);
	if (f)
		fclose(f);
	return found;
}

const char *left_over(void)
{
	static const char *const path[] = {
		"/sys/module/dxk", "/sys/kernel/dxk", DXK_DEVICE, "/sys/class/misc/dxk",
		EVENTS,
	};
	unsigned int i;

	for (i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		if (!access(path[i], F_OK))
			return path[i];
	if (says("/proc/misc", "dxk"))
		return "the device's number";
	if (says("/proc/slabinfo", "dxk"))
		return "a cache of objects";
	return DXT_SOON(!dxt_kthreads(NULL)) ? NULL : "a kernel thread";
}

int load_all(bool executors)
{
	int rc = 0;

	if (!loaded("dxk"))
		rc = load("dxk");
	if (!rc && executors && !loaded(EXECUTORS))
		rc = load(EXECUTORS);
	DXT_SOON(!access(DXK_DEVICE, F_OK));
	return rc;
}
