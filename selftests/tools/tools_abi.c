// SPDX-License-Identifier: GPL-2.0-only
/* Preloaded by tools-doctor.sh: a module whose ABI version is that of $ABI. */
#include <dxk.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int ioctl(int fd, unsigned long request, ...)
{
	struct dxk_version *version;
	va_list args;
	int rc;

	va_start(args, request);
	version = va_arg(args, struct dxk_version *);
	va_end(args);
	rc = (int)syscall(SYS_ioctl, fd, request, version);
	if (!rc && request == DXK_IOC_VERSION)
		version->abi = (__u32)atoi(getenv("ABI"));
	return rc;
}
